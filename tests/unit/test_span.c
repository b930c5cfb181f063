/* SPDX-License-Identifier: Apache-2.0 */
/* The buffer of spans: bounded, in the order of additions, for many threads; and which requests begin one. */
#include "unit.h"

#include <pthread.h>

#include "core/span.h"
#include "webhooks/span_exporter.h"

#define SAMPLED   "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define UNSAMPLED "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02"

static neo_span numbered(int number)
{
    return (neo_span){.name = "x", .method = "GET", .number = number};
}

static int add(neo_spans *spans, int number)
{
    neo_span span = numbered(number);
    return neo_spans_add(spans, &span);
}

TEST(spans_are_taken_in_their_order_and_dropped_if_the_buffer_is_full)
{
    neo_spans *spans = neo_spans_make(NULL, *state);
    neo_span span;
    assert_false(neo_spans_take(spans, &span));
    for (int round = 0; round < 3; round++) {
        int halves = 0;
        for (int i = 0; i < NEO_SPANS; i++)
            halves += add(spans, i);
        assert_int_equal(halves, 2);
        assert_int_equal(neo_spans_count(spans), NEO_SPANS);
        for (int i = 0; i < 3; i++)
            assert_false(add(spans, -1));
        for (int i = 0; i < NEO_SPANS; i++) {
            assert_true(neo_spans_take(spans, &span));
            assert_int_equal(span.number, i);
        }
        assert_false(neo_spans_take(spans, &span));
        assert_int_equal(neo_spans_count(spans), 0);
    }
}

#define THREADS  4
#define PER_EACH 20000

static void *add_many(void *spans)
{
    for (int i = 1; i <= PER_EACH; i++)
        (void)add(spans, i);
    return NULL;
}

/* Returns how many were taken; each must be whole. */
static int take_all(neo_spans *spans)
{
    neo_span span;
    int taken = 0;
    for (; neo_spans_take(spans, &span); taken++)
        assert_true(span.number >= 1 && span.number <= PER_EACH && strcmp(span.method, "GET") == 0);
    return taken;
}

TEST(threads_add_while_one_takes)
{
    neo_spans *spans = neo_spans_make(NULL, *state);
    pthread_t threads[THREADS];
    int taken = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, spans), 0);
    for (int i = 0; i < 1000; i++)
        taken += take_all(spans);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    taken += take_all(spans);
    assert_in_range(taken, NEO_SPANS, THREADS * PER_EACH);
    assert_int_equal(neo_spans_count(spans), 0);
}

static neo_span_exporter *exporter_with(int share, apr_pool_t *pool)
{
    const neo_span_exporter_settings settings = {.url = "http://127.0.0.1:1", .share = share, .host_name = "a"};
    neo_span_exporter *exporter = neo_span_exporter_make(&settings, pool);
    assert_non_null(exporter);
    return exporter;
}

TEST(a_sampled_parent_or_chance_begins_a_span)
{
    char trace[NEO_TRACEPARENT_LEN + 1];
    neo_span_exporter *none = exporter_with(0, *state), *all = exporter_with(100, *state), *half = exporter_with(50, *state);
    int begun = 0;
    assert_true(neo_span_exporter_begin(none, SAMPLED, trace));
    assert_memory_equal(trace, SAMPLED, NEO_SPAN_AT);
    assert_memory_not_equal(trace + NEO_SPAN_AT, SAMPLED + NEO_SPAN_AT, NEO_SPAN_ID_LEN);
    assert_false(neo_span_exporter_begin(all, UNSAMPLED, trace));
    assert_false(neo_span_exporter_begin(none, NULL, trace));
    assert_true(neo_span_exporter_begin(all, NULL, trace));
    assert_string_equal(neo_trace_read(trace, *state), trace);
    assert_true(neo_trace_is_sampled(trace));
    for (int i = 0; i < 1000; i++)
        begun += neo_span_exporter_begin(half, NULL, trace);
    assert_in_range(begun, 300, 700);
}
