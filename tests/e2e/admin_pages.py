# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the status, metrics and health pages: their locations and their values.

CONF adds them to the API's virtual host and to a plain HTTP virtual host without the API.
"""

import re

import requests
from webhook_fixtures import HERE
from wait import TIMEOUT_S

LOCATIONS = """
LoadModule authz_host_module "${MODULES}/mod_authz_host.so"
LoadModule status_module "${MODULES}/mod_status.so"
<Location "/neoapi-status">
    SetHandler neoapi-status
    Require local
</Location>
<Location "/neoapi-metrics">
    SetHandler neoapi-metrics
    Require local
</Location>
<Location "/neoapi-health">
    SetHandler neoapi-health
    Require all granted
</Location>
<Location "/server-status">
    SetHandler server-status
    Require local
</Location>
"""
# A virtual host without the API, such as an internal address for administrators.
INNER_HOST = """
Listen 127.0.0.5:${PORT}
<VirtualHost 127.0.0.5:${PORT}>
    ServerName inner.example.com
</VirtualHost>
"""
CONF = HERE + LOCATIONS + INNER_HOST


class AdminPages:
    """page(), metrics() and health() return responses, counters() and samples() their values."""

    def __init__(self, instance, address="127.0.0.5"):
        self.base = f"http://{address}:{instance.port}/"
        self.session = requests.Session()
        self.session.trust_env = False

    def get(self, path, method="GET", **more):
        return self.session.request(method, self.base + path, timeout=TIMEOUT_S, allow_redirects=False, **more)

    def page(self, query=""):
        return self.get("neoapi-status" + query)

    def counters(self):
        """The lines of ?auto."""
        response = self.page("?auto")
        assert response.status_code == 200 and response.headers["Content-Type"] == "text/plain; charset=utf-8", response.text
        found = {}
        for line in response.text.splitlines():
            key, colon, value = line.partition(": ")
            assert colon and key not in found, line
            found[key] = float(value) if re.fullmatch(r"[\d.]+", value) and value.count(".") < 2 else value
        return found

    def route(self, name):
        """The counts of a route ("GET /brokers") by status since the start."""
        line = self.counters().get(f"Route {name}", "")
        return {int(status): int(count) for status, count in re.findall(r"(\d{3})=(\d+)", line)}

    def metrics(self):
        response = self.get("neoapi-metrics")
        assert response.status_code == 200, response.text
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return response.text

    def samples(self):
        """The metrics by name with labels, unparsed."""
        return {name: float(value) for name, value in re.findall(r"^(neoapi_[^ ]+) (\S+)$", self.metrics(), re.M)}

    def health(self, query=""):
        response = self.get("neoapi-health" + query)
        return response.status_code, response.text
