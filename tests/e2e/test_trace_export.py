# SPDX-License-Identifier: Apache-2.0
"""NeoAPITraceCollector: spans of requests and delivery attempts arrive as OTLP/HTTP has them, and a collector that does not work affects
nothing else."""

import json
import re
import secrets
import threading

import pytest
from admin_pages import CONF as ADMIN_PAGES_CONF
from admin_pages import AdminPages
from client import Api, ok
from wait import TIMEOUT_S, eventually
from webhook_fixtures import admin, module_admin_factory, receiver, running_instance, subscribe  # fixtures among them

import receiver as behaviours
from receiver import Receiver

accept = behaviours.status(200, b"{}", Content_Type="application/json")


@pytest.fixture(scope="module")
def collector():
    with Receiver(accept) as one:
        yield one


@pytest.fixture(scope="module")
def module_instance(collector):
    """With one process, so that all spans come from it."""
    conf = f"NeoAPIWebhookRetryDelays 0 1 600\nNeoAPITraceCollector {collector.url}\n" + ADMIN_PAGES_CONF
    with running_instance("trace_export", conf, PROCESSES="1") as instance:
        yield instance


@pytest.fixture
def exported(collector):
    """The spans that have arrived since the beginning of the test."""
    collector.behave(accept)
    first = len(collector.arrivals)
    yield lambda: [span for arrival in collector.arrivals[first:] for span in spans(arrival)]
    collector.behave(accept)


# ---------------------------------------------------------------- the protocol

# The messages of opentelemetry/proto/trace/v1/trace.proto that occur, with their members in JSON: lowerCamelCase, integers of 64 bits
# as decimal strings; ids are hexadecimal (OTLP/HTTP). None of the others may occur.
INT64 = re.compile(r"-?\d+")
VALUE = {"stringValue": str, "intValue": INT64}
ATTRIBUTES = [{"key": str, "value": VALUE}]
SPAN = {"traceId": re.compile("[0-9a-f]{32}"), "spanId": re.compile("[0-9a-f]{16}"), "parentSpanId": re.compile("[0-9a-f]{16}"),
        "name": str, "kind": int, "startTimeUnixNano": INT64, "endTimeUnixNano": INT64, "attributes": ATTRIBUTES,
        "status": {"code": int}}
REQUEST = {"resourceSpans": [{"resource": {"attributes": ATTRIBUTES},
                              "scopeSpans": [{"scope": {"name": str, "version": str}, "spans": [SPAN]}]}]}


def check(value, form):
    if isinstance(form, dict):
        assert isinstance(value, dict) and set(value) <= set(form), (value, form)
        for key, one in value.items():
            check(one, form[key])
    elif isinstance(form, list):
        assert isinstance(value, list) and value, (value, form)
        for one in value:
            check(one, form[0])
    elif isinstance(form, re.Pattern):
        assert isinstance(value, str) and form.fullmatch(value), (value, form)
    else:
        assert isinstance(value, form) and not isinstance(value, bool), (value, form)


def attributes(one):
    pairs = [(pair["key"], *pair["value"].values()) for pair in one["attributes"]]
    assert len({key for key, _ in pairs}) == len(pairs)
    return dict(pairs)


def spans(arrival):
    assert arrival.path == "/v1/traces" and arrival.headers["content-type"] == "application/json"
    check(arrival.json, REQUEST)
    group, = arrival.json["resourceSpans"]
    resource, inner = attributes(group["resource"]), group["scopeSpans"]
    assert resource["service.name"] == "neoapi" and resource["service.version"] and resource["host.name"] and resource["process.pid"]
    found = [span for one in inner for span in one["spans"]]
    for span in found:
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
    return found


def traced(flags="01"):
    trace, parent = secrets.token_hex(16), secrets.token_hex(8)
    return trace, parent, {"headers": {"traceparent": f"00-{trace}-{parent}-{flags}"}}


def wait_for(exported, count, **members):
    def found():
        them = [span for span in exported() if members.items() <= span.items()]
        return len(them) >= count and them
    return eventually(found, f"{count} spans with {members}")


# ---------------------------------------------------------------- spans

def test_a_request_and_its_delivery_are_spans_of_the_trace(admin, receiver, exported):
    subscribe(admin, receiver.url)
    trace, parent, headers = traced()
    response = admin.post("brokers", json={"name": "Ana"}, **headers)
    assert response.status_code == 201
    arrival, = receiver.wait_for(1)
    request, attempt = sorted(wait_for(exported, 2, traceId=trace), key=lambda span: span["kind"])
    assert (request["name"], request["kind"], request["parentSpanId"], request["status"]) == ("createBroker", 2, parent, {})
    assert attributes(request) == {"http.request.method": "POST", "http.route": "/brokers", "http.response.status_code": "201",
                                   "neoapi.request_id": response.headers["X-Request-ID"]}
    assert (attempt["name"], attempt["kind"], attempt["parentSpanId"], attempt["status"]) == \
        ("deliverWebhook", 3, request["spanId"], {})
    assert attributes(attempt) == {"http.request.method": "POST", "http.response.status_code": "204", "server.address": "127.0.0.1",
                                   "server.port": str(receiver.port), "neoapi.delivery_id": arrival.id}
    assert arrival.headers["traceparent"] == f"00-{trace}-{attempt['spanId']}-01"
    assert int(attempt["startTimeUnixNano"]) // 10**6 >= int(request["startTimeUnixNano"]) // 10**6


def test_each_attempt_is_a_span_with_its_error(admin, receiver, exported):
    receiver.behave(behaviours.one_after_the_other(behaviours.status(500), behaviours.ok))
    subscribe(admin, receiver.url)
    trace, _, headers = traced()
    ok(admin.post("brokers", json={"name": "Ana"}, **headers), 201)
    first, second = sorted(wait_for(exported, 2, traceId=trace, kind=3), key=lambda span: int(span["startTimeUnixNano"]))
    assert first["parentSpanId"] == second["parentSpanId"] and first["spanId"] != second["spanId"]
    assert first["status"] == {"code": 2} and attributes(first)["error.type"] == "500"
    assert second["status"] == {} and attributes(second)["http.request.resend_count"] == "1"


def test_an_attempt_without_a_response_says_why(admin, exported):
    with behaviours.ClosedPort() as closed:
        subscribe(admin, closed.url)
        trace, _, headers = traced()
        ok(admin.post("brokers", json={"name": "Ana"}, **headers), 201)
        span, *_ = wait_for(exported, 1, traceId=trace, kind=3)
    assert span["status"] == {"code": 2} and attributes(span)["error.type"] == "connection_failed"
    assert "http.response.status_code" not in attributes(span)


def test_a_request_without_a_traceparent_begins_a_trace(admin, exported, module_instance):
    made = admin.post("brokers", json={"name": "Ana"})
    id = made.headers["X-Request-ID"]
    span, = eventually(lambda: [one for one in exported() if attributes(one).get("neoapi.request_id") == id], "its span")
    assert "parentSpanId" not in span
    event, = ok(admin.get("events"))["items"]
    assert event["trace_id"] == span["traceId"]
    line = f"{span['traceId']} {id}"
    eventually(lambda: line in module_instance.access_log, "the trace in the log")


def test_a_trace_that_is_not_sampled_is_not_exported(admin, receiver, exported):
    subscribe(admin, receiver.url)
    trace, parent, headers = traced("00")
    ok(admin.post("brokers", json={"name": "Ana"}, **headers), 201)
    assert re.fullmatch(f"00-{trace}-(?!{parent})[0-9a-f]{{16}}-00", receiver.wait_for(1)[0].headers["traceparent"])
    later, _, headers = traced()
    ok(admin.post("brokers", json={"name": "Bia"}, **headers), 201)
    wait_for(exported, 2, traceId=later)
    assert not [span for span in exported() if span["traceId"] == trace]


def test_spans_have_the_status_and_the_names_of_operations(admin, exported):
    sent = {}

    def send(name, status, route, *request, **more):
        trace, _, headers = traced()
        assert admin.request(*request, **headers, **more).status_code == status
        sent[trace] = (name, str(status), route)
    send("listBrokers", 200, "/brokers", "GET", "brokers", params={"email": "ana@example.com"})
    send("getBroker", 404, "/brokers/{id}", "GET", "brokers/brk_" + "0" * 26)
    send("createBroker", 400, "/brokers", "POST", "brokers", json={})
    send("getByExternalIdBroker", 404, "/brokers/by-external-id/{external_id}", "GET", "brokers/by-external-id/11144477735")
    send("GET", 404, None, "GET", "nothing")
    send("_OTHER", 405, None, "PROPFIND", "brokers")
    found = {one["traceId"]: one for trace in sent for one in wait_for(exported, 1, traceId=trace)}
    assert {trace: (one["name"], attributes(one)["http.response.status_code"], attributes(one).get("http.route"))
            for trace, one in found.items()} == sent
    assert all(one["status"] == {} for one in found.values())


def test_a_span_has_no_personal_data_and_no_secrets(admin, receiver, collector, exported):
    hook = subscribe(admin, receiver.url + "hook/secret-path?token=secret-query")
    trace, _, headers = traced()
    headers["headers"]["User-Agent"] = "agent-of-a-person"
    admin.get("brokers", params={"email": "ana@example.com"}, **headers)
    admin.get("brokers/by-external-id/11144477735", **headers)
    ok(admin.post("brokers", json={"name": "Ana Paula", "email": "ana@example.com"}, **headers), 201)
    wait_for(exported, 4, traceId=trace)
    text = json.dumps(exported())
    for word in ("ana@example.com", "Ana Paula", "11144477735", "secret-path", "secret-query", "agent-of-a-person", hook["secret"],
                 admin.credential.secret, admin.credential.id):
        assert word not in text, word


def test_a_host_that_does_not_deliver_exports_spans(collector, exported):
    conf = f"NeoAPIWebhookConcurrency 0\nNeoAPITraceCollector {collector.url}\n"
    with running_instance("trace_export_api_only", conf, PROCESSES="1") as instance:
        trace, _, headers = traced()
        assert Api(instance, None).get("me", **headers).status_code == 401
        span, = wait_for(exported, 1, traceId=trace)
    assert attributes(span)["http.response.status_code"] == "401"


# ---------------------------------------------------------------- collectors that do not work

@pytest.fixture
def metrics(module_instance):
    name = 'neoapi_trace_spans_total{outcome="%s"}'
    return lambda outcome: AdminPages(module_instance).samples()[name % outcome]


def hold(asked, closed):
    """Does not respond, and notes when the client has given up."""
    def behave(handler, _):
        asked.append(handler)
        handler.connection.settimeout(TIMEOUT_S)
        handler.connection.recv(1)
        closed.set()
        handler.close_connection = True
    return behave


def test_a_hung_collector_delays_no_request_and_no_delivery(admin, receiver, collector, exported):
    """While a request to the collector is in progress. A stall of the machine can exceed its time limit of ten seconds."""
    subscribe(admin, receiver.url)

    def is_delivered():
        asked, closed, count = [], threading.Event(), len(receiver.arrivals)
        collector.behave(hold(asked, closed))
        eventually(lambda: ok(admin.get("me")) and asked, "a request to the collector")
        admin.broker()
        receiver.wait_for(count + 1)
        return not closed.is_set()
    assert any(is_delivered() for _ in range(4))


def test_spans_are_dropped_and_counted_while_the_collector_fails(admin, collector, module_instance, exported, metrics):
    dropped = metrics("dropped")
    collector.behave(behaviours.status(503))
    eventually(lambda: ok(admin.get("me")) and metrics("dropped") > dropped, "spans are dropped")
    eventually(lambda: "NEO0306" in module_instance.error_log, "the reason in the log")
    line = next(one for one in module_instance.error_log.splitlines() if "NEO0306" in one)
    assert "NeoAPITraceCollector" in line
    collector.behave(accept)
    before = metrics("exported")
    trace, _, headers = traced()
    ok(admin.get("me", **headers))
    wait_for(exported, 1, traceId=trace)
    eventually(lambda: metrics("exported") > before, "spans are counted")


def test_the_last_spans_are_sent_when_httpd_stops(admin, module_instance, exported):
    """The collector has a second to accept them, which a busy machine can exceed."""
    def are_sent():
        eventually(lambda: ok(admin.get("me")) and exported(), "the collector works")
        trace, _, headers = traced()
        ok(admin.get("me", **headers))
        module_instance.command("stop-httpd")
        try:
            return [span for span in exported() if span["traceId"] == trace]
        finally:
            module_instance.command("start-httpd")
    assert any(are_sent() for _ in range(5))
