# SPDX-License-Identifier: Apache-2.0
"""A standby of an instance's PostgreSQL, made with pg_basebackup; and servers that do not respond."""

import contextlib
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg2
from wait import eventually


@contextlib.contextmanager
def frozen_database(server):
    """All processes of PostgreSQL stand still; `server` is an Instance or a Standby."""
    parent = (server.state / "pg/postmaster.pid").read_text().split()[0]
    pids = [int(pid) for pid in (parent, *Path(f"/proc/{parent}/task/{parent}/children").read_text().split())]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)


class Standby:
    """`state` is its directory, `host` that of its socket. `dsn` is for a superuser, `runtime_dsn` for the runtime role."""

    def __init__(self, instance, host):
        self.primary = {part.split("=")[0]: part.split("=")[1] for part in instance.admin_dsn.split()}
        self.state, self.host, self.port = Path(host), host, self.primary["port"]
        self.dsn, self.runtime_dsn = (f"host={host} port={self.port} dbname=neoapi user={role}" for role in ("postgres", "neoapi"))
        self.programs = Path(instance.sql("select setting from pg_config where name = 'BINDIR'")[0][0])
        self.as_postgres = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def run(self, program, *args):
        subprocess.run([*self.as_postgres, self.programs / program, "-D", self.state / "pg", *args], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def copy(self):
        self.run("pg_basebackup", "-R", "-X", "stream", "--checkpoint=fast", "-h", self.primary["host"], "-p", self.port, "-U",
                 "postgres")

    def start(self, *settings):
        options = " ".join(f"-c {setting}" for setting in ("listen_addresses=", *settings))
        self.run("pg_ctl", "-s", "-w", "start", "-o", f"{options} -k {self.host}", "-l", self.state / "log")
        self.state.chmod(0o755)

    def stop(self):
        self.run("pg_ctl", "-s", "-w", "stop", "-m", "immediate")

    def sql(self, text, *values):
        with contextlib.closing(psycopg2.connect(self.dsn)) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            cursor.execute(text, values or None)
            return cursor.fetchall() if cursor.description else None

    def promote(self):
        assert self.sql("select pg_promote()") == [(True,)]
        eventually(lambda: self.sql("select not pg_is_in_recovery()") == [(True,)], "it is promoted")

    @contextlib.contextmanager
    def paused(self):
        """It receives the write-ahead log, but does not replay it."""
        self.sql("select pg_wal_replay_pause()")
        try:
            eventually(lambda: self.sql("select pg_get_wal_replay_pause_state()") == [("paused",)], "replay is paused")
            yield
        finally:
            self.sql("select pg_wal_replay_resume()")


@contextlib.contextmanager
def standby(instance):
    """Starts one, and removes it at the end of the `with` block."""
    rules = Path(instance.sql("show hba_file")[0][0])
    kept = rules.read_text()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="neoapi-standby.") as name:
        replica = Standby(instance, name)
        if replica.as_postgres:
            subprocess.run(["chown", "postgres:", name], check=True)
        rules.write_text("local replication all peer map=neoapi\n" + kept)
        instance.sql("select pg_reload_conf()")
        try:
            replica.copy()
            replica.start()
            try:
                yield replica
            finally:
                if (replica.state / "pg/postmaster.pid").exists():
                    replica.stop()
        finally:
            rules.write_text(kept)
            with contextlib.suppress(psycopg2.OperationalError):  # it was stopped
                instance.sql("select pg_reload_conf()")
