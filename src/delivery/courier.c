/* The courier's rounds (see delivery/courier.h). */
#include "delivery/courier.h"

#include <apr_strings.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/secret.h"
#include "delivery/alarms.h"
#include "delivery/signature.h"

#define POLL       1250  /* milliseconds between looks for what other processes left */
#define PAUSE      2     /* milliseconds between claims, so that a burst of writes is claimed together */
#define UNHURRIED  20    /* milliseconds between claims that take less than half of what can be on its way */
#define GROUP      512   /* results that are recorded at once */
#define GATHER     5     /* milliseconds that a result waits for others */
#define FAREWELL   3000  /* milliseconds for what is on its way when it is time to end */
#define TIDY       60000 /* milliseconds between tidyings */
#define LEASE_MORE 5     /* seconds that a claim lasts beyond twice an attempt's longest time */

/* A delivery on its way. */
typedef struct flight {
    struct flight *next, **link;
    neo_courier *courier;
    char id[NEO_ID_SIZE], organization[NEO_ID_SIZE], subscription[NEO_ID_SIZE];
    long long claim;
    int number;
    int is_failing;
    char host[NEO_HOST_SIZE]; /* of the receiver */
} flight;

/* What was learnt of a subscription from a group of results. */
typedef struct {
    char organization[NEO_ID_SIZE], subscription[NEO_ID_SIZE];
    neo_health health;
} finding;

typedef struct {
    char subscription[NEO_ID_SIZE];
    int count;
} lane;

struct neo_courier {
    neo_courier_settings settings;
    neo_courier_host host;
    neo_sender *sender;
    apr_pool_t *pool;
    apr_pool_t *round;   /* of one claim */
    apr_pool_t *results; /* of the outcomes that wait to be recorded */
    apr_array_header_t *outcomes, *findings;
    neo_ms first_outcome;
    flight *flying;
    int in_flight;
    apr_array_header_t *lanes; /* of lane, those with anything in flight */
    char after[NEO_ID_SIZE];
    neo_ms next_look, last_claim, next_tidy;
    neo_alarms alarms; /* when what we have put back is due again */
    int was_full;      /* the last claim left something behind */
    atomic_int is_woken, is_stopping;
};

/* ---------------------------------------------------------------- who has how much on its way */

static lane *lane_of(neo_courier *c, const char *subscription)
{
    for (int i = 0; i < c->lanes->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(c->lanes, i, lane).subscription, subscription) == 0)
            return &APR_ARRAY_IDX(c->lanes, i, lane);
    lane *made = &APR_ARRAY_PUSH(c->lanes, lane);
    apr_cpystrn(made->subscription, subscription, sizeof made->subscription);
    made->count = 0;
    return made;
}

static void take_off(neo_courier *c, flight *f)
{
    f->link = &c->flying;
    f->next = c->flying;
    if (f->next)
        f->next->link = &f->next;
    c->flying = f;
    c->in_flight++;
    neo_account_flying(&c->settings.account, 1);
    lane_of(c, f->subscription)->count++;
}

static void land(neo_courier *c, flight *f)
{
    lane *l = lane_of(c, f->subscription);
    if (--l->count == 0)
        *l = APR_ARRAY_IDX(c->lanes, --c->lanes->nelts, lane);
    *f->link = f->next;
    if (f->next)
        f->next->link = f->link;
    c->in_flight--;
    neo_account_flying(&c->settings.account, -1);
}

/* ---------------------------------------------------------------- results */

static int is_success(const neo_sent *sent)
{
    return !sent->error && sent->http_status >= 200 && sent->http_status <= 299;
}

/* Seconds until the attempt that follows number `number`: the schedule's, up to a tenth more, so that what failed together does
 * not come back together; a receiver that asks for more time gets up to twice as much. */
static double delay_after(const neo_courier *c, int number, const neo_sent *sent)
{
    unsigned char chance;
    double delay = c->settings.delays[number];
    neo_random(&chance, sizeof chance);
    double asked = sent->http_status == 429 || sent->http_status == 503 ? sent->retry_after : 0;
    double wait = (asked > delay ? asked : delay) * (1 + chance / 2560.0);
    return wait < 2 * delay ? wait : 2 * delay;
}

static void find_out(neo_courier *c, const flight *f, const neo_sent *sent, int is_last)
{
    finding what = {.health = NEO_HEALTH_WELL};
    int news = f->is_failing;
    if (!is_success(sent)) {
        what.health = sent->http_status == 410 ? NEO_HEALTH_GONE : NEO_HEALTH_FAILING;
        news = !f->is_failing || is_last || what.health == NEO_HEALTH_GONE;
    }
    for (int i = 0; news && i < c->findings->nelts; i++) {
        finding *known = &APR_ARRAY_IDX(c->findings, i, finding);
        if (strcmp(known->subscription, f->subscription) == 0 && known->health == what.health)
            news = 0;
    }
    if (!news)
        return;
    memcpy(what.organization, f->organization, sizeof what.organization);
    memcpy(what.subscription, f->subscription, sizeof what.subscription);
    APR_ARRAY_PUSH(c->findings, finding) = what;
}

static neo_outcome *add_outcome(neo_courier *c, const flight *f)
{
    neo_outcome *o = &APR_ARRAY_PUSH(c->outcomes, neo_outcome);
    *o = (neo_outcome){
        .id = apr_pstrdup(c->results, f->id),
        .organization = apr_pstrdup(c->results, f->organization),
        .subscription = apr_pstrdup(c->results, f->subscription),
        .claim = f->claim,
        .number = f->number,
    };
    if (c->outcomes->nelts == 1)
        c->first_outcome = neo_now_ms();
    return o;
}

static void done(void *about, const neo_sent *sent)
{
    flight *f = about;
    neo_courier *c = f->courier;
    int is_last = f->number >= c->settings.attempts;
    neo_outcome *o = add_outcome(c, f);
    o->started = sent->started;
    o->duration = sent->duration;
    o->http_status = sent->http_status;
    o->error = sent->error;
    o->excerpt = sent->excerpt ? apr_pstrdup(c->results, sent->excerpt) : NULL;
    if (is_success(sent))
        o->end = "success";
    else if (is_last)
        o->end = "failed";
    else
        o->delay = delay_after(c, f->number, sent);
    find_out(c, f, sent, is_last);
    neo_account_attempt(&c->settings.account, f->host, sent, is_last);
    land(c, f);
    free(f);
}

static void start_results(neo_courier *c)
{
    apr_pool_clear(c->results);
    c->outcomes = apr_array_make(c->results, GROUP, sizeof(neo_outcome));
    c->findings = apr_array_make(c->results, 8, sizeof(finding));
}

/* The database counts from the moment at which it recorded them. */
static void set_alarms(neo_courier *c)
{
    neo_ms now = neo_now_ms();
    for (int i = 0; i < c->outcomes->nelts; i++) {
        const neo_outcome *o = &APR_ARRAY_IDX(c->outcomes, i, neo_outcome);
        if (!o->end)
            neo_alarms_set(&c->alarms, now + (neo_ms)(o->delay * 1000) + 1);
    }
}

static void record_findings(neo_courier *c, neo_pg *pg)
{
    for (int i = 0; i < c->findings->nelts; i++) {
        finding *what = &APR_ARRAY_IDX(c->findings, i, finding);
        neo_rows rows;
        if (neo_outbox_note(pg, what->organization, what->subscription, what->health, c->results, &rows) == NEO_PG_OK &&
            rows.count)
            neo_log(NEO_LOG_SUBSCRIPTION_ENDED, NULL, "webhook subscription %s was made inactive: %s", what->subscription,
                    neo_rows_value(&rows, 0, 0));
    }
}

/* Records what is known. Where the database is away it stays known until it is back. */
static void record(neo_courier *c)
{
    neo_pg *pg = c->outcomes->nelts ? c->host.borrow(c->host.context) : NULL;
    if (!pg)
        return;
    apr_pool_t *scratch;
    apr_pool_create(&scratch, c->pool);
    neo_pg_status status = neo_outbox_complete(pg, (const neo_outcome *)c->outcomes->elts, c->outcomes->nelts, scratch);
    if (status == NEO_PG_OK) {
        set_alarms(c);
        record_findings(c, pg);
    }
    c->host.give_back(c->host.context, pg);
    apr_pool_destroy(scratch);
    if (status == NEO_PG_OK ||
        status == NEO_PG_FAILED) /* what fails once more would keep all that follows from being recorded */
        start_results(c);
    else
        c->first_outcome = neo_now_ms() + 1000;
}

/* ---------------------------------------------------------------- claims */

static const char *open_secret(const neo_courier *c, const neo_due *due, const char *sealed)
{
    return sealed ? neo_secret_open(&c->settings.keys, due->subscription, sealed, c->round) : NULL;
}

static flight *new_flight(neo_courier *c, const neo_due *due, long long claim)
{
    flight *f = calloc(1, sizeof *f);
    if (!f)
        abort();
    f->courier = c;
    f->claim = claim;
    f->number = due->number;
    f->is_failing = due->is_failing;
    neo_receivers_host(due->url, f->host);
    apr_cpystrn(f->id, due->id, sizeof f->id);
    apr_cpystrn(f->organization, due->organization, sizeof f->organization);
    apr_cpystrn(f->subscription, due->subscription, sizeof f->subscription);
    return f;
}

static void send_one(neo_courier *c, const neo_due *due, long long claim)
{
    const char *headers[NEO_WEBHOOK_HEADERS];
    const char *secret = open_secret(c, due, due->secret);
    flight *f = new_flight(c, due, claim);
    take_off(c, f);
    if (secret) {
        neo_text body = neo_webhook_body(due, c->round);
        neo_webhook_sign(due->id, body, secret, open_secret(c, due, due->previous_secret), neo_now_ms(), c->round, headers);
        if (neo_sender_post(c->sender, due->url, headers, NEO_WEBHOOK_HEADERS, body, f))
            return;
    } else
        neo_log(NEO_LOG_SECRET_SEALED, NULL,
                "the secret of webhook subscription %s cannot be opened with any key of the key file", due->subscription);
    done(f, &(neo_sent){.error = "not_sent", .started = neo_now_ms()});
}

static neo_wish wish_of(neo_courier *c)
{
    neo_busy *busy = apr_palloc(c->round, (apr_size_t)(c->lanes->nelts + 1) * sizeof *busy);
    neo_wish wish = {
        .lease = 2 * c->settings.timeout + LEASE_MORE,
        .most = c->settings.concurrency - c->in_flight,
        .per_subscription = c->settings.per_subscription,
        .busy = busy,
        .busy_count = c->lanes->nelts,
        .after = c->after,
    };
    neo_random(&wish.claim, sizeof wish.claim);
    wish.claim &= 0x7FFFFFFFFFFFFFFF;
    for (int i = 0; i < c->lanes->nelts; i++)
        busy[i] = (neo_busy){APR_ARRAY_IDX(c->lanes, i, lane).subscription, APR_ARRAY_IDX(c->lanes, i, lane).count};
    return wish;
}

/* One claim, from where the last one ended. */
static void claim_with(neo_courier *c, neo_pg *pg)
{
    neo_due *due;
    int count;
    neo_wish wish = wish_of(c);
    if (neo_outbox_claim(pg, &wish, c->round, &due, &count) != NEO_PG_OK)
        return;
    c->was_full = count == wish.most;
    for (int i = 0; i < count; i++)
        send_one(c, &due[i], wish.claim);
    apr_cpystrn(c->after, c->was_full ? due[count - 1].subscription : "", sizeof c->after);
}

static void claim(neo_courier *c)
{
    neo_ms now = neo_now_ms();
    neo_pg *pg = c->host.borrow(c->host.context);
    c->last_claim = now;
    c->next_look = now + POLL;
    neo_alarms_pass(&c->alarms, now);
    if (!pg)
        return;
    claim_with(c, pg);
    c->host.give_back(c->host.context, pg);
    apr_pool_clear(c->round);
}

static void tidy(neo_courier *c)
{
    neo_pg *pg = c->host.borrow(c->host.context);
    int more = 0;
    neo_ms begun = neo_now_ms();
    c->next_tidy = begun + TIDY;
    if (!pg)
        return;
    neo_pg_status status = neo_outbox_tidy(pg, c->settings.retention, c->round, &more);
    neo_account_tidied(&c->settings.account, status == NEO_PG_OK, begun);
    if (status == NEO_PG_OK && more)
        c->next_tidy = neo_now_ms() + 100;
    c->host.give_back(c->host.context, pg);
    apr_pool_clear(c->round);
}

/* ---------------------------------------------------------------- rounds */

/* What a claim costs depends little on how much it takes: where much waits it takes half of what can be on its way, or a
 * quarter where receivers are too slow for that. */
static int is_time_to_claim(neo_courier *c, neo_ms now)
{
    int room = c->settings.concurrency - c->in_flight, part = c->was_full && now < c->last_claim + UNHURRIED ? 2 : 4;
    if (room < (c->settings.concurrency + part - 1) / part || now < c->last_claim + PAUSE)
        return 0;
    if (atomic_exchange(&c->is_woken, 0))
        return 1;
    return c->was_full || now >= c->next_look || (c->alarms.count && now >= neo_alarms_next(&c->alarms));
}

static int is_time_to_record(const neo_courier *c, neo_ms now)
{
    int count = c->outcomes->nelts;
    return count && (count >= GROUP || c->in_flight == 0 || now >= c->first_outcome + GATHER) && now >= c->first_outcome;
}

/* How long there is nothing to do but to wait for the network. */
static int patience(const neo_courier *c, neo_ms now)
{
    neo_ms until = c->next_look;
    if (c->alarms.count && neo_alarms_next(&c->alarms) < until)
        until = neo_alarms_next(&c->alarms);
    if (c->outcomes->nelts && c->first_outcome + GATHER < until)
        until = c->first_outcome + GATHER;
    if ((c->was_full || c->is_woken) && c->in_flight < c->settings.concurrency)
        until = now + PAUSE;
    return until <= now ? 0 : (int)(until - now);
}

static void round_of(neo_courier *c)
{
    neo_ms now = neo_now_ms();
    if (is_time_to_claim(c, now))
        claim(c);
    if (now >= c->next_tidy && !c->was_full)
        tidy(c);
    neo_sender_work(c->sender, patience(c, neo_now_ms()));
    if (is_time_to_record(c, neo_now_ms()))
        record(c);
}

static void give_back_unsent(neo_courier *c)
{
    neo_pg *pg;
    start_results(c);
    for (flight *f = c->flying; f; f = f->next)
        add_outcome(c, f);
    if (c->outcomes->nelts == 0 || !(pg = c->host.borrow(c->host.context)))
        return;
    if (neo_outbox_release(pg, (const neo_outcome *)c->outcomes->elts, c->outcomes->nelts, c->round) != NEO_PG_OK)
        neo_log(NEO_LOG_NOT_GIVEN_BACK, NULL, "%d deliveries could not be given back", c->in_flight);
    c->host.give_back(c->host.context, pg);
}

void neo_courier_run(neo_courier *courier)
{
    while (!atomic_load(&courier->is_stopping))
        round_of(courier);
    for (neo_ms until = neo_now_ms() + FAREWELL; courier->in_flight && neo_now_ms() < until;)
        neo_sender_work(courier->sender, 50);
    record(courier);
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
    apr_pool_create(&c->round, pool);
    apr_pool_create(&c->results, pool);
    c->lanes = apr_array_make(pool, settings->concurrency + 1, sizeof(lane));
    start_results(c);
    c->sender = neo_sender_make(&sending, done, pool);
    return c->sender ? c : NULL;
}
