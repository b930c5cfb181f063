# SPDX-License-Identifier: Apache-2.0
"""The batch operation "upsert": it replaces the resource with an external_id, or creates it."""

import uuid

import pytest
from batching import create, delete, fields, results, send, queued_events, update
from client import ok, refused
from factories import NAMES, unique
from wait import together

COLLECTIONS = list(NAMES)


def upsert(key, /, **data):
    return {"method": "upsert", "external_id": key, "data": data}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_an_upsert_creates_and_then_replaces(own_api, factory, queued_events, collection):
    body, key, kind = factory.body(collection), unique(), NAMES[collection]
    before = len(queued_events())
    made, = results(send(own_api, upsert(key, **body, metadata={"a": "b"}), collection=collection), 201)
    assert made["resource"]["external_id"] == key and made["resource"]["metadata"] == {"a": "b"}
    again, same = results(send(own_api, upsert(key, **body, external_id=key), upsert(key, **body), collection=collection), 200, 200)
    assert same["resource"] == again["resource"] and "metadata" not in again["resource"]
    assert again["resource"]["id"] == made["resource"]["id"] and again["resource"]["updated_at"] > made["resource"]["updated_at"]
    assert ok(own_api.get(f"{collection}/{made['resource']['id']}")) == again["resource"]
    assert [event for event, _ in queued_events()[before:]] == [kind + ".created", kind + ".updated"]


def test_an_upsert_sees_earlier_operations(own_api, factory):
    party = factory.party(external_id="a")
    def put(key, name):
        return upsert(key, **factory.body("parties", name=name))
    done = results(send(own_api, update(party, external_id="b"), put("a", "New"), put("b", "Renamed"), put("a", "Again"),
                        delete(party), put("b", "Other"), create(**factory.body("parties", external_id="c")),
                        put("c", "Created"), put("c", "Twice"), collection="parties"),
                   200, 201, 200, 200, 204, 201, 201, 200, 200)
    ids = [result.get("resource", {}).get("id") for result in done]
    assert ids[1] == ids[3] and ids[2] == party["id"] and len({ids[1], ids[2], ids[5], ids[6]}) == 4
    assert ids[6] == ids[7] == ids[8]
    found = {one["external_id"]: one["name"] for one in own_api.walk("parties") if "external_id" in one}
    assert found == {"a": "Again", "b": "Other", "c": "Twice"}


def test_a_hundred_upserts_replace_and_create(own_api, factory):
    keys = [f"k{n}" for n in range(100)]
    results(send(own_api, *[upsert(key, **factory.body("parties")) for key in keys[::2]], collection="parties"), *[201] * 50)
    done = results(send(own_api, *[upsert(key, **factory.body("parties", name=key)) for key in keys], collection="parties"),
                   *[200, 201] * 50)
    assert [result["resource"]["name"] for result in done] == keys


def test_an_invalid_upsert_is_refused(own_api, factory):
    body = factory.body("parties")
    done = results(send(own_api, {"method": "upsert", "data": body}, upsert("a", **body, external_id="b"),
                        {**create(**body), "external_id": "a"}, {**upsert("a", **body), "id": "x"},
                        {"method": "upsert", "external_id": 7}, upsert("a", **body), collection="parties"), *[400] * 5, 201)
    found = {path: code for result in done[:-1] for path, code in fields(result).items()}
    assert found == {"operations[0].external_id": "validation.party.operations_external_id_required",
                     "operations[1].external_id": "validation.party.operations_external_id_invalid",
                     "operations[2].external_id": "validation.party.operations_external_id_invalid",
                     "operations[3].id": "validation.party.operations_id_invalid",
                     "operations[4].external_id": "validation.party.operations_external_id_invalid",
                     "operations[4].data": "validation.party.operations_data_required"}
    done = results(send(own_api, upsert("", **body), upsert("a" * 1000, **body), upsert("a", name=""), collection="parties"),
                   400, 400, 400)
    assert fields(done[0]) == fields(done[1]) == {"external_id": "validation.party.external_id_invalid"}
    assert "kind" in fields(done[2])


def test_the_rules_of_single_writes_apply(own_api, factory):
    proposal = factory.proposal(status="submitted", external_id="p")
    body = {name: proposal[name] for name in ("kind", "property_id", "proponent_ids", "amount", "valid_until")}
    done = results(send(own_api, upsert("p", **body), upsert("p", **body, status="accepted"), upsert("q", **body, status="accepted"),
                        upsert("p", **{**body, "amount": 7}, status="accepted"), collection="proposals"), 409, 200, 409, 409)
    assert [result.get("error", {}).get("code") for result in done] == [
        "conflict.invalid_transition", None, "conflict.invalid_transition", "conflict.field_locked"]
    assert ok(own_api.get("properties/" + proposal["property_id"]))["status"] == "under_contract"


def test_a_duplicate_of_another_field_fails_alone(own_api, factory):
    number = factory.party(document_number="52998224725")["document_number"]
    problem = refused(send(own_api, upsert("a", **factory.body("parties")), upsert("b", **factory.body(
        "parties", document_number=number)), collection="parties", atomic=True), 409, "conflict.duplicate")
    assert problem["field"] == "operations[1].data.document_number" and len(own_api.walk("parties")) == 1


@pytest.mark.parametrize("rounds", [2])
def test_concurrent_upserts_create_one_resource_each(own_api, factory, rounds):
    body = factory.body("parties")
    for turn in range(rounds):
        keys = [f"{turn}-{n}" for n in range(10)]
        def put(n):
            order = keys if n % 2 else keys[::-1]
            return ok(send(own_api.with_(), *[upsert(key, **{**body, "name": f"N{n}"}) for key in order], collection="parties",
                           key=str(uuid.uuid4())))
        def single():
            return own_api.with_().post("parties", json={**body, "external_id": keys[5]}).status_code
        done = together(*[lambda n=n: put(n) for n in range(8)], single)
        made = [result["status"] for answer in done[:-1] for result in answer["results"]] + [done[-1]]
        assert made.count(201) == 10 and set(made[:-1]) <= {200, 201} and made[-1] in (201, 409)
        found = [one for one in own_api.walk("parties", limit=100) if one.get("external_id", "").startswith(f"{turn}-")]
        assert sorted(one["external_id"] for one in found) == sorted(keys)


# ---------------------------------------------------------------- merges


def merge(key, /, **data):
    return {"method": "merge", "external_id": key, "data": data}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_merge_creates_and_then_updates(own_api, factory, queued_events, collection):
    body, kind, before = factory.body(collection), NAMES[collection], len(queued_events())
    made, merged, same = results(send(own_api, merge("k", **body, metadata={"a": "b", "x": None}), merge("k", metadata={"c": "d"}),
                                      merge("k"), collection=collection), 201, 200, 200)
    assert made["resource"]["external_id"] == "k" and made["resource"]["metadata"] == {"a": "b"}
    expected = {**made["resource"], "metadata": {"a": "b", "c": "d"}, "updated_at": merged["resource"]["updated_at"]}
    assert merged["resource"] == same["resource"] == expected
    assert [event for event, _ in queued_events()[before:]] == [kind + ".created", kind + ".updated"]


def test_a_merge_depends_on_earlier_operations(own_api, factory):
    whole = factory.body("parties")
    done = results(send(own_api, merge("a", name="A"), merge("a", **whole), merge("a", name="A"), merge("b", **whole, name_=1),
                        {"method": "delete", "id": by("a")}, merge("a", name="B"), upsert("a", **whole),
                        merge("a", external_id="b"), collection="parties"), 400, 201, 200, 400, 204, 400, 201, 400)
    assert fields(done[0]).keys() == fields(done[5]).keys() == {"kind", "roles"} and done[2]["resource"]["name"] == "A"


def test_concurrent_merges_create_one_resource(own_api, factory):
    body = factory.body("parties")
    done = together(*[lambda n=n: ok(send(own_api.with_(), merge("a", **body), merge("a", metadata={str(n): ""}),
                                          collection="parties")) for n in range(8)])
    assert sorted(answer["results"][0]["status"] for answer in done) == [200] * 7 + [201]
    made, = own_api.walk("parties")
    assert made["metadata"] == {str(n): "" for n in range(8)}


# ---------------------------------------------------------------- if_match


def test_an_operation_is_executed_only_if_the_etag_matches(own_api, factory):
    first, second = (factory.party(external_id=key) for key in "ab")
    tags = [own_api.get("parties/" + one["id"]).headers["ETag"] for one in (first, second)]
    def if_match(tag, operation):
        return {**operation, "if_match": tag}
    done = results(send(own_api, if_match(tags[0], update(first, name="1")), if_match(tags[0], merge("a", name="2")),
                        if_match(tags[0], delete(first)), if_match(tags[0], upsert("a", **factory.body("parties"))),
                        if_match("*", merge("a", name="3")), if_match(f'"x", {tags[1]}', merge("b", name="4")),
                        if_match("*", merge("new", **factory.body("parties"))), if_match("*", update("pty_" + "0" * 26, name="5")),
                        collection="parties"),
                   200, 412, 412, 412, 200, 200, 412, 404)
    assert {one["error"]["code"] for one in done if one["status"] == 412} == {"conflict.precondition_failed"}
    for one in done[4], done[5]:
        read = own_api.get("parties/" + one["resource"]["id"], headers={"Accept-Encoding": "identity"})
        assert one["etag"] == read.headers["ETag"]
    assert "does not exist" in done[6]["error"]["detail"]
    chained = done[4]["etag"]
    problem = refused(send(own_api, if_match(chained, update(first, name="6")), if_match(chained, update(first, name="7")),
                           collection="parties", atomic=True), 412, "conflict.precondition_failed")
    assert problem["detail"].startswith("operations[1]: ") and [one["index"] for one in problem["failures"]] == [1]
    assert ok(own_api.get("parties/" + first["id"]))["name"] == "3"
    results(send(own_api, if_match(chained, delete(first)), collection="parties"), 204)


def test_one_of_concurrent_conditional_operations_succeeds(own_api, factory):
    made = factory.party(external_id="a")
    tag = own_api.get("parties/" + made["id"]).headers["ETag"]
    done = together(*[lambda n=n: ok(send(own_api.with_(), {**merge("a", name=f"N{n}"), "if_match": tag}, collection="parties"))
                      for n in range(8)])
    assert sorted(answer["results"][0]["status"] for answer in done) == [200] + [412] * 7


# ---------------------------------------------------------------- updates and deletes by external id


def by(external_id):
    return {"external_id": external_id}


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_an_update_and_a_delete_find_the_resource_by_its_external_id(own_api, factory, queued_events, collection):
    kind = NAMES[collection]
    made = ok(own_api.post(collection, json=factory.body(collection, external_id="a")), 201)
    before = len(queued_events())
    done = results(send(own_api, {"method": "update", "id": by("a"), "data": {"metadata": {"n": "1"}}},
                        {"method": "update", "id": by("a"), "data": {"external_id": "b"}},
                        {"method": "delete", "id": by("a")}, {"method": "delete", "id": by("b")},
                        {"method": "delete", "id": by("b")}, collection=collection), 200, 200, 404, 204, 404)
    assert done[1]["resource"] == {**done[0]["resource"], "external_id": "b", "updated_at": done[1]["resource"]["updated_at"]}
    assert done[1]["resource"]["id"] == made["id"] and done[2]["error"]["code"] == "not_found." + kind
    assert [event for event, _ in queued_events()[before:]] == [f"{kind}.updated", f"{kind}.updated", f"{kind}.deleted"]


def test_an_external_id_is_looked_up_after_the_earlier_operations(own_api, factory):
    first = factory.party(external_id="a")
    def name(id, name, **more):
        return {"method": "update", "id": id, "data": {"name": name, **more}}
    done = results(send(own_api, name(by("b"), "Early"), name(first["id"], "1", external_id="b"),
                        create(**factory.body("parties", external_id="a")), name(by("a"), "2"), name(by("b"), "3"),
                        upsert("c", **factory.body("parties")), name(by("c"), "4"), delete(first),
                        name(by("b"), "Late"), name(by("a"), "5", external_id="c"), name(by("a"), "6", external_id=None),
                        {"method": "delete", "id": by("a")}, collection="parties"),
                   404, 200, 201, 200, 200, 201, 200, 204, 404, 409, 200, 404)
    assert done[4]["resource"]["id"] == first["id"] and done[10]["resource"]["id"] == done[2]["resource"]["id"]
    assert {one["name"]: one.get("external_id") for one in own_api.walk("parties")} == {"6": None, "4": "c"}


def test_a_hundred_updates_and_deletes_by_external_id_share_statements(own_api, factory):
    keys = [f"k{n}" for n in range(100)]
    results(send(own_api, *[upsert(key, **factory.body("parties")) for key in keys], collection="parties"), *[201] * 100)
    results(send(own_api, *[{"method": "update", "id": by(key), "data": {"name": key}} for key in keys], collection="parties"),
            *[200] * 100)
    assert all(one["name"] == one["external_id"] for one in own_api.walk("parties", limit=100))
    results(send(own_api, *[{"method": "delete", "id": by(key)} for key in keys], collection="parties", atomic=True), *[204] * 100)
    assert own_api.walk("parties") == []


@pytest.mark.parametrize("id", [{}, {"external_id": 7}, {"external_id": "a", "x": 1}, {"x": "a"}, ["a"]], ids=str)
def test_an_invalid_id_is_refused(own_api, factory, id):
    party = factory.party(external_id="a")
    done = results(send(own_api, {"method": "delete", "id": id}, update(party, name="B"), collection="parties"), 400, 200)
    assert fields(done[0]) == {"operations[0].id": "validation.party.operations_id_invalid"}
    assert isinstance(id, list) or 'a string or {"external_id": "…"}' in done[0]["error"]["errors"][0]["message"]


def test_a_missing_resource_is_described_as_it_was_looked_up(own_api, factory):
    missing = "pty_01jwr1zbts0h4k8n3p7r1t5w9x"
    done = results(send(own_api, {"method": "delete", "id": by("a")}, {"method": "delete", "id": missing},
                        {"method": "update", "id": by("a"), "data": {}}, collection="parties"), 404, 404, 404)
    assert [one["error"]["detail"].rpartition(" with this ")[2] for one in done] == ["external id.", "id.", "external id."]
