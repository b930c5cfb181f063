# SPDX-License-Identifier: Apache-2.0
"""Claims end when their process ends, immediately if it is killed, and not while it is stopped or loses its connections."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from client import Api
from httpd import Httpd
from receiver import Receiver, ok
from webhook_fixtures import (HERE, admin, module_admin_factory, module_instance, queued,  # noqa: F401 (fixtures)
                              receiver, subscribe)
from wait import TIMEOUT_S, eventually

CONF = HERE + "NeoAPIWebhookTimeout 60\n"  # longer than a test
KILL_LIMIT_S = 2.5  # two seconds, and a tolerance for a busy machine


@pytest.fixture(scope="module")
def second_host(module_instance, tmp_path_factory):
    with Httpd(module_instance, tmp_path_factory.mktemp("second"),
               ("DocumentRoot .*", CONF.replace("${INSTANCE}", str(module_instance.state)))) as httpd:
        yield httpd


def owners(instance):
    """The number of claims by process."""
    return dict(instance.sql("select pid, count(*) from neoapi.webhook_queue q join neoapi.claim_owner o on o.id = q.claim >> 32"
                             " group by pid"))


@pytest.fixture
def answer():
    """An event: the receiver responds when it is set."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def claimed(module_instance, second_host, admin, receiver, answer):
    """Starts a delivery to a receiver that does not respond yet. Returns the process that sends it."""
    def hold(handler, body):
        answer.wait(TIMEOUT_S)
        ok(handler, body)
    receiver.behave(hold)
    subscribe(admin, receiver.url, "broker.created")
    admin.broker()
    receiver.wait_for(1)
    (pid, count), = owners(module_instance).items()
    assert count == 1
    return pid


def expire_leases(instance):
    instance.sql("update neoapi.webhook_queue set due_at = now() - interval '1 second' where claim is not null")


@pytest.fixture
def other_api(module_instance, second_host, admin, claimed):
    """A client of the other host, because a stopped process can block all requests to its host."""
    parent = int(Path(f"/proc/{claimed}/stat").read_text().rpartition(")")[2].split()[1])
    return Api(module_instance if parent == second_host.process.pid else second_host, admin.credential)


def deliver_another(api, times=1):
    """Delivers events to another receiver. Afterwards everything that was due has been claimed."""
    with Receiver() as other:
        subscription = subscribe(api, other.url, "broker.updated")
        broker = api.get("brokers").json()["items"][0]["id"]
        for number in range(times):
            assert api.patch("brokers/" + broker, json={"name": f"{number}"}).status_code == 200
            other.wait_for(number + 1)
        assert api.delete("webhooks/" + subscription["id"]).status_code == 204


def test_the_claims_of_a_killed_process_are_free_within_two_seconds(module_instance, receiver, claimed, answer):
    killed = time.monotonic()
    os.kill(claimed, signal.SIGKILL)
    receiver.wait_for(2)
    answer.set()
    took = time.monotonic() - killed
    assert took < KILL_LIMIT_S, f"{took:.1f} s"
    eventually(lambda: queued(module_instance) == 0, "the delivery's end")
    eventually(lambda: claimed not in {pid for pid, in module_instance.sql("select pid from neoapi.claim_owner")}, "removal")


def test_a_stopped_process_keeps_its_claims(module_instance, other_api, receiver, claimed, answer):
    os.kill(claimed, signal.SIGSTOP)
    try:
        expire_leases(module_instance)
        deliver_another(other_api)
        assert len(receiver.arrivals) == 1
    finally:
        answer.set()
        os.kill(claimed, signal.SIGCONT)
    eventually(lambda: queued(module_instance) == 0, "the delivery's end")
    assert len(receiver.arrivals) == 1


@pytest.mark.slow
def test_a_process_that_ends_gracefully_waits_for_its_attempts(module_instance, second_host, receiver, claimed, answer):
    """Even if that takes longer than the timeout of an immediate stop."""
    module_instance.command("graceful")
    second_host.process.send_signal(signal.SIGUSR1)
    until = time.monotonic() + 7
    eventually(lambda: time.monotonic() > until or len(receiver.arrivals) > 1, "time passes")
    answer.set()
    eventually(lambda: queued(module_instance) == 0, "the delivery's end")
    assert len(receiver.arrivals) == 1
