/* SPDX-License-Identifier: Apache-2.0 */
/* Checks one value by the type of its field (see schema/validate.h). */
#include "schema/validate.h"

#include <apr_strings.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/id.h"

int neo_has_name(const char *const *names, const char *name)
{
    for (; name && *names; names++)
        if (strcmp(*names, name) == 0)
            return 1;
    return 0;
}

const char *neo_join_alternatives(const char *const *values, apr_pool_t *pool)
{
    const char *list = "";
    for (const char *const *v = values; *v; v++)
        list = apr_pstrcat(pool, list, v == values ? "" : v[1] ? ", " : " or ", *v, NULL);
    return list;
}

/* What a field accepts: "an integer from 0 to 10", "draft or active". A field's rule may accept less. */
static const char *describe_accepted(const neo_field *field, apr_pool_t *pool)
{
    const char *kind = field->refers ? apr_psprintf(pool, "%s (%s…)", field->refers->name, field->refers->prefix) : NULL;
    const char *or_external = field->refers && neo_has_external_id(field->refers) ? " or {\"external_id\": \"…\"}" : "";
    long min = (long)field->min, max = (long)field->max, items = field->max_items;
    switch (field->type) {
    case NEO_STRING: /* the limits are those of the normalized text */
        return max && !field->normalize ? apr_psprintf(pool, "a string of %ld to %ld characters", min ? min : 1, max)
                                        : "a string";
    case NEO_ENUM: return neo_join_alternatives(field->values, pool);
    case NEO_TIMESTAMP: return NEO_TIMESTAMP_FORM;
    case NEO_DATE: return NEO_DATE_FORM;
    case NEO_BOOLEAN: return "true or false";
    case NEO_INTEGER: return apr_psprintf(pool, "an integer from %ld to %ld", min, max);
    case NEO_DECIMAL: return apr_psprintf(pool, "a number from %ld to %ld", min, max);
    case NEO_OBJECT: return "an object";
    case NEO_MAP: return apr_psprintf(pool, "an object of at most %ld strings of at most %ld characters", items, max);
    case NEO_ENUM_LIST: return apr_psprintf(pool, "an array of %s", neo_join_alternatives(field->values, pool));
    case NEO_TEXT_LIST: return apr_psprintf(pool, "an array of at most %ld strings of 1 to %ld characters", items, max);
    case NEO_LIST: return apr_psprintf(pool, "an array of at most %ld objects", items);
    case NEO_REFERENCE: return kind ? apr_psprintf(pool, "the id of a %s%s", kind, or_external) : "an id";
    case NEO_REFERENCE_LIST: return apr_psprintf(pool, "an array of at most %ld ids of a %s", items, kind);
    case NEO_TYPES: break;
    }
    return "";
}

/* ---------------------------------------------------------------- texts */

static int has_control_character(const char *text, const char *allowed)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if ((*c < 0x20 && !strchr(allowed, *c)) || *c == 0x7F || (*c == 0xC2 && c[1] >= 0x80 && c[1] <= 0x9F))
            return 1;
    return 0;
}

static const char *check_string(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value), *allowed = field->flags & NEO_MULTILINE ? "\n\r\t" : "";
    int is_verbatim = (field->flags & NEO_VERBATIM) != 0;
    if (!is_verbatim && has_control_character(text, allowed))
        return *allowed ? "must not contain control characters other than line breaks and tabs"
                        : "must not contain control characters";
    if (!is_verbatim && text[strspn(text, " \n\r\t")] == '\0')
        return "must not be empty";
    long long length = (long long)neo_utf8_length(text);
    if (length > field->max)
        return apr_psprintf(pool, "must have at most %ld characters, not %ld", (long)field->max, (long)length);
    return length < field->min ? apr_psprintf(pool, "must have at least %ld characters", (long)field->min) : NULL;
}

static int is_listed_value(const neo_field *field, const neo_json *value)
{
    return neo_has_name(field->values, neo_json_string(value));
}

static int is_timestamp(const neo_field *field, const neo_json *value)
{
    neo_ms ms;
    (void)field;
    return neo_ms_parse(neo_json_string(value), &ms);
}

static int is_date(const neo_field *field, const neo_json *value)
{
    (void)field;
    return neo_date_is_valid(neo_json_string(value));
}

static int is_reference(const neo_field *field, const neo_json *value)
{
    return !field->refers || neo_id_is(neo_json_string(value), field->refers->prefix);
}

/* ---------------------------------------------------------------- numbers */

static int is_integer_in_range(const neo_field *field, const neo_json *value)
{
    return neo_json_integer(value) >= field->min && neo_json_integer(value) <= field->max;
}

static int is_number_in_range(const neo_field *field, const neo_json *value)
{
    return neo_json_real(value) >= (double)field->min && neo_json_real(value) <= (double)field->max;
}

/* ---------------------------------------------------------------- arrays and maps */

static const char *check_list(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    if (neo_json_size(value) > (apr_size_t)field->max_items)
        return apr_psprintf(pool, "must have at most %d elements, not %d", field->max_items, (int)neo_json_size(value));
    return neo_json_size(value) == 0 && field->flags & (NEO_REQUIRED | NEO_ALWAYS) ? "must not be empty" : NULL;
}

static const char *check_enum_list(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    for (apr_size_t i = 0; i < neo_json_size(value); i++) {
        const neo_json *one = neo_json_at(value, i);
        if (!is_listed_value(field, one))
            return apr_psprintf(pool, "element %d must be %s", (int)i, neo_join_alternatives(field->values, pool));
        for (apr_size_t earlier = 0; earlier < i; earlier++)
            if (strcmp(neo_json_string(neo_json_at(value, earlier)), neo_json_string(one)) == 0)
                return apr_psprintf(pool, "must not repeat %s", neo_json_string(one));
    }
    return neo_json_size(value) ? NULL : "must not be empty";
}

static const char *check_map(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    return neo_json_size(value) > (apr_size_t)field->max_items
               ? apr_psprintf(pool, "must have at most %d members, not %d", field->max_items, (int)neo_json_size(value))
               : NULL;
}

const char *neo_check_member(const neo_field *field, const char *key, const neo_json *value, apr_pool_t *pool)
{
    apr_size_t length = neo_utf8_length(key);
    if (length < 1 || length > (apr_size_t)field->max_key_length)
        return apr_psprintf(pool, "must have a name of 1 to %d characters, not %d", field->max_key_length, (int)length);
    if (neo_json_get_kind(value) == NEO_JSON_NULL)
        return NULL;
    if (!neo_json_string(value))
        return apr_psprintf(pool, "must be a string, not %s", neo_json_kind_name(neo_json_get_kind(value)));
    length = neo_utf8_length(neo_json_string(value));
    return length > (apr_size_t)field->max
               ? apr_psprintf(pool, "must have at most %ld characters, not %d", (long)field->max, (int)length)
               : NULL;
}

/* ---------------------------------------------------------------- all types */

const neo_resource *neo_referenced_resource(const neo_field *field, const neo_json *beside)
{
    const neo_json *type = field->refers ? NULL : neo_json_get(beside, "type");
    const char *name = type ? neo_json_string(type) : NULL;
    return field->refers ? field->refers : name ? neo_resource_named(name) : NULL;
}

static const struct {
    neo_json_kind kind;
    int (*is_accepted)(const neo_field *, const neo_json *);                 /* if not: the message of describe_accepted */
    const char *(*check)(const neo_field *, const neo_json *, apr_pool_t *); /* returns a message of its own, or NULL */
} types[] = {
    [NEO_STRING] = {NEO_JSON_STRING, NULL, check_string},
    [NEO_ENUM] = {NEO_JSON_STRING, is_listed_value, NULL},
    [NEO_TIMESTAMP] = {NEO_JSON_STRING, is_timestamp, NULL},
    [NEO_DATE] = {NEO_JSON_STRING, is_date, NULL},
    [NEO_BOOLEAN] = {NEO_JSON_BOOLEAN, NULL, NULL},
    [NEO_INTEGER] = {NEO_JSON_INTEGER, is_integer_in_range, NULL},
    [NEO_DECIMAL] = {NEO_JSON_REAL, is_number_in_range, NULL},
    [NEO_OBJECT] = {NEO_JSON_OBJECT, NULL, NULL},
    [NEO_MAP] = {NEO_JSON_OBJECT, NULL, check_map},
    [NEO_ENUM_LIST] = {NEO_JSON_ARRAY, NULL, check_enum_list},
    [NEO_TEXT_LIST] = {NEO_JSON_ARRAY, NULL, check_list},
    [NEO_LIST] = {NEO_JSON_ARRAY, NULL, check_list},
    [NEO_REFERENCE] = {NEO_JSON_STRING, is_reference, NULL},
    [NEO_REFERENCE_LIST] = {NEO_JSON_ARRAY, NULL, check_list},
};
_Static_assert(sizeof types / sizeof *types == NEO_TYPES, "every type has its check");

/* An integer such as 1.0 or 1e3 is refused: it was a floating-point number on the way, and may have lost digits. */
static const char *check_kind(const neo_field *field, neo_json_kind kind, apr_pool_t *pool)
{
    if (kind == types[field->type].kind || (field->type == NEO_DECIMAL && kind == NEO_JSON_INTEGER))
        return NULL;
    const char *accepted = describe_accepted(field, pool);
    if (field->type == NEO_INTEGER && kind == NEO_JSON_REAL)
        return apr_psprintf(pool, "must be %s, without a decimal point or exponent", accepted);
    if (field->type == NEO_REFERENCE && kind == NEO_JSON_OBJECT) /* an object is a reference, too, but not this one */
        return apr_pstrcat(pool, "must be ", accepted, NULL);
    return apr_psprintf(pool, "must be %s, not %s", accepted, neo_json_kind_name(kind));
}

const char *neo_check(const neo_field *field, const neo_json *value, const neo_json *beside, apr_pool_t *pool)
{
    neo_field known;
    if (field->type == NEO_REFERENCE && !field->refers) {
        known = *field;
        known.refers = neo_referenced_resource(field, beside);
        field = &known;
    }
    const char *message = check_kind(field, neo_json_get_kind(value), pool);
    if (!message && types[field->type].is_accepted && !types[field->type].is_accepted(field, value))
        message = apr_pstrcat(pool, "must be ", describe_accepted(field, pool), NULL);
    if (!message && types[field->type].check)
        message = types[field->type].check(field, value, pool);
    return !message && field->rule ? field->rule(value, pool) : message;
}
