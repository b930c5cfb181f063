/* SPDX-License-Identifier: Apache-2.0 */
/* Imported rows (see schema/import.h). */
#include "schema/import.h"

#include <apr_strings.h>
#include <string.h>

#include "core/crypto.h"
#include "schema/references.h"
#include "schema/validate.h"

#define MAX_NAME 200 /* characters of a string that only the service sets */

/* ---------------------------------------------------------------- kinds and their order */

const neo_resource *neo_import_kind_named(const char *name)
{
    const neo_resource *const *k = neo_import_kinds;
    while (*k && strcmp((*k)->name, name) != 0)
        k++;
    return *k;
}

static int has_resource(const neo_resource **some, const neo_resource *resource)
{
    for (; *some; some++)
        if (*some == resource)
            return 1;
    return 0;
}

/* Whether all kinds that it refers to, other than itself, are in `before`. */
static int is_ready(const neo_resource *resource, const neo_resource **before)
{
    for (const neo_resource *const *r = neo_import_kinds; *r; r++)
        if (*r != resource && neo_can_refer_to(resource, *r) && !has_resource(before, *r))
            return 0;
    return 1;
}

const neo_resource **neo_import_order(apr_pool_t *pool)
{
    int count = 0, done = 0, wanted = 0;
    while (neo_import_kinds[count])
        wanted += !neo_secret_field(neo_import_kinds[count++]);
    const neo_resource **order = apr_pcalloc(pool, (apr_size_t)(count + 1) * sizeof *order);
    for (int must_be_ready = 1; done < wanted;) {
        int before = done;
        for (const neo_resource *const *r = neo_import_kinds; *r; r++)
            if (!neo_secret_field(*r) && !has_resource(order, *r) && (!must_be_ready || is_ready(*r, order))) {
                order[done++] = *r;
                must_be_ready = 1;
            }
        must_be_ready = done > before; /* a cycle of references: start with any of them */
    }
    return order;
}

/* ---------------------------------------------------------------- ids */

const char *neo_import_moved_id(const char *organization, const char *given, apr_pool_t *pool)
{
    unsigned char bytes[NEO_ID_BYTES], hash[NEO_SHA256_SIZE];
    char *id = apr_palloc(pool, NEO_ID_SIZE);
    const neo_text pieces[] = {{organization, strlen(organization)}, {given, strlen(given)}};
    neo_sha256_pieces(pieces, 2, hash);
    neo_id_pack(given, bytes);
    memcpy(bytes + 6, hash, NEO_ID_BYTES - 6);
    neo_id_unpack(id, given, bytes);
    return id;
}

void neo_import_new_id(char id[NEO_ID_SIZE], const char *prefix, neo_ms time)
{
    unsigned char bytes[NEO_ID_BYTES];
    neo_id_bound(id, prefix, time, 0);
    neo_id_pack(id, bytes);
    neo_random(bytes + 6, NEO_ID_BYTES - 6);
    neo_id_unpack(id, prefix, bytes);
}

const char *neo_import_given(const neo_json *value, apr_pool_t *pool)
{
    const char *text = value ? neo_json_string(value) : NULL;
    if (value && neo_json_get_kind(value) == NEO_JSON_INTEGER)
        return apr_ltoa(pool, (long)neo_json_integer(value));
    return text && *text ? text : NULL;
}

typedef struct {
    neo_import_id find_id;
    void *data;
    apr_pool_t *pool;
} renaming;

static neo_json *rename_one(void *data, const neo_resource *kind, neo_json *value)
{
    const renaming *r = data;
    const char *given = neo_import_given(value, r->pool);
    return given ? neo_json_make_string(r->find_id(r->data, kind, given), r->pool) : value;
}

neo_json *neo_import_rename(const neo_resource *resource, neo_json *body, neo_import_id find_id, void *data, apr_pool_t *pool)
{
    renaming r = {find_id, data, pool};
    return neo_references_replace(resource, body, rename_one, &r, pool);
}

/* ---------------------------------------------------------------- the row */

/* Takes over a field that only the service sets, checked like any other value of its type. */
static void take_server_field(const neo_resource *resource, const neo_field *field, const neo_json *body, neo_json *row,
                              neo_problem **problem, apr_pool_t *pool)
{
    neo_json *value = neo_json_get(body, field->name);
    neo_field any = *field;
    any.max = any.max ? any.max : MAX_NAME;
    if (!value || neo_json_get_kind(value) == NEO_JSON_NULL || neo_json_get(row, field->name))
        return;
    neo_ms ms;
    const char *message = neo_check(&any, value, body, pool);
    /* An id holds the time of creation as milliseconds since 1970, and lists filter by it. */
    if (!message && strcmp(field->name, "created_at") == 0 && neo_ms_parse(neo_json_string(value), &ms) && ms < 0)
        message = "must not be before 1970-01-01T00:00:00Z";
    if (message)
        neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_INVALID, resource->name, field->name, "%s", message);
    else
        neo_json_set(row, field->name, field->type == NEO_TIMESTAMP ? neo_normalize_timestamp(value, pool) : value);
}

neo_problem *neo_import_check(const neo_resource *resource, neo_json *body, const neo_import_owner *owner, apr_pool_t *pool,
                              neo_json **row, neo_json **clean)
{
    neo_problem *problem = neo_validate(resource, body, pool, clean);
    if (neo_json_get_kind(body) != NEO_JSON_OBJECT)
        return problem;
    *row = neo_json_make_object(pool);
    neo_json_set_string(*row, "organization_id", owner->organization, pool);
    neo_json_set_string(*row, "tenant_id", owner->tenant, pool);
    neo_json_set_string(*row, "id", owner->id, pool);
    for (const neo_field *f = resource->fields; f->name; f++) {
        neo_json *value = neo_json_get(*clean, f->name);
        if (f->flags & NEO_SERVER && (f->type == NEO_TIMESTAMP || !owner->has_only_times))
            take_server_field(resource, f, body, *row, &problem, pool);
        else if (value)
            neo_json_set(*row, f->name, value);
    }
    return problem;
}
