# SPDX-License-Identifier: Apache-2.0
"""POST /whatsapp/conversations when Meta accepts: responses, the requests to Meta, and requests refused before Meta is called."""

import re

import pytest

from client import ULID, Api, moment, refused
from whatsapp import (PHONE, SHORT, WhatsAppOrg, meta, module_admin_factory,  # fixtures among them
                      module_instance, org, provider)

from callbacks import system, text
from meta import accepting

UNKNOWN_LEAD = "led_00000000000000000000000000"


# ---------------------------------------------------------------- responses


def test_a_conversation_begins_with_a_lead_and_a_template(org):
    lead = org.lead()
    made, send = org.begin(lead)
    assert set(made) == {"conversation", "message", "created"} and made["created"] is True
    conversation, message = made["conversation"], made["message"]
    assert re.fullmatch("wac_" + ULID, conversation["id"]) and re.fullmatch("wam_" + ULID, message["id"])
    assert conversation == {
        "id": conversation["id"], "number_id": org.number_id, "number_display_phone_number": org.number.display,
        "contact_wa_id": PHONE, "contact_name": "Carla Dias", "triage": "assigned", "lead_id": lead,
        "last_message_at": message["occurred_at"],
        "last_message": {"id": message["id"], "direction": "outbound", "type": "template", "status": "accepted",
                         "body": "Podemos agendar a sua visita?", "occurred_at": message["occurred_at"]},
        "unread_count": 0, "window_open": False, "held": False,
        "created_at": conversation["created_at"], "updated_at": conversation["updated_at"]}
    assert message == {
        "id": message["id"], "conversation_id": conversation["id"], "direction": "outbound", "source": "api",
        "provider_message_id": send.id, "type": "template", "body": "Podemos agendar a sua visita?", "template_name": "visita",
        "template_language": "pt_BR", "has_media": False, "status": "accepted", "status_at": message["status_at"], "actor_id": org.api.credential.id,
        "actor_type": "api_key", "occurred_at": message["occurred_at"]}
    assert moment(message["occurred_at"]) <= moment(message["status_at"]) <= moment(conversation["updated_at"])


def test_requests_to_meta_match_its_documentation(org):
    made, send = org.begin(template="boas_vindas", template_parameters=["Carla", "Horizonte"])
    assert send.path == f"/v23.0/{org.number.id}/messages"
    assert send.headers["authorization"] == f"Bearer {org.number.token}"
    assert send.headers["content-type"].startswith("application/json") and "expect" not in send.headers
    assert re.fullmatch(r"mod-neoapi/\d+\.\d+(\.\d+)?", send.headers["user-agent"])
    assert send.json == {
        "messaging_product": "whatsapp", "recipient_type": "individual", "to": PHONE, "type": "template",
        "template": {"name": "boas_vindas", "language": {"policy": "deterministic", "code": "pt_BR"},
                     "components": [{"type": "body", "parameters": [{"type": "text", "text": "Carla"},
                                                                    {"type": "text", "text": "Horizonte"}]}]},
        "biz_opaque_callback_data": made["message"]["id"]}


def test_a_template_without_parameters_has_no_components(org):
    assert org.begin()[1].template == {"name": "visita", "language": {"policy": "deterministic", "code": "pt_BR"}}


def test_a_language_can_be_chosen(org):
    made, send = org.begin(template_language="en")
    assert send.template["language"]["code"] == made["message"]["template_language"] == "en"


@pytest.mark.parametrize("texts", [["Ana & João <b>", 'a "quoted" \\ text'], ["Conceição 🏠", "x" * 1024], ["{{1}}", "%s"]])
def test_parameters_arrive_as_they_were_given(org, texts):
    assert org.begin(template="boas_vindas", template_parameters=texts)[1].parameters == texts


def test_a_second_message_goes_into_the_same_conversation(org):
    lead = org.lead()
    first, _ = org.begin(lead)
    second, send = org.begin(lead, 200)
    assert second["created"] is False and second["conversation"]["id"] == first["conversation"]["id"]
    assert second["message"]["id"] > first["message"]["id"] and second["message"]["provider_message_id"] == send.id
    assert second["conversation"]["last_message"]["id"] == second["message"]["id"]
    assert second["conversation"]["created_at"] == first["conversation"]["created_at"]
    assert len(org.meta.sends) == 2 and len(org.messages()) == 2


def test_each_lead_has_its_own_conversation(org):
    one, _ = org.begin(org.lead(PHONE, "Carla"))
    other, _ = org.begin(org.lead("5521987654321", "Davi"))
    assert one["conversation"]["id"] != other["conversation"]["id"]
    assert [one["contact_name"] for one in org.conversations()] == ["Carla", "Davi"]


def test_a_conversation_that_the_contact_started_is_continued(org):
    lead = org.lead()
    org.notify(text("Oi!", PHONE))
    before = org.conversation()
    made, _ = org.begin(lead, 200)
    assert made["created"] is False and made["conversation"]["id"] == before["id"]
    assert made["conversation"]["window_open"] is True and made["conversation"]["unread_count"] == 1
    assert moment(made["conversation"]["window_expires_at"]) == moment(made["conversation"]["last_inbound_at"]) + 24 * 3600


def test_an_editor_may_send_and_a_viewer_may_not(org, module_admin_factory):
    lead = org.lead()
    editor, viewer = (Api(org.instance, module_admin_factory.key(org.organization, role))
                      for role in ("org_editor", "org_viewer"))
    org.begin(lead, api=editor)
    refused(org.start(lead, api=viewer), 403, "forbidden.insufficient_permissions")
    narrow = Api(org.instance, module_admin_factory.key(org.organization, "org_admin", ["brokers:write", "whatsapp:read"]))
    refused(org.start(lead, api=narrow), 403, "forbidden.insufficient_permissions")
    exact = Api(org.instance, module_admin_factory.key(org.organization, "org_admin", ["whatsapp:write"]))
    org.begin(lead, 200, api=exact)
    assert len(org.meta.sends) == 2


def test_a_token_sends_as_its_user(org, module_admin_factory):
    user = module_admin_factory.user(module_admin_factory.tenants[org.organization])
    token = module_admin_factory.token(user, org.organization)
    message = org.begin(api=Api(org.instance, token))[0]["message"]
    assert (message["actor_type"], message["actor_id"]) == ("user", user)


def test_without_a_credential_nothing_is_sent(org):
    refused(org.start(org.lead(), api=org.api.with_(credential=None)), 401, "unauthorized.auth_required")
    assert not org.meta.sends


# ---------------------------------------------------------------- contact ids that Meta returns


def test_the_contact_has_the_id_that_meta_returns(org):
    """Meta can return a Brazilian mobile number without its ninth digit."""
    lead = org.lead(PHONE)
    org.meta.behave(accepting(wa_id=SHORT))
    first, _ = org.begin(lead)
    assert first["conversation"]["contact_wa_id"] == SHORT
    second, send = org.begin(lead, 200)
    assert second["conversation"]["id"] == first["conversation"]["id"] and send.to in (PHONE, SHORT)


def test_a_contact_may_have_only_a_business_scoped_id(org):
    lead = org.lead()
    org.meta.behave(accepting(wa_id=False, user_id="BR.13491208655302741918"))
    first, _ = org.begin(lead)
    assert first["conversation"]["contact_bsuid"] == "BR.13491208655302741918"
    org.notify(text("Oi", user_id="BR.13491208655302741918"))
    assert org.conversation()["unread_count"] == 1
    assert org.begin(lead, 200)[0]["conversation"]["id"] == first["conversation"]["id"]


def test_a_message_to_a_user_id_alone(org, module_instance):
    """In version 23.0 of Meta's API `to` is required."""
    lead = org.lead()
    org.begin(lead)
    org.notify(system("user_changed_number", PHONE, new={"user_id": "BR.1", "wa_id": "5521987654321"}))
    module_instance.sql("update neoapi.whatsapp_identity set wa_id = null, phone = null, boundary = null where organization_id = %s"
                        " and kind = 'joined'", org.organization)
    _, send = org.begin(lead, 200)
    assert send.json["to"] == "BR.1" and "recipient" not in send.json


@pytest.mark.parametrize("state, held", [("accepted", False), ("held_for_quality_assessment", True), ("paused", True)])
def test_a_message_held_by_meta_is_held(org, state, held):
    org.meta.behave(accepting(message_status=state))
    made, _ = org.begin()
    assert made["conversation"]["held"] is held and made["message"]["status"] == "accepted"


def test_a_message_status_that_meta_does_not_document_does_not_hold_a_message(org):
    org.meta.behave(lambda handler, send: handler.answer(200, {"messaging_product": "whatsapp",
                                                               "messages": [{"id": send.id, "message_status": "new"}]}))
    made, _ = org.begin()
    assert not made["conversation"]["held"] and made["message"]["status"] == "accepted"


def test_metas_response_need_not_name_the_contact(org):
    org.meta.behave(lambda handler, send: handler.answer(200, {"messaging_product": "whatsapp",
                                                               "messages": [{"id": send.id}]}))
    made, send = org.begin()
    assert made["conversation"]["contact_wa_id"] == PHONE and made["message"]["provider_message_id"] == send.id


# ---------------------------------------------------------------- requests refused before Meta is called

LEAD = "led_01jd3x0000000000000000000a"
REQUIRED, INVALID = "validation.whatsapp.{}_required", "validation.whatsapp.{}_invalid"
LONG = ["x"] * 51


@pytest.mark.parametrize("body, wrong", [
    ({}, {"lead_id": REQUIRED, "template_name": REQUIRED}),
    ({"lead_id": None, "template_name": None}, {"lead_id": REQUIRED, "template_name": REQUIRED}),
    ({"lead_id": "brk_01jd3x0000000000000000000a", "template_name": "visita"}, {"lead_id": INVALID}),
    ({"lead_id": 7, "template_name": 7}, {"lead_id": INVALID, "template_name": INVALID}),
    ({"lead_id": LEAD, "template_name": ""}, {"template_name": INVALID}),
    ({"lead_id": LEAD, "template_name": "Visita"}, {"template_name": INVALID}),
    ({"lead_id": LEAD, "template_name": "visita/../x"}, {"template_name": INVALID}),
    ({"lead_id": LEAD, "template_name": "v" * 513}, {"template_name": INVALID}),
    ({"template_language": ""}, {"template_language": INVALID}),
    ({"template_language": "pt BR"}, {"template_language": INVALID}),
    ({"template_language": "x" * 100}, {"template_language": INVALID}),
    ({"template_language": ["pt_BR"]}, {"template_language": INVALID}),
    ({"template_parameters": "Carla"}, {"template_parameters": INVALID}),
    ({"template_parameters": {"1": "Carla"}}, {"template_parameters": INVALID}),
    ({"template_parameters": LONG}, {"template_parameters": INVALID}),
    ({"template_parameters": ["a", 7, "c", None]}, {"template_parameters[1]": INVALID, "template_parameters[3]": INVALID}),
    ({"template_parameters": ["a", ""]}, {"template_parameters[1]": INVALID}),
    ({"template_parameters": ["x" * 1025]}, {"template_parameters[0]": INVALID}),
    ({"template_parameters": ["two\nlines"]}, {"template_parameters[0]": INVALID}),
    ({"number_id": "5511987654321"}, {"number_id": INVALID}),
    ({"number_id": 7}, {"number_id": INVALID}),
    ({"lead_id": {"external_id": "a"}, "number_id": {"external_id": "b"}}, {"lead_id": INVALID, "number_id": INVALID}),
    ({"number_id": "wan_00000000000000000000000000"}, {"number_id": "validation.whatsapp.{}_not_found"}),
    ({"phone": "5511987654321"}, {"phone": "validation.unknown_field"}),
], ids=lambda value: None if "wrong" in str(value) else ascii(value)[:40])
def test_an_invalid_body_is_refused_with_its_fields(org, body, wrong):
    if "template_name" not in body and body:
        body = {"lead_id": org.lead(), "template_name": "visita", **body}
    response = org.api.post("whatsapp/conversations", body)
    found = {item["field"]: item["code"] for item in response.json().get("errors", [])}
    assert response.status_code == 400, response.text
    assert found == {name: code.format(name.partition("[")[0]) for name, code in wrong.items()}
    assert not org.meta.sends and not org.messages() and not org.conversations()


@pytest.mark.parametrize("data, status, code", [
    (b"", 400, "validation.body_required"), (b"{", 400, "validation.malformed_json"), (b"[]", 400, None),
    (b'{"lead_id": "a", "lead_id": "b"}', 400, "validation.malformed_json"), (b'"x"', 400, None)])
def test_a_body_that_is_no_object_is_refused(org, data, status, code):
    response = org.api.request("POST", "whatsapp/conversations", data=data, headers={"Content-Type": "application/json"})
    assert response.status_code == status and code in (None, response.json()["code"]), response.text


def test_another_media_type_is_refused(org):
    response = org.api.request("POST", "whatsapp/conversations", data=b"lead_id=1",
                               headers={"Content-Type": "application/x-www-form-urlencoded"})
    refused(response, 415, "validation.unsupported_media_type")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_methods_are_not_allowed(org, method):
    response = org.api.request(method, "whatsapp/conversations")
    refused(response, 405, "validation.method_not_allowed")
    assert response.headers["Allow"] == "GET, HEAD, OPTIONS, POST"


def test_an_unknown_lead_is_not_found(org):
    refused(org.start(UNKNOWN_LEAD), 404, "not_found.lead")
    assert not org.meta.sends and not org.messages()


def test_another_organizations_lead_is_not_found(org, module_admin_factory, meta):
    other = WhatsAppOrg(org.instance, module_admin_factory, meta)
    foreign, unknown = (refused(org.start(lead), 404, "not_found.lead") for lead in (other.lead(), UNKNOWN_LEAD))
    assert {name: one for name, one in foreign.items() if name not in ("request_id", "timestamp", "detail")} == \
        {name: one for name, one in unknown.items() if name not in ("request_id", "timestamp", "detail")}
    assert not meta.sends


# ---------------------------------------------------------------- numbers


def test_an_organization_without_a_number_is_refused(module_instance, module_admin_factory, meta):
    bare = WhatsAppOrg(module_instance, module_admin_factory, meta, with_number=False)
    problem = refused(bare.start(bare.lead()), 400, "validation.whatsapp.number_id_not_found",
                      number_id="validation.whatsapp.number_id_not_found")
    assert "number" in problem["errors"][0]["message"]
    assert not bare.conversations()


def test_one_of_several_numbers_must_be_selected(org):
    second, second_id, _ = org.add_number()
    lead = org.lead()
    refused(org.start(lead), 400, "validation.whatsapp.number_id_required",
            number_id="validation.whatsapp.number_id_required")
    for number, id in ((org.number, org.number_id), (second, second_id)):
        made, send = org.begin(lead, number_id=id)
        assert send.number_id == number.id and send.headers["authorization"] == f"Bearer {number.token}"
        assert (made["conversation"]["number_id"], made["conversation"]["number_display_phone_number"]) == (id, number.display)
    assert len(org.conversations()) == 2


def test_another_organizations_number_is_not_found(org, module_admin_factory, meta):
    other = WhatsAppOrg(org.instance, module_admin_factory, meta)
    refused(org.start(org.lead(), number_id=other.number_id), 400, "validation.whatsapp.number_id_not_found",
            number_id="validation.whatsapp.number_id_not_found")
    assert not meta.sends


def test_the_only_number_can_be_selected(org):
    assert org.begin(number_id=org.number_id)[0]["conversation"]["number_id"] == org.number_id
