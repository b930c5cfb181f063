-- SPDX-License-Identifier: Apache-2.0
-- The hosts and the database's servers as JSON, with warnings as sentences (see deployment.c). Each array has at most $1 bytes; `more`
-- counts the rows that are left out. Hosts that have not been seen for a long time come first.
-- name: deployment
with host as (
    select name, version, greatest(extract(epoch from now() - seen_at), 0)::bigint as seconds_since_contact, delivers,
        clock_ahead_ms, drained_at, is_temporary
    from neoapi.host),
server as (select * from neoapi.servers()),
warning (sentence) as (
    select format('host %s has not been seen for %s seconds; start httpd, or: neoapictl host remove %1$s', name, seconds_since_contact)
    from host where seconds_since_contact > 60 and drained_at is null and not is_temporary
    union all
    select format('hosts have different versions: %s', string_agg(distinct version, ', '))
    from host where seconds_since_contact <= 60 having count(distinct version) > 1
    union all
    select format('the clock of host %s is %s ms %s the database''s; synchronize the clocks', name, abs(clock_ahead_ms),
        case when clock_ahead_ms > 0 then 'ahead of' else 'behind' end)
    from host where abs(clock_ahead_ms) > 5000 and seconds_since_contact <= 60
    union all
    select format('host %s has been drained since %s; to use it again: neoapictl undrain --host %1$s', name,
        neoapi.format_timestamp(drained_at))
    from host where drained_at < now() - interval '1 hour'
    union all
    select format('credentials that expire within 30 days: %s, of which within 7: %s; see: neoapictl doctor', count(*),
        count(*) filter (where expires_at <= now() + interval '7 days'))
    from neoapi.credential where revoked_at is null and expires_at > now() and expires_at <= now() + interval '30 days'
    having count(*) > 0),
item (kind, rank, value) as (
    select 'hosts', row_number() over (order by seconds_since_contact desc, name),
        json_build_object('name', name, 'version', version, 'seconds_since_contact', seconds_since_contact, 'delivers', delivers,
            'clock_ahead_ms', clock_ahead_ms, 'drained', drained_at is not null)
    from host
    union all
    select 'servers', row_number() over (order by role, name, address, lag_bytes desc nulls last), to_json(s)
    from server s where name is not null
    union all
    select 'warnings', row_number() over (), to_json(sentence) from warning),
sized as (select *, sum(octet_length(value::text) + 2) over (partition by kind order by rank) <= $1::bigint as fits from item)
select json_build_object(
    'hosts', coalesce((select json_agg(value order by value->>'name' collate "C") from sized where kind = 'hosts' and fits), '[]'),
    'servers', coalesce((select json_agg(value order by rank) from sized where kind = 'servers' and fits), '[]'),
    'event_epoch_since', (select neoapi.format_timestamp(begun_at) from neoapi.event_epoch),
    'note', (
        select format('Connected replicas: %s. To show them, run as a PostgreSQL administrator: grant pg_read_all_stats to %I', count(*),
            (select pg_get_userbyid(nspowner) from pg_namespace where nspname = 'neoapi'))
        from server where name is null having count(*) > 0),
    'warnings', coalesce((select json_agg(value order by rank) from sized where kind = 'warnings' and fits), '[]'),
    'more', (select json_object_agg(kind, n) from (select kind, count(*) as n from sized where not fits group by kind) m));
