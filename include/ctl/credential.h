/* What `key` and `token` share: showing a secret once, and revoking. */
#ifndef NEO_CTL_CREDENTIAL_H
#define NEO_CTL_CREDENTIAL_H

#include "ctl/command.h"

/* Makes a credential for what was asked for, as neo_admin_make_key and neo_admin_make_token do. */
typedef const char *(*neo_ctl_maker)(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE]);

/* Makes a credential and shows its secret. One whose secret could not be written is not made. */
neo_ctl_exit neo_ctl_create_credential(neo_ctl *ctl, neo_ctl_maker make);

/* Gives the credential that the argument "id" names another secret, shows it, and lets the old one live for --grace. */
neo_ctl_exit neo_ctl_rotate(neo_ctl *ctl);
extern const neo_ctl_parameter neo_ctl_rotate_options[];

/* Revokes the credential that the argument "id" names. */
const char *neo_ctl_revoke(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE]);

#endif
