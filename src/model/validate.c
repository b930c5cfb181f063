/* Validation of bodies by their tables (see model/validate.h). */
#include "model/validate.h"

#include <apr_strings.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"

/* One walk over one body. */
typedef struct {
    const neo_resource *resource;
    apr_pool_t *pool;
    neo_problem *problem;
} walk;

static void wrong(walk *w, neo_code code, const char *path, const char *message)
{
    neo_problem_field(&w->problem, w->pool, code, w->resource->name, path, "%s", message);
}

static const char *join(walk *w, const char *path, const char *name)
{
    return *path ? apr_pstrcat(w->pool, path, ".", name, NULL) : name;
}

/* A key as a message may repeat it: whole, or its first 20 characters. */
static const char *shown(walk *w, const char *path, const char *key)
{
    apr_size_t cut = 0;
    if (neo_utf8_length(key) <= 60)
        return join(w, path, key);
    for (int n = 0; n < 20; n++)
        do
            cut++;
        while (((unsigned char)key[cut] & 0xC0) == 0x80);
    return join(w, path, apr_pstrcat(w->pool, apr_pstrndup(w->pool, key, cut), "…", NULL));
}

static void check_names(walk *w, const neo_field *fields, neo_json *object, const char *path)
{
    for (void *m = neo_json_first(object); m; m = neo_json_next(object, m)) {
        const char *key = neo_json_member_key(m);
        const neo_field *field = neo_field_named(fields, key);
        neo_json *value = neo_json_member_value(m);
        if (!field)
            wrong(w, NEO_VALIDATION_UNKNOWN_FIELD, shown(w, path, key), "is not a field of this resource");
        else if (field->type == NEO_OBJECT && neo_json_kind_of(value) == NEO_JSON_OBJECT)
            check_names(w, field->fields, value, join(w, path, key));
    }
}

static int has_control_character(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7F || (*c == 0xC2 && c[1] >= 0x80 && c[1] <= 0x9F))
            return 1;
    return 0;
}

static int is_blank(const char *text)
{
    return text[strspn(text, " ")] == '\0';
}

static const char *check_string(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    if (!text)
        return "must be a string";
    if (is_blank(text))
        return "must not be empty";
    if (has_control_character(text))
        return "must not have control characters";
    int length = (int)neo_utf8_length(text);
    if (length > field->max)
        return apr_psprintf(pool, "must have at most %d characters", field->max);
    return length < field->min ? apr_psprintf(pool, "must have at least %d characters", field->min) : NULL;
}

static const char *check_enum(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value), *list = "";
    for (const char *const *v = field->values; *v; v++) {
        if (text && strcmp(text, *v) == 0)
            return NULL;
        list = apr_pstrcat(pool, list, v == field->values ? "" : v[1] ? ", " : " or ", *v, NULL);
    }
    return apr_psprintf(pool, "must be %s", list);
}

static const char *check_timestamp(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    neo_ms ms;
    (void)field, (void)pool;
    return neo_json_string(value) && neo_ms_parse(neo_json_string(value), &ms) ? NULL : "must be an RFC 3339 date-time";
}

static const char *check_object(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    (void)field, (void)pool;
    return neo_json_kind_of(value) == NEO_JSON_OBJECT ? NULL : "must be an object";
}

static const char *check_boolean(const neo_field *field, const neo_json *value, apr_pool_t *pool)
{
    (void)field, (void)pool;
    return neo_json_kind_of(value) == NEO_JSON_BOOLEAN ? NULL : "must be true or false";
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

static const char *(*const checks[])(const neo_field *, const neo_json *, apr_pool_t *) = {
    [NEO_STRING] = check_string, [NEO_ENUM] = check_enum,       [NEO_TIMESTAMP] = check_timestamp,
    [NEO_OBJECT] = check_object, [NEO_BOOLEAN] = check_boolean, [NEO_ENUM_LIST] = check_enum_list,
};
_Static_assert(sizeof checks / sizeof *checks == NEO_TYPES, "every type has its check");

static neo_json *clean_object(walk *w, const neo_field *fields, neo_json *object, const char *path);

/* A value that was sent, as the row will hold it; NULL where it is wrong, or an object without a single value. */
static neo_json *clean_value(walk *w, const neo_field *field, neo_json *value, const char *path)
{
    const char *message = checks[field->type](field, value, w->pool);
    if (!message && field->rule)
        message = field->rule(value, w->pool);
    if (message) {
        wrong(w, NEO_VALIDATION_FIELD_INVALID, path,
              neo_json_kind_of(value) == NEO_JSON_STRING || field->type == NEO_ENUM || field->type == NEO_ENUM_LIST
                  ? message
                  : apr_psprintf(w->pool, "%s, not %s", message, neo_json_kind_name(neo_json_kind_of(value))));
        return NULL;
    }
    if (field->type != NEO_OBJECT)
        return value;
    neo_json *members = clean_object(w, field->fields, value, path);
    return neo_json_size(members) ? members : NULL;
}

static neo_json *clean_object(walk *w, const neo_field *fields, neo_json *object, const char *path)
{
    neo_json *clean = neo_json_make_object(w->pool);
    for (const neo_field *f = fields; f->name; f++) {
        if (f->flags & NEO_SERVER)
            continue;
        neo_json *value = neo_json_get(object, f->name), *kept = NULL;
        const char *at = join(w, path, f->name);
        if (value && neo_json_kind_of(value) != NEO_JSON_NULL)
            kept = clean_value(w, f, value, at);
        else if (f->preset)
            kept = f->type == NEO_BOOLEAN ? neo_json_make_boolean(strcmp(f->preset, "true") == 0, w->pool)
                                          : neo_json_make_string(f->preset, w->pool);
        else if (f->flags & NEO_REQUIRED)
            wrong(w, NEO_VALIDATION_FIELD_REQUIRED, at, "is required");
        if (kept)
            neo_json_set(clean, f->name, kept);
    }
    return clean;
}

static neo_problem *not_an_object(apr_pool_t *pool, const neo_json *body)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, pool, NEO_VALIDATION_MALFORMED_JSON, "", "body", "must be a JSON object, not %s",
                      neo_json_kind_name(neo_json_kind_of(body)));
    return problem;
}

neo_problem *neo_validate(const neo_resource *resource, neo_json *body, apr_pool_t *pool, neo_json **clean)
{
    walk w = {resource, pool, NULL};
    if (neo_json_kind_of(body) != NEO_JSON_OBJECT)
        return not_an_object(pool, body);
    *clean = clean_object(&w, resource->fields, body, "");
    check_names(&w, resource->fields, body, "");
    return w.problem;
}

neo_problem *neo_validate_patch(const neo_resource *resource, neo_json *current, neo_json *patch, apr_pool_t *pool,
                                neo_json **clean)
{
    walk w = {resource, pool, NULL};
    if (neo_json_kind_of(patch) != NEO_JSON_OBJECT)
        return not_an_object(pool, patch);
    *clean = clean_object(&w, resource->fields, neo_json_merge_patch(current, patch, pool), "");
    check_names(&w, resource->fields, patch, "");
    return w.problem;
}
