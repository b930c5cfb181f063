/* Deliveries on their way (see flights.h). */
#include "flights.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char subscription[NEO_ID_SIZE];
    int count, is_failing;
} lane;

void neo_flights_init(neo_flights *flights, void *of, int most, apr_pool_t *pool)
{
    *flights = (neo_flights){.lanes = apr_array_make(pool, most + 1, sizeof(lane)), .of = of};
}

static lane *lane_of(neo_flights *flights, const char *subscription)
{
    for (int i = 0; i < flights->lanes->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(flights->lanes, i, lane).subscription, subscription) == 0)
            return &APR_ARRAY_IDX(flights->lanes, i, lane);
    lane *made = &APR_ARRAY_PUSH(flights->lanes, lane);
    apr_cpystrn(made->subscription, subscription, sizeof made->subscription);
    made->count = 0;
    return made;
}

neo_flight *neo_flights_take_off(neo_flights *flights, const neo_due *due, long long claim)
{
    neo_flight *f = calloc(1, sizeof *f);
    if (!f)
        abort();
    f->of = flights->of;
    f->claim = claim;
    f->number = due->number;
    f->is_failing = due->is_failing;
    neo_receivers_host(due->url, f->host);
    apr_cpystrn(f->id, due->id, sizeof f->id);
    apr_cpystrn(f->organization, due->organization, sizeof f->organization);
    apr_cpystrn(f->subscription, due->subscription, sizeof f->subscription);
    f->link = &flights->first;
    f->next = flights->first;
    if (f->next)
        f->next->link = &f->next;
    flights->first = f;
    flights->count++;
    lane *l = lane_of(flights, f->subscription);
    l->count++;
    l->is_failing = due->is_failing;
    return f;
}

void neo_flights_land(neo_flights *flights, neo_flight *flight)
{
    lane *l = lane_of(flights, flight->subscription);
    if (--l->count == 0)
        *l = APR_ARRAY_IDX(flights->lanes, --flights->lanes->nelts, lane);
    *flight->link = flight->next;
    if (flight->next)
        flight->next->link = flight->link;
    flights->count--;
    free(flight);
}

void neo_flights_tell(const neo_flights *flights, neo_wish *wish, apr_pool_t *pool)
{
    neo_busy *busy = apr_palloc(pool, (apr_size_t)(flights->lanes->nelts + 1) * sizeof *busy);
    for (int i = 0; i < flights->lanes->nelts; i++) {
        const lane *l = &APR_ARRAY_IDX(flights->lanes, i, lane);
        busy[i] = (neo_busy){apr_pstrdup(pool, l->subscription), l->count, l->is_failing};
    }
    wish->busy = busy;
    wish->busy_count = flights->lanes->nelts;
}
