/* Groups of outcomes (see results.h). */
#include "results.h"

#include <apr_strings.h>
#include <string.h>

#include "core/crypto.h"
#include "core/id.h"
#include "core/log.h"

/* What was learnt of a subscription. */
typedef struct {
    const char *organization, *subscription;
    neo_health health;
} health_change;

void neo_results_clear(neo_results *results, int max)
{
    apr_pool_clear(results->pool);
    results->outcomes = apr_array_make(results->pool, max, sizeof(neo_outcome));
    results->health_changes = apr_array_make(results->pool, 8, sizeof(health_change));
}

void neo_results_init(neo_results *results, apr_pool_t *parent, int max)
{
    apr_pool_create(&results->pool, parent);
    neo_results_clear(results, max);
}

static int is_success(const neo_sent *sent)
{
    return !sent->error && sent->http_status >= 200 && sent->http_status <= 299;
}

/* Seconds until the next attempt: the schedule's, up to a tenth more, so that what failed together does not come back together;
 * a receiver that asks for more time gets up to twice as much. */
static double delay_after(double delay, const neo_sent *sent)
{
    unsigned char chance;
    neo_random(&chance, sizeof chance);
    double asked = sent->http_status == 429 || sent->http_status == 503 ? sent->retry_after : 0;
    double wait = (asked > delay ? asked : delay) * (1 + chance / 2560.0);
    return wait < 2 * delay ? wait : 2 * delay;
}

/* What is known already, or was found by another of the group, is no news. */
static void note_health(neo_results *results, const neo_outcome *o, int was_failing, neo_health health, int is_last)
{
    int is_news = was_failing;
    if (health != NEO_HEALTH_OK)
        is_news = !was_failing || is_last || health == NEO_HEALTH_GONE;
    for (int i = 0; is_news && i < results->health_changes->nelts; i++) {
        const health_change *recorded = &APR_ARRAY_IDX(results->health_changes, i, health_change);
        if (strcmp(recorded->subscription, o->subscription) == 0 && recorded->health == health)
            is_news = 0;
    }
    if (is_news)
        APR_ARRAY_PUSH(results->health_changes, health_change) = (health_change){o->organization, o->subscription, health};
}

neo_outcome *neo_results_add_unsent(neo_results *results, const neo_in_flight_delivery *delivery)
{
    neo_outcome *o = &APR_ARRAY_PUSH(results->outcomes, neo_outcome);
    *o = (neo_outcome){
        .id = apr_pstrdup(results->pool, delivery->id),
        .organization = apr_pstrdup(results->pool, delivery->organization),
        .subscription = apr_pstrdup(results->pool, delivery->subscription),
        .claim = delivery->claim,
        .number = delivery->number,
    };
    if (results->outcomes->nelts == 1)
        results->first = neo_steady_ms();
    return o;
}

void neo_results_add(neo_results *results, const neo_in_flight_delivery *delivery, const neo_sent *sent, const int *delays,
                     int count)
{
    int is_last = delivery->number >= count;
    neo_health health = NEO_HEALTH_OK;
    neo_outcome *o = neo_results_add_unsent(results, delivery);
    o->started = sent->started;
    o->duration = sent->duration;
    o->http_status = sent->http_status;
    o->error = sent->error;
    o->excerpt = sent->excerpt ? apr_pstrdup(results->pool, sent->excerpt) : NULL;
    if (is_success(sent))
        o->end = "success";
    else {
        health = sent->http_status == 410 ? NEO_HEALTH_GONE : NEO_HEALTH_FAILING;
        o->end = is_last ? "failed" : NULL;
        o->delay = is_last ? 0 : delay_after(delays[delivery->number], sent);
    }
    note_health(results, o, delivery->is_failing, health, is_last);
}

/* The database counts from the moment at which it recorded them. */
void neo_results_set_timers(const neo_results *results, neo_timers *timers)
{
    neo_ms now = neo_steady_ms();
    for (int i = 0; i < results->outcomes->nelts; i++) {
        const neo_outcome *o = &APR_ARRAY_IDX(results->outcomes, i, neo_outcome);
        if (!o->end)
            neo_timers_add(timers, now + (neo_ms)(o->delay * 1000) + 1);
    }
}

void neo_results_record_health(const neo_results *results, neo_pg *pg)
{
    for (int i = 0; i < results->health_changes->nelts; i++) {
        const health_change *what = &APR_ARRAY_IDX(results->health_changes, i, health_change);
        neo_rows rows;
        if (neo_outbox_record_health(pg, what->organization, what->subscription, what->health, results->pool, &rows) ==
                NEO_PG_OK &&
            rows.count)
            neo_log(NEO_LOG_SUBSCRIPTION_ENDED, NULL, "webhook subscription %s was made inactive: %s", what->subscription,
                    neo_rows_value(&rows, 0, 0));
    }
}
