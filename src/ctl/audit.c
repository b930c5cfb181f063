/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl audit: lists, verifies and exports the audit log. */
#include "admin/audit.h"

#include <apr_strings.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/audit.sql.h"
#include "ctl/output.h"
#include "ctl/session.h"

#define MAX_SHOWN  100 /* faults */
#define LINE_START "{\"hash\":\""
#define LINE_ENTRY "\",\"entry\":"
#define MAX_LINE   4194304

/* ---------------------------------------------------------------- list */

static neo_ctl_exit list_entries(neo_ctl *ctl)
{
    const char *error;
    neo_rows rows;
    neo_json *list = NULL;
    const char *values[] = {neo_ctl_value(ctl, "organization"), neo_ctl_value(ctl, "action"), neo_ctl_value(ctl, "since"),
                            neo_ctl_value(ctl, "limit")};
    neo_pg *pg = neo_ctl_open_to_read(ctl, &error);
    if (pg)
        error = neo_admin_exec(pg, list_sql, 4, values, ctl->pool, &rows);
    if (!error)
        list = neo_json_parse(neo_rows_text(&rows, 0, 0), ctl->pool, &error);
    return neo_ctl_finish(ctl, error, list);
}

/* ---------------------------------------------------------------- export */

/* The entry is the text of which the hash is the SHA-256. */
static const char *export_all(const neo_ctl *ctl, neo_pg *pg)
{
    apr_pool_t *pool;
    neo_rows rows = {.count = 1};
    const char *error = NULL, *after = neo_ctl_value(ctl, "after");
    long long number = after ? apr_atoi64(after) : 0;
    apr_pool_create(&pool, ctl->pool);
    while (rows.count && !(error = neo_audit_read(pg, number, pool, &rows))) {
        for (int i = 0; i < rows.count; i++)
            printf(LINE_START "%s" LINE_ENTRY "%s}\n", neo_rows_value(&rows, i, NEO_AUDIT_HASH),
                   neo_rows_value(&rows, i, NEO_AUDIT_ENTRY));
        number = rows.count ? apr_atoi64(neo_rows_value(&rows, rows.count - 1, NEO_AUDIT_NUMBER)) : number;
        apr_pool_clear(pool);
    }
    return error ? apr_pstrdup(ctl->pool, error) : NULL;
}

static neo_ctl_exit export_entries(neo_ctl *ctl)
{
    const char *error;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = export_all(ctl, pg);
    return error ? neo_ctl_fail(ctl, "%s", error) : NEO_CTL_OK;
}

/* ---------------------------------------------------------------- verify */

static void show_fault(void *data, long long number, const char *message)
{
    const neo_audit_chain *chain = data;
    if (chain->faults <= MAX_SHOWN)
        fprintf(stderr, "entry %lld %s\n", number, message);
}

/* A line is {"hash":"<64 digits>","entry":<text>}. Returns NULL if it has another form. */
static const char *split_line(char *line, neo_text *entry)
{
    const apr_size_t start = strlen(LINE_START), middle = start + NEO_AUDIT_HASH_SIZE - 1, len = strlen(line);
    if (len < middle + strlen(LINE_ENTRY) + 2 || strncmp(line, LINE_START, start) != 0 ||
        strncmp(line + middle, LINE_ENTRY, strlen(LINE_ENTRY)) != 0 || strcmp(line + len - 2, "}\n") != 0)
        return NULL;
    entry->ptr = line + middle + strlen(LINE_ENTRY);
    entry->len = (apr_size_t)(line + len - 2 - entry->ptr);
    line[middle] = '\0';
    return line + start;
}

static const char *verify_lines(FILE *file, neo_audit_chain *chain, apr_pool_t *pool)
{
    apr_pool_t *scratch;
    char *line = apr_palloc(pool, MAX_LINE);
    const char *error = NULL;
    apr_pool_create(&scratch, pool);
    while (!error && fgets(line, MAX_LINE, file)) {
        neo_text entry;
        const char *hash = split_line(line, &entry);
        if (hash)
            neo_audit_chain_add(chain, entry, hash, scratch);
        else
            error = apr_psprintf(pool, "line %" APR_INT64_T_FMT " is not of an export", (apr_int64_t)chain->entries + 1);
        apr_pool_clear(scratch);
    }
    neo_audit_chain_end(chain);
    return !error && ferror(file) ? "it cannot be read" : error;
}

static const char *verify_file(const char *path, neo_audit_chain *chain, apr_pool_t *pool)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file)
        return apr_psprintf(pool, "%s cannot be read: %s", path, strerror(errno));
    const char *error = verify_lines(file, chain, pool);
    (void)fclose(file);
    return error ? apr_psprintf(pool, "%s: %s", path, error) : NULL;
}

static neo_ctl_exit report_chain(const neo_ctl *ctl, const neo_audit_chain *chain)
{
    if (chain->faults)
        return neo_ctl_fail(ctl, "the audit log was changed: %" APR_INT64_T_FMT " fault%s in %" APR_INT64_T_FMT " entries",
                            (apr_int64_t)chain->faults, chain->faults == 1 ? "" : "s", (apr_int64_t)chain->entries);
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set_integer(done, "entries", chain->entries, ctl->pool);
    neo_json_set_integer(done, "last", chain->number, ctl->pool);
    neo_json_set_string(done, "hash", chain->hash, ctl->pool);
    neo_ctl_print(ctl, done);
    return NEO_CTL_OK;
}

static neo_ctl_exit verify_entries(neo_ctl *ctl)
{
    const char *error = NULL, *path = neo_ctl_value(ctl, "file");
    neo_audit_chain chain = {.report = show_fault, .expected = neo_ctl_value(ctl, "expect")};
    chain.data = &chain;
    neo_pg *pg = path ? NULL : neo_ctl_open_to_read(ctl, &error);
    if (path)
        error = verify_file(path, &chain, ctl->pool);
    else if (pg)
        error = neo_audit_verify(pg, &chain, ctl->pool);
    return error ? neo_ctl_fail(ctl, "%s", error) : report_chain(ctl, &chain);
}

/* ---------------------------------------------------------------- the table */

static const neo_parameter list_options[] = {
    {"organization", NEO_KIND_ORGANIZATION_ID, 0, NULL, "only of this organization"},
    {"action", NEO_KIND_NAME, 0, NULL, "only this action, such as credential.created or neoapictl.purge.tenant"},
    {"since", NEO_KIND_TIME, 0, NULL, "only at this time or later"},
    {"limit", NEO_KIND_COUNT, 0, "50", "maximum number of rows"},
    {0},
};

static const neo_parameter verify_options[] = {
    {"expect", NEO_KIND_NAME, 0, NULL, "a hash that was noted before: an entry must have it, so that the log was not replaced"},
    {"file", NEO_KIND_FILE, 0, NULL, "verify an export instead of the database; - is standard input"},
    {0},
};

static const neo_parameter export_options[] = {
    {"after", NEO_KIND_COUNT, 0, NULL, "only entries after this number"},
    {0},
};

const neo_ctl_command neo_ctl_audit[] = {
    {"audit", "list", "List the audit log, newest first.",
     "It has an entry for each change of plans, tenants, organizations, users, credentials, feeds, portals, WhatsApp numbers, "
     "webhook subscriptions and hosts, for each command of neoapictl that changes something, and for each export.",
     NULL, list_options, list_entries, NULL, 0},
    {"audit", "verify", "Check that no entry of the audit log was changed, removed, inserted or moved.",
     "Each entry has the hash of the one before. The exit status is 1 if the chain is broken; the entries are printed. Prints "
     "the newest hash: note it where the database's administrators cannot change it, and give it to --expect later. A "
     "superuser of the database could otherwise write the whole log anew.",
     NULL, verify_options, verify_entries, NULL, 0},
    {"audit", "export", "Export the audit log, one line of JSON per entry, oldest first.",
     "A line is {\"hash\": ..., \"entry\": ...}. The hash is the SHA-256 of the entry's text, which has the hash of the one "
     "before as \"previous\".",
     NULL, export_options, export_entries, NULL, 0},
    {0},
};
