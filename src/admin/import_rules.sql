-- SPDX-License-Identifier: Apache-2.0
-- Stores the active contracts and the accepted proposals that determine the properties of the file's proposals and contracts, as they
-- will be after the import (see src/resources/rules.sql): $1 organization.
-- name: claims
with place as materialized (
    select distinct body->>'property_id' as id from import_line where kind in ('proposal', 'contract') and body is not null),
deal as materialized (
    select n.id, n.body->>'kind' as type, n.body->>'property_id' as property_id, n.body->>'proposal_id' as proposal_id,
        n.body->>'status' as status
    from import_line n
    where n.kind = 'contract' and n.body is not null
    union all
    select c.id, c.kind, c.property_id, c.proposal_id, c.status
    from neoapi.contract c
    where c.organization_id = $1 and c.property_id in (select id from place)
        and not exists (select from import_line n where n.id = c.id and n.body is not null)),
accepted as (
    select n.id, n.body->>'kind' as type, n.body->>'property_id' as property_id
    from import_line n
    where n.kind = 'proposal' and n.body->>'status' = 'accepted'
    union all
    select o.id, o.kind, o.property_id
    from neoapi.proposal o
    where o.organization_id = $1 and o.property_id in (select id from place) and o.status = 'accepted'
        and not exists (select from import_line n where n.id = o.id and n.body is not null)),
contracts as (
    select proposal_id, min(id) filter (where status in ('draft', 'pending_signature', 'active')) as open_id
    from deal
    group by proposal_id)
insert into import_claim
select 'contract', property_id, id, type, null
from deal
where status = 'active' and type in ('sale', 'rental')
union all
select 'proposal', o.property_id, o.id, o.type, c.open_id
from accepted o
left join contracts c on c.proposal_id = o.id
where c.proposal_id is null or c.open_id is not null;

-- name: index_claims
create index on import_claim (property_id, kind);
analyze import_claim;

-- Proposals and contracts of an import with what they refer to, from the file or the organization, and what else determines the
-- property (see import_rules.c): $1 organization, $2 the last line of the previous page, $3 the last line of all.
-- name: related
select l.number, l.kind, l.id, l.body, null, coalesce(lp.body::text, p.representation), coalesce(lq.body::text, q.representation),
    row_to_json(a), row_to_json(r)
from import_line l
left join import_line lp on lp.id = l.body->>'property_id' and lp.kind = 'property'
left join neoapi.property p on p.organization_id = $1 and p.id = l.body->>'property_id'
left join import_line lq on lq.id = l.body->>'proposal_id' and lq.kind = 'proposal'
left join neoapi.proposal q on q.organization_id = $1 and q.id = l.body->>'proposal_id'
left join lateral (
    select c.id, c.type as kind from import_claim c
    where c.property_id = l.body->>'property_id' and c.kind = 'contract' and c.id <> l.id
    order by c.id limit 1) a on true
left join lateral (
    select c.id, c.type as kind, c.open_id as contract_id from import_claim c
    where c.property_id = l.body->>'property_id' and c.kind = 'proposal' and c.id <> l.id
        and c.id is distinct from l.body->>'proposal_id'
        and (l.kind = 'contract' or exists (select from import_claim o where o.property_id = c.property_id and o.id = l.id))
    order by c.id limit 1) r on true
where l.kind in ('proposal', 'contract') and l.body is not null and l.number > $2::bigint
    and l.number <= $3::bigint
order by l.number limit 500;

-- Properties of the organization whose status the file changes, with what it was, and the active contract or the accepted proposal
-- that determines it (see src/resources/rules.sql), as they will be after the import. Parameters as above.
-- name: changed
with changed as materialized (
    select l.number, l.id, l.body, p.representation
    from import_line l
    join neoapi.property p on p.organization_id = $1 and p.id = l.id and p.status <> l.body->>'status'
    where l.kind = 'property' and l.body is not null and l.number > $2::bigint and l.number <= $3::bigint),
deal as materialized (
    select c.id, c.kind, c.property_id, c.proposal_id, coalesce(n.body->>'status', c.status) as status
    from neoapi.contract c
    left join import_line n on n.id = c.id
    where c.organization_id = $1 and c.property_id in (select id from changed)
    union all
    select n.id, n.body->>'kind', n.body->>'property_id', n.body->>'proposal_id', n.body->>'status'
    from import_line n
    where n.kind = 'contract' and n.body->>'property_id' in (select id from changed)
        and not exists (select from neoapi.contract c where c.organization_id = $1 and c.id = n.id)),
active as (
    select distinct on (property_id) id, kind, property_id
    from deal
    where status = 'active' and kind in ('sale', 'rental')
    order by property_id, id),
ended as (
    select proposal_id, min(id) filter (where status in ('draft', 'pending_signature', 'active')) as open_id
    from deal
    group by proposal_id),
reserving as (
    select distinct on (o.property_id) o.id, o.kind, o.property_id, e.open_id as contract_id
    from neoapi.proposal o
    left join import_line n on n.id = o.id
    left join ended e on e.proposal_id = o.id
    where o.organization_id = $1 and o.property_id in (select id from changed)
        and coalesce(n.body->>'status', o.status) = 'accepted' and (e.proposal_id is null or e.open_id is not null)
    order by o.property_id, o.id)
select h.number, 'property', h.id, h.body, h.representation, null, null, row_to_json(a), row_to_json(r)
from changed h
left join active a on a.property_id = h.id
left join reserving r on r.property_id = h.id
where a.id is not null or r.id is not null
order by h.number limit 500;

-- Locks the properties of the next batch of lines that exist. $1 organization, $2 the last line before. One row: the last line.
-- name: lock_properties
with batch as materialized (
    select number, id from import_line where kind = 'property' and number > $2::bigint order by number limit 500),
locked as materialized (
    select p.id
    from batch b
    join neoapi.property p on p.organization_id = $1 and p.id = b.id
    order by p.id
    for no key update of p)
select max(number), (select count(*) from locked) from batch;
