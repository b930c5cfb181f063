# SPDX-License-Identifier: Apache-2.0
"""The identity of contacts with callbacks in any order: changes of number, reassigned numbers, and spellings. Each permutation
has its own phones, so that all of them share an organization. The timestamps of the events are in the past; the events arrive
in the order of the permutation.
"""

import itertools
import json
import time

import pytest

from client import refused
from ctl_instance import Ctl
from deployment import ROOT
from whatsapp import meta, module_admin_factory, module_instance, org, provider  # noqa: F401

from callbacks import change, contact, envelope, notification, status, system, text
from meta import accepting

START = int(time.time()) - 3000
phones = itertools.count(60_000_000)


def sent_to(org, lead):
    """Sends a message to the lead. Returns the Send that arrived at Meta."""
    answer = org.start(lead)
    assert answer.status_code in (200, 201), answer.content
    return org.meta.sends[-1]


class Case:
    """A lead, its contact's old and new phone, and the events of one permutation. `org` is shared."""

    def __init__(self, org, lead, old):
        self.org, self.lead, self.old, self.new = org, lead, old, f"55219{next(phones)}"
        self.ids = {name: f"BR.{name}{self.old}" for name in ("first", "second", "stranger")}

    def person(self, name):
        return f"{name} {self.old[-8:]}"

    def say(self, body, phone, id, name, at, **more):
        item = text(body, phone, self.ids.get(id), at=START + at, **more)
        self.org.deliver(envelope(self.org.number, change(
            self.org.number, contacts=[contact(phone, self.person(name), self.ids.get(id))], messages=[item])))

    def early(self):
        self.say("early", self.old, "first", "Carla", 10)

    def move(self):
        self.org.notify(system("user_changed_number", self.old, self.ids["first"], at=START + 100,
                               new={"wa_id": self.new, "user_id": self.ids["second"]}))

    def move_without_ids(self):
        self.org.notify(system("user_changed_number", self.old, at=START + 100, new={"wa_id": self.new}))

    def from_new(self):
        self.say("from the new number", self.new, "second", "Carla Dias", 200)

    def stranger(self):
        """A message of another contact that has the old number now."""
        self.say("who is this?", self.old, "stranger", "Beto", 300)

    def stranger_without_id(self):
        self.say("who is this?", self.old, None, "Beto", 300)

    def stranger_stops(self):
        self.say("PARAR", self.old, "stranger", "Beto", 310)

    def contact_stops(self):
        self.say("PARAR", self.old, "first", "Carla", 20)

    def contact_resumes(self):
        self.say("VOLTAR", self.new, "second", "Carla Dias", 210)

    def former_owner(self):
        """A message of another contact that had the new number before."""
        self.say("former", self.new, None, "Davi", 15)

    def send(self):
        """Meta reports the recipient of the message: the contact who has that phone now."""
        sent = sent_to(self.org, self.lead)
        to_old = sent.to == self.old
        self.org.notify(status(sent, "delivered", sent.to, self.ids["stranger" if to_old else "second"]))

    def try_to_send(self):
        assert self.org.start(self.lead).status_code in (200, 201, 409)

    def state(self):
        """The conversations with any of these phones, by the bodies of their messages."""
        found = self.org.instance.sql(
            "select array_agg(coalesce(m.body, m.type) order by m.occurred_at, m.type), c.contact_wa_id, c.contact_bsuid, c.contact_name,"
            " c.lead_id, c.triage, c.unread_count, c.opted_out_at is not null, c.last_inbound_at"
            " from neoapi.whatsapp_conversation c join neoapi.whatsapp_message m"
            " on m.organization_id = c.organization_id and m.conversation_id = c.id and m.direction = 'inbound'"
            " where c.organization_id = %s and exists (select from neoapi.whatsapp_identity i"
            " where i.conversation_id = c.id and i.wa_id in (%s, %s)) group by c.organization_id, c.id",
            self.org.organization, self.old, self.new)
        return sorted([row[:-1] for row in found], key=lambda row: row[0])


def cases(org, count):
    """Leads that were imported before all events."""
    old = [f"55119{next(phones)}" for _ in range(count)]
    org.ctl("lead", "import", "-", "--organization", org.organization,
            given="name,phone\n" + "".join(f"Lead {phone},{phone}\n" for phone in old))
    org.instance.sql("update neoapi.lead set phone_at = to_timestamp(%s) where organization_id = %s", START, org.organization)
    leads = {lead["phone"]: lead["id"] for lead in org.leads()}
    return [Case(org, leads[phone], phone) for phone in old]


def check_permutations(org, names, expected, then=lambda case: None):
    """Checks that every order of the events has the expected conversations, then calls `then`."""
    orders = list(itertools.permutations(names))
    for case, order in zip(cases(org, len(orders)), orders):
        for name in order:
            getattr(case, name)()
        assert case.state() == sorted(expected(case), key=lambda row: row[0]), order
        then(case)


def sends_to_the_new_number(case):
    assert sent_to(case.org, case.lead).to == case.new


def contact_row(case, bodies, is_out=False, unread=None):
    words = [body for body in bodies if body != "The contact has changed"]
    return (bodies, case.new, case.ids["second"], case.person("Carla Dias"), case.lead, "assigned",
            len(words) if unread is None else unread, is_out)


def stranger_row(case, bodies=("who is this?",), id="stranger", is_out=False):
    return (list(bodies), case.old, case.ids.get(id), case.person("Beto"), None, "pending", len(bodies), is_out)


MOVED = "The contact has changed"


def test_a_number_change_and_the_new_number_in_any_order(org):
    """Even if a message from the new number arrives before the change."""
    check_permutations(org, ["early", "move", "from_new"],
                       lambda case: [contact_row(case, ["early", MOVED, "from the new number"])], sends_to_the_new_number)


def test_a_stranger_with_the_old_number_in_any_order(org):
    """A stranger gets a separate conversation without the lead and its messages."""
    check_permutations(org, ["move", "from_new", "stranger", "send"],
                       lambda case: [contact_row(case, [MOVED, "from the new number"]), stranger_row(case)],
                       sends_to_the_new_number)


def test_a_stranger_without_a_user_id_in_any_order(org):
    check_permutations(org, ["move", "from_new", "stranger_without_id"],
                       lambda case: [contact_row(case, [MOVED, "from the new number"]), stranger_row(case, id=None)],
                       sends_to_the_new_number)


def test_a_strangers_opt_out_in_any_order(org):
    """It does not apply to the contact."""
    check_permutations(org, ["move", "from_new", "stranger_stops"],
                       lambda case: [stranger_row(case, ["PARAR"], is_out=True),
                                     contact_row(case, [MOVED, "from the new number"])], sends_to_the_new_number)


def test_a_contacts_opt_out_follows_the_change_in_any_order(org):
    check_permutations(org, ["move", "from_new", "contact_stops"],
                       lambda case: [contact_row(case, ["PARAR", MOVED, "from the new number"], is_out=True)],
                       lambda case: refused(org.start(case.lead), 409, "conflict.opted_out"))


def test_a_resume_from_the_new_number_in_any_order(org):
    check_permutations(org, ["move", "contact_stops", "contact_resumes"],
                       lambda case: [contact_row(case, ["PARAR", MOVED, "VOLTAR"])], sends_to_the_new_number)


def test_a_former_owner_of_the_new_number_in_any_order(org):
    """Their conversation keeps its messages and loses the phone."""
    check_permutations(org, ["former_owner", "move", "from_new"], lambda case: [
        (["former"], None, None, case.person("Davi"), None, "pending", 1, False),
        contact_row(case, [MOVED, "from the new number"])], sends_to_the_new_number)


@pytest.mark.slow
@pytest.mark.parametrize("move", ["move", "move_without_ids"])
def test_every_event_of_a_number_change_in_any_order(org, move):
    check_permutations(org, ["early", move, "from_new", "stranger", "send"],
                       lambda case: [contact_row(case, ["early", MOVED, "from the new number"]), stranger_row(case)],
                       sends_to_the_new_number)


@pytest.mark.slow
def test_every_preference_around_a_number_change_in_any_order(org):
    check_permutations(org, ["contact_stops", "move", "contact_resumes", "stranger_stops", "try_to_send"],
                       lambda case: [stranger_row(case, ["PARAR"], is_out=True), contact_row(case, ["PARAR", MOVED, "VOLTAR"])],
                       sends_to_the_new_number)


def test_two_changes_of_number_in_any_order(org):
    """The second change can arrive first."""
    for case, order in zip(cases(org, 24), itertools.permutations(range(4))):
        third = f"55319{next(phones)}"
        events = [text("early", case.old, at=START + 10), text("last", third, at=START + 160),
                  system("user_changed_number", case.old, at=START + 100, new={"wa_id": case.new}),
                  system("user_changed_number", case.new, at=START + 150, new={"wa_id": third})]
        for n in order:
            org.notify(events[n])
        row, = case.state()
        assert (row[0], row[1], row[4]) == (["early", MOVED, MOVED, "last"], third, case.lead), order
        assert sent_to(org, case.lead).to == third, order


def test_repeated_callbacks_change_nothing(org):
    case, = cases(org, 1)
    bodies = [notification(org.number, item) for item in (
        text("PARAR", case.old, at=START + 10), system("user_changed_number", case.old, at=START + 20, new={"wa_id": case.new}),
        text("who?", case.old, at=START + 30), text("VOLTAR", case.new, at=START + 40))]
    for body in bodies:
        org.deliver(body)
    before = case.state(), org.conversations(), org.messages()
    for body in bodies + bodies[::-1]:
        org.deliver(body)
    assert (case.state(), org.conversations(), org.messages()) == before


def test_all_events_in_one_callback(org):
    for case, order in zip(cases(org, 24), itertools.permutations(range(4))):
        items = [text("early", case.old, at=START + 10), system("user_changed_number", case.old, at=START + 100, new={"wa_id": case.new}),
                 text("mine", case.new, at=START + 200), text("stranger", case.old, at=START + 300)]
        org.notify(*[items[n] for n in order])
        assert [(row[0], row[1], row[4]) for row in case.state()] == [
            (["early", MOVED, "mine"], case.new, case.lead), (["stranger"], case.old, None)], order
        sends_to_the_new_number(case)


def test_a_lead_whose_number_belongs_to_another_contact_is_refused(org):
    """No message is sent to the contact that has the number now."""
    first, second = cases(org, 2)
    org.ctl("lead", "remove", second.lead)
    org.notify(text("Oi", first.old, at=START + 10))
    org.notify(text("Oi", second.old, at=START + 10), system("user_changed_number", second.old, at=START + 20, new={"wa_id": first.old}))
    problem = refused(org.start(first.lead), 400, "validation.whatsapp.lead_id_invalid")
    assert problem["errors"][0]["field"] == "lead_id" and not org.meta.sends


def test_a_newcomer_with_a_leads_old_number_becomes_a_lead(org):
    """The refused import says what to do first."""
    case, = cases(org, 1)
    case.early(), case.move(), case.stranger()
    newcomer = f"name,phone\nBeto,{case.old}\n"
    code, _, said = Ctl(org.instance).run("lead", "import", "-", "--organization", org.organization, stdin=newcomer)
    assert code == 1 and case.lead in said and "PATCH /leads/{id}" in said
    _, exported, _ = Ctl(org.instance).run("export", org.organization)
    line, = [json.loads(line) for line in exported.splitlines() if line.startswith('{"lead"')]
    line["lead"]["phone"] = case.new
    org.ctl("import", "-", "--organization", org.organization, given=json.dumps(line))
    beto = org.lead(case.old, "Beto")
    assert [sent_to(org, lead).to for lead in (case.lead, beto)] == [case.new, case.old]
    assert [row[0] for row in case.state()] == [["early", MOVED], ["who is this?"]]


# ---------------------------------------------------------------- spellings of a phone

KEYS = [line.split() for line in (ROOT / "tests/whatsapp/phone_keys.txt").read_text().splitlines() if line[:1] != "#"]


def test_the_database_has_the_same_phone_keys_as_the_module(module_instance):
    """tests/unit/test_lead.c reads the same file."""
    found = module_instance.sql("select p, neoapi.whatsapp_phone_key(p) from unnest(%s) p", [phone for phone, _ in KEYS])
    assert dict(found) == dict(KEYS) and len(KEYS) > 30


@pytest.mark.parametrize("lead, written", [("+5215512345678", "525512345678"), ("+525512345678", "5215512345678"),
                                           ("+5491123456789", "541123456789"), ("+541123456789", "5491123456789")])
def test_mexicos_and_argentinas_mobile_digit(org, lead, written):
    """An opt-out applies, and a reply belongs to the lead's conversation."""
    lead = org.lead(lead)
    made, _ = org.begin(lead)
    org.notify(text("Hola", written))
    assert org.conversation()["id"] == made["conversation"]["id"] and org.conversation()["unread_count"] == 1
    org.notify(text("PARAR", written))
    refused(org.start(lead), 409, "conflict.opted_out")


def test_the_returned_wa_id_is_authoritative(org):
    """Meta can return digits that no rule relates to the number."""
    lead = org.lead("+5215512345678")
    org.meta.behave(accepting(wa_id="525599990000"))
    made, _ = org.begin(lead)
    assert made["conversation"]["contact_wa_id"] == "525599990000"
    org.notify(text("Hola", "525599990000"))
    assert org.conversation()["unread_count"] == 1
    org.notify(text("PARAR", "525599990000"))
    refused(org.start(lead), 409, "conflict.opted_out")
