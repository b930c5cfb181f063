/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that end during a statement: what is retried, and that no write is executed twice. */
#include "fake_pg.h"

#include "core/log.h"
#include "pg/error.h"

#define MAX_STEPS 8

/* The server's answers in order; the last one is repeated. */
typedef struct {
    fake_reply steps[MAX_STEPS];
    int count;
    atomic_int at, deallocated;
} script;

static const fake_reply row = {.columns = 1, .rows = 1, .values = fake_values};

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    script *s = fake->data;
    (void)values;
    if (strncmp(sql, "deallocate", 10) == 0) {
        atomic_fetch_add(&s->deallocated, 1);
        atomic_fetch_sub(&fake->executed, 1);
        return;
    }
    int at = atomic_fetch_add(&s->at, 1);
    *reply = s->steps[at < s->count ? at : s->count - 1];
}

static fake_client *client_of(script *s, int writes, apr_pool_t *pool)
{
    return fake_client_start(answer, s, "select $1", writes, pool);
}

static void assert_row(const fake_client *c)
{
    assert_int_equal(c->rows.count, 1);
    assert_string_equal(neo_rows_value(&c->rows, 0, 0), "1");
}

/* ---------------------------------------------------------------- success */

TEST(a_statement_is_prepared_once_on_a_connection)
{
    script s = {.steps = {row}, .count = 1};
    fake_client *c = client_of(&s, 1, *state);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fake_client_run(c), NEO_PG_OK);
        assert_row(c);
    }
    assert_int_equal(c->server->prepared, 1);
    assert_int_equal(c->server->executed, 3);
    assert_int_equal(c->server->connections, 1);
}

/* Runs a statement with this number that is prepared on demand. Returns whether the server had to parse it. */
static int run_on_demand(fake_client *c, int number)
{
    neo_statement statement = {.sql = apr_psprintf(c->pool, "select $1, %d", number), .params = 1};
    int prepared = c->server->prepared;
    neo_statement_prepare_on_demand(&statement);
    assert_int_equal(neo_pg_run(c->pg, &statement, fake_values, c->pool, &c->rows), NEO_PG_OK);
    assert_row(c);
    return c->server->prepared > prepared;
}

TEST(few_statements_are_prepared_on_demand)
{
    script s = {.steps = {row}, .count = 1};
    fake_client *c = client_of(&s, 0, *state);
    for (int i = 0; i < 40; i++)
        assert_true(run_on_demand(c, i));
    for (int i = 0; i < 40; i++)
        assert_int_equal(run_on_demand(c, i), i >= 32);
    assert_int_equal(fake_client_run(c), NEO_PG_OK); /* is not one of them */
    fake_disconnect(c->server);
    assert_true(run_on_demand(c, 39));
    assert_false(run_on_demand(c, 39));
}

/* More than a connection's table has. */
TEST(any_number_of_statements_can_be_prepared)
{
    script s = {.steps = {row}, .count = 1};
    fake_client *c = client_of(&s, 0, *state);
    neo_statement *statement = NULL;
    for (int i = 0; i < 3000; i++) {
        statement = neo_statement_make(*state, apr_psprintf(*state, "select $1, %d", i), 1, 0);
        assert_int_equal(neo_pg_run(c->pg, statement, fake_values, c->pool, &c->rows), NEO_PG_OK);
    }
    assert_int_equal(c->server->prepared, 3000);
    assert_int_equal(neo_pg_run(c->pg, statement, fake_values, c->pool, &c->rows), NEO_PG_OK);
    assert_int_equal(c->server->prepared, 3000);
    atomic_store(&c->server->has_prepared, 1);
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
}

TEST(a_connection_that_ended_while_idle_is_replaced)
{
    for (int writes = 0; writes < 2; writes++) {
        script s = {.steps = {row}, .count = 1};
        fake_client *c = client_of(&s, writes, *state);
        for (int i = 1; i <= 3; i++) {
            assert_int_equal(fake_client_run(c), NEO_PG_OK);
            assert_row(c);
            assert_int_equal(c->server->executed, i);
            assert_int_equal(c->server->prepared, i); /* anew on each connection */
            fake_disconnect(c->server);
        }
    }
}

TEST(a_server_is_used_again_after_an_outage)
{
    script s = {.steps = {row}, .count = 1};
    fake_client *c = client_of(&s, 1, *state);
    atomic_store(&c->server->refuses, 1);
    fake_disconnect(c->server);
    assert_int_equal(fake_client_run(c), NEO_PG_UNAVAILABLE);
    assert_int_equal(fake_client_run(c), NEO_PG_UNAVAILABLE);
    assert_int_equal(c->server->executed, 0);
    assert_non_null(c->rows.message);
    atomic_store(&c->server->refuses, 0);
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
    assert_row(c);
}

static neo_message last_logged;

static void remember(const neo_message_row *message, void *context, const char *text)
{
    (void)context, (void)text;
    for (last_logged = 0; &neo_messages[last_logged] != message;)
        last_logged++;
}

TEST(a_refused_connection_is_logged_like_one_that_never_was)
{
    static const struct {
        const char *state;
        neo_message message;
    } cases[] = {{"53300", NEO_LOG_CONNECTION_LIMIT}, {"28000", NEO_LOG_ROLE_REFUSED}, {NULL, NEO_LOG_DATABASE_UNAVAILABLE}};
    script s = {.steps = {row}, .count = 1};
    neo_log_to(remember);
    for (int i = 0; i < COUNT(cases); i++)
        for (int writes = 0; writes < 2; writes++) {
            fake_client *c = client_of(&s, writes, *state);
            c->server->refusal = cases[i].state;
            atomic_store(&c->server->refuses, !cases[i].state);
            fake_disconnect(c->server);
            assert_int_equal(fake_client_run(c), NEO_PG_UNAVAILABLE);
            assert_int_equal(last_logged, cases[i].message);
            assert_true(c->rows.is_undone);
            c->server->refusal = NULL;
            atomic_store(&c->server->refuses, 0);
            assert_int_equal(fake_client_run(c), NEO_PG_OK);
        }
    neo_log_to(NULL);
}

/* ---------------------------------------------------------------- the connection ends during a statement */

/* How often a statement is executed if its first execution ends like this, and its status. */
static void assert_ends(apr_pool_t *pool, int writes, fake_reply first, int executions, neo_pg_status status)
{
    script s = {.steps = {first, row}, .count = 2};
    fake_client *c = client_of(&s, writes, pool);
    assert_int_equal(fake_client_run(c), status);
    assert_false(status != NEO_PG_OK && c->rows.is_undone); /* it may have been committed */
    assert_int_equal(c->server->executed, executions);
    if (status == NEO_PG_OK)
        assert_row(c);
    assert_int_equal(fake_client_run(c), NEO_PG_OK); /* the next one succeeds */
    assert_row(c);
    assert_int_equal(c->server->executed, executions + 1);
}

static const fake_reply dies_silently = {.fate = FAKE_DIES_BEFORE}, is_shut_down = {.error = "57P01"},
                        dies_when_done = {.columns = 1, .rows = 1, .values = fake_values, .fate = FAKE_DIES_AFTER},
                        is_shut_down_when_done = {
                            .error = "57P01", .columns = 1, .rows = 1, .values = fake_values, .fate = FAKE_DIES_AFTER};

TEST(a_read_is_retried_after_any_lost_connection)
{
    assert_ends(*state, 0, dies_silently, 2, NEO_PG_OK);
    assert_ends(*state, 0, is_shut_down, 2, NEO_PG_OK);
    assert_ends(*state, 0, dies_when_done, 2, NEO_PG_OK);
    assert_ends(*state, 0, is_shut_down_when_done, 2, NEO_PG_OK);
}

TEST(a_write_is_not_retried_after_a_silent_disconnect)
{
    assert_ends(*state, 1, dies_silently, 1, NEO_PG_UNAVAILABLE);
}

TEST(a_write_that_the_server_aborted_is_retried)
{
    assert_ends(*state, 1, is_shut_down, 2, NEO_PG_OK);
}

TEST(a_completed_write_with_unknown_outcome_is_not_retried)
{
    assert_ends(*state, 1, dies_when_done, 1, NEO_PG_UNAVAILABLE);
    assert_ends(*state, 1, is_shut_down_when_done, 1, NEO_PG_UNAVAILABLE);
}

TEST(a_statement_is_executed_at_most_twice)
{
    static const fake_reply ends[] = {{.fate = FAKE_DIES_BEFORE}, {.error = "57P01"}, {.error = "40001"}, {.error = "26000"}};
    for (int i = 0; i < COUNT(ends); i++) {
        script s = {.steps = {ends[i]}, .count = 1};
        fake_client *c = client_of(&s, 0, *state);
        assert_int_not_equal(fake_client_run(c), NEO_PG_OK);
        assert_int_equal(c->server->executed, 2);
    }
}

/* ---------------------------------------------------------------- errors */

TEST(a_write_that_was_rolled_back_or_never_begun_is_retried)
{
    static const char *const states[] = {"40001", "40P01", "26000", "0A000", "25006"};
    for (int i = 0; i < COUNT(states); i++)
        for (int writes = 0; writes < 2; writes++)
            assert_ends(*state, writes, (fake_reply){.error = states[i]}, 2, NEO_PG_OK);
}

TEST(a_statement_whose_plan_is_stale_is_prepared_anew)
{
    script s = {.steps = {row, {.error = "0A000"}, row}, .count = 3};
    fake_client *c = client_of(&s, 1, *state);
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
    assert_row(c);
    assert_int_equal(s.deallocated, 1);
    assert_int_equal(c->server->prepared, 2);
    assert_int_equal(c->server->connections, 1);
}

TEST(a_connection_to_a_former_primary_is_replaced)
{
    script s = {.steps = {{.error = "25006"}, row}, .count = 2};
    fake_client *c = client_of(&s, 1, *state);
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
    assert_int_equal(c->server->connections, 2);
}

TEST(other_errors_are_returned_without_a_retry)
{
    static const struct {
        const char *state;
        neo_pg_status status;
    } cases[] = {
        {"23505", NEO_PG_UNIQUE_VIOLATION}, {"23503", NEO_PG_FK_VIOLATION}, {"53300", NEO_PG_UNAVAILABLE},
        {"57014", NEO_PG_TIMEOUT},          {"55P03", NEO_PG_UNAVAILABLE},  {"42P01", NEO_PG_SCHEMA},
        {"42703", NEO_PG_SCHEMA},           {"42883", NEO_PG_SCHEMA},       {"3F000", NEO_PG_SCHEMA},
        {"42501", NEO_PG_FAILED},           {"22P02", NEO_PG_FAILED},       {"XX000", NEO_PG_FAILED},
        {"53100", NEO_PG_UNAVAILABLE},
    };
    for (int i = 0; i < COUNT(cases); i++)
        for (int writes = 0; writes < 2; writes++) {
            script s = {.steps = {{.error = cases[i].state, .constraint = "broker_creci_key"}}, .count = 1};
            fake_client *c = client_of(&s, writes, *state);
            assert_int_equal(fake_client_run(c), cases[i].status);
            assert_string_equal(c->rows.constraint, "broker_creci_key");
            assert_string_equal(c->rows.message, "as requested by the test");
            assert_true(c->rows.is_undone);
            assert_int_equal(c->server->executed, 1);
            assert_int_equal(c->server->connections, 1);
        }
}

/* The server shuts down during the statement and refuses the new connection. */
static neo_pg_status try_with(fake_reply first, apr_pool_t *pool)
{
    script s = {.steps = {first}, .count = 1};
    fake_client *c = client_of(&s, 1, pool);
    return neo_pg_run_as(c->pg, NEO_PG_OPTIONAL, c->statement, fake_values, pool, &c->rows);
}

TEST(a_statement_that_is_tried_tells_whether_it_certainly_changed_nothing)
{
    static const char *const rolled_back[] = {"55P03", "23505", "23503", "40P01", "57014", "53100", "42P01"};
    assert_int_equal(try_with(row, *state), NEO_PG_OK);
    for (int i = 0; i < COUNT(rolled_back); i++)
        assert_int_equal(try_with((fake_reply){.error = rolled_back[i]}, *state), NEO_PG_RETRY);
    assert_int_equal(try_with((fake_reply){.fate = FAKE_DIES_BEFORE}, *state), NEO_PG_UNAVAILABLE);
    fake_reply answered = row;
    answered.fate = FAKE_DIES_AFTER;
    assert_int_equal(try_with(answered, *state), NEO_PG_UNAVAILABLE);
}

TEST(a_write_that_the_server_aborted_before_an_outage_changed_nothing)
{
    script s = {.steps = {is_shut_down}, .count = 1};
    fake_client *c = client_of(&s, 1, *state);
    assert_int_equal(fake_client_run(c), NEO_PG_UNAVAILABLE);
    assert_true(c->rows.is_undone);
    atomic_store(&c->server->refuses, 1);
    fake_disconnect(c->server);
    assert_int_equal(fake_client_run(c), NEO_PG_UNAVAILABLE);
    assert_true(c->rows.is_undone); /* it was not sent */
}

TEST(a_query_with_a_custom_plan_is_retried_only_over_a_new_connection)
{
    script dies = {.steps = {dies_silently, row}, .count = 2}, fails = {.steps = {{.error = "22P02"}}, .count = 1};
    fake_client *c = client_of(&dies, 0, *state);
    assert_int_equal(neo_pg_run(c->pg, NEO_QUERY("select $1", 1), fake_values, c->pool, &c->rows), NEO_PG_OK);
    assert_row(c);
    assert_int_equal(c->server->executed, 2);
    c = client_of(&fails, 0, *state);
    assert_int_equal(neo_pg_run(c->pg, NEO_QUERY("select $1", 1), fake_values, c->pool, &c->rows), NEO_PG_FAILED);
    assert_int_equal(c->server->executed, 1);
}

TEST(an_administrators_statement_is_not_retried_over_a_new_connection)
{
    script s = {.steps = {is_shut_down, row}, .count = 2};
    fake_client *c = client_of(&s, 0, *state);
    assert_int_equal(neo_pg_exec(c->pg, "select $1", 1, fake_values, c->pool, &c->rows), NEO_PG_UNAVAILABLE);
    assert_int_equal(c->server->executed, 1);
    assert_int_equal(c->server->connections, 1);
}

/* How often a statement of neoapictl is executed that is rolled back each time but the last. */
static void assert_executed(apr_pool_t *pool, const char *sql, int params, int executions, neo_pg_status status)
{
    script s = {.steps = {{.error = "40P01"}, {.error = "40001"}, {.error = "40P01"}, row}, .count = 4};
    fake_client *c = client_of(&s, 0, pool);
    assert_int_equal(neo_pg_exec(c->pg, sql, params, fake_values, c->pool, &c->rows), status);
    assert_int_equal(c->server->executed, executions);
}

TEST(an_administrators_statement_is_retried_after_a_rollback)
{
    assert_executed(*state, "select $1", 1, 4, NEO_PG_OK);
    assert_executed(*state, "select 1; select 2", 0, 1, NEO_PG_UNAVAILABLE); /* the first of them may have been committed */
    script s = {.steps = {{.error = "40P01"}}, .count = 1};
    fake_client *c = client_of(&s, 0, *state);
    assert_int_equal(neo_pg_exec(c->pg, "select $1", 1, fake_values, c->pool, &c->rows), NEO_PG_UNAVAILABLE);
    assert_int_equal(c->server->executed, 10);
}

TEST(an_administrators_statement_in_a_transaction_is_not_retried)
{
    script s = {.steps = {{0}, {.error = "40P01"}, row}, .count = 3};
    fake_client *c = client_of(&s, 0, *state);
    assert_int_equal(neo_pg_exec(c->pg, "begin", 0, NULL, c->pool, &c->rows), NEO_PG_OK);
    assert_int_equal(neo_pg_exec(c->pg, "select $1", 1, fake_values, c->pool, &c->rows), NEO_PG_UNAVAILABLE);
    assert_int_equal(c->server->executed, 2);
}

/* ---------------------------------------------------------------- background threads */

static int logged;

static void count_message(const neo_message_row *message, void *context, const char *text)
{
    (void)message;
    (void)context;
    (void)text;
    logged++;
}

TEST(a_background_threads_error_is_logged_when_it_begins)
{
    fake_reply full = {.error = "53100"}, locked = {.error = "55P03"};
    script s = {.steps = {full, full, locked, row, locked, locked}, .count = 6};
    static const int counts[] = {1, 1, 2, 2, 3, 3}, failures[] = {1, 2, 3, 0, 1, 2};
    fake_client *c = client_of(&s, 0, *state);
    neo_pg_watch watch = {0};
    logged = 0;
    neo_log_to(count_message);
    neo_pg_set_watch(c->pg, &watch);
    for (int i = 0; i < COUNT(counts); i++) {
        (void)!fake_client_run(c);
        assert_int_equal(logged, counts[i]);
        assert_int_equal(watch.failures, failures[i]);
    }
    neo_pg_set_watch(c->pg, NULL);
    (void)!fake_client_run(c);
    (void)!fake_client_run(c);
    neo_log_to(NULL);
    assert_int_equal(logged, 5);
}

/* ---------------------------------------------------------------- verified connections */

/* Refuses as many connections as *left says. */
static int verify(neo_pg *pg, void *left, unsigned int *verified)
{
    (void)pg;
    if (*verified)
        return 1;
    *verified = 1;
    return (*(int *)left)-- <= 0;
}

TEST(a_statement_is_sent_only_over_an_accepted_connection)
{
    script s = {.steps = {row}, .count = 1};
    fake_client *c = client_of(&s, 1, *state);
    int left = 1;
    neo_pg_set_verifier(c->pg, verify, &left);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fake_client_run(c), NEO_PG_OK);
    assert_int_equal(c->server->connections, 2);
    assert_int_equal(c->server->executed, 2);
}

TEST(a_statement_is_not_sent_if_no_connection_is_accepted)
{
    script s = {.steps = {row}, .count = 1};
    fake_client *c = client_of(&s, 1, *state);
    int left = 100;
    neo_pg_set_verifier(c->pg, verify, &left);
    assert_int_equal(fake_client_run(c), NEO_PG_UNAVAILABLE);
    assert_int_equal(c->rows.is_undone, 1);
    assert_string_equal(c->rows.error->class, NEO_SQLSTATE_REPLACED);
    neo_pg_send(c->pg, c->statement, fake_values);
    assert_int_equal(neo_pg_receive(c->pg, c->statement, fake_values, c->pool, &c->rows), NEO_PG_UNAVAILABLE);
    assert_int_equal(neo_pg_verify(c->pg), 0);
    assert_ptr_equal(neo_pg_refusal(c->pg), c->rows.error);
    left = 0;
    assert_int_equal(fake_client_run(c), NEO_PG_OK);
    assert_int_equal(c->server->executed, 1);
}
