# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the webhook tests: an instance that delivers to this machine on a shortened schedule, and helpers.

The fixtures are imported by each module that uses them, so that each has its own instance. A module's constant
CONF has other httpd directives.
"""

import contextlib
import os

import pytest
from client import Api, ok
from conftest import remove
from deployment import E2E_DIR, Instance
from admin_factory import AdminFactory
from receiver import Receiver
from wait import eventually

HERE = """
NeoAPIWebhookAllowHTTP On
NeoAPIWebhookAllowAddress 127.0.0.0/8
NeoAPIWebhookCABundle "${INSTANCE}/tls/ca.pem"
"""
ALL = {"since": "2026-01-01T00:00:00Z"}  # the body of a recovery
DELAYS = [0, 1, 1, 2, 2]
TIMEOUT = 2
FAST = HERE + f"NeoAPIWebhookRetryDelays {' '.join(map(str, DELAYS))}\nNeoAPIWebhookTimeout {TIMEOUT}\n"


@contextlib.contextmanager
def running_instance(name, conf, **more):
    """An instance with additional directives, removed at the end of the `with` block."""
    E2E_DIR.mkdir(parents=True, exist_ok=True)
    file = E2E_DIR / f"{os.getpid()}.{name}.conf"
    file.write_text(conf)
    instance = Instance(name, SERVER_CONF=str(file), **more)
    try:
        yield instance.up()
    finally:
        try:
            remove(instance)
        finally:
            file.unlink()


@pytest.fixture(scope="module")
def module_instance(request):
    with running_instance(request.module.__name__, getattr(request.module, "CONF", FAST)) as instance:
        yield instance


@pytest.fixture(scope="module")
def module_admin_factory(module_instance):
    return AdminFactory(module_instance)


@pytest.fixture
def admin(module_instance, module_admin_factory):
    """An org_admin's client to a separate organization."""
    return Api(module_instance, module_admin_factory.key())


@pytest.fixture
def receiver():
    with Receiver() as one:
        yield one


def subscribe(api, url, *events, **more):
    """A new subscription, by default to all events, as the API returns it."""
    return ok(api.post("webhooks", json={"url": url, "events": list(events) or ["*"], **more}), 201)


def path_of(subscription, delivery=None):
    path = f"webhooks/{subscription['id']}/deliveries"
    return f"{path}/{delivery if isinstance(delivery, str) else delivery['id']}" if delivery else path


def deliveries(api, subscription, **params):
    """The records of a subscription's latest deliveries, newest first."""
    return ok(api.get(path_of(subscription), params={"limit": 100, **params}))["items"]


def detail(api, subscription, delivery):
    return ok(api.get(path_of(subscription, delivery)))


def until(api, subscription, status, limit=60):
    """Waits until the latest delivery has the status, and returns it with its attempts."""
    def is_so():
        found = deliveries(api, subscription, limit=1)
        return found and found[0]["status"] == status and found[0]
    return detail(api, subscription, eventually(is_so, f"a delivery that is {status}", limit))


def attempted(api, subscription, count=1, limit=60):
    """Waits until the latest delivery has `count` attempts, and returns it with them."""
    def is_so():
        found = deliveries(api, subscription, limit=1)
        return found and found[0]["attempt_count"] >= count and found[0]
    return detail(api, subscription, eventually(is_so, f"{count} attempts", limit))


def recover(api, subscription, **body):
    return ok(api.post(f"webhooks/{subscription['id']}/recover", json={**ALL, **body}))


def complete(recovered):
    """The response of a recovery that has examined all events."""
    return {"recovered": recovered, "is_complete": True}


def activate(api, subscription, is_active=True):
    return ok(api.patch(f"webhooks/{subscription['id']}", json={"is_active": is_active}))


def row_of(instance, subscription, columns):
    """Columns of a subscription's row in the database."""
    return instance.sql(f"select {columns} from neoapi.webhook_subscription where id = %s", subscription["id"])[0]


def queued(instance, subscription=None):
    """How many deliveries are pending, of one subscription or of all."""
    return instance.sql("select count(*) from neoapi.webhook_queue where %s is null or subscription_id = %s",
                        *[subscription and subscription["id"]] * 2)[0][0]


def hold(instance, subscription):
    """Deliveries of the subscription wait, until `resume`."""
    instance.sql("update neoapi.webhook_subscription set paused_until = now() + interval '1 hour' where id = %s", subscription["id"])


def resume(instance, subscription):
    """The subscription's last change is old enough for several deliveries of a resource to be claimed together."""
    instance.sql("update neoapi.webhook_subscription set paused_until = null, updated_at = updated_at - interval '1 minute'"
                 " where id = %s", subscription["id"])


def add_pending_deliveries(instance, subscription, count):
    """Adds deliveries of today to the history and to the queue, where the newest is due first."""
    instance.sql("""with made as (select neoapi.webhook_min_id(current_date) as first),
        subscription as (select * from neoapi.webhook_subscription where id = %s),
        event as (insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)
            select organization_id, 'broker.created', '', now(), '', '{}' from subscription returning *),
        deliveries as (insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type,
                event_at, created_at)
            select s.organization_id, left((select first from made), 20) || right(s.id, 4) || lpad(n::text, 6, '0'), s.id,
                e.id, e.type, e.created_at, now()
            from subscription s, event e, generate_series(1, %s) n returning *)
        insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)
        select id, organization_id, subscription_id, now() from deliveries order by id desc""", subscription["id"], count)
