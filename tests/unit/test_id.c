/* SPDX-License-Identifier: Apache-2.0 */
/* Ids increase across threads; malformed ids are refused. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/crypto.h"
#include "core/id.h"

#define THREADS 8
#define EACH    50000

typedef struct {
    char id[NEO_ID_SIZE];
} issued;

static issued issue(const char *prefix)
{
    issued i;
    neo_id_issue(i.id, prefix);
    return i;
}

TEST(an_id_is_a_prefix_and_26_digits)
{
    issued i = issue("brk_");
    assert_int_equal(strlen(i.id), 30);
    assert_memory_equal(i.id, "brk_", 4);
    assert_int_equal(strspn(i.id + 4, "0123456789abcdefghjkmnpqrstvwxyz"), 26);
    assert_true(neo_id_is(i.id, "brk_"));
}

TEST(an_id_contains_its_creation_time)
{
    char id[NEO_ID_SIZE], low[NEO_ID_SIZE], high[NEO_ID_SIZE];
    neo_ms before = neo_now_ms(), ms = neo_id_issue(id, "brk_"), after = neo_now_ms();
    assert_true(ms >= before && ms <= after);
    neo_id_bound(low, "brk_", ms, 0);
    neo_id_bound(high, "brk_", ms, 1);
    assert_true(strcmp(low, id) < 0 && strcmp(id, high) < 0);
}

TEST(kinds_share_one_sequence)
{
    static const char *const prefixes[] = {"brk_", "req_", "org_", "nbr_"};
    issued last = issue("tnt_");
    for (int i = 0; i < 10000; i++) {
        issued next = issue(prefixes[i % COUNT(prefixes)]);
        assert_true(strcmp(last.id + NEO_PREFIX_LEN, next.id + NEO_PREFIX_LEN) < 0);
        last = next;
    }
}

/* Threads. */

static void *issue_many(void *data)
{
    issued *ids = data;
    for (int i = 0; i < EACH; i++)
        ids[i] = issue("brk_");
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

TEST(ids_increase_in_each_thread_and_are_unique)
{
    issued *ids = apr_palloc(*state, THREADS * EACH * sizeof *ids);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, issue_many, ids + t * EACH), 0);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    for (int i = 1; i < THREADS * EACH; i++)
        if (i % EACH && strcmp(ids[i - 1].id, ids[i].id) >= 0)
            fail_msg("%s was issued after %s", ids[i].id, ids[i - 1].id);
    qsort(ids, THREADS * EACH, sizeof *ids, by_text);
    for (int i = 1; i < THREADS * EACH; i++)
        if (strcmp(ids[i - 1].id, ids[i].id) == 0)
            fail_msg("%s was issued twice", ids[i].id);
}

/* Blocks for the database. */

static void assert_block_is_between(const char *before, const char *id_block, const char *after)
{
    char first[NEO_ID_SIZE], last[NEO_ID_SIZE];
    assert_int_equal(strlen(id_block), NEO_ID_LEN - 4);
    snprintf(first, sizeof first, "%s0000", id_block);
    snprintf(last, sizeof last, "%szzzz", id_block);
    assert_true(neo_id_is(first, "brk_") && neo_id_is(last, "brk_"));
    assert_true(strcmp(before, first) < 0);
    assert_true(strcmp(last, after) < 0);
}

TEST(a_block_is_after_earlier_ids_and_before_later_ones)
{
    for (int i = 0; i < 1000; i++) {
        char id_block[NEO_ID_BLOCK_SIZE], next_id_block[NEO_ID_BLOCK_SIZE];
        issued before = issue("brk_");
        neo_id_issue_block(id_block, "brk_");
        neo_id_issue_block(next_id_block, "brk_");
        assert_true(strcmp(id_block, next_id_block) < 0);
        issued after = issue("brk_");
        assert_block_is_between(before.id, id_block, after.id);
        assert_block_is_between(before.id, next_id_block, after.id);
    }
}

/* Bounds, packing. */

TEST(the_bounds_of_a_millisecond_contain_all_its_ids)
{
    static const struct {
        neo_ms ms;
        const char *first, *last;
    } cases[] = {
        {0, "brk_00000000000000000000000000", "brk_0000000000zzzzzzzzzzzzzzzz"},
        {1, "brk_00000000010000000000000000", "brk_0000000001zzzzzzzzzzzzzzzz"},
        {1469918176385LL, "brk_01aryz6s410000000000000000", "brk_01aryz6s41zzzzzzzzzzzzzzzz"},
        {281474976710655LL, "brk_7zzzzzzzzz0000000000000000", "brk_7zzzzzzzzzzzzzzzzzzzzzzzzz"},
    };
    char id[NEO_ID_SIZE];
    for (int i = 0; i < COUNT(cases); i++) {
        neo_id_bound(id, "brk_", cases[i].ms, 0);
        assert_string_equal(id, cases[i].first);
        assert_true(neo_id_is(id, "brk_"));
        neo_id_bound(id, "brk_", cases[i].ms, 1);
        assert_string_equal(id, cases[i].last);
        assert_true(neo_id_is(id, "brk_"));
    }
}

TEST(bounds_increase_with_time)
{
    char low[NEO_ID_SIZE], high[NEO_ID_SIZE];
    neo_id_bound(low, "brk_", -1, 0);
    neo_id_bound(high, "brk_", -1, 1);
    assert_string_equal(low, high);
    for (neo_ms ms = 1; ms <= NEO_MS_LAST; ms += 977777777777LL) {
        neo_id_bound(low, "brk_", ms, 0);
        assert_true(strcmp(high, low) < 0);
        neo_id_bound(high, "brk_", ms, 1);
        assert_true(strcmp(low, high) < 0);
    }
}

TEST(unpacking_reverses_packing)
{
    unsigned char bytes[NEO_ID_BYTES], packed[NEO_ID_BYTES];
    char id[NEO_ID_SIZE];
    for (int i = 0; i < 20000; i++) {
        neo_random(bytes, sizeof bytes);
        neo_id_unpack(id, "whd_", bytes);
        assert_true(neo_id_is(id, "whd_"));
        neo_id_pack(id, packed);
        assert_memory_equal(packed, bytes, sizeof bytes);
    }
}

TEST(packed_ids_sort_like_their_texts)
{
    unsigned char a[NEO_ID_BYTES], b[NEO_ID_BYTES];
    char a_id[NEO_ID_SIZE], b_id[NEO_ID_SIZE];
    for (int i = 0; i < 20000; i++) {
        neo_random(a, sizeof a);
        memcpy(b, a, sizeof b);
        neo_random(b + i % NEO_ID_BYTES, (apr_size_t)(NEO_ID_BYTES - i % NEO_ID_BYTES));
        neo_id_unpack(a_id, "brk_", a);
        neo_id_unpack(b_id, "brk_", b);
        int bytes = memcmp(a, b, sizeof a), texts = strcmp(a_id, b_id);
        assert_int_equal(bytes < 0, texts < 0);
        assert_int_equal(bytes == 0, texts == 0);
    }
}

TEST(every_packed_bit_changes_one_digit)
{
    char none[NEO_ID_SIZE], id[NEO_ID_SIZE];
    unsigned char bytes[NEO_ID_BYTES] = {0};
    neo_id_unpack(none, "brk_", bytes);
    for (int bit = 0; bit < 128; bit++) {
        memset(bytes, 0, sizeof bytes);
        bytes[bit / 8] = (unsigned char)(0x80 >> bit % 8);
        neo_id_unpack(id, "brk_", bytes);
        int at = NEO_PREFIX_LEN + (bit + 2) / 5;
        for (int i = 0; i < NEO_ID_LEN; i++)
            assert_int_equal(id[i] != none[i], i == at);
    }
}

/* Malformed ids. */

TEST(an_id_with_another_prefix_is_refused)
{
    static const char *const error[] = {"brp_", "BRK_", "brk-", "bro_", "_brk", "nbr_", "whs_"};
    issued i = issue("brk_");
    for (int p = 0; p < COUNT(error); p++)
        assert_false(neo_id_is(i.id, error[p]));
    assert_false(neo_id_is(i.id + NEO_PREFIX_LEN, "brk_"));
}

TEST(only_lowercase_crockford_digits_are_accepted)
{
    for (int at = NEO_PREFIX_LEN; at < NEO_ID_LEN; at++)
        for (int c = 1; c < 256; c++) {
            issued i = issue("brk_");
            i.id[at] = (char)c;
            int digit = strchr("0123456789abcdefghjkmnpqrstvwxyz", c) != NULL;
            assert_int_equal(neo_id_is(i.id, "brk_"), digit && (at > NEO_PREFIX_LEN || (c >= '0' && c <= '7')));
        }
}

TEST(an_id_has_thirty_characters)
{
    issued i = issue("brk_");
    char longer[NEO_ID_SIZE + 1];
    snprintf(longer, sizeof longer, "%s0", i.id);
    assert_false(neo_id_is(longer, "brk_"));
    for (int len = NEO_ID_LEN - 1; len >= 0; len--) {
        i.id[len] = '\0';
        assert_false(neo_id_is(i.id, "brk_"));
    }
}
