/* The parts of the description that no table of the model says (see model/openapi_builder.h): what the API is, who calls it,
 * how lists and errors look. */
#include <apr_strings.h>
#include <string.h>

#include "model/openapi_builder.h"

/* ---------------------------------------------------------------- the top */

static const char description[] =
    "An HTTP/JSON API for external systems that work with the data of a real-estate business.\n"
    "\n"
    "## Requests and responses\n"
    "Bodies are JSON in UTF-8, and a request that has one says `Content-Type: application/json`. Timestamps are UTC\n"
    "(`2026-01-31T13:45:10.123Z`). An identifier begins with a prefix that tells its kind. A field without a value is\n"
    "left out of a response. `HEAD` is answered as `GET`, without the body; `OPTIONS` lists the methods of a path in\n"
    "`Allow`.\n"
    "\n"
    "## Authentication\n"
    "Send a credential in `X-API-Key`. An API key (`nbr_…`) belongs to one organization and has a role and scopes. A\n"
    "personal access token (`pat_…`) has the rights of its user; where it reaches several organizations,\n"
    "`X-Organization-ID` says which one a request is about. `GET /me` tells what a credential may do. Credentials are\n"
    "for servers: keep them out of browsers and apps. A revoked one stops working at once.\n"
    "\n"
    "## Lists\n"
    "Lists are newest first and come in pages of `limit` items. For the next page send `page_info.end_cursor` as\n"
    "`cursor`, with the same filters, or follow the `Link` header, until `has_next_page` is false. Cursors are opaque\n"
    "and expire: do not build, decode or keep them.\n"
    "\n"
    "## Changes by several clients\n"
    "A resource is answered with its `ETag`. Sent as `If-Match`, it makes a change happen only if nobody else made\n"
    "one in between (otherwise 412); sent as `If-None-Match`, it saves the body of what has not changed (304).\n"
    "\n"
    "## Idempotency\n"
    "A request that creates takes an `Idempotency-Key`, a UUID of version 4. For 24 hours a repetition with the same\n"
    "key and body does nothing and gets the first answer again, marked `Idempotent-Replayed: true`. Errors are not\n"
    "kept: after one, send the same key again.\n"
    "\n"
    "## Errors\n"
    "Every error is a problem document (RFC 9457) of type `application/problem+json`. Programs decide by `code`;\n"
    "`detail` is for people. A 400 names all that is wrong in `errors`, in one pass. `documentation_url` leads to a\n"
    "page that explains every code. Quote `request_id` when you report a problem.\n"
    "\n"
    "Beside what is listed with the operations, any other path is answered with 404 `not_found.route`, any other\n"
    "method with 405 `validation.method_not_allowed` and `Allow`, and what is no proper HTTP request, such as one\n"
    "with an endless header, with 400, 414, 431 or another status of the web server and\n"
    "`validation.malformed_request`.\n"
    "\n"
    "## Rate limits\n"
    "The plan says how many requests a credential may make in a window. Every response tells where it stands in\n"
    "`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`; beyond the limit it is 429, with the\n"
    "seconds to wait in `Retry-After` and `retry_after`. Requests without a valid credential are counted by the\n"
    "client's address.\n"
    "\n"
    "## Webhooks\n"
    "A subscription (`POST /webhooks`) names an address and the events that it wants. Each is then told by a POST,\n"
    "described under `webhooks`; any 2xx confirms it, and anything else, or no answer in time, is tried again: five\n"
    "attempts in all, about 1 minute, 5 minutes, 30 minutes and 2 hours after each other. Redirects are not followed.\n"
    "`Retry-After` with 429 or 503 can postpone the next attempt; 410 makes the subscription inactive. An event can\n"
    "arrive more than once and out of order: its `id` tells repetitions, `updated_at` in the payload what is newer.\n"
    "\n"
    "Check the signature over the bytes of the body as they came, before reading them. `X-Webhook-Signature` is\n"
    "`sha256=` and the HMAC-SHA256, in lowercase hexadecimal digits, keyed with the whole secret. The headers of\n"
    "Standard Webhooks come with it, and their libraries can be used: `webhook-signature` covers id and timestamp too,\n"
    "so that an old request cannot be played again.\n"
    "\n"
    "## Versions\n"
    "The version is in the path: `/public/v1/`. Within it only additions are made: paths, optional parameters and\n"
    "fields, members of responses, codes. Ignore what you do not know. `info.version` is that of the software.\n";

/* clang-format off */
static const char top[] = NEO_JSON({
    "openapi": "3.1.0",
    "info": {
        "title": "Public Integration API",
        "version": "",
        "description": "",
        "contact": {"name": "What errors mean"},
        "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
    },
    "servers": [{"url": "", "description": "This deployment"}],
    "security": [{"apiKey": []}],
    "tags": [
        {"name": "Principal", "description": "Who a credential is and what it may do."},
        {"name": "Documentation", "description": "The API about itself. Needs no credential."}
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
        "description": "Who the credential is. The two kinds differ by `type`.",
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
                "description": "What the key may do: its role's scopes, or fewer.",
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
            "organization_id": {"type": "string", "description": "The organization that this request is about."},
            "user_id": {"type": "string", "description": "The user that the token belongs to."},
            "email": {"type": "string", "format": "email", "description": "The user's e-mail address."},
            "allowed_organization_ids": {
                "type": "array",
                "description": "The organizations that the token reaches, for X-Organization-ID.",
                "items": {"type": "string"}
            }
        }
    })},
    {"schemas", "PageInfo", NEO_JSON({
        "type": "object",
        "description": "Where a page is in its list. The cursors of an empty page are null.",
        "required": ["start_cursor", "end_cursor", "has_next_page", "has_previous_page"],
        "properties": {
            "start_cursor": {"type": ["string", "null"], "description": "Cursor of the page's first item."},
            "end_cursor": {"type": ["string", "null"], "description": "Send it as `cursor` for the next page."},
            "has_next_page": {"type": "boolean", "description": "Whether there are more items."},
            "has_previous_page": {"type": "boolean", "description": "Whether there are earlier items."}
        }
    })},
    {"schemas", "Problem", NEO_JSON({
        "type": "object",
        "description": "What went wrong (RFC 9457).",
        "required": ["type", "title", "status", "detail", "code", "request_id", "timestamp", "documentation_url"],
        "properties": {
            "type": {"type": "string", "description": "The class of the error.", "enum": []},
            "title": {"type": "string", "description": "The name of the class.", "enum": []},
            "status": {"type": "integer", "minimum": 400, "maximum": 599, "description": "The HTTP status."},
            "detail": {"type": "string", "description": "What happened, for people. Its wording may change."},
            "code": {
                "type": "string",
                "pattern": "^[a-z_]+(\\.[a-z0-9_]+)+$",
                "description": "What happened, for programs. `validation.failed` where `errors` has several."
            },
            "instance": {"type": "string", "format": "uri-reference", "description": "The request's path."},
            "request_id": {"type": "string", "description": "The request; the same as in X-Request-ID."},
            "timestamp": {"type": "string", "format": "date-time", "description": "When it was answered."},
            "documentation_url": {"type": "string", "format": "uri", "description": "Where the code is explained."},
            "errors": {
                "type": "array",
                "description": "Status 400 only: everything that is wrong, or the first hundred.",
                "minItems": 1,
                "maxItems": 100,
                "items": {"$ref": "#/components/schemas/ProblemItem"}
            },
            "retry_after": {"type": "integer", "minimum": 1, "description": "Status 429 only: seconds to wait."}
        }
    })},
    {"schemas", "ProblemItem", NEO_JSON({
        "type": "object",
        "description": "One thing that is wrong.",
        "required": ["field", "message", "code"],
        "properties": {
            "field": {
                "type": "string",
                "description": "The path of a field in the body (`address.city`, `items[2].name`), or a parameter's or header's name."
            },
            "message": {"type": "string", "description": "What is wrong with it, for people."},
            "code": {"type": "string", "description": "What is wrong with it, for programs."}
        }
    })},
    {"parameters", "Organization", NEO_JSON({
        "name": "X-Organization-ID",
        "in": "header",
        "description": "The organization that the request is about. Needed for a personal access token that reaches several.",
        "schema": {"type": "string", "pattern": "^org_[0-7][0-9a-hjkmnp-tv-z]{25}$"},
        "example": "org_01jp2azpts9g3j7m2n6q0s4v8w"
    })},
    {"parameters", "Limit", NEO_JSON({
        "name": "limit",
        "in": "query",
        "description": "How many items a page has at most.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 25},
        "example": 50
    })},
    {"parameters", "Cursor", NEO_JSON({
        "name": "cursor",
        "in": "query",
        "description": "`page_info.end_cursor` of the page before; left out for the first page.",
        "schema": {"type": "string"},
        "example": "AZk3Yc0VtW1n5bYc7LrJgmZ3k0Q8xdF2hK9sP4uE6oR7yT1wN0jB5vL8aGqCiXzDfHbMpSs"
    })},
    {"parameters", "IdempotencyKey", NEO_JSON({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A UUID of version 4, new for each operation: with it the request can be repeated safely.",
        "schema": {"type": "string", "format": "uuid"},
        "example": "6f1c0a52-9d0e-4b57-8a3e-2f7d1c9b4e60"
    })},
    {"parameters", "IfMatch", NEO_JSON({
        "name": "If-Match",
        "in": "header",
        "description": "The ETag that the resource must still have, or several, or `*`.",
        "schema": {"type": "string"},
        "example": "\"9f2c41d07ab3e586\""
    })},
    {"parameters", "IfNoneMatch", NEO_JSON({
        "name": "If-None-Match",
        "in": "header",
        "description": "An ETag that is already known, or several: if it is still the present one, the response is 304.",
        "schema": {"type": "string"},
        "example": "\"9f2c41d07ab3e586\""
    })},
    {"responses", "NotModified", NEO_JSON({
        "description": "It still has the ETag that If-None-Match names."
    })},
    {"responses", "Methods", NEO_JSON({
        "description": "The methods that the path has."
    })},
    {"responses", "Refused", NEO_JSON({
        "description": "The request is refused, with any of the problems of the other methods.",
        "content": {"application/problem+json": {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "examples": {"unauthorized.auth_required": {"$ref": "#/components/examples/unauthorized.auth_required"}}
        }}
    })},
    {"responses", "Failed", NEO_JSON({
        "description": "The service has failed.",
        "content": {"application/problem+json": {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "examples": {"internal.unexpected": {"$ref": "#/components/examples/internal.unexpected"}}
        }}
    })},
    {"responses", "RefusedWithoutBody", NEO_JSON({
        "description": "The request is refused with the status that GET has, without its body."
    })},
    {"responses", "FailedWithoutBody", NEO_JSON({
        "description": "The service has failed; the status is the one that GET has, without its body."
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

/* ---------------------------------------------------------------- what is answered where the path is no resource's */

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

/* The headers of the fixed responses, beside those that every response has. */
static const struct {
    const char *response;
    unsigned int headers;
} response_headers[] = {
    {"NotModified", NEO_HEADER_ETAG},
    {"Methods", NEO_HEADER_ALLOW},
    {"Refused", NEO_HEADER_RETRY_AFTER},
    {"Failed", NEO_HEADER_RETRY_AFTER},
    {"RefusedWithoutBody", NEO_HEADER_RETRY_AFTER},
    {"FailedWithoutBody", NEO_HEADER_RETRY_AFTER},
};
/* clang-format on */

/* ---------------------------------------------------------------- putting them in */

/* What the tables of roles and types add. */
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

/* The classes of errors and their titles, as the catalogue has them. */
static void fill_types(const neo_openapi_builder *builder)
{
    neo_json *properties = neo_json_get(neo_json_get(neo_json_get(builder->components, "schemas"), "Problem"), "properties");
    neo_json *types = neo_json_get(neo_json_get(properties, "type"), "enum");
    neo_json *titles = neo_json_get(neo_json_get(properties, "title"), "enum");
    const char *last = "";
    for (neo_code code = 0; code < NEO_CODES; code++) {
        const char *type = neo_code_row(code)->type;
        if (strcmp(type, last) == 0)
            continue;
        neo_json_append(types, neo_json_make_string(type, builder->pool));
        neo_json_append(titles, neo_json_make_string(neo_type_title(type), builder->pool));
        last = type;
    }
}

/* The roles and their scopes, as a table for people. */
static const char *description_of_roles(apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 1024);
    neo_buf_puts(&out, "An API key or a personal access token. What it may do follows from its role:\n\n"
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
    for (apr_size_t i = 0; i < sizeof response_headers / sizeof *response_headers; i++)
        neo_json_set(neo_json_get(neo_json_get(builder->components, "responses"), response_headers[i].response), "headers",
                     neo_openapi_headers(builder, response_headers[i].headers));
    fill_types(builder);
    named_values(builder, "Role", "The role of a key. More may come.", texts(pool, neo_role_names));
    named_values(builder, "Scope", "A right. More may come.", scopes_of(NEO_SCOPES_ALL, pool));
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
    for (int a = 0; a < NEO_ACTIONS; a++)
        if (neo_operations[a].of)
            add_tag(tags, neo_operations[a].tag, neo_operations[a].of->tag_doc, pool);
    for (void *m = neo_json_first(fixed); m; m = neo_json_next(fixed, m))
        neo_json_set(document, neo_json_member_key(m), neo_json_member_value(m));
}
