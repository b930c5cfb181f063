-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- $1 organization, $2 id
prepare document_read as
select representation
from neoapi.document
where organization_id = $1 and id = $2;

-- $1 organization, $2 id
prepare document_read_version as
select representation, xmin
from neoapi.document
where organization_id = $1 and id = $2;

-- $1 organization, $2 limit
prepare document_list as
select t.representation
from neoapi.document t
where t.organization_id = $1
order by t.id desc
limit (select $2::int);

-- $1 organization, $2 before, $3 limit
prepare document_list_further as
select p.answer, e.id is not null, p.position, null
from (
    select (
        select t.id
        from neoapi.document t
        where t.organization_id = $1 and t.id >= (select $2)
        order by t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, null as position
    from neoapi.document t
    where t.organization_id = $1 and t.id < (select $2)
    order by t.id desc
    limit (select $3::int)) p on true
order by p.id desc;

-- $1 id, $2 id_block, $3 now, $4 kind, $5 title, $6 related, $7 file, $8 number, $9 issuer, $10 issued_at, $11 expires_at, $12 status,
-- $13 external_id, $14 metadata, $15 representation, $16 payload, $17 numbers, $18 paths, $19 targets, $20 organization, $21 tenant,
-- $22 actor, $23 request
prepare document_create as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as title, $6::json as related, $7::json as file, $8::text as number, $9::text as issuer, $10::timestamptz as issued_at,
        $11::timestamptz as expires_at, $12::text as status, $13::text as external_id, $14::json as metadata, $15::text as representation,
        $16::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($17::int[], $18::text[], $19::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $20 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $20 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $20 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $20 and o.id = target)
        when 'ctr_' then (
        select o.id
        from neoapi.contract o
        where o.organization_id = $20 and o.id = target) end is null),
created as (
    insert into neoapi.document as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        title, related, file, number, issuer, issued_at, expires_at, status, external_id, metadata)
    select $20, item.item_id, $21, item.item_now, item.item_now, $22, $22, item.representation, item.kind, item.title, item.related,
        item.file, item.number, item.issuer, item.issued_at, item.expires_at, item.status, item.external_id, item.metadata
    from item
    where true and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $15::text as representation,
        $16::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $20, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $20, 'document.created', r.id, neoapi.event_time(r.item_now), $22, $23, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $20 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $20 and s.pattern = any ('{document.created,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($20, 'document.created', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $20 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $20 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.created', event_at, created_at
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

-- $1 id, $2 id_block, $3 now, $4 kind, $5 title, $6 related, $7 file, $8 number, $9 issuer, $10 issued_at, $11 expires_at, $12 status,
-- $13 external_id, $14 metadata, $15 representation, $16 payload, $17 numbers, $18 paths, $19 targets, $20 organization, $21 tenant,
-- $22 actor, $23 credential, $24 key, $25 hash, $26 request
prepare document_create_keyed as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as title, $6::json as related, $7::json as file, $8::text as number, $9::text as issuer, $10::timestamptz as issued_at,
        $11::timestamptz as expires_at, $12::text as status, $13::text as external_id, $14::json as metadata, $15::text as representation,
        $16::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($17::int[], $18::text[], $19::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $20 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $20 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $20 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $20 and o.id = target)
        when 'ctr_' then (
        select o.id
        from neoapi.contract o
        where o.organization_id = $20 and o.id = target) end is null),
created as (
    insert into neoapi.document as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        title, related, file, number, issuer, issued_at, expires_at, status, external_id, metadata)
    select $20, item.item_id, $21, item.item_now, item.item_now, $22, $22, item.representation, item.kind, item.title, item.related,
        item.file, item.number, item.issuer, item.issued_at, item.expires_at, item.status, item.external_id, item.metadata
    from item
    where (
        select 1
        from neoapi.idempotency_key
        where organization_id = $20 and credential_id = $23 and key = $24::uuid) is null
        and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
    order by item.item_number
    returning t.id, 1 as item_number, $2::text as item_id_block, $3::timestamptz as item_now, $15::text as representation,
        $16::text as item_payload),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $20, created.id, path, target
    from created
    join ref using (item_number)),
stored_key as (
    insert into neoapi.idempotency_key (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)
    select $20, $23, $24::uuid, decode($25, 'hex'), 201, representation, null, now() + interval '24 hours'
    from created),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $20, 'document.created', r.id, neoapi.event_time(r.item_now), $22, $26, r.item_payload
    from created r
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $20 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $20 and s.pattern = any ('{document.created,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($20, 'document.created', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $20 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $20 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.created', event_at, created_at
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
    where organization_id = $20 and credential_id = $23 and key = $24::uuid) is null;

-- $1 id, $2 id_block, $3 now, $4 kind, $5 title, $6 related, $7 file, $8 number, $9 issuer, $10 issued_at, $11 expires_at, $12 status,
-- $13 external_id, $14 metadata, $15 numbers, $16 paths, $17 targets, $18 organization, $19 version, $20 actor, $21 request
prepare document_update_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now, $4::text as kind,
        $5::text as title, $6::json as related, $7::json as file, $8::text as number, $9::text as issuer, $10::timestamptz as issued_at,
        $11::timestamptz as expires_at, $12::text as status, $13::text as external_id, $14::json as metadata),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($15::int[], $16::text[], $17::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $18 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $18 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $18 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $18 and o.id = target)
        when 'ctr_' then (
        select o.id
        from neoapi.contract o
        where o.organization_id = $18 and o.id = target) end is null),
before as materialized (
    select t.*
    from item
    join neoapi.document t on t.organization_id = $18 and t.id = item.item_id and t.xmin = $19::xid
    for no key update of t),
updated as (
    update neoapi.document t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $20, kind = item.kind,
        title = item.title, related = item.related, file = item.file, number = item.number, issuer = item.issuer, issued_at = item.issued_at,
        expires_at = item.expires_at, status = item.status, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $18 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.kind is distinct from item.kind or before.title is distinct from item.title
            or before.related::json::text is distinct from item.related::json::text
            or before.file::json::text is distinct from item.file::json::text or before.number is distinct from item.number
            or before.issuer is distinct from item.issuer or before.issued_at is distinct from item.issued_at
            or before.expires_at is distinct from item.expires_at or before.status is distinct from item.status
            or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $18 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $18, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $18 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $18, 'document.updated', r.id, neoapi.event_time(r.item_now), $20, $21, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"title":' || to_json(r.title), '"related":' || r.related, '"file":' || r.file,
        '"number":' || to_json(r.number), '"issuer":' || to_json(r.issuer),
        '"issued_at":' || '"' || neoapi.format_timestamp(r.issued_at) || '"',
        '"expires_at":' || '"' || neoapi.format_timestamp(r.expires_at) || '"', '"status":' || to_json(r.status),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.title is distinct from r.title then 'title' end,
        case when o.related::json::text is distinct from r.related::json::text then 'related' end,
        case when o.file::json::text is distinct from r.file::json::text then 'file' end,
        case when o.number is distinct from r.number then 'number' end, case when o.issuer is distinct from r.issuer then 'issuer' end,
        case when o.issued_at is distinct from r.issued_at then 'issued_at' end,
        case when o.expires_at is distinct from r.expires_at then 'expires_at' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.title is distinct from r.title then '"title":' || coalesce((to_json(o.title))::text, 'null') end,
        case when o.related::json::text is distinct from r.related::json::text then '"related":' || coalesce((o.related)::text, 'null') end,
        case when o.file::json::text is distinct from r.file::json::text then '"file":' || coalesce((o.file)::text, 'null') end,
        case when o.number is distinct from r.number then '"number":' || coalesce((to_json(o.number))::text, 'null') end,
        case when o.issuer is distinct from r.issuer then '"issuer":' || coalesce((to_json(o.issuer))::text, 'null') end,
        case when o.issued_at is distinct from r.issued_at then '"issued_at":' || coalesce(('"' || neoapi.format_timestamp(o.issued_at) || '"')::text, 'null') end,
        case when o.expires_at is distinct from r.expires_at then '"expires_at":' || coalesce(('"' || neoapi.format_timestamp(o.expires_at) || '"')::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
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
    select $18 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $18 and s.pattern = any ('{document.updated,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($18, 'document.updated', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $18 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $18 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.updated', event_at, created_at
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
prepare document_delete_version as
with item as not materialized (
    select 1 as item_number, $1::text collate "C" as item_id, $2::text as item_id_block, $3::timestamptz as item_now,
        $4::text as item_cleared_block),
deleted as (
    delete from neoapi.document t using item
    where t.organization_id = $5 and t.id = item.item_id and t.xmin = $6::xid
    returning t.id, t.representation, t.kind, t.title, t.related, t.file, t.number, t.issuer, t.issued_at, t.expires_at, t.status,
        t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, item.item_number,
        item.item_id_block, item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $5 and r.source_id = deleted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $5, 'document.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"title":' || to_json(r.title), '"related":' || r.related, '"file":' || r.file,
        '"number":' || to_json(r.number), '"issuer":' || to_json(r.issuer),
        '"issued_at":' || '"' || neoapi.format_timestamp(r.issued_at) || '"',
        '"expires_at":' || '"' || neoapi.format_timestamp(r.expires_at) || '"', '"status":' || to_json(r.status),
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
        where s.organization_id = $5 and s.pattern = any ('{document.deleted,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($5, 'document.deleted', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $5 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $5 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.deleted', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select id, (select count(*) from queued_deliveries), null, item_number
from deleted;

-- $1 organization
prepare document_lock_organization as
select pg_advisory_xact_lock(hashtext('neoapi.batch.document'), hashtext($1::text));

-- $1 item_number[], $2 id[], $3 organization
prepare document_lock_rows as
with item as materialized (
    select *
    from unnest($1::text[]::int[], $2::text[]) as i (item_number, item_id)),
wanted as materialized (select item_id as id from item)
select item.item_number, t.representation
from wanted
join neoapi.document t on t.organization_id = $3 and t.id = wanted.id
left join item on item.item_id = t.id
order by t.id
for no key update of t;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 title[], $7 related[], $8 file[], $9 number[], $10 issuer[],
-- $11 issued_at[], $12 expires_at[], $13 status[], $14 external_id[], $15 metadata[], $16 representation[], $17 payload[], $18 numbers,
-- $19 paths, $20 targets, $21 organization, $22 tenant, $23 actor, $24 request
prepare document_create_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as title, unnest($7::text[])::json as related, unnest($8::text[])::json as file,
        unnest($9::text[])::text as number, unnest($10::text[])::text as issuer, unnest($11::text[])::timestamptz as issued_at,
        unnest($12::text[])::timestamptz as expires_at, unnest($13::text[])::text as status, unnest($14::text[])::text as external_id,
        unnest($15::text[])::json as metadata, unnest($16::text[])::text as representation, unnest($17::text[])::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($18::int[], $19::text[], $20::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $21 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $21 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $21 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $21 and o.id = target)
        when 'ctr_' then (
        select o.id
        from neoapi.contract o
        where o.organization_id = $21 and o.id = target) end is null),
inserted as (
    insert into neoapi.document as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        title, related, file, number, issuer, issued_at, expires_at, status, external_id, metadata)
    select $21, item.item_id, $22, item.item_now, item.item_now, $23, $23, item.representation, item.kind, item.title, item.related,
        item.file, item.number, item.issuer, item.issued_at, item.expires_at, item.status, item.external_id, item.metadata
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
    select $21, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $21, 'document.created', r.id, neoapi.event_time(r.item_now), $23, $24, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $21 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $21 and s.pattern = any ('{document.created,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($21, 'document.created', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $21 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $21 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.created', event_at, created_at
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

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 title[], $7 related[], $8 file[], $9 number[], $10 issuer[],
-- $11 issued_at[], $12 expires_at[], $13 status[], $14 external_id[], $15 metadata[], $16 representation[], $17 payload[], $18 numbers,
-- $19 paths, $20 targets, $21 organization, $22 tenant, $23 actor, $24 request
prepare document_create_rows_strict as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as title, unnest($7::text[])::json as related, unnest($8::text[])::json as file,
        unnest($9::text[])::text as number, unnest($10::text[])::text as issuer, unnest($11::text[])::timestamptz as issued_at,
        unnest($12::text[])::timestamptz as expires_at, unnest($13::text[])::text as status, unnest($14::text[])::text as external_id,
        unnest($15::text[])::json as metadata, unnest($16::text[])::text as representation, unnest($17::text[])::text as item_payload),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($18::int[], $19::text[], $20::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $21 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $21 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $21 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $21 and o.id = target)
        when 'ctr_' then (
        select o.id
        from neoapi.contract o
        where o.organization_id = $21 and o.id = target) end is null),
inserted as (
    insert into neoapi.document as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        title, related, file, number, issuer, issued_at, expires_at, status, external_id, metadata)
    select $21, item.item_id, $22, item.item_now, item.item_now, $23, $23, item.representation, item.kind, item.title, item.related,
        item.file, item.number, item.issuer, item.issued_at, item.expires_at, item.status, item.external_id, item.metadata
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
    select $21, created.id, path, target
    from created
    join ref using (item_number)),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $21, 'document.created', r.id, neoapi.event_time(r.item_now), $23, $24, r.item_payload
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
matched as (
    select $21 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.item_now end as changed_at
    from event e
    join created r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $21 and s.pattern = any ('{document.created,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($21, 'document.created', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $21 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $21 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.created', event_at, created_at
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

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 title[], $7 related[], $8 file[], $9 number[], $10 issuer[],
-- $11 issued_at[], $12 expires_at[], $13 status[], $14 external_id[], $15 metadata[], $16 representation[], $17 payload[],
-- $18 organization[], $19 tenant[], $20 actor[], $21 request[], $22 credential[], $23 key[], $24 hash[], $25 numbers, $26 paths,
-- $27 targets
prepare document_create_group as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as title, unnest($7::text[])::json as related, unnest($8::text[])::json as file,
        unnest($9::text[])::text as number, unnest($10::text[])::text as issuer, unnest($11::text[])::timestamptz as issued_at,
        unnest($12::text[])::timestamptz as expires_at, unnest($13::text[])::text as status, unnest($14::text[])::text as external_id,
        unnest($15::text[])::json as metadata, unnest($16::text[])::text as representation, unnest($17::text[])::text as item_payload,
        unnest($18::text[])::text collate "C" as item_organization, unnest($19::text[])::text collate "C" as item_tenant,
        unnest($20::text[])::text collate "C" as item_actor, unnest($21::text[])::text collate "C" as item_request,
        unnest($22::text[])::text collate "C" as item_credential, unnest($23::text[])::text collate "C" as item_key,
        unnest($24::text[])::text collate "C" as item_hash
    where (select set_config('lock_timeout', '50', true)) is not null),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($25::int[], $26::text[], $27::text[]) as r (item_number, path, target)),
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
        where o.organization_id = item_organization and o.id = target)
        when 'ctr_' then (
        select o.id
        from neoapi.contract o
        where o.organization_id = item_organization and o.id = target) end is null),
inserted as (
    insert into neoapi.document as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, representation, kind,
        title, related, file, number, issuer, issued_at, expires_at, status, external_id, metadata)
    select item_organization, item.item_id, item_tenant, item.item_now, item.item_now, item_actor, item_actor, item.representation,
        item.kind, item.title, item.related, item.file, item.number, item.issuer, item.issued_at, item.expires_at, item.status,
        item.external_id, item.metadata
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
    select item_organization, 'document.created', r.id, neoapi.event_time(r.item_now), item_actor, item_request, r.item_payload
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
        where s.organization_id = item_organization and s.pattern = any ('{document.created,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match(item_organization, 'document.created', e.payload, e.previous, e.changed,
            '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = item_organization and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = item_organization and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select representation, (select count(*) from queued_deliveries), null, item_number
from created;

-- $1 item_number[], $2 id[], $3 id_block[], $4 now[], $5 kind[], $6 title[], $7 related[], $8 file[], $9 number[], $10 issuer[],
-- $11 issued_at[], $12 expires_at[], $13 status[], $14 external_id[], $15 metadata[], $16 numbers, $17 paths, $18 targets,
-- $19 organization, $20 actor, $21 request
prepare document_update_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now, unnest($5::text[])::text as kind,
        unnest($6::text[])::text as title, unnest($7::text[])::json as related, unnest($8::text[])::json as file,
        unnest($9::text[])::text as number, unnest($10::text[])::text as issuer, unnest($11::text[])::timestamptz as issued_at,
        unnest($12::text[])::timestamptz as expires_at, unnest($13::text[])::text as status, unnest($14::text[])::text as external_id,
        unnest($15::text[])::json as metadata),
ref as materialized (
    select r.item_number, r.path, r.target
    from unnest($16::int[], $17::text[], $18::text[]) as r (item_number, path, target)),
missing as materialized (
    select item_number, path
    from ref
    where case left(target, 4) when 'brk_' then (
        select o.id
        from neoapi.broker o
        where o.organization_id = $19 and o.id = target)
        when 'prp_' then (
        select o.id
        from neoapi.property o
        where o.organization_id = $19 and o.id = target)
        when 'pty_' then (
        select o.id
        from neoapi.party o
        where o.organization_id = $19 and o.id = target)
        when 'pps_' then (
        select o.id
        from neoapi.proposal o
        where o.organization_id = $19 and o.id = target)
        when 'ctr_' then (
        select o.id
        from neoapi.contract o
        where o.organization_id = $19 and o.id = target) end is null),
before as materialized (
    select t.*
    from item
    join neoapi.document t on t.organization_id = $19 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.document t
    set updated_at = greatest(item.item_now, before.updated_at + interval '1 millisecond'), updated_by = $20, kind = item.kind,
        title = item.title, related = item.related, file = item.file, number = item.number, issuer = item.issuer, issued_at = item.issued_at,
        expires_at = item.expires_at, status = item.status, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $19 and t.id = item.item_id and not exists (
        select
        from missing
        where missing.item_number = item.item_number)
        and (false or before.kind is distinct from item.kind or before.title is distinct from item.title
            or before.related::json::text is distinct from item.related::json::text
            or before.file::json::text is distinct from item.file::json::text or before.number is distinct from item.number
            or before.issuer is distinct from item.issuer or before.issued_at is distinct from item.issued_at
            or before.expires_at is distinct from item.expires_at or before.status is distinct from item.status
            or before.external_id is distinct from item.external_id
            or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
removed_references as (
    delete from neoapi.reference r using updated
    where r.organization_id = $19 and r.source_id = updated.id and not exists (
        select
        from ref
        where ref.item_number = updated.item_number and ref.path = r.path)),
stored_references as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select $19, updated.id, path, target
    from updated
    join ref using (item_number)
    where not exists (
        select
        from neoapi.reference r
        where r.organization_id = $19 and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)
    on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $19, 'document.updated', r.id, neoapi.event_time(r.item_now), $20, $21, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"title":' || to_json(r.title), '"related":' || r.related, '"file":' || r.file,
        '"number":' || to_json(r.number), '"issuer":' || to_json(r.issuer),
        '"issued_at":' || '"' || neoapi.format_timestamp(r.issued_at) || '"',
        '"expires_at":' || '"' || neoapi.format_timestamp(r.expires_at) || '"', '"status":' || to_json(r.status),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.title is distinct from r.title then 'title' end,
        case when o.related::json::text is distinct from r.related::json::text then 'related' end,
        case when o.file::json::text is distinct from r.file::json::text then 'file' end,
        case when o.number is distinct from r.number then 'number' end, case when o.issuer is distinct from r.issuer then 'issuer' end,
        case when o.issued_at is distinct from r.issued_at then 'issued_at' end,
        case when o.expires_at is distinct from r.expires_at then 'expires_at' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.title is distinct from r.title then '"title":' || coalesce((to_json(o.title))::text, 'null') end,
        case when o.related::json::text is distinct from r.related::json::text then '"related":' || coalesce((o.related)::text, 'null') end,
        case when o.file::json::text is distinct from r.file::json::text then '"file":' || coalesce((o.file)::text, 'null') end,
        case when o.number is distinct from r.number then '"number":' || coalesce((to_json(o.number))::text, 'null') end,
        case when o.issuer is distinct from r.issuer then '"issuer":' || coalesce((to_json(o.issuer))::text, 'null') end,
        case when o.issued_at is distinct from r.issued_at then '"issued_at":' || coalesce(('"' || neoapi.format_timestamp(o.issued_at) || '"')::text, 'null') end,
        case when o.expires_at is distinct from r.expires_at then '"expires_at":' || coalesce(('"' || neoapi.format_timestamp(o.expires_at) || '"')::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
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
    select $19 as organization_id, r.item_id_block || right(s.id, 4) as id, s.id as subscription_id, e.id as event_id,
        e.created_at as event_at, r.item_now as created_at, case when o.ordering = 'resource' then r.id end as resource_id,
        case when o.ordering = 'resource' then r.updated_at end as changed_at
    from event e
    join updated r on r.id = e.resource_id
    cross join lateral (
        select s.subscription_id as id
        from neoapi.webhook_route s
        where s.organization_id = $19 and s.pattern = any ('{document.updated,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($19, 'document.updated', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $19 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $19 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.updated', event_at, created_at
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
prepare document_delete_rows as
with item as materialized (
    select unnest($1::text[])::int as item_number, unnest($2::text[])::text collate "C" as item_id,
        unnest($3::text[])::text as item_id_block, unnest($4::text[])::timestamptz as item_now,
        unnest($5::text[])::text as item_cleared_block),
deleted as (
    delete from neoapi.document t using item
    where t.organization_id = $6 and t.id = item.item_id
    returning t.id, t.representation, t.kind, t.title, t.related, t.file, t.number, t.issuer, t.issued_at, t.expires_at, t.status,
        t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by, item.item_number,
        item.item_id_block, item.item_now, item.item_cleared_block),
removed_references as (
    delete from neoapi.reference r using deleted
    where r.organization_id = $6 and r.source_id = deleted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $6, 'document.deleted', r.id, neoapi.event_time(r.item_now), $7, $8, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"title":' || to_json(r.title), '"related":' || r.related, '"file":' || r.file,
        '"number":' || to_json(r.number), '"issuer":' || to_json(r.issuer),
        '"issued_at":' || '"' || neoapi.format_timestamp(r.issued_at) || '"',
        '"expires_at":' || '"' || neoapi.format_timestamp(r.expires_at) || '"', '"status":' || to_json(r.status),
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
        where s.organization_id = $6 and s.pattern = any ('{document.deleted,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($6, 'document.deleted', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $6 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $6 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.deleted', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched)
select id, (select count(*) from queued_deliveries), null, item_number
from deleted;

prepare document_list_ids as
select t.representation
from neoapi.document t
where t.organization_id = $1 and t.id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare document_list_created_gte as
select t.representation
from neoapi.document t
where t.organization_id = $1 and t.id >= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare document_list_created_lte as
select t.representation
from neoapi.document t
where t.organization_id = $1 and t.id <= ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare document_list_updated_gte as
select t.representation
from neoapi.document t
where t.organization_id = $1 and t.updated_at >= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare document_list_updated_lte as
select t.representation
from neoapi.document t
where t.organization_id = $1 and t.updated_at <= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare document_list_kind as
select t.representation
from neoapi.document t
where t.organization_id = $1 and t.kind in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare document_list_status as
select t.representation
from neoapi.document t
where t.organization_id = $1 and t.status in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare document_list_related_id as
select t.representation
from (
    select distinct on (r.source_id) r.source_id
    from (
        (
            select r.source_id
            from neoapi.reference r
            where r.organization_id = $1 and (r.property_id = $3) and r.source_id > 'doc_' and r.source_id < 'doc_~'
                and r.field = 'related.id'
            order by r.source_id desc)) r
    order by r.source_id desc) r
cross join lateral (
    select t.*
    from neoapi.document t
    where t.organization_id = $1 and t.id = r.source_id and (not $4::boolean or neoapi.force_custom_plan())
    offset 0) t
order by r.source_id desc
limit $2::int;

prepare document_list_expires_lte as
select t.representation
from neoapi.document t
where t.organization_id = $1 and t.expires_at <= ($3::timestamptz) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare document_list_external_id as
select t.representation
from neoapi.document t
where t.organization_id = $1 and t.external_id in ($3) and (not $4::boolean or neoapi.force_custom_plan())
order by t.id desc
limit $2::int;

prepare document_list_by_change as
select t.representation, false, (extract(epoch from t.updated_at) * 1000000)::bigint, null
from neoapi.document t
where t.organization_id = $1 and (not $3::boolean or neoapi.force_custom_plan())
order by t.updated_at desc, t.id desc
limit $2::int;

prepare document_list_by_change_further as
select p.answer, e.id is not null, p.position, (
    select count(*)
    from (
        select t.id
        from neoapi.document t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan())
        order by t.id desc
        limit 10000 + 1) c)
from (
    select (
        select t.id
        from neoapi.document t
        where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
            t.id) >= (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
        order by t.updated_at asc, t.id asc
        limit 1) as id) e
left join (
    select t.representation as answer, t.id, (extract(epoch from t.updated_at) * 1000000)::bigint as position
    from neoapi.document t
    where t.organization_id = $1 and (not $5::boolean or neoapi.force_custom_plan()) and (t.updated_at,
        t.id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3)
    order by t.updated_at desc, t.id desc
    limit $2::int) p on true
order by p.position desc, p.id desc;

prepare document_export as
select t.representation
from neoapi.document t
where t.organization_id = $1
order by t.id desc
limit all;

prepare document_find_external_id as
select t.id
from neoapi.document t
where t.organization_id = $1 and t.external_id = $2 and t.id <> $3 and ($4::text is null or null = $4)
limit 1;

-- document_representation
create or replace function neoapi.document_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"title":' || to_json(new.title),
        '"related":' || new.related,
        '"file":' || new.file,
        '"number":' || to_json(new.number),
        '"issuer":' || to_json(new.issuer),
        '"issued_at":' || '"' || neoapi.format_timestamp(new.issued_at) || '"',
        '"expires_at":' || '"' || neoapi.format_timestamp(new.expires_at) || '"',
        '"status":' || to_json(new.status),
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
create or replace trigger set_representation before update on neoapi.document for each row execute function neoapi.document_set_representation();
create or replace trigger set_representation_if_null before insert on neoapi.document for each row when (new.representation is null) execute function neoapi.document_set_representation();

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor
prepare document_import as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'document' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.document, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.document t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.document t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), kind = item.kind,
        title = item.title, related = item.related, file = item.file, number = item.number, issuer = item.issuer, issued_at = item.issued_at,
        expires_at = item.expires_at, status = item.status, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.kind is distinct from item.kind or before.title is distinct from item.title
        or before.related::json::text is distinct from item.related::json::text
        or before.file::json::text is distinct from item.file::json::text or before.number is distinct from item.number
        or before.issuer is distinct from item.issuer or before.issued_at is distinct from item.issued_at
        or before.expires_at is distinct from item.expires_at or before.status is distinct from item.status
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.document as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, kind, title, related,
        file, number, issuer, issued_at, expires_at, status, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.kind, item.title, item.related, item.file, item.number,
        item.issuer, item.issued_at, item.expires_at, item.status, item.external_id, item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.kind, t.title, t.related, t.file, t.number, t.issuer, t.issued_at, t.expires_at, t.status,
        t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 now, $3 organization, $4 tenant, $5 actor, $6 request
prepare document_import_with_events as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'document' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.document, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.document t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.document t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), kind = item.kind,
        title = item.title, related = item.related, file = item.file, number = item.number, issuer = item.issuer, issued_at = item.issued_at,
        expires_at = item.expires_at, status = item.status, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.kind is distinct from item.kind or before.title is distinct from item.title
        or before.related::json::text is distinct from item.related::json::text
        or before.file::json::text is distinct from item.file::json::text or before.number is distinct from item.number
        or before.issuer is distinct from item.issuer or before.issued_at is distinct from item.issued_at
        or before.expires_at is distinct from item.expires_at or before.status is distinct from item.status
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.document as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, kind, title, related,
        file, number, issuer, issued_at, expires_at, status, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.kind, item.title, item.related, item.file, item.number,
        item.issuer, item.issued_at, item.expires_at, item.status, item.external_id, item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.kind, t.title, t.related, t.file, t.number, t.issuer, t.issued_at, t.expires_at, t.status,
        t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, is_silent)
    select $3, 'document.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"title":' || to_json(r.title), '"related":' || r.related, '"file":' || r.file,
        '"number":' || to_json(r.number), '"issuer":' || to_json(r.issuer),
        '"issued_at":' || '"' || neoapi.format_timestamp(r.issued_at) || '"',
        '"expires_at":' || '"' || neoapi.format_timestamp(r.expires_at) || '"', '"status":' || to_json(r.status),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', true
    from created r
    order by r.item_number
    returning id, resource_id, created_at, payload, changed, previous),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous, is_silent)
    select $3, 'document.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"title":' || to_json(r.title), '"related":' || r.related, '"file":' || r.file,
        '"number":' || to_json(r.number), '"issuer":' || to_json(r.issuer),
        '"issued_at":' || '"' || neoapi.format_timestamp(r.issued_at) || '"',
        '"expires_at":' || '"' || neoapi.format_timestamp(r.expires_at) || '"', '"status":' || to_json(r.status),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.title is distinct from r.title then 'title' end,
        case when o.related::json::text is distinct from r.related::json::text then 'related' end,
        case when o.file::json::text is distinct from r.file::json::text then 'file' end,
        case when o.number is distinct from r.number then 'number' end, case when o.issuer is distinct from r.issuer then 'issuer' end,
        case when o.issued_at is distinct from r.issued_at then 'issued_at' end,
        case when o.expires_at is distinct from r.expires_at then 'expires_at' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.title is distinct from r.title then '"title":' || coalesce((to_json(o.title))::text, 'null') end,
        case when o.related::json::text is distinct from r.related::json::text then '"related":' || coalesce((o.related)::text, 'null') end,
        case when o.file::json::text is distinct from r.file::json::text then '"file":' || coalesce((o.file)::text, 'null') end,
        case when o.number is distinct from r.number then '"number":' || coalesce((to_json(o.number))::text, 'null') end,
        case when o.issuer is distinct from r.issuer then '"issuer":' || coalesce((to_json(o.issuer))::text, 'null') end,
        case when o.issued_at is distinct from r.issued_at then '"issued_at":' || coalesce(('"' || neoapi.format_timestamp(o.issued_at) || '"')::text, 'null') end,
        case when o.expires_at is distinct from r.expires_at then '"expires_at":' || coalesce(('"' || neoapi.format_timestamp(o.expires_at) || '"')::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
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
prepare document_import_with_webhooks as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'document' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.document, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.document t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.document t
    set created_at = coalesce(item.created_at, t.created_at), updated_at =
        case when item.updated_at > before.updated_at then item.updated_at else greatest(item.item_now, before.updated_at + interval '1 millisecond') end,
        created_by = coalesce(item.created_by, t.created_by), updated_by = coalesce(item.updated_by, t.updated_by), kind = item.kind,
        title = item.title, related = item.related, file = item.file, number = item.number, issuer = item.issuer, issued_at = item.issued_at,
        expires_at = item.expires_at, status = item.status, external_id = item.external_id, metadata = item.metadata
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or item.updated_at > before.updated_at or before.created_by is distinct from coalesce(item.created_by, t.created_by)
        or before.kind is distinct from item.kind or before.title is distinct from item.title
        or before.related::json::text is distinct from item.related::json::text
        or before.file::json::text is distinct from item.file::json::text or before.number is distinct from item.number
        or before.issuer is distinct from item.issuer or before.issued_at is distinct from item.issued_at
        or before.expires_at is distinct from item.expires_at or before.status is distinct from item.status
        or before.external_id is distinct from item.external_id or before.metadata::json::text is distinct from item.metadata::json::text)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.document as t (organization_id, id, tenant_id, created_at, updated_at, created_by, updated_by, kind, title, related,
        file, number, issuer, issued_at, expires_at, status, external_id, metadata)
    select $3, item.item_id, $4, coalesce(item.created_at, item.item_now), coalesce(item.updated_at, item.item_now),
        coalesce(item.created_by, $5), coalesce(item.updated_by, $5), item.kind, item.title, item.related, item.file, item.number,
        item.issuer, item.issued_at, item.expires_at, item.status, item.external_id, item.metadata
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation, t.kind, t.title, t.related, t.file, t.number, t.issuer, t.issued_at, t.expires_at, t.status,
        t.external_id, t.metadata, t.tenant_id, t.organization_id, t.created_at, t.updated_at, t.created_by, t.updated_by),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id),
event as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload)
    select $3, 'document.created', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"title":' || to_json(r.title), '"related":' || r.related, '"file":' || r.file,
        '"number":' || to_json(r.number), '"issuer":' || to_json(r.issuer),
        '"issued_at":' || '"' || neoapi.format_timestamp(r.issued_at) || '"',
        '"expires_at":' || '"' || neoapi.format_timestamp(r.expires_at) || '"', '"status":' || to_json(r.status),
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
        where s.organization_id = $3 and s.pattern = any ('{document.created,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'document.created', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.created', event_at, created_at
    from matched
    returning 1),
queued as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched),
event_update as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
    select $3, 'document.updated', r.id, neoapi.event_time(r.item_now), $5, $6, '{' || concat_ws(',', '"id":' || to_json(r.id),
        '"kind":' || to_json(r.kind), '"title":' || to_json(r.title), '"related":' || r.related, '"file":' || r.file,
        '"number":' || to_json(r.number), '"issuer":' || to_json(r.issuer),
        '"issued_at":' || '"' || neoapi.format_timestamp(r.issued_at) || '"',
        '"expires_at":' || '"' || neoapi.format_timestamp(r.expires_at) || '"', '"status":' || to_json(r.status),
        '"external_id":' || to_json(r.external_id), '"metadata":' || r.metadata, '"tenant_id":' || to_json(r.tenant_id),
        '"organization_id":' || to_json(r.organization_id), '"created_at":' || '"' || neoapi.format_timestamp(r.created_at) || '"',
        '"updated_at":' || '"' || neoapi.format_timestamp(r.updated_at) || '"', '"created_by":' || to_json(r.created_by),
        '"updated_by":' || to_json(r.updated_by)) || '}', array_remove(array[null, case when o.id is distinct from r.id then 'id' end,
        case when o.kind is distinct from r.kind then 'kind' end, case when o.title is distinct from r.title then 'title' end,
        case when o.related::json::text is distinct from r.related::json::text then 'related' end,
        case when o.file::json::text is distinct from r.file::json::text then 'file' end,
        case when o.number is distinct from r.number then 'number' end, case when o.issuer is distinct from r.issuer then 'issuer' end,
        case when o.issued_at is distinct from r.issued_at then 'issued_at' end,
        case when o.expires_at is distinct from r.expires_at then 'expires_at' end,
        case when o.status is distinct from r.status then 'status' end,
        case when o.external_id is distinct from r.external_id then 'external_id' end,
        case when o.metadata::json::text is distinct from r.metadata::json::text then 'metadata' end,
        case when o.tenant_id is distinct from r.tenant_id then 'tenant_id' end,
        case when o.organization_id is distinct from r.organization_id then 'organization_id' end,
        case when o.created_at is distinct from r.created_at then 'created_at' end,
        case when o.created_by is distinct from r.created_by then 'created_by' end], null), ('{' || concat_ws(',',
        case when o.id is distinct from r.id then '"id":' || coalesce((to_json(o.id))::text, 'null') end,
        case when o.kind is distinct from r.kind then '"kind":' || coalesce((to_json(o.kind))::text, 'null') end,
        case when o.title is distinct from r.title then '"title":' || coalesce((to_json(o.title))::text, 'null') end,
        case when o.related::json::text is distinct from r.related::json::text then '"related":' || coalesce((o.related)::text, 'null') end,
        case when o.file::json::text is distinct from r.file::json::text then '"file":' || coalesce((o.file)::text, 'null') end,
        case when o.number is distinct from r.number then '"number":' || coalesce((to_json(o.number))::text, 'null') end,
        case when o.issuer is distinct from r.issuer then '"issuer":' || coalesce((to_json(o.issuer))::text, 'null') end,
        case when o.issued_at is distinct from r.issued_at then '"issued_at":' || coalesce(('"' || neoapi.format_timestamp(o.issued_at) || '"')::text, 'null') end,
        case when o.expires_at is distinct from r.expires_at then '"expires_at":' || coalesce(('"' || neoapi.format_timestamp(o.expires_at) || '"')::text, 'null') end,
        case when o.status is distinct from r.status then '"status":' || coalesce((to_json(o.status))::text, 'null') end,
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
        where s.organization_id = $3 and s.pattern = any ('{document.updated,document.*,*}') and s.key = '' and s.is_active
            and 'document' = any (s.excluded) is not true
        union all
        select neoapi.webhook_match($3, 'document.updated', e.payload, e.previous, e.changed, '{"ids":"id","related_id":"related.id"}')
        where exists (
            select
            from neoapi.webhook_shape h
            where h.organization_id = $3 and h.kind = 'document')
        offset 0) s
    cross join lateral (
        select w.ordering
        from neoapi.webhook_subscription w
        where w.organization_id = $3 and w.id = s.id
        limit 1) o),
queued_deliveries_update as (
    insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)
    select organization_id, id, subscription_id, event_id, 'document.updated', event_at, created_at
    from matched_update
    returning 1),
queued_update as (
    insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at, resource_id, changed_at)
    select id, organization_id, subscription_id, now(), resource_id, changed_at
    from matched_update)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;

-- $1 before, $2 since, $3 organization
prepare document_import_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'document' and l.number > $1::bigint and l.number <= $2::bigint),
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
    where f.id = due.target and (f.kind = 'document' and f.number > $2::bigint or f.kind = 'lead' or f.kind = 'whatsapp_opt_out'
        or f.kind = 'whatsapp_conversation' or f.kind = 'whatsapp_message'))
on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id
where r.target_id <> excluded.target_id;

-- $1 before, $2 since, $3 organization
prepare document_import_all_references as
with line as materialized (
    select l.number, l.id
    from import_line l
    where l.kind = 'document' and l.number > $1::bigint and l.number <= $2::bigint),
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

prepare document_import_duplicates as
with mine as materialized (
    select l.number, l.id, (
        select row(external_id)::text
        from json_populate_record(null::neoapi.document, l.body)
        where external_id is not null) as key
    from import_line l
    where l.kind = 'document' and l.body is not null)
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
    from neoapi.document
    where organization_id = $1 and external_id is not null) t on t.key = m.key
where t.id <> m.id and not exists (select from import_line o where o.id = t.id)
order by 1
limit 101;
