# SPDX-License-Identifier: Apache-2.0
"""Leads that portals post: secrets, formats, repeated posts, and leads that cannot be created."""

import base64
import contextlib
import json
import subprocess
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from client import Adapter, Api, ok, refused
from conftest import addresses
from event_log import events
from factories import ResourceFactory
from raw_http import RawConnection
from wait import TIMEOUT_S, eventually, together
from webhook_fixtures import module_admin_factory, running_instance  # noqa: F401 (a fixture among them)

PATH = "/leads"
CONF = f"""
<Location "{PATH}">
    SetHandler neoapi-leads
</Location>
"""
SECRET = "594F803B380A41396ED63DCA39503542"


@pytest.fixture(scope="module")
def module_instance():
    with running_instance(__name__, CONF) as instance:
        yield instance


@pytest.fixture
def org(module_instance, module_admin_factory):
    return Org(module_instance, module_admin_factory)


def basic(secret):
    return "Basic " + base64.b64encode(f"vivareal:{secret}".encode()).decode()


class Org:
    """An organization with a portal and a property, and its administration with neoapictl."""

    def __init__(self, instance, admin_factory):
        self.instance = instance
        self.api = Api(instance, admin_factory.key())
        self.organization, = self.api.credential.organizations
        self.portal = self.ctl("portal", "create", "grupo_olx", "--organization", self.organization, "--secrets", "-",
                               given=f"secret={SECRET}\n")["id"]
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = instance.ca
        self.session.mount("https://", Adapter(next(addresses), Path(instance.ca).read_text()))

    def run(self, *args, given=""):
        return subprocess.run([self.instance.env["NEOAPI_CTL"], "--json", *args], input=given, text=True, capture_output=True,
                              timeout=TIMEOUT_S)

    def ctl(self, *args, given=""):
        done = self.run(*args, given=given)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def post(self, body, secret=SECRET, portal=None, method="POST", headers=None):
        """Posts a lead, with the secret as Basic authentication unless headers are given. Returns the status."""
        sent = {"Authorization": basic(secret)} if headers is None else headers
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"https://{urlsplit(self.instance.url).netloc}{PATH}/{portal or self.portal}"
        answer = self.session.request(method, url, data=data, headers={"Content-Type": "application/json", **sent}, timeout=TIMEOUT_S)
        assert answer.headers["Content-Type"].startswith("text/plain") and len(answer.content) < 100, answer.content
        return answer.status_code

    def leads(self):
        return ok(self.api.get("leads"))["items"]

    def rejected(self):
        return self.ctl("lead", "rejected", "--organization", self.organization)


def lead(code, id="59ee0fc6e4b043e1b2a6d863", **changes):
    return {"leadOrigin": "Grupo OLX", "timestamp": "2017-10-23T15:50:30.619Z", "originLeadId": id, "originListingId": "87027856",
            "clientListingId": code, "name": "Nome Consumidor", "email": "nome.consumidor@example.com", "ddd": "11",
            "phone": "999999999", "phoneNumber": "11999999999", "message": "Olá, tenho interesse.", "temperature": "Alta",
            "transactionType": "SELL", **changes}


@pytest.fixture
def home(org):
    return ResourceFactory(org.api).property()


def test_a_lead_of_grupo_olx_is_created_with_its_event(org, home):
    assert org.post(lead(home["code"])) == 200
    made, = org.leads()
    assert {name: made[name] for name in ("name", "email", "phone", "message", "source", "status", "property_id", "received_at")} == {
        "name": "Nome Consumidor", "email": "nome.consumidor@example.com", "phone": "+5511999999999", "message": "Olá, tenho interesse.",
        "source": "portal", "status": "new", "property_id": home["id"], "received_at": "2017-10-23T15:50:30.619Z"}
    assert made["origin"] == {"portal": "grupo_olx", "lead_id": "59ee0fc6e4b043e1b2a6d863"}
    assert made["metadata"] == {"lead_origin": "Grupo OLX", "origin_listing_id": "87027856", "temperature": "Alta",
                                "transaction_type": "SELL"}
    assert made.get("broker_id") == home.get("broker_id") and made["created_by"] == org.portal
    event = events(org.instance, org.organization)[-1]
    assert (event["type"], event["resource_id"], event["actor"]) == ("lead.created", made["id"], org.portal)
    assert event["payload"]["property_id"] == home["id"]


def test_a_lead_of_plaza_is_created_without_a_listing(org):
    made = org.ctl("portal", "create", "plaza", "--organization", org.organization)
    body = {"name": "John Doe", "ddd": "11", "phone": "988887777", "origin": "WhatsApp", "leadSummary": "2 quartos"}
    for _ in range(2):
        assert org.post(body, portal=made["id"], headers={"Authorization": "Bearer " + made["secret"]}) == 200
    one, = org.leads()
    assert (one["phone"], one["message"], one["origin"]["portal"]) == ("+5511988887777", "2 quartos", "plaza")


def test_a_repeated_lead_changes_nothing(org, home):
    statuses = together(*[lambda: Org.post(org, lead(home["code"]))] * 6)
    assert 200 in statuses and set(statuses) <= {200, 503}
    assert org.post(lead(home["code"])) == 200
    assert org.post(lead(home["code"], message="another")) == 200
    assert len(org.leads()) == 1 and org.rejected() == []
    assert [e["type"] for e in events(org.instance, org.organization)].count("lead.created") == 1


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic"}, {"Authorization": "Basic !"}, {"Authorization": "Bearer x"},
                                     {"Authorization": "Basic " + base64.b64encode(SECRET.encode()).decode()},
                                     {"Authorization": "Basic " + base64.b64encode(f"a:{SECRET}x".encode()).decode()},
                                     {"Authorization": "Basic " + base64.b64encode(b"a:" + b"x" * 5000).decode()}],
                         ids=["none", "no value", "not base64", "bearer", "no user", "wrong", "long"])
def test_a_lead_without_the_secret_is_refused(org, home, headers):
    assert org.post(lead(home["code"]), headers=headers) == 401
    assert org.leads() == [] and org.rejected() == []


def test_an_unknown_or_removed_portal_is_refused(org, home):
    assert org.post(lead(home["code"]), portal="ptl_" + "0" * 26) == 401
    assert org.post(lead(home["code"]), portal="x") == 401
    org.ctl("portal", "remove", org.portal)
    assert org.post(lead(home["code"])) == 401


def test_a_rotated_secret_replaces_the_previous_one(org, home):
    secret = org.ctl("portal", "rotate", org.portal)["secret"]
    assert org.post(lead(home["code"])) == 401
    assert org.post(lead(home["code"]), secret=secret) == 200


def test_a_short_secret_is_refused(org, home):
    for command in (("create", "plaza", "--organization", org.organization), ("rotate", org.portal)):
        done = org.run("portal", *command, "--secrets", "-", given="secret=" + "x" * 15 + "\n")
        assert done.returncode == 1 and "the secret has fewer than 16 characters" in done.stderr
    org.ctl("portal", "rotate", org.portal, "--secrets", "-", given="secret=" + "x" * 16 + "\n")
    assert org.post(lead(home["code"]), secret="x" * 16) == 200


@pytest.mark.parametrize("body, reason", [
    (b"", None), (b"{", None), (b"\xff\x00", None), (b"[]", "the body is not a JSON object"),
    (lead(None), "clientListingId is missing"), (lead("nowhere"), "no property has the code nowhere"),
    (lead("nowhere", id=None), "originLeadId is missing")], ids=["empty", "malformed", "bytes", "array", "no listing", "unknown", "no id"])
def test_what_cannot_be_read_or_matched_is_kept(org, body, reason):
    assert [org.post(body), org.post(body)] == [200, 200]
    kept, = org.rejected()
    assert (kept["portal_id"], kept["times"]) == (org.portal, 2) and kept["reason"] == (reason or kept["reason"])
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    text = kept["body"]
    assert (base64.b64decode(text[7:]) if text.startswith("base64:") else text.encode()) == data
    assert org.leads() == [] and events(org.instance, org.organization) == []


# ---------------------------------------------------------------- further contacts

EARLIER, LATER = "2017-10-23T15:50:30.000Z", "2017-10-24T09:00:00.000Z"


def kinds(org):
    return [event["type"] for event in events(org.instance, org.organization) if event["type"].startswith("lead.")]


def test_a_further_contact_updates_the_lead_of_the_person(org, home):
    other = ResourceFactory(org.api).property()
    assert org.post(lead(home["code"])) == 200
    first, = org.leads()
    assert org.post(lead(other["code"], id="2", timestamp=LATER, message="E esta casa?", name="N. Consumidor", temperature="Baixa")) == 200
    made, = org.leads()
    changed = {"message": "E esta casa?", "received_at": LATER, "property_id": other["id"], "metadata": {**first["metadata"], "temperature": "Baixa"},
               "origin": {"portal": "grupo_olx", "lead_id": "2"}}
    assert made == {**first, **changed, "updated_at": made["updated_at"]} and made["updated_at"] > first["updated_at"]
    assert org.rejected() == [] and kinds(org) == ["lead.created", "lead.updated"]
    event = events(org.instance, org.organization)[-1]
    assert (event["resource_id"], event["actor"], event["payload"]) == (made["id"], org.portal, made)
    assert set(event["changed"]) == set(changed) and event["previous"] == {name: first[name] for name in changed}
    refused(org.api.delete("properties/" + other["id"]), 409, "conflict.in_use")
    ok(org.api.delete("properties/" + home["id"]), 204)


def test_a_repetition_of_an_earlier_contact_changes_nothing(org, home):
    contacts = [lead(home["code"]), lead(home["code"], id="2", timestamp=LATER, message="De novo.")]
    assert [org.post(one) for one in contacts] == [200, 200]
    made = org.leads()
    for one in contacts * 2:
        assert org.post(one) == 200
    assert org.leads() == made and org.rejected() == [] and kinds(org) == ["lead.created", "lead.updated"]


def test_an_older_contact_only_completes_the_lead(org, home):
    assert org.post(lead(home["code"], timestamp=LATER, email=None, message="Nova.")) == 200
    first, = org.leads()
    assert org.post(lead(home["code"], id="2", timestamp=EARLIER, message="Velha.")) == 200
    made, = org.leads()
    assert made == {**first, "email": "nome.consumidor@example.com", "updated_at": made["updated_at"]}
    lost = ok(org.api.patch("leads/" + made["id"], {"status": "lost", "lost_reason": "Sem retorno."}))
    assert org.post(lead(home["code"], id="3", timestamp=EARLIER, message="Velha.")) == 200
    assert org.leads() == [lost] and kinds(org) == ["lead.created"] + ["lead.updated"] * 2


@pytest.mark.parametrize("status, then", [("lost", "contacted"), ("qualified", "qualified"), ("converted", "converted")])
def test_a_further_contact_opens_a_lost_lead_again(org, home, status, then):
    path = "leads/" + ok(org.api.post("leads", {"name": "Ana", "phone": "+551199999999", "source": "site"}), 201)["id"]
    ok(org.api.patch(path, {"status": status, **({"lost_reason": "Sem retorno."} if status == "lost" else {})}))
    assert org.post(lead(home["code"])) == 200  # its phone has the ninth digit
    made = ok(org.api.get(path))
    assert org.leads() == [made] and (made["name"], made["source"], made["status"]) == ("Ana", "site", then)
    assert "lost_reason" not in made and made["property_id"] == home["id"] and made["updated_by"] == org.portal


def test_contacts_of_one_person_at_the_same_time_make_one_lead(org, home):
    for _ in range(2):
        assert together(*[lambda id=id: org.post(lead(home["code"], id=id)) for id in "1234"]) == [200] * 4
    made, = org.leads()
    assert kinds(org).count("lead.created") == 1 and org.rejected() == []
    assert org.instance.sql("select origin_id, lead_id from neoapi.lead_origin where organization_id = %s order by 1", org.organization) == [
        (id, made["id"]) for id in "1234"]


def test_a_contact_without_a_phone_is_a_lead_of_its_own(org, home):
    without = {"ddd": None, "phone": None, "phoneNumber": None}
    assert [org.post(lead(home["code"], id=id, **without)) for id in "1212"] == [200] * 4
    assert len(org.leads()) == 2 and kinds(org) == ["lead.created"] * 2


def test_a_repeated_contact_of_a_merged_or_deleted_lead_is_no_new_lead(org, home):
    other = lead(home["code"], id="2", ddd="21", phoneNumber=None)
    assert [org.post(lead(home["code"])), org.post(other)] == [200, 200]
    second, first = org.leads()
    merged = ok(org.api.post(f"leads/{first['id']}/merge", {"lead_id": second["id"]}))
    assert [org.post(lead(home["code"])), org.post(other)] == [200, 200]
    assert org.leads() == [merged] and org.rejected() == []
    assert set(org.instance.sql("select lead_id from neoapi.lead_origin where organization_id = %s", org.organization)) == {(first["id"],)}
    ok(org.api.delete("leads/" + first["id"]), 204)
    assert [org.post(lead(home["code"])), org.post(other)] == [200, 200]
    assert org.leads() == [] and org.rejected() == []
    assert org.post(lead(home["code"], id="3")) == 200
    assert [one["origin"]["lead_id"] for one in org.leads()] == ["3"]


def test_a_repeated_contact_is_recognized_although_its_property_is_gone(org, home):
    assert org.post(lead(home["code"])) == 200
    ok(org.api.patch("properties/" + home["id"], {"code": "OTHER"}))
    assert org.post(lead(home["code"])) == 200
    assert len(org.leads()) == 1 and org.rejected() == []


def test_a_contact_is_remembered_for_thirty_days(org, home):
    assert org.post(lead(home["code"])) == 200 and org.post(lead(home["code"], id="2", phoneNumber=None, phone="988887777")) == 200
    for id, days in (("59ee0fc6e4b043e1b2a6d863", 31), ("2", 29)):
        org.instance.sql("update neoapi.lead_origin set received_at = now() - make_interval(days => %s)"
                         " where organization_id = %s and origin_id = %s", days, org.organization, id)
    org.instance.sql("update neoapi.job set due_at = now() where name = 'cleanup'")
    remembered = "select origin_id from neoapi.lead_origin where organization_id = %s"
    eventually(lambda: org.instance.sql(remembered, org.organization) == [("2",)], "the old one is removed")


def test_the_rule_of_the_organization_gives_a_lead_its_broker(org, home):
    make = ResourceFactory(org.api)
    brokers = [make.broker()["id"] for _ in range(2)]
    others = [make.property(broker_id=broker)["code"] for broker in brokers]
    org.ctl("organization", "change", org.organization, "--lead-assignment", "property")
    found = []
    for id, code in enumerate([home["code"], *others]):
        assert org.post(lead(code, id=str(id))) == 200
        made, = org.leads()
        found.append((made.get("broker_id"), made.get("assigned_by")))
    assert found == [(None, None)] + [(brokers[0], "rule")] * 2
    assert [event["changed"] for event in events(org.instance, org.organization) if event["type"] == "lead.updated"] == [
        ["origin", "property_id", "broker_id", "assigned_by"], ["origin", "property_id"]]
    refused(org.api.delete("brokers/" + brokers[0]), 409, "conflict.in_use")
    assert org.post(lead(others[1], id="9", ddd="21", phoneNumber=None)) == 200
    assert org.leads()[0]["broker_id"] == brokers[1]
    refused(org.api.delete("brokers/" + brokers[1]), 409, "conflict.in_use")


# ---------------------------------------------------------------- rejected leads


def test_a_rejected_lead_is_accepted_once_its_property_exists(org, home):
    assert org.post(lead("LATE-1")) == 200 and org.post(lead("LATE-2", id="2", phone="988887777")) == 200
    late, later = sorted(org.rejected(), key=lambda one: one["id"])
    refused = org.run("lead", "accept", late["id"])
    assert refused.returncode == 1 and "no property has the code LATE-1" in refused.stderr
    ok(org.api.patch("properties/" + home["id"], {"code": "LATE-1"}))
    org.ctl("lead", "accept", late["id"])
    assert [one["id"] for one in org.rejected()] == [later["id"]]
    ok(org.api.patch("properties/" + home["id"], {"code": "LATE-2"}))
    assert org.post(lead("LATE-2", id="2", phone="988887777")) == 200  # the portal repeats it
    assert org.rejected() == [] and len(org.leads()) == 2
    assert org.run("lead", "accept", late["id"]).returncode == 1


def test_a_rejected_lead_is_removed_after_thirty_days(org):
    assert org.post(lead("nowhere")) == 200 and org.post(lead("elsewhere")) == 200
    old, recent = sorted(org.rejected(), key=lambda one: one["id"])
    for one, days in ((old, 31), (recent, 29)):
        org.instance.sql("update neoapi.lead_rejected set last_received_at = now() - make_interval(days => %s) where id = %s", days, one["id"])
    org.instance.sql("update neoapi.job set due_at = now() where name = 'cleanup'")
    eventually(lambda: [one["id"] for one in org.rejected()] == [recent["id"]], "the old one is removed")


def test_rejected_leads_are_removed_in_steps(org):
    assert org.post(lead("nowhere")) == 200
    org.instance.sql("""
        insert into neoapi.lead_rejected (organization_id, id, portal_id, body_hash, body, reason, last_received_at)
        select organization_id, 'lrj_' || lpad(n::text, 26, '0'), portal_id, sha256(n::text::bytea), '', '', now() - interval '31 days'
        from neoapi.lead_rejected, generate_series(1, 1500) n where portal_id = %s""", org.portal)
    org.instance.sql("""
        create function neoapi.refuse_many() returns trigger language plpgsql as $$
        begin
            if (select count(*) > 1000 from removed) then raise 'too many rows at once'; end if;
            return null;
        end $$""")
    org.instance.sql("create trigger many after delete on neoapi.lead_rejected referencing old table as removed"
                     " for each statement execute function neoapi.refuse_many()")
    try:
        org.instance.sql("update neoapi.job set due_at = now() where name = 'cleanup'")
        eventually(lambda: len(org.rejected()) == 1, "the old ones are removed")
    finally:
        org.instance.sql("drop function neoapi.refuse_many() cascade")


def test_messages_about_rejected_leads_are_limited(org):
    before, processes = org.instance.error_log.count("NEO0408"), len(org.instance.children())
    assert {org.post(lead("nowhere")) for _ in range(3 * processes)} == {200}
    assert org.instance.error_log.count("NEO0408") - before <= processes


def test_other_methods_and_large_bodies_are_refused(org):
    assert org.post(b"", method="GET") == 405
    assert org.post(b" " * 65537) == 413
    assert org.rejected() == []


def test_an_organization_with_a_portal_is_not_removed(org):
    done = org.run("organization", "remove", org.organization)
    assert done.returncode == 1 and "1 portal" in done.stderr


# ---------------------------------------------------------------- limits


def test_a_flood_of_one_portal_does_not_block_others(org, home):
    """A host receives eight leads of a portal at a time: a further one is refused, and those that wait hold no connection to the database."""
    head = f"POST {PATH}/{org.portal} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nAuthorization: {basic(SECRET)}\r\n\r\n"
    api = Api(org.instance, url=f"https://{urlsplit(org.instance.url).netloc}{PATH}/")
    other = org.ctl("portal", "create", "plaza", "--organization", org.organization)
    with contextlib.ExitStack() as stack:
        posts = [stack.enter_context(RawConnection(api)).send(head.encode()) for _ in range(9)]
        pool = stack.enter_context(ThreadPoolExecutor(len(posts)))
        answers = [pool.submit(post.answer, "POST") for post in posts]
        done, _ = wait(answers, TIMEOUT_S, FIRST_COMPLETED)
        assert {(one.result().status_code, one.result().headers["Retry-After"]) for one in done} == {(503, "5")}
        statuses = together(*[lambda n=n: org.post({"name": "Ana", "ddd": "11", "phone": f"98888777{n}"}, portal=other["id"], secret=other["secret"])
                              for n in range(6)])
        assert statuses == [200] * 6 and len(org.leads()) == 6
        for post in posts:
            post.send(b" " * 100)
        statuses = [one.result().status_code for one in answers]  # of posts that arrive at once, more can be refused
        assert set(statuses) == {200, 503} and statuses.count(200) <= 8
    assert org.post(lead(home["code"])) == 200


def refused_until_limited(org, limit, **post):
    """How many posts are refused with 401 before one is refused with 429."""
    for count in range(limit + 1):
        status = org.post({}, **post)
        if status == 429:
            return count
        assert status == 401
    return limit + 1


@pytest.mark.parametrize("unauthorized", [{"secret": "x"}, {"headers": {}}], ids=["wrong secret", "no secret"])
def test_failed_posts_of_one_portal_do_not_lock_out_others(org, home, unauthorized):
    other = org.ctl("portal", "create", "plaza", "--organization", org.organization)
    assert refused_until_limited(org, 60, **unauthorized) <= 60
    assert org.post(lead(home["code"])) == 429  # guessing does not go on, even with the secret
    assert org.post({"name": "Ana", "phone": "11988887777"}, portal=other["id"], secret=other["secret"]) == 200
    org.session.mount("https://", Adapter(next(addresses), Path(org.instance.ca).read_text()))
    assert org.post(lead(home["code"])) == 200


def test_posts_to_a_removed_portal_do_not_lock_out_others(org, home):
    removed = org.ctl("portal", "create", "plaza", "--organization", org.organization)
    org.ctl("portal", "remove", removed["id"])
    assert refused_until_limited(org, 60, portal=removed["id"], secret=removed["secret"]) <= 60
    assert org.post(lead(home["code"])) == 200


def test_secrets_and_contents_are_not_logged(org, home):
    assert org.post(lead("nowhere", name="Zacarias")) == 200
    assert org.post(lead("nowhere"), secret="secret-that-is-wrong") == 401
    logs = org.instance.error_log + org.instance.access_log
    assert "NEO0408" in logs and "NEO0407" in logs
    for hidden in (SECRET, "secret-that-is-wrong", "Zacarias", "nome.consumidor"):
        assert hidden not in logs
