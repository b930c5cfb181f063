/* SPDX-License-Identifier: Apache-2.0 */
/* Statements whose result is received later: failures of either step and between them. */
#include "fake_pg.h"

typedef struct {
    fake_reply first, then;
    atomic_int at;
} script;

static const char *const one[] = {"1"};
static const fake_reply row = {.columns = 1, .rows = 1, .values = one};

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    script *s = fake->data;
    (void)sql;
    (void)values;
    *reply = atomic_fetch_add(&s->at, 1) == 0 ? s->first : s->then;
}

typedef struct {
    fake_pg *server;
    neo_pg *pg;
    neo_statement *statement;
    neo_rows rows;
    apr_pool_t *pool;
} bench;

static bench *set_up(script *s, apr_pool_t *pool)
{
    bench *b = apr_pcalloc(pool, sizeof *b);
    b->server = fake_start(answer, s, pool);
    b->pg = fake_connect(b->server, pool);
    b->statement = neo_statement_make(pool, "update t set a = $1", 1, 1);
    b->pool = pool;
    return b;
}

static void send_it(bench *b)
{
    neo_pg_send(b->pg, b->statement, one);
}

static neo_pg_status receive(bench *b)
{
    return neo_pg_receive(b->pg, b->statement, one, b->pool, &b->rows);
}

static void wait_until_it_is_answered(bench *b)
{
    for (int waited = 0; !neo_pg_is_answered(b->pg); waited++) {
        struct timespec nap = {0, 1000000};
        assert_true(waited < 5000);
        nanosleep(&nap, NULL);
    }
}

static void a_sent_query_is_answered_and_received(void **state)
{
    script s = {row, row, 0};
    bench *b = set_up(&s, *state);
    for (int i = 1; i <= 3; i++) {
        send_it(b);
        wait_until_it_is_answered(b);
        assert_int_equal(b->server->executed, i);
        assert_int_equal(receive(b), NEO_PG_OK);
        assert_string_equal(neo_rows_value(&b->rows, 0, 0), "1");
    }
    assert_int_equal(b->server->executed, 3);
    assert_int_equal(b->server->prepared, 1);
}

static void an_answer_that_is_not_there_is_waited_for(void **state)
{
    script s = {row, row, 0};
    bench *b = set_up(&s, *state);
    send_it(b);
    assert_int_equal(receive(b), NEO_PG_OK);
    assert_int_equal(b->server->executed, 1);
}

static void a_connection_that_ended_before_costs_no_statement(void **state)
{
    script s = {row, row, 0};
    bench *b = set_up(&s, *state);
    fake_cut(b->server);
    send_it(b);
    assert_int_equal(receive(b), NEO_PG_OK);
    assert_int_equal(b->server->executed, 1);
    assert_int_equal(b->server->connections, 2);
}

static void a_query_that_could_not_be_sent_runs_on_receive(void **state)
{
    script s = {row, row, 0};
    bench *b = set_up(&s, *state);
    atomic_store(&b->server->refuses, 1);
    fake_cut(b->server);
    send_it(b);
    assert_int_equal(b->server->executed, 0);
    assert_true(neo_pg_is_answered(b->pg));
    atomic_store(&b->server->refuses, 0);
    assert_int_equal(receive(b), NEO_PG_OK);
    assert_int_equal(b->server->executed, 1);
}

static void a_write_with_a_lost_connection_is_not_retried(void **state)
{
    script s = {{.fate = FAKE_DIES_BEFORE}, row, 0};
    bench *b = set_up(&s, *state);
    send_it(b);
    wait_until_it_is_answered(b);
    assert_int_equal(receive(b), NEO_PG_UNAVAILABLE);
    assert_int_equal(b->server->executed, 1);
    send_it(b);
    assert_int_equal(receive(b), NEO_PG_OK);
}

static void a_rolled_back_query_is_retried(void **state)
{
    static const char *const states[] = {"40001", "40P01", "26000"};
    for (int i = 0; i < COUNT(states); i++) {
        script s = {{.error = states[i]}, row, 0};
        bench *b = set_up(&s, *state);
        send_it(b);
        assert_int_equal(receive(b), NEO_PG_OK);
        assert_string_equal(neo_rows_value(&b->rows, 0, 0), "1");
        assert_int_equal(b->server->executed, 2);
    }
}

static void a_failure_is_returned(void **state)
{
    script s = {{.error = "42501"}, row, 0};
    bench *b = set_up(&s, *state);
    send_it(b);
    assert_int_equal(receive(b), NEO_PG_FAILED);
    assert_int_equal(b->server->executed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        pool_test(a_sent_query_is_answered_and_received),
        pool_test(an_answer_that_is_not_there_is_waited_for),
        pool_test(a_connection_that_ended_before_costs_no_statement),
        pool_test(a_query_that_could_not_be_sent_runs_on_receive),
        pool_test(a_write_with_a_lost_connection_is_not_retried),
        pool_test(a_rolled_back_query_is_retried),
        pool_test(a_failure_is_returned),
    };
    return run_test_group("pg_send", tests);
}
