# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests: one private Apache and PostgreSQL for the whole session, and clients for it.

The build under test is NEOAPI_TEST_BUILD (default: build/). A build/san is loaded with AddressSanitizer. The session fails if
a sanitizer reports an error or a process crashes. If a test fails, the servers' logs are kept in BUILD/e2e/logs for a day.

session   instance    deployment.Instance: url, ca, port, state, sql(), error_log, access_log, pid, children(), command()
          admin_factory  AdminFactory: tenant(), organization(), key(), user(), token(), plan(), revoke(), set_plan()
          principals  credentials of one tenant with unlimited requests (see class Principals)
          cluster     for the tests of neoapictl (see ctl_database.py)
          next_version  NextVersion: neoapictl and the module with an additional migration and a new field
test      api         client.Api with an org_admin's key to principals.organization, where other tests work as well
          own_api     the same to an organization that no other test uses, for tests that count
          factory     factories.ResourceFactory with own_api
          anonymous   without a credential, from an address of its own: what it does wrong is counted for no other test
          second_host_api  like own_api, to the second virtual host, with short-lived cursors, small bodies and short exports (see SECOND_HOST)
          new_instance   makes further Instances, for tests that break theirs: new_instance(PROCESSES="1"); removed at the end
          report      report("3 kills") says in the session's report what a test has measured
          log_since   log_since() is what the error log has got since the test began

Other modules: client (Api, ok, refused, wrong_fields, moment), wait (eventually, together), admin_factory (AdminFactory,
Credential).
"""

import itertools
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

pytest.register_assert_rewrite(*(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("test_")))

import deployment  # noqa: E402
from client import Api  # noqa: E402
from deployment import BUILD, Instance, remove_stale_instances, sanitizer_settings  # noqa: E402
from admin_factory import AdminFactory  # noqa: E402
from factories import ResourceFactory  # noqa: E402
from next_version import NEXT, WEBSITE, NextVersion  # noqa: E402
from accepting_provider import accept_all_messages  # noqa: E402
from psycopg2.extensions import make_dsn  # noqa: E402

# The second virtual host: another address, the same certificate and database.
SECOND_HOST = """
Listen 127.0.0.2:${PORT} https
<VirtualHost 127.0.0.2:${PORT}>
    ServerName second.example.com
    Protocols h2 http/1.1
    SSLEngine On
    SSLCertificateFile "${INSTANCE}/tls/server.pem"
    SSLCertificateKeyFile "${INSTANCE}/tls/server.key"
    NeoAPIKeyFile "${INSTANCE}/neoapi.key"
    NeoAPIBaseURL https://api.example.com/public/v1/
    NeoAPIDocsURL https://docs.example.com/api
    NeoAPICursorLifetime 1
    NeoAPIMaxBody 4096
    NeoAPIExportTimeout 2
    <Location "/public/v1/">
        NeoAPI On
    </Location>
</VirtualHost>
"""

failed = False
started = time.time()
addresses = (f"127.{a}.{b}.{c}" for a, b, c in itertools.product(range(1, 255), range(1, 255), range(1, 255)))


def clean_up():
    """Removes files of earlier sessions."""
    remove_stale_instances()
    for old in deployment.LOGS.glob("*"):
        if old.stat().st_mtime < started - 86400:
            shutil.rmtree(old)


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    if not hasattr(config, "workerinput"):  # the main process, before it starts the workers
        clean_up()
    # Stop the servers also on SIGTERM. xdist sometimes runs a worker outside the main thread, where no handler can be
    # installed; the next session removes what such a worker leaves.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 143))
    for name in [name for name in os.environ if name.startswith("PG")]:  # libpq's variables, which name another database
        del os.environ[name]
    os.environ["NEOAPI_CTL_BIN"] = str(BUILD / "neoapictl")
    for name, value in sanitizer_settings().items():
        if name != "HTTPD_PRELOAD":
            os.environ[name] = value


# When a test runs. Tests without a mark run in `make check`, and with sanitizers in `make check-all`.
MARKS = [
    "slow: only in `make check-all`, with the sanitizers, because it takes long or needs more packages",
    "unsanitized: only in `make check-all`, without the sanitizers: it is about browsers, other tools or PostgreSQL's plans",
    "alone: as unsanitized, and measures times, so that no other test may run beside it",
    "smoke: in `make check-all` also with the other MPMs",
]

# The slowest modules run first, so that no worker waits for one of them at the end.
LONGEST = ["test_filters_explain", "test_neoapictl_import", "test_document_driven", "test_webhook_promises", "test_reference_browser",
           "test_business_rules", "test_neoapictl_doctor", "test_failures", "test_webhook_delivery", "test_whatsapp_identity",
           "test_docs_browser", "test_neoapictl_setup", "test_whatsapp_callback", "test_whatsapp_provider", "test_whatsapp_import",
           "test_neoapictl", "test_whatsapp_ctl", "test_webhooks"]


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: LONGEST.index(item.module.__name__) if item.module.__name__ in LONGEST else len(LONGEST))


def pytest_runtest_logreport(report):
    global failed
    failed |= report.failed


def remove(instance):
    instance.remove(keep_logs=failed)
    assert not instance.reports, f"a process crashed, or a sanitizer reported an error:\n{instance.reports}"


def pytest_terminal_summary(terminalreporter):
    """Prints measurements of tests (see `report`) and the paths of kept logs."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties if report.when == "call" else []:
            terminalreporter.line(f"{name}: {value}")
    for kept in sorted(deployment.LOGS.glob("*")):
        if kept.stat().st_mtime >= started:
            terminalreporter.line(f"logs: {kept}")


@pytest.fixture
def report(request, record_property):
    """report("3 kills") adds a measurement to the end of the session's report."""
    return lambda text: record_property(request.node.name, text)


@pytest.fixture(scope="session")
def instance():
    deployment.E2E_DIR.mkdir(parents=True, exist_ok=True)
    second, first = (deployment.E2E_DIR / f"{os.getpid()}.{name}-host.conf" for name in ("second", "first"))
    second.write_text(SECOND_HOST)
    with accept_all_messages() as provider:
        first.write_text(f"NeoAPIWhatsAppURL {provider}\n")
        made = Instance("main", SERVER_CONF=str(second), INSTANCE_CONF=str(first))
        try:
            yield made.up()
        finally:
            remove(made)
            second.unlink()
            first.unlink()


@pytest.fixture
def new_instance():
    made = []

    def new(**settings):
        made.append(Instance(f"extra{len(made)}", **settings))
        return made[-1].up()

    yield new
    for one in made:
        remove(one)


class Cluster:
    """The PostgreSQL cluster of an instance."""

    def __init__(self, admin_dsn):
        self.admin_dsn = admin_dsn


@pytest.fixture(scope="session")
def next_version(tmp_path_factory):
    """The programs of a newer version, with an additional migration and a field `website` of brokers."""
    return NextVersion(tmp_path_factory.mktemp("newer"), ("next", NEXT), edits=[WEBSITE])


@pytest.fixture(scope="session")
def cluster(instance):
    return Cluster(make_dsn(instance.admin_dsn, dbname="postgres"))


@pytest.fixture(scope="session")
def admin_factory(instance):
    return AdminFactory(instance)


class Principals:
    """A tenant with two organizations, a key for each role in the first, a user and tokens that reach one and both; and an
    org_admin's key in an organization of another tenant."""

    def __init__(self, admin_factory):
        self.tenant, self.other_tenant = admin_factory.tenant(), admin_factory.tenant()
        self.organization, self.organization_2 = (admin_factory.organization(self.tenant) for _ in range(2))
        self.admin, self.editor, self.viewer = (admin_factory.key(self.organization, role)
                                                for role in ("org_admin", "org_editor", "org_viewer"))
        self.user = admin_factory.user(self.tenant)
        self.token_one = admin_factory.token(self.user, self.organization)
        self.token_both = admin_factory.token(self.user, self.organization_2, self.organization)
        self.other_organization = admin_factory.organization(self.other_tenant)
        self.other = admin_factory.key(self.other_organization)


@pytest.fixture(scope="session")
def principals(admin_factory):
    return Principals(admin_factory)


@pytest.fixture
def api(instance, principals):
    return Api(instance, principals.admin)


@pytest.fixture
def own_api(instance, admin_factory):
    return Api(instance, admin_factory.key())


@pytest.fixture
def factory(own_api):
    return ResourceFactory(own_api)


@pytest.fixture
def anonymous(instance):
    return Api(instance, source=next(addresses))


@pytest.fixture
def second_host_api(own_api, instance):
    return own_api.with_(url=f"https://127.0.0.2:{instance.port}/public/v1/")


@pytest.fixture
def log_since(instance):
    before = len(instance.error_log)
    return lambda: instance.error_log[before:]
