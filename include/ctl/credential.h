/* SPDX-License-Identifier: Apache-2.0 */
/* Creating, rotating and revoking credentials, for `key` and `token`. */
#ifndef NEO_CTL_CREDENTIAL_H
#define NEO_CTL_CREDENTIAL_H

#include "ctl/command.h"

/* Creates a credential of the command's noun and prints its secret. If the secret cannot be printed, nothing is created. */
neo_ctl_exit neo_ctl_create_credential(neo_ctl *ctl);

/* Gives the credential in the argument "id" a new secret and prints it. The old one stays valid for --grace seconds. */
neo_ctl_exit neo_ctl_rotate(neo_ctl *ctl);
extern const neo_ctl_parameter neo_ctl_rotate_options[];

#define NEO_CTL_DOC_UNCONFIRMED                                                                                                \
    "Waits until every server has confirmed it, for at most three seconds. Then nothing is in progress with it any more. If "  \
    "one has not, the exit status is 4: it is revoked, but that server may accept it, or execute a write that it has begun, "  \
    "for 15 seconds more."

/* Revokes the credential in the argument "id". */
neo_ctl_exit neo_ctl_revoke(neo_ctl *ctl);

#endif
