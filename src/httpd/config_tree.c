/* SPDX-License-Identifier: Apache-2.0 */
/* Finds directives of other modules, which do not export their settings, in httpd's configuration, and the host's name (see
 * httpd/config.h). */
#include <apr_network_io.h>
#include <apr_strings.h>
#include <http_core.h>
#include <stdlib.h>
#include <string.h>

#include "httpd/config.h"

/* The first directive of that name. */
static const char *value_in(const ap_directive_t *from, const char *name)
{
    for (const ap_directive_t *d = from; d; d = d->next) {
        const char *found = strcasecmp(d->directive, name) == 0 ? d->args : value_in(d->first_child, name);
        if (found)
            return found;
    }
    return NULL;
}

/* The virtual host's section; NULL if it is not found, as for sections that mod_macro creates. */
static const ap_directive_t *find_section(const server_rec *server, const ap_directive_t *from)
{
    for (const ap_directive_t *d = from; d; d = d->next) {
        int is_section = strcasecmp(d->directive, "<VirtualHost") == 0 && d->line_num == (int)server->defn_line_number &&
                         strcmp(d->filename, server->defn_name) == 0;
        const ap_directive_t *found = is_section ? d : find_section(server, d->first_child);
        if (found)
            return found;
    }
    return NULL;
}

/* A directive outside of virtual hosts, or inside this section. */
static const char *directive_beside(const ap_directive_t *from, const char *name)
{
    for (const ap_directive_t *d = from; d; d = d->next) {
        if (strcasecmp(d->directive, "<VirtualHost") == 0)
            continue;
        const char *found = strcasecmp(d->directive, name) == 0 ? d->args : directive_beside(d->first_child, name);
        if (found)
            return found;
    }
    return NULL;
}

const char *neo_config_directive(const server_rec *server, const char *name, apr_pool_t *pool)
{
    const ap_directive_t *section = server->is_virtual ? find_section(server, ap_conftree) : NULL;
    const char *args = section ? directive_beside(section->first_child, name) : NULL;
    if (!args)
        args = directive_beside(ap_conftree, name);
    return args ? ap_getword_conf(pool, &args) : NULL;
}

static int has_dbd_directive(const ap_directive_t *from)
{
    for (const ap_directive_t *d = from; d; d = d->next)
        if (strncasecmp(d->directive, "DBD", 3) == 0 || has_dbd_directive(d->first_child))
            return 1;
    return 0;
}

int neo_config_has_own_database(const server_rec *server)
{
    const ap_directive_t *section = server->is_virtual ? find_section(server, ap_conftree) : NULL;
    return server->is_virtual && (!section || has_dbd_directive(section->first_child));
}

int neo_config_max_connections(const server_rec *server)
{
    const ap_directive_t *section = server->is_virtual ? find_section(server, ap_conftree) : NULL;
    const char *own = section ? value_in(section->first_child, "DBDMax") : NULL;
    const char *max = own ? own : value_in(ap_conftree, "DBDMax");
    return max ? atoi(max) : 10;
}

const char *neo_config_directive_anywhere(const char *name)
{
    return value_in(ap_conftree, name);
}

int neo_config_reserved_connections(void)
{
    return neo_config_directive_anywhere("NeoAPIReadDSN") ? 3 : 2;
}

const char *neo_config_host_name(const server_rec *server, apr_pool_t *pool)
{
    char name[APRMAXHOSTLEN + 1];
    const char *own = neo_get_server_config(server)->host_name;
    return own ? own : apr_gethostname(name, sizeof name, pool) == APR_SUCCESS ? apr_pstrdup(pool, name) : "unknown";
}
