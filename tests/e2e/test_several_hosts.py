# SPDX-License-Identifier: Apache-2.0
"""The load balancer of conf/several-hosts.conf with two hosts over TLS: it uses ready hosts only, and the hosts log the
client's address."""

import re
from pathlib import Path

import pytest
import requests

from client import Adapter
from deployment import ROOT
from webhook_fixtures import module_admin_factory, module_instance  # noqa: F401 (fixtures)
from wait import TIMEOUT_S, eventually

SHOWN = (ROOT / "conf/several-hosts.conf").read_text()
MEMBERS = ("127.0.0.1", "127.0.0.7")
CALLER = "127.0.0.9"
MODULES = ("authz_host", "remoteip", "slotmem_shm", "proxy", "proxy_http", "proxy_balancer", "proxy_hcheck",
           "lbmethod_bybusyness")


def balancer():
    """The documented configuration with local addresses and more frequent checks."""
    lines = re.findall(r"^#   (.*)$", SHOWN.partition("# The balancer, if it is httpd")[2], re.M)
    text = "\n".join(lines).replace("/etc/ssl/certs/ca-certificates.crt", "${INSTANCE}/tls/ca.pem")
    text = text.replace("hcinterval=5 hcfails=2", "hcinterval=1 hcfails=1")
    for shown, here in zip(("10.0.0.5", "10.0.0.6"), MEMBERS):
        text = text.replace(f"https://{shown} ", f"https://{here}:${{PORT}} ")
    return text


CONF = "".join(f'LoadModule {name}_module "${{MODULES}}/mod_{name}.so"\n' for name in MODULES) + """
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1
LogFormat "%A %a %{c}a %s %U" hosts
CustomLog "${INSTANCE}/log/hosts.log" hosts
<Location "/neoapi-health">
    SetHandler neoapi-health
    Require ip 127.0.0.1
</Location>
Listen 127.0.0.7:${PORT} https
Listen 127.0.0.8:${PORT} https
<VirtualHost 127.0.0.7:${PORT}>
    ServerName localhost:${PORT}
    SSLEngine On
    SSLCertificateFile "${INSTANCE}/tls/server.pem"
    SSLCertificateKeyFile "${INSTANCE}/tls/server.key"
    NeoAPIKeyFile "${INSTANCE}/neoapi.key"
    NeoAPIBaseURL "https://localhost:${PORT}/public/v1/"
    <Location "/public/v1/">
        NeoAPI On
    </Location>
</VirtualHost>
<VirtualHost 127.0.0.8:${PORT}>
    ServerName localhost:${PORT}
    SSLEngine On
    SSLCertificateFile "${INSTANCE}/tls/server.pem"
    SSLCertificateKeyFile "${INSTANCE}/tls/server.key"
""" + balancer() + """
</VirtualHost>
"""


@pytest.fixture
def ask(module_instance, module_admin_factory):
    """ask(): status and media type of a response through the balancer."""
    session, key = requests.Session(), module_admin_factory.key()
    session.trust_env, session.verify = False, module_instance.ca
    session.mount("https://", Adapter(CALLER, Path(module_instance.ca).read_text()))

    def one():
        answer = session.get(f"https://127.0.0.8:{module_instance.port}/public/v1/me", timeout=TIMEOUT_S,
                             headers={"X-API-Key": key.secret, "Host": f"localhost:{module_instance.port}",
                                      "X-Forwarded-For": "192.0.2.1"})
        return answer.status_code, answer.headers["Content-Type"].partition(";")[0]
    return one


def test_requests_go_to_hosts_that_are_ready(module_instance, ask):
    well = (200, "application/json")
    eventually(lambda: ask() == well, "the hosts are ready")
    module_instance.command("stop-db")
    try:
        eventually(lambda: ask() == (503, "text/html"), "the balancer has detected that no host is ready")
    finally:
        module_instance.command("start-db")
    eventually(lambda: ask() == well, "the balancer has detected that they are ready")


def test_hosts_see_the_real_client_address(module_instance, ask):
    eventually(lambda: ask()[0] == 200, "the hosts are ready")

    def lines():
        return set(re.findall(r"^(\S+) (\S+) (\S+) 200 /public/v1/me$", (module_instance.state / "log/hosts.log").read_text(),
                              re.M))

    def members():
        assert ask()[0] == 200
        return [line for line in lines() if line[0] in MEMBERS and line[2] == "127.0.0.1"]
    eventually(lambda: {line[0] for line in members()} == set(MEMBERS), "each host has answered")
    assert {line[1] for line in members()} == {CALLER}
