# SPDX-License-Identifier: Apache-2.0
"""Checks the requests that clients sent and the responses that they got. Times are of one clock.

A field of a resource is a register: its writes have unique values, so that each read says which write it has seen. A write without a 2xx may
have been executed at any later time, or not at all. The check is that of Gibbons and Korach, "Testing shared memories" (1997): a history is
linearizable if and only if no two forward zones overlap and no forward zone contains a backward one. A value's zone lies between the first
end and the last begin of the requests that wrote or read it. If the end comes first, the zone is a forward one: the register had the value.
"""
import math
from collections import defaultdict
from dataclasses import dataclass


@dataclass
class Request:
    """A write or a read of a register. `end` is infinite if the client got no 2xx."""

    register: str
    is_write: bool
    value: str
    begin: float
    end: float = math.inf
    updated_at: str = ""


def grouped(items, key):
    groups = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def check_register(name, requests):
    """Returns why the requests of one register cannot have happened one after the other, each between its begin and its end."""
    errors, forward, backward = [], [], []
    for value, group in grouped(requests, lambda one: one.value).items():
        writes = [one for one in group if one.is_write]
        if len(writes) != 1:
            errors.append(f"{name}: {value} was read and has {len(writes)} writes")
            continue
        first_end, last_begin = min(one.end for one in group), max(one.begin for one in group)
        if first_end < writes[0].begin:
            errors.append(f"{name}: {value} was read before it was written")
        elif first_end < last_begin:
            forward.append((first_end, last_begin, value))
        elif first_end < math.inf:
            backward.append((last_begin, first_end, value))
    forward.sort()
    errors += [f"{name}: {value} and {other} replace each other" for (_, last, value), (first, _, other) in zip(forward, forward[1:])
               if first < last]
    return errors + [f"{name}: {other} was read after {value} had replaced it" for first, last, value in backward
                     for begin, end, other in forward if begin < first and last < end]


def check_updated_at(name, requests):
    """Returns where updated_at goes back between a request and one that began after its end."""
    errors, latest, number = [], "", 0
    answered = [one for one in requests if one.end < math.inf]
    ended = sorted(answered, key=lambda one: one.end)
    for one in sorted(answered, key=lambda one: one.begin):
        while ended[number].end < one.begin:
            latest = max(latest, ended[number].updated_at)
            number += 1
        if one.updated_at < latest:
            errors.append(f"{name}: updated_at goes back from {latest} to {one.updated_at}")
    return errors


def check_registers(requests):
    return [error for name, group in grouped(requests, lambda one: one.register).items()
            for error in check_register(name, group) + check_updated_at(name, group)]


def check_keys(answered, stored):
    """Both are pairs of an idempotency key and an id: of each 2xx, and of each resource that is stored in the end."""
    errors, existing = [], grouped(set(stored), lambda pair: pair[0])
    for key, pairs in grouped({*answered, *stored}, lambda pair: pair[0]).items():
        if len(pairs) > 1:
            errors.append(f"key {key} has several results: {sorted(id for _, id in pairs)}")
        elif not existing[key]:
            errors.append(f"key {key}: {pairs[0][1]} is lost")
    return errors


def check_log(runs, stored):
    """`runs` has the ids of the events that a follower got, in its order, a list for each time that it had to begin anew. `stored` has all ids
    of the log."""
    seen = [id for run in runs for id in run]
    errors = [f"the position goes back from {one} to {other}" for one, other in zip(seen, seen[1:]) if other <= one]
    errors += [f"{id} was read and is not in the log" for id in sorted(set(seen) - set(stored))]
    for run in runs:
        missed = {id for id in stored if run and run[0] < id < run[-1]} - set(run)
        errors += [f"{id} was not read" for id in sorted(missed)]
    return errors
