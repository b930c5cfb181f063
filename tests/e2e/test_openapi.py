# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document and the error page: public and correct."""

import re
import uuid
from html.parser import HTMLParser

import pytest
from client import CODES, Api, ok, refused

jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")

METHODS = {"get", "put", "post", "delete", "patch"}
RATE_LIMIT_HEADERS = {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit"}


@pytest.fixture(scope="module")
def document(instance):
    return Api(instance, source="127.0.0.9").description()


def resolve(document, value):
    """The target of a $ref, or the value itself."""
    while "$ref" in value:
        at = document
        for word in value["$ref"].removeprefix("#/").split("/"):
            at = at[word.replace("~1", "/").replace("~0", "~")]
        value = at
    return value


def operations(document):
    for path, item in document["paths"].items():
        for method in METHODS & set(item):
            yield path, method, item[method]


def parameters(document, operation):
    return {resolve(document, parameter)["name"] for parameter in operation.get("parameters", [])}


def assert_conforms(document, value, schema):
    jsonschema.Draft202012Validator(
        {**schema, "components": document["components"]} if "$ref" not in schema else
        {"$ref": schema["$ref"], "components": document["components"]},
        format_checker=jsonschema.FormatChecker()).validate(value)


# ---------------------------------------------------------------- served


def test_the_description_needs_no_credential(anonymous):
    response = anonymous.get("openapi.yaml")
    assert response.status_code == 200 and response.headers["Content-Type"] == "application/yaml"
    assert response.content == anonymous.with_(credential="nonsense").get("openapi.yaml").content
    assert re.match(r"openapi: ['\"]?3\.1\.\d+['\"]?\n", response.text)


def test_the_description_is_revalidated_with_its_etag(anonymous):
    etag = anonymous.get("openapi.yaml", headers={"Accept-Encoding": "identity"}).headers["ETag"]
    assert anonymous.get("openapi.yaml", headers={"If-None-Match": etag}).status_code == 304
    page = anonymous.get("docs/errors", headers={"Accept-Encoding": "identity"}).headers["ETag"]
    assert anonymous.get("docs/errors", headers={"If-None-Match": page}).status_code == 304 and page != etag


def test_the_description_names_the_server(document, instance, second_host_api):
    assert document["servers"][0]["url"].rstrip("/") == instance.url.rstrip("/")
    other = second_host_api.description()
    assert other["servers"][0]["url"].rstrip("/") == "https://api.example.com/public/v1"


def test_problems_link_to_the_error_page_of_the_host(api, second_host_api, instance):
    assert api.get("nothing").json()["documentation_url"].startswith(instance.url)
    assert second_host_api.get("nothing").json()["documentation_url"] == "https://docs.example.com/api/errors#not_found.route"


class Anchors(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name == "id"]


def test_the_page_of_errors_explains_every_code(anonymous, api):
    url = api.get("nothing").json()["documentation_url"].partition("#")[0]
    response = anonymous.get(url)
    assert response.status_code == 200 and response.headers["Content-Type"].startswith("text/html")
    anchors = Anchors(response.text).found
    assert len(anchors) == len(set(anchors))
    literal = [code for pattern in set(CODES.values()) for code in expand(pattern)]
    fields = ["name_required", "name_invalid", "creci_invalid", "document_number_invalid", "email_invalid", "phone_invalid",
              "bank_account_invalid", "bank_account_pix_key_invalid", "bank_account_account_type_invalid", "visibility_invalid"]
    assert set(literal) | {f"validation.broker.{field}" for field in fields} <= set(anchors)


def expand(pattern):
    """The codes of a pattern of client.CODES without wildcards."""
    prefix, _, rest = re.sub(r"\|\([^)]*\)\\\..*", "", pattern).replace("\\", "").partition(".")
    return [f"{prefix}.{word}" for word in rest.strip("()").split("|") if re.fullmatch("[a-z_]+", word)]


# ---------------------------------------------------------------- completeness


def test_a_broker_is_described_by_the_columns_of_its_table(document, instance):
    columns = [name for name, in instance.sql("select column_name from information_schema.columns where table_schema = 'neoapi'"
                                              " and table_name = 'broker'")]
    broker = document["components"]["schemas"]["Broker"]
    assert {name for schema in [broker, *broker["allOf"]] for name in resolve(document, schema)["properties"]} \
        == set(columns) - {"representation"}


def test_every_operation_of_the_contract_is_described(document):
    described = {(method, path) for path, method, _ in operations(document)}
    names = ("brokers", "properties", "parties", "proposals", "contracts", "documents", "leads", "webhooks")
    collections = {(method, f"/{name}{path}") for name in names for path in ("", "/{id}") for method in
                   (METHODS - {"post"} if path else ("get", "post"))}
    assert described == collections | {("post", f"/{name}/batch") for name in names[:-1]} | {
        ("get", f"/{name}/export") for name in names[:-1]} | {
        (method, f"/{name}/by-external-id/{{external_id}}") for name in names[:-1] for method in ("get", "put", "patch", "delete")} | {
        ("get", "/me"), ("post", "/oauth/token"), ("get", "/me/limits"), ("get", "/me/refusals"), ("get", "/openapi.yaml"), ("get", "/event-types"), ("get", "/docs/errors"), ("post", "/webhooks/{id}/rotate-secret"),
        ("post", "/webhooks/{id}/rotate-key"), ("get", "/.well-known/jwks.json"),
        ("post", "/webhooks/{id}/test"), ("post", "/webhooks/{id}/recover"), ("get", "/webhooks/{id}/deliveries"),
        ("get", "/webhooks/{id}/deliveries/{delivery_id}"), ("post", "/webhooks/{id}/deliveries/{delivery_id}/retry"),
        ("post", "/whatsapp/conversations"), ("get", "/whatsapp/conversations"), ("get", "/whatsapp/conversations/{id}"),
        ("patch", "/whatsapp/conversations/{id}"), ("get", "/whatsapp/conversations/{id}/messages"),
        ("post", "/whatsapp/conversations/{id}/messages"), ("post", "/whatsapp/conversations/{id}/read"),
        ("get", "/whatsapp/numbers"), ("get", "/whatsapp/templates"), ("get", "/whatsapp/usage"),
        ("get", "/subjects"), ("post", "/subjects/export"), ("post", "/subjects/erase"),
        ("get", "/whatsapp/conversations/{id}/messages/{message_id}/media"),
        ("get", "/events"), ("get", "/events/{id}"), ("get", "/audit"), ("get", "/usage"), ("post", "/leads/{id}/merge"), ("get", "/portal-problems")}


def test_every_described_operation_exists_and_no_other(document, api):
    for path, item in document["paths"].items():
        allowed = api.options(re.sub(r"\{\w+\}", "brk_" + "0" * 26, path)[1:]).headers["Allow"].lower().split(", ")
        beside = {"head", "options"} if "get" in item else {"options"}  # described in the introduction
        assert set(allowed) == beside | METHODS & set(item), path


def test_every_operation_describes_its_headers_and_the_common_errors(document):
    ids = set()
    for path, method, operation in operations(document):
        ids.add(operation["operationId"])
        responses = {status: resolve(document, response) for status, response in operation["responses"].items()}
        for status, response in responses.items():
            assert "X-Request-ID" in response["headers"], (path, method, status)
            if status >= "400":
                is_oauth = path == "/oauth/token" and status in ("400", "401")
                assert (list(response["content"])[0] == "application/json" if is_oauth
                        else list(response["content"]) == ["application/problem+json"])
        expected = {"429", "500", "503"}
        if operation.get("security", document["security"]):
            expected |= {"401", "403"}
        if "{id}" in path:
            expected |= {"404"}
        if "requestBody" in operation:
            expected |= {"400", "413"} | ({"415"} if path != "/oauth/token" else set())  # which has invalid_request
        has_unique_fields = not path.startswith("/whatsapp/")
        if (method in ("put", "patch") and has_unique_fields) or "Idempotency-Key" in parameters(document, operation):
            expected |= {"409"}
        if method in ("put", "patch", "delete"):
            expected |= {"412"}
        assert expected <= set(responses), (path, method)
        assert {"Retry-After", *RATE_LIMIT_HEADERS} <= set(responses["429"]["headers"])
    assert len(ids) == len(list(operations(document)))


def test_every_filter_is_described(document):
    names = parameters(document, document["paths"]["/brokers"]["get"])
    assert {"limit", "cursor", "creci", "document_number", "email", "visibility", "q", "created_gte", "created_lte",
            "updated_gte", "updated_lte"} <= names


def test_the_description_marks_operations_without_authentication(document):
    open_to_all = {path for path, _, operation in operations(document) if operation.get("security") == []}
    assert open_to_all == {"/openapi.yaml", "/event-types", "/docs/errors", "/oauth/token", "/.well-known/jwks.json"}


# ---------------------------------------------------------------- examples and responses


def list_examples(document):
    for path, method, operation in operations(document):
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for holder in [*bodies, *operation["responses"].values()]:
            for media_type, content in resolve(document, holder).get("content", {}).items():
                for name, example in content.get("examples", {}).items():
                    if "json" in media_type:
                        yield (path, method, name), resolve(document, example)["value"], content["schema"]
                if "example" in content and "json" in media_type:
                    yield (path, method, "example"), content["example"], content["schema"]


def test_the_examples_conform_to_their_schemas(document):
    found = list(list_examples(document))
    assert len(found) > 10
    for _, value, schema in found:
        assert_conforms(document, value, schema)


def test_the_examples_of_bodies_are_accepted(document, own_api):
    bodies = document["paths"]["/brokers"]["post"]["requestBody"]["content"]["application/json"]
    for example in bodies["examples"].values():
        broker = ok(own_api.post("brokers", json=resolve(document, example)["value"]), 201)
        for method in ("put", "patch"):
            content = document["paths"]["/brokers/{id}"][method]["requestBody"]["content"]["application/json"]
            for change in content["examples"].values():
                ok(own_api.request(method.upper(), "brokers/" + broker["id"], json=resolve(document, change)["value"]))


@pytest.fixture
def checked(document, monkeypatch):
    """checked(api) compares every response with its description."""
    seen = set()

    def compare(path, method, response):
        operation = document["paths"][path][method]
        status = str(response.status_code)
        assert status in operation["responses"], (method, path, status)
        described = resolve(document, operation["responses"][status])
        every = resolve(document, operation["responses"]["429"])["headers"]
        headers = {**described["headers"], **{name: every[name] for name in RATE_LIMIT_HEADERS}}
        for name, header in headers.items():
            header = resolve(document, header)
            if name in response.headers and header["schema"].get("type") == "integer":
                assert_conforms(document, int(response.headers[name]), header["schema"])
            assert name in response.headers or not header.get("required"), (name, dict(response.headers))
        media_type = response.headers.get("Content-Type", "").partition(";")[0]
        assert ([media_type] if media_type else []) == list(described.get("content", {})), (method, path, status)
        if "json" in media_type:
            assert_conforms(document, response.json(), described["content"][media_type]["schema"])
        seen.add((method, path, status))

    def asker(api):
        def ask(method, at, path=None, **more):
            response = api.request(method, at, **more)
            compare(path or "/" + at, method.lower(), response)
            return response
        return ask

    asker.seen = seen
    return asker


def test_live_responses_conform_to_the_description(checked, own_api, principals, instance):
    ask, one = checked(own_api), "/brokers/{id}"
    key = {"Idempotency-Key": str(uuid.uuid4())}
    full = {"name": "Ana", "creci": "SP 1", "document_number": "1", "email": "a@b.br", "phone": "1", "visibility": "public",
            "bank_account": {name: "1" for name in ("bank_code", "bank_name", "agency", "account_number", "pix_key")}}
    for body, headers in [(full, {}), ({"name": "Bia"}, key), ({"name": "Bia"}, key), ({"name": "Caio"}, key), (full, {}),
                          ({}, {}), ({"name": "x", "creci": 5, "y": 1}, {})]:
        ask("POST", "brokers", json=body, headers=headers)
    ask("POST", "brokers", data=b"{", headers={"Content-Type": "application/json"})
    ask("POST", "brokers", data=b"{", headers={"Content-Type": "text/plain"})
    ask("POST", "brokers", data=b" " * (1 << 20) + b"1", headers={"Content-Type": "application/json"})
    listed = ask("GET", "brokers", params={"limit": 1}).json()
    ask("GET", "brokers", params={"limit": 0})
    ask("GET", "brokers", params={"cursor": listed["page_info"]["end_cursor"], "q": "abc"})
    at = "brokers/" + listed["items"][0]["id"]
    etag = ask("GET", at, one).headers["ETag"]
    ask("GET", at, one, headers={"If-None-Match": etag})
    for method in ("PATCH", "PUT"):
        ask(method, at, one, json={"name": "Duda"})
        ask(method, at, one, json={"name": 5})
        ask(method, at, one, json={"name": "Duda", "creci": "sp1"})
        ask(method, at, one, json={"name": "Duda"}, headers={"If-Match": '"x"'})
        ask(method, "brokers/brk_x", one, json={"name": "Duda"})
    ask("DELETE", at, one, headers={"If-Match": '"x"'})
    ask("DELETE", at, one)
    ask("DELETE", at, one)
    ask("GET", at, one)
    ask("GET", "me")
    checked(Api(instance, principals.token_both))("GET", "me")
    checked(Api(instance, principals.token_both))("GET", "brokers")
    checked(Api(instance, principals.admin, principals.other_organization))("GET", "me")
    checked(Api(instance, principals.viewer))("DELETE", at, one)
    for path in ("openapi.yaml", "docs/errors"):
        ask("GET", path)
    for credential in (None, "nonsense"):
        checked(Api(instance, credential, source="127.0.0.9"))("GET", "brokers")
    assert len(checked.seen) > 25


def test_the_schema_of_a_create_and_the_service_agree(document, own_api):
    """The service accepts and refuses the same bodies as the schema."""
    schema = document["paths"]["/brokers"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator({**schema, "components": document["components"]})
    bodies = [{}, {"name": ""}, {"name": "x" * 200}, {"name": "x" * 201}, {"name": 5}]
    bodies += [{"name": "Ana", **more} for more in [
        {}, {"x": 1}, {"visibility": "public"}, {"visibility": "no"}, {"creci": "x" * 33}, {"bank_account": []},
        {"bank_account": {"account_type": "savings"}}, {"bank_account": {"x": "y"}}]]
    for body in bodies:
        response = own_api.post("brokers", json=body)
        assert validator.is_valid(body) == (response.status_code == 201), (body, response.text)


def test_a_method_that_is_not_described_is_refused(document, api):
    for path, item in document["paths"].items():
        for method in METHODS - set(item):
            refused(api.request(method.upper(), re.sub(r"\{\w+\}", "brk_" + "0" * 26, path)[1:]), 405,
                    "validation.method_not_allowed")
