# SPDX-License-Identifier: Apache-2.0
"""GET /me/limits and GET /me/refusals: what a credential may use, and which of its requests were refused."""

import re
import uuid

import pytest
from admin_factory import AdminFactory
from client import MOMENT, Api, ok, refused
from wait import eventually
from webhook_fixtures import running_instance


@pytest.fixture(scope="module")
def one_process():
    """Its counters of requests are this module's."""
    with running_instance("limits", "", PROCESSES="1") as instance:
        yield instance


def limits(api):
    return {one.pop("name"): one for one in ok(api.get("me/limits"))["items"]}


def refusals(api):
    return ok(api.get("me/refusals"))["items"]


def test_the_limits_of_the_plan_are_listed_with_what_is_used(one_process):
    factory = AdminFactory(one_process)
    plan = factory.plan(requests=100, window_seconds=3600, subscriptions=7, concurrent_requests=9, idempotency_bytes=10_000,
                        deliveries_per_hour=11)
    organization = factory.organization(factory.tenant(plan))
    api = Api(one_process, factory.key(organization))
    ok(api.get("brokers"))
    answer = api.get("me/limits")
    found = {one.pop("name"): one for one in ok(answer)["items"]}
    assert found["requests"].pop("resets_at")
    assert found == {"requests": {"limit": 100, "used": 2, "window_seconds": 3600},
                     "concurrent_requests": {"limit": 9, "used": 1},
                     "subscriptions": {"limit": 7},
                     "idempotency_bytes": {"limit": 10_000, "used": 0, "window_seconds": 86400},
                     "deliveries_per_hour": {"limit": 11, "window_seconds": 3600}}
    ok(api.post("brokers", json={"name": "Ana"}, headers={"Idempotency-Key": str(uuid.uuid4())}), 201)
    assert 0 < limits(api)["idempotency_bytes"]["used"] < 10_000 and limits(api)["requests"]["used"] > 3


def test_what_is_unlimited_has_no_limit(own_api):
    assert limits(own_api)["concurrent_requests"] == {} and limits(own_api)["requests"]["limit"] == 10_000_000


def test_refused_requests_are_listed_with_their_problems(own_api):
    assert refusals(own_api) == []
    problems = [own_api.post("brokers", json={"name": 5}), own_api.get("brokers?q=secret&limit=0"), own_api.get("nothing"),
                own_api.patch("brokers", json={}), own_api.put("brokers/brk_x", json={"name": "x"})]
    ok(own_api.get("brokers"))
    expected = [{**{name: one.json()[name] for name in ("request_id", "status", "code", "detail", "documentation_url")},
                 "method": one.request.method, "path": one.json()["instance"]} for one in problems]
    found = refusals(own_api)
    times = [one.pop("created_at") for one in found]
    assert found == expected[::-1] and times == sorted(times, reverse=True)
    assert all(re.fullmatch(MOMENT, time) for time in times)
    assert "secret" not in own_api.get("me/refusals").text


def test_only_the_newest_hundred_are_kept(own_api):
    ids = [own_api.get("nothing").headers["X-Request-ID"] for _ in range(103)]
    assert [one["request_id"] for one in refusals(own_api)] == ids[:-101:-1]


def test_a_credential_sees_only_its_own_refusals(own_api, admin_factory):
    other = own_api.with_(credential=admin_factory.key(own_api.credential.organizations[0]))
    refused(own_api.get("nothing"), 404, "not_found.route")
    wrong = own_api.credential.secret[:-1] + ("1" if own_api.credential.secret.endswith("0") else "0")
    refused(own_api.with_(credential=wrong).get("nothing"), 401, "unauthorized.invalid_credential")
    assert len(refusals(own_api)) == 1 and refusals(other) == []


def test_a_refusal_by_the_rate_limit_is_listed(one_process):
    factory = AdminFactory(one_process)
    key = factory.key(factory.organization(factory.tenant(factory.plan(requests=2, window_seconds=2))))
    api = Api(one_process, key)
    statuses = [api.get("me").status_code for _ in range(5)]
    assert statuses.count(429) >= 2
    found = eventually(lambda: api.get("me/refusals").json().get("items"), "the limit allows a request")
    assert {one["code"] for one in found} == {"rate_limit.exceeded"} and len(found) >= 2


def test_refusals_are_kept_when_httpd_is_reloaded(one_process):
    api = Api(one_process, AdminFactory(one_process).key())
    api.get("nothing")
    one_process.command("graceful")
    assert [one["code"] for one in refusals(api)] == ["not_found.route"]


def test_a_token_of_several_organizations_need_not_choose_one(instance, principals):
    api = Api(instance, principals.token_both)
    refused(api.get("brokers"), 400, "validation.organization_required")
    assert refusals(api)[0]["code"] == "validation.organization_required" and limits(api)["requests"]
