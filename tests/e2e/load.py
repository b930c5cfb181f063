# SPDX-License-Identifier: Apache-2.0
"""Clients that send requests continuously over persistent connections and record the results."""

import itertools
import json
import random
import threading
import time
import uuid
from dataclasses import dataclass

from client import check
from wait import TIMEOUT_S, eventually
from raw_http import CONNECTION_LOST, Broken, Closed, RawConnection, message

REQUEST_TIMEOUT_S = 20  # a statement's limit of 12 s, and the time to connect
JSON = ("Content-Type", "application/json")
runs = itertools.count(1)


@dataclass
class SentRequest:
    """A request and its result."""

    kind: str  # list, read, create, keyed (a create with an Idempotency-Key)
    name: str = None  # unique name of the broker to be created
    key: str = None
    began: float = 0
    seconds: float = 0
    status: int = None  # None: no response
    id: str = None  # of the created resource
    retried: bool = False  # sent again, because the connection was closed before the first byte of a response
    not_repeated: bool = False  # likewise, but not idempotent
    broken: str = None


class Load:
    """Runs clients in threads during a `with` block. Afterwards `sent` has all requests.

    When the server closes a persistent connection before the first byte of a response, a client repeats the request over a new one
    (RFC 9110, section 9.2.2), unless it is a create without a key, which is recorded as not repeated. Other failures of a
    connection are recorded as broken.
    """

    def __init__(self, api, clients=10):
        self.api, self.run = api, next(runs)
        self.stop, self.sent, self.errors = threading.Event(), [], []
        self.threads = [threading.Thread(target=self._client, args=(number,), daemon=True) for number in range(clients)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.wait_for(20 * len(self.threads))
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join(TIMEOUT_S)
            assert not thread.is_alive(), "a client has not ended"
        assert not self.errors, self.errors[0]

    def wait_for(self, count, status=None):
        """Waits for `count` more responses (with that status)."""
        before = self.count(status)
        eventually(lambda: self.errors or self.count(status) >= before + count, f"{count} more responses, {status or 'any'}")

    def count(self, status=None):
        return sum(1 for sent in list(self.sent) if status in (None, sent.status))

    # -------------------------------------------------------------- a client

    def _client(self, number):
        rng, connection, known = random.Random(number), None, [None]
        try:
            for n in itertools.count():
                if self.stop.is_set():
                    break
                connection = self._send(self._next(rng, f"load {self.run} {number} {n}", known), connection, known)
        except Exception as wrong:  # raised by __exit__
            self.errors.append(wrong)
        if connection:
            connection.close()

    @staticmethod
    def _next(rng, name, known):
        kind = rng.choices(["list", "read", "create", "keyed"], [2, 2, 3, 3])[0]
        if kind in ("create", "keyed"):
            return SentRequest(kind, name, str(uuid.uuid4()) if kind == "keyed" else None)
        return SentRequest(kind if known[0] else "list")

    def make_bytes(self, sent, known=(None,)):
        if sent.kind == "list":
            return message(self.api, "GET", "brokers?limit=3")
        if sent.kind == "read":
            return message(self.api, "GET", "brokers/" + known[0])
        headers = [JSON, ("Idempotency-Key", sent.key)] if sent.key else [JSON]
        return message(self.api, "POST", "brokers", headers, json.dumps({"name": sent.name}).encode())

    def _send(self, sent, connection, known):
        """Sends a request and records the result. Returns the connection for the next one, or None."""
        data, sent.began, answer = self.make_bytes(sent, known), time.monotonic(), None
        try:
            connection, answer = self._exchange(sent, data, connection)
        except (Closed, Broken, ConnectionRefusedError, TimeoutError, *CONNECTION_LOST) as wrong:
            sent.broken = f"{type(wrong).__name__}: {wrong}"
        sent.seconds = time.monotonic() - sent.began
        if answer:
            self._record(sent, answer, known)
        self.sent.append(sent)
        if connection and (not answer or "close" in answer.headers.get("Connection", "")):
            connection.close()
            connection = None
        if sent.status == 503:
            self.stop.wait(0.05)
        return connection

    def _exchange(self, sent, data, connection):
        if connection:
            try:
                return connection, connection.send(data).answer()
            except Closed:
                connection.close()
                if sent.kind == "create":
                    sent.not_repeated = True
                    return None, None
                sent.retried = True
        connection = RawConnection(self.api)
        try:
            return connection, connection.send(data).answer()
        except BaseException:
            connection.close()
            raise

    @staticmethod
    def _record(sent, answer, known):
        check(answer.status_code, answer.headers, answer.content)
        sent.status = answer.status_code
        if sent.name and sent.status == 201:
            sent.id = known[0] = answer.json()["id"]
            assert answer.json()["name"] == sent.name

    # -------------------------------------------------------------- afterwards

    def creates(self):
        return [sent for sent in self.sent if sent.name]

    def rows(self):
        """The ids in the table by name."""
        found = {}
        for name, id_ in self.api.instance.sql("select name, id from neoapi.broker where name like %s", f"load {self.run} %"):
            found.setdefault(name, []).append(id_)
        return found

    def check_no_row_is_lost_or_duplicated(self):
        """Each successful create has one row, every other at most one; a repeated create with a key has one."""
        rows = self.rows()
        for sent in self.creates():
            ids = rows.get(sent.name, [])
            assert ids == [sent.id] if sent.status == 201 else len(ids) <= 1, (sent, ids)
        unsure = [sent for sent in self.creates() if sent.key and sent.status != 201]
        for sent in unsure:
            with RawConnection(self.api) as connection:
                again = connection.send(self.make_bytes(sent)).answer()
            assert again.status_code == 201, again.content
            sent.id = again.json()["id"]
        rows = self.rows()
        for sent in unsure:
            assert rows[sent.name] == [sent.id], (sent, rows[sent.name])
        return len(unsure)

    def check_answers(self, *statuses):
        """Every request got one of these statuses within the timeout; requests that were not repeated were not executed."""
        not_repeated = [sent for sent in self.sent if sent.not_repeated]
        for sent in self.sent:
            assert (sent.status in statuses or sent.not_repeated) and not sent.broken, sent
            assert sent.seconds < REQUEST_TIMEOUT_S, sent
        rows = self.rows()
        assert not [sent for sent in not_repeated if sent.name in rows], not_repeated

    def check_all_succeeded_since(self, moment):
        late = [sent for sent in self.sent if sent.began >= moment]
        assert len(late) >= len(self.threads), "no request was sent afterwards"
        for sent in late:
            assert sent.status in (200, 201) or sent.not_repeated, sent
