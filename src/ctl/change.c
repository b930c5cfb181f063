/* SPDX-License-Identifier: Apache-2.0 */
/* The commands `change` and `remove` (see ctl/change.h). */
#include "ctl/change.h"

#include <apr_strings.h>
#include <string.h>

#include "ctl/output.h"
#include "ctl/session.h"
#include "store/cache_sync.h"

neo_ctl_exit neo_ctl_await_cache_sync(const neo_ctl *ctl, neo_pg *pg, const char *what_is_done)
{
    if (neo_cache_sync_await(pg, ctl->pool))
        return NEO_CTL_OK;
    neo_ctl_say(ctl, "%s, but not every server has confirmed it. All apply it within %d seconds.", what_is_done,
                NEO_CACHE_SYNC_MAX_DELAY_S);
    return NEO_CTL_UNCONFIRMED;
}

/* Prints {"id": …}, or {"name": …} for a plan. */
neo_ctl_exit neo_ctl_finish_change(neo_ctl *ctl, neo_pg *pg, const char *wrong, const char *what_is_done)
{
    const neo_ctl_parameter *argument = ctl->command->arguments;
    if (wrong)
        return neo_ctl_fail(ctl, "%s", wrong);
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set(done, argument->kind == NEO_CTL_PLAN ? "name" : "id",
                 neo_json_make_string(neo_ctl_value(ctl, argument->name), ctl->pool));
    neo_ctl_print(ctl, done);
    neo_ctl_exit status = neo_ctl_await_cache_sync(ctl, pg, what_is_done);
    if (status == NEO_CTL_OK)
        neo_ctl_say(ctl, "%s. It has taken effect on all servers.", what_is_done);
    return status;
}

/* Repeated options form one array: --scope is "scopes". */
static neo_admin_setting setting_of(const neo_ctl *ctl, const neo_ctl_parameter *option)
{
    if (option->kind == NEO_CTL_FLAG)
        return (neo_admin_setting){"scopes", "null"}; /* --every-scope */
    if (!(option->flags & NEO_CTL_REPEATED))
        return (neo_admin_setting){option->name, neo_ctl_value(ctl, option->name)};
    neo_json *list = neo_json_make_array(ctl->pool);
    apr_array_header_t *values = neo_ctl_values(ctl, option->name);
    for (int i = 0; i < values->nelts; i++)
        neo_json_append(list, neo_json_make_string(APR_ARRAY_IDX(values, i, const char *), ctl->pool));
    return (neo_admin_setting){apr_pstrcat(ctl->pool, option->name, "s", NULL), neo_json_text(list, ctl->pool).ptr};
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
    const char *wrong;
    apr_array_header_t *settings = apr_array_make(ctl->pool, 4, sizeof(neo_admin_setting));
    for (const neo_ctl_parameter *o = ctl->command->options; o->name; o++)
        if (neo_ctl_value(ctl, o->name))
            APR_ARRAY_PUSH(settings, neo_admin_setting) = setting_of(ctl, o);
    if (!settings->nelts)
        return neo_ctl_usage_error(ctl, "no change is given; the options are %s", list_options(ctl));
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg)
        wrong = neo_admin_change(pg, ctl->command->listing, neo_ctl_value(ctl, ctl->command->arguments->name),
                                 (const neo_admin_setting *)settings->elts, settings->nelts, ctl->pool);
    return neo_ctl_finish_change(ctl, pg, wrong, "Changed");
}

neo_ctl_exit neo_ctl_run_remove(neo_ctl *ctl)
{
    const char *wrong;
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg)
        wrong = neo_admin_remove(pg, ctl->command->listing, neo_ctl_value(ctl, ctl->command->arguments->name),
                                 neo_ctl_value(ctl, "with-conversations") != NULL, ctl->pool);
    return neo_ctl_finish_change(ctl, pg, wrong, "Removed");
}

const neo_ctl_parameter neo_ctl_remove_options[] = {
    {"with-conversations", NEO_CTL_FLAG, 0, NULL, "also remove its conversations, with their messages"},
    {0},
};
