-- A subscription that is deleted while it is delivered to: what is on its way is taken first, in the order of the ids, as whoever records
-- results takes it (see src/store/outbox.c). In another order the two could wait for each other, until PostgreSQL finds that out after a
-- second and one of them begins again; which can still happen with what is claimed while this runs. What is not claimed is taken as it
-- comes: to lock a million of them in an order would cost half as much again.
create or replace function neoapi.webhook_subscription_end() returns trigger language plpgsql as $$
begin
    perform from neoapi.webhook_queue where subscription_id = old.id and claim is not null order by id for update;
    with ended as (delete from neoapi.webhook_queue where subscription_id = old.id returning *)
    insert into neoapi.webhook_attempt
        (organization_id, delivery_id, subscription_id, number, started_at, duration_ms, error, outcome)
    select organization_id, id, subscription_id, number, now(), 0, 'subscription_deleted', 'failed' from ended;
    return null;
end $$;
