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

/* Failed attempts. */
uint64_t neo_report_failures(const neo_counters *counters);

/* HTML: 1,234,567; 0.35 ms, 12 ms, 1.5 s; 3 s, 12 min, 5 h, 3 days. */
void neo_report_count(neo_buf *out, uint64_t count);
void neo_report_time(neo_buf *out, double microseconds);
void neo_report_age(neo_buf *out, long long microseconds);
void neo_report_html(neo_buf *out, const char *text); /* escapes */

/* SVG charts of the last hour by minute (report_chart.c). */
typedef struct neo_report_series {
    const char *name;  /* in the legend */
    const char *class; /* sets the colour */
    double values[NEO_MINUTES];
} neo_report_series;

typedef struct neo_report_chart {
    const char *title, *unit;
    const neo_report_series *series;
    int count;
    double min;     /* the smallest maximum of the scale */
    int is_stacked; /* stacked bars; otherwise lines of durations on a logarithmic scale */
} neo_report_chart;

void neo_report_draw(const neo_report_chart *chart, neo_buf *out);
void neo_report_charts(const neo_report *report, neo_buf *out);

/* The style sheet: src/status/status.css. */
extern const char neo_report_style[];

#endif
