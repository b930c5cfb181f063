/* SPDX-License-Identifier: Apache-2.0 */
/* References between resources (see schema/references.h). */
#include "schema/references.h"

#include <apr_strings.h>
#include <string.h>

#include "schema/validate.h"

typedef struct {
    apr_array_header_t *found;
    apr_pool_t *pool;
} walk;

static void add_reference(const walk *w, const char *path, const neo_json *id)
{
    APR_ARRAY_PUSH(w->found, neo_reference) = (neo_reference){path, neo_json_string(id)};
}

static void find(const walk *w, const neo_field *fields, const neo_json *object, const char *before);

static void find_in_list(const walk *w, const neo_field *field, const neo_json *list, const char *path)
{
    for (apr_size_t i = 0; i < neo_json_size(list); i++) {
        const char *at = apr_psprintf(w->pool, "%s[%d]", path, (int)i);
        if (field->type == NEO_LIST)
            find(w, field->fields, neo_json_at(list, i), apr_pstrcat(w->pool, at, ".", NULL));
        else
            add_reference(w, at, neo_json_at(list, i));
    }
}

static void find(const walk *w, const neo_field *fields, const neo_json *object, const char *before)
{
    for (const neo_field *f = fields; f->name; f++) {
        int may_refer = f->type == NEO_REFERENCE || f->type == NEO_REFERENCE_LIST || f->fields;
        const neo_json *value = may_refer ? neo_json_get(object, f->name) : NULL;
        if (!value)
            continue;
        const char *path = apr_pstrcat(w->pool, before, f->name, NULL);
        if (f->type == NEO_REFERENCE)
            add_reference(w, path, value);
        else if (f->type == NEO_OBJECT)
            find(w, f->fields, value, apr_pstrcat(w->pool, path, ".", NULL));
        else if (f->type == NEO_LIST || f->type == NEO_REFERENCE_LIST)
            find_in_list(w, f, value, path);
    }
}

apr_array_header_t *neo_references(const neo_resource *resource, const neo_json *clean, apr_pool_t *pool)
{
    walk w = {apr_array_make(pool, 8, sizeof(neo_reference)), pool};
    find(&w, resource->fields, clean, "");
    return w.found;
}

/* ---------------------------------------------------------------- in a body as it was sent */

static const char *find_external(const neo_field *fields, const neo_json *object, const neo_resource *kind, apr_pool_t *pool);

static const char *find_external_in_list(const neo_field *field, const neo_json *list, const neo_resource *kind,
                                         apr_pool_t *pool)
{
    for (apr_size_t i = 0; neo_json_get_kind(list) == NEO_JSON_ARRAY && i < neo_json_size(list); i++) {
        const neo_json *one = neo_json_at(list, i);
        int is_one =
            field->type == NEO_REFERENCE_LIST && neo_json_get_kind(one) == NEO_JSON_OBJECT && (!kind || field->refers == kind);
        const char *within = field->type == NEO_LIST ? find_external(field->fields, one, kind, pool) : NULL;
        if (is_one || within)
            return apr_psprintf(pool, "%s[%d]%s%s", field->name, (int)i, within ? "." : "", within ? within : "");
    }
    return NULL;
}

static const char *find_external_in(const neo_field *field, const neo_json *value, const neo_json *beside,
                                    const neo_resource *kind, apr_pool_t *pool)
{
    if (field->type == NEO_OBJECT) {
        const char *within = find_external(field->fields, value, kind, pool);
        return within ? apr_pstrcat(pool, field->name, ".", within, NULL) : NULL;
    }
    if (field->type != NEO_REFERENCE)
        return find_external_in_list(field, value, kind, pool);
    int is_one = neo_json_get_kind(value) == NEO_JSON_OBJECT && (!kind || neo_referenced_resource(field, beside) == kind);
    return is_one ? field->name : NULL;
}

static const char *find_external(const neo_field *fields, const neo_json *object, const neo_resource *kind, apr_pool_t *pool)
{
    const char *found = NULL;
    for (const neo_field *f = fields; f->name && !found && neo_json_get_kind(object) == NEO_JSON_OBJECT; f++) {
        int may_refer = f->type == NEO_REFERENCE || f->type == NEO_REFERENCE_LIST || f->fields;
        const neo_json *value = may_refer ? neo_json_get(object, f->name) : NULL;
        found = value ? find_external_in(f, value, object, kind, pool) : NULL;
    }
    return found;
}

const char *neo_reference_by_external_id(const neo_resource *resource, const neo_json *body, const neo_resource *kind,
                                         apr_pool_t *pool)
{
    return body ? find_external(resource->fields, body, kind, pool) : NULL;
}

typedef struct {
    neo_reference_replacer replace;
    void *data;
    apr_pool_t *pool;
} replacement;

static neo_json *replace_in(const replacement *r, const neo_field *fields, neo_json *object);

static neo_json *replace_one(const replacement *r, const neo_field *field, neo_json *value, const neo_json *beside)
{
    const neo_resource *kind = neo_referenced_resource(field, beside);
    return kind ? r->replace(r->data, kind, value) : value;
}

static neo_json *replace_in_list(const replacement *r, const neo_field *field, neo_json *list)
{
    neo_json *copy = neo_json_make_array(r->pool);
    for (apr_size_t i = 0; i < neo_json_size(list); i++) {
        neo_json *one = neo_json_at(list, i);
        neo_json_append(copy, field->type == NEO_LIST ? replace_in(r, field->fields, one) : replace_one(r, field, one, NULL));
    }
    return copy;
}

static neo_json *replace_in_value(const replacement *r, const neo_field *field, neo_json *value, const neo_json *beside)
{
    neo_json_kind kind = neo_json_get_kind(value);
    if (field->type == NEO_REFERENCE)
        return replace_one(r, field, value, beside);
    if (field->type == NEO_OBJECT)
        return replace_in(r, field->fields, value);
    if ((field->type == NEO_LIST || field->type == NEO_REFERENCE_LIST) && kind == NEO_JSON_ARRAY)
        return replace_in_list(r, field, value);
    return value;
}

static neo_json *replace_in(const replacement *r, const neo_field *fields, neo_json *object)
{
    if (neo_json_get_kind(object) != NEO_JSON_OBJECT)
        return object;
    neo_json *copy = neo_json_make_object(r->pool);
    for (void *m = neo_json_first(object); m; m = neo_json_next(object, m)) {
        const neo_field *field = neo_field_named(fields, neo_json_member_key(m));
        neo_json *value = neo_json_member_value(m);
        neo_json_set(copy, neo_json_member_key(m), field ? replace_in_value(r, field, value, object) : value);
    }
    return copy;
}

neo_json *neo_references_replace(const neo_resource *resource, neo_json *body, neo_reference_replacer replace, void *data,
                                 apr_pool_t *pool)
{
    const replacement r = {replace, data, pool};
    return neo_has_references(resource) ? replace_in(&r, resource->fields, body) : body;
}

/* ---------------------------------------------------------------- in the tables of fields */

/* Whether a reference can refer to that kind. If it has no fixed kind, the member `type` beside it names the kind. */
static int can_refer(const neo_field *fields, const neo_field *reference, const neo_resource *kind)
{
    if (reference->refers)
        return reference->refers == kind;
    for (const char *const *v = neo_field_named(fields, "type")->values; *v; v++)
        if (strcmp(*v, kind->name) == 0)
            return 1;
    return 0;
}

/* Whether there is a reference to that kind; NULL: to any. */
static int refer(const neo_field *fields, const neo_resource *kind)
{
    for (const neo_field *f = fields; f && f->name; f++) {
        int is_reference = f->type == NEO_REFERENCE || f->type == NEO_REFERENCE_LIST;
        if ((is_reference && (!kind || can_refer(fields, f, kind))) || refer(f->fields, kind))
            return 1;
    }
    return 0;
}

int neo_has_references(const neo_resource *resource)
{
    return refer(resource->fields, NULL);
}

int neo_can_refer_to(const neo_resource *resource, const neo_resource *target)
{
    return refer(resource->fields, target);
}

int neo_is_referred_to(const neo_resource *resource)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (refer((*r)->fields, resource))
            return 1;
    return 0;
}

const neo_field *neo_mutual_field(const neo_resource *resource)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_MUTUAL)
            return f;
    return NULL;
}
