"""Batches: every operation is what the single request would be, in order; all or nothing where asked for; once under a key."""

import itertools
import json
import re
import time
import uuid

import psycopg2
import pytest
from client import WINDOW, Api, check_items, ok, refused, wrong_fields
from estate import NOBODY, Estate, cpf, many, unique
from waiting import eventually, together

COLLECTIONS = ["brokers", "properties", "parties"]
KINDS = {"brokers": "broker", "properties": "property", "parties": "party"}
MINE = {"brokers": "creci", "properties": "code", "parties": "document_number"}  # what is unique, of a value that we choose
NOWHERE = "https://127.0.0.1:9/"  # nothing is ever sent there


def create(**data):
    return {"method": "create", "data": data}


def update(id, **data):
    return {"method": "update", "id": id if isinstance(id, str) else id["id"], "data": data}


def delete(id):
    return {"method": "delete", "id": id if isinstance(id, str) else id["id"]}


def send(api, *operations, collection="brokers", key=None, **more):
    headers = {"Idempotency-Key": key} if key else None
    return api.post(collection + "/batch", json={**more, "operations": list(operations)}, headers=headers)


def results(response, *statuses):
    """The results of a batch whose operations had these statuses."""
    answer = ok(response)
    assert list(answer) == ["succeeded", "failed", "results"]
    assert [result["index"] for result in answer["results"]] == list(range(len(answer["results"])))
    assert [result["status"] for result in answer["results"]] == list(statuses), answer
    assert answer["succeeded"] == sum(status < 300 for status in statuses)
    assert answer["failed"] == sum(status >= 300 for status in statuses)
    for result in answer["results"]:
        check_result(response, result)
    return answer["results"]


def check_result(response, result):
    status, error = result["status"], result.get("error")
    assert ("resource" in result) == (status in (200, 201)), result
    assert ("error" in result) == (status >= 400), result
    if error:
        assert error["status"] == status and error["request_id"] == response.headers["X-Request-ID"], error
        check_items(status, error)


def fields(result):
    """The code of each wrong field of a failed operation."""
    return {item["field"]: item["code"] for item in result["error"].get("errors", [])}


def count(api, collection="brokers"):
    return len(api.walk(collection, limit=100))


# ---------------------------------------------------------------- what it does


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_batch_does_what_single_requests_do(own, collection):
    estate = Estate(own)
    bodies = [estate.body(collection), estate.body(collection)]
    made = [result["resource"] for result in results(send(own, *[create(**body) for body in bodies], collection=collection),
                                                     201, 201)]
    for resource, body in zip(made, bodies):
        assert body.items() <= resource.items()
        assert resource["created_at"] == resource["updated_at"] and resource["created_by"] == own.credential.id
        assert ok(own.get(f"{collection}/{resource['id']}")) == resource
    assert made[0]["id"] < made[1]["id"]
    changed, gone = results(send(own, update(made[0], email="a@example.com") if collection != "properties" else
                                 update(made[0], title="A"), delete(made[1]), collection=collection), 200, 204)
    assert ok(own.get(f"{collection}/{made[0]['id']}")) == changed["resource"] != made[0]
    assert own.get(f"{collection}/{made[1]['id']}").status_code == 404


@pytest.mark.parametrize("collection", ["properties", "parties"])
def test_every_field_comes_back_as_from_a_single_create(own, collection):
    estate = Estate(own)
    body = estate.full(collection)
    single = ok(own.post(collection, json=body), 201)
    ok(own.delete(f"{collection}/{single['id']}"), 204)
    batched, = results(send(own, create(**body), collection=collection), 201)
    times = ("id", "created_at", "updated_at")
    assert {n: v for n, v in batched["resource"].items() if n not in times} == \
        {n: v for n, v in single.items() if n not in times}
    assert list(batched["resource"]) == list(single)
    changed, = results(send(own, update(batched["resource"], **body), collection=collection), 200)
    assert {**changed["resource"], "updated_at": ""} == {**batched["resource"], "updated_at": ""}
    cleared = {name: None for name in ("metadata", "external_id", "address" if collection == "parties" else "owners")}
    bare, = results(send(own, update(batched["resource"], **cleared), collection=collection), 200)
    assert not cleared.keys() & bare["resource"].keys()


def test_operations_see_what_those_before_them_have_done(own):
    ana, = results(send(own, create(name="Ana", creci="1")), 201)
    id = ana["resource"]["id"]
    done = results(send(own, update(id, name="Bia"), update(id, creci="2"), create(name="Caio", creci="1"), delete(id),
                        create(name="Davi", creci="2"), update(id, name="Eva"), delete(id)), 200, 200, 201, 204, 201, 404, 404)
    assert (done[1]["resource"]["name"], done[1]["resource"]["creci"]) == ("Bia", "2")
    assert [broker["name"] for broker in own.walk()] == ["Davi", "Caio"]


def test_an_update_is_a_merge_patch(own):
    broker = own.broker(creci="1", email="a@example.com", bank_account={"bank_code": "341", "pix_key": "x"})
    done, = results(send(own, update(broker, email=None, bank_account={"pix_key": "y"})), 200)
    assert "email" not in done["resource"] and done["resource"]["creci"] == "1"
    assert done["resource"]["bank_account"] == {"bank_code": "341", "pix_key": "y"}


def test_each_operation_succeeds_or_fails_by_itself(own):
    broker = own.broker(creci="SP 1")
    done = results(send(own, create(name="A", creci="sp-1"), create(name="B"), create(creci="2"), create(name="C", x=1),
                        update(broker, email="no"), update("brk_" + NOBODY, name="D"), update("x", name="E"),
                        delete("pty_" + NOBODY), delete(broker), create(name="F", creci="SP 1")),
                   409, 201, 400, 400, 400, 404, 404, 404, 204, 201)
    assert done[0]["error"]["code"] == "conflict.duplicate" and "creci" in done[0]["error"]["detail"]
    assert fields(done[2]) == {"name": "validation.broker.name_required"}
    assert fields(done[3]) == {"x": "validation.unknown_field"}
    assert fields(done[4]) == {"email": "validation.broker.email_invalid"}
    assert all(done[i]["error"]["code"] == "not_found.broker" for i in (5, 6, 7))
    assert [found["name"] for found in own.walk()] == ["F", "B"]


# ---------------------------------------------------------------- what must be unique


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_of_equals_in_one_batch_the_first_is_made(own, collection):
    estate, value = Estate(own), cpf()
    same = [create(**estate.body(collection, **{MINE[collection]: value})) for _ in range(3)]
    done = results(send(own, *same, create(**estate.body(collection)), collection=collection), 201, 409, 409, 201)
    assert MINE[collection] in done[1]["error"]["detail"] and done[1]["error"]["code"] == "conflict.duplicate"
    other = results(send(own, create(**estate.body(collection)), *same, collection=collection), 201, 409, 409, 409)
    assert count(own, collection) == 3 and other[0]["resource"]


def test_every_field_that_must_be_unique_is_named(own):
    estate, number = Estate(own), cpf()
    estate.party(external_id="e-1")
    estate.party(document_number=number)
    done = results(send(own, create(**estate.body("parties", external_id="e-1")),
                        create(**estate.body("parties", document_number=number)), collection="parties"), 409, 409)
    assert "external_id" in done[0]["error"]["detail"] and "document_number" in done[1]["error"]["detail"]


def test_updates_that_clash_fail_alone(own):
    a, b, c = (own.broker(creci=str(n)) for n in range(3))
    done = results(send(own, update(a, creci="1"), update(b, name="B"), update(c, creci="9")), 409, 200, 200)
    assert "creci" in done[0]["error"]["detail"]
    assert [broker["creci"] for broker in own.walk()] == ["9", "1", "0"]


def test_a_value_is_free_for_what_comes_after_whoever_gives_it_up_and_not_before(own):
    a, b = own.broker(creci="a"), own.broker(creci="b")
    results(send(own, update(a, creci="b"), update(b, creci="c"), update(a, creci="b")), 409, 200, 200)
    results(send(own, update(b, creci=None), update(a, creci="c")), 200, 200)
    results(send(own, update(a, creci="d"), update(b, creci="c"), create(name="E", creci="d")), 200, 200, 409)
    assert {broker["id"]: broker["creci"] for broker in own.walk()} == {a["id"]: "d", b["id"]: "c"}


def test_a_hundred_updates_that_pass_values_on_end_as_single_ones_would(own):
    made = [result["resource"] for result in results(send(own, *[create(name="A", creci=f"n{n}") for n in range(100)]),
                                                     *[201] * 100)]
    up = [update(broker, creci=f"n{n + 1}") for n, broker in enumerate(made)]
    results(send(own, *up), *[409] * 99, 200)
    results(send(own, *reversed(up)), *[200] * 100)
    assert sorted(broker["creci"] for broker in own.walk(limit=100)) == sorted(f"n{n + 1}" for n in range(100))


# ---------------------------------------------------------------- references


def test_references_to_what_there_is_not_are_named_for_each_operation(own):
    estate = Estate(own)
    broker = estate.broker()["id"]
    done = results(send(own, create(**estate.body("parties", broker_id=broker)),
                        create(**estate.body("parties", broker_id="brk_" + NOBODY, spouse_party_id="pty_" + NOBODY)),
                        create(**estate.body("parties", legal_representatives=[{"party_id": "pty_" + NOBODY}])),
                        create(**estate.body("parties", broker_id="x")), collection="parties"), 201, 400, 400, 400)
    assert fields(done[1]) == {"broker_id": "validation.party.broker_id_not_found",
                               "spouse_party_id": "validation.party.spouse_party_id_not_found"}
    assert fields(done[2]) == {"legal_representatives[0].party_id":
                               "validation.party.legal_representatives_party_id_not_found"}
    assert fields(done[3]) == {"broker_id": "validation.party.broker_id_invalid"}
    party = done[0]["resource"]
    done = results(send(own, update(party, broker_id="brk_" + NOBODY), update(party, name="Z"), collection="parties"), 400, 200)
    assert fields(done[0]) == {"broker_id": "validation.party.broker_id_not_found"}


def test_references_of_what_a_batch_writes_are_kept_and_let_go(own):
    estate = Estate(own)
    one, two = estate.broker()["id"], estate.broker()["id"]
    party = results(send(own, create(**estate.body("parties", broker_id=one)), collection="parties"), 201)[0]["resource"]
    assert refused(own.delete("brokers/" + one), 409, "conflict.in_use")["detail"].endswith("a party refers to it.")
    results(send(own, update(party, broker_id=two), collection="parties"), 200)
    done = results(send(own, delete(one), delete(two)), 204, 409)
    assert done[1]["error"]["code"] == "conflict.in_use" and "a party refers to it" in done[1]["error"]["detail"]
    results(send(own, delete(party), collection="parties"), 204)
    results(send(own, delete(two)), 204)


def test_what_refers_to_another_is_deleted_before_it(own):
    estate = Estate(own)
    def couple():
        a = estate.party()
        return a, estate.party(spouse_party_id=a["id"])
    a, b = couple()
    results(send(own, delete(a), delete(b), collection="parties"), 409, 204)
    results(send(own, delete(a), delete(a), collection="parties"), 204, 404)
    a, b = couple()
    results(send(own, delete(b), delete(a), collection="parties"), 204, 204)


def test_what_cannot_be_deleted_still_protects_what_it_refers_to(own):
    estate = Estate(own)
    a = estate.party()
    b = estate.party(spouse_party_id=a["id"])
    c = estate.party(spouse_party_id=b["id"])
    results(send(own, delete(b), delete(a), collection="parties"), 409, 409)
    results(send(own, delete(c), delete(b), delete(a), collection="parties"), 204, 204, 204)


# ---------------------------------------------------------------- all or nothing


def test_an_atomic_batch_is_done_whole(own):
    broker = own.broker()
    done = results(send(own, create(name="A"), update(broker, name="B"), delete(broker), atomic=True), 201, 200, 204)
    assert [found["id"] for found in own.walk()] == [done[0]["resource"]["id"]]


@pytest.mark.parametrize("wrong, status, code, field", [
    (create(name="", creci="9"), 400, "validation.broker.name_invalid", "operations[2].data.name"),
    (create(name="A", bank_account={"x": 1}), 400, "validation.unknown_field", "operations[2].data.bank_account.x"),
    (create(creci="9", email="x"), 400, "validation.failed", None),
    (create(name="A", creci="taken"), 409, "conflict.duplicate", None),
    (update("brk_" + NOBODY, name="A"), 404, "not_found.broker", None),
    (delete("x"), 404, "not_found.broker", None),
    (update("$taken", visibility="x"), 400, "validation.broker.visibility_invalid", "operations[2].data.visibility"),
])
def test_the_first_failure_of_an_atomic_batch_is_its_answer_and_nothing_is_done(own, wrong, status, code, field):
    taken = own.broker(creci="taken")
    if wrong.get("id") == "$taken":
        wrong = {**wrong, "id": taken["id"]}
    response = send(own, create(name="A"), update(taken, name="Changed"), wrong, create(nothing=1), atomic=True)
    problem = refused(response, status, code)
    if field:
        assert list(wrong_fields(response)) == [field]
    elif status == 400:
        assert wrong_fields(response) == {"operations[2].data.name": "validation.broker.name_required",
                                          "operations[2].data.email": "validation.broker.email_invalid"}
    else:
        assert problem["detail"].startswith("operations[2]: ")
    assert own.walk() == [taken]


def test_the_first_failure_is_the_first_in_order_whatever_is_found_first(own):
    own.broker(creci="1")
    refused(send(own, create(name="A", creci="1"), create(creci="x"), atomic=True), 409, "conflict.duplicate")
    response = send(own, create(creci="x"), create(name="A", creci="1"), atomic=True)
    refused(response, 400, "validation.broker.name_required")
    estate = Estate(own)
    body = estate.body("parties", document_number=cpf())
    response = send(own, create(**body), create(**body), create(**estate.body("parties", broker_id="brk_" + NOBODY)),
                    collection="parties", atomic=True)
    assert refused(response, 409, "conflict.duplicate")["detail"].startswith("operations[1]: ")
    response = send(own, create(**body), create(**estate.body("parties", broker_id="brk_" + NOBODY)), create(**body),
                    collection="parties", atomic=True)
    assert list(wrong_fields(response)) == ["operations[1].data.broker_id"]
    assert count(own, "parties") == 0


# ---------------------------------------------------------------- events


@pytest.fixture
def told(own, instance):
    """told(): event and payload of every delivery of the organization so far, in their order."""
    subscription = ok(own.post("webhooks", json={"url": NOWHERE, "events": ["*"]}), 201)["id"]
    yield lambda: [(event, json.loads(payload)) for event, payload in instance.sql(
        "select event_type, payload from neoapi.webhook_delivery where subscription_id = %s order by id", subscription)]
    ok(own.with_().delete("webhooks/" + subscription), 204)


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_every_change_has_its_own_event_in_the_order_of_the_operations(own, told, collection):
    estate, kind = Estate(own), KINDS[collection]
    made = [result["resource"] for result in results(send(
        own, *[create(**estate.body(collection, **{MINE[collection]: cpf()})) for _ in range(100)], collection=collection),
        *[201] * 100)]
    results(send(own, *[update(one, **{MINE[collection]: cpf()}) for one in made[:3]], delete(made[0]), delete("x"),
                 collection=collection), 200, 200, 200, 204, 404)
    events = told()
    assert [event for event, _ in events] == [kind + ".created"] * 100 + [kind + ".updated"] * 3 + [kind + ".deleted"]
    assert [payload["id"] for _, payload in events] == [one["id"] for one in [*made, *made[:3], made[0]]]
    assert all(payload[MINE[collection]] == one[MINE[collection]] for (_, payload), one in zip(events, made))


def test_what_was_not_done_has_no_event(own, told):
    own.broker(creci="1")
    before = len(told())
    results(send(own, create(name="A", creci="1"), create(), delete("x")), 409, 400, 404)
    refused(send(own, create(name="A"), create(name="B", creci="1"), atomic=True), 409, "conflict.duplicate")
    assert len(told()) == before


# ---------------------------------------------------------------- the same again


def test_a_repeated_batch_is_answered_alike_and_does_nothing(own, instance, told):
    key, broker = str(uuid.uuid4()), own.broker()
    batch = [create(name="A", creci="1"), create(), update(broker, name="B"), create(name="C", creci="1")]
    first, again = send(own, *batch, key=key), send(own, *batch, key=key)
    results(first, 201, 400, 200, 409)
    assert (again.status_code, again.content) == (200, first.content)
    assert "Idempotent-Replayed" not in first.headers and again.headers["Idempotent-Replayed"] == "true"
    assert count(own) == 2 and len(told()) == 3
    refused(send(own, *batch[:2], key=key), 409, "conflict.idempotency_key_reused")
    refused(own.post("brokers", json={"name": "A"}, headers={"Idempotency-Key": key}), 409, "conflict.idempotency_key_reused")
    rows = instance.sql("select status, answer, expires_at > now() + interval '23 hours' from neoapi.idempotency_key"
                        " where key = %s::uuid", key)
    assert rows == [(200, first.text, True)]


def test_the_key_of_a_single_create_is_no_batchs(own):
    key = str(uuid.uuid4())
    ok(own.post("brokers", json={"name": "A"}, headers={"Idempotency-Key": key}), 201)
    refused(send(own, create(name="A"), key=key), 409, "conflict.idempotency_key_reused")


def test_a_batch_that_was_refused_leaves_its_key_free(own, instance):
    key, broker = str(uuid.uuid4()), own.broker(creci="1")
    refused(send(own, create(name="A", creci="1"), key=key, atomic=True), 409, "conflict.duplicate")
    refused(send(own, key=key), 400, "validation.broker.operations_invalid")
    assert instance.sql("select count(*) from neoapi.idempotency_key where key = %s::uuid", key) == [(0,)]
    ok(own.delete("brokers/" + broker["id"]), 204)
    response = send(own, create(name="A", creci="1"), key=key, atomic=True)
    results(response, 201)
    assert "Idempotent-Replayed" not in response.headers


def test_a_key_whose_time_is_over_is_free(own, instance):
    key = str(uuid.uuid4())
    results(send(own, create(name="A"), key=key), 201)
    instance.sql("update neoapi.idempotency_key set expires_at = now() where key = %s::uuid", key)
    again = send(own, create(name="A"), key=key)
    results(again, 201)
    assert "Idempotent-Replayed" not in again.headers and count(own) == 2


@pytest.mark.parametrize("atomic", [False, True])
def test_a_hundred_copies_at_once_are_done_once(own, told, atomic):
    key, batch = str(uuid.uuid4()), [create(name="A", creci=f"{n}") for n in range(20)]
    answers = together(*[lambda: send(own.with_(), *batch, key=key, atomic=atomic)] * 100)
    results(answers[0], *[201] * 20) if "Idempotent-Replayed" not in answers[0].headers else ok(answers[0])
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert count(own) == 20 and len(told()) == 20


# ---------------------------------------------------------------- at the same time


def test_batches_that_lock_the_same_in_different_orders_are_all_done(own):
    brokers = many(own.broker, 12)
    def rename(name):
        ids = brokers if name % 2 else brokers[::-1]
        # alternating, so that each operation is a statement of its own
        operations = itertools.chain.from_iterable((update(one, name=f"N{name}"), create(name="x")) for one in ids)
        return send(own.with_(), *operations)
    for response in together(*[lambda n=n: rename(n) for n in range(6)]):
        results(response, *[200, 201] * 12)
    names = {broker["name"] for broker in own.walk(limit=100)} - {"x"}
    assert len(names) == 1


def test_batches_that_make_the_same_in_different_orders_make_each_once(own):
    numbers = [f"{n}" for n in range(50)]
    def make(n):
        return send(own.with_(), *[create(name="A", creci=number) for number in (numbers if n % 2 else numbers[::-1])])
    done = [ok(response) for response in together(*[lambda n=n: make(n) for n in range(8)])]
    assert sum(answer["succeeded"] for answer in done) == 50
    assert all(result["status"] in (201, 409) for answer in done for result in answer["results"])
    assert sorted(broker["creci"] for broker in own.walk(limit=100)) == sorted(numbers)


def test_single_requests_and_batches_change_the_same_without_losing_anything(own):
    broker = own.broker()
    fields = ["creci", "email", "phone", "document_number"]
    def change(n):
        value = {fields[n % 4]: f"v{n}@example.com" if n % 4 == 1 else f"{n}"}
        if n % 2:
            return ok(own.with_().patch("brokers/" + broker["id"], json=value))
        return results(send(own.with_(), update(broker, **value)), 200)
    together(*[lambda n=n: change(n) for n in range(24)])
    assert set(fields) <= set(ok(own.get("brokers/" + broker["id"])))


def test_references_and_deletions_at_the_same_time_leave_nothing_dangling(own, instance):
    estate = Estate(own)
    for _ in range(10):
        broker = estate.broker()
        made, gone = together(
            lambda: send(own.with_(), *[create(**estate.body("parties", broker_id=broker["id"])) for _ in range(5)],
                         collection="parties"),
            lambda: send(own.with_(), delete(broker)))
        statuses = {result["status"] for result in ok(made)["results"]}
        assert (statuses, ok(gone)["results"][0]["status"]) in [({201}, 409), ({400}, 204)]
    left = instance.sql("select count(*) from neoapi.party p where organization_id = %s and broker_id is not null and not exists"
                        " (select from neoapi.broker b where b.organization_id = p.organization_id and b.id = p.broker_id)",
                        own.credential.organizations[0])
    assert left == [(0,)]
    assert instance.sql("select count(*) from pg_stat_activity where state like 'idle in transaction%%' and usename = %s",
                        "neoapi") == [(0,)]


# ---------------------------------------------------------------- when the database is in trouble


@pytest.fixture
def other(instance):
    """Somebody else's transaction."""
    connection = psycopg2.connect(instance.admin_dsn, options="-c deadlock_timeout=60s")  # others find out first
    yield connection.cursor()
    connection.rollback()
    connection.close()


def hold(other, *brokers):
    for broker in brokers:
        other.execute("select from neoapi.broker where id = %s for update", [broker["id"]])


def waiting_pid(instance):
    """The server process of the batch that waits for a lock."""
    return eventually(lambda: instance.sql("select pid from pg_stat_activity where usename = 'neoapi' and query like"
                                           " '%%no key update%%' and wait_event_type = 'Lock'"), "a batch that waits")[0][0]


def no_transaction_is_left(instance):
    return eventually(lambda: instance.sql("select count(*) from pg_stat_activity where usename = 'neoapi'"
                                           " and state like 'idle in transaction%%'") == [(0,)], "connections that are free")


def test_a_batch_whose_connection_is_lost_midway_is_done_again_and_once(own, instance, other, told):
    broker, key = own.broker(), str(uuid.uuid4())
    hold(other, broker)
    def end():
        instance.sql("select pg_terminate_backend(%s)", waiting_pid(instance))
        waiting_pid(instance)  # the same batch again
        other.connection.rollback()
    response, _ = together(lambda: send(own.with_(), create(name="A"), update(broker, name="B"), key=key), end)
    results(response, 201, 200)
    assert count(own) == 2 and [event for event, _ in told()] == ["broker.created"] * 2 + ["broker.updated"]
    assert no_transaction_is_left(instance)


def test_a_batch_that_takes_too_long_does_nothing_and_leaves_no_transaction_behind(own, instance, other):
    broker, key = own.broker(), str(uuid.uuid4())
    hold(other, broker)
    batch = [create(name="A"), update(broker, name="B")]
    response, _ = together(lambda: send(own.with_(), *batch, key=key),
                           lambda: instance.sql("select pg_cancel_backend(%s)", waiting_pid(instance)))
    problem = refused(response, 503, "internal.unavailable")
    assert "nothing was done" in problem["detail"]
    assert no_transaction_is_left(instance)
    other.connection.rollback()
    assert own.walk() == [broker]
    results(send(own, *batch, key=key), 201, 200)


def test_a_batch_that_would_wait_for_ever_begins_again(own, instance, other):
    a, b = own.broker(), own.broker()
    hold(other, b)
    def cross():
        waiting_pid(instance)  # it has locked a, which comes before b
        hold(other, a)
        other.connection.rollback()
    response, _ = together(lambda: send(own.with_(), update(b, name="B"), update(a, name="A")), cross)
    results(response, 200, 200)
    assert no_transaction_is_left(instance)


# ---------------------------------------------------------------- who may, and of whom


def test_the_scope_is_the_resources_write_scope(instance, realm, make):
    viewer = Api(instance, realm.viewer)
    refused(send(viewer, create(name="A")), 403, "forbidden.insufficient_permissions")
    refused(send(viewer, collection="parties"), 403, "forbidden.insufficient_permissions")
    results(send(Api(instance, realm.editor), create(name="A")), 201)


def test_another_organizations_resources_are_not_there(own, instance, realm):
    other = Api(instance, realm.other)
    theirs, estate = other.broker(creci="theirs"), Estate(own)
    done = results(send(own, update(theirs, name="X"), delete(theirs), create(name="A", creci="theirs")), 404, 404, 201)
    assert all(result["error"]["code"] == "not_found.broker" for result in done[:2])
    refused(send(own, delete(theirs), atomic=True), 404, "not_found.broker")
    done = results(send(own, create(**estate.body("parties", broker_id=theirs["id"])), collection="parties"), 400)
    assert fields(done[0]) == {"broker_id": "validation.party.broker_id_not_found"}
    assert ok(other.get("brokers/" + theirs["id"])) == theirs


# ---------------------------------------------------------------- what is taken


def test_a_batch_has_from_one_to_a_hundred_operations(own):
    refused(send(own), 400, "validation.broker.operations_invalid")
    results(send(own, create(name="A")), 201)
    results(send(own, *[create(name="A")] * 100), *[201] * 100)
    problem = refused(send(own, *[create(name="A")] * 101), 400, "validation.batch_too_large")
    assert problem["errors"] == [{"field": "operations", "message": "must have at most 100 elements, not 101",
                                  "code": "validation.batch_too_large"}]
    assert count(own) == 101


@pytest.mark.parametrize("body, fields", [
    ({}, {"operations": "operations_required"}),
    ({"operations": None}, {"operations": "operations_required"}),
    ({"operations": {}, "atomic": "yes"}, {"operations": "operations_invalid", "atomic": "atomic_invalid"}),
    ({"operations": [{}, 7, {"method": "upsert"}]}, {"operations[0].method": "operations_method_required",
                                                    "operations[1]": "operations_invalid",
                                                    "operations[2].method": "operations_method_invalid"}),
    ({"operations": [{"method": "update"}, {"method": "delete", "data": {}}, {"method": "create", "id": "x", "data": 7}]},
     {"operations[0].id": "operations_id_required", "operations[0].data": "operations_data_required",
      "operations[1].id": "operations_id_required", "operations[1].data": "operations_data_invalid",
      "operations[2].id": "operations_id_invalid", "operations[2].data": "operations_data_invalid"}),
])
def test_a_body_of_the_wrong_form_is_refused_whole_with_every_place(own, body, fields):
    found = wrong_fields(own.post("brokers/batch", json=body))
    assert found == {path: "validation.broker." + code for path, code in fields.items()}


def test_unknown_members_are_refused(own):
    found = wrong_fields(own.post("brokers/batch", json={"operations": [{**create(name="A"), "if_match": "x"}], "mode": 1}))
    assert found == {"mode": "validation.unknown_field", "operations[0].if_match": "validation.unknown_field"}
    assert count(own) == 0


@pytest.mark.parametrize("body", ["[]", "null", "7", '"x"', "{", "[{}]"])
def test_what_is_no_object_is_refused(own, body):
    response = own.request("POST", "brokers/batch", data=body, headers={"Content-Type": "application/json"})
    refused(response, 400, "validation.malformed_json")


def test_a_body_that_is_too_large_or_missing_or_no_json_is_refused(own, short):
    refused(own.request("POST", "brokers/batch", data=""), 400, "validation.body_required")
    refused(own.request("POST", "brokers/batch", data="a=b"), 415, "validation.unsupported_media_type")
    refused(send(short, *[create(name="A" * 100)] * 50), 413, "validation.body_too_large")
    results(send(short, *[create(name="A" * 100)] * 10), *[201] * 10)


def test_a_hundred_of_the_fullest_fit_in_a_body(own):
    estate = Estate(own)
    body = estate.full("properties")
    done = send(own, *[create(**{**body, "code": unique(), "external_id": unique(), "description": "A" * 3000})
                       for _ in range(100)], collection="properties")
    results(done, *[201] * 100)


def test_only_some_resources_have_batches(own):
    for collection in ("proposals", "contracts", "documents", "webhooks"):
        refused(send(own, create(), collection=collection), 405, "validation.method_not_allowed")
    for collection in COLLECTIONS:
        response = own.get(collection + "/batch")
        refused(response, 405, "validation.method_not_allowed")
        assert response.headers["Allow"] == own.options(collection + "/batch").headers["Allow"] == "OPTIONS, POST"
    refused(own.post("brokers/batch?x=1", json={"operations": [create(name="A")]}), 400, "validation.unknown_parameter")


# ---------------------------------------------------------------- the rate limit


def remaining(response):
    return int(response.headers["X-RateLimit-Remaining"])


def test_a_batch_counts_as_one_request_for_each_operation(instance, make):
    api = Api(instance, make.key(make.organization(make.tenant(make.plan(30, WINDOW)))))
    assert remaining(send(api, *[create(name="A")] * 10)) == 20
    assert remaining(send(api, create(name="A"))) == 19
    assert remaining(send(api, create(), create(x=1))) == 17
    assert remaining(send(api)) == 16
    problem = refused(send(api, *[create(name="A")] * 17), 429, "rate_limit.exceeded")
    assert "counts as 17" in problem["detail"] and "16 of its 30" in problem["detail"]
    assert count(api) == 11  # which was a request, as the refused batch was
    last = send(api, *[create(name="A")] * 14)
    results(last, *[201] * 14)
    assert remaining(last) == 0
    refused(send(api, create(name="A")), 429, "rate_limit.exceeded")


def test_batches_at_once_never_get_more_than_the_plan_has(instance, make):
    api = Api(instance, make.key(make.organization(make.tenant(make.plan(100, WINDOW)))))
    answers = together(*[lambda: send(api.with_(), *[create(name="A")] * 7)] * 40)
    passed = sum(answer.status_code == 200 for answer in answers)
    refusals = sum(answer.status_code == 429 for answer in answers)
    assert passed + refusals == 40 and 1 <= passed <= 14
    made = instance.sql("select count(*) from neoapi.broker where organization_id = %s", api.credential.organizations[0])
    assert made == [(7 * passed,)]


# ---------------------------------------------------------------- what it costs


@pytest.fixture
def trips(instance):
    """trips(work): what has been sent to the database from the beginning of the first transaction in `work` to its end."""
    def set_logging(how):
        instance.sql("alter system " + how)
        instance.sql("select pg_reload_conf()")
    log = instance.state / "log/postgresql.log"
    set_logging("set log_statement = 'all'")
    sent = re.compile(r"\[(\d+)\].* (?:statement|execute neoapi_\d+): (.*)")

    def during(work):
        before = log.stat().st_size
        eventually(lambda: (work(), "begin isolation" in log.read_bytes()[before:].decode(errors="replace"))[1], "a logged batch")
        found = sent.findall(log.read_bytes()[before:].decode(errors="replace"))
        first = next(n for n, (_, text) in enumerate(found) if text.startswith("begin isolation"))
        mine = [text for pid, text in found[first:] if pid == found[first][0]]
        return mine[:mine.index("commit") + 1]
    yield during
    set_logging("reset log_statement")


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_batch_costs_few_round_trips(own, trips, collection):
    estate = Estate(own)
    broker = estate.broker()["id"]
    more = {} if collection == "brokers" else {"broker_id": broker}
    made = []

    def create_all():
        made[:] = results(send(own, *[create(**estate.body(collection, **more)) for _ in range(100)], collection=collection,
                               key=str(uuid.uuid4())), *[201] * 100)
    name = "title" if collection == "properties" else "name"
    costs = {
        "creates with a key": (create_all, 6),
        "updates": (lambda: results(send(own, *[update(one["resource"], **{name: "B"}) for one in made],
                                         collection=collection), *[200] * 100), 5),
        "of them 50 duplicates": (lambda: results(send(own, *[create(**estate.body(
            collection, **{MINE[collection]: "SP 7" if collection != "parties" else "52998224725"})) for _ in range(51)],
            collection=collection), *([201] + [409] * 50)), 160),
        "deletes": (lambda: results(send(own, *[delete(one["resource"]) for one in made], collection=collection),
                                    *[204] * 100), 5),
    }
    for what, (work, most) in costs.items():
        sent = trips(work)
        print(f"{collection}: 100 {what}: {len(sent)} round trips")
        assert len(sent) <= most, sent


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_batch_makes_at_least_eight_times_as_many_rows_a_second(own, collection):
    estate = Estate(own)
    bodies = [estate.body(collection) for _ in range(100)]

    def rate(work):
        began = time.monotonic()
        work()
        return len(bodies) / (time.monotonic() - began)

    def fresh():
        return [{**body, MINE[collection]: cpf()} for body in bodies]

    def singly(bodies):
        for body in bodies:
            ok(own.post(collection, json=body), 201)
    own.get("me")
    single = max(rate(lambda made=fresh(): singly(made)) for _ in range(3))
    batched = max(rate(lambda made=fresh(): results(send(own, *map(lambda body: create(**body), made), collection=collection),
                                                    *[201] * 100)) for _ in range(5))
    print(f"{collection}: {single:.0f} rows a second by single creates, {batched:.0f} by batches: {batched / single:.1f} times")
    assert batched >= 8 * single
