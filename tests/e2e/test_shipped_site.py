# SPDX-License-Identifier: Apache-2.0
"""The virtual host of conf/neoapi.conf, with the locations in its comments: each of them answers, and all other paths are denied."""

import re
from pathlib import Path

import pytest
import requests
from client import Adapter
from conftest import remove
from deployment import ROOT, Instance
from wait import TIMEOUT_S

ADDRESS = "127.0.0.3"
# What this instance has elsewhere. The database is that of the main server.
HERE = [("<VirtualHost .*", f"Listen {ADDRESS}:${{PORT}} https\n<VirtualHost {ADDRESS}:${{PORT}}>"), ("ServerName .*", "ServerName localhost"),
        ("(SSLCertificateFile) .*", r'\1 "${INSTANCE}/tls/server.pem"'), ("(SSLCertificateKeyFile) .*", r'\1 "${INSTANCE}/tls/server.key"'),
        ("DBD.*", ""), ("(NeoAPIBaseURL) .*", r"\1 https://localhost:${PORT}/public/v1/"), ("(NeoAPIKeyFile) .*", r'\1 "${INSTANCE}/neoapi.key"'),
        (r"(ErrorLog|CustomLog) \S+/", r"\1 ${INSTANCE}/log/")]


def shipped():
    text = (ROOT / "conf/neoapi.conf").read_text()
    host = text[text.index("<VirtualHost *:443>"):text.index("</VirtualHost>", text.index("<VirtualHost *:443>"))]
    host = re.sub(r"^( *)#(</?Location|    SetHandler|    Require)", r"\1\2", host, flags=re.M)
    for line, here in HERE:
        host, count = re.subn(rf"^ *{line}", here, host, flags=re.M)
        assert count, line
    return host + "</VirtualHost>\n"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """ask(path): the status and the media type of a GET."""
    conf = tmp_path_factory.mktemp("shipped") / "server"
    conf.write_text(shipped())
    made = Instance("shipped", SERVER_CONF=str(conf))
    try:
        made.up()
        session = requests.Session()
        session.trust_env = False
        session.mount("https://", Adapter(None, Path(made.ca).read_text()))

        def get(path):
            answer = session.get(f"https://{ADDRESS}:{made.port}{path}", headers={"Host": f"localhost:{made.port}"}, timeout=TIMEOUT_S)
            return answer.status_code, answer.headers["Content-Type"].partition(";")[0]
        yield get
    finally:
        remove(made)


@pytest.mark.parametrize("path, answer", [
    ("/public/v1/me", (401, "application/problem+json")),
    ("/.well-known/oauth-authorization-server/public/v1", (200, "application/json")),
    ("/listings/unknown", (404, "text/plain")),
    ("/leads/unknown", (405, "text/plain")),
    ("/whatsapp/callback", (403, "text/plain")),
    ("/neoapi-status", (200, "text/html")),
    ("/neoapi-metrics", (200, "text/plain")),
    ("/neoapi-health", (200, "text/plain"))])
def test_each_location_answers(ask, path, answer):
    assert ask(path) == answer


def test_all_other_paths_are_denied(ask):
    for path in ("/", "/public/", "/.well-known/other", "/index.html"):
        assert ask(path) == (403, "text/html"), path
