-- Webhooks: who wants to know (subscriptions), what is to be told (deliveries), what has still to be sent (the queue), and what
-- became of it (attempts).
--
-- A delivery is written once, by the statement that changes the resource, and never touched again. While it is to be sent, a narrow
-- row of the queue stands for it; each attempt adds a row; the last one says how it ended. Deliveries and attempts are history:
-- partitioned by day, by the time that their ids carry, and dropped by partition, so that a long history slows nothing down.

create table neoapi.webhook_subscription (
    organization_id       text collate "C" not null,
    id                    text collate "C" not null check (id ~ '^whs_[0-9a-hjkmnp-tv-z]{26}$'),
    tenant_id             text collate "C" not null,
    url                   text not null,
    events                text[] not null check (cardinality(events) > 0), -- event names, or '*'
    is_active             boolean not null default true,
    created_at            timestamptz not null,
    updated_at            timestamptz not null,
    created_by            text collate "C" not null,
    updated_by            text collate "C" not null,
    secret                text not null, -- sealed with the deployment's key, the row's id as its context
    previous_secret       text,          -- likewise; deliveries are signed with both until previous_secret_until
    previous_secret_until timestamptz,
    failing_since         timestamptz, -- the first failure after the last success
    disabled_reason       text,        -- why the courier made it inactive
    representation        text not null,
    primary key (organization_id, id)
);

-- The last digits choose the ids of deliveries (see src/store/table.c).
create unique index webhook_subscription_ending on neoapi.webhook_subscription (organization_id, right(id, 4));

create function neoapi.webhook_subscription_represent() returns trigger language plpgsql as $$
begin
    if new.is_active then
        new.disabled_reason := null;
        if tg_op = 'UPDATE' and not old.is_active then
            new.failing_since := null;
        end if;
    end if;
    new.representation := json_strip_nulls(json_build_object( -- which also writes it without spaces
        'id', new.id,
        'url', new.url,
        'events', new.events,
        'is_active', new.is_active,
        'created_at', neoapi.instant(new.created_at),
        'updated_at', neoapi.instant(new.updated_at)));
    return new;
end $$;
create trigger represent before insert or update on neoapi.webhook_subscription
    for each row execute function neoapi.webhook_subscription_represent();

-- ---------------------------------------------------------------- history

create table neoapi.webhook_delivery (
    organization_id text collate "C" not null,
    id              text collate "C" not null,
    subscription_id text collate "C" not null,
    event_type      text not null,
    payload         text not null, -- JSON, exactly as it is sent
    created_at      timestamptz not null,
    primary key (organization_id, id)
) partition by range (id);
create index webhook_delivery_of_subscription on neoapi.webhook_delivery (organization_id, subscription_id, id);

create table neoapi.webhook_attempt (
    organization_id  text collate "C" not null,
    delivery_id      text collate "C" not null,
    subscription_id  text collate "C" not null,
    number           int not null,
    started_at       timestamptz not null,
    duration_ms      int not null,
    http_status      int,
    error            text,
    response_excerpt text,
    outcome          text check (outcome in ('success', 'failed')), -- null: another attempt follows
    primary key (organization_id, delivery_id, number)
) partition by range (delivery_id);
create index webhook_attempt_failed on neoapi.webhook_attempt (organization_id, subscription_id, delivery_id)
    where outcome = 'failed';

-- What no day's partition takes: nothing, unless the janitor has not run for days.
create table neoapi.webhook_delivery_rest partition of neoapi.webhook_delivery default;
create table neoapi.webhook_attempt_rest partition of neoapi.webhook_attempt default;

-- ---------------------------------------------------------------- the queue

-- due_at is schedule and lease in one: a claim that dies with its process is due again when its time is over.
create table neoapi.webhook_queue (
    id              text collate "C" primary key, -- of the delivery
    organization_id text collate "C" not null,
    subscription_id text collate "C" not null,
    number          int not null default 1, -- of the attempt that comes next
    due_at          timestamptz not null,
    claim           bigint -- who works on it; results of an older claim are not taken
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index webhook_queue_lane on neoapi.webhook_queue (subscription_id, due_at);

-- Deleting a subscription ends what is pending for it.
create function neoapi.webhook_subscription_end() returns trigger language plpgsql as $$
begin
    with ended as (delete from neoapi.webhook_queue where subscription_id = old.id returning *)
    insert into neoapi.webhook_attempt
        (organization_id, delivery_id, subscription_id, number, started_at, duration_ms, error, outcome)
    select organization_id, id, subscription_id, number, now(), 0, 'subscription_deleted', 'failed' from ended;
    return null;
end $$;
create trigger ended after delete on neoapi.webhook_subscription
    for each row execute function neoapi.webhook_subscription_end();

-- ---------------------------------------------------------------- records, as the API answers them

create function neoapi.webhook_delivery_record(d neoapi.webhook_delivery) returns json
    language sql stable parallel safe
    return (select json_strip_nulls(json_build_object(
        'id', d.id,
        'subscription_id', d.subscription_id,
        'event_type', d.event_type,
        'status', case when q.id is not null then 'pending' else coalesce(a.outcome, 'failed') end,
        'http_status', a.http_status,
        'attempt_count', coalesce(a.number, 0),
        'created_at', neoapi.instant(d.created_at),
        'completed_at', case when q.id is null
                             then neoapi.instant(a.started_at + a.duration_ms * interval '1 millisecond') end))
        from (select) one
        left join neoapi.webhook_queue q on q.id = d.id
        left join lateral (select * from neoapi.webhook_attempt l
                           where l.organization_id = d.organization_id and l.delivery_id = d.id
                           order by l.number desc limit 1) a on true);

-- The record with everything about it.
create function neoapi.webhook_delivery_detail(d neoapi.webhook_delivery) returns text
    language sql stable parallel safe
    return (select left(r, -1) || ',"payload":' || d.payload || ',"attempts":' || coalesce((
        select json_agg(json_strip_nulls(json_build_object(
            'number', l.number,
            'started_at', neoapi.instant(l.started_at),
            'duration_ms', l.duration_ms,
            'http_status', l.http_status,
            'error', l.error,
            'response_excerpt', l.response_excerpt)) order by l.number)
        from neoapi.webhook_attempt l
        where l.organization_id = d.organization_id and l.delivery_id = d.id)::text, '[]') || '}'
        from (select neoapi.webhook_delivery_record(d)::text as r) record);

-- ---------------------------------------------------------------- the janitor

-- The smallest delivery id of a day: its milliseconds since 1970 as ten base32 digits, and zeros.
create function neoapi.webhook_day_id(day date) returns text
    language sql immutable strict parallel safe
    return (select 'whd_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
        ((extract(epoch from day)::bigint * 1000) >> (5 * (9 - n)) & 31)::int + 1, 1), '' order by n) || repeat('0', 16)
        from generate_series(0, 9) n);

-- Makes the partitions of the next days and drops those older than `keep` days. Belongs to the schema's owner, because the runtime
-- role can't make tables. One at a time: whoever comes second does nothing. Nobody waits long behind it: where the tables are busy
-- it gives up, and is called again.
create function neoapi.webhook_keep_partitions(keep int) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
    kind text;
    day date;
    part text;
begin
    if not pg_try_advisory_xact_lock(hashtext('neoapi.webhook_keep_partitions')) then
        return;
    end if;
    foreach kind in array array['webhook_delivery', 'webhook_attempt'] loop
        for day in select generate_series(current_date - 1, current_date + 3, interval '1 day')::date loop
            part := kind || '_' || to_char(day, 'YYYYMMDD');
            if to_regclass('neoapi.' || part) is null then
                begin
                    execute format('create table neoapi.%I partition of neoapi.%I for values from (%L) to (%L)',
                                   part, kind, neoapi.webhook_day_id(day), neoapi.webhook_day_id(day + 1));
                exception when check_violation then
                    null; -- the default partition has rows of that day already; they stay there
                end;
            end if;
        end loop;
        for part in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
                    where i.inhparent = ('neoapi.' || kind)::regclass and c.relname ~ '_[0-9]{8}$'
                      and to_date(right(c.relname, 8), 'YYYYMMDD') < current_date - greatest(keep, 1) loop
            execute format('drop table neoapi.%I', part);
        end loop;
    end loop;
end $$;
revoke execute on function neoapi.webhook_keep_partitions from public;
select neoapi.webhook_keep_partitions(30);

grant select, insert, update, delete on neoapi.webhook_subscription, neoapi.webhook_queue to :runtime;
grant select, insert, delete on neoapi.webhook_delivery, neoapi.webhook_attempt to :runtime;
grant select, delete on neoapi.webhook_delivery_rest, neoapi.webhook_attempt_rest to :runtime;
grant execute on function neoapi.webhook_keep_partitions to :runtime;
