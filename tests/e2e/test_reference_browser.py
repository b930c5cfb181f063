# SPDX-License-Identifier: Apache-2.0
"""Tests the reference in Chromium: the form that sends requests, links to operations, copied samples."""

import subprocess

import pytest

pytest.importorskip("selenium", reason="python3-selenium is not installed")

from browser import DESKTOP, FITS_WIDTH, PHONE, browser  # noqa: E402, F401 (a fixture among them)
from deployment import E2E_DIR  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from wait import TIMEOUT_S, eventually  # noqa: E402

pytestmark = pytest.mark.unsanitized


@pytest.fixture
def opened(browser, anonymous):
    """opened(operation): the browser with its page."""
    def open_page(operation, api=anonymous, size=DESKTOP):
        browser.set_theme(size)
        browser.open(api.url + "docs/" + operation)
        return browser
    return open_page


def send(browser, secret=None, **fields):
    """Sends the request of the form. Returns the status and the body that the page shows."""
    for name, value in {"key": secret, **fields}.items():
        if value is not None:
            browser.find(f".send [name='{name}']").clear()
            browser.find(f".send [name='{name}']").send_keys(value)
    before = browser.run("document.querySelector('.result').replaceChildren()")
    assert before is None
    browser.find(".send button").send_keys(Keys.ENTER)
    status = browser.find(".result p").text
    return int(status.split()[0]), "".join(one.text for one in browser.find_all(".result code"))


def test_the_form_with_a_key_gets_real_responses(opened, own_api):
    secret = own_api.credential.secret
    status, shown = send(opened("getPrincipal"), secret)
    assert status == 200 and own_api.credential.id in shown
    browser = opened("createBroker")
    status, shown = send(browser, secret)
    made, = own_api.walk()
    assert status == 201 and made["id"] in shown
    browser.screenshot(E2E_DIR / "screenshots/send.png")
    status, shown = send(opened("getBroker"), secret, id=made["id"])
    assert status == 200 and f'"name": "{made["name"]}"' in shown
    status, shown = send(opened("listBrokers"), secret, limit="1", visibility="restricted,private")
    assert status == 200 and made["id"] in shown and "end_cursor" in shown
    assert send(opened("deleteBroker"), secret, id=made["id"]) == (204, "")
    assert browser.console() == []
    assert all(url.startswith(own_api.url) for url in browser.requests())


def test_the_form_without_a_key_shows_the_401(opened):
    status, shown = send(opened("getPrincipal"))
    assert status == 401 and "unauthorized.auth_required" in shown


def test_the_form_needs_the_ids_of_the_path(opened, own_api):
    browser = opened("getBroker")
    browser.find(".send [name=key]").send_keys(own_api.credential.secret, Keys.ENTER)
    assert browser.run("return document.querySelector('.send').checkValidity()") is False
    assert not browser.find_all(".result p")


def test_the_form_works_under_every_host_name_of_the_page(opened, second_host_api):
    """The base URL of this virtual host is different."""
    assert send(opened("getPrincipal", second_host_api), second_host_api.credential.secret)[0] == 200


def test_a_key_is_not_stored(opened, own_api):
    browser = opened("getPrincipal")
    assert send(browser, own_api.credential.secret)[0] == 200
    assert browser.run("return localStorage.length + sessionStorage.length + document.cookie.length") == 0
    assert send(opened("getPrincipal"))[0] == 401


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_url_of_an_earlier_version_leads_to_an_operation(browser, anonymous, size):
    browser.set_theme(size)
    browser.open(anonymous.url + "docs/reference#/Brokers/createBroker")
    eventually(lambda: browser.driver.current_url == anonymous.url + "docs/createBroker", "the page of the operation")
    assert "Idempotency-Key" in browser.find("main").text
    assert browser.run(FITS_WIDTH), "wider than the viewport"


def test_a_sample_is_copied_and_runs(opened, own_api, tmp_path):
    browser, ca = opened("createBroker", own_api), own_api.instance.ca
    next(one for one in browser.find_all(".samples [aria-pressed]") if one.text == "curl").send_keys(Keys.ENTER)
    browser.find(".samples .copy").send_keys(Keys.ENTER)
    browser.run("document.querySelector('main').prepend(document.createElement('textarea'))")
    browser.find("textarea").send_keys(Keys.CONTROL, "v")
    copied = browser.find("textarea").get_attribute("value")
    done = subprocess.run(["sh", "-euc", copied], text=True, capture_output=True, timeout=TIMEOUT_S, cwd=tmp_path,
                          env={"PATH": "/usr/bin:/bin", "KEY": own_api.credential.secret, "CURL_CA_BUNDLE": ca, "no_proxy": "*"})
    made, = own_api.walk()
    assert made["id"] in done.stdout
