/* What the files of `doctor` share: what was found out so far, and what a check answers. */
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
    const char *runtime; /* NULL until the schema told it */
    int version;
    const char *key_file, *httpd_dir;
    neo_keys keys;         /* none until the key file is well */
    neo_httpd_conf *httpd; /* what is enabled; NULL where it was not looked at */
    const char *site_file; /* that says NeoAPI On, enabled or yet to be, NULL for none; and what it says: */
    neo_httpd_conf *site;
    const char *fix; /* what a check says in the place of what its row says; NULL for nothing */
} neo_doctor_context;

/* What became of a check. */
typedef enum neo_finding {
    NEO_FINDING_FAILED,
    NEO_FINDING_OK,
    NEO_FINDING_PENDING, /* nothing is wrong, and something is still to be done */
    NEO_FINDING_SKIPPED, /* it could not be looked at */
    NEO_FINDINGS
} neo_finding;

/* Where httpd's configuration is laid out as Debian does it, the rest of what is to be done there. *found says what was found.
 */
void neo_doctor_read_httpd(neo_doctor_context *doctor);
int neo_doctor_is_enabled(const neo_doctor_context *doctor); /* something that is enabled says NeoAPI On */
neo_finding neo_doctor_check_name(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_certificate(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_modules(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_site(neo_doctor_context *doctor, const char **found);

#endif
