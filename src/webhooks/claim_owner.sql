-- SPDX-License-Identifier: Apache-2.0
-- The processes that claim deliveries (see claim_owner.c).

-- Registers a process: {owner} number, {namespace} of its {pid}. Removes others that can no longer be checked: they are from
-- another host or namespace, and hold no lock.
-- write: register_owner
with old as (
    delete from neoapi.claim_owner
    where id <> {owner}::int and started_at < now() - interval '1 day' and pg_try_advisory_xact_lock(hashtext('neoapi.claim_owner'), id))
insert into neoapi.claim_owner (id, pid_namespace, pid) values ({owner}::int, {namespace}, {pid}::int) on conflict (id) do nothing;

-- Frees the claims of {owner}, a process that has ended. Its row is deleted when it has none left: a row can be locked, and a
-- claim can still be in progress, whose transaction holds the lock.
-- write: free_claims
with lock as materialized (
    select pg_try_advisory_xact_lock(hashtext('neoapi.claim_owner'), {owner}::int) as acquired),
claimed as materialized (
    select from neoapi.webhook_queue q
    where (select acquired from lock) and q.claim between {owner}::bigint << 32 and ({owner}::bigint << 32) + 4294967295),
freed as (
    update neoapi.webhook_queue q set due_at = now(), claim = null
    where q.ctid = any (array(
        select l.ctid from neoapi.webhook_queue l
        where exists (select from claimed) and l.claim between {owner}::bigint << 32 and ({owner}::bigint << 32) + 4294967295
        order by l.id for update skip locked))
    returning 1),
deleted as (
    delete from neoapi.claim_owner where id = {owner}::int and (select acquired from lock) and not exists (select from claimed))
select count(*) from freed;
