#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks mod_neoapi against a minimal handler: bench.py BUILD

Runs the parts in BENCH, by default DEFAULT_PARTS. A run lasts BENCH_SECONDS; a comparison has BENCH_PAIRS pairs of runs. Exits with 1
if a response was wrong, not if a goal is missed.

    get list create insert   brokers; insert is create without an event in the bare handler
    property find            properties: one, and a list with two filters
    keyed                    create with an Idempotency-Key
    batch                    batches of 100 brokers against single creates, by one client
    batches                  the same by many clients
    bulk                     the bare handler's creation of 100 brokers in one statement against single creates, by one client
    walk deep                a thousand pages of brokers, of properties
    memory                   resident memory after many requests
    events                   the event log's share of a create, and pages of a log of a million events
    erasure                  creates while a person with 100,000 events is erased
    connections              threads and database connections: both MPMs, several values of DBDMax, 1 to 64 clients over TLS
    noise                    the bare handler against itself: the random error of ratios

get, list, property and find are also compared request by request, by one client."""

import os
import sys

import comparisons
import connections
import erasure
import events
import memory
import walk
from deployment import ORGANIZATIONS, ROWS, Deployment, describe_rows
from findings import Findings, processor
from load import CONNECTIONS

PARTS = {
    "get": comparisons.get,
    "list": comparisons.list_of_25,
    "create": comparisons.create,
    "insert": comparisons.insert,
    "keyed": comparisons.keyed,
    "noise": comparisons.noise,
    "property": comparisons.one_property,
    "find": comparisons.search,
    "batch": comparisons.batch,
    "batches": comparisons.many_batches,
    "bulk": comparisons.bulk,
    "walk": walk.walk,
    "deep": walk.deep,
    "memory": memory.memory,
    "events": events.events,
    "erasure": erasure.erasure,
    "connections": connections.connections,
}
DEFAULT_PARTS = "get list create insert property find batch bulk batches walk deep memory"


class Bench(Findings):
    """The state that the parts share: the deployment, and the lengths of runs."""

    def __init__(self, build):
        super().__init__()
        self.deployment = Deployment(build)
        self.seconds = int(os.environ.get("NEOAPI_BENCH_SECONDS") or 4)
        self.pairs = int(os.environ.get("NEOAPI_BENCH_PAIRS") or 9)


def run(bench, parts):
    deployment = bench.deployment
    deployment.up()
    try:
        deployment.load()
        load = os.getloadavg()[0]
        print(f"{os.cpu_count()} × {processor()}, load {load:.1f}; PostgreSQL {deployment.sql('show server_version')[0][0]}, "
              f"{deployment.httpd_version()}\n{describe_rows(ROWS)} in {ORGANIZATIONS} organizations; {CONNECTIONS} keep-alive "
              f"connections without TLS, {bench.pairs} pairs of {bench.seconds} s each", flush=True)
        if set(parts) & comparisons.COMPARED:
            comparisons.check_answers(bench)
        for part in parts:
            PARTS[part](bench)
    finally:
        deployment.down()


def main():
    parts = (os.environ.get("NEOAPI_BENCH") or DEFAULT_PARTS).split()
    unknown = set(parts) - set(PARTS)
    if len(sys.argv) != 2 or unknown:
        sys.exit(f"usage: [BENCH='{' '.join(PARTS)}'] [BENCH_SECONDS=4] [BENCH_PAIRS=9] bench.py BUILD")
    bench = Bench(sys.argv[1])
    run(bench, parts)
    bench.summary()
    sys.exit(1 if bench.wrong else 0)


if __name__ == "__main__":
    main()
