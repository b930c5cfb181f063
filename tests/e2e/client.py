# SPDX-License-Identifier: Apache-2.0
"""A client of the API. It checks that every response meets the API's general guarantees."""

import functools
import http.client
import json
import re
import socket
import ssl
import time
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import requests
import yaml
from requests.adapters import HTTPAdapter
from urllib3.util.ssl_ import ALPN_PROTOCOLS, create_urllib3_context
from wait import TIMEOUT_S, eventually

ULID = "[0-7][0-9a-hjkmnp-tv-z]{25}"
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
WINDOW = 86400  # maximum of a plan, in seconds

TITLES = {
    "validation": "Validation Failed", "unauthorized": "Authentication Required", "forbidden": "Access Denied",
    "not_found": "Resource Not Found", "conflict": "Resource Conflict", "rate_limit": "Rate Limit Exceeded",
    "internal": "Internal Server Error",
    405: "Method Not Allowed", 408: "Request Timeout", 412: "Precondition Failed", 413: "Content Too Large",
    415: "Unsupported Media Type", 503: "Service Unavailable",
}
KINDS = "broker|property|party|proposal|contract|document|lead|webhook"
# All error codes by status.
CODES = {
    400: r"validation\.(failed|required|unknown_field|malformed_json|malformed_request|body_required|limit_out_of_range"
         r"|cursor_invalid|cursor_expired|position_expired|unknown_parameter|parameter_invalid|organization_required|idempotency_key_invalid|batch_too_large"
         rf"|({KINDS}|subject|whatsapp|conversation)\.[a-z0-9_]+_(required|invalid|not_found)|whatsapp\.template_rejected)",
    401: r"unauthorized\.(auth_required|invalid_credential|revoked_credential|expired_credential)",
    403: r"forbidden\.(insufficient_permissions|organization|network|by_server)",
    404: rf"not_found\.(route|{KINDS}|delivery|conversation|media|event)",
    405: r"validation\.method_not_allowed",
    408: r"validation\.request_timeout",
    409: r"conflict\.(duplicate|in_use|invalid_transition|idempotency_key_reused|opted_out|window_closed|transaction_type|"
            r"property_unavailable|proposal_expired|proposal_not_accepted|proposal_mismatch|parties_missing|signatures_missing|"
            r"reason_required|field_locked|not_deletable|contract_active|property_reserved|limit_reached)",
    412: r"conflict\.precondition_failed",
    413: r"validation\.body_too_large",
    415: r"validation\.unsupported_media_type",
    429: r"rate_limit\.(exceeded|exports|concurrent_requests)",
    500: r"internal\.unexpected",
    503: r"internal\.(unavailable|query_timeout|statement_timeout|provider_unavailable)",
}
# Errors that httpd detects keep their HTTP status.
CODES.update(dict.fromkeys([411, 414, 417, 431, 501, 505], r"validation\.malformed_request"))
TYPES = {400: "validation", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "validation", 408: "validation",
         409: "conflict", 412: "conflict", 413: "validation", 415: "validation", 429: "rate_limit", 500: "internal",
         503: "internal", **dict.fromkeys([411, 414, 417, 431, 501, 505], "validation")}
REQUIRED_MEMBERS = {"type", "title", "status", "detail", "code", "request_id", "timestamp", "documentation_url"}
OPTIONAL_MEMBERS = {"instance", "errors", "retry_after", "field", "existing_id", "window_expires_at", "failures", "limit",
                    "limit_value"}
INTERNALS = re.compile("sqlstate|relation|postgres|libpq|neoapi\\.|/src/|\\.c:|constraint", re.I)  # which no response may reveal


def moment(text):
    """The seconds since 1970 of a timestamp, which must have the format of responses."""
    assert re.fullmatch(MOMENT, text), text
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp()


def check_limits(status, headers, code, path=None):
    limit, remaining, reset = (headers.get(f"X-RateLimit-{name}", "") for name in ("Limit", "Remaining", "Reset"))
    for value in (limit, remaining, reset):
        assert re.fullmatch(r"\d+", value), dict(headers)
    now = time.time()
    policy = re.fullmatch(r'"(plan|address)";q=(\d+);w=(\d+)', headers.get("RateLimit-Policy", ""))
    left = re.fullmatch(r'"(plan|address)";r=(\d+);t=(\d+)', headers.get("RateLimit", ""))
    assert policy and left and (policy[1], policy[2]) == (left[1], limit) and left[2] == remaining, dict(headers)
    assert now - 2 * TIMEOUT_S <= int(reset) - int(left[3]) <= now + 1, dict(headers)  # when the request was counted
    assert 0 <= int(remaining) <= int(limit) and int(limit) > 0, dict(headers)
    assert now - TIMEOUT_S <= int(reset) <= now + WINDOW + 1, dict(headers)
    if status == 429 and code != "rate_limit.concurrent_requests" and not (path or "").endswith(("/batch", "/export", "portal-problems", "/oauth/token")):  # other limits
        assert int(remaining) == 0, dict(headers)


def check_problem(status, headers, problem, path):
    assert headers.get("Content-Type") == "application/problem+json", dict(headers)
    assert REQUIRED_MEMBERS <= set(problem) <= REQUIRED_MEMBERS | OPTIONAL_MEMBERS, problem
    assert problem["status"] == status and type(problem["status"]) is int, problem
    assert problem["type"] == TYPES[status] and problem["title"] == TITLES.get(status, TITLES[problem["type"]]), problem
    assert re.fullmatch(CODES[status], problem["code"]), problem
    assert problem["request_id"] == headers["X-Request-ID"], problem
    assert abs(moment(problem["timestamp"]) - time.time()) < TIMEOUT_S, problem
    assert re.fullmatch(r"https?://[^ #]+[^/ #]/errors#" + re.escape(problem["code"]), problem["documentation_url"]), problem
    assert isinstance(problem["detail"], str) and problem["detail"].strip(), problem
    assert not INTERNALS.search(problem["detail"]), problem
    if path is not None:
        assert problem.get("instance", path) == path, problem
    check_items(status, problem)
    assert "existing_id" not in problem or problem["code"] == "conflict.duplicate", problem
    assert "window_expires_at" not in problem or problem["code"] == "conflict.window_closed", problem
    has_field = problem["code"] in ("conflict.duplicate", "conflict.contract_active", "conflict.property_reserved")
    assert ("field" in problem) <= has_field, problem
    has_limit = problem["code"] in ("conflict.limit_reached", "rate_limit.concurrent_requests")
    assert {"limit", "limit_value"} & set(problem) == ({"limit", "limit_value"} if has_limit else set()), problem
    assert ("retry_after" in problem) == (status == 429), problem
    if status in (429, 503):
        assert re.fullmatch(r"[1-9]\d*", headers.get("Retry-After", "")), dict(headers)
    if status == 429:
        assert problem["retry_after"] == int(headers["Retry-After"]), problem
        if problem["code"] == "rate_limit.exceeded":
            assert abs(time.time() + problem["retry_after"] - int(headers["X-RateLimit-Reset"])) < TIMEOUT_S, problem
    if status == 405:
        assert headers.get("Allow"), dict(headers)
    for result in problem.get("failures", []):
        assert set(result) == {"index", "status", "error"}, problem
        check_problem(result["status"], headers, result["error"], path)


def check_items(status, problem):
    if "errors" not in problem:
        assert problem["code"] != "validation.failed", problem
        return
    assert status == 400 and problem["errors"], problem
    for item in problem["errors"]:
        assert set(item) == {"field", "message", "code"}, problem
        assert all(isinstance(value, str) for value in item.values()) and item["message"], problem
        assert re.fullmatch(CODES[400], item["code"]), problem
    single = len(problem["errors"]) == 1
    assert problem["code"] == (problem["errors"][0]["code"] if single else "validation.failed"), problem


def check(status, headers, body, method="GET", path=None):
    """Asserts what every response of the API guarantees. `body` is decompressed bytes."""
    assert re.fullmatch("req_" + ULID, headers.get("X-Request-ID", "")), (status, dict(headers), body[:500])
    problem = json.loads(body) if status >= 400 and body else {}
    check_limits(status, headers, problem.get("code"), path)
    if method == "HEAD" or status in (204, 304):
        assert not body, body
        return
    if status in (400, 401) and headers.get("Content-Type") == "application/json":
        assert (path or "").endswith("/oauth/token") and {"error", "error_description"} <= set(problem), problem
    elif status >= 400:
        check_problem(status, headers, problem, path)
    elif headers.get("Content-Type") == "application/json":
        json.loads(body)
    assert status != 500, body  # no test provokes one


class Answer:
    """The response to raw bytes."""

    def __init__(self, response):
        self.status_code, self.headers, self.content = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.content)


@functools.lru_cache(maxsize=16)
def tls_context(authority):
    """A TLS context that trusts only this certificate. Cached, because creating it is slow."""
    context = create_urllib3_context()
    context.load_verify_locations(cadata=authority)
    # urllib3 sets the protocols for each connection, which frees those that another thread may be using.
    context.set_alpn_protocols(ALPN_PROTOCOLS)
    context.set_alpn_protocols = lambda _: None
    return context


class Adapter(HTTPAdapter):
    """Connects from the address `source`. The certificate must be that of localhost."""

    def __init__(self, source, authority):
        self.source, self.authority = source, authority
        super().__init__(pool_maxsize=64)

    def init_poolmanager(self, *args, **more):
        if self.source:
            more["source_address"] = (self.source, 0)
        super().init_poolmanager(*args, assert_hostname="localhost", ssl_context=tls_context(self.authority), **more)

    def cert_verify(self, conn, *_):
        """The context has the certificate: do not load a file for each connection."""
        conn.cert_reqs, conn.ca_certs = "CERT_REQUIRED", None


@functools.lru_cache(maxsize=64)
def shared_adapter(source, authority, generation):
    """Clients share connections, because a TLS handshake costs more than most requests. They are not shared across a restart of
    httpd (see Instance.generation), which closes idle connections, possibly while a request is being sent."""
    return Adapter(source, authority)


class Api:
    """Requests to one instance with one credential over persistent connections.

    api.get("brokers", params={...}), post("brokers", json={...}), patch, put, delete, head, options; paths are below the base.
    `headers` are additional headers; a value of None removes one. `with_(…)` returns a client with separate connections and
    another credential (None: none), organization (X-Organization-ID), source (local address) or url.
    """

    def __init__(self, instance, credential=None, organization=None, source=None, url=None):
        self.instance, self.credential, self.organization, self.source = instance, credential, organization, source
        self.url = url or instance.url
        self.session = requests.Session()
        self.session.trust_env = False
        self.share_connections()
        self.session.headers["User-Agent"] = "neoapi-tests"
        secret = getattr(credential, "secret", credential)
        if secret is not None:
            self.session.headers["X-API-Key"] = secret
        if organization:
            self.session.headers["X-Organization-ID"] = organization

    def share_connections(self):
        self.generation, self.is_sharing = self.instance.generation, True
        self.session.mount("https://", shared_adapter(self.source, Path(self.instance.ca).read_text(), self.generation))

    def with_(self, **changes):
        now = {name: getattr(self, name) for name in ("credential", "organization", "source", "url")}
        other = Api(self.instance, **{**now, **changes})
        other.session.mount("https://", Adapter(other.source, Path(self.instance.ca).read_text()))
        other.is_sharing = False
        return other

    def request(self, method, path="", **more):
        url = path if path.startswith("https://") else self.url + path
        more.setdefault("timeout", TIMEOUT_S)
        if self.generation != self.instance.generation:
            self.share_connections()
        response = self.send(method, url, **more)
        check(response.status_code, response.headers, response.content, method, urlsplit(response.url).path)
        return response

    def send(self, method, url, **more):
        """Just after a restart httpd may end a surplus process, and with it a connection on which a request is being sent: then
        a GET is retried (RFC 9112, section 9.3.1). At other times a connection that is closed without a response is an
        error."""
        try:
            return self.exchange(method, url, **more)
        except requests.ConnectionError as wrong:
            is_restarting = time.monotonic() - self.instance.restarted_at < 10
            if method != "GET" or not is_restarting or not self.is_sharing or "RemoteDisconnected" not in str(wrong):
                raise
            return self.exchange(method, url, **more)

    def exchange(self, method, url, params=None, **more):
        if params:
            # a percent-encoded comma does not separate values
            url += "?" + urlencode({name: value for name, value in params.items() if value is not None}, doseq=True, safe=",")
        return self.session.request(method, url, allow_redirects=False, **more)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, json=None, **more):
        return self.request("POST", path, json=json, **more)

    def patch(self, path, json=None, **more):
        return self.request("PATCH", path, json=json, **more)

    def put(self, path, json=None, **more):
        return self.request("PUT", path, json=json, **more)

    def delete(self, path, **more):
        return self.request("DELETE", path, **more)

    def head(self, path, **more):
        return self.request("HEAD", path, **more)

    def options(self, path, **more):
        return self.request("OPTIONS", path, **more)

    def description(self):
        """The OpenAPI document. Parsing YAML in Python takes seconds."""
        return yaml.load(self.get("openapi.yaml").content, getattr(yaml, "CSafeLoader", yaml.SafeLoader))

    def connect(self, *protocols):
        """A TLS connection for raw bytes; `protocols` are offered by ALPN."""
        at = urlsplit(self.url)
        context = ssl.create_default_context(cafile=self.instance.ca)
        if protocols:
            context.set_alpn_protocols(protocols)
        plain = socket.create_connection((at.hostname, at.port), timeout=TIMEOUT_S,
                                         source_address=(self.source, 0) if self.source else None)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname="localhost")

    def raw(self, data, method="GET", connection=None):
        """Sends bytes, reads one response and checks it. `data` may be an iterable of pieces."""
        own = connection or self.connect()
        try:
            for piece in [data] if isinstance(data, bytes) else data:
                own.sendall(piece)
            response = http.client.HTTPResponse(own, method=method)
            response.begin()
            answer = Answer(response)
        finally:
            if connection is None:
                own.close()
        check(answer.status_code, answer.headers, answer.content, method)
        return answer

    def head_of(self, method, path, **headers):
        """A request line and headers for `raw`: head_of("POST", "brokers", Content_Length="5")."""
        secret = getattr(self.credential, "secret", self.credential)
        lines = [f"{method} {urlsplit(self.url).path}{path} HTTP/1.1", f"Host: {urlsplit(self.url).netloc}"]
        lines += [f"X-API-Key: {secret}"] if secret else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return "".join(line + "\r\n" for line in [*lines, ""]).encode()

    def broker(self, **fields):
        """Creates a broker, by default with only a name, and returns it."""
        response = self.post("brokers", json={"name": "Ana Paula Ribeiro", **fields})
        assert response.status_code == 201, response.text
        return response.json()

    def until(self, status, path, **more):
        """Repeats a GET until the response has the status, and returns it."""
        def ask():
            response = self.get(path, **more)
            return [response] if response.status_code == status else None
        return eventually(ask, f"{status} for {path}")[0]

    def wait_until_after(self, instant):
        """Waits until the server's clock is after a timestamp, so that the next one is later."""
        eventually(lambda: moment(self.get("nothing").json()["timestamp"]) > moment(instant), "a later millisecond")

    def walk(self, collection="brokers", **params):
        """The items of all pages of a list, following end_cursor."""
        items, cursor = [], None
        while True:
            page = ok(self.get(collection, params={**params, **({"cursor": cursor} if cursor else {})}))
            items += page["items"]
            if not page["page_info"]["has_next_page"]:
                return items
            cursor = page["page_info"]["end_cursor"]


def ok(response, status=200):
    """The body of a response, which must have the status."""
    assert response.status_code == status, (response.status_code, response.content)
    return response.json() if response.content else None


def refused(response, status, code, **fields):
    """Asserts that a response is this problem, and returns it. `fields` are the codes of invalid fields by path, with __ for a
    dot."""
    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code), problem
    if fields:
        found = sorted((item["field"], item["code"]) for item in problem["errors"])
        assert found == sorted((name.replace("__", "."), code) for name, code in fields.items()), problem
    return problem


def wrong_fields(response):
    """The codes of a 400 response by field."""
    assert response.status_code == 400, (response.status_code, response.content)
    return {item["field"]: item["code"] for item in response.json().get("errors", [])}
