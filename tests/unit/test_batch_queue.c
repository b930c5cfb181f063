/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of batches in progress, with threads as batches. */
#include "unit.h"

#include <apr_time.h>
#include <stdatomic.h>

#include "api/batch_queue.h"
#include "core/clock.h"

#define SHORT_MS 50
#define LONG_MS  20000

typedef struct {
    const char *organization;
    int max_wait_ms;
    neo_batch_place place;
    pthread_t thread;
    atomic_int has_entered;
} batch;

static void *enter(void *data)
{
    batch *b = data;
    neo_batch_queue_enter(&b->place, b->organization, b->max_wait_ms);
    atomic_store(&b->has_entered, 1);
    return NULL;
}

/* Returns when it has entered, or waits as the `length`th. */
static void start(batch *b, const char *organization, int max_wait_ms, int length)
{
    *b = (batch){.organization = organization, .max_wait_ms = max_wait_ms};
    assert_int_equal(pthread_create(&b->thread, NULL, enter, b), 0);
    for (int waited = 0; !(length ? neo_batch_queue_length() == length : atomic_load(&b->has_entered)); waited++) {
        assert_true(waited < LONG_MS);
        apr_sleep(1000);
    }
}

static void end(batch *b)
{
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    neo_batch_queue_leave(&b->place);
}

TEST(a_third_batch_waits_for_the_end_of_one)
{
    batch b[3];
    for (int i = 0; i < 3; i++)
        start(&b[i], "a", LONG_MS, i == 2);
    assert_true(b[0].has_entered && b[1].has_entered && !b[2].has_entered);
    neo_ms began = neo_steady_ms();
    end(&b[0]);
    assert_int_equal(pthread_join(b[2].thread, NULL), 0);
    assert_true(neo_steady_ms() - began < LONG_MS);
    neo_batch_queue_leave(&b[2].place);
    end(&b[1]);
}

TEST(a_batch_waits_for_a_limited_time)
{
    batch b[3];
    for (int i = 0; i < 2; i++)
        start(&b[i], "a", SHORT_MS, 0);
    neo_ms began = neo_steady_ms();
    b[2] = (batch){.organization = "a", .max_wait_ms = SHORT_MS};
    enter(&b[2]);
    assert_true(neo_steady_ms() - began >= SHORT_MS);
    neo_batch_queue_leave(&b[2].place);
    end(&b[0]);
    end(&b[1]);
}

TEST(an_organization_without_batches_in_progress_is_next)
{
    batch b[4];
    for (int i = 0; i < 4; i++)
        start(&b[i], i < 3 ? "a" : "b", LONG_MS, i < 2 ? 0 : i - 1);
    neo_batch_queue_leave(&b[0].place);
    assert_int_equal(pthread_join(b[3].thread, NULL), 0);
    assert_false(b[2].has_entered);
    neo_batch_queue_leave(&b[3].place);
    end(&b[1]);
    end(&b[2]);
    assert_int_equal(pthread_join(b[0].thread, NULL), 0);
}
