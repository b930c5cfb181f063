/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the rules between resources for the lines of an import (see admin/import_sql.h). */
#include <apr_strings.h>
#include <stdlib.h>

#include "admin/import_rules.sql.h"
#include "admin/import_sql.h"
#include "resources/rules.h"

enum { NUMBER, KIND, ID, BODY, BEFORE, PROPERTY, PROPOSAL, CONTRACT, RESERVATION };

static neo_json *parsed(const neo_rows *rows, int row, int column, apr_pool_t *pool)
{
    const char *error;
    return neo_rows_value(rows, row, column) ? neo_json_parse(neo_rows_text(rows, row, column), pool, &error) : NULL;
}

/* What a request may leave to the proposal, an import must have. */
static void check_line(const neo_rows *rows, int row, neo_import_report report, void *data, apr_pool_t *pool)
{
    const unsigned int flags = NEO_ALWAYS | NEO_CONDITIONAL;
    const neo_rule_input input = {.resource = neo_resource_named(neo_rows_value(rows, row, KIND)),
                                  .id = neo_rows_value(rows, row, ID),
                                  .before = parsed(rows, row, BEFORE, pool),
                                  .after = parsed(rows, row, BODY, pool),
                                  .is_history = !neo_rows_value(rows, row, BEFORE),
                                  .read = {[NEO_READ_PROPERTY] = parsed(rows, row, PROPERTY, pool),
                                           [NEO_READ_PROPOSAL] = parsed(rows, row, PROPOSAL, pool),
                                           [NEO_READ_CONTRACT] = parsed(rows, row, CONTRACT, pool),
                                           [NEO_READ_RESERVATION] = parsed(rows, row, RESERVATION, pool)}};
    long long number = atoll(neo_rows_value(rows, row, NUMBER));
    if (!input.after)
        return;
    for (const neo_field *f = input.resource->fields; f->name; f++)
        if ((f->flags & flags) == flags && !neo_json_get(input.after, f->name))
            report(data, number, f->name, "is required");
    neo_problem *problem = neo_rules_check(&input, pool);
    if (problem)
        report(data, number, NULL, problem->detail);
}

/* Checks the lines that a statement selects, page by page. */
static const char *check_lines(neo_pg *pg, const char *sql, const char *organization, neo_import_report report, void *data,
                               apr_pool_t *pool)
{
    neo_rows rows = {0};
    apr_pool_t *page;
    char last[24] = "0";
    const char *values[] = {organization, last, "9223372036854775807"}, *error = NULL;
    apr_pool_create(&page, pool);
    do {
        apr_pool_clear(page);
        if (neo_pg_exec(pg, sql, 3, values, page, &rows) != NEO_PG_OK)
            error = apr_pstrdup(pool, rows.message);
        for (int row = 0; !error && row < rows.count; row++) {
            check_line(&rows, row, report, data, page);
            apr_cpystrn(last, neo_rows_value(&rows, row, NUMBER), sizeof last);
        }
    } while (!error && rows.count > 0);
    apr_pool_destroy(page);
    return error;
}

const char *neo_import_check_rules(neo_pg *pg, const char *organization, neo_import_report report, void *data, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error;
    if (neo_pg_exec(pg, claims_sql, 1, &organization, pool, &rows) != NEO_PG_OK ||
        neo_pg_exec(pg, index_claims_sql, 0, NULL, pool, &rows) != NEO_PG_OK)
        return rows.message;
    error = check_lines(pg, related_sql, organization, report, data, pool);
    return error ? error : check_lines(pg, changed_sql, organization, report, data, pool);
}

typedef struct {
    apr_pool_t *pool;
    const char *message; /* NULL if there is none yet */
} first_error;

static void keep_first(void *data, long long number, const char *field, const char *message)
{
    first_error *first = data;
    (void)field;
    if (!first->message)
        first->message = apr_psprintf(first->pool, "line %" APR_INT64_T_FMT ": %s", (apr_int64_t)number, message);
}

neo_pg_status neo_import_lock_properties(neo_pg *pg, const char *organization, const char *before, apr_pool_t *pool,
                                         const char **refusal, neo_rows *rows)
{
    const char *values[] = {organization, before, NULL};
    first_error first = {pool, NULL};
    neo_pg_status status = neo_pg_exec(pg, lock_properties_sql, 2, values, pool, rows);
    values[2] = status == NEO_PG_OK ? neo_rows_value(rows, 0, 0) : NULL;
    if (values[2])
        status = neo_pg_exec(pg, changed_sql, 3, values, pool, rows);
    for (int row = 0; values[2] && status == NEO_PG_OK && row < rows->count; row++)
        check_line(rows, row, keep_first, &first, pool);
    *refusal = first.message;
    return status;
}
