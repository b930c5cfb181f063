/* SPDX-License-Identifier: Apache-2.0 */
/* What all transfers with libcurl have in common. */
#ifndef NEO_WEBHOOKS_TRANSFER_H
#define NEO_WEBHOOKS_TRANSFER_H

#include <curl/curl.h>

#include "received.h"

void neo_transfer_set_options(CURL *curl, int allows_http, int timeout, const char *agent, neo_received_head *head);

/* "timeout", also of CURLE_OK if the response is malformed. */
const char *neo_transfer_error(CURL *curl, CURLcode code);

#endif
