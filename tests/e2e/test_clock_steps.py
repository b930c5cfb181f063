# SPDX-License-Identifier: Apache-2.0
"""Steps of the system clock do not affect ids and timestamps, which follow the monotonic clock and the database's clock."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import requests
from admin_factory import BASE32
from client import moment
from deployment import sanitizer_settings
from httpd import Httpd
from preload import ShiftedClock
from wait import TIMEOUT_S, eventually

TWO_DAYS = 2 * 24 * 3600
STATUS = ("DocumentRoot .*", '<Location "/neoapi-status">\nSetHandler neoapi-status\nRequire all granted\n</Location>')
TOLERANCE = 2  # seconds: one of error, and the duration of a request


@pytest.fixture(scope="module")
def clock():
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="neoapi-clock.") as name:
        Path(name).chmod(0o755)
        yield ShiftedClock(Path(name))


@pytest.fixture(scope="module")
def host(instance, clock):
    """A host on the instance's database whose clock is `clock`."""
    place = clock.library.parent / "httpd"
    place.mkdir()
    preload = f"{sanitizer_settings().get('HTTPD_PRELOAD', '')} {clock.library}".strip()
    with Httpd(instance, place, STATUS, preload=preload) as httpd:
        yield httpd


def id_time(id):
    """The time in an id, in seconds."""
    return sum(BASE32.index(digit) * 32 ** place for place, digit in enumerate(reversed(id[4:14]))) / 1000


@pytest.fixture
def create(host, own_api):
    """Creates a broker on the host. Returns by how many seconds its id and its created_at are ahead."""
    def one():
        answer = requests.post(host.url + "brokers", json={"name": "A"}, verify=host.ca, timeout=TIMEOUT_S,
                               headers={"X-API-Key": own_api.credential.secret, "Connection": "close"})
        assert answer.status_code == 201, answer.text
        return [at - time.time() for at in (id_time(answer.json()["id"]), moment(answer.json()["created_at"]))]
    return one


def check_right(created):
    assert [ahead for both in created for ahead in both if abs(ahead) > TOLERANCE] == []


def test_doctor_names_the_last_step_of_a_host(instance, clock, create):
    """The first test, because a process records a step up to a second later, and none until it has noticed the end of another.

    A process that starts after the step takes the clock for the time until it has asked the database, so several requests."""
    def found():
        done = subprocess.run([instance.env["NEOAPI_CTL"], "--json", "doctor", "--httpd-conf", "/nowhere"], text=True,
                              capture_output=True, timeout=TIMEOUT_S)
        return {row["check"]: row for row in json.loads(done.stdout)}["clock steps"]
    instance.sql("delete from neoapi.clock_step")
    assert found()["result"] == "ok"
    clock.shift(TWO_DAYS)
    try:
        eventually(lambda: create() and found()["result"] != "ok", "doctor reports the step")
        assert re.search(r"^the clock of \S+ was 172(799|800)\d{3} ms ahead of the time at \S+ \S+ UTC$", found()["found"]), found()
    finally:
        clock.shift(0)
        instance.sql("delete from neoapi.clock_step")


@pytest.mark.parametrize("step", [TWO_DAYS, -TWO_DAYS], ids=["forward", "backward"])
def test_a_clock_step_changes_neither_ids_nor_timestamps(host, clock, create, step):
    def steps():
        page = requests.get(f"https://localhost:{host.port}/neoapi-status?auto", verify=host.ca, timeout=TIMEOUT_S).text
        return int(dict(line.split(": ", 1) for line in page.splitlines() if ": " in line)["ClockSteps"])
    before, counted, logged = [create() for _ in range(4)], steps(), host.log.count("NEO0209")
    clock.shift(step)
    during = [create() for _ in range(8)]
    clock.shift(0)
    after = [create() for _ in range(8)]
    check_right(before + during + after)
    processes = len(Path(f"/proc/{host.process.pid}/task/{host.process.pid}/children").read_text().split())
    assert 1 <= steps() - counted <= processes
    assert 1 <= host.log.count("NEO0209") - logged <= processes + 1, "each process logs a step once"


def test_a_process_that_starts_during_a_step_has_the_right_time(host, clock, create):
    """From its first request, because earlier processes have compared the clock with the database's."""
    clock.shift(TWO_DAYS)
    parent = host.process.pid
    old = [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    for pid in old:
        os.kill(pid, signal.SIGKILL)

    def created():
        try:
            return [create()]
        except requests.ConnectionError:
            return None
    first = eventually(created, "a process that serves requests")
    check_right(first + [create() for _ in range(8)])
    clock.shift(0)
    check_right([create() for _ in range(8)])
