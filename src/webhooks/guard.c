/* SPDX-License-Identifier: Apache-2.0 */
/* Checks addresses against ranges (see webhooks/guard.h). IPv4 addresses are compared in their mapped IPv6 form. */
#include "webhooks/guard.h"

#include <apr_strings.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "core/network.h"

struct neo_guard {
    apr_array_header_t *refused; /* elements: neo_network */
    apr_array_header_t *allowed;
};

/* IANA's special-purpose registry (RFC 6890 and later), multicast and reserved ranges. */
static const char *const special_v4[] = {
    "0.0.0.0/8",      "10.0.0.0/8",     "100.64.0.0/10",   "127.0.0.0/8",      "169.254.0.0/16",
    "172.16.0.0/12",  "192.0.0.0/24",   "192.0.2.0/24",    "192.31.196.0/24",  "192.52.193.0/24",
    "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",    "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",     "168.63.129.16/32", /* a cloud's metadata service */
};

/* Tunnels, documentation and tests within global unicast, the only IPv6 range that is permitted. */
static const char *const special_v6[] = {"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48"};
static const char *const global_v6 = "2000::/3";

static int address_bytes(const struct sockaddr *address, unsigned char out[16])
{
    if (address->sa_family == AF_INET)
        neo_network_map_v4(out, &((const struct sockaddr_in *)(const void *)address)->sin_addr);
    else if (address->sa_family == AF_INET6)
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    else
        return 0;
    return 1;
}

static int is_in_any(const apr_array_header_t *ranges, const unsigned char address[16])
{
    for (int i = 0; i < ranges->nelts; i++)
        if (neo_network_contains(&APR_ARRAY_IDX(ranges, i, neo_network), address))
            return 1;
    return 0;
}

static void add_all(apr_array_header_t *ranges, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!neo_network_parse(texts[i], &APR_ARRAY_PUSH(ranges, neo_network)))
            abort();
}

/* This host's public addresses reach its internal services as well. */
static void add_own_addresses(apr_array_header_t *ranges)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0)
        return;
    for (struct ifaddrs *one = all; one; one = one->ifa_next) {
        neo_network own = {.bits = 128};
        if (one->ifa_addr && address_bytes(one->ifa_addr, own.bytes))
            APR_ARRAY_PUSH(ranges, neo_network) = own;
    }
    freeifaddrs(all);
}

neo_guard *neo_guard_make(apr_pool_t *pool)
{
    neo_guard *guard = apr_palloc(pool, sizeof *guard);
    guard->refused = apr_array_make(pool, 40, sizeof(neo_network));
    guard->allowed = apr_array_make(pool, 4, sizeof(neo_network));
    add_all(guard->refused, special_v4, sizeof special_v4 / sizeof *special_v4);
    add_all(guard->refused, special_v6, sizeof special_v6 / sizeof *special_v6);
    add_own_addresses(guard->refused);
    return guard;
}

const char *neo_guard_allow(neo_guard *guard, const char *text, apr_pool_t *pool)
{
    neo_network one;
    if (!neo_network_parse(text, &one))
        return apr_pstrcat(pool, text, " is not an address or range such as 10.20.0.0/16 or ::1", NULL);
    APR_ARRAY_PUSH(guard->allowed, neo_network) = one;
    return NULL;
}

int neo_guard_permits(const neo_guard *guard, const struct sockaddr *address)
{
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    unsigned char bytes[16];
    neo_network global;
    if (!address_bytes(address, bytes))
        return 0;
    if (is_in_any(guard->allowed, bytes))
        return 1;
    /* Neither IPv4 nor global unicast: loopback, link-local, unique local, NAT64, IPv4-compatible. */
    if (memcmp(bytes, mapped, sizeof mapped) != 0 &&
        !(neo_network_parse(global_v6, &global) && neo_network_contains(&global, bytes)))
        return 0;
    return !is_in_any(guard->refused, bytes);
}
