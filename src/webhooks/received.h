/* SPDX-License-Identifier: Apache-2.0 */
/* What has been received of a response: its status, its size and its beginning. */
#ifndef NEO_WEBHOOKS_RECEIVED_H
#define NEO_WEBHOOKS_RECEIVED_H

#include "webhooks/sender.h"

typedef struct {
    size_t bytes; /* headers and trailers, also of 1xx responses */
    int status;   /* 0 if there is no valid status line */
} neo_received_head;

typedef struct neo_received {
    neo_received_head head;
    size_t body_bytes;
    int socket;             /* -1: unknown */
    long long bytes_before; /* over this connection, before the response */
    char excerpt[NEO_EXCERPT_BYTES + 1];
} neo_received;

/* A libcurl header callback; `head` is a neo_received_head. Aborts the transfer after too many bytes. */
size_t neo_received_header(char *line, size_t size, size_t count, void *head);

void neo_received_body(neo_received *received, const char *data, size_t len);

/* True if the connection has received too much since the first call, with all framing. */
NEO_MUSTCHECK int neo_received_too_much(neo_received *received);

/* The beginning of the body, cut at the end of a character; NULL if it is not text. */
const char *neo_received_excerpt(neo_received *received);

#endif
