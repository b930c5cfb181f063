/* Counting what couriers do (see delivery/account.h). */
#include "delivery/account.h"

#define THOUSAND 1000 /* microseconds of a millisecond */

void neo_account_begin(const neo_account *account, int concurrency)
{
    if (!account->figures)
        return;
    __atomic_fetch_add(&account->process->is_delivering, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&account->process->concurrency, concurrency, __ATOMIC_RELAXED);
}

void neo_account_flying(const neo_account *account, int change)
{
    if (account->figures)
        __atomic_fetch_add(&account->process->in_flight, change, __ATOMIC_RELAXED);
}

void neo_account_attempt(const neo_account *account, const char *host, const neo_sent *sent, int is_last)
{
    if (!account->figures)
        return;
    neo_attempt kind = neo_attempt_of(sent->error, sent->http_status);
    long long took = (long long)sent->duration * THOUSAND, now = neo_now_ms() * THOUSAND;
    int is_success = kind == NEO_ATTEMPT_OK;
    neo_figures_attempt(account->figures, kind, is_success || is_last, took, now);
    (void)neo_receivers_attempt(account->receivers, host, is_success, took, now);
}

void neo_account_tidied(const neo_account *account, int is_done, neo_ms begun)
{
    neo_ms now = neo_now_ms();
    if (account->figures)
        neo_figures_tidied(account->figures, is_done, (now - begun) * THOUSAND, now * THOUSAND);
}
