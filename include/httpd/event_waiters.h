/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait for events (GET /events?wait=…). They hold no database connection: the listener asks the database for all
 * of them. Their number is limited, so that threads remain free for other requests. An organization can have a quarter of it,
 * its tenant half, so that others can wait too. */
#ifndef NEO_HTTPD_EVENT_WAITERS_H
#define NEO_HTTPD_EVENT_WAITERS_H

#include "api/service.h"
#include "pg/pg.h"

#define NEO_EVENT_POLL_MS 250 /* between two queries */

typedef struct neo_event_waiters neo_event_waiters;

/* `wake` is called when the first request begins to wait. */
neo_event_waiters *neo_event_waiters_make(apr_pool_t *pchild, int slots, void (*wake)(void *baton), void *baton);

/* Implements neo_host's await_event. */
int neo_event_waiters_wait(neo_event_waiters *waiters, const neo_event_wait *wait);

/* Whether requests wait. */
int neo_event_waiters_any(neo_event_waiters *waiters);

/* Wakes the requests that have new events. Returns false if the connection is lost. */
NEO_MUSTCHECK int neo_event_waiters_poll(neo_event_waiters *waiters, neo_pg *pg, apr_pool_t *pool);

/* Wakes all requests, because credentials have changed; `generation` is the cache's. */
void neo_event_waiters_wake(neo_event_waiters *waiters, unsigned int generation);

/* Ends all waits and prevents new ones. */
void neo_event_waiters_stop(neo_event_waiters *waiters);

#endif
