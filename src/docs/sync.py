# SPDX-License-Identifier: Apache-2.0
"""Keeps a copy of an organization's data in SQLite: API=…/public/v1/ KEY=… python3 sync.py FILE"""
import json
import os
import sqlite3
import sys
import time

import requests

API, DAY = os.environ["API"], 24 * 3600
COLLECTIONS = {"broker": "brokers", "property": "properties", "party": "parties", "proposal": "proposals",
               "contract": "contracts", "document": "documents", "lead": "leads"}
api = requests.Session()
api.headers["X-API-Key"] = os.environ["KEY"]
copy = sqlite3.connect(sys.argv[1])
copy.executescript("""
    create table if not exists record (id text primary key, updated_at text, body text);
    create table if not exists deleted (id text primary key, updated_at text, seen real);
    create table if not exists state (name text primary key, value text);
    create temp view known as select * from record union all select * from deleted""")


def get(path, stream=False, **params):
    """Repeats the request while the service cannot answer it."""
    delay = 1
    while True:
        try:
            answer = api.get(API + path, params=params, timeout=120, stream=stream)
            if answer.ok or "position_expired" in answer.text:
                return answer
            if answer.status_code != 429 and answer.status_code < 500:
                sys.exit(answer.json()["detail"])  # such as a key without a scope
            delay = int(answer.headers.get("Retry-After", delay))
        except requests.RequestException:
            delay = min(2 * delay, 60)
        time.sleep(delay)


def is_newer(id, updated_at):
    """Whether neither the copy nor a deletion is as new."""
    return not copy.execute("select 1 from known where id=? and updated_at>=?", (id, updated_at)).fetchone()


def store(record):
    row = record["id"], record["updated_at"], json.dumps(record)
    copy.execute("insert or replace into record values (?, ?, ?)", row)


def export():
    position, waiting = None, list(COLLECTIONS.values())
    copy.execute("delete from record")  # also what is newer: after a restore it may never have happened
    copy.execute("delete from deleted")
    while waiting:
        answer = get(waiting[0] + "/export", stream=True)
        position = position or answer.headers["X-Events-Position"]  # of the first: what changed later follows
        try:
            for record in map(json.loads, answer.iter_lines(65536)):
                store(record)
            waiting.pop(0)
        except requests.RequestException:  # the end is missing: the export was aborted
            time.sleep(1)
    return position


def apply(events):
    changed = {}
    for event in events:
        (kind, happened), id = event["type"].split(".", 1), event["resource_id"]
        updated_at = event["payload"].get("updated_at")
        if kind in COLLECTIONS and happened == "deleted":
            copy.execute("insert or replace into deleted values (?, ?, ?)", (id, updated_at, time.time()))
            copy.execute("delete from record where id = ?", (id,))
        elif kind in COLLECTIONS and is_newer(id, updated_at):
            changed[id] = COLLECTIONS[kind], event["actor_id"]
    for collection in {collection for collection, _ in changed.values()}:  # payloads lack confidential fields
        ids = [id for id, (of, _) in changed.items() if of == collection]
        for record in get(collection, ids=ids, limit=100).json()["items"]:
            if is_newer(record["id"], record["updated_at"]):
                store(record)
            if changed[record["id"]][1] != me:  # one's own changes need not be passed on to one's own system
                print("changed", record["id"], flush=True)


def follow(position):
    answer = get("events", order="asc", after=position, limit=100, wait=20)
    if not answer.ok:  # the position is not valid any more
        return export()
    apply(answer.json()["items"])
    time.sleep(int(answer.headers.get("Retry-After", 0)))  # if the request could not wait
    copy.execute("delete from deleted where seen < ?", (time.time() - DAY,))
    return answer.headers["X-Events-Position"]


principal = get("me").json()
me = principal.get("user_id", principal["principal_id"])  # as in actor_id
while True:
    with copy:  # one transaction: what a page changes, and the position after it
        known = copy.execute("select value from state").fetchone()
        new = follow(known[0]) if known else export()
        copy.execute("insert or replace into state values ('position', ?)", (new,))
