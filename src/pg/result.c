/* SPDX-License-Identifier: Apache-2.0 */
/* Results of statements, their values, and array literals (see pg/pg.h). */
#include <apr_strings.h>
#include <string.h>

#include "libpq.h"

int neo_result_is_success(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK;
}

const char *neo_result_state(const PGresult *result)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    return state ? state : "";
}

const char *neo_state_note(const PGresult *result, apr_pool_t *pool)
{
    const char *state = neo_result_state(result);
    return *state ? apr_pstrcat(pool, " (SQLSTATE ", state, ")", NULL) : "";
}

const char *neo_one_line(const char *text, apr_pool_t *pool)
{
    char *line = apr_pstrdup(pool, text), *end = line + strlen(line);
    while (end > line && end[-1] == '\n')
        *--end = '\0';
    for (char *c = line; (c = strpbrk(c, "\n\t"));)
        *c = ' ';
    return line;
}

static apr_status_t clear_result(void *result)
{
    PQclear(result);
    return APR_SUCCESS;
}

neo_pg_status neo_result_read(neo_pg *pg, PGresult *result, apr_pool_t *pool, neo_rows *rows)
{
    memset(rows, 0, sizeof *rows);
    rows->native = result;
    if (result)
        apr_pool_cleanup_register(pool, result, clear_result, apr_pool_cleanup_null);
    if (neo_result_is_success(result)) {
        rows->count = PQntuples(result);
        return NEO_PG_OK;
    }
    int is_connected = PQstatus(pg->conn) == CONNECTION_OK;
    rows->error = neo_pg_error_find(result || is_connected ? neo_result_state(result) : pg->refusal);
    rows->is_undone = is_connected && *neo_result_state(result);
    rows->constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
    rows->detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    rows->message = neo_one_line(primary ? primary : PQerrorMessage(pg->conn), pool);
    return is_connected ? rows->error->status : NEO_PG_UNAVAILABLE;
}

void neo_rows_report(neo_pg *pg, neo_pg_status status, const neo_rows *rows, apr_pool_t *pool)
{
    int is_error = status != NEO_PG_OK && status != NEO_PG_TIME_LIMIT && rows->error->sentence;
    if (is_error && !(pg->watch && pg->watch->error == rows->error))
        neo_log(rows->error->message, pg->log_context, "%s%s: %s", rows->error->sentence, neo_state_note(rows->native, pool),
                rows->message);
    if (pg->watch)
        *pg->watch = is_error ? (neo_pg_watch){rows->error, pg->watch->failures + 1} : (neo_pg_watch){0};
}

const char *neo_rows_value(const neo_rows *rows, int row, int column)
{
    return PQgetisnull(rows->native, row, column) ? NULL : PQgetvalue(rows->native, row, column);
}

neo_text neo_rows_text(const neo_rows *rows, int row, int column)
{
    return (neo_text){PQgetvalue(rows->native, row, column), (apr_size_t)PQgetlength(rows->native, row, column)};
}

const char *neo_rows_state(const neo_rows *rows)
{
    return neo_result_state(rows->native);
}

apr_size_t neo_rows_size(const neo_rows *rows)
{
    return PQresultMemorySize(rows->native);
}

int neo_rows_is_true(const neo_rows *rows, int row, int column)
{
    return PQgetvalue(rows->native, row, column)[0] == 't';
}

/* ---------------------------------------------------------------- arrays */

static void begin_element(neo_buf *array)
{
    neo_buf_putc(array, array->len ? ',' : '{');
}

void neo_array_add_plain(neo_buf *array, const char *text)
{
    begin_element(array);
    neo_buf_puts(array, text);
}

void neo_array_add_number(neo_buf *array, long long number)
{
    begin_element(array);
    neo_buf_printf(array, "%lld", number);
}

void neo_array_add(neo_buf *array, const char *text)
{
    if (!text) {
        neo_array_add_plain(array, "NULL");
        return;
    }
    begin_element(array);
    neo_buf_putc(array, '"');
    for (apr_size_t plain; (plain = strcspn(text, "\"\\")), text[plain]; text += plain + 1) {
        neo_buf_add(array, text, plain);
        neo_buf_putc(array, '\\');
        neo_buf_putc(array, text[plain]);
    }
    neo_buf_puts(array, text);
    neo_buf_putc(array, '"');
}

const char *neo_array_end(neo_buf *array)
{
    neo_buf_puts(array, array->len ? "}" : "{}");
    return array->ptr;
}
