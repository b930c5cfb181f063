/* SPDX-License-Identifier: Apache-2.0 */
/* Sends many POST requests concurrently from one thread. The only module that uses libcurl.
 *
 * It follows no redirects and ignores the environment's proxies. It reuses connections, over HTTP/2 if the receiver and libcurl
 * support it; the guard checks each new connection. */
#ifndef NEO_WEBHOOKS_SENDER_H
#define NEO_WEBHOOKS_SENDER_H

#include "core/clock.h"
#include "webhooks/guard.h"
#include "whatsapp/provider.h"

#define NEO_EXCERPT_BYTES 1024 /* the part of a response that is kept */

typedef struct neo_sender neo_sender;

/* Call it once in a process, before there are threads. */
void neo_sender_prepare(void);

typedef struct neo_sender_settings {
    const neo_guard *guard;        /* NULL: for a URL that the administrator configured */
    int timeout;                   /* seconds for an attempt */
    int max;                       /* attempts in flight, and connections kept open */
    int allows_http;               /* otherwise http URLs are not sent to */
    const char *ca_bundle;         /* a file with CA certificates; NULL: libcurl's default */
    int (*may_start)(void *baton); /* called before a delayed request is sent; if false, it is not, and `baton` is forgotten */
} neo_sender_settings;

/* The result of an attempt. */
typedef struct neo_send_result {
    int http_status;     /* 0 if there was no response */
    const char *error;   /* such as "timeout"; NULL: a complete response. Reveals this host's network: not for subscribers */
    const char *excerpt; /* the beginning of the response, valid UTF-8; NULL if there is none */
    neo_ms started;
    int duration;    /* milliseconds */
    int retry_after; /* Retry-After in seconds; 0 if there is none */
    int jitter;      /* random, 0 to 255, so that the deliveries of a request are retried together */
} neo_send_result;

/* True for a complete response with a 2xx status. */
NEO_MUSTCHECK int neo_send_is_success(const neo_send_result *result);

/* Called from neo_sender_work, once for each attempt. The result is valid during the call only. */
typedef void (*neo_sender_done)(void *baton, const neo_send_result *result);

/* Returns NULL, and logs, if libcurl cannot be initialized. */
neo_sender *neo_sender_make(const neo_sender_settings *settings, neo_sender_done done, apr_pool_t *pool);

/* Starts a POST of `body` to `url` with these headers ("Name: value"), after `delay` milliseconds. Copies all arguments. False
 * if memory is exhausted. */
NEO_MUSTCHECK int neo_sender_post(neo_sender *sender, const char *url, const char *const *headers, int count, neo_text body,
                                  int delay, void *baton);

/* Processes attempts in flight and waits up to `milliseconds` for progress, or until `socket` (-1: none) is readable. */
void neo_sender_work(neo_sender *sender, int milliseconds, int socket);

/* Ends the wait of neo_sender_work. May be called from any thread. */
void neo_sender_wake(neo_sender *sender);

/* A request to a URL that the administrator configured, so the guard does not check it. */
typedef struct neo_provider_request {
    const char *url;
    const char *token;   /* for Authorization: Bearer; NULL if there is none */
    neo_text body;       /* JSON, sent with POST; NULL: GET */
    int timeout;         /* seconds */
    const char *key;     /* for X-API-Key; NULL if there is none */
    const char *address; /* ":" and what to connect to instead of the URL's host, such as ":127.0.0.1:443", whose certificate is
                          * not verified then: doctor's requests to this host. NULL if there is none */
} neo_provider_request;

/* Sends the request and waits for the response; may be called from any thread. Sends at most once: it opens a new connection,
 * because libcurl repeats a request if a reused connection is closed. */
void neo_sender_request_once(const neo_provider_request *request, apr_pool_t *pool, neo_provider_response *response);

#endif
