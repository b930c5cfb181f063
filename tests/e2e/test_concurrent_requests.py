# SPDX-License-Identifier: Apache-2.0
"""The plan's limit of an organization's requests in progress, across the processes of a host."""

import os
import signal
from contextlib import ExitStack

import pytest
from client import Api, refused
from exports import SlowExport, fill
from wait import eventually, together
from webhook_fixtures import module_admin_factory, module_instance  # noqa: F401 (fixtures)

ROWS = 20_000  # exceed the socket buffers between server and client
LIMIT = 2  # the maximum number of exports of an organization


@pytest.fixture
def limited(module_instance, module_admin_factory):
    """An organization with that limit and large exports, in a tenant with other organizations."""
    factory = module_admin_factory
    organization = factory.organization(factory.tenant(factory.plan(concurrent_requests=LIMIT)))
    fill(module_instance, organization, ROWS)
    return Api(module_instance, factory.key(organization))


def started(api):
    export = SlowExport(api)
    assert export.status == 200
    return export


def is_refused(api):
    """Whether requests over separate connections, which reach all processes, are refused."""
    return {api.with_().get("me").status_code for _ in range(10)} == {429}


def passes(api):
    return api.with_().get("me").status_code == 200


def test_requests_beyond_the_limit_are_refused_at_once(limited, module_instance, module_admin_factory):
    factory = module_admin_factory
    with started(limited), started(limited):
        problem = refused(limited.get("me"), 429, "rate_limit.concurrent_requests")
        assert (problem["limit"], problem["limit_value"], problem["retry_after"]) == ("concurrent_requests", LIMIT, 1)
        refused(limited.post("brokers", json={"name": "A"}), 429, "rate_limit.concurrent_requests")
        other_key = factory.key(limited.credential.organizations[0])
        assert is_refused(limited) and is_refused(limited.with_(credential=other_key))
        assert passes(Api(module_instance, factory.key(factory.organization(limited.credential.tenant))))
        assert limited.get("openapi.yaml").status_code == 200
    eventually(lambda: passes(limited), "the exports end with their connections")
    assert module_instance.sql("select count(*) from neoapi.broker where organization_id = %s and name = 'A'",
                               limited.credential.organizations[0]) == [(0,)]


def test_clients_within_the_limit_are_never_refused(limited):
    """A request has ended when its client has the response."""
    for path in ("me", "brokers?limit=10"):
        clients = [limited.with_() for _ in range(LIMIT)]
        answers = together(*[lambda client=client: {client.get(path).status_code for _ in range(150)} for client in clients])
        assert answers == [{200}] * LIMIT


def test_a_killed_process_holds_no_slots(limited, module_instance):
    with ExitStack() as exports:
        for _ in range(LIMIT):
            exports.enter_context(started(limited))
        killed = module_instance.children()
        for child in killed:
            os.kill(child, signal.SIGKILL)
        eventually(lambda: set(module_instance.children()) - set(killed), "a new child")
        eventually(lambda: passes(limited), "the places of the killed processes are free")
        for _ in range(LIMIT):
            exports.enter_context(started(limited))
        assert is_refused(limited)


def test_requests_of_an_old_generation_count_until_they_end(limited, module_instance):
    with started(limited), started(limited) as last:
        module_instance.command("graceful")
        assert is_refused(limited)
        last.rest()
        eventually(lambda: passes(limited), "an export has ended")


def test_a_changed_limit_applies_at_once(limited, module_admin_factory, module_instance):
    plan = module_instance.sql("select plan from neoapi.tenant where id = %s", limited.credential.tenant)[0][0]
    with started(limited), started(limited):
        assert is_refused(limited)
        module_admin_factory.ctl("plan", "change", plan, "--concurrent-requests", str(LIMIT + 1))
        assert passes(limited)
        module_admin_factory.ctl("plan", "change", plan, "--concurrent-requests", "1")
        assert is_refused(limited)
        module_admin_factory.ctl("plan", "change", plan, "--concurrent-requests", "unlimited")
        assert passes(limited)
