# SPDX-License-Identifier: Apache-2.0
"""Who receives: nginx, which counts, for speed; a process that notes when each request arrived, for latency."""

import http.client
import multiprocessing
import pathlib
import selectors
import shutil
import socket
import subprocess
import time

DIRECTORY = pathlib.Path(__file__).resolve().parent
ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nginx:
    def __init__(self, place):
        self.place = pathlib.Path(place)
        self.process = None

    def up(self):
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.place.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        conf = self.place / "nginx.conf"
        text = (DIRECTORY / "nginx.conf").read_text().replace("{place}", str(self.place)).replace("{port}", str(self.port))
        conf.write_text(text)
        self.process = subprocess.Popen([program, "-p", self.place, "-c", conf, "-e", self.place / "error.log"])
        limit = time.monotonic() + 10
        while not self.answers():
            if time.monotonic() > limit or self.process.poll() is not None:
                raise SystemExit(f"nginx does not start: {(self.place / 'error.log').read_text()}")
            time.sleep(0.02)

    def down(self):
        if self.process:
            self.process.terminate()
            self.process.wait(20)
            self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"

    def answers(self):
        try:
            self.requests()
            return True
        except OSError:
            return False

    def requests(self):
        """How many it has answered, but for questions such as this one. (They are asked over one connection each.)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/status")
        text = connection.getresponse().read().decode()
        connection.close()
        self.questions = getattr(self, "questions", 0) + 1
        return int(text.splitlines()[2].split()[2]) - self.questions

    def version(self):
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        return subprocess.run([program, "-v"], text=True, stderr=subprocess.PIPE, check=True).stderr.split()[-1]


def note_arrivals(listener, arrivals):
    """Answers 204 and hands on when each request's first byte was there, and its body."""
    chooser = selectors.DefaultSelector()
    chooser.register(listener, selectors.EVENT_READ, None)
    while True:
        for key, _ in chooser.select():
            now = time.monotonic_ns()
            if key.data is None:
                connection, _ = listener.accept()
                chooser.register(connection, selectors.EVENT_READ, [now, b""])
                continue
            state, data = key.data, key.fileobj.recv(65536)
            if not data:
                chooser.unregister(key.fileobj)
                key.fileobj.close()
                continue
            state[0], state[1] = state[0] if state[1] else now, state[1] + data
            head, end, body = state[1].partition(b"\r\n\r\n")
            length = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            if end and len(body) >= length[0]:
                key.fileobj.send(ANSWER)
                arrivals.put((state[0], body))
                state[1] = b""


class TimingReceiver:
    """A receiver in a process of its own. `arrivals` is a queue of (monotonic nanoseconds, body)."""

    def up(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = listener.getsockname()[1]
        self.arrivals = multiprocessing.Queue()
        self.process = multiprocessing.Process(target=note_arrivals, args=(listener, self.arrivals), daemon=True)
        self.process.start()
        listener.close()

    def down(self):
        self.process.terminate()
        self.process.join(10)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"
