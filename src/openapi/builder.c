/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of the OpenAPI document, and its response headers (see openapi/openapi.h). */
#include "openapi/openapi.h"

#include <apr_lib.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

neo_json *neo_openapi_json(apr_pool_t *pool, const char *fmt, ...)
{
    const char *error;
    va_list args;
    va_start(args, fmt);
    const char *text = apr_pvsprintf(pool, fmt, args);
    va_end(args);
    neo_json *value = neo_json_parse((neo_text){text, strlen(text)}, pool, &error);
    if (!value)
        abort(); /* a mistake in the source */
    return value;
}

void neo_openapi_deprecate(neo_json *value, const neo_deprecation *mark, apr_pool_t *pool)
{
    const char *doc = neo_json_string_at(value, "description");
    if (!mark)
        return;
    const char *end = mark->sunset ? apr_pstrcat(pool, ", until ", mark->sunset, NULL) : "";
    neo_json_set_boolean(value, "deprecated", 1, pool);
    neo_json_set_string(
        value, "description",
        apr_pstrcat(pool, doc ? doc : "", doc ? " " : "", "Deprecated since ", mark->since, end, ". ", mark->doc, NULL), pool);
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

char *neo_openapi_camel_case(const char *name, apr_pool_t *pool)
{
    neo_buf out;
    int is_first = 1;
    neo_buf_init(&out, pool, 40);
    for (; *name; name++) {
        if (apr_isalnum(*name))
            neo_buf_putc(&out, (char)(is_first ? apr_toupper(*name) : *name));
        is_first = !apr_isalnum(*name);
    }
    return out.ptr;
}

/* The value of a name between braces; NULL if it stays as it is. */
static const char *find_placeholder(const neo_openapi_builder *builder, const neo_resource *resource, const char *name)
{
    if (strcmp(name, "base") == 0)
        return builder->base;
    if (strcmp(name, "docs") == 0)
        return builder->docs_url;
    if (strcmp(name, "version") == 0)
        return NEO_VERSION;
    if (!resource)
        return NULL;
    if (strcmp(name, "resource") == 0)
        return resource->name;
    if (strcmp(name, "prefix") == 0)
        return resource->prefix;
    if (strcmp(name, "collection") == 0)
        return resource->collection;
    if (strcmp(name, "Resource") == 0)
        return resource->title;
    if (strcmp(name, "Collection") == 0)
        return neo_openapi_camel_case(resource->collection, builder->pool);
    const neo_field *id = strcmp(name, "sample_id") == 0 ? neo_field_named(resource->fields, "id") : NULL;
    return id ? neo_json_string(neo_openapi_json(builder->pool, "%s", id->example)) : NULL;
}

const char *neo_openapi_fill(const neo_openapi_builder *builder, const char *text, const neo_resource *resource)
{
    neo_buf out;
    neo_buf_init(&out, builder->pool, strlen(text) + 32);
    for (const char *open; (open = strchr(text, '{'));) {
        const char *end = open + 1 + strcspn(open + 1, "}");
        const char *value =
            find_placeholder(builder, resource, apr_pstrmemdup(builder->pool, open + 1, (apr_size_t)(end - open - 1)));
        neo_buf_add(&out, text, (apr_size_t)(open - text));
        neo_buf_puts(&out, value ? value : "{");
        text = value ? end + 1 : open + 1;
    }
    neo_buf_puts(&out, text);
    return out.ptr;
}

neo_json *neo_openapi_filled(const neo_openapi_builder *builder, neo_json *value, const neo_resource *resource)
{
    neo_json_kind kind = neo_json_get_kind(value);
    if (kind == NEO_JSON_STRING)
        return neo_json_make_string(neo_openapi_fill(builder, neo_json_string(value), resource), builder->pool);
    if (kind != NEO_JSON_OBJECT && kind != NEO_JSON_ARRAY)
        return value;
    neo_json *copy = kind == NEO_JSON_OBJECT ? neo_json_make_object(builder->pool) : neo_json_make_array(builder->pool);
    for (void *m = neo_json_first(value); m; m = neo_json_next(value, m))
        neo_json_set(copy, neo_json_member_key(m), neo_openapi_filled(builder, neo_json_member_value(m), resource));
    for (apr_size_t i = 0; kind == NEO_JSON_ARRAY && i < neo_json_size(value); i++)
        neo_json_append(copy, neo_openapi_filled(builder, neo_json_at(value, i), resource));
    return copy;
}

neo_json *neo_openapi_template(const neo_openapi_builder *builder, const char *name, const neo_resource *resource)
{
    neo_json *template = neo_json_get(builder->templates, name);
    return template ? neo_openapi_filled(builder, template, resource) : NULL;
}

neo_json *neo_openapi_add_template(const neo_openapi_builder *builder, const char *kind, const char *name,
                                   const neo_resource *resource)
{
    return neo_openapi_add(builder, kind, neo_openapi_fill(builder, name, resource),
                           neo_openapi_template(builder, name, resource));
}

/* ---------------------------------------------------------------- headers */

/* `flag` is 0 if every response has the header. */
static const struct {
    unsigned int flag;
    const char *name, *component;
} headers[] = {
    {0, "X-Request-ID", "RequestId"},
    {NEO_RESPONSE_RATE_LIMIT, "X-RateLimit-Limit", "Limit"},
    {NEO_RESPONSE_RATE_LIMIT, "X-RateLimit-Remaining", "Remaining"},
    {NEO_RESPONSE_RATE_LIMIT, "X-RateLimit-Reset", "Reset"},
    {NEO_RESPONSE_RATE_LIMIT, "RateLimit-Policy", "RateLimitPolicy"},
    {NEO_RESPONSE_RATE_LIMIT, "RateLimit", "RateLimit"},
    {NEO_RESPONSE_ETAG, "ETag", "ETag"},
    {NEO_RESPONSE_LOCATION, "Location", "Location"},
    {NEO_RESPONSE_POSITION, "X-Events-Position", "EventsPosition"},
    {NEO_RESPONSE_LINK, "Link", "Link"},
    {NEO_RESPONSE_TOTAL, "X-Total-Count", "TotalCount"},
    {NEO_RESPONSE_REPLAYED, "Idempotent-Replayed", "IdempotentReplayed"},
    {NEO_RESPONSE_RETRY_AFTER, "Retry-After", "RetryAfter"},
    {NEO_RESPONSE_CHALLENGE, "WWW-Authenticate", "Challenge"},
    {NEO_RESPONSE_DEPRECATED, "Deprecation", "Deprecation"},
    {NEO_RESPONSE_DEPRECATED, "Sunset", "Sunset"},
};

neo_json *neo_openapi_headers(const neo_openapi_builder *builder, unsigned int set)
{
    neo_json *all = neo_json_make_object(builder->pool);
    for (int i = 0; i < (int)(sizeof headers / sizeof *headers); i++)
        if (!headers[i].flag || headers[i].flag & set)
            neo_json_set(all, headers[i].name, neo_openapi_ref(builder, "headers", headers[i].component));
    return all;
}
