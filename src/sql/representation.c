/* SPDX-License-Identifier: Apache-2.0 */
/* Makes representations, and generates the functions that make or maintain them (see sql/representation.h).
 *
 * The representation is no generated column, because adding a field to one would rewrite the table. It is concatenated as text:
 * json_strip_nulls would parse the JSON again, which took more than half of the trigger's time. A member is null if its column
 * is null, and concat_ws skips nulls. PL/pgSQL keeps the plans of the subqueries of computed fields for the session. */
#include "sql/representation.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "pg/pg.h"
#include "schema/business_rules.h"
#include "schema/import.h"
#include "sql/representation.sql.h"

/* ---------------------------------------------------------------- columns */

static const char *enum_list_text(const neo_json *list, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 128);
    for (apr_size_t i = 0; i < neo_json_size(list); i++)
        neo_array_add_plain(&out, neo_json_string(neo_json_at(list, i)));
    return neo_array_end(&out);
}

static const char *string_text(const neo_json *value, apr_pool_t *pool)
{
    (void)pool;
    return neo_json_string(value);
}

static const char *json_text(const neo_json *value, apr_pool_t *pool)
{
    return neo_json_text(value, pool).ptr;
}

/* JSON has no equality in PostgreSQL. The module writes it in one form, so that its text can be compared. */
#define QUOTED(type, parameter) type, "to_json(", ")", "", parameter
#define TIMESTAMP               "timestamptz", "'\"' || neoapi.format_timestamp(", ") || '\"'", "", string_text
#define PLAIN(type)             type, "", "", "", json_text
#define JSON                    "json", "", "", "::json::text", json_text

const neo_column neo_columns[] = {
    [NEO_STRING] = {QUOTED("text", string_text)},
    [NEO_ENUM] = {QUOTED("text", string_text)},
    [NEO_REFERENCE] = {QUOTED("text", string_text)},
    [NEO_TIMESTAMP] = {TIMESTAMP},
    [NEO_DATE] = {QUOTED("date", string_text)},
    [NEO_BOOLEAN] = {PLAIN("boolean")},
    [NEO_INTEGER] = {PLAIN("bigint")},
    [NEO_DECIMAL] = {PLAIN("numeric")},
    [NEO_ENUM_LIST] = {QUOTED("text[]", enum_list_text)},
    [NEO_OBJECT] = {JSON},
    [NEO_MAP] = {JSON},
    [NEO_LIST] = {JSON},
    [NEO_TEXT_LIST] = {JSON},
    [NEO_REFERENCE_LIST] = {JSON},
};
_Static_assert(sizeof neo_columns / sizeof *neo_columns == NEO_TYPES, "every type has its column");

void neo_column_add_json(neo_buf *sql, const neo_field *field, const char *prefix, const char *name)
{
    const neo_column *column = &neo_columns[field->type];
    const char *plus = field->flags & NEO_SHOW_PLUS ? "'+' || " : "";
    neo_buf_printf(sql, "%s%s%s%s%s", column->json_prefix, plus, prefix, name, column->json_suffix);
}

/* The flags of the fields that JSON does not have. */
#define NOT_RETURNED (NEO_SECRET | NEO_EXPORT_ONLY)
#define NOT_EXPORTED (NEO_SECRET | NEO_API_ONLY)

/* ---------------------------------------------------------------- by the module */

/* Returns the value of a field that the service sets: NULL if it has none, "" if only the database knows it. */
static const char *service_value(const neo_resource *resource, const neo_field *field, const neo_new_values *row)
{
    const struct {
        const char *name, *value;
    } values[] = {{"id", row->id},
                  {"organization_id", row->actor->organization},
                  {"tenant_id", row->actor->tenant},
                  {"created_at", row->now},
                  {"updated_at", row->now},
                  {"created_by", row->actor->name},
                  {"updated_by", row->actor->name},
                  {row->timestamp_field, row->now}};
    if (row->times && field->type == NEO_TIMESTAMP)
        return neo_json_string_at(row->times, field->name);
    for (apr_size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].name && strcmp(values[i].name, field->name) == 0)
            return values[i].value;
    return field->flags & NEO_NOT_ON_CREATE || neo_transition_sets(resource, field) ? NULL : "";
}

int neo_representation_is_made(const neo_resource *resource)
{
    const neo_new_values none = {
        .id = "id", .now = "now", .actor = &(neo_actor){"tnt", "org", "nbr", "nbr", "req", "req", NULL}};
    for (const neo_field *f = resource->fields; f->name; f++) {
        const char *value = f->flags & NEO_SERVER ? service_value(resource, f, &none) : NULL;
        if (value && !*value)
            return 0;
    }
    return 1;
}

/* Adds a member and the character before it. */
static void add_member(neo_buf *out, const neo_field *field, const neo_json *value, const char *set)
{
    neo_buf_puts(out, out->len ? ",\"" : "{\"");
    neo_buf_puts(out, field->name);
    neo_buf_puts(out, "\":");
    if (value && field->flags & NEO_SHOW_PLUS)
        neo_buf_printf(out, "\"+%s\"", neo_json_string(value));
    else if (value)
        neo_json_add(out, value);
    else
        neo_buf_json(out, set);
}

void neo_representation_set(neo_values *values, const neo_resource *resource, const neo_new_values *row, apr_pool_t *pool)
{
    neo_buf whole, payload;
    neo_buf_init(&whole, pool, 1024);
    neo_buf_init(&payload, pool, 512);
    for (const neo_field *f = resource->fields; f->name; f++) {
        const char *set = f->flags & NEO_SERVER ? service_value(resource, f, row) : NULL;
        const neo_json *value = f->flags & NEO_SERVER ? NULL : neo_json_get(row->body, f->name);
        apr_size_t from = whole.len + 1;
        if (!set && !value)
            continue;
        add_member(&whole, f, value, set);
        if (!(f->flags & NEO_IN_EVENT))
            continue;
        neo_buf_putc(&payload, payload.len ? ',' : '{');
        neo_buf_add(&payload, whole.ptr + from, whole.len - from);
    }
    neo_buf_putc(&whole, '}'); /* there is an id in both */
    neo_buf_putc(&payload, '}');
    values->representation = whole.ptr;
    values->payload = payload.ptr;
}

/* ---------------------------------------------------------------- by the database */

/* Adds SQL of an object with the fields that have none of the flags. `prefix` is that of its columns. An object or a list that
 * other rows make is null if there are none. */
static void add_json_object(neo_buf *sql, const neo_field *fields, unsigned int without, const char *prefix)
{
    neo_buf_puts(sql, "'{' || concat_ws(','");
    for (const neo_field *f = fields; f->name; f++) {
        if (f->flags & without)
            continue;
        neo_buf_printf(sql, ",\n        '\"%s\":' || ", f->name);
        if (!f->computed || (without == NOT_EXPORTED && !(f->flags & NEO_EXPORT_ONLY)))
            neo_column_add_json(sql, f, prefix, f->name);
        else if (!f->fields)
            neo_column_add_json(sql, f, "", apr_pstrcat(sql->pool, "(", f->computed, ")", NULL));
        else {
            neo_buf_puts(sql, f->type == NEO_LIST ? "(select '[' || string_agg(" : "(select ");
            add_json_object(sql, f->fields, without, apr_pstrcat(sql->pool, f->name, ".", NULL));
            if (f->type == NEO_LIST)
                neo_buf_printf(sql, ", ',' order by %s.id) || ']'", f->name);
            neo_buf_printf(sql, " from %s)", f->computed);
        }
    }
    neo_buf_puts(sql, ") || '}'");
}

const char *neo_representation_exported(const neo_resource *resource, apr_pool_t *pool)
{
    neo_buf sql;
    if (!resource->has_json_function)
        return "t.representation";
    neo_buf_init(&sql, pool, 8192);
    add_json_object(&sql, resource->fields, NOT_EXPORTED, "t.");
    return sql.ptr;
}

/* "broker_set_representation", "whatsapp_message_json" */
static const char *function_name(const neo_resource *resource, apr_pool_t *pool)
{
    return apr_pstrcat(pool, neo_table_name(resource), resource->has_json_function ? "_json" : "_set_representation", NULL);
}

/* The body of the function in PL/pgSQL; it is compared with the installed one. */
static const char *function_body(const neo_resource *resource, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_puts(&sql, resource->has_json_function ? "\nbegin\n    return " : "\nbegin\n    new.representation := ");
    add_json_object(&sql, resource->fields, NOT_RETURNED, resource->has_json_function ? "t." : "new.");
    neo_buf_puts(&sql, resource->has_json_function ? ";\nend " : ";\n    return new;\nend ");
    return sql.ptr;
}

neo_script neo_representation_script(const neo_resource *resource, apr_pool_t *pool)
{
    const char *table = neo_table_name(resource), *function = function_name(resource, pool),
               *body = function_body(resource, pool);
    const char *sql =
        resource->has_json_function
            ? apr_psprintf(
                  pool,
                  "create or replace function neoapi.%s(t neoapi.%s) returns text language plpgsql stable parallel safe"
                  " as $$%s$$;\n",
                  function, table, body)
            : apr_psprintf(pool,
                           "create or replace function neoapi.%s() returns trigger language plpgsql as $$%s$$;\n"
                           "create or replace trigger set_representation before update on neoapi.%s"
                           " for each row execute function neoapi.%s();\n"
                           "create or replace trigger set_representation_if_null before insert on neoapi.%s"
                           " for each row when (new.representation is null) execute function neoapi.%s();\n",
                           function, body, table, function, table, function);
    return (neo_script){function, sql};
}

neo_pg_status neo_representation_outdated(neo_pg *pg, apr_pool_t *pool, const neo_resource ***outdated, neo_rows *rows)
{
    neo_buf functions, bodies, triggers;
    neo_buf_init(&functions, pool, 256);
    neo_buf_init(&bodies, pool, 65536);
    neo_buf_init(&triggers, pool, 64);
    for (const neo_resource *const *r = neo_import_kinds; *r; r++) {
        neo_array_add(&functions, function_name(*r, pool));
        neo_array_add(&bodies, function_body(*r, pool));
        neo_array_add(&triggers, (*r)->has_json_function ? "0" : "2");
    }
    const char *values[] = {neo_array_end(&functions), neo_array_end(&bodies), neo_array_end(&triggers)};
    neo_pg_status status = neo_pg_exec(pg, outdated_sql, 3, values, pool, rows);
    if (status != NEO_PG_OK)
        return status;
    *outdated = apr_pcalloc(pool, (apr_size_t)(rows->count + 1) * sizeof **outdated);
    for (int i = 0; i < rows->count; i++)
        (*outdated)[i] = neo_import_kinds[atoi(neo_rows_value(rows, i, 0))];
    return status;
}

neo_pg_status neo_representation_check(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 32768);
    neo_buf_puts(&sql, "select id from (select null::text as id where false");
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        const char *table = neo_table_name(*r);
        neo_buf_printf(&sql,
                       " union all (select t.id from neoapi.%s t tablesample system ((select least(100, 1e6 /"
                       " greatest(reltuples, 1)) from pg_class where oid = 'neoapi.%s'::regclass)) where t.representation <> ",
                       table, table);
        add_json_object(&sql, (*r)->fields, NOT_RETURNED, "t.");
        neo_buf_puts(&sql, " limit 1)");
    }
    neo_buf_puts(&sql, ") as different limit 1");
    return neo_pg_exec(pg, sql.ptr, 0, NULL, pool, rows);
}
