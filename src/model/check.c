/* The check of each type of field (see model/check.h). */
#include "model/check.h"

#include <apr_strings.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/id.h"

/* "must be an object, not an array"; what is wrong with a string needs no kind. */
static const char *not_kind(const char *message, const neo_json *value, apr_pool_t *pool)
{
    neo_json_kind kind = neo_json_kind_of(value);
    return kind == NEO_JSON_STRING ? message : apr_psprintf(pool, "%s, not %s", message, neo_json_kind_name(kind));
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
    if (!text)
        return not_kind("must be a string", value, pool);
    if (text[strspn(text, " \n\r\t")] == '\0' && !has_control_character(text, allowed))
        return "must not be empty";
    if (has_control_character(text, allowed))
        return *allowed ? "must not have control characters, apart from line breaks and tabs"
                        : "must not have control characters";
    long long length = (long long)neo_utf8_length(text);
    if (length > field->max)
        return apr_psprintf(pool, "must have at most %ld characters", (long)field->max);
    return length < field->min ? apr_psprintf(pool, "must have at least %ld characters", (long)field->min) : NULL;
}

static const char *check_enum(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value), *list = "";
    for (const char *const *v = field->values; text && *v; v++)
        if (strcmp(text, *v) == 0)
            return NULL;
    for (const char *const *v = field->values; *v; v++)
        list = apr_pstrcat(pool, list, v == field->values ? "" : v[1] ? ", " : " or ", *v, NULL);
    return apr_psprintf(pool, "must be %s", list);
}

static const char *check_timestamp(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    neo_ms ms;
    (void)field;
    if (neo_json_string(value) && neo_ms_parse(neo_json_string(value), &ms))
        return NULL;
    return not_kind("must be an RFC 3339 date-time", value, pool);
}

static const char *check_date(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    (void)field;
    if (neo_json_string(value) && neo_date_is_valid(neo_json_string(value)))
        return NULL;
    return not_kind("must be a date of the calendar from 1800 on, such as 2026-01-31", value, pool);
}

/* ---------------------------------------------------------------- numbers */

/* 1.0 and 1e3 are refused as well: they have been a floating-point number somewhere, and so has the next amount. */
static const char *check_integer(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    neo_json_kind kind = neo_json_kind_of(value);
    if (kind == NEO_JSON_INTEGER && neo_json_integer(value) >= field->min && neo_json_integer(value) <= field->max)
        return NULL;
    const char *message = apr_psprintf(pool, "must be an integer from %ld to %ld", (long)field->min, (long)field->max);
    if (kind == NEO_JSON_REAL)
        return apr_pstrcat(pool, message, ", written without point and exponent", NULL);
    return kind == NEO_JSON_INTEGER ? message : apr_psprintf(pool, "%s, not %s", message, neo_json_kind_name(kind));
}

static const char *check_decimal(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    neo_json_kind kind = neo_json_kind_of(value);
    int is_number = kind == NEO_JSON_INTEGER || kind == NEO_JSON_REAL;
    double number = neo_json_real(value); /* 0 where it is none */
    if (is_number && number >= (double)field->min && number <= (double)field->max)
        return NULL;
    const char *message = apr_psprintf(pool, "must be a number from %ld to %ld", (long)field->min, (long)field->max);
    return is_number ? message : apr_psprintf(pool, "%s, not %s", message, neo_json_kind_name(kind));
}

static const char *check_boolean(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    (void)field;
    return neo_json_kind_of(value) == NEO_JSON_BOOLEAN ? NULL : not_kind("must be true or false", value, pool);
}

/* ---------------------------------------------------------------- what has parts */

static const char *check_object(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    (void)field;
    return neo_json_kind_of(value) == NEO_JSON_OBJECT ? NULL : not_kind("must be an object", value, pool);
}

static const char *check_list(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    if (neo_json_kind_of(value) != NEO_JSON_ARRAY)
        return not_kind("must be an array", value, pool);
    if (neo_json_size(value) > (apr_size_t)field->max_items)
        return apr_psprintf(pool, "must have at most %d elements", field->max_items);
    return neo_json_size(value) == 0 && field->flags & NEO_REQUIRED ? "must not be empty" : NULL;
}

static const char *check_enum_list(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    if (neo_json_kind_of(value) != NEO_JSON_ARRAY)
        return "must be an array";
    for (apr_size_t i = 0; i < neo_json_size(value); i++) {
        const neo_json *one = neo_json_at(value, i);
        const char *message = check_enum(field, one, pool);
        if (message)
            return apr_psprintf(pool, "has a wrong value at index %d, which %s", (int)i, message);
        for (apr_size_t earlier = 0; earlier < i; earlier++)
            if (strcmp(neo_json_string(neo_json_at(value, earlier)), neo_json_string(one)) == 0)
                return apr_psprintf(pool, "has %s twice", neo_json_string(one));
    }
    return neo_json_size(value) ? NULL : "must not be empty";
}

/* Keys are the caller's and may be anything, so messages tell them by their place. */
static const char *check_map(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    int place = 0;
    if (neo_json_kind_of(value) != NEO_JSON_OBJECT)
        return not_kind("must be an object", value, pool);
    if (neo_json_size(value) > (apr_size_t)field->max_items)
        return apr_psprintf(pool, "must have at most %d members", field->max_items);
    for (void *m = neo_json_first((neo_json *)value); m; m = neo_json_next((neo_json *)value, m)) {
        const neo_json *text = neo_json_member_value(m);
        apr_size_t key = neo_utf8_length(neo_json_member_key(m));
        place++;
        if (key < 1 || key > (apr_size_t)field->max_key_length)
            return apr_psprintf(pool, "must have keys of 1 to %d characters; that of member %d has %d", field->max_key_length,
                                place, (int)key);
        if (neo_json_kind_of(text) == NEO_JSON_NULL)
            continue;
        if (!neo_json_string(text))
            return apr_psprintf(pool, "must have strings only; the value of member %d is %s", place,
                                neo_json_kind_name(neo_json_kind_of(text)));
        if (neo_utf8_length(neo_json_string(text)) > (apr_size_t)field->max)
            return apr_psprintf(pool, "must have values of at most %ld characters; that of member %d has more",
                                (long)field->max, place);
    }
    return NULL;
}

/* ---------------------------------------------------------------- references */

const neo_resource *neo_referenced_resource(const neo_field *field, const neo_json *beside)
{
    const neo_json *type = field->refers ? NULL : neo_json_get(beside, "type");
    const char *name = type ? neo_json_string(type) : NULL;
    return field->refers ? field->refers : name ? neo_resource_named(name) : NULL;
}

/* Where `type` is wrong it is told of that alone. */
static const char *check_reference(const neo_field *field, const neo_json *value, const neo_json *beside, apr_pool_t *pool)
{
    const neo_resource *kind = neo_referenced_resource(field, beside);
    const char *id = neo_json_string(value);
    if (!id || (kind && !neo_id_is(id, kind->prefix)))
        return not_kind(kind ? apr_psprintf(pool, "must be the id of a %s (%s…)", kind->name, kind->prefix) : "must be an id",
                        value, pool);
    return NULL;
}

static const char *(*const checks[])(const neo_field *, const neo_json *, apr_pool_t *) = {
    [NEO_STRING] = check_string,  [NEO_ENUM] = check_enum,           [NEO_TIMESTAMP] = check_timestamp,
    [NEO_OBJECT] = check_object,  [NEO_BOOLEAN] = check_boolean,     [NEO_ENUM_LIST] = check_enum_list,
    [NEO_DATE] = check_date,      [NEO_INTEGER] = check_integer,     [NEO_DECIMAL] = check_decimal,
    [NEO_TEXT_LIST] = check_list, [NEO_LIST] = check_list,           [NEO_MAP] = check_map,
    [NEO_REFERENCE] = NULL,       [NEO_REFERENCE_LIST] = check_list,
};
_Static_assert(sizeof checks / sizeof *checks == NEO_TYPES, "every type has its check");

const char *neo_check(const neo_field *field, const neo_json *value, const neo_json *beside, apr_pool_t *pool)
{
    const char *message =
        field->type == NEO_REFERENCE ? check_reference(field, value, beside, pool) : checks[field->type](field, value, pool);
    return !message && field->rule ? field->rule(value, pool) : message;
}
