/* Statements: their names, their places, and those whose text is made when it is needed (see store/pg.h). */
#include <apr_strings.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "libpq.h"

#define LATER 32 /* statements that can be made when they are needed; their places are the last ones */

static int statements;
static neo_statement *later[LATER];
static atomic_int later_count;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static apr_status_t forget(void *data)
{
    (void)data;
    statements = 0;
    for (int i = atomic_exchange(&later_count, 0) - 1; i >= 0; i--) {
        free((void *)later[i]->sql);
        free(later[i]);
    }
    return APR_SUCCESS;
}

static void name_of(const char *sql, char name[NEO_STATEMENT_NAME])
{
    static const char start[] = "neoapi_";
    memcpy(name, start, sizeof start);
    neo_fingerprint(sql, strlen(sql), name + sizeof start - 1);
}

neo_statement *neo_statement_make(apr_pool_t *pool, const char *sql, int params, int writes)
{
    if (statements == NEO_PG_STATEMENTS - LATER)
        abort();
    if (statements == 0) /* httpd makes them anew with each configuration */
        apr_pool_cleanup_register(pool, NULL, forget, apr_pool_cleanup_null);
    neo_statement *made = apr_palloc(pool, sizeof *made);
    *made = (neo_statement){"", apr_pstrdup(pool, sql), params, writes, statements++};
    name_of(sql, made->name);
    return made;
}

/* ---------------------------------------------------------------- made when they are needed */

/* What is there is never changed, so that no lock is needed to look for it. */
static const neo_statement *find(const char *name)
{
    for (int i = atomic_load(&later_count) - 1; i >= 0; i--)
        if (strcmp(later[i]->name, name) == 0)
            return later[i];
    return NULL;
}

static const neo_statement *add(const char *sql, const char *name, int params)
{
    int count = atomic_load(&later_count);
    neo_statement *made = count < LATER ? malloc(sizeof *made) : NULL;
    if (!made)
        return NULL;
    *made = (neo_statement){"", strdup(sql), params, 0, NEO_PG_STATEMENTS - 1 - count};
    if (!made->sql)
        abort();
    apr_cpystrn(made->name, name, sizeof made->name);
    later[count] = made;
    atomic_store(&later_count, count + 1);
    return made;
}

const neo_statement *neo_statement_of(const char *sql, int params)
{
    char name[NEO_STATEMENT_NAME];
    name_of(sql, name);
    const neo_statement *found = find(name);
    if (found || atomic_load(&later_count) == LATER)
        return found;
    pthread_mutex_lock(&making);
    found = find(name);
    if (!found)
        found = add(sql, name, params);
    pthread_mutex_unlock(&making);
    return found;
}
