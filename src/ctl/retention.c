/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl retention: rules by which the server erases old records. */
#include <apr_strings.h>

#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/session.h"

typedef neo_pg *opener(const neo_ctl *ctl, const char **error);

static const char *query(const neo_ctl *ctl, opener *open, const char *sql, int params, const char *const *values,
                         neo_json **value)
{
    neo_rows rows;
    const char *error;
    neo_pg *pg = open(ctl, &error);
    if (pg)
        error = neo_pg_query(pg, sql, params, values, ctl->pool, &rows);
    if (!error)
        *value = neo_json_parse(neo_rows_text(&rows, 0, 0), ctl->pool, &error);
    return error;
}

static neo_ctl_exit set_rule(neo_ctl *ctl)
{
    neo_json *value = NULL;
    const char *values[] = {neo_ctl_value(ctl, "organization"), neo_ctl_value(ctl, "kind"), neo_ctl_value(ctl, "months")};
    const char *error = query(ctl, neo_ctl_open,
                              "insert into neoapi.retention_rule as r (organization_id, kind, months) values ($1, $2, $3::int)"
                              " on conflict (organization_id, kind) do update set months = excluded.months, checked_at = null"
                              " returning json_build_object('organization', organization_id, 'kind', kind, 'months', months)",
                              3, values, &value);
    return neo_ctl_finish(ctl, error, value);
}

static neo_ctl_exit remove_rule(neo_ctl *ctl)
{
    neo_json *value = NULL;
    const char *values[] = {neo_ctl_value(ctl, "organization"), neo_ctl_value(ctl, "kind")};
    const char *error =
        query(ctl, neo_ctl_open,
              "with gone as (delete from neoapi.retention_rule where organization_id = $1 and kind = $2 returning 1)"
              " select json_build_object('removed', count(*)) from gone",
              2, values, &value);
    return neo_ctl_finish(ctl, error, value);
}

static neo_ctl_exit list_rules(neo_ctl *ctl)
{
    neo_json *value = NULL;
    const char *values[] = {neo_ctl_value(ctl, "organization")};
    const char *error = query(
        ctl, neo_ctl_open_to_read,
        "select coalesce(json_agg(json_build_object('organization', r.organization_id, 'kind', r.kind, 'months', r.months,"
        " 'erased', r.erased, 'last_erased_at', neoapi.format_timestamp(r.last_erased_at),"
        " 'checked_at', neoapi.format_timestamp(r.checked_at)) order by r.organization_id, r.kind), '[]')"
        " from neoapi.retention_rule r where r.organization_id = $1 or $1 is null",
        1, values, &value);
    return neo_ctl_finish(ctl, error, value);
}

/* What rules would erase now, also rules that do not exist. */
static neo_ctl_exit preview(neo_ctl *ctl)
{
    neo_json *value = NULL;
    const char *values[] = {neo_ctl_value(ctl, "organization"), neo_ctl_value(ctl, "kind"), neo_ctl_value(ctl, "months")};
    const char *error = query(ctl, neo_ctl_open_to_read,
                              "select json_build_object('due', count(*), 'examples', (array_agg(d))[1:10])"
                              " from neoapi.retention_due($1, $2, $3::int, 1000000) d",
                              3, values, &value);
    return neo_ctl_finish(ctl, error, value);
}

static const neo_parameter kind[] = {
    {"kind", NEO_KIND_RETENTION, 0, NULL,
     "what is erased: leads without contact, candidates whose proposals were declined, messages"},
    {0},
};

/* clang-format off */
#define ORGANIZATION {"organization", NEO_KIND_ORGANIZATION_ID, NEO_PARAMETER_REQUIRED, NULL, "the organization"}
#define MONTHS       {"months", NEO_KIND_MONTHS, NEO_PARAMETER_REQUIRED, NULL, "the months after the last contact, decision or message"}
/* clang-format on */

static const neo_parameter rule_options[] = {ORGANIZATION, MONTHS, {0}};
static const neo_parameter one_option[] = {ORGANIZATION, {0}};
static const neo_parameter list_options[] = {
    {"organization", NEO_KIND_ORGANIZATION_ID, 0, NULL, "only the rules of this organization"}, {0}};

const neo_ctl_command neo_ctl_retention[] = {
    {"retention", "set", "Erase records of an organization after some months.",
     "The server's job \"retention\" looks for such records every hour. Converted leads, and parties that contracts, "
     "properties or "
     "other parties refer to, are never erased by a rule. This cannot be undone; see `retention preview`.",
     kind, rule_options, set_rule, NULL, 0},
    {"retention", "list", "List the rules, and what they have erased.", NULL, NULL, list_options, list_rules, NULL, 0},
    {"retention", "preview", "Show what a rule would erase now.", NULL, kind, rule_options, preview, NULL, 0},
    {"retention", "remove", "Remove a rule.", NULL, kind, one_option, remove_rule, NULL, 0},
    {0},
};
