#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sets up a host with the questions of `neoapictl setup`, in a machine of machine.sh: first with Ctrl-C at each question, then up to a request."""
import fcntl
import glob
import os
import pty
import re
import select
import subprocess
import termios
import time

HOST = subprocess.run(["hostname", "--fqdn"], capture_output=True, text=True, check=True).stdout.strip()
# The question, and its answer.
ANSWERS = [("Name of the database [neoapi]: ", ""), ("(empty: none): ", "Imobiliária Exemplo"), (f"(-: no site) [{HOST}]: ", ""),
           ("Number [1]: ", ""), ("Continue? [y/N]: ", "y")]


class Terminal:
    """neoapictl setup on a terminal of its own, where Ctrl-C is a signal."""

    def __init__(self):
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(["neoapictl", "setup"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.output = ""

    def read_until(self, text, timeout_s=120):
        """Reads until the output contains the text; None: to the end."""
        deadline = time.monotonic() + timeout_s
        while text is None or text not in self.output:
            assert time.monotonic() < deadline, self.output
            if select.select([self.ours], [], [], 0.2)[0]:
                try:
                    self.output += os.read(self.ours, 65536).decode(errors="replace").replace("\r", "")
                except OSError:
                    break
        assert text is None or text in self.output, self.output

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def end(self):
        self.read_until(None)
        os.close(self.ours)
        return self.process.wait(60)


def state():
    """What may not change before it is confirmed."""
    databases = subprocess.run(["runuser", "-u", "postgres", "--", "psql", "-AtqXc",
                                "select datname from pg_database union all select rolname from pg_roles order by 1"],
                               capture_output=True, text=True, check=True, cwd="/").stdout
    files = subprocess.run(["find", "/etc/apache2", "/etc/neoapi", "-printf", "%p %l %s\n"], capture_output=True, text=True, check=True)
    return databases, sorted(files.stdout.splitlines())


subprocess.run(["apt-get", "-q", "-y", "install", *glob.glob("./libapache2-mod-neoapi_*.deb"), "postgresql"], check=True,
               stdout=subprocess.DEVNULL, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
before = state()
for count in range(len(ANSWERS)):
    terminal = Terminal()
    for question, answer in ANSWERS[:count]:
        terminal.read_until(question)
        terminal.type(answer + "\n")
    terminal.read_until(ANSWERS[count][0])
    terminal.type("\x03")
    assert terminal.end() == 1 and "nothing was changed" in terminal.output, terminal.output
    assert state() == before

terminal = Terminal()
for question, answer in ANSWERS:
    terminal.read_until(question)
    terminal.type(answer + "\n")
terminal.read_until("role neoapi_owner: created")
terminal.type("\x03")  # what is confirmed is done as a whole
assert terminal.end() == 0, terminal.output
print(terminal.output)
secret, = re.findall(r"^secret +(nbr_\S+)$", terminal.output, re.MULTILINE)
reply = subprocess.run(["curl", "-sS", "--fail", "--cacert", "/etc/neoapi/ca.pem", "-H", f"X-API-Key: {secret}",
                        f"https://{HOST}/public/v1/me"], capture_output=True, text=True, check=True).stdout
assert '"principal_id"' in reply, reply

# The printed commands are those of the README.
printed = terminal.output.rpartition("The same without questions:")[2]
for command in ("runuser -u postgres -- neoapictl setup --runtime-role www-data --admin-role root --tenant 'Imobiliária Exemplo' &&",
                "(set -C && umask 077 && openssl rand -base64 32 >/etc/neoapi/key) &&", f"neoapictl site create {HOST} --self-signed\n"):
    assert command in printed, printed

terminal = Terminal()
terminal.read_until(ANSWERS[0][0])
terminal.type("\n")
terminal.read_until(ANSWERS[1][0])
terminal.type("\n")
terminal.read_until(ANSWERS[4][0])
terminal.type("\n")
assert terminal.end() == 1 and "exists and is not changed" in terminal.output and "openssl" not in terminal.output, terminal.output
