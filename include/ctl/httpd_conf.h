/* Reads the directives of httpd's configuration, if it has Debian's layout. The files are parsed as text: sections such as
 * <IfModule> and <IfDefine> are always taken to apply. */
#ifndef NEO_CTL_HTTPD_CONF_H
#define NEO_CTL_HTTPD_CONF_H

#include <apr_tables.h>

typedef struct neo_httpd_directive {
    const char *file, *name, *args;
} neo_httpd_directive;

typedef struct neo_httpd_conf {
    const char *dir;
    apr_array_header_t *directives; /* of neo_httpd_directive, without section tags */
    const char *read_error;         /* or NULL */
    const char *unresolved;         /* names an Include whose path has a variable, which only httpd can expand; NULL for none */
    apr_size_t bytes;               /* that were read */
} neo_httpd_conf;

/* Reads apache2.conf and the files that it includes. Returns NULL if the directory does not have Debian's layout. */
neo_httpd_conf *neo_httpd_conf_read(const char *dir, apr_pool_t *pool);

/* Reads one file, included or not. If it does not exist, the result has no directives. */
neo_httpd_conf *neo_httpd_conf_read_file(const char *dir, const char *file, apr_pool_t *pool);

/* The directives of all files that contain the directive `name` with `word` among its arguments (NULL: any). NULL for none. */
neo_httpd_conf *neo_httpd_conf_of(const neo_httpd_conf *conf, const char *name, const char *word, apr_pool_t *pool);

/* The next directive `name` with `word` after `before` (NULL: the first). NULL for none. */
const neo_httpd_directive *neo_httpd_conf_next(const neo_httpd_conf *conf, const neo_httpd_directive *before, const char *name,
                                               const char *word);

/* The first argument without quotes, or "". */
const char *neo_httpd_conf_argument(const neo_httpd_directive *directive, apr_pool_t *pool);

/* An argument as a path, relative to the ServerRoot. NULL if it has a variable. */
const char *neo_httpd_conf_path(const neo_httpd_conf *conf, const char *argument, apr_pool_t *pool);

#endif
