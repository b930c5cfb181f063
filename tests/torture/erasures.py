# SPDX-License-Identifier: Apache-2.0
"""Clients that write persons and erase them during the faults, and checks that every erasure becomes complete and nothing is left."""

import contextlib
import threading
import time
import uuid

import requests
from client import Api, ok
from factories import cpf
from wait import eventually

CLIENTS = 2  # of each host
REQUEST_TIMEOUT_S = 15
DRAIN_TIMEOUT_S = 300  # for the job "erase": a run that a fault has ended is repeated after 120 s, and it makes some steps a second
LEADS = 4
TABLES = "select c.oid::regclass::text from pg_class c where c.relnamespace = 'neoapi'::regnamespace and c.relkind = 'r'"


class Eraser(threading.Thread):
    """Writes a party and leads of one person after another, and erases the person. If `is_raced`, another thread writes the same person
    meanwhile. It finishes with its last person after `end`."""

    def __init__(self, api, number, is_raced, end):
        super().__init__(daemon=True)
        self.api, self.number, self.is_raced, self.end = api, number, is_raced, end
        self.emails, self.documents, self.erasures, self.unexpected, self.retries = [], [], set(), [], 0

    def send(self, method, path, body, expected):
        """Repeats the request until it has a response. A repeated creation has the same key, so that it is executed once."""
        headers = {"Connection": "close", "Idempotency-Key": str(uuid.uuid4())} if expected == 201 else {"Connection": "close"}
        with requests.Session() as session:
            session.trust_env, session.verify = False, self.api.instance.ca
            session.headers["X-API-Key"] = self.api.credential.secret
            while True:
                with contextlib.suppress(requests.RequestException):
                    answer = session.request(method, self.api.url + path, json=body, headers=headers, timeout=REQUEST_TIMEOUT_S)
                    if answer.status_code == expected:
                        return answer.json()
                    if answer.status_code not in (409, 429, 503):
                        self.unexpected.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
                        return None
                self.retries += 1
                time.sleep(0.2)

    def write(self, name, email, document, is_over=None):
        party = self.send("POST", "parties", {"kind": "person", "name": name, "roles": ["buyer"], "email": email, "document_number": document}, 201)
        for n in range(LEADS):
            if is_over and is_over.is_set():
                return
            self.send("POST", "leads", {"name": f"{name} {n}", "email": email, **({"party_id": party["id"]} if party and not is_over else {})}, 201)

    def run(self):
        for n in range(10**9):
            if self.end.is_set():
                return
            word = "Raced" if self.is_raced else "Quiet"
            name, email, document = f"Zulmira {word} {self.number} {n}", f"Zulmira.{word}.{self.number}.{n}@example.com", cpf()
            self.write(name, email, document)
            self.emails.append(email)
            self.documents.append(document)
            self.erase(name, email)

    def erase(self, name, email):
        is_over = threading.Event()
        racer = threading.Thread(target=self.write, args=(name, email, None, is_over), daemon=True)
        if self.is_raced:
            racer.start()
        erasure = self.send("POST", "subjects/erase", {"email": email}, 200)
        if erasure:
            self.erasures.add(erasure["id"])
        is_over.set()
        if self.is_raced:
            racer.join()


class Erasures:
    """Checks the organization of a key, in which only erasers write."""

    def __init__(self, hosts, key, end):
        self.admin = Api(hosts[0], key)
        self.erasers = [Eraser(Api(host, key), 2 * number + is_raced, is_raced, end)
                        for number, host in enumerate(hosts * CLIENTS) for is_raced in (False, True)]

    def leftovers(self, word):
        """Tables with rows that contain the word."""
        return [table for table, in self.admin.instance.sql(TABLES)
                if self.admin.instance.sql(f"select from {table} t where position(%s in lower(t::text)) > 0 limit 1", word)]

    def check(self, checker):
        sql, expect_none = self.admin.instance.sql, checker.expect_none
        pending = "select id from neoapi.erasure where completed_at is null"
        with contextlib.suppress(AssertionError):
            eventually(lambda: not sql(pending), "the job completes the erasures", DRAIN_TIMEOUT_S)
        checker.add_count("persons erased", sum(len(one.emails) for one in self.erasers))
        checker.add_count("erasures, retries", sum(one.retries for one in self.erasers))
        expect_none("erasures, unexpected responses", [text for one in self.erasers for text in one.unexpected])
        expect_none("erasures that are not complete", sql(pending))
        known = {id for id, in sql("select id from neoapi.erasure")}
        expect_none("erasures, acknowledged and not stored", [id for one in self.erasers for id in one.erasures - known])
        expect_none("tables with a person who was erased", self.leftovers("zulmira quiet") + self.leftovers("zulmira.quiet"))
        for email in [email for one in self.erasers if one.is_raced for email in one.emails]:
            eventually(lambda email=email: ok(self.admin.post("subjects/erase", {"email": email}))["status"] == "completed", "the last erasure")
        expect_none("tables with a person who was erased again", self.leftovers("zulmira"))
        documents = [document for one in self.erasers for document in one.documents]
        expect_none("parties of persons who were erased", sql("select id from neoapi.party where document_number = any(%s)", documents))
