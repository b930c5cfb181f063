-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- $1 organization, $2 id
prepare party_read as
select representation
from neoapi.party
where organization_id = $1 and id = $2;

-- $1 organization, $2 id
prepare party_read_version as
select representation, xmin
from neoapi.party
where organization_id = $1 and id = $2;

-- $1 organization, $2 limit
prepare party_list as
select t.representation
from neoapi.party t
where t.organization_id = $1
order by t.id desc
limit (select $2::int);

-- $1 organization, $2 before, $3 limit
prepare party_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.party t
        where t.organization_id = $1 and t.id >= (select $2)
        order by t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, null as position
    from neoapi.party t
    where t.organization_id = $1 and t.id < (select $2)
    order by t.id desc
    limit (select $3::int)) p on true
order by p.id desc;

-- $1 id, $2 id_block, $3 now, $4 kind, $5 name, $6 trade_name, $7 roles, $8 document_number, $9 rg, $10 email, $11 phone, $12 birth_date,
-- $13 nationality, $14 profession, $15 marital_status, $16 property_regime, $17 spouse_party_id, $18 address, $19 bank_account,
-- $20 legal_representatives, $21 broker_id, $22 lgpd_consent_at, $23 external_id, $24 metadata, $25 representation, $26 payload,
-- $27 numbers, $28 paths, $29 targets, $30 organization, $31 tenant, $32 actor, $33 request
prepare party_create as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as name, $6::text as trade_name, $7::text[] as roles, $8::text as document_number, $9::json as rg, $10::text as email,
        $11::text as phone, $12::date as birth_date, $13::text as nationality, $14::text as profession, $15::text as marital_status,
        $16::text as property_regime, $17::text as spouse_party_id, $18::json as address, $19::json as bank_account,
        $20::json as legal_representatives, $21::text as broker_id, $22::timestamptz as lgpd_consent_at, $23::text as external_id,
        $24::json as metadata, $25::text as representation, $26::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($27::int[], $28::text[], $29::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $30 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $30 and o.id = target) end is null),
created as (
    insert into neoapi.party as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        name, trade_name, roles, document_number, rg, email, phone, birth_date, nationality, profession, marital_status, property_regime,
        spouse_party_id, address, bank_account, legal_representatives, broker_id, lgpd_consent_at, external_id, metadata)
    select $30, item.item_id, $31, item.item_now, item.item_now, $32, $32, item.representation, item.kind, item.name, item.trade_name,
        item.roles, item.document_number, item.rg, item.email, item.phone, item.birth_date, item.nationality, item.profession,
        item.marital_status, item.property_regime, item.spouse_party_id, item.address, item.bank_account, item.legal_representatives,
        item.broker_id, item.lgpd_consent_at, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $25::text as representation,
        $26::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $30, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $30, 'party.created', r.id, neoapi.event_time(r.item_now), $32, $33, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $30 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $30 and s.pattern = any ('{party.created,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($30, 'party.created', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $30 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $30 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.created', event_at, created_at
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

-- $1 id, $2 id_block, $3 now, $4 kind, $5 name, $6 trade_name, $7 roles, $8 document_number, $9 rg, $10 email, $11 phone, $12 birth_date,
-- $13 nationality, $14 profession, $15 marital_status, $16 property_regime, $17 spouse_party_id, $18 address, $19 bank_account,
-- $20 legal_representatives, $21 broker_id, $22 lgpd_consent_at, $23 external_id, $24 metadata, $25 representation, $26 payload,
-- $27 numbers, $28 paths, $29 targets, $30 organization, $31 tenant, $32 actor, $33 credential, $34 key, $35 hash, $36 request
prepare party_create_keyed as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as name, $6::text as trade_name, $7::text[] as roles, $8::text as document_number, $9::json as rg, $10::text as email,
        $11::text as phone, $12::date as birth_date, $13::text as nationality, $14::text as profession, $15::text as marital_status,
        $16::text as property_regime, $17::text as spouse_party_id, $18::json as address, $19::json as bank_account,
        $20::json as legal_representatives, $21::text as broker_id, $22::timestamptz as lgpd_consent_at, $23::text as external_id,
        $24::json as metadata, $25::text as representation, $26::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($27::int[], $28::text[], $29::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $30 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $30 and o.id = target) end is null),
created as (
    insert into neoapi.party as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        name, trade_name, roles, document_number, rg, email, phone, birth_date, nationality, profession, marital_status, property_regime,
        spouse_party_id, address, bank_account, legal_representatives, broker_id, lgpd_consent_at, external_id, metadata)
    select $30, item.item_id, $31, item.item_now, item.item_now, $32, $32, item.representation, item.kind, item.name, item.trade_name,
        item.roles, item.document_number, item.rg, item.email, item.phone, item.birth_date, item.nationality, item.profession,
        item.marital_status, item.property_regime, item.spouse_party_id, item.address, item.bank_account, item.legal_representatives,
        item.broker_id, item.lgpd_consent_at, item.external_id, item.metadata
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $30 and credential_id = $33 and key = $34::uuid) is null
        and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $25::text as representation,
        $26::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $30, created.id, path, target
    from created
    join ref using (item_number)),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $30, $33, $34::uuid, decode($35, 'hex'), 201, representation, null, now() + interval '24 hours'
    from created),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $30, 'party.created', r.id, neoapi.event_time(r.item_now), $32, $36, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $30 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $30 and s.pattern = any ('{party.created,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($30, 'party.created', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $30 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $30 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.created', event_at, created_at
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
    where organization_id = $30 and credential_id = $33 and key = $34::uuid) is null;

-- $1 id, $2 id_block, $3 now, $4 kind, $5 name, $6 trade_name, $7 roles, $8 document_number, $9 rg, $10 email, $11 phone, $12 birth_date,
-- $13 nationality, $14 profession, $15 marital_status, $16 property_regime, $17 spouse_party_id, $18 address, $19 bank_account,
-- $20 legal_representatives, $21 broker_id, $22 lgpd_consent_at, $23 external_id, $24 metadata, $25 numbers, $26 paths, $27 targets,
-- $28 organization, $29 version, $30 actor, $31 request
prepare party_update_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as name, $6::text as trade_name, $7::text[] as roles, $8::text as document_number, $9::json as rg, $10::text as email,
        $11::text as phone, $12::date as birth_date, $13::text as nationality, $14::text as profession, $15::text as marital_status,
        $16::text as property_regime, $17::text as spouse_party_id, $18::json as address, $19::json as bank_account,
        $20::json as legal_representatives, $21::text as broker_id, $22::timestamptz as lgpd_consent_at, $23::text as external_id,
        $24::json as metadata),
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
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $28 and o.id = target) end is null),
before as materialized (
    select t.*
    from item
    join neoapi.party t on t.organization_id = $28 and t.id = item.item_id and t.xmin = $29::xid
    for no key update of t),
updated as (
    update neoapi.party t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $30, kind = item.kind,
        name = item.name, trade_name = item.trade_name, roles = item.roles, document_number = item.document_number, rg = item.rg,
        email = item.email, phone = item.phone, birth_date = item.birth_date, nationality = item.nationality, profession = item.profession,
        marital_status = item.marital_status, property_regime = item.property_regime, spouse_party_id = item.spouse_party_id,
        address = item.address, bank_account = item.bank_account, legal_representatives = item.legal_representatives,
        broker_id = item.broker_id, lgpd_consent_at = item.lgpd_consent_at, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $28 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.kind is distinct from item.kind or before.name is distinct from item.name
            or before.trade_name is distinct from item.trade_name or before.roles is distinct from item.roles
            or before.document_number is distinct from item.document_number or before.rg::json::text is distinct from item.rg::json::text
            or before.email is distinct from item.email or before.phone is distinct from item.phone
            or before.birth_date is distinct from item.birth_date or before.nationality is distinct from item.nationality
            or before.profession is distinct from item.profession or before.marital_status is distinct from item.marital_status
            or before.property_regime is distinct from item.property_regime or before.spouse_party_id is distinct from item.spouse_party_id
            or before.address::json::text is distinct from item.address::json::text
            or before.bank_account::json::text is distinct from item.bank_account::json::text
            or before.legal_representatives::json::text is distinct from item.legal_representatives::json::text
            or before.broker_id is distinct from item.broker_id or before.lgpd_consent_at is distinct from item.lgpd_consent_at
            or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $28 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $28, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $28 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $28, 'party.updated', r.id, neoapi.event_time(r.item_now), $30, $31, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.name is distinct from r.name then 'name' end,
        case when o.trade_name is distinct from r.trade_name then 'trade_name' end,
        case when o.roles is distinct from r.roles then 'roles' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.rg::json::text is distinct from r.rg::json::text then 'rg' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.birth_date is distinct from r.birth_date then 'birth_date' end,
        case when o.nationality is distinct from r.nationality then 'nationality' end,
        case when o.profession is distinct from r.profession then 'profession' end,
        case when o.marital_status is distinct from r.marital_status then 'marital_status' end,
        case when o.property_regime is distinct from r.property_regime then 'property_regime' end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then 'spouse_party_id' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then 'legal_representatives' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then 'lgpd_consent_at' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.trade_name is distinct from r.trade_name then '"trade_name":' || coalesce((to_json(o.trade_name))::text, 'null') end,
        case when o.roles is distinct from r.roles then '"roles":' || coalesce((to_json(o.roles))::text, 'null') end,
        case when o.document_number is distinct from r.document_number then '"document_number":' || coalesce((to_json(o.document_number))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json(o.phone))::text, 'null') end,
        case when o.nationality is distinct from r.nationality then '"nationality":' || coalesce((to_json(o.nationality))::text, 'null') end,
        case when o.profession is distinct from r.profession then '"profession":' || coalesce((to_json(o.profession))::text, 'null') end,
        case when o.marital_status is distinct from r.marital_status then '"marital_status":' || coalesce((to_json(o.marital_status))::text, 'null') end,
        case when o.property_regime is distinct from r.property_regime then '"property_regime":' || coalesce((to_json(o.property_regime))::text, 'null') end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then '"spouse_party_id":' || coalesce((to_json(o.spouse_party_id))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then '"legal_representatives":' || coalesce((o.legal_representatives)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then '"lgpd_consent_at":' || coalesce(('"' || neoapi.format_timestamp(o.lgpd_consent_at) || '"')::text, 'null') end,
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
    select $28 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $28 and s.pattern = any ('{party.updated,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($28, 'party.updated', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $28 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $28 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.updated', event_at, created_at
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
prepare party_delete_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now,
        $4::text as item_cleared_block),
locked as materialized (
    select t.*
    from neoapi.party t
    where t.organization_id = $5 and t.id in ($1, (
        select o.spouse_party_id
        from neoapi.party o
        where o.organization_id = $5 and o.id = $1))
        and case when t.id = $1 then t.xmin = $6::xid else t.spouse_party_id = $1 end
    order by t.id
    for no key update of t),
partner as materialized (
    select locked.*, 1 as item_number
    from locked
    where id <> $1),
used as materialized (
    select item_number, (
        select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',')
        from (values ('property', 'prp_'), ('party', 'pty_'), ('proposal', 'pps_'), ('contract', 'ctr_'), ('document', 'doc_'), ('lead',
            'led_')) as k (kind, prefix)
        cross join lateral (
            select r.source_id, r.path
            from neoapi.reference r
            where r.organization_id = $5 and r.party_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'
                and r.source_id <> item.item_id and not exists (
                select
                from item other
                where other.item_id = r.source_id and (other.item_number < item.item_number or exists (
                    select
                    from neoapi.reference back
                    where back.organization_id = $5 and back.source_id = item.item_id and back.target_id = other.item_id)))
                and not exists (
                select
                from partner
                where partner.id = r.source_id and r.path = 'spouse_party_id' and partner.item_number = item.item_number)
            order by r.source_id
            limit 1) u) as users
    from item),
deleted as (
    delete from neoapi.party t using item
    where t.organization_id = $5 and t.id = item.item_id and t.xmin = $6::xid and not exists (
        select
        from used
        where used.item_number = item.item_number and users is not null)
        and exists (select from locked where locked.id = $1)
    returning t.id, t.representation, t.kind, t.name, t.trade_name, t.roles, t.document_number, t.email, t.phone, t.nationality,
        t.profession, t.marital_status, t.property_regime, t.spouse_party_id, t.address, t.legal_representatives, t.broker_id,
        t.lgpd_consent_at, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by,
        item.item_number, item.item_id_block, item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $5 and r.source_id = deleted.id),
cleared as (
    update neoapi.party o
    set spouse_party_id = null, updated_by = $7, updated_at = greatest(deleted.item_now, partner.updated_at + interval '1 millisecond')
    from deleted, partner
    where o.organization_id = $5 and o.id = partner.id and partner.item_number = deleted.item_number
    returning o.*, deleted.item_number, deleted.item_cleared_block, deleted.item_now),
cleared_references as (
    delete from neoapi.reference r using cleared
    where r.organization_id = $5 and r.source_id = cleared.id and r.path = 'spouse_party_id'),
event_cleared as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $5, 'party.updated', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.name is distinct from r.name then 'name' end,
        case when o.trade_name is distinct from r.trade_name then 'trade_name' end,
        case when o.roles is distinct from r.roles then 'roles' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.rg::json::text is distinct from r.rg::json::text then 'rg' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.birth_date is distinct from r.birth_date then 'birth_date' end,
        case when o.nationality is distinct from r.nationality then 'nationality' end,
        case when o.profession is distinct from r.profession then 'profession' end,
        case when o.marital_status is distinct from r.marital_status then 'marital_status' end,
        case when o.property_regime is distinct from r.property_regime then 'property_regime' end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then 'spouse_party_id' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then 'legal_representatives' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then 'lgpd_consent_at' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.trade_name is distinct from r.trade_name then '"trade_name":' || coalesce((to_json(o.trade_name))::text, 'null') end,
        case when o.roles is distinct from r.roles then '"roles":' || coalesce((to_json(o.roles))::text, 'null') end,
        case when o.document_number is distinct from r.document_number then '"document_number":' || coalesce((to_json(o.document_number))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json(o.phone))::text, 'null') end,
        case when o.nationality is distinct from r.nationality then '"nationality":' || coalesce((to_json(o.nationality))::text, 'null') end,
        case when o.profession is distinct from r.profession then '"profession":' || coalesce((to_json(o.profession))::text, 'null') end,
        case when o.marital_status is distinct from r.marital_status then '"marital_status":' || coalesce((to_json(o.marital_status))::text, 'null') end,
        case when o.property_regime is distinct from r.property_regime then '"property_regime":' || coalesce((to_json(o.property_regime))::text, 'null') end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then '"spouse_party_id":' || coalesce((to_json(o.spouse_party_id))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then '"legal_representatives":' || coalesce((o.legal_representatives)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then '"lgpd_consent_at":' || coalesce(('"' || neoapi.format_timestamp(o.lgpd_consent_at) || '"')::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end,
        case when o.created_by is distinct from r.created_by then '"created_by":' || coalesce((to_json(o.created_by))::text, 'null') end)
        || '}')::json
    from cleared r
    left join partner o on o.id = r.id
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched_cleared as (
    select $5 as organization_id, r.item_cleared_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event_cleared e
    join cleared r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $5 and s.pattern = any ('{party.updated,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($5, 'party.updated', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $5 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $5 and w.id = s.id
        limit 1) o),
queued_deliveries_cleared as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.updated', event_at, created_at
    from matched_cleared
    returning 1),
queued_cleared as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_cleared),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $5, 'party.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
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
        where s.organization_id = $5 and s.pattern = any ('{party.deleted,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($5, 'party.deleted', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $5 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $5 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.deleted', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select id, (select count(*) from queued_deliveries) + (select count(*) from queued_deliveries_cleared), null, item_number
from deleted
union all
select null, 0, users, item_number
from used
where users is not null and exists (select from locked where locked.id = $1);

-- $1 organization
prepare party_lock_organization as
select pg_advisory_xact_lock(hashtext('neoapi.batch.party'), hashtext($1::text));

-- $1 item_number[], $2 id[], $3 organization
prepare party_lock_rows as
with item as materialized (
    select *
    from unnest($1::text[]::int[], $2::text[]) as i (item_number, item_id)),
wanted as materialized (
    select item_id as id
    from item
    union
    select p.spouse_party_id
    from item
    join neoapi.party p on p.organization_id = $3 and p.id = item.item_id)
select item.item_number, t.representation
from wanted
join neoapi.party t on t.organization_id = $3 and t.id = wanted.id
left join item on item.item_id = t.id
order by t.id
for no key update of t;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 name[], $7 trade_name[], $8 roles[], $9 document_number[], $10 rg[],
-- $11 email[], $12 phone[], $13 birth_date[], $14 nationality[], $15 profession[], $16 marital_status[], $17 property_regime[],
-- $18 spouse_party_id[], $19 address[], $20 bank_account[], $21 legal_representatives[], $22 broker_id[], $23 lgpd_consent_at[],
-- $24 external_id[], $25 metadata[], $26 representation[], $27 payload[], $28 numbers, $29 paths, $30 targets, $31 organization,
-- $32 tenant, $33 actor, $34 request
prepare party_create_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as name, unnest($7::text[])::text as trade_name, unnest($8::text[])::text[] as roles,
        unnest($9::text[])::text as document_number, unnest($10::text[])::json as rg, unnest($11::text[])::text as email,
        unnest($12::text[])::text as phone, unnest($13::text[])::date as birth_date, unnest($14::text[])::text as nationality,
        unnest($15::text[])::text as profession, unnest($16::text[])::text as marital_status, unnest($17::text[])::text as property_regime,
        unnest($18::text[])::text as spouse_party_id, unnest($19::text[])::json as address, unnest($20::text[])::json as bank_account,
        unnest($21::text[])::json as legal_representatives, unnest($22::text[])::text as broker_id,
        unnest($23::text[])::timestamptz as lgpd_consent_at, unnest($24::text[])::text as external_id, unnest($25::text[])::json as metadata,
        unnest($26::text[])::text as representation, unnest($27::text[])::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($28::int[], $29::text[], $30::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $31 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $31 and o.id = target) end is null),
inserted as (
    insert into neoapi.party as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        name, trade_name, roles, document_number, rg, email, phone, birth_date, nationality, profession, marital_status, property_regime,
        spouse_party_id, address, bank_account, legal_representatives, broker_id, lgpd_consent_at, external_id, metadata)
    select $31, item.item_id, $32, item.item_now, item.item_now, $33, $33, item.representation, item.kind, item.name, item.trade_name,
        item.roles, item.document_number, item.rg, item.email, item.phone, item.birth_date, item.nationality, item.profession,
        item.marital_status, item.property_regime, item.spouse_party_id, item.address, item.bank_account, item.legal_representatives,
        item.broker_id, item.lgpd_consent_at, item.external_id, item.metadata
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
    select $31, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $31, 'party.created', r.id, neoapi.event_time(r.item_now), $33, $34, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $31 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $31 and s.pattern = any ('{party.created,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($31, 'party.created', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $31 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $31 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.created', event_at, created_at
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

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 name[], $7 trade_name[], $8 roles[], $9 document_number[], $10 rg[],
-- $11 email[], $12 phone[], $13 birth_date[], $14 nationality[], $15 profession[], $16 marital_status[], $17 property_regime[],
-- $18 spouse_party_id[], $19 address[], $20 bank_account[], $21 legal_representatives[], $22 broker_id[], $23 lgpd_consent_at[],
-- $24 external_id[], $25 metadata[], $26 representation[], $27 payload[], $28 numbers, $29 paths, $30 targets, $31 organization,
-- $32 tenant, $33 actor, $34 request
prepare party_create_rows_strict as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as name, unnest($7::text[])::text as trade_name, unnest($8::text[])::text[] as roles,
        unnest($9::text[])::text as document_number, unnest($10::text[])::json as rg, unnest($11::text[])::text as email,
        unnest($12::text[])::text as phone, unnest($13::text[])::date as birth_date, unnest($14::text[])::text as nationality,
        unnest($15::text[])::text as profession, unnest($16::text[])::text as marital_status, unnest($17::text[])::text as property_regime,
        unnest($18::text[])::text as spouse_party_id, unnest($19::text[])::json as address, unnest($20::text[])::json as bank_account,
        unnest($21::text[])::json as legal_representatives, unnest($22::text[])::text as broker_id,
        unnest($23::text[])::timestamptz as lgpd_consent_at, unnest($24::text[])::text as external_id, unnest($25::text[])::json as metadata,
        unnest($26::text[])::text as representation, unnest($27::text[])::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($28::int[], $29::text[], $30::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $31 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $31 and o.id = target) end is null),
inserted as (
    insert into neoapi.party as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        name, trade_name, roles, document_number, rg, email, phone, birth_date, nationality, profession, marital_status, property_regime,
        spouse_party_id, address, bank_account, legal_representatives, broker_id, lgpd_consent_at, external_id, metadata)
    select $31, item.item_id, $32, item.item_now, item.item_now, $33, $33, item.representation, item.kind, item.name, item.trade_name,
        item.roles, item.document_number, item.rg, item.email, item.phone, item.birth_date, item.nationality, item.profession,
        item.marital_status, item.property_regime, item.spouse_party_id, item.address, item.bank_account, item.legal_representatives,
        item.broker_id, item.lgpd_consent_at, item.external_id, item.metadata
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
    select $31, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $31, 'party.created', r.id, neoapi.event_time(r.item_now), $33, $34, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $31 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $31 and s.pattern = any ('{party.created,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($31, 'party.created', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $31 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $31 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.created', event_at, created_at
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

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 name[], $7 trade_name[], $8 roles[], $9 document_number[], $10 rg[],
-- $11 email[], $12 phone[], $13 birth_date[], $14 nationality[], $15 profession[], $16 marital_status[], $17 property_regime[],
-- $18 spouse_party_id[], $19 address[], $20 bank_account[], $21 legal_representatives[], $22 broker_id[], $23 lgpd_consent_at[],
-- $24 external_id[], $25 metadata[], $26 representation[], $27 payload[], $28 organization[], $29 tenant[], $30 actor[], $31 request[],
-- $32 credential[], $33 key[], $34 hash[], $35 numbers, $36 paths, $37 targets
prepare party_create_group as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as name, unnest($7::text[])::text as trade_name, unnest($8::text[])::text[] as roles,
        unnest($9::text[])::text as document_number, unnest($10::text[])::json as rg, unnest($11::text[])::text as email,
        unnest($12::text[])::text as phone, unnest($13::text[])::date as birth_date, unnest($14::text[])::text as nationality,
        unnest($15::text[])::text as profession, unnest($16::text[])::text as marital_status, unnest($17::text[])::text as property_regime,
        unnest($18::text[])::text as spouse_party_id, unnest($19::text[])::json as address, unnest($20::text[])::json as bank_account,
        unnest($21::text[])::json as legal_representatives, unnest($22::text[])::text as broker_id,
        unnest($23::text[])::timestamptz as lgpd_consent_at, unnest($24::text[])::text as external_id, unnest($25::text[])::json as metadata,
        unnest($26::text[])::text as representation, unnest($27::text[])::text as item_payload,
        unnest($28::text[])::text collate "C" as item_organization, unnest($29::text[])::text collate "C" as item_tenant,
        unnest($30::text[])::text collate "C" as item_actor, unnest($31::text[])::text collate "C" as item_request,
        unnest($32::text[])::text collate "C" as item_credential, unnest($33::text[])::text collate "C" as item_key,
        unnest($34::text[])::text collate "C" as item_hash
    where (select set_config('lock_timeout', '50', true)) is not null),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($35::int[], $36::text[], $37::text[]) as r (item_number, path, target)),
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
    insert into neoapi.party as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        name, trade_name, roles, document_number, rg, email, phone, birth_date, nationality, profession, marital_status, property_regime,
        spouse_party_id, address, bank_account, legal_representatives, broker_id, lgpd_consent_at, external_id, metadata)
    select item_organization, item.item_id, item_tenant, item.item_now, item.item_now, item_actor, item_actor, item.representation,
        item.kind, item.name, item.trade_name, item.roles, item.document_number, item.rg, item.email, item.phone, item.birth_date,
        item.nationality, item.profession, item.marital_status, item.property_regime, item.spouse_party_id, item.address, item.bank_account,
        item.legal_representatives, item.broker_id, item.lgpd_consent_at, item.external_id, item.metadata
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
    select item_organization, 'party.created', r.id, neoapi.event_time(r.item_now), item_actor, item_request, r.item_payload
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
        where s.organization_id = item_organization and s.pattern = any ('{party.created,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match(item_organization, 'party.created', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = item_organization and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = item_organization and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 name[], $7 trade_name[], $8 roles[], $9 document_number[], $10 rg[],
-- $11 email[], $12 phone[], $13 birth_date[], $14 nationality[], $15 profession[], $16 marital_status[], $17 property_regime[],
-- $18 spouse_party_id[], $19 address[], $20 bank_account[], $21 legal_representatives[], $22 broker_id[], $23 lgpd_consent_at[],
-- $24 external_id[], $25 metadata[], $26 numbers, $27 paths, $28 targets, $29 organization, $30 actor, $31 request
prepare party_update_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as name, unnest($7::text[])::text as trade_name, unnest($8::text[])::text[] as roles,
        unnest($9::text[])::text as document_number, unnest($10::text[])::json as rg, unnest($11::text[])::text as email,
        unnest($12::text[])::text as phone, unnest($13::text[])::date as birth_date, unnest($14::text[])::text as nationality,
        unnest($15::text[])::text as profession, unnest($16::text[])::text as marital_status, unnest($17::text[])::text as property_regime,
        unnest($18::text[])::text as spouse_party_id, unnest($19::text[])::json as address, unnest($20::text[])::json as bank_account,
        unnest($21::text[])::json as legal_representatives, unnest($22::text[])::text as broker_id,
        unnest($23::text[])::timestamptz as lgpd_consent_at, unnest($24::text[])::text as external_id, unnest($25::text[])::json as metadata),
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
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $29 and o.id = target) end is null),
before as materialized (
    select t.*
    from item
    join neoapi.party t on t.organization_id = $29 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.party t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $30, kind = item.kind,
        name = item.name, trade_name = item.trade_name, roles = item.roles, document_number = item.document_number, rg = item.rg,
        email = item.email, phone = item.phone, birth_date = item.birth_date, nationality = item.nationality, profession = item.profession,
        marital_status = item.marital_status, property_regime = item.property_regime, spouse_party_id = item.spouse_party_id,
        address = item.address, bank_account = item.bank_account, legal_representatives = item.legal_representatives,
        broker_id = item.broker_id, lgpd_consent_at = item.lgpd_consent_at, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $29 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.kind is distinct from item.kind or before.name is distinct from item.name
            or before.trade_name is distinct from item.trade_name or before.roles is distinct from item.roles
            or before.document_number is distinct from item.document_number or before.rg::json::text is distinct from item.rg::json::text
            or before.email is distinct from item.email or before.phone is distinct from item.phone
            or before.birth_date is distinct from item.birth_date or before.nationality is distinct from item.nationality
            or before.profession is distinct from item.profession or before.marital_status is distinct from item.marital_status
            or before.property_regime is distinct from item.property_regime or before.spouse_party_id is distinct from item.spouse_party_id
            or before.address::json::text is distinct from item.address::json::text
            or before.bank_account::json::text is distinct from item.bank_account::json::text
            or before.legal_representatives::json::text is distinct from item.legal_representatives::json::text
            or before.broker_id is distinct from item.broker_id or before.lgpd_consent_at is distinct from item.lgpd_consent_at
            or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $29 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $29, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $29 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $29, 'party.updated', r.id, neoapi.event_time(r.item_now), $30, $31, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.name is distinct from r.name then 'name' end,
        case when o.trade_name is distinct from r.trade_name then 'trade_name' end,
        case when o.roles is distinct from r.roles then 'roles' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.rg::json::text is distinct from r.rg::json::text then 'rg' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.birth_date is distinct from r.birth_date then 'birth_date' end,
        case when o.nationality is distinct from r.nationality then 'nationality' end,
        case when o.profession is distinct from r.profession then 'profession' end,
        case when o.marital_status is distinct from r.marital_status then 'marital_status' end,
        case when o.property_regime is distinct from r.property_regime then 'property_regime' end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then 'spouse_party_id' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then 'legal_representatives' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then 'lgpd_consent_at' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.trade_name is distinct from r.trade_name then '"trade_name":' || coalesce((to_json(o.trade_name))::text, 'null') end,
        case when o.roles is distinct from r.roles then '"roles":' || coalesce((to_json(o.roles))::text, 'null') end,
        case when o.document_number is distinct from r.document_number then '"document_number":' || coalesce((to_json(o.document_number))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json(o.phone))::text, 'null') end,
        case when o.nationality is distinct from r.nationality then '"nationality":' || coalesce((to_json(o.nationality))::text, 'null') end,
        case when o.profession is distinct from r.profession then '"profession":' || coalesce((to_json(o.profession))::text, 'null') end,
        case when o.marital_status is distinct from r.marital_status then '"marital_status":' || coalesce((to_json(o.marital_status))::text, 'null') end,
        case when o.property_regime is distinct from r.property_regime then '"property_regime":' || coalesce((to_json(o.property_regime))::text, 'null') end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then '"spouse_party_id":' || coalesce((to_json(o.spouse_party_id))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then '"legal_representatives":' || coalesce((o.legal_representatives)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then '"lgpd_consent_at":' || coalesce(('"' || neoapi.format_timestamp(o.lgpd_consent_at) || '"')::text, 'null') end,
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
    select $29 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $29 and s.pattern = any ('{party.updated,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($29, 'party.updated', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $29 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $29 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.updated', event_at, created_at
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
prepare party_delete_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now,
        unnest($5::text[])::text as item_cleared_block),
partner as materialized (
    select o.*, item.item_number
    from item
    join neoapi.party t on t.organization_id = $6 and t.id = item.item_id
    join neoapi.party o on o.organization_id = $6 and o.id = t.spouse_party_id and o.spouse_party_id = t.id
    where not exists (select from item other where other.item_id = o.id)),
used as materialized (
    select item_number, (
        select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',')
        from (values ('property', 'prp_'), ('party', 'pty_'), ('proposal', 'pps_'), ('contract', 'ctr_'), ('document', 'doc_'), ('lead',
            'led_')) as k (kind, prefix)
        cross join lateral (
            select r.source_id, r.path
            from neoapi.reference r
            where r.organization_id = $6 and r.party_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'
                and r.source_id <> item.item_id and not exists (
                select
                from item other
                where other.item_id = r.source_id and (other.item_number < item.item_number or exists (
                    select
                    from neoapi.reference back
                    where back.organization_id = $6 and back.source_id = item.item_id and back.target_id = other.item_id)))
                and not exists (
                select
                from partner
                where partner.id = r.source_id and r.path = 'spouse_party_id' and partner.item_number = item.item_number)
            order by r.source_id
            limit 1) u) as users
    from item),
deleted as (
    delete from neoapi.party t using item
    where t.organization_id = $6 and t.id = item.item_id and not exists (
        select
        from used
        where used.item_number = item.item_number and users is not null)
    returning t.id, t.representation, t.kind, t.name, t.trade_name, t.roles, t.document_number, t.email, t.phone, t.nationality,
        t.profession, t.marital_status, t.property_regime, t.spouse_party_id, t.address, t.legal_representatives, t.broker_id,
        t.lgpd_consent_at, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by,
        item.item_number, item.item_id_block, item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $6 and r.source_id = deleted.id),
cleared as (
    update neoapi.party o
    set spouse_party_id = null, updated_by = $7, updated_at = greatest(deleted.item_now, partner.updated_at + interval '1 millisecond')
    from deleted, partner
    where o.organization_id = $6 and o.id = partner.id and partner.item_number = deleted.item_number
    returning o.*, deleted.item_number, deleted.item_cleared_block, deleted.item_now),
cleared_references as (
    delete from neoapi.reference r using cleared
    where r.organization_id = $6 and r.source_id = cleared.id and r.path = 'spouse_party_id'),
event_cleared as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $6, 'party.updated', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.name is distinct from r.name then 'name' end,
        case when o.trade_name is distinct from r.trade_name then 'trade_name' end,
        case when o.roles is distinct from r.roles then 'roles' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.rg::json::text is distinct from r.rg::json::text then 'rg' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.birth_date is distinct from r.birth_date then 'birth_date' end,
        case when o.nationality is distinct from r.nationality then 'nationality' end,
        case when o.profession is distinct from r.profession then 'profession' end,
        case when o.marital_status is distinct from r.marital_status then 'marital_status' end,
        case when o.property_regime is distinct from r.property_regime then 'property_regime' end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then 'spouse_party_id' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then 'legal_representatives' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then 'lgpd_consent_at' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.trade_name is distinct from r.trade_name then '"trade_name":' || coalesce((to_json(o.trade_name))::text, 'null') end,
        case when o.roles is distinct from r.roles then '"roles":' || coalesce((to_json(o.roles))::text, 'null') end,
        case when o.document_number is distinct from r.document_number then '"document_number":' || coalesce((to_json(o.document_number))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json(o.phone))::text, 'null') end,
        case when o.nationality is distinct from r.nationality then '"nationality":' || coalesce((to_json(o.nationality))::text, 'null') end,
        case when o.profession is distinct from r.profession then '"profession":' || coalesce((to_json(o.profession))::text, 'null') end,
        case when o.marital_status is distinct from r.marital_status then '"marital_status":' || coalesce((to_json(o.marital_status))::text, 'null') end,
        case when o.property_regime is distinct from r.property_regime then '"property_regime":' || coalesce((to_json(o.property_regime))::text, 'null') end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then '"spouse_party_id":' || coalesce((to_json(o.spouse_party_id))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then '"legal_representatives":' || coalesce((o.legal_representatives)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then '"lgpd_consent_at":' || coalesce(('"' || neoapi.format_timestamp(o.lgpd_consent_at) || '"')::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end,
        case when o.created_by is distinct from r.created_by then '"created_by":' || coalesce((to_json(o.created_by))::text, 'null') end)
        || '}')::json
    from cleared r
    left join partner o on o.id = r.id
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched_cleared as (
    select $6 as organization_id, r.item_cleared_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event_cleared e
    join cleared r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $6 and s.pattern = any ('{party.updated,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($6, 'party.updated', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $6 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $6 and w.id = s.id
        limit 1) o),
queued_deliveries_cleared as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.updated', event_at, created_at
    from matched_cleared
    returning 1),
queued_cleared as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_cleared),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $6, 'party.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
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
        where s.organization_id = $6 and s.pattern = any ('{party.deleted,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($6, 'party.deleted', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $6 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $6 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.deleted', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select id, (select count(*) from queued_deliveries) + (select count(*) from queued_deliveries_cleared), null, item_number
from deleted
union all
select null, 0, users, item_number
from used
where users is not null;

prepare party_list_ids as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_created_gte as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.id >= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_created_lte as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.id <= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_updated_gte as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.updated_at >= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_updated_lte as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.updated_at <= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_kind as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.kind in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_role as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.roles && array[$3] and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_document_number as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.document_number in (upper(translate($3, './-', ''))) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_email as
select t.representation
from neoapi.party t
where t.organization_id = $1 and lower(t.email) in (lower($3)) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_phone as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.phone in ('+' || ltrim($3, '+ ')) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_q as
select t.representation
from neoapi.party t
where t.organization_id = $1 and neoapi.folded(t.name || ' ' || coalesce(t.trade_name,
    '')) like ('%' || replace(replace(replace(neoapi.folded($3), E'\\', E'\\\\'), '%', E'\\%'), '_', E'\\_') || '%') and (not $4::boolean
    or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_external_id as
select t.representation
from neoapi.party t
where t.organization_id = $1 and t.external_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare party_list_by_change as
select t.representation, false, (extract(epoch from t.updated_at) * 1000000)::bigint, null
from neoapi.party t
where t.organization_id = $1 and (not $3::boolean or neoapi.force_custom_plan())
order by t.updated_at desc, t.id desc
limit $2::int;

prepare party_list_by_change_further as
select p.answer, e.id is not null, p.position, (
    select count(*)
    from (
        select t.id
        from neoapi.party t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan())
        order by t.id desc
        limit 10000 + 1) c)
from (
    select (
        select t.id
        from neoapi.party t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
            t.id) >= (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
        order by t.updated_at asc, t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, (extract(epoch from t.updated_at) * 1000000)::bigint as position
    from neoapi.party t
    where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
        t.id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
    order by t.updated_at desc, t.id desc
    limit $2::int) p on true
order by p.position desc, p.id desc;

prepare party_export as
select t.representation
from neoapi.party t
where t.organization_id = $1
order by t.id desc
limit all;

prepare party_find_document_number as
select t.id
from neoapi.party t
where t.organization_id = $1 and t.document_number = upper(translate($2, './-', '')) and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

prepare party_find_external_id as
select t.id
from neoapi.party t
where t.organization_id = $1 and t.external_id = $2 and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

-- party_representation
create or replace function neoapi.party_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"name":' || to_json(new.name),
        '"trade_name":' || to_json(new.trade_name),
        '"roles":' || to_json(new.roles),
        '"document_number":' || to_json(new.document_number),
        '"rg":' || new.rg,
        '"email":' || to_json(new.email),
        '"phone":' || to_json(new.phone),
        '"birth_date":' || to_json(new.birth_date),
        '"nationality":' || to_json(new.nationality),
        '"profession":' || to_json(new.profession),
        '"marital_status":' || to_json(new.marital_status),
        '"property_regime":' || to_json(new.property_regime),
        '"spouse_party_id":' || to_json(new.spouse_party_id),
        '"address":' || new.address,
        '"bank_account":' || new.bank_account,
        '"legal_representatives":' || new.legal_representatives,
        '"broker_id":' || to_json(new.broker_id),
        '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(new.lgpd_consent_at) || '"',
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
create or replace trigger set_representation before update on neoapi.party for each row execute function neoapi.party_set_representation();
create or replace trigger set_representation_if_null before insert on neoapi.party for each row when (new.representation is null) execute function neoapi.party_set_representation();

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor
prepare party_import as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'party' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.party, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.party t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.party t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), kind = item.kind,
        name = item.name, trade_name = item.trade_name, roles = item.roles, document_number = item.document_number, rg = item.rg,
        email = item.email, phone = item.phone, birth_date = item.birth_date, nationality = item.nationality, profession = item.profession,
        marital_status = item.marital_status, property_regime = item.property_regime, spouse_party_id = item.spouse_party_id,
        address = item.address, bank_account = item.bank_account, legal_representatives = item.legal_representatives,
        broker_id = item.broker_id, lgpd_consent_at = item.lgpd_consent_at, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.kind is distinct from item.kind or before.name is distinct from item.name
        or before.trade_name is distinct from item.trade_name or before.roles is distinct from item.roles
        or before.document_number is distinct from item.document_number or before.rg::json::text is distinct from item.rg::json::text
        or before.email is distinct from item.email or before.phone is distinct from item.phone
        or before.birth_date is distinct from item.birth_date or before.nationality is distinct from item.nationality
        or before.profession is distinct from item.profession or before.marital_status is distinct from item.marital_status
        or before.property_regime is distinct from item.property_regime or before.spouse_party_id is distinct from item.spouse_party_id
        or before.address::json::text is distinct from item.address::json::text
        or before.bank_account::json::text is distinct from item.bank_account::json::text
        or before.legal_representatives::json::text is distinct from item.legal_representatives::json::text
        or before.broker_id is distinct from item.broker_id or before.lgpd_consent_at is distinct from item.lgpd_consent_at
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.party as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, kind, name, trade_name,
        roles, document_number, rg, email, phone, birth_date, nationality, profession, marital_status, property_regime, spouse_party_id,
        address, bank_account, legal_representatives, broker_id, lgpd_consent_at, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.kind, item.name, item.trade_name, item.roles,
        item.document_number, item.rg, item.email, item.phone, item.birth_date, item.nationality, item.profession, item.marital_status,
        item.property_regime, item.spouse_party_id, item.address, item.bank_account, item.legal_representatives, item.broker_id,
        item.lgpd_consent_at, item.external_id, item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.kind, t.name, t.trade_name, t.roles, t.document_number, t.email, t.phone, t.nationality,
        t.profession, t.marital_status, t.property_regime, t.spouse_party_id, t.address, t.legal_representatives, t.broker_id,
        t.lgpd_consent_at, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor, $6 request
prepare party_import_with_events as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'party' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.party, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.party t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.party t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), kind = item.kind,
        name = item.name, trade_name = item.trade_name, roles = item.roles, document_number = item.document_number, rg = item.rg,
        email = item.email, phone = item.phone, birth_date = item.birth_date, nationality = item.nationality, profession = item.profession,
        marital_status = item.marital_status, property_regime = item.property_regime, spouse_party_id = item.spouse_party_id,
        address = item.address, bank_account = item.bank_account, legal_representatives = item.legal_representatives,
        broker_id = item.broker_id, lgpd_consent_at = item.lgpd_consent_at, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.kind is distinct from item.kind or before.name is distinct from item.name
        or before.trade_name is distinct from item.trade_name or before.roles is distinct from item.roles
        or before.document_number is distinct from item.document_number or before.rg::json::text is distinct from item.rg::json::text
        or before.email is distinct from item.email or before.phone is distinct from item.phone
        or before.birth_date is distinct from item.birth_date or before.nationality is distinct from item.nationality
        or before.profession is distinct from item.profession or before.marital_status is distinct from item.marital_status
        or before.property_regime is distinct from item.property_regime or before.spouse_party_id is distinct from item.spouse_party_id
        or before.address::json::text is distinct from item.address::json::text
        or before.bank_account::json::text is distinct from item.bank_account::json::text
        or before.legal_representatives::json::text is distinct from item.legal_representatives::json::text
        or before.broker_id is distinct from item.broker_id or before.lgpd_consent_at is distinct from item.lgpd_consent_at
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.party as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, kind, name, trade_name,
        roles, document_number, rg, email, phone, birth_date, nationality, profession, marital_status, property_regime, spouse_party_id,
        address, bank_account, legal_representatives, broker_id, lgpd_consent_at, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.kind, item.name, item.trade_name, item.roles,
        item.document_number, item.rg, item.email, item.phone, item.birth_date, item.nationality, item.profession, item.marital_status,
        item.property_regime, item.spouse_party_id, item.address, item.bank_account, item.legal_representatives, item.broker_id,
        item.lgpd_consent_at, item.external_id, item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.kind, t.name, t.trade_name, t.roles, t.document_number, t.email, t.phone, t.nationality,
        t.profession, t.marital_status, t.property_regime, t.spouse_party_id, t.address, t.legal_representatives, t.broker_id,
        t.lgpd_consent_at, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $3, 'party.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', true
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous, is_silent)
    select $3, 'party.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.name is distinct from r.name then 'name' end,
        case when o.trade_name is distinct from r.trade_name then 'trade_name' end,
        case when o.roles is distinct from r.roles then 'roles' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.rg::json::text is distinct from r.rg::json::text then 'rg' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.birth_date is distinct from r.birth_date then 'birth_date' end,
        case when o.nationality is distinct from r.nationality then 'nationality' end,
        case when o.profession is distinct from r.profession then 'profession' end,
        case when o.marital_status is distinct from r.marital_status then 'marital_status' end,
        case when o.property_regime is distinct from r.property_regime then 'property_regime' end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then 'spouse_party_id' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then 'legal_representatives' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then 'lgpd_consent_at' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.trade_name is distinct from r.trade_name then '"trade_name":' || coalesce((to_json(o.trade_name))::text, 'null') end,
        case when o.roles is distinct from r.roles then '"roles":' || coalesce((to_json(o.roles))::text, 'null') end,
        case when o.document_number is distinct from r.document_number then '"document_number":' || coalesce((to_json(o.document_number))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json(o.phone))::text, 'null') end,
        case when o.nationality is distinct from r.nationality then '"nationality":' || coalesce((to_json(o.nationality))::text, 'null') end,
        case when o.profession is distinct from r.profession then '"profession":' || coalesce((to_json(o.profession))::text, 'null') end,
        case when o.marital_status is distinct from r.marital_status then '"marital_status":' || coalesce((to_json(o.marital_status))::text, 'null') end,
        case when o.property_regime is distinct from r.property_regime then '"property_regime":' || coalesce((to_json(o.property_regime))::text, 'null') end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then '"spouse_party_id":' || coalesce((to_json(o.spouse_party_id))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then '"legal_representatives":' || coalesce((o.legal_representatives)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then '"lgpd_consent_at":' || coalesce(('"' || neoapi.format_timestamp(o.lgpd_consent_at) || '"')::text, 'null') end,
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
prepare party_import_with_webhooks as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'party' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.party, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.party t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.party t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), kind = item.kind,
        name = item.name, trade_name = item.trade_name, roles = item.roles, document_number = item.document_number, rg = item.rg,
        email = item.email, phone = item.phone, birth_date = item.birth_date, nationality = item.nationality, profession = item.profession,
        marital_status = item.marital_status, property_regime = item.property_regime, spouse_party_id = item.spouse_party_id,
        address = item.address, bank_account = item.bank_account, legal_representatives = item.legal_representatives,
        broker_id = item.broker_id, lgpd_consent_at = item.lgpd_consent_at, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.kind is distinct from item.kind or before.name is distinct from item.name
        or before.trade_name is distinct from item.trade_name or before.roles is distinct from item.roles
        or before.document_number is distinct from item.document_number or before.rg::json::text is distinct from item.rg::json::text
        or before.email is distinct from item.email or before.phone is distinct from item.phone
        or before.birth_date is distinct from item.birth_date or before.nationality is distinct from item.nationality
        or before.profession is distinct from item.profession or before.marital_status is distinct from item.marital_status
        or before.property_regime is distinct from item.property_regime or before.spouse_party_id is distinct from item.spouse_party_id
        or before.address::json::text is distinct from item.address::json::text
        or before.bank_account::json::text is distinct from item.bank_account::json::text
        or before.legal_representatives::json::text is distinct from item.legal_representatives::json::text
        or before.broker_id is distinct from item.broker_id or before.lgpd_consent_at is distinct from item.lgpd_consent_at
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.party as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, kind, name, trade_name,
        roles, document_number, rg, email, phone, birth_date, nationality, profession, marital_status, property_regime, spouse_party_id,
        address, bank_account, legal_representatives, broker_id, lgpd_consent_at, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.kind, item.name, item.trade_name, item.roles,
        item.document_number, item.rg, item.email, item.phone, item.birth_date, item.nationality, item.profession, item.marital_status,
        item.property_regime, item.spouse_party_id, item.address, item.bank_account, item.legal_representatives, item.broker_id,
        item.lgpd_consent_at, item.external_id, item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.kind, t.name, t.trade_name, t.roles, t.document_number, t.email, t.phone, t.nationality,
        t.profession, t.marital_status, t.property_regime, t.spouse_party_id, t.address, t.legal_representatives, t.broker_id,
        t.lgpd_consent_at, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $3, 'party.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
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
        where s.organization_id = $3 and s.pattern = any ('{party.created,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'party.created', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $3, 'party.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"name":' || to_json(r.name), '"trade_name":' || to_json(r.trade_name), '"roles":' || to_json(r.roles),
        '"document_number":' || to_json(r.document_number), '"email":' || to_json(r.email), '"phone":' || to_json(r.phone),
        '"nationality":' || to_json(r.nationality), '"profession":' || to_json(r.profession),
        '"marital_status":' || to_json(r.marital_status), '"property_regime":' || to_json(r.property_regime),
        '"spouse_party_id":' || to_json(r.spouse_party_id), '"address":' || r.address, '"legal_representatives":' || r.legal_representatives,
        '"broker_id":' || to_json(r.broker_id), '"lgpd_consent_at":' || '"' || neoapi.format_timestamp(r.lgpd_consent_at) || '"',
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.name is distinct from r.name then 'name' end,
        case when o.trade_name is distinct from r.trade_name then 'trade_name' end,
        case when o.roles is distinct from r.roles then 'roles' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.rg::json::text is distinct from r.rg::json::text then 'rg' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.birth_date is distinct from r.birth_date then 'birth_date' end,
        case when o.nationality is distinct from r.nationality then 'nationality' end,
        case when o.profession is distinct from r.profession then 'profession' end,
        case when o.marital_status is distinct from r.marital_status then 'marital_status' end,
        case when o.property_regime is distinct from r.property_regime then 'property_regime' end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then 'spouse_party_id' end,
        case when o.address::json::text is distinct from r.address::json::text then 'address' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then 'legal_representatives' end,
        case when o.broker_id is distinct from r.broker_id then 'broker_id' end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then 'lgpd_consent_at' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.trade_name is distinct from r.trade_name then '"trade_name":' || coalesce((to_json(o.trade_name))::text, 'null') end,
        case when o.roles is distinct from r.roles then '"roles":' || coalesce((to_json(o.roles))::text, 'null') end,
        case when o.document_number is distinct from r.document_number then '"document_number":' || coalesce((to_json(o.document_number))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.phone is distinct from r.phone then '"phone":' || coalesce((to_json(o.phone))::text, 'null') end,
        case when o.nationality is distinct from r.nationality then '"nationality":' || coalesce((to_json(o.nationality))::text, 'null') end,
        case when o.profession is distinct from r.profession then '"profession":' || coalesce((to_json(o.profession))::text, 'null') end,
        case when o.marital_status is distinct from r.marital_status then '"marital_status":' || coalesce((to_json(o.marital_status))::text, 'null') end,
        case when o.property_regime is distinct from r.property_regime then '"property_regime":' || coalesce((to_json(o.property_regime))::text, 'null') end,
        case when o.spouse_party_id is distinct from r.spouse_party_id then '"spouse_party_id":' || coalesce((to_json(o.spouse_party_id))::text, 'null') end,
        case when o.address::json::text is distinct from r.address::json::text then '"address":' || coalesce((o.address)::text, 'null') end,
        case when o.legal_representatives::json::text is distinct from r.legal_representatives::json::text then '"legal_representatives":' || coalesce((o.legal_representatives)::text, 'null') end,
        case when o.broker_id is distinct from r.broker_id then '"broker_id":' || coalesce((to_json(o.broker_id))::text, 'null') end,
        case when o.lgpd_consent_at is distinct from r.lgpd_consent_at then '"lgpd_consent_at":' || coalesce(('"' || neoapi.format_timestamp(o.lgpd_consent_at) || '"')::text, 'null') end,
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
        where s.organization_id = $3 and s.pattern = any ('{party.updated,party.*,*}') and s.key = '' and s.is_active
            and 'party' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'party.updated', e.payload, e.previous, e.changed, '{"ids":"id","role":"roles"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'party')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries_update as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'party.updated', event_at, created_at
    from matched_update
    returning 1),
queued_update as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_update)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 since, $3 organization
prepare party_import_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'party' and l.number > $1::bigint and l.number <= $2::bigint),
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
    where f.id = due.target and (f.kind = 'party' and f.number > $2::bigint or f.kind = 'property' or f.kind = 'proposal'
        or f.kind = 'contract' or f.kind = 'document' or f.kind = 'lead' or f.kind = 'whatsapp_opt_out' or f.kind = 'whatsapp_conversation'
        or f.kind = 'whatsapp_message'))
on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id
where r.target_id <> excluded.target_id;

-- $1 before, $2 since, $3 organization
prepare party_import_all_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'party' and l.number > $1::bigint and l.number <= $2::bigint),
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

prepare party_import_duplicates as
with mine as materialized (
    select l.number, l.id, (
        select row(external_id)::text
        from json_populate_record(null::neoapi.party, l.body)
        where external_id is not null) as key
    from import_line l
    where l.kind = 'party' and l.body is not null)
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
    from neoapi.party
    where organization_id = $1 and external_id is not null) t on t.key = m.key
where t.id <> m.id and not exists (select from import_line o where o.id = t.id)
order by 1
limit 101;
