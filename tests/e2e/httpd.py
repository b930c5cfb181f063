# SPDX-License-Identifier: Apache-2.0
"""An additional httpd with another configuration and optionally another database."""

import os
import re
import signal
import socket
import subprocess

from client import Api
from deployment import CRASH, TIMEOUT_S, ROOT, sanitizer_settings
from wait import eventually

TEMPLATE = ROOT / "tests/deploy/httpd.conf"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Httpd:
    """`changes` are pairs of a regular expression for whole lines of tests/deploy/httpd.conf and its replacement, `preload` is its
    LD_PRELOAD. check() runs `httpd -t`. A `with` block starts and stops it; otherwise start() must be followed by stop(). api(…) returns a
    client."""

    def __init__(self, instance, place, *changes, preload=None):
        self.ca, self.place, self.port, self.preload = instance.ca, place, free_port(), preload
        self.url = f"https://localhost:{self.port}/public/v1/"
        (place / "run").mkdir()
        text = TEMPLATE.read_text()
        for pattern, replacement in changes:
            text, count = re.subn(f"^[ ]*{pattern}$", replacement, text, flags=re.M)
            assert count, f"no line matches {pattern}"
        for name in ("run/httpd.pid", "run/ssl_sessions", "run", "log/error.log", "log/access.log"):
            text = text.replace("${INSTANCE}/" + name, f"{place}/{name.rpartition('/')[2]}")
        self.conf = place / "httpd.conf"
        self.conf.write_text(self.defines(instance) + text)
        self.process, self.env = None, {}  # more of its environment
        self.generation, self.restarted_at = 0, 0  # as in Instance

    def defines(self, instance):
        """The defines of the instance's httpd, with another port and without the second virtual host."""
        lines = (instance.state / "httpd.conf").read_text().splitlines()
        kept = [line for line in lines if line.startswith("Define ") and line.split()[1] not in ("PORT", "SERVER_CONF")]
        return "\n".join([*kept, f'Define PORT "{self.port}"', ""])

    def run(self, *args, **more):
        found = sanitizer_settings()
        env = {"LANG": "C.UTF-8"} | {name: os.environ[name] for name in ("PATH", "GCOV_PREFIX") if name in os.environ} | self.env
        if found:
            env.update(LD_PRELOAD=found["HTTPD_PRELOAD"], ASAN_OPTIONS=found["ASAN_OPTIONS"])
        if self.preload:
            env["LD_PRELOAD"] = self.preload
        program = next(path for path in ("/usr/sbin/apache2", "/usr/sbin/httpd") if os.path.exists(path))
        return subprocess.Popen([program, "-f", str(self.conf), *args], env=env, stdin=subprocess.DEVNULL,
                                start_new_session=True, **more)

    def check(self):
        """Whether `httpd -t` succeeds, and its output."""
        process = self.run("-t", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said, _ = process.communicate(timeout=TIMEOUT_S)
        return process.returncode == 0, said + self.log

    @property
    def log(self):
        path = self.place / "error.log"
        return path.read_text() if path.exists() else ""

    def listens(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def answers(self):
        assert self.process.poll() is None, (self.place / "out").read_text() + self.log
        return self.listens()

    def start(self):
        with open(self.place / "out", "w") as out:
            self.process = self.run("-D", "FOREGROUND", stdout=out, stderr=out)
        eventually(self.answers, "Apache answers")
        self.generation += 1
        return self

    def stop(self, by=signal.SIGTERM):
        if self.process is None:
            return
        self.process.send_signal(by)
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        assert not CRASH.search((self.place / "out").read_text() + self.log)

    def kill(self):
        """Kills all processes at once. Their port is free only when the last of them has ended, which is not the one that is waited for."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(TIMEOUT_S)
        self.process = None
        eventually(lambda: not self.listens(), "its port is free")

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *error):
        self.stop()

    def api(self, credential=None, **more):
        return Api(self, credential, **more)
