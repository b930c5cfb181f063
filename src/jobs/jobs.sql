-- SPDX-License-Identifier: Apache-2.0
-- Background jobs of the deployment (see jobs.c).

-- Adds the jobs $1 that the table does not have yet. They are due at once.
-- name: add_jobs
insert into neoapi.job (name) select unnest($1::text[]) on conflict do nothing;

-- Claims a job of $1 that is due, for $2 seconds, and returns its name, or null; and the milliseconds until the next one is due.
-- name: claim_job
with due as materialized (
    select j.name from neoapi.job j
    where j.name = any ($1::text[]) and j.due_at <= now()
    order by j.due_at limit 1 for update skip locked),
taken as (
    update neoapi.job j set due_at = now() + make_interval(secs => $2::int)
    from due where j.name = due.name
    returning j.name)
select (select name from taken),
    (select greatest(extract(epoch from min(j.due_at) - now()) * 1000, 0)::bigint
     from neoapi.job j where j.name = any ($1::text[]) and j.name not in (select name from due));

-- Records that the job $1 has succeeded ($2) or failed after $3 milliseconds; it is due again in $4 seconds.
-- name: record_job
update neoapi.job
set due_at = now() + make_interval(secs => $4::int),
    runs = runs + 1,
    failures = failures + case when $2::boolean then 0 else 1 end,
    last_success_at = case when $2::boolean then now() else last_success_at end,
    last_failure_at = case when $2::boolean then last_failure_at else now() end,
    last_duration_ms = $3::int
where name = $1;

-- name: read_jobs
select name, runs, failures, (extract(epoch from last_success_at) * 1000)::bigint, (extract(epoch from last_failure_at) * 1000)::bigint,
    last_duration_ms
from neoapi.job order by name;
