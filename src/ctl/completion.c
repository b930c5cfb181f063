/* neoapictl completion: a script for bash, drawn from the table of commands. */
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"

/* bash takes the colon of a scope and the equals sign of --role=ROLE for words of their own: `cur` and `prev` are put together
 * again, and of what is offered bash then wants what follows the colon alone. */
static const char head[] =
    "# bash completion for neoapictl; written by: neoapictl completion bash\n"
    "_neoapictl() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) glued=\"\" words=\"\" files=\"\" group=\"\" verb=\"\" i\n"
    "    if [[ $cur == : ]]; then\n"
    "        glued=${COMP_WORDS[at]}: cur=${COMP_WORDS[at]}: at=$((at - 1))\n"
    "    elif [[ ${COMP_WORDS[at]} == : ]]; then\n"
    "        glued=${COMP_WORDS[at - 1]}: cur=${COMP_WORDS[at - 1]}:$cur at=$((at - 2))\n"
    "    elif [[ $cur == = ]]; then\n"
    "        cur=\"\"\n"
    "    fi\n"
    "    [[ ${COMP_WORDS[at]} == = ]] && at=$((at - 1))\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n";

static const char after_values[] =
    ")\n"
    "            i=$((i + 1))\n"
    "            [[ ${COMP_WORDS[i]} == = ]] && i=$((i + 1)) ;;\n"
    "        -*) ;;\n"
    "        *) if [[ ! $group ]]; then group=${COMP_WORDS[i]}; else verb=$verb${verb:+ }${COMP_WORDS[i]}; fi ;;\n"
    "        esac\n"
    "    done\n"
    "    case ${COMP_WORDS[at]} in\n";

static const char after_options[] = "    *)\n"
                                    "        case $group/$verb in\n";

static const char tail[] = "        esac ;;\n"
                           "    esac\n"
                           "    if [[ $files ]]; then\n"
                           "        compopt -o filenames 2>/dev/null\n"
                           "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                           "    else\n"
                           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                           "        COMPREPLY=(\"${COMPREPLY[@]#\"$glued\"}\")\n"
                           "    fi\n"
                           "}\n"
                           "complete -F _neoapictl neoapictl\n";

/* Adds the options that are not among `all` by their names. */
static void add_distinct(apr_array_header_t *all, const neo_ctl_parameter *options)
{
    for (; options && options->name; options++) {
        int i = 0;
        while (i < all->nelts && strcmp(APR_ARRAY_IDX(all, i, const neo_ctl_parameter *)->name, options->name) != 0)
            i++;
        if (i == all->nelts)
            APR_ARRAY_PUSH(all, const neo_ctl_parameter *) = options;
    }
}

/* Every option of any command, once. */
static apr_array_header_t *distinct_options(apr_pool_t *pool)
{
    apr_array_header_t *all = apr_array_make(pool, 32, sizeof(const neo_ctl_parameter *));
    add_distinct(all, neo_ctl_globals);
    for (int i = 0; neo_ctl_groups[i]; i++)
        for (const neo_ctl_command *c = neo_ctl_groups[i]; c->group; c++)
            add_distinct(all, c->options);
    return all;
}

/* A pattern of the options that have a value: "--database|--role" */
static void put_values_pattern(neo_buf *out, const apr_array_header_t *options)
{
    const char *separator = "        ";
    for (int i = 0; i < options->nelts; i++) {
        const neo_ctl_parameter *option = APR_ARRAY_IDX(options, i, const neo_ctl_parameter *);
        if (option->kind != NEO_CTL_FLAG) {
            neo_buf_printf(out, "%s--%s", separator, option->name);
            separator = " | ";
        }
    }
}

static void put_words(neo_buf *out, const apr_array_header_t *words)
{
    for (int i = 0; words && i < words->nelts; i++)
        neo_buf_printf(out, "%s%s", i ? " " : "", APR_ARRAY_IDX(words, i, const char *));
}

static int is_path(const neo_ctl_parameter *p)
{
    return p->kind == NEO_CTL_FILE || p->kind == NEO_CTL_FOLDER;
}

/* What completes the value of an option. */
static void put_option(neo_buf *out, const neo_ctl_parameter *option)
{
    if (option->kind == NEO_CTL_FLAG)
        return;
    neo_buf_printf(out, "    --%s) %s=\"", option->name, is_path(option) ? "files" : "words");
    if (is_path(option))
        neo_buf_puts(out, "yes");
    else
        put_words(out, neo_ctl_value_words(option->kind, out->pool));
    neo_buf_puts(out, "\" ;;\n");
}

static void put_names(neo_buf *out, const neo_ctl_parameter *options)
{
    for (; options && options->name; options++)
        neo_buf_printf(out, "--%s ", options->name);
}

static int expects_file(const neo_ctl_command *command)
{
    for (const neo_ctl_parameter *p = command->arguments; p && p->name; p++)
        if (is_path(p))
            return 1;
    return 0;
}

/* What may follow a whole command. */
static void put_command(neo_buf *out, const neo_ctl_command *command)
{
    neo_buf_printf(out, "        '%s/%s'*) %swords=\"", command->group, command->verb ? command->verb : "",
                   expects_file(command) ? "[[ $cur == -* ]] || files=yes; " : "");
    put_names(out, command->options);
    put_names(out, neo_ctl_globals);
    neo_buf_puts(out, "\" ;;\n");
}

static apr_size_t word_len(const char *verb)
{
    return strcspn(verb, " ");
}

/* Whether no command of the group before this one begins with the same characters. */
static int is_first_with(const neo_ctl_command *commands, const neo_ctl_command *command, apr_size_t len)
{
    const neo_ctl_command *c = commands;
    while (c < command && (strncmp(c->verb, command->verb, len) != 0 || (c->verb[len] && c->verb[len] != ' ')))
        c++;
    return c == command;
}

/* The words that may follow the beginning of a verb: "", or "number ". */
static void put_verbs(neo_buf *out, const neo_ctl_command *commands, const char *begin)
{
    apr_size_t len = strlen(begin);
    neo_buf_printf(out, "        '%s/%.*s') words=\"", commands->group, len ? (int)len - 1 : 0, begin);
    for (const neo_ctl_command *c = commands; c->group; c++)
        if (strncmp(c->verb, begin, len) == 0 && is_first_with(commands, c, len + word_len(c->verb + len)))
            neo_buf_printf(out, "%.*s ", (int)word_len(c->verb + len), c->verb + len);
    neo_buf_puts(out, "--help\" ;;\n");
}

static void put_group(neo_buf *out, const neo_ctl_command *commands)
{
    if (!commands->verb) {
        put_command(out, commands);
        return;
    }
    put_verbs(out, commands, "");
    for (const neo_ctl_command *c = commands; c->group; c++)
        if (strchr(c->verb, ' ') && is_first_with(commands, c, word_len(c->verb)))
            put_verbs(out, commands, apr_pstrmemdup(out->pool, c->verb, word_len(c->verb) + 1));
    for (const neo_ctl_command *c = commands; c->group; c++)
        put_command(out, c);
}

static neo_ctl_exit run_bash(neo_ctl *ctl)
{
    neo_buf out;
    apr_array_header_t *options = distinct_options(ctl->pool);
    neo_buf_init(&out, ctl->pool, 8192);
    neo_buf_puts(&out, head);
    put_values_pattern(&out, options);
    neo_buf_puts(&out, after_values);
    for (int i = 0; i < options->nelts; i++)
        put_option(&out, APR_ARRAY_IDX(options, i, const neo_ctl_parameter *));
    neo_buf_puts(&out, after_options);
    for (int i = 0; neo_ctl_groups[i]; i++)
        put_group(&out, neo_ctl_groups[i]);
    neo_buf_puts(&out, "        /) words=\"");
    for (int i = 0; neo_ctl_groups[i]; i++)
        neo_buf_printf(&out, "%s ", neo_ctl_groups[i]->group);
    put_names(&out, neo_ctl_globals);
    neo_buf_puts(&out, "\" ;;\n");
    neo_buf_puts(&out, tail);
    fputs(out.ptr, stdout);
    return NEO_CTL_OK;
}

const neo_ctl_command neo_ctl_completion[] = {
    {"completion", "bash", "Write a completion script for bash.",
     "Where bash looks for it: neoapictl completion bash > /usr/share/bash-completion/completions/neoapictl\n"
     "In one shell alone: source <(neoapictl completion bash)",
     NULL, NULL, run_bash, NULL, 0},
    {0},
};
