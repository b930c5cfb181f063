/* SPDX-License-Identifier: Apache-2.0 */
/* Rate limits: one caller's window, and exact counts across threads and processes. */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/limiter.h"

#define NOW     1800000000LL
#define THREADS 8

/* Shared between processes, as in httpd. */
static void *shared(apr_size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static neo_limiter *limiter_for(apr_size_t entries)
{
    return neo_limiter_attach(shared(neo_limiter_size(entries)), entries);
}

static void count(neo_limiter *limiter, const char *caller, int cost, int limit, int window, long long now,
                  neo_allowance *allowance)
{
    neo_limiter_count(limiter, text_of(caller), cost, limit, window, now, allowance);
}

/* True if the request passed. */
static int passes(neo_limiter *limiter, const char *caller, int cost, int limit, int window, long long now)
{
    neo_allowance allowance;
    count(limiter, caller, cost, limit, window, now, &allowance);
    return !allowance.is_exceeded;
}

static void assert_left(neo_limiter *limiter, const char *caller, int limit, int window, long long now, int remaining,
                        long long reset)
{
    neo_allowance allowance;
    count(limiter, caller, 0, limit, window, now, &allowance);
    assert_int_equal(allowance.limit, limit);
    assert_int_equal(allowance.remaining, remaining);
    assert_int_equal(allowance.reset, reset);
    assert_false(allowance.is_exceeded);
}

/* ---------------------------------------------------------------- one caller */

TEST(the_remaining_requests_decrease_to_the_limit)
{
    neo_limiter *limiter = limiter_for(64);
    neo_allowance allowance;
    for (int i = 1; i <= 3; i++) {
        count(limiter, "a", 1, 3, 60, NOW + i - 1, &allowance);
        assert_int_equal(allowance.limit, 3);
        assert_int_equal(allowance.remaining, 3 - i);
        assert_int_equal(allowance.reset, NOW + 60);
        assert_false(allowance.is_exceeded);
    }
    for (int i = 0; i < 100; i++) {
        count(limiter, "a", 1, 3, 60, NOW + 59, &allowance);
        assert_true(allowance.is_exceeded);
        assert_int_equal(allowance.remaining, 0);
        assert_int_equal(allowance.reset, NOW + 60);
    }
}

TEST(a_window_starts_with_the_first_request_after_the_last_one)
{
    neo_limiter *limiter = limiter_for(64);
    assert_true(passes(limiter, "a", 1, 1, 60, NOW));
    assert_false(passes(limiter, "a", 1, 1, 60, NOW + 59));
    assert_true(passes(limiter, "a", 1, 1, 60, NOW + 60));
    assert_left(limiter, "a", 1, 60, NOW + 61, 0, NOW + 120);
    assert_true(passes(limiter, "a", 1, 1, 60, NOW + 100000));
    assert_left(limiter, "a", 1, 60, NOW + 100001, 0, NOW + 100060);
}

TEST(a_cost_is_counted_as_a_whole_or_not_at_all)
{
    neo_limiter *limiter = limiter_for(64);
    assert_true(passes(limiter, "a", 7, 10, 60, NOW));
    assert_false(passes(limiter, "a", 4, 10, 60, NOW));
    assert_left(limiter, "a", 10, 60, NOW, 3, NOW + 60);
    assert_true(passes(limiter, "a", 3, 10, 60, NOW));
    assert_false(passes(limiter, "a", 1, 10, 60, NOW));
    assert_false(passes(limiter, "b", 11, 10, 60, NOW));
    assert_true(passes(limiter, "b", 10, 10, 60, NOW));
}

TEST(a_cost_of_0_only_reads)
{
    neo_limiter *limiter = limiter_for(8);
    assert_left(limiter, "a", 5, 60, NOW, 5, NOW + 60);
    assert_true(passes(limiter, "a", 1, 5, 60, NOW + 10));
    assert_left(limiter, "a", 5, 60, NOW + 11, 4, NOW + 70);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "stranger %d", i);
        assert_left(limiter, name, 5, 60, NOW + 12, 5, NOW + 72);
    }
    assert_left(limiter, "a", 5, 60, NOW + 13, 4, NOW + 70); /* reading took no slot */
    assert_left(limiter, "a", 5, 60, NOW + 70, 5, NOW + 130);
}

TEST(the_greatest_limit_that_a_plan_can_have_is_counted)
{
    neo_limiter *limiter = limiter_for(64);
    assert_true(passes(limiter, "a", INT32_MAX - 1, INT32_MAX, 86400, NOW));
    assert_true(passes(limiter, "a", 1, INT32_MAX, 86400, NOW));
    assert_false(passes(limiter, "a", 1, INT32_MAX, 86400, NOW + 86399));
    assert_true(passes(limiter, "a", 1, INT32_MAX, 86400, NOW + 86400));
}

TEST(a_lower_limit_leaves_0_remaining)
{
    neo_limiter *limiter = limiter_for(64);
    assert_true(passes(limiter, "a", 50, 100, 60, NOW));
    assert_left(limiter, "a", 10, 60, NOW, 0, NOW + 60);
    assert_false(passes(limiter, "a", 1, 10, 60, NOW));
    assert_true(passes(limiter, "a", 50, 100, 60, NOW));
}

TEST(a_shorter_window_starts_at_once)
{
    neo_limiter *limiter = limiter_for(64);
    assert_true(passes(limiter, "a", 100, 100, 86400, NOW));
    assert_false(passes(limiter, "a", 1, 100, 86400, NOW + 1));
    assert_true(passes(limiter, "a", 1, 100, 60, NOW + 1));
    assert_left(limiter, "a", 100, 60, NOW + 1, 99, NOW + 61);
}

/* Sends `count` requests; returns how many pass. */
static int burst(neo_limiter *limiter, int count, long long now)
{
    int passed = 0;
    while (count--)
        passed += passes(limiter, "a", 1, 600, 60, now);
    return passed;
}

TEST(a_window_boundary_does_not_allow_twice_the_limit)
{
    neo_limiter *limiter = limiter_for(64);
    assert_int_equal(burst(limiter, 1, NOW), 1);
    assert_int_equal(burst(limiter, 700, NOW + 59), 599);
    assert_int_equal(burst(limiter, 700, NOW + 61), 1); /* the first one left the window */
    assert_int_equal(burst(limiter, 700, NOW + 118), 0);
    assert_int_equal(burst(limiter, 700, NOW + 119), 600); /* the request before is in the same step */
}

TEST(requests_leave_the_window_after_one_window)
{
    neo_limiter *limiter = limiter_for(64);
    neo_allowance allowance;
    for (int i = 0; i < 60; i++)
        assert_int_equal(burst(limiter, 20, NOW + i), i < 30 ? 20 : 0);
    assert_left(limiter, "a", 600, 60, NOW + 59, 0, NOW + 60);
    for (int i = 0; i < 3; i++) /* steps of ten seconds */
        assert_left(limiter, "a", 600, 60, NOW + 60 + 10 * i, 200 * (i + 1), NOW + 60 + 10 * (i + 1) + (i == 2 ? 50 : 0));
    assert_int_equal(burst(limiter, 700, NOW + 90), 600);
    count(limiter, "a", 300, 600, 60, NOW + 100, &allowance);
    assert_true(allowance.is_exceeded);
    assert_int_equal(allowance.reset, NOW + 150);
}

TEST(the_reset_of_a_refused_cost_is_when_it_passes)
{
    neo_limiter *limiter = limiter_for(64);
    neo_allowance allowance;
    for (int i = 0; i < 6; i++)
        assert_true(passes(limiter, "a", 100, 600, 60, NOW + 10 * i));
    for (int cost = 50; cost <= 350; cost += 100) {
        count(limiter, "a", cost, 600, 60, NOW + 55, &allowance);
        assert_true(allowance.is_exceeded);
        assert_int_equal(allowance.remaining, 0);
        assert_int_equal(allowance.reset, NOW + 60 + cost / 100 * 10);
    }
    assert_false(passes(limiter, "a", 350, 600, 60, NOW + 89));
    assert_true(passes(limiter, "a", 350, 600, 60, NOW + 90));
}

/* Fills memory with these callers; returns whether "a", exhausted before, is still refused. */
static int survives(neo_limiter *limiter, int callers)
{
    char name[24];
    assert_true(passes(limiter, "a", 1, 1, 60, NOW));
    for (int i = 0; i < callers; i++) {
        snprintf(name, sizeof name, "other %d", i);
        passes(limiter, name, 1, 1, 60, NOW + 1);
    }
    return !passes(limiter, "a", 1, 1, 60, NOW + 1);
}

/* Which names share a bucket depends on the key of the memory. */
TEST(callers_cannot_be_chosen_to_evict_another)
{
    int survived = 0;
    for (int i = 0; i < 64; i++)
        survived += survives(limiter_for(64), 64);
    assert_in_range(survived, 1, 63);
}

TEST(a_clock_that_is_set_back_starts_a_new_window)
{
    neo_limiter *limiter = limiter_for(64);
    assert_true(passes(limiter, "a", 10, 10, 60, NOW));
    assert_false(passes(limiter, "a", 1, 10, 60, NOW - 2)); /* threads' clocks may differ by this */
    assert_true(passes(limiter, "a", 1, 10, 60, NOW - 3600));
    assert_left(limiter, "a", 10, 60, NOW - 3600, 9, NOW - 3540);
}

/* ---------------------------------------------------------------- several callers */

TEST(each_caller_has_a_count_of_its_own)
{
    neo_limiter *limiter = limiter_for(65536);
    char name[16];
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2000; i++) {
            snprintf(name, sizeof name, "caller %d", i);
            assert_true(passes(limiter, name, 1 + i % 2, 10, 60, NOW));
        }
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "caller %d", i);
        assert_left(limiter, name, 10, 60, NOW, 10 - 3 * (1 + i % 2), NOW + 60);
    }
}

TEST(the_caller_whose_window_ends_first_is_dropped)
{
    neo_limiter *limiter = limiter_for(64);
    char name[16];
    assert_true(passes(limiter, "long", 5, 10, 3600, NOW));
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "caller %d", i);
        assert_true(passes(limiter, name, 1, 2, 60, NOW + i % 50));
        assert_true(passes(limiter, name, 1, 2, 60, NOW + i % 50)); /* a new caller always gets a slot */
        assert_false(passes(limiter, name, 1, 2, 60, NOW + i % 50));
    }
    assert_left(limiter, "long", 10, 3600, NOW + 50, 5, NOW + 3600);
}

TEST(ended_windows_are_dropped_first)
{
    /* Ends have 26 bits: also test times at which they wrap around. */
    static const long long starts[] = {NOW, 27LL << 26, 31LL << 26};
    char name[16];
    for (int s = 0; s < COUNT(starts); s++) {
        neo_limiter *limiter = limiter_for(8);
        for (int i = 0; i < 8; i++) {
            snprintf(name, sizeof name, "old %d", i);
            assert_true(passes(limiter, name, 1, 1, 60, starts[s] - 1000));
        }
        for (int i = 0; i < 8; i++) {
            snprintf(name, sizeof name, "new %d", i);
            assert_true(passes(limiter, name, 1, 1, 60, starts[s] - 40 + 10 * i));
        }
        for (int i = 0; i < 8; i++) {
            snprintf(name, sizeof name, "new %d", i);
            assert_left(limiter, name, 1, 60, starts[s] - 40 + 10 * i + 59, 0, starts[s] + 20 + 10 * i);
        }
    }
}

/* ---------------------------------------------------------------- threads */

typedef struct {
    neo_limiter *limiter;
    pthread_barrier_t barrier;
    int rounds, limit;
    atomic_int passed;
} race;

/* Runs the function in all threads; returns the number of requests that passed. */
static int run(race *r, void *(*work)(void *))
{
    pthread_t threads[THREADS];
    atomic_store(&r->passed, 0);
    assert_int_equal(pthread_barrier_init(&r->barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, r), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&r->barrier);
    return atomic_load(&r->passed);
}

static void *count_one_caller(void *data)
{
    race *r = data;
    int passed = 0;
    pthread_barrier_wait(&r->barrier);
    for (int i = 0; i < r->rounds; i++)
        passed += passes(r->limiter, "one", 1, r->limit, 60, NOW + i % 50);
    atomic_fetch_add(&r->passed, passed);
    return NULL;
}

TEST(exactly_the_limit_passes_of_eight_threads)
{
    for (int limit = 1; limit < THREADS * 4000; limit = limit * 5 + 3) {
        race r = {.limiter = limiter_for(64), .rounds = 4000, .limit = limit};
        assert_int_equal(run(&r, count_one_caller), limit);
    }
}

static void *count_new_callers(void *data)
{
    race *r = data;
    char name[16];
    unsigned int seed = (unsigned int)(uintptr_t)&name;
    for (int i = 0; i < r->rounds; i++) {
        snprintf(name, sizeof name, "new %d", i);
        pthread_barrier_wait(&r->barrier);
        for (volatile int wait = rand_r(&seed) % 60; wait > 0; wait--)
            ;
        atomic_fetch_add(&r->passed, passes(r->limiter, name, 1, r->limit, 60, NOW));
    }
    return NULL;
}

TEST(concurrent_first_requests_of_a_caller_share_a_slot)
{
    race roomy = {.limiter = limiter_for(65536), .rounds = 5000, .limit = 1};
    assert_int_equal(run(&roomy, count_new_callers), 5000);
    race crowded = {.limiter = limiter_for(8), .rounds = 5000, .limit = 3};
    assert_int_equal(run(&crowded, count_new_callers), 15000);
}

/* Other callers are added and evicted: the slot of an active one must never be taken over. */
static void *count_among_others(void *data)
{
    race *r = data;
    char name[32];
    int passed = 0;
    pthread_barrier_wait(&r->barrier);
    for (int i = 0; i < r->rounds; i++) {
        snprintf(name, sizeof name, "%p %d", (void *)&name, i);
        passes(r->limiter, name, 1, 5, 60, NOW + i / 100);
        passed += passes(r->limiter, "one", 1, r->limit, 3600, NOW + i / 100);
    }
    atomic_fetch_add(&r->passed, passed);
    return NULL;
}

TEST(a_caller_keeps_its_count_while_others_are_added_and_evicted)
{
    race r = {.limiter = limiter_for(8), .rounds = 10000, .limit = 30000};
    assert_int_equal(run(&r, count_among_others), 30000);
}

/* ---------------------------------------------------------------- processes */

#define PROCESSES 4

static pid_t fork_counter(neo_limiter *limiter, atomic_int *passed, int rounds, int limit)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    for (int i = 0; i < rounds; i++)
        atomic_fetch_add(passed, passes(limiter, "one", 1, limit, 60, NOW));
    _exit(0);
}

TEST(exactly_the_limit_passes_of_several_processes)
{
    neo_limiter *limiter = limiter_for(64);
    atomic_int *passed = shared(sizeof *passed);
    pid_t pids[PROCESSES];
    int status;
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = fork_counter(limiter, passed, 20000, 30001);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(atomic_load(passed), 30001);
}

/* Takes over slots continuously until it is killed. */
static pid_t fork_busy_process(neo_limiter *limiter, atomic_int *steps)
{
    pid_t pid = fork();
    char name[16];
    assert_true(pid >= 0);
    if (pid)
        return pid;
    for (unsigned int i = 0;; i++) {
        snprintf(name, sizeof name, "%u", i % 30);
        passes(limiter, name, 1, 10, 60, NOW + i % 50);
        atomic_fetch_add(steps, 1);
    }
}

TEST(a_killed_process_leaves_no_slot_locked)
{
    neo_limiter *limiter = limiter_for(8);
    atomic_int *steps = shared(sizeof *steps);
    char name[16];
    for (int victim = 0; victim < 50; victim++) {
        int before = atomic_load(steps), remaining_polls = 10000;
        pid_t pid = fork_busy_process(limiter, steps);
        while (atomic_load(steps) < before + 1000 + 37 * victim && remaining_polls--)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_true(remaining_polls > 0); /* no slot was left locked by an earlier one */
        for (int i = 0; i < 100; i++) {
            snprintf(name, sizeof name, "%d of %d", i, victim);
            assert_true(passes(limiter, name, 1, 1, 60, NOW + 1000));
            assert_false(passes(limiter, name, 1, 1, 60, NOW + 1000));
        }
    }
}
