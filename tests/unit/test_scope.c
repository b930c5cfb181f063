/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes and roles. */
#include "unit.h"

#include "core/json.h"
#include "resources/scope.h"

#define COLLECTION(name, AREA, collection) collection,
static const char *const areas[] = {NEO_RESOURCE_LIST(COLLECTION) "whatsapp", "audit", "usage", "privacy"};
_Static_assert(COUNT(areas) == NEO_AREAS, "every area is tested");

static neo_json *json_of(neo_scopes scopes, apr_pool_t *pool)
{
    const char *error;
    neo_buf out;
    neo_buf_init(&out, pool, 0);
    neo_scopes_json(&out, scopes);
    neo_json *list = neo_json_parse(neo_buf_text(&out), pool, &error);
    assert_non_null(list);
    return list;
}

static neo_scopes role(const char *name)
{
    neo_scopes scopes = 0;
    assert_true(neo_role_scopes(name, &scopes));
    return scopes;
}

TEST(every_scope_is_parsed_as_written)
{
    neo_scopes all = 0;
    for (int area = 0; area < NEO_AREAS; area++)
        for (int write = 0; write < 2; write++) {
            char text[32];
            neo_scopes expected = write ? NEO_SCOPE_WRITE(area) : NEO_SCOPE_READ(area), scope = 0;
            snprintf(text, sizeof text, "%s:%s", areas[area], write ? "write" : "read");
            if (!(expected & NEO_SCOPES_ALL)) {
                assert_false(neo_scope_parse(text, &scope));
                continue;
            }
            assert_true(neo_scope_parse(text, &scope));
            assert_int_equal(scope, expected);
            assert_string_equal(neo_scope_text(expected, *state), text);
            assert_int_equal(all & expected, 0);
            all |= expected;
        }
    assert_int_equal(all, NEO_SCOPES_ALL);
}

/* All have a name, and no other text is one. */
TEST(a_masked_scope_is_that_to_read_with_a_restriction)
{
    neo_scopes scope = 0;
    int count = 0;
    for (int area = 0; area < NEO_AREAS; area++) {
        char text[32];
        snprintf(text, sizeof text, "%s:read_masked", areas[area]);
        int exists = (NEO_SCOPES_READ & NEO_SCOPE_READ(area)) != 0;
        assert_int_equal(neo_scope_parse(text, &scope), exists);
        if (!exists)
            continue;
        assert_int_equal(scope, NEO_SCOPE_READ(area) | NEO_SCOPE_MASKED(area));
        assert_string_equal(neo_scope_text(scope, *state), text);
        count++;
    }
    int names = 0;
    for (const char *const *name = neo_scope_names(*state); *name; name++, names++)
        assert_true(neo_scope_parse(*name, &scope));
    for (neo_scopes all = NEO_SCOPES_ALL; all; all &= all - 1)
        count++;
    assert_int_equal(names, count);
    assert_false(neo_scope_parse("brokers:write_masked", &scope));
    assert_false(neo_scope_parse("brokers:read_mask", &scope));
}

/* Otherwise an access token for fewer scopes would see more. */
TEST(a_restriction_keeps_what_is_masked)
{
    neo_scopes masked, key;
    assert_true(neo_scopes_parse("brokers:read_masked brokers:write parties:read", *state, &masked));
    key = neo_scopes_restrict(role("org_editor"), masked);
    assert_string_equal(neo_scopes_text(key, *state), "brokers:read_masked brokers:write parties:read");
    assert_string_equal(neo_scopes_text(neo_scopes_restrict(role("org_viewer"), masked), *state),
                        "brokers:read_masked parties:read");
    for (neo_scopes some = 1; some & NEO_SCOPES_ALL; some <<= 1)
        assert_int_equal(neo_scopes_restrict(key, some) & NEO_SCOPES_MASKED & key, key & NEO_SCOPES_MASKED);
    assert_string_equal(neo_scopes_text(neo_scopes_restrict(key, NEO_SCOPE_READ(NEO_AREA_BROKERS)), *state),
                        "brokers:read_masked");
}

TEST(the_scopes_of_the_reference_are_known)
{
    static const char *const cases[] = {"brokers:read",   "properties:write", "parties:read",   "proposals:write",
                                        "contracts:read", "documents:write",  "webhooks:write", "whatsapp:read"};
    neo_scopes scope;
    for (int i = 0; i < COUNT(cases); i++)
        assert_true(neo_scope_parse(cases[i], &scope));
}

TEST(other_texts_are_not_scopes)
{
    static const char *const error[] = {"",
                                        "brokers",
                                        ":",
                                        "brokers:",
                                        ":read",
                                        "brokers:reads",
                                        "brokers:rea",
                                        "broker:read",
                                        "brokerss:read",
                                        "Brokers:read",
                                        "brokers:READ",
                                        " brokers:read",
                                        "brokers:read ",
                                        "brokers :read",
                                        "brokers:read,",
                                        "brokers:read:write",
                                        "*",
                                        "me:read",
                                        "brokers/read",
                                        "brokers:delete"};
    neo_scopes scope;
    for (int i = 0; i < COUNT(error); i++)
        if (neo_scope_parse(error[i], &scope))
            fail_msg("\"%s\" was taken for a scope", error[i]);
}

TEST(a_set_is_written_in_the_order_of_the_areas)
{
    neo_json *list = json_of(
        NEO_SCOPE_WRITE(NEO_AREA_BROKERS) | NEO_SCOPE_READ(NEO_AREA_BROKERS) | NEO_SCOPE_READ(NEO_AREA_WHATSAPP), *state);
    assert_string_equal(neo_json_text(list, *state).ptr, "[\"brokers:read\",\"brokers:write\",\"whatsapp:read\"]");
    assert_int_equal(neo_json_size(json_of(0, *state)), 0);
    assert_int_equal(neo_json_size(json_of(NEO_SCOPES_ALL, *state)), 2 * NEO_AREAS - 2);
}

TEST(roles_have_the_scopes_of_the_reference)
{
    assert_int_equal(role("org_admin"), NEO_SCOPES_ALL);
    assert_int_equal(role("org_editor"), NEO_SCOPES_ALL & ~NEO_SCOPES_ADMIN & ~NEO_SCOPE_WRITE(NEO_AREA_WEBHOOKS));
    for (int area = 0; area < NEO_AREAS; area++) {
        assert_int_equal(!(role("org_viewer") & NEO_SCOPE_READ(area)), !(NEO_SCOPES_READ & NEO_SCOPE_READ(area)));
        assert_false(role("org_viewer") & NEO_SCOPE_WRITE(area));
    }
}

TEST(there_are_no_other_roles)
{
    static const char *const error[] = {"", "org_", "admin", "ORG_ADMIN", "org_admin ", "org_admins", "org_owner"};
    neo_scopes scopes;
    int n = 0;
    for (int i = 0; i < COUNT(error); i++)
        assert_false(neo_role_scopes(error[i], &scopes));
    for (; neo_role_names[n]; n++)
        assert_int_not_equal(role(neo_role_names[n]), 0);
    assert_int_equal(n, 3);
}
