# SPDX-License-Identifier: Apache-2.0
"""The address guard refuses internal addresses in every notation and by every name."""

import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from deployment import sanitizer_settings
from webhook_fixtures import (admin, attempted, module_admin_factory, running_instance, subscribe,  # noqa: F401 (fixtures)
                              until)
from receiver import Receiver, status

HTTP = "NeoAPIWebhookAllowHTTP On\nNeoAPIWebhookTimeout 2\nNeoAPIWebhookRetryDelays 0 1 2 3 4\n"
OTHER = "127.1.2.3"  # allowed
SOURCE = Path(__file__).with_name("resolver.c")


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
        return True
    except OSError:
        return False


def own_address():
    """The address of this machine's default route, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))  # sends nothing
            return one.getsockname()[0]
        except OSError:
            return None


class Names:
    """Host names whose addresses tests set, for an httpd that has loaded `library`."""

    def __init__(self, place):
        self.place, self.library = place, place / "resolver.so"
        place.chmod(0o755)
        subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", f'-DANSWERS="{place}"', "-shared", "-fPIC", "-o", self.library,
                        SOURCE], check=True)
        self.library.chmod(0o755)

    def set(self, name, address):
        file = self.place / name
        file.write_text(address)
        file.chmod(0o644)
        return name


@pytest.fixture(scope="module")
def names():
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="neoapi-names.") as place:
        yield Names(Path(place))


@pytest.fixture(scope="module")
def module_instance(names):
    """An instance that may deliver to OTHER, and to no other internal address."""
    preload = f"{sanitizer_settings().get('HTTPD_PRELOAD', '')} {names.library}".strip()
    with running_instance("guarded", HTTP + f"NeoAPIWebhookAllowAddress {OTHER}/32\n", HTTPD_PRELOAD=preload) as instance:
        yield instance


@pytest.fixture
def blocked_receivers():
    """Receivers at forbidden addresses, by address."""
    found = [Receiver(address="0.0.0.0")] + ([Receiver(address="::1")] if has_ipv6() else [])
    for one in found:
        one.__enter__()
    yield found
    for one in found:
        one.__exit__()


def check_blocked(api, url, blocked_receivers):
    subscription = subscribe(api, url)
    api.broker()
    found = attempted(api, subscription)
    attempt = found["attempts"][0]
    assert attempt["error"] == "no_public_address", attempt
    assert set(attempt) == {"number", "started_at", "duration_ms", "error"} and "http_status" not in found
    assert [one.connections for one in blocked_receivers] == [0] * len(blocked_receivers)


# Notations of addresses.
NOTATIONS = ["127.0.0.1", "127.0.0.2", "localhost", "127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0", "0.0.0.0",
           "10.0.0.1", "10.255.255.255", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
           "168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "198.18.0.1", "LOCALHOST"]
NOTATIONS6 = ["::1", "::", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
            "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::1",
            "2001:0:7f00:1::1", "2001:db8::1", "fec0::1", "::ffff:0:127.0.0.1"]


@pytest.mark.parametrize("host", NOTATIONS)
def test_an_internal_address_is_not_connected_to(admin, blocked_receivers, host):
    check_blocked(admin, f"http://{host}:{blocked_receivers[0].port}/", blocked_receivers)


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", NOTATIONS6)
def test_an_internal_ipv6_address_is_not_connected_to(admin, blocked_receivers, host):
    port = blocked_receivers[0 if "ffff:7f" in host or "127.0.0.1" in host else 1].port
    check_blocked(admin, f"http://[{host}]:{port}/", blocked_receivers)


def test_this_machines_own_address_is_not_connected_to(admin, blocked_receivers):
    own = own_address()
    if not own:
        pytest.skip("this machine has no address but loopback")
    check_blocked(admin, f"http://{own}:{blocked_receivers[0].port}/", blocked_receivers)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "169.254.169.254", "10.0.0.1", "10.255.255.255", "::ffff:127.0.0.1",
                                     "192.168.0.1", "0.0.0.0"])
def test_a_name_of_an_internal_address_is_not_connected_to(admin, names, blocked_receivers, address):
    if ":" in address and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    name = names.set(f"is-{address.replace(':', '-')}.example.com", address)
    port = blocked_receivers[1 if address == "::1" else 0].port
    check_blocked(admin, f"http://{name}:{port}/", blocked_receivers)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_name_that_changes_its_address_is_not_connected_to(admin, module_instance, names, blocked_receivers, scheme):
    """The first lookup returns an allowed address, which a check before connecting would see."""
    files = module_instance.state / "tls/server.pem", module_instance.state / "tls/server.key"
    name = names.set(f"changes-{scheme}.example.com", OTHER)
    with Receiver(status(204, Connection="close"), address=OTHER, certificate=files if scheme == "https" else None) as good:
        subscription = subscribe(admin, f"{scheme}://{name}:{good.port}/")
        admin.broker()
        first = attempted(admin, subscription)
        # The certificate has another name, so that over https there is a connection and no delivery.
        assert (first["status"] == "success") == (scheme == "http") and good.connections >= 1
        names.set(name, "127.0.0.1")
        module_instance.command("stop-httpd")  # which clears the DNS cache
        module_instance.command("start-httpd")
        before = good.connections
        admin.broker()
        found = attempted(admin, subscription)
        assert found["attempts"][0]["error"] == "no_public_address", found
        assert good.connections == before and [one.connections for one in blocked_receivers] == [0] * len(blocked_receivers)


def test_a_redirect_to_an_internal_address_is_not_followed(admin, blocked_receivers):
    with Receiver(status(302, Location=f"http://127.0.0.1:{blocked_receivers[0].port}/"), address=OTHER) as good:
        subscription = subscribe(admin, good.url)
        admin.broker()
        assert attempted(admin, subscription)["attempts"][0]["http_status"] == 302
        assert blocked_receivers[0].connections == 0


def test_an_allowed_internal_address_is_connected_to(admin):
    with Receiver(address=OTHER) as good:
        subscription = subscribe(admin, good.url)
        admin.broker()
        assert until(admin, subscription, "success")["http_status"] == 204
