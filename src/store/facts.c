/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the facts of a write (see store/facts.h). */
#include "store/facts.h"

#include "sql/facts.h"

enum { TODAY, PROPERTY, VERSION, PROPOSAL, CONTRACT, CONTRACT_KIND, HAS_OPEN };

static neo_statement *read_facts;

void neo_facts_make_statements(apr_pool_t *pool)
{
    read_facts = neo_statement_make(pool, facts_sql, 4, 0);
}

static const neo_json *parsed(const neo_rows *rows, int column, apr_pool_t *pool)
{
    const char *wrong;
    return neo_rows_value(rows, 0, column) ? neo_json_parse(neo_rows_text(rows, 0, column), pool, &wrong) : NULL;
}

neo_pg_status neo_facts_read(neo_pg *pg, const neo_actor *actor, neo_facts *facts, apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {actor->organization, neo_facts_property_id(facts), neo_json_string_at(facts->after, "proposal_id"),
                            facts->id};
    neo_pg_status status = neo_pg_run(pg, read_facts, values, pool, rows);
    if (status != NEO_PG_OK)
        return status;
    facts->today = neo_rows_value(rows, 0, TODAY);
    facts->property = parsed(rows, PROPERTY, pool);
    facts->property_version = neo_rows_value(rows, 0, VERSION);
    facts->proposal = parsed(rows, PROPOSAL, pool);
    facts->contract_id = neo_rows_value(rows, 0, CONTRACT);
    facts->contract_kind = neo_rows_value(rows, 0, CONTRACT_KIND);
    facts->has_open_contract = neo_rows_is_true(rows, 0, HAS_OPEN);
    return status;
}
