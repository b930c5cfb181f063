/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the input of the rules (see sql/rule_input.h). */
#include "sql/rule_input.h"

#include <apr_strings.h>

#define TODAY       0
#define VALUE(read) (1 + 2 * (read)) /* the column of a resource's representation, or of a row as JSON */
#define XMIN(read)  (2 + 2 * (read)) /* its version, or null */
#define IS_READ(r)  ((r)->resource || (r)->sql)

/* Resources that read the same share a statement. */
static struct {
    const neo_read *reads;
    const neo_statement *statement;
} * made;

static const neo_statement *find_statement(const neo_read *reads)
{
    int i = 0;
    while (made[i].reads && made[i].reads != reads)
        i++;
    return made[i].statement;
}

static neo_statement *make_statement(const neo_read *reads, apr_pool_t *pool)
{
    int parameters = 2;
    const char *values = "", *sources = "";
    for (int i = 0; IS_READ(&reads[i]); i++) {
        const neo_read *r = &reads[i];
        values =
            apr_psprintf(pool, r->resource ? "%s, r%d.representation, r%d.xmin" : "%s, row_to_json(r%d), null", values, i, i);
        sources = r->resource ? apr_psprintf(pool, "%s left join neoapi.%s r%d on r%d.organization_id = $1 and r%d.id = $%d",
                                             sources, neo_table_name(r->resource), i, i, i, ++parameters)
                              : apr_psprintf(pool, "%s left join lateral (%s) r%d on true", sources, r->sql, i);
    }
    return neo_statement_make(pool,
                              apr_pstrcat(pool, "select (now() at time zone 'America/Sao_Paulo')::date", values,
                                          " from (values (1)) one", sources, NULL),
                              parameters, 0);
}

void neo_rule_input_make_statements(apr_pool_t *pool)
{
    int count = 0;
    made = apr_pcalloc(pool, ((apr_size_t)neo_resource_index(NULL) + 1) * sizeof *made);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if ((*r)->reads && !find_statement((*r)->reads)) {
            made[count].statement = make_statement((*r)->reads, pool);
            made[count++].reads = (*r)->reads;
        }
}

neo_pg_status neo_rule_input_read(neo_pg *pg, const neo_actor *actor, neo_rule_input *input, apr_pool_t *pool, neo_rows *rows)
{
    const neo_read *reads = input->resource->reads;
    const neo_resource *target = neo_effect_target(input->resource);
    const char *values[2 + NEO_MAX_READS] = {actor->organization, input->id}, *error;
    int count = 2;
    for (const neo_read *r = reads; IS_READ(r); r++)
        if (r->resource)
            values[count++] = neo_rule_related_id(input, r->resource);
    neo_pg_status status = neo_pg_run(pg, find_statement(reads), values, pool, rows);
    if (status != NEO_PG_OK)
        return status;
    input->today = neo_rows_value(rows, 0, TODAY);
    for (int i = 0; IS_READ(&reads[i]); i++) {
        input->read[i] =
            neo_rows_value(rows, 0, VALUE(i)) ? neo_json_parse(neo_rows_text(rows, 0, VALUE(i)), pool, &error) : NULL;
        if (target && reads[i].resource == target)
            input->read_version = neo_rows_value(rows, 0, XMIN(i));
    }
    return status;
}
