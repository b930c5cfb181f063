-- SPDX-License-Identifier: Apache-2.0
-- Creates the event log and the tables of webhooks: subscriptions, deliveries, attempts, queue; and the function that maintains
-- partitions.
--
-- The statement that changes a resource inserts an event, a delivery of it for each subscription, and a narrow row into the
-- queue. Events and deliveries are never updated. Each attempt inserts a row; the last one has the outcome. Events are
-- partitioned by the day of their creation, deliveries and attempts by the day in their ids. Days are dropped by partition, so
-- that a long history does not slow down writes.

-- ---------------------------------------------------------------- events

-- The id of an event is evt_, the epoch (7 hexadecimal digits), the transaction's id (11) and a number (8), so that ids sort. A
-- position in the log is an id, or one with the number 0. The sequence has the epoch and the number as one value; the latter
-- increases within a transaction, which is one session.
create sequence neoapi.event_number cycle;

-- One row: the current epoch. It ends when committed transactions may have been lost, because readers may have seen their events
-- and because transaction ids are then used again. Its positions are refused from then on.
create table neoapi.event_epoch (
    number   int not null,          -- greater than all before: when it began, in units of 32 seconds since 1970
    identity text not null,         -- of the database that writes it (see neoapi.event_identity)
    begun_at timestamptz not null
);
create unique index event_epoch_is_one on neoapi.event_epoch ((true));

-- A position, and when it was the end of the log. created_at of later events is at most six hours before `noted_at`, and that of
-- earlier ones at most six hours after it: no write takes so long, and neoapi.event_time limits the effect of a host's wrong clock. So
-- a position determines partitions. A position before all marks is no longer valid: later events have been dropped, or its epoch has
-- ended.
create table neoapi.event_mark (
    position text collate "C" primary key,
    noted_at timestamptz not null
);

-- The time of an event. A process whose clock is wrong when it starts corrects it within seconds; until then it is at most an hour
-- off here.
create function neoapi.event_time(at timestamptz) returns timestamptz
    language sql stable parallel safe
    return least(greatest(at, now() - interval '1 hour'), now() + interval '1 hour');

-- What a restored database does not share with the one that was saved: the cluster, the timeline of its write-ahead log, the
-- database and the table. A copy of the cluster's files keeps all of them.
create function neoapi.event_identity() returns text
    language sql stable security definer set search_path = pg_catalog, pg_temp
    as $$ select concat_ws('/', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
                           (select oid from pg_database where datname = current_database()), 'neoapi.event_epoch'::regclass::oid)
          from pg_control_system() $$;

create function neoapi.event_position(epoch int, transaction xid8) returns text
    language sql immutable strict parallel safe
    return 'evt_' || lpad(to_hex(epoch), 7, '0') || lpad(to_hex(transaction::text::bigint), 11, '0') || '00000000';

-- The position up to which the log is complete in the current snapshot: every transaction before it has ended, so that no event
-- appears there later.
create function neoapi.event_position() returns text
    language sql stable parallel safe
    return (select neoapi.event_position(number, pg_snapshot_xmin(pg_current_snapshot())) from neoapi.event_epoch);

-- Begins a new epoch. Altering the sequence waits for all transactions that have taken a number, so that none of them commits an
-- event of the former epoch afterwards. lock_timeout limits how long others queue behind it.
create function neoapi.begin_event_epoch() returns void
    language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
    next bigint;
begin
    update neoapi.event_epoch
    set number = greatest(number + 1, extract(epoch from clock_timestamp())::bigint >> 5),
        identity = neoapi.event_identity(), begun_at = clock_timestamp()
    returning number into next;
    execute format('alter sequence neoapi.event_number minvalue %1$s maxvalue %2$s start %1$s restart',
                   (next << 32) + 1, ((next + 1) << 32) - 1);
    delete from neoapi.event_mark;
    insert into neoapi.event_mark values (neoapi.event_position(next::int, '0'), clock_timestamp());
end $$;
revoke execute on function neoapi.begin_event_epoch from public;

-- Begins a new epoch if another database wrote the current one. Returns whether it did. Security definer, because the runtime
-- role cannot alter the sequence.
create function neoapi.check_event_epoch() returns boolean
    language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
begin
    perform from neoapi.event_epoch where identity <> neoapi.event_identity() for update;
    if found then
        perform neoapi.begin_event_epoch();
    end if;
    return found;
end $$;
revoke execute on function neoapi.check_event_epoch from public;

insert into neoapi.event_epoch values (0, '', now());
select neoapi.begin_event_epoch();

create table neoapi.event (
    organization_id text collate "C" not null,
    id              text collate "C" not null
                    default 'evt_' || overlay(to_hex(nextval('neoapi.event_number'))
                                              placing lpad(to_hex(pg_current_xact_id()::text::bigint), 11, '0') from 8 for 0),
    type            text not null,
    resource_id     text collate "C" not null,
    created_at      timestamptz not null,
    actor           text collate "C" not null, -- who made the change, as in updated_by
    request_id      text,                      -- null: not made by a request; with a traceparent behind a semicolon if it had one
    payload         text not null,             -- JSON, exactly as it is sent
    changed         text[],                    -- of an update: the fields with new values, without updated_at and updated_by
    previous        json,                      -- of an update: their former values, of fields in the payload only
    is_silent       boolean,                   -- true: of an import, not to be delivered; null otherwise
    primary key (organization_id, id, created_at)
) partition by range (created_at);

-- For the filters of GET /events, and for deliveries of a resource. Together they cost a write about thirteen microseconds.
create index event_resource on neoapi.event (organization_id, resource_id, id);
create index event_type on neoapi.event (organization_id, type, id);
create index event_actor on neoapi.event (organization_id, actor, id);

-- Empty unless the job "cleanup" has not run for days.
create table neoapi.event_default partition of neoapi.event default;

-- An event as the API returns it.
create function neoapi.event_record(e neoapi.event) returns text
    language sql stable parallel safe
    return left(json_strip_nulls(json_build_object(
        'id', e.id,
        'type', e.type,
        'created_at', neoapi.format_timestamp(e.created_at),
        'resource_id', e.resource_id,
        'actor_id', e.actor,
        'request_id', left(e.request_id, 30),
        'trace_id', nullif(substr(e.request_id, 35, 32), ''),
        'changed', e.changed))::text, -1) || coalesce(',"previous":' || e.previous, '') || ',"payload":' || e.payload || '}';

-- ---------------------------------------------------------------- subscriptions

create table neoapi.webhook_subscription (
    organization_id       text collate "C" not null,
    id                    text collate "C" not null check (id like 'whs\_%' and octet_length(id) = 30),
    tenant_id             text collate "C" not null,
    url                   text not null,
    events                text[] not null check (cardinality(events) > 0), -- 'broker.created', 'broker.*' or '*'
    include               text[],        -- 'changed', 'previous'; null: neither
    payload               text,          -- 'thin'; 'full' or null: full
    fields                json,          -- names of the payload's fields; null: all
    is_active             boolean not null default true,
    created_at            timestamptz not null,
    updated_at            timestamptz not null,
    created_by            text collate "C" not null,
    updated_by            text collate "C" not null,
    secret                text not null, -- encrypted with the deployment's key; the id is the additional authenticated data
    previous_secret       text,          -- encrypted like secret; until previous_secret_until deliveries are signed with both
    previous_secret_until timestamptz,
    asymmetric_signature  text,          -- 'ed25519'; null: none
    private_key           text,          -- encrypted like secret; null until asymmetric_signature is first set
    public_key            text,          -- 'whpk_' and base64
    previous_private_key  text,          -- encrypted like secret; until previous_public_key_until deliveries are signed with both
    previous_public_key   text,
    previous_public_key_until timestamptz,
    health                text not null default 'healthy', -- the trigger keeps it; 'failing' or 'disabled' otherwise
    last_success_at       timestamptz, -- to the minute
    failing_since         timestamptz, -- the first failure after the last success
    disabled_at           timestamptz,
    disabled_reason       text,        -- owner, gone or failing
    limited_until         timestamptz, -- the plan's limit defers deliveries; null after the next success
    ordering              text,        -- 'resource'; 'none' or null: none
    batch                 json,        -- max_items, max_wait_ms; null: one delivery in a request
    max_per_second        bigint,      -- requests; null: unlimited
    max_in_flight         bigint,      -- requests; null: unlimited
    paused_until          timestamptz, -- the receiver's Retry-After; null after a success that follows it
    is_announced          boolean not null default false, -- webhook.failing or webhook.disabled was sent; webhook.recovered follows
    filters               json,        -- for each kind of events, names of filters and their values; null: none
    is_masked             boolean,     -- sensitive fields of payloads are masked
    description           text,
    metadata              json,
    headers               json,        -- of deliveries: their names, with '********' for each value (see webhook_header)
    representation        text not null,
    primary key (organization_id, id)
);

-- The last four characters choose the ids of deliveries in a block (see src/sql/write.c).
create unique index webhook_subscription_id_suffix on neoapi.webhook_subscription (organization_id, right(id, 4));

create index webhook_subscription_health on neoapi.webhook_subscription (health, failing_since) where health <> 'healthy';

create index webhook_subscription_ordering on neoapi.webhook_subscription (id) where ordering = 'resource';

-- Keeps the health. Its name sorts before that of the trigger that sets the representation.
create function neoapi.webhook_subscription_keep_health() returns trigger language plpgsql as $$
declare
    was_active boolean := tg_op = 'INSERT' or old.is_active;
begin
    if new.is_active then
        new.disabled_at := null;
        new.disabled_reason := null;
        if not was_active then
            new.failing_since := null;
            new.paused_until := null;
        end if;
    elsif was_active then
        new.disabled_at := date_trunc('milliseconds', now());
        new.disabled_reason := coalesce(new.disabled_reason, 'owner');
    end if;
    new.health := case when not new.is_active then 'disabled' when new.failing_since is not null then 'failing' else 'healthy' end;
    return new;
end $$;
create trigger keep_health before insert or update on neoapi.webhook_subscription
    for each row execute function neoapi.webhook_subscription_keep_health();

-- The values of the headers that subscriptions add to deliveries.
create table neoapi.webhook_header (
    organization_id text collate "C" not null,
    subscription_id text collate "C" not null,
    name            text collate "C" not null,
    value           text not null, -- encrypted like the subscription's secret
    primary key (organization_id, subscription_id, name)
);

-- Moves the values of headers to their table. A value that is '********' stays as it is there.
create function neoapi.webhook_subscription_keep_headers() returns trigger language plpgsql as $$
begin
    delete from neoapi.webhook_header h
    where h.organization_id = new.organization_id and h.subscription_id = new.id
    and (new.headers is null or new.headers->h.name is null);
    insert into neoapi.webhook_header (organization_id, subscription_id, name, value)
    select new.organization_id, new.id, h.key, h.value from json_each_text(new.headers) h where h.value <> '********'
    on conflict (organization_id, subscription_id, name) do update set value = excluded.value;
    new.headers := (select '{' || string_agg(to_json(h.key) || ':"********"', ',' order by h.position) || '}'
                    from json_each(new.headers) with ordinality as h (key, value, position));
    return new;
end $$;
create trigger keep_headers before insert on neoapi.webhook_subscription
    for each row when (new.headers is not null) execute function neoapi.webhook_subscription_keep_headers();
create trigger keep_changed_headers before update on neoapi.webhook_subscription
    for each row when (old.headers::text is distinct from new.headers::text)
    execute function neoapi.webhook_subscription_keep_headers();

-- Refuses a subscription above the plan's limit, for clients that create several at once, too: the lock makes them wait, and each
-- statement of a volatile function sees what was committed before it. Names the limit as the constraint; the detail is its value.
create function neoapi.webhook_subscription_check_limit() returns trigger language plpgsql as $$
declare
    allowed int := (select p.subscriptions from neoapi.tenant t join neoapi.plan p on p.name = t.plan where t.id = new.tenant_id);
begin
    if allowed is null then
        return new;
    end if;
    perform pg_advisory_xact_lock(hashtext('neoapi.subscriptions'), hashtext(new.organization_id));
    if (select count(*) from neoapi.webhook_subscription where organization_id = new.organization_id) >= allowed then
        raise exception 'The plan''s limit of webhook subscriptions of an organization is %.', allowed
            using errcode = 'NEO01', constraint = 'subscriptions', detail = allowed;
    end if;
    return new;
end $$;
create trigger check_limit before insert on neoapi.webhook_subscription
    for each row execute function neoapi.webhook_subscription_check_limit();

-- ---------------------------------------------------------------- deliveries and attempts

-- Queries for one delivery know its subscription or look it up, so that the primary key also serves lists by subscription. It
-- begins with the organization, for the removal of an organization. A subscription has one organization, so the other indexes omit it.
create table neoapi.webhook_delivery (
    organization_id text collate "C" not null,
    id              text collate "C" not null,
    subscription_id text collate "C" not null,
    event_id        text collate "C" not null, -- repetitions refer to the same event
    event_type      text not null,
    event_at        timestamptz not null, -- the event's created_at, which leads to its partition
    created_at      timestamptz not null,
    primary key (organization_id, subscription_id, id)
) partition by range (id);
create index webhook_delivery_event on neoapi.webhook_delivery (subscription_id, event_id); -- in the order of the event log
create index webhook_delivery_event_type on neoapi.webhook_delivery (subscription_id, event_type, id);

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
-- For lists by status, however few deliveries have it.
create index webhook_attempt_outcome on neoapi.webhook_attempt (organization_id, subscription_id, outcome, delivery_id)
    where outcome is not null;

-- Empty unless the job "cleanup" has not run for days.
create table neoapi.webhook_delivery_default partition of neoapi.webhook_delivery default;
create table neoapi.webhook_attempt_default partition of neoapi.webhook_attempt default;

-- ---------------------------------------------------------------- the queue

-- due_at is both schedule and lease: a claimed delivery is due again when the lease of its claim has expired, unless the process
-- that claimed it still holds its lock (see include/webhooks/claim_owner.h).
create table neoapi.webhook_queue (
    id              text collate "C" not null, -- of the delivery
    organization_id text collate "C" not null,
    subscription_id text collate "C" not null,
    number          int not null default 1, -- of the next attempt
    due_at          timestamptz not null,
    -- Of the courier that sends it: claim_owner.id << 32 and a random even number, plus 1 if the next one of its resource was claimed with it.
    -- Results of an older claim are discarded.
    claim           bigint,
    resource_id     text collate "C", -- of a subscription with ordering; null otherwise, and for webhook.test
    changed_at      timestamptz,      -- the resource's updated_at in the event, which orders the deliveries with a resource_id
    primary key (subscription_id, id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
        vacuum_truncate = off);
create index webhook_queue_subscription_due_at on neoapi.webhook_queue (subscription_id, due_at);
create index webhook_queue_resource on neoapi.webhook_queue (subscription_id, resource_id, changed_at, id) where resource_id is not null;

-- The order of an event among those of its resource.
create function neoapi.webhook_changed_at(payload text, at timestamptz) returns timestamptz
    language sql stable parallel safe
    return coalesce((payload::json->>'updated_at')::timestamptz, at);

-- A delivery that waits for an earlier one of its resource can be parked: due_at is 'infinity', so that claims do not read it again and
-- again. A claim parks it only while it holds a lock on an earlier one (see outbox.sql). The earlier one is therefore deleted afterwards,
-- and this trigger, whose statement has a snapshot of its own, sees what was parked. It makes the first delivery that is left due. If that
-- has the claim of the deleted one, it is not parked.
--
-- Locked deliveries are skipped, because another transaction may be deleting them: two that were sent at the same time, before `ordering`
-- was set or because the earlier one is a repetition. Each of the two transactions would otherwise leave what follows to the other.
-- If none deletes the skipped one, what became due too early waits for it and is parked again.
create function neoapi.webhook_queue_pass_on() returns trigger language plpgsql as $$
begin
    update neoapi.webhook_queue q set due_at = now()
    where q.subscription_id = old.subscription_id and q.due_at = 'infinity' and q.id = (
        select n.id from neoapi.webhook_queue n
        where n.subscription_id = old.subscription_id and n.resource_id = old.resource_id
        order by n.changed_at, n.id limit 1 for update skip locked);
    return null;
end $$;
create trigger pass_on after delete on neoapi.webhook_queue
    for each row when (old.resource_id is not null and (old.claim & 1 = 1) is not true) execute function neoapi.webhook_queue_pass_on();

-- A payload, or the former values, reduced to the `fields` of a subscription. The ids and the version are always included.
create function neoapi.webhook_limited(object text, fields json) returns text
    language sql immutable parallel safe
    return case when object is null or fields is null then object else (
        select '{' || coalesce(string_agg(to_json(f.key)::text || ':' || f.value::text, ',' order by f.position), '') || '}'
        from json_each(object::json) with ordinality f (key, value, position)
        where f.key in ('id', 'subscription_id', 'organization_id', 'updated_at')
            or f.key in (select json_array_elements_text(fields))) end;

-- After a change of `ordering`, sets or clears the order of the pending deliveries. Locks their rows in the courier's order.
create function neoapi.webhook_subscription_keep_order() returns trigger language plpgsql as $$
begin
    perform from neoapi.webhook_queue q where q.subscription_id = new.id order by q.id for update;
    if new.ordering = 'resource' then
        update neoapi.webhook_queue q set resource_id = e.resource_id, changed_at = neoapi.webhook_changed_at(e.payload, e.created_at)
        from neoapi.webhook_delivery d
        join neoapi.event e on e.organization_id = d.organization_id and e.id = d.event_id and e.created_at = d.event_at
        where q.subscription_id = new.id and d.organization_id = new.organization_id and d.subscription_id = new.id and d.id = q.id
            and e.resource_id <> new.id;
    else
        update neoapi.webhook_queue q
        set resource_id = null, changed_at = null, due_at = case when q.due_at = 'infinity' then now() else q.due_at end
        where q.subscription_id = new.id;
    end if;
    return null;
end $$;
create trigger keep_order after update on neoapi.webhook_subscription
    for each row when ((old.ordering = 'resource') is distinct from (new.ordering = 'resource'))
    execute function neoapi.webhook_subscription_keep_order();

-- The processes that claim deliveries. Each is removed by another one that finds it ended.
create table neoapi.claim_owner (
    id            int primary key,
    pid_namespace text not null, -- the host since its last start, and the namespace; '': unknown
    pid           int not null,
    started_at    timestamptz not null default now()
);

-- When the next request may be sent to a subscription with a limit. A claim locks the row, so that one process at a time takes
-- some of the limit, and advances the time by the requests that it takes.
create table neoapi.webhook_pace (
    subscription_id text collate "C" primary key,
    next_at         timestamptz not null default now()
) with (fillfactor = 50);

-- The number of deliveries in a request of a subscription with `batch`. Each further attempt has a quarter of the previous one's, so that a
-- delivery that the receiver refuses, or a body that is too large for it, does not make the other deliveries fail.
create function neoapi.webhook_request_items(max_items int, number int) returns int
    language sql immutable parallel safe
    return greatest(max_items >> 2 * least(number - 1, 4), 1);

-- How many deliveries a claim may take of a subscription with limits: at most `free` requests, as many as per_second allows in the next
-- quarter of a second, and as many as in_flight leaves; each has `items` deliveries. If none is allowed now, returns minus the milliseconds
-- until the next one (20 if another process is claiming), or 0 if that is unknown.
--
-- plpgsql, because its statements have snapshots of their own: the count sees the claims of all processes that had the lock before.
-- Which deliveries share a request is not stored: it follows from the size of requests, which depends on the number of the attempt. If the
-- deliveries of a claim have several sizes, the count assumes the smallest. Of the deliveries of a resource that were claimed together, which
-- are sent one after the other, only the last one counts.
create function neoapi.webhook_slots(subscription text, per_second bigint, in_flight bigint, max_items int, items int, free int) returns int
    language plpgsql as $$
declare
    next_ms double precision; -- from now
    slots bigint := free;
begin
    select greatest(extract(epoch from p.next_at - now()) * 1000, 0) into next_ms
    from neoapi.webhook_pace p where p.subscription_id = subscription for update skip locked;
    if not found then
        return -20;
    end if;
    if per_second is not null then
        if next_ms > 250 then
            return -ceil(next_ms);
        end if;
        slots := least(slots, floor((250 - next_ms) * per_second / 1000) + 1);
    end if;
    if in_flight is not null then
        slots := least(slots, in_flight - (
            select coalesce(sum(ceil(c.count::float8 / neoapi.webhook_request_items(max_items, c.number))), 0)
            from (select count(*), max(q.number) as number from neoapi.webhook_queue q
                  where q.subscription_id = subscription and q.due_at > now() and q.claim & 1 = 0 group by q.claim) c));
    end if;
    return greatest(slots, 0) * items;
end $$;

create function neoapi.webhook_subscription_keep_pace() returns trigger language plpgsql as $$
begin
    insert into neoapi.webhook_pace (subscription_id) values (new.id) on conflict do nothing;
    return null;
end $$;
create trigger keep_pace after insert or update of max_per_second, max_in_flight on neoapi.webhook_subscription
    for each row when (new.max_per_second is not null or new.max_in_flight is not null)
    execute function neoapi.webhook_subscription_keep_pace();

-- The deleted subscriptions whose pending deliveries have not all failed yet. A claim needs the subscription, so that none of
-- them is sent any more; the courier fails them in steps, because there may be millions.
create table neoapi.webhook_deletion (
    subscription_id text collate "C" primary key,
    organization_id text collate "C" not null,
    transaction     xid8 not null default pg_current_xact_id(),
    deleted_at      timestamptz not null default now(),
    position        text collate "C" not null default '' -- the last delivery that failed: index entries before it may be dead
);

-- The ids of an event's deliveries without their last four characters, which are those of the subscriptions.
create function neoapi.event_delivery_block(event_id text, at timestamptz) returns text
    language sql immutable strict parallel safe
    return (select 'whd_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
        ((extract(epoch from at) * 1000)::bigint >> (5 * (9 - n)) & 31)::int + 1, 1), '' order by n) || left(md5(event_id), 12)
        from generate_series(0, 9) n);

-- What a subscription may list for an event: the event, or all of the same kind.
create function neoapi.event_patterns(type text) returns text[]
    language sql immutable strict parallel safe
    return array[type, split_part(type, '.', 1) || '.*'];

-- ---------------------------------------------------------------- filters

-- An index of what subscriptions list, so that the cost of a write does not depend on the number of subscriptions that it does not
-- concern. A subscription without filters for a kind of events has routes with an empty key. One with filters has a route for each
-- combination of their values, and the write looks up the combinations of its own values. The trigger "route" maintains routes and shapes.
create table neoapi.webhook_route (
    organization_id text collate "C" not null,
    pattern         text collate "C" not null, -- 'broker.created', 'broker.*' or '*': no two of a subscription include the same event
    key             text collate "C" not null, -- '', or the names of the filters and a value of each (see webhook_filter_keys)
    subscription_id text collate "C" not null,
    is_active       boolean not null,
    excluded        text[],                    -- of '*': the kinds of events that have filters; null: none
    primary key (organization_id, pattern, key, subscription_id)
);
create index webhook_route_subscription on neoapi.webhook_route (subscription_id);

-- The sets of filters that an organization's subscriptions use. Without any of a kind, its writes do nothing for filters.
create table neoapi.webhook_shape (
    organization_id text collate "C" not null,
    kind            text collate "C" not null, -- 'broker'
    shape           text collate "C" not null, -- the names of the filters, sorted, with commas between them
    subscriptions   int not null,              -- how many have it
    primary key (organization_id, kind, shape)
);

-- A value as keys have it: case and accents do not matter, as in lists.
create function neoapi.webhook_filter_value(value text) returns text
    language sql immutable parallel safe
    return case when value ~ '[^a-z0-9_]' then neoapi.folded(value) else value end;

create function neoapi.webhook_filter_shape(filter jsonb) returns text
    language sql immutable parallel safe
    return (select string_agg(k, ',' order by k collate "C") from jsonb_object_keys(filter) k);

-- The keys of filters of one kind of events. An empty value of `changed` is that of events other than updates.
create function neoapi.webhook_filter_keys(filter jsonb) returns text[]
    language plpgsql immutable strict parallel safe as $$
declare
    keys text[] := array[neoapi.webhook_filter_shape(filter)];
    name text;
begin
    foreach name in array string_to_array(keys[1], ',') loop
        keys := array(
            select distinct k || chr(31) || v
            from unnest(keys) k, (
                select neoapi.webhook_filter_value(e) from jsonb_array_elements_text(filter->name) e
                union all
                select '' where name = 'changed') v (v));
    end loop;
    return keys;
end $$;

-- The routes of a subscription. An event that '*' or 'broker.*' includes has no other route, so that no event has two. '*' includes the
-- changes of these six resources, but not their erasures.
create function neoapi.webhook_routes(events text[], filters jsonb) returns table (pattern text, key text, excluded text[])
    language sql immutable parallel safe
begin atomic
    with listed as (
        select e as pattern from unnest(events) e
        where e = '*' or not ('*' = any (events) and e not like '%.erased' and split_part(e, '.', 1) = any (
                '{broker,property,party,proposal,contract,document}'))
            and (e like '%.*' or split_part(e, '.', 1) || '.*' <> all (events))
        union
        select k || '.*' from jsonb_object_keys(filters) k where '*' = any (events)
            and k = any ('{broker,property,party,proposal,contract,document}'))
    select l.pattern, k.key, case when l.pattern = '*' and filters is not null then array(select jsonb_object_keys(filters)) end
    from listed l
    cross join lateral unnest(coalesce(neoapi.webhook_filter_keys(filters->split_part(l.pattern, '.', 1)), '{""}')) k (key);
end;

-- The lock prevents deadlocks between two changes of subscriptions, which both update the counts of shapes.
create function neoapi.webhook_subscription_route() returns trigger language plpgsql as $$
begin
    if coalesce(case when tg_op <> 'INSERT' then old.filters end, case when tg_op <> 'DELETE' then new.filters end) is not null then
        perform pg_advisory_xact_lock(hashtext('neoapi.webhook_shape'), hashtext(coalesce(new.organization_id, old.organization_id)));
    end if;
    if tg_op <> 'INSERT' then
        delete from neoapi.webhook_route where subscription_id = old.id;
        update neoapi.webhook_shape s set subscriptions = s.subscriptions - 1
        from json_each(old.filters) f
        where s.organization_id = old.organization_id and s.kind = f.key and s.shape = neoapi.webhook_filter_shape(f.value::jsonb);
        delete from neoapi.webhook_shape s
        where s.organization_id = old.organization_id and s.subscriptions = 0 and old.filters is not null;
    end if;
    if tg_op <> 'DELETE' then
        insert into neoapi.webhook_route (organization_id, pattern, key, subscription_id, is_active, excluded)
        select new.organization_id, r.pattern, r.key, new.id, new.is_active, r.excluded
        from neoapi.webhook_routes(new.events, new.filters::jsonb) r;
        insert into neoapi.webhook_shape as s (organization_id, kind, shape, subscriptions)
        select new.organization_id, f.key, neoapi.webhook_filter_shape(f.value::jsonb), 1 from json_each(new.filters) f
        on conflict (organization_id, kind, shape) do update set subscriptions = s.subscriptions + 1;
    end if;
    return null;
end $$;
create trigger route after insert or delete on neoapi.webhook_subscription
    for each row execute function neoapi.webhook_subscription_route();
create trigger route_changes after update on neoapi.webhook_subscription
    for each row when (old.is_active <> new.is_active or old.events <> new.events
                       or old.filters::text is distinct from new.filters::text)
    execute function neoapi.webhook_subscription_route();

-- The values that a payload has at a path such as 'owners.party_id'.
create function neoapi.webhook_event_values(payload jsonb, path text) returns text[]
    language sql immutable parallel safe
    return case when jsonb_typeof(payload->path) = 'string' then array[neoapi.webhook_filter_value(payload->>path)]
                else array(select neoapi.webhook_filter_value(v #>> '{}')
                           from jsonb_path_query(payload, ('$.' || path || '[*]')::jsonpath) v) end;

-- The subscriptions with filters of this kind of events that match an event, before the change or after it; `only` one of them, also
-- if it is inactive. `paths` has the filters whose path in the payload is not their name.
create function neoapi.webhook_match(organization text, type text, payload text, previous json, changed text[], paths jsonb,
                                     only_one text default null) returns setof text
    language plpgsql stable rows 10 set plan_cache_mode = force_generic_plan as $$
declare
    after jsonb := payload;
    before jsonb := after || previous::jsonb;
    event_kind text := split_part(type, '.', 1);
    patterns text[] := array[type, event_kind || '.*'];
    shape text;
    name text;
    path text;
    value text;
    version jsonb;
    found text[];
    v text[];
    keys text[] := '{}';
begin
    for shape in select s.shape from neoapi.webhook_shape s where s.organization_id = organization and s.kind = event_kind loop
        foreach version in array case when before is null then array[after] else array[after, before] end loop
            found := array[shape];
            foreach name in array string_to_array(shape, ',') loop
                path := coalesce(paths->>name, name);
                if name = 'changed' then
                    v := coalesce(changed, '{""}');
                elsif jsonb_typeof(version->path) = 'string' then
                    value := version->>path;
                    v := array[case when value ~ '[^a-z0-9_]' then neoapi.folded(value) else value end];
                else
                    v := neoapi.webhook_event_values(version, path);
                end if;
                if cardinality(found) = 1 and cardinality(v) = 1 then
                    found[1] := found[1] || chr(31) || v[1];
                else
                    found := array(select f || chr(31) || e from unnest(found) f, unnest(v) e);
                end if;
            end loop;
            keys := keys || found;
        end loop;
    end loop;
    return query
        select distinct r.subscription_id from neoapi.webhook_route r
        where r.organization_id = organization and r.pattern = any (patterns) and r.key = any (keys)
        and case when only_one is null then r.is_active else r.subscription_id = only_one end;
end $$;

-- Adds an event that '*' does not include, and a delivery of it to each subscription that lists it, other than the one that the event is
-- about. `before` is the former payload of an update that removes no field; if it is null, the event does not say what changed. Returns
-- the number of deliveries.
create function neoapi.add_event(organization text, happened text, resource text, payload text, actor text default 'system',
                                 request text default null, before text default null) returns bigint
    language sql volatile
    as $$
        with added as (
            insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
            select organization, happened, resource, date_trunc('milliseconds', now()), actor, request, payload,
                   array_agg(f.key order by f.position),
                   ('{' || string_agg(to_json(f.key) || ':' || coalesce((before::json->f.key)::text, 'null'), ',' order by f.position)
                    || '}')::json
            from json_each(payload::json) with ordinality f (key, value, position)
            where f.key not in ('updated_at', 'updated_by') and f.value::jsonb is distinct from (before::json->f.key)::jsonb
              and before is not null
            returning *),
        delivery as (
            insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
            select organization, neoapi.event_delivery_block(a.id, a.created_at) || right(s.id, 4), s.id, a.id, happened,
                   a.created_at, a.created_at
            from added a
            cross join lateral (
                select r.subscription_id as id from neoapi.webhook_route r
                where r.organization_id = organization and r.pattern = any (neoapi.event_patterns(happened)) and r.key = ''
                and r.is_active
                union all
                select neoapi.webhook_match(organization, happened, a.payload, a.previous, a.changed, null)
                where exists (select from neoapi.webhook_shape h
                              where h.organization_id = organization and h.kind = split_part(happened, '.', 1))) s
            where s.id <> resource
            returning organization_id, id, subscription_id),
        queued as (
            insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
            select d.id, d.organization_id, d.subscription_id, now(), case when s.ordering = 'resource' then resource end,
                   case when s.ordering = 'resource' then neoapi.webhook_changed_at(payload, date_trunc('milliseconds', now())) end
            from delivery d
            join neoapi.webhook_subscription s on s.organization_id = organization and s.id = d.subscription_id
            returning id)
        select count(*) from queued
    $$;

-- Adds the event of a change of health, made by the courier, a request or neoapictl.
create function neoapi.webhook_subscription_announce() returns trigger language plpgsql as $$
begin
    perform neoapi.add_event(new.organization_id,
        case when old.is_active and not new.is_active then 'webhook.disabled'
             when new.is_announced then 'webhook.failing' else 'webhook.recovered' end,
        new.id, new.representation);
    return null;
end $$;
create trigger announce after update on neoapi.webhook_subscription
    for each row when (old.is_active and not new.is_active or old.is_announced <> new.is_announced)
    execute function neoapi.webhook_subscription_announce();

create function neoapi.webhook_subscription_note_deletion() returns trigger language plpgsql as $$
begin
    insert into neoapi.webhook_deletion (subscription_id, organization_id) values (old.id, old.organization_id)
    on conflict do nothing;
    delete from neoapi.webhook_pace where subscription_id = old.id;
    delete from neoapi.webhook_header where organization_id = old.organization_id and subscription_id = old.id;
    return null;
end $$;
create trigger note_deletion after delete on neoapi.webhook_subscription
    for each row execute function neoapi.webhook_subscription_note_deletion();

-- ---------------------------------------------------------------- recovery

-- Sends a subscription again the events of a period of which no delivery has succeeded. `wanted` is the body of the request, `any_type`
-- the types that '*' includes. Examines at most 10000 events, a thousand at a time, and sends at most 1000; `position` is the last one if
-- there may be more, otherwise null.
--
--   failed:  all deliveries of the event have failed; it gets another one.
--   pending: a delivery waits for its next attempt, which becomes due unless it waits for an earlier one of its resource.
--   missed:  there is no delivery, because the subscription was inactive.
--
-- Deliveries are kept for a shorter time than events. Without them it is unknown what has arrived, so events before the first partition of
-- deliveries are left out.
--
-- plpgsql, because its statements have snapshots of their own: those after the lock see what a concurrent call has sent.
-- Custom plans, because the queue may have been empty when a plan was made.
create function neoapi.webhook_recover(organization text, subscription text, wanted json, any_type text[], paths jsonb, id_block text,
                                       at timestamptz, out recovered bigint, out "position" text)
    language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
    first timestamptz := greatest((wanted->>'since')::timestamptz, (
        select to_date(min(right(c.relname, 8)), 'YYYYMMDD')::timestamp at time zone 'UTC' from pg_class c
        where c.relnamespace = 'neoapi'::regnamespace and c.relkind = 'r' and c.relname ~ '^webhook_delivery_[0-9]{8}$'));
    last timestamptz := coalesce((wanted->>'until')::timestamptz, 'infinity');
    types text[] := array(select json_array_elements_text(wanted->'event_types'));
    statuses text[] := array(select json_array_elements_text(wanted->'statuses'));
    total int := 0;
    locked_at timestamptz;
    step record;
begin
    recovered := 0;
    "position" := coalesce(wanted->>'position', '');
    perform pg_advisory_xact_lock(hashtext('neoapi.webhook_recover'), hashtext(subscription));
    locked_at := clock_timestamp(); -- not now(): a call that began later may have had the lock before, and made deliveries due
    for n in 1..10 loop
        with found as materialized (
            select e.id, e.type, e.resource_id, e.created_at, e.is_silent, e.payload, e.previous, e.changed
            from neoapi.event e
            where e.organization_id = organization and e.id > webhook_recover."position"
            and e.created_at >= first and e.created_at <= last
            order by e.id limit 1000),
        -- The limits keep the planner from reading the whole history: two index look-ups for each delivery.
        delivered as materialized (
            select d.id, d.event_id, a.arrived, q.pending, q.waits
            from neoapi.webhook_delivery d
            left join lateral (
                select true as arrived from neoapi.webhook_attempt l
                where l.organization_id = d.organization_id and l.subscription_id = d.subscription_id and l.outcome = 'success'
                and l.delivery_id = d.id limit 1) a on true
            left join lateral (
                select true as pending, w.claim is null and w.due_at > locked_at and w.due_at < 'infinity' as waits from neoapi.webhook_queue w
                where w.subscription_id = d.subscription_id and w.id = d.id limit 1) q on true
            where d.organization_id = organization and d.subscription_id = subscription
            and d.event_id >= (select min(id) from found) and d.event_id <= (select max(id) from found)),
        event as materialized (
            select f.id, f.type, f.resource_id, f.created_at, w.ordering, s.status
            from found f
            join neoapi.webhook_subscription w on w.organization_id = organization and w.id = subscription
            left join (select d.event_id, bool_or(d.arrived) as arrived, bool_or(d.pending) as pending, bool_or(d.waits) as waits
                       from delivered d group by d.event_id) d on d.event_id = f.id
            cross join lateral (
                select case when d.arrived then null
                            when d.pending then case when d.waits then 'pending' end
                            when d.event_id is not null then 'failed'
                            when f.is_silent is null and f.created_at >= w.created_at
                                 and f.type <> 'webhook.test' and f.resource_id <> w.id
                                 and (w.events && neoapi.event_patterns(f.type) or f.type = any (any_type) and w.events @> '{*}')
                                 and (w.filters->split_part(f.type, '.', 1) is null or w.id in (
                                     select neoapi.webhook_match(organization, f.type, f.payload, f.previous, f.changed,
                                                                 paths->split_part(f.type, '.', 1), w.id)))
                            then 'missed' end as status) s
            where s.status is not null and (statuses = '{}' or s.status = any (statuses))
            and (types = '{}' or types && neoapi.event_patterns(f.type))
            order by f.id limit 1000 - total),
        made as (
            insert into neoapi.webhook_delivery
                (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
            select organization, neoapi.block_id(id_block, total + row_number() over (order by e.id)), subscription, e.id, e.type,
                e.created_at, at
            from event e where e.status <> 'pending'
            returning webhook_delivery.id, webhook_delivery.event_id),
        queued as (
            insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
            select m.id, organization, subscription, now(), o.resource_id, o.changed_at
            from made m left join lateral (
                select e.resource_id, neoapi.webhook_changed_at(l.payload, l.created_at) as changed_at
                from event e
                join neoapi.event l on l.organization_id = organization and l.id = e.id and l.created_at = e.created_at
                where e.id = m.event_id and e.ordering = 'resource' and e.resource_id <> subscription limit 1) o on true),
        waiting as materialized (
            select q.ctid as at from neoapi.webhook_queue q
            where q.subscription_id = subscription
            and q.id in (select d.id from delivered d join event e on e.id = d.event_id where d.waits)
            order by q.id for update of q skip locked),
        hastened as (
            update neoapi.webhook_queue q set due_at = now() where q.ctid = any (array(select w.at from waiting w)) returning 1)
        select (select count(*) from made) + (select count(*) from hastened) as sent,
            (select count(*) from event) as unsent, (select max(id) from event) as last_unsent,
            (select count(*) from found) as examined, (select max(id) from found) as last_examined
        into step;
        recovered := recovered + step.sent;
        total := total + step.unsent;
        "position" := case when total = 1000 then step.last_unsent when step.examined = 1000 then step.last_examined end;
        exit when total = 1000 or step.examined < 1000;
    end loop;
end $$;

-- ---------------------------------------------------------------- deliveries as JSON

-- A delivery as lists return it.
create function neoapi.webhook_delivery_record(d neoapi.webhook_delivery) returns json
    language sql stable parallel safe
    return (select json_strip_nulls(json_build_object(
        'id', d.id,
        'subscription_id', d.subscription_id,
        'event_id', d.event_id,
        'event_type', d.event_type,
        'resource_id', (
            select e.resource_id from neoapi.event e
            where e.organization_id = d.organization_id and e.id = d.event_id and e.created_at = d.event_at),
        'status', case when q.id is not null then 'pending' else coalesce(a.outcome, 'failed') end,
        'http_status', a.http_status,
        'error', a.error,
        'attempt_count', coalesce(a.number, 0),
        'created_at', neoapi.format_timestamp(d.created_at),
        'next_attempt_at', case when q.claim is null and q.due_at < 'infinity' then (
            select neoapi.format_timestamp(greatest(q.due_at, s.limited_until, s.paused_until))
            from neoapi.webhook_subscription s
            where s.organization_id = d.organization_id and s.id = d.subscription_id and s.is_active) end,
        'completed_at', case when q.id is null
                             then neoapi.format_timestamp(a.started_at + a.duration_ms * interval '1 millisecond') end))
        from (select) one
        left join neoapi.webhook_queue q on q.subscription_id = d.subscription_id and q.id = d.id
        left join lateral (select * from neoapi.webhook_attempt l
                           where l.organization_id = d.organization_id and l.delivery_id = d.id
                           order by l.number desc limit 1) a on true);

-- The record with the payload and all attempts. A repetition can be kept longer than its event, whose payload is then missing.
create function neoapi.webhook_delivery_detail(d neoapi.webhook_delivery) returns text
    language sql stable parallel safe
    return (select left(r, -1) || coalesce(',"payload":' || (
        select neoapi.webhook_limited(e.payload, s.fields)
        from neoapi.event e
        left join neoapi.webhook_subscription s on s.organization_id = d.organization_id and s.id = d.subscription_id
        where e.organization_id = d.organization_id and e.id = d.event_id and e.created_at = d.event_at), '') || ',"attempts":' || coalesce((
        select json_agg(json_strip_nulls(json_build_object(
            'number', l.number,
            'started_at', neoapi.format_timestamp(l.started_at),
            'duration_ms', l.duration_ms,
            'http_status', l.http_status,
            'error', l.error,
            'response_excerpt', l.response_excerpt)) order by l.number)
        from neoapi.webhook_attempt l
        where l.organization_id = d.organization_id and l.delivery_id = d.id)::text, '[]') || '}'
        from (select neoapi.webhook_delivery_record(d)::text as r) record);

-- ---------------------------------------------------------------- partitions

-- The lowest delivery id of a day: its milliseconds since 1970 as ten base32 digits, then zeros.
create function neoapi.webhook_min_id(day date) returns text
    language sql immutable strict parallel safe
    return (select 'whd_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
        ((extract(epoch from day)::bigint * 1000) >> (5 * (9 - n)) & 31)::int + 1, 1), '' order by n) || repeat('0', 16)
        from generate_series(0, 9) n);

-- The lower bound of a day's partition.
create function neoapi.partition_bound(parent text, day date) returns text
    language sql stable strict parallel safe
    return case parent when 'event' then (day::timestamp at time zone 'UTC')::text else neoapi.webhook_min_id(day) end;

-- Whether a queued delivery needs an event of that day or an earlier one.
create function neoapi.event_is_queued(day date) returns boolean
    language sql stable strict
    return exists (
        select from neoapi.webhook_queue q
        join neoapi.webhook_delivery d
        on d.organization_id = q.organization_id and d.subscription_id = q.subscription_id and d.id = q.id
        where d.event_at < (day + 1)::timestamp at time zone 'UTC');

-- Notes the event log's position, creates the partitions of the next days and drops those that are too old. Also deletes the rows of such
-- days in the default partitions, 100000 in a call. Events are kept at least as long as deliveries, and as long as a delivery of
-- them is queued. Security definer, because the runtime role cannot create tables. If another session runs it, it does nothing.
-- lock_timeout limits how long other sessions queue behind its locks; the job "cleanup" calls it again.
create function neoapi.maintain_partitions(delivery_days int, event_days int) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
    kind record;
    day date;
    part text;
begin
    if not pg_try_advisory_xact_lock(hashtext('neoapi.maintain_partitions')) then
        return;
    end if;
    perform neoapi.check_event_epoch();
    insert into neoapi.setting as s (name, value) -- for neoapi.subject_traces_kept
        values ('delivery_days', greatest(delivery_days, 1)::text), ('event_days', greatest(event_days, delivery_days, 1)::text)
        on conflict (name) do update set value = excluded.value where s.value <> excluded.value;
    -- A process keeps its plans. One that was made for a queue of few pages would read all of a long one until its statistics are
    -- collected, so the queue always has some (see its vacuum_truncate).
    if pg_relation_size('neoapi.webhook_queue') < 4000000 then
        insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)
            select n, repeat(' ', 1000), '', now() from generate_series(1, 2600) n;
        delete from neoapi.webhook_queue where subscription_id = '';
    end if;
    insert into neoapi.event_mark
        select neoapi.event_position(), now()
        where not exists (select from neoapi.event_mark where noted_at > now() - interval '1 hour')
        on conflict (position) do update set noted_at = excluded.noted_at;
    for kind in select * from (values ('webhook_delivery', 'id', delivery_days), ('webhook_attempt', 'delivery_id', delivery_days),
                                      ('event', 'created_at', greatest(event_days, delivery_days))) as k (parent, key, keep_days) loop
        for day in select generate_series(current_date - 1, current_date + 3, interval '1 day')::date loop
            part := kind.parent || '_' || to_char(day, 'YYYYMMDD');
            if to_regclass('neoapi.' || part) is null then
                begin
                    execute format('create table neoapi.%I partition of neoapi.%I for values from (%L) to (%L)', part, kind.parent,
                                   neoapi.partition_bound(kind.parent, day), neoapi.partition_bound(kind.parent, day + 1));
                exception when check_violation then
                    null; -- the default partition already has rows of that day and keeps them
                end;
            end if;
        end loop;
        for part, day in select c.relname, to_date(right(c.relname, 8), 'YYYYMMDD')
                         from pg_inherits i join pg_class c on c.oid = i.inhrelid
                         where i.inhparent = ('neoapi.' || kind.parent)::regclass and c.relname ~ '_[0-9]{8}$'
                           and to_date(right(c.relname, 8), 'YYYYMMDD') < current_date - greatest(kind.keep_days, 1)
                         order by 2 loop
            exit when kind.parent = 'event' and neoapi.event_is_queued(day);
            if kind.parent = 'event' then
                delete from neoapi.event_mark where noted_at < (day + 1)::timestamp at time zone 'UTC' + interval '6 hours';
            end if;
            execute format('drop table neoapi.%I', part);
        end loop;
        day := current_date - greatest(kind.keep_days, 1);
        continue when kind.parent = 'event' and neoapi.event_is_queued(day - 1);
        if kind.parent = 'event' then
            delete from neoapi.event_mark where noted_at < day::timestamp at time zone 'UTC' + interval '6 hours';
        end if;
        execute format('delete from neoapi.%1$I where ctid = any (array(select ctid from neoapi.%1$I where %2$I < %3$L limit 100000))',
                       kind.parent || '_default', kind.key, neoapi.partition_bound(kind.parent, day));
    end loop;
end $$;
revoke execute on function neoapi.maintain_partitions from public;
select neoapi.maintain_partitions(30, 30);

grant select, insert on neoapi.event to :runtime;
grant select on neoapi.event_epoch, neoapi.event_mark to :runtime;
grant execute on function neoapi.check_event_epoch to :runtime;
grant usage on sequence neoapi.event_number to :runtime;
grant select, insert, update, delete on neoapi.webhook_subscription, neoapi.webhook_queue to :runtime;
grant select, insert, update, delete on neoapi.webhook_deletion, neoapi.webhook_pace, neoapi.webhook_header to :runtime;
grant select, insert, update, delete on neoapi.webhook_route, neoapi.webhook_shape to :runtime;
grant select, insert, delete on neoapi.webhook_delivery, neoapi.webhook_attempt, neoapi.claim_owner to :runtime;
grant select, delete on neoapi.webhook_delivery_default, neoapi.webhook_attempt_default to :runtime;
grant execute on function neoapi.maintain_partitions to :runtime;
