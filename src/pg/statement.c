/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared statements: names and slots; statements registered at run time (see pg/pg.h). */
#include <apr_strings.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "libpq.h"

#define MAX_RUNTIME 32 /* statements registered at run time; they have the last slots */

static int statements;
static neo_statement *runtime[MAX_RUNTIME];
static atomic_int runtime_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static apr_status_t clear_statements(void *data)
{
    (void)data;
    statements = 0;
    for (int i = atomic_exchange(&runtime_count, 0) - 1; i >= 0; i--) {
        free((void *)runtime[i]->sql);
        free(runtime[i]);
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
    if (statements == NEO_PG_STATEMENTS - MAX_RUNTIME)
        abort();
    if (statements == 0) /* httpd makes them again after each restart */
        apr_pool_cleanup_register(pool, NULL, clear_statements, apr_pool_cleanup_null);
    neo_statement *made = apr_palloc(pool, sizeof *made);
    *made = (neo_statement){"", apr_pstrdup(pool, sql), params, writes, statements++};
    name_of(sql, made->name);
    return made;
}

/* ---------------------------------------------------------------- registered at run time */

/* Needs no lock, because entries never change. */
static const neo_statement *find(const char *name)
{
    for (int i = atomic_load(&runtime_count) - 1; i >= 0; i--)
        if (strcmp(runtime[i]->name, name) == 0)
            return runtime[i];
    return NULL;
}

static const neo_statement *add(const char *sql, const char *name, int params)
{
    int count = atomic_load(&runtime_count);
    neo_statement *made = count < MAX_RUNTIME ? malloc(sizeof *made) : NULL;
    if (!made)
        return NULL;
    *made = (neo_statement){"", strdup(sql), params, 0, NEO_PG_STATEMENTS - 1 - count};
    if (!made->sql)
        abort();
    apr_cpystrn(made->name, name, sizeof made->name);
    runtime[count] = made;
    atomic_store(&runtime_count, count + 1);
    return made;
}

const neo_statement *neo_statement_of(const char *sql, int params)
{
    char name[NEO_STATEMENT_NAME];
    name_of(sql, name);
    const neo_statement *found = find(name);
    if (found || atomic_load(&runtime_count) == MAX_RUNTIME)
        return found;
    pthread_mutex_lock(&mutex);
    found = find(name);
    if (!found)
        found = add(sql, name, params);
    pthread_mutex_unlock(&mutex);
    return found;
}
