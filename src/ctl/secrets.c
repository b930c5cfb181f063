/* SPDX-License-Identifier: Apache-2.0 */
/* Reads secrets from a file, standard input or the terminal (see ctl/secrets.h). */
#include "ctl/secrets.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define MAX_BYTES 1048576
#define MAX_VALUE 900

const char *neo_ctl_read_all(const char *path, apr_size_t max, apr_pool_t *pool, neo_text *text)
{
    int is_input = strcmp(path, "-") == 0, fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    neo_buf out;
    char piece[65536];
    ssize_t got = 0;
    if (fd < 0)
        return apr_psprintf(pool, "%s cannot be read: %s", path, strerror(errno));
    neo_buf_init(&out, pool, sizeof piece);
    while ((got = read(fd, piece, sizeof piece)) > 0 && out.len + (apr_size_t)got <= max)
        neo_buf_add(&out, piece, (apr_size_t)got);
    int cause = errno;
    if (!is_input)
        close(fd);
    *text = neo_buf_text(&out);
    if (got < 0)
        return apr_psprintf(pool, "%s cannot be read: %s", path, strerror(cause));
    return got > 0 ? apr_psprintf(pool, "%s is larger than %ld bytes", path, (long)max) : NULL;
}

/* ---------------------------------------------------------------- from a file */

static const char *check_value(const neo_ctl_secret *secret, apr_pool_t *pool)
{
    for (const char *c = secret->value; *c; c++)
        if (*c < ' ' || *c >= 0x7F || (*c == ' ' && !secret->may_have_blanks))
            return apr_psprintf(pool, "the %s has blanks or invalid characters", secret->name);
    if (strlen(secret->value) > MAX_VALUE)
        return apr_psprintf(pool, "the %s has more than %d characters", secret->name, MAX_VALUE);
    return NULL;
}

/* The secret that a line "name=value" sets, or NULL. */
static neo_ctl_secret *find_secret(neo_ctl_secret *secrets, const char *line)
{
    size_t len = strcspn(line, "=");
    for (; secrets->name; secrets++)
        if (line[len] && strlen(secrets->name) == len && strncmp(secrets->name, line, len) == 0)
            return secrets;
    return NULL;
}

static const char *join_secret_names(const neo_ctl_secret *secrets, apr_pool_t *pool)
{
    const char *names = "";
    for (const neo_ctl_secret *s = secrets; s->name; s++)
        names = apr_pstrcat(pool, names, s == secrets ? "" : s[1].name ? ", " : " or ", s->name, NULL);
    return names;
}

/* ", not NAME" if the line has another name. Other text is not shown, because it may be a secret. */
static const char *unknown_name_in(const char *line, apr_pool_t *pool)
{
    int len = (int)strspn(line, "abcdefghijklmnopqrstuvwxyz_");
    return line[len] == '=' && len > 0 && len <= 20 ? apr_psprintf(pool, ", not %.*s", len, line) : "";
}

static const char *read_lines(neo_ctl_secret *secrets, const char *path, apr_pool_t *pool)
{
    neo_text text;
    const char *error = neo_ctl_read_all(path, MAX_BYTES, pool, &text), *shown = strcmp(path, "-") ? path : "standard input";
    if (error)
        return error;
    char *rest = apr_pstrmemdup(pool, text.ptr, text.len), *line;
    for (int number = 1; (line = strsep(&rest, "\n")); number++) {
        line[strcspn(line, "\r")] = '\0';
        if (!*line || *line == '#')
            continue;
        neo_ctl_secret *secret = find_secret(secrets, line);
        if (!secret)
            return apr_psprintf(pool, "%s, line %d: must be %s, an equals sign and the value%s", shown, number,
                                join_secret_names(secrets, pool), unknown_name_in(line, pool));
        if (secret->value)
            return apr_psprintf(pool, "%s, line %d: %s is given twice", shown, number, secret->name);
        secret->value = line + strlen(secret->name) + 1;
    }
    return NULL;
}

/* ---------------------------------------------------------------- from the terminal */

static const char *prompt(neo_ctl_secret *secret, apr_pool_t *pool)
{
    struct termios before, quiet;
    char line[MAX_VALUE + 2];
    fprintf(stderr, "%s%s: ", secret->prompt, secret->is_needed ? "" : " (optional)");
    fflush(stderr);
    int is_quiet = tcgetattr(STDIN_FILENO, &before) == 0;
    if (is_quiet) {
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    const char *got = fgets(line, sizeof line, stdin);
    if (is_quiet)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    fputc('\n', stderr);
    if (!got)
        return "nothing was entered";
    line[strcspn(line, "\r\n")] = '\0';
    secret->value = *line ? apr_pstrdup(pool, line) : NULL;
    explicit_bzero(line, sizeof line);
    return NULL;
}

const char *neo_ctl_read_secrets(const neo_ctl *ctl, neo_ctl_secret *secrets)
{
    const char *path = neo_ctl_value(ctl, "secrets"), *error = NULL;
    if (path || !isatty(STDIN_FILENO))
        error = read_lines(secrets, path ? path : "-", ctl->pool);
    else
        for (neo_ctl_secret *s = secrets; s->name && !error; s++)
            error = prompt(s, ctl->pool);
    for (neo_ctl_secret *s = secrets; s->name && !error; s++) {
        if (s->value && !*s->value)
            s->value = NULL;
        if (s->value)
            error = check_value(s, ctl->pool);
        else if (s->is_needed)
            error = apr_psprintf(ctl->pool, "the %s is missing; use --secrets with a file that has a line %s=...", s->name,
                                 s->name);
    }
    return error;
}
