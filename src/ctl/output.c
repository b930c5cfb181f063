/* SPDX-License-Identifier: Apache-2.0 */
/* Prints tables, JSON and messages (see ctl/output.h). */
#include "ctl/output.h"

#include <apr_strings.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/encode.h"

const char *neo_ctl_one_line(const char *text, apr_pool_t *pool)
{
    char *line = apr_palloc(pool, strlen(text) + 1), *out = line;
    for (; *text; text++)
        if (!iscntrl((unsigned char)*text))
            *out++ = *text;
        else if (out > line && out[-1] != ' ')
            *out++ = ' ';
    while (out > line && out[-1] == ' ')
        out--;
    *out = '\0';
    return line;
}

/* ---------------------------------------------------------------- terminals */

int neo_ctl_is_terminal(FILE *stream)
{
    const char *term = getenv("TERM");
    return isatty(fileno(stream)) && term && *term && strcmp(term, "dumb") != 0;
}

const char *neo_ctl_styled(FILE *stream, neo_ctl_style style, const char *text, apr_pool_t *pool)
{
    static const char *const begin[] = {
        [NEO_CTL_HEADING] = "\x1b[1m", [NEO_CTL_GOOD] = "\x1b[32m", [NEO_CTL_BAD] = "\x1b[1;31m", [NEO_CTL_FAINT] = "\x1b[2m"};
    const char *no_colour = getenv("NO_COLOR");
    if (style == NEO_CTL_PLAIN || (no_colour && *no_colour) || !neo_ctl_is_terminal(stream))
        return text;
    return apr_pstrcat(pool, begin[style], text, "\x1b[0m", NULL);
}

/* ---------------------------------------------------------------- tables */

/* A value as a cell of a table. */
static const char *cell(const neo_json *value, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 32);
    switch (neo_json_get_kind(value)) {
    case NEO_JSON_STRING: return neo_ctl_one_line(neo_json_string(value), pool);
    case NEO_JSON_INTEGER: neo_buf_printf(&out, "%lld", neo_json_integer(value)); return out.ptr;
    case NEO_JSON_BOOLEAN: return neo_json_is_true(value) ? "yes" : "no";
    case NEO_JSON_ARRAY:
        for (apr_size_t i = 0; i < neo_json_size(value); i++)
            neo_buf_printf(&out, "%s%s", i ? "," : "", cell(neo_json_at(value, i), pool));
        return out.ptr;
    default: return "-";
    }
}

/* "tenant_id" becomes "TENANT ID". */
static const char *heading(const char *key, apr_pool_t *pool)
{
    char *text = apr_pstrdup(pool, key);
    for (char *c = text; *c; c++)
        *c = (char)(*c == '_' ? ' ' : toupper((unsigned char)*c));
    return text;
}

#define MAX_COLUMNS 32

/* A table is put twice: first to measure the widths of its columns in characters, then to write. */
typedef struct {
    neo_buf out;
    apr_size_t width[MAX_COLUMNS];
    int writing; /* 0: measure */
    int is_bare; /* without headings and names */
} table;

static void put_padded(table *t, int column, const char *text, neo_ctl_style style, int last)
{
    apr_size_t len = neo_utf8_length(text);
    if (!t->writing) {
        t->width[column] = len > t->width[column] ? len : t->width[column];
        return;
    }
    neo_buf_puts(&t->out, neo_ctl_styled(stdout, style, text, t->out.pool));
    if (last)
        neo_buf_putc(&t->out, '\n');
    else
        neo_buf_printf(&t->out, "%*s", (int)(t->width[column] - len + 2), "");
}

static void put_cells(table *t, neo_json *row, int headings)
{
    int column = 0, columns = (int)neo_json_size(row);
    for (void *m = neo_json_first(row); m && column < MAX_COLUMNS; m = neo_json_next(row, m), column++)
        put_padded(t, column,
                   headings ? heading(neo_json_member_key(m), t->out.pool) : cell(neo_json_member_value(m), t->out.pool),
                   headings ? NEO_CTL_HEADING : NEO_CTL_PLAIN, column + 1 == columns);
}

static void put_rows(table *t, neo_json *value)
{
    if (neo_json_get_kind(value) == NEO_JSON_OBJECT) {
        for (void *m = neo_json_first(value); m; m = neo_json_next(value, m)) {
            if (!t->is_bare)
                put_padded(t, 0, neo_json_member_key(m), NEO_CTL_HEADING, 0);
            put_padded(t, 1, cell(neo_json_member_value(m), t->out.pool), NEO_CTL_PLAIN, 1);
        }
        return;
    }
    if (neo_json_size(value) && !t->is_bare)
        put_cells(t, neo_json_at(value, 0), 1);
    for (apr_size_t i = 0; i < neo_json_size(value); i++)
        put_cells(t, neo_json_at(value, i), 0);
}

void neo_ctl_print(const neo_ctl *ctl, neo_json *value)
{
    table t = {.is_bare = ctl->quiet};
    if (ctl->json) {
        puts(neo_json_text(value, ctl->pool).ptr);
        return;
    }
    neo_buf_init(&t.out, ctl->pool, 4096);
    put_rows(&t, value);
    t.writing = 1;
    put_rows(&t, value);
    fputs(neo_json_size(value) ? t.out.ptr : ctl->quiet ? "" : "(none)\n", stdout);
}

neo_json *neo_ctl_object(const neo_ctl *ctl, ...)
{
    va_list args;
    neo_json *object = neo_json_make_object(ctl->pool);
    va_start(args, ctl);
    for (const char *name; (name = va_arg(args, const char *));)
        neo_json_set_string(object, name, va_arg(args, const char *), ctl->pool);
    va_end(args);
    return object;
}

neo_ctl_exit neo_ctl_finish(const neo_ctl *ctl, const char *error, neo_json *value)
{
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    neo_ctl_print(ctl, value);
    return NEO_CTL_OK;
}

void neo_ctl_say(const neo_ctl *ctl, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!ctl->json && !ctl->quiet)
        puts(apr_pvsprintf(ctl->pool, fmt, args));
    va_end(args);
}

const char *neo_ctl_flush(const neo_ctl *ctl)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return NULL;
    return apr_psprintf(ctl->pool, "the output could not be written: %s", errno ? strerror(errno) : "output error");
}

static void print_error(const char *message, apr_pool_t *pool)
{
    fflush(stdout);
    fprintf(stderr, "%s %s\n", neo_ctl_styled(stderr, NEO_CTL_BAD, "neoapictl:", pool), neo_ctl_one_line(message, pool));
}

neo_ctl_exit neo_ctl_fail(const neo_ctl *ctl, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_error(apr_pvsprintf(ctl->pool, fmt, args), ctl->pool);
    va_end(args);
    return NEO_CTL_FAILED;
}

neo_ctl_exit neo_ctl_usage_error(const neo_ctl *ctl, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_error(apr_pvsprintf(ctl->pool, fmt, args), ctl->pool);
    va_end(args);
    if (ctl->command)
        fprintf(stderr, "usage: neoapictl %s\n", neo_ctl_synopsis(ctl->command, ctl->pool));
    else
        fprintf(stderr, "see: neoapictl %s%s--help\n", ctl->group ? ctl->group : "", ctl->group ? " " : "");
    return NEO_CTL_USAGE;
}
