/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: query parameters and cursors. A fake server records the statements. */
#include "fake_host.h"
#include "fake_pg.h"

#include <apr_escape.h>

/* A site with a cached key, and a server with one row more than a page of one. */
typedef struct {
    neo_site *site;
    fake_key *key;
    fake_host *host;
    fake_pg *server;
    char before[NEO_ID_SIZE]; /* the id that the last list continued from; empty for a first page */
    const char *organization;
    char position[20];  /* of the cursor */
    char values[2][20]; /* the first ones of the filter creci */
    const char *error;  /* an SQLSTATE instead of rows */
} fixture;

#define FIRST  "brk_01jd3x0000000000000000000z"
#define SECOND "brk_01jd3x0000000000000000000y"

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    static const char *const rows[] = {"{\"id\":\"" FIRST "\"}",  "f", "1789000000000001", "10001",
                                       "{\"id\":\"" SECOND "\"}", "f", "1789000000000000", "10001"};
    fixture *s = fake->data;
    const char *before = fake_value(sql, values, "t.id < "), *first = fake_value(sql, values, "in (neoapi.creci_key(");
    const char *second = fake_value(sql, values, "), neoapi.creci_key(");
    const char *position = fake_value(sql, values, "timestamptz 'epoch' + ");
    apr_cpystrn(s->position, position ? position : "", sizeof s->position);
    apr_cpystrn(s->values[0], first ? first : "", sizeof s->values[0]);
    apr_cpystrn(s->values[1], second ? second : "", sizeof s->values[1]);
    apr_cpystrn(s->before, before ? before : "", sizeof s->before);
    s->organization =
        strcmp(fake_value(sql, values, "organization_id = "), ORGANIZATION) == 0 ? ORGANIZATION : OTHER_ORGANIZATION;
    *reply = (fake_reply){.columns = 4, .rows = 2, .values = rows, .error = s->error};
}

static fixture *fixture_with(fake_key *key, apr_pool_t *pool)
{
    fixture *s = apr_pcalloc(pool, sizeof *s);
    s->site = site_of(pool);
    s->key = key;
    cache_key(s->site, key);
    s->server = fake_start(answer, s, pool);
    s->host = host_with(fake_connect(s->server, pool), pool);
    apr_table_setn(s->host->headers, "X-API-Key", key->secret);
    return s;
}

static int list(fixture *s, const char *query, apr_pool_t *pool)
{
    return ask(s->site, s->host, "GET", apr_pstrcat(pool, "brokers", *query ? "?" : "", query, NULL), pool);
}

static void assert_error(fixture *s, const char *query, const char *code, const char *field, apr_pool_t *pool)
{
    int before = s->host->acquired;
    assert_refused(s->site, s->host, "GET", apr_pstrcat(pool, "brokers?", query, NULL), 400, code, pool);
    neo_json *errors = neo_json_get(body_of(s->host, pool), "errors");
    assert_int_equal(neo_json_size(errors), 1);
    assert_string_equal(neo_json_string(neo_json_get(neo_json_at(errors, 0), "field")), field);
    assert_string_equal(neo_json_string(neo_json_get(neo_json_at(errors, 0), "code")), code);
    assert_int_equal(s->host->acquired, before); /* it is refused without a query */
}

/* ---------------------------------------------------------------- replicas */

TEST(a_replica_answers_a_list_and_the_primary_if_it_fails)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state), *replica = fixture_with(s->key, *state);
    s->host->replica = replica->host->pg;
    assert_int_equal(list(s, "count=true", *state), 200);
    assert_int_equal(s->host->acquired, 0);
    replica->error = "40001"; /* a conflict with recovery */
    assert_int_equal(list(s, "creci=1", *state), 200);
    assert_int_equal(s->host->acquired, 1);
    replica->error = NULL;
    s->host->is_replica_ahead = 1;
    assert_int_equal(list(s, "creci=1", *state), 200);
    assert_int_equal(s->host->acquired, 2);
}

TEST(the_primary_answers_a_list_for_which_a_replica_is_too_slow)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state), *replica = fixture_with(s->key, *state);
    s->host->replica = replica->host->pg;
    replica->error = "57014";
    assert_int_equal(list(s, "count=true", *state), 200);
    s->error = "57014";
    assert_refused(s->site, s->host, "GET", "brokers?creci=1", 503, "internal.query_timeout", *state);
    assert_int_equal(s->host->acquired, 2);
}

TEST(a_replica_is_not_asked_for_what_costs_the_primary_little)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state), *replica = fixture_with(s->key, *state);
    s->host->replica = replica->host->pg;
    (void)ask(s->site, s->host, "GET", "brokers/" FIRST, *state);
    assert_int_equal(s->host->acquired, 1);
    assert_int_equal(list(s, "limit=1", *state), 200);
    assert_int_equal(s->host->acquired, 2);
}

/* ---------------------------------------------------------------- queries */

TEST(valid_queries_are_accepted)
{
    static const char *const queries[] = {
        "",
        "limit=1",
        "limit=100",
        "&&limit=5&&",
        "creci=123&visibility=public,private",
        "q=S%C3%A3o+Paulo",
        "q=%F0%9F%98%80%F0%9F%98%80%F0%9F%98%80",
        "q=a%26b%3Dc%2Cd",
        "q=1%2B1=2",
        "%6Cimit=7",
        "email=a%40b.c",
        "created_gte=2026-01-01T00:00:00Z&created_lte=2026-01-01T00:00:00%2B01:00",
        "updated_gte=2026-01-01T00:00:00Z",
        "visibility=public&visibility=private,restricted",
        "sort=-created_at",
        "sort=created_at&count=false&fields=id",
        "sort=updated_at&count=true&fields=id&fields=name,email",
        "ids=" FIRST "," SECOND "&ids=" FIRST,
    };
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    for (int i = 0; i < COUNT(queries); i++)
        if (list(s, queries[i], *state) != 200)
            fail_msg("%s: %.*s", queries[i], (int)s->host->response.body.len, s->host->response.body.ptr);
}

/* Query, code, parameter. */
static const char *const invalid_queries[][3] = {
    {"limit=0", "validation.limit_out_of_range", "limit"},
    {"limit=101", "validation.limit_out_of_range", "limit"},
    {"limit=-1", "validation.limit_out_of_range", "limit"},
    {"limit=", "validation.limit_out_of_range", "limit"},
    {"limit", "validation.limit_out_of_range", "limit"},
    {"limit=1.0", "validation.limit_out_of_range", "limit"},
    {"limit=+1", "validation.limit_out_of_range", "limit"},
    {"limit=0x10", "validation.limit_out_of_range", "limit"},
    {"limit=abc", "validation.limit_out_of_range", "limit"},
    {"limit=1e1", "validation.limit_out_of_range", "limit"},
    {"limit=25+", "validation.limit_out_of_range", "limit"},
    {"limit=05x", "validation.limit_out_of_range", "limit"},
    {"limit=%EF%BC%95", "validation.limit_out_of_range", "limit"},
    {"limit=99999999999999999999", "validation.limit_out_of_range", "limit"},
    {"limit=5&limit=5", "validation.parameter_invalid", "limit"},
    {"q=abc&q=bcd", "validation.parameter_invalid", "q"},
    {"created_gte=2026-01-01T00:00:00Z&created_gte=2026-01-01T00:00:00Z", "validation.parameter_invalid", "created_gte"},
    {"creci=1,%zz,3", "validation.parameter_invalid", "creci"},
    {"creci=1,,3", "validation.parameter_invalid", "creci"},
    {"creci=1&creci", "validation.parameter_invalid", "creci"},
    {"visibility=public%2Cprivate", "validation.parameter_invalid", "visibility"},
    {"sort=", "validation.parameter_invalid", "sort"},
    {"sort=name", "validation.parameter_invalid", "sort"},
    {"sort=created_at&sort=created_at", "validation.parameter_invalid", "sort"},
    {"count=1", "validation.parameter_invalid", "count"},
    {"count=", "validation.parameter_invalid", "count"},
    {"count=True", "validation.parameter_invalid", "count"},
    {"count=true,true", "validation.parameter_invalid", "count"},
    {"fields=id,nothing,none", "validation.parameter_invalid", "fields"},
    {"fields=", "validation.parameter_invalid", "fields"},
    {"ids=", "validation.parameter_invalid", "ids"},
    {"ids=x", "validation.parameter_invalid", "ids"},
    {"ids=BRK_01jd3x0000000000000000000z", "validation.parameter_invalid", "ids"},
    {"ids=br_001jd3x0000000000000000000z", "validation.parameter_invalid", "ids"},
    {"ids=" FIRST "z", "validation.parameter_invalid", "ids"},
    {"ids=" FIRST ",brk_01jd3x0000000000000000000U", "validation.parameter_invalid", "ids"},
    {"Limit=5", "validation.unknown_parameter", "Limit"},
    {"name=x", "validation.unknown_parameter", "name"},
    {"external=x", "validation.unknown_parameter", "external"},
    {"=x", "validation.unknown_parameter", ""},
    {"limit%3D5", "validation.unknown_parameter", "limit=5"},
    {"q=%", "validation.parameter_invalid", "q"},
    {"q=%4", "validation.parameter_invalid", "q"},
    {"q=%zz", "validation.parameter_invalid", "q"},
    {"q=%00", "validation.parameter_invalid", "q"},
    {"q=%0A", "validation.parameter_invalid", "q"},
    {"q=%7F", "validation.parameter_invalid", "q"},
    {"q=%C3", "validation.parameter_invalid", "q"},
    {"q=%C0%80", "validation.parameter_invalid", "q"},
    {"q=%ED%A0%80", "validation.parameter_invalid", "q"},
    {"q=%E0%80%AF", "validation.parameter_invalid", "q"},
    {"creci=%C3%28", "validation.parameter_invalid", "creci"},
    {"q=\xC3", "validation.parameter_invalid", "q"},
    {"%C3=1", "validation.parameter_invalid", "query"},
    {"q=", "validation.parameter_invalid", "q"},
    {"q", "validation.parameter_invalid", "q"},
    {"visibility=secret", "validation.parameter_invalid", "visibility"},
    {"visibility=public,", "validation.parameter_invalid", "visibility"},
    {"visibility=", "validation.parameter_invalid", "visibility"},
    {"visibility=Public", "validation.parameter_invalid", "visibility"},
    {"visibility=,public", "validation.parameter_invalid", "visibility"},
    {"visibility=public,+private", "validation.parameter_invalid", "visibility"},
    {"document_number=", "validation.parameter_invalid", "document_number"},
    {"email=", "validation.parameter_invalid", "email"},
    {"created_gte=yesterday", "validation.parameter_invalid", "created_gte"},
    {"updated_lte=2026-01-31", "validation.parameter_invalid", "updated_lte"},
    {"created_gte=2026-01-01T00:00:00Z,2026-01-02T00:00:00Z", "validation.parameter_invalid", "created_gte"},
    {"cursor=", "validation.cursor_invalid", "cursor"},
    {"cursor=x", "validation.cursor_invalid", "cursor"},
};

TEST(an_invalid_query_is_refused_with_its_parameter)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    for (int i = 0; i < COUNT(invalid_queries); i++)
        assert_error(s, invalid_queries[i][0], invalid_queries[i][1], invalid_queries[i][2], *state);
}

TEST(all_problems_of_a_query_are_reported_together)
{
    static const char *const fields[] = {"nothing", "q", "limit", "visibility", "created_gte"};
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    assert_refused(s->site, s->host, "GET", "brokers?limit=0&nothing=1&q=%zz&visibility=x&created_gte=y&email=a@b.c", 400,
                   "validation.failed", *state);
    neo_json *errors = neo_json_get(body_of(s->host, *state), "errors");
    assert_int_equal(neo_json_size(errors), COUNT(fields));
    for (int f = 0; f < COUNT(fields); f++) {
        int found = 0;
        for (apr_size_t i = 0; i < neo_json_size(errors); i++)
            found += strcmp(neo_json_string(neo_json_get(neo_json_at(errors, i), "field")), fields[f]) == 0;
        assert_int_equal(found, 1);
    }
}

TEST(a_long_name_is_not_repeated_whole)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    char *name = apr_pcalloc(*state, 5001);
    memset(name, 'x', 5000);
    assert_error(s, name, "validation.unknown_parameter", "a name of 5000 bytes", *state);
    assert_true(s->host->response.body.len < 1000);
}

TEST(a_filter_has_at_most_a_hundred_values)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    const char *values = "creci=1";
    for (int i = 2; i <= 14; i++) /* the fake has no more parameters */
        values = apr_psprintf(*state, "%s,%d", values, i);
    assert_int_equal(list(s, values, *state), 200);
    for (int i = 15; i <= 101; i++)
        values = apr_psprintf(*state, i % 2 ? "%s,%d" : "%s&creci=%d", values, i);
    assert_error(s, values, "validation.parameter_invalid", "creci", *state);
}

/* The values that the statement compares creci with. */
static void assert_values(fixture *s, const char *query, const char *first, const char *second, apr_pool_t *pool)
{
    assert_int_equal(list(s, query, pool), 200);
    assert_string_equal(s->values[0], first);
    assert_string_equal(s->values[1], second);
}

TEST(commas_and_repetitions_separate_values)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    assert_values(s, "creci=a,b", "a", "b", *state);
    assert_values(s, "creci=a&creci=b", "a", "b", *state);
    assert_values(s, "creci=a&visibility=public&creci=b", "a", "b", *state);
    assert_values(s, "creci=a%2Cb,c", "a,b", "c", *state);
    assert_values(s, "creci=a%2cb&creci=%2C", "a,b", ",", *state);
    assert_int_equal(list(s, "creci=a%2Cb%252C", *state), 200);
    assert_string_equal(s->values[0], "a,b%2C");
    assert_int_equal(list(s, "q=a,b%2Cc", *state), 200);
}

TEST(a_substring_search_needs_three_characters)
{
    static const char *const queries[] = {"q=ab", "q=a+b", "q=%C3%A3%C3%A9", "q=ae%CC%81"};
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    for (int i = 0; i < COUNT(queries); i++)
        assert_error(s, queries[i], "validation.parameter_invalid", "q", *state);
}

TEST(a_filtered_list_that_times_out_has_its_own_code)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    s->error = "57014";
    assert_refused(s->site, s->host, "GET", "brokers?q=abc", 503, "internal.query_timeout", *state);
    assert_string_equal(header_of(s->host, "Retry-After"), "5");
    assert_refused(s->site, s->host, "GET", "brokers?creci=1,2", 503, "internal.query_timeout", *state);
    assert_refused(s->site, s->host, "GET", "brokers", 503, "internal.statement_timeout", *state); /* without filters */
    s->error = NULL;
    assert_int_equal(list(s, "q=abc", *state), 200);
    assert_int_equal(atomic_load(&s->server->connections), 1);
}

TEST(a_filtered_list_is_retried_over_a_new_connection)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    static const char *const queries[] = {"q=abc", "creci=1,2"};
    for (int i = 0; i < COUNT(queries); i++) {
        assert_int_equal(list(s, queries[i], *state), 200);
        fake_disconnect(s->server);
        assert_int_equal(list(s, queries[i], *state), 200);
    }
    assert_int_equal(atomic_load(&s->server->connections), 1 + COUNT(queries));
}

TEST(other_operations_have_no_parameters)
{
    static const char *const cases[][2] = {{"GET", "me?limit=1"},
                                           {"GET", "openapi.yaml?x"},
                                           {"GET", "brokers/" FIRST "?q=a"},
                                           {"POST", "brokers?limit=1"},
                                           {"DELETE", "brokers/" FIRST "?force=true"}};
    fixture *s = fixture_with(key_of("org_admin", *state), *state);
    for (int i = 0; i < COUNT(cases); i++)
        assert_refused(s->site, s->host, cases[i][0], cases[i][1], 400, "validation.unknown_parameter", *state);
    assert_int_equal(ask(s->site, s->host, "GET", "me?", *state), 200);
    assert_int_equal(s->host->acquired, 2); /* whether the resource exists */
}

/* ---------------------------------------------------------------- cursors */

/* The end cursor of a page of one. */
static const char *cursor_for(fixture *s, const char *query, apr_pool_t *pool)
{
    assert_int_equal(list(s, query, pool), 200);
    neo_json *page = neo_json_get(body_of(s->host, pool), "page_info");
    return neo_json_string(neo_json_get(page, "end_cursor"));
}

static int list_with(fixture *s, const char *query, const char *cursor, apr_pool_t *pool)
{
    return list(s, apr_pstrcat(pool, query, "&cursor=", cursor, NULL), pool);
}

static void assert_cursor_refused(fixture *s, const char *query, const char *cursor, const char *code, apr_pool_t *pool)
{
    assert_error(s, apr_pstrcat(pool, query, "&cursor=", apr_pescape_urlencoded(pool, cursor), NULL), code, "cursor", pool);
}

TEST(a_cursor_continues_after_its_page)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    const char *cursor = cursor_for(s, "limit=1", *state);
    assert_string_equal(s->before, "");
    assert_int_equal(list_with(s, "limit=1", cursor, *state), 200);
    assert_string_equal(s->before, FIRST);
    assert_int_equal(list_with(s, "limit=50", cursor, *state), 200); /* the limit may change */
    assert_string_equal(s->before, FIRST);
    cursor = cursor_for(s, "limit=2", *state);
    assert_int_equal(list_with(s, "", cursor, *state), 200);
    assert_string_equal(s->before, SECOND);
}

TEST(a_link_leads_to_the_next_page_with_limit_and_filters)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    const char *cursor = cursor_for(s, "q=a%26b+%C3%A9&limit=1&visibility=public,private", *state);
    const char *link = header_of(s->host, "Link"), *start = "<" BASE_URL "brokers?", *end = ">; rel=\"next\"";
    assert_non_null(link);
    assert_memory_equal(link, start, strlen(start));
    assert_string_equal(link + strlen(link) - strlen(end), end);
    const char *query = apr_pstrmemdup(*state, link + strlen(start), strlen(link) - strlen(start) - strlen(end));
    assert_non_null(strstr(query, "limit=1"));
    assert_non_null(strstr(query, apr_pstrcat(*state, "cursor=", cursor, NULL)));
    assert_int_equal(list(s, query, *state), 200);
    assert_string_equal(s->before, FIRST);
    assert_int_equal(list(s, "limit=2", *state), 200);
    assert_null(header_of(s->host, "Link")); /* there is no next page */
}

TEST(a_cursor_with_a_changed_bit_is_refused)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    const char *cursor = cursor_for(s, "limit=1", *state);
    for (size_t i = 0; cursor[i]; i++)
        for (int bit = 1; bit < 64; bit *= 2) {
            char *forged = apr_pstrdup(*state, cursor);
            forged[i] = alphabet[(strchr(alphabet, forged[i]) - alphabet) ^ bit];
            assert_cursor_refused(s, "limit=1", forged, "validation.cursor_invalid", *state);
        }
}

TEST(a_cursor_has_one_spelling)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    const char *cursor = cursor_for(s, "limit=1", *state);
    assert_cursor_refused(s, "", apr_pstrcat(*state, cursor, "=", NULL), "validation.cursor_invalid", *state);
    assert_cursor_refused(s, "", apr_pstrcat(*state, cursor, "A", NULL), "validation.cursor_invalid", *state);
    assert_cursor_refused(s, "", apr_pstrcat(*state, cursor, cursor, NULL), "validation.cursor_invalid", *state);
    assert_cursor_refused(s, "", apr_pstrcat(*state, " ", cursor, NULL), "validation.cursor_invalid", *state);
    for (apr_size_t len = 0; len < strlen(cursor); len++)
        assert_cursor_refused(s, "", apr_pstrndup(*state, cursor, len), "validation.cursor_invalid", *state);
    assert_cursor_refused(s, "", FIRST, "validation.cursor_invalid", *state);
}

TEST(a_cursor_is_valid_for_its_organization_only)
{
    fixture *s = fixture_with(token_of(2, *state), *state);
    apr_table_setn(s->host->headers, "X-Organization-ID", ORGANIZATION);
    const char *cursor = cursor_for(s, "limit=1", *state);
    assert_string_equal(s->organization, ORGANIZATION);
    apr_table_setn(s->host->headers, "X-Organization-ID", OTHER_ORGANIZATION);
    assert_cursor_refused(s, "limit=1", cursor, "validation.cursor_invalid", *state);
    cursor = cursor_for(s, "limit=1", *state);
    assert_string_equal(s->organization, OTHER_ORGANIZATION);
    assert_int_equal(list_with(s, "", cursor, *state), 200);
}

TEST(a_cursor_is_valid_for_its_filters_only)
{
    static const char *const others[] = {
        "", "q=abcd", "q=abc&creci=1", "creci=abc", "q=Abc", "visibility=public", "q=abc&visibility=public"};
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    const char *cursor = cursor_for(s, "limit=1&q=abc", *state);
    for (int i = 0; i < COUNT(others); i++)
        assert_cursor_refused(s, others[i], cursor, "validation.cursor_invalid", *state);
    assert_int_equal(list_with(s, "q=%61bc", cursor, *state), 200);
    cursor = cursor_for(s, "limit=1&creci=a,b%2Cc", *state);
    assert_int_equal(list_with(s, "creci=a&creci=b%2cc", cursor, *state), 200);
    assert_cursor_refused(s, "creci=a,b,c", cursor, "validation.cursor_invalid", *state);
    assert_cursor_refused(s, "creci=a", cursor, "validation.cursor_invalid", *state);
    cursor = cursor_for(s, "limit=1&q=abc&creci=1", *state);
    assert_int_equal(list_with(s, "creci=1&q=abc", cursor, *state), 200); /* in any order */
}

TEST(a_cursor_carries_its_order)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    const char *cursor = cursor_for(s, "limit=1&sort=-updated_at", *state);
    assert_int_equal(list_with(s, "sort=-updated_at&count=true", cursor, *state), 200);
    assert_string_equal(s->position, "1789000000000001");
    assert_string_equal(header_of(s->host, "X-Total-Count"), "10000+");
    assert_cursor_refused(s, "", cursor, "validation.cursor_invalid", *state);
    assert_cursor_refused(s, "sort=updated_at", cursor, "validation.cursor_invalid", *state);
    cursor = cursor_for(s, "limit=1", *state);
    assert_int_equal(list_with(s, "sort=-created_at", cursor, *state), 200);
    assert_null(header_of(s->host, "X-Total-Count"));
}

TEST(an_expired_cursor_is_refused)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    s->site->cursor_lifetime = 0;
    const char *cursor = cursor_for(s, "limit=1", *state);
    assert_cursor_refused(s, "", cursor, "validation.cursor_expired", *state);
    s->site->cursor_lifetime = 3600; /* the expiry is in the cursor */
    assert_cursor_refused(s, "", cursor, "validation.cursor_expired", *state);
}

TEST(a_cursor_opens_with_any_key_of_the_deployment)
{
    fixture *s = fixture_with(key_of("org_viewer", *state), *state);
    neo_keys *keys = &s->site->cursor_keys;
    const char *old = cursor_for(s, "limit=1", *state);
    memcpy(keys->key[1], keys->key[0], NEO_KEY_SIZE);
    memset(keys->key[0], 8, NEO_KEY_SIZE);
    keys->count = 2;
    const char *new = cursor_for(s, "limit=1", *state);
    assert_int_equal(list_with(s, "", old, *state), 200);
    assert_int_equal(list_with(s, "", new, *state), 200);
    keys->count = 1; /* the old key is removed */
    assert_cursor_refused(s, "", old, "validation.cursor_invalid", *state);
    assert_int_equal(list_with(s, "", new, *state), 200);
}
