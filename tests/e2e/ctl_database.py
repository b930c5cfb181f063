# SPDX-License-Identifier: Apache-2.0
"""A separate database, created by `neoapictl setup`, for the tests of neoapictl.

Needs a fixture `cluster` with `admin_dsn`, a superuser's connection string, and the program in NEOAPI_CTL_BIN. The roles are
those that `setup` creates by default, so that pg_hba.conf needs to allow only these.
"""

import itertools
import os

import psycopg2
import pytest
from ctl_instance import Ctl
from psycopg2.extensions import make_dsn

TIMEOUT_S = 30  # of any command
UNKNOWN_ULID = "00000000000000000000000000"  # the last part of an unused id
numbers = itertools.count(1)


class Database(Ctl):
    """A database that `setup` creates, and neoapictl with its connection string."""

    def __init__(self, cluster):
        self.name = f"ctl_{os.getpid()}_{next(numbers)}"
        self.admin = cluster.admin_dsn
        self.dsn = make_dsn(self.admin, dbname=self.name)
        self.runtime_dsn = make_dsn(self.dsn, user="neoapi")
        self.program = os.environ["NEOAPI_CTL_BIN"]

    def start(self, *args, dsn=None, **more):
        env = {**os.environ, "NEOAPI_DATABASE": dsn or self.dsn, "LC_ALL": "C.UTF-8"}
        return super().start(*args, env=env, **more)

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
        """Reverts to the state before the first migration. Returns the names of the applied migrations."""
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
    """A database for tests that only add rows."""
    database = Database(cluster)
    status, _, err = database.setup()
    assert status == 0, err
    yield database
    database.drop()
