/* References between resources: one row of neoapi.reference for each, wherever in a body it stands. They are looked up and
 * written by the statement of the write itself.
 *
 * Here are the pieces of such a statement: named steps of its `with`, each of them beginning with a comma where it is not the
 * first. */
#ifndef NEO_STORE_REFERENCE_H
#define NEO_STORE_REFERENCE_H

#include "model/resource.h"
#include "store/sql.h"

/* The column of neoapi.reference for what has ids like this one: "broker_id"; NULL where nothing has. */
const char *neo_reference_column(const char *id, apr_pool_t *pool);

/* The parameters {paths} and {targets}: every reference of a checked body. */
void neo_reference_add_values(neo_values *values, const neo_resource *resource, const neo_json *body, apr_pool_t *pool);

/* The first steps of a write: `ref (path, target)`, and `missing (path)` with those that the organization does not have. */
void neo_reference_add_lookup(neo_buf *sql, const neo_resource *resource);
/* The second of them by itself, with these columns of `ref`. */
void neo_reference_add_missing(neo_buf *sql, const neo_resource *resource, const char *columns);
#define NEO_REFERENCES_EXIST "not exists (select from missing)"

/* The steps that keep the references of the row {id} that the step `made` has created, updated or deleted. */
void neo_reference_add_created(neo_buf *sql, const char *made);
void neo_reference_add_updated(neo_buf *sql, const char *made);
void neo_reference_add_deleted(neo_buf *sql, const char *made);

/* The first step of a deletion: `used (kinds)`, one row: the names of the kinds that refer to {id}, separated by commas, or
 * null. */
void neo_reference_add_used(neo_buf *sql, const neo_resource *resource);
/* What it is made of: a select of the kinds that refer to `id`, which is SQL, but for references r that `but` excludes. */
void neo_reference_add_kinds(neo_buf *sql, const neo_resource *resource, const char *id, const char *but);
#define NEO_REFERENCE_NONE "(select kinds from used) is null"

#endif
