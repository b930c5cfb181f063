# SPDX-License-Identifier: Apache-2.0
"""HTTP: HTTP/2, compression, methods, sizes, paths, malformed requests."""

import gzip
import json
import re
import subprocess
from types import SimpleNamespace

import pytest
from client import check, ok, refused
from wait import TIMEOUT_S, eventually

UNKNOWN_BROKER = "brk_" + "0" * 26


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
        headers = {"-".join(word.capitalize() for word in name.split("-")): value for name, _, value in
                   (line.partition(": ") for line in lines)}
        for name in ("X-Request-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"):
            headers[{"X-Request-Id": "X-Request-ID"}.get(name, name.replace("Ratelimit", "RateLimit"))] = headers.get(name, "")
        length = int(headers.get("Content-Length", len(out)))
        body, out = out[:length], out[length:]
        check(int(status), headers, body)
        answers.append((version, int(status), headers, body))
    return answers


# ---------------------------------------------------------------- HTTP/2


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


# ---------------------------------------------------------------- methods


@pytest.mark.parametrize("at, methods", [
    ("me", ["POST", "PUT", "PATCH", "DELETE", "FOO", "PROPFIND"]),
    ("brokers", ["PUT", "PATCH", "DELETE", "FOO", "LOCK"]),
    ("brokers/" + UNKNOWN_BROKER, ["POST", "FOO", "MKCOL", "COPY"]),
    ("openapi.yaml", ["POST", "PUT", "DELETE"]),
    ("docs/errors", ["POST", "PATCH"]),
])
def test_a_405_names_the_allowed_methods(api, at, methods):
    for method in methods:
        for more in ({}, {"json": {"name": "Ana"}}):
            response = api.request(method, at, **more)
            refused(response, 405, "validation.method_not_allowed")
            assert response.headers["Allow"] == api.options(at).headers["Allow"]


def test_a_method_is_case_sensitive(api):
    for method in ("get", "Get", "GETS", "GE"):
        answer = api.raw(api.head_of(method, "me", Connection="close"), method)
        assert (answer.status_code, answer.json()["code"]) == (405, "validation.method_not_allowed")


def test_trace_is_refused_like_any_other_method(api):
    assert api.raw(api.head_of("TRACE", "me", Connection="close"), "TRACE").status_code == 405


# ---------------------------------------------------------------- sizes


def padded(size):
    body = b'{"name": "Ana"}'
    return body + b" " * (size - len(body))


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_has_at_most_a_megabyte(api, chunked):
    def post(size):
        data = padded(size)
        pieces = (data[at:at + 65536] for at in range(0, size, 65536))
        return api.with_().post("brokers", data=pieces if chunked else data, headers={"Content-Type": "application/json"})

    assert post(1 << 20).status_code == 201
    refused(post((1 << 20) + 1), 413, "validation.body_too_large")


def test_the_maximum_body_size_is_a_setting_of_the_host(second_host_api):
    post = dict(headers={"Content-Type": "application/json"})
    assert second_host_api.post("brokers", data=padded(4096), **post).status_code == 201
    refused(second_host_api.post("brokers", data=padded(4097), **post), 413, "validation.body_too_large")
    refused(second_host_api.put("brokers/" + UNKNOWN_BROKER, data=padded(5000), **post), 413, "validation.body_too_large")


def test_a_client_that_expects_100_need_not_send_a_large_body(second_host_api):
    head = second_host_api.head_of("POST", "brokers", Content_Type="application/json", Content_Length="99999999",
                                   Expect="100-continue")
    assert second_host_api.raw(head).status_code == 413


def test_a_client_that_expects_100_gets_it(api):
    data = b'{"name": "Ana"}'
    connection = api.connect()
    connection.sendall(api.head_of("POST", "brokers", Content_Type="application/json", Content_Length=len(data),
                                   Expect="100-continue"))
    assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
    assert api.raw(data, "POST", connection).status_code == 201
    connection.close()


def test_an_unexpected_body_has_no_effect(own_api):
    path = "brokers/" + own_api.broker()["id"]
    assert ok(own_api.get(path, json={"name": "Bia"}))["name"] != "Bia"
    assert own_api.delete(path, json={"x": 1}).status_code == 204
    assert ok(own_api.get("brokers", data=b"x" * 100_000)) and ok(own_api.get("me"))


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize("at", ["", "nothing", "brokers/", f"brokers/{UNKNOWN_BROKER}/", f"brokers/{UNKNOWN_BROKER}/x",
                                "Brokers", "broker",
                                "me/", "me/x", "ME", "openapi.yml", "openapi.yaml/", "docs/x", "docs/errors/", "estates",
                                f"brokers/{UNKNOWN_BROKER}/deliveries", "webhooks/x/retry", "v1/brokers",
                                "brokers%2F" + UNKNOWN_BROKER, "brokers.json", "x" * 3000, "%E2%82%AC", "a;b",
                                "me%20", "index.html", "public/v1/me"])
def test_an_unknown_path_is_not_found(api, at):
    for method in ("GET", "POST", "DELETE"):
        response = api.request(method, at)
        refused(response, 404, "not_found.route")


@pytest.mark.parametrize("target", ["//brokers", "/./brokers", "/x/../brokers", "/brokers/%2e%2e/me", "/..%2f..%2fetc/passwd",
                                    "/brokers/%zz", "/%", "/%c0%ae/", "/brokers%5Cx", "/%0d%0aX-Evil:%201",
                                    "/brokers/%ff"])
def test_a_malformed_path_gets_a_problem(api, target):
    answer = api.raw(api.head_of("GET", target[1:], Connection="close"))
    assert answer.status_code in (200, 400, 404)
    assert "X-Evil" not in answer.headers


def test_without_a_credential_every_path_gets_401(anonymous):
    for at in ("nothing", "", "brokers/x/y"):
        refused(anonymous.get(at), 401, "unauthorized.auth_required")
    refused(anonymous.request("DELETE", "brokers"), 401, "unauthorized.auth_required")


def test_the_module_is_inactive_outside_its_location(api):
    url = api.url.replace("/public/v1/", "/")
    response = api.session.get(url + "public/v2/me")
    assert response.status_code == 404 and "X-Request-ID" not in response.headers


# ---------------------------------------------------------------- broken requests


@pytest.mark.parametrize("broken", [
    {"X_Long": "x" * 9000},
    {f"X_{n}": "x" for n in range(120)},
    {"Host": ""},
    {"Transfer_Encoding": "gzip, x"},
    {"Content_Length": "x"},
    {"Content_Length": "-5"},
    {"Bad Name": "x"},
], ids=["long header", "many headers", "two hosts", "unknown coding", "no number", "negative", "space in a name"])
def test_a_broken_head_gets_a_problem(api, broken):
    answer = api.raw(api.head_of("POST", "brokers", Connection="close", Content_Type="application/json", **broken))
    assert answer.status_code in (400, 413) or "Transfer_Encoding" in broken, answer.content
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("body", [b"zz\r\nx\r\n0\r\n\r\n", b"-1\r\n", b"5\r\n{}\r\n0\r\n\r\n"])
def test_a_broken_body_gets_a_problem(api, body):
    head = api.head_of("POST", "brokers", Connection="close", Content_Type="application/json", Transfer_Encoding="chunked")
    answer = api.raw([head, body])
    assert answer.status_code in (400, 413) and answer.json()["type"] == "validation"


def test_the_access_log_has_the_id_of_a_request(api, instance):
    answer = api.raw(api.head_of("GET", "me", Connection="close", X_Long="x" * 9000))
    eventually(lambda: answer.headers["X-Request-ID"] in instance.error_log + instance.access_log, "a line: httpd logs after it answers")


# ---------------------------------------------------------------- headers of every response


def test_ids_of_requests_differ(api):
    ids = {api.get("me").headers["X-Request-ID"] for _ in range(20)}
    assert len(ids) == 20


def test_a_clients_request_id_is_ignored(api):
    sent = "req_01jd3x8m5t9w2q7r4y6z0a1b3c"
    assert api.get("me", headers={"X-Request-ID": sent}).headers["X-Request-ID"] != sent


def test_responses_are_not_cacheable(api, anonymous):
    for response in (api.get("me"), api.get("brokers"), api.get("nothing"), anonymous.get("me")):
        assert "no-store" in response.headers["Cache-Control"]
    assert "private" in api.get("brokers/" + api.broker()["id"]).headers["Cache-Control"]


def test_a_kept_connection_serves_many_requests(api):
    connection = api.connect()
    for at, status in [("me", 200), ("nothing", 404), ("brokers?limit=1", 200), ("brokers/" + UNKNOWN_BROKER, 404),
                       ("me", 200)]:
        assert api.raw(api.head_of("GET", at), connection=connection).status_code == status
    connection.close()
