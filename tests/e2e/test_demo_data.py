# SPDX-License-Identifier: Apache-2.0
"""The data that `make demo` loads: the API accepts it, filters find it, and it is consistent."""

import os
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from client import Api, ok
from deployment import TIMEOUT_S, ROOT
from openapi_doc import Document
from factories import NAMES, SERVER, cnpj, cpf
from wait import eventually
from sample_org import ids_in

pytestmark = pytest.mark.slow

TWO_HUNDRED = {"brokers", "properties"}
# The first two digits of each state's postal codes.
POSTAL_CODES = {"SP": range(1, 20), "RJ": range(20, 29), "ES": range(29, 30), "MG": range(30, 40), "BA": range(40, 49),
                "PE": range(50, 57), "CE": range(60, 64), "DF": range(70, 74), "GO": range(72, 77), "PR": range(80, 88),
                "SC": range(88, 90), "RS": range(90, 100)}
# IBGE codes of the states, with which the codes of their municipalities begin.
IBGE_STATES = {"SP": "35", "RJ": "33", "ES": "32", "MG": "31", "BA": "29", "PE": "26", "CE": "23", "DF": "53", "GO": "52",
               "PR": "41", "SC": "42", "RS": "43"}


class Demo:
    """Three organizations with the data of `make demo`. `rows` are those of each organization by collection."""

    def __init__(self, instance, admin_factory):
        tenant, self.instance = admin_factory.tenant(), instance
        first, second, other = (admin_factory.organization(of) for of in (tenant, tenant, None))
        key, other_key = admin_factory.key(first), admin_factory.key(other)
        token = admin_factory.token(admin_factory.user(tenant), first, second)
        self.env = {"NEOAPI_URL": instance.url, "NEOAPI_CA": instance.ca, "NEOAPI_KEY": key.secret, "NEOAPI_ORG": first,
                    "NEOAPI_TOKEN": token.secret, "NEOAPI_ORG_2": second, "NEOAPI_OTHER_KEY": other_key.secret,
                    "NEOAPI_OTHER_ORG": other}
        self.apis = [Api(instance, key), Api(instance, token, second), Api(instance, other_key)]

    def start(self):
        return subprocess.Popen(["/usr/bin/python3", "-B", ROOT / "tests/demo/load.py"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env={**os.environ, **self.env})

    def load(self):
        with self.start() as loader:
            self.said, wrong = loader.communicate(timeout=TIMEOUT_S)
        assert loader.returncode == 0, wrong
        self.rows = self.read()
        return self

    def read(self):
        return [{collection: api.walk(collection, limit=100) for collection in NAMES} for api in self.apis]

    def each(self, collection):
        """Every row of a collection, with all rows of its organization by id."""
        for rows in self.rows:
            others = {row["id"]: row for some in rows.values() for row in some}
            for row in rows[collection]:
                yield row, others

    def all(self, collection):
        return [row for rows in self.rows for row in rows[collection]]


@pytest.fixture(scope="module")
def demo(instance, admin_factory):
    return Demo(instance, admin_factory).load()


@pytest.fixture(scope="module")
def document(instance):
    return Document(instance)


def test_the_demo_has_the_documented_data(demo):
    said = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", demo.said)}
    assert said == {collection: len(demo.all(collection)) for collection in NAMES}
    assert {said[collection] for collection in TWO_HUNDRED} == {200}


def test_loading_the_demo_again_changes_nothing(demo):
    said, rows = demo.said, demo.rows
    demo.load()
    assert (demo.said, demo.rows) == (said, rows)


def test_loading_the_demo_resumes_after_an_interruption(demo, instance, admin_factory):
    other = Demo(instance, admin_factory)
    with other.start() as loader:
        eventually(lambda: len(other.apis[0].walk("contracts", limit=100)) > 10, "some contracts")
        loader.kill()
    assert sum(len(rows["properties"]) for rows in other.read()) < 200
    other.load()
    assert other.said == demo.said
    for rows, wanted in zip(other.rows, demo.rows):
        for collection in NAMES:
            assert sorted(map(essentials, rows[collection])) == sorted(map(essentials, wanted[collection]))


def essentials(row):
    return row.get("external_id") or row["creci"], row.get("status", ""), len(ids_in(same(row)))


def test_every_row_of_the_demo_can_be_sent_back(demo):
    for api, rows in zip(demo.apis, demo.rows):
        every = [(collection, row) for collection, some in rows.items() for row in some]

        def send_back(what):
            collection, row = what
            return ok(api.put(f"{collection}/{row['id']}", json=row))

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(send_back, every))
        for (_, row), answer in zip(every, answers):
            assert same(answer) == same(row)
    for now, before in zip(demo.read(), demo.rows):  # without effects on others
        for collection in NAMES:
            assert [same(row) for row in now[collection]] == [same(row) for row in before[collection]]


def same(row):
    return {name: value for name, value in row.items() if name not in ("updated_at", "updated_by")}


def test_every_reference_of_the_demo_is_kept(demo, instance):
    for rows, api in zip(demo.rows, demo.apis):
        kept = Counter(instance.sql("select source_id, target_id from neoapi.reference where organization_id = %s",
                                    rows["brokers"][0]["organization_id"]))
        every = {row["id"]: row for some in rows.values() for row in some}
        found = Counter((row["id"], target) for row in every.values() for name, value in row.items() if name not in SERVER
                        for target in ids_in(value))
        assert kept == found and {target for _, target in found} <= set(every)


def test_the_demo_has_every_value_of_every_choice(demo, document):
    for collection in NAMES:
        for name, one in document.operation("post", "/" + collection).body["properties"].items():
            one = document.resolve(one)
            choice = set(one.get("enum") or document.resolve(one.get("items", {})).get("enum", [])) - {None}
            found = {value for row in demo.all(collection) for value in members(row, name)} if choice else set()
            assert found == choice or not found, (collection, name)  # a new field need not be in the demo


def test_the_demo_has_proposals_and_contracts_of_every_kind_in_every_state(demo, document):
    for collection in ("proposals", "contracts"):
        properties = document.operation("post", "/" + collection).body["properties"]
        wanted = {(kind, status) for kind in document.resolve(properties["kind"])["enum"]
                  for status in document.resolve(properties["status"])["enum"] if status}
        assert {(row["kind"], row["status"]) for row in demo.rows[0][collection]} == wanted


def test_the_states_of_the_demo_are_consistent(demo):
    for home, others in demo.each("properties"):
        mine = [row for row in others.values() if row.get("property_id") == home["id"]]
        accepted = [row for row in mine if row["id"].startswith("pps_") and row["status"] == "accepted"]
        contracts = {(row["kind"], row["status"]) for row in mine if row["id"].startswith("ctr_")}
        is_sold = contracts & {("sale", "active"), ("sale", "completed")}
        assert (home["status"] == "sold") == bool(is_sold), (home, contracts)
        assert (home["status"] == "rented") == (("rental", "active") in contracts), (home, contracts)
        assert (home["status"] in ("under_contract", "sold", "rented")) == (len(accepted) == 1), (home, accepted)
        assert (home.get("exclusive") is True) == (("exclusive_listing", "active") in contracts), (home, contracts)


def test_the_demos_contracts_follow_their_proposals(demo):
    for contract, others in demo.each("contracts"):
        if "proposal_id" in contract:
            proposal = others[contract["proposal_id"]]
            assert (proposal["status"], proposal["property_id"]) == ("accepted", contract["property_id"])
            assert proposal["amount"] == contract["amount"]
            takers = [one["party_id"] for one in contract["parties"] if one["role"] in ("buyer", "tenant")]
            assert takers == proposal["proponent_ids"]
        owners = [one["party_id"] for one in contract["parties"] if one["role"] in ("seller", "landlord", "owner")]
        assert owners == [one["party_id"] for one in others[contract["property_id"]]["owners"]]
        assert ("signed_at" in contract) == (contract["status"] in ("active", "completed", "terminated", "expired"))
        assert ("terminated_at" in contract) == (contract["status"] == "terminated")


def test_the_demos_couples_refer_to_each_other(demo):
    couples = [(row, others[row["spouse_party_id"]]) for row, others in demo.each("parties") if "spouse_party_id" in row]
    assert couples and all(other["spouse_party_id"] == row["id"] for row, other in couples)


def test_the_demos_tax_numbers_are_valid(demo):
    numbers = {kind: [row["document_number"] for row in demo.all("parties") if row["kind"] == kind]
               for kind in ("person", "company")}
    assert all(number == cpf(int(number[:9])) for number in numbers["person"])
    assert all(number == cnpj(number[:12]) for number in numbers["company"])
    assert {number.isdigit() for number in numbers["company"]} == {True, False}


def ibge_check_digit(code):
    sums = [sum(divmod(int(digit) * (1 + i % 2), 10)) for i, digit in enumerate(code[:6])]
    return str(-sum(sums) % 10)


def test_the_demos_addresses_are_in_municipalities_that_exist(demo):
    addresses = [row["address"] for collection in ("properties", "parties") for row in demo.all(collection)]
    for one in addresses:
        assert one["ibge_code"].startswith(IBGE_STATES[one["state"]]), one
        assert one["ibge_code"][6] == ibge_check_digit(one["ibge_code"]), one
        assert int(one["postal_code"][:2]) in POSTAL_CODES[one["state"]], one
    assert len({one["ibge_code"] for one in addresses}) >= 30 and {one["state"] for one in addresses} == set(IBGE_STATES)


# ---------------------------------------------------------------- filters


def members(row, *path):
    """The values at a path, with all elements of lists."""
    found = [row]
    for name in path:
        found = [one for value in found if name in value
                 for one in (value[name] if isinstance(value[name], list) else [value[name]])]
    return found


# Fields of filters whose names differ.
FIELD_PATHS = {
    "city": ("address", "city"), "state": ("address", "state"), "neighborhood": ("address", "neighborhood"),
    "owner_id": ("owners", "party_id"), "role": ("roles",), "proponent_id": ("proponent_ids",),
    ("contracts", "party_id"): ("parties", "party_id"),
    ("contracts", "broker_id"): ("commission", "splits", "broker_id"), "related_id": ("related", "id"),
    "created": ("created_at",), "updated": ("updated_at",), "expires": ("expires_at",), ("properties", "q"): ("title",),
    "q": ("name",)}


def filtered_values(collection, name, row):
    field = re.sub("_[gl]te$", "", name)
    return members(row, *(FIELD_PATHS.get((collection, field)) or FIELD_PATHS.get(field) or (field,)))


def matches(name, has, value):
    if name.endswith("_gte"):
        return any(one >= value for one in has)
    if name.endswith("_lte"):
        return any(one <= value for one in has)
    return any(value in one for one in has) if name == "q" else value in has


# The filters that find rows of the demo; others can be new.
DEMONSTRATED_FILTERS = {
    "brokers": "creci document_number email visibility q",
    "properties": "code status transaction_type property_type state city neighborhood broker_id owner_id sale_price_gte sale_price_lte"
                  " rent_price_gte rent_price_lte bedrooms_gte q external_id",
    "parties": "kind role document_number email phone q external_id",
    "proposals": "kind status property_id proponent_id broker_id valid_until_lte external_id",
    "contracts": "kind status property_id party_id broker_id number end_date_lte external_id",
    "documents": "kind status related_id expires_lte external_id",
    "leads": "status source phone email property_id party_id broker_id q external_id"}
COMMON_FILTERS = {"created_gte", "created_lte", "updated_gte", "updated_lte"}


@pytest.mark.parametrize("collection", NAMES)
def test_every_filter_finds_the_demos_rows(demo, document, collection):
    api, shown = demo.apis[0], set()
    rows = api.walk(collection, limit=100)
    for place, name in document.operation("get", "/" + collection).parameters:
        having = [row for row in rows if filtered_values(collection, name, row)]
        if place != "query" or not having:
            continue
        shown.add(name)
        for row in having[::max(1, len(having) // 3)]:
            value = filtered_values(collection, name, row)[0]
            wanted = [one["id"] for one in rows if matches(name, filtered_values(collection, name, one), value)]
            assert [one["id"] for one in api.walk(collection, limit=100, **{name: value})] == wanted, (name, value)
    assert shown >= {*DEMONSTRATED_FILTERS[collection].split(), *COMMON_FILTERS}
