/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the OpenAPI document that are the same for all resources: document.json and introduction.md, with what the
 * tables add to them (see openapi/openapi.h). */
#include <apr_strings.h>
#include <string.h>

#include "openapi/openapi.h"
#include "resources/scope.h"

/* Embedded by the Makefile. */
extern const char neo_openapi_json_text[], neo_openapi_introduction[];

static neo_json *component(const neo_openapi_builder *builder, const char *kind, const char *name)
{
    return neo_json_get(neo_json_get(builder->components, kind), name);
}

/* ---------------------------------------------------------------- enumerations */

/* Appends the string unless the array has it. */
static void append_new(neo_json *array, const char *string, apr_pool_t *pool)
{
    for (apr_size_t i = 0; i < neo_json_size(array); i++)
        if (strcmp(neo_json_string(neo_json_at(array, i)), string) == 0)
            return;
    neo_json_append_string(array, string, pool);
}

/* The classes of errors and their titles, from the catalogue. */
static void add_problem_types(const neo_openapi_builder *builder)
{
    neo_json *properties = neo_json_get(component(builder, "schemas", "Problem"), "properties");
    neo_json *types = neo_json_get(neo_json_get(properties, "type"), "enum");
    neo_json *titles = neo_json_get(neo_json_get(properties, "title"), "enum");
    for (neo_code code = 0; code < NEO_CODES; code++) {
        const neo_code_info *row = neo_code_row(code);
        append_new(types, row->type, builder->pool);
        append_new(titles, neo_problem_title(row->type, row->status), builder->pool);
    }
}

static void add_roles_and_scopes(const neo_openapi_builder *builder)
{
    neo_json *roles = neo_json_get(component(builder, "schemas", "Role"), "enum");
    neo_json *scopes = neo_json_get(component(builder, "schemas", "Scope"), "enum");
    for (const char *const *role = neo_role_names; *role; role++)
        neo_json_append_string(roles, *role, builder->pool);
    for (const char *const *name = neo_scope_names(builder->pool); *name; name++)
        neo_json_append_string(scopes, *name, builder->pool);
}

/* The roles and their scopes, as a table for people. */
static const char *describe_roles(apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 1024);
    neo_buf_puts(&out, "An API key or a personal access token. Its role defines its scopes:\n\n"
                       "| Role | Scopes |\n|---|---|");
    for (const char *const *role = neo_role_names; *role; role++) {
        neo_scopes scopes;
        if (!neo_role_scopes(*role, &scopes))
            continue;
        neo_buf_printf(&out, "\n| `%s` |", *role);
        for (neo_scopes scope = 1; scope && scope <= NEO_SCOPES_ALL; scope <<= 1)
            if (scopes & scope)
                neo_buf_printf(&out, " `%s`", neo_scope_text(scope, pool));
        neo_buf_puts(&out, " |");
    }
    return out.ptr;
}

/* ---------------------------------------------------------------- examples */

/* The examples that contain a broker. Lists, batches and events of other resources have the same form, but no example. */
static void add_broker_to_examples(const neo_openapi_builder *builder)
{
    static const char *const with_payload[] = {"Event", "BrokerEvent", "DeliveryDetail"};
    neo_json *broker = neo_openapi_sample(&neo_broker, NEO_SHAPE_ANSWER, builder->pool);
    neo_json *payload = neo_openapi_sample(&neo_broker, NEO_SHAPE_EVENT, builder->pool);
    neo_json *list = neo_json_get(component(builder, "examples", "BrokerList"), "value");
    neo_json *batch = neo_json_get(component(builder, "examples", "BrokerBatchResult"), "value");
    for (apr_size_t i = 0; i < sizeof with_payload / sizeof *with_payload; i++)
        neo_json_set(neo_json_get(component(builder, "examples", with_payload[i]), "value"), "payload", payload);
    neo_json_append(neo_json_get(list, "items"), broker);
    for (apr_size_t i = 0; i < 2; i++) /* the third has failed */
        neo_json_set(neo_json_at(neo_json_get(batch, "results"), i), "resource", broker);
}

/* ---------------------------------------------------------------- the document */

static void add_tag(neo_json *tags, const char *name, const char *doc, apr_pool_t *pool)
{
    neo_json *tag = neo_json_make_object(pool);
    neo_json_set_string(tag, "name", name, pool);
    neo_json_set_string(tag, "description", doc, pool);
    neo_json_append(tags, tag);
}

static void add_oauth_scopes(const neo_openapi_builder *builder)
{
    neo_json *flows = neo_json_get(component(builder, "securitySchemes", "oauth2"), "flows");
    neo_json *scopes = neo_json_get(neo_json_get(flows, "clientCredentials"), "scopes");
    for (const char *const *name = neo_scope_names(builder->pool); *name; name++) {
        const char *colon = strchr(*name, ':');
        neo_json_set_string(scopes, *name,
                            apr_psprintf(builder->pool, "%s %.*s%s", strcmp(colon, ":write") == 0 ? "Write" : "Read",
                                         (int)(colon - *name), *name,
                                         strcmp(colon, ":read_masked") == 0 ? ", personal data masked" : ""),
                            builder->pool);
    }
}

static void add_tags(const neo_openapi_builder *builder, neo_json *tags)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        add_tag(tags, neo_openapi_fill(builder, "{Collection}", *r), (*r)->tag_doc, builder->pool);
    const char *last = NULL; /* operations with the same tag follow each other */
    for (const neo_operation *const *o = builder->operations; *o; o++)
        if ((*o)->resource && (*o)->tag && (!last || strcmp(last, (*o)->tag) != 0)) {
            last = (*o)->tag;
            add_tag(tags, last, (*o)->resource->tag_doc, builder->pool);
        }
}

neo_json *neo_openapi_begin(neo_openapi_builder *builder)
{
    neo_json *fixed = neo_openapi_filled(builder, neo_openapi_json(builder->pool, "%s", neo_openapi_json_text), NULL);
    neo_json *document = neo_json_get(fixed, "document");
    builder->components = neo_json_get(fixed, "components");
    builder->templates = neo_json_get(fixed, "templates");
    neo_json_set_string(neo_json_get(document, "info"), "description", neo_openapi_introduction, builder->pool);
    neo_json_set_string(component(builder, "securitySchemes", "apiKey"), "description", describe_roles(builder->pool),
                        builder->pool);
    add_tags(builder, neo_json_get(document, "tags"));
    add_problem_types(builder);
    add_roles_and_scopes(builder);
    add_oauth_scopes(builder);
    add_broker_to_examples(builder);
    return document;
}
