# SPDX-License-Identifier: Apache-2.0
"""A conversation over WhatsApp in the running demo: story.py BUILD

A template is sent to a lead, the contact replies, a webhook notifies the CRM, which reads the reply over the API; then the contact
sends PARAR, and the next message is refused. Each step is printed; the first one that fails ends it. The lead stays opted out, so
each run takes the next lead.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from receiver import Demo, what_is_wrong

RECEIVED, OPTED_OUT = "whatsapp.message.received", "whatsapp.contact.opted_out"
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
    """Receives webhooks."""

    daemon_threads = True

    def __init__(self):
        self.events, self.secret, self.is_ready = queue.Queue(), None, threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait_for(self, event_type, conversation):
        """The payload of the next event of the conversation."""
        while True:
            try:
                event = self.events.get(timeout=TIMEOUT_S)
            except queue.Empty:
                die(f"no {event_type} within {TIMEOUT_S} seconds")
            payload = event["payload"]
            if event["event_type"] == event_type and conversation in (payload["id"], payload.get("conversation_id")):
                return payload


def start(demo, lead, template, *parameters):
    return demo.ask("POST", "whatsapp/conversations", {"lead_id": lead, "template_name": template,
                                                       "template_parameters": list(parameters)})


def leads(demo):
    """The ids of leads, newest first, without the oldest, which is in the commands that the demo prints."""
    words = [demo.env["NEOAPI_CTL"], "--json", "lead", "list", "--organization", demo.env["NEOAPI_ORG"]]
    listed = subprocess.run(words, stdout=subprocess.PIPE, check=True, env={**os.environ, "NEOAPI_DSN": demo.env["NEOAPI_DSN"]})
    return sorted((one["id"] for one in json.loads(listed.stdout)), reverse=True)[:-1]


def begin(demo):
    """Sends the first template to a lead that has not opted out. Returns the lead and the answer."""
    for lead in leads(demo):
        status, answer = start(demo, lead, "boas_vindas", "Carla", "Horizonte")
        if status != 409:
            break
    if status not in (200, 201):
        die(f"no lead can be written to: {status} {answer.get('detail')}")
    return lead, answer


def play(demo, crm):
    lead, begun = begin(demo)
    id = begun["conversation"]["id"]
    print(f"sent: {begun['message']['body']}")
    reply = crm.wait_for(RECEIVED, id)
    items = demo.want("GET", f"whatsapp/conversations/{id}/messages")["items"]
    if reply not in items:
        die("the reply is not among the conversation's messages")
    print(f"notified and read: {reply['body']}")
    start(demo, lead, "visita")
    stopped = crm.wait_for(OPTED_OUT, id)
    print(f"opted out at {stopped['opted_out_at']}")
    status, answer = start(demo, lead, "boas_vindas", "Carla", "Horizonte")
    if status != 409 or answer["code"] != "conflict.opted_out":
        die(f"the next message was not refused: {status}")
    print(f"refused: {status} {answer['code']}")


def main(build):
    demo, crm = Demo(Path(build) / "demo"), Crm()
    made = demo.want("POST", "webhooks", {"url": f"http://127.0.0.1:{crm.server_address[1]}/", "events": [RECEIVED, OPTED_OUT]})
    crm.secret = made["secret"]
    crm.is_ready.set()
    try:
        play(demo, crm)
    finally:
        demo.ask("DELETE", f"webhooks/{made['id']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
