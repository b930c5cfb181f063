# SPDX-License-Identifier: Apache-2.0
"""The results of a benchmark, and the name of the processor."""

import platform


class Findings:
    """The results. Base class of each benchmark's Bench."""

    def __init__(self):
        self.findings = []  # (part, result, goal, whether it is reached); without a goal the last two are None
        self.wrong = []

    def found(self, part, value, goal=None, reached=None):
        self.findings.append((part, value, goal, reached))

    def expect(self, condition, what):
        if not condition:
            self.wrong.append(what)
            print(f"  WRONG: {what}", flush=True)

    def summary(self):
        print("\nsummary")
        for part, value, goal, reached in self.findings:
            verdict = f"   goal {goal}: {'reached' if reached else 'MISSED'}" if goal else ""
            print(f"  {part:10} {value}{verdict}")
        for what in self.wrong:
            print(f"  WRONG: {what}")


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
