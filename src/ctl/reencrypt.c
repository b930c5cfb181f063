/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl reencrypt: encrypts all secrets with the first key of the key file. */
#include <apr_strings.h>
#include <apr_time.h>
#include <string.h>

#include "admin/encrypted.h"
#include "ctl/output.h"
#include "ctl/secrets.h"
#include "ctl/session.h"

#define MAX_IDLE    10                 /* consecutive passes that renewed nothing though secrets were left */
#define RETRY_DELAY APR_TIME_C(300000) /* microseconds, after such a pass */

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

static neo_ctl_exit report(const neo_ctl *ctl, const char *error, const neo_encrypted_counts *counts, long long renewed)
{
    long long left = count_left(counts);
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set(done, "reencrypted", neo_json_make_integer(renewed, ctl->pool));
    neo_json_set(done, "first_key", neo_json_make_integer(counts->by_key[0], ctl->pool));
    neo_json_set(done, "other_keys", neo_json_make_integer(left, ctl->pool));
    neo_json_set(done, "undecryptable", neo_json_make_integer(counts->undecryptable, ctl->pool));
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

static neo_ctl_exit run(neo_ctl *ctl)
{
    neo_keys keys;
    neo_encrypted_counts counts = {0};
    long long renewed = 0;
    const char *error = neo_keys_read(&keys, neo_ctl_value(ctl, "key-file"), ctl->pool);
    neo_pg *pg = error ? NULL : neo_ctl_open(ctl, &error);
    if (!pg)
        return neo_ctl_fail(ctl, "%s", error);
    error = renew_all(pg, &keys, ctl->pool, &counts, &renewed);
    explicit_bzero(&keys, sizeof keys);
    return report(ctl, error, &counts, renewed);
}

static const neo_parameter options[] = {NEO_CTL_KEY_FILE_OPTION, {0}};

const neo_ctl_command neo_ctl_reencrypt[] = {
    {"reencrypt", NULL, "Encrypt all stored secrets with the first key of the key file.",
     "Run it to replace the encryption key, after httpd was restarted on every host with the new key in the first line and the "
     "old one below. These are the secrets of webhook subscriptions, also those that a rotation has replaced within a day, the "
     "secrets of WhatsApp numbers, and those in responses stored for an Idempotency-Key. They do not change. httpd may serve "
     "meanwhile. If the command is interrupted, run it again to resume. neoapictl doctor shows which key encrypts how many.",
     NULL, options, run, NULL, 0},
    {0},
};
