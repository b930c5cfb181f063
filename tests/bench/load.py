# SPDX-License-Identifier: Apache-2.0
"""Runs wrk and parses its results; measures two sides alternately, run by run or request by request."""

import itertools
import json
import os
import pathlib
import subprocess
from dataclasses import dataclass, field
from functools import partial
from statistics import median

DIRECTORY = pathlib.Path(__file__).resolve().parent
CONNECTIONS = 16
THREADS = 2
WARM_UP = 2  # seconds
run_numbers = itertools.count(1)  # makes the bodies of each run unique


@dataclass
class Measured:
    requests: int
    seconds: float
    refused: int  # responses with 4xx or 5xx
    broken: int  # requests without a response
    median_us: int
    p99_us: int
    statuses: dict = field(default_factory=dict)
    processor: tuple = (0, 0)  # processor time of the web server and of PostgreSQL (seconds)
    rows: int = 1  # per request

    @property
    def rate(self):
        return self.requests * self.rows / self.seconds


class Comparison:
    """Pairs of runs of two sides, and the ratio of the first side to the second."""

    def __init__(self, sides):
        self.runs = {side: [] for side in sides}

    @property
    def ratio(self):
        """The median of the pairs' ratios. Slow phases of the machine affect both runs of a pair."""
        return median(one.rate / other.rate for one, other in zip(*self.runs.values()))

    def medians(self):
        return [median(run.rate for run in runs) for runs in self.runs.values()]

    def print_pair(self, number):
        one, other = (runs[-1].rate for runs in self.runs.values())
        print(f"  {number:<6} {one:10,.0f} {other:10,.0f} {one / other:7.3f}", flush=True)

    def tell(self):
        one, other = self.medians()
        print(f"  median {one:10,.0f} {other:10,.0f} {self.ratio:7.3f}  (ratio of the medians {one / other:.3f})")
        for side, measured in self.runs.items():
            half, most = (median(getattr(run, name) for run in measured) for name in ("median_us", "p99_us"))
            answers = sum(run.requests for run in measured)
            httpd, db = (sum(run.processor[server] for run in measured) / answers * 1e6 for server in (0, 1))
            print(f"  {side}: half of the answers within {half:,.0f} µs, 99 of 100 within {most:,.0f} µs; processor time of one "
                  f"{httpd:.0f} µs in the web server, {db:.0f} µs in PostgreSQL", flush=True)


def request_file(deployment, name):
    return deployment.place / f"{name}.requests"


class Load:
    """The requests for one side, in the format of traffic.lua; each reads or writes `rows` rows."""

    def __init__(self, deployment, name, lines, rows=1, connections=CONNECTIONS):
        self.deployment = deployment
        self.rows, self.connections = rows, connections
        self.url = f"http://127.0.0.1:{deployment.port}"
        self.file = request_file(deployment, name)
        self.file.touch(mode=0o600)
        self.file.write_text("".join(line + "\n" for line in lines))

    def run(self, seconds, *options):
        command = ["wrk", f"-t{min(THREADS, self.connections)}", f"-c{self.connections}", f"-d{seconds}s", "--timeout", "10s",
                   "-s", DIRECTORY / "traffic.lua", self.url, "--", self.file, str(next(run_numbers)), *options]
        before = self.deployment.processor_time()
        own = self.deployment.client_processors
        out = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                             preexec_fn=own and partial(os.sched_setaffinity, 0, own)).stdout
        used = tuple(after - start for start, after in zip(before, self.deployment.processor_time()))
        found = [line for line in out.splitlines() if line.startswith("RESULT ")]
        if not found:
            raise SystemExit(f"wrk did not finish:\n{out}")
        return Measured(**json.loads(found[0].removeprefix("RESULT ")), processor=used, rows=self.rows)


def compare(name, loads, pairs, seconds, check):
    """Runs both sides alternately, with alternating order in the pairs. `check(side, measure)` calls `measure`, checks the responses,
    and returns its result."""
    found = Comparison(loads)
    one, other = loads
    what = "answers" if all(load.rows == 1 for load in loads.values()) else "rows"
    print(f"\n{name}: {what} a second\n  {'pair':6} {one:>10} {other:>10} {'ratio':>7}", flush=True)
    for side, load in loads.items():
        check(side, partial(load.run, WARM_UP))
    for pair in range(1, pairs + 1):
        for side in loads if pair % 2 else reversed(loads):
            found.runs[side].append(check(side, partial(loads[side].run, seconds)))
        found.print_pair(pair)
    found.tell()
    return found


def alternate(deployment, one, other, rounds):
    """The ratio of the second load's response time to the first one's, and both (medians, microseconds): see turns.c."""
    command = [deployment.build / "bench/turns", str(deployment.port), str(rounds), *(request_file(deployment, name) for name in (one, other))]
    out = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    took = json.loads(out.removeprefix("RESULT "))
    return took["other"] / took["one"], took["one"], took["other"]
