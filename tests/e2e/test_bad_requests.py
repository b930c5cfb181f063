# SPDX-License-Identifier: Apache-2.0
"""Bad bodies, queries, cursors, ids, paths and headers get the right error without internals, and the server keeps running.
tests/unit/test_json.c has more malformed JSON, test_validate.c more invalid fields."""

import json
import re
import uuid

import pytest

from client import Api, ok, refused
from raw_http import RawConnection, ask, check_response, message, no_child_crashes, param_id  # noqa: F401

JSON = [("Content-Type", "application/json")]
UNKNOWN_BROKER = "brk_01jd3x8m5t9w2q7r4y6z0a1b3c"


@pytest.fixture
def broker(api):
    made = api.broker()
    yield made
    api.delete("brokers/" + made["id"])


def send(api, method, path, body, type_="application/json"):
    """Sends bytes as a body."""
    return check_response(api.request(method, path, data=body, headers={"Content-Type": type_}), method)


def written(broker):
    """The operations with a body."""
    return [("POST", "brokers"), ("PUT", "brokers/" + broker["id"]), ("PATCH", "brokers/" + broker["id"])]


# ---------------------------------------------------------------- bodies

@pytest.mark.parametrize("code, body", [
    *(("malformed_json", body) for body in (
        b"{", b'{"name":"x",}', b'{"name":"x"} {"name":"y"}', b'{"name":NaN}', b'{"name":"a\\u0000b"}', b'{"name":"a\0b"}', b"\xff", b"\0",
        b'{"name":"x","name":"y"}', b'{"name":"x","nobody":{"a":1,"a":1}}', '{"name":"x"}'.encode("utf-16"), b'{"a":' * 10_000,
        b"[]", b'"name"', b"1", b"null", b"true", b'[{"name":"x"}]', b" \r\n\t ")),
    ("body_required", b"")], ids=param_id)
def test_a_body_that_is_no_object_is_refused(api, broker, code, body):
    for method, path in written(broker):
        problem = refused(send(api, method, path, body), 400, "validation." + code)
        assert not body.startswith(b'{"') or re.search(r"line \d+", problem["detail"]), problem
    assert ok(api.get("brokers/" + broker["id"])) == broker


@pytest.mark.parametrize("depth", [1_000, 100_000])
@pytest.mark.parametrize("before, inside, after", [
    ('{"name":"x","bank_account":', '{"bank_account":', "}"), ('{"name":', "[", "]"), ('{"name":"x","nobody":', '{"a":', "}"),
    ("", "[", "]")])
def test_deep_nesting_is_refused(api, broker, depth, before, inside, after):
    body = before + inside * depth + "1" + after * depth + ("}" if before else "")
    for method, path in written(broker):
        answer = send(api, method, path, body.encode())
        if depth == 100_000:
            refused(answer, 413, "validation.body_too_large")
        else:
            assert answer.status_code == 400 and answer.json()["code"] != "internal.unexpected"
            assert len(answer.content) < 2000


@pytest.mark.parametrize("value", [b"{}", b"[]", b'{"a":{}}', b"1,1,1,1,1,1", b'{"a":"{}","b":1,"a":2}'], ids=param_id)
def test_a_body_with_very_many_values_is_refused_before_they_take_memory(api, broker, value):
    """Each object takes 500 bytes, so that a mebibyte of them would take 180 MB for each thread, and httpd would keep it."""
    for method, path in [*written(broker), ("POST", "brokers/batch")]:
        body = b'{"name":"x","operations":[' + b",".join([value] * (1_000_000 // (len(value) + 1))) + b"]}"
        assert "JSON values" in refused(send(api, method, path, body), 413, "validation.body_too_large")["detail"]
    long = json.dumps({"name": "x", "creci": "[{,\"" * 200_000})
    assert send(api, "POST", "brokers", long.encode()).json()["errors"][0]["field"] == "creci"


@pytest.mark.parametrize("number", ["9007199254740993", "1e-400", "9" * 10_000, "1" + "0" * 10_000 + "e-10000", "1e99999999999999999999"],
                         ids=param_id)
def test_a_number_of_any_size_is_refused_as_a_string(api, number):
    answer = send(api, "POST", "brokers", b'{"name":%s}' % number.encode())
    assert answer.status_code == 400 and len(answer.content) < 2000
    assert answer.json()["code"] in ("validation.broker.name_invalid", "validation.malformed_json"), answer.json()


@pytest.mark.parametrize("type_", [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "*/*",
                                   "application/jsonx", "json", "application/", "/json", "application/xml", "application/json/x",
                                   "text/json", "application/problem+json", "application/jso", "applicationXjson", "a" * 4000], ids=param_id)
def test_a_body_that_is_not_declared_as_json_is_refused(api, broker, type_):
    for method, path in written(broker):
        refused(send(api, method, path, b'{"name":"x"}', type_), 415, "validation.unsupported_media_type")


@pytest.mark.parametrize("type_", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON",
                                   'application/json;charset="UTF-8"', "application/json ;x=y"])
def test_every_spelling_of_the_json_media_type_is_accepted(api, broker, type_):
    for method, path in written(broker):
        assert send(api, method, path, b'{"name":"x"}', type_).status_code == (201 if method == "POST" else 200)


@pytest.mark.parametrize("type_", ["application/merge-patch+json", "application/merge-patch+json; charset=utf-8"])
def test_the_media_type_of_merge_patches_is_for_patch_only(api, broker, type_):
    for method, path in written(broker):
        answer = send(api, method, path, b'{"name":"x"}', type_)
        if method == "PATCH":
            ok(answer)
        else:
            refused(answer, 415, "validation.unsupported_media_type")


# ---------------------------------------------------------------- the query

@pytest.mark.parametrize("path", ["brokers", "me", "brokers/{id}", "openapi.yaml"])
@pytest.mark.parametrize("query", ["nobody=1", "Limit=1", "limit%5b%5d=1", "nobody", "=1", "%F0%9F%98%80=1", "a" * 4000],
                         ids=param_id)
def test_an_unknown_parameter_is_refused(api, broker, path, query):
    refused(check_response(api.get(f"{path.format(**broker)}?{query}")), 400, "validation.unknown_parameter")


@pytest.mark.parametrize("method, path", [("POST", "brokers"), *((method, "brokers/{id}") for method in ("PUT", "PATCH", "DELETE"))])
def test_writes_have_no_parameters(api, broker, method, path):
    for query, code in (("limit=5", "unknown_parameter"), ("x", "unknown_parameter"), ("x=", "unknown_parameter")):
        refused(api.request(method, path.format(**broker) + "?" + query, json={"name": "x"}), 400, "validation." + code)
    assert api.request(method, path.format(**broker) + "?", json={"name": "x"}).status_code in (200, 201, 204)


@pytest.mark.parametrize("value", ["%", "%z", "%zz", "a%", "a%4", "%00", "a%00b", "%ff", "%c0%af", "%ed%a0%80", "%01",
                                   "%0d%0aX-Evil:%201", "%E2%82"])
def test_broken_percent_encoding_in_the_query_is_refused(api, value):
    for query in ("q=" + value, "creci=" + value, "cursor=" + value, "nobody" + value + "=1"):
        answer = ask(api, "GET", "brokers?" + query)
        assert (answer.status_code, answer.json()["code"]) == (400, "validation.parameter_invalid"), answer.json()
        assert "X-Evil" not in answer.headers


@pytest.mark.parametrize("value", ["' or 1=1 --", "'; drop table neoapi.broker; --", "\\", "$1", "%s%n", '" or ""="',
                                   "x" * 3000,
                                   "😀"], ids=param_id)
def test_a_filter_is_always_a_value(own_api, value):
    own_api.broker()
    for name, text in (("q", "x" + value + "yz"), ("creci", value), ("email", value), ("document_number", value)):
        assert ok(own_api.get("brokers", params={name: text}))["items"] == []


def test_very_many_parameters_are_handled(api):
    assert api.get("brokers?" + "&".join(f"p{n}=1" for n in range(1000))).status_code == 400
    assert api.get("brokers?" + "&" * 5000).status_code == 200
    assert api.get("brokers?email=" + "," * 5000).status_code == 400


# ---------------------------------------------------------------- cursors

@pytest.fixture(scope="module")
def cursor(instance, admin_factory, principals):
    """A valid cursor, and a client that can use it."""
    api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
    for _ in range(3):
        api.broker()
    return ok(api.get("brokers?limit=1"))["page_info"]["end_cursor"], api


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def test_a_cursor_with_any_changed_character_is_refused(cursor):
    good, api = cursor
    assert ok(api.get("brokers", params={"limit": 1, "cursor": good}))["items"]
    for at in range(len(good)):
        number = ALPHABET.find(good[at])
        changed = good[:at] + (ALPHABET[number ^ 32] if number >= 0 else "A") + good[at + 1:]
        refused(api.get("brokers", params={"cursor": changed}), 400, "validation.cursor_invalid")


@pytest.mark.parametrize("forge", [
    lambda good: good.swapcase(), lambda good: good[::-1], lambda good: " " + good, lambda good: "A" * len(good),
    lambda good: "_" * 5000, lambda good: UNKNOWN_BROKER, lambda good: "eyJpZCI6MX0=", lambda good: good + " ",
    lambda good: "'; --", lambda good: "", lambda good: "AAAA", lambda good: good[:-1], lambda good: good[1:], lambda good: good + "A",
    lambda good: good[:len(good) // 2], lambda good: good + "=", lambda good: good + "==", lambda good: good + good,
], ids=param_id)
def test_a_forged_cursor_is_refused(cursor, forge):
    good, api = cursor
    refused(check_response(api.get("brokers", params={"cursor": forge(good)})), 400, "validation.cursor_invalid")


# ---------------------------------------------------------------- ids and paths

REST = UNKNOWN_BROKER[4:]  # of an id, after its prefix


@pytest.mark.parametrize("id_", [
    UNKNOWN_BROKER, UNKNOWN_BROKER.upper(), "BRK_" + REST, "brk_" + REST.upper(), UNKNOWN_BROKER[:-1], UNKNOWN_BROKER + "0",
    "brk_", "brk", "whs_" + REST,
    "org_" + REST, "nbr_" + REST, REST, "%C3%A9", "brk-" + REST, "brk_8" + REST[1:], "brk_" + "z" * 26, "brk_" + "0" * 26, "brk_" + "u" * 26, "1", "-1",
    "null", "me", "*", "brk_" + "a" * 7000, "'", "%27%20or%20%271%27=%271", "%20", "%F0%9F%98%80", UNKNOWN_BROKER + "%20",
    "%20" + UNKNOWN_BROKER, UNKNOWN_BROKER + ";v=1", "~", "brk_%25", UNKNOWN_BROKER + "%3F", UNKNOWN_BROKER + "%23",
    UNKNOWN_BROKER + ".json",
], ids=param_id)
def test_an_unknown_id_is_not_found(api, id_):
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        body = b"" if method in ("GET", "DELETE") else b'{"name":"x"}'
        refused(ask(api, method, "brokers/" + id_, JSON, body), 404, "not_found.broker")


# httpd refuses a percent-encoded slash or NUL before modules see the path.
@pytest.mark.parametrize("path", ["brokers/%zz", "brokers/%", "brokers/%4", "brokers/a%00b", "brokers/%00", "brokers/%2F",
                                  "brokers%2Fx", "%2e%2e%2fbrokers", "brokers/%ff", "brokers/%c0%af", "brokers/%ed%a0%80",
                                  "brokers/%01", "brokers/%0d%0aX-Evil:%201", "brokers/%7f", "brokers/%E2%82",
                                  "brokers/" + UNKNOWN_BROKER + "%0A", "%", "%c0%ae/", "brokers%5Cx"])
def test_a_path_with_broken_or_forbidden_encoding_is_refused(api, path):
    answer = ask(api, "GET", path)
    assert answer.status_code in (400, 404), answer.content
    assert "X-Evil" not in answer.headers


@pytest.mark.parametrize("path", [
    "", "nobody", "broker", "Brokers", "BROKERS", "brokers/", "brokers/x/y", "brokers/x/", f"brokers/{UNKNOWN_BROKER}/",
    f"brokers/{UNKNOWN_BROKER}/deliveries", "brokers%2F" + UNKNOWN_BROKER, "webhooks/x/retry", "me/", "me/x", "ME", "v1/me", "public/v1/me",
    "brokers.json", "openapi.yml", "openapi.yaml/", "index.html", "%20me", "me%20", "me;x", "%E2%82%AC",
    "brokers%3Flimit=1", "%6De%2e", "a/" * 2000, "x" * 7000, "__proto__", ".git/config", ".htaccess", "server-status"], ids=param_id)
def test_a_path_that_the_api_does_not_have_is_not_found(api, path):
    for method, body in (("GET", b""), ("POST", b"{}"), ("DELETE", b""), ("OPTIONS", b"")):
        refused(ask(api, method, path, JSON, body), 404, "not_found.route")


@pytest.mark.parametrize("path", ["docs/x", "docs/errors/"])
def test_a_page_that_the_documentation_does_not_have_is_not_found(api, path):
    refused(ask(api, "GET", path), 404, "not_found.route")
    refused(ask(api, "POST", path, JSON, b"{}"), 405, "validation.method_not_allowed")


@pytest.mark.parametrize("path", ["brokers/../me", "brokers/%2e%2e/me", "./me", "%6d%65", "brokers//..//me",
                                  "brokers/../../v1/me", "/public//v1///me"])
def test_a_path_is_normalized_before_routing(api, path):
    answer = ask(api, "GET", path)
    assert (answer.status_code, answer.json()["type"]) == (200, "api_key"), answer.content


@pytest.mark.parametrize("path", ["../../etc/passwd", "../../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd",
                                  "..%2f..%2fetc/passwd",
                                  ".%00./x", "..\\..\\x"], ids=param_id)
def test_no_path_leads_to_a_file(api, path):
    with RawConnection(api) as connection:
        answer = connection.send(message(api, "GET", path)).answer()
    assert answer.status_code in (400, 403, 404) and b"root:" not in answer.content


# ---------------------------------------------------------------- headers

@pytest.mark.parametrize("secret", ["x", "nbr_", "pat_", "nbr_" + REST, "a" * 8000, "é" * 100, f"nbr_{REST}_" + "A" * 49,
                                    f"nbr_{REST}_", "'; --", "\xff\xfe", "Bearer x", "a\tb", ",", "nbr_" * 1000], ids=param_id)
def test_a_malformed_credential_is_refused(anonymous, secret):
    refused(ask(anonymous, "GET", "me", [("X-API-Key", secret)]), 401, "unauthorized.invalid_credential")


def test_a_credential_with_any_changed_character_is_refused(anonymous, principals):
    good = principals.admin.secret
    for at in range(len(good)):
        changed = good[:at] + ("x" if good[at] != "x" else "y") + good[at + 1:]
        refused(anonymous.get("me", headers={"X-API-Key": changed}), 401, "unauthorized.invalid_credential")
    for changed in (good + "0", good[:-1], good.swapcase(), good.upper(), " ".join(good), good + good, good.replace("_", "-")):
        refused(anonymous.get("me", headers={"X-API-Key": changed}), 401, "unauthorized.invalid_credential")


@pytest.mark.parametrize("organization",
                         ["x", "org_", "org_" + "0" * 26, "'", "a" * 8000, "\xff", "org_a,org_b", UNKNOWN_BROKER],
                         ids=param_id)
def test_another_organization_is_refused(api, principals, organization):
    for credential in (principals.admin, principals.token_one, principals.token_both):
        answer = ask(api.with_(credential=credential), "GET", "brokers", [("X-Organization-ID", organization)])
        refused(answer, 403, "forbidden.organization")


UUID = "7f3b2c1d-9a8e-4b6f-8d2a-1c3e5f7a9b0d"


@pytest.mark.parametrize("key", ["x", "1", "d9428888-122b-11e1-b85c-61cd3cbb3210", str(uuid.UUID(int=0)), "{" + UUID + "}", "'",
                                 '""', "urn:uuid:" + UUID, "a" * 8000, "\xff", f"{UUID}, {UUID}",
                                 UUID[:-1], UUID + "0", '"' + UUID, UUID.replace("-", "")], ids=param_id)
def test_an_idempotency_key_must_be_a_uuid_of_version_4(api, key):
    answer = ask(api, "POST", "brokers", [*JSON, ("Idempotency-Key", key)], b'{"name":"x"}')
    refused(answer, 400, "validation.idempotency_key_invalid")


def test_two_idempotency_keys_are_refused(api):
    keys = [("Idempotency-Key", uuid.uuid4()), ("Idempotency-Key", uuid.uuid4())]
    refused(ask(api, "POST", "brokers", [*JSON, *keys], b'{"name":"x"}'), 400, "validation.idempotency_key_invalid")


@pytest.mark.parametrize("tag", ["x", '"', '"x', 'W/"', '"a" "b"', ",,,", "*x", "\xff", "a" * 8000, '"\x80"',
                                 ", ".join(f'"{n}"' for n in range(1000))], ids=param_id)
def test_an_entity_tag_of_any_form_is_handled(api, broker, tag):
    path = "brokers/" + broker["id"]
    assert ask(api, "GET", path, [("If-None-Match", tag)]).status_code == 200
    answer = ask(api, "PATCH", path, [*JSON, ("If-Match", tag)], b'{"phone":"+55 11 98765-4321"}')
    assert answer.status_code in (400, 412), answer.content
    assert ok(api.get(path)) == broker


@pytest.mark.parametrize("name", ["Accept", "Accept-Encoding", "Accept-Language", "Range", "If-Modified-Since",
                                  "If-Unmodified-Since",
                                  "If-Range", "Cookie", "Authorization", "Origin", "Referer", "User-Agent", "X-Forwarded-For",
                                  "X-Request-ID", "X-RateLimit-Limit", "X-HTTP-Method-Override", "Upgrade", "Via"])
def test_other_headers_do_not_change_the_response(api, broker, name):
    for value in ("x", "\xff", "a" * 8000, "'; --", "bytes=0-1", "DELETE", "req_01jd3x8m5t9w2q7r4y6z0a1b3c"):
        answer = ask(api, "GET", "brokers/" + broker["id"], [(name, value)])
        assert answer.status_code in (200, 412, 416), answer.content
        assert answer.headers["X-Request-ID"] != value
        if answer.status_code == 200:
            assert ok(answer) == broker
