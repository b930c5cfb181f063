// SPDX-License-Identifier: Apache-2.0
// A typical client with the types of openapi-typescript: compiled, never run.
import type { components, operations } from "./api";

type Schemas = components["schemas"];

// Only required fields must be given, and a response can be sent back.
export const smallest: Schemas["BrokerInput"] = { name: "Ana Paula Ribeiro" };
export const sentBack = (broker: Schemas["Broker"]): Schemas["BrokerInput"] => broker;

// null clears optional fields only.
export const patch: Schemas["BrokerPatch"] = { phone: null, bank_account: { pix_key: null } };
// @ts-expect-error a name is never absent
export const wrong: Schemas["BrokerPatch"] = { name: null };

// The two kinds of principal are distinguished by `type`.
export const who = (principal: Schemas["Principal"]): string =>
  principal.type === "api_key" ? principal.scopes.join(" ") : principal.email;

// Pages are read until has_next_page is false.
type Page = operations["listBrokers"]["responses"][200];
export const next = (page: Page["content"]["application/json"]): string | null =>
  page.page_info.has_next_page ? page.page_info.end_cursor : null;
export const query: operations["listBrokers"]["parameters"]["query"] = { limit: 100, visibility: ["private", "public"] };

// Every error is a problem document.
type Refusal = operations["createBroker"]["responses"][400 | 401 | 403 | 408 | 409 | 413 | 415 | 429 | 500 | 503];
export const reason = (refusal: Refusal): string => refusal.content["application/problem+json"].code;
type TooMany = operations["createBroker"]["responses"][429];
export const remaining = (refusal: TooMany): number => refusal.headers["X-RateLimit-Remaining"];

// The type of an event says what its payload is.
export const news = (event: Schemas["Event"]): string | undefined => {
  switch (event.type) {
    case "broker.created": case "broker.updated": case "broker.deleted": return event.payload.name;
    case "property.updated": return event.payload.title;
    case "whatsapp.message.received": return event.payload.conversation_id;
    case "webhook.test": return event.payload.subscription_id;
  }
};
// @ts-expect-error a broker has no title
export const untitled = (event: Schemas["Event"]) => event.type === "broker.updated" && event.payload.title;
