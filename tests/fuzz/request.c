/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes requests up to the database, which is unavailable: path, query, headers and body. An input looks like HTTP/1.1: a line
 * with method and target, lines with headers, an empty line, the body. */
#include <apr_escape.h>

#include "api/routing.h"
#include "site.h"

typedef struct {
    const char *method, *path, *instance;
    char *query; /* NULL: none */
    apr_table_t *headers;
    const char *body;
} sent;

/* Returns 0 for what httpd itself refuses. */
static int read_target(sent *s, char *target, apr_pool_t *pool)
{
    s->query = strchr(target, '?');
    if (s->query)
        *s->query++ = '\0';
    s->path = apr_punescape_url(pool, target, "/", NULL, 0);
    s->instance = neo_utf8_is_valid(target, strlen(target)) ? target : apr_pescape_path(pool, target, 0);
    return s->path != NULL;
}

static int read_input(sent *s, char *rest, apr_pool_t *pool)
{
    char *line = strsep(&rest, "\n"), *target = strchr(line, ' ');
    s->method = line;
    s->headers = apr_table_make(pool, 4);
    if (!target)
        return 0;
    *target++ = '\0';
    while ((line = strsep(&rest, "\n")) && *line) {
        char *value = strstr(line, ": ");
        if (value) {
            *value = '\0';
            apr_table_setn(s->headers, line, value + 2);
        }
    }
    s->body = rest;
    return read_target(s, target, pool);
}

/* The query with every character percent-encoded, except separators and encoded characters. */
static const char *encode(const char *query, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 3 * strlen(query) + 1);
    for (int kept = 0; *query; query++) {
        int separates = strchr("&=,+", *query) != NULL;
        kept = *query == '%' ? 3 : separates ? 1 : kept;
        if (kept-- > 0)
            neo_buf_putc(&out, *query);
        else
            neo_buf_printf(&out, "%%%02X", (unsigned char)*query);
    }
    return out.ptr;
}

static int check_header(void *data, const char *name, const char *value)
{
    (void)data;
    EXPECT(neo_utf8_is_valid(value, strlen(value)));
    for (const unsigned char *c = (const unsigned char *)value; *c; c++)
        EXPECT(*c >= ' ' && *c != 0x7F);
    return *name != '\0';
}

/* Every error is a problem with a 4xx status or, because the database is unavailable, 503. */
static void check_response(const sent *s, const fake_host *host, apr_pool_t *pool)
{
    static const int statuses[] = {200, 204, 304, 308, 400, 403, 404, 405, 413, 415, 503};
    const neo_response *response = &host->response;
    int found = 0, is_public = 0;
    neo_match match;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        found |= response->status == statuses[i];
    EXPECT(found);
    apr_table_do(check_header, NULL, response->headers, NULL);
    if (response->status >= 400) {
        EXPECT(strcmp(response->media_type, "application/problem+json") == 0);
        EXPECT(atoi(fuzz_member(host, "status", pool)) == response->status &&
               response->body.len < 65536 + 3 * strlen(s->instance));
    }
    neo_operation_match(s->path, s->method, pool, &match);
    found = match.is_found;
    is_public = match.is_public;
    EXPECT((response->status == 405) == (found && !match.operation && strcmp(s->method, "OPTIONS") != 0));
    EXPECT(response->status != 503 || !is_public);
    EXPECT(response->status != 405 || apr_table_get(response->headers, "Allow"));
}

static fake_host *respond(const sent *s, const char *query, apr_pool_t *pool)
{
    fuzz_site *all = fuzz_site_get();
    fake_host *host = fuzz_host(all, pool);
    host->headers = apr_table_overlay(pool, host->headers, s->headers);
    host->body = s->body;
    neo_request request = {.pool = pool,
                           .id = REQUEST_ID,
                           .method = s->method,
                           .path = s->path,
                           .instance = s->instance,
                           .query = query,
                           .address = host->address,
                           .can_stream = 1};
    ask_request(all->site, host, &request);
    return host;
}

/* Unnecessary percent-encoding changes nothing. */
static void check_encoding(const sent *s, const fake_host *host, apr_pool_t *pool)
{
    static const char *const members[] = {"code", "detail", "errors"};
    const fake_host *other = respond(s, encode(s->query, pool), pool);
    EXPECT(other->response.status == host->response.status);
    for (size_t i = 0; host->response.status >= 400 && i < sizeof members / sizeof *members; i++)
        EXPECT(strcmp(fuzz_member(host, members[i], pool), fuzz_member(other, members[i], pool)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    sent s = {.body = NULL};
    if (read_input(&s, apr_pstrmemdup(pool, (const char *)data, size), pool)) {
        const fake_host *host = respond(&s, s.query, pool);
        check_response(&s, host, pool);
        if (s.query)
            check_encoding(&s, host, pool);
    }
    apr_pool_clear(pool);
    return 0;
}
