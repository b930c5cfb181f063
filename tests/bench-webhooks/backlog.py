# SPDX-License-Identifier: Apache-2.0
"""Measures whether a million queued deliveries slow claims down: half are future ones of the same subscription, half are due ones of
inactive subscriptions."""

from statistics import median

from throughput import DIRECTIVES, Courier

QUEUED = 1_000_000
OTHERS = 100  # inactive subscriptions with due deliveries
GOAL = 1.10
# Ids that sort after those of runs.
FILL_QUEUE = """
insert into neoapi.webhook_queue (id, organization_id, subscription_id, number, due_at)
select 'whd_7' || lpad(n::text, 25, '0'), %(organization)s,
       case when n %% 2 = 0 then %(subscription)s else 'whs_0' || lpad((n / 2 %% %(others)s)::text, 25, '0') end, 2,
       now() + case when n %% 2 = 0 then interval '2 hours' else interval '-1 second' end
from generate_series(1, %(waiting)s) n"""
ADD_SUBSCRIPTIONS = """
insert into neoapi.webhook_subscription (organization_id, id, tenant_id, url, events, is_active, created_at, updated_at,
                                         created_by, updated_by, secret)
select organization_id, 'whs_0' || lpad(n::text, 25, '0'), tenant_id, url, events, false, now(), now(), created_by, updated_by, secret
from neoapi.webhook_subscription, generate_series(0, %(others)s - 1) n where id = %(subscription)s"""
CLAIM_TIME = """
select sum(total_exec_time) / nullif(sum(rows), 0) * 1000, sum(calls), sum(rows) from pg_stat_statements
where query like 'with recursive later%%'"""


def measure(bench, courier, backlog):
    """Deliveries per second, and the time of claims per delivery in microseconds."""
    d, claims, rates = bench.deployment, [], []
    for _ in range(bench.rounds):
        d.sql("select pg_stat_statements_reset()")
        rates.append(courier.run(bench.deliveries, backlog))
        spent, calls, rows = d.sql(CLAIM_TIME)[0]
        claims.append(spent)
        print(f"  {'with' if backlog else 'without':8} {rates[-1]:10,.0f} a second, {calls:5} claims of {rows / calls:4.0f}, "
              f"{spent:6.1f} µs a delivery", flush=True)
    return median(rates), median(claims)


def backlog(bench):
    d = bench.deployment
    print(f"\nbacklog: {bench.deliveries:,} deliveries, without and with {QUEUED:,} others that wait", flush=True)
    bench.restart(1, DIRECTIVES)
    with d.counted_statements():
        courier = Courier(bench)
        courier.run(bench.deliveries)
        plain, plain_claim = measure(bench, courier, False)
        names = {"organization": d.organization, "subscription": courier.subscription, "others": OTHERS, "waiting": QUEUED}
        d.empty()
        for text in (ADD_SUBSCRIPTIONS, FILL_QUEUE):
            with d.connection.cursor() as cursor:
                cursor.execute(text, names)
        d.settle()
        full, full_claim = measure(bench, courier, True)
        d.empty()
    bench.found("backlog", f"claims take {full_claim / plain_claim:.2f} of their time without ({plain_claim:.1f} to {full_claim:.1f} µs"
                f" a delivery), {plain:,.0f} to {full:,.0f} deliveries a second", f"{GOAL:.2f}", full_claim <= GOAL * plain_claim)
