/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the organization: a credential's only one, or the one in X-Organization-ID. */
#include <string.h>

#include "call.h"

#define HEADER "X-Organization-ID"

static const char *accessible(const neo_credential *principal, const char *organization)
{
    for (int i = 0; i < principal->organization_count; i++)
        if (strcmp(principal->organizations[i], organization) == 0)
            return principal->organizations[i];
    return NULL;
}

static neo_problem *ambiguous(neo_call *call)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, call->pool, NEO_VALIDATION_ORGANIZATION_REQUIRED, "", HEADER,
                      "is required: the token has access to several organizations, which GET /me lists");
    return problem;
}

neo_problem *neo_call_choose_organization(neo_call *call)
{
    const neo_credential *principal = call->principal;
    if (!principal || call->match.operation->access == NEO_ACCESS_PUBLIC)
        return NULL;
    const char *asked = neo_call_header(call, HEADER), *organization;
    if (asked)
        organization = accessible(principal, asked);
    else if (principal->organization_count > 1 && call->match.operation->access != NEO_ACCESS_ANY)
        return ambiguous(call);
    else
        organization = principal->organization_count ? principal->organizations[0] : NULL;
    if (!organization)
        return neo_problem_make(call->pool, NEO_FORBIDDEN_ORGANIZATION,
                                asked ? "The credential has no access to the organization in " HEADER "."
                                      : "The credential has no access to any organization.");
    call->actor = (neo_actor){principal->tenant, organization, principal->id,
                              principal->is_token ? principal->user : principal->id, call->request->id};
    return NULL;
}
