/* neoapictl's commands: one table, from which arguments are read, help is written and completion is drawn.
 * A command is added as a row in its group's file (src/ctl/<group>.c); a new group is added to NEO_CTL_GROUP_LIST. */
#ifndef NEO_CTL_COMMAND_H
#define NEO_CTL_COMMAND_H

#include "ctl/value.h"
#include "store/admin.h"

typedef enum neo_ctl_exit {
    NEO_CTL_OK = 0,
    NEO_CTL_FAILED = 1,    /* what was asked for could not be done */
    NEO_CTL_USAGE = 2,     /* what was asked for makes no sense */
    NEO_CTL_ATTENTION = 3, /* of `status`: it works, and something wants attention */
} neo_ctl_exit;

enum neo_ctl_parameter_flags {
    NEO_CTL_REQUIRED = 1,
    NEO_CTL_REPEATED = 2, /* may be given several times */
};

/* An argument, or an option: "tenant" is --tenant. */
typedef struct neo_ctl_parameter {
    const char *name;
    neo_ctl_kind kind;
    unsigned int flags;
    const char *default_value; /* the value where none is given; NULL for none */
    const char *summary;
} neo_ctl_parameter;

typedef struct neo_ctl neo_ctl;
typedef struct neo_ctl_command neo_ctl_command;

/* Makes or changes one row as asked for and writes its id. Returns NULL, or why nothing was done. */
typedef const char *(*neo_ctl_row)(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE]);

struct neo_ctl_command {
    const char *group;
    const char *verb; /* "create", "number add"; NULL: the group is the command */
    const char *summary;
    const char *details;                /* further sentences for --help, or NULL */
    const neo_ctl_parameter *arguments; /* all required; ended by one without a name; NULL for none */
    const neo_ctl_parameter *options;   /* likewise */
    neo_ctl_exit (*run)(neo_ctl *ctl);
    /* What neo_ctl_run_row does, and what neo_ctl_run_list lists, narrowed by the command's first option. */
    neo_ctl_row row;
    neo_admin_listing listing;
};

/* What was asked for. */
struct neo_ctl {
    apr_pool_t *pool;
    const char *group; /* these two as far as they were understood, for --help */
    const char *verb;  /* the words so far of a verb that has several; NULL elsewhere */
    const neo_ctl_command *command;
    apr_array_header_t *given; /* of neo_ctl_given: what the command line has */
    int json, quiet;
};

typedef struct neo_ctl_given {
    const neo_ctl_parameter *parameter;
    const char *value; /* NULL of a flag */
} neo_ctl_given;

/* The groups, in the order in which help lists them. */
#define NEO_CTL_GROUP_LIST(X)                                                                                                  \
    X(setup)                                                                                                                   \
    X(migrate)                                                                                                                 \
    X(doctor)                                                                                                                  \
    X(status)                                                                                                                  \
    X(plan)                                                                                                                    \
    X(tenant)                                                                                                                  \
    X(organization)                                                                                                            \
    X(user)                                                                                                                    \
    X(key)                                                                                                                     \
    X(token)                                                                                                                   \
    X(webhook)                                                                                                                 \
    X(whatsapp)                                                                                                                \
    X(lead)                                                                                                                    \
    X(export)                                                                                                                  \
    X(import)                                                                                                                  \
    X(purge)                                                                                                                   \
    X(completion)                                                                                                              \
    X(manual)

/* Each group's commands, ended by one without a group; the list is ended by NULL. */
extern const neo_ctl_command *const neo_ctl_groups[];
#define NEO_CTL_DECLARATION(name) extern const neo_ctl_command neo_ctl_##name[];
NEO_CTL_GROUP_LIST(NEO_CTL_DECLARATION)

/* The options that every command has, ended by one without a name. */
extern const neo_ctl_parameter neo_ctl_globals[];

/* Reads the command line into `ctl`, whose pool is set. Returns NULL, or what is wrong with it. */
const char *neo_ctl_read(neo_ctl *ctl, int argc, const char *const *argv);

/* The value of an argument or option, else its preset; NULL where it has neither. A flag that is given is "". */
const char *neo_ctl_value(const neo_ctl *ctl, const char *name);
/* Every value that was given of a repeated one: const char *. */
apr_array_header_t *neo_ctl_values(const neo_ctl *ctl, const char *name);

/* Help for what was understood: everything, a group, or a command. */
void neo_ctl_help(const neo_ctl *ctl);
/* The one line that shows how a command is written: "key revoke ID". */
const char *neo_ctl_synopsis(const neo_ctl_command *command, apr_pool_t *pool);

/* The run functions of commands that make or change one row, and of lists. */
neo_ctl_exit neo_ctl_run_row(neo_ctl *ctl);
neo_ctl_exit neo_ctl_run_list(neo_ctl *ctl);

#endif
