# SPDX-License-Identifier: Apache-2.0
"""Makes a package of the next version, with a migration and a field of brokers, for the test of an upgrade: next.py MODULE.deb FOLDER"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from next_version import NEXT, WEBSITE, NextVersion  # noqa: E402


def main():
    deb, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for former in folder.glob("*.deb"):
        former.unlink()
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        made, tree = NextVersion(place, ("next", NEXT), edits=[WEBSITE]), place / "tree"
        subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
        subprocess.run(["install", "-m", "755", made.ctl, tree / "usr/bin/neoapictl"], check=True)
        subprocess.run(["install", "-m", "644", made.module, tree / "usr/lib/apache2/modules/mod_neoapi.so"], check=True)
        control = tree / "DEBIAN/control"
        control.write_text("".join(line.rstrip("\n") + "+next\n" if line.startswith("Version: ") else line
                                   for line in control.read_text().splitlines(keepends=True)))
        subprocess.run(["dpkg-deb", "-b", "--root-owner-group", tree, folder], check=True, stdout=subprocess.DEVNULL)


main()
