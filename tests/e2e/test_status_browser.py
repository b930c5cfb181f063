# SPDX-License-Identifier: Apache-2.0
"""Tests the status page in Chromium: its Content-Security-Policy, phone layout, contrast and refresh.

Screenshots are kept in BUILD/e2e/screenshots."""

import pytest

pytest.importorskip("selenium", reason="python3-selenium is not installed")

from browser import LOWEST_CONTRAST, DESKTOP, FITS_WIDTH, THEMES, browser  # noqa: E402, F401 (a fixture among them)
from client import ok  # noqa: E402
from deployment import E2E_DIR  # noqa: E402
from webhook_fixtures import (admin, module_admin_factory, module_instance, receiver,  # noqa: E402, F401 (fixtures among them)
                              subscribe, until)
from admin_pages import CONF as ADMIN_PAGES_CONF  # noqa: E402
from wait import eventually  # noqa: E402

pytestmark = pytest.mark.unsanitized

CONF = ADMIN_PAGES_CONF.replace("127.0.0.5", "127.0.0.2")  # an address that the browser can connect to


@pytest.fixture
def page(module_instance, admin, receiver):
    """The URL of the page, after every kind of counted event."""
    subscription = subscribe(admin, receiver.url, "broker.created")
    broker = admin.broker()
    ok(admin.get(f"brokers/{broker['id']}"))
    assert admin.get("brokers/brk_" + "0" * 26).status_code == 404
    admin.patch(f"brokers/{broker['id']}", json={"name": 1})
    until(admin, subscription, "success")
    return f"http://127.0.0.2:{module_instance.port}/neoapi-status"


@pytest.mark.parametrize("theme", THEMES)
def test_the_page_is_rendered_and_readable_in_every_theme(browser, page, theme):
    browser.set_theme(*THEMES[theme])
    browser.open(page)
    assert len(browser.find_all("svg.plot")) == 4 and browser.find_all(".plot rect.good")
    browser.screenshot(E2E_DIR / "screenshots" / f"status-{theme}.png")
    assert browser.console() == []
    assert browser.requests() == [page], "the page requests no other resource"
    assert browser.run(FITS_WIDTH), "wider than the viewport"
    contrast, text = browser.run(LOWEST_CONTRAST)
    assert contrast >= 4.5, (contrast, text)
    dark = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, dark.strip("rgb()").split(","))) < 200) == theme.endswith("dark")


def test_charts_are_drawn_within_their_bounds(browser, page):
    browser.set_theme(DESKTOP)
    browser.open(page)
    assert browser.run("""return [...document.querySelectorAll('.plot rect, .plot path')].every((shape) => {
        const inside = shape.getBoundingClientRect(), around = shape.closest('.plot').getBoundingClientRect();
        return inside.left >= around.left - 1 && inside.right <= around.right + 1
            && inside.top >= around.top - 2 && inside.bottom <= around.bottom + 2; })""")


def test_its_style_is_applied_and_no_script_runs(browser, page):
    browser.set_theme(DESKTOP)
    browser.open(page)
    assert browser.run("return getComputedStyle(document.querySelector('.tiles')).display") == "grid"
    browser.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    assert browser.run("return window.ran === undefined")


def test_the_page_reloads_by_itself(browser, page):
    browser.set_theme(DESKTOP)
    browser.open(page + "?refresh=1")
    browser.run("window.first = 1")
    eventually(lambda: browser.run("return window.first === undefined && document.readyState === 'complete'"), "another page")
    assert "every 1 s" in browser.find("nav").text


def test_the_links_lead_to_the_other_formats(browser, page):
    browser.set_theme(DESKTOP)
    browser.open(page)
    browser.find("nav a[href='?refresh=5']").click()
    eventually(lambda: browser.driver.current_url.endswith("?refresh=5"), "the page reloads")
    browser.find("nav a[href='?auto']").click()
    eventually(lambda: "CountedSince: " in browser.find("body").text, "the text")
