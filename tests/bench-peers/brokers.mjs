// SPDX-License-Identifier: Apache-2.0
// The peer's statements. All values of a write are known before its transaction, so the statements of a transaction are pipelined.
import { createHash } from "node:crypto";
import { newId } from "./ids.mjs";
import { Problem } from "./problem.mjs";

const COLUMNS = ["organization_id", "id", "tenant_id", "name", "creci", "document_number", "email", "phone", "bank_account",
    "external_id", "metadata", "visibility", "created_at", "updated_at", "created_by", "updated_by"];
const SHOWN = ["id", "name", "creci", "document_number", "email", "phone", "bank_account", "external_id", "metadata", "tenant_id",
    "organization_id", "visibility", "created_at", "updated_at", "created_by", "updated_by"];
const IN_EVENT = ["id", "name", "creci", "email", "created_at", "updated_at"];
const CURSOR_DAYS = 1;
const CREATED = "broker.created", UPDATED = "broker.updated";

function only(names, row) {
    const shown = {};
    for (const name of names) {
        const value = row[name];
        if (value !== null && value !== undefined) shown[name] = value instanceof Date ? value.toISOString() : value;
    }
    return shown;
}

const toBroker = (row) => only(SHOWN, row);

export async function read(sql, principal, id) {
    const [row] = await sql`select ${sql(SHOWN)} from peer.broker
        where organization_id = ${principal.organization_id} and id = ${id}`;
    return row && toBroker(row);
}

const cursorOf = (id) => Buffer.from(JSON.stringify([id, Date.now() + CURSOR_DAYS * 86_400_000])).toString("base64url");

function idOf(cursor) {
    try {
        const [id, until] = JSON.parse(Buffer.from(cursor, "base64url").toString());
        return typeof id === "string" && until > Date.now() ? id : null;
    } catch {
        return null;
    }
}

// Null: the cursor is invalid or expired.
export async function readPage(sql, principal, { limit, cursor }) {
    const before = cursor ? idOf(cursor) : null;
    if (cursor && !before) return null;
    const rows = await sql`select ${sql(SHOWN)} from peer.broker where organization_id = ${principal.organization_id}
        ${before ? sql`and id < ${before}` : sql``} order by id desc limit ${limit + 1}`;
    const items = rows.slice(0, limit).map(toBroker);
    return { items, page_info: {
        start_cursor: items.length ? cursorOf(items[0].id) : null,
        end_cursor: items.length ? cursorOf(items.at(-1).id) : null,
        has_next_page: rows.length > limit,
        has_previous_page: before !== null,
    } };
}

const creciKey = (creci) => creci?.replace(/[^A-Za-z0-9]/g, "").toUpperCase() ?? null;

function newRow(principal, data) {
    const now = new Date();
    return { bank_account: null, metadata: null, ...data, organization_id: principal.organization_id, id: newId("brk_"),
        tenant_id: principal.tenant_id, creci_key: creciKey(data.creci), visibility: data.visibility ?? "restricted",
        created_at: now, updated_at: now, created_by: principal.id, updated_by: principal.id };
}

const json = (tx, value) => (value === null ? null : tx.json(value));

// The statements of an event and its deliveries.
function eventWrites(tx, type, row, requestId, changed = null, previous = null) {
    const eventId = newId("evt_");
    return [
        tx`insert into peer.event (organization_id, id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
           values (${row.organization_id}, ${eventId}, ${type}, ${row.id}, ${row.updated_at}, ${row.updated_by}, ${requestId},
               ${tx.json(only(IN_EVENT, row))}, ${changed}, ${json(tx, previous)})`,
        tx`insert into peer.webhook_delivery (organization_id, subscription_id, event_id)
           select organization_id, id, ${eventId} from peer.webhook_subscription
           where organization_id = ${row.organization_id} and is_active and ${type} = any(events)`,
    ];
}

// The statements of one create.
function writes(tx, row, requestId) {
    return [
        tx`insert into peer.broker ${tx({ ...row, bank_account: json(tx, row.bank_account), metadata: json(tx, row.metadata) })}`,
        ...eventWrites(tx, CREATED, row, requestId),
    ];
}

function asProblem(error) {
    if (error.code !== "23505") throw error;
    throw new Problem(409, "conflict.duplicate", "There is such a broker already.");
}

export async function create(sql, principal, data, requestId) {
    const row = newRow(principal, data);
    await sql.begin((tx) => writes(tx, row, requestId)).catch(asProblem);
    return toBroker(row);
}

// The key's row is written first: another request with the key waits for this transaction, and then finds its response.
export async function createWithKey(sql, principal, key, data, requestId) {
    const row = newRow(principal, data);
    const hash = createHash("sha256").update(JSON.stringify(data)).digest();
    const text = JSON.stringify(toBroker(row));
    return sql.begin(async (tx) => {
        const made = await tx`insert into peer.idempotency_key (key_id, key, request_hash, status, response_body, expires_at)
            values (${principal.id}, ${key}, ${hash}, 201, ${text}, now() + interval '1 day')
            on conflict do nothing returning 1`;
        if (made.length) {
            await Promise.all(writes(tx, row, requestId));
            return { isSame: true, isRepeated: false, status: 201, text };
        }
        const [old] = await tx`select request_hash, status, response_body from peer.idempotency_key
            where key_id = ${principal.id} and key = ${key}`;
        return { isSame: hash.equals(old.request_hash), isRepeated: true, status: old.status, text: old.response_body };
    }).catch(asProblem);
}

function mergePatch(target, patch) {
    if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
    const merged = target !== null && typeof target === "object" ? { ...target } : {};
    for (const [name, value] of Object.entries(patch)) {
        if (value === null) delete merged[name];
        else merged[name] = mergePatch(merged[name] ?? null, value);
    }
    return merged;
}

// Locks the row, and writes what the patch changes, with the former values in the event. Undefined: there is no such broker.
export async function update(sql, principal, id, patch, requestId) {
    return sql.begin(async (tx) => {
        const [old] = await tx`select ${tx(SHOWN)} from peer.broker
            where organization_id = ${principal.organization_id} and id = ${id} for no key update`;
        if (!old) return undefined;
        const row = mergePatch(old, patch), set = {};
        for (const name of Object.keys(patch)) {
            if (JSON.stringify(row[name] ?? null) !== JSON.stringify(old[name])) set[name] = row[name] ?? null;
        }
        const changed = Object.keys(set);
        if (!changed.length) return toBroker(old);
        set.updated_at = row.updated_at = new Date(Math.max(Date.now(), old.updated_at.getTime() + 1));
        set.updated_by = row.updated_by = principal.id;
        if ("creci" in set) set.creci_key = creciKey(set.creci);
        for (const name of ["bank_account", "metadata"]) if (name in set) set[name] = json(tx, set[name]);
        const previous = Object.fromEntries(changed.filter((name) => IN_EVENT.includes(name)).map((name) => [name, old[name]]));
        await Promise.all([tx`update peer.broker set ${tx(set)} where organization_id = ${principal.organization_id} and id = ${id}`,
            ...eventWrites(tx, UPDATED, row, requestId, changed, previous)]);
        return toBroker(row);
    }).catch(asProblem);
}

// One statement for all of them, which skips those that exist.
export async function batch(sql, principal, list, requestId) {
    const rows = list.map((data) => newRow(principal, data));
    const input = rows.map((row) => ({ ...row, event_id: newId("evt_"), payload: only(IN_EVENT, row) }));
    const columns = sql.unsafe(COLUMNS.join(", "));
    const made = await sql`with input as (
            select * from json_to_recordset(${sql.typed(input, 114)}::json) as r (organization_id text, id text, tenant_id text,
                name text, creci text, creci_key text, document_number text, email text, phone text, bank_account jsonb,
                external_id text, metadata jsonb, visibility text, created_at timestamptz, updated_at timestamptz, created_by text,
                updated_by text, event_id text, payload jsonb)),
        made as (
            insert into peer.broker (${columns}, creci_key) select ${columns}, creci_key from input
            on conflict do nothing returning id),
        logged as (
            insert into peer.event (organization_id, id, type, resource_id, created_at, actor, request_id, payload)
            select organization_id, event_id, ${CREATED}, id, created_at, created_by, ${requestId}, payload
            from input where id in (select id from made) returning organization_id, id),
        queued as (
            insert into peer.webhook_delivery (organization_id, subscription_id, event_id)
            select s.organization_id, s.id, l.id from logged l join peer.webhook_subscription s using (organization_id)
            where s.is_active and ${CREATED} = any(s.events))
        select id from made`;
    const ids = new Set(made.map((row) => row.id));
    const results = rows.map((row, index) => (ids.has(row.id) ? { index, status: 201, resource: toBroker(row) } : { index, status: 409 }));
    return { succeeded: ids.size, failed: rows.length - ids.size, results };
}
