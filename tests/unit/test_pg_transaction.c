/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions of several statements: when they can be retried, when it is unknown whether they were committed, and that no
 * connection stays in one. */
#include "fake_pg.h"

/* Which statement fails, how and how often; and what the server received. */
typedef struct {
    const char *at;
    fake_reply how;
    atomic_int times, begun, committed, rolled_back;
} failure;

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    failure *t = fake->data;
    (void)values;
    atomic_fetch_add(&t->begun, strncmp(sql, "begin", 5) == 0);
    atomic_fetch_add(&t->committed, strcmp(sql, "commit") == 0);
    atomic_fetch_add(&t->rolled_back, strcmp(sql, "rollback") == 0);
    if (t->at && strncmp(sql, t->at, strlen(t->at)) == 0 && atomic_fetch_sub(&t->times, 1) > 0)
        *reply = t->how;
    else if (strncmp(sql, "insert", 6) == 0)
        *reply = (fake_reply){.columns = 1, .rows = 1, .values = fake_values};
}

static fake_client *client_of(failure *t, apr_pool_t *pool)
{
    return fake_client_start(answer, t, "insert $1", 1, pool);
}

static neo_pg_status begin(fake_client *c)
{
    return neo_pg_begin(c->pg, c->pool, &c->rows);
}

static neo_pg_status savepoint(fake_client *c, int roll_back)
{
    return neo_pg_savepoint(c->pg, roll_back, c->pool, &c->rows);
}

static neo_pg_status commit(fake_client *c)
{
    return neo_pg_commit(c->pg, c->pool, &c->rows);
}

/* The connection is outside a transaction and can execute another. */
static void assert_works(fake_client *c)
{
    failure *t = c->server->data;
    int committed = t->committed;
    assert_int_equal(begin(c), NEO_PG_OK);
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
    assert_string_equal(neo_rows_value(&c->rows, 0, 0), "1");
    assert_int_equal(commit(c), NEO_PG_OK);
    assert_int_equal(t->committed, committed + 1);
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
}

TEST(the_statements_of_a_transaction_are_committed_together)
{
    failure t = {0};
    fake_client *c = client_of(&t, *state);
    assert_int_equal(begin(c), NEO_PG_OK);
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
    assert_int_equal(savepoint(c, 0), NEO_PG_OK);
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
    assert_int_equal(commit(c), NEO_PG_OK);
    neo_pg_roll_back(c->pg); /* no effect outside a transaction */
    assert_int_equal(t.begun, 1);
    assert_int_equal(t.rolled_back, 0);
    assert_int_equal(c->server->connections, 1);
    assert_works(c);
}

TEST(a_conflict_can_be_rolled_back_to_the_savepoint)
{
    static const struct {
        const char *state;
        neo_pg_status status;
    } cases[] = {{"23505", NEO_PG_UNIQUE_VIOLATION}, {"23503", NEO_PG_FK_VIOLATION}};
    for (int i = 0; i < COUNT(cases); i++) {
        failure t = {.at = "insert", .how = {.error = cases[i].state, .constraint = "broker_creci_key"}, .times = 1};
        fake_client *c = client_of(&t, *state);
        assert_int_equal(begin(c), NEO_PG_OK);
        assert_int_equal(fake_client_run(c), cases[i].status);
        assert_string_equal(c->rows.constraint, "broker_creci_key");
        assert_int_equal(savepoint(c, 1), NEO_PG_OK);
        assert_int_equal(fake_client_run(c), NEO_PG_OK);
        assert_int_equal(commit(c), NEO_PG_OK);
        assert_works(c);
    }
}

TEST(a_transient_error_asks_for_a_retry)
{
    static const fake_reply failures[] = {{.error = "40P01"}, {.error = "40001"}, {.error = "26000"},        {.error = "0A000"},
                                          {.error = "25006"}, {.error = "57P01"}, {.fate = FAKE_DIES_BEFORE}};
    static const char *const places[] = {"insert", "savepoint"};
    for (int i = 0; i < COUNT(failures); i++)
        for (int p = 0; p < COUNT(places); p++) {
            failure t = {.at = places[p], .how = failures[i], .times = 1};
            fake_client *c = client_of(&t, *state);
            assert_int_equal(begin(c), NEO_PG_OK);
            assert_int_equal(p == 0 ? fake_client_run(c) : savepoint(c, 0), NEO_PG_RETRY);
            neo_pg_roll_back(c->pg);
            assert_int_equal(t.committed, 0);
            assert_works(c);
        }
}

TEST(a_statement_within_a_transaction_is_not_retried)
{
    failure t = {.at = "insert", .how = {.fate = FAKE_DIES_BEFORE}, .times = 1};
    fake_client *c = client_of(&t, *state);
    assert_int_equal(begin(c), NEO_PG_OK);
    int executed = c->server->executed;
    assert_int_equal(fake_client_run(c), NEO_PG_RETRY);
    assert_int_equal(c->server->executed, executed + 1);
    neo_pg_roll_back(c->pg);
    assert_works(c);
}

/* The error has failed the transaction, but the next one can use the statement. */
TEST(a_statement_that_a_poolers_connection_has_prepared_asks_for_a_retry)
{
    failure t = {0};
    fake_client *c = client_of(&t, *state);
    atomic_store(&c->server->has_prepared, 1);
    assert_int_equal(begin(c), NEO_PG_OK);
    assert_int_equal(fake_client_run(c), NEO_PG_RETRY);
    neo_pg_roll_back(c->pg);
    assert_works(c);
    assert_int_equal(c->server->prepared, 1);
}

TEST(a_connection_lost_before_begin_is_replaced)
{
    failure t = {.at = "begin", .how = {.fate = FAKE_DIES_BEFORE}, .times = 1};
    fake_client *c = client_of(&t, *state);
    assert_works(c);
    fake_disconnect(c->server);
    assert_works(c);
    atomic_store(&c->server->refuses, 1);
    fake_disconnect(c->server);
    assert_int_equal(begin(c), NEO_PG_UNAVAILABLE);
    neo_pg_roll_back(c->pg);
    atomic_store(&c->server->refuses, 0);
    assert_works(c);
}

TEST(a_commit_without_a_response_has_an_unknown_outcome)
{
    static const struct {
        fake_reply how;
        neo_pg_status status;
    } cases[] = {
        {{.fate = FAKE_DIES_BEFORE}, NEO_PG_UNAVAILABLE},
        {{.fate = FAKE_DIES_AFTER}, NEO_PG_UNAVAILABLE},
        {{.error = "57P01", .fate = FAKE_DIES_AFTER}, NEO_PG_UNAVAILABLE},
        {{.error = "57P01"}, NEO_PG_RETRY},
        {{.error = "40001"}, NEO_PG_RETRY},
        {{.error = "53100"}, NEO_PG_UNAVAILABLE},
        {{.error = "XX000"}, NEO_PG_FAILED},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        failure t = {.at = "commit", .how = cases[i].how, .times = 1};
        fake_client *c = client_of(&t, *state);
        assert_int_equal(begin(c), NEO_PG_OK);
        assert_int_equal(fake_client_run(c), NEO_PG_OK);
        assert_int_equal(commit(c), cases[i].status);
        assert_works(c);
    }
}

TEST(a_failed_transaction_is_not_reported_as_committed)
{
    failure t = {.at = "insert", .how = {.error = "23505"}, .times = 1};
    fake_client *c = client_of(&t, *state);
    assert_int_equal(begin(c), NEO_PG_OK);
    assert_int_equal(fake_client_run(c), NEO_PG_UNIQUE_VIOLATION);
    assert_int_equal(commit(c), NEO_PG_RETRY);
    assert_works(c);
}

TEST(a_connection_is_not_left_inside_a_transaction)
{
    static const char *const ends[] = {"57014", "XX000", "42501"};
    for (int i = 0; i < COUNT(ends); i++) {
        failure t = {.at = "insert", .how = {.error = ends[i]}, .times = 1};
        fake_client *c = client_of(&t, *state);
        assert_int_equal(begin(c), NEO_PG_OK);
        assert_int_equal(fake_client_run(c), i == 0 ? NEO_PG_TIMEOUT : NEO_PG_FAILED);
        neo_pg_roll_back(c->pg);
        assert_int_equal(t.rolled_back, 1);
        assert_works(c);
    }
    failure t = {.at = "rollback", .how = {.error = "XX000"}, .times = 1};
    fake_client *c = client_of(&t, *state);
    assert_int_equal(begin(c), NEO_PG_OK);
    neo_pg_roll_back(c->pg);
    assert_int_equal(c->server->connections, 2); /* a new one */
    assert_works(c);
}
