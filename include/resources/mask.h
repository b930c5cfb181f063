/* SPDX-License-Identifier: Apache-2.0 */
/* Masks the fields that the tables mark NEO_SENSITIVE, for credentials with a scope such as "parties:read_masked" and for
 * subscriptions with is_masked. A text as a whole is masked, whatever made it: what to mask is found by the ids and the types
 * of events in it, so that a new operation or resource needs no code. */
#ifndef NEO_RESOURCES_MASK_H
#define NEO_RESOURCES_MASK_H

#include "resources/scope.h"

/* In place of a string. What is not a string, or is one of an enumeration, has no value that clients would not take for a real
 * one, and is left out. */
#define NEO_MASK "***"

/* Whether sensitive fields of the area are masked: a credential with any masked scope sees them only with the scope to read the
 * area, so neither in the response to a write nor in a delivery to somebody else. */
int neo_scopes_mask(neo_scopes scopes, int area);

/* Whether the resource has a sensitive field of this name, and it is masked. */
int neo_scopes_mask_field(neo_scopes scopes, const neo_resource *resource, const char *name);

/* Whether it has a sensitive field. */
int neo_resource_is_sensitive(const neo_resource *resource);

/* Whether the filter compares a sensitive field, so that its result would confirm a guessed value. */
int neo_filter_is_sensitive(const neo_filter *filter, const neo_resource *resource);

/* Masks a JSON text. `resource` is that of objects without an id, such as a resource of which some fields were requested; NULL
 * if there are none. Returns false, and changes nothing, if the text is not JSON. */
NEO_MUSTCHECK int neo_mask_text(neo_text *text, const neo_resource *resource, neo_scopes scopes, apr_pool_t *pool);

#endif
