# SPDX-License-Identifier: Apache-2.0
"""Message templates: their list, updated by callbacks, and their parameters, which are checked before a message is sent."""

import uuid
from urllib.parse import urlsplit

import pytest

from client import Api, ok, refused
from whatsapp import PHONE, meta, module_admin_factory, module_instance, org, provider  # fixtures among them

from callbacks import account_change, template_change, text
from meta import error, template
from test_whatsapp_account import age, read, reads

CONF = "NeoAPIWhatsAppTimeout 60\n"  # no test waits for it, whatever the load
REJECTED = "validation.whatsapp.template_rejected"
IMAGE = "https://cdn.example.com/front.jpg"
VISIT = template("convite", "Olá, {{2}}! Visite {{1}} ({{1}}).", category="MARKETING", header="IMAGE",
                 buttons=[("QUICK_REPLY", None), ("URL", "https://imoveis.example.com/{{1}}"), ("URL", "https://imoveis.example.com/")])
NAMED = template("nomes", "Olá, {{nome}}! Visite {{imovel}}.", header="Para {{nome}}")
SHEET = template("ficha", "A ficha.", header="DOCUMENT")
HEADED = template("titulo", "Olá!", header="Novo em {{1}}")
COUPON = template("cupom", "Olá!", buttons=[("COPY_CODE", None)])


@pytest.fixture
def listed(org):
    """An organization whose account has these templates as well."""
    org.meta.templates += [VISIT, NAMED, SHEET, HEADED, COUPON]
    return org


def templates(org, **params):
    return read(org, "whatsapp/templates", **params)


def found(org, name, **params):
    one, = templates(org, name=name, **params)["items"]
    return one


# ---------------------------------------------------------------- the list


def test_templates_have_their_parameters(listed):
    one = found(listed, "convite")
    assert (one["account_id"], one["language"], one["category"], one["status"], one["body"]) == (
        listed.number.account, "pt_BR", "marketing", "approved", "Olá, {{2}}! Visite {{1}} ({{1}}).")
    assert one["parameters"] == [
        {"field": "media_url", "component": "header", "type": "image"},
        {"field": "template_parameters", "component": "body", "type": "text", "name": "1"},
        {"field": "template_parameters", "component": "body", "type": "text", "name": "2"},
        {"field": "template_button_parameters", "component": "button", "type": "url", "index": 1, "text": "Button 1"}]
    assert [(p["field"], p["component"], p["name"]) for p in found(listed, "nomes")["parameters"]] == [
        ("template_named_parameters", "header", "nome"), ("template_named_parameters", "body", "nome"),
        ("template_named_parameters", "body", "imovel")]
    assert found(listed, "titulo")["parameters"] == [
        {"field": "template_header_parameter", "component": "header", "type": "text", "name": "1"}]
    assert found(listed, "cupom")["parameters"] == [{"component": "button", "type": "copy_code", "index": 0, "text": "Button 0"}]
    assert reads(listed) == 1


def test_templates_are_listed_by_pages_and_filtered(listed):
    listed.meta.page_size = 3  # of Meta
    everything, pages = templates(listed)["items"], -(-len(listed.meta.templates) // 3)
    assert len(everything) == len(listed.meta.templates) and reads(listed) == pages
    half = len(everything) // 2 + 1
    first = templates(listed, limit=half)
    second = templates(listed, limit=half, cursor=first["page_info"]["end_cursor"])
    assert first["items"] + second["items"] == everything and reads(listed) == pages
    for params, names in (({"status": "paused"}, {"pausado"}), ({"language": "en"}, {"visita"}), ({"category": "marketing"}, {"convite"}),
                          ({"name": "ficha,nomes"}, {"ficha", "nomes"}), ({"account_id": "1"}, set())):
        assert {one["name"] for one in templates(listed, **params)["items"]} == names


def test_a_template_that_no_longer_exists_is_removed(listed):
    kept = found(listed, "ficha")
    listed.meta.templates.remove(NAMED)
    age(listed, "templates", "11 minutes")
    assert not templates(listed, name="nomes")["items"] and found(listed, "ficha")["id"] == kept["id"]


@pytest.mark.parametrize("event, status", [("PAUSED", "paused"), ("REJECTED", "rejected"), ("REINSTATED", "approved")])
def test_a_callback_changes_the_status_even_without_meta(listed, event, status):
    found(listed, "ficha")
    listed.meta.reading = lambda handler: error(131016)(handler, None)
    listed.deliver(template_change(listed.number, event, "ficha"))
    assert found(listed, "ficha")["status"] == status and found(listed, "nomes")["status"] == "approved"


def test_a_callback_about_the_content_makes_it_be_read_again(listed):
    found(listed, "ficha")
    listed.meta.templates[listed.meta.templates.index(SHEET)] = {**SHEET, "components": HEADED["components"]}
    listed.deliver(account_change(listed.number, "message_template_components_update", message_template_id=1,
                                  message_template_name="ficha", message_template_language="pt_BR", message_template_element="Olá!"))
    lead = listed.lead()
    ok(listed.start(lead, template="ficha", template_header_parameter="Moema"), 201)
    assert found(listed, "ficha")["parameters"][0]["field"] == "template_header_parameter"


def test_a_callback_with_a_status_after_another_content_makes_it_be_read_again(listed):
    found(listed, "ficha")
    listed.meta.templates[listed.meta.templates.index(SHEET)] = {**SHEET, "components": HEADED["components"]}
    both = account_change(listed.number, "message_template_components_update", message_template_id=1, message_template_name="ficha",
                          message_template_language="pt_BR", message_template_element="Olá!")
    both["entry"][0]["changes"] += template_change(listed.number, "REINSTATED", "ficha")["entry"][0]["changes"]
    listed.deliver(both)
    ok(listed.start(listed.lead(), template="ficha", template_header_parameter="Moema"), 201)


def test_templates_of_an_account_without_numbers_are_not_listed(listed):
    found(listed, "ficha")
    listed.ctl("whatsapp", "number", "remove", listed.number_id)
    assert not templates(listed)["items"]


def test_a_callback_with_another_secret_changes_nothing(listed):
    found(listed, "ficha")
    other = listed.add_number()[0]
    listed.deliver(template_change(listed.number, "PAUSED", "ficha"), other, 403)
    assert found(listed, "ficha", account_id=listed.number.account)["status"] == "approved"


def test_without_meta_the_last_known_templates_are_returned(listed):
    with listed.meta.unreachable():
        refused(listed.api.get("whatsapp/templates"), 503, "internal.provider_unavailable")
    refused(listed.api.get("whatsapp/templates"), 503, "internal.provider_unavailable")  # does not ask
    assert not reads(listed)
    age(listed, "templates", "31 seconds")
    known = templates(listed)
    age(listed, "templates", "11 minutes")
    with listed.meta.unreachable():
        assert templates(listed)["items"] == templates(listed)["items"] == known["items"]
    age(listed, "templates", "1 minute")
    assert templates(listed)["items"][0]["reported_at"] > known["items"][0]["reported_at"]


@pytest.mark.parametrize("code, further", [(131016, 2), (100, 4)])
def test_a_list_that_was_read_in_part_is_returned_and_continued(listed, code, further):
    """Unless Meta refuses the cursor: then it is read from the beginning."""
    listed.meta.page_size = 3
    listed.meta.templates[:] = listed.meta.templates[:10]

    def refuse_the_third(handler):
        if reads(listed) == 3:
            return error(code)(handler, None)
        handler.read_stored(urlsplit(handler.path).path)
    listed.meta.reading = refuse_the_third
    assert len(templates(listed)["items"]) == 6
    listed.meta.reading = None
    age(listed, "templates", "31 seconds")
    assert len(templates(listed)["items"]) == 10 and reads(listed) == 3 + further
    assert len(templates(listed)["items"]) == 10 and reads(listed) == 3 + further


@pytest.mark.parametrize("field, value", [("limit", "abc"), ("sort", "name"), ("color", "red")])
def test_a_wrong_query_is_refused_without_asking_meta(org, field, value):
    answer = org.api.get("whatsapp/templates", params={field: value})
    assert answer.status_code == 400 and [item["field"] for item in answer.json()["errors"]] == [field] and not reads(org)


def test_templates_are_those_of_the_organization(listed, module_admin_factory):
    found(listed, "ficha")
    assert ok(Api(listed.instance, module_admin_factory.key()).get("whatsapp/templates"))["items"] == []
    for scopes, expected in ((["leads:read"], 403), (["whatsapp:read"], 200)):
        api = Api(listed.instance, module_admin_factory.key(listed.organization, scopes=scopes))
        assert api.get("whatsapp/templates").status_code == expected


# ---------------------------------------------------------------- sending


def test_media_numbered_parameters_and_buttons_are_sent(listed):
    made, send = listed.begin(template="convite", template_parameters=["o apartamento", "Ana"], media_url=IMAGE,
                              template_button_parameters=["1508"])
    assert send.template["components"] == [
        {"type": "header", "parameters": [{"type": "image", "image": {"link": IMAGE}}]},
        {"type": "body", "parameters": [{"type": "text", "text": "o apartamento"}, {"type": "text", "text": "Ana"}]},
        {"type": "button", "sub_type": "url", "index": "1", "parameters": [{"type": "text", "text": "1508"}]}]
    message = made["message"]
    assert message["body"] == "Olá, Ana! Visite o apartamento (o apartamento)." and message["media_url"] == IMAGE and message["has_media"]


def test_named_parameters_are_sent(listed):
    id = listed.opened()
    message = ok(listed.send(id, type="template", template_name="nomes", template_named_parameters={"nome": "Ana", "imovel": "a casa"}), 201)
    assert listed.meta.sends[-1].template["components"] == [
        {"type": "header", "parameters": [{"type": "text", "parameter_name": "nome", "text": "Ana"}]},
        {"type": "body", "parameters": [{"type": "text", "parameter_name": "nome", "text": "Ana"},
                                        {"type": "text", "parameter_name": "imovel", "text": "a casa"}]}]
    assert message["body"] == "Olá, Ana! Visite a casa."


def test_a_document_has_its_file_name(listed):
    url = "https://cdn.example.com/a.pdf"
    made, send = listed.begin(template="ficha", media_url=url, media_filename="ficha.pdf")
    assert send.components("header")[0]["parameters"] == [{"type": "document", "document": {"link": url, "filename": "ficha.pdf"}}]
    assert made["message"]["media_filename"] == "ficha.pdf"


@pytest.mark.parametrize("name, content, fields", [
    ("convite", {}, ["media_url", "template_button_parameters[0]", "template_parameters[0]", "template_parameters[1]"]),
    ("convite", {"template_parameters": ["a", "b", "c"], "media_url": IMAGE, "template_button_parameters": ["1", "2"]},
     ["template_button_parameters[1]", "template_parameters[2]"]),
    ("nomes", {"template_named_parameters": {"nome": "Ana", "outro": "x"}},
     ["template_named_parameters.imovel", "template_named_parameters.outro"]),
    ("nomes", {"template_parameters": ["Ana", "a casa"]},
     ["template_named_parameters.imovel", "template_named_parameters.nome", "template_parameters[0]", "template_parameters[1]"]),
    ("titulo", {}, ["template_header_parameter"]),
    ("visita", {"template_header_parameter": "x", "media_url": IMAGE}, ["media_url", "template_header_parameter"]),
    ("ficha", {"media_filename": "a.pdf"}, ["media_filename", "media_url"]),
    ("cupom", {}, ["template_name"]),
])
def test_a_missing_or_superfluous_parameter_is_named_and_nothing_is_sent(listed, name, content, fields):
    lead, id = listed.lead(), listed.opened()
    for answer in (listed.start(lead, template=name, **content), listed.send(id, type="template", template_name=name, **content)):
        problem = answer.json()
        assert answer.status_code == 400 and sorted({item["field"] for item in problem["errors"]}) == fields
        assert {item["code"] for item in problem["errors"]} == {REJECTED}
    assert not listed.meta.sends and len(listed.messages()) == 1


def test_the_message_says_what_the_template_has(listed):
    lead = listed.lead()
    problem = listed.start(lead, template="convite", media_url=IMAGE, template_parameters=["a", "b"]).json()
    assert problem["errors"][0]["message"] == 'is required: the template has the URL of the button "Button 1"'
    problem = listed.start(lead, template="titulo").json()
    assert problem["errors"][0]["message"] == "is required: the template has {{1}} of its header"


def test_a_template_is_read_once_and_then_known(listed):
    lead = listed.lead()
    for status in (201, 200, 200):
        ok(listed.start(lead, template="titulo", template_header_parameter="Moema"), status)
    assert reads(listed) == 1


def test_a_listed_template_is_not_read_again(listed):
    templates(listed)
    listed.begin(template="titulo", template_header_parameter="Moema")
    assert reads(listed) == 1


def test_a_template_that_was_changed_meanwhile_is_read_again_before_a_refusal(listed):
    lead = listed.lead()
    ok(listed.start(lead), 201)
    listed.instance.sql("update neoapi.whatsapp_template set asked_at = asked_at - interval '2 minutes' where organization_id = %s",
                        listed.organization)
    position = next(n for n, one in enumerate(listed.meta.templates) if (one["name"], one["language"]) == ("visita", "pt_BR"))
    listed.meta.templates[position] = template("visita", "Podemos agendar, {{1}}?")
    ok(listed.start(lead, template_parameters=["Ana"]), 200)
    assert reads(listed) == 2
    refused(listed.start(lead), 400, REJECTED)  # a wrong request does not ask again within a minute
    assert reads(listed) == 2


def test_an_unknown_template_is_asked_for_and_refused(listed):
    lead, key = listed.lead(), str(uuid.uuid4())
    for language in ("pt_BR", "es"):
        problem = refused(listed.start(lead, template="desconhecido", key=key, template_language=language), 400, REJECTED)
        assert problem["errors"][0]["field"] == "template_name"
    assert not listed.meta.sends and not listed.conversations() and reads(listed) == 2
    listed.meta.templates.append(template("desconhecido", "Olá!"))
    ok(listed.start(lead, template="desconhecido", key=key), 201)


def test_a_repeated_request_gets_its_response_though_the_template_has_changed(listed):
    lead, key = listed.lead(), str(uuid.uuid4())
    made = ok(listed.start(lead, template="titulo", key=key, template_header_parameter="Moema"), 201)
    listed.instance.sql("update neoapi.whatsapp_template set asked_at = asked_at - interval '2 hours', read_at = read_at - interval '2 hours'"
                        " where organization_id = %s", listed.organization)
    listed.meta.templates.remove(HEADED)
    assert ok(listed.start(lead, template="titulo", key=key, template_header_parameter="Moema"), 201) == made
    refused(listed.start(lead, template="titulo", template_header_parameter="Moema"), 400, REJECTED)
    assert len(listed.meta.sends) == 1


def test_without_the_template_only_numbered_parameters_are_sent(listed):
    lead = listed.lead()
    listed.meta.reading = lambda handler: error(131016)(handler, None)
    refused(listed.start(lead, template="titulo", template_header_parameter="Moema"), 503, "internal.provider_unavailable")
    assert not listed.meta.sends
    made = ok(listed.start(lead, template="boas_vindas", template_parameters=["Ana", "Horizonte"]), 201)
    assert listed.meta.sends[-1].parameters == ["Ana", "Horizonte"] and "body" not in made["message"]


def test_with_an_outdated_template_the_message_is_still_sent_without_meta(listed):
    lead = listed.lead()
    ok(listed.start(lead, template="titulo", template_header_parameter="Moema"), 201)
    listed.instance.sql("update neoapi.whatsapp_template set asked_at = asked_at - interval '2 hours', read_at = read_at - interval '2 hours'"
                        " where organization_id = %s", listed.organization)
    listed.meta.reading = lambda handler: error(131016)(handler, None)
    for _ in range(2):
        ok(listed.start(lead, template="titulo", template_header_parameter="Moema"), 200)
    assert reads(listed) == 2
    listed.notify(text("Oi", PHONE))
    assert ok(listed.send(listed.conversations()[0]["id"]), 201)["type"] == "text"
