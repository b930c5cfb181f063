/* SPDX-License-Identifier: Apache-2.0 */
/* Lists with keyset pagination: filtered and ordered. Every list of the API is one. */
#ifndef NEO_SQL_PAGE_H
#define NEO_SQL_PAGE_H

#include <apr_tables.h>

#include "pg/pg.h"
#include "schema/resource.h"

/* A filter with its values, as neo_condition_value returns them. */
typedef struct neo_condition {
    const neo_filter *filter;
    const char *const *values;
    int count; /* several: any of them matches */
} neo_condition;

typedef struct neo_selection {
    const neo_condition *conditions;
    int count;
    const neo_order *order; /* one of neo_orders */
    const char *before;     /* the page starts after this id; NULL for the first page */
    const char *position;   /* the value of the order's column in that row, in microseconds since 1970 */
    int limit;
    int has_total; /* count the rows that match the conditions, up to NEO_MAX_TOTAL + 1 */
} neo_selection;

#define NEO_MAX_TOTAL 10000

/* Columns of a page. A page without `before`, in the default order and without total has only the first one. */
enum { NEO_PAGE_ANSWER, NEO_PAGE_HAS_EARLIER, NEO_PAGE_POSITION, NEO_PAGE_TOTAL };

/* Whether it only has what the statement of neo_page_sql has. */
int neo_selection_is_plain(const neo_selection *selection);

/* Validates a filter's value and sets *value to what it is compared with; `prefix` is that of the listed ids. Returns NULL, or
 * an error message ("must be …"). */
const char *neo_condition_value(const neo_filter *filter, const char *prefix, const char *text, apr_pool_t *pool,
                                const char **value);

/* The source of a list. */
typedef struct neo_listed {
    const char *answer; /* SQL */
    const char *from;   /* "neoapi.broker t where t.organization_id = $1": the rows are t, and the organization comes first */
    const char *prefix; /* that of the ids */
    const char *head;   /* "with …": the last CTE is head, with one row. Then the page has its columns after the answer, a row
                           with a null answer if it is empty, and is NEO_OLDEST_FIRST. NULL if there is none */
    const char *merged; /* the column of a NEO_FILTER_MERGED; NULL if the list has none */
    const char *values; /* "select …" of values, none twice: the list has rows with these in that column; NULL: any */
} neo_listed;

/* The rows of a resource; `organization` is SQL. */
neo_listed neo_listed_rows(const neo_resource *resource, const char *organization, apr_pool_t *pool);

/* The SQL of a page without conditions, in the default order; `limit` and `before` are SQL, `before` NULL for the first page.
 * If `before` is set, the second column is whether there is a previous page, and there is always a row: if the page is empty,
 * its answer is null. */
const char *neo_page_sql(const neo_listed *listed, const char *limit, const char *before, apr_pool_t *pool);

/* Runs the SQL of a page with conditions, planned for these values, because their selectivity decides which index is best.
 * `values` are those of the parameters in `from`. */
NEO_MUSTCHECK neo_pg_status neo_page_run(neo_pg *pg, const neo_listed *listed, const char *const *values, int count,
                                         const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

/* The SQL of all rows in the order of the pages, not only those of one; of the selection only the conditions count. Sets
 * *parameters to the values of its parameters (const char *). */
const char *neo_page_all(const neo_listed *listed, const char *const *values, int count, const neo_selection *selection,
                         apr_pool_t *pool, const apr_array_header_t **parameters);

#endif
