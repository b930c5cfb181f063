/* SPDX-License-Identifier: Apache-2.0 */
/* Prints --help, generated from the table of commands. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"

#define COLUMN   26 /* where summaries begin */
#define MAX_LINE 100

/* Writes the label, then `text` wrapped at the column. */
static void put_summary(neo_buf *out, const char *label, const char *text)
{
    neo_buf_printf(out, "  %-*s", COLUMN - 2, label);
    apr_size_t at = COLUMN;
    if (strlen(label) >= COLUMN - 2)
        neo_buf_printf(out, "\n%*s", COLUMN, "");
    for (const char *word = text; *word;) {
        apr_size_t len = strcspn(word, " ");
        if (at > COLUMN && at + len >= MAX_LINE) {
            neo_buf_printf(out, "\n%*s", COLUMN, "");
            at = COLUMN;
        }
        neo_buf_printf(out, "%s%.*s", at > COLUMN ? " " : "", (int)len, word);
        at += len + 1;
        word += len + (word[len] == ' ');
    }
    neo_buf_putc(out, '\n');
}

/* Writes `text` wrapped; its line breaks are kept. */
static void put_wrapped(neo_buf *out, const char *text)
{
    apr_size_t at = 0;
    while (*text) {
        apr_size_t len = strcspn(text, " \n");
        if (at && at + len >= MAX_LINE) {
            neo_buf_putc(out, '\n');
            at = 0;
        }
        neo_buf_printf(out, "%s%.*s", at ? " " : "", (int)len, text);
        at = text[len] == '\n' ? 0 : at + len + 1;
        if (text[len] == '\n')
            neo_buf_putc(out, '\n');
        text += len + (text[len] != '\0');
    }
    neo_buf_putc(out, '\n');
}

static const char *command_name(const neo_ctl_command *command, apr_pool_t *pool)
{
    return command->verb ? apr_pstrcat(pool, command->group, " ", command->verb, NULL) : command->group;
}

static const char *option_label(const neo_parameter *option, apr_pool_t *pool)
{
    const char *placeholder = neo_ctl_placeholder(option->kind);
    return apr_pstrcat(pool, "--", option->name, placeholder ? " " : NULL, placeholder, NULL);
}

static void put_option_synopsis(neo_buf *out, const neo_parameter *option)
{
    const char *label = option_label(option, out->pool);
    const char *more = option->flags & NEO_PARAMETER_REPEATED ? "..." : "";
    if (option->flags & NEO_PARAMETER_REQUIRED)
        neo_buf_printf(out, " %s%s%s%s", label, *more ? " [" : "", *more ? label : "", *more ? "]..." : "");
    else
        neo_buf_printf(out, " [%s]%s", label, more);
}

const char *neo_ctl_synopsis(const neo_ctl_command *command, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 128);
    neo_buf_puts(&out, command_name(command, pool));
    for (const neo_parameter *p = command->options; p && p->name; p++)
        put_option_synopsis(&out, p);
    for (const neo_parameter *p = command->arguments; p && p->name; p++)
        neo_buf_printf(&out, " %s", neo_ctl_placeholder(p->kind));
    return out.ptr;
}

static void put_options(neo_buf *out, const char *title, const neo_parameter *options)
{
    if (!options || !options->name)
        return;
    neo_buf_printf(out, "\n%s:\n", title);
    for (const neo_parameter *o = options; o->name; o++) {
        const char *value = o->default_value ? apr_pstrcat(out->pool, " (default: ", o->default_value, ")", NULL) : "";
        const char *repeated = o->flags & NEO_PARAMETER_REPEATED ? "; may be repeated" : "";
        put_summary(out, option_label(o, out->pool), apr_pstrcat(out->pool, o->summary, value, repeated, NULL));
    }
}

static void put_usage(neo_buf *out, const neo_ctl_command *command)
{
    neo_buf_printf(out, "Usage: neoapictl [--database CONNINFO] [--json] [--quiet] %s\n\n",
                   neo_ctl_synopsis(command, out->pool));
    put_wrapped(out, command->summary);
    if (command->details)
        put_wrapped(out, command->details);
    if (command->arguments)
        neo_buf_puts(out, "\nArguments:\n");
    for (const neo_parameter *p = command->arguments; p && p->name; p++)
        put_summary(out, neo_ctl_placeholder(p->kind), p->summary);
    put_options(out, "Options", command->options);
}

/* The commands of a group, or all commands if `group` is NULL. */
static void put_list(neo_buf *out, const char *group)
{
    neo_buf_printf(out, "Usage: neoapictl [--database CONNINFO] [--json] [--quiet] %s ...\n", group ? group : "COMMAND");
    if (!group)
        neo_buf_puts(out, "\nAdministers the database of mod_neoapi.\n");
    neo_buf_puts(out, "\nCommands:\n");
    for (int i = 0; neo_ctl_groups[i]; i++)
        for (const neo_ctl_command *c = neo_ctl_groups[i]; c->group; c++)
            if (!group || strcmp(group, c->group) == 0)
                put_summary(out, command_name(c, out->pool), c->summary);
}

void neo_ctl_help(const neo_ctl *ctl)
{
    neo_buf out;
    neo_buf_init(&out, ctl->pool, 4096);
    if (ctl->command)
        put_usage(&out, ctl->command);
    else
        put_list(&out, ctl->group);
    put_options(&out, "Options of every command", neo_ctl_globals);
    if (!ctl->command)
        neo_buf_puts(
            &out, "\nneoapictl COMMAND --help describes a command. Exit status: 0 success, 1 failure, 2 wrong command line,\n"
                  "3 (status) warnings, 4 stored, but not confirmed by every server.\n");
    fputs(out.ptr, stdout);
}
