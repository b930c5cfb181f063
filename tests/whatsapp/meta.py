# SPDX-License-Identifier: Apache-2.0
"""A stand-in for Meta's servers: the WhatsApp Business Cloud API for sending messages and reading attachments.

with Meta() as meta:
    number = meta.number()          a business's number, with its account, access token and app secret
    meta.url                        the URL of the API, for NeoAPIWhatsAppURL
    meta.reads                      the paths that were read
    meta.sends                      the received messages, including refused ones
    meta.marks                      the requests that mark a message as read, as meta.sends
    meta.behave(error(131026))      sets the behaviour for following messages
    meta.attach(b"…", "image/png")  the content of a message with an attachment, which can then be downloaded
    meta.downloads                  the requests for attachments' bytes
    with meta.unreachable(): ...    closes its port

HTTP on loopback, with Python's standard library only. Requests are validated as strictly as by Meta. callbacks.py sends
callbacks.
"""

import base64
import contextlib
import hashlib
import itertools
import json
import re
import secrets
import socket
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import specification

TIMEOUT_S = 60
USER_ID = r"[A-Z]{2}\.[0-9A-Za-z]{1,128}"
numbers = itertools.count(secrets.randbelow(10**6) * 10**4)  # so that ids differ between processes


@dataclass(frozen=True)
class Number:
    """A business's number: its id, its display form, the account of its templates, and two secrets."""

    id: str
    display: str
    account: str
    token: str
    secret: str


@dataclass
class Attachment:
    """A contact's attachment: its id, its bytes, and its type as Meta reports it."""

    id: str
    content: bytes
    mime_type: str

    @property
    def digest(self):
        return base64.b64encode(hashlib.sha256(self.content).digest()).decode()


@dataclass
class Send:
    """A received message: the time, the connection, and the outcome."""

    at: float
    path: str
    headers: dict  # names in lower case
    body: bytes
    connection: tuple
    id: str = field(default_factory=lambda: "wamid." + secrets.token_urlsafe(30))
    json: object = None
    is_accepted: bool = False

    def __post_init__(self):
        with contextlib.suppress(ValueError):
            self.json = json.loads(self.body)

    @property
    def to(self):
        """The recipient: digits, or a business-scoped user id."""
        return self.json.get("to")

    @property
    def template(self):
        return self.json["template"]

    @property
    def parameters(self):
        """The parameters of the template's body."""
        return [one["text"] for part in self.components("body") for one in part["parameters"]]

    def components(self, kind):
        return [part for part in self.template.get("components", []) if part["type"] == kind]

    @property
    def number_id(self):
        return urlsplit(self.path).path.split("/")[2]

    @property
    def is_mark(self):
        return isinstance(self.json, dict) and "status" in self.json

    @property
    def opaque(self):
        return self.json.get("biz_opaque_callback_data")


# ---------------------------------------------------------------- templates

def template(name, text, language="pt_BR", status="APPROVED", category="UTILITY", header=None, buttons=()):
    """A template; `header`: "IMAGE" and so on, or a text; `buttons`: their types and URLs."""
    components = [{"type": "BODY", "text": text}]
    if header:
        is_media = header in ("IMAGE", "VIDEO", "DOCUMENT", "LOCATION")
        components.insert(0, {"type": "HEADER", "format": header} if is_media else {"type": "HEADER", "format": "TEXT", "text": header})
    if buttons:
        components.append({"type": "BUTTONS", "buttons": [
            {"type": kind, "text": f"Button {n}", **({"url": url} if url else {})} for n, (kind, url) in enumerate(buttons)]})
    return {"name": name, "language": language, "status": status, "category": category, "id": str(next(numbers)),
            "components": components}


TEMPLATES = [
    template("boas_vindas", "Olá, {{1}}! Aqui é da {{2}}. Recebemos seu interesse e queremos ajudar."),
    template("pedido_de_foto", "Olá, {{1}}! Pode nos mandar uma foto do imóvel que viu no anúncio?"),
    template("visita", "Podemos agendar a sua visita?"),
    template("visita", "May we arrange your visit?", language="en"),
    template("pausado", "Olá!", status="PAUSED"),
    template("desativado", "Olá!", status="DISABLED"),
]


# ---------------------------------------------------------------- errors

# The HTTP status and the title of each code. Clients must use the code.
ERRORS = {
    0: (401, "AuthException"), 190: (401, "Access token has expired"), 3: (500, "API Method"),
    10: (403, "Permission denied"), 200: (403, "API Permission"), 230: (403, "API Permission"), 299: (403, "API Permission"),
    4: (400, "API Too Many Calls"), 80007: (400, "Rate limit issues"), 130429: (429, "Rate limit hit"),
    131056: (429, "(Business Account, Consumer Account) pair rate limit hit"), 2: (503, "API Service"),
    131016: (500, "Service unavailable"),
    131026: (400, "Message undeliverable"), 131047: (400, "Re-engagement message"), 131048: (400, "Spam rate limit hit"),
    131049: (400, "Meta chose not to deliver"), 131050: (400, "User has stopped receipt of marketing messages"),
    132000: (400, "Template Param Count Mismatch"), 132001: (404, "Template does not exist"),
    132012: (400, "Template Parameter Format Mismatch"), 132015: (400, "Template is Paused"),
    132016: (400, "Template is Disabled"),
    17: (400, "API User Too Many Calls"), 104: (400, "Incorrect signature"), 131005: (403, "Access denied"),
    131031: (403, "Business Account locked"), 131057: (500, "Account in maintenance mode"),
    133004: (503, "Server temporarily unavailable"), 133010: (400, "Phone number not registered"),
    131045: (500, "Incorrect certificate"), 368: (403, "Temporarily blocked for policies violations"),
    131042: (400, "Business eligibility payment issue"),
    130497: (403, "Business account is restricted from messaging users in this country"),
    100: (400, "Invalid parameter"), 131008: (400, "Required parameter is missing"),
    131009: (400, "Parameter value is not valid"),
}


def error_body(code, details, **more):
    return {"error": {"message": f"(#{code}) {ERRORS[code][1]}", "type": "OAuthException", "code": code,
                      "error_data": {"messaging_product": "whatsapp", "details": details},
                      "fbtrace_id": secrets.token_urlsafe(8), **more}}


class Wrong(Exception):
    """An error response: its code and details."""


def require(condition, code, details):
    if not condition:
        raise Wrong(code, details)


# The members that the content of each type may have; None: check_template checks it.
CONTENTS = {"template": None, "text": {"body"}, "image": {"link", "caption"}, "document": {"link", "caption", "filename"},
            "reaction": {"message_id", "emoji"}}
REQUIRED = {"text": {"body"}, "image": {"link"}, "document": {"link"}, "reaction": {"message_id", "emoji"}}


def check_mark(mark):
    require(set(mark) == {"messaging_product", "status", "message_id"}, 100, f"unexpected keys {sorted(mark)}")
    require(mark["messaging_product"] == "whatsapp" and mark["status"] == "read", 100, "status must be read")


def check_message(message, templates):
    """Raises Wrong if Meta would refuse the request. The stand-in does not know whether the window is open."""
    require(isinstance(message, dict), 100, "the body must be a JSON object")
    kind = message.get("type")
    require(kind in CONTENTS, 100, "type must be one of those that are sent here")
    known = {"messaging_product", "recipient_type", "to", "type", kind, "context", "biz_opaque_callback_data"}
    require(set(message) <= known, 100, f"unexpected keys {sorted(set(message) - known)}")
    require(message.get("messaging_product") == "whatsapp", 100, "messaging_product is required")
    require(message.get("recipient_type", "individual") == "individual", 100, "recipient_type must be individual")
    require("to" in message and "recipient_type" in message, 131008, "to and recipient_type are required")
    require(re.fullmatch(r"[1-9]\d{6,14}|" + USER_ID, message["to"]), 131009, "to is neither a phone number nor a user id")
    require(len(message.get("biz_opaque_callback_data", "")) <= 512, 131009, "biz_opaque_callback_data is too long")
    require(kind != "reaction" or "context" not in message, 131009, "a reaction has no context")
    require("context" not in message or set(message["context"]) == {"message_id"}, 131009, "context is invalid")
    if kind == "template":
        check_template(message.get("template"), templates)
    else:
        check_content(message.get(kind), kind)


def check_content(given, kind):
    require(isinstance(given, dict), 131008, f"{kind} is required")
    require(REQUIRED[kind] <= set(given) <= CONTENTS[kind], 100, f"{kind} has {sorted(given)}")
    require(all(isinstance(one, str) and (one or name == "emoji") for name, one in given.items()), 131009, "no text")
    require(len(given.get("body", "")) <= 4096 and len(given.get("caption", "")) <= 1024, 131009, "too long")
    require(given.get("link", "https://").startswith(("http://", "https://")), 131009, "link is no URL")


def check_template(given, templates):
    require(isinstance(given, dict) and isinstance(given.get("name"), str), 131008, "template.name is required")
    language = given.get("language")
    require(isinstance(language, dict) and language.get("code"), 131008, "template.language.code is required")
    require(language.get("policy") == "deterministic", 100, "template.language.policy must be deterministic")
    found = [one for one in templates if (one["name"], one["language"]) == (given["name"], language["code"])]
    require(found, 132001, f"template name ({given['name']}) does not exist in {language['code']}")
    require(found[0]["status"] != "PAUSED", 132015, "the template is paused")
    require(found[0]["status"] == "APPROVED", 132016, "the template is disabled")
    wanted, parameters = list(expected_parameters(found[0])), list(read_parameters(given))
    for part in ("header", "body", "button"):
        ours, theirs = ([one[1:] for one in both if one[0] == part] for both in (parameters, wanted))
        require(len(ours) == len(theirs), 132000,
                f"{part}: number of localizable_params ({len(ours)}) does not match the expected number of params ({len(theirs)})")
        require(sorted(ours) == sorted(theirs), 132012, f"{part}: has {ours}, not {theirs}")


def expected_parameters(found):
    """The parameters of a template: (component, kind, name), the name "" for those with a number; of a button its index."""
    for component in found["components"]:
        kind, text = component["type"].lower(), component.get("text", "")
        if component.get("format", "TEXT") != "TEXT":
            yield kind, component["format"].lower(), ""
        for name in sorted(set(re.findall(r"{{(\w+)}}", text))):
            yield kind, "text", "" if name.isdigit() else name
        for index, button in enumerate(component.get("buttons", [])):
            if "{{" in button.get("url", ""):
                yield "button", button["type"].lower(), str(index)


def read_parameters(given):
    """The parameters that a message has, as expected_parameters has them."""
    components = given.get("components", [])
    require(isinstance(components, list), 100, "components must be an array")
    for one in components:
        require(isinstance(one, dict) and one.get("type") in ("header", "body", "button"), 132012, "unknown component")
        require(isinstance(one.get("parameters"), list) and one["parameters"], 131008, "parameters is required")
        is_button = one["type"] == "button"
        require(set(one) == {"type", "parameters"} | ({"sub_type", "index"} if is_button else set()), 132012, "unknown members")
        for parameter in one["parameters"]:
            kind = check_parameter(parameter)
            yield one["type"], one["sub_type"] if is_button else kind, one["index"] if is_button else parameter.get("parameter_name", "")


def check_parameter(parameter):
    """Checks the parameter and returns its type."""
    kind = parameter["type"]
    require(set(parameter) - {"parameter_name"} == {"type", kind}, 132012, "a parameter has a value of its type")
    if kind == "text":
        require(isinstance(parameter["text"], str) and parameter["text"], 131008, "text is required")
        require(not re.search(r"[\n\t]| {5,}", parameter["text"]), 132012, "new-line and tab characters are not allowed")
        return kind
    require(kind in ("image", "video", "document"), 132012, f"parameters of the type {kind}")
    require({"link"} <= set(parameter[kind]) <= {"link"} | ({"filename"} if kind == "document" else set()), 132012, "media")
    require(parameter[kind]["link"].startswith("https://"), 131009, "link is no URL")
    return kind


# ---------------------------------------------------------------- behaviours: called with the handler and the Send

def accepting(wa_id=None, user_id=None, **of_message):
    """Accepts like Meta. The contact is the recipient, unless `wa_id` (False: none) or `user_id` is given."""
    def behave(handler, send):
        send.is_accepted = True
        is_user_id = re.fullmatch(USER_ID, send.to)
        contact = {"input": send.to, "wa_id": None if is_user_id else send.to}
        contact.update({"wa_id": wa_id} if wa_id is not None else {}, **({"user_id": user_id} if user_id else {}))
        if is_user_id:
            contact["user_id"] = send.to
        contact = {name: value for name, value in contact.items() if value}
        handler.answer_checked("response", {"messaging_product": "whatsapp", "contacts": [contact],
                                            "messages": [{"id": send.id, **of_message}]})
    return behave


accept = accepting(message_status="accepted")


def error(code, status=None, details="What exactly is wrong is said here.", **more):
    def behave(handler, _):
        handler.answer(status or ERRORS[code][0], error_body(code, details, **more))
    return behave


def answering(status, body=b"", content_type="text/html", **headers):
    """Sends this response; Retry_After="3" becomes the header Retry-After."""
    return lambda handler, _: handler.answer(status, body, content_type, **headers)


def slowly(seconds, then=accept):
    def behave(handler, send):
        handler.server.closing.wait(seconds)
        then(handler, send)
    return behave


def after_event(event, then=accept):
    """Responds after the event is set."""
    def behave(handler, send):
        event.wait(TIMEOUT_S)
        then(handler, send)
    return behave


def after(first, then=accept):
    """Calls first(send), then responds."""
    def behave(handler, send):
        first(send)
        then(handler, send)
    return behave


def close_before_response(handler, send):
    """Accepts, and closes the connection before the first byte of the response."""
    send.is_accepted = True
    handler.close_connection = True


def close_within_response(handler, send):
    send.is_accepted = True
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 300\r\n\r\n{"messaging_prod')
    handler.close_connection = True


def hang(handler, send):
    """Accepts, and never responds."""
    send.is_accepted = True
    handler.server.closing.wait(TIMEOUT_S)
    handler.close_connection = True


def drip(handler, send):
    """Accepts, and sends one byte of the response per second."""
    send.is_accepted = True
    handler.close_connection = True
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b" " * 1000:
        handler.wfile.write(bytes([byte]))
        if handler.server.closing.wait(1):
            return


def huge(handler, send):
    """Accepts, with a response larger than the limit."""
    send.is_accepted = True
    handler.close_connection = True
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 200000000\r\n\r\n{"a":"')
    for _ in range(2000):
        handler.wfile.write(b"a" * 100_000)


def one_after_the_other(*behaviours):
    """Uses each behaviour for one message, and the last one for all following messages."""
    rest, lock = itertools.chain(behaviours, itertools.repeat(behaviours[-1])), threading.Lock()

    def behave(handler, send):
        with lock:
            now = next(rest)
        now(handler, send)
    return behave


# ---------------------------------------------------------------- the servers

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, status, body=b"", content_type="application/json; charset=UTF-8", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": content_type, **headers, "Content-Length": str(len(data))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def answer_checked(self, kind, body):
        """Checks the response against Meta's OpenAPI document."""
        self.verify(kind, body)
        self.answer(200, body)

    def verify(self, kind, body):
        try:
            specification.check(kind, body)
        except Exception as wrong:
            self.server.meta.wrong.append((kind, str(wrong), body))

    def number_and_resource(self):
        """The number or account in a path, and the path's last segment."""
        found = re.fullmatch(r"/v\d+\.\d+/(\d+)/(messages|message_templates|phone_numbers)", urlsplit(self.path).path)
        require(found, 100, f"Unknown path components: {self.path}")
        by = "id" if found[2] == "messages" else "account"
        number = next((one for one in self.server.meta.numbers if getattr(one, by) == found[1]), None)
        require(number, 100, f"Object with ID '{found[1]}' does not exist")
        require(self.headers.get("Authorization") == f"Bearer {number.token}", 190, "Invalid OAuth access token")
        return number, found[2]

    def check_head(self):
        number, end = self.number_and_resource()
        require(end == "messages", 100, f"Unsupported post request: {self.path}")
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        require(kind == "application/json", 100, f"the body is {kind}, not JSON")
        require(self.headers.get("User-Agent"), 100, "User-Agent is missing")
        return number

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        send = Send(time.time(), self.path, headers, body, self.client_address)
        if send.is_mark:
            self.server.meta.marks.append(send)
        else:
            self.server.meta.arrived(send)
        with contextlib.suppress(OSError):  # the client closed the connection
            return self.decide(send)
        self.close_connection = True

    def decide(self, send):
        meta = self.server.meta
        try:
            self.check_head()
            check_mark(send.json) if send.is_mark else check_message(send.json, meta.templates)
        except Wrong as wrong:
            meta.wrong.append(wrong.args)
            return error(wrong.args[0], details=wrong.args[1])(self, send)
        self.verify("mark" if send.is_mark else "request", send.json)
        if send.is_mark and meta.behaviour is accept:
            return self.answer_checked("marked", {"success": True})
        meta.behaviour(self, send)

    def do_GET(self):
        with contextlib.suppress(OSError):  # the client closed the connection
            return self.read()
        self.close_connection = True

    def read(self):
        path = urlsplit(self.path).path
        if path.startswith("/attachments/"):
            return self.download(path.removeprefix("/attachments/"))
        self.server.meta.reads.append(self.path)
        if self.server.meta.reading:
            return self.server.meta.reading(self)
        self.read_stored(path)

    def read_stored(self, path):
        found = re.fullmatch(r"/v\d+\.\d+/(\d+)", path)
        if found and "phone_number_id" in self.path:
            return self.describe(found[1])
        try:
            number, end = self.number_and_resource()
            require(end != "messages", 100, f"Unsupported get request: {self.path}")
        except Wrong as wrong:
            return self.answer(ERRORS[wrong.args[0]][0], error_body(*wrong.args))
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        if end == "phone_numbers":
            return self.answer_checked("numbers", {"data": list(self.server.meta.describe_numbers(number.account, asked["fields"].split(",")))})
        named = [one for one in self.server.meta.templates if one["name"] == asked.get("name", one["name"])]
        start = int(asked.get("after", "0"))
        end = start + min(int(asked["limit"]), self.server.meta.page_size)
        paging = {"cursors": {"before": str(start), "after": str(end)}}
        if end < len(named):
            paging["next"] = f"{self.path}&after={end}"
        self.answer_checked("templates", {"data": named[start:end], "paging": paging})

    def owner(self):
        """The number whose token was sent, or None."""
        sent = self.headers.get("Authorization")
        return next((one for one in self.server.meta.numbers if sent == f"Bearer {one.token}"), None)

    def describe(self, id):
        """The response to a request for an attachment by its id: its URL, which is valid for five minutes."""
        number, found = self.owner(), self.server.meta.attachments.get(id)
        if not number:
            return self.answer(401, error_body(190, "Invalid OAuth access token"))
        if not found or parse_qs(urlsplit(self.path).query)["phone_number_id"] != [number.id]:
            return self.answer(400, error_body(100, f"Object with ID '{id}' does not exist", error_subcode=33))
        url = self.server.meta.attachment_url or f"{self.server.meta.url}/attachments/{id}?mid={id}&ext=1760000000&hash=ATs"
        self.answer_checked("media", {"messaging_product": "whatsapp", "url": url, "mime_type": found.mime_type,
                                      "sha256": found.digest, "file_size": str(len(found.content)), "id": id})

    def download(self, id):
        meta = self.server.meta
        meta.downloads.append(self.path)
        if meta.serving:
            return meta.serving(self)
        if not self.owner():
            return self.answer(401)
        found = meta.attachments.get(id)
        self.answer(200 if found else 404, found.content if found else b"", found.mime_type if found else "text/html")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True
    block_on_close = False

    def __init__(self, meta, port):
        self.meta, self.closing, self.kept = meta, threading.Event(), set()
        super().__init__(("127.0.0.1", port), Handler)

    def process_request(self, request, client_address):
        self.kept.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self.kept.discard(request)
        super().shutdown_request(request)

    def close(self):
        """Closes the port and all open connections."""
        self.closing.set()
        self.shutdown()
        self.server_close()
        for one in list(self.kept):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_):
        pass  # tests break connections


class Meta:
    """`port`: the port to listen on; 0: a free one. `on_send(send)` is called for each message before the response."""

    def __init__(self, port=0, on_send=lambda send: None):
        self.behaviour, self.templates, self.numbers = accept, list(TEMPLATES), []
        self.sends, self.marks, self.wrong, self.on_send = [], [], [], on_send
        self.reads, self.reading = [], None  # paths of GET requests; a function that responds to them instead: reading(handler)
        self.page_size, self.quality = 100, {}  # templates of a page; what is known of a number, by its id
        self.attachments, self.downloads = {}, []
        self.attachment_url, self.serving = None, None  # instead of an attachment's own URL and of its bytes, as `reading`
        self.server = Server(self, port)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.close()

    def arrived(self, send):
        self.sends.append(send)
        self.on_send(send)

    def describe_numbers(self, account, fields):
        """The numbers of an account, with these fields."""
        for one in self.numbers:
            known = {"id": one.id, "verified_name": "Horizonte Imóveis", "quality_rating": "GREEN", "messaging_limit_tier": "TIER_1K",
                     "display_phone_number": one.display, "status": "CONNECTED", **self.quality.get(one.id, {})}
            if one.account == account:
                yield {name: value for name, value in known.items() if name in fields}

    def behave(self, behaviour):
        self.behaviour = behaviour

    def number(self, **given):
        """A new number; given values are used unchanged."""
        n = next(numbers)
        made = Number(**{"id": f"10{n:013}", "display": f"+55 11 4{n % 1000:03}-{n % 10000:04}", "account": f"20{n:013}",
                         "token": "EAA" + secrets.token_urlsafe(60), "secret": secrets.token_hex(16), **given})
        self.numbers.append(made)
        return made

    def attach(self, content, mime_type="image/jpeg", **more):
        """Stores an attachment. Returns the content of a message with it."""
        made = Attachment(str(next(numbers)), content, mime_type)
        self.attachments[made.id] = made
        return {"id": made.id, "mime_type": mime_type, "sha256": made.digest, **more}

    @contextlib.contextmanager
    def unreachable(self):
        """Closes the port, keeps it reserved, and closes open connections."""
        self.server.close()
        with socket.socket() as holder:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("127.0.0.1", self.port))
            yield
        self.server = Server(self, self.port)
        self.__enter__()
