/* neoapictl manual: the manual page neoapictl(1) in troff, drawn from the table of commands. */
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
    "mod_neoapi keeps everything in PostgreSQL.\n"
    ".B neoapictl\n"
    "makes the database, brings its schema up to date, looks for what is wrong with it, and adds and takes away who may use "
    "the\n"
    "API: tenants, their organizations and users, plans of requests, and the keys and tokens that they call with.\n"
    ".PP\n"
    "It works on the database alone, from any machine that reaches it, and httpd sees at once what it changes. The secret of "
    "a\n"
    "key or token is shown when it is made, once, because the database keeps its hash only.\n"
    ".PP\n"
    "Whoever is to administer connects as a member of the role that owns the schema; what makes roles, as an administrator of\n"
    "PostgreSQL. httpd's own role can do neither.\n"
    ".SH COMMANDS\n";

static const char middle[] = ".SH OPTIONS OF EVERY COMMAND\n";

static const char tail[] =
    ".SH EXIT STATUS\n"
    "0 where it was done, 1 where it could not be done, 2 where what was asked for makes no sense. What went wrong is said on\n"
    "standard error, in one line.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n"
    ".B NEOAPI_DATABASE\n"
    "The database, where\n"
    ".B \\-\\-database\n"
    "does not say it.\n"
    ".TP\n"
    ".BR PGHOST \", \" PGUSER \", \" PGPASSFILE \" and others\n"
    "What libpq knows, for what the connection string leaves open.\n"
    ".SH FILES\n"
    ".TP\n"
    ".I /etc/postgresql\\-common/pg_service.conf\n"
    "libpq's services on Debian: there the service\n"
    ".B neoapi\n"
    "can say where the database is, to neoapictl and to httpd alike.\n"
    ".TP\n"
    ".I /etc/neoapi/key\n"
    "The deployment's secret; see\n"
    ".B NeoAPIKeyFile\n"
    "in\n"
    ".BR mod_neoapi (7).\n"
    ".SH SEE ALSO\n"
    ".BR mod_neoapi (7),\n"
    ".BR psql (1),\n"
    "and \"The Connection Service File\" in PostgreSQL's manual.\n";

/* Text as troff wants it: no backslash, hyphen or control character at a line's beginning means anything. */
static void put_text(neo_buf *out, const char *text)
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
static void put_entry(neo_buf *out, const neo_ctl_parameter *parameter, int is_option)
{
    const char *placeholder = neo_ctl_placeholder(parameter->kind);
    neo_buf_puts(out, ".TP\n");
    if (is_option) {
        neo_buf_puts(out, "\\fB\\-\\-");
        put_text(out, parameter->name);
        neo_buf_puts(out, placeholder ? "\\fR " : "\\fR");
    }
    if (placeholder) {
        neo_buf_puts(out, "\\fI");
        put_text(out, placeholder);
        neo_buf_puts(out, "\\fR");
    }
    neo_buf_putc(out, '\n');
    put_text(out, parameter->summary);
    if (parameter->default_value) {
        neo_buf_puts(out, " (");
        put_text(out, parameter->default_value);
        neo_buf_puts(out, " if not given)");
    }
    neo_buf_puts(out, parameter->flags & NEO_CTL_REPEATED ? "; may be given several times.\n" : ".\n");
}

static void put_entries(neo_buf *out, const neo_ctl_parameter *parameters, int are_options)
{
    for (; parameters && parameters->name; parameters++)
        put_entry(out, parameters, are_options);
}

/* The sentences after the summary. A line that begins after the end of a sentence was meant as a line of its own. */
static void put_details(neo_buf *out, const char *details)
{
    char before = '.';
    for (const char *end; details && *details; details = *end ? end + 1 : end) {
        end = details + strcspn(details, "\n");
        neo_buf_puts(out, strchr(".:", before) ? ".br\n" : "");
        put_text(out, apr_pstrmemdup(out->pool, details, (apr_size_t)(end - details)));
        neo_buf_putc(out, '\n');
        before = end > details ? end[-1] : '.';
    }
}

static void put_command(neo_buf *out, const neo_ctl_command *command)
{
    neo_buf_puts(out, ".SS \"");
    put_text(out, neo_ctl_synopsis(command, out->pool));
    neo_buf_puts(out, "\"\n");
    put_text(out, command->summary);
    neo_buf_putc(out, '\n');
    put_details(out, command->details);
    put_entries(out, command->arguments, 0);
    put_entries(out, command->options, 1);
}

static neo_ctl_exit run(neo_ctl *ctl)
{
    neo_buf out;
    neo_buf_init(&out, ctl->pool, 32768);
    neo_buf_puts(&out, head);
    for (int i = 0; neo_ctl_groups[i]; i++)
        for (const neo_ctl_command *c = neo_ctl_groups[i]; c->group; c++)
            put_command(&out, c);
    neo_buf_puts(&out, middle);
    put_entries(&out, neo_ctl_globals, 1);
    neo_buf_puts(&out, tail);
    fputs(out.ptr, stdout);
    return NEO_CTL_OK;
}

const neo_ctl_command neo_ctl_manual[] = {
    {"manual", NULL, "Write this program's manual page.", "To read it where it is not installed: neoapictl manual | man -l -",
     NULL, NULL, run, NULL, 0},
    {0},
};
