# SPDX-License-Identifier: Apache-2.0
"""Meta's OpenAPI document of the API (business-messaging-api, v23.0), as far as requests, responses and callbacks can be checked.

    given()                   the document in the file NEOAPI_META_OPENAPI; None without it
    check("request", body)    raises an exception unless the document allows it; likewise "response", "templates", "media" and "callback"

The file is not part of this repository: it is at github.com/facebook/openapi. Its schemas of incoming messages extend those of
sent ones, which forbid what callbacks have, so of these only the content of each type is checked. What the document does not
describe, such as user ids and preferences, is left out.
"""

import functools
import os

# The schemas of these are those of sent messages, or contradict the examples of the document.
UNCHECKED_TYPES = {"contacts", "location", "sticker"}
# Undocumented kinds of interactive and system messages: flows, changed identities, versions before 12, and one of a test.
UNDOCUMENTED = {"nfm_reply", "customer_identity_changed", "customer_changed_number", "what_nobody_knows_yet"}


@functools.lru_cache(maxsize=None)
def given():
    path = os.environ.get("NEOAPI_META_OPENAPI")
    if not path:
        return None
    import yaml
    with open(path, encoding="utf-8") as file:
        return Specification(yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def check(kind, body):
    if given():
        getattr(given(), kind)(body)


class Specification:
    def __init__(self, document):
        self.document, self.schemas = document, document["components"]["schemas"]
        self.types = self.schemas["IncomingMessage"]["discriminator"]["mapping"]

    def fits(self, schema, value):
        from jsonschema import Draft202012Validator
        Draft202012Validator({**schema, "components": self.document["components"]}).validate(value)

    def named(self, name, value):
        self.fits({"$ref": f"#/components/schemas/{name}"}, value)

    def operation(self, path, method, status, value):
        response = self.document["paths"]["/{Version}/" + path][method]["responses"][status]
        self.fits(response["content"]["application/json"]["schema"], value)

    def request(self, body):
        """Checks a request with a message. Its schemas forbid what they share, so the parts are checked."""
        name = self.schemas["Message"]["discriminator"]["mapping"][body["type"]].rpartition("/")[2]
        base, own = self.schemas[name]["allOf"]
        # The pattern of `index` is "^[2-6, 11-14]$", which refuses the 0 of Meta's examples.
        components = [{key: value for key, value in one.items() if key != "index"} for one in body.get("template", {}).get("components", [])]
        if components:
            body = {**body, "template": {**body["template"], "components": components}}
        self.fits(base, body)
        self.fits({**own, "additionalProperties": True}, body)
        known = {name for part in (base, own) for name in self.members(part)}
        unknown = set(body) - known - {"biz_opaque_callback_data"}  # in Meta's reference, not in the document
        assert not unknown, unknown

    def members(self, schema):
        name = schema.get("$ref", "").rpartition("/")[2]
        return (self.schemas[name] if name else schema)["properties"]

    def response(self, body):
        self.operation("{Phone-Number-ID}/messages", "post", "200", body)

    def mark(self, body):
        self.named("MarkMessageRequestPayload", body)

    def marked(self, body):
        self.named("MarkMessageResponsePayload", body)

    def numbers(self, body):
        """The document requires members that are not asked for."""
        schema = self.schemas["WhatsAppBusinessAccountPhoneNumber"]
        for one in body["data"]:
            assert set(one) <= set(schema["properties"]) | {"whatsapp_business_manager_messaging_limit"}, one
            self.fits({name: value for name, value in schema.items() if name != "required"}, one)

    def media(self, body):
        self.operation("{Media-ID}", "get", "200", body)

    def templates(self, body):
        self.operation("{WABA-ID}/message_templates", "get", "200", body)

    # ------------------------------------------------------------ callbacks

    def callback(self, body):
        assert set(body) >= {"object", "entry"} and body["object"] == "whatsapp_business_account"
        for entry in body["entry"]:
            assert isinstance(entry["id"], str)
            for change in entry["changes"]:
                if change["field"] == "messages":
                    self.value(change["value"])

    def value(self, value):
        assert value["messaging_product"] == "whatsapp"
        self.named("Metadata", value["metadata"])
        for contact in value.get("contacts", []):
            self.named("ContactProfile", contact)
        for status in value.get("statuses", []):
            # Statuses of messages to a user id have recipient_user_id, and voice messages are played: later than the document.
            if "recipient_id" in status and status["status"] != "played":
                self.named("Statuses", status)
        for message in value.get("messages", []):
            self.incoming(message)

    def incoming(self, message):
        assert {"id", "timestamp", "type"} <= set(message) and ("from" in message or "from_user_id" in message)
        kind = message["type"]
        name = "SystemMessage" if kind == "system" else self.types.get(kind, "").rpartition("/")[2]
        if not name or kind in UNCHECKED_TYPES or (kind == "system" and "user_id" in message["system"]):
            return
        own = self.schemas[name]["allOf"][-1]
        content = own["properties"].get(kind)
        assert isinstance(message["timestamp"], str) and (content is None or kind in message)
        if content and not (isinstance(message[kind], dict) and message[kind].get("type") in UNDOCUMENTED):
            self.fits(content, message[kind])
