#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mod_neoapi beside a bare handler: bench.py BUILD

Runs the parts that BENCH names, by default DEFAULT_PARTS. get, list, create and insert are about brokers; property and
find, a list with two filters, about the largest resource. Reads (get, list, property, find) are also compared by one client,
request by request. batch is about brokers that are created a hundred at a time beside those that are created one by one, by one
client; bulk is the same with the bare handler's way to create a hundred, one statement: what batch could be at most; batches by
as many clients as in the other parts. walk (brokers) and deep (properties) read a thousand pages. Others are keyed, create with
an Idempotency-Key; connections, both MPMs with several values of DBDMax under 1 to 64 clients over TLS; events, the statement of a
create with and without the event log, and pages of a log of a million events; and noise, the bare handler beside itself: how far
ratios stray by chance. BENCH_SECONDS is how long a run lasts, BENCH_PAIRS how many pairs of runs a comparison has. Exits with 1 if a
response was wrong, not for a missed goal."""

import os
import sys

import comparisons
import connections
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
    "connections": connections.connections,
}
DEFAULT_PARTS = "get list create insert property find batch bulk batches walk deep memory"


class Bench(Findings):
    """What the parts share: the deployment, and how long to measure."""

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
