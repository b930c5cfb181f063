# SPDX-License-Identifier: Apache-2.0
"""Parameters of all lists besides filters, limit and cursor, and parameters with several values."""

from urllib.parse import parse_qs, urlsplit

import pytest
from client import Api, ok, refused
from factories import NAMES, PREFIXES, UNKNOWN_ULID, ResourceFactory

COLLECTIONS = {**PREFIXES, "webhooks": "whs_"}
every = pytest.mark.parametrize("collection", COLLECTIONS)


def make(api, collection, **fields):
    if collection == "webhooks":
        return ok(api.post(collection, json={"url": "https://x.example.com/", "events": ["*"], **fields}), 201)
    return ResourceFactory(api).create(collection, **fields)


@pytest.fixture(scope="module")
def some(instance, admin_factory, principals):
    """An organization with three resources of every kind, whose ids are in `made` by collection, newest first."""
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


REFERENCES = [("properties", "broker_id"), ("properties", "owner_id"), ("proposals", "property_id"), ("proposals", "proponent_id"),
              ("proposals", "broker_id"), ("contracts", "property_id"), ("contracts", "party_id"), ("contracts", "broker_id"),
              ("documents", "related_id"), ("leads", "broker_id"), ("events", "resource_id")]


@pytest.mark.parametrize("path, name", REFERENCES)
def test_a_malformed_id_of_a_reference_is_refused(some, path, name):
    known, unknown = some.made["brokers"][0], "prp_" + UNKNOWN_ULID
    for value in ("x", "prp_8" + UNKNOWN_ULID[1:], f"{known},PRP_{UNKNOWN_ULID}", UNKNOWN_ULID):
        refused(some.get(path, params={name: value}), 400, "validation.parameter_invalid", **{name: "validation.parameter_invalid"})
    ok(some.get(path, params={name: unknown}))


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


def test_a_cursor_is_valid_for_any_spelling_of_several_values(some, commas):
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


# ---------------------------------------------------------------- sort


def sort_key(sort):
    name = sort.lstrip("-")
    return lambda item: (item[name], item["id"])


@pytest.fixture(scope="module")
def changed(instance, admin_factory, principals):
    """An organization with nine resources of every kind, some changed in another order than that of their creation, and several
    at the same time."""
    api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
    for collection in COLLECTIONS:
        for n in range(9):
            make(api, collection)
        table = "webhook_subscription" if collection == "webhooks" else NAMES[collection]
        instance.sql(f"""update neoapi.{table} t set updated_at = x.at from (select id, date_trunc('milliseconds', now())
            - case when n %% 3 = 0 then 1000 else n * 7 %% 5 end * interval '1 millisecond' as at
            from (select id, row_number() over (order by id) as n from neoapi.{table} where organization_id = %s) r) x
            where t.organization_id = %s and t.id = x.id""", *api.credential.organizations * 2)
    return api


@every
@pytest.mark.parametrize("sort", ["-created_at", "created_at", "-updated_at", "updated_at"])
def test_pages_are_in_the_order_and_complete(changed, collection, sort):
    items = changed.walk(collection, limit=100, sort=sort)
    assert len(items) >= 9 and items == sorted(items, key=sort_key(sort), reverse=sort[0] == "-")
    assert changed.walk(collection, limit=2, sort=sort) == items
    response = changed.get(collection, params={"limit": 4, "sort": sort})
    linked = ok(response)["items"]
    while "next" in response.links:
        response = changed.get(response.links["next"]["url"])
        linked += ok(response)["items"]
        assert response.json()["page_info"]["has_previous_page"]
    assert linked == items


@every
def test_without_sort_the_newest_come_first(changed, collection):
    plain, sorted_ = (changed.get(collection, params={"limit": 2, "sort": sort}) for sort in (None, "-created_at"))
    assert plain.json()["items"] == sorted_.json()["items"] and "sort" not in sorted_.links["next"]["url"]
    cursor = plain.json()["page_info"]["end_cursor"]
    assert found(changed, collection, limit=3, cursor=cursor, sort="-created_at") == found(changed, collection, limit=3, cursor=cursor)


def test_a_cursor_is_bound_to_its_order(changed):
    sorts = [None, "created_at", "-updated_at", "updated_at"]
    for sort in sorts:
        cursor = ok(changed.get("parties", params={"limit": 1, "sort": sort}))["page_info"]["end_cursor"]
        for other in sorts:
            response = changed.get("parties", params={"cursor": cursor, "sort": other})
            if other == sort:
                ok(response)
            else:
                refused(response, 400, "validation.cursor_invalid", cursor="validation.cursor_invalid")


@pytest.mark.parametrize("sort", ["", "id", "name", "updated_at,created_at", "+created_at", "--created_at", "-Updated_at", "-"])
def test_another_order_is_refused(changed, sort):
    problem = refused(changed.get("parties", params={"sort": sort}), 400, "validation.parameter_invalid",
                      sort="validation.parameter_invalid")
    assert "-updated_at" in problem["errors"][0]["message"]


@pytest.mark.parametrize("sort", ["created_at", "-updated_at", "updated_at"])
def test_order_filters_and_ids_combine(changed, sort):
    parties = changed.walk("parties", limit=100, sort=sort)
    chosen = [party["id"] for party in parties[1::2]]
    assert [item["id"] for item in changed.walk("parties", limit=2, sort=sort, ids=chosen, kind="person")] == chosen
    owners = [party["id"] for party in parties[:3]]
    body = {"owners": [{"party_id": owners[0], "share_bps": 5000}, {"party_id": owners[1], "share_bps": 5000}]}
    owned = {make(changed, "properties", **body)["id"] for _ in range(3)}
    for params in ({"owner_id": owners[0]}, {"owner_id": owners}, {"owner_id": owners, "status": "draft"}):
        walked = changed.walk("properties", limit=2, sort=sort, **params)
        assert owned <= {item["id"] for item in walked}
        assert walked == sorted(walked, key=sort_key(sort), reverse=sort[0] == "-")
        assert {item["id"] for item in walked} == {item["id"] for item in changed.walk("properties", limit=100, **params)}
    one = sorted(owned)[1]
    assert found(changed, "properties", sort=sort, owner_id=owners[0], ids=one) == [one]
    assert found(changed, "properties", sort=sort, owner_id="pty_" + UNKNOWN_ULID) == []


# ---------------------------------------------------------------- count


@every
def test_the_total_counts_all_pages(changed, collection):
    total = str(len(changed.walk(collection, limit=100)))
    first = changed.get(collection, params={"limit": 2, "count": "true"})
    assert first.headers["X-Total-Count"] == total
    second = changed.get(first.links["next"]["url"])
    assert second.headers["X-Total-Count"] == total and len(ok(second)["items"]) == 2
    updated = changed.get(collection, params={"limit": 2, "count": "true", "sort": "updated_at"})
    assert changed.get(updated.links["next"]["url"]).headers["X-Total-Count"] == total
    assert changed.head(f"{collection}?count=true").headers["X-Total-Count"] == total
    for params in ({}, {"count": "false"}):
        assert "X-Total-Count" not in changed.get(collection, params=params).headers


def test_the_total_counts_filtered_items(changed, own_api):
    newest = changed.walk("parties", limit=100)[0]["id"]
    for params, total in (({"ids": [newest, "pty_" + UNKNOWN_ULID]}, "1"), ({"role": "attorney"}, "0"),
                          ({"created_gte": "2099-01-01T00:00:00Z"}, "0"), ({"role": ["buyer", "attorney"], "ids": newest}, "1")):
        assert changed.get("parties", params={**params, "count": "true"}).headers["X-Total-Count"] == total, params
    assert own_api.get("parties?count=true").headers["X-Total-Count"] == "0"
    beyond = ok(changed.get("parties", params={"ids": newest}))["page_info"]["end_cursor"]
    last = changed.get("parties", params={"ids": newest, "cursor": beyond, "count": "true"})
    assert last.headers["X-Total-Count"] == "1" and ok(last)["items"] == []


def test_a_total_is_exact_up_to_ten_thousand(changed, instance):
    organization = changed.credential.organizations[0]
    instance.sql("insert into neoapi.broker (organization_id, id, tenant_id, name,"
                 " visibility, created_at, updated_at, created_by, updated_by)"
                 " select %s, 'brk_000000000000000000' || lpad(n::text, 8, '0'), '', '', 'private', now(), now(), '', ''"
                 " from generate_series(1, 10000) n", organization)
    try:
        assert changed.get("brokers?count=true&visibility=private&limit=1&sort=created_at").status_code == 200
        assert changed.get("brokers?count=true&limit=1").headers["X-Total-Count"] == "10000+"
        assert changed.get("brokers?count=true&limit=1&visibility=private").headers["X-Total-Count"] == "10000"
    finally:
        instance.sql("delete from neoapi.broker where organization_id = %s and id < 'brk_0000000000000000001'", organization)


# ---------------------------------------------------------------- fields


@every
def test_only_the_named_fields_are_returned(some, collection):
    newest = some.made[collection][0]
    whole = ok(some.get(f"{collection}/{newest}"))
    for names in (["updated_at"], ["updated_at", "id"], list(whole)):
        for params in ({"fields": ",".join(names)}, {"fields": [*names, names[0]]}):
            expected = {name: value for name, value in whole.items() if name in names}
            read = some.get(f"{collection}/{newest}", params=params)
            assert ok(read) == expected and list(read.json()) == [name for name in whole if name in names]
            assert ok(some.get(collection, params={**params, "ids": newest}))["items"] == [expected]
    listed = some.get(collection, params={"fields": "created_at", "limit": 2, "count": "true", "sort": "created_at"})
    further = some.get(listed.links["next"]["url"])
    assert {*map(tuple, ok(listed)["items"] + ok(further)["items"])} == {("created_at",)}
    assert listed.headers["X-Total-Count"] == further.headers["X-Total-Count"]


def test_selected_fields_of_any_type_are_returned_unchanged(own_api):
    factory = ResourceFactory(own_api)
    party = ok(own_api.post("parties", json={**factory.body("parties"), "name": 'A "quote", {brace}, [bracket] \\',
                                             "metadata": {'"},': '[\\"', ",": ""}}), 201)
    for name in party:
        assert ok(own_api.get("parties/" + party["id"], params={"fields": name})) == {name: party[name]}
    assert ok(own_api.get("parties/" + party["id"], params={"fields": "email"})) == {}


def test_an_etag_depends_on_the_returned_fields_only(own_api):
    path = "brokers/" + own_api.broker()["id"]
    whole, part = own_api.get(path), own_api.get(path, params={"fields": "id,name"})
    assert part.headers["ETag"] != whole.headers["ETag"]
    refused(own_api.patch(path, json={"phone": "1"}, headers={"If-Match": part.headers["ETag"]}), 412,
            "conflict.precondition_failed")
    ok(own_api.patch(path, json={"phone": "1"}, headers={"If-Match": whole.headers["ETag"]}))
    known = {"If-None-Match": f'{part.headers["ETag"]}, {whole.headers["ETag"]}'}
    assert own_api.get(path, params={"fields": "id,name"}, headers=known).status_code == 304  # neither field has changed
    assert own_api.get(path, headers=known).status_code == 200


@every
@pytest.mark.parametrize("value", ["", "nothing", "id,", "Id", "address.city", "id,nothing", "secret", "representation", "*"])
def test_unknown_fields_are_refused_with_the_valid_ones(some, collection, value):
    for path in (collection, f"{collection}/{some.made[collection][0]}"):
        problem = refused(some.get(path, params={"fields": value}), 400, "validation.parameter_invalid",
                          fields="validation.parameter_invalid")
        assert "id, " in problem["errors"][0]["message"] and "updated_at" in problem["errors"][0]["message"]
    refused(some.patch(f"{collection}/{some.made[collection][0]}?fields=id", json={}), 400, "validation.unknown_parameter")
