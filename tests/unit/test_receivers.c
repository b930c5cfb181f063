/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics by host: slowest first, old ones expire, only the host of a URL is stored. */
#include "unit.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "core/receivers.h"

#define HALF  1800000000LL /* microseconds: half an hour */
#define START (1000 * HALF)

static neo_receivers *receivers(void)
{
    void *memory = mmap(NULL, neo_receivers_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return neo_receivers_attach(memory);
}

static void attempt(neo_receivers *r, const char *host, int is_success, long long took, long long now)
{
    assert_true(neo_receivers_attempt(r, host, is_success, took, now));
}

TEST(only_the_host_of_a_url_is_stored)
{
    static const char *const pairs[][2] = {
        {"https://crm.example.com/hooks?token=secret", "crm.example.com"},
        {"https://ana:pass@crm.example.com:8443/x", "crm.example.com:8443"},
        {"https://a@b@crm.example.com?x=y@z", "crm.example.com"},
        {"http://[2001:db8::1]:80/", "[2001:db8::1]:80"},
        {"https://crm.example.com#x", "crm.example.com"},
        {"https://crm.example.com\\@evil", "crm.example.com"},
        {"", ""},
    };
    char host[NEO_HOST_SIZE], url[300];
    for (int i = 0; i < COUNT(pairs); i++) {
        neo_receivers_host(pairs[i][0], host);
        assert_string_equal(host, pairs[i][1]);
    }
    snprintf(url, sizeof url, "https://%0200d/", 1);
    neo_receivers_host(url, host);
    assert_int_equal(strlen(host), NEO_HOST_SIZE - 1);
}

TEST(spellings_of_a_host_have_one_name)
{
    static const char *const pairs[][2] = {
        {"https://crm.example.com/", "crm.example.com"},
        {"https://CRM.example.com:8443/", "crm.example.com"},
        {"https://crm.example.com.:8443/", "crm.example.com"},
        {"http://[2001:DB8::1]:80/", "[2001:db8::1]"},
        {"http://[2001:db8::1]/", "[2001:db8::1]"},
        {"", ""},
    };
    char hostname[NEO_HOST_SIZE];
    for (int i = 0; i < COUNT(pairs); i++) {
        neo_receivers_hostname(pairs[i][0], hostname);
        assert_string_equal(hostname, pairs[i][1]);
    }
}

TEST(the_slowest_come_first)
{
    neo_receivers *r = receivers();
    neo_receiver found[2];
    attempt(r, "quick", 1, 1000, START);
    attempt(r, "slow", 1, 8000, START);
    attempt(r, "slow", 0, 12000, START + 1);
    attempt(r, "middle", 1, 5000, START);
    assert_int_equal(neo_receivers_slowest(r, START, found, 2), 2);
    assert_string_equal(found[0].host, "slow");
    assert_int_equal(found[0].attempts, 2);
    assert_int_equal(found[0].failures, 1);
    assert_int_equal((int)(found[0].mean + 0.5), 10000);
    assert_int_equal(found[0].longest, 12000);
    assert_string_equal(found[1].host, "middle");
}

TEST(entries_older_than_half_an_hour_are_dropped)
{
    neo_receivers *r = receivers();
    neo_receiver found[4];
    attempt(r, "a", 1, 90000, START);
    attempt(r, "a", 1, 1000, START + HALF);
    assert_int_equal(neo_receivers_slowest(r, START + HALF, found, 4), 1);
    assert_int_equal(found[0].attempts, 2);
    attempt(r, "a", 1, 3000, START + 2 * HALF);
    assert_int_equal(neo_receivers_slowest(r, START + 2 * HALF, found, 4), 1);
    assert_int_equal(found[0].attempts, 2);
    assert_int_equal((int)(found[0].mean + 0.5), 2000);
    assert_int_equal(neo_receivers_slowest(r, START + 3 * HALF, found, 4), 1);
    assert_int_equal(found[0].attempts, 1);
    assert_int_equal(neo_receivers_slowest(r, START + 4 * HALF, found, 4), 0);
    attempt(r, "a", 1, 7000, START + 9 * HALF);
    assert_int_equal(neo_receivers_slowest(r, START + 9 * HALF, found, 4), 1);
    assert_int_equal(found[0].attempts, 1);
    assert_int_equal(found[0].longest, 7000);
}

TEST(the_oldest_host_is_evicted)
{
    neo_receivers *r = receivers();
    static neo_receiver found[NEO_RECEIVERS + 1];
    char host[20];
    for (int i = 0; i < 20 * NEO_RECEIVERS; i++) {
        snprintf(host, sizeof host, "h%d", i);
        attempt(r, host, 1, 1000, START + (i >= 10 * NEO_RECEIVERS) * HALF);
    }
    assert_int_equal(neo_receivers_slowest(r, START + HALF, found, NEO_RECEIVERS + 1), NEO_RECEIVERS);
    for (int i = 0; i < NEO_RECEIVERS; i++)
        assert_true(atoi(found[i].host + 1) >= 10 * NEO_RECEIVERS);
}
