# SPDX-License-Identifier: Apache-2.0
"""The event log has no gaps: readers follow it while two hosts write whose clocks differ by almost a second.

NEOAPI_PROMISE_SCALE multiplies the number of writes; 1 means 2,400.
"""

import json
import os
import random
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
import requests
from client import ok
from deployment import sanitizer_settings
from event_log import await_log_end, events
from httpd import Httpd
from preload import ShiftedClock
from wait import TIMEOUT_S, together

SHIFT = 0.9  # seconds between the hosts' clocks; larger differences are corrected
SCALE = float(os.environ.get("NEOAPI_PROMISE_SCALE", "0.1"))
WRITERS, WRITES, ROWS, READERS = 6, int(400 * SCALE), 8, 3
AFTER = {"ids": ("id > %s and id < neoapi.event_position()", "id"),
         "clocks": ("(created_at, id) > (%s, %s)", "created_at, id")}


@pytest.fixture(scope="module")
def host_ahead(instance):
    """A second host on the same database."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="neoapi-clock.") as name:
        place = Path(name)
        place.chmod(0o755)
        clock = ShiftedClock(place)
        clock.shift(SHIFT)
        preload = f"{sanitizer_settings().get('HTTPD_PRELOAD', '')} {clock.library}".strip()
        with Httpd(instance, place, preload=preload) as httpd:
            yield httpd


class Host:
    """Sends requests to one host. Does not use client.py, whose checks compare clocks."""

    def __init__(self, url, ca, secret):
        self.url, self.session = url, requests.Session()
        self.session.trust_env, self.session.verify, self.session.headers["X-API-Key"] = False, ca, secret

    def send(self, method, path, body=None, *expected):
        answer = self.session.request(method, self.url + path, json=body, timeout=TIMEOUT_S)
        assert answer.status_code in expected, answer.text
        return answer.json() if answer.content else None


class Writer:
    """Changes random rows on random hosts, with single writes and batches."""

    def __init__(self, hosts, rows, seed):
        self.hosts, self.rows, self.random = hosts, rows, random.Random(seed)

    def write(self):
        for number in range(WRITES):
            host, name = self.random.choice(self.hosts), f"{number} {self.random.random()}"
            one = self.random.choice(self.rows)
            kind = self.random.randrange(10)
            if kind < 4:
                host.send("PATCH", "brokers/" + one, {"name": name}, 200, 404)
            elif kind < 8:
                some = self.random.sample(self.rows, 4)
                host.send("POST", "brokers/batch", {"operations": [{"method": "update", "id": id, "data": {"name": name}}
                                                                   for id in some]}, 200)
            elif kind < 9:
                host.send("POST", "brokers", {"name": name}, 201)
            elif number > WRITES // 2:
                host.send("DELETE", "brokers/" + one, None, 204, 404)


def hold_rows(instance, organization, rows, is_over):
    """Locks random rows for random times to vary the duration of the writers' transactions. Some transactions insert events,
    and some of these are rolled back."""
    chance = random.Random(1)
    with closing(psycopg2.connect(instance.admin_dsn)) as connection:
        while not is_over.is_set():
            with connection.cursor() as cursor:
                if chance.random() < 0.5:
                    cursor.execute("insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)"
                                   " values (%s, 'test', '', now(), '', '{}')", (organization,))
                cursor.execute("select from neoapi.broker where organization_id = %s and id = any (%s) order by id for update",
                               (organization, chance.sample(rows, 2)))
                time.sleep(chance.random() / 10)
            connection.commit() if chance.random() < 0.7 else connection.rollback()


def follow(instance, organization, order, is_over):
    """Reads the whole log in small pages, in the order of ids or of timestamps. Returns the events."""
    condition, by = AFTER[order]
    log, last = [], ("",) if order == "ids" else ("-infinity", "")
    with closing(psycopg2.connect(instance.dsn)) as connection:
        connection.autocommit = True
        while True:
            was_over = is_over.is_set()
            with connection.cursor() as cursor:
                cursor.execute(f"select id, resource_id, type, payload, created_at from neoapi.event where organization_id = %s"
                               f" and {condition} order by {by} limit 7", (organization, *last))
                page = cursor.fetchall()
            log += page
            if page:
                last = page[-1][:1] if order == "ids" else (page[-1][4], page[-1][0])
            elif was_over:
                return log
            time.sleep(0 if page else 0.005)


def state_after(log):
    """The state of a client that keeps the payload with the greatest updated_at."""
    known = {}
    for _, resource, type, text, _ in log:
        if type != "test":
            payload = json.loads(text)
            if payload["updated_at"] > known.get(resource, (payload, {"updated_at": ""}))[1]["updated_at"]:
                known[resource] = (type, payload)
    return {resource: payload for resource, (type, payload) in known.items() if type != "broker.deleted"}


def count_inversions(log):
    """The number of events that follow a later change of the same row."""
    latest, count = {}, 0
    for _, resource, type, text, _ in log:
        if type != "test":
            at = json.loads(text)["updated_at"]
            count += at < latest.get(resource, "")
            latest[resource] = max(at, latest.get(resource, ""))
    return count


def test_every_reader_sees_every_event_once_in_the_same_order(instance, host_ahead, own_api):
    credential, organization = own_api.credential, own_api.credential.organizations[0]
    rows = [own_api.broker(name=str(number))["id"] for number in range(ROWS)]
    writes_end, log_end = threading.Event(), threading.Event()
    hosts = lambda: [Host(url, instance.ca, credential.secret) for url in (own_api.url, host_ahead.url)]  # noqa: E731

    def write():
        try:
            together(*[Writer(hosts(), rows, seed).write for seed in range(WRITERS)])
        finally:
            writes_end.set()

    def end_log():
        writes_end.wait(4 * TIMEOUT_S)
        await_log_end(instance)
        log_end.set()

    _, _, _, *logs, by_clocks = together(
        write, end_log, lambda: hold_rows(instance, organization, rows, writes_end),
        *[lambda: follow(instance, organization, "ids", log_end)] * READERS,
        lambda: follow(instance, organization, "clocks", log_end))
    everything = [event["id"] for event in events(instance, organization)]
    assert len(everything) > WRITERS * WRITES
    for log in logs:
        assert [event[0] for event in log] == everything
    stored = instance.sql("select id, representation::json from neoapi.broker where organization_id = %s", organization)
    followed = state_after(logs[0])
    assert {id: {name: row[name] for name in followed[id]} for id, row in stored} == followed
    assert count_inversions(logs[0]), "the order of changes never differed from that of the log"
    assert len(by_clocks) < len(everything), "reading by timestamps did not miss events"


def test_updated_at_increases_across_hosts_with_different_clocks(instance, host_ahead, own_api):
    ahead = Host(host_ahead.url, instance.ca, own_api.credential.secret)
    made = ahead.send("POST", "brokers", {"name": "A"}, 201)
    changed = ok(own_api.patch("brokers/" + made["id"], json={"name": "B"}))
    batched, = ok(own_api.post("brokers/batch", json={"operations": [{"method": "update", "id": made["id"],
                                                                      "data": {"name": "C"}}]}))["results"]
    read = own_api.get("brokers/" + made["id"])
    assert batched["resource"] == ok(read)
    ok(own_api.delete("brokers/" + made["id"]), 204)
    log = events(instance, own_api.credential.organizations[0])
    times = [event["payload"]["updated_at"] for event in log]
    assert times[:3] == [made["updated_at"], changed["updated_at"], read.json()["updated_at"]]
    assert len(times) == 4 and times == sorted(set(times))
