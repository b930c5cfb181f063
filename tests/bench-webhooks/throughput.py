# SPDX-License-Identifier: Apache-2.0
"""Compares the courier with graphile-worker and undici: the same deliveries to the same receiver, alternately."""

import json
import os
import shutil
import subprocess
import time
from statistics import median

from deployment import DIRECTORY, wait_for

SIZE = 700  # of a body, in bytes
CONCURRENCIES = (24, 50, 100)  # of the peer; the best result is compared
GOALS = {"history": 3.0, "bare": 1.3}
# The shipped limit of 32 attempts per subscription is for many subscriptions; here one uses the whole machine.
DIRECTIVES = "NeoAPIWebhookConcurrency 512\nNeoAPIWebhookPerSubscription 512\n"


class Courier:
    """One process of Apache, so that one thread of the courier is compared with one of the peer."""

    def __init__(self, bench):
        self.bench, self.deployment, self.nginx = bench, bench.deployment, bench.nginx
        self.subscription = self.deployment.subscribe(self.nginx.url, ["*"])

    def run(self, count, backlog=False):
        """Deliveries per second, from the activation of the subscription until all attempts are recorded."""
        d = self.deployment
        d.activate(self.subscription, False)
        d.empty(backlog)
        d.fill(self.subscription, count, SIZE)
        d.settle()
        before = self.nginx.requests()
        soon = d.number("select now() + interval '1 hour'")  # later ones are the backlog
        left = "select exists (select from neoapi.webhook_queue where subscription_id = %s and due_at < %s)"
        began = time.monotonic()
        d.activate(self.subscription, True)
        d.ask("POST", f"webhooks/{self.subscription}/test")  # wakes the courier
        # The database is polled only after everything has arrived, because polling would slow it.
        wait_for(lambda: self.nginx.requests() - before > count, "not everything arrives")
        wait_for(lambda: not d.number(left, self.subscription, soon), "the queue does not become empty")
        seconds = time.monotonic() - began
        good = d.number("select count(*) from neoapi.webhook_attempt where outcome = 'success' and number = 1 and http_status = 204")
        arrived = self.nginx.requests() - before
        self.bench.expect(good == arrived == count + 1, f"ours: of {count + 1} deliveries {arrived} arrived and {good} are recorded")
        return (count + 1) / seconds


class Peer:
    def __init__(self, bench, history):
        self.bench, self.history = bench, history
        self.concurrency = None
        self.place = bench.deployment.place / "peer"
        self.install()

    def install(self):
        self.place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["sh", DIRECTORY.parent / "deploy" / "npm.sh", DIRECTORY, self.place], check=True)
        shutil.copy(DIRECTORY / "peer.mjs", self.place)

    def run(self, count, concurrency=None):
        d = self.bench.deployment
        before = self.bench.nginx.requests()
        wanted = {"host": f"{d.env['NEOAPI_STATE']}/socket", "port": 5432, "user": "postgres", "database": "peer",
                  "url": self.bench.nginx.url, "count": count, "size": SIZE, "concurrency": concurrency or self.concurrency,
                  "history": self.history}
        out = subprocess.run(["node", self.place / "peer.mjs", json.dumps(wanted)], check=True, text=True, stdout=subprocess.PIPE,
                             env={**os.environ, "NODE_ENV": "production"}).stdout
        found = json.loads(out.splitlines()[-1])
        arrived = self.bench.nginx.requests() - before - found["warm"]
        self.bench.expect(arrived == count and found["good"] == (count if self.history else 0),
                          f"the peer: of {count} deliveries {arrived} arrived and {found['good']} are recorded")
        return count / found["seconds"]

    def choose(self, count):
        rates = {n: self.run(count, n) for n in CONCURRENCIES}
        self.concurrency = max(rates, key=rates.get)
        listed = ", ".join(f"{n}: {rate:,.0f}" for n, rate in rates.items())
        print(f"  the peer {'with' if self.history else 'without'} history, jobs at a time: {listed}", flush=True)


def throughput(bench):
    d, count = bench.deployment, bench.deliveries
    print(f"\nthroughput: {count:,} deliveries of {SIZE} bytes, a second\n"
          f"  the courier's directives: {DIRECTIVES.replace(chr(10), '; ')}one process, everything on", flush=True)
    bench.restart(1, DIRECTIVES)
    if not d.sql("select 1 from pg_database where datname = 'peer'"):
        d.sql("create database peer")
    courier, peers = Courier(bench), {"history": Peer(bench, True), "bare": Peer(bench, False)}
    courier.run(count)
    for peer in peers.values():
        peer.choose(count)
    runs = {"ours": [], "history": [], "bare": []}
    print(f"  {'round':6} {'ours':>10} {'peer, history':>14} {'peer, none':>11}", flush=True)
    for number in range(1, bench.rounds + 1):
        for name in list(runs)[number % 3:] + list(runs)[:number % 3]:
            runs[name].append(courier.run(count) if name == "ours" else peers[name].run(count))
        print(f"  {number:<6} {runs['ours'][-1]:10,.0f} {runs['history'][-1]:14,.0f} {runs['bare'][-1]:11,.0f}", flush=True)
    middle = {name: median(rates) for name, rates in runs.items()}
    print(f"  median {middle['ours']:10,.0f} {middle['history']:14,.0f} {middle['bare']:11,.0f}", flush=True)
    for name, what in (("history", "that records the same history"), ("bare", "that records none")):
        ratio = median(mine / its for mine, its in zip(runs["ours"], runs[name]))
        bench.found("throughput", f"{ratio:.2f} × the peer {what} ({middle['ours']:,.0f} to {middle[name]:,.0f} a second)",
                    f"{GOALS[name]} ×", ratio >= GOALS[name])
