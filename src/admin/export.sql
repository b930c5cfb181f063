-- SPDX-License-Identifier: Apache-2.0
-- Statements of an export (see export.c): $1 organization.

-- name: head
select json_build_object(
    'at', neoapi.format_timestamp(now()),
    'schema', (select max(number) from neoapi.schema_migration),
    'tenant', json_build_object('id', t.id, 'name', t.name, 'plan', t.plan),
    'organization', json_build_object('id', o.id, 'name', o.name))
from neoapi.organization o
join neoapi.tenant t on t.id = o.tenant_id
where o.id = $1;

-- Counts the rows that an export does not contain.
-- name: left_out
select json_build_object('whatsapp_number', (select count(*) from neoapi.whatsapp_number where organization_id = $1));
