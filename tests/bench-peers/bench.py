#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks mod_neoapi against a server in Node.js or Go that does the same work: bench.py BUILD

BENCH_PEER is the peer, one of FRAMEWORKS, by default the first. Runs the parts in BENCH, by default all, after comparing
the responses of both servers. A run lasts BENCH_SECONDS; a comparison has BENCH_PAIRS pairs of runs. Exits with 1 if responses differ
or are wrong, not if a goal is missed."""

import os
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))

import parts
from deployment import ORGANIZATIONS, describe_rows
from findings import Findings, processor
from load import CONNECTIONS
from peer import Deployment


FRAMEWORKS = {"fastify": "two processes of Fastify", "hono": "two processes of Hono", "go": "one process of Go"}


class Bench(Findings):
    """The state that the parts share: the deployment, and the lengths of runs."""

    def __init__(self, build, framework):
        super().__init__()
        self.deployment = Deployment(build, framework)
        self.seconds = int(os.environ.get("NEOAPI_BENCH_SECONDS") or 4)
        self.pairs = int(os.environ.get("NEOAPI_BENCH_PAIRS") or 9)


def run(bench, names):
    deployment = bench.deployment
    deployment.up()
    try:
        deployment.load()
        deployment.peer.up()
        print(f"{os.cpu_count()} × {processor()}, load {os.getloadavg()[0]:.1f}; PostgreSQL "
              f"{deployment.sql('show server_version')[0][0]}, {deployment.httpd_version()}, {FRAMEWORKS[deployment.peer.framework]}\n"
              f"{describe_rows(deployment.rows)} in {ORGANIZATIONS} organizations; {CONNECTIONS} keep-alive connections without TLS, "
              f"{bench.pairs} pairs of {bench.seconds} s each", flush=True)
        parts.check_answers(deployment)
        for name in names:
            parts.measure(bench, name)
    finally:
        deployment.down()


def main():
    names = (os.environ.get("NEOAPI_BENCH") or " ".join(parts.PARTS)).split()
    framework = os.environ.get("NEOAPI_BENCH_PEER") or next(iter(FRAMEWORKS))
    if len(sys.argv) != 2 or set(names) - set(parts.PARTS) or framework not in FRAMEWORKS:
        sys.exit(f"usage: [BENCH='{' '.join(parts.PARTS)}'] [BENCH_PEER={'|'.join(FRAMEWORKS)}] [BENCH_SECONDS=4] [BENCH_PAIRS=9] bench.py BUILD")
    bench = Bench(sys.argv[1], framework)
    run(bench, names)
    bench.summary()
    sys.exit(1 if bench.wrong else 0)


if __name__ == "__main__":
    main()
