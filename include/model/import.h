/* Rows that come from an export, or from elsewhere: an object as the API answers it, checked by the rules of a creation, with
 * what only the service sets where it is given: the moments, and who it was.
 *
 * Ids of elsewhere, which have another form, become ids of ours; those of another organization's rows become others, always the
 * same, so that what refers to each other still does. */
#ifndef NEO_MODEL_IMPORT_H
#define NEO_MODEL_IMPORT_H

#include <apr_tables.h>

#include "core/clock.h"
#include "core/id.h"
#include "model/resource.h"

/* Every kind of row that an organization takes along, ended by NULL: the resources, leads and opt-outs. A kind that is added
 * here is exported and imported; its table has the columns organization_id, id, and representation, which is the line. */
extern const neo_resource *const neo_import_kinds[];

/* The kind of that name, NULL where there is none. */
const neo_resource *neo_import_kind_named(const char *name);

/* Those that can be imported, each after those that it refers to, ended by NULL. Subscriptions are not among them: their
 * secrets leave the database in no way. */
const neo_resource **neo_import_order(apr_pool_t *pool);

/* Asked for the id of a resource of `kind` that is called `given` in what is taken in. Returns the id that is to stand there.
 */
typedef const char *(*neo_import_id)(void *data, const neo_resource *kind, const char *given);

/* An id as it is given: a text that is not empty, or an integer; NULL for anything else. */
const char *neo_import_given(const neo_json *value, apr_pool_t *pool);

/* A copy of `body` in which each reference is what `id_of` says. What is no reference at all is left for the check to find. */
neo_json *neo_import_rename(const neo_resource *resource, neo_json *body, neo_import_id id_of, void *data, apr_pool_t *pool);

/* The id that the row `given` of another organization has in this one. Both are well-formed; the moment is the same. */
const char *neo_import_moved_id(const char *organization, const char *given, apr_pool_t *pool);

/* A new id that carries a moment. */
void neo_import_new_id(char id[NEO_ID_SIZE], const char *prefix, neo_ms time);

/* What of a row is not its own. */
typedef struct neo_import_owner {
    const char *tenant, *organization, *id;
} neo_import_owner;

/* Checks a body and sets *row to what the table will hold, by columns: what is checked, the place, and of the moments and names
 * that the service sets those that the body has. *clean is the part that is the caller's, as of neo_validate. */
NEO_MUSTCHECK neo_problem *neo_import_check(const neo_resource *resource, neo_json *body, const neo_import_owner *owner,
                                            apr_pool_t *pool, neo_json **row, neo_json **clean);

#endif
