-- SPDX-License-Identifier: Apache-2.0
-- The transaction that holds back the end of the event log (see event_log.c): the oldest one that has written and not ended, in
-- any database. Its age is null if the session belongs to a role whose activity the connected role must not see.
-- name: holder
select h.transaction::text::bigint, (extract(epoch from clock_timestamp() - h.since) * 1000)::bigint, h.description
from (
    select backend_xid as transaction, xact_start as since,
        concat_ws(', ', 'pid ' || pid, 'role ' || usename, 'application ' || nullif(application_name, ''), state,
                  'query since ' || to_char(query_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) as description
    from pg_stat_activity
    where backend_xid is not null and pid <> pg_backend_pid()
    union all
    select transaction, prepared, concat_ws(', ', 'prepared transaction ' || gid, 'role ' || owner)
    from pg_prepared_xacts) h
order by age(h.transaction) desc limit 1;

-- Whether the next transaction's events get higher ids than all others, and the epoch of transaction ids that makes it so. Each
-- organization's newest event is one step in an index; there is no index on the id alone.
-- name: order
with recursive organization as (
    (select organization_id as id from neoapi.event order by organization_id limit 1)
    union all
    select (select organization_id from neoapi.event where organization_id > o.id order by organization_id limit 1)
    from organization o
    where o.id is not null)
select coalesce(pg_snapshot_xmax(pg_current_snapshot())::text::bigint > n.transaction, true), coalesce((n.transaction >> 32) + 1, 0)
from (
    select max(('x' || substr(e.id, 5, 16))::bit(64)::bigint) as transaction
    from organization o,
    lateral (select id from neoapi.event where organization_id = o.id order by id desc limit 1) e) n;
