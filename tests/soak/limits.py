# SPDX-License-Identifier: Apache-2.0
"""Compares the results of a soak with their limits: response times, growth of memory and descriptors, and what checkers found."""

from collections import Counter
from dataclasses import dataclass
from statistics import median

MAX_P99_RATIO = 2
MAX_GROWTH = 1.1
CONNECTIONS = 50  # whose number varies by about so many while processes are killed and receivers hang


@dataclass
class Line:
    """A measured value, its limit, and whether it is within."""

    name: str
    value: str
    limit: str
    is_within: bool


def percentile(values, percent):
    return sorted(values)[min(len(values) * percent // 100, len(values) - 1)]


def check_latency(quiet, disturbed):
    """The durations of requests in a quiet phase and during disturbances, in seconds."""
    if not quiet or not disturbed:
        return Line("p99 of disturbed to quiet", "no requests", "", False)
    ratio = percentile(disturbed, 99) / percentile(quiet, 99)
    return Line("p99 of disturbed to quiet", f"{ratio:.2f}", f"< {MAX_P99_RATIO}", ratio < MAX_P99_RATIO)


def check_growth(name, samples, variation=0):
    """Compares medians: of the second sixth after the warm-up, which is the first third, and of the last sixth."""
    sixth = len(samples) // 6
    if not sixth:
        return Line(name, "no samples", "", False)
    early, late = median(samples[2 * sixth:3 * sixth]), median(samples[-sixth:])
    limit = MAX_GROWTH * early + variation
    return Line(name, f"{early:,.0f} to {late:,.0f}", f"<= {limit:,.0f}", 0 < late <= limit)


class Sums:
    """The lines of several checkers, added up."""

    def __init__(self):
        self.counts, self.wrong = Counter(), []

    def add(self, checker, *checks):
        for one in checks:
            one(checker)
        self.counts.update({name: count for name, count, _ in checker.lines})
        self.wrong += checker.failures

    def lines(self):
        bad = {one.partition(": ")[0] for one in self.wrong}
        return [Line(name, f"{count:,}", "0" if name in bad else "", name not in bad) for name, count in self.counts.items()]


def print_lines(faults, lines, wrong):
    """Prints the table. Returns true if all is within its limits."""
    print()
    for kind, count in sorted(Counter(fault.kind for fault in faults).items()):
        print(f"  {'fault: ' + kind:55}{count:>18,}")
    for line in lines:
        print(f"  {line.name:55}{line.value:>18}  {line.limit:10}{'' if line.is_within else 'WRONG'}".rstrip())
    for one in wrong[:100]:
        print(f"WRONG: {one}")
    return all(line.is_within for line in lines)
