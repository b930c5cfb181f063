/* SPDX-License-Identifier: Apache-2.0 */
/* The errors that an operation can return, derived from the tables (see model/operation.h). */
#include <string.h>

#include "model/operation.h"
#include "model/references.h"

#define BIT NEO_PROBLEM_BIT

/* Errors that follow from what an operation accepts. */
static const struct {
    unsigned int accepts;
    unsigned long long problems;
} consequences[] = {
    {NEO_ACCEPTS_BODY, BIT(NEO_VALIDATION_UNKNOWN_FIELD) | BIT(NEO_VALIDATION_MALFORMED_JSON) |
                           BIT(NEO_VALIDATION_BODY_REQUIRED) | BIT(NEO_VALIDATION_BODY_TOO_LARGE) |
                           BIT(NEO_VALIDATION_UNSUPPORTED_MEDIA_TYPE)},
    {NEO_ACCEPTS_IDEMPOTENCY_KEY,
     BIT(NEO_VALIDATION_IDEMPOTENCY_KEY_INVALID) | BIT(NEO_CONFLICT_IDEMPOTENCY_KEY_REUSED) | BIT(NEO_CONFLICT_LIMIT_REACHED)},
    {NEO_ACCEPTS_IF_MATCH, BIT(NEO_CONFLICT_PRECONDITION_FAILED)},
};

/* Errors of references and transitions. A body that is not the resource has neither. */
static unsigned long long problems_of_resource(const neo_operation *operation, const neo_resource *resource)
{
    int is_written = operation->accepts & NEO_ACCEPTS_BODY && !operation->body;
    unsigned long long all = 0;
    if (is_written && neo_has_references(resource))
        all |= BIT(NEO_VALIDATION_FIELD_NOT_FOUND);
    if (is_written && resource->transitions)
        all |= BIT(NEO_CONFLICT_INVALID_TRANSITION);
    int creates = operation == &neo_operations[NEO_ACTION_CREATE];
    for (const neo_precondition *p = resource->preconditions; p && p->check; p++)
        if (p->when == NEO_ON_DELETE ? strcmp(operation->method, "DELETE") == 0
                                     : is_written && !(creates && (p->when == NEO_ON_UPDATE || p->when == NEO_FROM_STATUS)))
            all |= BIT(p->code);
    if (is_written && !creates && resource->effects)
        all |= BIT(NEO_CONFLICT_PROPERTY_UNAVAILABLE);
    int deletes = strcmp(operation->method, "DELETE") == 0 || operation->accepts & NEO_ACCEPTS_BATCH;
    if (deletes && neo_is_referred_to(resource))
        all |= BIT(NEO_CONFLICT_IN_USE);
    return all;
}

unsigned long long neo_operation_problems(const neo_operation *operation, const neo_resource *resource)
{
    unsigned long long all = operation->problems | BIT(NEO_VALIDATION_FAILED) | BIT(NEO_VALIDATION_UNKNOWN_PARAMETER) |
                             BIT(NEO_VALIDATION_PARAMETER_INVALID) | BIT(NEO_VALIDATION_MALFORMED_REQUEST) |
                             BIT(NEO_VALIDATION_REQUEST_TIMEOUT) | BIT(NEO_RATE_LIMIT_EXCEEDED) | BIT(NEO_INTERNAL_UNEXPECTED) |
                             BIT(NEO_FORBIDDEN_BY_SERVER) | BIT(NEO_INTERNAL_UNAVAILABLE) | BIT(NEO_INTERNAL_STATEMENT_TIMEOUT);
    for (apr_size_t i = 0; i < sizeof consequences / sizeof *consequences; i++)
        if (operation->accepts & consequences[i].accepts)
            all |= consequences[i].problems;
    if (operation->access >= NEO_ACCESS_ANY)
        all |= BIT(NEO_UNAUTHORIZED_AUTH_REQUIRED) | BIT(NEO_UNAUTHORIZED_INVALID_CREDENTIAL) |
               BIT(NEO_UNAUTHORIZED_REVOKED_CREDENTIAL) | BIT(NEO_FORBIDDEN_ORGANIZATION) |
               BIT(NEO_RATE_LIMIT_CONCURRENT_REQUESTS);
    if (operation->access >= NEO_ACCESS_READ)
        all |= BIT(NEO_FORBIDDEN_PERMISSIONS) | BIT(NEO_VALIDATION_ORGANIZATION_REQUIRED);
    if (strstr(operation->path, "{id}"))
        all |= BIT(NEO_NOT_FOUND_RESOURCE);
    return resource ? all | problems_of_resource(operation, resource) : all;
}
