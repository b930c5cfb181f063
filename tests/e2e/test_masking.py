# SPDX-License-Identifier: Apache-2.0
"""Credentials with masked scopes, and what an attacker tries with them. Every operation of the OpenAPI document is read in an
organization whose sensitive fields (`x-masked` there) have values that occur nowhere else: none of them may be in a response, in
a header or in a delivery. No resource is named where the document names it.
"""

import base64
import copy
import json
import random
import re
import secrets
import uuid

import pytest

from client import Api, ok, refused, wrong_fields
from contract_requests import Target
from factories import cpf
from openapi_doc import NDJSON, Document
from receiver import echo
from sample_org import UNREACHABLE_URL, SampleOrg
from webhook_fixtures import (FAST, attempted, detail, deliveries, module_admin_factory, module_instance, receiver,  # noqa: F401
                              subscribe)
from wait import eventually

CONF = FAST
MASK = "***"
FORBIDDEN = "forbidden.insufficient_permissions"
# What the issue of masking names: a test that only followed the marks would not notice if one is removed.
SENSITIVE = {"Broker": {"document_number", "email", "phone", "bank_account"},
             "Party": {"document_number", "email", "phone", "bank_account", "address", "rg"},
             "Lead": {"email", "phone"}, "Document": {"number"}, "Conversation": {"contact_wa_id"}}


def digits(count):
    """Without zeros, of which ids have many."""
    return "".join(random.choices("123456789", k=count))


def value_for(name, schema):
    """A new value of a sensitive field; None for one of a few."""
    if "enum" in schema:
        return None
    if schema.get("type") in ("number", "integer"):
        return round(random.uniform(10, 60), 9)
    known = {"document_number": lambda: cpf(int(digits(9))), "phone": lambda: "+55119" + digits(8), "postal_code": lambda: digits(8),
             "ibge_code": lambda: digits(7), "email": lambda: secrets.token_hex(6) + "@example.com"}
    if name in known:
        return known[name]()
    if schema.get("format") == "uri":
        return f"https://files.example.com/{secrets.token_hex(8)}"
    return secrets.token_hex(5)


class Planted:
    """A filled organization. `values` are texts that only sensitive fields have, as they can be found in a response."""

    def __init__(self, document, api):
        self.document, self.api = document, api
        self.org, self.values = SampleOrg(document, api), set()
        for collection, prefix in document.collections.items():
            body = self.org.full[collection]
            created = ok(api.post(collection, json=self.with_values(collection, self.org.varied(collection, body))), 201)
            if self.sensitive(collection):  # so that events have former values, too
                ok(api.patch(f"{collection}/{created['id']}", json=self.with_values(collection, {})))
                gone = ok(api.post(collection, json=self.with_values(collection, self.org.varied(collection, self.org.small[collection]))), 201)
                ok(api.delete(f"{collection}/{gone['id']}"), 204)
            self.org.ids[prefix].insert(0, created["id"])
        self.plant_contacts()

    def schema(self, collection):
        """The schema of a resource in responses."""
        content = self.document.operation("get", f"/{collection}/{{id}}").response(200)["content"]
        return self.document.resolve(next(iter(content.values()))["schema"])

    def sensitive(self, collection):
        return list(self.leaves(self.schema(collection)))

    def leaves(self, schema, path=(), is_masked=False):
        """The paths of sensitive members, with their schemas."""
        for name, one in schema.get("properties", {}).items():
            one = self.document.resolve(one)
            masks = is_masked or one.get("x-masked", False)
            if "properties" in one:
                yield from self.leaves(one, (*path, name), masks)
            elif masks:
                yield (*path, name), one

    def with_values(self, collection, body):
        """The body with new values of all sensitive members. A member of a required object needs the others: in a patch only those
        members are sent."""
        body = copy.deepcopy(body)
        for path, schema in self.sensitive(collection):
            value, at = value_for(path[-1], schema), body
            if value is None or schema.get("readOnly"):
                continue
            for name in path[:-1]:
                at = at.setdefault(name, {})
            at[path[-1]] = value
            self.add(value)
        if "kind" in body and "document_number" in body:
            body["kind"] = "person"
        return body

    def add(self, value):
        self.values.add(str(value).lstrip("+"))

    def plant_contacts(self):
        """What only WhatsApp's callbacks set. The ids of its messages contain the contact's number in base64."""
        organization, sql = self.api.credential.organizations[0], self.api.instance.sql
        for message, conversation in sql("select id, conversation_id from neoapi.whatsapp_message where organization_id = %s", organization):
            number = "55119" + digits(8)
            known = "wamid." + base64.b64encode(b"\x1d\x04\x18\x0d" + number.encode()).decode()
            sql("update neoapi.whatsapp_conversation set contact_wa_id = %s where id = %s", number, conversation)
            sql("update neoapi.whatsapp_message set provider_message_id = %s where id = %s", known, message)
            self.add(number)
            self.add(known)
        for id, in sql("select id from neoapi.lead where organization_id = %s", organization):
            self.add(ok(self.api.get("leads/" + id)).get("phone", self.api.credential.id))
        self.values.discard(self.api.credential.id)

    def found_in(self, response):
        text = response.text + json.dumps(dict(response.headers))
        return sorted(one for one in self.values if one in text and (len(one) > 8 or re.search(rf"(?<!\w){one}(?!\w)", text)))

    def renew(self, collection):
        """Gives the planted resource new values, and returns its path."""
        path = f"{collection}/{self.org.ids[self.document.collections[collection]][0]}"
        ok(self.api.patch(path, json=self.with_values(collection, {})))
        return path

    def reads(self):
        """Every GET and HEAD with ids for its path: the sample's, and each planted one."""
        for operation in self.document.operations:
            if operation.method in ("get", "head") and not operation.is_public:
                yield operation, operation.at(self.org.fill(operation))


@pytest.fixture(scope="module")
def document(module_instance):  # noqa: F811
    return Document(module_instance)


@pytest.fixture(scope="module")
def planted(module_instance, module_admin_factory, document):  # noqa: F811
    return Planted(document, Api(module_instance, module_admin_factory.key()))


def list_scopes(document):
    return document.schemas["Scope"]["enum"]


def masked_scopes(document):
    """All scopes, but to read only those that are masked, if there are such."""
    every = list_scopes(document)
    return [one for one in every if not (one.endswith(":read") and one + "_masked" in every)]


@pytest.fixture(scope="module")
def masked(module_instance, module_admin_factory, document, planted):  # noqa: F811
    organization = planted.api.credential.organizations[0]
    return Api(module_instance, module_admin_factory.key(organization, scopes=masked_scopes(document)))


def first_id(planted, collection):
    return planted.org.ids[planted.document.collections[collection]][0]


def has_no_masked_scope(operation):
    """Of what only org_admin may read."""
    scope = re.search(r"Needs the scope `(\w+):", operation.spec["description"])
    return scope is not None and scope.group(1) + ":read_masked" not in list_scopes(operation.document)


def is_binary(operation):
    return "*/*" in operation.response(200).get("content", {})


# ---------------------------------------------------------------- what is read


def test_the_document_marks_what_is_masked(document):
    for name, fields in SENSITIVE.items():
        properties = document.flat[name]["properties"]
        assert {one for one in fields if not document.resolve(properties[one]).get("x-masked")} == set()
    assert not [name for name, one in document.flat["Property"]["properties"].items() if one.get("x-masked")]


def test_a_full_credential_sees_all_planted_values(planted):
    """Otherwise the other tests would find nothing to hide. Some values were replaced, and are not in events."""
    seen = set()
    for operation, path in planted.reads():
        if not is_binary(operation):
            paths = [path, path + "?limit=100"] if ("query", "limit") in operation.parameters else [path]
            for one in paths:
                answer = planted.api.request(operation.method.upper(), one)
                if answer.status_code == 200:
                    seen |= set(planted.found_in(answer))
    assert len(seen) > 0.6 * len(planted.values) > 50, sorted(planted.values - seen)


def test_no_operation_reads_a_masked_value(planted, masked):
    wrong = []
    for operation, path in planted.reads():
        is_list = ("query", "limit") in operation.parameters
        for one in [path, path + "?limit=100", path + "?limit=1"] if is_list else [path]:
            answer = masked.request(operation.method.upper(), one)
            if is_binary(operation):
                refused(answer, 403, FORBIDDEN) if answer.content else None
                assert answer.status_code == 403
                continue
            may_refuse = (403,) if has_no_masked_scope(operation) else ()
            assert answer.status_code in (200, 400, *may_refuse), (operation, answer.text)  # 400: a required parameter is missing
            wrong += [(str(operation), one, planted.found_in(answer))] if planted.found_in(answer) else []
    assert not wrong


def test_masked_strings_have_a_mask_and_other_values_are_absent(document, planted, masked):
    for collection in document.collections:
        path = f"{collection}/{first_id(planted, collection)}"
        if planted.sensitive(collection):
            planted.renew(collection)
        full, seen = ok(planted.api.get(path)), ok(masked.get(path))
        for leaf, schema in planted.sensitive(collection):
            had, has = full, seen
            for name in leaf:
                had, has = (had or {}).get(name), (has or {}).get(name)
            expected = MASK if isinstance(had, str) and "enum" not in schema else None
            assert has == expected, (path, leaf, had, has)
        top = {leaf[0] for leaf, _ in planted.sensitive(collection)}
        assert {name: one for name, one in full.items() if name not in top} == {name: one for name, one in seen.items() if name not in top}


def test_some_fields_of_a_resource_are_masked_too(document, planted, masked):
    for operation in document.operations:
        if operation.method != "get" or ("query", "fields") not in operation.parameters:
            continue
        for name in operation.parameters["query", "fields"]["schema"]["items"]["enum"]:
            answer = masked.get(operation.at(planted.org.fill(operation)), params={"fields": name})
            assert answer.status_code == 200 and not planted.found_in(answer), (operation, name, answer.text)


def test_events_and_their_former_values_are_masked(planted, masked):
    kinds = set()
    for order in "asc", "desc":
        path, seen = f"events?order={order}&limit=100", []
        while path:
            answer = masked.get(path)
            assert not planted.found_in(answer)
            seen += ok(answer)["items"]
            path = answer.links.get("next", {}).get("url") if ok(answer)["page_info"]["has_next_page"] else None
        kinds |= {one["type"] for one in seen for member in ("payload", "previous") if MASK in json.dumps(one.get(member))}
        for one in seen[:20]:
            assert not planted.found_in(masked.get("events/" + one["id"]))
        assert {name for one in seen for name in one.get("changed", [])} > {"email", "phone"}
    assert {"broker.created", "broker.updated", "broker.deleted", "party.updated", "lead.updated", "document.created"} <= kinds


def test_exports_are_masked(document, planted, masked):
    tried = 0
    for operation in document.operations:
        if operation.method == "get" and NDJSON in operation.response(200).get("content", {}):
            full, seen = (api.get(operation.at(planted.org.fill(operation))) for api in (planted.api, masked))
            assert full.text.count("\n") == seen.text.count("\n") and not planted.found_in(seen)
            tried += bool(planted.found_in(full))
    assert tried >= 4


# ---------------------------------------------------------------- what is written


def test_responses_to_writes_are_masked(document, planted, masked):
    """Of each operation with the planted resources in its path."""
    org = copy.copy(planted.org)
    org.api, org.parts = masked, dict(planted.org.parts)
    own = ok(masked.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*"]}), 201)["id"]
    org.ids = {**planted.org.ids, "whs_": [own, *planted.org.ids["whs_"]]}
    seen = set()
    for operation in document.operations:
        if operation.method not in ("post", "put", "patch") or not operation.bodies or not operation.examples:
            continue
        target = Target(operation, org)
        target.ids = org.fill(operation) if operation.path_ids else None
        for body in target.bases():
            if target.is_whole and operation.method != "patch":
                body = org.varied(operation.collection, body)
            elif not target.is_whole:
                body = org.renewed(operation, body)
            answer = masked.request(operation.method.upper(), target.path(), json=body)
            found = [one for one in planted.found_in(answer) if one not in json.dumps(body)]
            assert not found, (operation, body, found, answer.text)
            seen |= {(operation.method, operation.collection)} if MASK in answer.text else set()
    assert {("post", "brokers"), ("patch", "brokers"), ("put", "parties"), ("patch", "leads")} <= seen


def test_what_a_masked_credential_writes_is_masked_in_the_response_and_its_repetition(planted, masked):
    email, key = "own@example.com", {"Idempotency-Key": str(uuid.uuid4())}
    for replayed in None, "true":
        answer = masked.post("brokers", json={"name": "Ana", "email": email}, headers=key)
        assert answer.headers.get("Idempotent-Replayed") == replayed and ok(answer, 201)["email"] == MASK
    assert ok(planted.api.get("brokers/" + answer.json()["id"]))["email"] == email
    batch = ok(masked.post("brokers/batch", json={"operations": [{"method": "create", "data": {"name": "B", "email": email}}]}))
    assert batch["results"][0]["resource"]["email"] == MASK


def test_a_mask_is_not_accepted_as_a_value(planted, masked):
    path = planted.renew("parties")
    before = ok(planted.api.get(path))
    seen = ok(masked.get(path))
    assert {"document_number", "email", "address.street", "bank_account.pix_key"} <= set(wrong_fields(masked.put(path, json=seen)))
    assert ok(planted.api.get(path)) == before
    changed = ok(masked.patch(path, json={"profession": "médica"}))
    assert changed["email"] == MASK and changed["profession"] == "médica"
    assert ok(planted.api.get(path))["email"] == before["email"]


def test_tags_of_masked_representations_differ_and_work(planted, masked):
    path = planted.renew("parties")
    full, seen = (api.get(path, headers={"Accept-Encoding": "identity"}).headers["ETag"] for api in (planted.api, masked))
    assert full != seen
    assert masked.get(path, headers={"If-None-Match": seen}).status_code == 304
    assert masked.get(path, headers={"If-None-Match": full}).status_code == 200
    refused(masked.patch(path, json={"profession": "a"}, headers={"If-Match": full}), 412, "conflict.precondition_failed")
    new = masked.patch(path, json={"profession": "b"}, headers={"If-Match": seen})
    assert ok(new) and new.headers["ETag"] != seen
    batch = {"operations": [{"method": "update", "id": path.split("/")[1], "if_match": new.headers["ETag"], "data": {"profession": "c"}}]}
    result, = ok(masked.post("parties/batch", json=batch))["results"]
    assert result["status"] == 200 and masked.get(path, headers={"If-None-Match": result["etag"]}).status_code == 304


# ---------------------------------------------------------------- what is guessed


def test_no_filter_tells_a_value(document, planted, masked):
    """Each parameter of each list, with each value: refused, or as if the value did not exist."""
    hidden = []
    for operation in document.operations:
        if operation.method != "get" or operation.is_public or is_binary(operation):
            continue
        path = operation.at(planted.org.fill(operation))
        for (where, name), parameter in operation.parameters.items():
            schema = document.resolve(parameter["schema"])
            schema = document.resolve(schema.get("items", schema))
            if where != "query" or "enum" in schema or schema.get("type") != "string" or schema.get("format") == "date-time":
                continue
            values = [*sorted(planted.values)[::4], secrets.token_hex(5), digits(11)]
            answers = [masked.get(path, params={name: one}) for one in values]
            statuses = {answer.status_code for answer in answers}
            assert statuses <= {200, 400, 403}, (operation, name)
            if statuses == {403}:
                hidden.append((operation.path, name))
                assert has_no_masked_scope(operation) or name in answers[0].json()["detail"]
            else:
                bodies = {answer.text.replace(value, "") for answer, value in zip(answers, values) if answer.status_code == 200}
                assert len(bodies) <= 1, (operation, name, bodies)
    expected = {(f"/{collection}{end}", name) for collection, names in (
        ("brokers", ("document_number", "email")), ("parties", ("document_number", "email", "phone")), ("leads", ("phone", "email")))
        for name in names for end in ("", "/export")} | {("/whatsapp/conversations", "q")}
    assert expected <= set(hidden)
    assert ("/parties", "q") not in hidden and ("/properties", "city") not in hidden


def test_a_masked_filter_is_refused_before_its_value_is_checked(masked, planted):
    for query in "email=", "document_number=1&colour=blue", "count=true&phone=1", "sort=created_at&email=a":
        refused(masked.get("parties?" + query), 403, FORBIDDEN)
    cursor = ok(planted.api.get("parties?limit=1&kind=person"))["page_info"]["end_cursor"]
    assert masked.get("parties?limit=1&kind=person&cursor=" + cursor).status_code == 200


def test_a_person_is_not_found_by_masked_values(planted, masked):
    email = ok(planted.api.get(planted.renew("parties")))["email"]
    assert ok(planted.api.get("subjects", params={"email": email}))["records"]
    refused(masked.get("subjects", params={"email": email}), 403, FORBIDDEN)
    for path in "subjects/export", "subjects/erase":
        refused(masked.post(path, json={"email": email, "dry_run": True}), 403, FORBIDDEN)


def test_a_duplicate_is_not_identified_by_a_masked_value(planted, masked):
    """That there is one cannot be hidden from a writer."""
    document_number = ok(planted.api.get(planted.renew("parties")))["document_number"]
    body = {"kind": "person", "name": "A", "roles": ["buyer"], "document_number": document_number}
    assert refused(planted.api.post("parties", json=body), 409, "conflict.duplicate")["existing_id"]
    assert "existing_id" not in refused(masked.post("parties", json=body), 409, "conflict.duplicate")
    batch = {"operations": [{"method": "create", "data": body}]}
    result, = ok(masked.post("parties/batch", json=batch))["results"]
    assert result["status"] == 409 and "existing_id" not in json.dumps(result)


def test_a_batch_that_is_rolled_back_does_not_tell_a_value(planted, masked):
    """An update with the value that a field has changes nothing, also not the ETag that the next operation requires; and the
    last operation makes all end without a trace."""
    path = planted.renew("parties")
    has, etag = ok(planted.api.get(path))["email"], masked.get(path, headers={"Accept-Encoding": "identity"}).headers["ETag"]
    id, told = path.split("/")[1], []
    for guess in has, "other@example.com":
        answer = masked.post("parties/batch", json={"atomic": True, "operations": [
            {"method": "update", "id": id, "data": {"email": guess}},
            {"method": "update", "id": id, "if_match": etag, "data": {"profession": "médica"}},
            {"method": "create", "data": {}}]})
        told.append((answer.status_code, [one["index"] for one in answer.json().get("failures", [])]))
    assert told[0] == told[1]
    assert ok(planted.api.get(path))["email"] == has
    refused(masked.post("parties/batch", json={"atomic": True, "operations": []}), 403, FORBIDDEN)
    assert masked.post("properties/batch", json={"atomic": True, "operations": []}).status_code in (400, 403)


# ---------------------------------------------------------------- credentials


def token_for(api, key, **more):
    answer = Api(api.instance).post("oauth/token", data={"grant_type": "client_credentials", "client_id": key.id,
                                                         "client_secret": key.secret, **more})
    return ok(answer)


def with_token(api, token):
    other = Api(api.instance)
    other.session.headers["Authorization"] = "Bearer " + token["access_token"]
    return other


@pytest.mark.parametrize("scope", [None, "parties:read", "parties:write", "parties:read_masked parties:write", "brokers:read parties:write"])
def test_a_token_of_a_masked_key_is_masked(planted, masked, scope):
    token = token_for(masked, masked.credential, **({"scope": scope} if scope else {}))
    assert not [one for one in token["scope"].split() if one in ("parties:read", "brokers:read")]
    api, path = with_token(masked, token), planted.renew("parties")
    for answer in api.get(path), api.patch(path, json={"profession": secrets.token_hex(4)}):
        assert answer.status_code in (200, 403) and not planted.found_in(answer)


def test_a_full_key_can_give_a_masked_token(planted):
    token = token_for(planted.api, planted.api.credential, scope="parties:read_masked")
    assert token["scope"] == "parties:read_masked"
    api, path = with_token(planted.api, token), planted.renew("parties")
    answer = api.get(path)
    assert ok(answer)["email"] == MASK and not planted.found_in(answer)
    refused(api.get("brokers"), 403, FORBIDDEN)


def test_me_shows_masked_scopes(document, masked):
    assert sorted(ok(masked.get("me"))["scopes"]) == sorted(masked_scopes(document))


def test_an_area_that_is_not_masked_is_seen_in_full(planted, module_admin_factory):  # noqa: F811
    organization = planted.api.credential.organizations[0]
    key = module_admin_factory.key(organization, scopes=["brokers:read", "parties:read_masked", "documents:write"])
    api = Api(planted.api.instance, key)
    for collection, is_masked in ("brokers", False), ("parties", True):
        path = planted.renew(collection)
        assert (ok(api.get(path)) == ok(planted.api.get(path))) is not is_masked
    answer = api.patch(planted.renew("documents"), json={"title": "A"})  # it may not read documents
    assert ok(answer)["number"] == MASK
    types = {one["type"]: one for one in ok(api.get("events?limit=100"))["items"]}
    assert MASK not in json.dumps(types["broker.updated"]) and MASK in json.dumps(types["party.updated"])


@pytest.mark.parametrize("role", ["org_viewer", "org_editor"])
def test_a_role_that_is_restricted_to_masked_scopes_has_no_others(planted, module_admin_factory, role):  # noqa: F811
    organization = planted.api.credential.organizations[0]
    key = module_admin_factory.key(organization, role=role, scopes=["parties:read_masked", "brokers:write", "audit:read"])
    api = Api(planted.api.instance, key)
    expected = ["brokers:write", "parties:read_masked"] if role == "org_editor" else ["parties:read_masked"]
    assert ok(api.get("me"))["scopes"] == expected
    for path in "audit", "usage", "brokers", "leads", "webhooks":
        refused(api.get(path), 403, FORBIDDEN)
    assert not planted.found_in(api.get("events?limit=100"))


def test_credentials_without_access_read_nothing(planted, module_admin_factory):  # noqa: F811
    """Another tenant's, with each id, one that has expired, one without scopes to read, and none."""
    organization = planted.api.credential.organizations[0]
    past = "2026-01-01T00:00:00Z"
    strangers = {"another tenant": module_admin_factory.key(), "expired": module_admin_factory.key(organization, expires_at=past),
                 "no scope": module_admin_factory.key(organization, scopes=["properties:write"]), "none": None}
    wrong = []
    for name, credential in strangers.items():
        api = Api(planted.api.instance, credential)
        for operation, path in planted.reads():
            answer = api.request(operation.method.upper(), path)
            wrong += [(name, path)] if planted.found_in(answer) else []
            assert answer.status_code in ((200, 400, 403, 404) if credential and name != "expired" else (401,)), (name, path)
    assert not wrong


# ---------------------------------------------------------------- subscriptions


def test_deliveries_of_a_masked_subscription_are_masked(planted, masked, receiver):  # noqa: F811
    events = ["*", "lead.*", "whatsapp.*"]
    ours = subscribe(masked, receiver.url + "/masked", *events, include=["changed", "previous"])
    batched = subscribe(masked, receiver.url + "/batched", *events, batch={"max_items": 5, "max_wait_ms": 100})
    full = subscribe(planted.api, receiver.url + "/full", *events, include=["changed", "previous"])
    assert ours["is_masked"] is True and "is_masked" not in full
    for collection in planted.document.collections:
        if planted.sensitive(collection):
            planted.renew(collection)
    for one in ours, batched, full:
        eventually(lambda: all(delivery["status"] == "success" for delivery in deliveries(planted.api, one)), "all deliveries")
    bodies = {end: b"".join(one.body for one in receiver.arrivals if one.path == end).decode() for end in ("/masked", "/batched", "/full")}
    assert [one for one in planted.values if one in bodies["/full"]] and MASK not in bodies["/full"]
    for end in "/masked", "/batched":
        assert not [one for one in planted.values if one in bodies[end]]
        assert bodies[end].count(MASK) > 10
    for api in masked, planted.api:
        shown = detail(api, full, deliveries(api, full)[0])
        assert (MASK in json.dumps(shown)) is (api is masked)
        for one in deliveries(planted.api, ours):
            answer = api.get(f"webhooks/{ours['id']}/deliveries/{one['id']}")
            sent, = [arrival.json for arrival in receiver.arrivals if arrival.path == "/masked" and arrival.json["id"] == one["id"]]
            assert ok(answer)["payload"] == sent["payload"] and not planted.found_in(answer)


def test_the_response_of_a_receiver_is_not_shown(planted, masked, receiver):  # noqa: F811
    """It can repeat what it was sent."""
    receiver.behave(echo)
    full = subscribe(planted.api, receiver.url, "party.*")
    planted.renew("parties")
    delivery = attempted(planted.api, full)
    assert "response_excerpt" in delivery["attempts"][0]
    answer = masked.get(f"webhooks/{full['id']}/deliveries/{delivery['id']}")
    assert "response_excerpt" not in ok(answer)["attempts"][0] and not planted.found_in(answer)


def test_a_masked_credential_cannot_have_full_deliveries_sent_to_itself(document, planted, masked):
    theirs = ok(planted.api.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*"]}), 201)
    ours = ok(masked.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*"]}), 201)
    tried = 0
    for operation in document.operations:
        if operation.collection == "webhooks" and operation.path_ids and operation.method in ("post", "put", "patch", "delete"):
            ids = [theirs["id"], *planted.org.fill(operation)[1:]]
            body = {"json": operation.examples[0]} if operation.examples else {}
            refused(masked.request(operation.method.upper(), operation.at(ids), **body), 403, FORBIDDEN)
            tried += 1
    assert tried >= 8 and ok(planted.api.get("webhooks/" + theirs["id"])) == {name: one for name, one in theirs.items() if name != "secret"}
    path = "webhooks/" + ours["id"]
    for value in False, None:
        assert wrong_fields(masked.patch(path, json={"is_masked": value})) == {"is_masked": "validation.webhook.is_masked_invalid"}
        assert "is_masked" in wrong_fields(masked.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*"], "is_masked": value}))
    assert ok(masked.put(path, json={"url": UNREACHABLE_URL, "events": ["*"]}))["is_masked"] is True
    assert ok(masked.patch(path, json={"description": "a"}))["is_masked"] is True
    refused(masked.patch("webhooks/whs_" + "0" * 26, json={"description": "a"}), 404, "not_found.webhook")
    assert "is_masked" not in ok(planted.api.patch(path, json={"is_masked": None}))
    refused(masked.patch(path, json={"url": UNREACHABLE_URL}), 403, FORBIDDEN)
    assert ok(planted.api.patch(path, json={"is_masked": True}))["is_masked"] is True
    ok(masked.delete(path), 204)


def test_subscriptions_cannot_filter_by_sensitive_fields(document):
    kinds = document.resolve(document.flat["Webhook"]["properties"]["filters"])["properties"]
    for kind, schema in kinds.items():
        masks = {name for name, one in document.flat.get(kind.title(), {}).get("properties", {}).items() if one.get("x-masked")}
        assert not masks & set(document.resolve(schema)["properties"]) - {"changed"}
