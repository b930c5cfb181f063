# SPDX-License-Identifier: Apache-2.0
"""Limits hold for two hosts together: requests of a credential, deliveries in an hour, requests in progress; also while hosts start and
end, and if they cannot exchange their parts."""

import contextlib
import json
import re
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
        if answer.status_code != 429:
            return False
        detail = refused(answer, 429, "rate_limit.exceeded")["detail"]
        if detail == f"Rate limit of {LIMIT} requests per {WINDOW} s exceeded.":
            return True
        assert re.fullmatch(rf"The server .* its part of the limit of {LIMIT} requests per {WINDOW} s. \d+ more are left .*", detail), detail
        return False
    eventually(is_used_up, "the limit is used up")


def test_a_batch_that_each_host_has_refused_passes_on_one_of_them(module_instance, hosts):
    apis = hosts(requests=22)
    name = apis[FIRST].credential.id
    batch = {"operations": [{"method": "create", "data": {"name": f"A{n}"}} for n in range(100)]}
    for api in apis:
        assert passed(api, 4) == 4
    eventually(lambda: module_instance.sql("select sum(used), sum(demand) from neoapi.limit_lease where name = %s", name)[0] == (8, 0),
               "the hosts have equal parts again")
    for api in apis:
        answer = api.post("brokers/batch", json=batch)
        assert refused(answer, 429, "rate_limit.exceeded")["retry_after"] == 1
        assert re.search(r"counts as 10 requests. Of 22 per 3600 s, 1\d are left, but only \d on the server", answer.json()["detail"])

    def found():
        held = leases(module_instance, name)
        return [(api, host) for api, host in zip(apis, (HOST, "second")) if held[host][0] - held[host][1] >= 10]
    (api, host), = eventually(found, "one host has enough for the batch")

    def number():
        return module_instance.sql("select number from neoapi.limit_host where name = %s", host)[0]
    before = number()
    eventually(lambda: number() > before, "the host has applied its lease")
    ok(api.post("brokers/batch", json=batch))


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
