# SPDX-License-Identifier: Apache-2.0
"""Parties that refer to each other as spouses."""

import pytest
from client import ok, refused
from event_log import deliveries, events


def couple(factory):
    first = factory.party()["id"]
    second = factory.party(spouse_party_id=first)["id"]
    ok(factory.api.patch("parties/" + first, json={"spouse_party_id": second}))
    return first, second


def test_one_of_two_spouses_is_deleted_and_the_other_changes(own_api, instance, factory):
    organization = own_api.credential.organizations[0]
    subscription = ok(own_api.post("webhooks", json={"url": "https://127.0.0.1:9/", "events": ["*"]}), 201)["id"]
    for is_batch in (False, True):
        first, second = couple(factory)
        before = ok(own_api.get("parties/" + second))
        if is_batch:
            operations = [{"method": "delete", "id": first}, {"method": "update", "id": second, "data": {"name": "Viúva"}}]
            done = ok(own_api.post("parties/batch", json={"operations": operations}))["results"]
            assert [one["status"] for one in done] == [204, 200]
        else:
            ok(own_api.delete("parties/" + first), 204)
        left = ok(own_api.get("parties/" + second))
        assert "spouse_party_id" not in left and left["updated_at"] > before["updated_at"]
        logged = [one for one in events(instance, organization) if one["resource_id"] in (first, second)]
        ends = [(one["type"], one["resource_id"]) for one in logged[3:]]
        assert sorted(ends[:2]) == [("party.deleted", first), ("party.updated", second)] and len(ends) == 2 + is_batch
        change = next(one for one in logged[3:] if one["resource_id"] == second)
        assert change["changed"] == ["spouse_party_id"] and change["previous"] == {"spouse_party_id": first}
        delivered = [event for event, payload in deliveries(instance, subscription) if payload["id"] in (first, second)]
        assert sorted(delivered[3:]) == ["party.deleted", *["party.updated"] * (1 + is_batch)]
        ok(own_api.delete("parties/" + second), 204)


@pytest.mark.parametrize("keeps", ["first", "second"])
def test_a_spouse_that_is_not_deleted_is_not_cleared(own_api, factory, keeps):
    """Another resource refers to the first, or the second refers to it by another field as well."""
    first, second = couple(factory)
    if keeps == "first":
        factory.proposal(proponent_ids=[first])
    else:
        ok(own_api.patch("parties/" + second, json={"legal_representatives": [{"party_id": first}]}))
    before = [ok(own_api.get("parties/" + id)) for id in (first, second)]
    refused(own_api.delete("parties/" + first), 409, "conflict.in_use")
    done = ok(own_api.post("parties/batch", json={"operations": [{"method": "delete", "id": first}]}))
    assert [one["status"] for one in done["results"]] == [409]
    assert [ok(own_api.get("parties/" + id)) for id in (first, second)] == before


def test_a_reference_that_is_not_mutual_is_not_cleared(own_api, factory):
    first = factory.party()["id"]
    second = factory.party(spouse_party_id=first)["id"]
    refused(own_api.delete("parties/" + first), 409, "conflict.in_use")
    ok(own_api.patch("parties/" + first, json={"spouse_party_id": first}))
    refused(own_api.delete("parties/" + first), 409, "conflict.in_use")
    ok(own_api.delete("parties/" + second), 204)
    ok(own_api.delete("parties/" + first), 204)


def test_parties_that_refer_to_each_other_are_deleted_together(own_api, factory):
    first, second = couple(factory)
    operations = [{"method": "delete", "id": id} for id in (first, second)]
    done = ok(own_api.post("parties/batch", json={"operations": operations}))
    assert [one["status"] for one in done["results"]] == [204, 204]


def test_a_party_that_others_refer_to_is_not_deleted_with_its_spouse(own_api, factory):
    first, second = couple(factory)
    factory.proposal(proponent_ids=[second])
    operations = [{"method": "delete", "id": id} for id in (first, second)]
    refused(own_api.post("parties/batch", json={"operations": operations, "atomic": True}), 409, "conflict.in_use")
    assert ok(own_api.get("parties/" + first))["spouse_party_id"] == second
    done = ok(own_api.post("parties/batch", json={"operations": operations}))
    assert [one["status"] for one in done["results"]] == [204, 409]
    assert "spouse_party_id" not in ok(own_api.get("parties/" + second))
