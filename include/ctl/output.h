/* SPDX-License-Identifier: Apache-2.0 */
/* Prints results to standard output, as tables or JSON; errors and progress to standard error. */
#ifndef NEO_CTL_OUTPUT_H
#define NEO_CTL_OUTPUT_H

#include <apr_time.h>
#include <signal.h>
#include <stdio.h>

#include "ctl/command.h"

typedef enum neo_ctl_style { NEO_CTL_PLAIN, NEO_CTL_HEADING, NEO_CTL_GOOD, NEO_CTL_BAD, NEO_CTL_FAINT } neo_ctl_style;

/* `text` with colour codes, if the stream is a terminal with colours and NO_COLOR is not set. */
const char *neo_ctl_styled(FILE *stream, neo_ctl_style style, const char *text, apr_pool_t *pool);

/* Whether the stream is a terminal that can overwrite a line. */
int neo_ctl_is_terminal(FILE *stream);

/* Prints an array of objects as a table, an object as lines of name and value. --json prints one line of JSON, --quiet leaves
 * out headings and names. */
void neo_ctl_print(const neo_ctl *ctl, neo_json *value);

/* An object of texts: names and values, terminated by a NULL name. */
neo_json *neo_ctl_object(const neo_ctl *ctl, ...);

/* Ends a command: prints the error if there is one, else the value. */
neo_ctl_exit neo_ctl_finish(const neo_ctl *ctl, const char *error, neo_json *value);

/* Prints a line, unless --json or --quiet is given. */
void neo_ctl_say(const neo_ctl *ctl, const char *fmt, ...) NEO_PRINTF(2, 3);

/* Flushes standard output. Returns NULL, or an error: then the output may not have been read. */
const char *neo_ctl_flush(const neo_ctl *ctl);

/* Print an error to standard error in one line; return the exit status. */
neo_ctl_exit neo_ctl_fail(const neo_ctl *ctl, const char *fmt, ...) NEO_PRINTF(2, 3);
neo_ctl_exit neo_ctl_usage_error(const neo_ctl *ctl, const char *fmt, ...) NEO_PRINTF(2, 3);

/* `text` without control characters: messages of the server can have several lines. */
const char *neo_ctl_one_line(const char *text, apr_pool_t *pool);

/* SIGINT and SIGTERM set this instead of ending the program, once neo_ctl_catch_signals was called. */
extern volatile sig_atomic_t neo_ctl_is_interrupted;
void neo_ctl_catch_signals(void);

/* The progress line of a long command. It is not shown if standard error is not a terminal, or with --json or --quiet. */
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
