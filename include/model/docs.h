/* The documentation for people: pages, and what they are made of, packed into the program from src/docs when it is built. */
#ifndef NEO_MODEL_DOCS_H
#define NEO_MODEL_DOCS_H

#include "core/buf.h"

typedef struct neo_doc {
    const char *path;       /* below the base: "docs/webhooks" */
    const char *moved_to;   /* where it is instead, relative to itself; then there is nothing else */
    const char *media_type; /* pages are HTML */
    const char *coding;     /* how the bytes are compressed, as Content-Encoding names it; NULL: not at all */
    int is_lasting;         /* another content would have another path */
    int has_script;         /* a page that runs scripts */
    const unsigned char *bytes;
    apr_size_t len;
} neo_doc;

/* Made by src/docs/pack.sh. */
extern const neo_doc neo_docs[];
extern const int neo_docs_count;

/* NULL where there is none. */
const neo_doc *neo_docs_at(const char *path);

/* What is sent. Pages are filled in with what they say of this deployment and of the model's tables; `base_url` ends in
 * /public/v1/. */
neo_text neo_docs_content(const neo_doc *document, const char *base_url, apr_pool_t *pool);

/* What the page of errors is filled in with: an article for each code, with an anchor for each that can be answered, those with
 * {resource} and {field} for each resource and field; and links to the articles. */
void neo_errors_articles(neo_buf *out);
void neo_errors_links(neo_buf *out);

#endif
