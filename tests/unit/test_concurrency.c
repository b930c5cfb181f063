/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in progress: a limit for each organization, across threads and processes, also if one is killed. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_host.h"

#define PROCESSES 40 /* more than the cells of a cache line */

/* Shared between processes, as in httpd. */
static void *shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

/* The handle that the process `pid` has. */
static neo_concurrency joined(void *memory, pid_t pid)
{
    neo_concurrency concurrency = neo_concurrency_attach(memory, PROCESSES);
    neo_concurrency_join(&concurrency, pid);
    return concurrency;
}

/* Returns how many of `tries` requests can enter. They do not leave. */
static int enter(const neo_concurrency *concurrency, const char *organization, int limit, int tries)
{
    neo_concurrency_place place;
    int entered = 0;
    while (tries--)
        entered += neo_concurrency_enter(concurrency, organization, limit, &place);
    return entered;
}

TEST(a_finished_request_frees_its_slot)
{
    neo_concurrency concurrency = joined(shared(neo_concurrency_size(PROCESSES)), 1);
    neo_concurrency_place first, second;
    assert_true(neo_concurrency_enter(&concurrency, "a", 2, &first));
    assert_true(neo_concurrency_enter(&concurrency, "a", 2, &second));
    assert_int_equal(enter(&concurrency, "a", 2, 5), 0);
    assert_int_equal(enter(&concurrency, "a", 3, 5), 1); /* the plan has changed */
    neo_concurrency_leave(&first);
    neo_concurrency_leave(&first); /* does nothing */
    assert_int_equal(enter(&concurrency, "a", 3, 5), 1);
    neo_concurrency_leave(&second);
    assert_int_equal(enter(&concurrency, "a", 3, 5), 1);
}

TEST(organizations_do_not_limit_each_other)
{
    neo_concurrency concurrency = joined(shared(neo_concurrency_size(PROCESSES)), 1);
    char name[16];
    int entered = 0;
    assert_int_equal(enter(&concurrency, "a", 50, 60), 50);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "other %d", i);
        entered += enter(&concurrency, name, 50, 1);
    }
    assert_true(entered >= 999); /* one in sixteen million shares both rows with "a" */
    assert_int_equal(enter(&concurrency, "a", 50, 5), 0);
}

TEST(all_processes_count_together_until_they_end)
{
    void *memory = shared(neo_concurrency_size(PROCESSES));
    neo_concurrency first = joined(memory, 1), last = first;
    for (int pid = 2; pid <= PROCESSES; pid++) {
        last = joined(memory, pid);
        assert_int_equal(enter(&last, "a", PROCESSES, 1), 1);
    }
    assert_int_equal(enter(&first, "a", PROCESSES, 5), 1);
    assert_int_equal(enter(&last, "a", PROCESSES, 5), 0);
    neo_concurrency surplus = joined(memory, PROCESSES + 1);
    assert_int_equal(enter(&surplus, "a", PROCESSES, 5), 5); /* there is no slot for it, and it is not counted */
    neo_concurrency_remove(&first, PROCESSES + 1);
    neo_concurrency_remove(&first, 7);
    neo_concurrency_remove(&first, 9);
    neo_concurrency next = joined(memory, PROCESSES + 2);
    assert_int_equal(enter(&next, "a", PROCESSES, 5), 2);
}

TEST(a_killed_process_holds_no_slots)
{
    void *memory = shared(neo_concurrency_size(PROCESSES));
    neo_concurrency mine = joined(memory, getpid());
    pid_t killed = fork();
    if (killed == 0) {
        neo_concurrency its = joined(memory, getpid());
        enter(&its, "a", 3, 2);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(killed, NULL, 0), killed);
    assert_int_equal(enter(&mine, "a", 3, 5), 1);
    neo_concurrency_remove(&mine, killed);
    assert_int_equal(enter(&mine, "a", 3, 5), 2);
}

/* Enters and leaves many times. Exits with 1 if more than the limit were inside. */
static void race(void *memory, atomic_int *inside, int limit)
{
    neo_concurrency its = joined(memory, getpid());
    neo_concurrency_place place;
    for (int i = 0; i < 50000; i++)
        if (neo_concurrency_enter(&its, "a", limit, &place)) {
            if (atomic_fetch_add(inside, 1) >= limit)
                _exit(1);
            atomic_fetch_sub(inside, 1);
            neo_concurrency_leave(&place);
        }
    _exit(0);
}

TEST(many_processes_do_not_exceed_the_limit)
{
    void *memory = shared(neo_concurrency_size(PROCESSES));
    atomic_int *inside = shared(sizeof *inside);
    neo_concurrency mine = joined(memory, getpid());
    pid_t children[4];
    int status;
    for (int i = 0; i < COUNT(children); i++)
        if ((children[i] = fork()) == 0)
            race(memory, inside, 2);
    for (int i = 0; i < COUNT(children); i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(enter(&mine, "a", 2, 5), 2);
}

TEST(a_request_that_is_refused_is_never_counted)
{
    void *memory = shared(neo_concurrency_size(PROCESSES));
    atomic_int *refused = shared(sizeof *refused);
    neo_concurrency mine = joined(memory, getpid());
    int most = 0;
    assert_int_equal(enter(&mine, "a", 2, 5), 2);
    pid_t child = fork();
    if (child == 0) {
        neo_concurrency its = joined(memory, getpid());
        for (;;)
            atomic_fetch_add(refused, 1 - enter(&its, "a", 2, 1));
    }
    while (atomic_load(refused) < 2000000) {
        int count = neo_concurrency_count(&mine, "a");
        most = count > most ? count : most;
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(most, 2);
}

/* ---------------------------------------------------------------- requests */

TEST(an_organization_has_as_many_requests_in_progress_as_its_plan_allows)
{
    fake_key *key = key_of("org_admin", *state);
    neo_concurrency concurrency = neo_concurrency_attach(shared(neo_concurrency_size(1)), 1);
    neo_concurrency_join(&concurrency, 1);
    key->credential.concurrent_requests = 1;
    neo_site *site = site_of(*state);
    fake_host *host = host_with(NULL, *state);
    apr_table_setn(host->headers, "X-API-Key", key->secret);
    cache_key(site, key);
    site->concurrency = &concurrency;
    assert_int_equal(ask(site, host, "GET", "me", *state), 200);
    neo_concurrency_place place = host->response.place;
    assert_refused(site, host, "GET", "brokers", 429, "rate_limit.concurrent_requests", *state);
    assert_int_equal(host->acquired, 0);
    assert_string_equal(header_of(host, "Retry-After"), "1");
    assert_string_equal(member_of(host, "limit", *state), "concurrent_requests");
    assert_int_equal(neo_json_integer(neo_json_get(body_of(host, *state), "limit_value")), 1);
    assert_int_equal(ask(site, host, "GET", "openapi.yaml", *state), 200); /* belongs to no organization */
    neo_concurrency_leave(&place);
    assert_int_equal(ask(site, host, "GET", "me", *state), 200);
}
