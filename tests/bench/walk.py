# SPDX-License-Identifier: Apache-2.0
"""Reads an organization page by page, and checks that the last pages are as fast as the first ones."""

import http.client
import json
import time
from statistics import median
from urllib.parse import quote

from deployment import ORGANIZATIONS, ROWS

PAGES = 1000
EDGE = 100  # number of compared pages at the beginning and the end
WALKS = 3
GOAL = 1.05


def one_walk(bench, organization, collection, limit):
    """The time of each page, in seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", bench.deployment.port, timeout=10)
    times, ids, cursor = [], [], ""
    while cursor is not None:
        path = organization.path("ours", f"?limit={limit}" + (f"&cursor={quote(cursor)}" if cursor else ""), collection)
        start = time.perf_counter()
        connection.request("GET", path, headers={"X-API-Key": organization.key})
        answer = connection.getresponse()
        body = answer.read()
        times.append(time.perf_counter() - start)
        if answer.status != 200 or len(times) > PAGES:
            bench.expect(False, f"{collection}: page {len(times)} was answered with {answer.status}: {body[:300]}")
            break
        page = json.loads(body)
        ids += [item["id"] for item in page["items"]]
        cursor = page["page_info"]["end_cursor"] if page["page_info"]["has_next_page"] else None
    connection.close()
    bench.expect(len(times) == PAGES and len(ids) == PAGES * limit and ids == sorted(set(ids), reverse=True),
                 f"{len(times)} pages with {len(set(ids))} {collection}, where {PAGES} with {PAGES * limit} were due, newest first")
    return times


def measure_walk(bench, part, collection):
    organization = bench.deployment.organizations[ORGANIZATIONS // 2]
    limit = ROWS[collection] // ORGANIZATIONS // PAGES
    print(f"\n{part}: {PAGES} pages of {limit} {collection}, {WALKS} times", flush=True)
    one_walk(bench, organization, collection, limit)  # warms the caches
    walks = [one_walk(bench, organization, collection, limit) for _ in range(WALKS)]
    if bench.wrong:
        return
    first = median(page for times in walks for page in times[:EDGE]) * 1e6
    last = median(page for times in walks for page in times[-EDGE:]) * 1e6
    print(f"  a page takes {first:.0f} µs among the first {EDGE}, {last:.0f} µs among the last {EDGE}")
    bench.found(part, f"{last / first:.3f} of the first pages' time at the end", f"{GOAL:.2f}", last / first <= GOAL)


def walk(bench):
    measure_walk(bench, "walk", "brokers")


def deep(bench):
    measure_walk(bench, "deep", "properties")
