# SPDX-License-Identifier: Apache-2.0
"""The columns of the tables about WhatsApp and leads: each has a field that exports or the API have, and merges decide about each."""

import json
import re

from ctl_database import new_database, own_database  # noqa: F401
from whatsapp import PHONE

# Columns that are no fields, and fields that are made from other rows.
HIDDEN = {"lead": {"phone_at"}, "whatsapp_message": {"identity_id", "is_history"}, "whatsapp_conversation": set(), "whatsapp_opt_out": set(),
          "whatsapp_identity": {"organization_id", "number_id", "conversation_id", "phone", "boundary"}}
COMPUTED = {"whatsapp_message": {"identity", "identity_source", "reply_to_id"},
            "whatsapp_conversation": {"number_display_phone_number", "phone_number_id", "party_id", "last_message",
                                      "last_message_at", "window_open", "window_expires_at", "identities",
                                      "last_provider_message_id"}}
VALUES = {"text": "x", "timestamptz": "2026-01-31 UTC", "bool": True, "int4": 1, "int8": None, "json": "{}"}


def add_full_row(database, table, **given):
    """Inserts a row with a value in every column. Returns the columns."""
    columns = dict(database.sql(
        "select column_name, udt_name from information_schema.columns where table_schema = 'neoapi' and table_name = %s"
        " and is_identity = 'NO' and column_name <> 'representation'", table))
    values = [given.get(name, VALUES[kind]) for name, kind in columns.items()]
    database.sql(f"insert into neoapi.{table} ({', '.join(columns)}) values ({', '.join(['%s'] * len(values))})", *values)
    return set(columns)


def test_merging_decides_about_every_column_of_a_conversation(own_database):
    """A column that neoapi.whatsapp_assign does not merge, and that is not derived from identities or messages, loses the others' values."""
    unmerged = {"organization_id", "id", "number_id", "updated_at"}
    derived = {"contact_wa_id", "contact_bsuid", "contact_name", "last_inbound_at", "unread_count", "opted_out_at", "preference_at"}
    (code,), = own_database.sql("select prosrc from pg_proc where oid = 'neoapi.whatsapp_assign'::regproc")
    merged = set(re.findall(r"(?:\bset|,)\s+(\w+) = ", code.split("update neoapi.whatsapp_conversation c", 1)[1].split("from (", 1)[0]))
    columns = {name for name, in own_database.sql(
        "select column_name from information_schema.columns where table_schema = 'neoapi' and table_name = 'whatsapp_conversation'")}
    assert columns == unmerged | derived | merged and len(columns) == len(unmerged) + len(derived) + len(merged)


def test_a_merge_and_a_contact_decide_about_every_column_of_a_lead(own_database):
    """A column that they do not take over from the other lead or from a portal's further contact stays as it is."""
    row = {"organization_id", "id", "tenant_id", "created_at", "created_by", "phone_at", "representation"}
    stays = {"lead_merge": {"name", "source", "status", "lost_reason"},
             "portal_receive": {"name", "phone", "whatsapp_user_id", "source", "party_id", "consent", "external_id", "merged_lead_ids"}}
    columns = {name for name, in own_database.sql(
        "select column_name from information_schema.columns where table_schema = 'neoapi' and table_name = 'lead'")}
    for function, kept in stays.items():
        (code,), = own_database.sql(f"select prosrc from pg_proc where oid = 'neoapi.{function}'::regproc")
        code = re.sub("--.*", "", code)
        written = re.search(r"update neoapi.lead \w\s+(set (?:phone|message) = .*?)\s+where ", code, re.DOTALL)[1]
        taken = set(re.findall(r"(?:\bset|,)\s+(\w+) = ", written))
        assert columns == row | kept | taken and len(columns) == len(row) + len(kept) + len(taken), function


def test_the_tables_have_the_columns_of_the_fields(own_database):
    """Of leads, opt-outs, conversations, messages and identities: a field without a column, or a column without a field, fails."""
    organization = own_database.json("organization", "create", "B", "--tenant",
                                     own_database.json("tenant", "create", "A")["id"])["id"]
    prefixes = {"number_id": "wan_", "lead_id": "led_", "party_id": "pty_", "broker_id": "brk_", "conversation_id": "wac_"}
    own = {"organization_id": organization, **{name: prefix + "0" * 26 for name, prefix in prefixes.items()}}
    own_database.sql("insert into neoapi.whatsapp_number select %s, %s, '10001', '10001', 'x', '', '', sha256('x')",
                     organization, own["number_id"])
    own_database.sql("insert into neoapi.party (organization_id, id, tenant_id, kind, name, roles, created_at, updated_at, created_by,"
                     " updated_by) values (%s, %s, 'x', 'person', 'Ana', '{owner}', now(), now(), 'x', 'x')", organization,
                     own["party_id"])
    own_database.sql("insert into neoapi.broker (organization_id, id, tenant_id, name, visibility, created_at, updated_at, created_by, updated_by)"
                     " values (%s, %s, 'x', 'Ana', 'private', now(), now(), 'x', 'x')", organization, own["broker_id"])
    columns = {}

    def add(table, **given):
        columns[table] = add_full_row(own_database, table, **{**own, **given})

    add("lead", id=own["lead_id"], phone=PHONE, email="a@example.com")
    add("whatsapp_conversation", id=own["conversation_id"], triage="pending")
    for source in "message x", "x":
        add("whatsapp_identity", source=source, kind="lead", preference="stop")
    identity, = own_database.sql("select min(id) from neoapi.whatsapp_identity")[0]
    message = {"direction": "inbound", "source": "api", "status": "sent", "actor_type": "user", "identity_id": identity}
    add("whatsapp_message", **message, id="wam_" + "0" * 26, refers_to=None)
    add("whatsapp_message", **message, id="wam_" + "1" * 26, provider_message_id="y")
    add("whatsapp_opt_out", id="wao_" + "1" * 26, phone_number_id="10002")
    fields = {}
    for line in own_database.ok("export", organization).splitlines()[1:]:
        (kind, row), = json.loads(line).items()
        fields.setdefault(kind, set()).update(row)
        for one in [row.get("identity"), *row.get("identities", [])]:
            fields.setdefault("whatsapp_identity", set()).update(one or {})
    for kind in "whatsapp_conversation", "whatsapp_message":
        for row, in own_database.sql(f"select neoapi.{kind}_json(t)::json from neoapi.{kind} t"):
            fields[kind] |= set(row)
    for kind, hidden in HIDDEN.items():
        assert fields[kind] - COMPUTED.get(kind, set()) == columns[kind] - hidden, kind
        assert COMPUTED.get(kind, set()) <= fields[kind], kind
