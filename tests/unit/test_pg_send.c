/* SPDX-License-Identifier: Apache-2.0 */
/* Statements whose result is received later: failures of either step and between them. */
#include "fake_pg.h"

typedef struct {
    fake_reply first, then;
    atomic_int at;
} script;

static const fake_reply row = {.columns = 1, .rows = 1, .values = fake_values};

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    script *s = fake->data;
    (void)sql;
    (void)values;
    *reply = atomic_fetch_add(&s->at, 1) == 0 ? s->first : s->then;
}

static fake_client *client_of(script *s, apr_pool_t *pool)
{
    return fake_client_start(answer, s, "update t set a = $1", 1, pool);
}

static void send_query(fake_client *c)
{
    neo_pg_send(c->pg, c->statement, fake_values);
}

static neo_pg_status receive(fake_client *c)
{
    return neo_pg_receive(c->pg, c->statement, fake_values, c->pool, &c->rows);
}

static void await_result(fake_client *c)
{
    for (int waited = 0; !neo_pg_is_answered(c->pg); waited++) {
        struct timespec nap = {0, 1000000};
        assert_true(waited < 5000);
        nanosleep(&nap, NULL);
    }
}

TEST(a_sent_query_is_answered_and_received)
{
    script s = {row, row, 0};
    fake_client *c = client_of(&s, *state);
    for (int i = 1; i <= 3; i++) {
        send_query(c);
        await_result(c);
        assert_int_equal(c->server->executed, i);
        assert_int_equal(receive(c), NEO_PG_OK);
        assert_string_equal(neo_rows_value(&c->rows, 0, 0), "1");
    }
    assert_int_equal(c->server->executed, 3);
    assert_int_equal(c->server->prepared, 1);
}

TEST(receive_waits_for_the_result)
{
    script s = {row, row, 0};
    fake_client *c = client_of(&s, *state);
    send_query(c);
    assert_int_equal(receive(c), NEO_PG_OK);
    assert_int_equal(c->server->executed, 1);
}

TEST(a_connection_that_ended_before_is_replaced)
{
    script s = {row, row, 0};
    fake_client *c = client_of(&s, *state);
    fake_disconnect(c->server);
    send_query(c);
    assert_int_equal(receive(c), NEO_PG_OK);
    assert_int_equal(c->server->executed, 1);
    assert_int_equal(c->server->connections, 2);
}

TEST(a_query_that_could_not_be_sent_runs_on_receive)
{
    script s = {row, row, 0};
    fake_client *c = client_of(&s, *state);
    atomic_store(&c->server->refuses, 1);
    fake_disconnect(c->server);
    send_query(c);
    assert_int_equal(c->server->executed, 0);
    assert_true(neo_pg_is_answered(c->pg));
    atomic_store(&c->server->refuses, 0);
    assert_int_equal(receive(c), NEO_PG_OK);
    assert_int_equal(c->server->executed, 1);
}

TEST(a_write_with_a_lost_connection_is_not_retried)
{
    script s = {{.fate = FAKE_DIES_BEFORE}, row, 0};
    fake_client *c = client_of(&s, *state);
    send_query(c);
    await_result(c);
    assert_int_equal(receive(c), NEO_PG_UNAVAILABLE);
    assert_int_equal(c->server->executed, 1);
    send_query(c);
    assert_int_equal(receive(c), NEO_PG_OK);
}

TEST(a_rolled_back_query_is_retried)
{
    static const char *const states[] = {"40001", "40P01", "26000"};
    for (int i = 0; i < COUNT(states); i++) {
        script s = {{.error = states[i]}, row, 0};
        fake_client *c = client_of(&s, *state);
        send_query(c);
        assert_int_equal(receive(c), NEO_PG_OK);
        assert_string_equal(neo_rows_value(&c->rows, 0, 0), "1");
        assert_int_equal(c->server->executed, 2);
    }
}

TEST(a_failure_is_returned)
{
    script s = {{.error = "42501"}, row, 0};
    fake_client *c = client_of(&s, *state);
    send_query(c);
    assert_int_equal(receive(c), NEO_PG_FAILED);
    assert_int_equal(c->server->executed, 1);
}
