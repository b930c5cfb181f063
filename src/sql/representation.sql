-- SPDX-License-Identifier: Apache-2.0
-- Statements about the functions that make or maintain representations (see representation.c).

-- Which of these functions ($1) do not exist with this body ($2), or are not run by this many triggers ($3): their positions from 0.
-- name: outdated
select f.position - 1
from unnest($1::text[], $2::text[], $3::int[]) with ordinality as f (name, body, triggers, position)
where not exists (
    select from pg_catalog.pg_proc p
    where p.oid = to_regproc('neoapi.' || f.name) and p.prosrc = f.body
    and f.triggers = (select count(*) from pg_catalog.pg_trigger g where g.tgfoid = p.oid))
order by 1;
