/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the transitions that a date causes (see sql/expiry.h). */
#include "sql/expiry.h"

#include <apr_strings.h>
#include <string.h>

#include "schema/business_rules.h"
#include "sql/table.h"

#define ACTOR "system"

enum { NAME, ORGANIZATION, TENANT, ID, VERSION, CURRENT, TO };

static neo_statement *find;

/* ---------------------------------------------------------------- finding */

/* The transitions to one status share their date. The condition is that of the index <table>_due. */
static void add_due(neo_buf *sql, const neo_resource *resource, const neo_transition *t)
{
    const char *from = "";
    for (const neo_transition *other = resource->transitions; other->from; other++)
        if (other->after_date && strcmp(other->to, t->to) == 0)
            from = apr_pstrcat(sql->pool, from, *from ? ", '" : "'", other->from, "'", NULL);
    neo_buf_printf(
        sql,
        "%s(select '%s', due.organization_id, due.tenant_id, due.id, due.xmin, due.representation, '%s' from neoapi.%s due"
        " where due.status in (%s) and due.%s < (now() at time zone 'America/Sao_Paulo')::date order by due.%s "
        "limit " APR_STRINGIFY(NEO_EXPIRY_BATCH) ")",
        sql->len ? " union all " : "", resource->name, t->to, neo_table_name(resource), from, t->after_date, t->after_date);
}

static int is_first(const neo_resource *resource, const neo_transition *transition)
{
    for (const neo_transition *t = resource->transitions; t < transition; t++)
        if (t->after_date && strcmp(t->to, transition->to) == 0)
            return 0;
    return 1;
}

void neo_expiry_make_statements(apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 1024);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (const neo_transition *t = (*r)->transitions; t && t->from; t++)
            if (t->after_date && is_first(*r, t))
                add_due(&sql, *r, t);
    find = neo_statement_make(pool, sql.ptr, 0, 0);
}

/* ---------------------------------------------------------------- writing */

/* No row is written if another process was first. */
static neo_pg_status expire(neo_pg *pg, const neo_rows *due, int row, apr_pool_t *pool)
{
    const char *error, *to = neo_rows_value(due, row, TO);
    const neo_actor actor = {
        .organization = neo_rows_value(due, row, ORGANIZATION), .tenant = neo_rows_value(due, row, TENANT), .name = ACTOR};
    neo_json *before = neo_json_parse(neo_rows_text(due, row, CURRENT), pool, &error), *patch = neo_json_make_object(pool);
    neo_rule_input input = {
        .resource = neo_resource_named(neo_rows_value(due, row, NAME)), .id = neo_rows_value(due, row, ID), .before = before};
    neo_change change = {.id = input.id, .version = neo_rows_value(due, row, VERSION)};
    neo_rows rows;
    if (!before)
        return NEO_PG_FAILED;
    neo_json_set_string(patch, "status", to, pool);
    change.body = input.after = neo_json_merge_patch(before, patch, pool);
    if (neo_transition_check(input.resource, neo_json_string_at(before, "status"), to, pool, &change.timestamp_field))
        return NEO_PG_FAILED;
    neo_pg_status status = neo_rule_input_read(pg, &actor, &input, pool, &rows);
    if (status != NEO_PG_OK)
        return status;
    change.target = neo_rules_target(&input);
    return neo_table_update(pg, input.resource, &actor, &change, pool, &rows);
}

/* A row that fails does not hold up the others; it is tried again in the next run. */
neo_pg_status neo_expiry_run(neo_pg *pg, neo_ms until, apr_pool_t *pool, int *count)
{
    neo_rows due;
    apr_pool_t *scratch;
    neo_pg_status status = neo_pg_run(pg, find, NULL, pool, &due);
    *count = status == NEO_PG_OK ? due.count : 0;
    apr_pool_create(&scratch, pool);
    int can_continue = 1;
    for (int row = 0; row < *count && can_continue && neo_steady_ms() < until; row++) {
        status = expire(pg, &due, row, scratch);
        can_continue = status != NEO_PG_UNAVAILABLE && status != NEO_PG_TIMEOUT;
        apr_pool_clear(scratch);
    }
    apr_pool_destroy(scratch);
    return status == NEO_PG_UNAVAILABLE ? status : NEO_PG_OK;
}
