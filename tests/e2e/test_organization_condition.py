# SPDX-License-Identifier: Apache-2.0
"""Every prepared statement of a request reads rows of its organization only: PostgreSQL's plan restricts organization_id in each scan of
a table that has it. test_filters_explain.py checks the plans of filtered lists."""

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


@pytest.fixture(scope="module")
def planner(instance):
    connection = psycopg2.connect(instance.dsn)
    with connection.cursor() as cursor:
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


def test_every_statement_of_a_request_has_its_organization(planner, owned):
    out = subprocess.run([deployment.BUILD / "statements"], check=True, stdout=subprocess.PIPE, text=True).stdout
    statements = out.split("\0")[:-1]
    found = {sql: tables for sql in statements if (tables := list(unrestricted(plan_of(planner, sql), owned)))}
    assert len(statements) > 100
    assert list(found.values()) == [["whatsapp_number"]] * 3, found  # callbacks find the organization of a number


@pytest.mark.parametrize("sql", [
    "select representation from neoapi.broker where id = $1",
    "select p.id from neoapi.broker b join neoapi.property p on p.broker_id = b.id where b.organization_id = $1",
    "update neoapi.broker set name = 'x' where id = $1",
    "with item as (select $1 as id) delete from neoapi.property p using item where p.id = item.id"])
def test_a_statement_without_its_organization_is_found(planner, owned, sql):
    assert list(unrestricted(plan_of(planner, sql), owned))
