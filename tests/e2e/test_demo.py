# SPDX-License-Identifier: Apache-2.0
"""Tests `make demo`: the printed commands work, and a second start changes no data."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest
from deployment import BUILD, TIMEOUT_S, ROOT, sanitizer_settings
from pages import Page, samples
from test_demo_receiver import free_port
from vrsync import check_feed
from wait import eventually

pytestmark = pytest.mark.slow


class Demo:
    """Runs tests/demo/demo.sh with its own build directory, which links to the programs under test."""

    def __init__(self, build):
        self.build, self.port = build, free_port()
        self.build.mkdir(parents=True)
        for name in ("mod_neoapi.so", "neoapictl"):
            (self.build / name).symlink_to(BUILD / name)

    def run(self, command):
        """Writes the output to a file, because the servers that it starts would keep a pipe open."""
        settings = [f"{key}={value}" for key, value in sanitizer_settings().items()] if command == "start" else []
        said, words = self.build / "said", ["sh", ROOT / "tests/demo/demo.sh", command, self.build, *settings]
        with open(said, "w") as out:
            done = subprocess.run(words, timeout=2 * TIMEOUT_S, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "NEOAPI_DEMO_PORT": str(self.port)})
        assert done.returncode == 0, said.read_text()
        return said.read_text()


@pytest.fixture
def demo(instance):
    made = Demo(instance.directory.parent / "build")  # remove_stale_instances cleans up this directory
    yield made
    made.run("remove")
    shutil.rmtree(made.build)


def shell(text):
    done = subprocess.run(["sh", "-euc", text], timeout=TIMEOUT_S, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def paste(line):
    return json.loads(shell(line))


def check_examples(said, lines):
    """Runs the curl examples of "Getting started" after the line that the demo prints for them."""
    variables, = (line for line in said.splitlines() if line.startswith("export "))
    page = Page("", shell(f"{variables}; curl -sSf {lines[0].split()[-1].removesuffix('me')}docs/"))
    curl = [text for text in samples(page, "sh") if "curl" in text]
    shown = shell("\n".join([variables, "curl() { command curl -sS --fail-with-body \"$@\"; }", *curl]))
    assert len(curl) == 9 and '"status":"accepted"' in shown


def check_portal(lines):
    """Runs the commands of a portal: it reads listings, and posts a lead of one of them, which the last command lists."""
    listings, posted = check_feed(shell(lines[0])), shell(lines[1])
    assert len(listings) > 10 and posted == "ok\n" and re.search('"clientListingId": "(.*?)"', lines[1])[1] in listings
    lead, = paste(lines[2])["items"]
    assert (lead["name"], lead["origin"]["portal"]) == ("Rita Exemplo", "grupo_olx") and lead["property_id"] and lead["broker_id"]


def check_read(lines, conversation):
    """Marks the contact's messages as read, which the simulation of Meta must accept. Others can arrive in the meantime."""
    curl, me = lines[0].rsplit(" ", 1)
    path = f"{me.removesuffix('me')}whatsapp/conversations/{conversation}"

    def mark():
        seen = json.dumps({"up_to_id": paste(f"{curl} '{path}/messages?limit=1'")["items"][0]["id"]})
        return paste(f"{curl} -H 'Content-Type: application/json' -d '{seen}' {path}/read")

    eventually(lambda: mark()["unread_count"] == 0, "all messages are read")


def check_readme(demo):
    """Runs the commands of the README's section "First request"."""
    section = (ROOT / "README.md").read_text().partition("## First request\n")[2].partition("\n## ")[0]
    commands = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))
    shown = shell(commands.replace(". build/", f". {demo.build}/").replace("curl ", "curl -sSf "))
    assert commands.count("curl ") == 6 and '"name":"Rita Lima"' in shown


def check_way(demo, lines):
    """Runs the commands of the page "Running the service" that set the variables and send a request."""
    page = Page("", shell(f"{lines[0].rsplit(' ', 1)[0]} {lines[0].split()[-1].removesuffix('me')}docs/ways"))
    key, request = [text for text in samples(page, "sh")][2:4]
    assert "api_key" in shell(f"{key}\n{request}".replace(". build/", f". {demo.build}/"))


def check_copy_works(demo):
    client = subprocess.Popen(["make", "-s", "demo-sync", f"BUILD={demo.build}"], cwd=ROOT, stdin=subprocess.DEVNULL,
                              env={**os.environ, "MAKEFLAGS": ""}, start_new_session=True)  # without SAN=1 of this session
    try:
        count = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('select count(*) from record').fetchone()[0])"
        eventually(lambda: (demo.build / "demo/copy.db").exists() and int(shell(
            f'/usr/bin/python3 -c "{count}" {demo.build}/demo/copy.db || echo 0').split()[-1]) > 400, "the copy has all data")
    finally:
        os.killpg(client.pid, signal.SIGKILL)
        client.wait(TIMEOUT_S)


def check_story(demo):
    """Each step prints a line with what it has checked, and ends the story if it fails. A second story has another person."""
    steps = ("The portal posts a lead: .* (200).", "The CRM's webhook gets lead.created: led_", "The CRM sends a template (accepted): “Olá, Beatriz!",
             "The contact answers; the webhook gets whatsapp.message.received: image", "The CRM downloads the photograph: wam_.*.jpg, image/jpeg, 134 bytes",
             "The CRM marks it as read and replies; the window is open until", "The contact answers: “PARAR”", "The webhook gets whatsapp.contact.opted_out",
             "The CRM's next template is refused: 409 conflict.opted_out.")
    for _ in range(2):
        printed = shell(f"/usr/bin/python3 -B {ROOT}/tests/demo/story.py {demo.build}").splitlines()
        assert len(printed) == len(steps), printed
        for n, (line, step) in enumerate(zip(printed, steps), 1):
            assert re.match(f"{n}. {re.escape(step).replace(re.escape('.*'), '.*')}", line), line


def test_the_printed_commands_work_and_the_demo_survives_a_restart(demo):
    said = demo.run("start")
    assert "created 200 brokers, 200 properties, " in said
    lines = [line for line in said.splitlines() if line.startswith("curl ")]
    me, homes, broker, begun = map(paste, lines[:4])
    assert me["type"] == "api_key" and len(homes["items"]) == 3 and broker["id"].startswith("brk_")
    assert begun["created"] is True and begun["message"]["status"] == "accepted"
    eventually(lambda: paste(lines[3])["conversation"]["window_open"], "the contact has answered")
    check_read(lines, begun["conversation"]["id"])
    templates, numbers, usage = map(paste, lines[4:7])
    assert "boas_vindas" in {one["name"] for one in templates["items"]} and numbers["items"][0]["quality_rating"] and usage["items"]
    check_portal(lines[7:])
    check_readme(demo)
    check_way(demo, lines)
    check_examples(said, lines)
    check_copy_works(demo)
    check_story(demo)
    assert demo.run("stop").endswith("demo: the demo is stopped; its data is kept\n")
    assert not (demo.build / "demo/whatsapp.pid").exists()
    assert demo.run("stop") == f"demo: no demo runs in {demo.build}/demo\n"
    again = demo.run("start")
    assert "creat" not in again.partition("The demo runs.")[0]
    assert paste(lines[1])["items"] == homes["items"]
    assert paste(lines[2]) == broker  # with its Idempotency-Key
    assert paste(lines[3])["message"]["status"] == "accepted"
