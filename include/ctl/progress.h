/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line of long commands. It is not shown if standard error is not a terminal, or with --json or --quiet. */
#ifndef NEO_CTL_PROGRESS_H
#define NEO_CTL_PROGRESS_H

#include <apr_time.h>

#include "ctl/command.h"

typedef struct neo_ctl_progress {
    const char *what; /* "writing" */
    int is_shown;
    apr_time_t begun, last;
} neo_ctl_progress;

void neo_ctl_progress_begin(neo_ctl_progress *progress, const neo_ctl *ctl, const char *what);

/* `rows` are done. `part` of `whole`, in rows or bytes, is the fraction; `whole` is 0 if it is unknown. */
void neo_ctl_progress_show(neo_ctl_progress *progress, long long rows, long long part, long long whole);

/* Removes the line. */
void neo_ctl_progress_end(neo_ctl_progress *progress);

#endif
