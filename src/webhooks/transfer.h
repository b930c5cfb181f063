/* SPDX-License-Identifier: Apache-2.0 */
/* What all transfers with libcurl have in common. */
#ifndef NEO_WEBHOOKS_TRANSFER_H
#define NEO_WEBHOOKS_TRANSFER_H

#include <curl/curl.h>

#include "received.h"
#include "webhooks/guard.h"

/* The address guard of a transfer, and what it decided about the addresses of the transfer's host. */
typedef struct neo_transfer_guard {
    const neo_guard *guard; /* NULL: all addresses are permitted */
    int was_blocked, was_permitted;
} neo_transfer_guard;

void neo_transfer_set_options(CURL *curl, int allows_http, int timeout, const char *agent, neo_received_head *head);

/* Lets the guard check the address of each new connection. `guard` must live as long as `curl`. */
void neo_transfer_set_guard(CURL *curl, neo_transfer_guard *guard);

/* Describes a failure in one word, such as "timeout"; CURLE_OK is one if the response is malformed. Returns "blocked_address"
 * if the guard permitted none of the addresses; `guard` may be NULL. */
const char *neo_transfer_error(CURL *curl, CURLcode code, const neo_transfer_guard *guard);

#endif
