#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks webhook delivery against a job queue: bench.py BUILD

Runs the parts in BENCH (default: all). A comparison has BENCH_ROUNDS rounds, a run BENCH_DELIVERIES deliveries. Exits with 1 if a
delivery was lost or sent twice; a missed goal is only printed."""

import os
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))

from backlog import backlog
from deployment import Deployment
from errors import errors
from fan_out import fan_out
from findings import Findings, processor
from idle import idle
from latency import latency
from options import filters, options, throttling
from receiver import Nginx
from throughput import throughput

PARTS = {"throughput": throughput, "latency": latency, "fan_out": fan_out, "errors": errors, "idle": idle, "backlog": backlog,
         "options": options, "throttling": throttling, "filters": filters}


class Bench(Findings):
    """The state that the parts share: the servers, and the numbers of rounds and deliveries."""

    def __init__(self, build):
        super().__init__()
        self.deployment = Deployment(build)
        self.nginx = Nginx(self.deployment.place / "nginx")
        self.rounds = int(os.environ.get("NEOAPI_BENCH_ROUNDS") or 5)
        self.deliveries = int(os.environ.get("NEOAPI_BENCH_DELIVERIES") or 20_000)
        self.client = None

    def restart(self, processes, directives=""):
        """Restarts Apache. Requests to the API then use one persistent connection."""
        self.deployment.up(processes, directives)
        self.client = self.deployment.client()


def run(bench, parts):
    try:
        bench.restart(1)
        bench.nginx.up()
        bench.deployment.prepare()
        print(f"{os.cpu_count()} × {processor()}, load {os.getloadavg()[0]:.1f}; PostgreSQL "
              f"{bench.deployment.number('show server_version')}, {bench.nginx.version()} answers 204; {bench.rounds} rounds",
              flush=True)
        for part in parts:
            PARTS[part](bench)
    finally:
        bench.nginx.down()
        bench.deployment.down()


def main():
    parts = (os.environ.get("NEOAPI_BENCH") or " ".join(PARTS)).split()
    if len(sys.argv) != 2 or set(parts) - set(PARTS):
        sys.exit(f"usage: [BENCH='{' '.join(PARTS)}'] [BENCH_ROUNDS=5] [BENCH_DELIVERIES=20000] bench.py BUILD")
    bench = Bench(sys.argv[1])
    run(bench, parts)
    bench.summary()
    sys.exit(1 if bench.wrong else 0)


if __name__ == "__main__":
    main()
