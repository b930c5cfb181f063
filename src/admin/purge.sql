-- SPDX-License-Identifier: Apache-2.0
-- Statements of `neoapictl purge` (see purge.c).

-- Every table or partition with a column organization_id, and the table that it is a partition of. Tables that refer to others
-- come before them. $1: the organization stays, so its subscriptions, numbers and portals do, too. Credentials are removed at the end.
-- name: tables
with recursive owned as (
    select c.oid, coalesce(i.inhparent, c.oid) as whole
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped
    left join pg_inherits i on i.inhrelid = c.oid
    where c.relnamespace = 'neoapi'::regnamespace and c.relkind = 'r'
    and c.relname <> all ('{credential,token_organization}')
    and not ($1::boolean and c.relname = any ('{webhook_subscription,webhook_header,webhook_route,webhook_shape,whatsapp_number,lead_portal}'))),
deep (oid, depth) as (
    select oid, 0 from owned
    union all
    select k.confrelid, deep.depth + 1
    from deep
    join pg_constraint k on k.conrelid = deep.oid and k.contype = 'f' and k.confrelid <> k.conrelid
    where deep.depth < 20)
select oid::regclass, whole::regclass
from owned
join deep using (oid)
group by oid, whole
order by max(depth), oid::regclass::text;

-- name: find_tenant
select name, array(select id from neoapi.organization where tenant_id = t.id) from neoapi.tenant t where id = $1;

-- name: find_organization
select name, array[id] from neoapi.organization where id = $1;

-- name: revoke_tenant
update neoapi.credential set revoked_at = coalesce(revoked_at, now()) where tenant_id = $1;

-- name: revoke_organization
with keys as (
    update neoapi.credential set revoked_at = coalesce(revoked_at, now()) where organization_id = $1)
delete from neoapi.token_organization where organization_id = $1;

-- $1 organizations.
-- name: deactivate_subscriptions
update neoapi.webhook_subscription set is_active = false where organization_id = any ($1::text[]) and is_active;

-- $1 tenant, $2 the organizations that were purged: the tenant stays if it has another one by now.
-- name: finish_tenant
with reach as (delete from neoapi.token_organization where tenant_id = $1),
keys as (delete from neoapi.credential where tenant_id = $1),
users as (delete from neoapi.app_user where tenant_id = $1),
organizations as (delete from neoapi.organization where tenant_id = $1 and id = any ($2::text[]))
delete from neoapi.tenant where id = $1;

-- name: finish_organization
with reach as (delete from neoapi.token_organization where organization_id = $1),
keys as (delete from neoapi.credential where organization_id = $1)
delete from neoapi.organization where id = $1;
