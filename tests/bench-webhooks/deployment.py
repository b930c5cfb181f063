# SPDX-License-Identifier: Apache-2.0
"""The private deployment of the benchmark: Apache with the courier, PostgreSQL, and an organization with subscriptions."""

import contextlib
import http.client
import json
import pathlib
import shlex
import ssl
import subprocess
import time

import psycopg2

DIRECTORY = pathlib.Path(__file__).resolve().parent
INSTANCE = DIRECTORY.parent / "deploy" / "instance.sh"
PLAN = ["plan", "create", "bench", "--requests", "1000000000", "--window", "60", "--subscriptions", "unlimited",
        "--concurrent-requests", "1000000", "--deliveries-per-hour", "1000000000"]
# No checkpoint during a run, which would slow only one side.
SETTINGS = {"max_wal_size": "32GB", "checkpoint_timeout": "1d"}
# The receivers are on this machine.
LOCAL_RECEIVERS = "NeoAPIWebhookAllowHTTP On\nNeoAPIWebhookAllowAddress 127.0.0.0/8\n"


def wait_for(condition, what, seconds=120, nap=0.005):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise SystemExit(f"waited {seconds} s in vain: {what}")
        time.sleep(nap)


class Deployment:
    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.place = self.build / "bench-webhooks"
        self.dir = self.place / "instance"
        self.conf = self.place / "host.conf"
        self.connection = None

    def instance(self, command, **settings):
        with open(self.place / "instance.log", "a", encoding="utf-8") as log:
            arguments = [f"{name}={value}" for name, value in settings.items()]
            done = subprocess.run(["sh", INSTANCE, command, self.dir, *arguments], stdout=log, stderr=log)
        if done.returncode:
            raise SystemExit((self.place / "instance.log").read_text()[-2000:])

    def up(self, processes, directives=""):
        """Starts the servers, or restarts Apache with other processes and directives."""
        self.place.mkdir(parents=True, exist_ok=True)
        self.conf.write_text(LOCAL_RECEIVERS + directives)
        self.instance("up", MODULE=str(self.build / "mod_neoapi.so"), CTL=str(self.build / "neoapictl"),
                      INSTANCE_CONF=str(self.conf), PROCESSES=str(processes))
        words = shlex.split((self.dir / "env").read_text())
        self.env = dict(word.split("=", 1) for word in words)
        self.trust = ssl.create_default_context(cafile=self.env["NEOAPI_CA"])
        self.connect()

    def down(self):
        if self.connection:
            self.connection.close()
        self.instance("down")

    def connect(self):
        if self.connection:
            self.connection.close()
        self.connection = psycopg2.connect(self.env["NEOAPI_ADMIN_DSN"])
        self.connection.autocommit = True

    def restart_db(self, **settings):
        """Restarts PostgreSQL with these settings; None: the same."""
        for name, value in settings.items():
            self.sql(f"alter system set {name} = '{value}'" if value else f"alter system reset {name}")
        self.instance("stop-httpd")
        self.connection.close()
        self.instance("stop-db")
        self.instance("start-db")
        self.instance("start-httpd")
        self.connect()

    @contextlib.contextmanager
    def counted_statements(self):
        """A context in which the view pg_stat_statements exists."""
        self.restart_db(shared_preload_libraries="pg_stat_statements")
        try:
            self.sql("create extension if not exists pg_stat_statements")
            yield
            self.sql("drop extension pg_stat_statements")
        finally:
            self.restart_db(shared_preload_libraries=None)

    def prepare(self):
        """Creates an organization with a key."""
        for name, value in SETTINGS.items():
            self.sql(f"alter system set {name} = '{value}'")
        self.sql("select pg_reload_conf()")
        if "bench" not in [plan["name"] for plan in self.ctl("plan", "list")]:
            self.ctl(*PLAN)
        tenant = self.ctl("tenant", "create", "Bench", "--plan", "bench")["id"]
        self.organization = self.ctl("organization", "create", "Bench", "--tenant", tenant)["id"]
        self.key = self.ctl("key", "create", "bench", "--organization", self.organization, "--role", "org_admin")["secret"]

    def sql(self, text, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(text, values or None)
            return cursor.fetchall() if cursor.description else None

    def number(self, text, *values):
        return self.sql(text, *values)[0][0]

    def ctl(self, *arguments):
        out = subprocess.run([self.env["NEOAPI_CTL"], "--json", *arguments], check=True, text=True, stdout=subprocess.PIPE)
        return json.loads(out.stdout)

    def client(self):
        """A persistent connection to Apache."""
        return http.client.HTTPSConnection("localhost", int(self.env["NEOAPI_PORT"]), context=self.trust, timeout=20)

    def ask(self, method, path, body=None, client=None):
        client = client or self.client()
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        client.request(method, "/public/v1/" + path, json.dumps(body) if body is not None else None, headers)
        answer = client.getresponse()
        text = answer.read()
        if answer.status not in (200, 201, 204):
            raise SystemExit(f"{method} {path}: {answer.status} {text.decode()}")
        return json.loads(text) if text else None

    def subscribe(self, url, events, count=1):
        """Replaces all subscriptions by `count` equal ones, created through the API. Returns the id of the first one."""
        self.sql("delete from neoapi.webhook_subscription")
        self.empty()
        return [self.ask("POST", "webhooks", {"url": url, "events": events})["id"] for _ in range(count)][0]

    def activate(self, subscription, is_active):
        self.sql("update neoapi.webhook_subscription set is_active = %s where id = %s", is_active, subscription)

    def fill(self, subscription, count, size):
        """Queues due deliveries with bodies of `size` bytes."""
        with self.connection.cursor() as cursor:
            cursor.execute((DIRECTORY / "fill.sql").read_text(),
                           {"organization": self.organization, "subscription": subscription, "count": count, "size": size})

    def empty(self, backlog=False):
        """Deletes all deliveries except those of backlog.py."""
        self.sql("truncate neoapi.webhook_delivery, neoapi.webhook_attempt, neoapi.event")
        if not backlog:
            self.sql("truncate neoapi.webhook_queue")

    def settle(self):
        """Does the work of vacuum and checkpoint."""
        self.sql("vacuum (analyze) neoapi.webhook_queue")
        self.sql("vacuum (analyze) neoapi.webhook_delivery")
        self.sql("vacuum (analyze) neoapi.event")
        self.sql("vacuum (analyze) neoapi.webhook_attempt")
        self.sql("checkpoint")
