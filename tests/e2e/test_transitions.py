# SPDX-License-Identifier: Apache-2.0
"""Transitions of statuses, the timestamps that the service sets, and the effects on the property."""

import uuid

import pytest
from client import moment, ok, refused
from event_log import deliveries
from factories import NAMES
from wait import eventually, together

ROWS = {
    "proposals": {"draft": ["submitted"], "submitted": ["countered", "accepted", "rejected", "withdrawn", "expired"],
                  "countered": ["submitted", "accepted", "rejected", "withdrawn", "expired"], "accepted": [], "rejected": [],
                  "withdrawn": [], "expired": []},
    "contracts": {"draft": ["pending_signature", "cancelled"], "pending_signature": ["active", "cancelled"],
                  "active": ["completed", "terminated", "expired"], "completed": [], "terminated": [], "expired": [],
                  "cancelled": []},
}
# The statuses that lead to each status.
PATHS = {
    "proposals": {"draft": [], "submitted": ["submitted"], "countered": ["submitted", "countered"],
                  **{end: ["submitted", end] for end in ("accepted", "rejected", "withdrawn", "expired")}},
    "contracts": {"draft": [], "pending_signature": ["pending_signature"], "active": ["pending_signature", "active"],
                  "cancelled": ["cancelled"],
                  **{end: ["pending_signature", "active", end] for end in ("completed", "terminated", "expired")}},
}
TIMESTAMP_FIELDS = {"proposals": dict.fromkeys(["accepted", "rejected", "withdrawn", "expired"], "decided_at"),
           "contracts": {"active": "signed_at", "terminated": "terminated_at"}}
PAIRS = [(collection, old, new) for collection, rows in ROWS.items() for old in rows for new in rows]
UNREACHABLE_URL = "https://127.0.0.1:9/"  # the courier does not deliver to this machine

machines = pytest.mark.parametrize("collection", list(ROWS))


def advance(own_api, collection, resource, *statuses):
    """Changes the status step by step."""
    for status in statuses:
        resource = ok(own_api.patch(f"{collection}/{resource['id']}", json=step(collection, status)))
    return resource


def step(collection, status):
    """A patch to the status, with the reason that it needs."""
    needs_reason = collection == "contracts" and status in ("cancelled", "terminated")
    return {"status": status, **({"termination_reason": "Desistência"} if needs_reason else {})}


def create_in_status(own_api, factory, collection, status, **fields):
    return advance(own_api, collection, factory.create(collection, **fields), *PATHS[collection][status])


def join_with_or(statuses):
    """The statuses as at the end of an error message."""
    return " or ".join([", ".join(statuses[:-1]), statuses[-1]] if len(statuses) > 1 else statuses) + "."


# ---------------------------------------------------------------- transitions


@pytest.mark.parametrize("collection, old, new", PAIRS, ids=["-".join(pair) for pair in PAIRS])
def test_a_status_changes_only_along_its_transitions(own_api, factory, collection, old, new):
    made, rows = create_in_status(own_api, factory, collection, old), ROWS[collection]
    path = f"{collection}/{made['id']}"
    if new == old or new in rows[old]:
        assert ok(own_api.patch(path, json=step(collection, new) if new != old else {"status": new}))["status"] == new
        return
    body = {name: made[name] for name in factory.body(collection, property_id=made["property_id"])}
    for response in (own_api.patch(path, json={"status": new}), own_api.put(path, json={**body, "status": new})):
        detail = refused(response, 409, "conflict.invalid_transition")["detail"]
        assert f" {old}" in detail and detail.endswith("become " + join_with_or(rows[old] or [new]))
    assert ok(own_api.get(path)) == made


@machines
def test_a_put_changes_the_status_as_well(own_api, factory, collection):
    made = factory.create(collection)
    body = {name: made[name] for name in factory.body(collection, property_id=made["property_id"])}
    status = ROWS[collection]["draft"][0]
    assert ok(own_api.put(f"{collection}/{made['id']}", json={**body, "status": status}))["status"] == status
    refused(own_api.put(f"{collection}/{made['id']}", json=body), 409, "conflict.invalid_transition")  # back to draft


@machines
def test_a_resource_can_be_created_in_an_initial_status_or_the_next(own_api, factory, collection):
    for status in ROWS[collection]:
        response = own_api.post(collection, json=factory.body(collection, **step(collection, status)))
        if status in ["draft", *ROWS[collection]["draft"]]:
            assert ok(response, 201)["status"] == status
        else:
            detail = refused(response, 409, "conflict.invalid_transition")["detail"]
            assert detail.endswith("created with " + join_with_or(["draft", *ROWS[collection]["draft"]]))


@machines
def test_other_fields_of_a_final_status_can_be_corrected(own_api, factory, collection):
    made = create_in_status(own_api, factory, collection, list(ROWS[collection])[-1])
    changed = ok(own_api.patch(f"{collection}/{made['id']}", json={"notes": "Corrigido"}))
    assert changed["notes"] == "Corrigido" and changed["status"] == made["status"]


@pytest.mark.parametrize("collection, status", [("properties", status) for status in (
    "draft", "active", "under_contract", "sold", "rented", "on_hold", "withdrawn")] + [
    ("documents", status) for status in ("pending", "valid", "rejected", "expired")])
def test_resources_without_transitions_may_have_any_status(own_api, factory, collection, status):
    made = factory.create(collection, status=status)
    assert made["status"] == status
    for other in ("rejected", "expired") if collection == "documents" else ("sold", "draft"):
        assert ok(own_api.patch(f"{collection}/{made['id']}", json={"status": other}))["status"] == other


# ---------------------------------------------------------------- timestamps


@machines
def test_the_service_sets_the_timestamp_of_a_status(own_api, factory, collection):
    for status in ROWS[collection]:
        made = create_in_status(own_api, factory, collection, status)
        passed = PATHS[collection][status]
        expected = {TIMESTAMP_FIELDS[collection][one] for one in passed if one in TIMESTAMP_FIELDS[collection]}
        assert expected == {"decided_at", "signed_at", "terminated_at"} & set(made)
        if status in TIMESTAMP_FIELDS[collection]:
            assert made[TIMESTAMP_FIELDS[collection][status]] == made["updated_at"]


def test_a_status_timestamp_cannot_be_changed(own_api, factory):
    made = create_in_status(own_api, factory, "contracts", "active", signed_at="2020-01-01T00:00:00.000Z")
    path = "contracts/" + made["id"]
    assert moment(made["signed_at"]) > moment("2026-01-01T00:00:00.000Z")
    own_api.wait_until_after(made["updated_at"])
    for body in ({"notes": "x"}, {"signed_at": None}, {"signed_at": "2020-01-01T00:00:00.000Z"}, {"status": "active"}):
        assert ok(own_api.patch(path, json=body))["signed_at"] == made["signed_at"]
    ended = ok(own_api.patch(path, json={"status": "terminated", "termination_reason": "Mudança"}))
    assert ended["signed_at"] == made["signed_at"] and ended["terminated_at"] == ended["updated_at"] > made["signed_at"]


# ---------------------------------------------------------------- effects


@pytest.fixture
def queued_events(own_api, instance):
    """queued_events(): event and payload of deliveries queued since the last call, oldest first."""
    subscription = ok(own_api.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*"]}), 201)["id"]
    seen = []

    def new():
        found = deliveries(instance, subscription)
        since = found[len(seen):]
        seen.extend(since)
        return since

    yield new
    ok(own_api.delete("webhooks/" + subscription), 204)


EFFECTS = [("proposals", {"kind": "purchase"}, "accepted", "under_contract"),
           ("proposals", {"kind": "rental"}, "accepted", "under_contract"),
           ("contracts", {"kind": "sale"}, "active", "sold"),
           ("contracts", {"kind": "rental", "start_date": "2026-03-01", "end_date": "2099-03-01"}, "active", "rented"),
           ("contracts", {"kind": "exclusive_listing", "start_date": "2026-03-01", "end_date": "2099-03-01"}, "active", None),
           ("contracts", {"kind": "management"}, "active", None)]


@pytest.mark.parametrize("collection, fields, status, becomes", EFFECTS, ids=[f"{f['kind']}-{s}" for _, f, s, _ in EFFECTS])
def test_a_status_updates_its_property_and_queues_its_event(own_api, factory, queued_events, collection, fields,
                                                            status, becomes):
    property = factory.offered()
    path = "properties/" + property["id"]
    before = create_in_status(own_api, factory, collection, PATHS[collection][status][-2], property_id=property["id"], **fields)
    assert ok(own_api.get(path)) == property
    queued_events()
    own_api.wait_until_after(property["updated_at"])
    made = ok(own_api.patch(f"{collection}/{before['id']}", json={"status": status}))
    now = ok(own_api.get(path))
    if becomes is None:
        assert now == property and queued_events() == [(f"{NAMES[collection]}.updated", made)]
        return
    assert now == {**property, "status": becomes, "updated_at": made["updated_at"], "updated_by": own_api.credential.id}
    events = queued_events()
    assert len(events) == 2 and dict(events) == {f"{NAMES[collection]}.updated": made, "property.updated": now}


def test_only_a_change_of_status_has_an_effect(own_api, factory, queued_events):
    property = factory.offered()
    proposal = create_in_status(own_api, factory, "proposals", "accepted", property_id=property["id"])
    path = "properties/" + property["id"]
    ok(own_api.patch(path, json={"status": "sold"}))
    queued_events()
    for body in ({"notes": "x"}, {"status": "accepted", "notes": "y"}, {"status": "accepted"}):
        ok(own_api.patch("proposals/" + proposal["id"], json=body))
    assert ok(own_api.get(path))["status"] == "sold"
    assert [event for event, _ in queued_events()] == ["proposal.updated"] * 2


@pytest.mark.parametrize("status", ["draft", "sold", "rented", "on_hold", "withdrawn"])
def test_a_contract_needs_an_available_property(own_api, factory, queued_events, status):
    property = factory.offered(status=status)
    for kind in ("sale", "rental"):
        fields = {"start_date": "2026-03-01", "end_date": "2099-03-01"} if kind == "rental" else {}
        made = create_in_status(own_api, factory, "contracts", "pending_signature", property_id=property["id"], kind=kind, **fields)
        queued_events()
        problem = refused(own_api.patch("contracts/" + made["id"], json={"status": "active"}), 409,
                          "conflict.property_unavailable")
        assert property["id"] in problem["detail"] and f"is {status}. It must be active or under_contract" in problem["detail"]
        assert ok(own_api.get("contracts/" + made["id"])) == made
    assert ok(own_api.get("properties/" + property["id"])) == property and queued_events() == []


def test_a_refused_change_has_no_effect(own_api, factory, queued_events):
    property = factory.offered()
    made = create_in_status(own_api, factory, "contracts", "pending_signature", property_id=property["id"])
    queued_events()
    path = "contracts/" + made["id"]
    assert own_api.patch(path, json={"status": "active", "amount": 1.5}).status_code == 400
    assert own_api.patch(path, json={"status": "active", "proposal_id": "pps_" + "0" * 26}).status_code == 400
    refused(own_api.patch(path, json={"status": "active"}, headers={"If-Match": '"x"'}), 412, "conflict.precondition_failed")
    assert ok(own_api.get("properties/" + property["id"])) == property and queued_events() == []


def test_the_effect_applies_to_the_new_property(own_api, factory):
    first, second = factory.offered(), factory.offered()
    made = create_in_status(own_api, factory, "proposals", "submitted", property_id=first["id"])
    ok(own_api.patch("proposals/" + made["id"], json={"status": "accepted", "property_id": second["id"]}))
    assert [ok(own_api.get("properties/" + one["id"]))["status"] for one in (first, second)] == ["active", "under_contract"]


def locked(response, field):
    assert refused(response, 409, "conflict.field_locked")["detail"].startswith(field + " cannot change")


def test_the_terms_of_a_decided_proposal_are_fixed(own_api, factory, queued_events):
    other = factory.offered()["id"]
    made = create_in_status(own_api, factory, "proposals", "accepted")
    queued_events()
    for field, value in (("property_id", other), ("kind", "rental"), ("amount", 1), ("valid_until", "2098-01-01")):
        locked(own_api.patch("proposals/" + made["id"], json={field: value}), field)
    assert ok(own_api.get("proposals/" + made["id"])) == made and queued_events() == []


def test_the_terms_of_an_active_contract_are_fixed(own_api, factory, queued_events):
    made = create_in_status(own_api, factory, "contracts", "active")
    path = "contracts/" + made["id"]
    queued_events()
    for field, value in (("amount", 1), ("kind", "management"), ("parties", made["parties"][:1]), ("number", "1"),
                         ("termination_reason", "x"), ("property_id", factory.offered()["id"])):
        locked(own_api.patch(path, json={field: value}), field)
    body = {name: made[name] for name in factory.body("contracts", property_id=made["property_id"])}
    locked(own_api.put(path, json={**body, "status": "active", "amount": 1}), "amount")
    locked(own_api.patch(path, json={"status": "terminated", "termination_reason": "x", "amount": 1}), "amount")
    assert ok(own_api.get(path)) == made
    changed = ok(own_api.patch(path, json={"notes": "x", "metadata": {"a": "b"}, "external_id": uuid.uuid4().hex}))
    assert changed["status"] == "active" and changed["amount"] == made["amount"]


# ---------------------------------------------------------------- one accepted proposal


def test_a_second_acceptance_for_a_property_is_a_conflict(own_api, factory):
    property = factory.offered()["id"]
    first, second = (create_in_status(own_api, factory, "proposals", "submitted", property_id=property) for _ in range(2))
    ok(own_api.patch("proposals/" + first["id"], json={"status": "accepted"}))
    problem = refused(own_api.patch("proposals/" + second["id"], json={"status": "accepted"}), 409,
                      "conflict.property_unavailable")
    assert f"the property {property} is under_contract" in problem["detail"]
    assert ok(own_api.get("proposals/" + second["id"])) == second
    other = create_in_status(own_api, factory, "proposals", "submitted")
    refused(own_api.patch("proposals/" + other["id"], json={"property_id": property, "status": "accepted"}), 409,
            "conflict.property_unavailable")
    ok(own_api.patch("proposals/" + second["id"], json={"status": "rejected"}))


def test_exactly_one_of_concurrent_acceptances_succeeds(own_api, factory, queued_events):
    for _ in range(6):
        property = factory.offered()
        proposals = [factory.proposal(property_id=property["id"], status="submitted") for _ in range(6)]
        queued_events()
        answers = together(*[lambda id=one["id"]: own_api.with_().patch("proposals/" + id, json={"status": "accepted"})
                             for one in proposals])
        assert sorted(answer.status_code for answer in answers) == [200] + [409] * 5
        assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"conflict.property_unavailable"}
        assert ok(own_api.get("properties/" + property["id"]))["status"] == "under_contract"
        assert sorted(event for event, _ in queued_events()) == ["property.updated", "proposal.updated"]
        accepted = own_api.walk("proposals", property_id=property["id"], status="accepted")
        assert len(accepted) == 1


def test_a_concurrent_acceptance_and_property_change_are_both_kept(own_api, factory):
    for n in range(8):
        property = factory.offered()
        proposal = factory.proposal(property_id=property["id"], status="submitted")
        together(lambda: ok(own_api.with_().patch("properties/" + property["id"], json={"title": f"Casa {n}"})),
                 lambda: ok(own_api.with_().patch("proposals/" + proposal["id"], json={"status": "accepted"})))
        now = ok(own_api.get("properties/" + property["id"]))
        assert (now["title"], now["status"]) == (f"Casa {n}", "under_contract")


def test_an_effect_alone_notifies_the_courier(own_api, factory, instance):
    """With a subscription to properties only, the effect of a proposal on its property is sent at once."""
    property = factory.offered()
    proposal = create_in_status(own_api, factory, "proposals", "submitted", property_id=property["id"])
    hook = ok(own_api.post("webhooks", json={"url": UNREACHABLE_URL + uuid.uuid4().hex, "events": ["property.updated"]}),
              201)["id"]
    ok(own_api.patch("proposals/" + proposal["id"], json={"status": "accepted"}))
    eventually(lambda: [one for one in ok(own_api.get(f"webhooks/{hook}/deliveries"))["items"] if one["attempt_count"]],
               "an attempt")
    ok(own_api.delete("webhooks/" + hook), 204)
