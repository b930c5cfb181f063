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
static const char *const areas[NEO_AREAS] = {NEO_RESOURCE_LIST(COLLECTION) "whatsapp", "audit", "usage"};
static const char *const accesses[] = {"read", "write"};

const char *const neo_role_names[] = {"org_admin", "org_editor", "org_viewer", NULL};
static const neo_scopes role_scopes[] = {
    NEO_SCOPES_ALL,
    NEO_SCOPES_ALL & ~NEO_SCOPES_ADMIN & ~NEO_SCOPE_WRITE(NEO_AREA_WEBHOOKS),
    NEO_SCOPES_READ,
};
_Static_assert(sizeof role_scopes / sizeof *role_scopes == sizeof neo_role_names / sizeof *neo_role_names - 1,
               "every role has its scopes");

const char *neo_scope_text(neo_scopes scope, apr_pool_t *pool)
{
    for (int bit = 0; bit < 2 * NEO_AREAS; bit++)
        if (scope & (neo_scopes)1 << bit)
            return apr_pstrcat(pool, areas[bit / 2], ":", accesses[bit % 2], NULL);
    return "";
}

int neo_scope_parse(const char *text, neo_scopes *scope)
{
    const char *colon = strchr(text, ':');
    for (int bit = 0; colon && bit < 2 * NEO_AREAS; bit++) {
        const char *area = areas[bit / 2];
        if (NEO_SCOPES_ALL & (neo_scopes)1 << bit && strlen(area) == (size_t)(colon - text) &&
            strncmp(area, text, strlen(area)) == 0 && strcmp(accesses[bit % 2], colon + 1) == 0) {
            *scope = (neo_scopes)1 << bit;
            return 1;
        }
    }
    return 0;
}

void neo_scopes_json(neo_buf *out, neo_scopes scopes)
{
    const char *separator = "";
    neo_buf_putc(out, '[');
    for (int bit = 0; bit < 2 * NEO_AREAS; bit++)
        if (scopes & (neo_scopes)1 << bit) {
            neo_buf_printf(out, "%s\"%s:%s\"", separator, areas[bit / 2], accesses[bit % 2]);
            separator = ",";
        }
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
    for (int bit = 0; bit < 2 * NEO_AREAS; bit++)
        if (scopes & (neo_scopes)1 << bit)
            neo_buf_printf(&out, "%s%s", out.len ? " " : "", neo_scope_text((neo_scopes)1 << bit, pool));
    return out.ptr;
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
