/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the tables of rules between resources to a write (see model/business_rules.h). */
#include "model/business_rules.h"

#include <apr_strings.h>
#include <string.h>

static int is_among(const char *const *names, const char *name)
{
    for (; name && *names; names++)
        if (strcmp(*names, name) == 0)
            return 1;
    return 0;
}

static int is_changed(const neo_facts *facts, const char *name)
{
    const char *had = neo_json_string_at(facts->before, name), *has = neo_json_string_at(facts->after, name);
    return had && has ? strcmp(had, has) != 0 : had != has;
}

static int is_triggered(const neo_precondition *rule, const neo_facts *facts)
{
    const char *status = neo_json_string_at(facts->after, "status");
    if (rule->when == NEO_ON_DELETE || !facts->after)
        return rule->when == NEO_ON_DELETE && !facts->after;
    if (rule->when == NEO_FROM_STATUS)
        return is_among(rule->names, neo_json_string_at(facts->before, "status"));
    if (rule->when == NEO_ON_STATUS || rule->when == NEO_IN_STATUS)
        return is_among(rule->names, status) && (rule->when == NEO_IN_STATUS || is_changed(facts, "status"));
    for (const char *const *name = rule->names; *name && (facts->before || rule->when == NEO_ON_CHANGE); name++)
        if (is_changed(facts, *name))
            return 1;
    return 0;
}

const char *neo_facts_property_id(const neo_facts *facts)
{
    return facts->resource == &neo_property ? facts->id : neo_json_string_at(facts->after, "property_id");
}

/* The effect of the new status, whatever the status of the other resource. */
static const neo_effect *effect_of(const neo_facts *facts)
{
    const char *status = neo_json_string_at(facts->after, "status"), *kind = neo_json_string_at(facts->after, "kind");
    if (!facts->before || !status || !is_changed(facts, "status"))
        return NULL;
    for (const neo_effect *e = facts->resource->effects; e && e->state; e++)
        if (strcmp(e->state, status) == 0 && (!e->kind || strcmp(e->kind, kind) == 0))
            return e;
    return NULL;
}

/* Whether the new body leaves a value to a related resource. */
static int lacks_value(const neo_facts *facts)
{
    const unsigned int flags = NEO_ALWAYS | NEO_CONDITIONAL;
    for (const neo_field *f = facts->resource->fields; facts->resource->fill && facts->after && f->name; f++)
        if ((f->flags & flags) == flags && !neo_json_get(facts->after, f->name))
            return 1;
    return 0;
}

int neo_rules_need_facts(const neo_facts *facts)
{
    if (effect_of(facts) || lacks_value(facts))
        return 1;
    for (const neo_precondition *p = facts->resource->preconditions; p && p->check; p++)
        if (p->reads && neo_json_get(facts->after, p->reads) && is_triggered(p, facts))
            return 1;
    return 0;
}

const neo_effect *neo_rules_effect(const neo_facts *facts)
{
    const neo_effect *effect = effect_of(facts);
    if (!effect || !is_among(effect->from, neo_json_string_at(facts->property, "status")) ||
        (effect->applies && !effect->applies(facts)))
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

/* A missing property is not a violation: the statement that writes reports it. */
static neo_problem *check_effect(const neo_facts *facts, apr_pool_t *pool)
{
    const neo_effect *effect = effect_of(facts);
    const char *status = neo_json_string_at(facts->property, "status");
    if (!effect || !effect->is_required || !status || is_among(effect->from, status))
        return NULL;
    const char *because =
        facts->contract_id ? apr_psprintf(pool, " by the active %s contract %s", facts->contract_kind, facts->contract_id) : "";
    return neo_problem_make(pool, NEO_CONFLICT_PROPERTY_UNAVAILABLE,
                            "The %s cannot become %s: the property %s is %s%s. It must be %s; change its status or choose "
                            "another property.",
                            facts->resource->name, effect->state, neo_facts_property_id(facts), status, because,
                            list_of(effect->from, pool));
}

neo_problem *neo_rules_check(const neo_facts *facts, int is_history, apr_pool_t *pool)
{
    for (const neo_precondition *p = facts->resource->preconditions; p && p->check; p++) {
        const char *detail = is_triggered(p, facts) && !(is_history && p->is_of_the_moment) ? p->check(facts, pool) : NULL;
        if (detail)
            return neo_problem_make(pool, p->code, "%s", detail);
    }
    return is_history || !facts->after ? NULL : check_effect(facts, pool);
}
