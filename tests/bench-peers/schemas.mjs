// SPDX-License-Identifier: Apache-2.0
// The peer's JSON schemas: Ajv validates requests, and Fastify compiles serializers for responses.

export const idPattern = "^brk_[0-9a-hjkmnp-tv-z]{26}$";
const text = (maxLength, more = {}) => ({ type: "string", minLength: 1, maxLength, ...more });
const shown = { type: "string" };

const bankFields = { bank_code: text(10), bank_name: text(100), agency: text(20), account_number: text(30),
    account_type: { enum: ["checking", "savings"] }, pix_key: text(100) };

export const bodySchema = {
    type: "object",
    required: ["name"],
    additionalProperties: false,
    properties: {
        name: text(200),
        creci: text(32, { pattern: "[A-Za-z0-9]" }),
        document_number: text(32),
        email: text(254, { format: "email" }),
        phone: text(32),
        bank_account: { type: "object", additionalProperties: false, properties: bankFields },
        external_id: text(200),
        metadata: { type: "object" },
        visibility: { enum: ["private", "restricted", "public"] },
    },
};

// A merge patch (RFC 7396): null removes a member, unless the broker must have it.
const { name, visibility, ...optional } = bodySchema.properties;
const removable = (schema) => ({ anyOf: [schema, { type: "null" }] });
export const patchSchema = {
    type: "object",
    additionalProperties: false,
    properties: { name, visibility, ...Object.fromEntries(Object.entries(optional).map(([key, schema]) => [key, removable(schema)])),
        bank_account: { type: ["object", "null"], additionalProperties: false,
            properties: Object.fromEntries(Object.entries(bankFields).map(([key, schema]) => [key, removable(schema)])) } },
};

export const brokerSchema = {
    type: "object",
    properties: {
        id: shown, name: shown, creci: shown, document_number: shown, email: shown, phone: shown,
        bank_account: { type: "object", properties: Object.fromEntries(Object.keys(bankFields).map((name) => [name, shown])) },
        external_id: shown, metadata: { type: "object", additionalProperties: true },
        tenant_id: shown, organization_id: shown, visibility: shown, created_at: shown, updated_at: shown,
        created_by: shown, updated_by: shown,
    },
};

const cursor = { type: ["string", "null"] };
export const pageSchema = {
    querystring: {
        type: "object",
        additionalProperties: false,
        properties: { limit: { type: "integer", minimum: 1, maximum: 100, default: 25 }, cursor: { type: "string", maxLength: 500 } },
    },
    response: { 200: { type: "object", properties: {
        items: { type: "array", items: brokerSchema },
        page_info: { type: "object", properties: { start_cursor: cursor, end_cursor: cursor, has_next_page: { type: "boolean" },
            has_previous_page: { type: "boolean" } } },
    } } },
};

export const batchSchema = {
    body: {
        type: "object",
        required: ["operations"],
        additionalProperties: false,
        properties: { operations: { type: "array", minItems: 1, maxItems: 100, items: {
            type: "object",
            required: ["method", "data"],
            additionalProperties: false,
            properties: { method: { const: "create" }, data: bodySchema },
        } } },
    },
    response: { 200: { type: "object", properties: {
        succeeded: { type: "integer" }, failed: { type: "integer" },
        results: { type: "array", items: { type: "object", properties: { index: { type: "integer" }, status: { type: "integer" },
            resource: brokerSchema } } },
    } } },
};
