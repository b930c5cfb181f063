/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions of several statements: when they can be retried, when it is unknown whether they were committed, and that no
 * connection stays in one. */
#include "fake_pg.h"

static const char *const one[] = {"1"};

/* The failure, the statement that fails and how often; and what the server received. */
typedef struct {
    const char *at;
    fake_reply how;
    atomic_int times, begun, committed, rolled_back;
} trouble;

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    trouble *t = fake->data;
    (void)values;
    atomic_fetch_add(&t->begun, strncmp(sql, "begin", 5) == 0);
    atomic_fetch_add(&t->committed, strcmp(sql, "commit") == 0);
    atomic_fetch_add(&t->rolled_back, strcmp(sql, "rollback") == 0);
    if (t->at && strncmp(sql, t->at, strlen(t->at)) == 0 && atomic_fetch_sub(&t->times, 1) > 0)
        *reply = t->how;
    else if (strncmp(sql, "insert", 6) == 0)
        *reply = (fake_reply){.columns = 1, .rows = 1, .values = one};
}

typedef struct {
    fake_pg *server;
    neo_pg *pg;
    neo_statement *statement;
    neo_rows rows;
    apr_pool_t *pool;
} bench;

static bench *set_up(trouble *t, apr_pool_t *pool)
{
    bench *b = apr_pcalloc(pool, sizeof *b);
    b->server = fake_start(answer, t, pool);
    b->pg = fake_connect(b->server, pool);
    b->statement = neo_statement_make(pool, "insert $1", 1, 1);
    b->pool = pool;
    return b;
}

static neo_pg_status begin(bench *b)
{
    return neo_pg_begin(b->pg, b->pool, &b->rows);
}

static neo_pg_status run(bench *b)
{
    return neo_pg_run(b->pg, b->statement, one, b->pool, &b->rows);
}

static neo_pg_status mark(bench *b, int back)
{
    return neo_pg_savepoint(b->pg, back, b->pool, &b->rows);
}

static neo_pg_status commit(bench *b)
{
    return neo_pg_commit(b->pg, b->pool, &b->rows);
}

/* The connection is as good as new. */
static void assert_works(bench *b)
{
    trouble *t = b->server->data;
    int committed = t->committed;
    assert_int_equal(begin(b), NEO_PG_OK);
    assert_int_equal(run(b), NEO_PG_OK);
    assert_string_equal(neo_rows_value(&b->rows, 0, 0), "1");
    assert_int_equal(commit(b), NEO_PG_OK);
    assert_int_equal(t->committed, committed + 1);
    assert_int_equal(run(b), NEO_PG_OK);
}

static void statements_between_are_committed_together(void **state)
{
    trouble t = {0};
    bench *b = set_up(&t, *state);
    assert_int_equal(begin(b), NEO_PG_OK);
    assert_int_equal(run(b), NEO_PG_OK);
    assert_int_equal(mark(b, 0), NEO_PG_OK);
    assert_int_equal(run(b), NEO_PG_OK);
    assert_int_equal(commit(b), NEO_PG_OK);
    neo_pg_roll_back(b->pg); /* no effect outside a transaction */
    assert_int_equal(t.begun, 1);
    assert_int_equal(t.rolled_back, 0);
    assert_int_equal(b->server->connections, 1);
    assert_works(b);
}

static void a_conflict_can_be_gone_back_from(void **state)
{
    static const struct {
        const char *state;
        neo_pg_status status;
    } known[] = {{"23505", NEO_PG_UNIQUE_VIOLATION}, {"23503", NEO_PG_FK_VIOLATION}};
    for (int i = 0; i < COUNT(known); i++) {
        trouble t = {.at = "insert", .how = {.error = known[i].state, .constraint = "broker_creci_key"}, .times = 1};
        bench *b = set_up(&t, *state);
        assert_int_equal(begin(b), NEO_PG_OK);
        assert_int_equal(run(b), known[i].status);
        assert_string_equal(b->rows.constraint, "broker_creci_key");
        assert_int_equal(mark(b, 1), NEO_PG_OK);
        assert_int_equal(run(b), NEO_PG_OK);
        assert_int_equal(commit(b), NEO_PG_OK);
        assert_works(b);
    }
}

static void a_transient_error_asks_for_a_retry(void **state)
{
    static const fake_reply troubles[] = {{.error = "40P01"}, {.error = "40001"}, {.error = "26000"},        {.error = "0A000"},
                                          {.error = "25006"}, {.error = "57P01"}, {.fate = FAKE_DIES_BEFORE}};
    static const char *const places[] = {"insert", "savepoint"};
    for (int i = 0; i < COUNT(troubles); i++)
        for (int p = 0; p < COUNT(places); p++) {
            trouble t = {.at = places[p], .how = troubles[i], .times = 1};
            bench *b = set_up(&t, *state);
            assert_int_equal(begin(b), NEO_PG_OK);
            assert_int_equal(p == 0 ? run(b) : mark(b, 0), NEO_PG_RETRY);
            neo_pg_roll_back(b->pg);
            assert_int_equal(t.committed, 0);
            assert_works(b);
        }
}

static void nothing_is_repeated_in_between(void **state)
{
    trouble t = {.at = "insert", .how = {.fate = FAKE_DIES_BEFORE}, .times = 1};
    bench *b = set_up(&t, *state);
    assert_int_equal(begin(b), NEO_PG_OK);
    int executed = b->server->executed;
    assert_int_equal(run(b), NEO_PG_RETRY);
    assert_int_equal(b->server->executed, executed + 1);
    neo_pg_roll_back(b->pg);
    assert_works(b);
}

static void a_connection_that_is_lost_before_the_beginning_costs_nothing(void **state)
{
    trouble t = {.at = "begin", .how = {.fate = FAKE_DIES_BEFORE}, .times = 1};
    bench *b = set_up(&t, *state);
    assert_works(b);
    fake_cut(b->server);
    assert_works(b);
    atomic_store(&b->server->refuses, 1);
    fake_cut(b->server);
    assert_int_equal(begin(b), NEO_PG_UNAVAILABLE);
    neo_pg_roll_back(b->pg);
    atomic_store(&b->server->refuses, 0);
    assert_works(b);
}

static void a_commit_without_a_response_has_an_unknown_outcome(void **state)
{
    static const struct {
        fake_reply how;
        neo_pg_status status;
    } known[] = {
        {{.fate = FAKE_DIES_BEFORE}, NEO_PG_UNAVAILABLE},
        {{.fate = FAKE_DIES_AFTER}, NEO_PG_UNAVAILABLE},
        {{.error = "57P01", .fate = FAKE_DIES_AFTER}, NEO_PG_UNAVAILABLE},
        {{.error = "57P01"}, NEO_PG_RETRY},
        {{.error = "40001"}, NEO_PG_RETRY},
        {{.error = "53100"}, NEO_PG_UNAVAILABLE},
        {{.error = "XX000"}, NEO_PG_FAILED},
    };
    for (int i = 0; i < COUNT(known); i++) {
        trouble t = {.at = "commit", .how = known[i].how, .times = 1};
        bench *b = set_up(&t, *state);
        assert_int_equal(begin(b), NEO_PG_OK);
        assert_int_equal(run(b), NEO_PG_OK);
        assert_int_equal(commit(b), known[i].status);
        assert_works(b);
    }
}

static void a_failed_transaction_is_never_taken_for_committed(void **state)
{
    trouble t = {.at = "insert", .how = {.error = "23505"}, .times = 1};
    bench *b = set_up(&t, *state);
    assert_int_equal(begin(b), NEO_PG_OK);
    assert_int_equal(run(b), NEO_PG_UNIQUE_VIOLATION);
    assert_int_equal(commit(b), NEO_PG_RETRY);
    assert_works(b);
}

static void a_connection_is_never_left_inside_a_transaction(void **state)
{
    static const char *const ends[] = {"57014", "XX000", "42501"};
    for (int i = 0; i < COUNT(ends); i++) {
        trouble t = {.at = "insert", .how = {.error = ends[i]}, .times = 1};
        bench *b = set_up(&t, *state);
        assert_int_equal(begin(b), NEO_PG_OK);
        assert_int_equal(run(b), i == 0 ? NEO_PG_TIMEOUT : NEO_PG_FAILED);
        neo_pg_roll_back(b->pg);
        assert_int_equal(t.rolled_back, 1);
        assert_works(b);
    }
    trouble t = {.at = "rollback", .how = {.error = "XX000"}, .times = 1};
    bench *b = set_up(&t, *state);
    assert_int_equal(begin(b), NEO_PG_OK);
    neo_pg_roll_back(b->pg);
    assert_int_equal(b->server->connections, 2); /* then it is a new one */
    assert_works(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        pool_test(statements_between_are_committed_together),
        pool_test(a_conflict_can_be_gone_back_from),
        pool_test(a_transient_error_asks_for_a_retry),
        pool_test(nothing_is_repeated_in_between),
        pool_test(a_connection_that_is_lost_before_the_beginning_costs_nothing),
        pool_test(a_commit_without_a_response_has_an_unknown_outcome),
        pool_test(a_failed_transaction_is_never_taken_for_committed),
        pool_test(a_connection_is_never_left_inside_a_transaction),
    };
    return run_test_group("pg_transaction", tests);
}
