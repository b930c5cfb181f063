/* SPDX-License-Identifier: Apache-2.0 */
/* Batches whose statements fail: retries, responses, and the release of the connection. A fake server creates brokers. */
#include "fake_host.h"
#include "fake_pg.h"

#define MADE(number) "{\"id\":\"brk_01jd3x0000000000000000000" number "\",\"name\":\"Ana\"}", "1", NULL, number
#define BATCH                                                                                                                  \
    "{\"operations\":[{\"method\":\"create\",\"data\":{\"name\":\"Ana\"}},{\"method\":\"create\",\"data\":{\"name\":\"Bia\"}}" \
    "]}"

static const char *const both[] = {MADE("0"), MADE("1")};

/* Which statement fails, how and how often; and how often each was sent. */
typedef struct {
    const char *at;
    fake_reply how;
    int times;
    int made; /* the rows that the statement of all items returns */
    int begun, inserted, left_out, alone, marked, gone_back, committed, rolled_back;
} failure;

static int is(const char *sql, const char *start)
{
    return strncmp(sql, start, strlen(start)) == 0;
}

/* Which rows a statement inserts: all, those without a conflict, or one. */
static const char *purpose_of(const char *sql, const char *const *values)
{
    if (!strstr(sql, "insert into neoapi.broker"))
        return sql;
    if (strstr(sql, "on conflict do nothing"))
        return "leave out";
    return values[0][15] > 1 ? "insert" : "alone"; /* the last byte of the number of elements (see sql/sql.c) */
}

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    static const fake_reply duplicate = {.error = "23505", .constraint = "broker_creci_key"};
    failure *t = fake->data;
    const char *what = purpose_of(sql, values);
    int is_alone = is(what, "alone"), is_whole = is(what, "insert");
    t->begun += is(sql, "begin");
    t->inserted += is_whole;
    t->left_out += is(what, "leave out");
    t->alone += is_alone;
    t->marked += is(sql, "savepoint");
    t->gone_back += is(sql, "rollback to");
    t->committed += is(sql, "commit");
    t->rolled_back += strcmp(sql, "rollback") == 0;
    if (t->at && is(what, t->at) && t->times-- > 0)
        *reply = t->how;
    else if (is_whole && t->made < 2)
        *reply = duplicate;
    else if (what != sql)
        *reply = (fake_reply){.columns = 4, .rows = is_alone ? 1 : t->made, .values = is_alone ? both + 4 : both};
}

typedef struct {
    neo_site *site;
    fake_host *host;
    failure *failure;
} fixture;

static fixture fixture_with(failure *t, apr_pool_t *pool)
{
    fixture s = {.site = site_of(pool), .failure = t};
    s.host = editor_at(s.site, fake_connect(fake_start(answer, t, pool), pool), pool);
    s.host->body = BATCH;
    return s;
}

static int send_batch(fixture *s, apr_pool_t *pool)
{
    int status = ask(s->site, s->host, "POST", "brokers/batch", pool);
    assert_int_equal(s->host->in_use, 0);
    assert_int_equal(s->failure->begun, s->failure->committed + s->failure->rolled_back);
    return status;
}

TEST(creates_together_are_one_statement_in_one_transaction)
{
    failure t = {.made = 2};
    fixture s = fixture_with(&t, *state);
    assert_int_equal(send_batch(&s, *state), 200);
    assert_int_equal(neo_json_integer(neo_json_get(body_of(s.host, *state), "succeeded")), 2);
    assert_int_equal(t.begun, 1);
    assert_int_equal(t.inserted, 1);
    assert_int_equal(t.committed, 1);
    assert_int_equal(t.left_out + t.alone + t.marked, 0);
    assert_int_equal(s.host->notified, 1);
}

TEST(a_row_that_the_common_statement_leaves_out_is_written_alone)
{
    failure t = {.at = "alone", .how = {.error = "23505", .constraint = "broker_creci_key"}, .times = 1, .made = 1};
    fixture s = fixture_with(&t, *state);
    assert_int_equal(send_batch(&s, *state), 200);
    assert_int_equal(neo_json_integer(neo_json_get(body_of(s.host, *state), "failed")), 1);
    assert_non_null(strstr(s.host->response.body.ptr, "Another broker of the organization has this creci."));
    assert_int_equal(t.inserted, 1);
    assert_int_equal(t.left_out, 1);
    assert_int_equal(t.alone, 1);
    assert_int_equal(t.gone_back, 2);
    t.times = 0; /* the statement succeeds now */
    assert_int_equal(send_batch(&s, *state), 200);
    assert_int_equal(neo_json_integer(neo_json_get(body_of(s.host, *state), "failed")), 0);
}

/* Sends a batch whose first `times` inserts fail. */
static void assert_failure(fake_reply how, int times, void (*check)(const fixture *s, int status, apr_pool_t *pool),
                           apr_pool_t *parent)
{
    apr_pool_t *pool;
    failure t = {.at = "insert", .how = how, .times = times, .made = 2};
    apr_pool_create(&pool, parent);
    fixture s = fixture_with(&t, pool);
    int status = ask(s.site, s.host, "POST", "brokers/batch", pool);
    assert_int_equal(s.host->in_use, 0);
    check(&s, status, pool);
    apr_pool_destroy(pool);
}

static void assert_success_after_retries(const fixture *s, int status, apr_pool_t *pool)
{
    (void)pool;
    assert_int_equal(status, 200);
    assert_int_equal(s->failure->inserted, 3);
    assert_int_equal(s->failure->committed, 1);
    assert_int_equal(s->host->notified, 1);
}

TEST(a_transaction_that_is_rolled_back_is_repeated)
{
    static const fake_reply troubles[] = {{.error = "40P01"}, {.error = "57P01"}, {.fate = FAKE_DIES_BEFORE}};
    for (int i = 0; i < COUNT(troubles); i++)
        assert_failure(troubles[i], 2, assert_success_after_retries, *state);
}

static void assert_retries_exhausted(const fixture *s, int status, apr_pool_t *pool)
{
    assert_int_equal(status, 503);
    assert_non_null(strstr(member_of(s->host, "detail", pool), "nothing was changed"));
    assert_in_range(s->failure->inserted, 1, 10);
    assert_int_equal(s->failure->rolled_back, s->failure->begun);
    assert_int_equal(s->failure->committed + s->host->notified, 0);
}

static void assert_unavailable(const fixture *s, int status, apr_pool_t *pool)
{
    assert_retries_exhausted(s, status, pool);
    assert_string_equal(member_of(s->host, "code", pool), "internal.unavailable");
}

static void assert_timeout(const fixture *s, int status, apr_pool_t *pool)
{
    assert_retries_exhausted(s, status, pool);
    assert_string_equal(member_of(s->host, "code", pool), "internal.statement_timeout");
}

TEST(retries_of_the_transaction_are_limited)
{
    static const fake_reply troubles[] = {{.error = "40P01"}, {.error = "42P01"}};
    for (int i = 0; i < COUNT(troubles); i++)
        assert_failure(troubles[i], 1000, assert_unavailable, *state);
    assert_failure((fake_reply){.error = "57014"}, 1000, assert_timeout, *state);
}

TEST(an_unanswered_commit_may_have_been_executed)
{
    failure t = {.at = "commit", .how = {.fate = FAKE_DIES_BEFORE}, .times = 1, .made = 2};
    fixture s = fixture_with(&t, *state);
    assert_int_equal(send_batch(&s, *state), 503);
    assert_non_null(strstr(member_of(s.host, "detail", *state), "may have been executed"));
    assert_int_equal(t.inserted, 1);
}

TEST(a_batch_without_a_database_is_unavailable)
{
    failure t = {.made = 2};
    fixture s = fixture_with(&t, *state);
    s.host->pg = NULL;
    assert_int_equal(send_batch(&s, *state), 503);
    assert_int_equal(t.begun, 0);
}

TEST(an_invalid_batch_needs_no_connection)
{
    failure t = {.made = 2};
    fixture s = fixture_with(&t, *state);
    s.host->body = "{\"operations\":[]}";
    assert_int_equal(send_batch(&s, *state), 400);
    assert_int_equal(s.host->acquired, 0);
}
