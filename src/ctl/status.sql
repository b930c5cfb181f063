-- SPDX-License-Identifier: Apache-2.0
-- Counts what is in the deployment (see status.c).
-- name: overview
select json_build_object(
    'tenants', (select count(*) from neoapi.tenant),
    'organizations', (select count(*) from neoapi.organization),
    'users', (select count(*) from neoapi.app_user),
    'plans', (select count(*) from neoapi.plan),
    'keys', (select count(*) from neoapi.credential where id < 'nbs' and revoked_at is null),
    'tokens', (select count(*) from neoapi.credential where id >= 'pat_' and revoked_at is null),
    'webhooks', w.active,
    'webhooks_inactive', w.inactive,
    'webhooks_failing', w.failing,
    'webhooks_failing_seconds', w.failing_seconds,
    'webhook_partitions_until', (
        select to_date(max(right(relname, 8)), 'YYYYMMDD') from pg_class
        where relnamespace = 'neoapi'::regnamespace and relkind = 'r' and relname ~ '^webhook_delivery_[0-9]{8}$'),
    'whatsapp_stalled', h.stalled,
    'whatsapp_refused', h.refused,
    'whatsapp_refusals', h.refusals,
    'keys_overdue', (
        select count(*)
        from (select from neoapi.idempotency_key where expires_at < now() - interval '1 hour' limit 100000) k))
from (
    select count(*) filter (where is_active) as active,
        count(*) filter (where not is_active) as inactive,
        count(*) filter (where is_active and failing_since is not null) as failing,
        coalesce(extract(epoch from now() - min(failing_since) filter (where is_active))::bigint, 0) as failing_seconds
    from neoapi.webhook_subscription) w, neoapi.whatsapp_health() h;
