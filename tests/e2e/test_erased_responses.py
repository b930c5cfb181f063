# SPDX-License-Identifier: Apache-2.0
"""What receivers answered to deliveries can repeat what was sent to them, and is erased with the person."""

import threading

import pytest
from client import ok
from factories import unique
from receiver import echo
from wait import TIMEOUT_S, eventually
from webhook_fixtures import HERE, admin, deliveries, detail, module_admin_factory, module_instance, receiver, subscribe  # noqa: F401

CONF = HERE


def party(api, email):
    ok(api.post("parties", json={"kind": "person", "name": "A", "roles": ["buyer"], "email": email}), 201)


def succeeded(api, subscription, count):
    def found():
        all = deliveries(api, subscription)
        return len(all) == count and {one["status"] for one in all} == {"success"} and all
    return eventually(found, f"{count} deliveries")


def erase(api, email):
    eventually(lambda: ok(api.post("subjects/erase", json={"email": email}))["status"] == "completed", "the erasure is complete")


def repeated(api, email):
    return api.instance.sql("select delivery_id, response_excerpt from neoapi.webhook_attempt where position(%s in response_excerpt) > 0",
                            email)


@pytest.mark.parametrize("batch", [None, {"max_items": 2, "max_wait_ms": 10000}])
def test_a_response_is_erased_with_the_person_that_it_repeats(admin, receiver, batch):
    """The response to several deliveries is that of each, also of those that are about others, so it is not kept."""
    receiver.behave(echo)
    hook = subscribe(admin, receiver.url, "party.*", fields=["email"], **({"batch": batch} if batch else {}))
    emails = [f"one.{unique()}@example.com" for _ in range(2)]
    for email in emails:
        party(admin, email)
    for one in succeeded(admin, hook, 2):
        attempt, = detail(admin, hook, one)["attempts"]
        assert attempt["http_status"] == 200 and ("response_excerpt" in attempt) is not bool(batch)
    assert {len(one.json.get("deliveries", [one])) for one in receiver.arrivals} == {2 if batch else 1}
    assert bool(repeated(admin, emails[0])) is not bool(batch)
    erase(admin, emails[0])
    assert repeated(admin, emails[0]) == []


def test_a_response_that_ends_after_the_erasure_does_not_bring_the_person_back(admin, receiver):
    erased, email = threading.Event(), f"one.{unique()}@example.com"

    def late(handler, arrival):
        erased.wait(TIMEOUT_S)
        echo(handler, arrival)

    receiver.behave(late)
    hook = subscribe(admin, receiver.url, "party.created", fields=["email"])
    party(admin, email)
    assert email in receiver.wait_for(1)[0].body.decode()
    try:
        erase(admin, email)
    finally:
        erased.set()
    succeeded(admin, hook, 1)
    assert repeated(admin, email) == []
