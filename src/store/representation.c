/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the functions that maintain representations (see store/representation.h).
 *
 * The representation is no generated column, because adding a field to one would rewrite the table. It is concatenated as text:
 * json_strip_nulls would parse the JSON again, which took more than half of the trigger's time. A member is null if its column
 * is null, and concat_ws skips nulls. */
#include "store/representation.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "model/import.h"
#include "sql/representation.h"
#include "store/array.h"
#include "store/column.h"
#include "store/write.h"

#define FUNCTION "neoapi.%s_set_representation()"

/* The body of the function in PL/pgSQL; it is compared with the installed one. */
static const char *body_of(const neo_resource *resource, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_puts(&sql, "\nbegin\n    new.representation := '{' || concat_ws(','");
    for (const neo_field *f = resource->fields; f->name; f++)
        if (!(f->flags & NEO_SECRET)) {
            neo_buf_printf(&sql, ",\n        '\"%s\":' || ", f->name);
            neo_column_add_json(&sql, f, "new.", f->name);
        }
    neo_buf_puts(&sql, ") || '}';\n    return new;\nend ");
    return sql.ptr;
}

neo_migration neo_representation_script(const neo_resource *resource, apr_pool_t *pool)
{
    const char *table = neo_table_of(resource);
    const char *sql = apr_psprintf(pool,
                                   "create or replace function " FUNCTION " returns trigger language plpgsql as $$%s$$;\n"
                                   "create or replace trigger set_representation before insert or update on neoapi.%s"
                                   " for each row execute function " FUNCTION ";\n",
                                   table, body_of(resource, pool), table, table);
    return (neo_migration){0, apr_pstrcat(pool, table, "_set_representation", NULL), sql};
}

neo_pg_status neo_representation_outdated(neo_pg *pg, apr_pool_t *pool, const neo_resource ***outdated, neo_rows *rows)
{
    neo_buf tables, bodies;
    apr_array_header_t *kinds = apr_array_make(pool, 16, sizeof(neo_resource *));
    neo_buf_init(&tables, pool, 256);
    neo_buf_init(&bodies, pool, 32768);
    for (const neo_resource *const *r = neo_import_kinds; *r; r++) {
        if ((*r)->exported) /* by an expression, so its table has no representation */
            continue;
        APR_ARRAY_PUSH(kinds, const neo_resource *) = *r;
        neo_array_add(&tables, neo_table_of(*r));
        neo_array_add(&bodies, body_of(*r, pool));
    }
    const char *values[] = {neo_array_end(&tables), neo_array_end(&bodies)};
    neo_pg_status status = neo_pg_exec(pg, outdated_sql, 2, values, pool, rows);
    if (status != NEO_PG_OK)
        return status;
    *outdated = apr_pcalloc(pool, (apr_size_t)(rows->count + 1) * sizeof **outdated);
    for (int i = 0; i < rows->count; i++)
        (*outdated)[i] = APR_ARRAY_IDX(kinds, atoi(neo_rows_value(rows, i, 0)), const neo_resource *);
    return status;
}
