# SPDX-License-Identifier: Apache-2.0
"""Checks the documentation pages with axe-core's rules of WCAG 2.1 A and AA and its best practices."""

import pytest

pytest.importorskip("selenium", reason="python3-selenium is not installed")

from accessibility import axe, violations  # noqa: E402, F401 (fixtures)
from browser import THEMES, browser  # noqa: E402, F401 (a fixture among them)
from factories import ADDRESS, cpf  # noqa: E402
from pages import OPERATION, PAGES  # noqa: E402

pytestmark = pytest.mark.unsanitized


@pytest.fixture(params=THEMES.values(), ids=THEMES)
def themed(request, browser):
    browser.set_theme(*request.param)


@pytest.mark.parametrize("path", [*PAGES, OPERATION, "docs/listBrokers", "docs/batchContracts"])
def test_a_page_has_no_violations(browser, themed, violations, anonymous, path):
    browser.open(anonymous.url + path)
    assert violations() == []


def test_the_page_for_a_person_has_no_violations(browser, themed, violations, own_api, factory, tmp_path):
    party = factory.party(email="marina@example.com", document_number=cpf(), address=ADDRESS)["id"]
    factory.lead(party_id=party)
    factory.contract(parties=[{"party_id": party, "role": "buyer"}, *factory.signed("sale")[:1]])
    page = tmp_path / "page.html"
    page.write_text(own_api.post("subjects/export", {"email": "marina@example.com"}, headers={"Accept": "text/html"}).text)
    browser.open(page.as_uri())
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
