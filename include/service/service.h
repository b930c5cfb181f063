/* What the API does with a request, free of httpd: whoever serves it says how headers and the body are read and who lends a
 * connection to the database. */
#ifndef NEO_SERVICE_SERVICE_H
#define NEO_SERVICE_SERVICE_H

#include <apr_tables.h>

#include "core/crypto.h"
#include "core/problem.h"
#include "model/provider.h"
#include "service/credential_cache.h"
#include "service/limiter.h"

/* How often an address may call without a valid credential: the default plan's figures. */
#define NEO_ADDRESS_REQUESTS 600
#define NEO_ADDRESS_WINDOW   60

/* A document as it is sent, with its tag. */
typedef struct neo_static_document {
    neo_text body;
    const char *etag;
} neo_static_document;

/* One deployment of the API on this host; it does not change while requests are served. */
typedef struct neo_site {
    const char *base_url; /* ends in /public/v1/ */
    const char *docs_url; /* without a slash at the end */
    neo_keys keys;
    apr_size_t max_body; /* bytes */
    int cursor_lifetime; /* seconds */
    neo_limiter *credentials;
    neo_limiter *addresses;
    neo_credential_cache *credential_cache;
    neo_static_document openapi;      /* these two: see neo_service_prepare */
    const neo_static_document *pages; /* in the order of neo_docs */
} neo_site;

/* What the service asks of its host; `context` is the request's. */
typedef struct neo_host {
    const char *(*header)(void *context, const char *name); /* NULL where it was not sent */
    /* Reads the whole body, at most `max` bytes. Returns NULL or why it could not be had (400, 408, 413). */
    neo_problem *(*body)(void *context, apr_size_t max, neo_text *body);
    void (*on_authenticated)(void *context, const char *principal); /* who calls: the id of a valid credential */
    neo_pg *(*acquire)(void *context); /* a connection, until it is given back; NULL where the database is away */
    void (*release)(void *context, neo_pg *pg);
    void (*notify_dispatcher)(void *context); /* deliveries wait to be sent */
    /* Asks WhatsApp's provider: a POST of `body` to `path` ("<phone_number_id>/messages"), and waits for the answer, for a
     * limited time. It is sent once at most. */
    void (*post_to_provider)(void *context, const char *path, const char *token, neo_text body, neo_provider_response *answer);
} neo_host;

typedef struct neo_request {
    apr_pool_t *pool;
    const char *id; /* req_… */
    const char *method;
    const char *path;     /* decoded, below the base: "brokers/brk_…" */
    const char *instance; /* the whole path, for problems */
    const char *query;    /* as it was sent; NULL for none */
    const char *address;  /* the client's */
    const neo_host *host;
    void *context;
    void *log_context; /* given to the log with messages */
} neo_request;

typedef struct neo_response {
    int status;
    const char *media_type; /* NULL where there is no body */
    neo_text body;          /* belongs to the request's pool */
    apr_table_t *headers;   /* the host's, which the headers are set in; all else comes from the service */
    int route;              /* see model/route.h */
    const char *principal;  /* the credential's id where it was valid, else NULL */
    int is_token;
} neo_response;

/* Makes what all requests have in common: once at start-up in a process, then for each site. */
void neo_service_make_statements(apr_pool_t *pool);
void neo_service_prepare(neo_site *site, apr_pool_t *pool);

/* Answers a request; never fails. */
void neo_service_answer(const neo_site *site, const neo_request *request, neo_response *response);

/* Answers a callback of WhatsApp's provider: plain text, for a program. */
void neo_service_answer_callback(const neo_site *site, const neo_request *request, neo_response *response);

/* Answers a request that the host itself had to refuse; it is counted against the address. */
void neo_service_refuse(const neo_site *site, const neo_request *request, const neo_problem *problem, neo_response *response);

#endif
