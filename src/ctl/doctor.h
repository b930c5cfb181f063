/* The state and the results of the checks of `doctor`. */
#ifndef NEO_CTL_DOCTOR_H
#define NEO_CTL_DOCTOR_H

#include "core/secret.h"
#include "ctl/command.h"
#include "ctl/httpd_conf.h"

#define NEO_DOCTOR_KEY_FILE "/etc/neoapi/key"

typedef struct neo_doctor_context {
    const neo_ctl *ctl;
    apr_pool_t *pool;
    neo_pg *pg;          /* NULL until there is a connection */
    const char *runtime; /* NULL until it was read from the schema */
    int version;
    const char *key_file, *httpd_dir;
    neo_keys keys;         /* none until the key file was read */
    neo_httpd_conf *httpd; /* what is enabled; NULL without Debian's layout */
    const char *site_file; /* the file with NeoAPI On, enabled or available; NULL for none */
    neo_httpd_conf *site;  /* its directives */
    const char *fix;       /* replaces the fix of the check's row, or NULL */
} neo_doctor_context;

typedef enum neo_finding {
    NEO_FINDING_FAILED,
    NEO_FINDING_OK,
    NEO_FINDING_PENDING, /* not an error: a step of the installation is left */
    NEO_FINDING_SKIPPED, /* it could not be checked */
    NEO_FINDINGS
} neo_finding;

/* Checks of httpd's configuration, if it has Debian's layout. *found is set to a sentence. */
void neo_doctor_read_httpd(neo_doctor_context *doctor);
int neo_doctor_is_enabled(const neo_doctor_context *doctor); /* NeoAPI On is in an enabled file */
neo_finding neo_doctor_check_name(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_certificate(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_modules(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_site(neo_doctor_context *doctor, const char **found);

#endif
