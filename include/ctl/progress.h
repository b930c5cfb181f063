/* How far a long command is: a line on the terminal that is written over, with a bar where its end is known. Where standard
 * error is no terminal, and with --json and --quiet, there is nothing of it. */
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

/* So many rows are done. `subresource` of `whole`, rows or bytes, says how much of all that is; `whole` 0 where nobody knows.
 */
void neo_ctl_progress_show(neo_ctl_progress *progress, long long rows, long long part, long long whole);

/* Takes the line away. */
void neo_ctl_progress_end(neo_ctl_progress *progress);

#endif
