/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for the options of setup and site create on a terminal, and runs both (see ctl/setup.h). */
#include "ctl/setup.h"

#include <apr_strings.h>
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/output.h"
#include "ctl/session.h"

#define SITE        "/etc/apache2/sites-available/neoapi.conf"
#define KEY_FOLDER  "/etc/neoapi"
#define KEY_FILE    KEY_FOLDER "/key"
#define KEY_COMMAND "(set -C && umask 077 && openssl rand -base64 32 >" KEY_FILE ")"
#define SELF        "neoapictl" /* the first argument of commands that this program executes itself */

#define MAX_STEPS 3
#define MAX_WORDS 16

/* A command. It is printed as a command line of the shell, and executed without one. */
typedef struct {
    const char *purpose;
    const char *user; /* the user to run it as; NULL: this one */
    const char *words[MAX_WORDS];
    int count;
} step;

typedef struct {
    neo_ctl *ctl;
    apr_pool_t *pool;
    step steps[MAX_STEPS];
    int count;
    int is_over;           /* the input has ended */
    int is_sites_database; /* the database is that of the site's template */
} dialog;

int neo_ctl_setup_must_ask(const neo_ctl *ctl)
{
    for (int i = 0; i < ctl->given->nelts; i++)
        for (const neo_parameter *option = ctl->command->options; option->name; option++)
            if (APR_ARRAY_IDX(ctl->given, i, neo_ctl_given).parameter == option)
                return 0;
    return !ctl->json && !ctl->quiet && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* ---------------------------------------------------------------- questions */

/* Ends the program here: a flag that is set between a prompt and the read would not be seen before the next line. */
static void stop(int number)
{
    static const char text[] = "\nneoapictl: nothing was changed\n";
    (void)number;
    _exit(write(STDERR_FILENO, text, sizeof text - 1) < 0 ? 127 : NEO_CTL_FAILED);
}

/* Reads a line. Returns NULL at the end of the input. */
static const char *read_line(dialog *d, const char *prompt)
{
    char line[1024];
    fputs(prompt, stdout);
    fflush(stdout);
    if (d->is_over || !fgets(line, sizeof line, stdin)) {
        d->is_over = 1;
        return NULL;
    }
    line[strcspn(line, "\r\n")] = '\0';
    return apr_pstrdup(d->pool, line);
}

/* Asks until the answer is valid. An empty one is the default value; "-" is none, and so is an empty one without a default. */
static const char *ask(dialog *d, const char *question, neo_parameter_kind kind, const char *default_value, int is_optional)
{
    const char *line, *prompt = apr_pstrcat(d->pool, question, default_value ? " [" : "", default_value ? default_value : "",
                                            default_value ? "]: " : ": ", NULL);
    while ((line = read_line(d, prompt))) {
        if (!*line && default_value)
            return default_value;
        if (is_optional && (!*line || strcmp(line, "-") == 0))
            return NULL;
        const char *error = neo_ctl_value_check(kind, line, d->pool);
        if (!error && kind == NEO_KIND_FILE && access(line, R_OK) != 0)
            error = strerror(errno);
        if (!error)
            return line;
        printf("  \"%s\": %s\n", neo_ctl_one_line(line, d->pool), error);
    }
    return NULL;
}

/* The host's full name, or NULL. */
static const char *default_host(apr_pool_t *pool)
{
    char name[256];
    struct addrinfo hints = {.ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM}, *found = NULL;
    const char *host = NULL;
    if (gethostname(name, sizeof name) == 0 && getaddrinfo(name, NULL, &hints, &found) == 0) {
        if (found->ai_canonname && strchr(found->ai_canonname, '.') &&
            !neo_ctl_value_check(NEO_KIND_HOST, found->ai_canonname, pool))
            host = apr_pstrdup(pool, found->ai_canonname);
        freeaddrinfo(found);
    }
    return host;
}

/* ---------------------------------------------------------------- commands */

static step *add_step(dialog *d, const char *purpose, const char *user)
{
    step *s = &d->steps[d->count++];
    *s = (step){.purpose = purpose, .user = user};
    return s;
}

static void add_word(step *s, const char *word)
{
    if (s->count < MAX_WORDS - 1)
        s->words[s->count++] = word;
}

static void add_option(step *s, const char *option, const char *value)
{
    if (value) {
        add_word(s, option);
        add_word(s, value);
    }
}

/* The word as the shell takes it. */
static const char *quoted(const char *word, apr_pool_t *pool)
{
    neo_buf out;
    if (*word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@,+") == strlen(word))
        return word;
    neo_buf_init(&out, pool, strlen(word) + 16);
    neo_buf_putc(&out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            neo_buf_puts(&out, "'\\''");
        else
            neo_buf_putc(&out, *word);
    neo_buf_putc(&out, '\'');
    return out.ptr;
}

static const char *command_line(const step *s, apr_pool_t *pool)
{
    const char *line = s->user ? apr_pstrcat(pool, "runuser -u ", s->user, " -- ", NULL) : "";
    if (strcmp(s->words[0], SELF) != 0)
        return s->words[s->count - 1]; /* the script of sh -c */
    for (int i = 0; i < s->count; i++)
        line = apr_pstrcat(pool, line, i ? " " : "", quoted(s->words[i], pool), NULL);
    return line;
}

static int run_as(const char *user)
{
    const struct passwd *entry = getpwnam(user);
    return entry && initgroups(user, entry->pw_gid) == 0 && setgid(entry->pw_gid) == 0 && setuid(entry->pw_uid) == 0 &&
           setenv("HOME", entry->pw_dir, 1) == 0 && chdir("/") == 0;
}

/* Returns the exit status, or -1 if Ctrl-C ended the command, which then has changed nothing. */
static int run_step(const step *s, int is_interruptible)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGINT, is_interruptible ? SIG_DFL : SIG_IGN);
        if (!s->user || run_as(s->user))
            execv(strcmp(s->words[0], SELF) == 0 ? "/proc/self/exe" : s->words[0], (char *const *)(uintptr_t)s->words);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    if (child > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
        return -1;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

/* ---------------------------------------------------------------- the dialog */

/* Without another connection given, PostgreSQL is this host's, and identifies roles by users: httpd's, and root's. */
static void ask_for_database(dialog *d)
{
    const char *given = neo_ctl_value(d->ctl, "database");
    int is_local = strcmp(neo_ctl_conninfo(d->ctl), "dbname=neoapi") == 0, is_root = geteuid() == 0;
    step *s =
        add_step(d, "the roles, the database and its schema", is_local && is_root && getpwnam("postgres") ? "postgres" : NULL);
    const char *name = ask(d, "Name of the database", NEO_KIND_IDENTIFIER, "neoapi", 0);
    const char *tenant =
        ask(d, "Name of the first tenant, which gets an organization and an API key (empty: none)", NEO_KIND_NAME, NULL, 1);
    if (d->is_over)
        return;
    d->is_sites_database = is_local && strcmp(name, "neoapi") == 0;
    add_word(s, SELF);
    add_option(s, "--database", given);
    add_word(s, "setup");
    add_option(s, "--database-name", strcmp(name, "neoapi") == 0 ? NULL : name);
    add_option(s, "--runtime-role", is_local && getpwnam("www-data") ? "www-data" : "neoapi");
    add_option(s, "--admin-role", s->user ? "root" : NULL);
    add_option(s, "--tenant", tenant);
}

static void add_key(dialog *d)
{
    if (geteuid() != 0 || access(KEY_FOLDER, W_OK) != 0 || access(KEY_FILE, F_OK) == 0)
        return;
    step *s = add_step(d, "the deployment's encryption key, " KEY_FILE, NULL);
    add_word(s, "/bin/sh");
    add_word(s, "-c");
    add_word(s, KEY_COMMAND);
}

static void ask_for_certificate(dialog *d, step *s)
{
    const char *kind;
    puts("Certificate:\n  1  a new self-signed one, for a trial\n  2  an existing one\n"
         "  3  one that mod_md orders and renews, by default from Let's Encrypt, whose terms you accept");
    while ((kind = ask(d, "Number", NEO_KIND_COUNT, "1", 0)) && (strlen(kind) != 1 || *kind > '3'))
        ;
    if (kind && *kind == '1')
        add_word(s, "--self-signed");
    if (kind && *kind == '2') {
        add_option(s, "--certificate", ask(d, "File with the certificate and its chain", NEO_KIND_FILE, NULL, 0));
        add_option(s, "--key", ask(d, "File with its key", NEO_KIND_FILE, NULL, 0));
    }
    if (kind && *kind == '3')
        add_option(s, "--acme", ask(d, "Address for the authority's messages", NEO_KIND_EMAIL, NULL, 0));
}

/* Debian's Apache only, as in site create, and only for the database that its template has. */
static void ask_for_site(dialog *d)
{
    if (d->is_over || geteuid() != 0 || access("/usr/sbin/a2ensite", X_OK) != 0 || access(KEY_FOLDER, W_OK) != 0)
        return;
    if (access(SITE, F_OK) == 0) {
        puts("The site " SITE " exists and is not changed.");
        return;
    }
    if (!d->is_sites_database) {
        puts("Afterwards run neoapictl site create NAME, and set this database in DBDParams of " SITE ".");
        return;
    }
    const char *name =
        ask(d, "Name of the site, the host name that clients use (-: no site)", NEO_KIND_HOST, default_host(d->pool), 1);
    if (!name)
        return;
    step *s = add_step(d, "Apache's virtual host, enabled", NULL);
    add_word(s, SELF);
    add_word(s, "site");
    add_word(s, "create");
    add_word(s, name);
    ask_for_certificate(d, s);
}

static void show_steps(const dialog *d, int first, const char *title)
{
    printf("\n%s\n\n", title);
    for (int i = first; i < d->count; i++)
        printf("    %s%s\n", command_line(&d->steps[i], d->pool), i + 1 < d->count ? " &&" : "");
    puts("");
}

static int is_confirmed(dialog *d)
{
    puts("\nThis will be set up:\n");
    for (int i = 0; i < d->count; i++)
        printf("  %d. %s\n", i + 1, d->steps[i].purpose);
    show_steps(d, 0, "by these commands:");
    const char *answer = read_line(d, "Continue? [y/N]: ");
    return answer && (strcmp(answer, "y") == 0 || strcmp(answer, "yes") == 0);
}

neo_ctl_exit neo_ctl_setup_ask(neo_ctl *ctl)
{
    dialog d = {.ctl = ctl, .pool = ctl->pool};
    signal(SIGINT, stop);
    puts("Press Enter for the value in brackets. Nothing is changed before you confirm it; Ctrl-C ends this.\n");
    ask_for_database(&d);
    add_key(&d);
    ask_for_site(&d);
    if (d.is_over || !is_confirmed(&d)) {
        if (d.is_over)
            puts("");
        return neo_ctl_fail(ctl, "nothing was changed");
    }
    signal(SIGINT, SIG_IGN);
    for (int i = 0; i < d.count; i++) {
        int status = run_step(&d.steps[i], i == 0);
        if (status < 0)
            return neo_ctl_fail(ctl, "nothing was changed");
        if (status) {
            show_steps(&d, i, "Correct the cause of this failure. What is left to do:");
            return neo_ctl_fail(ctl, "step %d of %d failed", i + 1, d.count);
        }
    }
    show_steps(&d, 0, "The same without questions:");
    puts("Check the installation with: neoapictl doctor");
    return NEO_CTL_OK;
}
