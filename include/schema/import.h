/* SPDX-License-Identifier: Apache-2.0 */
/* Imported rows, from an export or from another system: an object as the API returns it, validated like a create, optionally
 * with the fields that only the service sets (timestamps and actors).
 *
 * Ids of other systems get new ids. Ids of another organization get new ids too, always the same ones, so that references
 * between its rows stay right. */
#ifndef NEO_SCHEMA_IMPORT_H
#define NEO_SCHEMA_IMPORT_H

#include "core/clock.h"
#include "core/id.h"
#include "schema/resource.h"

/* Every kind of row that is exported and imported, ended by NULL: resources, and leads, opt-outs, conversations and messages.
 * Its table must have the columns organization_id, id and, unless has_json_function is set, representation, which is the
 * exported line. */
extern const neo_resource *const neo_import_kinds[];

/* Returns NULL if there is none. */
const neo_resource *neo_import_kind_named(const char *name);

/* The kinds that can be imported, each after those that it refers to, ended by NULL. Webhooks are not among them, since their
 * secrets are not exported. */
const neo_resource **neo_import_order(apr_pool_t *pool);

/* Returns the new id of the resource of `kind` with the id `given` in the import. */
typedef const char *(*neo_import_id)(void *data, const neo_resource *kind, const char *given);

/* An id in an import: a string that is not empty, or an integer. Returns NULL for anything else. */
const char *neo_import_given(const neo_json *value, apr_pool_t *pool);

/* A copy of `body` with every reference replaced by find_id(). Malformed references stay, for neo_import_check to find. */
neo_json *neo_import_rename(const neo_resource *resource, neo_json *body, neo_import_id find_id, void *data, apr_pool_t *pool);

/* The id in this organization for the row `given` of another one, with the same time. `given` must be a valid id. */
const char *neo_import_moved_id(const char *organization, const char *given, apr_pool_t *pool);

/* A new random id with that time. */
void neo_import_new_id(char id[NEO_ID_SIZE], const char *prefix, neo_ms time);

/* The owner and the id of an imported row. */
typedef struct neo_import_owner {
    const char *tenant, *organization, *id;
    int has_only_times; /* of the body's fields that only the service sets, the timestamps are taken and others ignored */
} neo_import_owner;

/* Validates a body. *row: the columns of the row, with the fields that only the service sets if the body has them. *clean: only
 * the writable fields, as from neo_validate. */
NEO_MUSTCHECK neo_problem *neo_import_check(const neo_resource *resource, neo_json *body, const neo_import_owner *owner,
                                            apr_pool_t *pool, neo_json **row, neo_json **clean);

#endif
