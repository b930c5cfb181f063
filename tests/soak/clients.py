# SPDX-License-Identifier: Apache-2.0
"""Well-behaved and hostile clients, and hostile webhook receivers. Each function runs in a separate process, so that they do
not wait for each other's interpreter lock."""

import contextlib
import itertools
import json
import os
import random
import socket
import struct
import threading
import time
import uuid
from dataclasses import dataclass, field
from types import SimpleNamespace

from client import Api, ok
from contest import contenders_of
from raw_http import CONNECTION_LOST, Broken, Closed, RawConnection, message
from receiver import ENDLESS, Receiver, close_within_response, drip, hang, huge, slowly, status
from webhook_fixtures import subscribe

REQUEST_TIMEOUT_S = 15
PAUSE_S = (0, 0.1)  # between a response and the client's next request
TRIES = 60
KINDS = {"read": 10, "list": 5, "create": 2, "change": 2}  # and their weights
REPEATED = (409, 429, 503)
SLOW_CLIENTS = 240
LOW_PRIORITY = 10  # of hostile processes: elsewhere their processor time would not be the server's
EVENT_INTERVAL_S = 0.5  # of the hostile organization
JSON = ("Content-Type", "application/json")


@dataclass
class Record:
    """What a client has sent. `created` and `renamed` are as a torture.Writer's."""

    created: dict = field(default_factory=dict)
    renamed: dict = field(default_factory=dict)
    unexpected: list = field(default_factory=list)
    times: list = field(default_factory=list)  # of each request: when it began, its duration, how often it was repeated
    retries: int = 0


def make_host(url, ca):
    return SimpleNamespace(url=url, ca=ca, generation=0, restarted_at=0)


def make_api(url, ca, secret):
    return Api(make_host(url, ca), SimpleNamespace(secret=secret))


class Client:
    """Sends requests one after the other over a kept connection, and repeats each until it is answered. A write can be repeated: a
    create has an Idempotency-Key, a change sets a name."""

    def __init__(self, api, number, end):
        self.api, self.number, self.end, self.connection = api, number, end, None
        self.chance, self.record, self.ids = random.Random(number), Record(), []

    def disconnect(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def exchange(self, data):
        """The response, or None if the connection ended first."""
        try:
            self.connection = self.connection or RawConnection(self.api)
            self.connection.socket.settimeout(REQUEST_TIMEOUT_S)
            answer = self.connection.send(data).answer()
            if "close" in answer.headers.get("Connection", ""):
                self.disconnect()
            return answer
        except (Closed, Broken, ConnectionRefusedError, TimeoutError, *CONNECTION_LOST):
            self.disconnect()
            return None

    def send(self, method, path, body=None, *headers):
        """The JSON of a 2xx, or None after another response. The time of a request includes its repetitions."""
        data = message(self.api, method, path, [JSON, *headers] if body else headers, json.dumps(body).encode() if body else b"")
        began = time.monotonic()
        for tries in range(TRIES):
            answer = self.exchange(data)
            if answer and answer.status_code not in REPEATED:
                break
            if answer:
                time.sleep(float(answer.headers.get("Retry-After", 0.05)))
        self.record.times.append((began, time.monotonic() - began, tries))
        self.record.retries += tries
        if answer and answer.status_code in (200, 201):
            return answer.json()
        self.record.unexpected.append(f"{method} {path}: {answer and (answer.status_code, answer.content[:200])}")
        return None

    def create(self, count):
        name = f"Broker {self.number} {count}"
        made = self.send("POST", "brokers", {"name": name}, ("Idempotency-Key", str(uuid.uuid4())))
        if made:
            self.record.created[name] = made["id"]
            self.ids.append(made["id"])

    def change(self, count):
        id, name = self.chance.choice(self.ids), f"Broker {self.number} {count} renamed"
        if self.send("PATCH", "brokers/" + id, {"name": name}):
            self.record.renamed[id] = name

    def read(self, _):
        id = self.chance.choice(self.ids)
        found = self.send("GET", "brokers/" + id)
        if found and found["name"] != self.record.renamed.get(id, found["name"]):
            self.record.unexpected.append(f"{id} has an old name: {found['name']}")

    def list(self, _):
        self.send("GET", "brokers?limit=20")

    def run(self):
        for count in itertools.count():
            kind, = self.chance.choices(list(KINDS), KINDS.values()) if self.ids else ["create"]
            getattr(self, kind)(count)
            if self.end.wait(self.chance.uniform(*PAUSE_S)):
                break
        self.disconnect()
        return self.record


def run_client(results, end, url, ca, secret, number):
    results.send(Client(make_api(url, ca, secret), number, end).run())


# ---------------------------------------------------------------- hostile

def slow_handshake(api):
    """A connection after the beginning of a ClientHello."""
    plain = socket.create_connection(("127.0.0.1", int(api.url.split(":")[2].split("/")[0])))
    plain.sendall(bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]))
    return plain


def slow_headers(api):
    connection = api.connect()
    connection.sendall(message(api, "GET", "me")[:-2] + b"X-Slow: ")
    return connection


def slow_body(api):
    connection = api.connect()
    connection.sendall(message(api, "POST", "brokers", [JSON, ("Content-Length", 1000)], b"{"))
    return connection


def slow_client(api, connect, end):
    """Sends a byte per second until the server closes the connection, then connects again."""
    while not end.wait(1):
        with contextlib.suppress(OSError), contextlib.closing(connect(api)) as connection:
            while not end.wait(1):
                connection.send(b" ")


def run_slow_clients(results, end, urls, ca, secret):
    os.nice(LOW_PRIORITY)
    kinds = itertools.cycle(itertools.product([slow_handshake, slow_headers, slow_body], [make_api(url, ca, secret) for url in urls]))
    threads = [threading.Thread(target=slow_client, args=(api, connect, end)) for connect, api in itertools.islice(kinds, SLOW_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * REQUEST_TIMEOUT_S)
    results.send(Record())


def reset(handler, _):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


HOSTILE = [behave for behave, _ in ENDLESS.values()] + [hang, drip, slowly(3), reset, status(500), huge, close_within_response]


def run_hostile_receivers(results, end, url, ca, secret):
    """An organization whose events go to all these receivers."""
    os.nice(LOW_PRIORITY)
    api = make_api(url, ca, secret)
    client = Client(api, "hostile", end)
    with contextlib.ExitStack() as stack:
        receivers = [stack.enter_context(Receiver(behave)) for behave in HOSTILE]
        subscriptions = [subscribe(api, one.url) for one in receivers]
        for count in itertools.count():
            client.create(count)
            for one in receivers:
                one.server.arrivals.clear()
            if end.wait(EVENT_INTERVAL_S):
                break
        for one in subscriptions:
            ok(api.delete("webhooks/" + one["id"]), 204)
    results.send(client.record)


def run_contenders(results, end, urls, ca, keys):
    """Creates with duplicates of each other in several organizations. The result is a list of records for each of the keys."""
    os.nice(LOW_PRIORITY)
    all = [contenders_of([make_host(url, ca) for url in urls], key, end) for key in keys]
    for contender in itertools.chain(*all):
        contender.start()
    for contender in itertools.chain(*all):
        contender.join(2 * REQUEST_TIMEOUT_S)
    results.send([[SimpleNamespace(ids=one.ids, unexpected=one.unexpected, retries=one.retries) for one in some] for some in all])
