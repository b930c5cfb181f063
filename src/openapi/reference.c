/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the reference (see openapi/reference.h). */
#include "openapi/reference.h"

#include <apr_strings.h>
#include <string.h>

#include "schema/rules.h"

static void add_entry(neo_reference *reference, apr_array_header_t *entries, const neo_openapi_row *row)
{
    apr_pool_t *pool = reference->pool;
    const neo_openapi_builder builder = {.pool = pool};
    const char *path = neo_openapi_fill(&builder, row->operation->path, row->resource);
    neo_json *item = neo_json_get(neo_json_get(reference->document, "paths"), apr_pstrcat(pool, "/", path, NULL));
    const char *method = neo_normalize_lower_case(row->operation->method, pool);
    neo_json *described = neo_json_get(item, method);
    *(neo_reference_entry *)apr_array_push(entries) =
        (neo_reference_entry){.id = neo_json_string_at(described, "operationId"),
                              .tag = neo_json_string(neo_json_at(neo_json_get(described, "tags"), 0)),
                              .method = row->operation->method,
                              .path = path,
                              .shared = neo_json_get(item, "parameters"),
                              .described = described,
                              .operation = row->operation,
                              .resource = row->resource};
}

neo_reference *neo_reference_make(const neo_operation *const *operations, const char *base_url, const char *docs_url,
                                  apr_pool_t *pool)
{
    neo_reference *reference = apr_pcalloc(pool, sizeof *reference);
    const apr_array_header_t *rows = neo_openapi_rows(operations, pool);
    apr_array_header_t *entries = apr_array_make(pool, rows->nelts, sizeof(neo_reference_entry));
    *reference = (neo_reference){.pool = pool,
                                 .operations = operations,
                                 .base_url = base_url,
                                 .document = neo_openapi_document(operations, base_url, docs_url, pool),
                                 .entries = entries};
    for (int i = 0; i < rows->nelts; i++)
        add_entry(reference, entries, &APR_ARRAY_IDX(rows, i, neo_openapi_row));
    return reference;
}

neo_json *neo_reference_follow(const neo_reference *reference, neo_json *value)
{
    for (const char *at; value && (at = neo_json_string_at(value, "$ref"));) {
        char *last, *path = apr_pstrdup(reference->pool, at + 2); /* after #/ */
        value = reference->document;
        for (char *word = apr_strtok(path, "/", &last); word; word = apr_strtok(NULL, "/", &last))
            value = neo_json_get(value, word);
    }
    return value;
}
