# SPDX-License-Identifier: Apache-2.0
"""neoapictl doctor with a httpd that serves: it connects to the database as httpd's user, and sends a request."""

import contextlib
from pathlib import Path

import pytest
from ctl_database import new_database, own_database  # noqa: F401 (fixtures)
from test_neoapictl_doctor_httpd import Layout
from wait import eventually

pytestmark = [pytest.mark.slow, pytest.mark.unsanitized]
LIVE = ["httpd database", "httpd", "request"]


@pytest.fixture
def layout(tmp_path, own_database):
    """A httpd with Debian's layout that serves the API on a port of its own."""
    layout = Layout(tmp_path).finish()
    layout.env["NEOAPI_DATABASE"] = own_database.dsn
    layout.edit("dbname=neoapi", own_database.runtime_dsn.replace("'", ""))
    layout.edit("<VirtualHost *:443>", f"<VirtualHost *:{layout.port}>")
    layout.env["APACHE_CONFDIR"] = str(layout.root)
    pid_file = tmp_path / "run/pid"
    layout.run("apachectl start")
    try:
        eventually(pid_file.exists, "httpd runs")
        yield layout
    finally:
        layout.run("apachectl stop")
        eventually(lambda: not pid_file.exists(), "httpd has ended")


@contextlib.contextmanager
def runtime_role_needs(method, database):
    """PostgreSQL accepts the runtime role's connections with this method only. "peer map=root" accepts root, as doctor is, and refuses httpd's
    user."""
    files = {name: Path(database.sql(f"show {name}")[0][0]) for name in ("hba_file", "ident_file")}
    kept = {name: path.read_text() for name, path in files.items()}
    files["hba_file"].write_text(f"local {database.name} neoapi {method}\n" + kept["hba_file"])
    files["ident_file"].write_text("root root neoapi\n" + kept["ident_file"])
    database.sql("select pg_reload_conf()")
    try:
        yield
    finally:
        for name, path in files.items():
            path.write_text(kept[name])
        database.sql("select pg_reload_conf()")


def test_a_serving_httpd_passes(layout):
    found = layout.doctor()[1]
    assert [found[name]["result"] for name in LIVE] == ["ok"] * 3, found
    assert found["httpd database"]["found"].startswith("www-data can connect")


def test_a_refused_httpd_is_found_although_root_can_connect(layout, own_database):
    with runtime_role_needs("peer map=root", own_database):
        eventually(lambda: not own_database.sql("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s"
                                                " and usename = 'neoapi'", own_database.name), "httpd is disconnected")
        status, found = layout.doctor()
        row = found["httpd database"]
        assert status == 1 and row["result"] == "failed" and row["found"].startswith("www-data cannot connect"), row
        assert "pg_hba.conf" in row["fix"]
        row = found["request"]
        assert row["result"] == "failed" and "with 503: The database is unavailable" in row["found"], row
    eventually(lambda: layout.found("request")["result"] == "ok", "requests are answered again")


def test_a_password_of_doctor_is_not_that_of_httpd(layout, own_database):
    own_database.sql("alter role neoapi password 'of-the-role'")
    layout.env["PGPASSWORD"] = "of-the-role"
    try:
        with runtime_role_needs("scram-sha-256", own_database):
            row = layout.doctor()[1]["httpd database"]
            assert row["result"] == "failed" and row["found"].startswith("www-data cannot connect"), row
    finally:
        own_database.sql("alter role neoapi password null")


def test_another_virtual_host_that_answers_is_found(layout):
    (layout.root / "sites-enabled/000-first.conf").write_text(
        f"<VirtualHost *:{layout.port}>\nServerName api.imobiliaria.example\nSSLEngine On\nSSLCertificateFile {layout.place}/site.pem\n"
        f"SSLCertificateKeyFile {layout.place}/site.key\nDocumentRoot {layout.place}\n</VirtualHost>\n")
    layout.run("apachectl graceful")
    row = eventually(lambda: (row := layout.found("request"))["result"] == "failed" and row, "the other one answers")
    assert "another virtual host" in row["found"] and "DUMP_VHOSTS" in row["fix"], row
