# SPDX-License-Identifier: Apache-2.0
"""The cost of batches: round trips, and rows per second compared with single creates."""

import re
import time
import uuid

import pytest
from batching import COLLECTIONS, UNIQUE_FIELDS, create, delete, results, send, update
from client import ok
from factories import ResourceFactory, cpf
from wait import eventually

CREDENTIAL = "select encode(s.secret_hash"  # src/api/credential.sql


@pytest.fixture
def round_trips(instance):
    """round_trips(work): the messages sent to the database from the beginning to the end of the first transaction in `work`.
    The credential is not counted: it is read again when another process has changed one since."""
    def set_logging(how):
        instance.sql("alter system " + how)
        instance.sql("select pg_reload_conf()")
    log = instance.state / "log/postgresql.log"
    set_logging("set log_statement = 'all'")
    sent = re.compile(r"\[(\d+)\].* (?:statement|execute neoapi_[0-9a-f]+): (.*)")

    def during(work):
        before = log.stat().st_size
        eventually(lambda: (work(), "begin isolation" in log.read_bytes()[before:].decode(errors="replace"))[1],
                   "a logged batch")
        found = sent.findall(log.read_bytes()[before:].decode(errors="replace"))
        first = next(n for n, (_, text) in enumerate(found) if text.startswith("begin isolation"))
        mine = [text for pid, text in found[first:] if pid == found[first][0] and not text.startswith(CREDENTIAL)]
        return mine[:mine.index("commit") + 1]
    yield during
    set_logging("reset log_statement")


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_batch_costs_few_round_trips(own_api, round_trips, collection):
    factory = ResourceFactory(own_api)
    broker = factory.broker()["id"]
    more = {} if collection == "brokers" else {"broker_id": broker}
    made = []

    def create_all():
        made[:] = results(send(own_api, *[create(**factory.body(collection, **more)) for _ in range(100)], collection=collection,
                               key=str(uuid.uuid4())), *[201] * 100)
    name = "title" if collection == "properties" else "name"
    costs = {
        "creates with a key": (create_all, 6),
        "updates": (lambda: results(send(own_api, *[update(one["resource"], **{name: "B"}) for one in made],
                                         collection=collection), *[200] * 100), 5),
        "of them 50 duplicates": (lambda: results(send(own_api, *[create(**factory.body(
            collection, **{UNIQUE_FIELDS[collection]: "SP 7" if collection != "parties" else "52998224725"})) for _ in range(51)],
            collection=collection), *([201] + [409] * 50)), 160),
        "deletes": (lambda: results(send(own_api, *[delete(one["resource"]) for one in made], collection=collection),
                                    *[204] * 100), 5),
    }
    for what, (work, most) in costs.items():
        sent = round_trips(work)
        print(f"{collection}: 100 {what}: {len(sent)} round trips")
        assert len(sent) <= most, sent


@pytest.mark.alone
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_batch_creates_at_least_eight_times_as_many_rows_per_second(own_api, collection):
    factory = ResourceFactory(own_api)
    bodies = [factory.body(collection) for _ in range(100)]

    def rate(work):
        began = time.monotonic()
        work()
        return len(bodies) / (time.monotonic() - began)

    def fresh():
        return [{**body, UNIQUE_FIELDS[collection]: cpf()} for body in bodies]

    def singly(bodies):
        for body in bodies:
            ok(own_api.post(collection, json=body), 201)

    def together(bodies):
        results(send(own_api, *[create(**body) for body in bodies], collection=collection), *[201] * 100)

    own_api.get("me")
    best = {singly: 0, together: 0}  # alternating, so that other load affects both
    for work in [singly, together] * 15:
        best[work] = max(best[work], rate(lambda made=fresh(), work=work: work(made)))
    single, batched = best[singly], best[together]
    print(f"{collection}: {single:.0f} rows a second by single creates, {batched:.0f} by batches: {batched / single:.1f} times")
    assert batched >= 8 * single
