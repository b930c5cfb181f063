/* A thread in each process, for each virtual host that has the API: it listens for changes of credentials, so that what the
 * process keeps of them is right, and looks whether the schema fits the module. */
#ifndef NEO_HTTPD_LISTENER_H
#define NEO_HTTPD_LISTENER_H

#include "httpd/database.h"
#include "service/credential_cache.h"

typedef struct neo_listener neo_listener;

/* Starts it; it ends before `pchild` is destroyed. To be called after mod_dbd's child_init. */
neo_listener *neo_listener_start(apr_pool_t *pchild, server_rec *server, neo_database *database,
                                 neo_credential_cache *credential_cache);

/* Asks it to end soon, without waiting for it. */
void neo_listener_stop(neo_listener *listener);

#endif
