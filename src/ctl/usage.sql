-- SPDX-License-Identifier: Apache-2.0
-- Statements of `neoapictl usage` (see usage.c).

-- $1 organization, or null; $2 first day, $3 last day, or null.
-- name: usage
select to_char(u.day, 'YYYY-MM-DD') as day, u.organization_id, u.credential_id, u.operation, u.requests, u.refusals, u.rows, u.bytes
from neoapi.credential_usage u
where ($1::text is null or u.organization_id = $1)
and u.day between coalesce($2::date, coalesce($3::date, (now() at time zone 'UTC')::date) - 30) and coalesce($3::date, 'infinity')
order by u.day desc, u.organization_id, u.credential_id, u.operation
