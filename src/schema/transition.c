/* SPDX-License-Identifier: Apache-2.0 */
/* Transitions of status (see schema/business_rules.h). */
#include "schema/business_rules.h"

#include <apr_strings.h>
#include <string.h>

int neo_transition_sets(const neo_resource *resource, const neo_field *field)
{
    for (const neo_transition *t = resource->transitions; t && t->from; t++)
        if (t->timestamp_field && strcmp(t->timestamp_field, field->name) == 0)
            return 1;
    return 0;
}

/* Whether transitions lead from one status to the other. Those that set fields are not part of a cycle. */
static int can_lead_to(const neo_resource *resource, const char *from, const char *to)
{
    int is_reached = strcmp(from, to) == 0;
    for (const neo_transition *t = resource->transitions; t->from && !is_reached; t++)
        is_reached = strcmp(t->from, from) == 0 && can_lead_to(resource, t->to, to);
    return is_reached;
}

int neo_transition_has_set(const neo_resource *resource, const neo_field *field, const char *status)
{
    for (const neo_transition *t = resource->transitions; t && t->from; t++)
        if (t->timestamp_field && strcmp(t->timestamp_field, field->name) == 0 && can_lead_to(resource, t->to, status))
            return 1;
    return 0;
}

/* "submitted, rejected or withdrawn": the statuses that can follow `from`, after `first` if not NULL. A final status has "". */
static const char *list_from(const neo_resource *resource, const char *from, const char *first, apr_pool_t *pool)
{
    const char *list = "", *last = first;
    for (const neo_transition *t = resource->transitions; t->from; t++) {
        if (strcmp(t->from, from) != 0)
            continue;
        if (last)
            list = apr_pstrcat(pool, list, *list ? ", " : "", last, NULL);
        last = t->to;
    }
    return apr_pstrcat(pool, list, *list ? " or " : "", last, NULL);
}

static neo_problem *refuse_transition(const neo_resource *resource, const char *from, const char *to, const char *default_value,
                                      apr_pool_t *pool)
{
    const char *name = resource->name;
    if (!from)
        return neo_problem_make(pool, NEO_CONFLICT_INVALID_TRANSITION,
                                "A %s cannot be created with the status %s; it can be created with %s.", name, to,
                                list_from(resource, default_value, default_value, pool));
    const char *next = list_from(resource, from, NULL, pool);
    if (!*next)
        return neo_problem_make(pool, NEO_CONFLICT_INVALID_TRANSITION,
                                "The status of this %s is %s, which is final: it cannot become %s.", name, from, to);
    return neo_problem_make(pool, NEO_CONFLICT_INVALID_TRANSITION,
                            "The status of this %s cannot change from %s to %s; it can become %s.", name, from, to, next);
}

neo_problem *neo_transition_check(const neo_resource *resource, const char *from, const char *to, apr_pool_t *pool,
                                  const char **timestamp_field)
{
    *timestamp_field = NULL;
    if (!resource->transitions)
        return NULL;
    const char *default_value = neo_field_named(resource->fields, "status")->default_value,
               *start = from ? from : default_value;
    if (strcmp(start, to) == 0)
        return NULL;
    for (const neo_transition *t = resource->transitions; t->from; t++)
        if (strcmp(t->from, start) == 0 && strcmp(t->to, to) == 0) {
            *timestamp_field = t->timestamp_field;
            return NULL;
        }
    return refuse_transition(resource, from, to, default_value, pool);
}
