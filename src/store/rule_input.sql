-- SPDX-License-Identifier: Apache-2.0
-- What the rules of a write need to know of related resources (see rule_input.c).
--
-- $1 organization, $2 property, $3 proposal, $4 the resource that is written.
-- name: rule_input
select (now() at time zone 'America/Sao_Paulo')::date, p.representation, p.xmin, q.representation, a.id, a.kind,
    exists (select from neoapi.contract c
        where c.organization_id = $1 and c.property_id = $2 and c.status in ('draft', 'pending_signature')
            and c.kind in ('sale', 'rental') and c.id <> $4)
from (values (1)) one
left join neoapi.property p on p.organization_id = $1 and p.id = $2
left join neoapi.proposal q on q.organization_id = $1 and q.id = $3
left join lateral (
    select c.id, c.kind from neoapi.contract c
    where c.organization_id = $1 and c.property_id = $2 and c.status = 'active' and c.kind in ('sale', 'rental') and c.id <> $4
    order by c.id limit 1) a on true;
