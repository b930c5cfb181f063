-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- $1 organization, $2 id
prepare lead_read as
select representation
from neoapi.lead
where organization_id = $1 and id = $2;

-- $1 organization, $2 id
prepare lead_read_version as
select representation, xmin
from neoapi.lead
where organization_id = $1 and id = $2;

-- $1 organization, $2 limit
prepare lead_list as
select t.representation
from neoapi.lead t
where t.organization_id = $1
order by t.id desc
limit (select $2::int);

-- $1 organization, $2 before, $3 limit
prepare lead_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.lead t
        where t.organization_id = $1 and t.id >= (select $2)
        order by t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, null as position
    from neoapi.lead t
    where t.organization_id = $1 and t.id < (select $2)
    order by t.id desc
    limit (select $3::int)) p on true
order by p.id desc;

-- $1 id, $2 id_block, $3 now, $4 name, $5 phone, $6 whatsapp_user_id, $7 email, $8 message, $9 source, $10 origin, $11 property_id,
-- $12 party_id, $13 broker_id, $14 status, $15 lost_reason, $16 consent, $17 received_at, $18 external_id, $19 metadata,
-- $20 timestamp_field, $21 numbers, $22 paths, $23 targets, $24 organization, $25 tenant, $26 actor, $27 request
prepare lead_create as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as name,
        $5::text as phone, $6::text as whatsapp_user_id, $7::text as email, $8::text as message, $9::text as source, $10::json as origin,
        $11::text as property_id, $12::text as party_id, $13::text as broker_id, $14::text as status, $15::text as lost_reason,
        $16::json as consent, $17::timestamptz as received_at, $18::text as external_id, $19::json as metadata,
        $20::text as item_timestamp_field),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($21::int[], $22::text[], $23::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $24 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $24 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $24 and o.id = target) end is null),
created as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, status, lost_reason, consent, received_at,
        external_id, metadata)
    select $24, item.item_id, $25, item.item_now, item.item_now, $26, $26, item.name, item.phone, item.whatsapp_user_id, item.email,
        item.message, item.source, item.origin, item.property_id, item.party_id, item.broker_id, item.status, item.lost_reason, item.consent,
        item.received_at, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, 1 as item_number, $2::text as item_id_block,
        $3::timestamptz as item_now),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $24, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $24, 'lead.created', r.id, neoapi.event_time(r.item_now), $26, $27, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}'
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $24 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $24 and s.pattern = any ('{lead.created,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($24, 'lead.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $24 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $24 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.created', event_at, created_at
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

-- $1 id, $2 id_block, $3 now, $4 name, $5 phone, $6 whatsapp_user_id, $7 email, $8 message, $9 source, $10 origin, $11 property_id,
-- $12 party_id, $13 broker_id, $14 status, $15 lost_reason, $16 consent, $17 received_at, $18 external_id, $19 metadata,
-- $20 timestamp_field, $21 numbers, $22 paths, $23 targets, $24 organization, $25 tenant, $26 actor, $27 credential, $28 key, $29 hash,
-- $30 request
prepare lead_create_keyed as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as name,
        $5::text as phone, $6::text as whatsapp_user_id, $7::text as email, $8::text as message, $9::text as source, $10::json as origin,
        $11::text as property_id, $12::text as party_id, $13::text as broker_id, $14::text as status, $15::text as lost_reason,
        $16::json as consent, $17::timestamptz as received_at, $18::text as external_id, $19::json as metadata,
        $20::text as item_timestamp_field),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($21::int[], $22::text[], $23::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $24 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $24 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $24 and o.id = target) end is null),
created as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, status, lost_reason, consent, received_at,
        external_id, metadata)
    select $24, item.item_id, $25, item.item_now, item.item_now, $26, $26, item.name, item.phone, item.whatsapp_user_id, item.email,
        item.message, item.source, item.origin, item.property_id, item.party_id, item.broker_id, item.status, item.lost_reason, item.consent,
        item.received_at, item.external_id, item.metadata
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $24 and credential_id = $27 and key = $28::uuid) is null
        and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, 1 as item_number, $2::text as item_id_block,
        $3::timestamptz as item_now),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $24, created.id, path, target
    from created
    join ref using (item_number)),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $24, $27, $28::uuid, decode($29, 'hex'), 201, representation, null, now() + interval '24 hours'
    from created),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $24, 'lead.created', r.id, neoapi.event_time(r.item_now), $26, $30, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}'
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $24 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $24 and s.pattern = any ('{lead.created,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($24, 'lead.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $24 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $24 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.created', event_at, created_at
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
    where organization_id = $24 and credential_id = $27 and key = $28::uuid) is null;

-- $1 id, $2 id_block, $3 now, $4 name, $5 phone, $6 whatsapp_user_id, $7 email, $8 message, $9 source, $10 origin, $11 property_id,
-- $12 party_id, $13 broker_id, $14 status, $15 lost_reason, $16 consent, $17 received_at, $18 external_id, $19 metadata,
-- $20 timestamp_field, $21 numbers, $22 paths, $23 targets, $24 organization, $25 tenant, $26 times, $27 actor, $28 request
prepare lead_create_history as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as name,
        $5::text as phone, $6::text as whatsapp_user_id, $7::text as email, $8::text as message, $9::text as source, $10::json as origin,
        $11::text as property_id, $12::text as party_id, $13::text as broker_id, $14::text as status, $15::text as lost_reason,
        $16::json as consent, $17::timestamptz as received_at, $18::text as external_id, $19::json as metadata,
        $20::text as item_timestamp_field
    where (select set_config('neoapi.is_import', 'on', true)) is not null),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($21::int[], $22::text[], $23::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $24 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $24 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $24 and o.id = target) end is null),
created as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, status, lost_reason, consent, received_at,
        external_id, metadata)
    select $24, item.item_id, $25, ($26::json->>'created_at')::timestamptz, ($26::json->>'updated_at')::timestamptz, $27, $27, item.name,
        item.phone, item.whatsapp_user_id, item.email, item.message, item.source, item.origin, item.property_id, item.party_id,
        item.broker_id, item.status, item.lost_reason, item.consent, item.received_at, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, 1 as item_number, $2::text as item_id_block,
        $3::timestamptz as item_now),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $24, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $24, 'lead.created', r.id, neoapi.event_time(r.item_now), $27, $28, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', true
    from created r
    returning id, resource_id, created_at, payload, changed, previous)
select representation, 0, null, item_number
from created
union all
select null, 0, path, item_number
from missing
where true;

-- $1 id, $2 id_block, $3 now, $4 name, $5 phone, $6 whatsapp_user_id, $7 email, $8 message, $9 source, $10 origin, $11 property_id,
-- $12 party_id, $13 broker_id, $14 status, $15 lost_reason, $16 consent, $17 received_at, $18 external_id, $19 metadata,
-- $20 timestamp_field, $21 numbers, $22 paths, $23 targets, $24 organization, $25 tenant, $26 times, $27 actor, $28 credential, $29 key,
-- $30 hash, $31 request
prepare lead_create_history_keyed as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as name,
        $5::text as phone, $6::text as whatsapp_user_id, $7::text as email, $8::text as message, $9::text as source, $10::json as origin,
        $11::text as property_id, $12::text as party_id, $13::text as broker_id, $14::text as status, $15::text as lost_reason,
        $16::json as consent, $17::timestamptz as received_at, $18::text as external_id, $19::json as metadata,
        $20::text as item_timestamp_field
    where (select set_config('neoapi.is_import', 'on', true)) is not null),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($21::int[], $22::text[], $23::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $24 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $24 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $24 and o.id = target) end is null),
created as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, status, lost_reason, consent, received_at,
        external_id, metadata)
    select $24, item.item_id, $25, ($26::json->>'created_at')::timestamptz, ($26::json->>'updated_at')::timestamptz, $27, $27, item.name,
        item.phone, item.whatsapp_user_id, item.email, item.message, item.source, item.origin, item.property_id, item.party_id,
        item.broker_id, item.status, item.lost_reason, item.consent, item.received_at, item.external_id, item.metadata
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $24 and credential_id = $28 and key = $29::uuid) is null
        and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, 1 as item_number, $2::text as item_id_block,
        $3::timestamptz as item_now),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $24, created.id, path, target
    from created
    join ref using (item_number)),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $24, $28, $29::uuid, decode($30, 'hex'), 201, representation, null, now() + interval '24 hours'
    from created),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $24, 'lead.created', r.id, neoapi.event_time(r.item_now), $27, $31, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', true
    from created r
    returning id, resource_id, created_at, payload, changed, previous)
select representation, 0, null, item_number
from created
union all
select null, 0, path, item_number
from missing
where (
    select 1
    from neoapi.idempotency_key
    where organization_id = $24 and credential_id = $28 and key = $29::uuid) is null;

-- $1 id, $2 id_block, $3 now, $4 name, $5 phone, $6 whatsapp_user_id, $7 email, $8 message, $9 source, $10 origin, $11 property_id,
-- $12 party_id, $13 broker_id, $14 status, $15 lost_reason, $16 consent, $17 received_at, $18 external_id, $19 metadata,
-- $20 timestamp_field, $21 numbers, $22 paths, $23 targets, $24 organization, $25 version, $26 actor, $27 request
prepare lead_update_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as name,
        $5::text as phone, $6::text as whatsapp_user_id, $7::text as email, $8::text as message, $9::text as source, $10::json as origin,
        $11::text as property_id, $12::text as party_id, $13::text as broker_id, $14::text as status, $15::text as lost_reason,
        $16::json as consent, $17::timestamptz as received_at, $18::text as external_id, $19::json as metadata,
        $20::text as item_timestamp_field),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($21::int[], $22::text[], $23::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $24 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $24 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $24 and o.id = target) end is null),
before as materialized (
    select t.*
    from item
    join neoapi.lead t on t.organization_id = $24 and t.id = item.item_id and t.xmin = $25::xid
    for no key update of t),
updated as (
    update neoapi.lead t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $26, name = item.name,
        phone = item.phone, whatsapp_user_id = item.whatsapp_user_id, email = item.email, message = item.message, source = item.source,
        origin = item.origin, property_id = item.property_id, party_id = item.party_id, broker_id = item.broker_id, status = item.status,
        lost_reason = item.lost_reason, consent = item.consent, received_at = item.received_at, external_id = item.external_id,
        metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $24 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.name is distinct from item.name or before.phone is distinct from item.phone
            or before.whatsapp_user_id is distinct from item.whatsapp_user_id or before.email is distinct from item.email
            or before.message is distinct from item.message or before.source is distinct from item.source
            or before.origin::json::text is distinct from item.origin::json::text or before.property_id is distinct from item.property_id
            or before.party_id is distinct from item.party_id or before.broker_id is distinct from item.broker_id
            or before.status is distinct from item.status or before.lost_reason is distinct from item.lost_reason
            or before.consent::json::text is distinct from item.consent::json::text or before.received_at is distinct from item.received_at
            or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $24 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $24, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $24 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $24, 'lead.updated', r.id, neoapi.event_time(r.item_now), $26, $27, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.name is distinct from r.name then 'name' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.whatsapp_user_id is distinct from r.whatsapp_user_id then 'whatsapp_user_id' end,
        case when o.email is distinct from r.email then 'email' end, case when o.message is distinct from r.message then 'message' end,
        case when o.source is distinct from r.source then 'source' end,
        case when o.origin::json::text is distinct from r.origin::json::text then 'origin' end,
        case when o.property_id is distinct from r.property_id then 'property_id' end,
        case when o.party_id is distinct from r.party_id then 'party_id' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.assigned_by is distinct from r.assigned_by then 'assigned_by' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.lost_reason is distinct from r.lost_reason then 'lost_reason' end,
        case when o.consent::json::text is distinct from r.consent::json::text then 'consent' end,
        case when o.received_at is distinct from r.received_at then 'received_at' end,
        case when o.merged_lead_ids::json::text is distinct from r.merged_lead_ids::json::text then 'merged_lead_ids' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json('+' || o.phone))::text, 'null') end,
        case when o.whatsapp_user_id is distinct from r.whatsapp_user_id then '"whatsapp_user_id":' || coalesce((to_json(o.whatsapp_user_id))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.message is distinct from r.message then '"message":' || coalesce((to_json(o.message))::text, 'null') end,
        case when o.source is distinct from r.source then '"source":' || coalesce((to_json(o.source))::text, 'null') end,
        case when o.origin::json::text is distinct from r.origin::json::text then '"origin":' || coalesce((o.origin)::text, 'null') end,
        case when o.property_id is distinct from r.property_id then '"property_id":' || coalesce((to_json(o.property_id))::text, 'null') end,
        case when o.party_id is distinct from r.party_id then '"party_id":' || coalesce((to_json(o.party_id))::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.assigned_by is distinct from r.assigned_by then '"assigned_by":' || coalesce((to_json(o.assigned_by))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.lost_reason is distinct from r.lost_reason then '"lost_reason":' || coalesce((to_json(o.lost_reason))::text, 'null') end,
        case when o.consent::json::text is distinct from r.consent::json::text then '"consent":' || coalesce((o.consent)::text, 'null') end,
        case when o.received_at is distinct from r.received_at then '"received_at":' || coalesce(('"' || neoapi.format_timestamp(o.received_at) || '"')::text, 'null') end,
        case when o.merged_lead_ids::json::text is distinct from r.merged_lead_ids::json::text then '"merged_lead_ids":' || coalesce((o.merged_lead_ids)::text, 'null') end,
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
    select $24 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $24 and s.pattern = any ('{lead.updated,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($24, 'lead.updated', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $24 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $24 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.updated', event_at, created_at
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
prepare lead_delete_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now,
        $4::text as item_cleared_block),
deleted as (
    delete from neoapi.lead t using item
    where t.organization_id = $5 and t.id = item.item_id and t.xmin = $6::xid
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, item.item_number, item.item_id_block,
        item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $5 and r.source_id = deleted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $5, 'lead.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
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
        where s.organization_id = $5 and s.pattern = any ('{lead.deleted,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($5, 'lead.deleted', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $5 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $5 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.deleted', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select id, (select count(*) from queued_deliveries), null, item_number
from deleted;

-- $1 organization
prepare lead_lock_organization as
select pg_advisory_xact_lock(hashtext('neoapi.batch.lead'), hashtext($1::text));

-- $1 item_number[], $2 id[], $3 organization
prepare lead_lock_rows as
with item as materialized (
    select *
    from unnest($1::text[]::int[], $2::text[]) as i (item_number, item_id)),
wanted as materialized (select item_id as id from item)
select item.item_number, t.representation
from wanted
join neoapi.lead t on t.organization_id = $3 and t.id = wanted.id
left join item on item.item_id = t.id
order by t.id
for no key update of t;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 name[], $6 phone[], $7 whatsapp_user_id[], $8 email[], $9 message[], $10 source[],
-- $11 origin[], $12 property_id[], $13 party_id[], $14 broker_id[], $15 status[], $16 lost_reason[], $17 consent[], $18 received_at[],
-- $19 external_id[], $20 metadata[], $21 timestamp_field[], $22 numbers, $23 paths, $24 targets, $25 organization, $26 tenant, $27 actor,
-- $28 request
prepare lead_create_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as name,
        unnest($6::text[])::text as phone, unnest($7::text[])::text as whatsapp_user_id, unnest($8::text[])::text as email,
        unnest($9::text[])::text as message, unnest($10::text[])::text as source, unnest($11::text[])::json as origin,
        unnest($12::text[])::text as property_id, unnest($13::text[])::text as party_id, unnest($14::text[])::text as broker_id,
        unnest($15::text[])::text as status, unnest($16::text[])::text as lost_reason, unnest($17::text[])::json as consent,
        unnest($18::text[])::timestamptz as received_at, unnest($19::text[])::text as external_id, unnest($20::text[])::json as metadata,
        unnest($21::text[])::text as item_timestamp_field),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($22::int[], $23::text[], $24::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $25 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $25 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $25 and o.id = target) end is null),
inserted as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, status, lost_reason, consent, received_at,
        external_id, metadata)
    select $25, item.item_id, $26, item.item_now, item.item_now, $27, $27, item.name, item.phone, item.whatsapp_user_id, item.email,
        item.message, item.source, item.origin, item.property_id, item.party_id, item.broker_id, item.status, item.lost_reason, item.consent,
        item.received_at, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    on conflict do nothing
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $25, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $25, 'lead.created', r.id, neoapi.event_time(r.item_now), $27, $28, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}'
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $25 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $25 and s.pattern = any ('{lead.created,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($25, 'lead.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $25 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $25 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.created', event_at, created_at
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

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 name[], $6 phone[], $7 whatsapp_user_id[], $8 email[], $9 message[], $10 source[],
-- $11 origin[], $12 property_id[], $13 party_id[], $14 broker_id[], $15 status[], $16 lost_reason[], $17 consent[], $18 received_at[],
-- $19 external_id[], $20 metadata[], $21 timestamp_field[], $22 numbers, $23 paths, $24 targets, $25 organization, $26 tenant, $27 actor,
-- $28 request
prepare lead_create_rows_strict as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as name,
        unnest($6::text[])::text as phone, unnest($7::text[])::text as whatsapp_user_id, unnest($8::text[])::text as email,
        unnest($9::text[])::text as message, unnest($10::text[])::text as source, unnest($11::text[])::json as origin,
        unnest($12::text[])::text as property_id, unnest($13::text[])::text as party_id, unnest($14::text[])::text as broker_id,
        unnest($15::text[])::text as status, unnest($16::text[])::text as lost_reason, unnest($17::text[])::json as consent,
        unnest($18::text[])::timestamptz as received_at, unnest($19::text[])::text as external_id, unnest($20::text[])::json as metadata,
        unnest($21::text[])::text as item_timestamp_field),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($22::int[], $23::text[], $24::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $25 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $25 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $25 and o.id = target) end is null),
inserted as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, status, lost_reason, consent, received_at,
        external_id, metadata)
    select $25, item.item_id, $26, item.item_now, item.item_now, $27, $27, item.name, item.phone, item.whatsapp_user_id, item.email,
        item.message, item.source, item.origin, item.property_id, item.party_id, item.broker_id, item.status, item.lost_reason, item.consent,
        item.received_at, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $25, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $25, 'lead.created', r.id, neoapi.event_time(r.item_now), $27, $28, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}'
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $25 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $25 and s.pattern = any ('{lead.created,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($25, 'lead.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $25 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $25 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.created', event_at, created_at
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

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 name[], $6 phone[], $7 whatsapp_user_id[], $8 email[], $9 message[], $10 source[],
-- $11 origin[], $12 property_id[], $13 party_id[], $14 broker_id[], $15 status[], $16 lost_reason[], $17 consent[], $18 received_at[],
-- $19 external_id[], $20 metadata[], $21 timestamp_field[], $22 organization[], $23 tenant[], $24 actor[], $25 request[], $26 credential[],
-- $27 key[], $28 hash[], $29 numbers, $30 paths, $31 targets
prepare lead_create_group as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as name,
        unnest($6::text[])::text as phone, unnest($7::text[])::text as whatsapp_user_id, unnest($8::text[])::text as email,
        unnest($9::text[])::text as message, unnest($10::text[])::text as source, unnest($11::text[])::json as origin,
        unnest($12::text[])::text as property_id, unnest($13::text[])::text as party_id, unnest($14::text[])::text as broker_id,
        unnest($15::text[])::text as status, unnest($16::text[])::text as lost_reason, unnest($17::text[])::json as consent,
        unnest($18::text[])::timestamptz as received_at, unnest($19::text[])::text as external_id, unnest($20::text[])::json as metadata,
        unnest($21::text[])::text as item_timestamp_field, unnest($22::text[])::text collate "C" as item_organization,
        unnest($23::text[])::text collate "C" as item_tenant, unnest($24::text[])::text collate "C" as item_actor,
        unnest($25::text[])::text collate "C" as item_request, unnest($26::text[])::text collate "C" as item_credential,
        unnest($27::text[])::text collate "C" as item_key, unnest($28::text[])::text collate "C" as item_hash
    where (select set_config('lock_timeout', '50', true)) is not null),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($29::int[], $30::text[], $31::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    join item using (item_number)
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = item_organization and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = item_organization and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = item_organization and o.id = target) end is null),
inserted as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, status, lost_reason, consent, received_at,
        external_id, metadata)
    select item_organization, item.item_id, item_tenant, item.item_now, item.item_now, item_actor, item_actor, item.name, item.phone,
        item.whatsapp_user_id, item.email, item.message, item.source, item.origin, item.property_id, item.party_id, item.broker_id,
        item.status, item.lost_reason, item.consent, item.received_at, item.external_id, item.metadata
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
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now, item.item_organization, item.item_tenant, item.item_actor,
        item.item_request, item.item_credential, item.item_key, item.item_hash
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
    select item_organization, 'lead.created', r.id, neoapi.event_time(r.item_now), item_actor, item_request, '{' || concat_ws(',',
        '"id":' || to_json(r.id), '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone),
        '"whatsapp_user_id":' || to_json(r.whatsapp_user_id), '"email":' || to_json(r.email), '"message":' || to_json(r.message),
        '"source":' || to_json(r.source), '"origin":' || r.origin, '"property_id":' || to_json(r.property_id),
        '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id), '"assigned_by":' || to_json(r.assigned_by),
        '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason), '"consent":' || r.consent,
        '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"', '"merged_lead_ids":' || r.merged_lead_ids,
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}'
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
        where s.organization_id = item_organization and s.pattern = any ('{lead.created,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match(item_organization, 'lead.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = item_organization and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = item_organization and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 name[], $6 phone[], $7 whatsapp_user_id[], $8 email[], $9 message[], $10 source[],
-- $11 origin[], $12 property_id[], $13 party_id[], $14 broker_id[], $15 status[], $16 lost_reason[], $17 consent[], $18 received_at[],
-- $19 external_id[], $20 metadata[], $21 timestamp_field[], $22 numbers, $23 paths, $24 targets, $25 organization, $26 actor, $27 request
prepare lead_update_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as name,
        unnest($6::text[])::text as phone, unnest($7::text[])::text as whatsapp_user_id, unnest($8::text[])::text as email,
        unnest($9::text[])::text as message, unnest($10::text[])::text as source, unnest($11::text[])::json as origin,
        unnest($12::text[])::text as property_id, unnest($13::text[])::text as party_id, unnest($14::text[])::text as broker_id,
        unnest($15::text[])::text as status, unnest($16::text[])::text as lost_reason, unnest($17::text[])::json as consent,
        unnest($18::text[])::timestamptz as received_at, unnest($19::text[])::text as external_id, unnest($20::text[])::json as metadata,
        unnest($21::text[])::text as item_timestamp_field),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($22::int[], $23::text[], $24::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $25 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $25 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $25 and o.id = target) end is null),
before as materialized (
    select t.*
    from item
    join neoapi.lead t on t.organization_id = $25 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.lead t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $26, name = item.name,
        phone = item.phone, whatsapp_user_id = item.whatsapp_user_id, email = item.email, message = item.message, source = item.source,
        origin = item.origin, property_id = item.property_id, party_id = item.party_id, broker_id = item.broker_id, status = item.status,
        lost_reason = item.lost_reason, consent = item.consent, received_at = item.received_at, external_id = item.external_id,
        metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $25 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.name is distinct from item.name or before.phone is distinct from item.phone
            or before.whatsapp_user_id is distinct from item.whatsapp_user_id or before.email is distinct from item.email
            or before.message is distinct from item.message or before.source is distinct from item.source
            or before.origin::json::text is distinct from item.origin::json::text or before.property_id is distinct from item.property_id
            or before.party_id is distinct from item.party_id or before.broker_id is distinct from item.broker_id
            or before.status is distinct from item.status or before.lost_reason is distinct from item.lost_reason
            or before.consent::json::text is distinct from item.consent::json::text or before.received_at is distinct from item.received_at
            or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $25 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $25, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $25 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $25, 'lead.updated', r.id, neoapi.event_time(r.item_now), $26, $27, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.name is distinct from r.name then 'name' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.whatsapp_user_id is distinct from r.whatsapp_user_id then 'whatsapp_user_id' end,
        case when o.email is distinct from r.email then 'email' end, case when o.message is distinct from r.message then 'message' end,
        case when o.source is distinct from r.source then 'source' end,
        case when o.origin::json::text is distinct from r.origin::json::text then 'origin' end,
        case when o.property_id is distinct from r.property_id then 'property_id' end,
        case when o.party_id is distinct from r.party_id then 'party_id' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.assigned_by is distinct from r.assigned_by then 'assigned_by' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.lost_reason is distinct from r.lost_reason then 'lost_reason' end,
        case when o.consent::json::text is distinct from r.consent::json::text then 'consent' end,
        case when o.received_at is distinct from r.received_at then 'received_at' end,
        case when o.merged_lead_ids::json::text is distinct from r.merged_lead_ids::json::text then 'merged_lead_ids' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json('+' || o.phone))::text, 'null') end,
        case when o.whatsapp_user_id is distinct from r.whatsapp_user_id then '"whatsapp_user_id":' || coalesce((to_json(o.whatsapp_user_id))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.message is distinct from r.message then '"message":' || coalesce((to_json(o.message))::text, 'null') end,
        case when o.source is distinct from r.source then '"source":' || coalesce((to_json(o.source))::text, 'null') end,
        case when o.origin::json::text is distinct from r.origin::json::text then '"origin":' || coalesce((o.origin)::text, 'null') end,
        case when o.property_id is distinct from r.property_id then '"property_id":' || coalesce((to_json(o.property_id))::text, 'null') end,
        case when o.party_id is distinct from r.party_id then '"party_id":' || coalesce((to_json(o.party_id))::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.assigned_by is distinct from r.assigned_by then '"assigned_by":' || coalesce((to_json(o.assigned_by))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.lost_reason is distinct from r.lost_reason then '"lost_reason":' || coalesce((to_json(o.lost_reason))::text, 'null') end,
        case when o.consent::json::text is distinct from r.consent::json::text then '"consent":' || coalesce((o.consent)::text, 'null') end,
        case when o.received_at is distinct from r.received_at then '"received_at":' || coalesce(('"' || neoapi.format_timestamp(o.received_at) || '"')::text, 'null') end,
        case when o.merged_lead_ids::json::text is distinct from r.merged_lead_ids::json::text then '"merged_lead_ids":' || coalesce((o.merged_lead_ids)::text, 'null') end,
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
    select $25 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $25 and s.pattern = any ('{lead.updated,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($25, 'lead.updated', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $25 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $25 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.updated', event_at, created_at
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
prepare lead_delete_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now,
        unnest($5::text[])::text as item_cleared_block),
deleted as (
    delete from neoapi.lead t using item
    where t.organization_id = $6 and t.id = item.item_id
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, item.item_number, item.item_id_block,
        item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $6 and r.source_id = deleted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $6, 'lead.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
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
        where s.organization_id = $6 and s.pattern = any ('{lead.deleted,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($6, 'lead.deleted', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $6 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $6 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.deleted', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select id, (select count(*) from queued_deliveries), null, item_number
from deleted;

prepare lead_list_ids as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_created_gte as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.id >= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_created_lte as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.id <= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_updated_gte as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.updated_at >= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_updated_lte as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.updated_at <= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_status as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.status in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_source as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.source in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_phone as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and neoapi.whatsapp_phone_key(t.phone) in (neoapi.whatsapp_phone_key(ltrim($3, '+ '))) and (not $4::boolean
    or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_whatsapp_user_id as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.whatsapp_user_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_email as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and lower(t.email) in (lower($3)) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_property_id as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.property_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_party_id as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.party_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_broker_id as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.broker_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_q as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and neoapi.folded(t.name) like ('%' || replace(replace(replace(neoapi.folded($3), E'\\', E'\\\\'), '%', E'\\%'),
    '_', E'\\_') || '%') and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_external_id as
select t.representation
from neoapi.lead t
where t.organization_id = $1 and t.external_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare lead_list_by_change as
select t.representation, false, (extract(epoch from t.updated_at) * 1000000)::bigint, null
from neoapi.lead t
where t.organization_id = $1 and (not $3::boolean or neoapi.force_custom_plan())
order by t.updated_at desc, t.id desc
limit $2::int;

prepare lead_list_by_change_further as
select p.answer, e.id is not null, p.position, (
    select count(*)
    from (
        select t.id
        from neoapi.lead t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan())
        order by t.id desc
        limit 10000 + 1) c)
from (
    select (
        select t.id
        from neoapi.lead t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
            t.id) >= (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
        order by t.updated_at asc, t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, (extract(epoch from t.updated_at) * 1000000)::bigint as position
    from neoapi.lead t
    where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
        t.id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
    order by t.updated_at desc, t.id desc
    limit $2::int) p on true
order by p.position desc, p.id desc;

prepare lead_export as
select t.representation
from neoapi.lead t
where t.organization_id = $1
order by t.id desc
limit all;

prepare lead_find_phone as
select t.id
from neoapi.lead t
where t.organization_id = $1 and neoapi.whatsapp_phone_key(t.phone) = neoapi.whatsapp_phone_key(ltrim($2, '+ ')) and t.id <> $3
    and ($4::text is null or null = $4)
limit 1;

prepare lead_find_external_id as
select t.id
from neoapi.lead t
where t.organization_id = $1 and t.external_id = $2 and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

-- lead_representation
create or replace function neoapi.lead_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"name":' || to_json(new.name),
        '"phone":' || to_json('+' || new.phone),
        '"whatsapp_user_id":' || to_json(new.whatsapp_user_id),
        '"email":' || to_json(new.email),
        '"message":' || to_json(new.message),
        '"source":' || to_json(new.source),
        '"origin":' || new.origin,
        '"property_id":' || to_json(new.property_id),
        '"party_id":' || to_json(new.party_id),
        '"broker_id":' || to_json(new.broker_id),
        '"assigned_by":' || to_json(new.assigned_by),
        '"status":' || to_json(new.status),
        '"lost_reason":' || to_json(new.lost_reason),
        '"consent":' || new.consent,
        '"received_at":' || '"' || neoapi.format_timestamp(new.received_at) || '"',
        '"merged_lead_ids":' || new.merged_lead_ids,
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
create or replace trigger set_representation before update on neoapi.lead for each row execute function neoapi.lead_set_representation();
create or replace trigger set_representation_if_null before insert on neoapi.lead for each row when (new.representation is null) execute function neoapi.lead_set_representation();

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor
prepare lead_import as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'lead' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.lead, p.item_body) b
    where (select set_config('neoapi.is_import', 'on', true)) is not null),
before as materialized (
    select t.*
    from item
    join neoapi.lead t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.lead t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), name = item.name,
        phone = item.phone, whatsapp_user_id = item.whatsapp_user_id, email = item.email, message = item.message, source = item.source,
        origin = item.origin, property_id = item.property_id, party_id = item.party_id, broker_id = item.broker_id,
        assigned_by = item.assigned_by, status = item.status, lost_reason = item.lost_reason, consent = item.consent,
        received_at = item.received_at, merged_lead_ids = item.merged_lead_ids, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.name is distinct from item.name or before.phone is distinct from item.phone
        or before.whatsapp_user_id is distinct from item.whatsapp_user_id or before.email is distinct from item.email
        or before.message is distinct from item.message or before.source is distinct from item.source
        or before.origin::json::text is distinct from item.origin::json::text or before.property_id is distinct from item.property_id
        or before.party_id is distinct from item.party_id or before.broker_id is distinct from item.broker_id
        or before.assigned_by is distinct from item.assigned_by or before.status is distinct from item.status
        or before.lost_reason is distinct from item.lost_reason or before.consent::json::text is distinct from item.consent::json::text
        or before.received_at is distinct from item.received_at
        or before.merged_lead_ids::json::text is distinct from item.merged_lead_ids::json::text
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, assigned_by, status, lost_reason, consent,
        received_at, merged_lead_ids, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.name, item.phone, item.whatsapp_user_id, item.email, item.message,
        item.source, item.origin, item.property_id, item.party_id, item.broker_id, item.assigned_by, item.status, item.lost_reason,
        item.consent, item.received_at, item.merged_lead_ids, item.external_id, item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor, $6 request
prepare lead_import_with_events as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'lead' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.lead, p.item_body) b
    where (select set_config('neoapi.is_import', 'on', true)) is not null),
before as materialized (
    select t.*
    from item
    join neoapi.lead t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.lead t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), name = item.name,
        phone = item.phone, whatsapp_user_id = item.whatsapp_user_id, email = item.email, message = item.message, source = item.source,
        origin = item.origin, property_id = item.property_id, party_id = item.party_id, broker_id = item.broker_id,
        assigned_by = item.assigned_by, status = item.status, lost_reason = item.lost_reason, consent = item.consent,
        received_at = item.received_at, merged_lead_ids = item.merged_lead_ids, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.name is distinct from item.name or before.phone is distinct from item.phone
        or before.whatsapp_user_id is distinct from item.whatsapp_user_id or before.email is distinct from item.email
        or before.message is distinct from item.message or before.source is distinct from item.source
        or before.origin::json::text is distinct from item.origin::json::text or before.property_id is distinct from item.property_id
        or before.party_id is distinct from item.party_id or before.broker_id is distinct from item.broker_id
        or before.assigned_by is distinct from item.assigned_by or before.status is distinct from item.status
        or before.lost_reason is distinct from item.lost_reason or before.consent::json::text is distinct from item.consent::json::text
        or before.received_at is distinct from item.received_at
        or before.merged_lead_ids::json::text is distinct from item.merged_lead_ids::json::text
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, assigned_by, status, lost_reason, consent,
        received_at, merged_lead_ids, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.name, item.phone, item.whatsapp_user_id, item.email, item.message,
        item.source, item.origin, item.property_id, item.party_id, item.broker_id, item.assigned_by, item.status, item.lost_reason,
        item.consent, item.received_at, item.merged_lead_ids, item.external_id, item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $3, 'lead.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', true
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous, is_silent)
    select $3, 'lead.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.name is distinct from r.name then 'name' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.whatsapp_user_id is distinct from r.whatsapp_user_id then 'whatsapp_user_id' end,
        case when o.email is distinct from r.email then 'email' end, case when o.message is distinct from r.message then 'message' end,
        case when o.source is distinct from r.source then 'source' end,
        case when o.origin::json::text is distinct from r.origin::json::text then 'origin' end,
        case when o.property_id is distinct from r.property_id then 'property_id' end,
        case when o.party_id is distinct from r.party_id then 'party_id' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.assigned_by is distinct from r.assigned_by then 'assigned_by' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.lost_reason is distinct from r.lost_reason then 'lost_reason' end,
        case when o.consent::json::text is distinct from r.consent::json::text then 'consent' end,
        case when o.received_at is distinct from r.received_at then 'received_at' end,
        case when o.merged_lead_ids::json::text is distinct from r.merged_lead_ids::json::text then 'merged_lead_ids' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json('+' || o.phone))::text, 'null') end,
        case when o.whatsapp_user_id is distinct from r.whatsapp_user_id then '"whatsapp_user_id":' || coalesce((to_json(o.whatsapp_user_id))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.message is distinct from r.message then '"message":' || coalesce((to_json(o.message))::text, 'null') end,
        case when o.source is distinct from r.source then '"source":' || coalesce((to_json(o.source))::text, 'null') end,
        case when o.origin::json::text is distinct from r.origin::json::text then '"origin":' || coalesce((o.origin)::text, 'null') end,
        case when o.property_id is distinct from r.property_id then '"property_id":' || coalesce((to_json(o.property_id))::text, 'null') end,
        case when o.party_id is distinct from r.party_id then '"party_id":' || coalesce((to_json(o.party_id))::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.assigned_by is distinct from r.assigned_by then '"assigned_by":' || coalesce((to_json(o.assigned_by))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.lost_reason is distinct from r.lost_reason then '"lost_reason":' || coalesce((to_json(o.lost_reason))::text, 'null') end,
        case when o.consent::json::text is distinct from r.consent::json::text then '"consent":' || coalesce((o.consent)::text, 'null') end,
        case when o.received_at is distinct from r.received_at then '"received_at":' || coalesce(('"' || neoapi.format_timestamp(o.received_at) || '"')::text, 'null') end,
        case when o.merged_lead_ids::json::text is distinct from r.merged_lead_ids::json::text then '"merged_lead_ids":' || coalesce((o.merged_lead_ids)::text, 'null') end,
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
prepare lead_import_with_webhooks as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'lead' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.lead, p.item_body) b
    where (select set_config('neoapi.is_import', 'on', true)) is not null),
before as materialized (
    select t.*
    from item
    join neoapi.lead t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.lead t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), name = item.name,
        phone = item.phone, whatsapp_user_id = item.whatsapp_user_id, email = item.email, message = item.message, source = item.source,
        origin = item.origin, property_id = item.property_id, party_id = item.party_id, broker_id = item.broker_id,
        assigned_by = item.assigned_by, status = item.status, lost_reason = item.lost_reason, consent = item.consent,
        received_at = item.received_at, merged_lead_ids = item.merged_lead_ids, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.name is distinct from item.name or before.phone is distinct from item.phone
        or before.whatsapp_user_id is distinct from item.whatsapp_user_id or before.email is distinct from item.email
        or before.message is distinct from item.message or before.source is distinct from item.source
        or before.origin::json::text is distinct from item.origin::json::text or before.property_id is distinct from item.property_id
        or before.party_id is distinct from item.party_id or before.broker_id is distinct from item.broker_id
        or before.assigned_by is distinct from item.assigned_by or before.status is distinct from item.status
        or before.lost_reason is distinct from item.lost_reason or before.consent::json::text is distinct from item.consent::json::text
        or before.received_at is distinct from item.received_at
        or before.merged_lead_ids::json::text is distinct from item.merged_lead_ids::json::text
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.lead as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, phone,
        whatsapp_user_id, email, message, source, origin, property_id, party_id, broker_id, assigned_by, status, lost_reason, consent,
        received_at, merged_lead_ids, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.name, item.phone, item.whatsapp_user_id, item.email, item.message,
        item.source, item.origin, item.property_id, item.party_id, item.broker_id, item.assigned_by, item.status, item.lost_reason,
        item.consent, item.received_at, item.merged_lead_ids, item.external_id, item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.name, t.phone, t.whatsapp_user_id, t.email, t.message, t.source, t.origin, t.property_id, t.party_id,
        t.broker_id, t.assigned_by, t.status, t.lost_reason, t.consent, t.received_at, t.merged_lead_ids, t.external_id, t.metadata,
        t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $3, 'lead.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
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
        where s.organization_id = $3 and s.pattern = any ('{lead.created,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($3, 'lead.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $3, 'lead.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"phone":' || to_json('+' || r.phone), '"whatsapp_user_id":' || to_json(r.whatsapp_user_id),
        '"email":' || to_json(r.email), '"message":' || to_json(r.message), '"source":' || to_json(r.source), '"origin":' || r.origin,
        '"property_id":' || to_json(r.property_id), '"party_id":' || to_json(r.party_id), '"broker_id":' || to_json(r.broker_id),
        '"assigned_by":' || to_json(r.assigned_by), '"status":' || to_json(r.status), '"lost_reason":' || to_json(r.lost_reason),
        '"consent":' || r.consent, '"received_at":' || '"' || neoapi.format_timestamp(r.received_at) || '"',
        '"merged_lead_ids":' || r.merged_lead_ids, '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.name is distinct from r.name then 'name' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.whatsapp_user_id is distinct from r.whatsapp_user_id then 'whatsapp_user_id' end,
        case when o.email is distinct from r.email then 'email' end, case when o.message is distinct from r.message then 'message' end,
        case when o.source is distinct from r.source then 'source' end,
        case when o.origin::json::text is distinct from r.origin::json::text then 'origin' end,
        case when o.property_id is distinct from r.property_id then 'property_id' end,
        case when o.party_id is distinct from r.party_id then 'party_id' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.assigned_by is distinct from r.assigned_by then 'assigned_by' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.lost_reason is distinct from r.lost_reason then 'lost_reason' end,
        case when o.consent::json::text is distinct from r.consent::json::text then 'consent' end,
        case when o.received_at is distinct from r.received_at then 'received_at' end,
        case when o.merged_lead_ids::json::text is distinct from r.merged_lead_ids::json::text then 'merged_lead_ids' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json('+' || o.phone))::text, 'null') end,
        case when o.whatsapp_user_id is distinct from r.whatsapp_user_id then '"whatsapp_user_id":' || coalesce((to_json(o.whatsapp_user_id))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.message is distinct from r.message then '"message":' || coalesce((to_json(o.message))::text, 'null') end,
        case when o.source is distinct from r.source then '"source":' || coalesce((to_json(o.source))::text, 'null') end,
        case when o.origin::json::text is distinct from r.origin::json::text then '"origin":' || coalesce((o.origin)::text, 'null') end,
        case when o.property_id is distinct from r.property_id then '"property_id":' || coalesce((to_json(o.property_id))::text, 'null') end,
        case when o.party_id is distinct from r.party_id then '"party_id":' || coalesce((to_json(o.party_id))::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.assigned_by is distinct from r.assigned_by then '"assigned_by":' || coalesce((to_json(o.assigned_by))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.lost_reason is distinct from r.lost_reason then '"lost_reason":' || coalesce((to_json(o.lost_reason))::text, 'null') end,
        case when o.consent::json::text is distinct from r.consent::json::text then '"consent":' || coalesce((o.consent)::text, 'null') end,
        case when o.received_at is distinct from r.received_at then '"received_at":' || coalesce(('"' || neoapi.format_timestamp(o.received_at) || '"')::text, 'null') end,
        case when o.merged_lead_ids::json::text is distinct from r.merged_lead_ids::json::text then '"merged_lead_ids":' || coalesce((o.merged_lead_ids)::text, 'null') end,
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
        where s.organization_id = $3 and s.pattern = any ('{lead.updated,lead.*}') and s.key = '' and s.is_active
        union all
        select neoapi.webhook_match($3, 'lead.updated', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'lead')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries_update as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'lead.updated', event_at, created_at
    from matched_update
    returning 1),
queued_update as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_update)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 since, $3 organization
prepare lead_import_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'lead' and l.number > $1::bigint and l.number <= $2::bigint),
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
    where f.id = due.target and (f.kind = 'lead' and f.number > $2::bigint or f.kind = 'whatsapp_opt_out' or f.kind = 'whatsapp_conversation'
        or f.kind = 'whatsapp_message'))
on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id
where r.target_id <> excluded.target_id;

-- $1 before, $2 since, $3 organization
prepare lead_import_all_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'lead' and l.number > $1::bigint and l.number <= $2::bigint),
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

prepare lead_import_duplicates as
with mine as materialized (
    select l.number, l.id, (
        select row(external_id)::text
        from json_populate_record(null::neoapi.lead, l.body)
        where external_id is not null) as key
    from import_line l
    where l.kind = 'lead' and l.body is not null)
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
    from neoapi.lead
    where organization_id = $1 and external_id is not null) t on t.key = m.key
where t.id <> m.id and not exists (select from import_line o where o.id = t.id)
order by 1
limit 101;
