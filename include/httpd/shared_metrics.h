/* This httpd's metrics: the shared memory that they are in, and what is counted there of requests and connections. */
#ifndef NEO_HTTPD_SHARED_METRICS_H
#define NEO_HTTPD_SHARED_METRICS_H

#include <httpd.h>

#include "core/metrics.h"
#include "core/receivers.h"
#include "core/seqlock.h"
#include "store/backlog.h"

#define NEO_MAX_DATABASES 16 /* of one host, whose answers are remembered */

typedef enum neo_probe_state {
    NEO_PROBE_UNKNOWN, /* not asked yet, or too long ago */
    NEO_PROBE_OK,
    NEO_PROBE_UNAVAILABLE,
    NEO_PROBE_TIMEOUT,
    NEO_PROBE_NO_CONNECTION, /* no connection was free */
    NEO_PROBE_SCHEMA_OLD,    /* the schema is */
    NEO_PROBE_SCHEMA_MISSING,
    NEO_PROBE_STATES
} neo_probe_state;

/* What a database answered to the administrator's pages. */
typedef struct neo_probe_result {
    neo_probe_state state;
    long long read_at; /* when, in microseconds; 0: never */
    neo_backlog backlog;
} neo_probe_result;

/* A question, and its last answer. */
typedef struct neo_db_probe {
    neo_seqlock lock;
    long long running_since; /* since when somebody waits for the database; 0: nobody does */
    neo_probe_result result; /* a board */
} neo_db_probe;

typedef struct neo_db_probes {
    neo_db_probe queue, schema;
} neo_db_probes;

typedef struct neo_shared_metrics {
    neo_metrics *metrics;
    neo_receivers *receivers;
    neo_db_probes *probes; /* of NEO_MAX_DATABASES (see httpd/db_probe.h) */
    neo_process *process;  /* this process's */
} neo_shared_metrics;

/* In the parent, after the statements are made. False, and logged, where there is no memory. */
int neo_shared_metrics_open(server_rec *main_server);

/* In a child process, before anything is counted. */
void neo_shared_metrics_attach(apr_pool_t *pchild);

/* NULL where no virtual host has the API. */
const neo_shared_metrics *neo_shared_metrics_get(void);

#endif
