# SPDX-License-Identifier: Apache-2.0
"""Deletion of a subscription while its deliveries are in flight: order and locks of changes to the queue."""

import collections
import contextlib
import threading

import psycopg2
import pytest

from client import ok
from webhook_fixtures import (HERE, add_pending_deliveries, admin, module_admin_factory, module_instance, queued,
                              receiver, subscribe)
from receiver import Receiver
from receiver import ok as well
from receiver import status
from wait import eventually

CONF = HERE  # timeout of 15 s, retry after 60 s
MAX_IN_FLIGHT = 32  # attempts of one process at a time for one subscription
TURN_TIMEOUT_S = 14


class OrderedResponses:
    """Responds to deliveries in the order of respond_to(ids…), with 500 to those in `bad`."""

    def __init__(self, receiver):
        self.allowed, self.answered, self.bad = *(collections.defaultdict(threading.Event) for _ in range(2)), set()
        receiver.behave(self._answer)

    def _answer(self, handler, arrival):
        self.allowed[arrival.id].wait(TURN_TIMEOUT_S)
        (status(500) if arrival.id in self.bad else well)(handler, arrival)
        self.answered[arrival.id].set()

    def respond_to(self, *ids):
        for id in ids:
            self.allowed[id].set()
            assert self.answered[id].wait(TURN_TIMEOUT_S)


@contextlib.contextmanager
def locked_row(instance, id):
    """Locks a row of the queue in another transaction. Yields a function that releases it early."""
    with contextlib.closing(psycopg2.connect(instance.admin_dsn)) as connection:
        with connection.cursor() as cursor:
            cursor.execute("select from neoapi.webhook_queue where id = %s for update", (id,))
        yield connection.rollback


def test_a_locked_subscription_does_not_delay_the_others(admin, receiver, module_instance):
    """The first attempts of others are sent while the row of the failing subscription, which has its health, is locked."""
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


def deletion_position(instance, subscription):
    return instance.sql("select position from neoapi.webhook_deletion where subscription_id = %s", subscription["id"])


def test_deleting_a_subscription_does_not_wait_for_its_deliveries(admin, receiver, module_instance):
    """Not even for a locked one. Deliveries of a statement that did not see the deletion fail as well."""
    count = 2500
    subscription = subscribe(admin, receiver.url, is_active=False)
    add_pending_deliveries(module_instance, subscription, count)
    columns = "id, organization_id, subscription_id, number, due_at"
    row, = module_instance.sql(f"select {columns} from neoapi.webhook_queue where subscription_id = %s order by id limit 1 offset 7",
                               subscription["id"])
    with locked_row(module_instance, row[0]):
        ok(admin.delete(f"webhooks/{subscription['id']}"), 204)
        eventually(lambda: queued(module_instance, subscription) == 1, "all deliveries except the locked one have failed")
    eventually(lambda: queued(module_instance, subscription) == 0, "the locked delivery has failed")
    assert module_instance.sql("select error, outcome, count(*) from neoapi.webhook_attempt where subscription_id = %s group by 1, 2",
                               subscription["id"]) == [("subscription_deleted", "failed", count)]
    late = (row[0][:-6] + "900000", *row[1:])
    module_instance.sql(f"insert into neoapi.webhook_queue ({columns}) values %s", late)
    eventually(lambda: queued(module_instance, subscription) == 0, "the late one has failed")
    assert deletion_position(module_instance, subscription)
    module_instance.sql("update neoapi.webhook_deletion set deleted_at = now() - interval '2 minutes'")
    eventually(lambda: not deletion_position(module_instance, subscription), "the deletion is over")
    assert not receiver.arrivals


@pytest.mark.parametrize("outcomes", ["good", "mixed"])
def test_failing_and_recording_deliveries_do_not_wait_for_each_other(admin, receiver, module_instance, outcomes):
    """Deliveries in flight end once, with their result or with the deletion."""
    def waiting():
        return module_instance.sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")[0][0]

    def deadlocks():
        return module_instance.sql("select deadlocks from pg_stat_database where datname = current_database()")[0][0]

    before, responses, count = deadlocks(), OrderedResponses(receiver), MAX_IN_FLIGHT * len(module_instance.children())
    subscription = subscribe(admin, receiver.url, is_active=False)
    add_pending_deliveries(module_instance, subscription, count)
    module_instance.sql("analyze neoapi.webhook_queue")
    ok(admin.patch(f"webhooks/{subscription['id']}", json={"is_active": True}))
    receiver.wait_for(count)
    of_one = [id for id,
              in module_instance.sql("select id from neoapi.webhook_queue where claim = (select claim from neoapi.webhook_queue"
                                     " where subscription_id = %s order by id limit 1) order by id", subscription["id"])]
    first, middle, more, last = of_one[:8], of_one[8], of_one[9:-1], of_one[-1]
    responses.bad |= set(first) if outcomes == "mixed" else set()
    with locked_row(module_instance, middle) as go_on, locked_row(module_instance, last) as begin:
        responses.respond_to(*first)
        eventually(lambda: not module_instance.sql("select 1 from neoapi.webhook_queue where id = any(%s) and number = 1", first),
                   "the first are recorded")  # with the receiver's health, which locks the subscription
        responses.allowed[last].set()
        eventually(lambda: waiting() >= 1, "the courier, with the last result")
        ok(admin.delete(f"webhooks/{subscription['id']}"), 204)
        eventually(lambda: queued(module_instance, subscription) <= MAX_IN_FLIGHT, "the couriers fail them, but for locked ones")
        begin()
        responses.respond_to(*more)
        eventually(lambda: not module_instance.sql("select 1 from neoapi.webhook_queue where id = %s", last),
                   "that it is recorded", TURN_TIMEOUT_S)
        eventually(lambda: queued(module_instance, subscription) == 1, "only the one in the middle is left")
        go_on()
        responses.respond_to(*{arrival.id for arrival in receiver.arrivals})
    eventually(lambda: queued(module_instance, subscription) == 0, "nothing is pending")
    assert deadlocks() == before
    assert module_instance.sql("select count(*) from neoapi.webhook_attempt where subscription_id = %s and outcome is not null",
                               subscription["id"]) == [(count,)]
