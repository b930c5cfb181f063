"""The API's own description, as tests use it: its operations, and whether an answer fits what it says."""

import re
from functools import cached_property

import jsonschema
from client import MOMENT, ULID, Api

METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
ID = re.compile("([a-z]{3}_)" + ULID)
UNKNOWN_ULID = "0" * 26  # of an id that nothing has
PROBLEM = "application/problem+json"

answered, sent = jsonschema.FormatChecker(formats=()), jsonschema.FormatChecker(formats=())
DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
FORMS = {"date": DAY, "uuid": r"[0-9a-fA-F-]{36}", "email": r"[^@\s]+@[^@\s]+\.[^@\s]+",
         "uri": r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+"}


def know(checker, name, pattern):
    checker.checks(name)(lambda value: not isinstance(value, str) or re.fullmatch(pattern, value, re.ASCII) is not None)


for one, form in FORMS.items():
    know(answered, one, form)
    know(sent, one, form)
# What is sent may be any moment of RFC 3339; what is answered has one form.
know(answered, "date-time", MOMENT)
know(sent, "date-time", DAY + r"[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def closed(value, parts):
    """The same schemas, but an object has no member that is not described, so that an answer with one is found. `parts` are the
    references that others are composed of."""
    if isinstance(value, list):
        return [closed(one, parts) for one in value]
    if not isinstance(value, dict):
        return value
    now = {key: one if key in ("example", "examples") else closed(one, parts) for key, one in value.items()}
    if isinstance(value.get("allOf"), list):
        now["unevaluatedProperties"] = False
        for one in now["allOf"]:
            one.pop("additionalProperties", None)
    elif isinstance(value.get("properties"), dict) and not {"anyOf", "oneOf"} & set(value):
        now.setdefault("additionalProperties", False)
    for name in parts & set(now):
        now[name].pop("additionalProperties", None)
    return now


def parts_of(value):
    """The names of the schemas that stand in an allOf."""
    if isinstance(value, list):
        return {name for one in value for name in parts_of(one)}
    if not isinstance(value, dict):
        return set()
    own = {one["$ref"].rpartition("/")[2] for one in value.get("allOf", []) if "$ref" in one}
    return own.union(*map(parts_of, value.values()))


class Operation:
    """A path with a method, and what the description says of it."""

    def __init__(self, document, path, method, spec, shared):
        self.document, self.path, self.method, self.spec = document, path, method, spec
        parameters = [document.resolve(one) for one in [*shared, *spec.get("parameters", [])]]
        self.parameters = {(one["in"], one["name"]): one for one in parameters}
        content = document.resolve(spec.get("requestBody", {})).get("content", {})
        self.bodies = {media_type: one["schema"] for media_type, one in content.items()}
        self.examples = [document.resolve(one)["value"] for media in content.values()
                         for one in media.get("examples", {}).values()]
        self.is_public = spec.get("security", document.whole.get("security")) == []

    def __repr__(self):
        return f"{self.method.upper()} {self.path}"

    @property
    def collection(self):
        return self.path.split("/")[1]

    @cached_property
    def body(self):
        """The schema of its body, None where it takes none."""
        return self.document.resolve(next(iter(self.bodies.values()))) if self.bodies else None

    @property
    def path_ids(self):
        """The names of the ids in the path, in order."""
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def successes(self):
        return [int(status) for status in self.spec["responses"] if status[0] == "2"]

    def at(self, ids):
        """The path below the base with its ids filled in, in order."""
        rest = iter(ids)
        return re.sub(r"\{\w+\}", lambda _: next(rest), self.path)[1:]

    def prefix_of(self, path_id):
        """The prefix of the ids that belong into the path there."""
        return next(iter(self.document.prefixes_of(self.parameters["path", path_id]["schema"])))

    def response(self, status):
        responses = self.spec["responses"]
        assert str(status) in responses or f"{status // 100}XX" in responses, f"{self}: {status} is not described"
        return self.document.resolve(responses.get(str(status)) or responses[f"{status // 100}XX"])

    def codes(self, status):
        """The pattern of the codes that its answers of this status have, as the list in their description tells."""
        found = re.findall(r"^- `([^`]+)`", self.response(status)["description"], re.MULTILINE)
        return "|".join(re.escape(code).replace("<field>", r"[a-z0-9_]+") for code in found) or r"[a-z0-9_.]+"

    def check(self, response):
        """Asserts that an answer is as it is described: status, media type, body, codes and headers."""
        status = response.status_code
        said = f"{self}: {status} {response.content[:1500]!r}"
        described = self.response(status)
        self.check_headers(described, response, said)
        media_type = response.headers.get("Content-Type", "").partition(";")[0]
        contents = described.get("content", {})
        if self.method == "head" or not contents:
            assert not response.content, said
            return
        assert media_type in contents, f"{media_type!r} is not described: {said}"
        if "json" in media_type:
            wrong = self.document.wrong(response.json(), contents[media_type]["schema"])
            assert not wrong, f"{wrong} in {said}"
        if media_type == PROBLEM:
            self.check_codes(status, response.json(), said)

    def check_codes(self, status, problem, said):
        pattern = self.codes(status)
        for code in [problem["code"], *[item["code"] for item in problem.get("errors", [])]]:
            assert re.fullmatch(pattern, code), f"the code {code} is not described: {said}"

    def check_headers(self, described, response, said):
        for name, header in described.get("headers", {}).items():
            header = self.document.resolve(header)
            value = response.headers.get(name)
            assert value is not None or not header.get("required"), f"no {name}: {said}"
            if value is not None:
                is_number = header["schema"].get("type") == "integer" and re.fullmatch(r"\d+", value)
                wrong = self.document.wrong(int(value) if is_number else value, header["schema"])
                assert not wrong, f"{name}: {wrong}: {said}"


class Document:
    """What GET /openapi.yaml answers."""

    def __init__(self, instance):
        self.whole = Api(instance, source="127.0.0.9").description()
        self.validators, self.closed_schemas, self.parts = {}, {}, parts_of(self.schemas)

    def resolve(self, value):
        """What a $ref leads to, with what stands beside it; or the value itself."""
        while "$ref" in value:
            beside = {key: one for key, one in value.items() if key != "$ref"}
            at = self.whole
            for word in value["$ref"].removeprefix("#/").split("/"):
                at = at[word.replace("~1", "/").replace("~0", "~")]
            value = {**at, **beside} if beside else at
        return value

    @cached_property
    def operations(self):
        return [Operation(self, path, method, item[method], item.get("parameters", []))
                for path, item in self.whole["paths"].items() for method in METHODS if method in item]

    def operation(self, method, path):
        return next((one for one in self.operations if (one.method, one.path) == (method, path)), None)

    @cached_property
    def collections(self):
        """The collections that resources can be created in, each with the prefix of its ids."""
        found = {}
        for one in self.operations:
            item = self.operation("get", one.path + "/{id}")
            if one.method == "post" and one.bodies and item:
                found[one.collection] = re.match(r"\^([a-z]{3}_)", item.parameters["path", "id"]["schema"]["pattern"]).group(1)
        return found

    @cached_property
    def prefixes(self):
        """Of every kind that has its ids in a path or in a body: the name of the kind."""
        found = {}
        for one in self.operations:
            if one.method != "options" and one.path_ids and "404" in one.spec["responses"]:
                pattern = one.parameters["path", one.path_ids[-1]]["schema"]["pattern"]
                found[pattern[1:5]] = re.search(r"not_found\\\.(\w+)", one.codes(404)).group(1)
        for schema in [schema for one in self.operations for schema in (one.body or {}).get("properties", {}).values()]:
            kind = re.match(r"\^([a-z]{3}_)\[0-7\]", self.resolve(schema).get("pattern", ""))
            if kind:
                found.setdefault(kind.group(1), kind.group(1))  # in no path: administrators alone make it
        return found

    def prefixes_of(self, schema):
        """The kinds of ids that a schema takes; none where it is no id's."""
        pattern = self.resolve(schema).get("pattern")
        if not pattern or re.search(pattern, UNKNOWN_ULID):
            return []
        return [prefix for prefix in self.prefixes if re.search(pattern, prefix + UNKNOWN_ULID)]

    @property
    def schemas(self):
        return self.whole["components"]["schemas"]

    @staticmethod
    def beside(schema, schemas):
        return {**schema, "components": {"schemas": schemas}}

    def closed(self, schema):
        """The schema with those of the document, all closed; these are closed once for all that are composed of the same."""
        parts = frozenset(parts_of(schema) | self.parts)
        if parts not in self.closed_schemas:
            self.closed_schemas[parts] = closed(self.schemas, parts)
        return self.beside(closed(schema, parts), self.closed_schemas[parts])

    def validator(self, schema, is_closed):
        key = id(schema), is_closed
        if key not in self.validators:
            made = jsonschema.Draft202012Validator(self.closed(schema) if is_closed else self.beside(schema, self.schemas),
                                                   format_checker=answered if is_closed else sent)
            self.validators[key] = made, schema  # which is kept, so that no other gets its id
        return self.validators[key][0]

    def wrong(self, value, schema):
        """What is wrong with an answer's value, None where nothing is."""
        found = next(self.validator(schema, True).iter_errors(value), None)
        return found and f"{'.'.join(map(str, found.absolute_path)) or 'the value'}: {found.message[:500]}"

    def takes(self, value, schema):
        """Whether a value that is sent is valid."""
        return self.validator(schema, False).is_valid(value)

    def writable(self, value, schema):
        """The value without what the service sets."""
        properties = self.resolve(schema).get("properties")
        if not properties or not isinstance(value, dict):
            return value
        return {name: self.writable(one, properties.get(name, {})) for name, one in value.items()
                if not properties.get(name, {}).get("readOnly")}
