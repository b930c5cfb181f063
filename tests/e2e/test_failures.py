# SPDX-License-Identifier: Apache-2.0
"""Failures under load: the database stopped, killed or hanging, Apache restarted, a child killed.

The instance has three virtual hosts: the usual one, one with short timeouts for clients (127.0.0.2), and one with two database
connections (127.0.0.3).
"""

import contextlib
import os
import select
import signal
import time

import pytest

import psycopg2
from client import Api, ok, refused
from load import REQUEST_TIMEOUT_S, Load
from standby import frozen_database
from webhook_fixtures import module_admin_factory, running_instance  # noqa: F401 (a fixture)
from wait import eventually, together
from raw_http import Closed, RawConnection, check_response, message

JSON = [("Content-Type", "application/json")]

# MinSpareThreads needs two children, so that a killed one is replaced immediately.
SERVER = """
MinSpareThreads 26
"""
HOST = """
Listen {address}:${{PORT}} https
<VirtualHost {address}:${{PORT}}>
    ServerName {address}
    SSLEngine On
    SSLCertificateFile "${{INSTANCE}}/tls/server.pem"
    SSLCertificateKeyFile "${{INSTANCE}}/tls/server.key"
    NeoAPIKeyFile "${{INSTANCE}}/neoapi.key"
    NeoAPIBaseURL https://{address}/public/v1/
    {more}
    <Location "/public/v1/">
        NeoAPI On
    </Location>
</VirtualHost>
"""
IMPATIENT = "RequestReadTimeout handshake=5 header=1 body=1"
NARROW = """
    DBDriver pgsql
    DBDParams "host=${INSTANCE}/socket dbname=neoapi user=neoapi application_name=narrow options='-c statement_timeout=3s'"
    DBDMin 0
    DBDKeep 2
    DBDMax 2
"""


@pytest.fixture(scope="module")
def module_instance():
    hosts = HOST.format(address="127.0.0.2", more=IMPATIENT) + HOST.format(address="127.0.0.3", more=NARROW)
    with running_instance("failures", SERVER + hosts) as instance:
        yield instance


def is_running(pid_file):
    return pid_file.exists() and os.path.exists(f"/proc/{pid_file.read_text().split()[0]}")


@pytest.fixture(autouse=True)
def repair(module_instance):
    """Repairs the instance after a failed test."""
    yield
    if not all(is_running(module_instance.state / file) for file in ("pg/postmaster.pid", "run/httpd.pid")):
        module_instance.command("up")


@pytest.fixture
def module_api(module_instance, module_admin_factory):
    """An org_admin's client to a separate organization."""
    return Api(module_instance, module_admin_factory.key())


def at(api, address):
    """The client with another virtual host."""
    return api.with_(url=f"https://{address}:{api.instance.port}/public/v1/")


def count_brokers(api):
    organization, = api.credential.organizations
    return api.instance.sql("select count(*) from neoapi.broker where organization_id = %s", organization)[0][0]


def log_is_clean(instance):
    """No child of Apache crashed. (A SIGKILL is not logged.)"""
    assert not [line for line in instance.error_log.splitlines() if "exit signal" in line]


# ---------------------------------------------------------------- the database

def start_database(instance):
    """Retries, because PostgreSQL does not start while a process of the killed server has not ended."""
    eventually(lambda: "does not start" not in instance.command("start-db", check=False), "PostgreSQL starts")


def cause_outage(load, failure):
    """Stops the database under load, waits for failed requests and restarts it. Returns the time at which it was up again."""
    load.api.instance.command(failure)
    load.wait_for(40, status=503)
    start_database(load.api.instance)
    recovered_at = time.monotonic()
    load.wait_for(20 * len(load.threads))
    return recovered_at


@pytest.mark.parametrize("failure", ["stop-db", "kill-db"])
def test_during_an_outage_requests_get_503_and_none_is_lost_or_executed_twice(module_instance, module_api, failure):
    children = module_instance.children()
    with Load(module_api) as load:
        recovered_at = cause_outage(load, failure)
    load.check_answers(200, 201, 503)
    load.check_all_succeeded_since(recovered_at)
    load.check_no_row_is_lost_or_duplicated()
    assert module_instance.children() == children
    log_is_clean(module_instance)


def test_the_first_request_after_a_restart_of_the_database_succeeds(module_instance, module_api):
    """Reads, creates and updates over persistent connections, including idle ones."""
    made = module_api.broker()
    with RawConnection(module_api) as kept:
        kept.send(message(module_api, "GET", "me")).answer()
        for stop in ("stop-db", "kill-db"):
            together(*[lambda: ok(module_api.with_().get("brokers/" + made["id"]))] * 20)  # opens many database connections
            module_instance.command(stop)
            start_database(module_instance)
            patch = message(module_api, "PATCH", "brokers/" + made["id"], JSON, b'{"phone":"1"}')
            assert check_response(kept.send(patch).answer("PATCH"), "PATCH").status_code == 200
            found = together(*[lambda: module_api.with_().post("brokers", {"name": "After"}).status_code] * 20)
            assert found == [201] * 20


def test_during_an_outage_requests_without_database_succeed_and_others_fail_fast(module_instance, module_api):
    module_instance.command("stop-db")
    try:
        began = time.monotonic()
        for _ in range(5):
            assert module_api.get("openapi.yaml").status_code == 200
            answer = check_response(module_api.get("brokers"))
            refused(answer, 503, "internal.unavailable")
            assert int(answer.headers["Retry-After"]) > 0
            refused(check_response(module_api.post("brokers", {"name": "x"})), 503, "internal.unavailable")
        assert time.monotonic() - began < REQUEST_TIMEOUT_S
    finally:
        start_database(module_instance)
    assert module_api.get("brokers").status_code == 200


def test_an_outage_does_not_consume_the_rate_limit(module_instance, module_api):
    """Credentials cannot be verified without the database; such requests must not count as invalid."""
    module_instance.command("stop-db")
    try:
        answers = [module_api.get("brokers") for _ in range(5)]
    finally:
        start_database(module_instance)
    assert {(answer.status_code, answer.headers["X-RateLimit-Remaining"]) for answer in answers} == {(503, "600")}
    assert module_api.get("me").status_code == 200


@pytest.mark.slow
def test_an_outage_without_requests_fills_no_log(module_instance, module_api):
    """The backoff of connection attempts is 0, 3, 15, 30 seconds. Afterwards the processes listen again without a request."""
    seconds, hosts = 10, 2  # virtual hosts with separate connections
    processes = len(module_instance.children())
    listening = eventually(lambda: len(listeners(module_instance)) >= processes and len(listeners(module_instance)), "they listen")
    module_instance.command("stop-db")
    try:
        before = len(module_instance.error_log.splitlines())
        time.sleep(seconds)
        lines = module_instance.error_log.splitlines()[before:]
    finally:
        start_database(module_instance)
    assert 0 < len(lines) <= 8 * processes * hosts, lines
    assert "SQLSTATE )" not in module_instance.error_log
    eventually(lambda: len(listeners(module_instance)) >= listening, "all processes listen again")


def test_a_database_that_starts_after_apache_is_used(module_instance, module_api):
    module_instance.command("stop-httpd")
    module_instance.command("stop-db")
    module_instance.command("start-httpd")
    refused(module_api.with_().get("me"), 503, "internal.unavailable")
    start_database(module_instance)
    assert module_api.with_().get("me").status_code == 200


def test_requests_to_a_hanging_database_time_out(module_instance, module_api):
    children = module_instance.children()
    with Load(module_api, clients=8) as load:
        with frozen_database(module_instance):
            load.wait_for(len(load.threads), status=503)
        load.wait_for(4 * len(load.threads), status=201)
        recovered_at = time.monotonic()
        load.wait_for(20 * len(load.threads))
    load.check_answers(200, 201, 503)
    load.check_all_succeeded_since(recovered_at)
    load.check_no_row_is_lost_or_duplicated()
    assert module_instance.children() == children
    log_is_clean(module_instance)


@contextlib.contextmanager
def locked_brokers(instance):
    """Locks the table against writes. Yields a function that releases it early."""
    connection = psycopg2.connect(instance.admin_dsn)
    try:
        connection.cursor().execute("lock table neoapi.broker in share mode")
        yield connection.rollback
    finally:
        connection.close()


def test_a_statement_that_waits_for_a_lock_times_out(module_api):
    """statement_timeout cancels it, with its own error code; the write is not executed later."""
    with locked_brokers(module_api.instance):
        began = time.monotonic()
        refused(at(module_api, "127.0.0.3").post("brokers", {"name": "Waits"}), 503, "internal.statement_timeout")
        assert time.monotonic() - began < REQUEST_TIMEOUT_S
    assert count_brokers(module_api) == 0


def test_more_requests_at_once_than_connections_are_all_answered(module_instance, module_api):
    """Forty creates wait for a lock on two connections."""
    narrow = at(module_api, "127.0.0.3")
    narrow.broker()
    waiting = "select count(*) from pg_stat_activity where application_name = 'narrow' and wait_event_type = 'Lock'"

    def unlock_when_all_connections_wait():
        eventually(lambda: module_instance.sql(waiting)[0][0] >= 2, "two statements that wait")
        unlock()

    create = [lambda: narrow.with_().post("brokers", {"name": "Patient"}).status_code] * 40
    with locked_brokers(module_instance) as unlock:
        found = together(unlock_when_all_connections_wait, *create)
    assert found[1:] == [201] * 40
    assert count_brokers(module_api) == 41


def test_requests_do_not_wait_long_for_a_connection(module_instance, module_api):
    """Each statement holds the only connection of its process for three seconds; other requests time out after two."""
    narrow = at(module_api, "127.0.0.3")
    narrow.broker()
    before = len(module_instance.error_log)
    with locked_brokers(module_instance):
        started = time.monotonic()
        answers = together(*[lambda: narrow.with_().post("brokers", {"name": "Waits"})] * 20)
        assert time.monotonic() - started < 9
    codes = [answer.json()["code"] for answer in answers]
    assert set(codes) <= {"internal.unavailable", "internal.statement_timeout"} and "internal.unavailable" in codes
    assert {(answer.status_code, answer.headers["Retry-After"]) for answer in answers} == {(503, "5")}
    assert "NEO0208" in module_instance.error_log[before:] and count_brokers(module_api) == 1


# ---------------------------------------------------------------- credentials

def listeners(instance):
    """The backends of the children's listeners: each holds the advisory lock of its position."""
    return {pid for pid, in instance.sql("select pid from pg_locks join pg_stat_activity using (pid)"
                                         " where locktype = 'advisory' and mode = 'ShareLock' and usename = 'neoapi'"
                                         " and classid = (hashtext('neoapi_credentials')::bigint & x'ffffffff'::bigint)::oid")}


def everywhere(api):
    """The statuses of requests over separate connections, enough to reach every child."""
    return {api.with_().get("me").status_code for _ in range(30)}


@contextlib.contextmanager
def no_new_connections(instance):
    """Prevents new connections of the runtime role; existing ones stay open."""
    instance.sql("alter role neoapi connection limit 0")
    try:
        yield
    finally:
        instance.sql("alter role neoapi connection limit -1")


def end_listeners(instance):
    """Terminates the listeners' connections when every child has one. Returns their pids."""
    eventually(lambda: len(listeners(instance)) >= len(instance.children()), "every child listens")
    ended = listeners(instance)
    instance.sql("select pg_terminate_backend(pid) from unnest(%s::int[]) pid", list(ended))
    eventually(lambda: not listeners(instance) & ended, "the listeners' end")
    return ended


def test_a_revoked_credential_is_refused_at_once_without_listeners(module_instance, module_admin_factory):
    """Without a listener credentials are not cached, so that each request queries the database. A request gets 503 if its
    connection was terminated or is used by a listener; then the test is repeated."""
    def is_refused_by_the_database():
        api = Api(module_instance, module_admin_factory.key())
        assert everywhere(api) == {200}
        with no_new_connections(module_instance):
            ended = end_listeners(module_instance)
            before = everywhere(api)
            module_admin_factory.revoke(api.credential)
            after = everywhere(api)
            assert before <= {200, 503} and after <= {401, 503}
        assert everywhere(api) == {401}
        eventually(lambda: len(listeners(module_instance)) >= len(ended), "new listeners")
        return 200 in before and 401 in after
    eventually(is_refused_by_the_database, "a child with a connection and without a listener")


def test_a_revoked_credential_is_refused_at_once_while_its_listener_reconnects(module_instance, module_admin_factory):
    early, late = Api(module_instance, module_admin_factory.key()), Api(module_instance, module_admin_factory.key())
    assert everywhere(early) == everywhere(late) == {200}
    ended = end_listeners(module_instance)
    module_admin_factory.revoke(early.credential)
    assert everywhere(early) == {401}
    eventually(lambda: len(listeners(module_instance)) >= len(ended), "new listeners")
    assert everywhere(late) == {200}
    module_admin_factory.revoke(late.credential)
    assert everywhere(late) == {401}


# ---------------------------------------------------------------- Apache

def test_no_request_fails_while_apache_restarts_gracefully(module_instance, module_api):
    with Load(module_api) as load:
        for _ in range(3):
            module_instance.command("graceful")
            load.wait_for(20 * len(load.threads))
    load.check_answers(200, 201)
    load.check_no_row_is_lost_or_duplicated()
    log_is_clean(module_instance)


def remaining(api):
    answer = api.with_().get("me")
    return int(answer.headers["X-RateLimit-Remaining"]), int(answer.headers["X-RateLimit-Reset"])


def test_rate_limit_counts_survive_a_graceful_restart_and_a_killed_child(module_instance,
                                                                         module_admin_factory):
    plan = module_admin_factory.plan(1000, 3600)
    api = Api(module_instance, module_admin_factory.key(module_admin_factory.organization(module_admin_factory.tenant(plan))))
    first, reset = remaining(api)
    assert first == 999
    module_instance.command("graceful")
    assert remaining(api) == (998, reset)
    killed = module_instance.children()
    for child in killed:
        os.kill(child, signal.SIGKILL)
    eventually(lambda: set(module_instance.children()) - set(killed), "a new child")
    assert remaining(api) == (997, reset)


def test_a_killed_child_affects_only_its_own_requests(module_instance, module_api):
    eventually(lambda: len(module_instance.children()) == 2, "two children")
    with Load(module_api) as load:
        killed = module_instance.children()[0]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: len(set(module_instance.children()) - {killed}) == 2, "a new child")
        replaced = time.monotonic()
        load.wait_for(20 * len(load.threads))
    broken = [sent for sent in load.sent if sent.broken or sent.not_repeated]
    assert len(broken) <= len(load.threads), broken
    assert all(sent.status in (200, 201) for sent in load.sent if sent not in broken)
    load.check_all_succeeded_since(replaced)
    load.check_no_row_is_lost_or_duplicated()
    log_is_clean(module_instance)


# ---------------------------------------------------------------- slow clients

def drip(raw, piece, limit=20):
    """Sends a piece repeatedly until the server responds. Returns the response."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        raw.send(piece)
        if select.select([raw.socket], [], [], 0.1)[0]:
            return raw.answer("POST")
    raise AssertionError(f"not answered in {limit} s")


@pytest.mark.parametrize("headers, start, piece", [
    ([*JSON, ("Content-Length", 100_000)], b'{"name":"', b"x"), ([*JSON, ("Transfer-Encoding", "chunked")], b"", b"1\r\nx\r\n"),
    ([*JSON, ("Content-Length", 100_000)], b"", b""), ([*JSON, ("Transfer-Encoding", "chunked")], b"5", b"0"),
])
def test_a_body_that_does_not_end_gets_408(module_instance, module_api, headers, start, piece):
    slow = at(module_api, "127.0.0.2")
    with RawConnection(slow) as raw:
        raw.send(message(slow, "POST", "brokers", headers, start))
        refused(check_response(drip(raw, piece), "POST"), 408, "validation.request_timeout")
        assert raw.is_ended()
    assert count_brokers(module_api) == 0


@pytest.mark.parametrize("header, piece", [(("Content-Length", 1_000_000), b"x" * 200),
                                           (("Transfer-Encoding", "chunked"), b"c8\r\n" + b"x" * 200 + b"\r\n")],
                         ids=["length", "chunked"])
def test_a_refused_client_cannot_hold_a_thread_with_its_body(module_api, header, piece):
    """Even if it sends as fast as the shipped RequestReadTimeout requires: the connection is closed after the response."""
    with RawConnection(module_api) as raw:
        raw.send(message(module_api, "POST", "brokers", [*JSON, header], key=False))
        answer = check_response(drip(raw, piece), "POST")
        assert answer.status_code == 401 and "close" in answer.headers["Connection"]
        deadline = time.monotonic() + 5
        while not select.select([raw.socket], [], [], 0.2)[0]:
            assert time.monotonic() < deadline, "the server has not closed the connection"
            raw.send(piece)
        assert raw.is_ended()


def test_a_refused_client_with_a_complete_body_keeps_the_connection(module_api):
    with RawConnection(module_api) as raw:
        for _ in range(2):
            raw.send(message(module_api, "POST", "brokers", JSON, b'{"name":"x"}', key=False))
            assert check_response(raw.answer("POST"), "POST").status_code == 401


def test_slow_bodies_of_a_credential_occupy_neither_threads_nor_connections(module_api):
    """More clients than threads. Eight can wait in each process, more than it has connections; the others get an immediate
    response."""
    narrow = at(module_api, "127.0.0.3")
    head = message(narrow, "POST", "brokers", [*JSON, ("Content-Length", 1000)], b'{"name":"')
    slow = [RawConnection(narrow).send(head) for _ in range(60)]
    try:
        started = time.monotonic()
        assert narrow.get("brokers").status_code == 200
        eventually(lambda: len(select.select([raw.socket for raw in slow], [], [], 0)[0]) >= 60 - 2 * 8, "answers of the others")
        assert time.monotonic() - started < 8  # RequestReadTimeout is ten seconds
        readable = set(select.select([raw.socket for raw in slow], [], [], 0)[0])
        first = next(raw for raw in slow if raw.socket in readable)
        refused(check_response(first.answer("POST"), "POST"), 408, "validation.request_timeout")
    finally:
        for raw in slow:
            raw.close()


@pytest.mark.slow
def test_a_slow_body_over_http_2_has_a_deadline(module_api):
    h2 = pytest.importorskip("h2.connection")
    events = pytest.importorskip("h2.events")
    connection, tls = h2.H2Connection(), module_api.connect("h2")
    connection.initiate_connection()
    connection.send_headers(1, [(":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
                                (":path", "/public/v1/brokers"), ("x-api-key", module_api.credential.secret),
                                ("content-type", "application/json")])
    started, status = time.monotonic(), None
    with tls:
        while status is None and time.monotonic() - started < 30:
            connection.send_data(1, b" ")
            tls.sendall(connection.data_to_send())
            if select.select([tls], [], [], 0.5)[0]:
                for event in connection.receive_data(tls.recv(65536)):
                    if isinstance(event, events.ResponseReceived):
                        status = dict(event.headers)[b":status"]
    assert status == b"408" and 9 < time.monotonic() - started < 20


def test_endless_headers_time_out(module_api):
    slow = at(module_api, "127.0.0.2")
    with RawConnection(slow) as raw:
        raw.send(message(slow, "GET", "me")[:-2])
        try:
            refused(check_response(drip(raw, b"X-Slow: x\r\n")), 408, "validation.request_timeout")
        except Closed:
            pass


def test_slow_clients_do_not_delay_others(module_instance, module_api):
    """More clients than half of the threads."""
    slow, wires = at(module_api, "127.0.0.2"), []
    try:
        for _ in range(30):
            wires.append(RawConnection(slow).send(message(slow, "POST", "brokers", [*JSON, ("Content-Length", 1000)],
                                                          b'{"name":"')))
        assert module_api.get("me").status_code == 200
        for raw in wires:
            refused(check_response(raw.answer("POST"), "POST"), 408, "validation.request_timeout")
    finally:
        for raw in wires:
            raw.close()
