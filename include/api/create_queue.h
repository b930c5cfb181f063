/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of concurrent creates, one for each resource, of one process and database. A request that gets a slot leads a group:
 * it takes the requests that wait and writes the rows of all in one statement, over its own connection. The others wait for it
 * and hold no connection.
 *
 * The number of slots is that with which creates are fastest (see api/slot_tuner.h).
 *
 * No request waits for a group to become larger. A member gets a slot or a leader as soon as a slot is free, at the latest when
 * a slot has been held for NEO_GROUP_STALL_MS: that slot is then taken over, so that a statement that is blocked does not block
 * others. A member whose row was sent leaves after NEO_GROUP_MAX_WAIT_MS. */
#ifndef NEO_API_CREATE_QUEUE_H
#define NEO_API_CREATE_QUEUE_H

#include <pthread.h>

#include "api/slot_tuner.h"
#include "core/buf.h"
#include "core/metrics.h"
#include "schema/resource.h"

#define NEO_GROUP_MAX         16 /* rows of a statement */
#define NEO_GROUP_STALL_MS    50
#define NEO_GROUP_MAX_WAIT_MS 60000 /* longer than a leader needs for its statement, with every timeout and retry */

typedef struct neo_create_queues neo_create_queues;
typedef struct neo_create_queue neo_create_queue;

typedef enum neo_group_state {
    NEO_GROUP_WAITING,
    NEO_GROUP_LEADING, /* it has a slot */
    NEO_GROUP_TAKEN,   /* its leader reads its memory, so that it cannot leave */
    NEO_GROUP_SENT,    /* its leader has copied what it needs */
    NEO_GROUP_CREATED, /* the first of the three results: its row was created */
    NEO_GROUP_ALONE,   /* certainly not created: it must be executed alone */
    NEO_GROUP_UNKNOWN, /* it may have been created */
} neo_group_state;

/* A request; on its thread's stack. The caller sets the first four members. */
typedef struct neo_group_member {
    const void *baton;
    apr_pool_t *pool;
    const char *credential, *key; /* its idempotency key; NULL if there is none. No group has two members with the same. */
    neo_group_state state;
    neo_text answer;          /* the created row's; in the pool */
    long long joined, waited; /* microseconds */
    int is_concurrent;        /* others were in progress when it joined */
    struct neo_group_member *next, **place;
    pthread_cond_t changed;
} neo_group_member;

/* A group and its outcome, for its leader. */
typedef struct neo_group {
    int count;
    neo_group_member *members[NEO_GROUP_MAX]; /* the leader is the first; NULL if it has left */
    neo_group_state outcomes[NEO_GROUP_MAX];  /* one of the last three states; initially NEO_GROUP_ALONE */
    neo_text answers[NEO_GROUP_MAX];
} neo_group;

/* `metrics` may be NULL. `tuners`: one for each resource, in memory that the processes share; not used with a fixed number of
 * slots. */
neo_create_queues *neo_create_queues_make(neo_metrics *metrics, neo_slot_tuner *tuners, int slots, apr_pool_t *pool);
neo_create_queue *neo_create_queue_find(neo_create_queues *queues, const neo_resource *resource);

/* Sets other times than NEO_GROUP_STALL_MS and NEO_GROUP_MAX_WAIT_MS, for tests. */
void neo_create_queue_set_times(neo_create_queue *queue, int stall_ms, int max_wait_ms);

/* The number of members that wait for a slot or a leader. */
int neo_create_queue_length(neo_create_queue *queue);

/* Waits until the member has a slot or a result, and returns the state: NEO_GROUP_LEADING or one of the last three. */
neo_group_state neo_create_queue_join(neo_create_queue *queue, neo_group_member *member);

/* A leader's calls. neo_create_queue_take takes the members that wait, neo_create_queue_sent marks them as sent, and
 * neo_create_queue_end gives each its outcome, and the slot to the next member. The last call is required, also without the
 * others. */
void neo_create_queue_take(neo_create_queue *queue, neo_group_member *leader, neo_group *group);
void neo_create_queue_sent(neo_create_queue *queue, neo_group *group);
void neo_create_queue_end(neo_create_queue *queue, const neo_group_member *leader, neo_group *group);

#endif
