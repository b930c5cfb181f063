# SPDX-License-Identifier: Apache-2.0
"""Idempotency-Key: a repeated request is executed once and gets the same response."""

import uuid

import pytest
from client import Api, ok, refused
from wait import together


def new_key():
    return str(uuid.uuid4())


def keyed(api, key, body=None, **more):
    return api.post("brokers", json=body or {"name": "Ana"}, headers={"Idempotency-Key": key, **more})


def kept(instance, api):
    return instance.sql("select count(*) from neoapi.idempotency_key where organization_id = %s",
                        api.credential.organizations[0])[0][0]


def count(api):
    return len(api.walk(limit=100))


def test_a_repeated_request_is_replayed(own_api):
    key = new_key()
    first = keyed(own_api, key)
    again = keyed(own_api, key)
    assert ok(first, 201) and (again.status_code, again.content) == (201, first.content)
    for name in ("Location", "ETag", "Content-Type"):
        assert again.headers[name] == first.headers[name]
    assert count(own_api) == 1


def test_a_replay_has_a_header_that_marks_it(own_api):
    key = new_key()
    first, again = keyed(own_api, key), keyed(own_api, key)
    assert "Idempotent-Replayed" not in first.headers and again.headers["Idempotent-Replayed"] == "true"
    assert first.headers["X-Request-ID"] != again.headers["X-Request-ID"]
    assert int(again.headers["X-RateLimit-Remaining"]) < int(first.headers["X-RateLimit-Remaining"])


def test_a_hundred_concurrent_copies_create_one_broker_and_get_equal_responses(own_api, instance):
    key, body = new_key(), {"name": "Ana", "creci": "SP 1"}
    answers = together(*[lambda: keyed(own_api.with_(), key, body)] * 100)
    assert {(answer.status_code, answer.content) for answer in answers} == {(201, answers[0].content)}
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert count(own_api) == 1 and kept(instance, own_api) == 1


def test_concurrent_copies_of_several_requests_create_one_broker_each(own_api):
    keys = [new_key() for _ in range(10)] * 6
    answers = together(*[lambda key=key: (key, keyed(own_api.with_(), key).content) for key in keys])
    assert len(set(answers)) == 10 and count(own_api) == 10


def test_a_key_is_refused_where_a_creation_would_not_be_replayed(own_api):
    key, path = {"Idempotency-Key": new_key()}, "brokers/by-external-id/a"
    for method in ("PUT", "PATCH"):
        problem = refused(own_api.request(method, path, headers=key, json={"name": "A"}), 400, "validation.idempotency_key_invalid")
        assert problem["errors"][0]["field"] == "Idempotency-Key" and "left out" in problem["detail"]
    assert count(own_api) == 0
    ok(own_api.put(path, json={"name": "A"}), 201)
    assert ok(own_api.get(path, headers=key))["name"] == "A"
    ok(own_api.delete(path, headers=key), 204)  # which cannot create


def test_without_a_key_every_request_is_executed(own_api):
    assert own_api.broker()["id"] != own_api.broker()["id"]


@pytest.mark.parametrize("spelling", [str, str.upper, '"{}"'.format, lambda key: '"' + key.upper() + '"'])
def test_a_key_may_be_quoted_and_in_any_case(own_api, spelling):
    key = new_key()
    assert keyed(own_api, spelling(key)).content == keyed(own_api, key).content


@pytest.mark.parametrize("other", [{"name": "Bia"}, {"name": "Ana", "phone": "1"}])
def test_another_body_with_the_same_key_is_refused(own_api, other):
    key = new_key()
    first = keyed(own_api, key)
    refused(keyed(own_api, key, other), 409, "conflict.idempotency_key_reused")
    assert keyed(own_api, key).content == first.content and count(own_api) == 1


def test_another_body_with_the_same_key_is_refused_before_a_conflict(own_api):
    key = new_key()
    keyed(own_api, key, {"name": "Ana", "creci": "SP 1"})
    refused(keyed(own_api, key, {"name": "Bia", "creci": "SP 1"}), 409, "conflict.idempotency_key_reused")


def test_the_key_of_a_failed_request_can_be_used_again(own_api, instance):
    key = new_key()
    own_api.broker(creci="SP 1")
    refused(keyed(own_api, key, {"name": ""}), 400, "validation.broker.name_invalid")
    refused(keyed(own_api, key, {"name": "Ana", "creci": "sp1"}), 409, "conflict.duplicate")
    assert keyed(own_api.with_(credential="nonsense"), key).status_code == 401
    assert kept(instance, own_api) == 0
    assert "Idempotent-Replayed" not in keyed(own_api, key).headers
    assert count(own_api) == 2 and kept(instance, own_api) == 1


def test_every_credential_has_its_own_keys(own_api, instance, admin_factory):
    key = new_key()
    other = Api(instance, admin_factory.key(own_api.credential.organizations[0]))
    assert ok(keyed(own_api, key), 201)["id"] != ok(keyed(other, key), 201)["id"]
    refused(keyed(other, key, {"name": "Bia"}), 409, "conflict.idempotency_key_reused")
    assert count(own_api) == 2


def test_a_revoked_credential_gets_no_replay(own_api, admin_factory):
    key = new_key()
    ok(keyed(own_api, key), 201)
    admin_factory.revoke(own_api.credential)
    refused(keyed(own_api, key), 401, "unauthorized.revoked_credential")


def test_a_replay_returns_the_stored_response(own_api):
    key = new_key()
    first = keyed(own_api, key)
    path = "brokers/" + first.json()["id"]
    ok(own_api.patch(path, json={"name": "Bia"}))
    assert keyed(own_api, key).content == first.content
    ok(own_api.delete(path), 204)
    assert keyed(own_api, key).content == first.content and count(own_api) == 0


def test_a_key_is_kept_for_24_hours(own_api, instance):
    keyed(own_api, new_key())
    (left,), = instance.sql("select expires_at - now() from neoapi.idempotency_key where organization_id = %s",
                            own_api.credential.organizations[0])
    assert 23.9 * 3600 < left.total_seconds() <= 24 * 3600


def test_after_24_hours_a_key_can_be_used_again(own_api, instance):
    key = new_key()
    first = keyed(own_api, key)
    instance.sql("update neoapi.idempotency_key set expires_at = now() where organization_id = %s",
                 own_api.credential.organizations[0])
    again = keyed(own_api, key, {"name": "Bia"})
    assert ok(again, 201)["id"] != first.json()["id"] and "Idempotent-Replayed" not in again.headers
    assert keyed(own_api, key, {"name": "Bia"}).content == again.content and kept(instance, own_api) == 1


def test_concurrent_copies_with_an_expired_key_create_one_broker(own_api, instance):
    key = new_key()
    keyed(own_api, key)
    instance.sql("update neoapi.idempotency_key set expires_at = now() where organization_id = %s",
                 own_api.credential.organizations[0])
    answers = together(*[lambda: keyed(own_api.with_(), key)] * 12)
    assert {(answer.status_code, answer.content) for answer in answers} == {(201, answers[0].content)}
    assert count(own_api) == 2


# ---------------------------------------------------------------- the plan's limit


def test_the_plan_limits_what_is_stored(instance, admin_factory):
    plan = admin_factory.plan(idempotency_bytes=5000)
    tenant = admin_factory.tenant(plan)
    api = Api(instance, admin_factory.key(admin_factory.organization(tenant)))
    first, new = new_key(), {"operations": [{"method": "create", "data": {"name": "A"}}]}
    sent = keyed(api, first)
    assert ok(sent, 201)
    while (answer := keyed(api.with_(), new_key())).status_code == 201:  # over separate connections, to reach all processes
        assert count(api) < 20
    problem = refused(answer, 409, "conflict.limit_reached")
    assert (problem["limit"], problem["limit_value"]) == ("idempotency_bytes", 5000)
    assert 5000 / 2000 < count(api) == kept(instance, api)
    refused(api.post("brokers/batch", json=new, headers={"Idempotency-Key": new_key()}), 409, "conflict.limit_reached")
    again = keyed(api, first)
    assert (again.status_code, again.content) == (201, sent.content) and again.headers["Idempotent-Replayed"] == "true"
    refused(keyed(api, first, {"name": "Bia"}), 409, "conflict.idempotency_key_reused")
    ok(api.post("brokers", json={"name": "A"}), 201)
    ok(keyed(Api(instance, admin_factory.key(admin_factory.organization(tenant))), new_key()), 201)
    admin_factory.ctl("plan", "change", plan, "--idempotency-bytes", "unlimited")
    ok(keyed(api, new_key()), 201)


def test_a_large_response_uses_the_rest_of_the_limit(instance, admin_factory):
    """The size of a response is known only after the write."""
    api = Api(instance, admin_factory.key(admin_factory.organization(admin_factory.tenant(admin_factory.plan(idempotency_bytes=5000)))))
    operations = [{"method": "create", "data": {"name": f"A{n}"}} for n in range(50)]
    ok(api.post("brokers/batch", json={"operations": operations}, headers={"Idempotency-Key": new_key()}))
    refused(keyed(api, new_key()), 409, "conflict.limit_reached")
