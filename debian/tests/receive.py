# SPDX-License-Identifier: Apache-2.0
"""Receives one webhook over TLS: receive.py HOST DIR

Writes the port into DIR/port, and what has come into DIR/received, checked with the secret in DIR/secret."""
import hashlib
import hmac
import http.server
import json
import pathlib
import ssl
import sys

host, work = sys.argv[1], pathlib.Path(sys.argv[2])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        secret = (work / "secret").read_text().strip()
        expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        genuine = "genuine" if hmac.compare_digest(expected, self.headers["X-Webhook-Signature"]) else "forged"
        self.send_response(204)
        self.end_headers()
        (work / "received").write_text(f"{json.loads(body)['event_type']} {genuine}\n")


server = http.server.HTTPServer((host, 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"/etc/ssl/certs/{host}.pem", f"/etc/ssl/private/{host}.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
(work / "port").write_text(str(server.server_port))
server.serve_forever()
