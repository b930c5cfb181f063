# SPDX-License-Identifier: Apache-2.0
"""The container image, as doc/image.md describes it: make image-test. Each test continues where the one before ended."""

import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from types import SimpleNamespace

import psycopg2
import pytest
from container import LIMIT_S, WWW_DATA, Container, Image, PostgreSQL, free_port, health, make_secrets, run
from client import Api, ok
from load import Load
from receiver import Receiver, slowly
from wait import eventually

BUILT = pathlib.Path(os.environ["NEOAPI_IMAGE"])  # of this version; NEOAPI_NEXT_IMAGE: of the next one
STOP_LIMIT_S = 25  # the default of NEOAPI_WEBHOOK_TIMEOUT and 10 seconds


class Deployment:
    """Containers of one database and one set of secrets."""

    def __init__(self, place):
        self.place, self.containers = place, []
        self.images = {name: Image(path / "oci", next(iter(versions(path))), place / name)
                       for name, path in (("this", BUILT), ("next", pathlib.Path(os.environ["NEOAPI_NEXT_IMAGE"])))}
        self.database, self.secrets = PostgreSQL(place / "pg"), place / "secrets"
        make_secrets(self.secrets)
        (self.secrets / "superuser-password").write_text(self.database.password)

    def run(self, *arguments, image="this", user="neoapi_admin", database="neoapi", password="admin-password", env=(), **more):
        connection = f"{self.database.server} dbname={database} user={user}"
        container = Container(self.images[image], self.place, self.secrets, *arguments, env=[
            ("NEOAPI_DATABASE", connection), ("NEOAPI_DATABASE_PASSWORD_FILE", f"/etc/neoapi/{password}"), *env], **more)
        self.containers.append(container)
        return container

    def finish(self, *arguments, **more):
        status, said = self.run(*arguments, **more).wait()
        assert status == 0, said
        return said

    def serve(self, name, image="this", **more):
        """Starts a host, without waiting for it."""
        port, monitoring = free_port(), free_port()
        env = {"NEOAPI_BASE_URL": f"https://localhost:{port}/public/v1/", "NEOAPI_PORT": port, "NEOAPI_MONITORING_PORT": monitoring,
               "NEOAPI_HOST_NAME": name, "NEOAPI_WEBHOOK_ALLOW_ADDRESS": "127.0.0.0/8",
               "NEOAPI_WEBHOOK_CA_BUNDLE": "/etc/neoapi/ca.pem", **more}
        container = self.run("serve", image=image, user="neoapi", password="password", env=env.items())
        return SimpleNamespace(container=container, port=port, monitoring=monitoring, url=env["NEOAPI_BASE_URL"],
                               ca=str(self.secrets / "ca.pem"), generation=0, restarted_at=0, sql=self.sql)

    def ready(self, name, **more):
        host = self.serve(name, **more)
        eventually(lambda: health(host.monitoring) == 200 or host.container.process.poll() is not None, "it is ready")
        assert host.container.process.poll() is None, host.container.wait()
        return host

    def sql(self, text, *values):
        with contextlib.closing(psycopg2.connect(f"{self.database.server} dbname=neoapi user=postgres password="
                                                 + self.database.password)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(text, values)
                return cursor.fetchall()

    def close(self):
        for container in self.containers:
            container.close()
        self.database.close()


def versions(path):
    for manifest in json.loads((path / "oci/index.json").read_text())["manifests"]:
        yield manifest["annotations"]["org.opencontainers.image.ref.name"]


@pytest.fixture(scope="module")
def deployment():
    """Not in pytest's directory, which only its user can enter."""
    with tempfile.TemporaryDirectory(prefix="neoapi-image.", dir="/var/tmp") as name:
        place = pathlib.Path(name)
        place.chmod(0o755)
        with contextlib.closing(Deployment(place)) as made:
            yield made


def is_genuine(arrival, secret):
    mac = hmac.new(secret.encode(), arrival.body, hashlib.sha256).hexdigest()
    return hmac.compare_digest("sha256=" + mac, arrival.headers["x-webhook-signature"])


@pytest.fixture
def receiver(deployment):
    with Receiver(certificate=(deployment.secrets / "tls.crt", deployment.secrets / "tls.key")) as one:
        one.url = one.url.replace("127.0.0.1", "localhost")
        yield one


def subscribe(api, receiver):
    response = api.post("webhooks", json={"url": receiver.url, "events": ["broker.created"]})
    assert response.status_code == 201, response.text
    return response.json()


# ---------------------------------------------------------------- the image

def test_it_has_no_shell_and_only_what_it_needs(deployment):
    root = deployment.images["this"].root
    programs = sorted(path.name for folder in ("bin", "sbin", "usr/bin", "usr/sbin") for path in (root / folder).glob("*"))
    assert programs == ["apache2", "neoapictl"]
    assert not [path for path in root.rglob("*") if path.is_file() and path.stat().st_mode & 0o6000], "set-user-id programs"


def test_every_program_finds_its_libraries(deployment):
    """The dynamic linker of the image itself says so."""
    root = deployment.images["this"].root
    loader = next(path for path in root.rglob("ld-linux-*") if path.is_file())
    for program in [*root.glob("usr/lib/apache2/modules/*.so"), *root.glob("usr/*bin/*"), *root.glob("usr/lib/*/apr-util-1/*.so")]:
        listed = run("chroot", root, "/" + str(loader.relative_to(root)), "--list", "/" + str(program.relative_to(root)))
        assert "=>" in listed and "not found" not in listed, listed


# ---------------------------------------------------------------- wrong variables

REFUSED = [
    ({"NEOAPI_BASE_URL": ""}, "NEOAPI_BASE_URL must be set"),
    ({"NEOAPI_PORT": "tcp://10.0.0.1:443"}, "NEOAPI_PORT must be a port"),
    ({"NEOAPI_KEY_FILE": "/etc/neoapi/nothing"}, "NEOAPI_KEY_FILE is /etc/neoapi/nothing, which the user 33 cannot read: No such file"),
    ({"NEOAPI_RUN_DIR": "/run"}, "NEOAPI_RUN_DIR is /run, which the user 33 cannot write to"),
    ({"NEOAPI_WEBHOOK_TIMOUT": "5"}, "NEOAPI_WEBHOOK_TIMOUT is not a variable of neoapictl serve"),
]


@pytest.mark.parametrize("env, message", REFUSED)
def test_a_wrong_variable_is_refused_by_name(deployment, env, message):
    """tests/e2e/test_neoapictl_serve.py has the others."""
    env = {"NEOAPI_BASE_URL": "https://api.example.com/public/v1/", **env}
    status, said = deployment.run("serve", user="neoapi", password="password", env=env.items()).wait()
    assert status == 1 and said.startswith("neoapictl: " + message) and len(said.splitlines()) == 1, said


# ---------------------------------------------------------------- from setup to a webhook

def test_it_does_not_migrate_by_itself(deployment):
    host = deployment.serve("early")
    eventually(lambda: health(host.monitoring, "?live") == 200, "httpd responds")
    assert health(host.monitoring) == 503
    host.container.kill(signal.SIGTERM)
    assert host.container.wait()[0] == 0


def test_setup_and_migrate_are_commands(deployment):
    said = json.loads(deployment.finish(
        "--json", "setup", "--runtime-password-file", "/etc/neoapi/password", "--admin-role", "neoapi_admin",
        "--admin-password-file", "/etc/neoapi/admin-password", "--tenant", "Imobiliária Exemplo", user="postgres",
        database="postgres", password="superuser-password").splitlines()[-1])
    deployment.key = SimpleNamespace(secret=said["first"]["secret"])
    assert json.loads(deployment.finish("--json", "migrate"))["applied"] == []
    deployment.finish("plan", "change", "default", "--requests", "1000000", "--concurrent-requests", "unlimited")


def test_a_request_over_tls_and_a_signed_webhook(deployment, receiver):
    began = time.monotonic()
    host = deployment.serve("host1")
    eventually(lambda: health(host.monitoring) == 200, "it is ready")
    print(f"container start to the first 200: {(time.monotonic() - began) * 1000:.0f} ms")
    deployment.host, deployment.api = host, Api(host, deployment.key)
    assert deployment.api.get("me").status_code == 200
    subscription = subscribe(deployment.api, receiver)
    deployment.api.broker()
    arrival = eventually(lambda: receiver.arrivals, "a webhook")[0]
    assert is_genuine(arrival, subscription["secret"]) and arrival.json["event_type"] == "broker.created"
    assert eventually(lambda: [line for line in host.container.lines if '"POST /public/v1/brokers' in line], "a line in the log")
    assert deployment.api.delete(f"webhooks/{subscription['id']}").status_code == 204


def test_the_health_check_is_a_command(deployment):
    env = {"NEOAPI_MONITORING_PORT": deployment.host.monitoring}
    assert "ready" in deployment.finish("health", env=env.items())
    status, said = deployment.run("health", env={"NEOAPI_MONITORING_PORT": free_port()}.items()).wait()
    assert status == 1 and said.startswith("neoapictl: "), said


def test_it_runs_without_root_and_writes_only_to_memory(deployment):
    pid = deployment.host.container.pid
    processes = [pid, *map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    assert len(processes) > 2
    for process in map(str, processes):
        proc = pathlib.Path("/proc", process)
        status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines() if ":\t" in line)
        assert status["Uid"].split() == [str(WWW_DATA)] * 4 and int(status["CapEff"], 16) == 0 and status["NoNewPrivs"] == "1"
        root = next(line.split() for line in (proc / "mountinfo").read_text().splitlines() if line.split()[4] == "/")
        assert "ro" in root[5].split(",")
        written = [os.readlink(fd) for fd in (proc / "fd").iterdir() if int(
            next(line for line in (proc / "fdinfo" / fd.name).read_text().splitlines() if line.startswith("flags")).split()[1], 8) & 3]
        assert not [name for name in written if name.startswith("/") and not name.startswith(("/dev/shm/", "/dev/zero", "/dev/null"))]


# ---------------------------------------------------------------- ends

def test_a_killed_container_loses_nothing(deployment, receiver):
    """A delivery that was in flight arrives after a restart, and so does a write that was confirmed."""
    receiver.behave(slowly(LIMIT_S))
    subscribe(deployment.api, receiver)
    broker = deployment.api.broker()
    eventually(lambda: receiver.arrivals, "an attempt in flight")
    deployment.host.container.kill(signal.SIGKILL)
    assert deployment.host.container.wait()[0] != 0
    receiver.behave(slowly(0))
    deployment.host = deployment.ready("host1")
    deployment.api = Api(deployment.host, deployment.key)
    assert deployment.api.get(f"brokers/{broker['id']}").json() == broker
    again = eventually(lambda: receiver.arrivals[1:], "the delivery again, after a lease of 45 seconds", 2 * LIMIT_S)[0]
    assert again.json["id"] == receiver.arrivals[0].json["id"]


def test_a_graceful_stop_under_load_aborts_nothing(deployment, receiver):
    """No response is cut off or lost, an attempt in flight ends and is recorded, and it is over within the limit."""
    other = deployment.ready("host2")
    receiver.behave(slowly(3))
    subscription = subscribe(deployment.api, receiver)
    with Load(deployment.api) as load:
        eventually(lambda: receiver.arrivals, "an attempt in flight")
        load.wait_for(100)
        began = time.monotonic()
        deployment.host.container.kill(signal.SIGWINCH)
        status, said = deployment.host.container.wait()
        seconds = time.monotonic() - began
    assert status == 0 and seconds < STOP_LIMIT_S, (status, seconds, said[-2000:])
    print(f"graceful stop under load: {seconds:.1f} s")
    refused = [sent for sent in load.sent if sent.broken or sent.status is None]
    # The kernel refuses connections, and resets those that httpd has not accepted when it closes the listening socket.
    assert not [sent for sent in refused if sent.broken and not sent.broken.startswith(("ConnectionRefused", "ConnectionReset"))], refused[:3]
    assert {sent.status for sent in load.sent} <= {200, 201, None}
    attempted = len(receiver.arrivals)
    assert len({arrival.event_id for arrival in receiver.arrivals}) == attempted, "a delivery was sent twice"
    deployment.host, deployment.api = other, Api(other, deployment.key)
    assert deployment.api.delete(f"webhooks/{subscription['id']}").status_code == 204


def test_sigterm_ends_within_the_courier_s_limit(deployment):
    host = deployment.ready("host3")
    began = time.monotonic()
    host.container.kill(signal.SIGTERM)
    assert host.container.wait()[0] == 0 and time.monotonic() - began < 10


# ---------------------------------------------------------------- upgrade

def test_an_upgrade_to_the_next_version_under_load(deployment):
    """The next image migrates while this one serves, then replaces it. The load is on the former until the latter is ready."""
    brokers = [deployment.api.broker()["id"] for _ in range(3)]
    with Load(deployment.api) as load:
        applied = json.loads(deployment.finish("--json", "migrate", image="next").splitlines()[-1])["applied"]
        assert applied
        newer = deployment.ready("host4", image="next")
        load.wait_for(50)
    assert {sent.status for sent in load.sent} <= {200, 201} and not [sent for sent in load.sent if sent.broken]
    deployment.host.container.kill(signal.SIGWINCH)
    assert deployment.host.container.wait()[0] == 0
    api = Api(newer, deployment.key)
    eventually(lambda: api.get("me").status_code != 429, "the other hosts have left it a part of the key's limit")
    assert [ok(api.get(f"brokers/{id}"))["id"] for id in brokers] == brokers
    assert api.broker(website="https://ana.example.com")["website"] == "https://ana.example.com"


def test_it_serves_behind_a_proxy_without_tls(deployment):
    host = deployment.ready("host5", image="next", NEOAPI_TLS="off", NEOAPI_PROXY="127.0.0.0/8")
    answer = subprocess.run(["curl", "-sS", "-H", f"X-API-Key: {deployment.key.secret}", "-H", "X-Forwarded-For: 192.0.2.7",
                             f"http://127.0.0.1:{host.port}/public/v1/me"], capture_output=True, text=True, timeout=LIMIT_S)
    assert '"principal_id"' in answer.stdout, answer
    eventually(lambda: [line for line in host.container.lines if line.startswith("192.0.2.7 ")], "the client's address in the log")
