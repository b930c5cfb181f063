-- SPDX-License-Identifier: Apache-2.0
-- The transaction that holds back the end of the event log (see event_log.c): the oldest one that has written and not ended, in
-- any database. Its age is null if the connected role may not see the activity of the session's role.
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

-- Whether the current epoch was written by this database, and when it began.
-- name: epoch
select identity = neoapi.event_identity(), neoapi.format_timestamp(begun_at) from neoapi.event_epoch;
