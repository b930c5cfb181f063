# SPDX-License-Identifier: Apache-2.0
"""Receivers of webhooks: real HTTP and HTTPS servers with a given behaviour, which record what arrived and when.

with Receiver(behave) as receiver: receiver.url, receiver.arrivals, receiver.connections. `behave` is one of the functions below or
made by one; it is called with the request's handler and the arrival. It can be replaced while the receiver runs.
"""

import itertools
import json
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import PROTOCOL_TLS_SERVER, SSLContext

from wait import TIMEOUT_S, eventually


@dataclass
class Arrival:
    """A request: the time at which its body was complete, in seconds since 1970, and the sender's port."""

    at: float
    path: str
    headers: dict  # names in lower case
    body: bytes
    port: int
    json: dict = field(init=False)

    def __post_init__(self):
        self.json = json.loads(self.body)

    @property
    def id(self):
        return self.json["id"]

    @property
    def event_id(self):
        return self.headers["webhook-id"]


# ---------------------------------------------------------------- behaviours

def status(number, body=b"", **headers):
    """Responds with this status; Retry_After="3" becomes the header Retry-After."""
    def behave(handler, _):
        handler.send_response(number)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    return behave


ok = status(204)


def echo(handler, arrival):
    """Repeats what was sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(arrival.body)))
    handler.end_headers()
    handler.wfile.write(arrival.body)


def one_after_the_other(*behaviours):
    """Uses each behaviour for one request, and the last one for all following requests."""
    rest = itertools.chain(behaviours, itertools.repeat(behaviours[-1]))
    lock = threading.Lock()

    def behave(handler, arrival):
        with lock:
            now = next(rest)
        now(handler, arrival)
    return behave


def slowly(seconds, then=ok):
    def behave(handler, arrival):
        handler.server.closing.wait(seconds)
        then(handler, arrival)
    return behave


def hang(handler, _):
    """Never responds."""
    handler.server.closing.wait(TIMEOUT_S)
    handler.close_connection = True


def drip(handler, _):
    """Sends one byte of the response per second."""
    handler.close_connection = True
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000:
        handler.wfile.write(bytes([byte]))
        if handler.server.closing.wait(1):
            return


def close_within_response(handler, _):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of")
    handler.close_connection = True


def not_http(handler, _):
    handler.wfile.write(b"220 mail.example.com ESMTP\r\n")
    handler.close_connection = True


def status_line(line):
    """A response that has nothing else."""
    def behave(handler, _):
        handler.wfile.write(line + b"\r\n\r\n")
        handler.close_connection = True
    return behave


def close_without_response(handler, _):
    handler.close_connection = True


def huge(handler, _):
    """A valid response with a body larger than the limit."""
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
    try:
        for _ in range(1000):
            handler.wfile.write(b"a" * 100_000)
    except OSError:
        handler.server.was_cut_off.set()


def endless(beginning, piece):
    """Begins a response and repeats a piece of it until the client closes the connection."""
    def behave(handler, _):
        handler.close_connection = True
        handler.wfile.write(beginning)
        while not handler.server.closing.is_set():
            handler.wfile.write(piece * (65536 // len(piece)))
    return behave


# Responses whose header section, trailer section or framing does not end, and the error that the attempt ends with.
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "trailers": (endless(CHUNKED + b"0\r\n", b"X-Trailer: " + b"a" * 100 + b"\r\n"), "response_too_large"),
    "short trailers": (endless(CHUNKED + b"0\r\n", b"a:\r\n"), "response_too_large"),
    "headers": (endless(b"HTTP/1.1 200 OK\r\n", b"X-Header: " + b"a" * 100 + b"\r\n"), "response_too_large"),
    "1xx": (endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"), "response_too_large"),
    "trailer line": (endless(CHUNKED + b"0\r\nX-Trailer: ", b"a"), "connection_closed"),
    "header line": (endless(b"HTTP/1.1 200 OK\r\nX-Header: ", b"a"), "connection_closed"),
    "chunk size": (endless(CHUNKED, b"0"), "connection_closed"),
    "chunk extension": (endless(CHUNKED + b"1;", b"a"), "response_too_large"),
}


# ---------------------------------------------------------------- servers

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        arrival = Arrival(time.time(), self.path, headers, body, self.client_address[1])
        self.server.arrivals.append(arrival)
        try:
            self.server.behave(self, arrival)
        except OSError:  # the client closed the connection
            self.close_connection = True

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True
    block_on_close = False

    def __init__(self, address, family, tls):
        self.address_family, self.tls = family, tls
        self.arrivals, self.connections = [], 0
        self.closing, self.was_cut_off = threading.Event(), threading.Event()
        super().__init__(address, Handler)

    def process_request(self, request, client_address):
        self.connections += 1
        super().process_request(request, client_address)

    def finish_request(self, request, client_address):
        if self.tls:
            request.settimeout(TIMEOUT_S)
            try:
                request = self.tls.wrap_socket(request, server_side=True)
            except OSError:  # the client does not trust the certificate
                return
        super().finish_request(request, client_address)

    def handle_error(self, *_):
        pass  # tests break connections


class Receiver:
    """`certificate`: the files of a certificate and its key, for HTTPS; `protocols`: those offered by ALPN."""

    def __init__(self, behave=ok, address="127.0.0.1", certificate=None, protocols=()):
        context = None
        if certificate:
            context = SSLContext(PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            context.set_alpn_protocols(protocols)
        self.server = Server((address, 0), socket.AF_INET6 if ":" in address else socket.AF_INET, context)
        self.server.behave = behave
        self.port = self.server.server_address[1]
        host = f"[{address}]" if ":" in address else address
        self.url = f"{'https' if certificate else 'http'}://{host}:{self.port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(TIMEOUT_S)

    def behave(self, behaviour):
        self.server.behave = behaviour

    @property
    def arrivals(self):
        return list(self.server.arrivals)

    @property
    def connections(self):
        return self.server.connections

    def wait_for(self, count, limit=TIMEOUT_S):
        """Waits for `count` arrivals, and returns all."""
        eventually(lambda: len(self.server.arrivals) >= count, f"{count} deliveries", limit)
        return self.arrivals


class ClosedPort:
    """A reserved port without a listener."""

    def __enter__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        return self

    def __exit__(self, *_):
        self.socket.close()


def untrusted_certificate(place, names="subjectAltName=DNS:localhost,IP:127.0.0.1"):
    """The files of a self-signed certificate."""
    certificate, key = place / "untrusted.pem", place / "untrusted.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", *(["-addext", names] if names else []),
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key
