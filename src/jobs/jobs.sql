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

-- name: read_jobs
select name, runs, failures, (extract(epoch from last_success_at) * 1000)::bigint, (extract(epoch from last_failure_at) * 1000)::bigint,
    last_duration_ms
from neoapi.job order by name;
