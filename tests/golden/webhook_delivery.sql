-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

prepare webhook_delivery_list as
select neoapi.webhook_delivery_record(t)::text
from neoapi.webhook_delivery t
where t.organization_id = $1 and t.subscription_id = $2 and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $3::int;

prepare webhook_delivery_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.webhook_delivery t
        where t.organization_id = $1 and t.subscription_id = $2 and (not $5::boolean or neoapi.force_custom_plan()) and t.id >= $4
        order by t.id asc
        limit 1) as id) e
left join (
    select neoapi.webhook_delivery_record(t)::text as answer, t.id, null as position
    from neoapi.webhook_delivery t
    where t.organization_id = $1 and t.subscription_id = $2 and (not $5::boolean or neoapi.force_custom_plan()) and t.id < $4
    order by t.id desc
    limit $3::int) p on true
order by p.id desc;

prepare webhook_delivery_list_ids as
select neoapi.webhook_delivery_record(t)::text
from neoapi.webhook_delivery t
where t.organization_id = $1 and t.subscription_id = $2 and t.id in ($4) and (not $5::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $3::int;

prepare webhook_delivery_list_status as
select neoapi.webhook_delivery_record(t)::text
from (
    select r.source_id
    from (
        select q.id as source_id
        from neoapi.webhook_queue q
        where q.organization_id = $1 and q.subscription_id = $2) r
    where true) r
cross join lateral (
    select t.*
    from neoapi.webhook_delivery t
    where t.organization_id = $1 and t.subscription_id = $2 and t.id = r.source_id and (not $4::boolean or neoapi.force_custom_plan())
    offset 0) t
order by r.source_id desc
limit $3::int;

prepare webhook_delivery_list_event_type as
select neoapi.webhook_delivery_record(t)::text
from neoapi.webhook_delivery t
where t.organization_id = $1 and t.subscription_id = $2 and t.event_type in ($4) and (not $5::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $3::int;

prepare webhook_delivery_list_event_id as
select neoapi.webhook_delivery_record(t)::text
from neoapi.webhook_delivery t
where t.organization_id = $1 and t.subscription_id = $2 and t.event_id in ($4) and (not $5::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $3::int;

prepare webhook_delivery_list_resource_id as
select neoapi.webhook_delivery_record(t)::text
from neoapi.webhook_delivery t
where t.organization_id = $1 and t.subscription_id = $2 and t.event_id = any (array(
    select e.id
    from neoapi.event e
    where e.organization_id = $1 and e.resource_id in ($4)))
    and (not $5::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $3::int;

prepare webhook_delivery_list_created_gte as
select neoapi.webhook_delivery_record(t)::text
from neoapi.webhook_delivery t
where t.organization_id = $1 and t.subscription_id = $2 and t.id >= ($4) and (not $5::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $3::int;

prepare webhook_delivery_list_created_lte as
select neoapi.webhook_delivery_record(t)::text
from neoapi.webhook_delivery t
where t.organization_id = $1 and t.subscription_id = $2 and t.id <= ($4) and (not $5::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $3::int;
