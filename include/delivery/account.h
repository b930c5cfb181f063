/* What couriers tell of their work, for the status page. */
#ifndef NEO_DELIVERY_ACCOUNT_H
#define NEO_DELIVERY_ACCOUNT_H

#include "core/figures.h"
#include "core/receivers.h"
#include "delivery/sender.h"

/* Where it is counted; all of it, or with `figures` NULL nowhere. */
typedef struct neo_account {
    neo_figures *figures;
    neo_receivers *receivers;
    neo_process *process;
} neo_account;

/* A courier with room for so many attempts works in this process. */
void neo_account_begin(const neo_account *account, int concurrency);

/* So many attempts more are under way; fewer where it is negative. */
void neo_account_flying(const neo_account *account, int change);

/* An attempt at a receiver (see neo_receivers_host) has ended; with `is_last` no other follows if it failed. */
void neo_account_attempt(const neo_account *account, const char *host, const neo_sent *sent, int is_last);

/* The queue's housekeeping has ended, which began at that moment. */
void neo_account_tidied(const neo_account *account, int is_done, neo_ms begun);

#endif
