-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- $1 organization, $2 id
prepare webhook_read as
select representation
from neoapi.webhook_subscription
where organization_id = $1 and id = $2;

-- $1 organization, $2 id
prepare webhook_read_version as
select representation, xmin
from neoapi.webhook_subscription
where organization_id = $1 and id = $2;

-- $1 organization, $2 limit
prepare webhook_list as
select t.representation
from neoapi.webhook_subscription t
where t.organization_id = $1
order by t.id desc
limit (select $2::int);

-- $1 organization, $2 before, $3 limit
prepare webhook_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.webhook_subscription t
        where t.organization_id = $1 and t.id >= (select $2)
        order by t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, null as position
    from neoapi.webhook_subscription t
    where t.organization_id = $1 and t.id < (select $2)
    order by t.id desc
    limit (select $3::int)) p on true
order by p.id desc;

-- $1 id, $2 id_block, $3 now, $4 url, $5 events, $6 is_active, $7 include, $8 payload, $9 fields, $10 ordering, $11 batch, $12 max_per_second,
-- $13 max_in_flight, $14 filters, $15 is_masked, $16 description, $17 metadata, $18 headers, $19 asymmetric_signature, $20 credential,
-- $21 actor, $22 request, $23 address, $24 organization, $25 tenant, $26 secret, $27 private_key, $28 public_key
prepare webhook_create as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as url,
        $5::text[] as events, $6::boolean as is_active, $7::text[] as include, $8::text as payload, $9::json as fields,
        $10::text as ordering, $11::json as batch, $12::bigint as max_per_second, $13::bigint as max_in_flight, $14::json as filters,
        $15::boolean as is_masked, $16::text as description, $17::json as metadata, $18::json as headers, $19::text as asymmetric_signature
    where (select neoapi.audit_by($20, $21, $22, $23))),
created as (
    insert into neoapi.webhook_subscription as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, secret,
        private_key, public_key, url, events, is_active, include, payload, fields, ordering, batch, max_per_second, max_in_flight, filters,
        is_masked, description, metadata, headers, asymmetric_signature)
    select $24, item.item_id, $25, item.item_now, item.item_now, $21, $21, $26, $27, $28, item.url, item.events, item.is_active,
        item.include, item.payload, item.fields, item.ordering, item.batch, item.max_per_second, item.max_in_flight, item.filters,
        item.is_masked, item.description, item.metadata, item.headers, item.asymmetric_signature
    from item
    where true
    order by item.item_number
    returning t.id, t.representation, t.secret, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now)
select representation, 0, null, item_number
from created;

-- $1 id, $2 id_block, $3 now, $4 url, $5 events, $6 is_active, $7 include, $8 payload, $9 fields, $10 ordering, $11 batch, $12 max_per_second,
-- $13 max_in_flight, $14 filters, $15 is_masked, $16 description, $17 metadata, $18 headers, $19 asymmetric_signature, $20 credential,
-- $21 actor, $22 request, $23 address, $24 organization, $25 tenant, $26 secret, $27 private_key, $28 public_key, $29 key, $30 hash
prepare webhook_create_keyed as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as url,
        $5::text[] as events, $6::boolean as is_active, $7::text[] as include, $8::text as payload, $9::json as fields,
        $10::text as ordering, $11::json as batch, $12::bigint as max_per_second, $13::bigint as max_in_flight, $14::json as filters,
        $15::boolean as is_masked, $16::text as description, $17::json as metadata, $18::json as headers, $19::text as asymmetric_signature
    where (select neoapi.audit_by($20, $21, $22, $23))),
created as (
    insert into neoapi.webhook_subscription as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, secret,
        private_key, public_key, url, events, is_active, include, payload, fields, ordering, batch, max_per_second, max_in_flight, filters,
        is_masked, description, metadata, headers, asymmetric_signature)
    select $24, item.item_id, $25, item.item_now, item.item_now, $21, $21, $26, $27, $28, item.url, item.events, item.is_active,
        item.include, item.payload, item.fields, item.ordering, item.batch, item.max_per_second, item.max_in_flight, item.filters,
        item.is_masked, item.description, item.metadata, item.headers, item.asymmetric_signature
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $24 and credential_id = $20 and key = $29::uuid) is null
    order by item.item_number
    returning t.id, t.representation, t.secret, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $24, $20, $29::uuid, decode($30, 'hex'), 201, representation, secret, now() + interval '24 hours'
    from created)
select representation, 0, null, item_number
from created;

-- $1 id, $2 id_block, $3 now, $4 url, $5 events, $6 is_active, $7 include, $8 payload, $9 fields, $10 ordering, $11 batch, $12 max_per_second,
-- $13 max_in_flight, $14 filters, $15 is_masked, $16 description, $17 metadata, $18 headers, $19 asymmetric_signature, $20 credential,
-- $21 actor, $22 request, $23 address, $24 organization, $25 private_key, $26 public_key
prepare webhook_update as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as url,
        $5::text[] as events, $6::boolean as is_active, $7::text[] as include, $8::text as payload, $9::json as fields,
        $10::text as ordering, $11::json as batch, $12::bigint as max_per_second, $13::bigint as max_in_flight, $14::json as filters,
        $15::boolean as is_masked, $16::text as description, $17::json as metadata, $18::json as headers, $19::text as asymmetric_signature
    where (select neoapi.audit_by($20, $21, $22, $23))),
before as materialized (
    select t.*
    from item
    join neoapi.webhook_subscription t on t.organization_id = $24 and t.id = item.item_id
    for no key update of t),
updated as (
    update neoapi.webhook_subscription t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $21,
        private_key = coalesce(t.private_key, $25), public_key = coalesce(t.public_key, $26), url = item.url, events = item.events,
        is_active = item.is_active, include = item.include, payload = item.payload, fields = item.fields, ordering = item.ordering,
        batch = item.batch, max_per_second = item.max_per_second, max_in_flight = item.max_in_flight, filters = item.filters,
        is_masked = item.is_masked, description = item.description, metadata = item.metadata, headers = item.headers,
        asymmetric_signature = item.asymmetric_signature
    from item
    join before on before.id = item.item_id
    where t.organization_id = $24 and t.id = item.item_id and (false or before.public_key is distinct from coalesce(t.public_key, $26)
        or before.url is distinct from item.url or before.events is distinct from item.events
        or before.is_active is distinct from item.is_active or before.include is distinct from item.include
        or before.payload is distinct from item.payload or before.fields::json::text is distinct from item.fields::json::text
        or before.ordering is distinct from item.ordering or before.batch::json::text is distinct from item.batch::json::text
        or before.max_per_second is distinct from item.max_per_second or before.max_in_flight is distinct from item.max_in_flight
        or before.filters::json::text is distinct from item.filters::json::text or before.is_masked is distinct from item.is_masked
        or before.description is distinct from item.description or before.metadata::json::text is distinct from item.metadata::json::text
        or before.headers::json::text is distinct from item.headers::json::text
        or before.asymmetric_signature is distinct from item.asymmetric_signature)
    returning t.*, item.item_number, item.item_id_block, item.item_now)
select representation, 0, null, item_number
from updated
union all
select before.representation, 0, null, item.item_number
from before
join item on item.item_id = before.id
where not exists (select from updated where updated.id = before.id);

-- $1 id, $2 id_block, $3 now, $4 url, $5 events, $6 is_active, $7 include, $8 payload, $9 fields, $10 ordering, $11 batch, $12 max_per_second,
-- $13 max_in_flight, $14 filters, $15 is_masked, $16 description, $17 metadata, $18 headers, $19 asymmetric_signature, $20 credential,
-- $21 actor, $22 request, $23 address, $24 organization, $25 version, $26 private_key, $27 public_key
prepare webhook_update_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as url,
        $5::text[] as events, $6::boolean as is_active, $7::text[] as include, $8::text as payload, $9::json as fields,
        $10::text as ordering, $11::json as batch, $12::bigint as max_per_second, $13::bigint as max_in_flight, $14::json as filters,
        $15::boolean as is_masked, $16::text as description, $17::json as metadata, $18::json as headers, $19::text as asymmetric_signature
    where (select neoapi.audit_by($20, $21, $22, $23))),
before as materialized (
    select t.*
    from item
    join neoapi.webhook_subscription t on t.organization_id = $24 and t.id = item.item_id and t.xmin = $25::xid
    for no key update of t),
updated as (
    update neoapi.webhook_subscription t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $21,
        private_key = coalesce(t.private_key, $26), public_key = coalesce(t.public_key, $27), url = item.url, events = item.events,
        is_active = item.is_active, include = item.include, payload = item.payload, fields = item.fields, ordering = item.ordering,
        batch = item.batch, max_per_second = item.max_per_second, max_in_flight = item.max_in_flight, filters = item.filters,
        is_masked = item.is_masked, description = item.description, metadata = item.metadata, headers = item.headers,
        asymmetric_signature = item.asymmetric_signature
    from item
    join before on before.id = item.item_id
    where t.organization_id = $24 and t.id = item.item_id and (false or before.public_key is distinct from coalesce(t.public_key, $27)
        or before.url is distinct from item.url or before.events is distinct from item.events
        or before.is_active is distinct from item.is_active or before.include is distinct from item.include
        or before.payload is distinct from item.payload or before.fields::json::text is distinct from item.fields::json::text
        or before.ordering is distinct from item.ordering or before.batch::json::text is distinct from item.batch::json::text
        or before.max_per_second is distinct from item.max_per_second or before.max_in_flight is distinct from item.max_in_flight
        or before.filters::json::text is distinct from item.filters::json::text or before.is_masked is distinct from item.is_masked
        or before.description is distinct from item.description or before.metadata::json::text is distinct from item.metadata::json::text
        or before.headers::json::text is distinct from item.headers::json::text
        or before.asymmetric_signature is distinct from item.asymmetric_signature)
    returning t.*, item.item_number, item.item_id_block, item.item_now)
select representation, 0, null, item_number
from updated
union all
select before.representation, 0, null, item.item_number
from before
join item on item.item_id = before.id
where not exists (select from updated where updated.id = before.id);

-- $1 id, $2 id_block, $3 now, $4 target_id_block, $5 credential, $6 actor, $7 request, $8 address, $9 organization
prepare webhook_delete as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now,
        $4::text as item_cleared_block
    where (select neoapi.audit_by($5, $6, $7, $8))),
deleted as (
    delete from neoapi.webhook_subscription t using item
    where t.organization_id = $9 and t.id = item.item_id
    returning t.id, t.representation, t.secret, item.item_number, item.item_id_block, item.item_now, item.item_cleared_block)
select id, 0, null, item_number
from deleted;

-- $1 id, $2 id_block, $3 now, $4 target_id_block, $5 credential, $6 actor, $7 request, $8 address, $9 organization, $10 version
prepare webhook_delete_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now,
        $4::text as item_cleared_block
    where (select neoapi.audit_by($5, $6, $7, $8))),
deleted as (
    delete from neoapi.webhook_subscription t using item
    where t.organization_id = $9 and t.id = item.item_id and t.xmin = $10::xid
    returning t.id, t.representation, t.secret, item.item_number, item.item_id_block, item.item_now, item.item_cleared_block)
select id, 0, null, item_number
from deleted;

prepare webhook_list_ids as
select t.representation
from neoapi.webhook_subscription t
where t.organization_id = $1 and t.id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare webhook_list_created_gte as
select t.representation
from neoapi.webhook_subscription t
where t.organization_id = $1 and t.id >= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare webhook_list_created_lte as
select t.representation
from neoapi.webhook_subscription t
where t.organization_id = $1 and t.id <= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare webhook_list_updated_gte as
select t.representation
from neoapi.webhook_subscription t
where t.organization_id = $1 and t.updated_at >= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare webhook_list_updated_lte as
select t.representation
from neoapi.webhook_subscription t
where t.organization_id = $1 and t.updated_at <= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare webhook_list_by_change as
select t.representation, false, (extract(epoch from t.updated_at) * 1000000)::bigint, null
from neoapi.webhook_subscription t
where t.organization_id = $1 and (not $3::boolean or neoapi.force_custom_plan())
order by t.updated_at desc, t.id desc
limit $2::int;

prepare webhook_list_by_change_further as
select p.answer, e.id is not null, p.position, (
    select count(*)
    from (
        select t.id
        from neoapi.webhook_subscription t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan())
        order by t.id desc
        limit 10000 + 1) c)
from (
    select (
        select t.id
        from neoapi.webhook_subscription t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
            t.id) >= (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
        order by t.updated_at asc, t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, (extract(epoch from t.updated_at) * 1000000)::bigint as position
    from neoapi.webhook_subscription t
    where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
        t.id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
    order by t.updated_at desc, t.id desc
    limit $2::int) p on true
order by p.position desc, p.id desc;

prepare webhook_export as
select t.representation
from neoapi.webhook_subscription t
where t.organization_id = $1
order by t.id desc
limit all;

-- webhook_representation
create or replace function neoapi.webhook_subscription_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"url":' || to_json(new.url),
        '"events":' || to_json(new.events),
        '"is_active":' || new.is_active,
        '"created_at":' || '"' || neoapi.format_timestamp(new.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(new.updated_at) || '"',
        '"health":' || to_json(new.health),
        '"last_success_at":' || '"' || neoapi.format_timestamp(new.last_success_at) || '"',
        '"failing_since":' || '"' || neoapi.format_timestamp(new.failing_since) || '"',
        '"disabled_at":' || '"' || neoapi.format_timestamp(new.disabled_at) || '"',
        '"disabled_reason":' || to_json(new.disabled_reason),
        '"limited_until":' || '"' || neoapi.format_timestamp(new.limited_until) || '"',
        '"include":' || to_json(new.include),
        '"payload":' || to_json(new.payload),
        '"fields":' || new.fields,
        '"ordering":' || to_json(new.ordering),
        '"batch":' || new.batch,
        '"max_per_second":' || new.max_per_second,
        '"max_in_flight":' || new.max_in_flight,
        '"paused_until":' || '"' || neoapi.format_timestamp(new.paused_until) || '"',
        '"filters":' || new.filters,
        '"is_masked":' || new.is_masked,
        '"description":' || to_json(new.description),
        '"metadata":' || new.metadata,
        '"headers":' || new.headers,
        '"asymmetric_signature":' || to_json(new.asymmetric_signature),
        '"public_key":' || to_json(new.public_key),
        '"previous_public_key":' || to_json(new.previous_public_key),
        '"previous_public_key_until":' || '"' || neoapi.format_timestamp(new.previous_public_key_until) || '"') || '}';
    return new;
end $$;
create or replace trigger set_representation before update on neoapi.webhook_subscription for each row execute function neoapi.webhook_subscription_set_representation();
create or replace trigger set_representation_if_null before insert on neoapi.webhook_subscription for each row when (new.representation is null) execute function neoapi.webhook_subscription_set_representation();
