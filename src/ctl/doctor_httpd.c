/* The checks of `doctor` in httpd's configuration: virtual host, certificate, modules. */
#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"

#define SITE        "sites-available/neoapi.conf"
#define PLACEHOLDER "api.example.com"
#define RESTART     "systemctl restart apache2"

/* The site is the enabled configuration with NeoAPI On, or else the one that the package installed. */
void neo_doctor_read_httpd(neo_doctor_context *p)
{
    p->httpd = neo_httpd_conf_read(p->httpd_dir, p->pool);
    if (!p->httpd)
        return;
    p->site = neo_httpd_conf_of(p->httpd, "NeoAPI", "On", p->pool);
    if (!p->site)
        p->site = neo_httpd_conf_read_file(p->httpd_dir, apr_pstrcat(p->pool, p->httpd_dir, "/" SITE, NULL), p->pool);
    if (!p->httpd->read_error)
        p->httpd->read_error = p->site->read_error;
    if (!p->httpd->read_error && !neo_doctor_is_enabled(p)) /* NeoAPI On may be in a file that only httpd finds */
        p->httpd->read_error = p->httpd->unresolved;
    const neo_httpd_directive *on = neo_httpd_conf_next(p->site, NULL, "NeoAPI", "On");
    p->site_file = on ? on->file : NULL;
}

/* Resolves links: sed -i would replace a link in sites-enabled by a file. */
static const char *real_path(const neo_doctor_context *p, const char *file)
{
    char *path = realpath(file, NULL);
    const char *copy = path ? apr_pstrdup(p->pool, path) : file;
    free(path);
    return copy;
}

int neo_doctor_is_enabled(const neo_doctor_context *p)
{
    return p->httpd && neo_httpd_conf_next(p->httpd, NULL, "NeoAPI", "On") != NULL;
}

static neo_finding skip_without_site(const char **found)
{
    *found = "no virtual host";
    return NEO_FINDING_SKIPPED;
}

neo_finding neo_doctor_check_name(neo_doctor_context *p, const char **found)
{
    if (!p->site_file)
        return skip_without_site(found);
    for (int i = 0; i < p->site->directives->nelts; i++) {
        const neo_httpd_directive *d = &APR_ARRAY_IDX(p->site->directives, i, neo_httpd_directive);
        if (!strstr(d->args, PLACEHOLDER))
            continue;
        *found = apr_psprintf(p->pool, "%s still contains " PLACEHOLDER, d->file);
        p->fix = apr_psprintf(p->pool, "sed -i \"s/api\\.example\\.com/$(hostname --fqdn)/g\" %s%s", real_path(p, d->file),
                              neo_doctor_is_enabled(p) ? " && " RESTART : "");
        return NEO_FINDING_PENDING;
    }
    const neo_httpd_directive *name = neo_httpd_conf_next(p->site, NULL, "ServerName", NULL);
    *found = name ? apr_psprintf(p->pool, "%s has ServerName %s", p->site_file, neo_httpd_conf_argument(name, p->pool))
                  : p->site_file;
    return NEO_FINDING_OK;
}

static const char *missing_file(const neo_doctor_context *p, const char *directive, const char **file)
{
    for (const neo_httpd_directive *d = NULL; (d = neo_httpd_conf_next(p->site, d, directive, NULL));) {
        const char *path = neo_httpd_conf_path(p->site, neo_httpd_conf_argument(d, p->pool), p->pool);
        if (path && access(path, F_OK) != 0 && errno == ENOENT) {
            *file = d->file;
            return path;
        }
    }
    return NULL;
}

neo_finding neo_doctor_check_certificate(neo_doctor_context *p, const char **found)
{
    static const char *const directives[] = {"SSLCertificateFile", "SSLCertificateKeyFile", "SSLCertificateChainFile"};
    const char *file, *path;
    if (!p->site_file || neo_doctor_check_name(p, found) != NEO_FINDING_OK) {
        *found = "the host name must be set first";
        return NEO_FINDING_SKIPPED;
    }
    for (apr_size_t i = 0; i < sizeof directives / sizeof *directives; i++)
        if ((path = missing_file(p, directives[i], &file))) {
            *found = apr_psprintf(p->pool, "%s does not exist; %s refers to it", path, file);
            p->fix = apr_psprintf(p->pool, "create it, or correct its path in %s", real_path(p, file));
            return NEO_FINDING_PENDING;
        }
    *found = neo_httpd_conf_next(p->site, NULL, directives[0], NULL) ? "all files exist" : "the virtual host has none";
    return NEO_FINDING_OK;
}

/* The module that a directive needs, if it has that word among its arguments. */
static const struct {
    const char *directive, *word, *module;
} needs[] = {
    {"NeoAPI", "On", "neoapi"},
    {"NeoAPI", "On", "dbd"},
    {"SSLEngine", "On", "ssl"},
    {"Protocols", "h2", "http2"},
    {"Protocols", "h2c", "http2"},
    {"Header", NULL, "headers"},
    {"RequestHeader", NULL, "headers"},
    {"RequestReadTimeout", NULL, "reqtimeout"},
    {"AddOutputFilterByType", NULL, "filter"},
    {"AddOutputFilterByType", "DEFLATE", "deflate"},
    {"RemoteIPHeader", NULL, "remoteip"},
    {"MDomain", NULL, "md"},
};

static int is_listed(const apr_array_header_t *list, const char *word)
{
    for (int i = 0; i < list->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(list, i, const char *), word) == 0)
            return 1;
    return 0;
}

static const char *joined(const apr_array_header_t *list, const char *between, apr_pool_t *pool)
{
    const char *text = "";
    for (int i = 0; i < list->nelts; i++)
        text = apr_pstrcat(pool, text, i ? between : "", APR_ARRAY_IDX(list, i, const char *), NULL);
    return text;
}

neo_finding neo_doctor_check_modules(neo_doctor_context *p, const char **found)
{
    apr_array_header_t *needed = apr_array_make(p->pool, 8, sizeof(const char *)), *missing = apr_array_copy(p->pool, needed);
    if (!p->site_file)
        return skip_without_site(found);
    for (apr_size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const char *module = needs[i].module, *name = apr_pstrcat(p->pool, module, "_module", NULL);
        if (!neo_httpd_conf_next(p->site, NULL, needs[i].directive, needs[i].word) || is_listed(needed, module))
            continue;
        APR_ARRAY_PUSH(needed, const char *) = module;
        if (!neo_httpd_conf_next(p->httpd, NULL, "LoadModule", name))
            APR_ARRAY_PUSH(missing, const char *) = module;
    }
    if (missing->nelts && p->httpd->unresolved) {
        *found = p->httpd->unresolved;
        return NEO_FINDING_SKIPPED;
    }
    if (!missing->nelts) {
        *found = apr_psprintf(p->pool, "enabled: %s", joined(needed, ", ", p->pool));
        return NEO_FINDING_OK;
    }
    *found = apr_psprintf(p->pool, "not enabled: %s", joined(missing, ", ", p->pool));
    p->fix =
        apr_psprintf(p->pool, "a2enmod %s%s", joined(missing, " ", p->pool), neo_doctor_is_enabled(p) ? " && " RESTART : "");
    return NEO_FINDING_PENDING;
}

neo_finding neo_doctor_check_site(neo_doctor_context *p, const char **found)
{
    if (!p->site_file) {
        *found = "no enabled file has NeoAPI On, and there is no " SITE;
        p->fix = apr_pstrcat(p->pool, "install the package, or copy conf/neoapi.conf to ", p->httpd_dir, "/" SITE, NULL);
        return NEO_FINDING_PENDING;
    }
    if (neo_doctor_is_enabled(p)) {
        *found = apr_psprintf(p->pool, "%s has NeoAPI On", p->site_file);
        return NEO_FINDING_OK;
    }
    *found = apr_psprintf(p->pool, "%s is not enabled, and no enabled file has NeoAPI On", p->site_file);
    p->fix = "a2ensite neoapi && " RESTART;
    return NEO_FINDING_PENDING;
}
