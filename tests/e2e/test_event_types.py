# SPDX-License-Identifier: Apache-2.0
"""The catalogue of the types of events: its schemas describe what is delivered, and the page shows it."""

import copy
import json

import pytest
from client import Api, ok
from factories import NAMES, ResourceFactory
from openapi_doc import closed
from pages import page_of
from wait import eventually
from webhook_fixtures import HERE, activate, admin, module_admin_factory, module_instance, receiver, subscribe  # fixtures among them

jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
CONF = HERE


@pytest.fixture
def public(module_instance):
    return Api(module_instance)


@pytest.fixture
def catalogue(public):
    return ok(public.get("event-types"))


@pytest.fixture
def types(catalogue):
    return {one["type"]: one for one in catalogue["items"]}


def validator(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())


def test_the_catalogue_needs_no_credential_and_is_revalidated(public):
    first = public.get("event-types")
    assert first.headers["Content-Type"] == "application/json" and "no-cache" in first.headers["Cache-Control"]
    assert public.with_(credential="nonsense").get("event-types").content == first.content
    assert public.get("event-types", headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    packed = public.get("event-types", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip" and packed.content == first.content


def test_the_catalogue_has_the_types_that_subscriptions_list(admin, types):
    names = [name for name in types if name != "webhook.test"]
    made = ok(admin.post("webhooks", json={"url": "https://crm.example.com/", "events": names}), 201)
    assert made["events"] == names
    described = ok(admin.get("event-types"))["items"]
    assert list(types) == [one["type"] for one in described]
    assert {one["since"] for one in described} == {"0.1.0"}
    scopes = ok(admin.get("me"))["scopes"]
    assert all(one["scope"] in scopes and one["scope"].endswith(":read") for one in described)


def test_each_example_is_valid_and_another_type_is_not(types):
    for name, one in types.items():
        valid = validator(one["schema"])
        valid.validate(one["example"])
        assert one["example"]["event_type"] == name
        for changes in ({"event_type": "broker.renamed"}, {"payload": {}}, {"created_at": 5}):
            assert not valid.is_valid({**copy.deepcopy(one["example"]), **changes}), (name, changes)


def test_a_thin_delivery_is_as_described(admin, receiver, catalogue):
    subscribe(admin, receiver.url, "broker.created", payload="thin")
    admin.broker()
    sent, = (one.json for one in receiver.wait_for(1))
    for thin in (sent, catalogue["thin"]["example"]):
        validator(closed(catalogue["thin"]["schema"])).validate(thin)
        for member in ("event_type", "resource_id"):
            assert not validator(catalogue["thin"]["schema"]).is_valid({**thin, member: None})


def test_thin_deliveries_of_all_resources_are_as_described(admin, receiver, catalogue):
    """With a test, and as OpenAPI describes them, too."""
    own = subscribe(admin, receiver.url, "*", "lead.*", payload="thin")
    made, wanted = ResourceFactory(admin), {"webhook.test"}
    for collection in NAMES:
        path = f"{collection}/{made.create(collection)['id']}"
        ok(admin.patch(path, json={"metadata": {"campaign": "inverno"}}))
        wanted |= {f"{NAMES[collection]}.created", f"{NAMES[collection]}.updated"}
    ok(admin.post(f"webhooks/{own['id']}/test"), 201)
    eventually(lambda: wanted <= {one.json["event_type"] for one in receiver.arrivals}, "a delivery of each type")
    document = admin.description()
    body = document["webhooks"]["thin"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/ThinEvent"}
    described = document["components"]["schemas"]["ThinEvent"]
    assert {name: catalogue["thin"]["schema"][name] for name in described} == described
    strict = validator(closed(catalogue["thin"]["schema"]))
    for one in receiver.arrivals:
        strict.validate(one.json)


def test_a_schema_describes_every_member_of_a_delivery(admin, receiver, types):
    """Creates, changes and deletes a resource of each kind, with every field."""
    made = ResourceFactory(admin)
    own = subscribe(admin, receiver.url, *[name for name in types if name != "webhook.test"], include=["changed", "previous"])
    for collection in NAMES:
        path = f"{collection}/{ok(admin.post(collection, json=made.full(collection)), 201)['id']}"
        ok(admin.patch(path, json={"metadata": {"campaign": "inverno"}}))
        if collection not in ("contracts", "proposals"):  # others refer to the property
            ok(admin.delete(f"{collection}/{made.create(collection)['id']}"), 204)
    other = subscribe(admin, "https://crm.example.com/", "broker.created")
    activate(admin, other, False)
    ok(admin.post(f"webhooks/{own['id']}/test"), 201)
    wanted = {f"{NAMES[one]}.{happened}" for one in NAMES for happened in ("created", "updated", "deleted")
              if happened != "deleted" or one not in ("contracts", "proposals")} | {"webhook.disabled", "webhook.test"}
    eventually(lambda: wanted <= {one.json["event_type"] for one in receiver.arrivals}, "a delivery of each type")
    strict = {name: validator(closed(one["schema"])) for name, one in types.items()}
    for one in receiver.arrivals:
        strict[one.json["event_type"]].validate(one.json)


def test_the_wildcard_includes_what_the_catalogue_says(admin, types, module_instance):
    subscription = subscribe(admin, "https://crm.example.com/", is_active=False)
    made = ResourceFactory(admin)
    for collection in NAMES:
        made.create(collection)
    logged = {one["type"] for one in ok(admin.get("events"))["items"]}
    ok(admin.post(f"webhooks/{subscription['id']}/recover", json={"since": "2026-01-01T00:00:00Z"}))
    sent = {one["event_type"] for one in ok(admin.get(f"webhooks/{subscription['id']}/deliveries"))["items"]}
    assert sent == {name for name in logged if types[name]["is_in_wildcard"]}
    assert {name for name in logged if not types[name]["is_in_wildcard"]} == {"lead.created"}


def test_the_page_shows_each_type_with_its_example(public, types):
    page = page_of(public, "docs/events")
    shown = [json.loads(text) for language, _, text in page.examples if language == "json"]
    assert shown == [one["example"] for one in types.values()]
    assert set(types) <= set(page.ids)
