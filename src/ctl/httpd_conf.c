/* Parses httpd's configuration (see ctl/httpd_conf.h). */
#include "ctl/httpd_conf.h"

#include <apr_strings.h>
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/secrets.h"

#define MAX_DEPTH      20 /* of nested includes */
#define MAX_DIRECTIVES 100000
#define MAX_BYTES      (1 << 20) /* of a file */
#define MAX_BYTES_READ (1 << 25) /* of all files; one that is included twice counts twice */
#define BLANKS         " \t\r"

/* ---------------------------------------------------------------- words */

const char *neo_httpd_conf_argument(const neo_httpd_directive *directive, apr_pool_t *pool)
{
    const char *args = directive->args;
    if (*args == '"' || *args == '\'')
        return apr_pstrmemdup(pool, args + 1, strcspn(args + 1, apr_pstrmemdup(pool, args, 1)));
    return apr_pstrmemdup(pool, args, strcspn(args, BLANKS));
}

const char *neo_httpd_conf_path(const neo_httpd_conf *conf, const char *argument, apr_pool_t *pool)
{
    if (strstr(argument, "${") || !*argument)
        return NULL;
    return *argument == '/' ? argument : apr_pstrcat(pool, conf->dir, "/", argument, NULL);
}

/* httpd compares words without regard to case. */
static int has_word(const char *args, const char *word)
{
    size_t len = strlen(word);
    for (args += strspn(args, BLANKS "\"'"); *args; args += strspn(args, BLANKS "\"'")) {
        size_t here = strcspn(args, BLANKS "\"'");
        if (here == len && strncasecmp(args, word, len) == 0)
            return 1;
        args += here;
    }
    return 0;
}

const neo_httpd_directive *neo_httpd_conf_next(const neo_httpd_conf *conf, const neo_httpd_directive *before, const char *name,
                                               const char *word)
{
    const neo_httpd_directive *all = (const neo_httpd_directive *)conf->directives->elts;
    for (const neo_httpd_directive *d = before ? before + 1 : all; d < all + conf->directives->nelts; d++)
        if (strcasecmp(d->name, name) == 0 && (!word || has_word(d->args, word)))
            return d;
    return NULL;
}

static neo_httpd_conf *make_conf(const char *dir, apr_pool_t *pool)
{
    neo_httpd_conf *conf = apr_pcalloc(pool, sizeof *conf);
    conf->dir = dir;
    conf->directives = apr_array_make(pool, 64, sizeof(neo_httpd_directive));
    return conf;
}

neo_httpd_conf *neo_httpd_conf_of(const neo_httpd_conf *conf, const char *name, const char *word, apr_pool_t *pool)
{
    neo_httpd_conf *of = make_conf(conf->dir, pool);
    const char *file = NULL; /* already copied; the directives of a file are contiguous */
    of->read_error = conf->read_error;
    for (const neo_httpd_directive *d = NULL; (d = neo_httpd_conf_next(conf, d, name, word));) {
        if (file && strcmp(file, d->file) == 0)
            continue;
        file = d->file;
        for (int i = 0; i < conf->directives->nelts; i++)
            if (strcmp(APR_ARRAY_IDX(conf->directives, i, neo_httpd_directive).file, file) == 0)
                APR_ARRAY_PUSH(of->directives, neo_httpd_directive) = APR_ARRAY_IDX(conf->directives, i, neo_httpd_directive);
    }
    return file ? of : NULL;
}

/* ---------------------------------------------------------------- files */

/* A file that is being read, and the file that includes it. */
typedef struct reading {
    const char *file;
    const struct reading *above;
    int depth;
} reading;

static void read_file(neo_httpd_conf *conf, const char *file, const reading *above, apr_pool_t *pool);

static int is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* An unreadable directory is not an empty one. */
static void note_unreadable(neo_httpd_conf *conf, const char *pattern, apr_pool_t *pool)
{
    const char *slash = strrchr(pattern, '/'), *dir = apr_pstrmemdup(pool, pattern, (apr_size_t)(slash - pattern) + 1);
    if (access(dir, R_OK | X_OK) != 0 && errno == EACCES && !conf->read_error)
        conf->read_error = apr_psprintf(pool, "%s cannot be read: %s", dir, strerror(errno));
}

/* A file, a pattern, or a directory with its subdirectories. */
static void include_path(neo_httpd_conf *conf, const char *path, const reading *here, int depth, apr_pool_t *pool)
{
    glob_t found;
    if (is_directory(path))
        path = apr_pstrcat(pool, path, path[strlen(path) - 1] == '/' ? "*" : "/*", NULL);
    if (glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !conf->read_error; i++)
            if (!is_directory(found.gl_pathv[i]))
                read_file(conf, apr_pstrdup(pool, found.gl_pathv[i]), here, pool);
            else if (depth < MAX_DEPTH)
                include_path(conf, apr_pstrdup(pool, found.gl_pathv[i]), here, depth + 1, pool);
        globfree(&found);
    } else
        note_unreadable(conf, path, pool);
}

static void include(neo_httpd_conf *conf, const neo_httpd_directive *directive, const reading *here, apr_pool_t *pool)
{
    const char *argument = neo_httpd_conf_argument(directive, pool), *path = neo_httpd_conf_path(conf, argument, pool);
    if (path)
        include_path(conf, path, here, 0, pool);
    else if (*argument)
        conf->unresolved = apr_psprintf(pool, "%s includes %s, which only httpd can resolve", directive->file, argument);
}

static void add_line(neo_httpd_conf *conf, const reading *here, char *line, apr_pool_t *pool)
{
    line += strspn(line, BLANKS);
    size_t len = strcspn(line, BLANKS), end = strlen(line);
    if (!*line || *line == '#' || *line == '<')
        return;
    if (conf->directives->nelts == MAX_DIRECTIVES) {
        conf->read_error = "httpd's configuration is too long to be read";
        return;
    }
    while (end && strchr(BLANKS, line[end - 1]))
        line[--end] = '\0';
    const neo_httpd_directive directive = {here->file, apr_pstrmemdup(pool, line, len),
                                           line + len + strspn(line + len, BLANKS)};
    APR_ARRAY_PUSH(conf->directives, neo_httpd_directive) = directive;
    if (strcasecmp(directive.name, "ServerRoot") == 0) {
        const char *root = neo_httpd_conf_argument(&directive, pool);
        conf->dir = *root == '/' ? root : conf->dir;
    } else if (strcasecmp(directive.name, "Include") == 0 || strcasecmp(directive.name, "IncludeOptional") == 0)
        include(conf, &directive, here, pool);
}

static void add_lines(neo_httpd_conf *conf, const reading *here, char *text, apr_pool_t *pool)
{
    char *line;
    while ((line = strsep(&text, "\n"))) {
        size_t len = strlen(line);
        while (text && len && line[len - 1] == '\\') {
            line[len - 1] = ' ';
            line[len] = ' '; /* was the line break */
            (void)strsep(&text, "\n");
            len = strlen(line);
        }
        add_line(conf, here, line, pool);
    }
}

/* Whether a file includes itself, directly or not; httpd rejects that. */
static int is_being_read(const char *file, const reading *above)
{
    while (above && strcmp(above->file, file) != 0)
        above = above->above;
    return above != NULL;
}

static void read_file(neo_httpd_conf *conf, const char *file, const reading *above, apr_pool_t *pool)
{
    const reading here = {file, above, above ? above->depth + 1 : 0};
    struct stat info;
    neo_text text = {0};
    if (conf->read_error || here.depth == MAX_DEPTH || is_being_read(file, above))
        return;
    if (stat(file, &info) != 0 ? errno == ENOENT : !S_ISREG(info.st_mode))
        return; /* a dangling link, or a pipe, which would block */
    conf->read_error = neo_ctl_read_all(file, MAX_BYTES, pool, &text);
    conf->bytes += text.len;
    if (!conf->read_error && conf->bytes > MAX_BYTES_READ)
        conf->read_error = "httpd's configuration is too long to be read";
    if (!conf->read_error)
        add_lines(conf, &here, apr_pstrmemdup(pool, text.ptr, text.len), pool);
}

neo_httpd_conf *neo_httpd_conf_read(const char *dir, apr_pool_t *pool)
{
    const char *file = apr_pstrcat(pool, dir, "/apache2.conf", NULL);
    if (access(file, F_OK) != 0 || !is_directory(apr_pstrcat(pool, dir, "/mods-enabled", NULL)) ||
        !is_directory(apr_pstrcat(pool, dir, "/sites-enabled", NULL)))
        return NULL;
    neo_httpd_conf *conf = make_conf(dir, pool);
    read_file(conf, file, NULL, pool);
    return conf;
}

neo_httpd_conf *neo_httpd_conf_read_file(const char *dir, const char *file, apr_pool_t *pool)
{
    neo_httpd_conf *conf = make_conf(dir, pool);
    read_file(conf, file, NULL, pool);
    return conf;
}
