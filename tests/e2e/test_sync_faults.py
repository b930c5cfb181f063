# SPDX-License-Identifier: Apache-2.0
"""Followers' copies are complete after kills of the database and of processes of both hosts during writes and deletions.

NEOAPI_SYNC_EVENTS is the minimum number of events; by default the writers run for SECONDS.
"""

import contextlib
import os
import random
import sys
import threading
import time

import pytest
import requests
from admin_factory import AdminFactory
from batching import create, delete, update
from client import Api
from deployment import ROOT
from log_follower import LogFollower
from sync_client import SyncClient
from wait import eventually

sys.path.insert(0, str(ROOT / "tests/torture"))

from nemesis import Nemesis  # noqa: E402
from torture import two_hosts  # noqa: E402

pytestmark = pytest.mark.slow

EVENTS, SEED = int(os.environ.get("NEOAPI_SYNC_EVENTS", 100)), int(os.environ.get("NEOAPI_TORTURE_SEED", 17))
SECONDS, WRITERS, REQUEST_TIMEOUT_S, MAX_BATCH = 25, 3, 15, 100
CATCH_UP_S = 120 + EVENTS / 500
KINDS = {"kill a child": 6, "kill the database": 2, "freeze a child": 2, "clock step": 2, "graceful restart": 2}
COLLECTIONS = {"brokers": {}, "parties": {"kind": "person", "roles": ["buyer"]}}


class Writer(threading.Thread):
    """Creates, changes and deletes brokers and parties on one host, singly and in batches, ignoring failures."""

    def __init__(self, api, seed, end):
        super().__init__(daemon=True)
        self.url, self.random, self.end, self.count = api.url, random.Random(seed), end, 0
        self.session = requests.Session()
        self.session.trust_env, self.session.verify = False, str(api.instance.ca)
        self.session.headers["X-API-Key"] = api.credential.secret
        self.made = {collection: [] for collection in COLLECTIONS}

    def send(self, method, path, body=None):
        """The body of a successful response, else None."""
        with contextlib.suppress(requests.RequestException):
            answer = self.session.request(method, self.url + path, json=body, timeout=REQUEST_TIMEOUT_S, headers={"Connection": "close"})
            if answer.status_code < 400:
                return answer.json() if answer.content else {}
        return None

    def operation(self, collection):
        """A random operation of a batch."""
        made, what, name = self.made[collection], self.random.random(), f"N {self.random.random()}"
        if what < 0.4 or not made:
            return create(name=name, **COLLECTIONS[collection])
        if what < 0.75:
            return update(self.random.choice(made), name=name, phone=f"+55119{self.random.randrange(10**8):08}")
        return delete(made.pop(self.random.randrange(len(made))))

    def write_one(self, collection):
        one = self.operation(collection)
        path = collection + (f"/{one['id']}" if "id" in one else "")
        method = {"create": "POST", "update": "PATCH", "delete": "DELETE"}[one["method"]]
        answer = self.send(method, path, one.get("data"))
        self.count += answer is not None
        self.made[collection] += [answer["id"]] if answer and one["method"] == "create" else []

    def write_batch(self, collection):
        """Sorted by method, because consecutive operations with the same method are one statement."""
        operations = sorted((self.operation(collection) for _ in range(self.random.randint(2, MAX_BATCH))), key=lambda one: one["method"])
        answer = self.send("POST", collection + "/batch", {"operations": operations}) or {"succeeded": 0, "results": []}
        self.count += answer["succeeded"]
        self.made[collection] += [one["resource"]["id"] for one in answer["results"] if one["status"] == 201]

    def run(self):
        while not self.end.wait(0.01):
            self.random.choice([self.write_one, self.write_batch])(self.random.choice(list(COLLECTIONS)))


def make_faults(nemesis, writers):
    """Injects faults for SECONDS, and until there are EVENTS events."""
    nemesis.kinds = {name: nemesis.kinds[name] for name in KINDS}
    nemesis.weights = list(KINDS.values())
    for writer in writers:
        writer.start()
    nemesis.run(SECONDS)
    while sum(writer.count for writer in writers) < EVENTS:
        nemesis.run(1)
    for writer in writers:
        writer.end.set()
    for writer in writers:
        writer.join(2 * REQUEST_TIMEOUT_S)


def check_logs(followers, client):
    """Every follower must have read every event once, in order and as stored. Returns the number of events."""
    end = client.last_event()
    eventually(lambda: all(one.position >= end or one.wrong for one in followers), "the log is read", CATCH_UP_S)
    for one in followers:
        one.stop()
    stored = dict(client.api.instance.sql("select id, md5(neoapi.event_record(e)) from neoapi.event e where organization_id = %s"
                                          " order by id", client.api.credential.organizations[0]))
    for one in followers:
        assert one.count_differences(stored) == {"missed": 0, "duplicate": 0, "out of order": 0, "different": 0}
    return len(stored)


def check_copies(clients):
    """All copies and the exports of both hosts must equal the tables. Returns the number of records."""
    for client in clients:
        client.await_sync(CATCH_UP_S)
    tables = clients[0].stored_texts()
    for client in clients:
        assert client.texts() == tables
        served = [line for collection in COLLECTIONS
                  for line in client.api.get(f"{client.url}{collection}/export").text.splitlines()]
        assert sorted(served) == sorted(tables.values())
    return len(tables)


def test_followers_copies_equal_the_tables_after_faults(tmp_path, report):
    end = threading.Event()
    with two_hosts() as (instance, second, clock, disk), contextlib.ExitStack() as stack:
        instance.sql("update neoapi.plan set requests = 1000000")
        first = Api(instance, AdminFactory(instance).key())
        other = Api(second, first.credential)
        other.instance = instance
        clients = [SyncClient(first, tmp_path / "first"), SyncClient(first, tmp_path / "second", url=second.url)]
        followers = [LogFollower(first, tmp_path / f"log{number}", client.url) for number, client in enumerate(clients)]
        for client in clients:
            client.file.parent.mkdir()
            stack.callback(client.stop)
            client.start()
        for follower in followers:
            stack.callback(follower.end.set)
            follower.start()
        writers = [Writer(api, seed, end) for api in (first, other) for seed in range(WRITERS)]
        nemesis = Nemesis(instance, second, clock, disk, random.Random(SEED))
        began = time.monotonic()
        make_faults(nemesis, writers)
        took = time.monotonic() - began
        events, records = check_logs(followers, clients[0]), check_copies(clients)
        report(f"{events} events in {took:.0f} s, {len(nemesis.faults)} faults; of both followers: missed 0, duplicate 0;"
               f" {records} records in each copy, identical")
        assert events > 100 and nemesis.faults
