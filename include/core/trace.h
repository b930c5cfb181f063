/* SPDX-License-Identifier: Apache-2.0 */
/* W3C Trace Context (www.w3.org/TR/trace-context): the header traceparent, "00-<trace>-<span>-<flags>" in lower-case
 * hexadecimal. */
#ifndef NEO_CORE_TRACE_H
#define NEO_CORE_TRACE_H

#include "core/buf.h"

#define NEO_TRACEPARENT_LEN 55
#define NEO_TRACE_ID_LEN    32

/* Returns the header as version 00 has it; NULL if it is invalid or NULL. Later versions may be longer. */
const char *neo_trace_read(const char *header, apr_pool_t *pool);

/* The id of the trace of a valid traceparent. */
const char *neo_trace_id(const char *traceparent, apr_pool_t *pool);

/* A traceparent of the same trace with a new span. */
const char *neo_trace_child(const char *traceparent, apr_pool_t *pool);

#endif
