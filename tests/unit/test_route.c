/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: every operation of every resource has its own number. */
#include "unit.h"

#include "api/routing.h"

TEST(requests_have_routes)
{
    static const struct {
        const char *method, *path, *route_method, *route;
    } requests[] = {
        {"GET", "brokers", "GET", "/brokers"},
        {"HEAD", "brokers", "GET", "/brokers"},
        {"PATCH", "contracts/ctr_1", "PATCH", "/contracts/{id}"},
        {"POST", "properties/batch", "POST", "/properties/batch"},
        {"POST", "webhooks/x/deliveries/y/retry", "POST", "/webhooks/{id}/deliveries/{delivery_id}/retry"},
        {"GET", "me", "GET", "/me"},
        {"GET", "docs/webhooks", "GET", "/docs"},
        {"GET", "nothing", "-", "-"},
        {"POST", "me", "-", "-"},
        {"OPTIONS", "brokers", "-", "-"},
    };
    neo_routes_make(*state);
    for (int i = 0; i < COUNT(requests); i++) {
        neo_match match;
        neo_operation_match(requests[i].path, requests[i].method, *state, &match);
        const neo_route *route = neo_route_at(neo_route_number(&match));
        assert_string_equal(route->method, requests[i].route_method);
        assert_string_equal(route->path, requests[i].route);
    }
    assert_int_equal(neo_route_number(&(neo_match){0}), 0);
    assert_null(neo_route_at(0)->name);
    assert_string_equal(neo_route_at(neo_callback_route_number())->method, "-");
    assert_string_equal(neo_route_at(neo_callback_route_number())->path, "neoapi-whatsapp");
    assert_string_equal(neo_route_at(neo_listings_route_number())->path, "neoapi-listings");
    assert_string_equal(neo_route_at(neo_oauth_route_number())->path, "neoapi-oauth-metadata");
    assert_string_equal(neo_route_at(neo_leads_route_number())->path, "neoapi-leads");
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
