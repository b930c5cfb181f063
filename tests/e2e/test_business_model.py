# SPDX-License-Identifier: Apache-2.0
"""Compares the service with a model of the page "Business rules" in random requests: both must have the same result.

NEOAPI_GUARANTEE_STEPS is the number of steps."""

import os

import pytest
from batching import create, delete, send, update
from client import Api, ok
from factories import LAST_DAY, ResourceFactory, given, unique
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

STEPS = int(os.environ.get("NEOAPI_GUARANTEE_STEPS", "200"))
STEPS_EACH = 40
SIGNED = "2026-02-11T18:30:00.000Z"
PROPERTY_STATUSES = ["draft", "active", "under_contract", "sold", "rented", "on_hold", "withdrawn"]
TYPES = {"purchase": ("sale", "sale_rent"), "rental": ("rent", "sale_rent")}
KIND_OF_CONTRACT = {"purchase": "sale", "rental": "rental"}
ROLES = {"sale": ["seller", "buyer"], "rental": ["landlord", "tenant"], "management": ["owner"],
         "exclusive_listing": ["owner"]}
DEALS = {"sale": "sold", "rental": "rented"}  # kinds that change the property, and to what
OPEN = ("draft", "pending_signature", "active")  # contracts that have not ended
FORMS = ["patch", "put", "upsert", "merge", "batch upsert", "batch merge"]
PROPOSAL_MOVES = {"draft": ["submitted"], "submitted": ["countered", "accepted", "rejected", "withdrawn", "expired"],
                  "countered": ["submitted", "accepted", "rejected", "withdrawn", "expired"]}
CONTRACT_MOVES = {"draft": ["pending_signature", "cancelled"], "pending_signature": ["active", "cancelled"],
                  "active": ["completed", "terminated", "expired"]}
CONTRACT_ENDS = ["completed", "terminated", "expired", "cancelled"]
PAST = {"created_at": "2019-03-01T12:00:00.000Z", "updated_at": "2019-04-01T12:00:00.000Z"}
AFTERWARDS = {("sale", "terminated"): ("sold", "active"), ("sale", "expired"): ("sold", "on_hold"),
              ("rental", "completed"): ("rented", "active"), ("rental", "terminated"): ("rented", "active")}

index = st.integers(0, 99)


class Result:
    """The result of a batch operation with the interface of a response."""

    def __init__(self, result):
        self.status_code, self.body = result["status"], result.get("error") or result.get("resource")
        self.text = str(self.body)

    def json(self):
        return self.body


class Model(RuleBasedStateMachine):
    api = party = None

    def __init__(self):
        super().__init__()
        self.factory = ResourceFactory(self.api)
        self.properties, self.proposals, self.contracts, self.people = [], [], [], []
        self.writes = 0

    @initialize(type=st.sampled_from(["sale", "sale_rent"]), form=st.sampled_from(FORMS), is_sold=st.booleans())
    def begin_with_a_reserved_and_an_offered_property(self, type, form, is_sold):
        """So that most rules are possible from the first step on."""
        for _ in range(2):
            self.add_property(type=type, status="active")
            self.add_proposal(n=-1, kind="purchase", status="submitted")
        self.accept_two_proposals(n=0, form=form)
        accepted = self.proposals.index(self.reserving(self.properties[0])[0])
        self.import_proposal(n=0, kind="purchase", status="accepted")
        self.delete_proposal(n=accepted)
        if is_sold:  # by hand, before the contract
            self.set_status(self.properties[0], form, "sold")
            self.add_contract(n=0, m=accepted, kind="sale", is_complete=True, is_signed=True, refers=True)
            for status in ("pending_signature", "active"):
                self.move_contract(n=0, status=status, has_reason=False)

    def add(self, made, some, **more):
        some.append({"id": made["id"], "kind": made.get("kind"), "status": made["status"], **more})

    def same(self, response, code, *touched):
        """Compares the result, and the status of all resources that the step can have changed."""
        found = response.json()["code"] if response.status_code >= 400 else None
        assert found == code, (code, response.text)
        for collection, one in touched:
            found = ok(self.api.get(f"{collection}/{one['id']}"))["status"]
            assert found == one["status"], (collection, one, found)

    def write(self, collection, operation):
        """Alternates between a batch of one operation and a single request, which must have the same result."""
        self.writes += 1
        path = f"{collection}/{operation.get('id')}"
        if self.writes % 2:
            return Result(ok(send(self.api, operation, collection=collection))["results"][0])
        if operation["method"] == "create":
            return self.api.post(collection, json=operation["data"])
        if operation["method"] == "update":
            return self.api.patch(path, json=operation["data"])
        return self.api.delete(path)

    def patch(self, collection, one, **fields):
        return self.write(collection, update(one["id"], **fields))

    # ------------------------------------------------------------ properties

    @rule(type=st.sampled_from(["sale", "rent", "sale_rent"]), status=st.sampled_from(["active", "active", "draft"]))
    def add_property(self, type, status):
        made = self.factory.offered(transaction_type=type, status=status, external_id=unique())
        self.add(made, self.properties, type=type, body=given(made))

    def find_deal(self, property):
        deals = [one for one in self.contracts
                 if one["property"] is property and one["status"] == "active" and one["kind"] in DEALS]
        assert len(deals) <= 1
        return deals[0] if deals else None

    def reserving(self, property, but=None):
        """The accepted proposals that reserve a property: until all their contracts, except `but`, have ended."""
        def is_open(one):
            deals = [deal for deal in self.contracts if deal["proposal"] is one]
            return not deals or any(deal["status"] in OPEN and deal is not but for deal in deals)
        return [one for one in sorted(self.proposals, key=lambda one: one["id"])
                if one["property"] is property and one["status"] == "accepted" and is_open(one)]

    def is_reserved_for_another(self, property, proposal, but=None):
        return any(one is not proposal for one in self.reserving(property, but))

    def send_property(self, property, form, status):
        whole = {**property["body"], "status": status}
        if form == "patch":
            return self.patch("properties", property, status=status)
        if form == "put":
            return self.api.put("properties/" + property["id"], json=whole)
        if form in ("upsert", "merge"):
            return self.api.request({"upsert": "PUT", "merge": "PATCH"}[form], "properties/by-external-id/" + whole["external_id"],
                                    json=whole if form == "upsert" else {"status": status})
        method = form.removeprefix("batch ")
        operation = {"method": method, "external_id": whole["external_id"], "data": whole if method == "upsert" else {"status": status}}
        return Result(ok(send(self.api, operation, collection="properties"))["results"][0])

    def set_status(self, property, form, status):
        deal, reserving, code = self.find_deal(property), self.reserving(property), None
        if status != property["status"] and deal and status != DEALS[deal["kind"]]:
            code = "conflict.contract_active"
        elif status != property["status"] and reserving and status not in (
                "under_contract", DEALS[KIND_OF_CONTRACT[reserving[0]["kind"]]]):
            code = "conflict.property_reserved"
        response = self.send_property(property, form, status)
        property["status"] = property["status"] if code else status
        self.same(response, code, ("properties", property))

    @precondition(lambda self: self.properties)
    @rule(n=index, form=st.sampled_from(FORMS), status=st.sampled_from([*PROPERTY_STATUSES, "active", "active"]))
    def change_property(self, n, form, status):
        self.set_status(self.properties[n % len(self.properties)], form, status)

    @precondition(lambda self: any(self.reserving(one) for one in self.properties))
    @rule(n=index, form=st.sampled_from(FORMS), status=st.sampled_from(["active", "active", "draft"]))
    def repeat_the_old_status_of_a_reserved_property(self, n, form, status):
        reserved = [one for one in self.properties if self.reserving(one)]
        self.set_status(reserved[n % len(reserved)], form, status)

    # ------------------------------------------------------------ proposals

    @precondition(lambda self: self.properties)
    @rule(n=index, kind=st.sampled_from(["purchase", "rental"]), status=st.sampled_from(["draft", "submitted"]))
    def add_proposal(self, n, kind, status):
        property = self.properties[n % len(self.properties)]
        code = None if property["type"] in TYPES[kind] else "conflict.transaction_type"
        response = self.write("proposals", create(kind=kind, property_id=property["id"], proponent_ids=[self.party], amount=100,
                                                  valid_until=LAST_DAY, status=status))
        if not code:
            self.add(response.json(), self.proposals, property=property, is_late=False)
        self.same(response, code)

    def code_of_proposal(self, one, status):
        if status == one["status"]:
            return None
        if status not in PROPOSAL_MOVES.get(one["status"], []):
            return "conflict.invalid_transition"
        if status == "accepted" and one["property"]["type"] not in TYPES[one["kind"]]:
            return "conflict.transaction_type"  # possible only by import
        if status == "accepted" and one["is_late"]:
            return "conflict.proposal_expired"
        if status == "accepted" and (one["property"]["status"] != "active"
                                     or self.is_reserved_for_another(one["property"], one)):
            return "conflict.property_unavailable"
        return None

    @precondition(lambda self: self.proposals)
    @rule(n=index, status=st.sampled_from(["submitted", "countered", "accepted", "accepted", "rejected", "withdrawn", "draft"]))
    def move_proposal(self, n, status):
        one = self.proposals[n % len(self.proposals)]
        code = self.code_of_proposal(one, status)
        response = self.patch("proposals", one, status=status)
        if not code and status != one["status"]:
            one["status"] = status
            one["property"]["status"] = "under_contract" if status == "accepted" else one["property"]["status"]
        self.same(response, code, ("proposals", one), ("properties", one["property"]))

    @precondition(lambda self: any(one["status"] == "active" for one in self.properties))
    @rule(n=index, form=st.sampled_from(FORMS))
    def accept_two_proposals(self, n, form):
        """For a property that is offered; a feed tries to offer it again in between."""
        offered = [one for one in self.properties if one["status"] == "active"]
        property = offered[n % len(offered)]
        kind = next(kind for kind in TYPES if property["type"] in TYPES[kind])
        for _ in range(2):
            self.add_proposal(n=self.properties.index(property), kind=kind, status="submitted")
            self.move_proposal(n=len(self.proposals) - 1, status="accepted")
            self.set_status(property, form, "active")

    @precondition(lambda self: self.proposals)
    @rule(moves=st.lists(st.tuples(index, st.sampled_from(["submitted", "countered", "accepted", "accepted", "withdrawn"])),
                         min_size=2, max_size=6), is_atomic=st.booleans())
    def move_proposals(self, moves, is_atomic):
        """In one batch: each operation has the result of a single request after the earlier ones."""
        before = {id(one): one["status"] for one in self.proposals + self.properties}
        moved, codes = [(self.proposals[n % len(self.proposals)], status) for n, status in moves], []
        for one, status in moved:
            codes.append(self.code_of_proposal(one, status))
            if not codes[-1] and status != one["status"]:
                one["status"] = status
                one["property"]["status"] = "under_contract" if status == "accepted" else one["property"]["status"]
        answer = send(self.api, *(update(one["id"], status=status) for one, status in moved), collection="proposals",
                      atomic=is_atomic).json()
        if is_atomic and any(codes):
            assert {failure["index"]: failure["error"]["code"] for failure in answer["failures"]} == {
                index: code for index, code in enumerate(codes) if code}
            for one in self.proposals + self.properties:
                one["status"] = before[id(one)]
        else:
            assert [result.get("error", {}).get("code") for result in answer["results"]] == codes
        for one, _ in moved:
            for collection, found in (("proposals", one), ("properties", one["property"])):
                assert ok(self.api.get(f"{collection}/{found['id']}"))["status"] == found["status"]

    @precondition(lambda self: self.proposals)
    @rule(n=index, amount=st.integers(101, 10**6))
    def change_proposal(self, n, amount):
        one = self.proposals[n % len(self.proposals)]
        is_locked = one["status"] in ("accepted", "rejected", "withdrawn", "expired") and amount != one.get("amount", 100)
        response = self.patch("proposals", one, amount=amount)
        if not is_locked:
            one["amount"] = amount
        self.same(response, "conflict.field_locked" if is_locked else None, ("proposals", one))

    @precondition(lambda self: any(one["status"] == "draft" for one in self.proposals))
    @rule(n=index)
    def expire_a_draft(self, n):
        drafts = [one for one in self.proposals if one["status"] == "draft"]
        one = drafts[n % len(drafts)]
        one["is_late"] = True
        self.same(self.patch("proposals", one, valid_until="2020-01-01"), None)
        # A submitted proposal can expire at any time, so it is submitted and rejected in one batch.
        self.same(self.patch("proposals", one, status="submitted"), None)
        response = self.patch("proposals", one, status="accepted")
        fits = one["property"]["type"] in TYPES[one["kind"]]
        code = "conflict.proposal_expired" if fits else "conflict.transaction_type"
        assert response.json()["code"] in (code, "conflict.invalid_transition"), response.text
        self.patch("proposals", one, status="expired")
        one["status"] = "expired"
        self.same(self.patch("proposals", one, notes="x"), None, ("proposals", one), ("properties", one["property"]))

    @precondition(lambda self: self.proposals)
    @rule(n=index)
    def delete_proposal(self, n):
        one = self.proposals[n % len(self.proposals)]
        is_used = any(contract["proposal"] is one for contract in self.contracts)
        code = "conflict.in_use" if is_used else "conflict.not_deletable" if one["status"] == "accepted" else None
        response = self.write("proposals", delete(one["id"]))
        self.same(response, code, ("properties", one["property"]))
        if not code:
            self.proposals.remove(one)

    # ------------------------------------------------------------ history

    @precondition(lambda self: self.properties)
    @rule(n=index, kind=st.sampled_from(["purchase", "rental"]), status=st.sampled_from([*PROPOSAL_MOVES, "accepted", "rejected"]))
    def import_proposal(self, n, kind, status):
        property = self.properties[n % len(self.properties)]
        body = {"kind": kind, "property_id": property["id"], "proponent_ids": [self.party], "amount": 100,
                "valid_until": LAST_DAY, "status": status, **PAST}
        code = "conflict.property_unavailable" if status == "accepted" and self.reserving(property) else None
        response = self.api.post("proposals", json=body, params={"import": "true"})
        if not code:
            self.add(ok(response, 201), self.proposals, property=property, is_late=False)
        self.same(response, code, ("properties", property))

    @precondition(lambda self: self.proposals)
    @rule(m=index, kind=st.sampled_from([*ROLES, "sale", "rental"]), status=st.sampled_from([*CONTRACT_MOVES, *CONTRACT_ENDS]),
          is_complete=st.booleans() | st.just(True), is_signed=st.booleans() | st.just(True), has_reason=st.booleans(),
          refers=st.booleans())
    def import_contract(self, m, kind, status, is_complete, is_signed, has_reason, refers):
        proposal = self.proposals[m % len(self.proposals)]
        property, code = proposal["property"], None
        if refers and proposal["status"] != "accepted":
            code = "conflict.proposal_not_accepted"
        elif refers and KIND_OF_CONTRACT[proposal["kind"]] != kind:
            code = "conflict.proposal_mismatch"
        elif refers and status in OPEN and self.is_reserved_for_another(property, proposal):
            code = "conflict.property_unavailable"
        elif status not in ("draft", "cancelled") and not is_complete:
            code = "conflict.parties_missing"
        elif status not in ("draft", "pending_signature", "cancelled") and not is_signed:
            code = "conflict.signatures_missing"
        elif status in ("cancelled", "terminated") and not has_reason:
            code = "conflict.reason_required"
        elif status == "active" and kind in DEALS and (
                self.is_reserved_for_another(property, proposal if refers else None) or self.find_deal(property)):
            code = "conflict.property_unavailable"
        body = {"kind": kind, "property_id": property["id"], "amount": 100, "start_date": "2019-01-01", "end_date": LAST_DAY,
                "parties": self.parties(kind, is_complete, is_signed), "status": status, **PAST,
                **({"proposal_id": proposal["id"]} if refers else {}), **({"termination_reason": "x"} if has_reason else {})}
        response = self.api.post("contracts", json=body, params={"import": "true"})
        if not code:
            self.add(ok(response, 201), self.contracts, property=property, proposal=proposal if refers else None,
                     is_complete=is_complete, is_signed=is_signed, has_reason=has_reason)
        self.same(response, code, ("properties", property))

    # ------------------------------------------------------------ spouses

    @rule(n=index)
    def refer_to_a_spouse(self, n):
        """A new party refers to another, which may refer to it."""
        new = {"id": self.factory.party()["id"], "spouse": None}
        other = self.people[n % len(self.people)] if self.people else new
        for one, spouse in ((new, other), (other, new))[:1 + n % 2]:
            ok(self.api.patch("parties/" + one["id"], json={"spouse_party_id": spouse["id"]}))
            one["spouse"] = spouse
        self.people.append(new)

    @precondition(lambda self: self.people)
    @rule(n=index)
    def delete_party(self, n):
        one = self.people[n % len(self.people)]
        referring = [other for other in self.people if other is not one and other["spouse"] is one]
        is_used = any(other is not one["spouse"] for other in referring)
        self.same(self.api.delete("parties/" + one["id"]), "conflict.in_use" if is_used else None)
        if not is_used:
            self.people.remove(one)
            for other in referring:
                other["spouse"] = None
                assert "spouse_party_id" not in ok(self.api.get("parties/" + other["id"]))

    # ------------------------------------------------------------ contracts

    def parties(self, kind, is_complete, is_signed):
        roles = ROLES[kind] if is_complete else ROLES[kind][:-1] or ["witness"]
        return [{"party_id": self.party, "role": role, **({"signed_at": SIGNED} if is_signed else {})} for role in roles]

    @precondition(lambda self: self.properties)
    @rule(n=index, m=index, kind=st.sampled_from([*ROLES, "sale", "rental"]), is_complete=st.booleans() | st.just(True),
          is_signed=st.booleans(), refers=st.booleans())
    def add_contract(self, n, m, kind, is_complete, is_signed, refers):
        proposal = self.proposals[m % len(self.proposals)] if refers and self.proposals else None
        property = proposal["property"] if proposal and m % 4 else self.properties[n % len(self.properties)]
        code = None
        if proposal and proposal["status"] != "accepted":
            code = "conflict.proposal_not_accepted"
        elif proposal and (proposal["property"] is not property or KIND_OF_CONTRACT[proposal["kind"]] != kind):
            code = "conflict.proposal_mismatch"
        elif proposal and self.is_reserved_for_another(property, proposal):
            code = "conflict.property_unavailable"
        body = {"kind": kind, "property_id": property["id"], "amount": 100, "start_date": "2026-01-01", "end_date": LAST_DAY,
                "parties": self.parties(kind, is_complete, is_signed), **({"proposal_id": proposal["id"]} if proposal else {})}
        response = self.write("contracts", create(**body))
        self.same(response, code, ("properties", property))
        if not code:
            self.add(response.json(), self.contracts, property=property, proposal=proposal, is_complete=is_complete,
                     is_signed=is_signed, has_reason=False)

    def code_of_contract(self, one, status, has_reason):
        property = one["property"]
        if status == one["status"]:
            return None
        if status not in CONTRACT_MOVES.get(one["status"], []):
            return "conflict.invalid_transition"
        if status in ("pending_signature", "active") and not one["is_complete"]:
            return "conflict.parties_missing"
        if status == "active" and not one["is_signed"]:
            return "conflict.signatures_missing"
        if status in ("cancelled", "terminated") and not (has_reason or one["has_reason"]):  # an imported draft can have a reason
            return "conflict.reason_required"
        if status == "active" and one["kind"] in DEALS and (
                property["status"] not in ("active", "under_contract", DEALS[one["kind"]] if one["proposal"] else None)
                or self.find_deal(property)
                or self.is_reserved_for_another(property, one["proposal"], but=one)):
            return "conflict.property_unavailable"
        return None

    def apply(self, one, status):
        """Applies the effect of a contract's new status to its property."""
        property, before = one["property"], one["status"]
        one["status"] = status
        if status == "active" and one["kind"] in DEALS:
            property["status"] = DEALS[one["kind"]]
        elif before == "active" and (one["kind"], status) in AFTERWARDS:
            old, new = AFTERWARDS[one["kind"], status]
            property["status"] = new if property["status"] == old else property["status"]
        elif status == "cancelled" and one["proposal"] and not self.reserving(property) and property["status"] == "under_contract":
            property["status"] = "active"

    @precondition(lambda self: self.contracts)
    @rule(n=index, status=st.sampled_from(["pending_signature", "active", "active", "completed", "terminated", "expired",
                                           "cancelled", "draft"]), has_reason=st.booleans())
    def move_contract(self, n, status, has_reason):
        one = self.contracts[n % len(self.contracts)]
        changes = status != one["status"]
        has_reason = has_reason and status in ("cancelled", "terminated") and changes
        code = self.code_of_contract(one, status, has_reason)
        response = self.patch("contracts", one, status=status, **({"termination_reason": "x"} if has_reason else {}))
        if not code and changes:
            self.apply(one, status)
        self.same(response, code, ("contracts", one), ("properties", one["property"]))

    @precondition(lambda self: self.contracts)
    @rule(n=index, is_complete=st.just(True) | st.booleans(), is_signed=st.just(True) | st.booleans())
    def change_parties(self, n, is_complete, is_signed):
        one = self.contracts[n % len(self.contracts)]
        is_same = (is_complete, is_signed) == (one["is_complete"], one["is_signed"])
        code = None
        if one["status"] not in ("draft", "pending_signature"):
            code = None if is_same else "conflict.field_locked"
        elif one["status"] == "pending_signature" and not is_complete:
            code = "conflict.parties_missing"
        response = self.patch("contracts", one, parties=self.parties(one["kind"], is_complete, is_signed))
        if not code:
            one.update(is_complete=is_complete, is_signed=is_signed)
        self.same(response, code, ("contracts", one))

    @precondition(lambda self: self.contracts)
    @rule(n=index)
    def delete_contract(self, n):
        one = self.contracts[n % len(self.contracts)]
        siblings = [other for other in self.contracts if other is not one and one["proposal"] and other["proposal"] is one["proposal"]]
        is_last = siblings and not self.reserving(one["property"], but=one) and one["property"]["status"] == "under_contract"
        code = None if one["status"] == "draft" and not is_last else "conflict.not_deletable"
        self.same(self.write("contracts", delete(one["id"])), code, ("properties", one["property"]))
        if not code:
            self.contracts.remove(one)


@pytest.mark.parametrize("steps", [STEPS])
def test_the_service_agrees_with_the_model(own_api: Api, steps):
    Model.api, Model.party = own_api, ResourceFactory(own_api).party()["id"]
    run_state_machine_as_test(Model, settings=settings(
        max_examples=max(1, steps // STEPS_EACH), stateful_step_count=STEPS_EACH, deadline=None, database=None,
        suppress_health_check=list(HealthCheck)))
