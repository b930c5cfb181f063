# SPDX-License-Identifier: Apache-2.0
"""Measures one change that many subscriptions of an organization receive: the time of the write, and until the last delivery."""

import queue
from statistics import median

from latency import arrival_of, write
from receiver import TimingReceiver

SUBSCRIPTIONS = (1, 100)
WRITES = 50
WARM_UP = 5


def measure(bench, receiver, subscriptions):
    """Medians in milliseconds: of the write, and from its 201 to the arrival of the last first attempt."""
    bench.deployment.subscribe(receiver.url, ["broker.created"], subscriptions)
    writes, arrivals = [], []
    for number in range(WARM_UP + WRITES):
        broker, began, answered = write(bench, number)
        last = max(arrival_of(receiver, broker) for _ in range(subscriptions))
        writes.append((answered - began) / 1e6)
        arrivals.append((last - answered) / 1e6)
    return median(writes[WARM_UP:]), median(arrivals[WARM_UP:])


def fan_out(bench):
    receiver = TimingReceiver()
    receiver.up()
    try:
        bench.restart(2)
        found = [measure(bench, receiver, count) for count in SUBSCRIPTIONS]
    except queue.Empty:
        raise SystemExit("an event did not arrive within 20 s") from None
    finally:
        receiver.down()
    print(f"\nfan_out: {WRITES} single writes, milliseconds", flush=True)
    for count, (took, last) in zip(SUBSCRIPTIONS, found):
        bench.found("fan_out", f"subscriptions: {count}; a write takes {took:.1f} ms, the last one has it {last:.1f} ms later")
