# SPDX-License-Identifier: Apache-2.0
"""A subscription that is deleted while it is delivered to: who takes what of the queue, and in which order."""

import collections
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest

from client import ok
from webhook_fixtures import (HERE, add_pending_deliveries, admin, module_admin_factory, module_instance, queued,
                              receiver, subscribe)
from receiver import Receiver
from receiver import ok as well
from receiver import status
from wait import eventually

CONF = HERE  # an attempt has fifteen seconds, and another follows after a minute
MAX_IN_FLIGHT = 32  # attempts of one process at a time for one subscription
TURN_TIMEOUT_S = 14


class Turns:
    """Answers each delivery when its turn comes, those of `bad` with 500."""

    def __init__(self, receiver):
        self.come, self.answered, self.bad = *(collections.defaultdict(threading.Event) for _ in range(2)), set()
        receiver.behave(self._answer)

    def _answer(self, handler, arrival):
        self.come[arrival.id].wait(TURN_TIMEOUT_S)
        (status(500) if arrival.id in self.bad else well)(handler, arrival)
        self.answered[arrival.id].set()

    def of(self, *ids):
        for id in ids:
            self.come[id].set()
            assert self.answered[id].wait(TURN_TIMEOUT_S)


@contextlib.contextmanager
def held(instance, id):
    """A row of the queue that another transaction locks. Yields a function that releases it early."""
    with contextlib.closing(psycopg2.connect(instance.admin_dsn)) as connection:
        with connection.cursor() as cursor:
            cursor.execute("select from neoapi.webhook_queue where id = %s for update", (id,))
        yield connection.rollback


def test_a_locked_subscription_does_not_delay_the_others(admin, receiver, module_instance):
    """The first attempts of the others arrive while the failing one's row is locked, which its health is noted in."""
    with Receiver() as failing, contextlib.closing(psycopg2.connect(module_instance.admin_dsn)) as connection:
        failing.behave(status(500))
        locked = subscribe(admin, failing.url)
        healthy = subscribe(admin, receiver.url)
        with connection.cursor() as cursor:
            cursor.execute("select from neoapi.webhook_subscription where id = %s for update", (locked["id"],))
        for n in range(1, 13):  # of all processes
            admin.broker()
            failing.wait_for(n)
            receiver.wait_for(n, 3)
        connection.rollback()
        admin.broker()
        eventually(lambda: module_instance.sql("select failing_since from neoapi.webhook_subscription where id = %s",
                                               locked["id"])[0][0], "the next failure is noted")
        for one in (locked, healthy):
            ok(admin.delete(f"webhooks/{one['id']}"), 204)


@pytest.mark.parametrize("outcomes", ["good", "mixed"])
def test_ending_and_recording_deliveries_lock_rows_in_the_same_order(admin, receiver, module_instance, outcomes):
    """Otherwise the two wait for each other, until PostgreSQL finds out after a second."""
    def waiting():
        return module_instance.sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")[0][0]

    def deadlocks():
        return module_instance.sql("select deadlocks from pg_stat_database where datname = current_database()")[0][0]

    before, turns, count = deadlocks(), Turns(receiver), MAX_IN_FLIGHT * len(module_instance.children())
    subscription = subscribe(admin, receiver.url, is_active=False)
    add_pending_deliveries(module_instance, subscription, count)
    module_instance.sql("analyze neoapi.webhook_queue")
    ok(admin.patch(f"webhooks/{subscription['id']}", json={"is_active": True}))
    receiver.wait_for(count)
    of_one = [id for id,
              in module_instance.sql("select id from neoapi.webhook_queue where claim = (select claim from neoapi.webhook_queue"
                                     " where subscription_id = %s order by id limit 1) order by id", subscription["id"])]
    first, middle, more, last = of_one[:8], of_one[8], of_one[9:-1], of_one[-1]
    turns.bad |= set(first) if outcomes == "mixed" else set()
    with held(module_instance, middle) as go_on, held(module_instance, last) as begin, ThreadPoolExecutor() as pool:
        deleted = pool.submit(admin.delete, f"webhooks/{subscription['id']}")
        eventually(lambda: waiting() >= 1, "the deletion, which has come to the middle")
        turns.come[last].set()
        eventually(lambda: waiting() >= 2, "the courier, with one result")
        turns.of(*more, *first)  # all of which it records together
        begin()
        eventually(lambda: not module_instance.sql("select 1 from neoapi.webhook_queue where id = %s", last),
                   "that it is recorded", TURN_TIMEOUT_S)
        eventually(lambda: waiting() >= 2, "the courier, with one of the first, and perhaps with others in its hands")
        go_on()
        ok(deleted.result(), 204)
        turns.of(*{arrival.id for arrival in receiver.arrivals})
    assert deadlocks() == before
    assert queued(module_instance, subscription) == 0
    assert module_instance.sql("select count(*) from neoapi.webhook_attempt where subscription_id = %s and outcome is not null",
                               subscription["id"]) == [(count,)]
