/* `change` and `remove`, which are the same for everything that an administrator makes. The command's `listing` says what is
 * changed, its first argument which; its options are the settings of neo_admin_change. */
#ifndef NEO_CTL_CHANGE_H
#define NEO_CTL_CHANGE_H

#include "ctl/command.h"

neo_ctl_exit neo_ctl_run_change(neo_ctl *ctl);
neo_ctl_exit neo_ctl_run_remove(neo_ctl *ctl);

/* Options of `remove` for what people write to or from. */
extern const neo_ctl_parameter neo_ctl_remove_options[];

/* Waits until every server has heard of a change that is committed, and says where one has not: "It is revoked, but …". */
void neo_ctl_await_cache_sync(const neo_ctl *ctl, neo_pg *pg, const char *what_is_done);

#endif
