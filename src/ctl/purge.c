/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl purge: removes a tenant or an organization with all of its data. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "admin/purge.h"
#include "core/json.h"
#include "ctl/import.h"
#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/session.h"

static long long sum_rows(neo_json *what)
{
    long long sum = 0;
    for (apr_size_t i = 0; i < neo_json_size(what); i++)
        sum += neo_json_integer(neo_json_get(neo_json_at(what, i), "rows"));
    return sum;
}

/* Shows what is removed and asks for the name. Returns NULL if it is confirmed, or an error. */
static const char *ask_for_name(const neo_ctl *ctl, const neo_purge *purge, neo_json *what)
{
    char line[1024];
    if (neo_ctl_value(ctl, "yes"))
        return NULL;
    if (!isatty(STDIN_FILENO))
        return "not a terminal; use --yes";
    neo_ctl plain = *ctl;
    plain.json = plain.quiet = 0;
    neo_ctl_print(&plain, what);
    printf("Never exported: %s.\nThis cannot be undone. To remove all of it, type the name of the %s, \"%s\": ",
           NEO_TRANSFER_LEFT_OUT, purge->tenant ? "tenant" : "organization", neo_ctl_one_line(purge->name, ctl->pool));
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        line[0] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return strcmp(line, purge->name) == 0 ? NULL : "the name does not match; nothing was removed";
}

static const char *remove_all(const neo_ctl *ctl, neo_purge *purge, long long all, long long *removed)
{
    neo_ctl_progress progress;
    apr_pool_t *pool;
    long long some;
    int is_over = 0;
    const char *error = neo_purge_close(purge, ctl->pool);
    if (!error && !purge->is_data_only)
        neo_ctl_await_cache_sync(ctl, purge->pg, "The credentials are revoked");
    apr_pool_create(&pool, ctl->pool);
    neo_ctl_progress_begin(&progress, ctl, "removing");
    while (!error && !is_over) {
        apr_pool_clear(pool);
        error = neo_purge_step(purge, pool, &some, &is_over);
        *removed += some;
        neo_ctl_progress_show(&progress, *removed, *removed, all);
    }
    neo_ctl_progress_end(&progress);
    return error ? error : neo_purge_finish(purge, ctl->pool);
}

static neo_ctl_exit run_purge(neo_ctl *ctl, neo_purge *purge)
{
    const char *error;
    neo_json *what = NULL;
    long long removed = 0;
    purge->pg = neo_ctl_open(ctl, &error);
    if (purge->pg)
        error = neo_purge_begin(purge, ctl->pool, &what);
    if (!error && neo_ctl_value(ctl, "dry-run")) {
        neo_ctl_print(ctl, what);
        return NEO_CTL_OK;
    }
    if (error || (error = ask_for_name(ctl, purge, what)))
        return neo_ctl_fail(ctl, "%s", error);
    if ((error = remove_all(ctl, purge, sum_rows(what), &removed)))
        return neo_ctl_fail(ctl, "stopped with %" APR_INT64_T_FMT " rows removed: %s. Run the same command again to resume.",
                            (apr_int64_t)removed, error);
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set_string(done, "id", purge->tenant ? purge->tenant : purge->organization, ctl->pool);
    neo_json_set(done, "removed", what);
    if (ctl->json)
        neo_ctl_print(ctl, done);
    neo_ctl_say(ctl, "Removed %" APR_INT64_T_FMT " rows.", (apr_int64_t)sum_rows(what));
    return NEO_CTL_OK;
}

static neo_ctl_exit purge_tenant(neo_ctl *ctl)
{
    neo_purge purge = {.tenant = neo_ctl_value(ctl, "tenant")};
    return run_purge(ctl, &purge);
}

static neo_ctl_exit purge_organization(neo_ctl *ctl)
{
    neo_purge purge = {.organization = neo_ctl_value(ctl, "organization"),
                       .is_data_only = neo_ctl_value(ctl, "data-only") != NULL};
    return run_purge(ctl, &purge);
}

/* clang-format off */
#define YES                                                                                                                    \
    {                                                                                                                          \
        "yes", NEO_KIND_FLAG, 0, NULL, "do not ask for confirmation"                                                            \
    }
#define DRY_RUN                                                                                                                \
    {                                                                                                                          \
        "dry-run", NEO_KIND_FLAG, 0, NULL, "show what would be removed and remove nothing"                                      \
    }
/* clang-format on */

static const neo_parameter tenant_options[] = {YES, DRY_RUN, {0}};
static const neo_parameter organization_options[] = {
    YES,
    DRY_RUN,
    {"data-only", NEO_KIND_FLAG, 0, NULL,
     "keep the organization with its keys, tokens, webhook subscriptions and WhatsApp numbers; rows that are written "
     "during the purge may remain"},
    {0},
};

#define DETAILS                                                                                                                \
    "Shows what will be removed and asks for the name. Then the credentials are revoked, deliveries end, and the rows are "    \
    "removed in small transactions that do not block others. No webhooks are sent. This cannot be undone: export first. "      \
    "Never exported, and lost: " NEO_TRANSFER_LEFT_OUT "."

const neo_ctl_command neo_ctl_purge[] = {
    {"purge", "tenant", "Remove a tenant with its organizations, users, keys and all data permanently.", DETAILS, NULL,
     tenant_options, purge_tenant, &neo_noun_tenant, NEO_USE_ONE},
    {"purge", "organization", "Remove an organization with its keys and all data permanently.", DETAILS, NULL,
     organization_options, purge_organization, &neo_noun_organization, NEO_USE_ONE},
    {0},
};
