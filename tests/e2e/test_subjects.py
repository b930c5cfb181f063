# SPDX-License-Identifier: Apache-2.0
"""The data of a person: what GET /subjects finds, and that nothing is left after POST /subjects/erase."""

import base64
import contextlib
import hashlib
import html
import json
import os
import secrets
import signal
import subprocess
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg2
import pytest
from admin_factory import AdminFactory
from client import Api, ok, refused
from factories import ADDRESS, BANK, ResourceFactory, cpf, phone, unique
from wait import TIMEOUT_S, eventually, together
from whatsapp import meta, module_admin_factory, module_instance, org, provider  # noqa: F401

from callbacks import text

TABLES = ("select c.oid::regclass::text from pg_class c where c.relnamespace = 'neoapi'::regnamespace and c.relkind = 'r'")


class Person:
    """Values that no other test uses, and the forms in which a database could have them."""

    def __init__(self):
        self.name = f"Zulmira {unique()}"
        self.email = f"Zulmira.{unique()}@Example.com"
        self.phone = f"+551198{secrets.randbelow(10**7):07}"
        self.cpf = cpf(10**8 + secrets.randbelow(9 * 10**8))  # ids of events have numbers that begin with zeros
        self.words = [self.name, self.email, self.email.lower(), self.phone[1:], self.cpf]

    def party(self, **more):
        return {"kind": "person", "name": self.name, "roles": ["buyer"], "document_number": self.cpf, "email": self.email,
                "phone": self.phone, "profession": "oculista " + self.name, "address": {**ADDRESS, "complement": self.name},
                "bank_account": {**BANK, "pix_key": self.email}, "metadata": {"apelido": self.name},
                "external_id": "x " + self.name, **more}

    def lead(self, **more):
        return {"name": self.name, "phone": self.phone, "email": self.email, "message": f"Sou {self.name}.", **more}


@pytest.fixture
def person():
    return Person()


def find(api, **who):
    return ok(api.get("subjects", params=who))


def erase(api, **who):
    """Erases until it is complete."""
    def done():
        erasure = ok(api.post("subjects/erase", who))
        return erasure if erasure["status"] == "completed" else None
    return eventually(done, "the erasure is complete")


def leftovers(instance, words):
    """Tables with rows that contain one of the words, and these rows."""
    found = []
    for table, in instance.sql(TABLES):
        rows = instance.sql(f"select w, t::text from {table} t cross join unnest(%s) w where position(lower(w) in lower(t::text)) > 0", words)
        if rows:
            found.append((table, rows))
    return found


# ---------------------------------------------------------------- finding

@pytest.mark.parametrize("who, match", [
    ({"email": "{email}"}, "exact"), ({"email": "{lower}"}, "normalized"), ({"document_number": "{cpf}"}, "exact"),
    ({"document_number": "{dotted}"}, "exact"), ({"phone": "{phone}"}, "exact"), ({"phone": "{short}"}, "normalized")])
def test_a_person_is_found_by_each_value(own_api, person, who, match):
    party = ok(own_api.post("parties", person.party()), 201)
    c = person.cpf
    values = {"email": person.email, "lower": person.email.lower(), "cpf": c, "dotted": f"{c[:3]}.{c[3:6]}.{c[6:9]}-{c[9:]}",
              "phone": person.phone, "short": person.phone[:5] + person.phone[6:]}
    who = {name: value.format(**values) for name, value in who.items()}
    found = find(own_api, **who)
    assert [(one["type"], one["id"], one["match"]) for one in found["records"]] == [("party", party["id"], match)]
    assert found["events"] == 1 and found["restricted"] == []


def test_linked_records_and_roles_are_found(own_api, factory, person):
    party = ok(own_api.post("parties", person.party()), 201)["id"]
    lead = factory.lead(email="other@example.com", party_id=party)["id"]
    document = factory.document(related={"type": "party", "id": party})["id"]
    contract = factory.contract(parties=[{"party_id": party, "role": "buyer"}, *factory.signed("sale")[:1]])["id"]
    stranger = ok(own_api.post("parties", {"kind": "person", "name": person.name, "roles": ["buyer"]}), 201)["id"]
    found = find(own_api, document_number=person.cpf)
    assert {(one["id"], one["match"]) for one in found["records"]} == {(party, "exact"), (lead, "linked"), (document, "linked")}
    assert [(one["type"], one["id"]) for one in found["roles"]] == [("contract", contract)]
    assert stranger not in json.dumps(found)
    assert [one["id"] for one in find(own_api, email="other@example.com")["records"]] == sorted([document, lead, party])


def test_a_deleted_record_is_found_in_the_event_log(own_api, person):
    party = ok(own_api.post("parties", person.party()), 201)["id"]
    ok(own_api.delete("parties/" + party), 204)
    found = find(own_api, email=person.email)
    assert [(one["id"], one["deleted"]) for one in found["records"]] == [(party, True)] and found["events"] == 2


def test_a_person_must_be_named(own_api):
    refused(own_api.get("subjects"), 400, "validation.subject.document_number_required")
    refused(own_api.get("subjects", params={"email": "no"}), 400, "validation.subject.email_invalid")
    refused(own_api.get("subjects", params={"name": "Ana"}), 400, "validation.unknown_parameter")
    refused(own_api.post("subjects/erase", {}), 400, "validation.subject.document_number_required")


def test_only_administrators_have_the_scope(instance, admin_factory, person):
    organization = admin_factory.organization()
    admin, other = Api(instance, admin_factory.key(organization)), Api(instance, admin_factory.key())
    ok(admin.post("parties", person.party()), 201)
    for key in (admin_factory.key(organization, "org_editor"), admin_factory.key(organization, "org_viewer"),
                admin_factory.key(organization, scopes=["parties:read", "parties:write"])):
        api = Api(instance, key)
        refused(api.get("subjects", params={"email": person.email}), 403, "forbidden.insufficient_permissions")
        refused(api.post("subjects/erase", {"email": person.email}), 403, "forbidden.insufficient_permissions")
    reader = Api(instance, admin_factory.key(organization, scopes=["privacy:read"]))
    assert len(find(reader, email=person.email)["records"]) == 1
    refused(reader.post("subjects/erase", {"email": person.email}), 403, "forbidden.insufficient_permissions")
    assert find(other, email=person.email)["records"] == []
    assert erase(other, email=person.email)["counts"] == {}
    assert len(find(reader, email=person.email)["records"]) == 1


# ---------------------------------------------------------------- erasing

def test_nothing_of_an_erased_person_is_left(own_api, factory, instance, person):
    hook = ok(own_api.post("webhooks", {"url": "https://127.0.0.1:9/", "events": ["*", "lead.*", "party.erased"]}), 201)["id"]
    key = str(uuid.uuid4())
    party = ok(own_api.post("parties", person.party(), headers={"Idempotency-Key": key}), 201)["id"]
    lead = ok(own_api.post("leads", person.lead(party_id=party), headers={"Idempotency-Key": str(uuid.uuid4())}), 201)["id"]
    ok(own_api.patch("parties/" + party, {"name": person.name + " Filho", "profession": "piloto " + person.name}))
    document = factory.document(related={"type": "party", "id": party}, title=person.name, number=person.cpf)["id"]
    batch = {"operations": [{"method": "update", "id": party, "data": {"nationality": person.name}},
                            {"method": "create", "data": {"kind": "person", "name": "Outra", "roles": ["buyer"]}}]}
    ok(own_api.post("parties/batch", batch, headers={"Idempotency-Key": str(uuid.uuid4())}))
    gone = ok(own_api.post("parties", person.party(document_number=..., external_id=...) | {"document_number": None, "external_id": None}), 201)["id"]
    ok(own_api.delete("parties/" + gone), 204)
    assert leftovers(instance, person.words)

    preview = ok(own_api.post("subjects/erase", {"email": person.email, "dry_run": True}))
    assert preview["status"] == "dry_run" and preview["parties"] == [{"id": party, "becomes": "deleted"}]
    assert len(preview["found"]["records"]) == 4 and ok(own_api.get("parties/" + party))["name"].startswith(person.name)

    erasure = erase(own_api, email=person.email)
    assert set(erasure["records"]) == {party, lead, document, gone}
    assert {name: erasure["counts"][name] for name in ("parties", "leads", "documents")} == {"parties": 1, "leads": 1, "documents": 1}
    assert leftovers(instance, person.words) == []
    refused(own_api.get("parties/" + party), 404, "not_found.party")
    last = {one["type"]: one["payload"] for one in ok(own_api.get("events", params={"limit": 100}))["items"] if one["type"].endswith(".erased")}
    assert last["party.erased"]["id"] == party and last["party.erased"]["deleted"] is True and last["lead.erased"]["id"] == lead
    sent = [one["event_type"] for one in ok(own_api.get(f"webhooks/{hook}/deliveries", params={"limit": 100}))["items"]]
    assert sent.count("party.erased") == 1 and sent.count("lead.erased") == 1
    replayed = ok(own_api.post("parties", person.party(), headers={"Idempotency-Key": key}), 201)
    assert replayed["id"] == party and "email" not in replayed and leftovers(instance, person.words) == []
    again = erase(own_api, email=person.email)
    assert again["counts"] == {}


def test_the_wildcard_has_no_erasures(own_api, person):
    hook = ok(own_api.post("webhooks", {"url": "https://127.0.0.1:9/", "events": ["*"]}), 201)["id"]
    ok(own_api.post("parties", person.party()), 201)
    erase(own_api, email=person.email)
    assert [one["event_type"] for one in ok(own_api.get(f"webhooks/{hook}/deliveries"))["items"]] == ["party.created"]


def test_a_party_with_a_contract_is_kept_apart(own_api, factory, instance, admin_factory, person):
    party = ok(own_api.post("parties", person.party()), 201)["id"]
    document = factory.document(related={"type": "party", "id": party}, number=person.cpf)["id"]
    contract = factory.contract(status="pending_signature", parties=[
        {"party_id": party, "role": "buyer", "signed_at": "2026-02-11T18:30:00.000Z"}, *factory.signed("sale")[:1]])["id"]
    ok(own_api.patch("contracts/" + contract, {"status": "active"}))
    erasure = erase(own_api, document_number=person.cpf)
    assert erasure["counts"]["restricted"] == 1
    hidden = ok(own_api.get("parties/" + party))
    assert hidden["name"] == "[erased]" and not {"email", "document_number", "address"} & set(hidden)
    assert ok(own_api.get("parties", params={"document_number": person.cpf}))["items"] == []
    assert person.cpf not in own_api.get("parties/export").text and party in json.dumps(ok(own_api.get("contracts/" + contract)))
    assert {table for table, _ in leftovers(instance, person.words)} == {"neoapi.restricted_record"}
    kept = find(own_api, document_number=person.cpf)["restricted"]
    assert {one["id"]: one["because"] for one in kept} == {party: [contract], document: [contract]}
    assert {one["kept_until"] for one in kept} == {None} and kept[-1]["record"]["document_number"] == person.cpf
    ok(own_api.patch("contracts/" + contract, {"status": "completed"}))
    instance.sql("select neoapi.release_restricted()")
    until = find(own_api, document_number=person.cpf)["restricted"][0]["kept_until"]
    assert until == instance.sql("select ((now() at time zone 'UTC')::date + interval '10 years')::date::text")[0][0]
    instance.sql("update neoapi.restricted_record set kept_until = current_date - 1 where because = %s", [contract])
    instance.sql("select neoapi.release_restricted()")
    assert leftovers(instance, person.words) == []


def test_a_party_that_others_refer_to_becomes_an_empty_row(own_api, factory, instance, person):
    party = ok(own_api.post("parties", person.party()), 201)["id"]
    spouse = factory.party(spouse_party_id=party, marital_status="married")["id"]
    assert ok(own_api.post("subjects/erase", {"phone": person.phone, "dry_run": True}))["parties"] == [{"id": party, "becomes": "pseudonymized"}]
    erase(own_api, phone=person.phone)
    assert ok(own_api.get("parties/" + party))["name"] == "[erased]" and leftovers(instance, person.words) == []
    assert ok(own_api.get("parties/" + spouse))["spouse_party_id"] == party


def test_privacy_requests_are_in_the_audit_log_without_the_person(own_api, instance, admin_factory, person):
    party = ok(own_api.post("parties", person.party()), 201)["id"]
    find(own_api, email=person.email)
    ok(own_api.post("subjects/export", {"phone": person.phone}))
    ok(own_api.post("subjects/erase", {"document_number": person.cpf, "dry_run": True}))
    erasure = erase(own_api, document_number=person.cpf)["id"]
    organization = own_api.credential.organizations[0]
    admin_factory.ctl("subject", "find", "--organization", organization, "--email", person.email)
    entries = [e for e, in instance.sql("select entry from neoapi.audit_entry where owner = %s and action ~ 'subject' order by number", organization)]
    begun = [e for e in entries if e["action"] != "subject.erasure_begun"] + [e for e in entries if e["action"] == "subject.erasure_begun"][:1]
    assert [e["action"] for e in begun] == ["subject.found", "subject.exported", "subject.erasure_previewed", "subject.erased",
                                            "neoapictl.subject.find", "subject.erasure_begun"]
    assert [e["details"].get("parameters") for e in begun] == [["email"], ["phone"], ["document_number"], None, None, ["document_number"]]
    assert begun[-1]["object"] == begun[3]["object"] == {"type": "erasure", "id": erasure} and begun[3]["details"]["records"] == [party]
    assert {e["actor"].get("credential_id") for e in (*begun[:3], begun[-1])} == {own_api.credential.id}
    assert not [word for word in person.words if word in json.dumps(entries)]


# ---------------------------------------------------------------- races and interruptions

def test_writes_of_the_person_meanwhile_are_erased_or_come_after(own_api, instance, person):
    """Clients write the same person while it is erased; one more erasure leaves nothing."""
    parties = [ok(own_api.post("parties", person.party(document_number=None, external_id=None)), 201)["id"] for _ in range(5)]
    stop = threading.Event()

    def write(number):
        for n in range(100):
            if stop.is_set():
                return
            own_api.patch("parties/" + parties[number], {"name": f"{person.name} {n}", "email": person.email})
            own_api.post("leads", {"name": person.name, "email": person.email})

    def run():
        for _ in range(5):
            ok(own_api.post("subjects/erase", {"email": person.email}))
        stop.set()

    together(run, *(lambda n=n: write(n) for n in range(3)))
    erase(own_api, email=person.email)
    assert leftovers(instance, person.words[:3]) == []


def test_an_interrupted_erasure_is_completed_by_the_job(own_api, instance, person):
    """The request has ended after its first steps: it has searched, and erased the record."""
    party = ok(own_api.post("parties", person.party()), 201)["id"]
    organization, = own_api.credential.organizations
    id = "ers_" + "0" * 10 + uuid.uuid4().hex[:16]
    instance.sql("select neoapi.begin_erasure(%s, 'tnt', %s, %s, 'nbr', null)", organization, id, json.dumps({"email": person.email}))
    for _ in range(2):
        instance.sql("select neoapi.erasure_step(%s, %s, '{}')", organization, id)
    refused(own_api.get("parties/" + party), 404, "not_found.party")
    instance.sql("update neoapi.job set due_at = now() where name = 'erase'")
    eventually(lambda: instance.sql("select completed_at is not null from neoapi.erasure where id = %s", id) == [(True,)], "it is complete")
    assert leftovers(instance, person.words) == []


def blocked_by(instance, holder):
    """The pids of the backends that wait for a lock of this connection."""
    return [pid for pid, in instance.sql("select pid from pg_stat_activity where %s = any (pg_blocking_pids(pid))", holder.info.backend_pid)]


def test_an_erasure_waits_for_the_step_of_another_session(own_api, instance, admin_factory, person):
    """One session is in the middle of a step, because a record is locked. Two others do not report an unfinished erasure."""
    lead = ok(own_api.post("leads", person.lead()), 201)["id"]
    organization, = own_api.credential.organizations

    def waiting():
        return [pid for pid, in instance.sql("select pid from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0")]

    def erase_by_command():
        return admin_factory.ctl("subject", "erase", "--organization", organization, "--email", person.email)

    with ThreadPoolExecutor(3) as pool, contextlib.closing(psycopg2.connect(instance.dsn)) as holder:
        holder.cursor().execute("select from neoapi.lead where id = %s for update", [lead])
        first = pool.submit(erase_by_command)
        eventually(lambda: blocked_by(instance, holder), "a step waits for the record")
        others = [pool.submit(erase_by_command), pool.submit(lambda: ok(own_api.post("subjects/erase", {"email": person.email})))]
        eventually(lambda: len(waiting()) >= 3 or others[0].done() or others[1].done(), "the others wait for the step")
        holder.rollback()
        assert [one.result()["status"] for one in (first, *others)] == ["completed"] * 3
    assert leftovers(instance, person.words) == []


@pytest.mark.parametrize("victim", ["httpd", "postgresql"])
def test_a_killed_erasure_is_completed(new_instance, person, victim):
    """A process is killed while the erasure waits for the third of five records; the person writes meanwhile."""
    instance = new_instance(PROCESSES="1")
    api = Api(instance, AdminFactory(instance).key())
    lead = {"name": person.name, "email": person.email}
    leads = sorted(ok(api.post("leads", lead), 201)["id"] for _ in range(5))
    holder = psycopg2.connect(instance.dsn)
    holder.cursor().execute("select from neoapi.lead where id = %s for update", [leads[2]])

    def request():
        with contextlib.suppress(Exception):
            api.post("subjects/erase", {"email": person.email})

    thread = threading.Thread(target=request)
    thread.start()
    waiting, *_ = eventually(lambda: blocked_by(instance, holder), "the erasure waits for the record")
    os.kill(instance.children()[0] if victim == "httpd" else waiting, signal.SIGKILL)
    thread.join()
    with contextlib.suppress(psycopg2.Error):
        holder.close()

    def write():
        with contextlib.suppress(Exception):
            return api.post("leads", lead).status_code == 201
        return None

    eventually(write, "the service works again")
    erasure = erase(api, email=person.email)
    assert set(erasure["records"]) >= set(leads[2:]) and leftovers(instance, person.words) == []
    assert find(api, email=person.email)["records"] == []
    assert instance.sql("select count(*) from neoapi.erasure where completed_at is null") == [(0,)]


# ---------------------------------------------------------------- WhatsApp

def test_conversations_are_erased_and_an_opt_out_stays_in_force(org):
    person = Person()
    lead = ok(org.api.post("leads", person.lead()), 201)["id"]
    org.begin(lead)
    org.notify(text(f"Aqui é {person.name}", person.phone[1:]), text("PARAR", person.phone[1:]))
    assert org.conversation()["opted_out_at"]
    counts = erase(org.api, phone=person.phone)["counts"]
    assert (counts["leads"], counts["conversations"], counts["messages"]) == (1, 1, 3) and counts["opt_outs"] >= 1
    assert leftovers(org.instance, person.words) == []
    assert org.conversations() == [] and find(org.api, phone=person.phone)["records"] == []
    again = ok(org.api.post("leads", person.lead()), 201)["id"]
    refused(org.start(again), 409, "conflict.opted_out")


def test_a_conversation_that_begins_after_the_search_is_erased_with_its_lead(org):
    person = Person()
    lead = ok(org.api.post("leads", person.lead()), 201)["id"]
    organization, id = org.api.credential.organizations[0], "ers_" + "0" * 10 + uuid.uuid4().hex[:16]
    with contextlib.closing(psycopg2.connect(org.instance.dsn)) as connection, connection.cursor() as cursor:
        cursor.execute("select neoapi.begin_erasure(%s, 'tnt', %s, %s, 'nbr', null)", [organization, id, json.dumps({"phone": person.phone[1:]})])
        cursor.execute("select (neoapi.erasure_step(%s, %s, '{}')).targets", [organization, id])
        assert cursor.fetchone() == ([lead],)
        org.begin(lead)
        connection.commit()
    counts = erase(org.api, phone=person.phone)["counts"]
    assert (counts["leads"], counts["conversations"]) == (1, 1) and leftovers(org.instance, person.words) == []


# ---------------------------------------------------------------- files

def files_with(folder, words):
    """The files in a folder that contain one of the words."""
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and any(word.encode() in path.read_bytes() for word in words):
                found.append(path)
    return found


def test_neither_data_files_nor_logs_have_an_erased_person(new_instance, person):
    """VACUUM FULL writes the tables anew; PostgreSQL does not overwrite what VACUUM frees."""
    instance = new_instance(PROCESSES="1")
    api = Api(instance, AdminFactory(instance).key())
    for _ in range(3):
        ResourceFactory(api).party(email=f"{unique()}@example.com", phone=phone(), document_number=cpf())
        ResourceFactory(api).lead(email=f"{unique()}@example.com")
    party = ok(api.post("parties", person.party(), headers={"Idempotency-Key": str(uuid.uuid4())}), 201)["id"]
    ok(api.post("leads", person.lead(), headers={"Idempotency-Key": str(uuid.uuid4())}), 201)
    ok(api.patch("parties/" + party, {"name": person.name + " Neto"}))
    refused(api.post("parties", person.party(email="no " + person.name)), 400, "validation.party.email_invalid")
    refused(api.post("leads", person.lead()), 409, "conflict.duplicate")
    for who in ({"email": person.email}, {"phone": person.phone}):
        for path in ("parties", "leads", "subjects"):
            ok(api.get(path, params=who))
    ok(api.get("parties", params={"q": person.name}))
    instance.sql("analyze")
    instance.sql("checkpoint")
    base = Path(instance.sql("show data_directory")[0][0]) / "base"
    assert files_with(base, person.words)
    erase(api, document_number=person.cpf)
    erase(api, email=person.email)
    instance.sql("vacuum (full, analyze)")
    instance.sql("vacuum full pg_statistic")  # the statistics of columns have values, too
    instance.sql("checkpoint")
    assert leftovers(instance, person.words) == []
    left = [instance.sql("select pg_filenode_relation(0, %s)::regclass::text", int(path.name.split(".")[0].split("_")[0]))
            for path in files_with(base, person.words)]
    assert left == []
    logs = instance.error_log + instance.access_log
    assert party in logs and not [word for word in person.words if word in logs]


# ---------------------------------------------------------------- export

def test_an_export_is_the_whole_answer_to_the_person(own_api, instance, admin_factory, factory, person):
    consent = {"given_at": "2026-01-31T13:45:10.123Z", "source": "formulário do site"}
    lead = ok(own_api.post("leads", person.lead(consent=consent, source="site")), 201)
    party = ok(own_api.post("parties", person.party()), 201)
    ok(own_api.patch("leads/" + lead["id"], {"party_id": party["id"]}))
    organization, = own_api.credential.organizations
    for answer in (ok(own_api.post("subjects/export", {"document_number": person.cpf})),
                   admin_factory.ctl("subject", "export", "--organization", organization, "--document-number", person.cpf)):
        records = {one["id"]: one for one in answer["records"]}
        assert set(records) == {party["id"], lead["id"]} and records[party["id"]]["data"] == party
        origin = records[lead["id"]]["origin"]
        assert (origin["created_by"], origin["source"], origin["consent"]) == (lead["created_by"], "site", consent)
        assert records[party["id"]]["kept"] == {"why": "Until it is deleted or erased"}
        assert [one["type"] for one in answer["history"]] == ["lead.created", "party.created", "lead.updated"]
        assert answer["history_omitted"] == 0
        last = instance.sql("select (max(created_at) at time zone 'UTC')::date + 30 from neoapi.event where organization_id = %s", organization)
        assert answer["kept"] == {"events": {"days": 30, "until": last[0][0].isoformat()}, "deliveries": {"days": 30},
                                  "stored_responses": {"days": 1}}


def test_the_page_of_an_export_is_readable_and_escaped(own_api, instance, admin_factory, factory, person):
    """By the API and by neoapictl."""
    name = person.name + " <script>alert(1)</script> & `x`"
    lead = ok(own_api.post("leads", person.lead(name=name, source="referral")), 201)["id"]
    party = ok(own_api.post("parties", person.party(marital_status="single")), 201)["id"]
    contract = factory.contract(parties=[{"party_id": party, "role": "buyer"}, *factory.signed("sale")[:1]])["id"]
    answer = own_api.post("subjects/export", {"email": person.email}, headers={"Accept": "text/html"})
    organization, = own_api.credential.organizations
    by_command = subprocess.run([instance.env["NEOAPI_CTL"], "subject", "export", "--organization", organization, "--email", person.email, "--html"],
                                capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stdout
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8" and "Accept," in answer.headers["Vary"] + ","
    style = base64.b64encode(hashlib.sha256(answer.text.split("<style>")[1].split("</style>")[0].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{style}'" in answer.headers["Content-Security-Policy"]
    for page in answer.text, by_command:
        assert page.startswith("<!doctype html>") and html.escape(name, quote=False) in page and "<script" not in page
        for part in (person.cpf, lead, party, contract, "<dt>Estado civil</dt><dd>solteiro</dd>", "<dt>Fonte</dt><dd>indicação</dd>",
                     "Até que seja excluído, ou apagado a seu pedido.", "<h2>Histórico</h2>", "Nenhum sistema recebeu dados", "30 dias", "contato: criação", "<td>Parte</td>"):
            assert part in page, part


@pytest.mark.parametrize("accept, is_page", [
    ("text/html", True), ("text/html,application/xhtml+xml,*/*;q=0.8", True), ("TEXT/*", True), ("application/json;q=0.5, text/html", True),
    ("application/json", False), ("*/*", False), ("text/html, application/json", False), ("text/html; q=0.2, */*", False), ("text/html;q=0", False)])
def test_the_page_is_for_clients_that_prefer_it(own_api, accept, is_page):
    answer = own_api.post("subjects/export", {"email": "ana@example.com"}, headers={"Accept": accept})
    assert answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html" if is_page else "application/json")
    refused(own_api.post("subjects/export", {}, headers={"Accept": accept}), 400, "validation.subject.document_number_required")


def test_an_export_says_how_many_earlier_events_it_leaves_out(own_api, instance, person):
    lead = ok(own_api.post("leads", person.lead()), 201)["id"]
    organization, = own_api.credential.organizations
    instance.sql("insert into neoapi.event (organization_id, type, resource_id, created_at, payload, actor)"
                 " select %s, 'lead.updated', %s, now(), '{}', 'test' from generate_series(1, 10001)", organization, lead)
    answer = ok(own_api.post("subjects/export", {"email": person.email}))
    assert (len(answer["history"]), answer["history_omitted"], answer["counts"]["events"]) == (10_000, 2, 10_002)
    assert {one["type"] for one in answer["history"]} == {"lead.updated"}


def test_administrators_find_and_erase_a_person(own_api, instance, admin_factory, person):
    party = ok(own_api.post("parties", person.party()), 201)["id"]
    who = ("--organization", own_api.credential.organizations[0], "--phone", person.phone)
    assert admin_factory.ctl("subject", "find", *who)["records"][0]["id"] == party
    assert admin_factory.ctl("subject", "erase", *who, "--dry-run")["parties"] == [{"id": party, "becomes": "deleted"}]
    assert admin_factory.ctl("subject", "erase", *who)["counts"]["parties"] == 1
    assert leftovers(instance, person.words) == []


# ---------------------------------------------------------------- retention

def run_rules(instance, organization):
    def are_done():
        instance.sql("update neoapi.job set due_at = now() where name in ('retention', 'erase') and due_at > now()")
        return instance.sql("select bool_and(r.checked_at is not null) and not exists (select from neoapi.erasure e where e.organization_id = %s"
                            " and e.completed_at is null) from neoapi.retention_rule r where r.organization_id = %s",
                            organization, organization) == [(True,)]
    eventually(are_done, "the rules have run")


def test_rules_erase_old_leads_and_declined_candidates(own_api, factory, instance, admin_factory):
    old, fresh, converted = Person(), Person(), Person()
    organization, = own_api.credential.organizations
    ids = {one: ok(own_api.post("leads", one.lead()), 201)["id"] for one in (old, fresh, converted)}
    ok(own_api.patch("leads/" + ids[converted], {"status": "converted"}))
    candidate = ok(own_api.post("parties", Person().party()), 201)["id"]
    tenant = ok(own_api.post("parties", Person().party()), 201)["id"]
    for party, status in ((candidate, "rejected"), (tenant, "submitted")):
        proposal = factory.proposal(proponent_ids=[party])["id"]
        ok(own_api.patch("proposals/" + proposal, {"status": "submitted"}))
        if status != "submitted":
            ok(own_api.patch("proposals/" + proposal, {"status": status}))
    for table in ("lead", "party", "proposal"):
        columns = "updated_at = updated_at - interval '3 years', created_at = created_at - interval '3 years'"
        instance.sql(f"update neoapi.{table} set {columns}" + (", decided_at = decided_at - interval '3 years'" if table == "proposal" else "")
                     + " where organization_id = %s and id <> %s", organization, ids[fresh])
    preview = admin_factory.ctl("retention", "preview", "leads", "--organization", organization, "--months", "24")
    assert preview == {"due": 1, "examples": [ids[old]]}
    for kind in ("leads", "candidates"):
        admin_factory.ctl("retention", "set", kind, "--organization", organization, "--months", "24")
    run_rules(instance, organization)
    assert {one["id"] for one in ok(own_api.get("leads"))["items"]} == {ids[fresh], ids[converted]}
    assert ok(own_api.get("parties/" + candidate))["name"] == "[erased]" and ok(own_api.get("parties/" + tenant))["name"] != "[erased]"
    assert leftovers(instance, old.words) == []
    rules = admin_factory.ctl("retention", "list", "--organization", organization)
    assert {one["kind"]: one["erased"] for one in rules} == {"candidates": 1, "leads": 1}
    admin_factory.ctl("retention", "remove", "leads", "--organization", organization)
