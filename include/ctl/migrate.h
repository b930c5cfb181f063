/* SPDX-License-Identifier: Apache-2.0 */
/* Applying migrations, for `migrate` and `setup`. */
#ifndef NEO_CTL_MIGRATE_H
#define NEO_CTL_MIGRATE_H

#include "ctl/command.h"

/* Updates the schema and prints each migration; adds "version" and "applied" to the report. Returns NULL, or an error. */
const char *neo_ctl_apply_migrations(const neo_ctl *ctl, neo_pg *pg, const char *runtime, neo_json *report);

#endif
