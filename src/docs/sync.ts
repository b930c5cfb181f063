// SPDX-License-Identifier: Apache-2.0
// Keeps a copy of an organization's data in a file: node sync.js FILE, with the variables API (…/public/v1/) and KEY.
import { readFileSync, renameSync, writeFileSync } from "node:fs";

type Resource = { id: string; updated_at: string };
type Event = { type: string; resource_id: string; actor_id: string; payload: { updated_at?: string } };
type Page<T> = { items: T[]; page_info: { end_cursor: string | null; has_next_page: boolean } };

const API = process.env.API ?? "", KEY = process.env.KEY ?? "", FILE = process.argv[2] ?? "copy.json", DAY = 24 * 3600 * 1000;
const collections: Record<string, string> = {
  broker: "brokers", property: "properties", party: "parties", proposal: "proposals", contract: "contracts", document: "documents",
};
const copy: {
  position?: string;
  records: Record<string, Resource>;
  deleted: Record<string, { updated_at: string; seen: number }>;
} = { records: {}, deleted: {} };
try {
  Object.assign(copy, JSON.parse(readFileSync(FILE, "utf8")));
} catch {
  // the first start
}

/** Repeats the request while the service cannot answer it. */
async function get(path: string, params: Record<string, string> | string[][] = {}): Promise<Response> {
  for (let delay = 1; ; delay = Math.min(2 * delay, 60)) {
    const options = { headers: { "X-API-Key": KEY }, signal: AbortSignal.timeout(60_000) };
    const answer = await fetch(`${API}${path}?${new URLSearchParams(params)}`, options).catch(() => null);
    if (answer && answer.status !== 429 && answer.status < 500) return answer;
    const seconds = Number(answer?.headers.get("Retry-After") ?? delay);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

async function* everything(collection: string): AsyncGenerator<Resource> {
  for (let params: Record<string, string> | null = { limit: "100" }; params; ) {
    const page = (await (await get(collection, params)).json()) as Page<Resource>;
    yield* page.items;
    params = page.page_info.has_next_page ? { limit: "100", cursor: page.page_info.end_cursor ?? "" } : null;
  }
}

/** Whether neither the copy nor a deletion is as new. */
function isNewer(id: string, updatedAt: string): boolean {
  return [copy.records[id], copy.deleted[id]].every((known) => !known || updatedAt > known.updated_at);
}

function store(record: Resource) {
  if (isNewer(record.id, record.updated_at)) copy.records[record.id] = record;
}

async function exportAll(): Promise<string | undefined> {
  const position = (await get("events", { order: "asc", after: "now" })).headers.get("X-Events-Position"); // what changes meanwhile follows
  const gone = new Set(Object.keys(copy.records));
  for (const collection of Object.values(collections))
    for await (const record of everything(collection)) {
      gone.delete(record.id);
      store(record);
    }
  for (const id of gone) delete copy.records[id];
  return position ?? undefined;
}

async function apply(events: Event[]) {
  const changed = new Map<string, Event>();
  for (const event of events) {
    const id = event.resource_id, updatedAt = event.payload.updated_at ?? "", [kind = "", happened] = event.type.split(".");
    if (kind in collections && happened === "deleted") {
      copy.deleted[id] = { updated_at: updatedAt, seen: Date.now() };
      delete copy.records[id];
    } else if (kind in collections && isNewer(id, updatedAt)) changed.set(id, event);
  }
  for (const [kind, collection] of Object.entries(collections)) {
    const ids = [...changed.values()].filter((event) => event.type.startsWith(kind + ".")).map((event) => event.resource_id);
    if (!ids.length) continue; // payloads lack confidential fields
    const found = await get(collection, [["limit", "100"], ...ids.map((id) => ["ids", id])]);
    for (const record of ((await found.json()) as Page<Resource>).items) {
      store(record);
      if (changed.get(record.id)?.actor_id !== me) console.log("changed", record.id); // not to one's own system
    }
  }
}

async function follow(position: string): Promise<string | undefined> {
  const answer = await get("events", { order: "asc", after: position, limit: "100", wait: "20" });
  const body = (await answer.json()) as Page<Event> & { code?: string };
  if (body.code === "validation.position_expired") return exportAll();
  if (!answer.ok) throw new Error(body.code);
  await apply(body.items);
  await new Promise((resolve) => setTimeout(resolve, body.items.length ? 0 : 1000)); // it may not have been let wait
  for (const [id, { seen }] of Object.entries(copy.deleted)) if (seen < Date.now() - DAY) delete copy.deleted[id];
  return answer.headers.get("X-Events-Position") ?? undefined;
}

const principal = (await (await get("me")).json()) as { principal_id: string; user_id?: string };
const me = principal.user_id ?? principal.principal_id; // as in actor_id
for (;;) {
  copy.position = copy.position ? await follow(copy.position) : await exportAll();
  writeFileSync(FILE + ".new", JSON.stringify(copy)); // what a page changes, and the position after it
  renameSync(FILE + ".new", FILE);
}
