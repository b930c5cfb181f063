# SPDX-License-Identifier: Apache-2.0
"""Every statement that is generated or prepared reads rows of its organization only: PostgreSQL's plan restricts organization_id in each
scan of a table that has it. test_filters_explain.py checks the plans of filtered lists with many rows."""

import ast
import re
import subprocess

import deployment
import psycopg2
import pytest
from bulk_data import unrestricted

# Tables that are read by the id of the credential, before the organization is known.
READ_BY_CREDENTIAL = {"credential", "token_organization"}

# Joins must be nested loops, so that join conditions are conditions of the scan.
PLANNER = ("set plan_cache_mode = force_generic_plan; set enable_hashjoin = off; set enable_mergejoin = off;"
           " set enable_seqscan = off; set enable_material = off; set enable_memoize = off")


IMPORT = (deployment.ROOT / "src/admin/import.sql").read_text()
IMPORT_TABLES = "".join(re.findall(r"^create temp table .*?;", IMPORT, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def planner(instance):
    connection = psycopg2.connect(instance.admin_dsn)
    connection.autocommit = True  # or its locks would block the triggers that psql creates
    with connection.cursor() as cursor:
        cursor.execute(IMPORT_TABLES)
        cursor.execute(PLANNER)
        yield cursor
    connection.close()


@pytest.fixture(scope="module")
def owned(planner):
    """The tables that have organization_id."""
    planner.execute("select relname from pg_attribute join pg_class c on c.oid = attrelid where attname = 'organization_id'"
                    " and relnamespace = 'neoapi'::regnamespace and relkind in ('r', 'p')")
    return {name for name, in planner.fetchall()} - READ_BY_CREDENTIAL


def plan_of(planner, sql):
    """The plan for any values of the parameters."""
    count = max(map(int, re.findall(r"\$(\d+)", sql)), default=0)
    planner.execute(f"prepare one as {sql}")
    planner.execute("explain (format json) execute one" + (f" ({', '.join(['null'] * count)})" if count else ""))
    plan = planner.fetchone()[0][0]["Plan"]
    planner.execute("deallocate one")
    return plan


def constants():
    """The prepared statements of the .sql files, without those of background threads."""
    for header in sorted((deployment.BUILD / "gen").glob("*/*.sql.h")):
        if header.name not in ("claim_owner.sql.h", "jobs.sql.h", "outbox.sql.h"):
            for text in re.findall(r'NEO_PREPARED\([^"]*((?:"(?:[^"\\]|\\.)*"\s*)+)\);', header.read_text()):
                yield "".join(map(ast.literal_eval, text.splitlines()))


def test_every_statement_of_a_request_has_its_organization(planner, owned):
    out = subprocess.run([deployment.BUILD / "statements"], check=True, stdout=subprocess.PIPE, text=True).stdout
    statements = [sql for sql in out.split("\0")[3::4] if not sql.startswith("create or replace")] + [*constants()]
    found = {sql: tables for sql in statements if (tables := list(unrestricted(plan_of(planner, sql), owned)))}
    assert len(statements) > 200
    # Callbacks find the organization of a number or portal, and neoapictl that of a rejected lead; expiry finds the rows of all
    # organizations that are due, and so does the removal of old usage.
    assert sorted(found.values()) == [["credential_usage"], ["lead_portal"], ["lead_rejected"], ["proposal", "contract"]] + [["whatsapp_number"]] * 3, found


def test_psql_prepares_every_generated_statement(instance):
    golden = deployment.ROOT / "tests/golden"
    for resource in (path.stem for path in golden.glob("*.sql")):
        sql = subprocess.run(["/usr/bin/python3", "-B", golden / "golden.py", "show", deployment.BUILD / "statements", resource], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        done = subprocess.run(["psql", "-XqtAv", "ON_ERROR_STOP=1", instance.admin_dsn], text=True, capture_output=True,
                              input=f"begin; {sql} select count(*) from pg_prepared_statements; rollback")
        prepared = len(re.findall("^prepare ", sql, re.MULTILINE))
        assert prepared > 0 and (done.stderr, done.stdout) == ("", f"{prepared}\n"), resource


@pytest.mark.parametrize("sql", [
    "select representation from neoapi.broker where id = $1",
    "select p.id from neoapi.broker b join neoapi.property p on p.broker_id = b.id where b.organization_id = $1",
    "update neoapi.broker set name = 'x' where id = $1",
    "with item as (select $1 as id) delete from neoapi.property p using item where p.id = item.id"])
def test_a_statement_without_its_organization_is_found(planner, owned, sql):
    assert list(unrestricted(plan_of(planner, sql), owned))
