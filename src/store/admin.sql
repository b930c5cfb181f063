-- SPDX-License-Identifier: Apache-2.0
-- Lists and creates what neoapictl administers (see admin.c).

-- ---------------------------------------------------------------- lists that have more than the columns of a table

-- name: keys
select id, tenant_id, organization_id, role, scopes, name,
    neoapi.format_timestamp(created_at) as created_at,
    neoapi.format_timestamp(revoked_at) as revoked_at,
    neoapi.format_timestamp(case when previous_secret_until > now() then previous_secret_until end) as previous_secret_until,
    neoapi.format_timestamp(used_at) as last_used_at
from neoapi.credential left join neoapi.credential_use on credential_id = id
where id like 'nbr\_%';

-- name: tokens
select c.id, c.tenant_id, c.user_id, u.email,
    array(select o.organization_id from neoapi.token_organization o where o.credential_id = c.id order by o.position)
        as allowed_organization_ids,
    c.name,
    neoapi.format_timestamp(c.created_at) as created_at,
    neoapi.format_timestamp(c.revoked_at) as revoked_at,
    neoapi.format_timestamp(case when c.previous_secret_until > now() then c.previous_secret_until end)
        as previous_secret_until,
    neoapi.format_timestamp(s.used_at) as last_used_at
from neoapi.credential c
join neoapi.app_user u on u.id = c.user_id
left join neoapi.credential_use s on s.credential_id = c.id;

-- name: webhooks
select w.id, w.organization_id, w.url, w.events, w.is_active, w.health,
    neoapi.format_timestamp(w.last_success_at) as last_success_at,
    neoapi.format_timestamp(w.failing_since) as failing_since,
    neoapi.format_timestamp(w.disabled_at) as disabled_at, w.disabled_reason,
    neoapi.format_timestamp(w.limited_until) as limited_until,
    (select count(*) from neoapi.webhook_queue q where q.subscription_id = w.id) as pending
from neoapi.webhook_subscription w;

-- name: numbers
select id, organization_id, display_phone_number, phone_number_id, waba_id,
    neoapi.format_timestamp(created_at) as created_at
from neoapi.whatsapp_number;

-- name: leads
select id, organization_id, name, phone, email, party_id, neoapi.format_timestamp(created_at) as created_at
from neoapi.lead;

-- ---------------------------------------------------------------- new rows

-- $1 id, $2 organization, $3 name, $4 role, $5 scopes as a JSON array or null, $6 hash of the secret.
-- name: make_key
insert into neoapi.credential (id, tenant_id, organization_id, name, role, scopes, secret_hash)
select $1, tenant_id, id, $3, $4,
    case when $5::json is not null then array(select json_array_elements_text($5::json)) end, $6::bytea
from neoapi.organization
where id = $2
returning true;

-- $1 id, $2 user, $3 name, $4 organizations as an array, $5 hash of the secret.
-- name: make_token
with token as (
    insert into neoapi.credential (id, tenant_id, user_id, name, secret_hash)
    select $1, tenant_id, id, $3, $5::bytea from neoapi.app_user where id = $2
    returning id, tenant_id),
reach as (
    insert into neoapi.token_organization (credential_id, tenant_id, organization_id, position)
    select token.id, token.tenant_id, o.id, o.position
    from token, unnest($4::text[]) with ordinality as o (id, position))
select true from token;

-- name: add_number
insert into neoapi.whatsapp_number
    (organization_id, id, phone_number_id, waba_id, display_phone_number, access_token, app_secret, verify_token_hash)
values ($1, $2, $3, $4, $5, $6, $7, decode($8, 'hex'));

-- Changes what is not null.
-- name: update_number
update neoapi.whatsapp_number
set access_token = coalesce($2, access_token),
    app_secret = coalesce($3, app_secret),
    verify_token_hash = coalesce(decode($4, 'hex'), verify_token_hash),
    waba_id = coalesce($5, waba_id),
    display_phone_number = coalesce($6, display_phone_number)
where id = $1
returning true;
