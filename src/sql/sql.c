/* SPDX-License-Identifier: Apache-2.0 */
/* Statements with named parameters (see sql/sql.h). */
#include "sql/sql.h"

#include <stdlib.h>
#include <string.h>

#include "pg/array.h"

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
    [NEO_PARAM_ITEM_NUMBER] = "item_number",
    [NEO_PARAM_ANSWER] = "answer",
    [NEO_PARAM_TIMES] = "times",
    [NEO_PARAM_TIMESTAMP_FIELD] = "timestamp_field",
    [NEO_PARAM_REPRESENTATION] = "representation",
    [NEO_PARAM_PAYLOAD] = "payload",
};
_Static_assert(sizeof names / sizeof *names == NEO_PARAM_FIELD, "every parameter has its name");

struct neo_sql {
    const neo_statement *statement;
    int count;
    struct {
        neo_param param;
        int is_array;
    } order[NEO_PARAMS];
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

static int number_of(neo_sql *sql, neo_param param, int is_array)
{
    for (int i = 0; i < sql->count; i++)
        if (sql->order[i].param == param && sql->order[i].is_array == is_array)
            return i + 1;
    sql->order[sql->count].param = param;
    sql->order[sql->count].is_array = is_array;
    return ++sql->count;
}

neo_sql *neo_sql_make(apr_pool_t *pool, const char *text, int writes)
{
    neo_sql *sql = apr_pcalloc(pool, sizeof *sql);
    neo_buf out;
    neo_buf_init(&out, pool, strlen(text) + 64);
    for (const char *open; (open = strchr(text, '{'));) {
        size_t len = open[1] == '{' ? 0 : strcspn(open + 1, "}");
        neo_buf_add(&out, text, (apr_size_t)(open - text));
        size_t name = strcspn(open + 1, "[}"); /* without the brackets */
        if (len)
            neo_buf_printf(&out, "$%d", number_of(sql, param_of(open + 1, name), name < len));
        else
            neo_buf_putc(&out, '{');
        text = open + len + 2;
    }
    neo_buf_puts(&out, text);
    sql->statement = neo_statement_make(pool, out.ptr, sql->count, writes);
    return sql;
}

neo_pg_status neo_sql_run(neo_pg *pg, const neo_sql *sql, const neo_values *values, apr_pool_t *pool, neo_rows *rows)
{
    const char *ordered[NEO_PARAMS];
    for (int i = 0; i < sql->count; i++)
        ordered[i] = values->of[sql->order[i].param];
    return neo_pg_run(pg, sql->statement, ordered, pool, rows);
}

static const char *array_of(const neo_values *each, int count, neo_param param, apr_pool_t *pool)
{
    neo_buf array;
    neo_buf_init(&array, pool, (apr_size_t)count * 32 + 2);
    for (int i = 0; i < count; i++)
        neo_array_add(&array, each[i].of[param]);
    return neo_array_end(&array);
}

neo_bound_sql neo_sql_bind(const neo_sql *sql, const neo_values *values, const neo_values *each, int count, apr_pool_t *pool)
{
    const char **ordered = apr_palloc(pool, (apr_size_t)sql->count * sizeof *ordered);
    for (int i = 0; i < sql->count; i++)
        ordered[i] =
            sql->order[i].is_array ? array_of(each, count, sql->order[i].param, pool) : values->of[sql->order[i].param];
    return (neo_bound_sql){sql->statement, ordered};
}
