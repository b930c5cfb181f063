/* Pages of lists: filtered, newest first, by keyset. Every list of the API is one of these. */
#ifndef NEO_STORE_PAGE_H
#define NEO_STORE_PAGE_H

#include "model/resource.h"
#include "store/pg.h"

/* One condition of a list: a filter and the values that it was given, checked by neo_condition_value. */
typedef struct neo_condition {
    const neo_filter *filter;
    const char *const *values;
    int count; /* more than one: any of them */
} neo_condition;

typedef struct neo_selection {
    const neo_condition *conditions;
    int count;
    const char *before; /* the page begins with the next smaller id; NULL for the first page */
    int limit;
} neo_selection;

/* The value of a filter as it is compared; `prefix` is that of the ids in the list. Returns NULL, or what is wrong with it
 * ("must be …"). */
const char *neo_condition_value(const neo_filter *filter, const char *prefix, const char *text, apr_pool_t *pool,
                                const char **value);

/* What is listed: the answer's SQL, where it comes from, with the rows called t and the organization the first parameter
 * ("neoapi.broker t where t.organization_id = $1"), and the prefix of the ids. */
typedef struct neo_listed {
    const char *answer;
    const char *from;
    const char *prefix;
} neo_listed;

/* The SQL of a page without conditions. `limit` and `before` are parameters, `before` NULL for the first page. Its rows: the
 * answer, the id, and whether there are earlier ones before the page. Where there is a `before`, at least one row: one without
 * an id stands for an empty page. */
const char *neo_page_sql(const neo_listed *listed, const char *limit, const char *before, apr_pool_t *pool);

/* Runs the SQL of a page with conditions, planned for these very values: how many rows one of them selects decides which index
 * serves it best. `values` are those of the parameters in `from`. */
NEO_MUSTCHECK neo_pg_status neo_page_run(neo_pg *pg, const neo_listed *listed, const char *const *values, int count,
                                         const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

#endif
