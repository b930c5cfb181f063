-- SPDX-License-Identifier: Apache-2.0
-- The hosts and the steps of their system clocks (see listener.c).

-- Records a step: {host}, and by how many milliseconds its clock is {ahead}; one a minute, because each process of a host sees it.
-- write: record_clock_step
with old as (delete from neoapi.clock_step where at < now() - interval '30 days')
insert into neoapi.clock_step (host, at, ahead_ms) values ({host}, date_trunc('minute', now()), {ahead}::bigint) on conflict do nothing;

-- Returns whether host %s (a quoted text) is drained, whether its row must be recorded again, the database's time in milliseconds, and
-- the number of hosts with itself, which is 0 if the database is read-only, because hosts cannot be recorded there. Not prepared, because
-- it has a time limit of its own.
-- name: heartbeat
select h.drained_at is not null, h.drained_at is not null or h.seen_at is null or h.seen_at < now() - interval '10 seconds',
    (extract(epoch from clock_timestamp()) * 1000)::bigint,
    case when current_setting('transaction_read_only')::boolean then 0
        else 1 + (select count(*) from neoapi.host o where o.name is distinct from h.name and o.seen_at > now() - interval '20 seconds') end
from (select) as always left join neoapi.host h on h.name = %s;

-- Records what a process of {host} knows of it. Listeners must not wait here: a locked row is left as it is, and the commit does not wait
-- for a standby.
-- write: record_host
with old as (
    delete from neoapi.host
    where name <> {host} and seen_at < now() - interval '5 minutes'
        and (is_temporary or drained_at is null and seen_at < now() - interval '7 days')),
known as (
    update neoapi.host
    set (version, seen_at, clock_ahead_ms, delivers, requests, attempts, is_temporary) =
        ({version}, now(), {ahead}::bigint, {delivers}::boolean, {requests}::int, {attempts}::int, {temporary}::boolean)
    where name = (select name from neoapi.host where name = {host} for update skip locked)
    returning set_config('synchronous_commit', 'off', true))
insert into neoapi.host (name, version, clock_ahead_ms, delivers, requests, attempts, is_temporary)
select {host}, {version}, {ahead}::bigint, {delivers}::boolean, {requests}::int, {attempts}::int, {temporary}::boolean
where not exists (select from neoapi.host where name = {host})
on conflict do nothing
returning set_config('synchronous_commit', 'off', true);
