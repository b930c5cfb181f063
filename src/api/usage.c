/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what credentials use, and reads it by day. */
#include "sql/usage.h"

#include "list.h"

/* A request that was refused before its organization was chosen counts for the first one of its credential. */
void neo_call_count_usage(const neo_call *call, const neo_usage_counts *counts)
{
    const neo_credential *principal = call->principal;
    const char *organization = call->actor.organization        ? call->actor.organization
                               : principal->organization_count ? principal->organizations[0]
                                                               : NULL;
    const neo_route *route = neo_route_at(neo_route_number(&call->match));
    if (call->site->usage && organization)
        neo_usage_add(call->site->usage, &(neo_usage_key){organization, principal->id, route->method, route->path}, counts);
}

static const neo_filter filters[] = {
    {.name = "from",
     .kind = NEO_FILTER_FROM,
     .value = NEO_VALUE_DATE,
     .doc = "The first day; absent: 30 days before the last. At most 92 days up to the last are returned.",
     .example = "\"2026-01-01\""},
    {.name = "to",
     .kind = NEO_FILTER_TO,
     .value = NEO_VALUE_DATE,
     .doc = "The last day; absent: today.",
     .example = "\"2026-01-31\""},
    {.name = "credential_id",
     .value = NEO_VALUE_REFERENCE,
     .doc = "The API key or token, or the webhook of deliveries.",
     .example = "\"nbr_01jwr1zbts0h4k8n3p7r1t5w9x\""},
    {0},
};

static neo_problem *read_usage(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_selection days;
    int count;
    const char *from = apr_table_get(call->query, "from"), *to = apr_table_get(call->query, "to");
    neo_problem *problem = neo_call_read_conditions(call, &days);
    const char *const *credentials = neo_call_values(call, "credential_id", &count);
    neo_buf array;
    neo_buf_init(&array, call->pool, 0);
    for (int i = 0; i < count; i++)
        neo_array_add(&array, credentials[i]);
    if (problem || (problem = neo_call_acquire(call, &pg)))
        return problem;
    neo_pg_status status = neo_usage_read(pg, &call->actor, from, to, count ? neo_array_end(&array) : NULL, call->pool, &rows);
    neo_call_release(call, pg);
    return neo_call_return_row(call, status, &rows, result);
}

const neo_operation neo_usage_operations[] = {
    {.method = "GET",
     .path = "usage",
     .run = read_usage,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_FILTERS,
     .status = 200,
     .filters = filters,
     .resource = &neo_usage_report,
     .media_type = "application/json",
     .schema = "UsageReport",
     .tag = "Usage",
     .verb = "getUsage",
     .summary = "Read what credentials have used",
     .doc =
         "The requests of each credential by day (in UTC) and operation, and the attempts of each webhook. They appear within "
         "a minute. Only the role `org_admin` has the scope.",
     .answer = "The sums, newest day first."},
    {0},
};
