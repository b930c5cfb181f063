/* Taking rows in (see store/intake.h). */
#include "store/intake.h"

#include <apr_strings.h>
#include <apr_time.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/id.h"
#include "intake_sql.h"
#include "model/intake.h"
#include "model/references.h"
#include "store/write.h"

#define MOST_ATTEMPTS 10                 /* while others are in the way */
#define PAUSE         APR_TIME_C(300000) /* microseconds */
#define ACTOR         "neoapictl"

/* A plan for an organization that has nothing as yet, as far as is known, would be a bad one a moment later. */
#define GENERIC_PLANS "set plan_cache_mode to force_generic_plan; "

struct neo_intake {
    neo_pg *pg;
    const char *organization, *tenant;
    int tells;
    const neo_resource **kinds;
    neo_sql **write;
    neo_sql **refer, **settle; /* by kind; NULL where there is nothing to be kept, or nothing that comes later */
    const char *find;
    int kind;         /* that is being written, then that whose references are being kept once more */
    int is_settling;  /* all rows are written, so that those can be referred to that came later */
    long long before; /* the line behind which the next portion begins */
};

static const char *exec(const neo_intake *intake, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                        neo_rows *rows)
{
    return neo_pg_exec(intake->pg, sql, params, values, pool, rows) == NEO_PG_OK ? NULL : rows->message;
}

/* ---------------------------------------------------------------- the beginning */

/* The server notices a moment later that whoever had it before is no more. */
const char *neo_intake_reserve(neo_pg *pg, const char *organizations, apr_pool_t *pool)
{
    neo_rows rows;
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        if (neo_pg_exec(pg,
                        "select coalesce(bool_and(pg_try_advisory_lock(hashtext('neoapi.import'), hashtext(id))), true)"
                        " from unnest($1::text[]) id",
                        1, &organizations, pool, &rows) != NEO_PG_OK)
            return rows.message;
        if (neo_rows_is_true(&rows, 0, 0))
            return NULL;
        apr_sleep(PAUSE);
    }
    return "another import into this organization, or a purge of it, is under way";
}

static const char *find_tenant(neo_intake *intake, apr_pool_t *pool)
{
    neo_rows rows;
    const char *wrong = neo_intake_reserve(intake->pg, apr_pstrcat(pool, "{", intake->organization, "}", NULL), pool);
    if (!wrong)
        wrong = exec(intake, "select tenant_id from neoapi.organization where id = $1", 1, &intake->organization, pool, &rows);
    if (wrong)
        return wrong;
    intake->tenant = rows.count ? neo_rows_value(&rows, 0, 0) : NULL;
    return rows.count ? NULL : "there is no such organization; see: neoapictl organization list";
}

/* Whether a kind's rows can refer to what is written after them. */
static int looks_ahead(const neo_intake *intake, int kind)
{
    for (int k = kind; intake->kinds[k]; k++)
        if (neo_can_refer_to(intake->kinds[kind], intake->kinds[k]))
            return 1;
    return 0;
}

const char *neo_intake_begin(neo_pg *pg, const char *organization, int tells, apr_pool_t *pool, neo_intake **made,
                             const char **tenant)
{
    neo_intake *intake = apr_pcalloc(pool, sizeof *intake);
    neo_rows rows;
    int count = 0;
    *intake = (neo_intake){.pg = pg, .organization = organization, .tells = tells, .kinds = neo_intake_order(pool)};
    while (intake->kinds[count])
        count++;
    intake->write = apr_palloc(pool, (apr_size_t)count * sizeof *intake->write);
    intake->refer = apr_pcalloc(pool, (apr_size_t)count * sizeof *intake->refer);
    intake->settle = apr_pcalloc(pool, (apr_size_t)count * sizeof *intake->settle);
    for (int k = 0; k < count; k++) {
        intake->write[k] = neo_intake_write_sql(intake->kinds[k], tells, pool);
        if (!intake->kinds[k]->has_foreign_keys)
            intake->refer[k] = neo_intake_refer_sql(&intake->kinds[k], 0, pool);
        if (looks_ahead(intake, k))
            intake->settle[k] = neo_intake_refer_sql(&intake->kinds[k], 1, pool);
    }
    intake->find = neo_intake_find_sql(intake->kinds, pool);
    const char *wrong = find_tenant(intake, pool);
    if (!wrong)
        wrong = exec(intake, GENERIC_PLANS "begin; " NEO_INTAKE_TABLES, 0, NULL, pool, &rows);
    *made = intake;
    *tenant = intake->tenant;
    return wrong;
}

/* ---------------------------------------------------------------- collecting */

static void add_member(neo_buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    neo_buf_printf(out, ",\"%s\":", name);
    neo_buf_json(out, value);
}

const char *neo_intake_find(neo_intake *intake, neo_intake_wish *wishes, int count, apr_pool_t *pool)
{
    neo_buf list;
    neo_rows rows;
    neo_buf_init(&list, pool, (apr_size_t)count * 160 + 2);
    for (int i = 0; i < count; i++) {
        neo_buf_printf(&list, "%c{\"n\":%d,\"kind\":\"%s\"", i ? ',' : '[', i, wishes[i].kind->name);
        add_member(&list, "given", wishes[i].given);
        add_member(&list, "external", wishes[i].external_id);
        add_member(&list, "fresh", wishes[i].id);
        neo_buf_putc(&list, '}');
    }
    neo_buf_putc(&list, ']');
    const char *values[] = {intake->organization, list.ptr};
    const char *wrong = exec(intake, intake->find, 2, values, pool, &rows);
    for (int r = 0; !wrong && r < rows.count; r++)
        wishes[atoi(neo_rows_value(&rows, r, 0))].id = neo_rows_value(&rows, r, 1);
    return wrong;
}

static void add_line(const neo_intake *intake, neo_buf *out, const neo_intake_line *line, apr_pool_t *pool)
{
    char id_block[NEO_ID_BLOCK_SIZE];
    neo_buf_printf(out, "%c{\"number\":%lld,\"kind\":\"%s\",\"id\":\"%s\"", out->len ? ',' : '[', line->number,
                   line->kind->name, line->id);
    if (intake->tells) {
        neo_id_issue_block(id_block, "whd_");
        neo_buf_printf(out, ",\"id_block\":\"%s\"", id_block);
    }
    if (line->row) {
        neo_text row = neo_json_text(line->row, pool);
        neo_buf_puts(out, ",\"body\":");
        neo_buf_add(out, row.ptr, row.len);
    }
    neo_buf_putc(out, '}');
}

static void add_references(neo_buf *out, const neo_intake_line *line, apr_pool_t *pool)
{
    const apr_array_header_t *all = neo_references(line->kind, line->clean, pool);
    for (int i = 0; i < all->nelts; i++)
        neo_buf_printf(out, "%c{\"number\":%lld,\"path\":\"%s\",\"target\":\"%s\"}", out->len ? ',' : '[', line->number,
                       APR_ARRAY_IDX(all, i, neo_reference).path, APR_ARRAY_IDX(all, i, neo_reference).target);
}

const char *neo_intake_collect(neo_intake *intake, const neo_intake_line *lines, int count, apr_pool_t *pool)
{
    neo_buf rows, references;
    neo_rows done;
    neo_buf_init(&rows, pool, (apr_size_t)count * 1024 + 2);
    neo_buf_init(&references, pool, (apr_size_t)count * 256 + 2);
    for (int i = 0; i < count; i++) {
        add_line(intake, &rows, &lines[i], pool);
        if (lines[i].row)
            add_references(&references, &lines[i], pool);
    }
    neo_buf_puts(&rows, rows.len ? "]" : "[]");
    neo_buf_puts(&references, references.len ? "]" : "[]");
    const char *values[] = {rows.ptr, references.ptr};
    return exec(intake,
                "with line as (insert into intake_line select number, kind, id, id_block, body from json_to_recordset($1::json)"
                " as l (number bigint, kind text, id text, id_block text, body json))"
                " insert into intake_reference select number, path, target from json_to_recordset($2::json)"
                " as r (number bigint, path text, target text)",
                2, values, pool, &done);
}

/* ---------------------------------------------------------------- examining */

static const char *complain_twice(const neo_rows *rows, int row, const char *what, apr_pool_t *pool)
{
    const char *first = neo_rows_value(rows, row, 1);
    return first ? apr_psprintf(pool, "is that of the %s on line %s", what, first)
                 : apr_psprintf(pool, "is that of %s, which is not in the file", neo_rows_value(rows, row, 2));
}

/* "broker_creci_key" is about the field creci. */
static const char *field_of(const neo_resource *kind, const char *index, apr_pool_t *pool)
{
    const char *field = NULL;
    for (const neo_field *f = kind->fields; f->name; f++) {
        const char *end = apr_psprintf(pool, "_%s_key", f->name);
        size_t len = strlen(index), tail = strlen(end);
        if (len > tail && strcmp(index + len - tail, end) == 0 && (!field || strlen(field) < strlen(f->name)))
            field = f->name;
    }
    return field ? field : index;
}

static const char *examine_index(const neo_intake *intake, const neo_resource *kind, const neo_rows *index, int row,
                                 neo_intake_complaint complain, void *data, apr_pool_t *pool)
{
    neo_rows rows;
    const char *sql = neo_intake_duplicates_sql(kind, neo_rows_value(index, row, 1), neo_rows_value(index, row, 2),
                                                neo_rows_value(index, row, 3), pool);
    const char *wrong = exec(intake, sql, 1, &intake->organization, pool, &rows);
    for (int r = 0; !wrong && r < rows.count; r++)
        complain(data, atoll(neo_rows_value(&rows, r, 0)), field_of(kind, neo_rows_value(index, row, 0), pool),
                 complain_twice(&rows, r, kind->name, pool));
    return wrong;
}

/* Every unique index but that of the id: its name, its columns, that these have values, and its condition. */
static const char *examine_unique(const neo_intake *intake, const neo_resource *kind, neo_intake_complaint complain, void *data,
                                  apr_pool_t *pool)
{
    neo_rows rows;
    const char *table = apr_psprintf(pool, "neoapi.%s", neo_table_of(kind));
    const char *wrong =
        exec(intake,
             "select c.relname, string_agg(k.def, ', ' order by k.n), string_agg('(' || k.def || ') is not null', ' and '),"
             " pg_get_expr(i.indpred, i.indrelid) from pg_index i join pg_class c on c.oid = i.indexrelid,"
             " lateral (select n, pg_get_indexdef(i.indexrelid, n, true) as def from generate_series(1, i.indnkeyatts) n) k"
             " where i.indrelid = $1::regclass and i.indisunique and not i.indisprimary group by 1, 4 order by 1",
             1, &table, pool, &rows);
    for (int r = 0; !wrong && r < rows.count; r++)
        wrong = examine_index(intake, kind, &rows, r, complain, data, pool);
    return wrong;
}

static const char *examine_ids(const neo_intake *intake, neo_intake_complaint complain, void *data, apr_pool_t *pool)
{
    neo_rows rows;
    const char *wrong = exec(intake,
                             "select number, first from (select number, min(number) over (partition by id) as first"
                             " from intake_line) l where number <> first order by 1 limit 101",
                             0, NULL, pool, &rows);
    for (int r = 0; !wrong && r < rows.count; r++)
        complain(data, atoll(neo_rows_value(&rows, r, 0)), "id", complain_twice(&rows, r, "row", pool));
    return wrong;
}

/* Administrators name a lead by its id alone, so that no two organizations may have the same. */
static const char *examine_leads(const neo_intake *intake, neo_intake_complaint complain, void *data, apr_pool_t *pool)
{
    neo_rows rows;
    const char *wrong = exec(intake,
                             "select l.number from intake_line l join neoapi.lead t on t.id = l.id where l.kind = 'lead'"
                             " and t.organization_id <> $1 order by 1 limit 101",
                             1, &intake->organization, pool, &rows);
    for (int r = 0; !wrong && r < rows.count; r++)
        complain(data, atoll(neo_rows_value(&rows, r, 0)), "id", "is that of another organization's lead");
    return wrong;
}

const char *neo_intake_examine(neo_intake *intake, neo_intake_complaint complain, void *data, apr_pool_t *pool)
{
    neo_rows rows;
    const char *wrong = exec(intake,
                             "create index on intake_line (kind, number); create index on intake_line (id);"
                             "create index on intake_reference (number); analyze intake_line; analyze intake_reference",
                             0, NULL, pool, &rows);
    if (!wrong)
        wrong = examine_ids(intake, complain, data, pool);
    if (!wrong)
        wrong = examine_leads(intake, complain, data, pool);
    for (const neo_resource **k = intake->kinds; !wrong && *k; k++)
        wrong = examine_unique(intake, *k, complain, data, pool);
    if (!wrong)
        wrong = exec(intake, neo_intake_missing_sql(neo_intake_kinds, pool), 1, &intake->organization, pool, &rows);
    for (int r = 0; !wrong && r < rows.count; r++)
        complain(data, atoll(neo_rows_value(&rows, r, 0)), neo_rows_value(&rows, r, 1),
                 "names nothing that is in the file or in the organization");
    return wrong;
}

const char *neo_intake_accept(neo_intake *intake, apr_pool_t *pool)
{
    neo_rows rows;
    return exec(intake, "commit", 0, NULL, pool, &rows);
}

/* ---------------------------------------------------------------- writing */

static neo_pg_status run(neo_intake *intake, const neo_sql *sql, const char *since, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE];
    neo_values v = {0};
    neo_ms_format(now, neo_now_ms());
    v.of[NEO_PARAM_ORGANIZATION] = intake->organization;
    v.of[NEO_PARAM_NOW] = now;
    v.of[NEO_PARAM_ACTOR] = ACTOR;
    v.of[NEO_PARAM_BEFORE] = apr_ltoa(pool, (long)intake->before);
    v.of[NEO_PARAM_SINCE] = since;
    return neo_sql_run(intake->pg, sql, &v, pool, rows);
}

/* One transaction: the rows, and what they refer to as far as that is there. *last is the number of its last line, NULL where
 * there was none. */
static neo_pg_status write_portion(neo_intake *intake, apr_pool_t *pool, neo_intake_portion *portion, const char **last,
                                   neo_rows *rows)
{
    neo_pg_status status = neo_pg_begin(intake->pg, pool, rows);
    *last = NULL;
    if (status == NEO_PG_OK)
        status = run(intake, intake->write[intake->kind], NULL, pool, rows);
    if (status == NEO_PG_OK && (*last = neo_rows_value(rows, 0, 0))) {
        *portion = (neo_intake_portion){.rows = atoll(neo_rows_value(rows, 0, 1)),
                                        .created = atoll(neo_rows_value(rows, 0, 2)),
                                        .updated = atoll(neo_rows_value(rows, 0, 3))};
        if (intake->refer[intake->kind])
            status = run(intake, intake->refer[intake->kind], *last, pool, rows);
    }
    if (status == NEO_PG_OK)
        status = neo_pg_commit(intake->pg, pool, rows);
    else
        neo_pg_roll_back(intake->pg);
    if (status != NEO_PG_OK)
        *portion = (neo_intake_portion){0};
    return status;
}

static void go_on_to_next_kind(neo_intake *intake, neo_intake_portion *portion)
{
    intake->before = 0;
    intake->kind++;
    if (!intake->kinds[intake->kind] && !intake->is_settling) {
        intake->is_settling = 1;
        intake->kind = 0;
    }
    while (intake->is_settling && intake->kinds[intake->kind] && !intake->settle[intake->kind])
        intake->kind++;
    portion->is_over = !intake->kinds[intake->kind];
}

static const char *explain(neo_pg_status status, const neo_rows *rows, apr_pool_t *pool)
{
    if (status == NEO_PG_UNIQUE_VIOLATION)
        return apr_psprintf(pool, "a value that must be unique was given to another row meanwhile (%s)", rows->constraint);
    if (status == NEO_PG_SCHEMA || status == NEO_PG_UNAVAILABLE) /* what was collected went with the connection */
        return "the connection to the database was lost";
    if (status == NEO_PG_FK_VIOLATION)
        return "something that a row refers to was deleted meanwhile";
    return rows->message ? rows->message : "the database did not do it";
}

/* What a portion of references is: as many lines as one of rows. */
static neo_pg_status settle_portion(neo_intake *intake, apr_pool_t *pool, const char **last, neo_rows *rows)
{
    const char *values[] = {intake->kinds[intake->kind]->name, apr_ltoa(pool, (long)intake->before)};
    neo_pg_status status = neo_pg_exec(intake->pg,
                                       "select max(number) from (select number from intake_line where kind = $1"
                                       " and number > $2::bigint order by number limit " NEO_INTAKE_PORTION ") l",
                                       2, values, pool, rows);
    *last = status == NEO_PG_OK ? neo_rows_value(rows, 0, 0) : NULL;
    return *last ? run(intake, intake->settle[intake->kind], *last, pool, rows) : status;
}

const char *neo_intake_write(neo_intake *intake, apr_pool_t *pool, neo_intake_portion *portion)
{
    neo_rows rows;
    const char *last = NULL;
    neo_pg_status status = NEO_PG_RETRY;
    *portion = (neo_intake_portion){0};
    for (int attempt = 0; attempt < MOST_ATTEMPTS && (status == NEO_PG_RETRY || status == NEO_PG_FK_VIOLATION); attempt++)
        status = intake->is_settling ? settle_portion(intake, pool, &last, &rows)
                                     : write_portion(intake, pool, portion, &last, &rows);
    if (status != NEO_PG_OK)
        return explain(status, &rows, pool);
    if (last)
        intake->before = atoll(last);
    else
        go_on_to_next_kind(intake, portion);
    return NULL;
}
