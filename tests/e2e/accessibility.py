# SPDX-License-Identifier: Apache-2.0
"""Fixtures that check pages with axe-core's rules of WCAG 2.1 A and AA and its best practices."""

import subprocess

import pytest
from deployment import ROOT

TOOLS = ROOT / "build/axe"
INSTALL_TIMEOUT_S = 300
# After the second frame, because scripts of the page react to sizes at the end of the first.
RUN = """
const done = arguments[arguments.length - 1];
const run = () => axe.run(document, {resultTypes: ['violations']}).then(
    (results) => done(results.violations.map((one) => [one.id, one.help, one.nodes.slice(0, 3).map((node) => node.html)])),
    (error) => done([String(error)]));
requestAnimationFrame(() => requestAnimationFrame(run));
"""


@pytest.fixture(scope="module")
def axe():
    subprocess.run(["sh", ROOT / "tests/deploy/npm.sh", ROOT / "tests/axe", TOOLS], check=True, timeout=INSTALL_TIMEOUT_S)
    return (TOOLS / "node_modules/axe-core/axe.min.js").read_text()


@pytest.fixture
def violations(browser, axe):
    """Returns a function that returns the violations of the page that is open."""
    def find():
        browser.run(axe)
        return browser.driver.execute_async_script(RUN)
    return find
