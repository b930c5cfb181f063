# SPDX-License-Identifier: Apache-2.0
"""The faults of a cluster. Each is a context manager: the fault is there within it, and mended after it."""
import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

SCRIPT = Path(__file__).with_name("cluster.sh")
SERVERS = ("db1", "db2", "db3")
WAIT_S, FROZEN_S, LAG_S = 300, 40, 3


class Cluster:
    """`namespaces` are those of machines.py, if there are any. `errors` are what is wrong beside the clients' histories."""

    def __init__(self, build, namespaces=()):
        self.build, self.directory, self.namespaces, self.errors = build, build / "cluster-test", namespaces, []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])

    def run(self, command, *arguments):
        """Runs cluster.sh. Its output goes to a file, because a pipe would stay open with the servers."""
        with open(self.build / "cluster-test.log", "a+", encoding="utf-8") as log:
            begun = log.tell()
            done = subprocess.run(["sh", SCRIPT, command, self.directory, *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL, timeout=600,
                                  env={**os.environ, "NEOAPI_CLUSTER_PORT": self.port, "NEOAPI_CLUSTER_NAMESPACES": " ".join(self.namespaces)})
            log.seek(begun)
            said = log.read()
        if done.returncode:
            sys.exit(f"cluster.sh {command} {' '.join(map(str, arguments))} failed:\n{said}")
        return said

    def variables(self, file):
        return dict(word.split("=", 1) for word in shlex.split((self.directory / file).read_text()))

    def env(self):
        return self.variables("env")

    def neoapictl(self, *arguments):
        """Returns the exit status and what it printed. Status 4: a host has not confirmed a revocation."""
        done = subprocess.run([self.env()["NEOAPI_CTL"], "--json", *arguments], stdout=subprocess.PIPE, timeout=WAIT_S)
        if done.returncode not in (0, 4):
            sys.exit(f"neoapictl {' '.join(arguments)} failed")
        return done.returncode, done.stdout

    def patronictl(self, command, *arguments):
        subprocess.run(["patronictl", "-c", self.directory / "db1/patroni.yml", command, "neoapi", "--force", *arguments], check=True,
                       stdout=subprocess.DEVNULL, timeout=WAIT_S)

    def psql(self, server, text, namespace=None):
        """The lines that a statement prints on the server; None if it cannot be executed."""
        settings = self.variables("settings")
        address = f"127.0.0.1{server[-1]}"
        inside = ["nsenter", f"--net={namespace}"] if namespace else []
        done = subprocess.run([*inside, f"{settings['PGBIN']}/psql", "-qXAt", "-c", text,
                               f"host={address} port={settings['PG_PORT']} dbname=neoapi user=postgres passfile={self.directory}/pgpass connect_timeout=3"],
                              capture_output=True, text=True, timeout=WAIT_S)
        return done.stdout.splitlines() if done.returncode == 0 else None

    def members(self):
        """The role of each server that runs; empty while no Patroni answers, or those that do disagree: one that was cut off still names
        the roles of before."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        views = []
        for server in SERVERS:
            with contextlib.suppress(OSError, ValueError), opener.open(
                    f"http://127.0.0.1{server[-1]}:{self.variables('settings')['PATRONI_PORT']}/cluster", timeout=3) as response:
                members = json.load(response)["members"]
                views.append({one["name"]: one["role"] for one in members if one["state"] in ("running", "streaming")})
        return views[0] if views and all(view == views[0] for view in views) else {}

    def await_roles(self, *roles):
        until = time.monotonic() + WAIT_S
        while sorted(self.members().values()) != sorted(roles):
            if time.monotonic() > until:
                logs = [(self.directory / f"log/{name}.log").read_text()[-3000:] for name in SERVERS if name not in self.members()]
                sys.exit("\n".join([f"the servers do not become {roles}: {self.members()}", *logs]))
            time.sleep(0.2)

    def await_result(self, read, what):
        """What read() returns once that is not None."""
        until = time.monotonic() + WAIT_S
        while (result := read()) is None:
            if time.monotonic() > until:
                sys.exit(f"{what}: {self.members()}")
            time.sleep(0.2)
        return result

    def server(self, role):
        return self.await_result(lambda: next((name for name, its_role in self.members().items() if its_role == role), None),
                                 f"no server becomes {role}")

    def read_primary(self, text):
        """The lines that a statement prints on the primary."""
        return self.await_result(lambda: self.psql(self.server("leader"), text), "the primary does not respond")

    def pid(self, file):
        return int((self.directory / file).read_text().split()[0])


@contextlib.contextmanager
def killed(cluster, *nodes):
    nodes = [cluster.server("leader") if node == "primary" else node for node in nodes]
    for node in nodes:
        cluster.run("kill", node)
    yield
    for node in nodes:
        cluster.run("start", node)


@contextlib.contextmanager
def killed_process(cluster, file):
    """Kills the process of the primary whose id is in the file: its children notice."""
    server = cluster.server("leader")
    os.kill(cluster.pid(file.format(server)), signal.SIGKILL)
    yield
    cluster.run("start", server)


@contextlib.contextmanager
def frozen(cluster, role):
    server = cluster.server(role)
    cluster.run("freeze", server)
    begun = time.monotonic()
    yield
    time.sleep(max(0, begun + FROZEN_S - time.monotonic()))
    cluster.run("thaw", server)


@contextlib.contextmanager
def switchover(cluster):
    cluster.patronictl("switchover")
    yield


@contextlib.contextmanager
def partitioned(cluster):
    """Cuts the machine of the primary off, with its etcd. It must have stopped being a primary before it is connected again."""
    server = cluster.server("leader")
    link = ["ip", "link", "set", f"machine{server[-1]}"]
    subprocess.run([*link, "down"], check=True)
    yield
    if cluster.psql(server, "select pg_is_in_recovery()", cluster.namespaces[int(server[-1]) - 1]) == ["f"]:
        cluster.errors.append(f"partition: {server} is still a primary")
    subprocess.run([*link, "up"], check=True)


@contextlib.contextmanager
def lagging(cluster):
    """Pauses the replay on both standbys."""
    standbys = [name for name, role in cluster.members().items() if role != "leader"]
    for standby in standbys:
        cluster.psql(standby, "select pg_wal_replay_pause()")
    yield
    for standby in standbys:
        cluster.psql(standby, "select pg_wal_replay_resume()")


@contextlib.contextmanager
def asynchronous(cluster, lag_s):
    """Kills the primary without synchronous_mode, after its standbys have received nothing for some seconds, as over a slow network."""
    cluster.patronictl("edit-config", "-s", "synchronous_mode=false")
    cluster.await_roles("leader", "replica", "replica")
    server = cluster.server("leader")
    postmaster = cluster.pid(f"{server}/data/postmaster.pid")
    for sender in map(int, Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()):
        if lag_s and b"walsender" in Path(f"/proc/{sender}/cmdline").read_bytes():
            os.kill(sender, signal.SIGSTOP)
    time.sleep(lag_s)
    with killed(cluster, server):
        yield
    cluster.await_roles("leader", "replica", "replica")
    cluster.patronictl("edit-config", "-s", "synchronous_mode=true")
    cluster.await_roles("leader", "replica", "sync_standby")


FAULTS = {
    "switchover": switchover,
    "primary": lambda cluster: killed(cluster, "primary"),
    "postgresql": lambda cluster: killed_process(cluster, "{}/data/postmaster.pid"),
    "patroni": lambda cluster: killed_process(cluster, "run/{}.pid"),
    "frozen-primary": lambda cluster: frozen(cluster, "leader"),
    "partition": partitioned,
    "standby": lambda cluster: killed(cluster, cluster.server("sync_standby")),
    "frozen-standby": lambda cluster: frozen(cluster, "sync_standby"),
    "lag": lagging,
    "etcd": lambda cluster: killed(cluster, "etcd1"),
    "etcd-majority": lambda cluster: killed(cluster, "etcd1", "etcd2"),
    "asynchronous": lambda cluster: asynchronous(cluster, 0),
    "asynchronous-lag": lambda cluster: asynchronous(cluster, LAG_S),
    **{node: lambda cluster, node=node: killed(cluster, node) for node in ("pgbouncer1", "haproxy1", "host1", "host2", "haproxy")},
}


# ---------------------------------------------------------------- machines

def in_private_network():
    """Runs this program again in a network of its own, if it may. Returns whether it is there."""
    if os.environ.get("NEOAPI_CLUSTER_PRIVATE"):
        return True
    if os.geteuid() == 0 and subprocess.run(["sh", "-c", "command -v ip && unshare --net true"], stdout=subprocess.DEVNULL).returncode == 0:
        os.environ["NEOAPI_CLUSTER_PRIVATE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", *sys.argv])
    return False


@contextlib.contextmanager
def machines():
    """Three network namespaces, each with one of the addresses 127.0.0.11 to 127.0.0.13, whose links machine1 to machine3 can be cut. All
    others have the address 127.0.0.100 for them. Yields their files."""
    def sh(text, *command):
        subprocess.run([*command, "sh", "-ec", text], check=True)
    addresses = [f"127.0.0.1{number}" for number in (1, 2, 3)]
    sh("ip link set lo up; ip link add machines type bridge; ip link set machines up; echo 1 >/proc/sys/net/ipv4/conf/machines/route_localnet")
    holders = []
    try:
        for number, address in enumerate(addresses, 1):
            # It prints when it is in its namespace, and ends when its standard input is closed.
            holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; read -r _"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            holder.stdout.readline()
            holders.append(holder)
            sh(f"ip link add machine{number} type veth peer name eth0 netns {holder.pid}; ip link set machine{number} master machines up;"
               f"ip route add {address} dev machines table local src 127.0.0.100")
            others = [other for other in (*addresses, "127.0.0.100") if other != address]
            sh("ip link set lo up; ip link set eth0 up; echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet;"
               + ";".join(f"ip route add {other} dev eth0 table local src {address}" for other in others),
               "nsenter", f"--net=/proc/{holder.pid}/ns/net")
        yield [f"/proc/{holder.pid}/ns/net" for holder in holders]
    finally:
        for holder in holders:
            holder.communicate()


def replace(path, pattern, text):
    path.write_text(re.sub(pattern, text, path.read_text()))
