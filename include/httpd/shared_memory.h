/* SPDX-License-Identifier: Apache-2.0 */
/* This host's metrics, database probes, counters of requests in progress, rate limiters, leases of limits and refused requests,
 * in shared memory. It is created in the parent and kept on graceful restarts. */
#ifndef NEO_HTTPD_SHARED_MEMORY_H
#define NEO_HTTPD_SHARED_MEMORY_H

#include <httpd.h>

#include "api/concurrency.h"
#include "api/lease.h"
#include "api/limiter.h"
#include "api/refusals.h"
#include "api/slot_tuner.h"
#include "core/metrics.h"
#include "core/receivers.h"
#include "core/thread.h"
#include "core/usage.h"
#include "pg/error.h"
#include "status/backlog.h"

#define NEO_MAX_DATABASES 16 /* if a host has more, some share results of probes */

typedef enum neo_probe_state {
    NEO_PROBE_UNKNOWN, /* no recent result */
    NEO_PROBE_OK,
    NEO_PROBE_UNAVAILABLE,
    NEO_PROBE_TIMEOUT,
    NEO_PROBE_NO_CONNECTION, /* all connections are in use */
    NEO_PROBE_SCHEMA_OLD,
    NEO_PROBE_SCHEMA_MISSING,
    NEO_PROBE_STATES
} neo_probe_state;

typedef struct neo_probe_result {
    neo_probe_state state;
    long long read_at;                /* microseconds since 1970; 0 if never */
    char sqlstate[NEO_SQLSTATE_SIZE]; /* if it is unavailable: neo_pg_error.class. No pointer, because a restart moves the table
                                       */
    neo_backlog backlog;              /* the last one that could be read, */
    long long backlog_read_at;        /* and when */
} neo_probe_result;

typedef struct neo_db_probe {
    neo_seqlock lock;
    long long running_since; /* microseconds since 1970; 0 if no query is in progress */
    neo_probe_result result; /* protected by the seqlock */
} neo_db_probe;

typedef struct neo_db_probes {
    neo_db_probe queue, schema, writes;
} neo_db_probes;

/* The highest rank of the databases that this host has seen behind the servers of a DBDParams (see httpd/replaced.h). */
typedef struct neo_seen_rank {
    unsigned int servers; /* a checksum of neo_pg_servers; 0: the entry is free */
    long long rank;
    neo_ms looked_at; /* neo_steady_ms when it began to look at other servers; 0: never */
    int next_server, has_looked;
} neo_seen_rank;

typedef struct neo_seen_ranks {
    unsigned int generation; /* connections that were verified in a former one are verified again */
    neo_seen_rank entries[NEO_MAX_DATABASES];
} neo_seen_ranks;

typedef struct neo_shared_metrics {
    neo_metrics *metrics;
    neo_receivers *receivers;
    neo_db_probes *probes; /* NEO_MAX_DATABASES of them (see httpd/db_probe.h) */
    neo_seen_ranks *ranks;
    neo_slot_tuner *tuners;      /* NEO_MAX_DATABASES times one for each resource */
    neo_process *process;        /* this process's */
    neo_concurrency concurrency; /* with this process's cells */
} neo_shared_metrics;

/* Call it in the parent, after the statements and the sites are made. Returns false, and logs, if there is no memory. */
int neo_shared_metrics_open(server_rec *main_server);

/* Call it in a child process, before anything is counted. */
void neo_shared_metrics_attach(apr_pool_t *pchild);

/* Returns NULL if no virtual host has the API. */
const neo_shared_metrics *neo_shared_metrics_get(void);

/* Creates counters for `entries` credentials and as many addresses. Returns false, and logs, if there is no memory. */
int neo_shared_limiters_open(server_rec *main_server, apr_size_t entries, neo_limiter **credentials, neo_limiter **addresses);

/* The requests of all virtual hosts that were refused lately. Returns NULL, and logs, if there is no memory. */
neo_refusals *neo_shared_refusals_open(server_rec *main_server);

/* The host's leases of as many limits, of the database behind a DBDParams, which may be NULL. Call it after
 * neo_shared_limiters_open. Returns NULL, and logs, if there is no memory. */
neo_leases *neo_shared_leases_open(server_rec *main_server, const char *params);

/* The counters of what the credentials of the same database use. Returns NULL, and logs, if there is no memory. */
neo_usage *neo_shared_usage_open(server_rec *main_server, const char *params);

#endif
