/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the leads that portals post (see sql/portal.h). */
#include "sql/portal.h"

#include <apr_strings.h>
#include <string.h>

#include "core/encode.h"
#include "resources/list.h"
#include "resources/portal.h"
#include "schema/validate.h"
#include "sql/portal.sql.h"
#include "sql/table.h"

enum { PORTAL_ID, PORTAL_ORGANIZATION, PORTAL_TENANT, PORTAL_FORMAT, PORTAL_SECRET_HASH, REJECTED_BODY };
enum { PROPERTY_ID, PROPERTY_BROKER };

static neo_portal *read_portal(const neo_rows *rows, apr_pool_t *pool)
{
    neo_portal portal = {neo_rows_value(rows, 0, PORTAL_ID), neo_rows_value(rows, 0, PORTAL_ORGANIZATION),
                         neo_rows_value(rows, 0, PORTAL_TENANT), neo_rows_value(rows, 0, PORTAL_FORMAT),
                         neo_rows_value(rows, 0, PORTAL_SECRET_HASH)};
    return apr_pmemdup(pool, &portal, sizeof portal);
}

neo_pg_status neo_portal_find(neo_pg *pg, const char *id, apr_pool_t *pool, neo_portal **portal)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(find, .id = id), pool, &rows);
    *portal = status == NEO_PG_OK && rows.count ? read_portal(&rows, pool) : NULL;
    return status;
}

neo_pg_status neo_portal_find_rejected(neo_pg *pg, const char *id, apr_pool_t *pool, neo_portal **portal, neo_text *raw)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(find_rejected, .id = id), pool, &rows);
    *raw = (neo_text){0};
    if (status == NEO_PG_OK && rows.count) {
        *portal = read_portal(&rows, pool);
        *raw = neo_rows_text(&rows, 0, REJECTED_BODY);
    }
    return status;
}

/* ---------------------------------------------------------------- rejected leads */

static const char *hash_text(neo_text raw, apr_pool_t *pool)
{
    unsigned char hash[NEO_SHA256_SIZE];
    char *hex = apr_palloc(pool, 2 * NEO_SHA256_SIZE + 1);
    neo_sha256(raw.ptr, raw.len, hash);
    neo_hex(hash, sizeof hash, hex);
    return hex;
}

neo_pg_status neo_portal_reject(neo_pg *pg, const neo_portal *portal, neo_text raw, const char *reason, apr_pool_t *pool)
{
    char id[NEO_ID_SIZE];
    neo_rows rows;
    int is_text = neo_utf8_is_valid(raw.ptr, raw.len) && !memchr(raw.ptr, '\0', raw.len);
    const char *body = is_text ? apr_pstrmemdup(pool, raw.ptr, raw.len)
                               : apr_pstrcat(pool, "base64:", neo_base64(raw.ptr, raw.len, pool), NULL);
    neo_id_issue(id, "lrj_");
    return neo_pg_run(pg,
                      NEO_BIND(reject, .organization = portal->organization, .id = id, .portal = portal->id,
                               .hash = hash_text(raw, pool), .body = body, .reason = reason),
                      pool, &rows);
}

/* ---------------------------------------------------------------- new leads */

/* Sets the references of the lead: the property, and its broker. */
static neo_pg_status find_property(neo_pg *pg, const neo_portal *portal, const neo_portal_lead *lead, apr_pool_t *pool,
                                   const char **reason)
{
    neo_rows rows;
    if (!lead->listing)
        return NEO_PG_OK;
    neo_pg_status status =
        neo_pg_run(pg, NEO_BIND(find_property, .organization = portal->organization, .code = lead->listing), pool, &rows);
    if (status != NEO_PG_OK)
        return status;
    if (!rows.count) {
        *reason = apr_psprintf(pool, "no property has the code %s", lead->listing);
        return NEO_PG_OK;
    }
    const char *broker = neo_rows_value(&rows, 0, PROPERTY_BROKER);
    neo_json_set(lead->body, "property_id", neo_json_make_string(neo_rows_value(&rows, 0, PROPERTY_ID), pool));
    if (broker)
        neo_json_set(lead->body, "broker_id", neo_json_make_string(broker, pool));
    return NEO_PG_OK;
}

static const char *problem_text(const neo_problem *problem, apr_pool_t *pool)
{
    const neo_problem_item *first = problem->items && problem->items->nelts ? (neo_problem_item *)problem->items->elts : NULL;
    return first ? apr_pstrcat(pool, first->field, " ", first->message, NULL) : problem->detail;
}

/* A lead that is posted again violates the index of its origin, and mostly that of phones as well; PostgreSQL reports one of
 * them. */
static neo_pg_status check_repetition(neo_pg *pg, const neo_actor *actor, const neo_json *clean, apr_pool_t *pool,
                                      const char **reason)
{
    neo_rows rows;
    const char *id = neo_json_string_at(neo_json_get(clean, "origin"), "lead_id");
    neo_pg_status status = neo_pg_run(
        pg, NEO_BIND(find_lead, .organization = actor->organization, .portal = actor->name, .lead = id), pool, &rows);
    if (status == NEO_PG_OK && !rows.count)
        *reason = "another lead of the organization has this phone";
    return status;
}

static neo_pg_status insert_lead(neo_pg *pg, const neo_actor *actor, neo_json *clean, apr_pool_t *pool,
                                 neo_portal_result *result)
{
    neo_new row = {.body = clean};
    row.created_at = neo_id_issue(row.id, neo_lead.prefix);
    neo_pg_status status = neo_table_create(pg, &neo_lead, actor, NULL, &row, pool, &result->rows);
    int is_created = status == NEO_PG_OK && neo_rows_value(&result->rows, 0, NEO_WRITTEN_ANSWER);
    if (is_created)
        return status;
    result->rows = (neo_rows){0};
    if (status == NEO_PG_UNIQUE_VIOLATION)
        return check_repetition(pg, actor, clean, pool, &result->reason);
    if (status == NEO_PG_OK || status == NEO_PG_FK_VIOLATION) {
        result->reason = "the property was deleted at the same time";
        return NEO_PG_OK;
    }
    return status;
}

neo_pg_status neo_portal_create_lead(neo_pg *pg, const neo_portal *portal, neo_text raw, const char *request, apr_pool_t *pool,
                                     neo_portal_result *result)
{
    neo_portal_lead lead;
    neo_json *clean = NULL;
    neo_rows rows;
    const neo_actor actor = {portal->tenant, portal->organization, portal->id, portal->id, request};
    *result = (neo_portal_result){.reason = neo_portal_read(portal->format, raw, pool, &lead)};
    neo_pg_status status = result->reason ? NEO_PG_OK : find_property(pg, portal, &lead, pool, &result->reason);
    if (status != NEO_PG_OK || result->reason)
        return status;
    neo_problem *problem = neo_validate(&neo_lead, lead.body, pool, &clean);
    if (problem) {
        result->reason = problem_text(problem, pool);
        return NEO_PG_OK;
    }
    status = insert_lead(pg, &actor, clean, pool, result);
    if (status != NEO_PG_OK || result->reason)
        return status;
    return neo_pg_run(
        pg, NEO_BIND(accept, .organization = portal->organization, .portal = portal->id, .hash = hash_text(raw, pool)), pool,
        &rows);
}
