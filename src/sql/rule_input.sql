-- SPDX-License-Identifier: Apache-2.0
-- What the rules of a write need to know of related resources (see rule_input.c).
--
-- An accepted proposal reserves its property until all contracts that refer to it have ended.
--
-- $1 organization, $2 property, $3 the proposal, also if that is written, $4 the resource that is written.
-- name: rule_input
select (now() at time zone 'America/Sao_Paulo')::date, p.representation, p.xmin, q.representation, a.id, a.kind,
    exists (select from neoapi.contract c
        where c.organization_id = $1 and c.property_id = $2 and c.proposal_id = $3 and c.id <> $4),
    r.id, r.kind, r.contract_id
from (values (1)) one
left join neoapi.property p on p.organization_id = $1 and p.id = $2
left join neoapi.proposal q on q.organization_id = $1 and q.id = $3
left join lateral (
    select c.id, c.kind from neoapi.contract c
    where c.organization_id = $1 and c.property_id = $2 and c.status = 'active' and c.kind in ('sale', 'rental') and c.id <> $4
    order by c.id limit 1) a on true
left join lateral (
    select o.id, o.kind, d.open_id as contract_id
    from neoapi.proposal o
    cross join lateral (
        select count(*) as contracts,
            min(c.id) filter (where c.status in ('draft', 'pending_signature', 'active') and c.id <> $4) as open_id
        from neoapi.contract c
        where c.organization_id = $1 and c.property_id = $2 and c.proposal_id = o.id) d
    where o.organization_id = $1 and o.property_id = $2 and o.status = 'accepted' and o.id <> $4
        and (d.contracts = 0 or d.open_id is not null)
    order by o.id is not distinct from $3, o.id limit 1) r on true;
