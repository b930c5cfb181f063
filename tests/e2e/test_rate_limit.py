# SPDX-License-Identifier: Apache-2.0
"""Rate limits: by plan and credential; by address without a credential; exact across processes."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from client import WINDOW, Api, moment, ok, refused
from wait import TIMEOUT_S, together


@pytest.fixture
def limited_api(instance, admin_factory):
    """limited_api(requests, window): a client whose tenant has such a plan."""
    def new(requests, window=WINDOW):
        return Api(instance,
                   admin_factory.key(admin_factory.organization(admin_factory.tenant(admin_factory.plan(requests, window)))))
    return new


def headers(response):
    return {name: int(response.headers[f"X-RateLimit-{name}"]) for name in ("Limit", "Remaining", "Reset")}


def test_the_headers_count_down_to_a_429(limited_api):
    api = limited_api(5)
    passed = [api.get("me") for _ in range(5)]
    assert [headers(response)["Remaining"] for response in passed] == [4, 3, 2, 1, 0]
    assert all(ok(response) for response in passed)
    for _ in range(3):
        response = api.get("me")
        problem = refused(response, 429, "rate_limit.exceeded")
        assert headers(response)["Limit"] == 5 and problem["title"] == "Rate Limit Exceeded"
        assert 0 <= headers(response)["Reset"] - moment(problem["timestamp"]) - problem["retry_after"] + 1 <= 2
    assert len({headers(response)["Reset"] for response in passed}) == 1


def test_the_default_plan_has_600_requests_a_minute(instance, admin_factory):
    api = Api(instance, admin_factory.key(admin_factory.organization(admin_factory.tenant("default"))))
    now = headers(api.get("me"))
    assert (now["Limit"], now["Remaining"]) == (600, 599) and 0 < now["Reset"] - time.time() <= 61


def test_every_request_counts_with_any_status(limited_api):
    api = limited_api(100)
    path = "brokers/" + api.broker()["id"]
    answers = [api.get("nothing"), api.get("brokers/brk_x"), api.post("brokers", json={}), api.get("brokers?x=1"),
               api.post("me"), api.options("brokers"), api.head(path), api.post("brokers", data=b"x"),
               api.get(path, headers={"If-None-Match": "*"}), api.with_(organization="org_x").get("me"), api.delete(path)]
    assert [headers(response)["Remaining"] for response in answers] == list(range(98, 98 - len(answers), -1))


def test_a_refused_request_is_not_executed(limited_api):
    api = limited_api(2)
    broker = api.broker()
    refused(api.post("brokers", json={"name": ""}), 400, "validation.broker.name_invalid")
    for method in (api.get, api.delete, api.head, api.options):
        assert method("brokers/" + broker["id"]).status_code == 429
    left = api.instance.sql("select id from neoapi.broker where organization_id = %s", broker["organization_id"])
    assert left == [(broker["id"],)]


def test_credentials_are_counted_separately(limited_api, admin_factory):
    api = limited_api(3)
    other = api.with_(credential=admin_factory.key(api.credential.organizations[0]))
    for _ in range(3):
        ok(api.get("me"))
    assert api.get("me").status_code == 429
    assert headers(other.get("me"))["Remaining"] == 2


def at_once(api, count):
    """Sends requests with curl over forty connections, because httpd closes some of more for lack of threads. Returns status
    and remaining requests of each."""
    done = subprocess.run(["curl", "--no-progress-meter", "--http1.1", "--parallel", "--parallel-immediate", "--parallel-max",
                           "16", "--noproxy", "*", "--cacert", api.instance.ca, "--max-time", str(2 * TIMEOUT_S), "-o",
                           "/dev/null",
                           "-H", "X-API-Key: " + api.credential.secret,
                           "-w", "%{http_code} %header{X-RateLimit-Remaining}\n", f"{api.url}me#[1-{count}]"],
                          capture_output=True, text=True, check=True, timeout=4 * TIMEOUT_S)
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]


def test_exactly_a_hundred_of_a_thousand_concurrent_requests_pass(limited_api, instance):
    assert len(instance.children()) >= 2
    for _ in range(3):
        answers = at_once(limited_api(100), 1000)
        statuses = [status for status, _ in answers]
        assert (statuses.count(200), statuses.count(429)) == (100, 900)
        assert sorted(left for status, left in answers if status == 200) == list(range(100))


def test_concurrent_first_requests_are_all_counted(limited_api):
    """The first request creates the counter, and no concurrent request is lost."""
    for _ in range(10):
        api = limited_api(6)
        clients = [api.with_() for _ in range(12)]
        answers = together(*[lambda client=client: client.get("me") for client in clients])
        assert sorted(answer.status_code for answer in answers) == [200] * 6 + [429] * 6


def test_a_window_restarts_at_its_reset_time(limited_api):
    api = limited_api(2, 1)
    first = headers(api.get("me"))
    answer = api.until(429, "me")
    assert headers(answer)["Reset"] - first["Reset"] < 60
    again = api.until(200, "me")
    assert time.time() >= headers(answer)["Reset"] and headers(again)["Remaining"] == 1


def test_a_changed_plan_takes_effect_at_once(limited_api, admin_factory):
    api = limited_api(3)
    for _ in range(4):
        response = api.get("me")
    assert response.status_code == 429
    admin_factory.set_plan(api.credential.tenant, admin_factory.plan(10, WINDOW))
    now = headers(api.get("me"))
    assert now["Limit"] == 10 and now["Remaining"] == 6


# ---------------------------------------------------------------- without a valid credential


def test_failed_authentication_is_limited_by_address_and_valid_keys_keep_working(anonymous, principals):
    def send_guess(number):
        secret = principals.admin.secret[:-8] + f"{number:08}"
        return anonymous.get("me", headers={"X-API-Key": secret} if number % 3 else {})

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(send_guess, range(660)))
    assert {headers(answer)["Limit"] for answer in answers} == {600}
    if len({headers(answer)["Reset"] for answer in answers}) == 1:  # otherwise the requests took longer than a window
        assert [answer.status_code for answer in answers].count(401) == 600
    refused(anonymous.until(429, "me"), 429, "rate_limit.exceeded")
    for path in ("openapi.yaml", "nothing"):
        assert anonymous.get(path).status_code == 429
    ok(anonymous.with_(credential=principals.admin).get("me"))


def test_addresses_are_counted_separately(anonymous, instance):
    before = headers(anonymous.get("me"))["Remaining"]
    assert headers(Api(instance, source="127.255.0.1").get("me"))["Remaining"] == 599 and before == 599
    assert headers(anonymous.get("me"))["Remaining"] == 598


def test_errors_with_a_valid_credential_do_not_count_against_the_address(anonymous, principals):
    client = anonymous.with_(credential=principals.viewer)
    for path in ("nothing", "brokers?x=1"):
        assert client.get(path).status_code >= 400
    assert headers(anonymous.get("me"))["Remaining"] == 599
