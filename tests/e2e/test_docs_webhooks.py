# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of the page "Webhooks": requests, and verification of signatures in each language."""

import importlib.util
import json
import os
import re
import subprocess

import pytest

from client import ok
from pages import page_of, samples
from wait import TIMEOUT_S
from webhook_fixtures import (HERE, admin, module_admin_factory, module_instance, receiver,  # fixtures among them
                              subscribe)

pytestmark = pytest.mark.unsanitized

CONF = HERE


@pytest.fixture
def example(admin):
    """The programs that verify signatures, and the request of the test vector."""
    return {name: text for _, name, text in page_of(admin, "docs/webhooks").examples if name}


def parse_boolean(done):
    assert done.returncode == 0 and done.stdout in (b"true\n", b"false\n"), done
    return done.stdout == b"true\n"


# Functions that run an example. `what` has the secret, the body and the headers.


def in_shell(text, what, place):
    (place / "body").write_bytes(what["body"])
    variables = {name.replace("-", "_"): value for name, value in what["headers"].items()}
    done = subprocess.run(["sh", "-c", text], cwd=place, capture_output=True, timeout=TIMEOUT_S,
                          env={**os.environ, **variables, "secret": what["secret"]})
    assert done.stdout in (b"genuine\n", b"") and (done.returncode == 0) == (done.stdout != b""), done
    return done.stdout == b"genuine\n"


def in_python(text, what, place, *rest):
    (place / "example.py").write_text(text)
    spec = importlib.util.spec_from_file_location("example", place / "example.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.is_genuine(what["secret"], what["body"], *rest)


def in_php(text, what, place, *rest):
    (place / "body").write_bytes(what["body"])
    (place / "example.php").write_text(
        f"<?php\n{text}\n[, $secret, $file] = $argv;\n"
        "echo is_genuine($secret, file_get_contents($file), ...array_slice($argv, 3)) ? 'true' : 'false', PHP_EOL;")
    command = ["php", "-d", "display_errors=stderr", place / "example.php", what["secret"], place / "body", *rest]
    return parse_boolean(subprocess.run(command, capture_output=True, timeout=TIMEOUT_S))


def in_javascript(text, what, place, third):
    (place / "body").write_bytes(what["body"])
    (place / "example.mjs").write_text(
        f"{text}\nimport {{ readFileSync }} from 'node:fs';\nconst [, , secret, file, third] = process.argv;\n"
        "console.log(isGenuine(secret, readFileSync(file), JSON.parse(third)));\n")
    return parse_boolean(subprocess.run(["node", place / "example.mjs", what["secret"], place / "body", json.dumps(third)],
                                capture_output=True, timeout=TIMEOUT_S))


def in_javascript_with_keys(text, what, place):
    keys = {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": what["secret"].removeprefix("whpk_").replace("+", "-").replace("/", "_").rstrip("=")}]}
    return in_javascript(text.replace("(jwks, body", "(text, body").replace("jwks.keys", "JSON.parse(text).keys"),
                         {**what, "secret": json.dumps(keys)}, place, what["headers"])


RUNS = {
    "shell-body": in_shell,
    "shell-standard": in_shell,
    "python-body": lambda text, what, place: in_python(text, what, place, what["headers"]["x-webhook-signature"]),
    "python-standard": lambda text, what, place: in_python(text, what, place, what["headers"]),
    "php-body": lambda text, what, place: in_php(text, what, place, what["headers"]["x-webhook-signature"]),
    "php-standard": lambda text, what, place: in_php(
        text, what, place, *(what["headers"]["webhook-" + name] for name in ("id", "timestamp", "signature"))),
    "javascript-body": lambda text, what, place: in_javascript(text, what, place, what["headers"]["x-webhook-signature"]),
    "javascript-standard": lambda text, what, place: in_javascript(text, what, place, what["headers"]),
    "python-key": lambda text, what, place: in_python(text, what, place, what["headers"]),
    "javascript-key": in_javascript_with_keys,
}
STANDARD = ("webhook-id", "webhook-timestamp", "webhook-signature")
SIGNED = {"body": ("x-webhook-signature",), "standard": STANDARD, "key": STANDARD}
TIMED = [name for name in RUNS if not name.endswith("body")]
CLOCKS = {"shell": "$(date +%s)", "python": "time.time()", "php": "time()", "javascript": "Date.now() / 1000"}


def known_by(name):
    """The member of the subscription that the example verifies with."""
    return "public_key" if name.endswith("key") else "secret"


def test_every_verification_example_is_run(example):
    assert set(example) == {*RUNS, "vector"}


@pytest.mark.parametrize("name", RUNS)
def test_an_example_accepts_only_genuine_requests(admin, receiver, tmp_path, example, name):
    secret, other = (subscribe(admin, receiver.url, event, asymmetric_signature="ed25519")[known_by(name)]
                     for event in ("*", "lead.created"))
    admin.broker(name="João \"Z\" Ação")
    arrival, = receiver.wait_for(1)
    genuine = {"secret": secret, "body": arrival.body,
               "headers": {**arrival.headers, "webhook-signature": "v1,AAAA " + arrival.headers["webhook-signature"]}}

    def is_genuine(headers=None, **changes):
        what = {**genuine, **changes, "headers": {**genuine["headers"], **(headers or {})}}
        return RUNS[name](example[name], what, tmp_path)

    assert is_genuine()
    assert not is_genuine(body=arrival.body + b" ")
    assert not is_genuine(secret=other)
    for header in SIGNED[name.partition("-")[2]]:
        value = genuine["headers"][header]
        assert not is_genuine({header: " ".join(one.rstrip("=")[:-1] for one in value.split())}), header
        assert not is_genuine({header: ""}), header


@pytest.mark.parametrize("name", TIMED)
def test_an_example_refuses_old_timestamps(admin, receiver, tmp_path, example, name):
    """The signature is valid, but the clock is ten minutes ahead."""
    secret = subscribe(admin, receiver.url, asymmetric_signature="ed25519")[known_by(name)]
    admin.broker()
    arrival, = receiver.wait_for(1)
    clock = CLOCKS[name.partition("-")[0]]
    what = {"secret": secret, "body": arrival.body, "headers": arrival.headers}
    for text, expected in ((example[name], True), (example[name].replace(clock, f"({clock} + 600)"), False)):
        assert RUNS[name](text, what, tmp_path) == expected, text


@pytest.mark.parametrize("name", RUNS)
def test_the_test_vector_is_genuine(admin, tmp_path, example, name):
    """Its key is that of the first test of RFC 8032."""
    headers, _, body = example["vector"].partition("\n\n")
    headers = {one.lower(): value for one, _, value in (line.partition(": ") for line in headers.splitlines())}
    shown = page_of(admin, "docs/webhooks").text.rpartition("Test vector")[2]
    secret = re.search({"secret": r"whsec_\S{44}", "public_key": r"whpk_\S{44}"}[known_by(name)], shown)[0]
    text = example[name].replace(CLOCKS[name.partition("-")[0]], headers["webhook-timestamp"])
    what = {"secret": secret, "body": body.encode(), "headers": headers}
    assert RUNS[name](text, what, tmp_path)
    assert not RUNS[name](text, {**what, "body": body.encode() + b"\n"}, tmp_path)


def test_the_requests_that_the_page_shows_work(admin, tmp_path):
    (tmp_path / ".curlrc").write_text(f'silent\ncacert = "{admin.instance.ca}"\nnoproxy = "*"\n')
    made, *_, listed = samples(page_of(admin, "docs/webhooks"), "sh")

    def run(text, **variables):
        done = subprocess.run(["sh", "-eu", "-c", text], capture_output=True, check=True, timeout=TIMEOUT_S,
                              env={**os.environ, "CURL_HOME": str(tmp_path), "KEY": admin.credential.secret, **variables})
        return json.loads(done.stdout)

    subscription = run(made)
    assert re.fullmatch("whsec_.{44}", subscription["secret"])
    assert run(listed, WEBHOOK_ID=subscription["id"])["items"] == []
    assert ok(admin.get("webhooks"))["items"][0]["id"] == subscription["id"]
