/* SPDX-License-Identifier: Apache-2.0 */
/* The documentation pages and their assets, embedded from src/docs at build time. */
#ifndef NEO_OPENAPI_DOCS_H
#define NEO_OPENAPI_DOCS_H

#include <apr_tables.h>

#include "core/buf.h"
#include "schema/operation.h"

typedef struct neo_doc {
    const char *path;       /* below the base URL: "docs/webhooks" */
    const char *moved_to;   /* redirect to this relative URL; all other members are unset */
    const char *media_type; /* pages are HTML */
    int is_immutable;       /* the path changes with the content */
    const unsigned char *bytes;
    apr_size_t len;
} neo_doc;

/* The document that "docs" redirects from; all of them are below it. */
#define NEO_DOCS_PATH "docs"

/* Made by src/docs/pack.sh. The page of an operation of the reference has no path of its own. */
extern const neo_doc neo_docs[], neo_docs_operation[1];
extern const int neo_docs_count;

struct neo_reference;
struct neo_reference_entry;

/* Returns NULL if there is no such document. */
const neo_doc *neo_docs_at(const char *path);

/* Returns the content. Unless it is immutable, {{placeholders}} are replaced; `entry` is the operation of neo_docs_operation,
 * otherwise NULL.
 */
neo_text neo_docs_content(const neo_doc *document, const struct neo_reference *reference,
                          const struct neo_reference_entry *entry, apr_pool_t *pool);

/* A page whose text can be found. */
typedef struct neo_docs_page {
    const char *path; /* relative to the other pages: "webhooks" */
    neo_text html;
} neo_docs_page;

/* The index of pages (neo_docs_page) for search.js: a JSON array of [path, anchor, title, heading, text] of each section. */
neo_text neo_docs_index(const apr_array_header_t *pages, apr_pool_t *pool);

/* The articles of the page of errors, one for each code, with an anchor for each value of {resource} and {field}; and the links
 * to the articles. */
void neo_errors_articles(neo_buf *out, const neo_operation *const *operations);
void neo_errors_links(neo_buf *out, const neo_operation *const *operations);

/* Adds the register of processing. */
void neo_register_add(neo_buf *out);

/* Adds the tables of a resource on the page of business rules: its transitions, or else the effects of others on it; its rules.
 */
void neo_rules_add(neo_buf *out, const neo_resource *resource);

#endif
