# SPDX-License-Identifier: Apache-2.0
"""neoapictl import: data of other systems, error reports, and interrupted imports."""

import json
import re
import signal
import time
from contextlib import closing

import psycopg2
import pytest

from client import Api, moment, ok
from event_log import events
from ctl_instance import Ctl, peak_memory
from wait import TIMEOUT_S, eventually

PLACE = {"postal_code": "04101300", "city": "São Paulo", "state": "SP"}
CPF = "52998224725"


@pytest.fixture
def ctl(instance):
    return Ctl(instance)


@pytest.fixture
def organization(own_api):
    return own_api.credential.organizations[0]


@pytest.fixture
def import_rows(ctl, organization, tmp_path):
    """import_rows(rows…) imports them and returns the report; with how=ctl.refused, the error message."""
    def run(*rows, how=ctl.json, options=(), **more):
        return how("import", write(tmp_path, rows), "--organization", organization, *options, **more)
    return run


def write(tmp_path, rows):
    path = tmp_path / "rows.ndjson"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def broker(id, **more):
    return {"broker": {"id": id, "name": f"Broker {id}", **more}}


def party(**more):
    return {"party": {"kind": "person", "name": "Marina Duarte", "roles": ["buyer"], **more}}


def home(**more):
    return {"property": {"code": "A-1", "transaction_type": "sale", "usage_type": "residential", "property_type": "apartment",
                         "sale_price": 98_000_000, "address": PLACE, **more}}


def many(count):
    """Brokers, parties and properties of an agency, in the form of another program."""
    tenth = count // 10
    yield from (broker(f"b{n}", creci=f"SP {n}") for n in range(tenth))
    yield from (party(id=n, broker_id=f"b{n % tenth}", spouse_party_id=(n * 7 + 1) % (3 * tenth)) for n in range(3 * tenth))
    yield from (home(id=f"h{n}", code=f"H-{n}", broker_id=f"b{n % tenth}",
                     owners=[{"party_id": n % (3 * tenth), "share_bps": 10_000}])
                for n in range(count - 4 * tenth))


def wrong(ctl, *args, code=1):
    """The errors of a report, as (line, field)."""
    got, out, err = ctl.run("--json", *args)
    assert got == code and err.startswith("neoapictl: nothing was imported"), (got, out, err)
    return {(error.get("line"), error.get("field")) for error in json.loads(out)["errors"]}


# ---------------------------------------------------------------- foreign data


def test_foreign_ids_are_replaced_in_all_references(own_api, import_rows):
    done = import_rows(home(id="casa 1", broker_id="7", owners=[{"party_id": "ana", "share_bps": 10_000}]),
                       party(id="ana", broker_id=7, spouse_party_id="caio"), party(id="caio", spouse_party_id="ana"), broker(7))
    assert (done["created"], done["rows"]) == (4, 4)
    found, (made,), couple = own_api.walk("properties")[0], own_api.walk("brokers"), own_api.walk("parties")
    by_id = {one["id"]: one for one in couple}
    assert found["broker_id"] == made["id"] and {one["broker_id"] for one in couple if "broker_id" in one} == {made["id"]}
    assert all(by_id[one["spouse_party_id"]]["spouse_party_id"] == one["id"] for one in couple)
    assert found["owners"][0]["party_id"] in by_id
    assert own_api.delete(f"brokers/{made['id']}").status_code == 409


def test_a_repeated_import_updates_the_same_rows(own_api, import_rows):
    rows = [broker("b1", creci="SP 1"), party(id="p1", broker_id="b1"), party(external_id="crm-1")]
    import_rows(*rows)
    before = own_api.walk("brokers") + own_api.walk("parties")
    done = import_rows(*rows)
    assert (done["created"], done["changed"], done["unchanged"]) == (0, 0, 3)
    assert own_api.walk("brokers") + own_api.walk("parties") == before
    rows[2]["party"]["name"] = "Caio Duarte"
    done = import_rows(*rows)
    assert (done["created"], done["changed"], done["unchanged"]) == (0, 1, 2)
    old, new = (next(one for one in some if one.get("external_id") == "crm-1") for some in (before, own_api.walk("parties")))
    assert (new["id"], new["created_at"], new["name"]) == (old["id"], old["created_at"], "Caio Duarte")
    assert moment(new["updated_at"]) > moment(old["updated_at"])


def test_a_row_that_the_api_created_is_found_by_its_external_id(own_api, import_rows):
    there = ok(own_api.post("parties", json=party(external_id="crm-9")["party"]), 201)
    assert import_rows(party(external_id="crm-9", id="nine", name="New name"))["changed"] == 1
    assert [(one["id"], one["name"]) for one in own_api.walk("parties")] == [(there["id"], "New name")]


def test_timestamps_and_authors_are_kept_and_determine_the_order(own_api, import_rows):
    old = {"created_at": "2019-05-04T03:02:01.007Z", "updated_at": "2020-05-04T03:02:01.007-03:00", "created_by": "crm"}
    import_rows(broker("new"), broker("old", **old))
    new, kept = own_api.walk("brokers")
    assert (kept["created_at"], kept["updated_at"]) == ("2019-05-04T03:02:01.007Z", "2020-05-04T06:02:01.007Z")
    assert (kept["created_by"], kept["updated_by"], new["created_by"]) == ("crm", "neoapictl", "neoapictl")
    assert own_api.walk("brokers", created_lte="2019-12-31T00:00:00Z") == [kept]


def test_timestamps_have_milliseconds(own_api, import_rows):
    import_rows(broker("old", updated_at="2020-05-04T03:02:01.0079876Z", created_at="2019-05-04T03:02:01Z"))
    kept, = own_api.walk("brokers")
    assert kept["updated_at"] == "2020-05-04T03:02:01.007Z"
    assert own_api.walk("brokers", updated_lte=kept["updated_at"]) == [kept]


def test_an_imported_status_has_no_effects(own_api, import_rows):
    import_rows(home(id="h", status="active"), party(id="p"), {"proposal": {
        "id": "x", "kind": "purchase", "property_id": "h", "proponent_ids": ["p"], "amount": 1, "valid_until": "2020-01-01",
        "status": "accepted", "decided_at": "2019-12-31T10:00:00Z"}})
    proposal, = own_api.walk("proposals")
    assert (proposal["status"], proposal["decided_at"]) == ("accepted", "2019-12-31T10:00:00.000Z")
    assert own_api.walk("properties")[0]["status"] == "active"


def test_rows_of_another_organization_get_new_but_stable_ids(own_api, ctl, import_rows, instance, admin_factory, tmp_path):
    other = Api(instance, admin_factory.key())
    made = other.broker(creci="SP 1")
    ok(other.post("parties", json=party(broker_id=made["id"])["party"]), 201)
    lines = ctl.ok("export", other.credential.organizations[0]).splitlines()
    assert import_rows(*lines)["created"] == 2
    assert import_rows(*lines)["unchanged"] == 2
    (mine,), (theirs,) = own_api.walk("brokers"), own_api.walk("parties")
    assert mine["id"] != made["id"] and theirs["broker_id"] == mine["id"]
    assert {**made, **{name: mine[name] for name in ("id", "organization_id", "tenant_id")}} == mine
    assert ok(other.get(f"brokers/{made['id']}")) == made


def test_standard_input_is_read_and_empty_lines_are_skipped(own_api, ctl, organization):
    text = "\n" + json.dumps(broker("b")) + "\r\n   \n\n" + json.dumps(broker("c"))
    assert ctl.json("import", "-", "--organization", organization, stdin=text)["created"] == 2


# ---------------------------------------------------------------- errors


def test_all_errors_are_reported_by_line_and_field_and_no_row_is_imported(own_api, ctl, organization, tmp_path):
    rows = [broker("b1", creci="SP 1"),
            "{broken",
            '{"nothing": {}}',
            '{"broker": {"id": "b2", "name": "B"}, "party": {}}',
            '["broker"]',
            {"broker": "b"},
            broker("b3", creci="sp-1"),
            broker("b1"),
            broker("b4", name="", email="no", frobnicate=1),
            party(broker_id="nobody", id="p1"),
            party(),
            party(id="p2", broker_id="brk_" + "0" * 26), party(id="p4", created_at="yesterday"),
            party(id="p3", spouse_party_id="pty_" + "0" * 26),
            home(id="h", address={"city": "Santos"}, owners=[{"party_id": "p1"}, {}]),
            party(id="p5", broker_id={"external_id": "b1"}),
            home(id="i", owners=[{"party_id": "p1", "share_bps": 5000}, {"party_id": {"external_id": "p1"}, "share_bps": 5000}])]
    path = write(tmp_path, rows)
    assert wrong(ctl, "import", path, "--organization", organization) == {
        (2, None), (3, None), (4, None), (5, None), (6, "broker"), (7, "creci"), (8, "id"), (9, "name"), (9, "email"),
        (9, "frobnicate"), (10, "broker_id"), (11, "id"), (12, "broker_id"), (13, "created_at"), (14, "spouse_party_id"),
        (15, "address.postal_code"), (15, "address.state"), (15, "owners[1].party_id"), (15, "owners[0].share_bps"),
        (15, "owners[1].share_bps"), (16, "broker_id"), (17, "owners[1].party_id")}
    code, out, err = ctl.run("import", path, "--organization", organization)
    assert code == 1 and "line 7: creci is used by the broker on line 1" in err.splitlines()
    assert re.search(r"^line 2: is not JSON: .*\(column \d+\)$", err, re.M)
    assert "line 16: broker_id must be an id; an import cannot refer by external_id" in err.splitlines()
    assert "22 errors" in err.splitlines()[-1]
    assert own_api.walk("brokers") == own_api.walk("parties") == own_api.walk("properties") == []
    assert own_api.instance.sql("select count(*) from neoapi.imported_id where organization_id = %s", organization) == [(0,)]


def test_imported_history_is_consistent(own_api, ctl, organization, import_rows, tmp_path):
    """Rules about the current time do not apply: the property is not active, the proposal has expired."""
    signed = {"signed_at": "2020-01-02T10:00:00Z"}
    parties = [{"party_id": "p", "role": "seller", **signed}, {"party_id": "p", "role": "buyer", **signed}]
    proposal = {"id": "x", "kind": "purchase", "property_id": "h", "proponent_ids": ["p"], "amount": 1,
                "valid_until": "2020-01-01", "status": "accepted"}
    contract = {"kind": "sale", "property_id": "h", "proposal_id": "x", "parties": parties, "amount": 1, "status": "completed"}
    start = [home(id="h", status="sold"), home(id="i", code="A-2"), party(id="p"), {"proposal": proposal},
             {"proposal": {**proposal, "id": "y", "status": "rejected"}}]
    for wrong_one, said in (({"parties": parties[:1]}, "role buyer"), ({"property_id": "i"}, "is for the property"),
                            ({"parties": [{"party_id": "p", "role": "seller"}, parties[1]]}, "has not signed"),
                            ({"proposal_id": "y"}, "is rejected"), ({"kind": "management"}, "must be of kind sale"),
                            ({"status": "terminated"}, "termination_reason"), ({"parties": None}, "parties is required")):
        path = write(tmp_path, [*start, {"contract": {**contract, "id": "c", **wrong_one}}])
        code, _, err = ctl.run("import", path, "--organization", organization)
        assert code == 1 and "line 6: " in err and said in err, err
    assert own_api.walk("contracts") == []
    import_rows(*start, {"contract": {**contract, "id": "c"}})
    assert [one["status"] for one in own_api.walk("contracts")] == ["completed"]


def test_a_file_claims_a_property_once(own_api, ctl, organization, import_rows, tmp_path):
    """The whole file is judged by the state after it: deals that have ended claim nothing, in whatever order the lines are."""
    parties = [{"party_id": "p", "role": role, "signed_at": "2020-01-02T10:00:00Z"} for role in ("seller", "buyer")]
    start = [home(id="h", status="sold"), party(id="p")]

    def proposal(id):
        return {"proposal": {"id": id, "kind": "purchase", "property_id": "h", "proponent_ids": ["p"], "amount": 1,
                             "valid_until": "2020-01-01", "status": "accepted"}}

    def contract(id, status, **more):
        return {"contract": {"id": id, "kind": "sale", "property_id": "h", "parties": parties, "amount": 1, "status": status, **more}}

    def errors(*rows):
        code, _, err = ctl.run("import", write(tmp_path, rows), "--organization", organization)
        assert code == 1, err
        return {int(number) for number in re.findall(r"line (\d+): ", err)}

    ended, active = contract("c", "completed", proposal_id="x"), contract("d", "active", proposal_id="y")
    assert errors(*start, proposal("x"), proposal("y")) == {3, 4}
    assert errors(*start, proposal("x"), contract("e", "active")) == {4}
    assert errors(*start, contract("e", "active"), contract("f", "active")) == {3, 4}
    assert own_api.walk("properties") == []
    import_rows(*start, proposal("y"), proposal("x"), active, ended)
    import_rows(active)
    assert errors(proposal("z")) == errors(contract("e", "active")) == errors(contract("c", "draft", proposal_id="x")) == {1}
    import_rows(proposal("z"), contract("d", "completed", proposal_id="y"))
    assert sorted(one["status"] for one in own_api.walk("contracts")) == ["completed", "completed"]
    assert len(own_api.walk("proposals")) == 3


def test_an_import_does_not_free_a_reserved_property(own_api, ctl, organization, import_rows, tmp_path):
    """The status of an existing property agrees with the proposals and contracts as they will be after the import."""
    import_rows(home(id="h", status="active"), party(id="p"), {"proposal": {
        "id": "x", "kind": "purchase", "property_id": "h", "proponent_ids": ["p"], "amount": 1, "valid_until": "2099-01-01",
        "status": "submitted"}})
    proposal, = own_api.walk("proposals")
    ok(own_api.patch("proposals/" + proposal["id"], json={"status": "accepted"}))
    path = write(tmp_path, [party(id="q"), home(id="h", status="active", title="Casa")])
    code, _, err = ctl.run("import", path, "--organization", organization)
    assert code == 1 and "line 2: status: the property cannot become active" in err and proposal["id"] in err
    import_rows(home(id="h", status="under_contract", title="Casa"))
    parties = [{"party_id": "p", "role": role, "signed_at": "2020-01-02T10:00:00Z"} for role in ("seller", "buyer")]
    contract = {"id": "c", "kind": "sale", "property_id": "h", "proposal_id": "x", "parties": parties, "amount": 1}
    reason = {"termination_reason": "Distrato"}
    path = write(tmp_path, [home(id="h", status="on_hold"), {"contract": {**contract, "status": "active"}}])
    code, _, err = ctl.run("import", path, "--organization", organization)
    assert code == 1 and "line 1: status: the property cannot become on_hold" in err and "ctr_" in err
    import_rows(home(id="h", status="active"), {"contract": {**contract, "status": "terminated", **reason}})
    assert [one["status"] for one in own_api.walk("properties")] == ["active"]


def test_a_property_that_is_reserved_during_an_import_stays_reserved(own_api, ctl, organization, import_rows, instance, tmp_path):
    """The file was checked; while its brokers wait for a lock, a proposal is accepted."""
    import_rows(broker("b"), home(id="h", status="draft"), party(id="p"), {"proposal": {
        "id": "x", "kind": "purchase", "property_id": "h", "proponent_ids": ["p"], "amount": 1, "valid_until": "2099-01-01",
        "status": "submitted"}})
    proposal, = own_api.walk("proposals")
    ok(own_api.patch("properties/" + proposal["property_id"], json={"status": "active"}))
    path = write(tmp_path, [broker("b", name="New name"), home(id="h", status="on_hold")])
    with closing(psycopg2.connect(instance.admin_dsn)) as other, other.cursor() as cursor:
        cursor.execute("select from neoapi.broker where organization_id = %s for update", (organization,))
        running = ctl.start("import", path, "--organization", organization)
        eventually(lambda: instance.sql("select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%%import_line%%'"),
                   "an import that waits")
        ok(own_api.patch("proposals/" + proposal["id"], json={"status": "accepted"}))
    out, err = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == 1 and "line 2: status: the property cannot become on_hold" in err and proposal["id"] in err
    assert [one["status"] for one in own_api.walk("properties")] == ["under_contract"]
    assert [one["name"] for one in own_api.walk("brokers")] == ["New name"]


def test_duplicates_of_existing_rows_are_reported(own_api, ctl, organization, import_rows, tmp_path):
    there = own_api.broker(creci="CRECI 77")
    path = write(tmp_path, [broker("b1", creci="creci-77")])
    assert wrong(ctl, "import", path, "--organization", organization) == {(1, "creci")}
    assert there["id"] in ctl.run("import", path, "--organization", organization)[2]
    assert import_rows(broker(there["id"], creci="creci-77"))["changed"] == 1


def test_a_truncated_file_is_refused(own_api, ctl, organization, tmp_path):
    own_api.broker()
    own_api.broker()
    text = ctl.ok("export", organization).splitlines()
    assert wrong(ctl, "import", write(tmp_path, text[:-1]), "--organization", organization) == {(None, None)}
    assert "incomplete" in ctl.run("import", write(tmp_path, text[:-1]), "--organization", organization)[2]
    assert wrong(ctl, "import", write(tmp_path, [*text, text[0]]), "--organization", organization) == {(4, None)}
    newer = text[0].replace('"format":1', '"format":2')
    assert (1, "format") in wrong(ctl, "import", write(tmp_path, [newer, *text[1:]]), "--organization", organization)


def test_at_most_100_errors_are_printed(ctl, organization, tmp_path):
    path = write(tmp_path, [broker(f"b{n}", name="") for n in range(1000)])
    code, out, err = ctl.run("import", path, "--organization", organization)
    assert code == 1 and len(err.splitlines()) == 101 and "more than 100" in err


def test_an_import_with_check_writes_nothing(own_api, import_rows, organization):
    assert import_rows(broker("b1"), options=["--check"]) == {"rows": 1, "skipped_webhooks": 0}
    assert own_api.walk("brokers") == []
    assert own_api.instance.sql("select count(*) from neoapi.imported_id where organization_id = %s", organization) == [(0,)]


def test_an_import_that_cannot_start_gives_the_reason(ctl, organization, tmp_path):
    assert "No such file" in ctl.refused("import", str(tmp_path / "none"), "--organization", organization)
    path = write(tmp_path, [broker("b")])
    assert "no such organization" in ctl.refused("import", path, "--organization", "org_" + "0" * 26)
    assert "--organization is missing" in ctl.refused("import", path, code=2)


# ---------------------------------------------------------------- events and webhooks


def test_an_import_queues_webhooks_only_on_request(own_api, import_rows):
    hook = ok(own_api.post("webhooks", json={"url": "https://127.0.0.1:9/x", "events": ["*"], "is_active": True}), 201)
    sent_deliveries = lambda: own_api.walk(f"webhooks/{hook['id']}/deliveries")  # noqa: E731
    import_rows(broker("silent"))
    assert sent_deliveries() == []
    import_rows(broker("silent"), broker("b1"), broker("b2"), options=["--send-webhooks"])
    assert sorted(one["event_type"] for one in sent_deliveries()) == ["broker.created"] * 2
    import_rows(broker("silent"), broker("b1", name="Another"), options=["--send-webhooks"])
    assert sorted(one["event_type"] for one in sent_deliveries()) == ["broker.created"] * 2 + ["broker.updated"]
    payloads = [ok(own_api.get(f"webhooks/{hook['id']}/deliveries/{one['id']}"))["payload"]["name"]
                for one in sent_deliveries()]
    assert sorted(payloads) == ["Another", "Broker b1", "Broker b2"]


def test_an_import_queues_only_what_filters_select(own_api, import_rows):
    hooks = [ok(own_api.post("webhooks", json={"url": "https://127.0.0.1:9/x", "events": ["property.*"], **more,
                                               "filters": {"property": {"status": ["active"], "changed": ["sale_price"]}}}), 201)["id"]
             for more in ({}, {"payload": "thin", "ordering": "resource"}, {"fields": ["code"], "batch": {"max_items": 5, "max_wait_ms": 100}})]

    def queued(**fields):
        """Imports a property that matches and one that never does."""
        import_rows(home(id="one", **fields), home(id="two", **{**fields, "code": "A-2", "status": "draft"}), options=["--send-webhooks"])
        one, = (one["id"] for one in own_api.walk("properties") if one["code"] == "A-1")
        for hook in hooks:
            assert len(own_api.walk(f"webhooks/{hook}/deliveries", resource_id=one)) == len(own_api.walk(f"webhooks/{hook}/deliveries"))
        found = [[one["event_type"] for one in own_api.walk(f"webhooks/{hook}/deliveries")] for hook in hooks]
        assert found == found[:1] * 3
        return found[0][::-1]

    assert queued(status="active") == ["property.created"]
    assert queued(status="active", title="Casa") == ["property.created"]
    both = ["property.created", "property.updated"]
    assert queued(status="on_hold", title="Casa", sale_price=90_000_000) == both  # it matched before
    assert queued(status="on_hold", title="Casa", sale_price=80_000_000) == both


def test_an_import_writes_the_event_log_unless_disabled(own_api, import_rows):
    organization = own_api.credential.organizations[0]
    import_rows(broker("b1"), broker("b2"))
    import_rows(broker("b1", name="Another"), broker("b2"))
    log = events(own_api.instance, organization)
    assert [event["type"] for event in log] == ["broker.created", "broker.created", "broker.updated"]
    assert {(event["actor"], event["request_id"]) for event in log} == {("neoapictl", None)}
    assert (log[2]["resource_id"], log[2]["changed"], log[2]["previous"]) == (log[0]["resource_id"], ["name"],
                                                                             {"name": "Broker b1"})
    import_rows(broker("b1", name="Silent"), broker("b3"), options=["--no-events"])
    assert events(own_api.instance, organization) == log


# ---------------------------------------------------------------- interrupted


def written(own_api, organization):
    return own_api.instance.sql("select (select count(*) from neoapi.broker where organization_id = %s)"
                                " + (select count(*) from neoapi.party where organization_id = %s)"
                                " + (select count(*) from neoapi.property where organization_id = %s)",
                                *[organization] * 3)[0][0]


def terminate_its_connection(own_api):
    own_api.instance.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'neoapictl'"
                         " and backend_type = 'client backend'")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["killed", "asked to end", "the database went"])
def test_an_interrupted_import_is_resumed_by_the_same_command(own_api, ctl, organization, tmp_path, how):
    count = 10_000
    command = "import", write(tmp_path, many(count)), "--organization", organization
    with ctl.start(*command) as process:
        eventually(lambda: written(own_api, organization) > 500, "some rows")
        if how == "the database went":
            terminate_its_connection(own_api)
        else:
            process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGTERM)
        said = process.stderr.read()
    so_far = written(own_api, organization)
    assert 500 < so_far < count
    if how != "killed":
        assert process.returncode == 1 and f"stopped with {so_far} of {count} rows" in said
        assert ("connection" if how == "the database went" else "interrupted") in said
    done = ctl.json(*command)
    assert (done["rows"], done["created"], done["unchanged"]) == (count, count - so_far, so_far)
    assert own_api.instance.sql("select count(*) from neoapi.reference where organization_id = %s", organization) == [
        (sum(len(re.findall('"[a-z_]*_id": ', json.dumps(row))) for row in many(count)),)]


def test_one_import_at_a_time(own_api, ctl, organization, tmp_path):
    path = write(tmp_path, [broker("b")])
    with ctl.start("import", "-", "--organization", organization, stdin=-1) as first:
        eventually(lambda: own_api.instance.sql("select 1 from pg_locks l join pg_stat_activity a using (pid)"
                                                " where locktype = 'advisory' and a.application_name = 'neoapictl'"),
                   "its lock")
        assert "is running" in ctl.refused("import", path, "--organization", organization)
        first.stdin.close()
        assert first.wait(TIMEOUT_S) == 0
    assert ctl.json("import", path, "--organization", organization)["created"] == 1


def test_lines_are_collected_without_a_long_transaction(own_api, ctl, organization):
    """A long transaction would hold back the event log. These 500 lines are a chunk, which is collected while the import waits
    for more."""
    sessions = ("select state, backend_xid from pg_stat_activity where application_name = 'neoapictl' and pid in"
                " (select pid from pg_locks where locktype = 'advisory') and query like '%%import_line%%'")
    with ctl.start("import", "-", "--organization", organization, stdin=-1) as process:
        process.stdin.write("".join(json.dumps(broker(str(number))) + "\n" for number in range(600)))
        process.stdin.flush()
        eventually(lambda: own_api.instance.sql(sessions) == [("idle", None)], "it waits for more lines without a transaction")
        process.stdin.close()
        assert process.wait(TIMEOUT_S) == 0
    assert len(own_api.walk("brokers", limit=100)) == 600


@pytest.mark.unsanitized
def test_memory_does_not_grow_with_the_number_of_rows(own_api, ctl, admin_factory, tmp_path, report):
    peaks, rows = {}, 100_000
    for count in (1000, rows):
        organization = admin_factory.organization(own_api.credential.tenant)
        with ctl.start("import", write(tmp_path, many(count)), "--organization", organization) as process:
            while process.poll() is None:
                peaks[count] = max(peaks.get(count, 0), peak_memory(process))
                time.sleep(0.01)
            assert process.returncode == 0, process.stderr.read()
    with ctl.start("export", organization, "--output", str(tmp_path / "out")) as process:
        while process.poll() is None:
            peaks["export"] = max(peaks.get("export", 0), peak_memory(process))
            time.sleep(0.001)
    assert process.returncode == 0
    report(f"{peaks[rows] / 1024:.0f} MB at most for the import, {peaks['export'] / 1024:.0f} MB for the export")
    assert peaks[rows] < peaks[1000] + 16 * 1024 and peaks["export"] < peaks[1000] + 16 * 1024, peaks


# ---------------------------------------------------------------- on a terminal


@pytest.mark.slow
def test_progress_is_shown_only_on_a_terminal(ctl, organization, tmp_path):
    command = "import", write(tmp_path, many(6000)), "--organization", organization
    code, said = ctl.on_terminal(*command)
    assert code == 0, said[-2000:]
    assert re.search(r"\rwriting +\[#+ *\] +\d+%  [\d,]+ rows  [\d,]+ rows/s  \d+:\d\d left\x1b\[K", said), said
    assert re.search(r"\rchecking +\[", said)
    assert said.index("\r\x1b[K") < said.rindex("created")  # the progress is erased before the report
    for option in ("--quiet", "--json"):
        assert "rows/s" not in ctl.on_terminal(option, *command)[1]
    assert "\x1b" not in ctl.on_terminal(*command, TERM="dumb")[1]
    assert "\x1b" not in ctl.ok(*command)
