# SPDX-License-Identifier: Apache-2.0
"""Measures subscriptions with ordering, batches, limits and filters beside plain ones."""

import queue
import time
from statistics import median

from deployment import wait_for
from latency import WARM_UP, write
from receiver import TimingReceiver
from throughput import DIRECTIVES, SIZE

OPTIONS = {"plain": {}, "ordering": {"ordering": "resource"}, "batch": {"batch": {"max_items": 50, "max_wait_ms": 300}}}
CHANGES = 4  # of each resource, with ordering
ORDER = """
update neoapi.webhook_queue set changed_at = now() + right(id, 16)::int * interval '1 millisecond',
    resource_id = 'brk_' || lpad((right(id, 16)::int / %s)::text, 26, '0')"""
SETTLED = "update neoapi.webhook_subscription set updated_at = updated_at - interval '1 minute'"
RATES = (20, 200, 1000)  # requests a second
RATE_SECONDS = 10
RATE_GOAL = 0.05
FILTERED = 10_000  # subscriptions
WRITES = 300
FILTER_GOAL = 1.2
ADD_FILTERED = """
insert into neoapi.webhook_subscription (organization_id, id, tenant_id, url, events, is_active, created_at, updated_at, created_by,
                                         updated_by, secret, filters)
select organization_id, 'whs_0' || lpad(n::text, 25, '0'), tenant_id, url, events, true, now(), now(), created_by, updated_by, secret,
       json_build_object('broker', json_build_object('ids', json_build_array('brk_0' || lpad(n::text, 25, '0'))))
from neoapi.webhook_subscription, generate_series(1, %s) n where id = %s"""


def deliver(bench, options):
    """Deliveries a second, from the activation of the subscription until all attempts are recorded."""
    d, count = bench.deployment, bench.deliveries
    subscription = d.subscribe(bench.nginx.url, ["*"])
    d.ask("PATCH", f"webhooks/{subscription}", {"is_active": False, **options})
    d.fill(subscription, count, SIZE)
    if "ordering" in options:
        d.sql(ORDER, CHANGES)
        d.sql(SETTLED)
    d.settle()
    began = time.monotonic()
    d.activate(subscription, True)
    d.ask("POST", f"webhooks/{subscription}/test")  # wakes the courier
    wait_for(lambda: not d.number("select exists (select from neoapi.webhook_queue)"), "the queue does not become empty", nap=0.05)
    seconds = time.monotonic() - began
    good = d.number("select count(*) from neoapi.webhook_attempt where outcome = 'success' and number = 1")
    bench.expect(good == count + 1, f"{options}: of {count + 1} deliveries {good} are recorded")
    return (count + 1) / seconds


def options(bench):
    bench.restart(1, DIRECTIVES)
    runs = {name: [] for name in OPTIONS}
    print(f"\noptions: {bench.deliveries:,} deliveries of {SIZE} bytes, a second; with ordering {CHANGES} of each resource", flush=True)
    for number in range(1, bench.rounds + 1):
        for name in list(OPTIONS)[number % 3:] + list(OPTIONS)[:number % 3]:
            runs[name].append(deliver(bench, OPTIONS[name]))
        print(f"  {number:<3}", *(f"{name}: {rates[-1]:,.0f}" for name, rates in runs.items()), sep="   ", flush=True)
    for name in list(OPTIONS)[1:]:
        ratio = median(its / plain for its, plain in zip(runs[name], runs["plain"]))
        bench.found("options", f"{name}: {ratio:.2f} × as many deliveries a second ({median(runs['plain']):,.0f} to {median(runs[name]):,.0f})")


def requests_per_second(bench, rate):
    """The average rate, and the greatest number of requests in a second."""
    d, receiver, times = bench.deployment, TimingReceiver(), []
    receiver.up()
    try:
        subscription = d.subscribe(receiver.url, ["*"])
        d.ask("PATCH", f"webhooks/{subscription}", {"is_active": False, "max_per_second": rate})
        d.fill(subscription, rate * RATE_SECONDS, SIZE)
        d.settle()
        d.activate(subscription, True)
        while len(times) < rate * RATE_SECONDS:
            times.append(receiver.arrivals.get(timeout=20)[0] / 1e9)
    except queue.Empty:
        raise SystemExit("a delivery did not arrive within 20 s") from None
    finally:
        receiver.down()
    times.sort()
    most = max(sum(one <= other < one + 1 for other in times[at:at + 2 * rate]) for at, one in enumerate(times))
    return (len(times) - 1) / (times[-1] - times[0]), most


def throttling(bench):
    bench.restart(2)
    print(f"\nthrottling: max_per_second of a subscription that two processes serve, for {RATE_SECONDS} s", flush=True)
    for rate in RATES:
        average, most = requests_per_second(bench, rate)
        bench.found("throttling", f"{rate} a second: {average:.1f} on average, {most} in one second at most", f"within {RATE_GOAL:.0%}",
                    abs(average / rate - 1) <= RATE_GOAL)


def filters(bench):
    """Writes of two organizations, one of which has no subscriptions, take turns, so that both have the same load."""
    bench.restart(1)
    d = bench.deployment
    tenant = d.ctl("tenant", "create", "Bench", "--plan", "bench")["id"]
    other = d.ctl("organization", "create", "Bench", "--tenant", tenant)["id"]
    keys = {"none": d.ctl("key", "create", "bench", "--organization", other, "--role", "org_admin")["secret"], "filters": d.key}
    subscription = d.subscribe("http://127.0.0.1:9/", ["broker.*"])
    d.sql(ADD_FILTERED, FILTERED, subscription)
    d.sql("delete from neoapi.webhook_subscription where id = %s", subscription)
    d.sql("vacuum (analyze)")
    bench.client = d.client()  # the last one may have been idle for too long
    took = {name: [] for name in keys}
    for number in range(bench.rounds * WRITES):
        for name, d.key in keys.items():
            _, began, answered = write(bench, number)
            took[name].append((answered - began) / 1e6)
    bench.expect(d.number("select count(*) from neoapi.webhook_delivery") == 0, "deliveries of events that do not match")
    d.sql("delete from neoapi.webhook_subscription")
    none, its = (median(times[WARM_UP:]) for times in took.values())
    print(f"\nfilters: {bench.rounds * WRITES:,} writes of each organization, milliseconds", flush=True)
    bench.found("filters", f"{FILTERED:,} subscriptions whose filters do not match: {its / none:.2f} × the time of a write without "
                f"subscriptions ({none:.2f} to {its:.2f} ms)", f"{FILTER_GOAL} ×", its / none <= FILTER_GOAL)
