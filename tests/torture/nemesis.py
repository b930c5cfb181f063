# SPDX-License-Identifier: Apache-2.0
"""Faults of processes, the database and the clock, one after the other, in a random order."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg2
from wait import eventually

LONGEST_FREEZE_S = 3  # less than the timeout of an attempt
TWO_DAYS = 2 * 24 * 3600


@dataclass
class Fault:
    """When it was, in seconds since 1970, and the local ports of the TCP connections of a killed process."""

    kind: str
    began: float
    ended: float
    ports: set = field(default_factory=set)


def thread_states(pid):
    """The states of a process's threads, as in /proc/PID/stat; empty if it is gone."""
    states = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                states.append(Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()[0])
    return states


def is_dead(pid):
    """Whether its last thread has ended. The first one can be a zombie before; the sockets are closed with the last."""
    return thread_states(pid) in (["Z"], ["X"], [])


def local_ports(pid):
    """Of a process's TCP connections."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            sockets.add(os.readlink(descriptor))
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].partition(":")[2], 16) for row in rows if f"socket:[{row[9]}]" in sockets}


class Nemesis:
    """`run` makes faults for so many seconds, and leaves everything healthy. `faults` are those it has made."""

    def __init__(self, instance, second, clock, chance):
        self.instance, self.second, self.clock, self.chance, self.faults = instance, second, clock, chance, []
        self.kinds = {"kill a child": self.kill_child, "kill the database": self.kill_database, "freeze a child": self.freeze_child,
                      "read-only database": self.read_only, "no connections": self.no_connections, "clock step": self.step_clock,
                      "graceful restart": self.graceful}
        self.weights = [6, 2, 3, 1, 1, 2, 2]

    def run(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(self.chance.uniform(0.2, 1.5))
            kind, = self.chance.choices(list(self.kinds), self.weights)
            began = time.time()
            ports = self.kinds[kind]()
            self.faults.append(Fault(kind, began, time.time(), ports or set()))

    def child(self):
        """A process of either host that serves requests."""
        parent = self.chance.choice([self.instance.pid, self.second.process.pid])
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return int(self.chance.choice(children)) if children else None

    def kill_child(self):
        """Ends when its sockets are closed. Returns the ports that these had."""
        pid, ports = self.child(), set()
        with contextlib.suppress(ProcessLookupError):
            if pid:
                os.kill(pid, signal.SIGSTOP)
                eventually(lambda: set(thread_states(pid)) <= set("TZX"), f"process {pid} stops")
                if not is_dead(pid):
                    ports = local_ports(pid)
                os.kill(pid, signal.SIGKILL)
                eventually(lambda: is_dead(pid), f"the end of process {pid}")
        return ports

    def freeze_child(self):
        pid = self.child()
        with contextlib.suppress(ProcessLookupError):
            if pid:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(self.chance.uniform(0.5, LONGEST_FREEZE_S))
                os.kill(pid, signal.SIGCONT)

    def kill_database(self):
        self.instance.command("kill-db")
        eventually(lambda: "does not start" not in self.instance.command("start-db", check=False), "PostgreSQL starts")

    def sql(self, statement):
        """As superuser, also while the database is read-only."""
        connection = psycopg2.connect(self.instance.admin_dsn, options="-c default_transaction_read_only=off")
        connection.autocommit = True
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute(statement)

    def read_only(self):
        """What a full disk or a standby looks like to the module: every write is refused."""
        try:
            self.sql("alter role neoapi set default_transaction_read_only = on")
            self.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'neoapi'")
            time.sleep(self.chance.uniform(0.5, 3))
        finally:
            self.sql("alter role neoapi reset default_transaction_read_only")
            self.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'neoapi'")

    def no_connections(self):
        try:
            self.sql("alter role neoapi connection limit 0")
            self.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'neoapi'")
            time.sleep(self.chance.uniform(0.5, 3))
        finally:
            self.sql("alter role neoapi connection limit -1")

    def step_clock(self):
        self.clock.shift(self.chance.choice([TWO_DAYS, -TWO_DAYS, 30, -30]))
        time.sleep(self.chance.uniform(0.2, 2))
        self.clock.shift(0)

    def graceful(self):
        if self.chance.random() < 0.5:
            self.instance.command("graceful")
        else:
            self.second.process.send_signal(signal.SIGUSR1)
