# SPDX-License-Identifier: Apache-2.0
"""Measures the event log: its share of a create, and pages at the beginning, in the middle and at the end of a million events."""

import http.client
import json
import pathlib
import re
import subprocess
import time
from statistics import median

import comparisons
from deployment import TICKS, id_bound

CLIENTS = 8  # of pgbench
EVENTS, PAGE, PAGES, GOAL = 1_000_000, 100, 300, 1.10

FILL = """do $$ begin for step in 1 .. {steps} loop
insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
select organization_id, type, resource_id, now(), actor, request_id, payload
from (select * from neoapi.event where organization_id = '{organization}' limit 1) e, generate_series(1, {rows});
commit; end loop; end $$"""


def logged_create(deployment):
    """The statement with which the module creates a broker, from PostgreSQL's log."""
    log = pathlib.Path(deployment.env["NEOAPI_STATE"]) / "log/postgresql.log"
    deployment.sql("alter system set log_min_duration_statement = 0", "select pg_reload_conf()")
    try:
        for _ in range(100):
            comparisons.ask(deployment, comparisons.creates(deployment, "ours")[0])
            found = re.findall(r"execute \w+: (with item as .*insert into neoapi\.broker .*)", log.read_text())
            if found:
                return found[-1]
            time.sleep(0.1)
    finally:
        deployment.sql("alter system reset log_min_duration_statement", "select pg_reload_conf()")
    raise SystemExit("PostgreSQL has logged no create")


def without_events(statement):
    """The statement without the event and its deliveries."""
    return re.sub(r", event as \(insert .*(?= select representation)", "", statement).replace(
        "(select count(*) from queued_deliveries)", "0")


def make_script(bench, name, statement):
    """The statement as a script of pgbench: with values instead of parameters, and a new id for each create."""
    organization, moment = bench.deployment.organizations[0], id_bound(time.time())[4:14]
    number = "lpad(to_hex(:number::bigint), 16, '0')"
    fields = {"item_id": f"'brk_{moment}' || {number}", "item_id_block": f"'whd_{moment}' || right({number}, 12)", "item_now": "now()",
              "name": "'Ana Beatriz Silva'", "creci": f"'CRECI-SP ' || {number}", "document_number": "'529.982.247-25'",
              "email": f"'broker.' || {number} || '@example.com'", "phone": "'+55 11 90000-1234'", "visibility": "'restricted'"}
    values = {parameter: fields.get(field, "null")
              for parameter, field in re.findall(r"(\$\d+)::\w+(?: collate \"C\")? as (\w+)", statement)}
    # The statement without events does not use the last one.
    others = sorted(set(re.findall(r"\$\d+", statement)) - set(values), key=lambda parameter: int(parameter[1:]))
    values |= zip(others, (f"'{organization.id}'", f"'{organization.tenant}'", "'nbr_01jwr1zbts0h4k8n3p7r1t5w9x'",
                           "'req_01kga4ssqb0d4f7h2k5n9q1s6v'"))
    file = bench.deployment.build / "bench" / f"{name}.pgbench"
    text = re.sub(r"\$\d+", lambda parameter: f"({values[parameter[0]]})", statement)
    file.write_text(f"\\set number random(1, 200000000000000)\n{text};\n")
    return file


def ended_processes(deployment, running):
    """Waits until only the permanent children of PostgreSQL run. Returns the processor time of the ended ones, in seconds."""
    limit = time.monotonic() + 10
    while set(deployment.children("db")) - running and time.monotonic() < limit:
        time.sleep(0.05)
    parent = pathlib.Path(deployment.env["NEOAPI_DB_PID"]).read_text().split()[0]
    fields = pathlib.Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / TICKS


def run_script(bench, file):
    """Creates per second, and PostgreSQL's processor time per create in microseconds."""
    deployment = bench.deployment
    program = deployment.sql("select setting from pg_config where name = 'BINDIR'")[0][0] + "/pgbench"
    running = set(deployment.children("db"))
    before = ended_processes(deployment, running)
    out = subprocess.run([program, "-n", "-M", "prepared", "-c", str(CLIENTS), "-T", str(bench.seconds), "-f", str(file),
                          deployment.env["NEOAPI_ADMIN_DSN"]], check=True, text=True, stdout=subprocess.PIPE).stdout
    creates = int(re.search(r"actually processed: (\d+)", out)[1])
    bench.expect("failed transactions: 0 " in out, out)
    return float(re.search(r"tps = ([\d.]+)", out)[1]), (ended_processes(deployment, running) - before) / creates * 1e6


def compare_creates(bench, case, files):
    """Runs both scripts alternately. Returns medians, and the median of the pairs' ratios of rates."""
    runs = {name: [] for name in files}
    print(f"\n{case}: the statement of a create by {CLIENTS} clients of pgbench", flush=True)
    for number in range(bench.pairs):
        for name, file in files.items():
            runs[name].append(run_script(bench, file))
        print(f"  {number + 1:<3}", *(f"{name}: {rate:,.0f}/s {cost:.0f} µs" for name, [*_, (rate, cost)] in runs.items()),
              sep="   ", flush=True)
    found = {name: tuple(map(median, zip(*measured))) for name, measured in runs.items()}
    ratio = median(one[0] / other[0] for one, other in zip(*runs.values()))
    text = ", ".join(f"{name} {rate:,.0f} a second, {cost:.0f} µs each" for name, (rate, cost) in found.items())
    bench.found("events", f"{ratio:.3f} of the rate without the log, {case} ({text})")


def creates(bench):
    deployment, statement = bench.deployment, logged_create(bench.deployment)
    files = {"with": make_script(bench, "with-events", statement),
             "without": make_script(bench, "without-events", without_events(statement))}
    is_active = f"update neoapi.webhook_subscription set is_active = %s where organization_id = '{deployment.organizations[0].id}'"
    for case, active in (("no subscription", "false"), ("one subscription", "true")):
        deployment.sql(is_active % active)
        compare_creates(bench, case, files)
        deployment.clean()


# ---------------------------------------------------------------- pages


def page_after(connection, organization, position, more=""):
    """Requests a page. Returns its time in seconds, its events, and the position after it."""
    start = time.perf_counter()
    connection.request("GET", organization.path("ours", f"?order=asc&limit={PAGE}&after={position}{more}", "events"),
                       headers={"X-API-Key": organization.key})
    answer = connection.getresponse()
    body = answer.read()
    return time.perf_counter() - start, json.loads(body)["items"], answer.headers["X-Events-Position"]


def pages_from(bench, position, more=""):
    """The median time of a page at this position, and PostgreSQL's processor time per page, in microseconds."""
    deployment, times = bench.deployment, []
    connection = http.client.HTTPConnection("127.0.0.1", deployment.port, timeout=30)
    before = deployment.processor_time()
    for _ in range(PAGES):
        took, events, position = page_after(connection, deployment.organizations[0], position, more)
        times.append(took)
        if len(events) != PAGE:
            bench.expect(False, f"{len(events)} events on page {len(times)}, before {position}")
            break
    connection.close()
    return median(times) * 1e6, (deployment.processor_time()[1] - before[1]) / PAGES * 1e6


def pages(bench):
    deployment, organization = bench.deployment, bench.deployment.organizations[0]
    comparisons.ask(deployment, comparisons.creates(deployment, "ours")[0])
    deployment.psql("-c", FILL.format(steps=1000, rows=EVENTS // 1000, organization=organization.id))
    deployment.sql("vacuum (analyze) neoapi.event")
    ids = f"select id from neoapi.event where organization_id = '{organization.id}' order by id offset %d limit 1"
    print(f"\nevents: pages of {PAGE} of {EVENTS:,} events", flush=True)
    for filters in ("", "&type=broker.*"):
        found = [pages_from(bench, deployment.sql(ids % at)[0][0], filters)
                 for at in (0, EVENTS // 2, EVENTS - PAGE * PAGES - 1)]
        ratio = found[2][0] / found[0][0]
        text = ", ".join(f"{where} {took:.0f} µs ({cost:.0f} µs in PostgreSQL)"
                         for where, (took, cost) in zip(("beginning", "middle", "end"), found))
        print(f"  {filters or 'no filter'}: {text}", flush=True)
        bench.found("events", f"{ratio:.3f} of the first pages' time at the end{filters and ', with a filter'}: {text}",
                    f"{GOAL:.2f}", ratio <= GOAL)


def events(bench):
    creates(bench)
    pages(bench)
    bench.deployment.clean()
