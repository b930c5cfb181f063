/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes and roles of credentials. A scope is "brokers:read", "brokers:read_masked" or "brokers:write"; a set of scopes is a
 * bit mask. Nobody writes the audit log, so that there is no "audit:write". */
#ifndef NEO_RESOURCES_SCOPE_H
#define NEO_RESOURCES_SCOPE_H

#include <apr_pools.h>

#include "core/json.h"
#include "resources/list.h"

typedef unsigned long long neo_scopes;

#define NEO_SCOPE_READ(area)  ((neo_scopes)1 << (2 * (area)))
#define NEO_SCOPE_WRITE(area) ((neo_scopes)2 << (2 * (area)))
#define NEO_SCOPES_ALL                                                                                                         \
    ((((neo_scopes)1 << (2 * NEO_AREAS)) - 1) & ~NEO_SCOPE_WRITE(NEO_AREA_AUDIT) & ~NEO_SCOPE_WRITE(NEO_AREA_USAGE))
/* Of org_admin only. */
#define NEO_SCOPES_ADMIN                                                                                                       \
    (NEO_SCOPE_READ(NEO_AREA_AUDIT) | NEO_SCOPE_READ(NEO_AREA_USAGE) | NEO_SCOPE_READ(NEO_AREA_PRIVACY) |                      \
     NEO_SCOPE_WRITE(NEO_AREA_PRIVACY))
#define NEO_SCOPES_READ (NEO_SCOPES_ALL & 0x55555555u & ~NEO_SCOPES_ADMIN) /* to read resources */

/* A bit that restricts: "brokers:read_masked" is "brokers:read" with this one (see resources/mask.h). It is opt-in, because the
 * specification's clients have "brokers:read" and see everything with it. */
#define NEO_SCOPE_MASKED(area) ((neo_scopes)1 << (32 + (area)))
#define NEO_SCOPES_MASKED      (~(neo_scopes)0 << 32)

/* Returns false if there is no such scope. */
NEO_MUSTCHECK int neo_scope_parse(const char *text, neo_scopes *scope);

/* "brokers:read", or "brokers:read_masked"; the first one of several. */
const char *neo_scope_text(neo_scopes scopes, apr_pool_t *pool);

/* The names of all scopes, ended by NULL. */
const char *const *neo_scope_names(apr_pool_t *pool);

/* Reads scopes with blanks between them. Returns false if one does not exist, or there is none. */
NEO_MUSTCHECK int neo_scopes_parse(const char *text, apr_pool_t *pool, neo_scopes *scopes);

/* All of them with blanks between them. */
const char *neo_scopes_text(neo_scopes scopes, apr_pool_t *pool);

/* Adds the set as a JSON array of strings. */
void neo_scopes_json(neo_buf *out, neo_scopes scopes);

/* What a credential with the scopes `all` has left if it is restricted to `some`. What is masked in one of them stays masked,
 * also without the scope to read it. */
neo_scopes neo_scopes_restrict(neo_scopes all, neo_scopes some);

/* Returns false if there is no such role. */
NEO_MUSTCHECK int neo_role_scopes(const char *role, neo_scopes *scopes);

/* The types of events that a credential with these scopes may read, as a PostgreSQL array; NULL if it may read all. */
const char *neo_event_types_readable(neo_scopes scopes, apr_pool_t *pool);

/* The roles' names, ended by NULL. */
extern const char *const neo_role_names[];

#endif
