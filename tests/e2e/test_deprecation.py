# SPDX-License-Identifier: Apache-2.0
"""Deprecation: responses to requests that use a deprecated operation or field say so, and so do the OpenAPI document and the reference.

Nothing that is shipped is deprecated, so the module of these tests has marks in three tables."""

import pytest
import yaml
from admin_factory import AdminFactory
from batching import create, send
from client import ok
from httpd import Httpd
from next_version import NextVersion

SINCE, SUNSET, LATER = "@1796083200", "Tue, 01 Jun 2027 00:00:00 GMT", "@1798761600"


def mark(since, sunset, page):
    sunset = f'"{sunset}"' if sunset else "NULL"
    return f'.deprecated = &(const neo_deprecation){{"{since}", {sunset}, "{page}", "Use something else."}}, '


def link(api, page):
    return f'<{api.url}docs/{page}>; rel="deprecation"'


@pytest.fixture(scope="module")
def api(instance, tmp_path_factory):
    place = tmp_path_factory.mktemp("deprecating")
    version = NextVersion(place, edits=[
        ("src/resources/broker.c", '{.name = "creci",\n     .type', "{" + mark("2026-12-01", "2027-06-01", "contents#creci") +
         '.name = "creci",\n     .type'),
        ("src/resources/fields.c", '{.name = "pix_key",', "{" + mark("2027-01-01", None, "contents#pix") + '.name = "pix_key",'),
        ("src/resources/property.c", '{.name = "sale_price",\n     NEO_MONEY',
         "{" + mark("2027-01-01", None, "contents#price") + '.name = "sale_price",\n     NEO_MONEY'),
        ("src/api/webhook.c", '.verb = "rotateWebhookSecret",',
         mark("2026-12-01", "2027-06-01", "contents#rotation") + '.verb = "rotateWebhookSecret",'),
    ])
    with Httpd(instance, place, ("LoadModule neoapi_module .*", f'LoadModule neoapi_module "{version.module}"')) as httpd:
        yield httpd.api(AdminFactory(instance).key())


def marks(response):
    """What a response says of deprecations: two dates and links, without the link to the next page."""
    links = [one for one in response.headers.get("Link", "").split(", ") if "deprecation" in one]
    return response.headers.get("Deprecation"), response.headers.get("Sunset"), links


def test_what_is_not_used_is_not_marked(api):
    made = api.post("brokers", json={"name": "Ana", "email": "ana@example.com"})
    assert made.status_code == 201
    for response in (made, api.get(f"brokers/{made.json()['id']}"), api.get("brokers", params={"email": "ana@example.com"}),
                     api.get("brokers", params={"fields": "name", "sort": "-created_at"}), api.get("me"), api.get("nothing"),
                     send(api, create(name="Bia"))):
        assert marks(response) == (None, None, [])


def test_a_field_that_is_written_is_marked(api):
    said = (SINCE, SUNSET, [link(api, "contents#creci")])
    made = api.post("brokers", json={"name": "Ana", "creci": "SP 1-F"})
    assert made.status_code == 201 and marks(made) == said
    path = f"brokers/{made.json()['id']}"
    assert marks(api.get(path)) == (None, None, [])  # a response always contains it
    assert marks(api.patch(path, json={"creci": None})) == said
    assert marks(api.put(path, json=made.json())) == said
    refused = api.post("brokers", json={"creci": "SP 2-F"})
    assert refused.status_code == 400 and marks(refused) == said
    assert marks(send(api, create(name="Bia"), create(name="Caio", creci="SP 3-F"))) == said
    assert marks(api.post("brokers", json=["creci"])) == (None, None, [])


def test_a_member_of_an_object_is_marked_and_the_earliest_dates_are_sent(api):
    bank = {"bank_code": "341", "branch": "1234", "account_number": "567890", "account_type": "checking", "pix_key": "ana@example.com"}
    assert marks(api.post("brokers", json={"name": "Ana", "bank_account": bank})) == (LATER, None, [link(api, "contents#pix")])
    both = api.post("brokers", json={"name": "Ana", "creci": "SP 4-F", "bank_account": bank})
    assert marks(both) == (SINCE, SUNSET, [link(api, "contents#creci"), link(api, "contents#pix")])


def test_a_field_in_the_query_is_marked(api):
    said = (SINCE, SUNSET, [link(api, "contents#creci")])
    assert marks(api.get("brokers", params={"creci": "SP1F"})) == said
    assert marks(api.get("brokers", params={"fields": "name,creci"})) == said
    assert marks(api.get("properties", params={"sale_price_gte": 1, "sale_price_lte": 9})) == \
        (LATER, None, [link(api, "contents#price")])
    for _ in range(2):
        api.broker()
    page = api.get("brokers", params={"fields": "creci", "limit": 1})
    assert marks(page) == said and page.links["next"]["url"]


def test_an_operation_is_marked_also_if_it_fails(api):
    said = (SINCE, SUNSET, [link(api, "contents#rotation")])
    hook = ok(api.post("webhooks", json={"url": "https://example.com/", "events": ["*"]}), 201)
    assert marks(api.get(f"webhooks/{hook['id']}")) == (None, None, [])
    done = api.post(f"webhooks/{hook['id']}/rotate-secret")
    assert done.status_code == 200 and marks(done) == said
    missing = api.post(f"webhooks/{hook['id'][:-1]}0/rotate-secret")
    assert missing.status_code == 404 and marks(missing) == said


def test_the_document_and_the_reference_show_the_marks(api):
    document = yaml.safe_load(api.get("openapi.yaml").content)
    schemas, operation = document["components"]["schemas"], document["paths"]["/webhooks/{id}/rotate-secret"]["post"]
    sentence = "Deprecated since 2026-12-01, until 2027-06-01. Use something else."
    assert operation["deprecated"] and operation["description"].endswith(sentence)
    assert {"Deprecation", "Sunset"} <= set(operation["responses"]["200"]["headers"])
    assert document["components"]["parameters"]["broker_creci"]["deprecated"]
    price = document["components"]["parameters"]["property_sale_price_gte"]
    assert price["deprecated"] and price["description"].endswith("Deprecated since 2027-01-01. Use something else.")
    fields = {schema: schemas[schema]["properties"] for schema in ("BrokerEventPayload", "BrokerPatch")}
    assert all(one["creci"]["deprecated"] and one["creci"]["description"].endswith(sentence) for one in fields.values())
    assert "deprecated" not in fields["BrokerPatch"]["email"]
    assert "(deprecated)" in api.get("docs/reference").text
    assert sentence in api.get("docs/rotateWebhookSecret").text and sentence in api.get("docs/createBroker").text
