# SPDX-License-Identifier: Apache-2.0
"""Measures whether few failed or slow responses of a receiver slow its other deliveries down: the time until each delivery has been
attempted once, with the shipped directives."""

import time
from statistics import median

from deployment import wait_for
from receiver import UnevenReceiver

DELIVERIES = 4000
SIZE = 700  # of a body, in bytes
# One of how many requests is refused, and is slow; 0: none.
CASES = {"clean": (0, 0), "1 % refused": (100, 0), "1 % slow": (0, 100), "both": (100, 100)}
GOAL = 1.3  # maximum time with 1 % refused, relative to the clean run


def measure_seconds(bench, one_refused_in, one_slow_in):
    d, receiver = bench.deployment, UnevenReceiver(one_refused_in, one_slow_in)
    receiver.up()
    try:
        subscription = d.subscribe(receiver.url, ["*"])
        d.activate(subscription, False)
        d.fill(subscription, DELIVERIES, SIZE)
        d.settle()
        began = time.monotonic()
        d.activate(subscription, True)
        d.ask("POST", f"webhooks/{subscription}/test")  # wakes the courier
        wait_for(lambda: receiver.first_attempts() > DELIVERIES, "not everything arrives")
        return time.monotonic() - began
    finally:
        receiver.down()


def errors(bench):
    bench.restart(1)
    runs = {name: [] for name in CASES}
    print(f"\nerrors: seconds of {DELIVERIES:,} deliveries to a receiver that answers after 20 ms", flush=True)
    for number in range(1, bench.rounds + 1):
        for name, (refused, slow) in CASES.items():
            runs[name].append(measure_seconds(bench, refused, slow))
        print(f"  {number:<3}", *(f"{name}: {seconds[-1]:.1f}" for name, seconds in runs.items()), sep="   ", flush=True)
    for name in list(CASES)[1:]:
        ratio = median(one / clean for one, clean in zip(runs[name], runs["clean"]))
        has_goal = name == "1 % refused"
        bench.found("errors", f"{name}: {ratio:.2f} × the time of the clean run ({median(runs['clean']):.1f} to "
                    f"{median(runs[name]):.1f} s)", f"{GOAL} ×" if has_goal else None, ratio <= GOAL if has_goal else None)
