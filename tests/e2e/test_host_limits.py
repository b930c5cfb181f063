# SPDX-License-Identifier: Apache-2.0
"""Limits hold for two hosts together: requests of a credential, deliveries in an hour, requests in progress."""

import os
import signal
import socket
import threading
import time

import pytest
from client import Api, moment, ok, refused
from httpd import Httpd
from wait import TIMEOUT_S, eventually
from webhook_fixtures import HERE, module_admin_factory, module_instance, receiver, subscribe  # noqa: F401 (fixtures)

CONF = HERE
LIMIT, WINDOW = 600, 3600
FIRST, SECOND = 0, 1


def start_second(instance, place):
    conf = "NeoAPIHostName second\n" + CONF.replace("${INSTANCE}", str(instance.state))
    return Httpd(instance, place, ("DocumentRoot .*", conf)).start()


@pytest.fixture
def second(module_instance, tmp_path):
    one = start_second(module_instance, tmp_path)
    yield one
    one.stop()


def leases(instance, name):
    """The rows of a limit by host: its part, and what it has used."""
    return {host: row for host, *row in
            instance.sql("select host, lease, used from neoapi.limit_lease where name = %s order by host", name)}


@pytest.fixture
def hosts(module_instance, module_admin_factory, second):
    """hosts(**plan): a credential's clients to both hosts, which know of each other."""
    def make(credential):
        return [Api(one, credential) for one in (module_instance, second)]

    def new(**plan):
        factory = module_admin_factory
        return make(factory.key(factory.organization(factory.tenant(factory.plan(window_seconds=WINDOW, **plan)))))
    probes = new(requests=LIMIT)

    def know_each_other():
        for one in probes:
            ok(one.get("me"))
        return len(leases(module_instance, probes[0].credential.id)) == 2
    eventually(know_each_other, "both hosts exchange leases")
    return new


def passed(api, count=1):
    statuses = [api.get("me").status_code for _ in range(count)]
    assert set(statuses) <= {200, 429}
    return statuses.count(200)


@pytest.mark.parametrize("order", [[FIRST, SECOND], [FIRST] * 9 + [SECOND], [SECOND]], ids=["evenly", "nine to one", "on one"])
def test_the_limit_holds_for_both_hosts_however_requests_are_spread(hosts, order):
    apis, total = hosts(requests=LIMIT), 0

    def all_have_passed():
        nonlocal total
        total += sum(passed(apis[host]) for host in order)
        return total >= LIMIT
    eventually(all_have_passed, "the limit can be used up")
    total += sum(passed(api, 20) for api in apis)
    assert total == LIMIT


def test_the_headers_tell_the_limit_of_the_deployment(module_instance, hosts):
    first, other = hosts(requests=LIMIT)
    answer = first.get("me")
    assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == ("600", "599")
    assert answer.headers["RateLimit-Policy"] == f'"plan";q=600;w={WINDOW}'
    eventually(lambda: other.get("me").headers["X-RateLimit-Remaining"] != "599" and len(leases(module_instance, other.credential.id)) == 2,
               "the other host knows of the request")
    eventually(lambda: not passed(first), "its part is used up")
    assert refused(first.get("me"), 429, "rate_limit.exceeded")["detail"] == "Rate limit of 600 requests per 3600 s exceeded."


def test_without_the_database_each_host_has_an_equal_part(module_instance, hosts):
    apis = hosts(requests=LIMIT)
    module_instance.sql("alter table neoapi.limit_lease rename to limit_lease_away")
    try:
        assert [passed(api, LIMIT // 2 + 20) for api in apis] == [LIMIT // 2, LIMIT // 2]
        refusal = refused(apis[FIRST].get("me"), 429, "rate_limit.exceeded")
        assert refusal["retry_after"] == 1, "it may get more"
    finally:
        module_instance.sql("alter table neoapi.limit_lease_away rename to limit_lease")


def test_a_killed_host_keeps_its_part_for_a_window_at_most(module_instance, hosts, second):
    apis = hosts(requests=LIMIT)
    name = apis[FIRST].credential.id
    eventually(lambda: [passed(api) for api in apis] and len(leases(module_instance, name)) == 2, "both have leases")
    os.killpg(second.process.pid, signal.SIGKILL)
    second.process.wait(TIMEOUT_S)
    second.process = None
    eventually(lambda: not passed(apis[FIRST], 50), "the other host's part is not used")
    assert sum(used for _, used in leases(module_instance, name).values()) < LIMIT
    module_instance.sql("update neoapi.limit_lease set seen_at = seen_at - %s * interval '1 second' where host = 'second'", WINDOW)
    eventually(lambda: leases(module_instance, name).keys() == {socket.gethostname()}, "its lease has ended")
    module_instance.sql("update neoapi.host set seen_at = seen_at - interval '1 minute' where name = 'second'")
    eventually(lambda: passed(apis[FIRST]), "the other host gets more")


def test_deliveries_in_an_hour_are_limited_for_both_hosts(hosts, receiver):
    limit = 20
    api, _ = hosts(deliveries_per_hour=limit)
    path = "webhooks/" + subscribe(api, receiver.url)["id"]
    operations = [{"method": "create", "data": {"name": f"A{n}"}} for n in range(2 * limit)]
    ok(api.post("brokers/batch", json={"operations": operations}))
    eventually(lambda: len(receiver.arrivals) >= limit, "the limit can be used up")

    def is_used_up():
        until = ok(api.get(path)).get("limited_until")
        return until and moment(until) > time.time() + 60
    eventually(is_used_up, "the others wait for the next hour")
    assert len(receiver.arrivals) == limit


def test_requests_in_progress_are_limited_for_both_hosts(module_instance, module_admin_factory, hosts):
    first, other = hosts(concurrent_requests=4)
    organization = ok(first.get("me"))["organization_id"]
    position = first.get("events", params={"order": "asc", "after": "now"}).headers["X-Events-Position"]
    waits = []

    def wait_for_events():
        Api(module_instance, first.credential).get("events", params={"order": "asc", "after": position, "wait": 20}, timeout=TIMEOUT_S)

    def four_wait():
        if sum(one.is_alive() for one in waits) < 4:
            waits.append(threading.Thread(target=wait_for_events))
            waits[-1].start()
        return leases(module_instance, organization).get(socket.gethostname()) == [4, 4]
    eventually(four_wait, "one host gets the whole limit")
    assert refused(other.get("brokers"), 429, "rate_limit.concurrent_requests")["limit_value"] == 4
    module_admin_factory.set_plan(first.credential.tenant, module_admin_factory.plan())
    eventually(lambda: first.get("brokers").status_code == 200, "the plan has changed")
    ok(first.post("brokers", json={"name": "Ana"}), 201)
    for one in waits:
        one.join()
