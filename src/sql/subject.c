/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and erases the data of a person (see sql/subject.h). */
#include "sql/subject.h"

#include <string.h>

#include "core/id.h"
#include "pg/pg.h"
#include "resources/list.h"
#include "sql/subject.sql.h"

/* The records of a person. */
static const neo_resource *const records[] = {&neo_party, &neo_lead, &neo_document, &neo_whatsapp_conversation,
                                              &neo_whatsapp_message};

/* {"pty_": ["name", …], …} */
static const char *personal_fields(apr_pool_t *pool)
{
    neo_json *all = neo_json_make_object(pool);
    for (size_t r = 0; r < sizeof records / sizeof *records; r++) {
        neo_json *names = neo_json_make_array(pool);
        for (const neo_field *f = records[r]->fields; f->name; f++)
            if (neo_field_is_personal(f))
                neo_json_append_string(names, f->name, pool);
        neo_json_set(all, records[r]->prefix, names);
    }
    return neo_json_text(all, pool).ptr;
}

neo_pg_status neo_subject_find(neo_pg *pg, const char *organization, const neo_json *person, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(find_subject, .organization = organization, .person = neo_json_text(person, pool).ptr), pool,
                      rows);
}

neo_pg_status neo_subject_preview(neo_pg *pg, const char *organization, const neo_json *person, apr_pool_t *pool,
                                  neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(preview_erasure, .organization = organization, .person = neo_json_text(person, pool).ptr),
                      pool, rows);
}

neo_pg_status neo_subject_export(neo_pg *pg, const char *organization, const neo_json *person, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(export_subject, .organization = organization, .person = neo_json_text(person, pool).ptr),
                      pool, rows);
}

neo_pg_status neo_erasure_begin(neo_pg *pg, const neo_actor *actor, const neo_json *person, apr_pool_t *pool, const char **id)
{
    char new_id[NEO_ID_SIZE];
    neo_rows rows;
    neo_id_issue(new_id, neo_subject.prefix);
    neo_pg_status status =
        neo_pg_run(pg,
                   NEO_BIND(begin_erasure, .organization = actor->organization, .tenant = actor->tenant, .id = new_id,
                            .person = neo_json_text(person, pool).ptr, .actor = actor->name, .request = actor->request,
                            .credential = actor->credential, .address = actor->address),
                   pool, &rows);
    *id = status == NEO_PG_OK ? neo_rows_value(&rows, 0, 0) : NULL;
    return status;
}

neo_pg_status neo_erasure_step(neo_pg *pg, const char *organization, const char *id, apr_pool_t *pool, int *has_more)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(
        pg, NEO_BIND(step_erasure, .organization = organization, .id = id, .personal = personal_fields(pool)), pool, &rows);
    const char *phase = status == NEO_PG_OK ? neo_rows_value(&rows, 0, 0) : NULL;
    *has_more = phase && (!id || strcmp(phase, "done") != 0);
    return status;
}

neo_pg_status neo_erasure_read(neo_pg *pg, const char *organization, const char *id, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(read_erasure, .organization = organization, .id = id), pool, rows);
}

neo_pg_status neo_retention_run(neo_pg *pg, apr_pool_t *pool, int *has_more)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(run_retention, .personal = personal_fields(pool)), pool, &rows);
    *has_more = status == NEO_PG_OK && neo_rows_is_true(&rows, 0, 0);
    return status;
}

neo_pg_status neo_restricted_release(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run(pg, NEO_QUERY("select neoapi.release_restricted()", 0), NULL, pool, &rows);
}
