// SPDX-License-Identifier: Apache-2.0
// What both servers do around a request: credentials, scopes, idempotency keys, problem documents, links to the next page.
import { createHash } from "node:crypto";
import { Problem } from "./problem.mjs";

export const BASE = "/public/v1";
export const WINDOW_MS = 60_000; // of the rate limit
const CACHED_MS = 60_000;
const KEY_PATTERN = /^"?([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"?$/i;
const TITLES = { 400: "Validation Failed", 401: "Authentication Required", 403: "Access Denied", 404: "Resource Not Found",
    409: "Resource Conflict", 429: "Rate Limit Exceeded", 500: "Internal Server Error" };
const TYPES = { 400: "validation", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict", 429: "rate_limit",
    500: "internal" };

// Looks credentials up by the hash of the secret, at most once a minute each.
export function authenticator(sql) {
    const cache = new Map();
    return async (secret) => {
        if (!secret) throw new Problem(401, "unauthorized.auth_required", "The header X-API-Key is missing.");
        const hash = createHash("sha256").update(secret).digest();
        const name = hash.toString("base64");
        let entry = cache.get(name);
        if (!entry || entry.until < Date.now()) {
            const [row] = await sql`select id, tenant_id, organization_id, scopes, max_requests from peer.api_key
                where hash = ${hash} and revoked_at is null`;
            if (!row) throw new Problem(401, "unauthorized.invalid_credentials", "The credential is not valid.");
            entry = { ...row, scopes: new Set(row.scopes), until: Date.now() + CACHED_MS };
            cache.set(name, entry);
        }
        return entry;
    };
}

export function checkScope(principal, scope) {
    if (!principal.scopes.has(scope)) throw new Problem(403, "forbidden.insufficient_permissions", `The scope ${scope} is needed.`);
}

export const limitExceeded = (ms) => new Problem(429, "rate_limit.exceeded", "Too many requests.", { retry_after: Math.ceil(ms / 1000) });
export const noBroker = () => new Problem(404, "not_found.broker", "There is no such broker.");
export const noRoute = () => new Problem(404, "not_found.route", "No such path.");
export const badCursor = () => new Problem(400, "validation.cursor_invalid", "The cursor is not valid.");
export const keyReused = () => new Problem(409, "conflict.idempotency_key_reused", "The key was used with another request.");

export function idempotencyKey(header) {
    if (header === undefined) return null;
    const match = KEY_PATTERN.exec(header);
    if (!match) throw new Problem(400, "validation.idempotency_key_invalid", "Idempotency-Key must be a UUID v4.");
    return match[1].toLowerCase();
}

const fieldError = (error) => ({
    field: error.params.missingProperty ?? error.instancePath.slice(1).replaceAll("/", "."),
    message: error.message,
    code: error.keyword === "required" ? `validation.broker.${error.params.missingProperty}_required` : "validation.failed",
});

// `error.validation` has Ajv's errors.
export function toProblem(error, instance, requestId) {
    const status = error.validation ? 400 : TITLES[error.statusCode] ? error.statusCode : 500;
    if (status === 500) console.error(error);
    const problem = { type: TYPES[status], title: TITLES[status], status,
        detail: status === 500 ? "Something unexpected happened." : error.message,
        code: error instanceof Problem ? error.code : `${TYPES[status]}.failed`,
        instance, request_id: requestId, timestamp: new Date().toISOString(), ...error.more };
    if (error.validation) problem.errors = error.validation.map(fieldError);
    return problem;
}

export function nextLink(host, page, limit) {
    const next = new URLSearchParams({ cursor: page.page_info.end_cursor, limit });
    return `<http://${host}${BASE}/brokers?${next}>; rel="next"`;
}
