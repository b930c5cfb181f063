# SPDX-License-Identifier: Apache-2.0
"""ETag, If-Match, If-None-Match, HEAD and OPTIONS."""

import re

import pytest
from client import ok, refused
from wait import together

PLAIN = {"Accept-Encoding": "identity"}


def tag(response):
    etag = response.headers["ETag"]
    assert re.fullmatch(r'"[\x21\x23-\x7e]+"', etag), etag
    return etag


@pytest.fixture
def path(api):
    return "brokers/" + api.broker()["id"]


# ---------------------------------------------------------------- ETag


def test_every_response_with_the_resource_has_its_etag(api):
    created = api.post("brokers", json={"name": "Ana"}, headers=PLAIN)
    path = "brokers/" + created.json()["id"]
    assert tag(created) == tag(api.get(path, headers=PLAIN)) == tag(api.head(path, headers=PLAIN))
    for send in (api.patch, api.put):
        changed = send(path, json={"name": "Bia", "phone": send.__name__}, headers=PLAIN)
        assert tag(changed) == tag(api.get(path, headers=PLAIN)) != tag(created)


def test_the_etag_of_an_unchanged_resource_is_the_same(api, path):
    assert len({tag(api.get(path, headers=PLAIN)) for _ in range(6)}) == 1


# ---------------------------------------------------------------- If-None-Match


@pytest.mark.parametrize("form", ["{}", "W/{}", '"x", {}', '{}, "y"', '"a,b" ,\t{}', "*"])
def test_a_matching_etag_gets_304(api, path, form):
    etag = tag(api.get(path, headers=PLAIN))
    for method in (api.get, api.head):
        response = method(path, headers={**PLAIN, "If-None-Match": form.format(etag)})
        assert response.status_code == 304 and tag(response) == etag and not response.content


def test_after_a_change_the_old_etag_does_not_match(api, path):
    etag = tag(api.get(path, headers=PLAIN))
    ok(api.patch(path, json={"phone": "1"}))
    assert api.get(path, headers={"If-None-Match": etag}).status_code == 200


def test_the_etag_of_a_compressed_response_gets_304(api, path):
    compressed = api.get(path, headers={"Accept-Encoding": "gzip"})
    response = api.get(path, headers={"Accept-Encoding": "gzip", "If-None-Match": tag(compressed)})
    assert response.status_code == 304
    assert api.get(path, headers={**PLAIN, "If-None-Match": tag(compressed)}).status_code in (200, 304)


def test_a_missing_resource_is_not_found_with_any_etag(api):
    refused(api.get("brokers/brk_" + "0" * 26, headers={"If-None-Match": "*"}), 404, "not_found.broker")


# ---------------------------------------------------------------- If-Match


def writes(api, path, etag):
    """The response to each write with the condition."""
    headers = {"If-Match": etag}
    return {"patch": lambda: api.patch(path, json={"phone": "2"}, headers=headers),
            "put": lambda: api.put(path, json={"name": "Bia"}, headers=headers),
            "delete": lambda: api.delete(path, headers=headers)}


METHODS = {"patch": 200, "put": 200, "delete": 204}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", ["{}", '"x", {}', "*"])
def test_a_write_with_a_matching_etag_is_executed(api, path, method, form):
    etag = tag(api.get(path, headers=PLAIN))
    assert writes(api, path, form.format(etag))[method]().status_code == METHODS[method]
    after = api.get(path)
    assert after.status_code == (404 if method == "delete" else 200)


@pytest.mark.parametrize("method", METHODS)
def test_the_etag_of_a_compressed_response_matches(api, path, method):
    etag = tag(api.get(path, headers={"Accept-Encoding": "gzip"}))
    assert writes(api, path, etag)[method]().status_code == METHODS[method]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", ['"x"', "W/{}", '"x", W/{}', ', "x" ,, "y",'])
def test_a_write_with_another_etag_is_refused(api, path, method, form):
    before = api.get(path, headers=PLAIN)
    problem = refused(writes(api, path, form.format(tag(before)))[method](), 412, "conflict.precondition_failed")
    assert (problem["type"], problem["title"]) == ("conflict", "Precondition Failed")
    assert api.get(path).content == before.content


def test_an_etag_without_quotes_is_a_bad_request_whatever_the_version(api, path):
    without_quotes = tag(api.get(path, headers=PLAIN)).strip('"')
    problem = refused(api.delete(path, headers={"If-Match": without_quotes}), 400, "validation.parameter_invalid")
    assert problem["errors"] == [{"field": "If-Match", "code": "validation.parameter_invalid",
                                  "message": "must be * or ETags as they were received, with their quotes"}]
    external = "brokers/by-external-id/" + without_quotes
    for at, expected in (path, [400, 400, 400]), (external, [400, 400, 404]):
        assert [send().status_code for send in writes(api, at, without_quotes).values()] == expected
    assert api.get(external).status_code == 404


@pytest.mark.parametrize("method", METHODS)
def test_an_old_etag_does_not_match(api, path, method):
    etag = tag(api.get(path, headers=PLAIN))
    ok(api.patch(path, json={"phone": "1"}))
    refused(writes(api, path, etag)[method](), 412, "conflict.precondition_failed")
    assert ok(api.get(path))["phone"] == "1"


@pytest.mark.parametrize("method", METHODS)
def test_a_missing_resource_is_not_found_under_any_condition(api, method):
    for etag in ("*", '"x"', "x"):
        refused(writes(api, "brokers/brk_" + "0" * 26, etag)[method](), 404, "not_found.broker")


def test_one_of_concurrent_changes_to_the_same_version_succeeds(api):
    for _ in range(5):
        made = api.post("brokers", json={"name": "Ana"}, headers=PLAIN)
        path, etag = "brokers/" + made.json()["id"], tag(made)
        answers = together(*[lambda n=n: api.with_().patch(path, json={"phone": str(n)}, headers={"If-Match": etag})
                             for n in range(8)])
        assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7
        done, = [number for number, answer in enumerate(answers) if answer.status_code == 200]
        assert ok(api.get(path))["phone"] == str(done)


def test_concurrent_changes_to_different_fields_all_succeed(api):
    """A patch is merged into the row when it is written, not when it is read."""
    for _ in range(3):
        path = "brokers/" + api.broker()["id"]
        fields = ["creci", "document_number", "phone"]
        bank = ["bank_code", "bank_name", "agency", "account_number", "pix_key"]
        unique = path[-12:]
        together(*[lambda f=f: ok(api.with_().patch(path, json={f: unique})) for f in fields],
                 *[lambda f=f: ok(api.with_().patch(path, json={"bank_account": {f: "1"}})) for f in bank])
        broker = ok(api.get(path))
        assert [broker[field] for field in fields] == [unique] * 3 and broker["bank_account"] == dict.fromkeys(bank, "1")


# ---------------------------------------------------------------- HEAD and OPTIONS


def test_a_head_has_the_headers_of_a_get_and_no_body(api, path):
    for at in (path, "brokers", "me", "openapi.yaml"):
        head, get = api.head(at, headers=PLAIN), api.get(at, headers=PLAIN)
        assert head.status_code == get.status_code == 200
        for name in ("Content-Type", "ETag", "Link", "Cache-Control"):
            assert (name in head.headers) == (name in get.headers), name
            assert name == "Link" or head.headers.get(name) == get.headers.get(name), name
        assert head.headers.get("Content-Length", str(len(get.content))) == str(len(get.content))


@pytest.mark.parametrize("at, status", [("nothing", 404), ("brokers/brk_x", 404), ("brokers?limit=0", 400)])
def test_a_head_that_fails_has_the_status_of_a_get(api, at, status):
    assert api.head(at).status_code == api.get(at).status_code == status


def test_options_of_an_unknown_path_is_not_found(api):
    refused(api.options("nothing"), 404, "not_found.route")
