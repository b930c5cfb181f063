# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a page, from the image to a webhook or an event, with podman in a network of its own: page.py IMAGE FOLDER PAGE

PAGE is doc/image.md, or src/docs/ways.html with its way of the container. test_page.py runs this with unshare, so that the ports of the
page are free and everything ends with it. FOLDER has all its files."""
import contextlib
import pathlib
import re
import subprocess
import sys

from container import ROOT, PostgreSQL, health, run
from wait import eventually

sys.path.insert(0, str(ROOT / "tests/package"))

from way import Shell, printed_secret, steps, walk  # noqa: E402

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


def run_image_page(shell, env):
    folder, secret = shell.folder, None
    for block in blocks():
        if block.startswith("import "):
            (folder / "receive.py").write_text(block)
            continue
        if block.startswith("api() {"):
            eventually(lambda: health(8081) == 200, "it is ready")
            assert "ready" in run("podman", "exec", "neoapi", "neoapictl", "health", env=env)
        said = shell.do(block.replace("nbr_…", secret or "nbr_…"))
        print(said)
        secret = printed_secret(said) or secret
    shell.wait_for("received", "genuine {")
    shell.do("kill %1")


def run_way(shell):
    walk(shell, steps((ROOT / "src/docs/ways.html").read_text(), "container"),
         lambda step: step == "request" and eventually(lambda: health(8081) == 200, "it is ready"))


def main():
    image, folder, page = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]), sys.argv[3]
    run("ip", "link", "set", "lo", "up")
    run("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")  # crun refuses both versions at a time
    (folder / "build").mkdir()
    (folder / "build/image").symlink_to(image)
    (folder / "containers.conf").write_text(CONF)
    (folder / "storage.conf").write_text(STORAGE.format(folder))
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder), "CONTAINERS_CONF": str(folder / "containers.conf"),
           "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf")}
    with contextlib.closing(PostgreSQL(folder / "pg", 5432)) as database:
        shell = Shell(folder, {**env, "PGHOST": str(database.place)})  # of the command that sets the superuser's password
        try:
            if page == "doc/image.md":
                run_image_page(shell, env)
            else:
                run_way(shell)
            shell.do("podman stop neoapi && [ $(podman inspect --format '{{.State.ExitCode}}' neoapi) = 0 ]")
        finally:
            subprocess.run(["podman", "rm", "--force", "--time", "0", "--all"], env=env, capture_output=True)
            shell.bash.kill()

main()
