# SPDX-License-Identifier: Apache-2.0
"""Measures the time from the 201 of a write to its first attempt, on an idle machine."""

import json
import queue
import random
import time
from statistics import median, quantiles

from receiver import TimingReceiver

WRITES = 500
WARM_UP = 50
GOALS = (5, 50)  # milliseconds: median, p99


def write(bench, number):
    """Creates a broker. Returns its id, and the times of request and response (monotonic nanoseconds)."""
    body = {"name": "Maria Aparecida dos Santos", "creci": f"SP {time.time_ns()}-{number}", "email": "maria@example.com"}
    began = time.monotonic_ns()
    broker = bench.deployment.ask("POST", "brokers", body, bench.client)
    return broker["id"], began, time.monotonic_ns()


def arrival_of(receiver, broker):
    while True:
        at, body = receiver.arrivals.get(timeout=20)
        if json.loads(body)["payload"]["id"] == broker:
            return at


def latency(bench):
    receiver = TimingReceiver()
    receiver.up()
    try:
        bench.restart(2)
        bench.deployment.subscribe(receiver.url, ["broker.created"])
        found = []
        for number in range(WARM_UP + WRITES):
            broker, _, answered = write(bench, number)
            found.append((arrival_of(receiver, broker) - answered) / 1e6)
            time.sleep(random.uniform(0.005, 0.030))  # so that writes happen at random times of the courier's loop
    except queue.Empty:
        raise SystemExit("an event did not arrive within 20 s") from None
    finally:
        receiver.down()
    found = found[WARM_UP:]
    half, most = median(found), quantiles(found, n=100)[98]
    print(f"\nlatency: {WRITES} single writes, milliseconds from the 201 to the arrival of the first attempt\n"
          f"  median {half:.1f}, p99 {most:.1f}, longest {max(found):.1f}", flush=True)
    for name, value, goal in zip(("median", "p99"), (half, most), GOALS):
        bench.found("latency", f"{name} {value:.1f} ms", f"{goal} ms", value <= goal)
