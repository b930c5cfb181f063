# SPDX-License-Identifier: Apache-2.0
"""max_per_second and max_in_flight of a subscription, over all processes and hosts, and pauses that a receiver asks for."""

import threading
import time
from pathlib import Path

import pytest

import receiver as behaviours
from client import Api, moment, ok, wrong_fields
from httpd import Httpd
from receiver import Receiver, one_after_the_other, slowly, status
from wait import eventually
from webhook_fixtures import (HERE, activate, admin, attempted, deliveries, hold, module_admin_factory, module_instance,  # noqa: F401
                              queued, receiver, resume, subscribe, until)

PER_SUBSCRIPTION = 8
CONF = HERE + f"NeoAPIWebhookRetryDelays 0 1 1 2 2\nNeoAPIWebhookTimeout 5\nNeoAPIWebhookPerSubscription {PER_SUBSCRIPTION}\n"
HOUR_S = 3600
FIELDS = {"max_per_second": (1, 1000), "max_in_flight": (1, 512)}


@pytest.fixture(scope="module")
def second(module_instance, tmp_path_factory):
    """Another host on the same database."""
    with Httpd(module_instance, tmp_path_factory.mktemp("second"),
               ("DocumentRoot .*", CONF.replace("${INSTANCE}", str(module_instance.state)))) as httpd:
        yield httpd


def create(api, count):
    """Creates brokers in batches."""
    for first in range(0, count, 100):
        operations = [{"method": "create", "data": {"name": f"B{n}"}} for n in range(first, min(first + 100, count))]
        ok(api.post("brokers/batch", json={"operations": operations}))


class Crowd:
    """A behaviour that counts the requests in progress. `peak` is their greatest number."""

    def __init__(self, then):
        self.then, self.now, self.peak, self.lock = then, 0, 0, threading.Lock()

    def __call__(self, handler, arrival):
        with self.lock:
            self.now += 1
            self.peak = max(self.peak, self.now)
        self.then(self.leave(handler), arrival)

    def leave(self, handler):
        """Counts the request as ended before the response is sent. A handler serves all requests of its connection."""
        send = type(handler).send_response.__get__(handler)

        def send_response(*args):
            with self.lock:
                self.now -= 1
            send(*args)
        handler.send_response = send_response
        return handler


@pytest.mark.parametrize("name", FIELDS)
def test_limits_are_fields_of_a_subscription(admin, receiver, name):
    least, greatest = FIELDS[name]
    made = subscribe(admin, receiver.url, **{name: greatest})
    path = "webhooks/" + made["id"]
    assert made[name] == ok(admin.get(path))[name] == greatest
    assert ok(admin.patch(path, json={name: least}))[name] == least
    assert name not in ok(admin.patch(path, json={name: None}))
    for value in (least - 1, greatest + 1, 1.5, "1"):
        assert wrong_fields(admin.patch(path, json={name: value})) .keys() == {name}
    assert not set(FIELDS) & set(subscribe(admin, receiver.url))


def test_a_subscription_gets_no_more_requests_a_second_than_it_wants(admin, second, receiver, module_admin_factory):
    """From two hosts, of whose processes each takes part of the backlog. Nobody else is delayed."""
    count, rate = 150, 50
    subscription = subscribe(admin, receiver.url, "broker.*", max_per_second=rate, is_active=False)
    with Receiver() as other:
        subscribe(admin, other.url, "broker.*")
        activate(admin, subscription)
        began = time.time()
        for api in (admin, Api(second, admin.credential), admin):
            create(api, count // 3)
        other.wait_for(count)
        receiver.wait_for(count)
    took = max(one.at for one in receiver.arrivals) - began
    assert took >= (count - 1) / rate * 0.99, f"{count} deliveries in {took} s"
    assert len({one.id for one in receiver.arrivals}) == len(receiver.arrivals) == count


@pytest.mark.parametrize("limit", [1, 3])
def test_a_subscription_gets_no_more_requests_at_a_time_than_it_wants(admin, second, receiver, limit):
    crowd = Crowd(slowly(0.05))
    receiver.behave(crowd)
    subscribe(admin, receiver.url, "broker.*", max_in_flight=limit)
    for api in (admin, Api(second, admin.credential)):
        create(api, 20)
    receiver.wait_for(40)
    assert crowd.peak == limit


def test_deliveries_of_a_resource_that_are_claimed_together_count_once(admin, second, receiver, module_instance):
    limit, changes, may_end = 2, 5, threading.Event()

    def wait(handler, arrival):
        may_end.wait(60)
        behaviours.ok(handler, arrival)
    crowd = Crowd(wait)
    receiver.behave(crowd)
    subscription = subscribe(admin, receiver.url, "broker.*", ordering="resource", max_in_flight=limit)
    hold(module_instance, subscription)
    brokers = [admin.broker() for _ in range(4)]
    for number in range(changes):
        for broker in brokers:
            ok(admin.patch("brokers/" + broker["id"], json={"name": f"N{number}"}))
    resume(module_instance, subscription)
    eventually(lambda: module_instance.sql("select count(*) from neoapi.webhook_queue where subscription_id = %s and claim is not null",
                                           subscription["id"])[0][0] > limit, "several of a resource are claimed")
    may_end.set()
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue")
    assert crowd.peak == limit
    for broker in brokers:
        names = [one.json["payload"]["name"] for one in receiver.arrivals if one.json["payload"]["id"] == broker["id"]]
        assert names == [broker["name"], *(f"N{number}" for number in range(changes))]


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_slow_receiver_gets_no_more_requests_at_a_time_than_a_fast_one(admin, second, receiver, module_instance):
    """Although a process claims requests before their time."""
    count = 150
    crowd = Crowd(slowly(0.3))
    receiver.behave(crowd)
    subscription = subscribe(admin, receiver.url, "broker.*", max_per_second=1000)
    processes = len(children(module_instance.pid) + children(second.process.pid))
    create(admin, count)
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue")
    assert len(receiver.arrivals) == count and crowd.peak <= PER_SUBSCRIPTION * processes


def test_both_limits_hold_together_and_can_be_removed(admin, receiver, module_instance):
    crowd = Crowd(slowly(0.05))
    receiver.behave(crowd)
    subscription = subscribe(admin, receiver.url, "broker.*", max_in_flight=2, max_per_second=10)
    create(admin, 100)
    receiver.wait_for(5)
    assert crowd.peak <= 2
    ok(admin.patch("webhooks/" + subscription["id"], json={"max_in_flight": None, "max_per_second": None}))
    eventually(lambda: queued(module_instance, subscription) == 0, "the rest is sent at once", 8)


def test_a_limit_applies_to_failing_subscriptions_and_ends_with_them(admin, receiver, module_instance):
    receiver.behave(status(500))
    subscription = subscribe(admin, receiver.url, "broker.*", max_in_flight=1, max_per_second=100)
    create(admin, 3)
    receiver.wait_for(6)
    receiver.behave(behaviours.ok)
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue")
    assert ok(admin.delete("webhooks/" + subscription["id"]), 204) is None
    assert not module_instance.sql("select 1 from neoapi.webhook_pace where subscription_id = %s", subscription["id"])


# ---------------------------------------------------------------- Retry-After

@pytest.mark.parametrize("answer", [429, 502, 503, 504])
def test_an_overloaded_receiver_gets_nothing_until_it_wants_to(admin, receiver, answer):
    """Its other deliveries wait as well; those of other subscriptions do not."""
    receiver.behave(one_after_the_other(status(answer, Retry_After="2"), behaviours.ok))
    with Receiver() as other:
        subscription = subscribe(admin, receiver.url, "broker.*")
        subscribe(admin, other.url, "broker.*")
        admin.broker()
        attempted(admin, subscription)
        shown = eventually(lambda: ok(admin.get("webhooks/" + subscription["id"])).get("paused_until"), "paused_until")
        began = time.time()
        create(admin, 10)
        other.wait_for(11, 10)
        receiver.wait_for(12)
    first, *rest = receiver.arrivals
    assert moment(shown) >= first.at + 1.9 and rest[0].at >= began
    assert min(one.at for one in rest) >= first.at + 1.99
    eventually(lambda: deliveries(admin, subscription, status="success") and
               "paused_until" not in ok(admin.get("webhooks/" + subscription["id"])), "no pause is shown")


@pytest.mark.parametrize("asked", ["86400", "99999999999"])
def test_a_pause_lasts_an_hour_at_most_and_ends_with_activation(admin, receiver, asked):
    receiver.behave(one_after_the_other(status(429, Retry_After=asked), behaviours.ok))
    subscription = subscribe(admin, receiver.url, "broker.*")
    admin.broker()
    until_then = moment(eventually(lambda: ok(admin.get("webhooks/" + subscription["id"])).get("paused_until"), "paused_until"))
    arrival, = receiver.arrivals
    assert arrival.at + HOUR_S - 1 <= until_then <= time.time() + HOUR_S + 1
    admin.broker()
    newest, oldest = deliveries(admin, subscription)
    assert moment(newest["next_attempt_at"]) == until_then <= moment(oldest["next_attempt_at"])
    activate(admin, subscription, False)
    assert "paused_until" not in activate(admin, subscription)
    assert until(admin, subscription, "success")["id"] == newest["id"]
    assert deliveries(admin, subscription)[1]["status"] == "pending"
