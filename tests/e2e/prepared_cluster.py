"""Data directories of PostgreSQL that are filled once for each build, and copied when an instance starts."""

import contextlib
import fcntl
import functools
import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import deployment

KEYS = 100  # organizations with a key that a new instance has


def digest_of(*paths):
    """Of everything that a data directory depends on."""
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
    """The data directory with what `fill(instance)` has done, and what it returned, which must be JSON. `paths` are files that the
    result depends on. The first test process prepares it, the others wait."""
    place = deployment.PLACE / "prepared"
    prepared = place / f"{name}-{digest_of(*paths)}"
    with locked(place / f"{name}.lock"):
        if not prepared.exists():
            for old in place.glob(f"{name}-*"):
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


def add_keys(instance):
    """A plan that no test uses up, and org_admins' keys: tenant, organization, id, secret of each."""
    from admin_factory import run_ctl  # needs an instance itself
    ctl = functools.partial(run_ctl, instance)
    ctl("plan", "add", "prepared", "--requests", "10000000", "--window", "60")

    def add_key(number):
        tenant = ctl("tenant", "add", f"Prepared {number}", "--plan", "prepared")["id"]
        organization = ctl("organization", "add", f"Prepared {number}", "--tenant", tenant)["id"]
        key = ctl("key", "create", "prepared", "--organization", organization, "--role", "org_admin")
        return [tenant, organization, key["id"], key["secret"]]

    with ThreadPoolExecutor(4) as pool:
        return {"plan": "prepared", "keys": list(pool.map(add_key, range(KEYS)))}


@functools.cache
def with_keys():
    """What every instance begins with."""
    return prepare("keys", add_keys)
