# SPDX-License-Identifier: Apache-2.0
"""An organization with resources of every kind, created from the examples of the OpenAPI document."""

import copy
import itertools
import json
import secrets
import subprocess

from client import ok
from factories import LAST_DAY
from openapi_doc import ID, has_format
from wait import TIMEOUT_S

UNREACHABLE_URL = "https://127.0.0.1:9/nowhere"
EACH = 4  # minimum number of resources of a collection
numbers = itertools.count(1)


def ids_in(value):
    """All ids in a JSON value."""
    if isinstance(value, dict):
        return [one for member in value.values() for one in ids_in(member)]
    if isinstance(value, list):
        return [one for member in value for one in ids_in(member)]
    return [value] if isinstance(value, str) and ID.fullmatch(value) else []


def put_in(value, other):
    """The value with ids replaced by those in `other`."""
    if isinstance(value, dict):
        return {key: put_in(one, other) for key, one in value.items()}
    if isinstance(value, list):
        return [put_in(one, other) for one in value]
    return other.get(value, value) if isinstance(value, str) else value


class SampleOrg:
    """`ids` are ids of resources by prefix, `full` and `small` bodies by collection: that of the example, and one with required
    fields only. `another` can create any number of resources from them."""

    def __init__(self, document, api):
        self.document, self.api = document, api
        self.ids, self.full, self.small, self.parts = self.made_by_administrators(), {}, {}, {}
        waiting = dict(document.collections)
        while waiting:
            made = [collection for collection in waiting if self.begin(collection)]
            assert made, f"an example refers to a resource that no example creates: {waiting}"
            for collection in made:
                del waiting[collection]
        self.ids["evt_"] = [ok(api.get("events"))["items"][0]["id"]]

    def made_by_administrators(self):
        """Resources that clients cannot create: a WhatsApp number with a template, leads, and a conversation with each."""
        env, organization = self.api.instance.env, self.api.credential.organizations[0]

        def ctl(*args, given=""):
            done = subprocess.run([env["NEOAPI_CTL"], "--json", *args, "--organization", organization], input=given, text=True,
                                  capture_output=True, timeout=TIMEOUT_S)
            assert done.returncode == 0, (args, done.stderr)
            return json.loads(done.stdout)

        id = str(secrets.randbelow(9 * 10**14) + 10**14)
        number = ctl("whatsapp", "number", "create", "+55 11 4000-1234", "--phone-number-id", id, "--waba-id", id, "--secrets",
                     "-",
                     "--key-file", env["NEOAPI_KEY_FILE"], given="access_token=EAAx\napp_secret=0123456789abcdef\n")
        self.templates(id)
        people = "".join(f"Lead {n},+55119876543{n:02}\n" for n in range(EACH))
        ctl("lead", "import", "-", given="name,phone\n" + people)
        leads = [one["id"] for one in ctl("lead", "list")]
        # The first conversation, which requests change, is not that of the first lead, whom messages are sent to: a change may be an
        # opt-out.
        conversations = [self.conversation(one) for one in reversed(leads)]
        return {"wan_": [number["id"]], "led_": leads, "wac_": conversations, "wam_": ["wam_" + conversations[-1][4:]]}

    def templates(self, account):
        """A message template of the account. Meta, which has no such account, is not asked."""
        organization, ulid = self.api.credential.organizations[0], "01" + secrets.token_hex(12)
        self.api.instance.sql("insert into neoapi.whatsapp_template values (%s, %s, %s, 'visita', 'pt_BR', 'approved', 'utility',"
                              " '{\"body\":\"Oi!\"}', now(), now())", organization, "wat_" + ulid, account)
        self.api.instance.sql("insert into neoapi.whatsapp_report select %s, %s, k, now() + interval '1 day' from unnest(array['templates',"
                              " 'numbers']) k", organization, account)

    def conversation(self, lead):
        """A conversation with a pending message that Meta knows, and an open window."""
        ulid = "01" + "".join(secrets.choice("0123456789abcdefghjkmnpqrstvwxyz") for _ in range(24))
        credential = self.api.credential
        self.api.instance.sql("select neoapi.whatsapp_start(%s, %s, null, null, %s, 'api_key', %s, null, null,"
                              " '{\"template_name\": \"visita\", \"template_language\": \"pt_BR\"}', %s, %s)", credential.organizations[0], credential.id, credential.id, lead, "wac_" + ulid,
                              "wam_" + ulid)
        self.api.instance.sql("update neoapi.whatsapp_message set provider_message_id = id where id = %s", "wam_" + ulid)
        self.api.instance.sql("update neoapi.whatsapp_conversation set last_inbound_at = now() where id = %s", "wac_" + ulid)
        return "wac_" + ulid

    def begin(self, collection):
        """Creates the first resources of a collection. False if its example refers to a kind without resources."""
        create, prefix = self.document.operation("post", "/" + collection), self.document.collections[collection]
        example = self.document.writable(create.examples[0], create.body)
        if not {name[:4] for name in ids_in(example)} <= {*self.ids, prefix}:
            return False
        ids = self.ids.setdefault(prefix, [])
        while prefix in [name[:4] for name in ids_in(example)] and len(ids) < EACH:  # it refers to its own kind
            others = {name: one for name, one in example.items() if prefix not in [name[:4] for name in ids_in(one)]}
            ids.append(ok(self.create(collection, self.repeatable(collection, self.with_own_ids(others))), 201)["id"])
        self.full[collection] = self.repeatable(collection, self.with_own_ids(example))
        self.small[collection] = self.smallest(collection, self.full[collection])
        while len(ids) < EACH:
            ids.append(self.another(collection)["id"])
        if collection == "proposals":
            self.accept(ids[0])
        return True

    def accept(self, id):
        """Accepts a proposal, because the example of a contract refers to an accepted one."""
        path = "proposals/" + id
        proposal = ok(self.api.patch(path, json={"valid_until": LAST_DAY}))
        ok(self.api.patch("properties/" + proposal["property_id"], json={"status": "active"}))
        for status in ("submitted", "accepted"):
            ok(self.api.patch(path, json={"status": status}))

    def with_own_ids(self, body):
        """The body with its ids mapped to ids of this organization."""
        other, used = {}, {}
        for one in ids_in(body):
            if one not in other:
                number = used[one[:4]] = used.get(one[:4], -1) + 1
                other[one] = self.ids[one[:4]][number]
        return put_in(body, other)

    def repeatable(self, collection, body):
        """Creates two resources, and returns the body without the fields that must be unique."""
        for _ in range(2):
            response = self.create(collection, body)
            while response.status_code == 409:  # its detail names what must be unique
                less = {name: one for name, one in body.items() if name not in response.json()["detail"]}
                assert less != body, response.text
                body, response = less, self.create(collection, less)
            ok(response, 201)
        return body

    def smallest(self, collection, body):
        """The body without its optional fields."""
        small = dict(body)
        for name in body:
            less = {key: value for key, value in small.items() if key != name}
            if self.create(collection, less).status_code == 201:
                small = less
        return small

    def varied(self, collection, body, keep=None):
        """The body with a new number in each free text except those in `keep`, because some must be unique."""
        now, schema = copy.deepcopy(body), self.document.operation("post", "/" + collection).body
        for name, value in body.items():
            if name == keep:
                continue
            described = self.document.resolve(schema["properties"][name])
            if described.get("format") == "uri":
                now[name] = UNREACHABLE_URL
            is_text = described.get("type") == "string" and "enum" not in described and not has_format(described)
            if is_text and described.get("maxLength", 0) >= 12:
                number = f" {next(numbers)}"
                now[name] = value[:described["maxLength"] - len(number)] + number
        return now

    def bodies(self, operation):
        """A full and a minimal body of an operation on a whole resource, without the members that its path has."""
        return [{name: one for name, one in some[operation.collection].items() if name not in operation.path_ids}
                for some in (self.full, self.small)]

    def create(self, collection, body):
        return self.api.post(collection, json=self.varied(collection, body))

    def another(self, collection, bodies=None):
        """Creates a resource."""
        return ok(self.create(collection, (bodies or self.small)[collection]), 201)

    def several(self, operation):
        """Bodies of an operation whose body is not a whole resource."""
        bodies = [self.with_own_ids(one) for one in operation.examples]
        for body in bodies:
            for one in [one for some in body.values() if isinstance(some, list) for one in some if isinstance(one, dict)]:
                if "data" in one:
                    one["data"] = self.varied(operation.collection, one["data"])
        return bodies

    def renewed(self, operation, body):
        """The body of an operation on several resources, with new resources for those that it changes or deletes."""
        prefix = self.document.collections.get(operation.collection)
        own = {one for one in ids_in(body) if one[:4] == prefix and one in self.ids[prefix]}
        return put_in(body, {one: self.another(operation.collection)["id"] for one in own}) if own else body

    def fill(self, operation):
        """Existing ids for the path of an operation."""
        found = []
        for path_id in operation.path_ids:
            prefix = operation.prefix_of(path_id)
            if prefix:
                position = -1 if prefix == "wac_" and operation.method == "post" else 0  # not one whose contact has opted out
                found.append(self.subresource(operation, path_id, prefix, found) if found else self.ids[prefix][position])
            else:
                found.append(self.parts.get(operation.collection) or self.external_id(operation.collection))
        return found

    def external_id(self, collection):
        """The external id of a new resource."""
        self.parts[collection] = f"own-{next(numbers)}"
        ok(self.api.patch(f"{collection}/{self.another(collection)['id']}", json={"external_id": self.parts[collection]}))
        return self.parts[collection]

    def subresource(self, operation, path_id, prefix, ids):
        """The id of a subresource, from its list, after calling each operation that creates subresources without a body."""
        key = prefix, *ids
        if key not in self.parts:
            lists = operation.path.partition("/{" + path_id + "}")[0]
            for one in self.document.operations:
                if one.method == "post" and len(one.path_ids) == len(ids) and not one.bodies and 201 in one.successes \
                        and one.collection == operation.collection:
                    ok(self.api.post(one.at(ids)), 201)
            items = ok(self.api.get(self.document.operation("get", lists).at(ids)))["items"]
            assert items, f"nothing in {lists}"
            self.parts[key] = items[0]["id"]
        return self.parts[key]
