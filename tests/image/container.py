# SPDX-License-Identifier: Apache-2.0
"""Runs the image with crun on the network of this machine, beside a PostgreSQL of its own with passwords. Needs root."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from wait import eventually  # noqa: E402

WWW_DATA = 33  # the image's user
LIMIT_S = 60
# crun refuses to start on a system with both versions of cgroups, even if it is to use none.
CRUN = ("unshare", "--mount", "sh", "-c", 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"', "-", "crun", "--cgroup-manager=disabled")
WITHOUT = ("network", "cgroup")  # namespaces


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT_S, **more)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Image:
    """An OCI layout, unpacked once; every container has it read-only."""

    def __init__(self, layout, version, place):
        run("umoci", "unpack", "--image", f"{layout}:{version}", place)
        self.root, self.config = place / "rootfs", json.loads((place / "config.json").read_text())


class Container:
    """`neoapictl` with these arguments in the image, with `secrets` as /etc/neoapi. `lines` are its output so far."""

    count = 0

    def __init__(self, image, place, secrets, *arguments, env=(), user=WWW_DATA, mounts=()):
        Container.count += 1
        self.name, self.lines = f"neoapi-{os.getpid()}-{Container.count}", []
        self.place = place / self.name
        self.place.mkdir()
        config = json.loads(json.dumps(image.config))
        config["root"] = {"path": str(image.root), "readonly": True}
        process = config["process"]
        process.update(terminal=False, args=["/usr/bin/neoapictl", *arguments], noNewPrivileges=True, capabilities={},
                       user={"uid": user, "gid": user}, env=[*process["env"], *(f"{name}={value}" for name, value in env)])
        config["linux"]["namespaces"] = [one for one in config["linux"]["namespaces"] if one["type"] not in WITHOUT]
        config["mounts"] = [one for one in config["mounts"] if one["destination"] in ("/proc", "/dev", "/dev/shm")] + [
            {"destination": where, "type": "bind", "source": str(what), "options": ["rbind", "ro"]}
            for where, what in [("/etc/neoapi", secrets), *mounts]]
        (self.place / "config.json").write_text(json.dumps(config))
        self.process = subprocess.Popen([*CRUN, "run", "--bundle", self.place, "--pid-file", self.place / "pid", self.name],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def pid(self):
        """Of its first process, outside of the container."""
        return int(eventually(lambda: (self.place / "pid").exists() and (self.place / "pid").read_text(), "a process"))

    def kill(self, number):
        os.kill(self.pid, number)

    def wait(self):
        """Returns the exit status and the output."""
        status = self.process.wait(LIMIT_S)
        self.reader.join(LIMIT_S)
        return status, "\n".join(self.lines)

    def close(self):
        if self.process.poll() is None:
            self.kill(signal.SIGKILL)
        self.wait()
        subprocess.run([*CRUN, "delete", "--force", self.name], capture_output=True)


class PostgreSQL:
    """A cluster that accepts passwords on 127.0.0.1."""

    def __init__(self, place, port=None):
        self.place, self.port, self.password = place, port or free_port(), base64.b32encode(os.urandom(20)).decode()
        self.bin = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        place.mkdir()
        (place / "password").write_text(self.password)
        for path in (place, place / "password"):
            shutil.chown(path, "postgres", "postgres")
        self._run("initdb", "-D", place / "data", "-U", "postgres", "-A", "scram-sha-256", "--auth-local=peer", "-E", "UTF8", "--locale=C.UTF-8",
                  "--no-sync", f"--pwfile={place / 'password'}")
        self._run("pg_ctl", "start", "-s", "-w", "-D", place / "data", "-l", place / "log", "-o",
                  f"-c listen_addresses=127.0.0.1 -p {self.port} -k {place} -c fsync=off")
        self.server = f"host=127.0.0.1 port={self.port}"

    def _run(self, program, *arguments):
        with open(self.place / "said", "w+") as said:
            done = subprocess.run(["runuser", "-u", "postgres", "--", str(self.bin / program), *map(str, arguments)], cwd="/",
                                  stdout=said, stderr=said, timeout=LIMIT_S)
            said.seek(0)
            assert done.returncode == 0, said.read()

    def close(self):
        self._run("pg_ctl", "stop", "-s", "-w", "-m", "immediate", "-D", self.place / "data")


def make_secrets(folder):
    """What a container is given: an encryption key, a certificate for localhost with its authority, and passwords."""
    folder.mkdir()
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    run("openssl", "req", "-x509", *curve, "-days", "2", "-subj", "/CN=test authority", "-keyout", folder / "ca.key", "-out",
        folder / "ca.pem")
    run("openssl", "req", *curve, "-subj", "/CN=localhost", "-keyout", folder / "tls.key", "-out", folder / "request")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1")
    run("openssl", "x509", "-req", "-days", "2", "-in", folder / "request", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key",
        "-CAcreateserial", "-extfile", folder / "names", "-out", folder / "tls.crt")
    (folder / "key").write_text(base64.b64encode(os.urandom(32)).decode())
    for name in ("password", "admin-password"):
        (folder / name).write_text(base64.b32encode(os.urandom(20)).decode())
    for file in folder.iterdir():
        os.chown(file, 0, WWW_DATA)  # as Kubernetes does with fsGroup
        file.chmod(0o640)


def health(port, query=""):
    """The status of neoapi-health; None if nothing answers."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        try:
            connection.request("GET", "/neoapi-health" + query)
            return connection.getresponse().status
        except OSError:
            return None
