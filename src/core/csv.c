/* SPDX-License-Identifier: Apache-2.0 */
/* Reading CSV (see core/csv.h). */
#include "core/csv.h"

#include <apr_tables.h>
#include <string.h>

#include "core/encode.h"

static int is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

void neo_csv_begin(neo_csv *csv, neo_text text)
{
    static const char mark[] = "\xEF\xBB\xBF";
    *csv = (neo_csv){text.ptr, text.ptr + text.len, ',', 1};
    if (text.len >= 3 && memcmp(text.ptr, mark, 3) == 0)
        csv->at += 3;
    int commas = 0, semicolons = 0;
    for (const char *c = csv->at; c < csv->end && !is_line_end(*c); c++) {
        commas += *c == ',';
        semicolons += *c == ';';
    }
    if (semicolons > commas)
        csv->separator = ';';
}

static int is_after_field(const neo_csv *csv)
{
    return csv->at == csv->end || *csv->at == csv->separator || is_line_end(*csv->at);
}

static const char *read_quoted(neo_csv *csv, apr_pool_t *pool, const char **error)
{
    neo_buf out;
    neo_buf_init(&out, pool, 64);
    for (csv->at++; csv->at < csv->end; csv->at++) {
        if (*csv->at == '"') {
            if (csv->at + 1 == csv->end || csv->at[1] != '"')
                break;
            csv->at++;
        }
        csv->line += *csv->at == '\n';
        neo_buf_putc(&out, *csv->at);
    }
    if (csv->at == csv->end)
        *error = "the quotation mark that opens here is not closed";
    else {
        csv->at++;
        if (!is_after_field(csv))
            *error = "text follows a closing quotation mark; double a quotation mark inside quotes";
    }
    return out.ptr;
}

static const char *read_bare(neo_csv *csv, apr_pool_t *pool)
{
    const char *from = csv->at, *to;
    while (!is_after_field(csv))
        csv->at++;
    for (to = csv->at; to > from && (to[-1] == ' ' || to[-1] == '\t');)
        to--;
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    neo_buf out;
    neo_buf_init(&out, pool, (apr_size_t)(to - from) + 1);
    neo_buf_add(&out, from, (apr_size_t)(to - from));
    return out.ptr;
}

static void read_record(neo_csv *csv, apr_pool_t *pool, neo_csv_record *record)
{
    apr_array_header_t *fields = apr_array_make(pool, 8, sizeof(const char *));
    const char *from = csv->at;
    *record = (neo_csv_record){.line = csv->line};
    for (int more = 1; more && !record->error;) {
        while (csv->at < csv->end && *csv->at == ' ')
            csv->at++;
        int is_quoted = csv->at < csv->end && *csv->at == '"';
        APR_ARRAY_PUSH(fields, const char *) = is_quoted ? read_quoted(csv, pool, &record->error) : read_bare(csv, pool);
        more = csv->at < csv->end && *csv->at == csv->separator;
        csv->at += more;
    }
    while (csv->at < csv->end && !is_line_end(*csv->at))
        csv->at++;
    apr_size_t len = (apr_size_t)(csv->at - from);
    if (memchr(from, '\0', len)) /* it would cut the field */
        record->error = "the line has NUL bytes; save the file as UTF-8";
    else if (!neo_utf8_is_valid(from, len))
        record->error = "the line is not UTF-8; save the file as UTF-8";
    if (csv->at < csv->end) {
        csv->at += csv->end - csv->at > 1 && memcmp(csv->at, "\r\n", 2) == 0 ? 2 : 1;
        csv->line++;
    }
    record->count = record->error ? 0 : fields->nelts;
    record->fields = (const char **)(void *)fields->elts;
}

int neo_csv_next(neo_csv *csv, apr_pool_t *pool, neo_csv_record *record)
{
    while (csv->at < csv->end) {
        read_record(csv, pool, record);
        if (record->error || record->count > 1 || *record->fields[0])
            return 1;
    }
    return 0;
}
