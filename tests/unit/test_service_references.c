/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that are refused: missing references, deletions of a resource in use, ids with a suffix that is taken; also if that
 * changes while the statement runs. A fake server returns the prepared rows. */
#include "fake_host.h"
#include "fake_pg.h"

#define PARTY   "pty_01jd3x0000000000000000000z"
#define BROKER  "brk_01jd3x0000000000000000000z"
#define ROW     "{\"id\":\"" PARTY "\",\"kind\":\"person\",\"name\":\"Ana\",\"roles\":[\"buyer\"]}"
#define BODY    "{\"kind\":\"person\",\"name\":\"Ana\",\"roles\":[\"buyer\"],\"spouse_party_id\":\"" PARTY "\"}"
#define MISSING "spouse_party_id"

/* What the server returns for writes: first unique violations of new ids, then foreign key violations, then this number of
 * refusals as rows of one result, or the row if there are none. */
typedef struct {
    int taken_ids, violations, refusals;
    const char *refusal;
    int writes, reads;
} table;

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    static const char *refused[12], *made[] = {ROW, "1", NULL}, *read[] = {ROW, "77"};
    table *t = fake->data;
    (void)values;
    if (strncmp(sql, "with ", 5) != 0) {
        t->reads++;
        *reply = (fake_reply){.columns = strstr(sql, "xmin") ? 2 : 1, .rows = 1, .values = read};
        return;
    }
    t->writes++;
    if (t->taken_ids > 0) {
        t->taken_ids--;
        *reply = (fake_reply){.error = "23505", .constraint = "party_id_suffix"};
        return;
    }
    if (t->violations > 0) {
        t->violations--;
        *reply = (fake_reply){.error = "23503", .constraint = "reference_organization_id_party_id_fkey"};
        return;
    }
    for (int i = 0; i < t->refusals; i++) {
        refused[3 * i + 1] = "0";
        refused[3 * i + 2] = t->refusal;
    }
    *reply = (fake_reply){.columns = 3, .rows = t->refusals ? t->refusals : 1, .values = t->refusals ? refused : made};
}

typedef struct {
    neo_site *site;
    fake_host *host;
    table table;
} fixture;

static void set_responses(fixture *s, int violations, int refusals, const char *refusal)
{
    s->table = (table){.violations = violations, .refusals = refusals, .refusal = refusal};
    s->host->notified = 0;
}

static fixture *new_fixture(apr_pool_t *pool)
{
    fixture *s = apr_pcalloc(pool, sizeof *s);
    s->site = site_of(pool);
    s->host = editor_at(s->site, fake_connect(fake_start(answer, &s->table, pool), pool), pool);
    s->host->body = BODY;
    return s;
}

TEST(a_missing_reference_is_reported_and_nothing_is_written)
{
    static const char *const methods[][2] = {{"POST", "parties"}, {"PUT", "parties/" PARTY}, {"PATCH", "parties/" PARTY}};
    fixture *s = new_fixture(*state);
    for (int i = 0; i < COUNT(methods); i++) {
        set_responses(s, 0, 1, MISSING);
        assert_refused(s->site, s->host, methods[i][0], methods[i][1], 400, "validation.party.spouse_party_id_not_found",
                       *state);
        assert_int_equal(s->table.writes, 1);
        assert_int_equal(s->host->notified, 0);
        assert_null(header_of(s->host, "Location"));
        assert_null(header_of(s->host, "ETag"));
    }
}

TEST(all_missing_references_are_reported)
{
    fixture *s = new_fixture(*state);
    set_responses(s, 0, 3, "legal_representatives[2].party_id");
    assert_refused(s->site, s->host, "POST", "parties", 400, "validation.failed", *state);
    const neo_json *errors = neo_json_get(body_of(s->host, *state), "errors");
    assert_int_equal(neo_json_size(errors), 3);
    assert_string_equal(neo_json_string(neo_json_get(neo_json_at(errors, 2), "field")), "legal_representatives[2].party_id");
    assert_string_equal(neo_json_string(neo_json_get(neo_json_at(errors, 2), "code")),
                        "validation.party.legal_representatives_party_id_not_found");
}

TEST(a_foreign_key_violation_is_retried)
{
    static const char *const methods[][2] = {{"POST", "parties"}, {"PUT", "parties/" PARTY}, {"PATCH", "parties/" PARTY}};
    fixture *s = new_fixture(*state);
    for (int i = 0; i < COUNT(methods); i++) {
        set_responses(s, 2, 1, MISSING);
        assert_refused(s->site, s->host, methods[i][0], methods[i][1], 400, "validation.party.spouse_party_id_not_found",
                       *state);
        assert_int_equal(s->table.writes, 3);
        set_responses(s, 2, 0, NULL);
        assert_int_equal(ask(s->site, s->host, methods[i][0], methods[i][1], *state), i == 0 ? 201 : 200);
        assert_int_equal(s->table.writes, 3);
        assert_int_equal(s->host->notified, 1);
    }
}

TEST(a_new_id_whose_suffix_is_taken_is_replaced_by_another)
{
    fixture *s = new_fixture(*state);
    s->table = (table){.taken_ids = 2};
    assert_int_equal(ask(s->site, s->host, "POST", "parties", *state), 201);
    assert_int_equal(s->table.writes, 3);
    s->table = (table){.taken_ids = 1000000};
    assert_refused(s->site, s->host, "POST", "parties", 503, "internal.unavailable", *state);
}

TEST(retries_are_limited)
{
    fixture *s = new_fixture(*state);
    set_responses(s, 1000000, 0, NULL);
    assert_refused(s->site, s->host, "POST", "parties", 503, "internal.unavailable", *state);
    assert_refused(s->site, s->host, "PUT", "parties/" PARTY, 503, "internal.unavailable", *state);
    assert_refused(s->site, s->host, "DELETE", "brokers/" BROKER, 503, "internal.unavailable", *state);
    assert_true(s->table.writes < 400);
}

TEST(a_resource_in_use_is_not_deleted)
{
    static const char *const cases[][2] = {
        {"document doc_1 related.id", "The broker cannot be deleted while a document refers to it. Remove the references "
                                      "first, such as doc_1 (related.id)."},
        {"property prp_1 broker_id,contract ctr_1 commission.splits[0].broker_id",
         "The broker cannot be deleted while a property and a contract refer to it. Remove the references first, such as prp_1 "
         "(broker_id) and ctr_1 (commission.splits[0].broker_id)."},
        {"offer ofr_1 a,party pty_1 b,proposal pps_1 c", "The broker cannot be deleted while an offer, a party and a proposal "
                                                         "refer to it. Remove the references first, such as "
                                                         "pty_1 (b) and pps_1 (c)."}};
    fixture *s = new_fixture(*state);
    for (int i = 0; i < COUNT(cases); i++)
        for (int violations = 0; violations < 2; violations++) {
            set_responses(s, violations, 1, cases[i][0]);
            assert_refused(s->site, s->host, "DELETE", "brokers/" BROKER, 409, "conflict.in_use", *state);
            assert_string_equal(member_of(s->host, "detail", *state), cases[i][1]);
            assert_int_equal(s->table.writes, 1 + violations);
            assert_int_equal(s->host->notified, 0);
        }
}

TEST(a_resource_that_is_no_longer_in_use_is_deleted)
{
    fixture *s = new_fixture(*state);
    set_responses(s, 1, 0, NULL);
    assert_int_equal(ask(s->site, s->host, "DELETE", "brokers/" BROKER, *state), 204);
    assert_int_equal(s->table.writes, 2);
}

TEST(only_writes_of_resources_with_references_read_the_version)
{
    fixture *s = new_fixture(*state);
    set_responses(s, 0, 0, NULL);
    assert_int_equal(ask(s->site, s->host, "PUT", "parties/" PARTY, *state), 200);
    assert_int_equal(ask(s->site, s->host, "DELETE", "parties/" PARTY, *state), 204);
    assert_int_equal(s->table.reads, 2);
    set_responses(s, 0, 0, NULL);
    s->host->body = "{\"name\":\"Ana\"}";
    assert_int_equal(ask(s->site, s->host, "PUT", "brokers/" BROKER, *state), 200);
    assert_int_equal(ask(s->site, s->host, "DELETE", "brokers/" BROKER, *state), 204);
    assert_int_equal(s->table.reads, 0);
}
