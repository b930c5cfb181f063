# SPDX-License-Identifier: Apache-2.0
"""Clients that do not read their responses, or do not finish their requests: more of them than httpd has threads."""

import contextlib
import socket
import subprocess
import ssl
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from admin_factory import AdminFactory
from client import Api
from deployment import Instance
from raw_http import RawConnection, message
from wait import TIMEOUT_S

CLIENTS = 60  # of 50 threads
MAX_DELAY_S = 4  # without limits it is 5 and more
IDENTITY = [("accept-encoding", "identity")]


@pytest.fixture(scope="module")
def slow_instance():
    made = Instance("slow")
    try:
        yield made.up()
    finally:
        made.remove()


@pytest.fixture
def slow_api(slow_instance):
    return Api(slow_instance, AdminFactory(slow_instance).key())


class SlowConnection(RawConnection):
    """Its segments are those of a network, not of the loopback interface, and its receive buffer is small from the start."""

    def __init__(self, api, source, protocol="http/1.1", tls=True):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
        self.socket.settimeout(30)
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", api.instance.port))
        if tls:
            context = ssl.create_default_context(cafile=api.instance.ca)
            context.set_alpn_protocols([protocol])
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.file = self.socket.makefile("rb")


@contextlib.contextmanager
def slow_clients(api, sources, data, **more):
    """A connection from each source, which sends the data and nothing else."""
    made = []

    def client(source):
        with contextlib.suppress(OSError):
            made.append(SlowConnection(api, source, **more))
            made[-1].send(data)

    with ThreadPoolExecutor(len(sources)) as pool:
        for source in sources:
            pool.submit(client, source)
        try:
            yield
        finally:
            pool.shutdown()
            for one in made:
                one.close()


def of_one_address(first):
    return [f"127.9.{first}.1"] * CLIENTS


def of_many_addresses(first):
    return [f"127.9.{first}.{n + 1}" for n in range(CLIENTS)]


def get_with_curl(api, version):
    done = subprocess.run(["curl", "-sS", version, "--noproxy", "*", "--cacert", api.instance.ca, "--max-time", str(TIMEOUT_S),
                           "-H", "X-API-Key: " + api.credential.secret, "-w", "%{http_version} %{http_code}", "-o", "/dev/null",
                           api.url + "me"], capture_output=True, text=True, check=True, timeout=2 * TIMEOUT_S)
    assert done.stdout == f"{version.strip('-http')} 200", done.stdout


def longest_delay(api, seconds=5):
    """Of requests over new connections, of HTTP/1.1 and HTTP/2 in turn."""
    delays, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        for version in ("--http1.1", "--http2"):
            started = time.monotonic()
            get_with_curl(api, version)
            delays.append(time.monotonic() - started)
    return max(delays)


@pytest.mark.parametrize("sources", [of_one_address, of_many_addresses])
@pytest.mark.parametrize("count", [1, 16])
def test_clients_that_do_not_read_do_not_delay_others(slow_api, sources, count, report):
    request = message(slow_api, "GET", "openapi.yaml", IDENTITY, key=False)
    with slow_clients(slow_api, sources(count), request * count):
        delay = longest_delay(slow_api)
    report(f"{delay:.2f} s")
    assert delay < MAX_DELAY_S


@pytest.mark.parametrize("sources", [of_one_address, of_many_addresses])
@pytest.mark.parametrize("tls, begun", [(True, b"GET /public/v1/me HTTP/1.1\r\nX-Slow: "), (True, b""), (False, b"\x16\x03\x01")],
                         ids=["header", "no header", "handshake"])
def test_clients_that_do_not_finish_their_headers_do_not_delay_others(slow_api, sources, tls, begun, report):
    with slow_clients(slow_api, sources(3), begun, tls=tls):
        delay = longest_delay(slow_api)
    report(f"{delay:.2f} s")
    assert delay < MAX_DELAY_S


def http_2_requests(count):
    """Requests whose responses the client's window does not admit."""
    h2 = pytest.importorskip("h2.connection")
    settings = pytest.importorskip("h2.settings")
    connection = h2.H2Connection()
    connection.local_settings = settings.Settings(initial_values={settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
    connection.initiate_connection()
    for n in range(count):
        connection.send_headers(2 * n + 1, [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"),
                                            (":path", "/public/v1/openapi.yaml"), *IDENTITY], end_stream=True)
    return connection.data_to_send()


@pytest.mark.parametrize("sources", [of_one_address, of_many_addresses])
@pytest.mark.parametrize("count", [1, 9])
def test_http_2_streams_that_are_not_read_do_not_delay_others(slow_api, sources, count, report):
    with slow_clients(slow_api, sources(100 + count), http_2_requests(count), protocol="h2"):
        delay = longest_delay(slow_api)
    report(f"{delay:.2f} s")
    assert delay < MAX_DELAY_S


# ---------------------------------------------------------------- honest clients


class Telephone(SlowConnection):
    """Reads slowly, with pauses."""

    read_bytes = 0

    def _read(self, size):
        data = b""
        while len(data) < size:
            data += super()._read(min(4096, size - len(data)))
            time.sleep(4096 / 40_000)
            self.read_bytes += 4096
            if self.read_bytes % 131072 == 0:
                time.sleep(2)
        return data


def test_a_slow_client_that_reads_gets_all(slow_api):
    """Also beside clients that do not."""
    whole = slow_api.get("openapi.yaml", headers=dict(IDENTITY)).content
    request = message(slow_api, "GET", "openapi.yaml", IDENTITY, key=False)
    with slow_clients(slow_api, of_one_address(50), request * 16), Telephone(slow_api, "127.9.51.1") as telephone:
        assert telephone.send(request).answer().content == whole
