/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the leads that portals post (neoapi.portal_receive); what cannot be read or matched is kept in neoapi.lead_rejected
 * with its reason. */
#ifndef NEO_SQL_PORTAL_H
#define NEO_SQL_PORTAL_H

#include "core/crypto.h"
#include "pg/pg.h"

/* A portal of an organization. */
typedef struct neo_portal {
    const char *id, *organization, *tenant;
    const char *format;      /* one of neo_portal_formats */
    const char *secret_hash; /* SHA-256, hexadecimal */
} neo_portal;

/* Sets *portal to NULL if none has the id. */
NEO_MUSTCHECK neo_pg_status neo_portal_find(neo_pg *pg, const char *id, apr_pool_t *pool, neo_portal **portal);

typedef struct neo_portal_result {
    const char *reason; /* why there is no lead; NULL: there is one, or there was one */
    neo_rows rows;      /* the statement's, for neo_call_notify_dispatcher; no rows if nothing was executed */
} neo_portal_result;

/* Creates the lead, or updates the one with the same phone, once for each id of the portal, and removes it from the rejected
 * ones. `request` is its id, or NULL. */
NEO_MUSTCHECK neo_pg_status neo_portal_receive(neo_pg *pg, const neo_portal *portal, neo_text raw, const char *request,
                                               apr_pool_t *pool, neo_portal_result *result);

/* Keeps a lead that was not created. A repeated one increases `times`. */
NEO_MUSTCHECK neo_pg_status neo_portal_reject(neo_pg *pg, const neo_portal *portal, neo_text raw, const char *reason,
                                              apr_pool_t *pool);

/* Sets *raw to a NULL pointer if there is no such rejected lead, or its portal does not exist any more. */
NEO_MUSTCHECK neo_pg_status neo_portal_find_rejected(neo_pg *pg, const char *id, apr_pool_t *pool, neo_portal **portal,
                                                     neo_text *raw);

#endif
