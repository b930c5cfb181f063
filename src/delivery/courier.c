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
#include "flights.h"
#include "results.h"

#define POLL       1250  /* milliseconds between looks for what other processes left */
#define PAUSE      2     /* milliseconds between claims, so that a burst of writes is claimed together */
#define UNHURRIED  20    /* milliseconds after which more is claimed although less than half has ended */
#define SELDOM     10    /* times as long as it takes: how often all lanes are passed while some have enough for all claims */
#define GROUP      256   /* results that are recorded at once, or more where they have come meanwhile */
#define STARTS     32    /* attempts that are begun before the others are looked at again */
#define GATHER     5     /* milliseconds that a result waits for others */
#define FAREWELL   3000  /* milliseconds for what is on its way when it is time to end */
#define TIDY       60000 /* milliseconds between tidyings */
#define LEASE_MORE 15 /* seconds that a claim lasts beyond twice an attempt's longest time: more than the database may take */
#define NEVER      LLONG_MAX

/* What was claimed and is still to be sent. */
typedef struct {
    const neo_due *due;
    neo_flight *flight;
} start;

/* The secrets of a subscription, opened. */
typedef struct {
    const neo_due *of;
    const char *secret, *previous;
} opened;

/* What the connection to the database is borrowed for. One statement is under way at a time; meanwhile the network is worked
 * on. */
enum { NOTHING, CLAIM, RECORD };

struct neo_courier {
    neo_courier_settings settings;
    neo_courier_host host;
    neo_sender *sender;
    apr_pool_t *pool;

    neo_pg *pg;          /* borrowed while a statement is under way */
    apr_pool_t *scratch; /* the statement's, and what is made of its answer */
    neo_errand errand;
    int out_for, last_out_for;

    apr_pool_t *claim;    /* of what is sent now */
    apr_pool_t *claiming; /* of the claim that is under way */
    neo_wish wish;
    start *starts; /* what was, and is to be sent in this order; they are on their way already */
    int start_count, next_start;
    opened secrets;

    neo_results groups[2], *gathered, *recorded; /* the latter is empty unless it is being recorded, or could not be */
    neo_ms next_record;                          /* not earlier, because the database is away */

    neo_flights flights;
    int sent; /* those of them that were; the others wait in `starts` */
    char after[NEO_ID_SIZE];
    neo_ms next_look, last_claim, next_pass, next_tidy;
    neo_alarms alarms; /* when what we have put back is due again */
    int has_more;      /* the last claim left something behind, by one limit or the other */
    int landed;        /* since it was sent */
    atomic_int is_woken, is_stopping;
};

/* ---------------------------------------------------------------- results */

static void done(void *about, const neo_sent *sent)
{
    neo_flight *f = about;
    neo_courier *c = f->of;
    neo_results_add(c->gathered, f, sent, c->settings.delays, c->settings.attempts);
    neo_courier_metrics_attempt(&c->settings.metrics, f->host, sent, f->number >= c->settings.attempts);
    neo_courier_metrics_in_flight(&c->settings.metrics, -1);
    c->sent -= f->is_sent;
    neo_flights_land(&c->flights, f);
    c->landed++;
}

static int borrow(neo_courier *c, int what)
{
    c->pg = c->host.borrow(c->host.context);
    if (c->pg)
        c->out_for = what;
    return c->pg != NULL;
}

/* A group that could not be recorded goes first; what is gathered meanwhile goes with the next one. */
static void record(neo_courier *c)
{
    if (c->recorded->outcomes->nelts == 0) {
        neo_results *group = c->gathered;
        c->gathered = c->recorded;
        c->recorded = group;
    }
    const apr_array_header_t *outcomes = c->recorded->outcomes;
    c->next_record = neo_steady_ms() + 1000; /* unless this succeeds */
    if (outcomes->nelts && borrow(c, RECORD))
        c->errand = neo_outbox_complete(c->pg, (const neo_outcome *)outcomes->elts, outcomes->nelts, c->scratch);
}

/* Where the database is away it stays known until it is back. What fails otherwise would fail once more, and keep all that
 * follows from being recorded. */
static void recorded(neo_courier *c)
{
    neo_pg_status status = neo_outbox_completed(c->pg, c->errand, c->scratch);
    if (status == NEO_PG_OK) {
        neo_results_set_alarms(c->recorded, &c->alarms);
        neo_results_note(c->recorded, c->pg);
    }
    if (status != NEO_PG_AWAY && status != NEO_PG_SCHEMA) {
        if (status != NEO_PG_OK)
            neo_log(NEO_LOG_NOT_RECORDED, NULL, "%d attempts at deliveries could not be recorded",
                    c->recorded->outcomes->nelts);
        neo_results_clear(c->recorded, GROUP);
        c->next_record = 0;
    }
}

/* ---------------------------------------------------------------- claims */

static const char *open_secret(const neo_courier *c, const neo_due *due, const char *sealed)
{
    return sealed ? neo_secret_open(&c->settings.keys, due->subscription, sealed, c->claim) : NULL;
}

/* What one claim has of a subscription stands together: its secrets are opened once. */
static void open_secrets(neo_courier *c, const neo_due *due)
{
    if (!c->secrets.of || strcmp(c->secrets.of->subscription, due->subscription) != 0)
        c->secrets = (opened){due, open_secret(c, due, due->secret), open_secret(c, due, due->previous_secret)};
}

static void send_one(neo_courier *c, const neo_due *due, neo_flight *f)
{
    const char *headers[NEO_WEBHOOK_HEADERS];
    open_secrets(c, due);
    if (c->secrets.secret) {
        neo_text body = neo_webhook_body(due, c->claim);
        neo_webhook_sign(due->id, body, c->secrets.secret, c->secrets.previous, neo_now_ms(), c->claim, headers);
        f->is_sent = neo_sender_post(c->sender, due->url, headers, NEO_WEBHOOK_HEADERS, body, f);
        c->sent += f->is_sent;
        if (f->is_sent)
            return;
    } else
        neo_log(NEO_LOG_SECRET_SEALED, NULL,
                "the secret of webhook subscription %s cannot be opened with any key of the key file", due->subscription);
    done(f, &(neo_sent){.error = "not_sent", .started = neo_now_ms()});
}

/* A few at a time, so that neither the database nor a receiver waits long for us. */
static void send_some(neo_courier *c)
{
    for (int i = 0; i < STARTS && c->next_start < c->start_count; i++) {
        const start *next = &c->starts[c->next_start++];
        send_one(c, next->due, next->flight);
    }
}

static neo_wish wish_of(neo_courier *c)
{
    neo_wish wish = {
        .lease = 2 * c->settings.timeout + LEASE_MORE,
        .most = c->settings.concurrency - c->flights.count,
        .per_subscription = c->settings.per_subscription,
        .after = c->after,
    };
    neo_random(&wish.claim, sizeof wish.claim);
    wish.claim &= 0x7FFFFFFFFFFFFFFF;
    neo_flights_tell(&c->flights, &wish, c->claiming);
    return wish;
}

static void claim(neo_courier *c)
{
    neo_ms now = neo_steady_ms();
    c->last_claim = now;
    c->landed = 0;
    atomic_store(&c->is_woken, 0);
    c->next_look = now + POLL;
    neo_alarms_pass(&c->alarms, now);
    if (!borrow(c, CLAIM))
        return;
    apr_pool_clear(c->claiming);
    c->wish = wish_of(c);
    c->errand = neo_outbox_claim(c->pg, &c->wish, c->claiming);
}

/* How many of these stand together at the beginning as one subscription's. */
static int run_of(const neo_due *due, int count)
{
    int i = 1;
    while (i < count && strcmp(due[i].subscription, due->subscription) == 0)
        i++;
    return i;
}

static int limit_of(const neo_wish *wish, int is_failing)
{
    return is_failing && wish->per_subscription > 2 ? 2 : wish->per_subscription;
}

static int busy_with(const neo_wish *wish, const char *subscription)
{
    for (int i = 0; i < wish->busy_count; i++)
        if (strcmp(wish->busy[i].subscription, subscription) == 0)
            return wish->busy[i].count;
    return 0;
}

/* Whether a claim may have left something behind: it took as much as it might, of all or of one subscription, or could not
 * look at one that had as much on its way before. */
static int is_at_limit(const neo_wish *wish, const neo_due *due, int count)
{
    if (count == wish->most)
        return 1;
    for (int i = 0; i < wish->busy_count; i++)
        if (wish->busy[i].count >= limit_of(wish, wish->busy[i].is_failing))
            return 1;
    for (int at = 0, run; at < count; at += run) {
        run = run_of(due + at, count - at);
        if (run + busy_with(wish, due[at].subscription) >= limit_of(wish, due[at].is_failing))
            return 1;
    }
    return 0;
}

/* Where the next claim begins: behind the lane that this one ended in, so that all have their turn. But to pass those in which
 * nothing can be claimed costs as much as there are; while one lane has enough it is done now and then. An id without its last
 * character sorts just before it. */
static void move_on(neo_courier *c, const char *last, neo_ms now)
{
    apr_cpystrn(c->after, last, sizeof c->after);
    if (now < c->next_pass)
        c->after[strlen(c->after) - 1] = '\0';
    else
        c->next_pass = now + SELDOM * (now - c->last_claim);
}

static void claimed(neo_courier *c)
{
    neo_due *due;
    int count;
    apr_pool_t *pool = c->claiming;
    if (neo_outbox_claimed(c->pg, c->errand, pool, &due, &count) != NEO_PG_OK)
        return;
    c->claiming = c->claim;
    c->claim = pool;
    c->secrets = (opened){NULL};
    c->starts = apr_palloc(c->claim, (apr_size_t)(count + 1) * sizeof *c->starts);
    for (int i = 0; i < count; i++)
        c->starts[i] = (start){&due[i], neo_flights_take_off(&c->flights, &due[i], c->wish.claim)};
    neo_courier_metrics_in_flight(&c->settings.metrics, count);
    c->start_count = count;
    c->next_start = 0;
    c->after[0] = '\0';
    c->has_more = is_at_limit(&c->wish, due, count);
    if (count && count == c->wish.most)
        move_on(c, due[count - 1].subscription, neo_steady_ms());
}

static void tidy(neo_courier *c)
{
    neo_pg *pg = c->host.borrow(c->host.context);
    int more = 0;
    neo_ms begun = neo_now_ms();
    c->next_tidy = neo_steady_ms() + TIDY;
    if (!pg)
        return;
    neo_pg_status status = neo_outbox_tidy(pg, c->settings.retention, c->scratch, &more);
    neo_courier_metrics_cleanup(&c->settings.metrics, status == NEO_PG_OK, begun);
    if (status == NEO_PG_OK && more)
        c->next_tidy = neo_steady_ms() + 100;
    c->host.give_back(c->host.context, pg);
    apr_pool_clear(c->scratch);
}

/* ---------------------------------------------------------------- rounds */

/* Takes the answer to the statement that is under way, and waits for it where it is not there. */
static void come_back(neo_courier *c)
{
    if (c->out_for == CLAIM)
        claimed(c);
    else if (c->out_for == RECORD)
        recorded(c);
    else
        return;
    c->host.give_back(c->host.context, c->pg);
    c->last_out_for = c->out_for;
    c->out_for = NOTHING;
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
static neo_ms time_to_look(const neo_courier *c, int room)
{
    neo_ms at = c->is_woken ? 0 : c->next_look;
    if (c->alarms.count)
        at = earlier(at, neo_alarms_next(&c->alarms));
    return room < (c->settings.concurrency + 3) / 4 ? later(at, c->last_claim + UNHURRIED) : at;
}

/* What a claim costs depends little on how much it takes. So what was left behind is claimed when half of what was on its way
 * has ended, or where receivers are too slow for that, some of it. Nothing is claimed while results cannot be recorded. */
static neo_ms time_to_claim(const neo_courier *c)
{
    int room = c->settings.concurrency - c->flights.count;
    neo_ms at = NEVER;
    if (room <= 0 || c->recorded->outcomes->nelts)
        return NEVER;
    if (c->has_more && c->landed)
        at = c->landed >= c->flights.count ? 0 : c->last_claim + UNHURRIED;
    return later(earlier(at, time_to_look(c, room)), c->last_claim + PAUSE);
}

static neo_ms time_to_record(const neo_courier *c)
{
    if (c->recorded->outcomes->nelts)
        return c->next_record;
    if (c->gathered->outcomes->nelts == 0)
        return NEVER;
    int is_group = c->gathered->outcomes->nelts >= GROUP || c->flights.count == 0;
    return later(is_group ? 0 : c->gathered->first + GATHER, c->next_record);
}

/* When there is a backlog it is done all the same, some time later. */
static neo_ms time_to_tidy(const neo_courier *c)
{
    return c->has_more ? c->next_tidy + TIDY : c->next_tidy;
}

/* Of two that are due, the one that was not done last. */
static void set_out(neo_courier *c, neo_ms now)
{
    int is_record = now >= time_to_record(c);
    if (is_record && c->last_out_for != RECORD)
        record(c);
    else if (now >= time_to_claim(c))
        claim(c);
    else if (is_record)
        record(c);
    else if (now >= time_to_tidy(c))
        tidy(c);
}

/* What was claimed is taken when all of the claim before is on its way. */
static int is_answered(const neo_courier *c)
{
    return c->out_for != NOTHING && (c->out_for != CLAIM || c->next_start == c->start_count) && neo_pg_is_answered(c->pg);
}

/* How long there is nothing to do but to wait for the network, the database, or to be woken. */
static int patience(const neo_courier *c, neo_ms now)
{
    if (c->next_start < c->start_count)
        return 0;
    if (c->out_for != NOTHING)
        return is_answered(c) ? 0 : 1000;
    neo_ms until = earlier(earlier(time_to_claim(c), time_to_record(c)), earlier(time_to_tidy(c), now + POLL));
    return until <= now ? 0 : (int)(until - now);
}

static void round_of(neo_courier *c)
{
    if (is_answered(c))
        come_back(c);
    if (c->out_for == NOTHING)
        set_out(c, neo_steady_ms());
    send_some(c);
    neo_sender_work(c->sender, patience(c, neo_steady_ms()), c->pg ? neo_pg_socket(c->pg) : -1);
}

static void give_back_unsent(neo_courier *c)
{
    neo_pg *pg;
    neo_results_clear(c->gathered, GROUP);
    for (neo_flight *f = c->flights.first; f; f = f->next)
        (void)neo_results_add_unsent(c->gathered, f);
    const apr_array_header_t *unsent = c->gathered->outcomes;
    if (unsent->nelts == 0 || !(pg = c->host.borrow(c->host.context)))
        return;
    if (neo_outbox_release(pg, (const neo_outcome *)unsent->elts, unsent->nelts, c->scratch) != NEO_PG_OK)
        neo_log(NEO_LOG_NOT_GIVEN_BACK, NULL, "%d deliveries could not be given back", c->flights.count);
    c->host.give_back(c->host.context, pg);
}

static int is_any_sent(const neo_courier *c)
{
    return c->sent > 0;
}

void neo_courier_run(neo_courier *courier)
{
    while (!atomic_load(&courier->is_stopping))
        round_of(courier);
    come_back(courier); /* what was claimed just now is given back unsent */
    for (neo_ms until = neo_steady_ms() + FAREWELL; is_any_sent(courier) && neo_steady_ms() < until;)
        neo_sender_work(courier->sender, 50, -1);
    for (int group = 0; group < 2; group++) {
        record(courier);
        come_back(courier);
    }
    if (courier->recorded->outcomes->nelts == 0) /* otherwise the database is away: leases end by themselves */
        give_back_unsent(courier);
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
    neo_sender_settings sending = {settings->guard, settings->timeout, settings->concurrency, settings->ca_bundle};
    c->settings = *settings;
    c->host = *host;
    c->pool = pool;
    apr_pool_create(&c->scratch, pool);
    apr_pool_create(&c->claim, pool);
    apr_pool_create(&c->claiming, pool);
    neo_results_init(&c->groups[0], pool, GROUP);
    neo_results_init(&c->groups[1], pool, GROUP);
    c->gathered = &c->groups[0];
    c->recorded = &c->groups[1];
    neo_flights_init(&c->flights, c, settings->concurrency, pool);
    c->sender = neo_sender_make(&sending, done, pool);
    return c->sender ? c : NULL;
}
