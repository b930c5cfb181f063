-- Deliveries of one subscription that are due now, of an event whose whole body has %(size)s bytes. Ids are of today.
with event (n, id, body) as (
    select n, left(neoapi.webhook_min_id(current_date), 14) || lpad(n::text, 16, '0'),
           jsonb_build_object('id', 'brk_' || lpad(n::text, 26, '0'), 'name', 'Maria Aparecida dos Santos', 'creci', 'CRECISP' || n,
                              'email', 'broker.' || n || '@example.com')::text
    from generate_series(1, %(count)s) n),
deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_type, payload, created_at)
    select %(organization)s, id, %(subscription)s, 'broker.created',
           left(body, -1) || ', "note": "' || repeat('x', %(size)s - 131 - length(body)) || '"}', date_trunc('milliseconds', now())
    from event returning organization_id, id, subscription_id)
insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)
select id, organization_id, subscription_id, now() from deliveries order by id
