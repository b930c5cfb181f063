/* This httpd's figures: the memory that they are in, and what is counted there of requests and connections. */
#ifndef NEO_HTTPD_COUNTERS_H
#define NEO_HTTPD_COUNTERS_H

#include <httpd.h>

#include "core/figures.h"
#include "core/receivers.h"
#include "httpd/request.h"
#include "store/backlog.h"

#define NEO_BACKLOGS 16 /* databases whose queues are remembered */

/* What was last known of a database's queue. `turn` is odd while it is written. */
typedef struct neo_backlog_kept {
    unsigned int turn;
    long long asking; /* since when somebody asks the database, in microseconds; 0: nobody does */
    long long taken;  /* when it was answered; 0: never */
    neo_backlog backlog;
} neo_backlog_kept;

typedef struct neo_counters {
    neo_figures *figures;
    neo_receivers *receivers;
    neo_backlog_kept *backlogs; /* NEO_BACKLOGS of them */
    neo_process *process;       /* this process's */
} neo_counters;

/* In the parent, after the statements are made. False, and logged, where there is no memory. */
int neo_counters_open(server_rec *main_server);

/* In a child process, before anything is counted. */
void neo_counters_enter(apr_pool_t *pchild);

/* NULL where no virtual host has the API. */
const neo_counters *neo_counters_here(void);

/* A request was answered: counts it, and tells the access log how long the database took (NEOAPI_DB_TIME). */
void neo_counters_request(const neo_exchange *exchange, const neo_response *response);

#endif
