# SPDX-License-Identifier: Apache-2.0
"""Callbacks that Meta's servers send: messages, statuses and preferences.

    call(url, notification(number, text("Oi", "5511987654321"), status(send, "delivered")), number.secret)

All values are plain data, so that tests can remove, repeat and reorder items. `number` is a meta.Number.
"""

import contextlib
import hashlib
import hmac
import http.client
import json
import re
import secrets
import time
from urllib.parse import urlsplit

TIMEOUT_S = 60

_media = {"mime_type": "image/jpeg", "sha256": "4Zb1dm9jOpOAOr/nuyqTPnJ+0U1p0TGZ2ItKk0Wq8dE=", "id": "1908647269898587"}

# The content of a message by type.
CONTENT = {
    "text": {"body": "Quero visitar o apartamento."},
    "image": {**_media, "caption": "A fachada"},
    "video": {**_media, "mime_type": "video/mp4"},
    "audio": {**_media, "mime_type": "audio/ogg; codecs=opus", "voice": True},
    "document": {**_media, "mime_type": "application/pdf", "filename": "proposta.pdf", "caption": "Minha proposta"},
    "sticker": {**_media, "mime_type": "image/webp", "animated": False},
    "location": {"latitude": -23.5505, "longitude": -46.6333, "name": "Praça da Sé", "address": "Centro, São Paulo"},
    "contacts": [{"name": {"formatted_name": "Bia Souza", "first_name": "Bia"},
                  "phones": [{"phone": "+55 11 98888-7777", "wa_id": "5511988887777", "type": "CELL"}]}],
    "interactive": {"type": "button_reply", "button_reply": {"id": "sim", "title": "Sim, quero"}},
    "button": {"payload": "agendar", "text": "Agendar visita"},
    "reaction": {"message_id": "wamid.HBgN", "emoji": "👍"},
    "order": {"catalog_id": "1", "text": "", "product_items": [
        {"product_retailer_id": "x", "quantity": 1, "item_price": 10.5, "currency": "BRL"}]},
    "system": {"body": "User changed", "type": "user_changed_number", "wa_id": "5511988886666"},
    "unsupported": {"type": "unknown"},
}


def message(kind="text", wa_id=None, user_id=None, content=None, at=None, **more):
    """A message from a contact."""
    found = {"id": "wamid." + secrets.token_urlsafe(30), "timestamp": str(int(at if at is not None else time.time())),
             "type": kind, kind: CONTENT[kind] if content is None else content}
    if kind == "unsupported":
        found["errors"] = [{"code": 131051, "title": "Message type unknown", "message": "Message type unknown",
                            "error_data": {"details": "Message type is currently not supported."}}]
    return {**({"from": wa_id} if wa_id else {}), **({"from_user_id": user_id} if user_id else {}), **found, **more}


def text(body, wa_id=None, user_id=None, **more):
    return message("text", wa_id, user_id, {"body": body}, **more)


def system(kind, wa_id=None, user_id=None, new=None, at=None):
    """A system message: a contact has a new number or id. It has no list of contacts."""
    was = {"previous_user_id": user_id} if user_id else {}
    return message("system", wa_id, user_id, {"body": "The contact has changed", "type": kind, **was, **new}, at=at)


def priced(category="marketing", billable=True, kind="regular"):
    """How a message is billed."""
    return {"billable": billable, "pricing_model": "PMP", "type": kind, "category": category}


def status(of, state, to=None, user_id=None, at=None, opaque=None, errors=None, pricing=None):
    """The status of a message: a meta.Send or an id."""
    found = {"id": getattr(of, "id", of), "status": state, "timestamp": str(int(at if at is not None else time.time()))}
    found.update({"recipient_id": to} if to else {}, **({"recipient_user_id": user_id} if user_id else {}))
    opaque = opaque or getattr(of, "opaque", None)
    found.update({"biz_opaque_callback_data": opaque} if opaque else {})
    return {**found, **({"errors": errors} if errors else {}), **({"pricing": pricing} if pricing else {})}


def failure(code, title="Message undeliverable"):
    """The errors of a status `failed`."""
    return [{"code": code, "title": title, "message": title,
             "error_data": {"details": "What exactly went wrong."}}]


def contact(wa_id=None, name="Carla Dias", user_id=None):
    return {"profile": {"name": name}, **({"wa_id": wa_id} if wa_id else {}), **({"user_id": user_id} if user_id else {})}


def preference(value, wa_id=None, user_id=None, at=None):
    """A contact stops or resumes marketing messages. The timestamp is a number, unlike all others."""
    return {**({"wa_id": wa_id} if wa_id else {}), **({"user_id": user_id} if user_id else {}),
            "detail": f"User requested to {value} marketing messages", "category": "marketing_messages", "value": value,
            "timestamp": int(at if at is not None else time.time())}


def change(number, field="messages", **lists):
    """A value with these lists: messages, statuses, contacts, user_preferences."""
    about = {"display_phone_number": re.sub(r"\D", "", number.display), "phone_number_id": number.id}
    return {"field": field, "value": {"messaging_product": "whatsapp", "metadata": about, **lists}}


def envelope(number, *changes):
    return {"object": "whatsapp_business_account", "entry": [{"id": number.account, "changes": list(changes)}]}


def echo(number, kind="text", to=None, user_id=None, content=None, at=None):
    """A message that the business has sent with its telephone."""
    return {**message(kind, re.sub(r"\D", "", number.display), content=content, at=at),
            **({"to": to} if to else {}), **({"to_user_id": user_id} if user_id else {})}


def echoes(number, *items):
    contacts = [contact(one.get("to"), user_id=one.get("to_user_id")) for one in items]
    return envelope(number, change(number, "smb_message_echoes", contacts=contacts, message_echoes=list(items)))


def old(of, state=None):
    """A message or an echo as the telephone's history has it."""
    return {**of, **({"history_context": {"status": state}} if state else {})}


def history(number, threads, phase=0, chunk=1):
    """A chunk of the telephone's history: {contact: [messages]}."""
    found = [{"id": id, "messages": list(messages)} for id, messages in threads.items()]
    return envelope(number, change(number, "history", history=[
        {"metadata": {"phase": phase, "chunk_order": chunk, "progress": 50}, "threads": found}]))


def account_change(number, field, **value):
    """A callback about the number's account: a template or a number has changed."""
    return envelope(number, {"field": field, "value": value})


def template_change(number, event, name, language="pt_BR"):
    return account_change(number, "message_template_status_update", event=event, message_template_id=1689556908129832,
                          message_template_name=name, message_template_language=language, reason="NONE",
                          message_template_category="UTILITY")


def notification(number, *items):
    """A callback with messages, statuses and preferences, and their contacts."""
    messages = [one for one in items if "type" in one]
    preferences = [one for one in items if "detail" in one]
    statuses = [one for one in items if "status" in one]
    known = {one.get("from_user_id") or one.get("from"): contact(one.get("from"), user_id=one.get("from_user_id"))
             for one in messages if one["type"] != "system"}
    changes = []
    if messages or statuses:
        lists = {"contacts": list(known.values()), "messages": messages, "statuses": statuses}
        changes.append(change(number, **{name: items for name, items in lists.items() if items}))
    if preferences:
        contacts = [contact(one.get("wa_id"), user_id=one.get("user_id")) for one in preferences]
        changes.append(change(number, "user_preferences", contacts=contacts, user_preferences=preferences))
    return envelope(number, *changes)


def signature(secret, body):
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def call(url, body, secret, context=None):
    """Sends a callback, with an ssl.SSLContext to https. Returns the status."""
    at, data = urlsplit(url), body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    secure = {"context": context} if at.scheme == "https" else {}
    connection = (http.client.HTTPSConnection if secure else http.client.HTTPConnection)(at.netloc, timeout=TIMEOUT_S, **secure)
    with contextlib.closing(connection):
        connection.request("POST", at.path, data, {"Content-Type": "application/json", "User-Agent": "facebookexternalua",
                                                   "X-Hub-Signature-256": signature(secret, data)})
        return connection.getresponse().status
