-- SPDX-License-Identifier: Apache-2.0
-- The event log (see event_log.c).

-- The beginning of a page that follows the log of an organization ($1) from a position ($2): '' is the oldest valid one, 'now' the
-- end of the log. `scan` has at most 101 events, to which the page's conditions are applied: the
-- largest page and one more. With more, the planner may sort all later ones. The limit is a literal, because the
-- planner assumes that a parameter is large. `head` has the position from which the next page continues, and whether there are more
-- events to scan.
-- name: follow
with log as materialized (
    select l.start, l.stop, l.is_current, l.start collate "C" <= l.newest as is_issued, (
        select m.noted_at - interval '6 hours' from neoapi.event_mark m
        where m.position <= l.start order by m.position desc limit 1) as since
    from (
        select e.identity = neoapi.event_identity() as is_current,
            neoapi.event_position(e.number, pg_snapshot_xmin(s)) as stop,
            neoapi.event_position(e.number, pg_snapshot_xmax(s)) as newest,
            case $2::text when '' then (select min(m.position) from neoapi.event_mark m)
                          when 'now' then neoapi.event_position(e.number, pg_snapshot_xmin(s)) else $2::text end as start
        from neoapi.event_epoch e, pg_current_snapshot() s) l),
scan as materialized (
    select t.*
    from neoapi.event t
    where t.organization_id = $1 and t.id > (select start from log) and t.id < (select stop from log)
    and t.created_at >= (select since from log)
    order by t.id limit 101),
head as (
    select case when s.has_more then s.last else greatest(l.start collate "C", l.stop) end as position, s.has_more,
        l.is_current, l.is_issued and l.since is not null as is_valid
    from log l, (select count(*) = 101 as has_more, max(id) as last from scan) s);

-- An event of an organization, if its type is one of {types}; null: any. The marks determine its partitions.
-- read: read
select neoapi.event_record(t)
from neoapi.event t
where t.organization_id = {organization} and t.id = {id} and ({types}::text[] is null or t.type = any ({types}::text[]))
and t.created_at >= (
    select coalesce(max(m.noted_at) - interval '6 hours', '-infinity') from neoapi.event_mark m where m.position <= {id})
and t.created_at <= (
    select coalesce(min(m.noted_at) + interval '6 hours', 'infinity') from neoapi.event_mark m where m.position > {id});

-- write: check_epoch
select neoapi.check_event_epoch();

-- The pairs of an organization and a position, of two arrays, after which there are events. All positions are near the end of the
-- log.
-- name: find_new
select w.organization, w.position
from unnest('%s'::text[], '%s'::text[]) as w (organization, position)
where exists (
    select from neoapi.event t
    where t.organization_id = w.organization and t.id > w.position and t.id < (select neoapi.event_position())
    and t.created_at >= now() - interval '7 hours');

-- The transaction that holds back the end of the event log: the oldest one that has written and not ended, in
-- any database. Its age is null if the connected role may not see the activity of the session's role.
-- name: holder
select h.transaction::text::bigint, (extract(epoch from clock_timestamp() - h.since) * 1000)::bigint, h.description
from (
    select backend_xid as transaction, xact_start as since,
        concat_ws(', ', 'pid ' || pid, 'role ' || usename, 'application ' || nullif(application_name, ''), state,
                  'query since ' || to_char(query_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) as description
    from pg_stat_activity
    where backend_xid is not null and pid <> pg_backend_pid()
    union all
    select transaction, prepared, concat_ws(', ', 'prepared transaction ' || gid, 'role ' || owner)
    from pg_prepared_xacts) h
order by age(h.transaction) desc limit 1;

-- The rank of this database among those that have been the deployment's: twice the number of its epoch, and one more if another
-- database wrote that epoch, because this one has been promoted or restored since and begins a later one. Null on a standby.
-- Not prepared, because it has a time limit of its own.
-- name: rank
select case when not pg_is_in_recovery() then 2 * number::bigint + (identity <> neoapi.event_identity())::int end
from neoapi.event_epoch;

-- Whether the current epoch was written by this database, and when it began.
-- name: epoch
select identity = neoapi.event_identity(), neoapi.format_timestamp(begun_at) from neoapi.event_epoch;
