/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report in Prometheus' format (see status/report.h), with its naming conventions: base units, _total. */
#include "parts.h"

#include <apr_strings.h>

/* `labels` ends in a comma, or is empty. */
static void put_histogram(neo_buf *out, const char *name, const char *labels, const neo_histogram *histogram)
{
    unsigned long long count = 0;
    int len = labels[0] ? (int)strlen(labels) - 1 : 0;
    for (int i = 0; i < NEO_BUCKETS; i++) {
        count += histogram->count[i];
        if (i < NEO_BUCKETS - 1 && neo_histogram_is_coarse(i))
            neo_buf_printf(out, "neoapi_%s_bucket{%sle=\"%g\"} %llu\n", name, labels, (double)neo_histogram_bound(i) / 1e6,
                           count);
    }
    neo_buf_printf(out, "neoapi_%s_bucket{%sle=\"+Inf\"} %llu\n", name, labels, count);
    const char *open = len ? "{" : "", *close = len ? "}" : "";
    neo_buf_printf(out, "neoapi_%s_sum%s%.*s%s %.15g\n", name, open, len, labels, close, (double)histogram->sum / 1e6);
    neo_buf_printf(out, "neoapi_%s_count%s%.*s%s %llu\n", name, open, len, labels, close, count);
}

/* A route's labels, which need no escaping. */
static void put_route_labels(neo_buf *out, const neo_route *route)
{
    neo_buf_printf(out, "method=\"%s\",route=\"%s\",", route->method, route->path);
}

void neo_report_route_statuses(const neo_report *report, neo_buf *out)
{
    for (int i = 0; i < report->route_count; i++)
        for (int s = 0; s < NEO_STATUSES; s++) {
            const neo_report_route *one = &report->routes[i];
            /* Server errors are shown before the first one, so that its increase is seen. */
            if (one->total.statuses[s] == 0 && neo_statuses[s] != 500 && neo_statuses[s] != 503)
                continue;
            neo_buf_puts(out, "neoapi_http_requests_total{");
            put_route_labels(out, one->route);
            neo_buf_printf(out, "code=\"%d\"} %llu\n", neo_statuses[s], (unsigned long long)one->total.statuses[s]);
        }
}

void neo_report_route_times(const neo_report *report, neo_buf *out)
{
    for (int i = 0; i < report->route_count; i++)
        for (int c = 0; c < NEO_CLASSES; c++) {
            neo_buf labels;
            if (neo_histogram_count(&report->routes[i].total.times[c]) == 0)
                continue;
            neo_buf_init(&labels, out->pool, 128);
            put_route_labels(&labels, report->routes[i].route);
            neo_buf_printf(&labels, "code=\"%dxx\",", c + 2);
            put_histogram(out, "http_request_duration_seconds", labels.ptr, &report->routes[i].total.times[c]);
        }
}

static void put_job_samples(const neo_report *report, const neo_metric *metric, neo_buf *out)
{
    for (int i = 0; i < report->backlog.job_count; i++) {
        const neo_job_status *job = &report->backlog.jobs[i];
        long long value = *(const long long *)(const void *)((const char *)job + metric->job);
        if (value >= 0 || metric->unit == NEO_UNIX_MS)
            neo_buf_printf(out, "neoapi_%s{name=\"%s\"} %.15g\n", metric->name, job->name,
                           value < 0 ? 0 : (double)value / (metric->unit ? 1000 : 1));
    }
}

/* A label is escaped like a string in JSON. */
static char *row_labels(const neo_json *row, const char *names, apr_pool_t *pool)
{
    char *rest;
    neo_buf labels;
    neo_buf_init(&labels, pool, 128);
    for (char *name = apr_strtok(apr_pstrdup(pool, names), " ", &rest); name; name = apr_strtok(NULL, " ", &rest))
        if (neo_json_string_at(row, name)) {
            neo_buf_printf(&labels, labels.len ? ",%s=" : "%s=", name);
            neo_json_add(&labels, neo_json_get(row, name));
        }
    return labels.ptr;
}

/* Prometheus refuses all metrics if two samples have the same labels. Of replicas with the same name and address, the one with
 * the greatest lag comes first. */
static void put_row_samples(const neo_report *report, const neo_metric *metric, neo_buf *out)
{
    const char *last = "";
    const neo_json *rows = neo_json_get(report->deployment, metric->rows);
    for (apr_size_t i = 0; i < neo_json_size(rows); i++) {
        const neo_json *row = neo_json_at(rows, i), *value = metric->member ? neo_json_get(row, metric->member) : NULL;
        const char *labels = row_labels(row, metric->labels, out->pool);
        if (strcmp(labels, last) != 0 && !(value && neo_json_get_kind(value) == NEO_JSON_NULL))
            neo_buf_printf(out, "neoapi_%s{%s} %.15g\n", metric->name, labels,
                           !value ? 1
                           : neo_json_get_kind(value) == NEO_JSON_BOOLEAN
                               ? neo_json_is_true(value)
                               : (double)neo_json_integer(value) / (metric->unit ? 1000 : 1));
        last = labels;
    }
}

static void put_family(const neo_report *report, const neo_metric *metric, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    if (!metric->name || (metric->is_queue && report->backlog_error))
        return;
    if (metric->help)
        neo_buf_printf(out, "# HELP neoapi_%s %s\n# TYPE neoapi_%s %s\n", metric->name, metric->help, metric->name,
                       strstr(metric->name, "_total") ? "counter"
                       : metric->times                ? "histogram"
                                                      : "gauge");
    if (metric->put_samples)
        metric->put_samples(report, out);
    else if (metric->job)
        put_job_samples(report, metric, out);
    else if (metric->rows)
        put_row_samples(report, metric, out);
    else if (metric->times)
        put_histogram(out, metric->name, "", &total->times[metric->times - 1]);
    else
        neo_buf_printf(out, metric->labels ? "neoapi_%s{%s} %.15g\n" : "neoapi_%s%s %.15g\n", metric->name,
                       metric->labels ? metric->labels : "",
                       metric->value(report, total) / (metric->unit == NEO_MILLISECONDS ? 1000 : 1));
}

void neo_report_metrics(const neo_report *report, neo_buf *out)
{
    neo_metric_put_all(report, out, put_family);
}
