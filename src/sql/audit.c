/* SPDX-License-Identifier: Apache-2.0 */
/* Adds, lists and removes entries of the audit log (see sql/audit.h). */
#include "sql/audit.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "sql/audit.sql.h"

neo_pg_status neo_audit_add(neo_pg *pg, const neo_actor *actor, const char *action, const char *type, const char *id,
                            const char *details, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg,
                      NEO_BIND(add, .action = action, .tenant = actor->tenant, .organization = actor->organization,
                               .type = type, .id = id, .details = details, .credential = actor->credential,
                               .actor = actor->name, .request = actor->request, .address = actor->address),
                      pool, rows);
}

neo_pg_status neo_audit_list(neo_pg *pg, const neo_actor *actor, const neo_selection *selection, apr_pool_t *pool,
                             neo_rows *rows)
{
    const neo_listed listed = {
        .answer = "neoapi.audit_record(t)", .from = "neoapi.audit_entry t where t.owner = $1", .prefix = "aud_"};
    return neo_page_run(pg, &listed, &actor->organization, 1, selection, pool, rows);
}

neo_pg_status neo_audit_expire(neo_pg *pg, apr_pool_t *pool, int *count)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(expire, .most = APR_STRINGIFY(NEO_AUDIT_EXPIRED)), pool, &rows);
    *count = status == NEO_PG_OK ? atoi(neo_rows_value(&rows, 0, 0)) : 0;
    return status;
}
