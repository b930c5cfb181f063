# SPDX-License-Identifier: Apache-2.0
"""Rules between properties, proposals and contracts, as listed on the page "Business rules". Transitions:
test_transitions.py."""

import itertools
import os
import uuid
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from client import ok, refused
from factories import LAST_DAY, ROLES, given
from wait import together

SIGNED = "2026-02-11T18:30:00.000Z"
TERM = {"start_date": "2026-03-01", "end_date": LAST_DAY}
CLIENTS = 16
ENDINGS = ("completed", "terminated", "expired")
# By kind and status of a contract: the next status of its property, which is sold or rented while the contract is active.
PROPERTY_AFTER = {("sale", "completed"): "sold", ("sale", "terminated"): "active", ("sale", "expired"): "on_hold",
                  ("rental", "completed"): "active", ("rental", "terminated"): "active", ("rental", "expired"): "rented"}


def day(days):
    return str((datetime.now(ZoneInfo("America/Sao_Paulo")) + timedelta(days)).date())


def patch(api, resource, **fields):
    path = {"prp": "properties", "pps": "proposals", "ctr": "contracts"}[resource["id"][:3]]
    return api.patch(f"{path}/{resource['id']}", json=fields)


def read_status(api, property):
    return ok(api.get("properties/" + property["id"]))["status"]


def contract(factory, kind, property, *statuses, **fields):
    """A contract that has passed the given statuses."""
    made = factory.contract(kind=kind, property_id=property["id"], **{**(TERM if kind == "rental" else {}), **fields})
    for status in statuses:
        made = ok(patch(factory.api, made, status=status, termination_reason="x" if status in ("cancelled", "terminated") else None))
    return made


# ---------------------------------------------------------------- proposals


@pytest.mark.parametrize("type, kind, fits", [("sale", "purchase", True), ("sale", "rental", False), ("rent", "purchase", False),
                                              ("rent", "rental", True), ("sale_rent", "purchase", True),
                                              ("sale_rent", "rental", True)])
def test_a_proposal_matches_the_transaction_type(own_api, factory, type, kind, fits):
    property = factory.offered(transaction_type=type)["id"]
    response = own_api.post("proposals", json=factory.body("proposals", kind=kind, property_id=property))
    if fits:
        ok(response, 201)
        return
    problem = refused(response, 409, "conflict.transaction_type")
    assert property in problem["detail"] and type in problem["detail"]
    made = factory.proposal(kind={"purchase": "rental", "rental": "purchase"}[kind], property_id=property)
    refused(patch(own_api, made, kind=kind), 409, "conflict.transaction_type")
    ok(patch(own_api, made, notes="x"))


def test_a_proposal_is_accepted_until_its_last_day_in_sao_paulo(own_api, factory):
    late = factory.proposal(status="submitted", valid_until=day(-1))
    detail = refused(patch(own_api, late, status="accepted"), 409, "conflict.proposal_expired")["detail"]
    assert day(-1) in detail and day(0) in detail
    assert read_status(own_api, {"id": late["property_id"]}) == "active"
    ok(patch(own_api, factory.proposal(status="submitted", valid_until=day(1)), status="accepted"))


@pytest.mark.parametrize("status", ["draft", "under_contract", "sold", "rented", "on_hold", "withdrawn"])
def test_acceptance_needs_an_active_property(own_api, factory, status):
    property = factory.offered(status=status)
    made = factory.proposal(property_id=property["id"], status="submitted")
    detail = refused(patch(own_api, made, status="accepted"), 409, "conflict.property_unavailable")["detail"]
    assert property["id"] in detail and status in detail and read_status(own_api, property) == status


# ---------------------------------------------------------------- contracts


def test_a_contract_refers_to_an_accepted_proposal_of_its_property_and_kind(own_api, factory):
    open_one, accepted = factory.proposal(status="submitted"), factory.accepted()
    body = factory.body("contracts", property_id=open_one["property_id"], proposal_id=open_one["id"])
    detail = refused(own_api.post("contracts", json=body), 409, "conflict.proposal_not_accepted")["detail"]
    assert open_one["id"] in detail and "submitted" in detail
    for wrong in ({"property_id": open_one["property_id"]}, {"kind": "rental", **TERM}, {"kind": "management"}):
        body = factory.body("contracts", **{"property_id": accepted["property_id"], "proposal_id": accepted["id"], **wrong})
        assert accepted["id"] in refused(own_api.post("contracts", json=body), 409, "conflict.proposal_mismatch")["detail"]
    made = factory.contract(property_id=accepted["property_id"], proposal_id=accepted["id"])
    refused(patch(own_api, made, property_id=open_one["property_id"]), 409, "conflict.proposal_mismatch")
    unknown = own_api.post("contracts", json={**body, "kind": "sale", "proposal_id": "pps_" + "0" * 26})
    assert unknown.status_code == 400 and unknown.json()["code"] == "validation.contract.proposal_id_not_found"


def test_amount_and_parties_default_from_the_proposal(own_api, factory):
    seller, buyer = factory.party()["id"], factory.party()["id"]
    accepted = factory.accepted(kind="rental", proponent_ids=[buyer], recipient_ids=[seller], amount=310_000)
    body = {"kind": "rental", "property_id": accepted["property_id"], "proposal_id": accepted["id"], **TERM}
    made = ok(own_api.post("contracts", json=body), 201)
    assert made["amount"] == 310_000
    assert made["parties"] == [{"party_id": seller, "role": "landlord"}, {"party_id": buyer, "role": "tenant"}]
    assert ok(own_api.get("contracts", params={"party_id": seller}))["items"] == [made]
    assert ok(patch(own_api, made, amount=None))["amount"] == 310_000
    too_much = {**body, "guarantee": {"kind": "deposit", "amount": 930_001}}
    assert own_api.post("contracts", json=too_much).json()["code"] == "validation.contract.guarantee_amount_invalid"
    response = own_api.post("contracts", json={name: one for name, one in body.items() if name != "proposal_id"})
    assert {item["field"] for item in response.json()["errors"]} == {"amount", "parties"}


def test_an_idempotent_creation_is_replayed_even_if_the_rules_now_refuse_it(own_api, factory):
    body, key = factory.body("proposals", kind="rental"), {"Idempotency-Key": str(uuid.uuid4())}
    first = ok(own_api.post("proposals", json=body, headers=key), 201)
    ok(own_api.patch("properties/" + body["property_id"], json={"transaction_type": "sale"}))
    assert ok(own_api.post("proposals", json=body, headers=key), 201) == first
    refused(own_api.post("proposals", json=body), 409, "conflict.transaction_type")


@pytest.mark.parametrize("kind, role", [("sale", "seller"), ("sale", "buyer"), ("rental", "landlord"), ("rental", "tenant"),
                                        ("exclusive_listing", "owner"), ("management", "owner")])
def test_a_contract_is_signed_by_the_parties_of_its_kind(own_api, factory, kind, role):
    someone, other = factory.party()["id"], factory.party()["id"]
    needed = [{"party_id": someone, "role": one} for one in ROLES.get(kind, ["owner"])]
    lacking = [one for one in needed if one["role"] != role] + [{"party_id": other, "role": "witness"}]
    made = factory.contract(kind=kind, parties=lacking, **(TERM if kind in ("rental", "exclusive_listing") else {}))
    assert role in refused(patch(own_api, made, status="pending_signature"), 409, "conflict.parties_missing")["detail"]
    body = {name: made[name] for name in ("kind", "property_id", "amount", "parties", "start_date", "end_date") if name in made}
    refused(own_api.post("contracts", json={**body, "status": "pending_signature"}), 409, "conflict.parties_missing")
    made = ok(patch(own_api, made, status="pending_signature", parties=[*needed, lacking[-1]]))
    refused(patch(own_api, made, parties=lacking), 409, "conflict.parties_missing")
    for number in range(len(made["parties"])):
        detail = refused(patch(own_api, made, status="active"), 409, "conflict.signatures_missing")["detail"]
        assert f"parties[{number}].signed_at" in detail
        parties = [{**one, "signed_at": SIGNED} if i <= number else one for i, one in enumerate(made["parties"])]
        made = ok(patch(own_api, made, parties=parties))
    assert ok(patch(own_api, made, status="active"))["status"] == "active"


def test_only_drafts_can_be_deleted_and_endings_need_a_reason(own_api, factory):
    ok(own_api.delete("contracts/" + factory.contract()["id"]), 204)
    for statuses in (["pending_signature"], ["pending_signature", "active"], ["cancelled"],
                     ["pending_signature", "active", "terminated"]):
        made = contract(factory, "sale", factory.offered(), *statuses)
        detail = refused(own_api.delete("contracts/" + made["id"]), 409, "conflict.not_deletable")["detail"]
        assert made["id"] in detail and statuses[-1] in detail
        if statuses[-1] in ("pending_signature", "active"):
            end = {"pending_signature": "cancelled", "active": "terminated"}[statuses[-1]]
            refused(patch(own_api, made, status=end), 409, "conflict.reason_required")
            assert ok(patch(own_api, made, status=end, termination_reason="Distrato"))["termination_reason"] == "Distrato"


@pytest.mark.parametrize("kind, ending", PROPERTY_AFTER, ids=["-".join(pair) for pair in PROPERTY_AFTER])
def test_the_end_of_a_contract_changes_its_property(own_api, factory, kind, ending):
    property = factory.offered()
    made = contract(factory, kind, property, "pending_signature", "active")
    assert read_status(own_api, property) == {"sale": "sold", "rental": "rented"}[kind]
    ok(patch(own_api, made, status=ending, termination_reason="x" if ending == "terminated" else None))
    assert read_status(own_api, property) == PROPERTY_AFTER[kind, ending]


def test_cancelling_the_last_contract_of_a_proposal_frees_the_property(own_api, factory):
    property = factory.offered()
    proposal = factory.accepted(property_id=property["id"])
    first, second = (contract(factory, "sale", property, proposal_id=proposal["id"]) for _ in range(2))
    ok(patch(own_api, first, status="cancelled", termination_reason="x"))
    assert read_status(own_api, property) == "under_contract"
    ok(patch(own_api, second, status="cancelled", termination_reason="x"))
    assert read_status(own_api, property) == "active"
    ok(patch(own_api, factory.proposal(property_id=property["id"], status="submitted"), status="accepted"))


def test_a_failed_deal_does_not_leave_the_property_under_contract(own_api, factory):
    property = factory.offered()
    proposal = factory.accepted(property_id=property["id"])
    problem = refused(own_api.delete("proposals/" + proposal["id"]), 409, "conflict.not_deletable")
    assert proposal["id"] in problem["detail"] and "create a contract" in problem["detail"]
    ok(own_api.delete("contracts/" + contract(factory, "sale", property, proposal_id=proposal["id"])["id"]), 204)
    contract(factory, "sale", property)  # of no proposal, so it reserves nothing
    made = [contract(factory, "sale", property, proposal_id=proposal["id"]) for _ in range(3)]
    ok(patch(own_api, made[0], status="cancelled", termination_reason="x"))
    results = ok(own_api.post("contracts/batch", json={"operations": [{"method": "delete", "id": one["id"]} for one in made[1:]]}))
    assert [one["status"] for one in results["results"]] == [204, 409]
    assert results["results"][1]["error"]["code"] == "conflict.not_deletable"
    problem = refused(own_api.delete("contracts/" + made[2]["id"]), 409, "conflict.not_deletable")
    assert "cancelled" in problem["detail"] and read_status(own_api, property) == "under_contract"
    ok(patch(own_api, made[2], status="cancelled", termination_reason="x"))
    assert read_status(own_api, property) == "active"


@pytest.mark.parametrize("kind, deal, status", [("purchase", "sale", "sold"), ("rental", "rental", "rented")])
def test_a_deal_whose_property_has_its_status_already_can_be_concluded(own_api, factory, kind, deal, status):
    property = factory.offered()
    proposal = factory.accepted(property_id=property["id"], kind=kind)
    ok(patch(own_api, property, status=status))
    before = ok(own_api.get("properties/" + property["id"]))
    unrelated = contract(factory, deal, property, "pending_signature")
    refused(patch(own_api, unrelated, status="active"), 409, "conflict.property_unavailable")
    made = contract(factory, deal, property, "pending_signature", "active", proposal_id=proposal["id"])
    assert ok(own_api.get("properties/" + property["id"])) == before
    ok(patch(own_api, made, status="terminated", termination_reason="x"))
    assert read_status(own_api, property) == "active"


def test_a_second_contract_does_not_become_active(own_api, factory):
    property = factory.offered()
    first, second = (contract(factory, "sale", property, "pending_signature") for _ in range(2))
    ok(patch(own_api, first, status="active"))
    detail = refused(patch(own_api, second, status="active"), 409, "conflict.property_unavailable")["detail"]
    assert property["id"] in detail and "sold" in detail and first["id"] in detail


# ---------------------------------------------------------------- properties


@pytest.mark.parametrize("kind, kept", [("sale", "sold"), ("rental", "rented")])
def test_a_property_does_not_contradict_its_active_contract(own_api, factory, kind, kept):
    property = factory.offered()
    made = contract(factory, kind, property, "pending_signature", "active")
    now = ok(own_api.get("properties/" + property["id"]))
    refusals = [patch(own_api, property, status="active"),
                own_api.put("properties/" + property["id"], json={**given(now), "status": "withdrawn"})]
    for response in refusals:
        detail = refused(response, 409, "conflict.contract_active")["detail"]
        assert made["id"] in detail and kept in detail
    operations = [{"method": "update", "id": property["id"], "data": data} for data in ({"status": "on_hold"}, {"title": "x"})]
    results = ok(own_api.post("properties/batch", json={"operations": operations}))["results"]
    assert [one["status"] for one in results] == [409, 200] and results[0]["error"]["code"] == "conflict.contract_active"
    assert read_status(own_api, property) == kept
    ok(patch(own_api, made, status="completed"))
    ok(patch(own_api, property, status="withdrawn"))


def written_by_a_feed(api, property, **fields):
    """The responses to each way of writing the property as a whole or in part, as (status, problem)."""
    whole, key = {**given(property), **fields}, property["external_id"]
    operations = [{"method": "update", "id": property["id"], "data": fields}, {"method": "upsert", "external_id": key, "data": whole},
                  {"method": "merge", "external_id": key, "data": fields}]
    for response in (api.patch("properties/" + property["id"], json=fields), api.put("properties/" + property["id"], json=whole),
                     api.put("properties/by-external-id/" + key, json=whole),
                     api.patch("properties/by-external-id/" + key, json=fields)):
        yield response.status_code, response.json()
    for operation in operations:
        result, = ok(api.post("properties/batch", json={"operations": [operation]}))["results"]
        yield result["status"], result.get("error")


def test_an_accepted_proposal_reserves_the_property_until_its_contract_ends(own_api, factory):
    property = factory.offered(external_id=uuid.uuid4().hex)
    first, second = (factory.proposal(property_id=property["id"], status="submitted") for _ in range(2))
    ok(patch(own_api, first, status="accepted"))
    for wanted in ("active", "draft", "on_hold", "withdrawn", "rented"):
        for status, problem in written_by_a_feed(own_api, property, status=wanted):
            assert (status, problem["code"], problem["field"]) == (409, "conflict.property_reserved", "status")
            assert f"status: the property cannot become {wanted}" in problem["detail"] and first["id"] in problem["detail"]
    failed = own_api.post("properties/batch", json={"atomic": True, "operations": [
        {"method": "update", "id": property["id"], "data": {"title": "x", "status": "active"}}]})
    assert refused(failed, 409, "conflict.property_reserved")["field"] == "operations[0].data.status"
    for status, _ in written_by_a_feed(own_api, {**property, "status": "under_contract"}, title="Novo"):
        assert status == 200
    assert [ok(patch(own_api, property, status=status))["status"] for status in ("sold", "under_contract")] == ["sold", "under_contract"]
    made = contract(factory, "sale", property, proposal_id=first["id"])
    assert made["id"] in refused(patch(own_api, property, status="active"), 409, "conflict.property_reserved")["detail"]
    ok(patch(own_api, made, status="cancelled", termination_reason="Desistência"))
    assert read_status(own_api, property) == "active"
    ok(patch(own_api, property, status="on_hold"))
    ok(patch(own_api, property, status="active"))
    ok(patch(own_api, second, status="accepted"))


def test_a_reserved_property_has_no_other_deal_whatever_its_status(own_api, factory):
    """As after an import of history, which changes no property."""
    property = factory.offered()
    old = ok(own_api.post("proposals?import=true", json=factory.body("proposals", property_id=property["id"], status="accepted")), 201)
    other = factory.proposal(property_id=property["id"], status="submitted")
    detail = refused(patch(own_api, other, status="accepted"), 409, "conflict.property_unavailable")["detail"]
    assert old["id"] in detail and property["id"] in detail
    unrelated = contract(factory, "sale", property, "pending_signature")
    detail = refused(patch(own_api, unrelated, status="active"), 409, "conflict.property_unavailable")["detail"]
    assert old["id"] in detail and "proposal_id" in detail
    assert ok(patch(own_api, unrelated, status="active", proposal_id=old["id"]))["status"] == "active"
    ok(patch(own_api, unrelated, status="terminated", termination_reason="Distrato"))
    ok(patch(own_api, other, status="accepted"))
    again = factory.body("contracts", property_id=property["id"], proposal_id=old["id"])
    assert other["id"] in refused(own_api.post("contracts", json=again), 409, "conflict.property_unavailable")["detail"]


# ---------------------------------------------------------------- races


def race(own_api, rounds, setup, *jobs):
    """Runs the jobs of 16 clients concurrently, each with what its setup() returned."""
    apis = [own_api.with_() for _ in range(CLIENTS)]
    for _ in range(rounds):
        made = setup()
        calls = [lambda api=api, job=job: job(api, made) for api, job in zip(apis, itertools.cycle(jobs))]
        yield made, together(*calls)


SCALE = float(os.environ.get("NEOAPI_PROMISE_SCALE", "0.1"))  # 1 means a thousand rounds
ROUNDS = [pytest.param(4), pytest.param(int(1000 * SCALE), marks=pytest.mark.slow)]


def codes(answers):
    return {answer.json()["code"] for answer in answers if answer.status_code == 409}


@pytest.mark.parametrize("rounds", ROUNDS)
def test_one_of_concurrent_acceptances_succeeds(own_api, factory, rounds):
    party = factory.party()["id"]

    def setup():
        property = factory.offered()["id"]
        return [factory.proposal(property_id=property, status="submitted", proponent_ids=[party]) for _ in range(2)]

    for made, answers in race(own_api, rounds, setup, *(lambda api, made, i=i: patch(api, made[i], status="accepted", notes=str(i))
                                                         for i in range(2))):
        states = sorted(ok(own_api.get("proposals/" + one["id"]))["status"] for one in made)
        assert states == ["accepted", "submitted"] and codes(answers) <= {"conflict.property_unavailable"}
        assert {answer.status_code for answer in answers} == {200, 409}
        assert read_status(own_api, {"id": made[0]["property_id"]}) == "under_contract"


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_feed_does_not_undo_a_concurrent_acceptance(own_api, factory, rounds):
    """It sets the status to active, or takes the offer back and renews it, in single writes and batches."""
    party = factory.party()["id"]

    def setup():
        property = factory.offered(external_id=uuid.uuid4().hex)
        return property, [factory.proposal(property_id=property["id"], status="submitted", proponent_ids=[party]) for _ in range(2)]

    def feed(api, made):
        for status in ("active", "on_hold", "active"):
            patch(api, made[0], status=status)
        return patch(api, made[0], title="Casa")

    def batch(api, made):
        upserts = [{"method": "upsert", "external_id": made[0]["external_id"], "data": {**given(made[0]), "status": status}}
                   for status in ("on_hold", "active")]
        return api.post("properties/batch", json={"operations": upserts})

    for made, answers in race(own_api, rounds, setup, lambda api, made: patch(api, made[1][0], status="accepted"),
                              lambda api, made: patch(api, made[1][1], status="accepted"), feed, batch):
        states = sorted(ok(own_api.get("proposals/" + one["id"]))["status"] for one in made[1])
        assert states in (["accepted", "submitted"], ["submitted", "submitted"])
        assert (read_status(own_api, made[0]) == "under_contract") == ("accepted" in states)
        assert {answer.status_code for answer in answers} <= {200, 409}


@pytest.mark.parametrize("rounds", ROUNDS)
def test_one_of_a_concurrent_acceptance_and_withdrawal_succeeds(own_api, factory, rounds):
    party = factory.party()["id"]
    for made, answers in race(own_api, rounds, lambda: factory.proposal(status="submitted", proponent_ids=[party]),
                              lambda api, made: patch(api, made, status="accepted"),
                              lambda api, made: patch(api, made, status="withdrawn")):
        won = ok(own_api.get("proposals/" + made["id"]))["status"]
        assert {answer.status_code for answer in answers} == {200, 409}
        assert [answer.status_code == 200 for answer in answers] == [
            won == status for status in ["accepted", "withdrawn"] * (CLIENTS // 2)]
        assert read_status(own_api, {"id": made["property_id"]}) == {"accepted": "under_contract", "withdrawn": "active"}[won]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_one_of_two_concurrent_contracts_becomes_active(own_api, factory, rounds):
    parties = factory.signed("sale")

    def setup():
        property = factory.offered()["id"]
        return [factory.contract(property_id=property, parties=parties, status="pending_signature") for _ in range(2)]

    for made, answers in race(own_api, rounds, setup, *(lambda api, made, i=i: patch(api, made[i], status="active")
                                                         for i in range(2))):
        states = sorted(ok(own_api.get("contracts/" + one["id"]))["status"] for one in made)
        assert states == ["active", "pending_signature"] and codes(answers) <= {"conflict.property_unavailable"}
        assert {answer.status_code for answer in answers} == {200, 409}
        assert read_status(own_api, {"id": made[0]["property_id"]}) == "sold"


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_concurrent_deletion_or_its_references_succeed(own_api, factory, rounds):
    other = factory.party()["id"]
    for made, answers in race(own_api, rounds, lambda: (factory.party(), factory.proposal(proponent_ids=[other])),
                              lambda api, made: api.delete("parties/" + made[0]["id"]),
                              lambda api, made: patch(api, made[1], recipient_ids=[made[0]["id"]])):
        deletions, references = answers[::2], answers[1::2]
        is_deleted = own_api.get("parties/" + made[0]["id"]).status_code == 404
        refers = "recipient_ids" in ok(own_api.get("proposals/" + made[1]["id"]))
        assert is_deleted != refers
        assert {answer.status_code for answer in deletions} == ({204, 404} if is_deleted else {409})
        assert {answer.status_code for answer in references} == ({400} if is_deleted else {200})


@pytest.fixture
def couple(factory):
    def make():
        first = factory.party()["id"]
        second = factory.party(spouse_party_id=first)["id"]
        ok(factory.api.patch("parties/" + first, json={"spouse_party_id": second}))
        return first, second
    return make


@pytest.mark.parametrize("rounds", ROUNDS)
def test_two_spouses_are_each_deleted_once(own_api, couple, rounds):
    """Each deletion changes the other party."""
    def batch(api, made):
        return api.post("parties/batch", json={"operations": [{"method": "delete", "id": made[1]}]})

    for _, answers in race(own_api, rounds, couple, lambda api, made: api.delete("parties/" + made[0]),
                           lambda api, made: api.delete("parties/" + made[1]), batch):
        first = [answer.status_code for answer in answers[::3]]
        second = [answer.status_code for answer in answers[1::3]] + [
            answer.json()["results"][0]["status"] for answer in answers[2::3]]
        for found in (first, second):
            assert sorted(found) == [204] + [404] * (len(found) - 1)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_spouse_that_changes_is_cleared(own_api, couple, rounds):
    for made, answers in race(own_api, rounds, couple, lambda api, made: api.delete("parties/" + made[0]),
                              lambda api, made: api.patch("parties/" + made[1], json={"name": str(id(api))})):
        assert sorted(answer.status_code for answer in answers[::2]) == [204] + [404] * (CLIENTS // 2 - 1)
        assert {answer.status_code for answer in answers[1::2]} == {200}
        assert "spouse_party_id" not in ok(own_api.get("parties/" + made[1]))
