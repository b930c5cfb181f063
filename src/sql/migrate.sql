-- SPDX-License-Identifier: Apache-2.0
-- Statements of `neoapictl migrate` (see migrate.c).

-- Each migration has a transaction of its own, which first waits for other migrations. The lock ends with the transaction, so
-- that it also works through a pooler. Settings of the connecting role must not change what a migration does. A change of a
-- table that waits for a long transaction blocks all other queries behind it: it gives up after 3 seconds and is tried again.
-- name: begin
begin isolation level read committed read write;
set local statement_timeout = 0;
set local lock_timeout = 0;
set local search_path = public;
set local client_encoding = 'UTF8';
set local client_min_messages = warning;
select pg_advisory_xact_lock(5653418271302);
set local lock_timeout = '3s';

-- Processes that have used tables of the schema for more than 3 seconds. xact_start is null if this role may not see it.
-- name: blockers
select string_agg(format('process %s (%s)', pid, concat_ws(', ', usename, nullif(application_name, ''))), ', ')
from pg_catalog.pg_stat_activity
where pid <> pg_backend_pid() and datname = current_database()
and (xact_start is null or xact_start < clock_timestamp() - interval '3 s')
and pid in (
    select l.pid
    from pg_catalog.pg_locks l
    join pg_catalog.pg_class c on c.oid = l.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'neoapi' and l.granted);

-- name: owner
select pg_get_userbyid(nspowner) from pg_catalog.pg_namespace where nspname = 'neoapi';

-- name: recorded
select from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'neoapi' and c.relname = 'schema_migration';

-- Makes the tables that record migrations; :runtime is the runtime role.
-- name: record
create table neoapi.schema_migration (
    number     int primary key,
    name       text not null,
    checksum   text not null default '', -- SHA-256 of the file
    applied_at timestamptz not null default now());
create table neoapi.setting (name text primary key, value text not null);
grant usage on schema neoapi to :runtime;
grant select (number) on neoapi.schema_migration to :runtime;
grant select on neoapi.setting to :runtime;

-- name: version
select coalesce(max(number), 0) from neoapi.schema_migration;

-- name: applied
select number, name, checksum from neoapi.schema_migration order by number;

-- name: runtime
select value from neoapi.setting where name = 'runtime_role';

-- Whether writes succeed. Before, ends the backends of earlier probes that gave up waiting for a synchronous standby: a server does
-- not notice while it waits for one that its client has left.
-- name: probe_write
select pg_cancel_backend(pid)
from pg_stat_activity
where wait_event = 'SyncRep' and usename = current_user and query like '%neoapi.probe_write()%'
and query_start < clock_timestamp() - interval '4 s';
select neoapi.probe_write()
