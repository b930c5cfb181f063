# SPDX-License-Identifier: Apache-2.0
"""Documents: validation and filters."""

import pytest
from client import Api, ok, wrong_fields
from factories import FILE, UNKNOWN_ULID, ResourceFactory

KINDS = ["matricula", "encumbrance_certificate", "tax_clearance", "condo_clearance", "cndt", "protest_certificate",
         "civil_actions",
         "iptu_bill", "habite_se", "floor_plan", "rg", "cpf", "cnh", "marriage_certificate", "birth_certificate",
         "proof_of_address", "proof_of_income", "articles_of_association", "power_of_attorney", "proposal", "contract", "deed",
         "inspection_report", "other"]


@pytest.fixture
def factory(own_api):
    return ResourceFactory(own_api)


@pytest.fixture
def post(own_api, factory):
    related = {"type": "party", "id": factory.party()["id"]}
    return lambda **fields: own_api.post("documents", json={**factory.body("documents", related=related), **fields})


def invalid(response, *paths, what="invalid"):
    found = wrong_fields(response)
    assert set(found) == set(paths) and all(code.endswith("_" + what) for code in found.values()), found


def test_every_kind_is_accepted(post):
    for kind in KINDS:
        assert ok(post(kind=kind), 201)["kind"] == kind


def test_a_file_needs_only_a_url(post):
    for name in set(FILE) - {"url"}:
        assert name not in ok(post(file={**FILE, name: None}), 201)["file"]
    invalid(post(file={**FILE, "url": None}), "file.url", what="required")


@pytest.mark.parametrize("name, right, wrong", [
    ("url", ["https://files.example.com/a?b=c#d"], ["http://files.example.com/a", "file:///etc/passwd", "x", "", 5]),
    ("filename", ["matrícula 187.442.pdf"], ["", "x" * 256, "a\nb"]),
    ("mime_type", ["application/pdf", "image/svg+xml"], ["pdf", "text/plain; charset=utf-8", "/"]),
    ("size", [0, 2**53 - 1], [-1, 1.5, "5", 2**53]), ("sha256", ["0" * 64], ["0" * 63, "0" * 65, "g" * 64, "0x" + "0" * 62])])
def test_a_file_is_validated(post, name, right, wrong):
    for value in right:
        assert ok(post(file={**FILE, name: value}), 201)["file"][name] == value
    for value in wrong:
        invalid(post(file={**FILE, name: value}), "file." + name)


def test_a_digest_is_stored_in_lower_case(post):
    assert ok(post(file={**FILE, "sha256": FILE["sha256"].upper()}), 201)["file"] == FILE


def test_a_document_refers_to_a_resource_by_type_and_id(post, factory):
    party = factory.party()["id"]
    invalid(post(related={"id": party}), "related.type", what="required")
    invalid(post(related={"type": "party"}), "related.id", what="required")
    invalid(post(related={"type": "lead", "id": party}), "related.type")
    invalid(post(related=party), "related")


@pytest.mark.parametrize("field, right, wrong", [
    ("kind", [], ["passport", "Deed", 5]), ("title", ["é" * 200], ["x" * 201, ""]), ("number", ["12/2026"], ["x" * 101]),
    ("issuer", ["14º Oficial"], ["x" * 201]), ("issued_at", ["2026-01-31T13:45:10.123Z", "1965-03-20T12:30:00.000Z", "1800-01-01T00:00:00.000Z"],
                                           ["2026-01-31", "x", "1799-12-31T23:59:59.999Z"]),
    ("expires_at", ["2099-01-31T13:45:10.000Z"], ["soon", 5]), ("status", ["pending", "valid", "rejected", "expired"], ["ok"])])
def test_every_field_is_validated(post, field, right, wrong):
    for value in right:
        assert ok(post(**{field: value}), 201)[field] == value
    for value in wrong:
        invalid(post(**{field: value}), field)


# ---------------------------------------------------------------- filters


@pytest.fixture(scope="module")
def sample_documents(instance, admin_factory, principals):
    api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
    factory = ResourceFactory(api)
    n = api.names = {"flat": factory.property()["id"], "ana": factory.party()["id"], "bia": factory.party()["id"]}
    made = {
        "a": {"related": {"type": "property", "id": n["flat"]}, "kind": "deed", "expires_at": "2026-03-01T12:00:00Z"},
        "b": {"related": {"type": "property", "id": n["flat"]}, "kind": "cndt", "status": "valid", "external_id": "x"},
        "c": {"related": {"type": "party", "id": n["ana"]}, "kind": "rg", "expires_at": "2026-04-01T12:00:00Z"},
        "d": {"related": {"type": "party", "id": n["bia"]}, "kind": "cnh", "status": "expired", "expires_at": "1965-03-20T12:30:00Z"},
    }
    api.ids = {factory.document(**fields)["id"]: name for name, fields in made.items()}
    return api


@pytest.mark.parametrize("params, names", [
    ({"kind": "deed,rg"}, "ac"), ({"kind": "cpf"}, ""), ({"status": "pending"}, "ac"), ({"status": "valid,expired"}, "bd"),
    ({"related_id": "flat"}, "ab"), ({"related_id": "ana"}, "c"), ({"related_id": "bia"}, "d"),
    ({"related_id": "ctr_" + UNKNOWN_ULID}, ""),
    ({"related_id": "doc_" + UNKNOWN_ULID}, ""), ({"related_id": "x"}, ""), ({"expires_lte": "2026-03-01T12:00:00Z"}, "ad"),
    ({"expires_lte": "2026-03-01T09:00:00.001-03:00"}, "ad"), ({"expires_lte": "2026-03-01T11:59:59.999Z"}, "d"),
    ({"expires_lte": "1965-03-20T09:30:00-03:00"}, "d"), ({"expires_lte": "1965-03-20T12:29:59.999Z"}, ""),
    ({"external_id": "x"}, "b"), ({"related_id": "flat", "status": "pending"}, "a")])
def test_filters_find(sample_documents, params, names):
    params = {name: sample_documents.names.get(value, value) for name, value in params.items()}
    whole = [sample_documents.ids[item["id"]] for item in sample_documents.walk("documents", **params)]
    paged = [sample_documents.ids[item["id"]] for item in sample_documents.walk("documents", limit=1, **params)]
    assert whole == paged == sorted(names, reverse=True)


def test_a_filter_takes_several_related_ids(sample_documents):
    several = ",".join([*sample_documents.names.values(), "brk_" + UNKNOWN_ULID])
    found = [sample_documents.ids[item["id"]] for item in sample_documents.walk("documents", related_id=several)]
    assert found == ["d", "c", "b", "a"]


@pytest.mark.parametrize("name, value",
                         [("kind", "passport"), ("status", "ok"), ("expires_lte", "2026-03-01"), ("related_id", "")])
def test_invalid_filter_values_are_refused(sample_documents, name, value):
    assert wrong_fields(sample_documents.get("documents", params={name: value})) == {name: "validation.parameter_invalid"}
