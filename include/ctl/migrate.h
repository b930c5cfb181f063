/* What `migrate` and `setup` share. */
#ifndef NEO_CTL_MIGRATE_H
#define NEO_CTL_MIGRATE_H

#include "ctl/command.h"

/* Brings the schema up to date and tells of each migration; puts "version" and "applied" into the report. Returns NULL, or what
 * went wrong. */
const char *neo_ctl_apply_migrations(const neo_ctl *ctl, neo_pg *pg, const char *runtime, neo_json *report);

#endif
