-- SPDX-License-Identifier: Apache-2.0
-- The courier's statements (see outbox.c).

-- Claims at most {max} due deliveries for {lease} seconds. {subscriptions} are those with deliveries in flight ({counts}) or with a
-- limit ({limits}) other than {per_subscription}.
--
-- The subscriptions with queued deliveries are found one after the other in the index, each with the moment at which its first
-- one is due: the cost depends on how many subscriptions there are, not on how many deliveries are queued. Those after the
-- cursor come first, then those up to it.
-- write: claim
with recursive
later (id, organization, due_at) as (
    (select q.subscription_id, q.organization_id, q.due_at
     from neoapi.webhook_queue q
     where q.subscription_id > {cursor}
     order by q.subscription_id, q.due_at limit 1)
    union all
    select n.*
    from later, lateral (
        select q.subscription_id, q.organization_id, q.due_at
        from neoapi.webhook_queue q
        where q.subscription_id > later.id
        order by q.subscription_id, q.due_at limit 1) n),
earlier (id, organization, due_at) as (
    (select q.subscription_id, q.organization_id, q.due_at
     from neoapi.webhook_queue q
     where q.subscription_id > '' and q.subscription_id <= {cursor}
     order by q.subscription_id, q.due_at limit 1)
    union all
    select n.*
    from earlier, lateral (
        select q.subscription_id, q.organization_id, q.due_at
        from neoapi.webhook_queue q
        where q.subscription_id > earlier.id and q.subscription_id <= {cursor}
        order by q.subscription_id, q.due_at limit 1) n),
-- If a crash of the database loses the claim, the delivery is claimed again: the commit need not wait for the disk.
-- The lock lasts until the claim is committed, so that the claims of a process that ends meanwhile are not freed before.
async_commit as materialized (
    select set_config('synchronous_commit', 'off', true) as off,
        pg_try_advisory_xact_lock_shared(hashtext('neoapi.claim_owner'), ({claim}::bigint >> 32)::int) as locked),
due as materialized (
    select row_number() over () as rank, d.at, d.id, d.resource_id, d.changed_at,
        o.takes_followers and d.number = 1 as takes_followers, o.id as subscription, o.free_slots, o.url, o.secret, o.previous,
        o.private_key, o.previous_key, o.failing, o.records_success, o.per_hour, o.include, o.payload, o.fields, o.is_masked, o.headers,
        o.max_per_second, o.max_in_flight, o.items
    from (select * from later union all select * from earlier) queue,
    -- The subscription, if it is active. free_slots is the number of its deliveries that may be claimed now; -n means that the next one may be
    -- in n milliseconds.
    lateral (
        select s.id, s.url, s.secret, s.include, s.payload, s.fields, s.is_masked, s.max_per_second, s.max_in_flight, s.items,
            s.ordering = 'resource' and s.failing_since is null and coalesce(s.max_per_second, s.items) is null
                and s.updated_at < now() - interval '3 seconds' as takes_followers,
            case when s.headers is not null then (
                select json_object_agg(h.name, h.value)::text from neoapi.webhook_header h
                where h.organization_id = s.organization_id and h.subscription_id = s.id) end as headers,
            case when s.previous_secret_until > now() then s.previous_secret end as previous,
            case when s.asymmetric_signature is not null then s.private_key end as private_key,
            case when s.asymmetric_signature is not null and s.previous_public_key_until > now() then s.previous_private_key end
                as previous_key,
            s.failing_since is not null as failing,
            s.failing_since is not null or s.is_announced or s.limited_until is not null or s.paused_until is not null
                or s.last_success_at > now() - interval '1 minute' is not true
                as records_success,
            (select coalesce(p.deliveries_per_hour, 0) from neoapi.tenant t join neoapi.plan p on p.name = t.plan
                where t.id = s.tenant_id) as per_hour,
            case when s.free = 0 then 0
                -- A request of a batch is sent when it is full, or when its first delivery has waited for max_wait_ms.
                when s.full = 0 then -ceil(extract(epoch from s.ready_at - now()) * 1000)::int
                when s.max_per_second is null and s.max_in_flight is null then least(s.free, s.full) * coalesce(s.items, 1)
                else coalesce(
                    (select -ceil(extract(epoch from p.next_at - now()) * 1000)::int from neoapi.webhook_pace p
                     where s.max_per_second is not null and p.subscription_id = s.id and p.next_at > now() + interval '250 milliseconds'),
                    neoapi.webhook_slots(s.id, s.max_per_second, s.max_in_flight, coalesce(s.max_items, 1), coalesce(s.items, 1),
                        least(s.free, s.full))) end as free_slots
        from (select b.*, case when b.ready_at > now() then (
                select count(*)::int / b.items
                from (select from neoapi.webhook_queue q
                      where q.subscription_id = b.id and q.due_at <= now() order by q.due_at limit b.items * b.free) w) end as full
            from (
            select s.*, (s.batch->>'max_items')::int as max_items,
                case when s.batch is not null then neoapi.webhook_request_items((s.batch->>'max_items')::int, (
                    select q.number from neoapi.webhook_queue q where q.subscription_id = queue.id order by q.due_at limit 1)) end as items,
                queue.due_at + (s.batch->>'max_wait_ms')::int * interval '1 millisecond' as ready_at,
                greatest(0, coalesce(
                    (select b.max - b.n from unnest({subscriptions}::text[], {counts}::int[], {limits}::int[]) as b (id, n, max)
                     where b.id = queue.id),
                    case when s.failing_since is null then {per_subscription}::int else least({per_subscription}::int, 2) end)) as free
            from neoapi.webhook_subscription s
            where s.organization_id = queue.organization and s.id = queue.id and s.is_active and s.paused_until > now() is not true
            limit 1) b) s) o
    left join lateral (
        select q.ctid as at, q.id, q.number, q.resource_id, q.changed_at
        from neoapi.webhook_queue q
        where q.subscription_id = o.id and q.due_at <= now()
            -- With ordering only the first one of its resource. A statement that sees a change of a resource sees the earlier changes,
            -- because they were committed before the later one could lock the resource.
            and (q.resource_id is null or not exists (
                select from neoapi.webhook_queue e
                where e.subscription_id = q.subscription_id and e.resource_id = q.resource_id
                    and (e.changed_at, e.id) < (q.changed_at, q.id)))
            -- Of claims whose leases have expired, only the process's own and those of processes that hold no lock. pg_locks is
            -- read only if there is such a claim.
            and (q.claim is null or q.claim >> 32 = {claim}::bigint >> 32 or q.claim >> 32 not in (
                select l.objid::bigint from pg_locks l
                where l.locktype = 'advisory' and l.objsubid = 2
                    and l.database = (select oid from pg_database where datname = current_database())
                    and l.classid = (hashtext('neoapi.claim_owner')::bigint & x'ffffffff'::bigint)::oid))
        order by q.due_at limit greatest(o.free_slots, 0) for update of q skip locked) d on o.free_slots > 0
    where queue.due_at <= now() and (d.at is not null or o.free_slots < 0) and (select off from async_commit) is not null limit {max}::int),
-- The next deliveries of the resource are claimed with the first one, up to one that cannot be locked. The courier sends each after the
-- end of the one before it was recorded (see `complete`).
next as materialized (
    select due.id as first, n.at, n.position
    from due, lateral (
        select q.ctid as at, row_number() over (order by q.changed_at, q.id) as position
        from neoapi.webhook_queue q
        where q.subscription_id = due.subscription and q.resource_id = due.resource_id and (q.changed_at, q.id) > (due.changed_at, due.id)
        order by q.changed_at, q.id limit 7) n
    where due.takes_followers),
free as materialized (
    select q.ctid as at, q.id
    from neoapi.webhook_queue q
    where q.ctid = any (array(select next.at from next)) and q.claim is null and (q.due_at <= now() or q.due_at = 'infinity')
    for update of q skip locked),
followers as materialized (
    select f.id, f.at, f.first, f.position, lag(f.id, 1, f.first) over (partition by f.first order by f.position) as previous
    from (select free.id, next.at, next.first, next.position, row_number() over (partition by next.first order by next.position) as rank
          from next join free on free.at = next.at) f
    where f.rank = f.position),
-- If {parks}: due deliveries that wait for an earlier one of their resource are parked. They become due when that is deleted (see
-- webhook_queue_pass_on). Not parked are deliveries that wait for one which
-- - another process claims or deletes at the moment, because its row is locked;
-- - is due, because they are claimed with it, or parked afterwards;
-- - has a follower, because its deletion makes nothing due.
parked as (
    update neoapi.webhook_queue q set due_at = 'infinity'
    where {parks}::boolean and q.ctid = any (array(
        select w.ctid from neoapi.webhook_queue w
        where w.due_at <= now() and w.claim is null and w.ctid = any (array(
            select b.at
            from neoapi.webhook_subscription s,
            lateral (
                select q.ctid as at, q.id, q.resource_id, q.changed_at, q.due_at
                from neoapi.webhook_queue q
                where q.subscription_id = s.id and q.due_at <= now() and q.claim is null and exists (
                    select from neoapi.webhook_queue e
                    where e.subscription_id = q.subscription_id and e.resource_id = q.resource_id
                        and (e.changed_at, e.id) < (q.changed_at, q.id))
                order by q.due_at limit 500) b,
            lateral (
                select e.due_at from neoapi.webhook_queue e
                where e.subscription_id = s.id and e.resource_id = b.resource_id and (e.changed_at, e.id) < (b.changed_at, b.id)
                    and (e.claim & 1 = 1) is not true
                order by e.changed_at, e.id limit 1 for key share of e skip locked) earlier
            where {parks}::boolean and s.ordering = 'resource' and s.is_active and earlier.due_at > b.due_at))
        for update of w skip locked))),
-- The requests of a subscription with max_per_second follow each other at equal intervals, whichever processes send them.
paced as (
    update neoapi.webhook_pace p set next_at = greatest(p.next_at, now()) + n.count * interval '1 second' / n.max_per_second
    from (select subscription, max_per_second, ceil(count(*)::float8 / coalesce(items, 1)) as count
          from due where max_per_second is not null and at is not null
          group by subscription, max_per_second, items) n
    where p.subscription_id = n.subscription
    returning p.subscription_id,
        extract(epoch from p.next_at - n.count * interval '1 second' / n.max_per_second - now()) * 1000 as first_in),
-- The rows are locked, so their ctid cannot change.
taken as (
    update neoapi.webhook_queue q
    set due_at = now() + make_interval(secs => {lease}::int),
        claim = {claim}::bigint + (q.resource_id is not null and q.id in (select f.previous from followers f))::int
    where q.ctid = any (array(select due.at from due union all select f.at from followers f))
    returning q.id, q.organization_id, q.subscription_id, q.number, q.claim)
-- Two look-ups in primary keys for each delivery. The order and the range, which has one id, prevent the use of another index with
-- the same columns: while a new day's partitions have no statistics, the planner may prefer one that has others between them, and each
-- look-up would read all entries of the subscription.
--
-- The rows without an id are subscriptions whose deliveries may be sent in `wait` milliseconds.
select claimed.*, null as wait
from (
    select t.id, t.organization_id, t.subscription_id, t.number, h.event_id, h.event_type,
        neoapi.format_timestamp(h.event_at) as created_at,
        case when due.fields is null then e.payload else neoapi.webhook_limited(e.payload, due.fields) end as payload,
        due.url, due.secret, due.previous, due.failing, due.records_success, due.per_hour,
        concat(case when 'changed' = any (due.include) then ',"changed":' || array_to_json(e.changed) end,
           case when 'previous' = any (due.include) then ',"previous":' || neoapi.webhook_limited(e.previous::text, due.fields) end) as changes,
        due.headers,
        due.max_in_flight is not null or due.resource_id is not null as frees_next, due.resource_id is not null as is_ordered,
        t.claim & 1 = 1 as has_follower, f.previous as follows, due.items, due.max_per_second,
        case when due.max_per_second is not null
             then (select p.first_in from paced p where p.subscription_id = t.subscription_id) end as first_in,
        due.private_key, due.previous_key, nullif(substr(e.request_id, 32), '') as trace, due.is_masked,
        case when due.payload = 'thin' then e.resource_id end as thin_resource
    from taken t
    join (select due.id, due.id, 0, null from due union all select f.id, f.first, f.position, f.previous from followers f)
        as f (id, first, position, previous) on f.id = t.id
    join due on due.id = f.first,
    lateral (
        select d.event_id, d.event_type, d.event_at
        from neoapi.webhook_delivery d
        where d.organization_id = t.organization_id and d.subscription_id = t.subscription_id and d.id between t.id and t.id
        order by d.id limit 1) h,
    lateral (
        select l.resource_id, l.payload, l.changed, l.previous, l.request_id
        from neoapi.event l
        where l.organization_id = t.organization_id and l.id between h.event_id and h.event_id and l.created_at = h.event_at
        order by l.id limit 1) e
    order by due.rank, f.position) claimed
union all
select null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, -free_slots
from due where at is null;

-- Records attempts. {ids} to {delays} are arrays, one for each column. A delivery whose outcome is `released` was not sent and is due at
-- once. Outcomes of claims that are no longer in force are ignored, unless no other process has claimed the delivery since: a crash of
-- the database loses claims that were not flushed.
--
-- {health_organizations} to {pauses} are changes of subscriptions' health, at most one for each. A success is one once a minute. A pause
-- is the seconds for which the receiver asked to wait, or 0. A success ends the display of the plan's limit, unless a delivery waits
-- for the next few seconds, as those of `defer` do.
--
-- Returns the subscriptions whose health changed, with the reason if one was made inactive. Also returns the positions of deliveries that
-- have ended, if the next one of the resource has the same claim and may be sent: the subscription still wants it, and was not changed
-- since the claim read it, at most two seconds ago (see followers.c). A third second is for differences between clocks.
--
-- The rows are first locked in the order of their ids, so that two statements that take several rows of the queue do not deadlock.
-- Otherwise the planner would choose the order in which `delete` locks them.
-- write: complete
with done as materialized (
    select o.id collate "C" as id, claim, organization, subscription collate "C" as subscription, number, started, duration, http_status,
        error, excerpt, outcome, delay, position
    from unnest({ids}::text[], {claims}::bigint[], {subscriptions}::text[], {organizations}::text[], {numbers}::int[],
        {starts}::timestamptz[], {durations}::int[], {statuses}::int[], {errors}::text[], {excerpts}::text[], {outcomes}::text[],
        {delays}::float8[]) with ordinality
        as o (id, claim, subscription, organization, number, started, duration, http_status, error, excerpt, outcome, delay, position)),
claimed as materialized (
    select from neoapi.webhook_queue q
    join done o on q.subscription_id = o.subscription and q.id = o.id and (q.claim = o.claim or q.claim is null and q.number = o.number)
    order by q.id for update of q),
locked as materialized (select count(*) > 0 as any_claimed from claimed),
ended as (
    delete from neoapi.webhook_queue q using done o
    where o.outcome <> 'released' and (select any_claimed from locked)
        and q.subscription_id = o.subscription and q.id = o.id and (q.claim = o.claim or q.claim is null and q.number = o.number)
    returning q.id, o.claim, o.organization, o.subscription, o.position, q.claim & 1 = 1 as has_follower),
retried as (
    update neoapi.webhook_queue q
    set number = o.number + (o.outcome is null)::int, claim = null, due_at = now() + make_interval(secs => o.delay)
    from done o
    where coalesce(o.outcome, 'released') = 'released' and (select any_claimed from locked)
        and q.subscription_id = o.subscription and q.id = o.id and (q.claim = o.claim or q.claim is null and q.number = o.number)
    returning q.id, o.claim),
recorded as (
    insert into neoapi.webhook_attempt
        (organization_id, delivery_id, subscription_id, number, started_at, duration_ms, http_status, error, response_excerpt,
         outcome)
    select o.organization, o.id, o.subscription, o.number, o.started, o.duration, o.http_status, o.error,
        -- What was erased while the request was in progress can be repeated in its response. Clocks may differ by a minute.
        case when o.excerpt is not null and not exists (
            select from neoapi.erasure e where e.organization_id = o.organization
            and coalesce(e.completed_at, 'infinity') > o.started - interval '1 minute') then o.excerpt end, o.outcome
    from done o
    where o.outcome is distinct from 'released' and (o.id, o.claim) in (select id, claim from ended union all select id, claim from retried)),
-- A subscription that another transaction has locked is left out: the next attempt reports its health again. The queue is locked
-- first, so that no subscription is locked while this waits for a delivery.
changed as materialized (
    select s.organization_id, s.id, h.health,
        case when h.pause > 0 then greatest(s.paused_until, date_trunc('milliseconds', now() + make_interval(secs => h.pause))) end as pause,
        case when h.health = 'gone' then 'gone'
             when h.health = 'failing' and s.failing_since < now() - interval '5 days' then 'failing' end as reason,
        s.limited_until is not null and h.health = 'ok' and not exists (
            select from neoapi.webhook_queue q
            where q.subscription_id = s.id and q.due_at > now() and q.due_at < now() + interval '6 seconds') as ends_limit
    from unnest({health_organizations}::text[], {health_subscriptions}::text[], {health}::text[], {pauses}::float8[])
        as h (organization, subscription, health, pause)
    join neoapi.webhook_subscription s on s.organization_id = h.organization and s.id = h.subscription
    where (select any_claimed from locked) is not null
    for no key update of s skip locked),
updated as (
    update neoapi.webhook_subscription s
    set failing_since = case c.health when 'ok' then null
                                      when 'failing' then coalesce(s.failing_since, date_trunc('milliseconds', now()))
                                      else s.failing_since end,
        last_success_at = case when c.health = 'ok' then date_trunc('milliseconds', now()) else s.last_success_at end,
        limited_until = case when not c.ends_limit then s.limited_until end,
        paused_until = coalesce(c.pause, case when c.health <> 'ok' or s.paused_until > now() then s.paused_until end),
        is_announced = c.health <> 'ok' and (s.is_announced or s.is_active and c.reason is not null),
        is_active = s.is_active and c.reason is null,
        updated_at = case when s.is_active and c.reason is not null
                          then greatest(now(), s.updated_at + interval '1 millisecond') else s.updated_at end,
        disabled_reason = case when s.is_active then c.reason else s.disabled_reason end
    from changed c
    where s.organization_id = c.organization_id and s.id = c.id
    and (c.pause is not null
         or c.health = 'ok' and (s.failing_since is not null or s.is_announced or c.ends_limit or s.paused_until <= now()
                              or s.last_success_at > now() - interval '1 minute' is not true)
         or c.health = 'failing' and s.failing_since is null
         or s.is_active and c.reason is not null)
    returning s.id, c.reason)
select id, reason, null as position from updated
union all
select null, null, e.position
from ended e
join neoapi.webhook_subscription s on s.organization_id = e.organization and s.id = e.subscription
where e.has_follower and s.is_active and s.health = 'healthy' and s.paused_until > now() is not true
and s.updated_at < now() - interval '3 seconds'
and not exists (select from changed c where c.id = s.id and c.health <> 'ok');

-- Notes at most {max} subscriptions that have failed for ten minutes, which adds the event webhook.failing. Returns their number.
-- write: announce_failing
with due as materialized (
    select s.organization_id, s.id from neoapi.webhook_subscription s
    where s.health = 'failing' and s.failing_since < now() - interval '10 minutes' and not s.is_announced
    limit {max}::int for no key update of s skip locked),
noted as (
    update neoapi.webhook_subscription s set is_announced = true
    from due where s.organization_id = due.organization_id and s.id = due.id and not s.is_announced returning 1)
select count(*) from noted;

-- Releases claimed deliveries whose attempts have not begun. Those that did not fit into a request of a batch have waited for others already:
-- ten seconds is the maximum of max_wait_ms, so they do not wait again. They are locked as by `complete`.
-- write: release
with done as materialized (
    select o.id collate "C" as id, o.claim, o.subscription collate "C" as subscription
    from unnest({ids}::text[], {claims}::bigint[], {subscriptions}::text[]) as o (id, claim, subscription)),
claimed as materialized (
    select from neoapi.webhook_queue q join done o on q.subscription_id = o.subscription and q.id = o.id and q.claim = o.claim
    order by q.id for update of q),
locked as materialized (select count(*) > 0 as any_claimed from claimed),
released as (
    update neoapi.webhook_queue q set due_at = now() - interval '10 seconds', claim = null
    from done o
    where (select any_claimed from locked) and q.subscription_id = o.subscription and q.id = o.id and q.claim = o.claim)
select null where false;

-- Releases deliveries of a claim that the plan does not allow yet; they are due again in {seconds}. {until} has the times at which
-- the plan allows another one. Locked rows are left out: they are due again when the lease has expired.
-- write: defer
with deferred as materialized (
    select o.id collate "C" as id, organization, subscription collate "C" as subscription, until
    from unnest({ids}::text[], {organizations}::text[], {subscriptions}::text[], {until}::timestamptz[]) as o (id, organization, subscription, until)),
claimed as materialized (
    select q.ctid as at from neoapi.webhook_queue q
    join deferred o on q.subscription_id = o.subscription and q.id = o.id and q.claim between {claim}::bigint and {claim}::bigint + 1
    for update of q skip locked),
released as (
    update neoapi.webhook_queue q set due_at = now() + make_interval(secs => {seconds}::int), claim = null
    where q.ctid = any (array(select at from claimed))),
limited as materialized (
    select s.organization_id, s.id from neoapi.webhook_subscription s
    where (s.organization_id, s.id) in (select organization, subscription from deferred)
        and s.limited_until > now() is not true
    for no key update of s skip locked)
update neoapi.webhook_subscription s
set limited_until = (select max(o.until) from deferred o where o.subscription = s.id)
from limited l
where s.organization_id = l.organization_id and s.id = l.id and s.limited_until > now() is not true;

-- Makes parked deliveries due if they are the first ones of their resource. Returns their number. webhook_queue_pass_on misses one if, in
-- this order,
-- - a claim begins, whose snapshot has a delivery and those that follow it;
-- - a repetition of an event between them is queued, and another process parks it, with a lock on the delivery;
-- - the claim locks the delivery, and takes it with its followers;
-- - the delivery ends, but a follower fails or is released, and waits for the repetition.
-- Another way is that `cleanup` deletes the last delivery of a claim. Examines at most 10000 of each subscription, so that a long queue costs
-- milliseconds; what that leaves out is found when the queue is shorter.
-- write: wake_parked
with first as materialized (
    select p.at
    from neoapi.webhook_subscription s, lateral (
        select q.ctid as at, q.id, q.subscription_id, q.resource_id
        from neoapi.webhook_queue q
        where q.subscription_id = s.id and q.due_at = 'infinity' limit 10000) p
    where s.ordering = 'resource' and s.is_active and p.id = (
        select n.id from neoapi.webhook_queue n
        where n.subscription_id = p.subscription_id and n.resource_id = p.resource_id
        order by n.changed_at, n.id limit 1)),
woken as (
    update neoapi.webhook_queue q set due_at = now()
    where q.ctid = any (array(
        select w.ctid from neoapi.webhook_queue w
        where w.ctid = any (array(select first.at from first)) and w.due_at = 'infinity' for update skip locked))
    returning 1)
select count(*) from woken;

-- The days that deliveries and events are kept.
-- write: partitions
select neoapi.maintain_partitions({days}::int, {event_days}::int);

-- Fails at most {max} pending deliveries of a deleted subscription, and returns how many. Rows that others have locked are skipped
-- and left for another pass. The note of the deletion is removed when no delivery is left and none can appear any more: a
-- statement that began before the deletion may still queue some.
-- write: fail_deleted
with deletion as materialized (
    select d.subscription_id as id, s.is_final, d.position
    from neoapi.webhook_deletion d, lateral (
        select d.transaction < pg_snapshot_xmin(pg_current_snapshot()) and d.deleted_at < now() - interval '1 minute' as is_final) s
    where s.is_final or exists (select from neoapi.webhook_queue q where q.subscription_id = d.subscription_id)
    order by d.transaction, d.subscription_id limit 1 for update of d skip locked),
found as materialized (
    select f.at, f.id
    from deletion, lateral (
        select q.ctid as at, q.id
        from neoapi.webhook_queue q
        where q.subscription_id = deletion.id and q.id > deletion.position
        order by q.id limit {max}::int for update skip locked) f),
ended as (
    delete from neoapi.webhook_queue q where q.ctid = any (array(select at from found)) returning q.*),
failed as (
    insert into neoapi.webhook_attempt
        (organization_id, delivery_id, subscription_id, number, started_at, duration_ms, error, outcome)
    select organization_id, id, subscription_id, number, now(), 0, 'subscription_deleted', 'failed' from ended),
is_over as materialized (
    select deletion.is_final and not exists (
        select from neoapi.webhook_queue q where q.subscription_id = deletion.id) as yes
    from deletion),
advanced as (
    update neoapi.webhook_deletion d set position = coalesce((select max(id) from found), '')
    from deletion, is_over
    where d.subscription_id = deletion.id and not is_over.yes),
finished as (
    delete from neoapi.webhook_deletion d using deletion, is_over where d.subscription_id = deletion.id and is_over.yes)
select count(*) from ended;

-- Removes 1000 expired idempotency keys, 1000 rejected leads, 1000 contacts of portals, and 1000 queued deliveries older than {days}.
-- Returns whether there may be more. Only the process with the lock removes anything; the lock ends with the statement. The
-- subscriptions with queued deliveries are found as above.
-- write: cleanup
with recursive lock as materialized (select pg_try_advisory_xact_lock(hashtext('neoapi.cleanup')) as acquired),
keys as (
    delete from neoapi.idempotency_key
    where (select acquired from lock)
    and ctid = any (array(select ctid from neoapi.idempotency_key where expires_at <= now() limit 1000))
    returning 1),
rejected as (
    delete from neoapi.lead_rejected
    where (select acquired from lock)
    and ctid = any (array(
        select ctid from neoapi.lead_rejected where last_received_at < now() - interval '30 days' limit 1000))
    returning 1),
contacts as (
    delete from neoapi.lead_origin
    where (select acquired from lock)
    and ctid = any (array(select ctid from neoapi.lead_origin where received_at < now() - interval '30 days' limit 1000))
    returning 1),
queue (id) as (
    select min(q.subscription_id) from neoapi.webhook_queue q
    union all
    select (select min(q.subscription_id) from neoapi.webhook_queue q where q.subscription_id > queue.id)
    from queue where queue.id is not null),
orphans as (
    delete from neoapi.webhook_queue
    where (select acquired from lock)
    and ctid = any (array(
        select q.at
        from queue, lateral (
            select q.ctid as at
            from neoapi.webhook_queue q
            where q.subscription_id = queue.id and q.id < neoapi.webhook_min_id(current_date - {days}::int)
            order by q.id limit 1000) q
        limit 1000))
    returning 1)
select 1000 in ((select count(*) from keys), (select count(*) from rejected), (select count(*) from contacts),
    (select count(*) from orphans)) from lock;
