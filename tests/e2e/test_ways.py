# SPDX-License-Identifier: Apache-2.0
"""The page "Running the service": each way has the same steps. What all have in common is run here; the commands before it are those of
README.md, doc/image.md and doc/cluster.md, which other tests run, and the demo's, which test_demo.py runs as well."""

import os
import re
import signal
import subprocess

import pytest
from client import ok
from deployment import ROOT
from pages import page_of
from wait import TIMEOUT_S, eventually

WAYS = ("demo", "debian", "container", "cluster")
STEPS = {"get": "Get it", "start": "Start it", "key": "Get a key", "request": "Send a request", "event": "Receive an event"}
TESTED = {"demo": "README.md", "debian": "README.md", "container": "doc/image.md", "cluster": "doc/cluster.md"}
TRUST = ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")  # of curl and Python, of Go and PHP, of Node.js


@pytest.fixture
def ways(anonymous):
    """{way: {step: [commands]}}."""
    text, found = anonymous.get("docs/ways").text, {}
    page = page_of(anonymous, "docs/ways")
    blocks = iter([code for language, _, code in page.examples if language == "sh"])
    for part in re.split("<h3 id=", text)[1:]:
        way, step = re.match('"([a-z]+)-([a-z]+)"', part).groups()
        found.setdefault(way, {})[step] = [next(blocks) for _ in range(part.count("<pre"))]
    return found


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_each_way_has_the_same_steps_in_the_same_words(anonymous, ways):
    text = anonymous.get("docs/ways").text
    assert tuple(ways) == WAYS
    for way in WAYS:
        assert list(ways[way]) == list(STEPS) and all(ways[way].values())
        headings = re.findall(f'<h3 id="{way}-[a-z]+">(.*?)</h3>', text)
        assert headings == [f"{number}. {words}" for number, words in enumerate(STEPS.values(), 1)]
        assert ways[way]["request"] == ways["demo"]["request"] and ways[way]["event"] == ways["demo"]["event"]
        *_, trust, key = ways[way]["key"][-1].splitlines()
        assert re.findall(r"(\w+)=", trust) == list(TRUST) and key.startswith("export KEY=")


@pytest.mark.parametrize("way", WAYS)
def test_the_commands_that_differ_are_those_of_a_tested_text(ways, way):
    tested = {line.partition("  #")[0].strip() for line in lines((ROOT / TESTED[way]).read_text())} | {"make"}
    for step in ("get", "start", "key"):
        for line in (line for block in ways[way][step] for line in lines(block) if not line.startswith("export ")):
            assert line in tested, (TESTED[way], line)


def test_the_first_page_begins_with_the_ways(anonymous):
    page = anonymous.get("docs/").text
    assert re.findall('<h2 id="([^"]+)"', page)[0] == "ways"
    assert re.findall('href="ways#([a-z]+)"', page) == list(WAYS)


@pytest.fixture
def shell(own_api, ways, tmp_path):
    """shell(commands): runs them after those of the demo that set the variables; the file that they read is this instance's."""
    place = tmp_path / "build/demo"
    place.mkdir(parents=True)
    (place / "env").write_text(f"NEOAPI_KEY={own_api.credential.secret} NEOAPI_URL={own_api.url} NEOAPI_CA={own_api.instance.ca}\n")

    def start(commands, **more):
        return subprocess.Popen(["sh", "-euc", "\n".join([*ways["demo"]["key"], commands])], cwd=tmp_path, text=True,
                                env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "no_proxy": "*"}, start_new_session=True, **more)
    return start


def test_the_last_steps_send_a_request_and_receive_an_event(own_api, ways, shell, tmp_path):
    request, = ways["demo"]["request"]
    follow, cause = ways["demo"]["event"]
    said, _ = shell(request, stdout=subprocess.PIPE).communicate(timeout=TIMEOUT_S)
    assert own_api.credential.id in said
    with open(tmp_path / "events", "w") as events, open(tmp_path / "notices", "w") as notices:
        listener = shell(follow, stdout=events, stderr=notices)
        try:
            eventually(lambda: "Following" in (tmp_path / "notices").read_text(), "it follows the log")
            assert shell(cause, stdout=subprocess.DEVNULL).wait(TIMEOUT_S) == 0
            made, = ok(own_api.get("brokers"))["items"]
            eventually(lambda: made["id"] in (tmp_path / "events").read_text(), "the event")
            assert "broker.created" in (tmp_path / "events").read_text()
        finally:
            os.killpg(listener.pid, signal.SIGTERM)
            listener.wait(TIMEOUT_S)
