-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- $1 organization, $2 id
prepare property_read as
select representation
from neoapi.property
where organization_id = $1 and id = $2;

-- $1 organization, $2 id
prepare property_read_version as
select representation, xmin
from neoapi.property
where organization_id = $1 and id = $2;

-- $1 organization, $2 limit
prepare property_list as
select t.representation
from neoapi.property t
where t.organization_id = $1
order by t.id desc
limit (select $2::int);

-- $1 organization, $2 before, $3 limit
prepare property_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.property t
        where t.organization_id = $1 and t.id >= (select $2)
        order by t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, null as position
    from neoapi.property t
    where t.organization_id = $1 and t.id < (select $2)
    order by t.id desc
    limit (select $3::int)) p on true
order by p.id desc;

-- $1 id, $2 id_block, $3 now, $4 code, $5 title, $6 description, $7 transaction_type, $8 usage_type, $9 property_type, $10 status,
-- $11 sale_price, $12 rent_price, $13 condo_fee, $14 iptu_amount, $15 iptu_period, $16 address, $17 address_display, $18 private_area,
-- $19 total_area, $20 lot_area, $21 bedrooms, $22 suites, $23 bathrooms, $24 parking_spaces, $25 floor, $26 year_built, $27 registry,
-- $28 owners, $29 broker_id, $30 exclusive, $31 exclusive_until, $32 accepts_financing, $33 accepts_fgts, $34 accepts_exchange,
-- $35 features, $36 media, $37 external_id, $38 metadata, $39 representation, $40 payload, $41 numbers, $42 paths, $43 targets,
-- $44 organization, $45 tenant, $46 actor, $47 request
prepare property_create as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as code,
        $5::text as title, $6::text as description, $7::text as transaction_type, $8::text as usage_type, $9::text as property_type,
        $10::text as status, $11::bigint as sale_price, $12::bigint as rent_price, $13::bigint as condo_fee, $14::bigint as iptu_amount,
        $15::text as iptu_period, $16::json as address, $17::text as address_display, $18::numeric as private_area,
        $19::numeric as total_area, $20::numeric as lot_area, $21::bigint as bedrooms, $22::bigint as suites, $23::bigint as bathrooms,
        $24::bigint as parking_spaces, $25::bigint as floor, $26::bigint as year_built, $27::json as registry, $28::json as owners,
        $29::text as broker_id, $30::boolean as exclusive, $31::date as exclusive_until, $32::boolean as accepts_financing,
        $33::boolean as accepts_fgts, $34::boolean as accepts_exchange, $35::json as features, $36::json as media, $37::text as external_id,
        $38::json as metadata, $39::text as representation, $40::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($41::int[], $42::text[], $43::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $44 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $44 and o.id = target) end is null),
created as (
    insert into neoapi.property as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, code,
        title, description, transaction_type, usage_type, property_type, status, sale_price, rent_price, condo_fee, iptu_amount, iptu_period,
        address, address_display, private_area, total_area, lot_area, bedrooms, suites, bathrooms, parking_spaces, floor, year_built,
        registry, owners, broker_id, exclusive, exclusive_until, accepts_financing, accepts_fgts, accepts_exchange, features, media,
        external_id, metadata)
    select $44, item.item_id, $45, item.item_now, item.item_now, $46, $46, item.representation, item.code, item.title, item.description,
        item.transaction_type, item.usage_type, item.property_type, item.status, item.sale_price, item.rent_price, item.condo_fee,
        item.iptu_amount, item.iptu_period, item.address, item.address_display, item.private_area, item.total_area, item.lot_area,
        item.bedrooms, item.suites, item.bathrooms, item.parking_spaces, item.floor, item.year_built, item.registry, item.owners,
        item.broker_id, item.exclusive, item.exclusive_until, item.accepts_financing, item.accepts_fgts, item.accepts_exchange,
        item.features, item.media, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $39::text as representation,
        $40::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $44, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $44, 'property.created', r.id, neoapi.event_time(r.item_now), $46, $47, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $44 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $44 and s.pattern = any ('{property.created,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($44, 'property.created', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $44 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $44 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created
union all
select null, 0, path, item_number
from missing
where true;

-- $1 id, $2 id_block, $3 now, $4 code, $5 title, $6 description, $7 transaction_type, $8 usage_type, $9 property_type, $10 status,
-- $11 sale_price, $12 rent_price, $13 condo_fee, $14 iptu_amount, $15 iptu_period, $16 address, $17 address_display, $18 private_area,
-- $19 total_area, $20 lot_area, $21 bedrooms, $22 suites, $23 bathrooms, $24 parking_spaces, $25 floor, $26 year_built, $27 registry,
-- $28 owners, $29 broker_id, $30 exclusive, $31 exclusive_until, $32 accepts_financing, $33 accepts_fgts, $34 accepts_exchange,
-- $35 features, $36 media, $37 external_id, $38 metadata, $39 representation, $40 payload, $41 numbers, $42 paths, $43 targets,
-- $44 organization, $45 tenant, $46 actor, $47 credential, $48 key, $49 hash, $50 request
prepare property_create_keyed as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as code,
        $5::text as title, $6::text as description, $7::text as transaction_type, $8::text as usage_type, $9::text as property_type,
        $10::text as status, $11::bigint as sale_price, $12::bigint as rent_price, $13::bigint as condo_fee, $14::bigint as iptu_amount,
        $15::text as iptu_period, $16::json as address, $17::text as address_display, $18::numeric as private_area,
        $19::numeric as total_area, $20::numeric as lot_area, $21::bigint as bedrooms, $22::bigint as suites, $23::bigint as bathrooms,
        $24::bigint as parking_spaces, $25::bigint as floor, $26::bigint as year_built, $27::json as registry, $28::json as owners,
        $29::text as broker_id, $30::boolean as exclusive, $31::date as exclusive_until, $32::boolean as accepts_financing,
        $33::boolean as accepts_fgts, $34::boolean as accepts_exchange, $35::json as features, $36::json as media, $37::text as external_id,
        $38::json as metadata, $39::text as representation, $40::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($41::int[], $42::text[], $43::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $44 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $44 and o.id = target) end is null),
created as (
    insert into neoapi.property as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, code,
        title, description, transaction_type, usage_type, property_type, status, sale_price, rent_price, condo_fee, iptu_amount, iptu_period,
        address, address_display, private_area, total_area, lot_area, bedrooms, suites, bathrooms, parking_spaces, floor, year_built,
        registry, owners, broker_id, exclusive, exclusive_until, accepts_financing, accepts_fgts, accepts_exchange, features, media,
        external_id, metadata)
    select $44, item.item_id, $45, item.item_now, item.item_now, $46, $46, item.representation, item.code, item.title, item.description,
        item.transaction_type, item.usage_type, item.property_type, item.status, item.sale_price, item.rent_price, item.condo_fee,
        item.iptu_amount, item.iptu_period, item.address, item.address_display, item.private_area, item.total_area, item.lot_area,
        item.bedrooms, item.suites, item.bathrooms, item.parking_spaces, item.floor, item.year_built, item.registry, item.owners,
        item.broker_id, item.exclusive, item.exclusive_until, item.accepts_financing, item.accepts_fgts, item.accepts_exchange,
        item.features, item.media, item.external_id, item.metadata
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $44 and credential_id = $47 and key = $48::uuid) is null
        and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $39::text as representation,
        $40::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $44, created.id, path, target
    from created
    join ref using (item_number)),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $44, $47, $48::uuid, decode($49, 'hex'), 201, representation, null, now() + interval '24 hours'
    from created),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $44, 'property.created', r.id, neoapi.event_time(r.item_now), $46, $50, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $44 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $44 and s.pattern = any ('{property.created,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($44, 'property.created', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $44 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $44 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created
union all
select null, 0, path, item_number
from missing
where (
    select 1
    from neoapi.idempotency_key
    where organization_id = $44 and credential_id = $47 and key = $48::uuid) is null;

-- $1 id, $2 id_block, $3 now, $4 code, $5 title, $6 description, $7 transaction_type, $8 usage_type, $9 property_type, $10 status,
-- $11 sale_price, $12 rent_price, $13 condo_fee, $14 iptu_amount, $15 iptu_period, $16 address, $17 address_display, $18 private_area,
-- $19 total_area, $20 lot_area, $21 bedrooms, $22 suites, $23 bathrooms, $24 parking_spaces, $25 floor, $26 year_built, $27 registry,
-- $28 owners, $29 broker_id, $30 exclusive, $31 exclusive_until, $32 accepts_financing, $33 accepts_fgts, $34 accepts_exchange,
-- $35 features, $36 media, $37 external_id, $38 metadata, $39 numbers, $40 paths, $41 targets, $42 organization, $43 version, $44 actor,
-- $45 request
prepare property_update_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as code,
        $5::text as title, $6::text as description, $7::text as transaction_type, $8::text as usage_type, $9::text as property_type,
        $10::text as status, $11::bigint as sale_price, $12::bigint as rent_price, $13::bigint as condo_fee, $14::bigint as iptu_amount,
        $15::text as iptu_period, $16::json as address, $17::text as address_display, $18::numeric as private_area,
        $19::numeric as total_area, $20::numeric as lot_area, $21::bigint as bedrooms, $22::bigint as suites, $23::bigint as bathrooms,
        $24::bigint as parking_spaces, $25::bigint as floor, $26::bigint as year_built, $27::json as registry, $28::json as owners,
        $29::text as broker_id, $30::boolean as exclusive, $31::date as exclusive_until, $32::boolean as accepts_financing,
        $33::boolean as accepts_fgts, $34::boolean as accepts_exchange, $35::json as features, $36::json as media, $37::text as external_id,
        $38::json as metadata),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($39::int[], $40::text[], $41::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $42 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $42 and o.id = target) end is null),
before as materialized (
    select t.*
    from item
    join neoapi.property t on t.organization_id = $42 and t.id = item.item_id and t.xmin = $43::xid
    for no key update of t),
updated as (
    update neoapi.property t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $44, code = item.code,
        title = item.title, description = item.description, transaction_type = item.transaction_type, usage_type = item.usage_type,
        property_type = item.property_type, status = item.status, sale_price = item.sale_price, rent_price = item.rent_price,
        condo_fee = item.condo_fee, iptu_amount = item.iptu_amount, iptu_period = item.iptu_period, address = item.address,
        address_display = item.address_display, private_area = item.private_area, total_area = item.total_area, lot_area = item.lot_area,
        bedrooms = item.bedrooms, suites = item.suites, bathrooms = item.bathrooms, parking_spaces = item.parking_spaces, floor = item.floor,
        year_built = item.year_built, registry = item.registry, owners = item.owners, broker_id = item.broker_id, exclusive = item.exclusive,
        exclusive_until = item.exclusive_until, accepts_financing = item.accepts_financing, accepts_fgts = item.accepts_fgts,
        accepts_exchange = item.accepts_exchange, features = item.features, media = item.media, external_id = item.external_id,
        metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $42 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.code is distinct from item.code or before.title is distinct from item.title
            or before.description is distinct from item.description or before.transaction_type is distinct from item.transaction_type
            or before.usage_type is distinct from item.usage_type or before.property_type is distinct from item.property_type
            or before.status is distinct from item.status or before.sale_price is distinct from item.sale_price
            or before.rent_price is distinct from item.rent_price or before.condo_fee is distinct from item.condo_fee
            or before.iptu_amount is distinct from item.iptu_amount or before.iptu_period is distinct from item.iptu_period
            or before.address::json::text is distinct from item.address::json::text
            or before.address_display is distinct from item.address_display or before.private_area is distinct from item.private_area
            or before.total_area is distinct from item.total_area or before.lot_area is distinct from item.lot_area
            or before.bedrooms is distinct from item.bedrooms or before.suites is distinct from item.suites
            or before.bathrooms is distinct from item.bathrooms or before.parking_spaces is distinct from item.parking_spaces
            or before.floor is distinct from item.floor or before.year_built is distinct from item.year_built
            or before.registry::json::text is distinct from item.registry::json::text
            or before.owners::json::text is distinct from item.owners::json::text or before.broker_id is distinct from item.broker_id
            or before.exclusive is distinct from item.exclusive or before.exclusive_until is distinct from item.exclusive_until
            or before.accepts_financing is distinct from item.accepts_financing or before.accepts_fgts is distinct from item.accepts_fgts
            or before.accepts_exchange is distinct from item.accepts_exchange
            or before.features::json::text is distinct from item.features::json::text
            or before.media::json::text is distinct from item.media::json::text or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $42 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $42, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $42 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $42, 'property.updated', r.id, neoapi.event_time(r.item_now), $44, $45, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"code":' || to_json(r.code), '"title":' || to_json(r.title), '"description":' || to_json(r.description),
        '"transaction_type":' || to_json(r.transaction_type), '"usage_type":' || to_json(r.usage_type),
        '"property_type":' || to_json(r.property_type), '"status":' || to_json(r.status), '"sale_price":' || r.sale_price,
        '"rent_price":' || r.rent_price, '"condo_fee":' || r.condo_fee, '"iptu_amount":' || r.iptu_amount,
        '"iptu_period":' || to_json(r.iptu_period), '"address":' || r.address, '"address_display":' || to_json(r.address_display),
        '"private_area":' || r.private_area, '"total_area":' || r.total_area, '"lot_area":' || r.lot_area, '"bedrooms":' || r.bedrooms,
        '"suites":' || r.suites, '"bathrooms":' || r.bathrooms, '"parking_spaces":' || r.parking_spaces, '"floor":' || r.floor,
        '"year_built":' || r.year_built, '"registry":' || r.registry, '"owners":' || r.owners, '"broker_id":' || to_json(r.broker_id),
        '"exclusive":' || r.exclusive, '"exclusive_until":' || to_json(r.exclusive_until), '"accepts_financing":' || r.accepts_financing,
        '"accepts_fgts":' || r.accepts_fgts, '"accepts_exchange":' || r.accepts_exchange, '"features":' || r.features, '"media":' || r.media,
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.code is distinct from r.code then 'code' end, case when o.title is distinct from r.title then 'title' end,
        case when o.description is distinct from r.description then 'description' end,
        case when o.transaction_type is distinct from r.transaction_type then 'transaction_type' end,
        case when o.usage_type is distinct from r.usage_type then 'usage_type' end,
        case when o.property_type is distinct from r.property_type then 'property_type' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.sale_price is distinct from r.sale_price then 'sale_price' end,
        case when o.rent_price is distinct from r.rent_price then 'rent_price' end,
        case when o.condo_fee is distinct from r.condo_fee then 'condo_fee' end,
        case when o.iptu_amount is distinct from r.iptu_amount then 'iptu_amount' end,
        case when o.iptu_period is distinct from r.iptu_period then 'iptu_period' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.address_display is distinct from r.address_display then 'address_display' end,
        case when o.private_area is distinct from r.private_area then 'private_area' end,
        case when o.total_area is distinct from r.total_area then 'total_area' end,
        case when o.lot_area is distinct from r.lot_area then 'lot_area' end,
        case when o.bedrooms is distinct from r.bedrooms then 'bedrooms' end, case when o.suites is distinct from r.suites then 'suites' end,
        case when o.bathrooms is distinct from r.bathrooms then 'bathrooms' end,
        case when o.parking_spaces is distinct from r.parking_spaces then 'parking_spaces' end,
        case when o.floor is distinct from r.floor then 'floor' end,
        case when o.year_built is distinct from r.year_built then 'year_built' end,
        case when o.registry::json::text is distinct from r.registry::json::text then 'registry' end,
        case when o.owners::json::text is distinct from r.owners::json::text then 'owners' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.exclusive is distinct from r.exclusive then 'exclusive' end,
        case when o.exclusive_until is distinct from r.exclusive_until then 'exclusive_until' end,
        case when o.accepts_financing is distinct from r.accepts_financing then 'accepts_financing' end,
        case when o.accepts_fgts is distinct from r.accepts_fgts then 'accepts_fgts' end,
        case when o.accepts_exchange is distinct from r.accepts_exchange then 'accepts_exchange' end,
        case when o.features::json::text is distinct from r.features::json::text then 'features' end,
        case when o.media::json::text is distinct from r.media::json::text then 'media' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.code is distinct from r.code then '"code":' || coalesce((to_json(o.code))::text, 'null') end,
        case when o.title is distinct from r.title then '"title":' || coalesce((to_json(o.title))::text, 'null') end,
        case when o.description is distinct from r.description then '"description":' || coalesce((to_json(o.description))::text, 'null') end,
        case when o.transaction_type is distinct from r.transaction_type then '"transaction_type":' || coalesce((to_json(o.transaction_type))::text, 'null') end,
        case when o.usage_type is distinct from r.usage_type then '"usage_type":' || coalesce((to_json(o.usage_type))::text, 'null') end,
        case when o.property_type is distinct from r.property_type then '"property_type":' || coalesce((to_json(o.property_type))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.sale_price is distinct from r.sale_price then '"sale_price":' || coalesce((o.sale_price)::text, 'null') end,
        case when o.rent_price is distinct from r.rent_price then '"rent_price":' || coalesce((o.rent_price)::text, 'null') end,
        case when o.condo_fee is distinct from r.condo_fee then '"condo_fee":' || coalesce((o.condo_fee)::text, 'null') end,
        case when o.iptu_amount is distinct from r.iptu_amount then '"iptu_amount":' || coalesce((o.iptu_amount)::text, 'null') end,
        case when o.iptu_period is distinct from r.iptu_period then '"iptu_period":' || coalesce((to_json(o.iptu_period))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.address_display is distinct from r.address_display then '"address_display":' || coalesce((to_json(o.address_display))::text, 'null') end,
        case when o.private_area is distinct from r.private_area then '"private_area":' || coalesce((o.private_area)::text, 'null') end,
        case when o.total_area is distinct from r.total_area then '"total_area":' || coalesce((o.total_area)::text, 'null') end,
        case when o.lot_area is distinct from r.lot_area then '"lot_area":' || coalesce((o.lot_area)::text, 'null') end,
        case when o.bedrooms is distinct from r.bedrooms then '"bedrooms":' || coalesce((o.bedrooms)::text, 'null') end,
        case when o.suites is distinct from r.suites then '"suites":' || coalesce((o.suites)::text, 'null') end,
        case when o.bathrooms is distinct from r.bathrooms then '"bathrooms":' || coalesce((o.bathrooms)::text, 'null') end,
        case when o.parking_spaces is distinct from r.parking_spaces then '"parking_spaces":' || coalesce((o.parking_spaces)::text, 'null') end,
        case when o.floor is distinct from r.floor then '"floor":' || coalesce((o.floor)::text, 'null') end,
        case when o.year_built is distinct from r.year_built then '"year_built":' || coalesce((o.year_built)::text, 'null') end,
        case when o.registry::json::text is distinct from r.registry::json::text then '"registry":' || coalesce((o.registry)::text, 'null') end,
        case when o.owners::json::text is distinct from r.owners::json::text then '"owners":' || coalesce((o.owners)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.exclusive is distinct from r.exclusive then '"exclusive":' || coalesce((o.exclusive)::text, 'null') end,
        case when o.exclusive_until is distinct from r.exclusive_until then '"exclusive_until":' || coalesce((to_json(o.exclusive_until))::text, 'null') end,
        case when o.accepts_financing is distinct from r.accepts_financing then '"accepts_financing":' || coalesce((o.accepts_financing)::text, 'null') end,
        case when o.accepts_fgts is distinct from r.accepts_fgts then '"accepts_fgts":' || coalesce((o.accepts_fgts)::text, 'null') end,
        case when o.accepts_exchange is distinct from r.accepts_exchange then '"accepts_exchange":' || coalesce((o.accepts_exchange)::text, 'null') end,
        case when o.features::json::text is distinct from r.features::json::text then '"features":' || coalesce((o.features)::text, 'null') end,
        case when o.media::json::text is distinct from r.media::json::text then '"media":' || coalesce((o.media)::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end,
        case when o.created_by is distinct from r.created_by then '"created_by":' || coalesce((to_json(o.created_by))::text, 'null') end)
        || '}')::json
    from updated r
    left join before o on o.id = r.id
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $42 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $42 and s.pattern = any ('{property.updated,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($42, 'property.updated', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $42 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $42 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.updated', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from updated
union all
select null, 0, path, item_number
from missing
where exists (select from before)
union all
select before.representation, 0, null, item.item_number
from before
join item on item.item_id = before.id
where not exists (select from updated where updated.id = before.id) and not exists (
    select
    from missing
    where missing.item_number = item.item_number);

-- $1 id, $2 id_block, $3 now, $4 target_id_block, $5 organization, $6 version, $7 actor, $8 request
prepare property_delete_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now,
        $4::text as item_cleared_block),
used as materialized (
    select item_number, (
        select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',')
        from (values ('proposal', 'pps_'), ('contract', 'ctr_'), ('document', 'doc_'), ('lead', 'led_')) as k (kind, prefix)
        cross join lateral (
            select r.source_id, r.path
            from neoapi.reference r
            where r.organization_id = $5 and r.property_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'
                and r.source_id <> item.item_id and not exists (
                select
                from item other
                where other.item_id = r.source_id and (other.item_number < item.item_number or exists (
                    select
                    from neoapi.reference back
                    where back.organization_id = $5 and back.source_id = item.item_id and back.target_id = other.item_id)))
            order by r.source_id
            limit 1) u) as users
    from item),
deleted as (
    delete from neoapi.property t using item
    where t.organization_id = $5 and t.id = item.item_id and t.xmin = $6::xid and not exists (
        select
        from used
        where used.item_number = item.item_number and users is not null)
    returning t.id, t.representation, t.code, t.title, t.description, t.transaction_type, t.usage_type, t.property_type, t.status,
        t.sale_price, t.rent_price, t.condo_fee, t.iptu_amount, t.iptu_period, t.address, t.address_display, t.private_area, t.total_area,
        t.lot_area, t.bedrooms, t.suites, t.bathrooms, t.parking_spaces, t.floor, t.year_built, t.registry, t.owners, t.broker_id,
        t.exclusive, t.exclusive_until, t.accepts_financing, t.accepts_fgts, t.accepts_exchange, t.features, t.media, t.external_id,
        t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, item.item_number,
        item.item_id_block, item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $5 and r.source_id = deleted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $5, 'property.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"code":' || to_json(r.code), '"title":' || to_json(r.title), '"description":' || to_json(r.description),
        '"transaction_type":' || to_json(r.transaction_type), '"usage_type":' || to_json(r.usage_type),
        '"property_type":' || to_json(r.property_type), '"status":' || to_json(r.status), '"sale_price":' || r.sale_price,
        '"rent_price":' || r.rent_price, '"condo_fee":' || r.condo_fee, '"iptu_amount":' || r.iptu_amount,
        '"iptu_period":' || to_json(r.iptu_period), '"address":' || r.address, '"address_display":' || to_json(r.address_display),
        '"private_area":' || r.private_area, '"total_area":' || r.total_area, '"lot_area":' || r.lot_area, '"bedrooms":' || r.bedrooms,
        '"suites":' || r.suites, '"bathrooms":' || r.bathrooms, '"parking_spaces":' || r.parking_spaces, '"floor":' || r.floor,
        '"year_built":' || r.year_built, '"registry":' || r.registry, '"owners":' || r.owners, '"broker_id":' || to_json(r.broker_id),
        '"exclusive":' || r.exclusive, '"exclusive_until":' || to_json(r.exclusive_until), '"accepts_financing":' || r.accepts_financing,
        '"accepts_fgts":' || r.accepts_fgts, '"accepts_exchange":' || r.accepts_exchange, '"features":' || r.features, '"media":' || r.media,
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(greatest(r.item_now, r.updated_at + interval '1 millisecond')) || '"',
        '"created_by":' || to_json(r.created_by), '"updated_by":' || to_json($7::text)) || '}'
    from deleted r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $5 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then greatest(r.item_now, r.updated_at + interval '1 millisecond') end as changed_at
    from event e
    join deleted r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $5 and s.pattern = any ('{property.deleted,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($5, 'property.deleted', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $5 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $5 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.deleted', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select id, (select count(*) from queued_deliveries), null, item_number
from deleted
union all
select null, 0, users, item_number
from used
where users is not null;

-- $1 organization
prepare property_lock_organization as
select pg_advisory_xact_lock(hashtext('neoapi.batch.property'), hashtext($1::text));

-- $1 item_number[], $2 id[], $3 organization
prepare property_lock_rows as
with item as materialized (
    select *
    from unnest($1::text[]::int[], $2::text[]) as i (item_number, item_id)),
wanted as materialized (select item_id as id from item)
select item.item_number, t.representation
from wanted
join neoapi.property t on t.organization_id = $3 and t.id = wanted.id
left join item on item.item_id = t.id
order by t.id
for no key update of t;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 code[], $6 title[], $7 description[], $8 transaction_type[], $9 usage_type[],
-- $10 property_type[], $11 status[], $12 sale_price[], $13 rent_price[], $14 condo_fee[], $15 iptu_amount[], $16 iptu_period[],
-- $17 address[], $18 address_display[], $19 private_area[], $20 total_area[], $21 lot_area[], $22 bedrooms[], $23 suites[],
-- $24 bathrooms[], $25 parking_spaces[], $26 floor[], $27 year_built[], $28 registry[], $29 owners[], $30 broker_id[], $31 exclusive[],
-- $32 exclusive_until[], $33 accepts_financing[], $34 accepts_fgts[], $35 accepts_exchange[], $36 features[], $37 media[],
-- $38 external_id[], $39 metadata[], $40 representation[], $41 payload[], $42 numbers, $43 paths, $44 targets, $45 organization,
-- $46 tenant, $47 actor, $48 request
prepare property_create_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as code,
        unnest($6::text[])::text as title, unnest($7::text[])::text as description, unnest($8::text[])::text as transaction_type,
        unnest($9::text[])::text as usage_type, unnest($10::text[])::text as property_type, unnest($11::text[])::text as status,
        unnest($12::text[])::bigint as sale_price, unnest($13::text[])::bigint as rent_price, unnest($14::text[])::bigint as condo_fee,
        unnest($15::text[])::bigint as iptu_amount, unnest($16::text[])::text as iptu_period, unnest($17::text[])::json as address,
        unnest($18::text[])::text as address_display, unnest($19::text[])::numeric as private_area,
        unnest($20::text[])::numeric as total_area, unnest($21::text[])::numeric as lot_area, unnest($22::text[])::bigint as bedrooms,
        unnest($23::text[])::bigint as suites, unnest($24::text[])::bigint as bathrooms, unnest($25::text[])::bigint as parking_spaces,
        unnest($26::text[])::bigint as floor, unnest($27::text[])::bigint as year_built, unnest($28::text[])::json as registry,
        unnest($29::text[])::json as owners, unnest($30::text[])::text as broker_id, unnest($31::text[])::boolean as exclusive,
        unnest($32::text[])::date as exclusive_until, unnest($33::text[])::boolean as accepts_financing,
        unnest($34::text[])::boolean as accepts_fgts, unnest($35::text[])::boolean as accepts_exchange,
        unnest($36::text[])::json as features, unnest($37::text[])::json as media, unnest($38::text[])::text as external_id,
        unnest($39::text[])::json as metadata, unnest($40::text[])::text as representation, unnest($41::text[])::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($42::int[], $43::text[], $44::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $45 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $45 and o.id = target) end is null),
inserted as (
    insert into neoapi.property as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, code,
        title, description, transaction_type, usage_type, property_type, status, sale_price, rent_price, condo_fee, iptu_amount, iptu_period,
        address, address_display, private_area, total_area, lot_area, bedrooms, suites, bathrooms, parking_spaces, floor, year_built,
        registry, owners, broker_id, exclusive, exclusive_until, accepts_financing, accepts_fgts, accepts_exchange, features, media,
        external_id, metadata)
    select $45, item.item_id, $46, item.item_now, item.item_now, $47, $47, item.representation, item.code, item.title, item.description,
        item.transaction_type, item.usage_type, item.property_type, item.status, item.sale_price, item.rent_price, item.condo_fee,
        item.iptu_amount, item.iptu_period, item.address, item.address_display, item.private_area, item.total_area, item.lot_area,
        item.bedrooms, item.suites, item.bathrooms, item.parking_spaces, item.floor, item.year_built, item.registry, item.owners,
        item.broker_id, item.exclusive, item.exclusive_until, item.accepts_financing, item.accepts_fgts, item.accepts_exchange,
        item.features, item.media, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    on conflict do nothing
    returning t.id),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now, item.representation, item.item_payload
    from inserted
    join item on item.item_id = inserted.id),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $45, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $45, 'property.created', r.id, neoapi.event_time(r.item_now), $47, $48, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $45 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $45 and s.pattern = any ('{property.created,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($45, 'property.created', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $45 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $45 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created
union all
select null, 0, path, item_number
from missing
where true;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 code[], $6 title[], $7 description[], $8 transaction_type[], $9 usage_type[],
-- $10 property_type[], $11 status[], $12 sale_price[], $13 rent_price[], $14 condo_fee[], $15 iptu_amount[], $16 iptu_period[],
-- $17 address[], $18 address_display[], $19 private_area[], $20 total_area[], $21 lot_area[], $22 bedrooms[], $23 suites[],
-- $24 bathrooms[], $25 parking_spaces[], $26 floor[], $27 year_built[], $28 registry[], $29 owners[], $30 broker_id[], $31 exclusive[],
-- $32 exclusive_until[], $33 accepts_financing[], $34 accepts_fgts[], $35 accepts_exchange[], $36 features[], $37 media[],
-- $38 external_id[], $39 metadata[], $40 representation[], $41 payload[], $42 numbers, $43 paths, $44 targets, $45 organization,
-- $46 tenant, $47 actor, $48 request
prepare property_create_rows_strict as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as code,
        unnest($6::text[])::text as title, unnest($7::text[])::text as description, unnest($8::text[])::text as transaction_type,
        unnest($9::text[])::text as usage_type, unnest($10::text[])::text as property_type, unnest($11::text[])::text as status,
        unnest($12::text[])::bigint as sale_price, unnest($13::text[])::bigint as rent_price, unnest($14::text[])::bigint as condo_fee,
        unnest($15::text[])::bigint as iptu_amount, unnest($16::text[])::text as iptu_period, unnest($17::text[])::json as address,
        unnest($18::text[])::text as address_display, unnest($19::text[])::numeric as private_area,
        unnest($20::text[])::numeric as total_area, unnest($21::text[])::numeric as lot_area, unnest($22::text[])::bigint as bedrooms,
        unnest($23::text[])::bigint as suites, unnest($24::text[])::bigint as bathrooms, unnest($25::text[])::bigint as parking_spaces,
        unnest($26::text[])::bigint as floor, unnest($27::text[])::bigint as year_built, unnest($28::text[])::json as registry,
        unnest($29::text[])::json as owners, unnest($30::text[])::text as broker_id, unnest($31::text[])::boolean as exclusive,
        unnest($32::text[])::date as exclusive_until, unnest($33::text[])::boolean as accepts_financing,
        unnest($34::text[])::boolean as accepts_fgts, unnest($35::text[])::boolean as accepts_exchange,
        unnest($36::text[])::json as features, unnest($37::text[])::json as media, unnest($38::text[])::text as external_id,
        unnest($39::text[])::json as metadata, unnest($40::text[])::text as representation, unnest($41::text[])::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($42::int[], $43::text[], $44::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $45 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $45 and o.id = target) end is null),
inserted as (
    insert into neoapi.property as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, code,
        title, description, transaction_type, usage_type, property_type, status, sale_price, rent_price, condo_fee, iptu_amount, iptu_period,
        address, address_display, private_area, total_area, lot_area, bedrooms, suites, bathrooms, parking_spaces, floor, year_built,
        registry, owners, broker_id, exclusive, exclusive_until, accepts_financing, accepts_fgts, accepts_exchange, features, media,
        external_id, metadata)
    select $45, item.item_id, $46, item.item_now, item.item_now, $47, $47, item.representation, item.code, item.title, item.description,
        item.transaction_type, item.usage_type, item.property_type, item.status, item.sale_price, item.rent_price, item.condo_fee,
        item.iptu_amount, item.iptu_period, item.address, item.address_display, item.private_area, item.total_area, item.lot_area,
        item.bedrooms, item.suites, item.bathrooms, item.parking_spaces, item.floor, item.year_built, item.registry, item.owners,
        item.broker_id, item.exclusive, item.exclusive_until, item.accepts_financing, item.accepts_fgts, item.accepts_exchange,
        item.features, item.media, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now, item.representation, item.item_payload
    from inserted
    join item on item.item_id = inserted.id),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $45, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $45, 'property.created', r.id, neoapi.event_time(r.item_now), $47, $48, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $45 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $45 and s.pattern = any ('{property.created,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($45, 'property.created', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $45 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $45 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created
union all
select null, 0, path, item_number
from missing
where true;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 code[], $6 title[], $7 description[], $8 transaction_type[], $9 usage_type[],
-- $10 property_type[], $11 status[], $12 sale_price[], $13 rent_price[], $14 condo_fee[], $15 iptu_amount[], $16 iptu_period[],
-- $17 address[], $18 address_display[], $19 private_area[], $20 total_area[], $21 lot_area[], $22 bedrooms[], $23 suites[],
-- $24 bathrooms[], $25 parking_spaces[], $26 floor[], $27 year_built[], $28 registry[], $29 owners[], $30 broker_id[], $31 exclusive[],
-- $32 exclusive_until[], $33 accepts_financing[], $34 accepts_fgts[], $35 accepts_exchange[], $36 features[], $37 media[],
-- $38 external_id[], $39 metadata[], $40 representation[], $41 payload[], $42 organization[], $43 tenant[], $44 actor[], $45 request[],
-- $46 credential[], $47 key[], $48 hash[], $49 numbers, $50 paths, $51 targets
prepare property_create_group as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as code,
        unnest($6::text[])::text as title, unnest($7::text[])::text as description, unnest($8::text[])::text as transaction_type,
        unnest($9::text[])::text as usage_type, unnest($10::text[])::text as property_type, unnest($11::text[])::text as status,
        unnest($12::text[])::bigint as sale_price, unnest($13::text[])::bigint as rent_price, unnest($14::text[])::bigint as condo_fee,
        unnest($15::text[])::bigint as iptu_amount, unnest($16::text[])::text as iptu_period, unnest($17::text[])::json as address,
        unnest($18::text[])::text as address_display, unnest($19::text[])::numeric as private_area,
        unnest($20::text[])::numeric as total_area, unnest($21::text[])::numeric as lot_area, unnest($22::text[])::bigint as bedrooms,
        unnest($23::text[])::bigint as suites, unnest($24::text[])::bigint as bathrooms, unnest($25::text[])::bigint as parking_spaces,
        unnest($26::text[])::bigint as floor, unnest($27::text[])::bigint as year_built, unnest($28::text[])::json as registry,
        unnest($29::text[])::json as owners, unnest($30::text[])::text as broker_id, unnest($31::text[])::boolean as exclusive,
        unnest($32::text[])::date as exclusive_until, unnest($33::text[])::boolean as accepts_financing,
        unnest($34::text[])::boolean as accepts_fgts, unnest($35::text[])::boolean as accepts_exchange,
        unnest($36::text[])::json as features, unnest($37::text[])::json as media, unnest($38::text[])::text as external_id,
        unnest($39::text[])::json as metadata, unnest($40::text[])::text as representation, unnest($41::text[])::text as item_payload,
        unnest($42::text[])::text collate "C" as item_organization, unnest($43::text[])::text collate "C" as item_tenant,
        unnest($44::text[])::text collate "C" as item_actor, unnest($45::text[])::text collate "C" as item_request,
        unnest($46::text[])::text collate "C" as item_credential, unnest($47::text[])::text collate "C" as item_key,
        unnest($48::text[])::text collate "C" as item_hash
    where (select set_config('lock_timeout', '50', true)) is not null),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($49::int[], $50::text[], $51::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    join item using (item_number)
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = item_organization and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = item_organization and o.id = target) end is null),
inserted as (
    insert into neoapi.property as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, code,
        title, description, transaction_type, usage_type, property_type, status, sale_price, rent_price, condo_fee, iptu_amount, iptu_period,
        address, address_display, private_area, total_area, lot_area, bedrooms, suites, bathrooms, parking_spaces, floor, year_built,
        registry, owners, broker_id, exclusive, exclusive_until, accepts_financing, accepts_fgts, accepts_exchange, features, media,
        external_id, metadata)
    select item_organization, item.item_id, item_tenant, item.item_now, item.item_now, item_actor, item_actor, item.representation,
        item.code, item.title, item.description, item.transaction_type, item.usage_type, item.property_type, item.status, item.sale_price,
        item.rent_price, item.condo_fee, item.iptu_amount, item.iptu_period, item.address, item.address_display, item.private_area,
        item.total_area, item.lot_area, item.bedrooms, item.suites, item.bathrooms, item.parking_spaces, item.floor, item.year_built,
        item.registry, item.owners, item.broker_id, item.exclusive, item.exclusive_until, item.accepts_financing, item.accepts_fgts,
        item.accepts_exchange, item.features, item.media, item.external_id, item.metadata
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = item_organization and credential_id = item_credential and key = item_key::uuid) is null
        and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    on conflict do nothing
    returning t.id),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now, item.representation, item.item_payload, item.item_organization,
        item.item_tenant, item.item_actor, item.item_request, item.item_credential, item.item_key, item.item_hash
    from inserted
    join item on item.item_id = inserted.id),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select item_organization, created.id, path, target
    from created
    join ref using (item_number)),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select item_organization, item_credential, item_key::uuid, decode(item_hash, 'hex'), 201, representation, null,
        now() + interval '24 hours'
    from created
    where item_key is not null),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select item_organization, 'property.created', r.id, neoapi.event_time(r.item_now), item_actor, item_request, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select item_organization as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = item_organization and s.pattern = any ('{property.created,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match(item_organization, 'property.created', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = item_organization and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = item_organization and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 code[], $6 title[], $7 description[], $8 transaction_type[], $9 usage_type[],
-- $10 property_type[], $11 status[], $12 sale_price[], $13 rent_price[], $14 condo_fee[], $15 iptu_amount[], $16 iptu_period[],
-- $17 address[], $18 address_display[], $19 private_area[], $20 total_area[], $21 lot_area[], $22 bedrooms[], $23 suites[],
-- $24 bathrooms[], $25 parking_spaces[], $26 floor[], $27 year_built[], $28 registry[], $29 owners[], $30 broker_id[], $31 exclusive[],
-- $32 exclusive_until[], $33 accepts_financing[], $34 accepts_fgts[], $35 accepts_exchange[], $36 features[], $37 media[],
-- $38 external_id[], $39 metadata[], $40 numbers, $41 paths, $42 targets, $43 organization, $44 actor, $45 request
prepare property_update_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as code,
        unnest($6::text[])::text as title, unnest($7::text[])::text as description, unnest($8::text[])::text as transaction_type,
        unnest($9::text[])::text as usage_type, unnest($10::text[])::text as property_type, unnest($11::text[])::text as status,
        unnest($12::text[])::bigint as sale_price, unnest($13::text[])::bigint as rent_price, unnest($14::text[])::bigint as condo_fee,
        unnest($15::text[])::bigint as iptu_amount, unnest($16::text[])::text as iptu_period, unnest($17::text[])::json as address,
        unnest($18::text[])::text as address_display, unnest($19::text[])::numeric as private_area,
        unnest($20::text[])::numeric as total_area, unnest($21::text[])::numeric as lot_area, unnest($22::text[])::bigint as bedrooms,
        unnest($23::text[])::bigint as suites, unnest($24::text[])::bigint as bathrooms, unnest($25::text[])::bigint as parking_spaces,
        unnest($26::text[])::bigint as floor, unnest($27::text[])::bigint as year_built, unnest($28::text[])::json as registry,
        unnest($29::text[])::json as owners, unnest($30::text[])::text as broker_id, unnest($31::text[])::boolean as exclusive,
        unnest($32::text[])::date as exclusive_until, unnest($33::text[])::boolean as accepts_financing,
        unnest($34::text[])::boolean as accepts_fgts, unnest($35::text[])::boolean as accepts_exchange,
        unnest($36::text[])::json as features, unnest($37::text[])::json as media, unnest($38::text[])::text as external_id,
        unnest($39::text[])::json as metadata),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($40::int[], $41::text[], $42::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $43 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $43 and o.id = target) end is null),
before as materialized (
    select t.*
    from item
    join neoapi.property t on t.organization_id = $43 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.property t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $44, code = item.code,
        title = item.title, description = item.description, transaction_type = item.transaction_type, usage_type = item.usage_type,
        property_type = item.property_type, status = item.status, sale_price = item.sale_price, rent_price = item.rent_price,
        condo_fee = item.condo_fee, iptu_amount = item.iptu_amount, iptu_period = item.iptu_period, address = item.address,
        address_display = item.address_display, private_area = item.private_area, total_area = item.total_area, lot_area = item.lot_area,
        bedrooms = item.bedrooms, suites = item.suites, bathrooms = item.bathrooms, parking_spaces = item.parking_spaces, floor = item.floor,
        year_built = item.year_built, registry = item.registry, owners = item.owners, broker_id = item.broker_id, exclusive = item.exclusive,
        exclusive_until = item.exclusive_until, accepts_financing = item.accepts_financing, accepts_fgts = item.accepts_fgts,
        accepts_exchange = item.accepts_exchange, features = item.features, media = item.media, external_id = item.external_id,
        metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $43 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.code is distinct from item.code or before.title is distinct from item.title
            or before.description is distinct from item.description or before.transaction_type is distinct from item.transaction_type
            or before.usage_type is distinct from item.usage_type or before.property_type is distinct from item.property_type
            or before.status is distinct from item.status or before.sale_price is distinct from item.sale_price
            or before.rent_price is distinct from item.rent_price or before.condo_fee is distinct from item.condo_fee
            or before.iptu_amount is distinct from item.iptu_amount or before.iptu_period is distinct from item.iptu_period
            or before.address::json::text is distinct from item.address::json::text
            or before.address_display is distinct from item.address_display or before.private_area is distinct from item.private_area
            or before.total_area is distinct from item.total_area or before.lot_area is distinct from item.lot_area
            or before.bedrooms is distinct from item.bedrooms or before.suites is distinct from item.suites
            or before.bathrooms is distinct from item.bathrooms or before.parking_spaces is distinct from item.parking_spaces
            or before.floor is distinct from item.floor or before.year_built is distinct from item.year_built
            or before.registry::json::text is distinct from item.registry::json::text
            or before.owners::json::text is distinct from item.owners::json::text or before.broker_id is distinct from item.broker_id
            or before.exclusive is distinct from item.exclusive or before.exclusive_until is distinct from item.exclusive_until
            or before.accepts_financing is distinct from item.accepts_financing or before.accepts_fgts is distinct from item.accepts_fgts
            or before.accepts_exchange is distinct from item.accepts_exchange
            or before.features::json::text is distinct from item.features::json::text
            or before.media::json::text is distinct from item.media::json::text or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $43 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $43, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $43 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $43, 'property.updated', r.id, neoapi.event_time(r.item_now), $44, $45, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"code":' || to_json(r.code), '"title":' || to_json(r.title), '"description":' || to_json(r.description),
        '"transaction_type":' || to_json(r.transaction_type), '"usage_type":' || to_json(r.usage_type),
        '"property_type":' || to_json(r.property_type), '"status":' || to_json(r.status), '"sale_price":' || r.sale_price,
        '"rent_price":' || r.rent_price, '"condo_fee":' || r.condo_fee, '"iptu_amount":' || r.iptu_amount,
        '"iptu_period":' || to_json(r.iptu_period), '"address":' || r.address, '"address_display":' || to_json(r.address_display),
        '"private_area":' || r.private_area, '"total_area":' || r.total_area, '"lot_area":' || r.lot_area, '"bedrooms":' || r.bedrooms,
        '"suites":' || r.suites, '"bathrooms":' || r.bathrooms, '"parking_spaces":' || r.parking_spaces, '"floor":' || r.floor,
        '"year_built":' || r.year_built, '"registry":' || r.registry, '"owners":' || r.owners, '"broker_id":' || to_json(r.broker_id),
        '"exclusive":' || r.exclusive, '"exclusive_until":' || to_json(r.exclusive_until), '"accepts_financing":' || r.accepts_financing,
        '"accepts_fgts":' || r.accepts_fgts, '"accepts_exchange":' || r.accepts_exchange, '"features":' || r.features, '"media":' || r.media,
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.code is distinct from r.code then 'code' end, case when o.title is distinct from r.title then 'title' end,
        case when o.description is distinct from r.description then 'description' end,
        case when o.transaction_type is distinct from r.transaction_type then 'transaction_type' end,
        case when o.usage_type is distinct from r.usage_type then 'usage_type' end,
        case when o.property_type is distinct from r.property_type then 'property_type' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.sale_price is distinct from r.sale_price then 'sale_price' end,
        case when o.rent_price is distinct from r.rent_price then 'rent_price' end,
        case when o.condo_fee is distinct from r.condo_fee then 'condo_fee' end,
        case when o.iptu_amount is distinct from r.iptu_amount then 'iptu_amount' end,
        case when o.iptu_period is distinct from r.iptu_period then 'iptu_period' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.address_display is distinct from r.address_display then 'address_display' end,
        case when o.private_area is distinct from r.private_area then 'private_area' end,
        case when o.total_area is distinct from r.total_area then 'total_area' end,
        case when o.lot_area is distinct from r.lot_area then 'lot_area' end,
        case when o.bedrooms is distinct from r.bedrooms then 'bedrooms' end, case when o.suites is distinct from r.suites then 'suites' end,
        case when o.bathrooms is distinct from r.bathrooms then 'bathrooms' end,
        case when o.parking_spaces is distinct from r.parking_spaces then 'parking_spaces' end,
        case when o.floor is distinct from r.floor then 'floor' end,
        case when o.year_built is distinct from r.year_built then 'year_built' end,
        case when o.registry::json::text is distinct from r.registry::json::text then 'registry' end,
        case when o.owners::json::text is distinct from r.owners::json::text then 'owners' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.exclusive is distinct from r.exclusive then 'exclusive' end,
        case when o.exclusive_until is distinct from r.exclusive_until then 'exclusive_until' end,
        case when o.accepts_financing is distinct from r.accepts_financing then 'accepts_financing' end,
        case when o.accepts_fgts is distinct from r.accepts_fgts then 'accepts_fgts' end,
        case when o.accepts_exchange is distinct from r.accepts_exchange then 'accepts_exchange' end,
        case when o.features::json::text is distinct from r.features::json::text then 'features' end,
        case when o.media::json::text is distinct from r.media::json::text then 'media' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.code is distinct from r.code then '"code":' || coalesce((to_json(o.code))::text, 'null') end,
        case when o.title is distinct from r.title then '"title":' || coalesce((to_json(o.title))::text, 'null') end,
        case when o.description is distinct from r.description then '"description":' || coalesce((to_json(o.description))::text, 'null') end,
        case when o.transaction_type is distinct from r.transaction_type then '"transaction_type":' || coalesce((to_json(o.transaction_type))::text, 'null') end,
        case when o.usage_type is distinct from r.usage_type then '"usage_type":' || coalesce((to_json(o.usage_type))::text, 'null') end,
        case when o.property_type is distinct from r.property_type then '"property_type":' || coalesce((to_json(o.property_type))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.sale_price is distinct from r.sale_price then '"sale_price":' || coalesce((o.sale_price)::text, 'null') end,
        case when o.rent_price is distinct from r.rent_price then '"rent_price":' || coalesce((o.rent_price)::text, 'null') end,
        case when o.condo_fee is distinct from r.condo_fee then '"condo_fee":' || coalesce((o.condo_fee)::text, 'null') end,
        case when o.iptu_amount is distinct from r.iptu_amount then '"iptu_amount":' || coalesce((o.iptu_amount)::text, 'null') end,
        case when o.iptu_period is distinct from r.iptu_period then '"iptu_period":' || coalesce((to_json(o.iptu_period))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.address_display is distinct from r.address_display then '"address_display":' || coalesce((to_json(o.address_display))::text, 'null') end,
        case when o.private_area is distinct from r.private_area then '"private_area":' || coalesce((o.private_area)::text, 'null') end,
        case when o.total_area is distinct from r.total_area then '"total_area":' || coalesce((o.total_area)::text, 'null') end,
        case when o.lot_area is distinct from r.lot_area then '"lot_area":' || coalesce((o.lot_area)::text, 'null') end,
        case when o.bedrooms is distinct from r.bedrooms then '"bedrooms":' || coalesce((o.bedrooms)::text, 'null') end,
        case when o.suites is distinct from r.suites then '"suites":' || coalesce((o.suites)::text, 'null') end,
        case when o.bathrooms is distinct from r.bathrooms then '"bathrooms":' || coalesce((o.bathrooms)::text, 'null') end,
        case when o.parking_spaces is distinct from r.parking_spaces then '"parking_spaces":' || coalesce((o.parking_spaces)::text, 'null') end,
        case when o.floor is distinct from r.floor then '"floor":' || coalesce((o.floor)::text, 'null') end,
        case when o.year_built is distinct from r.year_built then '"year_built":' || coalesce((o.year_built)::text, 'null') end,
        case when o.registry::json::text is distinct from r.registry::json::text then '"registry":' || coalesce((o.registry)::text, 'null') end,
        case when o.owners::json::text is distinct from r.owners::json::text then '"owners":' || coalesce((o.owners)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.exclusive is distinct from r.exclusive then '"exclusive":' || coalesce((o.exclusive)::text, 'null') end,
        case when o.exclusive_until is distinct from r.exclusive_until then '"exclusive_until":' || coalesce((to_json(o.exclusive_until))::text, 'null') end,
        case when o.accepts_financing is distinct from r.accepts_financing then '"accepts_financing":' || coalesce((o.accepts_financing)::text, 'null') end,
        case when o.accepts_fgts is distinct from r.accepts_fgts then '"accepts_fgts":' || coalesce((o.accepts_fgts)::text, 'null') end,
        case when o.accepts_exchange is distinct from r.accepts_exchange then '"accepts_exchange":' || coalesce((o.accepts_exchange)::text, 'null') end,
        case when o.features::json::text is distinct from r.features::json::text then '"features":' || coalesce((o.features)::text, 'null') end,
        case when o.media::json::text is distinct from r.media::json::text then '"media":' || coalesce((o.media)::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end,
        case when o.created_by is distinct from r.created_by then '"created_by":' || coalesce((to_json(o.created_by))::text, 'null') end)
        || '}')::json
    from updated r
    left join before o on o.id = r.id
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $43 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $43 and s.pattern = any ('{property.updated,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($43, 'property.updated', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $43 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $43 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.updated', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from updated
union all
select null, 0, path, item_number
from missing
where exists (select from before)
union all
select before.representation, 0, null, item.item_number
from before
join item on item.item_id = before.id
where not exists (select from updated where updated.id = before.id) and not exists (
    select
    from missing
    where missing.item_number = item.item_number);

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 target_id_block[], $6 organization, $7 actor, $8 request
prepare property_delete_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now,
        unnest($5::text[])::text as item_cleared_block),
used as materialized (
    select item_number, (
        select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',')
        from (values ('proposal', 'pps_'), ('contract', 'ctr_'), ('document', 'doc_'), ('lead', 'led_')) as k (kind, prefix)
        cross join lateral (
            select r.source_id, r.path
            from neoapi.reference r
            where r.organization_id = $6 and r.property_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'
                and r.source_id <> item.item_id and not exists (
                select
                from item other
                where other.item_id = r.source_id and (other.item_number < item.item_number or exists (
                    select
                    from neoapi.reference back
                    where back.organization_id = $6 and back.source_id = item.item_id and back.target_id = other.item_id)))
            order by r.source_id
            limit 1) u) as users
    from item),
deleted as (
    delete from neoapi.property t using item
    where t.organization_id = $6 and t.id = item.item_id and not exists (
        select
        from used
        where used.item_number = item.item_number and users is not null)
    returning t.id, t.representation, t.code, t.title, t.description, t.transaction_type, t.usage_type, t.property_type, t.status,
        t.sale_price, t.rent_price, t.condo_fee, t.iptu_amount, t.iptu_period, t.address, t.address_display, t.private_area, t.total_area,
        t.lot_area, t.bedrooms, t.suites, t.bathrooms, t.parking_spaces, t.floor, t.year_built, t.registry, t.owners, t.broker_id,
        t.exclusive, t.exclusive_until, t.accepts_financing, t.accepts_fgts, t.accepts_exchange, t.features, t.media, t.external_id,
        t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, item.item_number,
        item.item_id_block, item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $6 and r.source_id = deleted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $6, 'property.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"code":' || to_json(r.code), '"title":' || to_json(r.title), '"description":' || to_json(r.description),
        '"transaction_type":' || to_json(r.transaction_type), '"usage_type":' || to_json(r.usage_type),
        '"property_type":' || to_json(r.property_type), '"status":' || to_json(r.status), '"sale_price":' || r.sale_price,
        '"rent_price":' || r.rent_price, '"condo_fee":' || r.condo_fee, '"iptu_amount":' || r.iptu_amount,
        '"iptu_period":' || to_json(r.iptu_period), '"address":' || r.address, '"address_display":' || to_json(r.address_display),
        '"private_area":' || r.private_area, '"total_area":' || r.total_area, '"lot_area":' || r.lot_area, '"bedrooms":' || r.bedrooms,
        '"suites":' || r.suites, '"bathrooms":' || r.bathrooms, '"parking_spaces":' || r.parking_spaces, '"floor":' || r.floor,
        '"year_built":' || r.year_built, '"registry":' || r.registry, '"owners":' || r.owners, '"broker_id":' || to_json(r.broker_id),
        '"exclusive":' || r.exclusive, '"exclusive_until":' || to_json(r.exclusive_until), '"accepts_financing":' || r.accepts_financing,
        '"accepts_fgts":' || r.accepts_fgts, '"accepts_exchange":' || r.accepts_exchange, '"features":' || r.features, '"media":' || r.media,
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(greatest(r.item_now, r.updated_at + interval '1 millisecond')) || '"',
        '"created_by":' || to_json(r.created_by), '"updated_by":' || to_json($7::text)) || '}'
    from deleted r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $6 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then greatest(r.item_now, r.updated_at + interval '1 millisecond') end as changed_at
    from event e
    join deleted r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $6 and s.pattern = any ('{property.deleted,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($6, 'property.deleted', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $6 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $6 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.deleted', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select id, (select count(*) from queued_deliveries), null, item_number
from deleted
union all
select null, 0, users, item_number
from used
where users is not null;

prepare property_list_ids as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_created_gte as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.id >= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_created_lte as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.id <= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_updated_gte as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.updated_at >= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_updated_lte as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.updated_at <= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_code as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.code in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_status as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.status in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_transaction_type as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.transaction_type in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_property_type as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.property_type in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_state as
select t.representation
from neoapi.property t
where t.organization_id = $1 and (t.address->>'state') in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_city as
select t.representation
from neoapi.property t
where t.organization_id = $1 and neoapi.folded(t.address->>'city') in (neoapi.folded($3)) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_neighborhood as
select t.representation
from neoapi.property t
where t.organization_id = $1 and neoapi.folded(t.address->>'neighborhood') in (neoapi.folded($3)) and (not $4::boolean
    or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_broker_id as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.broker_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_owner_id as
select t.representation
from (
    select distinct on (r.source_id) r.source_id
    from (
        (
            select r.source_id
            from neoapi.reference r
            where r.organization_id = $1 and (r.party_id = $3) and r.source_id > 'prp_' and r.source_id < 'prp_~'
                and r.field = 'owners.party_id'
            order by r.source_id desc)) r
    order by r.source_id desc) r
cross join lateral (
    select t.*
    from neoapi.property t
    where t.organization_id = $1 and t.id = r.source_id and (not $4::boolean or neoapi.force_custom_plan())
    offset 0) t
order by r.source_id desc
limit $2::int;

prepare property_list_sale_price_gte as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.sale_price >= ($3::bigint) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_sale_price_lte as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.sale_price <= ($3::bigint) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_rent_price_gte as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.rent_price >= ($3::bigint) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_rent_price_lte as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.rent_price <= ($3::bigint) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_bedrooms_gte as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.bedrooms >= ($3::bigint) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_q as
select t.representation
from neoapi.property t
where t.organization_id = $1 and neoapi.folded(t.code || ' ' || coalesce(t.title,
    '')) like ('%' || replace(replace(replace(neoapi.folded($3), E'\\', E'\\\\'), '%', E'\\%'), '_', E'\\_') || '%') and (not $4::boolean
    or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_external_id as
select t.representation
from neoapi.property t
where t.organization_id = $1 and t.external_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare property_list_by_change as
select t.representation, false, (extract(epoch from t.updated_at) * 1000000)::bigint, null
from neoapi.property t
where t.organization_id = $1 and (not $3::boolean or neoapi.force_custom_plan())
order by t.updated_at desc, t.id desc
limit $2::int;

prepare property_list_by_change_further as
select p.answer, e.id is not null, p.position, (
    select count(*)
    from (
        select t.id
        from neoapi.property t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan())
        order by t.id desc
        limit 10000 + 1) c)
from (
    select (
        select t.id
        from neoapi.property t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
            t.id) >= (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
        order by t.updated_at asc, t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, (extract(epoch from t.updated_at) * 1000000)::bigint as position
    from neoapi.property t
    where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
        t.id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
    order by t.updated_at desc, t.id desc
    limit $2::int) p on true
order by p.position desc, p.id desc;

prepare property_export as
select t.representation
from neoapi.property t
where t.organization_id = $1
order by t.id desc
limit all;

prepare property_find_code as
select t.id
from neoapi.property t
where t.organization_id = $1 and t.code = $2 and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

prepare property_find_external_id as
select t.id
from neoapi.property t
where t.organization_id = $1 and t.external_id = $2 and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

-- property_representation
create or replace function neoapi.property_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"code":' || to_json(new.code),
        '"title":' || to_json(new.title),
        '"description":' || to_json(new.description),
        '"transaction_type":' || to_json(new.transaction_type),
        '"usage_type":' || to_json(new.usage_type),
        '"property_type":' || to_json(new.property_type),
        '"status":' || to_json(new.status),
        '"sale_price":' || new.sale_price,
        '"rent_price":' || new.rent_price,
        '"condo_fee":' || new.condo_fee,
        '"iptu_amount":' || new.iptu_amount,
        '"iptu_period":' || to_json(new.iptu_period),
        '"address":' || new.address,
        '"address_display":' || to_json(new.address_display),
        '"private_area":' || new.private_area,
        '"total_area":' || new.total_area,
        '"lot_area":' || new.lot_area,
        '"bedrooms":' || new.bedrooms,
        '"suites":' || new.suites,
        '"bathrooms":' || new.bathrooms,
        '"parking_spaces":' || new.parking_spaces,
        '"floor":' || new.floor,
        '"year_built":' || new.year_built,
        '"registry":' || new.registry,
        '"owners":' || new.owners,
        '"broker_id":' || to_json(new.broker_id),
        '"exclusive":' || new.exclusive,
        '"exclusive_until":' || to_json(new.exclusive_until),
        '"accepts_financing":' || new.accepts_financing,
        '"accepts_fgts":' || new.accepts_fgts,
        '"accepts_exchange":' || new.accepts_exchange,
        '"features":' || new.features,
        '"media":' || new.media,
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(new.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;
create or replace trigger set_representation before update on neoapi.property for each row execute function neoapi.property_set_representation();
create or replace trigger set_representation_if_null before insert on neoapi.property for each row when (new.representation is null) execute function neoapi.property_set_representation();

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor
prepare property_import as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'property' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.property, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.property t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.property t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), code = item.code,
        title = item.title, description = item.description, transaction_type = item.transaction_type, usage_type = item.usage_type,
        property_type = item.property_type, status = item.status, sale_price = item.sale_price, rent_price = item.rent_price,
        condo_fee = item.condo_fee, iptu_amount = item.iptu_amount, iptu_period = item.iptu_period, address = item.address,
        address_display = item.address_display, private_area = item.private_area, total_area = item.total_area, lot_area = item.lot_area,
        bedrooms = item.bedrooms, suites = item.suites, bathrooms = item.bathrooms, parking_spaces = item.parking_spaces, floor = item.floor,
        year_built = item.year_built, registry = item.registry, owners = item.owners, broker_id = item.broker_id, exclusive = item.exclusive,
        exclusive_until = item.exclusive_until, accepts_financing = item.accepts_financing, accepts_fgts = item.accepts_fgts,
        accepts_exchange = item.accepts_exchange, features = item.features, media = item.media, external_id = item.external_id,
        metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.code is distinct from item.code or before.title is distinct from item.title
        or before.description is distinct from item.description or before.transaction_type is distinct from item.transaction_type
        or before.usage_type is distinct from item.usage_type or before.property_type is distinct from item.property_type
        or before.status is distinct from item.status or before.sale_price is distinct from item.sale_price
        or before.rent_price is distinct from item.rent_price or before.condo_fee is distinct from item.condo_fee
        or before.iptu_amount is distinct from item.iptu_amount or before.iptu_period is distinct from item.iptu_period
        or before.address::json::text is distinct from item.address::json::text
        or before.address_display is distinct from item.address_display or before.private_area is distinct from item.private_area
        or before.total_area is distinct from item.total_area or before.lot_area is distinct from item.lot_area
        or before.bedrooms is distinct from item.bedrooms or before.suites is distinct from item.suites
        or before.bathrooms is distinct from item.bathrooms or before.parking_spaces is distinct from item.parking_spaces
        or before.floor is distinct from item.floor or before.year_built is distinct from item.year_built
        or before.registry::json::text is distinct from item.registry::json::text
        or before.owners::json::text is distinct from item.owners::json::text or before.broker_id is distinct from item.broker_id
        or before.exclusive is distinct from item.exclusive or before.exclusive_until is distinct from item.exclusive_until
        or before.accepts_financing is distinct from item.accepts_financing or before.accepts_fgts is distinct from item.accepts_fgts
        or before.accepts_exchange is distinct from item.accepts_exchange
        or before.features::json::text is distinct from item.features::json::text
        or before.media::json::text is distinct from item.media::json::text or before.external_id is distinct from item.external_id
        or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.property as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, code, title,
        description, transaction_type, usage_type, property_type, status, sale_price, rent_price, condo_fee, iptu_amount, iptu_period,
        address, address_display, private_area, total_area, lot_area, bedrooms, suites, bathrooms, parking_spaces, floor, year_built,
        registry, owners, broker_id, exclusive, exclusive_until, accepts_financing, accepts_fgts, accepts_exchange, features, media,
        external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.code, item.title, item.description, item.transaction_type,
        item.usage_type, item.property_type, item.status, item.sale_price, item.rent_price, item.condo_fee, item.iptu_amount,
        item.iptu_period, item.address, item.address_display, item.private_area, item.total_area, item.lot_area, item.bedrooms, item.suites,
        item.bathrooms, item.parking_spaces, item.floor, item.year_built, item.registry, item.owners, item.broker_id, item.exclusive,
        item.exclusive_until, item.accepts_financing, item.accepts_fgts, item.accepts_exchange, item.features, item.media, item.external_id,
        item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.code, t.title, t.description, t.transaction_type, t.usage_type, t.property_type, t.status,
        t.sale_price, t.rent_price, t.condo_fee, t.iptu_amount, t.iptu_period, t.address, t.address_display, t.private_area, t.total_area,
        t.lot_area, t.bedrooms, t.suites, t.bathrooms, t.parking_spaces, t.floor, t.year_built, t.registry, t.owners, t.broker_id,
        t.exclusive, t.exclusive_until, t.accepts_financing, t.accepts_fgts, t.accepts_exchange, t.features, t.media, t.external_id,
        t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor, $6 request
prepare property_import_with_events as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'property' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.property, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.property t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.property t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), code = item.code,
        title = item.title, description = item.description, transaction_type = item.transaction_type, usage_type = item.usage_type,
        property_type = item.property_type, status = item.status, sale_price = item.sale_price, rent_price = item.rent_price,
        condo_fee = item.condo_fee, iptu_amount = item.iptu_amount, iptu_period = item.iptu_period, address = item.address,
        address_display = item.address_display, private_area = item.private_area, total_area = item.total_area, lot_area = item.lot_area,
        bedrooms = item.bedrooms, suites = item.suites, bathrooms = item.bathrooms, parking_spaces = item.parking_spaces, floor = item.floor,
        year_built = item.year_built, registry = item.registry, owners = item.owners, broker_id = item.broker_id, exclusive = item.exclusive,
        exclusive_until = item.exclusive_until, accepts_financing = item.accepts_financing, accepts_fgts = item.accepts_fgts,
        accepts_exchange = item.accepts_exchange, features = item.features, media = item.media, external_id = item.external_id,
        metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.code is distinct from item.code or before.title is distinct from item.title
        or before.description is distinct from item.description or before.transaction_type is distinct from item.transaction_type
        or before.usage_type is distinct from item.usage_type or before.property_type is distinct from item.property_type
        or before.status is distinct from item.status or before.sale_price is distinct from item.sale_price
        or before.rent_price is distinct from item.rent_price or before.condo_fee is distinct from item.condo_fee
        or before.iptu_amount is distinct from item.iptu_amount or before.iptu_period is distinct from item.iptu_period
        or before.address::json::text is distinct from item.address::json::text
        or before.address_display is distinct from item.address_display or before.private_area is distinct from item.private_area
        or before.total_area is distinct from item.total_area or before.lot_area is distinct from item.lot_area
        or before.bedrooms is distinct from item.bedrooms or before.suites is distinct from item.suites
        or before.bathrooms is distinct from item.bathrooms or before.parking_spaces is distinct from item.parking_spaces
        or before.floor is distinct from item.floor or before.year_built is distinct from item.year_built
        or before.registry::json::text is distinct from item.registry::json::text
        or before.owners::json::text is distinct from item.owners::json::text or before.broker_id is distinct from item.broker_id
        or before.exclusive is distinct from item.exclusive or before.exclusive_until is distinct from item.exclusive_until
        or before.accepts_financing is distinct from item.accepts_financing or before.accepts_fgts is distinct from item.accepts_fgts
        or before.accepts_exchange is distinct from item.accepts_exchange
        or before.features::json::text is distinct from item.features::json::text
        or before.media::json::text is distinct from item.media::json::text or before.external_id is distinct from item.external_id
        or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.property as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, code, title,
        description, transaction_type, usage_type, property_type, status, sale_price, rent_price, condo_fee, iptu_amount, iptu_period,
        address, address_display, private_area, total_area, lot_area, bedrooms, suites, bathrooms, parking_spaces, floor, year_built,
        registry, owners, broker_id, exclusive, exclusive_until, accepts_financing, accepts_fgts, accepts_exchange, features, media,
        external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.code, item.title, item.description, item.transaction_type,
        item.usage_type, item.property_type, item.status, item.sale_price, item.rent_price, item.condo_fee, item.iptu_amount,
        item.iptu_period, item.address, item.address_display, item.private_area, item.total_area, item.lot_area, item.bedrooms, item.suites,
        item.bathrooms, item.parking_spaces, item.floor, item.year_built, item.registry, item.owners, item.broker_id, item.exclusive,
        item.exclusive_until, item.accepts_financing, item.accepts_fgts, item.accepts_exchange, item.features, item.media, item.external_id,
        item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.code, t.title, t.description, t.transaction_type, t.usage_type, t.property_type, t.status,
        t.sale_price, t.rent_price, t.condo_fee, t.iptu_amount, t.iptu_period, t.address, t.address_display, t.private_area, t.total_area,
        t.lot_area, t.bedrooms, t.suites, t.bathrooms, t.parking_spaces, t.floor, t.year_built, t.registry, t.owners, t.broker_id,
        t.exclusive, t.exclusive_until, t.accepts_financing, t.accepts_fgts, t.accepts_exchange, t.features, t.media, t.external_id,
        t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $3, 'property.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"code":' || to_json(r.code), '"title":' || to_json(r.title), '"description":' || to_json(r.description),
        '"transaction_type":' || to_json(r.transaction_type), '"usage_type":' || to_json(r.usage_type),
        '"property_type":' || to_json(r.property_type), '"status":' || to_json(r.status), '"sale_price":' || r.sale_price,
        '"rent_price":' || r.rent_price, '"condo_fee":' || r.condo_fee, '"iptu_amount":' || r.iptu_amount,
        '"iptu_period":' || to_json(r.iptu_period), '"address":' || r.address, '"address_display":' || to_json(r.address_display),
        '"private_area":' || r.private_area, '"total_area":' || r.total_area, '"lot_area":' || r.lot_area, '"bedrooms":' || r.bedrooms,
        '"suites":' || r.suites, '"bathrooms":' || r.bathrooms, '"parking_spaces":' || r.parking_spaces, '"floor":' || r.floor,
        '"year_built":' || r.year_built, '"registry":' || r.registry, '"owners":' || r.owners, '"broker_id":' || to_json(r.broker_id),
        '"exclusive":' || r.exclusive, '"exclusive_until":' || to_json(r.exclusive_until), '"accepts_financing":' || r.accepts_financing,
        '"accepts_fgts":' || r.accepts_fgts, '"accepts_exchange":' || r.accepts_exchange, '"features":' || r.features, '"media":' || r.media,
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', true
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous, is_silent)
    select $3, 'property.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"code":' || to_json(r.code), '"title":' || to_json(r.title), '"description":' || to_json(r.description),
        '"transaction_type":' || to_json(r.transaction_type), '"usage_type":' || to_json(r.usage_type),
        '"property_type":' || to_json(r.property_type), '"status":' || to_json(r.status), '"sale_price":' || r.sale_price,
        '"rent_price":' || r.rent_price, '"condo_fee":' || r.condo_fee, '"iptu_amount":' || r.iptu_amount,
        '"iptu_period":' || to_json(r.iptu_period), '"address":' || r.address, '"address_display":' || to_json(r.address_display),
        '"private_area":' || r.private_area, '"total_area":' || r.total_area, '"lot_area":' || r.lot_area, '"bedrooms":' || r.bedrooms,
        '"suites":' || r.suites, '"bathrooms":' || r.bathrooms, '"parking_spaces":' || r.parking_spaces, '"floor":' || r.floor,
        '"year_built":' || r.year_built, '"registry":' || r.registry, '"owners":' || r.owners, '"broker_id":' || to_json(r.broker_id),
        '"exclusive":' || r.exclusive, '"exclusive_until":' || to_json(r.exclusive_until), '"accepts_financing":' || r.accepts_financing,
        '"accepts_fgts":' || r.accepts_fgts, '"accepts_exchange":' || r.accepts_exchange, '"features":' || r.features, '"media":' || r.media,
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.code is distinct from r.code then 'code' end, case when o.title is distinct from r.title then 'title' end,
        case when o.description is distinct from r.description then 'description' end,
        case when o.transaction_type is distinct from r.transaction_type then 'transaction_type' end,
        case when o.usage_type is distinct from r.usage_type then 'usage_type' end,
        case when o.property_type is distinct from r.property_type then 'property_type' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.sale_price is distinct from r.sale_price then 'sale_price' end,
        case when o.rent_price is distinct from r.rent_price then 'rent_price' end,
        case when o.condo_fee is distinct from r.condo_fee then 'condo_fee' end,
        case when o.iptu_amount is distinct from r.iptu_amount then 'iptu_amount' end,
        case when o.iptu_period is distinct from r.iptu_period then 'iptu_period' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.address_display is distinct from r.address_display then 'address_display' end,
        case when o.private_area is distinct from r.private_area then 'private_area' end,
        case when o.total_area is distinct from r.total_area then 'total_area' end,
        case when o.lot_area is distinct from r.lot_area then 'lot_area' end,
        case when o.bedrooms is distinct from r.bedrooms then 'bedrooms' end, case when o.suites is distinct from r.suites then 'suites' end,
        case when o.bathrooms is distinct from r.bathrooms then 'bathrooms' end,
        case when o.parking_spaces is distinct from r.parking_spaces then 'parking_spaces' end,
        case when o.floor is distinct from r.floor then 'floor' end,
        case when o.year_built is distinct from r.year_built then 'year_built' end,
        case when o.registry::json::text is distinct from r.registry::json::text then 'registry' end,
        case when o.owners::json::text is distinct from r.owners::json::text then 'owners' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.exclusive is distinct from r.exclusive then 'exclusive' end,
        case when o.exclusive_until is distinct from r.exclusive_until then 'exclusive_until' end,
        case when o.accepts_financing is distinct from r.accepts_financing then 'accepts_financing' end,
        case when o.accepts_fgts is distinct from r.accepts_fgts then 'accepts_fgts' end,
        case when o.accepts_exchange is distinct from r.accepts_exchange then 'accepts_exchange' end,
        case when o.features::json::text is distinct from r.features::json::text then 'features' end,
        case when o.media::json::text is distinct from r.media::json::text then 'media' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.code is distinct from r.code then '"code":' || coalesce((to_json(o.code))::text, 'null') end,
        case when o.title is distinct from r.title then '"title":' || coalesce((to_json(o.title))::text, 'null') end,
        case when o.description is distinct from r.description then '"description":' || coalesce((to_json(o.description))::text, 'null') end,
        case when o.transaction_type is distinct from r.transaction_type then '"transaction_type":' || coalesce((to_json(o.transaction_type))::text, 'null') end,
        case when o.usage_type is distinct from r.usage_type then '"usage_type":' || coalesce((to_json(o.usage_type))::text, 'null') end,
        case when o.property_type is distinct from r.property_type then '"property_type":' || coalesce((to_json(o.property_type))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.sale_price is distinct from r.sale_price then '"sale_price":' || coalesce((o.sale_price)::text, 'null') end,
        case when o.rent_price is distinct from r.rent_price then '"rent_price":' || coalesce((o.rent_price)::text, 'null') end,
        case when o.condo_fee is distinct from r.condo_fee then '"condo_fee":' || coalesce((o.condo_fee)::text, 'null') end,
        case when o.iptu_amount is distinct from r.iptu_amount then '"iptu_amount":' || coalesce((o.iptu_amount)::text, 'null') end,
        case when o.iptu_period is distinct from r.iptu_period then '"iptu_period":' || coalesce((to_json(o.iptu_period))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.address_display is distinct from r.address_display then '"address_display":' || coalesce((to_json(o.address_display))::text, 'null') end,
        case when o.private_area is distinct from r.private_area then '"private_area":' || coalesce((o.private_area)::text, 'null') end,
        case when o.total_area is distinct from r.total_area then '"total_area":' || coalesce((o.total_area)::text, 'null') end,
        case when o.lot_area is distinct from r.lot_area then '"lot_area":' || coalesce((o.lot_area)::text, 'null') end,
        case when o.bedrooms is distinct from r.bedrooms then '"bedrooms":' || coalesce((o.bedrooms)::text, 'null') end,
        case when o.suites is distinct from r.suites then '"suites":' || coalesce((o.suites)::text, 'null') end,
        case when o.bathrooms is distinct from r.bathrooms then '"bathrooms":' || coalesce((o.bathrooms)::text, 'null') end,
        case when o.parking_spaces is distinct from r.parking_spaces then '"parking_spaces":' || coalesce((o.parking_spaces)::text, 'null') end,
        case when o.floor is distinct from r.floor then '"floor":' || coalesce((o.floor)::text, 'null') end,
        case when o.year_built is distinct from r.year_built then '"year_built":' || coalesce((o.year_built)::text, 'null') end,
        case when o.registry::json::text is distinct from r.registry::json::text then '"registry":' || coalesce((o.registry)::text, 'null') end,
        case when o.owners::json::text is distinct from r.owners::json::text then '"owners":' || coalesce((o.owners)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.exclusive is distinct from r.exclusive then '"exclusive":' || coalesce((o.exclusive)::text, 'null') end,
        case when o.exclusive_until is distinct from r.exclusive_until then '"exclusive_until":' || coalesce((to_json(o.exclusive_until))::text, 'null') end,
        case when o.accepts_financing is distinct from r.accepts_financing then '"accepts_financing":' || coalesce((o.accepts_financing)::text, 'null') end,
        case when o.accepts_fgts is distinct from r.accepts_fgts then '"accepts_fgts":' || coalesce((o.accepts_fgts)::text, 'null') end,
        case when o.accepts_exchange is distinct from r.accepts_exchange then '"accepts_exchange":' || coalesce((o.accepts_exchange)::text, 'null') end,
        case when o.features::json::text is distinct from r.features::json::text then '"features":' || coalesce((o.features)::text, 'null') end,
        case when o.media::json::text is distinct from r.media::json::text then '"media":' || coalesce((o.media)::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end,
        case when o.created_by is distinct from r.created_by then '"created_by":' || coalesce((to_json(o.created_by))::text, 'null') end)
        || '}')::json, true
    from updated r
    left join before o on o.id = r.id
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor, $6 request
prepare property_import_with_webhooks as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'property' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.property, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.property t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.property t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), code = item.code,
        title = item.title, description = item.description, transaction_type = item.transaction_type, usage_type = item.usage_type,
        property_type = item.property_type, status = item.status, sale_price = item.sale_price, rent_price = item.rent_price,
        condo_fee = item.condo_fee, iptu_amount = item.iptu_amount, iptu_period = item.iptu_period, address = item.address,
        address_display = item.address_display, private_area = item.private_area, total_area = item.total_area, lot_area = item.lot_area,
        bedrooms = item.bedrooms, suites = item.suites, bathrooms = item.bathrooms, parking_spaces = item.parking_spaces, floor = item.floor,
        year_built = item.year_built, registry = item.registry, owners = item.owners, broker_id = item.broker_id, exclusive = item.exclusive,
        exclusive_until = item.exclusive_until, accepts_financing = item.accepts_financing, accepts_fgts = item.accepts_fgts,
        accepts_exchange = item.accepts_exchange, features = item.features, media = item.media, external_id = item.external_id,
        metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.code is distinct from item.code or before.title is distinct from item.title
        or before.description is distinct from item.description or before.transaction_type is distinct from item.transaction_type
        or before.usage_type is distinct from item.usage_type or before.property_type is distinct from item.property_type
        or before.status is distinct from item.status or before.sale_price is distinct from item.sale_price
        or before.rent_price is distinct from item.rent_price or before.condo_fee is distinct from item.condo_fee
        or before.iptu_amount is distinct from item.iptu_amount or before.iptu_period is distinct from item.iptu_period
        or before.address::json::text is distinct from item.address::json::text
        or before.address_display is distinct from item.address_display or before.private_area is distinct from item.private_area
        or before.total_area is distinct from item.total_area or before.lot_area is distinct from item.lot_area
        or before.bedrooms is distinct from item.bedrooms or before.suites is distinct from item.suites
        or before.bathrooms is distinct from item.bathrooms or before.parking_spaces is distinct from item.parking_spaces
        or before.floor is distinct from item.floor or before.year_built is distinct from item.year_built
        or before.registry::json::text is distinct from item.registry::json::text
        or before.owners::json::text is distinct from item.owners::json::text or before.broker_id is distinct from item.broker_id
        or before.exclusive is distinct from item.exclusive or before.exclusive_until is distinct from item.exclusive_until
        or before.accepts_financing is distinct from item.accepts_financing or before.accepts_fgts is distinct from item.accepts_fgts
        or before.accepts_exchange is distinct from item.accepts_exchange
        or before.features::json::text is distinct from item.features::json::text
        or before.media::json::text is distinct from item.media::json::text or before.external_id is distinct from item.external_id
        or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.property as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, code, title,
        description, transaction_type, usage_type, property_type, status, sale_price, rent_price, condo_fee, iptu_amount, iptu_period,
        address, address_display, private_area, total_area, lot_area, bedrooms, suites, bathrooms, parking_spaces, floor, year_built,
        registry, owners, broker_id, exclusive, exclusive_until, accepts_financing, accepts_fgts, accepts_exchange, features, media,
        external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.code, item.title, item.description, item.transaction_type,
        item.usage_type, item.property_type, item.status, item.sale_price, item.rent_price, item.condo_fee, item.iptu_amount,
        item.iptu_period, item.address, item.address_display, item.private_area, item.total_area, item.lot_area, item.bedrooms, item.suites,
        item.bathrooms, item.parking_spaces, item.floor, item.year_built, item.registry, item.owners, item.broker_id, item.exclusive,
        item.exclusive_until, item.accepts_financing, item.accepts_fgts, item.accepts_exchange, item.features, item.media, item.external_id,
        item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.code, t.title, t.description, t.transaction_type, t.usage_type, t.property_type, t.status,
        t.sale_price, t.rent_price, t.condo_fee, t.iptu_amount, t.iptu_period, t.address, t.address_display, t.private_area, t.total_area,
        t.lot_area, t.bedrooms, t.suites, t.bathrooms, t.parking_spaces, t.floor, t.year_built, t.registry, t.owners, t.broker_id,
        t.exclusive, t.exclusive_until, t.accepts_financing, t.accepts_fgts, t.accepts_exchange, t.features, t.media, t.external_id,
        t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $3, 'property.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"code":' || to_json(r.code), '"title":' || to_json(r.title), '"description":' || to_json(r.description),
        '"transaction_type":' || to_json(r.transaction_type), '"usage_type":' || to_json(r.usage_type),
        '"property_type":' || to_json(r.property_type), '"status":' || to_json(r.status), '"sale_price":' || r.sale_price,
        '"rent_price":' || r.rent_price, '"condo_fee":' || r.condo_fee, '"iptu_amount":' || r.iptu_amount,
        '"iptu_period":' || to_json(r.iptu_period), '"address":' || r.address, '"address_display":' || to_json(r.address_display),
        '"private_area":' || r.private_area, '"total_area":' || r.total_area, '"lot_area":' || r.lot_area, '"bedrooms":' || r.bedrooms,
        '"suites":' || r.suites, '"bathrooms":' || r.bathrooms, '"parking_spaces":' || r.parking_spaces, '"floor":' || r.floor,
        '"year_built":' || r.year_built, '"registry":' || r.registry, '"owners":' || r.owners, '"broker_id":' || to_json(r.broker_id),
        '"exclusive":' || r.exclusive, '"exclusive_until":' || to_json(r.exclusive_until), '"accepts_financing":' || r.accepts_financing,
        '"accepts_fgts":' || r.accepts_fgts, '"accepts_exchange":' || r.accepts_exchange, '"features":' || r.features, '"media":' || r.media,
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}'
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $3 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $3 and s.pattern = any ('{property.created,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'property.created', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $3, 'property.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"code":' || to_json(r.code), '"title":' || to_json(r.title), '"description":' || to_json(r.description),
        '"transaction_type":' || to_json(r.transaction_type), '"usage_type":' || to_json(r.usage_type),
        '"property_type":' || to_json(r.property_type), '"status":' || to_json(r.status), '"sale_price":' || r.sale_price,
        '"rent_price":' || r.rent_price, '"condo_fee":' || r.condo_fee, '"iptu_amount":' || r.iptu_amount,
        '"iptu_period":' || to_json(r.iptu_period), '"address":' || r.address, '"address_display":' || to_json(r.address_display),
        '"private_area":' || r.private_area, '"total_area":' || r.total_area, '"lot_area":' || r.lot_area, '"bedrooms":' || r.bedrooms,
        '"suites":' || r.suites, '"bathrooms":' || r.bathrooms, '"parking_spaces":' || r.parking_spaces, '"floor":' || r.floor,
        '"year_built":' || r.year_built, '"registry":' || r.registry, '"owners":' || r.owners, '"broker_id":' || to_json(r.broker_id),
        '"exclusive":' || r.exclusive, '"exclusive_until":' || to_json(r.exclusive_until), '"accepts_financing":' || r.accepts_financing,
        '"accepts_fgts":' || r.accepts_fgts, '"accepts_exchange":' || r.accepts_exchange, '"features":' || r.features, '"media":' || r.media,
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.code is distinct from r.code then 'code' end, case when o.title is distinct from r.title then 'title' end,
        case when o.description is distinct from r.description then 'description' end,
        case when o.transaction_type is distinct from r.transaction_type then 'transaction_type' end,
        case when o.usage_type is distinct from r.usage_type then 'usage_type' end,
        case when o.property_type is distinct from r.property_type then 'property_type' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.sale_price is distinct from r.sale_price then 'sale_price' end,
        case when o.rent_price is distinct from r.rent_price then 'rent_price' end,
        case when o.condo_fee is distinct from r.condo_fee then 'condo_fee' end,
        case when o.iptu_amount is distinct from r.iptu_amount then 'iptu_amount' end,
        case when o.iptu_period is distinct from r.iptu_period then 'iptu_period' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.address_display is distinct from r.address_display then 'address_display' end,
        case when o.private_area is distinct from r.private_area then 'private_area' end,
        case when o.total_area is distinct from r.total_area then 'total_area' end,
        case when o.lot_area is distinct from r.lot_area then 'lot_area' end,
        case when o.bedrooms is distinct from r.bedrooms then 'bedrooms' end, case when o.suites is distinct from r.suites then 'suites' end,
        case when o.bathrooms is distinct from r.bathrooms then 'bathrooms' end,
        case when o.parking_spaces is distinct from r.parking_spaces then 'parking_spaces' end,
        case when o.floor is distinct from r.floor then 'floor' end,
        case when o.year_built is distinct from r.year_built then 'year_built' end,
        case when o.registry::json::text is distinct from r.registry::json::text then 'registry' end,
        case when o.owners::json::text is distinct from r.owners::json::text then 'owners' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.exclusive is distinct from r.exclusive then 'exclusive' end,
        case when o.exclusive_until is distinct from r.exclusive_until then 'exclusive_until' end,
        case when o.accepts_financing is distinct from r.accepts_financing then 'accepts_financing' end,
        case when o.accepts_fgts is distinct from r.accepts_fgts then 'accepts_fgts' end,
        case when o.accepts_exchange is distinct from r.accepts_exchange then 'accepts_exchange' end,
        case when o.features::json::text is distinct from r.features::json::text then 'features' end,
        case when o.media::json::text is distinct from r.media::json::text then 'media' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.code is distinct from r.code then '"code":' || coalesce((to_json(o.code))::text, 'null') end,
        case when o.title is distinct from r.title then '"title":' || coalesce((to_json(o.title))::text, 'null') end,
        case when o.description is distinct from r.description then '"description":' || coalesce((to_json(o.description))::text, 'null') end,
        case when o.transaction_type is distinct from r.transaction_type then '"transaction_type":' || coalesce((to_json(o.transaction_type))::text, 'null') end,
        case when o.usage_type is distinct from r.usage_type then '"usage_type":' || coalesce((to_json(o.usage_type))::text, 'null') end,
        case when o.property_type is distinct from r.property_type then '"property_type":' || coalesce((to_json(o.property_type))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.sale_price is distinct from r.sale_price then '"sale_price":' || coalesce((o.sale_price)::text, 'null') end,
        case when o.rent_price is distinct from r.rent_price then '"rent_price":' || coalesce((o.rent_price)::text, 'null') end,
        case when o.condo_fee is distinct from r.condo_fee then '"condo_fee":' || coalesce((o.condo_fee)::text, 'null') end,
        case when o.iptu_amount is distinct from r.iptu_amount then '"iptu_amount":' || coalesce((o.iptu_amount)::text, 'null') end,
        case when o.iptu_period is distinct from r.iptu_period then '"iptu_period":' || coalesce((to_json(o.iptu_period))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.address_display is distinct from r.address_display then '"address_display":' || coalesce((to_json(o.address_display))::text, 'null') end,
        case when o.private_area is distinct from r.private_area then '"private_area":' || coalesce((o.private_area)::text, 'null') end,
        case when o.total_area is distinct from r.total_area then '"total_area":' || coalesce((o.total_area)::text, 'null') end,
        case when o.lot_area is distinct from r.lot_area then '"lot_area":' || coalesce((o.lot_area)::text, 'null') end,
        case when o.bedrooms is distinct from r.bedrooms then '"bedrooms":' || coalesce((o.bedrooms)::text, 'null') end,
        case when o.suites is distinct from r.suites then '"suites":' || coalesce((o.suites)::text, 'null') end,
        case when o.bathrooms is distinct from r.bathrooms then '"bathrooms":' || coalesce((o.bathrooms)::text, 'null') end,
        case when o.parking_spaces is distinct from r.parking_spaces then '"parking_spaces":' || coalesce((o.parking_spaces)::text, 'null') end,
        case when o.floor is distinct from r.floor then '"floor":' || coalesce((o.floor)::text, 'null') end,
        case when o.year_built is distinct from r.year_built then '"year_built":' || coalesce((o.year_built)::text, 'null') end,
        case when o.registry::json::text is distinct from r.registry::json::text then '"registry":' || coalesce((o.registry)::text, 'null') end,
        case when o.owners::json::text is distinct from r.owners::json::text then '"owners":' || coalesce((o.owners)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.exclusive is distinct from r.exclusive then '"exclusive":' || coalesce((o.exclusive)::text, 'null') end,
        case when o.exclusive_until is distinct from r.exclusive_until then '"exclusive_until":' || coalesce((to_json(o.exclusive_until))::text, 'null') end,
        case when o.accepts_financing is distinct from r.accepts_financing then '"accepts_financing":' || coalesce((o.accepts_financing)::text, 'null') end,
        case when o.accepts_fgts is distinct from r.accepts_fgts then '"accepts_fgts":' || coalesce((o.accepts_fgts)::text, 'null') end,
        case when o.accepts_exchange is distinct from r.accepts_exchange then '"accepts_exchange":' || coalesce((o.accepts_exchange)::text, 'null') end,
        case when o.features::json::text is distinct from r.features::json::text then '"features":' || coalesce((o.features)::text, 'null') end,
        case when o.media::json::text is distinct from r.media::json::text then '"media":' || coalesce((o.media)::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end,
        case when o.created_by is distinct from r.created_by then '"created_by":' || coalesce((to_json(o.created_by))::text, 'null') end)
        || '}')::json
    from updated r
    left join before o on o.id = r.id
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched_update as (
    select $3 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event_update e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $3 and s.pattern = any ('{property.updated,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'property.updated', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries_update as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.updated', event_at, created_at
    from matched_update
    returning 1),
queued_update as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_update)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 since, $3 organization
prepare property_import_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'property' and l.number > $1::bigint and l.number <= $2::bigint),
due as materialized (
    select line.id, i.path, i.target
    from line
    join import_reference i using (number)),
removed as (
    delete from neoapi.reference r using line
    where r.organization_id = $3 and r.source_id = line.id and not exists (
        select
        from due
        where due.id = r.source_id and due.path = r.path))
insert into neoapi.reference as r (organization_id, source_id, path, target_id)
select $3, id, path, target
from due
where not exists (
    select
    from import_line f
    where f.id = due.target and (f.kind = 'property' and f.number > $2::bigint or f.kind = 'proposal' or f.kind = 'contract'
        or f.kind = 'document' or f.kind = 'lead' or f.kind = 'whatsapp_opt_out' or f.kind = 'whatsapp_conversation'
        or f.kind = 'whatsapp_message'))
on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id
where r.target_id <> excluded.target_id;

-- $1 before, $2 since, $3 organization
prepare property_import_all_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'property' and l.number > $1::bigint and l.number <= $2::bigint),
due as materialized (
    select line.id, i.path, i.target
    from line
    join import_reference i using (number)),
removed as (
    delete from neoapi.reference r using line
    where r.organization_id = $3 and r.source_id = line.id and not exists (
        select
        from due
        where due.id = r.source_id and due.path = r.path))
insert into neoapi.reference as r (organization_id, source_id, path, target_id)
select $3, id, path, target
from due
on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id
where r.target_id <> excluded.target_id;

prepare property_import_duplicates as
with mine as materialized (
    select l.number, l.id, (
        select row(external_id)::text
        from json_populate_record(null::neoapi.property, l.body)
        where external_id is not null) as key
    from import_line l
    where l.kind = 'property' and l.body is not null)
select m.number, m.first, null
from (
    select number, key, min(number) over (partition by key) as first
    from mine
    where key is not null) m
where m.number <> m.first
union all
select m.number, null, t.id
from mine m
join (
    select id, row(external_id)::text as key
    from neoapi.property
    where organization_id = $1 and external_id is not null) t on t.key = m.key
where t.id <> m.id and not exists (select from import_line o where o.id = t.id)
order by 1
limit 101;
