# SPDX-License-Identifier: Apache-2.0
"""Limits hold for two hosts together: requests of a credential, deliveries in an hour, requests in progress; also while hosts start and
end, and if they cannot exchange their parts."""

import contextlib
import json
import random
import socket
import socketserver
import struct
import threading
import time

import psycopg2
import pytest
from client import Api, moment, ok, refused
from ctl_instance import Ctl
from httpd import Httpd
from wait import TIMEOUT_S, eventually
from webhook_fixtures import HERE, module_admin_factory, module_instance, receiver, subscribe  # noqa: F401 (fixtures)

# A process lets an organization take a quarter of its slots: all waiting requests may arrive at the same one.
CONF = HERE + "NeoAPIEventWaiters 16\n"
LIMIT, WINDOW = 120, 3600
FIRST, SECOND = 0, 1
LOCK = "select pg_advisory_lock(hashtext('neoapi.limit_lease'))"
REASON = "another session holds the lock neoapi.limit_lease"
LISTENERS = """select pid, query_start from pg_stat_activity join pg_locks using (pid)
    where locktype = 'advisory' and classid::bigint::bit(32)::int = hashtext('neoapi.claim_owner') and usename = 'neoapi'"""
HOST = socket.gethostname()


def make_second(instance, place, *changes):
    conf = "NeoAPIHostName second\n" + CONF.replace("${INSTANCE}", str(instance.state))
    return Httpd(instance, place, ("DocumentRoot .*", conf), *changes)


def age(instance, seconds):
    """Lets time pass since the second host, which has been killed, was last seen."""
    for table in ("host", "limit_host"):
        instance.sql(f"update neoapi.{table} set seen_at = seen_at - %s * interval '1 second' where name = 'second'", seconds)
    instance.sql("update neoapi.limit_lease set changed_at = changed_at - %s * interval '1 second' where host = 'second'", seconds)


@pytest.fixture(autouse=True)
def alone(module_instance):
    """The test before has not left a second host."""
    module_instance.sql("delete from neoapi.host where name = 'second'")
    module_instance.sql("delete from neoapi.limit_host where name = 'second'")
    module_instance.sql("delete from neoapi.limit_lease where host = 'second'")


@pytest.fixture
def second(module_instance, tmp_path):
    one = make_second(module_instance, tmp_path).start()
    yield one
    one.stop()


@contextlib.contextmanager
def lock_held(instance):
    """Another session exchanges leases."""
    with contextlib.closing(psycopg2.connect(instance.admin_dsn)) as connection, connection.cursor() as cursor:
        cursor.execute(LOCK)
        yield


def listeners(instance):
    return dict(instance.sql(LISTENERS))


def leases(instance, name):
    """The rows of a limit by host: its part, and what it has used."""
    return {host: row for host, *row in
            instance.sql("select host, lease, used from neoapi.limit_lease where name = %s order by host", name)}


@pytest.fixture
def credential(module_admin_factory):
    """credential(**plan): of an organization of its own."""
    def make(**plan):
        factory = module_admin_factory
        return factory.key(factory.organization(factory.tenant(factory.plan(window_seconds=WINDOW, **plan))))
    return make


def know_each_other(instance, credential, *hosts):
    """Waits until both hosts have exchanged their parts of a new limit."""
    probes = [Api(one, credential(requests=LIMIT)) for one in hosts]
    name = probes[0].credential.id

    def both_have_leases():
        return all(one.get("me").status_code in (200, 429) for one in probes) and len(leases(instance, name)) == 2
    probes[1].credential = probes[0].credential
    eventually(both_have_leases, "both hosts exchange leases")


@pytest.fixture
def hosts(module_instance, credential, second):
    """hosts(**plan): a credential's clients to both hosts, which know of each other."""
    know_each_other(module_instance, credential, module_instance, second)

    def make(**plan):
        one = credential(**plan)
        return [Api(host, one) for host in (module_instance, second)]
    return make


def passed(api, count=1):
    statuses = [api.get("me").status_code for _ in range(count)]
    assert set(statuses) <= {200, 429}
    return statuses.count(200)


def use_up(apis, order=(FIRST, SECOND), total=0):
    """Sends requests until `LIMIT` have passed in total, then some more; returns how many have passed."""
    def all_have_passed():
        nonlocal total
        total += sum(passed(apis[host]) for host in order)
        return total >= LIMIT
    eventually(all_have_passed, "the limit can be used up")
    return total + sum(passed(api, 20) for api in apis)


def test_a_host_that_joins_gets_only_what_is_left(module_instance, credential, tmp_path):
    one, used = credential(requests=LIMIT), 0
    first = Api(module_instance, one)

    def is_recorded():
        nonlocal used
        used += passed(first, LIMIT - 20 - used)
        return leases(module_instance, one.id).get(HOST, [0, 0])[1] == LIMIT - 20
    eventually(is_recorded, "a host that is alone records what it used")
    with make_second(module_instance, tmp_path) as second:
        eventually(lambda: "second" in leases(module_instance, one.id), "until its first exchange it does not know of the other host")
        assert use_up([first, Api(second, one)], [SECOND], used) == LIMIT


@pytest.mark.parametrize("order", [[FIRST, SECOND], [FIRST] * 9 + [SECOND], [SECOND]], ids=["evenly", "nine to one", "on one"])
def test_the_limit_holds_for_both_hosts_however_requests_are_spread(hosts, order):
    assert use_up(hosts(requests=LIMIT), order) == LIMIT


def test_the_headers_tell_the_limit_of_the_deployment(module_instance, hosts):
    first, other = hosts(requests=LIMIT)
    answer = first.get("me")
    assert (answer.headers["X-RateLimit-Limit"], answer.headers["X-RateLimit-Remaining"]) == (str(LIMIT), str(LIMIT - 1))
    assert answer.headers["RateLimit-Policy"] == f'"plan";q={LIMIT};w={WINDOW}'
    eventually(lambda: "second" in leases(module_instance, first.credential.id), "the other host knows of the request")
    assert other.get("me").headers["X-RateLimit-Remaining"] == str(LIMIT - 2)

    def is_used_up():
        answer = first.get("me")
        return answer.status_code == 429 and [answer]
    answer, = eventually(is_used_up, "its part is used up")
    assert refused(answer, 429, "rate_limit.exceeded")["detail"] == f"Rate limit of {LIMIT} requests per {WINDOW} s exceeded."


def give_most(instance, apis, host, name):
    """Sends requests to one host until it has most of the limit and the database knows what it used. Returns that."""
    used = 0

    def has_most():
        nonlocal used
        used += passed(apis[host])
        return leases(instance, apis[host].credential.id).get(name, [0])[0] > LIMIT * 2 // 3
    eventually(has_most, "one host has most of the limit")
    eventually(lambda: leases(instance, apis[host].credential.id)[name][1] == used, "it is recorded")
    return used


def test_what_a_killed_host_has_not_used_is_given_to_the_others(module_instance, hosts, second):
    apis = hosts(requests=LIMIT)
    used, total = give_most(module_instance, apis, SECOND, "second"), 0
    second.kill()

    def has_the_rest():
        nonlocal total
        total += passed(apis[FIRST], 20)
        return total >= LIMIT - max(used, LIMIT // 2)
    eventually(has_the_rest, "after five seconds the lease of the killed host is at most an equal part")
    age(module_instance, 30)
    assert use_up(apis[:1], [FIRST], used + total) == LIMIT


def test_a_host_that_cannot_exchange_leases_has_at_most_an_equal_part(module_instance, hosts):
    apis = hosts(requests=LIMIT)
    used, logged = give_most(module_instance, apis, FIRST, HOST), module_instance.error_log.count(REASON)
    listening = listeners(module_instance)
    with lock_held(module_instance):
        seen = module_instance.sql("select max(seen_at) from neoapi.limit_host")
        eventually(lambda: module_instance.error_log.count(REASON) > logged, "the log names the reason")
        now = listeners(module_instance)
        assert now.keys() == listening.keys() and all(now[pid] > listening[pid] for pid in now), "the listeners continue"
        counts = [passed(api, LIMIT) for api in apis]
        assert used + counts[FIRST] == max(used, LIMIT // 2) and used + sum(counts) <= LIMIT
        assert module_instance.sql("select max(seen_at) from neoapi.limit_host") == seen
        assert module_instance.error_log.count(REASON) == logged + 1
        assert refused(apis[FIRST].get("me"), 429, "rate_limit.exceeded")["retry_after"] == 1, "it may get more"
    assert use_up(apis, total=used + sum(counts)) == LIMIT


class MaskedBackend(socketserver.BaseRequestHandler):
    """A connection through a pooler that assigns server connections by transaction: the process id at its start is made up."""

    def handle(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(self.server.path)
            back = threading.Thread(target=self.send_back, args=(server,))
            back.start()
            self.copy(self.request, server)
            back.join()

    def copy(self, source, target):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

    def send_back(self, server):
        """Changes the process id of BackendKeyData, which the first ReadyForQuery follows."""
        start = b""
        while b"Z\0\0\0\5I" not in start:
            start += server.recv(65536)
        at = start.rindex(b"K\0\0\0\x0c")
        self.request.sendall(start[:at + 5] + struct.pack("!i", 1) + start[at + 9:])
        self.copy(server, self.request)


@pytest.fixture
def pooler(module_instance):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), MaskedBackend) as one:
        one.daemon_threads, one.path = True, str(module_instance.state / "socket/.s.PGSQL.5432")
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield one.server_address[1]
        one.shutdown()


def test_a_host_behind_a_pooler_exchanges_leases(module_instance, credential, pooler, tmp_path):
    through = ('DBDParams "host=.*', f'DBDParams "host=127.0.0.1 port={pooler} dbname=neoapi user=neoapi sslmode=disable'
                                     ' gssencmode=disable application_name=neoapi"')
    with make_second(module_instance, tmp_path, through) as second:
        know_each_other(module_instance, credential, module_instance, second)
        one = credential(requests=LIMIT)
        assert use_up([Api(module_instance, one), Api(second, one)]) == LIMIT
        assert "NEO0207" in second.log


def test_the_limit_holds_after_a_crash_has_emptied_the_table(module_instance, hosts):
    apis = hosts(requests=LIMIT)
    used = give_most(module_instance, apis, FIRST, HOST)
    used += passed(apis[FIRST], LIMIT * 5 // 6 - used)
    name = apis[FIRST].credential.id
    eventually(lambda: module_instance.sql("select sum(used), sum(demand) from neoapi.limit_lease where name = %s", name)[0] == (used, 0),
               "the hosts are idle and send nothing of the limit")
    module_instance.sql("truncate neoapi.limit_host, neoapi.limit_lease")
    eventually(lambda: leases(module_instance, name).get(HOST, [0, 0])[1] == used, "the host sends it again")
    assert use_up(apis, [SECOND], used) == LIMIT


@pytest.fixture
def exchange(module_instance):
    """exchange(host, lease, target, used): what a host gets of a limit of 600 when it sends all its leases. Nothing is committed;
    exchange.cursor is the transaction's. exchange.known has what each host knows after that, exchange.changes(host) are the limits that
    others have changed since: what they have used and their demand, by name, and whether these are all limits of others."""
    with contextlib.closing(psycopg2.connect(module_instance.admin_dsn)) as connection, connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtext('neoapi.limit_lease'))")
        cursor.execute("delete from neoapi.limit_host")
        cursor.execute("delete from neoapi.limit_lease")

        def call(host, lease, target, used=0, hosts=2, number=1, is_new=False, name="x"):
            cursor.execute("select place, name, lease from neoapi.exchange_leases(%s, %s, 0, %s, %s, %s::text[], '{600}', '{60}', %s::int[],"
                           " %s::int[], %s::int[], '{1}') where place >= 0", (host, number, hosts, is_new, [name], [lease], [target], [used]))
            rows = {place: row for place, *row in cursor.fetchall()}
            if rows:
                call.known[host] = int(rows[0][0])
            return rows[1][1] if rows else None

        def changes(host, number=1):
            cursor.execute("select place, name, other_used, other_demand from neoapi.exchange_leases(%s, %s, %s, 2, false, '{}', '{}', '{}',"
                           " '{}', '{}', '{}', '{}')", (host, number, call.known[host]))
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
                            " '{290,300}', '{290,300}', '{10,20}', '{1,1}') where place > 0", [exchange.known["one"]])
    assert exchange.cursor.fetchall() == [(0,), (0,)], "no other host has them"
    known = exchange.known["two"]
    assert exchange.changes("two") == ({"y": (20, 1)}, False), "of x only the lease has changed"
    assert exchange.changes("two") == ({}, False)
    exchange.known["two"] = known
    assert exchange.changes("two") == ({"y": (20, 1)}, False), "the response did not arrive"


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
    call = "select place from neoapi.exchange_leases('one', 1, 1, %s, false, '{x}', '{600}', '{60}', '{10}', '{10}', '{0}', '{0}')"
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


def test_a_host_that_is_restarted_does_not_get_its_part_again(module_instance, hosts, second):
    apis = hosts(requests=LIMIT)
    used, name = give_most(module_instance, apis, SECOND, "second"), apis[SECOND].credential.id
    second.kill()
    second.start()
    eventually(lambda: any(host.startswith("second ") and row[1] == used for host, row in leases(module_instance, name).items()),
               "its first exchange keeps what it had used")
    assert use_up(apis, total=used) == LIMIT


def test_doctor_names_hosts_that_do_not_exchange_their_parts(module_instance, hosts):
    def shared_limits():
        _, out, _ = Ctl(module_instance).run("--json", "doctor", "--httpd-conf", "/nowhere", "--database", module_instance.admin_dsn)
        return {row["check"]: row for row in json.loads(out)}["shared limits"]["found"]
    assert shared_limits() == "exchanged by all hosts"
    with lock_held(module_instance):
        module_instance.sql("update neoapi.limit_host set seen_at = seen_at - interval '10 seconds'")
        assert shared_limits() == f"not exchanged by {', '.join(sorted([HOST, 'second']))}"


def test_deliveries_in_an_hour_are_limited_for_both_hosts(hosts, receiver):
    limit = 20
    api, _ = hosts(deliveries_per_hour=limit)
    path = "webhooks/" + subscribe(api, receiver.url)["id"]
    operations = [{"method": "create", "data": {"name": f"A{n}"}} for n in range(2 * limit)]
    ok(api.post("brokers/batch", json={"operations": operations}))
    eventually(lambda: len(receiver.arrivals) >= limit, "the limit can be used up")

    def is_used_up():
        until = ok(api.get(path)).get("limited_until")
        return until and moment(until) > time.time() + 60
    eventually(is_used_up, "the others wait for the next hour")
    assert len(receiver.arrivals) == limit


class EventWaiters:
    """Requests of a client that wait for events, so that they are in progress."""

    def __init__(self, api):
        self.api, self.threads = api, []
        self.position = api.get("events", params={"order": "asc", "after": "now"}).headers["X-Events-Position"]

    def wait(self):
        Api(self.api.instance, self.api.credential).get("events", params={"order": "asc", "after": self.position, "wait": 20},
                                                        timeout=TIMEOUT_S)

    def keep(self, count):
        """Starts a request if fewer are waiting, because one has ended or was refused."""
        if sum(one.is_alive() for one in self.threads) < count:
            self.threads.append(threading.Thread(target=self.wait))
            self.threads[-1].start()

    def join(self):
        for one in self.threads:
            one.join()


def test_requests_in_progress_are_limited_for_both_hosts(module_instance, module_admin_factory, hosts):
    first, other = hosts(concurrent_requests=4)
    organization = ok(first.get("me"))["organization_id"]
    waiters = EventWaiters(first)

    def is_refused():
        waiters.keep(3)
        answer = first.get("brokers")
        return leases(module_instance, organization).get(HOST) == [3, 3] and answer.status_code == 429 and [answer]
    answer, = eventually(is_refused, "one host gets what the other does not need")
    assert refused(answer, 429, "rate_limit.concurrent_requests")["limit_value"] == 4
    assert other.get("brokers").status_code == 200, "it has kept one"
    module_admin_factory.set_plan(first.credential.tenant, module_admin_factory.plan())
    eventually(lambda: first.get("brokers").status_code == 200, "the plan has changed")
    ok(first.post("brokers", json={"name": "Ana"}), 201)
    waiters.join()


def test_each_host_allows_one_request_in_progress_if_the_limit_is_below_the_number_of_hosts(module_instance, hosts):
    first, other = hosts(concurrent_requests=1)
    organization = ok(first.get("me"))["organization_id"]
    waiters = EventWaiters(first)

    def is_refused():
        waiters.keep(1)
        answer = first.get("brokers")
        return len(leases(module_instance, organization)) == 2 and answer.status_code == 429 and [answer]
    answer, = eventually(is_refused, "both hosts have exchanged their leases, and a request is in progress")
    refused(answer, 429, "rate_limit.concurrent_requests")
    for _ in range(5):
        assert other.get("brokers").status_code == 200
    ok(other.post("brokers", json={"name": "Ana"}), 201)
    waiters.join()
