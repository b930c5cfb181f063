# SPDX-License-Identifier: Apache-2.0
"""Counts the statements of an idle process."""

import time

PROCESSES = 2
SECONDS = 20
GOAL = 1.0  # statements a second of one process
STATEMENTS = """
select coalesce(sum(calls), 0)::int from pg_stat_statements
where userid = (select oid from pg_roles where rolname = 'neoapi')"""


def idle(bench):
    d = bench.deployment
    bench.restart(PROCESSES)
    d.subscribe("http://127.0.0.1:9/", ["*"])
    with d.counted_statements():
        time.sleep(5)  # statements of the start
        d.sql("select pg_stat_statements_reset()")
        since = time.monotonic()
        time.sleep(SECONDS)
        asked, spent = d.number(STATEMENTS), time.monotonic() - since
    rate = asked / spent / PROCESSES
    print(f"\nidle: {asked} statements in {spent:.0f} s, of {PROCESSES} processes", flush=True)
    bench.found("idle", f"{rate:.2f} statements a second of one process", f"under {GOAL:.0f}", rate < GOAL)
