# SPDX-License-Identifier: Apache-2.0
"""Background jobs: cleanup of old history and expired idempotency keys, expiry, and who runs them."""

import uuid

import psycopg2
import pytest

from admin_factory import AdminFactory
from admin_pages import CONF as PAGES, AdminPages
from client import Api, ok
from factories import LAST_DAY, ResourceFactory
from webhook_fixtures import (HERE, admin, deliveries, module_admin_factory, module_instance, receiver,  # fixtures among them
                              running_instance, subscribe, until)
from wait import eventually

CONF = PAGES + "NeoAPIWebhookRetention 7d\nNeoAPIEventRetention 8d\n"
DAY = "to_char(current_date + %s, 'YYYYMMDD')"


def run_jobs(instance, *names):
    """Runs the jobs, by default all, from start to end: also one that was running before."""
    def run_twice():
        pending = [name for name, count in runs(instance).items() if name in before and count < before[name] + 2]
        instance.sql("update neoapi.job set due_at = least(due_at, now()) where name = any(%s)", pending)
        return not pending

    before = {name: count for name, count in runs(instance).items() if not names or name in names}
    eventually(run_twice, "the jobs have run")


def runs(instance):
    """The number of runs of each job."""
    eventually(lambda: instance.sql("select count(*) >= 4 from neoapi.job") == [(True,)], "the jobs are known")
    return dict(instance.sql("select name, runs from neoapi.job"))


def partitions(module_instance, kind):
    return {name for name, in module_instance.sql("select c.relname from pg_inherits join pg_class c on c.oid = inhrelid"
                                                  " where inhparent = %s::regclass", f"neoapi.webhook_{kind}")}


def partition_name(module_instance, kind, days):
    return f"webhook_{kind}_{module_instance.sql('select ' + DAY, days)[0][0]}"


def make_partition(module_instance, kind, days):
    """Returns its name, which is another one after midnight."""
    name = partition_name(module_instance, kind, days)
    module_instance.sql(f"create table neoapi.{name} partition of neoapi.webhook_{kind}"
                        f" for values from (neoapi.webhook_min_id(current_date + %s)) to (neoapi.webhook_min_id(current_date + %s))",
                        days, days + 1)
    return name


def age(module_instance, delivery, days):
    """Adds a copy of a delivery, its attempts and its queue row that is some days older. Returns its id."""
    old = module_instance.sql("select overlay(neoapi.webhook_min_id(current_date - %s) placing right(%s, 8) from 23)", days,
                              delivery)[0][0]
    module_instance.sql(
        "insert into neoapi.webhook_delivery select organization_id, %s, subscription_id, event_id, event_type, event_at,"
        " created_at"
        " from neoapi.webhook_delivery where id = %s", old, delivery)
    module_instance.sql(
        "insert into neoapi.webhook_attempt select organization_id, %s, subscription_id, number, started_at, duration_ms,"
        " http_status, error, response_excerpt, outcome from neoapi.webhook_attempt where delivery_id = %s",
        old, delivery)
    module_instance.sql("insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"
                        " select id, organization_id, subscription_id, now() + interval '1 hour' from neoapi.webhook_delivery where id = %s",
                        old)
    return old


def count(module_instance, table, column, value):
    return module_instance.sql(f"select count(*) from neoapi.{table} where {column} = %s", value)[0][0]


def test_the_export_of_a_person_says_how_long_the_logs_are_kept(module_instance, admin):
    run_jobs(module_instance, "cleanup")
    kept = ok(admin.post("subjects/export", {"email": "ana@example.com"}))["kept"]
    assert kept == {"events": {"days": 8}, "deliveries": {"days": 7}, "stored_responses": {"days": 1}}


def test_partitions_of_future_days_are_created_in_advance(module_instance):
    """Midnight can come at any time: the names are those of a day before the jobs run."""
    wanted = {kind: [partition_name(module_instance, kind, days) for days in range(4)] for kind in ("delivery", "attempt")}
    run_jobs(module_instance)
    for kind, names in wanted.items():
        assert set(names) <= partitions(module_instance, kind)
        module_instance.sql(f"drop table neoapi.{names[-1]}")
    run_jobs(module_instance)
    for kind, names in wanted.items():
        eventually(lambda kind=kind, last=names[-1]: last in partitions(module_instance, kind), "a partition for the third day")


def test_history_beyond_the_retention_is_removed_with_its_queue_rows(module_instance, admin, receiver):
    subscription = subscribe(admin, receiver.url)
    admin.broker()
    recent = until(admin, subscription, "success")["id"]
    old, young = ({kind: make_partition(module_instance, kind, days) for kind in ("delivery", "attempt")} for days in (-9, -3))
    gone, kept = age(module_instance, recent, 9), age(module_instance, recent, 3)
    run_jobs(module_instance)
    eventually(lambda: not count(module_instance, "webhook_queue", "id", gone), "the old one's end in the queue")
    for kind, column in (("delivery", "id"), ("attempt", "delivery_id")):
        left = partitions(module_instance, kind)
        assert old[kind] not in left and young[kind] in left
        assert [count(module_instance, f"webhook_{kind}", column, id) for id in (gone, kept, recent)] == [0, 1, 1]
    assert count(module_instance, "webhook_queue", "id", kept) == 1
    module_instance.sql("delete from neoapi.webhook_queue where id = %s", kept)


def add_old_event(module_instance, days):
    """Adds an event of some days ago in its own partition. Returns its id and its partition."""
    part = "event_" + module_instance.sql("select " + DAY, -days)[0][0]
    module_instance.sql(f"create table neoapi.{part} partition of neoapi.event for values"
                        " from (neoapi.partition_bound('event', current_date - %s)::timestamptz)"
                        " to (neoapi.partition_bound('event', current_date - %s)::timestamptz)", days, days - 1)
    return module_instance.sql("insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)"
                               " values ('', 'test', '', now() - make_interval(days => %s), '', '{}') returning id", days)[0][0], part


def test_events_beyond_their_retention_are_removed_unless_a_pending_delivery_needs_them(module_instance, admin, receiver):
    def left():
        return {name for name, in module_instance.sql("select c.relname from pg_inherits join pg_class c on c.oid = inhrelid"
                                                      " where inhparent = 'neoapi.event'::regclass")}

    subscription = subscribe(admin, receiver.url)
    admin.broker()
    delivery = until(admin, subscription, "success")["id"]
    (_, oldest), (needed, pending), (_, kept) = (add_old_event(module_instance, days) for days in (11, 10, 8))
    module_instance.sql("update neoapi.webhook_delivery set event_id = %s, event_at = now() - interval '10 days' where id = %s",
                        needed, delivery)
    module_instance.sql("insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"
                        " select id, organization_id, subscription_id, now() + interval '1 hour' from neoapi.webhook_delivery"
                        " where id = %s", delivery)
    run_jobs(module_instance)
    eventually(lambda: oldest not in left(), "the oldest day is removed")
    assert {pending, kept} <= left() and count(module_instance, "event", "id", needed) == 1
    module_instance.sql("delete from neoapi.webhook_queue where id = %s", delivery)
    run_jobs(module_instance)
    eventually(lambda: pending not in left(), "the day is removed when nothing needs it")
    assert kept in left()


def test_the_default_partitions_keep_nothing_beyond_the_retention_either(module_instance, admin, receiver):
    """They have rows if no partitions were created for days."""
    subscription = subscribe(admin, receiver.url)
    admin.broker()
    recent = until(admin, subscription, "success")["id"]
    gone, kept = (age(module_instance, recent, days) for days in (30, 5))
    events = [module_instance.sql("insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)"
                                  " values ('', 'test', '', now() - make_interval(days => %s), '', '{}') returning id", days)[0][0]
              for days in (30, 5)]
    run_jobs(module_instance)
    eventually(lambda: not count(module_instance, "event_default", "id", events[0]), "the old event's end")
    assert [count(module_instance, f"webhook_{kind}_default", column, id) for id in (gone, kept)
            for kind, column in (("delivery", "id"), ("attempt", "delivery_id"))] == [0, 0, 1, 1]
    assert count(module_instance, "event_default", "id", events[1]) == 1
    module_instance.sql("delete from neoapi.webhook_queue where id = %s", kept)


def test_only_expired_idempotency_keys_are_removed(module_instance, admin):
    key = str(uuid.uuid4())
    assert admin.post("brokers", json={"name": "Ana"}, headers={"Idempotency-Key": key}).status_code == 201
    module_instance.sql(
        "insert into neoapi.idempotency_key select organization_id, credential_id, gen_random_uuid(), request_hash, status,"
        " response_body, secret, now() - interval '1 second' from neoapi.idempotency_key, generate_series(1, 4500) where key = %s",
        key)
    run_jobs(module_instance)
    eventually(lambda: module_instance.sql("select count(*) from neoapi.idempotency_key where expires_at < now()") == [(0,)],
               "no key that is over")
    assert count(module_instance, "idempotency_key", "key", key) == 1


@pytest.mark.parametrize("lock", ["neoapi.cleanup", "neoapi.maintain_partitions"])
def test_a_cleanup_does_not_block_other_processes(module_instance, admin, receiver, lock):
    """While another process holds the lock, deliveries are sent and nothing is removed."""
    dropped = partition_name(module_instance, "attempt", 3)
    assert admin.post("brokers", json={"name": "Ana"}, headers={"Idempotency-Key": str(uuid.uuid4())}).status_code == 201
    connection = psycopg2.connect(module_instance.admin_dsn)
    try:
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(hashtext(%s))", (lock,))
        module_instance.sql("update neoapi.idempotency_key set expires_at = now()")
        module_instance.sql(f"drop table neoapi.{dropped}")
        run_jobs(module_instance)
        subscription = subscribe(admin, receiver.url)
        admin.broker()
        until(admin, subscription, "success")
        if lock == "neoapi.cleanup":
            assert module_instance.sql("select exists (select from neoapi.idempotency_key)") == [(True,)]
        else:
            assert dropped not in partitions(module_instance, "attempt")
    finally:
        connection.close()
    run_jobs(module_instance)
    eventually(lambda: dropped in partitions(module_instance, "attempt")
               and module_instance.sql("select count(*) from neoapi.idempotency_key") == [(0,)], "everything is tidy")


def test_due_proposals_and_contracts_expire_once(module_instance, admin, receiver):
    """Several processes look for them. Writes of the service have the same events as those of clients."""
    factory = ResourceFactory(admin)
    party, parties, kept = factory.party()["id"], factory.signed("rental"), factory.proposal(status="submitted")
    proposals = [factory.proposal(status="submitted", proponent_ids=[party], property_id=kept["property_id"]) for _ in range(40)]
    ok(admin.patch("proposals/" + proposals[0]["id"], json={"status": "countered"}))
    property = factory.offered()["id"]
    contract = factory.contract(kind="rental", property_id=property, parties=parties, start_date="2026-01-01",
                                end_date=LAST_DAY, status="pending_signature")
    contract = ok(admin.patch("contracts/" + contract["id"], json={"status": "active"}))
    subscription = subscribe(admin, receiver.url, "proposal.updated", "contract.updated")
    module_instance.sql("update neoapi.proposal set valid_until = current_date - 2 where id = any(%s)",
                        [one["id"] for one in proposals])
    module_instance.sql("update neoapi.contract set end_date = current_date - 2 where id = %s", contract["id"])
    run_jobs(module_instance)
    eventually(lambda: len(admin.walk("proposals", status="expired")) == 40, "40 proposals that are expired")
    ended = eventually(lambda: (one := ok(admin.get("contracts/" + contract["id"])))["status"] == "expired" and one,
                       "a contract that is expired")
    assert ended["updated_by"] == "system" and ok(admin.get("properties/" + property))["status"] == "rented"
    for one in admin.walk("proposals", status="expired"):
        assert one["decided_at"] == one["updated_at"] and one["updated_by"] == "system"
    assert ok(admin.get("proposals/" + kept["id"])) == kept
    assert len(deliveries(admin, subscription)) == 41


def due_proposal(instance, factory):
    proposal = factory.proposal(status="submitted")
    instance.sql("update neoapi.proposal set valid_until = current_date - 2 where id = %s", proposal["id"])
    return proposal["id"]


def test_a_job_that_another_process_has_claimed_is_left_to_it_until_the_lease_ends(module_instance, admin):
    run_jobs(module_instance)
    module_instance.sql("update neoapi.job set due_at = now() + interval '1 hour' where name = 'expire'")
    proposal = due_proposal(module_instance, ResourceFactory(admin))
    run_jobs(module_instance, "cleanup", "fail_deleted", "announce_failing")
    assert ok(admin.get("proposals/" + proposal))["status"] == "submitted"
    module_instance.sql("update neoapi.job set due_at = now() where name = 'expire'")
    eventually(lambda: ok(admin.get("proposals/" + proposal))["status"] == "expired", "the proposal is expired")


def test_a_failed_job_is_recorded_and_runs_again(module_instance, admin):
    """Here the cleanup cannot delete; the page, the text and the metrics show it."""
    pages = AdminPages(module_instance)
    run_jobs(module_instance)
    failures = module_instance.sql("select failures from neoapi.job where name = 'cleanup'")[0][0]
    module_instance.sql("revoke delete on neoapi.idempotency_key from neoapi")
    try:
        run_jobs(module_instance, "cleanup")
    finally:
        module_instance.sql("grant delete on neoapi.idempotency_key to neoapi")
    failed = module_instance.sql("select failures, last_failure_at > last_success_at from neoapi.job where name = 'cleanup'")[0]
    assert failed[0] > failures and failed[1]
    eventually(lambda: pages.samples()['neoapi_job_failures_total{name="cleanup"}'] > failures, "the metric counts the failure")
    run_jobs(module_instance, "cleanup")
    assert module_instance.sql("select last_failure_at < last_success_at from neoapi.job where name = 'cleanup'") == [(True,)]


def test_jobs_run_on_hosts_that_deliver_nothing():
    with running_instance("no-courier", HERE + "NeoAPIWebhookConcurrency 0\n") as instance:
        api = Api(instance, AdminFactory(instance).key())
        proposal = due_proposal(instance, ResourceFactory(api))
        run_jobs(instance)
        assert ok(api.get("proposals/" + proposal))["status"] == "expired"
