# SPDX-License-Identifier: Apache-2.0
"""Batches: every operation has the result of the single request, in order. With atomic, all succeed or none."""

import pytest
from batching import (COLLECTIONS, KINDS, UNIQUE_FIELDS, count, create, delete, fields, results, send, queued_events, update)
from client import ok, refused, wrong_fields
from factories import UNKNOWN_ULID, ResourceFactory, cpf


# ---------------------------------------------------------------- operations


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_batch_has_the_results_of_single_requests(own_api, collection):
    factory = ResourceFactory(own_api)
    bodies = [factory.body(collection), factory.body(collection)]
    made = [result["resource"] for result in results(send(own_api, *[create(**body) for body in bodies], collection=collection),
                                                     201, 201)]
    for resource, body in zip(made, bodies):
        assert body.items() <= resource.items()
        assert resource["created_at"] == resource["updated_at"] and resource["created_by"] == own_api.credential.id
        assert ok(own_api.get(f"{collection}/{resource['id']}")) == resource
    assert made[0]["id"] < made[1]["id"]
    changed, gone = results(send(own_api, update(made[0], email="a@example.com") if collection != "properties" else
                                 update(made[0], title="A"), delete(made[1]), collection=collection), 200, 204)
    assert ok(own_api.get(f"{collection}/{made[0]['id']}")) == changed["resource"] != made[0]
    assert own_api.get(f"{collection}/{made[1]['id']}").status_code == 404


@pytest.mark.parametrize("collection", ["properties", "parties"])
def test_a_batch_returns_every_field_like_a_single_create(own_api, collection):
    factory = ResourceFactory(own_api)
    body = factory.full(collection)
    single = ok(own_api.post(collection, json=body), 201)
    ok(own_api.delete(f"{collection}/{single['id']}"), 204)
    batched, = results(send(own_api, create(**body), collection=collection), 201)
    times = ("id", "created_at", "updated_at")
    assert {n: v for n, v in batched["resource"].items() if n not in times} == \
        {n: v for n, v in single.items() if n not in times}
    assert list(batched["resource"]) == list(single)
    changed, = results(send(own_api, update(batched["resource"], **body), collection=collection), 200)
    assert {**changed["resource"], "updated_at": ""} == {**batched["resource"], "updated_at": ""}
    cleared = {name: None for name in ("metadata", "external_id", "address" if collection == "parties" else "owners")}
    bare, = results(send(own_api, update(batched["resource"], **cleared), collection=collection), 200)
    assert not cleared.keys() & bare["resource"].keys()


def test_operations_see_the_changes_of_earlier_operations(own_api):
    ana, = results(send(own_api, create(name="Ana", creci="1")), 201)
    id = ana["resource"]["id"]
    done = results(send(own_api, update(id, name="Bia"), update(id, creci="2"), create(name="Caio", creci="1"), delete(id),
                        create(name="Davi", creci="2"), update(id, name="Eva"), delete(id)), 200, 200, 201, 204, 201, 404, 404)
    assert (done[1]["resource"]["name"], done[1]["resource"]["creci"]) == ("Bia", "2")
    assert [broker["name"] for broker in own_api.walk()] == ["Davi", "Caio"]


def test_an_update_is_a_merge_patch(own_api):
    broker = own_api.broker(creci="1", email="a@example.com", bank_account={"bank_code": "341", "pix_key": "x"})
    done, = results(send(own_api, update(broker, email=None, bank_account={"pix_key": "y"})), 200)
    assert "email" not in done["resource"] and done["resource"]["creci"] == "1"
    assert done["resource"]["bank_account"] == {"bank_code": "341", "pix_key": "y"}


def test_each_operation_succeeds_or_fails_by_itself(own_api):
    broker = own_api.broker(creci="SP 1")
    done = results(send(own_api, create(name="A", creci="sp-1"), create(name="B"), create(creci="2"), create(name="C", x=1),
                        update(broker, email="no"), update("brk_" + UNKNOWN_ULID, name="D"), update("x", name="E"),
                        delete("pty_" + UNKNOWN_ULID), delete(broker), create(name="F", creci="SP 1")),
                   409, 201, 400, 400, 400, 404, 404, 404, 204, 201)
    assert done[0]["error"]["code"] == "conflict.duplicate" and "creci" in done[0]["error"]["detail"]
    assert fields(done[2]) == {"name": "validation.broker.name_required"}
    assert fields(done[3]) == {"x": "validation.unknown_field"}
    assert fields(done[4]) == {"email": "validation.broker.email_invalid"}
    assert all(done[i]["error"]["code"] == "not_found.broker" for i in (5, 6, 7))
    assert [found["name"] for found in own_api.walk()] == ["F", "B"]


# ---------------------------------------------------------------- unique values


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_the_first_of_several_duplicates_in_a_batch_is_created(own_api, collection):
    factory, value = ResourceFactory(own_api), cpf()
    same = [create(**factory.body(collection, **{UNIQUE_FIELDS[collection]: value})) for _ in range(3)]
    done = results(send(own_api, *same, create(**factory.body(collection)), collection=collection), 201, 409, 409, 201)
    assert UNIQUE_FIELDS[collection] in done[1]["error"]["detail"] and done[1]["error"]["code"] == "conflict.duplicate"
    other = results(send(own_api, create(**factory.body(collection)), *same, collection=collection), 201, 409, 409, 409)
    assert count(own_api, collection) == 3 and other[0]["resource"]


def test_every_duplicate_unique_field_is_named(own_api):
    factory, number = ResourceFactory(own_api), cpf()
    factory.party(external_id="e-1")
    factory.party(document_number=number)
    done = results(send(own_api, create(**factory.body("parties", external_id="e-1")),
                        create(**factory.body("parties", document_number=number)), collection="parties"), 409, 409)
    assert "external_id" in done[0]["error"]["detail"] and "document_number" in done[1]["error"]["detail"]


def test_conflicting_updates_fail_alone(own_api):
    a, b, c = (own_api.broker(creci=str(n)) for n in range(3))
    done = results(send(own_api, update(a, creci="1"), update(b, name="B"), update(c, creci="9")), 409, 200, 200)
    assert "creci" in done[0]["error"]["detail"]
    assert [broker["creci"] for broker in own_api.walk()] == ["9", "1", "0"]


def test_a_released_unique_value_is_free_for_later_operations_only(own_api):
    a, b = own_api.broker(creci="a"), own_api.broker(creci="b")
    results(send(own_api, update(a, creci="b"), update(b, creci="c"), update(a, creci="b")), 409, 200, 200)
    results(send(own_api, update(b, creci=None), update(a, creci="c")), 200, 200)
    results(send(own_api, update(a, creci="d"), update(b, creci="c"), create(name="E", creci="d")), 200, 200, 409)
    assert {broker["id"]: broker["creci"] for broker in own_api.walk()} == {a["id"]: "d", b["id"]: "c"}


def test_a_hundred_updates_that_move_unique_values_equal_single_updates(own_api):
    made = [result["resource"] for result in results(send(own_api, *[create(name="A", creci=f"n{n}") for n in range(100)]),
                                                     *[201] * 100)]
    up = [update(broker, creci=f"n{n + 1}") for n, broker in enumerate(made)]
    results(send(own_api, *up), *[409] * 99, 200)
    results(send(own_api, *reversed(up)), *[200] * 100)
    assert sorted(broker["creci"] for broker in own_api.walk(limit=100)) == sorted(f"n{n + 1}" for n in range(100))


def conflict(problem):
    """The field, and the resource that has the value."""
    assert problem["code"] == "conflict.duplicate", problem
    return problem["field"], problem.get("existing_id")


@pytest.mark.parametrize("collection, field, value, same", [
    ("brokers", "creci", "SP 12345-F", "sp12345f"), ("properties", "code", "AP-1", "AP-1"),
    ("parties", "document_number", "52998224725", "529.982.247-25"), ("properties", "external_id", "crm-1", "crm-1"),
    ("parties", "external_id", "crm-1", "crm-1")])
def test_a_batch_names_field_and_resource_of_each_duplicate(own_api, factory, collection, field, value, same):
    first, second = factory.create(collection, **{field: value}), factory.create(collection)
    body = factory.body(collection, **{field: same})
    operations = create(**body), update(second["id"], **{field: same})
    results = ok(send(own_api, *operations, collection=collection))["results"]
    assert [conflict(result["error"]) for result in results] == [(field, first["id"])] * 2
    for operation in operations:
        problem = refused(send(own_api, operation, collection=collection, atomic=True), 409, "conflict.duplicate")
        assert conflict(problem) == (f"operations[0].data.{field}", first["id"])


def test_a_batch_names_its_own_resource_as_duplicate_unless_it_is_rolled_back(own_api):
    pair = create(name="A", creci="1"), create(name="B", creci="1")
    refusal = refused(send(own_api, *pair, atomic=True), 409, "conflict.duplicate")
    assert conflict(refusal) == ("operations[1].data.creci", None)
    first, second = ok(send(own_api, *pair))["results"]
    assert conflict(second["error"]) == ("creci", first["resource"]["id"])


# ---------------------------------------------------------------- references


def test_references_to_missing_resources_are_named_for_each_operation(own_api):
    factory = ResourceFactory(own_api)
    broker = factory.broker()["id"]
    done = results(send(own_api, create(**factory.body("parties", broker_id=broker)),
                        create(**factory.body("parties", broker_id="brk_" + UNKNOWN_ULID,
                                             spouse_party_id="pty_" + UNKNOWN_ULID)),
                        create(**factory.body("parties", legal_representatives=[{"party_id": "pty_" + UNKNOWN_ULID}])),
                        create(**factory.body("parties", broker_id="x")), collection="parties"), 201, 400, 400, 400)
    assert fields(done[1]) == {"broker_id": "validation.party.broker_id_not_found",
                               "spouse_party_id": "validation.party.spouse_party_id_not_found"}
    assert fields(done[2]) == {"legal_representatives[0].party_id":
                               "validation.party.legal_representatives_party_id_not_found"}
    assert fields(done[3]) == {"broker_id": "validation.party.broker_id_invalid"}
    party = done[0]["resource"]
    done = results(send(own_api, update(party, broker_id="brk_" + UNKNOWN_ULID), update(party, name="Z"),
                        collection="parties"), 400, 200)
    assert fields(done[0]) == {"broker_id": "validation.party.broker_id_not_found"}


def test_a_batch_adds_and_removes_references(own_api):
    factory = ResourceFactory(own_api)
    one, two = factory.broker()["id"], factory.broker()["id"]
    party = results(send(own_api, create(**factory.body("parties", broker_id=one)), collection="parties"), 201)[0]["resource"]
    assert refused(own_api.delete("brokers/" + one), 409, "conflict.in_use")["detail"].endswith(
        f"a party refers to it. Remove the references first, such as {party['id']} (broker_id).")
    results(send(own_api, update(party, broker_id=two), collection="parties"), 200)
    done = results(send(own_api, delete(one), delete(two)), 204, 409)
    assert done[1]["error"]["code"] == "conflict.in_use" and "a party refers to it" in done[1]["error"]["detail"]
    results(send(own_api, delete(party), collection="parties"), 204)
    results(send(own_api, delete(two)), 204)


def test_a_referring_resource_can_be_deleted_before_its_target(own_api):
    factory = ResourceFactory(own_api)
    def couple():
        a = factory.party()
        return a, factory.party(spouse_party_id=a["id"])
    a, b = couple()
    results(send(own_api, delete(a), delete(b), collection="parties"), 409, 204)
    results(send(own_api, delete(a), delete(a), collection="parties"), 204, 404)
    a, b = couple()
    results(send(own_api, delete(b), delete(a), collection="parties"), 204, 204)


def test_a_resource_that_is_not_deleted_still_protects_its_targets(own_api):
    factory = ResourceFactory(own_api)
    a = factory.party()
    b = factory.party(spouse_party_id=a["id"])
    c = factory.party(spouse_party_id=b["id"])
    results(send(own_api, delete(b), delete(a), collection="parties"), 409, 409)
    results(send(own_api, delete(c), delete(b), delete(a), collection="parties"), 204, 204, 204)


# ---------------------------------------------------------------- atomic batches


def test_an_atomic_batch_is_executed_completely(own_api):
    broker = own_api.broker()
    done = results(send(own_api, create(name="A"), update(broker, name="B"), delete(broker), atomic=True), 201, 200, 204)
    assert [found["id"] for found in own_api.walk()] == [done[0]["resource"]["id"]]


@pytest.mark.parametrize("wrong, status, code, field", [
    (create(name="", creci="9"), 400, "validation.broker.name_invalid", "operations[2].data.name"),
    (create(name="A", bank_account={"x": 1}), 400, "validation.unknown_field", "operations[2].data.bank_account.x"),
    (create(creci="9", email="x"), 400, "validation.failed", None),
    (create(name="A", creci="taken"), 409, "conflict.duplicate", None),
    (update("brk_" + UNKNOWN_ULID, name="A"), 404, "not_found.broker", None),
    (delete("x"), 404, "not_found.broker", None),
    (update("$taken", visibility="x"), 400, "validation.broker.visibility_invalid", "operations[2].data.visibility"),
])
def test_an_atomic_batch_returns_its_first_failure_and_changes_nothing(own_api, wrong, status, code, field):
    taken = own_api.broker(creci="taken")
    if wrong.get("id") == "$taken":
        wrong = {**wrong, "id": taken["id"]}
    response = send(own_api, create(name="A"), update(taken, name="Changed"), wrong, create(nothing=1), atomic=True)
    problem = refused(response, status, code)
    if field:
        assert list(wrong_fields(response)) == [field]
    elif status == 400:
        assert wrong_fields(response) == {"operations[2].data.name": "validation.broker.name_required",
                                          "operations[2].data.email": "validation.broker.email_invalid"}
    else:
        assert problem["detail"].startswith("operations[2]: ")
    assert [(failure["index"], failure["status"]) for failure in problem["failures"]] == [(2, status), (3, 400)]
    assert problem["failures"][0]["error"]["code"] == code
    assert own_api.walk() == [taken]


def test_an_atomic_batch_reports_every_operation_that_fails(own_api, queued_events):
    factory, number = ResourceFactory(own_api), cpf()
    taken = factory.party(document_number=number)
    before, missing = len(queued_events()), "brk_" + UNKNOWN_ULID
    def party(**fields):
        return create(**factory.body("parties", **fields))
    problem = refused(send(own_api, party(), party(document_number=number), party(name="", email="x"), party(external_id="a"),
                           party(external_id="a"), party(broker_id=missing), update(taken, broker_id=missing),
                           update("pty_" + UNKNOWN_ULID, name="A"), delete("x"), update(taken, name="B"),
                           collection="parties", atomic=True), 409, "conflict.duplicate")
    found = {failure["index"]: failure["error"] for failure in problem["failures"]}
    assert problem["detail"].startswith("operations[1]: ") and problem["field"] == "operations[1].data.document_number"
    assert problem["existing_id"] == found[1]["existing_id"] == taken["id"]
    assert {index: error["code"] for index, error in found.items()} == {
        1: "conflict.duplicate", 2: "validation.failed", 4: "conflict.duplicate", 5: "validation.party.broker_id_not_found",
        6: "validation.party.broker_id_not_found", 7: "not_found.party", 8: "not_found.party"}
    assert {item["field"] for item in found[2]["errors"]} == {"name", "email"}
    assert found[4]["field"] == "external_id" and "existing_id" not in found[4]  # the existing one would have been created by the batch
    assert own_api.walk("parties") == [taken] and len(queued_events()) == before


def test_a_failure_of_an_atomic_batch_can_result_from_an_earlier_one(own_api):
    broker = own_api.broker(creci="1")
    problem = refused(send(own_api, update(broker, creci="2", email="x"), create(name="A", creci="1"), atomic=True), 400,
                      "validation.broker.email_invalid")
    assert [failure["error"]["code"] for failure in problem["failures"]] == ["validation.broker.email_invalid",
                                                                             "conflict.duplicate"]


def test_the_first_failure_is_first_in_the_order_of_operations(own_api):
    own_api.broker(creci="1")
    refused(send(own_api, create(name="A", creci="1"), create(creci="x"), atomic=True), 409, "conflict.duplicate")
    response = send(own_api, create(creci="x"), create(name="A", creci="1"), atomic=True)
    refused(response, 400, "validation.broker.name_required")
    factory = ResourceFactory(own_api)
    body = factory.body("parties", document_number=cpf())
    response = send(own_api, create(**body), create(**body), create(**factory.body("parties", broker_id="brk_" + UNKNOWN_ULID)),
                    collection="parties", atomic=True)
    assert refused(response, 409, "conflict.duplicate")["detail"].startswith("operations[1]: ")
    response = send(own_api, create(**body), create(**factory.body("parties", broker_id="brk_" + UNKNOWN_ULID)), create(**body),
                    collection="parties", atomic=True)
    assert list(wrong_fields(response)) == ["operations[1].data.broker_id"]
    assert count(own_api, "parties") == 0


# ---------------------------------------------------------------- events


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_every_change_has_its_own_event_in_the_order_of_the_operations(own_api, queued_events, collection):
    factory, kind = ResourceFactory(own_api), KINDS[collection]
    made = [result["resource"] for result in results(send(
        own_api, *[create(**factory.body(collection, **{UNIQUE_FIELDS[collection]: cpf()})) for _ in range(100)], collection=collection),
        *[201] * 100)]
    results(send(own_api, *[update(one, **{UNIQUE_FIELDS[collection]: cpf()}) for one in made[:3]], delete(made[0]), delete("x"),
                 collection=collection), 200, 200, 200, 204, 404)
    events = queued_events()
    assert [event for event, _ in events] == [kind + ".created"] * 100 + [kind + ".updated"] * 3 + [kind + ".deleted"]
    assert [payload["id"] for _, payload in events] == [one["id"] for one in [*made, *made[:3], made[0]]]
    assert all(payload[UNIQUE_FIELDS[collection]] == one[UNIQUE_FIELDS[collection]] for (_, payload), one in zip(events, made))


def test_a_failed_operation_has_no_event(own_api, queued_events):
    own_api.broker(creci="1")
    before = len(queued_events())
    results(send(own_api, create(name="A", creci="1"), create(), delete("x")), 409, 400, 404)
    refused(send(own_api, create(name="A"), create(name="B", creci="1"), atomic=True), 409, "conflict.duplicate")
    assert len(queued_events()) == before
