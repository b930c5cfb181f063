/* SPDX-License-Identifier: Apache-2.0 */
/* Serves openapi.yaml, the types of events and the documentation pages (see openapi/docs.h). */
#include "openapi/docs.h"

#include "api/routing.h"
#include "call.h"
#include "core/encode.h"
#include "openapi/openapi.h"

/* Scripts and styles are loaded from this origin only; inline ones are blocked. */
#define POLICY                                                                                                                 \
    "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "   \
    "img-src 'self'"
/* Swagger UI sends requests, and its style sheet has icons as data URLs. */
#define POLICY_OF_REFERENCE POLICY " data:; connect-src 'self'"

/* The document is compressed once, at start-up: compressing the OpenAPI document takes 5 to 20 ms, and a request for it needs
 * no credential. */
static void fill_document(neo_static_document *page, neo_text body, int is_compressed, apr_pool_t *pool)
{
    page->body = body;
    page->etag = neo_etag(body, pool);
    if (!is_compressed)
        page->gzip = neo_gzip(body, pool);
}

void neo_service_prepare(neo_site *site, apr_pool_t *pool)
{
    neo_static_document *pages = apr_pcalloc(pool, (apr_size_t)neo_docs_count * sizeof *pages);
    apr_pool_t *scratch;
    apr_pool_create(&scratch, pool);
    neo_json *description = neo_openapi_document(neo_operations(), site->base_url, site->docs_url, scratch);
    fill_document(&site->openapi, neo_yaml_text(description, pool), 0, pool);
    fill_document(&site->event_types, neo_openapi_event_types(description, pool), 0, pool);
    apr_pool_destroy(scratch);
    for (int i = 0; i < neo_docs_count; i++)
        if (!neo_docs[i].moved_to)
            fill_document(&pages[i], neo_docs_content(&neo_docs[i], neo_operations(), site->base_url, pool),
                          neo_docs[i].coding != NULL, pool);
    site->pages = pages;
}

static void set_document(neo_result *result, const neo_static_document *document, const char *media_type)
{
    *result = (neo_result){
        .status = 200, .body = document->body, .gzip = document->gzip, .etag = document->etag, .media_type = media_type};
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
    const neo_doc *document = neo_docs_at(call->request->path);
    if (document->moved_to) {
        neo_call_set_header(call, "Location", document->moved_to);
        result->status = 308;
        return NULL;
    }
    set_document(result, &call->site->pages[document - neo_docs], document->media_type);
    if (document->is_immutable)
        neo_call_set_header(call, "Cache-Control", "public, max-age=31536000, immutable");
    neo_call_set_header(call, "Content-Security-Policy", document->calls_api ? POLICY_OF_REFERENCE : POLICY);
    neo_call_set_header(call, "Referrer-Policy", "no-referrer");
    neo_call_set_header(call, "Cross-Origin-Opener-Policy", "same-origin");
    if (document->coding) {
        neo_call_set_header(call, "Content-Encoding", document->coding);
        neo_call_set_header(call, "Vary", "Accept-Encoding");
    }
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
