// SPDX-License-Identifier: Apache-2.0
// A typical sequence of an agency's requests, with a client generated from the OpenAPI document: a broker gets a seller's property, a
// buyer's proposal is accepted, the contract is signed, documents are filed; then everything is deleted.
import { randomUUID } from "node:crypto"; // it is global from Node 19 on, and Debian 12 has 18
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Schemas = components["schemas"];

function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

const client = createClient<paths>({
  baseUrl: setting("NEOAPI_URL").replace(/\/$/, ""),
  headers: { "X-API-Key": setting("NEOAPI_KEY") },
  querySerializer: { array: { style: "form", explode: false } }, // as the description has it: a comma means OR
});

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

interface Answer<Data> {
  data?: Data;
  error?: Schemas["Problem"];
  response: Response;
}

// The body of a successful response.
async function take<Data>(answer: Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await answer;
  check(!error && data !== undefined, `${response.status} ${response.url}: ${error?.code} ${error?.detail}`);
  return data;
}

// The code of a problem.
async function refusal(answer: Promise<Answer<unknown>>): Promise<string> {
  const { error, response } = await answer;
  check(error !== undefined, `${response.url} was not refused`);
  check(error.status === response.status && error.request_id === response.headers.get("X-Request-ID"), "the problem's frame");
  return error.code;
}

async function removed(answer: Promise<Answer<unknown>>): Promise<void> {
  const { error, response } = await answer;
  check(response.status === 204, `${response.status} ${response.url}: ${error?.code} ${error?.detail}`);
}

const once = () => ({ "Idempotency-Key": randomUUID() });
const at = (id: string) => ({ path: { id } });

// ---------------------------------------------------------------- parties

const newcomer = { params: { header: once() }, body: { name: "Ana Paula Ribeiro", creci: "CRECI-SP 123456-F" } };
const broker = await take(client.POST("/brokers", newcomer));
const again = await client.POST("/brokers", newcomer);
check(again.data?.id === broker.id && again.response.headers.get("Idempotent-Replayed") === "true", "the broker was made once");

const person = (name: string, roles: Schemas["PartyInput"]["roles"], document_number: string): Schemas["PartyInput"] =>
  ({ kind: "person", name, roles, document_number, broker_id: broker.id });
const seller = await take(client.POST("/parties", { body: person("Marcos Vinícius Albuquerque", ["seller"], "529.982.247-25") }));
const buyer = await take(client.POST("/parties", { body: person("Júlia Moreira Campos", ["buyer"], "11144477735") }));
check(seller.document_number === "52998224725", "a CPF is kept bare");
const nobody = await refusal(client.POST("/parties", { body: person("Ninguém", ["buyer"], "11144477736") }));
check(nobody === "validation.party.document_number_invalid", "a CPF has right check digits");

// ---------------------------------------------------------------- the property

const property = await take(client.POST("/properties", {
  body: {
    code: "AP-0082",
    title: "Apartamento de 3 quartos na Vila Mariana",
    transaction_type: "sale",
    usage_type: "residential",
    property_type: "apartment",
    status: "active",
    sale_price: 980_000_00,
    address: {
      postal_code: "04101-000", street: "Rua Vergueiro", number: "2045", neighborhood: "Vila Mariana", city: "São Paulo", state: "SP",
    },
    owners: [{ party_id: seller.id, share_bps: 10000 }],
    broker_id: broker.id,
    private_area: 92.5,
    features: ["Varanda gourmet", "Piscina"],
    external_id: "crm-82",
    metadata: { campaign: "verao-2026" },
  },
}));
check(property.address.postal_code === "04101000" && property.private_area === 92.5, "the property is kept as it was meant");

// Of two concurrent changes the second is refused.
const read = await client.GET("/properties/{id}", { params: at(property.id) });
const version = { "If-Match": read.response.headers.get("ETag") ?? "" };
const cheaper = await take(client.PATCH("/properties/{id}", {
  params: { ...at(property.id), header: version },
  body: { sale_price: 950_000_00, features: null },
}));
check(cheaper.sale_price === 95000000 && cheaper.features === undefined, "a patch sets and clears");
const tooLate = client.PATCH("/properties/{id}", { params: { ...at(property.id), header: version }, body: { title: "x" } });
check((await refusal(tooLate)) === "conflict.precondition_failed", "an old version is not written over");

// ---------------------------------------------------------------- the proposal

const proposal = await take(client.POST("/proposals", {
  body: {
    kind: "purchase",
    property_id: property.id,
    proponent_ids: [buyer.id],
    recipient_ids: [seller.id],
    broker_id: broker.id,
    amount: 940_000_00,
    payment_terms: [
      { kind: "down_payment", amount: 240_000_00, due_date: "2099-12-15" },
      { kind: "financing", amount: 700_000_00 },
    ],
    valid_until: "2099-12-31",
  },
}));
check(proposal.status === "draft", "a proposal begins as a draft");
const decide = (status: Schemas["Proposal"]["status"]) =>
  client.PATCH("/proposals/{id}", { params: at(proposal.id), body: { status } });
check((await refusal(decide("accepted"))) === "conflict.invalid_transition", "a draft cannot be accepted");
await take(decide("submitted"));
const accepted = await take(decide("accepted"));
check(accepted.decided_at !== undefined, "it is known when it was accepted");
const promised = await take(client.GET("/properties/{id}", { params: at(property.id) }));
check(promised.status === "under_contract", "the property is under contract");

// ---------------------------------------------------------------- the contract

const contract = await take(client.POST("/contracts", {
  body: {
    kind: "sale",
    number: "CV-2026-0031",
    property_id: property.id,
    proposal_id: proposal.id,
    parties: [
      { party_id: seller.id, role: "seller", share_bps: 10000 },
      { party_id: buyer.id, role: "buyer", share_bps: 10000 },
    ],
    amount: proposal.amount,
    commission: { total_amount: 56_400_00, splits: [{ broker_id: broker.id, role: "captador", bps: 10000 }] },
    status: "pending_signature",
  },
}));
const activate = () => client.PATCH("/contracts/{id}", { params: at(contract.id), body: { status: "active" } });
check((await refusal(activate())) === "conflict.signatures_missing", "a contract is active once all have signed");
const signed_at = new Date().toISOString();
await take(client.PATCH("/contracts/{id}", {
  params: at(contract.id),
  body: {
    parties: [
      { party_id: seller.id, role: "seller", share_bps: 10000, signed_at },
      { party_id: buyer.id, role: "buyer", share_bps: 10000, signed_at },
    ],
  },
}));
const active = await take(activate());
check(active.signed_at !== undefined, "it is known when it was signed");
const sold = await take(client.GET("/properties/{id}", { params: at(property.id) }));
check(sold.status === "sold", "the property is sold");

// ---------------------------------------------------------------- the documents

const file = (kind: Schemas["DocumentInput"]["kind"], type: Schemas["RelatedInput"]["type"], id: string) =>
  client.POST("/documents", {
    body: {
      kind,
      related: { type, id },
      file: {
        url: `https://arquivos.example.com.br/${kind}.pdf`,
        filename: `${kind}.pdf`,
        mime_type: "application/pdf",
        size: 284117,
        sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      },
    },
  });
const filed = [
  await take(file("matricula", "property", property.id)),
  await take(file("cpf", "party", buyer.id)),
  await take(file("contract", "contract", contract.id)),
];
const lost = await refusal(file("other", "party", "pty_" + "0".repeat(26)));
check(lost === "validation.document.related_id_not_found", "a document is about something that exists");

// ---------------------------------------------------------------- lists

// Reads every page of a list, with one item each.
async function all<Item>(page: (cursor?: string) => Promise<{ items: Item[]; page_info: Schemas["PageInfo"] }>): Promise<Item[]> {
  const found: Item[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, page_info } = await page(cursor);
    found.push(...items);
    if (!page_info.has_next_page || page_info.end_cursor === null) return found;
    cursor = page_info.end_cursor;
  }
}

const parties = await all((cursor) => take(client.GET("/parties", { params: { query: { limit: 1, cursor } } })));
check(parties.map(({ id }) => id).join() === [buyer.id, seller.id].join(), "the parties, newest first");
const documents = await all((cursor) => take(client.GET("/documents", { params: { query: { limit: 2, cursor } } })));
check(documents.map(({ id }) => id).join() === filed.map(({ id }) => id).reverse().join(), "the documents, newest first");
const found = await take(client.GET("/properties", {
  params: {
    query: { status: ["sold", "rented"], city: ["sao paulo"], owner_id: [seller.id], sale_price_gte: 900_000_00, q: "VILA MARIANA" },
  },
}));
check(found.items.length === 1 && found.items[0]!.id === property.id, "the property is found by what it is");
const none = await take(client.GET("/contracts", { params: { query: { party_id: [seller.id], status: ["draft"] } } }));
check(none.items.length === 0, "no contract is a draft");

// ---------------------------------------------------------------- deletion

const inUse = [
  await refusal(client.DELETE("/brokers/{id}", { params: at(broker.id) })),
  await refusal(client.DELETE("/parties/{id}", { params: at(buyer.id) })),
  await refusal(client.DELETE("/properties/{id}", { params: at(property.id) })),
  await refusal(client.DELETE("/proposals/{id}", { params: at(proposal.id) })),
];
check(inUse.every((code) => code === "conflict.in_use"), `what is referred to stays: ${inUse.join()}`);

for (const { id } of filed) await removed(client.DELETE("/documents/{id}", { params: at(id) }));
const kept = await refusal(client.DELETE("/contracts/{id}", { params: at(contract.id) }));
check(kept === "conflict.not_deletable", "a contract that was signed stays");

const draft = await take(client.POST("/proposals", {
  body: {
    kind: "purchase",
    property_id: property.id,
    proponent_ids: [buyer.id],
    recipient_ids: [seller.id],
    amount: 1,
    valid_until: "2099-12-31",
  },
}));
await removed(client.DELETE("/proposals/{id}", { params: at(draft.id) }));
check((await refusal(client.GET("/proposals/{id}", { params: at(draft.id) }))) === "not_found.proposal", "what was deleted is gone");

console.log("the story ended");
