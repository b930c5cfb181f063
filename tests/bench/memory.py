# SPDX-License-Identifier: Apache-2.0
"""Measures the resident memory of Apache's children after many requests, and after ten times as many."""

import pathlib

import comparisons
from load import Load

REQUESTS = (20_000, 200_000)
GOAL = 1.02
EXPECTED = {"200", "201", "400", "401", "404", "429"}  # requests with wrong keys have a lower rate limit


def mistakes(organization):
    collection, nobody = organization.path("ours"), "brk_" + "0" * 26
    wrong_key = organization.key[:-1] + ("a" if organization.key[-1] != "a" else "b")
    return [
        f"GET {collection}/{nobody} {organization.key}",
        f"GET {collection}?limit=0 {organization.key}",
        f"GET {collection}?cursor=forged {organization.key}",
        f"GET /public/v1/nothing {organization.key}",
        f"GET {collection} {wrong_key}",
        f'POST {collection} {organization.key} {{"creci": "#"}}',
        f'POST {collection} {organization.key} {{"name": "#", ',
    ]


def mix(deployment):
    """A mix of requests: about 60 % get, 20 % list, 15 % create, 5 % errors."""
    errors = [line for organization in deployment.organizations[:10] for line in mistakes(organization)]
    lines = comparisons.gets(deployment, "ours", one_in=1000)[:840]
    lines += comparisons.lists(deployment, "ours") * 6
    lines += comparisons.creates(deployment, "ours", keyed="+")[:210]
    return lines + errors


def resident(deployment):
    """The sums of Rss and Pss of all children, in KiB."""
    sums = {"Rss": 0, "Pss": 0}
    for child in deployment.children("httpd"):
        fields = dict(line.split(":") for line in pathlib.Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()[1:])
        for name in sums:
            sums[name] += int(fields[name].split()[0])
    return sums


def send(bench, load, sent, target):
    """Sends until `target` responses have arrived. Returns their number."""
    seconds = 1
    while sent < target:
        measured = load.run(seconds, "statuses")
        sent += measured.requests
        seconds = max(1, int((target - sent) / measured.rate))
        bench.expect(measured.requests and not measured.broken and {"200", "201"} <= set(measured.statuses) <= EXPECTED,
                     f"memory: {measured.broken} requests without an answer, and these statuses: {measured.statuses}")
        if bench.wrong:
            break
    return sent


def memory(bench):
    deployment = bench.deployment
    load = Load(deployment, "memory", mix(deployment))
    deployment.restart_httpd()
    sent, found = 0, []
    print("\nmemory: all of Apache's children, in KiB", flush=True)
    for target in REQUESTS:
        sent = send(bench, load, sent, target)
        deployment.await_quiet()
        found.append(resident(deployment))
        print(f"  after {sent:7,} requests: resident {found[-1]['Rss']:,}, with what is shared counted once {found[-1]['Pss']:,}",
              flush=True)
    ratio = found[-1]["Rss"] / found[0]["Rss"]
    bench.found("memory", f"{ratio:.3f} of what was resident after {REQUESTS[0]:,} requests", f"{GOAL:.2f}", ratio <= GOAL)
    deployment.clean()
