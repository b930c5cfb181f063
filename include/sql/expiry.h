/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the transitions that a date causes (see neo_transition): a resource becomes expired after its last day. */
#ifndef NEO_SQL_EXPIRY_H
#define NEO_SQL_EXPIRY_H

#include "core/clock.h"
#include "pg/pg.h"

/* Called once in a process, after neo_sql_make_all and neo_rule_input_make_statements. */
void neo_expiry_make_statements(apr_pool_t *pool);

/* Makes up to NEO_EXPIRY_BATCH due transitions of each resource, each like a request that changes the status: in a separate
 * statement, with its event and its effects, and only if the row has not changed since it was found. So any number of processes
 * make each transition once. *count is the number of rows found; from NEO_EXPIRY_BATCH on there may be more. No row is begun
 * after `until` (neo_steady_ms). */
#define NEO_EXPIRY_BATCH 25
NEO_MUSTCHECK neo_pg_status neo_expiry_run(neo_pg *pg, neo_ms until, apr_pool_t *pool, int *count);

#endif
