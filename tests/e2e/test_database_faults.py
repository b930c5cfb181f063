# SPDX-License-Identifier: Apache-2.0
"""A database that refuses statements: a full disk, no free connection, a standby, a refused role. The log, the health check, the
status page and neoapictl name the cause and the remedy; clients learn only that nothing was changed."""

import contextlib
import json
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import psycopg2
import pytest
import requests
from admin_factory import AdminFactory
from admin_pages import CONF, AdminPages
from client import Api, refused
from ctl_instance import Ctl
from deployment import sanitizer_settings
from preload import FullDisk, SlowConnect
from standby import standby
from wait import eventually
from webhook_fixtures import module_admin_factory, running_instance  # noqa: F401 (a fixture)

FULL, SLOTS = "the database's disk is full", "the database has no free connection slot"
READ_ONLY, REFUSED = "the database refuses writes: it is a standby or read-only", "the database refuses httpd's role"


@pytest.fixture(scope="module")
def disk():
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="neoapi-disk.") as name:
        Path(name).chmod(0o755)
        yield FullDisk(Path(name))


@pytest.fixture(scope="module")
def module_instance(disk):
    with running_instance("faults", CONF, DB_PRELOAD=str(disk.library)) as instance:
        yield instance


@pytest.fixture
def api(module_instance, module_admin_factory):
    return Api(module_instance, module_admin_factory.key())


@pytest.fixture
def pages(module_instance):
    return AdminPages(module_instance)


@pytest.fixture
def ctl(module_instance):
    return Ctl(module_instance)


def read_warnings(ctl):
    code, out, err = ctl.run("--json", "status")
    assert code in (0, 3) and not err, (code, out, err)
    return json.loads(out)["warnings"]


def all_checks(ctl, *args):
    code, out, err = ctl.run("--json", "doctor", "--httpd-conf", "/nowhere", *args)
    assert code in (0, 1) and not err, (code, out, err)
    return {row["check"]: row for row in json.loads(out)}


def failed_checks(ctl, *args):
    return {name: row for name, row in all_checks(ctl, *args).items() if row["result"] == "failed"}


def not_executed(answer, seconds):
    """The client learns that nothing was changed, and no cause."""
    problem = refused(answer, 503, "internal.unavailable")
    assert problem["detail"] == "The database is unavailable; nothing was changed. Try again."
    assert answer.headers["Retry-After"] == str(seconds)
    return problem["request_id"]


def await_health(pages, query, sentence):
    expected = (503, f"not ready: {sentence}\n") if sentence else (200, "ready\n")
    eventually(lambda: pages.health(query) == expected, f"{query}: {sentence or 'ready'}")


def is_logged(instance, request_id, number):
    eventually(lambda: [line for line in instance.error_log.splitlines() if request_id in line and f"{number}: " in line],
               f"{number} of {request_id}")


# ---------------------------------------------------------------- a full disk


def fill(api):
    """Creates brokers until one needs a page that the disk has no space for."""
    for _ in range(200):
        answer = api.post("brokers", {"name": "Ana", "metadata": {str(n): "x" * 400 for n in range(20)}})
        if answer.status_code != 201:
            return answer
    raise AssertionError("every write succeeds")


def test_a_full_disk_is_reported_and_writes_were_not_executed(module_instance, api, pages, ctl, disk):
    await_health(pages, "?write", None)
    assert not read_warnings(ctl) and pages.samples()["neoapi_database_accepts_writes"] == 1
    disk.set(FullDisk.GROWTH)
    try:
        is_logged(module_instance, not_executed(fill(api), 60), "NEO0212")
        await_health(pages, "?write", FULL)
        assert pages.health() == (200, "ready\n") and api.get("brokers").status_code == 200
        assert pages.counters()["WriteError"] == FULL and FULL in pages.page().text
        assert pages.samples()["neoapi_database_accepts_writes"] == 0
        assert any(line.startswith(FULL) and "df" in line for line in read_warnings(ctl))
        row = failed_checks(ctl)["writes"]
        assert row["found"].startswith(FULL) and "df" in row["fix"], row
    finally:
        disk.set(0)
    await_health(pages, "?write", None)
    assert api.post("brokers", {"name": "Ana"}).status_code == 201
    assert not read_warnings(ctl) and "WriteError" not in pages.counters()


def test_the_probe_leaves_nothing_behind(module_instance, pages):
    await_health(pages, "?write", None)
    assert not module_instance.sql("select from pg_class where relname = 'write_probe'")


# ---------------------------------------------------------------- connections


@contextlib.contextmanager
def restarted_without_connections(instance):
    """httpd has no connection of before."""
    instance.command("stop-httpd")
    try:
        yield
    finally:
        instance.command("stop-httpd")
        instance.command("start-httpd")


def use_up_connections(instance, stack):
    held = []
    with contextlib.suppress(psycopg2.OperationalError):
        while True:
            held.append(psycopg2.connect(instance.admin_dsn))
            stack.callback(held[-1].close)
    return held


def test_used_up_connections_are_reported(module_instance, api, pages, ctl):
    with contextlib.ExitStack() as stack, restarted_without_connections(module_instance):
        for one in use_up_connections(module_instance, stack)[-8:]:
            one.close()
        assert any("connections are in use" in line and "max_connections" in line for line in read_warnings(ctl))
        use_up_connections(module_instance, stack)
        module_instance.command("start-httpd")
        is_logged(module_instance, not_executed(api.with_().post("brokers", {"name": "Ana"}), 5), "NEO0213")
        await_health(pages, "", SLOTS)
        row = failed_checks(ctl)["connection"]
        assert "max_connections" in row["fix"], row
        stack.close()
        await_health(pages, "", None)


@contextlib.contextmanager
def role_refused(instance):
    """New connections are refused; those that are open stay so."""
    rules = Path(instance.sql("show hba_file")[0][0])
    kept = rules.read_text()
    rules.write_text("local all neoapi reject\n" + kept)
    instance.sql("select pg_reload_conf()")
    try:
        yield
    finally:
        rules.write_text(kept)
        instance.sql("select pg_reload_conf()")


def test_a_refused_role_is_reported(module_instance, api, pages):
    with restarted_without_connections(module_instance):
        with role_refused(module_instance):
            module_instance.command("start-httpd")
            is_logged(module_instance, not_executed(api.with_().post("brokers", {"name": "Ana"}), 5), "NEO0216")
            await_health(pages, "", REFUSED)
        await_health(pages, "", None)


def is_read(api):
    with contextlib.suppress(requests.exceptions.RequestException):
        return api.with_().get("brokers", timeout=2).status_code == 200


def test_a_free_connection_is_used_while_the_reason_of_a_failure_is_looked_up(disk):
    """The reason is looked up once for all requests that wait for it, so none of them waits for a second and third search."""
    delay = SlowConnect(disk.file.parent)
    preload = f"{sanitizer_settings().get('HTTPD_PRELOAD', '')} {delay.library}".strip()
    more = {"HTTPD_PRELOAD": preload, "PROCESSES": "1", "DB_CONNECTIONS": "20"}
    with running_instance("lookup", CONF, **more) as instance, ThreadPoolExecutor() as pool:
        api = Api(instance, AdminFactory(instance).key())
        api.broker()
        locked = "select count(*) from pg_stat_activity where application_name = 'neoapi' and wait_event_type = 'Lock'"
        with psycopg2.connect(instance.admin_dsn) as locking, role_refused(instance):
            locking.cursor().execute("lock table neoapi.broker in access exclusive mode")
            delay.set(15000)
            waiting = [pool.submit(api.with_().get, "brokers", timeout=45) for _ in range(6)]
            eventually(lambda: instance.sql(locked)[0][0] and "pg_hba.conf" in instance.error_log,
                       "requests hold the open connections, and new ones are refused")
            locking.rollback()
            eventually(lambda: any(one.done() for one in waiting), "a connection is free")
            eventually(lambda: is_read(api), "a request uses the free connection")
            assert not all(one.done() for one in waiting)
        failed = [one.result() for one in waiting if one.result().status_code == 503]
        assert failed
        for answer in failed:
            not_executed(answer, 5)


# ---------------------------------------------------------------- a standby


@contextlib.contextmanager
def read_only(instance):
    instance.sql("alter system set default_transaction_read_only = on")
    instance.sql("select pg_reload_conf()")
    try:
        yield
    finally:
        instance.sql("alter system reset default_transaction_read_only")
        instance.sql("select pg_reload_conf()")


def refused_claims(instance, log_size):
    """The couriers' claims that PostgreSQL has refused because it is read-only, as seconds after the first one. Those in the log's
    first part do not count."""
    log = (instance.state / "log/postgresql.log").read_text(errors="replace")[log_size:]
    times = [datetime.fromisoformat(one) for one in
             re.findall(r"^(\S+ \S+) UTC .* read-only transaction\n.* STATEMENT:  with recursive$", log, re.MULTILINE)]
    return [(time - times[0]).total_seconds() for time in times]


def test_background_threads_log_a_read_only_database_once_and_pause(module_instance):
    """The courier and the jobs of each process log one line each time that the database becomes read-only. A courier claims three times
    in the first seven seconds, because it pauses for 3 seconds, then for 4.5; without pauses it would claim six times. A claim is
    repeated twice at once, over other connections."""
    def logged():
        return len([line for line in module_instance.error_log.splitlines() if "NEO0214: " in line and "req_" not in line])

    def runs():
        return module_instance.sql("select sum(runs) from neoapi.job")[0][0]

    processes = len(module_instance.children())
    for _ in range(2):
        before, log_size = logged(), len((module_instance.state / "log/postgresql.log").read_text(errors="replace"))
        with read_only(module_instance):
            eventually(lambda: max(refused_claims(module_instance, log_size), default=0) > 7, "claims for seven seconds")
            assert len([after for after in refused_claims(module_instance, log_size) if after < 7]) <= 3 * 3 * processes
            assert 0 < logged() - before <= 2 * processes
        ran = runs()
        eventually(lambda: runs() > ran, "the jobs run again")


def test_a_read_only_database_executes_no_write(module_instance, api, pages, ctl):
    made = api.broker()
    with read_only(module_instance):
        await_health(pages, "?write", READ_ONLY)
        is_logged(module_instance, not_executed(api.post("brokers", {"name": "Ana"}), 5), "NEO0214")
        not_executed(api.patch("brokers/" + made["id"], {"name": "Eva"}), 5)
        not_executed(api.delete("brokers/" + made["id"]), 5)
        batch = not_executed(api.post("brokers/batch", {"operations": [{"method": "create", "data": {"name": "Ana"}}]}), 5)
        is_logged(module_instance, batch, "NEO0214")
        assert not [line for line in module_instance.error_log.splitlines() if batch in line and "NEO0206: " in line]
    await_health(pages, "?write", None)


def test_neoapictl_does_not_take_a_read_only_database_for_a_pooler(module_instance, api, ctl):
    with restarted_without_connections(module_instance), read_only(module_instance):
        module_instance.command("start-httpd")
        assert api.with_().get("brokers").status_code == 200
        assert "read-only" in all_checks(ctl)["httpd"]["found"]
        found = failed_checks(ctl)
        assert set(found) == {"primary"} and "reset default_transaction_read_only" in found["primary"]["fix"], found
        assert READ_ONLY in ctl.refused("reencrypt", "--key-file", str(module_instance.state / "neoapi.key"))


def test_doctor_does_not_take_a_standby_for_a_pooler(module_instance, ctl):
    with standby(module_instance) as replica:
        said = ctl.refused("status", "--database", replica.dsn + " target_session_attrs=read-write")
        assert "fix: if another server is being promoted, wait until it is" in said
        found = failed_checks(ctl, "--database", replica.dsn)
        assert set(found) == {"primary"} and "target_session_attrs" in found["primary"]["fix"], found


def servers(ctl):
    return ctl.json("status")["deployment"]["servers"]


def test_replicas_are_shown_with_their_lag(module_instance, ctl, pages):
    owner = module_instance.sql("select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'neoapi'")[0][0]
    assert [server["role"] for server in servers(ctl)] == ["primary"]
    with standby(module_instance):
        found = eventually(lambda: len(now := servers(ctl)) == 2 and now[1]["lag_bytes"] == 0 and now[1], "the replica has replayed all")
        assert (found["name"], found["role"], found["state"], found["sync_state"]) == ("walreceiver", "replica", "streaming", "async")
        lag = re.compile(r'^neoapi_database_replica_lag_bytes\{name="walreceiver"[^}]*\} \d', re.M)
        eventually(lambda: lag.search(pages.metrics()), "the metrics have it")
        assert "walreceiver" in eventually(lambda: pages.counters().get("DatabaseServer walreceiver") and pages.page().text, "the page")
        assert re.search(r"^walreceiver .* replica +streaming +async +\d+ ", ctl.ok("status"), re.M)
        module_instance.sql(f"revoke pg_read_all_stats from {owner}")
        try:
            note = f"Connected replicas: 1. To show them, run as a PostgreSQL administrator: grant pg_read_all_stats to {owner}"
            shown = ctl.json("status")["deployment"]
            assert shown["note"] == note and len(shown["servers"]) == 1 and note in ctl.ok("status")
            eventually(lambda: note in pages.page().text, "the page says what is missing")
        finally:
            module_instance.sql(f"grant pg_read_all_stats to {owner}")
