# SPDX-License-Identifier: Apache-2.0
"""Startup: a configuration error prevents the start with a message that has the remedy; a fault of the database does not."""

import base64
import os
import re
import shutil
import signal

import pytest
import requests
from client import Api, refused
from ctl_database import TIMEOUT_S, new_database  # noqa: F401 (a fixture)
from httpd import Httpd
from admin_factory import AdminFactory
from next_version import NextVersion
from wait import eventually


@pytest.fixture
def httpd(instance, tmp_path):
    """httpd(*changes): an Apache with a changed configuration, stopped at the end."""
    made = []

    def new(*changes):
        place = tmp_path / str(len(made))
        place.mkdir()
        made.append(Httpd(instance, place, *changes))
        return made[-1]

    yield new
    for one in made:
        one.stop()


@pytest.fixture
def key_file(tmp_path):
    """key_file(content, mode): a file, and the change that makes httpd use it."""
    def new(content=None, mode=0o600, name="key"):
        path = tmp_path / name
        path.write_bytes(base64.b64encode(os.urandom(32)) + b"\n" if content is None else content)
        path.chmod(mode)
        return "NeoAPIKeyFile .*", f'NeoAPIKeyFile "{path}"'
    return new


DBD = [("LoadModule dbd_module .*", ""), ("DBDriver .*", ""), ("DBDParams .*", ""), ("DBDPersist .*", ""), ("DBDMin .*", ""),
       ("DBDKeep .*", ""), ("DBDMax .*", "")]


def test_the_configuration_of_the_tests_is_valid(httpd):
    assert httpd().check()[0]


@pytest.mark.parametrize("changes, words", [
    (DBD, ["mod_dbd", "a2enmod dbd"]),
    ([("DBDriver .*", "")], ["DBDriver", "DBDriver pgsql"]),
    ([("DBDParams .*", "")], ["DBDParams"]),
    ([("NeoAPIKeyFile .*", "")], ["NeoAPIKeyFile", "openssl rand"]),
    ([("NeoAPIKeyFile .*", "NeoAPIKeyFile /nonexistent/key")], ["/nonexistent/key", "from its backup", "openssl rand"]),
    ([("NeoAPIBaseURL .*", "")], ["NeoAPIBaseURL", "/public/v1/"]),
    ([("NeoAPIBaseURL .*", "NeoAPIBaseURL https://api.example.com/v1/")], ["NeoAPIBaseURL", "/public/v1/"]),
    ([("NeoAPIBaseURL .*", "NeoAPIBaseURL api.example.com/public/v1/")], ["NeoAPIBaseURL", "https://"]),
    ([("NeoAPIBaseURL .*", "NeoAPIBaseURL https://api.example.com/public/v1")], ["NeoAPIBaseURL", "/public/v1/"]),
    ([("NeoAPIKeyFile (.*)", r"NeoAPIKeyFile \1\nNeoAPIDocsURL docs")], ["NeoAPIDocsURL", "https://"]),
    ([("NeoAPIKeyFile (.*)", r"NeoAPIKeyFile \1\nNeoAPITraceCollector 127.0.0.1:4318")], ["NeoAPITraceCollector", "http://"]),
    ([("NeoAPIKeyFile (.*)", r"NeoAPIKeyFile \1\nNeoAPITraceSampling 101")], ["NeoAPITraceSampling", "0 to 100"]),
    ([("NeoAPIKeyFile (.*)", r"NeoAPIKeyFile \1\nNeoAPIMaxBody 0")], ["NeoAPIMaxBody", "number"]),
    ([("NeoAPIKeyFile (.*)", r"NeoAPIKeyFile \1\nNeoAPIMaxBody 1M")], ["NeoAPIMaxBody", "number"]),
    ([("NeoAPIKeyFile (.*)", r"NeoAPIKeyFile \1\nNeoAPICursorLifetime 0")], ["NeoAPICursorLifetime", "number"]),
    ([("NeoAPIKeyFile (.*)", r"NeoAPIKeyFile \1\nNeoAPICursorLifetime -1")], ["NeoAPICursorLifetime", "number"]),
    ([("NeoAPIKeyFile (.*)", r"NeoAPIKeyFile \1\nNeoAPIRateLimitEntries x")], ["NeoAPIRateLimitEntries", "number"]),
    ([('<Location "/public/v1/">', '<Location "/api/">')], ["NeoAPI", "/public/v1/"]),
    ([('<Location "/public/v1/">', '<Location "/public/v1">')], ["NeoAPI", "/public/v1/"]),
    ([("NeoAPIKeyFile (.*)", r"NeoAPIKeyFile \1\nNeoAPI On")], ["NeoAPI"]),
    ([("NeoAPI On", "NeoAPI Maybe")], ["NeoAPI", "On"]),
], ids=lambda value: value[-1][1].replace("\\1\\n", "… ") if isinstance(value[0], tuple) else "")
def test_a_configuration_error_has_its_remedy(httpd, changes, words):
    right, said = httpd(*changes).check()
    assert not right, said
    for word in words:
        assert word in said


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o666, 0o602])
def test_a_key_file_that_others_can_read_is_refused(httpd, key_file, mode):
    right, said = httpd(key_file(mode=mode)).check()
    assert not right and "chmod" in said, said


@pytest.mark.parametrize("content", [b"", b"\n", b"c2hvcnQ=\n", b"not base64 at all, but long enough to be a key!\n",
                                     b"\0" * 44])
def test_a_key_file_without_a_key_is_refused(httpd, key_file, content):
    right, said = httpd(key_file(content)).check()
    assert not right and "key file" in said, said


def test_a_lost_key_file_stops_only_the_api(httpd, instance, admin_factory, tmp_path):
    """The configuration test fails. httpd serves other sites and the documentation. A restored file needs a restart."""
    lost = tmp_path / "lost"
    site = httpd(("NeoAPIKeyFile .*", f'NeoAPIKeyFile "{lost}"'),
                 ('<Location "/public/v1/">', '<Location "/health">\nSetHandler neoapi-health\n</Location>\n<Location "/public/v1/">'))
    accepted, said = site.check()
    assert not accepted and re.search("NEO0113: .*/lost cannot be read: .*; otherwise restore the key file from its backup", said), said
    key = admin_factory.key()
    api, anonymous = site.start().api(key), site.api()
    problem = refused(api.get("brokers"), 503, "internal.unavailable")
    assert problem["title"] == "Service Unavailable"
    refused(api.post("brokers", json={"name": "Ana"}), 503, "internal.unavailable")
    refused(anonymous.get("brokers"), 401, "unauthorized.auth_required")
    assert anonymous.get("docs/").status_code == anonymous.get("openapi.yaml").status_code == 200
    health = requests.get(f"https://localhost:{site.port}/health", verify=site.ca, timeout=TIMEOUT_S)
    assert (health.status_code, health.text) == (503, "not ready: the key file cannot be used; see the error log\n")
    assert len(re.findall("NEO0113: ", site.log)) == 1 and re.search("NEO0118: req_", site.log)
    shutil.copy(instance.state / "neoapi.key", lost)
    site.process.send_signal(signal.SIGUSR1)
    eventually(lambda: works(site.api(key)), "it works after a graceful restart")


def test_a_key_file_may_be_readable_by_the_group(httpd, key_file):
    assert httpd(key_file(mode=0o600)).check()[0]


def test_all_errors_are_reported_at_once(httpd):
    right, said = httpd(("DBDriver .*", ""), ("NeoAPIKeyFile .*", "")).check()
    assert not right and "DBDriver" in said and "NeoAPIKeyFile" in said, said


def test_a_loaded_but_unused_module_needs_no_configuration(httpd):
    assert httpd(*DBD, ("NeoAPI On", "NeoAPI Off"), ("NeoAPIKeyFile .*", ""), ("NeoAPIBaseURL .*", "")).check()[0]


def test_too_few_connections_log_a_warning(httpd):
    right, said = httpd(("DBDMax .*", "DBDMax 3"), ("DBDKeep .*", "DBDKeep 3")).check()
    assert right and re.search("DBDMax is 3.* need at least 4 connections; exports are refused", said), said
    right, said = httpd(("DBDMax .*", "DBDMax 4"), ("DBDKeep .*", "DBDKeep 4"), ("NeoAPIBaseURL .*", r'\g<0>\nNeoAPIReadDSN "dbname=neoapi"')).check()
    assert right and re.search("DBDMax is 4.* need at least 5 connections; exports are refused", said), said


def test_more_waiters_than_threads_log_a_warning(httpd):
    right, said = httpd(("NeoAPIBaseURL .*", r"\g<0>\nNeoAPIEventWaiters 1024")).check()
    assert right and re.search(r"NEO0108: NeoAPIEventWaiters is 1024, but a process has \d+ threads: set NeoAPIEventWaiters", said), said
    assert "NEO0108" not in httpd().check()[1]


# ---------------------------------------------------------------- faults of the database


@pytest.fixture
def httpd_on_database(instance, httpd):
    """httpd_on_database(name, *changes): an httpd with another database of the cluster."""
    def new(name, *changes):
        params = f"host={instance.state}/socket port=5432 dbname={name} user=neoapi connect_timeout=3"
        return httpd(("DBDParams .*", f'DBDParams "{params}"'), *changes)
    return new


@pytest.fixture
def create_key():
    def new(database):
        tenant = database.json("tenant", "create", "T")["id"]
        organization = database.json("organization", "create", "O", "--tenant", tenant)["id"]
        return database.json("key", "create", "K", "--organization", organization, "--role", "org_admin")["secret"]
    return new


def works(api):
    """Whether a request succeeds. False also if an ending process has closed the connection before the request arrived."""
    try:
        return api.get("brokers").status_code == 200
    except requests.ConnectionError:
        return False


def test_httpd_starts_without_a_schema_and_works_once_it_exists(httpd_on_database, new_database, create_key):
    assert new_database.setup()[0] == 0
    key = create_key(new_database)
    new_database.sql("alter schema neoapi rename to kept")
    httpd = httpd_on_database(new_database.name).start()
    response = httpd.api(key).get("brokers")
    refused(response, 503, "internal.unavailable")
    eventually(lambda: re.search("neoapictl (setup|migrate)", httpd.log), "the command in the log")
    new_database.sql("alter schema kept rename to neoapi")
    eventually(lambda: works(httpd.api(key)), "it works as soon as the schema is there")


def test_httpd_starts_with_an_old_schema_and_works_once_it_is_migrated(httpd_on_database, new_database, create_key,
                                                                       tmp_path):
    """The newer version renames a table to the name that its module uses."""
    newer = NextVersion(tmp_path, ("rename", "alter table neoapi.broker_before rename to broker;\n"))
    assert new_database.setup()[0] == 0
    key = create_key(new_database)
    new_database.sql("alter table neoapi.broker rename to broker_before")
    httpd = httpd_on_database(new_database.name,
                              ("LoadModule neoapi_module .*", f'LoadModule neoapi_module "{newer.module}"')).start()
    refused(httpd.api(key).get("brokers"), 503, "internal.unavailable")
    eventually(lambda: "neoapictl migrate" in httpd.log, "the command in the log")
    new_database.program = newer.ctl
    new_database.ok("migrate")
    eventually(lambda: works(httpd.api(key)), "it works as soon as the schema is up to date")
    httpd.api(key).broker()


def test_a_database_created_after_the_start_is_found(httpd_on_database, new_database, create_key):
    httpd = httpd_on_database(new_database.name).start()
    refused(httpd.api("nbr_" + "0" * 26 + "_" + "0" * 49).get("me"), 401, "unauthorized.invalid_credential")
    assert new_database.setup()[0] == 0
    key = create_key(new_database)
    eventually(lambda: works(httpd.api(key)), "it works as soon as the database is there")


def test_a_database_that_is_down_at_the_start_is_used_later(new_instance):
    instance = new_instance()
    key = AdminFactory(instance).key()
    api, anonymous = Api(instance, key), Api(instance)
    for command in ("stop-httpd", "stop-db", "start-httpd"):
        instance.command(command)
    response = api.get("brokers")
    problem = refused(response, 503, "internal.unavailable")
    assert int(response.headers["Retry-After"]) >= 1 and "retry_after" not in problem
    refused(api.post("brokers", json={"name": "Ana"}), 503, "internal.unavailable")
    refused(anonymous.get("brokers"), 401, "unauthorized.auth_required")
    assert anonymous.get("openapi.yaml").status_code == 200
    instance.command("start-db")
    eventually(lambda: works(api), "it works as soon as the database is there")
    assert all(works(api.with_()) for _ in range(30))
    api.broker()
