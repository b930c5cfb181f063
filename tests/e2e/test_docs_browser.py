"""Tests the documentation in Chromium: layout, contrast, copy buttons, the reference's "Try it out".

Screenshots are kept in BUILD/e2e/screenshots."""

import json
import os
import subprocess

import pytest

pytest.importorskip("selenium", reason="python3-selenium is not installed")
pytest.register_assert_rewrite("browser")

from browser import DESK, PHONE, WIDE, Browser  # noqa: E402
from client import ok  # noqa: E402
from deployment import PLACE  # noqa: E402
from pages import PAGES, page_of  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from wait import TIMEOUT_S, eventually  # noqa: E402

pytestmark = pytest.mark.plain

LOOKS = {"desk": (DESK, False), "desk-dark": (DESK, True), "phone": (PHONE, False), "phone-dark": (PHONE, True)}
TEXT_PAGES = [path for path in PAGES if path != "docs/reference"]
FITS = "return document.documentElement.scrollWidth <= innerWidth"
CUT_OFF = """
return [...document.querySelectorAll('main *')].filter((e) => getComputedStyle(e).display !== 'inline'
    && e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 200))
"""
# The lowest contrast of any visible text, and that text (WCAG 2.1, 1.4.3: 4.5 to 1).
CONTRAST = """
const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
const ground = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const color = numbers(getComputedStyle(e).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color;
  }
  return [255, 255, 255];
};
let least = [99, ''];
for (const element of document.querySelectorAll('body *')) {
  const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join('');
  if (!text || !element.checkVisibility()) continue;
  const pair = [light(numbers(getComputedStyle(element).color)), light(ground(element))].sort((a, b) => b - a);
  const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
  if (contrast < least[0]) least = [contrast, text];
}
return least;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(tmp_path_factory.mktemp("browser"))
    try:
        yield one
    finally:
        one.close()


@pytest.fixture(params=LOOKS)
def look(request, browser):
    browser.look(*LOOKS[request.param])
    return request.param


@pytest.fixture
def reference(browser, anonymous):
    browser.look()
    browser.open(anonymous.url + "docs/reference")
    return browser


def until_drawn(browser):
    if browser.run("return document.querySelector('#operations') !== null"):
        browser.find(".opblock")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_drawn_without_a_complaint_and_from_here_alone(browser, look, anonymous, path):
    browser.open(anonymous.url + path)
    until_drawn(browser)
    browser.screenshot(PLACE / "screenshots" / f"{path.partition('/')[2] or 'start'}-{look}.png")
    assert browser.console() == []
    requests = browser.requests()
    assert len(requests) >= 3 and all(url.startswith(anonymous.url) for url in requests), requests
    assert browser.run(FITS), "it is wider than the screen"
    dark = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, dark.strip("rgb()").split(","))) < 200) == look.endswith("dark")


@pytest.mark.parametrize("path", TEXT_PAGES)
def test_text_can_be_read(browser, look, anonymous, path):
    browser.open(anonymous.url + path)
    contrast, text = browser.run(CONTRAST)
    assert contrast >= 4.5, (contrast, text)


# ---------------------------------------------------------------- code blocks


def languages(browser):
    return [one.text for one in browser.find(".samples .bar").find_elements("css selector", "[aria-pressed]")]


@pytest.mark.parametrize("path", TEXT_PAGES)
def test_nothing_is_cut_off_on_a_wide_screen(browser, anonymous, path):
    browser.look(WIDE)
    browser.open(anonymous.url + path)
    assert browser.run(CUT_OFF) == []
    for language in languages(browser) if browser.find_all(".samples") else []:
        choose(browser, language)
        assert browser.run(CUT_OFF) == [], language


def choose(browser, language):
    """With the keyboard, in the last sample."""
    *_, button = (one for one in browser.find_all(".samples [aria-pressed]") if one.text == language)
    button.send_keys(Keys.ENTER)
    return button


def test_a_language_is_chosen_for_all_samples(browser, anonymous):
    browser.look(WIDE)
    browser.open(anonymous.url + "docs/")
    assert languages(browser) == ["curl", "Python", "TypeScript"]
    for language in ("Python", "TypeScript", "curl"):
        button = choose(browser, language)
        shown = [pre.get_attribute("data-label") for pre in browser.find_all(".samples pre")]
        assert set(shown) == {language} and len(shown) == len(browser.find_all(".samples"))
        assert button.get_attribute("aria-pressed") == "true"
        assert 0 <= browser.run("return arguments[0].getBoundingClientRect().top", button) < WIDE[1]


def test_a_block_is_copied_with_the_keyboard(browser, anonymous):
    browser.look(WIDE)
    browser.open(anonymous.url + "docs/")
    choose(browser, "Python")
    button = browser.find_all(".samples .copy")[1]
    button.send_keys(Keys.ENTER)
    assert button.text == "Copied"
    browser.run("document.querySelector('main').prepend(document.createElement('textarea'))")
    browser.find("textarea").send_keys(Keys.CONTROL, "v")
    pasted = browser.find("textarea").get_attribute("value")
    assert pasted == browser.find_all(".samples code")[1].text and pasted.startswith("query = {")
    eventually(lambda: button.text == "Copy", "the button is back")
    assert browser.console() == []


@pytest.mark.parametrize("path", TEXT_PAGES)
def test_a_page_is_complete_without_javascript(browser, anonymous, path):
    browser.look(WIDE)
    try:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        browser.open(anonymous.url + path)
        page = page_of(anonymous, path)
        assert [one.text for one in browser.find_all("pre")] == [text for *_, text in page.examples]
        assert not browser.find_all("button")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


# ---------------------------------------------------------------- links


def test_an_explanation_is_in_sight_where_an_error_leads(browser, anonymous, api):
    browser.look(PHONE)
    browser.open(api.get("brokers?limit=0").json()["documentation_url"])
    assert 0 <= browser.run("return document.querySelector(':target').getBoundingClientRect().top") < PHONE[1] / 2


def test_the_bar_leads_from_page_to_page(browser, anonymous):
    browser.look()
    browser.open(anonymous.url + "docs")
    assert browser.driver.current_url == anonymous.url + "docs/"
    for path in (*PAGES[1:], PAGES[0]):
        browser.find(f"header nav a[href='{path.partition('/')[2] or './'}']").click()
        eventually(lambda at=path: browser.driver.current_url == anonymous.url + at, path)
        assert browser.find("[aria-current=page]").text == browser.find("h1").text


# ---------------------------------------------------------------- the reference


def test_the_reference_has_every_operation(reference, anonymous):
    document = anonymous.description()
    described = {operation["operationId"] for path in document["paths"].values() for method, operation in path.items()
                 if method in ("get", "post", "put", "patch", "delete")}
    reference.find(".opblock")
    drawn = {one.get_attribute("id").rpartition("-")[2] for one in reference.find_all(".opblock")}
    assert described <= drawn
    assert not reference.find_all(".opblock-head, .opblock-options")


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


def test_trying_it_out_with_a_key_gets_real_answers(reference, own_api):
    authorize(reference, own_api.credential.secret)
    status, shown = try_out(reference, "getPrincipal")
    assert status == 200 and own_api.credential.id in shown
    status, shown = try_out(reference, "createBroker")
    made, = own_api.walk()
    assert status == 201 and made["id"] in shown
    status, shown = try_out(reference, "listBrokers")
    assert status == 200 and made["id"] in shown and "end_cursor" in shown
    reference.screenshot(PLACE / "screenshots/try-it-out.png")
    assert reference.console() == []
    assert all(url.startswith(own_api.url) for url in reference.requests())


def test_the_snippets_of_a_request_work(reference, own_api):
    """With all characters in the body that the languages treat specially."""
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
    """The text of the snippet, once it is the one that starts so."""
    text = browser.find(".request-snippets pre").get_attribute("textContent")
    return text if text.startswith(start) else None


def test_trying_it_out_works_by_whatever_name_the_page_was_reached(browser, second_host_api):
    """The base URL of this virtual host is different."""
    browser.look()
    browser.open(second_host_api.url + "docs/reference")
    authorize(browser, second_host_api.credential.secret)
    assert try_out(browser, "getPrincipal")[0] == 200


def test_lists_are_tried_out_with_what_is_proposed(reference, own_api):
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


def test_trying_it_out_without_a_key_says_so(reference):
    status, shown = try_out(reference, "getPrincipal")
    assert status == 401 and "unauthorized.auth_required" in shown


def test_a_key_is_kept_nowhere(reference, own_api):
    authorize(reference, own_api.credential.secret)
    assert try_out(reference, "getPrincipal")[0] == 200
    assert reference.run("return localStorage.length + sessionStorage.length + document.cookie.length") == 0
    reference.open(own_api.url + "docs/reference")
    assert try_out(reference, "getPrincipal")[0] == 401


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_an_address_leads_to_an_operation(browser, anonymous, size):
    browser.look(size)
    browser.open(anonymous.url + "docs/reference#/Brokers/createBroker")
    browser.find("[id$='-createBroker'] .responses-table")
    assert "Idempotency-Key" in browser.find("[id$='-createBroker'] .opblock-body").text
    assert browser.run(FITS), "it is wider than the screen"


def test_a_page_runs_no_inline_script(browser, own_api):
    browser.look()
    browser.open(own_api.url + "docs/")
    browser.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    browser.run("document.body.setAttribute('onclick', 'window.ran = 1'); document.body.click()")
    assert browser.run("return window.ran === undefined")
    assert any("Content Security Policy" in message for message in browser.console())
    assert ok(own_api.get("me"))
