/* Sending: many POSTs at a time from one thread, and the only room that knows libcurl.
 *
 * Redirects are not followed, proxies of the environment not used, and nothing but http and https is spoken. Connections are
 * kept and used again, over HTTP/2 where the receiver has it; the guard has a word whenever one is opened. */
#ifndef NEO_DELIVERY_SENDER_H
#define NEO_DELIVERY_SENDER_H

#include "core/clock.h"
#include "delivery/guard.h"
#include "model/provider.h"

#define NEO_EXCERPT_BYTES 1024 /* bytes of a response that are kept */

typedef struct neo_sender neo_sender;

/* Once in a process, before there are threads. */
void neo_sender_prepare(void);

typedef struct neo_sender_settings {
    const neo_guard *guard;
    int timeout;           /* seconds for an attempt */
    int max;               /* attempts at a time, and connections that are kept */
    int allows_http;       /* otherwise only https URLs are sent to */
    const char *ca_bundle; /* a file of certificates; NULL: the system's */
} neo_sender_settings;

/* How an attempt went. */
typedef struct neo_sent {
    int http_status;     /* 0: no response came */
    const char *error;   /* a word for what went wrong, "timeout" and the like; NULL where a whole response came */
    const char *excerpt; /* the response's beginning, well-formed UTF-8; NULL for none */
    neo_ms started;
    int duration;    /* milliseconds */
    int retry_after; /* seconds that the receiver asks for; 0: it does not */
} neo_sent;

/* Called from neo_sender_work, once for each attempt. What `sent` points to ends with the call. */
typedef void (*neo_sender_done)(void *baton, const neo_sent *sent);

/* Returns NULL, and logs, where libcurl cannot do what is wanted. */
neo_sender *neo_sender_make(const neo_sender_settings *settings, neo_sender_done done, apr_pool_t *pool);

/* Starts a POST of `body` to `url` with these headers ("Name: value"). Everything is copied. False where memory is out. */
NEO_MUSTCHECK int neo_sender_post(neo_sender *sender, const char *url, const char *const *headers, int count, neo_text body,
                                  void *baton);

/* Works on what was started and waits up to so many milliseconds for more to do, or until another socket can be read (-1:
 * none); calls back for what has ended. */
void neo_sender_work(neo_sender *sender, int milliseconds, int socket);

/* Ends the wait of neo_sender_work at once; from any thread. */
void neo_sender_wake(neo_sender *sender);

/* A POST of JSON to an address that the administrator has chosen, for which there is no guard. */
typedef struct neo_provider_request {
    const char *url;
    const char *token; /* sent as Authorization: Bearer */
    neo_text body;
    int timeout; /* seconds, for all of it */
} neo_provider_request;

/* Sends it and waits for the answer, in whatever thread. It is sent once at most: over a connection of its own, because libcurl
 * sends again what was lost with a connection that had been used before. */
void neo_sender_post_once(const neo_provider_request *request, apr_pool_t *pool, neo_provider_response *answer);

#endif
