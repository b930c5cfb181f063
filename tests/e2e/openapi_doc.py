# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document: its operations, and validation of responses against it."""

import copy
import json
import re
from functools import cached_property

import jsonschema
from client import MOMENT, ULID, Api

METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
TEXT = r"^[^\x00-\x1f\x7f-\x9f]*$"  # text without control characters
LINES = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"  # the same with line breaks and tabs
ID = re.compile("([a-z]{3}_)" + ULID)
UNKNOWN_ULID = "0" * 26  # the last part of an unused id
NDJSON = "application/x-ndjson"
PROBLEM = "application/problem+json"

answered, sent = jsonschema.FormatChecker(formats=()), jsonschema.FormatChecker(formats=())
DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
FORMATS = {"date": DATE, "uuid": r"[0-9a-fA-F-]{36}", "email": r"[^@\s]+@[^@\s]+\.[^@\s]+",
         "uri": r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+"}


def add_format(checker, name, pattern):
    checker.checks(name)(lambda value: not isinstance(value, str) or re.fullmatch(pattern, value, re.ASCII) is not None)


for one, form in FORMATS.items():
    add_format(answered, one, form)
    add_format(sent, one, form)
# Requests may have any timestamp of RFC 3339; responses have one format.
add_format(answered, "date-time", MOMENT)
add_format(sent, "date-time", DATE + r"[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def has_pattern(schema):
    """Whether a pattern excludes more than control characters."""
    return schema.get("pattern", TEXT) not in (TEXT, LINES)


def is_set_by_the_service(schema):
    """Whether requests can have the member with any value, because it is ignored."""
    return not set(schema) - {"readOnly", "description"}


def has_format(schema):
    """Whether the schema of a string has a format or a specific pattern."""
    return "format" in schema or has_pattern(schema)


def closed(value):
    """Schemas whose objects forbid undescribed members, so that these are detected in responses."""
    if isinstance(value, list):
        return [closed(one) for one in value]
    if not isinstance(value, dict):
        return value
    now = {key: one if key in ("example", "examples") else closed(one) for key, one in value.items()}
    if isinstance(value.get("properties"), dict) and not {"anyOf", "oneOf"} & set(value):
        now.setdefault("additionalProperties", False)
    return now


class Operation:
    """An operation of the document."""

    def __init__(self, document, path, method, spec, shared, kind):
        self.document, self.path, self.method, self.spec, self.kind = document, path, method, spec, kind
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
        """The schema of its body, or None."""
        return self.document.resolve(next(iter(self.bodies.values()))) if self.bodies else None

    @property
    def path_ids(self):
        """The names of the ids in the path, in order."""
        return re.findall(r"\{(\w+)\}", self.path)

    @property
    def is_of_one(self):
        """Whether its body is a resource or a patch of one."""
        return self.path.removeprefix("/" + self.collection) in ("", "/{id}", "/by-external-id/{external_id}")

    @property
    def successes(self):
        return [int(status) for status in self.spec["responses"] if status[0] == "2"]

    def at(self, ids):
        """The path below the base URL with the given ids."""
        rest = iter(ids)
        return re.sub(r"\{\w+\}", lambda _: next(rest), self.path)[1:]

    def prefix_of(self, path_id):
        """The prefix of the ids of a path parameter; None for external ids."""
        return next(iter(self.document.prefixes_of(self.parameters["path", path_id]["schema"])), None)

    def response(self, status):
        responses = self.spec["responses"]
        assert str(status) in responses or f"{status // 100}XX" in responses, f"{self}: {status} is not described"
        return self.document.resolve(responses.get(str(status)) or responses[f"{status // 100}XX"])

    def codes(self, status):
        """The pattern of the codes that the description of a response lists."""
        found = re.findall(r"`([a-z][^`]+)`", self.response(status)["description"])
        return "|".join(re.escape(code).replace("<resource>", self.kind or "<none>").replace("<field>", r"[a-z0-9_]+")
                        for code in found) or r"[a-z0-9_.]+"

    def check(self, response):
        """Asserts that status, media type, body, codes and headers of a response are described."""
        status = response.status_code
        said = f"{self}: {status} {response.content[:1500]!r}"
        described = self.response(status)
        self.check_headers(described, response, said)
        media_type = response.headers.get("Content-Type", "").partition(";")[0]
        contents = described.get("content", {})
        if self.method == "head" or not contents:
            assert not response.content, said
            return
        if "*/*" in contents:  # any bytes
            return
        assert media_type in contents, f"{media_type!r} is not described: {said}"
        schema = contents[media_type]["schema"]
        if media_type == NDJSON:
            name = schema["$ref"].removeprefix("#/components/schemas/")
            assert name in ("Export", "PortalProblems"), said
            schema = {"$ref": "#/components/schemas/" + self.kind.title()} if name == "Export" else {"type": "object"}
        if "json" in media_type:
            for value in map(json.loads, response.content.splitlines() if media_type == NDJSON else [response.content]):
                wrong = self.document.wrong(value, schema, is_partial="fields=" in response.request.url)
                assert not wrong, f"{wrong} in {said}"
        if media_type == PROBLEM:
            self.check_codes(status, response.json(), said)

    def check_codes(self, status, problem, said):
        pattern = self.codes(status)
        for code in [problem["code"], *[item["code"] for item in problem.get("errors", [])]]:
            assert re.fullmatch(pattern, code), f"the code {code} is not described: {said}"

    def check_headers(self, described, response, said):
        undescribed = self.document.headers & set(response.headers) - set(described.get("headers", {}))
        assert not undescribed, f"{undescribed} are not described: {said}"
        for name, header in {**self.document.rate_limit_headers, **described.get("headers", {})}.items():
            header = self.document.resolve(header)
            value = response.headers.get(name)
            assert value is not None or not header.get("required"), f"no {name}: {said}"
            if value is not None:
                is_number = header["schema"].get("type") == "integer" and re.fullmatch(r"\d+", value)
                wrong = self.document.wrong(int(value) if is_number else value, header["schema"])
                assert not wrong, f"{name}: {wrong}: {said}"


class Document:
    """The response to GET /openapi.yaml."""

    def __init__(self, instance):
        self.whole = Api(instance, source="127.0.0.9").description()
        self.validators = {}
        self.flat = {name: self.merged(one) for name, one in self.schemas.items()}
        self.closed_schemas = closed(self.flat)
        # Described for 429 only; the introduction describes them for all responses.
        self.rate_limit_headers = {name: one for name, one in self.whole["components"]["responses"]["Error429"]["headers"].items()
                                   if "RateLimit" in name}
        assert len(self.rate_limit_headers) == 5
        # All described headers except those of every response.
        self.headers = {name for item in self.whole["paths"].values() for spec in item.values() if isinstance(spec, dict)
                        for one in spec["responses"].values() for name in self.follow(one).get("headers", {})} \
            - set(self.rate_limit_headers)
        for name, one in self.flat.items():
            self.add_examples(one, self.flat.get(re.sub("(Input|Patch)$", "", name), {}))

    @staticmethod
    def add_examples(schema, answered_schema):
        """Copies the examples of a response's members to a request's members."""
        for name, one in schema.get("properties", {}).items():
            examples = answered_schema.get("properties", {}).get(name, {}).get("examples")
            if examples:
                one.setdefault("examples", examples)

    def merged(self, schema):
        """A composed schema as one object with all members."""
        if "allOf" not in schema:
            return copy.deepcopy(schema)
        parts = [self.merged(self.follow(one)) for one in schema["allOf"]]
        parts.append({key: copy.deepcopy(one) for key, one in schema.items() if key != "allOf"})
        whole = {key: one for part in parts for key, one in part.items()}
        whole["properties"] = {name: one for part in parts for name, one in part.get("properties", {}).items()}
        whole["required"] = [name for part in parts for name in part.get("required", [])]
        return whole

    def resolve(self, value):
        """The target of a $ref with its sibling members, or the value itself. A schema is a single object."""
        found = self.follow(value)
        name = value.get("$ref", "").partition("#/components/schemas/")[2]
        beside = {key: one for key, one in value.items() if key != "$ref"}
        return found if name not in self.flat else {**self.flat[name], **beside} if beside else self.flat[name]

    def follow(self, value):
        while "$ref" in value:
            beside = {key: one for key, one in value.items() if key != "$ref"}
            at = self.whole
            for word in value["$ref"].removeprefix("#/").split("/"):
                at = at[word.replace("~1", "/").replace("~0", "~")]
            value = {**at, **beside} if beside else at
        return value

    @cached_property
    def operations(self):
        return [Operation(self, path, method, spec, item.get("parameters", []), self.kind(path))
                for path, item in self.whole["paths"].items() for method, spec in self.methods(item)]

    def methods(self, item):
        """The methods of a path: those listed, and HEAD and OPTIONS, which the introduction describes."""
        introduction = " ".join(self.whole["info"]["description"].split())
        assert "Every path with `GET` also has `HEAD`: the same parameters, status and headers, without the body." in introduction
        assert "Every path has `OPTIONS`: 204 with the methods of the path in `Allow`." in introduction
        specs = {method: item[method] for method in METHODS if method in item}
        some = next(iter(specs.values()))
        if "get" in specs:
            specs["head"] = specs["get"]
        specs["options"] = self.options(some)
        return specs.items()

    def options(self, other):
        """OPTIONS beside another operation of the path."""
        common = self.follow(other["responses"]["500"])["headers"]
        more = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}, "WWW-Authenticate": {"schema": {"type": "string"}}}
        problem = {"description": "", "headers": {**common, **more},
                   "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
        allow = {"required": True, "schema": {"type": "string"}}
        return {"responses": {"204": {"description": "", "headers": {**common, "Allow": allow}}, "4XX": problem, "5XX": problem},
                **{key: other[key] for key in other if key == "security"}}

    def kind(self, path):
        """The resource of a path as in error codes; None without one."""
        item = self.whole["paths"].get(path if "{id}" in path else f"/{path.split('/')[1]}/{{id}}", {})
        described = [self.follow(one)["description"] for one in item.get("parameters", [])]
        return re.fullmatch(r"The id of the (\w+)\.", described[-1]).group(1) if described else None

    def operation(self, method, path):
        return next((one for one in self.operations if (one.method, one.path) == (method, path)), None)

    @cached_property
    def collections(self):
        """The prefix of ids by collection, for collections with a create operation."""
        found = {}
        for one in self.operations:
            item = self.operation("get", one.path + "/{id}")
            if one.method == "post" and one.bodies and item and one.path == "/" + one.collection:
                found[one.collection] = re.match(r"\^([a-z]{3}_)", item.parameters["path", "id"]["schema"]["pattern"]).group(1)
        return found

    @cached_property
    def prefixes(self):
        """The kind by prefix, for all ids in paths and bodies."""
        found = {}
        for one in self.operations:
            if one.method != "options" and one.path_ids and "404" in one.spec["responses"]:
                pattern = one.parameters["path", one.path_ids[-1]]["schema"].get("pattern")
                if pattern:
                    found[pattern[1:5]] = re.search(r"not_found\\\.(\w+)", one.codes(404)).group(1)
        for schema in [schema for one in self.operations for schema in (one.body or {}).get("properties", {}).values()]:
            kind = re.match(r"\^([a-z]{3}_)\[0-7\]", self.resolve(schema).get("pattern", ""))
            if kind:
                found.setdefault(kind.group(1), kind.group(1))  # not in a path: only administrators create it
        return found

    def prefixes_of(self, schema):
        """The prefixes of the ids that a schema accepts, possibly besides external ids; empty if it accepts none."""
        schema = self.resolve(schema)
        pattern = schema.get("pattern") or next((one["pattern"] for one in schema.get("oneOf", []) if "pattern" in one), None)
        if not pattern or re.search(pattern, UNKNOWN_ULID):
            return []
        return [prefix for prefix in self.prefixes if re.search(pattern, prefix + UNKNOWN_ULID)]

    @property
    def schemas(self):
        return self.whole["components"]["schemas"]

    @staticmethod
    def beside(schema, schemas):
        return {**schema, "components": {"schemas": schemas}}

    def validator(self, schema, is_closed):
        key = id(schema), is_closed
        if key not in self.validators:
            whole = self.beside(closed(schema), self.closed_schemas) if is_closed else self.beside(schema, self.schemas)
            made = jsonschema.Draft202012Validator(whole,
                                                   format_checker=answered if is_closed else sent)
            self.validators[key] = made, schema  # keeps the schema alive, so that its id() is not reused
        return self.validators[key][0]

    def wrong(self, value, schema, is_partial=False):
        """The first error in a value of a response, or None. `is_partial` allows missing members."""
        errors = self.validator(schema, True).iter_errors(value)
        found = next((one for one in errors if not (is_partial and one.validator == "required")), None)
        return found and f"{'.'.join(map(str, found.absolute_path)) or 'the value'}: {found.message[:500]}"

    def accepts(self, value, schema):
        """Whether a value is valid in a request."""
        return self.validator(schema, False).is_valid(value)

    def writable(self, value, schema):
        """The value without members that the service sets."""
        properties = self.resolve(schema).get("properties")
        if not properties or not isinstance(value, dict):
            return value
        return {name: self.writable(one, properties.get(name, {})) for name, one in value.items()
                if name not in properties or not is_set_by_the_service(properties[name])}
