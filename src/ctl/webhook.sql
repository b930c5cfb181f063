-- SPDX-License-Identifier: Apache-2.0
-- Deliveries as neoapictl shows them (see webhook.c).

-- A delivery t as a list shows it (see neo_listed).
-- name: delivery
select row_to_json(l)::text
from (
    select t.id, t.event_id, t.event_type,
        case when q.id is not null then 'pending' else coalesce(a.outcome, 'failed') end as status,
        coalesce(a.number, 0) as attempt_count, a.http_status, a.error,
        neoapi.format_timestamp(t.created_at) as created_at,
        case when q.id is null then neoapi.format_timestamp(a.started_at + a.duration_ms * interval '1 millisecond') end
            as completed_at,
        case when q.due_at < 'infinity' then neoapi.format_timestamp(q.due_at) end as due_at
    from (select) one
    left join neoapi.webhook_queue q on q.subscription_id = t.subscription_id and q.id = t.id
    left join lateral (
        select * from neoapi.webhook_attempt l
        where l.organization_id = t.organization_id and l.delivery_id = t.id
        order by l.number desc limit 1) a on true) l;

-- Finds a delivery by its id alone: $1. A delivery of a deleted subscription is in the queue or has an attempt. Attempts are searched for
-- each organization, because their index begins with it.
-- name: owner
select d.organization_id, w.id, w.is_active
from (
    select s.organization_id, s.id as subscription_id
    from neoapi.webhook_subscription s, lateral (
        select from neoapi.webhook_delivery h
        where h.organization_id = s.organization_id and h.subscription_id = s.id and h.id = $1 limit 1) found
    union all
    select q.organization_id, q.subscription_id from neoapi.webhook_queue q where q.id = $1
    union all
    select a.organization_id, a.subscription_id
    from neoapi.organization o
    join neoapi.webhook_attempt a on a.organization_id = o.id and a.delivery_id = $1
    limit 1) d
left join neoapi.webhook_subscription w on w.organization_id = d.organization_id and w.id = d.subscription_id;

-- Attempts recorded since the last call: $1 its snapshot, $2 the first delivery that can have a new attempt, $3 the earliest
-- start of a new attempt, $4 organization or null, $5 the next $2 if no older delivery is pending.
--
-- An attempt is new if the last snapshot did not see the transaction that wrote it, whenever the attempt started. A row's xmin
-- has 32 bits and is completed to 64 from the snapshot's end. Attempts are searched for each organization, because the index
-- begins with it. `limit 1` keeps the planner from reading the whole history for the event types.
-- name: follow
with state as materialized (
    select pg_current_snapshot() as now, pg_snapshot_xmax(pg_current_snapshot())::text::bigint as last)
select state.now::text,
    least((
        select min(q.id)
        from neoapi.webhook_subscription w, lateral (
            select q.id from neoapi.webhook_queue q where q.subscription_id = w.id order by q.id limit 1) q
        where w.is_active), $5),
    (now() - interval '10 minutes')::text,
    (select coalesce(json_agg(l order by l.at, l.delivery_id), '[]')
     from (
        select neoapi.format_timestamp(a.started_at + a.duration_ms * interval '1 millisecond') as at,
            coalesce(a.outcome, 'retry') as result, a.http_status, a.error, a.number as attempt, a.duration_ms, d.event_type,
            a.delivery_id, a.subscription_id, a.organization_id
        from neoapi.organization o
        cross join lateral (
            select * from neoapi.webhook_attempt x
            where x.organization_id = o.id and x.delivery_id >= $2 and x.started_at >= $3::timestamptz
            and not pg_visible_in_snapshot(
                (state.last - ((state.last - x.xmin::text::bigint) & 4294967295))::text::xid8, $1::pg_snapshot)
            offset 0) a
        left join lateral (
            select h.event_type from neoapi.webhook_delivery h
            where h.organization_id = a.organization_id and h.subscription_id = a.subscription_id and h.id = a.delivery_id
            limit 1) d on true
        where $4::text is null or o.id = $4) l)
from state;
