# SPDX-License-Identifier: Apache-2.0
"""Causes faults in a cluster under load and mends them: test_cluster.py BUILD [FAULT...]

Prints for each fault the longest time without a write, a read and a delivery, and the requests that failed. Fails if the clients' history is
wrong (history.py), if a request fails with another status than 502 or 503 with Retry-After, if requests do not succeed again, if an event is
not delivered, or if a host accepts a revoked key. "upgrade" migrates the schema to a newer version while both hosts run, then restarts one
after the other with the newer module, and no request may fail.
"""
import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

os.environ["NEOAPI_TEST_BUILD"] = sys.argv[1]
sys.path.append(str(Path(__file__).parents[1] / "e2e"))
from clients import Changer, Client, Creator, Follower, Reader, Revoked, Webhooks  # noqa: E402
from faults import FAULTS, Cluster, in_private_network, machines, replace  # noqa: E402
from history import Request, check_keys, check_log, check_registers  # noqa: E402
from next_version import NEXT, WEBSITE, NextVersion  # noqa: E402

RECOVERY_S, STEADY_S, BROKERS = 60, 5, 4
UNCONFIRMED_S = 15  # for which a host that has not confirmed a revocation may accept the key
LOSES_WRITES = ("asynchronous", "asynchronous-lag")
CONNECTION_ERRORS = {"ConnectionRefusedError", "ConnectionResetError", "RemoteDisconnected", "SSLEOFError"}


class Load:
    """Clients at work during a fault."""

    def __init__(self, cluster, webhooks):
        self.cluster, self.webhooks, self.history, env = cluster, webhooks, [], cluster.env()
        setup = Client(env)
        cluster.await_result(setup.read_me, "HAProxy has no host that is ready")
        brokers = [setup.send("brokers", {"name": "First name"})[0] for _ in range(BROKERS)]
        now = time.monotonic()
        self.history += [Request(one["id"], True, one["name"], now, now, one["updated_at"]) for one in brokers]
        self.brokers = [one["id"] for one in brokers]
        self.creator, self.follower = Creator(env), Follower(env)
        self.writers = [self.creator, Changer(env, self.brokers, self.history), Changer(env, self.brokers, self.history)]
        self.readers = [Reader(env, self.brokers, self.history), Reader(env, self.brokers, self.history)]
        self.revoked = self.revoke(env)
        webhooks.gap, webhooks.last = 0, now
        self.served = [*self.writers, *self.readers, self.follower]
        for client in (*self.served, *self.revoked):
            client.last = time.monotonic()
            client.start()
        time.sleep(1)

    def revoke(self, env):
        """A client of each host, with a key that both have accepted and that is revoked now."""
        _, made = self.cluster.neoapictl("key", "create", "revoked", "--organization", env["NEOAPI_ORG"], "--role", "org_viewer")
        key = json.loads(made)
        clients = [Revoked(env, env[host], key["secret"]) for host in ("NEOAPI_HOST_1_URL", "NEOAPI_HOST_2_URL")]
        for client in clients:
            self.cluster.await_result(client.read_me, f"{client.url} does not accept a key")
        status, _ = self.cluster.neoapictl("key", "revoke", key["id"])
        for client in clients:
            client.since = time.monotonic() + (UNCONFIRMED_S if status else 0)
        if status:
            print("                  a host has not confirmed the revocation within three seconds")
        return clients

    def are_served(self, since):
        return all(client.last > since for client in self.served)

    def await_service(self, since):
        until = time.monotonic() + RECOVERY_S
        while not self.are_served(since) and time.monotonic() < until:
            time.sleep(0.1)
        return [] if self.are_served(since) else ["requests do not succeed again"]

    def stop(self):
        for client in (*self.served, *self.revoked):
            client.is_stopping = True
        for client in (*self.served, *self.revoked):
            client.join(RECOVERY_S)

    def failures(self):
        return sum((client.failures for client in self.served), Counter())

    def await_deliveries(self, events):
        """Returns the events that are not delivered."""
        until = time.monotonic() + RECOVERY_S
        while events - self.webhooks.deliveries.keys() and time.monotonic() < until:
            time.sleep(0.1)
        return events - self.webhooks.deliveries.keys()

    def check(self):
        """Returns what is wrong with the history, and what else is."""
        last = [Reader(self.cluster.env(), [broker], self.history) for broker in self.brokers]
        for reader in last:
            reader.step()
        stored = [tuple(line.split("|")) for line in self.cluster.read_primary(
            f"select external_id, id from neoapi.broker where name = '{self.creator.name}'")]
        events = [line.split("|") for line in self.cluster.read_primary(
            "select id, resource_id, type in ('broker.created', 'broker.updated') from neoapi.event order by id")]
        ours = {*self.brokers, *(id for _, id in stored)}
        self.events = {id for id, resource, is_subscribed in events if resource in ours and is_subscribed == "t"}
        history = (check_registers(self.history) + check_keys(self.creator.results, stored)
                   + check_log(self.follower.runs, [id for id, _, _ in events]))
        others = [f"{id} is not delivered" for id in self.await_deliveries(self.events)]
        if self.webhooks.forged:
            others.append(f"{self.webhooks.forged} deliveries have a wrong signature")
        return history, others + ["a revoked key is accepted" for client in self.revoked if client.accepted]

    def print_result(self, name):
        gaps = (max(client.gap for client in self.writers), max(client.gap for client in self.readers), self.webhooks.gap)
        failures = ", ".join(f"{count} x {failure}" for failure, count in self.failures().items())
        acknowledged = sum(request.is_write and request.end < float("inf") for request in self.history) + len(self.creator.results)
        doubled = sum(self.webhooks.deliveries[id] - 1 for id in self.events if id in self.webhooks.deliveries)
        print(f"{name:18}{''.join(f'{gap:8.1f}' for gap in gaps)}   {acknowledged:6} {len(self.history):6} {len(self.events):6} {doubled:7}   "
              f"{failures or 'none'}", flush=True)


def observe(cluster, webhooks, name):
    """Causes a fault, waits until requests succeed, and mends it. Returns what is wrong."""
    load = Load(cluster, webhooks)
    with FAULTS[name](cluster):
        begun = time.monotonic()
        while time.monotonic() < begun + STEADY_S or not load.are_served(time.monotonic() - 3):
            if time.monotonic() > begun + (STEADY_S if name == "haproxy" else RECOVERY_S):
                break
            time.sleep(0.1)
    errors = load.await_service(time.monotonic())
    load.stop()
    cluster.await_roles("leader", "replica", "sync_standby")
    history, others = load.check()
    load.print_result(name)
    if name in LOSES_WRITES:
        print(f"                  {sum('is lost' in error for error in history)} creates are lost; the history has {len(history)} errors")
    else:
        errors += history
    allowed = {"502", "503"} | (CONNECTION_ERRORS if name == "haproxy" else set())
    errors += [failure for failure in load.failures() if failure not in allowed]
    return [f"{name}: {error}" for error in errors + others]


def upgrade(cluster, webhooks):
    """Migrates the schema with a newer neoapictl, then drains each host, starts it with the newer module and puts it back. Returns what is
    wrong."""
    place, program = cluster.directory / "newer", Path(cluster.env()["NEOAPI_CTL"])
    place.mkdir()
    newer = NextVersion(place, ("next", NEXT), edits=[WEBSITE])
    load = Load(cluster, webhooks)
    replace(program, "exec '.*?'", f"exec '{newer.ctl}'")
    cluster.neoapictl("migrate")
    written = len(load.creator.results)
    while len(load.creator.results) < written + 100 and not load.failures():
        time.sleep(0.1)
    for node in ("host1", "host2"):
        cluster.neoapictl("drain", "--host", node, "--notice", "3")
        cluster.run("kill", node)
        replace(cluster.directory / node / "httpd.conf", '".*/mod_neoapi.so"', f'"{newer.module}"')
        cluster.neoapictl("undrain", "--host", node)  # now, because "start" waits until it is ready
        cluster.run("start", node)
        log = cluster.directory / f"log/{node}.access.log"
        size, until = log.stat().st_size, time.monotonic() + RECOVERY_S
        while log.stat().st_size == size:  # until HAProxy uses the host again
            if time.monotonic() > until:
                sys.exit(f"{node} gets no requests")
            time.sleep(0.1)
    load.stop()
    history, others = load.check()
    load.print_result("upgrade")
    for name in ("NEOAPI_HOST_1_URL", "NEOAPI_HOST_2_URL"):  # the newer module has this field
        Client(cluster.env(), cluster.env()[name]).send("brokers", {"name": "Ana", "website": "https://ana.example.com"})
    return [f"upgrade: {error}" for error in [*load.failures(), *history, *others]]


def run(cluster, names):
    begun, errors, webhooks = time.monotonic(), [], Webhooks()
    try:
        cluster.run("up", cluster.build)
        print(f"the cluster is ready after {time.monotonic() - begun:.0f} s")
        with webhooks.receiver:
            webhooks.subscribe(Client(cluster.env()))
            print("fault                writes   reads  events   writes  reads+ events doubled   failed requests\n"
                  "                       seconds without          number of        deliveries")
            for name in names:
                if name == "partition" and not cluster.namespaces:
                    print("partition         skipped: needs root, ip and unshare")
                    continue
                cluster.await_roles("leader", "replica", "sync_standby")
                errors += upgrade(cluster, webhooks) if name == "upgrade" else observe(cluster, webhooks, name)
    finally:
        cluster.run("remove")
    print(f"{time.monotonic() - begun:.0f} s")
    return errors + cluster.errors


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # the cluster is removed
    build, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or [*FAULTS, "upgrade"]
    if in_private_network():
        with machines() as namespaces:
            errors = run(Cluster(build, namespaces), names)
    else:
        errors = run(Cluster(build), names)
    sys.exit("\n".join(errors) or 0)


main()
