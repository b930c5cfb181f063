# SPDX-License-Identifier: Apache-2.0
"""Data directories of PostgreSQL that are filled once for each build, and copied when an instance starts."""

import contextlib
import fcntl
import functools
import hashlib
import json
import shutil
import time
from pathlib import Path

import deployment


def digest_of(*paths):
    """A digest of all files that a data directory depends on."""
    paths = [deployment.BUILD / "neoapictl", *(deployment.ROOT / "tests/deploy").glob("*"), Path(__file__), *map(Path, paths),
             *Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:32]


@contextlib.contextmanager
def locked(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prepare(name, fill, *paths):
    """The data directory after `fill(instance)`, and its return value, which must be JSON. `paths` are files that the result
    depends on. The first test process prepares it, the others wait."""
    place = deployment.E2E_DIR / "prepared"
    prepared = place / f"{name}-{digest_of(*paths)}"
    with locked(place / f"{name}.lock"):
        if not prepared.exists():
            for old in place.glob(f"{name}-*"):
                if old.stat().st_mtime < time.time() - 3600:  # another session may be copying a newer one
                    shutil.rmtree(old)
            make(name, fill, prepared)
    return prepared / "cluster", json.loads((prepared / "result.json").read_text())


def make(name, fill, prepared):
    instance = deployment.Instance(f"prepare-{name}", CLUSTER="").up()
    try:
        result = fill(instance)
        instance.command("stop-db")
        new = prepared.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        shutil.move(instance.state / "pg", new / "cluster")
        (new / "result.json").write_text(json.dumps(result))
        new.rename(prepared)
    finally:
        instance.remove()


@functools.cache
def with_schema():
    """The initial data directory of every instance."""
    return prepare("schema", lambda instance: None)[0]
