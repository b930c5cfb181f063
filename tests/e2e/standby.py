# SPDX-License-Identifier: Apache-2.0
"""A standby of an instance's PostgreSQL, made with pg_basebackup."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

import psycopg2
from wait import eventually


class Standby:
    """`state` is its directory, `host` that of its socket, `dsn` is for a superuser."""

    def __init__(self, host, port):
        self.state, self.host, self.port = Path(host), host, port
        self.dsn = f"host={host} port={port} dbname=neoapi user=postgres"

    def sql(self, text, *values):
        with contextlib.closing(psycopg2.connect(self.dsn)) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            cursor.execute(text, values or None)
            return cursor.fetchall() if cursor.description else None

    def promote(self):
        assert self.sql("select pg_promote()") == [(True,)]
        eventually(lambda: self.sql("select not pg_is_in_recovery()") == [(True,)], "it is promoted")


@contextlib.contextmanager
def standby(instance):
    """Starts one, and removes it at the end of the `with` block."""
    programs = Path(instance.sql("select setting from pg_config where name = 'BINDIR'")[0][0])
    as_postgres = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    primary = {part.split("=")[0]: part.split("=")[1] for part in instance.admin_dsn.split()}
    rules = Path(instance.sql("show hba_file")[0][0])
    kept = rules.read_text()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="neoapi-standby.") as name:
        place = Path(name)
        if as_postgres:
            subprocess.run(["chown", "postgres:", name], check=True)
        data = place / "pg"
        rules.write_text("local replication all peer map=neoapi\n" + kept)
        instance.sql("select pg_reload_conf()")
        try:
            subprocess.run([*as_postgres, programs / "pg_basebackup", "-D", data, "-R", "-X", "stream", "--checkpoint=fast", "-h",
                            primary["host"], "-p", primary["port"], "-U", "postgres"], check=True)
            run = [*as_postgres, programs / "pg_ctl", "-s", "-w", "-D", data]
            subprocess.run([*run, "start", "-o", f"-c listen_addresses= -k {name}", "-l", place / "log"], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                place.chmod(0o755)
                yield Standby(name, primary["port"])
            finally:
                subprocess.run([*run, "stop", "-m", "immediate"], check=True)
        finally:
            rules.write_text(kept)
            with contextlib.suppress(psycopg2.OperationalError):  # it was stopped
                instance.sql("select pg_reload_conf()")
