/* SPDX-License-Identifier: Apache-2.0 */
/* Routing: the operation of a path and a method (see model/operation.h). */
#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/docs.h"
#include "model/operation.h"

/* {collection}/batch and {collection}/export are not {collection}/{id}. */
static int is_word(const char *segment, const neo_resource *resource)
{
    return resource &&
           ((resource->has_batch && strcmp(segment, "batch") == 0) || (resource->has_events && strcmp(segment, "export") == 0));
}

#define MAX_SEGMENTS 8 /* more than any path has */

/* The segments of a request's path. */
typedef struct {
    const char *segments[MAX_SEGMENTS];
    int count;                    /* 0: the path matches no operation */
    const neo_resource *resource; /* whose collection is the first segment; NULL: none */
} parts;

static parts split_path(const char *path, apr_pool_t *pool)
{
    parts of = {.count = 0};
    for (char *at = apr_pstrdup(pool, path), *next; at; at = next) {
        if ((next = strchr(at, '/')))
            *next++ = '\0';
        if (*at == '\0' || of.count == MAX_SEGMENTS)
            return (parts){.count = 0};
        of.segments[of.count++] = at;
    }
    of.resource = neo_resource_of_collection(of.segments[0]);
    return of;
}

/* A segment of an operation's path. */
typedef struct {
    enum { LITERAL, COLLECTION, ID, SUBRESOURCE } kind;
    char word[16];
} segment;

typedef struct {
    segment segments[MAX_SEGMENTS];
    int count;
} template;

static template templates[NEO_ACTIONS];
static pthread_once_t templates_are_read = PTHREAD_ONCE_INIT;

static segment read_segment(const char *text, size_t len)
{
    segment read = {.kind = LITERAL};
    if (*text == '{')
        read.kind = strncmp(text, "{collection}", len) == 0 ? COLLECTION : strncmp(text, "{id}", len) == 0 ? ID : SUBRESOURCE;
    else if (len < sizeof read.word)
        memcpy(read.word, text, len);
    else
        abort();
    return read;
}

static void read_templates(void)
{
    for (int a = 0; a < NEO_ACTIONS; a++) {
        template *of = &templates[a];
        for (const char *at = neo_operations[a].path; *at; at += *at == '/') {
            size_t len = strcspn(at, "/");
            of->segments[of->count++] = read_segment(at, len);
            at += len;
        }
    }
}

/* Whether a segment matches; an id is stored in `match`. */
static int fits_segment(const segment *wanted, const char *text, neo_match *match)
{
    switch (wanted->kind) {
    case LITERAL: return strcmp(text, wanted->word) == 0;
    case COLLECTION: return match->resource != NULL;
    case ID: match->id = text; return !is_word(text, match->resource);
    default: match->subresource_id = text; return 1;
    }
}

static int fits(const template *of, const parts *path, neo_match *match)
{
    if (of->count != path->count)
        return 0;
    *match = (neo_match){.resource = path->resource};
    for (int n = 0; n < path->count; n++)
        if (!fits_segment(&of->segments[n], path->segments[n], match))
            return 0;
    return 1;
}

static int is_method(const neo_operation *operation, const char *method)
{
    return strcmp(operation->method, method) == 0 || (strcmp(operation->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

/* The value of Allow, in alphabetical order. */
static const char *allow_of(const unsigned char *has, apr_pool_t *pool)
{
    static const char *const methods[] = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"};
    neo_buf out;
    neo_buf_init(&out, pool, 64);
    for (apr_size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        int offered = strcmp(methods[m], "OPTIONS") == 0;
        for (int a = 0; a < NEO_ACTIONS; a++)
            offered |= has[a] && is_method(&neo_operations[a], methods[m]);
        if (offered)
            neo_buf_printf(&out, "%s%s", out.len ? ", " : "", methods[m]);
    }
    return out.ptr;
}

int neo_operation_match(const char *path, const char *method, apr_pool_t *pool, neo_match *match)
{
    unsigned char has[NEO_ACTIONS] = {0};
    int found = 0;
    pthread_once(&templates_are_read, read_templates);
    const parts of = split_path(path, pool);
    *match = (neo_match){.is_public = 1};
    for (int a = 0; a < NEO_ACTIONS; a++) {
        neo_match trial;
        if (!fits(&templates[a], &of, &trial) || (trial.resource && !neo_operation_is_of(&neo_operations[a], trial.resource)))
            continue;
        found = has[a] = 1;
        match->id = trial.id;
        match->subresource_id = trial.subresource_id;
        match->is_public &= neo_operations[a].access == NEO_ACCESS_PUBLIC;
        if (is_method(&neo_operations[a], method))
            match->operation = &neo_operations[a];
        if (!match->resource || match->operation == &neo_operations[a]) /* operations on a path can have different resources */
            match->resource = neo_operations[a].of ? neo_operations[a].of : trial.resource;
    }
    if (!found && neo_docs_at(path)) {
        found = has[NEO_ACTION_ERRORS] = 1; /* for Allow: all documents have the same methods */
        match->operation = is_method(&neo_operation_docs, method) ? &neo_operation_docs : NULL;
    }
    if (found && !match->operation)
        match->allow = allow_of(has, pool);
    return found;
}
