# SPDX-License-Identifier: Apache-2.0
"""The client of the page "Keeping in sync": it exports, follows, and recovers after a time offline."""

import json
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from client import ok
from cutting_proxy import cutting_proxy
from deployment import ROOT
from factories import ResourceFactory
from pages import page_of
from sync_client import NodeSyncClient, SyncClient
from wait import TIMEOUT_S, eventually

MAX_LINES, MAX_WIDTH = 100, 110
TOOLS = ROOT / "tests/openapi"
INSTALL_TIMEOUT_S = 600  # npm fetches 640 packages on a new machine


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The TypeScript client as JavaScript, checked by the compiler."""
    place = tmp_path_factory.mktemp("sync")
    install = 'here=$1; . "$here/tools.sh"; install_tools; echo "$tools"'
    tools = subprocess.run(["sh", "-eu", "-c", install, "sh", TOOLS], check=True, capture_output=True, text=True,
                           timeout=INSTALL_TIMEOUT_S).stdout.splitlines()[-1]
    (place / "package.json").write_text('{"type": "module"}')
    (place / "sync.ts").write_text((ROOT / "src/docs/sync.ts").read_text())
    config = json.loads((TOOLS / "story.json").read_text())
    (place / "tsconfig.json").write_text(json.dumps({**config, "files": [str(TOOLS / "node.d.ts"), "sync.ts"]}))
    done = subprocess.run([tools + "/node_modules/.bin/tsc"], cwd=place, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout
    return place / "sync.js"


@pytest.fixture(params=["python", pytest.param("typescript", marks=pytest.mark.slow)])
def client(own_api, tmp_path, request):
    made = SyncClient(own_api, tmp_path) if request.param == "python" else \
        NodeSyncClient(own_api, tmp_path, request.getfixturevalue("compiled"))
    yield made
    made.stop()


def test_the_copy_follows_every_change(own_api, client):
    factory = ResourceFactory(own_api)
    property = factory.property()
    broker = own_api.broker(name="A", phone="+55 11 4000-1234")
    client.start().await_sync()
    ok(own_api.patch("brokers/" + broker["id"], json={"phone": "+55 11 4000-4321"}))  # not in payloads
    ok(own_api.patch("properties/" + property["id"], json={"title": "B"}))
    ok(own_api.delete("brokers/" + own_api.broker(name="C")["id"]), 204)
    client.await_sync()
    assert client.records()[broker["id"]]["phone"] == "+55 11 4000-4321"
    ok(own_api.delete("brokers/" + broker["id"]), 204)
    client.await_sync()
    assert broker["id"] not in client.records() and client.has_deleted(broker["id"])


def test_own_changes_are_applied_and_not_reported(own_api, client, admin_factory):
    other = own_api.with_(credential=admin_factory.key(own_api.credential.organizations[0]))
    client.start().await_sync()
    own, foreign = own_api.broker(name="own"), other.broker(name="foreign")
    client.await_sync()
    assert set(client.records()) == {own["id"], foreign["id"]}
    assert client.output.read_text() == f"changed {foreign['id']}\n"


def test_the_client_continues_after_a_stop_and_exports_when_its_position_has_expired(own_api, client):
    kept, removed = own_api.broker(name="kept"), own_api.broker(name="removed")
    client.start().await_sync()
    client.stop()
    ok(own_api.patch("brokers/" + kept["id"], json={"name": "changed"}))
    client.start().await_sync()
    client.stop()
    client.set_position("evt_" + "0" * 26)  # after a long time offline
    ok(own_api.delete("brokers/" + removed["id"]), 204)
    own_api.broker(name="new")
    client.start().await_sync()
    assert client.position() > "evt_1"


def test_an_export_after_a_restore_replaces_newer_records(own_api, client):
    changed, deleted = own_api.broker(name="changed"), own_api.broker(name="deleted")
    client.start().await_sync()
    client.stop()
    client.keep_lost_changes({**changed, "name": "lost", "updated_at": "2099-01-01T00:00:00.000Z"}, deleted)
    client.set_position("evt_" + "0" * 26)
    client.start().await_sync()
    assert {record["name"] for record in client.records().values()} == {"changed", "deleted"}


def test_a_key_without_a_scope_ends_the_client_and_keeps_the_copy(own_api, client, admin_factory):
    own_api.broker(name="kept")
    client.start().await_sync()
    client.stop()
    client.set_position("evt_" + "0" * 26)
    client.api = own_api.with_(credential=admin_factory.key(own_api.credential.organizations[0], scopes=["brokers:read"]))
    client.start()
    assert eventually(lambda: client.process.poll() is not None, "the end of the client")
    assert client.process.returncode != 0 and "properties:read" in client.output.read_text()
    assert [record["name"] for record in client.records().values()] == ["kept"]


def test_an_aborted_export_is_started_again_and_its_position_kept(own_api, client):
    """Records of the aborted export are deleted before the next one."""
    kept, removed = own_api.broker(name="kept"), own_api.broker(name="removed")
    with cutting_proxy(own_api, lambda: ok(own_api.delete("brokers/" + removed["id"]), 204)) as proxy:
        client.url = proxy.url
        client.start().await_sync()
    assert proxy.cut == [removed["id"]] and set(client.records()) == {kept["id"]}


class BusyService(BaseHTTPRequestHandler):
    """A service without resources that lets no request wait for events. Notes when it is asked for them."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = urlsplit(self.path).path
        if path == "/events":
            self.asked.append(time.monotonic())
        body = {"/me": b'{"principal_id": "nbr_1"}', "/events": b'{"items": []}'}.get(path, b"")
        self.send_response(200)
        self.send_header("X-Events-Position", "evt_1")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "2")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_client_that_could_not_wait_asks_again_after_the_time_in_retry_after(client):
    service = type("Service", (BusyService,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client.url = f"http://127.0.0.1:{server.server_port}/"
        client.start()
        eventually(lambda: len(service.asked) >= 3, "it asks again")
        client.stop()
        server.shutdown()
    assert all(later - earlier > 1.9 for earlier, later in zip(service.asked, service.asked[1:]))


@pytest.mark.parametrize("name", ["sync.py", "sync.ts"])
def test_the_page_has_the_programs_that_are_tested(anonymous, name):
    text, = [text for _, found, text in page_of(anonymous, "docs/sync").examples if found == name]
    licence, program = (ROOT / "src/docs" / name).read_text().split("\n", 1)
    assert "SPDX" in licence and text == program.rstrip("\n") and len(text.splitlines()) <= MAX_LINES
    assert max(len(line) for line in text.splitlines()) <= MAX_WIDTH
