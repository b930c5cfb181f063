/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to WhatsApp's provider, and its responses. */
#include "unit.h"

#include <apr_strings.h>

#include "whatsapp/provider.h"

#define TOKEN "EAA-0123456789_abcdefghij"
#define OTHER "EAAZ0123456789_abcdefghij-0123456789abcdefghij" /* 40 characters and more */

TEST(a_message_has_the_format_of_the_provider)
{
    neo_outgoing message = {
        .id = "wam_1",
        .wa_id = "5511987654321",
        .content = parse_json("{\"template_name\":\"hello\",\"template_language\":\"pt_BR\"}", *state),
    };
    assert_string_equal(neo_outgoing_json(&message, *state).ptr,
                        "{\"messaging_product\":\"whatsapp\",\"recipient_type\":\"individual\",\"to\":\"5511987654321\","
                        "\"type\":\"template\",\"template\":{\"name\":\"hello\",\"language\":{\"policy\":\"deterministic\","
                        "\"code\":\"pt_BR\"}},\"biz_opaque_callback_data\":\"wam_1\"}");
    message = (neo_outgoing){
        .id = "wam_2",
        .bsuid = "BR.1",
        .content = parse_json("{\"type\":\"template\",\"template_name\":\"hello\",\"template_language\":\"en\","
                              "\"template_parameters\":[\"A \\\"b\\\"\"]}",
                              *state),
    };
    const char *text = neo_outgoing_json(&message, *state).ptr;
    assert_non_null(strstr(text, "\"to\":\"BR.1\""));
    assert_null(strstr(text, "\"recipient\":"));
    assert_non_null(
        strstr(text, "\"components\":[{\"type\":\"body\",\"parameters\":[{\"type\":\"text\",\"text\":\"A \\\"b\\\"\"}]}]"));
}

/* The JSON of a message after the recipient, with these contents of the request. */
static const char *sent(const char *content, const char *reply_to, apr_pool_t *pool)
{
    neo_outgoing message = {.id = "wam_1", .wa_id = "1", .reply_to = reply_to, .content = parse_json(content, pool)};
    return strstr(neo_outgoing_json(&message, pool).ptr, "\"type\"");
}

TEST(each_type_of_message_has_the_format_of_the_provider)
{
    static const struct {
        const char *content, *reply_to, *sent;
    } cases[] = {
        {"{\"type\":\"text\",\"text\":\"Oi\",\"template_language\":\"pt_BR\"}", NULL,
         "\"type\":\"text\",\"text\":{\"body\":\"Oi\"}"},
        {"{\"type\":\"text\",\"text\":\"Oi\"}", "wamid.1",
         "\"type\":\"text\",\"text\":{\"body\":\"Oi\"},\"context\":{\"message_id\":\"wamid.1\"}"},
        {"{\"type\":\"image\",\"media_url\":\"https://a/b\",\"caption\":\"c\"}", NULL,
         "\"type\":\"image\",\"image\":{\"link\":\"https://a/b\",\"caption\":\"c\"}"},
        {"{\"type\":\"document\",\"media_url\":\"https://a/b\",\"media_filename\":\"c.pdf\"}", NULL,
         "\"type\":\"document\",\"document\":{\"link\":\"https://a/b\",\"filename\":\"c.pdf\"}"},
        {"{\"type\":\"reaction\",\"emoji\":\"\"}", "wamid.1",
         "\"type\":\"reaction\",\"reaction\":{\"emoji\":\"\",\"message_id\":\"wamid.1\"}"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(sent(cases[i].content, cases[i].reply_to, *state),
                            apr_pstrcat(*state, cases[i].sent, ",\"biz_opaque_callback_data\":\"wam_1\"}", NULL));
}

static neo_reply reply_to(int status, const char *body, apr_pool_t *pool)
{
    neo_reply reply;
    neo_provider_response answer = {NEO_PROVIDER_RESPONDED, NULL, status, text_of(body), TOKEN};
    neo_reply_read(&answer, pool, &reply);
    return reply;
}

TEST(error_codes_determine_the_verdict)
{
    static const struct {
        int status, code;
        neo_verdict verdict;
    } cases[] = {
        {400, 4, NEO_VERDICT_LATER},         {400, 80007, NEO_VERDICT_LATER},      {429, 130429, NEO_VERDICT_LATER},
        {400, 131056, NEO_VERDICT_LATER},    {503, 2, NEO_VERDICT_LATER},          {500, 131016, NEO_VERDICT_LATER},
        {400, 131026, NEO_VERDICT_FAILED},   {400, 131047, NEO_VERDICT_FAILED},    {400, 131048, NEO_VERDICT_FAILED},
        {400, 131049, NEO_VERDICT_FAILED},   {400, 131050, NEO_VERDICT_OPTED_OUT}, {400, 132000, NEO_VERDICT_TEMPLATE},
        {404, 132001, NEO_VERDICT_TEMPLATE}, {400, 132012, NEO_VERDICT_TEMPLATE},  {400, 132015, NEO_VERDICT_TEMPLATE},
        {400, 132016, NEO_VERDICT_TEMPLATE}, {400, 100, NEO_VERDICT_TEMPLATE},     {400, 131008, NEO_VERDICT_TEMPLATE},
        {400, 131009, NEO_VERDICT_TEMPLATE}, {401, 0, NEO_VERDICT_FORBIDDEN},      {401, 190, NEO_VERDICT_FORBIDDEN},
        {500, 3, NEO_VERDICT_FORBIDDEN},     {403, 10, NEO_VERDICT_FORBIDDEN},     {403, 200, NEO_VERDICT_FORBIDDEN},
        {403, 299, NEO_VERDICT_FORBIDDEN},   {400, 999999, NEO_VERDICT_FAILED},    {500, 131000, NEO_VERDICT_UNKNOWN},
        {500, 1, NEO_VERDICT_UNKNOWN},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const char *body = apr_psprintf(
            *state, "{\"error\":{\"code\":%d,\"message\":\"m\",\"error_data\":{\"details\":\"d\"}}}", cases[i].code);
        neo_reply reply = reply_to(cases[i].status, body, *state);
        if (reply.verdict != cases[i].verdict)
            fail_msg("%d with HTTP %d is %d", cases[i].code, cases[i].status, reply.verdict);
        assert_int_equal(reply.code, cases[i].code);
        assert_string_equal(reply.title, "m");
        assert_string_equal(reply.details, "d");
    }
}

static neo_reply error_quoting(int code, const char *quoted, apr_pool_t *pool)
{
    return reply_to(
        400,
        apr_psprintf(pool,
                     "{\"error\":{\"code\":%d,\"message\":\"%s\",\"fbtrace_id\":\"%s\",\"error_data\":{\"details\":\"%s\"}}}",
                     code, quoted, quoted, quoted),
        pool);
}

/* Also if truncation would leave half of it, and another token than the one that was sent. */
TEST(a_quoted_access_token_is_removed)
{
    static const struct {
        int code;
        const char *quoted, *kept;
    } cases[] = {
        {190, "Malformed access token " TOKEN, "Malformed access token …"},
        {190, "Bearer " TOKEN TOKEN ".", "Bearer …."},
        {190, "(" OTHER ")", "(…)"},
        {131026, "Header: Bearer " TOKEN "; to 5511987654321", "Header: Bearer …; to 5511987654321"},
        {131026, "x" TOKEN "x" TOKEN, "x…x…"},
        {131026, OTHER, OTHER},
        {190, "a_word-of 39 characters: 012345678901234567890123456789012345678",
         "a_word-of 39 characters: 012345678901234567890123456789012345678"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        neo_reply reply = error_quoting(cases[i].code, cases[i].quoted, *state);
        assert_string_equal(reply.title, cases[i].kept);
        assert_string_equal(reply.details, cases[i].kept);
        assert_string_equal(reply.trace, cases[i].kept);
    }
    const char *title = error_quoting(131026, apr_psprintf(*state, "%0290d" TOKEN, 0), *state).title;
    assert_null(strstr(title, "EAA"));
}

TEST(a_number_that_the_token_cannot_use_is_no_template_error)
{
    static const char *const subcodes[] = {"33", "34", "\"33\"", "null"};
    for (int i = 0; i < COUNT(subcodes); i++) {
        neo_reply reply = reply_to(
            400, apr_psprintf(*state, "{\"error\":{\"code\":100,\"error_subcode\":%s,\"message\":\"m\"}}", subcodes[i]),
            *state);
        assert_int_equal(reply.verdict, i == 0 ? NEO_VERDICT_FORBIDDEN : NEO_VERDICT_TEMPLATE);
    }
}

TEST(an_acceptance_has_an_id)
{
    neo_reply reply = reply_to(200,
                               "{\"contacts\":[{\"wa_id\":\"551187654321\",\"user_id\":\"BR.1\"}],"
                               "\"messages\":[{\"id\":\"wamid.1\",\"message_status\":\"held_for_quality_assessment\"}]}",
                               *state);
    assert_int_equal(reply.verdict, NEO_VERDICT_ACCEPTED);
    assert_string_equal(reply.id, "wamid.1");
    assert_string_equal(reply.wa_id, "551187654321");
    assert_string_equal(reply.bsuid, "BR.1");
    assert_true(reply.is_held);
    assert_false(reply_to(200, "{\"messages\":[{\"id\":\"wamid.1\",\"message_status\":\"accepted\"}]}", *state).is_held);
}

TEST(an_incomplete_response_leaves_the_outcome_unknown)
{
    static const char *const bodies[] = {"",
                                         "{",
                                         "[]",
                                         "null",
                                         "{}",
                                         "{\"messages\":[]}",
                                         "{\"messages\":[{}]}",
                                         "{\"messages\":[{\"id\":\"\"}]}",
                                         "{\"messages\":[{\"id\":7}]}",
                                         "{\"messages\":{\"id\":\"x\"}}"};
    for (int i = 0; i < COUNT(bodies); i++) {
        assert_int_equal(reply_to(200, bodies[i], *state).verdict, NEO_VERDICT_UNKNOWN);
        assert_int_equal(reply_to(500, bodies[i], *state).verdict, NEO_VERDICT_UNKNOWN);
    }
    neo_reply reply;
    neo_reply_read(&(neo_provider_response){NEO_PROVIDER_NO_RESPONSE, "timeout", 0, {"", 0}, NULL}, *state, &reply);
    assert_int_equal(reply.verdict, NEO_VERDICT_UNKNOWN);
    neo_reply_read(&(neo_provider_response){NEO_PROVIDER_NOT_SENT, "connection_failed", 0, {"", 0}, NULL}, *state, &reply);
    assert_int_equal(reply.verdict, NEO_VERDICT_LATER);
}

TEST(errors_that_are_not_the_providers_mean_not_sent)
{
    assert_int_equal(reply_to(404, "<html>", *state).verdict, NEO_VERDICT_FORBIDDEN);
    assert_int_equal(reply_to(302, "", *state).verdict, NEO_VERDICT_FORBIDDEN);
    assert_int_equal(reply_to(429, "", *state).verdict, NEO_VERDICT_LATER);
    assert_int_equal(reply_to(408, "", *state).verdict, NEO_VERDICT_UNKNOWN);
}
