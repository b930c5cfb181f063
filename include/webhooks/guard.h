/* SPDX-License-Identifier: Apache-2.0 */
/* The address guard: decides which addresses may receive deliveries.
 *
 * It checks the address of each connection, after name resolution, so that no host name and no change of one leads to an
 * internal address. */
#ifndef NEO_WEBHOOKS_GUARD_H
#define NEO_WEBHOOKS_GUARD_H

#include <apr_tables.h>
#include <sys/socket.h>

#include "core/buf.h"

typedef struct neo_guard neo_guard;

neo_guard *neo_guard_make(apr_pool_t *pool);

/* Allows a range that would be refused, such as "10.20.0.0/16" or "::1". Returns NULL or an error message. */
const char *neo_guard_allow(neo_guard *guard, const char *text, apr_pool_t *pool);

/* True for allowed ranges and for public unicast addresses that are not this host's own. A mapped IPv4 address is treated like
 * the IPv4 address; the other IPv6 forms that contain one (compatible, NAT64, 6to4, Teredo) are refused. */
NEO_MUSTCHECK int neo_guard_permits(const neo_guard *guard, const struct sockaddr *address);

#endif
