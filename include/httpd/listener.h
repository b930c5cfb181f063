/* SPDX-License-Identifier: Apache-2.0 */
/* The listener: a thread of each child process that listens for changes of credentials, to keep the credential cache valid,
 * checks the schema's version and the clock, and frees the claims of processes of this host that have ended. */
#ifndef NEO_HTTPD_LISTENER_H
#define NEO_HTTPD_LISTENER_H

#include "httpd/database.h"
#include "httpd/dispatcher.h"
#include "service/credential_cache.h"

typedef struct neo_listener neo_listener;

/* Starts the thread, which ends before `pchild` is destroyed. Call it after mod_dbd's child_init. It wakes the
 * dispatcher, which must not end before it and may be NULL, when it has freed claims. */
neo_listener *neo_listener_start(apr_pool_t *pchild, server_rec *server, neo_database *database,
                                 neo_credential_cache *credential_cache, neo_dispatcher *dispatcher);

/* Makes the thread end soon, without waiting for it. */
void neo_listener_stop(neo_listener *listener);

#endif
