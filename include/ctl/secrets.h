/* SPDX-License-Identifier: Apache-2.0 */
/* Reads secrets from a file, standard input or the terminal. Command lines are visible to other users. */
#ifndef NEO_CTL_SECRETS_H
#define NEO_CTL_SECRETS_H

#include "ctl/command.h"

typedef struct neo_ctl_secret {
    const char *name;   /* in a file: name=value */
    const char *prompt; /* on a terminal */
    int is_needed;
    int may_have_blanks;
    const char *value; /* or NULL */
} neo_ctl_secret;

/* Reads `secrets` (terminated by a NULL name) from the file in --secrets, where "-" is standard input; without --secrets from
 * standard input, with prompts if that is a terminal. Returns NULL, or an error. */
const char *neo_ctl_read_secrets(const neo_ctl *ctl, neo_ctl_secret *secrets);

/* clang-format off */
#define NEO_CTL_KEY_FILE_OPTION                                                                                                \
    {"key-file", NEO_KIND_FILE, 0, "/etc/neoapi/key", "the file in httpd's NeoAPIKeyFile, which encrypts the secrets"}
/* clang-format on */

/* Reads a file of at most `max` bytes; "-" is standard input. Returns NULL, or an error. */
const char *neo_ctl_read_all(const char *path, apr_size_t max, apr_pool_t *pool, neo_text *text);

#endif
