# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the WhatsApp tests: servers that send to a stand-in for Meta's (tests/whatsapp), and helpers.

The fixtures are imported by each module that uses them, so that each has servers of its own. A module's constant CONF has more
httpd directives, SETTINGS variables of instance.sh.
"""

import functools
import json
import ssl
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from client import Api, ok
from deployment import ROOT
from openapi_doc import Document
from webhook_fixtures import module_admin_factory, running_instance  # noqa: F401 (a fixture among them)
from wait import TIMEOUT_S, eventually

sys.path.append(str(ROOT / "tests/whatsapp"))

import callbacks  # noqa: E402
import specification  # noqa: E402
from meta import TEMPLATES, Meta, accept  # noqa: E402

PATH = "/whatsapp/callback"
TIMEOUT = 3  # of a call to Meta
HERE = """
NeoAPIWhatsAppURL {url}
NeoAPIWhatsAppTimeout {timeout}
<Location "{path}">
    SetHandler neoapi-whatsapp
</Location>
"""
PHONE = "5511987654321"  # a mobile in São Paulo, with its ninth digit
SHORT = "551187654321"  # the same without the ninth digit
CONVERSATION = ("id, number_id, contact_wa_id, contact_bsuid, contact_name, lead_id, triage, last_inbound_at, unread_count,"
                " opted_out_at, held, updated_at")
MESSAGE = ("id, conversation_id, direction, source, provider_message_id, type, body, template_name, template_language, status,"
           " status_at, error_code, error_title, occurred_at")


@pytest.fixture(scope="module")
def provider():
    with Meta() as one:
        yield one


@pytest.fixture
def meta(provider):
    """The stand-in. It accepts valid requests by default. A test fails if it refuses an invalid request."""
    provider.behave(accept)
    provider.reading = provider.serving = provider.attachment_url = None
    provider.page_size = 100
    provider.templates[:] = TEMPLATES
    del provider.sends[:], provider.marks[:], provider.reads[:], provider.wrong[:], provider.downloads[:]
    yield provider
    assert not provider.wrong


@pytest.fixture(scope="module")
def module_instance(request, provider):
    module = request.module
    conf = HERE.format(url=provider.url, timeout=TIMEOUT, path=PATH) + getattr(module, "CONF", "")
    with running_instance(module.__name__, conf, **getattr(module, "SETTINGS", {})) as instance:
        yield instance


@pytest.fixture
def org(module_instance, module_admin_factory, meta):
    return WhatsAppOrg(module_instance, module_admin_factory, meta)


def rows(module_instance, columns, source, *values):
    """Rows as dictionaries by the columns' names."""
    names = [name.strip() for name in columns.split(",")]
    return [dict(zip(names, row)) for row in module_instance.sql(f"select {columns} from neoapi.{source}", *values)]


def at_callback(module_instance, url=None):
    """The URL of callbacks."""
    return f"https://{urlsplit(url or module_instance.url).netloc}{PATH}"


@functools.lru_cache(maxsize=None)
def description(module_instance):
    return Document(module_instance)


class WhatsAppOrg:
    """An organization with a number, an org_admin's client, and administration with neoapictl."""

    def __init__(self, module_instance, admin_factory, meta, with_number=True):
        self.instance, self.admin_factory, self.meta = module_instance, admin_factory, meta
        self.described = description(module_instance).operation("post", "/whatsapp/conversations")
        self.api = Api(module_instance, admin_factory.key())
        self.organization, = self.api.credential.organizations
        self.number = self.number_id = self.verify_token = None
        if with_number:
            self.number, self.number_id, self.verify_token = self.add_number()

    # ------------------------------------------------------------ as an administrator

    def ctl(self, *args, given=""):
        done = subprocess.run([self.instance.env["NEOAPI_CTL"], "--json", *args], input=given, text=True, capture_output=True,
                              timeout=TIMEOUT_S)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def add_number(self, **given):
        """Adds a number. Returns the meta.Number, its id here, and the verify token."""
        number = self.meta.number(**given)
        secrets = f"access_token={number.token}\napp_secret={number.secret}\n"
        made = self.ctl("whatsapp", "number", "create", number.display, "--organization", self.organization,
                        "--phone-number-id", number.id, "--waba-id", number.account,
                        "--secrets", "-", "--key-file", self.instance.env["NEOAPI_KEY_FILE"], given=secrets)
        return number, made["id"], made["verify_token"]

    def lead(self, phone=PHONE, name="Carla Dias"):
        """Creates a lead. Returns its id."""
        self.ctl("lead", "import", "-", "--organization", self.organization, given=f"name,phone\n{name},{phone}\n")
        found = [one for one in self.leads() if one["name"] == name]
        return max(one["id"] for one in found)

    def leads(self):
        return self.ctl("lead", "list", "--organization", self.organization)

    # ------------------------------------------------------------ as a client

    def start(self, lead, template="visita", key=None, api=None, **more):
        """The response to a request for a conversation, which must match the OpenAPI document."""
        answer = (api or self.api).post("whatsapp/conversations", {"lead_id": lead, "template_name": template, **more},
                                        headers={"Idempotency-Key": key} if key else {})
        self.described.check(answer)
        return answer

    def begin(self, lead=None, status=201, **more):
        """Starts a conversation. Returns the response body and the Send that arrived."""
        return ok(self.start(lead or self.lead(), **more), status), self.meta.sends[-1]

    def send(self, conversation, key=None, api=None, type="text", **content):
        """The response to a request that sends a message into the conversation, which must match the OpenAPI document."""
        content = content or {"text": "Bom dia!"}
        answer = (api or self.api).post(f"whatsapp/conversations/{conversation}/messages", {"type": type, **content},
                                        headers={"Idempotency-Key": key} if key else {})
        description(self.instance).operation("post", "/whatsapp/conversations/{id}/messages").check(answer)
        return answer

    def opened(self, body="Oi!", phone=PHONE, **more):
        """The id of a conversation whose window the contact has opened."""
        self.notify(callbacks.text(body, phone, **more))
        return self.conversations()[-1]["id"]

    # ------------------------------------------------------------ as Meta

    def notify(self, *items, number=None, status=200):
        """Sends a callback about the number."""
        number = number or self.number
        envelope = callbacks.notification(number, *items)
        specification.check("callback", envelope)
        self.deliver(envelope, number, status)

    def notify_named(self, name, message):
        """Sends a callback with a message of a contact with this name."""
        named = callbacks.contact(message["from"], name)
        self.deliver(callbacks.envelope(self.number, callbacks.change(self.number, contacts=[named], messages=[message])))

    def deliver(self, envelope, number=None, status=200):
        context = ssl.create_default_context(cafile=self.instance.ca)
        found = callbacks.call(at_callback(self.instance), envelope, (number or self.number).secret, context)
        assert found == status, (found, envelope)

    # ------------------------------------------------------------ rows in the database

    def message(self, about):
        """The row of a message, given by a response or by the provider's id."""
        by, value = ("id", about["message"]["id"]) if "message" in about else ("provider_message_id", about["id"])
        found, = rows(self.instance, MESSAGE, f"whatsapp_message where {by} = %s", value)
        return found

    def messages(self):
        """The messages of all conversations, oldest first."""
        return rows(self.instance, MESSAGE, "whatsapp_message where organization_id = %s order by occurred_at, id",
                    self.organization)

    def conversations(self):
        return rows(self.instance, CONVERSATION, "whatsapp_conversation where organization_id = %s order by id",
                    self.organization)

    def conversation(self):
        """The only conversation."""
        found, = self.conversations()
        return found

    def status_of(self, about):
        return self.message(about)["status"]

    def until(self, about, status):
        return eventually(lambda: self.status_of(about) == status and self.message(about), f"a message that is {status}")
