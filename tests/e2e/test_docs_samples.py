# SPDX-License-Identifier: Apache-2.0
"""Runs the samples of the documentation in order: curl in a shell, Python, and compiled TypeScript."""

import json
import os
import re
import subprocess

import pytest

from client import ok
from deployment import ROOT
from pages import page_of, samples
from wait import TIMEOUT_S
from whatsapp import meta, module_admin_factory, module_instance, org, provider  # fixtures among them

pytestmark = pytest.mark.unsanitized

TOOLS = ROOT / "tests/openapi"
PRINTED = [r"api_key", r"Ana Public", r"Ana Public", r"201 brk_\w+ \"\w+\"", r"200 \{.*\+55 11 91234-5678", r"\[ ?201, 200 ?\]", r"204",
           r"20[01] accepted", r"whs_\w+ whsec_", r"\[\]", r"Carla Dias", r"led_\w+ new", "contacted"]  # by the samples in Python and TypeScript, in this order
INSTALL_TIMEOUT_S = 600  # npm fetches 640 packages on a new machine


@pytest.fixture
def run(org, tmp_path):
    """run(command) returns its output. The environment has the variables of the samples and no proxies."""
    (tmp_path / ".curlrc").write_text("silent\nfail-with-body\n")
    ca = org.instance.ca
    org.api.broker(name="Ana Public", visibility="public")
    variables = {"KEY": org.api.credential.secret, "LEAD": org.lead(), "CURL_CA_BUNDLE": ca, "REQUESTS_CA_BUNDLE": ca,
                 "NODE_EXTRA_CA_CERTS": ca, "CURL_HOME": str(tmp_path), "no_proxy": "*"}

    def start(*command, timeout_s=TIMEOUT_S):
        done = subprocess.run(command, cwd=tmp_path, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **variables})
        assert done.returncode == 0, done.stdout[-3000:]
        return done.stdout
    return start


@pytest.fixture
def tools(run, tmp_path):
    """The packages of the checks of openapi.yaml, so that npx finds openapi-typescript without a network."""
    place = run("sh", "-eu", "-c", 'here=$1; . "$here/tools.sh"; install_tools; echo "$tools"', "sh", TOOLS,
                timeout_s=INSTALL_TIMEOUT_S).splitlines()[-1]
    (tmp_path / "node_modules").symlink_to(place + "/node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')


def pasted(org, language):
    return [text for path in ("docs/", "docs/webhooks", "docs/leads") for text in samples(page_of(org.api, path), language)]


def assert_made(org, rounds):
    """Each round must have created the broker of the batch and sent a message."""
    names = [broker["name"] for broker in ok(org.api.get("brokers"))["items"]]
    assert sorted(names) == ["Ana Public"] + ["Davi Moreira"] * rounds and len(org.meta.sends) == rounds


def test_curl(org, run, tools, tmp_path):
    texts = [text for text in pasted(org, "sh") if "neoapi-listen" not in text]  # it does not end; see test_listen.py
    shown = run("sh", "-eu", "-c", "\n".join(2 * texts))
    assert len(texts) == 16 and shown.count('"items":[]') == 2 and len(re.findall('"status":20[01],"resource"', shown)) == 4
    assert (tmp_path / "api.ts").stat().st_size > 10000
    assert_made(org, 2)


def test_python(org, run):
    texts = pasted(org, "python")
    shown = run("/usr/bin/python3", "-B", "-c", "\n".join(2 * texts))
    assert re.fullmatch(".*".join(["", *PRINTED, *PRINTED, ""]), shown, re.S), shown
    assert_made(org, 2)


def test_typescript(org, run, tools, tmp_path):
    *_, npx = samples(page_of(org.api, "docs/"), "sh")
    texts = pasted(org, "ts")
    config = json.loads((TOOLS / "story.json").read_text())
    (tmp_path / "tsconfig.json").write_text(json.dumps({**config, "files": [str(TOOLS / "node.d.ts"), "samples.ts"]}))
    (tmp_path / "samples.ts").write_text("\n".join(texts))
    run("sh", "-eu", "-c", npx)
    run("node_modules/.bin/tsc")
    first = [*PRINTED[:8], "Davi Moreira", *PRINTED[8:]]  # the generated client lists brokers
    shown = run("node", "samples.js") + run("node", "samples.js")
    assert re.fullmatch(".*".join(["", *first, *first, ""]), shown, re.S), shown
    assert_made(org, 2)
