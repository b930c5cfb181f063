/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the generated statements. Each has four parts, ended by zero bytes: the resource, or "shared"; its name; the text with
 * named parameters, or "" if it has none; and the SQL. What a process prepares or would run is intercepted (--wrap). */
#include <apr_general.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdio.h>
#include <string.h>

#include "admin/import_sql.h"
#include "api/service.h"
#include "pg/pg.h"
#include "resources/list.h"
#include "resources/scope.h"
#include "schema/import.h"
#include "sql/event_log.h"
#include "sql/expiry.h"
#include "sql/representation.h"
#include "sql/statements.h"
#include "sql/table.h"
#include "sql/write.h"
#include "webhooks/delivery.h"
#include "whatsapp/store.h"

typedef struct {
    const neo_sql *sql;
    const char *named, *text;
    int is_printed;
} statement;

static apr_pool_t *pool;
static apr_array_header_t *prepared;
static const char *resource_name = "shared", *query_name;

static void print(const char *name, const char *named, const char *text)
{
    printf("%s%c%s%c%s%c%s%c", resource_name, 0, name, 0, named, 0, text, 0);
}

/* ---------------------------------------------------------------- what the library calls */

neo_sql *__real_neo_sql_make(apr_pool_t *p, const char *text, neo_sql_effect effect);
neo_sql *__wrap_neo_sql_make(apr_pool_t *p, const char *text, neo_sql_effect effect);
neo_statement *__real_neo_statement_make(apr_pool_t *p, const char *text, int params, int writes);
neo_statement *__wrap_neo_statement_make(apr_pool_t *p, const char *text, int params, int writes);
neo_pg_status __wrap_neo_pg_run(neo_pg *pg, const neo_statement *run, const char *const *values, apr_pool_t *p, neo_rows *rows);

neo_sql *__wrap_neo_sql_make(apr_pool_t *p, const char *text, neo_sql_effect effect)
{
    neo_sql *sql = __real_neo_sql_make(p, text, effect);
    statement *s = &APR_ARRAY_IDX(prepared, prepared->nelts - 1, statement);
    s->sql = sql;
    s->named = apr_pstrdup(pool, text);
    return sql;
}

neo_statement *__wrap_neo_statement_make(apr_pool_t *p, const char *text, int params, int writes)
{
    APR_ARRAY_PUSH(prepared, statement) = (statement){.named = "", .text = apr_pstrdup(pool, text)};
    return __real_neo_statement_make(p, text, params, writes);
}

/* Without "declare … cursor for". */
neo_pg_status __wrap_neo_pg_run(neo_pg *pg, const neo_statement *run, const char *const *values, apr_pool_t *p, neo_rows *rows)
{
    const char *sql = run->sql;
    (void)pg, (void)values, (void)p, (void)rows;
    print(query_name, "", strncmp(sql, "declare", 7) == 0 ? strstr(sql, "select") : sql);
    return NEO_PG_FAILED;
}

/* ---------------------------------------------------------------- statements of a resource */

/* {field0} and so on become {.name}. */
static const char *name_fields(const char *named, const neo_resource *resource)
{
    int number = 0;
    for (const neo_field *f = resource->fields; f->name; f++)
        if (!(f->flags & NEO_SERVER)) {
            const char *parameter = apr_psprintf(pool, "{field%d", number++), *found = strstr(named, parameter);
            apr_size_t len = strlen(parameter);
            if (found && strchr("[}", found[len]))
                named = apr_pstrcat(pool, apr_pstrmemdup(pool, named, (apr_size_t)(found - named)), "{.", f->name, found + len,
                                    NULL);
        }
    return named;
}

static void print_prepared(const neo_resource *resource, const neo_sql *sql, const char *name)
{
    for (int i = 0; i < prepared->nelts; i++) {
        statement *s = &APR_ARRAY_IDX(prepared, i, statement);
        if (s->sql == sql) {
            print(name, name_fields(s->named, resource), s->text);
            s->is_printed = 1;
        }
    }
}

static const neo_actor actor = {.organization = "org_1"};
static const neo_resource delivery = {.name = "webhook_delivery"};

static neo_pg_status fetch(const neo_resource *resource, const neo_selection *selection, neo_rows *rows)
{
    if (resource == &neo_event_log)
        return selection->order == neo_orders ? neo_event_list(NULL, &actor, NULL, selection, pool, rows)
                                              : neo_event_follow(NULL, &actor, NULL, "", selection, pool, rows);
    if (resource == &delivery)
        return neo_delivery_list(NULL, &actor, "whk_1", NULL, selection, pool, rows);
    if (resource == &neo_whatsapp_conversation)
        return neo_whatsapp_list(NULL, &actor, selection, pool, rows);
    if (resource == &neo_whatsapp_message)
        return neo_whatsapp_list_messages(NULL, &actor, "wac_1", selection, pool, rows);
    return selection->limit ? neo_table_list(NULL, resource, &actor, selection, pool, rows)
                            : neo_table_open_snapshot(NULL, resource, &actor, selection, pool, rows);
}

static void list(const neo_resource *resource, const char *name, neo_selection selection)
{
    neo_rows rows;
    query_name = name;
    if (!selection.order)
        selection.order = neo_orders;
    neo_pg_status status = fetch(resource, &selection, &rows);
    (void)status;
}

/* A value of a filter: that of its documentation. */
static const char *sample(const neo_resource *resource, const neo_filter *filter)
{
    const neo_field *field = filter->example ? NULL : neo_field_named(resource->fields, filter->name);
    const char *error, *example = field ? field->example : filter->example;
    const neo_json *value = example ? neo_json_parse((neo_text){example, strlen(example)}, pool, &error) : NULL;
    const char *text = value ? neo_json_string(value) : NULL;
    return filter->value == NEO_VALUE_ENUM ? filter->values[0] : text ? text : "1";
}

static void list_filtered(const neo_resource *resource, const neo_filter *filters)
{
    for (const neo_filter *f = filters; f && f->name; f++) {
        const char *values[] = {sample(resource, f)};
        const neo_condition condition = {f, values, 1};
        list(resource, apr_pstrcat(pool, "list_", f->name, NULL), (neo_selection){&condition, 1, .limit = 25});
    }
}

static void find_unique(const neo_resource *resource)
{
    neo_rows rows;
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_UNIQUE) {
            query_name = apr_pstrcat(pool, "find_", f->name, NULL);
            neo_pg_status status =
                neo_table_find(NULL, resource, &actor, &(neo_unique_value){f, "value", NULL}, "id", pool, &rows);
            (void)status;
        }
}

static void print_pages(const neo_resource *resource, const neo_filter *filters)
{
    resource_name = resource->name;
    list(resource, "list", (neo_selection){.limit = 25});
    list(resource, "list_further", (neo_selection){.before = "id", .limit = 25});
    list_filtered(resource, filters);
}

/* The statements of imports of a kind. Its unique index is that of external ids, where import.c asks the database. */
static void print_import(const neo_resource *const *kind)
{
    static const char *const names[] = {"import", "import_with_events", "import_with_webhooks"};
    resource_name = (*kind)->name;
    int last = (*kind)->has_events ? NEO_IMPORT_WEBHOOKS : NEO_IMPORT_NO_EVENTS;
    for (int events = NEO_IMPORT_NO_EVENTS; !(*kind)->import_function && events <= last; events++)
        print_prepared(*kind, neo_write_import(*kind, events, pool), names[events]);
    if ((*kind)->import_function)
        print_prepared(*kind, neo_import_call_sql(*kind, pool), "import");
    if ((*kind)->finish_function)
        print_prepared(*kind, neo_import_finish_sql(*kind, pool), "import_finish");
    if (!(*kind)->has_foreign_keys) {
        print_prepared(*kind, neo_import_references_sql(kind, 0, pool), "import_references");
        print_prepared(*kind, neo_import_references_sql(kind, 1, pool), "import_all_references");
    }
    if (neo_has_external_id(*kind))
        print("import_duplicates", "", neo_import_duplicates_sql(*kind, "external_id", "external_id is not null", NULL, pool));
}

static void print_resource(const neo_resource *resource)
{
    resource_name = resource->name;
    for (int kind = 0; kind < NEO_SQL_KINDS; kind++)
        if (neo_sql_find(resource, kind))
            print_prepared(resource, neo_sql_find(resource, kind), neo_sql_kind_name(kind));
    list_filtered(resource, neo_common_filters);
    list_filtered(resource, resource->filters);
    list(resource, "list_by_change", (neo_selection){.order = &neo_orders[2], .limit = 25});
    list(resource, "list_by_change_further",
         (neo_selection){.order = &neo_orders[2], .before = "id", .position = "1", .limit = 25, .has_total = 1});
    list(resource, "export", (neo_selection){0});
    find_unique(resource);
    print("representation", "", neo_representation_script(resource, pool).sql);
}

/* Leads, opt-outs, conversations and messages have statements of their own, which are shared or in .sql files. */
static void print_imported(const neo_resource *kind)
{
    resource_name = kind->name;
    print("representation", "", neo_representation_script(kind, pool).sql);
    print("export", "",
          apr_psprintf(pool, "select %s from neoapi.%s t where t.organization_id = $1 order by t.id",
                       neo_representation_exported(kind, pool), neo_table_name(kind)));
}

int main(void)
{
    apr_initialize();
    apr_pool_create(&pool, NULL);
    prepared = apr_array_make(pool, 256, sizeof(statement));
    neo_service_make_statements(pool);
    neo_expiry_make_statements(pool);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        print_resource(*r);
    for (const neo_resource *const *kind = neo_import_kinds; *kind; kind++)
        if (!neo_resource_named((*kind)->name))
            print_imported(*kind);
    print_pages(&neo_event_log, neo_event_filters);
    list(&neo_event_log, "follow", (neo_selection){.order = &neo_orders[NEO_OLDEST_FIRST], .limit = 25});
    print_pages(&delivery, neo_delivery_filters);
    print_pages(&neo_whatsapp_conversation, neo_conversation_filters);
    print_pages(&neo_whatsapp_message, neo_message_filters);
    const neo_resource **imported = neo_import_order(pool);
    for (const neo_resource *const *kind = imported; *kind; kind++)
        print_import(kind);
    resource_name = "shared";
    print("import_find", "", neo_import_find_sql(imported, pool));
    print("import_missing", "", neo_import_missing_sql(neo_import_kinds, pool));
    for (int i = 0, number = 0; i < prepared->nelts; i++) {
        const statement *s = &APR_ARRAY_IDX(prepared, i, statement);
        if (!s->is_printed)
            print(apr_psprintf(pool, "%d", ++number), s->named, s->text);
    }
    apr_terminate();
    return fflush(stdout) == 0 ? 0 : 1;
}
