-- SPDX-License-Identifier: Apache-2.0
-- Deliveries that the API makes and shows (see delivery.c). Parameters have names (see store/sql.h).

-- ---------------------------------------------------------------- what to deliver: an event in a row each

-- name: test_events
insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
select t.organization_id, 'webhook.test', t.id, {now}::timestamptz, {actor}, {request},
    json_strip_nulls(json_build_object('subscription_id', t.id))::text
from neoapi.webhook_subscription t, key_is_free
where t.organization_id = {organization} and t.id = {subscription}
returning id, type, created_at;

-- name: retry_events
select t.event_id as id, t.event_type as type, t.event_at as created_at
from neoapi.webhook_delivery t, lateral (
    select from neoapi.event e where e.organization_id = t.organization_id and e.id = t.event_id and e.created_at = t.event_at) e
where t.organization_id = {organization} and t.subscription_id = {subscription} and t.id = {id};

-- ---------------------------------------------------------------- recovery

-- The deliveries that have failed since a time, of a subscription that exists. Those that fail after the request do not belong
-- to it.
-- name: recover_source
select t.delivery_id
from neoapi.webhook_subscription w
join neoapi.webhook_attempt t on t.organization_id = w.organization_id and t.subscription_id = w.id
where w.organization_id = {organization} and w.id = {subscription}
and t.outcome = 'failed' and t.started_at >= {since}::timestamptz and t.started_at <= now();

-- Makes at most {limit} new deliveries of one request, and returns how many failed ones it has passed. Deliveries whose event is
-- no longer kept are left out. `limit 1` keeps the planner from reading the whole history: two index look-ups for each.
-- name: recover_step
with recovery as materialized (
    select r.id, r.organization_id, r.subscription_id, r.since, r.requested_at, r.position, r.last
    from neoapi.webhook_recovery r order by r.id limit 1 for update skip locked),
found as materialized (
    select f.delivery_id
    from recovery r
    join neoapi.webhook_subscription w on w.organization_id = r.organization_id and w.id = r.subscription_id,
    lateral (
        select t.delivery_id
        from neoapi.webhook_attempt t
        where t.organization_id = r.organization_id and t.subscription_id = r.subscription_id and t.outcome = 'failed'
        and t.delivery_id > r.position and t.delivery_id <= r.last
        and t.started_at >= r.since and t.started_at <= r.requested_at
        order by t.delivery_id limit {limit}::int) f),
source as materialized (
    select r.organization_id, r.subscription_id, d.event_id, d.event_type, d.event_at
    from recovery r, found f,
    lateral (
        select h.event_id, h.event_type, h.event_at
        from neoapi.webhook_delivery h
        where h.organization_id = r.organization_id and h.subscription_id = r.subscription_id and h.id = f.delivery_id
        limit 1) d,
    lateral (
        select from neoapi.event e
        where e.organization_id = r.organization_id and e.id = d.event_id and e.created_at = d.event_at
        limit 1) e
    order by f.delivery_id),
made as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, neoapi.block_id({id_block}, row_number() over ()), subscription_id, event_id, event_type, event_at,
        {now}::timestamptz
    from source returning *),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)
    select id, organization_id, subscription_id, now() from made),
advanced as (
    update neoapi.webhook_recovery r set position = (select max(delivery_id) from found)
    from recovery where r.id = recovery.id and (select count(*) from found) = {limit}::int),
finished as (
    delete from neoapi.webhook_recovery r using recovery
    where r.id = recovery.id and (select count(*) from found) < {limit}::int)
select count(*) from found;

-- ---------------------------------------------------------------- answers

-- name: record_answer
select json_strip_nulls(json_build_object(
    'id', id,
    'subscription_id', subscription_id,
    'event_id', event_id,
    'event_type', event_type,
    'status', 'pending',
    'attempt_count', 0,
    'created_at', neoapi.format_timestamp(created_at)))::text as answer
from queued_deliveries;

-- ---------------------------------------------------------------- whole statements

-- name: read
select neoapi.webhook_delivery_detail(t)
from neoapi.webhook_delivery t
where t.organization_id = {organization} and t.subscription_id = {subscription} and t.id = {id};

-- The previous secret is valid for one more day.
-- name: rotate
update neoapi.webhook_subscription t
set previous_secret = secret, secret = {secret}, previous_secret_until = now() + interval '24 hours',
    updated_at = greatest({now}::timestamptz, updated_at + interval '1 millisecond'), updated_by = {actor}
where t.organization_id = {organization} and t.id = {subscription}
returning representation;
