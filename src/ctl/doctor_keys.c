/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `doctor` of the key file and of the secrets that its keys encrypt. */
#include <apr_strings.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "admin/encrypted.h"
#include "doctor.h"

static neo_finding report_missing_key_file(neo_doctor_context *p, const char **found)
{
    const neo_keys none = {0};
    neo_encrypted_counts counts = {0};
    int is_counted = neo_doctor_has_schema(p) && !neo_encrypted_walk(p->pg, &none, NEO_ENCRYPTED_COUNT, p->pool, &counts);
    long long count = is_counted ? counts.undecryptable : 0; /* the secrets that the connected role can read */
    if (count) {
        *found = apr_psprintf(p->pool, "%s does not exist, but %" APR_INT64_T_FMT " secret%s encrypted with its keys",
                              p->key_file, (apr_int64_t)count, count == 1 ? " is" : "s are");
        p->fix = "restore it from a backup or copy it from another host; a new file cannot decrypt them";
        return p->site ? NEO_FINDING_FAILED : NEO_FINDING_PENDING;
    }
    const char *slash = strrchr(p->key_file, '/');
    const char *dir = slash > p->key_file ? apr_pstrmemdup(p->pool, p->key_file, (apr_size_t)(slash - p->key_file)) : ".";
    *found = apr_psprintf(p->pool, "%s does not exist", p->key_file);
    p->fix = apr_psprintf(p->pool, "%s(set -C && umask 077 && openssl rand -base64 32 >%s)",
                          access(dir, F_OK) == 0 ? "" : apr_psprintf(p->pool, "mkdir -p %s && ", dir), p->key_file);
    return p->site ? NEO_FINDING_FAILED : NEO_FINDING_PENDING;
}

neo_finding neo_doctor_check_key_file(neo_doctor_context *p, const char **found)
{
    if (!neo_ctl_value(p->ctl, "key-file")) {
        if (access(p->key_file, F_OK) != 0 && errno == ENOENT)
            return report_missing_key_file(p, found);
        if (access(p->key_file, R_OK) != 0 && errno == EACCES) {
            *found = apr_psprintf(p->pool, "%s is not readable by this user", p->key_file);
            return NEO_FINDING_SKIPPED;
        }
    }
    const char *error = neo_keys_read(&p->keys, p->key_file, p->pool);
    if (error)
        memset(&p->keys, 0, sizeof p->keys);
    *found =
        error ? error : apr_psprintf(p->pool, "%s has %d key%s", p->key_file, p->keys.count, p->keys.count == 1 ? "" : "s");
    return neo_doctor_finding(error == NULL);
}

neo_finding neo_doctor_check_secrets(neo_doctor_context *p, const char **found)
{
    neo_encrypted_counts counts;
    neo_buf text;
    int is_pending = 0, is_unused = 0;
    if ((*found = neo_encrypted_walk(p->pg, &p->keys, NEO_ENCRYPTED_COUNT, p->pool, &counts)))
        return NEO_FINDING_FAILED;
    long long all = counts.undecryptable;
    for (int i = 0; i < p->keys.count; i++)
        all += counts.by_key[i];
    neo_buf_init(&text, p->pool, 200);
    if (counts.undecryptable)
        neo_buf_printf(&text, "%lld of %lld cannot be decrypted with the key file", counts.undecryptable, all);
    else
        neo_buf_printf(&text, "all %lld%s can be decrypted", all, counts.is_partial ? " that this role can read" : "");
    for (int i = 0; i < p->keys.count && p->keys.count > 1; i++) {
        neo_buf_printf(&text, "%s key %d encrypts %lld", i ? "," : ";", i + 1, counts.by_key[i]);
        is_pending |= i && counts.by_key[i];
        is_unused |= i && !counts.by_key[i];
    }
    if (is_unused && !is_pending && !counts.is_partial)
        neo_buf_puts(&text, "; a former key that encrypts none can be removed a day after httpd has used the new one, when its "
                            "cursors have expired");
    *found = text.ptr;
    if (counts.undecryptable)
        return NEO_FINDING_FAILED;
    if (is_pending)
        p->fix = "when httpd uses the first key on all hosts, run neoapictl reencrypt";
    return is_pending ? NEO_FINDING_PENDING : NEO_FINDING_OK;
}
