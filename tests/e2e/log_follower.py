# SPDX-License-Identifier: Apache-2.0
"""Follows the event log in a thread and compares the served events with the table, byte by byte."""

import hashlib
import json
import sqlite3
import threading
from contextlib import closing

import requests

PAUSE_S, REQUEST_TIMEOUT_S = 0.1, 30


def items_of(page):
    """The items of a page, each with its unparsed JSON."""
    decoder, at, found = json.JSONDecoder(), page.index("[") + 1, []
    while page[at] != "]":
        item, end = decoder.raw_decode(page, at)
        found.append((item, page[at:end]))
        at = end + (page[end] == ",")
    return found


def digest_of(text):
    return hashlib.md5(text.encode()).hexdigest()


class LogFollower(threading.Thread):
    """Reads the log from its beginning through the host of `url`. `file` records the id and a digest of each event."""

    def __init__(self, api, file, url):
        super().__init__(daemon=True)
        self.url, self.file, self.position, self.end, self.wrong = url, file, "", threading.Event(), None
        self.session = requests.Session()
        self.session.trust_env, self.session.verify = False, str(api.instance.ca)
        self.session.headers["X-API-Key"] = api.credential.secret

    def page(self):
        """The response, or None if the request must be retried."""
        try:
            answer = self.session.get(self.url + "events", timeout=REQUEST_TIMEOUT_S,
                                      params={"order": "asc", "after": self.position, "limit": 100, "wait": 5})
        except requests.RequestException:
            return None
        if answer.status_code not in (200, 503):
            self.wrong = f"{answer.status_code} {answer.text}"
        return answer if answer.status_code == 200 else None

    def run(self):
        with closing(sqlite3.connect(self.file)) as copy:
            copy.executescript("pragma synchronous = off; create table seen (id text, digest text)")
            while not self.end.is_set() and not self.wrong:
                answer = self.page()
                if answer is None:
                    self.end.wait(PAUSE_S)
                    continue
                with copy:
                    copy.executemany("insert into seen values (?, ?)",
                                     [(item["id"], digest_of(text)) for item, text in items_of(answer.text)])
                self.position = answer.headers["X-Events-Position"]

    def stop(self):
        self.end.set()
        self.join(2 * REQUEST_TIMEOUT_S)
        assert not self.wrong and not self.is_alive(), self.wrong

    def count_differences(self, stored):
        """How many events are missed, duplicate, out of order and different. `stored` has digests by id in the order of the
        log."""
        with closing(sqlite3.connect(self.file)) as copy:
            seen = copy.execute("select id, digest from seen order by rowid").fetchall()
        digests = dict(seen)
        return {"missed": len(stored.keys() - digests.keys()), "duplicate": len(seen) - len(digests),
                "out of order": sum(one[0] >= other[0] for one, other in zip(seen, seen[1:])),
                "different": sum(stored.get(id) != digest for id, digest in seen)}
