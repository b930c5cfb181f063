# SPDX-License-Identifier: Apache-2.0
"""/webhooks: subscriptions, secrets, deliveries, and access to them."""

import json
import re
import time
import uuid

import pytest

from client import MOMENT, ULID, Api, moment, ok, refused, wrong_fields
from webhook_fixtures import (FAST, admin, attempted, deliveries, detail, module_admin_factory, path_of, queued, receiver,
                              row_of,
                              subscribe, module_instance, until)
from receiver import hang, one_after_the_other, status
from receiver import ok as well
from wait import eventually, together

CONF = FAST
URL = "https://crm.example.com/hooks"
FIELDS = ["id", "url", "events", "is_active", "created_at", "updated_at", "health"]
SECRET = r"whsec_[A-Za-z0-9+/]{43}="
PAYLOAD = ["id", "name", "creci", "email", "tenant_id", "organization_id", "created_at", "updated_at"]
KINDS = ["broker", "property", "party", "proposal", "contract", "document"]
EVENTS = [f"{kind}.{what}" for kind in KINDS for what in ("created", "updated", "deleted")]
UNKNOWN_WEBHOOK = "whs_" + "0" * 26


def key():
    return {"Idempotency-Key": str(uuid.uuid4())}


def new(api, **fields):
    return api.post("webhooks", json={"url": URL, "events": ["broker.created"], **fields})


@pytest.fixture
def other_org_api(module_instance, module_admin_factory):
    return Api(module_instance, module_admin_factory.key())


@pytest.fixture
def limited(module_instance, module_admin_factory):
    """An organization whose plan allows two subscriptions, in a tenant with other organizations."""
    factory = module_admin_factory
    tenant = factory.tenant(factory.plan(subscriptions=2))
    return Api(module_instance, factory.key(factory.organization(tenant)))


def test_the_plan_limits_subscriptions_of_racing_clients(limited, module_instance, module_admin_factory):
    answers = together(*[lambda: new(limited)] * 12)
    created = [response for response in answers if response.status_code == 201]
    assert len(created) == 2 and len(limited.get("webhooks").json()["items"]) == 2
    for response in answers:
        if response not in created:
            problem = refused(response, 409, "conflict.limit_reached")
            assert (problem["limit"], problem["limit_value"]) == ("subscriptions", 2) and problem["detail"].endswith(" is 2.")
    neighbour = module_admin_factory.organization(limited.credential.tenant)
    ok(new(Api(module_instance, module_admin_factory.key(neighbour))), 201)
    assert limited.delete("webhooks/" + created[0].json()["id"]).status_code == 204
    headers = key()
    last = limited.post("webhooks", json={"url": URL, "events": ["*"]}, headers=headers)
    again = limited.post("webhooks", json={"url": URL, "events": ["*"]}, headers=headers)
    assert ok(again, 201) == ok(last, 201) and again.headers["Idempotent-Replayed"] == "true"


def test_a_changed_limit_of_subscriptions_applies_at_once(limited, module_admin_factory):
    plan = limited.instance.sql("select plan from neoapi.tenant where id = %s", limited.credential.tenant)[0][0]
    kept = [ok(new(limited), 201)["id"] for _ in range(2)]
    module_admin_factory.ctl("plan", "change", plan, "--subscriptions", "1")
    assert {item["id"] for item in limited.get("webhooks").json()["items"]} == set(kept)
    refused(new(limited), 409, "conflict.limit_reached")
    ok(limited.patch("webhooks/" + kept[0], json={"events": ["*"]}))
    module_admin_factory.ctl("plan", "change", plan, "--subscriptions", "unlimited")
    ok(new(limited), 201)


@pytest.fixture
def failed(admin, receiver):
    """A subscription with a failed delivery, and its receiver, which works again."""
    receiver.behave(status(500))
    subscription = subscribe(admin, receiver.url, "broker.created")
    admin.broker()
    delivery = until(admin, subscription, "failed")
    receiver.behave(well)
    return subscription, delivery


# ---------------------------------------------------------------- create, read, list

def test_a_new_subscription_shows_its_secret(admin):
    response = new(admin)
    made = ok(response, 201)
    assert list(made) == ["id", "url", "events", "secret", "is_active", "created_at", "updated_at", "health"]
    assert re.fullmatch("whs_" + ULID, made["id"]) and re.fullmatch(SECRET, made["secret"])
    assert (made["url"], made["events"], made["is_active"]) == (URL, ["broker.created"], True)
    assert re.fullmatch(MOMENT, made["created_at"]) and made["created_at"] == made["updated_at"]
    assert response.headers["Location"].endswith("/webhooks/" + made["id"]) and response.headers["ETag"]


def test_the_list_has_pages_with_the_newest_first(admin):
    made = [subscribe(admin, URL)["id"] for _ in range(5)]
    assert [item["id"] for item in admin.walk("webhooks", limit=2)] == made[::-1]


def test_the_secret_is_never_shown_again(admin):
    made = subscribe(admin, URL)
    path, secret = "webhooks/" + made["id"], made.pop("secret")
    read, listed = admin.get(path), admin.get("webhooks")
    assert ok(read) == made and list(ok(read)) == FIELDS and ok(listed)["items"] == [made]
    for response in (read, listed, admin.patch(path, json={"url": URL + "/2"}),
                     admin.put(path, json={"url": URL, "events": ["*"]})):
        assert secret not in response.text and "secret" not in response.json()


def test_every_subscription_has_its_own_secret(admin):
    assert len({subscribe(admin, URL)["secret"] for _ in range(10)}) == 10


def test_a_repeated_creation_is_replayed_with_the_same_secret(admin):
    once = key()
    first, again = (admin.post("webhooks", json={"url": URL, "events": ["*"]}, headers=once) for _ in range(2))
    assert ok(first, 201) == ok(again, 201) and first.content == again.content
    assert again.headers["Idempotent-Replayed"] == "true" and "Idempotent-Replayed" not in first.headers
    for name in ("Location", "ETag"):
        assert first.headers[name] == again.headers[name]
    assert len(ok(admin.get("webhooks"))["items"]) == 1
    refused(admin.post("webhooks", json={"url": URL, "events": ["broker.created"]}, headers=once), 409,
            "conflict.idempotency_key_reused")


def test_concurrent_copies_create_one_subscription_with_one_secret(admin):
    once = key()
    answers = together(*[lambda: ok(admin.with_().post("webhooks", json={"url": URL, "events": ["*"]}, headers=once),
                                    201)] * 20)
    assert all(answer == answers[0] for answer in answers) and len(ok(admin.get("webhooks"))["items"]) == 1


def test_the_secret_is_not_readable_in_the_database(admin, module_instance):
    once = key()
    made = ok(admin.post("webhooks", json={"url": URL, "events": ["*"]}, headers=once), 201)
    rotated = ok(admin.post(f"webhooks/{made['id']}/rotate-secret"))
    for table in ("webhook_subscription", "idempotency_key"):
        everything = module_instance.sql(f"select coalesce(string_agg(t::text, ' '), '') from neoapi.{table} t")[0][0]
        assert made["id"] in everything
        for secret in (made["secret"], rotated["secret"]):
            bare = secret.removeprefix("whsec_")
            assert bare not in everything and bare.encode().hex() not in everything and secret.encode().hex() not in everything


def test_an_encrypted_secret_is_useless_in_another_row(admin, module_instance, receiver):
    """The row's id is authenticated together with the secret."""
    one, other = subscribe(admin, receiver.url, "broker.created"), subscribe(admin, receiver.url, "broker.deleted")
    module_instance.sql("update neoapi.webhook_subscription set secret = %s where id = %s",
                        *row_of(module_instance, other, "secret"), one["id"])
    admin.broker()
    assert attempted(admin, one)["attempts"][0]["error"] == "not_sent" and not receiver.arrivals


def test_an_unknown_event_is_named_by_its_position(admin):
    for events, position in (["broker.created", "broker.nope"], 1), ([7, "*"], 0):
        problem = refused(admin.post("webhooks", json={"url": URL, "events": events}), 400, "validation.webhook.events_invalid")
        assert problem["errors"][0]["message"].startswith(f"element {position} must be broker.created, "), problem


# ---------------------------------------------------------------- change and delete

def test_a_patch_changes_only_the_given_fields(admin):
    made = subscribe(admin, URL, "broker.created")
    admin.wait_until_after(made["updated_at"])
    path = "webhooks/" + made["id"]
    changed = ok(admin.patch(path, json={"events": ["broker.updated", "broker.deleted"]}))
    assert changed == {**{name: made[name] for name in FIELDS}, "events": ["broker.updated", "broker.deleted"],
                       "updated_at": changed["updated_at"]}
    assert changed["updated_at"] > made["updated_at"]
    assert ok(admin.patch(path, json={"is_active": False}))["is_active"] is False
    assert ok(admin.get(path))["is_active"] is False


def test_put_replaces_and_missing_fields_get_defaults(admin):
    made = subscribe(admin, URL, "broker.created", is_active=False)
    path = "webhooks/" + made["id"]
    replaced = ok(admin.put(path, json={"url": URL + "/2", "events": ["*"]}))
    assert (replaced["url"], replaced["events"], replaced["is_active"]) == (URL + "/2", ["*"], True)
    assert wrong_fields(admin.put(path, json={"url": URL})) == {"events": "validation.webhook.events_required"}


def test_a_response_can_be_sent_back(admin):
    made = subscribe(admin, URL)
    path = "webhooks/" + made["id"]
    read = ok(admin.get(path))
    assert ok(admin.put(path, json={**read, "secret": "whsec_mine"})) == {**read,
                                                                          "updated_at": ok(admin.get(path))["updated_at"]}


def test_conditional_requests_work(admin):
    response = new(admin)
    path, etag = "webhooks/" + response.json()["id"], response.headers["ETag"]
    refused(admin.patch(path, json={"is_active": False}, headers={"If-Match": '"x"'}), 412, "conflict.precondition_failed")
    refused(admin.delete(path, headers={"If-Match": '"x"'}), 412, "conflict.precondition_failed")
    assert admin.get(path, headers={"If-None-Match": admin.get(path).headers["ETag"]}).status_code == 304
    assert etag


def test_a_deleted_subscription_is_not_found(admin):
    path = "webhooks/" + subscribe(admin, URL)["id"]
    ok(admin.delete(path), 204)
    for response in (admin.get(path), admin.delete(path), admin.patch(path, json={"is_active": True}),
                     admin.get(path + "/deliveries"), admin.post(path + "/test"), admin.post(path + "/rotate-secret"),
                     admin.post(path + "/recover", json={"since": "2026-01-01T00:00:00Z"})):
        refused(response, 404, "not_found.webhook")


# ---------------------------------------------------------------- invalid requests

@pytest.mark.parametrize("url", [
    "", "x", "/hooks", "//crm.example.com/", "ftp://crm.example.com/", "file:///etc/passwd", "gopher://x/",
    "javascript:alert(1)",
    "https://", "https:///x", "https://:443/", "https://user@crm.example.com/", "https://user:pw@crm.example.com/",
    "https://crm.example.com/#x", "https://crm.example.com/a b", "https://crm.example.com/ã", "https://crm.example.com:/",
    "https://crm.example.com:123456/", "https://crm.example.com:x/", "https://[::1/", "https://[x]/", "https://a\nb/",
    "https://crm.example.com:0/", "https://crm.example.com:65536/", "https://crm.example.com:99999/", "https://./", "https://../",
    "https://-/", "https://a..b/", "https://.a/", "https://a-.b/", "https://[]/", "https://[::1]x/", "https://[::1].80/", "https://[1]/",
    "https://" + "a" * 64 + ".example.com/", "https://" + "a." * 127 + "b/",
    "https://crm.example.com/" + "x" * 2000, " https://crm.example.com/", "https://crm.example.com\\@inside/", "dict://x/",
])
def test_a_url_is_an_absolute_web_address(admin, url):
    assert wrong_fields(new(admin, url=url)) == {"url": "validation.webhook.url_invalid"}


@pytest.mark.parametrize("url", ["https://crm.example.com", "https://crm.example.com:8443/a?b=c", "https://[2001:db8::1]:8443/",
                                 "HTTPS://crm.example.com/", "http://crm.example.com/", "https://crm.example.com/%20a",
                                 "https://crm.example.com:65535/", "https://crm.example.com./", "https://a_b.example.com/",
                                 "https://" + "a" * 63 + ".example.com/", "https://" + "a." * 126 + "b/"])
def test_valid_urls_are_stored_unchanged(admin, url):
    assert ok(new(admin, url=url), 201)["url"] == url


def test_http_is_refused_unless_the_administrator_allows_it(own_api):
    assert wrong_fields(new(own_api, url="http://crm.example.com/")) == {"url": "validation.webhook.url_invalid"}
    assert ok(new(own_api), 201)["url"] == URL


@pytest.mark.parametrize("events", [[], ["x"], ["broker"], ["brokers.*"], ["broker.created", "x"], ["webhook.test"], ["whatsapp.message.*"], [1], [None],
                                    ["Broker.Created"], "broker.created", {}, 1])
def test_unknown_events_are_refused(admin, events):
    found = wrong_fields(new(admin, events=events))
    assert found and all(field.startswith("events") for field in found)
    assert all(code.startswith("validation.webhook.events_") for code in found.values())


@pytest.mark.parametrize("events", [["*"], EVENTS, ["document.deleted"], ["*", "whatsapp.message.received"],
                                    ["whatsapp.message.updated", "whatsapp.contact.opted_out"]])
def test_known_events_are_accepted(admin, events):
    assert ok(new(admin, events=events), 201)["events"] == events


def test_all_errors_are_reported_at_once(admin):
    found = wrong_fields(admin.post("webhooks", json={"url": 1, "is_active": "yes", "colour": "red"}))
    assert found == {"url": "validation.webhook.url_invalid", "events": "validation.webhook.events_required",
                     "is_active": "validation.webhook.is_active_invalid", "colour": "validation.unknown_field"}


# ---------------------------------------------------------------- permissions

@pytest.mark.parametrize("role, may", [("org_admin", {"read", "write"}), ("org_editor", {"read"}), ("org_viewer", {"read"})])
def test_roles_limit_access_to_webhooks(admin, module_instance, module_admin_factory, role, may):
    made = subscribe(admin, URL)
    path = "webhooks/" + made["id"]
    api = Api(module_instance, module_admin_factory.key(admin.credential.organizations[0], role))
    assert api.get("webhooks").status_code == api.get(path).status_code == api.get(path + "/deliveries").status_code == 200
    writes = [new(api), api.patch(path, json={"is_active": True}), api.put(path, json={"url": URL, "events": ["*"]}),
              api.post(path + "/test"), api.post(path + "/rotate-secret"),
              api.post(path + "/recover", json={"since": "2026-01-01T00:00:00Z"}), api.delete(path)]
    for response in writes:
        if "write" in may:
            assert response.status_code < 300, response.text
        else:
            refused(response, 403, "forbidden.insufficient_permissions")


def test_another_organization_cannot_see_or_change_a_subscription(admin, other_org_api, receiver):
    made = subscribe(admin, receiver.url)
    admin.broker()
    delivery = until(admin, made, "success")
    path, its = "webhooks/" + made["id"], path_of(made, delivery)
    for response in (other_org_api.get(path), other_org_api.patch(path, json={"is_active": False}), other_org_api.delete(path),
                     other_org_api.put(path, json={"url": URL, "events": ["*"]}), other_org_api.get(path + "/deliveries"),
                     other_org_api.post(path + "/test"), other_org_api.post(path + "/rotate-secret"),
                     other_org_api.post(path + "/recover", json={"since": "2026-01-01T00:00:00Z"})):
        refused(response, 404, "not_found.webhook")
    assert ok(other_org_api.get("webhooks"))["items"] == []
    mine = subscribe(other_org_api, receiver.url)
    for response in (other_org_api.get(its), other_org_api.post(its + "/retry"), other_org_api.get(path_of(mine, delivery)),
                     other_org_api.post(path_of(mine, delivery) + "/retry")):
        refused(response, 404, "not_found.delivery")
    assert ok(admin.get(path))["is_active"] and len(receiver.arrivals) == 1


# ---------------------------------------------------------------- events

def test_every_write_is_delivered_with_the_eight_fields(admin, receiver):
    subscription = subscribe(admin, receiver.url)
    made = admin.broker(creci="SP 1", email="ana@example.com", phone="1", bank_account={"pix_key": "secret@example.com"})
    receiver.wait_for(1)
    changed = ok(admin.patch("brokers/" + made["id"], json={"name": "Bia"}))
    receiver.wait_for(2)
    ok(admin.delete("brokers/" + made["id"]), 204)
    arrivals = receiver.wait_for(3)
    assert [arrival.json["event_type"] for arrival in arrivals] == ["broker.created", "broker.updated", "broker.deleted"]
    deleted = {**changed, "updated_at": arrivals[-1].json["payload"]["updated_at"]}
    assert deleted["updated_at"] > changed["updated_at"]
    assert [arrival.json["payload"] for arrival in arrivals] == [{name: of[name] for name in PAYLOAD}
                                                                 for of in (made, changed, deleted)]
    assert list(arrivals[0].json["payload"]) == PAYLOAD
    assert all(b"secret@" not in arrival.body for arrival in arrivals)
    assert arrivals[0].json["created_at"] == made["created_at"]
    assert {arrival.id for arrival in arrivals} == {record["id"] for record in deliveries(admin, subscription)}


def test_an_event_goes_to_the_matching_subscriptions_of_its_organization(admin, other_org_api, receiver):
    def at(name):
        return [arrival for arrival in receiver.arrivals if arrival.path == "/" + name]

    subscriptions = [subscribe(admin, receiver.url + "created", "broker.created"),
                     subscribe(admin, receiver.url + "deleted", "broker.deleted", "property.created"),
                     subscribe(admin, receiver.url + "all"), subscribe(admin, receiver.url + "inactive", is_active=False),
                     subscribe(other_org_api, receiver.url + "stranger")]
    made = admin.broker()
    ok(admin.delete("brokers/" + made["id"]), 204)
    theirs = other_org_api.broker()
    receiver.wait_for(5)
    eventually(lambda: not any(queued(admin.instance, one) for one in subscriptions), "nothing pending")
    assert [len(at(name)) for name in ("created", "deleted", "all", "inactive", "stranger")] == [1, 1, 2, 0, 1]
    assert at("stranger")[0].json["payload"]["id"] == theirs["id"]


def test_a_replayed_or_failed_write_is_not_delivered(admin, receiver):
    subscription, once = subscribe(admin, receiver.url), key()
    for _ in range(5):
        ok(admin.post("brokers", json={"name": "Ana", "creci": "SP 1"}, headers=once), 201)
    refused(admin.post("brokers", json={"name": "Bia", "creci": "sp1"}), 409, "conflict.duplicate")
    refused(admin.post("brokers", json={}), 400, "validation.broker.name_required")
    until(admin, subscription, "success")
    assert len(receiver.arrivals) == 1 == len(deliveries(admin, subscription))


# ---------------------------------------------------------------- inactive and deleted

def test_pending_deliveries_of_an_inactive_subscription_are_sent_after_reactivation(admin, receiver, module_instance):
    receiver.behave(status(500))
    subscription = subscribe(admin, receiver.url)
    path = "webhooks/" + subscription["id"]
    admin.broker()
    attempted(admin, subscription)
    ok(admin.patch(path, json={"is_active": False}))
    eventually(lambda: module_instance.sql(
        "select count(*) from neoapi.webhook_queue where subscription_id = %s and claim is null"
        " and due_at <= now()", subscription["id"]) == [(1,)], "a delivery that is due")
    admin.broker(name="While it is inactive")
    arrived = len(receiver.arrivals)
    time.sleep(2)  # longer than the poll interval
    assert len(receiver.arrivals) == arrived and queued(module_instance, subscription) == 1
    receiver.behave(well)
    ok(admin.patch(path, json={"is_active": True}))
    assert until(admin, subscription, "success")["attempt_count"] == arrived + 1
    assert len(receiver.arrivals) == arrived + 1


@pytest.mark.parametrize("behaviour", [status(500), hang], ids=["failing", "on its way"])
def test_deleting_a_subscription_fails_its_pending_deliveries(admin, receiver, module_instance, behaviour):
    receiver.behave(behaviour)
    subscription = subscribe(admin, receiver.url)
    broker = admin.broker()
    receiver.wait_for(1)
    if behaviour is not hang:
        attempted(admin, subscription)
    ok(admin.delete("webhooks/" + subscription["id"]), 204)
    eventually(lambda: queued(module_instance, subscription) == 0, "nothing is pending")
    record, = module_instance.sql(
        "select neoapi.webhook_delivery_record(d) from neoapi.webhook_delivery d where subscription_id = %s",
        subscription["id"])[0]
    assert record["status"] == "failed" and record["completed_at"]
    last = module_instance.sql(
        "select error, outcome from neoapi.webhook_attempt where subscription_id = %s order by number desc limit 1",
        subscription["id"])
    assert last == [("subscription_deleted", "failed")]
    arrived = len(receiver.arrivals)
    time.sleep(3)  # longer than the timeout, and than the next attempt's delay
    assert len(receiver.arrivals) == arrived
    assert module_instance.sql("select count(*) from neoapi.webhook_attempt where subscription_id = %s and outcome is not null",
                               subscription["id"]) == [(1,)]
    assert ok(admin.get("brokers/" + broker["id"]))


# ---------------------------------------------------------------- secrets

def test_a_rotated_secret_is_shown_once(admin, module_instance):
    made = subscribe(admin, URL)
    path = "webhooks/" + made["id"]
    rotated = ok(admin.post(path + "/rotate-secret"))
    assert re.fullmatch(SECRET, rotated["secret"]) and rotated["secret"] != made["secret"]
    assert {name: rotated[name] for name in FIELDS if name != "updated_at"} == {
        name: made[name] for name in FIELDS if name != "updated_at"}
    assert rotated["secret"] not in admin.get(path).text
    until_when, = row_of(module_instance, made, "extract(epoch from previous_secret_until - now())::float / 3600")
    assert 23.9 < until_when <= 24


# ---------------------------------------------------------------- test, retry, recover

def test_a_test_is_delivered_for_any_events(admin, receiver):
    subscription = subscribe(admin, receiver.url, "property.deleted")
    answer = ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    assert (answer["event_type"], answer["status"], answer["attempt_count"]) == ("webhook.test", "pending", 0)
    assert answer["subscription_id"] == answer["resource_id"] == subscription["id"] and re.fullmatch("whd_" + ULID, answer["id"])
    found = until(admin, subscription, "success")
    arrival, = receiver.arrivals
    assert arrival.id == found["id"] == answer["id"] and arrival.json["event_type"] == "webhook.test"


def test_a_test_of_an_inactive_subscription_waits(admin, receiver):
    subscription = subscribe(admin, receiver.url, is_active=False)
    answer = ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    assert answer["status"] == "pending" and "next_attempt_at" not in answer
    ok(admin.patch("webhooks/" + subscription["id"], json={"is_active": True}))
    arrival, = receiver.wait_for(1)
    assert arrival.id == answer["id"]


def test_a_retry_is_a_new_delivery_of_the_same_payload(admin, receiver, failed):
    subscription, first = failed
    before = len(receiver.arrivals)
    answer = ok(admin.post(path_of(subscription, first) + "/retry"), 201)
    assert answer["id"] != first["id"] and (answer["status"], answer["event_type"]) == ("pending", "broker.created")
    again = until(admin, subscription, "success")
    assert again["id"] == answer["id"] and again["payload"] == first["payload"] and again["attempt_count"] == 1
    assert receiver.arrivals[before].json["payload"] == first["payload"] and len(receiver.arrivals) == before + 1
    earlier, repeated = receiver.arrivals[before - 1:]
    assert earlier.event_id == repeated.event_id == first["event_id"] == again["event_id"] == answer["event_id"]
    assert earlier.json["created_at"] == repeated.json["created_at"] < again["created_at"]
    assert detail(admin, subscription, first) == first  # a final delivery does not change
    refused(admin.post(path_of(subscription, "whd_" + "0" * 26) + "/retry"), 404, "not_found.delivery")


def test_a_repeated_test_or_retry_makes_one_delivery(admin, receiver, failed):
    subscription, first = failed
    for path in (f"webhooks/{subscription['id']}/test", path_of(subscription, first) + "/retry"):
        once, before = key(), len(deliveries(admin, subscription))
        answers = together(*[lambda: admin.with_().post(path, headers=once)] * 8)
        assert len({(answer.status_code, answer.content) for answer in answers}) == 1 and answers[0].status_code == 201
        assert len(deliveries(admin, subscription)) == before + 1


def test_recovery_resends_deliveries_failed_since_a_time(admin, receiver, failed):
    subscription, first = failed
    path = f"webhooks/{subscription['id']}/recover"
    other = admin.broker()
    until(admin, subscription, "success")
    before = len(receiver.arrivals)
    later = {"since": detail(admin, subscription, deliveries(admin, subscription)[0])["completed_at"]}
    assert ok(admin.post(path, json=later)) == {"recovered": 0, "is_complete": True}
    once = key()
    for _ in range(3):
        assert ok(admin.post(path, json={"since": first["created_at"]}, headers=once)) == {"recovered": 1, "is_complete": True}
    arrivals = receiver.wait_for(before + 1)
    eventually(lambda: queued(admin.instance, subscription) == 0, "nothing pending")
    assert [arrival.json["payload"] for arrival in arrivals[before:]] == [first["payload"]]
    assert first["payload"]["id"] != other["id"]


@pytest.mark.parametrize("body, code", [({}, "required"), ({"since": "yesterday"}, "invalid"), ({"since": 1}, "invalid"),
                                        ({"since": None}, "required")])
def test_recovery_requires_a_timestamp(admin, body, code):
    subscription = subscribe(admin, URL)
    found = wrong_fields(admin.post(f"webhooks/{subscription['id']}/recover", json=body))
    assert found == {"since": f"validation.webhook.since_{code}"}


# ---------------------------------------------------------------- history

def test_deliveries_are_listed_filtered_and_paged(admin, receiver):
    subscription = subscribe(admin, receiver.url)
    brokers = [admin.broker() for _ in range(7)]
    ok(admin.delete("brokers/" + brokers[0]["id"]), 204)
    eventually(lambda: queued(admin.instance, subscription) == 0, "nothing pending")
    receiver.behave(status(500))
    ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    attempted(admin, subscription)
    everything = deliveries(admin, subscription)
    assert len(everything) == 9 and [item["id"] for item in everything] == sorted((item["id"] for item in everything))[::-1]
    since = everything[2]["created_at"]
    later = sum(item["created_at"] >= since for item in everything)  # several may be of one millisecond
    for params, count in [({"status": "success"}, 8), ({"status": "pending"}, 1), ({"status": "failed"}, 0),
                          ({"status": "pending,success"}, 9), ({"event_type": "broker.created"}, 7),
                          ({"event_type": "broker.deleted,webhook.test"}, 2), ({"event_type": "broker.*"}, 8),
                          ({"event_type": "party.*,webhook.*"}, 1),
                          ({"event_type": "webhook.test", "status": "success"}, 0), ({"resource_id": brokers[0]["id"]}, 2),
                          ({"event_id": everything[3]["event_id"]}, 1), ({"created_gte": since}, later),
                          ({"resource_id": brokers[0]["id"], "created_lte": everything[-1]["created_at"]}, 1)]:
        assert len(deliveries(admin, subscription, **params)) == count, params
    response = admin.get(path_of(subscription), params={"limit": 3, "event_type": "broker.created"})
    seen = []
    while True:
        seen += response.json()["items"]
        link = response.headers.get("Link")
        assert response.json()["page_info"]["has_next_page"] == bool(link)
        if not link:
            break
        path = re.fullmatch(r'<[^>]*/public/v1/([^>]*)>; rel="next"', link).group(1)
        response = admin.get(path)
    assert seen == [item for item in everything if item["event_type"] == "broker.created"]


@pytest.mark.parametrize("params, field",
                         [({"status": "done"}, "status"), ({"status": ""}, "status"), ({"colour": "red"}, "colour"),
                          ({"limit": 0}, "limit"), ({"cursor": "x"}, "cursor"), ({"created_gte": "x"}, "created_gte"), ({"event_id": ""}, "event_id"),
                          ({"resource_id": ""}, "resource_id"), ({"event_type": "foo"}, "event_type"),
                          ({"event_type": "broker.created,foo.*"}, "event_type"), ({"event_type": ""}, "event_type")])
def test_invalid_parameters_of_the_history_are_refused(admin, params, field):
    subscription = subscribe(admin, URL)
    response = admin.get(path_of(subscription), params=params)
    assert response.status_code == 400 and field in response.text
    if params.get("event_type"):
        assert "must be broker.*, broker.created, " in response.text and "webhook.test" in response.text


def test_a_cursor_is_bound_to_its_list(admin, receiver):
    one, other = subscribe(admin, receiver.url), subscribe(admin, receiver.url)
    for _ in range(3):
        admin.broker()
    cursor = ok(admin.get(path_of(one), params={"limit": 1}))["page_info"]["end_cursor"]
    assert len(ok(admin.get(path_of(one), params={"limit": 1, "cursor": cursor}))["items"]) == 1
    refused(admin.get(path_of(other), params={"limit": 1, "cursor": cursor}), 400, "validation.cursor_invalid")
    refused(admin.get(path_of(one), params={"status": "success", "cursor": cursor}), 400, "validation.cursor_invalid")
    refused(admin.get("webhooks", params={"cursor": cursor}), 400, "validation.cursor_invalid")


def test_the_history_of_an_unknown_subscription_is_not_found(admin):
    for path in (f"webhooks/{UNKNOWN_WEBHOOK}/deliveries", "webhooks/x/deliveries"):
        refused(admin.get(path), 404, "not_found.webhook")
    nothing = "whd_" + "0" * 26
    for path in (path_of({"id": UNKNOWN_WEBHOOK}, nothing), path_of(subscribe(admin, URL), nothing),
                 path_of(subscribe(admin, URL), "x")):
        refused(admin.get(path), 404, "not_found.delivery")


def test_a_delivery_is_read_with_its_payload_and_attempts(admin, receiver):
    receiver.behave(one_after_the_other(status(500, b"no"), well))
    subscription = subscribe(admin, receiver.url)
    broker = admin.broker(creci="SP 1")
    found = until(admin, subscription, "success")
    assert found["payload"] == {name: broker[name] for name in PAYLOAD if name in broker}
    assert [(attempt["number"], attempt["http_status"]) for attempt in found["attempts"]] == [(1, 500), (2, 204)]
    assert moment(found["attempts"][0]["started_at"]) < moment(found["attempts"][1]["started_at"])
    assert json.loads(receiver.arrivals[0].body)["payload"] == found["payload"]
