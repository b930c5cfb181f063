/* The address guard: where deliveries may be sent to. It looks at the address that is really dialled, after every resolution of
 * a name, so that no name and no change of a name leads inside. */
#ifndef NEO_DELIVERY_GUARD_H
#define NEO_DELIVERY_GUARD_H

#include <apr_tables.h>
#include <sys/socket.h>

#include "core/buf.h"

typedef struct neo_guard neo_guard;

neo_guard *neo_guard_make(apr_pool_t *pool);

/* Allows a range that the guard would refuse: "10.20.0.0/16", "::1". Returns NULL, or what is wrong with it. */
const char *neo_guard_allow(neo_guard *guard, const char *range, apr_pool_t *pool);

/* True if deliveries may be sent there: a public unicast address (IANA's special-purpose registries) that is not this host's
 * own. Forms that carry an IPv4 address in an IPv6 one (mapped, compatible, NAT64, 6to4, Teredo) are refused, or judged by it.
 */
NEO_MUSTCHECK int neo_guard_permits(const neo_guard *guard, const struct sockaddr *address);

#endif
