/* SPDX-License-Identifier: Apache-2.0 */
/* JSON values as YAML 1.2, written so that readers of YAML 1.1 see the same. */
#ifndef NEO_OPENAPI_YAML_H
#define NEO_OPENAPI_YAML_H

#include "core/json.h"

/* The value in block style; what fits on a few lines is in flow style within. Members keep their order. The text ends in a
 * newline and comes from the pool. */
neo_text neo_yaml_text(neo_json *value, apr_pool_t *pool);

#endif
