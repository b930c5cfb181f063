# SPDX-License-Identifier: Apache-2.0
"""Kills each node of a cluster under writes and reads, and starts it again: test_cluster.py BUILD [NODE...]

Prints for each node the longest time without a write and without a read, and the requests that failed. Fails if an acknowledged write is lost,
if a request fails with another status than 502 or 503 with Retry-After, or if requests do not succeed again. "upgrade" is no node: it migrates
the schema to a newer version while both hosts run, then restarts one after the other with the newer module, and no request may fail.
"""
import json
import os
import re
import shlex
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from pathlib import Path

os.environ["NEOAPI_TEST_BUILD"] = sys.argv[1]
sys.path.append(str(Path(__file__).parents[1] / "e2e"))
from next_version import NEXT, NextVersion  # noqa: E402

SCRIPT = Path(__file__).with_name("cluster.sh")
NODES = "primary etcd1 db2 haproxy1 pgbouncer2 host1 host2 haproxy primary upgrade".split()
RECOVERY_S, STEADY_S = 60, 5


class Client(threading.Thread):
    """Repeats one request until it succeeds, then the next one, and notes the successes and failures."""

    def __init__(self, env, is_writer):
        super().__init__(daemon=True)
        self.env, self.is_writer = env, is_writer
        self.context = ssl.create_default_context(cafile=env["NEOAPI_CA"])
        self.ids, self.failures, self.gap, self.last, self.is_stopping = [], Counter(), 0.0, time.monotonic(), False

    def send(self, path, body=None, key=None):
        headers = {"X-API-Key": self.env["NEOAPI_KEY"], "Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        request = urllib.request.Request(self.env["NEOAPI_URL"] + path, json.dumps(body).encode() if body else None, headers)
        with urllib.request.urlopen(request, timeout=20, context=self.context) as response:
            return json.load(response)

    def attempt(self, key):
        """Returns whether the request succeeded."""
        try:
            if self.is_writer:
                self.ids.append(self.send("brokers", {"name": "Ana", "external_id": key}, key)["id"])
            else:
                self.send("me")
            return True
        except urllib.error.HTTPError as error:
            name = f"{error.code}{'' if error.headers['Retry-After'] else ' without Retry-After'}"
        except (OSError, ValueError) as error:
            name = type(getattr(error, "reason", error)).__name__
        self.failures[name] += 1
        return False

    def run(self):
        while not self.is_stopping:
            key = str(uuid.uuid4())
            while not self.attempt(key) and not self.is_stopping:
                time.sleep(0.05)
            now = time.monotonic()
            self.gap, self.last = max(self.gap, now - self.last), now
            time.sleep(0.02)


class Cluster:
    def __init__(self, build):
        self.build, self.directory = build, build / "cluster-test"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])

    def run(self, command, *arguments):
        """Runs cluster.sh. Its output goes to a file, because a pipe would stay open with the servers."""
        with open(self.build / "cluster-test.log", "a+", encoding="utf-8") as log:
            begun = log.tell()
            done = subprocess.run(["sh", SCRIPT, command, self.directory, *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "NEOAPI_CLUSTER_PORT": self.port}, timeout=600)
            log.seek(begun)
            said = log.read()
        if done.returncode:
            sys.exit(f"cluster.sh {command} {' '.join(map(str, arguments))} failed:\n{said}")
        return said

    def env(self):
        return dict(word.split("=", 1) for word in shlex.split((self.directory / "env").read_text()))


def start_clients(cluster):
    """A writer and a reader, at work."""
    clients = [Client(cluster.env(), is_writer) for is_writer in (True, False)]
    for client in clients:
        client.start()
    time.sleep(1)
    return clients


def stop_clients(clients):
    for client in clients:
        client.is_stopping = True
    for client in clients:
        client.join(RECOVERY_S)


def print_result(name, clients, took):
    writes, reads = clients
    failures = writes.failures + reads.failures
    print(f"{name:14} {writes.gap:8.1f} {reads.gap:8.1f}   {took:6.1f}   {len(writes.ids):6}   "
          f"{', '.join(f'{count} x {failure}' for failure, count in failures.items()) or 'none'}", flush=True)


def replace(path, pattern, text):
    path.write_text(re.sub(pattern, text, path.read_text()))


def upgrade(cluster):
    """Migrates the schema with a newer neoapictl, then drains each host, starts it with the newer module and puts it back. Returns what is
    wrong."""
    def neoapictl(*arguments):
        subprocess.run([program, "--quiet", *arguments], check=True, stdout=subprocess.DEVNULL, timeout=RECOVERY_S)
    place, program = cluster.directory / "newer", Path(cluster.env()["NEOAPI_CTL"])
    place.mkdir()
    newer = NextVersion(place, ("next", NEXT), has_website=True)
    replace(program, "exec '.*?'", f"exec '{newer.ctl}'")
    begun, clients = time.monotonic(), start_clients(cluster)
    neoapictl("migrate")
    written = len(clients[0].ids)
    while len(clients[0].ids) < written + 100 and not clients[0].failures:
        time.sleep(0.1)
    for node in ("host1", "host2"):
        neoapictl("drain", "--host", node, "--notice", "3")
        cluster.run("kill", node)
        replace(cluster.directory / node / "httpd.conf", '".*/mod_neoapi.so"', f'"{newer.module}"')
        neoapictl("undrain", "--host", node)  # now, because "start" waits until it is ready
        cluster.run("start", node)
        log = cluster.directory / f"log/{node}.access.log"
        size, until = log.stat().st_size, time.monotonic() + RECOVERY_S
        while log.stat().st_size == size:  # until HAProxy uses the host again
            if time.monotonic() > until:
                sys.exit(f"{node} gets no requests")
            time.sleep(0.1)
    stop_clients(clients)
    print_result("upgrade", clients, time.monotonic() - begun)
    for name in ("NEOAPI_HOST_1_URL", "NEOAPI_HOST_2_URL"):  # the newer module has this field
        clients[0].env["NEOAPI_URL"] = cluster.env()[name]
        clients[0].ids.append(clients[0].send("brokers", {"name": "Ana", "website": "https://ana.example.com"})["id"])
    return [f"upgrade: {failure}" for client in clients for failure in client.failures] + check("upgrade", clients, True)


def fail_over(cluster, name):
    """Kills the node, waits until requests succeed again, and starts it. Returns the clients."""
    clients = start_clients(cluster)
    node = cluster.run("kill", name).split()[1]
    killed = time.monotonic()
    while any(client.last < time.monotonic() - 0.5 or time.monotonic() < killed + STEADY_S for client in clients):
        if time.monotonic() > killed + (5 if node == "haproxy" else RECOVERY_S):
            break
        time.sleep(0.1)
    begun = time.monotonic()
    cluster.run("start", node)
    started = time.monotonic()
    while any(client.last < started for client in clients) and time.monotonic() < started + RECOVERY_S:
        time.sleep(0.1)
    recovered = all(client.last > started for client in clients)
    stop_clients(clients)
    print_result(name if name == node else f"{name} ({node})", clients, started - begun)
    return node, clients, recovered


def check(node, clients, recovered):
    """Returns what is wrong."""
    allowed = {"502", "503"} | ({"ConnectionRefusedError", "ConnectionResetError", "RemoteDisconnected", "SSLEOFError"} if node == "haproxy" else set())
    errors = [f"{node}: {failure}" for client in clients for failure in client.failures if failure not in allowed]
    for broker in clients[0].ids:
        try:
            clients[0].send(f"brokers/{broker}")
        except urllib.error.HTTPError as error:
            errors.append(f"{node}: broker {broker} is lost: {error.code}")
    return errors + ([] if recovered else [f"{node}: requests do not succeed again"])


def main():
    cluster, errors = Cluster(Path(sys.argv[1]).resolve()), []
    begun = time.monotonic()
    try:
        cluster.run("up", cluster.build)
        print(f"the cluster is ready after {time.monotonic() - begun:.0f} s")
        print("killed          without writes and reads   start   writes   failed requests")
        for name in sys.argv[2:] or NODES:
            errors += upgrade(cluster) if name == "upgrade" else check(*fail_over(cluster, name))
    finally:
        cluster.run("remove")
    sys.exit("\n".join(errors) or 0)


main()
