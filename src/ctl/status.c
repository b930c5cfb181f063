/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl status: prints a summary of the deployment with warnings, for administrators and monitoring. */
#include <apr_strings.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/cache_sync.h"
#include "core/clock.h"
#include "core/json.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "ctl/status.sql.h"
#include "doctor.h"
#include "pg/error.h"
#include "sql/event_log.h"
#include "sql/migrate.h"
#include "status/backlog.h"
#include "status/deployment.h"

typedef struct {
    const neo_ctl *ctl;
    neo_json *shown;    /* the values, in the order of output */
    neo_json *warnings; /* sentences */
} status_view;

static void add_warning(const status_view *l, const char *sentence)
{
    neo_json_append_string(l->warnings, sentence, l->ctl->pool);
}

static void show_number(const status_view *l, const char *name, long long number)
{
    neo_json_set_integer(l->shown, name, number, l->ctl->pool);
}

static long long option_limit(const status_view *l, const char *option)
{
    const char *value = neo_ctl_value(l->ctl, option);
    return value ? atoll(value) : -1;
}

/* ---------------------------------------------------------------- values */

static const char *view_schema(const status_view *l, neo_pg *pg)
{
    int version;
    if (neo_schema_version(pg, l->ctl->pool, &version) != NEO_PG_OK)
        return "the schema's version cannot be read";
    show_number(l, "schema", version);
    show_number(l, "schema_needed", neo_schema_needed());
    return NULL;
}

static void warn_about_webhooks(const status_view *l, const neo_json *counts)
{
    char now[NEO_MS_TEXT_SIZE];
    const char *until = neo_json_string(neo_json_get(counts, "webhook_partitions_until"));
    long long failing = neo_json_integer(neo_json_get(counts, "webhooks_failing_seconds"));
    neo_ms_format(now, neo_now_ms());
    if (!until || strncmp(until, now, strlen("2026-01-31")) <= 0)
        add_warning(l, "tomorrow's webhook partitions are missing; start httpd, or see its error log");
    if (failing > option_limit(l, "max-failing"))
        add_warning(l, apr_psprintf(l->ctl->pool,
                                    "a webhook subscription has been failing for %ld seconds; see: neoapictl webhook list",
                                    (long)failing));
}

static const char *view_connections(const status_view *l, neo_pg *pg)
{
    neo_rows rows;
    if (neo_pg_exec(pg, NEO_DOCTOR_CONNECTIONS_SQL, 0, NULL, l->ctl->pool, &rows) != NEO_PG_OK)
        return rows.message;
    const char *used = neo_rows_value(&rows, 0, 2), *max = neo_rows_value(&rows, 0, 3);
    show_number(l, "connections", atoll(used));
    show_number(l, "connections_max", atoll(max));
    if (!neo_rows_is_true(&rows, 0, 0))
        add_warning(l, apr_psprintf(l->ctl->pool, "%s of PostgreSQL's %s connections are in use; " NEO_DOCTOR_CONNECTIONS_FIX,
                                    used, max));
    return NULL;
}

static const char *view_counts(const status_view *l, neo_pg *pg)
{
    neo_rows rows;
    const char *error;
    if (neo_pg_exec(pg, overview_sql, 0, NULL, l->ctl->pool, &rows) != NEO_PG_OK)
        return rows.message;
    neo_json *counts = neo_json_parse(neo_rows_text(&rows, 0, 0), l->ctl->pool, &error);
    if (!counts)
        return error;
    for (void *m = neo_json_first(counts); m; m = neo_json_next(counts, m))
        neo_json_set(l->shown, neo_json_member_key(m), neo_json_member_value(m));
    warn_about_webhooks(l, counts);
    if (neo_json_integer(neo_json_get(counts, "keys_overdue")) > 0)
        add_warning(l, "idempotency keys that expired an hour ago are not removed; start httpd, or see its error log");
    if (neo_json_integer(neo_json_get(counts, "whatsapp_stalled")) > 0)
        add_warning(l, "WhatsApp messages have been pending for over ten minutes; check the callback's URL at Meta");
    if (neo_json_integer(neo_json_get(counts, "whatsapp_refused")) > 0)
        add_warning(l, apr_pstrcat(l->ctl->pool, "WhatsApp numbers cannot send: ",
                                   neo_json_string(neo_json_get(counts, "whatsapp_refusals")), NULL));
    return NULL;
}

static const char *view_queue(const status_view *l, neo_pg *pg)
{
    char oldest[NEO_MS_TEXT_SIZE];
    neo_backlog queue = {0};
    if (neo_backlog_read(pg, l->ctl->pool, 0, &queue) != NEO_PG_OK)
        return "the webhook queue cannot be read";
    show_number(l, "deliveries_pending", queue.pending);
    show_number(l, "deliveries_due", queue.due);
    show_number(l, "seconds_overdue", queue.overdue / 1000);
    if (queue.oldest) {
        neo_ms_format(oldest, queue.oldest);
        neo_json_set_string(l->shown, "oldest_pending", oldest, l->ctl->pool);
    }
    long long overdue = option_limit(l, "max-overdue"), pending = option_limit(l, "max-pending");
    if (queue.overdue / 1000 > overdue)
        add_warning(l, apr_psprintf(l->ctl->pool, "a delivery is %ld seconds overdue", (long)(queue.overdue / 1000)));
    if (pending >= 0 && queue.pending > pending)
        add_warning(l, apr_psprintf(l->ctl->pool, "%ld deliveries are pending", (long)queue.pending));
    return NULL;
}

static const char *view_deployment(const status_view *l, neo_pg *pg)
{
    neo_text text;
    if (neo_deployment_read(pg, l->ctl->pool, INT_MAX, &text) != NEO_PG_OK)
        return "the hosts and the database's servers cannot be read";
    neo_json *deployment = neo_deployment_parse(text, l->ctl->pool), *warnings = neo_json_get(deployment, "warnings");
    for (apr_size_t i = 0; i < neo_json_size(warnings); i++)
        add_warning(l, neo_json_string(neo_json_at(warnings, i)));
    neo_json_remove(deployment, "warnings");
    neo_json_remove(deployment, "more");
    neo_json_set(l->shown, "event_epoch_since", neo_json_get(deployment, "event_epoch_since"));
    neo_json_remove(deployment, "event_epoch_since");
    neo_json_set(l->shown, "deployment", deployment);
    return NULL;
}

static const char *view_writes(const status_view *l, neo_pg *pg)
{
    neo_rows rows;
    int accepts_writes = neo_schema_probe_write(pg, l->ctl->pool, &rows) == NEO_PG_OK;
    neo_json_set_boolean(l->shown, "accepts_writes", accepts_writes, l->ctl->pool);
    if (!accepts_writes)
        add_warning(l, apr_psprintf(l->ctl->pool, "%s; %s", rows.error->sentence, neo_pg_error_fix(rows.error)));
    int is_replaced;
    const char *second = neo_ctl_find_second_primary(l->ctl, pg, &is_replaced);
    if (second)
        add_warning(l, apr_psprintf(l->ctl->pool, "%s; %s", second, neo_messages[NEO_LOG_REPLACED].fix));
    return NULL;
}

/* Resets the role, because the schema's owner may see fewer sessions than the connected role. */
static const char *view_servers(const status_view *l, neo_pg *pg)
{
    neo_rows rows;
    neo_listeners found;
    const char *runtime;
    if (neo_schema_runtime(pg, l->ctl->pool, &runtime) != NEO_PG_OK ||
        neo_pg_exec(pg, "reset role", 0, NULL, l->ctl->pool, &rows) != NEO_PG_OK ||
        neo_cache_sync_count_listeners(pg, runtime, l->ctl->pool, &found) != NEO_PG_OK)
        return "the listening processes cannot be read";
    show_number(l, "hosts", found.hosts);
    show_number(l, "listening_processes", found.listeners);
    show_number(l, "sessions", found.sessions);
    if (!found.listeners && !found.sessions)
        add_warning(
            l, "no httpd is connected; start httpd; if it is running, see its error log: the database may refuse its role");
    return NULL;
}

/* After view_servers, which resets the role. */
static const char *view_event_log(const status_view *l, neo_pg *pg)
{
    neo_log_holder holder;
    if (neo_log_holder_read(pg, l->ctl->pool, &holder) != NEO_PG_OK)
        return "the transactions that hold back the event log cannot be read";
    show_number(l, "event_log_lag", holder.running > 0 ? holder.running / 1000 : 0);
    if (holder.transaction && holder.running > 1000 * option_limit(l, "max-log-lag"))
        add_warning(l, apr_psprintf(l->ctl->pool, "the event log is held back by a transaction of %ld seconds: %s",
                                    (long)(holder.running / 1000), holder.description));
    return NULL;
}

static const char *(*const views[])(const status_view *l, neo_pg *pg) = {
    view_schema, view_counts, view_connections, view_queue, view_deployment, view_writes, view_servers, view_event_log};

/* ---------------------------------------------------------------- the command */

static void print(const status_view *l)
{
    const neo_ctl *ctl = l->ctl;
    apr_size_t count = neo_json_size(l->warnings);
    neo_json *deployment = neo_json_get(l->shown, "deployment");
    neo_json_set_string(l->shown, "state", count ? "warning" : "ok", ctl->pool);
    if (ctl->json)
        neo_json_set(l->shown, "warnings", l->warnings);
    else
        neo_json_remove(l->shown, "deployment");
    if (ctl->json || !ctl->quiet)
        neo_ctl_print(ctl, l->shown);
    for (int i = 0; !ctl->json && !ctl->quiet && i < 2; i++) {
        puts("");
        neo_ctl_print(ctl, neo_json_get(deployment, i ? "servers" : "hosts"));
    }
    if (neo_json_string_at(deployment, "note"))
        neo_ctl_say(ctl, "%s", neo_json_string_at(deployment, "note"));
    for (apr_size_t i = 0; i < count && !ctl->json; i++)
        printf("%s %s\n", neo_ctl_styled(stdout, NEO_CTL_BAD, "warning:", ctl->pool),
               neo_json_string(neo_json_at(l->warnings, i)));
    if (!count && !ctl->quiet && !ctl->json)
        puts(neo_ctl_styled(stdout, NEO_CTL_GOOD, "no warnings", ctl->pool));
}

static neo_ctl_exit run_status(neo_ctl *ctl)
{
    const char *error;
    status_view l = {ctl, neo_json_make_object(ctl->pool), neo_json_make_array(ctl->pool)};
    neo_pg *pg = neo_ctl_open_any(ctl, &error);
    if (pg)
        error = neo_ctl_exec(ctl, pg, NEO_CTL_LIMIT_STATEMENTS);
    for (apr_size_t i = 0; !error && i < sizeof views / sizeof *views; i++)
        error = views[i](&l, pg);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    print(&l);
    return neo_json_size(l.warnings) ? NEO_CTL_WARNING : NEO_CTL_OK;
}

static const neo_parameter options[] = {
    {"max-overdue", NEO_KIND_COUNT, 0, "300", "warn if a delivery is overdue by more seconds"},
    {"max-log-lag", NEO_KIND_COUNT, 0, "60", "warn if a transaction holds back the event log for more seconds"},
    {"max-failing", NEO_KIND_COUNT, 0, "3600", "warn if a webhook subscription has been failing for more seconds"},
    {"max-pending", NEO_KIND_COUNT, 0, NULL, "warn if more deliveries are pending"},
    {0},
};

const neo_ctl_command neo_ctl_status[] = {
    {"status", NULL, "Show a summary: row counts, webhook queue, connected processes, hosts, database servers, warnings.",
     "The exit status is 0 without warnings, 3 with warnings, and 1 if the database cannot be used. --quiet prints only "
     "warnings.",
     NULL, options, run_status, NULL, 0},
    {0},
};
