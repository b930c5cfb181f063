/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that write: bodies, idempotency keys, entity tags and concurrent writes. A fake server has one row and counts the
 * statements. */
#include "fake_host.h"
#include "fake_pg.h"

#include "schema/resource.h"

#define ID   "brk_01jd3x0000000000000000000z"
#define PATH "brokers/" ID
#define ROW  "{\"id\":\"" ID "\",\"name\":\"Ana\",\"visibility\":\"public\"}"
#define BODY "{\"name\":\"Ana\"}"
#define UUID "7f3b2c1d-9a8e-4b6f-8d2a-1c3e5f7a9b0d"

/* What the server returns and has received. */
typedef struct {
    const char *row; /* NULL: no row */
    const char *create_error, *constraint;
    const char *once[5];    /* of the key: is the same request, is expired, status, response, secret; NULL: no row */
    const char *deliveries; /* the number that a write returns */
    int races;              /* the number of writes that another one overtakes */
    int creates, updates, deletes, forgotten, looks;
    char version[12], written[400]; /* of the last write */
} table;

/* Records the fields that a write sets: "name=Ana visibility=public". */
static void record_written_fields(table *t, const char *sql, const char *const *values)
{
    size_t len = 0;
    t->written[0] = '\0';
    for (const neo_field *f = neo_broker.fields; f->name; f++) {
        const char *value = f->flags & NEO_SERVER ? NULL : fake_field(sql, values, f->name);
        if (value)
            len += (size_t)snprintf(t->written + len, sizeof t->written - len, "%s%s=%s", len ? " " : "", f->name, value);
    }
}

static void answer_create(table *t, fake_reply *reply)
{
    static const char *columns[2];
    t->creates++;
    columns[0] = ROW;
    columns[1] = t->deliveries;
    *reply = (fake_reply){
        .error = t->create_error, .constraint = t->constraint, .columns = 2, .rows = t->once[0] == NULL, .values = columns};
}

/* An update or a delete, with or without a version. */
static void answer_change(table *t, int *count, const char *version, fake_reply *reply)
{
    static const char *columns[2];
    (*count)++;
    columns[0] = t->row;
    columns[1] = t->deliveries;
    apr_cpystrn(t->version, version ? version : "", sizeof t->version);
    *reply = (fake_reply){.columns = 2, .rows = t->row && t->races-- <= 0, .values = columns};
}

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    static const char *columns[2];
    table *t = fake->data;
    const char *version = fake_value(sql, values, "t.xmin = ");
    columns[0] = t->row;
    columns[1] = "77";
    if (strstr(sql, "insert into neoapi.broker")) {
        record_written_fields(t, sql, values);
        answer_create(t, reply);
    } else if (strstr(sql, "update neoapi.broker")) {
        record_written_fields(t, sql, values);
        answer_change(t, &t->updates, version, reply);
    } else if (strstr(sql, "delete from neoapi.broker"))
        answer_change(t, &t->deletes, version, reply);
    else if (strstr(sql, "delete from neoapi.idempotency_key")) {
        t->forgotten++;
        t->once[0] = NULL;
        *reply = (fake_reply){.columns = 1};
    } else if (strstr(sql, "from neoapi.idempotency_key")) {
        t->looks++;
        *reply = (fake_reply){.columns = 5, .rows = t->once[0] != NULL, .values = t->once};
    } else
        *reply = (fake_reply){.columns = strstr(sql, "xmin") ? 2 : 1, .rows = t->row != NULL, .values = columns};
}

typedef struct {
    neo_site *site;
    fake_host *host;
    table table;
} fixture;

static fixture *fixture_with(const char *row, apr_pool_t *pool)
{
    fixture *s = apr_pcalloc(pool, sizeof *s);
    s->site = site_of(pool);
    s->table.row = row;
    s->table.deliveries = "0";
    s->host = editor_at(s->site, fake_connect(fake_start(answer, &s->table, pool), pool), pool);
    return s;
}

static void set(fixture *s, const char *header, const char *value)
{
    apr_table_unset(s->host->headers, header);
    if (value)
        apr_table_setn(s->host->headers, header, value);
}

static int send_body(fixture *s, const char *method, const char *path, const char *body, apr_pool_t *pool)
{
    s->host->body = body;
    return ask(s->site, s->host, method, path, pool);
}

static const char *code_of(fixture *s, apr_pool_t *pool)
{
    return member_of(s->host, "code", pool);
}

/* ---------------------------------------------------------------- bodies */

TEST(a_media_type_has_several_spellings)
{
    static const char *const types[] = {"application/json", "Application/JSON", "application/json;charset=utf-8",
                                        "application/json ; charset=\"utf-8\"", "application/json\t"};
    fixture *s = fixture_with(ROW, *state);
    for (int i = 0; i < COUNT(types); i++) {
        set(s, "Content-Type", types[i]);
        assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 201);
    }
    assert_int_equal(s->host->max, s->site->max_body);
}

TEST(a_body_of_another_media_type_is_refused)
{
    static const char *const types[] = {NULL,
                                        "",
                                        "json",
                                        "application/jsonx",
                                        "application/json, application/json",
                                        "text/plain",
                                        "application/merge-patch+json",
                                        "application/x-www-form-urlencoded"};
    fixture *s = fixture_with(ROW, *state);
    for (int i = 0; i < COUNT(types); i++) {
        set(s, "Content-Type", types[i]);
        assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 415);
        assert_string_equal(code_of(s, *state), "validation.unsupported_media_type");
        assert_int_equal(send_body(s, "PUT", PATH, BODY, *state), 415);
    }
    set(s, "Content-Type", "application/merge-patch+json");
    assert_int_equal(send_body(s, "PATCH", PATH, BODY, *state), 200);
    assert_int_equal(s->table.creates, 0);
}

TEST(a_missing_or_malformed_body_is_refused)
{
    static const char *const bodies[] = {"{",   "{\"name\":}", "[1,]",        "{\"a\":1,\"a\":2}",
                                         "nul", "{} {}",       "\"\\ud800\"", "{\"a\":\"\xC3\"}"};
    static const char *const writes[][2] = {{"POST", "brokers"}, {"PUT", PATH}, {"PATCH", PATH}};
    fixture *s = fixture_with(ROW, *state);
    for (int w = 0; w < COUNT(writes); w++) {
        assert_int_equal(send_body(s, writes[w][0], writes[w][1], "", *state), 400);
        assert_string_equal(code_of(s, *state), "validation.body_required");
        for (int i = 0; i < COUNT(bodies); i++) {
            assert_int_equal(send_body(s, writes[w][0], writes[w][1], bodies[i], *state), 400);
            assert_string_equal(code_of(s, *state), "validation.malformed_json");
        }
        assert_int_equal(send_body(s, writes[w][0], writes[w][1], "[]", *state), 400);
    }
    assert_int_equal(s->table.creates + s->table.updates, 0);
}

TEST(a_problem_of_reading_the_body_is_the_response)
{
    fixture *s = fixture_with(ROW, *state);
    s->host->fault = neo_problem_make(*state, NEO_VALIDATION_BODY_TOO_LARGE, "It is.");
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 413);
    assert_string_equal(code_of(s, *state), "validation.body_too_large");
    assert_int_equal(s->table.creates, 0);
}

TEST(operations_without_a_body_do_not_read_one)
{
    fixture *s = fixture_with(ROW, *state);
    set(s, "Content-Type", "text/plain");
    assert_int_equal(send_body(s, "GET", PATH, "nonsense", *state), 200);
    assert_int_equal(send_body(s, "DELETE", PATH, "nonsense", *state), 204);
    assert_int_equal(s->host->bodies_read, 0);
}

/* ---------------------------------------------------------------- create */

TEST(a_created_resource_has_location_and_etag)
{
    fixture *s = fixture_with(NULL, *state);
    assert_int_equal(send_body(s, "POST", "brokers", "{\"visibility\":null,\"name\":\"Ana\",\"id\":\"x\"}", *state), 201);
    assert_string_equal(s->table.written, "name=Ana visibility=restricted");
    assert_memory_equal(header_of(s->host, "Location"), BASE_URL "brokers/brk_", strlen(BASE_URL "brokers/brk_"));
    assert_non_null(header_of(s->host, "ETag"));
    assert_int_equal(s->host->response.body.len, strlen(ROW));
    assert_int_equal(s->table.looks, 0);
}

TEST(a_duplicate_value_is_reported_with_its_field)
{
    fixture *s = fixture_with(NULL, *state);
    s->table.create_error = "23505";
    s->table.constraint = "broker_creci_key";
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 409);
    assert_string_equal(code_of(s, *state), "conflict.duplicate");
    assert_non_null(strstr(member_of(s->host, "detail", *state), "creci"));
    s->table.constraint = "broker_pkey";
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 409);
    assert_int_equal(s->table.creates, 2);
}

/* ---------------------------------------------------------------- idempotency keys */

TEST(an_idempotency_key_is_a_uuid_of_version_4)
{
    static const char *const good[] = {UUID, "\"" UUID "\"", "7F3B2C1D-9A8E-4B6F-8D2A-1C3E5F7A9B0D",
                                       "7f3b2c1d-9a8e-4b6f-bd2a-1c3e5f7a9b0d"};
    static const char *const bad[] = {"",
                                      "x",
                                      "\"\"",
                                      "\"" UUID,
                                      UUID "\"",
                                      "'" UUID "'",
                                      UUID " ",
                                      UUID ", " UUID,
                                      UUID ",",
                                      "6ba7b810-9dad-31d1-80b4-00c04fd430c8",
                                      "{" UUID "}",
                                      "7f3b2c1d9a8e4b6f8d2a1c3e5f7a9b0d",
                                      "7f3b2c1d-9a8e-1b6f-8d2a-1c3e5f7a9b0d",
                                      "7f3b2c1d-9a8e-4b6f-cd2a-1c3e5f7a9b0d",
                                      "7f3b2c1g-9a8e-4b6f-8d2a-1c3e5f7a9b0d",
                                      "00000000-0000-0000-0000-000000000000",
                                      "urn:uuid:" UUID};
    fixture *s = fixture_with(NULL, *state);
    for (int i = 0; i < COUNT(good); i++) {
        set(s, "Idempotency-Key", good[i]);
        assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 201);
        assert_null(header_of(s->host, "Idempotent-Replayed"));
    }
    for (int i = 0; i < COUNT(bad); i++) {
        set(s, "Idempotency-Key", bad[i]);
        assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 400);
        assert_string_equal(code_of(s, *state), "validation.idempotency_key_invalid");
    }
    assert_int_equal(s->table.creates, COUNT(good));
    s->table.row = ROW;
    assert_int_equal(send_body(s, "PATCH", PATH, BODY, *state), 200); /* PATCH has no idempotency keys */
    set(s, "Idempotency-Key", good[0]);
    assert_int_equal(send_body(s, "PUT", "brokers/by-external-id/a", BODY, *state), 400); /* it would be ignored */
    assert_string_equal(code_of(s, *state), "validation.idempotency_key_invalid");
}

TEST(a_repeated_request_gets_the_first_response)
{
    static const char *const statuses[] = {NULL, "23505"}; /* the key existed before the write, or was inserted during it */
    for (int i = 0; i < COUNT(statuses); i++) {
        fixture *s = fixture_with(NULL, *state);
        set(s, "Idempotency-Key", UUID);
        s->table.create_error = statuses[i];
        s->table.constraint = "idempotency_key_pkey";
        memcpy(s->table.once, (const char *const[]){"t", "f", "201", ROW, NULL}, sizeof s->table.once);
        assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 201);
        assert_string_equal(header_of(s->host, "Idempotent-Replayed"), "true");
        assert_string_equal(header_of(s->host, "Location"), BASE_URL "brokers/" ID);
        assert_non_null(header_of(s->host, "ETag"));
        assert_string_equal(member_of(s->host, "id", *state), ID);
        assert_int_equal(s->table.creates, 1);
        assert_int_equal(s->table.looks, 1);
    }
}

TEST(a_unique_violation_with_the_first_request_is_replayed)
{
    fixture *s = fixture_with(NULL, *state);
    set(s, "Idempotency-Key", UUID);
    s->table.create_error = "23505";
    s->table.constraint = "broker_creci_key";
    memcpy(s->table.once, (const char *const[]){"t", "f", "201", ROW, NULL}, sizeof s->table.once);
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 201);
    s->table.once[0] = NULL; /* the value is another request's */
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 409);
    assert_string_equal(code_of(s, *state), "conflict.duplicate");
}

TEST(a_key_that_was_used_for_another_request_is_refused)
{
    fixture *s = fixture_with(NULL, *state);
    set(s, "Idempotency-Key", UUID);
    memcpy(s->table.once, (const char *const[]){"f", "f", "201", ROW, NULL}, sizeof s->table.once);
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 409);
    assert_string_equal(code_of(s, *state), "conflict.idempotency_key_reused");
}

TEST(an_expired_key_is_used_again)
{
    fixture *s = fixture_with(NULL, *state);
    set(s, "Idempotency-Key", UUID);
    memcpy(s->table.once, (const char *const[]){"f", "t", "201", ROW, NULL}, sizeof s->table.once);
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 201);
    assert_null(header_of(s->host, "Idempotent-Replayed"));
    assert_int_equal(s->table.forgotten, 1);
    assert_int_equal(s->table.creates, 2);
}

/* ---------------------------------------------------------------- entity tags */

/* The ETag of the row without its quotes. */
static const char *tag_of(fixture *s, apr_pool_t *pool)
{
    set(s, "If-None-Match", NULL);
    assert_int_equal(send_body(s, "GET", PATH, NULL, pool), 200);
    const char *etag = header_of(s->host, "ETag");
    return apr_pstrmemdup(pool, etag + 1, strlen(etag) - 2);
}

/* The format, with the tag instead of its %s. */
static const char *with_tag(const char *format, const char *tag, apr_pool_t *pool)
{
    const char *hole;
    while ((hole = strstr(format, "%s")))
        format = apr_pstrcat(pool, apr_pstrndup(pool, format, (apr_size_t)(hole - format)), tag, hole + 2, NULL);
    return format;
}

/* Hosts and releases must agree on tags. The expected value was computed by other code. */
TEST(a_version_has_the_same_tag_on_every_host)
{
    fixture *s = fixture_with(ROW, *state);
    assert_string_equal(tag_of(s, *state), "e605218bfbc50f30");
}

TEST(a_matching_tag_is_not_modified)
{
    static const char *const same[] = {"\"%s\"",      "W/\"%s\"",    "*",         "\"x\", \"%s\"",  "\"x\",W/\"%s\",\"y\"",
                                       "\"%s-gzip\"", "W/\"%s-br\"", ",, \"%s\"", "\"a,b\", \"%s\""};
    static const char *const other[] = {"%s",    "\"%s",     "\"x\"",     "\"%sx\"",  "\"x%s\"", "\"%s-zip\"", "",
                                        "\"*\"", "w/\"%s\"", "W/ \"%s\"", "\"x\" %s", "W/",      ",",          "\""};
    fixture *s = fixture_with(ROW, *state);
    const char *tag = tag_of(s, *state);
    for (int i = 0; i < COUNT(same) + COUNT(other); i++) {
        const char *list = with_tag(i < COUNT(same) ? same[i] : other[i - COUNT(same)], tag, *state);
        set(s, "If-None-Match", list);
        int status = send_body(s, "GET", PATH, NULL, *state);
        if (status != (i < COUNT(same) ? 304 : 200))
            fail_msg("If-None-Match: %s: %d", list, status);
        assert_string_equal(header_of(s->host, "ETag"), apr_pstrcat(*state, "\"", tag, "\"", NULL));
        assert_int_equal(s->host->response.media_type == NULL, status == 304);
    }
    set(s, "If-None-Match", apr_pstrcat(*state, "\"", tag, "\"", NULL));
    s->table.row = "{\"id\":\"" ID "\"}";
    assert_int_equal(send_body(s, "GET", PATH, NULL, *state), 200);
}

TEST(a_conditional_write_needs_the_current_tag)
{
    static const char *const writes[] = {"PATCH", "PUT", "DELETE"};
    fixture *s = fixture_with(ROW, *state);
    const char *tag = tag_of(s, *state);
    static const char *const good[] = {"*", "\"%s\"", "\"%s-gzip\"", "\"x\", \"%s\""};
    static const char *const bad[] = {"\"x\"", "W/\"%s\""};
    static const char *const malformed[] = {"%s",        "",          "x",       "\"",           ",",
                                            "W/",        "x\"%s\"",   "\"%s\"x", "\"x\" \"%s\"", "\"%s\"\"%s\"",
                                            "\"%s\", x", "*, \"%s\"", "\"a b\"", "w/\"%s\""};
    for (int w = 0; w < COUNT(writes); w++) {
        for (int i = 0; i < COUNT(good); i++) {
            set(s, "If-Match", with_tag(good[i], tag, *state));
            assert_int_equal(send_body(s, writes[w], PATH, BODY, *state), w == 2 ? 204 : 200);
            assert_string_equal(s->table.version, "77"); /* the statement has the version that was compared */
        }
        int before = s->table.updates + s->table.deletes;
        for (int i = 0; i < COUNT(bad); i++) {
            set(s, "If-Match", with_tag(bad[i], tag, *state));
            assert_int_equal(send_body(s, writes[w], PATH, BODY, *state), 412);
            assert_string_equal(code_of(s, *state), "conflict.precondition_failed");
        }
        for (int i = 0; i < COUNT(malformed); i++) {
            set(s, "If-Match", with_tag(malformed[i], tag, *state));
            assert_int_equal(send_body(s, writes[w], PATH, BODY, *state), 400);
            assert_string_equal(code_of(s, *state), "validation.parameter_invalid");
        }
        assert_int_equal(s->table.updates + s->table.deletes, before);
    }
}

/* ---------------------------------------------------------------- patch, replace, delete */

TEST(a_patch_is_repeated_after_a_concurrent_write)
{
    fixture *s = fixture_with(ROW, *state);
    s->table.races = 5;
    assert_int_equal(send_body(s, "PATCH", PATH, "{\"creci\":\"1\",\"visibility\":null}", *state), 200);
    assert_int_equal(s->table.updates, 6);
    assert_string_equal(s->table.written, "name=Ana creci=1 visibility=restricted");
    assert_string_equal(s->table.version, "77");
}

TEST(retries_of_a_patch_are_limited)
{
    fixture *s = fixture_with(ROW, *state);
    s->table.races = 1000000;
    assert_int_equal(send_body(s, "PATCH", PATH, BODY, *state), 503);
    assert_true(s->table.updates <= 100);
}

TEST(an_unconditional_write_is_one_statement)
{
    fixture *s = fixture_with(ROW, *state);
    assert_int_equal(send_body(s, "PUT", PATH, BODY, *state), 200);
    assert_string_equal(s->table.written, "name=Ana visibility=restricted");
    assert_string_equal(s->table.version, "");
    assert_int_equal(send_body(s, "DELETE", PATH, NULL, *state), 204);
    assert_null(s->host->response.media_type);
    assert_int_equal(s->table.updates, 1);
    assert_int_equal(s->table.deletes, 1);
    assert_int_equal(s->host->acquired, 2);
}

TEST(only_writes_with_deliveries_notify_the_dispatcher)
{
    fixture *s = fixture_with(ROW, *state);
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 201);
    assert_int_equal(s->host->notified, 0);
    s->table.deliveries = "2";
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 201);
    assert_int_equal(send_body(s, "PUT", PATH, BODY, *state), 200);
    assert_int_equal(send_body(s, "PATCH", PATH, BODY, *state), 200);
    assert_int_equal(send_body(s, "DELETE", PATH, NULL, *state), 204);
    assert_int_equal(s->host->notified, 4);
    set(s, "Idempotency-Key", UUID);
    memcpy(s->table.once, (const char *const[]){"t", "f", "201", ROW, NULL}, sizeof s->table.once);
    assert_int_equal(send_body(s, "POST", "brokers", BODY, *state), 201); /* a replayed response creates none */
    assert_int_equal(s->host->notified, 4);
}

TEST(no_method_finds_a_missing_resource)
{
    static const char *const methods[] = {"GET", "HEAD", "PATCH", "PUT", "DELETE"};
    fixture *s = fixture_with(NULL, *state);
    for (int i = 0; i < COUNT(methods); i++)
        for (int conditional = 0; conditional < 2; conditional++) {
            set(s, "If-Match", conditional ? "\"x\"" : NULL);
            assert_int_equal(send_body(s, methods[i], PATH, BODY, *state), 404);
            assert_string_equal(code_of(s, *state), "not_found.broker");
        }
}

TEST(an_invalid_body_is_reported_before_a_write)
{
    fixture *s = fixture_with(ROW, *state);
    static const char *const writes[][2] = {{"POST", "brokers"}, {"PUT", PATH}, {"PATCH", PATH}};
    for (int i = 0; i < COUNT(writes); i++) {
        assert_int_equal(send_body(s, writes[i][0], writes[i][1], "{\"name\":null,\"phone\":1,\"x\":2}", *state), 400);
        assert_string_equal(code_of(s, *state), "validation.failed");
        assert_int_equal(neo_json_size(neo_json_get(body_of(s->host, *state), "errors")), 3);
    }
    assert_int_equal(s->table.creates + s->table.updates, 0);
}
