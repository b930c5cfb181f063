# SPDX-License-Identifier: Apache-2.0
"""neoapictl doctor reports each fault, and none without a fault. test_neoapictl_doctor_httpd.py tests the checks of httpd's
configuration, which do not run here.
"""

import base64
import contextlib
import json
import os
import re
from contextlib import closing

import psycopg2
import pytest
from ctl_database import new_database, db, own_database  # noqa: F401 (fixtures)
from psycopg2.extensions import make_dsn


DOCTOR = "doctor", "--httpd-conf", "/nowhere"


def examined(db, *args, **more):
    """The status, and the results of the checks by name."""
    status, out, _ = db.run("--json", *DOCTOR, *args, **more)
    return status, {row["check"]: row for row in json.loads(out)}


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(base64.b64encode(os.urandom(32)) + b"\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("as_runtime", [False, True])
def test_doctor_passes_without_faults(db, key_file, as_runtime):
    dsn = db.runtime_dsn if as_runtime else db.dsn
    status, checks = examined(db, "--key-file", str(key_file), dsn=dsn)
    steps = [checks.pop(name) for name in ("API keys", "httpd")]
    for name in ("httpd configuration", "virtual host", "certificate", "httpd database", "read replica", "connection limit",
                 "request", "requests without TLS"):
        assert checks.pop(name)["result"] == "skipped"
    assert status == 0 and {row["result"] for row in checks.values()} == {"ok"}, checks
    assert all(row["result"] == "ok" or row["fix"] for row in steps)


def test_doctor_lists_the_remaining_steps(own_database, key_file):
    status, checks = examined(own_database, "--key-file", str(key_file))
    assert status == 0 and checks["API keys"]["result"] == checks["httpd"]["result"] == "pending"
    assert "key create" in checks["API keys"]["fix"] and "start httpd" in checks["httpd"]["fix"]
    out = own_database.ok("--quiet", *DOCTOR, "--key-file", str(key_file))
    assert [line.split(":")[0].split() for line in out.splitlines()] == [
        ["pending", "API", "keys"], ["next"], ["pending", "httpd"], ["next"]]
    tenant = own_database.json("tenant", "create", "A")["id"]
    organization = own_database.json("organization", "create", "B", "--tenant", tenant)["id"]
    own_database.ok("key", "create", "C", "--organization", organization, "--role", "org_admin")
    assert examined(own_database)[1]["API keys"]["result"] == "ok"


def test_doctor_finds_secrets_that_no_key_decrypts(own_database, key_file):
    """Also those of inactive subscriptions and of numbers."""
    organization = own_database.json("organization", "create", "B", "--tenant",
                                     own_database.json("tenant", "create", "A")["id"])["id"]
    for rest, is_active in (("0", True), ("1", False)):
        own_database.sql(
            "insert into neoapi.webhook_subscription (organization_id, id, tenant_id, url, events, created_at, updated_at,"
            " created_by, updated_by, secret, is_active) values ('o', 'whs_' || repeat(%s, 26), 't', 'https://x', '{*}', now(),"
            " now(), '', '', 'c2VhbGVk', %s)", rest, is_active)
    status, checks = examined(own_database, "--key-file", str(key_file))
    assert status == 1 and checks["encrypted secrets"]["result"] == "failed" and "2 of 2" in checks["encrypted secrets"]["found"]
    assert examined(own_database)[1]["encrypted secrets"]["result"] == "skipped"
    secrets = key_file.with_name("secrets")
    secrets.write_text("access_token=a\napp_secret=b\n")
    secrets.chmod(0o600)
    other = key_file.with_name("other")
    other.write_bytes(base64.b64encode(os.urandom(32)) + b"\n")
    other.chmod(0o600)
    for number, key in (("10001", key_file), ("10002", other)):
        own_database.ok("whatsapp", "number", "create", "+55 11 4000-0001", "--organization", organization, "--waba-id", "10000",
                        "--phone-number-id", number, "--secrets", str(secrets), "--key-file", str(key))
    assert "4 of 6" in examined(own_database, "--key-file", str(key_file))[1]["encrypted secrets"]["found"]


def test_doctor_finds_an_unreachable_database(db, tmp_path, key_file):
    status, checks = examined(db, "--key-file", str(key_file), dsn=make_dsn(db.dsn, host=str(tmp_path)))
    assert status == 1 and checks["connection"]["result"] == "failed" and checks["connection"]["fix"]
    assert checks["schema"]["result"] == "skipped" and checks["key file"]["result"] == "ok"
    lines = db.run(*DOCTOR, "--key-file", str(key_file), dsn=make_dsn(db.dsn, host=str(tmp_path)))[1].splitlines()
    skipped = [row["found"] for row in checks.values() if row["result"] == "skipped"]
    count = skipped.count("no connection")
    assert count > 20 and f"skipped  {count} checks: no connection" in lines
    assert len([line for line in lines if line.startswith("skipped")]) == len(set(skipped))


def test_doctor_finds_an_old_schema(own_database, next_version):
    own_database.program = next_version.ctl
    status, checks = examined(own_database)
    assert status == 1 and checks["schema"]["result"] == "failed" and "neoapictl migrate" in checks["schema"]["fix"]


@pytest.mark.parametrize("fault, found", [
    ("delete from neoapi.schema_migration where number = 3", "was not applied"),
    ("update neoapi.schema_migration set name = '0003_other' where number = 3", "another build"),
    ("update neoapi.schema_migration set checksum = 'x' where number = 3", "another content"),
    ("insert into neoapi.schema_migration (number, name) values (1000, 'x')", "version 1000"),
])
def test_doctor_finds_a_schema_of_another_build(own_database, fault, found):
    own_database.sql(fault)
    status, checks = examined(own_database)
    assert status == 1 and checks["schema"]["result"] == "failed" and found in checks["schema"]["found"], checks["schema"]
    assert "version of the package" in checks["schema"]["fix"]


def test_doctor_finds_a_representation_that_differs_from_the_columns(own_database):
    id = "brk_" + "0" * 26
    own_database.sql("insert into neoapi.broker (organization_id, id, tenant_id, name, visibility, created_at, updated_at, created_by,"
                     f" updated_by, representation) values ('org', '{id}', 'tnt', 'Ana', 'public', now(), now(), 'x', 'x', '{{}}')")
    try:
        check = examined(own_database)[1]["representations"]
        assert check["result"] == "failed" and f"that of {id} differs" in check["found"], check
        own_database.sql(f"update neoapi.broker set id = id where id = '{id}'")
        assert examined(own_database)[1]["representations"]["result"] == "ok"
    finally:
        own_database.sql(f"delete from neoapi.broker where id = '{id}'")


def test_doctor_finds_functions_of_another_build_and_migrate_installs_its_own(own_database):
    own_database.sql("create or replace function neoapi.broker_set_representation() returns trigger language plpgsql as"
                     " 'begin return new; end'; drop trigger set_representation on neoapi.lead")
    status, checks = examined(own_database)
    assert status == 1 and checks["schema"]["result"] == "failed" and "neoapictl migrate" in checks["schema"]["fix"]
    assert "the function broker_set_representation is not that of this build" in checks["schema"]["found"]
    names = ["broker_set_representation", "lead_set_representation"]
    assert own_database.ok("migrate", "--dry-run") == "".join(f"would install {name}\n" for name in names)
    assert own_database.json("migrate")["installed"] == names
    assert examined(own_database)[1]["schema"]["result"] == "ok"


def test_doctor_counts_all_connections_for_every_role(own_database):
    """pg_stat_activity shows an ordinary role only its own connections."""
    with contextlib.ExitStack() as held:
        for _ in range(5):
            held.enter_context(contextlib.closing(psycopg2.connect(own_database.dsn)))
        found = examined(own_database, dsn=own_database.runtime_dsn)[1]["connections"]["found"]
    assert int(found.split()[0]) > 5, found


def test_reserved_connections_are_not_counted_as_free(own_database):
    """PostgreSQL has the setting since version 16; here a function returns it."""
    def shown():
        return json.loads(own_database.run("--json", "status")[1])["connections_max"]

    free = shown()
    own_database.sql("create schema fake; grant usage on schema fake to public;"
                     "create function fake.current_setting(name text, missing_ok boolean) returns text return '7';"
                     f"alter database {own_database.name} set search_path = fake, pg_catalog, public")
    assert shown() == free - 7
    assert f"of {free - 7} in use" in examined(own_database)[1]["connections"]["found"]


def test_doctor_finds_a_missing_schema(cluster, db):
    status, checks = examined(db, dsn=cluster.admin_dsn)
    assert status == 1 and checks["schema"]["found"] == "no schema"


@pytest.mark.parametrize("mode, content", [(0o644, None), (0o600, b""), (0o600, b"c2hvcnQ=\n"), (None, None)])
def test_doctor_finds_a_bad_key_file(db, key_file, mode, content):
    if content is not None:
        key_file.write_bytes(content)
    if mode is None:
        key_file.unlink()
    else:
        key_file.chmod(mode)
    status, checks = examined(db, "--key-file", str(key_file))
    assert status == 1 and checks["key file"]["result"] == "failed"
    assert "fix: " in db.run(*DOCTOR, "--key-file", str(key_file))[1]


@pytest.mark.parametrize("fault, check", [
    ("grant create on schema neoapi to neoapi", "runtime role create privileges"),
    ("grant temporary on database {0} to public", "runtime role create privileges"),
    ("grant select (name) on neoapi.app_user to neoapi", "runtime role excess privileges"),
    ("grant insert on neoapi.tenant to neoapi", "runtime role excess privileges"),
    ("revoke select on neoapi.credential from neoapi", "runtime role privileges"),
    ("revoke execute on function neoapi.secret_hashes from neoapi", "runtime role privileges"),
    ("grant select (secret_hash) on neoapi.credential to neoapi", "runtime role excess privileges"),
    ("revoke update on neoapi.broker from neoapi", "runtime role privileges"),
    ("revoke update on neoapi.webhook_queue from neoapi", "runtime role privileges"),
    ("revoke insert on neoapi.webhook_attempt from neoapi", "runtime role privileges"),
    ("revoke execute on function neoapi.maintain_partitions from neoapi", "runtime role privileges"),
    ("revoke insert on neoapi.event from neoapi", "runtime role privileges"),
    ("revoke insert on neoapi.clock_step from neoapi", "runtime role privileges"),
    ("revoke delete on neoapi.claim_owner from neoapi", "runtime role privileges"),
    ("revoke usage on sequence neoapi.event_number from neoapi", "runtime role privileges"),
    ("grant delete on neoapi.event to neoapi", "runtime role excess privileges"),
    ("grant update (payload) on neoapi.event to neoapi", "runtime role excess privileges"),
    ("grant connect on database {0} to public", "public access"),
    ("drop extension unaccent", "extensions"),
    ("revoke delete on neoapi.document from neoapi", "runtime role privileges"),
    ("revoke insert on neoapi.reference from neoapi", "runtime role privileges"),
    ("update pg_index set indisvalid = false where indexrelid = 'neoapi.party_email'::regclass", "indexes"),
    ("insert into neoapi.idempotency_key values ('o', 'k', gen_random_uuid(), '', 200, '', null, now() - interval '2 hours')",
     "cleanup"),
    ("update neoapi.setting set value = 'nobody_at_all'", "runtime role"),
])
def test_doctor_finds(own_database, fault, check):
    own_database.sql(fault.format(own_database.name))
    status, checks = examined(own_database)
    assert status == 1 and checks[check]["result"] == "failed", checks
    assert checks[check]["fix"] and "\n" not in checks[check]["found"]


def test_doctor_names_what_holds_back_the_event_log(own_database):
    """A view that shadows PostgreSQL's makes transactions older, because waiting a minute would be too long."""
    with closing(psycopg2.connect(own_database.dsn, application_name="long report")) as connection:
        with connection.cursor() as cursor:
            cursor.execute("select pg_current_xact_id(), pg_backend_pid()")
            pid = cursor.fetchall()[0][1]
        assert examined(own_database)[1]["event log"]["result"] == "ok"  # it has just begun
        own_database.sql("create schema aged; create view aged.pg_stat_activity as select pid, datname, usename, application_name,"
                         " client_addr, backend_type, state, query_start, backend_xid, xact_start - interval '2 minutes' as xact_start"
                         " from pg_catalog.pg_stat_activity")
        own_database.sql(f"alter database {own_database.name} set search_path = aged, pg_catalog, public")
        status, checks = examined(own_database)
        assert status == 1 and checks["event log"]["result"] == "failed" and checks["event log"]["fix"]
        assert re.match(f"held back for 12[0-9] seconds by a transaction: pid {pid}, role .*, application long report, idle in",
                        checks["event log"]["found"])
    assert examined(own_database)[1]["event log"]["result"] == "ok"


@pytest.mark.parametrize("kind", ["webhook_delivery", "webhook_attempt", "event"])
def test_doctor_finds_a_missing_partition_and_migrate_creates_it(own_database, kind):
    (today,), = own_database.sql("select to_char(now() at time zone 'UTC', 'YYYYMMDD')")
    own_database.sql(f"drop table neoapi.{kind}_{today}")
    status, checks = examined(own_database)
    assert status == 1 and f"{kind}_{today}" in checks["webhook partitions"]["found"]
    assert "neoapictl migrate" in checks["webhook partitions"]["fix"]
    own_database.ok("migrate")
    assert examined(own_database)[0] == 0
