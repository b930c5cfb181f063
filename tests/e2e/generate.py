# SPDX-License-Identifier: Apache-2.0
"""Generates valid and invalid values from schemas with Hypothesis. A path is a tuple of names and indexes."""

import copy
import json
import re
import string
from collections import namedtuple
from datetime import date, datetime

from openapi_doc import ID, UNKNOWN_ULID, has_format, has_pattern, is_set_by_the_service
from hypothesis import strategies as st

MAX_INTEGER = 2**53 - 1
LETTERS = string.ascii_letters + string.digits
# All characters except control characters and surrogates.
characters = st.one_of(st.sampled_from(LETTERS + " .-_/'\"&<>%\\áçãÉ家🏠"), st.characters(blacklist_categories=("Cc", "Cs")))
timestamps = st.builds("{:%Y-%m-%dT%H:%M:%S}{}{}".format, st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)),
                    st.sampled_from(["", ".1", ".123", ".123456789"]),
                    st.sampled_from(["Z", "z", "+00:00", "-03:00", "+05:45"]))
Place = namedtuple("Place", "path schema required present")
InvalidBody = namedtuple("InvalidBody", "path how body")


def path_text(path):
    """A path as the API writes it: owners[0].party_id"""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def path_pattern(path):
    """The same without indexes: owners[].party_id"""
    return re.sub(r"\[\d+\]", "[]", path_text(path))


def put(body, path, value):
    """A copy of the body with another value at the path; `...` removes the member."""
    now = copy.deepcopy(body)
    at = now
    for step in path[:-1]:
        at = at[step]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return now


def get(body, path):
    for step in path:
        body = body[step]
    return body


class Generator:
    """Generates values for schemas of the document. `ids` are ids for references, by prefix."""

    def __init__(self, document, ids):
        self.document, self.ids, self.made = document, ids, {}
        self.kinds = {name: prefix for prefix, name in document.prefixes.items()}

    # ------------------------------------------------------------ valid values

    def values(self, schema):
        key = json.dumps(schema, sort_keys=True)
        if key not in self.made:
            self.made[key] = self.strategy(self.document.resolve(schema))
        return self.made[key]

    def strategy(self, schema):
        either = schema.get("anyOf") or schema.get("oneOf")
        if either and self.document.prefixes_of(schema):  # test_references.py sends external ids
            return st.one_of([self.string(schema), *[self.null(one) for one in either if one.get("type") == "null"]])
        if either:
            return st.one_of([self.values(one) for one in either])
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        types = schema.get("type", "object")
        if isinstance(types, list):
            return st.one_of([self.strategy({**schema, "type": one}) for one in types])
        return getattr(self, types)(schema)

    def null(self, _):
        return st.none()

    def boolean(self, _):
        return st.booleans()

    def integer(self, schema):
        low, high = schema.get("minimum", -MAX_INTEGER), schema.get("maximum", MAX_INTEGER)
        return st.one_of(st.sampled_from([low, high]), st.integers(low, high))

    def number(self, schema):
        low, high = schema.get("minimum", -1e6), schema.get("maximum", 1e6)
        return st.one_of(st.sampled_from([low, high]), st.floats(low, high),
                         st.floats(low, min(high, 1000)).map(with_cents))

    def string(self, schema):
        kinds = self.document.prefixes_of(schema)
        if kinds:
            return st.sampled_from([one for kind in kinds for one in self.ids.get(kind, [])] or [kinds[0] + UNKNOWN_ULID])
        examples = [one for one in schema.get("examples", []) if isinstance(one, str)]
        if has_pattern(schema):
            made = st.from_regex(re.compile(schema["pattern"], re.ASCII), fullmatch=True).filter(is_one_line)
        elif schema.get("format") in FORMATS:
            made = FORMATS[schema["format"]]
        else:
            made = texts(schema.get("minLength", 0), schema.get("maxLength", 100))
        return st.one_of(made, st.sampled_from(examples)) if examples else made

    def array(self, schema):
        least, most = schema.get("minItems", 0), schema.get("maxItems", 100)
        return st.lists(self.values(schema["items"]), min_size=least, max_size=max(least, min(most, 3)),
                        unique_by=json.dumps if schema.get("uniqueItems") else None)

    def object(self, schema):
        properties = schema.get("properties", {})
        more = schema.get("additionalProperties")
        if not properties and isinstance(more, dict):
            names = self.values({"type": "string", "minLength": 1, "maxLength": 40, **schema.get("propertyNames", {})})
            return st.dictionaries(names, self.values(more), max_size=min(schema.get("maxProperties", 3), 3))
        needed = set(schema.get("required", []))
        must = {name: self.values(one) for name, one in properties.items() if name in needed}
        may = {name: self.values(one) for name, one in properties.items()
               if name not in needed and not is_set_by_the_service(self.document.resolve(one))}
        made = st.fixed_dictionaries(must, optional=may)
        return made.map(self.of_one_kind) if {"type", "id"} <= set(properties) else made

    def of_one_kind(self, value):
        """Makes kind and id of a reference match."""
        prefix = self.kinds.get(value.get("type"))
        return {**value, "id": self.ids[prefix][0]} if prefix in self.ids and ID.fullmatch(str(value.get("id"))) else value

    # ------------------------------------------------------------ places in a body

    def branch(self, schema, value):
        """The alternative of a schema that the value matches."""
        schema = self.document.resolve(schema)
        for one in schema.get("anyOf") or schema.get("oneOf") or []:
            if self.document.accepts(value, one):
                return self.branch(one, value)
        return schema

    def places(self, schema, value, path=()):
        """Every member that the value has or can have at any depth, except those that the service sets."""
        schema = self.branch(schema, value)
        if isinstance(value, dict):
            for name, one in schema.get("properties", {}).items():
                one = self.document.resolve(one)
                if name == "id" and self.kinds.get(value.get("type")) in self.document.prefixes_of(one):
                    one = {**one, "pattern": f"^{self.kinds[value['type']]}[0-7][0-9a-hjkmnp-tv-z]{{25}}$"}
                if not is_set_by_the_service(one):
                    yield Place((*path, name), one, name in schema.get("required", []), name in value)
                    if name in value:
                        yield from self.places(one, value[name], (*path, name))
        elif isinstance(value, list):
            for index, one in enumerate(value[:2]):
                yield Place((*path, index), schema["items"], True, True)
                yield from self.places(schema["items"], one, (*path, index))

    def changed(self, among):
        """Bodies with one member replaced or removed, with its path. `among` are bodies, each with a position."""
        @st.composite
        def changed(draw):
            body, place = draw(st.sampled_from(among))
            leave_out = place.present and not place.required and draw(st.integers(0, 9)) == 9
            return place, put(body, place.path, ... if leave_out else draw(self.values(place.schema)))
        return changed()

    # ------------------------------------------------------------ invalid values

    def invalid_bodies(self, body, place):
        """Bodies that are invalid at a path or directly below it. The caller must filter out valid ones."""
        now = get(body, place.path) if place.present else None
        here = self.branch(place.schema, now)
        for how, value in self.wrong_values(here, now):
            yield InvalidBody(place.path, how, put(body, place.path, value))
        if place.required:
            yield InvalidBody(place.path, "null", put(body, place.path, None))
        if place.required and place.present and isinstance(place.path[-1], str):
            yield InvalidBody(place.path, "left out", put(body, place.path, ...))
        if isinstance(now, dict) and here.get("additionalProperties") is False:
            yield InvalidBody((*place.path, "colour"), "unknown", put(body, (*place.path, "colour"), "blue"))

    def wrong_values(self, schema, value):
        for name, other in VALUES_OF_EACH_TYPE.items():
            yield name, other
        if "enum" in schema:
            yield "no such value", "nonsense"
        for name in {"minimum", "maximum"} & set(schema):
            yield name, schema[name] + (1 if name == "maximum" else -1)
        if schema.get("maxLength"):
            yield "too long", "x" * (schema["maxLength"] + 1)
        if schema.get("minLength", 0) > 1:
            yield "too short", "x" * (schema["minLength"] - 1)
        if "pattern" in schema:
            for character in "\x01", "\x1b", "\x7f", "\x9f":
                yield "a control character", f"a{character}b"
        if has_format(schema):
            yield "no such form", "?"
            yield "one character more", f"{value if isinstance(value, str) else schema.get('examples', [''])[0]}\u00a0"
        if schema.get("type") == "array":
            yield from self.wrong_lists(schema, value)
        if isinstance(schema.get("additionalProperties"), dict):
            yield from self.wrong_maps(schema)

    def wrong_lists(self, schema, value):
        if schema.get("minItems"):
            yield "empty", []
        if value:
            yield "too many", (value * (schema.get("maxItems", 100) + 1))[:schema.get("maxItems", 100) + 1]
            yield "twice", [*value, value[-1]]

    def wrong_maps(self, schema):
        keys = self.document.resolve(schema.get("propertyNames", {})).get("maxLength", 40)
        yield "too many", {f"key {n}": "x" for n in range(schema.get("maxProperties", 50) + 1)}
        yield "a key too long", {"x" * (keys + 1): "x"}
        yield "an empty key", {"": "x"}
        for name, other in VALUES_OF_EACH_TYPE.items():
            yield "a member that is " + name, {"key": other}


# Not lambdas, because Hypothesis reads the source of a lambda at every call.
def with_cents(number):
    return round(number, 2)


def is_one_line(text):
    return "\n" not in text


def texts(least, most):
    """Texts of these lengths; not blank unless they may be empty."""
    middle = st.builds("{}{}{}".format, st.text(characters, max_size=max(0, min(most, 40) // 2 - 1)), st.sampled_from(LETTERS),
                       st.text(characters, max_size=max(0, min(most, 40) // 2 - 1)))

    def long_enough(text):
        return text.ljust(least, "x")[:most]

    def longest(one):
        return one * (most - 1) + "Z"

    middle = middle.map(long_enough)
    return st.one_of(middle, middle, st.sampled_from("aé家🏠").map(longest) if least else st.sampled_from(["", " "]))


VALUES_OF_EACH_TYPE = {"a string": "?", "an integer": 7, "a number": 1.5, "a boolean": True, "an object": {}, "an array": [],
                "an array of numbers": [7], "an array of objects": [{}]}
LABELS = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
# Reserved names.
FORMATS = {
    "date-time": timestamps,
    "date": st.dates(date(1900, 1, 1), date(2200, 1, 1)).map(str),
    "email": st.builds("{}.{}@{}.{}.br".format, LABELS, LABELS, LABELS, LABELS),
    "uri": st.builds("https://127.0.0.{}:9/{}{}".format, st.integers(2, 254), LABELS,
                     st.sampled_from(["", "/", "?a=b&c=%20", "/x.pdf"])),
    "uuid": st.uuids(version=4).map(str),
}
