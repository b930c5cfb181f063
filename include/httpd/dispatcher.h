/* The thread in which a process's courier works. */
#ifndef NEO_HTTPD_DISPATCHER_H
#define NEO_HTTPD_DISPATCHER_H

#include "delivery/courier.h"
#include "httpd/database.h"

typedef struct neo_dispatcher neo_dispatcher;

/* Starts it; it ends before `pchild` is destroyed. To be called after mod_dbd's child_init. NULL where this host is not to
 * deliver. */
neo_dispatcher *neo_dispatcher_start(apr_pool_t *pchild, server_rec *server, neo_database *database,
                                     const neo_courier_settings *settings);

/* Deliveries wait to be sent. */
void neo_dispatcher_wake(neo_dispatcher *dispatcher);

/* Asks it to end soon, without waiting for it. */
void neo_dispatcher_stop(neo_dispatcher *dispatcher);

#endif
