/* What an administrator sees of a host: its figures, read once, and written as a page, as text and for Prometheus. Nothing of a
 * tenant's data is in them. */
#ifndef NEO_SERVICE_REPORT_H
#define NEO_SERVICE_REPORT_H

#include "core/metrics.h"
#include "core/receivers.h"
#include "model/route.h"
#include "store/backlog.h"

#define NEO_REPORT_SLOWEST 10

typedef struct neo_report_route {
    const neo_route *route;
    neo_route_counters total, recent; /* since the start, and since report->since */
} neo_report_route;

typedef struct neo_report {
    /* To be filled in by whoever wants one; moments and durations are microseconds. */
    long long now;
    const char *host;          /* the server's name */
    neo_backlog backlog;       /* of the deployment */
    long long backlog_read_at; /* when it was read; 0: it is not known */
    const char *backlog_error; /* why there is none newer; NULL where there is no trouble */

    /* Read by neo_report_read. */
    long long started, since;
    neo_counters minutes[NEO_MINUTES + 1]; /* see neo_metrics_minutes */
    neo_counters hour;                     /* what was counted in the last hour */
    neo_report_route *routes;
    int route_count;
    neo_process sum;
    int processes;
    neo_cleanup_stats cleanup;
    neo_receiver slowest[NEO_REPORT_SLOWEST];
    int slowest_count;
} neo_report;

void neo_report_read(neo_report *report, neo_metrics *metrics, const neo_receivers *receivers, apr_pool_t *pool);

/* The page; `refresh` is only named in it, 0 for none. It has one style sheet in it, and no script: the policy says so. */
void neo_report_page(const neo_report *report, int refresh, neo_buf *out);
const char *neo_report_policy(apr_pool_t *pool);

/* The same as lines of "Key: value", for scripts. */
void neo_report_text(const neo_report *report, neo_buf *out);

/* What mod_status's page, or its short form for scripts, shows of it. */
void neo_report_section(const neo_report *report, int is_short, neo_buf *out);

/* Prometheus's text format, version 0.0.4. */
void neo_report_metrics(const neo_report *report, neo_buf *out);

#endif
