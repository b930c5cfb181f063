/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of values on the command line: placeholder, validation, completion. */
#ifndef NEO_CTL_VALUE_H
#define NEO_CTL_VALUE_H

#include <apr_pools.h>
#include <apr_tables.h>

#include "resources/noun.h"

/* The placeholder in help: "ROLE". */
const char *neo_ctl_placeholder(neo_parameter_kind kind);

/* "tnt_", or NULL if values are not ids. */
const char *neo_ctl_id_prefix(neo_parameter_kind kind);

/* Returns NULL, or an error: "must be …". */
const char *neo_ctl_value_check(neo_parameter_kind kind, const char *text, apr_pool_t *pool);

/* All values as const char *, if the kind is an enumeration; else NULL. */
apr_array_header_t *neo_ctl_value_words(neo_parameter_kind kind, apr_pool_t *pool);
int neo_ctl_is_among(const apr_array_header_t *words, const char *text);

#endif
