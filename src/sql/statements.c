/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the statements of resources (see sql/statements.h). */
#include "sql/statements.h"

#include <apr_strings.h>

#include "schema/references.h"
#include "sql/page.h"
#include "sql/write.h"

/* ---------------------------------------------------------------- reads */

static neo_sql *make_read(const neo_resource *resource, unsigned int options, apr_pool_t *pool)
{
    return neo_sql_make(pool,
                        apr_psprintf(pool,
                                     "select representation%s from neoapi.%s"
                                     " where organization_id = {organization} and id = {id}",
                                     options & NEO_WRITE_VERSION ? ", xmin" : "", neo_table_name(resource)),
                        NEO_READS);
}

#define FURTHER 1U /* the option of a page that continues after {before} */

/* The subqueries hide the values from the planner. Otherwise it would plan every execution anew, because a known LIMIT costs
 * less than an unknown one, and planning takes longer than the list. */
static neo_sql *make_list(const neo_resource *resource, unsigned int options, apr_pool_t *pool)
{
    const neo_listed listed = neo_listed_rows(resource, "{organization}", pool);
    return neo_sql_make(
        pool, neo_page_sql(&listed, "(select {limit}::int)", options & FURTHER ? "(select {before})" : NULL, pool), NEO_READS);
}

/* ---------------------------------------------------------------- locks of batches */

static neo_sql *make_lock_organization(const neo_resource *resource, unsigned int options, apr_pool_t *pool)
{
    (void)options;
    return neo_sql_make(
        pool,
        apr_psprintf(pool, "select pg_advisory_xact_lock(hashtext('neoapi.batch.%s'), hashtext({organization}::text))",
                     resource->name),
        NEO_WRITES);
}

/* Rows are locked in the order of their ids, so that two batches do not deadlock; with the rows that a deletion may clear. */
static neo_sql *make_lock_rows(const neo_resource *resource, unsigned int options, apr_pool_t *pool)
{
    (void)options;
    const neo_field *mutual = neo_mutual_field(resource);
    const char *partners = mutual ? apr_psprintf(pool,
                                                 " union select p.%s from item join neoapi.%s p on"
                                                 " p.organization_id = {organization} and p.id = item.item_id",
                                                 mutual->name, neo_table_name(resource))
                                  : "";
    return neo_sql_make(
        pool,
        apr_psprintf(pool,
                     "with item as materialized (select * from unnest({item_number[]}::text[]::int[], {id[]}::text[]) as i"
                     " (item_number, item_id)),"
                     " wanted as materialized (select item_id as id from item%s)"
                     " select item.item_number, t.representation from wanted join neoapi.%s t"
                     " on t.organization_id = {organization} and t.id = wanted.id"
                     " left join item on item.item_id = t.id order by t.id for no key update of t",
                     partners, neo_table_name(resource)),
        NEO_WRITES);
}

static neo_sql *make_lock_targets(const neo_resource *resource, unsigned int options, apr_pool_t *pool)
{
    (void)options;
    return neo_sql_make(pool,
                        apr_psprintf(pool,
                                     "with item as materialized (select * from unnest({id[]}::text[], {target[]}::text[]) as i"
                                     " (item_id, item_target)),"
                                     " wanted as materialized (select t.%s as id from item join neoapi.%s t"
                                     " on t.organization_id = {organization} and t.id = item.item_id"
                                     " union select item_target from item)"
                                     " select o.id from wanted join neoapi.%s o on o.organization_id = {organization}"
                                     " and o.id = wanted.id order by o.id for no key update of o",
                                     resource->effects->through, neo_table_name(resource),
                                     neo_table_name(neo_effect_target(resource))),
                        NEO_WRITES);
}

/* ---------------------------------------------------------------- all of them */

/* What a resource must have for a statement. INDEPENDENCE: its writes need no version, because no rule reads another row
 * before. */
enum { BATCH = 1, EFFECTS = 2, TRANSITIONS = 4, INDEPENDENCE = 8 };

#define KEYED  NEO_WRITE_IDEMPOTENT
#define IMPORT NEO_WRITE_HISTORY

static const struct {
    const char *name;
    neo_sql *(*make)(const neo_resource *resource, unsigned int options, apr_pool_t *pool);
    unsigned int options, needs;
} kinds[] = {
    [NEO_SQL_READ] = {"read", make_read, 0, 0},
    [NEO_SQL_READ_VERSION] = {"read_version", make_read, NEO_WRITE_VERSION, 0},
    [NEO_SQL_LIST] = {"list", make_list, 0, 0},
    [NEO_SQL_LIST_FURTHER] = {"list_further", make_list, FURTHER, 0},
    [NEO_SQL_CREATE] = {"create", neo_write_create, 0, 0},
    [NEO_SQL_CREATE_KEYED] = {"create_keyed", neo_write_create, KEYED, 0},
    [NEO_SQL_IMPORT] = {"create_history", neo_write_create, IMPORT, TRANSITIONS},
    [NEO_SQL_IMPORT_KEYED] = {"create_history_keyed", neo_write_create, IMPORT | KEYED, TRANSITIONS},
    [NEO_SQL_UPDATE] = {"update", neo_write_update, 0, INDEPENDENCE},
    [NEO_SQL_UPDATE_VERSION] = {"update_version", neo_write_update, NEO_WRITE_VERSION, 0},
    [NEO_SQL_DELETE] = {"delete", neo_write_delete, 0, INDEPENDENCE},
    [NEO_SQL_DELETE_VERSION] = {"delete_version", neo_write_delete, NEO_WRITE_VERSION, 0},
    [NEO_SQL_LOCK_ORGANIZATION] = {"lock_organization", make_lock_organization, 0, BATCH},
    [NEO_SQL_LOCK_ROWS] = {"lock_rows", make_lock_rows, 0, BATCH},
    [NEO_SQL_LOCK_TARGETS] = {"lock_targets", make_lock_targets, 0, BATCH | EFFECTS},
    [NEO_SQL_CREATE_ROWS] = {"create_rows", neo_write_create, NEO_WRITE_ROWS | NEO_WRITE_LENIENT, BATCH},
    [NEO_SQL_CREATE_ROWS_STRICT] = {"create_rows_strict", neo_write_create, NEO_WRITE_ROWS, BATCH},
    [NEO_SQL_CREATE_GROUP] = {"create_group", neo_write_create, NEO_WRITE_GROUP | NEO_WRITE_ROWS | NEO_WRITE_LENIENT | KEYED,
                              BATCH},
    [NEO_SQL_UPDATE_ROWS] = {"update_rows", neo_write_update, NEO_WRITE_ROWS, BATCH},
    [NEO_SQL_DELETE_ROWS] = {"delete_rows", neo_write_delete, NEO_WRITE_ROWS, BATCH},
};
_Static_assert(sizeof kinds / sizeof *kinds == NEO_SQL_KINDS, "every kind has its row");

static neo_sql *(*made)[NEO_SQL_KINDS]; /* the statements of each resource, in the order of neo_resources */

void neo_sql_make_all(apr_pool_t *pool)
{
    int count = neo_resource_index(NULL);
    made = apr_pcalloc(pool, (apr_size_t)count * sizeof *made);
    for (int i = 0; i < count; i++) {
        const neo_resource *r = neo_resources[i];
        unsigned int has = (r->has_batch ? BATCH : 0U) | (r->effects ? EFFECTS : 0U) | (r->transitions ? TRANSITIONS : 0U) |
                           (r->preconditions || neo_has_references(r) ? 0U : INDEPENDENCE);
        for (int kind = 0; kind < NEO_SQL_KINDS; kind++)
            if ((kinds[kind].needs & ~has) == 0)
                made[i][kind] = kinds[kind].make(r, kinds[kind].options, pool);
    }
}

const neo_sql *neo_sql_find(const neo_resource *resource, neo_sql_kind kind)
{
    return made[neo_resource_index(resource)][kind];
}

const char *neo_sql_kind_name(neo_sql_kind kind)
{
    return kinds[kind].name;
}
