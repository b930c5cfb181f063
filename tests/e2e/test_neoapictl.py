# SPDX-License-Identifier: Apache-2.0
"""neoapictl: rows, keys and tokens, and the command line."""

import contextlib
import hashlib
import os
import re
import select
import subprocess
import zlib

import psycopg2
import pytest
from psycopg2.extensions import make_dsn
from ctl_database import TIMEOUT_S, UNKNOWN_ULID, db  # noqa: F401 (a fixture)

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def organization(db):
    db.tenant = db.json("tenant", "create", "Imobiliária São João")["id"]
    return db.json("organization", "create", "--tenant", db.tenant, "Centro")["id"]


# ---------------------------------------------------------------- rows


def test_added_rows_are_listed(db):
    db.ok("plan", "create", "big", "--requests", "1000000", "--window", "60")
    plans = {plan["name"]: plan for plan in db.json("plan", "list")}
    assert {"requests": 600, "window_seconds": 60, "subscriptions": 50, "concurrent_requests": 50,
            "idempotency_bytes": 1000000000, "deliveries_per_hour": 100000}.items() <= plans["default"].items()
    assert plans["big"] == {**plans["default"], "name": "big", "requests": 1000000}  # defaults of the command and of the schema
    tenant = db.json("tenant", "create", "Ação & \"Filhos\"; drop table neoapi.tenant --", "--plan", "big")["id"]
    listed, = [row for row in db.json("tenant", "list") if row["id"] == tenant]
    assert listed["name"] == "Ação & \"Filhos\"; drop table neoapi.tenant --" and listed["plan"] == "big"
    organization = db.json("organization", "create", "Centro", "--tenant", tenant)["id"]
    assert [row["id"] for row in db.json("organization", "list", "--tenant", tenant)] == [organization]
    user = db.json("user", "create", "Ana", "--tenant=" + tenant, "--email=ana@example.com", "--role=org_editor")["id"]
    listed, = db.json("user", "list", "--tenant", tenant)
    assert (listed["id"], listed["email"], listed["role"]) == (user, "ana@example.com", "org_editor")
    assert db.json("tenant", "change", tenant, "--plan", "default") == {"id": tenant}
    assert [row["plan"] for row in db.json("tenant", "list") if row["id"] == tenant] == ["default"]


def test_a_text_table_is_aligned(db, organization):
    db.ok("organization", "create", "É o maior de todos os nomes", "--tenant", db.tenant)
    head, *rows = db.ok("organization", "list").splitlines()
    column = head.index("CREATED AT")
    assert head.startswith("ID ") and len(rows) > 1
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", row[column:]) and row[column - 1] == " " for row in rows)


@pytest.mark.parametrize("conninfo", ["host=/nowhere password=sesame", "postgresql://neoapi:sesame@127.0.0.1:1/neoapi"])
def test_a_password_on_the_command_line_is_refused(db, conninfo):
    said = db.refused("--database", conninfo, "tenant", "list")
    assert "--database must not have a password" in said and "sesame" not in said


def test_inconsistent_arguments_are_refused_with_a_reason(db, organization):
    tenant, missing = db.tenant, "tnt_" + UNKNOWN_ULID
    db.ok("user", "create", "Bia", "--tenant", tenant, "--email", "bia@example.com", "--role", "org_viewer")
    assert "already" in db.refused("user", "create", "B", "--tenant", tenant, "--email", "BIA@example.com", "--role", "org_admin")
    assert "already" in db.refused("plan", "create", "default", "--requests", "1", "--window", "1")
    assert "no such plan" in db.refused("tenant", "create", "X", "--plan", "none")
    assert "no such plan" in db.refused("tenant", "change", tenant, "--plan", "none")
    assert "no such tenant" in db.refused("tenant", "change", missing, "--plan", "default")
    assert "no such tenant" in db.refused("organization", "create", "X", "--tenant", missing)
    assert "no such tenant" in db.refused("user", "create", "X", "--tenant", missing, "--email", "x@y.br", "--role", "org_admin")
    assert "no such organization" in db.refused("key", "create", "X", "--organization", "org_" + UNKNOWN_ULID, "--role",
                                                "org_admin")
    assert "no such user" in db.refused("token", "create", "X", "--user", "usr_" + UNKNOWN_ULID, "--organization", organization)
    assert "no such key" in db.refused("key", "revoke", "nbr_" + UNKNOWN_ULID)


# ---------------------------------------------------------------- keys and tokens


def stored(db, made):
    return db.sql("select secret_hash, scopes, role, tenant_id from neoapi.credential where id = %s", made["id"])[0]


def assert_has_form(made, prefix):
    """The documented format, computed independently: <id>_<43 digits><CRC-32 in 6 digits>"""
    assert re.fullmatch(prefix + "_[0-7][0-9a-hjkmnp-tv-z]{25}_[0-9A-Za-z]{49}", made["secret"])
    assert made["secret"].startswith(made["id"] + "_")
    check = 0
    for digit in made["secret"][74:]:
        check = check * 62 + BASE62.index(digit)
    assert check == zlib.crc32(made["secret"][:74].encode())


def test_a_key_is_shown_once_and_kept_as_a_hash(db, organization):
    made = db.json("key", "create", "Portal", "--organization", organization, "--role", "org_editor")
    assert_has_form(made, "nbr")
    secret_hash, scopes, role, tenant = stored(db, made)
    assert bytes(secret_hash) == hashlib.sha256(made["secret"][31:74].encode()).digest()
    assert (scopes, role, tenant) == (None, "org_editor", db.tenant)
    assert made["secret"][31:74] not in db.ok("key", "list") + db.ok("key", "list", "--json")


def test_the_text_output_says_that_a_key_is_shown_once(db, organization):
    out = db.ok("key", "create", "Portal", "--organization", organization, "--role", "org_admin")
    assert re.search(r"^secret +nbr_\w{76}$", out, re.M) and "once" in out


def test_a_key_can_have_fewer_scopes_than_its_role_but_not_more(db, organization):
    create = ("key", "create", "X", "--organization", organization, "--role")
    made = db.json(*create, "org_viewer", "--scope", "parties:read", "--scope", "brokers:read")
    assert stored(db, made)[1] == ["brokers:read", "parties:read"]
    made = db.json(*create, "org_viewer", "--scope", "parties:read_masked")
    assert stored(db, made)[1] == ["parties:read_masked"]
    assert "one of" in db.refused(*create, "org_admin", "--scope", "audit:read_masked", code=2)
    assert "brokers:write" in db.refused(*create, "org_viewer", "--scope", "brokers:write", code=2)
    assert "webhooks:write" in db.refused(*create, "org_editor", "--scope", "webhooks:write", code=2)
    assert "one of" in db.refused(*create, "org_admin", "--scope", "brokers:delete", code=2)


def test_revoking_is_permanent_and_idempotent(db, organization):
    made = db.json("key", "create", "X", "--organization", organization, "--role", "org_admin")
    assert db.json("key", "revoke", made["id"]) == {"id": made["id"]}
    first, = [row for row in db.json("key", "list", "--organization", organization) if row["id"] == made["id"]]
    assert first["revoked_at"]
    assert re.fullmatch(rf"id +{made['id']}\nRevoked\. It has taken effect on all servers\.\n", db.ok("key", "revoke", made["id"]))
    assert first in db.json("key", "list", "--organization", organization)


def test_an_unconfirmed_revocation_has_its_own_exit_status(db, organization):
    """A listener holds a shared advisory lock with its position in the log; this one does not advance."""
    made = db.json("key", "create", "X", "--organization", organization, "--role", "org_admin")
    with contextlib.closing(psycopg2.connect(db.runtime_dsn)) as listener, listener.cursor() as cursor:
        cursor.execute("select pg_advisory_lock_shared(hashtext('neoapi_credentials'), 1)")
        status, out, err = db.run("key", "revoke", made["id"])
    assert status == 4 and made["id"] in out and "not every server has confirmed it" in out and not err
    assert db.json("key", "list", "--organization", organization)[0]["revoked_at"]
    assert ", 4 stored" in db.ok("--help")


def test_a_token_has_its_organizations_in_order(db, organization):
    other = db.json("organization", "create", "Praia", "--tenant", db.tenant)["id"]
    user = db.json("user", "create", "Caio", "--tenant", db.tenant, "--email", "caio@example.com", "--role", "org_admin")["id"]
    create = ("token", "create", "CLI", "--user", user, "--organization")
    made = db.json(*create, other, "--organization", organization)
    assert_has_form(made, "pat")
    listed, = db.json("token", "list", "--user", user)
    assert listed["allowed_organization_ids"] == [other, organization] and listed["revoked_at"] is None
    foreign = db.json("organization", "create", "Fora", "--tenant", db.json("tenant", "create", "Other")["id"])["id"]
    assert "not of the user's tenant" in db.refused(*create, foreign)
    assert "twice" in db.refused(*create, other, "--organization", other)
    assert len(db.json("token", "list", "--user", user)) == 1
    db.ok("token", "revoke", made["id"])
    assert db.json("token", "list", "--user", user)[0]["revoked_at"]


def test_every_change_of_credentials_is_notified(db, organization):
    listener = psycopg2.connect(db.runtime_dsn)
    listener.autocommit = True
    try:
        listener.cursor().execute("listen neoapi_credentials")
        made = db.json("key", "create", "X", "--organization", organization, "--role", "org_admin")
        for action in (None, ("key", "revoke", made["id"]), ("tenant", "change", db.tenant, "--plan", "default")):
            if action:
                db.ok(*action)
            assert select.select([listener], [], [], TIMEOUT_S)[0], action
            listener.poll()
            assert listener.notifies, action
            listener.notifies.clear()
    finally:
        listener.close()


@pytest.mark.parametrize("stdout", ["closed", "full", "gone"])
def test_a_key_whose_secret_cannot_be_written_is_not_created(db, organization, stdout):
    before = db.json("key", "list", "--organization", organization)
    reader, writer = os.pipe()
    os.close(reader)  # writer: a pipe without a reader
    with open("/dev/full", "w") as full, open(writer, "w") as gone:
        more = {"closed": {"stdout": None, "preexec_fn": lambda: os.close(1)},
                "full": {"stdout": full},
                "gone": {"stdout": gone}}
        said = db.refused("key", "create", "X", "--organization", organization, "--role", "org_admin", **more[stdout])
    assert "could not be written" in said
    assert db.json("key", "list", "--organization", organization) == before


# ---------------------------------------------------------------- the command line


@pytest.mark.parametrize("args", [
    [],
    ["frobnicate"],
    ["key"],
    ["key", "frobnicate"],
    ["key", "create", "X"],
    ["key", "revoke"],
    ["key", "revoke", "brk_" + UNKNOWN_ULID],
    ["key", "revoke", "nbr_" + UNKNOWN_ULID, "more"],
    ["key", "list", "--organization"],
    ["key", "list", "--organization", "org_1"],
    ["key", "list", "--frobnicate"],
    ["--organization", "org_" + UNKNOWN_ULID, "key", "list"],
    ["tenant", "create", ""],
    ["tenant", "create", "   "],
    ["tenant", "create", "x" * 201],
    ["tenant", "create", "line\nline"],
    ["tenant", "create", "\x1b[31mred"],
    ["tenant", "create", b"\xff\xfe"],
    ["tenant", "create", "X", "--plan", "No Such"],
    ["plan", "create", "p", "--requests", "0", "--window", "60"],
    ["plan", "create", "p", "--requests", "1e3", "--window", "60"],
    ["plan", "create", "p", "--requests", "99999999999999999999", "--window", "60"],
    ["plan", "create", "p", "--requests", "1", "--requests", "2", "--window", "60"],
    ["plan", "create", "p", "--requests", "1", "--window", "86401"],
    ["user", "create", "X", "--tenant", "tnt_" + UNKNOWN_ULID, "--email", "not an address", "--role", "org_admin"],
    ["user", "create", "X", "--tenant", "tnt_" + UNKNOWN_ULID, "--email", "a@b.br", "--role", "root"],
    ["setup", "--database-name", "No-Such"],
    ["--json=yes", "tenant", "list"],
    ["--database=", "tenant", "list"],
])
def test_invalid_arguments_are_refused_and_change_nothing(db, args):
    before = db.json("tenant", "list"), db.json("plan", "list")
    db.refused(*args, code=2)
    assert (db.json("tenant", "list"), db.json("plan", "list")) == before


def test_a_name_may_have_200_characters(db):
    tenant = db.json("tenant", "create", "é" * 200)["id"]
    assert [row["name"] for row in db.json("tenant", "list") if row["id"] == tenant] == ["é" * 200]


def test_a_name_after_two_dashes_may_begin_with_a_dash(db):
    db.ok("tenant", "create", "--", "-dash")
    assert "-dash" in [row["name"] for row in db.json("tenant", "list")]


def test_every_command_has_help_without_a_database(db):
    nowhere = "host=/nonexistent"
    everything = db.ok("--help", dsn=nowhere)
    commands = re.findall(r"^  ([a-z]+(?: [a-z-]+)?)  ", everything, re.M)
    assert len(commands) > 15
    for command in commands:
        words = command.split()
        text = db.ok(*words, "--help", dsn=nowhere)
        assert db.ok("help", *words, dsn=nowhere) == text
        assert text.startswith("Usage: neoapictl") and " ".join(words) in text.splitlines()[0]
        assert words[0] in db.ok(words[0], "-h", dsn=nowhere)
    assert re.fullmatch(r"neoapictl \d+\.\d+\.\d+\n", db.ok("--version", dsn=nowhere))


def test_an_action_has_the_same_verb_in_all_groups(db):
    verbs = {line.split("  ")[0].split()[-1] for line in
             re.findall(r"^  ((?:plan|tenant|organization|user|key|token|whatsapp number) [a-z-]+)", db.ok("--help"), re.M)}
    assert verbs == {"create", "list", "change", "remove", "revoke", "rotate"}


@pytest.mark.parametrize("change, words", [
    ({"host": "/nonexistent"}, ["systemctl status postgresql", "NEOAPI_DATABASE", "neoapictl doctor"]),
    ({"dbname": "no_such"}, ["neoapictl setup", "--database"]),
    ({"user": "no_such"}, ["run neoapictl as root", "--database"])], ids=lambda value: " ".join(value) if isinstance(value, dict) else "")
@pytest.mark.parametrize("command", [["status"], ["key", "list"], ["migrate"]], ids=" ".join)
def test_a_database_that_cannot_be_reached_is_reported_with_the_remedy(db, command, change, words):
    said = db.refused(*command, dsn=make_dsn(db.dsn, **change))
    assert said.startswith("neoapictl: cannot connect to the database: ") and said.count("fix: ") == 1
    for word in words:
        assert word in said


def test_output_that_cannot_be_written_is_an_error(db):
    with open("/dev/full", "w") as full:
        assert "could not be written" in db.refused("tenant", "list", stdout=full)


@pytest.mark.parametrize("line, offered", [
    (["ke"], ["key"]),
    (["key", "re"], ["revoke"]),
    (["--database", "service=x", "token", "c"], ["create"]),
    (["key", "create", "--r"], ["--role"]),
    (["key", "create", "--role", "org_v"], ["org_viewer"]),
    (["key", "create", "--role", "=", "org_e"], ["org_editor"]),
    (["key", "create", "--scope", "bro"], ["brokers:read", "brokers:write"]),
    (["key", "create", "--scope", "brokers", ":"], ["read", "write"]),
    (["key", "create", "--scope", "brokers", ":", "w"], ["write"]),
    (["webhook", "re"], ["recover", "retry"]),
    (["webhook", "deliveries", "--status", "f"], ["failed"]),
    (["doctor", "--key-file", "/etc/host"], ["/etc/hostname", "/etc/hosts"]),
    (["doctor", "--httpd-conf", "/etc/passw"], ["/etc/passwd"]),
    (["import", "/etc/host"], ["/etc/hostname", "/etc/hosts"]),
    (["import", "--ch"], ["--check"]),
    (["key", "rotate", "--g"], ["--grace"]),
    (["purge", "t"], ["tenant"]),
])
def test_bash_completes(db, tmp_path, line, offered):
    script = tmp_path / "completion"
    script.write_text(db.ok("completion", "bash"))
    done = subprocess.run(["bash", "-c", 'source "$0"; COMP_WORDS=(neoapictl "$@"); COMP_CWORD=$#; _neoapictl neoapictl;'
                           'printf "%s\\n" "${COMPREPLY[@]}"', str(script), *line],
                          text=True, capture_output=True, timeout=TIMEOUT_S)
    assert done.stderr == ""
    assert set(offered) <= set(done.stdout.split()) and len(done.stdout.split()) < 6
