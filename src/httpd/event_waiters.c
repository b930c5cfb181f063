/* SPDX-License-Identifier: Apache-2.0 */
/* Lets requests wait for events (see httpd/event_waiters.h). */
#include "httpd/event_waiters.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/array.h"
#include "store/event_page.h"

#define POLL_TIMEOUT_S    3
#define RETRY_SECONDS     5 /* if too many requests wait */
#define ORGANIZATION_PART 4 /* of the slots, an organization can take one in four, with the next */
#define TENANT_PART       2

/* A request that waits; on its thread's stack. */
typedef struct waiter {
    struct waiter *next;
    const neo_event_wait *wait;
    int is_due;
} waiter;

struct neo_event_waiters {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    waiter *first;
    int slots, is_stopping;
    unsigned int generation; /* of the credential cache, when all were woken last */
    void (*wake)(void *baton);
    void *baton;
};

static apr_status_t destroy(void *data)
{
    neo_event_waiters *waiters = data;
    pthread_cond_destroy(&waiters->changed);
    pthread_mutex_destroy(&waiters->mutex);
    return APR_SUCCESS;
}

neo_event_waiters *neo_event_waiters_make(apr_pool_t *pchild, int slots, void (*wake)(void *baton), void *baton)
{
    neo_event_waiters *waiters = apr_pcalloc(pchild, sizeof *waiters);
    pthread_condattr_t attributes;
    waiters->slots = slots;
    waiters->wake = wake;
    waiters->baton = baton;
    if (pthread_condattr_init(&attributes) != 0 || pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) != 0 ||
        pthread_cond_init(&waiters->changed, &attributes) != 0 || pthread_mutex_init(&waiters->mutex, NULL) != 0)
        abort();
    pthread_condattr_destroy(&attributes);
    apr_pool_cleanup_register(pchild, waiters, destroy, apr_pool_cleanup_null);
    return waiters;
}

static struct timespec moment_of(neo_ms milliseconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += milliseconds / 1000;
    at.tv_nsec += milliseconds % 1000 * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void remove_waiter(neo_event_waiters *waiters, const waiter *self)
{
    waiter **at = &waiters->first;
    while (*at != self)
        at = &(*at)->next;
    *at = self->next;
}

static int share(const neo_event_waiters *waiters, int part)
{
    return waiters->slots > part ? waiters->slots / part : 1;
}

static int has_free_slot(const neo_event_waiters *waiters, const neo_event_wait *wait)
{
    int all = 0, of_organization = 0, of_tenant = 0;
    for (const waiter *w = waiters->first; w; w = w->next) {
        all++;
        of_organization += strcmp(w->wait->organization, wait->organization) == 0;
        of_tenant += strcmp(w->wait->tenant, wait->tenant) == 0;
    }
    return all < waiters->slots && of_organization < share(waiters, ORGANIZATION_PART) &&
           of_tenant < share(waiters, TENANT_PART);
}

/* Whether credentials have changed since this one was confirmed. The generation also rises without a wake. */
static int is_outdated(const neo_event_waiters *waiters, const neo_event_wait *wait)
{
    return (int)(waiters->generation - wait->generation) > 0;
}

int neo_event_waiters_wait(neo_event_waiters *waiters, const neo_event_wait *wait)
{
    neo_ms left = wait->until - neo_steady_ms();
    struct timespec at = moment_of(left > 0 ? left : 0);
    waiter self = {.wait = wait};
    pthread_mutex_lock(&waiters->mutex);
    if (waiters->is_stopping || !has_free_slot(waiters, wait)) {
        int retry_after = waiters->is_stopping ? 1 : RETRY_SECONDS;
        pthread_mutex_unlock(&waiters->mutex);
        return retry_after;
    }
    self.is_due = is_outdated(waiters, wait);
    self.next = waiters->first;
    waiters->first = &self;
    if (!self.next)
        waiters->wake(waiters->baton);
    for (int rc = 0; rc == 0 && !self.is_due && !waiters->is_stopping;)
        rc = pthread_cond_timedwait(&waiters->changed, &waiters->mutex, &at);
    remove_waiter(waiters, &self);
    int retry_after = waiters->is_stopping;
    pthread_mutex_unlock(&waiters->mutex);
    return retry_after;
}

int neo_event_waiters_any(neo_event_waiters *waiters)
{
    pthread_mutex_lock(&waiters->mutex);
    int any = waiters->first != NULL;
    pthread_mutex_unlock(&waiters->mutex);
    return any;
}

void neo_event_waiters_wake(neo_event_waiters *waiters, unsigned int generation)
{
    pthread_mutex_lock(&waiters->mutex);
    waiters->generation = generation;
    for (waiter *w = waiters->first; w; w = w->next)
        w->is_due = 1;
    pthread_cond_broadcast(&waiters->changed);
    pthread_mutex_unlock(&waiters->mutex);
}

void neo_event_waiters_stop(neo_event_waiters *waiters)
{
    pthread_mutex_lock(&waiters->mutex);
    waiters->is_stopping = 1;
    pthread_cond_broadcast(&waiters->changed);
    pthread_mutex_unlock(&waiters->mutex);
}

/* ---------------------------------------------------------------- the database */

/* Copies what is waited for, so that the lock is not held during the statement. */
static void collect(neo_event_waiters *waiters, neo_buf *organizations, neo_buf *positions)
{
    pthread_mutex_lock(&waiters->mutex);
    for (const waiter *w = waiters->first; w; w = w->next) {
        neo_array_add_plain(organizations, w->wait->organization);
        neo_array_add_plain(positions, w->wait->position);
    }
    pthread_mutex_unlock(&waiters->mutex);
}

static int is_listed(const neo_rows *rows, const waiter *w)
{
    for (int r = 0; r < rows->count; r++)
        if (strcmp(neo_rows_value(rows, r, 0), w->wait->organization) == 0 &&
            strcmp(neo_rows_value(rows, r, 1), w->wait->position) == 0)
            return 1;
    return 0;
}

static void wake_listed(neo_event_waiters *waiters, const neo_rows *rows)
{
    pthread_mutex_lock(&waiters->mutex);
    for (waiter *w = waiters->first; w; w = w->next)
        w->is_due |= is_listed(rows, w);
    pthread_cond_broadcast(&waiters->changed);
    pthread_mutex_unlock(&waiters->mutex);
}

int neo_event_waiters_poll(neo_event_waiters *waiters, neo_pg *pg, apr_pool_t *pool)
{
    neo_buf organizations, positions;
    neo_rows rows;
    neo_buf_init(&organizations, pool, 256);
    neo_buf_init(&positions, pool, 256);
    collect(waiters, &organizations, &positions);
    if (!organizations.len)
        return 1;
    neo_pg_status status =
        neo_event_find_new(pg, neo_array_end(&organizations), neo_array_end(&positions), POLL_TIMEOUT_S, pool, &rows);
    if (status == NEO_PG_OK && rows.count)
        wake_listed(waiters, &rows);
    return status != NEO_PG_UNAVAILABLE;
}
