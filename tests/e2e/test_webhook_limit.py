# SPDX-License-Identifier: Apache-2.0
"""The plan's limit of an organization's deliveries to one receiver in an hour: further ones wait without delaying others."""

import pytest
from client import Api, ok
from receiver import Receiver
from wait import eventually
from webhook_fixtures import admin, deliveries, module_admin_factory, module_instance, receiver, subscribe  # noqa: F401 (fixtures)

LIMIT = 5
BATCH = 100


@pytest.fixture
def limited(module_instance, module_admin_factory):
    factory = module_admin_factory
    return Api(module_instance, factory.key(factory.organization(factory.tenant(factory.plan(deliveries_per_hour=LIMIT)))))


def create_many(api):
    """Creates more events than one claim has."""
    operations = [{"method": "create", "data": {"name": f"A{n}"}} for n in range(BATCH)]
    assert {result["status"] for result in ok(api.post("brokers/batch", json={"operations": operations}))["results"]} == {201}


def test_deliveries_beyond_the_limit_wait_and_delay_no_others(limited, admin, receiver, module_admin_factory):
    with Receiver() as other_port, Receiver(address="127.0.0.2") as other_host:
        subscriptions = [subscribe(limited, one.url) for one in (receiver, other_port)]
        create_many(limited)
        eventually(lambda: len(receiver.arrivals) + len(other_port.arrivals) == LIMIT, "the limit is used up")
        neighbour = subscribe(admin, receiver.url + "neighbour")
        admin.broker()
        eventually(lambda: [one for one in receiver.arrivals if one.path == "/neighbour"], "another organization's delivery", 15)
        subscribe(limited, other_host.url)
        limited.broker()
        other_host.wait_for(1)
        mine = [one for one in receiver.arrivals if one.path != "/neighbour"]
        assert len(mine) + len(other_port.arrivals) == LIMIT
        for subscription in subscriptions:
            pending = deliveries(limited, subscription, status="pending")
            assert pending and {one["attempt_count"] for one in pending} == {0}
        assert deliveries(admin, neighbour)[0]["status"] == "success"
        plan = limited.instance.sql("select plan from neoapi.tenant where id = %s", limited.credential.tenant)[0][0]
        module_admin_factory.ctl("plan", "change", plan, "--deliveries-per-hour", "unlimited")
        for one in (receiver, other_port):
            eventually(lambda one=one: len(ids_of(one)) == BATCH + 1, "nothing is lost")
            assert len(ids_of(one)) == len(set(ids_of(one)))


def ids_of(receiver):
    return [one.event_id for one in receiver.arrivals if one.path != "/neighbour"]
