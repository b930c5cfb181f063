/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the OpenAPI document that no table of the model defines: the introduction, authentication, the forms of lists
 * and errors (see model/openapi_parts.h). */
#include <apr_strings.h>
#include <string.h>

#include "model/openapi_parts.h"

/* ---------------------------------------------------------------- the top */

static const char description[] =
    "An HTTP/JSON API for external systems that work with the data of a real-estate business.\n"
    "\n"
    "## Requests and responses\n"
    "Bodies are JSON in UTF-8; send `Content-Type: application/json`. Timestamps are UTC (`2026-01-31T13:45:10.123Z`).\n"
    "The prefix of an id shows its kind. Fields without a value are absent from responses.\n"
    "\n"
    "Every path with `GET` also has `HEAD`: the same parameters, status and headers, without the body. Every path has\n"
    "`OPTIONS`: 204 with the methods of the path in `Allow`. It needs a credential if the other methods do, but no\n"
    "scope and no organization.\n"
    "\n"
    "## Authentication\n"
    "Send a credential in `X-API-Key`. An API key (`nbr_…`) belongs to one organization and has a role and scopes. A\n"
    "personal access token (`pat_…`) has the rights of its user. If it reaches several organizations, send\n"
    "`X-Organization-ID`. `GET /me` returns what a credential may do. Credentials are for servers: keep them out of\n"
    "browsers and apps. A revoked credential stops working at once.\n"
    "\n"
    "## Lists\n"
    "Lists are newest first, in pages of `limit` items. For the next page send `page_info.end_cursor` as `cursor` with\n"
    "the same filters, or follow the `Link` header, until `has_next_page` is false. Cursors are opaque and expire: do\n"
    "not build, decode or store them. The values of a parameter are separated by commas, or the parameter is repeated;\n"
    "`%2C` is part of a value.\n"
    "\n"
    "`GET /{collection}/export` returns the whole list as it is at one moment. Every 100 resources count as one request\n"
    "for the rate limit; if it is used up, the export pauses. A response without its last chunk, or its end of stream, is\n"
    "incomplete: discard it. `X-Events-Position` is where to follow the event log.\n"
    "\n"
    "## Concurrent changes\n"
    "Responses with one resource have its `ETag`. Send it as `If-Match`, and a change succeeds only if there was no\n"
    "other one in between (otherwise 412); send it as `If-None-Match`, and an unchanged resource is a 304 without body.\n"
    "\n"
    "## Idempotency\n"
    "Requests that create accept an `Idempotency-Key`, a UUID of version 4. For 24 hours a request with the same key\n"
    "and body changes nothing and returns the stored response, with `Idempotent-Replayed: true`. Errors are not\n"
    "stored: after an error, send the same key again.\n"
    "\n"
    "## Batches\n"
    "`POST /{collection}/batch` executes up to 100 operations in order. Each has the same result as the single request:\n"
    "an update is a JSON merge patch, an upsert replaces the resource with the `external_id` like a PUT or creates it,\n"
    "and each change has its own event. Without `atomic` each succeeds or fails on its\n"
    "own, and the response has all results. With `atomic` all are executed or none: the response is the first error,\n"
    "with its status and the operation in front of its fields (`operations[3].data.name`), and `failures` has the\n"
    "results of all operations that failed. Each is checked as if the failed ones before it had not been sent, so a\n"
    "failure can be a consequence of an earlier one.\n"
    "\n"
    "For the rate limit, ten operations or fewer count as one request, 100 as ten. A batch that exceeds what is left is\n"
    "refused with 429 and counts as one request. An `Idempotency-Key` applies to the whole batch.\n"
    "\n"
    "## Errors\n"
    "Every error is a problem document (RFC 9457) of type `application/problem+json`. Programs use `code`; `detail` is\n"
    "for people. A 400 lists everything that is wrong in `errors`. `documentation_url` leads to a page that explains\n"
    "every code. Quote `request_id` when you report a problem.\n"
    "\n"
    "Each error response lists its codes. In them, `<resource>` is the kind of the resource, such as `broker`, and\n"
    "`<field>` is the path of the field with underscores, such as `bank_account_pix_key`.\n"
    "\n"
    "In addition, unknown paths return 404 `not_found.route`, other methods 405 `validation.method_not_allowed` with\n"
    "`Allow`, and malformed HTTP requests 400, 414, 431 or another status of the web server with\n"
    "`validation.malformed_request`.\n"
    "\n"
    "## Rate limits\n"
    "The plan limits the requests of a credential in a sliding window. Every response has `X-RateLimit-Limit`,\n"
    "`X-RateLimit-Remaining` and `X-RateLimit-Reset`. Beyond the limit the status is 429, with the seconds to wait in\n"
    "`Retry-After` and `retry_after`. Requests without a valid credential are counted by client address.\n"
    "\n"
    "## Webhooks\n"
    "A subscription (`POST /webhooks`) has a URL and a list of events. Each event is sent in a POST, described under\n"
    "`webhooks`. Any 2xx within 15 seconds confirms it; answer before doing anything that takes long. Otherwise it is\n"
    "sent again: five attempts, after about 1 minute, 5 minutes, 30 minutes and 2 hours. Redirects are not followed.\n"
    "`Retry-After` with 429 or 503 postpones the next attempt; 410 makes the subscription inactive. Events can arrive\n"
    "more than once and out of order: `id` identifies duplicates, and `updated_at` in the payload shows which is newer.\n"
    "\n"
    "Check the signature over the bytes of the body before parsing them. `X-Webhook-Signature` is `sha256=` and the\n"
    "HMAC-SHA256, in lowercase hexadecimal digits, keyed with the whole secret. The headers of Standard Webhooks are\n"
    "sent as well, and their libraries can be used: `webhook-signature` also covers id and timestamp, so that an old\n"
    "request cannot be replayed.\n"
    "\n"
    "## Versions\n"
    "The version is in the path: `/public/v1/`. Within it there are only additions: paths, optional parameters and\n"
    "fields, members of responses, codes. Ignore what you do not know. `info.version` is the version of the software.\n";

/* clang-format off */
static const char top[] = NEO_JSON({
    "openapi": "3.1.0",
    "info": {
        "title": "Public Integration API",
        "version": "",
        "description": "",
        "contact": {"name": "Error codes"},
        "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
    },
    "servers": [{"url": "", "description": "This deployment"}],
    "security": [{"apiKey": []}],
    "tags": [
        {"name": "Principal", "description": "The identity and rights of a credential."},
        {"name": "Documentation", "description": "Descriptions of the API. No credential needed."}
    ]
});

/* ---------------------------------------------------------------- components */

static const char security[] = NEO_JSON({
    "type": "apiKey",
    "in": "header",
    "name": "X-API-Key",
    "description": ""
});

static const struct {
    const char *kind, *name, *json;
} components[] = {
    {"schemas", "Principal", NEO_JSON({
        "description": "The identity of the credential; `type` is the kind.",
        "oneOf": [
            {"$ref": "#/components/schemas/ApiKeyPrincipal"},
            {"$ref": "#/components/schemas/PersonalAccessTokenPrincipal"}
        ],
        "discriminator": {
            "propertyName": "type",
            "mapping": {
                "api_key": "#/components/schemas/ApiKeyPrincipal",
                "personal_access_token": "#/components/schemas/PersonalAccessTokenPrincipal"
            }
        }
    })},
    {"schemas", "ApiKeyPrincipal", NEO_JSON({
        "type": "object",
        "description": "An API key: a service account of one organization.",
        "required": ["type", "principal_id", "tenant_id", "organization_id", "role", "scopes"],
        "properties": {
            "type": {"type": "string", "const": "api_key", "description": "The kind of credential."},
            "principal_id": {"type": "string", "description": "The key's public id."},
            "tenant_id": {"type": "string", "description": "The tenant that the organization belongs to."},
            "organization_id": {"type": "string", "description": "The organization that the key belongs to."},
            "role": {"$ref": "#/components/schemas/Role"},
            "scopes": {
                "type": "array",
                "description": "What the key may do: the scopes of its role, or fewer.",
                "items": {"$ref": "#/components/schemas/Scope"}
            }
        }
    })},
    {"schemas", "PersonalAccessTokenPrincipal", NEO_JSON({
        "type": "object",
        "description": "A personal access token: it has the rights of its user.",
        "required": ["type", "principal_id", "tenant_id", "organization_id", "user_id", "email", "allowed_organization_ids"],
        "properties": {
            "type": {"type": "string", "const": "personal_access_token", "description": "The kind of credential."},
            "principal_id": {"type": "string", "description": "The token's public id."},
            "tenant_id": {"type": "string", "description": "The user's tenant."},
            "organization_id": {"type": "string", "description": "The organization of this request."},
            "user_id": {"type": "string", "description": "The user that the token belongs to."},
            "email": {"type": "string", "format": "email", "description": "The user's e-mail address."},
            "allowed_organization_ids": {
                "type": "array",
                "description": "Organizations that the token reaches, for X-Organization-ID.",
                "items": {"type": "string"}
            }
        }
    })},
    {"schemas", "ExternalReference", NEO_JSON({
        "type": "object",
        "description": "A reference by the external id of the other resource, instead of its id.",
        "required": ["external_id"],
        "properties": {"external_id": {"type": "string", "minLength": 1, "maxLength": 100, "examples": ["crm-48213"]}},
        "additionalProperties": false
    })},
    {"schemas", "PageInfo", NEO_JSON({
        "type": "object",
        "description": "The place of a page in its list. The cursors of an empty page are null.",
        "required": ["start_cursor", "end_cursor", "has_next_page", "has_previous_page"],
        "properties": {
            "start_cursor": {"type": ["string", "null"], "description": "Cursor of the page's first item."},
            "end_cursor": {"type": ["string", "null"], "description": "Send it as `cursor` for the next page."},
            "has_next_page": {"type": "boolean", "description": "Whether there are more items."},
            "has_previous_page": {"type": "boolean", "description": "Whether there are earlier items."}
        }
    })},
    {"schemas", "Export", NEO_JSON({
        "type": "string",
        "description": "Lines of JSON in UTF-8; each has a resource, as lists have it."
    })},
    {"schemas", "Problem", NEO_JSON({
        "type": "object",
        "description": "An error (RFC 9457).",
        "required": ["type", "title", "status", "detail", "code", "request_id", "timestamp", "documentation_url"],
        "properties": {
            "type": {"type": "string", "description": "The class of the error.", "enum": []},
            "title": {"type": "string", "description": "The name of the class.", "enum": []},
            "status": {"type": "integer", "minimum": 400, "maximum": 599, "description": "The HTTP status."},
            "detail": {"type": "string", "description": "What happened, for people. Its wording may change."},
            "code": {
                "type": "string",
                "pattern": "^[a-z_]+(\\.[a-z0-9_]+)+$",
                "description": "What happened, for programs. `validation.failed` if `errors` has several."
            },
            "instance": {"type": "string", "format": "uri-reference", "description": "The request's path."},
            "request_id": {"type": "string", "description": "Identifies the request, as in X-Request-ID."},
            "timestamp": {"type": "string", "format": "date-time", "description": "When the response was made."},
            "documentation_url": {"type": "string", "format": "uri", "description": "Page that explains the code."},
            "errors": {
                "type": "array",
                "description": "Status 400 only: all errors, or the first hundred.",
                "minItems": 1,
                "maxItems": 100,
                "items": {"$ref": "#/components/schemas/ProblemItem"}
            },
            "field": {"type": "string", "description": "`conflict.duplicate` only: the field."},
            "existing_id": {"type": "string", "description": "`conflict.duplicate` only: who has the value, if still there."},
            "limit": {"type": "string", "description": "`conflict.limit_reached` only: the limit's name."},
            "limit_value": {"type": "integer", "description": "`conflict.limit_reached` only."},
            "retry_after": {"type": "integer", "minimum": 1, "description": "Status 429 only: seconds to wait."},
            "failures": {
                "type": "array",
                "description": "Atomic batches only: the results of all operations that failed.",
                "minItems": 1,
                "maxItems": 100,
                "items": {
                    "type": "object",
                    "description": "The result of one operation.",
                    "required": ["index", "status", "error"],
                    "properties": {
                        "index": {"type": "integer", "description": "Index of the operation in the request, from 0.", "minimum": 0, "maximum": 99},
                        "status": {"type": "integer", "description": "Status of the single request.", "minimum": 400, "maximum": 599},
                        "error": {"description": "Why it failed, with fields as in the single request.", "$ref": "#/components/schemas/Problem"}
                    }
                }
            }
        }
    })},
    {"schemas", "ProblemItem", NEO_JSON({
        "type": "object",
        "description": "One error.",
        "required": ["field", "message", "code"],
        "properties": {
            "field": {
                "type": "string",
                "description": "The path of a field in the body (`address.city`, `items[2].name`), or a parameter's or header's name."
            },
            "message": {"type": "string", "description": "What is wrong, for people."},
            "code": {"type": "string", "description": "What is wrong, for programs."}
        }
    })},
    {"parameters", "Organization", NEO_JSON({
        "name": "X-Organization-ID",
        "in": "header",
        "description": "The organization of the request. Required for a personal access token that reaches several.",
        "schema": {"type": "string", "pattern": "^org_[0-7][0-9a-hjkmnp-tv-z]{25}$"},
        "example": "org_01jp2azpts9g3j7m2n6q0s4v8w"
    })},
    {"parameters", "ExternalId", NEO_JSON({
        "name": "external_id",
        "in": "path",
        "required": true,
        "description": "Your own id of the resource.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
        "example": "crm-48213"
    })},
    {"parameters", "Limit", NEO_JSON({
        "name": "limit",
        "in": "query",
        "description": "Maximum number of items in a page.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 25},
        "example": 50
    })},
    {"parameters", "Cursor", NEO_JSON({
        "name": "cursor",
        "in": "query",
        "description": "`page_info.end_cursor` of the previous page; absent for the first page.",
        "schema": {"type": "string"},
        "example": "AZk3Yc0VtW1n5bYc7LrJgmZ3k0Q8xdF2hK9sP4uE6oR7yT1wN0jB5vL8aGqCiXzDfHbMpSs"
    })},
    {"parameters", "Sort", NEO_JSON({
        "name": "sort",
        "in": "query",
        "description": "Order; a minus sign means descending. A cursor is only valid with the order of its page.",
        "schema": {"type": "string", "enum": ["-created_at", "created_at", "-updated_at", "updated_at"], "default": "-created_at"}
    })},
    {"parameters", "SortByCreation", NEO_JSON({
        "name": "sort",
        "in": "query",
        "description": "Order; a minus sign means descending. A cursor is only valid with the order of its page.",
        "schema": {"type": "string", "enum": ["-created_at", "created_at"], "default": "-created_at"}
    })},
    {"parameters", "Count", NEO_JSON({
        "name": "count",
        "in": "query",
        "description": "Count the items in all pages, for `X-Total-Count`.",
        "schema": {"type": "boolean", "default": false}
    })},
    {"parameters", "IdempotencyKey", NEO_JSON({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A UUID of version 4, new for each operation. With it the request can be retried safely.",
        "schema": {"type": "string", "format": "uuid"},
        "example": "6f1c0a52-9d0e-4b57-8a3e-2f7d1c9b4e60"
    })},
    {"parameters", "Import", NEO_JSON({
        "name": "import",
        "in": "query",
        "description": "The body is history: any status, with its `created_at` and other timestamps. Only for `org_admin`.",
        "schema": {"type": "boolean", "default": false}
    })},
    {"parameters", "IfMatch", NEO_JSON({
        "name": "If-Match",
        "in": "header",
        "description": "The ETag that the resource must have, or several, or `*`.",
        "schema": {"type": "string"},
        "example": "\"9f2c41d07ab3e586\""
    })},
    {"parameters", "IfNoneMatch", NEO_JSON({
        "name": "If-None-Match",
        "in": "header",
        "description": "The known ETag, or several: if the resource has it, the response is 304.",
        "schema": {"type": "string"},
        "example": "\"9f2c41d07ab3e586\""
    })},
    {"responses", "NotModified", NEO_JSON({
        "description": "Not Modified: the ETag is in If-None-Match."
    })},
    {"examples", "ApiKeyPrincipal", NEO_JSON({
        "summary": "An API key",
        "value": {
            "type": "api_key",
            "principal_id": "nbr_01jwr1zbts0h4k8n3p7r1t5w9x",
            "tenant_id": "tnt_01jnzrjzts8f2h6k1m5p9r3t7v",
            "organization_id": "org_01jp2azpts9g3j7m2n6q0s4v8w",
            "role": "org_editor",
            "scopes": ["brokers:read", "brokers:write", "properties:read"]
        }
    })},
    {"examples", "PersonalAccessTokenPrincipal", NEO_JSON({
        "summary": "A personal access token",
        "value": {
            "type": "personal_access_token",
            "principal_id": "pat_01k42c4rts2k6n0q5r9t3w7z1a",
            "tenant_id": "tnt_01jnzrjzts8f2h6k1m5p9r3t7v",
            "organization_id": "org_01jp2azpts9g3j7m2n6q0s4v8w",
            "user_id": "usr_01jqrdasts1j5m9p4q8s2v6y0z",
            "email": "marcos.lima@example.com.br",
            "allowed_organization_ids": ["org_01jp2azpts9g3j7m2n6q0s4v8w", "org_01jtfyv7ts3m7p1r6s0v4x8a2b"]
        }
    })},
};

/* ---------------------------------------------------------------- responses of paths without a resource */

static const char *const answers[NEO_ACTIONS] = {
    [NEO_ACTION_ME] = NEO_JSON({
        "schema": {"$ref": "#/components/schemas/Principal"},
        "examples": {
            "api_key": {"$ref": "#/components/examples/ApiKeyPrincipal"},
            "personal_access_token": {"$ref": "#/components/examples/PersonalAccessTokenPrincipal"}
        }
    }),
    [NEO_ACTION_OPENAPI] = NEO_JSON({
        "schema": {"type": "string", "contentMediaType": "application/yaml"},
        "example": "openapi: 3.1.0\ninfo:\n  title: Public Integration API\n"
    }),
    [NEO_ACTION_ERRORS] = NEO_JSON({
        "schema": {"type": "string", "contentMediaType": "text/html"},
        "example": "<!DOCTYPE html>\n<html lang=\"en\">\n"
    }),
};
/* clang-format on */

/* ---------------------------------------------------------------- from the tables */

static neo_json *texts(apr_pool_t *pool, const char *const *list)
{
    neo_json *array = neo_json_make_array(pool);
    for (; *list; list++)
        neo_json_append(array, neo_json_make_string(*list, pool));
    return array;
}

static neo_json *named_values(const neo_openapi_builder *builder, const char *name, const char *doc, neo_json *values)
{
    neo_json *schema =
        neo_openapi_add(builder, "schemas", name, neo_openapi_json(builder->pool, NEO_JSON({"type" : "string"})));
    neo_openapi_text(schema, "description", doc, builder->pool);
    neo_json_set(schema, "enum", values);
    return schema;
}

static neo_json *scopes_of(neo_scopes scopes, apr_pool_t *pool)
{
    neo_buf text;
    neo_buf_init(&text, pool, 512);
    neo_scopes_json(&text, scopes);
    return neo_openapi_json(pool, "%s", text.ptr);
}

/* Appends the string unless the array has it. */
static void append_new(neo_json *array, const char *string, apr_pool_t *pool)
{
    for (apr_size_t i = 0; i < neo_json_size(array); i++)
        if (strcmp(neo_json_string(neo_json_at(array, i)), string) == 0)
            return;
    neo_json_append(array, neo_json_make_string(string, pool));
}

/* The classes of errors and their titles, from the catalogue. */
static void fill_types(const neo_openapi_builder *builder)
{
    neo_json *properties = neo_json_get(neo_json_get(neo_json_get(builder->components, "schemas"), "Problem"), "properties");
    neo_json *types = neo_json_get(neo_json_get(properties, "type"), "enum");
    neo_json *titles = neo_json_get(neo_json_get(properties, "title"), "enum");
    for (neo_code code = 0; code < NEO_CODES; code++) {
        const neo_code_info *row = neo_code_row(code);
        append_new(types, row->type, builder->pool);
        append_new(titles, neo_problem_title(row->type, row->status), builder->pool);
    }
}

/* The roles and their scopes, as a table for people. */
static const char *description_of_roles(apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 1024);
    neo_buf_puts(&out, "An API key or a personal access token. Its role defines its scopes:\n\n"
                       "| Role | Scopes |\n|---|---|");
    for (const char *const *role = neo_role_names; *role; role++) {
        neo_scopes scopes;
        if (!neo_role_scopes(*role, &scopes))
            continue;
        neo_buf_printf(&out, "\n| `%s` |", *role);
        for (neo_scopes scope = 1; scope && scope <= NEO_SCOPES_ALL; scope <<= 1)
            if (scopes & scope)
                neo_buf_printf(&out, " `%s`", neo_scope_text(scope, pool));
        neo_buf_puts(&out, " |");
    }
    return out.ptr;
}

void neo_openapi_fixed_components(const neo_openapi_builder *builder)
{
    apr_pool_t *pool = builder->pool;
    neo_json *scheme = neo_openapi_add(builder, "securitySchemes", "apiKey", neo_openapi_json(pool, "%s", security));
    neo_openapi_text(scheme, "description", description_of_roles(pool), pool);
    for (apr_size_t i = 0; i < sizeof components / sizeof *components; i++)
        neo_openapi_add(builder, components[i].kind, components[i].name, neo_openapi_json(pool, "%s", components[i].json));
    neo_json_set(neo_json_get(neo_json_get(builder->components, "responses"), "NotModified"), "headers",
                 neo_openapi_headers(builder, NEO_HEADER_ETAG));
    fill_types(builder);
    named_values(builder, "Role", "The role of a key. More may be added.", texts(pool, neo_role_names));
    named_values(builder, "Scope", "A right. More may be added.", scopes_of(NEO_SCOPES_ALL, pool));
}

neo_json *neo_openapi_answer(const neo_openapi_builder *builder, neo_action action)
{
    return neo_openapi_json(builder->pool, "%s", answers[action]);
}

static void add_tag(neo_json *tags, const char *name, const char *doc, apr_pool_t *pool)
{
    neo_json *tag = neo_json_make_object(pool);
    neo_openapi_text(tag, "name", name, pool);
    neo_openapi_text(tag, "description", doc, pool);
    neo_json_append(tags, tag);
}

void neo_openapi_top(const neo_openapi_builder *builder, neo_json *document)
{
    apr_pool_t *pool = builder->pool;
    neo_json *fixed = neo_openapi_json(pool, "%s", top), *info = neo_json_get(fixed, "info"),
             *tags = neo_json_get(fixed, "tags");
    neo_openapi_text(info, "version", NEO_VERSION, pool);
    neo_openapi_text(info, "description", description, pool);
    neo_openapi_text(neo_json_get(info, "contact"), "url", apr_pstrcat(pool, builder->docs_url, "/errors", NULL), pool);
    neo_openapi_text(neo_json_at(neo_json_get(fixed, "servers"), 0), "url", builder->base, pool);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        add_tag(tags, neo_openapi_fill(builder, "{Collection}", *r), (*r)->tag_doc, pool);
    const char *last = NULL; /* operations with the same tag follow each other */
    for (int a = 0; a < NEO_ACTIONS; a++)
        if (neo_operations[a].of && (!last || strcmp(last, neo_operations[a].tag) != 0)) {
            last = neo_operations[a].tag;
            add_tag(tags, last, neo_operations[a].of->tag_doc, pool);
        }
    for (void *m = neo_json_first(fixed); m; m = neo_json_next(fixed, m))
        neo_json_set(document, neo_json_member_key(m), neo_json_member_value(m));
}
