# SPDX-License-Identifier: Apache-2.0
"""Isolation of organizations: requests with another organization's key to every route of the OpenAPI document, with every id of
the first organization in every position for an id. Existing and unknown ids get the same response in the same time.
"""

import itertools
import json
import random
import ssl
import time
import uuid
from http.client import HTTPSConnection
from statistics import median
from urllib.parse import quote, urlsplit

import pytest

from client import Api, ok
from openapi_doc import UNKNOWN_ULID, Document
from generate import Generator, get, put, path_text
from sample_org import UNREACHABLE_URL, SampleOrg, ids_in

JSON = {"Content-Type": "application/json"}


class Owner(SampleOrg):
    """The first organization. `known` are all ids in it, `paths` ids for the path of each operation."""

    def __init__(self, document, api):
        super().__init__(document, api)
        self.paths = {operation: self.fill(operation) for operation in document.operations}
        items = [item for some in self.everything().values() for item in some]
        self.known = {one for one in ids_in(items) if one != api.credential.tenant}
        self.texts = {}  # values of texts by name
        for name, text in ((name, text) for item in items for name, text in item.items() if isinstance(text, str)):
            if "," not in text and text not in self.texts.setdefault(name, []):
                self.texts[name].append(text)

    def everything(self):
        """The items of its lists by path; only the ids of subresources, which change without requests."""
        found = {}
        for operation in self.document.operations:
            if operation.method == "get" and ("query", "cursor") in operation.parameters:
                path = operation.at(self.paths[operation])
                items = ok(self.api.get(path, params={"limit": 100}))["items"]
                found[path] = [{"id": item["id"]} for item in items] if operation.path_ids else items
        return found


@pytest.fixture(scope="module")
def document(instance):
    return Document(instance)


@pytest.fixture(scope="module")
def shared_owner(instance, admin_factory, principals, document):
    return Owner(document, Api(instance, admin_factory.key(admin_factory.organization(principals.tenant))))


@pytest.fixture(scope="module", params=["another tenant", "another organization of the tenant"])
def other_org(request, instance, admin_factory, principals, document):
    tenant = principals.tenant if "organization" in request.param else admin_factory.tenant()
    return SampleOrg(document, Api(instance, admin_factory.key(admin_factory.organization(tenant))))


@pytest.fixture
def owner(shared_owner):
    """Requests of another organization do not change the owner's resources."""
    before = shared_owner.everything()
    yield shared_owner
    assert shared_owner.everything() == before


def with_path_ids(document):
    """The operations with an id in their path."""
    return [one for one in document.operations if one.path_ids and "404" in one.spec["responses"]]


def unknown_id(id):
    """An unused id of the same kind with a similar time."""
    return id[:-5] + ("zzzzz" if id[-5:] != "zzzzz" else "yyyyy")


def make_request(operation, sample_org):
    """The body and headers that a request needs."""
    body = None
    if operation.bodies:
        is_whole = operation.is_of_one and operation.collection in sample_org.full
        body = sample_org.bodies(operation)[1] if is_whole else sample_org.with_own_ids(operation.examples[0])
    return {"data": None if body is None else json.dumps(body), "headers": {**(JSON if body is not None else {})}}


def comparable(response, *words):
    """A response without values that differ between requests."""
    text = response.text
    for word in words:
        text = text.replace(word, "…")
    problem = json.loads(text) if text else {}
    headers = {name: one for name, one in response.headers.items() if not name.startswith(("X-", "RateLimit", "Date", "Content-Length"))}
    return response.status_code, {**problem, "request_id": 0, "timestamp": 0}, headers


# ---------------------------------------------------------------- in paths


def test_an_id_in_a_path_is_unknown_to_others(document, owner, other_org):
    for operation in with_path_ids(document):
        theirs, own = owner.paths[operation], other_org.fill(operation)
        for foreign in itertools.product([True, False], repeat=len(theirs)):
            if not any(foreign):
                continue
            ids = [pair[0] if is_foreign else pair[1] for is_foreign, *pair in zip(foreign, theirs, own)]
            other = [unknown_id(one) if is_foreign else one for is_foreign, one in zip(foreign, ids)]
            for more in ({}, {"If-Match": "*"}, {"If-None-Match": "*"}, {"Idempotency-Key": str(uuid.uuid4())}):
                sent = make_request(operation, other_org)
                sent["headers"].update(more)
                answers = [other_org.api.request(operation.method.upper(), operation.at(one), **sent) for one in (ids, other)]
                assert answers[0].status_code == 404, (operation, ids, answers[0].text)
                operation.check(answers[0])
                assert comparable(answers[0], *ids) == comparable(answers[1], *other)


def test_a_foreign_id_is_a_404_whatever_else_is_wrong_with_the_request(document, owner, other_org):
    for operation in with_path_ids(document):
        path, sent = operation.at(owner.paths[operation]), make_request(operation, other_org)
        errors = [{"params": {"unknown": "1"}}, {"headers": {**sent["headers"], "Idempotency-Key": "x"}}]
        if ("query", "limit") in operation.parameters:
            errors += [{"params": {"limit": "0"}}, {"params": {"cursor": "x"}}]
        if operation.bodies:
            errors += [{"data": body} for body in ("", "{", "[]", '{"unknown": 1}')] + [{"headers": {"Content-Type": "text/plain"}}]
        for error in errors:
            answer = other_org.api.request(operation.method.upper(), path, **{**sent, **error})
            assert answer.status_code == 404, (operation, error, answer.text)


def test_a_key_of_another_tenant_cannot_select_the_organization(document, owner, other_org):
    there = owner.api.credential.organizations[0]
    for operation in document.operations:
        if ("header", "X-Organization-ID") not in operation.parameters:
            continue
        sent = make_request(operation, other_org)
        answers = []
        for organization in (there, unknown_id(there)):
            sent["headers"]["X-Organization-ID"] = organization
            answers.append(other_org.api.request(operation.method.upper(), operation.at(other_org.fill(operation)), **sent))
        assert answers[0].status_code == 403, operation
        assert comparable(answers[0], there) == comparable(answers[1], unknown_id(there))


# ---------------------------------------------------------------- in bodies


def positions(document, sample_org):
    """Every position of a resource's id in a body: (operation, body, path, prefix)."""
    for operation in document.operations:
        if not operation.bodies or not operation.examples:  # /oauth/token has a form
            continue
        generator = Generator(document, sample_org.ids)
        bases = [sample_org.with_own_ids(operation.examples[0])]
        if operation.is_of_one:
            full = sample_org.bodies(operation)[0]
            bases = [full] if operation.method != "patch" else [{name: one} for name, one in full.items()]
        seen = set()
        for base in bases:
            for place in generator.places(operation.body, base):
                for prefix in document.prefixes:
                    body = with_kind(document, base, place.path, prefix)
                    fits = document.prefixes_of(place.schema) and document.accepts(
                        put(body, place.path, prefix + UNKNOWN_ULID), operation.body)
                    if fits and prefix != "evt_" and (place.path, prefix) not in seen:  # a position in the log is not a resource
                        seen.add((place.path, prefix))
                        yield operation, *alone(operation, body, place.path), prefix


def alone(operation, body, path):
    """The body with only that operation of a batch that contains the path."""
    is_of_several = len(path) > 1 and operation.path.count("/") == 2 and not operation.path_ids
    return ({**body, path[0]: [body[path[0]][path[1]]]}, (path[0], 0, *path[2:])) if is_of_several else (body, path)


def with_kind(document, body, path, prefix):
    """The body with the type that matches the id, if it has a member for the type."""
    beside = get(body, path[:-1])
    if path[-1] == "id" and isinstance(beside, dict) and "type" in beside:
        return put(body, (*path[:-1], "type"), document.prefixes[prefix])
    return body


def test_an_id_in_a_body_is_unknown_to_others(document, owner, other_org):
    for operation, body, path, prefix in positions(document, other_org):
        answers, ids = [], (owner.ids[prefix][0], unknown_id(owner.ids[prefix][0]))
        for one in ids:
            is_of_one = operation.path_ids == ["id"] and operation.collection in other_org.full
            ids_of_path = [other_org.another(operation.collection)["id"]] if is_of_one else other_org.fill(operation)
            is_create = operation.path == "/" + operation.collection
            base = other_org.varied(operation.collection, body, keep=path[0]) if is_create else body
            base = other_org.renewed(operation, base) if operation.path.endswith("/batch") else base
            body_now = put(base, path, one)
            answers.append(other_org.api.request(operation.method.upper(), operation.at(ids_of_path), json=body_now))
            operation.check(answers[-1])
            problems = answers[-1].json().get("results") or [{"error": answers[-1].json()}]
            problems = [one["error"] for one in problems if "error" in one]
            items = [item for problem in problems for item in problem.get("errors", [problem])]
            found = [item["code"] for item in items if path_text(path).endswith(item.get("field", path_text(path)))]
            assert found and all(code.endswith("_not_found") or code.startswith("not_found.") for code in found), \
                (operation, body_now, path, answers[-1].text)
        assert comparable(answers[0], ids[0], ids_of_path[0] if ids_of_path else "-")[:1] == comparable(answers[1], ids[1])[:1]
        says = [[item["message"] for item in answer.json().get("errors", [])] for answer in answers]
        assert [one.replace(ids[0], "…") for one in says[0]] == [one.replace(ids[1], "…") for one in says[1]]


def test_a_body_cannot_set_fields_of_the_service(document, owner, other_org):
    for collection in document.collections:
        theirs = ok(owner.api.get(f"{collection}/{owner.ids[document.collections[collection]][0]}"))
        create = document.operation("post", "/" + collection)
        given = {name: one for name, one in theirs.items() if document.resolve(create.body["properties"][name]).get("readOnly")}
        made = ok(other_org.api.post(collection, json={**other_org.varied(collection, other_org.small[collection]), **given}),
                  201)
        assert not {made["id"], made.get("organization_id")} & owner.known
        ids = set(ids_in({name: one for name, one in made.items() if name in given})) - {made["id"]}
        assert ids <= {*other_org.api.credential.organizations, other_org.api.credential.tenant, other_org.api.credential.id}


# ---------------------------------------------------------------- in queries


def lists(document):
    return [one for one in document.operations if one.method == "get" and ("query", "cursor") in one.parameters]


def own_values(owner, parameter):
    """The owner's values for a parameter: all ids if it accepts ids, and some values of fields with its name."""
    own = [owner.ids[prefix] for prefix in owner.document.collections.values()]  # ids of all lists
    ids = [id for some in own for id in some] if ids_in(parameter.get("example")) else []
    return ids, owner.texts.get(parameter["name"], [])[:5]


def test_filters_find_no_resources_of_other_organizations(document, owner, other_org):
    tried = 0
    for operation in lists(document):
        path = operation.at(other_org.fill(operation))
        for (where, name), parameter in operation.parameters.items():
            if where != "query":
                continue
            ids, texts = own_values(owner, parameter)
            for value in ids:
                assert ok(other_org.api.get(path, params={name: value}))["items"] == [], (operation, name)
                tried += 1
            for value in texts:
                response = other_org.api.get(f"{path}?{name}={quote(value)}")
                assert response.status_code in (200, 400), response.text
                assert not set(ids_in(response.json().get("items", []))) & owner.known, (operation, name, value)
    assert tried or len(document.collections) < 3


def test_lists_have_no_resources_of_other_organizations(document, owner, other_org):
    other_org.another("brokers")  # creates a delivery
    for operation in lists(document):
        page = ok(other_org.api.get(operation.at(other_org.fill(operation)), params={"limit": 100}))
        assert page["items"] and not set(ids_in(page["items"])) & owner.known, operation


def test_a_cursor_is_refused_for_others(document, owner, other_org):
    for operation in lists(document):
        path = operation.at(owner.paths[operation])
        cursor = ok(owner.api.get(path, params={"limit": 1}))["page_info"]["end_cursor"]
        for api, status in ((owner.api, 200), (other_org.api, 400)):
            ids = owner.paths[operation] if status == 200 else other_org.fill(operation)
            response = api.get(operation.at(ids), params={"limit": 1, "cursor": cursor})
            assert response.status_code == status, (operation, response.text)


# ---------------------------------------------------------------- in headers and deliveries


def test_idempotency_keys_are_separate_between_organizations(document, admin_factory, principals, instance, other_org):
    another = SampleOrg(document, Api(instance, admin_factory.key()))
    for collection in document.collections:
        key = {"Idempotency-Key": str(uuid.uuid4())}
        body = another.varied(collection, {name: one for name, one in another.small[collection].items()})
        ok(another.api.post(collection, json=body, headers=key), 201)
        response = other_org.api.post(collection, json=body, headers=key)
        assert "Idempotent-Replayed" not in response.headers
        assert response.status_code == 201 or ids_in(body), response.text
        if response.status_code == 201:
            assert not set(ids_in(response.json())) & set(ids_in(another.ids))


def test_events_of_others_are_not_delivered(document, shared_owner, other_org):
    subscription = ok(other_org.api.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*", "lead.*"]}), 201)["id"]
    path = f"webhooks/{subscription}/deliveries"
    for collection in document.collections:
        ok(shared_owner.api.delete(f"{collection}/{shared_owner.another(collection)['id']}"), 204)
    assert ok(other_org.api.get(path))["items"] == []
    made = {other_org.another(collection)["id"] for collection in document.collections if collection != "webhooks"}
    recorded = ok(other_org.api.get(path, params={"limit": 100}))["items"]
    assert made <= {ok(other_org.api.get(f"{path}/{one['id']}"))["payload"]["id"] for one in recorded}


# ---------------------------------------------------------------- response times

ROUNDS = (50, 100, 200, 400, 400, 400)  # pairs of requests


class Stopwatch:
    """Measures requests over one persistent connection."""

    def __init__(self, api):
        url = urlsplit(api.url)
        self.base, self.secret = url.path, api.credential.secret
        self.connection = HTTPSConnection("127.0.0.1", url.port, context=ssl.create_default_context(cafile=api.instance.ca))
        self.connection._context.check_hostname = False
        self.chance = random.Random(1)

    def seconds(self, status, method, path, body=None):
        """The duration of a request, without reconnecting."""
        headers = {"X-API-Key": self.secret, **(JSON if body is not None else {})}
        if self.connection.sock is None:
            self.connection.connect()
        started = time.perf_counter()
        self.connection.request(method, self.base + path, body, headers)
        response = self.connection.getresponse()
        response.read()
        taken = time.perf_counter() - started
        assert response.status == status, (method, path, response.status)
        return taken

    def medians(self, pairs, one, other):
        """The median durations of two kinds of requests, which alternate."""
        times = ([], [])
        for number in range(pairs):
            for which in self.chance.sample((0, 1), 2):
                times[which].append((one, other)[which](number))
        return median(times[0]), median(times[1])

    def difference(self, one, other, rounds=ROUNDS):
        """The difference of two durations in seconds beyond random variation; 0 if it is not significant. A difference must be
        reproducible, to tolerate other load."""
        signs = set()
        for pairs in rounds:
            first, second = self.medians(pairs, one, other)
            signs.add(first > second)
            found = abs(first - second) - 0.000015 - 0.05 * min(first, second)
            if found <= 0 or len(signs) > 1:
                return 0
        return found


def timed_requests(document, owner, other_org, watch):
    """For every request with an id: its name, ids, and a function that sends it with an id and returns the duration."""
    for operation in with_path_ids(document):
        own = other_org.fill(operation)
        sent = make_request(operation, other_org)["data"]
        prefix = operation.prefix_of(operation.path_ids[-1])
        ids = [owner.paths[operation][-1]] if len(own) > 1 or not prefix else owner.ids[prefix]
        yield str(operation), ids, lambda id, operation=operation, own=own, sent=sent: watch.seconds(
            404, operation.method.upper(), operation.at([*own[:-1], id]), sent)
    for operation, body, path, prefix in positions(document, other_org):
        if operation.method == "post" and operation.path == f"/{operation.collection}":
            yield f"{operation}, {path_text(path)}", owner.ids[prefix], lambda id, operation=operation, body=body, path=path: \
                watch.seconds(400, "POST", operation.at([]), json.dumps(put(body, path, id)))
    for operation in lists(document):
        for (where, name), parameter in operation.parameters.items():
            ids, _ = own_values(owner, parameter) if where == "query" else ([], [])
            if ids:
                at = operation.at(other_org.fill(operation))
                yield f"{operation}?{name}", ids, lambda id, at=at, name=name: watch.seconds(200, "GET", f"{at}?{name}={id}")


@pytest.mark.alone
@pytest.mark.parametrize("other_org", ["another tenant"], indirect=True)
def test_response_times_do_not_show_what_exists_elsewhere(document, owner, other_org):
    watch = Stopwatch(other_org.api)
    wrong = []
    for what, ids, ask in timed_requests(document, owner, other_org, watch):
        difference = watch.difference(lambda n: ask(ids[n % len(ids)]), lambda n: ask(unknown_id(ids[n % len(ids)])))
        if difference:
            wrong.append(f"{what}: {difference * 1e6:.0f} µs difference")
    assert not wrong, wrong


@pytest.mark.alone
@pytest.mark.parametrize("other_org", ["another tenant"], indirect=True)
def test_the_stopwatch_detects_a_database_lookup(document, other_org):
    """A malformed id is not looked up, which takes less time."""
    watch = Stopwatch(other_org.api)
    collection, prefix = next(iter(document.collections.items()))
    one, other = (lambda _: watch.seconds(404, "GET", f"{collection}/x"),
                  lambda _: watch.seconds(404, "GET", f"{collection}/{prefix}{UNKNOWN_ULID}"))
    assert watch.difference(one, other, ROUNDS[-1:]) > 0
