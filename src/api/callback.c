/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of WhatsApp: the verification of the address, and events of the organizations' numbers.
 *
 * Meta repeats a callback for days until the response is 200, so that is sent only after the commit. The responses reveal
 * nothing to other senders. */
#include <apr_escape.h>
#include <apr_strings.h>
#include <stdatomic.h>
#include <string.h>

#include "api/routing.h"
#include "call.h"
#include "core/encode.h"
#include "core/log.h"
#include "core/secret.h"
#include "schema/validate.h"
#include "whatsapp/account.h"
#include "whatsapp/callback.h"
#include "whatsapp/store.h"

#define SIGNATURE      "sha256="
#define MAX_CHALLENGE  255
#define ITEMS_PER_STEP 100
#define COST_BYTES     (64 << 10) /* an unsigned callback costs one unit more for each */

/* ---------------------------------------------------------------- responses */

static const neo_plain_reply OK = {200, "ok\n"}, FORBIDDEN = {403, "forbidden\n"};

/* Counts the request against the address. */
static neo_plain_reply refuse_callback(neo_call *call)
{
    neo_call_count(call, 1);
    return FORBIDDEN;
}

/* Callbacks whose signature is wrong, or of unknown numbers, cost as much as their size: the signature is computed over the
 * body. They have a separate limit, since Meta sends the callbacks of all numbers from the same addresses. */
static int unsigned_cost(apr_size_t bytes)
{
    return 1 + (int)(bytes / COST_BYTES);
}

/* Whether the limit of the address allows the body without a valid signature. Its size is the declared one, if any. */
static neo_allowance check_body(neo_call *call)
{
    const char *length = neo_call_header(call, "Content-Length");
    long long bytes = 0;
    if (length && (!neo_integer_parse(length, &bytes) || bytes < 0 || bytes > NEO_CALLBACK_MAX_BYTES))
        bytes = 0; /* the host refuses it */
    return neo_call_check_unsigned(call, unsigned_cost((apr_size_t)bytes));
}

/* ---------------------------------------------------------------- verification of the address */

/* Returns a decoded query parameter, or NULL if it was not sent. */
static const char *query_parameter(const neo_call *call, const char *name)
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

static neo_plain_reply verify_address(neo_call *call)
{
    static atomic_llong last;
    neo_rows rows;
    unsigned char hash[NEO_SHA256_SIZE];
    const char *mode = query_parameter(call, "hub.mode"), *token = query_parameter(call, "hub.verify_token");
    const char *challenge = query_parameter(call, "hub.challenge");
    if (!mode || strcmp(mode, "subscribe") != 0 || !token || !challenge || !is_challenge(challenge))
        return refuse_callback(call);
    neo_pg *pg = call->request->host->acquire(call->request->context);
    if (!pg)
        return neo_call_failed_reply(call, NEO_PG_UNAVAILABLE);
    neo_sha256(token, strlen(token), hash);
    neo_pg_status status = neo_whatsapp_verify(pg, hash, call->pool, &rows);
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed_reply(call, status);
    if (rows.count)
        return (neo_plain_reply){200, challenge};
    if (neo_call_may_log(&last))
        neo_log(NEO_LOG_VERIFY_TOKEN, call->request->log_context,
                "callback verification refused: no number has this verify token");
    return refuse_callback(call);
}

/* ---------------------------------------------------------------- the signature */

/* Returns false if the header is missing or malformed. */
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

/* The numbers with these ids; without ids, the newest ones. */
static neo_pg_status read_numbers(neo_call *call, const char *const *ids, neo_rows *numbers)
{
    neo_pg *pg = call->request->host->acquire(call->request->context);
    neo_pg_status status = !pg   ? NEO_PG_UNAVAILABLE
                           : ids ? neo_whatsapp_numbers(pg, ids, call->pool, numbers)
                                 : neo_whatsapp_newest_numbers(pg, call->pool, numbers);
    if (pg)
        neo_call_release(call, pg);
    return status;
}

static const char *open_app_secret(const neo_call *call, const neo_rows *numbers, int row)
{
    static atomic_llong last;
    const char *number = neo_rows_value(numbers, row, NEO_NUMBER_ID);
    const char *secret =
        neo_secret_open(&call->site->keys, number, neo_rows_value(numbers, row, NEO_NUMBER_APP_SECRET), call->pool);
    if (!secret && neo_call_may_log(&last))
        neo_log(NEO_LOG_APP_SECRET_SEALED, call->request->log_context,
                "cannot decrypt the app secret of %s with any key in the key file; its callbacks are refused", number);
    return secret;
}

static int is_same(const char *a, const char *b)
{
    size_t len = strlen(a);
    return len == strlen(b) && neo_equal_constant_time(a, b, len);
}

/* The app secret of these numbers that the body is signed with; NULL if it is signed with none. */
static const char *find_signer(const neo_call *call, const neo_rows *numbers, const unsigned char given[NEO_SHA256_SIZE])
{
    const char *last = NULL;
    for (int i = 0; i < numbers->count; i++) {
        unsigned char right[NEO_SHA256_SIZE];
        const char *secret = open_app_secret(call, numbers, i);
        if (!secret || (last && is_same(secret, last))) /* an app's numbers share its secret */
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
    if (neo_call_may_log(&last))
        neo_log(NEO_LOG_NOT_SIGNED, call->request->log_context,
                "callback for %s (phone_number_id %s) refused: not signed with its app secret",
                neo_rows_value(numbers, row, NEO_NUMBER_ID), neo_rows_value(numbers, row, NEO_NUMBER_PHONE_NUMBER_ID));
}

/* If the number is unknown, Meta must not repeat the callback for days. That it is signed with the secret of a number
 * of the same app shows that it is Meta's; otherwise it counts like one that is not signed. */
static neo_plain_reply ignore_number(neo_call *call, const char *number, const unsigned char given[NEO_SHA256_SIZE])
{
    static atomic_llong last;
    neo_rows others;
    neo_pg_status status = read_numbers(call, NULL, &others);
    if (status != NEO_PG_OK)
        return neo_call_failed_reply(call, status);
    if (!find_signer(call, &others, given))
        neo_call_count_unsigned(call, unsigned_cost(call->raw.len));
    if (neo_call_may_log(&last))
        neo_log(NEO_LOG_NUMBER_UNKNOWN, call->request->log_context,
                "callback ignored: no organization has the number (phone_number_id %s)", number);
    call->response->is_unknown_number = 1;
    return OK;
}

/* ---------------------------------------------------------------- items */

/* The distinct phone_number_ids in the items, and the accounts of changes of those, ended by NULL. */
static const char *const *collect_numbers(const apr_array_header_t *items, apr_pool_t *pool)
{
    apr_array_header_t *found = apr_array_make(pool, 4, sizeof(const char *));
    const char *last = "";
    for (int i = 0; i < items->nelts; i++) {
        const neo_callback_item *item = &APR_ARRAY_IDX(items, i, neo_callback_item);
        const char *one = item->kind == NEO_ITEM_ACCOUNT ? item->account : item->phone_number_id;
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

/* Returns the row of the number that an unsigned callback is for, or -1. If the body names no number, only its
 * account is known, so that it can be any of the account's. */
static int find_unsigned_number(const neo_call *call, const neo_rows *numbers, const char *const *ids)
{
    static const char name[] = "\"phone_number_id\"";
    for (int i = 0; i < numbers->count; i++)
        if (neo_has_name(ids, neo_rows_value(numbers, i, NEO_NUMBER_PHONE_NUMBER_ID)))
            return i;
    return numbers->count && !memmem(call->raw.ptr, call->raw.len, name, sizeof name - 1) ? 0 : -1;
}

/* The ids of those numbers whose app secret is `signer`; only their items are recorded. *other: the row of a number in `ids`
 * with another secret, -1 if there is none. */
static const char *const *signed_by(const neo_call *call, const neo_rows *numbers, const char *const *ids, const char *signer,
                                    int *other)
{
    apr_array_header_t *found = apr_array_make(call->pool, numbers->count + 1, sizeof(const char *));
    *other = -1;
    for (int i = 0; i < numbers->count; i++) {
        const char *secret = open_app_secret(call, numbers, i);
        if (secret && is_same(secret, signer))
            APR_ARRAY_PUSH(found, const char *) = neo_rows_value(numbers, i, NEO_NUMBER_ID);
        else if (neo_has_name(ids, neo_rows_value(numbers, i, NEO_NUMBER_PHONE_NUMBER_ID)))
            *other = i;
    }
    APR_ARRAY_PUSH(found, const char *) = NULL;
    return (const char *const *)(void *)found->elts;
}

/* The number of items from `first` on that are stored in one transaction: either all are history, which causes no events, or
 * none. */
static int step_length(const apr_array_header_t *items, int first, int *has_account_change)
{
    int i = first, is_history = APR_ARRAY_IDX(items, first, neo_callback_item).is_history;
    *has_account_change = 0;
    for (; i < items->nelts && i < first + ITEMS_PER_STEP; i++) {
        const neo_callback_item *item = &APR_ARRAY_IDX(items, i, neo_callback_item);
        if (item->is_history != is_history)
            break;
        *has_account_change |= item->kind == NEO_ITEM_ACCOUNT;
    }
    return i - first;
}

/* Stores the items in several transactions, so that none exceeds the statement timeout. If one fails, Meta repeats the
 * callback; storing an item again changes nothing. */
static neo_pg_status receive_items(neo_call *call, neo_pg *pg, const apr_array_header_t *items, const char *const *numbers)
{
    neo_rows rows;
    neo_pg_status status = NEO_PG_OK;
    for (int first = 0, count; first < items->nelts && status == NEO_PG_OK; first += count) {
        int has_account_change;
        count = step_length(items, first, &has_account_change);
        neo_text step = neo_callback_items_json(items, first, count, call->pool);
        if (has_account_change)
            status = neo_whatsapp_apply_changes(pg, step, numbers, call->pool);
        if (status == NEO_PG_OK)
            status = neo_whatsapp_receive(pg, step, numbers, call->pool, &rows);
        if (status == NEO_PG_OK)
            neo_call_notify_dispatcher(call, &rows);
    }
    return status;
}

/* If only a part of the items could be recorded, the callback is refused, so that Meta repeats it; recording an item again
 * changes nothing. */
static neo_plain_reply record(neo_call *call, const apr_array_header_t *items, const char *signer)
{
    neo_rows numbers;
    int other;
    const char *const *ids = collect_numbers(items, call->pool);
    neo_pg_status status = read_numbers(call, ids, &numbers);
    if (status != NEO_PG_OK)
        return neo_call_failed_reply(call, status);
    const char *const *signed_numbers = signed_by(call, &numbers, ids, signer, &other);
    neo_pg *pg = call->request->host->acquire(call->request->context);
    status = pg ? receive_items(call, pg, items, signed_numbers) : NEO_PG_UNAVAILABLE;
    if (pg)
        neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed_reply(call, status);
    if (other < 0)
        return OK;
    log_not_signed(call, &numbers, other);
    return FORBIDDEN;
}

/* Parses the body, whose signature has been verified. */
static neo_plain_reply read_items(neo_call *call, const char *signer)
{
    const char *error = "";
    int dropped;
    void *log_context = call->request->log_context;
    apr_array_header_t *items = neo_callback_read(call->raw, call->site->stop_texts, call->pool, &error, &dropped);
    if (!items) {
        neo_log(NEO_LOG_CALLBACK_UNREAD, log_context, "cannot read a callback: %s", error);
        return (neo_plain_reply){400, "not a callback\n"};
    }
    if (dropped)
        neo_log(NEO_LOG_CALLBACK_UNREAD, log_context, "ignored %d invalid parts of a callback", dropped);
    return items->nelts ? record(call, items, signer) : OK;
}

/* Before the signature is verified, the body is only searched for ids. The callback of a known number does not count as a
 * request of the address: it may come from Meta, with a wrong secret stored here. */
static neo_plain_reply receive(neo_call *call)
{
    unsigned char given[NEO_SHA256_SIZE];
    const neo_request *request = call->request;
    neo_rows numbers;
    if (!read_signature(call, given))
        return refuse_callback(call);
    neo_allowance allowance = check_body(call);
    if (allowance.is_exceeded)
        return neo_call_limited_reply(call, &allowance);
    neo_problem *problem = request->host->body(request->context, NEO_CALLBACK_MAX_BYTES, &call->raw);
    if (problem)
        return (neo_plain_reply){neo_problem_status(problem), "cannot read the body\n"};
    const char *const *ids = neo_callback_candidates(call->raw, call->pool);
    neo_pg_status status = read_numbers(call, ids, &numbers);
    if (status != NEO_PG_OK)
        return neo_call_failed_reply(call, status);
    const char *signer = find_signer(call, &numbers, given);
    if (signer)
        return read_items(call, signer);
    int row = find_unsigned_number(call, &numbers, ids);
    if (row < 0)
        return ids[0] ? ignore_number(call, ids[0], given) : refuse_callback(call);
    neo_call_count_unsigned(call, unsigned_cost(call->raw.len));
    log_not_signed(call, &numbers, row);
    return FORBIDDEN;
}

/* ---------------------------------------------------------------- the request */

static neo_plain_reply receive_callback(neo_call *call)
{
    const char *method = call->request->method;
    int is_get = strcmp(method, "GET") == 0;
    if (!is_get && strcmp(method, "POST") != 0) {
        neo_call_set_header(call, "Allow", "GET, POST");
        return (neo_plain_reply){405, "method not allowed\n"};
    }
    if (!call->site->keys.count) /* without keys, no signature can be verified */
        return neo_call_failed_reply(call, NEO_PG_UNAVAILABLE);
    neo_call_count(call, 0);
    if (call->allowance.remaining == 0) /* too many refused callbacks from the address */
        return neo_call_limited_reply(call, &call->allowance);
    return is_get ? verify_address(call) : receive(call);
}

void neo_service_answer_callback(const neo_site *site, const neo_request *request, neo_response *response)
{
    neo_call call;
    neo_call_begin(&call, site, request, response);
    neo_call_set_reply(&call, neo_callback_route_number(), receive_callback(&call));
}
