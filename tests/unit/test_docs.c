/* SPDX-License-Identifier: Apache-2.0 */
/* The documentation: pages are complete, their placeholders are replaced, and they load only packed assets. */
#include "unit.h"

#include <apr_strings.h>

#include "api/routing.h"
#include "openapi/reference.h"
#include "resources/list.h"
#include "schema/resource.h"

#define BASE     "https://api.example.com/public/v1/"
#define DOWNLOAD "docs/neoapi-listen.py"

static int is_page(const neo_doc *document)
{
    return document->media_type && strncmp(document->media_type, "text/html", 9) == 0;
}

static const neo_reference *make_reference(const char *base_url, apr_pool_t *pool)
{
    return neo_reference_make(neo_operations(), base_url, "https://api.example.com/public/v1/docs", pool);
}

static const char *page_at(const char *path, apr_pool_t *pool)
{
    const neo_doc *document = neo_docs_at(path);
    assert_non_null(document);
    return neo_docs_content(document, make_reference(BASE, pool), NULL, pool).ptr;
}

TEST(every_page_of_the_navigation_exists)
{
    static const char *const paths[] = {"docs/", "docs/reference", "docs/webhooks", "docs/leads", "docs/rules", "docs/errors"};
    for (int i = 0; i < COUNT(paths); i++) {
        const char *page = page_at(paths[i], *state), *name = strrchr(paths[i], '/') + 1;
        assert_memory_equal(page, "<!DOCTYPE html>\n", 16);
        assert_string_equal(page + strlen(page) - 8, "</html>\n");
        assert_non_null(
            strstr(page, apr_pstrcat(*state, "<a href=\"", *name ? name : "./", "\" aria-current=\"page\">", NULL)));
    }
}

TEST(a_page_has_no_placeholders_and_no_external_resources)
{
    static const char *const error[] = {"{{", "<style", " style=", " onclick=", "@import", "javascript:", "<script>"};
    const neo_reference *reference = make_reference(BASE, *state);
    for (int i = 0; i < neo_docs_count + reference->entries->nelts; i++) {
        const neo_reference_entry *entry =
            i < neo_docs_count ? NULL : &APR_ARRAY_IDX(reference->entries, i - neo_docs_count, neo_reference_entry);
        const neo_doc *document = entry ? neo_docs_operation : &neo_docs[i];
        if (!is_page(document))
            continue;
        neo_text page = neo_docs_content(document, reference, entry, *state);
        assert_int_equal(strlen(page.ptr), page.len);
        for (int w = 0; w < COUNT(error); w++)
            if (strstr(page.ptr, error[w]))
                fail_msg("%s has %s", entry ? entry->id : document->path, error[w]);
    }
}

TEST(examples_name_the_deployment_and_every_event_is_listed)
{
    const char *events = page_at("docs/events", *state);
    assert_non_null(strstr(page_at("docs/", *state), "'" BASE "me'"));
    assert_non_null(
        strstr(neo_docs_content(neo_docs_at("docs/"), make_reference("https://a.b/?x=1&y=2", *state), NULL, *state).ptr,
               "?x=1&amp;y=2me'"));
    for (const neo_event_type *t = neo_event_types; t->name; t++)
        assert_non_null(strstr(events, apr_psprintf(*state, "<dt id=\"%s\"><code>%s</code></dt>", t->name, t->name)));
}

TEST(a_download_names_the_deployment)
{
    neo_text program = neo_docs_content(neo_docs_at(DOWNLOAD), make_reference(BASE, *state), NULL, *state);
    assert_non_null(strstr(apr_pstrmemdup(*state, program.ptr, program.len), "SERVED_URL = \"" BASE "\""));
}

TEST(assets_are_sent_as_packed_and_cacheable)
{
    for (int i = 0; i < neo_docs_count; i++) {
        const neo_doc *document = &neo_docs[i];
        assert_ptr_equal(neo_docs_at(document->path), document);
        if (document->moved_to || is_page(document) || strcmp(document->path, DOWNLOAD) == 0)
            continue;
        neo_text content = neo_docs_content(document, NULL, NULL, *state);
        assert_ptr_equal(content.ptr, document->bytes);
        assert_int_equal(content.len, document->len);
        assert_true(document->is_immutable && document->len > 0);
    }
}

TEST(only_packed_files_are_found)
{
    static const char *const others[] = {"", "docs//", "docs/x", "docs/Errors", "docs/errors/", "doc", "openapi.yaml"};
    neo_match match;
    for (int i = 0; i < COUNT(others); i++)
        assert_null(neo_docs_at(others[i]));
    assert_string_equal(neo_docs_at("docs")->moved_to, "docs/");
    neo_operation_match("docs/webhooks", "HEAD", *state, &match);
    assert_string_equal(match.operation->path, NEO_DOCS_PATH);
    assert_true(match.is_public);
    neo_operation_match("docs/createBroker", "GET", *state, &match);
    assert_string_equal(match.operation->path, NEO_DOCS_PATH);
    neo_operation_match("docs/webhooks", "PUT", *state, &match);
    assert_true(match.is_public && !match.operation);
    assert_string_equal(match.allow, "GET, HEAD, OPTIONS");
}
