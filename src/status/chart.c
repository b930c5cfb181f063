/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the charts of the last hour (see parts.h). The outer SVG has no viewBox, so that text is not scaled; the inner
 * one stretches the plot. Colours and sizes are in status.css. */
#include "parts.h"

#include <math.h>

typedef struct {
    const char *name;  /* in the legend */
    const char *class; /* sets the colour */
    double values[NEO_MINUTES];
} chart_series;

typedef struct {
    const char *title, *unit;
    const chart_series *series;
    int count;
    double min;     /* the smallest maximum of the scale */
    int is_stacked; /* stacked bars; otherwise lines of durations on a logarithmic scale */
} chart_spec;

typedef struct {
    double min, max;
    int is_logarithmic;
} scale;

/* Rounds up to 1, 2, 4, 6, 8 or 10 times a power of ten, so that the half has few digits as well. */
static double round_up(double value)
{
    static const double steps[] = {1, 2, 4, 6, 8, 10};
    double decade = 0.01;
    while (decade * 10 < value)
        decade *= 10;
    for (int i = 0; i < 6; i++)
        if (decade * steps[i] >= value * 0.999999)
            return decade * steps[i];
    return value;
}

static double stack_at(const chart_spec *chart, int minute)
{
    double sum = 0;
    for (int i = 0; i < chart->count; i++)
        sum += chart->series[i].values[minute];
    return sum;
}

static scale make_scale(const chart_spec *chart)
{
    scale s = {0, 0, !chart->is_stacked};
    for (int m = 0; m < NEO_MINUTES; m++) {
        double value = chart->is_stacked ? stack_at(chart, m) : 0;
        for (int i = 0; !chart->is_stacked && i < chart->count; i++) {
            value = chart->series[i].values[m];
            s.min = value > 0 && (s.min == 0 || value < s.min) ? value : s.min;
            s.max = value > s.max ? value : s.max;
        }
        s.max = value > s.max ? value : s.max;
    }
    if (chart->is_stacked) {
        s.max = round_up(s.max > chart->min ? s.max : chart->min);
        return s;
    }
    double bottom = 100, top = 10000; /* at least 0.1 to 10 milliseconds */
    while (s.min > 0 && bottom > s.min)
        bottom /= 10;
    while (top < s.max)
        top *= 10;
    return (scale){bottom, top, 1};
}

/* The distance from the top, in percent of the height. */
static double depth(const scale *s, double value)
{
    if (!s->is_logarithmic)
        return 100 - 100 * value / s->max;
    return value <= s->min ? 100 : 100 - 100 * log10(value / s->min) / log10(s->max / s->min);
}

/* ---------------------------------------------------------------- drawing */

static void draw_mark(neo_buf *out, const scale *s, double value)
{
    double y = depth(s, value);
    neo_buf_printf(out, "<line x1=\"0\" x2=\"100%%\" y1=\"%.1f%%\" y2=\"%.1f%%\"/><text x=\"-8\" y=\"%.1f%%\" dy=\"4\">", y, y,
                   y);
    if (s->is_logarithmic) /* decades are round numbers */
        neo_buf_printf(out, value < 1e6 ? "%g&nbsp;ms" : "%g&nbsp;s", value < 1e6 ? value / 1000 : value / 1e6);
    else if (value >= 1000)
        neo_report_count(out, (uint64_t)value);
    else
        neo_buf_printf(out, "%g", value);
    neo_buf_puts(out, "</text>");
}

static void draw_bars(neo_buf *out, const chart_spec *chart, const scale *s)
{
    for (int m = 0; m < NEO_MINUTES; m++) {
        double below = 0;
        for (int i = 0; i < chart->count; i++) {
            double value = chart->series[i].values[m], top = depth(s, below + value), height = depth(s, below) - top;
            below += value;
            if (value > 0)
                neo_buf_printf(out, "<rect class=\"%s\" x=\"%d.1\" y=\"%.2f\" width=\".8\" height=\"%.2f\"/>",
                               chart->series[i].class, m, height < 1 ? top + height - 1 : top, height < 1 ? 1 : height);
        }
    }
}

/* A step per minute with a value; minutes without one interrupt the line. */
static void draw_line(neo_buf *out, const chart_series *series, const scale *s)
{
    int is_drawing = 0;
    neo_buf_printf(out, "<path class=\"%s\" d=\"", series->class);
    for (int m = 0; m < NEO_MINUTES; m++) {
        double y = depth(s, series->values[m]);
        if (series->values[m] <= 0)
            is_drawing = 0;
        else {
            if (is_drawing)
                neo_buf_printf(out, "V%.2f", y);
            else
                neo_buf_printf(out, "M%d %.2f", m, y);
            neo_buf_printf(out, "H%d", m + 1);
            is_drawing = 1;
        }
    }
    neo_buf_puts(out, "\"/>");
}

/* Draws a tooltip for each minute. */
static void draw_hints(neo_buf *out, const chart_spec *chart)
{
    for (int m = 0; m < NEO_MINUTES; m++) {
        if (stack_at(chart, m) <= 0)
            continue;
        neo_buf_printf(out, "<rect class=\"hint\" x=\"%d\" width=\"1\" height=\"100\"><title>", m);
        if (m == NEO_MINUTES - 1)
            neo_buf_puts(out, "this minute");
        else
            neo_buf_printf(out, "%d min ago", NEO_MINUTES - 1 - m);
        for (int i = 0; i < chart->count; i++) {
            neo_buf_printf(out, "; %s: ", chart->series[i].name);
            if (chart->is_stacked)
                neo_buf_printf(out, "%.6g", chart->series[i].values[m]);
            else
                neo_report_time(out, chart->series[i].values[m]);
        }
        neo_buf_puts(out, "</title></rect>");
    }
}

static void draw_chart(const chart_spec *chart, neo_buf *out)
{
    scale s = make_scale(chart);
    neo_buf_printf(out, "<figure><figcaption><strong>%s</strong> <span>%s</span><ul>", chart->title, chart->unit);
    for (int i = 0; i < chart->count; i++)
        neo_buf_printf(out, "<li class=\"%s\">%s</li>", chart->series[i].class, chart->series[i].name);
    neo_buf_puts(out, "</ul></figcaption>\n");
    neo_buf_printf(out, "<svg class=\"plot\" role=\"img\" aria-label=\"%s %s, each of the last 60 minutes\">", chart->title,
                   chart->unit);
    double step = s.is_logarithmic ? 10 : 2;
    draw_mark(out, &s, s.max);
    for (double value = s.max / step; s.is_logarithmic ? value > s.min * 1.5 : value == s.max / 2; value /= step)
        draw_mark(out, &s, value);
    neo_buf_puts(out, "<svg viewBox=\"0 0 60 100\" preserveAspectRatio=\"none\" width=\"100%\" height=\"100%\">");
    if (chart->is_stacked)
        draw_bars(out, chart, &s);
    for (int i = 0; !chart->is_stacked && i < chart->count; i++)
        draw_line(out, &chart->series[i], &s);
    draw_hints(out, chart);
    neo_buf_puts(out,
                 "</svg></svg>\n<p class=\"times\"><span>60 min ago</span><span>30 min</span><span>now</span></p></figure>\n");
}

/* ---------------------------------------------------------------- the charts */

enum { REQUESTS, DURATIONS, DATABASE, WEBHOOKS, CHARTS };

static void put_minute(chart_series series[CHARTS][3], const neo_counters *minute, int m)
{
    static const double parts[] = {0.99, 0.95, 0.5};
    neo_histogram all = neo_report_all(minute->times);
    series[REQUESTS][0].values[m] = (double)(neo_histogram_count(&minute->times[0]) + neo_histogram_count(&minute->times[1]));
    series[REQUESTS][1].values[m] = (double)neo_histogram_count(&minute->times[2]);
    series[REQUESTS][2].values[m] = (double)neo_histogram_count(&minute->times[3]);
    for (int i = 0; i < 3; i++)
        series[DURATIONS][i].values[m] = neo_histogram_quantile(&all, parts[i]);
    series[DATABASE][0].values[m] = (double)minute->times[NEO_TIME_CONNECTION_USE].sum / 60e6;
    series[DATABASE][1].values[m] = (double)minute->times[NEO_TIME_CONNECTION_WAIT].sum / 60e6;
    uint64_t successes = minute->counts[NEO_COUNT_ATTEMPT_OK],
             attempts = neo_histogram_count(&minute->times[NEO_TIME_ATTEMPTS]);
    series[WEBHOOKS][0].values[m] = (double)successes;
    series[WEBHOOKS][1].values[m] = attempts > successes ? (double)(attempts - successes) : 0;
}

void neo_report_charts(const neo_report *report, neo_buf *out)
{
    chart_series series[CHARTS][3] = {
        [REQUESTS] = {{.name = "2xx, 3xx", .class = "good"},
                      {.name = "4xx", .class = "caller"},
                      {.name = "5xx", .class = "ours"}},
        [DURATIONS] = {{.name = "p99", .class = "high"},
                       {.name = "p95", .class = "middle"},
                       {.name = "median", .class = "low"}},
        [DATABASE] = {{.name = "in use", .class = "good"}, {.name = "waiting", .class = "caller"}},
        [WEBHOOKS] = {{.name = "succeeded", .class = "good"}, {.name = "failed", .class = "ours"}},
    };
    const chart_spec charts[CHARTS] = {
        {"Requests", "per minute", series[REQUESTS], 3, 2, 1},
        {"Response time", "by minute", series[DURATIONS], 3, 0, 0},
        {"Database connections", "average", series[DATABASE], 2, 0.1, 1},
        {"Webhook attempts", "per minute", series[WEBHOOKS], 2, 2, 1},
    };
    for (int m = 0; m < NEO_MINUTES; m++) {
        neo_counters minute = neo_report_difference(&report->minutes[m], &report->minutes[m + 1]);
        put_minute(series, &minute, m);
    }
    neo_buf_puts(out, "<div class=\"charts\">\n");
    for (int i = 0; i < CHARTS; i++)
        draw_chart(&charts[i], out);
    neo_buf_puts(out, "</div>\n");
}
