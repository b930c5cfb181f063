/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: every operation of every resource has its own number. */
#include "unit.h"

#include "api/routing.h"

/* The route of a request. */
static const neo_route *route_of(const char *method, const char *path, apr_pool_t *pool)
{
    neo_match match;
    neo_operation_match(path, method, pool, &match);
    return neo_route_at(neo_route_number(&match));
}

static void assert_route(const neo_route *route, const char *method, const char *path)
{
    assert_string_equal(route->method, method);
    assert_string_equal(route->path, path);
}

TEST(requests_have_routes)
{
    apr_pool_t *pool = *state;
    neo_routes_make(pool);
    assert_route(route_of("GET", "brokers", pool), "GET", "/brokers");
    assert_route(route_of("HEAD", "brokers", pool), "GET", "/brokers");
    assert_route(route_of("PATCH", "contracts/ctr_1", pool), "PATCH", "/contracts/{id}");
    assert_route(route_of("POST", "properties/batch", pool), "POST", "/properties/batch");
    assert_route(route_of("POST", "webhooks/x/deliveries/y/retry", pool), "POST",
                 "/webhooks/{id}/deliveries/{delivery_id}/retry");
    assert_route(route_of("GET", "me", pool), "GET", "/me");
    assert_route(route_of("GET", "docs/webhooks", pool), "GET", "/docs");
}

TEST(unknown_paths_have_a_route)
{
    apr_pool_t *pool = *state;
    neo_routes_make(pool);
    assert_route(route_of("GET", "nothing", pool), "-", "-");
    assert_route(route_of("POST", "me", pool), "-", "-");
    assert_route(route_of("OPTIONS", "brokers", pool), "-", "-");
    assert_int_equal(neo_route_number(&(neo_match){0}), 0);
    assert_route(neo_route_at(neo_callback_route_number()), "-", "neoapi-whatsapp");
}

TEST(routes_are_unique_and_complete)
{
    apr_pool_t *pool = *state;
    neo_routes_make(pool);
    unsigned int print = neo_routes_fingerprint();
    for (int i = 0; i < neo_routes_count(); i++)
        for (int k = 0; k < i; k++)
            assert_true(strcmp(neo_route_at(i)->path, neo_route_at(k)->path) != 0 ||
                        strcmp(neo_route_at(i)->method, neo_route_at(k)->method) != 0);
    for (const neo_operation *const *o = neo_operations(); *o; o++)
        for (int r = 0; neo_resources[r]; r++)
            if (!strstr((*o)->path, "{collection}") || neo_operation_applies_to(*o, neo_resources[r]))
                assert_int_not_equal(neo_route_number(&(neo_match){.operation = *o, .resource = neo_resources[r]}), 0);
    neo_routes_make(pool);
    assert_int_equal(neo_routes_fingerprint(), print);
}
