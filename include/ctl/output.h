/* What neoapictl writes: to standard output what was asked for, as JSON or as tables for people; to standard error what failed.
 */
#ifndef NEO_CTL_OUTPUT_H
#define NEO_CTL_OUTPUT_H

#include "ctl/command.h"

/* An array of objects as a table, an object as lines of name and value; with --json as one line of JSON. */
void neo_ctl_print(const neo_ctl *ctl, neo_json *value);

/* A line for people; nothing with --json. */
void neo_ctl_say(const neo_ctl *ctl, const char *fmt, ...) NEO_PRINTF(2, 3);

/* Sends what was written on its way. Returns NULL, or why that failed: then whoever asked has not read it. */
const char *neo_ctl_flush(const neo_ctl *ctl);

/* Say on standard error why nothing came of it, in one line; return the status to exit with. */
neo_ctl_exit neo_ctl_fail(const neo_ctl *ctl, const char *fmt, ...) NEO_PRINTF(2, 3);
neo_ctl_exit neo_ctl_misused(const neo_ctl *ctl, const char *fmt, ...) NEO_PRINTF(2, 3);

/* `text` in one line without control characters: a server's message can have several. */
const char *neo_ctl_one_line(const char *text, apr_pool_t *pool);

#endif
