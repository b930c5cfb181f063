/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the hosts and the database's servers, and writes them as HTML and as text (see status/deployment.h). */
#include "status/deployment.h"

#include <apr_strings.h>
#include <string.h>

#include "parts.h"
#include "status/deployment.sql.h"

neo_pg_status neo_deployment_read(neo_pg *pg, apr_pool_t *pool, int max_bytes, neo_text *json)
{
    neo_rows rows;
    const char *limit = apr_itoa(pool, max_bytes);
    neo_pg_status status = neo_pg_run(pg, NEO_QUERY(deployment_sql, 1), &limit, pool, &rows);
    *json = status == NEO_PG_OK ? neo_rows_text(&rows, 0, 0) : (neo_text){"", 0};
    return status;
}

neo_json *neo_deployment_parse(neo_text json, apr_pool_t *pool)
{
    const char *error;
    return neo_json_parse(json, pool, &error);
}

/* ---------------------------------------------------------------- formats */

static void put_seconds(neo_buf *out, long long seconds)
{
    neo_report_age(out, seconds * 1000000);
    neo_buf_puts(out, " ago");
}

static void put_milliseconds(neo_buf *out, long long milliseconds)
{
    neo_buf_printf(out, milliseconds ? "%+lld&nbsp;ms" : "%lld&nbsp;ms", milliseconds);
}

static void put_duration(neo_buf *out, long long milliseconds)
{
    neo_report_time(out, (double)milliseconds * 1000);
}

static void put_bytes(neo_buf *out, long long bytes)
{
    neo_report_count(out, bytes > 0 ? (uint64_t)bytes : 0);
    neo_buf_puts(out, "&nbsp;bytes");
}

/* The columns of the page. The first one is the name of the row. */
typedef struct {
    const char *key, *title;
    void (*put)(neo_buf *out, long long value); /* NULL: a text or a boolean */
} deployment_column;

static const struct deployment_table {
    const char *key, *title, *line; /* the array in the JSON, the heading on the page, the key in the text */
    deployment_column columns[8];
} tables[] = {
    {"hosts",
     "Hosts",
     "DeploymentHost",
     {{"name", "Host", NULL},
      {"version", "Version", NULL},
      {"seconds_since_contact", "Last contact", put_seconds},
      {"delivers", "Sends webhooks", NULL},
      {"clock_ahead_ms", "Clock", put_milliseconds},
      {"drained", "Drained", NULL}}},
    {"servers",
     "Database servers",
     "DatabaseServer",
     {{"name", "Server", NULL},
      {"address", "Address", NULL},
      {"role", "Role", NULL},
      {"state", "State", NULL},
      {"sync_state", "Replication", NULL},
      {"lag_bytes", "Lag", put_bytes},
      {"lag_ms", "Delay", put_duration}}},
};
enum { TABLES = sizeof tables / sizeof *tables };

static void put_cell(neo_buf *out, const deployment_column *column, const neo_json *value)
{
    switch (neo_json_get_kind(value)) {
    case NEO_JSON_STRING: neo_buf_html(out, neo_json_string(value)); return;
    case NEO_JSON_BOOLEAN: neo_buf_puts(out, neo_json_is_true(value) ? "yes" : "no"); return;
    case NEO_JSON_INTEGER: column->put(out, neo_json_integer(value)); return;
    default: neo_buf_puts(out, "–");
    }
}

static void put_sentence(neo_buf *out, const char *class, const char *sentence)
{
    neo_buf_printf(out, "<p class=\"%s\">", class);
    neo_buf_html(out, sentence);
    neo_buf_puts(out, "</p>\n");
}

/* Shows how many rows of an array are left out. */
static void put_more(neo_buf *out, const neo_json *deployment, const char *key)
{
    const neo_json *more = neo_json_get(neo_json_get(deployment, "more"), key);
    if (more)
        put_sentence(out, "lead",
                     apr_psprintf(out->pool, "%ld more %s; see: neoapictl status", (long)neo_json_integer(more), key));
}

static void put_table(neo_buf *out, const struct deployment_table *table, const neo_json *deployment)
{
    const neo_json *rows = neo_json_get(deployment, table->key);
    neo_buf_printf(out, "<h3>%s</h3>\n<table><thead><tr>", table->title);
    for (const deployment_column *c = table->columns; c->key; c++)
        neo_buf_printf(out, "<th scope=\"col\">%s</th>", c->title);
    neo_buf_puts(out, "</tr></thead>\n<tbody>\n");
    for (apr_size_t i = 0; i < neo_json_size(rows); i++) {
        for (const deployment_column *c = table->columns; c->key; c++) {
            int is_first = c == table->columns;
            neo_buf_printf(out, is_first ? "<tr><th scope=\"row\">" : "<td data-name=\"%s\">", c->title);
            put_cell(out, c, neo_json_get(neo_json_at(rows, i), c->key));
            neo_buf_puts(out, is_first ? "</th>" : "</td>");
        }
        neo_buf_puts(out, "</tr>\n");
    }
    neo_buf_puts(out, "</tbody></table>\n");
    put_more(out, deployment, table->key);
}

void neo_report_deployment(const neo_report *report, neo_buf *out)
{
    const neo_json *warnings = neo_json_get(report->deployment, "warnings");
    const char *note = neo_json_string_at(report->deployment, "note");
    const char *epoch = neo_json_string_at(report->deployment, "event_epoch_since");
    neo_buf_puts(out, "<section><h2>Deployment</h2>\n");
    if (report->backlog_error)
        put_sentence(out, "warning", report->backlog_error);
    if (report->backlog_error && report->deployment) {
        neo_buf_puts(out, "<p class=\"lead\">What was known before, ");
        put_seconds(out, (report->now - report->backlog_read_at) / 1000000);
        neo_buf_puts(out, ":</p>\n");
    }
    for (apr_size_t i = 0; i < neo_json_size(warnings); i++)
        put_sentence(out, "warning", neo_json_string(neo_json_at(warnings, i)));
    put_more(out, report->deployment, "warnings");
    for (int i = 0; i < TABLES && report->deployment; i++)
        put_table(out, &tables[i], report->deployment);
    if (note)
        put_sentence(out, "lead", note);
    if (epoch)
        put_sentence(out, "lead",
                     apr_pstrcat(out->pool, "The event log's epoch began at ", epoch,
                                 ". A new one begins when another server has become the primary or a backup was restored.",
                                 NULL));
    neo_buf_puts(out, "</section>\n");
}

void neo_report_deployment_lines(const neo_report *report, neo_buf *out)
{
    for (int t = 0; t < TABLES && !report->backlog_error; t++) {
        const neo_json *rows = neo_json_get(report->deployment, tables[t].key);
        for (apr_size_t i = 0; i < neo_json_size(rows); i++) {
            neo_json *row = neo_json_at(rows, i);
            void *member = neo_json_first(row);
            neo_buf_printf(out, "%s %s:", tables[t].line, neo_json_string(neo_json_member_value(member)));
            while ((member = neo_json_next(row, member))) {
                neo_buf_printf(out, " %s=", neo_json_member_key(member));
                neo_json_add(out, neo_json_member_value(member));
            }
            neo_buf_putc(out, '\n');
        }
    }
    neo_json *more = report->backlog_error ? NULL : neo_json_get(report->deployment, "more");
    for (void *m = neo_json_first(more); m; m = neo_json_next(more, m))
        neo_buf_printf(out, "DeploymentMore %s: %lld\n", neo_json_member_key(m), neo_json_integer(neo_json_member_value(m)));
}
