# SPDX-License-Identifier: Apache-2.0
"""Requests made from the OpenAPI document, operation by operation."""

import json
import uuid

from openapi_doc import ID, UNKNOWN_ULID
from generate import path_pattern
from sample_org import put_in

JSON = {"Content-Type": "application/json"}


class Target:
    """Ids for the path of an operation: new resources if it deletes them or can change them only once, else existing ones."""

    def __init__(self, operation, sample_org):
        self.operation, self.sample_org, self.ids = operation, sample_org, None
        self.is_whole = operation.collection in sample_org.full and operation.is_of_one

    def path(self):
        if self.is_whole and self.operation.path_ids and (self.ids is None or self.operation.method == "delete"):
            collection = self.operation.collection
            self.ids = [self.sample_org.another(collection)["id"] if self.operation.path_ids == ["id"]
                        else self.sample_org.external_id(collection)]
        return self.operation.at(self.ids or self.sample_org.fill(self.operation))

    def bases(self):
        """Valid bodies: a full and a minimal one, or those of operations without a whole resource."""
        collection = self.operation.collection
        if not self.is_whole:
            return self.sample_org.several(self.operation)
        if self.operation.method == "patch":
            return [{}, *({name: value} for name, value in self.sample_org.full[collection].items())]
        return self.sample_org.bodies(self.operation)

    def places(self, generator):
        """Every position of a member in these bodies, with the bodies that can have it: {"owners[].party_id": [(body, place)]}.
        Members that must equal the path are left out."""
        found = {}
        for base in self.bases():
            for place in generator.places(self.operation.body, base):
                if path_pattern(place.path) not in self.operation.path_ids:
                    found.setdefault(path_pattern(place.path), []).append((base, place))
        return found

    def ask(self, body=None, **more):
        """Sends a request and checks the response. A body is JSON or bytes."""
        if body is not None:
            if not self.is_whole and not isinstance(body, bytes):
                body = self.sample_org.renewed(self.operation, body)
            more["data"] = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
            more["headers"] = {**JSON, **more.get("headers", {})}
        response = self.sample_org.api.request(self.operation.method.upper(), more.pop("path", None) or self.path(), **more)
        self.operation.check(response)
        if response.status_code == 409:
            self.ids = None
        return response


def failures(response):
    """The problem of a response, or those of the operations of a batch with their indexes."""
    answer = response.json() if response.content else {}
    if response.status_code >= 400:
        return [answer]
    return [{**one["error"], "index": one["index"]} for one in answer.get("results", []) if "error" in one]


class ResponseCoverage:
    """Provokes every response of an operation that a client can cause. `viewer` has read scopes only."""

    def __init__(self, operation, sample_org, viewer, anonymous):
        self.operation, self.sample_org, self.viewer, self.anonymous = operation, sample_org, viewer, anonymous
        self.target, self.seen = Target(operation, sample_org), set()

    def ask(self, status, api=None, path=None, body=..., **more):
        """Sends a valid request with the given changes, and expects the status."""
        target = self.target
        if body is ... and self.operation.bodies:
            body = target.bases()[-1]
            if target.is_whole and self.operation.method != "patch":
                body = self.sample_org.varied(self.operation.collection, body)
            elif not target.is_whole:
                body = self.sample_org.renewed(self.operation, body)
        if body is not ... and body is not None:
            more["data"] = body if isinstance(body, bytes) else json.dumps(body).encode()
            more["headers"] = {**JSON, **more.get("headers", {})}
        answer = (api or self.sample_org.api).request(self.operation.method.upper(), path or target.path(), **more)
        self.operation.check(answer)
        wanted = self.operation.successes if status == self.success else [status]  # any success, because the resource may exist
        assert answer.status_code in wanted, f"{self.operation}: {answer.status_code}, not {status}: {answer.text}"
        self.seen.add(answer.status_code)
        return answer

    @property
    def succeeded(self):
        return bool(self.seen & set(self.operation.successes))

    def everything(self):
        has = set(self.operation.parameters)
        self.success = self.operation.successes[0]
        self.ask(self.success)
        self.credentials()
        if self.operation.method != "options":
            self.ask(400, path=self.target.path() + "?colour=blue")
        if self.operation.path_ids and "404" in self.operation.spec["responses"]:
            self.wrong_ids()
        if self.operation.bodies:
            self.wrong_bodies()
        if self.operation.bodies and not self.operation.path_ids and not self.target.is_whole:
            self.unknown_ids()
        if "atomic" in (self.operation.body or {}).get("properties", {}):
            self.unknown_id_among_several()
            self.conditional_operation()
        if ("header", "If-None-Match") in has:
            etag = self.ask(self.success).headers["ETag"]
            self.ask(304, headers={"If-None-Match": etag, "Accept-Encoding": "identity"})
        if ("header", "If-Match") in has:
            self.ask(412, headers={"If-Match": '"x"'})
            self.ask(self.success, headers={"If-Match": "*"})
        if ("header", "Idempotency-Key") in has:
            self.keys()

    def credentials(self):
        has_organization = ("header", "X-Organization-ID") in self.operation.parameters
        if has_organization:
            self.ask(self.success, headers={"X-Organization-ID": self.sample_org.api.credential.organizations[0]})
        if self.operation.is_public:
            self.ask(self.success, api=self.anonymous)
            return
        self.ask(401, api=self.anonymous)
        self.ask(401, api=self.anonymous.with_(credential="nonsense"))
        if has_organization:
            self.ask(403, headers={"X-Organization-ID": "org_" + UNKNOWN_ULID})
        if self.operation.method in ("post", "put", "patch", "delete"):
            self.ask(403, api=self.viewer)

    def wrong_ids(self):
        ids = self.sample_org.fill(self.operation)
        for number, path_id in enumerate(self.operation.path_ids):
            prefix = self.operation.prefix_of(path_id) or "-"
            for other in (prefix + UNKNOWN_ULID, "x", prefix, prefix + "u" * 26, "%C3%A9", "%F0%9F%8F%A0", "x" * 500, "null",
                          "*"):
                self.ask(404, path=self.operation.at([*ids[:number], other, *ids[number + 1:]]))

    def wrong_bodies(self):
        if self.operation.body.get("required"):
            self.ask(400, body={})
        for body in (b"", b"{", b"[]", b"null", b"\xff", b'{"a":1,"a":1}'):
            self.ask(400, body=body)
        self.ask(415, headers={"Content-Type": "text/plain"})
        self.ask(413, body=b" " * (1 << 20) + b"{}")

    def unknown_ids(self):
        """References to unknown resources of kinds that only administrators create."""
        body = self.target.bases()[-1]
        for name, one in body.items():
            if isinstance(one, str) and ID.fullmatch(one):
                answer = self.target.ask({**body, name: one[:4] + UNKNOWN_ULID})
                assert answer.json()["code"].rpartition("not_found")[1], answer.text
                self.seen.add(answer.status_code)

    def unknown_id_among_several(self):
        ids = {one: one[:4] + UNKNOWN_ULID
               for one in self.sample_org.ids[self.sample_org.document.collections[self.operation.collection]]}
        for name, some in self.target.bases()[-1].items():
            if isinstance(some, list):
                self.ask(404, body={name: [put_in(one, ids) for one in some if set(one) == {"method", "id"}], "atomic": True})

    def conditional_operation(self):
        one = self.sample_org.another(self.operation.collection)
        operation = {"method": "update", "id": one["id"], "if_match": '"x"', "data": {}}
        self.ask(412, body={"operations": [operation], "atomic": True})

    def keys(self):
        key = {"Idempotency-Key": str(uuid.uuid4())}
        path = self.target.path()
        body = self.target.bases()[-1] if self.operation.bodies else None
        if body:
            body = self.sample_org.varied(self.operation.collection, body) if self.target.is_whole \
                else self.sample_org.renewed(self.operation, body)
        first = self.ask(self.success, path=path, headers=key, body=body)
        again = self.ask(self.success, path=path, headers=key, body=body)
        assert again.content == first.content and again.headers["Idempotent-Replayed"] == "true"
        other = self.target.bases()[0] if body else None
        if body and set(other) != set(body):
            self.ask(409, path=path, headers=key, body=other)
        for wrong in ("x", "6f1c0a52-9d0e-1b57-8a3e-2f7d1c9b4e60"):
            self.ask(400, headers={"Idempotency-Key": wrong})
