/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl retention: rules by which the server erases old records. */
#include <apr_strings.h>

#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/session.h"

typedef neo_pg *opener(const neo_ctl *ctl, const char **error);

/* Runs a statement with the first of the parameters organization, kind and months, and prints the JSON that it returns. */
static neo_ctl_exit run(const neo_ctl *ctl, opener *open, int params, const char *sql)
{
    const char *values[] = {neo_ctl_value(ctl, "organization"), neo_ctl_value(ctl, "kind"), neo_ctl_value(ctl, "months")};
    neo_json *value = NULL;
    neo_rows rows;
    const char *error;
    neo_pg *pg = open(ctl, &error);
    if (pg)
        error = neo_pg_query(pg, sql, params, values, ctl->pool, &rows);
    if (!error)
        value = neo_json_parse(neo_rows_text(&rows, 0, 0), ctl->pool, &error);
    return neo_ctl_finish(ctl, error, value);
}

static neo_ctl_exit set_rule(neo_ctl *ctl)
{
    return run(ctl, neo_ctl_open, 3,
               "insert into neoapi.retention_rule as r (organization_id, kind, months) values ($1, $2, $3::int)"
               " on conflict (organization_id, kind) do update set months = excluded.months, checked_at = null"
               " returning json_build_object('organization', organization_id, 'kind', kind, 'months', months)");
}

static neo_ctl_exit remove_rule(neo_ctl *ctl)
{
    return run(ctl, neo_ctl_open, 2,
               "with gone as (delete from neoapi.retention_rule where organization_id = $1 and kind = $2 returning 1)"
               " select json_build_object('removed', count(*)) from gone");
}

static neo_ctl_exit list_rules(neo_ctl *ctl)
{
    return run(ctl, neo_ctl_open_to_read, 1,
               "select coalesce(json_agg(json_build_object('organization', r.organization_id, 'kind', r.kind,"
               " 'months', r.months, 'erased', r.erased, 'last_erased_at', neoapi.format_timestamp(r.last_erased_at),"
               " 'checked_at', neoapi.format_timestamp(r.checked_at)) order by r.organization_id, r.kind), '[]')"
               " from neoapi.retention_rule r where r.organization_id = $1 or $1 is null");
}

/* What a rule would erase now, also a rule that does not exist. */
static neo_ctl_exit preview(neo_ctl *ctl)
{
    return run(ctl, neo_ctl_open_to_read, 3,
               "select json_build_object('due', count(*), 'examples', (array_agg(d))[1:10])"
               " from neoapi.retention_due($1, $2, $3::int, 1000000) d");
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
     "The server's job \"retention\" looks for such records every hour. This cannot be undone; see `retention preview`. "
     "A rule never erases converted leads, nor parties to which contracts, properties or other parties refer.",
     kind, rule_options, set_rule, NULL, 0},
    {"retention", "list", "List the rules, and what they have erased.", NULL, NULL, list_options, list_rules, NULL, 0},
    {"retention", "preview", "Show what a rule would erase now.", NULL, kind, rule_options, preview, NULL, 0},
    {"retention", "remove", "Remove a rule.", NULL, kind, one_option, remove_rule, NULL, 0},
    {0},
};
