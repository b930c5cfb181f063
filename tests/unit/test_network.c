/* SPDX-License-Identifier: Apache-2.0 */
/* Networks in CIDR notation. */
#include "unit.h"

#include "core/network.h"

static int admits(const char *network, const char *address)
{
    neo_network one;
    assert_true(neo_network_parse(network, &one));
    return neo_networks_admit(&one, 1, address);
}

TEST(a_network_has_the_addresses_with_its_prefix)
{
    assert_true(admits("10.20.0.0/15", "10.21.255.255"));
    assert_false(admits("10.20.0.0/15", "10.22.0.0"));
    assert_true(admits("203.0.113.7", "203.0.113.7"));
    assert_false(admits("203.0.113.7/32", "203.0.113.6"));
    assert_true(admits("2001:db8::/33", "2001:db8:7fff::"));
    assert_false(admits("2001:db8::/33", "2001:db8:8000::"));
    assert_true(admits("0.0.0.0/0", "255.255.255.255"));
}

TEST(a_mapped_address_is_that_of_ipv4)
{
    assert_true(admits("203.0.113.0/24", "::ffff:203.0.113.9"));
    assert_true(admits("::ffff:203.0.113.0/120", "203.0.113.9"));
    assert_false(admits("::/0", "::ffff:203.0.113.9"));
    assert_false(admits("::/0", "203.0.113.9"));
    assert_true(admits("::/0", "::1"));
    assert_false(admits("0.0.0.0/0", "::1"));
}

TEST(other_texts_are_no_networks_and_no_addresses)
{
    static const char *const bad[] = {"",
                                      "/8",
                                      "10.1/8",
                                      "10.0.0.0/",
                                      "10.0.0.0/33",
                                      "10.0.0.0/-1",
                                      "::/129",
                                      "host",
                                      "10.0.0.0/8/8",
                                      "fe80::1%eth0",
                                      "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee/64"};
    neo_network any = {.bits = 0}, one;
    for (int i = 0; i < COUNT(bad); i++) {
        assert_false(neo_network_parse(bad[i], &one));
        assert_false(neo_networks_admit(&any, 1, bad[i]));
    }
    assert_false(neo_networks_admit(&any, 1, "10.0.0.0/8"));
    assert_false(neo_networks_admit(NULL, 0, "10.0.0.1"));
}

TEST(host_bits_are_found)
{
    neo_network one;
    assert_true(neo_network_parse("10.20.0.1/16", &one) && neo_network_has_host_bits(&one));
    assert_false(!neo_network_parse("10.20.0.0/16", &one) || neo_network_has_host_bits(&one));
    assert_true(neo_network_parse("2001:db8::1/127", &one) && neo_network_has_host_bits(&one));
    assert_false(!neo_network_parse("10.20.0.1", &one) || neo_network_has_host_bits(&one));
}
