/* SPDX-License-Identifier: Apache-2.0 */
/* The global options, and the parser of the command line (see ctl/command.h). */
#include <apr_strings.h>
#include <string.h>

#include "ctl/command.h"

const neo_parameter neo_ctl_globals[] = {
    {"database", NEO_KIND_CONNINFO, 0, NULL,
     "the database: a libpq connection string without a password, or service=NAME; defaults to $NEOAPI_DATABASE, then to "
     "service=neoapi_admin or service=neoapi if it is defined, then to dbname=neoapi"},
    {"json", NEO_KIND_FLAG, 0, NULL, "print JSON"},
    {"quiet", NEO_KIND_FLAG, 0, NULL, "print only results: no notes, headings or progress"},
    {"help", NEO_KIND_FLAG, 0, NULL, "show this help"},
    {"version", NEO_KIND_FLAG, 0, NULL, "show the version"},
    {0},
};

/* ---------------------------------------------------------------- the parser */

typedef struct {
    neo_ctl *ctl;
    const char *const *argv;
    int argc, at;
    int arguments;   /* positional arguments so far */
    int options_end; /* after "--" */
} reader;

static const neo_parameter *find_parameter(const neo_parameter *list, const char *name, apr_size_t len)
{
    for (; list && list->name; list++)
        if (strlen(list->name) == len && strncmp(list->name, name, len) == 0)
            return list;
    return NULL;
}

/* The name in messages: --role, or NAME. */
static const char *display_name(const neo_ctl *ctl, const neo_parameter *parameter)
{
    if (find_parameter(ctl->command ? ctl->command->arguments : NULL, parameter->name, strlen(parameter->name)) == parameter)
        return neo_ctl_placeholder(parameter->kind);
    return apr_pstrcat(ctl->pool, "--", parameter->name, NULL);
}

static int is_given(const neo_ctl *ctl, const neo_parameter *parameter)
{
    for (int i = 0; i < ctl->given->nelts; i++)
        if (APR_ARRAY_IDX(ctl->given, i, neo_ctl_given).parameter == parameter)
            return 1;
    return 0;
}

static const char *add_given(neo_ctl *ctl, const neo_parameter *parameter, const char *value)
{
    const char *error = value ? neo_ctl_value_check(parameter->kind, value, ctl->pool) : NULL;
    if (error)
        return apr_psprintf(ctl->pool, "%s %s", display_name(ctl, parameter), error);
    if (is_given(ctl, parameter) && !(parameter->flags & NEO_PARAMETER_REPEATED))
        return apr_psprintf(ctl->pool, "%s is given twice", display_name(ctl, parameter));
    APR_ARRAY_PUSH(ctl->given, neo_ctl_given) = (neo_ctl_given){parameter, value};
    return NULL;
}

/* --name value, --name=value, --flag */
static const char *read_option(reader *r, const char *word)
{
    neo_ctl *ctl = r->ctl;
    const char *name = strcmp(word, "-h") == 0 ? "help" : word + 2, *equals = strchr(name, '=');
    apr_size_t len = equals ? (apr_size_t)(equals - name) : strlen(name);
    const neo_parameter *option = find_parameter(neo_ctl_globals, name, len);
    if (!option && ctl->command)
        option = find_parameter(ctl->command->options, name, len);
    if (!option || (word[1] != '-' && strcmp(word, "-h") != 0))
        return apr_psprintf(ctl->pool, "unknown option %s%s", word,
                            ctl->command ? "" : " before the command; options of a command follow it");
    if (option->kind == NEO_KIND_FLAG)
        return equals ? apr_psprintf(ctl->pool, "--%s takes no value", option->name) : add_given(ctl, option, NULL);
    if (!equals && r->at == r->argc)
        return apr_psprintf(ctl->pool, "--%s needs a value: --%s %s", option->name, option->name,
                            neo_ctl_placeholder(option->kind));
    return add_given(ctl, option, equals ? equals + 1 : r->argv[r->at++]);
}

/* The commands of a group, or NULL. */
static const neo_ctl_command *group_named(const char *name)
{
    for (int i = 0; neo_ctl_groups[i]; i++)
        if (strcmp(neo_ctl_groups[i]->group, name) == 0)
            return neo_ctl_groups[i];
    return NULL;
}

/* `help` before a command is --help. */
static const char *read_group(neo_ctl *ctl, const char *word)
{
    if (strcmp(word, "help") == 0)
        return add_given(ctl, find_parameter(neo_ctl_globals, "help", strlen("help")), NULL);
    const neo_ctl_command *commands = group_named(word);
    if (!commands)
        return apr_psprintf(ctl->pool, "unknown command \"%s\"", word);
    ctl->group = commands->group;
    if (!commands->verb)
        ctl->command = commands;
    return NULL;
}

/* A verb may have several words: "number create". */
static const char *read_verb(neo_ctl *ctl, const char *word)
{
    const char *verb = ctl->verb ? apr_pstrcat(ctl->pool, ctl->verb, " ", word, NULL) : word;
    apr_size_t len = strlen(verb);
    neo_buf verbs;
    neo_buf_init(&verbs, ctl->pool, 64);
    for (const neo_ctl_command *c = group_named(ctl->group); c->group; c++) {
        if (strcmp(c->verb, verb) == 0) {
            ctl->command = c;
            return NULL;
        }
        if (strncmp(c->verb, verb, len) == 0 && c->verb[len] == ' ') {
            ctl->verb = verb;
            return NULL;
        }
        neo_buf_printf(&verbs, "%s%s", verbs.len ? ", " : "", c->verb);
    }
    return apr_psprintf(ctl->pool, "unknown command \"%s %s\"; %s has: %s", ctl->group, verb, ctl->group, verbs.ptr);
}

static const char *read_argument(reader *r, const char *word)
{
    const neo_parameter *arguments = r->ctl->command->arguments;
    int count = 0;
    while (arguments && arguments[count].name)
        count++;
    if (r->arguments == count)
        return apr_psprintf(r->ctl->pool, "unexpected argument \"%s\"", word);
    return add_given(r->ctl, &arguments[r->arguments++], word);
}

static const char *read_word(reader *r)
{
    const char *word = r->argv[r->at++];
    if (!r->options_end && strcmp(word, "--") == 0) {
        r->options_end = 1;
        return NULL;
    }
    if (!r->options_end && word[0] == '-' && word[1])
        return read_option(r, word);
    if (!r->ctl->group)
        return read_group(r->ctl, word);
    return r->ctl->command ? read_argument(r, word) : read_verb(r->ctl, word);
}

static const char *find_missing(const neo_ctl *ctl)
{
    if (!ctl->group)
        return "a command is missing";
    if (!ctl->command)
        return apr_psprintf(ctl->pool, "the command after \"%s%s%s\" is missing", ctl->group, ctl->verb ? " " : "",
                            ctl->verb ? ctl->verb : "");
    for (const neo_parameter *p = ctl->command->arguments; p && p->name; p++)
        if (!is_given(ctl, p))
            return apr_psprintf(ctl->pool, "%s is missing", display_name(ctl, p));
    for (const neo_parameter *p = ctl->command->options; p && p->name; p++)
        if (p->flags & NEO_PARAMETER_REQUIRED && !is_given(ctl, p))
            return apr_psprintf(ctl->pool, "%s is missing", display_name(ctl, p));
    return NULL;
}

const char *neo_ctl_read(neo_ctl *ctl, int argc, const char *const *argv)
{
    reader r = {.ctl = ctl, .argv = argv, .argc = argc, .at = 1};
    const char *error = NULL;
    ctl->given = apr_array_make(ctl->pool, 8, sizeof(neo_ctl_given));
    while (!error && r.at < argc)
        error = read_word(&r);
    ctl->json = neo_ctl_value(ctl, "json") != NULL;
    ctl->quiet = neo_ctl_value(ctl, "quiet") != NULL;
    if (!error && !neo_ctl_value(ctl, "help") && !neo_ctl_value(ctl, "version"))
        error = find_missing(ctl);
    return error;
}

const char *neo_ctl_value(const neo_ctl *ctl, const char *name)
{
    for (int i = 0; i < ctl->given->nelts; i++) {
        const neo_ctl_given *given = &APR_ARRAY_IDX(ctl->given, i, neo_ctl_given);
        if (strcmp(given->parameter->name, name) == 0)
            return given->value ? given->value : "";
    }
    const neo_parameter *option = ctl->command ? find_parameter(ctl->command->options, name, strlen(name)) : NULL;
    return option ? option->default_value : NULL;
}

apr_array_header_t *neo_ctl_values(const neo_ctl *ctl, const char *name)
{
    apr_array_header_t *values = apr_array_make(ctl->pool, 4, sizeof(const char *));
    for (int i = 0; i < ctl->given->nelts; i++) {
        const neo_ctl_given *given = &APR_ARRAY_IDX(ctl->given, i, neo_ctl_given);
        if (strcmp(given->parameter->name, name) == 0)
            APR_ARRAY_PUSH(values, const char *) = given->value;
    }
    return values;
}
