/* The courier's rounds (see delivery/courier.h). */
#include "delivery/courier.h"

#include <apr_strings.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/secret.h"
#include "delivery/signature.h"
#include "in_flight.h"
#include "results.h"

#define POLL_INTERVAL_MS   1250 /* milliseconds between looks for what other processes left */
#define CLAIM_INTERVAL_MS  2    /* milliseconds between claims, so that a burst of writes is claimed together */
#define REFILL_INTERVAL_MS 20   /* milliseconds after which more is claimed although less than half has ended */
#define FULL_SCAN_FACTOR                                                                                                       \
    10 /* times as long as it takes: how often all lanes are passed while some have enough for all claims */
#define RESULT_BATCH          256   /* results that are recorded at once, or more where they have come meanwhile */
#define SEND_BATCH            32    /* attempts that are begun before the others are looked at again */
#define RESULT_BATCH_DELAY_MS 5     /* milliseconds that a result waits for others */
#define SHUTDOWN_GRACE_MS     3000  /* milliseconds for what is on its way when it is time to end */
#define CLEANUP_INTERVAL_MS   60000 /* milliseconds between tidyings */
#define LEASE_MARGIN_S                                                                                                         \
    15 /* seconds that a claim lasts beyond twice an attempt's longest time: more than the database may take */
#define NEVER LLONG_MAX

/* What was claimed and is still to be sent. */
typedef struct {
    const neo_due_delivery *due;
    neo_in_flight_delivery *delivery;
} outgoing;

/* The secrets of a subscription, opened. */
typedef struct {
    const neo_due_delivery *of;
    const char *secret, *previous;
} opened_secrets;

/* What the connection to the database is borrowed for. One statement is under way at a time; meanwhile the network is worked
 * on. */
enum { QUERY_NONE, QUERY_CLAIM, QUERY_RECORD };

struct neo_courier {
    neo_courier_settings settings;
    neo_courier_host host;
    neo_sender *sender;
    apr_pool_t *pool;

    neo_pg *pg;          /* borrowed while a statement is under way */
    apr_pool_t *scratch; /* the statement's, and what is made of its answer */
    neo_pending_query pending;
    int query, last_query;

    apr_pool_t *claim_pool;      /* of what is sent now */
    apr_pool_t *next_claim_pool; /* of the claim that is under way */
    neo_claim_request request;
    outgoing *outgoing; /* what was, and is to be sent in this order; they are on their way already */
    int outgoing_count, next_outgoing;
    opened_secrets secrets;

    neo_results result_batches[2], *collected,
        *recording;     /* the latter is empty unless it is being recorded, or could not be */
    neo_ms next_record; /* not earlier, because the database is away */

    neo_in_flight in_flight;
    int sent; /* those of them that were; the others wait in `outgoing` */
    char cursor[NEO_ID_SIZE];
    neo_ms next_poll, last_claim, next_full_scan, next_cleanup;
    neo_timers timers;  /* when what we have put back is due again */
    int has_more;       /* the last claim left something behind, by one limit or the other */
    int finished_count; /* since it was sent */
    atomic_int is_woken, is_stopping;
};

/* ---------------------------------------------------------------- results */

static void on_sent(void *baton, const neo_sent *sent)
{
    neo_in_flight_delivery *delivery = baton;
    neo_courier *c = delivery->owner;
    neo_results_add(c->collected, delivery, sent, c->settings.delays, c->settings.attempts);
    neo_courier_metrics_attempt(&c->settings.metrics, delivery->host, sent, delivery->number >= c->settings.attempts);
    neo_courier_metrics_in_flight(&c->settings.metrics, -1);
    c->sent -= delivery->is_sent;
    neo_in_flight_remove(&c->in_flight, delivery);
    c->finished_count++;
}

static int acquire(neo_courier *c, int what)
{
    c->pg = c->host.acquire(c->host.context);
    if (c->pg)
        c->query = what;
    return c->pg != NULL;
}

/* A group that could not be recorded goes first; what is gathered meanwhile goes with the next one. */
static void start_record(neo_courier *c)
{
    if (c->recording->outcomes->nelts == 0) {
        neo_results *batch = c->collected;
        c->collected = c->recording;
        c->recording = batch;
    }
    const apr_array_header_t *outcomes = c->recording->outcomes;
    c->next_record = neo_steady_ms() + 1000; /* unless this succeeds */
    if (outcomes->nelts && acquire(c, QUERY_RECORD))
        c->pending = neo_outbox_complete(c->pg, (const neo_outcome *)outcomes->elts, outcomes->nelts, c->scratch);
}

/* Where the database is away it stays known until it is back. What fails otherwise would fail once more, and keep all that
 * follows from being recorded. */
static void finish_record(neo_courier *c)
{
    neo_pg_status status = neo_outbox_completed(c->pg, c->pending, c->scratch);
    if (status == NEO_PG_OK) {
        neo_results_set_timers(c->recording, &c->timers);
        neo_results_record_health(c->recording, c->pg);
    }
    if (status != NEO_PG_UNAVAILABLE && status != NEO_PG_SCHEMA) {
        if (status != NEO_PG_OK)
            neo_log(NEO_LOG_NOT_RECORDED, NULL, "%d attempts at deliveries could not be recorded",
                    c->recording->outcomes->nelts);
        neo_results_clear(c->recording, RESULT_BATCH);
        c->next_record = 0;
    }
}

/* ---------------------------------------------------------------- claims */

static const char *open_secret(const neo_courier *c, const neo_due_delivery *due, const char *sealed)
{
    return sealed ? neo_secret_open(&c->settings.keys, due->subscription, sealed, c->claim_pool) : NULL;
}

/* What one claim has of a subscription stands together: its secrets are opened once. */
static void open_secrets(neo_courier *c, const neo_due_delivery *due)
{
    if (!c->secrets.of || strcmp(c->secrets.of->subscription, due->subscription) != 0)
        c->secrets = (opened_secrets){due, open_secret(c, due, due->secret), open_secret(c, due, due->previous_secret)};
}

static void send_one(neo_courier *c, const neo_due_delivery *due, neo_in_flight_delivery *delivery)
{
    const char *headers[NEO_WEBHOOK_HEADERS];
    open_secrets(c, due);
    if (c->secrets.secret) {
        neo_text body = neo_webhook_body(due, c->claim_pool);
        neo_webhook_sign(due->id, body, c->secrets.secret, c->secrets.previous, neo_now_ms(), c->claim_pool, headers);
        delivery->is_sent = neo_sender_post(c->sender, due->url, headers, NEO_WEBHOOK_HEADERS, body, delivery);
        c->sent += delivery->is_sent;
        if (delivery->is_sent)
            return;
    } else
        neo_log(NEO_LOG_SECRET_SEALED, NULL,
                "the secret of webhook subscription %s cannot be opened with any key of the key file", due->subscription);
    on_sent(delivery, &(neo_sent){.error = "not_sent", .started = neo_now_ms()});
}

/* A few at a time, so that neither the database nor a receiver waits long for us. */
static void send_some(neo_courier *c)
{
    for (int i = 0; i < SEND_BATCH && c->next_outgoing < c->outgoing_count; i++) {
        const outgoing *next = &c->outgoing[c->next_outgoing++];
        send_one(c, next->due, next->delivery);
    }
}

static neo_claim_request make_request(neo_courier *c)
{
    neo_claim_request request = {
        .lease = 2 * c->settings.timeout + LEASE_MARGIN_S,
        .max = c->settings.concurrency - c->in_flight.count,
        .per_subscription = c->settings.per_subscription,
        .cursor = c->cursor,
    };
    neo_random(&request.claim, sizeof request.claim);
    request.claim &= 0x7FFFFFFFFFFFFFFF;
    neo_in_flight_fill_request(&c->in_flight, &request, c->next_claim_pool);
    return request;
}

static void start_claim(neo_courier *c)
{
    neo_ms now = neo_steady_ms();
    c->last_claim = now;
    c->finished_count = 0;
    atomic_store(&c->is_woken, 0);
    c->next_poll = now + POLL_INTERVAL_MS;
    neo_timers_expire(&c->timers, now);
    if (!acquire(c, QUERY_CLAIM))
        return;
    apr_pool_clear(c->next_claim_pool);
    c->request = make_request(c);
    c->pending = neo_outbox_claim(c->pg, &c->request, c->next_claim_pool);
}

/* How many of these stand together at the beginning as one subscription's. */
static int run_length(const neo_due_delivery *due, int count)
{
    int i = 1;
    while (i < count && strcmp(due[i].subscription, due->subscription) == 0)
        i++;
    return i;
}

static int limit_of(const neo_claim_request *request, int is_failing)
{
    return is_failing && request->per_subscription > 2 ? 2 : request->per_subscription;
}

static int load_of(const neo_claim_request *request, const char *subscription)
{
    for (int i = 0; i < request->load_count; i++)
        if (strcmp(request->loads[i].subscription, subscription) == 0)
            return request->loads[i].count;
    return 0;
}

/* Whether a claim may have left something behind: it took as much as it might, of all or of one subscription, or could not
 * look at one that had as much on its way before. */
static int is_at_limit(const neo_claim_request *request, const neo_due_delivery *due, int count)
{
    if (count == request->max)
        return 1;
    for (int i = 0; i < request->load_count; i++)
        if (request->loads[i].count >= limit_of(request, request->loads[i].is_failing))
            return 1;
    for (int at = 0, run; at < count; at += run) {
        run = run_length(due + at, count - at);
        if (run + load_of(request, due[at].subscription) >= limit_of(request, due[at].is_failing))
            return 1;
    }
    return 0;
}

/* Where the next claim begins: behind the lane that this one ended in, so that all have their turn. But to pass those in which
 * nothing can be claimed costs as much as there are; while one lane has enough it is done now and then. An id without its last
 * character sorts just before it. */
static void advance_cursor(neo_courier *c, const char *last, neo_ms now)
{
    apr_cpystrn(c->cursor, last, sizeof c->cursor);
    if (now < c->next_full_scan)
        c->cursor[strlen(c->cursor) - 1] = '\0';
    else
        c->next_full_scan = now + FULL_SCAN_FACTOR * (now - c->last_claim);
}

static void finish_claim(neo_courier *c)
{
    neo_due_delivery *due;
    int count;
    apr_pool_t *pool = c->next_claim_pool;
    if (neo_outbox_claimed(c->pg, c->pending, pool, &due, &count) != NEO_PG_OK)
        return;
    c->next_claim_pool = c->claim_pool;
    c->claim_pool = pool;
    c->secrets = (opened_secrets){NULL};
    c->outgoing = apr_palloc(c->claim_pool, (apr_size_t)(count + 1) * sizeof *c->outgoing);
    for (int i = 0; i < count; i++)
        c->outgoing[i] = (outgoing){&due[i], neo_in_flight_add(&c->in_flight, &due[i], c->request.claim)};
    neo_courier_metrics_in_flight(&c->settings.metrics, count);
    c->outgoing_count = count;
    c->next_outgoing = 0;
    c->cursor[0] = '\0';
    c->has_more = is_at_limit(&c->request, due, count);
    if (count && count == c->request.max)
        advance_cursor(c, due[count - 1].subscription, neo_steady_ms());
}

static void cleanup(neo_courier *c)
{
    neo_pg *pg = c->host.acquire(c->host.context);
    int more = 0;
    neo_ms begun = neo_now_ms();
    c->next_cleanup = neo_steady_ms() + CLEANUP_INTERVAL_MS;
    if (!pg)
        return;
    neo_pg_status status = neo_outbox_cleanup(pg, c->settings.retention, c->scratch, &more);
    neo_courier_metrics_cleanup(&c->settings.metrics, status == NEO_PG_OK, begun);
    if (status == NEO_PG_OK && more)
        c->next_cleanup = neo_steady_ms() + 100;
    c->host.release(c->host.context, pg);
    apr_pool_clear(c->scratch);
}

/* ---------------------------------------------------------------- rounds */

/* Takes the answer to the statement that is under way, and waits for it where it is not there. */
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

static neo_ms earlier(neo_ms one, neo_ms other)
{
    return one < other ? one : other;
}

static neo_ms later(neo_ms one, neo_ms other)
{
    return one > other ? one : other;
}

/* When something new is looked for. There should be a quarter of all room; but nobody waits for that longer than a moment. */
static neo_ms time_to_poll(const neo_courier *c, int free_slots)
{
    neo_ms at = c->is_woken ? 0 : c->next_poll;
    if (c->timers.count)
        at = earlier(at, neo_timers_next(&c->timers));
    return free_slots < (c->settings.concurrency + 3) / 4 ? later(at, c->last_claim + REFILL_INTERVAL_MS) : at;
}

/* What a claim costs depends little on how much it takes. So what was left behind is claimed when half of what was on its way
 * has ended, or where receivers are too slow for that, some of it. Nothing is claimed while results cannot be recorded. */
static neo_ms time_to_claim(const neo_courier *c)
{
    int free_slots = c->settings.concurrency - c->in_flight.count;
    neo_ms at = NEVER;
    if (free_slots <= 0 || c->recording->outcomes->nelts)
        return NEVER;
    if (c->has_more && c->finished_count)
        at = c->finished_count >= c->in_flight.count ? 0 : c->last_claim + REFILL_INTERVAL_MS;
    return later(earlier(at, time_to_poll(c, free_slots)), c->last_claim + CLAIM_INTERVAL_MS);
}

static neo_ms time_to_record(const neo_courier *c)
{
    if (c->recording->outcomes->nelts)
        return c->next_record;
    if (c->collected->outcomes->nelts == 0)
        return NEVER;
    int is_group = c->collected->outcomes->nelts >= RESULT_BATCH || c->in_flight.count == 0;
    return later(is_group ? 0 : c->collected->first + RESULT_BATCH_DELAY_MS, c->next_record);
}

/* When there is a backlog it is done all the same, some time later. */
static neo_ms time_to_cleanup(const neo_courier *c)
{
    return c->has_more ? c->next_cleanup + CLEANUP_INTERVAL_MS : c->next_cleanup;
}

/* Of two that are due, the one that was not done last. */
static void start_query(neo_courier *c, neo_ms now)
{
    int is_record = now >= time_to_record(c);
    if (is_record && c->last_query != QUERY_RECORD)
        start_record(c);
    else if (now >= time_to_claim(c))
        start_claim(c);
    else if (is_record)
        start_record(c);
    else if (now >= time_to_cleanup(c))
        cleanup(c);
}

/* What was claimed is taken when all of the claim before is on its way. */
static int is_answered(const neo_courier *c)
{
    return c->query != QUERY_NONE && (c->query != QUERY_CLAIM || c->next_outgoing == c->outgoing_count) &&
           neo_pg_is_answered(c->pg);
}

/* How long there is nothing to do but to wait for the network, the database, or to be woken. */
static int wait_time(const neo_courier *c, neo_ms now)
{
    if (c->next_outgoing < c->outgoing_count)
        return 0;
    if (c->query != QUERY_NONE)
        return is_answered(c) ? 0 : 1000;
    neo_ms until = earlier(earlier(time_to_claim(c), time_to_record(c)), earlier(time_to_cleanup(c), now + POLL_INTERVAL_MS));
    return until <= now ? 0 : (int)(until - now);
}

static void run_once(neo_courier *c)
{
    if (is_answered(c))
        finish_query(c);
    if (c->query == QUERY_NONE)
        start_query(c, neo_steady_ms());
    send_some(c);
    neo_sender_work(c->sender, wait_time(c, neo_steady_ms()), c->pg ? neo_pg_socket(c->pg) : -1);
}

static void release_unsent(neo_courier *c)
{
    neo_pg *pg;
    neo_results_clear(c->collected, RESULT_BATCH);
    for (neo_in_flight_delivery *delivery = c->in_flight.first; delivery; delivery = delivery->next)
        (void)neo_results_add_unsent(c->collected, delivery);
    const apr_array_header_t *unsent = c->collected->outcomes;
    if (unsent->nelts == 0 || !(pg = c->host.acquire(c->host.context)))
        return;
    if (neo_outbox_release(pg, (const neo_outcome *)unsent->elts, unsent->nelts, c->scratch) != NEO_PG_OK)
        neo_log(NEO_LOG_NOT_RELEASED, NULL, "%d deliveries could not be given back", c->in_flight.count);
    c->host.release(c->host.context, pg);
}

static int is_any_sent(const neo_courier *c)
{
    return c->sent > 0;
}

void neo_courier_run(neo_courier *courier)
{
    while (!atomic_load(&courier->is_stopping))
        run_once(courier);
    finish_query(courier); /* what was claimed just now is given back unsent */
    for (neo_ms until = neo_steady_ms() + SHUTDOWN_GRACE_MS; is_any_sent(courier) && neo_steady_ms() < until;)
        neo_sender_work(courier->sender, 50, -1);
    for (int batch = 0; batch < 2; batch++) {
        start_record(courier);
        finish_query(courier);
    }
    if (courier->recording->outcomes->nelts == 0) /* otherwise the database is away: leases end by themselves */
        release_unsent(courier);
}

void neo_courier_wake(neo_courier *courier)
{
    if (!atomic_exchange(&courier->is_woken, 1))
        neo_sender_wake(courier->sender);
}

void neo_courier_stop(neo_courier *courier)
{
    atomic_store(&courier->is_stopping, 1);
    neo_sender_wake(courier->sender);
}

void neo_courier_make_statements(apr_pool_t *pool)
{
    neo_outbox_make_statements(pool);
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
    };
    c->settings = *settings;
    c->host = *host;
    c->pool = pool;
    apr_pool_create(&c->scratch, pool);
    apr_pool_create(&c->claim_pool, pool);
    apr_pool_create(&c->next_claim_pool, pool);
    neo_results_init(&c->result_batches[0], pool, RESULT_BATCH);
    neo_results_init(&c->result_batches[1], pool, RESULT_BATCH);
    c->collected = &c->result_batches[0];
    c->recording = &c->result_batches[1];
    neo_in_flight_init(&c->in_flight, c, settings->concurrency, pool);
    c->sender = neo_sender_make(&sending, on_sent, pool);
    return c->sender ? c : NULL;
}
