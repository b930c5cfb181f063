/* SPDX-License-Identifier: Apache-2.0 */
/* JSON by jansson (see core/json.h). Pools own the values; reference counts do not leave the two files that
 * include jansson. */
#include "core/json.h"

#include <apr_strings.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_read.h"

/* A double keeps decimal numbers with as many digits (DBL_DIG). */
#define SIGNIFICANT 15

static apr_status_t release_value(void *value)
{
    json_decref(value);
    return APR_SUCCESS;
}

static neo_json *owned(json_t *value, apr_pool_t *pool)
{
    if (!value)
        abort(); /* out of memory: as APR's pools do */
    apr_pool_cleanup_register(pool, value, release_value, apr_pool_cleanup_null);
    return value;
}

/* Whether jansson refuses a number because it is too large. */
static int overflows(const char *number, apr_size_t len, apr_pool_t *pool)
{
    const char *text = apr_pstrmemdup(pool, number, len);
    errno = 0;
    if (text[strcspn(text, ".eE")])
        return isinf(strtod(text, NULL));
    return strtoll(text, NULL, 10) != 0 && errno == ERANGE;
}

/* The length of the string literal at `text`, with its quotes. */
static apr_size_t string_length(const char *text, const char *end)
{
    const char *c = text + 1;
    while (c < end && *c != '"')
        c += *c == '\\' && c + 1 < end ? 2 : 1;
    return (apr_size_t)(c < end ? c + 1 - text : end - text);
}

/* Replaces numbers that are too large for jansson by one that every field refuses, so that validation can name the field. */
static neo_text replace_large_numbers(neo_text text, apr_pool_t *pool)
{
    const char *c = text.ptr, *end = c + text.len;
    neo_buf out;
    neo_buf_init(&out, pool, text.len + 16);
    while (c < end) {
        apr_size_t number = neo_json_number_length(c, end), len = number ? number : *c == '"' ? string_length(c, end) : 1;
        if (number && overflows(c, number, pool))
            neo_buf_puts(&out, *c == '-' ? "-1e300" : "1e300");
        else
            neo_buf_add(&out, c, len);
        c += len;
    }
    return neo_buf_text(&out);
}

static json_t *load(neo_text text, json_error_t *error)
{
    return json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, error);
}

neo_json *neo_json_parse(neo_text text, apr_pool_t *pool, const char **error)
{
    json_error_t cause = {0};
    json_t *value = neo_json_read(text, pool);
    if (!value)
        value = load(text, &cause);
    if (!value && json_error_code(&cause) == json_error_numeric_overflow)
        value = load(replace_large_numbers(text, pool), &cause);
    if (value)
        return owned(value, pool);
    int code = json_error_code(&cause);
    char *near = strstr(cause.text, " near "); /* it repeats bytes of the request, which can be long or invalid UTF-8 */
    if (near)
        *near = '\0';
    *error = apr_psprintf(pool, "%s (line %d, column %d)",
                          code == json_error_null_character || code == json_error_null_byte_in_key
                              ? "\\u0000 is not allowed in strings"
                              : cause.text,
                          cause.line, cause.column);
    return NULL;
}

/* jansson allocates up to 100 bytes for a value, and 500 for an object. Short texts, as most requests have, are not read: "{},"
 * counts as six, so they cannot take much more. */
int neo_json_is_costly(neo_text text)
{
    const char *c = text.ptr, *end = c + text.len;
    int cost = 1;
    if (text.len < NEO_JSON_MAX_COST / 2)
        return 0;
    while (c < end && cost <= NEO_JSON_MAX_COST) {
        cost += *c == ',' ? 1 : *c == '{' || *c == '[' ? 5 : 0;
        c += *c == '"' ? string_length(c, end) : 1;
    }
    return cost > NEO_JSON_MAX_COST;
}

neo_json_kind neo_json_get_kind(const neo_json *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return NEO_JSON_OBJECT;
    case JSON_ARRAY: return NEO_JSON_ARRAY;
    case JSON_STRING: return NEO_JSON_STRING;
    case JSON_INTEGER: return NEO_JSON_INTEGER;
    case JSON_REAL: return NEO_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE: return NEO_JSON_BOOLEAN;
    default: return NEO_JSON_NULL;
    }
}

const char *neo_json_kind_name(neo_json_kind kind)
{
    static const char *const names[] = {
        [NEO_JSON_NULL] = "null",       [NEO_JSON_BOOLEAN] = "a boolean", [NEO_JSON_INTEGER] = "an integer",
        [NEO_JSON_REAL] = "a number",   [NEO_JSON_STRING] = "a string",   [NEO_JSON_ARRAY] = "an array",
        [NEO_JSON_OBJECT] = "an object"};
    return names[kind];
}

const char *neo_json_string(const neo_json *value)
{
    return json_string_value(value);
}

long long neo_json_integer(const neo_json *value)
{
    return json_integer_value(value);
}

double neo_json_real(const neo_json *value)
{
    return json_number_value(value);
}

int neo_json_is_true(const neo_json *value)
{
    return json_is_true(value);
}

apr_size_t neo_json_size(const neo_json *value)
{
    return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

neo_json *neo_json_at(const neo_json *array, apr_size_t index)
{
    return json_array_get(array, index);
}

neo_json *neo_json_get(const neo_json *object, const char *key)
{
    return json_object_get(object, key);
}

const char *neo_json_string_at(const neo_json *object, const char *key)
{
    const neo_json *value = object ? neo_json_get(object, key) : NULL;
    return value ? neo_json_string(value) : NULL;
}

void *neo_json_first(neo_json *object)
{
    return json_object_iter(object);
}

void *neo_json_next(neo_json *object, void *member)
{
    return json_object_iter_next(object, member);
}

const char *neo_json_member_key(void *member)
{
    return json_object_iter_key(member);
}

neo_json *neo_json_member_value(void *member)
{
    return json_object_iter_value(member);
}

neo_json *neo_json_make_object(apr_pool_t *pool)
{
    return owned(json_object(), pool);
}

neo_json *neo_json_make_array(apr_pool_t *pool)
{
    return owned(json_array(), pool);
}

neo_json *neo_json_make_string(const char *text, apr_pool_t *pool)
{
    return owned(json_string(text), pool);
}

neo_json *neo_json_make_integer(long long value, apr_pool_t *pool)
{
    return owned(json_integer(value), pool);
}

neo_json *neo_json_make_boolean(int value, apr_pool_t *pool)
{
    return owned(json_boolean(value), pool);
}

void neo_json_set(neo_json *object, const char *key, neo_json *value)
{
    if (json_object_set(object, key, value) != 0)
        abort();
}

void neo_json_set_string(neo_json *object, const char *key, const char *text, apr_pool_t *pool)
{
    if (text)
        neo_json_set(object, key, neo_json_make_string(text, pool));
}

void neo_json_set_integer(neo_json *object, const char *key, long long value, apr_pool_t *pool)
{
    neo_json_set(object, key, neo_json_make_integer(value, pool));
}

void neo_json_set_boolean(neo_json *object, const char *key, int value, apr_pool_t *pool)
{
    neo_json_set(object, key, neo_json_make_boolean(value, pool));
}

void neo_json_remove(neo_json *object, const char *key)
{
    json_object_del(object, key);
}

void neo_json_append(neo_json *array, neo_json *value)
{
    if (json_array_append(array, value) != 0)
        abort();
}

void neo_json_append_string(neo_json *array, const char *text, apr_pool_t *pool)
{
    neo_json_append(array, neo_json_make_string(text, pool));
}

static int add_bytes(const char *bytes, size_t len, void *out)
{
    neo_buf_add(out, bytes, len);
    return 0;
}

/* Writes a real below 1e15 without an exponent and without the sign of zero, as PostgreSQL's numeric does, so that a column and
 * a representation have the same text. */
static void put_real(neo_buf *out, double value)
{
    char text[400]; /* DBL_MIN has 308 zeros */
    snprintf(text, sizeof text, "%.*g", SIGNIFICANT, value == 0 ? 0 : value);
    const char *exponent = strchr(text, 'e');
    if (exponent) {
        snprintf(text, sizeof text, "%.*f", SIGNIFICANT - 1 - atoi(exponent + 1), value);
        for (char *last = text + strlen(text) - 1; *last == '0'; last--)
            *last = '\0';
    }
    neo_buf_puts(out, text);
    neo_buf_puts(out, strchr(text, '.') ? "" : ".0");
}

static void put(neo_buf *out, json_t *value);

static void put_object(neo_buf *out, json_t *object)
{
    const char *key;
    json_t *value;
    char before = '{';
    json_object_foreach(object, key, value)
    {
        neo_buf_putc(out, before);
        neo_buf_json(out, key);
        neo_buf_putc(out, ':');
        put(out, value);
        before = ',';
    }
    neo_buf_puts(out, before == '{' ? "{}" : "}");
}

static void put_array(neo_buf *out, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        neo_buf_putc(out, i ? ',' : '[');
        put(out, json_array_get(array, i));
    }
    neo_buf_puts(out, json_array_size(array) ? "]" : "[]");
}

/* jansson's own writer is seven times slower on small objects, because it looks for circular references, which ours never have.
 * It still writes other numbers, booleans and null. */
static void put(neo_buf *out, json_t *value)
{
    if (json_is_object(value))
        put_object(out, value);
    else if (json_is_array(value))
        put_array(out, value);
    else if (json_is_string(value))
        neo_buf_json(out, json_string_value(value));
    else if (json_is_real(value) && fabs(json_real_value(value)) < 1e15)
        put_real(out, json_real_value(value));
    else if (json_dump_callback(value, add_bytes, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(SIGNIFICANT)) != 0)
        abort();
}

void neo_json_add(neo_buf *out, const neo_json *value)
{
    put(out, (json_t *)value); /* jansson iterates only over values that are not const */
}

neo_text neo_json_text(const neo_json *value, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 512);
    neo_json_add(&out, value);
    return neo_buf_text(&out);
}

neo_json *neo_json_merge_patch(neo_json *target, neo_json *patch, apr_pool_t *pool)
{
    if (!json_is_object(patch))
        return patch;
    json_t *merged = json_is_object(target) ? json_copy(target) : json_object();
    const char *key;
    json_t *value;
    json_object_foreach(patch, key, value)
    {
        if (json_is_null(value))
            json_object_del(merged, key);
        else
            neo_json_set(merged, key, neo_json_merge_patch(json_object_get(merged, key), value, pool));
    }
    return owned(merged, pool);
}
