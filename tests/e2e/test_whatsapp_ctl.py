# SPDX-License-Identifier: Apache-2.0
"""neoapictl lead and neoapictl whatsapp: all-or-nothing import of leads, and numbers with their secrets."""

import json
import os
import pty
import re
import subprocess
import sys
import time

import pytest
from client import Api, ok
from ctl_instance import Ctl
from deployment import IS_SANITIZED
from wait import TIMEOUT_S, together

UNKNOWN_ULID = "00000000000000000000000000"  # the last part of an unused id
ROWS = 100_000


class OrganizationCtl(Ctl):
    """Runs neoapictl for an organization. `given` is standard input."""

    def __init__(self, api):
        super().__init__(api.instance)
        self.api = api
        self.organization, = api.credential.organizations

    def run(self, *args, given=b""):
        data = given if isinstance(given, bytes) else given.encode()
        done = subprocess.run([self.program, *args], input=data, capture_output=True, timeout=TIMEOUT_S)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def refused(self, *args, given=b"", code=1):
        """Expects a failure. Returns the error message, which must not name constraints."""
        got, out, err = self.run(*args, given=given)
        assert got == code and not out, (args, got, out, err)
        assert err and not re.search("constraint|ERROR|relation", err), err
        return err

    def leads(self):
        """Name, phone, e-mail and party of each, by name."""
        found = self.json("lead", "list", "--organization", self.organization)
        assert all(re.fullmatch("led_[0-9a-z]{26}", one["id"]) and one["organization_id"] == self.organization for one in found)
        return sorted((one["name"], one["phone"], one["email"], one["party_id"]) for one in found)

    def import_leads(self, text):
        """Imports a text. Returns the number of imported leads."""
        return self.json("lead", "import", "-", "--organization", self.organization, given=text)["imported"]

    def import_errors(self, text):
        """The errors of a refused file by line. Checks that no row was imported."""
        before = self.leads()
        said = self.refused("lead", "import", "-", "--organization", self.organization, given=text)
        assert self.leads() == before
        return said

    def add_number(self, number_id, secrets="access_token=EAAx\napp_secret=shhh\n", **more):
        given = {"--organization": self.organization, "--phone-number-id": number_id, "--waba-id": "200000000000001",
                 "--secrets": "-", "--key-file": self.instance.env["NEOAPI_KEY_FILE"], **more}
        words = [word for name, value in given.items() if value is not None for word in (name, value)]
        return ["whatsapp", "number", "create", "+55 11 4000-0001", *words], secrets


@pytest.fixture
def ctl(own_api):
    return OrganizationCtl(own_api)


@pytest.fixture
def other(instance, admin_factory):
    return OrganizationCtl(Api(instance, admin_factory.key()))


def number_id():
    """An unused phone number id."""
    return str(int.from_bytes(os.urandom(6), "big") + 10**15)


# ---------------------------------------------------------------- leads: accepted files


def test_leads_are_imported_and_listed(ctl, other, own_api):
    party = ok(own_api.post("parties", {"kind": "person", "name": "Ana", "roles": ["buyer"]}), 201)["id"]
    assert ctl.import_leads("name,phone,email,party_id\n"
                    f"Ana Paula,+55 (11) 98765-4321,ana@example.com,{party}\nBia,5521987654321,,\n") == 2
    assert ctl.leads() == [("Ana Paula", "5511987654321", "ana@example.com", party), ("Bia", "5521987654321", None, None)]
    assert other.leads() == []


@pytest.mark.parametrize("text", [
    "phone,name\n11 98765-4321,Ana\n", "name;phone\nAna;11987654321\n", "name,phone\r\nAna,11987654321\r\n",
    "\ufeffname,phone\nAna,11987654321\n", "name,phone\nAna,11987654321", '"name","phone"\n"Ana","11987654321"\n',
    "Name,PHONE\nAna,11987654321\n", "name,phone\n\nAna,11987654321\n\n", "name,phone,email\nAna,11987654321,\n",
    "name, phone\n Ana , 11987654321 \n", "name,phone\nAna,+55 11 98765 4321\n", "name,phone\nAna,55-11-98765-4321\n",
    "\ufeff\"name\";\"phone\"\r\n\"Ana\";\"(11) 98765-4321\"\r\n"], ids=ascii)
def test_various_csv_dialects_are_accepted(ctl, text):
    assert ctl.import_leads(text) == 1 and ctl.leads() == [("Ana", "5511987654321", None, None)]


@pytest.mark.parametrize("written, name", [('"Souza, Ana"', "Souza, Ana"), ('"Ana ""Aninha"" Souza"', 'Ana "Aninha" Souza'),
                                           ("Conceição d'Ávila 🏠", "Conceição d'Ávila 🏠"), ("=1+1", "=1+1"),
                                           ("'; drop table neoapi.lead --", "'; drop table neoapi.lead --"),
                                           ("a\\b\\n", "a\\b\\n"), ("x" * 200, "x" * 200)])
def test_names_are_stored_unchanged(ctl, written, name):
    assert ctl.import_leads(f"name,phone\n{written},11987654321\n") == 1 and ctl.leads()[0][0] == name


@pytest.mark.parametrize("written, kept", [("+1 415 555 0123", "14155550123"), ("+351 912 345 678", "351912345678"),
                                           ("1132654321", "551132654321"), ("551132654321", "551132654321"),
                                           ("+55 11 8765-4321", "551187654321")])
def test_phones_are_stored_in_whatsapps_form(ctl, written, kept):
    assert ctl.import_leads(f"name,phone\nAna,{written}\n") == 1 and ctl.leads()[0][1] == kept


def test_a_file_is_read_by_its_name(ctl, tmp_path):
    file = tmp_path / "leads of today.csv"
    file.write_text("name,phone\nAna,11987654321\n")
    assert ctl.json("lead", "import", str(file), "--organization", ctl.organization) == {"imported": 1}


def test_the_number_of_imported_leads_is_printed(ctl):
    code, out, err = ctl.run("lead", "import", "-", "--organization", ctl.organization, given="name,phone\nAna,11987654321\n")
    assert code == 0 and "1" in out + err


def test_the_same_person_can_be_a_lead_of_two_organizations(ctl, other):
    assert ctl.import_leads("name,phone\nAna,11987654321\n") == other.import_leads("name,phone\nAna,11987654321\n") == 1


def test_a_header_alone_imports_nothing(ctl):
    code, out, err = ctl.run("--json", "lead", "import", "-", "--organization", ctl.organization, given="name,phone\n")
    assert (code == 0 and json.loads(out) == {"imported": 0}) or (code == 1 and err), (code, out, err)
    assert ctl.leads() == []


# ---------------------------------------------------------------- leads: refused files

BAD_ROWS = {
    "no name": (",11987654322", "name"), "a blank name": ('"  ",11987654322', "name"),
    "a long name": ("x" * 201 + ",11987654322", "name"),
    "no phone": ("Bia,", "phone"), "letters": ("Bia,none yet", "phone"), "too short": ("Bia,98765", "phone"),
    "too long": ("Bia,+5511987654321000000", "phone"), "two": ("Bia,11987654321/11987654322", "phone"),
    "no e-mail": ("Bia,11987654322,bia", "email"), "two e-mails": ("Bia,11987654322,a@b.c d@e.f", "email"),
    "no party's id": ("Bia,11987654322,,brk_" + UNKNOWN_ULID, "party_id"),
    "nobody's id": ("Bia,11987654322,,pty_" + UNKNOWN_ULID, "party_id"),
    "a phone twice": ("Bia,11987654321", "phone"), "the same without the ninth digit": ("Bia,+55 11 8765-4321", "phone"),
    "too many columns": ("Bia,11987654322,,,x", ""), "a quote that does not end": ('"Bia,11987654322', ""),
    "something behind a quote": ('"Bia"x,11987654322', ""), "a control character": ("Bi\x07a,11987654322", "name"),
}


@pytest.mark.parametrize("row, field", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_bad_row_is_reported_with_its_line_and_nothing_is_imported(ctl, row, field):
    said = ctl.import_errors(f"name,phone,email,party_id\nAna,11987654321,,\n{row}\nDavi,11987654399,,\n")
    assert re.search(rf"\bline 3: {field}", said), said


def test_every_bad_row_is_reported(ctl):
    said = ctl.import_errors('name,phone\n,1\n"two\nlines",11987654321\nAna,x\nBia,\n')
    assert re.findall(r"line (\d+): (\w+)", said) == [("2", "name"), ("2", "phone"), ("5", "phone"), ("6", "phone")], said


def test_the_number_of_reported_errors_is_limited(ctl):
    said = ctl.import_errors("name,phone\n" + "Ana,x\n" * 5000)
    assert 1 < len(said.splitlines()) <= 210 and "line 2: phone" in said


@pytest.mark.parametrize("name", [b"Jo\xe3o", b"Bia\0"])
def test_invalid_utf_8_is_reported_with_its_line(ctl, name):
    assert "line 3" in ctl.import_errors(b"name,phone\nAna,11987654321\n" + name + b",11987654322\n")


@pytest.mark.parametrize("head, about", [
    ("", ""), ("name\nAna\n", "phone"), ("phone\n11987654321\n", "name"), ("name,phone,name\n", "name"),
    ("name,phone,colour\n", "colour"), ("Ana,11987654321\n", ""), ("\n\n", ""),
    ("nome,telefone\nAna,11987654321\n", "nome")], ids=ascii)
def test_a_bad_header_is_reported(ctl, head, about):
    said = ctl.import_errors(head)
    assert about in said and said.startswith(("neoapictl: ", "line 1")), said


def test_a_party_of_another_organization_is_not_found(ctl, other):
    party = ok(other.api.post("parties", {"kind": "person", "name": "Ana", "roles": ["buyer"]}), 201)["id"]
    assert re.search("line 2: party_id", ctl.import_errors(f"name,phone,party_id\nAna,11987654321,{party}\n"))


def test_existing_leads_are_reported(ctl):
    ctl.import_leads("name,phone\nAna,11987654321\n")
    assert re.search("line 3: phone", ctl.import_errors("name,phone\nBia,21987654321\nAninha,+55 11 8765-4321\n"))


def test_a_missing_organization_or_file_is_reported(ctl, tmp_path):
    missing = tmp_path / "missing.csv"
    assert "missing.csv" in ctl.refused("lead", "import", str(missing), "--organization", ctl.organization)
    assert str(tmp_path) in ctl.refused("lead", "import", str(tmp_path), "--organization", ctl.organization)
    message = ctl.refused("lead", "import", "-", "--organization", "org_" + UNKNOWN_ULID, given="name,phone\nAna,11987654321\n")
    assert "no such organization" in message
    assert "--organization" in ctl.refused("lead", "import", "-", code=2)


def test_concurrent_imports_create_a_lead_once(ctl):
    text = "name,phone\n" + "".join(f"Lead {n},119{n:08}\n" for n in range(60000000, 60000500))

    def take():
        return ctl.run("--json", "lead", "import", "-", "--organization", ctl.organization, given=text)[0]

    assert sorted(together(*[take] * 4)) == [0, 1, 1, 1] and len(ctl.leads()) == 500


def rows(last=""):
    yield b"name,phone,email\n"
    for n in range(ROWS):
        yield f'"Lead, {n}",119{60000000 + n},lead{n}@example.com\n'.encode()
    yield last.encode()


# Runs a command and adds a line with its peak memory in kilobytes to standard error. A process of its own, because the peak of a
# child begins with that of the process that starts it, and pytest's may be larger than the command's.
MEASURE = """import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)"""


def import_stream(ctl, source):
    """Imports the output of a generator. Returns exit status, standard output, standard error and peak memory in megabytes."""
    command = [sys.executable, "-c", MEASURE, ctl.instance.env["NEOAPI_CTL"], "--json", "lead", "import", "-",
               "--organization", ctl.organization]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for piece in source:
        process.stdin.write(piece)
    process.stdin.close()
    out, err = process.stdout.read().decode(), process.stderr.read().decode()
    *lines, peak = err.splitlines(keepends=True)
    return process.wait(), out, "".join(lines), int(peak) / 1024


def test_a_long_file_is_imported_in_bounded_memory(ctl, instance, report):
    begun = time.monotonic()
    code, out, err, megabytes = import_stream(ctl, rows())
    took = time.monotonic() - begun
    assert (code, json.loads(out)) == (0, {"imported": ROWS}), err
    assert instance.sql("select count(*) from neoapi.lead where organization_id = %s", ctl.organization)[0][0] == ROWS
    assert IS_SANITIZED or megabytes < 200
    report(f"{ROWS} leads in {took:.1f} s and {megabytes:.0f} MB")


def test_a_long_import_shows_its_progress(ctl):
    ours, theirs = pty.openpty()
    text = "name,phone\n" + "".join(f"Lead {n},119{n}\n" for n in range(60000000, 60020000))
    done = subprocess.run([ctl.instance.env["NEOAPI_CTL"], "lead", "import", "-", "--organization", ctl.organization],
                          input=text.encode(), stdout=subprocess.PIPE, stderr=theirs, timeout=TIMEOUT_S)
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.returncode == 0 and re.search("[1-9][0-9]* of 20000 rows", said), said


def test_a_long_file_whose_last_row_is_bad_leaves_nothing(ctl, instance):
    code, out, err, _ = import_stream(ctl, rows("Ana,nothing,\n"))
    assert code == 1 and not out and f"line {ROWS + 2}: phone" in err, err
    assert instance.sql("select count(*) from neoapi.lead where organization_id = %s", ctl.organization)[0][0] == 0


# ---------------------------------------------------------------- numbers


def test_a_number_is_added_and_listed_without_its_secrets(ctl, other, instance):
    id = number_id()
    words, secrets = ctl.add_number(id)
    made = ctl.json(*words, given=secrets)
    assert set(made) == {"id", "verify_token"} and re.fullmatch("wan_[0-9a-z]{26}", made["id"])
    assert len(made["verify_token"]) >= 20
    listed, = ctl.json("whatsapp", "number", "list", "--organization", ctl.organization)
    assert listed.pop("created_at") and listed == {
        "id": made["id"], "organization_id": ctl.organization, "phone_number_id": id, "waba_id": "200000000000001",
        "display_phone_number": "+55 11 4000-0001"}
    assert other.json("whatsapp", "number", "list", "--organization", other.organization) == []
    row, = instance.sql("select n::text from neoapi.whatsapp_number n where id = %s", made["id"])
    for private in ("EAAx", "shhh", made["verify_token"]):
        assert private not in row[0]


def test_the_webhook_fields_to_subscribe_to_are_printed(ctl):
    words, secrets = ctl.add_number(number_id())
    code, out, err = ctl.run(*words, given=secrets)
    assert code == 0 and "messages and user_preferences" in out + err


def test_a_given_verify_token_is_used(ctl):
    words, secrets = ctl.add_number(number_id(), "access_token=a\r\napp_secret=b\r\nverify_token=my own token\r\n")
    assert ctl.json(*words, given=secrets)["verify_token"] == "my own token"


def test_secrets_may_be_in_a_file(ctl, tmp_path):
    file = tmp_path / "secrets"
    file.write_text("access_token=a\napp_secret=b\n")
    words, _ = ctl.add_number(number_id(), **{"--secrets": str(file)})
    assert ctl.json(*words)["id"]


def test_secrets_are_read_from_standard_input_by_default(ctl):
    words, secrets = ctl.add_number(number_id(), **{"--secrets": None})
    assert ctl.json(*words, given=secrets)["id"]


@pytest.mark.parametrize("secrets, about", [
    ("", "access_token"), ("access_token=a\n", "app_secret"), ("app_secret=b\n", "access_token"),
    ("access_token=\napp_secret=b\n", "access_token"), ("access_token=a\napp_secret=b\ncolour=red\n", "line 3"),
    ("access_token a\napp_secret=b\n", ""),
    ("access_token=a b\napp_secret=b\n", "access_token"), ("access_token=a\naccess_token=c\napp_secret=b\n", "access_token"),
    ("access_token=" + "x" * 100_000 + "\napp_secret=b\n", "access_token")], ids=lambda value: ascii(value)[:40])
def test_malformed_secrets_are_reported_but_not_repeated(ctl, secrets, about):
    words, _ = ctl.add_number(number_id())
    said = ctl.refused(*words, given=secrets)
    assert about in said and "x" * 100 not in said
    assert ctl.json("whatsapp", "number", "list", "--organization", ctl.organization) == []


def test_an_existing_number_is_reported(ctl, other):
    id = number_id()
    for who, is_first in ((ctl, True), (ctl, False), (other, False)):
        words, secrets = who.add_number(id)
        if is_first:
            who.json(*words, given=secrets)
        else:
            said = who.refused(*words, given=secrets)
            assert "already" in said and ctl.organization not in said.replace(who.organization, "")


@pytest.mark.parametrize("changes, code, about", [
    ({"--phone-number-id": "+55 11"}, 2, "--phone-number-id"), ({"--waba-id": "x"}, 2, "--waba-id"),
    ({"--organization": "org_" + UNKNOWN_ULID}, 1, "no such organization"), ({"--organization": None}, 2, "--organization"),
    ({"--phone-number-id": None}, 2, "--phone-number-id"), ({"--key-file": "/nowhere/key"}, 1, "/nowhere/key"),
    ({"--secrets": "/nowhere/secrets"}, 1, "/nowhere/secrets")])
def test_errors_in_a_number_are_reported(ctl, changes, code, about):
    words, secrets = ctl.add_number(number_id(), **changes)
    assert about in ctl.refused(*words, given=secrets, code=code)


def test_new_secrets_replace_the_old_ones(ctl, instance):
    words, secrets = ctl.add_number(number_id())
    id = ctl.json(*words, given=secrets)["id"]

    def kept():
        return instance.sql("select access_token, app_secret, verify_token_hash from neoapi.whatsapp_number where id = %s",
                            id)[0]

    before = kept()
    ctl.json("whatsapp", "number", "change", id, "--secrets", "-", "--key-file", instance.env["NEOAPI_KEY_FILE"],
             given="access_token=new\n")
    now = kept()
    assert now[0] != before[0] and now[1:] == before[1:]
    said = ctl.refused("whatsapp", "number", "change", "wan_" + UNKNOWN_ULID, "--secrets", "-",
                       "--key-file", instance.env["NEOAPI_KEY_FILE"], given="access_token=new\n")
    assert "no such" in said


def test_a_number_can_change_its_account_and_display(ctl, instance, tmp_path):
    """Each alone, both, and together with secrets; other values are unchanged."""
    id = number_id()
    words, secrets = ctl.add_number(id)
    one = ctl.json(*words, given=secrets)["id"]

    def kept():
        row, = instance.sql("select display_phone_number, waba_id, phone_number_id, access_token, app_secret,"
                            " encode(verify_token_hash, 'hex') from neoapi.whatsapp_number where id = %s", one)
        return list(row)

    before = kept()
    assert ctl.json("whatsapp", "number", "change", one, "--display", "+55 (11) 4000-0001") == {"id": one}
    assert kept() == ["+55 (11) 4000-0001", *before[1:]]
    ctl.json("whatsapp", "number", "change", one, "--waba-id", "200000000000002", given="access_token=not read\n")
    assert kept() == ["+55 (11) 4000-0001", "200000000000002", *before[2:]]
    file = tmp_path / "secrets"
    file.write_text("app_secret=new\n")
    ctl.json("whatsapp", "number", "change", one, "--display", "Vendas", "--waba-id", "200000000000003", "--secrets", str(file),
             "--key-file", instance.env["NEOAPI_KEY_FILE"])
    now = kept()
    assert now[:4] == ["Vendas", "200000000000003", id, before[3]] and now[4] != before[4] and now[5] == before[5]


@pytest.mark.parametrize("words, code, about", [
    (["--display", " "], 2, "--display"), (["--display", "x" * 201], 2, "--display"), (["--display", "a\tb"], 2, "--display"),
    (["--waba-id", "1234"], 2, "--waba-id"), (["--waba-id", "abcde"], 2, "--waba-id"),
    (["--phone-number-id", "100000000000001"], 2, "--phone-number-id"),
    (["--display", "x", "--secrets", "-", "--key-file", "/nowhere/key"], 1, "/nowhere/key"),
    (["--display", "x", "--secrets", "/nowhere/secrets"], 1, "/nowhere/secrets"),
    (["--display", "x", "--secrets", "-"], 1, "no secret")])
def test_an_invalid_change_of_a_number_is_refused(ctl, instance, words, code, about):
    made, secrets = ctl.add_number(number_id())
    one = ctl.json(*made, given=secrets)["id"]
    before = ctl.json("whatsapp", "number", "list", "--organization", ctl.organization)
    key_file = [] if "--key-file" in words else ["--key-file", instance.env["NEOAPI_KEY_FILE"]]
    assert about in ctl.refused("whatsapp", "number", "change", one, *words, *key_file, code=code)
    assert ctl.json("whatsapp", "number", "list", "--organization", ctl.organization) == before


def test_no_other_number_is_changed(ctl, other):
    assert "no such number" in ctl.refused("whatsapp", "number", "change", "wan_" + UNKNOWN_ULID, "--display", "x")
    words, secrets = other.add_number(number_id())
    other.json(*words, given=secrets)
    theirs = other.json("whatsapp", "number", "list", "--organization", other.organization)
    words, secrets = ctl.add_number(number_id())
    ctl.json("whatsapp", "number", "change", ctl.json(*words, given=secrets)["id"], "--display", "x", "--waba-id",
             "200000000000009")
    assert other.json("whatsapp", "number", "list", "--organization", other.organization) == theirs


# ---------------------------------------------------------------- removing


def conversation(ctl, number, lead, wa_id):
    """With a message and its status."""
    one = "wac_" + lead[4:]
    ctl.instance.sql("insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_wa_id, triage, lead_id,"
                     " opted_out_at, created_at, updated_at) values (%s, %s, %s, %s, 'assigned', %s, now(), now(), now())",
                     ctl.organization, one, number, wa_id, lead)
    ctl.instance.sql("insert into neoapi.whatsapp_message (organization_id, id, conversation_id, direction, source,"
                     " provider_message_id, type, status, status_at, occurred_at)"
                     " values (%s, %s, %s, 'outbound', 'api', %s, 'template', 'sent', now(), now())",
                     ctl.organization, "wam_" + lead[4:], one, one)
    ctl.instance.sql("insert into neoapi.whatsapp_status values (%s, %s, 'sent', now())", ctl.organization, one)
    return one


def test_conversations_are_removed_only_on_request(ctl, other):
    words, secrets = ctl.add_number(number_id())
    number = ctl.json(*words, given=secrets)["id"]
    ctl.import_leads("name,phone\nAna,11987654321\nBia,21987654321\nCaio,31987654321\n")
    ana, bia, caio = (one["id"] for one in sorted(ctl.json("lead", "list", "--organization", ctl.organization),
                                                  key=lambda one: one["name"]))
    conversation(ctl, number, ana, "5511987654321"), conversation(ctl, number, bia, "5521987654321")

    def left():
        return [count for table in ("lead", "whatsapp_conversation", "whatsapp_message", "whatsapp_status", "whatsapp_number")
                for count,
                in ctl.instance.sql(f"select count(*) from neoapi.{table} where organization_id = %s", ctl.organization)]

    assert ctl.json("lead", "remove", caio) == {"id": caio}
    assert "it still has 1 conversation; with --with-conversations" in ctl.refused("lead", "remove", ana)
    assert "it still has 2 conversations" in ctl.refused("whatsapp", "number", "remove", number)
    assert left() == [2, 2, 2, 2, 1]
    assert ctl.json("lead", "remove", ana, "--with-conversations") == {"id": ana}
    assert left() == [1, 1, 1, 1, 1] and [lead[0] for lead in ctl.leads()] == ["Bia"]
    assert ctl.json("whatsapp", "number", "remove", number, "--with-conversations") == {"id": number}
    assert left() == [1, 0, 0, 0, 0]
    assert ctl.instance.sql("select contact_phone, lead_id from neoapi.whatsapp_opt_out where organization_id = %s",
                            ctl.organization) == [("5521987654321", bia)]  # the opt-out applies if the number is added again
    assert "no such lead" in ctl.refused("lead", "remove", ana)
    assert "no such number" in ctl.refused("whatsapp", "number", "remove", number)
    ctl.refused("lead", "remove", number, code=2)
