/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: lists the entries of the organization, and adds those of requests. */
#include "sql/audit.h"

#include <apr_strings.h>
#include <string.h>

#include "list.h"

static neo_pg_status fetch_entries(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_audit_list(pg, &call->actor, selection, call->pool, rows);
}

static neo_problem *list_entries(neo_call *call, neo_result *result)
{
    return neo_list_with(call, fetch_entries, result);
}

/* The values of filters can be personal data. */
static const char *parameter_names(const neo_call *call)
{
    neo_json *details = neo_json_make_object(call->pool), *names = neo_json_make_array(call->pool);
    const apr_array_header_t *query = apr_table_elts(call->query);
    for (int i = 0; i < query->nelts; i++)
        neo_json_append_string(names, APR_ARRAY_IDX(query, i, apr_table_entry_t).key, call->pool);
    neo_json_set(details, "parameters", names);
    return neo_json_text(details, call->pool).ptr;
}

neo_problem *neo_call_audit_export(neo_call *call)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_call_acquire(call, &pg);
    if (problem)
        return problem;
    const char *action = apr_pstrcat(call->pool, call->match.resource->name, ".exported", NULL);
    neo_pg_status status = neo_audit_add(pg, &call->actor, action, NULL, NULL, parameter_names(call), call->pool, &rows);
    neo_call_release(call, pg);
    return status == NEO_PG_OK ? NULL : neo_call_failed(call, status, &rows);
}

const neo_operation neo_audit_operations[] = {
    {.method = "GET",
     .path = "audit",
     .run = list_entries,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_PAGE | NEO_ACCEPTS_FILTERS,
     .status = 200,
     .response_headers = NEO_RESPONSE_LINK,
     .filters = neo_audit_filters,
     .prefix = "aud_",
     .resource = &neo_audit_log,
     .media_type = "application/json",
     .problems = NEO_PAGE_PROBLEMS,
     .schema = "AuditEntryList",
     .tag = "Audit",
     .verb = "listAuditEntries",
     .summary = "List the audit log",
     .doc = "Who has changed the organization's API keys, feeds, portals, WhatsApp numbers and webhooks, and who has exported "
            "its data, newest first. Only the role `org_admin` has the scope. Entries are kept for five years.",
     .answer = "A page of entries."},
    {0},
};
