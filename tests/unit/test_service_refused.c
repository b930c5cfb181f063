/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that the database refuses or does not answer: what clients learn about them. */
#include "fake_host.h"
#include "fake_pg.h"

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    (void)values;
    if (strstr(sql, "insert into neoapi.broker"))
        *reply = *(const fake_reply *)fake->data;
}

static const char *key; /* the idempotency key; NULL: none */

/* Creates a broker; the statement has this reply. */
static fake_host *create(fake_reply *reply, int has_database, apr_pool_t *pool)
{
    neo_site *site = site_of(pool);
    fake_host *host = editor_at(site, has_database ? fake_connect(fake_start(answer, reply, pool), pool) : NULL, pool);
    host->body = "{\"name\":\"Ana\"}";
    if (key)
        apr_table_setn(host->headers, "Idempotency-Key", key);
    assert_int_equal(ask(site, host, "POST", "brokers", pool), 503);
    return host;
}

TEST(an_unanswered_write_may_have_been_executed)
{
    static const char *const keys[] = {NULL, "0f8fad5b-d9cb-469f-a165-70867728950e"};
    for (int i = 0; i < COUNT(keys); i++) {
        key = keys[i];
        const char *detail = member_of(create(&(fake_reply){.fate = FAKE_DIES_BEFORE}, 1, *state), "detail", *state);
        assert_non_null(strstr(detail, "may have been executed"));
        assert_int_equal(strstr(detail, "Idempotency-Key") != NULL, key != NULL);
    }
    key = NULL;
}

/* Clients do not learn the cause, only when to try again. */
TEST(a_refused_write_was_not_executed)
{
    static const struct {
        const char *error, *code, *retry_after;
    } cases[] = {
        {"53100", "internal.unavailable", "60"},      {"53300", "internal.unavailable", "5"},
        {"53200", "internal.unavailable", "5"},       {"25006", "internal.unavailable", "5"},
        {"57P03", "internal.unavailable", "5"},       {"28000", "internal.unavailable", "60"},
        {"57014", "internal.statement_timeout", "5"}, {"42P01", "internal.unavailable", "5"},
        {NULL, "internal.unavailable", "5"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        fake_host *host = create(&(fake_reply){.error = cases[i].error}, cases[i].error != NULL, *state);
        const char *detail = member_of(host, "detail", *state);
        assert_string_equal(member_of(host, "code", *state), cases[i].code);
        assert_non_null(strstr(detail, "nothing was changed"));
        assert_null(strstr(detail, "disk"));
        assert_string_equal(apr_table_get(host->response.headers, "Retry-After"), cases[i].retry_after);
    }
}
