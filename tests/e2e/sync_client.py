# SPDX-License-Identifier: Apache-2.0
"""Runs a client of the page "Keeping in sync" and compares its copy with the database."""

import json
import os
import sqlite3
import subprocess
import time
from contextlib import closing

from deployment import ROOT
from wait import TIMEOUT_S, eventually

TABLES = ("broker", "property", "party", "proposal", "contract", "document", "lead")


class SyncClient:
    """The Python client, whose copy is in `place`; start() and stop() can be repeated."""

    def __init__(self, api, place, url=None):
        self.api, self.file, self.url, self.process = api, place / "copy", url or api.url, None
        self.output, self.command = place / "output", ["/usr/bin/python3", "-B", ROOT / "src/docs/sync.py"]

    def start(self):
        env = {**os.environ, "API": self.url, "KEY": self.api.credential.secret, "no_proxy": "*",
               "REQUESTS_CA_BUNDLE": str(self.api.instance.ca), "NODE_EXTRA_CA_CERTS": str(self.api.instance.ca)}
        with self.output.open("a") as output:
            self.process = subprocess.Popen([*self.command, self.file], env=env, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=output)
        return self

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()  # a page is stored in one transaction
        if self.process:
            self.process.wait(TIMEOUT_S)

    def sql(self, statement, *values):
        with closing(sqlite3.connect(self.file, timeout=TIMEOUT_S)) as connection, connection:
            return connection.execute(statement, values).fetchall()

    def records(self):
        return {id: json.loads(body) for id, body in self.sql("select id, body from record")} if self.file.exists() else {}

    def position(self):
        return "".join(value for value, in self.sql("select value from state"))

    def set_position(self, position):
        self.sql("update state set value = ?", position)

    def has_deleted(self, id):
        return self.sql("select count(*) from deleted where id = ?", id) == [(1,)]

    def keep_lost_changes(self, changed, deleted):
        """Simulates a change and a deletion that a restore of the database has lost."""
        self.sql("update record set updated_at = ?, body = ? where id = ?", changed["updated_at"], json.dumps(changed), changed["id"])
        self.sql("delete from record where id = ?", deleted["id"])
        self.sql("insert into deleted values (?, ?, ?)", deleted["id"], changed["updated_at"], time.time())

    def texts(self):
        """The records as JSON of the API."""
        return {id: json.dumps(record, ensure_ascii=False, separators=(",", ":")) for id, record in self.records().items()}

    def stored_texts(self):
        """The organization's resources in the tables."""
        instance, organization = self.api.instance, self.api.credential.organizations[0]
        rows = [row for table in TABLES
                for row in instance.sql(f"select id, representation from neoapi.{table} where organization_id = %s", organization)]
        return dict(rows)

    def stored(self):
        return {id: json.loads(text) for id, text in self.stored_texts().items()}

    def last_event(self):
        return self.api.instance.sql("select coalesce(max(id), '') from neoapi.event where organization_id = %s",
                                     self.api.credential.organizations[0])[0][0]

    def is_in_sync(self):
        assert self.process.poll() is None, self.output.read_text()
        try:
            return self.position() >= (self.last_event() or " ") and self.records() == self.stored()
        except (sqlite3.OperationalError, FileNotFoundError):  # not created yet
            return False

    def await_sync(self, limit=TIMEOUT_S):
        try:
            eventually(self.is_in_sync, "the copy equals the tables", limit)
        except AssertionError:
            copy, tables = self.records(), self.stored()
            wrong = {id: (copy.get(id), tables.get(id)) for id in {*copy, *tables} if copy.get(id) != tables.get(id)}
            raise AssertionError(f"{len(wrong)} of {len(tables)} differ: {dict(list(wrong.items())[:3])}\n{self.output.read_text()}")


class NodeSyncClient(SyncClient):
    """The TypeScript client, compiled to `program`. Its copy is a JSON file."""

    def __init__(self, api, place, program):
        super().__init__(api, place)
        self.command = ["node", program]

    def copy(self):
        return json.loads(self.file.read_text())

    def records(self):
        return self.copy()["records"] if self.file.exists() else {}

    def position(self):
        return self.copy()["position"]

    def set_position(self, position):
        self.file.write_text(json.dumps({**self.copy(), "position": position}))

    def has_deleted(self, id):
        return id in self.copy()["deleted"]

    def keep_lost_changes(self, changed, deleted):
        copy = self.copy()
        copy["records"][changed["id"]] = changed
        del copy["records"][deleted["id"]]
        copy["deleted"][deleted["id"]] = {"updated_at": changed["updated_at"], "seen": time.time() * 1000}
        self.file.write_text(json.dumps(copy))
