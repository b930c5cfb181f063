# SPDX-License-Identifier: Apache-2.0
"""What a credential has begun ends on all hosts when it is revoked or loses its rights: waits for events, bodies that are still
being sent, batches and writes. For exports see test_export.py."""

import threading
import time
from contextlib import closing

import psycopg2
import pytest
from admin_factory import AdminFactory
from batching import create, send, update
from client import Api, ok, refused
from conftest import SECOND_HOST, remove
from ctl_instance import Ctl
from deployment import Instance
from raw_http import RawConnection, message
from wait import TIMEOUT_S, eventually

WAITERS, LONG = 12, 30  # requests; seconds: the maximum of `wait`
REVOKED = "unauthorized.revoked_credential"
UNCONFIRMED = 4  # exit status
LOCKED = "select count(*) from pg_stat_activity where usename = 'neoapi' and wait_event_type = 'Lock'"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """Two hosts, each in two processes, in which all of WAITERS can wait."""
    place = tmp_path_factory.mktemp("hosts")
    (place / "first").write_text(f"NeoAPIEventWaiters {4 * WAITERS}\n")
    (place / "second").write_text(SECOND_HOST.replace("NeoAPIExportTimeout 2", f"NeoAPIEventWaiters {4 * WAITERS}"))
    made = Instance("hosts", PROCESSES="2", THREADS="25", INSTANCE_CONF=str(place / "first"), SERVER_CONF=str(place / "second"))
    try:
        yield made.up()
    finally:
        remove(made)


@pytest.fixture(scope="module")
def factory(hosts):
    return AdminFactory(hosts)


@pytest.fixture
def organization(factory):
    return factory.organization()


@pytest.fixture
def writer(hosts, factory, organization):
    return Api(hosts, factory.key(organization))


@pytest.fixture
def ctl(hosts):
    return Ctl(hosts)


def on_both_hosts(api):
    return api, api.with_(url=f"https://127.0.0.2:{api.instance.port}/public/v1/")


class Background:
    """A function that runs in a thread."""

    def __init__(self, run):
        self.result = None
        self.thread = threading.Thread(target=lambda: setattr(self, "result", run()))
        self.thread.start()

    def is_running(self):
        return self.thread.is_alive()

    def join(self):
        self.thread.join(TIMEOUT_S + LONG)
        assert self.result is not None, "no result"
        return self.result


def waiting(api, count=WAITERS, **query):
    """Requests that wait for events, half of them on each host."""
    position = api.get("events", params={"order": "asc", "after": "now"}).headers["X-Events-Position"]
    query = {"order": "asc", "after": position, "wait": LONG, **query}
    started = [Background(lambda host=host: host.with_().get("events", params=query, timeout=TIMEOUT_S + LONG))
               for host in on_both_hosts(api) for _ in range(count // 2)]
    asked = ("select coalesce(sum((length(query) - length(replace(query, 'evt_', ''))) / 4), 0) from pg_stat_activity"
             " where usename = 'neoapi' and query like '%%as w (organization%%'")
    eventually(lambda: api.instance.sql(asked)[0][0] >= count, "the listeners ask for all of them")
    return started


# ---------------------------------------------------------------- waits for events


def test_a_revocation_ends_all_waits_and_none_returns_a_later_event(hosts, factory, organization, writer):
    key = factory.key(organization)
    requests, began = waiting(Api(hosts, key)), time.monotonic()
    factory.revoke(factory.key(organization))
    assert all(request.is_running() for request in requests)  # another credential's
    factory.revoke(key)
    for request in requests:
        refused(request.join(), 401, REVOKED)
    assert time.monotonic() - began < LONG / 2


def test_events_after_a_wait_are_those_that_the_credential_may_still_read(hosts, factory, organization, writer):
    key = factory.key(organization, scopes=["brokers:read", "parties:read"])
    requests = waiting(Api(hosts, key), 2)
    factory.ctl("key", "change", key.id, "--role", "org_admin", "--scope", "parties:read")
    writer.broker(name="hidden")
    party = ok(writer.post("parties", json={"name": "P", "kind": "person", "roles": ["buyer"]}), 201)
    for request in requests:
        assert [event["resource_id"] for event in ok(request.join())["items"]] == [party["id"]]


def test_a_lost_role_or_organization_ends_a_wait(hosts, factory, organization):
    other = factory.organization(factory.tenants[organization])
    user = factory.user(factory.tenants[organization])
    token = factory.token(user, organization)
    requests = waiting(Api(hosts, token), 2)
    factory.ctl("token", "change", token.id, "--organization", other)
    for request in requests:
        refused(request.join(), 403, "forbidden.organization")


# ---------------------------------------------------------------- requests in progress


class Upload(RawConnection):
    """A request whose body the server waits for."""

    HEADERS = [("Content-Type", "application/json"), ("Expect", "100-continue")]

    def __init__(self, api, body):
        super().__init__(api)
        self.body = body
        self.send(message(api, "POST", "brokers", self.HEADERS, body)[:-len(body)])
        assert self._head()[0] == 100

    def finish(self):
        return self.send(self.body).answer("POST")


def test_a_body_that_ends_after_the_revocation_is_refused(hosts, factory, organization, writer):
    key = factory.key(organization)
    uploads = [Upload(host, b'{"name": "Ana"}') for host in on_both_hosts(Api(hosts, key))]
    factory.revoke(key)
    for upload in uploads:
        with upload:
            refused(upload.finish(), 401, REVOKED)
    assert ok(writer.get("brokers"))["items"] == []


@pytest.fixture
def locked_broker(hosts, writer):
    """A broker whose row another transaction has locked: its id, and a function that unlocks it."""
    broker = writer.broker(name="before")
    with closing(psycopg2.connect(hosts.admin_dsn)) as connection, connection.cursor() as cursor:
        cursor.execute("select from neoapi.broker where id = %s for update", (broker["id"],))
        yield broker["id"], connection.rollback


def revoke_during(hosts, ctl, key, request):
    """Revokes the key while the request waits for a lock. The revocation is not confirmed before the request has ended."""
    eventually(lambda: hosts.sql(LOCKED)[0][0], "it waits for the lock")
    code, said, _ = ctl.run("key", "revoke", key.id)
    assert code == UNCONFIRMED and "not every server has confirmed" in said and request.is_running()


def test_a_batch_in_progress_is_rolled_back(hosts, factory, organization, writer, ctl, locked_broker):
    id, unlock = locked_broker
    key = factory.key(organization)
    operations = [*(create(name=f"B{n}") for n in range(99)), update(id, name="after")]
    batch = Background(lambda: send(Api(hosts, key), *operations))
    revoke_during(hosts, ctl, key, batch)
    unlock()
    refused(batch.join(), 401, REVOKED)
    assert [item["name"] for item in ok(writer.get("brokers"))["items"]] == ["before"]


def test_a_revocation_is_confirmed_when_no_write_is_in_progress(hosts, factory, organization, writer, ctl, locked_broker):
    """A single write is one statement, so that it can only be waited for."""
    id, unlock = locked_broker
    key = factory.key(organization)
    patch = Background(lambda: Api(hosts, key).patch("brokers/" + id, json={"name": "after"}))
    revoke_during(hosts, ctl, key, patch)
    refused(Api(hosts, key).get("me"), 401, REVOKED)  # new requests
    revocation = ctl.start("key", "revoke", key.id)
    unlock()
    out, _ = revocation.communicate(timeout=TIMEOUT_S)
    assert "It has taken effect on all servers." in out and revocation.returncode == 0
    assert ok(patch.join())["name"] == ok(writer.get("brokers/" + id))["name"] == "after"
