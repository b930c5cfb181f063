/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by external id, while others change the resource. A fake server has one broker at most. */
#include "fake_host.h"
#include "fake_pg.h"

#define ID   "brk_01jd3x0000000000000000000z"
#define PATH "brokers/by-external-id/a"
#define BODY "{\"name\":\"Ana\"}"

typedef struct {
    int finds_id;         /* the number of look-ups that find the broker, before the others do not; -1: all */
    const char *row;      /* that is read then; NULL: none */
    int conflicts;        /* the number of creations that violate the unique index */
    const char *violated; /* the index */
    int looks, creates, updates, deletes;
} table;

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    static const char *const found[] = {"0", ID}, *const written[] = {"{\"id\":\"" ID "\"}", "0"};
    static const char *row[2];
    table *t = fake->data;
    (void)values;
    row[0] = t->row;
    row[1] = "77";
    if (strstr(sql, "w.external_id"))
        *reply = (fake_reply){.columns = 2, .rows = t->finds_id < 0 || t->looks < t->finds_id, .values = found}, t->looks++;
    else if (strstr(sql, "insert into neoapi.broker")) {
        int conflicts = t->creates++ < t->conflicts;
        *reply = (fake_reply){.columns = 2,
                              .rows = !conflicts,
                              .values = written,
                              .error = conflicts ? "23505" : NULL,
                              .constraint = conflicts ? t->violated : NULL};
        t->finds_id = t->finds_id ? t->finds_id : t->conflicts < 10 ? -1 : 0;
    } else if (strstr(sql, "update neoapi.broker"))
        *reply = (fake_reply){.columns = 2, .rows = 1, .values = written}, t->updates++;
    else if (strstr(sql, "delete from neoapi.broker"))
        *reply = (fake_reply){.columns = 2, .rows = 1, .values = written}, t->deletes++;
    else
        *reply = (fake_reply){.columns = strstr(sql, "xmin") ? 2 : 1, .rows = row[0] != NULL, .values = row};
}

typedef struct {
    neo_site *site;
    fake_host *host;
    table table;
} fixture;

static fixture *fixture_with(table t, apr_pool_t *pool)
{
    fixture *s = apr_pcalloc(pool, sizeof *s);
    s->site = site_of(pool);
    s->table = t;
    s->host = editor_at(s->site, fake_connect(fake_start(answer, &s->table, pool), pool), pool);
    return s;
}

static int request(fixture *s, const char *method, apr_pool_t *pool)
{
    s->host->body = BODY;
    return ask(s->site, s->host, method, PATH, pool);
}

#define OWN     "{\"id\":\"" ID "\",\"name\":\"Ana\",\"external_id\":\"a\"}"
#define RENAMED "{\"id\":\"" ID "\",\"name\":\"Ana\",\"external_id\":\"b\"}"

TEST(the_resource_is_found_and_written)
{
    fixture *s = fixture_with((table){.finds_id = -1, .row = OWN}, *state);
    assert_int_equal(request(s, "GET", *state), 200);
    assert_int_equal(request(s, "PUT", *state), 200);
    assert_int_equal(request(s, "PATCH", *state), 200);
    assert_int_equal(request(s, "DELETE", *state), 204);
    assert_int_equal(s->table.updates, 2);
    assert_int_equal(s->table.deletes, 1);
    assert_int_equal(s->table.looks, 4);
}

/* The resource loses the external id between the look-up and the write. */
TEST(a_renamed_resource_is_not_touched)
{
    fixture *s = fixture_with((table){.finds_id = -1, .row = RENAMED}, *state);
    assert_int_equal(request(s, "GET", *state), 404);
    assert_int_equal(request(s, "DELETE", *state), 404);
    s->table.finds_id = s->table.looks + 1;
    assert_int_equal(request(s, "PUT", *state), 201);
    assert_int_equal(s->table.creates, 1);
    assert_int_equal(s->table.updates + s->table.deletes, 0);
}

TEST(a_deleted_resource_is_created_again)
{
    for (int i = 0; i < 2; i++) {
        fixture *s = fixture_with((table){.finds_id = 1}, *state);
        assert_int_equal(request(s, i ? "PATCH" : "PUT", *state), 201);
        assert_int_equal(s->table.looks, 2);
    }
}

TEST(a_resource_that_another_request_creates_is_replaced)
{
    fixture *s = fixture_with((table){.row = OWN, .conflicts = 1, .violated = "broker_external_id_key"}, *state);
    assert_int_equal(request(s, "PUT", *state), 200);
    assert_int_equal(s->table.creates, 1);
    assert_int_equal(s->table.updates, 1);
}

TEST(another_violated_index_is_a_conflict)
{
    fixture *s = fixture_with((table){.conflicts = 100, .violated = "broker_creci_key"}, *state);
    assert_int_equal(request(s, "PUT", *state), 409);
    assert_int_equal(s->table.creates, 1);
}

TEST(attempts_are_limited)
{
    fixture *s = fixture_with((table){.conflicts = 1000000, .violated = "broker_external_id_key"}, *state);
    assert_int_equal(request(s, "PUT", *state), 503);
    assert_true(s->table.creates > 1 && s->table.creates <= 100);
}
