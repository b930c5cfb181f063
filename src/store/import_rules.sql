-- SPDX-License-Identifier: Apache-2.0
-- Proposals and contracts of an import with the property and the proposal that they refer to, from the file or the organization (see
-- import_rules.c): $1 organization, $2 the last line of the previous page.
-- name: related
select l.number, l.kind, l.id, l.body, coalesce(lp.body::text, p.representation), coalesce(lq.body::text, q.representation)
from import_line l
left join import_line lp on lp.id = l.body->>'property_id' and lp.kind = 'property'
left join neoapi.property p on p.organization_id = $1 and p.id = l.body->>'property_id'
left join import_line lq on lq.id = l.body->>'proposal_id' and lq.kind = 'proposal'
left join neoapi.proposal q on q.organization_id = $1 and q.id = l.body->>'proposal_id'
where l.kind in ('proposal', 'contract') and l.body is not null and l.number > $2::bigint
order by l.number limit 500;
