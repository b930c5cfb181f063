/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of what credentials use. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/usage.h"

#define THREADS  4
#define REQUESTS 20000

static const char organization[] = "org_01jp2azpts9g3j7m2n6q0s4v8w";

typedef struct {
    int slots;
    neo_usage_counts sum;
} taken;

static void sum_up(void *data, const neo_usage_record *record)
{
    taken *t = data;
    t->slots++;
    t->sum.requests += record->counts.requests;
    t->sum.bytes += record->counts.bytes;
}

static neo_usage *make_usage(void)
{
    return neo_usage_attach(calloc(1, neo_usage_size()));
}

static void *add_many(void *usage)
{
    static const char *const paths[] = {"/brokers", "/brokers/{id}", "/me"};
    for (int i = 0; i < REQUESTS; i++)
        neo_usage_add(usage, &(neo_usage_key){organization, "nbr_01jwr1zbts0h4k8n3p7r1t5w9x", "GET", paths[i % COUNT(paths)]},
                      &(neo_usage_counts){.requests = 1, .bytes = 3});
    return NULL;
}

TEST(nothing_is_lost_or_counted_twice_while_others_take)
{
    pthread_t threads[THREADS];
    neo_usage *usage = make_usage();
    taken t = {0};
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, add_many, usage);
    for (int i = 0; i < 20; i++) /* fewer than make a slot idle */
        neo_usage_take(usage, sum_up, &t);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    neo_usage_take(usage, sum_up, &t);
    assert_int_equal(t.sum.requests, THREADS * REQUESTS);
    assert_int_equal(t.sum.bytes, 3 * THREADS * REQUESTS);
    free(usage);
}

TEST(an_operation_and_a_credential_have_slots_of_their_own)
{
    neo_usage *usage = make_usage();
    taken t = {0};
    const neo_usage_counts one = {.requests = 1};
    neo_usage_add(usage, &(neo_usage_key){organization, "nbr_1", "GET", "/me"}, &one);
    neo_usage_add(usage, &(neo_usage_key){organization, "nbr_1", "GET", "/me"}, &one);
    neo_usage_add(usage, &(neo_usage_key){organization, "nbr_2", "GET", "/me"}, &one);
    neo_usage_add(usage, &(neo_usage_key){organization, "nbr_1", NEO_USAGE_DELIVERY, NULL}, &one);
    neo_usage_take(usage, sum_up, &t);
    assert_int_equal(t.slots, 3);
    assert_int_equal(t.sum.requests, 4);
    free(usage);
}

/* More credentials than there are slots: slots of idle ones are used again. */
TEST(memory_is_bounded_and_idle_slots_are_used_again)
{
    neo_usage *usage = make_usage();
    const neo_usage_counts one = {.requests = 1};
    for (int round = 0; round < 8; round++) {
        taken t = {0};
        for (int i = 0; i < NEO_USAGE_SLOTS / 4; i++) {
            char credential[NEO_ID_SIZE];
            snprintf(credential, sizeof credential, "nbr_%d_%d", round, i);
            neo_usage_add(usage, &(neo_usage_key){organization, credential, "GET", "/me"}, &one);
        }
        neo_usage_take(usage, sum_up, &t);
        assert_int_equal(t.sum.requests, NEO_USAGE_SLOTS / 4);
        for (int i = 0; i < 40; i++)
            neo_usage_take(usage, sum_up, &t);
        assert_int_equal(t.sum.requests, NEO_USAGE_SLOTS / 4);
    }
    free(usage);
}

TEST(one_process_flushes_in_an_interval)
{
    neo_usage *usage = make_usage();
    assert_true(neo_usage_is_due(usage, 1000));
    assert_false(neo_usage_is_due(usage, 1001));
    assert_true(neo_usage_is_due(usage, 1000 + NEO_USAGE_INTERVAL_MS));
    free(usage);
}
