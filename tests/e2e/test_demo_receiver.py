# SPDX-License-Identifier: Apache-2.0
"""The demo's receiver accepts only requests with a signature of the API."""

import os
import re
import shlex
import signal
import socket
import subprocess

import pytest

import requests
from client import ok
from deployment import ROOT
from webhook_fixtures import HERE, admin, module_admin_factory, module_instance  # fixtures among them
from wait import TIMEOUT_S, eventually

CONF = HERE


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class DemoReceiver:
    """Runs tests/demo/receiver.py with an organization of the instance in place of the demo."""

    def __init__(self, api, place):
        self.api, self.place, self.port, self.running = api, place, free_port(), []
        self.said = place / "said"
        (place / "demo").mkdir()
        self.write_env(api.url)

    def write_env(self, url):
        env = {"NEOAPI_URL": url, "NEOAPI_CA": self.api.instance.ca, "NEOAPI_KEY": self.api.credential.secret}
        (self.place / "demo/env").write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in env.items()))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/"

    def start(self):
        with open(self.said, "w") as out:
            self.running.append(subprocess.Popen(
                ["/usr/bin/python3", "-B", ROOT / "tests/demo/receiver.py", self.place], stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, env={**os.environ, "NEOAPI_DEMO_RECEIVER_PORT": str(self.port)}))
        return self

    def wait_for_output(self, text):
        eventually(lambda: text in self.said.read_text(), f"{text!r} from the receiver")
        return self.said.read_text()

    def stop(self):
        """Stops the receiver with SIGINT. Returns its output."""
        self.running[-1].send_signal(signal.SIGINT)
        assert self.running[-1].wait(TIMEOUT_S) == 0, self.said.read_text()
        return self.said.read_text()

    def refused(self):
        """Expects that the receiver fails to start. Returns the message."""
        assert self.start().running[-1].wait(TIMEOUT_S) == 1
        said = self.said.read_text()
        assert said.startswith("receiver: ") and "Traceback" not in said, said
        return said

    def subscriptions(self):
        return ok(self.api.get("webhooks"))["items"]


@pytest.fixture
def demo(admin, tmp_path):
    made = DemoReceiver(admin, tmp_path)
    yield made
    for process in made.running:
        process.kill()
        process.wait(TIMEOUT_S)


def test_the_demo_receiver_shows_the_event_of_its_own_curl_command(demo):
    said = demo.start().wait_for_output("Ctrl-C")
    line, = re.findall("^curl .*$", said, re.M)
    subprocess.run(["sh", "-c", line + " -sS --noproxy '*' -o /dev/null"], check=True, timeout=TIMEOUT_S)
    shown = demo.wait_for_output("}\n")
    assert "broker.created" in shown and "both signatures are right" in shown and "Maria Exemplo" in shown
    demo.stop()


def test_the_demo_receiver_reuses_its_subscription(demo):
    for number in range(3):
        demo.start().wait_for_output("Ctrl-C")
        demo.api.broker(name=f"Broker {number}")
        assert "signatures are right" in demo.wait_for_output(f"Broker {number}")
        demo.stop()
        assert len(demo.subscriptions()) == 1
        if number == 1:
            (demo.place / "demo/receiver.json").unlink()  # its secret is lost


def test_the_demo_receiver_updates_its_url_and_reactivates_its_subscription(demo):
    demo.start().wait_for_output("Ctrl-C")
    demo.stop()
    subscription, = demo.subscriptions()
    ok(demo.api.patch(f"webhooks/{subscription['id']}", json={"is_active": False}))
    demo.port = free_port()
    demo.start().wait_for_output("Ctrl-C")
    moved, = demo.subscriptions()
    assert (moved["id"], moved["url"], moved["is_active"]) == (subscription["id"], demo.url, True)
    demo.stop()


def test_the_demo_receiver_refuses_invalid_signatures(demo):
    demo.start().wait_for_output("Ctrl-C")
    headers = {"X-Webhook-Signature": "sha256=" + "0" * 64}
    for more in ({}, headers):
        answer = requests.post(demo.url, json={"id": "whd_1"}, headers=more, timeout=TIMEOUT_S, proxies={"http": ""})
        assert answer.status_code == 400
    demo.wait_for_output("X-Webhook-Signature is wrong")  # after the response


def test_the_demo_receiver_reports_that_no_demo_runs(demo):
    demo.write_env(f"https://localhost:{free_port()}/public/v1/")
    assert "make demo" in demo.refused()
    (demo.place / "demo/env").unlink()
    assert "make demo" in demo.refused()


def test_the_demo_receiver_reports_that_its_port_is_in_use(demo):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", demo.port))
        taken.listen()
        assert f"port {demo.port}" in demo.refused() and demo.subscriptions() == []
