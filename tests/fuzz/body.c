/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes bodies: the JSON parser, validation, merge patches, batches and imported rows. The first byte of an input chooses the
 * resource (lower half) and what the body is (upper half). */
#include "core/clock.h"
#include "expect.h"
#include "openapi/openapi.h"
#include "resources/list.h"
#include "schema/batch.h"
#include "schema/import.h"
#include "schema/validate.h"

#define ORGANIZATION "org_01jd3x00000000000000000001"
#define TENANT       "tnt_01jd3x00000000000000000000"

static const neo_resource *const more_bodies[] = {&neo_lead_merge, &neo_recovery, &neo_conversation_input,
                                                  &neo_conversation_changes, &neo_message_input};

static const neo_resource *resource_of(int number)
{
    int kinds = 0, more = sizeof more_bodies / sizeof *more_bodies;
    while (neo_import_kinds[kinds])
        kinds++;
    number %= kinds + more;
    return number < kinds ? neo_import_kinds[number] : more_bodies[number - kinds];
}

/* As in an export: stored telephone numbers have no plus sign. */
static neo_json *exported(const neo_resource *resource, const neo_json *clean, apr_pool_t *pool)
{
    neo_json *row = check_json(neo_json_text(clean, pool), pool);
    for (const neo_field *f = resource->fields; f->name; f++) {
        const char *number = f->flags & NEO_SHOW_PLUS ? neo_json_string_at(row, f->name) : NULL;
        if (number)
            neo_json_set(row, f->name, neo_json_make_string(apr_pstrcat(pool, "+", number, NULL), pool));
    }
    return row;
}

/* A stored body is valid, and unchanged if it is sent again. */
static void check_clean(const neo_resource *resource, const neo_json *clean, apr_pool_t *pool)
{
    neo_json *again = NULL;
    EXPECT(neo_json_get_kind(clean) == NEO_JSON_OBJECT);
    EXPECT(!neo_validate(resource, exported(resource, clean, pool), pool, &again));
    check_equal(clean, again, pool);
}

static void check_create(const neo_resource *resource, neo_json *body, apr_pool_t *pool)
{
    neo_json *clean = NULL;
    neo_problem *problem = neo_validate(resource, body, pool, &clean);
    if (problem)
        check_problem(problem, pool);
    else
        check_clean(resource, clean, pool);
}

/* Applying a merge patch twice has the same result as once. */
static void check_patch(const neo_resource *resource, neo_json *body, apr_pool_t *pool)
{
    neo_json *clean = NULL, *again = NULL, *current = neo_openapi_sample(resource, NEO_SHAPE_ANSWER, pool);
    neo_problem *problem = neo_validate_patch(resource, current, body, pool, &clean);
    if (problem) {
        check_problem(problem, pool);
        return;
    }
    check_clean(resource, clean, pool);
    EXPECT(!neo_validate_patch(resource, clean, body, pool, &again));
    check_equal(clean, again, pool);
}

static void check_operation(const neo_resource *resource, const neo_batch_operation *operation, apr_pool_t *pool)
{
    if (operation->problem) { /* malformed: it fails alone */
        check_problem(operation->problem, pool);
        return;
    }
    EXPECT((operation->method == NEO_METHOD_DELETE) == !operation->data);
    EXPECT(!neo_batch_may_create(operation) || operation->external_id);
    EXPECT(operation->method != NEO_METHOD_CREATE || !operation->if_match);
    EXPECT((operation->method == NEO_METHOD_UPDATE || operation->method == NEO_METHOD_DELETE) ==
           (operation->id || (operation->external_id && !neo_batch_may_create(operation))));
    if (operation->data)
        check_create(resource, operation->data, pool);
}

static void check_batch(const neo_resource *resource, neo_json *body, apr_pool_t *pool)
{
    neo_batch batch;
    neo_problem *problem = neo_batch_read(resource, body, pool, &batch);
    if (problem) {
        check_problem(problem, pool);
        return;
    }
    EXPECT(batch.count >= 1 && batch.count <= NEO_BATCH_MAX_OPERATIONS);
    for (int i = 0; i < batch.count; i++)
        check_operation(resource, &batch.operations[i], pool);
}

static void check_import(const neo_resource *resource, neo_json *body, apr_pool_t *pool)
{
    const neo_import_owner owner = {.tenant = TENANT, .organization = ORGANIZATION, .id = "brk_01jd3x00000000000000000000"};
    neo_json *row = NULL, *clean = NULL;
    neo_problem *problem = neo_import_check(resource, body, &owner, pool, &row, &clean);
    if (problem) {
        check_problem(problem, pool);
        return;
    }
    check_json(neo_json_text(row, pool), pool);
    EXPECT(strcmp(neo_json_string_at(row, "organization_id"), ORGANIZATION) == 0);
    EXPECT(strcmp(neo_json_string_at(row, "id"), owner.id) == 0);
}

static void check_body(int choice, neo_json *body, apr_pool_t *pool)
{
    static void (*const checks[])(const neo_resource *, neo_json *, apr_pool_t *) = {check_create, check_patch, check_batch,
                                                                                     check_import};
    checks[(choice >> 4) % 4](resource_of(choice & 15), body, pool);
}

/* The text of a parsed value is JSON with the same value. */
static void check_parsed(const neo_json *body, apr_pool_t *pool)
{
    check_equal(body, check_json(neo_json_text(body, pool), pool), pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    const char *error = NULL;
    if (size < 1)
        return 0;
    neo_json *body = neo_json_parse((neo_text){(const char *)data + 1, size - 1}, pool, &error);
    if (body) {
        check_parsed(body, pool);
        check_body(data[0], body, pool);
    } else
        check_text(error);
    apr_pool_clear(pool);
    return 0;
}
