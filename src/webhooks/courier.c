/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the courier (see webhooks/courier.h): claims, sends and records, in one thread. */
#include "webhooks/courier.h"

#include <apr_strings.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "admission.h"
#include "core/log.h"
#include "followers.h"
#include "results.h"
#include "webhooks/claim_owner.h"
#include "webhooks/in_flight.h"
#include "webhooks/signature.h"

#define POLL_INTERVAL_MS      1250 /* for deliveries that other processes queued */
#define CLAIM_INTERVAL_MS     2    /* at least, so that a burst of writes is claimed together */
#define REFILL_INTERVAL_MS    20   /* until more is claimed although less than half of the attempts have ended */
#define FULL_SCAN_FACTOR      10   /* with a backlog: time between passes over all subscriptions, in durations of a claim */
#define RESULT_BATCH          256  /* results that are recorded without waiting for others */
#define RESULT_BATCH_DELAY_MS 5    /* that a result waits for others */
#define SEND_BATCH            32   /* attempts that are started before those in flight are processed */
#define SHUTDOWN_GRACE_MS     5000 /* for attempts in flight; httpd kills a child after about ten seconds */
#define STOP_POLL_MS          100  /* while the courier waits for its last attempts */
#define LEASE_MARGIN_S        15   /* beyond twice the timeout of an attempt; more than a statement may take */
#define PAUSE_S               5    /* for a subscription whose receiver has got as many deliveries as the plan allows */
#define PARK_INTERVAL_MS      50   /* while deliveries of subscriptions with `ordering` are claimed */
#define PARK_IDLE_MS          5000 /* otherwise */
#define NEVER                 LLONG_MAX

/* The statement in progress. There is at most one; the courier sends while it waits for the response. */
enum { QUERY_NONE, QUERY_CLAIM, QUERY_RECORD };

struct neo_courier {
    neo_courier_settings settings;
    neo_courier_host host;
    neo_sender *sender;
    apr_pool_t *pool;

    neo_pg *pg;          /* NULL if no statement is in progress */
    apr_pool_t *scratch; /* for a statement and its response */
    neo_pending_query pending;
    int query, last_query;

    neo_claimed *claimed;      /* the last one */
    neo_claimed *next_claimed; /* in progress */
    neo_claim_request request;
    apr_array_header_t *outgoing; /* of neo_webhook_request; from next_outgoing on not sent yet */
    int next_outgoing;
    neo_webhook_secrets secrets;
    apr_pool_t *secrets_pool, *body_pool; /* of one subscription and of one request */

    neo_results result_batches[2], *collected;
    neo_results *recording; /* empty, in progress, or waiting for a retry */
    neo_ms next_record;     /* the time of a retry, because the database was unavailable */

    neo_in_flight in_flight;
    int sent; /* those in flight that have been sent; the others are in `outgoing` */
    char cursor[NEO_ID_SIZE];
    neo_ms next_poll, last_claim, claimed_at, next_full_scan, next_park;
    neo_timers timers;  /* retries of this courier's deliveries */
    int has_more;       /* a limit of the last claim may have left due deliveries */
    int finished_count; /* requests that ended since the last claim */
    atomic_int is_woken, is_drained, stop;
};

/* ---------------------------------------------------------------- results */

/* Adds `change`, which may be negative, to the attempts in flight. */
static void count_in_flight(const neo_courier *c, int change)
{
    if (c->settings.metrics.counters)
        __atomic_fetch_add(&c->settings.metrics.process->in_flight, change, __ATOMIC_RELAXED);
}

static void count_attempt(const neo_courier *c, const neo_in_flight_delivery *delivery, const neo_send_result *result)
{
    const neo_courier_metrics *metrics = &c->settings.metrics;
    long long duration = result->duration * 1000LL, now = neo_now_ms() * 1000;
    int is_success = neo_send_is_success(result), is_end = is_success || delivery->number >= c->settings.attempts;
    if (!metrics->counters)
        return;
    neo_metrics_attempt(metrics->counters, neo_attempt_counter(result->error, result->http_status), is_end, duration, now);
    (void)neo_receivers_attempt(metrics->receivers, delivery->host, is_success, duration, now);
    if (metrics->usage)
        neo_usage_add(metrics->usage,
                      &(neo_usage_key){delivery->organization, delivery->subscription, NEO_USAGE_DELIVERY, NULL},
                      &(neo_usage_counts){.requests = 1, .refusals = !is_success});
}

/* `baton` is the first delivery of the request. */
static void on_sent(void *baton, const neo_send_result *result)
{
    for (neo_in_flight_delivery *delivery = baton, *next; delivery; delivery = next) {
        neo_courier *c = delivery->owner;
        next = delivery->batch_next;
        int is_followed = neo_results_add(c->collected, delivery, result, c->settings.delays, c->settings.attempts);
        if (is_followed)
            neo_followers_wait(&c->in_flight, c->collected, delivery);
        count_attempt(c, delivery, result);
        count_in_flight(c, is_followed - 1);
        neo_span_exporter_attempt(c->settings.exporter, delivery, result);
        c->sent -= delivery->is_sent;
        c->finished_count += !delivery->is_follower && !is_followed;
        neo_in_flight_remove(&c->in_flight, delivery, neo_send_is_success(result));
    }
}

/* Releases a request whose time has come while the receiver has as many as the limit allows. */
static int may_start(void *baton)
{
    neo_in_flight_delivery *delivery = baton;
    neo_courier *c = delivery->owner;
    if (neo_in_flight_start(&c->in_flight, delivery))
        return 1;
    for (neo_in_flight_delivery *next; delivery; delivery = next) {
        next = delivery->batch_next;
        neo_results_add_unsent(c->collected, delivery);
        c->sent--;
        count_in_flight(c, -1);
        neo_in_flight_drop(&c->in_flight, delivery);
    }
    return 0;
}

static int acquire_for(neo_courier *c, int query)
{
    c->pg = c->host.acquire(c->host.context);
    if (c->pg)
        c->query = query;
    return c->pg != NULL;
}

/* A batch that could not be recorded is retried before the next one. */
static void start_record(neo_courier *c)
{
    if (c->recording->outcomes->nelts == 0) {
        neo_results *batch = c->collected;
        c->collected = c->recording;
        c->recording = batch;
    }
    const apr_array_header_t *outcomes = c->recording->outcomes;
    c->next_record = neo_steady_ms() + 1000; /* finish_record resets it */
    const apr_array_header_t *changes = c->recording->health_changes;
    if (outcomes->nelts && acquire_for(c, QUERY_RECORD))
        c->pending = neo_outbox_complete(c->pg, (const neo_outcome *)outcomes->elts, outcomes->nelts,
                                         (const neo_health_change *)changes->elts, changes->nelts, c->scratch);
}

/* On an outage, keep the results and retry; drop them on permanent errors, which would block the queue. */
static void finish_record(neo_courier *c)
{
    neo_rows rows;
    int count_before = c->in_flight.count;
    neo_pg_status status = neo_outbox_completed(c->pg, c->pending, c->scratch, &rows);
    if (status == NEO_PG_OK) {
        neo_results_set_timers(c->recording, &c->timers);
        neo_results_log_deactivated(&rows);
        neo_followers_continue(&c->in_flight, c->recording, &rows, &c->host, !c->is_drained && !c->stop, c->collected,
                               c->outgoing);
    }
    if (status != NEO_PG_UNAVAILABLE && status != NEO_PG_TIMEOUT && status != NEO_PG_SCHEMA) {
        if (status != NEO_PG_OK) {
            neo_followers_forget(&c->in_flight, c->recording);
            neo_log(NEO_LOG_NOT_RECORDED, NULL, "%d delivery attempts could not be recorded", c->recording->outcomes->nelts);
        }
        neo_results_clear(c->recording, RESULT_BATCH);
        c->next_record = 0;
    }
    count_in_flight(c, c->in_flight.count - count_before);
}

/* ---------------------------------------------------------------- claims */

/* Milliseconds until the delivery may be sent. With max_per_second it always waits, so that neo_in_flight_start compares it
 * with what has started since the claim was requested. */
static int remaining_delay(const neo_courier *c, const neo_due_delivery *due)
{
    neo_ms left = c->claimed_at + (neo_ms)(due->delay + 0.5) - neo_steady_ms();
    if (!due->max_per_second)
        return 0;
    return left > 1 ? (int)left : 1;
}

static void send_request(neo_courier *c, const neo_webhook_request *request)
{
    apr_pool_t *pool = c->body_pool;
    const neo_due_delivery *due = request->due;
    const char *headers[NEO_WEBHOOK_HEADERS + NEO_OWN_HEADERS + 1];
    apr_pool_clear(pool);
    neo_webhook_open_secrets(&c->secrets, &c->settings.keys, due, c->secrets_pool);
    if (c->secrets.secret) {
        neo_text body = neo_webhook_body(due, request->count, c->settings.base_url, pool);
        int delay = remaining_delay(c, due);
        neo_webhook_sign(neo_webhook_id(due, request->count, pool), body, &c->secrets, neo_now_ms() + delay, pool, headers);
        memcpy(headers + NEO_WEBHOOK_HEADERS, c->secrets.headers, sizeof c->secrets.headers);
        int count = NEO_WEBHOOK_HEADERS + c->secrets.header_count;
        if (*request->delivery->trace)
            headers[count++] = apr_pstrcat(pool, "traceparent: ", request->delivery->trace, NULL);
        int is_sent = neo_sender_post(c->sender, due->url, headers, count, body, delay, request->delivery);
        if (is_sent && delay > 0)
            neo_in_flight_delay(&c->in_flight, request->delivery);
        for (neo_in_flight_delivery *d = request->delivery; d && is_sent; d = d->batch_next) {
            d->is_sent = 1;
            c->sent++;
        }
        if (is_sent)
            return;
    } else
        neo_log(NEO_LOG_SECRET_SEALED, NULL,
                "the secret of webhook subscription %s cannot be decrypted with any key of the key file", due->subscription);
    on_sent(request->delivery, &(neo_send_result){.error = "not_sent", .started = neo_now_ms()});
}

static void start_claim(neo_courier *c)
{
    neo_ms now = neo_steady_ms();
    c->last_claim = now;
    c->finished_count = 0;
    atomic_store(&c->is_woken, 0);
    c->next_poll = now + POLL_INTERVAL_MS;
    neo_timers_expire(&c->timers, now);
    if (!acquire_for(c, QUERY_CLAIM))
        return;
    c->next_claimed = neo_claimed_make(c->pool);
    c->request = (neo_claim_request){
        .lease = 2 * c->settings.timeout + LEASE_MARGIN_S,
        .max = c->settings.concurrency - c->in_flight.requests,
        .per_subscription = c->settings.per_subscription,
        .cursor = c->cursor,
        .claim = c->next_claimed->number,
        .parks = now >= c->next_park,
    };
    if (c->request.parks)
        c->next_park = now + PARK_IDLE_MS;
    neo_in_flight_fill_request(&c->in_flight, &c->request, c->next_claimed->pool);
    c->pending = neo_outbox_claim(c->pg, &c->request, c->next_claimed->pool);
}

/* The next claim starts after the last claimed subscription, so that all are served. Skipping subscriptions without due
 * deliveries is slow, so most claims continue with the same subscription while it has enough. An id without its last character
 * sorts just before the id. */
static void advance_cursor(neo_courier *c, const char *last, neo_ms now)
{
    apr_cpystrn(c->cursor, last, sizeof c->cursor);
    if (now < c->next_full_scan)
        c->cursor[strlen(c->cursor) - 1] = '\0';
    else
        c->next_full_scan = now + FULL_SCAN_FACTOR * (now - c->last_claim);
}

/* Puts the claimed deliveries into `outgoing`, and releases those that must not be sent yet. */
static void admit_claimed(neo_courier *c, const neo_due_delivery *due, int count)
{
    neo_admission admission;
    neo_admit(&admission, &c->host, &c->in_flight, c->claimed, due, count, neo_steady_ms() + PAUSE_S * 1000, c->outgoing);
    int failed = 0, deferred = admission.deferred->nelts, released = admission.released->nelts;
    if (deferred && neo_outbox_defer(c->pg, c->request.claim, (const neo_deferred_delivery *)admission.deferred->elts, deferred,
                                     PAUSE_S, c->claimed->pool) != NEO_PG_OK)
        failed += deferred;
    if (released &&
        neo_outbox_release(c->pg, (const neo_outcome *)admission.released->elts, released, c->claimed->pool) != NEO_PG_OK)
        failed += released;
    if (deferred + released)
        c->next_poll = 0; /* they may have taken the places of others that are due */
    if (failed)
        neo_log(NEO_LOG_NOT_RELEASED, NULL, "%d claimed deliveries could not be released", failed);
}

static void finish_claim(neo_courier *c)
{
    neo_due_delivery *due;
    int count;
    apr_pool_t *pool = c->next_claimed->pool;
    apr_array_header_t *waits = apr_array_make(pool, 4, sizeof(int));
    neo_pg_status status = neo_outbox_claimed(c->pg, c->pending, pool, &due, &count, waits);
    neo_claimed_drop(status == NEO_PG_OK ? c->claimed : c->next_claimed);
    if (status != NEO_PG_OK)
        return;
    c->claimed = c->next_claimed;
    c->claimed_at = neo_steady_ms();
    for (int i = 0; i < count; i++) {
        if (due[i].is_ordered)
            c->next_park = neo_earlier(c->next_park, c->claimed_at + PARK_INTERVAL_MS);
        if (due[i].batch_items) /* the next claim returns how long the others must wait */
            neo_timers_add(&c->timers, c->claimed_at);
    }
    for (int i = 0; i < waits->nelts; i++)
        neo_timers_add(&c->timers, c->claimed_at + APR_ARRAY_IDX(waits, i, int));
    c->secrets.subscription = NULL;
    int count_before = c->in_flight.count;
    admit_claimed(c, due, count);
    count_in_flight(c, c->in_flight.count - count_before);
    c->cursor[0] = '\0';
    c->has_more = neo_in_flight_is_at_limit(&c->in_flight, &c->request, due, count);
    if (count && count == c->request.max)
        advance_cursor(c, due[count - 1].subscription, neo_steady_ms());
}

/* ---------------------------------------------------------------- scheduling */

/* Receives the response of the statement in progress, and waits for it if necessary. */
static void finish_query(neo_courier *c)
{
    if (c->query == QUERY_CLAIM)
        finish_claim(c);
    else if (c->query == QUERY_RECORD)
        finish_record(c);
    else
        return;
    c->host.release(c->host.context, c->pg);
    c->last_query = c->query;
    c->query = QUERY_NONE;
    c->pg = NULL;
    apr_pool_clear(c->scratch);
}

/* Waits for a quarter of the slots to be free, but at most REFILL_INTERVAL_MS. */
static neo_ms time_to_poll(const neo_courier *c, int free_slots)
{
    neo_ms at = c->is_woken ? 0 : c->next_poll;
    if (c->timers.count)
        at = neo_earlier(at, c->timers.at[0]);
    return free_slots < (c->settings.concurrency + 3) / 4 ? neo_later(at, c->last_claim + REFILL_INTERVAL_MS) : at;
}

/* A claim costs about the same for one delivery as for many. So after a claim that left some, the next one waits until half of
 * the attempts have ended, or REFILL_INTERVAL_MS if receivers are slow. Nothing is claimed while results cannot be
 * recorded, or on a drained host. */
static neo_ms time_to_claim(const neo_courier *c)
{
    int free_slots = c->settings.concurrency - c->in_flight.requests;
    neo_ms at = NEVER;
    if (free_slots <= 0 || c->recording->outcomes->nelts || c->is_drained || c->stop)
        return NEVER;
    if (c->has_more && c->finished_count)
        at = c->finished_count >= c->in_flight.requests ? 0 : c->last_claim + REFILL_INTERVAL_MS;
    return neo_later(neo_earlier(at, time_to_poll(c, free_slots)), c->last_claim + CLAIM_INTERVAL_MS);
}

/* Whether there are requests that can be sent at once. */
static int has_outgoing(const neo_courier *c)
{
    return c->next_outgoing < c->outgoing->nelts;
}

static neo_ms time_to_record(const neo_courier *c)
{
    if (c->recording->outcomes->nelts)
        return c->next_record;
    if (c->collected->outcomes->nelts == 0)
        return NEVER;
    int is_batch = c->collected->outcomes->nelts >= RESULT_BATCH || (c->sent == 0 && !has_outgoing(c));
    return neo_later(is_batch ? 0 : c->collected->first + RESULT_BATCH_DELAY_MS, c->next_record);
}

/* Alternates between claiming and recording when both are due. */
static void start_query(neo_courier *c, neo_ms now)
{
    int is_record = now >= time_to_record(c);
    if (is_record && c->last_query != QUERY_RECORD)
        start_record(c);
    else if (now >= time_to_claim(c))
        start_claim(c);
    else if (is_record)
        start_record(c);
}

/* A claim's response is received only when the previous claim's deliveries are sent. */
static int can_finish_query(const neo_courier *c)
{
    return c->query != QUERY_NONE && (c->query != QUERY_CLAIM || !has_outgoing(c)) && neo_pg_is_answered(c->pg);
}

/* Milliseconds until the next statement is due. */
static int wait_time(const neo_courier *c, neo_ms now)
{
    if (has_outgoing(c))
        return 0;
    if (c->query != QUERY_NONE)
        return can_finish_query(c) ? 0 : 1000;
    neo_ms until =
        neo_earlier(neo_earlier(time_to_claim(c), time_to_record(c)), now + (c->stop ? STOP_POLL_MS : POLL_INTERVAL_MS));
    return until <= now ? 0 : (int)(until - now);
}

static void run_once(neo_courier *c)
{
    if (can_finish_query(c))
        finish_query(c);
    if (c->query == QUERY_NONE)
        start_query(c, neo_steady_ms());
    /* In small batches, so that responses of the database and of receivers do not wait. */
    for (int i = 0; i < SEND_BATCH && has_outgoing(c); i++)
        send_request(c, &APR_ARRAY_IDX(c->outgoing, c->next_outgoing++, neo_webhook_request));
    if (!has_outgoing(c))
        c->next_outgoing = c->outgoing->nelts = 0;
    neo_sender_work(c->sender, wait_time(c, neo_steady_ms()), c->pg ? neo_pg_socket(c->pg) : -1);
}

/* Releases all claimed deliveries, or with `unsent` only those whose attempt has not begun. */
static void release_in_flight(neo_courier *c, int unsent)
{
    neo_results released;
    int count_before = c->in_flight.count;
    neo_results_init(&released, c->pool, count_before);
    for (neo_in_flight_delivery *delivery = c->in_flight.first, *next; delivery; delivery = next) {
        next = delivery->next;
        if (unsent && (delivery->is_sent || delivery->is_waiting))
            continue;
        neo_results_add_unsent(&released, delivery);
        neo_in_flight_drop(&c->in_flight, delivery);
    }
    const neo_outcome *outcomes = (const neo_outcome *)released.outcomes->elts;
    int released_count = released.outcomes->nelts;
    count_in_flight(c, c->in_flight.count - count_before);
    neo_pg *pg = released_count ? c->host.acquire(c->host.context) : NULL;
    if (released_count && (!pg || neo_outbox_release(pg, outcomes, released_count, c->scratch) != NEO_PG_OK))
        neo_log(NEO_LOG_NOT_RELEASED, NULL, "%d claimed deliveries could not be released", released_count);
    if (pg)
        c->host.release(c->host.context, pg);
}

/* Releases unsent deliveries, so that other processes send them at once. Then waits for the attempts in flight and records each
 * result, because an attempt without a recorded result is repeated. A graceful stop waits until all attempts have timed out. */
static void shut_down(neo_courier *c)
{
    neo_ms grace = c->stop == NEO_COURIER_STOP_GRACEFULLY ? (c->settings.timeout + 1) * 1000LL : SHUTDOWN_GRACE_MS;
    neo_ms until = neo_steady_ms() + grace;
    finish_query(c);
    c->next_outgoing = c->outgoing->nelts;
    release_in_flight(c, 1);
    while ((c->in_flight.count || c->query != QUERY_NONE || time_to_record(c) != NEVER) && neo_steady_ms() < until)
        run_once(c);
    finish_query(c);
    if (c->recording->outcomes->nelts == 0) /* otherwise the database is unavailable */
        release_in_flight(c, 0);
}

void neo_courier_run(neo_courier *courier)
{
    while (!atomic_load(&courier->stop))
        run_once(courier);
    shut_down(courier);
}

void neo_courier_wake(neo_courier *courier)
{
    if (!atomic_exchange(&courier->is_woken, 1))
        neo_sender_wake(courier->sender);
}

void neo_courier_set_drained(neo_courier *courier, int is_drained)
{
    atomic_store(&courier->is_drained, is_drained);
}

void neo_courier_stop(neo_courier *courier, neo_courier_stop_kind kind)
{
    int running = 0;
    atomic_compare_exchange_strong(&courier->stop, &running, kind);
    neo_sender_wake(courier->sender);
}

neo_courier *neo_courier_make(const neo_courier_settings *settings, const neo_courier_host *host, apr_pool_t *pool)
{
    neo_courier *c = apr_pcalloc(pool, sizeof *c);
    neo_sender_settings sending = {
        .guard = settings->guard,
        .timeout = settings->timeout,
        .max = settings->concurrency,
        .allows_http = settings->allows_http,
        .ca_bundle = settings->ca_bundle,
        .may_start = may_start,
    };
    c->settings = *settings;
    c->host = *host;
    c->pool = pool;
    apr_pool_create(&c->scratch, pool);
    apr_pool_create(&c->secrets_pool, pool);
    apr_pool_create(&c->body_pool, pool);
    c->claimed = neo_claimed_make(pool);
    c->outgoing = apr_array_make(pool, settings->concurrency, sizeof(neo_webhook_request));
    neo_results_init(&c->result_batches[0], pool, RESULT_BATCH);
    neo_results_init(&c->result_batches[1], pool, RESULT_BATCH);
    c->collected = &c->result_batches[0];
    c->recording = &c->result_batches[1];
    neo_in_flight_init(&c->in_flight, c, settings->concurrency, settings->per_subscription, pool);
    c->sender = neo_sender_make(&sending, on_sent, pool);
    return c->sender ? c : NULL;
}
