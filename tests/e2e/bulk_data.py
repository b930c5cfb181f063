# SPDX-License-Identifier: Apache-2.0
"""An instance with one organization that has a million properties and many rows of every other resource, and the query plans of
requests to it.

The rows are inserted with SQL, without triggers and foreign keys, because only their number and the distribution of their
values matter. Indexes are created after the rows. The cluster is not configured for durability.
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import psycopg2
from admin_factory import AdminFactory, Credential
from client import Api
from deployment import Instance
from factories import PREFIXES
from prepared_cluster import prepare

PROPERTIES, OTHERS = 1_000_000, 100_000
BULK_LOAD_SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "wal_level": "minimal", "max_wal_senders": "0",
    "max_wal_size": "8GB", "maintenance_work_mem": "512MB", "autovacuum": "off"}
EXPLAIN_SETTINGS = {
    "session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on", "auto_explain.log_timing": "off", "auto_explain.log_format": "json",
    "auto_explain.log_nested_statements": "on"}


def id_of(collection, n):
    """The id of row n. Like any id it begins with its creation time, here a millisecond of 2023."""
    return f"{PREFIXES[collection]}01h{n:023}"


def sql_id(collection, n):
    return f"'{PREFIXES[collection]}01h' || lpad(({n})::text, 23, '0')"


# Values that depend on the number n of the row. Other columns that are not null get ''.
COLUMNS = {
    "brokers": {
        "name": "'Corretor ' || n % 5000", "creci": "'SP ' || n", "document_number": "n % 20000",
        "email": "'a' || n % 20000 || '@example.com'", "external_id": "'crm-' || n",
        "visibility": "(array['private', 'restricted', 'public'])[1 + (n % 100 > 0)::int + (n % 3 > 0)::int]"},
    "parties": {
        "kind": "(array['person', 'company'])[1 + (n % 1000 = 0)::int]", "name": "'Parte ' || n % 5000",
        "roles": "array[case when n % 1000 = 0 then 'attorney' when n % 3 = 0 then 'buyer' else 'tenant' end]",
        "document_number": "lpad(n::text, 11, '0')", "email": "'p' || n % 20000 || '@example.com'",
        "phone": "'+5511' || 900000000 + n % 20000", "external_id": "'crm-' || n"},
    "properties": {
        "code": "'AP-' || n", "title": "'Casa ' || n % 5000",
        "transaction_type": "(array['sale', 'rent', 'sale_rent'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]",
        "property_type": "(array['apartment', 'house', 'hotel'])[1 + (n % 3 > 0)::int + (n % 10000 = 1)::int]",
        "status": "(array['draft', 'active', 'sold'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]",
        "sale_price": "case when n % 3 <> 1 then n::bigint * 7919 % 1000000000 end",
        "rent_price": "case when n % 3 <> 0 then n::bigint * 7919 % 1000000000 end",
        "bedrooms": "n % 6 + (n % 10000 = 1)::int * 10",
        "address": "('{\"state\":\"' || (array['SP', 'RJ', 'AC'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]"
                   " || '\",\"city\":\"Cidade ' || n % 3000 || '\",\"neighborhood\":\"Bairro ' || n % 20000 || '\"}')::json",
        "broker_id": sql_id("brokers", "n % 1000"), "external_id": "'crm-' || n"},
    "proposals": {
        "kind": "(array['purchase', 'rental'])[1 + (n % 1000 = 0)::int]", "property_id": sql_id("properties", "n % 20000"),
        "proponent_ids": "'[]'::json", "broker_id": sql_id("brokers", "n % 1000"), "amount": "n",
        "valid_until": "date '2100-01-01' + (n % 10000)::int",
        "status": "(array['draft', 'submitted', 'countered'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]",
        "external_id": "'crm-' || n"},
    "contracts": {
        "kind": "(array['sale', 'rental', 'management'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]", "number": "'C-' || n",
        "property_id": sql_id("properties", "n % 20000"), "parties": "'[]'::json", "amount": "n",
        "end_date": "date '2100-01-01' + (n % 10000)::int",
        "status": "(array['draft', 'active', 'expired'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]",
        "external_id": "'crm-' || n"},
    "documents": {
        "kind": "(array['deed', 'other', 'cndt'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]", "related": "'{}'::json",
        "file": "'{}'::json", "expires_at": "timestamptz '2026-01-01Z' + n % 10000 * interval '1 day'",
        "status": "(array['pending', 'valid', 'expired'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]",
        "external_id": "'crm-' || n"},
    "leads": {
        "name": "'Lead ' || n % 5000", "phone": "'5511' || 900000000 + n",
        "whatsapp_user_id": "case when n % 3 = 0 then 'BR.' || n end", "email": "'l' || n % 20000 || '@example.com'",
        "source": "(array['portal', 'site', 'walk_in'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]",
        "property_id": sql_id("properties", "n % 20000"), "party_id": sql_id("parties", "n % 20000"),
        "broker_id": sql_id("brokers", "n % 1000"),
        "status": "(array['new', 'contacted', 'lost'])[1 + (n % 3 > 0)::int + (n % 1000 = 1)::int]",
        "external_id": "'crm-' || n"},
}
TABLES = {"brokers": "broker", "parties": "party", "properties": "property", "proposals": "proposal", "contracts": "contract",
          "documents": "document", "leads": "lead"}
# References that are not columns: each row to one of a few rows, and every third also to row 0.
REFERENCES = [
    ("properties", "owners[0].party_id", "parties", "n % 50000"), ("properties", "owners[1].party_id", "parties", "0"),
    ("proposals", "proponent_ids[0]", "parties", "n % 20000"), ("proposals", "proponent_ids[1]", "parties", "0"),
    ("contracts", "parties[0].party_id", "parties", "n % 20000"), ("contracts", "parties[1].party_id", "parties", "0"),
    ("contracts", "commission.splits[0].broker_id", "brokers", "n % 1000"),
    ("documents", "related.id", "properties", "n % 50000 + 1"),
]


def count_of(collection):
    return PROPERTIES if collection == "properties" else OTHERS


class BulkData:
    """`api` is an org_admin's client to the organization. `explained(path, **params)` is the response to a list request, and the
    plan of its statement with the actual row counts; see also `watched`."""

    def __init__(self):
        cluster, credential = prepare("bulk", self.fill_cluster, __file__)
        self.instance = Instance("bulk", PROCESSES="1", CLUSTER=str(cluster)).up()
        self.api = Api(self.instance, Credential(*credential))
        self.api.get("brokers")

    def fill_cluster(self, instance):
        self.instance = instance
        admin_factory = AdminFactory(instance)
        self.stop_jobs()
        self.configure(BULK_LOAD_SETTINGS)
        self.organization = admin_factory.organization()
        self.load(self.drop_foreign_keys)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self.load, [self.fill_properties, self.fill_other_tables]))
            # in separate transactions: ANALYZE does not see the statistics target of an index of its own transaction
            list(pool.map(self.load, [self.analyze_properties, self.analyze_other_tables]))
        self.load(self.restore_foreign_keys)
        key = admin_factory.key(self.organization)
        self.configure(EXPLAIN_SETTINGS)
        return [key.id, key.secret, key.tenant, key.organizations]

    def configure(self, settings):
        """Changes settings of the cluster and restarts it."""
        connection = psycopg2.connect(self.instance.admin_dsn)
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute("load 'auto_explain'")
        for name, value in settings.items():
            cursor.execute(f"alter system set {name} = %s", [value])
        connection.close()
        self.instance.command("stop-db")
        self.instance.command("start-db")

    def stop_jobs(self):
        """Background jobs are never due, so that the log has the plans of requests only."""
        self.instance.sql("""create function neoapi.never() returns trigger language plpgsql as $$
            begin new.due_at := now() + interval '1 year'; return new; end $$""")
        self.instance.sql("create trigger never_due before insert or update on neoapi.job"
                          " for each row execute function neoapi.never()")
        self.instance.sql("update neoapi.job set due_at = now()")

    def load(self, what):
        """Calls `what` in a transaction without triggers and foreign keys."""
        connection = psycopg2.connect(self.instance.admin_dsn)
        with connection, connection.cursor() as cursor:
            cursor.execute("set session_replication_role = replica")
            what(cursor)
        connection.close()

    def drop_foreign_keys(self, cursor):
        cursor.execute("select conname, pg_get_constraintdef(oid) from pg_constraint"
                       " where conrelid = 'neoapi.reference'::regclass and contype = 'f'")
        self.foreign_keys = cursor.fetchall()
        for name, _ in self.foreign_keys:
            cursor.execute(f"alter table neoapi.reference drop constraint {name}")

    def restore_foreign_keys(self, cursor):
        for name, definition in self.foreign_keys:
            cursor.execute(f"alter table neoapi.reference add constraint {name} {definition} not valid")

    def fill(self, cursor, table, rows):
        """Fills a table and recreates its indexes. The transaction truncates the table first, so that no write-ahead log is
        written."""
        cursor.execute(f"truncate neoapi.{table} cascade")  # referring tables are empty
        cursor.execute("select indexdef, indexname from pg_indexes where schemaname = 'neoapi' and tablename = %s"
                       " and indexname <> tablename || '_pkey'", [table])
        indexes = cursor.fetchall()
        cursor.execute("select format('alter index neoapi.%%I alter column %%s set statistics %%s', relname, attnum, attstattarget)"
                       " from pg_index join pg_class on oid = indexrelid join pg_attribute on attrelid = oid"
                       " where indrelid = %s::regclass and attstattarget > 0", [f"neoapi.{table}"])
        statistics = cursor.fetchall()  # not part of an index's definition
        for _, name in indexes:
            cursor.execute(f"drop index neoapi.{name}")
        for statement in rows:
            cursor.execute(statement)
        for definition, _ in indexes:
            cursor.execute(definition)
        for (setting,) in statistics:
            cursor.execute(setting)

    def rows_of(self, cursor, collection):
        table = TABLES[collection]
        cursor.execute("select column_name from information_schema.columns where table_schema = 'neoapi' and table_name = %s"
                       " and is_nullable = 'NO' and column_default is null", [table])
        columns = {**{name: "''" for name, in cursor.fetchall()}, "organization_id": f"'{self.organization}'",
                   "id": sql_id(collection, "n"), "created_at": "now()", "updated_at": "now() - n * interval '1 second'",
                   "representation": f"'{{\"id\":\"' || {sql_id(collection, 'n')} || '\"}}'", **COLUMNS[collection]}
        return (f"insert into neoapi.{table} ({', '.join(columns)}) select {', '.join(columns.values())}"
                f" from generate_series(0, {count_of(collection) - 1}) n")

    def fill_properties(self, cursor):
        self.fill(cursor, "property", [self.rows_of(cursor, "properties")])

    def fill_other_tables(self, cursor):
        for collection in COLUMNS:
            if collection != "properties":
                self.fill(cursor, TABLES[collection], [self.rows_of(cursor, collection)])
        self.fill(cursor, "reference", [
            f"insert into neoapi.reference (organization_id, source_id, path, target_id) select '{self.organization}',"
            f" {sql_id(source, 'n * 3')}, '{path}', {sql_id(target, number)}"
            f" from generate_series(0, {min(count_of(source), 300_000) // 3 - 1}) n"
            for source, path, target, number in REFERENCES])

    def analyze_properties(self, cursor):
        cursor.execute("analyze neoapi.property")

    def analyze_other_tables(self, cursor):
        for table in [*(TABLES[collection] for collection in COLUMNS if collection != "properties"), "reference"]:
            cursor.execute(f"analyze neoapi.{table}")

    # ------------------------------------------------------------ plans and statements

    def log(self):
        return (self.instance.directory / "log/postgresql.log").read_text()

    def watched(self, request):
        """The response to a request, and its statements with their plans, including those of triggers."""
        before = len(self.log())
        answer = request()
        said = re.findall(r"plan:\n(\t\{.*?\n\t\})", self.log()[before:], re.S)
        plans = [json.loads(re.sub(r"^\t", "", one, flags=re.M)) for one in said]
        return answer, [(one["Query Text"], one["Plan"]) for one in plans]

    def explained(self, path, **params):
        answer, plans = self.watched(lambda: self.api.get(path, params=params))
        assert answer.status_code == 200, (path, params, answer.content)
        plan, = [plan for sql, plan in plans if f"neoapi.{TABLES[path]} t " in sql]
        return answer.json(), plan


def nodes_of(plan):
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes_of(inner)


def unrestricted(plan, tables):
    """The tables that are scanned without a condition on organization_id."""
    for node in nodes_of(plan):
        conditions = " ".join(node.get(name, "") for name in ("Index Cond", "Recheck Cond", "Filter"))
        if node.get("Relation Name") in tables and "Scan" in node["Node Type"] and "organization_id = " not in conditions:
            yield node["Relation Name"]


def rows_read(node):
    """The number of rows that a node has returned and filtered out."""
    thrown = sum(node.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Index Recheck", "Join Filter"))
    return (node["Actual Rows"] + thrown) * node["Actual Loops"]
