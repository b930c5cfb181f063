# SPDX-License-Identifier: Apache-2.0
"""Measures creates by one client while another erases a person whose record has a hundred thousand events."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import quantiles

import comparisons
import events

EVENTS, ROWS = 100_000, 5_000  # in total, and of a transaction
QUIET = 10  # seconds of creates before the erasure
GOAL = 50  # milliseconds by which the erasure may delay a create
PERSON = '{"email": "person@example.com"}'


def write_until(deployment, is_over):
    """The times of creates in milliseconds."""
    line, times = comparisons.creates(deployment, "ours")[0], []
    while not is_over():
        began = time.monotonic()
        status, _ = comparisons.ask(deployment, line)
        times.append((time.monotonic() - began) * 1000 if status == 201 else None)
    return times


def erase(deployment, organization):
    """Returns how long it took in seconds, and what was erased."""
    began, erasure = time.monotonic(), {"status": "running"}
    while erasure["status"] == "running":
        status, content = comparisons.ask(deployment, f"POST {organization.path('ours', '/erase', 'subjects')} {organization.key} {PERSON}")
        erasure = json.loads(content) if status == 200 else {"status": content.decode(), "counts": {}}
    return time.monotonic() - began, erasure["counts"]


def erasure(bench):
    deployment = bench.deployment
    organization = deployment.organizations[0]
    person = '{"kind": "person", "name": "Ana", "roles": ["buyer"], "email": "person@example.com"}'
    comparisons.ask(deployment, f"POST {organization.path('ours', collection='parties')} {organization.key} {person}")
    deployment.sql(events.FILL.format(steps=EVENTS // ROWS, organization=organization.id, rows=ROWS))
    deployment.sql("vacuum (analyze) neoapi.event")
    end = time.monotonic() + QUIET
    found = {"before": write_until(deployment, lambda: time.monotonic() > end)}
    with ThreadPoolExecutor() as pool:
        erasing = pool.submit(erase, deployment, organization)
        found["during"] = write_until(deployment, erasing.done)
    seconds, counts = erasing.result()
    print(f"\nerasure: {counts.get('events', 0):,} events in {seconds:.1f} s; creates by one client, in milliseconds", flush=True)
    bench.expect(counts.get("events", 0) > EVENTS, f"the erasure has erased {counts}")
    for name, times in found.items():
        bench.expect(None not in times, f"a create {name} the erasure failed")
        times = [one for one in times if one is not None]
        half, most = (quantiles(times, n=1000)[place] for place in (499, 989))
        print(f"  {name}: {len(times):,} creates, half within {half:.1f}, 99 of 100 within {most:.1f}, longest {max(times):.1f}", flush=True)
    delay = max(found["during"])
    bench.found("erasure", f"the longest create beside it {delay:.1f} ms, {max(found['before']):.1f} before", f"{GOAL} ms", delay <= GOAL)
    deployment.clean()
