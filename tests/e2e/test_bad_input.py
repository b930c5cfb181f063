# SPDX-License-Identifier: Apache-2.0
"""Bad bodies and fields get the right error without internals, and the server keeps running."""

import json
import re

import pytest

from client import ok, refused, wrong_fields
from openapi_doc import Document
from raw_http import check_response, no_child_crashes, param_id  # noqa: F401

JSON = {"Content-Type": "application/json"}
GOOD = {"name": "Ana Paula Ribeiro", "creci": "CRECI-SP 123456-F", "bank_account": {"pix_key": "ana@example.com"}}


@pytest.fixture
def broker(api):
    made = api.broker()
    yield made
    api.delete("brokers/" + made["id"])


def send(api, method, path, body, headers=JSON):
    """Sends bytes as a body, with only the given headers."""
    return check_response(api.request(method, path, data=body, headers=headers), method)


# ---------------------------------------------------------------- bodies

MALFORMED = [
    '{', '{"name"', '{"name":', '{"name":}', '{"name":"x"', '{"name":"x",}', '{,}', "{'name':'x'}", '{name:"x"}',
    '{"name" "x"}', '[1,2', '}',
    '{"name":"x"}}', '{"name":"x"} {"name":"y"}', '{"name":"x"}garbage', '//\n{"name":"x"}', '{"name":"x"/**/}', 'nul', 'True',
    'undefined',
    '{"name":NaN}', '{"name":Infinity}', '{"name":-}', '{"name":01}', '{"name":+1}', '{"name":1.}', '{"name":.5}',
    '{"name":0x10}',
    '{"name":"\\x41"}', '{"name":"\\u12"}', '{"name":"\\ud800"}', '{"name":"\\udc00\\ud800"}', '{"name":"\\ud800x"}',
    '{"name":"a\tb"}',
    '{"name":"a\nb"}', '{"name":"x}', '\ufeff{"name":"x"}', '\x00', '{"name":"a\x00b"}', '{"name":"a\\u0000b"}',
    '{"na\\u0000me":"x"}',
]
NOT_UTF_8 = {
    "a stray byte": b"\xff", "Latin-1": b"Jos\xe9", "an overlong NUL": b"\xc0\x80", "an overlong slash": b"\xc0\xaf",
    "an overlong slash in three bytes": b"\xe0\x80\xaf", "a surrogate": b"\xed\xa0\x80",
    "a pair of surrogates": b"\xed\xa0\xbd\xed\xb8\x80",
    "beyond U+10FFFF": b"\xf4\x90\x80\x80", "five bytes": b"\xf8\x88\x80\x80\x80", "a sequence cut off": b"\xe2\x82",
    "a continuation alone": b"\x80",
}
REPEATED = ['{"name":"x","name":"y"}', '{"name":"x","\\u006eame":"x"}',
            '{"name":"x","bank_account":{"agency":"1","agency":"2"}}',
            '{"name":"x","nobody":{"a":1,"a":1}}']


@pytest.mark.parametrize("body", MALFORMED)
def test_malformed_json_is_refused_with_the_position_of_the_error(api, body):
    problem = refused(send(api, "POST", "brokers", body.encode()), 400, "validation.malformed_json")
    assert re.search(r"line \d+", problem["detail"])


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_malformed_json_is_refused_in_updates_as_well(api, broker, method):
    for body in (b"{", b"\xff", b'{"name":"x","name":"y"}'):
        refused(send(api, method, "brokers/" + broker["id"], body), 400, "validation.malformed_json")
    assert ok(api.get("brokers/" + broker["id"])) == broker


def test_a_body_truncated_at_any_position_is_refused(api):
    whole = json.dumps(GOOD).encode()
    for size in range(1, len(whole)):
        refused(send(api, "POST", "brokers", whole[:size]), 400, "validation.malformed_json")


@pytest.mark.parametrize("what", NOT_UTF_8)
def test_bytes_that_are_not_utf_8_are_refused(api, what):
    for body in (b'{"name":"%s"}', b'{"name":"x","%s":1}'):
        refused(send(api, "POST", "brokers", body % NOT_UTF_8[what]), 400, "validation.malformed_json")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
def test_json_in_another_encoding_is_refused(api, encoding):
    refused(send(api, "POST", "brokers", '{"name":"x"}'.encode(encoding)), 400, "validation.malformed_json")


@pytest.mark.parametrize("body", REPEATED)
def test_a_repeated_key_is_refused(api, body):
    refused(send(api, "POST", "brokers", body.encode()), 400, "validation.malformed_json")


@pytest.mark.parametrize("depth", [1_000, 100_000])
@pytest.mark.parametrize("before, inside, after", [
    ('{"name":"x","bank_account":', '{"bank_account":', "}"), ('{"name":', "[", "]"), ('{"name":"x","nobody":', '{"a":', "}"),
    ("", "[", "]"),
])
def test_deep_nesting_is_refused(api, broker, depth, before, inside, after):
    body = before + inside * depth + "1" + after * depth + ("}" if before else "")
    for method, path in (("POST", "brokers"), ("PATCH", "brokers/" + broker["id"])):
        answer = send(api, method, path, body.encode())
        if depth * len(inside + after) > 1_048_576:
            refused(answer, 413, "validation.body_too_large")
        else:
            assert answer.status_code == 400 and answer.json()["code"] != "internal.unexpected"
            assert len(answer.content) < 2000


def test_nesting_that_is_never_closed_is_refused(api):
    for text in ("[", '{"a":', '[{"a":'):
        refused(send(api, "POST", "brokers", (text * 100_000).encode()), 400, "validation.malformed_json")


@pytest.mark.parametrize("text", ["[]", "[{}]", '"name"', "1", "0.5", "null", "true", '[{"name":"x"}]'])
def test_a_body_that_is_no_object_is_refused(api, broker, text):
    for method, path in (("POST", "brokers"), ("PUT", "brokers/" + broker["id"]), ("PATCH", "brokers/" + broker["id"])):
        refused(send(api, method, path, text.encode()), 400, "validation.malformed_json")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_an_empty_body_is_refused(api, broker, method):
    path = "brokers" if method == "POST" else "brokers/" + broker["id"]
    refused(send(api, method, path, b""), 400, "validation.body_required")


def test_a_body_of_blanks_is_refused(api):
    answer = send(api, "POST", "brokers", b" \r\n\t ")
    assert answer.status_code == 400 and answer.json()["code"] in ("validation.body_required", "validation.malformed_json")


@pytest.mark.parametrize("number", ["9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
                                    "1e400", "-1e400",
                                    "1e-400", "0.1e1", "9" * 10_000, "1" + "0" * 10_000 + "e-10000", "1e99999999999999999999"])
def test_a_number_of_any_size_is_refused_as_a_string(api, number):
    answer = send(api, "POST", "brokers", b'{"name":%s}' % number.encode())
    assert answer.status_code == 400
    assert answer.json()["code"] in ("validation.broker.name_invalid", "validation.malformed_json"), answer.json()
    assert len(answer.content) < 2000


@pytest.mark.parametrize("type_", [None, "", "text/plain", "application/x-www-form-urlencoded",
                                   "multipart/form-data; boundary=x", "application/jsonx",
                                   "json", "application/", "/json", "application/xml", "application/json/x", "text/json",
                                   "application/problem+json",
                                   "application/jso", "applicationXjson", "a" * 4000], ids=param_id)
def test_a_body_that_is_not_declared_as_json_is_refused(api, broker, type_):
    for method, path in (("POST", "brokers"), ("PUT", "brokers/" + broker["id"]), ("PATCH", "brokers/" + broker["id"])):
        refused(send(api, method, path, b'{"name":"x"}', {"Content-Type": type_}), 415, "validation.unsupported_media_type")


def test_a_merge_patch_is_refused_by_create(api, broker):
    patch = {"Content-Type": "application/merge-patch+json"}
    refused(send(api, "POST", "brokers", b'{"name":"x"}', patch), 415, "validation.unsupported_media_type")
    refused(send(api, "PUT", "brokers/" + broker["id"], b'{"name":"x"}', patch), 415, "validation.unsupported_media_type")
    assert send(api, "PATCH", "brokers/" + broker["id"], b'{"name":"x"}', patch).status_code == 200


@pytest.mark.parametrize("type_", ["application/json; charset=utf-8", "APPLICATION/JSON", 'application/json;charset="UTF-8"',
                                   "application/json ;x=y"])
def test_every_spelling_of_the_json_media_type_is_accepted(api, type_):
    assert send(api, "POST", "brokers", b'{"name":"x"}', {"Content-Type": type_}).status_code == 201


@pytest.mark.parametrize("text", ["😀 José Ñandú", "e\u0301\u0327", "\u202eolleh", "\ufffe\uffff\ufdd0", "\U0010ffff",
                                  "\u2028\u2029\u200b", "'; drop table broker; --",
                                  "%s %n $1 \\ \\u0041 \"", "</script><b>", "../../x"])
def test_unusual_texts_are_returned_unchanged(own_api, text):
    made = own_api.broker(name=text)
    assert made["name"] == text
    assert [b["name"] for b in own_api.walk()] == [text]


# ---------------------------------------------------------------- fields

def fields_of(document, schema, path=""):
    """Path and schema of every writable field, objects before their members. Schemas are without null."""
    for name, field in document.merged(document.resolve(schema))["properties"].items():
        field = document.merged(document.resolve(field.get("anyOf", [field])[0]))
        if isinstance(field.get("type"), list):
            field = {**field, "type": field["type"][0]}
        if not field.get("readOnly"):
            yield path + name, field
            if "properties" in field:
                yield from fields_of(document, field, path + name + ".")


@pytest.fixture(scope="module")
def fields(instance):
    document = Document(instance)
    found = dict(fields_of(document, document.operation("post", "/brokers").body))
    assert len(found) == 15 and "bank_account.pix_key" in found  # fields were found
    return found


WRONG = {"string": [True, False, 1, -1, 0.5, 2**53 + 1, [], ["x"], [None], {}, {"a": "x"}], "object": ["x", "", 1, 0.5, True,
                                                                                                       [], [{}]]}


def types_of(field):
    types = field.get("type", "string")
    return [types] if isinstance(types, str) else [one for one in types if one != "null"]


def with_field(path, value):
    """A body that is valid except for one field."""
    body = {"name": "Ana"}
    *outer, last = path.split(".")
    place = body
    for step in outer:
        place = place.setdefault(step, {})
    place[last] = value
    return body


def code_of(path):
    return f"validation.broker.{path.replace('.', '_')}_invalid"


def test_a_value_of_the_wrong_type_is_refused_in_every_field(api, broker, fields):
    for path, field in fields.items():
        kind, = types_of(field)
        for value in WRONG[kind]:
            body = with_field(path, value)
            for method, at in (("POST", "brokers"), ("PUT", "brokers/" + broker["id"]), ("PATCH", "brokers/" + broker["id"])):
                answer = check_response(api.request(method, at, json=body), method)
                assert wrong_fields(answer) == {path: code_of(path)}, (method, body, answer.text)
    assert ok(api.get("brokers/" + broker["id"])) == broker


def test_all_invalid_fields_are_reported_at_once(api, fields):
    leaves = [path for path, field in fields.items() if types_of(field) == ["string"]]
    body = {}
    for path in leaves:
        *outer, last = path.split(".")
        place = body
        for step in outer:
            place = place.setdefault(step, {})
        place[last] = [1]
    answer = api.post("brokers", body)
    refused(answer, 400, "validation.failed")
    assert wrong_fields(answer) == {path: code_of(path) for path in leaves}


CONTROLS = ["\u0001", "a\u0001", "a\tb", "a\nb", "a\r\nb", "\u001b[31m", "a\u007f", "a\u0085b", "a\u009f"]


def test_control_characters_are_refused_in_every_text(api, fields):
    for path, field in fields.items():
        if types_of(field) == ["string"]:
            for text in CONTROLS:
                assert wrong_fields(api.post("brokers", with_field(path, text))) == {path: code_of(path)}, (path, text)


def test_a_text_that_is_too_long_or_blank_is_refused_in_every_field(api, fields):
    for path, field in fields.items():
        if types_of(field) == ["string"]:
            for text in ("x" * (field.get("maxLength", 100) + 1), "é" * 1000, "", "   "):
                found = wrong_fields(api.post("brokers", with_field(path, text)))
                assert found in ({path: code_of(path)}, {path: code_of(path).replace("_invalid", "_required")}), (path,
                                                                                                                  text[:3])


@pytest.mark.parametrize("key", ["nobody", "Name", "name ", "", "bank_account.pix_key", "__proto__", "constructor", "naïve",
                                 "\u0001", "x" * 100_000, "😀" * 1000, "representation",
                                 "organization_id); --"], ids=param_id)
def test_an_unknown_field_is_refused_and_its_name_truncated(api, broker, key):
    for method, path in (("POST", "brokers"), ("PUT", "brokers/" + broker["id"]), ("PATCH", "brokers/" + broker["id"])):
        for body in ({"name": "x", key: 1}, {"name": "x", "bank_account": {key: None}}):
            answer = api.request(method, path, json=body)
            refused(answer, 400, "validation.unknown_field")
            assert len(answer.content) < 2000


def test_a_thousand_unknown_fields_are_refused(api):
    answer = api.post("brokers", {"name": "x", **{f"field_{n}": n for n in range(1000)}})
    refused(answer, 400, "validation.failed")


def test_fields_set_by_the_service_are_ignored_in_a_body(api):
    made = api.broker(id=5, tenant_id=["x"], organization_id="org_01jd3x1b5d9g3j7m2n6q0s4v8w", created_at={},
                      updated_at="yesterday", created_by=True,
                      updated_by=None)
    assert made["organization_id"] == api.credential.organizations[0] and made["tenant_id"] == api.credential.tenant
