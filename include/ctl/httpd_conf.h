/* What httpd's configuration says, read as text where it is laid out as Debian does it. No program of httpd's is run and
 * nothing is changed; what stands in sections for a module or a parameter counts as if it stood there always. */
#ifndef NEO_CTL_HTTPD_CONF_H
#define NEO_CTL_HTTPD_CONF_H

#include <apr_tables.h>

typedef struct neo_httpd_directive {
    const char *file, *name, *args;
} neo_httpd_directive;

typedef struct neo_httpd_conf {
    const char *dir;
    apr_array_header_t *directives; /* of neo_httpd_directive, those that start or end a section left out */
    const char *unread;             /* what could not be read, and why; NULL where everything was */
    const char *hidden; /* what is included by a name with a variable in it, which only httpd knows; NULL for nothing */
    apr_size_t bytes;   /* that were read */
} neo_httpd_conf;

/* Reads apache2.conf and whatever it includes. NULL where the folder is not laid out so. */
neo_httpd_conf *neo_httpd_conf_read(const char *dir, apr_pool_t *pool);

/* Reads one file that need not be included by any, nor be there. */
neo_httpd_conf *neo_httpd_conf_read_file(const char *dir, const char *file, apr_pool_t *pool);

/* What the files say that have this directive with this word among its arguments (NULL: with any); NULL where none has. */
neo_httpd_conf *neo_httpd_conf_of(const neo_httpd_conf *conf, const char *name, const char *word, apr_pool_t *pool);

/* The next directive of that name behind `before` (NULL: the first), with that word; NULL where there is none. */
const neo_httpd_directive *neo_httpd_conf_next(const neo_httpd_conf *conf, const neo_httpd_directive *before, const char *name,
                                               const char *word);

/* The first argument, without quotes; "" where there is none. */
const char *neo_httpd_conf_argument(const neo_httpd_directive *directive, apr_pool_t *pool);

/* The file that an argument names, seen from where httpd is. NULL where a variable hides it. */
const char *neo_httpd_conf_path(const neo_httpd_conf *conf, const char *argument, apr_pool_t *pool);

#endif
