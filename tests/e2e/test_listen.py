# SPDX-License-Identifier: Apache-2.0
"""Tests neoapi-listen as integrators run it: the file that the service serves."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import requests
from admin_factory import AdminFactory
from client import Api, ok
from deployment import ROOT
from factories import ResourceFactory
from pages import page_of
from receiver import Receiver, one_after_the_other, status
from test_docs_webhooks import in_python
from wait import TIMEOUT_S, eventually
from webhook_fixtures import running_instance

SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" * 2


class Listener:
    """start() and stop() can be repeated: they are runs of one developer."""

    def __init__(self, api, place, program):
        self.api, self.place, self.program, self.process = api, place, program, None
        self.output, self.errors = place / "output", place / "errors"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(place), "NEOAPI_KEY": api.credential.secret, "no_proxy": "*",
                    "SSL_CERT_FILE": str(api.instance.ca), "PYTHONDONTWRITEBYTECODE": "1"}

    def command(self, *arguments):
        return ["/usr/bin/python3", "-s", self.program, *arguments]

    def start(self, *arguments):
        with self.output.open("w") as output, self.errors.open("w") as errors:
            self.process = subprocess.Popen(self.command(*arguments), env=self.env, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=errors)
        eventually(lambda: "Following" in self.errors.read_text() or self.process.poll() is not None, "it follows")
        return self

    def stop(self, signal=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal)
        return self.process.wait(TIMEOUT_S) if self.process else None

    def failure(self, *arguments, **env):
        """The message of a run that fails."""
        env = {name: value for name, value in {**self.env, **env}.items() if value is not None}
        done = subprocess.run(self.command(*arguments), env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        assert done.returncode == 1 and "Traceback" not in done.stderr, done
        return done.stderr

    def lines(self):
        return self.output.read_text().splitlines()

    def await_lines(self, count):
        def found():
            assert self.process.poll() is None, self.errors.read_text()
            return self.lines() if len(self.lines()) >= count else None
        return eventually(found, f"{count} lines")

    def state(self):
        path, = (self.place / ".local/state/neoapi-listen").glob("*.json")  # a state that is being written has another name
        return path, json.loads(path.read_text())


@pytest.fixture(scope="module")
def program(instance, tmp_path_factory):
    """As `curl -O` stores it."""
    path = tmp_path_factory.mktemp("listen") / "neoapi-listen.py"
    path.write_bytes(requests.get(instance.url + "docs/neoapi-listen.py", verify=instance.ca, timeout=TIMEOUT_S).content)
    return path


@pytest.fixture
def listener(own_api, tmp_path, program):
    made = Listener(own_api, tmp_path, program)
    yield made
    made.stop()


@pytest.fixture
def receiver():
    with Receiver() as one:
        yield one


# ---------------------------------------------------------------- printing


def test_the_file_is_served_with_the_base_url_of_the_deployment(anonymous, program):
    response = anonymous.get("docs/neoapi-listen.py")
    assert response.headers["Content-Type"] == "text/x-python; charset=utf-8"
    source = (ROOT / "src/docs/neoapi-listen.py").read_text()
    assert response.text == source.replace("{{base_url}}", anonymous.url) and source.count("{{") == 1


def test_it_needs_only_the_standard_library(program):
    modules = set(re.findall(r"^(?:import|from) (\w+)", program.read_text(), re.M))
    assert modules and modules <= sys.stdlib_module_names


def test_new_events_are_printed_with_what_they_change(own_api, listener):
    own_api.broker(name="before")
    listener.start()
    broker = own_api.broker(name="Ana", phone="+55 11 4000-1234")
    ok(own_api.patch("brokers/" + broker["id"], json={"name": "Ana Paula", "phone": "+55 11 4000-4321"}))
    ok(own_api.delete("brokers/" + broker["id"]), 204)
    created, updated, deleted = listener.await_lines(3)
    assert "broker.created" in created and broker["id"] in created and "Ana" in created and "before" not in created
    assert "name Ana → Ana Paula" in updated and "phone" in updated and "4000" not in updated
    assert "broker.deleted" in deleted and "\x1b" not in created + updated + deleted


def test_what_happened_while_it_was_off_comes_first(own_api, listener):
    listener.start()
    own_api.broker(name="first")
    listener.await_lines(1)
    assert listener.stop() != 0
    missed = [own_api.broker(name=f"missed {number}")["id"] for number in range(3)]
    listener.start()
    later = own_api.broker(name="later")["id"]
    assert [re.search("brk_[0-9a-z]+", line)[0] for line in listener.await_lines(4)] == [*missed, later]


def test_a_killed_run_is_resumed(own_api, listener):
    listener.start()
    own_api.broker(name="first")
    listener.await_lines(1)
    eventually(lambda: "position" in listener.state()[1], "a position")
    listener.stop(signal.SIGKILL)
    own_api.broker(name="second")
    listener.start()
    assert any("second" in line for line in listener.await_lines(1))


def test_since_and_types_choose_events(own_api, listener):
    old = own_api.broker(name="old")
    ResourceFactory(own_api).property()
    listener.start("--since", "oldest", "--types", "broker.*")
    line, = listener.await_lines(1)
    assert old["id"] in line
    listener.stop()
    for since in ("1h", "2000-01-01", "2000-01-01T00:00:00Z"):
        listener.start("--since", since, "--types", "property.created,property.deleted")
        line, = listener.await_lines(1)
        assert "property.created" in line
        listener.stop()


def test_whole_events_are_json_lines_without_a_terminal(own_api, listener):
    listener.start("--print")
    broker = own_api.broker(name="Ana")
    event = json.loads(listener.await_lines(1)[0])
    assert event["type"] == "broker.created" and event["payload"]["id"] == broker["id"]


def on_a_terminal(listener, **env):
    """What a run writes to a terminal until the first event has been printed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(listener.command("--since", "oldest"), env={**listener.env, **env}, stdin=subprocess.DEVNULL,
                               stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    text = ""
    try:
        while "brk_" not in text or not text.endswith("\n"):
            text += os.read(ours, 4096).decode()
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)
        os.close(ours)
    return text


def test_a_terminal_gets_colours_and_no_control_characters_of_others(own_api, listener):
    own_api.broker(name="Ana \u202e")
    text = on_a_terminal(listener)
    assert "\x1b[32mbroker.created" in text and "Ana \ufffd" in text
    assert "\x1b" not in on_a_terminal(listener, NO_COLOR="1")


# ---------------------------------------------------------------- forwarding


@pytest.fixture
def is_genuine(own_api, tmp_path):
    """Whether both of the documented functions accept a delivery."""
    functions = {name: text for _, name, text in page_of(own_api, "docs/webhooks").examples if name}

    def verify(secret, arrival):
        what = {"secret": secret, "body": arrival.body}
        return [in_python(functions["python-" + name], what, tmp_path, given)
                for name, given in (("body", arrival.headers["x-webhook-signature"]), ("standard", arrival.headers))]
    return verify


def test_events_are_forwarded_like_signed_deliveries(own_api, listener, receiver, is_genuine):
    listener.start("--forward-to", receiver.url + "hook")
    secret = re.search(r"whsec_\S+", listener.errors.read_text())[0]
    broker = own_api.broker(name="Ana")
    arrival, = eventually(lambda: receiver.arrivals, "the event")
    assert set(arrival.json) == {"id", "event_type", "created_at", "payload"} and re.fullmatch("whd_[0-7][0-9a-z]{25}", arrival.id)
    assert arrival.json["event_type"] == "broker.created" and arrival.json["payload"]["id"] == broker["id"]
    assert arrival.path == "/hook" and arrival.headers["content-type"] == "application/json"
    assert is_genuine(secret, arrival) == [True, True] and is_genuine(SECRET, arrival) == [False, False]
    listener.await_lines(2)
    assert "→ 204" in listener.lines()[1]
    listener.stop()
    listener.start("--forward-to", receiver.url)
    assert secret in listener.errors.read_text()  # the receiver need not be configured anew
    assert listener.state()[0].stat().st_mode & 0o077 == 0


def test_the_secret_can_be_chosen(own_api, listener, receiver, is_genuine):
    listener.env["NEOAPI_SECRET"] = SECRET
    listener.start("--forward-to", receiver.url)
    own_api.broker(name="Ana")
    arrival, = eventually(lambda: receiver.arrivals, "the event")
    assert is_genuine(SECRET, arrival) == [True, True]
    assert "must be whsec_" in listener.failure("--forward-to", receiver.url, NEOAPI_SECRET="whsec_short")


def test_an_error_of_the_receiver_is_shown_and_the_next_event_follows(own_api, listener, receiver):
    receiver.behave(one_after_the_other(status(500), status(302, Location="/elsewhere"), status(200)))
    listener.start("--forward-to", receiver.url)
    for name in ("a", "b", "c"):
        own_api.broker(name=name)
    lines = listener.await_lines(6)
    assert ["→ 500" in lines[1], "→ 302" in lines[3], "→ 200" in lines[5]] == [True] * 3, lines
    assert len(receiver.arrivals) == 3


def test_events_wait_for_a_receiver_that_is_not_running(own_api, listener):
    with Receiver() as gone:
        address = gone.url
    listener.start("--forward-to", address)
    own_api.broker(name="Ana")
    eventually(lambda: "cannot be reached" in listener.errors.read_text(), "the notice")
    server = HTTPServer(("127.0.0.1", gone.port), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert "→ 204" in listener.await_lines(2)[1]
    finally:
        server.shutdown()
        server.server_close()


class Answering(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


# ---------------------------------------------------------------- failures


def test_failures_say_what_to_do(own_api, listener, admin_factory, tmp_path):
    viewer = admin_factory.key(own_api.credential.organizations[0], scopes=["webhooks:read"])
    (tmp_path / "empty").write_text("\n")
    assert "Set NEOAPI_KEY" in listener.failure(NEOAPI_KEY=None)
    assert "Set NEOAPI_KEY" in listener.failure("--key-file", str(tmp_path / "empty"))
    assert "cannot be read" in listener.failure("--key-file", str(tmp_path / "absent"))
    assert "unauthorized.invalid_credential" in listener.failure(NEOAPI_KEY="nonsense")
    assert "type" in listener.failure("--types", "nonsense")
    assert "--since soon" in listener.failure("--since", "soon")
    assert "must be https" in listener.failure(NEOAPI_URL="http://api.example.com/public/v1/")
    assert "is not a URL" in listener.failure(NEOAPI_URL="api.example.com")
    assert "base URL" in listener.failure(NEOAPI_URL=own_api.url.replace("/v1/", "/v0/"))
    assert "certificate" in listener.failure(SSL_CERT_FILE="/dev/null")
    assert "is not a URL" in listener.failure("--forward-to", "localhost:3000")
    assert "--since now" in listener.failure("--since", "evt_" + "0" * 26)
    assert viewer.secret not in " ".join(map(str, listener.command()))


def test_a_key_without_a_scope_for_the_types_is_told(own_api, listener, admin_factory):
    other = admin_factory.key(own_api.credential.organizations[0], scopes=["whatsapp:write"])
    assert "forbidden.insufficient_permissions" in listener.failure(NEOAPI_KEY=other.secret)


def test_the_key_is_read_from_a_file(own_api, listener, tmp_path):
    (tmp_path / "key").write_text(listener.env.pop("NEOAPI_KEY") + "\n")
    listener.start("--key-file", str(tmp_path / "key"))
    own_api.broker(name="Ana")
    assert "Ana" in listener.await_lines(1)[0]


def test_it_waits_while_the_service_is_away(tmp_path, program):
    with running_instance("listen", "") as instance:
        factory = AdminFactory(instance)
        api = Api(instance, factory.key())
        listener = Listener(api, tmp_path, program)
        listener.env["NEOAPI_URL"] = instance.url
        try:
            listener.start()
            instance.command("stop-httpd")
            eventually(lambda: "cannot be reached" in listener.errors.read_text(), "the notice")
            instance.command("start-httpd")
            api.broker(name="later")
            assert "later" in listener.await_lines(1)[0]
            assert "Connected again" in listener.errors.read_text()
        finally:
            listener.stop()
