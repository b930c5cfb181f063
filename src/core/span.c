/* SPDX-License-Identifier: Apache-2.0 */
/* The buffer of spans: a ring whose cells have sequence numbers, as D. Vyukov's bounded queue (see core/span.h). */
#include "core/span.h"

#include <stdatomic.h>

/* The number is the cell's position while the cell is free, and one more while it has a span. Positions only grow. */
typedef struct {
    atomic_uint number;
    neo_span span;
} cell;

struct neo_spans {
    neo_metrics *metrics;
    atomic_uint head; /* the next position to write */
    atomic_uint tail; /* the next position to read */
    cell cells[NEO_SPANS];
};

neo_spans *neo_spans_make(neo_metrics *metrics, apr_pool_t *pool)
{
    neo_spans *spans = apr_pcalloc(pool, sizeof *spans);
    spans->metrics = metrics;
    for (unsigned int i = 0; i < NEO_SPANS; i++)
        atomic_init(&spans->cells[i].number, i);
    return spans;
}

int neo_spans_add(neo_spans *spans, const neo_span *span)
{
    unsigned int at = atomic_load_explicit(&spans->head, memory_order_relaxed);
    for (;;) {
        cell *c = &spans->cells[at % NEO_SPANS];
        unsigned int number = atomic_load_explicit(&c->number, memory_order_acquire);
        if (number == at) {
            if (!atomic_compare_exchange_weak_explicit(&spans->head, &at, at + 1, memory_order_relaxed, memory_order_relaxed))
                continue;
            c->span = *span;
            atomic_store_explicit(&c->number, at + 1, memory_order_release);
            return (at + 1) % (NEO_SPANS / 2) == 0;
        }
        if (number - at > NEO_SPANS) { /* it is behind `at`: the cell still has the span of the round before */
            if (spans->metrics)
                neo_metrics_count(spans->metrics, NEO_COUNT_SPANS_DROPPED, 1);
            return 0;
        }
        at = atomic_load_explicit(&spans->head, memory_order_relaxed);
    }
}

int neo_spans_take(neo_spans *spans, neo_span *span)
{
    unsigned int at = atomic_load_explicit(&spans->tail, memory_order_relaxed);
    cell *c = &spans->cells[at % NEO_SPANS];
    if (atomic_load_explicit(&c->number, memory_order_acquire) != at + 1)
        return 0;
    *span = c->span;
    atomic_store_explicit(&c->number, at + NEO_SPANS, memory_order_release);
    atomic_store_explicit(&spans->tail, at + 1, memory_order_relaxed);
    return 1;
}

int neo_spans_count(const neo_spans *spans)
{
    return (int)(atomic_load_explicit(&spans->head, memory_order_relaxed) -
                 atomic_load_explicit(&spans->tail, memory_order_relaxed));
}
