-- SPDX-License-Identifier: Apache-2.0
-- Creates the table of what credentials use (see src/core/usage.c).

-- A day in UTC. The operation is that of the API, or 'webhook delivery' with the subscription as the credential: its requests are
-- attempts, its refusals those that failed.
create table neoapi.credential_usage (
    organization_id text collate "C" not null,
    day             date not null,
    credential_id   text collate "C" not null,
    operation       text collate "C" not null,
    requests        bigint not null,
    refusals        bigint not null,
    rows            bigint not null,
    bytes           bigint not null,
    primary key (organization_id, day, credential_id, operation)
);
grant select, insert, update, delete on neoapi.credential_usage to :runtime;

-- The flushes of the last day, so that one whose statement is executed again is not counted twice.
create table neoapi.usage_flush (
    id         text collate "C" primary key,
    flushed_at timestamptz not null default now()
);
create index usage_flush_flushed_at on neoapi.usage_flush (flushed_at);
grant select, insert, delete on neoapi.usage_flush to :runtime;

-- Adds what a host has counted. The rows are written in the order of the key, so that hosts do not deadlock. Organizations that have been
-- removed meanwhile are left out.
create function neoapi.add_usage(flush text, organizations text[], credentials text[], operations text[], requests bigint[],
                                 refusals bigint[], rows bigint[], bytes bigint[]) returns void
    language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    insert into neoapi.usage_flush (id) values (flush) on conflict do nothing;
    if not found then
        return;
    end if;
    delete from neoapi.usage_flush f where f.flushed_at < now() - interval '1 day';
    insert into neoapi.credential_usage as u (organization_id, day, credential_id, operation, requests, refusals, rows, bytes)
    select c.organization, (now() at time zone 'UTC')::date, c.credential, c.operation, sum(c.requests), sum(c.refusals), sum(c.rows), sum(c.bytes)
    from unnest(organizations, credentials, operations, requests, refusals, rows, bytes)
        as c (organization, credential, operation, requests, refusals, rows, bytes)
    where exists (select from neoapi.organization o where o.id = c.organization)
    group by 1, 3, 4
    order by 1, 3, 4
    on conflict (organization_id, day, credential_id, operation) do update set (requests, refusals, rows, bytes) =
        (u.requests + excluded.requests, u.refusals + excluded.refusals, u.rows + excluded.rows, u.bytes + excluded.bytes);
end $$;
