# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of doc/image.md, from the image to a webhook, with podman in a network of its own: page.py IMAGE FOLDER

test_page.py runs this with unshare, so that the ports of the page are free and everything ends with it. FOLDER has all its files."""
import contextlib
import pathlib
import re
import socket
import subprocess
import sys

from container import ROOT, PostgreSQL, health, run
from wait import eventually

# Podman would raise the limits, which a sandbox may not allow.
CONF = """[containers]
cgroups = "disabled"
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE = '[storage]\ndriver = "vfs"\ngraphroot = "{0}/graph"\nrunroot = "{0}/run"\n'

def blocks():
    """The indented blocks of the section."""
    section = (ROOT / "doc/image.md").read_text().split("\n## First webhook\n")[1].split("\n## ")[0]
    return [re.sub("^    ", "", block, flags=re.M) for block in re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", section, re.M)]

class Shell:
    """bash in a directory, which keeps variables and functions from one block to the next."""

    def __init__(self, folder, env):
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

def is_listening(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0

def main():
    image, folder = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2])
    run("ip", "link", "set", "lo", "up")
    run("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")  # crun refuses both versions at a time
    (folder / "build").mkdir()
    (folder / "build/image").symlink_to(image)
    (folder / "containers.conf").write_text(CONF)
    (folder / "storage.conf").write_text(STORAGE.format(folder))
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder), "CONTAINERS_CONF": str(folder / "containers.conf"),
           "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")}
    with contextlib.closing(PostgreSQL(folder / "pg", 5432)) as database:
        shell, secret = Shell(folder, {**env, "SUPERUSER": database.password}), None
        try:
            for block in blocks():
                if block.startswith("import "):
                    (folder / "receive.py").write_text(block)
                    continue
                if block.startswith("api() {"):
                    eventually(lambda: health(8081) == 200, "it is ready")
                    assert "ready" in run("podman", "exec", "neoapi", "neoapictl", "health", env=env)
                if block.startswith("api -d"):
                    eventually(lambda: is_listening(8555), "the receiver listens")
                said = shell.do(block.replace("nbr_…", secret or "nbr_…"))
                print(said)
                secret = next(iter(re.findall(r"^secret +(\S+)$", said, re.M)), secret)
            eventually(lambda: "genuine {" in (folder / "received").read_text(), "the webhook")
            shell.do("podman stop neoapi && [ $(podman inspect --format '{{.State.ExitCode}}' neoapi) = 0 ]; kill %1")
        finally:
            subprocess.run(["podman", "rm", "--force", "--time", "0", "--all"], env=env, capture_output=True)
            shell.bash.kill()

main()
