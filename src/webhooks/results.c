/* SPDX-License-Identifier: Apache-2.0 */
/* Turns results of attempts into outcomes, health changes and timers of retries (see results.h). */
#include "results.h"

#include <apr_strings.h>
#include <string.h>

#include "core/log.h"

#define MAX_PAUSE_S 3600 /* the longest Retry-After that is respected */

void neo_results_clear(neo_results *results, int max)
{
    apr_pool_clear(results->pool);
    results->outcomes = apr_array_make(results->pool, max, sizeof(neo_outcome));
    results->health_changes = apr_array_make(results->pool, 8, sizeof(neo_health_change));
    results->followers = apr_array_make(results->pool, 8, sizeof(neo_follower));
}

void neo_results_init(neo_results *results, apr_pool_t *parent, int max)
{
    apr_pool_create(&results->pool, parent);
    neo_results_clear(results, max);
}

/* Seconds for which the receiver asked to wait, at most MAX_PAUSE_S. */
static int requested_pause(const neo_send_result *result)
{
    int is_overload = result->http_status == 429 || (result->http_status >= 502 && result->http_status <= 504);
    if (!is_overload)
        return 0;
    return result->retry_after < MAX_PAUSE_S ? result->retry_after : MAX_PAUSE_S;
}

/* Seconds until the next attempt. Up to 10 % of jitter spreads retries of requests that failed together. */
static double delay_after(double delay, int pause, int jitter)
{
    return (pause > delay ? pause : delay) + delay * jitter / 2560;
}

/* Sets the health change of the subscription, unless the database has it already. The last change of a batch is used, but
 * NEO_HEALTH_GONE is not replaced by a later one. */
static void set_health_change(neo_results *results, const neo_outcome *o, const neo_in_flight_delivery *delivery,
                              neo_health health, int pause, int is_last)
{
    int is_new = delivery->records_success;
    if (health != NEO_HEALTH_OK)
        is_new = !delivery->is_failing || is_last || health == NEO_HEALTH_GONE || pause;
    if (!is_new)
        return;
    for (int i = 0; i < results->health_changes->nelts; i++) {
        neo_health_change *change = &APR_ARRAY_IDX(results->health_changes, i, neo_health_change);
        if (strcmp(change->subscription, o->subscription) == 0) {
            change->health = change->health == NEO_HEALTH_GONE ? NEO_HEALTH_GONE : health;
            change->pause = pause > change->pause ? pause : change->pause;
            return;
        }
    }
    APR_ARRAY_PUSH(results->health_changes, neo_health_change) =
        (neo_health_change){o->organization, o->subscription, health, pause};
}

static neo_outcome *add_outcome(neo_results *results, const neo_in_flight_delivery *delivery)
{
    neo_outcome *o = &APR_ARRAY_PUSH(results->outcomes, neo_outcome);
    *o = (neo_outcome){
        .id = apr_pstrdup(results->pool, delivery->id),
        .organization = apr_pstrdup(results->pool, delivery->organization),
        .subscription = apr_pstrdup(results->pool, delivery->subscription),
        .claim = delivery->claim,
        .number = delivery->number,
        .frees_next = delivery->frees_next && !delivery->follower,
    };
    if (results->outcomes->nelts == 1)
        results->first = neo_steady_ms();
    return o;
}

/* They become due at once, and wait for `delivery` if it has not ended. */
static void release_followers(neo_results *results, const neo_in_flight_delivery *delivery)
{
    for (const neo_due_delivery *due = delivery->follower; due; due = due->follower)
        APR_ARRAY_PUSH(results->outcomes, neo_outcome) = (neo_outcome){
            .id = apr_pstrdup(results->pool, due->id),
            .organization = apr_pstrdup(results->pool, due->organization),
            .subscription = apr_pstrdup(results->pool, due->subscription),
            .claim = neo_claimed_number(delivery->claimed, due),
            .number = due->number,
            .end = "released",
            .frees_next = 1,
        };
}

void neo_results_add_unsent(neo_results *results, const neo_in_flight_delivery *delivery)
{
    neo_outcome *o = add_outcome(results, delivery);
    o->end = "released";
    o->frees_next = 1;
    release_followers(results, delivery);
}

/* The error does not show the subscriber whether a name exists in this host's network. */
int neo_results_add(neo_results *results, const neo_in_flight_delivery *delivery, const neo_send_result *result,
                    const int *delays, int count)
{
    const char *error = result->error;
    int is_last = delivery->number >= count, pause = requested_pause(result);
    int has_no_address = error && (strcmp(error, "blocked_address") == 0 || strcmp(error, "name_not_resolved") == 0);
    neo_health health = NEO_HEALTH_OK;
    neo_outcome *o = add_outcome(results, delivery);
    o->started = result->started;
    o->duration = result->duration;
    o->http_status = result->http_status;
    o->error = has_no_address ? "no_public_address" : error;
    /* The response to several deliveries can repeat what each has sent, and would be kept when the others' data are erased. */
    if (result->excerpt && !delivery->batch_next && !delivery->is_follower)
        o->excerpt = apr_pstrdup(results->pool, result->excerpt);
    if (neo_send_is_success(result))
        o->end = "success";
    else {
        health = result->http_status == 410 ? NEO_HEALTH_GONE : NEO_HEALTH_FAILING;
        o->end = is_last ? "failed" : NULL;
        o->delay = is_last ? 0 : delay_after(delays[delivery->number], pause, result->jitter);
    }
    set_health_change(results, o, delivery, health, pause, is_last);
    int is_end = o->end != NULL; /* more outcomes may move `o` */
    if (!is_end)
        release_followers(results, delivery);
    return is_end && delivery->follower != NULL;
}

void neo_results_log_deactivated(const neo_rows *rows)
{
    for (int i = 0; i < rows->count; i++) {
        const char *reason = neo_rows_value(rows, i, 1);
        if (reason)
            neo_log(NEO_LOG_SUBSCRIPTION_ENDED, NULL, "webhook subscription %s was deactivated: %s", neo_rows_value(rows, i, 0),
                    strcmp(reason, "gone") == 0 ? "the receiver answered 410 Gone" : "every attempt has failed for five days");
    }
}

/* ---------------------------------------------------------------- timers: a binary heap */

static void swap_timers(neo_timers *timers, int a, int b)
{
    neo_ms swapped = timers->at[a];
    timers->at[a] = timers->at[b];
    timers->at[b] = swapped;
}

/* Times are rounded up to this step, so that one claim serves many of them. */
#define STEP_MS 10

void neo_timers_add(neo_timers *timers, neo_ms at)
{
    at = (at + STEP_MS - 1) / STEP_MS * STEP_MS;
    if (timers->count == NEO_MAX_TIMERS || (timers->count && at == timers->at[0]))
        return;
    int i = timers->count++;
    timers->at[i] = at;
    for (; i > 0 && timers->at[i] < timers->at[(i - 1) / 2]; i = (i - 1) / 2)
        swap_timers(timers, i, (i - 1) / 2);
}

/* The database computes due times from its own time of recording, so this starts from now. */
void neo_results_set_timers(const neo_results *results, neo_timers *timers)
{
    neo_ms now = neo_steady_ms();
    for (int i = 0; i < results->outcomes->nelts; i++) {
        const neo_outcome *o = &APR_ARRAY_IDX(results->outcomes, i, neo_outcome);
        if (!o->end)
            neo_timers_add(timers, now + (neo_ms)(o->delay * 1000) + 1);
        if (o->frees_next)
            neo_timers_add(timers, now);
    }
}

static void remove_first_timer(neo_timers *timers)
{
    timers->at[0] = timers->at[--timers->count];
    for (int i = 0, child; (child = 2 * i + 1) < timers->count; i = child) {
        if (child + 1 < timers->count && timers->at[child + 1] < timers->at[child])
            child++;
        if (timers->at[i] <= timers->at[child])
            break;
        swap_timers(timers, i, child);
    }
}

void neo_timers_expire(neo_timers *timers, neo_ms now)
{
    while (timers->count && timers->at[0] <= now)
        remove_first_timer(timers);
}
