/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how many threads of this process wait for clients: half of them, and a few for one credential or address. Otherwise
 * some slow clients could occupy all threads. Filters below TLS notice every wait, for handshakes and headers and for writes,
 * whichever module reads or writes; only bodies are waited for elsewhere. A client that has been waited for longer than
 * a second and is above a limit is disconnected, and so is one that does not read. */
#ifndef NEO_HTTPD_SLOW_CLIENTS_H
#define NEO_HTTPD_SLOW_CLIENTS_H

#include <httpd.h>

#include "core/clock.h"

void neo_slow_clients_register(void);

/* Starts the thread that disconnects slow clients. Call it in a child process. */
void neo_slow_clients_start(apr_pool_t *pchild);

/* Counts the waits for the current request as the credential's, too. */
void neo_slow_clients_set_credential(const conn_rec *c, const char *credential);

/* Gives the client, instead of 10 seconds, `piece_ms` to read 16 KB, until neo_steady_ms is `end`. */
void neo_slow_clients_set_times(const conn_rec *c, neo_ms piece_ms, neo_ms end);

/* For a thread that waits for a body: it is not disconnected, but must stop when neo_slow_clients_is_refused. */
void neo_slow_clients_begin_body(const conn_rec *c);
void neo_slow_clients_end_body(const conn_rec *c);

/* Whether the last wait for the client exceeded a limit, so that it was ended or must stop. */
int neo_slow_clients_is_refused(const conn_rec *c);

/* Closes the connection; of an HTTP/2 stream the whole connection. */
void neo_slow_clients_disconnect(const conn_rec *c);

#endif
