/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a person in an organization: finding and erasing it (sql/0009_privacy.sql). `person` is a validated body of
 * neo_subject. */
#ifndef NEO_SQL_SUBJECT_H
#define NEO_SQL_SUBJECT_H

#include "core/json.h"
#include "sql/idempotency.h"

/* One row: the answer of GET /subjects. */
NEO_MUSTCHECK neo_pg_status neo_subject_find(neo_pg *pg, const char *organization, const neo_json *person, apr_pool_t *pool,
                                             neo_rows *rows);
/* One row: what an erasure would do. */
NEO_MUSTCHECK neo_pg_status neo_subject_preview(neo_pg *pg, const char *organization, const neo_json *person, apr_pool_t *pool,
                                                neo_rows *rows);

/* One row: the answer to the person. */
NEO_MUSTCHECK neo_pg_status neo_subject_export(neo_pg *pg, const char *organization, const neo_json *person, apr_pool_t *pool,
                                               neo_rows *rows);

/* Begins an erasure, or finds the one of this person that is in progress. Sets *id. */
NEO_MUSTCHECK neo_pg_status neo_erasure_begin(neo_pg *pg, const neo_actor *actor, const neo_json *person, apr_pool_t *pool,
                                              const char **id);
/* Does the next step of an erasure; waits for another session's step of it. With NULL it is a step of the oldest one that no
 * other session works on. A step takes milliseconds and locks only records of the person. *has_more: there can be another
 * step. */
NEO_MUSTCHECK neo_pg_status neo_erasure_step(neo_pg *pg, const char *organization, const char *id, apr_pool_t *pool,
                                             int *has_more);
/* One row: the erasure as JSON. */
NEO_MUSTCHECK neo_pg_status neo_erasure_read(neo_pg *pg, const char *organization, const char *id, apr_pool_t *pool,
                                             neo_rows *rows);

/* Begins the erasures of one rule of retention. *has_more: another one can be due. */
NEO_MUSTCHECK neo_pg_status neo_retention_run(neo_pg *pg, apr_pool_t *pool, int *has_more);

/* Deletes restricted records that the law no longer keeps. */
NEO_MUSTCHECK neo_pg_status neo_restricted_release(neo_pg *pg, apr_pool_t *pool);

#endif
