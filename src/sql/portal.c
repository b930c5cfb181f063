/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the leads that portals post (see sql/portal.h). */
#include "sql/portal.h"

#include <apr_strings.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/id.h"
#include "resources/list.h"
#include "resources/portal.h"
#include "schema/validate.h"
#include "sql/portal.sql.h"
#include "sql/write.h"

enum { PORTAL_ID, PORTAL_ORGANIZATION, PORTAL_TENANT, PORTAL_FORMAT, PORTAL_SECRET_HASH, REJECTED_BODY };

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

static const char *problem_text(const neo_problem *problem, apr_pool_t *pool)
{
    const neo_problem_item *first = problem->items && problem->items->nelts ? (neo_problem_item *)problem->items->elts : NULL;
    return first ? apr_pstrcat(pool, first->field, " ", first->message, NULL) : problem->detail;
}

static neo_pg_status write_contact(neo_pg *pg, const neo_portal *portal, const neo_portal_lead *lead, neo_json *clean,
                                   neo_text raw, const char *request, apr_pool_t *pool, neo_portal_result *result)
{
    char id[NEO_ID_SIZE], now[NEO_MS_TEXT_SIZE];
    neo_ms_format(now, neo_id_issue(id, neo_lead.prefix));
    neo_pg_status status =
        neo_pg_run(pg,
                   NEO_BIND(receive, .organization = portal->organization, .tenant = portal->tenant, .portal = portal->id,
                            .id = id, .now = now, .listing = lead->listing, .contact = neo_json_text(clean, pool).ptr,
                            .hash = hash_text(raw, pool), .request = request),
                   pool, &result->rows);
    if (status == NEO_PG_OK && neo_rows_value(&result->rows, 0, NEO_WRITTEN_REFUSAL))
        result->reason = apr_psprintf(pool, "no property has the code %s", lead->listing);
    return status;
}

neo_pg_status neo_portal_receive(neo_pg *pg, const neo_portal *portal, neo_text raw, const char *request, apr_pool_t *pool,
                                 neo_portal_result *result)
{
    neo_portal_lead lead;
    neo_json *clean = NULL;
    *result = (neo_portal_result){.reason = neo_portal_read(portal->format, raw, pool, &lead)};
    if (result->reason)
        return NEO_PG_OK;
    const neo_problem *problem = neo_validate(&neo_lead, lead.body, pool, &clean);
    if (!problem)
        return write_contact(pg, portal, &lead, clean, raw, request, pool, result);
    result->reason = problem_text(problem, pool);
    return NEO_PG_OK;
}
