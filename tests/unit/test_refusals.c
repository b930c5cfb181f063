/* SPDX-License-Identifier: Apache-2.0 */
/* Refused requests in shared memory: those of one credential, and of many at once. */
#include "unit.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/refusals.h"

#define THREADS 4
#define EACH    2000

static neo_refusals *refusals_in(apr_pool_t *pool)
{
    return neo_refusals_attach(apr_pcalloc(pool, neo_refusals_size()));
}

static const char *principal_of(int number, apr_pool_t *pool)
{
    return apr_psprintf(pool, "nbr_%026d", number);
}

/* All texts of a refusal have its number, so that a mixture of two is noticed. */
static void add(neo_refusals *refusals, const char *principal, int number)
{
    char text[16];
    neo_refusal one = {.status = number, .at = number};
    snprintf(text, sizeof text, "%d", number);
    neo_refusal_set(one.principal, sizeof one.principal, principal);
    neo_refusal_set(one.path, sizeof one.path, text);
    neo_refusal_set(one.detail, sizeof one.detail, text);
    neo_refusals_add(refusals, &one);
}

static void assert_whole(const neo_refusal *one, const char *principal)
{
    assert_string_equal(one->principal, principal);
    assert_string_equal(one->path, one->detail);
    assert_int_equal(atoi(one->path), one->status);
}

TEST(the_newest_hundred_are_kept)
{
    neo_refusal found[NEO_MAX_REFUSALS];
    neo_refusals *refusals = refusals_in(*state);
    const char *mine = principal_of(1, *state);
    assert_int_equal(neo_refusals_read(refusals, mine, found), 0);
    for (int i = 1; i <= 3; i++)
        add(refusals, mine, i);
    assert_int_equal(neo_refusals_read(refusals, mine, found), 3);
    for (int i = 4; i <= 250; i++)
        add(refusals, mine, i);
    assert_int_equal(neo_refusals_read(refusals, mine, found), NEO_MAX_REFUSALS);
    for (int i = 0; i < NEO_MAX_REFUSALS; i++) {
        assert_whole(&found[i], mine);
        assert_int_equal(found[i].status, 250 - i);
    }
}

TEST(a_credential_sees_only_its_own)
{
    neo_refusal found[NEO_MAX_REFUSALS];
    neo_refusals *refusals = refusals_in(*state);
    for (int i = 0; i < 5000; i++) /* many more credentials than there is room for */
        add(refusals, principal_of(i, *state), i);
    int kept = 0;
    for (int i = 0; i < 5000; i++) {
        int count = neo_refusals_read(refusals, principal_of(i, *state), found);
        assert_in_range(count, 0, 1);
        if (count)
            assert_int_equal(found[0].status, i);
        kept += count;
    }
    assert_int_equal(kept, 256);
    assert_int_equal(neo_refusals_read(refusals, principal_of(4999, *state), found), 1);
}

TEST(texts_are_cut_off_between_characters)
{
    char text[6];
    neo_refusal_set(text, sizeof text, NULL);
    assert_string_equal(text, "");
    neo_refusal_set(text, sizeof text, "abcde");
    assert_string_equal(text, "abcde");
    neo_refusal_set(text, sizeof text, "abcdé");
    assert_string_equal(text, "abcd");
    neo_refusal_set(text, sizeof text, "ab\xF0\x9F\x8F\xA0");
    assert_string_equal(text, "ab");
}

typedef struct {
    neo_refusals *refusals;
    const char *principal;
    int first;
} writer;

static void *write_all(void *data)
{
    const writer *w = data;
    for (int i = 0; i < EACH; i++)
        add(w->refusals, w->principal, w->first + i);
    return NULL;
}

TEST(refusals_are_never_mixed_while_several_threads_write)
{
    neo_refusal found[NEO_MAX_REFUSALS];
    neo_refusals *refusals = refusals_in(*state);
    pthread_t threads[THREADS];
    writer writers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        writers[t] = (writer){refusals, principal_of(t % 2, *state), t * EACH};
        assert_int_equal(pthread_create(&threads[t], NULL, write_all, &writers[t]), 0);
    }
    for (int i = 0; i < 200; i++)
        for (int p = 0; p < 2; p++) {
            int count = neo_refusals_read(refusals, principal_of(p, *state), found);
            for (int r = 0; r < count; r++)
                assert_whole(&found[r], principal_of(p, *state));
        }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_in_range(neo_refusals_read(refusals, principal_of(0, *state), found), 1, NEO_MAX_REFUSALS);
}
