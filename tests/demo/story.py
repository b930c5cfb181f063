# SPDX-License-Identifier: Apache-2.0
"""From a portal's lead to an answered message, in the running demo: story.py BUILD

A portal posts a lead, the CRM gets a webhook and sends a template, the contact answers with a photograph, which the CRM reads and replies to;
then the contact sends PARAR, and the next message is refused. The CRM uses only the public API. Each step is printed; the first one that
fails ends it. Each run has another person, because one who has opted out stays so.
"""

import base64
import json
import queue
import secrets
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from receiver import Demo, what_is_wrong

CREATED, RECEIVED, OPTED_OUT = "lead.created", "whatsapp.message.received", "whatsapp.contact.opted_out"
TIMEOUT_S = 60


def die(message):
    sys.exit(f"story: {message}")


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.is_ready.wait(TIMEOUT_S)
        wrong = what_is_wrong(self.server.secret, self.headers, body)
        self.send_response(400 if wrong else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if not wrong:
            self.server.events.put(json.loads(body))

    def log_message(self, *_):
        pass


class Crm(ThreadingHTTPServer):
    """The CRM's receiver of webhooks."""

    daemon_threads = True

    def __init__(self):
        self.events, self.secret, self.is_ready = queue.Queue(), None, threading.Event()
        self.waiting = []  # events that came before they were waited for
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait_for(self, event_type, fits):
        """The payload of the next event of this type for which fits(payload) is true, in any order."""
        while True:
            for event in self.waiting:
                if event["event_type"] == event_type and fits(event["payload"]):
                    self.waiting.remove(event)
                    return event["payload"]
            try:
                self.waiting.append(self.events.get(timeout=TIMEOUT_S))
            except queue.Empty:
                die(f"no {event_type} within {TIMEOUT_S} seconds")


class Story:
    """The parts of the story: the demo's API, and the addresses of its portal."""

    def __init__(self, demo, crm):
        self.demo, self.crm, self.step = demo, crm, 0

    def say(self, line):
        self.step += 1
        print(f"{self.step}. {line}", flush=True)

    def post_lead(self):
        """Posts a lead like a portal, with the secret that it shares with the deployment. Returns its id at the portal."""
        home = self.demo.want("GET", "properties?status=active&limit=1&fields=code,title")["items"][0]
        number = f"98{secrets.randbelow(10**7):07}"  # a mobile's
        body = {"leadOrigin": "Grupo OLX", "originLeadId": secrets.token_hex(12), "originListingId": "87027856",
                "clientListingId": home["code"], "name": "Beatriz Moura", "ddd": "11", "phone": number,
                "message": f"Olá, tenho interesse no imóvel {home['code']}."}
        env = self.demo.env
        login = base64.b64encode(f"portal:{env['NEOAPI_PORTAL_SECRET']}".encode()).decode()
        headers = {"Content-Type": "application/json", "Authorization": f"Basic {login}"}
        request = urllib.request.Request(env["NEOAPI_PORTAL_URL"], json.dumps(body).encode(), headers)
        with self.demo.opener.open(request, timeout=TIMEOUT_S) as response:
            self.say(f"The portal posts a lead: {body['name']} asks for {home['code']} ({response.status}).")
        return body["originLeadId"]

    def send(self, lead, template, *parameters):
        return self.demo.ask("POST", "whatsapp/conversations", {"lead_id": lead, "template_name": template,
                                                                "template_parameters": list(parameters)})

    def receive(self, conversation):
        return self.crm.wait_for(RECEIVED, lambda message: message["conversation_id"] == conversation)

    def read_attachment(self, message):
        path = f"whatsapp/conversations/{message['conversation_id']}/messages/{message['id']}/media"
        request = urllib.request.Request(self.demo.env["NEOAPI_URL"] + path, headers={"X-API-Key": self.demo.env["NEOAPI_KEY"]})
        with self.demo.opener.open(request, timeout=TIMEOUT_S) as response:
            content, kind, name = response.read(), response.headers["Content-Type"], response.headers.get_filename()
        if kind != message["media_mime_type"]:
            die(f"the attachment is {kind}, not {message['media_mime_type']}")
        self.say(f"The CRM downloads the photograph: {name}, {kind}, {len(content)} bytes.")

    def reply(self, conversation, message, text):
        path = f"whatsapp/conversations/{conversation}"
        self.demo.want("POST", f"{path}/read", {"up_to_id": message["id"]})
        sent = self.demo.want("POST", f"{path}/messages", {"type": "text", "text": text, "reply_to_id": message["id"]})
        expires = self.demo.want("GET", path)["window_expires_at"]
        self.say(f"The CRM marks it as read and replies; the window is open until {expires}: “{sent['body']}”")

    def play(self):
        origin = self.post_lead()
        lead = self.crm.wait_for(CREATED, lambda one: one.get("origin", {}).get("lead_id") == origin)
        self.say(f"The CRM's webhook gets {CREATED}: {lead['id']}, {lead['phone']}, “{lead['message']}”")
        status, begun = self.send(lead["id"], "pedido_de_foto", lead["name"].split()[0])
        if status != 201:
            die(f"the template was not sent: {status} {begun.get('detail')}")
        conversation = begun["conversation"]["id"]
        self.say(f"The CRM sends a template ({begun['message']['status']}): “{begun['message']['body']}”")
        photograph = self.receive(conversation)
        self.say(f"The contact answers; the webhook gets {RECEIVED}: {photograph['type']}, “{photograph['body']}”")
        self.read_attachment(photograph)
        self.reply(conversation, photograph, "Obrigada! É essa mesma. Para não receber mais mensagens, responda PARAR.")
        stop = self.receive(conversation)
        self.say(f"The contact answers: “{stop['body']}”")
        stopped = self.crm.wait_for(OPTED_OUT, lambda one: one["id"] == conversation)
        self.say(f"The webhook gets {OPTED_OUT}, at {stopped['opted_out_at']}.")
        status, refusal = self.send(lead["id"], "visita")
        if status != 409 or refusal["code"] != "conflict.opted_out":
            die(f"the next message was not refused: {status}")
        self.say(f"The CRM's next template is refused: {status} {refusal['code']}.")


def main(build):
    demo, crm = Demo(Path(build) / "demo"), Crm()
    made = demo.want("POST", "webhooks", {"url": f"http://127.0.0.1:{crm.server_address[1]}/",
                                          "events": [CREATED, RECEIVED, OPTED_OUT]})
    crm.secret = made["secret"]
    crm.is_ready.set()
    try:
        Story(demo, crm).play()
    finally:
        demo.ask("DELETE", f"webhooks/{made['id']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
