/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in shared memory: no count is lost between processes; minutes of the last hour; dead processes are ignored. */
#include "unit.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/metrics.h"

#define SECOND    1000000LL
#define MINUTE_US (60 * SECOND)
#define HOUR      (60 * MINUTE_US)
#define START     (1800000000LL * SECOND) /* the beginning of a minute, and of a quarter */
#define ROUTES    5
#define PROCESSES 6

/* Shared memory, as between httpd's processes. */
static neo_metrics *metrics(void)
{
    void *memory = mmap(NULL, neo_metrics_size(ROUTES, PROCESSES), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return neo_metrics_attach(memory, ROUTES, PROCESSES, START);
}

static void count(neo_metrics *m, int times, int status, long long now)
{
    for (int i = 0; i < times; i++)
        neo_metrics_request(m, 1, status, 300, now);
}

static uint64_t all_of(const neo_counters *counters)
{
    uint64_t all = 0;
    for (int i = 0; i < NEO_CLASSES; i++)
        all += neo_histogram_count(&counters->times[i]);
    return all;
}

static uint64_t with_status(const neo_route_counters *counters, int status)
{
    for (int i = 0; i < NEO_STATUSES; i++)
        if (neo_statuses[i] == status)
            return counters->statuses[i];
    fail_msg("status %d has no place", status);
    return 0;
}

/* ---------------------------------------------------------------- counting */

TEST(a_request_is_counted_by_route_status_and_time)
{
    neo_metrics *m = metrics();
    neo_route_counters route;
    neo_counters total;
    neo_metrics_request(m, 3, 201, 1400, START);
    neo_metrics_request(m, 3, 429, 90, START);
    neo_metrics_request(m, 4, 503, 9000000, START);
    neo_metrics_route(m, 3, &route);
    assert_int_equal(with_status(&route, 201), 1);
    assert_int_equal(with_status(&route, 429), 1);
    assert_int_equal(with_status(&route, 503), 0);
    assert_int_equal(route.times[0].count[neo_histogram_bucket(1400)], 1);
    assert_int_equal(route.times[2].sum, 90);
    neo_metrics_count(m, NEO_COUNT_UNKNOWN_NUMBERS, 1);
    neo_metrics_total(m, &total);
    assert_int_equal(all_of(&total), 3);
    assert_int_equal(total.counts[NEO_COUNT_RATE_LIMITED], 1);
    assert_int_equal(total.counts[NEO_COUNT_UNKNOWN_NUMBERS], 1);
    assert_int_equal(neo_histogram_count(&total.times[NEO_TIME_REQUESTS_5XX]), 1);
}

TEST(an_unlisted_status_counts_as_the_first_of_its_class)
{
    static const int pairs[][2] = {{206, 200}, {307, 300}, {418, 400}, {599, 500}, {199, 500}, {600, 500}, {0, 500}};
    for (int i = 0; i < COUNT(pairs); i++) {
        neo_metrics *m = metrics();
        neo_route_counters route;
        neo_metrics_request(m, 0, pairs[i][0], 1, START);
        neo_metrics_route(m, 0, &route);
        assert_int_equal(with_status(&route, pairs[i][1]), 1);
    }
}

TEST(no_count_is_lost_between_processes)
{
    neo_metrics *m = metrics();
    neo_counters total;
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            for (int n = 0; n < 20000; n++)
                neo_metrics_request(m, n % ROUTES, 200, 100, START + n * SECOND / 100);
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
    neo_metrics_total(m, &total);
    assert_int_equal(all_of(&total), 80000);
}

TEST(counts_and_times_are_summed)
{
    neo_metrics *m = metrics();
    neo_counters total;
    neo_metrics_time(m, NEO_TIME_CONNECTION_WAIT, 40);
    neo_metrics_time(m, NEO_TIME_CONNECTION_USE, 700);
    neo_metrics_time(m, NEO_TIME_CONNECTION_WAIT, 3 * SECOND);
    neo_metrics_count(m, NEO_COUNT_NO_CONNECTION, 0);
    neo_metrics_count(m, NEO_COUNT_NO_CONNECTION, 2);
    neo_metrics_total(m, &total);
    assert_int_equal(neo_histogram_count(&total.times[NEO_TIME_CONNECTION_WAIT]), 2);
    assert_int_equal(total.times[NEO_TIME_CONNECTION_USE].sum, 700);
    assert_int_equal(total.counts[NEO_COUNT_NO_CONNECTION], 2);
}

TEST(attempts_are_counted_by_how_they_end)
{
    static const struct {
        const char *error;
        int status;
        neo_counter outcome;
    } rows[] = {
        {NULL, 200, NEO_COUNT_ATTEMPT_OK},           {NULL, 299, NEO_COUNT_ATTEMPT_OK},
        {NULL, 301, NEO_COUNT_ATTEMPT_STATUS},       {NULL, 500, NEO_COUNT_ATTEMPT_STATUS},
        {"timeout", 0, NEO_COUNT_ATTEMPT_TIMEOUT},   {"blocked_address", 0, NEO_COUNT_ATTEMPT_BLOCKED},
        {"not_sent", 0, NEO_COUNT_ATTEMPT_NOT_SENT}, {"tls_failed", 0, NEO_COUNT_ATTEMPT_CONNECTION},
    };
    neo_metrics *m = metrics();
    neo_counters total;
    for (int i = 0; i < COUNT(rows); i++) {
        assert_int_equal(neo_attempt_counter(rows[i].error, rows[i].status), rows[i].outcome);
        neo_metrics_attempt(m, rows[i].outcome, i < 3, 1000, START);
    }
    neo_metrics_total(m, &total);
    assert_int_equal(total.counts[NEO_COUNT_ATTEMPT_OK], 2);
    assert_int_equal(total.counts[NEO_COUNT_ATTEMPT_STATUS], 2);
    assert_int_equal(total.counts[NEO_COUNT_DELIVERED], 2);
    assert_int_equal(total.counts[NEO_COUNT_FAILED], 1);
    assert_int_equal(neo_histogram_count(&total.times[NEO_TIME_ATTEMPTS]), COUNT(rows));
}

/* ---------------------------------------------------------------- the last hour */

/* The count of a minute of the last hour; 59 is the current one. */
static uint64_t in_minute(neo_metrics *m, long long now, int minute)
{
    static neo_counters sums[NEO_MINUTES + 1];
    neo_metrics_minutes(m, now, sums);
    return all_of(&sums[minute + 1]) - all_of(&sums[minute]);
}

TEST(each_minute_of_the_last_hour_has_its_own_count)
{
    neo_metrics *m = metrics();
    count(m, 3, 200, START + SECOND);
    count(m, 5, 200, START + MINUTE_US);
    count(m, 7, 404, START + 2 * MINUTE_US + 59 * SECOND);
    assert_int_equal(in_minute(m, START + 2 * MINUTE_US + 59 * SECOND, 59), 7);
    assert_int_equal(in_minute(m, START + 3 * MINUTE_US, 59), 0);
    assert_int_equal(in_minute(m, START + 3 * MINUTE_US, 58), 7);
    assert_int_equal(in_minute(m, START + 3 * MINUTE_US, 57), 5);
    assert_int_equal(in_minute(m, START + 3 * MINUTE_US, 56), 3);
    assert_int_equal(in_minute(m, START + 3 * MINUTE_US, 55), 0);
    assert_int_equal(in_minute(m, START + 59 * MINUTE_US, 0), 3);
    assert_int_equal(in_minute(m, START + 60 * MINUTE_US, 0), 5);
    for (int i = 0; i < NEO_MINUTES; i++)
        assert_int_equal(in_minute(m, START + 3 * HOUR, i), 0);
}

TEST(counts_after_a_long_pause_are_in_the_current_minute)
{
    neo_metrics *m = metrics();
    count(m, 4, 200, START);
    count(m, 6, 200, START + 100 * HOUR);
    assert_int_equal(in_minute(m, START + 100 * HOUR, 59), 6);
    for (int i = 0; i < 59; i++)
        assert_int_equal(in_minute(m, START + 100 * HOUR, i), 0);
}

TEST(a_clock_step_backwards_loses_no_counts)
{
    neo_metrics *m = metrics();
    neo_counters total;
    count(m, 4, 200, START + 10 * HOUR);
    count(m, 6, 200, START + 2 * HOUR);
    neo_metrics_total(m, &total);
    assert_int_equal(all_of(&total), 10);
    assert_int_equal(in_minute(m, START + 2 * HOUR, 59), 6);
}

TEST(recent_counts_of_a_route_cover_the_last_hour_in_quarters)
{
    neo_metrics *m = metrics();
    neo_route_counters recent;
    long long since;
    count(m, 10, 200, START);
    neo_metrics_route_recent(m, 1, START + 20 * MINUTE_US, &recent, &since);
    assert_int_equal(with_status(&recent, 200), 10);
    assert_true(since == START);
    for (int i = 1; i <= 8; i++)
        count(m, 1, 200, START + i * 15 * MINUTE_US);
    long long now = START + 2 * HOUR + 14 * MINUTE_US;
    neo_metrics_route_recent(m, 1, now, &recent, &since);
    assert_true(since == START + HOUR);
    assert_int_equal(with_status(&recent, 200), 5); /* of the quarters 4 to 8 */
    neo_metrics_route_recent(m, 1, now + 10 * HOUR, &recent, &since);
    assert_int_equal(with_status(&recent, 200), 0);
    neo_metrics_route(m, 1, &recent);
    assert_int_equal(with_status(&recent, 200), 18);
}

/* A reader that read the counters just before others counted, and then finds a later snapshot. */
TEST(a_snapshot_ahead_of_the_counters_is_clamped_at_zero)
{
    size_t words = neo_metrics_size(ROUTES, PROCESSES) / sizeof(uint64_t);
    neo_metrics *m = metrics();
    uint64_t *now = (uint64_t *)(void *)m, *before = test_calloc(words, sizeof *before),
             *counted = test_calloc(words, sizeof *counted);
    neo_route_counters recent;
    long long since;
    memcpy(before, now, words * sizeof *before);
    count(m, 10, 200, START);
    memcpy(counted, now, words * sizeof *counted);
    neo_metrics_route_recent(m, 1, START + HOUR, &recent, &since); /* takes a snapshot */
    for (size_t i = 0; i < words; i++)
        if (before[i] != counted[i])
            now[i] = before[i];
    neo_metrics_route_recent(m, 1, START + 2 * HOUR - SECOND, &recent, &since);
    assert_int_equal(with_status(&recent, 200), 0);
    assert_int_equal(recent.times[0].sum, 0);
    test_free(before);
    test_free(counted);
}

TEST(counters_are_kept_when_memory_is_attached_again)
{
    neo_metrics *m = metrics();
    neo_counters total;
    count(m, 4, 200, START);
    assert_ptr_equal(neo_metrics_attach(m, ROUTES, PROCESSES, START + HOUR), m);
    neo_metrics_total(m, &total);
    assert_int_equal(all_of(&total), 4);
    assert_true(neo_metrics_started(m) == START);
}

/* ---------------------------------------------------------------- processes */

static pid_t start_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

static void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

TEST(only_running_processes_are_counted)
{
    neo_metrics *m = metrics();
    neo_process sum;
    int processes;
    pid_t one = start_process(), other = start_process();
    neo_metrics_register(m, one)->in_use = 3;
    neo_process *slot = neo_metrics_register(m, other);
    slot->in_use = 4;
    neo_metrics_current(m, &sum, &processes);
    assert_int_equal(processes, 2);
    assert_int_equal(sum.in_use, 7);
    end_process(one);
    neo_metrics_current(m, &sum, &processes);
    assert_int_equal(processes, 1);
    assert_int_equal(sum.in_use, 4);
    assert_int_equal(neo_metrics_register(m, getpid())->in_use, 0); /* in the slot of the process that ended */
    neo_metrics_unregister(slot);
    end_process(other);
    neo_metrics_current(m, &sum, &processes);
    assert_int_equal(processes, 1);
}

TEST(a_process_without_a_slot_gets_an_unreported_one)
{
    neo_metrics *m = metrics();
    neo_process sum;
    int processes;
    pid_t pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        neo_metrics_register(m, pids[i] = start_process());
    neo_metrics_register(m, getpid())->in_use = 9;
    neo_metrics_current(m, &sum, &processes);
    assert_int_equal(processes, PROCESSES);
    assert_int_equal(sum.in_use, 0);
    for (int i = 0; i < PROCESSES; i++)
        end_process(pids[i]);
}
