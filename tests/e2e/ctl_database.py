# SPDX-License-Identifier: Apache-2.0
"""A database of one's own, made by `neoapictl setup`, for the tests of neoapictl.

Wants a fixture `cluster` with `admin_dsn`, a superuser's connection string for a private cluster, and the program in
NEOAPI_CTL_BIN. The roles are those that `setup` makes by default, so that a cluster which lets in just these will do.
"""

import itertools
import json
import os
import re
import subprocess

import psycopg2
import pytest
from psycopg2.extensions import make_dsn

TIMEOUT_S = 30  # seconds that anything may take
UNKNOWN_ULID = "00000000000000000000000000"  # the last part of an unused id
numbers = itertools.count(1)


class Database:
    """A database that `setup` makes, and neoapictl pointed at it."""

    def __init__(self, cluster):
        self.name = f"ctl_{os.getpid()}_{next(numbers)}"
        self.admin = cluster.admin_dsn
        self.dsn = make_dsn(self.admin, dbname=self.name)
        self.runtime_dsn = make_dsn(self.dsn, user="neoapi")
        self.program = os.environ["NEOAPI_CTL_BIN"]

    def start(self, *args, dsn=None, **more):
        env = {**os.environ, "NEOAPI_DATABASE": dsn or self.dsn, "LC_ALL": "C.UTF-8"}
        return subprocess.Popen([self.program, *args], env=env, text=True, stdin=subprocess.DEVNULL,
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})

    def run(self, *args, **more):
        """Status, standard output, standard error."""
        process = self.start(*args, **more)
        out, err = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, out, err

    def ok(self, *args, **more):
        status, out, err = self.run(*args, **more)
        assert (status, err) == (0, ""), (args, out, err)
        return out

    def json(self, *args, **more):
        return json.loads(self.ok("--json", *args, **more))

    def refused(self, *args, status=1, **more):
        """Expects a failure. Returns the error message in one line, without names of constraints."""
        got, out, err = self.run(*args, **more)
        assert got == status, (args, got, out, err)
        assert err.startswith("neoapictl: ") and not re.search("constraint|ERROR", err), err
        return err.splitlines()[0]

    def setup(self, *more):
        return self.run("setup", "--database-name", self.name, *more, dsn=self.admin)

    def sql(self, text, *values, dsn=None):
        connection = psycopg2.connect(dsn or self.dsn)
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(text, values)
                return cursor.fetchall() if cursor.description else None
        finally:
            connection.close()

    def drop(self):
        self.sql(f"drop database if exists {self.name} with (force)", dsn=self.admin)

    def migrations(self):
        return [name for name, in self.sql("select name from neoapi.schema_migration order by number")]

    def empty(self):
        """As it was before the first migration. Returns the names of those that had been applied."""
        names = self.migrations()
        self.sql("create schema kept;"
                 "alter table neoapi.schema_migration set schema kept; alter table neoapi.setting set schema kept;"
                 "drop schema neoapi cascade; create schema neoapi authorization neoapi_owner;"
                 "alter table kept.schema_migration set schema neoapi; alter table kept.setting set schema neoapi;"
                 "drop schema kept; delete from neoapi.schema_migration")
        return names


@pytest.fixture
def new_database(cluster):
    database = Database(cluster)
    yield database
    database.drop()


@pytest.fixture
def own_database(new_database):
    assert new_database.setup()[0] == 0
    return new_database


@pytest.fixture(scope="module")
def db(cluster):
    """One for all tests that only add rows."""
    database = Database(cluster)
    status, _, err = database.setup()
    assert status == 0, err
    yield database
    database.drop()
