-- SPDX-License-Identifier: Apache-2.0
-- Deliveries that the API makes and shows (see delivery.c). Parameters have names (see sql/sql.h).

-- ---------------------------------------------------------------- what to deliver: an event in a row each

-- name: test_events
insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
select t.organization_id, 'webhook.test', t.id, neoapi.event_time({now}::timestamptz), {actor}, {request},
    json_strip_nulls(json_build_object('subscription_id', t.id))::text
from neoapi.webhook_subscription t, key_is_free
where t.organization_id = {organization} and t.id = {subscription}
returning id, type, created_at;

-- name: retry_events
select t.event_id as id, t.event_type as type, t.event_at as created_at
from neoapi.webhook_delivery t, lateral (
    select from neoapi.event e where e.organization_id = t.organization_id and e.id = t.event_id and e.created_at = t.event_at) e
where t.organization_id = {organization} and t.subscription_id = {subscription} and t.id = {id};

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

-- name: recovery
select json_strip_nulls(json_build_object('recovered', r.recovered, 'is_complete', r.position is null, 'position', r.position))::text as answer, r.recovered
from key_is_free, neoapi.webhook_recover({organization}, {subscription}, {body}::json, {any_type}::text[], {id_block},
                                         {now}::timestamptz) r;

-- ---------------------------------------------------------------- whole statements

-- read: read
select neoapi.webhook_delivery_detail(t)
from neoapi.webhook_delivery t
where t.organization_id = {organization} and t.subscription_id = {subscription} and t.id = {id};

-- The previous secret is valid for one more day.
-- write: rotate
update neoapi.webhook_subscription t
set previous_secret = secret, secret = {secret}, previous_secret_until = now() + interval '24 hours',
    updated_at = greatest({now}::timestamptz, updated_at + interval '1 millisecond'), updated_by = {actor}
where t.organization_id = {organization} and t.id = {subscription}
returning representation;
