# SPDX-License-Identifier: Apache-2.0
"""neoapictl export, import and purge: an organization's data is exported, purged and restored unchanged."""

import contextlib
import json
import os
import subprocess
import threading
import uuid

import psycopg2
import pytest
from psycopg2.extensions import make_dsn

from client import Api, ok
from ctl_instance import Ctl
from factories import NAMES, ResourceFactory
from openapi_doc import Document
from admin_factory import Credential
from wait import TIMEOUT_S, eventually

BROKER = {"name": "Ação \"& Filhos\" Ltda.", "creci": "CRECI-SP 123456-F", "email": "ana@example.com",
          "bank_account": {"bank_code": "341", "pix_key": "ana@example.com"}, "visibility": "public"}
ORDER = ["broker", "party", "property", "proposal", "contract", "document", "lead", "whatsapp_opt_out", "whatsapp_conversation",
         "whatsapp_message", "webhook"]
TESTED_ELSEWHERE = {"whatsapp_opt_out", "whatsapp_conversation", "whatsapp_message"}  # in test_whatsapp_import.py


@pytest.fixture
def ctl(instance):
    return Ctl(instance)


@pytest.fixture
def full_org_api(instance, admin_factory):
    """A client to an organization in a separate tenant, with minimal and full rows of every kind in several states."""
    api = Api(instance, admin_factory.key())
    factory = ResourceFactory(api)
    for collection in NAMES:
        factory.create(collection)
        body = factory.full(collection) if collection != "brokers" else BROKER
        ok(api.post(collection, json=body), 201)
    first, second = factory.party(), factory.party()  # will refer to each other
    ok(api.patch(f"parties/{first['id']}", json={"spouse_party_id": second["id"]}))
    ok(api.patch(f"parties/{second['id']}", json={"spouse_party_id": first["id"]}))
    proposal, contract = factory.proposal(), factory.contract()
    for path, status in ((f"proposals/{proposal['id']}", "submitted"), (f"proposals/{proposal['id']}", "accepted"),
                         (f"contracts/{contract['id']}", "pending_signature"), (f"contracts/{contract['id']}", "active")):
        ok(api.patch(path, json={"status": status}))
    ok(api.post("webhooks", json={"url": "https://127.0.0.1:9/x", "events": ["broker.created"]}), 201)
    return api


def organization_of(api):
    return api.credential.organizations[0]


def everything(api):
    """Body and ETag of each row by URL, and the ids of each list in order."""
    answers, lists = {}, {}
    for collection in NAMES:
        lists[collection] = [row["id"] for row in api.walk(collection, limit=100)]
        for one in lists[collection]:
            response = api.get(f"{collection}/{one}")
            answers[f"{collection}/{one}"] = response.content, response.headers["ETag"]
    return answers, lists


def parse_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def file_with(tmp_path, *rows):
    path = tmp_path / "rows.ndjson"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def count_rows(instance, organization):
    """The number of an organization's rows by table."""
    tables = [name for name, in instance.sql(
        "select a.attrelid::regclass::text from pg_attribute a join pg_class c on c.oid = a.attrelid"
        " where c.relnamespace = 'neoapi'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
        " and a.attname = 'organization_id' and not a.attisdropped")]
    assert len(tables) > 10
    return {table: count for table in tables
            for count, in instance.sql(f"select count(*) from {table} where organization_id = %s", organization) if count}


# ---------------------------------------------------------------- export


def test_an_export_has_a_header_and_every_row_as_the_api_returns_it(full_org_api, ctl):
    text = ctl.ok("export", organization_of(full_org_api))
    head, *rows = parse_lines(text)
    kinds = [next(iter(row)) for row in rows]
    assert kinds == sorted(kinds, key=ORDER.index) and set(kinds) == set(ORDER) - TESTED_ELSEWHERE
    assert head["export"]["format"] == 1 and head["export"]["organization"]["id"] == organization_of(full_org_api)
    assert head["export"]["tenant"]["id"] == full_org_api.credential.tenant
    assert head["export"]["rows"] == {kind: kinds.count(kind) for kind in ORDER}
    answers, _ = everything(full_org_api)
    exported = {line[line.index(":") + 1:-1].encode() for line in text.splitlines()[1:] if not line.startswith('{"webhook"')}
    assert exported == {content for content, _ in answers.values()}


# Every member of a subscription that is not the service's; payload `thin` excludes `fields` and `include`.
SUBSCRIPTION = {"url": "https://127.0.0.1:9/x", "events": ["broker.*", "property.updated"], "is_active": False, "is_masked": True,
                "filters": {"property": {"status": ["active"], "changed": ["sale_price"]}, "broker": {"changed": ["creci"]}},
                "include": ["changed"], "payload": "full", "fields": ["name", "status"], "ordering": "resource",
                "batch": {"max_items": 10, "max_wait_ms": 200}, "max_per_second": 20, "max_in_flight": 3,
                "description": "Painel", "metadata": {"team": "a"}, "headers": {"X-Gateway-Token": "token-of-the-gateway"},
                "asymmetric_signature": "ed25519"}


def test_a_subscription_can_be_created_again_from_an_export(own_api, ctl, instance):
    """An import skips subscriptions, because the file has neither their secrets nor the values of their headers."""
    fields = [name for name, one in Document(instance).flat["WebhookInput"]["properties"].items() if not one.get("readOnly")]
    assert set(SUBSCRIPTION) == set(fields)
    made = [ok(own_api.post("webhooks", json=body), 201)
            for body in (SUBSCRIPTION, {"url": SUBSCRIPTION["url"], "events": ["*"], "payload": "thin"})]
    text = ctl.ok("export", organization_of(own_api))
    exported = {row["webhook"]["id"]: row["webhook"] for row in parse_lines(text)[1:] if "webhook" in row}
    assert SUBSCRIPTION["headers"]["X-Gateway-Token"] not in text
    for one in made:
        row = exported[one["id"]]
        assert row == ok(own_api.get("webhooks/" + one["id"]))
        body = {name: value for name, value in row.items() if name in fields}
        if "headers" in body:
            assert body["headers"] == {"X-Gateway-Token": "********"}
            body["headers"] = SUBSCRIPTION["headers"]
        again = ok(own_api.post("webhooks", json=body), 201)
        assert {name: again[name] for name in body if name != "headers"} == {name: one[name] for name in body if name != "headers"}
    assert {name: exported[made[0]["id"]][name] for name in SUBSCRIPTION if name != "headers"} == {
        name: value for name, value in SUBSCRIPTION.items() if name != "headers"}


def test_export_and_purge_list_the_rows_that_an_export_leaves_out(full_org_api, ctl, instance, tmp_path):
    organization, path = organization_of(full_org_api), str(tmp_path / "all.ndjson")
    nothing = {"whatsapp_number": 0}
    assert parse_lines(ctl.ok("export", organization))[0]["export"]["left_out"] == nothing
    assert "Not in the file" not in ctl.ok("export", organization, "--output", path)
    number = add_number(instance, organization)
    instance.sql(
        "insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_wa_id, triage, opted_out_at,"
        " created_at, updated_at) values (%s, 'wac_' || repeat('0', 26), %s, '5511987654321', 'pending', now(), now(),"
        " now())", organization, number)
    said = ctl.ok("export", organization, "--output", path)
    assert "Not in the file: whatsapp_number 1." in said
    with open(path) as file:
        head, *rows = parse_lines(file.read())
    assert head["export"]["left_out"] == {"whatsapp_number": 1}
    assert [kind for row in rows for kind in row
            if kind in TESTED_ELSEWHERE] == ["whatsapp_opt_out", "whatsapp_conversation"]
    assert ctl.json("import", path, "--organization", organization)["created"] == 0
    for said in (ctl.ok("export", "--help"), ctl.ok("purge", "organization", "--help"), ctl.ok("purge", "tenant", "--help"),
                 ctl.on_terminal("purge", "organization", organization, typed="no")[1]):
        assert "WhatsApp numbers, webhook deliveries" in " ".join(said.split())


def test_an_export_has_no_secrets_and_no_rows_of_other_organizations(full_org_api, ctl, instance, admin_factory):
    neighbour = Api(instance, admin_factory.key(admin_factory.organization(full_org_api.credential.tenant)))
    other = neighbour.broker()["id"]
    text = ctl.ok("export", organization_of(full_org_api))
    assert other not in text and organization_of(neighbour) not in text
    secrets = [secret for row in instance.sql("select secret, encode(secret_hash, 'hex') from neoapi.webhook_subscription s"
                                              " join neoapi.credential c on c.organization_id = s.organization_id"
                                              " where s.organization_id = %s", organization_of(full_org_api)) for secret in row]
    assert secrets and not any(secret in text for secret in secrets) and "whsec_" not in text and "secret" not in text


def test_an_export_is_a_consistent_snapshot(full_org_api, ctl):
    """A slow reader gets the data at the start of the export."""
    for number in range(6):  # exceed the capacity of a pipe
        ok(full_org_api.post("brokers/batch",
                             json={"operations": [{"method": "create", "data": {"name": f"{number} " + "x" * 180}}] * 100}))
    document = full_org_api.walk("documents")[-1]
    with ctl.start("export", organization_of(full_org_api)) as export:
        first = export.stdout.readline()
        ok(full_org_api.patch(f"documents/{document['id']}", json={"title": "changed meanwhile"}))
        late = full_org_api.broker()["id"]
        rest = export.stdout.read()
    assert export.returncode == 0 and first.startswith('{"export":')
    assert document in [row["document"] for row in parse_lines(rest) if "document" in row]
    assert late not in rest and "changed meanwhile" not in rest


def test_an_export_has_no_statement_timeout(full_org_api, ctl, instance):
    """The timeouts of the service file are for requests only."""
    limited_dsn = make_dsn(instance.admin_dsn, options="-c statement_timeout=1000")
    blocker = psycopg2.connect(instance.admin_dsn)
    try:
        blocker.cursor().execute("lock table neoapi.broker")
        with ctl.start("--database", limited_dsn, "export", organization_of(full_org_api)) as export:
            eventually(lambda: export.poll() is not None or instance.sql(
                "select 1 from pg_stat_activity where application_name = 'neoapictl' and wait_event_type = 'Lock'"
                " and query_start < now() - interval '1500 milliseconds'"), "an export that waits for longer")
            blocker.rollback()
            out, said = export.communicate(timeout=TIMEOUT_S)
    finally:
        blocker.close()
    assert (export.returncode, said) == (0, "") and '"broker"' in out


def test_an_export_file_is_private_and_renamed_when_complete(full_org_api, ctl, tmp_path):
    path = tmp_path / "data.ndjson"
    said = ctl.json("export", organization_of(full_org_api), "--output", str(path))
    assert said == {"file": str(path), "rows": len(path.read_text().splitlines()) - 1}
    assert path.stat().st_mode & 0o777 == 0o600 and os.listdir(tmp_path) == ["data.ndjson"]
    assert "No such file" in ctl.refused("export", organization_of(full_org_api), "--output", str(tmp_path / "none" / "x"))
    with open("/dev/full", "w") as nowhere:
        assert "cannot be written" in ctl.refused("export", organization_of(full_org_api), stdout=nowhere)
    assert "no such organization" in ctl.refused("export", "org_" + "0" * 26)


def test_an_export_does_not_write_into_an_existing_file(full_org_api, ctl, tmp_path):
    """An existing file may be readable by others or a symbolic link."""
    elsewhere, path, part = tmp_path / "elsewhere", tmp_path / "data.ndjson", tmp_path / "data.ndjson.part"
    elsewhere.write_text("mine")
    part.symlink_to(elsewhere)
    ctl.ok("export", organization_of(full_org_api), "--output", str(path))
    assert elsewhere.read_text() == "mine" and not path.is_symlink() and path.stat().st_mode & 0o777 == 0o600
    part.write_text("open to all")
    part.chmod(0o666)
    with open(part) as spy:
        ctl.ok("export", organization_of(full_org_api), "--output", str(path))
        assert spy.read() == "open to all" and path.stat().st_mode & 0o777 == 0o600
    part.mkdir()
    assert "cannot be written" in ctl.refused("export", organization_of(full_org_api), "--output", str(path))


# ---------------------------------------------------------------- restoring an export


def test_purged_data_is_restored_unchanged_by_an_import(full_org_api, ctl, admin_factory, instance, tmp_path):
    before, organization, tenant = everything(full_org_api), organization_of(full_org_api), full_org_api.credential.tenant
    path = str(tmp_path / "all.ndjson")
    ctl.ok("export", organization, "--output", path)
    ctl.ok("purge", "tenant", tenant, "--yes")
    assert full_org_api.get("me").status_code == 401
    assert count_rows(instance, organization) == {}
    for table in ("credential", "app_user", "organization"):
        assert instance.sql(f"select count(*) from neoapi.{table} where tenant_id = %s", tenant) == [(0,)]
    assert ctl.json("tenant", "create", "Back", "--id", tenant, "--plan", admin_factory.plenty) == {"id": tenant}
    assert ctl.json("organization", "create", "Back", "--tenant", tenant, "--id", organization) == {"id": organization}
    done = ctl.json("import", path, "--organization", organization)
    assert done == {"rows": len(before[0]), "created": len(before[0]), "changed": 0, "unchanged": 0, "skipped_webhooks": 1,
                    "skipped_whatsapp": 0}
    key = ctl.json("key", "create", "Back", "--organization", organization, "--role", "org_admin")
    back = Api(instance, Credential(key["id"], key["secret"], tenant, (organization,)))
    assert everything(back) == before


def test_imported_references_prevent_deletions(full_org_api, ctl, tmp_path):
    """A referenced row cannot be deleted, also if the referring row came first in the file."""
    organization, path = organization_of(full_org_api), str(tmp_path / "all.ndjson")
    contract = next(contract for contract in full_org_api.walk("contracts"))
    ctl.ok("export", organization, "--output", path)
    referring = full_org_api.instance.sql("select source_id, path, target_id from neoapi.reference where organization_id = %s"
                                          " order by 1, 2", organization)
    ctl.ok("purge", "organization", organization, "--data-only", "--yes")
    assert full_org_api.walk("parties") == []
    ctl.ok("import", path, "--organization", organization)
    assert full_org_api.instance.sql("select source_id, path, target_id from neoapi.reference where organization_id = %s"
                                     " order by 1, 2", organization) == referring
    assert full_org_api.delete(f"parties/{contract['parties'][0]['party_id']}").status_code == 409


def test_an_import_changes_only_rows_that_differ(full_org_api, ctl, tmp_path):
    organization, path, before = organization_of(full_org_api), str(tmp_path / "all.ndjson"), everything(full_org_api)
    ctl.ok("export", organization, "--output", path)
    again = ctl.json("import", path, "--organization", organization)
    assert (again["created"], again["changed"], again["unchanged"]) == (0, 0, len(before[0]))
    broker = full_org_api.walk("brokers")[0]
    ok(full_org_api.patch(f"brokers/{broker['id']}", json={"name": "Somebody else"}))
    path_of_broker = f"brokers/{broker['id']}"
    changed = ok(full_org_api.get(path_of_broker))
    for expected in (1, 0):
        back = ctl.json("import", path, "--organization", organization)
        assert (back["created"], back["changed"]) == (0, expected)
    restored = ok(full_org_api.get(path_of_broker))
    assert restored == {**broker, "updated_at": restored["updated_at"]} and restored["updated_at"] > changed["updated_at"]
    others = [({**answers, path_of_broker: None}, lists) for answers, lists in (before, everything(full_org_api))]
    assert others[0] == others[1]


# ---------------------------------------------------------------- purge


def test_purge_shows_a_summary_and_needs_the_typed_name(full_org_api, ctl):
    tenant, organization = full_org_api.credential.tenant, organization_of(full_org_api)
    name = next(row["name"] for row in ctl.json("tenant", "list") if row["id"] == tenant)
    there = {row["what"]: row["rows"] for row in ctl.json("purge", "tenant", tenant, "--dry-run")}
    assert there["broker"] == len(full_org_api.walk("brokers")) and there["organization"] == there["api_key"] == 1
    assert "--yes" in ctl.refused("purge", "tenant", tenant)
    code, said = ctl.on_terminal("purge", "tenant", tenant, typed="something else")
    assert code == 1 and "nothing was removed" in said and "broker" in said and name in said
    ok(full_org_api.get("me"))
    assert ctl.on_terminal("purge", "tenant", tenant, typed=name)[0] == 0
    assert full_org_api.get("me").status_code == 401 and count_rows(full_org_api.instance, organization) == {}
    assert "no such tenant" in ctl.refused("purge", "tenant", tenant, "--yes")


def test_purge_of_one_organization_keeps_others_and_their_tokens(full_org_api, ctl, instance, admin_factory):
    tenant, organization = full_org_api.credential.tenant, organization_of(full_org_api)
    neighbour = admin_factory.organization(tenant)
    token = Api(instance, admin_factory.token(admin_factory.user(tenant), organization, neighbour), neighbour)
    kept = token.broker()
    ctl.ok("purge", "organization", organization, "--yes")
    assert full_org_api.get("me").status_code == 401 and count_rows(instance, organization) == {}
    assert ok(token.get(f"brokers/{kept['id']}")) == kept
    assert ok(token.get("me"))["allowed_organization_ids"] == [neighbour]


def test_purge_of_data_only_keeps_credentials(full_org_api, ctl):
    ctl.ok("purge", "organization", organization_of(full_org_api), "--data-only", "--yes")
    assert [len(full_org_api.walk(collection)) for collection in NAMES] == [0] * len(NAMES)
    assert len(full_org_api.walk("webhooks")) == 1
    full_org_api.broker()


NUMBER = ("insert into neoapi.whatsapp_number (organization_id, id, phone_number_id, waba_id, display_phone_number, access_token,"
          " app_secret, verify_token_hash) values (%s, %s, %s, '200000000000001', '+55 11 4000-0001', 'x', 'x', sha256('x'))")


def add_number(instance, organization):
    one = "wan_" + organization[4:]
    instance.sql(NUMBER, organization, one, str(uuid.uuid4().int)[:16])
    return one


def test_purge_of_data_only_keeps_whatsapp_numbers(full_org_api, ctl, instance):
    organization = organization_of(full_org_api)
    one = add_number(instance, organization)
    ctl.ok("purge", "organization", organization, "--data-only", "--yes")
    assert instance.sql("select id from neoapi.whatsapp_number where organization_id = %s", organization) == [(one,)]


def test_purge_of_data_only_ends_during_concurrent_writes(full_org_api, ctl):
    over, made = threading.Event(), []

    def write():
        while not over.is_set():
            made.append(full_org_api.broker())

    writers = [threading.Thread(target=write) for _ in range(4)]
    try:
        for writer in writers:
            writer.start()
        eventually(lambda: len(made) > 10, "clients that write")
        ctl.ok("purge", "organization", organization_of(full_org_api), "--data-only", "--yes")
        so_far = len(made)
        eventually(lambda: len(made) > so_far, "clients that still write")
    finally:
        over.set()
        for writer in writers:
            writer.join(TIMEOUT_S)
    assert len(full_org_api.walk("parties")) == 0


def waits(instance):
    """Whether a purge waits for a lock of a broker."""
    return instance.sql("select 1 from pg_stat_activity where wait_event_type = 'Lock'"
                        " and query like '%delete from neoapi.broker %'")


def test_purge_does_not_deadlock_with_other_transactions(full_org_api, ctl, instance):
    """Transactions that lock the same rows in another order, such as the courier when it records results."""
    full_org_api.broker()
    lock = ("select from neoapi.broker where ctid = (select ctid from neoapi.broker where organization_id = %s order by ctid {}"
            " limit 1) for update")
    other = psycopg2.connect(instance.admin_dsn, options="-c lock_timeout=60s")
    with contextlib.closing(other), other.cursor() as cursor:
        cursor.execute(lock.format("desc"), [organization_of(full_org_api)])
        purge = ctl.start("purge", "organization", organization_of(full_org_api), "--data-only", "--yes")
        eventually(lambda: purge.poll() is not None or waits(instance), "a purge that waits")
        cursor.execute(lock.format("asc"), [organization_of(full_org_api)])
        assert waits(instance)
    out, said = purge.communicate(timeout=TIMEOUT_S)
    assert (purge.returncode, said) == (0, "")
    assert len(full_org_api.walk("brokers")) == 0


def test_purge_removes_rows_that_changed_while_it_waited(full_org_api, ctl, instance):
    broker = full_org_api.broker()["id"]
    change = "update neoapi.broker set name = 'B' where id = %s", (broker,)
    with purge_that_waits(ctl, full_org_api, "organization", organization_of(full_org_api), "--data-only",
                          also=change) as purge:
        pass
    assert purge.returncode == 0, purge.said
    assert len(full_org_api.walk("brokers")) == 0


REFERRING_TABLE = "create table public.hold (o text, b text, foreign key (o, b) references neoapi.broker (organization_id, id))"


def test_purge_continues_when_foreign_references_are_removed(full_org_api, ctl, instance):
    organization = organization_of(full_org_api)
    instance.sql(REFERRING_TABLE)
    try:
        instance.sql("insert into public.hold values (%s, %s)", organization, full_org_api.broker()["id"])
        with ctl.start("purge", "organization", organization, "--yes") as purge:
            eventually(lambda: purge.poll() is not None or "neoapi.party" not in count_rows(instance, organization),
                       "its first pass")
            instance.sql("delete from public.hold")  # dropping the table could deadlock with the purge
            said = purge.communicate(timeout=TIMEOUT_S)
        assert purge.returncode == 0, said
    finally:
        instance.sql("drop table if exists public.hold")
    assert count_rows(instance, organization) == {}


@contextlib.contextmanager
def purge_that_waits(ctl, api, *which, also=None):
    """Runs a purge that waits until the block ends, for a transaction that has also executed `also`."""
    api.broker()
    keeper = psycopg2.connect(ctl.instance.admin_dsn)
    keeper.cursor().execute("select from neoapi.broker where organization_id = %s for update", (organization_of(api),))
    if also:
        keeper.cursor().execute(*also)
    purge = ctl.start("purge", *which, "--yes")
    try:
        eventually(lambda: purge.poll() is not None or waits(ctl.instance), "a purge that waits")
        yield purge
    finally:
        keeper.commit()
        keeper.close()
        purge.said = purge.communicate(timeout=TIMEOUT_S)[1]


def test_purge_keeps_an_organization_that_it_did_not_show(full_org_api, ctl, instance, admin_factory):
    """An organization created after the start stays, with its key and its data."""
    tenant = full_org_api.credential.tenant
    with purge_that_waits(ctl, full_org_api, "tenant", tenant) as purge:
        late = Api(instance, admin_factory.key(admin_factory.organization(tenant)))
        broker = late.broker()
    assert purge.returncode == 1 and "another organization" in purge.said and "ERROR" not in purge.said
    assert ok(late.get(f"brokers/{broker['id']}")) == broker
    ctl.ok("purge", "tenant", tenant, "--yes")


@pytest.mark.slow
def test_purge_and_import_exclude_each_other(full_org_api, ctl, instance, tmp_path):
    organization, path = organization_of(full_org_api), file_with(tmp_path, {"broker": {"name": "B"}})
    with ctl.start("import", "-", "--organization", organization, stdin=subprocess.PIPE) as first:
        eventually(lambda: instance.sql("select 1 from pg_locks l join pg_stat_activity a using (pid)"
                                        " where locktype = 'advisory' and a.application_name = 'neoapictl'"), "its lock")
        assert "is running" in ctl.refused("purge", "organization", organization, "--yes")
        assert "is running" in ctl.refused("purge", "tenant", full_org_api.credential.tenant, "--yes")
        first.stdin.close()
        assert first.wait(TIMEOUT_S) == 0
    ok(full_org_api.get("me"))
    with purge_that_waits(ctl, full_org_api, "organization", organization) as purge:
        assert "is running" in ctl.refused("import", path, "--organization", organization)
    assert purge.returncode == 0 and count_rows(instance, organization) == {}


def test_purge_fails_if_foreign_references_remain(full_org_api, ctl, instance):
    instance.sql(REFERRING_TABLE)
    try:
        instance.sql("insert into public.hold values (%s, %s)", organization_of(full_org_api), full_org_api.broker()["id"])
        assert "refer to the rest" in ctl.refused("purge", "organization", organization_of(full_org_api), "--yes")
    finally:
        instance.sql("drop table public.hold")
    ctl.ok("purge", "organization", organization_of(full_org_api), "--yes")


def test_an_export_into_a_closed_pipe_fails(full_org_api, ctl):
    with ctl.start("export", organization_of(full_org_api), stdout=subprocess.PIPE) as export:
        export.stdout.close()
        said = export.stderr.read()
    assert export.returncode == 1 and "cannot be written" in said
