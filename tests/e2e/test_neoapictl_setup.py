# SPDX-License-Identifier: Apache-2.0
"""neoapictl setup and migrate, and the privileges of the runtime role."""

import base64
import hashlib
import hmac
import json
import os
import re
import subprocess
import time

import psycopg2
import psycopg2.errors
import pytest
from ctl_database import TIMEOUT_S, UNKNOWN_ULID, new_database, db, own_database  # noqa: F401 (fixtures)
from deployment import ROOT

MIGRATION_LOCK = 5653418271302  # src/sql/migrate.c


def until(condition, what):
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


# ---------------------------------------------------------------- setup and migrate


def test_setup_is_complete_and_idempotent(new_database):
    status, first, err = new_database.setup()
    assert (status, err) == (0, "") and "applying 0001_foundation" in first
    rows = new_database.sql("select number, applied_at from neoapi.schema_migration order by number")
    status, second, err = new_database.setup()
    assert (status, err) == (0, "") and "nothing to do" in second
    assert new_database.sql("select number, applied_at from neoapi.schema_migration order by number") == rows
    assert new_database.run("doctor")[0] == 0


def test_the_server_does_not_log_personal_data_of_rejected_rows(own_database):
    verbosity = "show log_error_verbosity"
    assert own_database.sql(verbosity, dsn=own_database.runtime_dsn) == [("terse",)]
    own_database.sql("alter role neoapi reset log_error_verbosity")
    try:
        status, out, _ = own_database.run("doctor")
        assert status == 1 and "with details, which contain personal data" in out
    finally:
        own_database.sql("alter role neoapi set log_error_verbosity = terse")


def test_setup_with_json_writes_one_object(new_database):
    status, out, _ = new_database.setup("--json")
    report = json.loads(out)
    assert status == 0 and report["database"] == new_database.name and report["runtime_role"] == "neoapi"
    assert report["version"] == len(report["applied"]) > 1


def test_setup_refuses_a_privileged_runtime_role(new_database):
    assert "postgres" in new_database.refused("setup", "--database-name", new_database.name, "--runtime-role", "postgres",
                                              dsn=new_database.admin)
    assert "must differ" in new_database.refused("setup", "--owner", "neoapi", dsn=new_database.admin, code=2)


def test_setup_refuses_a_database_of_another_application(new_database):
    new_database.sql(f"create database {new_database.name}", dsn=new_database.admin)
    assert "belongs to" in new_database.refused("setup", "--database-name", new_database.name, dsn=new_database.admin)


def test_setup_refuses_another_runtime_role_than_before(own_database):
    role = f"{own_database.name}_other"
    try:
        status, _, err = own_database.setup("--runtime-role", role)
        assert status == 1 and f"made for the runtime role neoapi, not for {role}" in err
        may = own_database.sql("select has_database_privilege(%s, %s, 'connect')", role, own_database.name)
        assert may == [(False,)]
    finally:
        own_database.sql(f"drop role if exists {role}", dsn=own_database.admin)


def test_setup_takes_the_password_from_a_file(new_database, tmp_path):
    role, secret = f"{new_database.name}_role", tmp_path / "password"
    secret.write_text("correct 'horse'\\battery\n")
    try:
        status, out, err = new_database.setup("--runtime-role", role, "--runtime-password-file", str(secret))
        assert (status, err) == (0, "") and "horse" not in out
        stored, = new_database.sql("select rolpassword from pg_authid where rolname = %s", role)[0]
        kind, iterations, salt, keys = re.fullmatch(r"(SCRAM-SHA-256)\$(\d+):([^$]+)\$(.+)", stored).groups()
        salted = hashlib.pbkdf2_hmac("sha256", b"correct 'horse'\\battery", base64.b64decode(salt), int(iterations))
        client = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
        assert base64.b64encode(client).decode() == keys.split(":")[0]
    finally:
        new_database.drop()
        new_database.sql(f"drop role if exists {role}", dsn=new_database.admin)


def test_setup_creates_an_administrator_who_is_no_superuser(new_database, tmp_path):
    role, secret = f"{new_database.name}-admin", tmp_path / "password"
    secret.write_text("battery\n")
    try:
        status, _, err = new_database.setup("--admin-role", role, "--admin-password-file", str(secret))
        assert (status, err) == (0, "")
        assert new_database.sql("select rolcanlogin, rolsuper, rolcreaterole, rolpassword like 'SCRAM-SHA-256$%%',"
                                " pg_has_role(rolname, 'neoapi_owner', 'member') from pg_authid where rolname = %s", role) == [
                            (True, False, False, True, True)]
        assert new_database.setup("--admin-role", role)[0] == 0
    finally:
        new_database.drop()
        new_database.sql(f'drop role if exists "{role}"', dsn=new_database.admin)


@pytest.mark.parametrize("options, words", [
    (["--admin-role", "neoapi"], "must differ"), (["--admin-password-file", "/nonexistent"], "--admin-role"),
    (["--admin-role", "Root"], "lowercase")])
def test_setup_refuses_invalid_administrators(new_database, options, words):
    assert words in new_database.refused("setup", *options, dsn=new_database.admin, code=2)


def test_setup_creates_a_first_tenant_with_a_key_once(new_database):
    status, out, err = new_database.setup("--json", "--tenant", "Imobiliária Exemplo")
    first = json.loads(out)["first"]
    assert (status, err) == (0, "")
    assert new_database.sql("select t.id, o.id, t.name, o.name, c.role, c.scopes, c.secret_hash = %s from neoapi.tenant t"
                            " join neoapi.organization o on o.tenant_id = t.id join neoapi.credential c on c.organization_id = o.id",
                            hashlib.sha256(first["secret"][31:74].encode()).digest()) == [
        (first["tenant"], first["organization"], "Imobiliária Exemplo", "Imobiliária Exemplo", "org_admin", None, True)]
    status, out, err = new_database.setup("--tenant", "Imobiliária Exemplo")
    assert (status, err) == (0, "") and "exists" in out and "nbr_" not in out
    assert len(new_database.json("tenant", "list")) == 1


def test_a_first_tenant_whose_secret_cannot_be_written_is_not_created(new_database):
    with open("/dev/full", "w") as full:
        process = new_database.start("setup", "--database-name", new_database.name, "--tenant", "T", dsn=new_database.admin,
                                     stdout=full)
        assert process.wait(TIMEOUT_S) == 1
    assert new_database.json("tenant", "list") == []


def test_setup_connects_before_its_database_exists(new_database):
    status, out, err = new_database.run("setup", "--database-name", new_database.name)
    assert (status, err) == (0, "") and f"database {new_database.name}: created" in out


def test_the_default_connection_is_the_service_or_else_the_database_neoapi(new_database, tmp_path):
    assert new_database.setup()[0] == 0
    parts = psycopg2.extensions.parse_dsn(new_database.dsn)
    env = {**os.environ, "HOME": str(tmp_path), "PGSYSCONFDIR": str(tmp_path), "PGHOST": parts["host"], "PGUSER": "postgres"}
    for name in ("NEOAPI_DATABASE", "PGSERVICE", "PGSERVICEFILE", "PGDATABASE"):
        env.pop(name, None)

    def connected():
        done = subprocess.run([os.environ["NEOAPI_CTL_BIN"], "--json", "doctor"], env=env, capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        return json.loads(done.stdout)[0]["found"]

    assert connected().startswith("database neoapi ")
    (tmp_path / "pg_service.conf").write_text(f"[neoapi]\ndbname={new_database.name}\n")
    assert connected().startswith(f"database {new_database.name} ")


@pytest.mark.parametrize("file", ["pg_service.conf", "pg_service-patroni.conf"])
def test_neoapictl_administers_with_the_shipped_service_file(own_database, tmp_path, file):
    """With this cluster's address and administrator. httpd's role, that of the first service, cannot administer."""
    parts = psycopg2.extensions.parse_dsn(own_database.dsn)
    text = re.sub("^host=.*", f"host={parts['host']}", (ROOT / "conf" / file).read_text(), flags=re.M)
    text = re.sub("^(sslmode|sslrootcert|passfile)=.*\n", "", text, flags=re.M)
    text = text.replace("dbname=neoapi", f"dbname={own_database.name}").replace("user=neoapi_admin", "user=postgres")
    (tmp_path / "pg_service.conf").write_text(text)
    env = {name: value for name, value in os.environ.items() if name not in ("NEOAPI_DATABASE", "PGSERVICE", "PGSERVICEFILE")}

    def listed(*options):
        return subprocess.run([os.environ["NEOAPI_CTL_BIN"], *options, "plan", "list"], capture_output=True, text=True,
                              timeout=TIMEOUT_S, env={**env, "HOME": str(tmp_path), "PGSYSCONFDIR": str(tmp_path)})

    assert "default" in listed().stdout, listed().stderr
    assert "define the service neoapi_admin" in listed("--database", "service=neoapi").stderr


@pytest.mark.parametrize("content", [None, "", "\n", "x" * 600])
def test_setup_refuses_a_password_file_without_a_password(new_database, tmp_path, content):
    if content is not None:
        (tmp_path / "password").write_text(content)
    assert "password file" in new_database.refused("setup", "--database-name", new_database.name, "--runtime-password-file",
                                                   str(tmp_path / "password"), dsn=new_database.admin)


def test_migrate_plans_applies_and_is_idempotent(own_database):
    functions = [name for name, in own_database.sql("select proname from pg_proc where proname like '%%_set_representation'"
                                                    " or proname like 'whatsapp_%%_json'")]
    names = own_database.empty()
    planned = own_database.json("migrate", "--dry-run")
    assert planned == {"version": 0, "pending": names, "uninstalled": planned["uninstalled"]}
    assert sorted(planned["uninstalled"]) == sorted(functions) and len(functions) == 11
    assert own_database.ok("migrate", "--dry-run") == "".join(
        [f"would apply {name}\n" for name in names] + [f"would install {name}\n" for name in planned["uninstalled"]])
    assert own_database.json("migrate") == {"version": len(names), "applied": names, "installed": planned["uninstalled"]}
    assert own_database.migrations() == names
    assert "nothing to do" in own_database.ok("migrate")


def test_two_migrations_at_once_apply_each_one_once(own_database):
    names = own_database.empty()
    waiting = ("select count(*) from pg_locks l join pg_database d on d.oid = l.database"
               " where locktype = 'advisory' and not granted and datname = current_database()")
    gate = psycopg2.connect(own_database.dsn)
    try:
        gate.cursor().execute("select pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        both = [own_database.start("--json", "migrate") for _ in range(2)]
        until(lambda: own_database.sql(waiting) == [(2,)], "both wait for the lock")
    finally:
        gate.close()
    reports = [process.communicate(timeout=TIMEOUT_S) for process in both]
    assert [process.returncode for process in both] == [0, 0], reports
    assert sorted(name for out, _ in reports for name in json.loads(out)["applied"]) == names
    assert own_database.migrations() == names


def test_a_migration_that_waits_for_a_lock_releases_its_queue_position_and_retries(own_database):
    """A dump can hold its lock for an hour, and statements would queue behind a waiting ALTER TABLE."""
    names = own_database.empty()
    waiting = "select count(*) from pg_locks where not granted and relation = 'neoapi.schema_migration'::regclass"
    dump = psycopg2.connect(own_database.dsn, application_name="a dump")
    try:
        dump.cursor().execute("lock table neoapi.schema_migration in share mode")
        migrating = own_database.start("migrate")
        until(lambda: own_database.sql(waiting) == [(1,)], "it waits for the table")
        until(lambda: own_database.sql(waiting) == [(0,)], "it releases its place in the queue")
        until(lambda: own_database.sql(waiting) == [(1,)], "it retries")
    finally:
        dump.close()
    out, err = migrating.communicate(timeout=TIMEOUT_S)
    assert (migrating.returncode, err) == (0, "")
    assert re.search(r"blocked by: process \d+ \(\w+, a dump\)", out) and out.count(f"applying {names[0]}\n") == 1
    assert own_database.migrations() == names


def test_a_migration_that_fails_is_rolled_back_whole(own_database):
    names = own_database.empty()
    own_database.sql("create table neoapi.idempotency_key ()")  # makes a later statement fail
    assert f"{names[0]} failed and was rolled back" in own_database.refused("migrate")
    assert own_database.sql("select to_regclass('neoapi.plan')") == [(None,)] and own_database.migrations() == []
    own_database.sql("drop table neoapi.idempotency_key")
    assert own_database.json("migrate")["applied"] == names


def test_migrate_refuses_a_schema_of_another_build(own_database):
    """The number of its last migration is current."""
    names = own_database.migrations()
    own_database.sql("update neoapi.schema_migration set name = '0003_other' where number = 3")
    for command in ["migrate"], ["migrate", "--dry-run"]:
        assert f"its migration 3 is 0003_other, this build's is {names[2]}" in own_database.refused(*command)
    own_database.sql("delete from neoapi.schema_migration where number > 2")
    own_database.sql("insert into neoapi.schema_migration (number, name) values (1000, 'of a later build')")
    assert "nothing to do" in own_database.ok("migrate") and len(names) > 3


def test_deliveries_of_every_partition_are_found_by_their_subscription(own_database):
    organization = own_database.json("organization", "create", "B", "--tenant",
                                     own_database.json("tenant", "create", "A")["id"])["id"]
    subscription, old = "whs_" + UNKNOWN_ULID, "whd_" + UNKNOWN_ULID
    recent = own_database.sql("select neoapi.webhook_min_id(current_date)")[0][0]
    own_database.sql(
        "insert into neoapi.webhook_subscription (organization_id, id, tenant_id, url, events, created_at, updated_at,"
        " created_by, updated_by, secret) values (%s, %s, '', 'https://127.0.0.1:9/', '{*}', now(), now(), '', '', '')",
        organization, subscription)
    own_database.sql("with event as (insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)"
                     " values (%s, 'broker.created', '', now(), '', '{}') returning *),"
                     " inserted as (insert into neoapi.webhook_delivery select e.organization_id, d, %s, e.id, e.type,"
                     " e.created_at, now() from event e, unnest(%s) d returning *) insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"
                     " select id, organization_id, subscription_id, now() from inserted", organization, subscription,
                     [old, recent])
    assert [one["id"] for one in own_database.json("webhook", "deliveries", subscription)] == [recent, old]
    assert own_database.json("webhook", "retry", old)["status"] == "pending"
    # All partitions of deliveries have these indexes and no others, including those of future days.
    latest, = own_database.sql("select max(inhrelid::regclass::text) from pg_inherits where inhrelid::regclass::text"
                               " ~ 'neoapi.webhook_delivery_[0-9]{8}$'")[0]
    own_database.sql("drop table " + latest)
    own_database.sql("select neoapi.maintain_partitions(30, 30)")
    keys = own_database.sql(
        "select c.oid, array_agg(pg_get_indexdef(indexrelid, 0, true)) from pg_partition_tree('neoapi.webhook_delivery')"
        " join pg_class c on c.oid = relid left join pg_index on indrelid = c.oid group by c.oid")
    assert len(keys) >= 6
    for _, indexes in keys:
        assert sorted(index[index.rindex("("):] for index in indexes) == [
            "(organization_id, subscription_id, id)", "(subscription_id, event_id)", "(subscription_id, event_type, id)"], indexes


def test_objects_that_an_administrator_creates_belong_to_the_owner(own_database):
    own_database.empty()
    own_database.ok("migrate")
    assert own_database.sql("select distinct tableowner from pg_tables where schemaname = 'neoapi' and tablename <> 'setting'"
                            " and tablename <> 'schema_migration'") == [("neoapi_owner",)]


def test_commands_need_an_existing_and_current_schema(cluster, own_database, next_version):
    assert "neoapictl setup" in own_database.refused("tenant", "list", dsn=cluster.admin_dsn)
    assert "neoapictl setup" in own_database.refused("migrate", dsn=cluster.admin_dsn)
    own_database.program = next_version.ctl
    assert "neoapictl migrate" in own_database.refused("tenant", "list")


# ---------------------------------------------------------------- the runtime role


@pytest.mark.parametrize("statement", [
    "create table neoapi.mine (n int)",
    "create table public.mine (n int)",
    "create temporary table mine (n int)",
    "create schema mine",
    "alter table neoapi.broker add column mine int",
    "select name from neoapi.app_user",
    "select name from neoapi.credential",
    "select secret_hash from neoapi.credential",
    "select previous_secret_hash from neoapi.credential",
    "select name from neoapi.tenant",
    "select * from neoapi.organization",
    "insert into neoapi.tenant (id, name) values ('tnt_%s', 'x')" % UNKNOWN_ULID,
    "insert into neoapi.schema_migration (number, name) values (99, 'x')",
    "update neoapi.credential set revoked_at = null",
    "update neoapi.plan set requests = 1",
    "delete from neoapi.credential",
    "set role neoapi_owner",
])
def test_the_runtime_role_lacks_privileges(db, statement):
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        db.sql(statement, dsn=db.runtime_dsn)


def test_the_runtime_role_can_read_what_it_needs(db):
    assert db.sql("select max(number) > 0 from neoapi.schema_migration", dsn=db.runtime_dsn) == [(True,)]
    assert db.sql("select id, tenant_id, revoked_at from neoapi.credential where false", dsn=db.runtime_dsn) == []
    assert db.sql("select * from neoapi.secret_hashes('nbr_%s')" % UNKNOWN_ULID, dsn=db.runtime_dsn) == [(None, None)]
    assert db.sql("select id, email, role from neoapi.app_user where false", dsn=db.runtime_dsn) == []


def test_the_runtime_role_cannot_administer(db):
    assert "neoapi_owner" in db.refused("tenant", "list", dsn=db.runtime_dsn)
    assert "neoapi_owner" in db.refused("migrate", dsn=db.runtime_dsn)


def test_other_roles_cannot_connect(db):
    assert db.sql("select has_database_privilege('public', current_database(), 'connect')") == [(False,)]
