# SPDX-License-Identifier: Apache-2.0
"""Clients of the cluster: writers, readers, a follower of the event log, a webhook receiver, and one whose key is revoked. They repeat what
fails and record what history.py checks."""
import contextlib
import hmac
import json
import math
import random
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from pathlib import Path

from history import Request

sys.path.append(str(Path(__file__).parents[1] / "e2e"))
from receiver import Receiver, ok, status  # noqa: E402

RETRY_S, POLL_S = 0.05, 1
TIMEOUT_S = 30  # a host waits 11 seconds for the database, and HAProxy repeats the request once


class Client(threading.Thread):
    """Repeats `step`, which sends a request. `gap` is the longest time between two successes."""

    pause_s = 0.02

    def __init__(self, env, url=None, key=None):
        super().__init__(daemon=True)
        self.url, self.key = url or env["NEOAPI_URL"], key or env["NEOAPI_KEY"]
        self.context = ssl.create_default_context(cafile=env["NEOAPI_CA"])
        self.failures, self.gap, self.last, self.is_stopping = Counter(), 0.0, time.monotonic(), False

    def send(self, path, body=None, method=None, **headers):
        """Returns the JSON of a 2xx, None if it is an export, and the headers."""
        headers |= {"X-API-Key": self.key, "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body else None, headers, method=method)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self.context) as response:
            text, is_json = response.read(), response.headers["Content-Type"] == "application/json"
            return json.loads(text) if is_json else None, response.headers

    def read_me(self):
        """What GET /me returns; None while the host is not ready."""
        with contextlib.suppress(urllib.error.HTTPError):
            return self.send("me")

    def attempt(self):
        """Returns whether the request succeeded."""
        try:
            self.step()
            return True
        except urllib.error.HTTPError as error:
            self.failures[f"{error.code}{'' if error.headers['Retry-After'] else ' without Retry-After'}"] += 1
        except (OSError, ValueError) as error:
            self.failures[type(getattr(error, "reason", error)).__name__] += 1
        return False

    def run(self):
        while not self.is_stopping:
            if not self.attempt():
                time.sleep(RETRY_S)
                continue
            now = time.monotonic()
            self.gap, self.last = max(self.gap, now - self.last), now
            time.sleep(self.pause_s)


class Creator(Client):
    """Creates brokers, each until it gets its id, and sends some keys again afterwards."""

    def __init__(self, env):
        super().__init__(env)
        self.name, self.idempotency_key, self.results = str(uuid.uuid4()), str(uuid.uuid4()), []

    def step(self):
        key = self.idempotency_key
        made, _ = self.send("brokers", {"name": self.name, "external_id": key}, **{"Idempotency-Key": key})
        self.results.append((key, made["id"]))
        if self.results.count((key, made["id"])) > 1 or random.random() < 0.7:
            self.idempotency_key = str(uuid.uuid4())


class Changer(Client):
    """Renames brokers. A rename without a 2xx may have been executed, so it is not repeated: the next one has another name."""

    def __init__(self, env, brokers, history):
        super().__init__(env)
        self.brokers, self.history = brokers, history

    def step(self):
        request = Request(random.choice(self.brokers), True, str(uuid.uuid4()), time.monotonic())
        self.history.append(request)
        changed, _ = self.send("brokers/" + request.register, {"name": request.value}, "PATCH")
        request.end, request.updated_at = time.monotonic(), changed["updated_at"]


class Reader(Changer):
    """Reads the same brokers."""

    def step(self):
        broker, begin = random.choice(self.brokers), time.monotonic()
        found, _ = self.send("brokers/" + broker)
        self.history.append(Request(broker, False, found["name"], begin, time.monotonic(), found["updated_at"]))


class Follower(Client):
    """Follows the event log from its present end. In a new epoch it exports again, and follows from there."""

    def __init__(self, env):
        super().__init__(env)
        self.runs, self.position = [], None

    def step(self):
        if self.position is None:
            _, headers = self.send("documents/export")
            self.runs.append([])
        else:
            try:
                page, headers = self.send(f"events?order=asc&limit=100&wait={POLL_S}&after={self.position}")
            except urllib.error.HTTPError as error:
                if "validation.position_expired" not in error.read().decode():
                    raise
                self.position = None
                return
            self.runs[-1] += [event["id"] for event in page["items"]]
        self.position = headers["X-Events-Position"]


class Revoked(Client):
    """Sends a revoked key to a host. `accepted` counts 2xx of requests that began after `since`."""

    pause_s, accepted, since = 0.2, 0, math.inf

    def step(self):
        begin = time.monotonic()
        try:
            self.send("me")
            self.accepted += begin > self.since
        except urllib.error.HTTPError as error:
            if error.code != 401:
                raise


class Webhooks:
    """A receiver of all changes of brokers, which verifies signatures."""

    def __init__(self):
        self.deliveries, self.forged, self.secret, self.gap, self.last = Counter(), 0, "", 0.0, time.monotonic()
        self.receiver = Receiver(self.receive)

    def subscribe(self, client):
        made, _ = client.send("webhooks", {"url": self.receiver.url, "events": ["broker.created", "broker.updated"]})
        self.secret = made["secret"]

    def receive(self, handler, arrival):
        expected = "sha256=" + hmac.digest(self.secret.encode(), arrival.body, "sha256").hex()
        if not hmac.compare_digest(expected, arrival.headers["x-webhook-signature"]):
            self.forged += 1
            return status(400)(handler, arrival)
        now = time.monotonic()
        self.gap, self.last = max(self.gap, now - self.last), now
        self.deliveries[arrival.event_id] += 1
        return ok(handler, arrival)
