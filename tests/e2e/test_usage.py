# SPDX-License-Identifier: Apache-2.0
"""What credentials have used: counted without a write for each request, flushed, read."""

import csv
import io
import os
import signal
from datetime import datetime, timezone

from admin_factory import AdminFactory
from client import Api, ok, refused
from ctl_instance import Ctl
from wait import eventually
from webhook_fixtures import admin, module_admin_factory, module_instance, receiver, subscribe  # noqa: F401 (fixtures)



def used(instance, api, operation, credential=None):
    """(requests, refusals, rows, bytes) of all days."""
    return instance.sql("select coalesce(sum(requests), 0)::int, coalesce(sum(refusals), 0)::int, coalesce(sum(rows), 0)::int,"
                        " coalesce(sum(bytes), 0)::int from neoapi.credential_usage where credential_id = %s and operation = %s",
                        credential or api.credential.id, operation)[0]


def until_used(instance, api, operation, requests, credential=None):
    def is_so():
        found = used(instance, api, operation, credential)
        return found[0] >= requests and found
    return eventually(is_so, f"{requests} requests of {operation}", 60)


def test_requests_refusals_rows_and_bytes_are_counted(own_api, instance, factory):
    made = [factory.broker() for _ in range(3)]
    listed = own_api.get("brokers?limit=2")
    missing = own_api.get("brokers/brk_01kga4ssqb9w2q7r4y6z0a1b3c")
    found = own_api.get(f"brokers/{made[0]['id']}")
    exported = own_api.get("brokers/export")
    assert (listed.status_code, missing.status_code, found.status_code, exported.status_code) == (200, 404, 200, 200)
    assert until_used(instance, own_api, "GET /brokers", 1) == (1, 0, 2, len(listed.content))
    assert until_used(instance, own_api, "GET /brokers/{id}", 2) == (2, 1, 0, len(missing.content) + len(found.content))
    assert until_used(instance, own_api, "GET /brokers/export", 1) == (1, 0, 3, len(exported.content))
    assert until_used(instance, own_api, "POST /brokers", 3)[:2] == (3, 0)


def test_a_limited_request_is_a_refusal(instance, admin_factory):
    api = Api(instance, admin_factory.key(admin_factory.organization(admin_factory.tenant(admin_factory.plan(1, 3600)))))
    ok(api.get("me"))
    for _ in range(2):
        refused(api.get("me"), 429, "rate_limit.exceeded")
    assert until_used(instance, api, "GET /me", 3)[:2] == (3, 2)


def test_attempts_of_webhooks_are_counted(admin, module_instance, receiver):  # noqa: F811
    subscription = subscribe(admin, receiver.url)
    ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    assert until_used(module_instance, admin, "webhook delivery", 1, subscription["id"])[:2] == (1, 0)


def test_org_admin_reads_the_usage_of_its_organization(own_api, instance, admin_factory):
    today = datetime.now(timezone.utc).date()
    organization = own_api.credential.organizations[0]
    instance.sql("insert into neoapi.credential_usage values (%s, '2026-01-31', 'nbr_01jwr1zbts0h4k8n3p7r1t5w9x', 'GET /me', 7, 2, 0, 90),"
                 " (%s, '2025-10-31', 'nbr_01jwr1zbts0h4k8n3p7r1t5w9x', 'GET /me', 1, 0, 0, 9),"
                 " ('org_01jp2azpts9g3j7m2n6q0s4v8w', '2026-01-31', 'nbr_x', 'GET /me', 1, 0, 0, 9) on conflict do nothing",
                 organization, organization)
    row = {"day": "2026-01-31", "credential_id": "nbr_01jwr1zbts0h4k8n3p7r1t5w9x", "operation": "GET /me", "requests": 7,
           "refusals": 2, "rows": 0, "bytes": 90}
    assert ok(own_api.get("usage?from=2026-01-01&to=2026-01-31")) == {"items": [row]}
    assert ok(own_api.get("usage?from=2020-01-01&to=2026-01-31")) == {"items": [row]}  # at most 92 days
    for more in ("", f",{own_api.credential.id}", f"&credential_id={own_api.credential.id}"):
        assert ok(own_api.get("usage?to=2026-01-31&credential_id=nbr_01jwr1zbts0h4k8n3p7r1t5w9x" + more)) == {"items": [row]}
    assert ok(own_api.get(f"usage?to=2026-01-31&credential_id={own_api.credential.id}")) == {"items": []}
    assert all(item["day"] >= str(today.replace(year=today.year - 1)) for item in ok(own_api.get("usage"))["items"])
    refused(own_api.get("usage?from=yesterday"), 400, "validation.parameter_invalid")
    for role in ("org_editor", "org_viewer"):
        refused(Api(instance, admin_factory.key(organization, role)).get("usage"), 403, "forbidden.insufficient_permissions")
    refused(Api(instance, admin_factory.key(organization, scopes=["audit:read"])).get("usage"), 403, "forbidden.insufficient_permissions")

    ctl = Ctl(instance)
    out = ctl.ok("usage", "--organization", organization, "--from", "2025-10-01T00:00:00Z", "--to", "2026-01-31T00:00:00Z", "--csv")
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    assert [r["day"] for r in rows] == ["2026-01-31", "2025-10-31"] and rows[0]["requests"] == "7"
    assert ctl.json("usage", "--organization", organization, "--to", "2026-01-31T00:00:00Z")[0] == {
        **row, "organization_id": organization}


def test_a_flush_that_is_executed_again_adds_nothing(instance, admin_factory):
    organization = admin_factory.organization()
    add = ("select neoapi.add_usage(%s, array[%s, %s, 'org_00000000000000000000000000'], array['k', 'k', 'k'], array['o', 'o', 'o'],"
           " '{1,2,3}', '{0,1,0}', '{0,0,0}', '{5,5,5}')")
    for _ in range(2):
        instance.sql(add, f"usg_{organization}", organization, organization)
    assert instance.sql("select requests, refusals, bytes from neoapi.credential_usage where organization_id = %s", organization) == [
        (3, 1, 10)]
    assert not instance.sql("select from neoapi.credential_usage where organization_id = 'org_00000000000000000000000000'")


def test_counts_survive_a_killed_process_and_a_graceful_restart(new_instance):
    instance = new_instance(PROCESSES="1").up()
    api = Api(instance, AdminFactory(instance).key())
    ok(api.get("me"))
    for _ in range(5):
        ok(api.get("me"))
    child, = instance.children()
    os.kill(child, signal.SIGKILL)
    eventually(lambda: child not in instance.children(), "the end of the process")
    ok(api.get("me"))
    assert until_used(instance, api, "GET /me", 1)[0] <= 7
    instance.command("graceful")
    ok(api.get("me"))
    assert until_used(instance, api, "GET /me", 2)[0] <= 8


def test_a_purge_removes_the_usage(instance, admin_factory):
    key = admin_factory.key()
    ok(Api(instance, key).get("me"))
    until_used(instance, Api(instance, key), "GET /me", 1)
    Ctl(instance).ok("purge", "tenant", key.tenant, "--yes")
    assert not instance.sql("select from neoapi.credential_usage where organization_id = %s", key.organizations[0])


def test_usage_is_removed_after_two_years(instance, admin_factory):
    organization = admin_factory.organization()
    for age in ("2 years 1 day", "2 years -1 day"):
        instance.sql("insert into neoapi.credential_usage values (%s, (now() at time zone 'UTC')::date - %s::interval, 'nbr', 'x', 1, 0, 0, 0)",
                     organization, age)

    def left():
        instance.sql("update neoapi.job set due_at = now() where name = 'expire_usage' and due_at > now()")
        return instance.sql("select count(*) from neoapi.credential_usage where organization_id = %s", organization) == [(1,)]

    eventually(left, "the old row is removed")
