# SPDX-License-Identifier: Apache-2.0
"""Validation of bodies: all invalid fields are reported at once, each with its code."""

import pytest
from client import ok, refused, wrong_fields

STRINGS = {"name": 200, "creci": 32, "document_number": 32, "phone": 32, "email": 254, "bank_account.bank_code": 10,
           "bank_account.bank_name": 100, "bank_account.agency": 20, "bank_account.account_number": 30,
           "bank_account.pix_key": 140}
ENUMS = ["visibility", "bank_account.account_type"]


def body(path, value):
    """The body of a broker with a value at a path."""
    first, _, second = path.partition(".")
    return {"name": "Ana", first: {second: value} if second else value}


def invalid(path):
    return f"validation.broker.{path.replace('.', '_')}_invalid"


@pytest.fixture(params=["create", "put", "patch"])
def send(request, api):
    """send(body) with each method that has a body."""
    if request.param == "create":
        return lambda sent: api.post("brokers", json=sent)
    path = "brokers/" + api.broker()["id"]
    return lambda sent: (api.put if request.param == "put" else api.patch)(path, json=sent)


# ---------------------------------------------------------------- one field


@pytest.mark.parametrize("missing", [{}, {"name": None}, {"creci": "SP 9"}])
def test_a_broker_needs_a_name(api, missing):
    problem = refused(api.post("brokers", json=missing), 400, "validation.broker.name_required",
                      name="validation.broker.name_required")
    assert problem["title"] == "Validation Failed" and "name" in problem["detail"]


@pytest.mark.parametrize("value", [5, 1.5, True, [], ["Ana"], {"x": "y"}, 0, False])
@pytest.mark.parametrize("path", [*STRINGS, *ENUMS])
def test_a_value_of_another_type_is_refused(api, path, value):
    response = api.post("brokers", json=body(path, value))
    refused(response, 400, invalid(path))
    assert wrong_fields(response) == {path: invalid(path)}


@pytest.mark.parametrize("value", [5, "x", True, [], [{}]])
def test_a_bank_account_is_an_object(send, value):
    refused(send({"name": "Ana", "bank_account": value}), 400, invalid("bank_account"), bank_account=invalid("bank_account"))


@pytest.mark.parametrize("path", [path for path in STRINGS if path not in ("creci", "email")])
def test_a_string_has_a_maximum_length(api, path):
    for character in "aé家":
        ok(api.post("brokers", json=body(path, character * STRINGS[path])), 201)
        assert wrong_fields(api.post("brokers", json=body(path, character * (STRINGS[path] + 1)))) == {path: invalid(path)}


def test_a_creci_may_have_32_characters(own_api):
    own_api.broker(creci="1" + "é" * 31)
    assert wrong_fields(own_api.post("brokers", json=body("creci", "1" + "é" * 32))) == {"creci": invalid("creci")}


def test_the_length_is_counted_in_characters_and_not_in_bytes(api):
    assert len(api.broker(name="🏠" * 200)["name"]) == 200


@pytest.mark.parametrize("value", ["", " ", "    "])
@pytest.mark.parametrize("path", [*STRINGS, *ENUMS])
def test_an_empty_text_is_refused(api, path, value):
    assert list(wrong_fields(api.post("brokers", json=body(path, value)))) == [path]


@pytest.mark.parametrize("value", ["a\u0000b", "a\nb", "a\tb", "\u001b[31m", "a\u007f", "a\u0085b"])
def test_control_characters_are_refused(send, value):
    for path in ("name", "bank_account.pix_key"):
        response = send(body(path, value))
        assert response.status_code == 400, response.text
        if "\0" not in value:
            assert wrong_fields(response) == {path: invalid(path)}


@pytest.mark.parametrize("email", ["ana@example.com", "a.b+c@x-y.example.com.br", "o'hara@example.com", "a@b", "1@2.br",
                                   "x" * 64 + "@a.br"])
def test_an_email_address_is_accepted(api, email):
    assert api.broker(email=email)["email"] == email


@pytest.mark.parametrize("email", ["ana", "@example.com", "ana@", "ana@@example.com", "a b@example.com", "ana@example..com",
                                   "ana@-example.com", "ana@example.com.", "ana@exam_ple.com", "<ana@example.com>",
                                   "ana@example.com, b@example.com", "x" * 65 + "@a.br", "ana@" + "a" * 64 + ".br",
                                   "a@" + "a.b" * 90, "é@example.com"])
def test_an_invalid_email_address_is_refused(send, email):
    refused(send({"name": "Ana", "email": email}), 400, invalid("email"), email=invalid("email"))


@pytest.mark.parametrize("path", ENUMS)
@pytest.mark.parametrize("value", ["x", "Restricted", "checking ", "PUBLIC", "restricted,public"])
def test_an_unknown_enum_value_is_refused_with_the_valid_values(send, path, value):
    response = send(body(path, value))
    assert wrong_fields(response) == {path: invalid(path)}
    expected = "restricted" if path == "visibility" else "checking"
    assert expected in response.json()["errors"][0]["message"]


@pytest.mark.parametrize("creci", ["-", "...", " / ", "é"])
def test_a_creci_has_a_letter_or_digit(send, creci):
    refused(send({"name": "Ana", "creci": creci}), 400, invalid("creci"), creci=invalid("creci"))


# ---------------------------------------------------------------- unknown fields


@pytest.mark.parametrize("value", [1, None, "x", {"name": "y"}])
@pytest.mark.parametrize("name", ["nome", "Name", "representation", "meta_data", "externalId", "status", "", "name ", "é",
                                  "__proto__"])
def test_an_unknown_field_is_refused_even_if_null(send, name, value):
    response = send({"name": "Ana", name: value})
    refused(response, 400, "validation.unknown_field")
    assert len(response.json()["errors"]) == 1
    if name:
        assert wrong_fields(response) == {name: "validation.unknown_field"}


@pytest.mark.parametrize("value", [1, None])
def test_an_unknown_field_of_the_bank_account_is_named_by_its_path(send, value):
    refused(send({"name": "Ana", "bank_account": {"iban": value}}), 400, "validation.unknown_field",
            bank_account__iban="validation.unknown_field")


# ---------------------------------------------------------------- all in one pass


def test_all_errors_are_reported_at_once(send):
    response = send({"name": 5, "creci": "-", "email": "x", "visibility": "all", "color": "red",
                     "bank_account": {"account_type": "gold", "iban": "x", "agency": ["1"], "bank_code": "1" * 11}})
    refused(response, 400, "validation.failed")
    assert wrong_fields(response) == {
        "name": invalid("name"), "creci": invalid("creci"), "email": invalid("email"), "visibility": invalid("visibility"),
        "color": "validation.unknown_field", "bank_account.account_type": invalid("bank_account.account_type"),
        "bank_account.iban": "validation.unknown_field", "bank_account.agency": invalid("bank_account.agency"),
        "bank_account.bank_code": invalid("bank_account.bank_code")}


def test_a_hundred_unknown_fields_have_a_readable_response(api):
    response = api.post("brokers", json={"name": "Ana", **{f"x{n}": n for n in range(100)}})
    refused(response, 400, "validation.failed")
    assert len(response.content) < 100_000


# ---------------------------------------------------------------- the body


@pytest.mark.parametrize("data", [b"", b" ", b"\r\n"])
def test_a_body_is_required(api, data):
    path = "brokers/" + api.broker()["id"]
    for send, at in ((api.post, "brokers"), (api.put, path), (api.patch, path)):
        response = send(at, data=data, headers={"Content-Type": "application/json"})
        refused(response, 400, "validation.body_required" if not data else response.json()["code"])
        assert response.json()["code"] in ("validation.body_required", "validation.malformed_json")


@pytest.mark.parametrize("data", [b"{", b"{]", b"{'name': 1}", b'{"name": "Ana",}', b'{"name": "Ana"} x', b"nonsense", b"\x00",
                                  b'{"name": "Ana"}{"name": "Bia"}', b'{"name": "Ana", "name": "Bia"}'])
def test_malformed_json_is_refused(api, data):
    problem = refused(api.post("brokers", data=data, headers={"Content-Type": "application/json"}), 400,
                      "validation.malformed_json")
    assert "Traceback" not in problem["detail"]


@pytest.mark.parametrize("data", [b"[]", b"null", b"5", b'"x"', b"true", b'[{"name": "Ana"}]'])
def test_a_body_is_an_object(send, api, data):
    path = "brokers/" + api.broker()["id"]
    for response in (api.post("brokers", data=data, headers={"Content-Type": "application/json"}),
                     api.patch(path, data=data, headers={"Content-Type": "application/json"})):
        assert response.status_code == 400 and response.json()["type"] == "validation"


@pytest.mark.parametrize("media_type", ["application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8",
                                        "Application/JSON"])
def test_json_may_be_declared_with_its_character_set(api, media_type):
    ok(api.post("brokers", data=b'{"name": "Ana"}', headers={"Content-Type": media_type}), 201)


@pytest.mark.parametrize("media_type", [None, "", "text/plain", "text/json", "application/xml", "application/jsonx", "json",
                                        "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                                        "application/merge-patch+json", "*/*"])
def test_a_body_that_is_not_declared_as_json_is_refused(api, media_type):
    headers = {"Content-Type": media_type} if media_type is not None else {}
    refused(api.post("brokers", data=b'{"name": "Ana"}', headers=headers), 415, "validation.unsupported_media_type")


def test_the_media_type_of_merge_patches_is_for_patch_only(api):
    path = "brokers/" + api.broker()["id"]
    refused(api.put(path, data=b'{"name": "Ana"}', headers={"Content-Type": "application/merge-patch+json"}), 415,
            "validation.unsupported_media_type")


# ---------------------------------------------------------------- unexpected parameters


def test_parameters_of_operations_without_any_are_refused(api):
    path = "brokers/" + api.broker()["id"]
    for response in (api.post("brokers?x=1", json={"name": "Ana"}), api.get(path + "?x=1"), api.delete(path + "?x="),
                     api.patch(path + "?x", json={}), api.put(path + "?x=1&x=2", json={"name": "Ana"}),
                     api.get(path + "?limit=1")):
        assert response.status_code == 400
        assert set(wrong_fields(response).values()) <= {"validation.unknown_parameter", "validation.parameter_invalid"}
    ok(api.get(path + "?"))
