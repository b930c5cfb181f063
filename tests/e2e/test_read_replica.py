# SPDX-License-Identifier: Apache-2.0
"""NeoAPIReadDSN: exports, and lists with filters or count, from a replica. Two hosts, one PostgreSQL, and a replica that streams from it."""

import contextlib
import itertools
import threading

import psycopg2
import pytest
from admin_factory import AdminFactory
from client import Api, ok, refused
from exports import SlowExport, fill
from httpd import Httpd
from raw_http import Broken
from standby import frozen_database, standby
from wait import eventually, together
from webhook_fixtures import running_instance

WRITERS, ROUNDS = 4, 40
ROWS = 30000  # of an export that takes longer than a conflict


@pytest.fixture(scope="module")
def module_instance():
    with running_instance("replica", "") as instance:
        yield instance


@pytest.fixture
def replica(module_instance):
    with standby(module_instance) as found:
        yield found


@pytest.fixture
def hosts(module_instance, replica, tmp_path):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(make_host(module_instance, replica, tmp_path / name)) for name in ("one", "two")]


def make_host(instance, replica, place):
    place.mkdir()
    return Httpd(instance, place, ("DBDParams (.*) options=.*", r'DBDParams \1"'), ("LogLevel .*", "LogLevel notice neoapi:debug core:crit"),
                 ("NeoAPIBaseURL .*", rf'\g<0>\nNeoAPIReadDSN "{replica.runtime_dsn}"'))


@pytest.fixture
def key(module_instance):
    return AdminFactory(module_instance).key()


def list_newest(host, key):
    """The id of the newest broker, and who answered."""
    response = Api(host, key).get("brokers", params={"limit": 1, "count": "true"})
    items = ok(response)["items"]
    return items and items[0]["id"], response.headers["X-Read-From"]


def await_replica(hosts, key):
    for host in hosts:
        eventually(lambda: list_newest(host, key)[1] == "replica", "the replica answers")


def write_and_list(hosts, key, rounds):
    """Writes through one host, then lists through the other one. Returns the servers that answered."""
    sources = []
    for writer, reader in itertools.islice(itertools.cycle([hosts, hosts[::-1]]), rounds):
        made = Api(writer, key).broker()["id"]
        for host in (reader, writer):
            newest, source = list_newest(host, key)
            assert newest == made, f"{source} answered with {newest} after {made} was created"
            sources.append(source)
    return sources


def test_every_list_has_what_was_written_before_through_any_host(module_instance, hosts, replica, report):
    factory = AdminFactory(module_instance)
    keys = [factory.key() for _ in range(WRITERS)]
    await_replica(hosts, keys[0])
    sources, is_over = [], threading.Event()

    def pause_and_resume():
        while not is_over.is_set():
            with replica.paused():
                lags = replica.sql("select pg_last_wal_replay_lsn()")
                eventually(lambda: is_over.is_set() or module_instance.sql("select pg_current_wal_lsn() > %s", *lags[0])[0][0],
                           "the replica lags")

    toggling = threading.Thread(target=pause_and_resume)
    toggling.start()
    try:
        for some in together(*(lambda key=key: write_and_list(hosts, key, ROUNDS) for key in keys)):
            sources += some
    finally:
        is_over.set()
        toggling.join()
    with replica.paused():
        assert set(write_and_list(hosts, keys[0], 2)) == {"primary"}
    await_replica(hosts, keys[0])
    eventually(lambda: "replica" in sources or sources.extend(write_and_list(hosts, keys[0], 4)), "the replica answers such lists")
    report(f"{len(sources)} lists, {sources.count('replica')} from the replica, none stale")


def test_a_virtual_host_reads_from_the_replicas_of_its_own_configuration(module_instance, replica, key, tmp_path):
    """The first one has replicas. The other one shares its connections."""
    first = f"""DocumentRoot ${{INSTANCE}}/www
        Listen 127.0.0.2:${{PORT}} https
        <VirtualHost 127.0.0.2:${{PORT}}>
            SSLEngine On
            SSLCertificateFile "${{INSTANCE}}/tls/server.pem"
            SSLCertificateKeyFile "${{INSTANCE}}/tls/server.key"
            NeoAPIKeyFile "${{INSTANCE}}/neoapi.key"
            NeoAPIBaseURL https://localhost/public/v1/
            NeoAPIReadDSN "{replica.runtime_dsn}"
            <Location "/public/v1/">
                NeoAPI On
            </Location>
        </VirtualHost>"""
    with Httpd(module_instance, tmp_path, ("LogLevel .*", "LogLevel notice neoapi:debug core:crit"), ("DocumentRoot .*", first)) as host:
        def source(api):
            response = api.get("brokers", params={"count": "true"})
            assert ok(response)
            return response.headers["X-Read-From"]
        api = Api(host, key)
        eventually(lambda: source(api.with_(url=f"https://127.0.0.2:{host.port}/public/v1/")) == "replica", "the replica answers")
        assert {source(api) for _ in range(4)} == {"primary"}


def test_a_transaction_that_stays_open_keeps_no_read_from_the_replica(module_instance, hosts, key):
    with contextlib.closing(psycopg2.connect(module_instance.admin_dsn)) as holder, holder.cursor() as cursor:
        cursor.execute("select pg_current_xact_id()")
        module_instance.sql("do $$ begin for n in 1..1100 loop perform pg_current_xact_id(); commit; end loop; end $$")
        await_replica(hosts, key)


@contextlib.contextmanager
def waiting_commits(instance):
    """Commits wait for a synchronous standby that does not exist. The replica shows them before the primary does."""
    try:
        for setting in ("alter system set synchronous_standby_names = 'none'", "select pg_reload_conf()"):
            instance.sql(setting)
        yield
    finally:
        for setting in ("alter system reset synchronous_standby_names", "select pg_reload_conf()"):
            instance.sql(setting)


def test_what_is_not_visible_on_the_primary_is_not_shown(module_instance, hosts, replica, key):
    Api(hosts[0], key).broker()
    await_replica(hosts, key)
    before = list_newest(hosts[1], key)[0]
    writing = threading.Thread(target=lambda: Api(hosts[0], key).post("brokers", json={"name": "Ana"}))
    with waiting_commits(module_instance):
        eventually(lambda: module_instance.sql("select current_setting('synchronous_standby_names')") == [("none",)], "it applies")
        writing.start()
        eventually(lambda: replica.sql("select count(*) from neoapi.broker where organization_id = %s", *key.organizations) == [(2,)],
                   "the replica has it")
        for host in hosts:
            assert list_newest(host, key) == (before, "primary")
            response = Api(host, key).get("brokers/export")
            assert len(response.text.splitlines()) == 1 and response.headers["X-Read-From"] == "primary"
    writing.join()
    eventually(lambda: list_newest(hosts[0], key)[0] > before, "the write is shown")
    await_replica(hosts, key)


def test_no_request_fails_when_the_replica_stops_freezes_or_returns(hosts, replica, key):
    await_replica(hosts, key)
    replica.stop()
    assert set(write_and_list(hosts, key, 4)) == {"primary"}
    replica.start()
    await_replica(hosts, key)
    with frozen_database(replica):
        assert set(write_and_list(hosts, key, 4)) == {"primary"}
    await_replica(hosts, key)


def test_a_promoted_replica_is_not_used(module_instance, hosts, replica, key):
    await_replica(hosts, key)
    replica.promote()
    assert set(write_and_list(hosts, key, 20)) == {"primary"}
    eventually(lambda: list_newest(hosts[0], key) and "it is not a replica" in hosts[0].log, "the log says so")


def test_a_revoked_key_is_refused_although_the_replica_does_not_know_it(module_instance, hosts, replica):
    factory = AdminFactory(module_instance)
    key = factory.key()
    await_replica(hosts, key)
    with replica.paused():
        factory.revoke(key)
        for host in hosts:
            refused(Api(host, key).get("brokers"), 401, "unauthorized.revoked_credential")
    eventually(lambda: list_newest(hosts[0], factory.key())[1] == "replica", "the replica answers")
    for host in hosts:
        refused(Api(host, key).get("brokers"), 401, "unauthorized.revoked_credential")


def test_exports_are_read_from_the_replica_and_continue_in_the_event_log(module_instance, hosts, replica, key):
    api = Api(hosts[0], key)
    made = api.broker()["id"]
    fill(module_instance, key.organizations[0], ROWS)  # so that the replica is still read when the export is recorded on the primary
    await_replica(hosts, key)

    def export():
        response = api.get("brokers/export")
        assert response.status_code == 200 and made in response.text
        return response if response.headers["X-Read-From"] == "replica" else None
    position = eventually(export, "the replica answers").headers["X-Events-Position"]
    later = api.broker()["id"]

    def follow():
        response = api.get("events", params={"order": "asc", "after": position})
        assert response.headers["X-Read-From"] == "primary"
        return [event["resource_id"] for event in ok(response)["items"]]
    eventually(lambda: follow() == [later], "the log continues the export")


def test_an_export_that_conflicts_with_replay_is_incomplete(module_instance, hosts, replica, key):
    organization, = key.organizations
    fill(module_instance, organization, ROWS)
    replica.stop()
    replica.start("max_standby_streaming_delay=0")
    await_replica(hosts, key)
    slow = eventually(lambda: slow_export(hosts[0], key), "the replica answers")
    module_instance.sql("delete from neoapi.broker where organization_id = %s", organization)
    module_instance.sql("vacuum neoapi.broker")
    with pytest.raises(Broken):
        slow.rest()
    eventually(lambda: "NEO0210" in hosts[0].log, "the log says so")
    write_and_list(hosts, key, 4)


def slow_export(host, key):
    """An export from the replica that has begun; otherwise None."""
    slow = SlowExport(Api(host, key))
    assert slow.status == 200
    if slow.headers["X-Read-From"] == "replica":
        return slow
    slow.socket.close()
