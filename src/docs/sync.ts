// SPDX-License-Identifier: Apache-2.0
// Keeps a copy of an organization's data in a file: node sync.js FILE. Variables: API (…/public/v1/), KEY.
import { readFileSync, renameSync, writeFileSync } from "node:fs";

type Resource = { id: string; updated_at: string };
type Event = { type: string; resource_id: string; actor_id: string; payload: { updated_at?: string } };
type Gone = { updated_at: string; seen: number };
type Params = Record<string, string> | string[][];
type Answer = { status: number; headers: Headers; text: string };

const API = process.env.API ?? "", KEY = process.env.KEY ?? "", FILE = process.argv[2] ?? "copy.json";
const DAY = 24 * 3600 * 1000;
const collections: Record<string, string> = {
  broker: "brokers", property: "properties", party: "parties",
  proposal: "proposals", contract: "contracts", document: "documents", lead: "leads",
};
type Copy = { position?: string | null; records: Record<string, Resource>; deleted: Record<string, Gone> };
const copy: Copy = { records: {}, deleted: {} };
try {
  Object.assign(copy, JSON.parse(readFileSync(FILE, "utf8")));
} catch {
  // the first start
}

const sleep = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Repeats the request while the service cannot answer it, or if its end is missing (an aborted export). */
async function get(path: string, params: Params = {}, limit = 60_000): Promise<Answer> {
  for (let delay = 1; ; delay = Math.min(2 * delay, 60)) {
    const options = { headers: { "X-API-Key": KEY }, signal: AbortSignal.timeout(limit) };
    const answer = await fetch(`${API}${path}?${new URLSearchParams(params)}`, options).catch(() => null);
    const text = await answer?.text().catch(() => null), { status = 500, headers = null } = answer ?? {};
    if (headers && text != null && (status < 400 || text.includes("position_expired")))
      return { status, headers, text };
    if (text && status !== 429 && status < 500) throw new Error(text); // such as a key without a scope
    await sleep(Number(headers?.get("Retry-After") ?? delay));
  }
}

/** Whether neither the copy nor a deletion is as new. */
function isNewer(id: string, updatedAt: string): boolean {
  return [copy.records[id], copy.deleted[id]].every((known) => !known || updatedAt > known.updated_at);
}

async function exportAll(): Promise<string | null> {
  // Without the former copy, also what is newer there: after a restore it may never have happened.
  const records: Copy["records"] = {};
  let position: string | null = null;
  for (const collection of Object.values(collections)) {
    const { headers, text } = await get(collection + "/export", {}, DAY);
    position ??= headers.get("X-Events-Position"); // of the first: what changed later follows
    for (const line of text.split("\n").filter(Boolean)) {
      const record = JSON.parse(line) as Resource;
      records[record.id] = record;
    }
  }
  Object.assign(copy, { records, deleted: {} });
  return position;
}

async function apply(events: Event[]) {
  const changed = new Map<string, Event>();
  for (const event of events) {
    const id = event.resource_id, updatedAt = event.payload.updated_at ?? "";
    const [kind = "", happened] = event.type.split(".");
    if (kind in collections && happened === "deleted") {
      copy.deleted[id] = { updated_at: updatedAt, seen: Date.now() };
      delete copy.records[id];
    } else if (kind in collections && isNewer(id, updatedAt)) changed.set(id, event);
  }
  for (const [kind, collection] of Object.entries(collections)) {
    const ids = [...changed].flatMap(([id, { type }]) => (type.startsWith(kind + ".") ? [["ids", id]] : []));
    if (!ids.length) continue; // payloads lack confidential fields
    const { text } = await get(collection, [["limit", "100"], ...ids]);
    for (const record of (JSON.parse(text) as { items: Resource[] }).items) {
      if (isNewer(record.id, record.updated_at)) copy.records[record.id] = record;
      if (changed.get(record.id)?.actor_id !== me) console.log("changed", record.id); // not to one's own
    }
  }
}

async function follow(position: string): Promise<string | null> {
  const answer = await get("events", { order: "asc", after: position, limit: "100", wait: "20" });
  if (answer.status !== 200) return exportAll(); // the position is not valid any more
  const body = JSON.parse(answer.text) as { items: Event[] };
  await apply(body.items);
  await sleep(Number(answer.headers.get("Retry-After") ?? 0)); // if the request could not wait
  for (const id in copy.deleted) if (copy.deleted[id]!.seen < Date.now() - DAY) delete copy.deleted[id];
  return answer.headers.get("X-Events-Position");
}

const principal = JSON.parse((await get("me")).text) as { principal_id: string; user_id?: string };
const me = principal.user_id ?? principal.principal_id; // as in actor_id
for (;;) {
  copy.position = copy.position ? await follow(copy.position) : await exportAll();
  writeFileSync(FILE + ".new", JSON.stringify(copy)); // what a page changes, and the position after it
  renameSync(FILE + ".new", FILE);
}
