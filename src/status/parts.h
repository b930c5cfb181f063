/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the report's formats. Private to this module. */
#ifndef NEO_STATUS_PARTS_H
#define NEO_STATUS_PARTS_H

#include "core/buf.h"
#include "status/report.h"

/* The sum of all status classes. */
neo_histogram neo_report_all(const neo_histogram classes[NEO_CLASSES]);

/* later - earlier */
neo_counters neo_report_difference(const neo_counters *earlier, const neo_counters *later);

/* A row of the table (see core/metric_list.h). Each member that is set is a way to show the metric. */
typedef struct neo_metric {
    const char *id; /* in templates */
    double (*value)(const neo_report *report, const neo_counters *counters);
    int times;                 /* 1 + the neo_timing; 1 + NEO_TIMINGS: the times of all requests; 0 if there is none */
    apr_size_t string;         /* the offset of a text in neo_report */
    apr_size_t job;            /* the offset of a number in neo_job_status */
    const char *rows, *member; /* an array of the deployment, and a member of its rows; NULL: the value is 1 */
    int is_queue;              /* unknown if the queue could not be read */
    enum { NEO_NUMBER, NEO_PLAIN, NEO_SECONDS, NEO_MILLISECONDS, NEO_UNIX_MS, NEO_RATE, NEO_MEAN, NEO_TOTAL } unit;
    /* In Prometheus' format. Of rows with the same name the first has the help. With `rows`, `labels` are names of members. */
    const char *name, *labels, *help;
    void (*put_samples)(const neo_report *report, neo_buf *out);
    const char *key; /* in the text; the value of `times` is quantiles of the last hour, or with NEO_TOTAL the count */
    int is_short;    /* also in mod_status's text */
    void (*put_lines)(const neo_report *report, neo_buf *out);
    const char *tile, *text; /* on the page: the title of a tile, and the template of its content */
    enum { NEO_NEVER, NEO_MARKED, NEO_SHOWN_IF_SET } alarm; /* the tile is marked if the value is not 0, or only shown then */
    const char *row;                                        /* the name of its row in a table of the page */
    const char *section;                                    /* the name of its row in mod_status's page */
} neo_metric;

/* Calls `put` for each row. */
typedef void neo_metric_put(const neo_report *report, const neo_metric *metric, neo_buf *out);
void neo_metric_put_all(const neo_report *report, neo_buf *out, neo_metric_put *put);

neo_histogram neo_metric_times(const neo_metric *metric, const neo_counters *counters);
const char *neo_metric_string(const neo_metric *metric, const neo_report *report);

/* Adds a template. {id} is a value, of counters that of the last hour; {id 95} the 95th percentile; {-id} nothing. What is in
 * [brackets] is omitted if all values in it are 0. */
void neo_report_expand(neo_buf *out, const neo_report *report, const char *text);

void neo_report_route_statuses(const neo_report *report, neo_buf *out);
void neo_report_route_times(const neo_report *report, neo_buf *out);
void neo_report_route_lines(const neo_report *report, neo_buf *out);
void neo_report_receiver_lines(const neo_report *report, neo_buf *out);
void neo_report_job_lines(const neo_report *report, neo_buf *out);
void neo_report_deployment(const neo_report *report, neo_buf *out);
void neo_report_deployment_lines(const neo_report *report, neo_buf *out);

/* HTML: 1,234,567; 0.35 ms, 12 ms, 1.5 s; 3 s, 12 min, 5 h, 3 days. */
void neo_report_count(neo_buf *out, uint64_t count);
void neo_report_time(neo_buf *out, double microseconds);
void neo_report_quantile(neo_buf *out, const neo_histogram *histogram, double quantile); /* "–" if nothing was counted */
void neo_report_age(neo_buf *out, long long microseconds);

/* SVG charts of the last hour by minute. */
void neo_report_charts(const neo_report *report, neo_buf *out);

/* The style sheet: src/status/status.css. */
extern const char neo_report_style[];

#endif
