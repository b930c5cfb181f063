# SPDX-License-Identifier: Apache-2.0
"""Lists the project's files for the checks: those that git tracks or would add; without git, all except build directories."""
import os
import pathlib
import subprocess
import sys

MADE = {".git", "build", "__pycache__", "node_modules", ".pytest_cache"}


def _of_git(root):
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True)
    return listing.stdout.split("\0") if listing.returncode == 0 else None


def _of_folder(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in MADE]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root)


def files(root, *suffixes):
    """The paths below `root` that end in one of the suffixes (all if none is given), sorted, relative to it."""
    names = _of_git(root) if (root / ".git").exists() else None
    paths = {pathlib.PurePath(name) for name in (names if names is not None else _of_folder(root)) if name}
    kept = (p for p in paths if not MADE & set(p.parts) and (not suffixes or p.suffix in suffixes))
    return sorted(p for p in kept if (root / p).is_file())


def text(root, path):
    """A file's text; None if it is binary."""
    try:
        content = (root / path).read_bytes().decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in content else content


def root():
    """The folder to check, from the command line."""
    return pathlib.Path(sys.argv[1]).resolve()


def report(complaints, summary):
    """Prints the complaints and exits with 1, or prints what was checked."""
    for complaint in complaints:
        print(complaint)
    if not complaints:
        print(summary)
    sys.exit(1 if complaints else 0)
