# SPDX-License-Identifier: Apache-2.0
"""Clients that create the same things at the same time, so that groups of creates contain duplicates of each other, and checks that
exactly one of each exists, in its own organization. See doc/architecture.md, "Grouped creates"."""

import contextlib
import hashlib
import threading
import time
import uuid
from collections import Counter, defaultdict

import requests
from client import Api
from factories import PLACE

CLIENTS = 3  # of each host and organization
SLOT_S = 0.2  # in which all clients of an organization create the same
REQUEST_TIMEOUT_S = 15


def unique_creci(key, slot):
    """One of the clients gets 201, the others 409. Each has a key of its own."""
    return "POST", "brokers", {"name": f"{key.organizations[0]} creci {slot}", "creci": f"C{slot}-F"}, str(uuid.uuid4())


def unique_external_id(key, slot):
    """One client creates, the others replace."""
    return "PUT", f"brokers/by-external-id/E{slot}", {"name": f"{key.organizations[0]} external {slot}"}, None


def same_key(key, slot):
    """One request is executed, all get its response."""
    name = f"{key.organizations[0]} key {slot}"
    return "POST", "brokers", {"name": name}, str(uuid.UUID(bytes=hashlib.sha256(name.encode()).digest()[:16], version=4))


def reference(key, slot):
    """Refers to a broker that clients create at the same time, or have created, or could not create."""
    return ("POST", "properties", {"code": f"P{slot}", "title": f"{key.organizations[0]} property {slot}", "transaction_type": "sale",
                                   "usage_type": "residential", "property_type": "apartment", "sale_price": 1, "address": PLACE,
                                   "broker_id": {"external_id": f"E{slot - 2}"}}, str(uuid.uuid4()))


KINDS = {unique_creci: {201, 409}, unique_external_id: {200, 201}, same_key: {201}, reference: {201, 400, 409}}


class Contender(threading.Thread):
    """Sends a request in each slot until `end`, and repeats it until it has a response. `ids` has the acknowledged ids by kind and
    slot."""

    def __init__(self, api, end):
        super().__init__(daemon=True)
        self.key, self.url, self.end = api.credential, api.url, end
        self.session = requests.Session()
        self.session.trust_env, self.session.verify = False, api.instance.ca
        self.session.headers["X-API-Key"] = self.key.secret
        self.ids, self.unexpected, self.retries = defaultdict(set), [], 0

    def send(self, method, path, body, key):
        headers = {"Connection": "close", **({"Idempotency-Key": key} if key else {})}
        while not self.end.is_set():
            with contextlib.suppress(requests.RequestException):
                answer = self.session.request(method, self.url + path, json=body, headers=headers, timeout=REQUEST_TIMEOUT_S)
                if answer.status_code not in (429, 503):
                    return answer
            self.retries += 1
            self.end.wait(0.2)
        return None

    def run(self):
        last = None
        while not self.end.is_set():
            slot = int(time.time() / SLOT_S)
            if slot == last:
                self.end.wait((slot + 1) * SLOT_S - time.time())
                continue
            last = slot
            kind = list(KINDS)[slot % len(KINDS)]
            answer = self.send(*kind(self.key, slot))
            if answer is not None and answer.status_code in (200, 201):
                self.ids[kind.__name__, slot].add(answer.json()["id"])
            elif answer is not None and answer.status_code not in KINDS[kind]:
                self.unexpected.append(f"{kind.__name__}: {answer.status_code} {answer.text[:200]}")


def contenders_of(hosts, key, end):
    return [Contender(Api(host, key), end) for host in hosts for _ in range(CLIENTS)]


class Contest:
    """Checks the organization of a key, in which only contenders have written."""

    def __init__(self, instance, key, contenders):
        self.instance, self.contenders = instance, contenders
        self.organization, self.credential = key.organizations[0], key.id

    def sql(self, text, *more):
        return self.instance.sql(text, self.organization, *more)

    def check(self, checker):
        expect_none, add_count = checker.expect_none, checker.add_count
        rows = [row for table, name in (("broker", "name"), ("property", "title"))
                for row in self.sql(f"select id, {name} from neoapi.{table} where organization_id = %s")]
        ids, names = {id for id, _ in rows}, Counter(name for _, name in rows)
        acknowledged = defaultdict(set)
        for contender in self.contenders:
            for what, found in contender.ids.items():
                acknowledged[what] |= found
        add_count("contested creates, acknowledged", len(acknowledged))
        add_count("contested creates, retries", sum(contender.retries for contender in self.contenders))
        expect_none("contested creates, unexpected responses", [one for contender in self.contenders for one in contender.unexpected])
        expect_none("contested creates, acknowledged and not stored", [what for what, found in acknowledged.items() if not found <= ids])
        expect_none("contested creates, several ids for one value", [(*what, *found) for what, found in acknowledged.items() if len(found) > 1])
        expect_none("contested creates, stored more than once", [name for name, count in names.items() if count > 1])
        expect_none("contested creates, rows of another organization", [name for name in names if not name.startswith(self.organization)])
        events = Counter(id for id, in self.sql("select resource_id from neoapi.event where organization_id = %s and type like '%%.created'"))
        expect_none("contested creates, without exactly one event", [id for id in ids | events.keys() if events[id] != 1 or id not in ids])
        expect_none("contested creates, events of another credential", self.sql(
            "select id, actor from neoapi.event where organization_id = %s and (actor <> %s or payload not like '%%' || organization_id || '%%')",
            self.credential))
        expect_none("contested creates, stored responses of others", self.sql(
            "select key from neoapi.idempotency_key where organization_id = %s and (credential_id <> %s"
            " or response_body not like '%%' || organization_id || '%%')", self.credential))
        expect_none("contested creates, references without their broker", self.sql(
            "select p.id from neoapi.property p where p.organization_id = %s and not exists (select from neoapi.broker b"
            " where b.organization_id = p.organization_id and b.id = p.broker_id)"))
