# SPDX-License-Identifier: Apache-2.0
"""neoapictl doctor: missing steps and faults of httpd's configuration, which apachectl reads, with their remedies."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg2
import pytest
from ctl_database import new_database, db, own_database  # noqa: F401 (fixtures)
from deployment import BUILD, TIMEOUT_S, ROOT
from psycopg2.extensions import make_dsn
from standby import standby
from wait import eventually

# httpd cannot load a sanitized module by itself.
pytestmark = [pytest.mark.slow, pytest.mark.unsanitized]

DEBIAN = Path("/etc/apache2")  # the source
ENABLED = "authz_core deflate filter mime mpm_event neoapi reqtimeout setenvif dbd ssl socache_shmcb http2 headers".split()
CHECKS = ["httpd configuration", "virtual host", "certificate"]
NAME = "api.imobiliaria.example"


class Layout:
    """A directory like Debian's /etc/apache2 with the module."""

    def __init__(self, place):
        self.place, self.root, self.key = place, place / "apache2", place / "neoapi/key"
        for name in ("mods-enabled", "sites-enabled", "sites-available", "conf-enabled", "conf-available", "mods-available"):
            (self.root / name).mkdir(parents=True)
        for name in ("log", "run", "neoapi"):
            (place / name).mkdir(parents=True)
        shutil.copy(DEBIAN / "apache2.conf", self.root)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (self.root / "ports.conf").write_text(f"ServerName localhost\nListen 127.0.0.1:{self.port}\n")
        (self.root / "envvars").write_text("".join(f"export APACHE_{name}={value}\n" for name, value in {
            "LOG_DIR": place / "log", "RUN_DIR": place / "run", "LOCK_DIR": place / "run", "PID_FILE": place / "run/pid",
            "RUN_USER": "www-data", "RUN_GROUP": "www-data"}.items()))
        load = (ROOT / "debian/apache/neoapi.load").read_text()
        (self.root / "mods-available/neoapi.load").write_text(re.sub(r"/\S+\.so", str(BUILD / "mod_neoapi.so"), load))
        for name in {*ENABLED, "mpm_prefork"}:
            for file in DEBIAN.glob(f"mods-available/{name}.*"):
                shutil.copy(file, self.root / "mods-available")
        self.env = {**os.environ, "NEOAPI_DATABASE": "port=0"}
        self.enable(*ENABLED)

    def enable(self, *modules):
        for name in modules:
            for file in self.root.glob(f"mods-available/{name}.*"):
                (self.root / "mods-enabled" / file.name).symlink_to(f"../mods-available/{file.name}")

    def run(self, command):
        done = subprocess.run(["bash", "-c", command], env=self.env, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, (command, done.stdout, done.stderr)

    def doctor(self, *args):
        """The exit status, and the results by name."""
        done = subprocess.run([os.environ["NEOAPI_CTL_BIN"], "--json", "doctor", "--httpd-conf", str(self.root), *args],
                              env=self.env, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode in (0, 1) and not done.stderr, done
        return done.returncode, {row["check"]: row for row in json.loads(done.stdout)}

    def found(self, check, *args):
        return self.doctor(*args)[1][check]

    def certificate(self, name=NAME, days=90, key="site"):
        """Creates a certificate site.pem with the key site.key; another key name keeps site.key."""
        self.run(f"cd {self.place} && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout {key}.key"
                 f" -out request && openssl x509 -req -in request -signkey {key}.key -days {days} -out site.pem"
                 f" -extfile <(echo subjectAltName=DNS:{name})")

    def finish(self, **certificate):
        """Completes the configuration as the README's commands do."""
        self.run(f"umask 077; openssl rand -base64 32 >{self.key}")
        self.certificate(**certificate)
        text = (ROOT / "conf/neoapi.conf").read_text().replace("/etc/neoapi/", f"{self.place}/neoapi/")
        text = re.sub(r"/etc/ssl/\w+/api.example.com.(pem|key)", rf"{self.place}/site.\1", text).replace("api.example.com", NAME)
        (self.root / "sites-available/neoapi.conf").write_text(text)
        (self.root / "sites-enabled/neoapi.conf").symlink_to("../sites-available/neoapi.conf")
        return self

    def edit(self, old, new):
        path = self.root / "sites-available/neoapi.conf"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path)


# ---------------------------------------------------------------- installation steps


def commands_of_the_readme():
    section = (ROOT / "README.md").read_text().split("## Installation")[1].split("\n## ")[0]
    found = re.findall(r"^    (.*)$", section, re.M)
    return found[:next(n for n, line in enumerate(found) if line.startswith("curl"))]


def test_doctor_suggests_each_command_of_the_readme(layout):
    apt, setup, key, site, _ = commands_of_the_readme()
    assert apt.startswith("apt install")
    found = layout.doctor("--key-file", str(layout.key))[1]
    assert setup.partition(" --tenant ")[0] in found["connection"]["fix"]
    found = layout.doctor()[1]
    assert found["key file"]["result"] == "ok" or found["key file"]["fix"].endswith(key)
    assert found["virtual host"] == {**found["virtual host"], "result": "pending", "fix": site}
    assert [found[name]["result"] for name in CHECKS] == ["ok", "pending", "skipped"]
    assert found["httpd"]["result"] == "failed"  # without a database


def test_a_replica_that_cannot_be_used_is_found(layout, own_database, instance):
    layout.finish().env["NEOAPI_DATABASE"] = own_database.dsn
    layout.edit("dbname=neoapi", own_database.runtime_dsn.replace("'", ""))
    assert layout.found("read replica")["found"] == "NeoAPIReadDSN is not set"
    with standby(instance) as replica:
        dsn = make_dsn(own_database.runtime_dsn, host=replica.host).replace("'", "")
        layout.edit("#NeoAPIReadDSN \"service=neoapi-read", f'NeoAPIReadDSN "{dsn}')
        row = layout.found("read replica")
        assert row["result"] == "ok", row
        with replica.paused():
            own_database.sql("create table public.later ()")
            row = layout.found("read replica")
            assert row["result"] == "failed" and row["found"].startswith("it lags behind the primary by "), row
        replica.promote()
        row = layout.found("read replica")
        assert row["found"] == "it is not a replica, but accepts writes" and "NeoAPIReadDSN" in row["fix"], row
    row = layout.found("read replica")
    assert row["result"] == "failed" and "socket" in row["found"], row


def test_a_complete_site_passes(layout, own_database):
    layout.finish().env["NEOAPI_DATABASE"] = own_database.dsn
    layout.edit("dbname=neoapi", own_database.runtime_dsn.replace("'", ""))
    found = layout.doctor()[1]
    assert [found[name]["result"] for name in CHECKS] == ["ok"] * 3, found
    assert found["virtual host"]["found"].startswith(f"https://{NAME}/public/v1/ in {layout.root}/sites-enabled/neoapi.conf")
    assert found["httpd database"]["result"] == "ok" and found["key file"]["found"] == f"{layout.key} has 1 key"
    own_database.sql("insert into neoapi.schema_migration (number, name) values (1000, 'x')")
    found = layout.doctor()[1]
    assert found["schema"]["result"] == "failed" and "newer" in found["schema"]["fix"]


# ---------------------------------------------------------------- faults


def test_a_module_that_is_not_loaded_is_found(layout):
    for file in layout.root.glob("mods-enabled/neoapi.*"):
        file.unlink()
    found = layout.found("httpd configuration")
    assert found["result"] == "pending" and found["fix"] == "a2enmod neoapi && apachectl configtest && systemctl restart apache2"
    layout.finish()
    assert layout.found("httpd configuration")["result"] == "failed"


@pytest.mark.parametrize("fault, found", [
    (dict(days=0), "has expired"), (dict(days=5), "expires in "), (dict(name="other.example"), f"is not for {NAME}"),
    (dict(key="other"), "is not the key of")])
def test_a_bad_certificate_is_found(layout, fault, found):
    layout.finish()
    layout.certificate(**fault)
    status, rows = layout.doctor()
    row = rows["certificate"]
    assert status == 1 and row["result"] == "failed" and found in row["found"] and "systemctl reload-or-restart" in row["fix"], row


def test_a_bad_certificate_of_the_second_host_is_found(layout):
    layout.finish()
    text = (layout.root / "sites-available/neoapi.conf").read_text().replace(NAME, "second.example")
    (layout.root / "sites-enabled/second.conf").write_text(text)
    assert "second.example" in layout.found("certificate")["found"]


def remove(name):
    return lambda layout: (layout.place / name).unlink()


@pytest.mark.parametrize("fault, found", [
    (remove("site.pem"), "site.pem"), (remove("neoapi/key"), "NEO0113"),
    (lambda layout: layout.edit(f"NeoAPIBaseURL https://{NAME}/public/v1/", f"NeoAPIBaseURL https://{NAME}/public/v1"),
     f"must end with a slash: https://{NAME}/public/v1/"),
    (lambda layout: layout.edit("#NeoAPIWebhookCABundle /etc/ssl/certs/ca-certificates.crt", "NeoAPIWebhookCABundle /nowhere"),
     "NEO0117: NeoAPIWebhookCABundle: /nowhere cannot be read"),
    (lambda layout: layout.edit("    SSLEngine On", "    SSLEngin On"), "SSLEngin"),
], ids=["certificate", "key", "base url", "ca bundle", "directive"])
def test_a_configuration_that_httpd_refuses_is_found(layout, fault, found):
    fault(layout.finish())
    status, rows = layout.doctor()
    row = rows["httpd configuration"]
    assert status == 1 and row["result"] == "failed" and found in row["found"] and "\n" not in row["found"], row


def test_a_missing_key_file_of_an_enabled_site_is_found(layout):
    layout.finish().key.unlink()
    row = layout.found("key file")
    assert row["result"] == "failed" and str(layout.key) in row["fix"]


def test_a_stopped_httpd_is_found(layout):
    layout.finish()
    row = layout.found("httpd")
    assert (row["result"], row["found"]) == ("failed", "httpd does not run") and "systemctl start" in row["fix"]
    with socket.create_server(("127.0.0.1", layout.port)):
        row = layout.found("httpd")
    assert row["result"] == "failed" and f"another program uses port {layout.port}" in row["found"]
    (layout.place / "run/pid").write_text(f"{os.getpid()}\n")
    assert layout.found("httpd")["result"] == "skipped"  # no database


def test_doctor_waits_for_the_pid_file_of_a_httpd_that_has_just_started(layout):
    """doctor connects to the port when httpd listens but has not written the file."""
    layout.finish()
    with ThreadPoolExecutor() as pool, socket.create_server(("127.0.0.1", layout.port)) as server:
        server.settimeout(TIMEOUT_S)
        row = pool.submit(layout.found, "httpd")
        server.accept()[0].close()
        (layout.place / "run/pid").write_text(f"{os.getpid()}\n")
        assert row.result()["result"] == "skipped"  # no database


def test_doctor_waits_for_the_first_process_of_a_httpd_that_has_just_started(layout, own_database):
    """Takes the lock of a listening process after doctor has looked for one."""
    layout.finish().env["NEOAPI_DATABASE"] = own_database.dsn
    (layout.place / "run/pid").write_text(f"{os.getpid()}\n")
    with ThreadPoolExecutor() as pool, contextlib.closing(psycopg2.connect(own_database.dsn)) as listener:
        listener.autocommit = True
        row = pool.submit(layout.found, "httpd")
        with listener.cursor() as cursor:
            def has_looked():
                cursor.execute("select from pg_stat_activity where datname = %s and application_name = 'neoapictl'"
                               " and state = 'idle' and query like '%%pg_locks%%neoapi_credentials%%'", [own_database.name])
                return cursor.rowcount
            eventually(has_looked, "doctor looks for processes")
            cursor.execute("select pg_advisory_lock_shared(hashtext('neoapi_credentials'), 1)")
        assert row.result() == {"check": "httpd", "result": "ok", "found": "1 process listens for credential changes"}


def test_another_database_is_found(layout, own_database, cluster):
    layout.finish().env["NEOAPI_DATABASE"] = own_database.dsn
    layout.edit("dbname=neoapi", make_dsn(cluster.admin_dsn, user="neoapi").replace("'", ""))
    row = layout.found("httpd database")
    assert row["result"] == "failed" and f"neoapictl {own_database.name} of" in row["found"]


def test_too_many_connections_are_found_with_the_remedy(layout, own_database):
    layout.finish().env["NEOAPI_DATABASE"] = own_database.dsn
    (layout.root / "conf-enabled/x.conf").write_text("ServerLimit 40\nThreadsPerChild 25\nMaxRequestWorkers 1000\n")
    row = layout.found("connection limit")
    assert row["result"] == "failed" and row["found"].startswith("40 processes of 16 connections need 640")
    assert row["fix"].startswith(commands_of_the_readme()[-1].partition(" && ")[0])
    for file in layout.root.glob("mods-enabled/mpm_event.*"):
        file.unlink()
    layout.enable("mpm_prefork")
    (layout.root / "conf-enabled/x.conf").write_text("")
    row = layout.found("connection limit")
    assert row["result"] == "failed" and "of 3 connections" in row["found"]
    assert "a2dismod mpm_prefork && a2enmod mpm_event" in row["fix"] and "MaxRequestWorkers to at most" in row["fix"]
    done = subprocess.run(["apachectl", "-t"], env={**layout.env, "APACHE_CONFDIR": str(layout.root)}, capture_output=True, text=True)
    assert done.returncode == 0 and re.search("NEO0107: 150 processes with one thread each need up to 450", done.stderr), done


# ---------------------------------------------------------------- the key file


def test_the_key_file_is_the_configured_one(layout):
    layout.finish()
    layout.key.chmod(0o644)
    assert "chmod 0600" in layout.found("key file")["found"]
    other = layout.key.with_name("other")
    other.write_bytes(layout.key.read_bytes())
    other.chmod(0o600)
    assert layout.found("key file", "--key-file", str(other))["result"] == "ok"
    layout.edit(f"NeoAPIKeyFile {layout.key}", "")
    (layout.root / "conf-enabled/x.conf").write_text(f"NeoAPIKeyFile {other}\n")
    assert layout.found("key file")["found"] == f"{other} has 1 key"


def test_a_lost_key_file_is_not_created_again(layout, own_database):
    """A new key file cannot decrypt existing secrets."""
    layout.finish().env["NEOAPI_DATABASE"] = own_database.dsn
    organization = own_database.json("organization", "create", "B", "--tenant",
                                     own_database.json("tenant", "create", "A")["id"])["id"]
    secrets = layout.place / "secrets"
    secrets.write_text("access_token=x\napp_secret=y\n")
    secrets.chmod(0o600)
    own_database.ok("whatsapp", "number", "create", "+55", "--organization", organization, "--waba-id", "10001",
                    "--phone-number-id", "10001", "--secrets", str(secrets), "--key-file", str(layout.key))
    assert layout.found("encrypted secrets")["result"] == "ok"
    layout.key.unlink()
    row = layout.found("key file")
    assert row["result"] == "failed" and "2 secrets" in row["found"] and "openssl" not in row["fix"]


# ---------------------------------------------------------------- other layouts


@pytest.mark.parametrize("kind", ["nothing", "an empty folder", "a file"])
def test_other_layouts_are_skipped_with_the_reason(db, tmp_path, kind):
    place = tmp_path / "etc"
    if kind == "a file":
        place.write_text("NeoAPI On")
    elif kind != "nothing":
        place.mkdir()
    code, out, err = db.run("--json", "doctor", "--httpd-conf", str(place))
    found = {row["check"]: row for row in json.loads(out)}
    assert (code, err) == (0, "") and {found[name]["result"] for name in CHECKS} == {"skipped"}
    assert str(place) in found["virtual host"]["found"]
