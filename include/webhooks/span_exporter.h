/* SPDX-License-Identifier: Apache-2.0 */
/* Exports spans to an OpenTelemetry collector by OTLP/HTTP with JSON, in a thread of its own, with a libcurl of its own:
 * deliveries must not use the collector's connections, which the address guard has not checked. A collector that does not
 * respond delays nothing: there is one request at a time, and spans that do not fit are dropped and counted. */
#ifndef NEO_WEBHOOKS_SPAN_EXPORTER_H
#define NEO_WEBHOOKS_SPAN_EXPORTER_H

#include "core/span.h"
#include "webhooks/in_flight.h"
#include "webhooks/sender.h"

typedef struct neo_span_exporter_settings {
    const char *url;       /* the collector's, without a trailing slash; spans are posted to /v1/traces below it */
    int share;             /* percent of the requests without a traceparent that begin a trace */
    const char *host_name; /* for host.name */
    neo_metrics *metrics;
} neo_span_exporter_settings;

typedef struct neo_span_exporter neo_span_exporter;

/* Returns NULL, and logs, if libcurl cannot be used. */
neo_span_exporter *neo_span_exporter_make(const neo_span_exporter_settings *settings, apr_pool_t *pool);

/* ---- from any thread */

/* Begins a span: sets `trace` to its traceparent, and returns true, if it is exported. It is not if `parent` (a traceparent;
 * NULL: there is none) is not sampled, or by chance if there is none. */
int neo_span_exporter_begin(const neo_span_exporter *exporter, const char *parent, char trace[NEO_TRACEPARENT_LEN + 1]);

/* Adds a span that has ended. Never waits. */
void neo_span_exporter_add(neo_span_exporter *exporter, const neo_span *span);

/* Adds the span of an attempt to deliver, if its request's trace is sampled. Does nothing if `exporter` is NULL. */
void neo_span_exporter_attempt(neo_span_exporter *exporter, const neo_in_flight_delivery *delivery,
                               const neo_send_result *result);

/* Makes neo_span_exporter_run return within about a second. */
void neo_span_exporter_stop(neo_span_exporter *exporter);

/* ---- from the exporter's thread */

/* Sends spans until neo_span_exporter_stop is called, then the last ones. */
void neo_span_exporter_run(neo_span_exporter *exporter);

#endif
