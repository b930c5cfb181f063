/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of IPv4 and IPv6 in CIDR notation. Addresses of IPv4 have their mapped IPv6 form (RFC 4291, section 2.5.5.2). */
#ifndef NEO_CORE_NETWORK_H
#define NEO_CORE_NETWORK_H

#include "core/buf.h"

typedef struct neo_network {
    unsigned char bytes[16];
    int bits; /* 0 to 128, which must be equal; of IPv4 at least 96 */
} neo_network;

/* The mapped form of the four bytes of an IPv4 address. */
void neo_network_map_v4(unsigned char out[16], const void *address);

/* Reads "10.20.0.0/16", "2001:db8::/32", or an address, which is a network of one. Bits after the prefix may be set. Returns
 * false for other texts. */
NEO_MUSTCHECK int neo_network_parse(const char *text, neo_network *out);

/* Whether bits after the prefix are set, as in "10.20.0.1/16". */
int neo_network_has_host_bits(const neo_network *network);

/* Whether the network has the address. */
int neo_network_contains(const neo_network *network, const unsigned char address[16]);

/* The same for one of several networks and an address as text. ::/0 and other networks of IPv6 have no address of IPv4. False
 * if the text is not an address. */
int neo_networks_admit(const neo_network *networks, int count, const char *address);

#endif
