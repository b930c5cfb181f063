/* SPDX-License-Identifier: Apache-2.0 */
/* The list of command groups, the global options, and the `run` functions that groups share. */
#include "ctl/command.h"
#include "ctl/output.h"
#include "ctl/session.h"

#define NEO_CTL_GROUP(name) neo_ctl_##name,
const neo_ctl_command *const neo_ctl_groups[] = {NEO_CTL_GROUP_LIST(NEO_CTL_GROUP) NULL};

const neo_ctl_parameter neo_ctl_globals[] = {
    {"database", NEO_CTL_CONNINFO, 0, NULL,
     "the database: a libpq connection string without a password, or service=NAME; defaults to $NEOAPI_DATABASE, then to "
     "service=neoapi_admin or service=neoapi if it is defined, then to dbname=neoapi"},
    {"json", NEO_CTL_FLAG, 0, NULL, "print JSON"},
    {"quiet", NEO_CTL_FLAG, 0, NULL, "print only results: no notes, headings or progress"},
    {"help", NEO_CTL_FLAG, 0, NULL, "show this help"},
    {"version", NEO_CTL_FLAG, 0, NULL, "show the version"},
    {0},
};

neo_ctl_exit neo_ctl_run_row(neo_ctl *ctl)
{
    const char *wrong;
    char id[NEO_ID_SIZE];
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg)
        wrong = ctl->command->row(ctl, pg, id);
    if (wrong)
        return neo_ctl_fail(ctl, "%s", wrong);
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set(done, "id", neo_json_make_string(id, ctl->pool));
    neo_ctl_print(ctl, done);
    return NEO_CTL_OK;
}

neo_ctl_exit neo_ctl_run_list(neo_ctl *ctl)
{
    const char *wrong;
    neo_json *list;
    const neo_ctl_parameter *filter = ctl->command->options;
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg)
        wrong = neo_admin_list(pg, ctl->command->listing, filter ? neo_ctl_value(ctl, filter->name) : NULL, ctl->pool, &list);
    if (wrong)
        return neo_ctl_fail(ctl, "%s", wrong);
    neo_ctl_print(ctl, list);
    return NEO_CTL_OK;
}
