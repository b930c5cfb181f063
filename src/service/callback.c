/* Callbacks of WhatsApp's provider: the handshake, and what happened to numbers of organizations. A callback is answered with
 * success only when all of it is committed, since the provider repeats what is not, for days. Who is not the provider learns
 * nothing from the answers. */
#include <apr_escape.h>
#include <apr_strings.h>
#include <stdatomic.h>
#include <string.h>

#include "call.h"
#include "core/clock.h"
#include "core/encode.h"
#include "core/log.h"
#include "core/secret.h"
#include "model/callback.h"
#include "model/route.h"
#include "store/whatsapp.h"

#define SIGNATURE     "sha256="
#define RETRY_SECONDS "5"
#define MAX_CHALLENGE 255
#define QUIET_SECONDS 60 /* between two messages of the log about the same kind of trouble, in one process */

/* ---------------------------------------------------------------- answers */

static void answer(neo_call *call, int status, const char *text)
{
    call->response->status = status;
    call->response->media_type = "text/plain; charset=utf-8";
    call->response->body = (neo_text){text, strlen(text)};
}

static void forbid(neo_call *call)
{
    answer(call, 403, "forbidden\n");
}

/* Forbids, and counts that against the address. */
static void refuse(neo_call *call)
{
    neo_allowance allowance;
    neo_call_count(call, 1, &allowance);
    forbid(call);
}

static void answer_failure(neo_call *call, neo_pg_status status)
{
    if (status == NEO_PG_UNAVAILABLE || status == NEO_PG_SCHEMA || status == NEO_PG_RETRY) {
        neo_call_set_header(call, "Retry-After", RETRY_SECONDS);
        answer(call, 503, "unavailable\n");
    } else
        answer(call, 500, "failed\n");
}

/* Whether it is time again to write to the log: anybody can send what is refused. */
static int may_log(atomic_llong *last)
{
    long long now = neo_steady_seconds() + QUIET_SECONDS, before = atomic_load(last);
    return now - before >= QUIET_SECONDS && atomic_compare_exchange_strong(last, &before, now);
}

/* ---------------------------------------------------------------- the handshake */

/* A parameter of the query, decoded; NULL where it is not there. */
static const char *parameter(const neo_call *call, const char *name)
{
    char *rest = apr_pstrdup(call->pool, call->request->query ? call->request->query : ""), *pair;
    size_t len = strlen(name);
    while ((pair = strsep(&rest, "&")))
        if (strncmp(pair, name, len) == 0 && pair[len] == '=')
            return apr_punescape_url(call->pool, pair + len + 1, NULL, NULL, 1);
    return NULL;
}

static int is_challenge(const char *text)
{
    size_t len = strlen(text);
    for (const char *c = text; *c; c++)
        if (*c < ' ' || *c >= 0x7F)
            return 0;
    return len > 0 && len <= MAX_CHALLENGE;
}

static void handle_verification(neo_call *call)
{
    static atomic_llong last;
    neo_rows rows;
    unsigned char hash[NEO_SHA256_SIZE];
    const char *mode = parameter(call, "hub.mode"), *token = parameter(call, "hub.verify_token");
    const char *challenge = parameter(call, "hub.challenge");
    if (!mode || strcmp(mode, "subscribe") != 0 || !token || !challenge || !is_challenge(challenge)) {
        refuse(call);
        return;
    }
    neo_pg *pg = call->request->host->acquire(call->request->context);
    if (!pg) {
        answer_failure(call, NEO_PG_UNAVAILABLE);
        return;
    }
    neo_sha256(token, strlen(token), hash);
    neo_pg_status status = neo_whatsapp_verify(pg, hash, call->pool, &rows);
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        answer_failure(call, status);
    else if (rows.count)
        answer(call, 200, challenge);
    else {
        if (may_log(&last))
            neo_log(NEO_LOG_VERIFY_TOKEN, call->request->log_context,
                    "the callback's address was verified with a token that no number has");
        refuse(call);
    }
}

/* ---------------------------------------------------------------- who sent it */

/* The signature that came along; false where it has not the form of one. */
static int read_signature(const neo_call *call, unsigned char given[NEO_SHA256_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    const char *header = neo_call_header(call, "X-Hub-Signature-256");
    if (!header || strncmp(header, SIGNATURE, strlen(SIGNATURE)) != 0 ||
        strlen(header += strlen(SIGNATURE)) != 2 * NEO_SHA256_SIZE || strspn(header, digits) != 2 * NEO_SHA256_SIZE)
        return 0;
    for (int i = 0; i < NEO_SHA256_SIZE; i++)
        given[i] =
            (unsigned char)((strchr(digits, header[2 * i]) - digits) << 4 | (strchr(digits, header[2 * i + 1]) - digits));
    return 1;
}

/* Numbers that the ids are of. NULL where the database cannot tell; then that is the answer. */
static neo_rows *read_numbers(neo_call *call, const char *const *ids)
{
    neo_rows *rows = apr_pcalloc(call->pool, sizeof *rows);
    neo_pg *pg = call->request->host->acquire(call->request->context);
    neo_pg_status status = pg ? neo_whatsapp_numbers(pg, ids, call->pool, rows) : NEO_PG_UNAVAILABLE;
    if (pg)
        neo_call_release(call, pg);
    if (status == NEO_PG_OK)
        return rows;
    answer_failure(call, status);
    return NULL;
}

static const char *secret_of(const neo_call *call, const neo_rows *numbers, int row)
{
    static atomic_llong last;
    const char *number = neo_rows_value(numbers, row, NEO_NUMBER_ID);
    const char *secret =
        neo_secret_open(&call->site->keys, number, neo_rows_value(numbers, row, NEO_NUMBER_APP_SECRET), call->pool);
    if (!secret && may_log(&last))
        neo_log(NEO_LOG_APP_SECRET_SEALED, call->request->log_context,
                "the app secret of %s cannot be opened with any key of the key file, so its callbacks are refused", number);
    return secret;
}

static int is_same(const char *a, const char *b)
{
    size_t len = strlen(a);
    return len == strlen(b) && neo_equal_constant_time(a, b, len);
}

/* The app secret that the body is signed with, among those of these numbers; NULL where there is none. */
static const char *signer_of(const neo_call *call, const neo_rows *numbers, const unsigned char given[NEO_SHA256_SIZE])
{
    const char *last = NULL;
    for (int i = 0; i < numbers->count; i++) {
        unsigned char right[NEO_SHA256_SIZE];
        const char *secret = secret_of(call, numbers, i);
        if (!secret || (last && is_same(secret, last))) /* the numbers of an app have one secret */
            continue;
        neo_hmac_sha256(secret, strlen(secret), &call->raw, 1, right);
        if (neo_equal_constant_time(right, given, sizeof right))
            return secret;
        last = secret;
    }
    return NULL;
}

static void log_not_signed(const neo_call *call, const neo_rows *numbers, int row)
{
    static atomic_llong last;
    if (may_log(&last))
        neo_log(NEO_LOG_NOT_SIGNED, call->request->log_context,
                "a callback about %s (phone_number_id %s) is not signed with its app secret and was refused",
                neo_rows_value(numbers, row, NEO_NUMBER_ID), neo_rows_value(numbers, row, NEO_NUMBER_PHONE_NUMBER_ID));
}

/* It may be the provider, and the secret the one that is wrong: that is not counted, because callbacks about all numbers come
 * from the same addresses. */
static void refuse_unknown_number(neo_call *call, const char *const *ids, const neo_rows *numbers)
{
    static atomic_llong last;
    if (numbers->count) {
        log_not_signed(call, numbers, 0);
        forbid(call);
        return;
    }
    if (may_log(&last))
        neo_log(NEO_LOG_NUMBER_UNKNOWN, call->request->log_context,
                "a callback was refused, because no organization has the number (phone_number_id %s)",
                ids[0] ? ids[0] : "missing");
    refuse(call);
}

/* ---------------------------------------------------------------- what it tells */

/* The ids by which the provider calls the numbers that facts are about, once each. */
static const char *const *numbers_in(const apr_array_header_t *facts, apr_pool_t *pool)
{
    apr_array_header_t *found = apr_array_make(pool, 4, sizeof(const char *));
    const char *last = "";
    for (int i = 0; i < facts->nelts; i++) {
        const char *one = APR_ARRAY_IDX(facts, i, neo_fact).phone_number_id;
        int n = strcmp(one, last) == 0 ? -1 : 0;
        while (n >= 0 && n < found->nelts && strcmp(APR_ARRAY_IDX(found, n, const char *), one) != 0)
            n++;
        if (n == found->nelts)
            APR_ARRAY_PUSH(found, const char *) = one;
        last = one;
    }
    APR_ARRAY_PUSH(found, const char *) = NULL;
    return (const char *const *)(void *)found->elts;
}

static int is_among(const char *one, const char *const *all)
{
    while (*all && strcmp(*all, one) != 0)
        all++;
    return *all != NULL;
}

/* Of these numbers, those with this very secret: whoever has another one can tell nothing of them. *other: one of `ids` that
 * has another, a row of `numbers`; -1 where there is none. */
static const char *const *signed_by(const neo_call *call, const neo_rows *numbers, const char *const *ids, const char *signer,
                                    int *other)
{
    apr_array_header_t *found = apr_array_make(call->pool, numbers->count + 1, sizeof(const char *));
    *other = -1;
    for (int i = 0; i < numbers->count; i++) {
        const char *secret = secret_of(call, numbers, i);
        if (secret && is_same(secret, signer))
            APR_ARRAY_PUSH(found, const char *) = neo_rows_value(numbers, i, NEO_NUMBER_ID);
        else if (is_among(neo_rows_value(numbers, i, NEO_NUMBER_PHONE_NUMBER_ID), ids))
            *other = i;
    }
    APR_ARRAY_PUSH(found, const char *) = NULL;
    return (const char *const *)(void *)found->elts;
}

/* What is not all taken is refused, so that it comes again: what was taken changes nothing then. */
static void take(neo_call *call, const apr_array_header_t *facts, const char *signer)
{
    neo_rows rows;
    int other;
    const char *const *ids = numbers_in(facts, call->pool);
    const neo_rows *numbers = read_numbers(call, ids);
    if (!numbers)
        return;
    neo_text facts_json = neo_facts_json(facts, call->pool);
    const char *const *theirs = signed_by(call, numbers, ids, signer, &other);
    neo_pg *pg = call->request->host->acquire(call->request->context);
    neo_pg_status status = pg ? neo_whatsapp_receive(pg, facts_json, theirs, call->pool, &rows) : NEO_PG_UNAVAILABLE;
    if (pg)
        neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        answer_failure(call, status);
    else if (other >= 0) {
        log_not_signed(call, numbers, other);
        forbid(call);
    } else
        answer(call, 200, "ok\n");
}

/* Nothing of a body is looked into, beyond a search for ids, before it is known to be the provider's. */
static void receive(neo_call *call)
{
    unsigned char given[NEO_SHA256_SIZE];
    const char *wrong = "", *signer;
    int dropped;
    const neo_request *request = call->request;
    neo_problem *problem = NULL;
    if (!read_signature(call, given)) {
        refuse(call);
        return;
    }
    if ((problem = request->host->body(request->context, NEO_CALLBACK_MAX_BYTES, &call->raw))) {
        answer(call, neo_problem_status(problem), "not read\n");
        return;
    }
    const char *const *ids = neo_callback_candidates(call->raw, call->pool);
    const neo_rows *numbers = read_numbers(call, ids);
    if (!numbers)
        return;
    if (!(signer = signer_of(call, numbers, given))) {
        refuse_unknown_number(call, ids, numbers);
        return;
    }
    apr_array_header_t *facts = neo_callback_read(call->raw, call->pool, &wrong, &dropped);
    if (!facts || dropped)
        neo_log(NEO_LOG_CALLBACK_UNREAD, request->log_context, "of a callback %s",
                facts ? apr_psprintf(call->pool, "%d parts make no sense and were left out", dropped)
                      : apr_pstrcat(call->pool, "nothing can be read: ", wrong, NULL));
    if (!facts)
        answer(call, 400, "no callback\n");
    else if (!facts->nelts)
        answer(call, 200, "ok\n");
    else
        take(call, facts, signer);
}

/* ---------------------------------------------------------------- the whole */

/* An address that sends what is refused, again and again, is not listened to for a while. */
static int is_welcome(neo_call *call)
{
    neo_allowance allowance;
    neo_call_count(call, 0, &allowance);
    if (allowance.remaining > 0)
        return 1;
    neo_call_set_header(call, "Retry-After", apr_psprintf(call->pool, "%lld", allowance.reset - neo_now_ms() / 1000 + 1));
    answer(call, 429, "too many\n");
    return 0;
}

void neo_service_answer_callback(const neo_site *site, const neo_request *request, neo_response *response)
{
    neo_call call;
    int is_get = strcmp(request->method, "GET") == 0;
    neo_call_begin(&call, site, request, response);
    response->route = neo_route_of_callbacks();
    neo_call_set_header(&call, "Cache-Control", "no-store");
    if (!is_get && strcmp(request->method, "POST") != 0) {
        neo_call_set_header(&call, "Allow", "GET, POST");
        answer(&call, 405, "method not allowed\n");
    } else if (is_welcome(&call)) {
        if (is_get)
            handle_verification(&call);
        else
            receive(&call);
    }
}
