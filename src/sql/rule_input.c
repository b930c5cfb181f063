/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the input of the rules (see sql/rule_input.h). */
#include "sql/rule_input.h"

#include "sql/rule_input.sql.h"

enum { TODAY, PROPERTY, VERSION, PROPOSAL, CONTRACT, CONTRACT_KIND, HAS_OTHER, RESERVING, RESERVING_KIND, RESERVING_CONTRACT };

static neo_statement *read_input;

void neo_rule_input_make_statements(apr_pool_t *pool)
{
    read_input = neo_statement_make(pool, rule_input_sql, 4, 0);
}

static const neo_json *parsed(const neo_rows *rows, int column, apr_pool_t *pool)
{
    const char *error;
    return neo_rows_value(rows, 0, column) ? neo_json_parse(neo_rows_text(rows, 0, column), pool, &error) : NULL;
}

neo_pg_status neo_rule_input_read(neo_pg *pg, const neo_actor *actor, neo_rule_input *input, apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {actor->organization, neo_rule_property_id(input), neo_rule_proposal_id(input), input->id};
    neo_pg_status status = neo_pg_run(pg, read_input, values, pool, rows);
    if (status != NEO_PG_OK)
        return status;
    input->today = neo_rows_value(rows, 0, TODAY);
    input->property = parsed(rows, PROPERTY, pool);
    input->property_version = neo_rows_value(rows, 0, VERSION);
    input->proposal = parsed(rows, PROPOSAL, pool);
    input->contract_id = neo_rows_value(rows, 0, CONTRACT);
    input->contract_kind = neo_rows_value(rows, 0, CONTRACT_KIND);
    input->has_other_contract = neo_rows_is_true(rows, 0, HAS_OTHER);
    input->reserving_id = neo_rows_value(rows, 0, RESERVING);
    input->reserving_kind = neo_rows_value(rows, 0, RESERVING_KIND);
    input->reserving_contract_id = neo_rows_value(rows, 0, RESERVING_CONTRACT);
    return status;
}
