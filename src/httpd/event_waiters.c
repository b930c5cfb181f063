/* SPDX-License-Identifier: Apache-2.0 */
/* Lets requests wait for events (see httpd/event_waiters.h). */
#include "httpd/event_waiters.h"

#include <pthread.h>
#include <string.h>

#include "core/thread.h"
#include "pg/pg.h"
#include "sql/event_log.h"

#define POLL_TIMEOUT_S    3
#define RETRY_SECONDS     5 /* if too many requests wait */
#define ORGANIZATION_PART 4 /* an organization can take a quarter of the slots */
#define TENANT_PART       2 /* a tenant can take half of them */

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
    unsigned int generation; /* the credential cache's, when all were woken last */
    void (*wake)(void *baton);
    void *baton;
};

neo_event_waiters *neo_event_waiters_make(apr_pool_t *pchild, int slots, void (*wake)(void *baton), void *baton)
{
    neo_event_waiters *waiters = apr_pcalloc(pchild, sizeof *waiters);
    waiters->slots = slots;
    waiters->wake = wake;
    waiters->baton = baton;
    neo_cond_init(&waiters->changed);
    neo_mutex_init(&waiters->mutex);
    return waiters;
}

static int share(const neo_event_waiters *waiters, int part)
{
    return waiters->slots > part ? waiters->slots / part : 1;
}

static int has_free_slot(const neo_event_waiters *waiters, const neo_event_wait *wait)
{
    int all = 0, same_organization = 0, same_tenant = 0;
    for (const waiter *w = waiters->first; w; w = w->next) {
        all++;
        same_organization += strcmp(w->wait->organization, wait->organization) == 0;
        same_tenant += strcmp(w->wait->tenant, wait->tenant) == 0;
    }
    return all < waiters->slots && same_organization < share(waiters, ORGANIZATION_PART) &&
           same_tenant < share(waiters, TENANT_PART);
}

int neo_event_waiters_wait(neo_event_waiters *waiters, const neo_event_wait *wait)
{
    waiter self = {.wait = wait};
    pthread_mutex_lock(&waiters->mutex);
    if (waiters->is_stopping || !has_free_slot(waiters, wait)) {
        int retry_after = waiters->is_stopping ? 1 : RETRY_SECONDS;
        pthread_mutex_unlock(&waiters->mutex);
        return retry_after;
    }
    /* Credentials may have changed since this one was confirmed. The generation also rises without a wake. */
    self.is_due = (int)(waiters->generation - wait->generation) > 0;
    self.next = waiters->first;
    waiters->first = &self;
    if (!self.next)
        waiters->wake(waiters->baton);
    for (int may_wait = 1; may_wait && !self.is_due && !waiters->is_stopping;)
        may_wait = neo_cond_wait(&waiters->changed, &waiters->mutex, wait->until);
    waiter **at = &waiters->first;
    while (*at != &self)
        at = &(*at)->next;
    *at = self.next;
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

static int is_listed(const neo_rows *rows, const waiter *w)
{
    for (int r = 0; r < rows->count; r++)
        if (strcmp(neo_rows_value(rows, r, 0), w->wait->organization) == 0 &&
            strcmp(neo_rows_value(rows, r, 1), w->wait->position) == 0)
            return 1;
    return 0;
}

/* What is waited for is copied, so that the lock is not held during the statement. */
int neo_event_waiters_poll(neo_event_waiters *waiters, neo_pg *pg, apr_pool_t *pool)
{
    neo_buf organizations, positions;
    neo_rows rows;
    neo_buf_init(&organizations, pool, 256);
    neo_buf_init(&positions, pool, 256);
    pthread_mutex_lock(&waiters->mutex);
    for (const waiter *w = waiters->first; w; w = w->next) {
        neo_array_add_plain(&organizations, w->wait->organization);
        neo_array_add_plain(&positions, w->wait->position);
    }
    pthread_mutex_unlock(&waiters->mutex);
    if (!organizations.len)
        return 1;
    neo_pg_status status =
        neo_event_find_new(pg, neo_array_end(&organizations), neo_array_end(&positions), POLL_TIMEOUT_S, pool, &rows);
    if (status != NEO_PG_OK || !rows.count)
        return status != NEO_PG_UNAVAILABLE;
    pthread_mutex_lock(&waiters->mutex);
    for (waiter *w = waiters->first; w; w = w->next)
        w->is_due |= is_listed(&rows, w);
    pthread_cond_broadcast(&waiters->changed);
    pthread_mutex_unlock(&waiters->mutex);
    return 1;
}
