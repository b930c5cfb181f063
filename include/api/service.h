/* SPDX-License-Identifier: Apache-2.0 */
/* The API: processes requests, independently of httpd. The host, mod_neoapi or a test, passes functions that read headers and
 * bodies and acquire database connections. */
#ifndef NEO_API_SERVICE_H
#define NEO_API_SERVICE_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "api/concurrency.h"
#include "api/create_queue.h"
#include "api/credential_cache.h"
#include "api/lease.h"
#include "api/limiter.h"
#include "api/refusals.h"
#include "core/crypto.h"
#include "core/problem.h"
#include "core/usage.h"
#include "webhooks/download.h"
#include "whatsapp/provider.h"

/* Rate limits of requests without a valid credential and their window in seconds: for an address or an IPv6 /64 network that of
 * the default plan, and for an IPv6 /48 network. */
#define NEO_ADDRESS_WINDOW   60
#define NEO_ADDRESS_REQUESTS 600
#define NEO_NETWORK_REQUESTS 2400
#define NEO_ADDRESS_LOOKUPS  60 /* reads of credentials from the database that found no valid one */
/* The cost of WhatsApp callbacks without a valid signature from an address, in the same window. */
#define NEO_UNSIGNED_COST 1200
/* Posts to a portal's address without its secret, from an address or an IPv6 /48 network, in the same window. */
#define NEO_PORTAL_FAILURES 60

/* A document as it is sent, and its ETag. */
typedef struct neo_static_document {
    neo_text body;
    neo_text gzip; /* the same compressed; a NULL pointer if the body is compressed already */
    const char *etag;
} neo_static_document;

/* One deployment of the API on this host. Constant while requests are served. */
typedef struct neo_site {
    const char *base_url;                 /* ends in /public/v1/ */
    const char *docs_url;                 /* without a trailing slash */
    neo_keys token_keys, cursor_keys;     /* derived from `keys`, of access tokens and cursors; neo_service_prepare sets them */
    neo_keys keys;                        /* none if the key file cannot be used: then all but public operations are 503 */
    apr_size_t max_body;                  /* bytes */
    int cursor_lifetime;                  /* seconds */
    int export_timeout;                   /* seconds */
    int downloads;                        /* maximum number of attachments that this process reads at a time; 0: none */
    int allows_http;                      /* webhook subscriptions may have http URLs */
    int groups_writes;                    /* concurrent creates share statements */
    const apr_array_header_t *stop_texts; /* WhatsApp's opt-out texts; see neo_read_preference */
    neo_limiter *credentials;
    neo_limiter *addresses;
    const neo_concurrency *concurrency;
    neo_leases *leases; /* NULL: each host counts alone */
    neo_credential_cache *credential_cache;
    neo_create_queues *create_queues; /* NULL if there is none */
    neo_refusals *refusals;
    neo_usage *usage;            /* NULL: nothing is counted */
    neo_static_document openapi; /* neo_service_prepare sets it and the next two */
    neo_static_document event_types;
    apr_hash_t *pages; /* by path (see api/docs.c) */
} neo_site;

/* A request that waits for events. It ends its wait if the organization may have an event after the position, if credentials
 * have changed, and at the latest when neo_steady_ms is `until`. */
typedef struct neo_event_wait {
    const char *tenant, *organization, *position;
    unsigned int generation; /* the credential cache's, before the credential was confirmed */
    neo_ms until;
} neo_event_wait;

/* What the host does for a request; `context` is neo_request's. */
typedef struct neo_host {
    const char *(*header)(void *context, const char *name); /* NULL if it was not sent */
    /* Reads the whole body, at most `max` bytes. Returns a problem (400, 408, 413) or NULL. */
    neo_problem *(*body)(void *context, apr_size_t max, neo_text *body);
    void (*on_authenticated)(void *context, const neo_credential *principal); /* valid as long as the request */
    neo_pg *(*acquire)(void *context); /* a connection until release; NULL if the database is unavailable */
    /* The same for a connection that is held while the client reads; *is_full: as many are as the host allows. */
    neo_pg *(*acquire_long)(void *context, int *is_full);
    /* A connection to a replica that has all that was committed when this is called, until release. NULL: use another one. A
     * statement that fails on it must be executed on the primary. `is_long`: it is held while the client reads. */
    neo_pg *(*acquire_read)(void *context, int is_long);
    /* Whether all that was read over it since then is visible on the primary. If not, the primary must be read. */
    int (*confirm_read)(void *context);
    void (*release)(void *context, neo_pg *pg);
    void (*notify_dispatcher)(void *context); /* there are new deliveries */
    /* Sends `body` to `path` ("<phone_number_id>/messages") of WhatsApp's provider with POST, or GET if it is NULL, at most
     * once, and waits for the response for a limited time. */
    void (*call_provider)(void *context, const char *path, const char *token, neo_text body, neo_provider_response *answer);
    /* Starts to read an attachment from the URL that the provider has returned: neo_download_start. */
    int (*start_download)(void *context, neo_download *download, const char *url, const char *token, neo_download_head *head);
    /* Waits until there may be a reason to fetch, and returns 0. If it must not wait here, because too many requests wait or
     * the process ends, returns the seconds after which the client may ask again. */
    int (*await_event)(void *context, const neo_event_wait *wait);
} neo_host;

typedef struct neo_request {
    apr_pool_t *pool;
    const char *id;    /* req_… */
    const char *trace; /* its traceparent (see core/trace.h); NULL if it has no valid one */
    const char *method;
    const char *path;     /* decoded, below the base: "brokers/brk_…" */
    const char *instance; /* the whole path, for problem details */
    const char *query;    /* not decoded; NULL if there is none */
    const char *address;  /* the client's */
    int can_stream;       /* the client can distinguish a complete response without a length from an aborted one */
    const neo_host *host;
    void *context;
    void *log_context; /* for neo_log */
} neo_request;

typedef enum neo_stream_status {
    NEO_STREAM_PART,
    NEO_STREAM_WAIT, /* there is none yet; call again soon */
    NEO_STREAM_END,
    NEO_STREAM_FAILED, /* abort the response */
} neo_stream_status;

/* A body of any length, which is produced while it is sent. */
typedef struct neo_stream {
    /* Sets *part, which is valid until the next call; after a failure *why, for the log. */
    neo_stream_status (*next)(struct neo_stream *stream, neo_text *part, const char **why);
    void (*close)(struct neo_stream *stream); /* must be called, once */
    void *baton;
} neo_stream;

typedef struct neo_response {
    int status;
    const char *media_type; /* NULL without a body */
    neo_text body;          /* belongs to the request's pool */
    neo_text gzip;          /* for clients that accept it; a NULL pointer: there is none */
    neo_stream *stream;     /* instead of a body; otherwise NULL */
    apr_table_t *headers;   /* set by the host; the service adds headers, and sets all other members */
    int route;              /* see api/routing.h */
    const char *principal;  /* the id of the valid credential, or NULL */
    int is_token;
    int is_unknown_number;       /* a callback of a WhatsApp number that has not been added */
    neo_concurrency_place place; /* the host must leave it when it has sent the response */
} neo_response;

/* Prepares what requests share: the statements once per process, then each site. */
void neo_service_make_statements(apr_pool_t *pool);
void neo_service_prepare(neo_site *site, apr_pool_t *pool);

/* Whether a query has values that can be personal data, which logs must not have: of a parameter with the name of a field that
 * is marked so, or of `q`. */
int neo_service_query_is_personal(const char *query);

/* Processes a request. Errors are responses. */
void neo_service_answer(const neo_site *site, const neo_request *request, neo_response *response);

/* Processes a callback of WhatsApp's provider. The response is plain text. */
void neo_service_answer_callback(const neo_site *site, const neo_request *request, neo_response *response);

/* Processes a request of a portal for a feed of listings; the last segment of its path is the token. Errors are plain text. */
void neo_service_answer_listings(const neo_site *site, const neo_request *request, neo_response *response);
/* Processes a lead that a portal posts. The response is plain text. */
void neo_service_answer_lead(const neo_site *site, const neo_request *request, neo_response *response);

/* Returns the metadata of the authorization server (RFC 8414), below /.well-known/. Errors are plain text. */
void neo_service_answer_oauth_metadata(const neo_site *site, const neo_request *request, neo_response *response);

/* Responds with a problem of the host. `principal` is the credential that the request was counted for; NULL: it counts against
 * the address. */
void neo_service_refuse(const neo_site *site, const neo_request *request, const neo_credential *principal,
                        const neo_problem *problem, neo_response *response);

#endif
