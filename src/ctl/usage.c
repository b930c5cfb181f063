/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl usage: what credentials have used, by day. */
#include <apr_strings.h>
#include <stdio.h>

#include "core/encode.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "ctl/usage.sql.h"

static const char *const columns[] = {"day",      "organization_id", "credential_id", "operation",
                                      "requests", "refusals",        "rows",          "bytes"};
enum { COLUMNS = sizeof columns / sizeof *columns, TEXTS = 4 };

/* No value has a comma, a quotation mark or a line end. */
static void print_csv(const neo_rows *rows)
{
    for (int c = 0; c < COLUMNS; c++)
        printf("%s%s", c ? "," : "", columns[c]);
    printf("\r\n");
    for (int r = 0; r < rows->count; r++) {
        for (int c = 0; c < COLUMNS; c++)
            printf("%s%s", c ? "," : "", neo_rows_value(rows, r, c));
        printf("\r\n");
    }
}

static neo_json *make_list(const neo_rows *rows, apr_pool_t *pool)
{
    neo_json *list = neo_json_make_array(pool);
    for (int r = 0; r < rows->count; r++) {
        neo_json *row = neo_json_make_object(pool);
        for (int c = 0; c < COLUMNS; c++) {
            const char *value = neo_rows_value(rows, r, c);
            neo_json_set(row, columns[c],
                         c < TEXTS ? neo_json_make_string(value, pool) : neo_json_make_integer(apr_atoi64(value), pool));
        }
        neo_json_append(list, row);
    }
    return list;
}

static neo_ctl_exit run_usage(neo_ctl *ctl)
{
    const char *error;
    neo_rows rows = {0};
    const char *values[] = {neo_ctl_value(ctl, "organization"), neo_ctl_value(ctl, "from"), neo_ctl_value(ctl, "to")};
    neo_pg *pg = neo_ctl_open_to_read(ctl, &error);
    if (pg)
        error = neo_admin_exec(pg, usage_sql, 3, values, ctl->pool, &rows);
    if (error || !neo_ctl_value(ctl, "csv"))
        return neo_ctl_finish(ctl, error, error ? NULL : make_list(&rows, ctl->pool));
    print_csv(&rows);
    return NEO_CTL_OK;
}

static const neo_parameter options[] = {
    {"organization", NEO_KIND_ORGANIZATION_ID, 0, NULL, "only of this organization"},
    {"from", NEO_KIND_TIME, 0, NULL, "the first day, in UTC; defaults to 30 days before the last"},
    {"to", NEO_KIND_TIME, 0, NULL, "the last day; defaults to today"},
    {"csv", NEO_KIND_FLAG, 0, NULL, "print CSV"},
    {0},
};

const neo_ctl_command neo_ctl_usage[] = {
    {"usage", NULL, "Show what credentials have used, by day and operation.",
     "requests, refusals (responses with a status of 400 or more), rows (resources that lists and exports returned) and bytes "
     "(of response bodies, before compression). The operation \"webhook delivery\" has the subscription as its credential: "
     "requests are attempts, refusals those that failed. Each host records what it has counted every ten seconds.",
     NULL, options, run_usage, NULL, 0},
    {0},
};
