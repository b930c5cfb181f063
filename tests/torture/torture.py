#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fault injection test: torture.py MINUTES

Clients write through two httpd instances on one database, and receivers verify the signatures of deliveries, while nemesis.py injects
faults, and erasures.py erases persons. Then checker.py compares acknowledged writes, stored rows and received deliveries. Prints a table; the exit status is 1 if a
check has failed. NEOAPI_TORTURE_SEED repeats a sequence of faults."""

import contextlib
import os
import random
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import requests  # noqa: E402
from admin_factory import AdminFactory  # noqa: E402
from admin_pages import CONF as PAGES  # noqa: E402
from admin_pages import AdminPages  # noqa: E402
from checker import ATTEMPT_TIMEOUT_S, Checker, Consumer  # noqa: E402
from client import Api, ok  # noqa: E402
from contest import Contest, contenders_of  # noqa: E402
from deployment import sanitizer_settings  # noqa: E402
from erasures import Erasures  # noqa: E402
from httpd import Httpd  # noqa: E402
from nemesis import Nemesis  # noqa: E402
from preload import FullDisk, ShiftedClock  # noqa: E402
from receiver import Receiver  # noqa: E402
from webhook_fixtures import queued, running_instance, subscribe  # noqa: E402

CONF = PAGES + f"NeoAPIWebhookTimeout {ATTEMPT_TIMEOUT_S}\nNeoAPIWebhookRetryDelays 0 1 1 2 2 2 4 4 4 4 4 4 4 4 4 4\n"
WRITERS = 4  # of each host
REQUEST_TIMEOUT_S = 15
DRAIN_TIMEOUT_S = 120  # for the queue to become empty after the last fault


class Writer(threading.Thread):
    """Creates brokers with unique names and an Idempotency-Key, and renames some. Requests are retried until they have a result.
    `created` has the id of each acknowledged creation by name, `renamed` the name of each acknowledged change by id."""

    def __init__(self, api, ca, number, end):
        super().__init__(daemon=True)
        self.session, self.url, self.ca, self.end, self.number = requests.Session(), api.url, ca, end, number
        self.session.trust_env, self.session.verify = False, ca
        self.session.headers["X-API-Key"] = api.credential.secret
        self.created, self.renamed, self.retries, self.unexpected = {}, {}, 0, []

    def send(self, method, path, body, **headers):
        """The response; None if the test ended before one that is not to be retried."""
        for _ in range(60):
            with contextlib.suppress(requests.RequestException):
                answer = self.session.request(method, self.url + path, json=body, timeout=REQUEST_TIMEOUT_S,
                                              headers={"Connection": "close", **headers})
                if answer.status_code not in (409, 429, 503):
                    return answer
            self.retries += 1
            if self.end.wait(0.2):
                return None
        return None

    def run(self):
        for number in range(10**9):
            if self.end.is_set():
                return
            name = f"Broker {self.number} {number}"
            answer = self.send("POST", "brokers", {"name": name}, **{"Idempotency-Key": str(uuid.uuid4())})
            if answer is not None and answer.status_code == 201:
                self.created[name] = answer.json()["id"]
                if number % 4 == 0:
                    self.rename(self.created[name], name)
            elif answer is not None:
                self.unexpected.append(f"{answer.status_code} {answer.text[:200]}")
            self.end.wait(0.02)

    def rename(self, id, name):
        for number in range(2):
            self.send("PATCH", "brokers/" + id, {"name": f"{name} renamed {number}"})
        answer = self.send("PATCH", "brokers/" + id, {"name": name + " renamed"})
        if answer is not None and answer.status_code == 200:
            self.renamed[id] = name + " renamed"
        elif answer is not None:
            self.unexpected.append(f"{answer.status_code} {answer.text[:200]}")


@contextlib.contextmanager
def two_hosts(**more):
    """An instance whose disk can be full, and a second httpd on its database whose clock can be shifted. `more` are settings of
    instance.sh."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="neoapi-torture.") as name:
        directory = Path(name)
        directory.chmod(0o755)
        clock, disk = ShiftedClock(directory), FullDisk(directory)
        with running_instance("torture", CONF, DB_PRELOAD=str(disk.library), **more) as instance:
            (directory / "httpd").mkdir()
            preload = f"{sanitizer_settings().get('HTTPD_PRELOAD', '')} {clock.library}".strip()
            second = Httpd(instance, directory / "httpd", ("DocumentRoot .*", CONF.replace("${INSTANCE}", str(instance.state))),
                           preload=preload)
            try:
                yield instance, second.start(), clock, disk
            finally:
                second.stop()


def run(minutes, seed):
    end = threading.Event()
    with contextlib.ExitStack() as stack:
        instance, second, clock, disk = stack.enter_context(two_hosts())
        factory = AdminFactory(instance)
        admin = Api(instance, factory.key())
        consumers = [Consumer("fast", 0, 0), Consumer("slow", 0.05, 0), Consumer("faulty", 0, 0.05),
                     Consumer("ordered", 0.02, 0.05, ordering="resource"),
                     Consumer("paced", 0.01, 0.02, max_per_second=20, max_in_flight=6),
                     Consumer("batches", 0.01, 0.05, batch={"max_items": 20, "max_wait_ms": 200}),
                     Consumer("ordered batches", 0.01, 0.05, ordering="resource", batch={"max_items": 20, "max_wait_ms": 200},
                              max_in_flight=2)]
        for consumer in consumers:
            receiver = stack.enter_context(Receiver(consumer.behave))
            consumer.subscription = subscribe(admin, receiver.url, **consumer.options)
            consumer.secret = consumer.subscription["secret"]
        writers = [Writer(api, instance.ca, number, end) for number, api in enumerate(
            [admin, Api(second, admin.credential)] * WRITERS)]
        contests = [Contest(instance, key, contenders_of((instance, second), key, end)) for key in (factory.key(), factory.key())]
        nemesis = Nemesis(instance, second, clock, disk, random.Random(seed))
        erasures = Erasures((instance, second), factory.key(), end)
        writers_and_contenders = [*writers, *(one for contest in contests for one in contest.contenders), *erasures.erasers]
        for one in writers_and_contenders:
            one.start()
        nemesis.run(minutes * 60)
        end.set()
        for one in writers_and_contenders:
            one.join(2 * REQUEST_TIMEOUT_S)
        for consumer in consumers:
            if "max_per_second" in consumer.options:  # less than what was written
                consumer.limited_until = time.time()
                ok(admin.patch("webhooks/" + consumer.subscription["id"], json={"max_per_second": None, "max_in_flight": None}))
        drained, until = False, time.monotonic() + DRAIN_TIMEOUT_S
        while not drained and time.monotonic() < until:
            drained = queued(instance) == 0
            time.sleep(0.2)
        checker = Checker(instance, writers, consumers, nemesis.faults, admin.credential.organizations[0])
        for contest in contests:
            contest.check(checker)
        erasures.check(checker)
        groups = AdminPages(instance).samples()
        statements, rows, repeated = (int(groups[f"neoapi_create_{name}_total"]) for name in ("statements", "rows", "rows_repeated"))
        checker.add_count("creates in shared statements or alone", rows)
        checker.add_count("creates repeated alone", repeated)
        checker.expect_none("no statement was shared", [] if rows > statements else [f"{rows} rows in {statements} statements"])
        return checker.report()


if __name__ == "__main__":
    duration, random_seed = float(sys.argv[1]), int(os.environ.get("NEOAPI_TORTURE_SEED") or time.time())
    print(f"torture: {duration:g} minutes, TORTURE_SEED={random_seed}", flush=True)
    sys.exit(0 if run(duration, random_seed) else 1)
