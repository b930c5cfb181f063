/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of a host's metrics, as an HTML page, as text and in Prometheus' format. It has no tenant data. */
#ifndef NEO_STATUS_REPORT_H
#define NEO_STATUS_REPORT_H

#include "api/routing.h"
#include "core/json.h"
#include "core/metrics.h"
#include "core/receivers.h"
#include "status/backlog.h"

#define NEO_REPORT_SLOWEST 10

typedef struct neo_report_route {
    const neo_route *route;
    neo_route_counters total, recent; /* since the start, and since report->since */
    neo_histogram times;              /* all recent requests */
} neo_report_route;

typedef struct neo_report {
    /* Set by the caller; times and durations are in microseconds. */
    long long now;
    const char *host;          /* the server's name */
    const char *host_name;     /* in the deployment (see neo_config_host_name) */
    neo_backlog backlog;       /* the deployment's */
    long long backlog_read_at; /* the last time without an error; 0: never */
    const char *backlog_error; /* why it could not be read again, or NULL */
    const char *write_error;   /* why the database cannot execute writes, or NULL */
    neo_json *deployment;      /* see status/deployment.h; NULL if it is unknown */

    /* Set by neo_report_read. */
    long long started, since;
    neo_counters minutes[NEO_MINUTES + 1]; /* see neo_metrics_minutes */
    neo_counters hour, last_minute;        /* the counters of the last hour, and of the last full minute */
    neo_report_route *routes;
    int route_count;
    neo_process sum;
    int processes;
    neo_receiver slowest[NEO_REPORT_SLOWEST];
    int slowest_count;
} neo_report;

void neo_report_read(neo_report *report, neo_metrics *metrics, const neo_receivers *receivers, apr_pool_t *pool);

/* The page. `refresh` is only displayed, 0 for none. neo_report_policy returns its Content-Security-Policy. */
void neo_report_page(const neo_report *report, int refresh, neo_buf *out);
const char *neo_report_policy(apr_pool_t *pool);

/* Lines of "Key: value". */
void neo_report_text(const neo_report *report, neo_buf *out);

/* The section of mod_status, as HTML or as short text. */
void neo_report_section(const neo_report *report, int is_short, neo_buf *out);

/* Prometheus' text format, version 0.0.4. */
void neo_report_metrics(const neo_report *report, neo_buf *out);

#endif
