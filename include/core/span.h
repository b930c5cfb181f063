/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of traces (OpenTelemetry), and a bounded buffer of those that wait to be exported: many threads add, one takes, and no
 * thread waits. */
#ifndef NEO_CORE_SPAN_H
#define NEO_CORE_SPAN_H

#include "core/id.h"
#include "core/metrics.h"
#include "core/receivers.h"
#include "core/trace.h"

/* Members without a size point to texts that live as long as the process. */
typedef struct neo_span {
    char trace[NEO_TRACEPARENT_LEN + 1];  /* the span's own traceparent */
    char parent[NEO_TRACEPARENT_LEN + 1]; /* that of its parent; "" if it has none */
    int is_attempt;                       /* to deliver a webhook; otherwise a request to the API */
    long long start, end;                 /* microseconds since 1970 */
    const char *name;
    const char *method;
    const char *route;        /* NULL if there is none */
    int http_status;          /* 0: no response */
    const char *error;        /* such as "timeout"; NULL if there is a response */
    char id[NEO_ID_SIZE];     /* the request's or the delivery's */
    char host[NEO_HOST_SIZE]; /* an attempt's receiver */
    int number;               /* an attempt's number, from 1 */
} neo_span;

typedef struct neo_spans neo_spans;

#define NEO_SPANS 4096 /* the size of a buffer */

/* Spans that do not fit are counted in `metrics`, unless it is NULL, and dropped. */
neo_spans *neo_spans_make(neo_metrics *metrics, apr_pool_t *pool);

/* Copies the span. Returns true once for each half of a buffer, so that the caller can wake the exporter. */
int neo_spans_add(neo_spans *spans, const neo_span *span);

/* Takes the oldest span; false if there is none. For one thread only. */
NEO_MUSTCHECK int neo_spans_take(neo_spans *spans, neo_span *span);

int neo_spans_count(const neo_spans *spans);

#endif
