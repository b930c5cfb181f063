# SPDX-License-Identifier: Apache-2.0
"""Reading, writing and deleting a resource by its external id."""

from urllib.parse import quote

import pytest
from batching import queued_events
from client import Api, ok, refused, wrong_fields
from factories import NAMES, unique
from wait import together


def at(collection, key):
    return f"{collection}/by-external-id/{quote(key, safe='')}"


@pytest.mark.parametrize("collection", list(NAMES))
def test_a_put_creates_and_then_replaces(own_api, factory, queued_events, collection):
    body, path, before = factory.body(collection), at(collection, key := unique()), len(queued_events())
    created = own_api.put(path, json=body | {"metadata": {"a": "b"}})
    made = ok(created, 201)
    assert made["external_id"] == key and made["metadata"] == {"a": "b"}
    assert created.headers["Location"].endswith(f"/{collection}/{made['id']}")
    replaced = own_api.put(path, json=body | {"external_id": key}, headers={"If-Match": created.headers["ETag"]})
    now = ok(replaced, 200)
    assert now["id"] == made["id"] and "metadata" not in now and "Location" not in replaced.headers
    refused(own_api.put(path, json=body, headers={"If-Match": created.headers["ETag"]}), 412, "conflict.precondition_failed")
    read = own_api.get(path)
    assert ok(read) == now == ok(own_api.get(f"{collection}/{made['id']}")) and read.headers["ETag"] == replaced.headers["ETag"]
    assert ok(own_api.get(path, params={"fields": "id"})) == {"id": made["id"]}
    assert own_api.get(path, headers={"If-None-Match": read.headers["ETag"]}).status_code == 304
    assert own_api.head(path).headers["ETag"] == read.headers["ETag"]
    assert own_api.delete(path).status_code == 204
    assert {own_api.get(path).status_code, own_api.delete(path).status_code} == {404}
    events = [event for event, _ in queued_events()[before:]]
    assert events == [f"{NAMES[collection]}.{what}" for what in ("created", "updated", "deleted")]


@pytest.mark.parametrize("collection", list(NAMES))
def test_a_patch_creates_and_then_merges(own_api, factory, queued_events, collection):
    body, path, before = factory.body(collection), at(collection, key := unique()), len(queued_events())
    created = own_api.patch(path, json=body | {"metadata": {"a": "b", "none": None}},
                            headers={"Content-Type": "application/merge-patch+json"})
    made = ok(created, 201)
    assert made["external_id"] == key and made["metadata"] == {"a": "b"}
    assert created.headers["Location"].endswith(f"/{collection}/{made['id']}")
    merged = own_api.patch(path, json={"metadata": {"c": "d"}}, headers={"If-Match": created.headers["ETag"]})
    assert ok(merged) == {**made, "metadata": {"a": "b", "c": "d"}, "updated_at": merged.json()["updated_at"]}
    assert "Location" not in merged.headers and own_api.get(path).headers["ETag"] == merged.headers["ETag"]
    refused(own_api.patch(path, json={}, headers={"If-Match": created.headers["ETag"]}), 412, "conflict.precondition_failed")
    assert ok(own_api.patch(path, json={"external_id": key})) == merged.json()  # nothing changes
    assert [event for event, _ in queued_events()[before:]] == [f"{NAMES[collection]}.{what}" for what in ("created", "updated")]


def test_a_patch_that_creates_needs_a_whole_body(own_api, factory):
    path = at("parties", "a")
    assert wrong_fields(own_api.patch(path, json={"name": None})).keys() == {"kind", "name", "roles"}
    refused(own_api.patch(path, json=factory.body("parties"), headers={"If-Match": "*"}), 412, "conflict.precondition_failed")
    for body in ([], None, 7):
        assert own_api.patch(path, json=body).status_code == 400
    ok(own_api.patch(path, json=factory.body("parties")), 201)
    for other in ("b", None, 1):
        assert wrong_fields(own_api.patch(path, json={"external_id": other})).keys() == {"external_id"}


def test_a_feed_without_a_status_leaves_a_reserved_property_reserved(own_api, factory):
    made = factory.offered(external_id=(key := unique()), media=[{"url": "https://img.example.com/1.jpg"}])
    factory.accepted(property_id=made["id"])
    now = ok(own_api.patch(at("properties", key), json={"sale_price": 97_000_000}))
    assert (now["status"], now["sale_price"], now["media"]) == ("under_contract", 97_000_000, made["media"])


@pytest.mark.parametrize("key", ["a/b", "a,b", "a b", "São João", "a+b", "100%", "%2F", "a?b#c", "x" * 100])
def test_any_external_id_can_be_in_the_path(own_api, factory, key):
    made = ok(own_api.put(at("brokers", key), json=factory.body("brokers")), 201)
    assert made["external_id"] == key
    assert ok(own_api.get(at("brokers", key))) == made
    assert own_api.delete(at("brokers", key)).status_code == 204


def test_invalid_requests_are_refused(own_api, factory):
    body = factory.body("parties")
    for other in ("b", None, 1):
        assert wrong_fields(own_api.put(at("parties", "a"), json=body | {"external_id": other})).keys() == {"external_id"}
    refused(own_api.put(at("parties", "a"), json=body, headers={"If-Match": "*"}), 412, "conflict.precondition_failed")
    refused(own_api.put(at("parties", "a"), json=[]), 400, "validation.malformed_json")
    assert wrong_fields(own_api.put(at("parties", "a"), json={})).keys() == {"kind", "name", "roles"}
    problem = refused(own_api.get(at("parties", "a")), 404, "not_found.party")
    assert problem["detail"] == "The organization has no party with this external id."
    assert own_api.walk("parties") == []


@pytest.mark.parametrize("raw, put, others", [
    ("x" * 101, 400, 404),  # too long for any resource
    ("%20", 400, 404), ("%FF", 400, 400), ("a%0A", 400, 400), ("%7F", 400, 400),
    ("a%00", 404, 404), ("", 404, 404), ("a/b", 404, 404), ("a/", 404, 404)])  # not a path of the API
def test_a_malformed_external_id_is_refused(own_api, factory, raw, put, others):
    path = "parties/by-external-id/" + raw
    answers = {method: own_api.request(method, path, json=factory.body("parties")) for method in ("PUT", "PATCH", "GET", "DELETE")}
    assert [one.status_code for one in answers.values()] == [put, put, others, others], [one.text for one in answers.values()]
    for one in answers.values():
        assert one.headers["Content-Type"].startswith("application/problem+json"), one.text
        if one.status_code == 400:
            assert wrong_fields(one).keys() == {"external_id"}


def test_only_resources_with_an_external_id_have_the_path(own_api):
    refused(own_api.get("webhooks/by-external-id/a"), 404, "not_found.route")
    refused(own_api.post("brokers/by-external-id/a", json={}), 405, "validation.method_not_allowed")


def test_scopes_apply(own_api, admin_factory, factory):
    viewer = Api(own_api.instance, admin_factory.key(own_api.credential.organizations[0], "org_viewer"))
    ok(own_api.put(at("brokers", key := unique()), json=factory.body("brokers")), 201)
    assert ok(viewer.get(at("brokers", key)))["external_id"] == key
    for answer in (viewer.put(at("brokers", key), json=factory.body("brokers")), viewer.delete(at("brokers", key))):
        refused(answer, 403, "forbidden.insufficient_permissions")


def test_other_unique_fields_are_a_conflict(own_api, factory):
    taken = factory.property()
    problem = refused(own_api.put(at("properties", "p"), json=factory.body("properties", code=taken["code"])), 409, "conflict.duplicate")
    assert problem["field"] == "code" and problem["existing_id"] == taken["id"]


def test_external_ids_are_separate_between_organizations(own_api, instance, admin_factory, factory):
    made = ok(own_api.put(at("brokers", key := unique()), json=factory.body("brokers")), 201)
    other_api = Api(instance, admin_factory.key())
    assert other_api.get(at("brokers", key)).status_code == other_api.delete(at("brokers", key)).status_code == 404
    other = ok(other_api.put(at("brokers", key), json=factory.body("brokers")), 201)
    assert other["id"] != made["id"] and ok(own_api.get(at("brokers", key))) == made


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_concurrent_writes_create_one_resource(own_api, factory, method):
    body = factory.body("brokers")
    for _ in range(5):
        path = at("brokers", key := unique())
        answers = together(*[lambda n=n: own_api.with_().request(method, path, json=body | {"name": f"Client {n}"})
                             for n in range(8)])
        assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert len(ok(own_api.get(f"brokers?external_id={key}"))["items"]) == 1


def test_a_put_does_not_revert_a_change_of_the_external_id(own_api, factory):
    for _ in range(10):
        made = factory.broker(external_id=(key := unique()))
        own, renamed = own_api.with_(), key + "-renamed"
        ok(together(lambda: own_api.patch("brokers/" + made["id"], json={"external_id": renamed}),
                    lambda: own.put(at("brokers", key), json={"name": "Put"}))[0])
        assert ok(own_api.get("brokers/" + made["id"]))["external_id"] == renamed
        found = own_api.get(at("brokers", key))
        assert found.status_code == 404 and ok(own_api.get(at("brokers", renamed)))["name"] == "Put" \
            or ok(found)["name"] == "Put"


def test_concurrent_deletions_all_get_a_response(own_api, factory):
    body, path = factory.body("brokers"), at("brokers", unique())
    def run(n, api):
        return [api.put(path, json=body) if n % 2 else api.delete(path) for _ in range(10)]
    for answers in together(*[lambda n=n: run(n, own_api.with_()) for n in range(8)]):
        assert {answer.status_code for answer in answers} <= {200, 201, 204, 404}
