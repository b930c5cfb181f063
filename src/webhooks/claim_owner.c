/* SPDX-License-Identifier: Apache-2.0 */
/* Registers processes and frees the claims of those that have ended (see webhooks/claim_owner.h).
 *
 * kill(pid, 0) shows whether a process has ended. A free lock alone does not: the connection may be interrupted while
 * deliveries are in flight. A pid is valid only in its namespace and until the host restarts. If it was assigned again, the
 * process seems to run, and its claims end with their leases. */
#include "webhooks/claim_owner.h"

#include <apr_strings.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/crypto.h"
#include "webhooks/claim_owner.sql.h"

#define NAMESPACE_SIZE 80

static int owner;
static char pid_namespace[NAMESPACE_SIZE]; /* "": unknown */

/* Reads the id that the kernel has had since the host started, 36 characters, and the number of the namespace. */
static void read_namespace(void)
{
    char boot_id[40] = "", link[32] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file) {
        if (!fgets(boot_id, sizeof boot_id, file))
            boot_id[0] = '\0';
        fclose(file);
    }
    boot_id[strcspn(boot_id, "\n")] = '\0';
    ssize_t len = readlink("/proc/self/ns/pid", link, sizeof link - 1);
    if (boot_id[0] && len > 0)
        apr_snprintf(pid_namespace, sizeof pid_namespace, "%s %s", boot_id, link);
}

void neo_claim_owner_start(void)
{
    while (owner == 0) {
        neo_random(&owner, sizeof owner);
        owner &= 0x7FFFFFFF;
    }
    read_namespace();
}

int neo_claim_owner(void)
{
    return owner;
}

long long neo_claim_owner_new_claim(void)
{
    unsigned int number;
    neo_random(&number, sizeof number);
    return (long long)owner << 32 | (number & ~1u);
}

neo_pg_status neo_claim_owner_register(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run_as(
        pg, NEO_PG_ONCE,
        NEO_BIND(register_owner, .owner = apr_itoa(pool, owner), .namespace = pid_namespace, .pid = apr_itoa(pool, getpid())),
        pool, &rows);
}

neo_pg_status neo_claim_owner_free_ended(neo_pg *pg, int seconds, apr_pool_t *pool, int *freed)
{
    neo_rows known, rows;
    *freed = 0;
    if (!pid_namespace[0])
        return NEO_PG_OK;
    const char *sql = apr_psprintf(pool, "select id, pid from neoapi.claim_owner where pid_namespace = '%s'", pid_namespace);
    neo_pg_status status = neo_pg_exec_once(pg, sql, seconds, pool, &known);
    for (int i = 0; status == NEO_PG_OK && i < known.count; i++) {
        int pid = atoi(neo_rows_value(&known, i, 1)), has_ended = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
        if (!has_ended)
            continue;
        status = neo_pg_run_as(pg, NEO_PG_ONCE, NEO_BIND(free_claims, .owner = neo_rows_value(&known, i, 0)), pool, &rows);
        *freed += status == NEO_PG_OK ? atoi(neo_rows_value(&rows, 0, 0)) : 0;
    }
    return status;
}
