# SPDX-License-Identifier: Apache-2.0
"""`neoapictl export` and `import` of leads, opt-outs, conversations and messages: what is restored, moved and merged, which preference
applies then, and errors."""

import itertools
import json
import signal
import time

import pytest

from client import Api, ok, refused
from ctl_database import new_database, own_database  # noqa: F401
from ctl_instance import Ctl
from webhook_fixtures import running_instance
from admin_factory import AdminFactory
from wait import eventually
from whatsapp import (HERE, PATH, PHONE, SHORT, TIMEOUT, WhatsAppOrg, meta, module_admin_factory,  # noqa: F401
                      module_instance, org, provider)

from callbacks import message, preference, status, system, text

BSUID, OTHER_BSUID = "BR.13491208655302741918", "BR.22222222222222222222"
OTHER = "5521987654321"
MOVED = "5531987654321"
SILENT = "5541987654321"
names = itertools.count(1)


@pytest.fixture(scope="module")
def second_instance(provider):
    """Another deployment with another database."""
    with running_instance("elsewhere", HERE.format(url=provider.url, timeout=TIMEOUT, path=PATH)) as instance:
        yield instance


@pytest.fixture(scope="module")
def second_admin_factory(second_instance):
    return AdminFactory(second_instance)


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "all.ndjson")


def export(org, file):
    """Exports to the file. Returns its lines without the header."""
    org.ctl("export", org.organization, "--output", file)
    with open(file) as lines:
        return lines.read().splitlines()[1:]


def import_file(org, file, *options):
    return org.ctl("import", file, "--organization", org.organization, *options)


def import_lines(org, *rows):
    """Imports rows of another system."""
    return org.ctl("import", "-", "--organization", org.organization,
                   given="".join(json.dumps(row) + "\n" for row in rows))


def add_again(org, number):
    """Adds the same number again, with a new id."""
    return org.ctl("whatsapp", "number", "create", number.display, "--organization", org.organization,
                   "--phone-number-id", number.id, "--waba-id", number.account, "--secrets", "-",
                   "--key-file", org.instance.env["NEOAPI_KEY_FILE"],
                   given=f"access_token={number.token}\napp_secret={number.secret}\n")["id"]


def find_lead(org, phone):
    return next(lead["id"] for lead in org.leads() if lead["phone"] == phone)


def assert_stopped(org, phone=PHONE, **more):
    """The lead has opted out, and no message is sent."""
    before = len(org.meta.sends)
    refused(org.start(find_lead(org, phone), **more), 409, "conflict.opted_out")
    assert len(org.meta.sends) == before


def opt_outs(lines):
    return [json.loads(line)["whatsapp_opt_out"] for line in lines if line.startswith('{"whatsapp_opt_out"')]


def stop(contact=PHONE, **more):
    return {"whatsapp_opt_out": {"id": f"stop {next(names)}", "contact_phone": contact, "opted_out_at": "2026-01-31T10:00:00Z",
                                 **more}}


# ---------------------------------------------------------------- leads and opt-outs


def test_leads_and_opt_outs_are_restored_unchanged(org, file):
    party = ok(org.api.post("parties", {"kind": "person", "name": "Ana", "roles": ["buyer"]}), 201)["id"]
    org.ctl("lead", "import", "-", "--organization", org.organization, given="name,phone,email,party_id\n"
            f"Ana Conceição,+1 415 555 2671,ana@example.com,{party}\nBia,11 98765-4321,,\nCaio,+351 912 345 678,,\n")
    org.notify(text("PARAR", PHONE), preference("stop", user_id=BSUID))
    leads, before = org.leads(), export(org, file)
    assert {line.split('"')[1] for line in before} == {"lead", "party", "whatsapp_opt_out", "whatsapp_conversation", "whatsapp_message"}
    org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
    assert org.leads() == [] and opt_outs(export(org, file + ".empty")) == []
    done = import_file(org, file)
    assert (done["rows"], done["created"], done["unchanged"]) == (9, 9, 0)
    assert export(org, file + ".again") == before and org.leads() == leads
    again = import_file(org, file)
    assert (again["created"], again["changed"], again["unchanged"]) == (0, 0, 9)
    refused(org.api.delete(f"parties/{party}"), 409, "conflict.in_use")  # the references are restored, too


def test_existing_leads_and_opt_outs_are_kept(org, file):
    org.begin(org.lead())
    org.notify(text("PARAR", PHONE))
    before = export(org, file)
    assert len(opt_outs(before)) == 1
    assert import_file(org, file)["unchanged"] == 5 and export(org, file) == before


def test_an_opt_out_survives_a_purge_and_an_import(org, file):
    ana, bia = org.lead(), org.lead(OTHER, "Bia")
    org.begin(ana)
    org.begin(bia)
    org.notify(text("PARAR", PHONE))
    export(org, file)
    org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
    import_file(org, file)
    assert_stopped(org)
    assert [one["opted_out_at"] is not None for one in org.conversations()] == [True, False]
    assert not org.begin(find_lead(org, OTHER), 200)[0]["created"]


@pytest.mark.parametrize("first", ["the number", "the import"])
def test_a_purged_organization_is_restored_with_its_number(org, file, first):
    org.lead()
    org.notify(text("PARAR", PHONE))
    export(org, file)
    tenant = org.api.credential.tenant
    org.ctl("purge", "organization", org.organization, "--yes")
    org.ctl("organization", "create", "Back", "--tenant", tenant, "--id", org.organization)
    org.api = Api(org.instance, org.admin_factory.key(org.organization))
    if first == "the number":
        add_again(org, org.number)
    import_file(org, file)
    if first == "the import":
        add_again(org, org.number)
    assert_stopped(org)


@pytest.mark.parametrize("is_same_number", [True, False])
def test_an_opt_out_applies_in_another_deployment(org, second_instance, second_admin_factory, meta, file,
                                                  is_same_number):
    """It also applies to another number of the organization there."""
    org.lead()
    org.lead(OTHER, "Bia")
    org.notify(text("PARAR", PHONE, at=time.time() - 60))
    export(org, file)
    there = WhatsAppOrg(second_instance, second_admin_factory, meta, with_number=False)
    if is_same_number:
        add_again(there, org.number)
        there.number = org.number
    else:
        there.number, *_ = there.add_number()
    done = import_file(there, file)
    assert (done["created"], done["skipped_whatsapp"]) == ((5, 0) if is_same_number else (3, 2))
    assert {lead["phone"] for lead in there.leads()} == {PHONE, OTHER}
    assert not {lead["id"] for lead in there.leads()} & {lead["id"] for lead in org.leads()}
    assert_stopped(there)
    there.begin(find_lead(there, OTHER))
    there.notify(text("VOLTAR", PHONE))
    there.begin(find_lead(there, PHONE), 200)


# ---------------------------------------------------------------- conversations


def read_all(org):
    """All conversations with their messages as returned by the API, without the id of the number."""
    items = ok(org.api.get("whatsapp/conversations"))["items"]
    return [{**one, "number_id": None, "messages": ok(org.api.get(f"whatsapp/conversations/{one['id']}/messages"))["items"]}
            for one in items]


def create_sample_conversations(org):
    """Creates conversations with every kind of content. Returns the Send and the lead of the first one."""
    now, lead = int(time.time()), org.lead()
    org.lead(OTHER, "Bia")
    _, send = org.begin(lead, template="boas_vindas", template_parameters=["Carla", "Horizonte"])
    first = text(" \u0085 ", PHONE, at=now - 90)
    org.notify(status(send, "delivered", PHONE), first, message("document", PHONE, at=now - 80, content={
        "id": "1908647269898587", "mime_type": "application/pdf", "filename": "a.pdf", "caption": "Proposta\n2"}))
    org.notify(message("edit", PHONE, content={"original_message_id": first["id"],
                                               "message": {"type": "text", "text": {"body": "Domingo"}}}))
    org.notify(system("user_changed_number", PHONE, new={"wa_id": MOVED}, at=now - 60), text("Novo número", MOVED, at=now - 50))
    org.notify(text("Estranho", PHONE, at=now - 40), text("PARAR", OTHER, at=now - 30), text("Oi", user_id=BSUID, at=now - 20))
    id = ok(org.api.get("whatsapp/conversations"))["items"][-1]["id"]
    theirs = ok(org.api.get(f"whatsapp/conversations/{id}/messages"))["items"][0]["id"]
    ok(org.send(id, type="document", media_url="https://example.com/a.pdf", media_filename="a.pdf", reply_to_id=theirs), 201)
    for one in ok(org.api.get("whatsapp/conversations"))["items"][:2]:
        ok(org.api.patch(f"whatsapp/conversations/{one['id']}", {"triage": "dismissed", "last_read_at": one["last_message_at"]}))
    return send, lead


def test_conversations_are_restored_unchanged(org, file):
    send, lead = create_sample_conversations(org)
    before, lines = read_all(org), export(org, file)
    assert len(before) == 4
    for number_is_new in (False, True):
        org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
        assert read_all(org) == [] == org.leads()
        if number_is_new:
            org.ctl("whatsapp", "number", "remove", org.number_id)
            done = import_file(org, file)
            assert done["skipped_whatsapp"] == sum("whatsapp_c" in line or "whatsapp_m" in line for line in lines) > 10
            org.number_id = add_again(org, org.number)
        import_file(org, file)
        assert read_all(org) == before and export(org, file + ".again") == lines
        assert import_file(org, file)["created"] == 0
    # Later callbacks and messages belong to the restored conversations.
    org.notify(status(send, "read", PHONE), text("Ainda aí?", MOVED))
    after = {one["id"]: one for one in read_all(org)}
    assert set(after) == {one["id"] for one in before}
    moved, = (one for one in after.values() if one.get("contact_wa_id") == MOVED)
    assert moved["messages"][0]["body"] == "Ainda aí?"
    made, _ = org.begin(lead, 200)  # the lead got its phone after the change of number
    assert made["conversation"]["contact_wa_id"] == PHONE
    assert "read" in [one["status"] for one in after[made["conversation"]["id"]]["messages"]]
    assert_stopped(org, OTHER)


def test_conversations_move_to_another_deployment(org, second_instance, second_admin_factory, meta, file):
    """They get new ids, like all resources of another organization."""
    create_sample_conversations(org)
    before = read_all(org)
    export(org, file)
    there = WhatsAppOrg(second_instance, second_admin_factory, meta, with_number=False)
    add_again(there, org.number)
    there.number = org.number
    import_file(there, file)
    new = ("id", "conversation_id", "lead_id", "last_message", "messages")

    def without_ids(found):
        return sorted(({**{name: value for name, value in one.items() if name not in new},
                        "bodies": sorted((message["occurred_at"], message.get("body", ""), message["status"])
                                         for message in one["messages"])}
                       for one in found), key=str)

    assert without_ids(read_all(there)) == without_ids(before)
    assert_stopped(there, OTHER)
    there.begin(find_lead(there, PHONE), 200)
    assert len(read_all(there)) == len(before)


def test_imported_conversations_merge_with_those_that_began_since(org, file):
    org.notify(text("Antes", PHONE, at=int(time.time()) - 60))
    old, = read_all(org)
    export(org, file)
    org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
    org.notify(text("Depois", SHORT, at=int(time.time())))
    import_file(org, file)
    found, = read_all(org)
    assert [one["body"] for one in found["messages"]] == ["Depois", "Antes"] and found["unread_count"] == 2
    assert old["messages"][0] in [{**one, "conversation_id": old["id"]} for one in found["messages"]]


def test_imported_contacts_without_messages_merge_with_those_that_began_since(org, file):
    """Contacts that have sent only a preference. One is a lead, so that both conversations have the same opt-out."""
    now, ana = int(time.time()), org.lead()
    org.notify(preference("resume", PHONE, BSUID, at=now - 60), preference("stop", OTHER, OTHER_BSUID, at=now - 60))
    rows = len(export(org, file))
    org.ctl("whatsapp", "number", "remove", org.number_id, "--with-conversations")
    org.number_id = add_again(org, org.number)
    org.begin(ana)
    org.notify(text("Oi", OTHER, at=now - 10))
    import_file(org, file)
    org.notify(text("Sou eu", user_id=BSUID), text("Eu", user_id=OTHER_BSUID))
    after = read_all(org)
    assert sorted((one["contact_bsuid"], len(one["messages"]), "opted_out_at" in one) for one in after) == [
        (BSUID, 2, False), (OTHER_BSUID, 2, True)]
    for _ in range(2):
        done = import_file(org, file)
        assert (done["created"], done["changed"], done["unchanged"], done["skipped_whatsapp"]) == (0, 0, rows, 0)
        assert read_all(org) == after


def test_repeated_imports_into_a_number_that_was_removed_find_the_conversations(org, file):
    """Each contact has one conversation with all messages, and further imports add nothing."""
    now, lead, silent = int(time.time()), org.lead(), org.lead(SILENT, "Cid")
    org.lead(OTHER, "Bia")
    org.begin(lead)
    org.begin(silent)
    for at in (now - 90, now - 80, now - 70):
        org.notify(text("Antes", PHONE, at=at), text("Antes", OTHER, at=at), text("Antes", MOVED, at=at))
    rows = len(export(org, file))
    org.ctl("whatsapp", "number", "remove", org.number_id, "--with-conversations")
    org.number_id = add_again(org, org.number)
    org.begin(lead)
    org.begin(silent)
    org.notify(text("Depois", OTHER, at=now - 10), text("Depois", MOVED, at=now - 10))
    assert import_file(org, file)["skipped_whatsapp"] == 0
    after = read_all(org)
    assert sorted((one["contact_wa_id"], len(one["messages"])) for one in after) == [(PHONE, 5), (OTHER, 4), (MOVED, 4), (SILENT, 2)]
    for _ in range(2):
        done = import_file(org, file)
        assert (done["created"], done["changed"], done["unchanged"], done["skipped_whatsapp"]) == (0, 0, rows, 0)
        assert read_all(org) == after


# ---------------------------------------------------------------- precedence of preferences


def test_an_imported_opt_out_applies_to_an_existing_conversation(org):
    lead = org.lead()
    org.begin(lead)
    assert import_lines(org, stop())["created"] == 1
    assert_stopped(org)


def test_the_latest_preference_applies(org, file):
    """An old file does not revert a later resume, and a new file does not have the old opt-out."""
    lead = org.lead()
    org.begin(lead)
    org.notify(preference("stop", PHONE, at=time.time() - 50))
    assert len(opt_outs(export(org, file))) == 1
    org.notify(preference("resume", PHONE, at=time.time() - 20))
    assert opt_outs(export(org, file + ".resumed")) == []
    assert import_file(org, file)["unchanged"] == 4
    org.begin(lead, 200)
    assert opt_outs(export(org, file + ".resumed")) == []


def test_an_old_resume_does_not_end_a_newer_opt_out_after_an_import(org, file):
    org.lead()
    now = int(time.time())
    for at in (now - 90, now - 30):
        org.notify(preference("stop", PHONE, at=at))
    export(org, file)
    org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
    import_file(org, file)
    org.notify(preference("resume", PHONE, at=now - 60))
    assert_stopped(org)
    org.notify(preference("resume", PHONE, at=now - 10))
    org.begin(find_lead(org, PHONE), 200)


def test_a_resume_ends_an_imported_opt_out_without_a_new_message(org, file):
    lead = org.lead()
    org.begin(lead)
    import_lines(org, stop(phone_number_id=org.number.id))
    org.notify(preference("resume", PHONE, at=time.time() - 20))
    assert opt_outs(export(org, file)) == []
    org.begin(lead, 200)


def test_an_opt_out_has_the_later_of_its_timestamps(org):
    org.begin(org.lead())
    org.notify(preference("resume", PHONE, at=time.time() - 60))
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 30))
    import_lines(org, stop(phone_number_id=org.number.id, opted_out_at=moment, preference_at="2026-01-31T10:00:00Z"))
    assert_stopped(org)


@pytest.mark.parametrize("given, known",
                         [(PHONE, SHORT), (SHORT, PHONE), ("11 98765-4321", PHONE), ("+55 11 98765-4321", SHORT)])
def test_spellings_of_one_number_are_one_contact(org, given, known):
    org.lead(known)
    import_lines(org, stop(given))
    assert_stopped(org, known)


def test_a_contact_without_a_phone_is_recognised_by_user_id(org, file):
    org.notify(text("PARAR", user_id=BSUID))
    one, = opt_outs(export(org, file))
    assert one["contact_bsuid"] == BSUID and "contact_phone" not in one
    org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
    import_file(org, file)
    org.notify(text("Oi", user_id=BSUID))
    assert org.conversation()["opted_out_at"]


def test_a_contact_with_a_new_number_is_still_the_lead(org, file):
    lead = org.lead()
    org.begin(lead)
    org.notify(system("user_changed_number", PHONE, new={"wa_id": OTHER}))
    org.notify(text("PARAR", OTHER))
    assert opt_outs(export(org, file))[0]["lead_id"] == lead
    org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
    import_file(org, file)
    assert_stopped(org)


def test_a_resume_applies_to_one_contact_of_a_lead(org, file):
    """A lead whose number an import changes has conversations with both numbers."""
    lead = org.lead()
    org.begin(lead)
    org.notify(text("Oi", OTHER, at=time.time() - 60))
    org.notify(text("PARAR", PHONE, at=time.time() - 50))
    import_lines(org, {"lead": {"id": lead, "name": "Carla Dias", "phone": "+" + OTHER}})
    assert_stopped(org, OTHER)
    org.notify(text("VOLTAR", OTHER))
    org.begin(lead, 200)
    one, = opt_outs(export(org, file))
    assert one["contact_phone"] == "+" + PHONE


def test_opt_outs_are_separate_for_each_number(org):
    lead = org.lead()
    second, second_id, _ = org.add_number()
    import_lines(org, stop(phone_number_id=org.number.id))
    assert_stopped(org, number_id=org.number_id)
    org.begin(lead, number_id=second_id)
    import_lines(org, stop())
    assert_stopped(org, number_id=second_id)


def test_opt_outs_are_separate_for_each_organization(org, module_instance, module_admin_factory, meta):
    neighbour = WhatsAppOrg(module_instance, module_admin_factory, meta)
    neighbour.lead()
    org.lead()
    import_lines(org, stop())
    neighbour.begin(find_lead(neighbour, PHONE))


def test_an_erased_contact_is_deleted_completely(org, file):
    org.begin(org.lead())
    org.notify(text("PARAR", PHONE))
    org.lead(OTHER, "Bia")
    import_lines(org, stop(OTHER))
    assert len(opt_outs(export(org, file))) == 2
    for phone in (PHONE, OTHER):
        org.ctl("lead", "remove", find_lead(org, phone), "--with-conversations")
    assert opt_outs(export(org, file)) == []


def test_removing_a_lead_keeps_its_opt_out(org):
    org.lead()
    import_lines(org, stop())
    org.ctl("lead", "remove", find_lead(org, PHONE))
    org.lead()
    assert_stopped(org)


def test_removing_an_organization_with_opt_outs_is_refused(module_instance, module_admin_factory, meta):
    organization = WhatsAppOrg(module_instance, module_admin_factory, meta, with_number=False)
    import_lines(organization, stop())
    organization.admin_factory.ctl("key", "revoke", organization.api.credential.id)
    assert "it still has 1 WhatsApp opt-out" in Ctl(module_instance).refused("organization", "remove",
                                                                             organization.organization)


# ---------------------------------------------------------------- opt-outs of conversations


def test_a_lead_and_a_conversation_s_opt_out_are_exported(own_database):
    organization = own_database.json("organization", "create", "B", "--tenant",
                                     own_database.json("tenant", "create", "A")["id"])["id"]
    own_database.sql(
        "insert into neoapi.whatsapp_number select %s, 'wan_' || repeat('0', 26), '10001', '10001', 'x', '', '', sha256('x')",
        organization)
    own_database.sql(
        "insert into neoapi.lead (organization_id, id, tenant_id, name, phone, source, status, created_at, updated_at, created_by,"
        " updated_by) values (%s, 'led_' || repeat('0', 26), 'x', 'Ana', %s, 'import', 'new', now(), now(), 'x', 'x')",
        organization, PHONE)
    own_database.sql(
        "insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_wa_id, triage, opted_out_at,"
        " preference_at, created_at, updated_at) select %s, 'wac_' || repeat(n, 26), 'wan_' || repeat('0', 26), '551190000000' || n,"
        " 'pending', case n when '1' then timestamp '2026-01-31 UTC' end, '2026-01-31 UTC', now(), now()"
        " from unnest('{0,1}'::text[]) n", organization)
    _, *lines = own_database.ok("export", organization).splitlines()
    assert [json.loads(line) for line in lines if "lead" in line][0]["lead"]["phone"] == "+" + PHONE
    one, = opt_outs(lines)
    assert one == {"id": "wao_" + "1" * 26, "phone_number_id": "10001", "contact_phone": "+5511900000001",
                   "opted_out_at": "2026-01-31T00:00:00.000Z", "organization_id": organization}


# ---------------------------------------------------------------- errors


def lead(**more):
    return {"lead": {"id": f"lead {next(names)}", "name": "Ana", "phone": "11 98765-4321", **more}}


def test_errors_are_reported_with_line_and_field(org, tmp_path):
    org.lead()
    rows = [lead(phone="14155552671"), lead(phone="98765"), lead(name=" "), lead(email="no", phone=OTHER, colour="red"),
            lead(phone="+351912345678"), lead(phone="351 912 345 678"), lead(phone="+351 912345678"),
            lead(phone="+5531987654321", party_id="nobody"), lead(phone="+5541987654321", party_id="pty_" + "0" * 26),
            lead(phone=11987654321),
            lead(), {"lead": {"name": "No id", "phone": "+5551987654321"}},
            stop(opted_out_at="2199-01-01T00:00:00Z"), stop(opted_out_at=None), stop(contact="x"), stop(contact=None),
            stop(phone_number_id="+55"), stop(contact="1"), stop(contact_bsuid="a b"), stop(lead_id="led_" + "0" * 26),
            stop(lead_id="nobody's"), stop(preference_at="yesterday"), stop(opted_at="x")]
    path = tmp_path / "rows.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = Ctl(org.instance).run("--json", "import", str(path), "--organization", org.organization)
    assert code == 1
    found = {(error["line"], error["field"]) for error in json.loads(out)["errors"]}
    assert found == {(1, "phone"), (2, "phone"), (3, "name"), (4, "email"), (4, "colour"), (6, "phone"), (7, "phone"),
                     (8, "party_id"),
                     (9, "party_id"), (10, "phone"), (11, "phone"), (12, "id"), (13, "opted_out_at"), (14, "opted_out_at"),
                     (15, "contact_phone"), (16, "contact_phone"), (17, "phone_number_id"), (18, "contact_phone"),
                     (19, "contact_bsuid"), (20, "lead_id"), (21, "lead_id"), (22, "preference_at"), (23, "opted_at")}
    assert len(org.leads()) == 1
    assert org.instance.sql("select count(*) from neoapi.whatsapp_opt_out where organization_id = %s",
                            org.organization) == [(0,)]


def test_a_lead_belongs_to_one_organization(org, module_instance, module_admin_factory, meta):
    """`neoapictl lead remove` finds it by its id."""
    neighbour = WhatsAppOrg(module_instance, module_admin_factory, meta, with_number=False)
    line = json.dumps(lead(id=org.lead()))
    assert "line 1: id is used by a lead of another organization" in Ctl(module_instance).run(
        "import", "-", "--organization", neighbour.organization, stdin=line)[2]
    assert neighbour.leads() == []


def test_import_accepts_the_leads_that_lead_import_accepts(org):
    """With equal results for phones."""
    org.ctl("lead", "import", "-", "--organization", org.organization, given='name,phone\nAna Paula,(11) 98765-4321\n')
    table, = org.leads()
    org.ctl("lead", "remove", table["id"])
    import_lines(org, lead(name="Ana Paula", phone="(11) 98765-4321"))
    line, = org.leads()
    assert {**table, "id": 0, "created_at": 0} == {**line, "id": 0, "created_at": 0}


def test_an_import_with_check_writes_nothing(org, file):
    org.lead()
    org.notify(text("PARAR", PHONE))
    export(org, file)
    org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
    assert import_file(org, file, "--check") == {"rows": 4, "skipped_webhooks": 0}
    assert org.leads() == [] and opt_outs(export(org, file)) == []


def wait_for_end_of_sessions(instance):
    """Waits until neoapictl has no session in the database."""
    eventually(lambda: not instance.sql("select 1 from pg_stat_activity where usename = current_user"
                                        " and backend_type = 'client backend' and pid <> pg_backend_pid()"), "neoapictl's end")


@pytest.mark.slow
def test_a_killed_import_of_leads_can_be_resumed(org, tmp_path):
    count, path = 10_000, tmp_path / "many.ndjson"
    with open(path, "w") as lines:
        for n in range(count):
            lines.write(json.dumps({"lead": {"id": n, "name": f"Lead {n}", "phone": f"119{60_000_000 + n}"}}) + "\n")
            lines.write(json.dumps(stop(f"119{60_000_000 + n}", id=n, lead_id=n)) + "\n")

    def written():
        return org.instance.sql("select count(*) from neoapi.lead where organization_id = %s", org.organization)[0][0]

    with Ctl(org.instance).start("import", str(path), "--organization", org.organization) as process:
        eventually(lambda: written() > 500, "some rows")
        process.send_signal(signal.SIGKILL)
    wait_for_end_of_sessions(org.instance)
    so_far = written()
    assert 500 < so_far < count
    done = import_file(org, str(path))
    assert (done["rows"], done["created"], done["unchanged"]) == (2 * count, 2 * count - so_far, so_far)
    assert org.instance.sql("select count(*), count(lead_id) from neoapi.whatsapp_opt_out where organization_id = %s",
                            org.organization) == [(count, count)]
    assert_stopped(org, "5511960000000")


def test_an_import_of_opt_outs_does_not_scan_conversations(org):
    """Each is looked up by index, even without statistics of the table."""

    def read():
        """The rows read, which PostgreSQL reports when a connection ends."""
        wait_for_end_of_sessions(org.instance)
        return org.instance.sql(
            "select sum(seq_tup_read) + sum(coalesce((select sum(i.idx_tup_read) from pg_stat_user_indexes i"
            " where i.relid = t.relid), 0)) from pg_stat_user_tables t where relname = 'whatsapp_conversation'")[0][0]

    org.instance.sql(
        "insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_wa_id, contact_bsuid, triage,"
        " created_at, updated_at) select %s, 'wac_' || lpad(n::text, 26, '0'), %s, 5531960000000 + n, 'BR.' || n, 'pending',"
        " now(), now() from generate_series(1, 20000) n; analyze neoapi.whatsapp_conversation, neoapi.whatsapp_number",
        org.organization, org.number_id)
    rows = [stop(f"+{5531960000000 + n}", phone_number_id=org.number.id, contact_bsuid=f"BR.{n}") for n in range(500)]
    before = read()
    assert import_lines(org, *rows)["created"] == len(rows)
    assert read() - before < 100 * len(rows)
