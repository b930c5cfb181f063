/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the statements that write rows, from a resource's table (see sql/write.h).
 *
 * Each begins with the CTE item: a row for each row to write. A single row's values are parameters; that CTE is not
 * materialized, so that the planner replaces it by them, and the statement costs no more than one without it. Several rows are
 * arrays of texts in binary format (see sql/sql.c), which PostgreSQL reads faster than array literals or JSON. */
#include "sql/write.h"

#include <apr_strings.h>
#include <string.h>

#include "schema/business_rules.h"
#include "schema/references.h"
#include "sql/event.h"
#include "sql/reference.h"
#include "sql/representation.h"

#define IMPORT          64U  /* another option: from the lines of an import */
#define NEW             128U /* a creation of rows whose representations and payloads are given */
#define ALL             256U /* a creation of several rows that writes all of them or fails */
#define LOCK_TIMEOUT_MS "50" /* limits a group, whose rows are then written one by one */
#define THIS_ROW        "t.organization_id = {organization} and t.id = item.item_id"
#define HAS_TARGET      " and ({target}::text is null or exists (select from target))"
#define OF_ITEM         "item.item_number, item.item_id_block, item.item_now"
#define NEXT_UPDATED_AT NEO_NEXT_UPDATED_AT("item.item_now", "before")

/* A scalar subquery, because PostgreSQL could join the rows of a group to all keys. */
#define KEY_IS_FREE                                                                                                            \
    "(select 1 from neoapi.idempotency_key where organization_id = {organization} and credential_id = {credential}"            \
    " and key = {key}::uuid) is null"

/* The parameters about a request are columns of each row of a group: {actor} is item_actor. */
#define NAMED(name) #name,
static const char *const request_parameters[] = {NEO_REQUEST_PARAMETERS(NAMED)};
enum { REQUEST_PARAMETERS = sizeof request_parameters / sizeof *request_parameters };

/* ---------------------------------------------------------------- columns and their values */

/* The columns that the service sets; `updated`: NULL keeps the value. An imported line can have the values of the last four. It
 * has its own updated_at only if that is later than the row's, because every change increases it. */
static const struct {
    const char *name, *created, *imported, *updated, *updated_by_import;
} service_columns[] = {
    {"organization_id", "{organization}", "{organization}", NULL, NULL},
    {"id", "item.item_id", "item.item_id", NULL, NULL},
    {"tenant_id", "{tenant}", "{tenant}", NULL, NULL},
    {"created_at", "item.item_now", "coalesce(item.created_at, item.item_now)", NULL,
     "coalesce(item.created_at, t.created_at)"},
    {"updated_at", "item.item_now", "coalesce(item.updated_at, item.item_now)", NEXT_UPDATED_AT,
     "case when item.updated_at > before.updated_at then item.updated_at else " NEXT_UPDATED_AT " end"},
    {"created_by", "{actor}", "coalesce(item.created_by, {actor})", NULL, "coalesce(item.created_by, t.created_by)"},
    {"updated_by", "{actor}", "coalesce(item.updated_by, {actor})", "{actor}", "coalesce(item.updated_by, t.updated_by)"},
};
enum { SERVICE_COLUMNS = sizeof service_columns / sizeof *service_columns };

static int is_service_column(const neo_field *field)
{
    for (int i = 0; i < SERVICE_COLUMNS; i++)
        if (strcmp(service_columns[i].name, field->name) == 0)
            return 1;
    return 0;
}

static int is_parameter(const neo_field *field)
{
    return !(field->flags & NEO_SERVER);
}

void neo_write_set_fields(neo_values *values, const neo_resource *resource, const neo_json *body, apr_pool_t *pool)
{
    const char **next = values->field;
    for (const neo_field *f = resource->fields; f->name; f++) {
        if (!is_parameter(f))
            continue;
        const neo_json *value = neo_json_get(body, f->name);
        if (value)
            *next = neo_columns[f->type].parameter(value, pool);
        next++;
    }
}

/* A column and its new value. */
typedef struct {
    const char *name, *value;
    const neo_field *field; /* NULL: only the table has it */
} setting;

static void add_setting(apr_array_header_t *settings, const char *name, const char *value, const neo_field *field)
{
    if (value)
        APR_ARRAY_PUSH(settings, setting) = (setting){name, value, field};
}

/* A key pair that exists stays. */
static void add_secrets(apr_array_header_t *settings, const neo_resource *resource, int is_update)
{
    if (!is_update)
        add_setting(settings, "secret", "{secret}", NULL);
    add_setting(settings, "private_key", is_update ? "coalesce(t.private_key, {private_key})" : "{private_key}", NULL);
    add_setting(settings, "public_key", is_update ? "coalesce(t.public_key, {public_key})" : "{public_key}",
                neo_field_named(resource->fields, "public_key"));
}

static const char *time_in_history(const char *name, apr_pool_t *pool)
{
    return apr_psprintf(pool, "({times}::json->>'%s')::timestamptz", name);
}

/* The value of a field that is not a service column; NULL if it is not written. The timestamp of a transition changes only with
 * the status. */
static const char *field_value(const neo_resource *resource, const neo_field *field, int is_update, unsigned int options,
                               apr_pool_t *pool)
{
    if (is_parameter(field) || options & IMPORT)
        return apr_pstrcat(pool, "item.", field->name, NULL);
    if (!neo_transition_sets(resource, field))
        return NULL;
    if (options & NEO_WRITE_HISTORY)
        return time_in_history(field->name, pool);
    return apr_psprintf(pool, "case item.item_timestamp_field when '%s' then item.item_now%s%s end", field->name,
                        is_update ? " else t." : "", is_update ? field->name : "");
}

static apr_array_header_t *make_settings(const neo_resource *resource, int is_update, unsigned int options, apr_pool_t *pool)
{
    apr_array_header_t *settings = apr_array_make(pool, 64, sizeof(setting));
    int is_import = (options & IMPORT) != 0;
    for (int i = 0; i < SERVICE_COLUMNS; i++) {
        const char *name = service_columns[i].name;
        const neo_field *field = neo_field_named(resource->fields, name);
        const char *const values[2][2] = {{service_columns[i].created, service_columns[i].imported},
                                          {service_columns[i].updated, service_columns[i].updated_by_import}};
        if (options & NEO_WRITE_HISTORY && field && field->type == NEO_TIMESTAMP)
            add_setting(settings, name, time_in_history(name, pool), field);
        else if (field || !is_import)
            add_setting(settings, name, values[is_update][is_import], field);
    }
    if (neo_secret_field(resource))
        add_secrets(settings, resource, is_update);
    if (options & NEW)
        add_setting(settings, "representation", "item.representation", NULL);
    for (const neo_field *f = resource->fields; f->name; f++)
        if (!is_service_column(f) && !(f->flags & NEO_SECRET))
            add_setting(settings, f->name, field_value(resource, f, is_update, options, pool), f);
    return settings;
}

/* Adds a condition: whether the row `before` would change. */
static void add_differs(neo_buf *sql, const apr_array_header_t *settings, unsigned int options)
{
    neo_buf_puts(sql, "(false");
    for (int i = 0; i < settings->nelts; i++) {
        const setting *s = &APR_ARRAY_IDX(settings, i, setting);
        const char *cast = s->field ? neo_columns[s->field->type].comparable : "";
        if (s->field && neo_event_is_change(s->field))
            neo_buf_printf(sql, " or before.%s%s is distinct from %s%s", s->name, cast, s->value, cast);
        else if (options & IMPORT && strcmp(s->name, "updated_at") == 0)
            neo_buf_puts(sql, " or item.updated_at > before.updated_at");
    }
    neo_buf_putc(sql, ')');
}

/* ---------------------------------------------------------------- the rows to write, and the rows before */

/* A column of the CTE item, and its parameter. */
typedef struct {
    const char *parameter, *type, *name;
} item_column;

static void add_item_column(apr_array_header_t *columns, const char *parameter, const char *type, const char *name)
{
    APR_ARRAY_PUSH(columns, item_column) = (item_column){parameter, type, name};
}

/* item_number, item_id, item_id_block, item_now, and the fields of the body. */
static apr_array_header_t *item_columns(const neo_resource *resource, int has_body, unsigned int options, apr_pool_t *pool)
{
    apr_array_header_t *columns = apr_array_make(pool, 64, sizeof(item_column));
    int number = 0;
    add_item_column(columns, "item_number", "int", "item_number");
    add_item_column(columns, "id", "text collate \"C\"", "item_id");
    add_item_column(columns, "id_block", "text", "item_id_block");
    add_item_column(columns, "now", "timestamptz", "item_now");
    for (const neo_field *f = resource->fields; has_body && f->name; f++)
        if (is_parameter(f))
            add_item_column(columns, apr_psprintf(pool, "field%d", number++), neo_columns[f->type].type, f->name);
    if (has_body && resource->transitions)
        add_item_column(columns, "timestamp_field", "text", "item_timestamp_field");
    if (!has_body)
        add_item_column(columns, "target_id_block", "text", "item_cleared_block");
    if (options & NEW) {
        add_item_column(columns, "representation", "text", "representation");
        add_item_column(columns, "payload", "text", "item_payload");
    }
    for (int i = 0; options & NEO_WRITE_GROUP && i < REQUEST_PARAMETERS; i++)
        add_item_column(columns, request_parameters[i], "text collate \"C\"",
                        apr_pstrcat(pool, "item_", request_parameters[i], NULL));
    return columns;
}

/* A condition that sets neoapi.is_import, so that triggers do not choose values of imported rows. */
static const char *import_setting(const neo_resource *resource)
{
    return neo_representation_is_made(resource) ? "" : " where (select set_config('neoapi.is_import', 'on', true)) is not null";
}

/* A condition that names the credential to the triggers of the audit log. */
static const char *audit_setting(const neo_resource *resource)
{
    return resource->is_audited ? " where (select neoapi.audit_by({credential}, {actor}, {request}, {address}))" : "";
}

/* Adds the CTE item. In the select list, unnest stores no rows; in the from clause it would store those of each array. */
static void add_item_cte(neo_buf *sql, const neo_resource *resource, int has_body, unsigned int options)
{
    const apr_array_header_t *columns = item_columns(resource, has_body, options, sql->pool);
    int has_rows = (options & NEO_WRITE_ROWS) != 0;
    neo_buf_puts(sql,
                 has_rows ? "with item as materialized (select " : "with item as not materialized (select 1 as item_number, ");
    for (int i = !has_rows; i < columns->nelts; i++) {
        const item_column *c = &APR_ARRAY_IDX(columns, i, item_column);
        neo_buf_printf(sql, has_rows ? "%sunnest({%s[]}::text[])::%s as %s" : "%s{%s}::%s as %s", i > !has_rows ? ", " : "",
                       c->parameter, c->type, c->name);
    }
    if (options & NEO_WRITE_GROUP)
        neo_buf_puts(sql, " where (select set_config('lock_timeout', '" LOCK_TIMEOUT_MS "', true)) is not null");
    neo_buf_puts(sql, options & NEO_WRITE_HISTORY ? import_setting(resource) : audit_setting(resource));
    neo_buf_puts(sql, "), ");
}

/* The resource whose rows the effects change; NULL if there are no effects, as in an import. */
static const neo_resource *effect_target(const neo_resource *resource, unsigned int options)
{
    return options & IMPORT ? NULL : neo_effect_target(resource);
}

/* The CTE target: locks the row that the effect changes, before the row itself, if it has the version that was checked.
 * Imported history, which has no effect, gives that row another version, so that other history and changes of that row, which
 * were checked at the same time, are not written. */
static void add_target(neo_buf *sql, const neo_resource *target, unsigned int options)
{
    int is_history = (options & NEO_WRITE_HISTORY) != 0;
    neo_buf_printf(
        sql,
        "target as %s where o.organization_id = {organization} and o.id = {target}"
        " and o.xmin = {target_version}::xid %s), ",
        apr_psprintf(sql->pool,
                     is_history ? "(update neoapi.%s o set status = o.status" : "materialized (select o.* from neoapi.%s o",
                     neo_table_name(target)),
        is_history ? "returning o.id" : "for no key update of o");
}

/* The CTE before: the rows that exist, in their latest version, locked in the order of their ids, so that two statements do not
 * deadlock. */
static void add_before(neo_buf *sql, const neo_resource *resource, unsigned int options)
{
    neo_buf_printf(
        sql, "before as materialized (select t.* from item join neoapi.%s t on " THIS_ROW "%s%s%s for no key update of t)",
        neo_table_name(resource), options & NEO_WRITE_VERSION ? " and t.xmin = {version}::xid" : "",
        effect_target(resource, options) ? HAS_TARGET : "", options & (NEO_WRITE_ROWS | IMPORT) ? " order by t.id" : "");
}

/* ---------------------------------------------------------------- writes */

/* The columns that the CTEs after a write of the table t need. */
static void add_returning(neo_buf *sql, const neo_resource *resource, unsigned int options)
{
    neo_buf_puts(sql, options & NEW ? " returning t.id" : " returning t.id, t.representation");
    if (neo_secret_field(resource))
        neo_buf_puts(sql, ", t.secret");
    for (const neo_field *f = resource->fields; f->name && !(options & NEW); f++)
        if (f->flags & NEO_IN_EVENT && strcmp(f->name, "id") != 0)
            neo_buf_printf(sql, ", t.%s", f->name);
}

/* The CTE created: new rows; `where` begins with a space. An insert cannot return columns of item: a single row returns its
 * parameters, several are joined. If all items are written, they are created, in the order of the arrays; counting the inserted
 * rows first avoids events and deliveries of a statement that fails. */
static void add_created(neo_buf *sql, const neo_resource *resource, const char *where, unsigned int options)
{
    const apr_array_header_t *settings = make_settings(resource, 0, options, sql->pool);
    int has_several = (options & (NEO_WRITE_ROWS | IMPORT)) != 0;
    neo_buf_printf(sql, "%s as (insert into neoapi.%s as t (", has_several ? "inserted" : "created", neo_table_name(resource));
    for (int i = 0; i < settings->nelts; i++)
        neo_buf_printf(sql, "%s%s", i ? ", " : "", APR_ARRAY_IDX(settings, i, setting).name);
    neo_buf_puts(sql, ") select ");
    for (int i = 0; i < settings->nelts; i++)
        neo_buf_printf(sql, "%s%s", i ? ", " : "", APR_ARRAY_IDX(settings, i, setting).value);
    neo_buf_puts(sql, " from item");
    if (options & ALL) {
        neo_buf_puts(sql, " returning 1), created as not materialized (select item.item_id as id, item.* from item"
                          " where (select count(*) from inserted) >= 0)");
        return;
    }
    neo_buf_printf(sql, "%s order by item.item_number%s", where, options & NEO_WRITE_LENIENT ? " on conflict do nothing" : "");
    add_returning(sql, resource, options);
    if (!has_several) {
        neo_buf_puts(sql, ", 1 as item_number, {id_block}::text as item_id_block, {now}::timestamptz as item_now");
        neo_buf_puts(sql, options & NEW ? ", {representation}::text as representation, {payload}::text as item_payload)" : ")");
        return;
    }
    neo_buf_puts(sql, "), created as (select inserted.*, " OF_ITEM);
    neo_buf_puts(sql, options & NEW ? ", item.representation, item.item_payload" : "");
    for (int i = 0; options & NEO_WRITE_GROUP && i < REQUEST_PARAMETERS; i++)
        neo_buf_printf(sql, ", item.item_%s", request_parameters[i]);
    neo_buf_puts(sql, " from inserted join item on item.item_id = inserted.id)");
}

/* The CTE updated: those rows of `before` that change. */
static void add_updated(neo_buf *sql, const neo_resource *resource, const char *where, unsigned int options)
{
    const apr_array_header_t *settings = make_settings(resource, 1, options, sql->pool);
    neo_buf_printf(sql, ", updated as (update neoapi.%s t set ", neo_table_name(resource));
    for (int i = 0; i < settings->nelts; i++)
        neo_buf_printf(sql, "%s%s = %s", i ? ", " : "", APR_ARRAY_IDX(settings, i, setting).name,
                       APR_ARRAY_IDX(settings, i, setting).value);
    neo_buf_printf(sql, " from item join before on before.id = item.item_id where " THIS_ROW "%s and ", where);
    add_differs(sql, settings, options);
    neo_buf_puts(sql, " returning t.*, " OF_ITEM ")");
}

/* The CTE effect: the new status of the target, and its event. */
static void add_effect(neo_buf *sql, const neo_resource *target)
{
    neo_buf_printf(sql,
                   ", effect as (update neoapi.%s o set status = {target_status}, updated_at = " NEO_NEXT_UPDATED_AT(
                       "updated.item_now", "target") ", updated_by = {actor} from updated, target where o.organization_id ="
                                                     " {organization} and o.id = target.id returning o.*, updated.item_now)",
                   neo_table_name(target));
    if (target->has_events)
        neo_event_add(sql, &(neo_event){.resource = target,
                                        .happened = "updated",
                                        .from = "effect",
                                        .before = "target",
                                        .number = "_effect",
                                        .id_block = "{target_id_block}",
                                        .now = "r.item_now"});
}

/* The events of the CTE `happened`. */
static void add_events(neo_buf *sql, const neo_resource *resource, const char *happened, int is_silent, unsigned int options)
{
    int is_update = strcmp(happened, "updated") == 0;
    int is_sorted = options & (NEO_WRITE_ROWS | IMPORT) && !(options & ALL);
    if (resource->has_events)
        neo_event_add(sql, &(neo_event){.resource = resource,
                                        .happened = happened,
                                        .from = happened,
                                        .before = is_update ? "before" : NULL,
                                        .number = options & IMPORT && is_update ? "_update" : "",
                                        .order = is_sorted ? "r.item_number" : NULL,
                                        .id_block = "r.item_id_block",
                                        .now = "r.item_now",
                                        .payload = options & NEW ? "r.item_payload" : NULL,
                                        .is_silent = is_silent});
}

/* The final select: the rows of the CTE `happened` with `column` as the answer. */
static void add_answer(neo_buf *sql, const neo_resource *resource, const char *happened, const char *column,
                       unsigned int options)
{
    const neo_resource *target = strcmp(happened, "updated") == 0 ? effect_target(resource, options) : NULL;
    int is_silent = (options & NEO_WRITE_HISTORY) != 0;
    add_events(sql, resource, happened, is_silent, options);
    neo_buf_printf(sql, " select %s, %s%s, null, item_number from %s", column,
                   strcmp(happened, "deleted") == 0     ? neo_mutual_deliveries(resource)
                   : resource->has_events && !is_silent ? "(select count(*) from queued_deliveries)"
                                                        : "0",
                   target && target->has_events ? " + (select count(*) from queued_deliveries_effect)" : "", happened);
}

static void add_refusals(neo_buf *sql, const char *refusal, const char *from)
{
    neo_buf_printf(sql, " union all select null, 0, %s, item_number from %s", refusal, from);
}

/* ---------------------------------------------------------------- the statements */

/* The key is inserted without `on conflict`: of two concurrent requests the second one waits, violates the key's uniqueness, is
 * rolled back and then returns the first one's response. A group returns no refusals: its row is then written alone. */
neo_sql *neo_write_create(const neo_resource *resource, unsigned int options, apr_pool_t *pool)
{
    int refers = neo_has_references(resource), is_idempotent = options & NEO_WRITE_IDEMPOTENT;
    int is_group = options & NEO_WRITE_GROUP;
    const char *from = is_group ? "created where item_key is not null" : "created";
    const char *is_free = is_idempotent ? KEY_IS_FREE : "true";
    const neo_resource *target = options & NEO_WRITE_HISTORY ? effect_target(resource, options) : NULL;
    neo_buf sql;
    options |= neo_representation_is_made(resource) ? NEW : 0;
    options |= options & NEO_WRITE_ROWS && options & NEW && !(options & NEO_WRITE_LENIENT) && !refers ? ALL : 0;
    neo_buf_init(&sql, pool, 8192);
    add_item_cte(&sql, resource, 1, options);
    if (refers)
        neo_reference_add_lookup(&sql, resource, is_group ? "ref join item using (item_number)" : "ref");
    if (target)
        add_target(&sql, target, options);
    add_created(
        &sql, resource,
        apr_pstrcat(pool, " where ", is_free, refers ? " and " NEO_REFERENCES_EXIST : "", target ? HAS_TARGET : "", NULL),
        options);
    if (refers)
        neo_reference_add_created(&sql);
    if (is_idempotent)
        neo_buf_printf(&sql,
                       ", stored_key as (insert into neoapi.idempotency_key"
                       " (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)"
                       " select {organization}, {credential}, {key}::uuid, decode({hash}, 'hex'), 201, representation, %s,"
                       " now() + interval '24 hours' from %s)",
                       neo_secret_field(resource) ? "secret" : "null", from);
    add_answer(&sql, resource, "created", "representation", options);
    if (refers && !is_group)
        add_refusals(&sql, "path", apr_pstrcat(pool, "missing where ", is_free, NULL));
    return neo_sql_make(pool, sql.ptr, is_group ? NEO_WRITES_GROUP : NEO_WRITES);
}

/* A row that would not change is not written; it is answered as it is. Missing references matter only if the row still has the
 * version: otherwise the request was checked against old data. */
neo_sql *neo_write_update(const neo_resource *resource, unsigned int options, apr_pool_t *pool)
{
    const neo_resource *target = effect_target(resource, options);
    int refers = neo_has_references(resource);
    const char *exist = refers ? " and " NEO_REFERENCES_EXIST : "";
    neo_buf sql;
    neo_buf_init(&sql, pool, 8192);
    add_item_cte(&sql, resource, 1, options);
    if (refers)
        neo_reference_add_lookup(&sql, resource, "ref");
    if (target)
        add_target(&sql, target, options);
    add_before(&sql, resource, options);
    add_updated(&sql, resource, exist, options);
    if (refers)
        neo_reference_add_updated(&sql);
    if (target)
        add_effect(&sql, target);
    add_answer(&sql, resource, "updated", "representation", options);
    if (refers)
        add_refusals(&sql, "path", "missing where exists (select from before)");
    neo_buf_printf(&sql,
                   " union all select before.representation, 0, null, item.item_number from before join item"
                   " on item.item_id = before.id where not exists (select from updated where updated.id = before.id)%s",
                   exist);
    return neo_sql_make(pool, sql.ptr, NEO_WRITES);
}

/* A batch has locked its rows and their partners. */
neo_sql *neo_write_delete(const neo_resource *resource, unsigned int options, apr_pool_t *pool)
{
    int is_target = neo_is_referred_to(resource), locks = neo_mutual_field(resource) && !(options & NEO_WRITE_ROWS);
    const char *is_locked = locks ? " and exists (select from locked where locked.id = {id})" : "";
    neo_buf sql;
    neo_buf_init(&sql, pool, 8192);
    add_item_cte(&sql, resource, 0, options);
    if (locks)
        neo_mutual_add_partner(&sql, resource);
    else
        neo_mutual_add_partners(&sql, resource);
    if (is_target)
        neo_reference_add_used(&sql, resource, neo_mutual_exclude_partner(resource, pool));
    neo_buf_printf(&sql, "deleted as (delete from neoapi.%s t using item where " THIS_ROW "%s%s%s", neo_table_name(resource),
                   options & NEO_WRITE_VERSION ? " and t.xmin = {version}::xid" : "",
                   is_target ? " and not " NEO_REFERENCE_USED : "", is_locked);
    add_returning(&sql, resource, options);
    neo_buf_puts(&sql, ", " OF_ITEM ", item.item_cleared_block)");
    if (neo_has_references(resource))
        neo_reference_add_deleted(&sql);
    neo_mutual_add_cleared(&sql, resource);
    add_answer(&sql, resource, "deleted", "id", options);
    if (is_target)
        add_refusals(&sql, "users", apr_pstrcat(pool, "used where users is not null", is_locked, NULL));
    return neo_sql_make(pool, sql.ptr, NEO_WRITES);
}

/* Rows that exist are updated before new ones are created, so that these can take over unique values. */
neo_sql *neo_write_import(const neo_resource *kind, neo_import_events events, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 8192);
    neo_buf_printf(
        &sql,
        "with batch as materialized (select l.number as item_number, l.id as item_id, l.id_block as item_id_block,"
        " l.body as item_body from import_line l where l.kind = '%s' and l.number > {before}::bigint"
        " order by l.number limit " NEO_IMPORT_BATCH_ROWS "),"
        " item as materialized (select p.item_number, p.item_id, p.item_id_block, {now}::timestamptz as item_now, b.*"
        " from batch p cross join lateral json_populate_record(null::neoapi.%s, p.item_body) b%s), ",
        kind->name, neo_table_name(kind), import_setting(kind));
    add_before(&sql, kind, IMPORT);
    add_updated(&sql, kind, "", IMPORT);
    neo_buf_puts(&sql, ", ");
    add_created(&sql, kind,
                " where (select count(*) from updated) >= 0"
                " and not exists (select from before where before.id = item.item_id)",
                IMPORT);
    for (int i = 0; i < 2 && events != NEO_IMPORT_NO_EVENTS; i++)
        add_events(&sql, kind, i ? "updated" : "created", events != NEO_IMPORT_WEBHOOKS, IMPORT);
    neo_buf_puts(&sql, " select (select max(item_number) from batch), (select count(*) from batch),"
                       " (select count(*) from created), (select count(*) from updated), 0");
    return neo_sql_make(pool, sql.ptr, NEO_WRITES);
}
