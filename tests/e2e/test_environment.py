# SPDX-License-Identifier: Apache-2.0
"""Builds and tests ignore unrelated environment variables: settings are arguments or variables with the project's prefix."""

import os
import platform
import re
import subprocess

import pytest
from client import Api, ok
from deployment import BUILD, IS_SANITIZED, ROOT, TIMEOUT_S, Instance
from admin_factory import AdminFactory
from wait import eventually

INSTANCE = (ROOT / "tests/deploy/instance.sh").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
SETTINGS = {*re.search(r"^settings='(.*)'$", INSTANCE, re.M).group(1).split(),
            *re.search(r'^settings="\$settings (.*)"$', INSTANCE, re.M).group(1).split()}
OF_MAKE = {*re.search(r"^SETTINGS := ((?:.*\\\n)*.*)$", MAKEFILE, re.M).group(1).replace("\\", "").split()}
OF_LIBPQ = {"PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGOPTIONS", "PGSERVICE", "PGSSLMODE", "PGPASSWORD"}
# Variables of the system, sudo and other programs.
ALLOWED = {"PATH", "HOME", "TMPDIR", "SUDO_USER", "SUDO_UID", "SUDO_GID", "APACHE_CONFDIR", "GCOV_PREFIX"}


def test_the_environment_does_not_change_the_servers(monkeypatch, new_instance):
    for name in SETTINGS | OF_MAKE | OF_LIBPQ:
        monkeypatch.setenv(name, "nonsense")
    instance = new_instance()
    monkeypatch.undo()
    assert ok(Api(instance, AdminFactory(instance).key()).get("me"))["type"] == "api_key"


def make(*args, **env):
    """Runs make without the settings of the make that runs the tests."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}
    return subprocess.run(["make", "-C", ROOT, *args], env={**outer, **env}, capture_output=True, text=True, timeout=TIMEOUT_S)


def list_commands(target, **env):
    """The commands of make for a target without existing files."""
    done = make("-B", "-n", target, **env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("target", ["all", "check", "demo", "e2e-parallel", "bench", "package"])
def test_the_environment_does_not_change_make(target):
    assert OF_MAKE >= {"BUILD", "SAN", "MPM", "BENCH"}
    others = {name for name in OF_MAKE | SETTINGS if not name.startswith("DEMO_")}
    assert list_commands(target) == list_commands(target, **dict.fromkeys(others, "nonsense"))


def test_the_settings_of_the_demo_are_also_read_from_the_environment():
    for name in ("DEMO_PORT", "DEMO_RETRY_DELAYS", "DEMO_CONF"):
        assert f"NEOAPI_{name}='7 8'" in list_commands("demo", **{name: "7 8"})
    assert "NEOAPI_DEMO_PORT='9'" in make("-B", "-n", "demo", "DEMO_PORT=9", DEMO_PORT="8").stdout


@pytest.mark.parametrize("target", ["unit", "lint", "demo", "fuzz"])
def test_packages_are_installed_by_a_target_before_anything_is_built(tmp_path, target):
    """Here their installation fails."""
    log, stub = tmp_path / "log", tmp_path / "sh"
    stub.write_text(f"""#!/bin/sh\ncase $* in *packages.sh*) echo "$*" >>{log}; exit 1 ;; esac\nexec /bin/sh "$@"\n""")
    stub.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    make("-p", "-q", target, f"BUILD={tmp_path}/build", PATH=path)
    assert not log.exists()  # reading the Makefile installs nothing
    done = make("-j2", target, f"BUILD={tmp_path}/build", PATH=path)
    assert done.returncode != 0 and log.read_text().startswith("tests/deploy/packages.sh ")
    assert not re.search("^(CC|AR|LD) ", done.stdout, re.M), done.stdout


@pytest.mark.skipif(IS_SANITIZED, reason="the sanitizers replace it")
@pytest.mark.parametrize("file", ["mod_neoapi.so", "neoapictl"])
def test_the_build_is_hardened(file):
    """Full RELRO, stack protector, _FORTIFY_SOURCE and control-flow protection."""
    def read_output(*command):
        return subprocess.run([*command, BUILD / file], capture_output=True, text=True, check=True).stdout

    sections = read_output("readelf", "-W", "-d", "-l", "-s")
    for wanted in ("GNU_RELRO", "NOW", "__stack_chk_fail", "__vsnprintf_chk"):
        assert wanted in sections, wanted
    if platform.machine() == "x86_64":
        assert "endbr64" in read_output("objdump", "-d", "--no-show-raw-insn", "-j", ".text")


def test_the_build_can_be_made_without_optimization_or_with_the_callers_fortification():
    assert "FORTIFY" not in list_commands("all", CFLAGS="-O0 -g") and "-U_FORTIFY" not in list_commands("all", CPPFLAGS="-D_FORTIFY_SOURCE=3")


def read_by_shell(text):
    return set(re.findall(r"\$\{([A-Z][A-Z_]+):?[-=+?]", text)) - set(re.findall(r"^\s*(?:for )?([A-Z][A-Z_]+)(?:=| in )",
                                                                                 text, re.M))


def read_by_python(text):
    return set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', text)) - set(re.findall(r'environ\["([A-Z_]+)"\] =', text))


def test_no_script_reads_a_variable_without_our_prefix():
    found = {}
    for path in [*ROOT.glob("tests/**/*.sh"), *ROOT.glob("src/**/*.sh"), *ROOT.glob("doc/*.sh")]:
        found[path] = read_by_shell(path.read_text()) - SETTINGS
    for path in ROOT.glob("tests/**/*.py"):
        found[path] = read_by_python(path.read_text())
    assert any("NEOAPI_TEST_BUILD" in names for names in found.values())
    errors = {(name, one) for name,
             names in found.items() for one in names if not one.startswith("NEOAPI_") and one not in ALLOWED}
    assert not errors


def test_checks_take_no_settings():
    """They are refused, because they would be ignored."""
    for setting in OF_MAKE:
        done = make("-n", "check", f"{setting}=1")
        assert done.returncode == 2 and f"takes no settings, but {setting} is given" in done.stderr, done.stderr


@pytest.mark.slow
def test_make_clean_stops_the_servers(tmp_path):
    """Including those of a killed session, whose directory may be a symbolic link."""
    instance = Instance("cleaned").up()
    build = tmp_path / "build"
    (build / "e2e/1").mkdir(parents=True)
    (build / "e2e/1/main").symlink_to(instance.directory)
    pid = instance.pid
    done = make("clean", f"BUILD={build}")
    assert done.returncode == 0 and not build.exists(), done.stderr
    eventually(lambda: not os.path.exists(f"/proc/{pid}"), "Apache ends")
