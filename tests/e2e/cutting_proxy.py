# SPDX-License-Identifier: Apache-2.0
"""A proxy that aborts the first export after its first line, without the last chunk, as a server that stops does."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from wait import TIMEOUT_S

KEPT = ("Content-Type", "X-Events-Position", "Retry-After")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        proxy, path = self.server, self.path.removeprefix("/")
        answer = proxy.api.get(path, timeout=TIMEOUT_S)
        self.send_response(answer.status_code)
        for name in {*KEPT} & {*answer.headers}:
            self.send_header(name, answer.headers[name])
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if path.startswith("brokers/export") and not proxy.cut:
            first = answer.content.splitlines(keepends=True)[0]
            proxy.cut.append(json.loads(first)["id"])
            self.send_chunk(first)
            proxy.when_cut()
            self.close_connection = True
        else:
            self.send_chunk(answer.content)
            self.wfile.write(b"0\r\n\r\n")

    def send_chunk(self, data):
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, *_):
        pass


@contextmanager
def cutting_proxy(api, when_cut):
    """Runs the proxy. `url` is its address, `cut` the id of the only line of the aborted export. Calls when_cut() before it
    aborts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        proxy.daemon_threads, proxy.api, proxy.when_cut, proxy.cut = True, api, when_cut, []
        proxy.url = f"http://127.0.0.1:{proxy.server_port}/"
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
