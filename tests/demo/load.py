# SPDX-License-Identifier: Apache-2.0
"""Loads the demo's data through the API.

    NEOAPI_URL=… NEOAPI_CA=… NEOAPI_KEY=… (and the variables in OFFICES) load.py

Prints the number of resources of each kind. Can be repeated: it completes what an interrupted run has created. Every run generates
the same data; dates are relative to today.
"""

import http.client
import json
import os
import random
import ssl
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import deals
import homes
import people


class Office(NamedTuple):
    """An organization and the amount of its data."""
    credential: str  # the name of a variable, as is the next one
    organization: str
    states: str  # of its properties
    state: str  # of its brokers
    area: str  # area code of telephone numbers
    first: int  # the number of its first resource of each kind
    brokers: int
    properties: int


OFFICES = (Office("NEOAPI_KEY", "NEOAPI_ORG", "SP MG DF GO BA PE CE", "SP", "11", 1, 140, 140),
           Office("NEOAPI_TOKEN", "NEOAPI_ORG_2", "RJ ES", "RJ", "21", 141, 40, 40),
           Office("NEOAPI_OTHER_KEY", "NEOAPI_OTHER_ORG", "PR SC RS", "PR", "41", 181, 20, 20))
COLLECTIONS = ("brokers", "properties", "parties", "proposals", "contracts", "documents", "leads")
THREADS = 8
TIMEOUT_S = 60  # per request


class Refused(Exception):
    pass


class Api:
    """Creates and changes resources of one organization. Each thread has a persistent connection."""

    def __init__(self, url, ca, credential, organization):
        self.at, self.kept = urlsplit(url), threading.local()
        self.context = ssl.create_default_context(cafile=ca)
        self.headers = {"X-API-Key": credential, "X-Organization-ID": organization, "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        if not hasattr(self.kept, "connection"):
            self.kept.connection = http.client.HTTPSConnection(self.at.hostname, self.at.port, timeout=TIMEOUT_S,
                                                               context=self.context)
        try:
            return self.send(method, path, body)
        except (ConnectionError, http.client.HTTPException):  # the server closed it; every request here can be repeated
            self.kept.connection.close()
            return self.send(method, path, body)

    def send(self, method, path, body):
        self.kept.connection.request(method, self.at.path + path, body and json.dumps(body).encode(), self.headers)
        response = self.kept.connection.getresponse()
        return response.status, json.loads(response.read())

    def want(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        if status not in (200, 201):
            raise Refused(f"{method} {path}: {status} {json.dumps(answer, ensure_ascii=False)}")
        return answer

    def make(self, collection, body, statuses=(), last=None):
        """Creates a resource and sets each of the statuses, the last one with the fields `last`. Returns the resource."""
        own = "creci" if collection == "brokers" else "external_id"
        status, made = self.ask("POST", collection, {**body, "status": statuses[0]} if statuses else body)
        if status == 409:
            there = self.want("GET", f"{collection}?{urlencode({own: body[own]})}")["items"]
            status, made = (201, there[0]) if there else (status, made)
        if status != 201:
            raise Refused(f"POST {collection}: {status} {json.dumps(made, ensure_ascii=False)}")
        done = statuses.index(made["status"]) + 1 if made.get("status") in statuses else 0
        for number, step in enumerate(statuses[done:], done + 1):
            made = self.change(collection, made, status=step, **(last or {} if number == len(statuses) else {}))
        return made

    def change(self, collection, resource, **fields):
        return self.want("PATCH", f"{collection}/{resource['id']}", fields)


class Loader:
    """Creates the data of one office."""

    def __init__(self, office, api, pool):
        self.office, self.api, self.pool = office, api, pool
        self.places = homes.places(office.states.split())
        self.made = []  # the collection of each created resource

    def rng(self, what, number):
        """A generator of random numbers that does not depend on the order of the threads."""
        return random.Random(f"{what} {self.office.first + number}")

    def each(self, make, count):
        return list(self.pool.map(make, range(count)))

    def make(self, collection, *what, **more):
        made = self.api.make(collection, *what, **more)
        self.made.append(collection)
        return made

    def load(self):
        office = self.office
        self.brokers = [one["id"] for one in self.each(lambda i: self.make("brokers", people.broker(
            self.rng("broker", i), office.first + i, office.state, office.area)), office.brokers)]
        self.load_parties(office.properties)
        self.scenarios = deals.scenarios(office.properties)
        self.rng("stories", 0).shuffle(self.scenarios)
        self.each(self.play, office.properties)
        self.each(self.broker_paper, office.brokers // 10)
        return Counter(self.made)

    # ------------------------------------------------------------ parties

    def load_parties(self, properties):
        """Owners, buyers and tenants (couples and single persons), guarantors and attorneys, in proportion to the properties."""
        couples, others, takers = properties // 4, properties // 4, properties // 3
        selling, taking = ["seller", "landlord"], ["buyer", "tenant"]
        self.owners = self.each(lambda i: self.couple(2 * i, selling), couples)
        number = 2 * couples
        self.owners += self.each(lambda i: [self.person(number + i, selling)["id"]], others)
        number += others
        self.takers = self.each(lambda i: [self.person(number + i, taking)["id"]], takers)
        number += takers
        self.takers += self.each(lambda i: self.couple(number + 2 * i, taking), couples // 4)
        number += couples // 4 * 2
        self.guarantors = self.each(lambda i: self.person(number + i, ["guarantor"])["id"], 1 + properties // 20)
        number += len(self.guarantors)
        attorneys = self.each(lambda i: self.person(number + i, ["attorney"])["id"], 1 + properties // 20)
        number += len(attorneys)
        for roles, owning in ((selling, self.owners), (taking, self.takers)):
            owning += self.each(lambda i: [self.company(number + i, roles, attorneys[i % len(attorneys)])], 1 + properties // 20)
            number += 1 + properties // 20

    def party(self, number, body, papers):
        rng = self.rng("party's", number)
        own = {"address": homes.address(rng, rng.choice(self.places)), "broker_id": rng.choice(self.brokers)}
        made = self.make("parties", {**own, **body})
        if number % 2:
            self.paper(number // 2, papers, "party", made)
        return made

    def person(self, number, roles, **more):
        rng = self.rng("person", number)
        status = more.get("marital_status") or rng.choice(["single", "single", "divorced", "separated", "widowed", "stable_union"])
        body = people.person(rng, self.numbered(number), self.office.area, self.office.state, roles, status)
        return self.party(number, {**body, **more}, "married" if status == "married" and number % 4 == 1 else "person")

    def couple(self, number, roles):
        """Two persons, each the other's spouse, with the same address. Returns their ids."""
        rng = self.rng("couple", number)
        wedded = {"marital_status": "married", "property_regime": rng.choice(people.REGIMES),
                  "address": homes.address(rng, rng.choice(self.places))}
        one = self.person(number, roles, **wedded)
        two = self.person(number + 1, roles, **wedded, spouse_party_id=one["id"])
        if "spouse_party_id" not in one:
            self.api.change("parties", one, spouse_party_id=two["id"])
        return [one["id"], two["id"]]

    def company(self, number, roles, representative):
        body = people.company(self.rng("company", number), self.numbered(number), self.office.area, roles, representative)
        return self.party(number, body, "company")["id"]

    def numbered(self, number):
        return 10 * self.office.first + number

    # ------------------------------------------------------------ properties

    def play(self, number):
        """Creates a property and plays its scenario."""
        rng, scenario = self.rng("story", number), self.scenarios[number]
        owners, takers = (rng.choice(some) for some in (self.owners, self.takers))
        home = self.home(rng, number, scenario, owners)
        accepted = self.proposals(rng, scenario, home, owners, takers)
        for word in scenario.contracts.split():
            self.contract(rng, number, home, tuple(word.split(":")), owners, takers, accepted)
        if scenario.after and self.api.want("GET", f"properties/{home['id']}")["status"] != scenario.after:
            self.api.change("properties", home, status=scenario.after)
        self.paper(number, "property", "property", home)
        self.make("leads", people.lead(self.rng("lead", number), self.office.first + number, self.office.area, home, takers[0]))

    def home(self, rng, number, scenario, owners):
        place = self.places[number % len(self.places)]
        kinds = place["types"].split("|")
        kind = kinds[number // len(self.places) % len(kinds)]
        body = homes.home(rng, self.office.first + number, place, kind, "sale_rent" if number % 8 == 0 else scenario.deal)
        body.update(status=scenario.status, broker_id=self.brokers[number % len(self.brokers)],
                    owners=[{"party_id": one, "share_bps": 10000 // len(owners)} for one in owners])
        if "exclusive_listing:active" in scenario.contracts.split():
            body.update(exclusive=True, exclusive_until=deals.day(deals.listing_days(number)))
        return self.make("properties", body)

    def proposals(self, rng, scenario, home, owners, takers):
        """Creates the scenario's proposals. Returns the accepted one, or None."""
        accepted = None
        for number, status in enumerate(scenario.proposals.split(), 1):
            proponents = takers if status == "accepted" else rng.choice(self.takers)
            body = deals.proposal(rng, scenario, home, number, status, proponents, owners)
            reason = {"decision_reason": deals.DECISIONS[status]} if status in deals.DECISIONS else None
            made = self.make("proposals", body, deals.PROPOSAL_PATHS[status], reason)
            if status == "accepted":
                accepted = made
                self.paper(int(home["code"][2:]), "proposal", "proposal", made)
        return accepted

    def contract(self, rng, number, home, deal, owners, takers, accepted):
        kind, status = deal
        listed = home["sale_price" if kind == "sale" or "rent_price" not in home else "rent_price"]
        amount = accepted["amount"] if accepted and kind in ("sale", "rental") else listed
        sides = {"owners": owners, "takers": takers, "guarantor": rng.choice(self.guarantors)}
        body = deals.contract(rng, self.office.first + number, home, deal, amount, sides,
                              [home["broker_id"], rng.choice(self.brokers)])
        if accepted and kind in ("sale", "rental"):
            body["proposal_id"] = accepted["id"]
        reason = {"termination_reason": "Distrato por acordo entre as partes."} if status in ("terminated", "cancelled") else None
        made = self.make("contracts", body, deals.CONTRACT_PATHS[status], reason)
        if "signed_at" in made:
            turn = {("sale", "completed"): 2, ("rental", "active"): 1}.get(deal, 0)
            self.paper(number, "contract", "contract", made, turn)

    # ------------------------------------------------------------ documents

    def paper(self, number, papers, related_type, related, turn=None):
        """Creates one document about a resource (see deals.document)."""
        key = related.get("external_id") or f"cor-{number}"
        own = {"external_id": related["external_id"]} if "external_id" in related else related["id"]  # by external id, as a client without our ids does
        about = {"type": related_type, "id": own}
        self.make("documents", deals.document(self.rng(papers, number), number if turn is None else turn, papers, about, key))

    def broker_paper(self, number):
        self.paper(number, "broker", "broker", {"id": self.brokers[number]})


def main():
    totals = Counter()
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            for office in OFFICES:
                api = Api(os.environ["NEOAPI_URL"], os.environ["NEOAPI_CA"], os.environ[office.credential],
                          os.environ[office.organization])
                totals += Loader(office, api, pool).load()
    except (OSError, http.client.HTTPException, Refused) as error:
        sys.exit(f"demo: {error}")
    print(", ".join(f"{totals[collection]} {collection}" for collection in COLLECTIONS))


if __name__ == "__main__":
    main()
