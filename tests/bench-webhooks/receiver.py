# SPDX-License-Identifier: Apache-2.0
"""Receivers: nginx, which counts requests, for throughput; a process that records the time of each request, for latency; and one
that fails or delays some requests."""

import asyncio
import http.client
import json
import multiprocessing
import pathlib
import selectors
import shutil
import socket
import subprocess
import time

DIRECTORY = pathlib.Path(__file__).resolve().parent
ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
REFUSAL = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
USUAL_S, SLOW_S = 0.02, 0.5


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
        """The number of requests so far, without those of this function, each of which uses one connection."""
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
    """Responds with 204, and queues the time of each request's first byte, and its body."""
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


def respond_unevenly(listener, first_attempts, one_refused_in, one_slow_in):
    """Responds with 204 after USUAL_S, one of `one_refused_in` requests with 500, one of `one_slow_in` after SLOW_S; 0: none. Counts the
    deliveries."""
    seen = set()

    async def serve(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                seen.add(json.loads(await reader.readexactly(length[0]))["id"])
                first_attempts.value = number = len(seen)
                await asyncio.sleep(SLOW_S if one_slow_in and number % one_slow_in == one_slow_in // 2 else USUAL_S)
                writer.write(REFUSAL if one_refused_in and number % one_refused_in == 0 else ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run():
        server = await asyncio.start_server(serve, sock=listener)
        await server.serve_forever()

    asyncio.run(run())


class ReceiverProcess:
    """Runs `target(listener, *arguments)` in a new process."""

    def __init__(self, target, *arguments):
        self.target, self.arguments = target, arguments

    def up(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = listener.getsockname()[1]
        self.process = multiprocessing.Process(target=self.target, args=(listener, *self.arguments), daemon=True)
        self.process.start()
        listener.close()

    def down(self):
        self.process.terminate()
        self.process.join(10)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"


class TimingReceiver(ReceiverProcess):
    """`arrivals` is a queue of (monotonic nanoseconds, body)."""

    def __init__(self):
        self.arrivals = multiprocessing.Queue()
        super().__init__(note_arrivals, self.arrivals)


class UnevenReceiver(ReceiverProcess):
    def __init__(self, one_refused_in, one_slow_in):
        self.count = multiprocessing.Value("i", 0, lock=False)
        super().__init__(respond_unevenly, self.count, one_refused_in, one_slow_in)

    def first_attempts(self):
        return self.count.value
