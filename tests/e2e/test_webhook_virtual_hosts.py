# SPDX-License-Identifier: Apache-2.0
"""Webhook directives of two virtual hosts that share connections: each can allow http URLs; other settings are those of the
first."""

from pathlib import Path

import pytest

from client import ok, wrong_fields
from conftest import SECOND_HOST
from webhook_fixtures import (admin, module_admin_factory, module_instance, receiver,  # noqa: F401 (fixtures)
                              subscribe, until)

ON = "NeoAPIWebhookAllowHTTP On"
OFF = "NeoAPIWebhookConcurrency 0"  # delivers nothing
CONF = "NeoAPIWebhookAllowAddress 127.0.0.0/8\nNeoAPIWebhookRetryDelays 0\n"
CONF += SECOND_HOST.replace("NeoAPIMaxBody 4096", f"{ON}\n{OFF}")


@pytest.fixture
def allowing(admin, module_instance):
    """A client of the second virtual host, which allows http."""
    return admin.with_(url=f"https://127.0.0.2:{module_instance.port}/public/v1/")


def refuses(response):
    return wrong_fields(response) == {"url": "validation.webhook.url_invalid"}


def test_only_the_host_with_the_directive_accepts_http(admin, allowing):
    new = {"url": "http://crm.example.com/", "events": ["*"]}
    for _ in range(20):  # so that each process has served both hosts
        assert ok(allowing.post("webhooks", json=new), 201)["url"] == new["url"]
        assert refuses(admin.post("webhooks", json=new))


def test_updates_are_checked_like_new_subscriptions(admin, allowing):
    path = "webhooks/" + subscribe(admin, "https://crm.example.com/")["id"]
    http = {"url": "http://crm.example.com/"}
    assert refuses(admin.patch(path, json=http))
    assert refuses(admin.put(path, json={**http, "events": ["*"]}))
    assert ok(allowing.patch(path, json=http))["url"] == http["url"]
    assert ok(allowing.put(path, json={**http, "events": ["*"]}))["url"] == http["url"]


def test_an_http_url_is_reported_with_all_other_errors(admin):
    found = wrong_fields(admin.post("webhooks", json={"url": "http://crm.example.com/", "colour": "red"}))
    assert found == {"url": "validation.webhook.url_invalid", "events": "validation.webhook.events_required",
                     "colour": "validation.unknown_field"}


def test_delivery_settings_are_those_of_the_first_host(admin, allowing, receiver):
    subscription = subscribe(allowing, receiver.url)
    admin.broker()
    assert until(admin, subscription, "success")["http_status"] == 204


def test_a_delivery_is_sent_while_some_host_allows_http(module_instance, admin, allowing, receiver):
    subscription = subscribe(allowing, receiver.url)
    admin.broker()
    assert until(admin, subscription, "success")["http_status"] == 204

    conf = Path(module_instance.settings["SERVER_CONF"])
    before, connections = conf.read_text(), receiver.connections
    conf.write_text(before.replace(ON, ""))
    module_instance.command("stop-httpd")
    module_instance.command("start-httpd")
    try:
        admin.broker()
        assert until(admin, subscription, "failed")["attempts"][0]["error"] == "address_invalid"
        assert receiver.connections == connections
    finally:
        conf.write_text(before)
        module_instance.command("stop-httpd")
        module_instance.command("start-httpd")
