/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl manual: prints the manual page neoapictl(1) in troff, generated from the table of commands. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"

static const char head[] =
    ".TH NEOAPICTL 1 \"\" \"mod_neoapi " NEO_VERSION "\" \"mod_neoapi\"\n"
    ".SH NAME\n"
    "neoapictl \\- administers the database of mod_neoapi\n"
    ".SH SYNOPSIS\n"
    ".B neoapictl\n"
    ".RI [ OPTION \"]... \" COMMAND \" [\" ARGUMENT ]...\n"
    ".SH DESCRIPTION\n"
    ".B neoapictl\n"
    "creates and upgrades the PostgreSQL database of mod_neoapi, checks an installation, and manages tenants, organizations,\n"
    "users, plans, API keys, tokens, webhooks and WhatsApp numbers.\n"
    ".PP\n"
    "It needs only a connection to the database and can run on another machine than httpd. Changes take effect in httpd at\n"
    "once. The secret of a key or token is shown once, when it is created; the database stores only its hash.\n"
    ".PP\n"
    "Connect as a member of the role that owns the schema. Commands that create roles need a PostgreSQL administrator. The\n"
    "role that httpd uses cannot administer.\n"
    ".SH COMMANDS\n";

static const char middle[] = ".SH OPTIONS OF EVERY COMMAND\n";

static const char tail[] =
    ".SH EXIT STATUS\n"
    "0: success. 1: failure. 2: wrong command line. 3:\n"
    ".B status\n"
    "has warnings. 4: the change is stored, but not every server has confirmed it; all apply it within 15\n"
    "seconds. Errors are printed to standard error, in one line.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n"
    ".B NEOAPI_DATABASE\n"
    "The database, if\n"
    ".B \\-\\-database\n"
    "is not given.\n"
    ".TP\n"
    ".B NEOAPI_DATABASE_PASSWORD_FILE\n"
    "A file whose first line is the password, such as a container's secret.\n"
    ".TP\n"
    ".BR PGHOST \", \" PGUSER \", \" PGPASSFILE \" and others\n"
    "libpq's variables, for parameters that the connection string does not set.\n"
    ".SH FILES\n"
    ".TP\n"
    ".I /etc/postgresql\\-common/pg_service.conf\n"
    "libpq's services on Debian. Define the service\n"
    ".B neoapi\n"
    "here, for neoapictl and httpd.\n"
    ".TP\n"
    ".I /etc/neoapi/key\n"
    "The deployment's encryption keys; see\n"
    ".B NeoAPIKeyFile\n"
    "in\n"
    ".BR mod_neoapi (7).\n"
    ".SH SEE ALSO\n"
    ".BR mod_neoapi (7),\n"
    ".BR psql (1),\n"
    "and \"The Connection Service File\" in PostgreSQL's manual.\n";

/* Escapes text for troff. */
static void put_escaped(neo_buf *out, const char *text)
{
    int is_start = 1;
    for (; *text; text++) {
        if (is_start && (*text == '.' || *text == '\''))
            neo_buf_puts(out, "\\&");
        is_start = *text == '\n';
        if (*text == '\\')
            neo_buf_puts(out, "\\e");
        else if (*text == '-')
            neo_buf_puts(out, "\\-");
        else
            neo_buf_putc(out, *text);
    }
}

/* A paragraph with a hanging label. */
static void put_entry(neo_buf *out, const neo_parameter *parameter, int is_option)
{
    const char *placeholder = neo_ctl_placeholder(parameter->kind);
    neo_buf_puts(out, ".TP\n");
    if (is_option) {
        neo_buf_puts(out, "\\fB\\-\\-");
        put_escaped(out, parameter->name);
        neo_buf_puts(out, placeholder ? "\\fR " : "\\fR");
    }
    if (placeholder) {
        neo_buf_puts(out, "\\fI");
        put_escaped(out, placeholder);
        neo_buf_puts(out, "\\fR");
    }
    neo_buf_putc(out, '\n');
    put_escaped(out, parameter->summary);
    if (parameter->default_value) {
        neo_buf_puts(out, " (default: ");
        put_escaped(out, parameter->default_value);
        neo_buf_putc(out, ')');
    }
    neo_buf_puts(out, parameter->flags & NEO_PARAMETER_REPEATED ? "; may be repeated.\n" : ".\n");
}

static void put_entries(neo_buf *out, const neo_parameter *parameters, int are_options)
{
    for (; parameters && parameters->name; parameters++)
        put_entry(out, parameters, are_options);
}

/* The sentences after the summary. A line break after the end of a sentence is kept. */
static void put_details(neo_buf *out, const char *details)
{
    char before = '.';
    for (const char *end; details && *details; details = *end ? end + 1 : end) {
        end = details + strcspn(details, "\n");
        neo_buf_puts(out, strchr(".:", before) ? ".br\n" : "");
        put_escaped(out, apr_pstrmemdup(out->pool, details, (apr_size_t)(end - details)));
        neo_buf_putc(out, '\n');
        before = end > details ? end[-1] : '.';
    }
}

static void put_section(neo_buf *out, const neo_ctl_command *command)
{
    neo_buf_puts(out, ".SS \"");
    put_escaped(out, neo_ctl_synopsis(command, out->pool));
    neo_buf_puts(out, "\"\n");
    put_escaped(out, command->summary);
    neo_buf_putc(out, '\n');
    put_details(out, command->details);
    put_entries(out, command->arguments, 0);
    put_entries(out, command->options, 1);
}

static neo_ctl_exit run_manual(neo_ctl *ctl)
{
    neo_buf out;
    neo_buf_init(&out, ctl->pool, 32768);
    neo_buf_puts(&out, head);
    for (int i = 0; neo_ctl_groups[i]; i++)
        for (const neo_ctl_command *c = neo_ctl_groups[i]; c->group; c++)
            put_section(&out, c);
    neo_buf_puts(&out, middle);
    put_entries(&out, neo_ctl_globals, 1);
    neo_buf_puts(&out, tail);
    fputs(out.ptr, stdout);
    return NEO_CTL_OK;
}

const neo_ctl_command neo_ctl_manual[] = {
    {"manual", NULL, "Print the manual page.", "To read it if it is not installed: neoapictl manual | man -l -", NULL, NULL,
     run_manual, NULL, 0},
    {0},
};
