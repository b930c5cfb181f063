# SPDX-License-Identifier: Apache-2.0
"""GET /events?wait=…: an empty page waits for an event, without a database connection, and in a limited number of threads."""

import threading
import time
from contextlib import closing

import psycopg2
import pytest
from client import Api, ok
from conftest import remove
from admin_factory import AdminFactory
from deployment import Instance
from wait import TIMEOUT_S, eventually, together

SLOTS, SHARE, TENANT_SHARE = 8, 2, 4  # of the process, of an organization and of a tenant
CONF = f"NeoAPIEventWaiters {SLOTS}\n"
LONG, SHORT = 20, 5  # seconds: the maximum wait, and the maximum duration without a wait


@pytest.fixture(scope="module")
def one_process(tmp_path_factory):
    """A host with one process, so that the number of slots is known."""
    conf = tmp_path_factory.mktemp("wait") / "conf"
    conf.write_text(CONF)
    instance = Instance("wait", PROCESSES="1", INSTANCE_CONF=str(conf))
    try:
        yield instance.up()
    finally:
        remove(instance)


@pytest.fixture
def api(one_process):
    return Api(one_process, AdminFactory(one_process).key())


def position(api):
    answer = api.get("events", params={"order": "asc", "after": "now"})
    ok(answer)
    return answer.headers["X-Events-Position"]


def follow(api, after, wait, **more):
    """The response and its duration in seconds."""
    started = time.monotonic()
    answer = api.get("events", params={"order": "asc", "after": after, "wait": wait, **more}, timeout=TIMEOUT_S + LONG)
    ok(answer)
    return answer, time.monotonic() - started


class Waiting:
    """A request that waits in a thread."""

    def __init__(self, api, after, wait=LONG, **more):
        self.api, self.result = api.with_(), None
        self.thread = threading.Thread(target=self.run, args=(after, wait), kwargs=more)
        self.thread.start()

    def run(self, *args, **more):
        self.result = follow(self.api, *args, **more)

    def join(self):
        self.thread.join(TIMEOUT_S + LONG)
        assert self.result, "no response"
        return self.result


def await_waiters(api, count):
    """Waits until the listener queries the database for this number of waiting requests."""
    eventually(lambda: api.instance.sql("select count(*) from pg_stat_activity where usename = 'neoapi' and query like %s",
                                        "%" + ",".join(["evt_________%"] * count) + "%as w (organization%")[0][0], "they wait")


def test_a_waiting_request_gets_the_event_soon_after_it_was_committed(api):
    start = position(api)
    request = Waiting(api, start)
    await_waiters(api, 1)
    made = api.broker(name="A")
    answer, took = request.join()
    event, = answer.json()["items"]
    assert event["resource_id"] == made["id"] and took < LONG
    assert ok(api.get("events", params={"order": "asc", "after": answer.headers["X-Events-Position"]}))["items"] == []


def test_events_that_do_not_match_end_no_wait(api):
    request = Waiting(api, position(api), type="party.*")
    await_waiters(api, 1)
    api.broker(name="A")
    party = ok(api.post("parties", json={"name": "P", "kind": "person", "roles": ["buyer"]}), 201)
    event, = request.join()[0].json()["items"]
    assert event["resource_id"] == party["id"]


def test_an_empty_page_after_the_timeout_has_a_position(api):
    answer, took = follow(api, position(api), 1)
    assert answer.json()["items"] == [] and 0.9 < took < LONG and answer.headers["X-Events-Position"]
    assert "Retry-After" not in answer.headers


def assert_refused_to_wait(api):
    answer, took = follow(api, position(api), LONG)
    assert answer.json()["items"] == [] and took < SHORT and answer.headers["Retry-After"] == "5"


def test_an_organization_and_a_tenant_have_a_share_of_the_slots(one_process):
    """A refused request is answered at once, and others wait. All credentials are made first, because a change wakes them."""
    factory = AdminFactory(one_process)
    tenants = [factory.tenant() for _ in range(SLOTS // TENANT_SHARE)]
    apis = {tenant: [Api(one_process, factory.key(factory.organization(tenant))) for _ in range(TENANT_SHARE // SHARE + 1)]
            for tenant in tenants}
    other = Api(one_process, factory.key())
    starts, requests = {api: position(api) for tenant in tenants for api in apis[tenant]}, []
    for tenant in tenants:
        *waiting, further = apis[tenant]
        for api in waiting:
            requests += [Waiting(api, starts[api]) for _ in range(SHARE)]
            await_waiters(api, len(requests))
            assert_refused_to_wait(api)
        assert_refused_to_wait(further)
    assert_refused_to_wait(other)  # all slots are taken
    connections = "select count(*) from pg_stat_activity where usename = 'neoapi' and state <> 'idle'"
    assert one_process.sql(connections)[0][0] <= 1  # the listener's query
    for tenant in tenants:
        for api in apis[tenant]:
            api.broker(name="A")
    for request in requests:
        answer, _ = request.join()
        assert len(answer.json()["items"]) == 1 and "Retry-After" not in answer.headers


def test_other_organizations_events_do_not_end_a_wait(api, one_process):
    request = Waiting(api, position(api), wait=2)
    await_waiters(api, 1)
    Api(one_process, AdminFactory(one_process).key()).broker(name="A")
    answer, took = request.join()
    assert answer.json()["items"] == [] and took > 1.9


@pytest.mark.parametrize("wait", ["-1", "31", "x", "1.5", ""])
def test_an_invalid_wait_is_refused(api, wait):
    answer = api.get("events", params={"order": "asc", "wait": wait})
    assert answer.status_code == 400 and [item["field"] for item in answer.json()["errors"]] == ["wait"]
    assert api.get("events", params={"wait": "1"}).status_code == 400  # only with order=asc


def test_a_graceful_restart_ends_the_waits(api, one_process):
    request = Waiting(api, position(api))
    await_waiters(api, 1)
    one_process.command("graceful")
    answer, took = request.join()
    assert answer.json()["items"] == [] and took < LONG - 1 and answer.headers["Retry-After"] == "1"


def test_a_restart_of_postgresql_does_not_end_the_waits(api, one_process):
    start = position(api)
    request = Waiting(api, start)
    await_waiters(api, 1)
    with closing(psycopg2.connect(one_process.admin_dsn)) as connection, connection.cursor() as cursor:
        cursor.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'neoapi'")
    made, result = together(lambda: api.broker(name="A"), request.join)
    event, = result[0].json()["items"]
    assert event["resource_id"] == made["id"]
