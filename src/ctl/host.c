/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl drain, undrain, host: takes a host out of service, puts it back, lists hosts. The processes of a host read their
 * row of neoapi.host every second (see httpd/listener.c). */
#include <apr_network_io.h>
#include <apr_strings.h>
#include <apr_time.h>
#include <stdlib.h>

#include "core/clock.h"
#include "ctl/host.sql.h"
#include "ctl/output.h"
#include "ctl/session.h"

#define POLL_INTERVAL_MS 500

static const char *chosen_host(const neo_ctl *ctl)
{
    char *name = apr_palloc(ctl->pool, APRMAXHOSTLEN + 1);
    const char *given = neo_ctl_value(ctl, "host");
    return given ? given : apr_gethostname(name, APRMAXHOSTLEN + 1, ctl->pool) == APR_SUCCESS ? name : "";
}

/* Opens the database and runs `sql` on the row of the host. */
static neo_pg *change_host(const neo_ctl *ctl, const char *sql, const char *host, const char **error)
{
    neo_pg *pg = neo_ctl_open(ctl, error);
    if (pg)
        *error = neo_admin_exec_on_one(pg, sql, 1, &host, ctl->pool, neo_noun_host.missing);
    return pg;
}

/* Waits until load balancers have noticed, and no request and no attempt is in progress. A host that has stopped has none. */
static const char *await_end(const neo_ctl *ctl, neo_pg *pg, const char *host)
{
    apr_pool_t *pool;
    neo_rows rows;
    const char *values[] = {host, neo_ctl_value(ctl, "notice")};
    int seconds = atoi(neo_ctl_value(ctl, "notice")) + atoi(neo_ctl_value(ctl, "timeout"));
    neo_ms until = neo_steady_ms() + seconds * 1000LL;
    apr_pool_create(&pool, ctl->pool);
    for (;; apr_sleep(POLL_INTERVAL_MS * 1000)) {
        apr_pool_clear(pool);
        const char *error = neo_admin_exec(pg, drain_progress_sql, 2, values, pool, &rows);
        if (error)
            return apr_pstrdup(ctl->pool, error);
        if (!rows.count || !neo_rows_is_true(&rows, 0, 4))
            return "the host was put back into service or removed at the same time";
        int requests = atoi(neo_rows_value(&rows, 0, 0)), attempts = atoi(neo_rows_value(&rows, 0, 1));
        if (!neo_rows_is_true(&rows, 0, 3) || (neo_rows_is_true(&rows, 0, 2) && !requests && !attempts))
            return NULL;
        if (neo_steady_ms() >= until)
            return apr_psprintf(ctl->pool,
                                "after %d seconds, requests in progress: %d, deliveries in flight: %d. The host stays drained; "
                                "to wait longer, run the same command again",
                                seconds, requests, attempts);
    }
}

static neo_ctl_exit run_drain(neo_ctl *ctl)
{
    const char *error, *host = chosen_host(ctl);
    neo_pg *pg = change_host(ctl, drain_sql, host, &error);
    if (!error)
        error = await_end(ctl, pg, host);
    return neo_ctl_finish(ctl, error, neo_ctl_object(ctl, "drained", host, NULL));
}

static neo_ctl_exit run_undrain(neo_ctl *ctl)
{
    const char *error, *host = chosen_host(ctl);
    (void)change_host(ctl, undrain_sql, host, &error);
    return neo_ctl_finish(ctl, error, neo_ctl_object(ctl, "undrained", host, NULL));
}

/* ---------------------------------------------------------------- the tables */

/* clang-format off */
#define HOST                                                                                                                   \
    {                                                                                                                          \
        "host", NEO_KIND_NAME, 0, NULL, "the host's NeoAPIHostName; default: the name of this system"                           \
    }
/* clang-format on */

static const neo_parameter drain_options[] = {
    HOST,
    {"notice", NEO_KIND_SECONDS, 0, "10", "how long load balancers need to notice that the host is not ready"},
    {"timeout", NEO_KIND_SECONDS, 0, "90", "how long to wait after that for requests and deliveries in progress"},
    {0},
};
static const neo_parameter undrain_options[] = {HOST, {0}};

const neo_ctl_command neo_ctl_drain[] = {
    {"drain", NULL, "Take a host out of service before an upgrade or restart.",
     "Its neoapi-health then responds with 503, so that a load balancer sends it no more requests, and it sends no more "
     "webhooks; other hosts do. It still serves what arrives. Waits until load balancers have noticed and nothing is in "
     "progress. A restart does not end this: run undrain.",
     NULL, drain_options, run_drain, NULL, 0},
    {0},
};

const neo_ctl_command neo_ctl_undrain[] = {
    {"undrain", NULL, "Put a drained host back into service.", NULL, NULL, undrain_options, run_undrain, NULL, 0},
    {0},
};

const neo_ctl_command neo_ctl_host[] = {
    {"host", "list", "List the hosts of the deployment.",
     "A host records itself every ten seconds, and every second while it is drained. clock_ahead_ms is how far its system "
     "clock is ahead of the database's.",
     .noun = &neo_noun_host, .use = NEO_USE_LIST},
    {"host", "remove", "Remove a host that no longer exists from the list.",
     "Without this, it disappears a week after it was last seen, unless it is drained. A host that runs appears again.", NULL,
     NULL, NULL, &neo_noun_host, NEO_USE_ONE},
    {0},
};
