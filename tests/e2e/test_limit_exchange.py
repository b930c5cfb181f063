# SPDX-License-Identifier: Apache-2.0
"""neoapi.exchange_leases, with which hosts share limits: what each gets, and what it learns of the others."""

import contextlib
import random

import psycopg2
import pytest
from webhook_fixtures import HERE, module_instance  # noqa: F401 (fixture)

CONF = HERE


@pytest.fixture
def exchange(module_instance):
    """exchange(host, lease, target, used): what a host gets of a limit of 600 when it sends all its leases. Nothing is committed;
    exchange.cursor is the transaction's. exchange.known has what each host knows after that, exchange.changes(host) are the limits that
    others have changed since: what they have used and their demand, by name, and whether these are all limits of others."""
    with contextlib.closing(psycopg2.connect(module_instance.admin_dsn)) as connection, connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtext('neoapi.limit_lease'))")
        cursor.execute("delete from neoapi.limit_host")
        cursor.execute("delete from neoapi.limit_lease")

        def call(host, lease, target, used=0, hosts=2, number=1, is_new=False, name="x", wanted=0):
            cursor.execute("select place, name, lease from neoapi.exchange_leases(%s, %s, 0, %s, %s, %s::text[], '{600}', '{60}', %s::int[],"
                           " %s::int[], %s::int[], '{1}', %s::int[]) where place >= 0",
                           (host, number, hosts, is_new, [name], [lease], [target], [used], [wanted]))
            rows = {place: row for place, *row in cursor.fetchall()}
            if rows:
                call.known[host] = int(rows[0][0])
            return rows[1][1] if rows else None

        def changes(host, number=1):
            cursor.execute("select place, name, other_used, other_demand from neoapi.exchange_leases(%s, %s, %s, 2, false, '{}', '{}', '{}',"
                           " '{}', '{}', '{}', '{}', '{}')", (host, number, call.known[host]))
            rows = cursor.fetchall()
            (known, is_all), = [(name, used) for place, name, used, _ in rows if place == 0]
            call.known[host] = int(known)
            return {name: (used, demand) for place, name, used, demand in rows if place is None}, bool(is_all)
        call.cursor, call.known, call.changes = cursor, {}, changes
        yield call


def test_a_host_learns_only_of_limits_that_others_have_changed(exchange):
    exchange("two", None, 300, name="z")
    exchange("one", None, 300, 10)
    assert exchange.changes("two") == ({"x": (10, 1)}, True), "another one has sent all"
    assert exchange.changes("two") == ({}, False)

    exchange.cursor.execute("select other_used from neoapi.exchange_leases('one', 1, %s, 2, false, '{x,y}', '{600,600}', '{60,60}',"
                            " '{290,300}', '{290,300}', '{10,20}', '{1,1}', '{0,0}') where place > 0", [exchange.known["one"]])
    assert exchange.cursor.fetchall() == [(0,), (0,)], "no other host has them"
    known = exchange.known["two"]
    assert exchange.changes("two") == ({"y": (20, 1)}, False), "of x only the lease has changed"
    assert exchange.changes("two") == ({}, False)
    exchange.known["two"] = known
    assert exchange.changes("two") == ({"y": (20, 1)}, False), "the response did not arrive"


def test_of_hosts_that_have_refused_batches_the_one_that_wants_most_is_recorded_and_else_the_first(exchange):
    def wanted():
        exchange.cursor.execute("select host, wanted from neoapi.limit_lease")
        return dict(exchange.cursor.fetchall())
    exchange("one", None, 300, wanted=10)
    exchange("two", None, 300, wanted=10)
    assert wanted() == {"one": 10, "two": 0}
    exchange("one", None, 300, wanted=10)
    assert wanted() == {"one": 10, "two": 0}
    exchange("two", None, 300, wanted=11)
    assert wanted() == {"one": 10, "two": 11}
    exchange("one", None, 300, wanted=10)
    assert wanted() == {"one": 0, "two": 11}
    exchange.cursor.execute("update neoapi.limit_host set seen_at = seen_at - interval '6 seconds' where name = 'two'")
    exchange("one", None, 300, wanted=10)
    assert wanted() == {"one": 10, "two": 11}, "one that is not seen wants nothing"


def test_a_host_learns_of_all_limits_when_another_ends_or_comes_back(exchange):
    exchange("one", None, 300, 10)
    exchange("two", None, 300, 20)
    exchange.changes("one")
    assert exchange.changes("one") == ({}, False)
    exchange.cursor.execute("update neoapi.limit_host set seen_at = seen_at - interval '6 seconds' where name = 'two'")
    assert exchange.changes("one") == ({"x": (20, 0)}, True), "a host that is not seen has no demand"
    assert exchange.changes("one") == ({}, False)
    exchange("two", 300, 300, 20, number=2)
    assert exchange.changes("one") == ({"x": (20, 1)}, True)
    exchange("two", 300, 300, 20, number=3)
    assert exchange.changes("one") == ({"x": (20, 1)}, True), "it has sent all again"


def test_a_host_learns_when_what_an_ended_host_used_leaves_the_window(exchange):
    exchange("one", None, 300, 10)
    exchange("two", None, 300, 20)
    exchange.changes("one")
    exchange.cursor.execute("update neoapi.limit_host set seen_at = seen_at - interval '40 seconds' where name = 'two'")
    assert exchange.changes("one") == ({"x": (20, 0)}, True)
    exchange.cursor.execute("update neoapi.limit_lease set changed_at = changed_at - interval '61 seconds' where host = 'two'")
    assert exchange.changes("one") == ({"x": (0, 0)}, False)
    assert exchange.changes("one") == ({}, False)
    exchange.cursor.execute("select used from neoapi.limit_lease where host = 'two'")
    assert exchange.cursor.fetchall() == [(0,)], "others have a minute to read it"
    exchange.cursor.execute("update neoapi.limit_lease set changed_at = changed_at - interval '61 seconds' where host = 'two'")
    exchange.changes("one")
    exchange.cursor.execute("select from neoapi.limit_lease where host = 'two'")
    assert not exchange.cursor.fetchall()


def test_exchanges_are_numbered_for_longer_than_a_deployment_runs(exchange):
    exchange("one", None, 300)
    exchange.cursor.execute("update neoapi.limit_host set version = 1e12")
    exchange("two", None, 300, 20)
    assert exchange.changes("one") == ({"x": (20, 1)}, True)
    assert exchange.changes("one") == ({}, False)


def test_no_lease_grows_until_all_hosts_have_exchanged_theirs(exchange):
    assert exchange("one", 500, 600) == 300, "another host may hold an equal part"
    assert exchange("one", 200, 600) == 200
    assert exchange("two", 400, 400) == 400, "it held more"
    assert exchange("one", 200, 600) == 200
    assert exchange("two", 100, 100) == 100
    assert exchange("one", 200, 600) == 500


def test_leases_never_exceed_the_limit_whatever_hosts_ask_for(exchange):
    numbers, names, leases = random.Random(7), ["one", "two", "three"], {}
    for number in range(1, 200):
        host = numbers.choice(names)
        held = leases.get(host)
        used, target = numbers.randint(0, (200 if held is None else held) // 3), numbers.randint(0, 600)
        leases[host] = exchange(host, held if held is None else min(held, max(target, used)), max(target, used), used, 3, number)
        assert sum(leases.get(name, 200) for name in names) <= 600, "a host without a lease can have an equal part"
    assert leases.keys() == set(names)


def test_leases_that_the_table_has_not_are_requested_before_anything_is_written(exchange):
    call = "select place from neoapi.exchange_leases('one', 1, 1, %s, false, '{x}', '{600}', '{60}', '{10}', '{10}', '{0}', '{0}', '{0}')"
    for hosts in (1, 2):
        exchange.cursor.execute(call, [hosts])
        assert exchange.cursor.fetchall() == [(-1,)]
    exchange.cursor.execute("select from neoapi.limit_host")
    assert not exchange.cursor.fetchall()
    exchange("one", 10, 10)
    exchange.cursor.execute("update neoapi.limit_host set seen_at = seen_at - interval '6 seconds'")
    for hosts, place in ((2, -1), (1, 0)):
        exchange.cursor.execute(call, [hosts])
        assert exchange.cursor.fetchone() == (place,)


@pytest.mark.parametrize("seconds, hosts, left", [(0, 2, 150), (6, 2, 300), (20, 2, 300), (31, 1, 500)])
def test_what_a_host_that_is_not_seen_leaves_to_others(exchange, seconds, hosts, left):
    for _ in range(2):
        exchange("one", None, 450, 100)
        exchange("two", None, 150)
    assert exchange("one", 300, 450, 100) == 450
    exchange.cursor.execute("update neoapi.limit_host set seen_at = seen_at - %s * interval '1 second' where name = 'one'", [seconds])
    assert exchange("two", 150, 600, hosts=hosts) == left


def test_a_host_whose_leases_had_ended_takes_nothing_from_others(exchange):
    for _ in range(2):
        exchange("one", None, 100, 50)
        exchange("two", None, 300)
    exchange.cursor.execute("update neoapi.limit_host set seen_at = seen_at - interval '31 seconds' where name = 'one'")
    exchange.cursor.execute("update neoapi.limit_lease set lease = 550 where host = 'two' and name = 'x'")
    assert exchange("one", 100, 100, 50) == 50


def test_an_exchange_that_was_stopped_does_not_overwrite_a_later_one(exchange):
    assert exchange("one", 10, 10, number=7) == 10
    assert exchange("one", 200, 200, number=6) is None
    exchange.cursor.execute("select lease from neoapi.limit_lease where name = 'x' and host = 'one'")
    assert exchange.cursor.fetchall() == [(10,)]
    exchange.cursor.execute("update neoapi.limit_host set seen_at = seen_at - interval '6 seconds'")
    assert exchange("one", 200, 200, number=6) == 200, "the clock of the host was set back"


def test_what_a_host_used_before_a_restart_stays_used_until_the_window_has_passed(exchange):
    for _ in range(2):
        exchange("one", None, 500, 400)
        exchange("two", None, 100)
    assert exchange("one", None, 300, number=2, is_new=True) == 100
    exchange.cursor.execute("update neoapi.limit_lease set changed_at = changed_at - interval '61 seconds' where host = 'one 2'")
    assert exchange("one", 100, 600, number=3) == 500
