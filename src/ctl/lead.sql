-- SPDX-License-Identifier: Apache-2.0
-- Leads that neoapictl adds (see lead.c): $1 organization, $2 a JSON array of rows.

-- name: problems
select coalesce(json_agg(p order by p.line), '[]')
from (
    select r.line, 'party_id: the organization has no party with this id' as message
    from json_to_recordset($2) as r (line int, name text, phone text, email text, party_id text)
    where r.party_id is not null
    and not exists (select from neoapi.party p where p.organization_id = $1 and p.id = r.party_id)
    union all
    select r.line, 'phone: the organization has a lead with this number already: ' || l.id || '; if the number has a new owner, correct'
        ' that lead first: run neoapictl export, change the phone in its line and run neoapictl import with this line'
    from json_to_recordset($2) as r (line int, name text, phone text, email text, party_id text)
    join neoapi.lead l
    on l.organization_id = $1 and neoapi.whatsapp_phone_key(l.phone) = neoapi.whatsapp_phone_key(r.phone)) p;

-- $3 is an id block.
-- name: add
insert into neoapi.lead (organization_id, id, name, phone, email, party_id)
select $1, neoapi.block_id($3, row_number() over (order by r.line) - 1), r.name, r.phone, r.email, r.party_id
from json_to_recordset($2) as r (line int, name text, phone text, email text, party_id text);
