/* SPDX-License-Identifier: Apache-2.0 */
/* Statements with named parameters (see sql/sql.h). */
#include "sql/sql.h"

#include <apr_strings.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "pg/pg.h"

#define COUNTED(name) +1
#define NAMED(name)   #name,
enum { REQUEST_PARAMETERS = 0 NEO_REQUEST_PARAMETERS(COUNTED), FIRST_FIELD = 0 NEO_PARAMETERS(COUNTED) };
enum { PARAMETERS = sizeof(neo_values) / sizeof(const char *) };
static const char *const names[] = {NEO_PARAMETERS(NAMED)};

struct neo_sql {
    const neo_statement *statement;
    int count;
    struct {
        int parameter; /* its position in neo_values */
        int is_array;
    } order[PARAMETERS];
};

/* An unknown name is a defect of this program. */
static int find_parameter_name(const char *name, size_t len)
{
    if (len > 5 && strncmp(name, "field", 5) == 0)
        return FIRST_FIELD + atoi(name + 5);
    for (int i = 0; i < FIRST_FIELD; i++)
        if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
            return i;
    abort();
}

static int find_number(neo_sql *sql, int parameter, int is_array)
{
    for (int i = 0; i < sql->count; i++)
        if (sql->order[i].parameter == parameter && sql->order[i].is_array == is_array)
            return i + 1;
    sql->order[sql->count].parameter = parameter;
    sql->order[sql->count].is_array = is_array;
    return ++sql->count;
}

neo_sql *neo_sql_make(apr_pool_t *pool, const char *text, neo_sql_effect effect)
{
    neo_sql *sql = apr_pcalloc(pool, sizeof *sql);
    neo_buf out;
    neo_buf_init(&out, pool, strlen(text) + 64);
    for (const char *open; (open = strchr(text, '{')); text = open + 2) {
        neo_buf_add(&out, text, (apr_size_t)(open - text));
        if (open[1] == '{') {
            neo_buf_putc(&out, '{');
            continue;
        }
        size_t len = strcspn(open + 1, "[}"); /* without the brackets */
        int parameter = find_parameter_name(open + 1, len), is_array = open[len + 1] == '[';
        if (effect == NEO_WRITES_GROUP && parameter < REQUEST_PARAMETERS && !is_array)
            neo_buf_printf(&out, "item_%s", names[parameter]);
        else
            neo_buf_printf(&out, "$%d", find_number(sql, parameter, is_array));
        open += len + (is_array ? 2 : 0);
    }
    neo_buf_puts(&out, text);
    sql->statement = neo_statement_make(pool, out.ptr, sql->count, effect != NEO_READS);
    return sql;
}

static const char *value(const neo_values *values, int parameter)
{
    return ((const char *const *)values)[parameter];
}

neo_pg_status neo_sql_run(neo_pg *pg, const neo_sql *sql, const neo_values *values, apr_pool_t *pool, neo_rows *rows)
{
    const char *ordered[PARAMETERS];
    for (int i = 0; i < sql->count; i++)
        ordered[i] = value(values, sql->order[i].parameter);
    return neo_pg_run(pg, sql->statement, ordered, pool, rows);
}

static void add_numbers(neo_buf *array, const int *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        unsigned int sent = htonl((unsigned int)numbers[i]);
        neo_buf_add(array, (const char *)&sent, sizeof sent);
    }
}

/* Makes an array of texts in PostgreSQL's binary format, which needs no escapes and no parser. */
static neo_buf make_array(const neo_values *each, int count, int parameter, apr_pool_t *pool)
{
    enum { DIMENSIONS = 1, MAY_HAVE_NULLS = 1, TEXT_OID = 25, FIRST_INDEX = 1, NULL_LENGTH = -1 };
    const int header[] = {DIMENSIONS, MAY_HAVE_NULLS, TEXT_OID, count, FIRST_INDEX};
    int *lengths = apr_palloc(pool, (apr_size_t)count * sizeof *lengths);
    apr_size_t capacity = sizeof header;
    for (int i = 0; i < count; i++) {
        const char *text = value(&each[i], parameter);
        lengths[i] = text ? (int)strlen(text) : NULL_LENGTH;
        capacity += sizeof *lengths + (text ? (apr_size_t)lengths[i] : 0);
    }
    neo_buf array;
    neo_buf_init(&array, pool, capacity + 1);
    add_numbers(&array, header, sizeof header / sizeof *header);
    for (int i = 0; i < count; i++) {
        add_numbers(&array, &lengths[i], 1);
        if (lengths[i] > 0)
            neo_buf_add(&array, value(&each[i], parameter), (apr_size_t)lengths[i]);
    }
    return array;
}

neo_bound_sql neo_sql_bind(const neo_sql *sql, const neo_values *values, const neo_values *each, int count, apr_pool_t *pool)
{
    const char **ordered = apr_palloc(pool, (apr_size_t)sql->count * sizeof *ordered);
    int *formats = apr_pcalloc(pool, 2 * (apr_size_t)sql->count * sizeof *formats), *lengths = formats + sql->count;
    neo_statement *statement = apr_pmemdup(pool, sql->statement, sizeof *statement);
    statement->formats = formats;
    statement->lengths = lengths;
    for (int i = 0; i < sql->count; i++) {
        int parameter = sql->order[i].parameter;
        ordered[i] = value(values, parameter);
        if (!sql->order[i].is_array)
            continue;
        neo_buf array = make_array(each, count, parameter, pool);
        ordered[i] = array.ptr;
        formats[i] = 1;
        lengths[i] = (int)array.len;
    }
    return (neo_bound_sql){statement, ordered};
}
