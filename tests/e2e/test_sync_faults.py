# SPDX-License-Identifier: Apache-2.0
"""A follower's copy is complete although processes of both hosts and the database are killed while others write and delete.

NEOAPI_SYNC_SECONDS: how long faults are made; the default is 25.
"""

import contextlib
import os
import random
import sys
import threading

import pytest
import requests
from admin_factory import AdminFactory
from client import Api
from deployment import ROOT
from sync_client import SyncClient

sys.path.insert(0, str(ROOT / "tests/torture"))

from nemesis import Nemesis  # noqa: E402
from torture import two_hosts  # noqa: E402

pytestmark = pytest.mark.slow

SECONDS, SEED = float(os.environ.get("NEOAPI_SYNC_SECONDS", 25)), int(os.environ.get("NEOAPI_TORTURE_SEED", 17))
WRITERS, REQUEST_TIMEOUT_S, CATCH_UP_S = 3, 15, 120
KINDS = {"kill a child": 6, "kill the database": 2, "freeze a child": 2, "clock step": 2, "graceful restart": 2}


class Writer(threading.Thread):
    """Creates, changes and deletes brokers and parties on one host, whether it gets responses or not."""

    def __init__(self, api, seed, end):
        super().__init__(daemon=True)
        self.url, self.random, self.end, self.count = api.url, random.Random(seed), end, 0
        self.session = requests.Session()
        self.session.trust_env, self.session.verify = False, str(api.instance.ca)
        self.session.headers["X-API-Key"] = api.credential.secret
        self.made = []

    def send(self, method, path, body=None):
        with contextlib.suppress(requests.RequestException):
            answer = self.session.request(method, self.url + path, json=body, timeout=REQUEST_TIMEOUT_S, headers={"Connection": "close"})
            self.count += answer.status_code < 400
            return answer if answer.status_code < 400 else None

    def run(self):
        while not self.end.wait(0.01):
            kind, name = self.random.choice(["brokers", "parties"]), f"N {self.random.random()}"
            what = self.random.random()
            if what < 0.4 or not self.made:
                answer = self.send("POST", kind, {"name": name} if kind == "brokers" else
                                   {"name": name, "kind": "person", "roles": ["buyer"]})
                self.made += [f"{kind}/{answer.json()['id']}"] if answer is not None else []
            elif what < 0.75:
                self.send("PATCH", self.random.choice(self.made), {"name": name, "phone": f"+55119{self.random.randrange(10**8):08}"})
            else:
                self.send("DELETE", self.made.pop(self.random.randrange(len(self.made))))


def test_a_followers_copy_equals_the_tables_after_faults(tmp_path, report):
    end = threading.Event()
    with two_hosts() as (instance, second, clock), contextlib.ExitStack() as stack:
        instance.sql("update neoapi.plan set requests = 1000000")
        first = Api(instance, AdminFactory(instance).key())
        other = Api(second, first.credential)
        other.instance = instance
        clients = [SyncClient(first, tmp_path / "first"), SyncClient(first, tmp_path / "second", url=second.url)]
        for client in clients:
            client.file.parent.mkdir()
            stack.callback(client.stop)
            client.start()
        writers = [Writer(api, seed, end) for api in (first, other) for seed in range(WRITERS)]
        nemesis = Nemesis(instance, second, clock, random.Random(SEED))
        nemesis.kinds = {name: nemesis.kinds[name] for name in KINDS}
        nemesis.weights = list(KINDS.values())
        for writer in writers:
            writer.start()
        nemesis.run(SECONDS)
        end.set()
        for writer in writers:
            writer.join(2 * REQUEST_TIMEOUT_S)
        for client in clients:
            client.await_sync(CATCH_UP_S)
        events = instance.sql("select count(*) from neoapi.event where organization_id = %s", first.credential.organizations[0])[0][0]
        report(f"{len(nemesis.faults)} faults, {sum(writer.count for writer in writers)} acknowledged writes, {events} events,"
               f" {len(clients[0].records())} records in each copy")
        assert events > 100 and nemesis.faults
