/* SPDX-License-Identifier: Apache-2.0 */
/* The list of command groups, and the global options. */
#include <apr_strings.h>

#include "ctl/noun.h"

#define NEO_CTL_GROUP(name) neo_ctl_##name,
static const neo_ctl_command *const tables[] = {NEO_CTL_GROUP_LIST(NEO_CTL_GROUP) NULL};

const neo_ctl_command *neo_ctl_groups[sizeof tables / sizeof *tables];

void neo_ctl_make_commands(apr_pool_t *pool)
{
    for (int i = 0; tables[i]; i++) {
        apr_size_t count = 1;
        while (tables[i][count - 1].group)
            count++;
        neo_ctl_command *commands = apr_pmemdup(pool, tables[i], count * sizeof *commands);
        for (neo_ctl_command *c = commands; c->group; c++)
            if (c->noun)
                neo_ctl_derive_parameters(c, pool);
        neo_ctl_groups[i] = commands;
    }
}

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
