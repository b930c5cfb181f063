/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the tables of rules between resources to a write (see schema/business_rules.h). */
#include "schema/business_rules.h"

#include <string.h>

#include "schema/validate.h"

static int is_changed(const neo_rule_input *input, const char *name)
{
    const char *had = neo_json_string_at(input->before, name), *has = neo_json_string_at(input->after, name);
    return had && has ? strcmp(had, has) != 0 : had != has;
}

static int is_triggered(const neo_precondition *rule, const neo_rule_input *input)
{
    const char *status = neo_json_string_at(input->after, "status");
    if (rule->when == NEO_ON_DELETE || !input->after)
        return rule->when == NEO_ON_DELETE && !input->after;
    if (rule->when == NEO_FROM_STATUS)
        return neo_has_name(rule->names, neo_json_string_at(input->before, "status"));
    if (rule->when == NEO_ON_STATUS || rule->when == NEO_IN_STATUS)
        return neo_has_name(rule->names, status) && (rule->when == NEO_IN_STATUS || is_changed(input, "status"));
    for (const char *const *name = rule->names; *name && (input->before || rule->when == NEO_ON_CHANGE); name++)
        if (is_changed(input, *name))
            return 1;
    return 0;
}

static const neo_json *written_body(const neo_rule_input *input)
{
    return input->after ? input->after : input->before;
}

const char *neo_rule_related_id(const neo_rule_input *input, const neo_resource *kind)
{
    for (const neo_field *f = input->resource->fields; input->resource != kind && f->name; f++)
        if (f->type == NEO_REFERENCE && f->refers == kind)
            return neo_json_string_at(written_body(input), f->name);
    return input->resource == kind ? input->id : NULL;
}

/* The status of the row that the effects change; NULL if it does not exist. */
static const char *target_status(const neo_rule_input *input)
{
    const neo_resource *target = neo_effect_target(input->resource);
    int i = 0;
    while (input->resource->reads[i].resource != target)
        i++;
    return neo_json_string_at(input->read[i], "status");
}

/* The effect of the new status, whatever the status of the other resource. */
static const neo_effect *find_effect(const neo_rule_input *input)
{
    const char *status = neo_json_string_at(input->after, "status"), *kind = neo_json_string_at(input->after, "kind");
    if (!input->before || !status || !is_changed(input, "status"))
        return NULL;
    for (const neo_effect *e = input->resource->effects; e && e->state; e++)
        if (strcmp(e->state, status) == 0 && (!e->kind || strcmp(e->kind, kind) == 0))
            return e;
    return NULL;
}

int neo_rules_need_input(const neo_rule_input *input)
{
    const unsigned int flags = NEO_ALWAYS | NEO_CONDITIONAL; /* a value that a related resource may give */
    for (const neo_field *f = input->resource->fields; input->resource->fill && input->after && f->name; f++)
        if ((f->flags & flags) == flags && !neo_json_get(input->after, f->name))
            return 1;
    for (const neo_precondition *p = input->resource->preconditions; p && p->check; p++)
        if (p->reads_if && neo_json_get(written_body(input), p->reads_if) && is_triggered(p, input))
            return 1;
    return find_effect(input) != NULL;
}

neo_target neo_rules_target(const neo_rule_input *input)
{
    const neo_effect *effect = find_effect(input);
    if (input->is_history && input->read_version)
        return (neo_target){neo_rule_related_id(input, neo_effect_target(input->resource)), input->read_version, NULL};
    if (!effect || !neo_has_name(effect->from, target_status(input)) || (effect->applies && !effect->applies(input)))
        return (neo_target){0};
    return (neo_target){neo_rule_related_id(input, neo_effect_target(input->resource)), input->read_version, effect->becomes};
}

/* A missing row is not a violation: the statement that writes reports it. */
static neo_problem *check_effect(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_effect *effect = find_effect(input);
    const neo_resource *target = neo_effect_target(input->resource);
    const char *status = effect && effect->code ? target_status(input) : NULL;
    if (!status || neo_has_name(effect->from, status) ||
        (effect->unless_with && neo_json_get(input->after, effect->unless_with) && strcmp(status, effect->becomes) == 0))
        return NULL;
    return neo_problem_make(pool, effect->code,
                            "The %s cannot become %s: the %s %s is %s%s. It must be %s; change its status or choose "
                            "another %s.",
                            input->resource->name, effect->state, target->name, neo_rule_related_id(input, target), status,
                            effect->because ? effect->because(input, pool) : "", neo_join_alternatives(effect->from, pool),
                            target->name);
}

neo_problem *neo_rules_check(const neo_rule_input *input, apr_pool_t *pool)
{
    for (const neo_precondition *p = input->resource->preconditions; p && p->check; p++) {
        const char *detail = is_triggered(p, input) && !(input->is_history && p->is_time_rule) ? p->check(input, pool) : NULL;
        if (!detail)
            continue;
        const char *field = p->when == NEO_ON_UPDATE ? *p->names : NULL;
        neo_problem *problem = neo_problem_make(pool, p->code, "%s%s%s", field ? field : "", field ? ": " : "", detail);
        problem->field = field;
        return problem;
    }
    return input->is_history || !input->after ? NULL : check_effect(input, pool);
}
