/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of concurrent creates: slots, members and outcomes, with threads as requests. */
#include "unit.h"

#include <apr_strings.h>
#include <apr_time.h>
#include <pthread.h>

#include "api/create_queue.h"
#include "api/slot_tuner.h"
#include "resources/list.h"

#define LIMIT_MS 20000 /* until a condition must be true */
#define MANY     20
#define SLOTS    2

/* A request in a thread. It leads if it must, and then creates every row of its group, with an answer for each. */
typedef struct {
    neo_create_queue *queue;
    const char *key;
    neo_group_member member;
    apr_pool_t *pool;
    pthread_t thread;
    int led; /* the size of the group that it has led; 0: none */
} requester;

/* Without stalls and limits, if these are LIMIT_MS. */
static neo_create_queue *new_queue(int stall_ms, int max_wait_ms, apr_pool_t *pool)
{
    neo_create_queue *queue = neo_create_queue_find(neo_create_queues_make(NULL, NULL, 2, pool), &neo_broker);
    neo_create_queue_set_times(queue, stall_ms, max_wait_ms);
    return queue;
}

static neo_text answer_for(const neo_group_member *member, apr_pool_t *pool)
{
    return text_of(apr_psprintf(pool, "answer %pp", member->baton));
}

static void *request(void *data)
{
    requester *r = data;
    neo_group group;
    r->member = (neo_group_member){.baton = r, .pool = r->pool, .credential = "c", .key = r->key};
    if (neo_create_queue_join(r->queue, &r->member) != NEO_GROUP_LEADING)
        return NULL;
    neo_create_queue_take(r->queue, &r->member, &group);
    for (int i = 0; i < group.count; i++) {
        group.outcomes[i] = NEO_GROUP_CREATED;
        group.answers[i] = answer_for(group.members[i], r->pool);
    }
    neo_create_queue_sent(r->queue, &group);
    r->led = group.count;
    neo_create_queue_end(r->queue, &r->member, &group);
    return NULL;
}

static requester *start(neo_create_queue *queue, const char *key, apr_pool_t *pool)
{
    requester *r = apr_pcalloc(pool, sizeof *r);
    r->queue = queue;
    r->key = key;
    apr_pool_create_unmanaged_ex(&r->pool, NULL, NULL);
    assert_int_equal(pthread_create(&r->thread, NULL, request, r), 0);
    return r;
}

/* Also frees the memory, with the answer. */
static void finish(requester *r)
{
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    if (r->member.state == NEO_GROUP_CREATED) {
        char expected[40];
        apr_snprintf(expected, sizeof expected, "answer %pp", (void *)r);
        assert_string_equal(r->member.answer.ptr, expected);
        assert_int_equal(r->member.answer.len, strlen(expected));
        assert_true(r->member.waited >= 0);
    }
    apr_pool_destroy(r->pool);
}

static void await_length(neo_create_queue *queue, int length)
{
    for (int waited = 0; neo_create_queue_length(queue) != length; waited++) {
        assert_true(waited < LIMIT_MS);
        apr_sleep(1000);
    }
}

/* Takes slots in this thread. */
static void lead(neo_create_queue *queue, neo_group_member *member, apr_pool_t *pool)
{
    *member = (neo_group_member){.pool = pool, .credential = "c"};
    assert_int_equal(neo_create_queue_join(queue, member), NEO_GROUP_LEADING);
    assert_int_equal(member->waited, 0);
}

static void end(neo_create_queue *queue, neo_group_member *member)
{
    neo_group group = {0};
    neo_create_queue_end(queue, member, &group);
}

/* Both slots, and `count` requests that wait. */
typedef struct {
    neo_create_queue *queue;
    neo_group_member leaders[SLOTS];
    requester *waiting[MANY];
    int count;
} crowd;

static void fill(crowd *c, int count, const char *key, apr_pool_t *pool)
{
    for (int i = 0; i < SLOTS; i++)
        lead(c->queue, &c->leaders[i], pool);
    for (int i = 0; i < count; i++) {
        c->waiting[i] = start(c->queue, key, pool);
        await_length(c->queue, i + 1);
    }
    c->count = count;
}

/* Ends the first leader, and waits for all requests. Returns the number of groups that these have led. */
static int finish_all(crowd *c)
{
    int groups = 0, rows = 0;
    end(c->queue, &c->leaders[0]);
    for (int i = 0; i < c->count; i++) {
        finish(c->waiting[i]);
        groups += c->waiting[i]->led > 0;
        rows += c->waiting[i]->led;
    }
    assert_int_equal(rows, c->count);
    assert_int_equal(neo_create_queue_length(c->queue), 0);
    return groups;
}

TEST(a_request_without_others_leads_at_once)
{
    neo_group group;
    neo_group_member member;
    neo_create_queue *queue = new_queue(LIMIT_MS, LIMIT_MS, *state);
    for (int i = 0; i < 3; i++) {
        lead(queue, &member, *state);
        neo_create_queue_take(queue, &member, &group);
        assert_int_equal(group.count, 1);
        assert_int_equal(group.outcomes[0], NEO_GROUP_ALONE);
        neo_create_queue_end(queue, &member, &group);
    }
}

TEST(requests_that_wait_share_a_group)
{
    crowd c = {.queue = new_queue(LIMIT_MS, LIMIT_MS, *state)};
    fill(&c, 5, NULL, *state);
    assert_int_equal(finish_all(&c), 1);
    assert_int_equal(c.waiting[0]->led, 5); /* the first one leads */
}

TEST(a_group_has_a_maximum_of_rows)
{
    crowd c = {.queue = new_queue(LIMIT_MS, LIMIT_MS, *state)};
    fill(&c, MANY, NULL, *state);
    assert_int_equal(finish_all(&c), 2);
    assert_int_equal(c.waiting[0]->led, NEO_GROUP_MAX);
    assert_int_equal(c.waiting[NEO_GROUP_MAX]->led, MANY - NEO_GROUP_MAX);
}

TEST(requests_with_one_key_are_in_different_groups)
{
    crowd c = {.queue = new_queue(LIMIT_MS, LIMIT_MS, *state)};
    fill(&c, 3, "same", *state);
    assert_int_equal(finish_all(&c), 3);
}

TEST(a_stalled_slot_is_taken_over)
{
    crowd c = {.queue = new_queue(1, LIMIT_MS, *state)};
    for (int i = 0; i < SLOTS; i++)
        lead(c.queue, &c.leaders[i], *state);
    for (c.count = 0; c.count < 5; c.count++)
        c.waiting[c.count] = start(c.queue, NULL, *state);
    for (int i = 0; i < c.count; i++) /* although no leader has ended */
        finish(c.waiting[i]);
    for (int i = 0; i < SLOTS; i++)
        end(c.queue, &c.leaders[i]);
    lead(c.queue, &c.leaders[0], *state); /* the slots are free */
    lead(c.queue, &c.leaders[1], *state);
}

/* Counts the rows of a window, `rows` in a statement, which all take the time. */
static void count_window(neo_slot_tuner *tuner, int rows, long long took, int is_concurrent)
{
    for (int i = 1; i <= NEO_SLOT_WINDOW; i++) {
        neo_slot_tuner_count_row(tuner, took, is_concurrent);
        if (i % rows == 0)
            neo_slot_tuner_count_statement(tuner);
    }
}

/* The time of a create and the rows of a statement, by the number of slots. */
typedef struct {
    int took, rows;
} load[NEO_MAX_SLOTS + 1];

/* Tunes for many windows. Returns the number of slots that is used most of the time at the end. */
static int tune(const load given, neo_slot_tuner *tuner)
{
    int counts[NEO_MAX_SLOTS + 1] = {0}, most = 0;
    for (int window = 0; window < 400; window++) {
        int slots = neo_slot_tuner_slots(tuner);
        counts[slots] += window >= 350;
        count_window(tuner, given[slots].rows, given[slots].took, 1);
    }
    for (int slots = 1; slots <= NEO_MAX_SLOTS; slots++)
        most = counts[slots] > counts[most] ? slots : most;
    assert_true(counts[most] > 40);
    return most;
}

TEST(the_number_of_slots_with_the_fastest_creates_is_found)
{
    static const load processor = {[1] = {2500, 4}, [2] = {3000, 2}, [4] = {3300, 1}, [8] = {4000, 1}, [16] = {4000, 1}};
    static const load commit = {[1] = {7500, 4}, [2] = {5700, 2}, [4] = {3700, 1}, [8] = {4000, 1}, [16] = {4100, 1}};
    static const load disk = {[1] = {17800, 4}, [2] = {8500, 2}, [4] = {4900, 1}, [8] = {4100, 1}, [16] = {4200, 1}};
    neo_slot_tuner tuner = {0};
    assert_int_equal(tune(processor, &tuner), 1);
    assert_int_equal(tune(disk, &tuner), 8); /* after a change of the load */
    assert_int_equal(tune(commit, &tuner), 4);
    assert_int_equal(tune(processor, &tuner), 1);
}

TEST(creates_without_concurrency_do_not_change_the_slots)
{
    neo_slot_tuner tuner = {0};
    for (int window = 0; window < 20; window++) {
        count_window(&tuner, 1, window * 1000, 0);
        assert_int_equal(neo_slot_tuner_slots(&tuner), 1);
    }
}

/* The leader, which is still waiting for the database, does not touch its memory afterwards. */
TEST(a_request_leaves_a_leader_that_does_not_end)
{
    neo_group group;
    crowd c = {.queue = new_queue(LIMIT_MS, 30, *state)};
    fill(&c, 1, NULL, *state);
    requester *one = c.waiting[0];
    neo_create_queue_take(c.queue, &c.leaders[0], &group);
    assert_int_equal(group.count, 2);
    apr_sleep(100000);
    assert_int_equal(one->member.state, NEO_GROUP_TAKEN); /* its memory is being read */
    neo_create_queue_sent(c.queue, &group);
    finish(one);
    assert_int_equal(one->member.state, NEO_GROUP_UNKNOWN);
    assert_null(group.members[1]);
    group.outcomes[1] = NEO_GROUP_CREATED;
    group.answers[1] = text_of("lost");
    neo_create_queue_end(c.queue, &c.leaders[0], &group);
}

TEST(outcomes_reach_their_requests)
{
    static const neo_group_state outcomes[] = {NEO_GROUP_CREATED, NEO_GROUP_ALONE, NEO_GROUP_UNKNOWN};
    neo_group group;
    crowd c = {.queue = new_queue(LIMIT_MS, LIMIT_MS, *state)};
    fill(&c, COUNT(outcomes), NULL, *state);
    neo_create_queue_take(c.queue, &c.leaders[0], &group);
    assert_int_equal(group.count, 1 + COUNT(outcomes));
    for (int i = 0; i < COUNT(outcomes); i++) {
        group.outcomes[1 + i] = outcomes[i];
        group.answers[1 + i] = answer_for(group.members[1 + i], *state);
    }
    neo_create_queue_sent(c.queue, &group);
    neo_create_queue_end(c.queue, &c.leaders[0], &group);
    for (int i = 0; i < COUNT(outcomes); i++) {
        finish(c.waiting[i]);
        assert_int_equal(c.waiting[i]->member.state, outcomes[i]);
    }
}

TEST(threads_that_join_and_lead_all_get_their_answers)
{
    neo_create_queue *queue = new_queue(1, LIMIT_MS, *state);
    for (int round = 0; round < 50; round++) {
        requester *all[MANY];
        int rows = 0;
        for (int i = 0; i < MANY; i++)
            all[i] = start(queue, i % 4 ? NULL : "same", *state);
        for (int i = 0; i < MANY; i++) {
            finish(all[i]);
            rows += all[i]->led;
        }
        assert_int_equal(rows, MANY);
    }
}
