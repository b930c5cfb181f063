/* neoapictl status: the deployment at a glance, for people and for whoever watches it. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/json.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "store/backlog.h"
#include "store/cache_sync.h"
#include "store/migrate.h"
#include "store/overview.h"

typedef struct {
    const neo_ctl *ctl;
    neo_json *shown;     /* what is found, in the order in which it is shown */
    neo_json *attention; /* sentences */
} status_view;

static void add_warning(const status_view *l, const char *sentence)
{
    neo_json_append(l->attention, neo_json_make_string(sentence, l->ctl->pool));
}

static void show_number(const status_view *l, const char *name, long long number)
{
    neo_json_set(l->shown, name, neo_json_make_integer(number, l->ctl->pool));
}

static long long limit_of(const status_view *l, const char *option)
{
    const char *value = neo_ctl_value(l->ctl, option);
    return value ? atoll(value) : -1;
}

/* ---------------------------------------------------------------- what is looked at */

static const char *view_schema(const status_view *l, neo_pg *pg)
{
    int version;
    if (neo_schema_version(pg, l->ctl->pool, &version) != NEO_PG_OK)
        return "the schema's version cannot be read";
    show_number(l, "schema", version);
    show_number(l, "schema_needed", neo_schema_needed());
    return NULL;
}

/* What there is, and what the janitor has left. */
static const char *view_counts(const status_view *l, neo_pg *pg)
{
    char now[NEO_MS_TEXT_SIZE];
    neo_json *counts;
    const char *wrong = neo_overview_read(pg, l->ctl->pool, &counts);
    if (wrong)
        return wrong;
    for (void *m = neo_json_first(counts); m; m = neo_json_next(counts, m))
        neo_json_set(l->shown, neo_json_member_key(m), neo_json_member_value(m));
    const char *until = neo_json_string(neo_json_get(counts, "webhook_partitions_until"));
    neo_ms_format(now, neo_now_ms());
    if (!until || strncmp(until, now, strlen("2026-01-31")) <= 0)
        add_warning(
            l, "the janitor has not made tomorrow's partitions for webhooks: no httpd runs, or its log says why it cannot");
    if (neo_json_integer(neo_json_get(counts, "keys_overdue")) > 0)
        add_warning(l,
                    "the janitor has not removed idempotency keys for an hour: no httpd runs, or its log says why it cannot");
    return NULL;
}

static const char *view_queue(const status_view *l, neo_pg *pg)
{
    char oldest[NEO_MS_TEXT_SIZE];
    neo_backlog queue;
    if (neo_backlog_read(pg, l->ctl->pool, &queue) != NEO_PG_OK)
        return "the queue of webhooks cannot be read";
    show_number(l, "deliveries_pending", queue.pending);
    show_number(l, "deliveries_due", queue.due);
    show_number(l, "seconds_overdue", queue.overdue / 1000);
    if (queue.oldest) {
        neo_ms_format(oldest, queue.oldest);
        neo_json_set(l->shown, "oldest_pending", neo_json_make_string(oldest, l->ctl->pool));
    }
    long long overdue = limit_of(l, "max-overdue"), pending = limit_of(l, "max-pending");
    if (queue.overdue / 1000 > overdue)
        add_warning(l, apr_psprintf(l->ctl->pool, "a delivery has been due for %ld seconds", (long)(queue.overdue / 1000)));
    if (pending >= 0 && queue.pending > pending)
        add_warning(l, apr_psprintf(l->ctl->pool, "%ld deliveries are pending", (long)queue.pending));
    return NULL;
}

/* Who listens is asked as whoever connected: the schema's owner may see less. */
static const char *view_servers(const status_view *l, neo_pg *pg)
{
    neo_rows rows;
    int listeners, hosts;
    if (neo_pg_exec(pg, "reset role", 0, NULL, l->ctl->pool, &rows) != NEO_PG_OK ||
        neo_cache_sync_count_listeners(pg, l->ctl->pool, &listeners, &hosts) != NEO_PG_OK)
        return "who is connected cannot be seen";
    show_number(l, "hosts", hosts);
    show_number(l, "listening_processes", listeners);
    if (!listeners)
        add_warning(l, "no httpd listens for changes of credentials: none runs, or a pooler stands in between");
    return NULL;
}

static const char *(*const views[])(const status_view *l, neo_pg *pg) = {view_schema, view_counts, view_queue, view_servers};

/* ---------------------------------------------------------------- the command */

static void print(const status_view *l)
{
    const neo_ctl *ctl = l->ctl;
    apr_size_t count = neo_json_size(l->attention);
    neo_json_set(l->shown, "state", neo_json_make_string(count ? "attention" : "well", ctl->pool));
    if (ctl->json)
        neo_json_set(l->shown, "attention", l->attention);
    if (ctl->json || !ctl->quiet)
        neo_ctl_print(ctl, l->shown);
    for (apr_size_t i = 0; i < count && !ctl->json; i++)
        printf("%s %s\n", neo_ctl_styled(stdout, NEO_CTL_BAD, "attention:", ctl->pool),
               neo_json_string(neo_json_at(l->attention, i)));
    if (!count && !ctl->quiet && !ctl->json)
        puts(neo_ctl_styled(stdout, NEO_CTL_GOOD, "all is well", ctl->pool));
}

static neo_ctl_exit run(neo_ctl *ctl)
{
    const char *wrong;
    status_view l = {ctl, neo_json_make_object(ctl->pool), neo_json_make_array(ctl->pool)};
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg)
        wrong = neo_ctl_limit_statement_time(ctl, pg);
    for (apr_size_t i = 0; !wrong && i < sizeof views / sizeof *views; i++)
        wrong = views[i](&l, pg);
    if (wrong)
        return neo_ctl_fail(ctl, "%s", wrong);
    print(&l);
    return neo_json_size(l.attention) ? NEO_CTL_ATTENTION : NEO_CTL_OK;
}

static const neo_ctl_parameter options[] = {
    {"max-overdue", NEO_CTL_COUNT, 0, "300", "for how many seconds a delivery may have been due"},
    {"max-pending", NEO_CTL_COUNT, 0, NULL, "how many deliveries may be pending"},
    {0},
};

const neo_ctl_command neo_ctl_status[] = {
    {"status", NULL, "Show the deployment at a glance: what there is, the queue of webhooks, who is connected.",
     "The exit status is 0 where all is well, 3 where something wants attention, and 1 where the database cannot be used. With "
     "--quiet it writes what wants attention alone.",
     NULL, options, run, NULL, 0},
    {0},
};
