# SPDX-License-Identifier: Apache-2.0
"""Compares acknowledged writes, stored rows and received deliveries.

A delivery that a receiver gets again after accepting it is a duplicate. Only three things lose the result of an attempt, and thereby
explain a duplicate: the sender was killed before the next arrival, the database could not store the result, or the sender recorded a
timeout because the receiver was too busy to read the request in time. Two arrivals overlap if the second came before the response to
the first. Only a timeout, a killed sender or a crash of the database, which loses claims, explains an overlap.

Some receivers have a subscription with ordering, limits or batches. Ordering: no change of a resource arrives before an earlier one was
accepted. Limits: what is in progress may exceed max_in_flight only if a sender was killed or the database crashed, because their
requests end at the receiver later; max_per_second holds in each ten seconds."""

import hashlib
import hmac
import itertools
import json
import random
import threading
import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass

from client import moment
from receiver import ok, status

CLAIM_LOSING_FAULTS = ("kill the database", "full disk")  # on which PostgreSQL can crash
RESULT_LOSING_FAULTS = (*CLAIM_LOSING_FAULTS, "read-only database", "no connections")
ATTEMPT_TIMEOUT_S = 10  # a busy receiver reads a request up to this long after it was sent; the sender can be dead by then
MAX_RESULT_DELAY_S = 5  # from the response until its result is stored, even if the sender is frozen meanwhile
CLOCK_TOLERANCE_S = 2
MAX_PRINTED_CASES = 100  # of each line of the table
RATE_WINDOW_S = 10
RATE_TOLERANCE = 1.05
TIMESTAMP_FIELDS = ("created_at", "updated_at")


@dataclass
class Attempt:
    """A delivery attempt that a receiver saw: the times of request and response in seconds since 1970, and the sender's port."""

    id: str
    received_at: float
    port: int
    answered_at: float = None
    accepted: bool = False
    resource: str = None
    version: str = None  # updated_at


class Consumer:
    """A receiver that verifies signatures, responds after `delay_s`, fails at `failure_rate`, and records all attempts. `copy` has
    the version of each resource with the greatest updated_at, as an integrator would store it. `options` are those of its
    subscription, whose limits end at `limited_until`; `requests` has the first attempt of each request."""

    def __init__(self, name, delay_s, failure_rate, **options):
        self.name, self.delay_s, self.failure_rate, self.secret, self.options = name, delay_s, failure_rate, None, options
        self.requests, self.limited_until = [], 1e12
        self.attempts, self.lock, self.wrong_signatures, self.copy = defaultdict(list), threading.Lock(), [], {}
        self.random = random.Random(name)

    def behave(self, handler, arrival):
        expected = "sha256=" + hmac.new(self.secret.encode(), arrival.body, hashlib.sha256).hexdigest()
        bodies, now = arrival.json.get("deliveries", [arrival.json]), time.time()
        with self.lock:
            accepted = self.random.random() >= self.failure_rate
            attempts = [Attempt(one["id"], now, arrival.port, None, accepted, one["payload"]["id"], one["payload"]["updated_at"])
                        for one in bodies]
            if not hmac.compare_digest(expected, arrival.headers["x-webhook-signature"]):
                self.wrong_signatures.append(attempts[0].id)
            if ("deliveries" in arrival.json) != ("batch" in self.options):
                self.wrong_signatures.append(f"{attempts[0].id}: a body of another kind")
            self.requests.append(attempts[0])
            for attempt, body in zip(attempts, bodies):
                self.attempts[attempt.id].append(attempt)
                stored = self.copy.get(attempt.resource)
                if accepted and (not stored or stored["updated_at"] <= attempt.version):
                    self.copy[attempt.resource] = body["payload"]
        handler.server.closing.wait(self.delay_s)
        (ok if accepted else status(500))(handler, arrival)
        now = time.time()
        for attempt in attempts:
            attempt.answered_at = now


def is_version(payload, row):
    """Whether the fields of a payload have the values of the row."""
    return None not in (payload, row) and payload.items() <= row.items()


class Checker:
    """Checks one organization if it is given, otherwise all."""

    def __init__(self, instance, writers, consumers, faults, organization=None):
        self.instance, self.consumers, self.faults, self.organization = instance, consumers, faults, organization
        self.created = {name: id for writer in writers for name, id in writer.created.items()}
        self.renamed = {id: name for writer in writers for id, name in writer.renamed.items()}
        self.retries = sum(writer.retries for writer in writers)
        self.unexpected = [one for writer in writers for one in writer.unexpected]
        self.failures, self.lines, self.timeouts = [], [], defaultdict(list)
        for id, started, ended in self.select(
                "delivery_id, extract(epoch from started_at), extract(epoch from started_at) + duration_ms / 1000.0",
                "webhook_attempt", "error = 'timeout'"):
            self.timeouts[id].append((float(started), float(ended)))

    def select(self, columns, table, condition="true"):
        return self.instance.sql(f"select {columns} from neoapi.{table} where {condition} and (%s is null or organization_id = %s)",
                                 self.organization, self.organization)

    def expect_none(self, name, cases):
        """Adds a line to the table that must be 0. Its first cases are printed below the table."""
        self.lines.append((name, len(cases), "WRONG" if cases else ""))
        self.failures += [f"{name}: {case}" for case in itertools.islice(cases, MAX_PRINTED_CASES)]

    def add_count(self, name, count):
        self.lines.append((name, count, ""))

    def cause(self, kinds, first, second):
        """What explains a second attempt: a kill of the process that sent the first one, a timeout of the first one, or a fault of
        these kinds before the first one's result had to be stored."""
        last = second.received_at if first.answered_at is None else min(second.received_at, first.answered_at + MAX_RESULT_DELAY_S)
        for fault in self.faults:
            is_sender = first.port in fault.ports and first.received_at - ATTEMPT_TIMEOUT_S <= fault.ended_at
            if is_sender and fault.started_at <= second.received_at:
                return fault.kind
            if fault.kind in kinds and fault.started_at <= last and fault.ended_at >= first.received_at:
                return fault.kind
        if any(started <= first.received_at + CLOCK_TOLERANCE_S and ended <= second.received_at + CLOCK_TOLERANCE_S
               for started, ended in self.timeouts[first.id]):
            return "timeout"
        return None

    def check_rows(self):
        rows = self.select("name, id, representation", "broker")
        names, ids = Counter(name for name, _, _ in rows), {id for _, id, _ in rows}
        self.add_count("acknowledged writes", len(self.created))
        self.add_count("retries of requests", self.retries)
        self.expect_none("unexpected responses", self.unexpected)
        lost = [id for id in self.created.values() if id not in ids]
        self.expect_none("acknowledged and not stored", lost)
        self.expect_none("stored more than once", [name for name, count in names.items() if count > 1])
        stored = {id: json.loads(text) for _, id, text in rows}
        self.add_count("acknowledged changes", len(self.renamed))
        wrong = [id for id, name in self.renamed.items() if stored.get(id, {}).get("name") != name]
        self.expect_none("acknowledged changes that are not stored", wrong)
        wrong = [(consumer.name, id) for consumer in self.consumers for id in stored.keys() | consumer.copy.keys()
                 if not is_version(consumer.copy.get(id), stored.get(id))]
        self.expect_none("receivers' copies that differ from the table", wrong)
        limit = time.time() + CLOCK_TOLERANCE_S
        future = [text for _, _, text in rows if any(moment(json.loads(text)[field]) > limit for field in TIMESTAMP_FIELDS)]
        self.expect_none("with a timestamp in the future", future)
        events = Counter(id for id, in self.select("resource_id", "event", "type = 'broker.created'"))
        wrong = [id for id in ids if events[id] != 1] + [id for id in events if id not in ids]
        self.expect_none("brokers without exactly one event of their creation", wrong)

    def check_queue(self):
        stuck = self.select("id, number, claim, due_at", "webhook_queue")
        self.expect_none("deliveries that are still queued", stuck)
        failed = self.select("delivery_id", "webhook_attempt", "outcome = 'failed'")
        self.expect_none("deliveries that failed", failed)
        # Not joined in SQL: without statistics on these new tables, PostgreSQL would use a nested loop.
        deliveries = Counter(event for event, in self.select("event_id", "webhook_delivery"))
        missing = [event for event, in self.select("id", "event", "type like 'broker.%%'")
                   if deliveries[event] != len(self.consumers)]
        self.expect_none("events without a delivery for each receiver", missing)

    def check_attempts(self):
        stored = {id for id, in self.select("id", "webhook_delivery")}
        received = {id for consumer in self.consumers for id in consumer.attempts}
        accepted = {one.id for consumer in self.consumers for all in consumer.attempts.values() for one in all if one.accepted}
        self.add_count("deliveries", len(stored))
        self.expect_none("stored and never accepted", stored - accepted)
        self.expect_none("received and not stored", received - stored)
        self.expect_none("wrong signatures", [id for consumer in self.consumers for id in consumer.wrong_signatures])

    def describe(self, first, second):
        """Two attempts of a delivery, what was recorded and the faults around them, in seconds since the first attempt."""
        start = first.received_at
        near = [(fault.kind, round(fault.started_at - start, 2), round(fault.ended_at - start, 2), first.port in fault.ports)
                for fault in self.faults if fault.ended_at > start - ATTEMPT_TIMEOUT_S and fault.started_at < second.received_at]
        answered = None if first.answered_at is None else round(first.answered_at - start, 2)
        recorded = self.instance.sql("select number, round(extract(epoch from started_at) - %s, 2)::float, duration_ms,"
                                     " coalesce(error, http_status::text) from neoapi.webhook_attempt where delivery_id = %s"
                                     " order by number", start, first.id)
        return (f"{first.id}: ports {first.port} and {second.port}, answered after {answered} s, sent again after "
                f"{second.received_at - start:.2f} s; recorded attempts: {recorded}; faults: {near}")

    def check_duplicates(self):
        causes, unexplained, overlapping = Counter(), [], []
        for consumer in self.consumers:
            for all in consumer.attempts.values():
                for first, second in zip(all, all[1:]):
                    cause = self.cause(RESULT_LOSING_FAULTS, first, second)
                    if first.accepted and cause:
                        causes[cause] += 1
                    elif first.accepted:
                        unexplained.append(self.describe(first, second))
                    overlaps = first.answered_at is None or second.received_at < first.answered_at
                    if overlaps and not self.cause(CLAIM_LOSING_FAULTS, first, second):
                        overlapping.append(self.describe(first, second))
        for cause, count in sorted(causes.items()):
            self.add_count(f"duplicates: {cause}", count)
        self.expect_none("duplicates without a cause", unexplained)
        self.expect_none("overlapping attempts without a cause", overlapping)

    def check_order(self, consumer):
        """Each change arrives after the earlier ones of its resource were accepted."""
        accepted, wrong = defaultdict(dict), []
        for all in consumer.attempts.values():
            at = min((one.received_at for one in all if one.accepted), default=None)
            accepted[all[0].resource][all[0].version] = at
        for all in consumer.attempts.values():
            first = all[0]
            earlier = [at for version, at in accepted[first.resource].items() if version < first.version]
            if any(at is None or at > first.received_at for at in earlier):
                wrong.append(f"{first.id} of {first.resource}")
        self.add_count(f"{consumer.name}: resources with several changes", sum(len(one) > 1 for one in accepted.values()))
        self.expect_none(f"{consumer.name}: out of order", wrong)

    def check_limits(self, consumer):
        limit, rate = consumer.options.get("max_in_flight"), consumer.options.get("max_per_second")
        window, open_until, over, fast, peak = deque(), [], [], [], 0
        for one in sorted(consumer.requests, key=lambda one: one.received_at):
            if one.received_at > consumer.limited_until:
                break
            while window and window[0] <= one.received_at - RATE_WINDOW_S:
                window.popleft()
            window.append(one.received_at)
            peak = max(peak, len(window))
            if rate and len(window) > rate * RATE_WINDOW_S * RATE_TOLERANCE + 1:
                fast.append(f"{len(window)} in {RATE_WINDOW_S} s until {one.received_at}")
            open_until = [until for until in open_until if until > one.received_at] + [one.answered_at or 1e12]
            is_explained = any(fault.kind in (*CLAIM_LOSING_FAULTS, "kill a child")
                               and fault.started_at <= one.received_at <= fault.ended_at + ATTEMPT_TIMEOUT_S for fault in self.faults)
            if limit and len(open_until) > limit and not is_explained:
                over.append(f"{len(open_until)} at {one.received_at}")
        self.add_count(f"{consumer.name}: most requests in {RATE_WINDOW_S} s", peak)
        self.expect_none(f"{consumer.name}: more in progress than max_in_flight", over)
        self.expect_none(f"{consumer.name}: faster than max_per_second", fast)

    def check_options(self):
        for consumer in self.consumers:
            if consumer.options.get("ordering"):
                self.check_order(consumer)
            if consumer.options.keys() & {"max_in_flight", "max_per_second"}:
                self.check_limits(consumer)
            if consumer.options.get("batch"):
                self.add_count(f"{consumer.name}: requests", len(consumer.requests))
                self.add_count(f"{consumer.name}: attempts in them", sum(len(all) for all in consumer.attempts.values()))

    def check(self):
        self.check_rows()
        self.check_queue()
        self.check_attempts()
        self.check_duplicates()
        self.check_options()

    def report(self):
        """Prints the table. Returns whether all checks have passed."""
        for kind, count in sorted(Counter(fault.kind for fault in self.faults).items()):
            self.add_count(f"fault: {kind}", count)
        self.check()
        for name, count, verdict in self.lines:
            print(f"  {name:55} {count:9,} {verdict}")
        for failure in self.failures:
            print(f"WRONG: {failure}")
        return not self.failures
