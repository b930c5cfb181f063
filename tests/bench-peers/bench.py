#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""mod_neoapi beside a server in Node that does the same work: bench.py BUILD

Runs the parts that BENCH names, by default all, after comparing the answers of both servers. BENCH_SECONDS is how long a run lasts,
BENCH_PAIRS how many pairs of runs a comparison has. Exits with 1 if answers differ or a response was wrong, not for a missed goal."""

import os
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))

import parts
from deployment import ORGANIZATIONS, describe_rows
from findings import Findings, processor
from load import CONNECTIONS
from peer import Deployment


class Bench(Findings):
    """What the parts share: the deployment, and how long to measure."""

    def __init__(self, build):
        super().__init__()
        self.deployment = Deployment(build)
        self.seconds = int(os.environ.get("NEOAPI_BENCH_SECONDS") or 4)
        self.pairs = int(os.environ.get("NEOAPI_BENCH_PAIRS") or 9)


def run(bench, names):
    deployment = bench.deployment
    deployment.up()
    try:
        deployment.load()
        deployment.peer.up()
        print(f"{os.cpu_count()} × {processor()}, load {os.getloadavg()[0]:.1f}; PostgreSQL "
              f"{deployment.sql('show server_version')[0][0]}, {deployment.httpd_version()}, two processes of the peer\n"
              f"{describe_rows(deployment.rows)} in {ORGANIZATIONS} organizations; {CONNECTIONS} keep-alive connections without TLS, "
              f"{bench.pairs} pairs of {bench.seconds} s each", flush=True)
        parts.check_answers(deployment)
        for name in names:
            parts.measure(bench, name)
    finally:
        deployment.down()


def main():
    names = (os.environ.get("NEOAPI_BENCH") or " ".join(parts.PARTS)).split()
    if len(sys.argv) != 2 or set(names) - set(parts.PARTS):
        sys.exit(f"usage: [BENCH='{' '.join(parts.PARTS)}'] [BENCH_SECONDS=4] [BENCH_PAIRS=9] bench.py BUILD")
    bench = Bench(sys.argv[1])
    run(bench, names)
    bench.summary()
    sys.exit(1 if bench.wrong else 0)


if __name__ == "__main__":
    main()
