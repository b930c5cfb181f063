-- SPDX-License-Identifier: Apache-2.0
-- Statements about the functions that maintain representations (see representation.c).

-- Which of these tables ($1) have not both triggers that run a function with this body ($2): their positions from 0.
-- name: outdated
select t.position - 1
from unnest($1::text[], $2::text[]) with ordinality as t (name, body, position)
where 2 > (
    select count(*) from pg_catalog.pg_trigger g join pg_catalog.pg_proc p on p.oid = g.tgfoid
    where g.tgrelid = to_regclass('neoapi.' || t.name) and p.prosrc = t.body)
order by 1;
