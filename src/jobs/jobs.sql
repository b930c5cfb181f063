-- SPDX-License-Identifier: Apache-2.0
-- Background jobs of the deployment (see jobs.c).

-- Adds the jobs {names} that the table does not have yet. They are due at once.
-- write: add_jobs
insert into neoapi.job (name) select unnest({names}::text[]) on conflict do nothing;

-- Claims a job of {names} that is due, for {lease} seconds, and returns its name, or null; and the milliseconds until the next one is due.
-- write: claim_job
with due as materialized (
    select j.name from neoapi.job j
    where j.name = any ({names}::text[]) and j.due_at <= now()
    order by j.due_at limit 1 for update skip locked),
taken as (
    update neoapi.job j set due_at = now() + make_interval(secs => {lease}::int)
    from due where j.name = due.name
    returning j.name)
select (select name from taken),
    (select greatest(extract(epoch from min(j.due_at) - now()) * 1000, 0)::bigint
     from neoapi.job j where j.name = any ({names}::text[]) and j.name not in (select name from due));

-- Records that a job has succeeded or failed after {duration} milliseconds; it is due again in {interval} seconds.
-- write: record_job
update neoapi.job
set due_at = now() + make_interval(secs => {interval}::int),
    runs = runs + 1,
    failures = failures + case when {is_success}::boolean then 0 else 1 end,
    last_success_at = case when {is_success}::boolean then now() else last_success_at end,
    last_failure_at = case when {is_success}::boolean then last_failure_at else now() end,
    last_duration_ms = {duration}::int
where name = {name};

-- Adds credential.expiring for at most {max} credentials that expire within 30 or 7 days, each time once for the credential and its time of
-- expiry, in each organization that it has access to. Returns the number of credentials, and that of deliveries.
-- write: announce_expiring
with due as (
    select c.id, c.tenant_id, c.organization_id, c.expires_at, d.days
    from neoapi.credential c,
    lateral (select case when c.expires_at <= now() + interval '7 days' then 7 else 30 end as days) d
    where c.expires_at > now() and c.expires_at <= now() + interval '30 days' and c.revoked_at is null
    and not exists (
        select from neoapi.credential_expiry e
        where e.credential_id = c.id and e.expires_at = c.expires_at and e.days <= d.days)
    order by c.expires_at limit {max}::int),
noted as (
    insert into neoapi.credential_expiry (credential_id, expires_at, days) select id, expires_at, days from due
    on conflict do nothing returning credential_id),
added as (
    select neoapi.add_event(o.organization_id, 'credential.expiring', d.id, json_build_object(
        'id', d.id,
        'type', case when d.id like 'nbr\_%' then 'api_key' else 'personal_access_token' end,
        'tenant_id', d.tenant_id,
        'organization_id', o.organization_id,
        'name', neoapi.expiring_credential_name(d.id),
        'expires_at', neoapi.format_timestamp(d.expires_at),
        'threshold_days', d.days)::text) as deliveries
    from due d
    join noted n on n.credential_id = d.id
    cross join lateral (
        select d.organization_id where d.organization_id is not null
        union all
        select t.organization_id from neoapi.token_organization t where t.credential_id = d.id) o)
select (select count(*) from noted), (select coalesce(sum(deliveries), 0) from added);

-- name: read_jobs
select name, runs, failures, (extract(epoch from last_success_at) * 1000)::bigint, (extract(epoch from last_failure_at) * 1000)::bigint,
    last_duration_ms
from neoapi.job order by name;
