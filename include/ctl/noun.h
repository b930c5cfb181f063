/* SPDX-License-Identifier: Apache-2.0 */
/* What neoapictl administers: tenants, plans, keys. Arguments, options and statements of the commands create, list, change and
 * remove are derived from a table of fields, so that a field is one row there and one column in sql/. */
#ifndef NEO_CTL_NOUN_H
#define NEO_CTL_NOUN_H

#include "ctl/command.h"

typedef struct neo_ctl_field {
    neo_ctl_parameter parameter; /* of `create`; its flags name the commands that have it, see neo_ctl_use */
    const char *column;          /* NULL: an option that is no field, such as a file; it keeps its default in `change` */
    const char *change_summary;  /* in `change --help`, if it is another one; else NULL */
} neo_ctl_field;

struct neo_ctl_noun {
    neo_admin_noun what;
    neo_ctl_parameter which;     /* the argument of `change` and `remove` that identifies a row; unused without them */
    const neo_ctl_field *fields; /* in the order of columns in lists; terminated by a NULL name */
};

/* The fields of a noun of which only the list is filtered, by organization. */
extern const neo_ctl_field neo_ctl_filtered_by_organization[];

/* Fills the arguments and options of a command that has a noun. Those that its row has are kept. */
void neo_ctl_derive_parameters(neo_ctl_command *command, apr_pool_t *pool);

/* The columns of the fields that are given or have a default: neo_admin_setting. */
apr_array_header_t *neo_ctl_settings(const neo_ctl *ctl);

neo_ctl_exit neo_ctl_run_create(neo_ctl *ctl);
neo_ctl_exit neo_ctl_run_list(neo_ctl *ctl);
neo_ctl_exit neo_ctl_run_change(neo_ctl *ctl);
neo_ctl_exit neo_ctl_run_remove(neo_ctl *ctl);

/* Options of `remove` for leads and WhatsApp numbers. */
extern const neo_ctl_parameter neo_ctl_remove_options[];

/* Ends a command that changed a row: prints its id (the first argument) and waits for the servers, or prints `error`. */
neo_ctl_exit neo_ctl_finish_change(neo_ctl *ctl, neo_pg *pg, const char *error, const char *what_is_done);

/* Waits until every server has confirmed a committed change. If one has not, prints "<what_is_done>, but …" and returns
 * NEO_CTL_UNCONFIRMED. */
neo_ctl_exit neo_ctl_await_cache_sync(const neo_ctl *ctl, neo_pg *pg, const char *what_is_done);

#endif
