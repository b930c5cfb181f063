# SPDX-License-Identifier: Apache-2.0
"""The audit log: what is recorded, what is not, who reads it, and that a change of it is noticed."""

import getpass
import hashlib
import json
import os
import re
import socket
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest

from client import Api, ok, refused
from ctl_database import own_database, new_database  # noqa: F401 (fixtures)
from ctl_instance import Ctl
from webhook_fixtures import attempted, subscribe

# Tables whose changes are not recorded here, and why. A table that is new must be here, or be audited (see sql/0007_audit.sql).
NOT_AUDITED = {
    # what clients write is in the event log, with its actor
    "broker", "property", "party", "proposal", "contract", "document", "lead", "reference", "event", "event_default",
    "whatsapp_conversation", "whatsapp_message", "whatsapp_status", "whatsapp_opt_out", "whatsapp_identity",
    # what the module writes while it works
    "credential_use", "credential_usage", "usage_flush", "credential_expiry", "idempotency_key", "clock_step", "limit_host", "limit_lease", "job", "event_epoch", "event_mark",
    "webhook_delivery", "webhook_delivery_default", "webhook_attempt", "webhook_attempt_default", "webhook_queue", "claim_owner",
    "webhook_deletion", "webhook_pace", "webhook_route", "webhook_shape", "lead_turn", "lead_rejected", "lead_origin", "whatsapp_usage", "whatsapp_report", "whatsapp_template",
    # what a command or a privacy request writes that has an entry of its own
    "imported_id", "schema_migration", "setting", "retention_rule", "erasure", "restricted_record", "privacy_key", "whatsapp_erased_opt_out",
    # the log itself
    "audit_entry", "audit_head",
}
URL = "https://127.0.0.1:9/"  # the address is refused when something is sent
DAYS = re.compile(r"(event|webhook_delivery|webhook_attempt)_\d{8}$")  # partitions


def entries(database, condition="true", *values):
    """The entries as (action, entry), oldest first."""
    return [(entry["action"], entry) for entry, in
            database.sql(f"select entry from neoapi.audit_entry where {condition} order by number", *values)]


def actions(database, condition="true", *values):
    return [action for action, _ in entries(database, condition, *values)]


@pytest.fixture
def ctl(instance):
    return Ctl(instance)


# ---------------------------------------------------------------- what is recorded


def test_a_new_table_is_audited_or_named_here(instance):
    audited = {name for name, in instance.sql("select c.relname from pg_class c join pg_trigger t on t.tgrelid = c.oid"
                                              " and t.tgname = 'audit' where c.relnamespace = 'neoapi'::regnamespace")}
    tables = {name for name, in instance.sql("select relname from pg_class where relnamespace = 'neoapi'::regnamespace"
                                             " and relkind in ('r', 'p')")}
    assert {t for t in tables - audited if not DAYS.match(t)} == NOT_AUDITED
    assert audited >= {"plan", "tenant", "organization", "app_user", "credential", "token_organization", "listing_feed",
                       "webhook_subscription", "whatsapp_number", "lead_portal", "host"}


def test_every_command_that_changes_something_is_recorded(ctl, instance, admin_factory):
    organization = admin_factory.organization()
    key = ctl.json("key", "create", "Site", "--organization", organization, "--role", "org_editor")["id"]
    ctl.ok("key", "change", key, "--name", "Portal")
    ctl.ok("key", "rotate", key)
    ctl.ok("key", "revoke", key)
    ctl.ok("key", "remove", key)
    ctl.ok("key", "list", "--organization", organization)
    found = entries(instance, "object_id = %s", key)
    assert [action for action, _ in found] == ["credential.created", *["credential.updated"] * 3, "credential.deleted"]
    created, named, rotated, revoked, removed = (entry for _, entry in found)
    assert created["organization_id"] == organization and "before" not in created
    assert {"name": "Site", "role": "org_editor"}.items() <= created["after"].items()
    assert (named["changed"], named["before"], named["after"]) == (["name"], {"name": "Site"}, {"name": "Portal"})
    assert "secret_hash" in rotated["changed"] and "secret_hash" not in {**rotated["before"], **rotated["after"]}
    assert revoked["changed"] == ["revoked_at"] and removed["before"]["name"] == "Portal"
    actor = created["actor"]
    assert (actor["type"], actor["command"]) == ("neoapictl", "key create")
    assert actor["system_user"] == getpass.getuser() and actor["host"] == socket.gethostname() and actor["role"]
    commands = entries(instance, "owner = %s and action like 'neoapictl.%%'", organization)
    assert [action for action, _ in commands] == ["neoapictl.key.create"]
    assert commands[0][1]["details"] == {"arguments": {"name": True, "organization": organization, "role": "org_editor"}}


def test_sudo_and_the_address_of_the_login_are_recorded(ctl, instance, admin_factory):
    tenant = admin_factory.tenant()
    env = {**os.environ, "SUDO_USER": "ana", "SSH_CONNECTION": "192.0.2.7 51000 192.0.2.1 22"}
    ctl.ok("tenant", "change", tenant, "--name", "Casa", env=env)
    (_, created), (_, changed) = entries(instance, "object_id = %s", tenant)
    assert created["actor"]["type"] == "database" and changed["actor"]["type"] == "neoapictl"
    assert (changed["actor"]["sudo_user"], changed["actor"]["address"]) == ("ana", "192.0.2.7")


def test_a_subscription_is_recorded_with_the_credential_and_address(api, instance):
    made = subscribe(api, URL)
    ok(api.patch(f"webhooks/{made['id']}", json={"events": ["broker.created"]}))
    ok(api.post(f"webhooks/{made['id']}/rotate-secret"))
    ok(api.delete(f"webhooks/{made['id']}"), 204)
    found = entries(instance, "object_id = %s", made["id"])
    assert [action for action, _ in found] == ["webhook.created", "webhook.updated", "webhook.updated", "webhook.deleted"]
    for _, entry in found:
        actor = entry["actor"]
        assert actor["credential_id"] == api.credential.id and actor["request_id"].startswith("req_") and actor["address"]
        assert entry["organization_id"] == api.credential.organizations[0] and entry["tenant_id"] == api.credential.tenant
    assert found[1][1]["changed"] == ["events"] and found[1][1]["after"] == {"events": ["broker.created"]}
    assert "secret" in found[2][1]["changed"]


def test_deliveries_add_no_entry(own_api, instance):
    made = subscribe(own_api, URL)
    ok(own_api.post(f"webhooks/{made['id']}/test"), 201)
    attempted(own_api, made)
    assert ok(own_api.get(f"webhooks/{made['id']}"))["health"] == "failing"
    ok(own_api.delete(f"webhooks/{made['id']}"), 204)
    assert actions(instance, "object_id = %s", made["id"]) == ["webhook.created", "webhook.deleted"]


def test_an_export_is_recorded_with_the_names_of_its_filters(own_api, instance, ctl):
    organization = own_api.credential.organizations[0]
    assert own_api.get("parties/export?email=ana%40example.com").status_code == 200
    own_api.request("HEAD", "parties/export")
    ctl.ok("export", organization)
    (_, exported), (_, command) = entries(instance, "owner = %s and action in ('party.exported', 'neoapictl.export')", organization)
    assert exported["details"] == {"parameters": ["email"]} and exported["actor"]["credential_id"] == own_api.credential.id
    assert command["action"] == "neoapictl.export"


def test_secrets_hashes_and_encrypted_columns_never_appear(instance, ctl, own_api):
    organization = own_api.credential.organizations[0]
    number = str(abs(hash(organization)) % 10**15 + 10**5)
    secrets = [ctl.json("key", "create", "A", "--organization", organization, "--role", "org_admin")["secret"],
               ctl.json("listings", "create", "P", "--organization", organization, "--contact", "C", "--email", "c@example.com",
                        "--phone", "1")["secret"],
               subscribe(own_api, URL, headers={"X-Own": "header-of-receiver"})["secret"], "header-of-receiver", "token-of-access", "secret-of-app", "token-to-verify"]
    ctl.ok("whatsapp", "number", "create", "+55", "--organization", organization, "--waba-id", number, "--phone-number-id", number,
           "--secrets", "-", "--key-file", str(instance.state / "neoapi.key"),
           stdin="access_token=token-of-access\napp_secret=secret-of-app\nverify_token=token-to-verify\n")
    text = "\n".join(json.dumps(entry) for _, entry in entries(instance, "owner = %s", organization))
    stored = [value for table, columns in {"credential": ["secret_hash"], "listing_feed": ["secret_hash"],
                                           "webhook_subscription": ["secret"], "webhook_header": ["value"],
                                           "whatsapp_number": ["access_token", "app_secret", "verify_token_hash"]}.items()
              for column in columns
              for value, in instance.sql(f"select {column} from neoapi.{table} where organization_id = %s", organization)]
    values = [secret[31:] if secret.startswith(("nbr_", "lst_")) else secret for secret in secrets]  # without the id
    values += [bytes(value).hex() if isinstance(value, memoryview) else value for value in stored]
    assert len(values) >= 12 and "whatsapp_number.created" in text
    for value in values:
        assert value not in text


def test_columns_that_look_like_secrets_are_left_out(instance):
    """A new column of an audited table whose name or type is that of a secret is left out without a further mention."""
    found = dict(instance.sql("select c.relname, neoapi.audit_secret_columns(c.oid) from pg_class c join pg_trigger t"
                              " on t.tgrelid = c.oid and t.tgname = 'audit'"))
    assert set(found["credential"]) >= {"secret_hash", "previous_secret_hash"}
    assert set(found["webhook_subscription"]) >= {"secret", "previous_secret"}
    assert set(found["whatsapp_number"]) == {"access_token", "app_secret", "verify_token_hash"}
    assert set(found["webhook_subscription"]) >= {"private_key", "previous_private_key"} and found["webhook_header"] == ["value"]
    assert found["listing_feed"] == found["lead_portal"] == ["secret_hash"]


# ---------------------------------------------------------------- who reads it


def test_org_admin_reads_the_entries_of_its_organization_only(own_api, instance, admin_factory):
    organization = own_api.credential.organizations[0]
    other = Api(instance, admin_factory.key())
    theirs, ours = subscribe(other, URL)["id"], subscribe(own_api, URL)["id"]
    listed = ok(own_api.get("audit"))["items"]
    assert listed[0]["action"] == "webhook.created" and listed[0]["object"] == {"type": "webhook", "id": ours}
    assert listed[0]["actor"]["credential_id"] == own_api.credential.id and listed[0]["actor"]["address"]
    assert theirs not in json.dumps(listed) and {e["action"] for e in listed} == {
        "webhook.created", "credential.created", "organization.created"}
    by_database = next(e for e in listed if e["action"] == "credential.created")
    assert by_database["actor"] == {"type": "database"}
    (stored,), = instance.sql("select hash from neoapi.audit_entry where id = %s", listed[0]["id"])
    assert listed[0]["hash"] == bytes(stored).hex()
    for role in ("org_editor", "org_viewer"):
        refused(Api(instance, admin_factory.key(organization, role)).get("audit"), 403, "forbidden.insufficient_permissions")
    refused(Api(instance, admin_factory.key(organization, "org_admin", ["brokers:read"])).get("audit"), 403,
            "forbidden.insufficient_permissions")
    assert ok(Api(instance, admin_factory.key(organization, "org_admin", ["audit:read"])).get("audit"))["items"]


def test_the_list_is_paged_and_filtered(own_api):
    ids = [subscribe(own_api, URL)["id"] for _ in range(3)]
    first = ok(own_api.get("audit?limit=2&action=webhook.created"))
    assert [e["object"]["id"] for e in first["items"]] == ids[:0:-1] and first["page_info"]["has_next_page"]
    rest = ok(own_api.get(f"audit?limit=2&action=webhook.created&cursor={first['page_info']['end_cursor']}"))
    assert [e["object"]["id"] for e in rest["items"]] == ids[:1] and not rest["page_info"]["has_next_page"]
    assert len(ok(own_api.get(f"audit?object_id={ids[1]}"))["items"]) == 1
    assert len(ok(own_api.get(f"audit?credential_id={own_api.credential.id}"))["items"]) == 3
    assert ok(own_api.get("audit?created_lte=2020-01-01T00:00:00Z"))["items"] == []
    refused(own_api.get("audit?actor=x"), 400, "validation.unknown_parameter")
    refused(own_api.post("audit", json={}), 405, "validation.method_not_allowed")


# ---------------------------------------------------------------- who can change it


def test_the_runtime_role_can_only_add(own_database):  # noqa: F811
    for statement in ("insert into neoapi.audit_entry (entry, hash) values ('{}', sha256(''))", "update neoapi.audit_entry set hash = hash",
                      "delete from neoapi.audit_entry", "truncate neoapi.audit_entry", "update neoapi.audit_head set number = 0",
                      "select neoapi.audit_append('{}')", "alter table neoapi.audit_entry disable trigger refuse"):
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            own_database.sql(statement, dsn=own_database.runtime_dsn)
    own_database.sql("select neoapi.audit_add('test.done', null, null, null, null, null)", dsn=own_database.runtime_dsn)
    assert entries(own_database)[-1][1]["actor"] == {"type": "system", "role": "neoapi"} | (
        {"address": entries(own_database)[-1][1]["actor"]["address"]} if "address" in entries(own_database)[-1][1]["actor"] else {})


def test_the_owner_and_a_superuser_are_refused_too(own_database):  # noqa: F811
    for statement in ("update neoapi.audit_entry set hash = hash", "delete from neoapi.audit_entry", "truncate neoapi.audit_entry"):
        for role in ("neoapi_owner", "none"):
            with pytest.raises(psycopg2.errors.InsufficientPrivilege, match="cannot be changed"):
                own_database.sql(f"set role {role}; {statement}")


# ---------------------------------------------------------------- tampering


def tamper(database, statements):
    """As a superuser who disables the triggers."""
    database.sql("set session_replication_role = replica;" + statements)


@pytest.fixture
def log(own_database):  # noqa: F811
    """A database whose log has at least ten entries: number 1 is of setup."""
    for number in range(5):
        own_database.ok("tenant", "create", f"Tenant {number}")
    assert own_database.json("audit", "verify")["entries"] >= 10
    return own_database


def faults(database, *more):
    code, _, err = database.run("audit", "verify", *more)
    lines = err.splitlines()
    assert code == 1 and lines[-1].startswith("neoapictl: the audit log was changed")
    return lines[:-1]


# An entry with a recomputed hash, as somebody would make who knows how.
FORGE = "update neoapi.audit_entry set {0} where number = {1};" \
        "update neoapi.audit_entry set hash = sha256(convert_to(entry::text, 'UTF8')) where number = {1};"
RENAME = "entry = replace(entry::text, 'Tenant', 'Forged')::json"


@pytest.mark.parametrize("statements, named", [
    (f"update neoapi.audit_entry set {RENAME} where number = 5", ["entry 5 was changed: "]),
    ("update neoapi.audit_entry set hash = sha256('x') where number = 5", ["entry 5 was changed: ", "entry 6 does not follow "]),
    (FORGE.format(RENAME, 5), ["entry 6 does not follow the entry before it: one of the two was replaced"]),
    ("delete from neoapi.audit_entry where number = 5", ["entry 6 entry 5 before it was removed"]),
    ("delete from neoapi.audit_entry where number in (4, 5)", ["entry 6 entries 4 to 5 before it were removed"]),
    ("delete from neoapi.audit_entry where number = 1", ["entry 2 entry 1 before it was removed"]),
    ("delete from neoapi.audit_entry where number = (select number from neoapi.audit_head)", ["entry {last} was removed"]),
    ("delete from neoapi.audit_entry where number <= 3; update neoapi.audit_head set removed_number = 3,"
     " removed_hash = (select decode(entry->>'previous', 'hex') from neoapi.audit_entry where number = 4)",
     ["entry 3 and all before it were removed, without an entry audit.expired"]),
    ("insert into neoapi.audit_entry (entry, hash) select e, sha256(convert_to(e::text, 'UTF8')) from (select json_build_object("
     "'id', 'aud_x', 'number', number + 1, 'time', 0, 'action', 'x.y', 'previous', encode(hash, 'hex')) as e from neoapi.audit_head) n",
     ["entry {next} is not the newest one of neoapi.audit_head"]),
], ids=["changed", "hash", "forged", "removed", "several", "first", "last", "prefix", "inserted"])
def test_tampering_is_noticed_and_the_entry_named(log, statements, named):
    last, = log.sql("select number from neoapi.audit_head")[0]
    tamper(log, statements)
    found = faults(log)
    assert len(found) == len(named)
    for line, start in zip(found, named, strict=True):
        assert line.startswith(start.format(last=last, next=last + 1)), found


def test_an_inserted_entry_in_the_middle_and_reordered_ones_are_named(log):
    shifted = ("create temp table later as select number, entry, hash from neoapi.audit_entry where number >= 5;"
               "delete from neoapi.audit_entry where number >= 5;")
    renumber = "replace(entry::text, '\"number\":' || number || ',', '\"number\":' || {} || ',')::json"
    back = "insert into neoapi.audit_entry (entry, hash) select {}, hash from later where {};"
    tamper(log, shifted + back.format(renumber.format("case number when 5 then 6 when 6 then 5 else number end"), "true"))
    assert [re.match(r"entry \d+", line).group() for line in faults(log)][:2] == ["entry 5", "entry 5"]
    tamper(log, shifted + "insert into neoapi.audit_entry select entry, hash from later where false;" + back.format("entry", "true"))
    assert faults(log)


def test_a_log_that_was_written_anew_lacks_the_noted_hash(log):
    """What a superuser can still do: forge an entry and all that follow. A hash that was noted elsewhere shows it."""
    noted = log.json("audit", "verify")["hash"]
    assert log.json("audit", "verify", "--expect", noted)["hash"] == noted
    rows = log.sql("select number, entry::text from neoapi.audit_entry order by number")
    previous, statements = "00" * 32, ""
    for number, text in rows:
        text = re.sub('"previous":"[0-9a-f]+"', f'"previous":"{previous}"', text.replace("Tenant 0", "Forged"))
        previous = hashlib.sha256(text.encode()).hexdigest()
        statements += "update neoapi.audit_entry set entry = $j$" + text + f"$j$, hash = decode('{previous}', 'hex') where number = {number};"
    tamper(log, statements + f"update neoapi.audit_head set hash = decode('{previous}', 'hex')")
    assert log.json("audit", "verify")["hash"] == previous != noted
    assert faults(log, "--expect", noted)[0].endswith("no entry has the expected hash: the log was replaced")


def test_an_export_is_verified_without_the_database(log, tmp_path):
    out = log.ok("audit", "export")
    lines = out.splitlines()
    file = tmp_path / "audit.jsonl"
    file.write_text(out)
    assert log.json("audit", "verify", "--file", str(file), dsn="host=127.0.0.1 port=1")["entries"] == len(lines)
    for line in lines:  # as doc/audit.md describes it
        entry = line[line.index(',"entry":') + 9:-1]
        assert json.loads(line)["hash"] == hashlib.sha256(entry.encode()).hexdigest()
    file.write_text("\n".join(lines[:3] + lines[4:]) + "\n")
    assert faults(log, "--file", str(file)) == ["entry 5 entry 4 before it was removed"]
    file.write_text("\n".join([lines[1], lines[0], *lines[2:]]) + "\n")
    assert faults(log, "--file", str(file))
    assert len(log.ok("audit", "export", "--after", "3").splitlines()) > len(lines) - 3


# ---------------------------------------------------------------- concurrency and retention


def test_concurrent_changes_make_one_chain(own_database):  # noqa: F811
    """With transactions that lock the same rows in opposite orders, which would deadlock if the chain were locked before them."""
    for name in ("a", "b"):
        own_database.ok("plan", "create", name, "--requests", "1", "--window", "1")

    def change(number):
        names = ("a", "b") if number % 2 else ("a",)
        updates = ";".join(f"update neoapi.plan set requests = {number + 1} where name = '{name}'" for name in names)
        for _ in range(5):
            own_database.sql(f"begin; {updates}; commit")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(8)))
    assert actions(own_database).count("plan.updated") >= 30
    own_database.ok("audit", "verify")


def test_a_transaction_of_many_rows_adds_them_all(own_database):  # noqa: F811
    own_database.sql("insert into neoapi.plan (name, requests, window_seconds) select 'p' || n, 1, 1 from generate_series(1, 3000) n")
    assert actions(own_database).count("plan.created") == 3000
    assert own_database.json("audit", "verify")["entries"] > 3000
    own_database.sql("begin; update neoapi.plan set requests = 2 where name = 'p1'; rollback")
    assert "plan.updated" not in actions(own_database)
    own_database.ok("audit", "verify")


def age(database, entries):
    """Makes the oldest entries six years older, with their hashes, as if the log were that old."""
    previous, statements = "00" * 32, ""
    for number, text in database.sql("select number, entry::text from neoapi.audit_entry order by number"):
        text = re.sub('"previous":"[0-9a-f]+"', f'"previous":"{previous}"', text)
        if number <= entries:
            text = re.sub('"time":([0-9]+)', lambda m: f'"time":{int(m[1]) - 6 * 366 * 86_400_000}', text)
        previous = hashlib.sha256(text.encode()).hexdigest()
        statements += "update neoapi.audit_entry set entry = $j$" + text + f"$j$, hash = decode('{previous}', 'hex') where number = {number};"
    tamper(database, statements + f"update neoapi.audit_head set hash = decode('{previous}', 'hex')")


def test_entries_are_removed_after_five_years_and_the_rest_is_verified(log):
    expire = "select neoapi.audit_expire(1000)"
    assert log.sql(expire, dsn=log.runtime_dsn) == [(0,)]
    before = log.json("audit", "verify")
    age(log, 4)
    assert log.json("audit", "verify")["entries"] == before["entries"]
    assert log.sql(expire, dsn=log.runtime_dsn) == [(4,)]
    after = log.json("audit", "verify")
    assert (after["entries"], after["last"]) == (before["entries"] - 3, before["last"] + 1)
    action, entry = entries(log)[-1]
    assert action == "audit.expired" and (entry["details"]["entries"], entry["details"]["last_number"]) == (4, 4)
    assert log.sql(expire, dsn=log.runtime_dsn) == [(0,)]
    tamper(log, "delete from neoapi.audit_entry where number = 5")
    assert faults(log) == ["entry 6 entry 5 before it was removed"]


def test_a_purge_keeps_the_entries(ctl, instance, admin_factory):
    key = admin_factory.key()
    ctl.ok("purge", "tenant", key.tenant, "--yes")
    found = actions(instance, "tenant = %s or owner = %s", key.tenant, key.organizations[0])
    assert found[0] == "tenant.created" and "tenant.deleted" in found
    assert {"neoapictl.purge.tenant", "credential.updated", "credential.deleted", "organization.deleted"} <= set(found)


def test_the_list_of_neoapictl_shows_who(ctl, admin_factory):
    organization = admin_factory.organization()
    ctl.ok("organization", "change", organization, "--name", "Praia")
    rows = ctl.json("audit", "list", "--organization", organization)
    assert [row["action"] for row in rows] == ["organization.updated", "neoapictl.organization.change", "organization.created"]
    assert rows[0]["changed"] == "name" and getpass.getuser() in rows[0]["actor"]
    assert len(ctl.json("audit", "list", "--organization", organization, "--action", "organization.updated")) == 1
    assert len(ctl.json("audit", "list", "--organization", organization, "--limit", "1")) == 1
