# SPDX-License-Identifier: Apache-2.0
"""Messages of the error log: each has an identifier, its subject and a remedy."""

import re

from client import refused
from deployment import ROOT
from webhook_fixtures import HERE, admin, module_admin_factory, module_instance  # noqa: F401 (fixtures among them)
from wait import eventually

CONF = HERE

LINE = re.compile(r"\[neoapi:(\w+)\] .*?(NEO\d{4}): (.*)")
TABLE = re.findall(r'"(NEO\d{4})", (\w+)', (ROOT / "include/core/messages.h").read_text())


def lines(instance):
    """The messages of the module: level, identifier, text."""
    return [found.groups() for found in map(LINE.search, instance.error_log.splitlines()) if found]


def test_every_message_number_is_unique():
    assert len(TABLE) > 20 and len({name for name, _ in TABLE}) == len(TABLE)


def test_a_message_names_its_subject_and_a_remedy(module_instance, admin):
    module_instance.sql("alter table neoapi.broker rename to kept")
    try:
        problem = refused(admin.get("brokers"), 503, "internal.unavailable")
    finally:
        module_instance.sql("alter table neoapi.kept rename to broker")
    _, name, text = eventually(lambda: [line for line in lines(module_instance) if problem["request_id"] in line[2]],
                               "a line")[0]
    assert name == "NEO0204" and text.startswith(f"{problem['request_id']} {admin.credential.id}: ")
    assert text.endswith("neoapictl migrate")


def test_every_log_line_has_a_number_of_the_table_and_its_level(module_instance, admin):
    module_instance.command("stop-db")
    try:
        refused(admin.get("brokers"), 503, "internal.unavailable")
    finally:
        module_instance.command("start-db")
    ours = [line for line in module_instance.error_log.splitlines() if "[neoapi:" in line]
    assert ours and len(ours) == len(lines(module_instance))
    levels = {"FATAL": "emerg", "ERROR": "error", "WARNING": "warn", "NOTICE": "notice"}
    for level, name, _ in lines(module_instance):
        assert levels[dict(TABLE)[name]] == level
