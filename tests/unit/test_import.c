/* SPDX-License-Identifier: Apache-2.0 */
/* Imported rows: order of kinds, ids, and validation. */
#include "body.h"

#include <apr_strings.h>

#include "core/id.h"
#include "schema/import.h"
#include "schema/references.h"

#define HERE  "org_01jp2azpts9g3j7m2n6q0s4v8w"
#define THERE "org_01jp2azpts9g3j7m2n6q0s4v8x"

TEST(kinds_are_imported_after_those_they_refer_to_and_secrets_never)
{
    const neo_resource **order = neo_import_order(*state);
    int count = 0;
    for (; order[count]; count++) {
        assert_true(order[count] != &neo_webhook);
        for (int later = count + 1; order[later]; later++)
            assert_false(neo_can_refer_to(order[count], order[later]));
    }
    assert_true(count >= 6);
}

TEST(an_id_from_another_organization_is_mapped_to_a_stable_id_with_its_time)
{
    const char *moved = neo_import_moved_id(HERE, NEO_SAMPLE_BROKER, *state);
    assert_true(neo_id_is(moved, "brk_"));
    assert_string_not_equal(moved, NEO_SAMPLE_BROKER);
    assert_memory_equal(moved, NEO_SAMPLE_BROKER, NEO_PREFIX_LEN + 9); /* 45 of the 48 bits of the time */
    assert_string_equal(moved, neo_import_moved_id(HERE, NEO_SAMPLE_BROKER, *state));
    assert_string_not_equal(moved, neo_import_moved_id(THERE, NEO_SAMPLE_BROKER, *state));
}

TEST(a_new_id_contains_the_creation_time)
{
    char id[NEO_ID_SIZE], first[NEO_ID_SIZE], last[NEO_ID_SIZE];
    neo_import_new_id(id, "pty_", 1557000000123);
    neo_id_bound(first, "pty_", 1557000000123, 0);
    neo_id_bound(last, "pty_", 1557000000123, 1);
    assert_true(neo_id_is(id, "pty_") && strcmp(first, id) < 0 && strcmp(id, last) < 0);
}

static const char *uppercased(void *data, const neo_resource *kind, const char *given)
{
    return apr_pstrcat(data, kind->name, "!", given, NULL);
}

static const char *with_mapped_references(const neo_resource *resource, const char *body, apr_pool_t *pool)
{
    return neo_json_text(neo_import_rename(resource, parse_json(body, pool), uppercased, pool, pool), pool).ptr;
}

TEST(only_references_are_mapped_at_any_depth)
{
    assert_string_equal(
        with_mapped_references(
            &neo_property, "{\"id\":\"1\",\"broker_id\":7,\"owners\":[{\"party_id\":\"a\",\"share_bps\":1}],\"code\":\"a\"}",
            *state),
        "{\"id\":\"1\",\"broker_id\":\"broker!7\",\"owners\":[{\"party_id\":\"party!a\",\"share_bps\":1}],\"code\":\"a\"}");
    assert_string_equal(with_mapped_references(&neo_proposal, "{\"proponent_ids\":[\"a\",2,null]}", *state),
                        "{\"proponent_ids\":[\"party!a\",\"party!2\",null]}");
    assert_string_equal(with_mapped_references(&neo_document, "{\"related\":{\"type\":\"contract\",\"id\":\"x\"}}", *state),
                        "{\"related\":{\"type\":\"contract\",\"id\":\"contract!x\"}}");
    static const char *const odd[] = {"{\"owners\":7}", "{\"owners\":[7]}", "{\"broker_id\":{}}", "{\"broker_id\":\"\"}",
                                      "{\"owners\":[{\"party_id\":[\"a\"]}]}"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_string_equal(with_mapped_references(&neo_property, odd[i], *state), odd[i]);
    assert_string_equal(with_mapped_references(&neo_document, "{\"related\":{\"type\":\"planet\",\"id\":\"x\"}}", *state),
                        "{\"related\":{\"type\":\"planet\",\"id\":\"x\"}}");
}

static neo_problem *checked(const neo_resource *resource, const char *change, apr_pool_t *pool, neo_json **row)
{
    const neo_import_owner owner = {.tenant = "tnt_1", .organization = HERE, .id = "brk_1"};
    neo_json *clean;
    return neo_import_check(resource, body_of(resource, change, pool), &owner, pool, row, &clean);
}

TEST(a_row_has_the_target_organization_and_the_given_service_fields)
{
    neo_json *row;
    assert_null(checked(&neo_proposal,
                        "{\"id\":\"x\",\"organization_id\":\"" THERE "\",\"status\":\"accepted\",\"created_by\":\"crm\","
                        "\"decided_at\":\"2019-12-31T10:00:00.1239Z\",\"updated_at\":null}",
                        *state, &row));
    assert_string_equal(neo_json_string(neo_json_get(row, "organization_id")), HERE);
    assert_string_equal(neo_json_string(neo_json_get(row, "tenant_id")), "tnt_1");
    assert_string_equal(neo_json_string(neo_json_get(row, "id")), "brk_1");
    assert_string_equal(neo_json_string(neo_json_get(row, "status")), "accepted");
    assert_string_equal(neo_json_string(neo_json_get(row, "created_by")), "crm");
    assert_string_equal(neo_json_string(neo_json_get(row, "decided_at")), "2019-12-31T10:00:00.123Z");
    assert_null(neo_json_get(row, "updated_at"));
    assert_null(neo_json_get(row, "created_at"));
}

TEST(errors_of_service_fields_are_reported)
{
    neo_json *row;
    neo_problem *problem = checked(&neo_broker, "{\"name\":\"\",\"created_at\":\"yesterday\",\"updated_by\":7}", *state, &row);
    assert_non_null(problem);
    assert_int_equal(problem->items->nelts, 3);
    assert_string_equal(APR_ARRAY_IDX(problem->items, 0, neo_problem_item).field, "name");
    assert_string_equal(APR_ARRAY_IDX(problem->items, 1, neo_problem_item).field, "created_at");
    assert_string_equal(APR_ARRAY_IDX(problem->items, 2, neo_problem_item).field, "updated_by");
}

TEST(a_row_cannot_be_older_than_the_first_id)
{
    neo_json *row;
    assert_null(checked(&neo_broker, "{\"created_at\":\"1970-01-01T00:00:00Z\",\"updated_at\":\"1969-12-31T23:59:59Z\"}",
                        *state, &row));
    const neo_problem *problem = checked(&neo_broker, "{\"created_at\":\"1969-12-31T23:59:59Z\"}", *state, &row);
    assert_non_null(problem);
    assert_string_equal(problem->detail, "created_at: must not be before 1970-01-01T00:00:00Z");
}

/* ---------------------------------------------------------------- kinds that the API has no resource for */

static const char *phone_of(const neo_resource *kind, const char *body, const char *field, apr_pool_t *pool)
{
    const neo_import_owner owner = {.tenant = "tnt_1", .organization = HERE, .id = "led_1"};
    neo_json *row, *clean;
    if (neo_import_check(kind, parse_json(body, pool), &owner, pool, &row, &clean))
        return "refused";
    return neo_json_string(neo_json_get(row, field));
}

TEST(an_exported_lead_is_unchanged_and_another_is_normalized)
{
    static const char *const phones[][2] = {
        {"+14155552671", "14155552671"},
        {"+5511987654321", "5511987654321"},
        {"+551187654321", "551187654321"},
        {"11 98765-4321", "5511987654321"},
        {"5511987654321", "5511987654321"},
        {"14155552671", "refused"},
        {"351912345678", "refused"},
        {"98765", "refused"},
        {"+55 11 98765", "refused"},
        {"", "refused"},
        {" ", "refused"},
    };
    for (int i = 0; i < COUNT(phones); i++) {
        const char *body = apr_psprintf(*state, "{\"name\":\"Ana Paula\",\"phone\":\"%s\"}", phones[i][0]);
        assert_string_equal(phone_of(&neo_lead, body, "phone", *state), phones[i][1]);
    }
}

/* An opt-out must not be lost because our rule refuses WhatsApp's number of the contact. */
TEST(an_opt_out_is_accepted_with_any_number_of_whatsapp)
{
    static const char *const phones[][2] = {
        {"+5511987654321", "5511987654321"},
        {"+551100000000", "551100000000"},
        {"+12345678901234567890", "12345678901234567890"},
        {"+123", "123"},
        {"11 98765-4321", "5511987654321"},
        {"+123456789012345678901", "refused"},
        {"12345", "refused"},
        {"14155552671", "refused"},
        {"+", "refused"},
    };
    for (int i = 0; i < COUNT(phones); i++) {
        const char *body =
            apr_psprintf(*state, "{\"contact_phone\":\"%s\",\"opted_out_at\":\"2026-01-31T10:00:00Z\"}", phones[i][0]);
        assert_string_equal(phone_of(&neo_whatsapp_opt_out, body, "contact_phone", *state), phones[i][1]);
    }
}

#define MESSAGE(body)                                                                                                          \
    "{\"conversation_id\":\"wac_01kghd2t9ae0h4k8n1r5t7w3y6\",\"direction\":\"inbound\",\"source\":\"webhook\",\"type\":"       \
    "\"text\","                                                                                                                \
    "\"status_at\":\"2026-01-31T10:00:00Z\",\"occurred_at\":\"2026-01-31T10:00:00Z\"," body "}"

TEST(a_complete_message_is_accepted_with_any_text)
{
    const neo_import_owner owner = {.tenant = HERE, .organization = HERE, .id = "wam_01kghd2t9bf1j5m9p2s6v8x4z7"};
    neo_json *row, *clean;
    assert_null(neo_import_check(&neo_whatsapp_message,
                                 parse_json(MESSAGE("\"status\":\"received\",\"body\":\" \\u0085\""), *state), &owner, *state,
                                 &row, &clean));
    assert_string_equal(neo_json_string(neo_json_get(row, "body")), " \xC2\x85");
    neo_problem *problem =
        neo_import_check(&neo_whatsapp_message, parse_json(MESSAGE("\"body\":7"), *state), &owner, *state, &row, &clean);
    assert_int_equal(problem->items->nelts, 2); /* body, status */
}

TEST(a_conversation_s_fields_of_the_api_alone_are_not_imported)
{
    const neo_import_owner owner = {.tenant = HERE, .organization = HERE, .id = "wac_01kghd2t9ae0h4k8n1r5t7w3y6"};
    static const char body[] = "{\"phone_number_id\":\"10001\",\"triage\":\"pending\",\"unread_count\":0,\"created_at\":"
                               "\"2026-01-31T10:00:00Z\",\"updated_at\":\"2026-01-31T10:00:00Z\",\"window_open\":7}";
    neo_json *row, *clean;
    neo_problem *problem = neo_import_check(&neo_whatsapp_conversation, parse_json(body, *state), &owner, *state, &row, &clean);
    assert_int_equal(problem->items->nelts, 1);
    assert_string_equal(APR_ARRAY_IDX(problem->items, 0, neo_problem_item).message, "is not a field of this resource");
}

TEST(exported_kinds_are_found_by_their_names_only)
{
    for (const neo_resource *const *k = neo_import_kinds; *k; k++) {
        assert_ptr_equal(neo_import_kind_named((*k)->name), *k);
        for (const neo_resource *const *other = neo_import_kinds; other < k; other++)
            assert_string_not_equal((*k)->prefix, (*other)->prefix);
    }
    assert_null(neo_import_kind_named("planet"));
    assert_null(neo_resource_named("whatsapp_opt_out")); /* not part of the API */
    assert_null(neo_find_collection("whatsapp_opt_outs"));
}
