-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

prepare event_list as
select neoapi.event_record(t)
from neoapi.event t
where t.organization_id = $1 and (not $3::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare event_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.event t
        where t.organization_id = $1 and (not $4::boolean or neoapi.force_custom_plan()) and t.id >= $3
        order by t.id asc
        limit 1) as id) e
left join (
    select neoapi.event_record(t) as answer, t.id, null as position
    from neoapi.event t
    where t.organization_id = $1 and (not $4::boolean or neoapi.force_custom_plan()) and t.id < $3
    order by t.id desc
    limit $2::int) p on true
order by p.id desc;

prepare event_list_type as
select neoapi.event_record(t)
from neoapi.event t
where t.organization_id = $1 and t.type in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare event_list_resource_id as
select neoapi.event_record(t)
from neoapi.event t
where t.organization_id = $1 and t.resource_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare event_list_actor_id as
select neoapi.event_record(t)
from neoapi.event t
where t.organization_id = $1 and t.actor in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare event_list_created_gte as
select neoapi.event_record(t)
from neoapi.event t
where t.organization_id = $1 and t.created_at >= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare event_list_created_lte as
select neoapi.event_record(t)
from neoapi.event t
where t.organization_id = $1 and t.created_at <= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare event_follow as
with log as materialized (
    select l.start, l.stop, l.is_current, l.start collate "C" <= l.newest as is_issued, (
        select m.noted_at - interval '6 hours'
        from neoapi.event_mark m
        where m.position <= l.start
        order by m.position desc
        limit 1) as since
    from (
        select e.identity = neoapi.event_identity() as is_current, neoapi.event_position(e.number, pg_snapshot_xmin(s)) as stop,
            neoapi.event_position(e.number, pg_snapshot_xmax(s)) as newest, case $2::text
            when '' then (select min(m.position) from neoapi.event_mark m) when 'now' then neoapi.event_position(e.number,
            pg_snapshot_xmin(s)) else $2::text end as start
        from neoapi.event_epoch e, pg_current_snapshot() s) l),
scan as materialized (
    select t.*
    from neoapi.event t
    where t.organization_id = $1 and t.id > (select start from log) and t.id < (select stop from log)
        and t.created_at >= (select since from log)
    order by t.id
    limit 101),
head as (
    select case when s.has_more then s.last else greatest(l.start collate "C", l.stop) end as position, s.has_more, l.is_current, l.is_issued
        and l.since is not null as is_valid
    from log l, (
        select count(*) = 101 as has_more, max(id) as last
        from scan) s)
select p.answer, h.*
from head h
left join (
    select neoapi.event_record(t) as answer, t.id
    from scan t
    where true
    order by t.id asc
    limit $3::int) p on true
order by p.id;
