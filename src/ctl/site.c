/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl site: creates httpd's virtual host on Debian, with site.sh. */
#include <apr_strings.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/output.h"

extern const char neo_site_script[], neo_site_template[]; /* generated from site.sh and conf/neoapi.conf */

/* Runs the script with at most two arguments after its kind. It prints its own errors. Returns its exit status. */
static int run_script(const char *name, const char *kind, const char *first, const char *second)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        setenv("NEOAPI_SITE_TEMPLATE", neo_site_template, 1);
        execl("/bin/sh", "sh", "-c", neo_site_script, "neoapictl", name, kind, first, first ? second : NULL, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static neo_ctl_exit create_site(neo_ctl *ctl)
{
    const char *name = neo_ctl_value(ctl, "name"), *email = neo_ctl_value(ctl, "acme");
    const char *certificate = neo_ctl_value(ctl, "certificate"), *key = neo_ctl_value(ctl, "key");
    int is_self_signed = neo_ctl_value(ctl, "self-signed") != NULL;
    if (!certificate != !key)
        return neo_ctl_usage_error(ctl, "--certificate and --key are used together");
    if (is_self_signed + (certificate != NULL) + (email != NULL) != 1)
        return neo_ctl_usage_error(ctl, "choose one certificate: --self-signed, --certificate with --key, or --acme");
    const char *kind = is_self_signed ? "self-signed" : email ? "acme" : "files";
    int status = run_script(name, kind, email ? email : certificate, key);
    if (status < 0 || status == 127)
        return neo_ctl_fail(ctl, "/bin/sh cannot be run");
    if (status)
        return NEO_CTL_FAILED;
    const char *base_url = apr_pstrcat(ctl->pool, "https://", name, "/public/v1/", NULL);
    return neo_ctl_finish(ctl, NULL,
                          neo_ctl_object(ctl, "site", "/etc/apache2/sites-available/neoapi.conf", "base_url", base_url, "ca",
                                         "/etc/neoapi/ca.pem", NULL));
}

static const neo_parameter arguments[] = {
    {"name", NEO_KIND_HOST, 0, NULL, "the host name that clients use"},
    {0},
};

static const neo_parameter options[] = {
    {"self-signed", NEO_KIND_FLAG, 0, NULL, "create a self-signed certificate, for a trial"},
    {"certificate", NEO_KIND_FILE, 0, NULL, "an existing certificate for the name, with its chain, in PEM format"},
    {"key", NEO_KIND_FILE, 0, NULL, "the key of the certificate, in PEM format"},
    {"acme", NEO_KIND_EMAIL, 0, NULL,
     "let mod_md order and renew the certificate, by default from Let's Encrypt, whose terms you accept; the address is for "
     "the authority's messages. Port 80 or 443 must be reachable from the internet"},
    {0},
};

const neo_ctl_command neo_ctl_site[] = {
    {"site", "create", "Create httpd's virtual host from a template and enable it (Debian).",
     "Run it as root. It checks the certificate, the ports and httpd's configuration, writes "
     "/etc/apache2/sites-available/neoapi.conf, enables the modules that it needs, and reloads httpd. "
     "If anything fails, everything is undone. If Debian's default site is unused and would answer http://NAME, it is "
     "disabled; another one that would is named in a warning. "
     "The site is yours to edit afterwards; upgrades do not change it. "
     "It creates one site; the example several-hosts.conf shows how to serve a second name. "
     "/etc/neoapi/ca.pem is what curl --cacert needs on this host.",
     arguments, options, create_site, NULL, 0},
    {0},
};
