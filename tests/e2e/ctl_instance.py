# SPDX-License-Identifier: Apache-2.0
"""Runs neoapictl, also on a pseudo-terminal."""

import codecs
import fcntl
import json
import os
import pty
import re
import select
import subprocess
import termios
import time

from wait import TIMEOUT_S


class Ctl:
    def __init__(self, instance):
        self.instance = instance
        self.program = instance.env["NEOAPI_CTL"]

    def start(self, *args, **more):
        return subprocess.Popen([self.program, *args], text=True,
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})

    def run(self, *args, stdin=None, **more):
        """Returns exit status, standard output and standard error."""
        process = self.start(*args, **({"stdin": subprocess.PIPE} if stdin is not None else {}), **more)
        out, err = process.communicate(stdin, timeout=TIMEOUT_S)
        return process.returncode, out, err

    def ok(self, *args, **more):
        code, out, err = self.run(*args, **more)
        assert (code, err) == (0, ""), (args, out, err)
        return out

    def json(self, *args, **more):
        return json.loads(self.ok("--json", *args, **more))

    def refused(self, *args, code=1, **more):
        """Expects a failure. Returns the first line of the error message, which must not name constraints."""
        got, out, err = self.run(*args, **more)
        assert got == code and err.startswith("neoapictl: ") and not re.search("constraint|ERROR", err), (args, got, out, err)
        return err.splitlines()[0]

    def on_terminal(self, *args, typed="", stdout=None, **env):
        """Runs neoapictl on a terminal and types the input at a prompt. Returns exit status and output."""
        ours, theirs = pty.openpty()
        settings = {**os.environ, "TERM": "xterm", **env}
        settings = {name: value for name,
                    value in settings.items() if value is not None and (name != "NO_COLOR" or name in env)}
        process = subprocess.Popen([self.program, *args], stdin=theirs, stdout=stdout or theirs, stderr=theirs, env=settings,
                                   start_new_session=True)
        os.close(theirs)
        got, deadline = b"", time.monotonic() + TIMEOUT_S
        try:
            while time.monotonic() < deadline:
                if select.select([ours], [], [], 0.1)[0]:
                    try:
                        got += os.read(ours, 65536)
                    except OSError:  # the process closed its end
                        break
                if typed and got.rstrip().endswith(b":"):
                    os.write(ours, (typed + "\n").encode())
                    typed = ""
        finally:
            os.close(ours)
            process.wait(TIMEOUT_S)
        return process.returncode, got.decode()


class Terminal:
    """A program on a terminal of its own, where Ctrl-C is a signal."""

    def __init__(self, *command, env):
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**env, "TERM": "dumb"},
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.output, self.read, self.decode = "", "", codecs.getincrementaldecoder("utf-8")().decode

    def _read(self):
        """Returns whether the program may print more."""
        if select.select([self.ours], [], [], 0.1)[0]:
            try:
                self.output += self.decode(os.read(self.ours, 65536)).replace("\r", "")
            except OSError:  # it has ended
                return False
        return True

    def expect(self, text):
        """Waits for a text after what was expected before. Returns what came until then."""
        deadline = time.monotonic() + TIMEOUT_S
        while text not in self.output[len(self.read):]:
            assert self._read() and time.monotonic() < deadline, self.output
        until = self.output[len(self.read):].partition(text)[0] + text
        self.read += until
        return until

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def end(self):
        """Waits for the end. Returns exit status and the whole output."""
        deadline = time.monotonic() + TIMEOUT_S
        while self._read():
            assert time.monotonic() < deadline, self.output
        os.close(self.ours)
        return self.process.wait(TIMEOUT_S), self.output


def peak_memory(process):
    """The peak memory of a process in kilobytes."""
    with open(f"/proc/{process.pid}/status") as status:
        found = re.search(r"VmHWM:\s+(\d+)", status.read())
    return int(found.group(1)) if found else 0
