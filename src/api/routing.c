/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the operation of a path and a method, and numbers the routes (see api/routing.h). */
#include "api/routing.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"
#include "openapi/docs.h"
#include "openapi/openapi.h"

/* ---------------------------------------------------------------- all operations */

#define MAX_OPERATIONS 64

/* Those with the same tag follow each other (see add_tags of openapi/fixed.c). */
static const neo_operation *const tables[] = {
    neo_me_operations,      neo_oauth_operations,    neo_docs_operations,         neo_collection_operations,
    neo_webhook_operations, neo_whatsapp_operations, neo_conversation_operations, neo_whatsapp_account_operations,
    neo_media_operations,   neo_event_operations,    neo_lead_operations,         neo_portal_operations,
    neo_audit_operations,   neo_usage_operations,    neo_subject_operations,
};

/* {collection}/batch and {collection}/export are not {collection}/{id}. */
static int is_reserved(const char *segment, const neo_resource *resource)
{
    return resource &&
           ((resource->has_batch && strcmp(segment, "batch") == 0) || (resource->has_events && strcmp(segment, "export") == 0));
}

#define MAX_SEGMENTS 8 /* more than any path has */

/* The segments of a request's path. */
typedef struct {
    const char *segments[MAX_SEGMENTS];
    int count;                    /* 0: the path matches no operation */
    const neo_resource *resource; /* whose collection is the first segment; NULL if there is none */
} parts;

static parts split_path(const char *path, apr_pool_t *pool)
{
    parts split = {.count = 0};
    for (char *at = apr_pstrdup(pool, path), *next; at; at = next) {
        if ((next = strchr(at, '/')))
            *next++ = '\0';
        if (*at == '\0' || split.count == MAX_SEGMENTS)
            return (parts){.count = 0};
        split.segments[split.count++] = at;
    }
    split.resource = neo_find_collection(split.segments[0]);
    return split;
}

/* A segment of an operation's path. */
typedef struct {
    enum { LITERAL, COLLECTION, ID, SUBRESOURCE } kind;
    char word[32];
} segment;

typedef struct {
    int count; /* before the segments, to be in the cache line of the first */
    segment segments[MAX_SEGMENTS];
} template;

static const neo_operation *operations[MAX_OPERATIONS + 1];
static template templates[MAX_OPERATIONS];
static int operation_count;

static segment read_segment(const char *text, size_t len)
{
    segment read = {.kind = LITERAL};
    if (*text == '{')
        read.kind = strncmp(text, "{collection}", len) == 0 ? COLLECTION : strncmp(text, "{id}", len) == 0 ? ID : SUBRESOURCE;
    else if (len < sizeof read.word)
        memcpy(read.word, text, len);
    else
        abort(); /* a mistake in the source: `word` must grow */
    return read;
}

static template read_template(const char *path)
{
    template read = {.count = 0};
    for (const char *at = path; *at; at += *at == '/') {
        size_t len = strcspn(at, "/");
        read.segments[read.count++] = read_segment(at, len);
        at += len;
    }
    return read;
}

static void read_tables(void)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const neo_operation *o = tables[t]; o->method; o++) {
            if (operation_count == MAX_OPERATIONS)
                abort(); /* a mistake in the source: the limit must grow */
            templates[operation_count] = read_template(o->path);
            operations[operation_count++] = o;
        }
}

const neo_operation *const *neo_operations(void)
{
    static pthread_once_t are_read = PTHREAD_ONCE_INIT;
    pthread_once(&are_read, read_tables);
    return operations;
}

/* ---------------------------------------------------------------- matching */

/* Whether a segment matches. If it is an id, it is stored in `match`. */
static int fits_segment(const segment *wanted, const char *text, neo_match *match)
{
    switch (wanted->kind) {
    case LITERAL: return strcmp(text, wanted->word) == 0;
    case COLLECTION: return match->resource != NULL;
    case ID: match->id = text; return !is_reserved(text, match->resource);
    default: match->subresource_id = text; return 1;
    }
}

static int fits(const template *wanted, const parts *path, neo_match *match)
{
    if (wanted->count != path->count)
        return 0;
    *match = (neo_match){.resource = path->resource};
    for (int n = 0; n < path->count; n++)
        if (!fits_segment(&wanted->segments[n], path->segments[n], match))
            return 0;
    return 1;
}

static int is_method(const neo_operation *operation, const char *method)
{
    return strcmp(operation->method, method) == 0 || (strcmp(operation->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

/* The value of Allow, in alphabetical order. */
static const char *allowed_methods(const unsigned char *has, apr_pool_t *pool)
{
    static const char *const methods[] = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"};
    neo_buf out;
    neo_buf_init(&out, pool, 64);
    for (apr_size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        int offered = strcmp(methods[m], "OPTIONS") == 0;
        for (int a = 0; a < operation_count; a++)
            offered |= has[a] && is_method(operations[a], methods[m]);
        if (offered)
            neo_buf_printf(&out, "%s%s", out.len ? ", " : "", methods[m]);
    }
    return out.ptr;
}

void neo_operation_match(const char *path, const char *method, apr_pool_t *pool, neo_match *match)
{
    unsigned char has[MAX_OPERATIONS] = {0};
    const neo_operation *const *all = neo_operations();
    const parts sent = split_path(path, pool);
    *match = (neo_match){.is_public = 1};
    for (int a = 0; all[a]; a++) {
        neo_match trial;
        if (!fits(&templates[a], &sent, &trial) || (trial.resource && !neo_operation_applies_to(all[a], trial.resource)))
            continue;
        match->is_found = has[a] = 1;
        match->id = trial.id;
        match->subresource_id = trial.subresource_id;
        match->is_public &= all[a]->access == NEO_ACCESS_PUBLIC;
        if (is_method(all[a], method))
            match->operation = all[a];
        if (!match->resource || match->operation == all[a]) /* operations on a path can have different resources */
            match->resource = all[a]->resource ? all[a]->resource : trial.resource;
    }
    if (!match->is_found && strncmp(path, NEO_DOCS_PATH "/", sizeof NEO_DOCS_PATH) == 0)
        neo_operation_match(NEO_DOCS_PATH, method, pool, match); /* its operation serves all documents */
    match->is_public &= match->is_found;
    if (match->is_found && !match->operation && !match->allow)
        match->allow = allowed_methods(has, pool);
}

/* ---------------------------------------------------------------- routes */

#define MAX_ROUTES 256

static struct {
    neo_route routes[MAX_ROUTES];
    int count;
    short *numbers; /* by operation and resource */
    int resources, callback, listings, leads, oauth;
} list;

/* Replaces {collection}; ids stay placeholders. */
static const char *route_path(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    static const char gap[] = "{collection}";
    const char *rest = operation->path, *start = "";
    if (resource && strncmp(rest, gap, sizeof gap - 1) == 0) {
        start = resource->collection;
        rest += sizeof gap - 1;
    }
    return apr_pstrcat(pool, "/", start, rest, NULL);
}

static short add_route(neo_route route)
{
    if (list.count == MAX_ROUTES)
        return 0;
    list.routes[list.count] = route;
    return (short)list.count++;
}

static short add_operation_route(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    return add_route((neo_route){operation->method, route_path(operation, resource, pool),
                                 operation->verb ? neo_openapi_operation_id(operation, resource, pool) : NULL});
}

void neo_routes_make(apr_pool_t *pool)
{
    const neo_operation *const *all = neo_operations();
    list.resources = neo_resource_index(NULL);
    list.numbers = apr_pcalloc(pool, MAX_OPERATIONS * ((apr_size_t)list.resources + 1) * sizeof *list.numbers);
    list.routes[0] = (neo_route){"-", "-", NULL};
    list.count = 1;
    for (int a = 0; all[a]; a++) {
        int is_for_each = strstr(all[a]->path, "{collection}") != NULL;
        short *row = &list.numbers[a * (list.resources + 1)], alone = is_for_each ? 0 : add_operation_route(all[a], NULL, pool);
        for (int r = 0; r <= list.resources; r++)
            row[r] = alone;
        for (int r = 0; is_for_each && r < list.resources; r++)
            if (neo_operation_applies_to(all[a], neo_resources[r]))
                row[r] = add_operation_route(all[a], neo_resources[r], pool);
    }
    list.callback = add_route((neo_route){"-", "neoapi-whatsapp", "neoapi-whatsapp"});
    list.listings = add_route((neo_route){"-", "neoapi-listings", "neoapi-listings"});
    list.leads = add_route((neo_route){"-", "neoapi-leads", "neoapi-leads"});
    list.oauth = add_route((neo_route){"-", "neoapi-oauth-metadata", "neoapi-oauth-metadata"});
}

int neo_routes_count(void)
{
    return list.count;
}

const neo_route *neo_route_at(int route)
{
    return &list.routes[route];
}

int neo_route_number(const neo_match *match)
{
    int a = 0;
    if (!match->operation)
        return 0;
    while (operations[a] != match->operation)
        a++;
    return list.numbers[a * (list.resources + 1) + neo_resource_index(match->resource)];
}

int neo_callback_route_number(void)
{
    return list.callback;
}

int neo_listings_route_number(void)
{
    return list.listings;
}

int neo_leads_route_number(void)
{
    return list.leads;
}

int neo_oauth_route_number(void)
{
    return list.oauth;
}

unsigned int neo_routes_fingerprint(void)
{
    unsigned int fingerprint = 0;
    for (int i = 0; i < list.count; i++)
        fingerprint = fingerprint * 31 + neo_crc32(list.routes[i].method, strlen(list.routes[i].method)) +
                      neo_crc32(list.routes[i].path, strlen(list.routes[i].path));
    return fingerprint;
}
