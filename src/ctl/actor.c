/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs neoapictl, for the audit log (see ctl/session.h). */
#include <apr_network_io.h>
#include <apr_strings.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/encode.h"
#include "ctl/output.h"
#include "ctl/session.h"

static const char *command_name(const neo_ctl *ctl)
{
    const neo_ctl_command *c = ctl->command;
    return apr_pstrcat(ctl->pool, c->group, c->verb ? " " : "", c->verb ? c->verb : "", NULL);
}

static void set_text(neo_json *object, const char *name, const char *value, apr_pool_t *pool)
{
    if (value && *value && neo_utf8_is_valid(value, strlen(value)))
        neo_json_set_string(object, name, value, pool);
}

/* The address from which the system user has logged in, if sshd has set it. */
static const char *login_address(apr_pool_t *pool)
{
    const char *connection = getenv("SSH_CONNECTION");
    return connection ? apr_pstrmemdup(pool, connection, strcspn(connection, " ")) : NULL;
}

const char *neo_ctl_set_actor(const neo_ctl *ctl, neo_pg *pg)
{
    neo_rows rows;
    char host[APRMAXHOSTLEN + 1];
    const struct passwd *user = getpwuid(getuid());
    neo_json *actor = neo_json_make_object(ctl->pool);
    set_text(actor, "command", command_name(ctl), ctl->pool);
    set_text(actor, "system_user", user ? user->pw_name : apr_psprintf(ctl->pool, "%lu", (unsigned long)getuid()), ctl->pool);
    set_text(actor, "sudo_user", getenv("SUDO_USER"), ctl->pool);
    set_text(actor, "host", apr_gethostname(host, sizeof host, ctl->pool) == APR_SUCCESS ? host : NULL, ctl->pool);
    set_text(actor, "address", login_address(ctl->pool), ctl->pool);
    const char *value = neo_json_text(actor, ctl->pool).ptr;
    return neo_pg_query(pg, "select set_config('neoapi.audit_actor', $1, false)", 1, &value, ctl->pool, &rows);
}

/* ---------------------------------------------------------------- the command */

/* Names, addresses and paths can be personal data or say more than the log needs. What is changed by them has entries. */
static int is_recorded(neo_parameter_kind kind)
{
    return kind != NEO_KIND_NAME && kind != NEO_KIND_EMAIL && kind != NEO_KIND_CONNINFO && kind != NEO_KIND_FILE &&
           kind != NEO_KIND_FOLDER;
}

static int is_global(const char *name)
{
    const neo_parameter *p = neo_ctl_globals;
    while (p->name && strcmp(p->name, name) != 0)
        p++;
    return p->name != NULL;
}

static neo_json *describe_arguments(const neo_ctl *ctl)
{
    neo_json *all = neo_json_make_object(ctl->pool);
    for (int i = 0; i < ctl->given->nelts; i++) {
        const neo_ctl_given *given = &APR_ARRAY_IDX(ctl->given, i, neo_ctl_given);
        const char *name = given->parameter->name, *earlier = neo_json_string_at(all, name);
        if (is_global(name))
            continue;
        if (!given->value || !is_recorded(given->parameter->kind))
            neo_json_set_boolean(all, name, 1, ctl->pool);
        else
            neo_json_set_string(all, name, earlier ? apr_pstrcat(ctl->pool, earlier, ",", given->value, NULL) : given->value,
                                ctl->pool);
    }
    return all;
}

/* The value of the argument or option of this kind; NULL if there is none. */
static const char *given_id(const neo_ctl *ctl, neo_parameter_kind kind)
{
    for (int i = 0; i < ctl->given->nelts; i++)
        if (APR_ARRAY_IDX(ctl->given, i, neo_ctl_given).parameter->kind == kind)
            return APR_ARRAY_IDX(ctl->given, i, neo_ctl_given).value;
    return NULL;
}

const char *neo_ctl_record_command(const neo_ctl *ctl, neo_pg *pg)
{
    neo_rows rows;
    neo_json *details = neo_json_make_object(ctl->pool);
    neo_json_set(details, "arguments", describe_arguments(ctl));
    char *action = apr_pstrcat(ctl->pool, "neoapictl.", command_name(ctl), NULL);
    for (char *c = action; (c = strchr(c, ' '));)
        *c = '.';
    const char *values[] = {action, given_id(ctl, NEO_KIND_TENANT_ID), given_id(ctl, NEO_KIND_ORGANIZATION_ID),
                            neo_json_text(details, ctl->pool).ptr};
    const char *error =
        neo_pg_query(pg, "select neoapi.audit_add($1, $2, $3, null, null, $4::json)", 4, values, ctl->pool, &rows);
    return error ? apr_pstrcat(ctl->pool, "the command cannot be recorded in the audit log: ", error, NULL) : NULL;
}
