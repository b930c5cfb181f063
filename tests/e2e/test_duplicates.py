# SPDX-License-Identifier: Apache-2.0
"""conflict.duplicate names the field and the resource that has the value."""

import pytest
from batching import create, send, update
from client import Api, ok, refused

# collection, field, a value, and the same value in another spelling
UNIQUE = [("brokers", "creci", "SP 12345-F", "sp12345f"), ("properties", "code", "AP-1", "AP-1"),
          ("parties", "document_number", "52998224725", "529.982.247-25"), ("contracts", "number", "2026/1", "2026/1"),
          ("properties", "external_id", "crm-1", "crm-1"), ("parties", "external_id", "crm-1", "crm-1"),
          ("proposals", "external_id", "crm-1", "crm-1"), ("contracts", "external_id", "crm-1", "crm-1"),
          ("documents", "external_id", "crm-1", "crm-1")]
every = pytest.mark.parametrize("collection, field, value, same", UNIQUE)
in_batches = pytest.mark.parametrize("collection, field, value, same",
                                     [one for one in UNIQUE if one[0] in ("brokers", "properties", "parties")])


def conflict(problem):
    assert problem["code"] == "conflict.duplicate", problem
    return problem["field"], problem.get("existing_id")


@every
def test_a_single_write_names_the_field_and_the_other_resource(own_api, factory, collection, field, value, same):
    first, second = factory.create(collection, **{field: value}), factory.create(collection)
    body = factory.body(collection, **{field: same})
    for answer in (own_api.post(collection, json=body), own_api.put(f"{collection}/{second['id']}", json=body),
                   own_api.patch(f"{collection}/{second['id']}", json={field: same})):
        assert conflict(refused(answer, 409, "conflict.duplicate")) == (field, first["id"])


@in_batches
def test_a_batch_names_them_for_each_operation(own_api, factory, collection, field, value, same):
    first, second = factory.create(collection, **{field: value}), factory.create(collection)
    body = factory.body(collection, **{field: same})
    operations = create(**body), update(second["id"], **{field: same})
    results = ok(send(own_api, *operations, collection=collection))["results"]
    assert [conflict(result["error"]) for result in results] == [(field, first["id"])] * 2
    for operation in operations:
        problem = refused(send(own_api, operation, collection=collection, atomic=True), 409, "conflict.duplicate")
        assert conflict(problem) == (f"operations[0].data.{field}", first["id"])


def test_a_batch_names_resources_of_its_own_unless_it_is_rolled_back(own_api):
    pair = create(name="A", creci="1"), create(name="B", creci="1")
    refusal = refused(send(own_api, *pair, atomic=True), 409, "conflict.duplicate")
    assert conflict(refusal) == ("operations[1].data.creci", None)
    first, second = ok(send(own_api, *pair))["results"]
    assert conflict(second["error"]) == ("creci", first["resource"]["id"])


def test_duplicates_in_another_organization_are_not_revealed(own_api, principals, instance):
    other = Api(instance, principals.other)
    ok(other.post("brokers", json={"name": "A", "creci": "only there"}), 201)
    made = own_api.broker(creci="only there")
    assert conflict(refused(own_api.post("brokers", json={"name": "B", "creci": "Only There"}), 409,
                            "conflict.duplicate")) == ("creci", made["id"])
