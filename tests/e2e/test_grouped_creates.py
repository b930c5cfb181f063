# SPDX-License-Identifier: Apache-2.0
"""Creates of concurrent requests in one statement: nothing of one request reaches another one, and each has the outcome that it has
alone.

A trigger makes each statement that creates brokers take SLOW_S, so that the requests that arrive meanwhile share the next one. The
tests count statements and rows, so that they fail if there are no groups."""

import json
import threading
import time
import uuid
from contextlib import contextmanager, suppress

import psycopg2
import pytest
import requests
from admin_factory import AdminFactory
from admin_pages import CONF as PAGES
from admin_pages import AdminPages
from client import Api, ok, refused
from factories import ResourceFactory
from wait import TIMEOUT_S, eventually, together
from webhook_fixtures import HERE, module_admin_factory, module_instance, running_instance  # noqa: F401 (fixtures among them)

# Without a courier, deliveries stay in the queue.
CONF = PAGES + HERE + """
NeoAPIWebhookConcurrency 0
NeoAPIGroupedStatements 2
"""
CLIENTS = 16
SLOW_S = 0.03  # less than the 50 ms after which a slot is taken over


@pytest.fixture(scope="module")
def module_instance(request):  # noqa: F811
    """One process, so that all concurrent requests share its queue."""
    with running_instance("grouped", CONF, PROCESSES="1") as instance:
        yield instance


def set_seconds(instance, seconds):
    instance.sql(f"create or replace function neoapi.slow() returns trigger language plpgsql as"
                 f" $$ begin perform pg_sleep({seconds}); return null; end $$")


@pytest.fixture
def slow(module_instance):
    """Makes each statement that creates brokers or properties slow."""
    set_seconds(module_instance, SLOW_S)
    for table in ("broker", "property"):
        module_instance.sql(f"create trigger slow before insert on neoapi.{table} for each statement execute function neoapi.slow()")
    yield
    module_instance.sql("drop function neoapi.slow() cascade")


class Counts:
    """The growth of the metrics since the last call."""

    def __init__(self, instance):
        self.pages, self.last = AdminPages(instance), None
        self.take()

    def take(self):
        """Statements, rows, rows that were executed alone again."""
        samples = self.pages.samples()
        now = [int(samples[f"neoapi_create_{name}_total"]) for name in ("statements", "rows", "rows_repeated")]
        grown = [after - before for before, after in zip(self.last or now, now)]
        self.last = now
        return grown


@pytest.fixture
def counts(module_instance):
    return Counts(module_instance)


class Organization:
    """An organization of its own tenant with a subscription, and clients with separate connections."""

    def __init__(self, instance, factory, clients=CLIENTS // 2):
        self.instance, self.key = instance, factory.key()
        self.id, self.tenant = self.key.organizations[0], self.key.tenant
        self.api = Api(instance, self.key)
        self.subscription = ok(self.api.post("webhooks", json={"url": "http://127.0.0.1:9/", "events": ["broker.created"]}), 201)
        self.clients = [self.api.with_() for _ in range(clients)]
        for client in self.clients:
            ok(client.get("me"))  # opens its connection

    def sql(self, columns, table, more=""):
        return self.instance.sql(f"select {columns} from neoapi.{table} where organization_id = %s {more}", self.id)


@pytest.fixture
def two(module_instance, module_admin_factory):
    return [Organization(module_instance, module_admin_factory) for _ in range(2)]


def send_together(clients, requests, **more):
    """Sends a broker, or a function, with each client at the same time."""
    def job(client, body):
        return (lambda: body(client)) if callable(body) else lambda: client.post("brokers", json=body, **more)
    return together(*[job(client, body) for client, body in zip(clients, requests)])


@pytest.fixture
def one(module_instance, module_admin_factory):
    return Organization(module_instance, module_admin_factory, CLIENTS)


# ---------------------------------------------------------------- separation


def check_organization(org, sent):
    """Compares responses, rows, events, deliveries and stored responses of an organization. `sent` are bodies, keys and responses."""
    answers = [ok(answer, 201) for _, _, answer in sent]
    for (body, _, answer), created in zip(sent, answers):
        assert {name: created.get(name) for name in body} == body
        assert (created["organization_id"], created["tenant_id"], created["created_by"], created["updated_by"]) == (
            org.id, org.tenant, org.key.id, org.key.id)
        assert answer.headers["Location"].endswith("/brokers/" + created["id"])
        assert answer.text == ok_text(org.api.get("brokers/" + created["id"]))
    by_id = {created["id"]: (created, key, answer) for created, (_, key, answer) in zip(answers, sent)}
    assert {id for id, in org.sql("id", "broker")} == by_id.keys() and len(by_id) == len(sent)
    events = org.sql("id, resource_id, actor, request_id, payload, type", "event", "order by id")
    assert sorted(event[1] for event in events) == sorted(by_id)
    for _, id, actor, request, payload, kind in events:
        created, _, answer = by_id[id]
        assert (actor, request, kind) == (org.key.id, answer.headers["X-Request-ID"], "broker.created")
        assert json.loads(payload).items() <= created.items()
    delivered = org.sql("subscription_id, event_id", "webhook_delivery")
    assert sorted(delivered) == sorted((org.subscription["id"], event[0]) for event in events)
    queued = org.sql("subscription_id", "webhook_queue")
    assert queued == [(org.subscription["id"],)] * len(events)
    stored = {str(key): (credential, status, body) for key, credential, status, body in org.sql(
        "key, credential_id, status, response_body", "idempotency_key")}
    assert stored == {key: (org.key.id, 201, answer.text) for _, key, answer in by_id.values() if key}


def ok_text(answer):
    ok(answer)
    return answer.text


def create_until_refused(client):
    """The status of the first response that is no 201."""
    while (answer := client.post("brokers", json={"name": "Ana"})).status_code == 201:
        pass
    return answer.status_code


def test_no_group_has_a_row_of_a_credential_after_its_revocation(two, slow, module_admin_factory):
    """Requests of another organization lead the groups as well, until their key is revoked, too."""
    for _ in range(5):
        keys = [module_admin_factory.key(org.id) for org in two]
        jobs = [lambda client=org.api.with_(credential=key): create_until_refused(client)
                for org, key in zip(two, keys) for _ in range(CLIENTS // 2)]
        (before,), counts = two[0].sql("count(*)", "broker")[0], []

        def revoke():
            eventually(lambda: two[0].sql("count(*)", "broker")[0][0] >= before + CLIENTS, "they are in progress")
            for org, key in zip(two, keys):
                module_admin_factory.revoke(key)
                counts.append(org.sql("count(*)", "broker"))
        assert set(together(*jobs, revoke)) == {401, None}
        assert counts == [org.sql("count(*)", "broker") for org in two]


def test_two_tenants_in_every_group_share_nothing(two, slow, counts):
    """Half of the requests have a key, and the organizations use the same names, numbers and keys."""
    sent = {org.id: [] for org in two}
    for round in range(6):
        jobs = []
        for number in range(CLIENTS // 2):
            key = str(uuid.uuid4()) if number % 2 else None
            for org in two:
                body = {"name": f"Broker {round} {number}", "creci": f"{round}{number}-F", "external_id": f"{round}/{number}",
                        "email": f"b{round}.{number}@{org.id[-4:]}.example.com", "metadata": {"of": org.id}}
                jobs.append((org, body, key))
        answers = together(*[lambda org=org, body=body, key=key, client=org.clients[at // 2]: client.post(
            "brokers", json=body, headers={"Idempotency-Key": key} if key else {}) for at, (org, body, key) in enumerate(jobs)])
        for (org, body, key), answer in zip(jobs, answers):
            sent[org.id].append((body, key, answer))
    statements, rows, repeated = counts.take()
    assert (rows, repeated) == (6 * CLIENTS, 0) and statements < rows / 2
    for org in two:
        check_organization(org, sent[org.id])


def test_errors_stay_with_their_request(two, slow, counts):
    """In each group one organization repeats the other's values, which is allowed, and its own, which is not."""
    first, second = two
    existing = ok(first.api.post("brokers", json={"name": "Existing", "creci": "1-F"}), 201)
    key = str(uuid.uuid4())
    stored = first.api.post("brokers", json={"name": "Stored"}, headers={"Idempotency-Key": key})
    counts.take()

    def keyed(body):
        return lambda client: client.post("brokers", json=body, headers={"Idempotency-Key": key})
    bodies = [{"name": "Duplicate", "creci": "1f"}, keyed({"name": "Stored"}), keyed({"name": "Other"}), {"name": "New", "creci": "2-F"}]
    answers = send_together(first.clients[:4] + second.clients[:4], bodies * 2)
    problem = refused(answers[0], 409, "conflict.duplicate")
    assert (problem["field"], problem["existing_id"]) == ("creci", existing["id"])
    assert answers[1].text == stored.text and answers[1].headers["Idempotent-Replayed"] == "true"
    refused(answers[2], 409, "conflict.idempotency_key_reused")
    assert ok(answers[3], 201)["organization_id"] == first.id
    assert ok(answers[4], 201)["organization_id"] == ok(answers[7], 201)["organization_id"] == second.id
    keyed_answers = sorted((answers[5], answers[6]), key=lambda answer: answer.status_code)
    assert ok(keyed_answers[0], 201)["organization_id"] == second.id
    refused(keyed_answers[1], 409, "conflict.idempotency_key_reused")
    assert counts.take()[0] < 8


# ---------------------------------------------------------------- duplicates of each other


@pytest.mark.parametrize("body", [{"creci": "77-F"}, {"external_id": "ERP-1"}])
def test_of_requests_with_one_unique_value_one_creates(one, slow, counts, body):
    answers = send_together(one.clients, [{"name": f"Broker {number}", **body} for number in range(CLIENTS)])
    created = [ok(answer, 201) for answer in answers if answer.status_code == 201]
    assert len(created) == 1 and one.sql("id", "broker") == [(created[0]["id"],)]
    for answer in answers:
        if answer.status_code != 201:
            problem = refused(answer, 409, "conflict.duplicate")
            assert (problem["field"], problem["existing_id"]) == (*body, created[0]["id"])
    statements, rows, repeated = counts.take()
    assert statements < rows and repeated > 0


def test_of_requests_with_one_key_one_is_executed(one, slow):
    key = str(uuid.uuid4())
    answers = send_together(one.clients, [{"name": "Once"}] * CLIENTS, headers={"Idempotency-Key": key})
    assert {ok(answer, 201)["id"] for answer in answers} == {id for id, in one.sql("id", "broker")}
    assert len(one.sql("id", "broker")) == 1
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == CLIENTS - 1


def test_upserts_of_one_external_id_create_once_and_then_replace(one, slow):
    answers = send_together(one.clients, [lambda client, name=f"Version {number}": client.put(
        "brokers/by-external-id/ERP-9", json={"name": name}) for number in range(CLIENTS)])
    assert sorted(answer.status_code for answer in answers) == [200] * (CLIENTS - 1) + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1 and len(one.sql("id", "broker")) == 1
    assert len(one.sql("id", "event", "and type = 'broker.created'")) == 1


def test_a_missing_reference_refuses_only_its_request(two, slow, counts):
    """To the other organization's broker as well, and by the external id of a broker that is created at the same time."""
    first, second = two
    own, other = (ok(org.api.post("brokers", json={"name": "Broker"}), 201)["id"] for org in two)
    missing, factory = own[:-4] + ("zzzz" if own[-4:] != "zzzz" else "yyyy"), ResourceFactory(first.api)

    def with_broker(id):
        body = factory.body("properties", broker_id=id)
        return lambda client: client.post("properties", json=body)
    wanted = [own, missing, other, {"external_id": "ERP-3"}, own]
    counts.take()
    answers = send_together(first.clients, [with_broker(id) for id in wanted] + [
        lambda client: client.put("brokers/by-external-id/ERP-3", json={"name": "Late"})])
    made = ok(answers[5], 201)
    for id, answer in zip(wanted, answers):
        if id in (missing, other):
            refused(answer, 400, "validation.property.broker_id_not_found", broker_id="validation.property.broker_id_not_found")
        elif id == own:
            assert ok(answer, 201)["broker_id"] == own
        else:
            assert answer.status_code in (201, 400) and answer.json().get("broker_id", made["id"]) == made["id"]
    ids = [answer.json()["id"] for answer in answers[:5] if answer.status_code == 201]
    assert sorted(id for id, in first.sql("id", "property")) == sorted(ids)
    assert sorted(id for id, in first.sql("source_id", "reference")) == sorted(ids)
    assert counts.take()[0] < 6


# ---------------------------------------------------------------- failures


def in_group(instance):
    """The processes of PostgreSQL that execute the statement of a group."""
    return [pid for pid, in instance.sql("select pid from pg_stat_activity where state = 'active' and query like %s and wait_event = 'PgSleep'",
                                         "%as item_organization%")]


@contextmanager
def groups_under_way(org, seconds=2):
    """Sends a broker with each client. Yields the processes that execute groups, and a function that returns the responses."""
    set_seconds(org.instance, seconds)
    answers = []
    sender = threading.Thread(target=lambda: answers.extend(send_together(
        org.clients, [{"name": f"Broker {number}", "creci": f"{number}-F"} for number in range(CLIENTS)])))
    sender.start()

    def result():
        set_seconds(org.instance, 0)
        sender.join(TIMEOUT_S)
        assert len(answers) == CLIENTS
        return answers
    yield eventually(lambda: in_group(org.instance), "a group is executed"), result
    sender.join(TIMEOUT_S)


def check_rows(org, answers):
    """Exactly the acknowledged brokers exist, each with one event."""
    ids = sorted(answer.json()["id"] for answer in answers if answer.status_code == 201)
    assert sorted(id for id, in org.sql("id", "broker")) == sorted(id for id, in org.sql("resource_id", "event", "and type = 'broker.created'")) == ids


@pytest.mark.parametrize("function", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_group_whose_statement_certainly_failed_is_executed_one_by_one(one, slow, counts, function):
    with groups_under_way(one) as (pids, result):
        set_seconds(one.instance, 0)
        for pid in pids:
            one.instance.sql(f"select {function}(%s)", pid)
        answers = result()
    assert {answer.status_code for answer in answers} == {201}
    check_rows(one, answers)


def test_a_group_without_a_result_is_told_to_every_member_and_not_repeated(one, slow):
    """PostgreSQL is killed: no member learns whether its row was created. None was. A request whose statement was not sent yet learns that."""
    with groups_under_way(one) as (_, result):
        one.instance.command("kill-db")
        answers = result_without_database(one, result)
    assert {answer.status_code for answer in answers} == {503}
    details = [answer.json()["detail"] for answer in answers if answer.json()["code"] == "internal.unavailable"]
    unknown = ["may have been executed" in detail for detail in details]
    assert any(unknown) and all(is_unknown or "nothing was changed" in detail for is_unknown, detail in zip(unknown, details))
    check_rows(one, answers)


def result_without_database(org, result):
    eventually(lambda: "does not start" not in org.instance.command("start-db", check=False), "PostgreSQL starts")
    return result()


@contextmanager
def uncommitted(instance, org, **values):
    """A broker of the organization that another transaction has not committed. Yields a function that commits it."""
    existing = ok(org.api.post("brokers", json={"name": "Existing"}), 201)["id"]
    connection = psycopg2.connect(instance.admin_dsn)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"update neoapi.broker set {', '.join(f'{name} = %s' for name in values)} where id = %s",
                           (*values.values(), existing))
            yield connection.commit
    finally:
        connection.close()


def test_a_lock_of_another_transaction_delays_only_its_request(two, slow, module_instance):
    """The values of the others do not wait for it, although they share its group."""
    first, second = two
    with uncommitted(module_instance, first, creci="500-F") as commit:
        blocked = []
        thread = threading.Thread(target=lambda: blocked.extend(send_together(first.clients[:3], [
            {"name": f"Blocked {number}", "creci": "500-F"} for number in range(3)])))
        thread.start()
        began = time.monotonic()
        for round in range(4):
            answers = send_together(second.clients, [{"name": f"Free {round} {number}"} for number in range(CLIENTS // 2)])
            assert {answer.status_code for answer in answers} == {201}
        assert time.monotonic() - began < 8 and not blocked  # less than the limit of a statement, with a margin for slow machines
        commit()
        thread.join(TIMEOUT_S)
    assert len(blocked) == 3
    for answer in blocked:
        refused(answer, 409, "conflict.duplicate")


def test_groups_that_deadlock_are_executed_one_by_one(module_instance, module_admin_factory):
    """Groups of two processes insert the same two values in different order."""
    org = Organization(module_instance, module_admin_factory, CLIENTS)
    for round in range(20):
        values = [f"{round}-A", f"{round}-B"]
        answers = send_together(org.clients, [{"name": "X", "external_id": values[(number + number // 2) % 2]} for number in range(CLIENTS)])
        assert sorted(answer.status_code for answer in answers) == [201] * 2 + [409] * (CLIENTS - 2)


# ---------------------------------------------------------------- the end of a process, and the directive


def test_members_that_wait_get_their_responses_at_a_graceful_restart(one, slow):
    old = one.instance.children()
    with groups_under_way(one, seconds=1) as (_, result):
        one.instance.command("graceful")
        answers = result()
    assert {answer.status_code for answer in answers} == {201}
    check_rows(one, answers)
    eventually(lambda: not set(old) & set(one.instance.children()), "the old process ends")
    assert "exit signal" not in one.instance.error_log


def test_a_process_with_members_that_wait_stops(one, slow):
    """Clients can lose their responses, as without groups, but the process ends by itself."""
    def post(client):
        with suppress(requests.ConnectionError):
            return client.post("brokers", json={"name": "Broker"})
    set_seconds(one.instance, 1)
    sender = threading.Thread(target=send_together, args=(one.clients, [post] * CLIENTS))
    sender.start()
    eventually(lambda: in_group(one.instance), "a group is executed")
    one.instance.command("stop-httpd")
    sender.join(TIMEOUT_S)
    one.instance.command("start-httpd")
    assert not sender.is_alive() and "exit signal" not in one.instance.error_log
    rows, events = one.sql("count(*)", "broker"), one.sql("count(distinct resource_id)", "event")
    assert rows == events and rows[0][0] > 0


def test_one_client_never_waits(one, counts):
    for number in range(10):
        ok(one.api.post("brokers", json={"name": f"Broker {number}"}), 201)
    assert counts.take() == [10, 10, 0]


def test_creates_that_read_other_rows_or_are_large_are_not_shared(one, counts):
    factory = ResourceFactory(one.api)
    body = factory.body("proposals")
    counts.take()
    ok(one.api.post("proposals", json=body), 201)
    ok(one.api.post("brokers", data='{"name": "Large"}' + " " * 17_000, headers={"Content-Type": "application/json"}), 201)
    assert counts.take() == [0, 0, 0]


def test_off_shares_no_statements():
    with running_instance("ungrouped", CONF + "NeoAPIGroupedWrites Off\n", PROCESSES="1") as instance:
        org = Organization(instance, AdminFactory(instance), CLIENTS)
        counts = Counts(instance)
        answers = send_together(org.clients, [{"name": "Broker"}] * CLIENTS)
        assert {answer.status_code for answer in answers} == {201} and counts.take() == [0, 0, 0]
