/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of WhatsApp's provider: any part can be missing or wrong, and the rest is used. */
#include "unit.h"

#include <apr_strings.h>

#include "core/json.h"
#include "whatsapp/callback.h"

#define NUMBER "106540352242922"

/* A callback with one change; `value` has what follows the metadata. */
static apr_array_header_t *read_value(const char *value, int *dropped, apr_pool_t *pool)
{
    const char *error = "";
    const char *text = apr_psprintf(
        pool, "{\"entry\":[{\"id\":\"10203040506\",\"changes\":[{\"value\":{\"metadata\":{\"phone_number_id\":\"%s\"},%s}}]}]}",
        NUMBER, value);
    apr_array_header_t *items = neo_callback_read(text_of(text), NULL, pool, &error, dropped);
    if (!items)
        fail_msg("%s: %s", error, text);
    return items;
}

static const neo_callback_item *only(const char *value, apr_pool_t *pool)
{
    int dropped;
    apr_array_header_t *items = read_value(value, &dropped, pool);
    assert_int_equal(items->nelts, 1);
    assert_int_equal(dropped, 0);
    return &APR_ARRAY_IDX(items, 0, neo_callback_item);
}

static const neo_callback_item *message(const char *rest, apr_pool_t *pool)
{
    return only(apr_psprintf(pool,
                             "\"messages\":[{\"id\":\"wamid.1\",\"from\":\"5511987654321\",\"timestamp\":\"1770000000\",%s}]",
                             rest),
                pool);
}

TEST(a_text_message_has_its_sender_and_timestamp)
{
    const neo_callback_item *item =
        only("\"contacts\":[{\"wa_id\":\"5511987654321\",\"user_id\":\"BR.1\",\"profile\":{\"name\":\"Ana\"}}],"
             "\"messages\":[{\"id\":\"wamid.1\",\"from\":\"5511987654321\",\"timestamp\":\"1770000000\","
             "\"type\":\"text\",\"text\":{\"body\":\"Oi\"}}]",
             *state);
    assert_int_equal(item->kind, NEO_ITEM_MESSAGE);
    assert_string_equal(item->phone_number_id, NUMBER);
    assert_string_equal(item->id, "wamid.1");
    assert_string_equal(item->wa_id, "5511987654321");
    assert_string_equal(item->bsuid, "BR.1");
    assert_string_equal(item->name, "Ana");
    assert_string_equal(item->body, "Oi");
    assert_true(item->at == 1770000000000LL);
    assert_null(item->preference);
}

TEST(each_type_has_its_text)
{
    static const struct {
        const char *rest, *type, *body;
        int has_media;
    } cases[] = {
        {"\"type\":\"image\",\"image\":{\"id\":\"1\",\"caption\":\"a house\"}", "image", "a house", 1},
        {"\"type\":\"audio\",\"audio\":{\"id\":\"1\"}", "audio", NULL, 1},
        {"\"type\":\"sticker\",\"sticker\":{}", "sticker", NULL, 0},
        {"\"type\":\"location\",\"location\":{\"latitude\":-23.5,\"longitude\":-46}", "location", "-23.500000,-46.000000", 0},
        {"\"type\":\"location\",\"location\":{\"name\":\"here\"}", "location", "here", 0},
        {"\"type\":\"contacts\",\"contacts\":[{\"name\":{\"formatted_name\":\"A\"}},{},{\"name\":{\"formatted_name\":\"B\"}}]",
         "contacts", "A, B", 0},
        {"\"type\":\"interactive\",\"interactive\":{\"list_reply\":{\"title\":\"yes\"}}", "interactive", "yes", 0},
        {"\"type\":\"button\",\"button\":{\"text\":\"no\"}", "button", "no", 0},
        {"\"type\":\"reaction\",\"reaction\":{\"emoji\":\"👍\"}", "reaction", "👍", 0},
        {"\"type\":\"order\",\"order\":{\"text\":\"two\"}", "order", "two", 0},
        {"\"type\":\"unsupported\",\"errors\":[{\"code\":131051}]", "unsupported", NULL, 0},
        {"\"type\":\"hologram\"", "hologram", NULL, 0},
        {"\"type\":\"<script>\"", "unsupported", NULL, 0},
        {"\"type\":7", "unsupported", NULL, 0},
        {"\"type\":\"text\",\"text\":[]", "text", NULL, 0},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const neo_callback_item *item = message(cases[i].rest, *state);
        assert_string_equal(item->type, cases[i].type);
        assert_int_equal(item->has_media, cases[i].has_media);
        if (cases[i].body)
            assert_string_equal(item->body, cases[i].body);
        else
            assert_null(item->body);
    }
}

TEST(only_a_text_that_is_a_stop_word_is_a_preference)
{
    static const struct {
        const char *text, *preference;
    } cases[] = {{"STOP", "stop"},
                 {" parar\\n", "stop"},
                 {"Sair", "stop"},
                 {"CANCELAR", "stop"},
                 {"descadastrar", "stop"},
                 {"resume", "resume"},
                 {"Voltar", "resume"},
                 {"STOP!", "stop"},
                 {"please stop", NULL},
                 {"stopp", NULL},
                 {"", NULL},
                 {"PARAR SAIR", NULL},
                 {"Parar promoções", "stop"},
                 {"UNSUBSCRIBE.", "stop"},
                 {"Na\\u0303o quero mais receber mensagens!", "stop"},
                 {"✋ Sair 🙏", "stop"},
                 {"parar?", NULL},
                 {"\xC2\xBFparar", NULL},
                 {"❓", NULL}};
    for (int i = 0; i < COUNT(cases); i++) {
        const neo_callback_item *item =
            message(apr_psprintf(*state, "\"type\":\"text\",\"text\":{\"body\":\"%s\"}", cases[i].text), *state);
        if (cases[i].preference)
            assert_string_equal(item->preference, cases[i].preference);
        else
            assert_null(item->preference);
    }
    assert_null(message("\"type\":\"image\",\"image\":{\"id\":\"1\",\"caption\":\"STOP\"}", *state)->preference);
}

TEST(statuses_are_mapped_to_the_names_of_the_api)
{
    static const char *const cases[][2] = {
        {"sent", "sent"}, {"delivered", "delivered"}, {"read", "read"}, {"played", "read"}, {"failed", "failed"}};
    int dropped;
    for (int i = 0; i < COUNT(cases); i++) {
        const neo_callback_item *item =
            only(apr_psprintf(*state, "\"statuses\":[{\"id\":\"wamid.1\",\"status\":\"%s\",\"timestamp\":\"1\"}]", cases[i][0]),
                 *state);
        assert_string_equal(item->status, cases[i][1]);
    }
    assert_int_equal(read_value("\"statuses\":[{\"id\":\"x\",\"status\":\"evaporated\"}]", &dropped, *state)->nelts, 0);
    assert_int_equal(dropped, 0);
    const neo_callback_item *failed =
        only("\"statuses\":[{\"id\":\"wamid.1\",\"status\":\"failed\",\"biz_opaque_callback_data\":\"wam_1\","
             "\"recipient_user_id\":\"BR.2\",\"errors\":[{\"code\":131026,\"title\":\"no\"}]}]",
             *state);
    assert_int_equal(failed->error_code, 131026);
    assert_string_equal(failed->error_title, "no");
    assert_string_equal(failed->message, "wam_1");
    assert_string_equal(failed->bsuid, "BR.2");
    assert_true(failed->at == 0);
}

TEST(the_pricing_of_a_status_has_only_what_is_known)
{
    static const char *const cases[][2] = {
        {"{\"category\":\"marketing\",\"type\":\"regular\",\"billable\":true,\"pricing_model\":\"PMP\",\"new\":{}}",
         "{\"billable\":true,\"pricing_model\":\"PMP\",\"category\":\"marketing\",\"type\":\"regular\"}"},
        {"{\"category\":\"utility\",\"type\":\"regular\"}",
         "{\"billable\":true,\"category\":\"utility\",\"type\":\"regular\"}"},
        {"{\"category\":\"service\",\"billable\":1,\"type\":\"a b\"}", "{\"billable\":false,\"category\":\"service\"}"},
        {"{\"billable\":true}", NULL},
        {"{\"category\":7}", NULL},
        {"[]", NULL}};
    for (int i = 0; i < COUNT(cases); i++) {
        const char *found =
            only(apr_psprintf(*state, "\"statuses\":[{\"id\":\"wamid.1\",\"status\":\"sent\",\"pricing\":%s}]", cases[i][0]),
                 *state)
                ->pricing;
        if (cases[i][1])
            assert_string_equal(found, cases[i][1]);
        else
            assert_null(found);
    }
}

static apr_array_header_t *read_account_change(const char *field, const char *value, apr_pool_t *pool)
{
    const char *error = "";
    int dropped;
    apr_array_header_t *items = neo_callback_read(
        text_of(apr_psprintf(pool, "{\"entry\":[{\"id\":\"10203040506\",\"changes\":[{\"field\":\"%s\",\"value\":%s}]}]}",
                             field, value)),
        NULL, pool, &error, &dropped);
    assert_non_null(items);
    return items;
}

TEST(a_change_of_an_account_names_what_has_changed)
{
    static const struct {
        const char *field, *event, *report, *status;
    } cases[] = {{"message_template_status_update", "PAUSED", "templates", "paused"},
                 {"message_template_status_update", "REINSTATED", "templates", "approved"},
                 {"message_template_status_update", "FLAGGED", "templates", NULL},
                 {"message_template_components_update", "APPROVED", "templates", NULL},
                 {"phone_number_quality_update", "DOWNGRADE", "numbers", NULL},
                 {"flows", "X", NULL, NULL}};
    for (int i = 0; i < COUNT(cases); i++) {
        const apr_array_header_t *items = read_account_change(
            cases[i].field, apr_psprintf(*state, "{\"event\":\"%s\",\"message_template_name\":\"a\"}", cases[i].event), *state);
        assert_int_equal(items->nelts, cases[i].report != NULL);
        if (!cases[i].report)
            continue;
        const neo_callback_item *item = &APR_ARRAY_IDX(items, 0, neo_callback_item);
        assert_int_equal(item->kind, NEO_ITEM_ACCOUNT);
        assert_string_equal(item->account, "10203040506");
        assert_string_equal(item->report, cases[i].report);
        assert_string_equal(item->template_name, "a");
        if (cases[i].status)
            assert_string_equal(item->template_status, cases[i].status);
        else
            assert_null(item->template_status);
    }
    assert_int_equal(read_account_change("message_template_status_update", "7", *state)->nelts, 1);
}

TEST(preferences_have_a_numeric_timestamp)
{
    const neo_callback_item *item =
        only("\"user_preferences\":[{\"wa_id\":\"5511987654321\",\"value\":\"stop\",\"timestamp\":1770000000}]", *state);
    assert_int_equal(item->kind, NEO_ITEM_PREFERENCE);
    assert_string_equal(item->preference, "stop");
    assert_true(item->at == 1770000000000LL);
}

TEST(a_change_of_number_is_reported_with_the_message)
{
    int dropped;
    apr_array_header_t *items =
        read_value("\"messages\":[{\"id\":\"wamid.1\",\"from\":\"5511987654321\",\"type\":\"system\",\"system\":"
                   "{\"type\":\"user_changed_number\",\"wa_id\":\"5521987651234\",\"body\":\"changed\"}}]",
                   &dropped, *state);
    assert_int_equal(items->nelts, 2);
    const neo_callback_item *change = &APR_ARRAY_IDX(items, 1, neo_callback_item);
    assert_int_equal(change->kind, NEO_ITEM_NUMBER_CHANGED);
    assert_string_equal(change->wa_id, "5511987654321");
    assert_string_equal(change->new_wa_id, "5521987651234");
}

TEST(a_change_of_user_id_is_reported_without_a_message)
{
    int dropped;
    apr_array_header_t *items = read_value("\"user_id_update\":[{\"user_id\":{\"previous\":\"BR.1\",\"current\":\"BR.2\"}},"
                                           "{\"user_id\":{\"current\":\"BR.3\"}}]",
                                           &dropped, *state);
    assert_int_equal(items->nelts, 1);
    assert_int_equal(dropped, 1);
    const neo_callback_item *change = &APR_ARRAY_IDX(items, 0, neo_callback_item);
    assert_int_equal(change->kind, NEO_ITEM_NUMBER_CHANGED);
    assert_string_equal(change->bsuid, "BR.1");
    assert_string_equal(change->new_bsuid, "BR.2");
}

TEST(a_system_message_without_a_change_is_only_a_message)
{
    int dropped;
    apr_array_header_t *items =
        read_value("\"messages\":[{\"id\":\"wamid.1\",\"from\":\"5511987654321\",\"from_user_id\":\"BR.1\",\"type\":\"system\","
                   "\"system\":{\"type\":\"customer_identity_changed\",\"wa_id\":\"5511987654321\",\"identity\":\"x\"}}]",
                   &dropped, *state);
    assert_int_equal(items->nelts, 1);
    assert_int_equal(APR_ARRAY_IDX(items, 0, neo_callback_item).kind, NEO_ITEM_MESSAGE);
}

TEST(malformed_items_are_skipped)
{
    static const char *const bad[] = {"null",
                                      "7",
                                      "[]",
                                      "{}",
                                      "{\"id\":\"wamid.1\"}",
                                      "{\"from\":\"5511987654321\"}",
                                      "{\"id\":7,\"from\":\"5511987654321\"}",
                                      "{\"id\":\"wamid.1\",\"from\":\"nobody\"}",
                                      "{\"id\":\"a b\",\"from\":\"5511987654321\"}"};
    for (int i = 0; i < COUNT(bad); i++) {
        int dropped;
        apr_array_header_t *items = read_value(
            apr_psprintf(*state, "\"messages\":[%s,{\"id\":\"wamid.2\",\"from\":\"5511987654321\",\"type\":\"text\"}]", bad[i]),
            &dropped, *state);
        assert_int_equal(items->nelts, 1);
        assert_int_equal(dropped, 1);
        assert_string_equal(APR_ARRAY_IDX(items, 0, neo_callback_item).id, "wamid.2");
    }
}

TEST(invalid_characters_of_a_text_are_replaced)
{
    static const char *const texts[][2] = {{"a\\u0000b", "a\xEF\xBF\xBD"
                                                         "b"},
                                           {"\\ud83d!", "\xEF\xBF\xBD!"},
                                           {"\\ude00!", "\xEF\xBF\xBD!"},
                                           {"\\ud83d\\ude00", "\xF0\x9F\x98\x80"},
                                           {"\xFF", "?"},
                                           {"\xC3", "?"},
                                           {"a\tb", "a b"},
                                           {"\\u0007x", " x"}};
    for (int i = 0; i < COUNT(texts); i++)
        assert_string_equal(
            message(apr_psprintf(*state, "\"type\":\"text\",\"text\":{\"body\":\"%s\"}", texts[i][0]), *state)->body,
            texts[i][1]);
}

TEST(a_malformed_callback_is_reported)
{
    static const char *const none[] = {"", "x", "[]", "{}", "{\"entry\":{}}", "{\"entry\":[", "7"};
    for (int i = 0; i < COUNT(none); i++) {
        const char *error = NULL;
        int dropped;
        assert_null(neo_callback_read(text_of(none[i]), NULL, *state, &error, &dropped));
        assert_non_null(error);
    }
}

TEST(candidates_are_found_without_parsing)
{
    const char *text =
        "{\"entry\": [{\"id\" : \"10203040506\", \"x\": {\"phone_number_id\":\t\"" NUMBER "\"}}, {\"phone_number_id\":\"" NUMBER
        "\"}, {\"phone_number_id\":\"12\"}, {\"phone_number_id\":\"1' or 1\"}, {\"id\":\"";
    const char *const *ids = neo_callback_candidates(text_of(text), *state);
    assert_string_equal(ids[0], NUMBER);
    assert_string_equal(ids[1], "10203040506");
    assert_null(ids[2]);
    assert_null(neo_callback_candidates(text_of(""), *state)[0]);
}

TEST(items_are_json)
{
    int dropped;
    const char *error = "";
    neo_text text = neo_callback_items_json(
        read_value("\"messages\":[{\"id\":\"wamid.\\\"1\",\"from\":\"5511987654321\",\"type\":\"text\",\"text\":"
                   "{\"body\":\"\\\"\\n\"}}],"
                   "\"statuses\":[{\"id\":\"wamid.2\",\"status\":\"failed\",\"errors\":[{\"code\":0}]}]",
                   &dropped, *state),
        0, 2, *state);
    neo_json *items = neo_json_parse(text, *state, &error);
    assert_non_null(items);
    assert_int_equal(neo_json_size(items), 2);
    assert_string_equal(neo_json_string(neo_json_get(neo_json_at(items, 0), "body")), "\"\n");
    assert_string_equal(neo_json_string(neo_json_get(neo_json_at(items, 1), "kind")), "status");
    assert_int_equal(neo_json_integer(neo_json_get(neo_json_at(items, 1), "error_code")), 0);
    assert_null(neo_json_get(neo_json_at(items, 0), "at"));
}
