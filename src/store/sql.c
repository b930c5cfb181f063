/* SPDX-License-Identifier: Apache-2.0 */
/* Statements with named parameters (see store/sql.h). */
#include "store/sql.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"

static const char *const names[] = {
    [NEO_PARAM_ORGANIZATION] = "organization",
    [NEO_PARAM_TENANT] = "tenant",
    [NEO_PARAM_ID] = "id",
    [NEO_PARAM_NOW] = "now",
    [NEO_PARAM_ACTOR] = "actor",
    [NEO_PARAM_REQUEST] = "request",
    [NEO_PARAM_ID_BLOCK] = "id_block",
    [NEO_PARAM_SECRET] = "secret",
    [NEO_PARAM_CREDENTIAL] = "credential",
    [NEO_PARAM_KEY] = "key",
    [NEO_PARAM_HASH] = "hash",
    [NEO_PARAM_VERSION] = "version",
    [NEO_PARAM_LIMIT] = "limit",
    [NEO_PARAM_BEFORE] = "before",
    [NEO_PARAM_SUBSCRIPTION] = "subscription",
    [NEO_PARAM_SINCE] = "since",
    [NEO_PARAM_BODY] = "body",
    [NEO_PARAM_ANY_TYPE] = "any_type",
    [NEO_PARAM_NUMBERS] = "numbers",
    [NEO_PARAM_PATHS] = "paths",
    [NEO_PARAM_TARGETS] = "targets",
    [NEO_PARAM_TARGET] = "target",
    [NEO_PARAM_TARGET_VERSION] = "target_version",
    [NEO_PARAM_TARGET_STATUS] = "target_status",
    [NEO_PARAM_TARGET_ID_BLOCK] = "target_id_block",
    [NEO_PARAM_ROWS] = "rows",
    [NEO_PARAM_ANSWER] = "answer",
    [NEO_PARAM_TIMES] = "times",
    [NEO_PARAM_TIMESTAMP_FIELD] = "timestamp_field",
};
_Static_assert(sizeof names / sizeof *names == NEO_PARAM_FIELD, "every parameter has its name");

struct neo_sql {
    const neo_statement *statement;
    int count;
    neo_param order[NEO_PARAMS];
};

/* An unknown name is a defect of this program. */
static neo_param param_of(const char *name, size_t len)
{
    if (len > 5 && strncmp(name, "field", 5) == 0)
        return (neo_param)(NEO_PARAM_FIELD + atoi(name + 5));
    for (int p = 0; p < NEO_PARAM_FIELD; p++)
        if (strlen(names[p]) == len && strncmp(names[p], name, len) == 0)
            return (neo_param)p;
    abort();
}

static int number_of(neo_sql *sql, neo_param param)
{
    for (int i = 0; i < sql->count; i++)
        if (sql->order[i] == param)
            return i + 1;
    sql->order[sql->count++] = param;
    return sql->count;
}

neo_sql *neo_sql_make(apr_pool_t *pool, const char *text, int writes)
{
    neo_sql *sql = apr_pcalloc(pool, sizeof *sql);
    neo_buf out;
    neo_buf_init(&out, pool, strlen(text) + 64);
    for (const char *open; (open = strchr(text, '{'));) {
        size_t len = open[1] == '{' ? 0 : strcspn(open + 1, "}");
        neo_buf_add(&out, text, (apr_size_t)(open - text));
        if (len)
            neo_buf_printf(&out, "$%d", number_of(sql, param_of(open + 1, len)));
        else
            neo_buf_putc(&out, '{');
        text = open + len + 2;
    }
    neo_buf_puts(&out, text);
    sql->statement = neo_statement_make(pool, out.ptr, sql->count, writes);
    return sql;
}

static void order_values(const neo_sql *sql, const neo_values *values, const char *ordered[NEO_PARAMS])
{
    for (int i = 0; i < sql->count; i++)
        ordered[i] = values->of[sql->order[i]];
}

neo_pg_status neo_sql_run(neo_pg *pg, const neo_sql *sql, const neo_values *values, apr_pool_t *pool, neo_rows *rows)
{
    const char *ordered[NEO_PARAMS];
    order_values(sql, values, ordered);
    return neo_pg_run(pg, sql->statement, ordered, pool, rows);
}

neo_pg_status neo_sql_try(neo_pg *pg, const neo_sql *sql, const neo_values *values, apr_pool_t *pool, neo_rows *rows)
{
    const char *ordered[NEO_PARAMS];
    order_values(sql, values, ordered);
    return neo_pg_try(pg, sql->statement, ordered, pool, rows);
}
