/* SPDX-License-Identifier: Apache-2.0 */
/* `neoapictl setup` on a terminal: asks for the values of the options. */
#ifndef NEO_CTL_SETUP_H
#define NEO_CTL_SETUP_H

#include "ctl/command.h"

/* Whether to ask: standard input and output are a terminal, and no option of setup, --json or --quiet is given. */
int neo_ctl_setup_must_ask(const neo_ctl *ctl);

/* Asks for database, tenant, site and certificate, shows the commands that set them up, runs them if that is confirmed, and
 * prints them. Until then Ctrl-C ends it without a change; afterwards it is ignored, except while setup waits for a server. */
neo_ctl_exit neo_ctl_setup_ask(neo_ctl *ctl);

#endif
