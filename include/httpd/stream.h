/* SPDX-License-Identifier: Apache-2.0 */
/* Sends bodies of any length while they are produced. A slow client is disconnected: it must take a piece of 16 KB in 30
 * seconds, and all of it in NeoAPIExportTimeout. */
#ifndef NEO_HTTPD_STREAM_H
#define NEO_HTTPD_STREAM_H

#include "httpd/request.h"

/* httpd stops without waiting for requests: aborts all streams. */
void neo_streams_stop(void);

/* Sends response->stream after the head, and closes it. If it fails or takes too long, the connection is closed, over HTTP/2
 * with its other streams, so that the client does not take it for complete. */
void neo_stream_send(request_rec *r, const neo_response *response);

#endif
