"""Health for balancers: alive without the database, ready with it, and in time whatever the database does."""

import os
import signal
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import psycopg2
import pytest

pytest.register_assert_rewrite("hooks", "seeing")

from hooks import admin, make_there, there  # noqa: E402, F401 (fixtures)
from seeing import CONF as SEEING  # noqa: E402
from seeing import Seeing  # noqa: E402
from test_failures import database_processes  # noqa: E402
from waiting import LIMIT, eventually, together  # noqa: E402

CONF = SEEING


@pytest.fixture
def seeing(there):
    return Seeing(there)


def test_it_is_ready(there, seeing):
    for one in (seeing, Seeing(there, "127.0.0.5")):
        assert one.health() == one.health("?ready") == (200, "ready\n")
        assert one.health("?live") == (200, "alive\n")


@pytest.mark.parametrize("query", ["?alive", "?ready=1", "?live&ready"])
def test_a_question_that_it_does_not_know_is_refused(seeing, query):
    status, text = seeing.health(query)
    assert status == 400 and "?live" in text and "?ready" in text


def test_nobody_keeps_an_answer(seeing):
    assert seeing.get("neoapi-health").headers["Cache-Control"] == "no-store"


def test_without_the_database_it_is_alive_and_not_ready(there, seeing):
    there.command("stop-db")
    try:
        status, text = eventually(lambda: (found := seeing.health())[0] == 503 and found, "it is not ready")
        assert text.startswith("not ready: the database") and text.count("\n") == 1
        assert seeing.health("?live") == (200, "alive\n")
    finally:
        there.command("start-db")
    eventually(lambda: seeing.health() == (200, "ready\n"), "it is ready again")


def test_a_database_that_hangs_keeps_no_more_than_one_waiting(there, seeing):
    """Many ask, for longer than a statement may take: but for the one who asks for all, each is answered at once."""
    hanging = database_processes(there)
    for pid in hanging:
        os.kill(pid, signal.SIGSTOP)
    try:
        def ask():
            began = time.monotonic()
            return Seeing(there).health()[0], time.monotonic() - began
        until = time.monotonic() + 6
        while time.monotonic() < until:
            found = together(*[ask] * 4)
            assert sum(took > 2 for _, took in found) <= 1, found
        assert seeing.health("?live") == (200, "alive\n")
        eventually(lambda: seeing.health()[0] == 503, "it is not ready")
    finally:
        for pid in reversed(hanging):
            os.kill(pid, signal.SIGCONT)
    eventually(lambda: seeing.health() == (200, "ready\n"), "it is ready again")


def test_who_asks_beside_another_waits_for_the_same_answer(there, seeing):
    """Where none is known: a second balancer is not told that a healthy host is not ready."""
    there.command("stop-httpd")
    there.command("start-httpd")
    waiting = "select 1 from pg_locks where not granted and relation = 'neoapi.schema_migration'::regclass"
    connection = psycopg2.connect(there.admin_dsn)
    with ThreadPoolExecutor(4) as pool:
        try:
            connection.cursor().execute("lock table neoapi.schema_migration in access exclusive mode")
            asked = [pool.submit(seeing.health)]
            eventually(lambda: there.sql(waiting), "one asks")
            asked += [pool.submit(Seeing(there).health) for _ in range(3)]
            wait(asked, 0.3, return_when=FIRST_COMPLETED)
        finally:
            connection.close()
        assert [done.result() for done in asked] == [(200, "ready\n")] * 4


def test_a_schema_that_is_too_old_is_a_reason(there, seeing):
    there.sql("alter table neoapi.schema_migration rename to kept")
    try:
        status, text = eventually(lambda: (found := seeing.health())[0] == 503 and found, "it is not ready")
        assert "neoapictl" in text
    finally:
        there.sql("alter table neoapi.kept rename to schema_migration")
    eventually(lambda: seeing.health() == (200, "ready\n"), "it is ready again", LIMIT)
