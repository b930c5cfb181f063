/* Secrets that an administrator hands over: never on the command line, which others can see. */
#ifndef NEO_CTL_SECRETS_H
#define NEO_CTL_SECRETS_H

#include "ctl/command.h"

typedef struct neo_ctl_secret {
    const char *name;   /* in a file: name=value */
    const char *prompt; /* on a terminal */
    int is_needed;
    int may_have_blanks;
    const char *value; /* NULL where it was not given */
} neo_ctl_secret;

/* Reads secrets (the list is ended by one without a name) from the file that --secrets names, "-" for standard input; without
 * it from standard input, or by asking where that is a terminal. Returns NULL, or what is wrong. */
const char *neo_ctl_read_secrets(const neo_ctl *ctl, neo_ctl_secret *secrets);

/* The whole of a file, at most so many bytes; "-" is standard input. Returns NULL, or what is wrong with it. */
const char *neo_ctl_read_all(const char *path, apr_size_t max, apr_pool_t *pool, neo_text *text);

#endif
