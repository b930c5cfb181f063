/* SQL for leads that an administrator brings in (see store/lead_admin.h). */
#include "store/lead_admin.h"

#include "core/id.h"

#define ROWS "json_to_recordset($2) as r (line int, name text, phone text, email text, party_id text)"

static const char *exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    neo_pg_status status = neo_pg_exec(pg, sql, params, values, pool, rows);
    if (status == NEO_PG_OK)
        return NULL;
    if (status == NEO_PG_UNIQUE_VIOLATION || status == NEO_PG_FK_VIOLATION)
        return "somebody else has changed leads or parties at the same time; try again";
    return rows->message ? rows->message : "the database did not do it";
}

const char *neo_admin_find_organization(neo_pg *pg, const char *organization, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {organization};
    const char *wrong = exec(pg, "select from neoapi.organization where id = $1", 1, values, pool, &rows);
    return wrong || rows.count ? wrong : "there is no such organization; see: neoapictl organization list";
}

const char *neo_admin_check_leads(neo_pg *pg, const char *organization, neo_text rows, apr_pool_t *pool, neo_json **problems)
{
    neo_rows found;
    const char *values[] = {organization, rows.ptr};
    const char *wrong =
        exec(pg,
             "select coalesce(json_agg(p order by p.line), '[]') from ("
             " select r.line, 'party_id: the organization has no party with this id' as message from " ROWS
             " where r.party_id is not null and not exists (select from neoapi.party p"
             " where p.organization_id = $1 and p.id = r.party_id)"
             " union all select r.line, 'phone: the organization has a lead with this number already: ' || l.id from " ROWS
             " join neoapi.lead l on l.organization_id = $1 and neoapi.whatsapp_phone_key(l.phone) = "
             "neoapi.whatsapp_phone_key(r.phone)) p",
             2, values, pool, &found);
    if (!wrong)
        *problems = neo_json_parse(neo_rows_text(&found, 0, 0), pool, &wrong);
    return wrong;
}

const char *neo_admin_add_leads(neo_pg *pg, const char *organization, neo_text rows, apr_pool_t *pool)
{
    neo_rows made;
    char id_block[NEO_ID_BLOCK_SIZE];
    neo_id_issue_block(id_block, "led_");
    const char *values[] = {organization, rows.ptr, id_block};
    return exec(pg,
                "insert into neoapi.lead (organization_id, id, name, phone, email, party_id)"
                " select $1, neoapi.block_id($3, row_number() over (order by r.line) - 1), r.name, r.phone, r.email, r.party_id"
                " from " ROWS,
                3, values, pool, &made);
}
