/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the tables of rules between resources to a write (see schema/business_rules.h). */
#include "schema/business_rules.h"

#include <apr_strings.h>
#include <string.h>

static int is_among(const char *const *names, const char *name)
{
    for (; name && *names; names++)
        if (strcmp(*names, name) == 0)
            return 1;
    return 0;
}

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
        return is_among(rule->names, neo_json_string_at(input->before, "status"));
    if (rule->when == NEO_ON_STATUS || rule->when == NEO_IN_STATUS)
        return is_among(rule->names, status) && (rule->when == NEO_IN_STATUS || is_changed(input, "status"));
    for (const char *const *name = rule->names; *name && (input->before || rule->when == NEO_ON_CHANGE); name++)
        if (is_changed(input, *name))
            return 1;
    return 0;
}

static const neo_json *body(const neo_rule_input *input)
{
    return input->after ? input->after : input->before;
}

const char *neo_rule_property_id(const neo_rule_input *input)
{
    return strcmp(input->resource->name, "property") == 0 ? input->id : neo_json_string_at(body(input), "property_id");
}

const char *neo_rule_proposal_id(const neo_rule_input *input)
{
    return strcmp(input->resource->name, "proposal") == 0 ? input->id : neo_json_string_at(body(input), "proposal_id");
}

/* The effect of the new status, whatever the status of the other resource. */
static const neo_effect *effect_of(const neo_rule_input *input)
{
    const char *status = neo_json_string_at(input->after, "status"), *kind = neo_json_string_at(input->after, "kind");
    if (!input->before || !status || !is_changed(input, "status"))
        return NULL;
    for (const neo_effect *e = input->resource->effects; e && e->state; e++)
        if (strcmp(e->state, status) == 0 && (!e->kind || strcmp(e->kind, kind) == 0))
            return e;
    return NULL;
}

/* Whether the new body leaves a value to a related resource. */
static int lacks_value(const neo_rule_input *input)
{
    const unsigned int flags = NEO_ALWAYS | NEO_CONDITIONAL;
    for (const neo_field *f = input->resource->fields; input->resource->fill && input->after && f->name; f++)
        if ((f->flags & flags) == flags && !neo_json_get(input->after, f->name))
            return 1;
    return 0;
}

int neo_rules_need_input(const neo_rule_input *input)
{
    if (effect_of(input) || lacks_value(input))
        return 1;
    for (const neo_precondition *p = input->resource->preconditions; p && p->check; p++)
        if (p->reads && neo_json_get(body(input), p->reads) && is_triggered(p, input))
            return 1;
    return 0;
}

const neo_effect *neo_rules_effect(const neo_rule_input *input)
{
    const neo_effect *effect = effect_of(input);
    if (!effect || !is_among(effect->from, neo_json_string_at(input->property, "status")) ||
        (effect->applies && !effect->applies(input)))
        return NULL;
    return effect;
}

static const char *list_of(const char *const *names, apr_pool_t *pool)
{
    const char *list = "";
    for (const char *const *n = names; *n; n++)
        list = apr_pstrcat(pool, list, n == names ? "" : n[1] ? ", " : " or ", *n, NULL);
    return list;
}

/* Whether the property was given the status of the deal before its contract. No other contract is active: that is checked
 * first. */
static int is_already(const neo_effect *effect, const neo_rule_input *input, const char *status)
{
    return neo_json_get(input->after, "proposal_id") && strcmp(status, effect->becomes) == 0;
}

/* A missing property is not a violation: the statement that writes reports it. */
static neo_problem *check_effect(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_effect *effect = effect_of(input);
    const char *status = neo_json_string_at(input->property, "status");
    if (!effect || !effect->is_required || !status || is_among(effect->from, status) || is_already(effect, input, status))
        return NULL;
    const char *because =
        input->contract_id ? apr_psprintf(pool, " by the active %s contract %s", input->contract_kind, input->contract_id) : "";
    return neo_problem_make(pool, NEO_CONFLICT_PROPERTY_UNAVAILABLE,
                            "The %s cannot become %s: the property %s is %s%s. It must be %s; change its status or choose "
                            "another property.",
                            input->resource->name, effect->state, neo_rule_property_id(input), status, because,
                            list_of(effect->from, pool));
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
