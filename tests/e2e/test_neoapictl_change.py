# SPDX-License-Identifier: Apache-2.0
"""neoapictl change, remove, rotate and status, and their immediate effect on running servers."""

import json
import re
import uuid
from contextlib import closing

import psycopg2
import pytest

from admin_factory import new_id
from client import Api, ok, refused
from ctl_database import UNKNOWN_ULID, own_database, new_database  # noqa: F401 (fixtures)
from ctl_instance import Ctl
from deployment import ROOT
from wait import eventually


@pytest.fixture
def ctl(instance):
    return Ctl(instance)


@pytest.fixture
def tenant(admin_factory):
    return admin_factory.tenant()


def row(ctl, what, one):
    return next(row for row in ctl.json(what, "list") if one in (row.get("id"), row.get("name")))


# ---------------------------------------------------------------- change


def test_changes_are_listed(ctl, admin_factory, tenant):
    organization, user = admin_factory.organization(tenant), admin_factory.user(tenant)
    assert ctl.json("tenant", "change", tenant, "--name", "Casa & Cia", "--plan", "default") == {"id": tenant}
    assert {"name": "Casa & Cia", "plan": "default"}.items() <= row(ctl, "tenant", tenant).items()
    ctl.ok("organization", "change", organization, "--name", "Praia")
    assert row(ctl, "organization", organization)["name"] == "Praia"
    ctl.ok("user", "change", user, "--email", f"{user}@example.com", "--name", "Ana")
    assert {"name": "Ana", "email": f"{user}@example.com", "role": "org_admin"}.items() <= row(ctl, "user", user).items()
    key = admin_factory.key(organization).id
    ctl.ok("key", "change", key, "--role", "org_viewer", "--scope", "parties:read", "--scope", "brokers:read", "--scope", "parties:read")
    assert row(ctl, "key", key)["scopes"] == ["brokers:read", "parties:read"]
    plan = admin_factory.plan(5, 60)
    limits = [column for column in row(ctl, "plan", plan) if column not in ("name", "requests", "window_seconds")]
    assert set(limits) == set(admin_factory.limits) >= {"subscriptions", "concurrent_requests", "idempotency_bytes",
                                                        "deliveries_per_hour"}
    values = {"requests": 7, **{limit: value for value, limit in enumerate(limits, 3)}}
    options = {column: "--" + column.replace("_", "-") for column in values}
    assert ctl.json("plan", "change", plan, *(word for c in values for word in (options[c], str(values[c])))) == {"name": plan}
    assert row(ctl, "plan", plan) == {"name": plan, "window_seconds": 60, **values}
    ctl.ok("plan", "change", plan, *(word for limit in limits for word in (options[limit], "unlimited")))
    assert [row(ctl, "plan", plan)[limit] for limit in limits] == [None] * len(limits)


def test_running_servers_apply_a_change_at_once(ctl, instance, admin_factory, tenant):
    organization, other = admin_factory.organization(tenant), admin_factory.organization(tenant)
    user, key = admin_factory.user(tenant, "org_editor"), admin_factory.key(organization, "org_editor",
                                                                            ["brokers:read", "brokers:write"])
    token = Api(instance, admin_factory.token(user, organization))
    api = Api(instance, key)
    broker = token.broker()
    api.broker()
    ctl.ok("user", "change", user, "--role", "org_viewer")
    refused(token.post("brokers", json={"name": "X"}), 403, "forbidden.insufficient_permissions")
    ctl.ok("key", "change", key.id, "--role", "org_viewer")
    refused(api.post("brokers", json={"name": "X"}), 403, "forbidden.insufficient_permissions")
    refused(api.get("parties"), 403, "forbidden.insufficient_permissions")  # its scopes are unchanged
    ctl.ok("key", "change", key.id, "--every-scope")
    ok(api.get("parties"))
    ctl.ok("key", "change", key.id, "--role", "org_editor", "--scope", "parties:read")
    refused(api.get("brokers"), 403, "forbidden.insufficient_permissions")
    ctl.ok("token", "change", token.credential.id, "--organization", other, "--organization", organization)
    assert ok(token.get("me"))["allowed_organization_ids"] == [other, organization]
    ctl.ok("token", "change", token.credential.id, "--organization", other)
    assert token.with_(organization=other).get(f"brokers/{broker['id']}").status_code == 404
    refused(token.get("me", headers={"X-Organization-ID": organization}), 403, "forbidden.organization")
    plan = admin_factory.plan(2, 3600)
    ctl.ok("tenant", "change", tenant, "--plan", plan)
    assert [api.get("parties").status_code for _ in range(3)][-1] == 429


def test_invalid_changes_are_refused_with_a_reason(ctl, admin_factory, tenant):
    organization, user = admin_factory.organization(tenant), admin_factory.user(tenant)
    key, token = admin_factory.key(organization).id, admin_factory.token(user, organization).id
    foreign = admin_factory.organization()
    for args, said in (
            (("tenant", "change", "tnt_" + UNKNOWN_ULID, "--name", "X"), "no such tenant"),
            (("tenant", "change", tenant, "--plan", "none"), "no such plan"),
            (("organization", "change", "org_" + UNKNOWN_ULID, "--name", "X"), "no such organization"),
            (("user", "change", "usr_" + UNKNOWN_ULID, "--name", "X"), "no such user"),
            (("user", "change", admin_factory.user(tenant), "--email", row(ctl, "user", user)["email"].upper()), "already"),
            (("key", "change", "nbr_" + UNKNOWN_ULID, "--name", "X"), "no such key"),
            (("token", "change", token, "--name", "X", "--organization", foreign), "not of the user's tenant"),
            (("plan", "change", "none", "--window", "5"), "no such plan")):
        assert said in ctl.refused(*args), args
    assert row(ctl, "token", token)["allowed_organization_ids"] == [organization] and row(ctl, "token", token)["name"] != "X"
    for args in (("key", "change", key), ("key", "change", key, "--scope", "brokers:read"),
                 ("key", "change", key, "--role", "org_viewer", "--scope", "brokers:write"),
                 ("key", "change", key, "--role", "org_admin", "--scope", "brokers:write", "--every-scope"),
                 ("key", "change", token, "--name", "X"), ("user", "change", user, "--role", "root")):
        ctl.refused(*args, code=2)


# ---------------------------------------------------------------- remove


def test_remove_refuses_rows_with_dependents_and_names_them(ctl, instance, admin_factory, tenant):
    organization, user, plan = admin_factory.organization(tenant), admin_factory.user(tenant), admin_factory.plan(100, 60)
    ctl.ok("tenant", "change", tenant, "--plan", plan)
    key = admin_factory.key(organization)
    admin_factory.token(user, organization)
    Api(instance, key).broker()
    assert "1 organization" in ctl.refused("tenant", "remove", tenant) and "1 user" in ctl.refused("tenant", "remove", tenant)
    said = ctl.refused("organization", "remove", organization)
    assert "1 API key that works" in said and "1 token that reaches it" in said and "1 broker" in said
    assert "1 token that works" in ctl.refused("user", "remove", user)
    assert "1 tenant" in ctl.refused("plan", "remove", plan)
    assert "can be changed" in ctl.refused("plan", "remove", "default")
    assert "revoke it first" in ctl.refused("key", "remove", key.id)
    assert "no such token" in ctl.refused("token", "remove", "pat_" + UNKNOWN_ULID)
    assert "no such tenant" in ctl.refused("tenant", "remove", "tnt_" + UNKNOWN_ULID)


def test_an_organization_with_numbers_and_leads_is_not_removed(ctl, instance, admin_factory, tenant):
    organization = admin_factory.organization(tenant)
    ctl.ok("lead", "import", "-", "--organization", organization, stdin="name,phone\nAna,11987654321\nBia,21987654321\n")
    ctl.ok("whatsapp", "number", "create", "+55 11 4000-0001", "--organization", organization, "--waba-id", "200000000000001",
           "--phone-number-id", str(uuid.uuid4().int)[:16], "--secrets", "-", "--key-file", instance.env["NEOAPI_KEY_FILE"],
           stdin="access_token=a\napp_secret=b\n")
    said = ctl.refused("organization", "remove", organization)
    assert "1 WhatsApp number" in said and "2 leads" in said and "neoapictl purge" in said


def test_removing_an_organization_removes_what_whatsapp_reported_about_it(ctl, instance, admin_factory, tenant):
    organization = admin_factory.organization(tenant)
    instance.sql("insert into neoapi.whatsapp_report (organization_id, waba_id, kind) values (%s, '1', 'numbers')", organization)
    instance.sql("insert into neoapi.whatsapp_usage values (%s, '2026-01-01', 'wan_1', 'utility', 1, 1)", organization)
    instance.sql("insert into neoapi.whatsapp_template values (%s, %s, '1', 'a', 'pt_BR', 'approved', 'utility', '{}', now(), now())",
                 organization, new_id("wat_"))
    assert ctl.json("organization", "remove", organization) == {"id": organization}


def test_removing_an_organization_decides_about_every_table_that_refers_to_it(instance):
    """Each table is removed with the organization, or prevents its removal. Resources are counted by a loop."""
    listed = set(re.findall(r"from neoapi\.(\w+)(?: \w+)? (?:where|join)", (ROOT / "src/admin/change.c").read_text()))
    tables = {name for name, in instance.sql(
        "select c.conrelid::regclass::text from pg_constraint c where c.confrelid = 'neoapi.organization'::regclass"
        " and c.contype = 'f' and c.confdeltype <> 'c' and not exists (select from pg_attribute a"
        " where a.attrelid = c.conrelid and a.attname = 'representation')")}
    assert tables and {name.removeprefix("neoapi.") for name in tables} <= listed


def test_rows_without_dependents_are_removed(ctl, instance, admin_factory, tenant):
    organization, user, plan = admin_factory.organization(tenant), admin_factory.user(tenant), admin_factory.plan(100, 60)
    ctl.ok("tenant", "change", tenant, "--plan", plan)
    key, token = admin_factory.key(organization), admin_factory.token(user, organization)
    api = Api(instance, key)
    broker = api.broker()
    assert api.delete(f"brokers/{broker['id']}").status_code == 204
    ctl.ok("key", "revoke", key.id)
    ctl.ok("token", "revoke", token.id)
    refused(api.get("me"), 401, "unauthorized.revoked_credential")
    ctl.ok("key", "remove", key.id)
    refused(api.get("me"), 401, "unauthorized.invalid_credential")
    for what, one in (("user", user), ("organization", organization), ("tenant", tenant)):
        assert ctl.json(what, "remove", one) == {"id": one}
        assert one not in ctl.ok(what, "list")
    assert ctl.json("plan", "remove", plan) == {"name": plan}
    assert token.id not in ctl.ok("token", "list")


# ---------------------------------------------------------------- rotate


def test_after_a_rotation_both_secrets_work_during_the_grace_period(ctl, instance, admin_factory, tenant):
    key = admin_factory.key(admin_factory.organization(tenant))
    old = Api(instance, key)
    ok(old.get("me"))
    made = ctl.json("key", "rotate", key.id, "--grace", "3")
    new = Api(instance, made["secret"])
    assert made["id"] == key.id and made["secret"] != key.secret
    assert ok(new.get("me")) == ok(old.get("me"))
    assert row(ctl, "key", key.id)["previous_secret_until"]
    assert new.broker()["created_by"] == key.id
    eventually(lambda: old.get("me").status_code == 401, "the end of the old secret")
    refused(old.get("me"), 401, "unauthorized.invalid_credential")
    ok(new.get("me"))
    assert row(ctl, "key", key.id)["previous_secret_until"] is None


def test_without_a_grace_period_the_old_secret_ends_at_once_everywhere(ctl, instance, admin_factory, tenant):
    token = admin_factory.token(admin_factory.user(tenant), admin_factory.organization(tenant))
    old = Api(instance, token)
    ok(old.get("me"))
    made = ctl.json("token", "rotate", token.id, "--grace", "0")
    refused(old.get("me"), 401, "unauthorized.invalid_credential")
    ok(Api(instance, made["secret"]).get("me"))


def test_a_second_rotation_ends_the_first_secret_and_a_revocation_ends_all(ctl, instance, admin_factory):
    key = admin_factory.key()
    second, third = (ctl.json("key", "rotate", key.id, "--end-previous")["secret"] for _ in range(2))
    assert [Api(instance, secret).get("me").status_code for secret in (key.secret, second, third)] == [401, 200, 200]
    ctl.ok("key", "revoke", key.id)
    for secret in (second, third):
        refused(Api(instance, secret).get("me"), 401, "unauthorized.revoked_credential")
    assert "is revoked" in ctl.refused("key", "rotate", key.id)
    assert "no such key" in ctl.refused("key", "rotate", "nbr_" + UNKNOWN_ULID)
    ctl.refused("key", "rotate", key.id, "--grace", "2592001", code=2)


def test_a_second_rotation_does_not_shorten_the_first_grace_period(ctl, instance, admin_factory):
    key = admin_factory.key()
    second = ctl.json("key", "rotate", key.id)["secret"]
    said = ctl.refused("key", "rotate", key.id, "--grace", "60")
    assert row(ctl, "key", key.id)["previous_secret_until"] in said and "--end-previous" in said and "--grace 0" in said
    assert [Api(instance, secret).get("me").status_code for secret in (key.secret, second)] == [200, 200]
    third = ctl.json("key", "rotate", key.id, "--grace", "0")["secret"]
    assert [Api(instance, secret).get("me").status_code for secret in (key.secret, second, third)] == [401, 401, 200]
    ctl.ok("key", "rotate", key.id)


def test_a_secret_that_cannot_be_written_replaces_none(ctl, instance, admin_factory):
    key = admin_factory.key()
    with open("/dev/full", "w") as full:
        assert "could not be written" in ctl.refused("key", "rotate", key.id, "--grace", "0", stdout=full)
    ok(Api(instance, key).get("me"))


# ---------------------------------------------------------------- status


def test_status_shows_counts_and_connected_servers(ctl, admin_factory, own_api):
    before = ctl.json("status")
    own_api.broker()
    admin_factory.key(admin_factory.organization(admin_factory.tenant()))
    now = ctl.json("status")
    assert now["state"] == "ok" and now["warnings"] == [] and now["schema"] == now["schema_needed"]
    assert (now["tenants"], now["keys"]) == (before["tenants"] + 1, before["keys"] + 1)
    assert now["listening_processes"] >= 1 and now["hosts"] == 1
    text = ctl.ok("status")
    assert re.search(r"^tenants +\d+$", text, re.M) and "no warnings" in text and re.search(r"^NAME +ADDRESS +ROLE ", text, re.M)
    assert ctl.ok("--quiet", "status") == ""


def test_status_has_an_exit_status_for_monitoring(ctl, own_database, own_api, next_version):  # noqa: F811
    status, out, _ = own_database.run("--json", "status")
    found = json.loads(out)
    assert (status, found["state"]) == (3, "warning") and "no httpd" in found["warnings"][0]
    assert own_database.run("--quiet", "status")[1].startswith("warning: no httpd")
    with closing(psycopg2.connect(own_database.runtime_dsn)):  # no listener, like the connection of a pooler
        assert own_database.json("status")["warnings"] == []
    own_database.sql("insert into neoapi.idempotency_key values"
                     " ('o', 'k', gen_random_uuid(), '', 200, '', null, now() - interval '2 hours')")
    assert any("idempotency keys" in sentence for sentence in json.loads(own_database.run("--json", "status")[1])["warnings"])
    assert own_database.run("status", dsn="host=/nonexistent")[0] == 1
    own_database.program = next_version.ctl
    status, _, err = own_database.run("status")
    assert status == 1 and "neoapictl migrate" in err


def test_status_warns_of_overdue_deliveries(own_database):  # noqa: F811
    own_database.sql(
        "insert into neoapi.webhook_subscription (organization_id, id, tenant_id, url, events, created_at, updated_at,"
        " created_by, updated_by, secret) values ('o', 'whs_' || repeat('0', 26), 't', 'https://x', '{*}', now(), now(), '', '', 'x')")
    own_database.sql("insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"
                     " select 'whd_' || n, 'o', 'whs_' || repeat('0', 26), now() - interval '10 minutes' from generate_series(1, 3) n")
    status, out, _ = own_database.run("--json", "status", "--max-pending", "2")
    found = json.loads(out)
    assert status == 3 and (found["deliveries_pending"], found["deliveries_due"]) == (3, 3)
    assert 600 <= found["seconds_overdue"] < 700
    said = " ".join(found["warnings"])
    assert re.search("6[0-9]{2} seconds overdue", said) and "3 deliveries" in said
    calm = json.loads(own_database.run("--json", "status", "--max-overdue", "3600")[1])["warnings"]
    assert len(calm) == 1 and "httpd" in calm[0]


def test_status_warns_of_failing_subscriptions(own_database):  # noqa: F811
    def warnings(*options):
        found = json.loads(own_database.run("--json", "status", *options)[1])
        assert found["webhooks_failing"] == 1 and found["webhooks_failing_seconds"] // 60 == 120
        return [sentence for sentence in found["warnings"] if "webhook list" in sentence]

    for number, is_active, since in ((1, True, "2 hours"), (2, False, "3 hours"), (3, True, None)):
        own_database.sql(
            "insert into neoapi.webhook_subscription (organization_id, id, tenant_id, url, events, created_at, updated_at,"
            " created_by, updated_by, secret, is_active, failing_since) values ('o', 'whs_' || lpad(%s::text, 26, '0'), 't',"
            " 'https://x', '{*}', now(), now(), '', '', 'x', %s, now() - %s::interval)", number, is_active, since)
    sentence, = warnings()
    assert re.search("failing for 72[0-9]{2} seconds", sentence) and warnings("--max-failing", "10000") == []


def test_status_names_what_holds_back_the_event_log(own_database):  # noqa: F811
    def warning(*options):
        found = json.loads(own_database.run("--json", "status", *options)[1])
        return [sentence for sentence in found["warnings"] if "event log" in sentence], found["event_log_lag"]

    with closing(psycopg2.connect(own_database.dsn, application_name="long report")) as connection:
        with connection.cursor() as cursor:
            cursor.execute("select pg_current_xact_id(), pg_backend_pid()")
            pid = cursor.fetchall()[0][1]
        (sentence,), lag = eventually(lambda: (found := warning("--max-log-lag", "1"))[0] and found, "a lag of a second")
        assert lag >= 1 and f"pid {pid}, role " in sentence and "application long report, idle in transaction" in sentence
        assert warning("--max-log-lag", "3600")[0] == []
    assert warning("--max-log-lag", "1")[0] == []


# ---------------------------------------------------------------- output


def test_colour_is_used_only_on_terminals_that_allow_it(ctl, admin_factory, tenant):
    admin_factory.organization(tenant)
    listing = "organization", "list", "--tenant", tenant
    assert "\x1b[1m" in ctl.on_terminal(*listing)[1]
    for settings in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}):
        assert "\x1b" not in ctl.on_terminal(*listing, **settings)[1], settings
    assert "\x1b[1m" in ctl.on_terminal(*listing, NO_COLOR="")[1]
    assert "\x1b" not in ctl.ok(*listing) and "\x1b" not in ctl.on_terminal("--json", *listing)[1]
    assert "\x1b[32m" in ctl.on_terminal("doctor")[1] and "\x1b[1;31mneoapictl:" in ctl.on_terminal("frobnicate")[1]


def test_quiet_prints_only_the_result(ctl, admin_factory, tenant):
    made = ctl.ok("--quiet", "organization", "create", "X", "--tenant", tenant)
    assert re.fullmatch(r"org_\w{26}\n", made)
    assert ctl.ok("--quiet", "organization", "list", "--tenant", tenant).split()[0] == made.strip()
    assert ctl.ok("--quiet", "key", "list", "--organization", made.strip()) == ""
    id, secret = ctl.ok("--quiet", "key", "create", "K", "--organization", made.strip(), "--role", "org_admin").split()
    assert secret.startswith(id) and ctl.ok("--quiet", "key", "rotate", id, "--grace", "0").split()[0] == id


@pytest.fixture
def rows_of_every_list(ctl, tmp_path, own_api, admin_factory):
    """Creates a row for each list command. Returns the arguments of commands that need some."""
    organization = own_api.credential.organizations[0]
    user = admin_factory.user(admin_factory.tenants[organization])
    ctl.ok("token", "create", "T", "--user", user, "--organization", organization)
    ctl.ok("listings", "create", "ZAP", "--organization", organization, "--contact", "A", "--email", "a@example.com", "--phone", "1")
    secrets = tmp_path / "secrets"
    secrets.write_text("access_token=a\napp_secret=b\n")
    secrets.chmod(0o600)
    ctl.ok("whatsapp", "number", "create", "+55 11 4000-0001", "--organization", organization, "--waba-id", "10000",
           "--phone-number-id", "77001", "--secrets", str(secrets), "--key-file", ctl.instance.env["NEOAPI_KEY_FILE"])
    ctl.ok("retention", "set", "leads", "--organization", organization, "--months", "12")
    leads = tmp_path / "leads.csv"
    leads.write_text("name,phone\nAna,+55 11 98888-0001\n")
    ctl.ok("lead", "import", str(leads), "--organization", organization)
    subscription = ok(own_api.post("webhooks", json={"url": "https://hooks.example/", "events": ["*"]}), 201)["id"]
    ok(own_api.patch(f"webhooks/{subscription}", json={"is_active": False}))
    ok(own_api.post(f"webhooks/{subscription}/test"), 201)
    portal = ctl.json("portal", "create", "plaza", "--organization", organization)["id"]
    admin_factory.insert("lead_rejected", organization_id=organization, id=new_id("lrj_"), portal_id=portal, body_hash=bytes(32),
                         body="{}", reason="name is required")
    return {"webhook deliveries": [subscription], "lead rejected": []}


def test_every_list_has_the_same_columns_as_json_and_as_a_table(ctl, rows_of_every_list):
    commands = re.findall(r"^  ([a-z]+(?: [a-z-]+)*)  +List ", ctl.ok("--help"), re.M)
    assert len(commands) >= 10 and {command for command in commands if not command.endswith(" list")} == set(rows_of_every_list)
    for command in commands:
        args = [*command.split(), *rows_of_every_list.get(command, [])]
        rows = ctl.json(*args)
        assert rows and isinstance(rows, list), command
        assert {tuple(row) for row in rows} == {tuple(rows[0])}, command
        heading = ctl.ok(*args).splitlines()[0]
        assert re.split("  +", heading) == [name.upper().replace("_", " ") for name in rows[0]]


@pytest.mark.parametrize("args", [["status"], ["doctor"], ["migrate", "--dry-run"]])
def test_json_output_is_valid(ctl, args):
    assert isinstance(json.loads(ctl.run("--json", *args)[1]), (list, dict))
