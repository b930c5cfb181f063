/* SPDX-License-Identifier: Apache-2.0 */
/* What operations accept, of which resources they are, and which errors they return (see schema/operation.h). */
#include "schema/operation.h"

#include <string.h>

#include "schema/references.h"

#define BIT NEO_PROBLEM_BIT

unsigned int neo_operation_accepts(const neo_operation *operation, const neo_resource *resource)
{
    return operation->accepts & ~(resource && resource->transitions ? 0u : (unsigned int)NEO_ACCEPTS_IMPORT);
}

/* A client that sends one with a PUT that creates expects the 201 again. */
int neo_operation_refuses_key(const neo_operation *operation)
{
    return operation->status_existing && !(operation->accepts & NEO_ACCEPTS_IDEMPOTENCY_KEY);
}

int neo_operation_is_by_external_id(const neo_operation *operation)
{
    return operation->only == NEO_ONLY_WITH_EXTERNAL_ID;
}

int neo_operation_applies_to(const neo_operation *operation, const neo_resource *resource)
{
    switch (operation->only) {
    case NEO_ONLY_WITH_EVENTS: return resource->has_events;
    case NEO_ONLY_WITH_BATCH: return resource->has_batch;
    case NEO_ONLY_WITH_EXTERNAL_ID: return neo_has_external_id(resource);
    default: return 1;
    }
}

const neo_filter *neo_operation_filter(const neo_operation *operation, const neo_resource *resource, const char *name)
{
    return operation->filters ? neo_filter_in(operation->filters, name) : neo_filter_named(resource, name);
}

/* ---------------------------------------------------------------- problems */

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
static unsigned long long resource_problems(const neo_operation *operation, const neo_resource *resource)
{
    int is_written = operation->accepts & NEO_ACCEPTS_BODY && !operation->body;
    unsigned long long all = 0;
    if (is_written && neo_has_references(resource))
        all |= BIT(NEO_VALIDATION_FIELD_NOT_FOUND);
    if (is_written && resource->transitions)
        all |= BIT(NEO_CONFLICT_INVALID_TRANSITION);
    int creates = operation->is_create;
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
               BIT(NEO_UNAUTHORIZED_REVOKED_CREDENTIAL) | BIT(NEO_UNAUTHORIZED_EXPIRED_CREDENTIAL) |
               BIT(NEO_FORBIDDEN_NETWORK) | BIT(NEO_FORBIDDEN_ORGANIZATION) | BIT(NEO_RATE_LIMIT_CONCURRENT_REQUESTS);
    if (neo_operation_refuses_key(operation))
        all |= BIT(NEO_VALIDATION_IDEMPOTENCY_KEY_INVALID);
    if (operation->access >= NEO_ACCESS_READ)
        all |= BIT(NEO_FORBIDDEN_PERMISSIONS) | BIT(NEO_VALIDATION_ORGANIZATION_REQUIRED);
    if (strstr(operation->path, "{id}"))
        all |= BIT(NEO_NOT_FOUND_RESOURCE);
    return resource ? all | resource_problems(operation, resource) : all;
}
