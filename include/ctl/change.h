/* SPDX-License-Identifier: Apache-2.0 */
/* The commands `change` and `remove` of every group. The command's `listing` selects the table, its first argument the row, and
 * its options are the settings of neo_admin_change. */
#ifndef NEO_CTL_CHANGE_H
#define NEO_CTL_CHANGE_H

#include "ctl/command.h"

neo_ctl_exit neo_ctl_run_change(neo_ctl *ctl);
neo_ctl_exit neo_ctl_run_remove(neo_ctl *ctl);

/* Options of `remove` for leads and WhatsApp numbers. */
extern const neo_ctl_parameter neo_ctl_remove_options[];

/* Ends a command that changed a row: prints its id (the first argument) and waits for the servers, or prints the error
 * `wrong`. */
neo_ctl_exit neo_ctl_finish_change(neo_ctl *ctl, neo_pg *pg, const char *wrong, const char *what_is_done);

/* Waits until every server has confirmed a committed change. If one has not, prints "<what_is_done>, but …" and returns
 * NEO_CTL_UNCONFIRMED. */
neo_ctl_exit neo_ctl_await_cache_sync(const neo_ctl *ctl, neo_pg *pg, const char *what_is_done);

#endif
