# SPDX-License-Identifier: Apache-2.0
"""Subscriptions with ordering: the events of a resource arrive in the order of its updated_at, and one that fails holds up only those
of the same resource."""

import contextlib
import itertools
import os
import random
import signal
import threading
import time
from collections import defaultdict
from pathlib import Path

import psycopg2
import pytest

import receiver as behaviours
from client import Api, ok, wrong_fields
from httpd import Httpd
from receiver import Receiver, status
from test_jobs import run_jobs
from wait import eventually, together
from webhook_fixtures import (HERE, activate, admin, deliveries, hold, module_admin_factory, module_instance, queued,  # noqa: F401
                              receiver, recover, resume, subscribe)

DELAYS = [0, 1, 1, 1, 1]
CONF = HERE + f"NeoAPIWebhookRetryDelays {' '.join(map(str, DELAYS))}\nNeoAPIWebhookTimeout 2\n"
PARKED = "select count(*) from neoapi.webhook_queue where subscription_id = %s and due_at = 'infinity'"


@pytest.fixture(scope="module")
def second(module_instance, tmp_path_factory):
    """Another host on the same database."""
    with Httpd(module_instance, tmp_path_factory.mktemp("second"),
               ("DocumentRoot .*", CONF.replace("${INSTANCE}", str(module_instance.state)))) as httpd:
        yield httpd


def ordered(api, url, **more):
    return subscribe(api, url, "broker.*", ordering="resource", **more)


def rename(api, broker, *numbers):
    for number in numbers:
        ok(api.patch("brokers/" + broker["id"], json={"name": f"N{number}"}))


def of(arrivals, broker):
    return [one for one in arrivals if one.json["payload"]["id"] == broker["id"]]


def version(arrival):
    return arrival.json["payload"]["updated_at"]


class Fails:
    """Responds 500 to the deliveries of some brokers, until `ids` is empty."""

    def __init__(self, *brokers):
        self.ids = {one["id"] for one in brokers}

    def __call__(self, handler, arrival):
        (status(500) if arrival.json["payload"].get("id") in self.ids else behaviours.ok)(handler, arrival)


class Unreliable:
    """Fails, hangs and is slow at random; `ended` has the time at which each delivery was accepted, before the response."""

    def __init__(self, seed):
        self.random, self.lock, self.ended = random.Random(seed), threading.Lock(), {}

    def __call__(self, handler, arrival):
        with self.lock:
            chance, pause = self.random.random(), self.random.uniform(0, 0.05)
        time.sleep(pause)
        if chance < 0.02:
            handler.server.closing.wait(3)
        if chance < 0.1:
            return status(500)(handler, arrival)
        with self.lock:
            self.ended.setdefault(arrival.id, time.time())
        return behaviours.ok(handler, arrival)


def check_order(arrivals, ended):
    """No event arrives before an earlier one of its resource was accepted. `ended`: when each delivery was, or failed for good."""
    of_resource = defaultdict(dict)
    for one in arrivals:
        of_resource[one.json["payload"]["id"]][version(one)] = one.id
    wrong = []
    for one in arrivals:
        versions = of_resource[one.json["payload"]["id"]]
        wrong += [(one.id, earlier) for at, earlier in versions.items() if at < version(one) and not ended.get(earlier, 1e10) <= one.at]
    assert not wrong


def test_ordering_is_a_field_of_a_subscription(admin, receiver):
    made = ordered(admin, receiver.url)
    path = "webhooks/" + made["id"]
    assert made["ordering"] == ok(admin.get(path))["ordering"] == "resource"
    assert ok(admin.patch(path, json={"ordering": "none"}))["ordering"] == "none"
    assert "ordering" not in ok(admin.patch(path, json={"ordering": None}))
    assert "ordering" in wrong_fields(admin.patch(path, json={"ordering": "strict"}))
    assert "ordering" not in subscribe(admin, receiver.url)


def test_a_broken_record_holds_up_only_itself(admin, receiver):
    """Until its delivery has failed for good; then the next one follows."""
    broken, fine = admin.broker(), admin.broker()
    fails = Fails(broken)
    receiver.behave(fails)
    subscription = ordered(admin, receiver.url)
    rename(admin, broken, 1, 2, 3)
    rename(admin, fine, 1, 2, 3)
    eventually(lambda: len(of(receiver.arrivals, fine)) == 3, "the other record's events", 8)
    assert [one.json["payload"]["name"] for one in of(receiver.arrivals, fine)] == ["N1", "N2", "N3"]
    assert {one.json["payload"]["name"] for one in of(receiver.arrivals, broken)} == {"N1"}
    eventually(lambda: sum(one["attempt_count"] == 0 for one in deliveries(admin, subscription, status="pending")) == 2,
               "only the broken record's later events wait")
    eventually(lambda: of(receiver.arrivals, broken)[-1].json["payload"]["name"] == "N2", "the first one has failed for good", 20)
    fails.ids.clear()
    eventually(lambda: not deliveries(admin, subscription, status="pending"), "nothing is pending", 20)
    names = [one.json["payload"]["name"] for one in of(receiver.arrivals, broken)]
    assert names == sorted(names) and names[-1] == "N3" and names.count("N1") == len(DELAYS)


def test_many_changes_of_a_broken_record_are_parked_and_sent_in_order(admin, receiver, module_instance):
    broken, fine = admin.broker(), admin.broker()
    fails = Fails(broken)
    receiver.behave(fails)
    subscription = ordered(admin, receiver.url, is_active=False)
    activate(admin, subscription)
    rename(admin, broken, *range(100, 160))
    eventually(lambda: module_instance.sql(PARKED, subscription["id"])[0][0] >= 50, "they are parked", 20)
    parked = [one for one in deliveries(admin, subscription, status="pending") if "next_attempt_at" not in one]
    assert parked
    rename(admin, fine, 1)
    eventually(lambda: of(receiver.arrivals, fine), "the other record's event", 5)
    fails.ids.clear()
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue")
    names = list(dict.fromkeys(one.json["payload"]["name"] for one in of(receiver.arrivals, broken)))
    assert names == [f"N{n}" for n in range(100, 160)]


@pytest.fixture
def waiting(admin, receiver, module_instance):
    """A broker's deliveries, which wait until `resume`: their subscription and their ids in order."""
    subscription = ordered(admin, receiver.url)
    hold(module_instance, subscription)
    rename(admin, admin.broker(), 1, 2)
    return subscription, [id for id, in module_instance.sql(
        "select id from neoapi.webhook_queue where subscription_id = %s and changed_at is not null order by changed_at", subscription["id"])]


def park(instance, *ids):
    instance.sql("update neoapi.webhook_queue set due_at = 'infinity' where id = any (%s)", list(ids))


def test_a_parked_delivery_that_follows_none_is_sent(receiver, waiting, module_instance):
    subscription, ids = waiting
    park(module_instance, *ids)
    resume(module_instance, subscription)
    run_jobs(module_instance, "wake_parked")
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue")
    assert [one.id for one in receiver.arrivals] == ids


# The lock lasts until after the deletion, before its trigger.
END = """
with ended as (delete from neoapi.webhook_queue where id = %s returning id)
select pg_advisory_xact_lock_shared(hashtext('test_webhook_ordering')) from ended"""
WAIT_FOR_LOCK = """
select count(*) = 2 from pg_locks where locktype = 'advisory' and not granted and objsubid = 1
and database = (select oid from pg_database where datname = current_database())"""


def test_two_deliveries_that_end_at_the_same_time_make_the_next_one_due(receiver, waiting, module_instance):
    """Neither transaction sees the other one's deletion."""
    subscription, (*ended, last) = waiting
    park(module_instance, last)
    with contextlib.ExitStack() as stack:
        holder, *enders = [stack.enter_context(contextlib.closing(psycopg2.connect(module_instance.admin_dsn))) for _ in range(3)]
        holder.cursor().execute("select pg_advisory_xact_lock(hashtext('test_webhook_ordering'))")

        def release():
            eventually(lambda: module_instance.sql(WAIT_FOR_LOCK) == [(True,)], "both are deleted")
            holder.rollback()
        together(release, *(lambda one=one, id=id: one.cursor().execute(END, [id]) for one, id in zip(enders, ended)))
        for one in enders:
            one.commit()
    resume(module_instance, subscription)
    receiver.wait_for(1, 20)
    assert [one.id for one in receiver.arrivals] == [last]


def children(parent):
    return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def kill_child(parent):
    with contextlib.suppress(ProcessLookupError, IndexError):
        os.kill(random.choice(children(parent)), signal.SIGKILL)


CHANGES = 6
TOGETHER = "select count(*) from neoapi.webhook_queue where subscription_id = %s and claim is not null group by claim >> 1"
EARLIER = "select count(*) from neoapi.webhook_queue where resource_id = %s and changed_at < %s::timestamptz"


@pytest.fixture
def claimed_together(admin, receiver, module_instance):
    """A function that makes CHANGES changes of a broker, whose deliveries are claimed together. It returns the broker and the
    subscription. `then(number, handler, arrival)` responds to each request, numbered from 0."""
    def make(then):
        responds, numbers = threading.Event(), itertools.count()

        def behave(handler, arrival):
            number = next(numbers)
            if number == 0:
                responds.wait(30)
            then(number, handler, arrival)
        broker = admin.broker()
        receiver.behave(behave)
        subscription = ordered(admin, receiver.url)
        hold(module_instance, subscription)
        rename(admin, broker, *range(CHANGES))
        resume(module_instance, subscription)
        eventually(lambda: module_instance.sql(TOGETHER, subscription["id"]) == [(CHANGES,)], "one claim", 30)
        responds.set()
        return broker, subscription
    return make


def names(receiver):
    return [one.json["payload"]["name"] for one in receiver.arrivals]


def test_each_is_sent_when_the_one_before_was_recorded(receiver, claimed_together, module_instance):
    pending = []

    def count_earlier(_, handler, arrival):
        payload = arrival.json["payload"]
        pending.append(module_instance.sql(EARLIER, payload["id"], payload["updated_at"])[0][0])
        behaviours.ok(handler, arrival)
    _, subscription = claimed_together(count_earlier)
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue")
    assert pending == [0] * CHANGES and names(receiver) == [f"N{n}" for n in range(CHANGES)]


def test_a_failure_holds_up_what_was_claimed_with_it(receiver, claimed_together, module_instance):
    def fail_once(number, handler, arrival):
        status(500 if number == 2 else 204)(handler, arrival)
    _, subscription = claimed_together(fail_once)
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue")
    assert names(receiver) == ["N0", "N1", "N2", "N2", *(f"N{n}" for n in range(3, CHANGES))]


def test_a_change_of_the_subscription_applies_to_what_was_claimed_before(admin, receiver, claimed_together, module_instance):
    with Receiver() as other:
        def move(number, handler, arrival):
            if number == 1:
                subscription, = ok(admin.get("webhooks"))["items"]
                ok(admin.patch("webhooks/" + subscription["id"], json={"url": other.url}))
            behaviours.ok(handler, arrival)
        _, subscription = claimed_together(move)
        eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue")
        assert names(receiver) == ["N0", "N1"] and names(other) == [f"N{n}" for n in range(2, CHANGES)]


def test_nothing_that_was_claimed_is_sent_after_a_deactivation(admin, receiver, claimed_together, module_instance):
    def end(number, handler, arrival):
        if number == 1:
            subscription, = ok(admin.get("webhooks"))["items"]
            activate(admin, subscription, False)
        behaviours.ok(handler, arrival)
    _, subscription = claimed_together(end)
    eventually(lambda: module_instance.sql("select count(*) from neoapi.webhook_queue where subscription_id = %s and claim is null",
                                           subscription["id"]) == [(CHANGES - 2,)], "the others are released")
    assert names(receiver) == ["N0", "N1"]
    activate(admin, subscription)
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue")
    assert names(receiver) == [f"N{n}" for n in range(CHANGES)]


def test_what_a_killed_process_has_claimed_keeps_the_order(receiver, claimed_together, module_instance):
    """The delivery that was being sent is sent again, before those that follow it."""
    def be_killed(number, handler, arrival):
        for child in children(module_instance.pid) if number == 2 else []:
            os.kill(child, signal.SIGKILL)
        behaviours.ok(handler, arrival)
    _, subscription = claimed_together(be_killed)
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue", 120)
    assert names(receiver) == ["N0", "N1", "N2", "N2", *(f"N{n}" for n in range(3, CHANGES))]


def test_two_hosts_and_killed_processes_keep_the_order(admin, second, module_instance):
    """A receiver that fails, hangs and is slow never gets an event before an earlier one of the same resource was accepted."""
    apis = [admin, Api(second, admin.credential)]
    brokers = [admin.broker() for _ in range(8)]
    behave = Unreliable(1)
    with Receiver(behave) as receiver:
        subscription = ordered(admin, receiver.url)

        def write(api, own):
            for number in range(12):
                for broker in own:
                    eventually(lambda: renamed(api, broker, number), "a change")

        def kill():
            for parent in (module_instance.pid, second.process.pid) * 2:
                time.sleep(0.4)
                kill_child(parent)
        together(*(lambda api=api, own=own: write(api, own)
                   for api, own in zip(apis, (brokers[:4], brokers[4:]))), kill)
        eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue", 120)
        failed = {id: at for id, at in module_instance.sql(
            "select delivery_id, extract(epoch from started_at)::float from neoapi.webhook_attempt"
            " where subscription_id = %s and outcome = 'failed'", subscription["id"])}
        check_order(receiver.arrivals, failed | behave.ended)
        for broker in brokers:
            versions = [version(one) for one in of(receiver.arrivals, broker)]
            assert versions == sorted(versions), "an event was sent again after a later one"
        assert len({one.id for one in receiver.arrivals}) == len(brokers) * 12


def renamed(api, broker, number):
    with contextlib.suppress(OSError):
        return api.patch("brokers/" + broker["id"], json={"name": f"N{number}"}).status_code == 200
    return False


def test_a_deletion_is_last_and_what_comes_again_keeps_the_order(admin, receiver, module_instance):
    """Deliveries of a recovery are ordered, too."""
    receiver.behave(status(500))
    subscription = ordered(admin, receiver.url)
    broker = admin.broker()
    rename(admin, broker, 1, 2)
    ok(admin.delete("brokers/" + broker["id"]), 204)
    receiver.wait_for(1)
    activate(admin, subscription, False)
    module_instance.sql("delete from neoapi.webhook_queue where subscription_id = %s and number = 1", subscription["id"])
    receiver.behave(behaviours.ok)
    activate(admin, subscription)
    recover(admin, subscription)
    eventually(lambda: queued(module_instance, subscription) == 0, "an empty queue", 20)
    types = list(dict.fromkeys(one.json["event_type"] for one in receiver.arrivals))
    assert types == ["broker.created", "broker.updated", "broker.deleted"]
    accepted = [version(one) for one in receiver.arrivals]
    assert accepted == sorted(accepted)


def test_ordering_can_be_switched_with_pending_deliveries(admin, receiver, module_instance):
    receiver.behave(status(500))
    subscription = subscribe(admin, receiver.url, "broker.*")
    activate(admin, subscription, False)
    activate(admin, subscription)
    broker = admin.broker()
    receiver.wait_for(1)
    path = "webhooks/" + subscription["id"]
    ok(admin.patch(path, json={"ordering": "resource"}))
    rename(admin, broker, *range(3))
    eventually(lambda: module_instance.sql(PARKED, subscription["id"])[0][0] == 3, "they wait", 20)
    ok(admin.patch(path, json={"ordering": "none"}))
    eventually(lambda: {one.json["payload"].get("name") for one in receiver.arrivals} >= {"N0", "N1", "N2"}, "all are sent", 5)
    assert not module_instance.sql(PARKED, subscription["id"])[0][0]


def test_a_test_event_waits_for_nothing(admin, receiver):
    broken = admin.broker()
    receiver.behave(Fails(broken))
    subscription = ordered(admin, receiver.url)
    rename(admin, broken, 1)
    receiver.wait_for(1)
    ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    eventually(lambda: [one for one in receiver.arrivals if one.json["event_type"] == "webhook.test"], "the test event", 8)
