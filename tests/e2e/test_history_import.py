# SPDX-License-Identifier: Apache-2.0
"""Import of history through the API: any status and original timestamps; consistency rules apply, rules about time do not."""

import json
import uuid

import pytest
from client import Api, ok, refused, wrong_fields
from ctl_instance import Ctl
from event_log import deliveries, events
from factories import unique
from wait import together

CREATED, DECIDED, CHANGED = "2019-03-01T12:00:00.000Z", "2019-03-05T12:00:00.000Z", "2019-04-01T12:00:00.000Z"
TIMES = {"created_at": CREATED, "updated_at": CHANGED}
STATUSES = {"proposals": ["draft", "submitted", "countered", "accepted", "rejected", "withdrawn", "expired"],
            "contracts": ["draft", "pending_signature", "active", "completed", "terminated", "expired", "cancelled"]}
MARK = {"import": "true"}


def history(factory, collection, status, **more):
    """A body of imported history: the property is sold, and the proposal has expired."""
    property = more.pop("property_id", None) or factory.property(status="sold", transaction_type="rent", rent_price=1)["id"]
    own = {"proposals": {"valid_until": "2019-03-31"}, "contracts": {"end_date": "2099-12-31"}}[collection]
    reason = {"termination_reason": "Distrato"} if status in ("cancelled", "terminated") else {}
    return factory.body(collection, property_id=property, status=status, **own, **reason, **TIMES, **more)


def importing(api, collection, body, **more):
    return api.post(collection, json=body, params=MARK, **more)


@pytest.mark.parametrize("collection", STATUSES)
def test_history_has_any_status_and_its_original_timestamps(own_api, factory, collection):
    property = factory.property(status="sold", transaction_type="rent", rent_price=1)
    for status in STATUSES[collection]:
        made = ok(importing(own_api, collection, history(factory, collection, status, property_id=property["id"])), 201)
        assert {**made, **TIMES, "status": status} == made
        assert made["created_by"] == made["updated_by"] == own_api.credential.id
        assert "decided_at" not in made and "signed_at" not in made
    listed = own_api.walk(collection, created_lte=CREATED)
    assert len(listed) == len(STATUSES[collection])
    assert ok(own_api.get("properties/" + property["id"])) == property


def test_the_timestamps_of_statuses_are_kept_if_the_status_was_reached(own_api, factory):
    for collection, status, names in (("proposals", "rejected", ["decided_at"]), ("contracts", "completed", ["signed_at"]),
                                      ("contracts", "terminated", ["signed_at", "terminated_at"])):
        made = ok(importing(own_api, collection, history(factory, collection, status, **dict.fromkeys(names, DECIDED))), 201)
        assert [made[name] for name in names] == [DECIDED] * len(names)
    for collection, status, name in (("proposals", "submitted", "decided_at"), ("contracts", "cancelled", "signed_at"),
                                     ("contracts", "completed", "terminated_at")):
        response = importing(own_api, collection, history(factory, collection, status, **{name: DECIDED}))
        assert set(wrong_fields(response)) == {name}


@pytest.mark.parametrize("collection, status, name", [("proposals", "rejected", "decided_at"), ("contracts", "completed", "signed_at")])
def test_timestamps_are_normalized(own_api, instance, factory, collection, status, name):
    """To UTC and milliseconds, in the response and in the columns, by which clients synchronize."""
    times = {"created_at": "2019-10-01T02:00:00+02:00", "updated_at": "2019-10-01T02:00:00.1239876+02:00", name: "2019-10-01T00:00:00Z"}
    made = ok(importing(own_api, collection, {**history(factory, collection, status), **times}), 201)
    assert [made[time] for time in times] == [f"2019-10-01T00:00:00.{fraction}Z" for fraction in ("000", "123", "000")]
    assert ok(own_api.get(f"{collection}/{made['id']}")) == made
    assert own_api.walk(collection, updated_gte=made["updated_at"], updated_lte=made["updated_at"]) == [made]
    checks = {row["check"]: row for row in json.loads(Ctl(instance).run("--json", "doctor", "--httpd-conf", "/nowhere")[1])}
    assert checks["representations"]["result"] == "ok", checks["representations"]


@pytest.mark.parametrize("collection, path", [("proposals", "property_id"), ("proposals", "proponent_ids"), ("contracts", "property_id")])
def test_history_can_refer_by_external_id(own_api, factory, collection, path):
    body = history(factory, collection, "draft")
    ids = body[path] if path.endswith("s") else [body[path]]
    keys = [{"external_id": unique()} for _ in ids]
    for id, key in zip(ids, keys):
        ok(own_api.patch(("parties/" if path.endswith("s") else "properties/") + id, json=key))
    made = ok(importing(own_api, collection, {**body, path: keys if path.endswith("s") else keys[0]}), 201)
    assert made[path] == body[path] and {**made, **TIMES} == made
    unknown = {"external_id": unique()}
    answer = importing(own_api, collection, {**body, path: [unknown] if path.endswith("s") else unknown})
    assert list(wrong_fields(answer).values()) == [f"validation.{collection[:-1]}.{path}_not_found"]


@pytest.mark.parametrize("times, wrong", [({"created_at": "2999-01-01T00:00:00Z"}, {"created_at", "updated_at"}),
                                          ({"updated_at": "2019-02-28T12:00:00Z"}, {"updated_at"}),
                                          ({"created_at": "1969-12-31T00:00:00Z"}, {"created_at"}),
                                          ({"decided_at": "soon"}, {"decided_at"}), ({"status": "gone"}, {"status"})])
def test_impossible_history_is_refused(own_api, factory, times, wrong):
    assert set(wrong_fields(importing(own_api, "proposals", {**history(factory, "proposals", "accepted"), **times}))) == wrong
    assert own_api.walk("proposals") == []


@pytest.mark.parametrize("collection", STATUSES)
def test_other_fields_of_the_service_are_ignored_as_in_the_schema(own_api, factory, collection):
    """Of the fields that only the service sets, history has the timestamps; the schema says so."""
    name = {"proposals": "Proposal", "contracts": "Contract"}[collection]
    described = own_api.description()["components"]["schemas"][name + "Patch"]["properties"]  # ProposalInput extends it
    times = {key for key, value in described.items() if "import=true" in value.get("description", "")}
    assert times == {"created_at", "updated_at", *({"decided_at"} if collection == "proposals" else {"signed_at", "terminated_at"})}
    ignored = {key: 7 for key, value in described.items() if value.get("readOnly")}
    assert {"id", "created_by", "updated_by", "organization_id"} <= ignored.keys()
    made = ok(importing(own_api, collection, history(factory, collection, "draft", **ignored)), 201)
    assert made["created_by"] == own_api.credential.id
    for name in times:
        assert set(wrong_fields(importing(own_api, collection, {**history(factory, collection, "draft"), name: "soon"}))) == {name}
        ok(own_api.post(collection, json={**factory.body(collection), name: "soon"}), 201)


def test_history_is_consistent(own_api, factory):
    property = factory.property(status="sold")["id"]
    accepted, rejected = (ok(importing(own_api, "proposals", history(factory, "proposals", status, property_id=property)), 201)
                          for status in ("accepted", "rejected"))
    signed = factory.signed("sale")
    right = history(factory, "contracts", "completed", property_id=property, proposal_id=accepted["id"], parties=signed)
    other = factory.property()["id"]
    for wrong, code in (({"proposal_id": rejected["id"]}, "proposal_not_accepted"), ({"property_id": other}, "proposal_mismatch"),
                        ({"kind": "management"}, "proposal_mismatch"), ({"parties": signed[:1]}, "parties_missing"),
                        ({"parties": [{**one, "signed_at": None} for one in signed]}, "signatures_missing"),
                        ({"status": "terminated"}, "reason_required"), ({"status": "cancelled"}, "reason_required")):
        refused(importing(own_api, "contracts", {**right, **wrong}), 409, "conflict." + code)
    refused(own_api.post("contracts", json=right), 409, "conflict.invalid_transition")
    made = ok(importing(own_api, "contracts", {name: one for name, one in right.items() if name not in ("amount",)}), 201)
    assert made["amount"] == accepted["amount"]
    unknown = importing(own_api, "contracts", {**right, "proposal_id": "pps_" + "0" * 26})
    assert set(wrong_fields(unknown)) == {"proposal_id"}


def test_imported_history_claims_its_property_once(own_api, factory):
    """Like the API: no two accepted proposals whose contracts have not ended, and no two active contracts."""
    property, signed = factory.property(status="sold")["id"], factory.signed("sale")

    def proposal():
        return importing(own_api, "proposals", history(factory, "proposals", "accepted", property_id=property))

    def contract(status, **more):
        return importing(own_api, "contracts", history(factory, "contracts", status, property_id=property, parties=signed, **more))

    first = ok(proposal(), 201)["id"]
    detail = refused(proposal(), 409, "conflict.property_unavailable")["detail"]
    assert first in detail and "import the contract of that proposal, with its final status" in detail
    assert first in refused(contract("active"), 409, "conflict.property_unavailable")["detail"]
    ok(contract("completed", proposal_id=first), 201)
    second = ok(proposal(), 201)["id"]
    assert second in refused(contract("draft", proposal_id=first), 409, "conflict.property_unavailable")["detail"]
    for status in ("cancelled", "terminated"):
        ok(contract(status, proposal_id=first), 201)
    current = ok(contract("active", proposal_id=second), 201)["id"]
    assert current in refused(proposal(), 409, "conflict.property_unavailable")["detail"]
    for more in ({}, {"proposal_id": second}):
        assert current in refused(contract("active", **more), 409, "conflict.property_unavailable")["detail"]
    ok(contract("completed"), 201)


@pytest.mark.parametrize("collection, status", [("proposals", "accepted"), ("contracts", "active")])
def test_of_simultaneous_imports_one_claims_the_property(own_api, factory, collection, status):
    signed = {"parties": factory.signed("sale")} if collection == "contracts" else {}
    apis = [own_api.with_() for _ in range(8)]
    for keyed in (False, True, False, True):
        property = factory.property(status="sold")["id"]
        body = history(factory, collection, status, property_id=property, **signed)
        answers = together(*(lambda api=api: importing(api, collection, body, headers={"Idempotency-Key": str(uuid.uuid4())} if keyed else {})
                             for api in apis))
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7, [answer.text for answer in answers]
        assert len(own_api.walk(collection, property_id=property)) == 1


def test_only_administrators_import_history(instance, admin_factory, own_api, factory):
    body = history(factory, "contracts", "completed")
    for role in ("org_editor", "org_viewer"):
        api = Api(instance, admin_factory.key(own_api.credential.organizations[0], role))
        problem = refused(importing(api, "contracts", body), 403, "forbidden.insufficient_permissions")
        if role == "org_editor":
            assert "org_admin" in problem["detail"] and role in problem["detail"]
            refused(api.post("contracts", json=body, params={"import": "false"}), 409, "conflict.invalid_transition")
    for collection, value, code in (("contracts", "yes", "parameter_invalid"), ("brokers", "true", "unknown_parameter")):
        found = wrong_fields(own_api.post(collection, json=factory.body(collection), params={"import": value}))
        assert found == {"import": "validation." + code}
    assert own_api.walk("contracts") == []


def test_history_is_in_the_event_log_without_deliveries_and_imported_once(own_api, instance, factory):
    subscription = ok(own_api.post("webhooks", json={"url": "https://127.0.0.1:9/", "events": ["proposal.created"]}), 201)["id"]
    body, key = history(factory, "proposals", "draft"), {"Idempotency-Key": str(uuid.uuid4())}
    made = ok(importing(own_api, "proposals", body, headers=key), 201)
    assert ok(importing(own_api, "proposals", body, headers=key), 201) == made
    refused(own_api.post("proposals", json=body, headers=key), 409, "conflict.idempotency_key_reused")
    logged = [one for one in events(instance, own_api.credential.organizations[0]) if one["resource_id"] == made["id"]]
    assert [one["type"] for one in logged] == ["proposal.created"] and deliveries(instance, subscription) == []


def test_imported_open_proposals_and_contracts_follow_the_rules(own_api, factory):
    """An imported active contract ends like any other and determines the status of its property."""
    property = factory.property(status="sold")
    made = ok(importing(own_api, "contracts", history(factory, "contracts", "active", property_id=property["id"])), 201)
    detail = refused(own_api.patch("properties/" + property["id"], json={"status": "active"}), 409, "conflict.contract_active")["detail"]
    assert made["id"] in detail
    ended = ok(own_api.patch("contracts/" + made["id"], json={"status": "terminated", "termination_reason": "Distrato"}))
    assert ended["created_at"] == CREATED and ended["updated_at"] == ended["terminated_at"] > CHANGED
    assert ok(own_api.get("properties/" + property["id"]))["status"] == "active"
