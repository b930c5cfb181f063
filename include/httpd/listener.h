/* SPDX-License-Identifier: Apache-2.0 */
/* The listener: a thread of each child process that listens for changes of credentials, to keep the credential cache valid,
 * wakes requests that wait for events, checks the schema's version and the clock, records the host, and frees the claims of
 * processes of this host that have ended. */
#ifndef NEO_HTTPD_LISTENER_H
#define NEO_HTTPD_LISTENER_H

#include "api/credential_cache.h"
#include "core/crypto.h"
#include "httpd/database.h"
#include "httpd/dispatcher.h"
#include "httpd/event_waiters.h"

typedef struct neo_listener neo_listener;

/* Starts the thread, which ends before `pchild` is destroyed. Call it after mod_dbd's child_init. It wakes the
 * dispatcher, which must not end before it and may be NULL, when it has freed claims. At most `event_waiters` requests may wait
 * for events. `keys` must last as long as the thread. */
neo_listener *neo_listener_start(apr_pool_t *pchild, server_rec *server, neo_database *database,
                                 neo_credential_cache *credential_cache, const neo_keys *keys, neo_dispatcher *dispatcher,
                                 int event_waiters);

/* The requests that wait for events; the listener wakes them. */
neo_event_waiters *neo_listener_event_waiters(const neo_listener *listener);

/* Whether neoapictl drain has taken the host out of service, as far as the thread knows. */
int neo_listener_is_drained(const neo_listener *listener);

/* Makes the thread end soon, without waiting for it. */
void neo_listener_stop(neo_listener *listener);

#endif
