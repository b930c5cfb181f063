# SPDX-License-Identifier: Apache-2.0
"""The event log: the content of each event, and writes that cause no event."""

import threading
from contextlib import closing

import psycopg2
import pytest
from batching import create, delete, send, update
from client import Api, ok
from event_log import events
from factories import NAMES, ResourceFactory
from wait import TIMEOUT_S, eventually, together

TRANSACTION = len("evt_") + 18  # length of the transaction's part of an id
FULL_BROKER = {"name": "Ana \"Z\" Ação", "creci": "SP 1", "document_number": "1", "email": "ana@example.com", "phone": "1",
               "visibility": "public", "bank_account": {"pix_key": "ana@example.com", "bank_code": "341"}}
PRIVATE = {"phone", "document_number", "bank_account", "visibility", "created_by", "updated_by"}  # of a broker


@pytest.fixture
def new_events(own_api, instance):
    """new_events(): the organization's events since the last call."""
    last = [""]

    def new():
        found = events(instance, own_api.credential.organizations[0], last[0])
        last[0] = found[-1]["id"] if found else last[0]
        return found
    return new


def summarize(event):
    return event["type"], event["resource_id"], event["changed"], event["previous"]


def without_private_fields(broker):
    return {name: value for name, value in broker.items() if name not in PRIVATE}


def test_each_write_is_recorded_with_its_author_request_and_values(own_api, new_events):
    answers = [own_api.post("brokers", json={"name": "A", "phone": "1", "email": "a@example.com"})]
    made = ok(answers[0], 201)
    path = "brokers/" + made["id"]
    answers += [own_api.patch(path, json={"name": "B", "phone": "2", "creci": "1", "bank_account": {"bank_code": "341"}}),
                own_api.put(path, json={"name": "B", "creci": "1"}), own_api.delete(path)]
    log = new_events()
    assert [summarize(event) for event in log] == [
        ("broker.created", made["id"], None, None),
        ("broker.updated", made["id"], ["name", "creci", "phone", "bank_account"], {"name": "A", "creci": None}),
        ("broker.updated", made["id"], ["email", "phone", "bank_account"], {"email": "a@example.com"}),
        ("broker.deleted", made["id"], None, None)]
    assert [event["request_id"] for event in log] == [answer.headers["X-Request-ID"] for answer in answers]
    assert {event["actor"] for event in log} == {own_api.credential.id}
    assert [event["payload"] for event in log[:3]] == [without_private_fields(answer.json()) for answer in answers[:3]]
    ids = [event["id"] for event in log]
    assert all(len(id) == 30 for id in ids) and ids == sorted(ids)


def test_a_deletion_has_its_own_time_and_author(principals, instance):
    author, other = Api(instance, principals.admin), Api(instance, principals.token_both)
    factory = ResourceFactory(author)
    made = factory.property()
    ok(other.delete("properties/" + made["id"], headers={"X-Organization-ID": principals.organization}), 204)
    found = [event for event in events(instance, principals.organization) if event["resource_id"] == made["id"]]
    deleted = found[-1]
    assert (deleted["type"], deleted["actor"]) == ("property.deleted", principals.user)
    changes = {"updated_at": deleted["payload"]["updated_at"], "updated_by": principals.user}
    assert deleted["payload"] == {**found[0]["payload"], **changes} and changes["updated_at"] > made["updated_at"]


def test_an_effect_is_an_event_of_the_other_resource_in_the_same_transaction(own_api, factory, new_events):
    property = factory.offered()
    proposal = factory.proposal(property_id=property["id"])
    ok(own_api.patch("proposals/" + proposal["id"], json={"status": "submitted"}))
    new_events()
    ok(own_api.patch("proposals/" + proposal["id"], json={"status": "accepted"}))
    log = {event["type"]: event for event in new_events()}
    assert set(log) == {"proposal.updated", "property.updated"}
    assert summarize(log["proposal.updated"])[1:] == (proposal["id"], ["status", "decided_at"],
                                                      {"status": "submitted", "decided_at": None})
    assert summarize(log["property.updated"])[1:] == (property["id"], ["status"], {"status": property["status"]})
    assert len({(event["request_id"], event["id"][:TRANSACTION]) for event in log.values()}) == 1


def test_a_batch_is_one_transaction_whose_events_are_in_its_order(own_api, new_events):
    one, two = own_api.broker(name="1"), own_api.broker(name="2")
    new_events()
    answer = send(own_api, update(two, name="2b"), update(one, name="1b"), create(name="3"), delete(two), update(one, name="1c"))
    assert ok(answer)["succeeded"] == 5
    log = new_events()
    third = log[2]["resource_id"]
    assert [summarize(event) for event in log] == [
        ("broker.updated", two["id"], ["name"], {"name": "2"}), ("broker.updated", one["id"], ["name"], {"name": "1"}),
        ("broker.created", third, None, None), ("broker.deleted", two["id"], None, None),
        ("broker.updated", one["id"], ["name"], {"name": "1b"})]
    assert {(event["request_id"], event["id"][:TRANSACTION]) for event in log} == {
        (answer.headers["X-Request-ID"], log[0]["id"][:TRANSACTION])}


@pytest.mark.parametrize("collection", NAMES)
def test_a_write_that_changes_nothing_writes_nothing(own_api, factory, new_events, collection):
    body = FULL_BROKER if collection == "brokers" else factory.full(collection)
    made = ok(own_api.post(collection, json=body), 201)
    path = f"{collection}/{made['id']}"
    first = own_api.get(path)
    new_events()
    again = {name: made[name] for name in made if name not in ("id", "status")}
    answers = [own_api.patch(path, json={}), own_api.patch(path, json=again), own_api.put(path, json=made),
               own_api.put(path, json=made, headers={"If-Match": first.headers["ETag"]})]
    for answer in answers:
        assert ok(answer) == made and answer.headers["ETag"] == first.headers["ETag"]
    result, = ok(send(own_api, update(made, **again), collection=collection))["results"]
    assert (result["status"], result["resource"]) == (200, made)
    assert new_events() == [] and own_api.get(path).content == first.content


def test_a_subscription_that_does_not_change_keeps_its_version(own_api):
    made = ok(own_api.post("webhooks", json={"url": "https://127.0.0.1:9/", "events": ["*"]}), 201)
    same = {name: made[name] for name in ("url", "events", "is_active")}
    for answer in (own_api.put("webhooks/" + made["id"], json=same), own_api.patch("webhooks/" + made["id"], json=same)):
        assert ok(answer)["updated_at"] == made["updated_at"]
    ok(own_api.delete("webhooks/" + made["id"]), 204)


def test_a_batch_returns_unchanged_rows_among_changed_ones(own_api, new_events):
    one, two = own_api.broker(name="1"), own_api.broker(name="2")
    new_events()
    answer = ok(send(own_api, update(one, name="1"), update(two, name="2b")))
    assert [result["resource"]["name"] for result in answer["results"]] == ["1", "2b"]
    assert answer["results"][0]["resource"] == one
    assert [event["resource_id"] for event in new_events()] == [two["id"]]


def test_a_refused_write_causes_no_event(own_api, new_events):
    own_api.broker(creci="1")
    new_events()
    assert own_api.post("brokers", json={"name": "A", "creci": "1"}).status_code == 409
    assert send(own_api, create(name="A"), create(name="B", creci="1"), atomic=True).status_code == 409
    assert new_events() == []


@pytest.mark.parametrize("statement", ["update neoapi.event set payload = ''", "delete from neoapi.event", "truncate neoapi.event",
                                       "delete from neoapi.event_default", "drop table neoapi.event_default",
                                       "select setval('neoapi.event_number', 1)"])
def test_the_runtime_role_cannot_change_the_log(instance, statement):
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        instance.sql(statement, dsn=instance.dsn)


def test_a_lock_of_the_row_does_not_hide_a_concurrent_change(own_api, instance, new_events):
    """A PUT that waits for the row compares with the values after the wait."""
    made = own_api.broker(name="A")
    waiting = ("select count(*) from pg_stat_activity where usename = 'neoapi' and wait_event_type = 'Lock'"
               " and query like '%%neoapi.broker%%'")

    def change(connection):
        with connection.cursor() as cursor:
            cursor.execute("update neoapi.broker set name = 'B', updated_at = updated_at + interval '1 ms' where id = %s",
                           (made["id"],))
        started.set()
        eventually(lambda: instance.sql(waiting)[0][0], "the PUT waits")
        connection.commit()

    def replace():
        started.wait(TIMEOUT_S)
        return own_api.put("brokers/" + made["id"], json={"name": "A"})

    started = threading.Event()
    with closing(psycopg2.connect(instance.admin_dsn)) as connection:
        _, answer = together(lambda: change(connection), replace)
    assert ok(answer)["name"] == "A" and answer.json()["updated_at"] > made["updated_at"]
    assert summarize(new_events()[-1]) == ("broker.updated", made["id"], ["name"], {"name": "B"})
