# SPDX-License-Identifier: Apache-2.0
"""The private deployment of the benchmark: Apache with both handlers, and PostgreSQL with organizations that have a million brokers
and a million properties."""

import hashlib
import json
import os
import pathlib
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass

DIRECTORY = pathlib.Path(__file__).resolve().parent
SQL = DIRECTORY.parent.parent / "sql"
ROWS = {"brokers": 1_000_000, "properties": 1_000_000}
TABLES = {"brokers": "broker", "properties": "property"}
ORGANIZATIONS = 50
PID_FILES = {"httpd": "NEOAPI_PID", "db": "NEOAPI_DB_PID"}
TICKS = os.sysconf("SC_CLK_TCK")
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"

# A limit that two cores do not reach in a minute.
PLAN = ["plan", "create", "bench", "--requests", "1000000000", "--window", "60", "--concurrent-requests", "1000000",
        "--deliveries-per-hour", "1000000000"]

# No checkpoint or autovacuum during a run, which would slow only one of the handlers; `clean` does their work between runs. With
# min_wal_size and the end of fill.sql, the server reuses WAL segments, like one that has been running for long, instead of creating
# them during the runs.
SETTINGS = {"max_wal_size": "32GB", "min_wal_size": "4GB", "checkpoint_timeout": "1d", "autovacuum": "off"}

# While the data is created: writes to tables that the same transaction has truncated are not written to the WAL.
LOADING = {"wal_level": "minimal", "max_wal_senders": "0"}


@dataclass
class Organization:
    id: str
    tenant: str
    key: str  # the secret of an API key of the organization

    def path(self, handler, rest="", collection="brokers"):
        """The path of the collection in a handler."""
        base = f"/bare/{self.tenant}/{self.id}" if handler == "bare" else "/public/v1"
        return f"{base}/{collection}{rest}"


def id_bound(moment):
    """A lower bound of the ids of brokers that are created at or after this time (seconds)."""
    ms = int(moment * 1000)
    return "brk_" + "".join(BASE32[ms >> shift & 31] for shift in range(45, -5, -5)) + "0" * 16


def describe_rows(rows):
    """Describes the data: "1,000,000 brokers"."""
    return " and ".join(f"{many:,} {collection}" for collection, many in rows.items())


def recipe():
    """A hash of sql/ and fill.sql: if it changes, the data is created again."""
    files = [*sorted(SQL.glob("*.sql")), DIRECTORY / "fill.sql"]
    return hashlib.sha256(b"".join(one.name.encode() + one.read_bytes() for one in files)).hexdigest()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Deployment:
    rows = ROWS
    name = "bench"  # the directory in BUILD

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.place = self.build / self.name
        self.dir = self.place / "instance"
        self.known = self.dir / "bench.json"  # describes the stored data and how it was created
        self.env = {}
        self.organizations = []
        self.client_processors = None  # for the client; None: all
        self.filled_to = None  # the last id that fill.sql created

    # ------------------------------------------------------------ servers

    def instance(self, command, **settings):
        script = DIRECTORY.parent / "deploy" / "instance.sh"
        subprocess.run(["sh", script, command, self.dir, *(f"{name}={value}" for name, value in settings.items())], check=True)

    def up(self, **settings):
        """Restarts both servers; `settings` are those of instance.sh."""
        self.instance("down")
        if self.dir.exists() and not (self.known.exists() and json.loads(self.known.read_text())[0] == recipe()):
            print("an earlier run did not finish, or its data was made by other migrations: making everything anew", flush=True)
            self.instance("remove")
        conf = self.place / "httpd.conf"
        conf.parent.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        conf.write_text(f'Define BARE "{self.build}/bench/mod_bare.so"\nDefine BENCH_PORT {self.port}\n'
                        f'Include "{DIRECTORY}/httpd.conf"\n')
        self.instance("up", MODULE=str(self.build / "mod_neoapi.so"), CTL=str(self.build / "neoapictl"), SERVER_CONF=str(conf),
                      **settings)
        lines = (self.dir / "env").read_text().splitlines()
        self.env = {name: value.strip("'") for name, _, value in (line.partition("=") for line in lines)}
        for name, value in SETTINGS.items():
            self.sql(f"alter system set {name} = '{value}'")
        self.sql("select pg_reload_conf()")

    def down(self):
        self.instance("down")

    def restart_httpd(self):
        self.instance("stop-httpd")
        self.instance("start-httpd")

    def restart_db(self, *changes):
        self.sql(*changes)
        self.instance("stop-db")
        self.instance("start-db")

    def httpd_version(self):
        """Apache's version from its log: "Apache/2.4.62 (Unix)"."""
        lines = pathlib.Path(self.env["NEOAPI_ERROR_LOG"]).read_text().splitlines()
        return next((line.partition("AH00489: ")[2].partition(" configured")[0] for line in reversed(lines) if "AH00489" in line), "")

    def children(self, server):
        """/proc/PID/stat of each process of "httpd" or "db", by number."""
        parent = pathlib.Path(self.env[PID_FILES[server]]).read_text().split()[0]
        found = {}
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if fields[1] == parent:
                found[int(path.parent.name)] = fields
        return found

    def processor_time(self):
        """The processor time of the children of Apache and of PostgreSQL, in seconds."""
        return [sum(int(fields[11]) + int(fields[12]) for fields in self.children(server).values()) / TICKS
                for server in ("httpd", "db")]

    # ------------------------------------------------------------ processors

    def put(self, processors):
        """Binds the servers' processes to these processors, parents first, because new children inherit the binding."""
        for server, name in PID_FILES.items():
            parent = int(pathlib.Path(self.env[name]).read_text().split()[0])
            for process in (parent, *self.children(server)):
                for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
                    try:
                        os.sched_setaffinity(int(task.name), processors)
                    except ProcessLookupError:  # it has ended
                        continue

    @contextmanager
    def on_separate_cores(self):
        """A context in which the client has a quarter of the processors, at least one, and the servers have the others. If they share
        processors, scheduling dominates: on two processors, runs of one handler varied from 18,000 to 41,000 responses per second."""
        every = sorted(os.sched_getaffinity(0))
        own = every[-max(1, len(every) // 4):]
        if len(every) > 1:
            self.put(every[:-len(own)])
            self.client_processors = own
        try:
            yield
        finally:
            self.client_processors = None
            self.put(every)

    # ------------------------------------------------------------ the database

    def psql(self, *arguments):
        command = ["psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d", self.env["NEOAPI_ADMIN_DSN"]]
        return subprocess.run([*command, *arguments], check=True, text=True, stdout=subprocess.PIPE).stdout

    def sql(self, *statements):
        """Runs SQL. Returns the rows of the last statement, as lists of texts."""
        out = self.psql(*(part for statement in statements for part in ("-c", statement)))
        return [line.split("\t") for line in out.splitlines()]

    def number(self, query):
        return int(self.sql(query)[0][0])

    def ctl(self, *arguments):
        out = subprocess.run([self.env["NEOAPI_CTL"], "--json", *arguments], check=True, text=True, stdout=subprocess.PIPE)
        return json.loads(out.stdout)

    # ------------------------------------------------------------ the data

    def load(self):
        """Creates the data, unless an earlier run has created it."""
        if not self.known.exists():
            self.make()
        _, self.filled_to, organizations = json.loads(self.known.read_text())
        self.organizations = [Organization(**fields) for fields in organizations]
        self.clean()
        for collection, table in TABLES.items():
            counts = self.sql(f"select count(*) from neoapi.{table} group by organization_id")
            if counts != [[str(self.rows[collection] // ORGANIZATIONS)]] * ORGANIZATIONS:
                raise SystemExit("the data of an earlier run is damaged: make bench-remove")

    def make(self):
        print(f"making {ORGANIZATIONS} organizations with {describe_rows(self.rows)}, which takes some minutes", flush=True)
        self.ctl(*PLAN)
        tenant = self.ctl("tenant", "create", "Bench", "--plan", "bench")["id"]
        made = []
        for number in range(ORGANIZATIONS):
            organization = self.ctl("organization", "create", f"Organization {number + 1}", "--tenant", tenant)["id"]
            key = self.ctl("key", "create", "bench", "--organization", organization, "--role", "org_admin")["secret"]
            made.append({"id": organization, "tenant": tenant, "key": key})
        self.restart_db(*(f"alter system set {name} = '{value}'" for name, value in LOADING.items()))
        self.psql(*(part for name, many in self.rows.items() for part in ("-v", f"{name}={many}")),
                  "-f", str(DIRECTORY / "fill.sql"))
        self.restart_db(*(f"alter system reset {name}" for name in LOADING))
        last = self.sql("select max(id) from neoapi.broker")[0][0]
        new = self.known.with_suffix(".new")
        new.touch(mode=0o600)
        new.write_text(json.dumps([recipe(), last, made]))
        new.rename(self.known)

    def clean(self):
        """Deletes what runs have created, and does the work of vacuum and checkpoint."""
        self.await_quiet()
        self.sql(
            "set synchronous_commit = off", "truncate neoapi.event, neoapi.webhook_delivery, neoapi.webhook_queue, neoapi.idempotency_key",
            f"delete from neoapi.broker b using neoapi.organization o where b.organization_id = o.id and b.id > '{self.filled_to}'")
        self.sql("vacuum (analyze) neoapi.broker")
        self.sql("checkpoint")

    def await_quiet(self):
        """Waits for the end of requests that a client has abandoned."""
        limit = time.monotonic() + 30
        while self.number("select count(*) from pg_stat_activity where application_name in ('neoapi', 'peer') and state <> 'idle'") > 0:
            if time.monotonic() > limit:
                raise SystemExit("the database is still busy with requests of a run that is over")
            time.sleep(0.1)

    def brokers_since(self, bound):
        return self.number("select sum(n) from neoapi.organization o, lateral (select count(*) as n from neoapi.broker b "
                           f"where b.organization_id = o.id and b.id >= '{bound}') as c")

    def sample(self, collection, one_in):
        """A sample of ids of a collection, one in `one_in`, each with its organization."""
        owners = {organization.id: organization for organization in self.organizations}
        rows = self.sql(f"select organization_id, id from neoapi.{TABLES[collection]} where mod(hashtext(id), {one_in}) = 0")
        return [(owners[owner], one) for owner, one in rows]
