# SPDX-License-Identifier: Apache-2.0
"""Uses the console as an integrator does: in Chromium, with an API key.

Screenshots are kept in BUILD/e2e/screenshots."""

import json
import re

import pytest

pytest.importorskip("selenium", reason="python3-selenium is not installed")

from accessibility import axe, violations  # noqa: E402, F401 (fixtures)
from browser import FITS_WIDTH, LOWEST_CONTRAST, THEMES, browser  # noqa: E402, F401 (a fixture among them)
from client import Api, ok  # noqa: E402
from deployment import E2E_DIR  # noqa: E402
from factories import ResourceFactory  # noqa: E402
from receiver import Receiver, status  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from wait import eventually  # noqa: E402
from webhook_fixtures import (HERE, admin, deliveries, module_admin_factory, module_instance,  # noqa: E402, F401
                              receiver, subscribe)

pytestmark = pytest.mark.unsanitized
CONF = HERE + "NeoAPIWebhookRetryDelays 0 1\nNeoAPIWebhookTimeout 2\n"
LONGEST_DELIVERIES = 100_000


# The page replaces elements while it is used, so that one that was found may be gone when it is used: all is done in one step.
VISIBLE = """
const [css, text] = arguments;
const found = [...document.querySelectorAll(css)].filter((e) => e.checkVisibility() && !e.disabled);
return text === null ? found : found.filter((e) => e.innerText === text);
"""


def texts_of(browser, css):
    return [text for text in browser.run(VISIBLE.replace("return text", "const all = text") + ";return all.map((e) => e.innerText)",
                                         css, None)]


def focus(browser, css, text=None):
    """Waits for the first visible element and focuses it."""
    script = VISIBLE.replace("return text", "const all = text") + ";all[0]?.focus(); return all[0] && document.activeElement === all[0]"
    eventually(lambda: browser.run(script, css, text), f"{css} {text or ''}")


def send(browser, *keys):
    browser.driver.switch_to.active_element.send_keys(*keys)


def press(browser, text, within="main"):
    """With the keyboard."""
    focus(browser, within + " button", text)
    send(browser, Keys.ENTER)


def follow(browser, css):
    focus(browser, css)
    send(browser, Keys.ENTER)


def write(browser, css, text):
    focus(browser, css)
    send(browser, Keys.CONTROL, "a")
    send(browser, text)


def shows(browser, *texts, css="#view"):
    eventually(lambda: all(any(text in one for one in texts_of(browser, css)) for text in texts), f"{css} shows {texts}")


def sign_in(browser, api):
    write(browser, "input[type=password]", api.credential.secret)
    send(browser, Keys.ENTER)


def open_console(browser, api, at="", theme="desktop"):
    browser.set_theme(*THEMES[theme])
    browser.open(api.url + "docs/console")
    browser.run("sessionStorage.clear()")
    browser.open(api.url + "docs/console" + at)
    sign_in(browser, api)
    focus(browser, ".tabs a")


@pytest.fixture
def org(admin, receiver):
    """An organization with a receiver that works and one that does not, some events, and a refused request."""
    admin.good = subscribe(admin, receiver.url, "broker.*")
    receiver.wait_for(0)
    with Receiver(status(500, b"a bug of the receiver")) as broken:
        admin.bad = subscribe(admin, broken.url, "broker.created")
        admin.ana = admin.broker(name="Ana", phone="+55 11 4000-1234")
        ok(admin.patch("brokers/" + admin.ana["id"], json={"name": "Ana Paula", "phone": "+55 11 4000-4321"}))
        admin.property = ResourceFactory(admin).property()
        eventually(lambda: deliveries(admin, admin.bad, status="failed"), "the delivery has failed")
        eventually(lambda: len(deliveries(admin, admin.good, status="success")) == 2, "the deliveries have arrived")
        admin.post("brokers", json={"name": 5})
        yield admin


VIEWS = {
    "overview": lambda org: ("#/", ["Nothing fails.", "the receiver responded with status 500", "Requests"]),
    "subscription": lambda org: ("#/webhooks/" + org.bad["id"], ["failing", "broker.created", "Send test", "Rotate secret"]),
    "delivery": lambda org: (f"#/webhooks/{org.bad['id']}/{deliveries(org, org.bad)[0]['id']}",
                             ["Attempt 2", "a bug of the receiver", "event_type", "Retry"]),
    "new": lambda org: ("#/webhooks/new", ["New subscription", "broker.*", "Own headers"]),
    "change": lambda org: (f"#/webhooks/{org.good['id']}/change", ["Change the subscription", "Chosen: broker.*"]),
    "events": lambda org: ("#/events", ["broker.updated", "Live."]),
    "refused": lambda org: ("#/refused", ["validation.broker.name_invalid", "POST /public/v1/brokers"]),
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_complete_and_accessible(browser, org, violations, view):
    for theme in THEMES:
        assert_accessible(browser, org, violations, view, theme)


def assert_accessible(browser, org, violations, view, theme):
    at, texts = VIEWS[view](org)
    open_console(browser, org, at, theme)
    shows(browser, *texts)
    if view == "events":
        browser.run("document.querySelectorAll('.event').forEach((one) => { one.open = /broker.(created|updated)/.test(one.innerText); })")
        shows(browser, "Ana Paula", "confidential")
    browser.screenshot(E2E_DIR / "screenshots" / f"console-{view}-{theme}.png")
    assert browser.run(FITS_WIDTH), "wider than the viewport"
    contrast, text = browser.run(LOWEST_CONTRAST)
    assert contrast >= 4.5, (contrast, text)
    assert violations() == []
    assert browser.console() == []
    assert all(url.startswith(org.url) and org.credential.secret not in url for url in browser.requests())


# ---------------------------------------------------------------- signing in


def test_a_wrong_key_is_refused_with_its_reason(browser, org, violations):
    browser.set_theme()
    browser.open(org.url + "docs/console")
    browser.run("sessionStorage.clear()")
    browser.open(org.url + "docs/console")
    shows(browser, "webhooks:read", "webhooks:write", css="main")
    assert violations() == []
    write(browser, "input[type=password]", "nonsense")
    send(browser, Keys.ENTER)
    shows(browser, "not a valid credential", css="#problem")
    assert browser.run("return sessionStorage.length") == 0
    sign_in(browser, org)
    focus(browser, ".tabs a")


def test_the_key_stays_in_the_tab_and_is_forgotten_on_signing_out(browser, org):
    open_console(browser, org)
    assert browser.run("return localStorage.length + document.cookie.length") == 0
    browser.open(org.url + "docs/console")
    press(browser, "Sign out")
    focus(browser, "input[type=password]")
    assert browser.run("return sessionStorage.length") == 0
    browser.open(org.url + "docs/console#/refused")
    focus(browser, "input[type=password]")


def test_a_revoked_key_leads_to_signing_in(browser, org, module_admin_factory):
    other = org.with_(credential=module_admin_factory.key(org.credential.organizations[0]))
    open_console(browser, other, "#/refused")
    module_admin_factory.revoke(other.credential)
    press(browser, "Refresh")
    focus(browser, "input[type=password]")
    shows(browser, "revoked", css="#problem")


def test_only_what_the_scopes_allow_is_shown(browser, org, module_admin_factory):
    def with_scopes(*scopes):
        return org.with_(credential=module_admin_factory.key(org.credential.organizations[0], scopes=scopes))
    open_console(browser, with_scopes("webhooks:read"), "#/webhooks/" + org.bad["id"])
    shows(browser, "broker.created")
    assert not {"Send test", "Change …", "Delete …", "Pause", "Recover …", "Rotate secret …"} & {*texts_of(browser, "main button")}
    open_console(browser, with_scopes("webhooks:read"), "#/webhooks/new")
    shows(browser, org.bad["url"])
    assert not {"New subscription"} & {*texts_of(browser, "main a")} and not texts_of(browser, "form.subscription")
    open_console(browser, with_scopes("brokers:read"))
    shows(browser, "Limits")
    assert texts_of(browser, ".tabs a") == ["Overview", "Events", "Refused requests"]
    assert "Subscriptions" not in texts_of(browser, "h3")
    open_console(browser, with_scopes("parties:read_masked"), "#/events")
    shows(browser, "Live.")
    open_console(browser, with_scopes("brokers:write"))
    assert texts_of(browser, ".tabs a") == ["Overview", "Refused requests"]


def test_a_token_chooses_its_organization(browser, org, module_admin_factory):
    tenant = module_admin_factory.tenant()
    first, second = (module_admin_factory.organization(tenant) for _ in range(2))
    token = module_admin_factory.token(module_admin_factory.user(tenant), first, second)
    api = Api(org.instance, token)
    ok(Api(org.instance, token, second).post("brokers", json={"name": "of the second"}), 201)
    open_console(browser, api, "#/events")
    focus(browser, ".who select")
    send(browser, second)
    shows(browser, "broker.created")


# ---------------------------------------------------------------- what is shown when there is little, or an error


def test_what_is_not_there_yet_is_explained(browser, admin, receiver):
    open_console(browser, admin)
    shows(browser, "There is no subscription yet.")
    subscribe(admin, receiver.url, "property.deleted")
    press(browser, "Refresh")
    shows(browser, "Nothing was sent yet: no event of its types has happened while it was active.")
    follow(browser, ".tabs a[href='#/events']")
    shows(browser, "Live. No event so far.")


REFUSE = """
window.former ??= window.fetch;
window.fetch = async () => new Response(JSON.stringify({ detail: 'Too many requests.', code: 'rate_limited.requests' }),
    { status: 429, headers: { 'Retry-After': '7' } });
"""


def test_a_view_that_was_not_loaded_is_loaded_again(browser, org, violations):
    open_console(browser, org)
    shows(browser, "Limits")
    browser.run(REFUSE)
    follow(browser, ".tabs a[href='#/refused']")
    shows(browser, "Too many requests. Try again in 7 seconds.", css="#problem")
    assert violations() == []
    browser.run("window.fetch = window.former")
    press(browser, "Try again")
    shows(browser, "validation.broker.name_invalid")
    assert not texts_of(browser, ".failure")


# ---------------------------------------------------------------- what can be done


def test_a_failing_receiver_is_found_and_its_events_are_recovered(browser, org, receiver):
    """Only with the keyboard: from the overview to the reason, then the address is mended and its receiver gets what it missed."""
    open_console(browser, org)
    shows(browser, "the receiver responded with status 500")
    follow(browser, f"a[href='#/webhooks/{org.bad['id']}']")
    shows(browser, "Deliveries", "failed")
    follow(browser, "td a")
    shows(browser, "a bug of the receiver")
    browser.driver.back()
    press(browser, "Change …")
    write(browser, labelled(browser, "Address"), receiver.url + "mended")
    write(browser, labelled(browser, "Own headers"), "X-Gate: open")
    press(browser, "Save")
    shows(browser, receiver.url + "mended", "Send test")
    press(browser, "Recover …")
    shows(browser, "1 failed, 0 pending", css="dialog")
    press(browser, "Recover", "dialog")
    shows(browser, "1 event is being sent.", css="dialog")
    press(browser, "Close", "dialog")
    arrival = eventually(lambda: [one for one in receiver.arrivals if one.path == "/mended"], "the event")[0]
    assert arrival.json["payload"]["id"] == org.ana["id"] and arrival.headers["x-gate"] == "open"


OVERLAPS = """
const [a, b] = [...arguments].map((css) => document.querySelector(css).getBoundingClientRect());
return a.top < b.bottom && b.top < a.bottom && a.left < b.right && b.left < a.right;
"""


def test_a_disabled_subscription_is_first_is_resumed_and_gets_what_it_missed(browser, admin, receiver):
    """Without pressing Refresh: the list follows what is sent."""
    gone = subscribe(admin, receiver.url + "old", "broker.created", "property.*", description="Brokers for the website")
    subscribe(admin, receiver.url, "broker.deleted")
    receiver.behave(status(410, b"moved to https://crm.example.com/new"))
    ana = admin.broker()
    eventually(lambda: not ok(admin.get("webhooks/" + gone["id"]))["is_active"], "the subscription is disabled")
    receiver.behave(status(204))
    admin.broker()  # is missed
    open_console(browser, admin)
    shows(browser, "moved to https://crm.example.com/new", css=".card .why")
    assert texts_of(browser, ".card h3") == ["Brokers for the website", receiver.url]
    assert [receiver.url + "old", "broker.created property.*"] == texts_of(browser, ".card:first-child .dim")
    follow(browser, ".card a")
    shows(browser, ana["id"], "last attempt: 410", "when it is resumed", css="td")
    assert texts_of(browser, "h2") == ["Brokers for the website"] and "Brokers for the website" in browser.driver.title
    assert texts_of(browser, "button.main") == ["Resume"]
    assert all(re.search(r" ([A-Z]{2,5}|GMT[+-]\S+)$", text) for text in texts_of(browser, "time")), "times have their zone"
    press(browser, "Resume")
    shows(browser, "success", css="td")
    assert texts_of(browser, "button.main") == [] and not browser.run(OVERLAPS, "#said", ".list table")
    press(browser, "Recover …")
    press(browser, "Recover", "dialog")
    shows(browser, "1 event is being sent.", css="dialog")
    press(browser, "Close", "dialog")
    eventually(lambda: [text for text in texts_of(browser, "td .badge")] == ["success"] * 2, "both are shown as sent")


def test_a_subscription_is_tested_paused_resumed_and_rotated(browser, org, receiver):
    open_console(browser, org, "#/webhooks/" + org.good["id"])
    shows(browser, "healthy")
    before = len(receiver.arrivals)
    press(browser, "Send test")
    shows(browser, "The test has arrived: the receiver responded with status 204.", css="#said")
    eventually(lambda: browser.run("return document.activeElement.innerText") == "Send test", "the focus stays")
    assert [one.json["event_type"] for one in receiver.arrivals[before:]] == ["webhook.test"]
    press(browser, "Pause")
    press(browser, "Pause", "dialog")
    shows(browser, "It was paused by a request.", "Resume")
    eventually(lambda: browser.run("return document.activeElement.tagName") == "H2", "the focus where the view begins")
    assert not ok(org.get("webhooks/" + org.good["id"]))["is_active"]
    press(browser, "Send test")
    shows(browser, "Resume the subscription first", css="#said")
    press(browser, "Resume")
    shows(browser, "Nothing fails.")
    press(browser, "Rotate secret …")
    press(browser, "Rotate", "dialog")
    secret = eventually(lambda: browser.run("return document.querySelector('dialog input')?.value"), "the secret")
    assert secret.startswith("whsec_") and secret != org.good["secret"]
    send(browser, Keys.ESCAPE)
    eventually(lambda: not texts_of(browser, "dialog"), "the dialog is closed")


def labelled(browser, label):
    """The selector of the field with this label."""
    return "#" + eventually(lambda: browser.run(
        "return [...document.querySelectorAll('label')].find((one) => one.innerText === arguments[0])?.htmlFor", label), label)


def choose(browser, name):
    focus(browser, f".types input[value='{name}']")
    send(browser, " ")


def test_a_subscription_is_created_with_its_options_and_deleted(browser, admin, receiver):
    open_console(browser, admin)
    follow(browser, "a[href='#/webhooks/new']")
    write(browser, labelled(browser, "Address"), receiver.url + "new")
    write(browser, ".field input[type=search]", "property")
    eventually(lambda: not any("broker" in one for one in texts_of(browser, ".types li")), "only what was searched")
    choose(browser, "property.*")
    assert browser.run("return document.querySelector(`.types input[value='property.created']`).disabled")
    filters = {"property": {"status": ["active"]}}
    write(browser, labelled(browser, "Filters"), json.dumps(filters))
    write(browser, labelled(browser, "Requests per second"), "20")
    write(browser, labelled(browser, "Own headers"), "X-Gateway-Token: 4c9f")
    focus(browser, labelled(browser, "Signature with a key"))
    send(browser, "Ed25519")
    press(browser, "Create")
    shows(browser, "The subscription is created")
    assert browser.run("return document.querySelector('#view input').value").startswith("whsec_")
    made, = ok(admin.get("webhooks"))["items"]
    assert (made["events"], made["filters"], made["max_per_second"]) == (["property.*"], filters, 20)
    assert made["asymmetric_signature"] == "ed25519" and list(made["headers"]) == ["X-Gateway-Token"]
    follow(browser, f"a[href='#/webhooks/{made['id']}']")
    press(browser, "Rotate key …")
    press(browser, "Rotate", "dialog")
    shows(browser, "The key is rotated.", css="#said")
    assert ok(admin.get("webhooks/" + made["id"]))["public_key"] != made["public_key"]
    press(browser, "Delete …")
    shows(browser, receiver.url.split("/")[2], css="dialog")
    press(browser, "Delete", "dialog")
    shows(browser, "There is no subscription yet")
    assert ok(admin.get("webhooks"))["items"] == []


def test_a_change_sends_only_what_differs_and_shows_errors_at_their_fields(browser, admin, receiver, violations):
    before = subscribe(admin, receiver.url, "property.*", filters={"property": {"status": ["active"]}}, headers={"X-A": "1", "X-B": "2"},
                       metadata={"team": "website"}, ordering="resource")
    open_console(browser, admin, f"#/webhooks/{before['id']}/change", "phone")
    write(browser, labelled(browser, "Filters"), '{"property": {"status": ["nonsense"]}}')
    press(browser, "Save")
    shows(browser, "filters.property.status", css="[id='wrong-filters']")
    eventually(lambda: browser.run("return document.activeElement.getAttribute('aria-invalid')") == "true", "the field has the focus")
    assert violations() == [] and browser.run(FITS_WIDTH)
    browser.screenshot(E2E_DIR / "screenshots" / "console-refused-field-phone.png")
    write(browser, labelled(browser, "Filters"), "{")
    press(browser, "Save")
    shows(browser, "is not JSON", css="[id='wrong-filters']")
    write(browser, labelled(browser, "Filters"), '{"property": {"city": ["Santos"]}}')
    write(browser, labelled(browser, "Description"), "Only Santos")
    write(browser, labelled(browser, "Own headers"), "X-A: ********")  # X-B is removed
    press(browser, "Save")
    shows(browser, "Only Santos", "Send test", "X-A")
    assert not any("X-B" in text for text in texts_of(browser, ".facts"))
    after = ok(admin.get("webhooks/" + before["id"]))
    assert after["filters"] == {"property": {"city": ["Santos"]}} and after["headers"] == {"X-A": "********"}
    assert {name: after[name] for name in ("events", "metadata", "ordering")} == {
        name: before[name] for name in ("events", "metadata", "ordering")}
    press(browser, "Send test")
    test, = receiver.wait_for(1)
    assert test.headers["x-a"] == "1" and "x-b" not in test.headers


def test_an_event_says_where_it_was_sent_and_why_not(browser, org, receiver):
    subscribe(org, receiver.url + "other", "property.deleted")
    org.broker(name="late")
    open_console(browser, org, "#/events")
    shows(browser, "Live.")
    follow(browser, ".event summary")
    press(browser, "Where was it sent?")
    shows(browser, "Not sent: its events do not include broker.created.", css=".inside td")
    eventually(lambda: len(texts_of(browser, ".inside td a[href*=whd_]")) == 2, "both other deliveries")


def test_a_delivery_is_retried(browser, org):
    delivery = deliveries(org, org.bad)[0]["id"]
    open_console(browser, org, f"#/webhooks/{org.bad['id']}/{delivery}")
    press(browser, "Retry")
    eventually(lambda: len(deliveries(org, org.bad)) == 2, "another delivery")
    eventually(lambda: delivery not in browser.driver.current_url, "the new delivery is shown")
    shows(browser, "It is sent again as a new delivery.", css="#said")


def first_link(browser):
    return browser.run("return document.querySelector('td a')?.getAttribute('href')")


def test_deliveries_are_filtered_and_paged(browser, org, module_instance):
    module_instance.sql("""
        with d as (
            insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
            select d.organization_id, left(d.id, 20) || lpad(n::text, 10, '0'), d.subscription_id, d.event_id, d.event_type, d.event_at,
                d.created_at
            from (select * from neoapi.webhook_delivery where organization_id = %s and subscription_id = %s order by id limit 1) d,
                generate_series(1, %s) n returning *)
        insert into neoapi.webhook_attempt (organization_id, delivery_id, subscription_id, number, started_at, duration_ms, outcome)
        select organization_id, id, subscription_id, 1, now(), 10, 'success' from d""",
                        org.credential.organizations[0], org.good["id"], LONGEST_DELIVERIES)
    open_console(browser, org, "#/webhooks/" + org.good["id"])
    shows(browser, "Older")
    first = top = first_link(browser)
    for text in ["Older"] * 5 + ["Newer"] * 5:
        press(browser, text)
        top = eventually(lambda was=top: first_link(browser) if first_link(browser) not in (was, None) else None, "another page")
        assert len(texts_of(browser, "tbody tr")) == 25
        eventually(lambda: browser.run("return document.activeElement.tagName") != "BODY", "the focus")
    assert top == first
    focus(browser, ".filters select")
    send(browser, "failed")
    shows(browser, "No delivery matches.")


# ---------------------------------------------------------------- events


def test_events_appear_as_they_happen(browser, org):
    open_console(browser, org, "#/events")
    shows(browser, "Live.", "property.created")
    polls = [url for url in browser.requests() if "order=asc" in url and "after=now" not in url]
    assert "wait=" not in polls[0], "the state was not known before an event had happened"
    late = org.broker(name="late")
    shows(browser, late["id"])
    assert late["id"] in texts_of(browser, ".event summary")[0]


def test_events_are_searched_by_resource_and_show_differences(browser, org):
    open_console(browser, org, "#/events")
    shows(browser, "Live.")
    write(browser, "input[placeholder^=prp]", org.ana["id"])
    send(browser, Keys.ENTER)
    eventually(lambda: len(texts_of(browser, ".event")) == 2, "the events of the broker")
    follow(browser, ".event summary")
    shows(browser, "Before", "After", "confidential")
    cells = texts_of(browser, ".inside td")
    assert ["name", "Ana", "Ana Paula"] in (cells[:3], cells[3:6]) and "phone" in cells, cells
    ok(org.patch("properties/" + org.property["id"], json={"title": "Casa"}))
    ok(org.patch("brokers/" + org.ana["id"], json={"name": "Ana Maria"}))
    eventually(lambda: len(texts_of(browser, ".event")) == 3, "only the broker's event")


def test_markup_in_values_is_shown_as_text(browser, org):
    name = "<img src=x onerror='window.ran = 1'>"
    org.broker(name=name)
    open_console(browser, org, "#/events")
    shows(browser, "Live.")
    follow(browser, ".event summary")
    shows(browser, json.dumps(name))
    assert browser.run("return window.ran === undefined && !document.querySelector('main img')")


def test_an_outage_is_shown_and_ends(browser, org, module_instance):
    open_console(browser, org, "#/events", "phone")
    shows(browser, "Live.")
    module_instance.command("stop-httpd")
    shows(browser, "Interrupted. Trying again …")
    module_instance.command("start-httpd")
    shows(browser, "Live.")
    broker = org.broker(name="after")
    shows(browser, broker["id"])


def test_it_works_under_every_host_name(browser, second_host_api):
    open_console(browser, second_host_api)
    shows(browser, "Limits")
    assert browser.console() == []
