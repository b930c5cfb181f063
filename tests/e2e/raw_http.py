# SPDX-License-Identifier: Apache-2.0
"""A connection that sends raw bytes and reads responses one by one: pipelined, interim and incomplete ones."""

import http.client
import json
import re
import ssl
from urllib.parse import urlsplit

import pytest
from client import check

CONNECTION_LOST = (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError)

# No response may reveal file names, components or versions.
INTERNALS = re.compile(r"<html|<!doctype|/usr/|/var/|/root\b|/home/|/tmp/|/etc/|\.[ch]:\d|\.so\b|postgres|pgsql|libpq|sqlstate"
                    r"|\bPG(_|RES|conn)|jansson|Apache/|OpenSSL|mod_\w|neoapi\.|\bAH\d{5}"
                    r"|\b(select|insert|update)\b.*\b(from|into|set)\b",
                    re.IGNORECASE)


class Closed(Exception):
    """The server closed the connection before the first byte of a response."""


class Broken(Exception):
    """The connection ended within a response, or the response is not HTTP."""


class Received:
    """A response, with the statuses of the interim responses (1xx) before it."""

    def __init__(self, status, headers, content, interim):
        self.status_code, self.headers, self.content, self.interim = status, headers, content, interim

    def json(self):
        return json.loads(self.content)


class RawConnection:
    """A connection with the credential of an Api. Closed at the end of its `with`."""

    def __init__(self, api):
        self.socket = api.connect()
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, data):
        """Sends as much as the server reads: it may respond and close the connection earlier."""
        try:
            self.socket.sendall(data)
        except CONNECTION_LOST:
            pass
        return self

    def _read(self, size):
        data = self.file.read(size)
        if size is not None and len(data) < size:
            raise Broken(f"{len(data)} of {size} bytes")
        return data

    def _chunks(self):
        data = b""
        while True:
            line = self.file.readline()
            if not re.fullmatch(rb"[0-9A-Fa-f]+\s*(;.*)?\r\n", line):
                raise Broken(f"not a chunk's size: {line!r}")
            size = int(line.split(b";")[0], 16)
            data += self._read(size)
            if self._read(2) != b"\r\n":
                raise Broken("a chunk does not end with its line")
            if size == 0:
                return data

    def _head(self):
        try:
            line = self.file.readline()
        except CONNECTION_LOST:
            line = b""
        if not line:
            raise Closed
        found = re.fullmatch(rb"HTTP/1\.[01] (\d{3}) [^\r\n]*\r\n", line)
        if not found:
            raise Broken(f"no status line: {line!r}")
        return int(found[1]), http.client.parse_headers(self.file)

    def _body(self, method, status, headers):
        if method == "HEAD" or status in (204, 304):
            return b""
        if headers.get("Transfer-Encoding"):
            return self._chunks()
        length = headers.get("Content-Length")
        return self._read(None if length is None else int(length))

    def answer(self, method="GET"):
        """The next final response; `method` is that of its request."""
        interim = []
        try:
            status, headers = self._head()
            while status < 200:
                interim.append(status)
                status, headers = self._head()
            return Received(status, headers, self._body(method, status, headers), interim)
        except CONNECTION_LOST as gone:
            raise Broken(str(gone)) from gone

    def is_ended(self):
        """Waits until the server sends data or closes the connection. Returns whether it closed it without data."""
        try:
            return self.file.read(1) == b""
        except CONNECTION_LOST:
            return True


def check_response(answer, method="GET", path=None):
    """Checks what every response guarantees: required headers, none of them repeated, no internals."""
    check(answer.status_code, answer.headers, answer.content, method, path)
    names = [name.lower() for name in answer.headers.keys()]
    for name in ("x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "content-type",
                 "content-length"):
        assert names.count(name) <= 1, names
    for name, value in answer.headers.items():
        if name.lower() == "etag":  # a hash may look like any other value
            assert re.fullmatch(r'(W/)?"[0-9a-f]{16}(-\w+)?"', value), value
        else:
            assert not INTERNALS.search(value), (name, value)
    if "json" in answer.headers.get("Content-Type", ""):
        assert not INTERNALS.search(answer.content.decode()), answer.content
    return answer


def message(api, method, target, headers=(), body=b"", version="HTTP/1.1", key=True):
    """The bytes of a request. Strings are encoded as Latin-1, so that they can have any byte. `target` is relative to the base
    URL unless it is a path or URL. Content-Length is added unless the headers have a length."""
    base = urlsplit(api.url)
    if not re.match("/|https?:|[*]", target):
        target = base.path + target
    lines = [f"{method} {target} {version}", f"Host: {base.netloc}"]
    lines += [f"X-API-Key: {api.credential.secret}"] if key and api.credential else []
    lines += [f"{name}: {value}" for name, value in headers]
    if body and not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def param_id(value):
    """A reproducible id of a parameter in the name of its test; None lets pytest number functions."""
    return None if callable(value) else ascii(value)[:40]


def chunked(*parts):
    """A body in chunked coding."""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


def ask(api, method, target, headers=(), body=b"", **more):
    """Sends a request over a new connection, checks the response and returns it."""
    with RawConnection(api) as connection:
        return check_response(connection.send(message(api, method, target, headers, body, **more)).answer(method), method)


@pytest.fixture(scope="module", autouse=True)
def no_child_crashes(instance):
    """In modules that import this fixture, no child of httpd may end or be logged as ended."""
    before, logged = instance.children(), len(instance.error_log)
    yield
    assert instance.children() == before
    assert not re.search("exit signal|Sanitizer|runtime error", instance.error_log[logged:])
