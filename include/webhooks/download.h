/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an attachment from WhatsApp's provider, in parts, in the caller's thread. Nothing of it is stored. */
#ifndef NEO_WEBHOOKS_DOWNLOAD_H
#define NEO_WEBHOOKS_DOWNLOAD_H

#include "core/buf.h"
#include "webhooks/guard.h"

#define NEO_DOWNLOAD_MAX_BYTES (100LL << 20) /* the provider's limit for an attachment */

/* The first part has at least as many, unless the whole is shorter or the others do not arrive within the timeout. */
#define NEO_DOWNLOAD_FIRST_BYTES 16

typedef struct neo_download neo_download;

typedef struct neo_download_request {
    const char *url;          /* as the provider returned it */
    const char *provider_url; /* the token is sent to the server of this URL, and to the provider's server of attachments */
    const char *token;
    const neo_guard *guard; /* checks the address that it connects to */
    int timeout;            /* seconds that it waits for the next bytes */
} neo_download_request;

typedef enum neo_download_status {
    NEO_DOWNLOAD_PART,
    NEO_DOWNLOAD_WAIT, /* there is none yet */
    NEO_DOWNLOAD_END,
    NEO_DOWNLOAD_FAILED,
} neo_download_status;

typedef struct neo_download_head {
    const char *error; /* "timeout"; NULL if there is a response */
    int http_status;   /* 0 without a response */
    neo_text first;    /* the first part of a response with status 200, valid until the next one is read */
} neo_download_head;

/* Enters the limit of downloads, and sends nothing. Returns NULL if `max` are in progress in this process, or half of them are
 * of the owner, an organization. Otherwise neo_download_close must be called; at the latest the pool's end does. */
neo_download *neo_download_enter(const char *owner, int max, apr_pool_t *pool);

/* Sends the request and waits for the first part. Returns false, and *head says why, unless the response has status 200.
 * Redirects are not followed. */
NEO_MUSTCHECK int neo_download_start(neo_download *download, const neo_download_request *request, neo_download_head *head);

/* Waits up to `milliseconds` for the next part. Sets *part, which is valid until the next call, or, after a failure, *why. */
neo_download_status neo_download_next(neo_download *download, int milliseconds, neo_text *part, const char **why);

void neo_download_close(neo_download *download);

/* Whether the URL is one that the token may be sent to. */
NEO_MUSTCHECK int neo_download_is_trusted(const char *url, const char *provider_url);

#endif
