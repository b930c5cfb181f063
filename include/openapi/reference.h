/* SPDX-License-Identifier: Apache-2.0 */
/* The reference: a page for each operation of the OpenAPI document, and the code samples on it. */
#ifndef NEO_OPENAPI_REFERENCE_H
#define NEO_OPENAPI_REFERENCE_H

#include <apr_tables.h>

#include "openapi/docs.h"
#include "openapi/openapi.h"

/* Everything lives in the pool. */
typedef struct neo_reference {
    apr_pool_t *pool;
    const neo_operation *const *operations; /* ended by NULL */
    const char *base_url;                   /* ends in /public/v1/ */
    neo_json *document;                     /* the OpenAPI document */
    const apr_array_header_t *entries;      /* elements: neo_reference_entry, in the order of the OpenAPI document */
} neo_reference;

typedef struct neo_reference_entry {
    const char *id;      /* the operationId, which is the name of its page: "createBroker" */
    const char *tag;     /* "Brokers" */
    const char *method;  /* "POST" */
    const char *path;    /* below the base URL, without a leading slash: "brokers" */
    neo_json *shared;    /* parameters of the path, or NULL */
    neo_json *described; /* the operation in the OpenAPI document */
    const neo_operation *operation;
    const neo_resource *resource; /* or NULL */
} neo_reference_entry;

neo_reference *neo_reference_make(const neo_operation *const *operations, const char *base_url, const char *docs_url,
                                  apr_pool_t *pool);

/* The list of all operations by tag, for the page "Reference", and the contents list of that page. */
void neo_reference_list(neo_buf *out, const neo_reference *reference);
void neo_reference_tags(neo_buf *out, const neo_reference *reference);

/* The links to the operations of the entry's tag, and the content of the entry's page. */
void neo_reference_links(neo_buf *out, const neo_reference *reference, const neo_reference_entry *entry);
void neo_reference_article(neo_buf *out, const neo_reference *reference, const neo_reference_entry *entry);

/* Adds the rows of a table with the fields of a schema, nested ones as "address.city" and "owners[].share_bps". */
void neo_reference_fields(neo_buf *out, const neo_reference *reference, neo_json *schema);

/* "string", "array of integer": the type of a schema in words; and its limits, "1 to 200 characters", or "". */
const char *neo_reference_type(const neo_reference *reference, neo_json *schema);
const char *neo_reference_limits(neo_json *schema, apr_pool_t *pool);

/* The target of a $ref; the value itself if it is none. */
neo_json *neo_reference_follow(const neo_reference *reference, neo_json *value);

/* ---------------------------------------------------------------- samples */

/* A request of a sample. */
typedef struct neo_sample_step {
    const char *variable; /* gets the first id with the prefix in the response; NULL: the response is printed */
    const char *prefix;
    const char *method;
    const char *path; /* below the base URL; has variables in braces, as have the strings of the body */
    neo_json *body;   /* NULL if there is none */
} neo_sample_step;

/* The steps of an operation's sample (neo_sample_step); the last one is the operation itself. The others set the variables that
 * it reads from the environment: they create what a write needs, or look up what is read. {unique} is eight random digits. */
const apr_array_header_t *neo_sample_steps(const neo_reference *reference, const neo_reference_entry *entry);

/* Adds the sample as HTML, in all languages, after the commands for its variables. */
void neo_sample_add(neo_buf *out, const neo_reference *reference, const neo_reference_entry *entry);

/* JSON on several lines: as it is, and as a block of HTML. */
void neo_sample_json(neo_buf *out, neo_json *value);
void neo_sample_json_block(neo_buf *out, neo_json *value);

#endif
