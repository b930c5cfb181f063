# SPDX-License-Identifier: Apache-2.0
"""The servers under test: httpd and PostgreSQL, which tests/deploy/instance.sh starts and removes."""

import contextlib
import glob
import os
import re
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import prepared_cluster
import psycopg2

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("NEOAPI_TEST_BUILD") or ROOT / "build").absolute()
IS_SANITIZED = BUILD.name == "san"
E2E_DIR = BUILD / "e2e"  # has a directory for each test process, named after its pid
LOGS = E2E_DIR / "logs"  # of failed sessions, kept for a day
MPM = os.environ.get("NEOAPI_TEST_MPM") or "event"
TIMEOUT_S = 120  # seconds for any command
CRASH = re.compile(r"exit signal (?!Killed|Terminated).*|.*(?:Sanitizer|runtime error):.*")  # in the error log


def before_crashes(error_log):
    """The lines of the error log up to each crash, because the reason is written by the process that ended."""
    lines = error_log.splitlines()
    return [line for number, crash in enumerate(lines) if CRASH.search(crash) for line in lines[max(0, number - 20):number + 1]]


def sanitizer_settings():
    """What Apache needs to load a module with AddressSanitizer. Leak detection is off, because httpd's libraries leak. httpd
    must not handle SIGSEGV, so that a crash is reported."""
    if not IS_SANITIZED:
        return {}
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True).stdout.strip()
    return {"HTTPD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0:handle_segv=2:handle_abort=2",
            "UBSAN_OPTIONS": "print_stacktrace=1"}


def shipped_sizes():
    """The numbers of processes, threads and connections in conf/, as settings of instance.sh."""
    text = "".join((ROOT / "conf" / name).read_text() for name in ("neoapi.conf", "server-neoapi.conf"))
    threads, workers, connections = (int(re.search(rf"^ *{directive} +(\d+)", text, re.M)[1])
                                     for directive in ("ThreadsPerChild", "MaxRequestWorkers", "DBDMax"))
    return {"PROCESSES": str(workers // threads), "THREADS": str(threads), "DB_CONNECTIONS": str(connections)}


def remove_stale_instances():
    """Removes instances of test processes that were killed."""
    for directory in glob.glob(str(E2E_DIR / "[0-9]*")):
        if not os.path.exists(f"/proc/{Path(directory).name}"):
            for instance in glob.glob(directory + "/*") + glob.glob(directory + "/*/demo/instance"):
                subprocess.run(["sh", ROOT / "tests/deploy/instance.sh", "remove", instance], timeout=TIMEOUT_S, check=True)
            shutil.rmtree(directory, ignore_errors=True)


class Instance:
    """An httpd and a PostgreSQL cluster. `more` are settings of instance.sh (SERVER_CONF, PROCESSES, …).

    After `up`: url, ca, port, state (its directory), admin_dsn (superuser, database neoapi), dsn (runtime role), and what else
    instance.sh writes to DIR/env, in `env`.
    """

    def __init__(self, name, **more):
        self.directory = E2E_DIR / str(os.getpid()) / name
        programs = {"MODULE": str(BUILD / "mod_neoapi.so"), "CTL": str(BUILD / "neoapictl"), "FSYNC": "off",
                    "MPM": MPM}
        self.settings = {**programs, **sanitizer_settings(), **more}
        self.generation, self.restarted_at = 0, 0  # number of restarts of httpd, and the monotonic time of the last one
        self.kept = []  # at most one idle superuser's connection
        self.reports = ""  # of sanitizers and crashes, available after remove()

    def command(self, name, check=True):
        """Runs instance.sh NAME. Its output goes to a file, because servers that it starts would keep a pipe open."""
        E2E_DIR.mkdir(parents=True, exist_ok=True)
        said = E2E_DIR / f"{os.getpid()}.{self.directory.name}.out"
        settings = [f"{key}={value}" for key, value in self.settings.items()] if name == "up" else []
        with open(said, "w") as out:
            done = subprocess.run(["sh", ROOT / "tests/deploy/instance.sh", name, self.directory, *settings], timeout=TIMEOUT_S,
                                  stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        text = said.read_text()
        said.unlink()
        if name in ("up", "start-httpd", "graceful"):
            self.generation, self.restarted_at = self.generation + 1, time.monotonic()
        assert not check or done.returncode == 0, f"instance.sh {name}: {text}"
        return text

    def up(self):
        """Starts both servers. The cluster is a copy with the schema, unless CLUSTER says otherwise."""
        if "CLUSTER" not in self.settings:
            self.settings["CLUSTER"] = str(prepared_cluster.with_schema())
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        self.command("up")
        words = shlex.split((self.directory / "env").read_text())
        self.env = dict(word.split("=", 1) for word in words)
        self.url, self.ca, self.state = self.env["NEOAPI_URL"], self.env["NEOAPI_CA"], Path(self.env["NEOAPI_STATE"])
        self.port, self.dsn, self.admin_dsn = int(self.env["NEOAPI_PORT"]), self.env["NEOAPI_DSN"], self.env["NEOAPI_ADMIN_DSN"]
        return self

    def remove(self, keep_logs=False):
        """Stops and deletes everything. Faults are kept in `reports`, logs in LOGS if requested or if there are reports."""
        for connection in self.kept:
            connection.close()
        self.command("down", check=False)
        for report in sorted((self.directory / "sanitizer").glob("*")):
            self.reports += report.read_text(errors="replace")
        self.reports += "\n".join(before_crashes(self.error_log))
        if keep_logs or self.reports:
            shutil.copytree(self.directory / "log", LOGS / f"{os.getpid()}-{self.directory.name}", dirs_exist_ok=True)
        self.command("remove")
        if not any(self.directory.parent.iterdir()):
            self.directory.parent.rmdir()

    def sql(self, text, *values, dsn=None):
        """Executes one statement, as superuser by default, and returns the rows. A superuser's connection is kept for the next
        statement, because starting a backend takes longer than most statements."""
        connection = None if dsn else self.kept_connection()
        if not connection:
            connection = psycopg2.connect(dsn or self.admin_dsn)
            connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(text, values or None)
                rows = cursor.fetchall() if cursor.description else None
            if not dsn and not self.kept:
                self.kept.append(connection)
                connection = None
            return rows
        finally:
            if connection:
                connection.close()

    def kept_connection(self):
        """The kept connection, unless the server has closed it, which makes the socket readable without a query."""
        with contextlib.suppress(IndexError):  # none, or another thread has it
            connection = self.kept.pop()
            if not select.select([connection], [], [], 0)[0]:
                return connection
            connection.close()

    @contextlib.contextmanager
    def locked(self, table):
        """Holds an exclusive lock on a table."""
        connection = psycopg2.connect(self.admin_dsn)
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"lock table {table}")
                yield
        finally:
            connection.close()

    @property
    def error_log(self):
        path = self.directory / "log/error.log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def access_log(self):
        return (self.state / "log/access.log").read_text(errors="replace")

    @property
    def pid(self):
        """The pid of httpd's parent process."""
        return int((self.state / "run/httpd.pid").read_text())

    def children(self):
        """The pids of httpd's child processes."""
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as found:
            return [int(pid) for pid in found.read().split()]

    def peak_memory(self):
        """The peak memory of each child process in KiB."""
        return {pid: int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) for pid in self.children()}

    @contextlib.contextmanager
    def memory_limited(self, megabytes=8):
        """Fails if the peak memory of a child process grows by more than `megabytes`. Not measured with AddressSanitizer, which
        keeps up to 256 MiB of freed memory."""
        before = self.peak_memory()
        yield
        growth = {pid: peak - before[pid] for pid, peak in self.peak_memory().items()}
        assert IS_SANITIZED or max(growth.values()) < 1024 * megabytes, growth
