/* SPDX-License-Identifier: Apache-2.0 */
/* The documentation pages and their assets, embedded from src/docs at build time. */
#ifndef NEO_OPENAPI_DOCS_H
#define NEO_OPENAPI_DOCS_H

#include "core/buf.h"
#include "schema/operation.h"

typedef struct neo_doc {
    const char *path;       /* below the base URL: "docs/webhooks" */
    const char *moved_to;   /* redirect to this relative URL; all other members are unset */
    const char *media_type; /* pages are HTML */
    const char *coding;     /* Content-Encoding of the bytes; NULL if there is none */
    int is_immutable;       /* the path changes with the content */
    int calls_api;          /* the page sends requests to the API */
    const unsigned char *bytes;
    apr_size_t len;
} neo_doc;

/* The document that "docs" redirects from; all of them are below it. */
#define NEO_DOCS_PATH "docs"

/* Made by src/docs/pack.sh. */
extern const neo_doc neo_docs[];
extern const int neo_docs_count;

/* Returns NULL if there is no such document. */
const neo_doc *neo_docs_at(const char *path);

/* Returns the content. Unless it is immutable, {{placeholders}} are replaced; `operations` is ended by NULL, `base_url` ends in
 * /public/v1/.
 */
neo_text neo_docs_content(const neo_doc *document, const neo_operation *const *operations, const char *base_url,
                          apr_pool_t *pool);

/* The articles of the page of errors, one for each code, with an anchor for each value of {resource} and {field}; and the links
 * to the articles. */
void neo_errors_articles(neo_buf *out, const neo_operation *const *operations);
void neo_errors_links(neo_buf *out, const neo_operation *const *operations);

/* Adds the tables of a resource on the page of business rules: its transitions, or else the effects of others on it; its rules.
 */
void neo_rules_add(neo_buf *out, const neo_resource *resource);

#endif
