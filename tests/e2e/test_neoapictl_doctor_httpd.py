"""neoapictl doctor and httpd's configuration as Debian lays it out: what is still to be done there, and how."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ctl_database import new_database, db, own_database  # noqa: F401 (fixtures)
from deployment import BUILD, TIMEOUT_S, ROOT

pytestmark = pytest.mark.slow

DEBIAN = Path("/etc/apache2")  # is copied from
ENABLED = "authz_core deflate filter mime mpm_event neoapi reqtimeout setenvif dbd".split()  # as they are then
MORE = "ssl socache_shmcb http2 headers".split()
OURS = ["host name", "certificate", "httpd modules", "virtual host"]
NAME = "api.imobiliaria.example"


class Layout:
    """A folder as it is after the package was installed, and programs that work in it instead of in the machine's."""

    def __init__(self, place):
        self.place, self.root, self.key = place, place / "apache2", place / "neoapi/key"
        for name in ("mods-enabled", "sites-enabled", "sites-available", "conf-enabled", "conf-available"):
            (self.root / name).mkdir(parents=True)
        (self.root / "mods-available").mkdir()
        for name in ("apache2.conf", "ports.conf"):
            shutil.copy(DEBIAN / name, self.root / name)
        for name in {*ENABLED, *MORE, "remoteip"} - {"neoapi"}:
            for file in DEBIAN.glob(f"mods-available/{name}.*"):
                shutil.copy(file, self.root / "mods-available")
        for name in ("log", "run", "state", "ssl/certs", "ssl/private", "neoapi", "bin"):
            (place / name).mkdir(parents=True)
        (self.root / "envvars").write_text("".join(f"export APACHE_{name}={value}\n" for name, value in {
            "LOG_DIR": place / "log", "RUN_DIR": place / "run", "LOCK_DIR": place / "run", "PID_FILE": place / "run/pid",
            "RUN_USER": "www-data", "RUN_GROUP": "www-data"}.items()))
        load = (ROOT / "debian/apache/neoapi.load").read_text()
        (self.root / "mods-available/neoapi.load").write_text(re.sub(r"/\S+\.so", str(BUILD / "mod_neoapi.so"), load))
        shutil.copy(ROOT / "debian/apache/neoapi.conf", self.root / "mods-available/neoapi.conf")
        (self.root / "sites-available/neoapi.conf").write_text(self.here((ROOT / "conf/neoapi.conf").read_text()))
        systemctl = place / "bin/systemctl"
        systemctl.write_text('#!/bin/sh\necho "$@" >>"$APACHE_CONFDIR/../systemctl"\n')
        systemctl.chmod(0o755)
        self.env = {**os.environ, "PATH": f"{place / 'bin'}:/usr/sbin:{os.environ['PATH']}", "APACHE_CONFDIR": str(self.root),
                    "APACHE_STATE_DIRECTORY": str(place / "state"), "NEOAPI_DATABASE": "port=0"}
        self.enable(*ENABLED)

    def enable(self, *modules):
        for name in modules:
            for file in self.root.glob(f"mods-available/{name}.*"):
                (self.root / "mods-enabled" / file.name).symlink_to(f"../mods-available/{file.name}")

    def here(self, text):
        """What the machine's own folders are called, with this one's in their place."""
        for folder in ("ssl", "neoapi", "apache2"):
            text = re.sub(rf"(?<![\w.]){re.escape('/etc/' + folder)}/", f"{self.place / folder}/", text)
        return text

    def run(self, command):
        done = subprocess.run(["bash", "-c", command], env=self.env, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def examined(self, *args):
        done = subprocess.run([os.environ["NEOAPI_CTL_BIN"], "--json", "doctor", "--httpd-conf", str(self.root), *args],
                              env=self.env, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode in (0, 1) and not done.stderr, done
        return {row["check"]: row for row in json.loads(done.stdout)}

    def results(self):
        found = self.examined()
        return [found[name]["result"] for name in OURS]

    def next(self):
        """The first that is to be done."""
        return next((row for row in self.examined().values() if row["result"] == "pending"), None)

    def make_certificate(self):
        """As the administrator has it before the walk."""
        for path in (f"ssl/certs/{NAME}.pem", f"ssl/private/{NAME}.key"):
            (self.place / path).write_text("x")

    def finish(self):
        self.make_certificate()
        self.run(f"umask 077; openssl rand -base64 32 >{self.key}")
        self.site(lambda text: text.replace("api.example.com", NAME))
        self.enable(*MORE)
        (self.root / "sites-enabled/neoapi.conf").symlink_to("../sites-available/neoapi.conf")
        assert self.results() == ["ok"] * 4

    def site(self, change):
        path = self.root / "sites-available/neoapi.conf"
        path.write_text(change(path.read_text()))


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path)


# ---------------------------------------------------------------- the way to the first request


def commands_of_the_readme():
    section = (ROOT / "README.md").read_text().split("## Installation")[1].split("\n## ")[0]
    found = re.findall(r"^    (.*)$", section, re.M)
    return found[:next(n for n, line in enumerate(found) if line.startswith("curl"))]


def test_doctor_says_each_command_of_the_readme_until_it_is_done(layout, own_database):
    """Neither more of them nor others: what the README leads to and what doctor asks for is the same."""
    apt, setup, key, name, enable = commands_of_the_readme()
    assert apt.startswith("apt install") and setup.startswith("runuser")
    assert setup.partition(" --tenant ")[0] in layout.examined()["connection"]["fix"]
    layout.make_certificate()
    layout.env["NEOAPI_DATABASE"] = own_database.dsn
    layout.env["PATH"] = f"{layout.place / 'bin'}:{layout.env['PATH']}"
    hostname = layout.place / "bin/hostname"
    hostname.write_text(f"#!/bin/sh\necho {NAME}\n")
    hostname.chmod(0o755)
    before = layout.examined()
    for check, command in (("key file", key), ("host name", name)):
        assert before[check]["result"] == "pending" and before[check]["fix"] == layout.here(command)
        layout.run(before[check]["fix"])
        assert layout.examined()[check]["result"] == "ok"
    found = layout.examined()
    assert enable == f"{found['httpd modules']['fix']} && {found['virtual host']['fix']}"
    assert found["certificate"]["result"] == "ok"
    layout.run(enable)
    assert layout.results() == ["ok"] * 4
    assert (layout.place / "systemctl").read_text() == "restart apache2\n"
    assert "systemctl restart apache2" in layout.examined()["httpd"]["fix"]


@pytest.mark.plain  # httpd cannot load a sanitized module by itself
def test_when_doctor_is_content_httpd_is_content(layout):
    for _ in range(10):
        row = layout.next()
        if not row:
            break
        if row["check"] == "certificate":
            assert "api." in row["found"] and "create it" in row["fix"]
            layout.run(f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={NAME}"
                       f" -keyout {layout.place}/ssl/private/{NAME}.key -out {layout.place}/ssl/certs/{NAME}.pem 2>&1")
        else:
            layout.run(row["fix"].replace("$(hostname --fqdn)", NAME))
    assert layout.results() == ["ok"] * 4
    layout.run(". $APACHE_CONFDIR/envvars && apache2 -d $APACHE_CONFDIR -f $APACHE_CONFDIR/apache2.conf -t 2>&1")


def test_the_host_is_to_have_a_name_of_its_own(layout):
    assert layout.examined()["certificate"]["result"] == "skipped"
    layout.finish()
    layout.site(lambda text: text.replace(f"NeoAPIBaseURL https://{NAME}", "NeoAPIBaseURL https://api.example.com"))
    found = layout.examined()["host name"]
    assert found["result"] == "pending"
    # The link that is enabled stays one.
    assert found["fix"].endswith(f" {layout.root}/sites-available/neoapi.conf && systemctl restart apache2")
    layout.site(lambda text: text + "# api.example.com in a comment does not matter\n")
    layout.run(found["fix"].replace("$(hostname --fqdn)", NAME))
    assert layout.results() == ["ok"] * 4


@pytest.mark.parametrize("which", ["certs/{}.pem", "private/{}.key"])
def test_a_certificate_that_is_not_there_is_told(layout, which):
    layout.finish()
    path = layout.place / "ssl" / which.format(NAME)
    path.unlink()
    found = layout.examined()["certificate"]
    assert found["result"] == "pending" and str(path) in found["found"]
    layout.site(lambda text: text.replace(str(path), "${CERTIFICATES}/x"))
    assert layout.examined()["certificate"]["result"] == "ok"


@pytest.mark.parametrize("module", ["neoapi", "dbd", "ssl", "http2", "headers", "reqtimeout", "deflate"])
def test_a_module_that_is_not_enabled_is_told(layout, module):
    layout.finish()
    (layout.root / f"mods-enabled/{module}.load").unlink()
    found = layout.examined()
    assert found["httpd modules"]["result"] == "pending"
    assert found["httpd modules"]["fix"] == f"a2enmod {module} && systemctl restart apache2"
    layout.run(f"a2enmod -q {module}")
    assert layout.results() == ["ok"] * 4


def test_modules_are_those_that_the_configuration_needs(layout):
    """Behind a proxy that ends TLS there is none here."""
    layout.make_certificate()
    proxy = (ROOT / "conf/reverse-proxy.conf").read_text().replace("api.example.com", NAME)
    (layout.root / "sites-enabled/inside.conf").write_text(layout.here(proxy))
    found = layout.examined()
    assert found["virtual host"]["result"] == found["certificate"]["result"] == "ok"
    assert found["httpd modules"]["found"] == "not enabled: http2, remoteip"
    (layout.root / "conf-enabled/by-hand.conf").write_text("loadmodule  remoteip_module  x.so\nLoadModule http2_module x.so\n")
    assert layout.results() == ["ok"] * 4


def test_the_readme_and_the_shipped_configuration_name_the_modules_that_it_needs(layout):
    """Debian enables some of them by itself."""
    layout.run("rm $APACHE_CONFDIR/mods-enabled/*.load")
    needed = layout.examined()["httpd modules"]["found"].removeprefix("not enabled: ").split(", ")
    documented = re.search(r"and the modules ([\w\s#]+)\.",
                           (ROOT / "conf/neoapi.conf").read_text()).group(1).replace("#", "").split()
    assert set(needed) == set(documented) - {"mpm_event", "socache_shmcb"} | {"neoapi"}


@pytest.mark.parametrize("how, is_on", [
    ("NeoAPI Off", False), ("#NeoAPI On", False), ("NeoAPIx On", False), ("NeoAPI Only", False), ("neoapi on", True),
    ('  NeoAPI "On" ', True),
    ("NeoAPI \\\n   On", True), ("NeoAPI\tOn\r", True), ("# a comment \\\nNeoAPI On", False)])
def test_the_virtual_host_is_enabled_where_something_says_so(layout, how, is_on):
    layout.site(lambda _: "")
    (layout.root / "conf-enabled/x.conf").write_bytes(f"<Location /public/v1/>\n{how}\n</Location>\n".encode())
    assert (layout.examined()["virtual host"]["result"] == "ok") is is_on


@pytest.mark.parametrize("include", ["Include {}/x.conf", "IncludeOptional {}/*.conf", 'include "{}"', "Include {}/",
                                     "Include ../more/x.conf"])
def test_what_is_included_from_elsewhere_counts(layout, include):
    more = layout.place / "more"
    more.mkdir()
    (more / "x.conf").write_text("NeoAPI On\n")
    with open(layout.root / "apache2.conf", "a") as conf:
        conf.write(include.format(more) + "\n")
    assert layout.examined()["virtual host"]["found"] == f"{layout.root / include.split()[1] if '..' in include else more / 'x.conf'} has NeoAPI On"


def test_a_folder_that_is_included_counts_with_the_folders_in_it(layout):
    (layout.place / "more/deep/er").mkdir(parents=True)
    (layout.place / "more/deep/er/x.conf").write_text("NeoAPI On\n")
    (layout.place / "more/again").symlink_to(layout.place / "more")
    with open(layout.root / "apache2.conf", "a") as conf:
        conf.write(f"Include {layout.place}/more\n")
    assert layout.examined()["virtual host"]["result"] == "ok"


def test_where_a_variable_leads_is_not_guessed(layout):
    """What stands there may be all that is asked for elsewhere."""
    (layout.root / "conf-enabled/x.conf").write_text("Include ${SITES}/*.conf\n")
    found = layout.examined()
    assert {found[name]["result"] for name in OURS} == {"skipped"} and "${SITES}/*.conf" in found["virtual host"]["found"]
    layout.finish()
    (layout.root / "mods-enabled/ssl.load").unlink()
    assert layout.results() == ["ok", "ok", "skipped", "ok"]


def test_a_site_that_is_nowhere_is_told(layout):
    (layout.root / "sites-available/neoapi.conf").unlink()
    assert layout.results() == ["skipped", "skipped", "skipped", "pending"]
    assert layout.examined()["virtual host"]["fix"].endswith(f"{layout.root}/sites-available/neoapi.conf")


# ---------------------------------------------------------------- the key file


def test_the_key_file_is_the_one_that_httpd_is_told_of(layout):
    layout.finish()
    assert layout.examined()["key file"]["found"] == f"{layout.key} has 1 key"
    layout.key.chmod(0o644)
    assert layout.examined()["key file"]["result"] == "failed"
    other = layout.key.with_name("other")
    other.write_bytes(layout.key.read_bytes())
    other.chmod(0o600)
    assert layout.examined("--key-file", str(other))["key file"]["result"] == "ok"
    layout.key.unlink()
    assert layout.examined()["key file"]["result"] == "pending"
    assert layout.examined("--key-file", str(layout.key))["key file"]["result"] == "failed"
    shutil.rmtree(layout.key.parent)
    assert layout.examined()["key file"]["fix"].startswith(f"mkdir -p {layout.key.parent} && (")
    layout.run(layout.examined()["key file"]["fix"])
    assert layout.results() == ["ok"] * 4


def test_the_key_file_may_be_named_for_all_virtual_hosts(layout):
    layout.finish()
    other = layout.key.rename(layout.key.with_name("other"))
    layout.site(lambda text: re.sub(r"(?m)^.*NeoAPIKeyFile.*$", "", text))
    (layout.root / "conf-enabled/x.conf").write_text(f"NeoAPIKeyFile {other}\n")
    assert layout.examined()["key file"]["found"] == f"{other} has 1 key"


def test_a_key_file_that_is_lost_is_not_to_be_made_anew(layout, own_database):
    """A new one opens nothing of what is sealed with the old one's keys."""
    layout.finish()
    layout.env["NEOAPI_DATABASE"] = own_database.dsn
    organization = own_database.json("organization", "add", "B", "--tenant",
                                     own_database.json("tenant", "add", "A")["id"])["id"]
    secrets = layout.place / "secrets"
    secrets.write_text("access_token=x\napp_secret=y\n")
    secrets.chmod(0o600)
    own_database.ok("whatsapp", "number", "add", "+55", "--organization", organization, "--waba-id", "10001",
                    "--phone-number-id", "10001",
                    "--secrets", str(secrets), "--key-file", str(layout.key))
    assert layout.examined()["encrypted secrets"]["result"] == "ok"
    layout.key.unlink()
    found = layout.examined()["key file"]
    assert found["result"] == "failed" and "2 secrets" in found["found"] and "openssl" not in found["fix"]
    (layout.root / "sites-enabled/neoapi.conf").unlink()  # no host of the module: nobody misses it here
    found = layout.examined()["key file"]
    assert found["result"] == "pending" and "openssl" not in found["fix"]


# ---------------------------------------------------------------- other layouts, and odd ones


@pytest.mark.parametrize("kind", ["nothing", "an empty folder", "a file", "httpd as others lay it out", "half of Debian's"])
def test_other_layouts_are_not_looked_at_and_it_is_said(db, tmp_path, kind):
    place = tmp_path / "etc"
    if kind == "a file":
        place.write_text("NeoAPI On")
    elif kind != "nothing":
        place.mkdir()
    if kind == "httpd as others lay it out":
        (place / "conf.d").mkdir()
        (place / "httpd.conf").write_text("NeoAPI On\n")
    if kind == "half of Debian's":
        (place / "apache2.conf").write_text("NeoAPI On\n")
    code, out, err = db.run("--json", "doctor", "--httpd-conf", str(place))
    found = {row["check"]: row for row in json.loads(out)}
    assert (code, err) == (0, "") and {found[name]["result"] for name in OURS} == {"skipped"}
    assert str(place) in found["virtual host"]["found"]
    assert not any(name in line for name in OURS
                   for line in db.run("--quiet", "doctor", "--httpd-conf", str(place))[1].splitlines())


def test_what_cannot_be_read_is_no_reason_to_ask_for_anything(layout):
    layout.finish()
    (layout.root / "conf-enabled/huge.conf").write_text("# nothing\n" * 200_000)
    found = layout.examined()
    assert {found[name]["result"] for name in OURS} == {"skipped"} and "huge.conf" in found["virtual host"]["found"]


def test_odd_files_do_no_harm(layout):
    layout.finish()
    conf = layout.root / "conf-enabled"
    (conf / "loop.conf").write_text(f"Include {conf}/loop.conf\nInclude {conf}/*.conf\nInclude ${{NOWHERE}}/x\nInclude\nInclude \"\nServerRoot\n")
    (conf / "binary.conf").write_bytes(os.urandom(100_000) + b"\0\\\n\\")
    (conf / "long.conf").write_text("Header " + "x" * 900_000)
    (conf / "end.conf").write_text("NeoAPI \\")
    (conf / "gone.conf").symlink_to("nowhere")
    os.mkfifo(conf / "pipe.conf")
    assert layout.results() == ["ok"] * 4


def test_files_that_include_each_other_over_and_over_are_given_up(layout):
    layout.finish()
    for n in range(11):
        (layout.place / f"{n}.conf").write_text(f"# {'x' * 20_000}\n" + f"Include {layout.place}/{n + 1}.conf\n" * 2)
    (layout.place / "11.conf").write_text("# the last\n")
    (layout.root / "conf-enabled/x.conf").write_text(f"Include {layout.place}/0.conf\n")
    found = layout.examined()["virtual host"]
    assert (found["result"], found["found"]) == ("skipped", "httpd's configuration is too long to be read")
