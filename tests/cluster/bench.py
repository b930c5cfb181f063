# SPDX-License-Identifier: Apache-2.0
"""Measures what replicas change, in a cluster of its own with two hosts: bench.py BUILD [ROUNDS]

Prints for each load, with no, one and two replicas for reads: requests a second, processor time of a request on the primary and on both
hosts, and the share of lists that the primary answered. All is measured in turn, and the medians of the rounds are printed.
"""
import json
import re
import sys
import urllib.request
from collections import defaultdict
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).parents[1] / "bench"))
from clients import Client  # noqa: E402
from faults import Cluster, replace  # noqa: E402
from load import Load  # noqa: E402

BROKERS, BATCH, SECONDS, WARM_UP, TICKS, HOSTS = 5000, 100, 6, 2, 100, ("host1", "host2")


class Exporter(Client):
    """Exports all brokers, again and again."""

    pause_s = 0

    def step(self):
        self.send("brokers/export")


class BenchCluster(Cluster):
    """With what Load needs of a deployment."""

    client_processors = None

    @property
    def place(self):
        return self.directory

    def processor_time(self):
        """Seconds of the hosts, and of the primary."""
        parents = [[self.pid(f"run/{host}.pid") for host in HOSTS], [self.pid(f"{self.server('leader')}/data/postmaster.pid")]]
        used = [0, 0]
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            for i, pids in enumerate(parents):
                if int(path.parent.name) in pids:
                    used[i] += sum(map(int, fields[11:15]))  # with its children that have ended
                elif int(fields[1]) in pids:
                    used[i] += sum(map(int, fields[11:13]))
        return [ticks / TICKS for ticks in used]

    def list_reads(self):
        """The number of lists and exports that replicas have answered, and that the primary has."""
        found = defaultdict(int)
        for name in ("NEOAPI_HOST_1_URL", "NEOAPI_HOST_2_URL"):
            client = Client(self.env())
            with urllib.request.urlopen(self.env()[name].replace("public/v1/", "neoapi-metrics"), context=client.context) as response:
                for server, count in re.findall(r'list_reads_total\{server="(\w+)"\} (\d+)', response.read().decode()):
                    found[server] += int(count)
        return found["replica"], found["primary"]

    def use_replicas(self, count):
        standbys = sorted(name for name, role in self.members().items() if role != "leader")
        unused = "|".join(standbys[count:]) or "none"
        for number, host in enumerate(HOSTS, 1):
            proxy = f"haproxy{number}"
            for node in (host, proxy):
                self.run("kill", node)
            replace(self.directory / host / "httpd.conf", "#*NeoAPIReadDSN", "NeoAPIReadDSN" if count else "#NeoAPIReadDSN")
            config = self.directory / proxy / "haproxy-primary.cfg"
            replace(config, " disabled", "")
            primary, replicas = config.read_text().split("listen replicas")
            config.write_text(primary + "listen replicas" + re.sub(rf"(server ({unused}) .*)", r"\1 disabled", replicas))
            for node in (proxy, host):
                self.run("start", node)


def fill(client):
    for first in range(0, BROKERS, BATCH):
        client.send("brokers/batch", {"operations": [
            {"method": "create", "data": {"name": f"Broker {number}", "email": f"broker{number}@example.com"}}
            for number in range(first, first + BATCH)]})


def measure(cluster, load, is_exporting):
    exporter = Exporter(cluster.env())
    if is_exporting:
        exporter.start()
    load.run(WARM_UP)
    before = cluster.list_reads()
    measured = load.run(SECONDS)
    replica, primary = (after - start for start, after in zip(before, cluster.list_reads()))
    exporter.is_stopping = True
    if is_exporting:
        exporter.join()
    if measured.refused or measured.broken or exporter.failures:
        sys.exit(f"requests failed: {measured}, {exporter.failures}")
    hosts, server = (used / measured.requests * 1e6 for used in measured.processor)
    return measured.rate, server, hosts, 100 * primary / (replica + primary) if replica + primary else None


def run(cluster, rounds):
    cluster.run("up", cluster.build)
    env = cluster.env()
    fill(Client(env))
    _, made = cluster.neoapictl("key", "create", "bench", "--organization", env["NEOAPI_ORG_2"], "--role", "org_admin")
    key, other = env["NEOAPI_KEY"], json.loads(made)["secret"]
    filters = [f"GET /public/v1/brokers?email=broker{number}@example.com {key}" for number in range(500)]
    creates = Load(cluster, "creates", [f'POST /public/v1/brokers {other}+ {{"name":"Ana #"}}'], connections=8)
    loads = {"list with a filter": (Load(cluster, "filters", filters), False),
             "list with count": (Load(cluster, "counts", [f"GET /public/v1/brokers?count=true&limit=20 {key}"]), False),
             "create": (creates, False), "create, beside exports": (creates, True)}
    found = defaultdict(list)
    for number in range(rounds):
        for replicas in (0, 1, 2):
            cluster.use_replicas(replicas)
            for name, (load, is_exporting) in loads.items():
                load.url = env["NEOAPI_URL"].rstrip("/")
                found[name, replicas].append(measure(cluster, load, is_exporting))
        print(f"round {number + 1} of {rounds}", flush=True)
    print("request                  replicas   a second   µs of the primary   µs of the hosts   lists from the primary")
    for name in loads:
        for replicas in (0, 1, 2):
            rate, server, hosts, share = zip(*found[name, replicas])
            share = "" if share[0] is None else f"{median(share):.1f} %"
            print(f"{name:24} {replicas:8} {median(rate):10,.0f} {median(server):19,.0f} {median(hosts):17,.0f} {share:>24}")


def main():
    cluster = BenchCluster(Path(sys.argv[1]).resolve())
    try:
        run(cluster, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
    finally:
        cluster.run("remove")


main()
