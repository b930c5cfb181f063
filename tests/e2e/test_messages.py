"""Messages of the error log: which identifier, whom it is about, what to do."""

import re

import pytest

pytest.register_assert_rewrite("hooks")

from client import refused  # noqa: E402
from deployment import ROOT  # noqa: E402
from hooks import HERE, admin, make_there, there  # noqa: E402, F401 (fixtures among them)
from waiting import eventually  # noqa: E402

CONF = HERE

LINE = re.compile(r"\[neoapi:(\w+)\] .*?(NEO\d{4}): (.*)")
TABLE = re.findall(r'"(NEO\d{4})", (\w+)', (ROOT / "include/core/messages.h").read_text())


def lines(instance):
    """What the module has logged: level, identifier, text."""
    return [found.groups() for found in map(LINE.search, instance.error_log.splitlines()) if found]


def test_every_identifier_is_there_once():
    assert len(TABLE) > 20 and len({name for name, _ in TABLE}) == len(TABLE)


def test_a_message_says_whom_it_is_about_and_what_to_do(there, admin):
    there.sql("alter table neoapi.broker rename to kept")
    try:
        problem = refused(admin.get("brokers"), 503, "internal.unavailable")
    finally:
        there.sql("alter table neoapi.kept rename to broker")
    _, name, text = eventually(lambda: [line for line in lines(there) if problem["request_id"] in line[2]], "a line")[0]
    assert name == "NEO0204" and text.startswith(f"{problem['request_id']} {admin.credential.id}: ")
    assert text.endswith("neoapictl migrate")


def test_every_line_has_an_identifier_of_the_table_and_its_level(there, admin):
    there.command("stop-db")
    try:
        refused(admin.get("brokers"), 503, "internal.unavailable")
    finally:
        there.command("start-db")
    ours = [line for line in there.error_log.splitlines() if "[neoapi:" in line]
    assert ours and len(ours) == len(lines(there))
    levels = {"FATAL": "emerg", "ERROR": "error", "WARNING": "warn", "NOTICE": "notice"}
    for level, name, _ in lines(there):
        assert levels[dict(TABLE)[name]] == level
