-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- $1 organization, $2 id
prepare broker_read as
select representation
from neoapi.broker
where organization_id = $1 and id = $2;

-- $1 organization, $2 id
prepare broker_read_version as
select representation, xmin
from neoapi.broker
where organization_id = $1 and id = $2;

-- $1 organization, $2 limit
prepare broker_list as
select t.representation
from neoapi.broker t
where t.organization_id = $1
order by t.id desc
limit (select $2::int);

-- $1 organization, $2 before, $3 limit
prepare broker_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.broker t
        where t.organization_id = $1 and t.id >= (select $2)
        order by t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, null as position
    from neoapi.broker t
    where t.organization_id = $1 and t.id < (select $2)
    order by t.id desc
    limit (select $3::int)) p on true
order by p.id desc;

-- $1 id, $2 id_block, $3 now, $4 name, $5 creci, $6 document_number, $7 email, $8 phone, $9 bank_account, $10 external_id, $11 metadata,
-- $12 visibility, $13 representation, $14 payload, $15 organization, $16 tenant, $17 actor, $18 request
prepare broker_create as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as name,
        $5::text as creci, $6::text as document_number, $7::text as email, $8::text as phone, $9::json as bank_account,
        $10::text as external_id, $11::json as metadata, $12::text as visibility, $13::text as representation, $14::text as item_payload),
created as (
    insert into neoapi.broker as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, name,
        creci, document_number, email, phone, bank_account, external_id, metadata, visibility)
    select $15, item.item_id, $16, item.item_now, item.item_now, $17, $17, item.representation, item.name, item.creci, item.document_number,
        item.email, item.phone, item.bank_account, item.external_id, item.metadata, item.visibility
    from item
    where true
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $13::text as representation,
        $14::text as item_payload),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $15, 'broker.created', r.id, neoapi.event_time(r.item_now), $17, $18, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $15 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $15 and s.pattern = any ('{broker.created,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($15, 'broker.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $15 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $15 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 id, $2 id_block, $3 now, $4 name, $5 creci, $6 document_number, $7 email, $8 phone, $9 bank_account, $10 external_id, $11 metadata,
-- $12 visibility, $13 representation, $14 payload, $15 organization, $16 tenant, $17 actor, $18 credential, $19 key, $20 hash, $21 request
prepare broker_create_keyed as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as name,
        $5::text as creci, $6::text as document_number, $7::text as email, $8::text as phone, $9::json as bank_account,
        $10::text as external_id, $11::json as metadata, $12::text as visibility, $13::text as representation, $14::text as item_payload),
created as (
    insert into neoapi.broker as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, name,
        creci, document_number, email, phone, bank_account, external_id, metadata, visibility)
    select $15, item.item_id, $16, item.item_now, item.item_now, $17, $17, item.representation, item.name, item.creci, item.document_number,
        item.email, item.phone, item.bank_account, item.external_id, item.metadata, item.visibility
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $15 and credential_id = $18 and key = $19::uuid) is null
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $13::text as representation,
        $14::text as item_payload),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $15, $18, $19::uuid, decode($20, 'hex'), 201, representation, null, now() + interval '24 hours'
    from created),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $15, 'broker.created', r.id, neoapi.event_time(r.item_now), $17, $21, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $15 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $15 and s.pattern = any ('{broker.created,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($15, 'broker.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $15 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $15 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 id, $2 id_block, $3 now, $4 name, $5 creci, $6 document_number, $7 email, $8 phone, $9 bank_account, $10 external_id, $11 metadata,
-- $12 visibility, $13 organization, $14 actor, $15 request
prepare broker_update as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as name,
        $5::text as creci, $6::text as document_number, $7::text as email, $8::text as phone, $9::json as bank_account,
        $10::text as external_id, $11::json as metadata, $12::text as visibility),
before as materialized (
    select t.*
    from item
    join neoapi.broker t on t.organization_id = $13 and t.id = item.item_id
    for no key update of t),
updated as (
    update neoapi.broker t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $14, name = item.name,
        creci = item.creci, document_number = item.document_number, email = item.email, phone = item.phone, bank_account = item.bank_account,
        external_id = item.external_id, metadata = item.metadata, visibility = item.visibility
    from item
    join before on before.id = item.item_id
    where t.organization_id = $13 and t.id = item.item_id and (false or before.name is distinct from item.name
        or before.creci is distinct from item.creci or before.document_number is distinct from item.document_number
        or before.email is distinct from item.email or before.phone is distinct from item.phone
        or before.bank_account::json::text is distinct from item.bank_account::json::text
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text
        or before.visibility is distinct from item.visibility)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $13, 'broker.updated', r.id, neoapi.event_time(r.item_now), $14, $15, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"') || '}', array_remove(array[null,
        case when o.id is distinct from r.id then 'id' end, case when o.name is distinct from r.name then 'name' end,
        case when o.creci is distinct from r.creci then 'creci' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.visibility is distinct from r.visibility then 'visibility' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.creci is distinct from r.creci then '"creci":' || coalesce((to_json(o.creci))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end)
        || '}')::json
    from updated r
    left join before o on o.id = r.id
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $13 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $13 and s.pattern = any ('{broker.updated,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($13, 'broker.updated', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $13 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $13 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.updated', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from updated
union all
select before.representation, 0, null, item.item_number
from before
join item on item.item_id = before.id
where not exists (select from updated where updated.id = before.id);

-- $1 id, $2 id_block, $3 now, $4 name, $5 creci, $6 document_number, $7 email, $8 phone, $9 bank_account, $10 external_id, $11 metadata,
-- $12 visibility, $13 organization, $14 version, $15 actor, $16 request
prepare broker_update_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as name,
        $5::text as creci, $6::text as document_number, $7::text as email, $8::text as phone, $9::json as bank_account,
        $10::text as external_id, $11::json as metadata, $12::text as visibility),
before as materialized (
    select t.*
    from item
    join neoapi.broker t on t.organization_id = $13 and t.id = item.item_id and t.xmin = $14::xid
    for no key update of t),
updated as (
    update neoapi.broker t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $15, name = item.name,
        creci = item.creci, document_number = item.document_number, email = item.email, phone = item.phone, bank_account = item.bank_account,
        external_id = item.external_id, metadata = item.metadata, visibility = item.visibility
    from item
    join before on before.id = item.item_id
    where t.organization_id = $13 and t.id = item.item_id and (false or before.name is distinct from item.name
        or before.creci is distinct from item.creci or before.document_number is distinct from item.document_number
        or before.email is distinct from item.email or before.phone is distinct from item.phone
        or before.bank_account::json::text is distinct from item.bank_account::json::text
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text
        or before.visibility is distinct from item.visibility)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $13, 'broker.updated', r.id, neoapi.event_time(r.item_now), $15, $16, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"') || '}', array_remove(array[null,
        case when o.id is distinct from r.id then 'id' end, case when o.name is distinct from r.name then 'name' end,
        case when o.creci is distinct from r.creci then 'creci' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.visibility is distinct from r.visibility then 'visibility' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.creci is distinct from r.creci then '"creci":' || coalesce((to_json(o.creci))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end)
        || '}')::json
    from updated r
    left join before o on o.id = r.id
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $13 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $13 and s.pattern = any ('{broker.updated,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($13, 'broker.updated', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $13 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $13 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.updated', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from updated
union all
select before.representation, 0, null, item.item_number
from before
join item on item.item_id = before.id
where not exists (select from updated where updated.id = before.id);

-- $1 id, $2 id_block, $3 now, $4 target_id_block, $5 organization, $6 actor, $7 request
prepare broker_delete as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now,
        $4::text as item_cleared_block),
used as materialized (
    select item_number, (
        select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',')
        from (values ('property', 'prp_'), ('party', 'pty_'), ('proposal', 'pps_'), ('contract', 'ctr_'), ('document', 'doc_'), ('lead',
            'led_')) as k (kind, prefix)
        cross join lateral (
            select r.source_id, r.path
            from neoapi.reference r
            where r.organization_id = $5 and r.broker_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'
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
    delete from neoapi.broker t using item
    where t.organization_id = $5 and t.id = item.item_id and not exists (
        select
        from used
        where used.item_number = item.item_number and users is not null)
    returning t.id, t.representation, t.name, t.creci, t.email, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at,
        t.updated_at, item.item_number, item.item_id_block, item.item_now, item.item_cleared_block),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $5, 'broker.deleted', r.id, neoapi.event_time(r.item_now), $6, $7, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(greatest(r.item_now, r.updated_at + interval '1 millisecond')) || '"') || '}'
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
        where s.organization_id = $5 and s.pattern = any ('{broker.deleted,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($5, 'broker.deleted', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $5 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $5 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.deleted', event_at, created_at
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

-- $1 id, $2 id_block, $3 now, $4 target_id_block, $5 organization, $6 version, $7 actor, $8 request
prepare broker_delete_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now,
        $4::text as item_cleared_block),
used as materialized (
    select item_number, (
        select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',')
        from (values ('property', 'prp_'), ('party', 'pty_'), ('proposal', 'pps_'), ('contract', 'ctr_'), ('document', 'doc_'), ('lead',
            'led_')) as k (kind, prefix)
        cross join lateral (
            select r.source_id, r.path
            from neoapi.reference r
            where r.organization_id = $5 and r.broker_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'
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
    delete from neoapi.broker t using item
    where t.organization_id = $5 and t.id = item.item_id and t.xmin = $6::xid and not exists (
        select
        from used
        where used.item_number = item.item_number and users is not null)
    returning t.id, t.representation, t.name, t.creci, t.email, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at,
        t.updated_at, item.item_number, item.item_id_block, item.item_now, item.item_cleared_block),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $5, 'broker.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(greatest(r.item_now, r.updated_at + interval '1 millisecond')) || '"') || '}'
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
        where s.organization_id = $5 and s.pattern = any ('{broker.deleted,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($5, 'broker.deleted', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $5 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $5 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.deleted', event_at, created_at
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
prepare broker_lock_organization as
select pg_advisory_xact_lock(hashtext('neoapi.batch.broker'), hashtext($1::text));

-- $1 item_number[], $2 id[], $3 organization
prepare broker_lock_rows as
with item as materialized (
    select *
    from unnest($1::text[]::int[], $2::text[]) as i (item_number, item_id)),
wanted as materialized (select item_id as id from item)
select item.item_number, t.representation
from wanted
join neoapi.broker t on t.organization_id = $3 and t.id = wanted.id
left join item on item.item_id = t.id
order by t.id
for no key update of t;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 name[], $6 creci[], $7 document_number[], $8 email[], $9 phone[], $10 bank_account[],
-- $11 external_id[], $12 metadata[], $13 visibility[], $14 representation[], $15 payload[], $16 organization, $17 tenant, $18 actor,
-- $19 request
prepare broker_create_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as name,
        unnest($6::text[])::text as creci, unnest($7::text[])::text as document_number, unnest($8::text[])::text as email,
        unnest($9::text[])::text as phone, unnest($10::text[])::json as bank_account, unnest($11::text[])::text as external_id,
        unnest($12::text[])::json as metadata, unnest($13::text[])::text as visibility, unnest($14::text[])::text as representation,
        unnest($15::text[])::text as item_payload),
inserted as (
    insert into neoapi.broker as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, name,
        creci, document_number, email, phone, bank_account, external_id, metadata, visibility)
    select $16, item.item_id, $17, item.item_now, item.item_now, $18, $18, item.representation, item.name, item.creci, item.document_number,
        item.email, item.phone, item.bank_account, item.external_id, item.metadata, item.visibility
    from item
    where true
    order by item.item_number
    on conflict do nothing
    returning t.id),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now, item.representation, item.item_payload
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $16, 'broker.created', r.id, neoapi.event_time(r.item_now), $18, $19, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $16 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $16 and s.pattern = any ('{broker.created,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($16, 'broker.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $16 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $16 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 name[], $6 creci[], $7 document_number[], $8 email[], $9 phone[], $10 bank_account[],
-- $11 external_id[], $12 metadata[], $13 visibility[], $14 representation[], $15 payload[], $16 organization, $17 tenant, $18 actor,
-- $19 request
prepare broker_create_rows_strict as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as name,
        unnest($6::text[])::text as creci, unnest($7::text[])::text as document_number, unnest($8::text[])::text as email,
        unnest($9::text[])::text as phone, unnest($10::text[])::json as bank_account, unnest($11::text[])::text as external_id,
        unnest($12::text[])::json as metadata, unnest($13::text[])::text as visibility, unnest($14::text[])::text as representation,
        unnest($15::text[])::text as item_payload),
inserted as (
    insert into neoapi.broker as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, name,
        creci, document_number, email, phone, bank_account, external_id, metadata, visibility)
    select $16, item.item_id, $17, item.item_now, item.item_now, $18, $18, item.representation, item.name, item.creci, item.document_number,
        item.email, item.phone, item.bank_account, item.external_id, item.metadata, item.visibility
    from item
    returning 1),
created as not materialized (
    select item.item_id as id, item.*
    from item
    where (select count(*) from inserted) >= 0),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $16, 'broker.created', r.id, neoapi.event_time(r.item_now), $18, $19, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $16 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $16 and s.pattern = any ('{broker.created,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($16, 'broker.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $16 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $16 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 name[], $6 creci[], $7 document_number[], $8 email[], $9 phone[], $10 bank_account[],
-- $11 external_id[], $12 metadata[], $13 visibility[], $14 representation[], $15 payload[], $16 organization[], $17 tenant[], $18 actor[],
-- $19 request[], $20 credential[], $21 key[], $22 hash[]
prepare broker_create_group as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as name,
        unnest($6::text[])::text as creci, unnest($7::text[])::text as document_number, unnest($8::text[])::text as email,
        unnest($9::text[])::text as phone, unnest($10::text[])::json as bank_account, unnest($11::text[])::text as external_id,
        unnest($12::text[])::json as metadata, unnest($13::text[])::text as visibility, unnest($14::text[])::text as representation,
        unnest($15::text[])::text as item_payload, unnest($16::text[])::text collate "C" as item_organization,
        unnest($17::text[])::text collate "C" as item_tenant, unnest($18::text[])::text collate "C" as item_actor,
        unnest($19::text[])::text collate "C" as item_request, unnest($20::text[])::text collate "C" as item_credential,
        unnest($21::text[])::text collate "C" as item_key, unnest($22::text[])::text collate "C" as item_hash
    where (select set_config('lock_timeout', '50', true)) is not null),
inserted as (
    insert into neoapi.broker as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, name,
        creci, document_number, email, phone, bank_account, external_id, metadata, visibility)
    select item_organization, item.item_id, item_tenant, item.item_now, item.item_now, item_actor, item_actor, item.representation,
        item.name, item.creci, item.document_number, item.email, item.phone, item.bank_account, item.external_id, item.metadata,
        item.visibility
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = item_organization and credential_id = item_credential and key = item_key::uuid) is null
    order by item.item_number
    on conflict do nothing
    returning t.id),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now, item.representation, item.item_payload, item.item_organization,
        item.item_tenant, item.item_actor, item.item_request, item.item_credential, item.item_key, item.item_hash
    from inserted
    join item on item.item_id = inserted.id),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select item_organization, item_credential, item_key::uuid, decode(item_hash, 'hex'), 201, representation, null,
        now() + interval '24 hours'
    from created
    where item_key is not null),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select item_organization, 'broker.created', r.id, neoapi.event_time(r.item_now), item_actor, item_request, r.item_payload
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
        where s.organization_id = item_organization and s.pattern = any ('{broker.created,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match(item_organization, 'broker.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = item_organization and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = item_organization and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 name[], $6 creci[], $7 document_number[], $8 email[], $9 phone[], $10 bank_account[],
-- $11 external_id[], $12 metadata[], $13 visibility[], $14 organization, $15 actor, $16 request
prepare broker_update_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as name,
        unnest($6::text[])::text as creci, unnest($7::text[])::text as document_number, unnest($8::text[])::text as email,
        unnest($9::text[])::text as phone, unnest($10::text[])::json as bank_account, unnest($11::text[])::text as external_id,
        unnest($12::text[])::json as metadata, unnest($13::text[])::text as visibility),
before as materialized (
    select t.*
    from item
    join neoapi.broker t on t.organization_id = $14 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.broker t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $15, name = item.name,
        creci = item.creci, document_number = item.document_number, email = item.email, phone = item.phone, bank_account = item.bank_account,
        external_id = item.external_id, metadata = item.metadata, visibility = item.visibility
    from item
    join before on before.id = item.item_id
    where t.organization_id = $14 and t.id = item.item_id and (false or before.name is distinct from item.name
        or before.creci is distinct from item.creci or before.document_number is distinct from item.document_number
        or before.email is distinct from item.email or before.phone is distinct from item.phone
        or before.bank_account::json::text is distinct from item.bank_account::json::text
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text
        or before.visibility is distinct from item.visibility)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $14, 'broker.updated', r.id, neoapi.event_time(r.item_now), $15, $16, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"') || '}', array_remove(array[null,
        case when o.id is distinct from r.id then 'id' end, case when o.name is distinct from r.name then 'name' end,
        case when o.creci is distinct from r.creci then 'creci' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.visibility is distinct from r.visibility then 'visibility' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.creci is distinct from r.creci then '"creci":' || coalesce((to_json(o.creci))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end)
        || '}')::json
    from updated r
    left join before o on o.id = r.id
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $14 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $14 and s.pattern = any ('{broker.updated,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($14, 'broker.updated', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $14 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $14 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.updated', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from updated
union all
select before.representation, 0, null, item.item_number
from before
join item on item.item_id = before.id
where not exists (select from updated where updated.id = before.id);

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 target_id_block[], $6 organization, $7 actor, $8 request
prepare broker_delete_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now,
        unnest($5::text[])::text as item_cleared_block),
used as materialized (
    select item_number, (
        select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',')
        from (values ('property', 'prp_'), ('party', 'pty_'), ('proposal', 'pps_'), ('contract', 'ctr_'), ('document', 'doc_'), ('lead',
            'led_')) as k (kind, prefix)
        cross join lateral (
            select r.source_id, r.path
            from neoapi.reference r
            where r.organization_id = $6 and r.broker_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'
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
    delete from neoapi.broker t using item
    where t.organization_id = $6 and t.id = item.item_id and not exists (
        select
        from used
        where used.item_number = item.item_number and users is not null)
    returning t.id, t.representation, t.name, t.creci, t.email, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at,
        t.updated_at, item.item_number, item.item_id_block, item.item_now, item.item_cleared_block),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $6, 'broker.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(greatest(r.item_now, r.updated_at + interval '1 millisecond')) || '"') || '}'
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
        where s.organization_id = $6 and s.pattern = any ('{broker.deleted,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($6, 'broker.deleted', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $6 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $6 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.deleted', event_at, created_at
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

prepare broker_list_ids as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and t.id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_created_gte as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and t.id >= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_created_lte as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and t.id <= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_updated_gte as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and t.updated_at >= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_updated_lte as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and t.updated_at <= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_creci as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and neoapi.creci_key(t.creci) in (neoapi.creci_key($3)) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_document_number as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and t.document_number in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_email as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and lower(t.email) in (lower($3)) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_external_id as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and t.external_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_visibility as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and t.visibility in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_q as
select t.representation
from neoapi.broker t
where t.organization_id = $1 and neoapi.folded(t.name) like ('%' || replace(replace(replace(neoapi.folded($3), E'\\', E'\\\\'), '%', E'\\%'),
    '_', E'\\_') || '%') and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare broker_list_by_change as
select t.representation, false, (extract(epoch from t.updated_at) * 1000000)::bigint, null
from neoapi.broker t
where t.organization_id = $1 and (not $3::boolean or neoapi.force_custom_plan())
order by t.updated_at desc, t.id desc
limit $2::int;

prepare broker_list_by_change_further as
select p.answer, e.id is not null, p.position, (
    select count(*)
    from (
        select t.id
        from neoapi.broker t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan())
        order by t.id desc
        limit 10000 + 1) c)
from (
    select (
        select t.id
        from neoapi.broker t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
            t.id) >= (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
        order by t.updated_at asc, t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, (extract(epoch from t.updated_at) * 1000000)::bigint as position
    from neoapi.broker t
    where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
        t.id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
    order by t.updated_at desc, t.id desc
    limit $2::int) p on true
order by p.position desc, p.id desc;

prepare broker_export as
select t.representation
from neoapi.broker t
where t.organization_id = $1
order by t.id desc
limit all;

prepare broker_find_creci as
select t.id
from neoapi.broker t
where t.organization_id = $1 and neoapi.creci_key(t.creci) = neoapi.creci_key($2) and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

prepare broker_find_external_id as
select t.id
from neoapi.broker t
where t.organization_id = $1 and t.external_id = $2 and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

-- broker_representation
create or replace function neoapi.broker_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"name":' || to_json(new.name),
        '"creci":' || to_json(new.creci),
        '"document_number":' || to_json(new.document_number),
        '"email":' || to_json(new.email),
        '"phone":' || to_json(new.phone),
        '"bank_account":' || new.bank_account,
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"visibility":' || to_json(new.visibility),
        '"created_at":' || '"' || neoapi.format_timestamp(new.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;
create or replace trigger set_representation before update on neoapi.broker for each row execute function neoapi.broker_set_representation();
create or replace trigger set_representation_if_null before insert on neoapi.broker for each row when (new.representation is null) execute function neoapi.broker_set_representation();

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor
prepare broker_import as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'broker' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.broker, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.broker t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.broker t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), name = item.name,
        creci = item.creci, document_number = item.document_number, email = item.email, phone = item.phone, bank_account = item.bank_account,
        external_id = item.external_id, metadata = item.metadata, visibility = item.visibility
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.name is distinct from item.name or before.creci is distinct from item.creci
        or before.document_number is distinct from item.document_number or before.email is distinct from item.email
        or before.phone is distinct from item.phone or before.bank_account::json::text is distinct from item.bank_account::json::text
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text
        or before.visibility is distinct from item.visibility)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.broker as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, creci,
        document_number, email, phone, bank_account, external_id, metadata, visibility)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.name, item.creci, item.document_number, item.email, item.phone,
        item.bank_account, item.external_id, item.metadata, item.visibility
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.name, t.creci, t.email, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at,
        t.updated_at),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor, $6 request
prepare broker_import_with_events as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'broker' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.broker, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.broker t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.broker t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), name = item.name,
        creci = item.creci, document_number = item.document_number, email = item.email, phone = item.phone, bank_account = item.bank_account,
        external_id = item.external_id, metadata = item.metadata, visibility = item.visibility
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.name is distinct from item.name or before.creci is distinct from item.creci
        or before.document_number is distinct from item.document_number or before.email is distinct from item.email
        or before.phone is distinct from item.phone or before.bank_account::json::text is distinct from item.bank_account::json::text
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text
        or before.visibility is distinct from item.visibility)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.broker as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, creci,
        document_number, email, phone, bank_account, external_id, metadata, visibility)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.name, item.creci, item.document_number, item.email, item.phone,
        item.bank_account, item.external_id, item.metadata, item.visibility
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.name, t.creci, t.email, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at,
        t.updated_at),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $3, 'broker.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"') || '}', true
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous, is_silent)
    select $3, 'broker.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"') || '}', array_remove(array[null,
        case when o.id is distinct from r.id then 'id' end, case when o.name is distinct from r.name then 'name' end,
        case when o.creci is distinct from r.creci then 'creci' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.visibility is distinct from r.visibility then 'visibility' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.creci is distinct from r.creci then '"creci":' || coalesce((to_json(o.creci))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end)
        || '}')::json, true
    from updated r
    left join before o on o.id = r.id
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor, $6 request
prepare broker_import_with_webhooks as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'broker' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.broker, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.broker t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.broker t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), name = item.name,
        creci = item.creci, document_number = item.document_number, email = item.email, phone = item.phone, bank_account = item.bank_account,
        external_id = item.external_id, metadata = item.metadata, visibility = item.visibility
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.name is distinct from item.name or before.creci is distinct from item.creci
        or before.document_number is distinct from item.document_number or before.email is distinct from item.email
        or before.phone is distinct from item.phone or before.bank_account::json::text is distinct from item.bank_account::json::text
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text
        or before.visibility is distinct from item.visibility)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.broker as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, name, creci,
        document_number, email, phone, bank_account, external_id, metadata, visibility)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.name, item.creci, item.document_number, item.email, item.phone,
        item.bank_account, item.external_id, item.metadata, item.visibility
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.name, t.creci, t.email, t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at,
        t.updated_at),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $3, 'broker.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"') || '}'
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
        where s.organization_id = $3 and s.pattern = any ('{broker.created,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'broker.created', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $3, 'broker.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"name":' || to_json(r.name), '"creci":' || to_json(r.creci), '"email":' || to_json(r.email),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"') || '}', array_remove(array[null,
        case when o.id is distinct from r.id then 'id' end, case when o.name is distinct from r.name then 'name' end,
        case when o.creci is distinct from r.creci then 'creci' end,
        case when o.document_number is distinct from r.document_number then 'document_number' end,
        case when o.email is distinct from r.email then 'email' end, case when o.phone is distinct from r.phone then 'phone' end,
        case when o.bank_account::json::text is distinct from r.bank_account::json::text then 'bank_account' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.visibility is distinct from r.visibility then 'visibility' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.name is distinct from r.name then '"name":' || coalesce((to_json(o.name))::text, 'null') end,
        case when o.creci is distinct from r.creci then '"creci":' || coalesce((to_json(o.creci))::text, 'null') end,
        case when o.email is distinct from r.email then '"email":' || coalesce((to_json(o.email))::text, 'null') end,
        case when o.external_id is distinct from r.external_id then '"external_id":' || coalesce((to_json(o.external_id))::text, 'null') end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then '"metadata":' || coalesce((o.metadata)::text, 'null') end,
        case when o.tenant_id is distinct from r.tenant_id then '"tenant_id":' || coalesce((to_json(o.tenant_id))::text, 'null') end,
        case when o.organization_id is distinct from r.organization_id then '"organization_id":' || coalesce((to_json(o.organization_id))::text, 'null') end,
        case when o.created_at is distinct from r.created_at then '"created_at":' || coalesce(('"' || neoapi.format_timestamp(o.created_at) || '"')::text, 'null') end)
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
        where s.organization_id = $3 and s.pattern = any ('{broker.updated,broker.*,*}') and s.key = '' and s.is_active
            and 'broker' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'broker.updated', e.payload, e.previous, e.changed, '{"ids":"id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'broker')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries_update as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'broker.updated', event_at, created_at
    from matched_update
    returning 1),
queued_update as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_update)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 since, $3 organization
prepare broker_import_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'broker' and l.number > $1::bigint and l.number <= $2::bigint),
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
    where f.id = due.target and (f.kind = 'broker' and f.number > $2::bigint or f.kind = 'party' or f.kind = 'property'
        or f.kind = 'proposal' or f.kind = 'contract' or f.kind = 'document' or f.kind = 'lead' or f.kind = 'whatsapp_opt_out'
        or f.kind = 'whatsapp_conversation' or f.kind = 'whatsapp_message'))
on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id
where r.target_id <> excluded.target_id;

-- $1 before, $2 since, $3 organization
prepare broker_import_all_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'broker' and l.number > $1::bigint and l.number <= $2::bigint),
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

prepare broker_import_duplicates as
with mine as materialized (
    select l.number, l.id, (
        select row(external_id)::text
        from json_populate_record(null::neoapi.broker, l.body)
        where external_id is not null) as key
    from import_line l
    where l.kind = 'broker' and l.body is not null)
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
    from neoapi.broker
    where organization_id = $1 and external_id is not null) t on t.key = m.key
where t.id <> m.id and not exists (select from import_line o where o.id = t.id)
order by 1
limit 101;
