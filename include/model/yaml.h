/* Writes JSON values as YAML 1.2 that YAML 1.1 parsers read the same. */
#ifndef NEO_MODEL_YAML_H
#define NEO_MODEL_YAML_H

#include "core/json.h"

/* The value in block style, with members in their order. A string is plain if that is safe, folded or literal if it is long or
 * has line breaks, and quoted otherwise. Keys must have at most 1,000 bytes. The text ends in a newline. */
neo_text neo_yaml_text(neo_json *value, apr_pool_t *pool);

#endif
