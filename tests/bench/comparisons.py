# SPDX-License-Identifier: Apache-2.0
"""The comparisons of bench.py. Both handlers do the same work, except in insert, where the bare handler writes no event, and in
batch and bulk, which compare batches of the module or of the bare handler with single creates of the module."""

import http.client
import json
import time
from functools import partial
from urllib.parse import quote

from deployment import ROWS, id_bound
from load import CONNECTIONS, Load, compare, alternate

HANDLERS = ("ours", "bare")
GOALS = {"get": 0.90, "list": 0.90, "create": 0.80, "property": 0.90, "find": 0.90, "batch": 8}
COMPARED = {"get", "list", "create", "keyed", "property", "find", "batch", "batches", "bulk"}
BATCH_SIZE = 100  # operations of a batch

# The body that creates a broker; "#" is replaced by twelve digits, different in each request.
BODY = ('{{"name": "{name}", "creci": "CRECI-SP #-F", "document_number": "529.982.247-25", "email": "broker.#@example.com", '
        '"phone": "+55 11 90000-1234", "bank_account": {{"bank_code": "341", "bank_name": "Itaú Unibanco", "agency": "0423", '
        '"account_number": "18765-4", "account_type": "checking", "pix_key": "broker.#@example.com"}}}}')


def gets(deployment, handler, one_in=50, collection="brokers"):
    return [f"GET {owner.path(handler, '/' + one, collection)} {owner.key}" for owner, one in deployment.sample(collection, one_in)]


def lists(deployment, handler):
    return [f"GET {owner.path(handler)} {owner.key}" for owner in deployment.organizations]


def searches(deployment, handler):
    """A list of the active properties in a city."""
    cities = [city for city, in deployment.sql(
        "select distinct address->>'city' from (select * from neoapi.property limit 9999) p"
        " order by 1")]
    return [f"GET {owner.path(handler, f'?city={quote(city)}&status=active', 'properties')} {owner.key}"
            for owner in deployment.organizations for city in cities]


def creates(deployment, handler, keyed="", alone=False):
    names = [name for name, in deployment.sql("select name from neoapi.broker order by id limit 8")]
    query = "?alone" if alone and handler == "bare" else ""
    return [f"POST {owner.path(handler)}{query} {owner.key}{keyed} {BODY.format(name=name)}"
            for owner in deployment.organizations for name in names]


def many(deployment):
    """A batch of the maximum size."""
    names = [name for name, in deployment.sql(f"select name from neoapi.broker order by id limit {BATCH_SIZE}")]
    return [BODY.format(name=name).replace("#", f"#{number:02}") for number, name in enumerate(names)]


def batches(deployment):
    operations = ", ".join(f'{{"method": "create", "data": {one}}}' for one in many(deployment))
    return [f'POST {owner.path("ours")}/batch {owner.key} {{"operations": [{operations}]}}' for owner in deployment.organizations]


def arrays(deployment):
    rows = ", ".join(many(deployment))
    return [f'POST {owner.path("bare")}?many {owner.key} [{rows}]' for owner in deployment.organizations]


# ---------------------------------------------------------------- equal responses


def ask(deployment, line):
    """Sends the request in one line of a file of requests. Returns its status and body."""
    method, path, key, *body = line.split(" ", 3)
    connection = http.client.HTTPConnection("127.0.0.1", deployment.port, timeout=10)
    headers = {"X-API-Key": key, **({"Content-Type": "application/json"} if body else {})}
    connection.request(method, path, body[0].replace("#", f"{time.time_ns() % 10**12:012}").encode() if body else None, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def check_answers(bench):
    """Compares some responses of both handlers before their speed is measured."""
    deployment = bench.deployment

    def both(kind, **options):
        return zip(*(kind(deployment, handler, **options) for handler in HANDLERS))

    def check(lines, status, same, what):
        ours, bare = (ask(deployment, line) for line in lines)
        bench.expect(ours[0] == bare[0] == status and same(json.loads(ours[1]), json.loads(bare[1])),
                     f"{what}: ours answers {ours[0]} {ours[1][:200]}, the bare handler {bare[0]} {bare[1][:200]}")

    for collection in ROWS:
        for lines in both(gets, one_in=50_000, collection=collection):
            ours, bare = (ask(deployment, line) for line in lines)
            bench.expect(ours == bare and ours[0] == 200, f"{collection}: ours answers {ours}, the bare handler {bare}")
    for kind in (lists, searches):
        for lines in list(both(kind))[:3]:
            check(lines, 200, lambda ours, bare: ours["items"] == bare and len(bare) == 25, kind.__name__)
    for lines in list(both(creates))[:3]:
        check(lines, 201, lambda ours, bare: list(ours) == list(bare), "creates")
    status, answer = ask(deployment, arrays(deployment)[0])
    bench.expect(status == 201 and len(json.loads(answer)) == BATCH_SIZE, f"arrays: answered with {status} {answer[:300]}")
    status, answer = ask(deployment, batches(deployment)[0])
    bench.expect(status == 200 and json.loads(answer)["succeeded"] == BATCH_SIZE,
                 f"batches: answered with {status} {answer[:300]}")
    deployment.clean()


# ---------------------------------------------------------------- comparisons


def report_goal(bench, case, ratio, details):
    goal = GOALS.get(case)
    bench.found(case, f"{ratio:.3f} {details}", f"{goal:.2f}" if goal else None, ratio >= goal if goal else None)


def compare_loads(bench, case, loads, check, details):
    """Reports the ratio of two rates. `details` is a format for the rates."""
    found = compare(case, loads, bench.pairs, bench.seconds, check)
    report_goal(bench, case, found.ratio, details.format(*found.medians()))


def compare_in(bench, case, kind, check, bare_alone=False):
    deployment = bench.deployment
    loads = {handler: Load(deployment, f"{case}-{handler}", kind(deployment, "bare" if bare_alone else handler))
             for handler in HANDLERS}
    with deployment.on_separate_cores():
        compare_loads(bench, case, loads, check, "of the bare handler ({:,.0f} to {:,.0f} a second)")


def compare_reads(bench, case, kind, **how):
    """Compares with many concurrent clients, and with one client request by request, which scheduling hardly affects."""
    compare_in(bench, case, kind, check_responses(bench), **how)
    ratio, ours, bare = alternate(bench.deployment, *(f"{case}-{handler}" for handler in HANDLERS),
                                  bench.pairs * bench.seconds * 500)
    print(f"  in turns, by one client: half of the answers within {ours:.0f} and {bare:.0f} µs, ratio {ratio:.3f}", flush=True)
    report_goal(bench, case, ratio, f"of the bare handler, asked in turns by one client ({ours:.0f} to {bare:.0f} µs)")


def check_responses(bench):
    def check(side, measure):
        measured = measure()
        bench.expect(measured.requests > 0 and measured.refused == measured.broken == 0,
                     f"{side}: of {measured.requests} requests {measured.refused} were refused, {measured.broken} not answered")
        return measured
    return check


def check_rows(bench, alone=False):
    """Checks that every created broker is in the table and has a delivery, unless the bare handler writes none. Requests that were
    in flight at the end of a run can have created more."""
    deployment, good = bench.deployment, check_responses(bench)

    def deliveries():
        return deployment.number("select count(*) from neoapi.webhook_delivery")

    def check(side, measure):
        since, before = id_bound(time.time()), deliveries()
        measured = good(side, measure)
        deployment.await_quiet()
        rows, details = deployment.brokers_since(since), deliveries() - before
        due, under_way = measured.requests * measured.rows, CONNECTIONS * measured.rows
        bench.expect(due <= rows <= due + under_way, f"{side}: {due} brokers were answered and {rows} are there")
        bench.expect(details == (0 if alone and side == "bare" else rows), f"{side}: {rows} brokers, {details} deliveries")
        return measured
    return check


def get(bench):
    compare_reads(bench, "get", gets)


def list_of_25(bench):
    compare_reads(bench, "list", lists)


def one_property(bench):
    compare_reads(bench, "property", partial(gets, collection="properties"))


def search(bench):
    compare_reads(bench, "find", searches)


def create(bench):
    compare_in(bench, "create", creates, check_rows(bench))
    bench.deployment.clean()


def insert(bench):
    compare_in(bench, "insert", lambda deployment, handler: creates(deployment, handler, alone=True),
               check_rows(bench, alone=True))
    bench.deployment.clean()


def keyed(bench):
    compare_in(bench, "keyed", lambda deployment, handler: creates(deployment, handler, keyed="+"), check_rows(bench))
    bench.deployment.clean()


def batch(bench, case="batch", connections=1):
    """Compares batches with single creates, by one client and by as many as in the other comparisons."""
    deployment = bench.deployment
    loads = {"batch": Load(deployment, "batch", batches(deployment), BATCH_SIZE, connections),
             "single": Load(deployment, "single", creates(deployment, "ours"), 1, connections)}
    compare_loads(bench, case, loads, check_rows(bench), "times single creates ({:,.0f} to {:,.0f} brokers a second)")
    deployment.clean()


def bulk(bench):
    """Measures the upper bound of batches: the bare handler passes the array to one statement."""
    deployment = bench.deployment
    loads = {"bare": Load(deployment, "bulk", arrays(deployment), BATCH_SIZE, 1),
             "single": Load(deployment, "single", creates(deployment, "ours"), 1, 1)}
    compare_loads(bench, "bulk", loads, check_rows(bench), "times single creates ({:,.0f} to {:,.0f} brokers a second)")
    deployment.clean()


def many_batches(bench):
    batch(bench, "batches", CONNECTIONS)


def noise(bench):
    compare_reads(bench, "noise", gets, bare_alone=True)
