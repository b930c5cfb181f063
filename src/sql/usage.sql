-- SPDX-License-Identifier: Apache-2.0
-- What credentials have used (see usage.c).

-- write: add
select neoapi.add_usage({flush}, {organizations}::text[], {credentials}::text[], {operations}::text[], {requests}::bigint[],
                        {refusals}::bigint[], {rows}::bigint[], {bytes}::bigint[]);

-- read: read
select '{"items":[' || coalesce(string_agg(json_build_object('day', to_char(u.day, 'YYYY-MM-DD'), 'credential_id', u.credential_id,
        'operation', u.operation, 'requests', u.requests, 'refusals', u.refusals, 'rows', u.rows, 'bytes', u.bytes)::text,
        ',' order by u.day desc, u.credential_id, u.operation), '') || ']}'
from neoapi.credential_usage u, (
    select t.last, greatest(coalesce({from}::date, t.last - 30), t.last - {days}::int + 1) as first
    from (select coalesce({to}::date, (now() at time zone 'UTC')::date) as last) t) asked
where u.organization_id = {organization} and u.day between asked.first and asked.last
and ({credentials}::text[] is null or u.credential_id = any ({credentials}));

-- write: expire
delete from neoapi.credential_usage u where u.day < (now() at time zone 'UTC')::date - interval '2 years';
