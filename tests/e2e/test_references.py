"""References: what they name must exist in the organization when they are written, and cannot be deleted afterwards."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest
from client import Api, ok, refused, wrong_fields
from estate import NAMES, NOBODY, PREFIXES, Estate
from waiting import eventually, together

KINDS = {name: collection for collection, name in NAMES.items()}
# Every place where an id of another resource stands: the collection, its path, and the collection that it refers to.
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
def estate(own):
    return Estate(own)


@pytest.fixture
def stranger(instance, realm):
    return Estate(Api(instance, realm.other))


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


# ---------------------------------------------------------------- what is not there


@every_place
def test_a_reference_to_nothing_is_named_by_its_path(estate, own, collection, path, target):
    body = put(estate.full(collection), path, PREFIXES[target] + NOBODY)
    code = code_of(collection, path, "not_found")
    assert wrong_fields(own.post(collection, json=body)) == {path: code}
    made = estate.create(collection)
    for send in (own.put, own.patch):
        assert wrong_fields(send(f"{collection}/{made['id']}", json=body)) == {path: code}
    assert ok(own.get(f"{collection}/{made['id']}")) == made and own.walk(collection, external_id=body["external_id"]) == []


@every_place
def test_what_another_organization_has_does_not_exist(estate, own, stranger, collection, path, target):
    body = put(estate.full(collection), path, stranger.create(target)["id"])
    assert wrong_fields(own.post(collection, json=body)) == {path: code_of(collection, path, "not_found")}


@every_place
@pytest.mark.parametrize("wrong", ["", "x", 5, None, {}, [], True, "{prefix}", "brk_" + NOBODY[:-1], "BRK_" + NOBODY,
                                   "doc_" + NOBODY, "org_" + NOBODY, "{prefix}" + "u" * 26, "a\"},{\\"], ids=str)
def test_what_is_no_id_of_the_kind_is_refused(estate, own, collection, path, target, wrong):
    if isinstance(wrong, str):
        wrong = wrong.replace("{prefix}", PREFIXES[target])
    response = own.post(collection, json=put(estate.full(collection), path, wrong))
    if response.status_code == 201:  # null is no value
        assert wrong is None
        return
    at = wrong_fields(response)
    assert set(at) <= {path, re.sub(r"\[\d+\]$", "", path)}, at
    assert set(at.values()) <= {code_of(collection, path, "invalid"), code_of(collection, path, "required")}, at


def test_an_id_of_a_kind_that_the_type_does_not_name_is_refused(estate, own):
    for kind, collection in KINDS.items():
        if kind == "document":
            continue
        id = estate.create(collection)["id"]
        body = estate.body("documents", related={"type": kind, "id": id})
        ok(own.post("documents", json=body), 201)
        other = "party" if kind != "party" else "broker"
        assert wrong_fields(own.post("documents", json={**body, "related": {"type": other, "id": id}})) == {
            "related.id": "validation.document.related_id_invalid"}
    assert wrong_fields(own.post("documents", json={**body, "related": {"type": "document", "id": "doc_" + NOBODY}})) == {
        "related.type": "validation.document.related_type_invalid"}


def test_everything_that_is_missing_is_named_at_once(estate, own):
    party, broker = "pty_" + NOBODY, "brk_" + NOBODY
    body = {**estate.full("contracts"), "property_id": "prp_" + NOBODY, "proposal_id": "pps_" + NOBODY}
    body["parties"] = [{"party_id": party, "role": "buyer"}, body["parties"][0], {"party_id": party, "role": "seller"}]
    body["commission"] = {"splits": [{"broker_id": broker, "bps": 10000}]}
    wrong = ["property_id", "proposal_id", "parties[0].party_id", "parties[2].party_id", "commission.splits[0].broker_id"]
    response = own.post("contracts", json=body)
    assert wrong_fields(response) == {path: code_of("contracts", path, "not_found") for path in wrong}
    assert response.json()["code"] == "validation.failed"


def test_a_reference_may_be_its_own(estate, own):
    party = estate.party()
    path = "parties/" + party["id"]
    assert ok(own.patch(path, json={"spouse_party_id": party["id"]}))["spouse_party_id"] == party["id"]
    ok(own.delete(path), 204)


def test_a_repeated_create_is_answered_again_when_what_it_names_is_gone(estate, own):
    party, key = estate.party(), {"Idempotency-Key": str(uuid.uuid4())}
    body = estate.body("parties", spouse_party_id=party["id"])
    first = own.post("parties", json=body, headers=key)
    ok(own.patch("parties/" + ok(first, 201)["id"], json={"spouse_party_id": None}))
    ok(own.delete("parties/" + party["id"]), 204)
    again = own.post("parties", json=body, headers=key)
    assert again.status_code == 201 and again.text == first.text and again.headers["Idempotent-Replayed"] == "true"


# ---------------------------------------------------------------- what is referred to


@every_place
def test_what_is_referred_to_cannot_be_deleted(estate, own, collection, path, target):
    made = ok(own.post(collection, json=estate.full(collection)), 201)
    id = get(made, path)
    problem = refused(own.delete(f"{target}/{id}"), 409, "conflict.in_use")
    assert re.search(rf"\b{NAMES[target]} cannot be deleted while a {NAMES[collection]} refers to it", problem["detail"]) or (
        collection == "contracts" and "a proposal and a contract refer to it" in problem["detail"])
    ok(own.get(f"{target}/{id}"))


@every_place
def test_what_is_no_longer_referred_to_can_be_deleted(estate, own, collection, path, target):
    for way in ("patch", "put", "delete"):
        body = estate.full(collection)
        made = ok(own.post(collection, json=body), 201)
        id, other = get(made, path), estate.create(target)["id"]
        if way == "delete":
            ok(own.delete(f"{collection}/{made['id']}"), 204)
        else:
            ok(own.request(way.upper(), f"{collection}/{made['id']}", json=put(body, path, other)))
            refused(own.delete(f"{target}/{other}"), 409, "conflict.in_use")
        for proposal in own.walk("proposals", property_id=id) if target == "properties" else []:
            ok(own.patch("proposals/" + proposal["id"], json={"property_id": other}))
        ok(own.delete(f"{target}/{id}"), 204)


def test_the_detail_names_every_kind_that_refers(estate, own):
    broker = estate.broker()
    path = "brokers/" + broker["id"]
    said = []
    for collection, fields in (("documents", {"related": {"type": "broker", "id": broker["id"]}}),
                               ("parties", {"broker_id": broker["id"]}), ("properties", {"broker_id": broker["id"]})):
        estate.create(collection, **fields)
        said.append(refused(own.delete(path), 409, "conflict.in_use")["detail"])
    assert said == ["The broker cannot be deleted while a document refers to it.",
                    "The broker cannot be deleted while a party and a document refer to it.",
                    "The broker cannot be deleted while a property, a party and a document refer to it."]


def test_a_shorter_list_leaves_no_reference_behind(estate, own):
    parties = [estate.party()["id"] for _ in range(3)]
    made = estate.proposal(proponent_ids=parties)
    ok(own.patch("proposals/" + made["id"], json={"proponent_ids": parties[2:]}))
    for id in parties[:2]:
        ok(own.delete("parties/" + id), 204)
    refused(own.delete("parties/" + parties[2]), 409, "conflict.in_use")


def test_a_document_that_is_about_something_else_lets_go_of_it(estate, own):
    property, party = estate.property(), estate.party()
    made = estate.document(related={"type": "property", "id": property["id"]})
    ok(own.patch("documents/" + made["id"], json={"related": {"type": "party", "id": party["id"]}}))
    ok(own.delete("properties/" + property["id"]), 204)
    refused(own.delete("parties/" + party["id"]), 409, "conflict.in_use")


def test_references_are_of_the_organization(instance, estate, own, make):
    """The same id in another organization's table is another resource: by hand, because no two ids are ever the same."""
    party = estate.party()
    other = Estate(Api(instance, make.key()))
    strange = other.party(spouse_party_id=other.party()["id"])
    organization = other.api.credential.organizations[0]
    instance.sql("insert into neoapi.party select (p).* from (select jsonb_populate_record(p, jsonb_build_object("
                 "'organization_id', %s)) p from neoapi.party p where id = %s) x", organization, party["id"])
    ok(other.api.patch("parties/" + strange["id"], json={"spouse_party_id": party["id"]}))
    ok(own.delete("parties/" + party["id"]), 204)
    refused(other.api.delete("parties/" + party["id"]), 409, "conflict.in_use")


# ---------------------------------------------------------------- at the same time


def test_of_a_reference_and_a_deletion_at_once_one_wins(estate, own, instance):
    for _ in range(12):
        party = estate.party()
        body = estate.body("parties", spouse_party_id=party["id"])
        made, deleted = together(lambda: own.with_().post("parties", json=body),
                                 lambda: own.with_().delete("parties/" + party["id"]))
        if deleted.status_code == 204:
            assert wrong_fields(made) == {"spouse_party_id": "validation.party.spouse_party_id_not_found"}
        else:
            assert "a party refers to it" in refused(deleted, 409, "conflict.in_use")["detail"] and made.status_code == 201
    assert instance.sql("select count(*) from neoapi.reference r where source_id like 'pty%' and not exists"
                        " (select from neoapi.party p where p.id = r.source_id)") == [(0,)]


def while_open(instance, sql, values, request):
    """The answer to a request that waits for a transaction, which commits once it does."""
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
def test_what_is_deleted_while_it_is_being_referred_to_is_not_found(estate, own, instance, way):
    party, made = estate.party(), estate.party()
    body = estate.body("parties", spouse_party_id=party["id"])
    path = "parties" if way == "post" else "parties/" + made["id"]
    response = while_open(instance, "delete from neoapi.party where id = %s", [party["id"]],
                          lambda: own.request(way.upper(), path, json=body))
    assert wrong_fields(response) == {"spouse_party_id": "validation.party.spouse_party_id_not_found"}


@pytest.mark.parametrize("collection", ["brokers", "parties"])
def test_what_is_referred_to_while_it_is_being_deleted_is_in_use(estate, own, instance, collection):
    target = estate.create(collection)
    response = while_open(instance, "insert into neoapi.reference (organization_id, source_id, path, target_id)"
                          " values (%s, 'prp_' || %s, 'x', %s)", [target["organization_id"], NOBODY, target["id"]],
                          lambda: own.delete(f"{collection}/{target['id']}"))
    assert "a property refers to it" in refused(response, 409, "conflict.in_use")["detail"]
    ok(own.get(f"{collection}/{target['id']}"))
    instance.sql("delete from neoapi.reference where target_id = %s", target["id"])
    ok(own.delete(f"{collection}/{target['id']}"), 204)


def test_puts_and_deletions_at_once_leave_no_reference_of_what_is_gone(estate, own, instance):
    parties = [estate.party()["id"] for _ in range(4)]
    for _ in range(6):
        made = estate.party()
        path = "parties/" + made["id"]
        together(*[lambda id=id: own.with_().put(path, json=estate.body("parties", spouse_party_id=id)) for id in parties],
                 lambda: own.with_().delete(path))
        left = own.get(path)
        found = instance.sql("select target_id from neoapi.reference where source_id = %s", made["id"])
        assert found == ([(left.json()["spouse_party_id"],)] if left.status_code == 200 else [])


def test_many_puts_at_once_leave_the_references_of_the_last(estate, own, instance):
    parties = [estate.party()["id"] for _ in range(8)]
    made = estate.proposal()
    path = "proposals/" + made["id"]

    def replace(n):
        ok(own.with_().patch(path, json={"proponent_ids": parties[n:], "recipient_ids": parties[:n] or None}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(replace, list(range(7)) * 3))
    now = ok(own.get(path))
    wanted = {**{f"proponent_ids[{n}]": id for n, id in enumerate(now["proponent_ids"])},
              **{f"recipient_ids[{n}]": id for n, id in enumerate(now.get("recipient_ids", []))},
              "property_id": made["property_id"]}
    assert dict(instance.sql("select path, target_id from neoapi.reference where source_id = %s", made["id"])) == wanted
