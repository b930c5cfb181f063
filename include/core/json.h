/* SPDX-License-Identifier: Apache-2.0 */
/* JSON values. Its implementation is the only place that includes jansson.
 * A value from neo_json_parse or neo_json_make_* lives as long as its pool. Values put into an object or array are shared, not
 * copied: do not change them afterwards. */
#ifndef NEO_CORE_JSON_H
#define NEO_CORE_JSON_H

#include <apr_pools.h>

#include "core/buf.h"

typedef struct json_t neo_json;

typedef enum neo_json_kind {
    NEO_JSON_NULL,
    NEO_JSON_BOOLEAN,
    NEO_JSON_INTEGER, /* fits a long long */
    NEO_JSON_REAL,    /* written with a decimal point or exponent, even if its value is an integer */
    NEO_JSON_STRING,
    NEO_JSON_ARRAY,
    NEO_JSON_OBJECT,
} neo_json_kind;

/* Parses a text that is one JSON value (RFC 8259) in UTF-8, without duplicate keys and NUL characters. On error returns NULL
 * and sets *error to a message with line and column. A number beyond a long long or a double is read as 1e300 or -1e300, which
 * every field refuses: the error then names the field. */
neo_json *neo_json_parse(neo_text text, apr_pool_t *pool, const char **error);

/* The most that neo_json_is_costly allows. A value counts as 1, and an object or array as 6. */
#define NEO_JSON_MAX_COST 200000
/* Whether the values of a text, valid or not, would take more than about 20 MB of memory. */
int neo_json_is_costly(neo_text text);

neo_json_kind neo_json_get_kind(const neo_json *value);
/* "a string", "an array": for messages. */
const char *neo_json_kind_name(neo_json_kind kind);

const char *neo_json_string(const neo_json *value); /* NULL if it is not a string */
long long neo_json_integer(const neo_json *value);
double neo_json_real(const neo_json *value); /* also for an integer */
int neo_json_is_true(const neo_json *value); /* false if it is NULL */

apr_size_t neo_json_size(const neo_json *value); /* the number of elements or members */
neo_json *neo_json_at(const neo_json *array, apr_size_t index);
neo_json *neo_json_get(const neo_json *object, const char *key); /* NULL if it has no such member */
const char *neo_json_string_at(const neo_json *object,
                               const char *key); /* NULL if it has no such string; `object` may be NULL */

/* Members in the order of the text: for (void *m = neo_json_first(o); m; m = neo_json_next(o, m)) */
void *neo_json_first(neo_json *object);
void *neo_json_next(neo_json *object, void *member);
const char *neo_json_member_key(void *member);
neo_json *neo_json_member_value(void *member);

neo_json *neo_json_make_object(apr_pool_t *pool);
neo_json *neo_json_make_array(apr_pool_t *pool);
neo_json *neo_json_make_string(const char *text, apr_pool_t *pool); /* well-formed UTF-8 */
neo_json *neo_json_make_integer(long long value, apr_pool_t *pool);
neo_json *neo_json_make_boolean(int value, apr_pool_t *pool);
void neo_json_set(neo_json *object, const char *key, neo_json *value);
void neo_json_set_string(neo_json *object, const char *key, const char *text, apr_pool_t *pool); /* not if it is NULL */
void neo_json_set_integer(neo_json *object, const char *key, long long value, apr_pool_t *pool);
void neo_json_set_boolean(neo_json *object, const char *key, int value, apr_pool_t *pool);
void neo_json_remove(neo_json *object, const char *key);
void neo_json_append(neo_json *array, neo_json *value);
void neo_json_append_string(neo_json *array, const char *text, apr_pool_t *pool);

/* Compact JSON with members in their order. Reals are written with at most 15 significant digits, so one that was read with as
 * many does not change; those below 1e15 without an exponent. */
neo_text neo_json_text(const neo_json *value, apr_pool_t *pool);
void neo_json_add(neo_buf *out, const neo_json *value);

/* Applies a merge patch (RFC 7396, section 2). The arguments stay unchanged. */
neo_json *neo_json_merge_patch(neo_json *target, neo_json *patch, apr_pool_t *pool);

#endif
