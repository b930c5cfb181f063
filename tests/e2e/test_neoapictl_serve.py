# SPDX-License-Identifier: Apache-2.0
"""neoapictl serve and health, without a container: variables, and an httpd that runs without root. make image-test runs the image."""

import base64
import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest
import yaml
from admin_factory import AdminFactory
from client import Api
from deployment import BUILD, ROOT, TIMEOUT_S
from receiver import Receiver, status as respond
from wait import eventually

CTL = BUILD / "neoapictl"
CONF = ROOT / "conf/image/serve.conf"
GOOD = {"NEOAPI_BASE_URL": "https://api.example.com/public/v1/", "NEOAPI_DATABASE": "dbname=neoapi", "NEOAPI_CERTIFICATE": "/dev/null",
        "NEOAPI_CERTIFICATE_KEY": "/dev/null", "NEOAPI_HTTPD": "/bin/echo", "NEOAPI_HTTPD_CONF": str(CONF)}

REFUSED = [
    ("NEOAPI_BASE_URL", "", "must be set"),
    ("NEOAPI_BASE_URL", "https://api.example.com/", "must be a URL that ends in /public/v1/"),
    ("NEOAPI_BASE_URL", "https:///public/v1/", "must be a URL"),
    ("NEOAPI_BASE_URL", 'https://a/"/public/v1/', "must be a URL"),
    ("NEOAPI_PORT", "443", "must be a port from 1024"),
    ("NEOAPI_PORT", "tcp://10.0.0.1:443", "must be a port"),
    ("NEOAPI_MONITORING_PORT", "65536", "must be a port"),
    ("NEOAPI_TLS", "no", "must be one of on, off"),
    ("NEOAPI_PROXY", "proxy.example.com", "must be address ranges"),
    ("NEOAPI_PROXY", " ", "must not be empty"),
    ("NEOAPI_MONITORING_CLIENTS", "10.0.0.0/33", "must be address ranges"),
    ("NEOAPI_PROCESSES", "0", "must be a whole number"),
    ("NEOAPI_THREADS", "1001", "must be a whole number"),
    ("NEOAPI_CERTIFICATE", "/nowhere", "is /nowhere, which the user"),
    ("NEOAPI_KEY_FILE", "/nowhere", "is /nowhere, which the user"),
    ("NEOAPI_DATABASE_PASSWORD_FILE", "/nowhere", "is /nowhere, which the user"),
    ("NEOAPI_DATABASE_PASSWORD_FILE", "/dev/null", ": the first line of the password file /dev/null must be a password"),
    ("NEOAPI_DATABASE", "", "must be set"),
    ("NEOAPI_DATABASE", 'dbname="neoapi"', "must not contain control characters, double quotes"),
    *((name, text, "is not a connection string") for name in ("NEOAPI_DATABASE", "NEOAPI_READ_DATABASE")
      for text in ("postgres", "dbnam=neoapi", "host=db dbname", "postgresql://[::1/neoapi")),
    ("NEOAPI_HOST_NAME", "two words", "must not contain blanks"),
    ("NEOAPI_HOST_NAME", "two\nlines", "must not contain control characters"),
    ("NEOAPI_PORT", "8081", "and NEOAPI_MONITORING_PORT must be different ports"),
    ("NEOAPI_HOST_NAME", "${PATH}", "must not contain control characters, double quotes"),
    ("NEOAPI_WEBHOOK_TIMEOUT", "61", "must be a whole number from 1 to 60"),
    ("NEOAPI_WEBHOOK_CONCURRENCY", "-1", "must be a whole number from 0 to 4096"),
    ("NEOAPI_WEBHOOK_ALLOW_HTTP", "true", "must be one of on, off"),
    *(("NEOAPI_TRACE_COLLECTOR", url, "must be a URL without a user or a query")
      for url in ("127.0.0.1:4318", "http://", "http:///v1", "http://user:secret@127.0.0.1", "http://127.0.0.1/?x=1")),
    ("NEOAPI_LOG_LEVEL", "loud", "must be one of"),
    ("NEOAPI_RUN_DIR", "/nowhere", "is /nowhere, which the user"),
    ("NEOAPI_WEBHOOK_TIMOUT", "5", "is not a variable of neoapictl serve"),
    ("NEOAPI_CHECK", "1", "is not a variable of neoapictl serve"),
]


@pytest.fixture(scope="module", autouse=True)
def key(tmp_path_factory):
    """A key file for GOOD."""
    file = tmp_path_factory.mktemp("serve") / "key"
    file.write_text(base64.b64encode(bytes(32)).decode() + "\n")
    file.chmod(0o600)
    GOOD["NEOAPI_KEY_FILE"] = str(file)
    return file


def serve(*arguments, **env):
    done = subprocess.run([CTL, "serve", "--check", *arguments], env={**GOOD, **env}, capture_output=True, text=True, timeout=TIMEOUT_S)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_is_refused():
    done = subprocess.run([CTL, "serve"], env=GOOD, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "neoapictl: serve does not run as root: run it as another user, such as www-data\n")


@pytest.mark.parametrize("name, value, error", REFUSED)
def test_a_wrong_variable_is_refused_by_name(name, value, error):
    separator = "" if error.startswith(":") else " "
    status, said = serve(**{name: value})
    assert status == 1 and said.startswith(f"neoapictl: {name}{separator}{error}") and len(said.splitlines()) == 1, said


@pytest.mark.parametrize("text, mode, error", [(None, 0o644, "can be read or changed by other users (chmod 0600"), ("", 0o600, "has no key"),
                                               ("secret", 0o600, "each line must be 32 random bytes")])
def test_a_key_file_that_httpd_would_not_use_is_refused(key, tmp_path, text, mode, error):
    file = tmp_path / "key"
    file.write_text(key.read_text() if text is None else text)
    file.chmod(mode)
    status, said = serve(NEOAPI_KEY_FILE=str(file))
    assert status == 1 and said.startswith("neoapictl: NEOAPI_KEY_FILE: key file ") and error in said and len(said.splitlines()) == 1, said


def test_a_password_in_a_malformed_connection_string_is_not_repeated():
    for text in ("host=db password=one two", "postgresql://neoapi:two@[::1/neoapi"):
        for name in ("NEOAPI_DATABASE", "NEOAPI_READ_DATABASE"):
            status, said = serve(**{name: text})
            assert status == 1 and said.startswith(f"neoapictl: {name} is not a connection string") and "two" not in said, said


def test_without_tls_the_proxy_must_be_named():
    status, said = serve(NEOAPI_TLS="off", NEOAPI_CERTIFICATE="/nowhere")
    assert status == 1 and said.startswith("neoapictl: NEOAPI_PROXY must be set"), said
    status, said = serve(NEOAPI_TLS="off", NEOAPI_CERTIFICATE="/nowhere", NEOAPI_PROXY="10.0.0.1 fd00::/8")
    assert status == 0 and "-D NEOAPI_PROXY" in said and "-D NEOAPI_TLS" not in said, said


def test_an_option_wins_over_its_variable():
    status, said = serve("--port", "80")
    assert status == 2 and "--port must be a port" in said
    assert serve("--port", "8000", NEOAPI_PORT="wrong")[0] == 0


def test_the_configuration_uses_each_variable():
    listed = subprocess.run([CTL, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    options = re.findall(r"^  --([a-z-]+)", listed.split("Options of every command")[0], re.M)
    named = {"NEOAPI_" + option.upper().replace("-", "_") for option in options}
    used = set(re.findall(r"NEOAPI_[A-Z_]+", "\n".join(line for line in CONF.read_text().splitlines() if not line.startswith("#"))))
    made = {"NEOAPI_SERVER_NAME", "NEOAPI_PATH", "NEOAPI_WORKERS", "NEOAPI_STOP_TIMEOUT", "NEOAPI_DATABASE", "NEOAPI_PRINCIPAL",
            "NEOAPI_DB_TIME", "NEOAPI_REQUEST_ID", "NEOAPI_TRACE_ID"}
    unused = {"NEOAPI_CHECK", "NEOAPI_HTTPD", "NEOAPI_HTTPD_CONF", "NEOAPI_DATABASE_PASSWORD_FILE"}
    assert used - made == named - unused


# ---------------------------------------------------------------- conf/image, conf/kubernetes and conf/cluster agree

def documents(path):
    return list(yaml.safe_load_all((ROOT / "conf" / path).read_text()))


def test_the_shipped_numbers_agree():
    """The defaults of serve, compose.yml, the manifests, and conf/cluster."""
    cluster = (ROOT / "conf/cluster/httpd.conf").read_text()
    numbers = {name: re.search(rf"^{directive} (\d+)", cluster, re.M)[1] for name, directive in
               (("PROCESSES", "StartServers"), ("THREADS", "ThreadsPerChild"), ("DATABASE_CONNECTIONS", "DBDMax"))}
    listed = subprocess.run([CTL, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    compose, (kubernetes, deployment, *_) = documents("image/compose.yml")[0], documents("kubernetes/neoapi.yaml")
    environments = [compose["services"]["api"]["environment"], kubernetes["data"]]
    for name, number in numbers.items():
        option = "--" + name.lower().replace("_", "-")
        assert re.search(rf"^  {option} .*?\(default: {number}\)", re.sub(r"\n {20,}", " ", listed), re.M), (option, number)
        assert {env["NEOAPI_" + name] for env in environments} == {number}
    health = (ROOT / "conf/cluster/haproxy.cfg").read_text()
    interval, fall, rise = re.search(r"check inter (\d+)s fall (\d+) rise (\d+)", health).groups()
    pod = deployment["spec"]["template"]["spec"]
    probe = pod["containers"][0]["readinessProbe"]
    assert (probe["periodSeconds"], probe["failureThreshold"], probe["successThreshold"]) == (int(interval), int(fall), int(rise))
    assert deployment["spec"]["replicas"] == len(re.findall(r"^ +server host\d", health, re.M))

    # The time that a container gets is longer than a graceful stop with the default of NEOAPI_WEBHOOK_TIMEOUT.
    stop = int(re.search(r"--webhook-timeout .*?\(default: (\d+)\)", re.sub(r"\n {20,}", " ", listed))[1]) + 10
    pause = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] > stop + pause and int(compose["services"]["api"]["stop_grace_period"][:-1]) > stop
    connections = 2 * deployment["spec"]["replicas"] * int(numbers["PROCESSES"]) * int(numbers["DATABASE_CONNECTIONS"])
    assert connections < int(re.search(r"max_connections: (\d+)", (ROOT / "conf/cluster/patroni.yml").read_text())[1])
    version = re.search(r"\((.*?)\)", (ROOT / "debian/changelog").read_text())[1]
    for path in ("conf/image/compose.yml", "conf/kubernetes/neoapi.yaml", "conf/kubernetes/migrate.yaml", "conf/kubernetes/setup.yaml",
                 "doc/image.md", "src/docs/ways.html"):
        assert set(re.findall(r"mod-neoapi:(\d[^\s<]+)", (ROOT / path).read_text())) == {version}, path


def test_httpd_gets_no_password_of_other_roles():
    services = documents("image/compose.yml")[0]["services"]
    folders = {name: [volume.split(":")[0] for volume in service["volumes"]] for name, service in services.items() if name != "db"}
    assert folders == {"api": ["./secrets"], "setup": ["./tools"], "migrate": ["./tools"]}
    commands = re.findall(r"podman run (.*?) mod-neoapi:", (ROOT / "doc/image.md").read_text(), re.S)
    assert [re.search(r"\$PWD/(\w+):", command)[1] for command in commands] == ["tools", "secrets"]
    written = re.findall(r">(\w+)/(admin|superuser)$", (ROOT / "doc/image.md").read_text(), re.M)
    assert written == [("tools", "admin"), ("tools", "superuser")]


def test_the_manifests_name_known_variables_and_no_pod_but_the_hosts_is_selected():
    api, (config, deployment, service, budget, policy) = documents("kubernetes/migrate.yaml")[0], documents("kubernetes/neoapi.yaml")
    env = {**GOOD, **config["data"], "NEOAPI_DATABASE_PASSWORD_FILE": __file__, "NEOAPI_CERTIFICATE": "/dev/null"}
    assert serve(**env)[0] == 0
    hosts = deployment["spec"]["selector"]["matchLabels"]
    assert hosts == service["spec"]["selector"] == budget["spec"]["selector"]["matchLabels"]
    assert hosts == policy["spec"]["podSelector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert not hosts.items() <= api["spec"]["template"]["metadata"]["labels"].items()


# ---------------------------------------------------------------- a running httpd

def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Served:
    """httpd as the user of the module in Debian, from copies that this user can read."""

    def __init__(self, instance):
        self.place = instance.state / f"serve-{free_port()}"
        self.place.mkdir(mode=0o755)
        for source, name in ((CTL, "neoapictl"), (BUILD / "mod_neoapi.so", "mod_neoapi.so"), (instance.state / "tls/server.pem", "tls.crt"),
                             (instance.state / "tls/server.key", "tls.key"), (instance.state / "neoapi.key", "key")):
            shutil.copy(source, self.place / name)
        (self.place / "serve.conf").write_text(CONF.read_text().replace("modules/mod_neoapi.so", f"{self.place}/mod_neoapi.so"))
        (self.place / "run").mkdir()
        self.port, self.monitoring, self.ca = free_port(), free_port(), instance.ca
        self.url, self.generation, self.restarted_at = f"https://localhost:{self.port}/public/v1/", 0, 0
        self.env = {**GOOD, "NEOAPI_BASE_URL": self.url, "NEOAPI_PORT": str(self.port), "NEOAPI_MONITORING_PORT": str(self.monitoring),
                    "NEOAPI_DATABASE": instance.dsn, "NEOAPI_CERTIFICATE": str(self.place / "tls.crt"),
                    "NEOAPI_CERTIFICATE_KEY": str(self.place / "tls.key"), "NEOAPI_KEY_FILE": str(self.place / "key"),
                    "NEOAPI_RUN_DIR": str(self.place / "run"), "NEOAPI_HTTPD_CONF": str(self.place / "serve.conf"),
                    "NEOAPI_HTTPD": shutil.which("apache2") or "/usr/sbin/apache2", "NEOAPI_WEBHOOK_TIMEOUT": "1", "NEOAPI_HOST_NAME": "served"}
        self.prefix, self.said = [], {name: self.place / name for name in ("requests", "errors")}
        for file in self.said.values():
            file.touch()
        if os.getuid() == 0:
            for path in [self.place, *self.place.iterdir()]:
                shutil.chown(path, "www-data", "www-data")
            self.prefix = ["setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups"]

    def run(self, *arguments):
        done = subprocess.run([*self.prefix, self.place / "neoapictl", *arguments], env=self.env, capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        return done.returncode, done.stdout + done.stderr

    @contextlib.contextmanager
    def started(self):
        """httpd opens its standard streams again, so they belong to its user, as container engines see to."""
        with open(self.said["requests"], "a") as out, open(self.said["errors"], "a") as err:
            process = subprocess.Popen([*self.prefix, self.place / "neoapictl", "serve"], env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=err)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(TIMEOUT_S)


@pytest.fixture
def collector():
    with Receiver(respond(200, b"{}", Content_Type="application/json")) as one:
        yield one


@pytest.mark.unsanitized
def test_httpd_runs_without_root_from_variables_alone(new_instance, collector):
    instance = new_instance()
    served = Served(instance)
    served.env["NEOAPI_TRACE_COLLECTOR"] = collector.url + "/"
    assert served.run("serve", "--check") == (0, "Syntax OK\n")
    assert served.run("health")[0] == 1
    with served.started() as process:
        eventually(lambda: served.run("health")[0] == 0 or process.poll() is not None, "it is ready")
        assert process.poll() is None, served.said["errors"].read_text()
        api = Api(served, AdminFactory(instance).key())
        assert api.get("me").status_code == 200
        assert api.session.get(served.url.replace("/public", "/.well-known/oauth-authorization-server/public").rstrip("/"),
                               timeout=TIMEOUT_S).json()["token_endpoint"] == served.url + "oauth/token"
        eventually(lambda: any(b'"getPrincipal"' in one.body for one in collector.arrivals), "the request's span")
        for page, status in (("neoapi-metrics", 200), ("neoapi-status", 200), ("public/v1/me", 403), ("", 403)):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.monitoring, timeout=TIMEOUT_S)) as connection:
                connection.request("GET", "/" + page)
                assert connection.getresponse().status == status, page
        process.send_signal(signal.SIGWINCH)
        assert process.wait(TIMEOUT_S) == 0, served.said["errors"].read_text()
        assert '"GET /public/v1/me HTTP/' in served.said["requests"].read_text()
