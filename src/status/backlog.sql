-- SPDX-License-Identifier: Apache-2.0
-- Counts the queue (see backlog.c): $1 limit of counted rows, $2 limit of subscriptions.
--
-- Subscriptions are found one after the other in the index, as in outbox.sql, so that the cost does not depend on the length of
-- the queue. Deliveries that their subscription's own limits hold back are due and not overdue.
-- name: backlog
with recursive queue (id, organization, due_at, n) as (
    (select l.*, 1
     from (select q.subscription_id, q.organization_id, q.due_at
           from neoapi.webhook_queue q
           order by q.subscription_id, q.due_at limit 1) l)
    union all
    select l.*, n + 1
    from queue, lateral (
        select q.subscription_id, q.organization_id, q.due_at
        from neoapi.webhook_queue q
        where q.subscription_id > queue.id
        order by q.subscription_id, q.due_at limit 1) l
    where n < $2::int),
open as (
    select l.id, case when s.max_per_second is null and s.max_in_flight is null then l.due_at end as late_since
    from queue l
    join neoapi.webhook_subscription s on s.organization_id = l.organization and s.id = l.id and s.is_active
        and s.paused_until > now() is not true
    where l.due_at <= now()),
due as (
    select from open o, lateral (
        select from neoapi.webhook_queue q where q.subscription_id = o.id and q.due_at <= now() limit $1::int) d
    limit $1::int),
pending as (select from neoapi.webhook_queue limit $1::int + 1)
select (select count(*) from pending),
    (select reltuples::bigint from pg_catalog.pg_class where oid = 'neoapi.webhook_queue'::regclass),
    (select count(*) from due),
    (select max(n) from queue),
    (select greatest(extract(epoch from now() - min(late_since)) * 1000, 1)::bigint from open having count(late_since) > 0),
    (select min(o.id) from queue l, lateral (
        select q.id from neoapi.webhook_queue q where q.subscription_id = l.id order by q.id limit 1) o),
    (select stalled from neoapi.whatsapp_health()),
    (select count(*) from neoapi.webhook_subscription where health = 'failing'),
    (select count(*) from neoapi.webhook_subscription where health = 'disabled');
