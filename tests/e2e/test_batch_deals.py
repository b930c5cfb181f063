# SPDX-License-Identifier: Apache-2.0
"""Batches of proposals, contracts and documents: the rules, effects, events and locks of single writes."""

import uuid

import pytest
from batching import create, delete, fields, results, send, queued_events, update
from client import ok, refused
from factories import NAMES, UNKNOWN_ULID
from wait import together

DEALS = ["proposals", "contracts", "documents"]
NO_TIMES = {"id": "", "created_at": "", "updated_at": ""}


def read_status(own_api, collection, id):
    return ok(own_api.get(f"{collection}/{id}"))["status"]


def codes(done):
    return [result.get("error", {}).get("code") for result in done]


# ---------------------------------------------------------------- results of single requests


@pytest.mark.parametrize("collection", DEALS)
def test_a_batch_returns_every_field_like_a_single_create(own_api, factory, queued_events, collection):
    body = factory.full(collection)
    before = len(queued_events())
    single = ok(own_api.post(collection, json=body), 201)
    ok(own_api.delete(f"{collection}/{single['id']}"), 204)
    batched = results(send(own_api, create(**body), create(**body), collection=collection), 201, 409)[0]["resource"]
    assert {**batched, **NO_TIMES} == {**single, **NO_TIMES} and list(batched) == list(single)
    changed, again = results(send(own_api, update(batched, metadata=None), update(batched, **body), collection=collection),
                             200, 200)
    assert "metadata" not in changed["resource"]
    assert {**again["resource"], "updated_at": ""} == {**batched, "updated_at": ""}
    results(send(own_api, delete(batched), delete(batched), collection=collection), 204, 404)
    kind = NAMES[collection]
    assert [event for event, _ in queued_events()[before:]] == [
        f"{kind}.{what}" for what in ("created", "deleted", "created", "updated", "updated", "deleted")]


def test_references_are_checked(own_api, factory):
    body = factory.body("contracts")
    done = results(send(own_api, create(**{**body, "property_id": "prp_" + UNKNOWN_ULID}), create(**body),
                        create(**body, proposal_id="pps_" + UNKNOWN_ULID), collection="contracts"), 400, 201, 400)
    assert fields(done[0]) == {"property_id": "validation.contract.property_id_not_found"}
    assert fields(done[2]) == {"proposal_id": "validation.contract.proposal_id_not_found"}
    results(send(own_api, delete(body["property_id"]), collection="properties"), 409)
    results(send(own_api, delete(done[1]["resource"]), collection="contracts"), 204)
    results(send(own_api, delete(body["property_id"]), collection="properties"), 204)


# ---------------------------------------------------------------- rules and effects


def test_the_rules_of_single_writes_apply(own_api, factory):
    rent = factory.property(status="active", transaction_type="rent", rent_price=1, sale_price=...)["id"]
    body = factory.body("proposals")
    done = results(send(own_api, create(**{**body, "property_id": rent}), create(**body, status="accepted"),
                        create(**body, status="submitted"), create(**body), collection="proposals"), 409, 409, 201, 201)
    assert codes(done[:2]) == ["conflict.transaction_type", "conflict.invalid_transition"]
    submitted, draft = (result["resource"] for result in done[2:])
    done = results(send(own_api, update(draft, status="accepted"), update(submitted, status="rejected", decision_reason="x"),
                        update(submitted, amount=7), update(submitted, notes="x"), collection="proposals"), 409, 200, 409, 200)
    assert codes(done) == ["conflict.invalid_transition", None, "conflict.field_locked", None]
    assert done[1]["resource"]["decided_at"] == done[1]["resource"]["updated_at"]
    assert "decided_at" not in draft


def test_a_contract_gets_values_of_its_proposal(own_api, factory):
    accepted = factory.accepted(recipient_ids=[factory.party()["id"]])
    body = {"kind": "sale", "property_id": accepted["property_id"], "proposal_id": accepted["id"]}
    made, other = results(send(own_api, create(**body), create(**{**body, "property_id": factory.offered()["id"]}),
                               collection="contracts"), 201, 409)
    assert made["resource"]["amount"] == accepted["amount"]
    assert [party["role"] for party in made["resource"]["parties"]] == ["seller", "buyer"]
    assert other["error"]["code"] == "conflict.proposal_mismatch"


def test_operations_see_the_effects_of_earlier_ones(own_api, factory, queued_events):
    first = factory.proposal(status="submitted")
    second = factory.proposal(status="submitted", property_id=first["property_id"])
    third = factory.proposal(status="submitted")
    before = len(queued_events())
    done = results(send(own_api, update(first, status="accepted"), update(second, status="accepted"),
                        update(third, status="accepted"), update(second, status="withdrawn"), collection="proposals"),
                   200, 409, 200, 200)
    assert done[1]["error"]["code"] == "conflict.property_unavailable"
    assert done[0]["resource"]["decided_at"]
    for one in (first, third):
        assert read_status(own_api, "properties", one["property_id"]) == "under_contract"
    events = queued_events()[before:]
    assert sorted(event for event, _ in events) == ["property.updated"] * 2 + ["proposal.updated"] * 3
    assert {payload["id"] for event, payload in events if event == "property.updated"} == {
        first["property_id"], third["property_id"]}


def test_a_proposal_can_change_its_property_and_be_accepted_at_once(own_api, factory):
    proposal, property = factory.proposal(status="submitted"), factory.offered()
    results(send(own_api, update(proposal, property_id=property["id"], status="accepted"), collection="proposals"), 200)
    assert read_status(own_api, "properties", property["id"]) == "under_contract"
    assert read_status(own_api, "properties", proposal["property_id"]) == "active"


def test_a_contract_passes_all_statuses_in_a_batch(own_api, factory):
    one = factory.contract()
    other = factory.contract(property_id=one["property_id"])
    steps = [update(one, status=status) for status in ("pending_signature", "active")]
    done = results(send(own_api, *steps, delete(one), update(other, status="pending_signature"), update(other, status="active"),
                        update(one, status="terminated"), update(one, status="terminated", termination_reason="x"),
                        collection="contracts"), 200, 200, 409, 200, 409, 409, 200)
    assert codes(done) == [None, None, "conflict.not_deletable", None, "conflict.property_unavailable",
                           "conflict.reason_required", None]
    assert done[1]["resource"]["signed_at"] and done[6]["resource"]["terminated_at"]
    assert read_status(own_api, "properties", one["property_id"]) == "active"


def test_an_atomic_batch_rolls_back_its_effects(own_api, factory, queued_events):
    first = factory.proposal(status="submitted")
    second = factory.proposal(status="submitted", property_id=first["property_id"])
    before = queued_events()
    problem = refused(send(own_api, update(first, status="accepted"), update(second, status="accepted"),
                           update(second, amount=-1), atomic=True, collection="proposals"), 409, "conflict.property_unavailable")
    assert problem["detail"].startswith("operations[1]: ")
    assert [failure["error"]["code"] for failure in problem["failures"]] == [
        "conflict.property_unavailable", "validation.proposal.amount_invalid"]
    assert read_status(own_api, "properties", first["property_id"]) == "active" and queued_events() == before


def test_a_repeated_batch_has_its_effects_once(own_api, factory, queued_events):
    proposal, key = factory.proposal(status="submitted"), str(uuid.uuid4())
    before = len(queued_events())
    answers = together(*[lambda: send(own_api.with_(), update(proposal, status="accepted"), collection="proposals",
                                      key=key)] * 8)
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
    assert sorted(event for event, _ in queued_events()[before:]) == ["property.updated", "proposal.updated"]


# ---------------------------------------------------------------- concurrency


def deadlocks(instance):
    return instance.sql("select deadlocks from pg_stat_database where datname = current_database()")[0][0]


def test_batches_and_single_writes_of_deals_do_not_deadlock(own_api, instance, factory):
    """Batches accept the proposals of the same properties in different orders, while single writes change both."""
    party, before = factory.party()["id"], deadlocks(instance)
    for _ in range(3):
        properties = [factory.offered()["id"] for _ in range(5)]
        made = [factory.proposal(property_id=id, status="submitted", proponent_ids=[party]) for id in properties for _ in (1, 2)]

        def accept(some):
            answer = send(own_api.with_(), *(update(one, status="accepted") for one in some), collection="proposals")
            return [result["status"] for result in ok(answer)["results"]]

        def single(one):
            ok(own_api.with_().patch("properties/" + one["property_id"], json={"title": one["id"]}))
            return [own_api.with_().patch("proposals/" + one["id"], json={"status": "accepted"}).status_code]

        done = together(lambda: accept(made), lambda: accept(made[::-1]), lambda: accept(made[::2]), lambda: accept(made[1::2]),
                        lambda: single(made[0]), lambda: single(made[-1]), lambda: single(made[4]), lambda: single(made[5]))
        assert {status for statuses in done for status in statuses} <= {200, 409}
        states = [read_status(own_api, "proposals", one["id"]) for one in made]
        assert [sorted(states[n:n + 2]) for n in range(0, 10, 2)] == [["accepted", "submitted"]] * 5
        assert {read_status(own_api, "properties", id) for id in properties} == {"under_contract"}
    assert deadlocks(instance) == before


def test_one_contract_of_concurrent_batches_becomes_active(own_api, factory):
    parties = factory.signed("sale")
    for _ in range(3):
        properties = [factory.offered()["id"] for _ in range(3)]
        made = [factory.contract(property_id=id, parties=parties, status="pending_signature") for id in properties for _ in (1, 2)]
        done = together(*[lambda some=some: ok(send(own_api.with_(), *(update(one, status="active") for one in some),
                                                    collection="contracts")) for some in (made, made[::-1]) * 2])
        assert {result["status"] for answer in done for result in answer["results"]} <= {200, 409}
        states = [read_status(own_api, "contracts", one["id"]) for one in made]
        assert [sorted(states[n:n + 2]) for n in range(0, 6, 2)] == [["active", "pending_signature"]] * 3
        assert {read_status(own_api, "properties", id) for id in properties} == {"sold"}
