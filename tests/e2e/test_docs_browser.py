# SPDX-License-Identifier: Apache-2.0
"""Tests the pages of the documentation in Chromium: layout, contrast, copy buttons.

Screenshots are kept in BUILD/e2e/screenshots."""

import pytest

pytest.importorskip("selenium", reason="python3-selenium is not installed")

from browser import LOWEST_CONTRAST, FITS_WIDTH, THEMES, PHONE, WIDE, browser  # noqa: E402, F401 (a fixture among them)
from client import ok  # noqa: E402
from deployment import E2E_DIR  # noqa: E402
from pages import OPERATION, PAGES, PROGRAMS, page_of  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from wait import eventually  # noqa: E402

pytestmark = pytest.mark.unsanitized

TEXT_PAGES = (*(path for path in PAGES if path not in PROGRAMS), OPERATION)
CUT_OFF = """
return [...document.querySelectorAll('main *')].filter((e) => getComputedStyle(e).display !== 'inline'
    && e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent.slice(0, 200))
"""


@pytest.fixture(params=THEMES)
def theme(request, browser):
    browser.set_theme(*THEMES[request.param])
    return request.param


@pytest.mark.parametrize("path", TEXT_PAGES)
def test_a_page_is_rendered_without_errors_or_external_requests(browser, theme, anonymous, path):
    browser.open(anonymous.url + path)
    browser.screenshot(E2E_DIR / "screenshots" / f"{path.partition('/')[2] or 'start'}-{theme}.png")
    assert browser.console() == []
    requests = browser.requests()
    assert len(requests) >= 3 and all(url.startswith(anonymous.url) for url in requests), requests
    assert browser.run(FITS_WIDTH), "wider than the viewport"
    dark = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, dark.strip("rgb()").split(","))) < 200) == theme.endswith("dark")


@pytest.mark.parametrize("path", TEXT_PAGES)
def test_text_has_enough_contrast(browser, theme, anonymous, path):
    browser.open(anonymous.url + path)
    contrast, text = browser.run(LOWEST_CONTRAST)
    assert contrast >= 4.5, (contrast, text)


# ---------------------------------------------------------------- code blocks


def languages(browser):
    return [one.text for one in browser.find(".samples .bar").find_elements("css selector", "[aria-pressed]")]


@pytest.mark.parametrize("path", TEXT_PAGES)
def test_no_text_is_cut_off_on_a_wide_screen(browser, anonymous, path):
    browser.set_theme(WIDE)
    browser.open(anonymous.url + path)
    assert browser.run(CUT_OFF) == []
    for language in languages(browser) if browser.find_all(".samples") else []:
        choose(browser, language)
        assert browser.run(CUT_OFF) == [], language


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_commands_are_not_broken_within_a_word(browser, anonymous, size):
    browser.set_theme(size)
    browser.open(anonymous.url + "docs/ways#container-start")
    browser.screenshot(E2E_DIR / "screenshots" / f"commands-{size[0]}.png")
    words = browser.run("return [...document.querySelectorAll('pre .word')].map((e) => [e.textContent, e.getClientRects().length])")
    assert len(words) > 20 and {text for text, count in words if count > 1} == set()
    assert browser.run("return document.querySelector('#debian-start ~ .code code').textContent").startswith("runuser -u postgres -- neoapictl")


def test_statuses_are_not_broken_on_a_phone(browser, anonymous):
    browser.set_theme(PHONE)
    browser.open(anonymous.url + "docs/rules")
    lines = browser.run("return [...document.querySelectorAll('td code')].map((e) => [e.textContent, e.getClientRects().length])")
    assert len(lines) > 50 and {text for text, count in lines if count > 1} == set()


def choose(browser, language):
    """With the keyboard, in the last sample."""
    *_, button = (one for one in browser.find_all(".samples [aria-pressed]") if one.text == language)
    button.send_keys(Keys.ENTER)
    return button


def test_a_language_is_chosen_for_all_samples(browser, anonymous):
    browser.set_theme(WIDE)
    browser.open(anonymous.url + "docs/")
    assert languages(browser) == ["curl", "Python", "TypeScript"]  # the reference has five
    for language in ("Python", "TypeScript", "curl"):
        button = choose(browser, language)
        shown = [pre.get_attribute("data-label") for pre in browser.find_all(".samples pre")]
        assert set(shown) == {language} and len(shown) == len(browser.find_all(".samples"))
        assert button.get_attribute("aria-pressed") == "true"
        assert 0 <= browser.run("return arguments[0].getBoundingClientRect().top", button) < WIDE[1]


def test_the_chosen_language_is_remembered_on_all_pages(browser, anonymous):
    browser.set_theme(WIDE)
    browser.open(anonymous.url + "docs/")
    choose(browser, "TypeScript")
    try:
        for path in ("docs/webhooks", "docs/sync", "docs/"):
            browser.open(anonymous.url + path)
            shown = [pre.get_attribute("data-label") for pre in browser.find_all(".samples pre")]
            assert shown and set(shown) == {"TypeScript"}
        browser.run("localStorage.setItem('language', 'COBOL')")
        browser.open(anonymous.url + "docs/sync")
        assert [pre.get_attribute("data-label") for pre in browser.find_all(".samples pre")] == ["Python"]
    finally:
        browser.run("localStorage.clear()")


def test_a_block_is_copied_with_the_keyboard(browser, anonymous):
    browser.set_theme(WIDE)
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
    browser.set_theme(WIDE)
    try:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        browser.open(anonymous.url + path)
        page = page_of(anonymous, path)
        for summary in browser.find_all("summary"):
            summary.click()
        shown = [one.get_attribute("textContent") for one in browser.find_all("pre")]
        assert shown == [text for *_, text in page.examples]
        assert not browser.find_all("button")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


# ---------------------------------------------------------------- the search


def found(browser):
    return [link.text.splitlines()[0] for link in browser.find_all(".search a")]


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_the_search_works_with_the_keyboard_alone(browser, anonymous, size):
    browser.set_theme(size)
    browser.open(anonymous.url + "docs/webhooks")
    browser.find("body").send_keys("/")
    assert browser.run("return document.activeElement.type") == "search"
    browser.driver.switch_to.active_element.send_keys("create broker")
    eventually(lambda: found(browser)[:1] == ["Create a broker"], "the operation")
    assert browser.run(FITS_WIDTH), "wider than the viewport"
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert browser.driver.switch_to.active_element.text.startswith("Create a broker")
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    eventually(lambda: browser.driver.current_url == anonymous.url + "docs/createBroker", "its page")
    assert browser.console() == []


@pytest.mark.parametrize("words, heading", [("SIGNATURES", "Signatures"), ("retry-after", "Retries"),
                                            ("validation.broker.name", "validation.<resource>.<field>_required"),
                                            ("iptu_amount", None), ("zzzz", ""), ("café", "")])
def test_the_search_finds_sections_of_all_pages(browser, anonymous, words, heading):
    browser.set_theme(WIDE)
    browser.open(anonymous.url + "docs/")
    field = browser.find("[type=search]")
    field.send_keys(words)
    said = eventually(lambda: browser.find(".search p").text, "results")
    if heading == "":
        assert said == "Nothing found" and not found(browser)
    else:
        assert said.endswith("results") and (heading is None or any(heading in one for one in found(browser))), found(browser)
    field.send_keys(Keys.ESCAPE)
    assert not browser.find_all(".search a") and browser.run("return document.activeElement.type") == "search"


def test_the_index_is_loaded_only_for_a_search(browser, anonymous):
    browser.set_theme(WIDE)
    browser.open(anonymous.url + "docs/")
    assert not [url for url in browser.requests() if "search.json" in url]


# ---------------------------------------------------------------- links


def test_an_error_link_scrolls_to_its_explanation(browser, anonymous, api):
    browser.set_theme(PHONE)
    browser.open(api.get("brokers?limit=0").json()["documentation_url"])
    assert 0 <= browser.run("return document.querySelector(':target').getBoundingClientRect().top") < PHONE[1] / 2


def test_the_navigation_bar_links_the_pages(browser, anonymous):
    browser.set_theme()
    browser.open(anonymous.url + "docs")
    assert browser.driver.current_url == anonymous.url + "docs/"
    for path in (*PAGES[1:], PAGES[0]):
        browser.find(f"header nav a[href='{path.partition('/')[2] or './'}']").click()
        eventually(lambda at=path: browser.driver.current_url == anonymous.url + at, path)
        assert browser.find("[aria-current=page]").text == browser.find("h1").text


@pytest.mark.parametrize("path", PAGES)
def test_the_navigation_bar_shows_all_pages_on_a_phone(browser, anonymous, path):
    browser.set_theme(PHONE)
    browser.open(anonymous.url + path)
    edges = browser.run("return [...document.querySelectorAll('header nav a')].map((a) => a.getBoundingClientRect().right)")
    assert len(edges) == len(PAGES) and max(edges) <= PHONE[0], edges


def test_a_code_in_a_table_is_not_broken_on_a_desktop(browser, anonymous):
    browser.set_theme()
    browser.open(anonymous.url + "docs/rules")
    assert browser.run("""return [...document.querySelectorAll('td code:only-child')]
        .filter((e) => e.getClientRects().length > 1).map((e) => e.textContent)""") == []


def test_a_page_runs_no_inline_script(browser, own_api):
    browser.set_theme()
    browser.open(own_api.url + "docs/")
    browser.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    browser.run("document.body.setAttribute('onclick', 'window.ran = 1'); document.body.click()")
    assert browser.run("return window.ran === undefined")
    assert any("Content Security Policy" in message for message in browser.console())
    assert ok(own_api.get("me"))
