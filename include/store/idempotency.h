/* Idempotency keys: what a request was answered with when it was made first. They are written with the row that they stand for
 * (store/table.h); here they are read. */
#ifndef NEO_STORE_IDEMPOTENCY_H
#define NEO_STORE_IDEMPOTENCY_H

#include "store/table.h"

typedef enum neo_once_state {
    NEO_ONCE_FREE,     /* the key is not in use, or its time was over and it has been removed */
    NEO_ONCE_ANSWERED, /* by the same request: *answer and *status are what it got */
    NEO_ONCE_OTHER,    /* by a different request */
} neo_once_state;

void neo_once_make_statements(apr_pool_t *pool);

NEO_MUSTCHECK neo_pg_status neo_once_look(neo_pg *pg, const neo_actor *actor, const neo_once *once, apr_pool_t *pool,
                                          neo_once_state *state, int *status, neo_text *answer);

#endif
