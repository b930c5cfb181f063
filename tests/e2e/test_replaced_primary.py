# SPDX-License-Identifier: Apache-2.0
"""A former primary that is writable again, and is the first in DBDParams: once a host has seen its successor, it gets no row from there."""

import contextlib
import json
import signal
from pathlib import Path

import psycopg2
import pytest
import requests
from admin_factory import AdminFactory
from admin_pages import CONF, AdminPages
from client import Api, refused
from ctl_instance import Ctl
from httpd import Httpd
from psycopg2.extensions import parse_dsn
from standby import standby
from wait import eventually, together

REPLACED = "not ready: the database server has been replaced by another one\n"
NAMES = ("one", "two")
LISTENING = "from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and usename = 'neoapi'"
SESSIONS = "select count(*) from pg_stat_activity where usename = 'neoapi'"
BEGIN_EPOCH = "select neoapi.check_event_epoch()"
DISCONNECT = "select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = 'neoapi'"


@pytest.fixture
def former(new_instance):
    """The former primary; its own httpd is stopped."""
    instance = new_instance()
    instance.command("stop-httpd")
    return instance


@pytest.fixture
def credential(former):
    return AdminFactory(former).key()


@pytest.fixture
def successor(former, credential):
    with standby(former) as replica:
        yield replica


@pytest.fixture
def dsn(former, successor):
    """Both servers, the former primary first."""
    return f"host={former.state}/socket,{successor.host} port={successor.port} dbname=neoapi target_session_attrs=read-write"


@pytest.fixture
def hosts(former, dsn, tmp_path):
    """Two hosts of the deployment."""
    def make(name):
        (tmp_path / name).mkdir()
        conf = f"NeoAPIHostName {name}\n" + CONF.replace("${INSTANCE}", str(former.state))
        return Httpd(former, tmp_path / name, ("DocumentRoot .*", conf),
                     ("DBDParams .*", f'DBDParams "{dsn} user=neoapi application_name={name} connect_timeout=3"'))
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(make(name)) for name in NAMES]


def brokers(server):
    return server.sql("select count(*) from neoapi.broker")[0][0]


def create(host, credential):
    return Api(host, credential).post("brokers", {"name": "Ana"})


def is_created(host, credential):
    with contextlib.suppress(requests.ConnectionError):  # a process that ends has closed the connection
        return create(host, credential).status_code == 201


def create_many(hosts, credential):
    return together(*[lambda host=host: [create(host, credential) for _ in range(5)] for host in hosts for _ in range(4)])


def await_writes(hosts, credential):
    for host in hosts:
        eventually(lambda: create(host, credential).status_code == 201, "writes succeed")


@contextlib.contextmanager
def hidden(directory, port):
    """New connections to the server fail."""
    socket = Path(f"{directory}/.s.PGSQL.{port}")
    socket.rename(socket.with_name("hidden"))
    try:
        yield
    finally:
        socket.with_name("hidden").rename(socket)


def fail_over(former, successor, hosts, credential):
    """Promotes the standby, and starts the former primary again after both hosts have found the new one."""
    await_writes(hosts, credential)
    former.command("stop-db")
    successor.promote()
    await_writes(hosts, credential)
    former.command("start-db")


def doctor(former, dsn):
    code, out, err = Ctl(former).run("--json", "doctor", "--httpd-conf", "/nowhere", "--database", f"{dsn} user=postgres")
    assert code == 1 and not err, (out, err)
    return {row["check"]: row for row in json.loads(out)}["primary"]


def warnings(former, dsn):
    code, out, err = Ctl(former).run("--json", "status", "--database", f"{dsn} user=postgres")
    assert code == 3 and not err, (out, err)
    return json.loads(out)["warnings"]


def test_a_former_primary_that_is_writable_again_gets_no_rows(former, successor, dsn, hosts, credential):
    fail_over(former, successor, hosts, credential)
    successor.sql(BEGIN_EPOCH)
    processes = [Path(f"/proc/{host.process.pid}/task/{host.process.pid}/children").read_text() for host in hosts]
    rows = brokers(former)
    successor.sql(DISCONNECT)
    for answers in create_many(hosts, credential):
        for answer in answers:
            refused(answer, 503, "internal.unavailable")
            assert answer.headers["Retry-After"] == "5"
    assert brokers(former) == rows
    for host in hosts:
        pages = AdminPages(host)
        assert pages.health() == pages.health("?write") == (503, REPLACED)
        assert "NEO0218: " in host.log and "new-epoch" in host.log
        assert pages.counters()["ReplacedServer"] > 0 and "Replaced database server" in pages.page().text
        assert REPLACED[len("not ready: "):-1] in pages.page().text
    found = doctor(former, dsn)
    assert found["result"] == "failed" and successor.host in found["found"] and "new-epoch" in found["fix"], found
    assert any(successor.host in line and "which has replaced it" in line for line in warnings(former, dsn))

    both = f"{dsn} user=postgres"
    for command in (("key", "revoke", credential.id), ("migrate",), ("setup",)):
        assert f"{successor.host}, which has replaced it" in Ctl(former).refused(*command, "--database", both)

    former.command("stop-db")
    created = brokers(successor)
    await_writes(hosts, credential)
    assert brokers(successor) >= created + 2
    assert processes == [Path(f"/proc/{host.process.pid}/task/{host.process.pid}/children").read_text() for host in hosts]


def test_a_host_that_starts_asks_all_servers(former, successor, dsn, hosts, credential):
    fail_over(former, successor, hosts, credential)
    successor.sql(BEGIN_EPOCH)
    for host in hosts:
        host.stop()
        host.start()
        eventually(lambda: AdminPages(host).health() == (503, REPLACED), "it has compared them")
    rows = brokers(former)
    assert {answer.status_code for answers in create_many(hosts, credential) for answer in answers} == {503}
    assert brokers(former) == rows
    former.command("stop-db")
    await_writes(hosts, credential)


def test_a_standby_that_was_promoted_and_never_used_stops_no_host(former, successor, dsn, hosts, credential):
    await_writes(hosts, credential)
    successor.promote()
    for host in hosts:
        host.stop()
        host.start()
    await_writes(hosts, credential)
    assert {answer.status_code for answers in create_many(hosts, credential) for answer in answers} == {201}
    Ctl(former).ok("key", "revoke", credential.id, "--database", f"{dsn} user=postgres")


def test_a_successor_that_did_not_respond_when_a_host_started_is_seen_later(former, successor, dsn, hosts, credential):
    fail_over(former, successor, hosts, credential)
    successor.sql(BEGIN_EPOCH)
    for host in hosts:
        host.stop()
    with hidden(successor.host, successor.port):
        for host in hosts:
            host.start()
        await_writes(hosts, credential)
    for host in hosts:
        eventually(lambda: AdminPages(host).health() == (503, REPLACED), "it has asked again")


def test_connections_to_the_former_primary_are_closed_when_its_successor_is_seen(former, successor, dsn, hosts, credential):
    """The former primary stays alive. Its socket is hidden, and one listener of each host loses its connection, so that a process of
    each host finds the successor."""
    await_writes(hosts, credential)
    create_many(hosts, credential)
    with contextlib.closing(psycopg2.connect(former.admin_dsn)) as direct, direct.cursor() as cursor:
        direct.autocommit = True

        def value(text):
            cursor.execute(text)
            return cursor.fetchall()[0][0]
        successor.promote()
        with hidden(f"{former.state}/socket", successor.port):
            for name in NAMES:
                assert value(f"select pg_terminate_backend(min(pid), 10000) {LISTENING} and application_name = '{name}'")
            eventually(lambda: not value(f"select count(*) {LISTENING}"), "the listeners of the other processes have left, too")
            rows = value("select count(*) from neoapi.broker")
            assert value(SESSIONS), "connections are still open"
            answers = sum(create_many(hosts, credential), [])
            assert {answer.status_code for answer in answers} == {201}
            assert value("select count(*) from neoapi.broker") == rows and brokers(successor) >= rows + len(answers)


def test_the_former_primary_is_used_again_after_a_new_epoch(former, successor, dsn, hosts, credential):
    fail_over(former, successor, hosts, credential)
    successor.sql(DISCONNECT)
    for host in hosts:
        refused(create(host, credential), 503, "internal.unavailable")
    Ctl(former).ok("events", "new-epoch", "--database", former.admin_dsn)
    await_writes(hosts, credential)


def test_a_service_that_leads_to_another_database_is_used(former, credential, tmp_path):
    """It has an older epoch than the first one, but has not been replaced by it. The host remembers the first one's."""
    with contextlib.closing(psycopg2.connect(former.admin_dsn, dbname="postgres")) as connection, connection.cursor() as cursor:
        connection.autocommit = True
        cursor.execute("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = 'neoapi'")
        cursor.execute("create database other template neoapi")
    with contextlib.closing(psycopg2.connect(former.admin_dsn, dbname="other")) as connection, connection, connection.cursor() as cursor:
        cursor.execute("update neoapi.event_epoch set number = number - 1, identity = neoapi.event_identity()")
    service, rows, place = former.state / "service", "select count(*) from neoapi.broker", parse_dsn(former.admin_dsn)
    host = Httpd(former, tmp_path, ("DBDParams .*", 'DBDParams "service=one"'))
    host.env["PGSERVICEFILE"] = str(service)
    settings = f"[one]\nhost={place['host']}\nport={place['port']}\nuser=neoapi\ndbname="
    service.write_text(f"{settings}neoapi\n")
    service.chmod(0o644)
    with host:
        await_writes([host], credential)
        service.write_text(f"{settings}other\n")
        host.process.send_signal(signal.SIGUSR1)
        eventually(lambda: former.sql(rows) == (is_created(host, credential) and former.sql(rows)), "the other database is used")


@pytest.mark.parametrize("identity", ["identity", "'of another timeline'"])
def test_a_former_primary_is_noticed_over_open_connections(new_instance, identity):
    """Its older epoch appears over the connections that were accepted; it may have been promoted without having begun its own."""
    instance = new_instance()
    api, rows = Api(instance, AdminFactory(instance).key()), "select count(*) from neoapi.broker"
    assert api.post("brokers", {"name": "Ana"}).status_code == 201
    eventually(lambda: instance.sql(f"select pid {LISTENING}"), "a listener is connected")
    instance.sql(f"update neoapi.event_epoch set number = number - 1, identity = {identity}")
    eventually(lambda: not instance.sql(f"select pid {LISTENING}"), "the listeners have noticed it")
    before = instance.sql(rows)
    for answers in together(*[lambda: [api.post("brokers", {"name": "Ana"}) for _ in range(5)]] * 4):
        assert {answer.status_code for answer in answers} == {503}
    assert instance.sql(rows) == before and "NEO0218: " in instance.error_log
    instance.sql("update neoapi.event_epoch set number = number + 1, identity = neoapi.event_identity()")
    eventually(lambda: api.post("brokers", {"name": "Ana"}).status_code == 201, "the primary is used again")
