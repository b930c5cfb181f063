/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the field types (see sql/column.h). */
#include "sql/column.h"

#include "pg/pg.h"

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
