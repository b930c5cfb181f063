/* SPDX-License-Identifier: Apache-2.0 */
/* POST /leads/{id}/merge. */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "schema/validate.h"
#include "whatsapp/store.h"

static neo_problem *refuse_merge(neo_call *call, const char *refusal)
{
    neo_problem *problem = NULL;
    if (strcmp(refusal, "no_target") == 0)
        return neo_call_not_found(call, NULL);
    neo_call_add_missing(call, &problem, "lead_id");
    return problem;
}

static neo_pg_status write_merge(neo_call *call, neo_pg *pg, void *other, neo_rows *rows)
{
    return neo_whatsapp_merge_leads(pg, &call->actor, call->idempotency, call->match.id, other, call->pool, rows);
}

static neo_problem *merge_lead(neo_call *call, neo_result *result)
{
    neo_json *clean;
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_validate(&neo_lead_merge, call->body, call->pool, &clean);
    char *other = problem ? NULL : apr_pstrdup(call->pool, neo_json_string_at(clean, "lead_id"));
    if (other && strcmp(other, call->match.id) == 0)
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_INVALID, "lead", "lead_id", "must be another lead");
    if (problem || (problem = neo_call_acquire_for_id(call, &pg)))
        return problem;
    problem = neo_call_write_idempotent(call, pg, &(neo_idempotent){.write = write_merge, .baton = other}, &rows, result);
    neo_call_release(call, pg);
    if (problem || result->is_replayed)
        return problem;
    const char *refusal = neo_rows_value(&rows, 0, NEO_MERGED_REFUSAL);
    if (refusal)
        return refuse_merge(call, refusal);
    *result = (neo_result){.status = 200, .body = neo_rows_text(&rows, 0, NEO_MERGED_LEAD)};
    return NULL;
}

const neo_operation neo_lead_operations[] = {
    {.method = "POST",
     .path = "leads/{id}/merge",
     .run = merge_lead,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IDEMPOTENCY_KEY,
     .status = 200,
     .media_type = "application/json",
     .problems = NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_REQUIRED) | NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_INVALID) |
                 NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_NOT_FOUND),
     .body = &neo_lead_merge,
     .schema = "Lead",
     .verb = "mergeLeads",
     .summary = "Merge another lead into a lead",
     .doc =
         "For two leads that are one person. The conversations and opt-outs of the other lead become those of this one, which "
         "takes over the fields that it lacks, except `source`, `status` and `lost_reason`. "
         "The other lead is deleted in the same transaction. The event `lead.updated` names it in `merged_lead_ids`; "
         "`lead.deleted` follows. A repeated request changes nothing.",
     .answer = "The lead."},
    {0},
};
