# SPDX-License-Identifier: Apache-2.0
"""The epoch of the event log: it changes when committed transactions may have been lost."""

import contextlib
import os
import subprocess
import threading
from contextlib import closing
from datetime import timedelta

import psycopg2
import pytest
from admin_factory import AdminFactory
from client import Api, ok, refused
from ctl_database import Database, new_database, own_database  # noqa: F401 (fixtures)
from psycopg2.extensions import make_dsn
from test_neoapictl_doctor import examined
from wait import TIMEOUT_S, eventually

INSERT = ("insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)"
          " values ('o', 'broker.created', 'x', now(), 'x', '{}') returning id")
IS_VALID = "select exists (select from neoapi.event_mark where position <= %s)"


def position(database):
    return database.sql("select neoapi.event_position()")[0][0]


def is_valid(database, position):
    return database.sql(IS_VALID, position)[0][0]


def program(database, name):
    (directory,), = database.sql("select setting from pg_config where name = 'BINDIR'")
    return os.path.join(directory, name)


@pytest.fixture
def restored(own_database, cluster, tmp_path):
    """A database restored from a dump of own_database, which then writes more events: those are lost."""
    own_database.sql(INSERT)
    own_database.dump = tmp_path / "dump"
    subprocess.run([program(own_database, "pg_dump"), "-Fc", "-f", own_database.dump, own_database.dsn], check=True)
    database = Database(cluster)
    own_database.sql(f"create database {database.name}", dsn=database.admin)
    try:
        subprocess.run([program(own_database, "pg_restore"), "-d", database.dsn, own_database.dump], check=True)
        yield database
    finally:
        database.drop()


def test_a_restored_dump_begins_a_new_epoch_whose_ids_come_after_the_old_ones(own_database, restored):
    (lost,), = own_database.sql(INSERT)
    assert is_valid(own_database, lost) and examined(own_database)[1]["event epoch"]["result"] == "ok"
    status, checks = examined(restored)
    assert status == 1 and checks["event epoch"]["result"] == "failed" and "migrate" in checks["event epoch"]["fix"]
    assert restored.sql("select neoapi.check_event_epoch()", dsn=restored.runtime_dsn) == [(True,)]
    assert restored.sql("select neoapi.check_event_epoch()", dsn=restored.runtime_dsn) == [(False,)]
    (new,), = restored.sql(INSERT)
    assert len(new) == len(lost) == len(position(restored)) == 30
    assert new > lost and not is_valid(restored, lost) and is_valid(restored, new) and is_valid(restored, position(restored))
    assert examined(restored)[1]["event epoch"]["result"] == "ok" and position(own_database) < position(restored)


def restore(instance, dump):
    """Restores the database from a dump."""
    postgres = make_dsn(instance.admin_dsn, dbname="postgres")
    for statement in ("drop database neoapi with (force)", "create database neoapi"):
        instance.sql(statement, dsn=postgres)
    subprocess.run([program(instance, "pg_restore"), "-d", instance.admin_dsn, dump], check=True)


def promote(instance, _):
    """Restarts the server as a standby, and promotes it."""
    instance.command("stop-db")
    (instance.state / "pg/standby.signal").touch()
    instance.command("start-db")
    assert instance.sql("select pg_promote()") == [(True,)]


def follow(api, position):
    return api.get("events", params={"order": "asc", "after": position})


@pytest.mark.slow
@pytest.mark.parametrize("replace", [restore, promote])
def test_a_position_from_before_a_restore_or_promotion_is_refused(new_instance, tmp_path, replace):
    instance = new_instance()
    api = Api(instance, AdminFactory(instance).key())
    subprocess.run([program(instance, "pg_dump"), "-Fc", "-f", tmp_path / "dump", instance.admin_dsn], check=True)
    api.broker()
    former = follow(api, "now").headers["X-Events-Position"]
    replace(instance, tmp_path / "dump")
    eventually(lambda: follow(api, former).status_code == 400, "the position is refused")
    problem = refused(follow(api, former), 400, "validation.position_expired")
    assert [item["field"] for item in problem["errors"]] == ["after"]
    start = follow(api, "now").headers["X-Events-Position"]
    made = api.broker()
    eventually(lambda: ok(follow(api, start))["items"], "the event appears")
    event, = ok(follow(api, start))["items"]
    assert event["resource_id"] == made["id"] and event["id"] > start > former


def test_migrate_begins_an_epoch_in_a_copy_and_none_in_the_original(own_database, cluster):
    before, copy = position(own_database), Database(cluster)
    own_database.ok("migrate")
    assert is_valid(own_database, before)
    own_database.sql(f"create database {copy.name} template {own_database.name}", dsn=copy.admin)
    try:
        assert is_valid(copy, before)
        copy.ok("migrate")
        assert not is_valid(copy, before) and is_valid(own_database, before)
    finally:
        copy.drop()


def test_neoapictl_begins_an_epoch(own_database):
    before = position(own_database)
    assert own_database.refused("events", "new-epoch", dsn=own_database.runtime_dsn)
    assert is_valid(own_database, before)
    assert own_database.json("events", "new-epoch")["begun_at"].endswith("Z")
    assert not is_valid(own_database, before) and is_valid(own_database, position(own_database))
    assert examined(own_database)[1]["event epoch"]["found"].startswith("since 20")


def test_an_epoch_begins_after_the_writers_of_the_former_one_have_ended(own_database):
    """Otherwise they could commit events before a position that a reader has passed."""
    with closing(psycopg2.connect(own_database.dsn)) as writer, writer.cursor() as cursor:
        cursor.execute(INSERT)
        (former,), = cursor.fetchall()
        assert "lock timeout" in own_database.run("events", "new-epoch")[2]
        begun = threading.Thread(target=lambda: begin(own_database))
        begun.start()
        eventually(lambda: own_database.sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
                                            " and query like '%%begin_event_epoch%%' and datname = current_database()")[0][0],
                   "it waits for the writer")
        writer.commit()
        begun.join(TIMEOUT_S)
    assert former < own_database.sql(INSERT)[0][0] and not is_valid(own_database, former)


def begin(database):
    while True:
        with contextlib.suppress(psycopg2.errors.LockNotAvailable):
            return database.sql("select neoapi.begin_event_epoch()")


@pytest.mark.parametrize("days, is_kept", [(3, False), (1, True)])
def test_a_position_is_valid_while_later_events_are_kept(own_database, days, is_kept):
    """With a position of noon that many days ago, and a dropped partition of two days ago."""
    old = position(own_database)
    (today,), = own_database.sql("select (now() at time zone 'UTC')::date")
    own_database.sql("truncate neoapi.event_mark; insert into neoapi.event_mark"
                     " values (%s, (%s - %s + time '12:00') at time zone 'UTC')", old, today, days)
    own_database.sql("select pg_current_xact_id()")
    own_database.sql(f"create table neoapi.event_{today - timedelta(days=2):%Y%m%d} partition of neoapi.event for values"
                     " from (neoapi.partition_bound('event', %s)::timestamptz)"
                     " to (neoapi.partition_bound('event', %s)::timestamptz)",
                     today - timedelta(days=2), today - timedelta(days=1))
    own_database.sql("select neoapi.maintain_partitions(1, 1)", dsn=make_dsn(own_database.runtime_dsn))
    assert is_valid(own_database, old) == is_kept and is_valid(own_database, position(own_database))
