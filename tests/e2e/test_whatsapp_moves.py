"""An organization moves: its leads, and who has said stop, come along by `neoapictl export` and `import`. A number moves: it goes on."""

import dataclasses
import itertools
import json
import signal
import time

import pytest

for module in ("hooks", "whatsapp", "ctl_instance"):
    pytest.register_assert_rewrite(module)

from client import Api, ok, refused  # noqa: E402
from ctl_database import bare, fresh  # noqa: E402, F401
from ctl_instance import Ctl  # noqa: E402
from hooks import bring_up, take_down  # noqa: E402
from makers import Maker  # noqa: E402
from waiting import eventually  # noqa: E402
from whatsapp import HERE, PATH, PHONE, SHORT, TIMEOUT, Office, make_there, meta, office, provider, there  # noqa: E402, F401

from callbacks import preference, status, system, text  # noqa: E402

BSUID = "BR.13491208655302741918"
OTHER = "5521987654321"
names = itertools.count(1)


@pytest.fixture(scope="module")
def elsewhere(provider):
    """Another deployment, with a database of its own."""
    instance = bring_up("elsewhere", HERE.format(url=provider.url, timeout=TIMEOUT, path=PATH))
    try:
        yield instance
    finally:
        take_down(instance)


@pytest.fixture(scope="module")
def make_elsewhere(elsewhere):
    return Maker(elsewhere)


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "all.ndjson")


def export(office, file):
    """Exports to the file: its lines without the first one."""
    office.ctl("export", office.organization, "--output", file)
    with open(file) as lines:
        return lines.read().splitlines()[1:]


def give(office, file, *options):
    return office.ctl("import", file, "--organization", office.organization, *options)


def give_lines(office, *rows):
    """Imports rows that come from elsewhere."""
    return office.ctl("import", "-", "--organization", office.organization,
                      given="".join(json.dumps(row) + "\n" for row in rows))


def add_again(office, number):
    """The same number of Meta's, as if it had been given to the organization for the first time."""
    return office.ctl("whatsapp", "number", "add", number.display, "--organization", office.organization,
                      "--phone-number-id", number.id, "--waba-id", number.account, "--secrets", "-",
                      "--key-file", office.there.env["NEOAPI_KEY_FILE"],
                      given=f"access_token={number.token}\napp_secret={number.secret}\n")["id"]


def lead_of(office, phone):
    return next(lead["id"] for lead in office.leads() if lead["phone"] == phone)


def assert_stopped(office, phone=PHONE, **more):
    """Nobody writes to that lead, and nothing was sent."""
    before = len(office.meta.sends)
    refused(office.start(lead_of(office, phone), **more), 409, "conflict.opted_out")
    assert len(office.meta.sends) == before


def opt_outs(lines):
    return [json.loads(line)["whatsapp_opt_out"] for line in lines if line.startswith('{"whatsapp_opt_out"')]


def stop(contact=PHONE, **more):
    return {"whatsapp_opt_out": {"id": f"stop {next(names)}", "contact_phone": contact, "opted_out_at": "2026-01-31T10:00:00Z", **more}}


# ---------------------------------------------------------------- there and back


def test_leads_and_opt_outs_come_back_as_they_were(office, file):
    party = ok(office.api.post("parties", {"kind": "person", "name": "Ana", "roles": ["buyer"]}), 201)["id"]
    office.ctl("lead", "import", "-", "--organization", office.organization, given="name,phone,email,party_id\n"
               f"Ana Conceição,+1 415 555 2671,ana@example.com,{party}\nBia,11 98765-4321,,\nCaio,+351 912 345 678,,\n")
    office.tell(text("PARAR", PHONE), preference("stop", user_id=BSUID))
    leads, before = office.leads(), export(office, file)
    assert {line.split('"')[1] for line in before} == {"lead", "party", "whatsapp_opt_out"}
    office.ctl("purge", "organization", office.organization, "--data-only", "--yes")
    assert office.leads() == [] and opt_outs(export(office, file + ".empty")) == []
    done = give(office, file)
    assert (done["rows"], done["created"], done["unchanged"]) == (6, 6, 0)
    assert export(office, file + ".again") == before and office.leads() == leads
    again = give(office, file)
    assert (again["created"], again["changed"], again["unchanged"]) == (0, 0, 6)
    assert office.api.delete(f"parties/{party}").status_code == 204  # as where the lead was never exported


def test_what_is_there_already_is_left_alone(office, file):
    office.begin(office.lead())
    office.tell(text("PARAR", PHONE))
    before = export(office, file)
    assert len(opt_outs(before)) == 1
    assert give(office, file)["unchanged"] == 2 and export(office, file) == before


def test_who_has_said_stop_has_said_it_also_after_a_purge_and_an_import(office, file):
    ana, bia = office.lead(), office.lead(OTHER, "Bia")
    office.begin(ana)
    office.begin(bia)
    office.tell(text("PARAR", PHONE))
    export(office, file)
    office.ctl("purge", "organization", office.organization, "--data-only", "--yes")
    give(office, file)
    assert_stopped(office)
    assert office.conversation()["opted_out_at"]
    assert office.begin(lead_of(office, OTHER))[0]["created"]


@pytest.mark.parametrize("first", ["the number", "the import"])
def test_an_organization_that_is_purged_whole_comes_back_with_its_number(office, file, first):
    office.lead()
    office.tell(text("PARAR", PHONE))
    export(office, file)
    tenant = office.api.credential.tenant
    office.ctl("purge", "organization", office.organization, "--yes")
    office.ctl("organization", "add", "Back", "--tenant", tenant, "--id", office.organization)
    office.api = Api(office.there, office.make.key(office.organization))
    if first == "the number":
        add_again(office, office.number)
    give(office, file)
    if first == "the import":
        add_again(office, office.number)
    assert_stopped(office)


@pytest.mark.parametrize("is_same_number", [True, False])
def test_who_has_said_stop_has_said_it_also_in_another_deployment(office, elsewhere, make_elsewhere, meta, file, is_same_number):
    """Also where the organization writes from another number there: nobody asked to hear from that one."""
    office.lead()
    office.lead(OTHER, "Bia")
    office.tell(text("PARAR", PHONE, at=time.time() - 60))
    export(office, file)
    there = Office(elsewhere, make_elsewhere, meta, with_number=False)
    if is_same_number:
        add_again(there, office.number)
        there.number = office.number
    else:
        there.number, *_ = there.add_number()
    assert give(there, file)["created"] == 3
    assert {lead["phone"] for lead in there.leads()} == {PHONE, OTHER}
    assert not {lead["id"] for lead in there.leads()} & {lead["id"] for lead in office.leads()}
    assert_stopped(there)
    there.begin(lead_of(there, OTHER))
    there.tell(text("VOLTAR", PHONE))
    there.begin(lead_of(there, PHONE), 200)


# ---------------------------------------------------------------- what counts


def test_a_conversation_that_is_there_already_hears_of_it(office):
    lead = office.lead()
    office.begin(lead)
    assert give_lines(office, stop())["created"] == 1
    assert_stopped(office)


def test_the_latest_word_counts(office, file):
    """Whoever has resumed since is not stopped by an old file, and no new file has the old stop."""
    lead = office.lead()
    office.begin(lead)
    office.tell(preference("stop", PHONE, at=time.time() - 50))
    assert len(opt_outs(export(office, file))) == 1
    office.tell(preference("resume", PHONE, at=time.time() - 20))
    assert opt_outs(export(office, file + ".resumed")) == []
    assert give(office, file)["unchanged"] == 2
    office.begin(lead, 200)
    assert opt_outs(export(office, file + ".resumed")) == []


def test_a_resume_between_two_stops_comes_too_late_also_after_a_move(office, file):
    office.lead()
    now = int(time.time())
    for at in (now - 90, now - 30):
        office.tell(preference("stop", PHONE, at=at))
    export(office, file)
    office.ctl("purge", "organization", office.organization, "--data-only", "--yes")
    give(office, file)
    office.tell(preference("resume", PHONE, at=now - 60))
    assert_stopped(office)
    office.tell(preference("resume", PHONE, at=now - 10))
    office.begin(lead_of(office, PHONE), 200)


def test_a_resume_ends_what_was_imported_also_where_nothing_was_sent_since(office, file):
    lead = office.lead()
    office.begin(lead)
    give_lines(office, stop(phone_number_id=office.number.id))
    office.tell(preference("resume", PHONE, at=time.time() - 20))
    assert opt_outs(export(office, file)) == []
    office.begin(lead, 200)


def test_an_opt_out_is_as_late_as_the_later_of_its_moments(office):
    office.begin(office.lead())
    office.tell(preference("resume", PHONE, at=time.time() - 60))
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 30))
    give_lines(office, stop(phone_number_id=office.number.id, opted_out_at=moment, preference_at="2026-01-31T10:00:00Z"))
    assert_stopped(office)


@pytest.mark.parametrize("given, known", [(PHONE, SHORT), (SHORT, PHONE), ("11 98765-4321", PHONE), ("+55 11 98765-4321", SHORT)])
def test_spellings_of_one_number_are_one_contact(office, given, known):
    office.lead(known)
    give_lines(office, stop(given))
    assert_stopped(office, known)


def test_a_contact_without_a_number_is_known_by_the_other_id(office, file):
    office.tell(text("PARAR", user_id=BSUID))
    one, = opt_outs(export(office, file))
    assert one["contact_bsuid"] == BSUID and "contact_phone" not in one
    office.ctl("purge", "organization", office.organization, "--data-only", "--yes")
    give(office, file)
    office.tell(text("Oi", user_id=BSUID))
    assert office.conversation()["opted_out_at"]


def test_who_has_moved_to_another_number_is_still_the_lead(office, file):
    lead = office.lead()
    office.begin(lead)
    office.tell(system("user_changed_number", PHONE, new={"wa_id": OTHER}))
    office.tell(text("PARAR", OTHER))
    assert opt_outs(export(office, file))[0]["lead_id"] == lead
    office.ctl("purge", "organization", office.organization, "--data-only", "--yes")
    give(office, file)
    assert_stopped(office)


def test_of_two_contacts_of_one_lead_the_resume_of_one_is_not_the_other_s(office, file):
    """A lead that is given another number by an import has conversations with both."""
    lead = office.lead()
    office.begin(lead)
    office.tell(text("Oi", OTHER, at=time.time() - 60))
    office.tell(text("PARAR", PHONE, at=time.time() - 50))
    give_lines(office, {"lead": {"id": lead, "name": "Carla Dias", "phone": "+" + OTHER}})
    assert_stopped(office, OTHER)
    office.tell(text("VOLTAR", OTHER))
    office.begin(lead, 200)
    one, = opt_outs(export(office, file))
    assert one["contact_phone"] == "+" + PHONE


def test_of_two_numbers_each_counts_for_itself_and_none_for_all(office):
    lead = office.lead()
    second, second_id, _ = office.add_number()
    give_lines(office, stop(phone_number_id=office.number.id))
    assert_stopped(office, number_id=office.number_id)
    office.begin(lead, number_id=second_id)
    give_lines(office, stop())
    assert_stopped(office, number_id=second_id)


def test_organizations_do_not_hear_of_each_other(office, there, make_there, meta):
    neighbour = Office(there, make_there, meta)
    neighbour.lead()
    office.lead()
    give_lines(office, stop())
    neighbour.begin(lead_of(neighbour, PHONE))


def test_who_asks_to_be_forgotten_is_forgotten(office, file):
    office.begin(office.lead())
    office.tell(text("PARAR", PHONE))
    office.lead(OTHER, "Bia")
    give_lines(office, stop(OTHER))
    assert len(opt_outs(export(office, file))) == 2
    for phone in (PHONE, OTHER):
        office.ctl("lead", "remove", lead_of(office, phone), "--with-conversations")
    assert opt_outs(export(office, file)) == []


def test_a_lead_alone_goes_and_that_nobody_is_to_be_written_to_stays(office):
    office.lead()
    give_lines(office, stop())
    office.ctl("lead", "remove", lead_of(office, PHONE))
    office.lead()
    assert_stopped(office)


def test_an_organization_with_opt_outs_is_not_removed_without_a_word(there, make_there, meta):
    office = Office(there, make_there, meta, with_number=False)
    give_lines(office, stop())
    office.make.ctl("key", "revoke", office.api.credential.id)
    assert "it still has 1 WhatsApp opt-out" in Ctl(there).refused("organization", "remove", office.organization)


# ---------------------------------------------------------------- what a conversation knows


def test_a_lead_and_a_conversation_s_opt_out_are_exported(fresh):
    organization = fresh.json("organization", "add", "B", "--tenant", fresh.json("tenant", "add", "A")["id"])["id"]
    fresh.sql("insert into neoapi.whatsapp_number select %s, 'wan_' || repeat('0', 26), '10001', '10001', 'x', '', '', sha256('x')",
              organization)
    fresh.sql("insert into neoapi.lead (organization_id, id, name, phone) values (%s, 'led_' || repeat('0', 26), 'Ana', %s)",
              organization, PHONE)
    fresh.sql("insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_wa_id, triage, opted_out_at,"
              " preference_at, created_at, updated_at) select %s, 'wac_' || repeat(n, 26), 'wan_' || repeat('0', 26), '551190000000' || n,"
              " 'pending', case n when '1' then timestamp '2026-01-31 UTC' end, '2026-01-31 UTC', now(), now()"
              " from unnest('{0,1}'::text[]) n", organization)
    _, *lines = fresh.ok("export", organization).splitlines()
    assert [json.loads(line) for line in lines if "lead" in line][0]["lead"]["phone"] == "+" + PHONE
    one, = opt_outs(lines)
    assert one == {"id": "wao_" + "1" * 26, "phone_number_id": "10001", "contact_phone": "+5511900000001",
                   "opted_out_at": "2026-01-31T00:00:00.000Z", "organization_id": organization}


# ---------------------------------------------------------------- what is wrong


def lead(**more):
    return {"lead": {"id": f"lead {next(names)}", "name": "Ana", "phone": "11 98765-4321", **more}}


def test_what_is_wrong_is_told_by_line_and_field(office, tmp_path):
    office.lead()
    rows = [lead(phone="14155552671"), lead(phone="98765"), lead(name=" "), lead(email="no", phone=OTHER, colour="red"),
            lead(phone="+351912345678"), lead(phone="351 912 345 678"), lead(phone="+351 912345678"),
            lead(phone="+5531987654321", party_id="nobody"), lead(phone="+5541987654321", party_id="pty_" + "0" * 26), lead(phone=11987654321),
            lead(), {"lead": {"name": "No id", "phone": "+5551987654321"}},
            stop(opted_out_at="2199-01-01T00:00:00Z"), stop(opted_out_at=None), stop(contact="x"), stop(contact=None),
            stop(phone_number_id="+55"), stop(contact="1"), stop(contact_bsuid="a b"), stop(lead_id="led_" + "0" * 26),
            stop(lead_id="nobody's"), stop(preference_at="yesterday"), stop(opted_at="x")]
    path = tmp_path / "rows.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = Ctl(office.there).run("--json", "import", str(path), "--organization", office.organization)
    assert code == 1
    found = {(error["line"], error["field"]) for error in json.loads(out)["errors"]}
    assert found == {(1, "phone"), (2, "phone"), (3, "name"), (4, "email"), (4, "colour"), (6, "phone"), (7, "phone"), (8, "party_id"),
                     (9, "party_id"), (10, "phone"), (11, "phone"), (12, "id"), (13, "opted_out_at"), (14, "opted_out_at"),
                     (15, "contact_phone"), (16, "contact_phone"), (17, "phone_number_id"), (18, "contact_phone"),
                     (19, "contact_bsuid"), (20, "lead_id"), (21, "lead_id"), (22, "preference_at"), (23, "opted_at")}
    assert len(office.leads()) == 1
    assert office.there.sql("select count(*) from neoapi.whatsapp_opt_out where organization_id = %s", office.organization) == [(0,)]


def test_a_lead_is_one_organization_s_alone(office, there, make_there, meta):
    """`neoapictl lead remove` knows it by its id."""
    neighbour = Office(there, make_there, meta, with_number=False)
    line = json.dumps(lead(id=office.lead()))
    assert "line 1: id is that of another organization's lead" in Ctl(there).run(
        "import", "-", "--organization", neighbour.organization, stdin=line)[2]
    assert neighbour.leads() == []


def test_a_lead_is_what_lead_import_takes_it_for(office):
    """In a table or in a line: the same number, the same name."""
    office.ctl("lead", "import", "-", "--organization", office.organization, given='name,phone\n" Ana\n  Paula ",(11) 98765-4321\n')
    table, = office.leads()
    office.ctl("lead", "remove", table["id"])
    give_lines(office, lead(name=" Ana\n  Paula ", phone="(11) 98765-4321"))
    line, = office.leads()
    assert {**table, "id": 0, "created_at": 0} == {**line, "id": 0, "created_at": 0}


def test_checking_alone_writes_nothing(office, file):
    office.lead()
    office.tell(text("PARAR", PHONE))
    export(office, file)
    office.ctl("purge", "organization", office.organization, "--data-only", "--yes")
    assert give(office, file, "--check") == {"rows": 2, "webhooks_passed_over": 0}
    assert office.leads() == [] and opt_outs(export(office, file)) == []


def test_an_import_of_leads_that_was_killed_is_gone_on_with(office, tmp_path):
    count, path = 10_000, tmp_path / "many.ndjson"
    with open(path, "w") as lines:
        for n in range(count):
            lines.write(json.dumps({"lead": {"id": n, "name": f"Lead {n}", "phone": f"119{60_000_000 + n}"}}) + "\n")
            lines.write(json.dumps(stop(f"119{60_000_000 + n}", id=n, lead_id=n)) + "\n")

    def written():
        return office.there.sql("select count(*) from neoapi.lead where organization_id = %s", office.organization)[0][0]

    with Ctl(office.there).start("import", str(path), "--organization", office.organization) as process:
        eventually(lambda: written() > 500, "some rows")
        process.send_signal(signal.SIGKILL)
    so_far = written()
    assert 500 < so_far < count
    done = give(office, str(path))
    assert (done["rows"], done["created"], done["unchanged"]) == (2 * count, 2 * count - so_far, so_far)
    assert office.there.sql("select count(*), count(lead_id) from neoapi.whatsapp_opt_out where organization_id = %s",
                            office.organization) == [(count, count)]
    assert_stopped(office, "5511960000000")


def test_an_import_of_opt_outs_reads_no_more_where_there_are_many_conversations(office):
    """Each is looked up by indexes, whatever PostgreSQL knows of the table."""

    def read():
        """What a connection has read is told when it ends."""
        eventually(lambda: not office.there.sql("select 1 from pg_stat_activity where usename = current_user"
                                               " and backend_type = 'client backend' and pid <> pg_backend_pid()"), "neoapictl's end")
        return office.there.sql("select sum(seq_tup_read) + sum(coalesce((select sum(i.idx_tup_read) from pg_stat_user_indexes i"
                                " where i.relid = t.relid), 0)) from pg_stat_user_tables t where relname = 'whatsapp_conversation'")[0][0]

    office.there.sql("insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_wa_id, contact_bsuid, triage,"
                     " created_at, updated_at) select %s, 'wac_' || lpad(n::text, 26, '0'), %s, 5531960000000 + n, 'BR.' || n, 'pending',"
                     " now(), now() from generate_series(1, 20000) n; analyze neoapi.whatsapp_conversation, neoapi.whatsapp_number",
                     office.organization, office.number_id)
    rows = [stop(f"+{5531960000000 + n}", phone_number_id=office.number.id, contact_bsuid=f"BR.{n}") for n in range(500)]
    before = read()
    assert give_lines(office, *rows)["created"] == len(rows)
    assert read() - before < 100 * len(rows)


# ---------------------------------------------------------------- a number that moves


def test_a_number_that_has_got_another_account_goes_on_with_its_conversations(office, meta):
    lead = office.lead()
    made, send = office.begin(lead)
    office.tell(text("PARAR", OTHER))
    moved = dataclasses.replace(office.number, account="29" + office.number.account[2:], display="+55 11 4000-9999")
    office.ctl("whatsapp", "number", "update", office.number_id, "--display", moved.display, "--waba-id", moved.account)
    meta.numbers[meta.numbers.index(office.number)] = moved
    office.number = moved
    office.tell(status(send, "read", PHONE), text("Oi", PHONE))
    assert office.status_of(made) == "read"
    again, _ = office.begin(lead, 200)
    assert again["conversation"]["id"] == made["conversation"]["id"]
    assert again["conversation"]["number_display_phone_number"] == "+55 11 4000-9999"
    office.lead(OTHER, "Bia")
    assert_stopped(office, OTHER)
