/* SPDX-License-Identifier: Apache-2.0 */
/* Networks in CIDR notation (see core/network.h). */
#include "core/network.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/encode.h"

#define V4_BITS 96 /* the length of the prefix of mapped addresses */

static const unsigned char mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

void neo_network_map_v4(unsigned char out[16], const void *address)
{
    memcpy(out, mapped_prefix, sizeof mapped_prefix);
    memcpy(out + sizeof mapped_prefix, address, 4);
}

int neo_network_parse(const char *text, neo_network *out)
{
    char address[64];
    long long bits;
    unsigned char v4[4];
    const char *slash = strchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    if (len >= sizeof address)
        return 0;
    memcpy(address, text, len);
    address[len] = '\0';
    int is_v4 = inet_pton(AF_INET, address, v4) == 1, max = is_v4 ? 32 : 128;
    if (is_v4)
        neo_network_map_v4(out->bytes, v4);
    else if (inet_pton(AF_INET6, address, out->bytes) != 1)
        return 0;
    bits = max;
    if (slash && (!neo_integer_parse(slash + 1, &bits) || bits < 0 || bits > max))
        return 0;
    out->bits = (int)bits + (is_v4 ? V4_BITS : 0);
    return 1;
}

int neo_network_has_host_bits(const neo_network *network)
{
    for (int bit = network->bits; bit < 128; bit++)
        if (network->bytes[bit / 8] >> (7 - bit % 8) & 1)
            return 1;
    return 0;
}

int neo_network_contains(const neo_network *network, const unsigned char address[16])
{
    int bytes = network->bits / 8, rest = network->bits % 8;
    if (memcmp(network->bytes, address, (size_t)bytes) != 0)
        return 0;
    return rest == 0 || (network->bytes[bytes] ^ address[bytes]) >> (8 - rest) == 0;
}

int neo_networks_admit(const neo_network *networks, int count, const char *address)
{
    neo_network one;
    if (strchr(address, '/') || !neo_network_parse(address, &one))
        return 0;
    int is_v4 = memcmp(one.bytes, mapped_prefix, sizeof mapped_prefix) == 0;
    for (int i = 0; i < count; i++)
        if ((networks[i].bits >= V4_BITS || !is_v4) && neo_network_contains(&networks[i], one.bytes))
            return 1;
    return 0;
}
