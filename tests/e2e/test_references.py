# SPDX-License-Identifier: Apache-2.0
"""References: their targets must exist in the organization when they are written, and cannot be deleted afterwards."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest
from batching import create, fields, results, send, update
from client import Api, ok, refused, wrong_fields
from factories import NAMES, PREFIXES, UNKNOWN_ULID, ResourceFactory, unique
from wait import eventually, together

KINDS = {name: collection for collection, name in NAMES.items()}
# Every reference: the collection, the path, and the collection that it refers to.
REFERENCES = [
    ("properties", "owners[1].party_id", "parties"), ("properties", "broker_id", "brokers"),
    ("parties", "spouse_party_id", "parties"), ("parties", "legal_representatives[0].party_id", "parties"),
    ("parties", "broker_id", "brokers"),
    ("proposals", "property_id", "properties"), ("proposals", "proponent_ids[1]", "parties"),
    ("proposals", "recipient_ids[0]", "parties"), ("proposals", "broker_id", "brokers"),
    ("contracts", "property_id", "properties"), ("contracts", "proposal_id", "proposals"),
    ("contracts", "parties[1].party_id", "parties"), ("contracts", "guarantee.party_id", "parties"),
    ("contracts", "commission.splits[0].broker_id", "brokers"), ("documents", "related.id", "parties"),
]
every_reference = pytest.mark.parametrize("collection, path, target", REFERENCES, ids=[f"{c}.{p}" for c, p, _ in REFERENCES])


@pytest.fixture
def other_factory(instance, principals):
    return ResourceFactory(Api(instance, principals.other))


def split_path(path):
    return [int(step) if step.isdigit() else step for step in re.findall(r"[a-z_]+|\d+", path)]


def put(body, path, value):
    """A copy of the body with another value at the path."""
    first, *rest = split_path(path) if isinstance(path, str) else path
    if isinstance(body, list):
        return [(put(one, rest, value) if rest else value) if n == first else one for n, one in enumerate(body)]
    return {**body, first: put(body[first], rest, value) if rest else value}


def get(body, path):
    for step in split_path(path):
        body = body[step]
    return body


def error_code(collection, path, what):
    field = re.sub(r"\[\d+\]", "", path).replace(".", "_")
    return f"validation.{NAMES[collection]}.{field}_{what}"


# ---------------------------------------------------------------- missing resources


@every_reference
def test_a_reference_to_a_missing_resource_is_named_by_its_path(factory, own_api, collection, path, target):
    body = put(factory.full(collection), path, PREFIXES[target] + UNKNOWN_ULID)
    code = error_code(collection, path, "not_found")
    assert wrong_fields(own_api.post(collection, json=body)) == {path: code}
    made = factory.create(collection)
    for write in (own_api.put, own_api.patch):
        assert wrong_fields(write(f"{collection}/{made['id']}", json=body)) == {path: code}
    assert ok(own_api.get(f"{collection}/{made['id']}")) == made and own_api.walk(collection,
                                                                                  external_id=body["external_id"]) == []


@every_reference
def test_a_reference_to_another_organizations_resource_is_not_found(factory, own_api, other_factory, collection, path, target):
    body = put(factory.full(collection), path, other_factory.create(target)["id"])
    assert wrong_fields(own_api.post(collection, json=body)) == {path: error_code(collection, path, "not_found")}


@every_reference
@pytest.mark.parametrize("wrong",
                         ["", "x", 5, None, {}, [], True, "{prefix}", "brk_" + UNKNOWN_ULID[:-1], "BRK_" + UNKNOWN_ULID,
                          "doc_" + UNKNOWN_ULID, "org_" + UNKNOWN_ULID, "{prefix}" + "u" * 26, "a\"},{\\"], ids=str)
def test_a_malformed_id_is_refused(factory, own_api, collection, path, target, wrong):
    if isinstance(wrong, str):
        wrong = wrong.replace("{prefix}", PREFIXES[target])
    response = own_api.post(collection, json=put(factory.full(collection), path, wrong))
    if response.status_code == 201:  # null means absent
        assert wrong is None
        return
    at = wrong_fields(response)
    assert set(at) <= {path, re.sub(r"\[\d+\]$", "", path)}, at
    assert set(at.values()) <= {error_code(collection, path, "invalid"), error_code(collection, path, "required")}, at


def test_an_id_of_a_kind_that_the_type_does_not_name_is_refused(factory, own_api):
    for kind, collection in KINDS.items():
        if kind in ("document", "lead"):
            continue
        id = factory.create(collection)["id"]
        body = factory.body("documents", related={"type": kind, "id": id})
        ok(own_api.post("documents", json=body), 201)
        other = "party" if kind != "party" else "broker"
        assert wrong_fields(own_api.post("documents", json={**body, "related": {"type": other, "id": id}})) == {
            "related.id": "validation.document.related_id_invalid"}
    assert wrong_fields(own_api.post("documents",
                                     json={**body, "related": {"type": "document", "id": "doc_" + UNKNOWN_ULID}})) == {
        "related.type": "validation.document.related_type_invalid"}


def test_all_missing_references_are_named_at_once(factory, own_api):
    party, broker = "pty_" + UNKNOWN_ULID, "brk_" + UNKNOWN_ULID
    body = {**factory.full("contracts"), "property_id": "prp_" + UNKNOWN_ULID, "proposal_id": "pps_" + UNKNOWN_ULID}
    body["parties"] = [{"party_id": party, "role": "buyer"}, body["parties"][0], {"party_id": party, "role": "seller"}]
    body["commission"] = {"splits": [{"broker_id": broker, "bps": 10000}]}
    wrong = ["property_id", "proposal_id", "parties[0].party_id", "parties[2].party_id", "commission.splits[0].broker_id"]
    response = own_api.post("contracts", json=body)
    assert wrong_fields(response) == {path: error_code("contracts", path, "not_found") for path in wrong}
    assert response.json()["code"] == "validation.failed"


def test_a_resource_may_refer_to_itself(factory, own_api):
    party = factory.party()
    path = "parties/" + party["id"]
    assert ok(own_api.patch(path, json={"spouse_party_id": party["id"]}))["spouse_party_id"] == party["id"]
    ok(own_api.delete(path), 204)


def test_a_repeated_create_is_replayed_after_its_target_is_deleted(factory, own_api):
    party, key = factory.party(), {"Idempotency-Key": str(uuid.uuid4())}
    body = factory.body("parties", spouse_party_id=party["id"])
    first = own_api.post("parties", json=body, headers=key)
    ok(own_api.patch("parties/" + ok(first, 201)["id"], json={"spouse_party_id": None}))
    ok(own_api.delete("parties/" + party["id"]), 204)
    again = own_api.post("parties", json=body, headers=key)
    assert again.status_code == 201 and again.text == first.text and again.headers["Idempotent-Replayed"] == "true"


# ---------------------------------------------------------------- deletion of referenced resources


@every_reference
def test_a_referenced_resource_cannot_be_deleted(factory, own_api, collection, path, target):
    made = ok(own_api.post(collection, json=factory.full(collection)), 201)
    id = get(made, path)
    problem = refused(own_api.delete(f"{target}/{id}"), 409, "conflict.in_use")
    assert re.search(rf"\b{NAMES[target]} cannot be deleted while a {NAMES[collection]} refers to it", problem["detail"]) or (
        collection == "contracts" and "a proposal and a contract refer to it" in problem["detail"])
    ok(own_api.get(f"{target}/{id}"))


@pytest.mark.parametrize("collection, path, target", [one for one in REFERENCES if one[1] != "proposal_id"])  # accepted ones are kept
def test_a_resource_without_references_can_be_deleted(factory, own_api, collection, path, target):
    for way in ("patch", "put", "delete"):
        body = factory.full(collection)
        if (collection, path) == ("contracts", "property_id"):  # must be the proposal's property
            body.update(proposal_id=None, property_id=factory.offered()["id"])
        made = ok(own_api.post(collection, json=body), 201)
        id, other = get(made, path), factory.create(target)["id"]
        if way == "delete":
            ok(own_api.delete(f"{collection}/{made['id']}"), 204)
        else:
            ok(own_api.request(way.upper(), f"{collection}/{made['id']}", json=put(body, path, other)))
            refused(own_api.delete(f"{target}/{other}"), 409, "conflict.in_use")
        for proposal in own_api.walk("proposals", property_id=id) if target == "properties" else []:
            ok(own_api.patch("proposals/" + proposal["id"], json={"property_id": other}))
        ok(own_api.delete(f"{target}/{id}"), 204)


def test_the_detail_names_every_kind_that_refers(factory, own_api):
    broker = factory.broker()
    path = "brokers/" + broker["id"]
    said, ids = [], []
    for collection, own in (("documents", {"related": {"type": "broker", "id": broker["id"]}}),
                               ("parties", {"broker_id": broker["id"]}), ("properties", {"broker_id": broker["id"]})):
        ids.insert(0, factory.create(collection, **own)["id"])
        said.append(refused(own_api.delete(path), 409, "conflict.in_use")["detail"])
    property, party, document = ids[0] + " (broker_id)", ids[1] + " (broker_id)", ids[2] + " (related.id)"
    assert said == [f"The broker cannot be deleted while {kinds}. Remove the references first, such as {first}." for kinds, first in (
        ("a document refers to it", document), ("a party and a document refer to it", f"{party} and {document}"),
        ("a property, a party and a document refer to it", f"{property}, {party} and {document}"))]


def test_the_detail_names_only_what_the_credential_may_read(factory, own_api, admin_factory):
    broker = factory.broker()["id"]
    factory.party(broker_id=broker)
    property = factory.property(broker_id=broker)["id"]
    organization = own_api.credential.organizations[0]
    for scopes, such in ((["brokers:write"], ""), (["brokers:write", "properties:read"], f", such as {property} (broker_id)")):
        api = Api(own_api.instance, admin_factory.key(organization, scopes=scopes))
        kinds = "The broker cannot be deleted while a property and a party refer to it. Remove the references first"
        assert refused(api.delete("brokers/" + broker), 409, "conflict.in_use")["detail"] == f"{kinds}{such}."


def test_a_shorter_list_removes_references(factory, own_api):
    parties = [factory.party()["id"] for _ in range(3)]
    made = factory.proposal(proponent_ids=parties)
    ok(own_api.patch("proposals/" + made["id"], json={"proponent_ids": parties[2:]}))
    for id in parties[:2]:
        ok(own_api.delete("parties/" + id), 204)
    refused(own_api.delete("parties/" + parties[2]), 409, "conflict.in_use")


def test_a_document_with_a_new_relation_releases_the_old_one(factory, own_api):
    property, party = factory.property(), factory.party()
    made = factory.document(related={"type": "property", "id": property["id"]})
    ok(own_api.patch("documents/" + made["id"], json={"related": {"type": "party", "id": party["id"]}}))
    ok(own_api.delete("properties/" + property["id"]), 204)
    refused(own_api.delete("parties/" + party["id"]), 409, "conflict.in_use")


def test_references_are_of_the_organization(instance, factory, own_api, admin_factory):
    """The same id in another organization is another resource, inserted with SQL because the service never reuses an id."""
    party = factory.party()
    other = ResourceFactory(Api(instance, admin_factory.key()))
    strange = other.party(spouse_party_id=other.party()["id"])
    organization = other.api.credential.organizations[0]
    instance.sql("insert into neoapi.party select (p).* from (select jsonb_populate_record(p, jsonb_build_object("
                 "'organization_id', %s)) p from neoapi.party p where id = %s) x", organization, party["id"])
    instance.sql("update neoapi.party set id = id where organization_id = %s", organization)  # makes the representation again
    ok(other.api.patch("parties/" + strange["id"], json={"spouse_party_id": party["id"]}))
    ok(own_api.delete("parties/" + party["id"]), 204)
    refused(other.api.delete("parties/" + party["id"]), 409, "conflict.in_use")


# ---------------------------------------------------------------- concurrency


def test_either_a_concurrent_reference_or_the_deletion_succeeds(factory, own_api, instance):
    for _ in range(12):
        party = factory.party()
        body = factory.body("parties", spouse_party_id=party["id"])
        made, deleted = together(lambda: own_api.with_().post("parties", json=body),
                                 lambda: own_api.with_().delete("parties/" + party["id"]))
        if deleted.status_code == 204:
            assert wrong_fields(made) == {"spouse_party_id": "validation.party.spouse_party_id_not_found"}
        else:
            assert "a party refers to it" in refused(deleted, 409, "conflict.in_use")["detail"] and made.status_code == 201
    assert instance.sql("select count(*) from neoapi.reference r where source_id like 'pty%' and not exists"
                        " (select from neoapi.party p where p.id = r.source_id)") == [(0,)]


def while_open(instance, sql, values, request):
    """The response to a request that waits for a transaction, which commits when the request waits."""
    connection = psycopg2.connect(instance.admin_dsn)
    try:
        connection.cursor().execute(sql, values)
        me = connection.get_backend_pid()

        def commit():
            eventually(lambda: instance.sql("select pid from pg_stat_activity where %s = any (pg_blocking_pids(pid))", me),
                       "a request that waits")
            connection.commit()

        return together(request, commit)[0]
    finally:
        connection.close()


@pytest.mark.parametrize("way", ["post", "put", "patch"])
def test_a_resource_deleted_during_a_reference_is_not_found(factory, own_api, instance, way):
    party, made = factory.party(), factory.party()
    body = factory.body("parties", spouse_party_id=party["id"])
    path = "parties" if way == "post" else "parties/" + made["id"]
    response = while_open(instance, "delete from neoapi.party where id = %s", [party["id"]],
                          lambda: own_api.request(way.upper(), path, json=body))
    assert wrong_fields(response) == {"spouse_party_id": "validation.party.spouse_party_id_not_found"}


@pytest.mark.parametrize("collection", ["brokers", "parties"])
def test_a_resource_referenced_during_a_deletion_is_in_use(factory, own_api, instance, collection):
    target = factory.create(collection)
    response = while_open(instance, "insert into neoapi.reference (organization_id, source_id, path, target_id)"
                          " values (%s, 'prp_' || %s, 'x', %s)", [target["organization_id"], UNKNOWN_ULID, target["id"]],
                          lambda: own_api.delete(f"{collection}/{target['id']}"))
    assert "a property refers to it" in refused(response, 409, "conflict.in_use")["detail"]
    ok(own_api.get(f"{collection}/{target['id']}"))
    instance.sql("delete from neoapi.reference where target_id = %s", target["id"])
    ok(own_api.delete(f"{collection}/{target['id']}"), 204)


def test_concurrent_puts_and_deletions_leave_no_dangling_reference(factory, own_api, instance):
    parties = [factory.party()["id"] for _ in range(4)]
    for _ in range(6):
        made = factory.party()
        path = "parties/" + made["id"]
        together(*[lambda id=id: own_api.with_().put(path, json=factory.body("parties", spouse_party_id=id)) for id in parties],
                 lambda: own_api.with_().delete(path))
        left = own_api.get(path)
        found = instance.sql("select target_id from neoapi.reference where source_id = %s", made["id"])
        assert found == ([(left.json()["spouse_party_id"],)] if left.status_code == 200 else [])


def test_after_concurrent_puts_the_references_are_those_of_the_last(factory, own_api, instance):
    parties = [factory.party()["id"] for _ in range(8)]
    made = factory.proposal()
    path = "proposals/" + made["id"]

    def replace(n):
        ok(own_api.with_().patch(path, json={"proponent_ids": parties[n:], "recipient_ids": parties[:n] or None}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(replace, list(range(7)) * 3))
    now = ok(own_api.get(path))
    wanted = {**{f"proponent_ids[{n}]": id for n, id in enumerate(now["proponent_ids"])},
              **{f"recipient_ids[{n}]": id for n, id in enumerate(now.get("recipient_ids", []))},
              "property_id": made["property_id"]}
    assert dict(instance.sql("select path, target_id from neoapi.reference where source_id = %s", made["id"])) == wanted


# ---------------------------------------------------------------- references by external id


def by_external_id(api, target, id):
    """A reference to the resource by a new external id."""
    return {"external_id": ok(api.patch(f"{target}/{id}", json={"external_id": unique()}))["external_id"]}


@every_reference
def test_a_reference_can_be_an_external_id(factory, own_api, collection, path, target):
    body = factory.full(collection)
    id, first = get(body, path), split_path(path)[0]
    reference = by_external_id(own_api, target, id)
    sent = put(body, path, reference)
    made = ok(own_api.post(collection, json=sent), 201)
    assert get(made, path) == id
    at, change = f"{collection}/{made['id']}", {first: sent[first]}
    assert ok(own_api.put(at, json=sent)) == ok(own_api.patch(at, json=change)) == made
    assert ok(own_api.put(f"{collection}/by-external-id/{body['external_id']}", json=sent)) == made
    done = results(send(own_api, update(made, **change), {"method": "upsert", "external_id": body["external_id"], "data": sent},
                        collection=collection), 200, 200)
    assert [one["resource"] for one in done] == [made, made]
    assert refused(own_api.delete(f"{target}/{id}"), 409, "conflict.in_use")


@every_reference
def test_an_unknown_external_id_is_refused_like_an_unknown_id(factory, own_api, other_factory, collection, path, target):
    other = other_factory.create(target, external_id=unique())["external_id"]
    body, made = factory.full(collection), factory.create(collection)
    code, messages = error_code(collection, path, "not_found"), []
    for reference in (PREFIXES[target] + UNKNOWN_ULID, {"external_id": unique()}, {"external_id": other}):
        sent = put(body, path, reference)
        answers = [own_api.post(collection, json=sent), own_api.put(f"{collection}/{made['id']}", json=sent),
                   own_api.patch(f"{collection}/{made['id']}", json=sent),
                   own_api.put(f"{collection}/by-external-id/{body['external_id']}", json=sent)]
        assert [wrong_fields(answer) for answer in answers] == [{path: code}] * len(answers)
        done = results(send(own_api, create(**sent), update(made, **sent), collection=collection), 400, 400)
        assert [fields(one) for one in done] == [{path: code}] * 2
        messages.append([answer.json()["detail"] for answer in answers])
    assert messages[0] == messages[1] == messages[2]
    assert ok(own_api.get(f"{collection}/{made['id']}")) == made


@pytest.mark.parametrize("wrong", [{"external_id": 5}, {"external_id": None}, {"external_id": "x", "id": "y"}, {"id": "x"},
                                   [{"external_id": "x"}], {"external_id": {"external_id": "x"}}], ids=str)
def test_a_malformed_reference_by_external_id_is_refused(factory, own_api, wrong):
    factory.party(external_id="x")
    answer = own_api.post("parties", json=factory.body("parties", spouse_party_id=wrong))
    assert wrong_fields(answer) == {"spouse_party_id": "validation.party.spouse_party_id_invalid"}
    error, = answer.json()["errors"]
    assert error["message"].removesuffix(", not an array") == 'must be the id of a party (pty_…) or {"external_id": "…"}'


def test_a_patch_can_refer_by_the_stored_type(factory, own_api):
    document, party = factory.create("documents", related={"type": "party", "id": factory.party()["id"]}), factory.party()
    reference = by_external_id(own_api, "parties", party["id"])
    changed = ok(own_api.patch("documents/" + document["id"], json={"related": {"id": reference}}))
    assert changed["related"] == {"type": "party", "id": party["id"]}


def test_ids_and_external_ids_of_a_list_are_compared(factory, own_api):
    body = factory.full("proposals")
    one, other = body["proponent_ids"]
    reference, unknown = by_external_id(own_api, "parties", one), [{"external_id": unique()}, {"external_id": unique()}]
    assert ok(own_api.post("proposals", json={**body, "proponent_ids": [reference, other]}), 201)["proponent_ids"] == [one, other]
    body["external_id"] = unique()
    for twice in ([reference, one], [reference, reference], [unknown[0], unknown[0]]):
        assert wrong_fields(own_api.post("proposals", json={**body, "proponent_ids": twice})) == {
            "proponent_ids[1]": "validation.proposal.proponent_ids_invalid"}
    assert wrong_fields(own_api.post("proposals", json={**body, "proponent_ids": [unknown[0], one, unknown[1]]})) == {
        f"proponent_ids[{n}]": "validation.proposal.proponent_ids_not_found" for n in (0, 2)}


def test_a_repeated_create_is_replayed_after_its_external_id_is_gone(factory, own_api):
    party, key = factory.party(external_id=unique()), {"Idempotency-Key": str(uuid.uuid4())}
    body = factory.body("parties", spouse_party_id={"external_id": party["external_id"]})
    first = own_api.post("parties", json=body, headers=key)
    assert ok(first, 201)["spouse_party_id"] == party["id"]
    ok(own_api.patch("parties/" + party["id"], json={"external_id": None}))
    again = own_api.post("parties", json=body, headers=key)
    assert again.status_code == 201 and again.text == first.text and again.headers["Idempotent-Replayed"] == "true"
    assert wrong_fields(own_api.post("parties", json=body)).keys() == {"spouse_party_id"}


@pytest.mark.parametrize("is_atomic", [False, True])
def test_a_batch_refers_to_its_earlier_operations(factory, own_api, is_atomic):
    def party(key, spouse=None):
        return factory.body("parties", external_id=key, **({"spouse_party_id": {"external_id": spouse}} if spouse else {}))
    old = factory.party(external_id="old")
    first, second, third, fourth, renamed, last, again = results(
        send(own_api, create(**party("a")), create(**party("b", "a")), create(**party("c", "b")),
             {"method": "upsert", "external_id": "a", "data": party("a", "c")}, update(old, external_id="new"),
             create(**party("d", "new")), create(**party("e", "d")),
             collection="parties", atomic=is_atomic), 201, 201, 201, 200, 200, 201, 201)
    id = [one["resource"]["id"] for one in (first, second, third, renamed, last)]
    assert [one["resource"]["spouse_party_id"] for one in (second, third, fourth, last, again)] == [id[0], id[1], id[2], old["id"],
                                                                                                  id[4]]


def test_a_batch_does_not_refer_to_later_operations_or_former_external_ids(factory, own_api):
    old = factory.party(external_id="old")
    def party(key, spouse):
        return create(**factory.body("parties", external_id=key, spouse_party_id={"external_id": spouse}))
    done = results(send(own_api, party("a", "later"), create(**factory.body("parties", external_id="later")),
                        update(old, external_id=None), party("b", "old"), party("c", "later"), party("d", "d"), collection="parties"),
                   400, 201, 200, 400, 201, 400)
    assert [fields(done[n]) for n in (0, 3, 5)] == [{"spouse_party_id": "validation.party.spouse_party_id_not_found"}] * 3


def test_a_hundred_operations_refer_by_external_id(factory, own_api):
    broker = factory.broker(external_id=unique())
    operations = [create(**factory.body("properties", broker_id={"external_id": broker["external_id"]})) for _ in range(100)]
    done = results(send(own_api, *operations, collection="properties"), *[201] * 100)
    assert {one["resource"]["broker_id"] for one in done} == {broker["id"]}


def test_concurrent_batches_refer_to_what_they_create(factory, own_api):
    """A batch that is retried finds the ids of its last attempt."""
    def operations(n):
        upserts = [{"method": "upsert", "external_id": key, "data": {**factory.body("parties", name=f"N{n}"), **more}}
                   for key, more in (("a", {}), ("b", {"spouse_party_id": {"external_id": "a"}}))]
        return [*upserts, create(**factory.body("parties", spouse_party_id={"external_id": "b"}))]
    done = together(*[lambda n=n: ok(send(own_api.with_(), *operations(n), collection="parties")) for n in range(8)])
    found = {one["external_id"]: one for one in own_api.walk("parties") if "external_id" in one}
    assert found.keys() == {"a", "b"} and found["b"]["spouse_party_id"] == found["a"]["id"]
    for answer in done:
        assert [one["status"] in (200, 201) for one in answer["results"]] == [True] * 3
        assert answer["results"][2]["resource"]["spouse_party_id"] == found["b"]["id"]
