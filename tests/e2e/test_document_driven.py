# SPDX-License-Identifier: Apache-2.0
"""Sends valid and invalid requests that are generated from the OpenAPI document to every operation. This module names no
resource.

NEOAPI_TEST_SEED is the random seed (a number, or `random`; default 1), NEOAPI_TEST_EXAMPLES the number of requests for each
member of a body.
"""

import json
import os
import random
import re
import zlib
from collections import Counter
from fnmatch import fnmatchcase
from math import isclose
from urllib.parse import quote

import hypothesis
import pytest

from contract_requests import Target, ResponseCoverage, failures
from client import Api, ok
from deployment import BUILD
from factories import NAMES
from openapi_doc import NDJSON, Document, has_format, has_pattern
from generate import Generator, get, put, path_text
from hypothesis import strategies as st
from sample_org import UNREACHABLE_URL, SampleOrg

pytestmark = pytest.mark.slow

hypothesis.configuration.set_hypothesis_home_dir(BUILD / "e2e" / "hypothesis")
SEED = os.environ.get("NEOAPI_TEST_SEED") or "1"
SEED = random.randrange(2**32) if SEED == "random" else int(SEED)
EXAMPLES = int(os.environ.get("NEOAPI_TEST_EXAMPLES") or 3)
SETTINGS = hypothesis.settings(deadline=None, database=None, phases=[hypothesis.Phase.generate],
                               suppress_health_check=list(hypothesis.HealthCheck))
# Codes of bodies that match the schema: values that a schema cannot check, and members that are required by others.
SEMANTIC = re.compile(r"validation\.[a-z]+\.[a-z0-9_]+_(invalid|required)")


@pytest.fixture(scope="module")
def document(instance):
    return Document(instance)


@pytest.fixture(scope="module")
def sample_orgs(instance, admin_factory, document):
    """sample_orgs(collection) is a SampleOrg in a separate organization, with an org_admin's key."""
    made = {}

    def sample_org(collection):
        if collection not in made:
            made[collection] = SampleOrg(document, Api(instance, admin_factory.key()))
        return made[collection]

    return sample_org


def explore(what, strategy, check, examples=EXAMPLES):
    """Calls check with values of the strategy. Returns the first error, or None."""
    wrong = []

    @hypothesis.seed(zlib.crc32(f"{SEED} {what}".encode()))
    @hypothesis.settings(SETTINGS, max_examples=examples)
    @hypothesis.given(strategy)
    def run(value):
        try:
            check(value)
        except AssertionError as error:
            wrong.append(f"{what} (NEOAPI_TEST_SEED={SEED}): {error}")
            raise

    try:
        run()
    except Exception as error:
        return (wrong or [f"{what}: {error!r}"])[0]
    return None


def report(wrong):
    """Fails with all errors."""
    wrong = [one for one in wrong if one]
    assert not wrong, "\n\n" + "\n\n".join(wrong)


def with_bodies(document, sample_orgs):
    """The operations with a body, each with its number of examples per member, which is higher for creates."""
    for operation in document.operations:
        if operation.bodies:
            sample_org = sample_orgs(operation.collection)
            target = Target(operation, sample_org)
            examples = EXAMPLES if operation.method == "post" and target.is_whole else max(1, EXAMPLES // 2)
            yield operation, Generator(document, sample_org.ids), target, examples


# ---------------------------------------------------------------- bodies


def check_accepted(response, is_whole, said):
    """Checks that a valid body was accepted, or refused by a rule that a schema cannot express, and returns which. A batch may
    delete a resource before changing it, or require an ETag that the resource does not have. The provider of these tests knows no
    template, so that its header and buttons cannot be sent."""
    for problem in failures(response):
        if problem["status"] == 400:
            for item in problem.get("errors", [problem]):
                assert SEMANTIC.fullmatch(item["code"]), f"valid, but refused as malformed: {said}"
        elif problem["code"] != "internal.provider_unavailable":
            assert problem["status"] == 409 or problem["status"] in (404, 412) and not is_whole, said
    return not failures(response)


def is_plain(schema):
    """Whether every value of the schema is valid."""
    return "enum" in schema or schema.get("type") in ("string", "boolean") and not has_format(schema)


def test_valid_bodies_are_never_refused_as_malformed(document, sample_orgs):
    """And each member of a resource that can have any value of its type is accepted with one."""
    wrong, taken = [], Counter()
    for operation, generator, target, examples in with_bodies(document, sample_orgs):
        for name, among in target.places(generator).items():
            changed = generator.changed(among[:8])

            def check(value):
                place, body = value
                hypothesis.assume(document.accepts(body, operation.body))  # not if an item is now duplicate
                if target.is_whole and operation.method != "patch":
                    body = target.sample_org.varied(operation.collection, body, keep=place.path[0])
                response = target.ask(body)
                said = f"{json.dumps(body, ensure_ascii=False)[:2000]} got {response.status_code} {response.text[:2000]}"
                if check_accepted(response, target.is_whole, said):
                    taken[operation, name] += 1
                    assert not target.is_whole or is_kept(place, body, response.json()), f"stored differently: {said}"
                else:
                    target.ids = None  # the next request uses a new resource
                    fields = [item["field"] for problem in failures(response) for item in problem.get("errors", [])]
                    assert not (is_plain(place.schema) and path_text(place.path) in fields), f"every value is valid, but refused: {said}"

            wrong.append(explore(f"{operation}, {name}", changed, check, examples))
            if not taken[operation, name] and not wrong[-1] and target.is_whole and name in operation.body["properties"]:
                wrong.append(explore(f"{operation}, {name}, again", changed, check, 30))
                if not taken[operation, name] and not has_pattern(among[0][1].schema):
                    wrong.append(f"{operation}: no {name} is accepted, whatever its value")
    report(wrong)


def members(text):
    """The members of a JSON object as it is written: names and texts of the values."""
    decoder, at, found = json.JSONDecoder(), 1, {}
    while text[at - 1] != "}":
        name, at = decoder.raw_decode(text, at)
        _, end = decoder.raw_decode(text, at + 1)
        found[name], at = text[at + 1:end], end + 1
    return found


def test_the_module_makes_the_texts_that_the_triggers_make(instance, document, sample_orgs):
    """In the representations of new rows, and in their events, with any values, alone and in batches."""
    for operation, generator, target, examples in with_bodies(document, sample_orgs):
        for name, among in target.places(generator).items() if operation.method == "post" else ():
            def send(value):
                body = value[1]
                target.ask(target.sample_org.varied(operation.collection, body) if target.is_whole else body)

            explore(f"{operation}, {name}", generator.changed(among[:8]), send, examples)
    for table in NAMES.values():
        made = instance.sql(
            f"with again as (update neoapi.{table} set id = id returning id, representation)"
            " select o.representation, again.representation, e.payload"
            f" from neoapi.{table} o join again on again.id = o.id left join neoapi.event e on e.resource_id = o.id"
            " and e.type like '%.created' and o.updated_at = o.created_at")
        assert len(made) > 30 and any(payload for *_, payload in made)
        for stored, again, payload in made:
            assert stored == again
            shown = members(payload or stored)
            assert (payload or stored) == "{" + ",".join(f'"{name}":{text}' for name, text in members(stored).items() if name in shown) + "}"


def is_kept(place, body, answer):
    """Whether the response has the sent value; true for values that the service normalizes."""
    try:
        value = get(body, place.path)
    except (KeyError, IndexError):
        return True  # it was left out
    if not isinstance(value, (str, int, float)) or isinstance(value, str) and has_format(place.schema):
        return True
    found = get(answer, place.path)
    return found == value or isinstance(value, float) and isclose(found, value, rel_tol=1e-14)


def names(problem, path):
    """Whether a problem names the path, its parent or a member of it. Problems of a batch operation have the paths of a single
    request, unless the operation is malformed, and an invalid id is not found."""
    fields = [item["field"] for item in problem.get("errors", [])]
    if "index" in problem and not any(one.startswith("operations[") for one in fields):
        about, path = path[:3], path[3:]
        if about[1] != problem["index"] or not path:
            return about[1] == problem["index"] and problem["status"] == (404 if about[2] == "id" else 400)
    said = path_text(path)
    return problem["status"] == 400 and any(
        said == one or said.startswith((one + ".", one + "[")) or one.startswith((said + ".", said + "[")) for one in fields)


def test_invalid_bodies_are_refused_with_the_path_of_the_error(document, sample_orgs):
    wrong = []
    for operation, generator, target, examples in with_bodies(document, sample_orgs):
        for name, [(base, place), *_] in target.places(generator).items():
            every = st.sampled_from(list(generator.invalid_bodies(base, place))).filter(
                lambda one: not document.accepts(one.body, operation.body))

            def check(one):
                path, how, body = one
                response = target.ask(body)
                problems = failures(response)
                said = f"{path_text(path)} is wrong ({how}): {str(body)[:1000]} got {response.status_code} {response.text[:1000]}"
                assert problems, f"invalid, but accepted: {said}"
                assert any(names(problem, path) for problem in problems), f"the error does not name it: {said}"

            wrong.append(explore(f"{operation}, {name}", every, check, examples))
    report(wrong)


NUMBERS = ["1.0", "1e3", "100.5", "1E+2", "9007199254740993", "-9007199254740993", "1e400", '"100"', "18446744073709551616"]


def test_an_amount_is_written_as_an_integer(document, sample_orgs):
    """Although 1.0 is an integer in JSON Schema."""
    wrong = []
    for operation, generator, target, examples in with_bodies(document, sample_orgs):
        for name, [(base, place), *_] in target.places(generator).items():
            if "integer" not in json.dumps(place.schema.get("type")):
                continue

            def check(number):
                body = json.dumps(put(base, place.path, "@number@")).replace('"@number@"', number)
                response = target.ask(body.encode())
                assert any(names(problem, place.path) for problem in failures(response)), f"{body} got {response.text}"

            wrong.append(explore(f"{operation}, {name}", st.sampled_from(NUMBERS), check, examples))
    report(wrong)


def test_a_created_resource_can_be_read_and_sent_back(document, sample_orgs):
    """All resources that earlier tests have created from generated bodies."""
    for collection in document.collections:
        sample_org = sample_orgs(collection)
        read, replace = (document.operation(method, f"/{collection}/{{id}}") for method in ("get", "put"))
        listed = ok(sample_org.api.get(collection, params={"limit": 100}))["items"]
        assert listed
        for one in listed:
            answer = sample_org.api.get(f"{collection}/{one['id']}")
            read.check(answer)
            assert ok(answer) == one
            again = sample_org.api.put(f"{collection}/{one['id']}", json=one)
            replace.check(again)
            assert {**ok(again), "updated_at": 0, "updated_by": 0} == {**one, "updated_at": 0, "updated_by": 0}


# ---------------------------------------------------------------- lists


# Parameters of operations that are no lists: one resource, sums, and public keys.
NO_LIST = {"fields", "from", "to", "credential_id", "organization_id"}


def lists(document, sample_orgs):
    for operation in document.operations:
        parameters = [one for (where, _), one in operation.parameters.items() if where == "query"]
        if operation.method == "get" and {one["name"] for one in parameters} - NO_LIST and operation.path != "/subjects":
            sample_org = sample_orgs(operation.collection)
            yield operation, parameters, Generator(document, sample_org.ids), Target(operation, sample_org)


# Parameters whose valid values only the server knows, and one that makes the request wait.
UNKNOWN = {"cursor", "after", "wait"}


def required_by(parameter):
    """The query that the description of a parameter requires."""
    return "order=asc&" if parameter["description"].startswith("With `order=asc`") else ""


def written(value):
    """A value as a query parameter. It must not contain a comma, which separates values."""
    if isinstance(value, list):
        return ",".join(quote(str(one).replace(",", ";"), safe="") for one in value)
    return quote(str(value).lower() if isinstance(value, bool) else str(value), safe="")


def query(values):
    return "?" + "&".join(f"{name}={written(value)}" for name, value in values.items()) if values else ""


def read_items(response):
    """The items of a page or an export."""
    if response.headers["Content-Type"] == NDJSON:
        return [json.loads(line) for line in response.content.splitlines()]
    return ok(response)["items"]


@st.composite
def queries(draw, generator, parameters):
    """Up to three parameters with valid values. `fields` always includes the id."""
    asked = draw(st.lists(st.sampled_from([one for one in parameters if one["name"] not in {*UNKNOWN, "fields"}]), max_size=3, unique_by=str))
    return {one["name"]: draw(generator.values(one["schema"])) for one in asked}


def test_lists_accept_described_parameters_and_end(document, sample_orgs):
    wrong = []
    for operation, parameters, generator, target in lists(document, sample_orgs):
        def check(asked):
            url, seen = target.path() + query(asked), []
            for _ in range(3):
                answer = target.ask(path=url)
                items = read_items(answer)
                seen += [one["id"] for one in items]
                assert len(set(seen)) == len(seen), (asked, seen)
                if answer.headers["Content-Type"] == NDJSON:
                    break
                page = ok(answer)
                assert len(items) <= asked.get("limit", 25), (asked, seen)
                assert page["page_info"]["has_next_page"] == ("next" in answer.links), (asked, answer.headers)
                if not page["page_info"]["has_next_page"]:
                    break
                url = answer.links["next"]["url"]

        wrong.append(explore(operation, queries(generator, parameters), check, 4 * EXAMPLES))
        for parameter in parameters:
            def check_one(value):
                found = read_items(target.ask(path=target.path() + query({parameter["name"]: value})))
                if "enum" in parameter["schema"].get("items", {}):
                    shown = [item.get(parameter["name"], value[0]) for item in found]
                    assert all(any(fnmatchcase(str(one).lower() if isinstance(one, bool) else one, asked) for asked in value) for one in shown), (value, found)

            if parameter["name"] not in UNKNOWN:
                wrong.append(explore(f"{operation}?{parameter['name']}", generator.values(parameter["schema"]), check_one))
    report(wrong)


def flat(value, path=()):
    """The values of a resource by name: address.city is both `city` and `address_city`; higher levels take precedence."""
    found, deeper = {}, []
    for name, one in value.items() if isinstance(value, dict) else []:
        deeper += [(one, (*path, name))] if isinstance(one, dict) else [(each, (*path, name)) for each in one] \
            if isinstance(one, list) else []
        if not isinstance(one, (dict, list)):
            found.update({name: one, "_".join((*path, name)): one})
    for one, at in deeper:
        found = {**flat(one, at), **found} if isinstance(one, dict) else {**{"_".join(at): one, at[-1]: one}, **found}
    return found


def test_a_resource_is_found_by_its_own_values(document, sample_orgs):
    tried = Counter()
    for operation, parameters, _, target in lists(document, sample_orgs):
        if not target.is_whole:
            continue
        made = ok(target.sample_org.create(operation.collection, target.sample_org.full[operation.collection]), 201)
        has = flat(made)
        for parameter in parameters:
            name, limit = parameter["name"], re.sub("_(gte|lte)$", "", parameter["name"])
            value = next((has[one] for one in (name, limit, limit + "_at") if one in has), None)
            if value is None or "," in str(value):
                continue
            found = ok(target.ask(path=operation.at([]) + query({name: value, "limit": 1})))["items"]
            assert [one["id"] for one in found] == [made["id"]], (operation, name, made)  # as the newest
            tried[operation] += 1
    assert len(tried) == len(document.collections) and min(tried.values()) >= 3, tried


def wrong_parameters(parameter):
    """Invalid values of a query parameter, except cursors."""
    schema = parameter["schema"]
    one = schema.get("items", schema)
    if parameter.get("example") != "":
        yield ""
    if schema.get("type") == "array":
        yield ","
        yield "x," * (schema.get("maxItems", 100) + 1) + "x"
    if one.get("type") == "integer":
        yield from ("x", "1.0", "1e1", " 1", "0x1", "%EF%BC%91", "9" * 30)
        yield from (str(one[name] + (1 if name == "maximum" else -1)) for name in ("minimum", "maximum") if name in one)
    if "enum" in one:
        yield from ("nonsense", one["enum"][0] + ",nonsense")
    if "pattern" in one or one.get("format") in ("date", "date-time"):
        yield from ("nonsense", "2026-13-01", "2026-02-30T00:00:00Z", "2026-01-31T00:00:00")
    if parameter["name"] in ("cursor", "after"):
        yield from ("nonsense", "A" * 70, "%00")
    yield ("%00", "%0a", "%ff", "%C3")[len(parameter["name"]) % 4]


def test_a_query_that_is_not_described_is_refused(document, sample_orgs):
    for operation, parameters, _, target in lists(document, sample_orgs):
        path = target.path()
        for parameter in parameters:
            name = parameter["name"]
            for value in wrong_parameters(parameter):
                asked = f"{path}?{required_by(parameter)}{name}={value}"
                assert target.ask(path=asked).status_code == 400, (operation, name, value)
            value = written(parameter.get("example", 1))
            twice = 200 if parameter["schema"].get("type") == "array" else 400
            asked = f"{path}?{required_by(parameter)}{name}={value}&{name}={value}"
            assert target.ask(path=asked).status_code == twice, (operation, name, "twice")
        problem = target.ask(path=path + "?colour=blue").json()
        listed = problem["errors"][0]["message"].removeprefix("is not a parameter of this operation, which has ").split(", ")
        assert problem["code"] == "validation.unknown_parameter"
        assert sorted(listed) == sorted(parameter["name"] for parameter in parameters), operation


# ---------------------------------------------------------------- events


def test_events_are_as_described(document, admin_factory, instance):
    """All described events except those of subscriptions, WhatsApp, credentials and erasures, which have other tests."""
    sample_org = SampleOrg(document, Api(instance, admin_factory.key()))
    subscription = ok(sample_org.api.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*", "lead.*"]}), 201)["id"]
    for collection in document.collections:
        full = {name: one for name, one in sample_org.full[collection].items() if name != "status"}  # only drafts can be deleted
        made = sample_org.another(collection, {collection: full})["id"]
        body = sample_org.varied(collection, full)
        changed = {"metadata": {"changed": "yes"}} if "metadata" in body else {}
        ok(sample_org.api.put(f"{collection}/{made}", json={**body, **changed}))
        ok(sample_org.api.delete(f"{collection}/{made}"), 204)
    path, seen = f"webhooks/{subscription}/deliveries", set()
    for one in ok(sample_org.api.get(path, params={"limit": 100}))["items"]:
        whole = ok(sample_org.api.get(f"{path}/{one['id']}"))
        body = {name: whole[name] for name in ("id", "event_type", "created_at", "payload")}
        described = document.resolve(document.whole["webhooks"][one["event_type"]]["post"]["requestBody"])
        wrong = document.wrong(body, described["content"]["application/json"]["schema"])
        assert not wrong, f"{wrong} in {body}"
        seen.add(one["event_type"])
    others = ("webhook.", "whatsapp.", "credential.", "thin", "batch")
    assert seen == {name for name in document.whole["webhooks"] if not name.startswith(others) and not name.endswith(".erased")}


# ---------------------------------------------------------------- every status


def test_every_response_is_as_described(document, sample_orgs, admin_factory, anonymous):
    wrong, viewers = [], {}
    for operation in document.operations:
        # see test_whatsapp_media.py, test_oauth.py, test_webhook_keys.py and test_subjects.py
        if operation.path.endswith(("/media", "/oauth/token", "/jwks.json", "/subjects")):
            continue
        sample_org = sample_orgs(operation.collection)
        if sample_org not in viewers:
            viewers[sample_org] = Api(sample_org.api.instance,
                                      admin_factory.key(sample_org.api.credential.organizations[0], "org_viewer"))
        walk = ResponseCoverage(operation, sample_org, viewers[sample_org], anonymous)
        try:
            walk.everything()
            described = {int(status) for status in operation.spec["responses"] if status.isdigit()}
            left = described - walk.seen - {403, 408, 409, 429, 500, 503} - set(operation.successes if walk.succeeded else [])
            assert not left, f"{operation}: described, but not returned: {left}"
        except AssertionError as error:
            wrong.append(str(error))
    report(wrong)
