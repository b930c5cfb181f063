# SPDX-License-Identifier: Apache-2.0
"""Upgrades: a newer neoapictl migrates while the module serves requests, and the module continues with the newer schema."""

import contextlib
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest
from batching import create, results, send, update
from client import Api, ok, refused
from ctl_database import TIMEOUT_S, new_database, own_database  # noqa: F401 (fixtures)
from httpd import Httpd
from load import Load
from admin_factory import AdminFactory
from next_version import NextVersion, run
from wait import eventually

SITE = "https://ana.example.com"
PHONE = "5511987654321"

# Two migrations: one migration that locks both tables could deadlock with the module, which locks a conversation before it
# reads a lead.
COPIES = [
    ("lead_title", "alter table neoapi.lead add column title text; update neoapi.lead set title = name || ' (lead)';"
                   "alter table neoapi.lead alter column title set not null;\n"),
    ("stopped", "lock table neoapi.whatsapp_conversation in share row exclusive mode;"
                "create table neoapi.stopped (organization_id text not null, contact text not null);"
                "insert into neoapi.stopped select organization_id, contact_wa_id from neoapi.whatsapp_conversation"
                " where opted_out_at is not null;\n")]


def test_the_module_serves_during_a_migration_and_on_the_newer_schema(new_instance, next_version, tmp_path, report):
    instance = new_instance()
    admin_factory = AdminFactory(instance)
    key = admin_factory.key()
    api = Api(instance, key)
    before = [api.broker()["id"] for _ in range(20)]
    with Load(api) as load:
        said = run(next_version.ctl, "--database", instance.admin_dsn, "migrate")
        assert f"applying {next_version.names[0]}" in said
        load.wait_for(200)
    failed = [one for one in load.sent if one.status not in (200, 201)]
    assert not failed, failed[:5]
    assert instance.sql("select max(number) from neoapi.schema_migration") == [(next_version.number,)]
    longest = max(one.seconds for one in load.sent)
    report(f"{len(load.sent)} requests while a migration ran, the longest {longest * 1000:.0f} ms")

    # After a restart the module uses the newer schema.
    for command in ("stop-httpd", "start-httpd"):
        instance.command(command)
    assert api.get(f"brokers/{before[0]}").status_code == 200
    assert api.patch(f"brokers/{before[0]}", json={"name": "Bia"}).status_code == 200
    api.broker()
    assert "migrate" not in instance.error_log, instance.error_log
    instance.sql("update neoapi.broker set website = 'https://bia.example.com' where id = %s", before[0])
    assert api.get(f"brokers/{before[0]}").json()["website"] == "https://bia.example.com"

    # The older neoapictl still adds rows and has nothing to migrate. Only doctor fails, because the schema is newer.
    done = subprocess.run([instance.env["NEOAPI_CTL"], "--json", "doctor"], text=True, capture_output=True, timeout=TIMEOUT_S)
    failed = [row for row in json.loads(done.stdout) if row["result"] == "failed"]
    assert done.returncode == 1 and [row["check"] for row in failed] == ["schema"] and "newer" in failed[0]["fix"]
    admin_factory.key()
    assert admin_factory.ctl("migrate")["applied"] == []
    assert instance.sql("select max(number) from neoapi.schema_migration") == [(next_version.number,)]
    assert api.get(f"brokers/{before[0]}").json()["website"] == "https://bia.example.com"

    # In the newer module the field is validated, stored, returned, set by batches, and part of events.
    with Httpd(instance, tmp_path, ("LoadModule neoapi_module .*", f'LoadModule neoapi_module "{next_version.module}"')) as newer:
        has_new_field(instance, newer.api(key))


def has_new_field(instance, api):
    refused(api.post("brokers", json={"name": "Bia", "website": "x" * 201}), 400, "validation.broker.website_invalid")
    made = api.broker(website=SITE)
    created, updated = results(send(api, create(name="Caio", website=SITE), update(made, website=SITE + "/2")), 201, 200)
    assert made["website"] == created["resource"]["website"] == SITE and updated["resource"]["website"] == SITE + "/2"
    assert ok(api.get(f"brokers/{made['id']}")) == updated["resource"]
    assert instance.sql("select payload::json->>'website', changed, previous->>'website' from neoapi.event where resource_id = %s"
                        " order by id", made["id"]) == [(SITE, None, None), (SITE + "/2", ["website"], SITE)]


# ---------------------------------------------------------------- migrations of data


@pytest.fixture(scope="module")
def copying_version(tmp_path_factory):
    return NextVersion(tmp_path_factory.mktemp("copying"), *COPIES)


@pytest.fixture
def old_database(own_database, copying_version):  # noqa: F811
    """A database before the migrations, with a lead and two conversations. The contact of the second has opted out."""
    own_database.organization = own_database.json("organization", "create", "B", "--tenant",
                                                  own_database.json("tenant", "create", "A")["id"])["id"]
    own_database.sql(
        "insert into neoapi.whatsapp_number select %s, 'wan_' || repeat('0', 26), '10001', '10001', 'x', '', '', sha256('x')",
        own_database.organization)
    own_database.sql(
        "insert into neoapi.lead (organization_id, id, tenant_id, name, phone, source, status, created_at, updated_at, created_by,"
        " updated_by) select id, 'led_' || repeat('0', 26), tenant_id, 'Ana', %s, 'other', 'new', now(), now(), 'x', 'x'"
        " from neoapi.organization where id = %s", PHONE, own_database.organization)
    own_database.sql(
        "insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_wa_id, triage, opted_out_at,"
        " preference_at, created_at, updated_at) select %s, 'wac_' || repeat(n, 26), 'wan_' || repeat('0', 26), '551190000000' || n,"
        " 'pending', case n when '1' then timestamp '2026-01-31 UTC' end, '2026-01-31 UTC', now(), now()"
        " from unnest('{0,1}'::text[]) n", own_database.organization)
    own_database.program = copying_version.ctl
    return own_database


def copied(database):
    return database.sql("select (select title from neoapi.lead), array_agg(contact order by contact) from neoapi.stopped")


def test_rows_from_before_a_migration_are_kept_by_it(old_database, copying_version):
    """With conversations and leads that are older than the migrations."""
    assert old_database.json("migrate")["applied"] == copying_version.names
    assert copied(old_database) == [("Ana (lead)", ["5511900000001"])]


def test_rows_written_during_a_migration_are_kept_without_deadlock(old_database, copying_version):
    """Like the module when it records an opt-out or a status, a transaction updates a conversation and reads its lead."""
    with (ThreadPoolExecutor() as pool, contextlib.closing(psycopg2.connect(old_database.dsn)) as module,
          module.cursor() as cursor):
        cursor.execute("set statement_timeout = '20s'; update neoapi.whatsapp_conversation set opted_out_at = now(),"
                       " preference_at = now() where organization_id = %s and opted_out_at is null",
                       [old_database.organization])
        migrating = pool.submit(old_database.json, "migrate")
        eventually(lambda: old_database.sql("select 1 from pg_locks where not granted and locktype = 'relation'")
                   or migrating.done(),
                   "a migration that waits for the module")
        cursor.execute("select name from neoapi.lead where organization_id = %s", [old_database.organization])
        assert cursor.fetchall() == [("Ana",)]
        assert not migrating.done()
        module.commit()
        assert migrating.result(TIMEOUT_S)["applied"] == copying_version.names
    assert copied(old_database) == [("Ana (lead)", ["5511900000000", "5511900000001"])]
