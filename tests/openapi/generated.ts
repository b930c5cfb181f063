// SPDX-License-Identifier: Apache-2.0
// The same code with the types of each client generator: compiled, never run.
import type * as hey from "./hey";
import type * as orval7 from "./orval7";
import type * as orval8 from "./orval8";

// Only required fields must be given, and a response can be sent back.
export const smallest: (hey.BrokerInput & orval7.BrokerInput & orval8.BrokerInput)[] = [{ name: "Ana Paula Ribeiro" }];
export const sentBack = [
  (broker: hey.Broker): hey.BrokerInput => broker,
  (broker: orval7.Broker): orval7.BrokerInput => broker,
  (broker: orval8.Broker): orval8.BrokerInput => broker,
];
// @ts-expect-error a name is required
export const nameless: hey.BrokerInput = {};
// @ts-expect-error a name is required
export const nameless7: orval7.BrokerInput = {};
// @ts-expect-error a name is required
export const nameless8: orval8.BrokerInput = {};

// null clears optional fields only.
export const patch: hey.BrokerPatch & orval7.BrokerPatch & orval8.BrokerPatch = { phone: null, bank_account: null };

// A response has the fields of events, and others.
export const fields = [
  (broker: hey.Broker): [string, string | undefined] => [broker.name, broker.phone],
  (broker: orval7.Broker): [string, string | undefined] => [broker.name, broker.phone],
  (broker: orval8.Broker): [string, string | undefined] => [broker.name, broker.phone],
];

// The type of an event says what its payload is.
export const news = [
  (event: hey.Event): string | undefined =>
    event.type === "broker.updated" ? event.payload.name : event.type === "property.deleted" ? event.payload.title : undefined,
  (event: orval7.Event): string | undefined =>
    event.type === "broker.updated" ? event.payload.name : event.type === "property.deleted" ? event.payload.title : undefined,
  (event: orval8.Event): string | undefined =>
    event.type === "broker.updated" ? event.payload.name : event.type === "property.deleted" ? event.payload.title : undefined,
];
// @ts-expect-error a broker has no title
export const untitled = (event: hey.Event) => event.type === "broker.updated" && event.payload.title;
// @ts-expect-error a broker has no title
export const untitled7 = (event: orval7.Event) => event.type === "broker.updated" && event.payload.title;
// @ts-expect-error a broker has no title
export const untitled8 = (event: orval8.Event) => event.type === "broker.updated" && event.payload.title;
