# SPDX-License-Identifier: Apache-2.0
"""The hosts of a deployment: neoapictl lists them and takes them out of service without an interrupted request or delivery."""

import contextlib
import json
import re
import socket
import subprocess
import threading

import psycopg2
import pytest
import requests

from client import Api
from httpd import Httpd
from receiver import ok
from webhook_fixtures import (HERE, admin, module_admin_factory, module_instance,  # noqa: F401 (fixtures)
                              receiver, subscribe)
from wait import TIMEOUT_S, eventually

CONF = HERE + """
<Location "/neoapi-health">
    SetHandler neoapi-health
    Require all granted
</Location>
<Location "/neoapi-status">
    SetHandler neoapi-status
    Require all granted
</Location>
"""
NAME = "second"


@pytest.fixture(scope="module")
def second(module_instance, tmp_path_factory):
    conf = f"NeoAPIHostName {NAME}\n" + CONF.replace("${INSTANCE}", str(module_instance.state))
    with Httpd(module_instance, tmp_path_factory.mktemp(NAME), ("DocumentRoot .*", conf)) as httpd:
        yield httpd


@pytest.fixture
def ctl(module_instance):
    """ctl(*arguments): the exit status, the JSON output and the error output of neoapictl."""
    def run(*arguments):
        done = subprocess.run([module_instance.env["NEOAPI_CTL"], "--json", *arguments], text=True, capture_output=True,
                              timeout=TIMEOUT_S)
        return done.returncode, json.loads(done.stdout or "null"), done.stderr
    return run


@pytest.fixture
def undrained(ctl, second):
    eventually(lambda: NAME in hosts(ctl), "the host has recorded itself")
    yield
    assert ctl("undrain", "--host", NAME)[:2] == (0, {"undrained": NAME})
    eventually(lambda: health(second)[0] == 200, "the host is ready again")


def hosts(ctl):
    status, found, _ = ctl("host", "list")
    assert status == 0
    return {host["name"]: host for host in found}


def health(httpd):
    answer = requests.get(httpd.url.replace("public/v1/", "neoapi-health"), verify=httpd.ca, timeout=TIMEOUT_S)
    return answer.status_code, answer.text


def drain(ctl, *more):
    return ctl("drain", "--host", NAME, "--notice", "2", *more)


def test_a_locked_row_of_a_host_delays_no_listener(ctl, module_instance, module_admin_factory, second):
    eventually(lambda: NAME in hosts(ctl), "the host has recorded itself")
    credential = module_admin_factory.key()
    api = Api(second, credential)
    assert api.get("me").status_code == 200
    with contextlib.closing(psycopg2.connect(module_instance.admin_dsn)) as holder, holder.cursor() as cursor:
        cursor.execute("update neoapi.host set seen_at = now() - interval '1 minute'")
        holder.commit()
        cursor.execute("update neoapi.host set version = version")
        assert ctl("key", "revoke", credential.id)[0] == 0, "all listeners have confirmed it"
        assert api.get("me").status_code == 401
        holder.rollback()
    eventually(lambda: not module_instance.sql("select name from neoapi.host where seen_at < now() - interval '30 seconds'"), "both are seen")


def test_every_host_records_itself(ctl, second):
    found = eventually(lambda: len(known := hosts(ctl)) == 2 and known, "both hosts have recorded themselves")
    assert set(found) == {socket.gethostname(), NAME}
    for host in found.values():
        assert (host["delivers"], host["drained_at"], host["requests"], host["attempts"]) == (True, None, 0, 0)
        assert abs(host["clock_ahead_ms"]) < 1000
    assert len({host["version"] for host in found.values()}) == 1


def test_status_shows_the_hosts(module_instance, ctl, second):
    eventually(lambda: len(ctl("status")[1]["deployment"]["hosts"]) == 2, "both are shown")
    shown = {host["name"]: host for host in ctl("status")[1]["deployment"]["hosts"]}[NAME]
    assert (shown["delivers"], shown["drained"], shown["version"]) == (True, False, hosts(ctl)[NAME]["version"])
    assert abs(shown["clock_ahead_ms"]) < 1000 and shown["seconds_since_contact"] < 60
    page = requests.get(second.url.replace("public/v1/", "neoapi-status"), verify=second.ca, timeout=TIMEOUT_S).text
    assert f'<tr><th scope="row">{NAME}</th><td data-name="Version">{shown["version"]}</td>' in page


def test_status_pages_of_many_hosts_show_those_that_are_missing_and_a_count(module_instance, ctl, second):
    long = "h" * 190
    module_instance.sql("insert into neoapi.host (name, version, seen_at, clock_ahead_ms, delivers, requests, attempts)"
                        " select %s || n, '0.1.0', now() - (n > 99)::int * interval '1 hour', 6000, true, 0, 0"
                        " from generate_series(1, 100) n", long)
    pages = second.url.replace("public/v1/", "neoapi-status")
    try:
        page = eventually(lambda: long in (now := requests.get(pages, verify=second.ca, timeout=TIMEOUT_S).text) and now, "they are shown")
        names = re.findall('<tr><th scope="row">([^<]+)</th><td data-name="Version">', page)
        assert f"{long}100" in names and len(names) < 48 and f">{102 - len(names)} more hosts; see: neoapictl status<" in page
        assert "more warnings; see: neoapictl status" in page and '<td data-name="Role">primary</td>' in page
        assert f"DeploymentMore hosts: {102 - len(names)}\n" in requests.get(pages + "?auto", verify=second.ca, timeout=TIMEOUT_S).text
        shown = ctl("status")[1]
        assert len(shown["deployment"]["hosts"]) == 102 and len(shown["warnings"]) >= 100
    finally:
        module_instance.sql("delete from neoapi.host where name like %s", long + "%")


def test_a_drained_host_is_not_ready_until_it_is_undrained(module_instance, ctl, second, undrained):
    assert drain(ctl)[:2] == (0, {"drained": NAME})
    assert health(second) == (503, "not ready: the host is drained: run neoapictl undrain\n")
    assert health(module_instance)[0] == 200
    second.stop()
    second.start()
    eventually(lambda: health(second)[0] == 503, "it is drained after a restart, too")


def begin_waiting(httpd, credential):
    """Starts a request that waits for an event for 20 seconds. Returns its thread."""
    def events(**more):
        return Api(httpd, credential).get("events", params={"order": "asc", **more}, timeout=TIMEOUT_S)
    waiting = threading.Thread(target=events, kwargs={"after": events(after="now").headers["X-Events-Position"], "wait": 20})
    waiting.start()
    return waiting


def test_the_timeout_begins_after_the_notice(ctl, undrained):
    assert drain(ctl, "--timeout", "1")[:2] == (0, {"drained": NAME})


def test_draining_waits_for_requests(ctl, second, undrained, admin):
    waiting = begin_waiting(second, admin.credential)
    eventually(lambda: "requests in progress: 1, deliveries in flight: 0" in drain(ctl, "--timeout", "1")[2], "it waits")
    assert health(second)[0] == 503
    assert drain(ctl)[0] == 0
    waiting.join(1)
    assert not waiting.is_alive(), "it has waited for the request"


def test_draining_waits_for_a_host_that_has_lost_its_connection_to_the_database(module_instance, ctl, second, undrained, admin):
    """It connects again after at most 15 seconds, and serves requests in the meantime."""
    waiting = begin_waiting(second, admin.credential)
    eventually(lambda: hosts(ctl)[NAME]["requests"] == 1, "the request is recorded")
    module_instance.sql("update neoapi.host set seen_at = now() - interval '20 seconds' where name = %s", NAME)
    assert "requests in progress: 1" in drain(ctl, "--timeout", "1")[2]
    waiting.join()


def test_a_drained_host_ends_its_deliveries_and_begins_none(module_instance, ctl, second, undrained, admin, receiver):
    release = threading.Event()

    def hold(handler, body):
        release.wait(TIMEOUT_S)
        ok(handler, body)
    assert drain(ctl)[0] == 0
    receiver.behave(hold)
    subscribe(admin, receiver.url, "broker.created")
    Api(second, admin.credential).post("brokers", json={"name": "Ana", "creci": "SP 1", "email": "ana@example.com"})
    receiver.wait_for(1)
    began = module_instance.sql("select now()")[0][0]
    eventually(lambda: module_instance.sql("select seen_at from neoapi.host where name = %s", NAME)[0][0] > began, "it was recorded")
    assert hosts(ctl)[NAME]["attempts"] == 0
    release.set()


def test_status_warns_of_a_host_that_is_not_seen(module_instance, ctl):
    module_instance.sql("insert into neoapi.host (name, version, seen_at, clock_ahead_ms, delivers, requests, attempts)"
                        " values ('gone', '0.0.9', now() - interval '2 minutes', 0, true, 3, 0), ('fast', '0.0.9', now(), 6000, true, 0, 0)")
    assert any("the clock of host fast is 6000 ms ahead of" in line for line in ctl("status")[1]["warnings"])
    assert ctl("host", "remove", "fast")[0] == 0
    assert any("host gone has not been seen" in line for line in ctl("status")[1]["warnings"])
    assert ctl("drain", "--host", "gone")[0] == 0, "it has nothing in progress"
    module_instance.sql("update neoapi.host set seen_at = now() - interval '8 days' where name = 'gone'")
    module_instance.sql("insert into neoapi.host select 'old', version, seen_at, 0, true, 0, 0 from neoapi.host where name = 'gone'")
    eventually(lambda: "old" not in hosts(ctl), "it is removed after a week")
    assert "gone" in hosts(ctl), "a drained host is kept"
    module_instance.sql("insert into neoapi.host (name, version, seen_at, clock_ahead_ms, delivers, requests, attempts, is_temporary, drained_at)"
                        " select 'pod', version, now() - interval '2 minutes', 0, true, 0, 0, true, now() from neoapi.host where name = 'gone'")
    assert not any("pod" in line for line in ctl("status")[1]["warnings"]), "a temporary host may stop"
    module_instance.sql("update neoapi.host set seen_at = now() - interval '6 minutes' where name = 'pod'")
    eventually(lambda: "pod" not in hosts(ctl), "a temporary host is removed, also if it is drained")
    assert ctl("host", "remove", "gone")[0] == 0
    status, _, said = ctl("drain", "--host", "gone")
    assert status == 1 and "no such host; see: neoapictl host list" in said
