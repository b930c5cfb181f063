# SPDX-License-Identifier: Apache-2.0
"""Compares what was acknowledged, what is stored and what was received.

A delivery that a receiver accepted and got again is a duplicate. It is explained if its sender was killed before the next arrival,
if the database could not store the result, or if the sender recorded a timeout, because the receiver was too busy to see the request
in time: only these lose a result. Any other is wrong. Simultaneous are two arrivals of which the second came before the first was
answered; only a timeout, or a fault that ends the sender or loses its claims (a kill, a crash of the database), explains these."""

import hashlib
import hmac
import itertools
import json
import random
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass

from client import moment
from receiver import ok, status

LOSE_RESULTS = ("kill the database", "read-only database", "no connections")
LOSE_CLAIMS = ("kill the database",)
ATTEMPT_TIMEOUT_S = 10  # a busy receiver can see a request so long after it was sent; its sender can be dead by then
RESULT_LIMIT_S = 5  # from the response until its result is stored, also if the sender is frozen meanwhile
CLOCK_TOLERANCE_S = 2
SHOWN = 100  # of the cases of a line
TIMES = ("created_at", "updated_at")


@dataclass
class Reception:
    """A delivery at a receiver: when it came and when it was answered, in seconds since 1970, and its sender's port."""

    id: str
    began: float
    port: int
    ended: float = None
    accepted: bool = False


class Inbox:
    """A receiver's behaviour: it verifies, waits, refuses a share, and remembers. `copy` is what a client would have that keeps the
    version with the greatest updated_at of each resource."""

    def __init__(self, name, seconds, refused):
        self.name, self.seconds, self.refused, self.secret = name, seconds, refused, None
        self.receptions, self.lock, self.forged, self.copy = defaultdict(list), threading.Lock(), [], {}
        self.chance = random.Random(name)

    def behave(self, handler, arrival):
        expected = "sha256=" + hmac.new(self.secret.encode(), arrival.body, hashlib.sha256).hexdigest()
        reception = Reception(arrival.id, time.time(), arrival.port)
        with self.lock:
            if not hmac.compare_digest(expected, arrival.headers["x-webhook-signature"]):
                self.forged.append(arrival.id)
            self.receptions[arrival.id].append(reception)
            reception.accepted = self.chance.random() >= self.refused
            payload = arrival.json["payload"]
            known = self.copy.get(payload["id"])
            if reception.accepted and (not known or known["updated_at"] <= payload["updated_at"]):
                self.copy[payload["id"]] = payload
        handler.server.closing.wait(self.seconds)
        (ok if reception.accepted else status(500))(handler, arrival)
        reception.ended = time.time()


def is_version_of(payload, row):
    """Whether a payload, which has some of the fields, is of this version of the resource."""
    return None not in (payload, row) and payload.items() <= row.items()


class Checker:
    def __init__(self, instance, writers, inboxes, faults):
        self.instance, self.inboxes, self.faults = instance, inboxes, faults
        self.made = {name: id for writer in writers for name, id in writer.made.items()}
        self.renamed = {id: name for writer in writers for id, name in writer.renamed.items()}
        self.refused = sum(writer.refused for writer in writers)
        self.unexpected = [one for writer in writers for one in writer.unexpected]
        self.wrong, self.lines, self.timeouts = [], [], defaultdict(list)
        for id, started, ended in instance.sql(
                "select delivery_id, extract(epoch from started_at), extract(epoch from started_at) + duration_ms / 1000.0"
                " from neoapi.webhook_attempt where error = 'timeout'"):
            self.timeouts[id].append((float(started), float(ended)))

    def expect(self, name, cases):
        """A line of the table that must be 0. Up to SHOWN of its cases are printed below the table."""
        self.lines.append((name, len(cases), "WRONG" if cases else ""))
        self.wrong += [f"{name}: {case}" for case in itertools.islice(cases, SHOWN)]

    def note(self, name, count):
        self.lines.append((name, count, ""))

    def cause(self, kinds, first, second):
        """What explains a second arrival: a kill of the process that had the first one's connection, a timeout of its attempt, or a
        fault of these kinds before the first one's result had to be stored."""
        last = second.began if first.ended is None else min(second.began, first.ended + RESULT_LIMIT_S)
        for fault in self.faults:
            if first.port in fault.ports and first.began - ATTEMPT_TIMEOUT_S <= fault.ended and fault.began <= second.began:
                return fault.kind
            if fault.kind in kinds and fault.began <= last and fault.ended >= first.began:
                return fault.kind
        if any(started <= first.began + CLOCK_TOLERANCE_S and ended <= second.began + CLOCK_TOLERANCE_S
               for started, ended in self.timeouts[first.id]):
            return "timeout"
        return None

    def check_rows(self):
        rows = self.instance.sql("select name, id, representation from neoapi.broker")
        names, ids = Counter(name for name, _, _ in rows), {id for _, id, _ in rows}
        self.note("acknowledged writes", len(self.made))
        self.note("requests that were repeated", self.refused)
        self.expect("unexpected answers", self.unexpected)
        lost = [id for id in self.made.values() if id not in ids]
        self.expect("acknowledged and not stored", lost)
        self.expect("stored more than once", [name for name, count in names.items() if count > 1])
        stored = {id: json.loads(text) for _, id, text in rows}
        self.note("acknowledged changes", len(self.renamed))
        wrong = [id for id, name in self.renamed.items() if stored.get(id, {}).get("name") != name]
        self.expect("acknowledged changes that are not stored", wrong)
        wrong = [(inbox.name, id) for inbox in self.inboxes for id in stored.keys() | inbox.copy.keys()
                 if not is_version_of(inbox.copy.get(id), stored.get(id))]
        self.expect("receivers' copies that differ from the table", wrong)
        ahead = [text for _, _, text in rows if any(moment(json.loads(text)[at]) > time.time() + CLOCK_TOLERANCE_S for at in TIMES)]
        self.expect("with a time in the future", ahead)
        events = Counter(id for id, in self.instance.sql("select resource_id from neoapi.event where type = 'broker.created'"))
        wrong = [id for id in ids if events[id] != 1] + [id for id in events if id not in ids]
        self.expect("brokers without exactly one event of their creation", wrong)

    def check_queue(self):
        stuck = self.instance.sql("select id, number, claim, due_at from neoapi.webhook_queue")
        self.expect("deliveries that are stuck", stuck)
        failed = self.instance.sql("select delivery_id from neoapi.webhook_attempt where outcome = 'failed'")
        self.expect("deliveries that failed", failed)
        # Joined here: the tables are too new to have statistics, and PostgreSQL would loop over both.
        deliveries = Counter(event for event, in self.instance.sql("select event_id from neoapi.webhook_delivery"))
        missing = [event for event, in self.instance.sql("select id from neoapi.event where type like 'broker.%'")
                   if deliveries[event] != len(self.inboxes)]
        self.expect("events without a delivery for each receiver", missing)

    def check_receptions(self):
        stored = {id for id, in self.instance.sql("select id from neoapi.webhook_delivery")}
        received = {id for inbox in self.inboxes for id in inbox.receptions}
        accepted = {one.id for inbox in self.inboxes for all in inbox.receptions.values() for one in all if one.accepted}
        self.note("deliveries", len(stored))
        self.expect("stored and never accepted", stored - accepted)
        self.expect("received and not stored", received - stored)
        self.expect("wrong signatures", [id for inbox in self.inboxes for id in inbox.forged])

    def describe(self, first, second):
        """Two arrivals of a delivery and the faults around them, in seconds since the first arrival."""
        near = [(fault.kind, round(fault.began - first.began, 2), round(fault.ended - first.began, 2), first.port in fault.ports)
                for fault in self.faults if fault.ended > first.began - ATTEMPT_TIMEOUT_S and fault.began < second.began]
        answered = None if first.ended is None else round(first.ended - first.began, 2)
        return (f"{first.id}: ports {first.port} and {second.port}, answered after {answered} s, again after "
                f"{second.began - first.began:.2f} s; faults: {near}")

    def check_duplicates(self):
        causes, unexplained, simultaneous = Counter(), [], []
        for inbox in self.inboxes:
            for all in inbox.receptions.values():
                for first, second in zip(all, all[1:]):
                    cause = self.cause(LOSE_RESULTS, first, second)
                    if first.accepted and cause:
                        causes[cause] += 1
                    elif first.accepted:
                        unexplained.append(self.describe(first, second))
                    overlaps = first.ended is None or second.began < first.ended
                    if overlaps and not self.cause(LOSE_CLAIMS, first, second):
                        simultaneous.append(self.describe(first, second))
        for cause, count in sorted(causes.items()):
            self.note(f"duplicates: {cause}", count)
        self.expect("duplicates without a cause", unexplained)
        self.expect("sent twice at the same time", simultaneous)

    def report(self):
        """Prints the table. Returns true if nothing is wrong."""
        for kind, count in sorted(Counter(fault.kind for fault in self.faults).items()):
            self.note(f"fault: {kind}", count)
        self.check_rows()
        self.check_queue()
        self.check_receptions()
        self.check_duplicates()
        for name, count, verdict in self.lines:
            print(f"  {name:55} {count:9,} {verdict}")
        for what in self.wrong:
            print(f"WRONG: {what}")
        return not self.wrong
