# SPDX-License-Identifier: Apache-2.0
"""Simulates Meta's servers and contacts for the demo.

    NEOAPI_URL=… NEOAPI_CA=… whatsapp.py PORT SECRETS    simulates Meta for the number whose secrets are in that file

Each message is delivered, read and answered: the template "pedido_de_foto" with a photograph, the template "visita" and a text that mentions
PARAR with PARAR. Each step is a signed callback and a line of output. Uses tests/whatsapp.
"""

import base64
import os
import signal
import ssl
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

sys.path.append(str(Path(__file__).resolve().parents[1] / "whatsapp"))

from callbacks import call, change, envelope, message, status, text  # noqa: E402
from meta import Meta, Number, accept  # noqa: E402

NUMBER, DISPLAY, ACCOUNT = "106540352242922", "+55 11 4000-1234", "102290129340398"  # the same as in demo.sh
STATUSES = (("sent", 0.2), ("delivered", 0.5), ("read", 1))  # with the delay in seconds
ANSWERS = ("Oi! Sim, quero visitar no sábado de manhã.", "Obrigada pelo contato! Aceitam financiamento?",
           "Boa tarde, pode me mandar mais fotos?")
STOPPED_BY, STOP = "visita", "PARAR"  # a template, and the answer of each contact who gets it
PHOTOGRAPHED_BY = "pedido_de_foto"
PHOTOGRAPH = base64.b64decode(  # a JPEG of one pixel
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////"
    "wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=")
TEMPLATE_PRICING = {"billable": True, "pricing_model": "PMP", "category": "utility", "type": "regular"}
REPLY_PRICING = {"billable": False, "pricing_model": "PMP", "category": "service", "type": "free_customer_service"}
TIMEOUT_S = 60  # seconds to wait for Apache


def trust():
    return ssl.create_default_context(cafile=os.environ["NEOAPI_CA"])


class Contacts:
    """The contacts: they receive messages and answer."""

    def __init__(self, number, meta):
        self.number, self.meta, self.context, self.count = number, meta, trust(), 0
        self.url = f"https://{urlsplit(os.environ['NEOAPI_URL']).netloc}/whatsapp/callback"

    def accept(self, handler, send):
        if send.is_mark:
            self.say("a contact's message is marked as read")
            return handler.answer_checked("marked", {"success": True})
        accept(handler, send)
        kind = send.json["type"]
        content = (f"{send.template['name']} ({send.template['language']['code']}) {', '.join(send.parameters)}"
                   if kind == "template" else f"{kind}: {' '.join(send.json[kind].values())}")
        self.say(f"{send.to} receives {content}")
        threading.Thread(target=self.talk, args=(send,), daemon=True).start()

    def talk(self, send):
        pricing = TEMPLATE_PRICING if send.json["type"] == "template" else REPLY_PRICING
        for state, pause in STATUSES:
            time.sleep(pause)
            self.callback(statuses=[status(send, state, send.to, pricing=pricing)])
            self.say(f"{send.to}: {state}")
        time.sleep(1)
        answer, said = self.answer(send)
        self.callback(messages=[answer])
        self.say(f"{send.to} answers: {said}")

    def answer(self, send):
        """The message with which the contact answers, and its text."""
        self.count += 1
        template, body = (send.json.get(kind, {}).get(name, "") for kind, name in (("template", "name"), ("text", "body")))
        if template == PHOTOGRAPHED_BY:
            caption = "É esta a fachada?"
            return message("image", send.to, content=self.meta.attach(PHOTOGRAPH, caption=caption)), f"(photograph) {caption}"
        said = STOP if template == STOPPED_BY or STOP in body else ANSWERS[self.count % len(ANSWERS)]
        return text(said, send.to), said

    def callback(self, **lists):
        """Sends a callback, like Meta, until it is accepted."""
        deadline, body = time.monotonic() + TIMEOUT_S, envelope(self.number, change(self.number, **lists))
        while time.monotonic() < deadline:
            try:
                if call(self.url, body, self.number.secret, self.context) == 200:
                    return
            except OSError:
                pass
            time.sleep(1)
        self.say(f"a callback was not accepted within {TIMEOUT_S} seconds")

    @staticmethod
    def say(line):
        print(time.strftime("%H:%M:%S"), line, flush=True)


def serve(port, file):
    secrets = dict(line.split("=", 1) for line in Path(file).read_text().splitlines())
    number = Number(NUMBER, DISPLAY, ACCOUNT, secrets["access_token"], secrets["app_secret"])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Meta(int(port)) as meta:
        meta.numbers.append(number)
        meta.behave(Contacts(number, meta).accept)
        Contacts.say(f"simulating Meta for {DISPLAY} at {meta.url}")
        while True:
            signal.pause()


if __name__ == "__main__":
    serve(*sys.argv[1:])
