/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI document (3.1, as YAML), made from the tables of the model. */
#ifndef NEO_OPENAPI_DOCUMENT_H
#define NEO_OPENAPI_DOCUMENT_H

#include "core/json.h"
#include "schema/operation.h"

/* `operations` is ended by NULL; `base_url` ends in /public/v1/; `docs_url` has no slash at the end. */
neo_json *neo_openapi_document(const neo_operation *const *operations, const char *base_url, const char *docs_url,
                               apr_pool_t *pool);
neo_text neo_openapi_yaml(const neo_operation *const *operations, const char *base_url, const char *docs_url, apr_pool_t *pool);

#endif
