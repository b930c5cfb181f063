#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Well-behaved clients, slow clients, hostile webhook receivers and kills at the same time: soak.py MINUTES [DISTURBANCE...]

Two Apache instances with the shipped sizes on one database. The well-behaved clients of several organizations run through a quiet
phase, the disturbances, and another quiet phase. It exits with 1 if the p99 of their response times doubles, if memory or descriptors
of Apache grow, or if an acknowledged write or its event is lost. A request that a fault interrupts is repeated, and its time includes
the repetitions. Processes of the first host are killed and restarted, those of the second live from beginning to end: a leak shows
there."""

import contextlib
import multiprocessing
import os
import random
import sys
import threading
import time
from collections import deque
from pathlib import Path

for folder in ("e2e", "torture"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))

import clients  # noqa: E402
from admin_factory import AdminFactory  # noqa: E402
from checker import Checker, Consumer  # noqa: E402
from client import Api  # noqa: E402
from contest import Contest  # noqa: E402
from deployment import shipped_sizes  # noqa: E402
from limits import CONNECTIONS, Sums, check_growth, check_latency, percentile, print_lines  # noqa: E402
from nemesis import Nemesis  # noqa: E402
from receiver import Receiver  # noqa: E402
from torture import two_hosts  # noqa: E402
from wait import eventually  # noqa: E402
from webhook_fixtures import subscribe  # noqa: E402

DISTURBANCES = ("slow-clients", "receivers", "duplicates", "kills")
ORGANIZATIONS = 4
CLIENTS = 2  # of each organization on each host
WARM_UP_S = 10  # of new connections and processes
MIN_QUIET_S = 20
SAMPLE_S = 2
BETWEEN_KILLS_S = (3, 12)
DRAIN_LIMIT_S = 120
FAULTS = {"kill a child": 4, "terminate backends": 4, "graceful restart": 1}
spawn = multiprocessing.get_context("spawn")


class Processes:
    """Processes with a function of clients.py each. `stop` ends them and returns their records."""

    def __init__(self):
        self.end, self.started = spawn.Event(), []

    def start(self, function, *args):
        mine, theirs = spawn.Pipe(duplex=False)
        process = spawn.Process(target=function, args=(theirs, self.end, *args), daemon=True)
        process.start()
        theirs.close()
        self.started.append((process, mine))

    def stop(self):
        self.end.set()
        return [self.receive_record(*one) for one in self.started]

    @staticmethod
    def receive_record(process, results):
        assert results.poll(4 * clients.REQUEST_TIMEOUT_S), "a process does not end"
        record = results.recv()  # EOFError if it failed
        process.join(clients.REQUEST_TIMEOUT_S)
        return record


def usage(parent):
    """Of Apache's processes: memory in MB, with shared pages counted once, and descriptors."""
    memory = descriptors = 0
    for pid in (parent, *Path(f"/proc/{parent}/task/{parent}/children").read_text().split()):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            memory += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
            descriptors += len(os.listdir(f"/proc/{pid}/fd"))
    return memory, descriptors


class Sampler(threading.Thread):
    """Samples the usage of each host until `end`."""

    def __init__(self, parents):
        super().__init__(daemon=True)
        self.parents, self.end, self.samples = parents, threading.Event(), [[] for _ in parents]

    def run(self):
        while not self.end.wait(SAMPLE_S):
            for parent, samples in zip(self.parents, self.samples):
                samples.append(usage(parent))

    def lines(self):
        for host, samples in enumerate(self.samples, 1):
            yield check_growth(f"memory of host {host}, MB", [memory for memory, _ in samples])
            yield check_growth(f"descriptors of host {host}", [descriptors for _, descriptors in samples], CONNECTIONS)


def kill(hosts, seconds):
    """Makes faults on the first host. Returns them."""
    instance = hosts[0]
    nemesis = Nemesis(*hosts, random.Random())
    nemesis.parents, nemesis.pause_s = [instance.pid], BETWEEN_KILLS_S
    actions = (nemesis.kill_child, nemesis.terminate_backends, lambda: instance.command("graceful") and None)
    nemesis.kinds, nemesis.weights = dict(zip(FAULTS, actions)), list(FAULTS.values())
    nemesis.run(seconds)
    return nemesis.faults


def disturb(hosts, seconds, disturbances, credential, contested):
    """Returns the faults, the records of the hostile organization, those of the contenders for each key, and the samples."""
    instance, second, *_ = hosts
    hostile, contest, sampler = Processes(), Processes(), Sampler([instance.pid, second.process.pid])
    if "slow-clients" in disturbances:
        hostile.start(clients.run_slow_clients, [instance.url, second.url], instance.ca, credential.secret)
    if "receivers" in disturbances:
        hostile.start(clients.run_hostile_receivers, second.url, instance.ca, credential.secret)
    if "duplicates" in disturbances:
        contest.start(clients.run_contenders, [instance.url, second.url], instance.ca, contested)
    sampler.start()
    if "kills" in disturbances:
        faults = kill(hosts, seconds)
    else:
        faults = time.sleep(seconds) or []
    sampler.end.set()
    sampler.join(SAMPLE_S + 1)
    return faults, hostile.stop(), contest.stop(), sampler


def start_clients(hosts, credentials):
    instance, second, *_ = hosts
    started = Processes()
    for number in range(2 * CLIENTS * ORGANIZATIONS):
        host = (instance, second)[number // ORGANIZATIONS % 2]
        started.start(clients.run_client, host.url, instance.ca, credentials[number % ORGANIZATIONS].secret, number)
    return started


def phases(hosts, minutes, disturbances, *keys):
    """Runs through the phases. Returns when each began and ended, and what disturb() returned."""
    quiet, spans = max(MIN_QUIET_S, 6 * minutes), {}

    @contextlib.contextmanager
    def phase(name):
        began = time.monotonic()
        yield
        spans[name] = began, time.monotonic()
        print(f"soak: {name}: {spans[name][1] - began:.0f} s", flush=True)

    time.sleep(WARM_UP_S)
    with phase("quiet before"):
        time.sleep(quiet)
    with phase("disturbed"):
        disturbed = disturb(hosts, 60 * minutes, disturbances, *keys)
    with phase("settling"):
        time.sleep(WARM_UP_S)
    with phase("quiet after"):
        time.sleep(quiet)
    return spans, disturbed


def print_phases(spans, records):
    """Prints response times. Returns the durations of each phase's requests."""
    print(f"\n  {'milliseconds':16}{'requests':>10}{'repeated':>10}{'p50':>9}{'p99':>9}{'max':>10}")
    found = {}
    for name, (began, ended) in spans.items():
        times = [one for record in records for one in record.times if began <= one[0] < ended]
        found[name] = [duration for _, duration, _ in times]
        p50, p99, longest = (f"{1000 * percentile(found[name], percent):.1f}" for percent in (50, 99, 100)) if times else "???"
        print(f"  {name:16}{len(times):10,}{sum(tries > 0 for *_, tries in times):10,}{p50:>9}{p99:>9}{longest:>10}")
    return found


def check(instance, credentials, records, consumers, faults):
    """What is stored and was received of each organization."""
    sums = Sums()
    for number, credential in enumerate(credentials):
        own = records[number::ORGANIZATIONS]
        sums.add(Checker(instance, own, [consumers[number]], faults, credential.organizations[0]), Checker.check)
    return sums


def run(minutes, disturbances):
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(two_hosts(**shipped_sizes()))
        instance = hosts[0]
        factory = AdminFactory(instance)
        credentials, hostile = [factory.key() for _ in range(ORGANIZATIONS)], factory.key()
        consumers = [Consumer(f"organization {number}", 0, 0) for number in range(ORGANIZATIONS)]
        for consumer, credential in zip(consumers, credentials):
            receiver = stack.enter_context(Receiver(consumer.behave))
            receiver.server.arrivals = deque(maxlen=1)
            consumer.secret = subscribe(Api(instance, credential), receiver.url)["secret"]
        started = start_clients(hosts, credentials)
        contested = [factory.key(), factory.key()]
        spans, (faults, hostile_records, contests, sampler) = phases(hosts, minutes, disturbances, hostile, contested)
        records = started.stop()
        own = tuple(one.organizations[0] for one in credentials)
        drained = "select count(*) from neoapi.webhook_queue where organization_id in %s"
        with contextlib.suppress(AssertionError):  # the checker reports what is stuck
            eventually(lambda: instance.sql(drained, own)[0][0] == 0, "everything is delivered", DRAIN_LIMIT_S)
        sums = check(instance, credentials, records, consumers, faults)
        sums.add(Checker(instance, hostile_records, [], faults, hostile.organizations[0]), Checker.check_rows)
        for contest in contests:
            for key, contenders in zip(contested, contest):
                sums.add(Checker(instance, [], [], faults, key.organizations[0]), Contest(instance, key, contenders).check)
        times = print_phases(spans, records)
        return print_lines(faults, [check_latency(times["quiet before"], times["disturbed"]), *sampler.lines(), *sums.lines()],
                           sums.wrong)


if __name__ == "__main__":
    duration, chosen = float(sys.argv[1]), sys.argv[2:] or DISTURBANCES
    print(f"soak: {duration:g} minutes of {', '.join(chosen)}", flush=True)
    sys.exit(0 if run(duration, chosen) else 1)
