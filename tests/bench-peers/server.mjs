// SPDX-License-Identifier: Apache-2.0
// The peer's HTTP side: authentication, scopes, limits, validation, problem documents, pages.
import etag from "@fastify/etag";
import rateLimit from "@fastify/rate-limit";
import Fastify from "fastify";
import { createHash } from "node:crypto";
import postgres from "postgres";
import { batch, create, createWithKey, read, readPage } from "./brokers.mjs";
import { newId } from "./ids.mjs";
import { Problem } from "./problem.mjs";
import { batchSchema, bodySchema, brokerSchema, idPattern, pageSchema } from "./schemas.mjs";

const BASE = "/public/v1";
const CACHED_MS = 60_000;
const KEY_PATTERN = /^"?([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"?$/i;
const TITLES = { 400: "Validation Failed", 401: "Authentication Required", 403: "Access Denied", 404: "Resource Not Found",
    409: "Resource Conflict", 429: "Rate Limit Exceeded", 500: "Internal Server Error" };
const TYPES = { 400: "validation", 401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict", 429: "rate_limit",
    500: "internal" };

// Looks credentials up by the hash of the secret, at most once a minute each.
function authenticator(sql) {
    const cache = new Map();
    return async (request) => {
        const secret = request.headers["x-api-key"];
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
        request.principal = entry;
    };
}

const needs = (scope) => async (request) => {
    if (!request.principal.scopes.has(scope))
        throw new Problem(403, "forbidden.insufficient_permissions", `The scope ${scope} is needed.`);
};

const fieldError = (prefix) => (error) => ({
    field: prefix + (error.params.missingProperty ?? error.instancePath.slice(1).replaceAll("/", ".")),
    message: error.message,
    code: error.keyword === "required" ? `validation.broker.${error.params.missingProperty}_required` : "validation.failed",
});

function toProblem(error, request) {
    const status = error.validation ? 400 : TITLES[error.statusCode] ? error.statusCode : 500;
    const problem = { type: TYPES[status], title: TITLES[status], status,
        detail: status === 500 ? "Something unexpected happened." : error.message,
        code: error instanceof Problem ? error.code : `${TYPES[status]}.failed`,
        instance: request.url, request_id: request.id, timestamp: new Date().toISOString(), ...error.more };
    if (error.validation) problem.errors = error.validation.map(fieldError(""));
    return problem;
}

function answerProblem(error, request, reply) {
    const problem = toProblem(error, request);
    if (problem.status === 500) console.error(error);
    return reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
}

function keyOf(request) {
    const header = request.headers["idempotency-key"];
    if (header === undefined) return null;
    const match = KEY_PATTERN.exec(header);
    if (!match) throw new Problem(400, "validation.idempotency_key_invalid", "Idempotency-Key must be a UUID v4.");
    return match[1].toLowerCase();
}

function routes(server, sql) {
    const reads = needs("brokers:read"), writes = needs("brokers:write");
    const idSchema = { type: "object", properties: { id: { type: "string", pattern: idPattern } } };

    server.register(async (single) => { // lists and writes have no ETag in the module either
        await single.register(etag);
        single.get("/brokers/:id", { onRequest: reads, schema: { params: idSchema, response: { 200: brokerSchema } } }, async (request) => {
            const broker = await read(sql, request.principal, request.params.id);
            if (!broker) throw new Problem(404, "not_found.broker", "There is no such broker.");
            return broker;
        });
    });

    server.get("/brokers", { onRequest: reads, schema: pageSchema }, async (request, reply) => {
        const page = await readPage(sql, request.principal, request.query);
        if (!page) throw new Problem(400, "validation.cursor_invalid", "The cursor is not valid.");
        if (page.page_info.has_next_page) {
            const next = new URLSearchParams({ cursor: page.page_info.end_cursor, limit: request.query.limit });
            reply.header("link", `<http://${request.host}${BASE}/brokers?${next}>; rel="next"`);
        }
        return page;
    });

    server.post("/brokers", { onRequest: writes, schema: { body: bodySchema, response: { 201: brokerSchema } } },
        async (request, reply) => {
            const key = keyOf(request);
            reply.code(201);
            if (!key) return create(sql, request.principal, request.body, request.id);
            const answer = await createWithKey(sql, request.principal, key, request.body, request.id);
            if (!answer.isSame)
                throw new Problem(409, "conflict.idempotency_key_reused", "The key was used with another request.");
            if (answer.isRepeated) reply.header("idempotency-replayed", "true");
            return reply.code(answer.status).type("application/json; charset=utf-8").serializer((text) => text).send(answer.text);
        });

    server.post("/brokers/batch", { onRequest: writes, schema: batchSchema }, async (request) =>
        batch(sql, request.principal, request.body.operations.map((operation) => operation.data), request.id));
}

export async function createServer(wanted) {
    const sql = postgres({ host: wanted.host, port: wanted.port, username: wanted.user, database: wanted.database, max: 10,
        connection: { application_name: "peer" } });
    const server = Fastify({ genReqId: () => newId("req_"), bodyLimit: 1 << 20,
        ajv: { customOptions: { removeAdditional: false, allErrors: true } } });
    server.setErrorHandler(answerProblem);
    server.setNotFoundHandler((request, reply) => answerProblem(new Problem(404, "not_found.route", "No such path."), request, reply));
    server.decorateRequest("principal", null);
    server.addHook("onRequest", async (request, reply) => { reply.header("x-request-id", request.id); });
    server.addHook("onRequest", authenticator(sql));
    await server.register(rateLimit, {
        keyGenerator: (request) => request.principal.id,
        max: (request) => request.principal.max_requests,
        timeWindow: 60_000,
        errorResponseBuilder: (request, context) => new Problem(429, "rate_limit.exceeded", "Too many requests.",
            { retry_after: Math.ceil(context.ttl / 1000) }),
    });
    await server.register(async (scope) => routes(scope, sql), { prefix: BASE });
    return server;
}
