/* SPDX-License-Identifier: Apache-2.0 */
/* Background threads of each child process: the dispatcher, which runs a courier, one that exports spans, and one that runs the
 * background jobs. */
#ifndef NEO_HTTPD_DISPATCHER_H
#define NEO_HTTPD_DISPATCHER_H

#include "httpd/database.h"
#include "webhooks/courier.h"

typedef struct neo_dispatcher neo_dispatcher;

/* Starts the thread that exports spans, which ends before `pchild` is destroyed. Call it before the others are started: they
 * end first then, and their last spans are sent. Returns NULL without NeoAPITraceCollector. */
neo_span_exporter *neo_span_thread_start(apr_pool_t *pchild, server_rec *server);

/* Starts the thread, which ends before `pchild` is destroyed. Call it after mod_dbd's child_init. Returns NULL if this host
 * does not deliver. */
neo_dispatcher *neo_dispatcher_start(apr_pool_t *pchild, server_rec *server, neo_database *database,
                                     const neo_courier_settings *settings);

/* Wakes the courier: deliveries are due. */
void neo_dispatcher_wake(neo_dispatcher *dispatcher);

/* While the host is drained, the courier claims no deliveries. */
void neo_dispatcher_set_drained(neo_dispatcher *dispatcher, int is_drained);

/* Makes the thread end soon, without waiting for it; gracefully: when every attempt in flight has ended. */
void neo_dispatcher_stop(neo_dispatcher *dispatcher, int graceful);

/* Starts the thread of the jobs, which ends before `pchild` is destroyed. Call it after mod_dbd's child_init. `dispatcher`:
 * NULL if this host does not deliver. */
void neo_job_thread_start(apr_pool_t *pchild, server_rec *server, neo_database *database, neo_dispatcher *dispatcher);

#endif
