/* SPDX-License-Identifier: Apache-2.0 */
/* The list of routes (see model/route.h). */
#include "model/route.h"

#include <apr_strings.h>
#include <string.h>

#include "core/encode.h"

#define MAX_ROUTES 256

static struct {
    neo_route routes[MAX_ROUTES];
    int count;
    short *numbers; /* by action and resource */
    int resources, callback;
} list;

/* Replaces only "{collection}". */
static const char *path_of(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    static const char gap[] = "{collection}";
    const char *rest = operation->path, *start = "";
    if (resource && strncmp(rest, gap, sizeof gap - 1) == 0) {
        start = resource->collection;
        rest += sizeof gap - 1;
    }
    return apr_pstrcat(pool, "/", start, rest, NULL);
}

static short put(neo_route route)
{
    if (list.count == MAX_ROUTES)
        return 0;
    list.routes[list.count] = route;
    return (short)list.count++;
}

static short add(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    return put((neo_route){operation->method, path_of(operation, resource, pool)});
}

static int is_for_each(const neo_operation *operation)
{
    return strstr(operation->path, "{collection}") != NULL;
}

void neo_routes_make(apr_pool_t *pool)
{
    for (list.resources = 0; neo_resources[list.resources];)
        list.resources++;
    list.numbers = apr_pcalloc(pool, NEO_ACTIONS * ((apr_size_t)list.resources + 1) * sizeof *list.numbers);
    list.routes[0] = (neo_route){"-", "-"};
    list.count = 1;
    for (int a = 0; a < NEO_ACTIONS; a++) {
        const neo_operation *operation = &neo_operations[a];
        short *row = &list.numbers[a * (list.resources + 1)], alone = is_for_each(operation) ? 0 : add(operation, NULL, pool);
        for (int r = 0; r <= list.resources; r++)
            row[r] = alone;
        for (int r = 0; is_for_each(operation) && r < list.resources; r++)
            if (neo_operation_is_of(operation, neo_resources[r]))
                row[r] = add(operation, neo_resources[r], pool);
    }
    list.callback = put((neo_route){"-", "neoapi-whatsapp"});
    (void)add(&neo_operation_docs, NULL, pool); /* must be the last route, see neo_route_of */
}

int neo_routes_count(void)
{
    return list.count;
}

const neo_route *neo_route_at(int route)
{
    return &list.routes[route];
}

int neo_route_of(const neo_operation *operation, const neo_resource *resource)
{
    int r = 0;
    if (!operation || operation == &neo_operation_docs)
        return operation ? list.count - 1 : 0;
    while (r < list.resources && neo_resources[r] != resource)
        r++;
    return list.numbers[(operation - neo_operations) * (list.resources + 1) + r];
}

int neo_route_of_callbacks(void)
{
    return list.callback;
}

unsigned int neo_routes_fingerprint(void)
{
    unsigned int fingerprint = 0;
    for (int i = 0; i < list.count; i++)
        fingerprint = fingerprint * 31 + neo_crc32(list.routes[i].method, strlen(list.routes[i].method)) +
                      neo_crc32(list.routes[i].path, strlen(list.routes[i].path));
    return fingerprint;
}
