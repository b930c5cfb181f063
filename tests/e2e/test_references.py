# SPDX-License-Identifier: Apache-2.0
"""References: their targets must exist in the organization when they are written, and cannot be deleted afterwards."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest
from client import Api, ok, refused, wrong_fields
from factories import NAMES, PREFIXES, UNKNOWN_ULID, ResourceFactory
from wait import eventually, together

KINDS = {name: collection for collection, name in NAMES.items()}
# Every place for an id of another resource: the collection, its path, and the collection that it refers to.
PLACES = [
    ("properties", "owners[1].party_id", "parties"), ("properties", "broker_id", "brokers"),
    ("parties", "spouse_party_id", "parties"), ("parties", "legal_representatives[0].party_id", "parties"),
    ("parties", "broker_id", "brokers"),
    ("proposals", "property_id", "properties"), ("proposals", "proponent_ids[1]", "parties"),
    ("proposals", "recipient_ids[0]", "parties"), ("proposals", "broker_id", "brokers"),
    ("contracts", "property_id", "properties"), ("contracts", "proposal_id", "proposals"),
    ("contracts", "parties[1].party_id", "parties"), ("contracts", "guarantee.party_id", "parties"),
    ("contracts", "commission.splits[0].broker_id", "brokers"), ("documents", "related.id", "parties"),
]
every_place = pytest.mark.parametrize("collection, path, target", PLACES, ids=[f"{c}.{p}" for c, p, _ in PLACES])


@pytest.fixture
def factory(own_api):
    return ResourceFactory(own_api)


@pytest.fixture
def other_factory(instance, principals):
    return ResourceFactory(Api(instance, principals.other))


def steps_of(path):
    return [int(step) if step.isdigit() else step for step in re.findall(r"[a-z_]+|\d+", path)]


def put(body, path, value):
    """A body with something else at a path."""
    first, *rest = steps_of(path) if isinstance(path, str) else path
    if isinstance(body, list):
        return [(put(one, rest, value) if rest else value) if n == first else one for n, one in enumerate(body)]
    return {**body, first: put(body[first], rest, value) if rest else value}


def get(body, path):
    for step in steps_of(path):
        body = body[step]
    return body


def code_of(collection, path, what):
    field = re.sub(r"\[\d+\]", "", path).replace(".", "_")
    return f"validation.{NAMES[collection]}.{field}_{what}"


# ---------------------------------------------------------------- missing resources


@every_place
def test_a_reference_to_a_missing_resource_is_named_by_its_path(factory, own_api, collection, path, target):
    body = put(factory.full(collection), path, PREFIXES[target] + UNKNOWN_ULID)
    code = code_of(collection, path, "not_found")
    assert wrong_fields(own_api.post(collection, json=body)) == {path: code}
    made = factory.create(collection)
    for send in (own_api.put, own_api.patch):
        assert wrong_fields(send(f"{collection}/{made['id']}", json=body)) == {path: code}
    assert ok(own_api.get(f"{collection}/{made['id']}")) == made and own_api.walk(collection,
                                                                                  external_id=body["external_id"]) == []


@every_place
def test_a_reference_to_another_organizations_resource_is_not_found(factory, own_api, other_factory, collection, path, target):
    body = put(factory.full(collection), path, other_factory.create(target)["id"])
    assert wrong_fields(own_api.post(collection, json=body)) == {path: code_of(collection, path, "not_found")}


@every_place
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
    assert set(at.values()) <= {code_of(collection, path, "invalid"), code_of(collection, path, "required")}, at


def test_an_id_of_a_kind_that_the_type_does_not_name_is_refused(factory, own_api):
    for kind, collection in KINDS.items():
        if kind == "document":
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
    assert wrong_fields(response) == {path: code_of("contracts", path, "not_found") for path in wrong}
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


@every_place
def test_a_referenced_resource_cannot_be_deleted(factory, own_api, collection, path, target):
    made = ok(own_api.post(collection, json=factory.full(collection)), 201)
    id = get(made, path)
    problem = refused(own_api.delete(f"{target}/{id}"), 409, "conflict.in_use")
    assert re.search(rf"\b{NAMES[target]} cannot be deleted while a {NAMES[collection]} refers to it", problem["detail"]) or (
        collection == "contracts" and "a proposal and a contract refer to it" in problem["detail"])
    ok(own_api.get(f"{target}/{id}"))


def other_target(factory, own_api, body, path, target):
    """Another resource that the body may refer to; the proposal of a contract must be accepted and match it."""
    if path != "proposal_id":
        return factory.create(target)["id"]
    ok(own_api.patch("properties/" + body["property_id"], json={"status": "active"}))
    return factory.accepted(property_id=body["property_id"], kind="rental")["id"]


@every_place
def test_a_resource_without_references_can_be_deleted(factory, own_api, collection, path, target):
    for way in ("patch", "put", "delete"):
        body = factory.full(collection)
        if (collection, path) == ("contracts", "property_id"):  # with a proposal it keeps the proposal's property
            ok(own_api.delete("proposals/" + body.pop("proposal_id")), 204)
        made = ok(own_api.post(collection, json=body), 201)
        id, other = get(made, path), other_target(factory, own_api, body, path, target)
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
    for collection, fields in (("documents", {"related": {"type": "broker", "id": broker["id"]}}),
                               ("parties", {"broker_id": broker["id"]}), ("properties", {"broker_id": broker["id"]})):
        ids.insert(0, factory.create(collection, **fields)["id"])
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


def test_a_shorter_list_leaves_no_reference_behind(factory, own_api):
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
    """The same id in another organization is another resource. It is inserted with SQL, because the service never reuses an
    id."""
    party = factory.party()
    other = ResourceFactory(Api(instance, admin_factory.key()))
    strange = other.party(spouse_party_id=other.party()["id"])
    organization = other.api.credential.organizations[0]
    instance.sql("insert into neoapi.party select (p).* from (select jsonb_populate_record(p, jsonb_build_object("
                 "'organization_id', %s)) p from neoapi.party p where id = %s) x", organization, party["id"])
    ok(other.api.patch("parties/" + strange["id"], json={"spouse_party_id": party["id"]}))
    ok(own_api.delete("parties/" + party["id"]), 204)
    refused(other.api.delete("parties/" + party["id"]), 409, "conflict.in_use")


# ---------------------------------------------------------------- at the same time


def test_of_a_concurrent_reference_and_deletion_one_succeeds(factory, own_api, instance):
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
    """The response to a request that waits for a transaction, which commits as soon as the request waits."""
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


def test_many_puts_at_once_leave_the_references_of_the_last(factory, own_api, instance):
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
