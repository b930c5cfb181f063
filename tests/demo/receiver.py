# SPDX-License-Identifier: Apache-2.0
"""A receiver of webhooks for the demo: receiver.py BUILD

Subscribes to every event of the demo's first organization, at http://127.0.0.1:DEMO_RECEIVER_PORT/ (8555), checks both signatures
of each request, and prints its event, until Ctrl-C. Uses only the standard library. The subscription and its secret are stored in
BUILD/demo/receiver.json for the next run.
"""

import base64
import hashlib
import hmac
import json
import os
import shlex
import signal
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOLERANCE = 300  # maximum age of a signature in seconds, so that a recorded request cannot be replayed later
MAX_BODY = 1 << 20
EVENTS = ["*", "whatsapp.message.received", "whatsapp.message.sent", "whatsapp.message.updated", "whatsapp.contact.opted_out",
          "whatsapp.contact.opted_in"]


def die(message):
    sys.exit(f"receiver: {message}")


# ---------------------------------------------------------------- the signatures

def same(expected, given):
    """Compares in constant time."""
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogateescape"))


def body_signature(secret, body):
    """The value of X-Webhook-Signature: HMAC of the body, keyed with the whole secret."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def standard_signature(secret, headers, body):
    """A value in webhook-signature: HMAC of id, timestamp and body, keyed with the decoded secret."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def what_is_wrong(secret, headers, body):
    """Returns the error of a request's signatures or timestamp, or None."""
    if not same(body_signature(secret, body), headers.get("X-Webhook-Signature", "")):
        return "X-Webhook-Signature is wrong"
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE:
        return "webhook-timestamp is not now"
    expected = standard_signature(secret, headers, body)
    if not any(same(expected, one) for one in headers.get("webhook-signature", "").split()):
        return "webhook-signature is wrong"
    return None


# ---------------------------------------------------------------- requests

class Receiver(ThreadingHTTPServer):
    daemon_threads = True
    secret = None  # of the subscription; requests before it is known are refused and retried

    def __init__(self, port):
        self.seen, self.printing, self.is_ready = set(), threading.Lock(), threading.Event()
        super().__init__(("127.0.0.1", port), Handler)

    def show(self, body, wrong):
        try:
            delivery = json.loads(body)
            head = f"{delivery['event_type']}  {delivery['id']}  of {delivery['created_at']}"
            payload = json.dumps(delivery["payload"], ensure_ascii=False, indent=2)
        except (ValueError, KeyError, TypeError):
            delivery, head, payload = {}, f"{len(body)} bytes that are no delivery", ""
        with self.printing:
            again = "; has been here before" if delivery.get("id") in self.seen else ""
            if not wrong:
                self.seen.add(delivery.get("id"))
            print(f"\n{time.strftime('%H:%M:%S')}  {head}")
            print(f"          {wrong or 'both signatures are right'}{again}")
            print(payload, flush=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY:
            self.close_connection = True
            return self.answer(400)
        body = self.rfile.read(int(length))
        if not self.server.is_ready.wait(5):
            return self.answer(503)
        wrong = what_is_wrong(self.server.secret, self.headers, body)
        self.answer(400 if wrong else 204)
        self.server.show(body, wrong)

    def log_message(self, *_):
        pass


# ---------------------------------------------------------------- the demo

class Demo:
    def __init__(self, directory):
        self.directory, self.state = directory, directory / "receiver.json"
        try:
            words = shlex.split((directory / "env").read_text(), comments=True)
        except OSError:
            die("the demo does not exist; start it with: make demo")
        self.env = dict(word.split("=", 1) for word in words)
        context = ssl.create_default_context(cafile=self.env["NEOAPI_CA"])
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                                  urllib.request.HTTPSHandler(context=context))

    def ask(self, method, path, body=None):
        """Returns the status and the parsed body."""
        request = urllib.request.Request(self.env["NEOAPI_URL"] + path, method=method,
                                         data=None if body is None else json.dumps(body).encode())
        request.add_header("X-API-Key", self.env["NEOAPI_KEY"])
        request.add_header("Content-Type", "application/json")
        try:
            with self.opener.open(request, timeout=30) as response:
                return response.status, json.loads(response.read() or "null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read() or "{}")
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            die(f"the demo does not answer at {self.env['NEOAPI_URL']} ({reason}): start it with: make demo")

    def want(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        if status >= 300:
            more = "".join(f"\n  {item['field']}: {item['message']}" for item in answer.get("errors", []))
            die(f"{method} {path}: {status} {answer.get('code')}: {answer.get('detail')}{more}\n"
                "A demo of an earlier build is brought up to date by: make demo")
        return answer

    def remembered(self):
        """The stored subscription with its secret, if it still exists; otherwise None."""
        try:
            kept = json.loads(self.state.read_text())
            status, answer = self.ask("GET", f"webhooks/{kept['id']}")
            return {**answer, "secret": kept["secret"]} if status == 200 else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def subscribe(self, url):
        """A subscription to all events for `url`, with its secret: the stored one, another one with this URL, or a new one."""
        mine = self.remembered()
        if not mine:
            others = [one for one in self.want("GET", "webhooks?limit=100")["items"] if one["url"] == url]
            mine = self.want("POST", f"webhooks/{others[0]['id']}/rotate-secret") if others else \
                self.want("POST", "webhooks", {"url": url, "events": EVENTS})
        if mine["url"] != url or not mine["is_active"] or mine["events"] != EVENTS:
            wanted = {"url": url, "events": EVENTS, "is_active": True}
            mine = {**self.want("PATCH", f"webhooks/{mine['id']}", wanted), "secret": mine["secret"]}
        self.keep(mine)
        return mine

    def keep(self, subscription):
        new = self.state.with_suffix(".new")
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            json.dump({name: subscription[name] for name in ("id", "secret", "url")}, out)
        new.replace(self.state)


def print_instructions(demo, subscription):
    curl = f"curl --cacert {demo.env['NEOAPI_CA']} -H 'X-API-Key: {demo.env['NEOAPI_KEY']}'"
    print(f"""
Listening at {subscription['url']} for the events of subscription {subscription['id']}.

To cause one, paste this into another shell:

{curl} -H 'Content-Type: application/json' -d '{{"name": "Maria Exemplo"}}' {demo.env['NEOAPI_URL']}brokers

Ctrl-C stops the receiver. The subscription remains: events are retried until the receiver runs again or their attempts end.
""", flush=True)


def port():
    text = os.environ.get("NEOAPI_DEMO_RECEIVER_PORT") or "8555"
    if not text.isdecimal() or not 0 < int(text) < 65536:
        die(f"DEMO_RECEIVER_PORT must be a port, from 1 to 65535, not {text}")
    return int(text)


def main():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    demo = Demo(Path(sys.argv[1]) / "demo")
    demo.want("GET", "me")
    try:
        receiver = Receiver(port())
    except OSError as error:
        die(f"cannot listen on port {port()}: {error.strerror}; another one: make demo-receiver DEMO_RECEIVER_PORT=N")
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    subscription = demo.subscribe(f"http://127.0.0.1:{port()}/")
    receiver.secret = subscription["secret"]
    print_instructions(demo, subscription)
    receiver.is_ready.set()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
