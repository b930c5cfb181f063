/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl events: manages the event log. */
#include "admin/webhook.h"
#include "ctl/output.h"
#include "ctl/session.h"

static neo_ctl_exit begin_epoch(neo_ctl *ctl)
{
    const char *error, *begun_at;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_begin_event_epoch(pg, ctl->pool, &begun_at);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    neo_json *report = neo_json_make_object(ctl->pool);
    neo_json_set(report, "begun_at", neo_json_make_string(begun_at, ctl->pool));
    neo_ctl_print(ctl, report);
    return NEO_CTL_OK;
}

const neo_ctl_command neo_ctl_events[] = {
    {"events", "new-epoch", "Make clients that follow the event log export again.",
     "Run it if committed changes were lost and the module cannot notice it: the files of the PostgreSQL cluster were replaced "
     "by "
     "an older copy, or a crash lost transactions because of synchronous_commit = off. Restored dumps, point-in-time recovery "
     "and "
     "failovers are noticed without it. Every position that clients have is refused afterwards. Connect as a superuser or as a "
     "member of the role that owns the schema.",
     NULL, NULL, begin_epoch, NULL, 0},
    {0},
};
