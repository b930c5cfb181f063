/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of concurrent creates (see api/create_queue.h). */
#include "api/create_queue.h"

#include <apr_time.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread.h"

typedef struct {
    const neo_group_member *leader; /* NULL if the slot is free */
    neo_ms since;
} slot;

struct neo_create_queue {
    pthread_mutex_t mutex; /* protects everything else, and the members that are not LEADING */
    neo_group_member *first, **end;
    slot slots[NEO_MAX_SLOTS];
    neo_slot_tuner *tuner; /* how many of them are used */
    int in_progress;       /* requests */
    int stall_ms, max_wait_ms;
    neo_metrics *metrics;
};

struct neo_create_queues {
    int count;
    neo_create_queue queues[];
};

static apr_status_t destroy_queues(void *data)
{
    neo_create_queues *queues = data;
    for (int i = 0; i < queues->count; i++)
        pthread_mutex_destroy(&queues->queues[i].mutex);
    return APR_SUCCESS;
}

neo_create_queues *neo_create_queues_make(neo_metrics *metrics, neo_slot_tuner *tuners, int slots, apr_pool_t *pool)
{
    int count = neo_resource_index(NULL);
    if (slots)
        tuners = apr_pcalloc(pool, (apr_size_t)count * sizeof *tuners);
    neo_create_queues *queues = apr_pcalloc(pool, sizeof *queues + (apr_size_t)count * sizeof *queues->queues);
    queues->count = count;
    for (int i = 0; i < count; i++) {
        neo_create_queue *queue = &queues->queues[i];
        neo_mutex_init(&queue->mutex);
        queue->end = &queue->first;
        queue->tuner = &tuners[i];
        if (slots)
            neo_slot_tuner_fix(queue->tuner, slots);
        neo_create_queue_set_times(queue, NEO_GROUP_STALL_MS, NEO_GROUP_MAX_WAIT_MS);
        queue->metrics = metrics;
    }
    apr_pool_cleanup_register(pool, queues, destroy_queues, apr_pool_cleanup_null);
    return queues;
}

void neo_create_queue_set_times(neo_create_queue *queue, int stall_ms, int max_wait_ms)
{
    queue->stall_ms = stall_ms;
    queue->max_wait_ms = max_wait_ms;
}

neo_create_queue *neo_create_queue_find(neo_create_queues *queues, const neo_resource *resource)
{
    return &queues->queues[neo_resource_index(resource)];
}

int neo_create_queue_length(neo_create_queue *queue)
{
    int length = 0;
    pthread_mutex_lock(&queue->mutex);
    for (const neo_group_member *member = queue->first; member; member = member->next)
        length++;
    pthread_mutex_unlock(&queue->mutex);
    return length;
}

/* ---------------------------------------------------------------- the queue; the caller holds the mutex */

/* Removes the member that *at points to, and sets its state. */
static void remove_at(neo_create_queue *queue, neo_group_member **at, neo_group_state state)
{
    neo_group_member *member = *at;
    *at = member->next;
    if (!*at)
        queue->end = at;
    member->state = state;
    member->waited = apr_time_now() - member->joined;
}

static void hold(slot *taken, const neo_group_member *leader)
{
    *taken = (slot){leader, neo_steady_ms()};
}

static slot *free_slot(neo_create_queue *queue)
{
    for (slot *s = queue->slots; s < queue->slots + neo_slot_tuner_slots(queue->tuner); s++)
        if (!s->leader)
            return s;
    return NULL;
}

/* ---------------------------------------------------------------- members */

/* Makes the member the leader of a stalled slot, if there is one. */
static void take_over_slot(neo_create_queue *queue, neo_group_member *member)
{
    slot *stalled = queue->slots, *end = queue->slots + NEO_MAX_SLOTS;
    neo_group_member **at = &queue->first;
    while (stalled < end && !(stalled->leader && neo_steady_ms() - stalled->since >= queue->stall_ms))
        stalled++;
    if (stalled == end)
        return;
    while (*at != member)
        at = &(*at)->next;
    remove_at(queue, at, NEO_GROUP_LEADING);
    hold(stalled, member);
}

static int is_waiting(const neo_group_member *member)
{
    return member->state == NEO_GROUP_WAITING || member->state == NEO_GROUP_TAKEN || member->state == NEO_GROUP_SENT;
}

/* Checks the slots from time to time, because no signal is sent when one stalls. */
static void wait_in_queue(neo_create_queue *queue, neo_group_member *member)
{
    neo_ms until = neo_steady_ms() + queue->max_wait_ms;
    neo_cond_init(&member->changed);
    member->next = NULL;
    *queue->end = member;
    queue->end = &member->next;
    while (is_waiting(member)) {
        neo_ms ms = neo_earlier(queue->stall_ms, queue->max_wait_ms);
        (void)neo_cond_wait(&member->changed, &queue->mutex, neo_steady_ms() + ms);
        if (member->state == NEO_GROUP_WAITING)
            take_over_slot(queue, member);
        else if (member->state == NEO_GROUP_SENT && neo_steady_ms() >= until) {
            queue->in_progress--;
            *member->place = NULL;
            member->state = NEO_GROUP_UNKNOWN;
        }
    }
    pthread_cond_destroy(&member->changed);
}

static apr_status_t free_answer(void *answer)
{
    free(answer);
    return APR_SUCCESS;
}

neo_group_state neo_create_queue_join(neo_create_queue *queue, neo_group_member *member)
{
    member->joined = apr_time_now();
    member->waited = 0;
    member->state = NEO_GROUP_WAITING;
    pthread_mutex_lock(&queue->mutex);
    member->is_concurrent = queue->in_progress++ > 0;
    slot *s = free_slot(queue);
    if (s) {
        hold(s, member);
        member->state = NEO_GROUP_LEADING;
    } else
        wait_in_queue(queue, member);
    pthread_mutex_unlock(&queue->mutex);
    if (member->state == NEO_GROUP_CREATED)
        apr_pool_cleanup_register(member->pool, member->answer.ptr, free_answer, apr_pool_cleanup_null);
    if (queue->metrics)
        neo_metrics_time(queue->metrics, NEO_TIME_CREATE_WAIT, member->waited);
    return member->state;
}

/* ---------------------------------------------------------------- leaders */

/* Of two requests with the same key, one would violate the key's uniqueness, so that the whole group is rolled back. */
static int shares_key(const neo_group *group, const neo_group_member *member)
{
    for (int i = 0; member->key && i < group->count; i++) {
        const neo_group_member *other = group->members[i];
        if (other->key && strcmp(other->key, member->key) == 0 && strcmp(other->credential, member->credential) == 0)
            return 1;
    }
    return 0;
}

static void add_to_group(neo_group *group, neo_group_member *member)
{
    member->place = &group->members[group->count];
    *member->place = member;
    group->outcomes[group->count++] = NEO_GROUP_ALONE;
}

void neo_create_queue_take(neo_create_queue *queue, neo_group_member *leader, neo_group *group)
{
    group->count = 0;
    add_to_group(group, leader);
    pthread_mutex_lock(&queue->mutex);
    for (neo_group_member **at = &queue->first, *member; (member = *at) && group->count < NEO_GROUP_MAX;)
        if (shares_key(group, member))
            at = &member->next;
        else {
            remove_at(queue, at, NEO_GROUP_TAKEN);
            add_to_group(group, member);
        }
    pthread_mutex_unlock(&queue->mutex);
}

void neo_create_queue_sent(neo_create_queue *queue, neo_group *group)
{
    pthread_mutex_lock(&queue->mutex);
    for (int i = 1; i < group->count; i++)
        group->members[i]->state = NEO_GROUP_SENT;
    pthread_mutex_unlock(&queue->mutex);
}

/* A request that waits long for a lock must not determine the mean. */
static void count_end(neo_create_queue *queue, const neo_group_member *member, apr_time_t now)
{
    long long took = now - member->joined, most = queue->stall_ms * 1000LL;
    queue->in_progress--;
    neo_slot_tuner_count_row(queue->tuner, took < 0 ? 0 : took < most ? took : most, member->is_concurrent);
}

/* The result of a statement belongs to its leader, so a member gets a copy of its answer. */
static void give_outcome(neo_group_member *member, neo_group_state outcome, neo_text answer)
{
    member->state = outcome;
    if (outcome == NEO_GROUP_CREATED) {
        member->answer = (neo_text){strndup(answer.ptr, answer.len), answer.len};
        if (!member->answer.ptr)
            abort();
    }
    pthread_cond_signal(&member->changed);
}

/* If the slot was taken over, it has another leader. A slot above the current number is freed. */
static void pass_slot(neo_create_queue *queue, const neo_group_member *leader)
{
    int used = neo_slot_tuner_slots(queue->tuner);
    for (slot *s = queue->slots; s < queue->slots + NEO_MAX_SLOTS; s++)
        if (s->leader == leader) {
            neo_group_member *next = s < queue->slots + used ? queue->first : NULL;
            hold(s, next);
            if (next) {
                remove_at(queue, &queue->first, NEO_GROUP_LEADING);
                pthread_cond_signal(&next->changed);
            }
        }
}

void neo_create_queue_end(neo_create_queue *queue, const neo_group_member *leader, neo_group *group)
{
    int alone = 0;
    apr_time_t now = apr_time_now();
    pthread_mutex_lock(&queue->mutex);
    count_end(queue, leader, now);
    for (int i = 0; i < group->count; i++) {
        neo_group_member *member = group->members[i];
        alone += group->outcomes[i] == NEO_GROUP_ALONE;
        if (i > 0 && member) {
            count_end(queue, member, now);
            give_outcome(member, group->outcomes[i], group->answers[i]);
        }
    }
    int slots = neo_slot_tuner_slots(queue->tuner);
    neo_slot_tuner_count_statement(queue->tuner);
    pass_slot(queue, leader);
    pthread_mutex_unlock(&queue->mutex);
    if (queue->metrics && group->count) {
        neo_metrics_count(queue->metrics, NEO_COUNT_CREATE_STATEMENTS, 1);
        neo_metrics_count(queue->metrics, NEO_COUNT_CREATE_ROWS, group->count);
        neo_metrics_count(queue->metrics, NEO_COUNT_CREATE_SLOTS, slots);
        neo_metrics_count(queue->metrics, NEO_COUNT_CREATE_REPEATED, group->count > 1 ? alone : 0);
    }
}
