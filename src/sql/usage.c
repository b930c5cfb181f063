/* SPDX-License-Identifier: Apache-2.0 */
/* Records and reads what credentials have used (see sql/usage.h). */
#include "sql/usage.h"

#include "sql/usage.sql.h"

struct neo_usage_flush {
    char id[NEO_ID_SIZE];
    int count;
    neo_buf organizations, credentials, operations;
#define ARRAY(name) neo_buf name;
    NEO_USAGE_COUNTS(ARRAY)
};

static void add_record(void *data, const neo_usage_record *record)
{
    neo_usage_flush *f = data;
    f->count++;
    neo_array_add_plain(&f->organizations, record->organization);
    neo_array_add_plain(&f->credentials, record->credential);
    neo_array_add(&f->operations, record->operation);
#define APPEND(name) neo_array_add_number(&f->name, record->counts.name);
    NEO_USAGE_COUNTS(APPEND)
}

neo_usage_flush *neo_usage_flush_make(neo_usage *usage, apr_pool_t *pool)
{
    neo_usage_flush *f = apr_pcalloc(pool, sizeof *f);
    neo_buf_init(&f->organizations, pool, 0);
    neo_buf_init(&f->credentials, pool, 0);
    neo_buf_init(&f->operations, pool, 0);
#define BEGIN(name) neo_buf_init(&f->name, pool, 0);
    NEO_USAGE_COUNTS(BEGIN)
    neo_id_issue(f->id, "usg_");
    neo_usage_take(usage, add_record, f);
    if (!f->count)
        return NULL;
    neo_buf *const all[] = {&f->organizations, &f->credentials, &f->operations, &f->requests,
                            &f->refusals,      &f->rows,        &f->bytes};
    for (apr_size_t i = 0; i < sizeof all / sizeof *all; i++)
        (void)neo_array_end(all[i]);
    return f;
}

neo_pg_status neo_usage_flush_record(neo_pg *pg, const neo_usage_flush *f, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run_as(pg, NEO_PG_ONCE,
                         NEO_BIND(add, .flush = f->id, .organizations = f->organizations.ptr, .credentials = f->credentials.ptr,
                                  .operations = f->operations.ptr, .requests = f->requests.ptr, .refusals = f->refusals.ptr,
                                  .rows = f->rows.ptr, .bytes = f->bytes.ptr),
                         pool, &rows);
}

neo_pg_status neo_usage_read(neo_pg *pg, const neo_actor *actor, const char *from, const char *to, const char *credentials,
                             apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg,
                      NEO_BIND(read, .from = from, .to = to, .days = NEO_USAGE_DAYS, .organization = actor->organization,
                               .credentials = credentials),
                      pool, rows);
}

neo_pg_status neo_usage_expire(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run(pg, NEO_BIND(expire), pool, &rows);
}
