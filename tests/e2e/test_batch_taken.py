# SPDX-License-Identifier: Apache-2.0
"""Validation of batches: permissions, sizes, malformed bodies and rate limits."""

import pytest
from batching import count, create, delete, fields, results, send, update
from client import WINDOW, Api, ok, refused, wrong_fields
from factories import NAMES, ResourceFactory, unique
from wait import together


# ---------------------------------------------------------------- permissions


def test_the_scope_is_the_resources_write_scope(instance, principals, admin_factory):
    viewer = Api(instance, principals.viewer)
    refused(send(viewer, create(name="A")), 403, "forbidden.insufficient_permissions")
    refused(send(viewer, collection="parties"), 403, "forbidden.insufficient_permissions")
    results(send(Api(instance, principals.editor), create(name="A")), 201)


def test_a_batch_does_not_find_another_organizations_resources(own_api, instance, principals):
    other = Api(instance, principals.other)
    theirs, factory = other.broker(creci="theirs"), ResourceFactory(own_api)
    done = results(send(own_api, update(theirs, name="X"), delete(theirs), create(name="A", creci="theirs")), 404, 404, 201)
    assert all(result["error"]["code"] == "not_found.broker" for result in done[:2])
    refused(send(own_api, delete(theirs), atomic=True), 404, "not_found.broker")
    done = results(send(own_api, create(**factory.body("parties", broker_id=theirs["id"])), collection="parties"), 400)
    assert fields(done[0]) == {"broker_id": "validation.party.broker_id_not_found"}
    assert ok(other.get("brokers/" + theirs["id"])) == theirs


# ---------------------------------------------------------------- validation


def test_a_batch_has_from_one_to_a_hundred_operations(own_api):
    refused(send(own_api), 400, "validation.broker.operations_invalid")
    results(send(own_api, create(name="A")), 201)
    results(send(own_api, *[create(name="A")] * 100), *[201] * 100)
    problem = refused(send(own_api, *[create(name="A")] * 101), 400, "validation.batch_too_large")
    assert problem["errors"] == [{"field": "operations", "message": "must have at most 100 elements, not 101",
                                  "code": "validation.batch_too_large"}]
    assert count(own_api) == 101


@pytest.mark.parametrize("body, fields", [
    ({}, {"operations": "operations_required"}),
    ({"operations": None}, {"operations": "operations_required"}),
    ({"operations": {}, "atomic": "yes"}, {"operations": "operations_invalid", "atomic": "atomic_invalid"}),
    ({"operations": [create(name="A")], "mode": 1, "atomic": 1}, {"atomic": "atomic_invalid", "mode": None}),
])
def test_a_malformed_batch_is_refused_with_all_errors(own_api, body, fields):
    found = wrong_fields(own_api.post("brokers/batch", json=body))
    assert found == {path: "validation." + (f"broker.{code}" if code else "unknown_field") for path, code in fields.items()}
    assert count(own_api) == 0


MALFORMED = [
    ({}, {".method": "method_required"}), (7, {"": "invalid"}), ({"method": "replace"}, {".method": "method_invalid"}),
    ({"method": "update"}, {".id": "id_required", ".data": "data_required"}),
    ({"method": "delete", "data": {}}, {".id": "id_required", ".data": "data_invalid"}),
    ({"method": "create", "id": "x", "data": 7}, {".id": "id_invalid", ".data": "data_invalid"}),
    ({"method": "upsert", "external_id": 7, "data": {"name": "A"}}, {".external_id": "external_id_invalid"}),
    ({"method": "merge", "data": {}, "if_match": 7}, {".external_id": "external_id_required", ".if_match": "if_match_invalid"}),
    ({**create(name="A"), "if_match": "x"}, {".if_match": "if_match_invalid"}),
    *[({"method": "merge", "external_id": "a", "data": {"name": "A"}, "if_match": tag}, {".if_match": "if_match_invalid"})
      for tag in ("x", "", '"x', '"x" "y"', '"x", y', '*, "x"', '"a b"')],
    ({**create(name="A"), "etag": "x"}, {".etag": None})]


def test_a_malformed_operation_fails_alone_with_all_errors(own_api):
    operations = [create(name="A"), *[operation for operation, _ in MALFORMED], create(name="B")]
    expected = {n: {f"operations[{n}]{path}": "validation." + (f"broker.operations_{code}" if code else "unknown_field")
                    for path, code in wrong.items()} for n, (_, wrong) in enumerate(MALFORMED, 1)}
    done = results(send(own_api, *operations), 201, *[400] * len(MALFORMED), 201)
    assert {n: fields(done[n]) for n in expected} == expected
    assert [broker["name"] for broker in own_api.walk()] == ["B", "A"]
    response = send(own_api, *operations, atomic=True)
    assert wrong_fields(response) == expected[1]
    assert {one["index"]: fields(one) for one in response.json()["failures"]} == expected
    assert count(own_api) == 2


@pytest.mark.parametrize("body", ["[]", "null", "7", '"x"', "{", "[{}]"])
def test_a_body_that_is_not_an_object_is_refused(own_api, body):
    response = own_api.request("POST", "brokers/batch", data=body, headers={"Content-Type": "application/json"})
    refused(response, 400, "validation.malformed_json")


def test_a_large_missing_or_malformed_body_is_refused(own_api, second_host_api):
    refused(own_api.request("POST", "brokers/batch", data=""), 400, "validation.body_required")
    refused(own_api.request("POST", "brokers/batch", data="a=b"), 415, "validation.unsupported_media_type")
    refused(send(second_host_api, *[create(name="A" * 100)] * 50), 413, "validation.body_too_large")
    results(send(second_host_api, *[create(name="A" * 100)] * 10), *[201] * 10)


def test_a_hundred_full_resources_fit_in_a_body(own_api):
    factory = ResourceFactory(own_api)
    body = factory.full("properties")
    done = send(own_api, *[create(**{**body, "code": unique(), "external_id": unique(), "description": "A" * 3000})
                           for _ in range(100)], collection="properties")
    results(done, *[201] * 100)


def test_only_some_resources_have_batches(own_api):
    refused(send(own_api, create(), collection="webhooks"), 405, "validation.method_not_allowed")
    for collection in NAMES:
        response = own_api.get(collection + "/batch")
        refused(response, 405, "validation.method_not_allowed")
        assert response.headers["Allow"] == own_api.options(collection + "/batch").headers["Allow"] == "OPTIONS, POST"
    refused(own_api.post("brokers/batch?x=1", json={"operations": [create(name="A")]}), 400, "validation.unknown_parameter")


# ---------------------------------------------------------------- the rate limit


def remaining(response):
    return int(response.headers["X-RateLimit-Remaining"])


def test_a_batch_counts_as_one_request_for_ten_operations(instance, admin_factory):
    api = Api(instance, admin_factory.key(admin_factory.organization(admin_factory.tenant(admin_factory.plan(12, WINDOW)))))
    assert remaining(send(api, *[create(name="A")] * 10)) == 11
    assert remaining(send(api, *[create(name="A")] * 11)) == 9
    assert remaining(send(api, create(), create(x=1))) == 8
    assert remaining(send(api)) == 7
    problem = refused(send(api, *[create(name="A")] * 71), 429, "rate_limit.exceeded")
    assert "counts as 8" in problem["detail"] and "7 of 12" in problem["detail"]
    assert count(api) == 21  # this and the refused batch count as requests
    last = send(api, *[create(name="A")] * 41)
    results(last, *[201] * 41)
    assert remaining(last) == 0
    refused(send(api, create(name="A")), 429, "rate_limit.exceeded")


def test_a_batch_above_the_whole_limit_names_it(instance, admin_factory):
    api = Api(instance, admin_factory.key(admin_factory.organization(admin_factory.tenant(admin_factory.plan(5, WINDOW)))))
    problem = refused(send(api, *[create(name="A")] * 51), 429, "rate_limit.exceeded")
    assert "counts as 6 requests, more than the plan's limit of 5" in problem["detail"] and "or wait" not in problem["detail"]
    results(send(api, *[create(name="A")] * 40), *[201] * 40)


def test_an_import_of_2600_records_does_not_wait_on_the_default_plan(instance, admin_factory):
    api = Api(instance, admin_factory.key(admin_factory.organization(admin_factory.tenant("default"))))
    operations = [create(name="A")] * 100
    for _ in range(26):
        last = send(api, *operations)
        results(last, *[201] * 100)
    assert remaining(last) == int(last.headers["X-RateLimit-Limit"]) - 260


def test_concurrent_batches_stay_within_the_plan(instance, admin_factory):
    api = Api(instance, admin_factory.key(admin_factory.organization(admin_factory.tenant(admin_factory.plan(100, WINDOW)))))
    answers = together(*[lambda: send(api.with_(), *[create(name="A")] * 62)] * 40)
    passed = sum(answer.status_code == 200 for answer in answers)
    refusals = sum(answer.status_code == 429 for answer in answers)
    assert passed + refusals == 40 and 1 <= passed <= 14
    made = instance.sql("select count(*) from neoapi.broker where organization_id = %s", api.credential.organizations[0])
    assert made == [(62 * passed,)]
