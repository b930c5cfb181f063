/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of the OpenAPI document, and its response headers (see model/openapi_builder.h). */
#include "model/openapi_builder.h"

#include <apr_lib.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

neo_json *neo_openapi_json(apr_pool_t *pool, const char *fmt, ...)
{
    const char *wrong;
    va_list args;
    va_start(args, fmt);
    const char *text = apr_pvsprintf(pool, fmt, args);
    va_end(args);
    neo_json *value = neo_json_parse((neo_text){text, strlen(text)}, pool, &wrong);
    if (!value)
        abort(); /* a mistake in the source */
    return value;
}

void neo_openapi_text(neo_json *object, const char *key, const char *text, apr_pool_t *pool)
{
    if (text)
        neo_json_set(object, key, neo_json_make_string(text, pool));
}

neo_json *neo_openapi_add(const neo_openapi_builder *builder, const char *kind, const char *name, neo_json *value)
{
    neo_json *members = neo_json_get(builder->components, kind);
    if (!members) {
        members = neo_json_make_object(builder->pool);
        neo_json_set(builder->components, kind, members);
    }
    neo_json_set(members, name, value);
    return value;
}

neo_json *neo_openapi_ref(const neo_openapi_builder *builder, const char *kind, const char *name)
{
    return neo_openapi_json(builder->pool, "{\"$ref\": \"#/components/%s/%s\"}", kind, name);
}

void neo_openapi_example(const neo_openapi_builder *builder, const char *name, neo_json *value)
{
    neo_json *example = neo_openapi_add(builder, "examples", name, neo_json_make_object(builder->pool));
    neo_json_set(example, "value", value);
}

neo_json *neo_openapi_share(const neo_openapi_builder *builder, const char *name, neo_json *response)
{
    const char *key = name, *text = neo_json_text(response, builder->pool).ptr;
    for (int number = 2;; number++) {
        neo_json *known = neo_json_get(neo_json_get(builder->components, "responses"), key);
        if (!known)
            neo_openapi_add(builder, "responses", key, response);
        if (!known || strcmp(neo_json_text(known, builder->pool).ptr, text) == 0)
            return neo_openapi_ref(builder, "responses", key);
        key = apr_psprintf(builder->pool, "%s-%d", name, number);
    }
}

neo_json *neo_openapi_content(const neo_openapi_builder *builder, const char *schema)
{
    neo_json *content = neo_json_make_object(builder->pool), *examples = neo_json_make_object(builder->pool);
    neo_json_set(content, "schema", neo_openapi_ref(builder, "schemas", schema));
    if (neo_json_get(neo_json_get(builder->components, "examples"), schema)) {
        neo_json_set(examples, schema, neo_openapi_ref(builder, "examples", schema));
        neo_json_set(content, "examples", examples);
    }
    return content;
}

/* ---------------------------------------------------------------- texts */

static const char *capitalised(const char *text, apr_pool_t *pool)
{
    char *copy = apr_pstrdup(pool, text);
    *copy = (char)apr_toupper(*copy);
    return copy;
}

static const char *sample_id(const neo_resource *resource, apr_pool_t *pool)
{
    const neo_field *id = neo_field_named(resource->fields, "id");
    return id ? neo_json_string(neo_openapi_json(pool, "%s", id->example)) : NULL;
}

/* The value of a name between braces; NULL if it stays as it is. */
static const char *value_of(const neo_openapi_builder *builder, const neo_resource *resource, const char *name)
{
    if (strcmp(name, "base") == 0)
        return builder->base;
    if (!resource)
        return NULL;
    if (strcmp(name, "resource") == 0)
        return resource->name;
    if (strcmp(name, "collection") == 0)
        return resource->collection;
    if (strcmp(name, "Resource") == 0)
        return resource->title;
    if (strcmp(name, "Collection") == 0)
        return capitalised(resource->collection, builder->pool);
    return strcmp(name, "sample_id") == 0 ? sample_id(resource, builder->pool) : NULL;
}

const char *neo_openapi_fill(const neo_openapi_builder *builder, const char *text, const neo_resource *resource)
{
    neo_buf out;
    neo_buf_init(&out, builder->pool, strlen(text) + 32);
    for (const char *open; (open = strchr(text, '{'));) {
        const char *end = open + 1 + strcspn(open + 1, "}");
        const char *value = value_of(builder, resource, apr_pstrmemdup(builder->pool, open + 1, (apr_size_t)(end - open - 1)));
        neo_buf_add(&out, text, (apr_size_t)(open - text));
        neo_buf_puts(&out, value ? value : "{");
        text = value ? end + 1 : open + 1;
    }
    neo_buf_puts(&out, text);
    return out.ptr;
}

/* ---------------------------------------------------------------- headers */

/* `of` is 0 if every response has it. `is_certain`: it is never absent from a response that declares it. */
/* clang-format off */
static const struct {
    unsigned int of;
    int is_certain;
    const char *name, *component, *json;
} headers[] = {
    {0, 1, "X-Request-ID", "RequestId", NEO_JSON({
        "description": "Identifies the request, also in the server's log.",
        "schema": {"type": "string", "pattern": "^req_[0-7][0-9a-hjkmnp-tv-z]{25}$"},
        "example": "req_01kga4ssqb0d4f7h2k5n9q1s6v"
    })},
    {NEO_HEADER_RATE_LIMIT, 1, "X-RateLimit-Limit", "Limit", NEO_JSON({
        "description": "Requests per window.",
        "schema": {"type": "integer", "minimum": 1},
        "example": 600
    })},
    {NEO_HEADER_RATE_LIMIT, 1, "X-RateLimit-Remaining", "Remaining", NEO_JSON({
        "description": "Requests left now.",
        "schema": {"type": "integer", "minimum": 0},
        "example": 597
    })},
    {NEO_HEADER_RATE_LIMIT, 1, "X-RateLimit-Reset", "Reset", NEO_JSON({
        "description": "When the oldest counted requests leave the window, in seconds since 1970 (Unix time).",
        "schema": {"type": "integer", "format": "int64", "minimum": 0},
        "example": 1769867160
    })},
    {NEO_HEADER_ETAG, 1, "ETag", "ETag", NEO_JSON({
        "description": "Version of the resource, for If-Match and If-None-Match.",
        "schema": {"type": "string"},
        "example": "\"9f2c41d07ab3e586\""
    })},
    {NEO_HEADER_LOCATION, 1, "Location", "Location", NEO_JSON({
        "description": "URL of the new resource.",
        "schema": {"type": "string", "format": "uri"},
        "example": "{base}/{collection}/{sample_id}"
    })},
    {NEO_HEADER_POSITION, 0, "X-Events-Position", "EventsPosition", NEO_JSON({
        "description": "The position from which to follow the event log. `GET /events` has it only with `order=asc`.",
        "schema": {"type": "string"},
        "example": "evt_00000000000f42410000000000"
    })},
    {NEO_HEADER_LINK, 0, "Link", "Link", NEO_JSON({
        "description": "URL of the next page with `rel=\"next\"` (RFC 8288), if there is one.",
        "schema": {"type": "string"},
        "example": "<{base}/{collection}?limit=25&cursor=AZk3Yc0VtW1n5bYc7LrJgmZ3k0Q8xdF2hK9sP4uE6oR7yT1wN0jB5vL8aGqCiXzDfHbMpSs>; rel=\"next\""
    })},
    {NEO_HEADER_TOTAL, 0, "X-Total-Count", "TotalCount", NEO_JSON({
        "description": "With `count=true`: the number of items in all pages, or `10000+`.",
        "schema": {"type": "string", "pattern": "^([0-9]+|10000\\+)$"},
        "example": "1284"
    })},
    {NEO_HEADER_REPLAYED, 0, "Idempotent-Replayed", "IdempotentReplayed", NEO_JSON({
        "description": "Present if this is the stored response to an earlier request with the same Idempotency-Key.",
        "schema": {"type": "string", "const": "true"},
        "example": "true"
    })},
    {NEO_HEADER_RETRY_AFTER, 0, "Retry-After", "RetryAfter", NEO_JSON({
        "description": "Seconds to wait. Present with 429 and 503.",
        "schema": {"type": "integer", "minimum": 1},
        "example": 50
    })},
    {NEO_HEADER_CHALLENGE, 1, "WWW-Authenticate", "Challenge", NEO_JSON({
        "description": "The header that carries the credential.",
        "schema": {"type": "string"},
        "example": "ApiKey header=\"X-API-Key\""
    })},
};
/* clang-format on */

static neo_json *header_of(const neo_openapi_builder *builder, int row)
{
    neo_json *header = neo_openapi_json(builder->pool, "%s", headers[row].json);
    const char *example = neo_json_string(neo_json_get(header, "example"));
    if (example)
        neo_openapi_text(header, "example", neo_openapi_fill(builder, example, neo_resources[0]), builder->pool);
    if (headers[row].is_certain)
        neo_json_set(header, "required", neo_json_make_boolean(1, builder->pool));
    return header;
}

neo_json *neo_openapi_headers(const neo_openapi_builder *builder, unsigned int set)
{
    neo_json *all = neo_json_make_object(builder->pool);
    for (int i = 0; i < (int)(sizeof headers / sizeof *headers); i++) {
        if (headers[i].of && !(headers[i].of & set))
            continue;
        if (!neo_json_get(neo_json_get(builder->components, "headers"), headers[i].component))
            neo_openapi_add(builder, "headers", headers[i].component, header_of(builder, i));
        neo_json_set(all, headers[i].name, neo_openapi_ref(builder, "headers", headers[i].component));
    }
    return all;
}
