/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the commands create, list, change and remove from tables of fields (see ctl/noun.h). */
#include "ctl/noun.h"

#include <apr_strings.h>
#include <string.h>

#include "api/cache_sync.h"
#include "core/id.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "pg/array.h"

/* ---------------------------------------------------------------- parameters */

/* Only `create` has required fields and defaults of columns. */
static neo_ctl_parameter field_parameter(const neo_ctl_field *field, neo_ctl_use use, apr_pool_t *pool)
{
    neo_ctl_parameter p = field->parameter;
    if (use != NEO_CTL_CREATE) {
        p.flags &= NEO_CTL_REPEATED;
        p.default_value = field->column ? NULL : p.default_value;
    }
    if (use == NEO_CTL_LIST)
        p.summary = apr_pstrcat(pool, "only of this ", p.name, NULL);
    if (use == NEO_CTL_CHANGE && field->change_summary)
        p.summary = field->change_summary;
    return p;
}

/* Adds the fields of whose flags those in `mask` are `flags`. */
static void add_fields(apr_array_header_t *list, const neo_ctl_command *command, unsigned int mask, unsigned int flags)
{
    for (const neo_ctl_field *f = command->noun->fields; f->parameter.name; f++)
        if ((f->parameter.flags & mask) == flags)
            APR_ARRAY_PUSH(list, neo_ctl_parameter) = field_parameter(f, command->use, list->pool);
}

static const neo_ctl_parameter *terminated(apr_array_header_t *list)
{
    if (list->nelts)
        APR_ARRAY_PUSH(list, neo_ctl_parameter) = (neo_ctl_parameter){0};
    return list->nelts ? (const neo_ctl_parameter *)list->elts : NULL;
}

/* The argument of `create` is the first option of `change`. */
void neo_ctl_derive_parameters(neo_ctl_command *command, apr_pool_t *pool)
{
    apr_array_header_t *arguments = apr_array_make(pool, 2, sizeof(neo_ctl_parameter));
    apr_array_header_t *options = apr_array_make(pool, 8, sizeof(neo_ctl_parameter));
    if (command->use == NEO_CTL_CREATE)
        add_fields(arguments, command, NEO_CTL_ARGUMENT, NEO_CTL_ARGUMENT);
    else if (command->use != NEO_CTL_LIST)
        APR_ARRAY_PUSH(arguments, neo_ctl_parameter) = command->noun->which;
    if (command->use == NEO_CTL_CHANGE)
        add_fields(options, command, NEO_CTL_CHANGE | NEO_CTL_ARGUMENT, NEO_CTL_CHANGE | NEO_CTL_ARGUMENT);
    if (command->use != NEO_CTL_WHICH)
        add_fields(options, command, command->use | NEO_CTL_ARGUMENT, command->use);
    if (!command->arguments)
        command->arguments = terminated(arguments);
    if (!command->options)
        command->options = terminated(options);
}

/* ---------------------------------------------------------------- create and list */

/* The values of a repeated option as the text of a PostgreSQL array. Values of an enumeration are in its order. */
static const char *array_text(const neo_ctl *ctl, const neo_ctl_parameter *option)
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

/* The value of a field's column. A flag sets it to null. */
static const char *column_value(const neo_ctl *ctl, const neo_ctl_parameter *p)
{
    const char *value = p->flags & NEO_CTL_REPEATED ? array_text(ctl, p) : neo_ctl_value(ctl, p->name);
    int is_null = p->kind == NEO_CTL_FLAG || (p->kind == NEO_CTL_LIMIT && strcmp(value, "unlimited") == 0);
    return is_null ? NULL : value;
}

apr_array_header_t *neo_ctl_settings(const neo_ctl *ctl)
{
    apr_array_header_t *settings = neo_admin_settings(ctl->pool, NULL);
    for (const neo_ctl_field *f = ctl->command->noun->fields; f->parameter.name; f++)
        if (f->column && neo_ctl_value(ctl, f->parameter.name))
            neo_admin_set(settings, f->column, column_value(ctl, &f->parameter));
    return settings;
}

static void print_key(const neo_ctl *ctl, const char *value)
{
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set(done, neo_admin_key(ctl->command->noun->what), neo_json_make_string(value, ctl->pool));
    neo_ctl_print(ctl, done);
}

/* The value of the column that identifies a row: among `settings`, else a new id, which is added to them. */
static const char *choose_key(const neo_ctl *ctl, apr_array_header_t *settings)
{
    const neo_ctl_noun *noun = ctl->command->noun;
    const char *key = neo_admin_key(noun->what);
    for (int i = 0; i < settings->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(settings, i, neo_admin_setting).column, key) == 0)
            return APR_ARRAY_IDX(settings, i, neo_admin_setting).value;
    char *id = apr_palloc(ctl->pool, NEO_ID_SIZE);
    neo_id_issue(id, neo_ctl_id_prefix(noun->which.kind));
    neo_admin_set(settings, key, id);
    return id;
}

neo_ctl_exit neo_ctl_run_create(neo_ctl *ctl)
{
    const char *error;
    apr_array_header_t *settings = neo_ctl_settings(ctl);
    const char *key = choose_key(ctl, settings);
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_create(pg, ctl->command->noun->what, settings, ctl->pool);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    print_key(ctl, key);
    return NEO_CTL_OK;
}

neo_ctl_exit neo_ctl_run_list(neo_ctl *ctl)
{
    const char *error, *columns = "";
    neo_json *list;
    neo_admin_setting filter = {0};
    for (const neo_ctl_field *f = ctl->command->noun->fields; f->parameter.name; f++) {
        if (f->column && strcmp(f->column, neo_admin_key(ctl->command->noun->what)) != 0)
            columns = apr_pstrcat(ctl->pool, columns, ", ", f->column, NULL);
        if (f->parameter.flags & NEO_CTL_LIST)
            filter = (neo_admin_setting){f->column, neo_ctl_value(ctl, f->parameter.name)};
    }
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_list(pg, ctl->command->noun->what, columns, filter, ctl->pool, &list);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    neo_ctl_print(ctl, list);
    return NEO_CTL_OK;
}

const neo_ctl_field neo_ctl_filtered_by_organization[] = {
    {{"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_LIST, NULL, NULL}, "organization_id", NULL},
    {{0}, NULL, NULL},
};

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
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    print_key(ctl, neo_ctl_value(ctl, ctl->command->arguments->name));
    neo_ctl_exit status = neo_ctl_await_cache_sync(ctl, pg, what_is_done);
    if (status == NEO_CTL_OK)
        neo_ctl_say(ctl, "%s. It has taken effect on all servers.", what_is_done);
    return status;
}

static const char *list_options(const neo_ctl *ctl)
{
    const char *list = "";
    for (const neo_ctl_parameter *o = ctl->command->options; o->name; o++)
        list = apr_pstrcat(ctl->pool, list, *list ? ", --" : "--", o->name, NULL);
    return list;
}

neo_ctl_exit neo_ctl_run_change(neo_ctl *ctl)
{
    const char *error;
    apr_array_header_t *settings = neo_ctl_settings(ctl);
    if (!settings->nelts)
        return neo_ctl_usage_error(ctl, "no change is given; the options are %s", list_options(ctl));
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_change(pg, ctl->command->noun->what, neo_ctl_value(ctl, ctl->command->arguments->name), settings,
                                 ctl->pool);
    return neo_ctl_finish_change(ctl, pg, error, "Changed");
}

neo_ctl_exit neo_ctl_run_remove(neo_ctl *ctl)
{
    const char *error;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_remove(pg, ctl->command->noun->what, neo_ctl_value(ctl, ctl->command->arguments->name),
                                 neo_ctl_value(ctl, "with-conversations") != NULL, ctl->pool);
    return neo_ctl_finish_change(ctl, pg, error, "Removed");
}

const neo_ctl_parameter neo_ctl_remove_options[] = {
    {"with-conversations", NEO_CTL_FLAG, 0, NULL, "also remove its conversations, with their messages"},
    {0},
};
