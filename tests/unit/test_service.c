/* SPDX-License-Identifier: Apache-2.0 */
/* The request pipeline without a database: authentication, routing, scopes, rate limits, and what every response has. */
#include "fake_host.h"

#include "core/clock.h"
#include "core/encode.h"

/* The clock of the code under test, which the linker puts in place of the real one (see the Makefile). */
static neo_ms clock_ms = 1800000000000;
neo_ms __wrap_neo_now_ms(void);

neo_ms __wrap_neo_now_ms(void)
{
    return clock_ms;
}

static void assert_header(const fake_host *host, const char *name, const char *value)
{
    assert_non_null(header_of(host, name));
    assert_string_equal(header_of(host, name), value);
}

static fake_host *caller(const char *secret, apr_pool_t *pool)
{
    fake_host *host = host_with(NULL, pool);
    if (secret)
        apr_table_setn(host->headers, "X-API-Key", secret);
    return host;
}

/* A site with one cached key, and a host whose requests have it. */
typedef struct {
    neo_site *site;
    fake_key *key;
    fake_host *host;
} fixture;

static fixture fixture_with(fake_key *key, apr_pool_t *pool)
{
    fixture s = {site_of(pool), key, caller(key->secret, pool)};
    cache_key(s.site, key);
    return s;
}

/* ---------------------------------------------------------------- every response */

static void assert_common_headers(const fake_host *host)
{
    static const char *const counted[] = {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"};
    long long value;
    assert_header(host, "X-Request-ID", REQUEST_ID);
    assert_header(host, "X-Content-Type-Options", "nosniff");
    assert_header(host, "Cache-Control", header_of(host, "ETag") ? "private, no-cache" : "no-store");
    for (int i = 0; i < COUNT(counted); i++) {
        assert_non_null(header_of(host, counted[i]));
        assert_true(neo_integer_parse(header_of(host, counted[i]), &value) && value >= 0);
    }
    assert_true(value > neo_now_ms() / 1000 && value <= neo_now_ms() / 1000 + 60);
}

/* The members of a problem by RFC 9457 and by the API's contract. */
static void assert_problem(const fake_host *host, const char *instance, apr_pool_t *pool)
{
    static const char *const members[] = {"type", "title", "detail", "code", "timestamp", "documentation_url"};
    neo_json *body = body_of(host, pool);
    neo_ms ms;
    assert_string_equal(host->response.media_type, "application/problem+json");
    assert_int_equal(neo_json_integer(neo_json_get(body, "status")), host->response.status);
    for (int i = 0; i < COUNT(members); i++)
        assert_true(neo_json_get(body, members[i]) && *neo_json_string(neo_json_get(body, members[i])));
    assert_string_equal(member_of(host, "request_id", pool), REQUEST_ID);
    assert_string_equal(member_of(host, "instance", pool), instance);
    assert_true(neo_ms_parse(member_of(host, "timestamp", pool), &ms));
    assert_string_equal(member_of(host, "documentation_url", pool),
                        apr_pstrcat(pool, DOCS_URL "/errors#", member_of(host, "code", pool), NULL));
    assert_int_equal(neo_json_get(body, "errors") != NULL, host->response.status == 400);
    assert_int_equal(neo_json_get(body, "retry_after") != NULL, host->response.status == 429);
    assert_int_equal(header_of(host, "Retry-After") != NULL, host->response.status == 429 || host->response.status == 503);
}

TEST(responses_have_the_common_headers_and_errors_all_members)
{
    static const struct {
        const char *method, *path;
        int with_key, status;
    } requests[] = {
        {"GET", "me", 1, 200},
        {"HEAD", "me", 1, 200},
        {"OPTIONS", "brokers", 1, 204},
        {"GET", "openapi.yaml", 0, 200},
        {"GET", "docs/errors", 0, 200},
        {"GET", "me", 0, 401},
        {"GET", "nothing", 1, 404},
        {"GET", "brokers/brk_1", 1, 404},
        {"PUT", "brokers", 1, 405},
        {"GET", "brokers?limit=0", 1, 400},
        {"POST", "brokers", 1, 400},
        {"GET", "brokers", 1, 503},
        {"GET", "brokers/brk_01jd3x00000000000000000000", 1, 503},
    };
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    for (int i = 0; i < COUNT(requests); i++) {
        fake_host *host = caller(requests[i].with_key ? s.key->secret : NULL, *state);
        assert_int_equal(ask(s.site, host, requests[i].method, requests[i].path, *state), requests[i].status);
        assert_common_headers(host);
        if (requests[i].status >= 400) {
            const char *path = apr_pstrndup(*state, requests[i].path, strcspn(requests[i].path, "?"));
            assert_problem(host, apr_pstrcat(*state, "/public/v1/", path, NULL), *state);
        }
        assert_int_equal(host->response.media_type == NULL, requests[i].status == 204);
    }
}

TEST(a_response_has_the_id_of_the_credential)
{
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    ask(s.site, s.host, "GET", "nothing", *state);
    assert_string_equal(s.host->response.principal, s.key->credential.id);
    assert_false(s.host->response.is_token);
    fake_key *token = token_of(1, *state);
    cache_key(s.site, token);
    fake_host *host = caller(token->secret, *state);
    ask(s.site, host, "GET", "me", *state);
    assert_string_equal(host->response.principal, token->credential.id);
    assert_true(host->response.is_token);
    host = caller("nonsense", *state);
    ask(s.site, host, "GET", "me", *state);
    assert_null(host->response.principal);
}

/* ---------------------------------------------------------------- authentication */

static const char *changed(const char *secret, int at, apr_pool_t *pool)
{
    char *copy = apr_pstrdup(pool, secret);
    copy[at] = copy[at] == 'a' ? 'b' : 'a';
    return copy;
}

TEST(a_request_without_a_valid_credential_is_unauthorized)
{
    fake_key *key = key_of("org_admin", *state), *other = key_of("org_admin", *state);
    fixture s = fixture_with(key, *state);
    const char *swapped = apr_pstrcat(*state, apr_pstrndup(*state, key->secret, NEO_ID_LEN), other->secret + NEO_ID_LEN, NULL);
    const char *const error[] = {
        "x",
        " ",
        key->credential.id,
        apr_pstrcat(*state, key->secret, "x", NULL),
        apr_pstrcat(*state, key->secret, ", ", key->secret, NULL), /* sent twice */
        changed(key->secret, NEO_ID_LEN + 5, *state),
        changed(key->secret, NEO_SECRET_LEN - 1, *state),
        changed(key->secret, 0, *state),
        swapped,
    };
    assert_refused(s.site, caller(NULL, *state), "GET", "me", 401, "unauthorized.auth_required", *state);
    assert_refused(s.site, caller("", *state), "GET", "me", 401, "unauthorized.auth_required", *state);
    for (int i = 0; i < 2 * COUNT(error); i++) {
        fake_host *host = caller(error[i % COUNT(error)], *state);
        if (i >= COUNT(error)) /* also after the right one was verified */
            assert_int_equal(ask(s.site, s.host, "GET", "me", *state), 200);
        assert_refused(s.site, host, "GET", "me", 401, "unauthorized.invalid_credential", *state);
        assert_non_null(header_of(host, "WWW-Authenticate"));
        assert_int_equal(host->acquired, 0); /* the checksum shows a typo */
    }
    assert_int_equal(ask(s.site, s.host, "GET", "me", *state), 200);
}

TEST(a_revoked_credential_is_reported_only_with_its_secret)
{
    fake_key *key = key_of("org_admin", *state);
    key->credential.is_revoked = 1;
    fixture s = fixture_with(key, *state);
    assert_refused(s.site, s.host, "GET", "me", 401, "unauthorized.revoked_credential", *state);
    memset(key->credential.hash, 0, sizeof key->credential.hash);
    cache_key(s.site, key);
    assert_refused(s.site, s.host, "GET", "me", 401, "unauthorized.invalid_credential", *state);
}

TEST(the_previous_secret_is_valid_until_it_expires)
{
    fake_key *key = key_of("org_admin", *state);
    memcpy(key->credential.previous_hash, key->credential.hash, sizeof key->credential.hash);
    memset(key->credential.hash, 0, sizeof key->credential.hash);
    key->credential.previous_until = neo_now_ms() + 300;
    fixture s = fixture_with(key, *state);
    assert_int_equal(ask(s.site, s.host, "GET", "me", *state), 200);
    assert_int_equal(ask(s.site, s.host, "GET", "me", *state), 200);
    clock_ms = key->credential.previous_until + 1;
    assert_refused(s.site, s.host, "GET", "me", 401, "unauthorized.invalid_credential", *state);
}

TEST(without_a_credential_no_path_is_disclosed)
{
    static const char *const methods[] = {"GET", "POST", "OPTIONS", "NONSENSE"};
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    for (int i = 0; i < COUNT(methods); i++) {
        assert_refused(s.site, caller(NULL, *state), methods[i], "nothing", 401, "unauthorized.auth_required", *state);
        assert_refused(s.site, caller(NULL, *state), methods[i], "brokers", 401, "unauthorized.auth_required", *state);
    }
}

TEST(public_paths_need_no_valid_credential)
{
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    const char *const secrets[] = {NULL, "nonsense", s.key->secret, key_of("org_admin", *state)->secret};
    for (int i = 0; i < COUNT(secrets); i++) {
        fake_host *host = caller(secrets[i], *state);
        assert_int_equal(ask(s.site, host, "GET", "openapi.yaml", *state), 200);
        assert_int_equal(ask(s.site, host, "OPTIONS", "docs/errors", *state), 204);
        assert_refused(s.site, host, "POST", "openapi.yaml", 405, "validation.method_not_allowed", *state);
    }
}

TEST(without_a_database_only_cached_credentials_work)
{
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    fake_host *stranger = caller(key_of("org_admin", *state)->secret, *state);
    assert_int_equal(ask(s.site, s.host, "GET", "me", *state), 200);
    assert_refused(s.site, s.host, "GET", "brokers", 503, "internal.unavailable", *state);
    assert_header(s.host, "Retry-After", "5");
    for (int i = 0; i < 700; i++) /* these must not be counted */
        assert_refused(s.site, stranger, "GET", "me", 503, "internal.unavailable", *state);
    assert_header(stranger, "Retry-After", "5");
    assert_header(stranger, "X-RateLimit-Remaining", "600");
    neo_credential_cache_distrust(s.site->credential_cache);
    assert_refused(s.site, s.host, "GET", "me", 503, "internal.unavailable", *state);
}

/* ---------------------------------------------------------------- routing */

TEST(an_unknown_path_is_not_found)
{
    static const char *const paths[] = {"",        "nothing",    "me/",         "brokers/", "brokers/x/y", "/brokers",
                                        "Brokers", "brokers//x", "openapi.yml", "me/x",     "docs//",      "docs/errors/"};
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    for (int i = 0; i < COUNT(paths); i++)
        assert_refused(s.site, s.host, "GET", paths[i], 404, "not_found.route", *state);
}

TEST(a_malformed_id_is_not_found_without_a_query)
{
    static const char *const ids[] = {"x",
                                      "brk_",
                                      "org_01jd3x00000000000000000000",
                                      "brk_01JD3X00000000000000000000",
                                      "brk_01jd3x000000000000000000000",
                                      "brk_81jd3x00000000000000000000",
                                      "batches"};
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    for (int i = 0; i < COUNT(ids); i++)
        assert_refused(s.site, s.host, "GET", apr_pstrcat(*state, "brokers/", ids[i], NULL), 404, "not_found.broker", *state);
    assert_int_equal(s.host->acquired, 0);
}

TEST(a_method_that_is_not_allowed_is_refused_with_allow)
{
    static const char *const cases[][3] = {
        {"POST", "me", "GET, HEAD, OPTIONS"},
        {"DELETE", "brokers", "GET, HEAD, OPTIONS, POST"},
        {"POST", "brokers/x", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"},
        {"GET", "brokers/batch", "OPTIONS, POST"},
        {"TRACE", "brokers/x", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"},
        {"get", "me", "GET, HEAD, OPTIONS"},
        {"", "me", "GET, HEAD, OPTIONS"},
    };
    fixture s = fixture_with(key_of("org_viewer", *state), *state);
    for (int i = 0; i < COUNT(cases); i++) {
        assert_refused(s.site, s.host, cases[i][0], cases[i][1], 405, "validation.method_not_allowed", *state);
        assert_header(s.host, "Allow", cases[i][2]);
        assert_int_equal(ask(s.site, s.host, "OPTIONS", cases[i][1], *state), 204);
        assert_header(s.host, "Allow", cases[i][2]);
        assert_int_equal(s.host->response.body.len, 0);
    }
}

/* ---------------------------------------------------------------- scopes and organizations */

TEST(an_operation_needs_its_scope)
{
    static const char *const writes[][2] = {
        {"POST", "brokers"}, {"PATCH", "brokers/x"}, {"PUT", "brokers/x"}, {"DELETE", "brokers/x"}};
    fixture s = fixture_with(key_of("org_viewer", *state), *state);
    for (int i = 0; i < COUNT(writes); i++) {
        assert_refused(s.site, s.host, writes[i][0], writes[i][1], 403, "forbidden.insufficient_permissions", *state);
        assert_non_null(strstr(member_of(s.host, "detail", *state), "brokers:write"));
    }
    assert_int_equal(s.host->bodies_read, 0); /* the scope is checked first */
    assert_refused(s.site, s.host, "GET", "brokers/x", 404, "not_found.broker", *state);
    s.key->credential.scopes = NEO_SCOPES_ALL & ~NEO_SCOPE_READ(NEO_AREA_BROKERS);
    cache_key(s.site, s.key);
    assert_refused(s.site, s.host, "GET", "brokers", 403, "forbidden.insufficient_permissions", *state);
    assert_refused(s.site, s.host, "HEAD", "brokers/x", 403, "forbidden.insufficient_permissions", *state);
    assert_int_equal(ask(s.site, s.host, "GET", "me", *state), 200);
}

/* GET /me with X-Organization-ID, or without if it is NULL. */
static int ask_me(fixture *s, const char *organization, apr_pool_t *pool)
{
    apr_table_unset(s->host->headers, "X-Organization-ID");
    if (organization)
        apr_table_setn(s->host->headers, "X-Organization-ID", organization);
    return ask(s->site, s->host, "GET", "me", pool);
}

TEST(a_key_has_access_to_its_organization_only)
{
    static const char *const foreign[] = {
        OTHER_ORGANIZATION, FAR_ORGANIZATION, "", "x", ORGANIZATION " ", ORGANIZATION ", " ORGANIZATION};
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    assert_int_equal(ask_me(&s, NULL, *state), 200);
    assert_string_equal(member_of(s.host, "organization_id", *state), ORGANIZATION);
    assert_int_equal(ask_me(&s, ORGANIZATION, *state), 200);
    for (int i = 0; i < COUNT(foreign); i++) {
        assert_int_equal(ask_me(&s, foreign[i], *state), 403);
        assert_string_equal(member_of(s.host, "code", *state), "forbidden.organization");
    }
}

TEST(a_token_of_several_organizations_must_select_one_except_for_me)
{
    fixture s = fixture_with(token_of(2, *state), *state);
    assert_int_equal(ask_me(&s, NULL, *state), 200);
    assert_string_equal(member_of(s.host, "organization_id", *state), ORGANIZATION);
    assert_int_equal(neo_json_size(neo_json_get(body_of(s.host, *state), "allowed_organization_ids")), 2);
    assert_refused(s.site, s.host, "GET", "brokers/x", 400, "validation.organization_required", *state);
    assert_int_equal(ask_me(&s, OTHER_ORGANIZATION, *state), 200);
    assert_string_equal(member_of(s.host, "organization_id", *state), OTHER_ORGANIZATION);
    assert_refused(s.site, s.host, "GET", "brokers/x", 404, "not_found.broker", *state);
    assert_int_equal(ask_me(&s, FAR_ORGANIZATION, *state), 403);
}

TEST(a_token_of_one_organization_need_not_select_it)
{
    fixture s = fixture_with(token_of(1, *state), *state);
    assert_refused(s.site, s.host, "GET", "brokers/x", 404, "not_found.broker", *state);
    assert_int_equal(ask_me(&s, OTHER_ORGANIZATION, *state), 403);
    fixture none = fixture_with(token_of(0, *state), *state);
    assert_int_equal(ask_me(&none, NULL, *state), 403);
}

TEST(me_has_exactly_the_members_of_the_kind_of_credential)
{
    static const char *const of_key[] = {"type", "principal_id", "tenant_id", "organization_id", "role", "scopes"};
    static const char *const of_token[] = {
        "type", "principal_id", "tenant_id", "organization_id", "user_id", "email", "allowed_organization_ids"};
    fixture key = fixture_with(key_of("org_editor", *state), *state);
    assert_int_equal(ask_me(&key, NULL, *state), 200);
    assert_int_equal(neo_json_size(body_of(key.host, *state)), COUNT(of_key));
    for (int i = 0; i < COUNT(of_key); i++)
        assert_non_null(neo_json_get(body_of(key.host, *state), of_key[i]));
    assert_string_equal(member_of(key.host, "type", *state), "api_key");
    assert_string_equal(member_of(key.host, "role", *state), "org_editor");
    fixture token = fixture_with(token_of(1, *state), *state);
    assert_int_equal(ask_me(&token, NULL, *state), 200);
    assert_int_equal(neo_json_size(body_of(token.host, *state)), COUNT(of_token));
    for (int i = 0; i < COUNT(of_token); i++)
        assert_non_null(neo_json_get(body_of(token.host, *state), of_token[i]));
    assert_string_equal(member_of(token.host, "type", *state), "personal_access_token");
    assert_string_equal(member_of(token.host, "email", *state), "ana@example.com");
}

/* ---------------------------------------------------------------- rate limits */

TEST(a_credential_has_the_rate_limit_of_its_plan)
{
    fake_key *key = key_of("org_admin", *state);
    key->credential.requests = 3;
    fixture s = fixture_with(key, *state);
    for (int i = 2; i >= 0; i--) { /* requests of any status are counted */
        static const char *const paths[] = {"me", "nothing", "brokers?limit=0"};
        assert_int_not_equal(ask(s.site, s.host, "GET", paths[i], *state), 429);
        assert_header(s.host, "X-RateLimit-Limit", "3");
        assert_header(s.host, "X-RateLimit-Remaining", apr_itoa(*state, i));
    }
    assert_refused(s.site, s.host, "GET", "me", 429, "rate_limit.exceeded", *state);
    assert_common_headers(s.host);
    assert_problem(s.host, "/public/v1/me", *state);
    long long wait = neo_json_integer(neo_json_get(body_of(s.host, *state), "retry_after"));
    assert_true(wait >= 1 && wait <= 60);
    assert_header(s.host, "Retry-After", apr_itoa(*state, (int)wait));
    assert_refused(s.site, s.host, "GET", "openapi.yaml", 429, "rate_limit.exceeded", *state);
    fixture other = fixture_with(key_of("org_admin", *state), *state);
    other.site->credentials = s.site->credentials;
    assert_int_equal(ask(other.site, other.host, "GET", "me", *state), 200);
}

/* The number of requests without a credential from an address that are not refused with 429. */
static int passes(neo_site *site, const char *address, int requests, apr_pool_t *pool)
{
    int passed = 0;
    for (int i = 0; i < requests; i++) {
        fake_host *host = caller("nonsense", pool);
        host->address = address;
        passed += ask(site, host, "GET", "me", pool) != 429;
    }
    return passed;
}

TEST(requests_without_a_credential_are_limited_by_address)
{
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    assert_int_equal(passes(s.site, "192.0.2.1", NEO_ADDRESS_REQUESTS + 10, *state), NEO_ADDRESS_REQUESTS);
    assert_int_equal(passes(s.site, "192.0.2.2", 10, *state), 10);
    assert_int_equal(ask(s.site, s.host, "GET", "me", *state), 200);
    assert_refused(s.site, caller(NULL, *state), "GET", "openapi.yaml", 429, "rate_limit.exceeded", *state);
}

TEST(the_addresses_of_a_64_network_share_a_limit)
{
    neo_site *site = site_of(*state);
    assert_int_equal(passes(site, "2001:db8:1:2::1", 400, *state), 400);
    assert_int_equal(passes(site, "2001:db8:1:2:ffff:ffff:ffff:ffff", 400, *state), 200);
    assert_int_equal(passes(site, "2001:db8:1:3::1", 10, *state), 10);
}

TEST(the_addresses_of_a_48_network_share_a_higher_limit)
{
    neo_site *site = site_of(*state);
    int passed = 0;
    for (int i = 0; i < 8; i++)
        passed += passes(site, apr_psprintf(*state, "2001:db8:1:%d::1", i), 500, *state);
    assert_int_equal(passed, NEO_NETWORK_REQUESTS);
    assert_int_equal(passes(site, "2001:db8:2:1::1", 10, *state), 10);
}

/* ---------------------------------------------------------------- refusals of the host */

TEST(a_refusal_of_the_host_is_a_counted_problem)
{
    static const neo_code codes[] = {NEO_VALIDATION_MALFORMED_REQUEST, NEO_VALIDATION_REQUEST_TIMEOUT,
                                     NEO_VALIDATION_BODY_TOO_LARGE, NEO_NOT_FOUND_ROUTE, NEO_INTERNAL_UNEXPECTED};
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    s.host->refused = 1;
    for (int i = 0; i < COUNT(codes); i++) {
        s.host->fault = neo_problem_make(*state, codes[i], "As it is.");
        int status = ask(s.site, s.host, "GET", "brokers", *state);
        assert_int_equal(status, neo_code_row(codes[i])->status);
        assert_string_equal(member_of(s.host, "code", *state), neo_code_row(codes[i])->code);
        assert_common_headers(s.host);
        assert_header(s.host, "X-RateLimit-Limit", "600");
        assert_header(s.host, "X-RateLimit-Remaining", apr_itoa(*state, 599 - i));
        assert_null(s.host->response.principal);
    }
}

TEST(a_refusal_of_a_counted_request_does_not_count_against_the_address)
{
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    s.host->refused = 1;
    s.host->fault = neo_problem_make(*state, NEO_VALIDATION_MALFORMED_REQUEST, "As it is.");
    s.host->counted = &s.key->credential;
    assert_int_equal(ask(s.site, s.host, "POST", "brokers", *state), 400);
    assert_header(s.host, "X-RateLimit-Limit", "1000");
    assert_string_equal(s.host->response.principal, s.key->credential.id);
    s.host->counted = NULL;
    assert_int_equal(ask(s.site, s.host, "POST", "brokers", *state), 400);
    assert_header(s.host, "X-RateLimit-Remaining", "599");
}

TEST(a_refusal_by_the_hosts_access_rules_keeps_its_challenge)
{
    fixture s = fixture_with(key_of("org_admin", *state), *state);
    s.host->refused = 1;
    s.host->fault = neo_problem_make(*state, NEO_FORBIDDEN_BY_SERVER, "As it is.");
    s.host->fault->status = 401;
    assert_int_equal(ask(s.site, s.host, "GET", "brokers", *state), 401);
    assert_null(header_of(s.host, "WWW-Authenticate"));
}
