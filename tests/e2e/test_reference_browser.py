# SPDX-License-Identifier: Apache-2.0
"""Tests the reference page in Chromium: "Try it out", snippets, schemas, links to an operation."""

import json
import os
import subprocess

import pytest

pytest.importorskip("selenium", reason="python3-selenium is not installed")

from browser import DESKTOP, FITS_WIDTH, PHONE, browser  # noqa: E402, F401 (a fixture among them)
from deployment import E2E_DIR  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from wait import TIMEOUT_S, eventually  # noqa: E402

pytestmark = pytest.mark.unsanitized


@pytest.fixture
def reference(browser, anonymous):
    browser.set_theme()
    browser.open(anonymous.url + "docs/reference")
    return browser


def test_the_reference_has_every_operation(reference, anonymous):
    document = anonymous.description()
    described = {operation["operationId"] for path in document["paths"].values() for method, operation in path.items()
                 if method in ("get", "post", "put", "patch", "delete")}
    reference.find(".opblock")
    drawn = {one.get_attribute("id").rpartition("-")[2] for one in reference.find_all(".opblock")}
    assert described <= drawn
    assert not reference.find_all(".opblock-head, .opblock-options")


def test_the_filter_leaves_the_operations_and_webhooks_of_a_tag(reference):
    def shown():
        return set(reference.run("return [...document.querySelectorAll('.opblock')].map((e) => e.id.split('-')[1])"))
    reference.find(".opblock")
    everything = shown()
    field = reference.find(".operation-filter-input")
    for phrase, tags in (("broker", {"Brokers"}), ("webhook", {"Webhooks", "webhooks"}), ("", everything)):
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(phrase or Keys.BACKSPACE)
        eventually(lambda tags=tags: shown() == tags, phrase)
    assert len(everything) > 5 and reference.console() == []


def authorize(browser, secret):
    browser.find(".auth-wrapper .authorize").click()
    browser.find(".auth-container input").send_keys(secret)
    browser.find(".auth-btn-wrapper .authorize").click()
    browser.find(".auth-btn-wrapper .btn-done").click()


def try_out(browser, operation):
    """Sends the example. Returns the status and the body that the page shows."""
    browser.find(f"[id$='-{operation}'] .opblock-summary-control").click()
    browser.find(f"[id$='-{operation}'] .try-out__btn").click()
    browser.find(f"[id$='-{operation}'] .execute").click()
    status, shown = (browser.find(f"[id$='-{operation}'] .live-responses-table tbody .response-col_{column}").text
                     for column in ("status", "description"))
    return int(status.split()[0]), shown


def test_try_it_out_with_a_key_gets_real_responses(reference, own_api):
    authorize(reference, own_api.credential.secret)
    status, shown = try_out(reference, "getPrincipal")
    assert status == 200 and own_api.credential.id in shown
    status, shown = try_out(reference, "createBroker")
    made, = own_api.walk()
    assert status == 201 and made["id"] in shown
    status, shown = try_out(reference, "listBrokers")
    assert status == 200 and made["id"] in shown and "end_cursor" in shown
    reference.screenshot(E2E_DIR / "screenshots/try-it-out.png")
    assert reference.console() == []
    assert all(url.startswith(own_api.url) for url in reference.requests())


def test_the_snippets_of_a_request_work(reference, own_api):
    """With a body that has all special characters of the languages."""
    name, ca = "D'Ávila '''`${x}` \\ \"z\"", own_api.instance.ca
    authorize(reference, own_api.credential.secret)
    reference.find("[id$='-createBroker'] .opblock-summary-control").click()
    reference.find("[id$='-createBroker'] .try-out__btn").click()
    body = reference.find("[id$='-createBroker'] textarea")
    body.send_keys(Keys.CONTROL, "a")
    body.send_keys(json.dumps({"name": name}, ensure_ascii=False))
    reference.find("[id$='-createBroker'] .execute").click()
    reference.find(".live-responses-table")
    for language, start, *command in (("Python", "import requests", "/usr/bin/python3", "-c"),
                                      ("TypeScript", "const headers", "node", "--input-type=module", "-e")):
        next(one for one in reference.find_all(".request-snippets .btn") if one.text == language).click()
        snippet = eventually(lambda start=start: snippet_of(reference, start), language)
        done = subprocess.run([*command, snippet], text=True, capture_output=True, timeout=TIMEOUT_S,
                              env={**os.environ, "REQUESTS_CA_BUNDLE": ca, "NODE_EXTRA_CA_CERTS": ca, "no_proxy": "*"})
        assert done.returncode == 0 and json.loads(done.stdout)["name"] == name, (snippet, done)
    assert [broker["name"] for broker in own_api.walk()] == [name] * 3


def snippet_of(browser, start):
    """Waits for a snippet that starts with this text and returns it."""
    text = browser.find(".request-snippets pre").get_attribute("textContent")
    return text if text.startswith(start) else None


def test_try_it_out_works_under_every_host_name_of_the_page(browser, second_host_api):
    """The base URL of this virtual host is different."""
    browser.set_theme()
    browser.open(second_host_api.url + "docs/reference")
    authorize(browser, second_host_api.credential.secret)
    assert try_out(browser, "getPrincipal")[0] == 200


def test_try_it_out_works_for_lists_with_the_default_parameters(reference, own_api):
    """Optional parameters and their examples are not sent."""
    authorize(reference, own_api.credential.secret)
    for name in ("listProperties", "listContracts", "listWebhooks"):
        status, shown = try_out(reference, name)
        assert status == 200 and "items" in shown, name
    assert reference.console() == []


def test_a_schema_shows_the_fields_that_references_lead_to(reference):
    reference.find("[id$='-createProperty'] .opblock-summary-control").click()
    reference.find("[id$='-createProperty'] .opblock-section-request-body [data-name=model]").click()
    shown = reference.find("[id$='-createProperty'] .opblock-section-request-body .json-schema-2020-12__title").text
    assert shown == "PropertyInput"
    assert "$ref" not in reference.find("[id$='-createProperty'] .opblock-body").text
    assert reference.console() == []


def test_try_it_out_without_a_key_shows_the_401(reference):
    status, shown = try_out(reference, "getPrincipal")
    assert status == 401 and "unauthorized.auth_required" in shown


def test_a_key_is_not_stored(reference, own_api):
    authorize(reference, own_api.credential.secret)
    assert try_out(reference, "getPrincipal")[0] == 200
    assert reference.run("return localStorage.length + sessionStorage.length + document.cookie.length") == 0
    reference.open(own_api.url + "docs/reference")
    assert try_out(reference, "getPrincipal")[0] == 401


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_url_leads_to_an_operation(browser, anonymous, size):
    browser.set_theme(size)
    browser.open(anonymous.url + "docs/reference#/Brokers/createBroker")
    browser.find("[id$='-createBroker'] .responses-table")
    assert "Idempotency-Key" in browser.find("[id$='-createBroker'] .opblock-body").text
    assert browser.run(FITS_WIDTH), "wider than the viewport"
