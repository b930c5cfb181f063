-- SPDX-License-Identifier: Apache-2.0
-- The lists of what neoapictl administers that have more than the fields of one table (see admin.c).

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

-- name: leads
select id, organization_id, name, phone, email, party_id, neoapi.format_timestamp(created_at) as created_at
from neoapi.lead;
