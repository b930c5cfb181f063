# SPDX-License-Identifier: Apache-2.0
"""Checks the documentation pages with axe-core's rules of WCAG 2.1 A and AA and its best practices."""

import pytest

pytest.importorskip("selenium", reason="python3-selenium is not installed")

from accessibility import axe, violations  # noqa: E402, F401 (fixtures)
from browser import THEMES, browser  # noqa: E402, F401 (a fixture among them)
from pages import OPERATION, PAGES  # noqa: E402

pytestmark = pytest.mark.unsanitized


@pytest.fixture(params=THEMES.values(), ids=THEMES)
def themed(request, browser):
    browser.set_theme(*request.param)


@pytest.mark.parametrize("path", [*PAGES, OPERATION, "docs/listBrokers", "docs/batchContracts"])
def test_a_page_has_no_violations(browser, themed, violations, anonymous, path):
    browser.open(anonymous.url + path)
    assert violations() == []


def test_the_results_of_a_search_have_no_violations(browser, themed, violations, anonymous):
    browser.open(anonymous.url + "docs/")
    browser.find("[type=search]").send_keys("retry")
    browser.find(".search a")
    assert violations() == []


def test_the_result_of_the_form_has_no_violations(browser, themed, violations, anonymous):
    browser.open(anonymous.url + "docs/listBrokers")
    browser.find(".send button").click()
    browser.find(".result pre")
    assert violations() == []


def test_a_violation_is_found(browser, violations, anonymous):
    browser.open(anonymous.url + "docs/")
    browser.run("document.documentElement.removeAttribute('lang')")
    assert [one[0] for one in violations()] == ["html-has-lang"]
