-- SPDX-License-Identifier: Apache-2.0
-- What the rules about properties, proposals and contracts read (see neo_deal_reads): $1 organization, $2 the resource that is
-- written, which does not count, $3 the property, $4 the proposal; each is that resource itself if it is of the kind.

-- An active sale or rental of the property.
-- name: active_contract
select c.id, c.kind from neoapi.contract c
where c.organization_id = $1 and c.property_id = $3 and c.status = 'active' and c.kind in ('sale', 'rental') and c.id <> $2
order by c.id limit 1;

-- A contract of the proposal.
-- name: other_contract
select c.id from neoapi.contract c
where c.organization_id = $1 and c.property_id = $3 and c.proposal_id = $4 and c.id <> $2 limit 1;

-- An accepted proposal that reserves the property, if possible another one than $4, and its contract that has not ended. An accepted
-- proposal reserves its property until all contracts that refer to it have ended.
-- name: reservation
select o.id, o.kind, d.open_id as contract_id
from neoapi.proposal o
cross join lateral (
    select count(*) as contracts,
        min(c.id) filter (where c.status in ('draft', 'pending_signature', 'active') and c.id <> $2) as open_id
    from neoapi.contract c
    where c.organization_id = $1 and c.property_id = $3 and c.proposal_id = o.id) d
where o.organization_id = $1 and o.property_id = $3 and o.status = 'accepted' and o.id <> $2
    and (d.contracts = 0 or d.open_id is not null)
order by o.id is not distinct from $4, o.id limit 1;
