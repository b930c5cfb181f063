# SPDX-License-Identifier: Apache-2.0
"""Health checks for load balancers: live without the database, ready with it, and fast even if the database hangs."""

import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import psycopg2
import pytest

from webhook_fixtures import admin, module_admin_factory, module_instance  # noqa: F401 (fixtures)
from admin_pages import CONF as SEEING
from admin_pages import AdminPages
from standby import frozen_database, standby
from wait import TIMEOUT_S, eventually, together

CONF = SEEING


@pytest.fixture
def admin_pages(module_instance):
    return AdminPages(module_instance)


def test_a_healthy_instance_is_ready(module_instance, admin_pages):
    for one in (admin_pages, AdminPages(module_instance, "127.0.0.5")):
        assert one.health() == one.health("?ready") == (200, "ready\n")
        assert one.health("?live") == (200, "alive\n")


@pytest.mark.parametrize("query", ["?alive", "?ready=1", "?live&ready"])
def test_an_unknown_query_is_refused(admin_pages, query):
    status, text = admin_pages.health(query)
    assert status == 400 and "?live" in text and "?ready" in text and "?write" in text


def test_a_response_is_not_cacheable(admin_pages):
    assert admin_pages.get("neoapi-health").headers["Cache-Control"] == "no-store"


def test_during_an_outage_it_is_alive_and_not_ready(module_instance, admin_pages):
    module_instance.command("stop-db")
    try:
        status, text = eventually(lambda: (found := admin_pages.health())[0] == 503 and found, "it is not ready")
        assert text.startswith("not ready: the database") and text.count("\n") == 1
        assert admin_pages.health("?live") == (200, "alive\n")
    finally:
        module_instance.command("start-db")
    eventually(lambda: admin_pages.health() == (200, "ready\n"), "it is ready again")


def test_a_read_only_database_is_ready_but_not_for_writes(module_instance, admin_pages):
    def set_read_only(how):
        module_instance.sql("alter system " + how)
        module_instance.sql("select pg_reload_conf()")

    assert admin_pages.health("?write") == (200, "ready\n")
    set_read_only("set default_transaction_read_only = on")
    try:
        status, text = eventually(lambda: (found := admin_pages.health("?write"))[0] == 503 and found, "writes are refused")
        assert text == "not ready: the database refuses writes: it is a standby or read-only\n"
        assert admin_pages.health() == (200, "ready\n")
    finally:
        set_read_only("reset default_transaction_read_only")
    eventually(lambda: admin_pages.health("?write") == (200, "ready\n"), "it accepts writes again")


WAITING_PROBES = "select pid from pg_stat_activity where wait_event = 'SyncRep' and query like '%probe_write%' order by pid limit 1"


@pytest.mark.slow
def test_writes_that_wait_for_a_frozen_synchronous_standby_are_not_ready(module_instance, admin_pages):
    def set_synchronous(names):
        module_instance.sql(f"alter system set synchronous_standby_names = '{names}'")
        module_instance.sql("select pg_reload_conf()")

    with standby(module_instance) as replica:
        set_synchronous("*")
        eventually(lambda: module_instance.sql("select sync_state from pg_stat_replication") == [("sync",)], "it is synchronous")
        eventually(lambda: admin_pages.health("?write") == (200, "ready\n"), "writes are confirmed")
        def ask():
            began = time.monotonic()
            found = admin_pages.health("?write")
            assert time.monotonic() - began < 8, "a probe waits for 3 seconds"
            return found
        try:
            with frozen_database(replica):
                eventually(lambda: ask() == (503, "not ready: the database cannot be reached or does not respond\n"),
                           "writes are not confirmed")
                former, = eventually(lambda: ask() and module_instance.sql(WAITING_PROBES), "a probe still waits")
                eventually(lambda: ask() and former not in module_instance.sql(WAITING_PROBES), "a later one ends it")
                assert admin_pages.health() == (200, "ready\n")
            eventually(lambda: admin_pages.health("?write") == (200, "ready\n"), "writes are confirmed again")
        finally:
            set_synchronous("")


@pytest.mark.slow
def test_a_hanging_database_blocks_only_one_probe(module_instance, admin_pages):
    """Many clients probe for longer than the statement timeout: only the probe that queries the database waits."""
    def ask():
        began = time.monotonic()
        return AdminPages(module_instance).health()[0], time.monotonic() - began
    with frozen_database(module_instance):
        until = time.monotonic() + 6
        while time.monotonic() < until:
            found = together(*[ask] * 4)
            assert sum(took > 2 for _, took in found) <= 1, found
        assert admin_pages.health("?live") == (200, "alive\n")
        eventually(lambda: admin_pages.health()[0] == 503, "it is not ready")
    eventually(lambda: admin_pages.health() == (200, "ready\n"), "it is ready again")


def test_concurrent_requests_share_one_probe(module_instance, admin_pages):
    """A second load balancer must not get "not ready" while the first probe runs."""
    module_instance.command("stop-httpd")
    module_instance.command("start-httpd")
    waiting = "select 1 from pg_locks where not granted and relation = 'neoapi.schema_migration'::regclass"
    connection = psycopg2.connect(module_instance.admin_dsn)
    with ThreadPoolExecutor(4) as pool:
        try:
            connection.cursor().execute("lock table neoapi.schema_migration in access exclusive mode")
            asked = [pool.submit(admin_pages.health)]
            eventually(lambda: module_instance.sql(waiting), "one asks")
            asked += [pool.submit(AdminPages(module_instance).health) for _ in range(3)]
            wait(asked, 0.3, return_when=FIRST_COMPLETED)
        finally:
            connection.close()
        assert [done.result() for done in asked] == [(200, "ready\n")] * 4


def test_an_old_schema_is_reported(module_instance, admin_pages):
    module_instance.sql("alter table neoapi.schema_migration rename to kept")
    try:
        status, text = eventually(lambda: (found := admin_pages.health())[0] == 503 and found, "it is not ready")
        assert "neoapictl" in text
    finally:
        module_instance.sql("alter table neoapi.kept rename to schema_migration")
    eventually(lambda: admin_pages.health() == (200, "ready\n"), "it is ready again", TIMEOUT_S)
