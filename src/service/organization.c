/* Which organization a request is about: the credential's, or the one of a token's that X-Organization-ID selects. */
#include <string.h>

#include "call.h"

#define HEADER "X-Organization-ID"

static const char *reached(const neo_credential *who, const char *organization)
{
    for (int i = 0; i < who->organization_count; i++)
        if (strcmp(who->organizations[i], organization) == 0)
            return who->organizations[i];
    return NULL;
}

static neo_problem *ambiguous(neo_call *call)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, call->pool, NEO_VALIDATION_ORGANIZATION_REQUIRED, "", HEADER,
                      "is required, because the token reaches several organizations; GET /me lists them");
    return problem;
}

neo_problem *neo_call_choose_organization(neo_call *call)
{
    const neo_credential *who = call->principal;
    if (!who || call->match.operation->access == NEO_ACCESS_PUBLIC)
        return NULL;
    const char *asked = neo_call_header(call, HEADER), *organization;
    if (asked)
        organization = reached(who, asked);
    else if (who->organization_count > 1 && call->match.operation != &neo_operations[NEO_ACTION_ME])
        return ambiguous(call);
    else
        organization = who->organization_count ? who->organizations[0] : NULL;
    if (!organization)
        return neo_problem_make(call->pool, NEO_FORBIDDEN_ORGANIZATION,
                                asked ? "The credential does not reach the organization that " HEADER " names."
                                      : "The credential reaches no organization.");
    call->actor = (neo_actor){who->tenant, organization, who->id, who->is_token ? who->user : who->id};
    return NULL;
}
