# SPDX-License-Identifier: Apache-2.0
"""neoapictl setup on a terminal without options: it asks. `make package-test PACKAGE_TESTS=setup` tests the questions about the site."""

import os
import shlex
import subprocess

import psycopg2
import pytest
from ctl_database import TIMEOUT_S, new_database  # noqa: F401 (fixture)
from ctl_instance import Terminal
from wait import eventually

SETUP_LOCK = 5653418271301  # src/ctl/setup.c
TENANT = "Imobiliária d'Ávila $(x)"
QUESTIONS = ["Name of the database [neoapi]: ", "(empty: none): ", "Continue? [y/N]: "]


# Run a command with another /etc, or without the package's folder, because of which root would be asked for a site.
WITH_ETC = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" /etc && shift && exec "$@"', "-"]
WITHOUT_PACKAGE = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /etc/neoapi && exec "$@"', "-"]
may_mount = os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


class Dialog(Terminal):
    def __init__(self, database, *args, etc=None, conninfo=None):
        before = [*WITH_ETC, etc] if etc else WITHOUT_PACKAGE if os.access("/etc/neoapi", os.W_OK) else []
        super().__init__(*before, database.program, "setup", *args, env={**os.environ, "NEOAPI_DATABASE": conninfo or database.admin})

    def answer(self, *answers):
        for question, answer in zip(QUESTIONS, answers):
            self.expect(question)
            self.type(answer + "\n")
        return self


@pytest.fixture
def etc(tmp_path):
    """A copy of /etc with the folder that the package makes."""
    subprocess.run(["cp", "-a", "/etc", tmp_path / "etc"], check=True)
    for path in ("neoapi/key", "apache2/sites-available/neoapi.conf"):
        (tmp_path / "etc" / path).unlink(missing_ok=True)
    (tmp_path / "etc/neoapi").mkdir(exist_ok=True)
    return tmp_path / "etc"


def exists(database):
    return database.sql("select count(*) from pg_database where datname = %s", database.name, dsn=database.admin) == [(1,)]


def test_it_asks_shows_does_and_prints_the_command_line(new_database):
    dialog = Dialog(new_database)
    dialog.answer("Bad name")
    assert "must be 1 to 63 lowercase letters" in dialog.expect("\n" + QUESTIONS[0])
    dialog.type(new_database.name + "\n")
    dialog.expect(QUESTIONS[1])
    dialog.type(TENANT + "\n")
    plan = dialog.expect(QUESTIONS[2])
    command, = [line.strip() for line in plan.splitlines() if line.startswith("    neoapictl")]
    words = shlex.split(command)
    assert words == ["neoapictl", "setup", "--database-name", new_database.name, "--runtime-role", "neoapi", "--tenant", TENANT]
    assert not exists(new_database)
    dialog.type("y\n")
    status, output = dialog.end()
    assert status == 0 and "secret" in output and command in output.rpartition("The same without questions:")[2], output
    assert [tenant["name"] for tenant in new_database.json("tenant", "list")] == [TENANT]
    assert new_database.run("doctor")[0] == 0
    # The same command line, in a shell, finds that all of it is done.
    again = subprocess.run(["sh", "-c", command.replace("neoapictl", shlex.quote(new_database.program), 1)], capture_output=True,
                           text=True, timeout=TIMEOUT_S, env={**os.environ, "NEOAPI_DATABASE": new_database.admin})
    assert again.returncode == 0 and f"tenant {TENANT}: exists" in again.stdout, again


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "end of input"])
@pytest.mark.parametrize("count", range(len(QUESTIONS)))
def test_nothing_is_changed_if_it_is_ended_at_a_question(new_database, count, key):
    dialog = Dialog(new_database).answer(*[new_database.name, "T"][:count])
    dialog.expect(QUESTIONS[count])
    dialog.type(key)
    status, output = dialog.end()
    assert status == 1 and output.endswith("neoapictl: nothing was changed\n") and not exists(new_database), output


def test_nothing_is_changed_without_a_yes(new_database):
    status, output = Dialog(new_database).answer(new_database.name, "", "no").end()
    assert status == 1 and output.endswith("neoapictl: nothing was changed\n") and not exists(new_database), output


def waits(database, event):
    return database.sql("select count(*) from pg_stat_activity where application_name = 'neoapictl' and wait_event_type = 'Lock'"
                        " and wait_event = %s", event, dsn=database.admin) == [(1,)]


def test_ctrl_c_ends_it_while_it_waits_for_another_setup(new_database):
    with psycopg2.connect(new_database.admin) as other, other.cursor() as cursor:
        cursor.execute("select pg_advisory_lock(%s)", (SETUP_LOCK,))
        dialog = Dialog(new_database).answer(new_database.name, "", "y")
        eventually(lambda: waits(new_database, "advisory"), "setup waits")
        dialog.type("\x03")
        status, output = dialog.end()
    other.close()
    assert status == 1 and output.endswith("neoapictl: nothing was changed\n") and not exists(new_database), output


@pytest.mark.parametrize("options", [[], ["--runtime-role", "neoapi"]], ids=["asked", "with options"])
def test_ctrl_c_does_not_interrupt_its_changes(new_database, options):
    with psycopg2.connect(new_database.admin) as other, other.cursor() as cursor:
        cursor.execute("lock pg_catalog.pg_db_role_setting in exclusive mode")
        if options:
            dialog = Dialog(new_database, *options, "--database-name", new_database.name)
        else:
            dialog = Dialog(new_database).answer(new_database.name, "", "y")
        eventually(lambda: waits(new_database, "relation"), "setup waits")
        dialog.type("\x03")
        dialog.expect("^C")
        other.rollback()
        status, output = dialog.end()
    other.close()
    assert status == 0 and "nothing was changed" not in output, output
    assert new_database.run("doctor")[0] == 0


@pytest.mark.skipif(not may_mount, reason="only root can mount")
@pytest.mark.skipif(not os.access("/usr/sbin/a2ensite", os.X_OK), reason="there is no Apache with Debian's layout")
@pytest.mark.parametrize("answers, options", [
    (["1"], ["--self-signed"]), (["9", "2", "{etc}/passwd", "/nonexistent", "{etc}/hosts"], ["--certificate", "{etc}/passwd", "--key", "{etc}/hosts"]),
    (["3", "nobody", "admin@example.com"], ["--acme", "admin@example.com"])])
def test_root_is_asked_for_the_site_and_its_certificate(new_database, etc, answers, options):
    dialog = Dialog(new_database, etc=etc, conninfo="dbname=neoapi").answer("", "")
    dialog.expect("(-: no site)")
    for answer in ["Bad_Name", "api.imobiliaria.example", *answers]:
        dialog.expect(": ")
        dialog.type(answer.format(etc=etc) + "\n")
    plan = dialog.expect(QUESTIONS[2])
    dialog.type("\n")
    assert dialog.end()[0] == 1 and not (etc / "neoapi/key").exists()
    commands = plan.rpartition("by these commands:")[2].split("&&\n")
    assert "openssl rand -base64 32 >/etc/neoapi/key" in commands[1]
    words = shlex.split(commands[2].splitlines()[0])
    assert words == ["neoapictl", "site", "create", "api.imobiliaria.example", *(option.format(etc=etc) for option in options)]


@pytest.mark.skipif(not may_mount, reason="only root can mount")
@pytest.mark.skipif(not os.access("/usr/sbin/a2ensite", os.X_OK), reason="there is no Apache with Debian's layout")
@pytest.mark.parametrize("conninfo, name", [("dbname=neoapi", "other"), ("host=db.example.com dbname=neoapi", "")])
def test_for_another_database_no_site_is_created(new_database, etc, conninfo, name):
    """Its DBDParams would name this host's database neoapi."""
    dialog = Dialog(new_database, etc=etc, conninfo=conninfo).answer(name, "")
    plan = dialog.expect(QUESTIONS[2])
    dialog.type("\n")
    assert dialog.end()[0] == 1 and "site create NAME, and set this database in DBDParams of /etc/apache2" in plan
    assert "(-: no site)" not in plan and "neoapictl site create" not in plan.rpartition("by these commands:")[2]


@pytest.mark.skipif(not may_mount, reason="only root can mount")
def test_the_encryption_key_is_created_once(new_database, etc):
    (etc / "apache2/sites-available").mkdir(parents=True, exist_ok=True)
    (etc / "apache2/sites-available/neoapi.conf").touch()
    for _ in range(2):
        status, output = Dialog(new_database, etc=etc).answer(new_database.name, "", "y").end()
        assert status == 0, output
        keys = (etc / "neoapi/key").read_text()
    assert len(keys) == 45 and (etc / "neoapi/key").stat().st_mode & 0o777 == 0o600 and "openssl" not in output


@pytest.mark.skipif(not may_mount, reason="only root can mount")
def test_a_failed_step_says_what_is_left(new_database, etc):
    (etc / "apache2/sites-available").mkdir(parents=True, exist_ok=True)
    (etc / "apache2/sites-available/neoapi.conf").touch()
    dialog = Dialog(new_database, etc=etc).answer(new_database.name, "")
    dialog.expect(QUESTIONS[2])
    (etc / "neoapi/key").write_text("another one\n")
    dialog.type("y\n")
    status, output = dialog.end()
    left = output.rpartition("What is left to do:")[2]
    assert status == 1 and "step 2 of 2 failed" in output and "openssl rand" in left and "setup" not in left, output
    assert (etc / "neoapi/key").read_text() == "another one\n" and exists(new_database)
