# SPDX-License-Identifier: Apache-2.0
"""Waits for conditions, with a time limit, and runs jobs concurrently."""

import threading
import time

TIMEOUT_S = 60  # a sanitizer build on a busy machine is slow


def eventually(condition, what, limit=TIMEOUT_S):
    """Waits until `condition()` is true and returns what it returned. `what` names the condition in the error."""
    deadline = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {limit} s: {what}; last: {found!r}"
        time.sleep(0.02)


def together(*jobs):
    """Runs jobs concurrently in threads. Returns their results in order, or raises the exception of one."""
    gate, results = threading.Barrier(len(jobs)), [None] * len(jobs)

    def run(number, job):
        gate.wait(TIMEOUT_S)
        try:
            results[number] = (job(), None)
        except BaseException as wrong:  # noqa: B902 (raised in the caller)
            results[number] = (None, wrong)

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * TIMEOUT_S)
        assert not thread.is_alive(), "a job has not ended"
    for _, wrong in results:
        if wrong is not None:
            raise wrong
    return [result for result, _ in results]
