/* SPDX-License-Identifier: Apache-2.0 */
/* The commands create, list, change and remove of what neoapictl administers, derived from resources/noun.h. */
#ifndef NEO_CTL_NOUN_H
#define NEO_CTL_NOUN_H

#include "admin/noun.h"
#include "ctl/command.h"

/* The columns of the fields that are given or have a default: neo_admin_setting. */
apr_array_header_t *neo_ctl_settings(const neo_ctl *ctl);

neo_ctl_exit neo_ctl_run_change(neo_ctl *ctl);

/* Options of `remove` for leads and WhatsApp numbers. */
extern const neo_parameter neo_ctl_remove_options[];

/* Ends a command that changed a row: prints its id (the first argument) and waits for the servers, or prints `error`. */
neo_ctl_exit neo_ctl_finish_change(neo_ctl *ctl, neo_pg *pg, const char *error, const char *what_is_done);

/* Waits until every server has confirmed a committed change. If one has not, prints "<what_is_done>, but …" and returns
 * NEO_CTL_UNCONFIRMED. */
neo_ctl_exit neo_ctl_await_cache_sync(const neo_ctl *ctl, neo_pg *pg, const char *what_is_done);

#endif
