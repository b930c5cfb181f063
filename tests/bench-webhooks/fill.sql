-- SPDX-License-Identifier: Apache-2.0
-- Deliveries of one subscription that are due now, each of an event of its own, whose whole body has %(size)s bytes. Ids are of today.
with event (n, id, body) as (
    select n, left(neoapi.webhook_min_id(current_date), 14) || lpad(n::text, 16, '0'),
           jsonb_build_object('id', 'brk_' || lpad(n::text, 26, '0'), 'name', 'Maria Aparecida dos Santos', 'creci', 'CRECISP' || n,
                              'email', 'broker.' || n || '@example.com')::text
    from generate_series(1, %(count)s) n),
logged as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)
    select %(organization)s, 'broker.created', id, date_trunc('milliseconds', now()), 'bench',
           left(body, -1) || ', "note": "' || repeat('x', %(size)s - 131 - length(body)) || '"}'
    from event returning id, type, resource_id, created_at),
deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select %(organization)s, resource_id, %(subscription)s, id, type, created_at, created_at
    from logged returning organization_id, id, subscription_id)
insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)
select id, organization_id, subscription_id, now() from deliveries order by id
