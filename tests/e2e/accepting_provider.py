# SPDX-License-Identifier: Apache-2.0
"""A WhatsApp provider that accepts every message, for tests of the API alone. Tests of the provider use the
stand-in for Meta in tests/whatsapp, which validates requests."""

import contextlib
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class AcceptingHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({})  # it does not return templates, so any can be sent

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer({"messages": [{"id": f"wamid.{uuid.uuid4().hex}"}]})

    def answer(self, body):
        answer = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def accept_all_messages():
    """Yields its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), AcceptingHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
