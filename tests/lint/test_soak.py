# SPDX-License-Identifier: Apache-2.0
"""Tests that `make soak` can fail: each line of its table becomes WRONG."""
import json
import pathlib
import re
import sys
from types import SimpleNamespace

import pytest

for folder in ("e2e", "torture", "soak"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder))

from checker import Attempt, Checker, Consumer  # noqa: E402
from contest import Contest  # noqa: E402
from limits import Sums, check_growth, check_latency, print_lines  # noqa: E402

BROKER = {"id": "brk_1", "name": "New name", "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z"}


class Database:
    """Returns columns of these rows, whatever the condition is."""

    def __init__(self, **tables):
        self.tables = tables

    def sql(self, text, *_):
        columns, table = re.match(r"select (.*) from neoapi\.(\w+) ", text).groups()
        return [tuple(row[name] for name in columns.split(", ")) for row in self.tables.get(table, [])]


class Writer:
    created, renamed, retries, unexpected = {"First name": "brk_1"}, {"brk_1": "New name"}, 0, []


def stored():
    return {"broker": [{"id": "brk_1", "name": "New name", "representation": json.dumps(BROKER)}],
            "event": [{"id": 1, "resource_id": "brk_1"}], "webhook_delivery": [{"id": "dlv_1", "event_id": 1}],
            "webhook_queue": [], "webhook_attempt": []}


def received():
    consumer = Consumer("one", 0, 0)
    consumer.attempts["dlv_1"] = [Attempt("dlv_1", 0, 1, 1, True)]
    consumer.copy["brk_1"] = BROKER
    return consumer


def is_correct(tables, consumer, capsys):
    """Whether the table has no WRONG and says so."""
    sums = Sums()
    sums.add(Checker(Database(**tables), [Writer], [consumer], [], "org_1"), Checker.check)
    good = print_lines([], sums.lines(), sums.wrong)
    assert good == ("WRONG" not in capsys.readouterr().out)
    return good


def test_what_is_stored_and_received_is_correct(capsys):
    assert is_correct(stored(), received(), capsys)


@pytest.mark.parametrize("table", ["broker", "event", "webhook_delivery"])
def test_a_lost_row_is_wrong(table, capsys):
    assert not is_correct({**stored(), table: []}, received(), capsys)


def test_a_lost_change_is_wrong(capsys):
    old = {**BROKER, "name": "First name"}
    consumer = received()
    consumer.copy["brk_1"] = old
    assert not is_correct({**stored(), "broker": [{"id": "brk_1", "name": "First name", "representation": json.dumps(old)}]}, consumer, capsys)


def test_a_lost_delivery_is_wrong(capsys):
    consumer = received()
    consumer.attempts.clear()
    assert not is_correct(stored(), consumer, capsys)


def test_a_doubled_p99_is_wrong():
    quiet = [0.001] * 98 + [0.005] * 2
    assert check_latency(quiet, [0.0099] * 100).is_within
    assert check_latency(quiet, [0.001] * 99 + [1]).is_within is False
    assert check_latency(quiet, [0.001] * 98 + [0.0101] * 2).is_within is False
    assert check_latency(quiet, []).is_within is False


def test_growth_is_wrong():
    assert check_growth("", [50] * 20 + [100, 101] * 50).is_within
    assert check_growth("", list(range(100, 200))).is_within is False
    assert check_growth("", [100] * 50 + [111] * 50).is_within is False
    assert check_growth("", [100] * 50 + [159] * 50, 50).is_within
    assert check_growth("", [100] * 50 + [161] * 50, 50).is_within is False
    assert check_growth("", []).is_within is False
    assert check_growth("", [0] * 60).is_within is False


# ---------------------------------------------------------------- contested creates

class ContestDatabase:
    """Returns the rows whose table and columns begin a statement."""

    def __init__(self, rows):
        self.rows = rows

    def sql(self, text, *_):
        return next(rows for start, rows in self.rows.items() if text.startswith(f"select {start}"))


def contested():
    return {"id, name from neoapi.broker": [("brk_1", "org_1 creci 1")], "id, title from neoapi.property": [],
            "resource_id from neoapi.event": [("brk_1",)], "id, actor from neoapi.event": [], "key from": [], "p.id": []}


def contest_lines(rows, ids, unexpected=()):
    """The names of the lines that are WRONG."""
    contenders = [SimpleNamespace(ids={("unique_creci", 1): found}, unexpected=[*unexpected], retries=0) for found in ids]
    checker = Checker(Database(), [], [], [], "org_1")
    Contest(ContestDatabase(rows), SimpleNamespace(id="nbr_1", organizations=("org_1",)), contenders).check(checker)
    return [name.removeprefix("contested creates, ") for name, _, verdict in checker.lines if verdict]


def test_contested_creates_are_correct():
    assert contest_lines(contested(), [{"brk_1"}, set()]) == []


@pytest.mark.parametrize("start, rows, wrong", [
    ("id, name from neoapi.broker", [("brk_1", "org_1 a"), ("brk_2", "org_1 a")], ["stored more than once", "without exactly one event"]),
    ("id, name from neoapi.broker", [("brk_1", "org_2 a")], ["rows of another organization"]),
    ("id, name from neoapi.broker", [], ["acknowledged and not stored", "without exactly one event"]),
    ("resource_id from neoapi.event", [], ["without exactly one event"]),
    ("id, actor from neoapi.event", [("evt_1", "nbr_2")], ["events of another credential"]),
    ("key from", [("1",)], ["stored responses of others"]),
    ("p.id", [("prp_1",)], ["references without their broker"])])
def test_an_error_of_contested_creates_is_wrong(start, rows, wrong):
    assert contest_lines({**contested(), start: rows}, [{"brk_1"}]) == wrong


def test_contested_creates_with_several_ids_or_unexpected_responses_are_wrong():
    rows = {**contested(), "id, name from neoapi.broker": [("brk_1", "org_1 a"), ("brk_2", "org_1 b")],
            "resource_id from neoapi.event": [("brk_1",), ("brk_2",)]}
    assert contest_lines(rows, [{"brk_1"}, {"brk_2"}]) == ["several ids for one value"]
    assert contest_lines(contested(), [{"brk_1"}], ["500"]) == ["unexpected responses"]
