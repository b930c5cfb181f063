-- Deliveries that the API makes and shows (see delivery.c). Parameters have names (see store/sql.h).

-- ---------------------------------------------------------------- what to deliver: event and payload, a row each

-- name: test_events
select 'webhook.test' as event, json_strip_nulls(json_build_object('subscription_id', t.id))::text as payload
from neoapi.webhook_subscription t
where t.organization_id = {organization} and t.id = {subscription};

-- name: retry_events
select t.event_type as event, t.payload
from neoapi.webhook_delivery t
where t.organization_id = {organization} and t.subscription_id = {subscription} and t.id = {id};

-- `limit 1` keeps the planner from reading the whole history: one index look-up for each failed delivery.
-- name: recover_events
select d.event_type as event, d.payload
from neoapi.webhook_attempt t, lateral (
    select h.event_type, h.payload
    from neoapi.webhook_delivery h
    where h.organization_id = t.organization_id and h.subscription_id = t.subscription_id and h.id = t.delivery_id
    limit 1) d
where t.organization_id = {organization} and t.subscription_id = {subscription}
and t.outcome = 'failed' and t.started_at >= {since}::timestamptz
order by t.delivery_id limit 1000000;

-- ---------------------------------------------------------------- answers

-- name: record_answer
select json_strip_nulls(json_build_object(
    'id', id,
    'subscription_id', subscription_id,
    'event_type', event_type,
    'status', 'pending',
    'attempt_count', 0,
    'created_at', neoapi.format_timestamp(created_at)))::text as answer
from queued_deliveries;

-- name: count_answer
select json_strip_nulls(json_build_object('recovered', (select count(*) from queued_deliveries)))::text as answer
from key_is_free;

-- ---------------------------------------------------------------- whole statements

-- name: read
select neoapi.webhook_delivery_detail(t)
from neoapi.webhook_delivery t
where t.organization_id = {organization} and t.subscription_id = {subscription} and t.id = {id};

-- The previous secret is valid for one more day.
-- name: rotate
update neoapi.webhook_subscription t
set previous_secret = secret, secret = {secret}, previous_secret_until = now() + interval '24 hours',
    updated_at = greatest({now}::timestamptz, updated_at), updated_by = {actor}
where t.organization_id = {organization} and t.id = {subscription}
returning representation;
