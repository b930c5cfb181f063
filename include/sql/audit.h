/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log (see sql/0007_audit.sql). Triggers add the entries of changed rows; the others are added here. */
#ifndef NEO_SQL_AUDIT_H
#define NEO_SQL_AUDIT_H

#include "sql/idempotency.h"
#include "sql/page.h"

/* Adds an entry about what a request does, such as an export: "broker.exported". The object's type and id may be NULL.
 * `details` is JSON without secrets and personal data, or NULL. Waits for other transactions that have added an entry, so that
 * it is the last statement of a transaction, or the only one. */
NEO_MUSTCHECK neo_pg_status neo_audit_add(neo_pg *pg, const neo_actor *actor, const char *action, const char *type,
                                          const char *id, const char *details, apr_pool_t *pool, neo_rows *rows);

/* The entries of the actor's organization. */
NEO_MUSTCHECK neo_pg_status neo_audit_list(neo_pg *pg, const neo_actor *actor, const neo_selection *selection, apr_pool_t *pool,
                                           neo_rows *rows);

#define NEO_AUDIT_EXPIRED 1000 /* entries that neo_audit_expire removes at most */

/* Removes the oldest entries if they are older than five years. */
NEO_MUSTCHECK neo_pg_status neo_audit_expire(neo_pg *pg, apr_pool_t *pool, int *count);

#endif
