/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts of the deployment, and the servers of its database that the one in use knows: itself and its replicas. */
#ifndef NEO_STATUS_DEPLOYMENT_H
#define NEO_STATUS_DEPLOYMENT_H

#include "core/json.h"
#include "pg/pg.h"

/* An object with the arrays hosts, servers and warnings (sentences), each of at most `max_bytes`; with event_epoch_since, a
 * time or null; with a note, or null, about replicas whose details the schema's owner may not see; and with `more`, null or an
 * object with the number of rows that an array leaves out. Failures are logged. */
NEO_MUSTCHECK neo_pg_status neo_deployment_read(neo_pg *pg, apr_pool_t *pool, int max_bytes, neo_text *json);
neo_json *neo_deployment_parse(neo_text json, apr_pool_t *pool); /* NULL if it is empty */

#endif
