# SPDX-License-Identifier: Apache-2.0
"""HTTP: framing and sizes of bodies, request lines, headers, methods, HTTP/2, compression. Errors that httpd detects are problem
documents as well, and requests cannot be smuggled."""

import gzip
import json
import re
import socket
import subprocess
import time
from types import SimpleNamespace

import pytest
from requests.structures import CaseInsensitiveDict

from client import WINDOW, Api, check, ok, refused
from raw_http import (Broken, Closed, RawConnection, check_response, chunked, message, no_child_crashes,  # noqa: F401
                      param_id)
from wait import TIMEOUT_S, eventually

JSON = [("Content-Type", "application/json")]
CHUNKED = [*JSON, ("Transfer-Encoding", "chunked")]
BODY = b'{"name":"Ana Paula Ribeiro"}'
MAX_BODY = 1_048_576  # bytes of a body
UNKNOWN = "brk_" + "0" * 26
MALFORMED = "validation.malformed_request"


def exchange(api, data, method="GET"):
    """Sends bytes and checks the response. Afterwards the server must serve another request."""
    with RawConnection(api) as connection:
        answer = check_response(connection.send(data).answer(method), method)
    assert api.get("me").status_code == 200
    return answer


def create(api, headers, body, **more):
    return message(api, "POST", "brokers", headers, body, **more)


# ---------------------------------------------------------------- length of bodies

@pytest.mark.parametrize("frame", [lambda body: (JSON, body), lambda body: (CHUNKED, chunked(body)),
                                   lambda body: (CHUNKED, chunked(*(body[n:n + 4096] for n in range(0, len(body), 4096))))])
def test_a_body_may_have_the_maximum_length_and_no_more(api, frame):
    whole = b" " * (MAX_BODY - len(BODY)) + BODY
    headers, body = frame(whole)
    assert exchange(api, create(api, headers, body), "POST").status_code == 201
    headers, body = frame(b" " + whole)
    refused(exchange(api, create(api, headers, body), "POST"), 413, "validation.body_too_large")


@pytest.mark.parametrize("method, path", [("POST", "brokers"), ("PUT", "brokers/" + UNKNOWN), ("PATCH", "brokers/" + UNKNOWN)])
def test_a_body_of_ten_mebibytes_is_refused_with_and_without_a_length(api, method, path):
    body = b"x" * (10 << 20)
    for headers, framed in ((JSON, body), (CHUNKED, chunked(body)), (CHUNKED, chunked(*[body[:65536]] * 160))):
        refused(exchange(api, message(api, method, path, headers, framed), method), 413, "validation.body_too_large")


def test_a_length_that_is_too_large_is_refused_before_the_body_is_sent(api):
    for length in (MAX_BODY + 1, 10 << 20, 1 << 40, (1 << 63) - 1):
        answer = exchange(api, create(api, [*JSON, ("Content-Length", length)], b""), "POST")
        refused(answer, 413, "validation.body_too_large")


def padded(size):
    body = b'{"name": "Ana"}'
    return body + b" " * (size - len(body))


def test_the_maximum_body_size_is_a_setting_of_the_host(second_host_api):
    post = dict(headers={"Content-Type": "application/json"})
    assert second_host_api.post("brokers", data=padded(4096), **post).status_code == 201
    refused(second_host_api.post("brokers", data=padded(4097), **post), 413, "validation.body_too_large")
    refused(second_host_api.put("brokers/" + UNKNOWN, data=padded(5000), **post), 413, "validation.body_too_large")


@pytest.mark.parametrize("method, path", [("GET", "me"), ("GET", "brokers"), ("DELETE", "brokers/" + UNKNOWN),
                                          ("OPTIONS", "brokers"), ("HEAD", "me")])
def test_an_unexpected_body_is_ignored(api, method, path):
    with RawConnection(api) as connection:
        for headers, body in (([], b"x" * 1000), ([("Transfer-Encoding", "chunked")], chunked(b"x" * 1000))):
            answer = check_response(connection.send(message(api, method, path, headers, body)).answer(method), method)
            assert answer.status_code in (200, 204, 404)
        assert check_response(connection.send(message(api, "GET", "me")).answer()).status_code == 200
    made = "brokers/" + api.broker()["id"]
    assert ok(api.get(made, json={"name": "Bia"}))["name"] != "Bia" and api.delete(made, json={"x": 1}).status_code == 204


# ---------------------------------------------------------------- framing of bodies

@pytest.mark.parametrize("length", ["", "x", "-1", "+5", "1e3", "0x10", "5 5", "5, 6", "99999999999999999999", "5;", "٥"])
def test_a_length_that_is_no_number_is_refused(api, length):
    head = create(api, JSON, b"").replace(b"\r\n\r\n", b"\r\nContent-Length: " + length.encode() + b"\r\n\r\n")
    answer = exchange(api, head + BODY, "POST")
    assert answer.status_code == 400 or (answer.status_code, length) == (413, "99999999999999999999"), answer.content


def test_two_lengths_are_refused(api):
    for lengths in ((len(BODY), len(BODY) + 5), (len(BODY), 0)):
        answer = exchange(api, create(api, [*JSON, *(("Content-Length", length) for length in lengths)], BODY), "POST")
        refused(answer, 400, MALFORMED)


@pytest.mark.parametrize("body", [b"zz\r\n{}\r\n0\r\n\r\n", b"-5\r\n{}\r\n0\r\n\r\n", b"\r\n\r\n", b"2\r\n{}0\r\n\r\n",
                                  b"2\r\n{}xx0\r\n\r\n",
                                  b"2 2\r\n{}\r\n0\r\n\r\n", b"0x2\r\n{}\r\n0\r\n\r\n", b"F" * 17 + b"\r\n{}\r\n",
                                  b"f" * 500 + b"\r\n",
                                  b"8000000000000000\r\n", b"2;" + b"x" * 10_000 + b"\r\n{}\r\n0\r\n\r\n",
                                  b"+2\r\n{}\r\n0\r\n\r\n"], ids=param_id)
def test_a_broken_chunk_is_refused(api, body):
    answer = exchange(api, create(api, CHUNKED, body), "POST")
    assert (answer.status_code, answer.json()["code"]) in ((400, MALFORMED), (413, "validation.body_too_large")), answer.content


def test_a_broken_chunk_counts_for_its_credential_once(anonymous, own_api):
    client = anonymous.with_(credential=own_api.credential)
    before = client.get("me").headers
    answer = exchange(client, create(client, CHUNKED, b"zz\r\n"), "POST")  # also sends another request
    assert answer.status_code == 400 and answer.headers["X-RateLimit-Limit"] == before["X-RateLimit-Limit"]
    left = int(client.get("me").headers["X-RateLimit-Remaining"])
    assert int(before["X-RateLimit-Remaining"]) - left == 3
    assert anonymous.get("me").headers["X-RateLimit-Remaining"] == "599"


@pytest.mark.parametrize("body", [
    chunked(*(BODY[n:n + 1] for n in range(len(BODY)))),
    b'%X;a=b;c="d"\r\n%s\r\n0;e\r\n\r\n' % (len(BODY), BODY),
    b"%x\r\n%s\r\n0\r\nX-Trailer: x\r\n\r\n" % (len(BODY), BODY),
    b"000%x\r\n%s\r\n000\r\n\r\n" % (len(BODY), BODY),
])
def test_chunks_may_have_extensions_and_trailers(api, body):
    assert exchange(api, create(api, CHUNKED, body), "POST").status_code == 201


@pytest.mark.parametrize("coding", ["gzip", "chunked, gzip", "xchunked", "identity", "chunked, identity", "chunke",
                                    "\x0bchunked", "", "chunked;", '"chunked"',
                                    "chunked\xff"], ids=param_id)
def test_another_transfer_coding_is_refused(api, coding):
    answer = exchange(api, create(api, [*JSON, ("Transfer-Encoding", coding)], chunked(BODY)), "POST")
    assert answer.status_code in (400, 501), answer.content


@pytest.mark.parametrize("coding, body", [("gzip", gzip.compress(BODY)), ("GZIP", gzip.compress(BODY)), ("br", BODY), ("gzip", BODY),
                                          ("identity, gzip", gzip.compress(BODY))],
                         ids=["gzip", "upper case", "br", "not compressed", "list"])
def test_a_compressed_body_is_refused(api, coding, body):
    answer = exchange(api, create(api, [*JSON, ("Content-Encoding", coding)], body), "POST")
    refused(answer, 415, "validation.unsupported_media_type")
    assert "Content-Encoding" in answer.json()["detail"] and answer.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("coding", ["identity", "Identity", ""])
def test_a_body_with_the_content_coding_identity_is_accepted(api, coding):
    assert exchange(api, create(api, [*JSON, ("Content-Encoding", coding)], BODY), "POST").status_code == 201


def answers(connection):
    """All responses until the server closes, at most five."""
    found = []
    try:
        while len(found) < 5:
            found.append(check_response(connection.answer()))
    except Closed:
        pass
    return found


LENGTH, TE = ("Content-Length", 6), "Transfer-Encoding"


# RFC 9112, section 6.3: a message with both may be an attempt at smuggling; a server that accepts it must close the connection.
@pytest.mark.parametrize("headers", [
    [LENGTH, (TE, "chunked")], [(TE, "chunked"), LENGTH], [LENGTH, (TE, " chunked")], [LENGTH, (TE, "Chunked")],
    [LENGTH, (TE, "x"), (TE, "chunked")], [LENGTH, (TE, "chunked"), (TE, "x")], [LENGTH, (TE, "\x0bchunked")],
    [LENGTH, (TE + " ", "chunked")], [LENGTH, ("Transfer_Encoding", "chunked")], [LENGTH, (TE, "chunked, chunked")],
    [LENGTH, ("X", "x\nTransfer-Encoding: chunked")],
], ids=param_id)
def test_no_second_request_is_smuggled_in_a_body_with_a_length_and_chunks(api, headers):
    marker = "smuggled-name"
    inner = message(api, "POST", "brokers", JSON, b'{"name":"%s"}' % marker.encode())
    with RawConnection(api) as connection:
        connection.send(message(api, "POST", "brokers", [*JSON, *headers], b"0\r\n\r\n" + inner))
        found = answers(connection)
    assert found and all(answer.status_code in (400, 501) for answer in found), [answer.content for answer in found]
    assert ok(api.get("brokers?q=" + marker))["items"] == []


def half_close(connection):
    """Ends the client's side; responses can still be read."""
    with socket.socket(fileno=socket.dup(connection.socket.fileno())) as same:
        same.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("headers, body", [
    ([*JSON, ("Content-Length", 1000)], BODY), ([*JSON, ("Content-Length", 1)], b""), (CHUNKED, b""), (CHUNKED, b"5"),
    (CHUNKED, b"1c\r\n" + BODY), (CHUNKED, b"1c\r\n" + BODY + b"\r\n"), (CHUNKED, b"1c\r\n" + BODY + b"\r\n0\r\n"),
])
def test_a_truncated_body_creates_nothing(own_api, headers, body):
    with RawConnection(own_api) as connection:
        connection.send(create(own_api, headers, body))
        half_close(connection)
        try:
            refused(check_response(connection.answer("POST"), "POST"), 400, MALFORMED)
        except Closed:
            pass  # the server need not respond after the client has closed its side
    assert own_api.walk() == []


def test_clients_that_disconnect_hold_no_resources(own_api, instance):
    """More clients than threads and database connections."""
    half, whole = create(own_api, [*JSON, ("Content-Length", 1000)], BODY), message(own_api, "GET", "brokers")
    for data in [half, whole] * 30:
        with RawConnection(own_api) as connection:
            connection.send(data)
    for _ in range(60):
        assert own_api.walk() == []


# ---------------------------------------------------------------- Expect

def test_expect_100_continue_gets_100(api):
    with RawConnection(api) as connection:
        connection.send(create(api, [*JSON, ("Expect", "100-continue"), ("Content-Length", len(BODY))], b""))
        assert connection.file.readline() == b"HTTP/1.1 100 Continue\r\n" and connection.file.readline() == b"\r\n"
        assert check_response(connection.send(BODY).answer("POST"), "POST").status_code == 201


@pytest.mark.parametrize("length, key, status", [(10 << 20, True, 413), (28, False, 401)])
def test_a_refused_request_gets_no_100(api, length, key, status):
    with RawConnection(api) as connection:
        headers = [*JSON, ("Expect", "100-continue"), ("Content-Length", length)]
        connection.send(message(api, "POST", "brokers", headers, key=key))
        answer = check_response(connection.answer("POST"), "POST")
        assert (answer.status_code, answer.interim) == (status, [])


@pytest.mark.parametrize("key, status", [(False, 401), (True, 429)])
def test_a_refused_request_does_not_wait_for_its_body(instance, admin_factory, key, status):
    """It used to hold a thread for 200 ms. The fastest of five counts, because the machine has other load."""
    limited = Api(instance, admin_factory.key(admin_factory.organization(admin_factory.tenant(admin_factory.plan(1, WINDOW)))))
    ok(limited.get("me"))

    def refuse():
        with RawConnection(limited) as connection:
            connection.send(message(limited, "POST", "brokers", [*JSON, ("Content-Length", 10)], key=key))
            started = time.monotonic()
            answer = check_response(connection.answer("POST"), "POST")
            assert answer.status_code == status and "close" in answer.headers["Connection"] and connection.is_ended()
            return time.monotonic() - started

    assert min(refuse() for _ in range(5)) < 0.15


def test_an_unknown_expectation_is_refused(api):
    answer = exchange(api, create(api, [*JSON, ("Expect", "200-ok")], BODY), "POST")
    assert answer.status_code in (400, 417)


# ---------------------------------------------------------------- the request line and headers

def test_a_header_line_that_is_too_long_is_refused(api):
    for name, value in (("X-Long", "x" * 8190), ("X-Long", "x" * 100_000), ("x" * 9000, "x"), ("X-API-Key", "n" * 9000)):
        refused(exchange(api, message(api, "GET", "me", [(name, value)])), 400, MALFORMED)


def test_too_many_headers_are_refused(api):
    refused(exchange(api, message(api, "GET", "me", [(f"X-{n}", n) for n in range(200)])), 400, MALFORMED)


def test_the_maximum_number_of_headers_is_accepted(api):
    assert exchange(api, message(api, "GET", "me", [(f"X-{n}", "x" * 1000) for n in range(90)])).status_code == 200


def test_a_request_line_that_is_too_long_is_refused(api):
    for size in (8190, 100_000):
        answer = exchange(api, message(api, "GET", "brokers?q=" + "x" * size))
        assert answer.status_code in (400, 414)


@pytest.mark.parametrize("line", [
    "GET", "GET ", "GET  ", "/public/v1/me", "GET /public/v1/me HTTP", "GET /public/v1/me HTTP/1",
    "GET /public/v1/me HTTP/1.1 x",
    "GET /public/v1/me x HTTP/1.1", "GET /public/v1/me FTP/1.1", "GET /public/v1/me HTTP/1.1\x00",
    "G\x00T /public/v1/me HTTP/1.1",
    "GE T /public/v1/me HTTP/1.1", "GET\t/public/v1/me\tHTTP/1.1", " GET /public/v1/me HTTP/1.1",
    "GET /public/v1/\x01 HTTP/1.1",
    "GET /public/v1/me\x7f HTTP/1.1", "GET /public/v1/é HTTP/1.1", "GET public/v1/me HTTP/1.1", "{}",
    "G@T /public/v1/me HTTP/1.1", "(GET) /public/v1/me HTTP/1.1", "GET /public/v1/me http/1.1", "GET /public/v1/me HTTP/1.1.1",
    "GET /public/v1/me HTTP/a.b", "GET /public/v1/me#x HTTP/1.1", "GET *  HTTP/1.1", "PRI * HTTP/2.0", "\x16\x03\x01",
], ids=param_id)
def test_a_broken_request_line_is_refused(api, line):
    head = message(api, "GET", "me").split(b"\r\n", 1)[1]
    with RawConnection(api) as connection:
        try:
            answer = connection.send(line.encode("latin-1") + b"\r\n" + head).answer()
        except (Closed, Broken):
            return  # the response is HTTP/0.9, which has no headers, or empty
    check_response(answer)
    assert answer.status_code in (400, 404, 405), answer.content


@pytest.mark.parametrize("version", ["HTTP/2.0", "HTTP/3.0", "HTTP/9.9", "HTTP/1.2", "HTTP/0.9", "HTTP/11.1"])
def test_another_http_version_gets_a_valid_response(api, version):
    with RawConnection(api) as connection:
        try:
            answer = connection.send(message(api, "GET", "me", version=version)).answer()
        except (Closed, Broken):
            return
    check_response(answer)
    assert answer.status_code in (200, 400, 505)


@pytest.mark.parametrize("header", [b"no colon here", b": no name", b"A B: x", b"X-Nul: a\x00b", b"X-Cr: a\rb",
                                    b"X\x01: x", b"X : x", b"\xff: x", b"X-Bell: a\x07b", b"(X): x"], ids=param_id)
def test_a_broken_header_is_refused(api, header):
    refused(exchange(api, message(api, "GET", "me").replace(b"\r\n\r\n", b"\r\n" + header + b"\r\n\r\n")), 400, MALFORMED)


@pytest.mark.parametrize("hosts", [[], ["a", "b"], ["a b"], ["a/b"], ["localhost:x"], ["[::1"], ["\xff"], ["a" * 5000 + "/"]],
                         ids=param_id)
def test_a_request_with_a_wrong_host_is_refused(api, hosts):
    lines = message(api, "GET", "me").decode("latin-1").split("\r\n")
    data = "\r\n".join([lines[0], *(f"Host: {host}" for host in hosts), *lines[2:]]).encode("latin-1")
    refused(exchange(api, data), 400, MALFORMED)


def test_a_folded_header_does_not_hide_another(api):
    data = message(api, "GET", "me").replace(b"\r\n\r\n", b"\r\nX-Fold: a\r\n X-API-Key: x\r\n\r\n")
    assert exchange(api, data).status_code in (200, 400)


def test_lines_without_a_carriage_return_do_not_begin_a_second_request(api):
    with RawConnection(api) as connection:
        found = answers(connection.send(message(api, "GET", "me", [("Connection", "close")]).replace(b"\r\n", b"\n")))
    assert [answer.status_code for answer in found] in ([200], [400])


# ---------------------------------------------------------------- methods and forms

ODD = ["TRACE", "TRACK", "BREW", "PROPFIND", "CONNECTX", "get", "Get", "GETS", "GE", "M-SEARCH", "LOCK", "QUERY", "X" * 1000]


@pytest.mark.parametrize("at, allowed, methods", [
    ("me", "GET, HEAD, OPTIONS", ["POST", "PUT", "PATCH", "DELETE", *ODD]),
    ("brokers", "GET, HEAD, OPTIONS, POST", ["PUT", "PATCH", "DELETE", *ODD]),
    ("brokers/" + UNKNOWN, "DELETE, GET, HEAD, OPTIONS, PATCH, PUT", ["POST", "MKCOL", "COPY", *ODD]),
    ("openapi.yaml", "GET, HEAD, OPTIONS", ["POST", "PUT", "DELETE"]),
    ("docs/errors", "GET, HEAD, OPTIONS", ["POST", "PATCH"])], ids=param_id)
def test_a_405_names_the_allowed_methods(api, at, allowed, methods):
    options = api.options(at)
    assert (options.status_code, options.content, options.headers["Allow"]) == (204, b"", allowed)
    for method in methods:
        for headers, body in (([], b""), (JSON, BODY)):
            answer = exchange(api, message(api, method, at, headers, body), method)
            refused(answer, 405, "validation.method_not_allowed")
            assert answer.headers["Allow"] == allowed


def test_trace_does_not_echo_the_request(api):
    answer = exchange(api, message(api, "TRACE", "me", [("X-Secret", "swordfish")]))
    assert b"swordfish" not in answer.content and api.credential.secret.encode() not in answer.content


def test_options_of_the_server_reveals_no_internals(api):
    with RawConnection(api) as connection:
        answer = connection.send(message(api, "OPTIONS", "*")).answer("OPTIONS")
    assert answer.status_code in (200, 204, 400, 403, 404, 405)
    assert not re.search(rb"Apache/|mod_", answer.content + str(answer.headers).encode())


def test_connect_is_refused(api):
    with RawConnection(api) as connection:
        data = message(api, "GET", "me").replace(b"GET /public/v1/me", b"CONNECT localhost:22")
        try:
            assert connection.send(data).answer().status_code in (400, 403, 404, 405)
        except (Closed, Broken):
            pass


def test_http_1_0_gets_a_response_and_is_closed(api):
    with RawConnection(api) as connection:
        answer = check_response(connection.send(message(api, "GET", "me", version="HTTP/1.0")).answer())
        assert answer.status_code == 200 and connection.is_ended()
    assert exchange(api, create(api, JSON, BODY, version="HTTP/1.0"), "POST").status_code == 201


def test_an_absolute_request_target_is_accepted(api):
    assert exchange(api, message(api, "GET", api.url + "me")).status_code == 200


def test_another_hosts_url_is_not_fetched(api):
    for url in ("http://example.com/public/v1/me", "https://example.com/x", "http://127.0.0.1:1/public/v1/me", "ftp://x/",
                "https://"):
        with RawConnection(api) as connection:
            answer = connection.send(message(api, "GET", url)).answer()
        assert answer.status_code in (200, 400, 403, 404, 421)


# ---------------------------------------------------------------- several requests on a connection

def test_requests_sent_together_are_answered_in_order(api):
    with RawConnection(api) as connection:
        connection.send(b"".join(message(api, "GET", path)
                                 for path in ("me", "brokers?limit=1", "nothing", "openapi.yaml", "me")))
        assert [check_response(connection.answer()).status_code for _ in range(5)] == [200, 200, 404, 200, 200]


def test_bytes_after_a_refused_body_are_not_read_as_a_request(api):
    """Even if the body of an early refused request looks like a request."""
    inner = message(api, "POST", "brokers", JSON, b'{"name":"smuggled-body"}')
    last = message(api, "GET", "me", [("Connection", "close")])
    for headers, key, status in ((JSON, False, 401), ([("Content-Type", "text/plain")], True, 415)):
        with RawConnection(api) as connection:
            found = answers(connection.send(message(api, "POST", "brokers", headers, inner, key=key) + last))
        assert [answer.status_code for answer in found] in ([status, 200], [status])
    assert ok(api.get("brokers?q=smuggled-body"))["items"] == []


def test_a_refused_request_leaves_the_connection_usable_or_closed(api):
    """After each refusal the connection serves the next request or is closed cleanly."""
    for bad in (message(api, "POST", "brokers", JSON, b"{"), message(api, "GET", "brokers?limit=0"),
                message(api, "GET", "nothing"), message(api, "DELETE", "me"), message(api, "POST", "brokers", [], BODY),
                message(api, "GET", "me", key=False)):
        with RawConnection(api) as connection:
            first = check_response(connection.send(bad).answer())
            if "close" in first.headers.get("Connection", ""):
                assert connection.is_ended()
            else:
                assert check_response(connection.send(message(api, "GET", "me")).answer()).status_code == 200


# ---------------------------------------------------------------- HTTP/2

def curl(api, *args, paths=("me",)):
    """Sends requests with curl. Returns, for each path, the HTTP version, the status, the headers and the body."""
    command = ["curl", "-sS", "-i", "--noproxy", "*", "--cacert", api.instance.ca, "--max-time", str(TIMEOUT_S),
               "-H", "X-API-Key: " + api.credential.secret, *args, *[api.url + path for path in paths]]
    out = subprocess.run(command, capture_output=True, check=True, timeout=2 * TIMEOUT_S).stdout
    answers = []
    while out:
        head, _, out = out.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        version, status = first.split()[:2]
        headers = CaseInsensitiveDict(line.split(": ", 1) for line in lines)
        length = int(headers.get("Content-Length", len(out)))
        body, out = out[:length], out[length:]
        check(int(status), headers, body)
        answers.append((version, int(status), headers, body))
    return answers


def test_http_2_answers_like_http_1(api):
    path = "brokers/" + api.broker()["id"]
    for at in ("me", path, "nothing", "openapi.yaml"):
        (version_2, status_2, headers_2, body_2), = curl(api, "--http2", paths=[at])
        (version_1, status_1, headers_1, body_1), = curl(api, "--http1.1", paths=[at])
        assert (version_2, version_1) == ("HTTP/2", "HTTP/1.1") and status_1 == status_2
        assert headers_1["Content-Type"] == headers_2["Content-Type"]
        if status_1 == 200:
            assert body_1 == body_2 and headers_1.get("Etag") == headers_2.get("Etag")


def test_http_2_takes_bodies_and_many_requests_on_one_connection(own_api):
    words = ["-sS", "--http2", "--noproxy", "*", "--cacert", own_api.instance.ca, "-o", "/dev/null", "-H",
             "X-API-Key: " + own_api.credential.secret, "-w", "%{http_version} %{http_code} %{num_connects}\n",
             own_api.url + "brokers"]
    posts = [[*words, "--json", json.dumps({"name": f"Broker {n}"}), "--next"] for n in range(30)]
    done = subprocess.run(["curl", *sum(posts, [])[:-1]], capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    lines = done.stdout.splitlines()
    assert len(lines) == 30 and {line.rpartition(" ")[0] for line in lines} == {"2 201"}
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == 1
    assert len(own_api.walk(limit=100)) == 30


def test_concurrent_http_2_streams_all_get_a_response(own_api):
    made = [own_api.broker()["id"] for _ in range(20)]
    done = subprocess.run(["curl", "--no-progress-meter", "--http2", "--parallel", "--parallel-max", "20", "--noproxy", "*",
                           "--cacert", own_api.instance.ca, "-H", "X-API-Key: " + own_api.credential.secret,
                           "-w", "%{stderr}%{http_version}\n",
                           *[word for id in made for word in (own_api.url + "brokers/" + id, "-o", "-")]],
                          capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    assert sorted(re.findall(r'"id":"(brk_\w{26})"', done.stdout)) == made
    assert set(done.stderr.split()) == {"2"}


@pytest.mark.parametrize("framing", [[], ["-H", "Transfer-Encoding: chunked"]], ids=["length", "no length"])
@pytest.mark.parametrize("size", [1_048_577, 2_000_000, 20_000_000])
def test_a_body_that_is_too_large_is_refused_over_http_2(api, size, framing, tmp_path):
    """The rest of the body is read, so that clients do not get a stream error."""
    (tmp_path / "body").write_bytes(b" " * size)
    for _ in range(5):
        (version, status, _, body), = curl(api, "--http2", "-H", "Content-Type: application/json", *framing,
                                           "--data-binary", f"@{tmp_path / 'body'}", paths=["brokers"])
        assert (version, status, json.loads(body)["code"]) == ("HTTP/2", 413, "validation.body_too_large")


def test_an_unknown_key_with_a_large_body_is_refused_over_http_2(anonymous, tmp_path):
    (tmp_path / "body").write_bytes(b" " * 2_000_000)
    stranger = anonymous.with_(credential=SimpleNamespace(secret="unknown"))
    (version, status, _, body), = curl(stranger, "--http2", "-H", "Content-Type: application/json",
                                       "--data-binary", f"@{tmp_path / 'body'}", paths=["brokers"])
    assert (version, status) == ("HTTP/2", 401)


def test_the_refusal_of_a_huge_body_arrives_over_http_2(api):
    """The response is complete before the stream is reset (RFC 9113, section 8.1)."""
    h2 = pytest.importorskip("h2.connection")
    events = pytest.importorskip("h2.events")
    connection = h2.H2Connection()
    size, sent, status, body, ended = 1 << 22, 0, None, b"", False
    tls = api.connect("h2")
    connection.initiate_connection()
    connection.send_headers(1, [(":method", "POST"), (":path", "/public/v1/brokers"), (":scheme", "https"),
                                (":authority", "localhost"), ("x-api-key", api.credential.secret),
                                ("content-type", "application/json"), ("content-length", str(size))])
    while not ended:
        while sent < size and connection.local_flow_control_window(1) > 0 and status is None:
            piece = min(connection.local_flow_control_window(1), connection.max_outbound_frame_size, size - sent)
            connection.send_data(1, b" " * piece, end_stream=sent + piece == size)
            sent += piece
        tls.sendall(connection.data_to_send())
        for event in connection.receive_data(tls.recv(65536)):
            if isinstance(event, events.ResponseReceived):
                status = int(dict(event.headers)[b":status"])
            elif isinstance(event, events.DataReceived):
                body += event.data
            ended |= isinstance(event, events.StreamEnded)
    tls.close()
    assert (status, json.loads(body)["code"]) == (413, "validation.body_too_large") and sent < size


# ---------------------------------------------------------------- compression


@pytest.mark.parametrize("at", ["brokers", "openapi.yaml"])
def test_a_response_is_compressed_when_the_client_accepts_it(api, at):
    for _ in range(10):
        api.broker(name="x" * 200)
    plain = api.get(at, headers={"Accept-Encoding": "identity"})
    compressed = api.get(at, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers and compressed.headers["Content-Encoding"] == "gzip"
    assert "accept-encoding" in compressed.headers["Vary"].lower()
    if at == "brokers":
        assert compressed.json()["items"] == plain.json()["items"]
    else:
        assert compressed.content == plain.content


def test_the_openapi_document_is_not_compressed_for_each_request(anonymous, instance):
    """Compressing it takes 5 to 20 ms."""
    for _ in range(10):
        anonymous.get("openapi.yaml", headers={"Accept-Encoding": "gzip"})
    line = re.compile(rf'^{re.escape(anonymous.source)} .* 200 \d+ (\d+) ', re.M)
    eventually(lambda: len(line.findall(instance.access_log)) == 10, "the access log has the requests")
    assert min(int(microseconds) for microseconds in line.findall(instance.access_log)) < 2000


def test_a_compressed_body_is_smaller(api):
    for _ in range(5):
        api.broker(name="x" * 200)
    response = api.get("brokers", headers={"Accept-Encoding": "gzip"})
    assert len(gzip.compress(response.content)) < len(response.content) / 2


def test_without_a_credential_every_path_gets_401(anonymous):
    for at in ("nothing", "", "brokers/x/y"):
        refused(anonymous.get(at), 401, "unauthorized.auth_required")
    refused(anonymous.request("DELETE", "brokers"), 401, "unauthorized.auth_required")


def test_the_module_is_inactive_outside_its_location(api):
    url = api.url.replace("/public/v1/", "/")
    response = api.session.get(url + "public/v2/me")
    assert response.status_code == 404 and "X-Request-ID" not in response.headers


# ---------------------------------------------------------------- headers of every response

def test_ids_of_requests_differ(api):
    ids = {api.get("me").headers["X-Request-ID"] for _ in range(20)}
    assert len(ids) == 20


def test_the_access_log_has_the_id_of_a_request(api, instance):
    answer = api.raw(api.head_of("GET", "me", Connection="close", X_Long="x" * 9000))
    eventually(lambda: answer.headers["X-Request-ID"] in instance.error_log + instance.access_log, "a line: httpd logs after it answers")


def test_responses_are_not_cacheable(api, anonymous):
    for response in (api.get("me"), api.get("brokers"), api.get("nothing"), anonymous.get("me")):
        assert "no-store" in response.headers["Cache-Control"]
    assert "private" in api.get("brokers/" + api.broker()["id"]).headers["Cache-Control"]
