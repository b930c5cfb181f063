# SPDX-License-Identifier: Apache-2.0
"""GET /events and /events/{id}: content, filters, scopes, organizations, and following the log from a position."""

from contextlib import closing

import psycopg2
import pytest
from client import Api, ok, refused
from event_log import await_log_end
from test_events import summarize

NOWHERE = "evt_" + "0" * 26


@pytest.fixture
def follower(own_api, instance):
    """follower(): the events since the last call, page by page."""
    position = [ok_position(own_api.get("events", params={"order": "asc", "after": "now"}))]

    def follow(api=own_api, limit=100, **filters):
        found = []
        while True:
            answer = api.get("events", params={"order": "asc", "after": position[0], "limit": limit, **filters})
            page = ok(answer)
            found += page["items"]
            position[0] = answer.headers["X-Events-Position"]
            if not page["page_info"]["has_next_page"]:
                return found
    follow.position = position
    return follow


def ok_position(answer):
    ok(answer)
    return answer.headers["X-Events-Position"]


def test_an_event_has_its_author_its_request_and_the_values(own_api):
    made = own_api.broker(name="A", phone="1", email="a@example.com")
    path = "brokers/" + made["id"]
    changed = own_api.patch(path, json={"name": "B", "phone": "2", "email": None})
    deleted = own_api.delete(path)
    third, second, first = ok(own_api.get("events", params={"resource_id": made["id"]}))["items"]
    assert [one["type"] for one in (first, second, third)] == ["broker.created", "broker.updated", "broker.deleted"]
    assert {one["actor_id"] for one in (first, second, third)} == {own_api.credential.id}
    assert (second["request_id"], third["request_id"]) == (changed.headers["X-Request-ID"], deleted.headers["X-Request-ID"])
    assert set(second["changed"]) == {"name", "phone", "email"} and second["previous"] == {"name": "A", "email": "a@example.com"}
    assert second["payload"]["name"] == "B" and "email" not in second["payload"] and "phone" not in second["payload"]
    assert second["created_at"] == second["payload"]["updated_at"] == changed.json()["updated_at"]
    assert "changed" not in first and "previous" not in third
    cleared = ok(own_api.patch("brokers/" + own_api.broker(name="C")["id"], json={"creci": "1"}))
    newest = ok(own_api.get("events", params={"limit": 1}))["items"][0]
    assert newest["resource_id"] == cleared["id"] and newest["previous"] == {"creci": None}
    for event in (first, second, third, newest):
        assert ok(own_api.get("events/" + event["id"])) == event


def test_pages_are_newest_first_and_have_cursors(own_api):
    for number in range(7):
        own_api.broker(name=str(number))
    events = own_api.walk("events", limit=3)
    assert [event["payload"]["name"] for event in events] == list("6543210")
    answer = own_api.get("events", params={"limit": 3, "type": "broker.*"})
    assert ok(own_api.get(answer.links["next"]["url"]))["items"] == events[3:6]
    refused(own_api.get("events", params={"cursor": ok(answer)["page_info"]["end_cursor"]}), 400, "validation.cursor_invalid")


def test_filters(own_api, instance, admin_factory):
    other = Api(instance, admin_factory.key(own_api.credential.organizations[0]))
    one, two = own_api.broker(name="1"), other.broker(name="2")
    ok(other.patch("brokers/" + one["id"], json={"name": "1b"}))
    party = ok(own_api.post("parties", json={"name": "P", "kind": "person", "roles": ["buyer"]}), 201)
    expected = [("broker.created", one["id"]), ("broker.created", two["id"]), ("broker.updated", one["id"]),
                ("party.created", party["id"])]
    await_log_end(instance)

    def found(**params):
        listed = [(event["type"], event["resource_id"]) for event in ok(own_api.get("events", params=params))["items"]]
        followed = ok(own_api.get("events", params={"order": "asc", **params}))["items"]
        assert [(event["type"], event["resource_id"]) for event in followed] == listed[::-1]
        return listed[::-1]

    assert found() == expected
    assert found(type="broker.*") == expected[:3] and found(type="party.*,broker.updated") == expected[2:]
    assert found(type="broker.updated") == expected[2:3] and found(type="contract.*") == []
    assert found(resource_id=one["id"]) == [expected[0], expected[2]]
    assert found(resource_id=f"{two['id']},{party['id']}") == [expected[1], expected[3]]
    assert found(actor_id=other.credential.id) == expected[1:3] and found(actor_id="unknown") == []
    times = [event["created_at"] for event in own_api.walk("events")][::-1]
    assert found(created_lte=times[1]) == expected[:sum(at <= times[1] for at in times)]
    assert found(created_gte=times[-1])[-1] == expected[-1] and found(created_gte="2099-01-01T00:00:00Z") == []
    assert found(type="broker.*", actor_id=own_api.credential.id) == expected[:1]


@pytest.mark.parametrize("params, field", [
    ({"type": "broker.exploded"}, "type"), ({"type": "*"}, "type"), ({"type": ".*"}, "type"), ({"type": "broker.created,x"}, "type"),
    ({"order": "sideways"}, "order"), ({"after": NOWHERE}, "after"), ({"order": "desc", "after": NOWHERE}, "after"),
    ({"order": "asc", "cursor": "x"}, "cursor"), ({"order": "asc", "cursor": NOWHERE, "after": NOWHERE}, "cursor"), ({"order": "asc", "after": "x"}, "after"), ({"order": "asc", "after": NOWHERE + "0"}, "after"),
    ({"order": "asc", "after": "evt_" + "g" * 26}, "after"), ({"order": "asc", "created_gte": "x"}, "created_gte"),
    ({"order": "asc", "after": "brk_" + "0" * 26}, "after")], ids=str)
def test_invalid_parameters_are_refused(own_api, params, field):
    wrong = refused(own_api.get("events", params=params), 400, "validation.parameter_invalid")
    assert [item["field"] for item in wrong["errors"]] == [field]


def test_all_errors_are_listed(own_api):
    wrong = refused(own_api.get("events", params={"order": "asc", "after": "x", "limit": "0", "type": "x", "colour": "red"}), 400,
                    "validation.failed")
    assert {item["field"] for item in wrong["errors"]} == {"after", "limit", "type", "colour"}


# ---------------------------------------------------------------- scopes and organizations

def test_a_credential_reads_the_events_of_the_resources_that_its_scopes_read(own_api, instance, admin_factory):
    organization = own_api.credential.organizations[0]
    broker = own_api.broker(name="1")
    party = ok(own_api.post("parties", json={"name": "P", "kind": "person", "roles": ["buyer"]}), 201)
    await_log_end(instance)
    of_broker, of_party = (ok(own_api.get("events", params={"resource_id": one["id"]}))["items"][0] for one in (broker, party))
    limited = Api(instance, admin_factory.key(organization, scopes=["brokers:read", "parties:write"]))
    for params in ({}, {"order": "asc"}, {"order": "asc", "type": "broker.*,party.*"}, {"resource_id": broker["id"]}):
        assert ok(limited.get("events", params=params))["items"] == [of_broker], params
    assert ok(limited.get("events", params={"type": "party.*"}))["items"] == []
    assert ok(limited.get("events/" + of_broker["id"])) == of_broker
    refused(limited.get("events/" + of_party["id"]), 404, "not_found.event")
    blind = Api(instance, admin_factory.key(organization, scopes=["brokers:write"]))
    for path in ("events", "events/" + of_broker["id"]):
        refused(blind.get(path), 403, "forbidden.insufficient_permissions")


def test_no_other_organizations_events_are_visible(own_api, instance, admin_factory):
    own_api.broker(name="1")
    event = own_api.walk("events")[0]
    other = Api(instance, admin_factory.key())
    assert other.walk("events") == [] and ok(other.get("events", params={"order": "asc"}))["items"] == []
    assert ok(other.get("events", params={"order": "asc", "after": event["id"]}))["items"] == []
    refused(other.get("events/" + event["id"]), 404, "not_found.event")


# ---------------------------------------------------------------- following

def test_a_follower_reads_every_event_once_in_pages_of_any_size(own_api, instance, follower):
    start = follower.position[0]
    ids = [own_api.broker(name=str(number))["id"] for number in range(7)]
    ok(own_api.delete("brokers/" + ids[0]), 204)
    await_log_end(instance)
    expected = [*[("broker.created", id) for id in ids], ("broker.deleted", ids[0])]
    for limit in (1, 3, 4, 100):
        follower.position[0] = start
        assert [(event["type"], event["resource_id"]) for event in follower(limit=limit)] == expected
        assert follower(limit=limit) == [] and start < follower.position[0]
    everything = ok(own_api.get("events", params={"order": "asc", "after": "", "limit": 100}))["items"]
    assert [event["resource_id"] for event in everything] == [id for _, id in expected]
    for number, event in enumerate(everything):  # every id is a position
        rest = ok(own_api.get("events", params={"order": "asc", "after": event["id"]}))
        assert rest["items"] == everything[number + 1:]
    page = own_api.get("events", params={"order": "asc", "limit": 3, "type": "broker.*"})
    assert page.json()["page_info"] == {"start_cursor": None, "end_cursor": page.headers["X-Events-Position"], "has_next_page": True,
                                        "has_previous_page": False}
    assert own_api.walk("events", order="asc", limit=2) == everything  # as any list, by its cursors
    assert ok(own_api.get(page.links["next"]["url"]))["items"] == everything[3:6]


def test_an_event_appears_when_all_earlier_transactions_have_ended(own_api, instance, follower):
    with closing(psycopg2.connect(instance.admin_dsn)) as earlier, earlier.cursor() as cursor:
        cursor.execute("select pg_current_xact_id()")
        made = own_api.broker(name="A")
        assert follower() == [] and own_api.walk("events")[0]["resource_id"] == made["id"]
        stopped = follower.position[0]
        assert follower() == [] and follower.position[0] == stopped
        assert own_api.walk("events")[0]["id"] > stopped
    await_log_end(instance)
    event, = follower()
    assert event["resource_id"] == made["id"] and summarize({**event, "changed": None, "previous": None})[0] == "broker.created"


def test_a_page_of_few_matching_events_examines_only_some(own_api, instance, follower):
    """The follower continues from the last event examined."""
    organization = own_api.credential.organizations[0]
    own_api.broker(name="first")
    instance.sql("insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)"
                 " select %s, 'party.created', 'pty_' || n, now(), 'x', '{}' from generate_series(1, 4100) n", organization)
    last = own_api.broker(name="last")
    await_log_end(instance)
    start, seen = follower.position[0], []
    answer = own_api.get("events", params={"order": "asc", "after": start, "type": "broker.*"})
    while ok(answer)["page_info"]["has_next_page"]:
        seen.append(len(answer.json()["items"]))
        answer = own_api.get(answer.links["next"]["url"])
    assert seen[0] == 1 and len(seen) > 1 and not any(seen[1:]) and [event["resource_id"] for event in answer.json()["items"]] == [last["id"]]
    follower.position[0] = start
    assert len(follower(type="broker.*")) == 2


@pytest.mark.parametrize("params", [{"order": "asc"}, {"order": "asc", "after": "now"}])
def test_an_organization_without_events_has_a_position(instance, admin_factory, params):
    api = Api(instance, admin_factory.key())
    position = ok_position(api.get("events", params=params))
    made = api.broker(name="A")
    await_log_end(instance)
    event, = ok(api.get("events", params={"order": "asc", "after": position}))["items"]
    assert event["resource_id"] == made["id"]


def test_positions_that_are_too_old_or_of_another_epoch_are_refused(own_api, instance):
    own_api.broker(name="A")
    await_log_end(instance)
    (epoch,), = instance.sql("select lpad(to_hex(number), 7, '0') from neoapi.event_epoch")
    former, later = (format(int(epoch, 16) + step, "07x") for step in (-1, 1))
    for wrong in (NOWHERE, f"evt_{former}{'0' * 19}", f"evt_{former}{'f' * 19}", f"evt_{later}{'0' * 19}",
                  f"evt_{epoch}{'f' * 19}"):  # the last has a future transaction
        problem = refused(own_api.get("events", params={"order": "asc", "after": wrong}), 400, "validation.position_expired")
        assert problem["errors"][0]["field"] == "after"
    assert ok(own_api.get("events", params={"order": "asc", "after": f"evt_{epoch}{'0' * 19}"}))["items"]


def test_an_unknown_event_is_not_found(own_api):
    for id in (NOWHERE, "x", "evt_" + "z" * 26):
        refused(own_api.get("events/" + id), 404, "not_found.event")
