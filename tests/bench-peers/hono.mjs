// SPDX-License-Identifier: Apache-2.0
// The peer in Hono: its router and its ETags, with Ajv and a counter for each key.
import { serve } from "@hono/node-server";
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { etag } from "hono/etag";
import { authenticator, badCursor, BASE, checkScope, idempotencyKey, keyReused, limitExceeded, nextLink, noBroker, noRoute, toProblem,
    WINDOW_MS } from "./access.mjs";
import { batch, create, createWithKey, read, readPage, update } from "./brokers.mjs";
import { newId } from "./ids.mjs";
import { Problem } from "./problem.mjs";
import { batchSchema, bodySchema, idPattern, pageSchema, patchSchema } from "./schemas.mjs";

const ID = new RegExp(idPattern);

// Throws Ajv's errors.
function validator(schema) {
    const validate = addFormats(new Ajv({ allErrors: true, coerceTypes: "array", useDefaults: true })).compile(schema);
    return (value) => {
        if (!validate(value)) throw Object.assign(new Error("The request is not valid."), { validation: validate.errors });
        return value;
    };
}

const checkBody = validator(bodySchema), checkPatch = validator(patchSchema), checkBatch = validator(batchSchema.body), checkQuery = validator(pageSchema.querystring);

// Counts the requests of a key in windows, and sets the headers.
function limiter() {
    const windows = new Map();
    return (c, principal) => {
        const now = Date.now();
        let window = windows.get(principal.id);
        if (!window || window.end <= now) windows.set(principal.id, window = { count: 0, end: now + WINDOW_MS });
        window.count++;
        c.header("X-RateLimit-Limit", String(principal.max_requests));
        c.header("X-RateLimit-Remaining", String(Math.max(0, principal.max_requests - window.count)));
        c.header("X-RateLimit-Reset", String(Math.ceil((window.end - now) / 1000)));
        if (window.count > principal.max_requests) throw limitExceeded(window.end - now);
    };
}

async function bodyOf(c) {
    try {
        return await c.req.json();
    } catch {
        throw new Problem(400, "validation.failed", "The body is not JSON.");
    }
}

const needs = (scope) => (c, next) => {
    checkScope(c.get("principal"), scope);
    return next();
};

function answerProblem(error, c) {
    const { pathname, search } = new URL(c.req.url);
    const problem = toProblem(error, pathname + search, c.get("id"));
    return c.body(JSON.stringify(problem), problem.status, { "Content-Type": "application/problem+json" });
}

export async function listen(sql, hostname, port) {
    const app = new Hono().basePath(BASE), authenticate = authenticator(sql), limit = limiter();
    const reads = needs("brokers:read"), writes = needs("brokers:write");
    app.onError(answerProblem);
    app.notFound((c) => answerProblem(noRoute(), c));
    app.use(async (c, next) => {
        c.set("id", newId("req_"));
        c.header("X-Request-Id", c.get("id"));
        c.set("principal", await authenticate(c.req.header("x-api-key")));
        limit(c, c.get("principal"));
        await next();
    });
    app.use(bodyLimit({ maxSize: 1 << 20 }));

    app.get("/brokers/:id", reads, etag(), async (c) => {
        const broker = ID.test(c.req.param("id")) && await read(sql, c.get("principal"), c.req.param("id"));
        if (!broker) throw noBroker();
        return c.json(broker);
    });

    app.get("/brokers", reads, async (c) => {
        const query = checkQuery(c.req.query());
        const page = await readPage(sql, c.get("principal"), query);
        if (!page) throw badCursor();
        if (page.page_info.has_next_page) c.header("Link", nextLink(c.req.header("host"), page, query.limit));
        return c.json(page);
    });

    app.post("/brokers", writes, async (c) => {
        const key = idempotencyKey(c.req.header("idempotency-key")), data = checkBody(await bodyOf(c));
        if (!key) return c.json(await create(sql, c.get("principal"), data, c.get("id")), 201);
        const answer = await createWithKey(sql, c.get("principal"), key, data, c.get("id"));
        if (!answer.isSame) throw keyReused();
        if (answer.isRepeated) c.header("Idempotency-Replayed", "true");
        return c.body(answer.text, answer.status, { "Content-Type": "application/json" });
    });

    app.patch("/brokers/:id", writes, async (c) => {
        const patch = checkPatch(await bodyOf(c));
        const broker = ID.test(c.req.param("id")) && await update(sql, c.get("principal"), c.req.param("id"), patch, c.get("id"));
        if (!broker) throw noBroker();
        return c.json(broker);
    });

    app.post("/brokers/batch", writes, async (c) => {
        const { operations } = checkBatch(await bodyOf(c));
        return c.json(await batch(sql, c.get("principal"), operations.map((operation) => operation.data), c.get("id")));
    });

    await new Promise((resolve) => serve({ fetch: app.fetch, hostname, port }, resolve));
}
