/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of resources, scopes and roles (see resources/list.h and scope.h). */
#include "resources/scope.h"

#include <apr_strings.h>
#include <string.h>

#include "schema/import.h"

#define ADDRESS(name, AREA, collection) &neo_##name,
const neo_resource *const neo_resources[] = {NEO_RESOURCE_LIST(ADDRESS) NULL};

const neo_resource *const neo_import_kinds[] = {NEO_RESOURCE_LIST(ADDRESS) & neo_whatsapp_opt_out, &neo_whatsapp_conversation,
                                                &neo_whatsapp_message, NULL};

#define COLLECTION(name, AREA, collection) collection,
static const char *const areas[NEO_AREAS] = {NEO_RESOURCE_LIST(COLLECTION) "whatsapp", "audit", "usage", "privacy"};

const char *const neo_role_names[] = {"org_admin", "org_editor", "org_viewer", NULL};
static const neo_scopes role_scopes[] = {
    NEO_SCOPES_ALL,
    NEO_SCOPES_ALL & ~NEO_SCOPES_ADMIN & ~NEO_SCOPE_WRITE(NEO_AREA_WEBHOOKS),
    NEO_SCOPES_READ,
};
_Static_assert(sizeof role_scopes / sizeof *role_scopes == sizeof neo_role_names / sizeof *neo_role_names - 1,
               "every role has its scopes");

/* "brokers:read", "brokers:read_masked", "brokers:write" */
enum { READ, READ_MASKED, WRITE, ACCESSES };
static const char *const accesses[] = {[READ] = "read", [READ_MASKED] = "read_masked", [WRITE] = "write"};

static neo_scopes make_scope(int area, int access)
{
    const neo_scopes scopes[] = {NEO_SCOPE_READ(area), NEO_SCOPE_READ(area) | NEO_SCOPE_MASKED(area), NEO_SCOPE_WRITE(area)};
    return scopes[access];
}

/* What org_admin alone may read has no masked form, because it consists of values that others are looked up by. */
static int exists(int area, int access)
{
    neo_scopes among = access == READ_MASKED ? NEO_SCOPES_READ | NEO_SCOPES_MASKED : NEO_SCOPES_ALL;
    return !(make_scope(area, access) & ~among);
}

/* Whether the scope is the one by which the set can read or write the area. */
static int has_scope(neo_scopes scopes, int area, int access)
{
    int is_masked = (scopes & NEO_SCOPE_MASKED(area)) != 0;
    return scopes & (access == WRITE ? NEO_SCOPE_WRITE(area) : NEO_SCOPE_READ(area)) &&
           (access == WRITE || is_masked == (access == READ_MASKED));
}

static const char *const *list_names(neo_scopes scopes, int has_all, apr_pool_t *pool)
{
    apr_array_header_t *names = apr_array_make(pool, ACCESSES * NEO_AREAS + 1, sizeof(const char *));
    for (int area = 0; area < NEO_AREAS; area++)
        for (int access = 0; access < ACCESSES; access++)
            if (has_all ? exists(area, access) : has_scope(scopes, area, access))
                APR_ARRAY_PUSH(names, const char *) = apr_pstrcat(pool, areas[area], ":", accesses[access], NULL);
    APR_ARRAY_PUSH(names, const char *) = NULL;
    return (const char *const *)names->elts;
}

const char *const *neo_scope_names(apr_pool_t *pool)
{
    return list_names(0, 1, pool);
}

const char *neo_scope_text(neo_scopes scopes, apr_pool_t *pool)
{
    const char *const *names = list_names(scopes, 0, pool);
    return *names ? *names : "";
}

int neo_scope_parse(const char *text, neo_scopes *scope)
{
    const char *colon = strchr(text, ':');
    for (int area = 0; colon && area < NEO_AREAS; area++)
        for (int access = 0; access < ACCESSES; access++)
            if (exists(area, access) && strlen(areas[area]) == (size_t)(colon - text) &&
                strncmp(areas[area], text, strlen(areas[area])) == 0 && strcmp(accesses[access], colon + 1) == 0) {
                *scope = make_scope(area, access);
                return 1;
            }
    return 0;
}

void neo_scopes_json(neo_buf *out, neo_scopes scopes)
{
    neo_buf_putc(out, '[');
    const char *const *names = list_names(scopes, 0, out->pool);
    for (int i = 0; names[i]; i++)
        neo_buf_printf(out, "%s\"%s\"", i ? "," : "", names[i]);
    neo_buf_putc(out, ']');
}

int neo_scopes_parse(const char *text, apr_pool_t *pool, neo_scopes *scopes)
{
    neo_scopes one;
    char *rest = apr_pstrdup(pool, text), *word;
    *scopes = 0;
    while ((word = strsep(&rest, " "))) {
        if (*word && !neo_scope_parse(word, &one))
            return 0;
        *scopes |= *word ? one : 0;
    }
    return *scopes != 0;
}

const char *neo_scopes_text(neo_scopes scopes, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 256);
    for (const char *const *name = list_names(scopes, 0, pool); *name; name++)
        neo_buf_printf(&out, "%s%s", out.len ? " " : "", *name);
    return out.ptr;
}

neo_scopes neo_scopes_restrict(neo_scopes all, neo_scopes some)
{
    return (all & some & ~NEO_SCOPES_MASKED) | ((all | some) & NEO_SCOPES_MASKED);
}

int neo_role_scopes(const char *role, neo_scopes *scopes)
{
    for (int i = 0; neo_role_names[i]; i++)
        if (strcmp(neo_role_names[i], role) == 0) {
            *scopes = role_scopes[i];
            return 1;
        }
    return 0;
}
