# SPDX-License-Identifier: Apache-2.0
"""Injects faults of processes, the database and the clock, one at a time, in random order."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg2
from preload import FullDisk
from wait import eventually

MAX_FREEZE_S = 3  # less than the timeout of an attempt
TWO_DAYS = 2 * 24 * 3600


@dataclass
class Fault:
    """Start and end in seconds since 1970, and the local ports of a killed process's TCP connections."""

    kind: str
    started_at: float
    ended_at: float
    ports: set = field(default_factory=set)


def thread_states(pid):
    """The states of a process's threads, as in /proc/PID/stat; empty if the process does not exist."""
    states = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                states.append(Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()[0])
    return states


def is_dead(pid):
    """Whether all threads have ended. The main thread can be a zombie earlier, but sockets are closed with the last thread."""
    return thread_states(pid) in (["Z"], ["X"], [])


def local_ports(pid):
    """The local ports of a process's TCP connections."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            sockets.add(os.readlink(descriptor))
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].partition(":")[2], 16) for row in rows if f"socket:[{row[9]}]" in sockets}


class Nemesis:
    """`run` injects faults for a number of seconds and ends each before it returns. `faults` records them."""

    def __init__(self, instance, second, clock, disk, random):
        self.instance, self.second, self.clock, self.disk, self.random, self.faults = instance, second, clock, disk, random, []
        self.parents, self.pause_s = [instance.pid, second.process.pid], (0.2, 1.5)
        self.kinds = {"kill a child": self.kill_child, "kill the database": self.kill_database, "freeze a child": self.freeze_child,
                      "full disk": self.fill_disk, "read-only database": self.read_only, "no connections": self.no_connections,
                      "clock step": self.step_clock, "graceful restart": self.graceful, "cancelled groups": self.cancel_groups,
                      "held lock": self.hold_lock}
        self.weights = [6, 2, 3, 2, 1, 1, 2, 2, 3, 2]

    def run(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(self.random.uniform(*self.pause_s))
            kind, = self.random.choices(list(self.kinds), self.weights)
            started_at = time.time()
            ports = self.kinds[kind]()
            self.faults.append(Fault(kind, started_at, time.time(), ports or set()))

    def child(self):
        """The pid of a random httpd child of the parents; None if there is none at the moment."""
        parent = self.random.choice(self.parents)
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return int(self.random.choice(children)) if children else None

    def kill_child(self):
        """Returns when the sockets are closed. The result is their local ports."""
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
                time.sleep(self.random.uniform(0.5, MAX_FREEZE_S))
                os.kill(pid, signal.SIGCONT)

    def kill_database(self):
        self.instance.command("kill-db")
        self.start_database()

    def start_database(self):
        """Waits until it accepts connections: it may be in recovery, or end because recovery failed."""
        def accepts():
            self.instance.command("start-db", check=False)
            with contextlib.suppress(psycopg2.OperationalError):
                self.sql("select 1")
                return True
        eventually(accepts, "PostgreSQL accepts connections")

    def fill_disk(self):
        """Lasts until a write has failed, and longer. If PostgreSQL cannot write its log, it crashes and cannot recover."""
        log = self.instance.state / "log/postgresql.log"
        failed = log.read_text().count("No space left on device")
        try:
            self.disk.set(self.random.choice([FullDisk.GROWTH, FullDisk.ALL]))
            eventually(lambda: log.read_text().count("No space left on device") > failed, "a write that fails")
            time.sleep(self.random.uniform(0.5, 3))
        finally:
            self.disk.set(0)
        self.start_database()

    def sql(self, statement):
        """Executes a statement as superuser, even while the database is read-only."""
        connection = psycopg2.connect(self.instance.admin_dsn, options="-c default_transaction_read_only=off")
        connection.autocommit = True
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute(statement)

    def terminate_backends(self):
        self.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'neoapi'")

    def cancel_groups(self):
        """Cancels and terminates statements that create rows of several requests."""
        until = time.monotonic() + self.random.uniform(0.5, 2)
        while time.monotonic() < until:
            self.sql(f"select {self.random.choice(['pg_cancel_backend', 'pg_terminate_backend'])}(pid) from pg_stat_activity"
                     " where state = 'active' and query like '%item_organization text%' and pid <> pg_backend_pid()")
            time.sleep(0.01)

    def hold_lock(self):
        """A transaction keeps all others from creating brokers."""
        connection = psycopg2.connect(self.instance.admin_dsn, options="-c default_transaction_read_only=off")
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute("lock table neoapi.broker in share row exclusive mode")
            time.sleep(self.random.uniform(0.1, 1))

    def read_only(self):
        """Every write fails, as on a standby."""
        try:
            self.sql("alter role neoapi set default_transaction_read_only = on")
            self.terminate_backends()
            time.sleep(self.random.uniform(0.5, 3))
        finally:
            self.sql("alter role neoapi reset default_transaction_read_only")
            self.terminate_backends()

    def no_connections(self):
        try:
            self.sql("alter role neoapi connection limit 0")
            self.terminate_backends()
            time.sleep(self.random.uniform(0.5, 3))
        finally:
            self.sql("alter role neoapi connection limit -1")

    def step_clock(self):
        self.clock.shift(self.random.choice([TWO_DAYS, -TWO_DAYS, 30, -30]))
        time.sleep(self.random.uniform(0.2, 2))
        self.clock.shift(0)

    def graceful(self):
        if self.random.random() < 0.5:
            self.instance.command("graceful")
        else:
            self.second.process.send_signal(signal.SIGUSR1)
