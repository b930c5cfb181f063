#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of one way of the page "Running the service" as they stand, from nothing to an event that they have caused.
In a machine of machine.sh, with ways.html beside it, this is the way of the Debian package; tests/image/page.py imports it for the container."""
import html
import os
import pathlib
import re
import subprocess
import time

LIMIT_S = 60


def steps(text, way):
    """[(step, [commands])] of a way, from the source of the page."""
    section = re.split(r'<h2 id="', text.partition(f'<h2 id="{way}">')[2])[0]
    return [(re.match(r"[a-z]+", part)[0], [html.unescape(code) for code in re.findall(r'<pre data-label="Shell"><code[^>]*>(.*?)</code>', part, re.S)])
            for part in section.split(f'<h3 id="{way}-')[1:]]


class Shell:
    """bash in a directory, which keeps variables and functions from one block to the next."""

    def __init__(self, folder, env):
        self.folder = folder
        self.bash = subprocess.Popen(["bash"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     text=True, env=env)

    def do(self, block):
        """Returns what the commands print. Each must succeed."""
        self.bash.stdin.write(f"set -e\n{block}\nset +e\necho; echo '== done'\n")
        self.bash.stdin.flush()
        said = []
        for line in self.bash.stdout:
            if line == "== done\n":
                return "".join(said)
            said.append(line)
        raise AssertionError(f"{block}\n{''.join(said)}")

    def wait_for(self, name, text):
        """Waits until a file has the text."""
        deadline = time.monotonic() + LIMIT_S
        while not (self.folder / name).exists() or text not in (self.folder / name).read_text():
            assert time.monotonic() < deadline, (name, text, self.do(f"tail -n 20 {name}"))
            time.sleep(0.05)


def printed_secret(said):
    return next(iter(re.findall(r"^secret +(\S+)$", said, re.M)), None)


def walk(shell, way, before=lambda step: None):
    """Runs the steps. `before` is called with each step's name."""
    secret = "nbr_…"
    for step, commands in way:
        before(step)
        if step == "event":
            follow, cause = commands
            shell.do(f"({follow}) >events 2>notices &")  # ends with the machine
            shell.wait_for("notices", "Following")
            commands = [cause]
        for command in commands:
            said = shell.do(command.replace("nbr_…", secret))
            print(f"== {command}\n{said}", flush=True)
            secret = printed_secret(said) or secret
        assert step != "request" or '"principal_id"' in said, said
    shell.wait_for("events", "broker.created")


def main():
    pathlib.Path("/etc/apt/apt.conf.d/90trial").write_text('APT::Get::Assume-Yes "true";\n')  # a newcomer answers apt with yes
    shell = Shell(pathlib.Path.cwd(), {**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    walk(shell, steps(pathlib.Path("ways.html").read_text(), "debian"))


if __name__ == "__main__":
    main()
