-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- $1 organization, $2 numbers, $3 paths, $4 targets
prepare shared_1 as
select number, id
from (
    select w.number, case w.kind when 'broker' then (
        select t.id
        from neoapi.broker t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'property' then (
        select t.id
        from neoapi.property t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'party' then (
        select t.id
        from neoapi.party t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'proposal' then (
        select t.id
        from neoapi.proposal t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'contract' then (
        select t.id
        from neoapi.contract t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'document' then (
        select t.id
        from neoapi.document t
        where t.organization_id = $1 and t.external_id = w.external_id) end as id
    from unnest($2::int[], $3::text[], $4::text[]) as w (number, kind, external_id)) as found
where id is not null;

prepare shared_2 as
select (now() at time zone 'America/Sao_Paulo')::date, r0.representation, r0.xmin, r1.representation, r1.xmin, row_to_json(r2), null,
    row_to_json(r3), null, row_to_json(r4), null
from (values (1)) one
left join neoapi.property r0 on r0.organization_id = $1 and r0.id = $3
left join neoapi.proposal r1 on r1.organization_id = $1 and r1.id = $4
left join lateral (
    select c.id, c.kind
    from neoapi.contract c
    where c.organization_id = $1 and c.property_id = $3 and c.status = 'active' and c.kind in ('sale', 'rental') and c.id <> $2
    order by c.id
    limit 1) r2 on true
left join lateral (
    select c.id
    from neoapi.contract c
    where c.organization_id = $1 and c.property_id = $3 and c.proposal_id = $4 and c.id <> $2
    limit 1) r3 on true
left join lateral (
    select o.id, o.kind, d.open_id as contract_id
    from neoapi.proposal o
    cross join lateral (
        select count(*) as contracts, min(c.id) filter (where c.status in ('draft', 'pending_signature', 'active') and c.id <> $2) as open_id
        from neoapi.contract c
        where c.organization_id = $1 and c.property_id = $3 and c.proposal_id = o.id) d
    where o.organization_id = $1 and o.property_id = $3 and o.status = 'accepted' and o.id <> $2 and (d.contracts = 0
        or d.open_id is not null)
    order by o.id is not distinct from $4, o.id
    limit 1) r4 on true;

prepare shared_3 as
(
    select 'proposal', due.organization_id, due.tenant_id, due.id, due.xmin, due.representation, 'expired'
    from neoapi.proposal due
    where due.status in ('submitted', 'countered') and due.valid_until < (now() at time zone 'America/Sao_Paulo')::date
    order by due.valid_until
    limit 25)
union all
(
    select 'contract', due.organization_id, due.tenant_id, due.id, due.xmin, due.representation, 'expired'
    from neoapi.contract due
    where due.status in ('active') and due.end_date < (now() at time zone 'America/Sao_Paulo')::date
    order by due.end_date
    limit 25);
