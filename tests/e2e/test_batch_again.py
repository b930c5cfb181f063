# SPDX-License-Identifier: Apache-2.0
"""Repeated and concurrent batches, and batches during database failures: each is executed once or not at all."""

import itertools
import uuid

import psycopg2
import pytest
from batching import count, create, delete, results, send, queued_events, update
from client import ok, refused
from factories import ResourceFactory, many
from wait import eventually, together


# ---------------------------------------------------------------- retries


def test_a_repeated_batch_is_replayed(own_api, instance, queued_events):
    key, broker = str(uuid.uuid4()), own_api.broker()
    batch = [create(name="A", creci="1"), create(), update(broker, name="B"), create(name="C", creci="1")]
    first, again = send(own_api, *batch, key=key), send(own_api, *batch, key=key)
    results(first, 201, 400, 200, 409)
    assert (again.status_code, again.content) == (200, first.content)
    assert "Idempotent-Replayed" not in first.headers and again.headers["Idempotent-Replayed"] == "true"
    assert count(own_api) == 2 and len(queued_events()) == 3
    refused(send(own_api, *batch[:2], key=key), 409, "conflict.idempotency_key_reused")
    refused(own_api.post("brokers", json={"name": "A"}, headers={"Idempotency-Key": key}), 409,
            "conflict.idempotency_key_reused")
    rows = instance.sql("select status, response_body, expires_at > now() + interval '23 hours' from neoapi.idempotency_key"
                        " where key = %s::uuid", key)
    assert rows == [(200, first.text, True)]


def test_the_key_of_a_single_create_is_refused_for_a_batch(own_api):
    key = str(uuid.uuid4())
    ok(own_api.post("brokers", json={"name": "A"}, headers={"Idempotency-Key": key}), 201)
    refused(send(own_api, create(name="A"), key=key), 409, "conflict.idempotency_key_reused")


def test_a_batch_that_was_refused_leaves_its_key_free(own_api, instance):
    key, broker = str(uuid.uuid4()), own_api.broker(creci="1")
    refused(send(own_api, create(name="A", creci="1"), key=key, atomic=True), 409, "conflict.duplicate")
    refused(send(own_api, key=key), 400, "validation.broker.operations_invalid")
    assert instance.sql("select count(*) from neoapi.idempotency_key where key = %s::uuid", key) == [(0,)]
    ok(own_api.delete("brokers/" + broker["id"]), 204)
    response = send(own_api, create(name="A", creci="1"), key=key, atomic=True)
    results(response, 201)
    assert "Idempotent-Replayed" not in response.headers


def test_an_expired_key_is_free(own_api, instance):
    key = str(uuid.uuid4())
    results(send(own_api, create(name="A"), key=key), 201)
    instance.sql("update neoapi.idempotency_key set expires_at = now() where key = %s::uuid", key)
    again = send(own_api, create(name="A"), key=key)
    results(again, 201)
    assert "Idempotent-Replayed" not in again.headers and count(own_api) == 2


@pytest.mark.parametrize("atomic", [False, True])
def test_a_hundred_concurrent_copies_are_executed_once(own_api, queued_events, atomic):
    key, batch = str(uuid.uuid4()), [create(name="A", creci=f"{n}") for n in range(20)]
    answers = together(*[lambda: send(own_api.with_(), *batch, key=key, atomic=atomic)] * 100)
    results(answers[0], *[201] * 20) if "Idempotent-Replayed" not in answers[0].headers else ok(answers[0])
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert count(own_api) == 20 and len(queued_events()) == 20


# ---------------------------------------------------------------- concurrency


def test_batches_that_lock_rows_in_different_orders_all_succeed(own_api):
    brokers = many(own_api.broker, 12)
    def rename(name):
        ids = brokers if name % 2 else brokers[::-1]
        # alternating, so that each operation is a statement of its own
        operations = itertools.chain.from_iterable((update(one, name=f"N{name}"), create(name="x")) for one in ids)
        return send(own_api.with_(), *operations)
    for response in together(*[lambda n=n: rename(n) for n in range(6)]):
        results(response, *[200, 201] * 12)
    names = {broker["name"] for broker in own_api.walk(limit=100)} - {"x"}
    assert len(names) == 1


def test_batches_that_create_equal_resources_in_different_orders_create_each_once(own_api):
    numbers = [f"{n}" for n in range(50)]
    def make(n):
        return send(own_api.with_(), *[create(name="A", creci=number) for number in (numbers if n % 2 else numbers[::-1])])
    done = [ok(response) for response in together(*[lambda n=n: make(n) for n in range(8)])]
    assert sum(answer["succeeded"] for answer in done) == 50
    assert all(result["status"] in (201, 409) for answer in done for result in answer["results"])
    assert sorted(broker["creci"] for broker in own_api.walk(limit=100)) == sorted(numbers)


def test_concurrent_requests_and_batches_lose_no_update(own_api):
    broker = own_api.broker()
    fields = ["creci", "email", "phone", "document_number"]
    def change(n):
        value = {fields[n % 4]: f"v{n}@example.com" if n % 4 == 1 else f"{n}"}
        if n % 2:
            return ok(own_api.with_().patch("brokers/" + broker["id"], json=value))
        return results(send(own_api.with_(), update(broker, **value)), 200)
    together(*[lambda n=n: change(n) for n in range(24)])
    assert set(fields) <= set(ok(own_api.get("brokers/" + broker["id"])))


def test_concurrent_references_and_deletions_leave_no_dangling_reference(own_api, instance):
    factory = ResourceFactory(own_api)
    for _ in range(10):
        broker = factory.broker()
        made, gone = together(
            lambda: send(own_api.with_(), *[create(**factory.body("parties", broker_id=broker["id"])) for _ in range(5)],
                         collection="parties"),
            lambda: send(own_api.with_(), delete(broker)))
        statuses = {result["status"] for result in ok(made)["results"]}
        assert (statuses, ok(gone)["results"][0]["status"]) in [({201}, 409), ({400}, 204)]
    left = instance.sql(
        "select count(*) from neoapi.party p where organization_id = %s and broker_id is not null and not exists"
        " (select from neoapi.broker b where b.organization_id = p.organization_id and b.id = p.broker_id)",
        own_api.credential.organizations[0])
    assert left == [(0,)]
    assert instance.sql("select count(*) from pg_stat_activity where state like 'idle in transaction%%' and usename = %s",
                        "neoapi") == [(0,)]


# ---------------------------------------------------------------- failures of the database


@pytest.fixture
def other(instance):
    """A concurrent transaction."""
    connection = psycopg2.connect(instance.admin_dsn, options="-c deadlock_timeout=60s")  # other transactions detect the deadlock first
    yield connection.cursor()
    connection.rollback()
    connection.close()


def hold(other, *brokers):
    for broker in brokers:
        other.execute("select from neoapi.broker where id = %s for update", [broker["id"]])


def waiting_pid(instance):
    """The pid of the backend whose batch waits for a lock."""
    return eventually(lambda: instance.sql("select pid from pg_stat_activity where usename = 'neoapi' and query like"
                                           " '%%no key update%%' and wait_event_type = 'Lock'"), "a batch that waits")[0][0]


def no_transaction_is_left(instance):
    return eventually(lambda: instance.sql("select count(*) from pg_stat_activity where usename = 'neoapi'"
                                           " and state like 'idle in transaction%%'") == [(0,)], "connections that are free")


def test_a_batch_whose_connection_is_lost_is_retried_and_executed_once(own_api, instance, other, queued_events):
    broker, key = own_api.broker(), str(uuid.uuid4())
    hold(other, broker)
    def end():
        instance.sql("select pg_terminate_backend(%s)", waiting_pid(instance))
        waiting_pid(instance)  # the retry of the batch
        other.connection.rollback()
    response, _ = together(lambda: send(own_api.with_(), create(name="A"), update(broker, name="B"), key=key), end)
    results(response, 201, 200)
    assert count(own_api) == 2 and [event for event, _ in queued_events()] == ["broker.created"] * 2 + ["broker.updated"]
    assert no_transaction_is_left(instance)


def test_a_batch_that_times_out_changes_nothing_and_leaves_no_transaction(own_api, instance, other):
    broker, key = own_api.broker(), str(uuid.uuid4())
    hold(other, broker)
    batch = [create(name="A"), update(broker, name="B")]
    response, _ = together(lambda: send(own_api.with_(), *batch, key=key),
                           lambda: instance.sql("select pg_cancel_backend(%s)", waiting_pid(instance)))
    problem = refused(response, 503, "internal.statement_timeout")
    assert "nothing was changed" in problem["detail"]
    assert no_transaction_is_left(instance)
    other.connection.rollback()
    assert own_api.walk() == [broker]
    results(send(own_api, *batch, key=key), 201, 200)


def test_a_batch_in_a_deadlock_is_retried(own_api, instance, other):
    a, b = own_api.broker(), own_api.broker()
    hold(other, b)
    def cross():
        waiting_pid(instance)  # it has locked a, which comes before b
        hold(other, a)
        other.connection.rollback()
    response, _ = together(lambda: send(own_api.with_(), update(b, name="B"), update(a, name="A")), cross)
    results(response, 200, 200)
    assert no_transaction_is_left(instance)
