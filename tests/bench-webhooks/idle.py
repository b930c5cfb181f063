"""What a process asks the database while nothing happens."""

import time

PROCESSES = 2
SECONDS = 20
GOAL = 1.0  # statements a second of one process


def transactions(deployment):
    """Of the server's processes: what was committed or rolled back, but for what we ask ourselves."""
    deployment.sql("select pg_stat_force_next_flush()")
    return deployment.number("select xact_commit + xact_rollback from pg_stat_database where datname = 'neoapi'")


def idle(bench):
    d = bench.deployment
    bench.restart(PROCESSES)
    d.subscribe("http://127.0.0.1:9/", ["*"])
    d.sql("alter table neoapi.webhook_queue set (autovacuum_enabled = off)")
    time.sleep(5)  # what is done once at the start
    before, since = transactions(d), time.monotonic()
    time.sleep(SECONDS)
    spent = time.monotonic() - since
    asked = transactions(d) - before - 2
    d.sql("alter table neoapi.webhook_queue reset (autovacuum_enabled)")
    rate = asked / spent / PROCESSES
    print(f"\nidle: {asked} statements in {spent:.0f} s, of {PROCESSES} processes", flush=True)
    bench.found("idle", f"{rate:.2f} statements a second of one process", f"under {GOAL:.0f}", rate < GOAL)
