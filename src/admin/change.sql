-- SPDX-License-Identifier: Apache-2.0
-- Changes of what neoapictl administers (see change.c).

-- $1 token, $2 organizations as an array.
-- name: set_organizations
insert into neoapi.token_organization (credential_id, tenant_id, organization_id, position)
select c.id, c.tenant_id, o.id, o.position
from neoapi.credential c, unnest($2::text[]) with ordinality as o (id, position)
where c.id = $1;

-- $1 credential, $2 hash of the new secret, $3 seconds for which the current secret stays valid, $4 whether the one before the
-- current one may end now.
-- name: rotate
update neoapi.credential
set secret_hash = $2::bytea,
    previous_secret_hash = case when $3::int > 0 then secret_hash end,
    previous_secret_until = case when $3::int > 0 then now() + make_interval(secs => $3::int) end
where id = $1 and revoked_at is null
and ($3::int = 0 or $4::boolean or previous_secret_until <= now() or previous_secret_until is null)
returning true;

-- Opt-outs of a lead ($1): those of its conversations, and those without one, which an import can have made.
-- name: remove_opt_outs
delete from neoapi.whatsapp_opt_out o using neoapi.lead l
where l.id = $1 and o.organization_id = l.organization_id
and (o.lead_id = l.id or neoapi.whatsapp_phone_key(o.contact_phone) = neoapi.whatsapp_phone_key(l.phone)
     or o.id in (select 'wao_' || right(c.id, 26) from neoapi.whatsapp_conversation c
                 where c.organization_id = l.organization_id and c.lead_id = l.id));

-- The references of a lead ($1), and its last event.
-- name: forget_lead
with removed as (
    delete from neoapi.reference r using neoapi.lead l
    where l.id = $1 and r.organization_id = l.organization_id and r.source_id = l.id),
gone as (
    update neoapi.lead set updated_by = 'neoapictl',
        updated_at = greatest(date_trunc('milliseconds', now()), updated_at + interval '1 millisecond')
    where id = $1 returning *)
select neoapi.add_event(organization_id, 'lead.deleted', id, representation, 'neoapictl') from gone;
