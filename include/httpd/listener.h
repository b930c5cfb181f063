/* SPDX-License-Identifier: Apache-2.0 */
/* The listener: a thread of each child process that listens for changes of credentials, to keep the credential cache valid, and
 * checks the schema's version. */
#ifndef NEO_HTTPD_LISTENER_H
#define NEO_HTTPD_LISTENER_H

#include "httpd/database.h"
#include "service/credential_cache.h"

typedef struct neo_listener neo_listener;

/* Starts the thread, which ends before `pchild` is destroyed. Call it after mod_dbd's child_init. */
neo_listener *neo_listener_start(apr_pool_t *pchild, server_rec *server, neo_database *database,
                                 neo_credential_cache *credential_cache);

/* Makes the thread end soon, without waiting for it. */
void neo_listener_stop(neo_listener *listener);

#endif
