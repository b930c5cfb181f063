/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the page of business rules from the tables of the resources (see openapi/docs.h). */
#include <apr_strings.h>
#include <string.h>

#include "openapi/docs.h"
#include "schema/validate.h"

/* "`a`, `b` or `c`" */
static const char *quote_names(const char *const *names, apr_pool_t *pool)
{
    const char *list = "";
    for (const char *const *n = names; *n; n++)
        list = apr_pstrcat(pool, list, n == names ? "" : n[1] ? ", " : " or ", "`", *n, "`", NULL);
    return list;
}

static void add_list_item(neo_buf *out, const char *text, neo_code code)
{
    neo_buf_puts(out, "<li>");
    neo_buf_html(out, text);
    if (code != NEO_CODES)
        neo_buf_printf(out, " <a href=\"errors#%s\"><code>%s</code></a>", neo_code_row(code)->code, neo_code_row(code)->code);
    neo_buf_puts(out, "</li>\n");
}

/* Narrow screens show the label of a cell instead of the column's heading. */
static void add_cell(neo_buf *out, const char *label, const neo_buf *items)
{
    neo_buf_printf(out, items->len ? "<td data-label=\"%s\"><ul>\n%s</ul></td>" : "<td data-label=\"%s\">%s</td>", label,
                   items->len ? items->ptr : "–");
}

/* ---------------------------------------------------------------- transitions */

/* The beginning of a sentence about the target of an effect, which some have for one kind only. */
static const char *article(const neo_effect *e, apr_pool_t *pool)
{
    return e->kind ? apr_psprintf(pool, "`%s`: the", e->kind) : "The";
}

static const char *describe_effect(const neo_effect *e, const char *target, apr_pool_t *pool)
{
    return apr_psprintf(pool, "%s %s changes from %s to `%s`.%s%s", article(e, pool), target, quote_names(e->from, pool),
                        e->becomes, e->doc && !e->code ? " " : "", e->doc && !e->code ? e->doc : "");
}

static void add_requirements(neo_buf *items, const neo_resource *resource, const neo_transition *t)
{
    for (const neo_precondition *p = resource->preconditions; p->check; p++)
        if ((p->when == NEO_ON_STATUS || p->when == NEO_IN_STATUS) && neo_has_name(p->names, t->to))
            add_list_item(items, p->doc, p->code);
    for (const neo_effect *e = resource->effects; e && e->state; e++)
        if (strcmp(e->state, t->to) == 0 && e->code)
            add_list_item(items,
                          apr_psprintf(items->pool, "%s %s is %s.%s%s", article(e, items->pool),
                                       neo_effect_target(resource)->name, quote_names(e->from, items->pool), e->doc ? " " : "",
                                       e->doc ? e->doc : ""),
                          e->code);
}

static void add_consequences(neo_buf *items, const neo_resource *resource, const neo_transition *t)
{
    if (t->timestamp_field)
        add_list_item(items, apr_psprintf(items->pool, "`%s` is set.", t->timestamp_field), NEO_CODES);
    for (const neo_effect *e = resource->effects; e && e->state; e++)
        if (strcmp(e->state, t->to) == 0)
            add_list_item(items, describe_effect(e, neo_effect_target(resource)->name, items->pool), NEO_CODES);
    if (t->after_date)
        add_list_item(items,
                      apr_psprintf(items->pool, "The service makes this change itself, within a minute after the day in `%s`.",
                                   t->after_date),
                      NEO_CODES);
}

static void add_transition(neo_buf *out, const neo_resource *resource, const neo_transition *t)
{
    neo_buf needs, does;
    neo_buf_init(&needs, out->pool, 512);
    neo_buf_init(&does, out->pool, 512);
    add_requirements(&needs, resource, t);
    add_consequences(&does, resource, t);
    neo_buf_printf(out, "<tr><td data-label=\"From\"><code>%s</code></td><td data-label=\"To\"><code>%s</code></td>", t->from,
                   t->to);
    add_cell(out, "Requires", &needs);
    add_cell(out, "Effects", &does);
    neo_buf_puts(out, "</tr>\n");
}

static void add_transitions(neo_buf *out, const neo_resource *resource)
{
    neo_buf_puts(out, "<table>\n<caption>Transitions</caption>\n<thead><tr><th>From</th><th>To</th><th>Requires</th>"
                      "<th>Effects</th></tr></thead>\n<tbody>\n");
    for (const neo_transition *t = resource->transitions; t->from; t++)
        add_transition(out, resource, t);
    neo_buf_puts(out, "</tbody>\n</table>\n");
}

/* ---------------------------------------------------------------- the other rules */

static const char *describe_occasion(const neo_precondition *p, apr_pool_t *pool)
{
    const char *names = p->names ? quote_names(p->names, pool) : "";
    switch (p->when) {
    case NEO_FROM_STATUS: return apr_psprintf(pool, "Changing it once it is %s", names);
    case NEO_IN_STATUS: return apr_psprintf(pool, "While it is %s", names);
    case NEO_ON_CHANGE: return apr_psprintf(pool, "Setting or changing %s", names);
    case NEO_ON_UPDATE: return apr_psprintf(pool, "Changing %s", names);
    case NEO_ON_DELETE: return "Deleting it";
    case NEO_ON_STATUS: break;
    }
    return apr_psprintf(pool, "Becoming %s", names);
}

static void add_rules(neo_buf *out, const neo_resource *resource)
{
    neo_buf_puts(out, "<table>\n<caption>Rules</caption>\n<thead><tr><th>When</th><th>Rule</th><th>Otherwise</th>"
                      "<th>Source</th></tr></thead>\n<tbody>\n");
    for (const neo_precondition *p = resource->preconditions; p->check; p++) {
        neo_buf_puts(out, "<tr><td data-label=\"When\">");
        neo_buf_html(out, describe_occasion(p, out->pool));
        neo_buf_puts(out, "</td><td data-label=\"Rule\">");
        neo_buf_html(out, p->doc);
        neo_buf_printf(
            out, "</td><td data-label=\"Otherwise\"><a href=\"errors#%s\"><code>%s</code></a></td><td data-label=\"Source\">",
            neo_code_row(p->code)->code, neo_code_row(p->code)->code);
        neo_buf_html(out, p->source ? p->source : "–");
        neo_buf_puts(out, "</td></tr>\n");
    }
    neo_buf_puts(out, "</tbody>\n</table>\n");
}

/* ---------------------------------------------------------------- effects */

static void add_effects_on(neo_buf *out, const neo_resource *target)
{
    neo_buf_printf(out,
                   "<table>\n<caption>Effects on the %s</caption>\n<thead><tr><th>Of a</th><th>Becoming</th>"
                   "<th>%s is</th><th>Becomes</th><th>Otherwise</th></tr></thead>\n<tbody>\n",
                   target->name, target->title);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (const neo_effect *e = (*r)->effects; e && e->state && neo_effect_target(*r) == target; e++) {
            neo_buf_printf(out,
                           "<tr><td data-label=\"Of a\">%s%s%s</td><td data-label=\"Becoming\"><code>%s</code></td><td "
                           "data-label=\"%s is\">",
                           e->kind ? e->kind : "", e->kind ? " " : "", (*r)->name, e->state, target->title);
            neo_buf_html(out, quote_names(e->from, out->pool));
            neo_buf_printf(out,
                           "</td><td data-label=\"Becomes\"><code>%s</code></td><td data-label=\"Otherwise\">%s</td></tr>\n",
                           e->becomes, e->code ? "refused" : "unchanged");
        }
    neo_buf_puts(out, "</tbody>\n</table>\n");
}

void neo_rules_add(neo_buf *out, const neo_resource *resource)
{
    if (resource->transitions)
        add_transitions(out, resource);
    else
        add_effects_on(out, resource);
    add_rules(out, resource);
}
