/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl reencrypt: encrypts all secrets with the first key of the key file. */
#include <apr_strings.h>
#include <apr_time.h>
#include <string.h>

#include "admin/encrypted.h"
#include "api/cache_sync.h"
#include "core/clock.h"
#include "ctl/output.h"
#include "ctl/secrets.h"
#include "ctl/session.h"
#include "pg/error.h"
#include "sql/migrate.h"

#define MAX_IDLE    10                 /* consecutive passes that renewed nothing though secrets were left */
#define RETRY_DELAY APR_TIME_C(300000) /* microseconds, after such a pass */

#define KEY_LIMIT_MS     (NEO_CACHE_SYNC_MAX_DELAY_S * 1000)
#define POLL_INTERVAL_MS 100

/* Whether each process of httpd can decrypt what the first key encrypts. */
static const char *check_processes(const neo_ctl *ctl, neo_pg *pg, const neo_keys *keys, const char *runtime)
{
    neo_listeners found;
    int count = neo_cache_sync_count_without_key(pg, keys, ctl->pool);
    if (count < 0 || neo_cache_sync_count_listeners(pg, runtime, ctl->pool, &found) != NEO_PG_OK)
        return "the listening processes cannot be read";
    if (count)
        return apr_psprintf(ctl->pool,
                            "%d process%s of httpd %s not have the first key of %s and would deliver nothing; reload httpd on "
                            "every host first",
                            count, count == 1 ? "" : "es", count == 1 ? "does" : "do", neo_ctl_value(ctl, "key-file"));
    if (!found.listeners && found.sessions)
        return "httpd connects through a connection pooler, so that its keys are unknown; if httpd was reloaded on every host, "
               "use --yes";
    return NULL;
}

/* A reload takes a while until the last old process has ended. */
static const char *await_processes(const neo_ctl *ctl, neo_pg *pg, const neo_keys *keys)
{
    const char *runtime, *error;
    neo_ms until = neo_steady_ms() + KEY_LIMIT_MS;
    if (neo_ctl_value(ctl, "yes"))
        return NULL;
    if (neo_schema_runtime(pg, ctl->pool, &runtime) != NEO_PG_OK)
        return "the runtime role's name cannot be read";
    while ((error = check_processes(ctl, pg, keys, runtime)) && neo_steady_ms() < until)
        apr_sleep(apr_time_from_msec(POLL_INTERVAL_MS));
    return error;
}

static long long count_left(const neo_encrypted_counts *counts)
{
    long long left = 0;
    for (int i = 1; i < NEO_MAX_KEYS; i++)
        left += counts->by_key[i];
    return left;
}

/* Rows that others have locked are left for the next pass. */
static const char *renew_all(neo_pg *pg, const neo_keys *keys, apr_pool_t *pool, neo_encrypted_counts *counts,
                             long long *renewed)
{
    const char *error = NULL;
    for (int idle = 0; idle < MAX_IDLE && !error;) {
        error = neo_encrypted_walk(pg, keys, NEO_ENCRYPTED_RENEW, pool, counts);
        *renewed += counts->renewed;
        if (error || !count_left(counts))
            break;
        idle = counts->renewed ? 0 : idle + 1;
        apr_sleep(idle ? RETRY_DELAY : 0);
    }
    return error;
}

static neo_ctl_exit report_counts(const neo_ctl *ctl, const char *error, const neo_encrypted_counts *counts, long long renewed)
{
    long long left = count_left(counts);
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set_integer(done, "reencrypted", renewed, ctl->pool);
    neo_json_set_integer(done, "first_key", counts->by_key[0], ctl->pool);
    neo_json_set_integer(done, "other_keys", left, ctl->pool);
    neo_json_set_integer(done, "undecryptable", counts->undecryptable, ctl->pool);
    if (error)
        return neo_ctl_fail(ctl,
                            "stopped with %" APR_INT64_T_FMT " secrets encrypted: %s. Run the same command again to resume.",
                            (apr_int64_t)renewed, error);
    neo_ctl_print(ctl, done);
    if (left)
        return neo_ctl_fail(ctl, "some secrets are locked or are being changed by other sessions; run the same command again");
    if (counts->undecryptable)
        return neo_ctl_fail(ctl, "some secrets cannot be decrypted with the key file; see: neoapictl doctor");
    return NEO_CTL_OK;
}

static neo_ctl_exit run_reencrypt(neo_ctl *ctl)
{
    neo_keys keys;
    neo_encrypted_counts counts = {0};
    long long renewed = 0;
    const char *error = neo_keys_read(&keys, neo_ctl_value(ctl, "key-file"), ctl->pool);
    neo_pg *pg = error ? NULL : neo_ctl_open(ctl, &error);
    if (pg)
        error = await_processes(ctl, pg, &keys);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    error = renew_all(pg, &keys, ctl->pool, &counts, &renewed);
    explicit_bzero(&keys, sizeof keys);
    return report_counts(ctl, error, &counts, renewed);
}

static const neo_parameter options[] = {
    NEO_CTL_KEY_FILE_OPTION,
    {"yes", NEO_KIND_FLAG, 0, NULL, "do not wait until every process of httpd has the first key"},
    {0},
};

const neo_ctl_command neo_ctl_reencrypt[] = {
    {"reencrypt", NULL, "Encrypt all stored secrets with the first key of the key file.",
     "Run it to replace the encryption key, after httpd was reloaded on every host with the new key in the first line and the "
     "old one below. These are the secrets and headers of webhook subscriptions, also secrets that a rotation has replaced "
     "within a day, the secrets of WhatsApp numbers, and those in responses stored for an Idempotency-Key. "
     "They do not change. httpd may serve meanwhile; if one of its processes does not have the new key within 15 seconds, "
     "nothing is changed. If the command is interrupted, run it again to resume. "
     "neoapictl doctor shows which key encrypts how many.",
     NULL, options, run_reencrypt, NULL, 0},
    {0},
};
