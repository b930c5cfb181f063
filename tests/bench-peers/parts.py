# SPDX-License-Identifier: Apache-2.0
"""The compared operations. Both sides get the same requests."""

import http.client
import json
import re
import time
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from typing import Callable

from comparisons import BATCH_SIZE, batches, creates, gets, lists
from load import CONNECTIONS, Load, compare

# Different in each response, even of one side.
OF_THE_MOMENT = {"id", "created_at", "updated_at", "request_id", "timestamp", "instance", "start_cursor", "end_cursor",
                 "etag"}  # of the results of a batch: the peers do not make them
# Texts for people, which differ.
WORDING = {"detail", "message", "documentation_url", "code"}
HEADERS = ("Content-Type", "Link", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id")

LIMITS = HEADERS[2:5]  # the peer's plugin sends these with authenticated requests only


@dataclass
class Part:
    kind: Callable  # returns lines of requests in the format of traffic.lua
    goal: float  # None: it is only measured
    rows: int = 1
    writes: float = 0  # share of the requests


def updates(deployment):
    """Patches of one field; with the time, so that they change rows that earlier runs have changed."""
    return [f'PATCH {owner.path("ours", "/" + one)} {owner.key} {{"email": "{time.time():.0f}.#@example.com"}}'
            for owner, one in deployment.sample("brokers", 50)]


def mixed(deployment):
    """Nine reads for each write, half of those creates, with the keys of two organizations."""
    keys = {owner.key for owner in deployment.organizations[:2]}
    reads, pages, patches, news = ([line for line in lines if line.split(" ")[2] in keys] for lines in (
        gets(deployment, "ours"), lists(deployment, "ours"), updates(deployment), creates(deployment, "ours")))

    def times(lines, count):
        return list(islice(cycle(lines), count))
    return times(reads, 800) + times(pages, 100) + times(patches, 50) + times(news, 50)


PARTS = {
    "get": Part(partial(gets, handler="ours"), 1.8),
    "list": Part(partial(lists, handler="ours"), 3.5),
    "create": Part(partial(creates, handler="ours"), 2.5, writes=1),
    "keyed": Part(partial(creates, handler="ours", keyed="+"), 2.5, writes=1),
    "batch": Part(batches, 1.15, BATCH_SIZE, writes=1),
    "update": Part(updates, None, writes=1),
    "mixed": Part(mixed, None, writes=0.1),
}

# ---------------------------------------------------------------- equal responses


def ask(side, line, **headers):
    """Sends one line of requests. Returns status, headers and content. "#" is replaced by digits that depend on the time."""
    method, path, key, *body = line.split(" ", 3)
    connection = http.client.HTTPConnection("127.0.0.1", side.port, timeout=10)
    headers = {"X-API-Key": key.rstrip("+"), **({"Content-Type": "application/json"} if body else {}), **headers}
    connection.request(method, path, body[0].replace("#", f"{time.time_ns() % 10**12:012}").encode() if body else None, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, json.loads(content) if content else None


def comparable(value, left_out):
    """The value without the members of these names, and without the twelve digits of the request."""
    if isinstance(value, dict):
        return {name: comparable(one, left_out) for name, one in value.items() if name not in left_out}
    return [comparable(one, left_out) for one in value] if isinstance(value, list) else value


def check_same(deployment, what, line, status, left_out=frozenset(), **headers):
    """Stops the benchmark if two responses differ in status, in the names of their headers, or in content."""
    answers = [ask(side, line, **headers) for side in (deployment, deployment.peer)]
    expected = [name for name in HEADERS if status != 401 or name not in LIMITS]
    shown = [(got, [name for name in expected if name in head], comparable(content, left_out)) for got, head, content in answers]
    if shown[0] != shown[1] or shown[0][0] != status:
        raise SystemExit(f"{what}: the answers differ, or are not {status}:\n  ours     {str(shown[0])[:2000]}\n  the peer {str(shown[1])[:2000]}")
    return answers


def check_next_pages(deployment, answers, line):
    """Checks that the Link headers of both sides lead to the same rows."""
    follow = [f"GET {head['Link'].partition('>')[0].partition('/public')[1]}{head['Link'].partition('>')[0].partition('/public')[2]} "
              f"{line.split(' ')[2]}" for _, head, _ in answers]
    pages = [ask(side, one)[2]["items"] for side, one in zip((deployment, deployment.peer), follow)]
    if pages[0] != pages[1] or len(pages[0]) != 25:
        raise SystemExit("the second pages differ")


def check_repetition(deployment, line):
    """Checks that two requests with one Idempotency-Key create one broker."""
    key, body = "00000000-0000-4000-8000-000000000001", line.replace("#", f"{time.time_ns() % 10**12:012}")
    for side in (deployment, deployment.peer):
        first, second = (ask(side, body, **{"Idempotency-Key": key}) for _ in range(2))
        other = ask(side, body.replace("529.982", "529.983"), **{"Idempotency-Key": key})
        if first[0] != 201 or first[2] != second[2] or other[0] not in (409, 422):
            raise SystemExit(f"repeated creates are answered with {first[::2]}, {second[::2]} and {other[::2]}")


def check_answers(deployment):
    """Compares the responses of both sides before their speed is measured."""
    for line in gets(deployment, "ours", one_in=20_000):
        answers = check_same(deployment, "get", line, 200)
        for side, (_, head, _) in zip((deployment, deployment.peer), answers):
            if ask(side, line, **{"If-None-Match": head["ETag"]})[0] != 304:
                raise SystemExit("a read with the ETag of the last one is not answered with 304")
    for line in lists(deployment, "ours")[:3]:
        check_next_pages(deployment, check_same(deployment, "list", line, 200, OF_THE_MOMENT - {"id"}), line)
    digits = f"{time.time_ns() % 10**12:012}"
    line, many = (kind(deployment)[0].replace("#", digits + part) for kind, part in (
        (PARTS["create"].kind, ""), (batches, "9")))
    check_same(deployment, "create", line, 201, OF_THE_MOMENT)
    check_same(deployment, "duplicate", line, 409, OF_THE_MOMENT | WORDING | {"field", "existing_id"})
    check_same(deployment, "batch", many, 200, OF_THE_MOMENT)
    changed = updates(deployment)[0].replace("#", digits)
    check_same(deployment, "update", changed, 200, OF_THE_MOMENT - {"id", "created_at"})
    check_same(deployment, "an unknown id", re.sub("brk_.{10}", "brk_0000000000", changed), 404, OF_THE_MOMENT | WORDING)
    check_same(deployment, "a missing name", line.replace('"name"', '"email2"'), 400, OF_THE_MOMENT | WORDING | {"errors"})
    check_same(deployment, "a wrong key", line.replace(deployment.organizations[0].key, "nbr_wrong"), 401, OF_THE_MOMENT | WORDING)
    check_repetition(deployment, PARTS["create"].kind(deployment)[0])
    deployment.clean()


# ---------------------------------------------------------------- the comparison


def check_rows(bench, part):
    """Checks that all requests succeeded, and that each write has its event and its delivery. Requests that were in flight at the end
    of a run can have written more."""
    deployment = bench.deployment

    def count(schema):
        counts = [deployment.number(f"select count(*) from {schema}.{table}") for table in ("event", "webhook_delivery")]
        return [*counts, deployment.number(f"select count(*) from {schema}.broker b join (select distinct resource_id from {schema}.event) e"
                                           " on e.resource_id = b.id") - deployment.number(
                                               f"select count(distinct resource_id) from {schema}.event")]

    def check(side, measure):
        schema = "neoapi" if side == "ours" else "peer"
        before = count(schema) if part.writes else None
        measured = measure()
        bench.expect(measured.requests > 0 and measured.refused == measured.broken == 0,
                     f"{side}: of {measured.requests} requests {measured.refused} were refused, {measured.broken} not answered")
        if part.writes:
            deployment.await_quiet()
            events, deliveries, lost = (after - was for was, after in zip(before, count(schema)))
            due, under_way = measured.requests * measured.rows * part.writes, CONNECTIONS * measured.rows
            slack = 0 if part.writes == 1 else 0.2 * due  # the client chooses requests at random
            bench.expect(due - slack <= events <= due + slack + under_way and events == deliveries and not lost,
                         f"{side}: {due:.0f} writes were answered; there are {events} events and {deliveries} deliveries, {lost} brokers less")
        return measured
    return check


def measure(bench, name):
    part, deployment = PARTS[name], bench.deployment
    lines = part.kind(deployment)
    loads = {side: Load(one, f"{name}-{side}", lines, part.rows) for side, one in (("ours", deployment), ("peer", deployment.peer))}
    with deployment.on_separate_cores():
        found = compare(name, loads, bench.pairs, bench.seconds, check_rows(bench, part))
    if part.writes:
        deployment.clean()
    rates = "{:,.0f} to {:,.0f} {} a second".format(*found.medians(), "requests" if part.rows == 1 else "rows")
    bench.found(name, f"{found.ratio:.2f} × the peer ({rates})", part.goal and f"{part.goal} ×", part.goal and found.ratio >= part.goal)
