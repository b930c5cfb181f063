# SPDX-License-Identifier: Apache-2.0
"""Leads: what other resources do not have. test_resources.py and others test every operation."""

import json
import time
import uuid

import pytest
from client import Api, ok, refused
from event_log import events
from factories import phone
from wait import together
from whatsapp import PHONE, SHORT, meta, module_admin_factory, module_instance, org, provider  # noqa: F401

from callbacks import text

BSUID = "BR.13491208655302741918"


def lead(api, status=201, **fields):
    return ok(api.post("leads", {"name": "Carla Dias", **fields}), status)


@pytest.mark.parametrize("contact", [{"phone": "+5511987654321"}, {"whatsapp_user_id": BSUID}, {"email": "a@example.com"}])
def test_a_lead_has_at_least_one_way_to_be_contacted(own_api, contact):
    made = lead(own_api, **contact)
    (name, value), = contact.items()
    refused(own_api.post("leads", {"name": "Carla Dias"}), 400, "validation.lead.phone_required")
    refused(own_api.patch("leads/" + made["id"], {name: None}), 400, "validation.lead.phone_required")
    assert made in ok(own_api.get("leads", params={name: value}))["items"]


@pytest.mark.parametrize("sent", ["+55 (11) 98765-4321", "11 98765-4321", "5511987654321", "0055 11 98765 4321"])
def test_a_phone_is_stored_in_e164_and_unique_by_its_key(own_api, sent):
    made = lead(own_api, phone=sent)
    assert made["phone"] == "+" + PHONE
    for other in (sent, "+" + PHONE, "+" + SHORT):
        problem = refused(own_api.post("leads", {"name": "Bia", "phone": other}), 409, "conflict.duplicate")
        assert (problem["field"], problem["existing_id"]) == ("phone", made["id"])
        assert [one["id"] for one in ok(own_api.get("leads", params={"phone": "+" + SHORT}))["items"]] == [made["id"]]
    refused(own_api.post("leads", {"name": "Bia", "phone": "98765-4321"}), 400, "validation.lead.phone_invalid")
    assert ok(own_api.patch("leads/" + made["id"], {"message": "Oi"}))["phone"] == "+" + PHONE


def test_a_lost_lead_has_a_reason_and_can_be_contacted_again(own_api):
    path = "leads/" + lead(own_api, phone=phone())["id"]
    refused(own_api.patch(path, {"status": "lost"}), 400, "validation.lead.lost_reason_required")
    assert ok(own_api.patch(path, {"status": "lost", "lost_reason": "Sem retorno."}))["status"] == "lost"
    refused(own_api.patch(path, {"status": "qualified"}), 409, "conflict.invalid_transition")
    again = ok(own_api.patch(path, {"status": "contacted"}))
    assert again["status"] == "contacted" and "lost_reason" not in again
    refused(own_api.patch(path, {"status": "lost"}), 400, "validation.lead.lost_reason_required")
    refused(own_api.patch(path, {"lost_reason": "Sem retorno."}), 400, "validation.lead.lost_reason_invalid")
    refused(own_api.post("leads", {"name": "Carla Dias", "phone": phone(), "lost_reason": "Sem retorno."}), 400, "validation.lead.lost_reason_invalid")
    for status in ("qualified", "converted"):
        ok(own_api.patch(path, {"status": status}))
    refused(own_api.patch(path, {"status": "contacted"}), 409, "conflict.invalid_transition")


@pytest.mark.parametrize("kind, field", [("property", "property_id"), ("party", "party_id"), ("broker", "broker_id")])
def test_what_a_lead_refers_to_cannot_be_deleted(own_api, factory, kind, field):
    target = getattr(factory, kind)()["id"]
    path = {"property": "properties/", "party": "parties/", "broker": "brokers/"}[kind] + target
    made = lead(own_api, email="a@example.com", **{field: target})
    problem = refused(own_api.delete(path), 409, "conflict.in_use")
    assert f"while a lead refers to it. Remove the references first, such as {made['id']} ({field})." in problem["detail"]
    ok(own_api.delete("leads/" + made["id"]), 204)
    ok(own_api.delete(path), 204)


def test_subscriptions_must_list_the_events_of_leads(own_api):
    subscriptions = {patterns: ok(own_api.post("webhooks", {"url": "https://127.0.0.1:9/", "events": patterns.split()}), 201)["id"]
                     for patterns in ("*", "lead.*", "lead.created", "* lead.deleted")}
    path = "leads/" + lead(own_api, phone=phone())["id"]
    ok(own_api.patch(path, {"message": "Oi"}))
    ok(own_api.delete(path), 204)
    seen = {patterns: [one["event_type"] for one in ok(own_api.get(f"webhooks/{id}/deliveries"))["items"]][::-1]
            for patterns, id in subscriptions.items()}
    assert seen == {"*": [], "lead.*": ["lead.created", "lead.updated", "lead.deleted"], "lead.created": ["lead.created"],
                    "* lead.deleted": ["lead.deleted"]}


def test_leads_have_scopes_of_their_own(instance, admin_factory):
    organization = admin_factory.organization()
    reader, writer, other = (Api(instance, admin_factory.key(organization, scopes=scopes)) for scopes in
                             (["leads:read"], ["leads:write"], ["brokers:read", "brokers:write"]))
    made = lead(writer, phone=phone())
    assert ok(reader.get("leads/" + made["id"])) == made
    assert [one["type"] for one in ok(reader.get("events"))["items"]] == ["lead.created"]
    assert ok(other.get("events"))["items"] == []
    for response in (reader.post("leads", made), writer.get("leads"), other.get("leads"), other.post("leads", made)):
        refused(response, 403, "forbidden.insufficient_permissions")


# ---------------------------------------------------------------- merge


def test_a_merge_takes_over_what_the_lead_lacks_and_deletes_the_other(own_api, factory):
    subscription = ok(own_api.post("webhooks", {"url": "https://127.0.0.1:9/", "events": ["lead.*"]}), 201)["id"]
    home, broker = factory.property()["id"], factory.broker()["id"]
    kept = lead(own_api, email="a@example.com", source="site", broker_id=broker)
    other = lead(own_api, phone=phone(), email="b@example.com", source="portal", property_id=home, external_id="crm-1",
                 broker_id=factory.broker()["id"])
    once = {"Idempotency-Key": str(uuid.uuid4())}
    merged = ok(own_api.post(f"leads/{kept['id']}/merge", {"lead_id": other["id"]}, headers=once))
    assert ok(own_api.post(f"leads/{kept['id']}/merge", {"lead_id": other["id"]}, headers=once)) == merged
    taken = {name: other[name] for name in ("phone", "property_id", "external_id")}
    assert merged == {**kept, **taken, "merged_lead_ids": [other["id"]], "updated_at": merged["updated_at"]}
    assert ok(own_api.get("leads/" + kept["id"])) == merged
    refused(own_api.get("leads/" + other["id"]), 404, "not_found.lead")
    assert ok(own_api.post(f"leads/{kept['id']}/merge", {"lead_id": other["id"]})) == merged
    sent = [(one["event_type"], ok(own_api.get(f"webhooks/{subscription}/deliveries/{one['id']}"))["payload"])
            for one in ok(own_api.get(f"webhooks/{subscription}/deliveries"))["items"]][::-1][2:]
    deleted = {**other, "updated_at": sent[1][1]["updated_at"]}
    assert sorted(sent, key=lambda one: one[0], reverse=True) == [("lead.updated", merged), ("lead.deleted", deleted)]
    refused(own_api.delete("properties/" + home), 409, "conflict.in_use")


def test_the_event_of_a_merge_has_the_fields_that_changed(own_api):
    kept, other = lead(own_api, email="a@example.com"), lead(own_api, phone=phone(), message="Oi", external_id="crm-1")
    ok(own_api.post(f"leads/{kept['id']}/merge", {"lead_id": other["id"]}))
    again = lead(own_api, phone=phone())
    ok(own_api.post(f"leads/{kept['id']}/merge", {"lead_id": again["id"]}))
    listed = ok(own_api.get("events"))["items"]
    second, first = [one for one in listed if one["type"] == "lead.updated"]
    assert first["changed"] == ["phone", "message", "merged_lead_ids", "external_id"]
    assert first["previous"] == dict.fromkeys(first["changed"])
    assert second["changed"] == ["merged_lead_ids"] and second["previous"] == {"merged_lead_ids": [other["id"]]}
    for deleted in (one for one in listed if one["type"] == "lead.deleted"):
        assert not {"changed", "previous"} & deleted.keys()


def test_a_merged_lead_has_its_phone_since_the_other_had_it(own_api, instance):
    """Leads of one batch have their phones since the same time."""
    made = ok(own_api.post("leads/batch", {"operations": [
        {"method": "create", "data": {"name": "Carla Dias", "email": "a@example.com"}},
        {"method": "create", "data": {"name": "Carla Dias", "phone": phone()}}]}))["results"]
    kept, other = (one["resource"]["id"] for one in made)
    since = instance.sql("select phone_at from neoapi.lead where id = any (%s)", [kept, other])
    assert since[0] == since[1]
    ok(own_api.post(f"leads/{kept}/merge", {"lead_id": other}))
    assert instance.sql("select phone_at from neoapi.lead where id = %s", kept) == since[:1]


def test_a_lead_names_the_latest_thousand_that_were_merged_into_it(own_api, instance):
    kept, other = lead(own_api, email="a@example.com")["id"], lead(own_api, phone=phone())["id"]
    earlier = [f"led_{n:026}" for n in range(1000)]
    instance.sql("update neoapi.lead set merged_lead_ids = %s::json where id = %s", json.dumps(earlier), kept)
    merged = ok(own_api.post(f"leads/{kept}/merge", {"lead_id": other}))
    assert merged["merged_lead_ids"] == [*earlier[1:], other]
    assert ok(own_api.post(f"leads/{kept}/merge", {"lead_id": other})) == merged


def test_a_merge_needs_two_leads_of_the_organization(own_api, instance, admin_factory):
    kept, foreign = lead(own_api, phone=phone()), lead(Api(instance, admin_factory.key()), phone=phone())
    path = f"leads/{kept['id']}/merge"
    for other in (foreign["id"], "led_" + "0" * 26):
        refused(own_api.post(path, {"lead_id": other}), 400, "validation.lead.lead_id_not_found")
        refused(own_api.post(f"leads/{other}/merge", {"lead_id": kept["id"]}), 404, "not_found.lead")
    refused(own_api.post(path, {"lead_id": kept["id"]}), 400, "validation.lead.lead_id_invalid")
    refused(own_api.post(path, {}), 400, "validation.lead.lead_id_required")
    refused(own_api.get(path), 405, "validation.method_not_allowed")
    assert ok(own_api.get("leads/" + kept["id"])) == kept


def test_concurrent_merges_in_both_directions_leave_one_lead(own_api):
    for _ in range(5):
        one, other = (lead(own_api, phone=phone())["id"] for _ in range(2))
        answers = together(*[lambda a=a, b=b: own_api.with_().post(f"leads/{a}/merge", {"lead_id": b})
                             for a, b in ((one, other), (other, one))])
        assert sorted(answer.status_code for answer in answers) == [200, 404]
        left = [id for id in (one, other) if own_api.get("leads/" + id).status_code == 200]
        assert len(left) == 1


def test_conversations_and_opt_outs_follow_a_merge(org):
    kept, other = lead(org.api, email="a@example.com"), lead(org.api, phone="+" + PHONE)
    started, _ = org.begin(other["id"])
    org.notify(text("PARAR", PHONE, at=time.time() - 30))
    ok(org.api.post(f"leads/{kept['id']}/merge", {"lead_id": other["id"]}))
    conversation, = ok(org.api.get("whatsapp/conversations", params={"lead_id": kept["id"]}))["items"]
    assert conversation["id"] == started["conversation"]["id"] and conversation["opted_out_at"]
    refused(org.start(kept["id"]), 409, "conflict.opted_out")
    org.notify(text("VOLTAR", PHONE))
    again, send = org.begin(kept["id"], status=200)
    assert again["conversation"]["id"] == conversation["id"] and send.to == PHONE
    assert org.instance.sql("select distinct lead_id from neoapi.whatsapp_identity where organization_id = %s and lead_id is not null",
                            org.organization) == [(kept["id"],)]


def test_an_opt_out_of_a_merged_lead_holds_at_once_and_has_an_event(org):
    kept, other = lead(org.api, phone="+5511987650001"), lead(org.api, phone="+" + PHONE)
    started, _ = org.begin(kept["id"])
    org.begin(other["id"])
    org.notify(text("PARAR", PHONE, at=time.time() - 30))
    ok(org.api.post(f"leads/{kept['id']}/merge", {"lead_id": other["id"]}))
    conversation = ok(org.api.get("whatsapp/conversations/" + started["conversation"]["id"]))
    assert conversation["opted_out_at"]
    event, = (one for one in events(org.instance, org.organization)
              if (one["type"], one["resource_id"]) == ("whatsapp.contact.opted_out", conversation["id"]))
    assert event["payload"] == conversation and event["request_id"]


# ---------------------------------------------------------------- WhatsApp and neoapictl


def test_a_message_goes_to_the_phone_or_else_the_user_id_of_a_lead(org):
    made = lead(org.api, phone="+" + PHONE)
    started, send = org.begin(made["id"])
    assert send.to == PHONE and started["conversation"]["lead_id"] == made["id"]
    hidden = lead(org.api, whatsapp_user_id=BSUID)
    started, _ = org.begin(hidden["id"])
    assert started["conversation"]["contact_bsuid"] == BSUID and "contact_wa_id" not in started["conversation"]
    assert started["conversation"]["lead_id"] == hidden["id"]
    written = lead(org.api, email="a@example.com")
    refused(org.start(written["id"]), 400, "validation.whatsapp.lead_id_invalid")
    assert len(org.conversations()) == 2


def test_a_lead_with_a_conversation_is_deleted_by_the_administrator_only(org):
    path = "leads/" + lead(org.api, phone="+" + PHONE)["id"]
    org.begin(path[6:])
    refused(org.api.delete(path), 409, "conflict.in_use")
    batch = ok(org.api.post("leads/batch", {"operations": [{"method": "delete", "id": path[6:]}]}))
    assert batch["results"][0]["error"]["code"] == "conflict.in_use"
    org.ctl("lead", "remove", path[6:], "--with-conversations")
    refused(org.api.get(path), 404, "not_found.lead")
    *_, before, last = events(org.instance, org.organization)
    assert (last["type"], last["actor"], last["payload"]["id"]) == ("lead.deleted", "neoapictl", path[6:])
    assert last["payload"]["updated_at"] > before["payload"]["updated_at"]


def test_leads_of_a_file_are_in_the_event_log_without_deliveries(org):
    subscription = ok(org.api.post("webhooks", {"url": "https://127.0.0.1:9/", "events": ["lead.*"]}), 201)["id"]
    party = ok(org.api.post("parties", {"kind": "person", "name": "Ana", "roles": ["buyer"]}), 201)["id"]
    org.ctl("lead", "import", "-", "--organization", org.organization, given=f"name,phone,party_id\nAna,11987654321,{party}\n")
    made, = ok(org.api.get("leads"))["items"]
    assert (made["phone"], made["source"], made["status"], made["created_by"]) == ("+" + PHONE, "import", "new", "neoapictl")
    logged = ok(org.api.get("events", params={"type": "lead.*"}))["items"]
    assert [(one["type"], one["payload"]) for one in logged] == [("lead.created", made)]
    assert ok(org.api.get(f"webhooks/{subscription}/deliveries"))["items"] == []
    refused(org.api.delete("parties/" + party), 409, "conflict.in_use")


def test_an_exported_lead_is_imported_unchanged(org, tmp_path):
    body = {"whatsapp_user_id": BSUID, "consent": {"given_at": "2026-01-31T13:45:10.123Z", "source": "site"},
            "origin": {"portal": "zap", "lead_id": "17"}}
    made, file = lead(org.api, **body), tmp_path / "all"
    org.begin(made["id"])
    org.ctl("export", org.organization, "--output", str(file))
    before = file.read_text().splitlines()[1:]
    assert json.loads(next(line for line in before if line.startswith('{"lead"')))["lead"] == ok(org.api.get("leads/" + made["id"]))
    org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
    org.ctl("import", str(file), "--organization", org.organization)
    org.ctl("export", org.organization, "--output", str(file) + ".again")
    assert (tmp_path / "all.again").read_text().splitlines()[1:] == before
