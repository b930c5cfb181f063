/* SPDX-License-Identifier: Apache-2.0 */
/* W3C Trace Context (www.w3.org/TR/trace-context): the header traceparent, "00-<trace>-<span>-<flags>" in lower-case
 * hexadecimal. */
#ifndef NEO_CORE_TRACE_H
#define NEO_CORE_TRACE_H

#include "core/buf.h"

#define NEO_TRACEPARENT_LEN 55
#define NEO_TRACE_ID_LEN    32
#define NEO_SPAN_ID_LEN     16
#define NEO_TRACE_AT        3 /* where the ids are in a traceparent */
#define NEO_SPAN_AT         36

/* Returns the header as version 00 has it; NULL if it is invalid or NULL. Later versions may be longer. */
const char *neo_trace_read(const char *header, apr_pool_t *pool);

/* The id of the trace of a valid traceparent. */
const char *neo_trace_id(const char *traceparent, apr_pool_t *pool);

/* Whether the caller records the trace. */
int neo_trace_is_sampled(const char *traceparent);

/* Makes a traceparent of the same trace with a new span, or of a new, sampled trace. */
void neo_trace_child(const char *traceparent, char child[NEO_TRACEPARENT_LEN + 1]);
void neo_trace_begin(char traceparent[NEO_TRACEPARENT_LEN + 1]);

#endif
