/* An organization's data, read as it is at one moment: everything comes from one snapshot, in portions, so that neither the
 * reader's memory nor the server's grows with it. Functions return NULL, or a sentence for people. */
#ifndef NEO_STORE_EXPORT_H
#define NEO_STORE_EXPORT_H

#include "model/resource.h"
#include "store/pg.h"

/* Begins, and sets *about to {"at", "schema", "tenant": {"id", "name", "plan"}, "organization": {"id", "name"}, "left_out":
 * {"whatsapp_message": 2, …}}, the last of which counts what an administrator may miss in it; a transaction that only reads
 * lasts from here to neo_export_end. */
const char *neo_export_begin(neo_pg *pg, const char *organization, apr_pool_t *pool, neo_json **head);
void neo_export_end(neo_pg *pg, apr_pool_t *pool);

/* How many rows of a kind there are. */
const char *neo_export_count(neo_pg *pg, const neo_resource *resource, const char *organization, apr_pool_t *pool,
                             long long *count);

/* Opens a kind, and reads its next portion: the answer that the API gives to each, oldest first. At its end there is none. */
const char *neo_export_open(neo_pg *pg, const neo_resource *resource, const char *organization, apr_pool_t *pool);
const char *neo_export_next(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);

#endif
