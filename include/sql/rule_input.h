/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the rules between resources need to know (see schema/business_rules.h). */
#ifndef NEO_SQL_RULE_INPUT_H
#define NEO_SQL_RULE_INPUT_H

#include "schema/business_rules.h"
#include "sql/idempotency.h"

/* Called once in a process. */
void neo_rule_input_make_statements(apr_pool_t *pool);

/* Sets `today`, `read` and `read_version`, with one statement. The related resources may change until the write:
 * neo_table_update checks the version of the row that an effect changes. */
NEO_MUSTCHECK neo_pg_status neo_rule_input_read(neo_pg *pg, const neo_actor *actor, neo_rule_input *input, apr_pool_t *pool,
                                                neo_rows *rows);

#endif
