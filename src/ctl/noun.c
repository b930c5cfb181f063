/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the commands create, list, change and remove from the tables of nouns (see ctl/noun.h). */
#include "ctl/noun.h"

#include <apr_strings.h>
#include <string.h>

#include "api/cache_sync.h"
#include "core/id.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "pg/pg.h"

/* ---------------------------------------------------------------- parameters */

/* Only `create` has required fields and defaults. */
static neo_parameter field_parameter(const neo_noun_field *field, neo_use use, apr_pool_t *pool)
{
    neo_parameter p = field->parameter;
    if (use != NEO_USE_CREATE) {
        p.flags &= NEO_PARAMETER_REPEATED;
        p.default_value = NULL;
    }
    if (use == NEO_USE_LIST)
        p.summary = apr_pstrcat(pool, "only of this ", p.name, NULL);
    if (use == NEO_USE_CHANGE && field->change_summary)
        p.summary = field->change_summary;
    return p;
}

/* Adds the fields whose flags that are in `mask` are `flags`. */
static void add_parameters(apr_array_header_t *list, const neo_ctl_command *command, unsigned int mask, unsigned int flags)
{
    for (const neo_noun_field *f = command->noun->fields; f->column; f++)
        if ((f->parameter.flags & mask) == flags)
            APR_ARRAY_PUSH(list, neo_parameter) = field_parameter(f, command->use, list->pool);
}

static const neo_parameter *terminate(apr_array_header_t *list)
{
    if (list->nelts)
        APR_ARRAY_PUSH(list, neo_parameter) = (neo_parameter){0};
    return list->nelts ? (const neo_parameter *)list->elts : NULL;
}

/* Derives arguments and options of a command that has a noun. Arguments of its row are kept; options of its row follow the
 * derived ones. The argument of `create` is the first option of `change`. */
static void derive_parameters(neo_ctl_command *command, apr_pool_t *pool)
{
    apr_array_header_t *arguments = apr_array_make(pool, 2, sizeof(neo_parameter));
    apr_array_header_t *options = apr_array_make(pool, 8, sizeof(neo_parameter));
    if (command->use == NEO_USE_CREATE)
        add_parameters(arguments, command, NEO_USE_ARGUMENT, NEO_USE_ARGUMENT);
    else if (command->use != NEO_USE_LIST)
        APR_ARRAY_PUSH(arguments, neo_parameter) = command->noun->one;
    if (command->use == NEO_USE_CHANGE)
        add_parameters(options, command, NEO_USE_CHANGE | NEO_USE_ARGUMENT, NEO_USE_CHANGE | NEO_USE_ARGUMENT);
    if (command->use != NEO_USE_ONE)
        add_parameters(options, command, command->use | NEO_USE_ARGUMENT, command->use);
    for (const neo_parameter *own = command->options; own && own->name; own++)
        APR_ARRAY_PUSH(options, neo_parameter) = *own;
    if (!command->arguments)
        command->arguments = terminate(arguments);
    command->options = terminate(options);
}

/* ---------------------------------------------------------------- create and list */

static const char *networks_text(const char *text, apr_pool_t *pool)
{
    neo_buf array;
    apr_array_header_t *networks = neo_ctl_networks(text, pool);
    neo_buf_init(&array, pool, 128);
    for (int i = 0; i < networks->nelts; i++)
        neo_array_add(&array, APR_ARRAY_IDX(networks, i, const char *));
    return neo_array_end(&array);
}

/* The values of a repeated option as the text of a PostgreSQL array. Values of an enumeration are in its order. */
static const char *array_text(const neo_ctl *ctl, const neo_parameter *option)
{
    neo_buf array;
    apr_array_header_t *given = neo_ctl_values(ctl, option->name), *words = neo_ctl_value_words(option->kind, ctl->pool);
    neo_buf_init(&array, ctl->pool, 128);
    for (int i = 0; i < (words ? words : given)->nelts; i++) {
        const char *value = APR_ARRAY_IDX(words ? words : given, i, const char *);
        if (neo_ctl_is_among(given, value))
            neo_array_add(&array, value);
    }
    return neo_array_end(&array);
}

apr_array_header_t *neo_ctl_settings(const neo_ctl *ctl)
{
    apr_array_header_t *settings = neo_admin_settings(ctl->pool, NULL);
    for (const neo_noun_field *f = ctl->command->noun->fields; f->column; f++) {
        const neo_parameter *p = &f->parameter;
        const char *value = p->name ? neo_ctl_value(ctl, p->name) : NULL;
        if (!value)
            continue;
        if (p->flags & NEO_PARAMETER_REPEATED)
            value = array_text(ctl, p);
        else if (p->kind == NEO_KIND_NETWORKS)
            value = networks_text(value, ctl->pool);
        else if (p->kind == NEO_KIND_FLAG || (p->kind == NEO_KIND_LIMIT && strcmp(value, "unlimited") == 0))
            value = NULL;
        neo_admin_set(settings, f->column, value);
    }
    return settings;
}

/* The value of the column that identifies a row: among `settings`, else a new id, which is added to them. */
static const char *choose_key(const neo_noun *noun, apr_array_header_t *settings)
{
    for (int i = 0; i < settings->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(settings, i, neo_admin_setting).column, noun->key) == 0)
            return APR_ARRAY_IDX(settings, i, neo_admin_setting).value;
    char *id = apr_palloc(settings->pool, NEO_ID_SIZE);
    neo_id_issue(id, neo_ctl_id_prefix(noun->one.kind));
    neo_admin_set(settings, noun->key, id);
    return id;
}

static neo_ctl_exit run_create(neo_ctl *ctl)
{
    const char *error;
    apr_array_header_t *settings = neo_ctl_settings(ctl);
    const char *key = choose_key(ctl->command->noun, settings);
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_create(pg, ctl->command->noun, settings, ctl->pool);
    return neo_ctl_finish(ctl, error, neo_ctl_object(ctl, ctl->command->noun->key, key, NULL));
}

static neo_ctl_exit run_list(neo_ctl *ctl)
{
    const char *error;
    neo_json *list = NULL;
    neo_admin_setting filter = {0};
    for (const neo_noun_field *f = ctl->command->noun->fields; f->column; f++)
        if (f->parameter.flags & NEO_USE_LIST)
            filter = (neo_admin_setting){f->column, neo_ctl_value(ctl, f->parameter.name)};
    neo_pg *pg = neo_ctl_open_to_read(ctl, &error);
    if (pg)
        error = neo_admin_list(pg, ctl->command->noun, filter, ctl->pool, &list);
    return neo_ctl_finish(ctl, error, list);
}

/* ---------------------------------------------------------------- change and remove */

neo_ctl_exit neo_ctl_await_cache_sync(const neo_ctl *ctl, neo_pg *pg, const char *what_is_done)
{
    if (neo_cache_sync_await(pg, ctl->pool))
        return NEO_CTL_OK;
    neo_ctl_say(ctl, "%s, but not every server has confirmed it. All apply it within %d seconds.", what_is_done,
                NEO_CACHE_SYNC_MAX_DELAY_S);
    return NEO_CTL_UNCONFIRMED;
}

neo_ctl_exit neo_ctl_finish_change(neo_ctl *ctl, neo_pg *pg, const char *error, const char *what_is_done)
{
    const char *key = neo_ctl_value(ctl, ctl->command->arguments->name);
    neo_ctl_exit status = neo_ctl_finish(ctl, error, neo_ctl_object(ctl, ctl->command->noun->key, key, NULL));
    if (status == NEO_CTL_OK)
        status = neo_ctl_await_cache_sync(ctl, pg, what_is_done);
    if (status == NEO_CTL_OK)
        neo_ctl_say(ctl, "%s. It has taken effect on all servers.", what_is_done);
    return status;
}

/* Two options that set the same field, of which one removes its value; NULL if there are none. */
static const char *find_contradiction(const neo_ctl *ctl)
{
    for (const neo_noun_field *f = ctl->command->noun->fields; f->column; f++)
        for (const neo_noun_field *other = f + 1; f->parameter.name && other->column; other++)
            if (other->parameter.name && strcmp(other->column, f->column) == 0 && neo_ctl_value(ctl, f->parameter.name) &&
                neo_ctl_value(ctl, other->parameter.name))
                return apr_pstrcat(ctl->pool, "--", f->parameter.name, " and --", other->parameter.name, NULL);
    return NULL;
}

neo_ctl_exit neo_ctl_run_change(neo_ctl *ctl)
{
    const char *error, *options = "", *both = find_contradiction(ctl);
    if (both)
        return neo_ctl_usage_error(ctl, "%s cannot be combined", both);
    apr_array_header_t *settings = neo_ctl_settings(ctl);
    for (const neo_parameter *o = ctl->command->options; o->name && !settings->nelts; o++)
        options = apr_pstrcat(ctl->pool, options, *options ? ", --" : "--", o->name, NULL);
    if (!settings->nelts)
        return neo_ctl_usage_error(ctl, "no change is given; the options are %s", options);
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error =
            neo_admin_change(pg, ctl->command->noun, neo_ctl_value(ctl, ctl->command->arguments->name), settings, ctl->pool);
    return neo_ctl_finish_change(ctl, pg, error, "Changed");
}

static neo_ctl_exit run_remove(neo_ctl *ctl)
{
    const char *error;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_remove(pg, ctl->command->noun, neo_ctl_value(ctl, ctl->command->arguments->name),
                                 neo_ctl_value(ctl, "with-conversations") != NULL, ctl->pool);
    return neo_ctl_finish_change(ctl, pg, error, "Removed");
}

const neo_parameter neo_ctl_remove_options[] = {
    {"with-conversations", NEO_KIND_FLAG, 0, NULL, "also remove its conversations, with their messages"},
    {0},
};

/* ---------------------------------------------------------------- the tables */

#define NEO_CTL_GROUP(name) neo_ctl_##name,
static const neo_ctl_command *const tables[] = {NEO_CTL_GROUP_LIST(NEO_CTL_GROUP) NULL};

const neo_ctl_command *neo_ctl_groups[sizeof tables / sizeof *tables];

void neo_ctl_make_commands(apr_pool_t *pool)
{
    for (int i = 0; tables[i]; i++) {
        apr_size_t count = 1;
        while (tables[i][count - 1].group)
            count++;
        neo_ctl_command *commands = apr_pmemdup(pool, tables[i], count * sizeof *commands);
        for (neo_ctl_command *c = commands; c->group; c++) {
            if (!c->noun)
                continue;
            derive_parameters(c, pool);
            if (!c->run)
                c->run = c->use == NEO_USE_CREATE   ? run_create
                         : c->use == NEO_USE_LIST   ? run_list
                         : c->use == NEO_USE_CHANGE ? neo_ctl_run_change
                                                    : run_remove;
        }
        neo_ctl_groups[i] = commands;
    }
}

const neo_ctl_command neo_ctl_plan[] = {
    {"plan", "create", "Create a plan: limits for tenants.", .noun = &neo_noun_plan, .use = NEO_USE_CREATE},
    {"plan", "list", "List the plans.", .noun = &neo_noun_plan, .use = NEO_USE_LIST},
    {"plan", "change", "Change a plan for all tenants that have it. Takes effect at once.", .noun = &neo_noun_plan,
     .use = NEO_USE_CHANGE},
    {"plan", "remove", "Remove a plan that no tenant has.", "The plan \"default\" cannot be removed.", .noun = &neo_noun_plan,
     .use = NEO_USE_ONE},
    {0},
};

const neo_ctl_command neo_ctl_tenant[] = {
    {"tenant", "create", "Create a tenant: a company with organizations and users.", .noun = &neo_noun_tenant,
     .use = NEO_USE_CREATE},
    {"tenant", "list", "List the tenants.", .noun = &neo_noun_tenant, .use = NEO_USE_LIST},
    {"tenant", "change", "Change a tenant's name or plan. Takes effect at once.", .noun = &neo_noun_tenant,
     .use = NEO_USE_CHANGE},
    {"tenant", "remove", "Remove a tenant without organizations and users.",
     "To remove one with its data, use: neoapictl purge tenant", .noun = &neo_noun_tenant, .use = NEO_USE_ONE},
    {0},
};

const neo_ctl_command neo_ctl_organization[] = {
    {"organization", "create", "Create an organization in a tenant. It owns brokers and all other data.",
     .noun = &neo_noun_organization, .use = NEO_USE_CREATE},
    {"organization", "list", "List the organizations.", .noun = &neo_noun_organization, .use = NEO_USE_LIST},
    {"organization", "change", "Change an organization's name.", .noun = &neo_noun_organization, .use = NEO_USE_CHANGE},
    {"organization", "remove", "Remove an organization without data, keys and tokens.",
     "To remove one with its data, use: neoapictl purge organization", .noun = &neo_noun_organization, .use = NEO_USE_ONE},
    {0},
};

const neo_ctl_command neo_ctl_user[] = {
    {"user", "create", "Create a user in a tenant.", .noun = &neo_noun_user, .use = NEO_USE_CREATE},
    {"user", "list", "List the users.", .noun = &neo_noun_user, .use = NEO_USE_LIST},
    {"user", "change", "Change a user's name, e-mail address or role. A new role applies to the user's tokens at once.",
     .noun = &neo_noun_user, .use = NEO_USE_CHANGE},
    {"user", "remove", "Remove a user without valid tokens. Revoked tokens are removed as well.", .noun = &neo_noun_user,
     .use = NEO_USE_ONE},
    {0},
};
