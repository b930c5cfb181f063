# SPDX-License-Identifier: Apache-2.0
"""The deployment of the benchmark, with the processes of the peer."""

import json
import os
import pathlib
import select
import shutil
import subprocess

import deployment as measured
from deployment import free_port

DIRECTORY = pathlib.Path(__file__).resolve().parent
START_SECONDS = 30
TABLES = "peer.event, peer.webhook_delivery, peer.idempotency_key"


class Deployment(measured.Deployment):
    """The deployment of `make bench` with a fifth of the brokers. The peer is bound to the same processors as the servers."""

    rows = {"brokers": 200_000, "properties": 1_000}
    name = "bench-peers"

    def __init__(self, build, framework):
        super().__init__(build)
        self.peer = Peer(self, framework)

    def load(self):
        super().load()
        self.psql("-f", str(DIRECTORY / "peer.sql"))
        keys = ", ".join(f"(sha256('{one.key}'), (select min(id) from neoapi.credential where organization_id = '{one.id}'), '{one.tenant}', "
                         f"'{one.id}', array['brokers:read', 'brokers:write'], 1000000000, null)" for one in self.organizations)
        self.sql(f"insert into peer.api_key values {keys}")
        self.sql("vacuum (analyze) peer.broker, peer.api_key, peer.webhook_subscription")

    def clean(self):
        super().clean()
        if self.sql("select to_regclass('peer.idempotency_key')") != [[""]]:
            self.sql("set synchronous_commit = off", f"truncate {TABLES}", f"delete from peer.broker where id > '{self.filled_to}'")
            self.sql("vacuum (analyze) peer.broker")
            self.sql("checkpoint")

    def put(self, processors):
        super().put(processors)
        self.peer.put(processors)

    def down(self):
        self.peer.down()
        super().down()


class Peer:
    """The members of a deployment that Load uses."""

    def __init__(self, deployment, framework):
        self.deployment, self.place, self.framework = deployment, deployment.place, framework
        self.process = None
        self.port = None

    @property
    def client_processors(self):
        return self.deployment.client_processors

    def node(self):
        """Installs the packages of the peer in Node.js. Returns its command."""
        code = self.place / "peer"
        subprocess.run(["sh", DIRECTORY.parent / "deploy" / "npm.sh", DIRECTORY, code], check=True)
        for one in DIRECTORY.glob("*.mjs"):
            shutil.copy(one, code)
        return ["node", code / "peer.mjs"]

    def go(self):
        """Builds the peer in Go with Debian's packages. Returns its command."""
        env = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(self.place / "go-cache")}
        subprocess.run(["go", "build", "-o", self.place / "peer-go", "."], check=True, cwd=DIRECTORY / "go", env=env)
        return [self.place / "peer-go"]

    def up(self):
        command = self.go() if self.framework == "go" else self.node()
        self.port = free_port()
        wanted = {"framework": self.framework, "host": f"{self.deployment.env['NEOAPI_STATE']}/socket", "port": 5432, "user": "postgres",
                  "database": self.deployment.sql("select current_database()")[0][0], "listen": self.port}
        self.process = subprocess.Popen([*command, json.dumps(wanted)], text=True, stdout=subprocess.PIPE,
                                        env={**os.environ, "NODE_ENV": "production"})
        if not select.select([self.process.stdout], [], [], START_SECONDS)[0] or self.process.stdout.readline() != "ready\n":
            raise SystemExit("the peer does not start")

    def down(self):
        if self.process:
            self.process.terminate()
            self.process.wait(START_SECONDS)
            self.process = None

    def processes(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def put(self, processors):
        for process in self.processes():
            for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
                os.sched_setaffinity(int(task.name), processors)

    def processor_time(self):
        """The processor time of the peer and of the children of PostgreSQL, in seconds."""
        stats = [pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in self.processes()]
        own = sum(int(fields[11]) + int(fields[12]) for fields in stats) / measured.TICKS
        return [own, self.deployment.processor_time()[1]]
