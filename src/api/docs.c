/* SPDX-License-Identifier: Apache-2.0 */
/* Serves openapi.yaml, the types of events and the documentation pages (see openapi/docs.h). */
#include "openapi/docs.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>

#include "api/routing.h"
#include "call.h"
#include "core/encode.h"
#include "openapi/reference.h"

/* Scripts and styles are loaded from this origin only; inline ones are blocked. The pages read the index of the search, and
 * those of the reference send requests. */
#define POLICY                                                                                                                 \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "           \
    "form-action 'none'; frame-ancestors 'none'"

typedef struct {
    const neo_doc *doc;
    neo_static_document content;
} document;

/* Documents that everyone reads are compressed once, at start-up: compressing the OpenAPI document takes 5 to 20 ms, and a
 * request for it needs no credential. The pages of operations are not, because compressing all of them takes 60 ms. */
static neo_static_document make_content(neo_text body, int is_compressed, apr_pool_t *pool)
{
    return (neo_static_document){
        .body = body, .gzip = is_compressed ? neo_gzip(body, pool) : (neo_text){0}, .etag = neo_etag(body, pool)};
}

/* `path` is below the base URL. */
static void add_document(neo_site *site, const char *path, const neo_doc *doc, neo_static_document content, apr_pool_t *pool)
{
    document *made = apr_palloc(pool, sizeof *made);
    *made = (document){doc, content};
    apr_hash_set(site->pages, path, APR_HASH_KEY_STRING, made);
}

/* Adds the documents of src/docs; and those that are pages to the list of those whose text can be found. */
static void add_packed(neo_site *site, const neo_reference *reference, apr_array_header_t *pages, apr_pool_t *pool)
{
    for (int i = 0; i < neo_docs_count; i++) {
        const neo_doc *doc = &neo_docs[i];
        if (doc->moved_to) {
            add_document(site, doc->path, doc, (neo_static_document){.etag = NULL}, pool);
            continue;
        }
        neo_text body = neo_docs_content(doc, reference, NULL, pool);
        add_document(site, doc->path, doc, make_content(body, 1, pool), pool);
        const char *relative = doc->path + strlen(NEO_DOCS_PATH "/");
        if (strncmp(doc->media_type, "text/html", 9) == 0)
            APR_ARRAY_PUSH(pages, neo_docs_page) = (neo_docs_page){*relative ? relative : "./", body};
    }
}

static void add_operations(neo_site *site, const neo_reference *reference, apr_array_header_t *pages, apr_pool_t *pool)
{
    for (int i = 0; i < reference->entries->nelts; i++) {
        const neo_reference_entry *entry = &APR_ARRAY_IDX(reference->entries, i, neo_reference_entry);
        neo_text body = neo_docs_content(neo_docs_operation, reference, entry, pool);
        add_document(site, apr_pstrcat(pool, NEO_DOCS_PATH "/", entry->id, NULL), neo_docs_operation,
                     make_content(body, 0, pool), pool);
        APR_ARRAY_PUSH(pages, neo_docs_page) = (neo_docs_page){entry->id, body};
    }
}

void neo_service_prepare(neo_site *site, apr_pool_t *pool)
{
    static const neo_doc search = {.path = NEO_DOCS_PATH "/search.json", .media_type = "application/json"};
    apr_pool_t *scratch;
    neo_keys_derive(&site->keys, "neoapi access token", &site->token_keys);
    neo_keys_derive(&site->keys, "neoapi cursor", &site->cursor_keys);
    apr_pool_create(&scratch, pool);
    const neo_reference *reference = neo_reference_make(neo_operations(), site->base_url, site->docs_url, scratch);
    apr_array_header_t *pages = apr_array_make(scratch, 128, sizeof(neo_docs_page));
    site->pages = apr_hash_make(pool);
    site->openapi = make_content(neo_yaml_text(reference->document, pool), 1, pool);
    site->event_types = make_content(neo_openapi_event_types(reference->document, pool), 1, pool);
    add_packed(site, reference, pages, pool);
    add_operations(site, reference, pages, pool);
    add_document(site, search.path, &search, make_content(neo_docs_index(pages, pool), 1, pool), pool);
    apr_pool_destroy(scratch);
}

static void set_document(neo_result *result, const neo_static_document *content, const char *media_type)
{
    *result = (neo_result){
        .status = 200, .body = content->body, .gzip = content->gzip, .etag = content->etag, .media_type = media_type};
}

static neo_problem *get_openapi(neo_call *call, neo_result *result)
{
    set_document(result, &call->site->openapi, NULL);
    return NULL;
}

static neo_problem *get_event_types(neo_call *call, neo_result *result)
{
    set_document(result, &call->site->event_types, NULL);
    return NULL;
}

static neo_problem *get_document(neo_call *call, neo_result *result)
{
    const document *found = apr_hash_get(call->site->pages, call->request->path, APR_HASH_KEY_STRING);
    if (!found)
        return neo_problem_make(call->pool, NEO_NOT_FOUND_ROUTE, "The documentation has no such page.");
    if (found->doc->moved_to) {
        neo_call_set_header(call, "Location", found->doc->moved_to);
        result->status = 308;
        return NULL;
    }
    set_document(result, &found->content, found->doc->media_type);
    if (found->doc->is_immutable)
        neo_call_set_header(call, "Cache-Control", "public, max-age=31536000, immutable");
    neo_call_set_header(call, "Content-Security-Policy", POLICY);
    neo_call_set_header(call, "Referrer-Policy", "no-referrer");
    neo_call_set_header(call, "Cross-Origin-Opener-Policy", "same-origin");
    return NULL;
}

/* Every other document is read by the operation of "docs" (see api/routing.c). */
const neo_operation neo_docs_operations[] = {
    {.method = "GET",
     .path = "openapi.yaml",
     .run = get_openapi,
     .access = NEO_ACCESS_PUBLIC,
     .accepts = NEO_ACCEPTS_IF_NONE_MATCH,
     .status = 200,
     .response_headers = NEO_RESPONSE_ETAG,
     .media_type = "application/yaml",
     .tag = "Documentation",
     .verb = "getDescription",
     .summary = "Get the OpenAPI document",
     .doc = "The API in OpenAPI 3.1. No credential needed.",
     .answer = "The OpenAPI document."},
    {.method = "GET",
     .path = "event-types",
     .run = get_event_types,
     .access = NEO_ACCESS_PUBLIC,
     .accepts = NEO_ACCEPTS_IF_NONE_MATCH,
     .status = 200,
     .response_headers = NEO_RESPONSE_ETAG,
     .media_type = "application/json",
     .tag = "Documentation",
     .verb = "listEventTypes",
     .summary = "List the types of events",
     .doc =
         "All types, each with the JSON Schema of its deliveries, an example, and the version that has added it. No credential "
         "needed.",
     .answer = "All types of events."},
    {.method = "GET",
     .path = "docs/errors",
     .run = get_document,
     .access = NEO_ACCESS_PUBLIC,
     .accepts = NEO_ACCEPTS_IF_NONE_MATCH,
     .status = 200,
     .response_headers = NEO_RESPONSE_ETAG,
     .media_type = "text/html; charset=utf-8",
     .tag = "Documentation",
     .verb = "getErrors",
     .summary = "Get the page of error codes",
     .doc = "The page that `documentation_url` of an error refers to. No credential needed.",
     .answer = "The page."},
    {.method = "GET",
     .path = "docs",
     .run = get_document,
     .access = NEO_ACCESS_PUBLIC,
     .accepts = NEO_ACCEPTS_IF_NONE_MATCH,
     .status = 200,
     .response_headers = NEO_RESPONSE_ETAG,
     .media_type = "text/html; charset=utf-8"},
    {0},
};
