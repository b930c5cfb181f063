# SPDX-License-Identifier: Apache-2.0
"""W3C Trace Context: the trace of a request is in the logs, in its events and in their deliveries."""

import re
import secrets

import pytest
from client import ok, refused
from wait import eventually
from webhook_fixtures import HERE, admin, module_admin_factory, module_instance, receiver, subscribe  # fixtures among them

import receiver as behaviours

CONF = HERE + "NeoAPIWebhookRetryDelays 0 1 600\n"
CHILD = "00-{}-([0-9a-f]{{16}})-01"


def new_trace():
    return secrets.token_hex(16)


def sent_with(trace):
    return {"traceparent": f"00-{trace}-{secrets.token_hex(8)}-01"}


def spans(trace, *arrivals):
    return [re.fullmatch(CHILD.format(trace), one.headers["traceparent"])[1] for one in arrivals]


def events(api):
    return ok(api.get("events"))["items"]


def test_a_delivery_continues_the_trace_of_its_request(admin, receiver):
    subscribe(admin, receiver.url)
    trace = new_trace()
    headers = sent_with(trace)
    made = ok(admin.post("brokers", json={"name": "Ana"}, headers=headers), 201)
    ok(admin.patch("brokers/" + made["id"], json={"name": "Bia"}))
    first, second = sorted(receiver.wait_for(2), key=lambda one: one.json["event_type"])
    assert spans(trace, first) != [headers["traceparent"].split("-")[2]] and "traceparent" not in second.headers
    logged = {one["type"]: one for one in events(admin)}
    assert logged["broker.created"]["trace_id"] == trace and "trace_id" not in logged["broker.updated"]
    assert all(re.fullmatch("req_.{26}", one["request_id"]) for one in logged.values())


def test_each_attempt_and_each_repetition_is_another_span(admin, receiver):
    receiver.behave(behaviours.one_after_the_other(behaviours.status(500), behaviours.ok))
    subscription, trace = subscribe(admin, receiver.url), new_trace()
    ok(admin.post("brokers", json={"name": "Ana"}, headers=sent_with(trace)), 201)
    delivery = receiver.wait_for(2)[1].id
    eventually(lambda: ok(admin.get(f"webhooks/{subscription['id']}/deliveries/{delivery}"))["status"] == "success", "a success")
    ok(admin.post(f"webhooks/{subscription['id']}/deliveries/{delivery}/retry"), 201)
    assert len(set(spans(trace, *receiver.wait_for(3)))) == 3


def test_every_write_keeps_the_trace(admin, receiver):
    subscription, trace = subscribe(admin, receiver.url, "broker.*", "lead.*"), new_trace()
    as_traced = {"headers": sent_with(trace)}
    ok(admin.post("brokers/batch", json={"operations": [{"method": "create", "data": {"name": "Ana"}}]}, **as_traced))
    broker = receiver.wait_for(1)[0].json["payload"]["id"]
    ok(admin.put("brokers/" + broker, json={"name": "Bia"}, **as_traced))
    ok(admin.delete("brokers/" + broker, **as_traced), 204)
    one, other = (ok(admin.post("leads", json={"name": "Marina", "email": f"{n}@example.com"}, **as_traced), 201) for n in "ab")
    ok(admin.post(f"leads/{one['id']}/merge", json={"lead_id": other["id"]}, **as_traced))
    ok(admin.post(f"webhooks/{subscription['id']}/test", **as_traced), 201)
    logged = events(admin)
    assert {one["type"] for one in logged} >= {"broker.created", "broker.updated", "broker.deleted", "lead.created",
                                               "lead.updated", "webhook.test"}
    assert {one.get("trace_id") for one in logged} == {trace}
    spans(trace, *receiver.wait_for(len(logged)))


@pytest.mark.parametrize("header", ["00-" + "0" * 32 + "-00f067aa0ba902b7-01", "nonsense", "00-" + "a" * 32 + "-" + "b" * 16 + "-01;x"])
def test_an_invalid_header_is_ignored(admin, receiver, header):
    subscribe(admin, receiver.url)
    ok(admin.post("brokers", json={"name": "Ana"}, headers={"traceparent": header}), 201)
    assert "traceparent" not in receiver.wait_for(1)[0].headers and "trace_id" not in events(admin)[0]


def test_without_a_trace_an_event_keeps_the_id_of_its_request_only(admin, module_instance):
    made = admin.broker()
    kept, = module_instance.sql("select octet_length(request_id) from neoapi.event where resource_id = %s", made["id"])
    assert kept == (30,)


def test_the_logs_have_the_trace(admin, module_instance):
    trace = new_trace()
    response = admin.get("brokers", headers=sent_with(trace))
    line = f"{trace} {response.headers['X-Request-ID']}"
    eventually(lambda: [one for one in module_instance.access_log.splitlines() if one.endswith(line)], "a line with " + line)
    plain = admin.get("brokers").headers["X-Request-ID"]
    eventually(lambda: [one for one in module_instance.access_log.splitlines() if one.endswith(f" - {plain}")], "a line without")


def test_a_message_of_the_error_log_has_the_trace(admin, module_instance):
    trace = new_trace()
    module_instance.sql("alter table neoapi.broker rename to kept")
    try:
        problem = refused(admin.get("brokers", headers=sent_with(trace)), 503, "internal.unavailable")
    finally:
        module_instance.sql("alter table neoapi.kept rename to broker")
    text = f"NEO0204: {problem['request_id']} {admin.credential.id} trace {trace}: "
    eventually(lambda: text in module_instance.error_log, "a message with the trace")
