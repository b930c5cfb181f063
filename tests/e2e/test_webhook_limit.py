# SPDX-License-Identifier: Apache-2.0
"""The plan's limit of an organization's deliveries to one receiver in an hour: further ones wait without delaying others."""

import time

import pytest
from client import Api, moment, ok
from receiver import Receiver
from wait import eventually
from webhook_fixtures import (HERE, admin, deliveries, hold, module_admin_factory, module_instance, receiver,  # noqa: F401 (fixtures)
                              resume, subscribe)

CONF = HERE
LEASE_S = 45  # of a claim
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
        raise_limit(limited, module_admin_factory)
        for one in (receiver, other_port):
            eventually(lambda one=one: len(received_ids(one)) == BATCH + 1, "nothing is lost")
            assert len(received_ids(one)) == len(set(received_ids(one)))


def raise_limit(api, factory):
    plan, = api.instance.sql("select plan from neoapi.tenant where id = %s", api.credential.tenant)[0]
    factory.ctl("plan", "change", plan, "--deliveries-per-hour", "unlimited")


def test_a_subscription_shows_the_limit_until_it_is_raised(limited, receiver, module_admin_factory):
    """Then the deliveries are sent before the lease of their claim would have expired."""
    subscription = subscribe(limited, receiver.url)
    create_many(limited)

    def limited_until():
        return ok(limited.get("webhooks/" + subscription["id"])).get("limited_until")
    until = moment(eventually(limited_until, "limited_until"))
    assert 0 < until - time.time() <= 3600 + 60
    listed, = module_admin_factory.ctl("webhook", "list", "--organization", *limited.credential.organizations)
    assert listed["limited_until"]
    raise_limit(limited, module_admin_factory)
    eventually(lambda: len(receiver.arrivals) == BATCH, "all deliveries", LEASE_S / 2)
    eventually(lambda: not limited_until(), "no limit is shown")


def test_deliveries_of_a_resource_that_are_claimed_together_count_singly(limited, receiver, module_admin_factory, module_instance):
    subscription = subscribe(limited, receiver.url, "broker.*", ordering="resource")
    hold(module_instance, subscription)
    broker = limited.broker()
    for number in range(LIMIT + 2):
        ok(limited.patch("brokers/" + broker["id"], json={"name": f"N{number}"}))
    resume(module_instance, subscription)
    eventually(lambda: ok(limited.get("webhooks/" + subscription["id"])).get("limited_until"), "limited_until")
    assert len(receiver.arrivals) == LIMIT
    raise_limit(limited, module_admin_factory)
    eventually(lambda: len(receiver.arrivals) == LIMIT + 3, "all deliveries", LEASE_S / 2)
    received = [one.json["payload"]["updated_at"] for one in receiver.arrivals]
    assert received == sorted(set(received))


def received_ids(receiver):
    return [one.event_id for one in receiver.arrivals if one.path != "/neighbour"]
