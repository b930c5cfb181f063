/* What neoapictl writes: to standard output what was asked for, as JSON or as tables for people; to standard error what failed.
 */
#ifndef NEO_CTL_OUTPUT_H
#define NEO_CTL_OUTPUT_H

#include <stdio.h>

#include "ctl/command.h"

/* How a text stands out on a terminal. */
typedef enum neo_ctl_style { NEO_CTL_PLAIN, NEO_CTL_HEADING, NEO_CTL_GOOD, NEO_CTL_BAD, NEO_CTL_FAINT } neo_ctl_style;

/* The text so that it stands out, where the stream is a terminal that has colours and NO_COLOR is not set. */
const char *neo_ctl_styled(FILE *stream, neo_ctl_style style, const char *text, apr_pool_t *pool);

/* Whether a stream is a terminal on which a line can be written over, as progress does. */
int neo_ctl_is_terminal(FILE *stream);

/* An array of objects as a table, an object as lines of name and value; with --json as one line of JSON, with --quiet without
 * headings and names. */
void neo_ctl_print(const neo_ctl *ctl, neo_json *value);

/* A line for people; nothing with --json and --quiet. */
void neo_ctl_say(const neo_ctl *ctl, const char *fmt, ...) NEO_PRINTF(2, 3);

/* Sends what was written on its way. Returns NULL, or why that failed: then whoever asked has not read it. */
const char *neo_ctl_flush(const neo_ctl *ctl);

/* Say on standard error why nothing came of it, in one line; return the status to exit with. */
neo_ctl_exit neo_ctl_fail(const neo_ctl *ctl, const char *fmt, ...) NEO_PRINTF(2, 3);
neo_ctl_exit neo_ctl_misused(const neo_ctl *ctl, const char *fmt, ...) NEO_PRINTF(2, 3);

/* `text` in one line without control characters: a server's message can have several. */
const char *neo_ctl_one_line(const char *text, apr_pool_t *pool);

#endif
