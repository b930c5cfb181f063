# SPDX-License-Identifier: Apache-2.0
"""The courier's guarantees, tested with real receivers during failures.

NEOAPI_PROMISE_SCALE multiplies the sizes; 1 is the guaranteed size: 5,000 brokers, 10,000 deliveries.
"""

import contextlib
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

import requests
from client import Api, moment
from webhook_fixtures import DELAYS, FAST, HERE, queued, running_instance, subscribe
from httpd import Httpd
from admin_factory import AdminFactory
from receiver import (Receiver, ClosedPort, close_within_response, drip, hang, ok, slowly, status,
                      untrusted_certificate)
from wait import eventually

pytestmark = pytest.mark.slow

SCALE = float(os.environ.get("NEOAPI_PROMISE_SCALE", "0.1"))
BROKERS = int(5000 * SCALE)
DELIVERIES = int(10_000 * SCALE)
DELIVERY_TIMEOUT_S = 60 + 240 * SCALE  # seconds until everything is delivered
STOP_TIMEOUT_S = 8  # the parent kills processes after ten


@pytest.fixture
def own_instance(request):
    """An instance for one test, with the directives of its parameter, by default FAST."""
    with running_instance("promise", getattr(request, "param", FAST)) as instance:
        yield instance


@pytest.fixture
def admin(own_instance):
    return Api(own_instance, AdminFactory(own_instance).key())


class Writers:
    """Threads that create brokers during a `with` block, or until there are `count`. Requests without a 201 are repeated with
    another name. `made` has the duration of each request by the returned id.
    """

    def __init__(self, api, count=None, threads=6, pause=0):
        self.api, self.count, self.pause, self.leaving = api, count, pause, False
        self.begun, self.made, self.failures, self.lock = 0, {}, 0, threading.Lock()
        self.threads = [threading.Thread(target=self._write, args=(number,), daemon=True) for number in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.leaving = True
        for thread in self.threads:
            thread.join(DELIVERY_TIMEOUT_S)
            assert not thread.is_alive(), "a writer has not ended"
        assert self.is_done, f"only {len(self.made)} of {self.count} brokers were created"

    @property
    def is_done(self):
        return self.leaving if self.count is None else len(self.made) >= self.count

    def wait_for(self, count):
        eventually(lambda: len(self.made) >= count, f"{count} brokers", DELIVERY_TIMEOUT_S)

    def _write(self, number):
        api, deadline = self.api.with_(), time.monotonic() + DELIVERY_TIMEOUT_S
        while not self.is_done and time.monotonic() < deadline:
            id = self._create(api, f"Broker {number} {time.monotonic_ns()}") if self._begin(1) else None
            time.sleep(self.pause if id else 0.05)

    def _begin(self, change):
        """Reserves one of the brokers that are still to be created, so that there are not more."""
        with self.lock:
            if self.count is not None and self.begun + change > self.count:
                return False
            self.begun += change
            return True

    def _create(self, api, name):
        answer, begun = None, time.monotonic()
        with contextlib.suppress(requests.ConnectionError, requests.Timeout):
            answer = api.post("brokers", json={"name": name}, headers={"Connection": "close"})
        if answer is None or answer.status_code != 201:
            assert answer is None or answer.status_code == 503, answer.text
            self.failures += 1
            self._begin(-1)
            return None
        id = answer.json()["id"]
        self.made[id] = time.monotonic() - begun
        return id


def everything_is_delivered(own_instance, limit=DELIVERY_TIMEOUT_S):
    eventually(lambda: queued(own_instance) == 0, "nothing pending", limit)


def check_all_succeeded(own_instance, count=None, subscription=None):
    """Checks that all `count` deliveries, of one subscription or of all, have succeeded."""
    of = "%s is null or subscription_id = %s"
    which = [subscription and subscription["id"]] * 2
    ended = own_instance.sql(
        f"select outcome, count(*) from neoapi.webhook_attempt where outcome is not null and ({of}) group by 1",
        *which)
    made, = own_instance.sql(f"select count(*) from neoapi.webhook_delivery where {of}", *which)[0]
    assert ended == [("success", made)] and (count is None or made == count), (ended, made, count)


def check_arrivals(own_instance, writers, arrivals):
    """Checks that exactly the committed events have arrived, including all acknowledged ones. Returns the number of
    duplicates."""
    committed = {id for id, in own_instance.sql("select id from neoapi.broker")}
    delivered = {arrival.json["payload"]["id"] for arrival in arrivals}
    assert delivered == committed, (len(delivered - committed), len(committed - delivered))
    assert set(writers.made) <= delivered
    return len(arrivals) - len({arrival.id for arrival in arrivals})


def kill(*processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def start_database(own_instance):
    eventually(lambda: "does not start" not in own_instance.command("start-db", check=False), "PostgreSQL starts")


# ---------------------------------------------------------------- 1. no delivery is lost

def one_child(own_instance):
    kill(*own_instance.children()[:1])


def all_children(own_instance):
    kill(*own_instance.children())


def the_database(own_instance):
    own_instance.command("kill-db")
    start_database(own_instance)


def test_no_delivery_is_lost_when_children_and_the_database_are_killed(own_instance, admin, report):
    chance, blows = random.Random(), [one_child, all_children, the_database]
    with Receiver(slowly(0.01)) as receiver:
        subscribe(admin, receiver.url)
        with Writers(admin, BROKERS, pause=0.02) as writers:
            for count in range(1, 1000):
                time.sleep(chance.uniform(0.1, 1))
                blows[count % 3](own_instance)
                if writers.is_done and count >= 3:
                    break
        everything_is_delivered(own_instance)
        duplicates = check_arrivals(own_instance, writers, receiver.arrivals)
    check_all_succeeded(own_instance)
    report(f"{count} kills, {writers.failures} writes failed, {len(writers.made)} were answered with 201;"
           f" {duplicates} of {len(receiver.arrivals)} deliveries were duplicates")


# ---------------------------------------------------------------- 2. bad receivers do not delay others

@pytest.mark.alone
@pytest.mark.parametrize("own_instance", [HERE], indirect=True, ids=["shipped"])
def test_six_bad_receivers_do_not_delay_the_seventh(own_instance, admin, report, tmp_path):
    """With the shipped defaults. Measures from the event's timestamp to its arrival, which includes the statement but not the
    commit, which does not depend on receivers."""
    count = max(200, int(2000 * SCALE))
    with contextlib.ExitStack() as stack:
        bad = [stack.enter_context(one) for one in (
            Receiver(hang), Receiver(drip), ClosedPort(), Receiver(status(500)), Receiver(close_within_response),
            Receiver(certificate=untrusted_certificate(tmp_path)))]
        good = stack.enter_context(Receiver())
        for one in [*bad, good]:
            subscribe(admin, one.url)
        with Writers(admin, count, threads=2, pause=0.03) as writers:
            pass
        arrivals = good.wait_for(count)
    # With the response times, to distinguish a slow commit from a slow delivery.
    waits = sorted((arrival.at - moment(arrival.json["created_at"]), writers.made[arrival.json["payload"]["id"]])
                   for arrival in arrivals)
    assert len(arrivals) == count
    median, p99 = waits[count // 2][0], waits[int(count * 0.99)][0]
    report(f"median {1000 * median:.1f} ms, p99 {1000 * p99:.1f} ms, longest {1000 * waits[-1][0]:.1f} ms")
    assert p99 < 0.2, f"the longest delays, each with the response time of its write: {waits[-5:]}"


# ---------------------------------------------------------------- 3. two servers share the work

SECOND = "DocumentRoot .*"


@pytest.fixture
def second_httpd(own_instance, tmp_path):
    """Another Apache on the same database, with the same key and the shipped timeout."""
    directives = HERE.replace("${INSTANCE}", str(own_instance.state))
    with Httpd(own_instance, tmp_path, (SECOND, directives)) as httpd:
        yield httpd


def list_children(process):
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def list_sockets(pids):
    found = {}
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found[os.readlink(link)] = pid
    return found


def processes_at(ports, pids):
    """The processes that have connections from these local ports."""
    owners, found = list_sockets(pids), set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if int(words[1].partition(":")[2], 16) in ports:
            found.add(owners.get(f"socket:[{words[9]}]"))
    return found - {None}


@pytest.mark.parametrize("own_instance", [HERE], indirect=True, ids=["shipped"])
def test_two_servers_share_the_deliveries_without_duplicates(own_instance, admin, second_httpd):
    subscriptions = 20
    with Receiver() as receiver:
        for number in range(subscriptions):
            subscribe(admin, f"{receiver.url}{number}")
        with Writers(admin, DELIVERIES // subscriptions, threads=3), \
                Writers(Api(second_httpd, admin.credential), DELIVERIES // subscriptions, threads=3):
            pass
        everything_is_delivered(own_instance)
        arrivals = receiver.arrivals
        ports = {arrival.port for arrival in arrivals}
        for parent in (own_instance.pid, second_httpd.process.pid):
            assert processes_at(ports, list_children(parent)), "one server has delivered nothing"
    count = 2 * (DELIVERIES // subscriptions) * subscriptions
    assert len(arrivals) == len({arrival.id for arrival in arrivals}) == count
    check_all_succeeded(own_instance, count)


@pytest.mark.parametrize("stopped", ["first", "second"])
def test_stopping_one_of_two_servers_loses_no_delivery(own_instance, admin, second_httpd, stopped):
    """The stopped server has attempts in flight; the requests go to the other."""
    stays = Api(second_httpd, admin.credential) if stopped == "first" else admin
    goes = admin if stopped == "first" else Api(second_httpd, admin.credential)
    with Receiver(slowly(0.05)) as receiver:
        subscribe(admin, receiver.url)
        with Writers(goes, BROKERS // 5) as early:
            pass
        with Writers(stays, BROKERS // 5) as late:
            late.wait_for(min(5, late.count))
            if stopped == "first":
                own_instance.command("stop-httpd")
            else:
                second_httpd.stop()
                second_httpd.process = None
        everything_is_delivered(own_instance)
        early.made |= late.made
        assert check_arrivals(own_instance, early, receiver.arrivals) == 0
    check_all_succeeded(own_instance, len(early.made))


# ---------------------------------------------------------------- 4. stops and restarts of httpd

def gone(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def graceful(own_instance):
    own_instance.command("graceful")


def restart(own_instance):
    before = own_instance.error_log.count("AH00489")
    os.kill(own_instance.pid, signal.SIGHUP)
    eventually(lambda: own_instance.error_log.count("AH00489") > before, "a new generation", STOP_TIMEOUT_S)


def stop(own_instance):
    own_instance.command("stop-httpd")
    own_instance.command("start-httpd")


@pytest.mark.parametrize("change", [graceful, restart, stop])
def test_apache_stops_in_time_under_load_and_loses_no_delivery(own_instance, admin, change):
    """With a hanging receiver and queued deliveries."""
    with Receiver(slowly(0.05)) as receiver, Receiver(hang) as hanging:
        subscription = subscribe(admin, receiver.url)
        with Writers(admin, pause=0.02) as writers:
            stuck = Api(own_instance, AdminFactory(own_instance).key())
            subscribe(stuck, hanging.url)
            stuck.broker()
            hanging.wait_for(1)
            for _ in range(2):
                writers.wait_for(len(writers.made) + 20)
                old = own_instance.children()
                began = time.monotonic()
                change(own_instance)
                took = time.monotonic() - began
                assert took < STOP_TIMEOUT_S, f"{change.__name__} took {took:.1f} s"
                eventually(lambda: all(gone(child) for child in old), "the end of all old children", STOP_TIMEOUT_S + 2)
        hanging.behave(ok)
        everything_is_delivered(own_instance)
        made = {id for id, in own_instance.sql("select id from neoapi.broker where organization_id = %s",
                                               *admin.credential.organizations)}
        assert {arrival.json["payload"]["id"] for arrival in receiver.arrivals} == made >= set(writers.made)
        assert len(receiver.arrivals) == len(made), "duplicate deliveries"
    check_all_succeeded(own_instance, len(made), subscription)  # the other one may hang until the last attempt


# ---------------------------------------------------------------- idle costs

def processor_time(processes):
    """The CPU time of the processes in seconds."""
    ticks = 0
    for process in processes:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
            ticks += sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("own_instance", indirect=True, ids=["full"], argvalues=[
    HERE + "NeoAPIWebhookConcurrency 1\nNeoAPIWebhookTimeout 7\nNeoAPIWebhookRetryDelays 0 1 1 1\n"])
def test_a_courier_without_free_slots_sleeps_until_a_delivery_ends(own_instance, admin):
    """Each process has one attempt in flight to a slow receiver, and more deliveries are due."""
    with Receiver(hang) as receiver:
        subscribe(admin, receiver.url)
        for _ in range(4 * len(own_instance.children())):
            admin.broker()
        receiver.wait_for(len(own_instance.children()))
        began, before = time.monotonic(), processor_time(own_instance.children())
        while time.monotonic() < began + 4:
            time.sleep(0.1)  # the measured interval, not a wait for a condition
        assert processor_time(own_instance.children()) - before < 1
        receiver.behave(ok)
        everything_is_delivered(own_instance)


@pytest.mark.parametrize("own_instance", [HERE + "NeoAPIWebhookTimeout 1\nNeoAPIWebhookRetryDelays 0 1 1 1\n"], indirect=True,
                         ids=["short"])
def test_results_are_recorded_once_after_an_outage(own_instance, admin):
    """The table is locked for longer than a lease, so that no result can be recorded. The brokers are created together: a process
    claims nothing after the first result that it cannot record."""
    with Receiver(ok) as receiver:
        subscribe(admin, receiver.url)
        admin.broker()
        everything_is_delivered(own_instance)
        with own_instance.locked("neoapi.webhook_attempt"):
            operations = [{"method": "create", "data": {"name": f"Broker {number}"}} for number in range(5)]
            response = admin.post("brokers/batch", json={"operations": operations})
            made = [result["resource"]["id"] for result in response.json()["results"]]
            receiver.wait_for(6)
            claimed = "select min(due_at) from neoapi.webhook_queue where claim is not null"
            lease, = own_instance.sql(claimed)[0]
            eventually(lambda: own_instance.sql("select now() > %s + interval '2 s'", lease)[0][0], "the lease's end", 40)
        everything_is_delivered(own_instance)
        made += [admin.broker()["id"]]
        everything_is_delivered(own_instance)
    assert set(made) <= {arrival.json["payload"]["id"] for arrival in receiver.arrivals}
    assert len(receiver.arrivals) <= 7 + 3 * 5, "the delivery was sent again"
    check_all_succeeded(own_instance, 7)


# ---------------------------------------------------------------- 5. the schedule

def test_the_schedule_is_kept_to_the_second_across_a_restart(own_instance, admin):
    """Deliveries that fell due during the restart are sent once the server is back."""
    with Receiver(status(500)) as receiver:
        subscribe(admin, receiver.url)
        admin.broker()
        receiver.wait_for(2)
        own_instance.command("stop-httpd")
        own_instance.command("start-httpd")
        back = time.time()
        arrivals = receiver.wait_for(len(DELAYS))
        eventually(lambda: queued(own_instance) == 0, "the end")
    for number, delay in enumerate(DELAYS[1:], 1):
        before, at = arrivals[number - 1].at, arrivals[number].at
        latest = before + delay * 1.1 + 1
        assert before + delay - 0.01 <= at <= (latest if number == 1 else max(latest, back + 3)), (number, at - before,
                                                                                                   at - back)
    assert len(receiver.arrivals) == len(DELAYS)


# ---------------------------------------------------------------- 6. the guard: see test_webhook_guard.py
