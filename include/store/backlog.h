/* How much waits in the queue of webhooks: of the whole deployment, and cheap however long the queue is. */
#ifndef NEO_STORE_BACKLOG_H
#define NEO_STORE_BACKLOG_H

#include "core/clock.h"
#include "store/pg.h"

#define NEO_BACKLOG_MAX_COUNTED       10000 /* rows that are counted; beyond them PostgreSQL's estimate is taken */
#define NEO_BACKLOG_MAX_SUBSCRIPTIONS 1000  /* subscriptions that are looked at for what is due */

typedef struct neo_backlog {
    long long pending; /* deliveries that have not come to their end: in flight, due, or to be tried again later */
    int is_estimated;  /* `pending` is about right */
    long long due;     /* could be sent now; those of inactive subscriptions are not */
    int is_more;       /* `due` is the least that it is */
    long long overdue; /* milliseconds for which the one that waits longest has been due; 0: none is */
    neo_ms oldest;     /* when the oldest pending one was made; 0: there is none */
} neo_backlog;

/* What the failure is stands in the log. */
NEO_MUSTCHECK neo_pg_status neo_backlog_read(neo_pg *pg, apr_pool_t *pool, neo_backlog *backlog);

#endif
