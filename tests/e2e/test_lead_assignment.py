# SPDX-License-Identifier: Apache-2.0
"""The brokers that an organization's rule gives to leads that come without one."""

import psycopg2
import pytest
from admin_factory import run_ctl as ctl
from client import ok, refused
from event_log import events
from factories import ResourceFactory, phone
from wait import together


class Agency:
    """An organization with brokers."""

    def __init__(self, api, instance, rule, brokers):
        self.api, self.instance = api, instance
        self.organization, = api.credential.organizations
        self.make = ResourceFactory(api)
        self.brokers = [self.make.broker()["id"] for _ in range(brokers)]
        self.set_rule(rule)

    def set_rule(self, rule):
        ctl(self.instance, "organization", "change", self.organization, "--lead-assignment", rule)

    def lead(self, **fields):
        return ok(self.api.post("leads", {"name": "Carla Dias", "phone": phone(), **fields}), 201)


@pytest.fixture
def agency(own_api, instance):
    return lambda rule, brokers=3: Agency(own_api, instance, rule, brokers)


def assigned(lead):
    return lead.get("broker_id"), lead.get("assigned_by")


def test_without_a_rule_a_lead_has_the_broker_that_a_client_sets(agency):
    own = agency("none")
    home = own.make.property(broker_id=own.brokers[0])["id"]
    one = own.lead(property_id=home)
    assert assigned(one) == (None, None)
    path = "leads/" + one["id"]
    assert assigned(ok(own.api.patch(path, {"broker_id": own.brokers[1]}))) == (own.brokers[1], "hand")
    assert assigned(ok(own.api.patch(path, {"broker_id": None}))) == (None, None)
    assert assigned(own.lead(broker_id=own.brokers[2], assigned_by="rule")) == (own.brokers[2], "hand")


def test_the_broker_of_the_property_gets_the_lead(agency):
    own = agency("property")
    home, other = own.make.property(broker_id=own.brokers[1])["id"], own.make.property()["id"]
    made = own.lead(property_id=home)
    assert assigned(made) == (own.brokers[1], "rule")
    assert ok(own.api.get("leads/" + made["id"])) == made and [made] == ok(own.api.get("leads", params={"broker_id": own.brokers[1]}))["items"]
    assert assigned(own.lead(property_id=other)) == assigned(own.lead()) == (None, None)
    assert assigned(own.lead(property_id=home, broker_id=own.brokers[0])) == (own.brokers[0], "hand")
    event = next(one for one in events(own.instance, own.organization) if one["resource_id"] == made["id"])
    assert event["type"] == "lead.created" and event["payload"] == made


def test_leads_go_to_brokers_in_turn(agency):
    own = agency("turn")
    home = own.make.property(broker_id=own.brokers[2])["id"]
    assert [assigned(own.lead()) for _ in range(6)] == [(broker, "rule") for broker in own.brokers * 2]
    assert assigned(own.lead(property_id=home)) == (own.brokers[2], "rule")  # it is no turn
    own.lead(broker_id=own.brokers[1])
    new = own.make.broker()["id"]
    assert [own.lead()["broker_id"] for _ in range(5)] == [own.brokers[0], new, *own.brokers[1:], own.brokers[0]]  # it is added in a round


def test_private_brokers_have_no_turns(agency):
    own = agency("turn")
    ok(own.api.patch("brokers/" + own.brokers[0], {"visibility": "private"}))
    assert [own.lead()["broker_id"] for _ in range(3)] == [own.brokers[1], own.brokers[2], own.brokers[1]]
    for broker in own.brokers[1:]:
        ok(own.api.patch("brokers/" + broker, {"visibility": "private"}))
    assert assigned(own.lead()) == (None, None)


def test_a_broker_with_turns_and_leads(agency):
    own = agency("turn", 2)
    path = "leads/" + own.lead()["id"]
    problem = refused(own.api.delete("brokers/" + own.brokers[0]), 409, "conflict.in_use")
    assert path[6:] in problem["detail"]
    assert assigned(ok(own.api.patch(path, {"broker_id": own.brokers[1]}))) == (own.brokers[1], "hand")
    event = events(own.instance, own.organization)[-1]
    assert event["changed"] == ["broker_id", "assigned_by"]
    assert event["previous"] == {"broker_id": own.brokers[0], "assigned_by": "rule"}
    ok(own.api.delete("brokers/" + own.brokers[0]), 204)
    assert [own.lead()["broker_id"] for _ in range(2)] == [own.brokers[1]] * 2


def test_two_writers_give_leads_to_different_brokers(agency):
    own = agency("turn", 2)
    for _ in range(10):
        pair = together(*[lambda: ok(own.api.with_().post("leads", {"name": "Carla Dias", "phone": phone()}), 201)] * 2)
        assert {one["broker_id"] for one in pair} == set(own.brokers)


def test_a_turn_that_is_being_taken_delays_no_lead(agency):
    own = agency("turn", 2)
    assert own.lead()["broker_id"] == own.brokers[0]
    with psycopg2.connect(own.instance.admin_dsn) as other, other.cursor() as cursor:
        lock = "select from neoapi.lead_turn where organization_id = %s and broker_id = any (%s) for update"
        cursor.execute(lock, (own.organization, own.brokers[1:]))
        assert [own.lead()["broker_id"] for _ in range(2)] == [own.brokers[0]] * 2
        cursor.execute(lock, (own.organization, own.brokers))
        assert {own.lead()["broker_id"] for _ in range(20)} == set(own.brokers)  # by the leads' ids
        other.rollback()
    assert own.lead()["broker_id"] == own.brokers[1]


def test_a_batch_is_assigned(agency):
    own = agency("turn", 2)
    batch = ok(own.api.post("leads/batch", {"operations": [
        {"method": "create", "data": {"name": "Carla Dias", "phone": phone()}} for _ in range(4)]}))["results"]
    assert [assigned(one["resource"]) for one in batch] == [(broker, "rule") for broker in own.brokers * 2]


@pytest.mark.parametrize("rule", ["none", "property", "turn"])
def test_the_leads_of_a_file_are_assigned(agency, rule):
    own = agency(rule, 3)
    rows = "".join(f"Ana,{phone()}\n" for _ in range(5))
    ctl(own.instance, "lead", "import", "-", "--organization", own.organization, given="name,phone\n" + rows)
    made = ok(own.api.get("leads"))["items"][::-1]
    assert [assigned(one) for one in made] == ([(broker, "rule") for broker in (own.brokers * 2)[:5]] if rule == "turn" else [(None, None)] * 5)
    logged = {one["resource_id"]: one["payload"] for one in events(own.instance, own.organization)}
    assert all(logged[one["id"]] == one for one in made)
    if rule == "turn":
        refused(own.api.delete("brokers/" + own.brokers[0]), 409, "conflict.in_use")
        assert [own.lead()["broker_id"] for _ in range(3)] == [own.brokers[2], *own.brokers[:2]]


def test_a_file_needs_a_broker_to_assign(agency):
    own = agency("turn", 0)
    ctl(own.instance, "lead", "import", "-", "--organization", own.organization, given=f"name,phone\nAna,{phone()}\n")
    assert [assigned(one) for one in ok(own.api.get("leads"))["items"]] == [(None, None)]


def test_what_is_imported_keeps_its_broker(agency, tmp_path):
    own, file = agency("none", 2), tmp_path / "all"
    without, by_hand = own.lead(), own.lead(broker_id=own.brokers[1])
    own.set_rule("turn")
    by_rule = own.lead()
    times = {"created_at": "2025-01-31T13:45:10.000Z", "updated_at": "2025-01-31T13:45:10.000Z"}
    history = ok(own.api.post("leads", {"name": "Carla Dias", "phone": phone(), **times}, params={"import": "true"}), 201)
    assert assigned(history) == (None, None)
    before = sorted([without, by_hand, by_rule, history], key=lambda one: one["id"])
    ctl(own.instance, "export", own.organization, "--output", str(file))
    ctl(own.instance, "purge", "organization", own.organization, "--data-only", "--yes")
    ctl(own.instance, "import", str(file), "--organization", own.organization)
    assert sorted(ok(own.api.get("leads"))["items"], key=lambda one: one["id"]) == before


def test_a_merged_lead_keeps_its_broker_or_takes_over_the_other_ones(agency):
    own = agency("none", 2)
    kept = own.lead()
    own.set_rule("turn")
    other = own.lead()
    merged = ok(own.api.post(f"leads/{kept['id']}/merge", {"lead_id": other["id"]}))
    assert assigned(merged) == (own.brokers[0], "rule")
    again = ok(own.api.post(f"leads/{kept['id']}/merge", {"lead_id": own.lead(broker_id=own.brokers[1])["id"]}))
    assert assigned(again) == (own.brokers[0], "rule")


def test_the_rule_is_one_of_three(agency, instance):
    own = agency("none", 0)
    listed = {one["id"]: one for one in ctl(instance, "organization", "list")}
    assert listed[own.organization]["lead_assignment"] == "none"
    with pytest.raises(AssertionError, match="none, property, turn"):
        own.set_rule("random")
