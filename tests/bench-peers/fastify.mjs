// SPDX-License-Identifier: Apache-2.0
// The peer in Fastify: its plugins for limits and ETags, its validation and its serializers.
import etag from "@fastify/etag";
import rateLimit from "@fastify/rate-limit";
import Fastify from "fastify";
import { authenticator, badCursor, BASE, checkScope, idempotencyKey, keyReused, limitExceeded, nextLink, noBroker, noRoute, toProblem,
    WINDOW_MS } from "./access.mjs";
import { batch, create, createWithKey, read, readPage, update } from "./brokers.mjs";
import { newId } from "./ids.mjs";
import { batchSchema, bodySchema, brokerSchema, idPattern, pageSchema, patchSchema } from "./schemas.mjs";

const needs = (scope) => async (request) => checkScope(request.principal, scope);

function answerProblem(error, request, reply) {
    const problem = toProblem(error, request.url, request.id);
    return reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
}

function routes(server, sql) {
    const reads = needs("brokers:read"), writes = needs("brokers:write");
    const idSchema = { type: "object", properties: { id: { type: "string", pattern: idPattern } } };

    server.register(async (single) => { // lists and writes have no ETag in the module either
        await single.register(etag);
        single.get("/brokers/:id", { onRequest: reads, schema: { params: idSchema, response: { 200: brokerSchema } } }, async (request) => {
            const broker = await read(sql, request.principal, request.params.id);
            if (!broker) throw noBroker();
            return broker;
        });
    });

    server.get("/brokers", { onRequest: reads, schema: pageSchema }, async (request, reply) => {
        const page = await readPage(sql, request.principal, request.query);
        if (!page) throw badCursor();
        if (page.page_info.has_next_page) reply.header("link", nextLink(request.host, page, request.query.limit));
        return page;
    });

    server.post("/brokers", { onRequest: writes, schema: { body: bodySchema, response: { 201: brokerSchema } } },
        async (request, reply) => {
            const key = idempotencyKey(request.headers["idempotency-key"]);
            reply.code(201);
            if (!key) return create(sql, request.principal, request.body, request.id);
            const answer = await createWithKey(sql, request.principal, key, request.body, request.id);
            if (!answer.isSame) throw keyReused();
            if (answer.isRepeated) reply.header("idempotency-replayed", "true");
            return reply.code(answer.status).type("application/json; charset=utf-8").serializer((text) => text).send(answer.text);
        });

    server.patch("/brokers/:id", { onRequest: writes, schema: { params: idSchema, body: patchSchema, response: { 200: brokerSchema } } },
        async (request) => {
            const broker = await update(sql, request.principal, request.params.id, request.body, request.id);
            if (!broker) throw noBroker();
            return broker;
        });

    server.post("/brokers/batch", { onRequest: writes, schema: batchSchema }, async (request) =>
        batch(sql, request.principal, request.body.operations.map((operation) => operation.data), request.id));
}

export async function listen(sql, host, port) {
    const authenticate = authenticator(sql);
    const server = Fastify({ genReqId: () => newId("req_"), bodyLimit: 1 << 20,
        ajv: { customOptions: { removeAdditional: false, allErrors: true } } });
    server.setErrorHandler(answerProblem);
    server.setNotFoundHandler((request, reply) => answerProblem(noRoute(), request, reply));
    server.decorateRequest("principal", null);
    server.addHook("onRequest", async (request, reply) => {
        reply.header("x-request-id", request.id);
        request.principal = await authenticate(request.headers["x-api-key"]);
    });
    await server.register(rateLimit, {
        keyGenerator: (request) => request.principal.id,
        max: (request) => request.principal.max_requests,
        timeWindow: WINDOW_MS,
        errorResponseBuilder: (request, context) => limitExceeded(context.ttl),
    });
    await server.register(async (scope) => routes(scope, sql), { prefix: BASE });
    await server.listen({ host, port });
}
