-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- $1 organization, $2 id
prepare contract_read as
select representation
from neoapi.contract
where organization_id = $1 and id = $2;

-- $1 organization, $2 id
prepare contract_read_version as
select representation, xmin
from neoapi.contract
where organization_id = $1 and id = $2;

-- $1 organization, $2 limit
prepare contract_list as
select t.representation
from neoapi.contract t
where t.organization_id = $1
order by t.id desc
limit (select $2::int);

-- $1 organization, $2 before, $3 limit
prepare contract_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.contract t
        where t.organization_id = $1 and t.id >= (select $2)
        order by t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, null as position
    from neoapi.contract t
    where t.organization_id = $1 and t.id < (select $2)
    order by t.id desc
    limit (select $3::int)) p on true
order by p.id desc;

-- $1 id, $2 id_block, $3 now, $4 kind, $5 number, $6 property_id, $7 proposal_id, $8 parties, $9 amount, $10 start_date, $11 end_date,
-- $12 payment_day, $13 adjustment_index, $14 guarantee, $15 commission, $16 management_fee_bps, $17 notes, $18 status,
-- $19 termination_reason, $20 external_id, $21 metadata, $22 timestamp_field, $23 representation, $24 payload, $25 numbers, $26 paths,
-- $27 targets, $28 organization, $29 tenant, $30 actor, $31 request
prepare contract_create as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as number, $6::text as property_id, $7::text as proposal_id, $8::json as parties, $9::bigint as amount,
        $10::date as start_date, $11::date as end_date, $12::bigint as payment_day, $13::text as adjustment_index, $14::json as guarantee,
        $15::json as commission, $16::bigint as management_fee_bps, $17::text as notes, $18::text as status, $19::text as termination_reason,
        $20::text as external_id, $21::json as metadata, $22::text as item_timestamp_field, $23::text as representation,
        $24::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($25::int[], $26::text[], $27::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $28 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $28 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $28 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $28 and o.id = target) end is null),
created as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        number, property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select $28, item.item_id, $29, item.item_now, item.item_now, $30, $30, item.representation, item.kind, item.number, item.property_id,
        item.proposal_id, item.parties, item.amount, item.start_date, item.end_date, item.payment_day, item.adjustment_index, item.guarantee,
        item.commission, item.management_fee_bps, item.notes, item.status, case item.item_timestamp_field
        when 'signed_at' then item.item_now end, case item.item_timestamp_field when 'terminated_at' then item.item_now end,
        item.termination_reason, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $23::text as representation,
        $24::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $28, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $28, 'contract.created', r.id, neoapi.event_time(r.item_now), $30, $31, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $28 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $28 and s.pattern = any ('{contract.created,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($28, 'contract.created', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $28 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $28 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.created', event_at, created_at
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

-- $1 id, $2 id_block, $3 now, $4 kind, $5 number, $6 property_id, $7 proposal_id, $8 parties, $9 amount, $10 start_date, $11 end_date,
-- $12 payment_day, $13 adjustment_index, $14 guarantee, $15 commission, $16 management_fee_bps, $17 notes, $18 status,
-- $19 termination_reason, $20 external_id, $21 metadata, $22 timestamp_field, $23 representation, $24 payload, $25 numbers, $26 paths,
-- $27 targets, $28 organization, $29 tenant, $30 actor, $31 credential, $32 key, $33 hash, $34 request
prepare contract_create_keyed as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as number, $6::text as property_id, $7::text as proposal_id, $8::json as parties, $9::bigint as amount,
        $10::date as start_date, $11::date as end_date, $12::bigint as payment_day, $13::text as adjustment_index, $14::json as guarantee,
        $15::json as commission, $16::bigint as management_fee_bps, $17::text as notes, $18::text as status, $19::text as termination_reason,
        $20::text as external_id, $21::json as metadata, $22::text as item_timestamp_field, $23::text as representation,
        $24::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($25::int[], $26::text[], $27::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $28 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $28 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $28 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $28 and o.id = target) end is null),
created as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        number, property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select $28, item.item_id, $29, item.item_now, item.item_now, $30, $30, item.representation, item.kind, item.number, item.property_id,
        item.proposal_id, item.parties, item.amount, item.start_date, item.end_date, item.payment_day, item.adjustment_index, item.guarantee,
        item.commission, item.management_fee_bps, item.notes, item.status, case item.item_timestamp_field
        when 'signed_at' then item.item_now end, case item.item_timestamp_field when 'terminated_at' then item.item_now end,
        item.termination_reason, item.external_id, item.metadata
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $28 and credential_id = $31 and key = $32::uuid) is null
        and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $23::text as representation,
        $24::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $28, created.id, path, target
    from created
    join ref using (item_number)),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $28, $31, $32::uuid, decode($33, 'hex'), 201, representation, null, now() + interval '24 hours'
    from created),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $28, 'contract.created', r.id, neoapi.event_time(r.item_now), $30, $34, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $28 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $28 and s.pattern = any ('{contract.created,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($28, 'contract.created', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $28 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $28 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.created', event_at, created_at
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
    where organization_id = $28 and credential_id = $31 and key = $32::uuid) is null;

-- $1 id, $2 id_block, $3 now, $4 kind, $5 number, $6 property_id, $7 proposal_id, $8 parties, $9 amount, $10 start_date, $11 end_date,
-- $12 payment_day, $13 adjustment_index, $14 guarantee, $15 commission, $16 management_fee_bps, $17 notes, $18 status,
-- $19 termination_reason, $20 external_id, $21 metadata, $22 timestamp_field, $23 representation, $24 payload, $25 numbers, $26 paths,
-- $27 targets, $28 organization, $29 target, $30 target_version, $31 tenant, $32 times, $33 actor, $34 request
prepare contract_create_history as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as number, $6::text as property_id, $7::text as proposal_id, $8::json as parties, $9::bigint as amount,
        $10::date as start_date, $11::date as end_date, $12::bigint as payment_day, $13::text as adjustment_index, $14::json as guarantee,
        $15::json as commission, $16::bigint as management_fee_bps, $17::text as notes, $18::text as status, $19::text as termination_reason,
        $20::text as external_id, $21::json as metadata, $22::text as item_timestamp_field, $23::text as representation,
        $24::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($25::int[], $26::text[], $27::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $28 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $28 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $28 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $28 and o.id = target) end is null),
target as (
    update neoapi.property o
    set status = o.status
    where o.organization_id = $28 and o.id = $29 and o.xmin = $30::xid
    returning o.id),
created as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        number, property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select $28, item.item_id, $31, ($32::json->>'created_at')::timestamptz, ($32::json->>'updated_at')::timestamptz, $33, $33,
        item.representation, item.kind, item.number, item.property_id, item.proposal_id, item.parties, item.amount, item.start_date,
        item.end_date, item.payment_day, item.adjustment_index, item.guarantee, item.commission, item.management_fee_bps, item.notes,
        item.status, ($32::json->>'signed_at')::timestamptz, ($32::json->>'terminated_at')::timestamptz, item.termination_reason,
        item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and ($29::text is null or exists (select from target))
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $23::text as representation,
        $24::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $28, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $28, 'contract.created', r.id, neoapi.event_time(r.item_now), $33, $34, r.item_payload, true
    from created r
    returning id, resource_id, created_at, payload, changed, previous)
select representation, 0, null, item_number
from created
union all
select null, 0, path, item_number
from missing
where true;

-- $1 id, $2 id_block, $3 now, $4 kind, $5 number, $6 property_id, $7 proposal_id, $8 parties, $9 amount, $10 start_date, $11 end_date,
-- $12 payment_day, $13 adjustment_index, $14 guarantee, $15 commission, $16 management_fee_bps, $17 notes, $18 status,
-- $19 termination_reason, $20 external_id, $21 metadata, $22 timestamp_field, $23 representation, $24 payload, $25 numbers, $26 paths,
-- $27 targets, $28 organization, $29 target, $30 target_version, $31 tenant, $32 times, $33 actor, $34 credential, $35 key, $36 hash,
-- $37 request
prepare contract_create_history_keyed as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as number, $6::text as property_id, $7::text as proposal_id, $8::json as parties, $9::bigint as amount,
        $10::date as start_date, $11::date as end_date, $12::bigint as payment_day, $13::text as adjustment_index, $14::json as guarantee,
        $15::json as commission, $16::bigint as management_fee_bps, $17::text as notes, $18::text as status, $19::text as termination_reason,
        $20::text as external_id, $21::json as metadata, $22::text as item_timestamp_field, $23::text as representation,
        $24::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($25::int[], $26::text[], $27::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $28 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $28 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $28 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $28 and o.id = target) end is null),
target as (
    update neoapi.property o
    set status = o.status
    where o.organization_id = $28 and o.id = $29 and o.xmin = $30::xid
    returning o.id),
created as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        number, property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select $28, item.item_id, $31, ($32::json->>'created_at')::timestamptz, ($32::json->>'updated_at')::timestamptz, $33, $33,
        item.representation, item.kind, item.number, item.property_id, item.proposal_id, item.parties, item.amount, item.start_date,
        item.end_date, item.payment_day, item.adjustment_index, item.guarantee, item.commission, item.management_fee_bps, item.notes,
        item.status, ($32::json->>'signed_at')::timestamptz, ($32::json->>'terminated_at')::timestamptz, item.termination_reason,
        item.external_id, item.metadata
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $28 and credential_id = $34 and key = $35::uuid) is null
        and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and ($29::text is null or exists (select from target))
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $23::text as representation,
        $24::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $28, created.id, path, target
    from created
    join ref using (item_number)),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $28, $34, $35::uuid, decode($36, 'hex'), 201, representation, null, now() + interval '24 hours'
    from created),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $28, 'contract.created', r.id, neoapi.event_time(r.item_now), $33, $37, r.item_payload, true
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
    where organization_id = $28 and credential_id = $34 and key = $35::uuid) is null;

-- $1 id, $2 id_block, $3 now, $4 kind, $5 number, $6 property_id, $7 proposal_id, $8 parties, $9 amount, $10 start_date, $11 end_date,
-- $12 payment_day, $13 adjustment_index, $14 guarantee, $15 commission, $16 management_fee_bps, $17 notes, $18 status,
-- $19 termination_reason, $20 external_id, $21 metadata, $22 timestamp_field, $23 numbers, $24 paths, $25 targets, $26 organization,
-- $27 target, $28 target_version, $29 version, $30 actor, $31 target_status, $32 request, $33 target_id_block
prepare contract_update_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as number, $6::text as property_id, $7::text as proposal_id, $8::json as parties, $9::bigint as amount,
        $10::date as start_date, $11::date as end_date, $12::bigint as payment_day, $13::text as adjustment_index, $14::json as guarantee,
        $15::json as commission, $16::bigint as management_fee_bps, $17::text as notes, $18::text as status, $19::text as termination_reason,
        $20::text as external_id, $21::json as metadata, $22::text as item_timestamp_field),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($23::int[], $24::text[], $25::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $26 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $26 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $26 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $26 and o.id = target) end is null),
target as materialized (
    select o.*
    from neoapi.property o
    where o.organization_id = $26 and o.id = $27 and o.xmin = $28::xid
    for no key update of o),
before as materialized (
    select t.*
    from item
    join neoapi.contract t on t.organization_id = $26 and t.id = item.item_id and t.xmin = $29::xid and ($27::text is null
        or exists (select from target))
    for no key update of t),
updated as (
    update neoapi.contract t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $30, kind = item.kind,
        number = item.number, property_id = item.property_id, proposal_id = item.proposal_id, parties = item.parties, amount = item.amount,
        start_date = item.start_date, end_date = item.end_date, payment_day = item.payment_day, adjustment_index = item.adjustment_index,
        guarantee = item.guarantee, commission = item.commission, management_fee_bps = item.management_fee_bps, notes = item.notes,
        status = item.status, signed_at = case item.item_timestamp_field when 'signed_at' then item.item_now else t.signed_at end,
        terminated_at = case item.item_timestamp_field when 'terminated_at' then item.item_now else t.terminated_at end,
        termination_reason = item.termination_reason, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $26 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.kind is distinct from item.kind or before.number is distinct from item.number
            or before.property_id is distinct from item.property_id or before.proposal_id is distinct from item.proposal_id
            or before.parties::json::text is distinct from item.parties::json::text or before.amount is distinct from item.amount
            or before.start_date is distinct from item.start_date or before.end_date is distinct from item.end_date
            or before.payment_day is distinct from item.payment_day or before.adjustment_index is distinct from item.adjustment_index
            or before.guarantee::json::text is distinct from item.guarantee::json::text
            or before.commission::json::text is distinct from item.commission::json::text
            or before.management_fee_bps is distinct from item.management_fee_bps or before.notes is distinct from item.notes
            or before.status is distinct from item.status or before.signed_at is distinct from case item.item_timestamp_field
            when 'signed_at' then item.item_now else t.signed_at end or before.terminated_at is distinct from case item.item_timestamp_field
            when 'terminated_at' then item.item_now else t.terminated_at end
            or before.termination_reason is distinct from item.termination_reason or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $26 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $26, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $26 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
effect as (
    update neoapi.property o
    set status = $31, updated_at = greatest(updated.item_now, target.updated_at + interval '1 millisecond'), updated_by = $30
    from updated, target
    where o.organization_id = $26 and o.id = target.id
    returning o.*, updated.item_now),
event_effect as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $26, 'property.updated', r.id, neoapi.event_time(r.item_now), $30, $32, '{' || concat_ws(',', '"id":' || to_json(r.id),
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
    from effect r
    left join target o on o.id = r.id
    returning id, resource_id, created_at, payload, changed, previous),
matched_effect as (
    select $26 as organization_id, $33 || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id, e.created_at as event_at,
        r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event_effect e
    join effect r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $26 and s.pattern = any ('{property.updated,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($26, 'property.updated', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $26 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $26 and w.id = s.id
        limit 1) o),
queued_deliveries_effect as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.updated', event_at, created_at
    from matched_effect
    returning 1),
queued_effect as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_effect),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $26, 'contract.updated', r.id, neoapi.event_time(r.item_now), $30, $32, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"number":' || to_json(r.number), '"property_id":' || to_json(r.property_id),
        '"proposal_id":' || to_json(r.proposal_id), '"parties":' || r.parties, '"amount":' || r.amount,
        '"start_date":' || to_json(r.start_date), '"end_date":' || to_json(r.end_date), '"payment_day":' || r.payment_day,
        '"adjustment_index":' || to_json(r.adjustment_index), '"guarantee":' || r.guarantee, '"commission":' || r.commission,
        '"management_fee_bps":' || r.management_fee_bps, '"notes":' || to_json(r.notes), '"status":' || to_json(r.status),
        '"signed_at":' || '"' || neoapi.format_timestamp(r.signed_at) || '"',
        '"terminated_at":' || '"' || neoapi.format_timestamp(r.terminated_at) || '"',
        '"termination_reason":' || to_json(r.termination_reason), '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.number is distinct from r.number then 'number' end,
        case when o.property_id is distinct from r.property_id then 'property_id' end,
        case when o.proposal_id is distinct from r.proposal_id then 'proposal_id' end,
        case when o.parties::json::text is distinct from r.parties::json::text then 'parties' end,
        case when o.amount is distinct from r.amount then 'amount' end,
        case when o.start_date is distinct from r.start_date then 'start_date' end,
        case when o.end_date is distinct from r.end_date then 'end_date' end,
        case when o.payment_day is distinct from r.payment_day then 'payment_day' end,
        case when o.adjustment_index is distinct from r.adjustment_index then 'adjustment_index' end,
        case when o.guarantee::json::text is distinct from r.guarantee::json::text then 'guarantee' end,
        case when o.commission::json::text is distinct from r.commission::json::text then 'commission' end,
        case when o.management_fee_bps is distinct from r.management_fee_bps then 'management_fee_bps' end,
        case when o.notes is distinct from r.notes then 'notes' end, case when o.status is distinct from r.status then 'status' end,
        case when o.signed_at is distinct from r.signed_at then 'signed_at' end,
        case when o.terminated_at is distinct from r.terminated_at then 'terminated_at' end,
        case when o.termination_reason is distinct from r.termination_reason then 'termination_reason' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.number is distinct from r.number then '"number":' || coalesce((to_json(o.number))::text, 'null') end,
        case when o.property_id is distinct from r.property_id then '"property_id":' || coalesce((to_json(o.property_id))::text, 'null') end,
        case when o.proposal_id is distinct from r.proposal_id then '"proposal_id":' || coalesce((to_json(o.proposal_id))::text, 'null') end,
        case when o.parties::json::text is distinct from r.parties::json::text then '"parties":' || coalesce((o.parties)::text, 'null') end,
        case when o.amount is distinct from r.amount then '"amount":' || coalesce((o.amount)::text, 'null') end,
        case when o.start_date is distinct from r.start_date then '"start_date":' || coalesce((to_json(o.start_date))::text, 'null') end,
        case when o.end_date is distinct from r.end_date then '"end_date":' || coalesce((to_json(o.end_date))::text, 'null') end,
        case when o.payment_day is distinct from r.payment_day then '"payment_day":' || coalesce((o.payment_day)::text, 'null') end,
        case when o.adjustment_index is distinct from r.adjustment_index then '"adjustment_index":' || coalesce((to_json(o.adjustment_index))::text, 'null') end,
        case when o.guarantee::json::text is distinct from r.guarantee::json::text then '"guarantee":' || coalesce((o.guarantee)::text, 'null') end,
        case when o.commission::json::text is distinct from r.commission::json::text then '"commission":' || coalesce((o.commission)::text, 'null') end,
        case when o.management_fee_bps is distinct from r.management_fee_bps then '"management_fee_bps":' || coalesce((o.management_fee_bps)::text, 'null') end,
        case when o.notes is distinct from r.notes then '"notes":' || coalesce((to_json(o.notes))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.signed_at is distinct from r.signed_at then '"signed_at":' || coalesce(('"' || neoapi.format_timestamp(o.signed_at) || '"')::text, 'null') end,
        case when o.terminated_at is distinct from r.terminated_at then '"terminated_at":' || coalesce(('"' || neoapi.format_timestamp(o.terminated_at) || '"')::text, 'null') end,
        case when o.termination_reason is distinct from r.termination_reason then '"termination_reason":' || coalesce((to_json(o.termination_reason))::text, 'null') end,
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
    select $26 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $26 and s.pattern = any ('{contract.updated,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($26, 'contract.updated', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $26 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $26 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.updated', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries) + (select count(*) from queued_deliveries_effect), null, item_number
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
prepare contract_delete_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now,
        $4::text as item_cleared_block),
used as materialized (
    select item_number, (
        select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',')
        from (values ('document', 'doc_')) as k (kind, prefix)
        cross join lateral (
            select r.source_id, r.path
            from neoapi.reference r
            where r.organization_id = $5 and r.contract_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'
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
    delete from neoapi.contract t using item
    where t.organization_id = $5 and t.id = item.item_id and t.xmin = $6::xid and not exists (
        select
        from used
        where used.item_number = item.item_number and users is not null)
    returning t.id, t.representation, t.kind, t.number, t.property_id, t.proposal_id, t.parties, t.amount, t.start_date, t.end_date,
        t.payment_day, t.adjustment_index, t.guarantee, t.commission, t.management_fee_bps, t.notes, t.status, t.signed_at, t.terminated_at,
        t.termination_reason, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by,
        t.updated_by, item.item_number, item.item_id_block, item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $5 and r.source_id = deleted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $5, 'contract.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"number":' || to_json(r.number), '"property_id":' || to_json(r.property_id),
        '"proposal_id":' || to_json(r.proposal_id), '"parties":' || r.parties, '"amount":' || r.amount,
        '"start_date":' || to_json(r.start_date), '"end_date":' || to_json(r.end_date), '"payment_day":' || r.payment_day,
        '"adjustment_index":' || to_json(r.adjustment_index), '"guarantee":' || r.guarantee, '"commission":' || r.commission,
        '"management_fee_bps":' || r.management_fee_bps, '"notes":' || to_json(r.notes), '"status":' || to_json(r.status),
        '"signed_at":' || '"' || neoapi.format_timestamp(r.signed_at) || '"',
        '"terminated_at":' || '"' || neoapi.format_timestamp(r.terminated_at) || '"',
        '"termination_reason":' || to_json(r.termination_reason), '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
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
        where s.organization_id = $5 and s.pattern = any ('{contract.deleted,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($5, 'contract.deleted', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $5 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $5 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.deleted', event_at, created_at
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
prepare contract_lock_organization as
select pg_advisory_xact_lock(hashtext('neoapi.batch.contract'), hashtext($1::text));

-- $1 item_number[], $2 id[], $3 organization
prepare contract_lock_rows as
with item as materialized (
    select *
    from unnest($1::text[]::int[], $2::text[]) as i (item_number, item_id)),
wanted as materialized (select item_id as id from item)
select item.item_number, t.representation
from wanted
join neoapi.contract t on t.organization_id = $3 and t.id = wanted.id
left join item on item.item_id = t.id
order by t.id
for no key update of t;

-- $1 id[], $2 target[], $3 organization
prepare contract_lock_targets as
with item as materialized (
    select *
    from unnest($1::text[], $2::text[]) as i (item_id, item_target)),
wanted as materialized (
    select t.property_id as id
    from item
    join neoapi.contract t on t.organization_id = $3 and t.id = item.item_id
    union
    select item_target
    from item)
select o.id
from wanted
join neoapi.property o on o.organization_id = $3 and o.id = wanted.id
order by o.id
for no key update of o;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 number[], $7 property_id[], $8 proposal_id[], $9 parties[], $10 amount[],
-- $11 start_date[], $12 end_date[], $13 payment_day[], $14 adjustment_index[], $15 guarantee[], $16 commission[], $17 management_fee_bps[],
-- $18 notes[], $19 status[], $20 termination_reason[], $21 external_id[], $22 metadata[], $23 timestamp_field[], $24 representation[],
-- $25 payload[], $26 numbers, $27 paths, $28 targets, $29 organization, $30 tenant, $31 actor, $32 request
prepare contract_create_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as number, unnest($7::text[])::text as property_id, unnest($8::text[])::text as proposal_id,
        unnest($9::text[])::json as parties, unnest($10::text[])::bigint as amount, unnest($11::text[])::date as start_date,
        unnest($12::text[])::date as end_date, unnest($13::text[])::bigint as payment_day, unnest($14::text[])::text as adjustment_index,
        unnest($15::text[])::json as guarantee, unnest($16::text[])::json as commission, unnest($17::text[])::bigint as management_fee_bps,
        unnest($18::text[])::text as notes, unnest($19::text[])::text as status, unnest($20::text[])::text as termination_reason,
        unnest($21::text[])::text as external_id, unnest($22::text[])::json as metadata, unnest($23::text[])::text as item_timestamp_field,
        unnest($24::text[])::text as representation, unnest($25::text[])::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($26::int[], $27::text[], $28::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $29 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $29 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $29 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $29 and o.id = target) end is null),
inserted as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        number, property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select $29, item.item_id, $30, item.item_now, item.item_now, $31, $31, item.representation, item.kind, item.number, item.property_id,
        item.proposal_id, item.parties, item.amount, item.start_date, item.end_date, item.payment_day, item.adjustment_index, item.guarantee,
        item.commission, item.management_fee_bps, item.notes, item.status, case item.item_timestamp_field
        when 'signed_at' then item.item_now end, case item.item_timestamp_field when 'terminated_at' then item.item_now end,
        item.termination_reason, item.external_id, item.metadata
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
    select $29, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $29, 'contract.created', r.id, neoapi.event_time(r.item_now), $31, $32, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $29 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $29 and s.pattern = any ('{contract.created,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($29, 'contract.created', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $29 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $29 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.created', event_at, created_at
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

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 number[], $7 property_id[], $8 proposal_id[], $9 parties[], $10 amount[],
-- $11 start_date[], $12 end_date[], $13 payment_day[], $14 adjustment_index[], $15 guarantee[], $16 commission[], $17 management_fee_bps[],
-- $18 notes[], $19 status[], $20 termination_reason[], $21 external_id[], $22 metadata[], $23 timestamp_field[], $24 representation[],
-- $25 payload[], $26 numbers, $27 paths, $28 targets, $29 organization, $30 tenant, $31 actor, $32 request
prepare contract_create_rows_strict as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as number, unnest($7::text[])::text as property_id, unnest($8::text[])::text as proposal_id,
        unnest($9::text[])::json as parties, unnest($10::text[])::bigint as amount, unnest($11::text[])::date as start_date,
        unnest($12::text[])::date as end_date, unnest($13::text[])::bigint as payment_day, unnest($14::text[])::text as adjustment_index,
        unnest($15::text[])::json as guarantee, unnest($16::text[])::json as commission, unnest($17::text[])::bigint as management_fee_bps,
        unnest($18::text[])::text as notes, unnest($19::text[])::text as status, unnest($20::text[])::text as termination_reason,
        unnest($21::text[])::text as external_id, unnest($22::text[])::json as metadata, unnest($23::text[])::text as item_timestamp_field,
        unnest($24::text[])::text as representation, unnest($25::text[])::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($26::int[], $27::text[], $28::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $29 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $29 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $29 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $29 and o.id = target) end is null),
inserted as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        number, property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select $29, item.item_id, $30, item.item_now, item.item_now, $31, $31, item.representation, item.kind, item.number, item.property_id,
        item.proposal_id, item.parties, item.amount, item.start_date, item.end_date, item.payment_day, item.adjustment_index, item.guarantee,
        item.commission, item.management_fee_bps, item.notes, item.status, case item.item_timestamp_field
        when 'signed_at' then item.item_now end, case item.item_timestamp_field when 'terminated_at' then item.item_now end,
        item.termination_reason, item.external_id, item.metadata
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
    select $29, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $29, 'contract.created', r.id, neoapi.event_time(r.item_now), $31, $32, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $29 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $29 and s.pattern = any ('{contract.created,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($29, 'contract.created', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $29 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $29 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.created', event_at, created_at
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

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 number[], $7 property_id[], $8 proposal_id[], $9 parties[], $10 amount[],
-- $11 start_date[], $12 end_date[], $13 payment_day[], $14 adjustment_index[], $15 guarantee[], $16 commission[], $17 management_fee_bps[],
-- $18 notes[], $19 status[], $20 termination_reason[], $21 external_id[], $22 metadata[], $23 timestamp_field[], $24 representation[],
-- $25 payload[], $26 organization[], $27 tenant[], $28 actor[], $29 request[], $30 credential[], $31 key[], $32 hash[], $33 numbers,
-- $34 paths, $35 targets
prepare contract_create_group as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as number, unnest($7::text[])::text as property_id, unnest($8::text[])::text as proposal_id,
        unnest($9::text[])::json as parties, unnest($10::text[])::bigint as amount, unnest($11::text[])::date as start_date,
        unnest($12::text[])::date as end_date, unnest($13::text[])::bigint as payment_day, unnest($14::text[])::text as adjustment_index,
        unnest($15::text[])::json as guarantee, unnest($16::text[])::json as commission, unnest($17::text[])::bigint as management_fee_bps,
        unnest($18::text[])::text as notes, unnest($19::text[])::text as status, unnest($20::text[])::text as termination_reason,
        unnest($21::text[])::text as external_id, unnest($22::text[])::json as metadata, unnest($23::text[])::text as item_timestamp_field,
        unnest($24::text[])::text as representation, unnest($25::text[])::text as item_payload,
        unnest($26::text[])::text collate "C" as item_organization, unnest($27::text[])::text collate "C" as item_tenant,
        unnest($28::text[])::text collate "C" as item_actor, unnest($29::text[])::text collate "C" as item_request,
        unnest($30::text[])::text collate "C" as item_credential, unnest($31::text[])::text collate "C" as item_key,
        unnest($32::text[])::text collate "C" as item_hash
    where (select set_config('lock_timeout', '50', true)) is not null),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($33::int[], $34::text[], $35::text[]) as r (item_number, path, target)),
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
        where o.organization_id = item_organization and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = item_organization and o.id = target) end is null),
inserted as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        number, property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select item_organization, item.item_id, item_tenant, item.item_now, item.item_now, item_actor, item_actor, item.representation,
        item.kind, item.number, item.property_id, item.proposal_id, item.parties, item.amount, item.start_date, item.end_date,
        item.payment_day, item.adjustment_index, item.guarantee, item.commission, item.management_fee_bps, item.notes, item.status,
        case item.item_timestamp_field when 'signed_at' then item.item_now end, case item.item_timestamp_field
        when 'terminated_at' then item.item_now end, item.termination_reason, item.external_id, item.metadata
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
    select item_organization, 'contract.created', r.id, neoapi.event_time(r.item_now), item_actor, item_request, r.item_payload
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
        where s.organization_id = item_organization and s.pattern = any ('{contract.created,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match(item_organization, 'contract.created', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = item_organization and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = item_organization and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 number[], $7 property_id[], $8 proposal_id[], $9 parties[], $10 amount[],
-- $11 start_date[], $12 end_date[], $13 payment_day[], $14 adjustment_index[], $15 guarantee[], $16 commission[], $17 management_fee_bps[],
-- $18 notes[], $19 status[], $20 termination_reason[], $21 external_id[], $22 metadata[], $23 timestamp_field[], $24 numbers, $25 paths,
-- $26 targets, $27 organization, $28 target, $29 target_version, $30 actor, $31 target_status, $32 request, $33 target_id_block
prepare contract_update_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as number, unnest($7::text[])::text as property_id, unnest($8::text[])::text as proposal_id,
        unnest($9::text[])::json as parties, unnest($10::text[])::bigint as amount, unnest($11::text[])::date as start_date,
        unnest($12::text[])::date as end_date, unnest($13::text[])::bigint as payment_day, unnest($14::text[])::text as adjustment_index,
        unnest($15::text[])::json as guarantee, unnest($16::text[])::json as commission, unnest($17::text[])::bigint as management_fee_bps,
        unnest($18::text[])::text as notes, unnest($19::text[])::text as status, unnest($20::text[])::text as termination_reason,
        unnest($21::text[])::text as external_id, unnest($22::text[])::json as metadata, unnest($23::text[])::text as item_timestamp_field),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($24::int[], $25::text[], $26::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $27 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $27 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $27 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $27 and o.id = target) end is null),
target as materialized (
    select o.*
    from neoapi.property o
    where o.organization_id = $27 and o.id = $28 and o.xmin = $29::xid
    for no key update of o),
before as materialized (
    select t.*
    from item
    join neoapi.contract t on t.organization_id = $27 and t.id = item.item_id and ($28::text is null or exists (select from target))
    order by t.id
    for no key update of t),
updated as (
    update neoapi.contract t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $30, kind = item.kind,
        number = item.number, property_id = item.property_id, proposal_id = item.proposal_id, parties = item.parties, amount = item.amount,
        start_date = item.start_date, end_date = item.end_date, payment_day = item.payment_day, adjustment_index = item.adjustment_index,
        guarantee = item.guarantee, commission = item.commission, management_fee_bps = item.management_fee_bps, notes = item.notes,
        status = item.status, signed_at = case item.item_timestamp_field when 'signed_at' then item.item_now else t.signed_at end,
        terminated_at = case item.item_timestamp_field when 'terminated_at' then item.item_now else t.terminated_at end,
        termination_reason = item.termination_reason, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $27 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.kind is distinct from item.kind or before.number is distinct from item.number
            or before.property_id is distinct from item.property_id or before.proposal_id is distinct from item.proposal_id
            or before.parties::json::text is distinct from item.parties::json::text or before.amount is distinct from item.amount
            or before.start_date is distinct from item.start_date or before.end_date is distinct from item.end_date
            or before.payment_day is distinct from item.payment_day or before.adjustment_index is distinct from item.adjustment_index
            or before.guarantee::json::text is distinct from item.guarantee::json::text
            or before.commission::json::text is distinct from item.commission::json::text
            or before.management_fee_bps is distinct from item.management_fee_bps or before.notes is distinct from item.notes
            or before.status is distinct from item.status or before.signed_at is distinct from case item.item_timestamp_field
            when 'signed_at' then item.item_now else t.signed_at end or before.terminated_at is distinct from case item.item_timestamp_field
            when 'terminated_at' then item.item_now else t.terminated_at end
            or before.termination_reason is distinct from item.termination_reason or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $27 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $27, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $27 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
effect as (
    update neoapi.property o
    set status = $31, updated_at = greatest(updated.item_now, target.updated_at + interval '1 millisecond'), updated_by = $30
    from updated, target
    where o.organization_id = $27 and o.id = target.id
    returning o.*, updated.item_now),
event_effect as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $27, 'property.updated', r.id, neoapi.event_time(r.item_now), $30, $32, '{' || concat_ws(',', '"id":' || to_json(r.id),
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
    from effect r
    left join target o on o.id = r.id
    returning id, resource_id, created_at, payload, changed, previous),
matched_effect as (
    select $27 as organization_id, $33 || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id, e.created_at as event_at,
        r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event_effect e
    join effect r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $27 and s.pattern = any ('{property.updated,property.*,*}') and s.key = '' and s.is_active
            and 'property' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($27, 'property.updated', e.payload, e.previous, e.changed,
            '{"ids":"id","state":"address.state","city":"address.city","neighborhood":"address.neighborhood","owner_id":"owners.party_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $27 and h.kind = 'property')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $27 and w.id = s.id
        limit 1) o),
queued_deliveries_effect as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'property.updated', event_at, created_at
    from matched_effect
    returning 1),
queued_effect as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_effect),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $27, 'contract.updated', r.id, neoapi.event_time(r.item_now), $30, $32, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"number":' || to_json(r.number), '"property_id":' || to_json(r.property_id),
        '"proposal_id":' || to_json(r.proposal_id), '"parties":' || r.parties, '"amount":' || r.amount,
        '"start_date":' || to_json(r.start_date), '"end_date":' || to_json(r.end_date), '"payment_day":' || r.payment_day,
        '"adjustment_index":' || to_json(r.adjustment_index), '"guarantee":' || r.guarantee, '"commission":' || r.commission,
        '"management_fee_bps":' || r.management_fee_bps, '"notes":' || to_json(r.notes), '"status":' || to_json(r.status),
        '"signed_at":' || '"' || neoapi.format_timestamp(r.signed_at) || '"',
        '"terminated_at":' || '"' || neoapi.format_timestamp(r.terminated_at) || '"',
        '"termination_reason":' || to_json(r.termination_reason), '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.number is distinct from r.number then 'number' end,
        case when o.property_id is distinct from r.property_id then 'property_id' end,
        case when o.proposal_id is distinct from r.proposal_id then 'proposal_id' end,
        case when o.parties::json::text is distinct from r.parties::json::text then 'parties' end,
        case when o.amount is distinct from r.amount then 'amount' end,
        case when o.start_date is distinct from r.start_date then 'start_date' end,
        case when o.end_date is distinct from r.end_date then 'end_date' end,
        case when o.payment_day is distinct from r.payment_day then 'payment_day' end,
        case when o.adjustment_index is distinct from r.adjustment_index then 'adjustment_index' end,
        case when o.guarantee::json::text is distinct from r.guarantee::json::text then 'guarantee' end,
        case when o.commission::json::text is distinct from r.commission::json::text then 'commission' end,
        case when o.management_fee_bps is distinct from r.management_fee_bps then 'management_fee_bps' end,
        case when o.notes is distinct from r.notes then 'notes' end, case when o.status is distinct from r.status then 'status' end,
        case when o.signed_at is distinct from r.signed_at then 'signed_at' end,
        case when o.terminated_at is distinct from r.terminated_at then 'terminated_at' end,
        case when o.termination_reason is distinct from r.termination_reason then 'termination_reason' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.number is distinct from r.number then '"number":' || coalesce((to_json(o.number))::text, 'null') end,
        case when o.property_id is distinct from r.property_id then '"property_id":' || coalesce((to_json(o.property_id))::text, 'null') end,
        case when o.proposal_id is distinct from r.proposal_id then '"proposal_id":' || coalesce((to_json(o.proposal_id))::text, 'null') end,
        case when o.parties::json::text is distinct from r.parties::json::text then '"parties":' || coalesce((o.parties)::text, 'null') end,
        case when o.amount is distinct from r.amount then '"amount":' || coalesce((o.amount)::text, 'null') end,
        case when o.start_date is distinct from r.start_date then '"start_date":' || coalesce((to_json(o.start_date))::text, 'null') end,
        case when o.end_date is distinct from r.end_date then '"end_date":' || coalesce((to_json(o.end_date))::text, 'null') end,
        case when o.payment_day is distinct from r.payment_day then '"payment_day":' || coalesce((o.payment_day)::text, 'null') end,
        case when o.adjustment_index is distinct from r.adjustment_index then '"adjustment_index":' || coalesce((to_json(o.adjustment_index))::text, 'null') end,
        case when o.guarantee::json::text is distinct from r.guarantee::json::text then '"guarantee":' || coalesce((o.guarantee)::text, 'null') end,
        case when o.commission::json::text is distinct from r.commission::json::text then '"commission":' || coalesce((o.commission)::text, 'null') end,
        case when o.management_fee_bps is distinct from r.management_fee_bps then '"management_fee_bps":' || coalesce((o.management_fee_bps)::text, 'null') end,
        case when o.notes is distinct from r.notes then '"notes":' || coalesce((to_json(o.notes))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.signed_at is distinct from r.signed_at then '"signed_at":' || coalesce(('"' || neoapi.format_timestamp(o.signed_at) || '"')::text, 'null') end,
        case when o.terminated_at is distinct from r.terminated_at then '"terminated_at":' || coalesce(('"' || neoapi.format_timestamp(o.terminated_at) || '"')::text, 'null') end,
        case when o.termination_reason is distinct from r.termination_reason then '"termination_reason":' || coalesce((to_json(o.termination_reason))::text, 'null') end,
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
    select $27 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $27 and s.pattern = any ('{contract.updated,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($27, 'contract.updated', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $27 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $27 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.updated', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries) + (select count(*) from queued_deliveries_effect), null, item_number
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
prepare contract_delete_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now,
        unnest($5::text[])::text as item_cleared_block),
used as materialized (
    select item_number, (
        select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',')
        from (values ('document', 'doc_')) as k (kind, prefix)
        cross join lateral (
            select r.source_id, r.path
            from neoapi.reference r
            where r.organization_id = $6 and r.contract_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'
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
    delete from neoapi.contract t using item
    where t.organization_id = $6 and t.id = item.item_id and not exists (
        select
        from used
        where used.item_number = item.item_number and users is not null)
    returning t.id, t.representation, t.kind, t.number, t.property_id, t.proposal_id, t.parties, t.amount, t.start_date, t.end_date,
        t.payment_day, t.adjustment_index, t.guarantee, t.commission, t.management_fee_bps, t.notes, t.status, t.signed_at, t.terminated_at,
        t.termination_reason, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by,
        t.updated_by, item.item_number, item.item_id_block, item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $6 and r.source_id = deleted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $6, 'contract.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"number":' || to_json(r.number), '"property_id":' || to_json(r.property_id),
        '"proposal_id":' || to_json(r.proposal_id), '"parties":' || r.parties, '"amount":' || r.amount,
        '"start_date":' || to_json(r.start_date), '"end_date":' || to_json(r.end_date), '"payment_day":' || r.payment_day,
        '"adjustment_index":' || to_json(r.adjustment_index), '"guarantee":' || r.guarantee, '"commission":' || r.commission,
        '"management_fee_bps":' || r.management_fee_bps, '"notes":' || to_json(r.notes), '"status":' || to_json(r.status),
        '"signed_at":' || '"' || neoapi.format_timestamp(r.signed_at) || '"',
        '"terminated_at":' || '"' || neoapi.format_timestamp(r.terminated_at) || '"',
        '"termination_reason":' || to_json(r.termination_reason), '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
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
        where s.organization_id = $6 and s.pattern = any ('{contract.deleted,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($6, 'contract.deleted', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $6 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $6 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.deleted', event_at, created_at
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

prepare contract_list_ids as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_created_gte as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.id >= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_created_lte as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.id <= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_updated_gte as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.updated_at >= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_updated_lte as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.updated_at <= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_kind as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.kind in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_status as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.status in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_property_id as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.property_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_party_id as
select t.representation
from (
    select distinct on (r.source_id) r.source_id
    from (
        (
            select r.source_id
            from neoapi.reference r
            where r.organization_id = $1 and (r.party_id = $3) and r.source_id > 'ctr_' and r.source_id < 'ctr_~'
                and r.field = 'parties.party_id'
            order by r.source_id desc)) r
    order by r.source_id desc) r
cross join lateral (
    select t.*
    from neoapi.contract t
    where t.organization_id = $1 and t.id = r.source_id and (not $4::boolean or neoapi.force_custom_plan())
    offset 0) t
order by r.source_id desc
limit $2::int;

prepare contract_list_broker_id as
select t.representation
from (
    select distinct on (r.source_id) r.source_id
    from (
        (
            select r.source_id
            from neoapi.reference r
            where r.organization_id = $1 and (r.broker_id = $3) and r.source_id > 'ctr_' and r.source_id < 'ctr_~'
                and r.field = 'commission.splits.broker_id'
            order by r.source_id desc)) r
    order by r.source_id desc) r
cross join lateral (
    select t.*
    from neoapi.contract t
    where t.organization_id = $1 and t.id = r.source_id and (not $4::boolean or neoapi.force_custom_plan())
    offset 0) t
order by r.source_id desc
limit $2::int;

prepare contract_list_number as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.number in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_end_date_lte as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.end_date <= ($3::date) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_external_id as
select t.representation
from neoapi.contract t
where t.organization_id = $1 and t.external_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare contract_list_by_change as
select t.representation, false, (extract(epoch from t.updated_at) * 1000000)::bigint, null
from neoapi.contract t
where t.organization_id = $1 and (not $3::boolean or neoapi.force_custom_plan())
order by t.updated_at desc, t.id desc
limit $2::int;

prepare contract_list_by_change_further as
select p.answer, e.id is not null, p.position, (
    select count(*)
    from (
        select t.id
        from neoapi.contract t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan())
        order by t.id desc
        limit 10000 + 1) c)
from (
    select (
        select t.id
        from neoapi.contract t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
            t.id) >= (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
        order by t.updated_at asc, t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, (extract(epoch from t.updated_at) * 1000000)::bigint as position
    from neoapi.contract t
    where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
        t.id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
    order by t.updated_at desc, t.id desc
    limit $2::int) p on true
order by p.position desc, p.id desc;

prepare contract_export as
select t.representation
from neoapi.contract t
where t.organization_id = $1
order by t.id desc
limit all;

prepare contract_find_number as
select t.id
from neoapi.contract t
where t.organization_id = $1 and t.number = $2 and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

prepare contract_find_external_id as
select t.id
from neoapi.contract t
where t.organization_id = $1 and t.external_id = $2 and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

-- contract_representation
create or replace function neoapi.contract_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"number":' || to_json(new.number),
        '"property_id":' || to_json(new.property_id),
        '"proposal_id":' || to_json(new.proposal_id),
        '"parties":' || new.parties,
        '"amount":' || new.amount,
        '"start_date":' || to_json(new.start_date),
        '"end_date":' || to_json(new.end_date),
        '"payment_day":' || new.payment_day,
        '"adjustment_index":' || to_json(new.adjustment_index),
        '"guarantee":' || new.guarantee,
        '"commission":' || new.commission,
        '"management_fee_bps":' || new.management_fee_bps,
        '"notes":' || to_json(new.notes),
        '"status":' || to_json(new.status),
        '"signed_at":' || '"' || neoapi.format_timestamp(new.signed_at) || '"',
        '"terminated_at":' || '"' || neoapi.format_timestamp(new.terminated_at) || '"',
        '"termination_reason":' || to_json(new.termination_reason),
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
create or replace trigger set_representation before update on neoapi.contract for each row execute function neoapi.contract_set_representation();
create or replace trigger set_representation_if_null before insert on neoapi.contract for each row when (new.representation is null) execute function neoapi.contract_set_representation();

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor
prepare contract_import as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'contract' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.contract, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.contract t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.contract t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), kind = item.kind,
        number = item.number, property_id = item.property_id, proposal_id = item.proposal_id, parties = item.parties, amount = item.amount,
        start_date = item.start_date, end_date = item.end_date, payment_day = item.payment_day, adjustment_index = item.adjustment_index,
        guarantee = item.guarantee, commission = item.commission, management_fee_bps = item.management_fee_bps, notes = item.notes,
        status = item.status, signed_at = item.signed_at, terminated_at = item.terminated_at, termination_reason = item.termination_reason,
        external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.kind is distinct from item.kind or before.number is distinct from item.number
        or before.property_id is distinct from item.property_id or before.proposal_id is distinct from item.proposal_id
        or before.parties::json::text is distinct from item.parties::json::text or before.amount is distinct from item.amount
        or before.start_date is distinct from item.start_date or before.end_date is distinct from item.end_date
        or before.payment_day is distinct from item.payment_day or before.adjustment_index is distinct from item.adjustment_index
        or before.guarantee::json::text is distinct from item.guarantee::json::text
        or before.commission::json::text is distinct from item.commission::json::text
        or before.management_fee_bps is distinct from item.management_fee_bps or before.notes is distinct from item.notes
        or before.status is distinct from item.status or before.signed_at is distinct from item.signed_at
        or before.terminated_at is distinct from item.terminated_at or before.termination_reason is distinct from item.termination_reason
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, kind, number,
        property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.kind, item.number, item.property_id, item.proposal_id,
        item.parties, item.amount, item.start_date, item.end_date, item.payment_day, item.adjustment_index, item.guarantee, item.commission,
        item.management_fee_bps, item.notes, item.status, item.signed_at, item.terminated_at, item.termination_reason, item.external_id,
        item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.kind, t.number, t.property_id, t.proposal_id, t.parties, t.amount, t.start_date, t.end_date,
        t.payment_day, t.adjustment_index, t.guarantee, t.commission, t.management_fee_bps, t.notes, t.status, t.signed_at, t.terminated_at,
        t.termination_reason, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by,
        t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor, $6 request
prepare contract_import_with_events as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'contract' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.contract, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.contract t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.contract t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), kind = item.kind,
        number = item.number, property_id = item.property_id, proposal_id = item.proposal_id, parties = item.parties, amount = item.amount,
        start_date = item.start_date, end_date = item.end_date, payment_day = item.payment_day, adjustment_index = item.adjustment_index,
        guarantee = item.guarantee, commission = item.commission, management_fee_bps = item.management_fee_bps, notes = item.notes,
        status = item.status, signed_at = item.signed_at, terminated_at = item.terminated_at, termination_reason = item.termination_reason,
        external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.kind is distinct from item.kind or before.number is distinct from item.number
        or before.property_id is distinct from item.property_id or before.proposal_id is distinct from item.proposal_id
        or before.parties::json::text is distinct from item.parties::json::text or before.amount is distinct from item.amount
        or before.start_date is distinct from item.start_date or before.end_date is distinct from item.end_date
        or before.payment_day is distinct from item.payment_day or before.adjustment_index is distinct from item.adjustment_index
        or before.guarantee::json::text is distinct from item.guarantee::json::text
        or before.commission::json::text is distinct from item.commission::json::text
        or before.management_fee_bps is distinct from item.management_fee_bps or before.notes is distinct from item.notes
        or before.status is distinct from item.status or before.signed_at is distinct from item.signed_at
        or before.terminated_at is distinct from item.terminated_at or before.termination_reason is distinct from item.termination_reason
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, kind, number,
        property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.kind, item.number, item.property_id, item.proposal_id,
        item.parties, item.amount, item.start_date, item.end_date, item.payment_day, item.adjustment_index, item.guarantee, item.commission,
        item.management_fee_bps, item.notes, item.status, item.signed_at, item.terminated_at, item.termination_reason, item.external_id,
        item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.kind, t.number, t.property_id, t.proposal_id, t.parties, t.amount, t.start_date, t.end_date,
        t.payment_day, t.adjustment_index, t.guarantee, t.commission, t.management_fee_bps, t.notes, t.status, t.signed_at, t.terminated_at,
        t.termination_reason, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by,
        t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $3, 'contract.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"number":' || to_json(r.number), '"property_id":' || to_json(r.property_id),
        '"proposal_id":' || to_json(r.proposal_id), '"parties":' || r.parties, '"amount":' || r.amount,
        '"start_date":' || to_json(r.start_date), '"end_date":' || to_json(r.end_date), '"payment_day":' || r.payment_day,
        '"adjustment_index":' || to_json(r.adjustment_index), '"guarantee":' || r.guarantee, '"commission":' || r.commission,
        '"management_fee_bps":' || r.management_fee_bps, '"notes":' || to_json(r.notes), '"status":' || to_json(r.status),
        '"signed_at":' || '"' || neoapi.format_timestamp(r.signed_at) || '"',
        '"terminated_at":' || '"' || neoapi.format_timestamp(r.terminated_at) || '"',
        '"termination_reason":' || to_json(r.termination_reason), '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', true
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous, is_silent)
    select $3, 'contract.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"number":' || to_json(r.number), '"property_id":' || to_json(r.property_id),
        '"proposal_id":' || to_json(r.proposal_id), '"parties":' || r.parties, '"amount":' || r.amount,
        '"start_date":' || to_json(r.start_date), '"end_date":' || to_json(r.end_date), '"payment_day":' || r.payment_day,
        '"adjustment_index":' || to_json(r.adjustment_index), '"guarantee":' || r.guarantee, '"commission":' || r.commission,
        '"management_fee_bps":' || r.management_fee_bps, '"notes":' || to_json(r.notes), '"status":' || to_json(r.status),
        '"signed_at":' || '"' || neoapi.format_timestamp(r.signed_at) || '"',
        '"terminated_at":' || '"' || neoapi.format_timestamp(r.terminated_at) || '"',
        '"termination_reason":' || to_json(r.termination_reason), '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.number is distinct from r.number then 'number' end,
        case when o.property_id is distinct from r.property_id then 'property_id' end,
        case when o.proposal_id is distinct from r.proposal_id then 'proposal_id' end,
        case when o.parties::json::text is distinct from r.parties::json::text then 'parties' end,
        case when o.amount is distinct from r.amount then 'amount' end,
        case when o.start_date is distinct from r.start_date then 'start_date' end,
        case when o.end_date is distinct from r.end_date then 'end_date' end,
        case when o.payment_day is distinct from r.payment_day then 'payment_day' end,
        case when o.adjustment_index is distinct from r.adjustment_index then 'adjustment_index' end,
        case when o.guarantee::json::text is distinct from r.guarantee::json::text then 'guarantee' end,
        case when o.commission::json::text is distinct from r.commission::json::text then 'commission' end,
        case when o.management_fee_bps is distinct from r.management_fee_bps then 'management_fee_bps' end,
        case when o.notes is distinct from r.notes then 'notes' end, case when o.status is distinct from r.status then 'status' end,
        case when o.signed_at is distinct from r.signed_at then 'signed_at' end,
        case when o.terminated_at is distinct from r.terminated_at then 'terminated_at' end,
        case when o.termination_reason is distinct from r.termination_reason then 'termination_reason' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.number is distinct from r.number then '"number":' || coalesce((to_json(o.number))::text, 'null') end,
        case when o.property_id is distinct from r.property_id then '"property_id":' || coalesce((to_json(o.property_id))::text, 'null') end,
        case when o.proposal_id is distinct from r.proposal_id then '"proposal_id":' || coalesce((to_json(o.proposal_id))::text, 'null') end,
        case when o.parties::json::text is distinct from r.parties::json::text then '"parties":' || coalesce((o.parties)::text, 'null') end,
        case when o.amount is distinct from r.amount then '"amount":' || coalesce((o.amount)::text, 'null') end,
        case when o.start_date is distinct from r.start_date then '"start_date":' || coalesce((to_json(o.start_date))::text, 'null') end,
        case when o.end_date is distinct from r.end_date then '"end_date":' || coalesce((to_json(o.end_date))::text, 'null') end,
        case when o.payment_day is distinct from r.payment_day then '"payment_day":' || coalesce((o.payment_day)::text, 'null') end,
        case when o.adjustment_index is distinct from r.adjustment_index then '"adjustment_index":' || coalesce((to_json(o.adjustment_index))::text, 'null') end,
        case when o.guarantee::json::text is distinct from r.guarantee::json::text then '"guarantee":' || coalesce((o.guarantee)::text, 'null') end,
        case when o.commission::json::text is distinct from r.commission::json::text then '"commission":' || coalesce((o.commission)::text, 'null') end,
        case when o.management_fee_bps is distinct from r.management_fee_bps then '"management_fee_bps":' || coalesce((o.management_fee_bps)::text, 'null') end,
        case when o.notes is distinct from r.notes then '"notes":' || coalesce((to_json(o.notes))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.signed_at is distinct from r.signed_at then '"signed_at":' || coalesce(('"' || neoapi.format_timestamp(o.signed_at) || '"')::text, 'null') end,
        case when o.terminated_at is distinct from r.terminated_at then '"terminated_at":' || coalesce(('"' || neoapi.format_timestamp(o.terminated_at) || '"')::text, 'null') end,
        case when o.termination_reason is distinct from r.termination_reason then '"termination_reason":' || coalesce((to_json(o.termination_reason))::text, 'null') end,
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
prepare contract_import_with_webhooks as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'contract' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.contract, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.contract t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.contract t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), kind = item.kind,
        number = item.number, property_id = item.property_id, proposal_id = item.proposal_id, parties = item.parties, amount = item.amount,
        start_date = item.start_date, end_date = item.end_date, payment_day = item.payment_day, adjustment_index = item.adjustment_index,
        guarantee = item.guarantee, commission = item.commission, management_fee_bps = item.management_fee_bps, notes = item.notes,
        status = item.status, signed_at = item.signed_at, terminated_at = item.terminated_at, termination_reason = item.termination_reason,
        external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.kind is distinct from item.kind or before.number is distinct from item.number
        or before.property_id is distinct from item.property_id or before.proposal_id is distinct from item.proposal_id
        or before.parties::json::text is distinct from item.parties::json::text or before.amount is distinct from item.amount
        or before.start_date is distinct from item.start_date or before.end_date is distinct from item.end_date
        or before.payment_day is distinct from item.payment_day or before.adjustment_index is distinct from item.adjustment_index
        or before.guarantee::json::text is distinct from item.guarantee::json::text
        or before.commission::json::text is distinct from item.commission::json::text
        or before.management_fee_bps is distinct from item.management_fee_bps or before.notes is distinct from item.notes
        or before.status is distinct from item.status or before.signed_at is distinct from item.signed_at
        or before.terminated_at is distinct from item.terminated_at or before.termination_reason is distinct from item.termination_reason
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.contract as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, kind, number,
        property_id, proposal_id, parties, amount, start_date, end_date, payment_day, adjustment_index, guarantee, commission,
        management_fee_bps, notes, status, signed_at, terminated_at, termination_reason, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.kind, item.number, item.property_id, item.proposal_id,
        item.parties, item.amount, item.start_date, item.end_date, item.payment_day, item.adjustment_index, item.guarantee, item.commission,
        item.management_fee_bps, item.notes, item.status, item.signed_at, item.terminated_at, item.termination_reason, item.external_id,
        item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.kind, t.number, t.property_id, t.proposal_id, t.parties, t.amount, t.start_date, t.end_date,
        t.payment_day, t.adjustment_index, t.guarantee, t.commission, t.management_fee_bps, t.notes, t.status, t.signed_at, t.terminated_at,
        t.termination_reason, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by,
        t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $3, 'contract.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"number":' || to_json(r.number), '"property_id":' || to_json(r.property_id),
        '"proposal_id":' || to_json(r.proposal_id), '"parties":' || r.parties, '"amount":' || r.amount,
        '"start_date":' || to_json(r.start_date), '"end_date":' || to_json(r.end_date), '"payment_day":' || r.payment_day,
        '"adjustment_index":' || to_json(r.adjustment_index), '"guarantee":' || r.guarantee, '"commission":' || r.commission,
        '"management_fee_bps":' || r.management_fee_bps, '"notes":' || to_json(r.notes), '"status":' || to_json(r.status),
        '"signed_at":' || '"' || neoapi.format_timestamp(r.signed_at) || '"',
        '"terminated_at":' || '"' || neoapi.format_timestamp(r.terminated_at) || '"',
        '"termination_reason":' || to_json(r.termination_reason), '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
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
        where s.organization_id = $3 and s.pattern = any ('{contract.created,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'contract.created', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $3, 'contract.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"number":' || to_json(r.number), '"property_id":' || to_json(r.property_id),
        '"proposal_id":' || to_json(r.proposal_id), '"parties":' || r.parties, '"amount":' || r.amount,
        '"start_date":' || to_json(r.start_date), '"end_date":' || to_json(r.end_date), '"payment_day":' || r.payment_day,
        '"adjustment_index":' || to_json(r.adjustment_index), '"guarantee":' || r.guarantee, '"commission":' || r.commission,
        '"management_fee_bps":' || r.management_fee_bps, '"notes":' || to_json(r.notes), '"status":' || to_json(r.status),
        '"signed_at":' || '"' || neoapi.format_timestamp(r.signed_at) || '"',
        '"terminated_at":' || '"' || neoapi.format_timestamp(r.terminated_at) || '"',
        '"termination_reason":' || to_json(r.termination_reason), '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata,
        '"tenant_id":' || to_json(r.tenant_id), '"organization_id":' || to_json(r.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.number is distinct from r.number then 'number' end,
        case when o.property_id is distinct from r.property_id then 'property_id' end,
        case when o.proposal_id is distinct from r.proposal_id then 'proposal_id' end,
        case when o.parties::json::text is distinct from r.parties::json::text then 'parties' end,
        case when o.amount is distinct from r.amount then 'amount' end,
        case when o.start_date is distinct from r.start_date then 'start_date' end,
        case when o.end_date is distinct from r.end_date then 'end_date' end,
        case when o.payment_day is distinct from r.payment_day then 'payment_day' end,
        case when o.adjustment_index is distinct from r.adjustment_index then 'adjustment_index' end,
        case when o.guarantee::json::text is distinct from r.guarantee::json::text then 'guarantee' end,
        case when o.commission::json::text is distinct from r.commission::json::text then 'commission' end,
        case when o.management_fee_bps is distinct from r.management_fee_bps then 'management_fee_bps' end,
        case when o.notes is distinct from r.notes then 'notes' end, case when o.status is distinct from r.status then 'status' end,
        case when o.signed_at is distinct from r.signed_at then 'signed_at' end,
        case when o.terminated_at is distinct from r.terminated_at then 'terminated_at' end,
        case when o.termination_reason is distinct from r.termination_reason then 'termination_reason' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.number is distinct from r.number then '"number":' || coalesce((to_json(o.number))::text, 'null') end,
        case when o.property_id is distinct from r.property_id then '"property_id":' || coalesce((to_json(o.property_id))::text, 'null') end,
        case when o.proposal_id is distinct from r.proposal_id then '"proposal_id":' || coalesce((to_json(o.proposal_id))::text, 'null') end,
        case when o.parties::json::text is distinct from r.parties::json::text then '"parties":' || coalesce((o.parties)::text, 'null') end,
        case when o.amount is distinct from r.amount then '"amount":' || coalesce((o.amount)::text, 'null') end,
        case when o.start_date is distinct from r.start_date then '"start_date":' || coalesce((to_json(o.start_date))::text, 'null') end,
        case when o.end_date is distinct from r.end_date then '"end_date":' || coalesce((to_json(o.end_date))::text, 'null') end,
        case when o.payment_day is distinct from r.payment_day then '"payment_day":' || coalesce((o.payment_day)::text, 'null') end,
        case when o.adjustment_index is distinct from r.adjustment_index then '"adjustment_index":' || coalesce((to_json(o.adjustment_index))::text, 'null') end,
        case when o.guarantee::json::text is distinct from r.guarantee::json::text then '"guarantee":' || coalesce((o.guarantee)::text, 'null') end,
        case when o.commission::json::text is distinct from r.commission::json::text then '"commission":' || coalesce((o.commission)::text, 'null') end,
        case when o.management_fee_bps is distinct from r.management_fee_bps then '"management_fee_bps":' || coalesce((o.management_fee_bps)::text, 'null') end,
        case when o.notes is distinct from r.notes then '"notes":' || coalesce((to_json(o.notes))::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
        case when o.signed_at is distinct from r.signed_at then '"signed_at":' || coalesce(('"' || neoapi.format_timestamp(o.signed_at) || '"')::text, 'null') end,
        case when o.terminated_at is distinct from r.terminated_at then '"terminated_at":' || coalesce(('"' || neoapi.format_timestamp(o.terminated_at) || '"')::text, 'null') end,
        case when o.termination_reason is distinct from r.termination_reason then '"termination_reason":' || coalesce((to_json(o.termination_reason))::text, 'null') end,
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
        where s.organization_id = $3 and s.pattern = any ('{contract.updated,contract.*,*}') and s.key = '' and s.is_active
            and 'contract' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'contract.updated', e.payload, e.previous, e.changed,
            '{"ids":"id","party_id":"parties.party_id","broker_id":"commission.splits.broker_id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'contract')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries_update as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'contract.updated', event_at, created_at
    from matched_update
    returning 1),
queued_update as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_update)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 since, $3 organization
prepare contract_import_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'contract' and l.number > $1::bigint and l.number <= $2::bigint),
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
    where f.id = due.target and (f.kind = 'contract' and f.number > $2::bigint or f.kind = 'document' or f.kind = 'lead'
        or f.kind = 'whatsapp_opt_out' or f.kind = 'whatsapp_conversation' or f.kind = 'whatsapp_message'))
on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id
where r.target_id <> excluded.target_id;

-- $1 before, $2 since, $3 organization
prepare contract_import_all_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'contract' and l.number > $1::bigint and l.number <= $2::bigint),
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

prepare contract_import_duplicates as
with mine as materialized (
    select l.number, l.id, (
        select row(external_id)::text
        from json_populate_record(null::neoapi.contract, l.body)
        where external_id is not null) as key
    from import_line l
    where l.kind = 'contract' and l.body is not null)
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
    from neoapi.contract
    where organization_id = $1 and external_id is not null) t on t.key = m.key
where t.id <> m.id and not exists (select from import_line o where o.id = t.id)
order by 1
limit 101;
