/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl's table of commands, used for the command line, help, the manual and completion.
 * A command is added as a row in its group's table, neo_ctl_<group> in src/ctl/; a new group is added to NEO_CTL_GROUP_LIST. */
#ifndef NEO_CTL_COMMAND_H
#define NEO_CTL_COMMAND_H

#include "admin/noun.h"

typedef enum neo_ctl_exit {
    NEO_CTL_OK = 0,
    NEO_CTL_FAILED = 1,
    NEO_CTL_USAGE = 2,       /* the command line is wrong */
    NEO_CTL_WARNING = 3,     /* `status` has warnings */
    NEO_CTL_UNCONFIRMED = 4, /* the change is committed, but not every server has confirmed it */
} neo_ctl_exit;

typedef struct neo_ctl neo_ctl;
typedef struct neo_ctl_command neo_ctl_command;

struct neo_ctl_command {
    const char *group;
    const char *verb; /* "create", "number create"; NULL: the group is the command */
    const char *summary;
    const char *details;            /* more sentences for --help, or NULL */
    const neo_parameter *arguments; /* all required; terminated by a NULL name; NULL if there is none */
    const neo_parameter *options;   /* terminated by a NULL name; NULL if there is none */
    neo_ctl_exit (*run)(neo_ctl *ctl);
    const neo_noun *noun; /* arguments, options and `run` are derived from it, see ctl/noun.h; NULL if there is none */
    neo_use use;
};

/* The parsed command line. */
struct neo_ctl {
    apr_pool_t *pool;
    const char *group; /* NULL if it was not recognized; --help uses what was */
    const char *verb;  /* the first words of a verb of several; otherwise NULL */
    const neo_ctl_command *command;
    apr_array_header_t *given; /* elements: neo_ctl_given */
    int json, quiet;
};

typedef struct neo_ctl_given {
    const neo_parameter *parameter;
    const char *value; /* NULL for a flag */
} neo_ctl_given;

/* The groups, in the order in which help lists them. */
#define NEO_CTL_GROUP_LIST(X)                                                                                                  \
    X(setup)                                                                                                                   \
    X(site)                                                                                                                    \
    X(migrate)                                                                                                                 \
    X(doctor)                                                                                                                  \
    X(serve)                                                                                                                   \
    X(health)                                                                                                                  \
    X(host)                                                                                                                    \
    X(drain)                                                                                                                   \
    X(undrain)                                                                                                                 \
    X(status)                                                                                                                  \
    X(plan)                                                                                                                    \
    X(tenant)                                                                                                                  \
    X(organization)                                                                                                            \
    X(user)                                                                                                                    \
    X(key)                                                                                                                     \
    X(token)                                                                                                                   \
    X(listings)                                                                                                                \
    X(webhook)                                                                                                                 \
    X(events)                                                                                                                  \
    X(reencrypt)                                                                                                               \
    X(whatsapp)                                                                                                                \
    X(lead)                                                                                                                    \
    X(portal)                                                                                                                  \
    X(export)                                                                                                                  \
    X(import)                                                                                                                  \
    X(audit)                                                                                                                   \
    X(usage)                                                                                                                   \
    X(subject)                                                                                                                 \
    X(retention)                                                                                                               \
    X(purge)                                                                                                                   \
    X(completion)                                                                                                              \
    X(manual)

/* Each group's commands, terminated by a NULL group; the list is terminated by NULL. Made by neo_ctl_make_commands. */
extern const neo_ctl_command *neo_ctl_groups[];
void neo_ctl_make_commands(apr_pool_t *pool);
#define NEO_CTL_DECLARATION(name) extern const neo_ctl_command neo_ctl_##name[];
NEO_CTL_GROUP_LIST(NEO_CTL_DECLARATION)

/* The options of every command, terminated by a NULL name. */
extern const neo_parameter neo_ctl_globals[];

/* Reads the command line into `ctl`, whose pool is set. Returns NULL, or an error. */
const char *neo_ctl_read(neo_ctl *ctl, int argc, const char *const *argv);

/* The value of an argument or option, or its default, or NULL. A flag that is given has the value "". */
const char *neo_ctl_value(const neo_ctl *ctl, const char *name);
/* All values of a repeated option: const char *. */
apr_array_header_t *neo_ctl_values(const neo_ctl *ctl, const char *name);

/* Prints help for the command, the group, or everything. */
void neo_ctl_help(const neo_ctl *ctl);
/* The synopsis in one line: "key revoke ID". */
const char *neo_ctl_synopsis(const neo_ctl_command *command, apr_pool_t *pool);

/* ---------------------------------------------------------------- values (value.c) */

/* The placeholder in help: "ROLE". */
const char *neo_ctl_placeholder(neo_parameter_kind kind);

/* "tnt_", or NULL if values are not ids. */
const char *neo_ctl_id_prefix(neo_parameter_kind kind);

/* Returns NULL, or an error: "must be …". */
const char *neo_ctl_value_check(neo_parameter_kind kind, const char *text, apr_pool_t *pool);

/* All values as const char *, if the kind is an enumeration; else NULL. */
apr_array_header_t *neo_ctl_value_words(neo_parameter_kind kind, apr_pool_t *pool);
/* The networks of a value of NEO_KIND_NETWORKS, as const char *. */
apr_array_header_t *neo_ctl_networks(const char *text, apr_pool_t *pool);
int neo_ctl_is_among(const apr_array_header_t *words, const char *text);

#endif
