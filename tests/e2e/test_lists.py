# SPDX-License-Identifier: Apache-2.0
"""What every list accepts besides filters, limit and cursor; and how a query gives a parameter several values."""

from urllib.parse import parse_qs, urlsplit

import pytest
from client import Api, ok, refused
from factories import PREFIXES, UNKNOWN_ULID, ResourceFactory

COLLECTIONS = {**PREFIXES, "webhooks": "whs_"}
every = pytest.mark.parametrize("collection", COLLECTIONS)


def make(api, collection, **fields):
    if collection == "webhooks":
        return ok(api.post(collection, json={"url": "https://x.example.com/", "events": ["*"], **fields}), 201)
    return ResourceFactory(api).create(collection, **fields)


@pytest.fixture(scope="module")
def some(instance, admin_factory, principals):
    """An organization with three resources of every kind; `made` has the ids by collection, newest first."""
    api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
    for collection in COLLECTIONS:
        for _ in range(3):
            make(api, collection)
    api.made = {collection: ids(ok(api.get(collection, params={"limit": 100}))) for collection in COLLECTIONS}
    return api


def ids(page):
    return [item["id"] for item in page["items"]]


def found(api, path, **params):
    return ids(ok(api.get(path, params=params)))


# ---------------------------------------------------------------- ids


@every
def test_ids_choose_items_in_the_order_of_the_list(some, collection):
    newest, second, third = some.made[collection][:3]
    assert found(some, collection, ids=f"{third},{newest}") == [newest, third]
    assert found(some, collection, ids=[second, second, COLLECTIONS[collection] + UNKNOWN_ULID, "usr_" + UNKNOWN_ULID]) == [second]
    first = some.get(collection, params={"ids": [third, newest], "limit": 1})
    assert ids(ok(first)) == [newest] and ids(ok(some.get(first.links["next"]["url"]))) == [third]


@every
@pytest.mark.parametrize("value", ["", "x", "brk_8" + UNKNOWN_ULID[1:], "BRK_" + UNKNOWN_ULID, UNKNOWN_ULID])
def test_a_malformed_id_is_refused(some, collection, value):
    problem = refused(some.get(collection, params={"ids": [some.made[collection][0], value]}), 400,
                      "validation.parameter_invalid", ids="validation.parameter_invalid")
    assert not value or COLLECTIONS[collection] in problem["errors"][0]["message"]


def test_ids_are_at_most_a_hundred_and_combine_with_filters(some, own_api):
    many = [f"brk_{n:026}" for n in range(99)]
    newest, second, *_ = some.made["brokers"]
    assert found(some, "brokers", ids=[*many, newest]) == [newest]
    refused(some.get("brokers", params={"ids": [*many, newest, second]}), 400, "validation.parameter_invalid",
            ids="validation.parameter_invalid")
    assert found(some, "brokers", ids=newest, visibility="public") == []
    assert found(own_api, "brokers", ids=newest) == []


# ---------------------------------------------------------------- several values


@pytest.fixture(scope="module")
def commas(some):
    factory = ResourceFactory(some)
    return {value: factory.party(external_id=value, roles=["seller"])["id"] for value in ("crm,1", "crm", "1", "a&b=c,%2C")}


@pytest.mark.parametrize("query, values", [
    ("external_id=crm%2C1", ["crm,1"]),
    ("external_id=crm%2c1", ["crm,1"]),
    ("external_id=crm,1", ["crm", "1"]),
    ("external_id=crm&external_id=1", ["crm", "1"]),
    ("external_id=crm,crm%2C1&role=seller&external_id=1", ["crm,1", "crm", "1"]),
    ("external_id=a%26b%3Dc%2C%252C", ["a&b=c,%2C"]),
    ("external_id=a%26b%3Dc,%252C", []),
    ("role=seller&role=attorney&external_id=crm", ["crm"]),
    ("role=attorney&external_id=crm", []),
])
def test_a_comma_separates_values_and_an_encoded_one_is_part_of_a_value(some, commas, query, values):
    response = some.get("parties?limit=1&" + query)
    items = ids(ok(response))
    while "next" in response.links:
        assert parse_qs(urlsplit(response.links["next"]["url"]).query)["limit"] == ["1"]
        response = some.get(response.links["next"]["url"])
        items += ids(ok(response))
    assert sorted(items) == sorted(commas[value] for value in values)


def test_the_spelling_of_several_values_does_not_matter_to_a_cursor(some, commas):
    cursor = ok(some.get("parties?limit=1&external_id=crm,1"))["page_info"]["end_cursor"]
    assert ids(ok(some.get("parties?external_id=crm&external_id=1&cursor=" + cursor))) == [commas["crm"]]
    for other in ("external_id=crm%2C1", "external_id=crm", "external_id=1,crm"):
        refused(some.get(f"parties?{other}&cursor={cursor}"), 400, "validation.cursor_invalid")


@pytest.mark.parametrize("query", ["q=abc&q=bcd", "created_gte=2020-01-01T00:00:00Z&created_gte=2020-01-01T00:00:00Z",
                                   "limit=1&limit=1"])
def test_a_parameter_with_one_value_is_not_repeated(some, query):
    name = query.partition("=")[0]
    problem = refused(some.get("parties?" + query), 400, "validation.parameter_invalid", **{name: "validation.parameter_invalid"})
    assert "once" in problem["errors"][0]["message"]


def test_an_encoded_comma_in_a_list_of_names_is_explained(some):
    problem = refused(some.get("parties?role=buyer%2Cseller"), 400, "validation.parameter_invalid",
                      role="validation.parameter_invalid")
    assert "percent-encoded" in problem["errors"][0]["message"]
