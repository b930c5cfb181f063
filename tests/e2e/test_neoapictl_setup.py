"""neoapictl setup and migrate, and what the runtime role that they make may do."""

import base64
import hashlib
import hmac
import json
import re
import time

import psycopg2
import psycopg2.errors
import pytest
from ctl_database import LIMIT, NOBODY, bare, db, fresh  # noqa: F401 (fixtures)

MIGRATION_LOCK = 5653418271302  # src/store/migrate.c


def until(condition, what):
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


# ---------------------------------------------------------------- setup and migrate


def test_setup_makes_everything_and_is_harmless_the_second_time(bare):
    status, first, err = bare.setup()
    assert (status, err) == (0, "") and "applying 0001_foundation" in first
    rows = bare.sql("select number, applied_at from neoapi.schema_migration order by number")
    status, second, err = bare.setup()
    assert (status, err) == (0, "") and "nothing was to be done" in second
    assert bare.sql("select number, applied_at from neoapi.schema_migration order by number") == rows
    assert bare.run("doctor")[0] == 0


def test_setup_with_json_writes_one_object(bare):
    status, out, _ = bare.setup("--json")
    report = json.loads(out)
    assert status == 0 and report["database"] == bare.name and report["runtime_role"] == "neoapi"
    assert report["version"] == len(report["applied"]) > 1


def test_setup_refuses_a_powerful_runtime_role(bare):
    assert "postgres" in bare.refused("setup", "--database-name", bare.name, "--runtime-role", "postgres", dsn=bare.admin)
    assert "two roles" in bare.refused("setup", "--owner", "neoapi", dsn=bare.admin, status=2)


def test_setup_refuses_a_database_of_somebody_else(bare):
    bare.sql(f"create database {bare.name}", dsn=bare.admin)
    assert "belongs to" in bare.refused("setup", "--database-name", bare.name, dsn=bare.admin)


def test_setup_refuses_another_runtime_role_than_before(fresh):
    role = f"{fresh.name}_other"
    try:
        status, _, err = fresh.setup("--runtime-role", role)
        assert status == 1 and f"made for the runtime role neoapi, not for {role}" in err
        may = fresh.sql("select has_database_privilege(%s, %s, 'connect')", role, fresh.name)
        assert may == [(False,)]
    finally:
        fresh.sql(f"drop role if exists {role}", dsn=fresh.admin)


def test_setup_takes_the_password_from_a_file(bare, tmp_path):
    role, secret = f"{bare.name}_role", tmp_path / "password"
    secret.write_text("correct 'horse'\\battery\n")
    try:
        status, out, err = bare.setup("--runtime-role", role, "--runtime-password-file", str(secret))
        assert (status, err) == (0, "") and "horse" not in out
        stored, = bare.sql("select rolpassword from pg_authid where rolname = %s", role)[0]
        kind, iterations, salt, keys = re.fullmatch(r"(SCRAM-SHA-256)\$(\d+):([^$]+)\$(.+)", stored).groups()
        salted = hashlib.pbkdf2_hmac("sha256", b"correct 'horse'\\battery", base64.b64decode(salt), int(iterations))
        client = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
        assert base64.b64encode(client).decode() == keys.split(":")[0]
    finally:
        bare.drop()
        bare.sql(f"drop role if exists {role}", dsn=bare.admin)


@pytest.mark.parametrize("content", [None, "", "\n", "x" * 600])
def test_setup_refuses_a_password_file_without_a_password(bare, tmp_path, content):
    if content is not None:
        (tmp_path / "password").write_text(content)
    assert "password file" in bare.refused("setup", "--database-name", bare.name, "--runtime-password-file",
                                           str(tmp_path / "password"), dsn=bare.admin)


def test_migrate_says_first_then_does_then_has_nothing_to_do(fresh):
    names = fresh.empty()
    assert fresh.ok("migrate", "--dry-run") == "".join(f"would apply {name}\n" for name in names)
    assert fresh.json("migrate", "--dry-run") == {"version": 0, "pending": names}
    assert fresh.json("migrate") == {"version": len(names), "applied": names}
    assert fresh.migrations() == names
    assert "nothing was to be done" in fresh.ok("migrate")


def test_two_migrations_at_once_apply_each_one_once(fresh):
    names = fresh.empty()
    waiting = ("select count(*) from pg_locks l join pg_database d on d.oid = l.database"
               " where locktype = 'advisory' and not granted and datname = current_database()")
    gate = psycopg2.connect(fresh.dsn)
    try:
        gate.cursor().execute("select pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        both = [fresh.start("--json", "migrate") for _ in range(2)]
        until(lambda: fresh.sql(waiting) == [(2,)], "both wait for the lock")
    finally:
        gate.close()
    reports = [process.communicate(timeout=LIMIT) for process in both]
    assert [process.returncode for process in both] == [0, 0], reports
    assert sorted(name for out, _ in reports for name in json.loads(out)["applied"]) == names
    assert fresh.migrations() == names


def test_a_migration_that_fails_is_rolled_back_whole(fresh):
    names = fresh.empty()
    fresh.sql("create table neoapi.idempotency_key ()")  # in the way of a statement halfway through
    assert f"{names[0]} failed and was rolled back" in fresh.refused("migrate")
    assert fresh.sql("select to_regclass('neoapi.plan')") == [(None,)] and fresh.migrations() == []
    fresh.sql("drop table neoapi.idempotency_key")
    assert fresh.json("migrate")["applied"] == names


def test_what_an_administrator_migrates_belongs_to_the_owner(fresh):
    fresh.empty()
    fresh.ok("migrate")
    assert fresh.sql("select distinct tableowner from pg_tables where schemaname = 'neoapi' and tablename <> 'setting'"
                     " and tablename <> 'schema_migration'") == [("neoapi_owner",)]


def test_commands_ask_for_a_schema_that_is_there_and_up_to_date(cluster, fresh):
    assert "neoapictl setup" in fresh.refused("tenant", "list", dsn=cluster.admin_dsn)
    assert "neoapictl setup" in fresh.refused("migrate", dsn=cluster.admin_dsn)
    fresh.make_old()
    assert "neoapictl migrate" in fresh.refused("tenant", "list")


# ---------------------------------------------------------------- the runtime role


@pytest.mark.parametrize("statement", [
    "create table neoapi.mine (n int)",
    "create table public.mine (n int)",
    "create temporary table mine (n int)",
    "create schema mine",
    "alter table neoapi.broker add column mine int",
    "select name from neoapi.app_user",
    "select name from neoapi.credential",
    "select name from neoapi.tenant",
    "select * from neoapi.organization",
    "insert into neoapi.tenant (id, name) values ('tnt_%s', 'x')" % NOBODY,
    "insert into neoapi.schema_migration (number, name) values (99, 'x')",
    "update neoapi.credential set revoked_at = null",
    "update neoapi.plan set requests = 1",
    "delete from neoapi.credential",
    "set role neoapi_owner",
])
def test_the_runtime_role_may_not(db, statement):
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        db.sql(statement, dsn=db.runtime_dsn)


def test_the_runtime_role_sees_what_it_needs(db):
    assert db.sql("select max(number) > 0 from neoapi.schema_migration", dsn=db.runtime_dsn) == [(True,)]
    assert db.sql("select id, tenant_id, secret_hash, revoked_at from neoapi.credential where false", dsn=db.runtime_dsn) == []
    assert db.sql("select id, email, role from neoapi.app_user where false", dsn=db.runtime_dsn) == []


def test_the_runtime_role_cannot_administer(db):
    assert "neoapi_owner" in db.refused("tenant", "list", dsn=db.runtime_dsn)
    assert "neoapi_owner" in db.refused("migrate", dsn=db.runtime_dsn)


def test_nobody_else_may_connect(db):
    assert db.sql("select has_database_privilege('public', current_database(), 'connect')") == [(False,)]
