# SPDX-License-Identifier: Apache-2.0
"""Lists: pagination, cursors with a MAC, the Link header."""

import random
import threading
from urllib.parse import parse_qs, urlsplit

import pytest
from client import Api, ok, refused

pytestmark = pytest.mark.smoke


def filled(api, count):
    """Creates brokers. Returns their ids, newest first."""
    return [api.broker(name=f"Broker {n}")["id"] for n in range(count)][::-1]


def ids(page):
    return [item["id"] for item in page["items"]]


def get_page(api, **params):
    return ok(api.get("brokers", params=params))


@pytest.fixture(scope="module")
def sixty_brokers(instance, admin_factory, principals):
    """An organization with 60 brokers that no test changes."""
    api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
    api.ids = filled(api, 60)
    return api


# ---------------------------------------------------------------- pages


def test_an_empty_list_has_no_cursors(own_api):
    assert get_page(own_api) == {"items": [], "page_info": {"start_cursor": None, "end_cursor": None, "has_next_page": False,
                                                           "has_previous_page": False}}
    assert "Link" not in own_api.get("brokers").headers


def test_a_page_has_25_items_by_default_newest_first(sixty_brokers):
    page = get_page(sixty_brokers)
    assert ids(page) == sixty_brokers.ids[:25]
    assert set(page) == {"items", "page_info"}
    assert set(page["page_info"]) == {"start_cursor", "end_cursor", "has_next_page", "has_previous_page"}
    assert page["page_info"]["has_next_page"] is True and page["page_info"]["has_previous_page"] is False


def test_items_are_complete_resources(sixty_brokers):
    assert get_page(sixty_brokers, limit=1)["items"] == [ok(sixty_brokers.get("brokers/" + sixty_brokers.ids[0]))]


@pytest.mark.parametrize("limit", [1, 7, 25, 59, 60, 61, 100])
def test_paging_returns_every_item_once_in_order(sixty_brokers, limit):
    assert [item["id"] for item in sixty_brokers.walk(limit=limit)] == sixty_brokers.ids


def test_a_full_last_page_has_no_next_page(sixty_brokers):
    assert get_page(sixty_brokers, limit=60)["page_info"]["has_next_page"] is False
    assert get_page(sixty_brokers, limit=59)["page_info"]["has_next_page"] is True
    second = get_page(sixty_brokers, limit=30, cursor=get_page(sixty_brokers, limit=30)["page_info"]["end_cursor"])
    assert ids(second) == sixty_brokers.ids[30:] and second["page_info"]["has_next_page"] is False


def test_further_pages_have_earlier_items(sixty_brokers):
    first = get_page(sixty_brokers, limit=20)
    second = get_page(sixty_brokers, limit=20, cursor=first["page_info"]["end_cursor"])
    third = get_page(sixty_brokers, limit=20, cursor=second["page_info"]["end_cursor"])
    assert [page["page_info"]["has_previous_page"] for page in (first, second, third)] == [False, True, True]


def test_a_page_after_the_last_item_is_empty(sixty_brokers):
    last = get_page(sixty_brokers, limit=60)["page_info"]
    assert last["end_cursor"] is not None
    beyond = get_page(sixty_brokers, cursor=last["end_cursor"])
    assert beyond["items"] == [] and beyond["page_info"]["has_next_page"] is False
    assert beyond["page_info"]["has_previous_page"] is True


def test_the_start_cursor_is_that_of_the_first_item(sixty_brokers):
    page = get_page(sixty_brokers, limit=10)
    assert ids(get_page(sixty_brokers, limit=10, cursor=page["page_info"]["start_cursor"])) == sixty_brokers.ids[1:11]


def test_deleted_earlier_items_are_not_reported(own_api):
    newest, middle, oldest = filled(own_api, 3)
    cursor = get_page(own_api, limit=2)["page_info"]["end_cursor"]
    ok(own_api.delete("brokers/" + newest), 204)
    ok(own_api.delete("brokers/" + middle), 204)
    page = get_page(own_api, cursor=cursor)
    assert ids(page) == [oldest] and page["page_info"]["has_previous_page"] is False


def test_a_cursor_works_after_its_item_is_deleted(own_api):
    every = filled(own_api, 4)
    cursor = get_page(own_api, limit=2)["page_info"]["end_cursor"]
    ok(own_api.delete("brokers/" + every[1]), 204)
    assert ids(get_page(own_api, cursor=cursor)) == every[2:]


# ---------------------------------------------------------------- concurrent changes


def test_paging_is_stable_under_concurrent_changes(instance, admin_factory, principals):
    organization = admin_factory.organization(principals.tenant)
    api = Api(instance, admin_factory.key(organization))
    every = filled(api, 120)
    doomed = set(every[::3])
    stable = [id for id in every if id not in doomed]
    done = threading.Event()
    errors = []

    def modify_list():
        other, left = api.with_(), sorted(doomed, key=lambda _: random.random())
        try:
            while not done.is_set() or left:
                other.broker(name="new")
                if left:
                    ok(other.delete("brokers/" + left.pop()), 204)
        except BaseException as failure:
            errors.append(failure)

    thread = threading.Thread(target=modify_list)
    thread.start()
    try:
        walks = [[item["id"] for item in api.walk(limit=limit)] for limit in (4, 7, 10)]
    finally:
        done.set()
        thread.join()
    assert not errors
    for walk in walks:
        assert len(walk) == len(set(walk)) and walk == sorted(walk, reverse=True)
        assert [id for id in walk if id in set(stable)] == stable


# ---------------------------------------------------------------- cursors


def test_a_cursor_works_with_any_limit(sixty_brokers):
    cursor = get_page(sixty_brokers, limit=10)["page_info"]["end_cursor"]
    assert ids(get_page(sixty_brokers, limit=3, cursor=cursor)) == sixty_brokers.ids[10:13]
    assert ids(get_page(sixty_brokers, cursor=cursor)) == sixty_brokers.ids[10:35]


def test_a_cursor_can_be_used_again_and_by_another_credential_of_the_organization(sixty_brokers, instance, admin_factory):
    cursor = get_page(sixty_brokers, limit=10)["page_info"]["end_cursor"]
    viewer = Api(instance, admin_factory.key(sixty_brokers.credential.organizations[0], "org_viewer"))
    for api in (sixty_brokers, sixty_brokers, viewer):
        assert ids(get_page(api, limit=2, cursor=cursor)) == sixty_brokers.ids[10:12]


def test_a_cursor_is_opaque(sixty_brokers):
    cursor = get_page(sixty_brokers, limit=10)["page_info"]["end_cursor"]
    assert sixty_brokers.ids[9] not in cursor and sixty_brokers.credential.organizations[0] not in cursor
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")


def assert_invalid(api, cursor, **params):
    refused(api.get("brokers", params={"cursor": cursor, **params}), 400, "validation.cursor_invalid",
            cursor="validation.cursor_invalid")


def test_a_cursor_has_no_unused_bits(sixty_brokers):
    cursor = get_page(sixty_brokers, limit=10)["page_info"]["end_cursor"]
    for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
        if last != cursor[-1]:
            assert_invalid(sixty_brokers, cursor[:-1] + last)


def test_a_cursor_of_another_organization_is_refused(sixty_brokers, own_api, principals, instance):
    cursor = get_page(sixty_brokers, limit=10)["page_info"]["end_cursor"]
    assert_invalid(own_api, cursor)
    assert_invalid(Api(instance, principals.other), cursor)


def test_a_cursor_is_bound_to_its_filters(sixty_brokers):
    plain = get_page(sixty_brokers, limit=10)["page_info"]["end_cursor"]
    filtered = get_page(sixty_brokers, limit=10, q="Broker")["page_info"]["end_cursor"]
    assert_invalid(sixty_brokers, plain, q="Broker")
    assert_invalid(sixty_brokers, filtered)
    assert_invalid(sixty_brokers, filtered, q="Brok")
    assert_invalid(sixty_brokers, filtered, q="Broker", visibility="restricted")
    assert ids(get_page(sixty_brokers, limit=5, q="Broker", cursor=filtered)) == sixty_brokers.ids[10:15]


def test_an_old_cursor_is_expired(second_host_api):
    filled(second_host_api, 3)
    cursor = get_page(second_host_api, limit=1)["page_info"]["end_cursor"]
    response = second_host_api.until(400, "brokers", params={"cursor": cursor})
    refused(response, 400, "validation.cursor_expired", cursor="validation.cursor_expired")


def test_a_cursor_is_valid_on_every_host_with_the_same_key(second_host_api, own_api):
    every = filled(own_api, 3)
    cursor = get_page(own_api, limit=1)["page_info"]["end_cursor"]
    assert ids(get_page(second_host_api, cursor=cursor)) == every[1:]


# ---------------------------------------------------------------- Link


def test_the_link_header_leads_to_the_next_page(sixty_brokers):
    response = sixty_brokers.get("brokers", params={"limit": 20})
    walked = ids(response.json())
    while "next" in response.links:
        url = response.links["next"]["url"]
        assert url.startswith(sixty_brokers.url + "brokers?")
        response = sixty_brokers.get(url)
        walked += ids(ok(response))
    assert walked == sixty_brokers.ids and "Link" not in response.headers


def test_the_link_carries_cursor_limit_and_filters(sixty_brokers):
    response = sixty_brokers.get("brokers", params={"limit": 20, "q": "Brökér &+%=\"<>", "visibility": "restricted,public"})
    assert "Link" not in response.headers and response.json()["items"] == []
    params = {"q": "bröker", "visibility": "restricted,public", "created_gte": "2020-01-01T00:00:00+03:00"}
    response = sixty_brokers.get("brokers", params={"limit": 20, **params})
    url = response.links["next"]["url"]
    expected = {"cursor": [response.json()["page_info"]["end_cursor"]], "limit": ["20"], **{k: [v] for k, v in params.items()}}
    assert parse_qs(urlsplit(url).query) == expected
    assert ids(ok(sixty_brokers.get(url))) == sixty_brokers.ids[20:40]


def test_the_link_is_under_the_base_url_of_the_host(second_host_api):
    filled(second_host_api, 2)
    response = second_host_api.get("brokers", params={"limit": 1})
    assert response.links["next"]["url"].startswith("https://api.example.com/public/v1/brokers?")


def test_the_link_of_a_page_of_default_size_works(sixty_brokers):
    url = sixty_brokers.get("brokers").links["next"]["url"]
    assert ids(ok(sixty_brokers.get(url))) == sixty_brokers.ids[25:50]
