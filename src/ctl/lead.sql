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
        ' that lead first with PATCH /leads/{id}'
    from json_to_recordset($2) as r (line int, name text, phone text, email text, party_id text)
    join neoapi.lead l
    on l.organization_id = $1 and neoapi.whatsapp_phone_key(l.phone) = neoapi.whatsapp_phone_key(r.phone)) p;

-- $3 is an id block. The leads are in the event log, but no subscription gets these events. One row: the number of leads. The
-- brokers of all are chosen at once, because the trigger would change the row of a broker's turn for each lead.
-- name: add
with turns as materialized (
    select neoapi.lead_next_brokers($1, json_array_length($2), $3) as brokers
    from neoapi.organization o where o.id = $1 and o.lead_assignment = 'turn'),
row as (
    select r.*, row_number() over (order by r.line) - 1 as n
    from json_to_recordset($2) as r (line int, name text, phone text, email text, party_id text)),
added as (
    insert into neoapi.lead (organization_id, tenant_id, id, name, phone, email, source, party_id, broker_id, assigned_by, status,
                             created_at, updated_at, created_by, updated_by)
    select $1, o.tenant_id, neoapi.block_id($3, row.n), row.name, row.phone, row.email, 'import', row.party_id,
           turns.brokers[row.n % cardinality(turns.brokers) + 1], case when turns.brokers is not null then 'rule' end, 'new',
           date_trunc('milliseconds', now()), date_trunc('milliseconds', now()), 'neoapictl', 'neoapictl'
    from row
    join neoapi.organization o on o.id = $1
    left join turns on turns.brokers <> '{}'
    order by row.n
    returning *),
referred as (
    insert into neoapi.reference (organization_id, source_id, path, target_id)
    select organization_id, id, 'party_id', party_id from added where party_id is not null),
logged as (
    insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload, is_silent)
    select organization_id, 'lead.created', id, neoapi.event_time(created_at), created_by, representation, true
    from added order by id)
select count(*) from added;
