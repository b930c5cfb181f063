# SPDX-License-Identifier: Apache-2.0
"""A thousand slow clients and a normal one, with the shipped numbers of threads and connections."""

import resource
import socket
import time

import pytest
from admin_factory import AdminFactory
from client import Api, ok
from deployment import shipped_sizes
from raw_http import RawConnection, message

pytestmark = [pytest.mark.alone, pytest.mark.slow]
CLIENTS = 1000
REQUESTS = 300


@pytest.fixture
def shipped_api(new_instance):
    """A client to an instance with the shipped configuration's sizes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    instance = new_instance(**shipped_sizes())
    return Api(instance, AdminFactory(instance).key())


def slow_clients(api):
    """A third do not begin the TLS handshake, a third send incomplete headers, a third no body."""
    plain = [socket.create_connection(("127.0.0.1", api.instance.port)) for _ in range(CLIENTS // 3)]
    heads = [RawConnection(api).send(message(api, "GET", "me")[:-2]) for _ in range(CLIENTS // 3)]
    body = message(api, "POST", "brokers", [("Content-Type", "application/json"), ("Content-Length", 1000)], b"{")
    return plain, heads, [RawConnection(api).send(body) for _ in range(CLIENTS // 3)]


def test_a_thousand_slow_clients_do_not_delay_a_normal_one(shipped_api, report):
    ok(shipped_api.get("me"))
    slow = slow_clients(shipped_api)
    times = []
    try:
        for _ in range(REQUESTS):
            started = time.monotonic()
            ok(shipped_api.get("me"))
            times.append(time.monotonic() - started)
    finally:
        for connection in sum(slow, []):
            connection.close()
    p99 = sorted(times)[REQUESTS * 99 // 100]
    report(f"p99 {1000 * p99:.1f} ms beside {CLIENTS} slow clients")
    assert p99 < 0.05
