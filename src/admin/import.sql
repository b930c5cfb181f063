-- SPDX-License-Identifier: Apache-2.0
-- Statements of `neoapictl import` (see import.c).

-- $1 organizations. The lock lasts until the connection ends.
-- name: lock
select coalesce(bool_and(pg_try_advisory_lock(hashtext('neoapi.import'), hashtext(id))), true)
from unnest($1::text[]) id;

-- Begins to collect lines. Each statement is a transaction of its own, because a long one would hold back the event log. Plans
-- made for an organization that is known to be empty would be bad as soon as it has rows, so plans are generic. id_block is the
-- block of the ids of the line's deliveries.
-- name: begin
set plan_cache_mode to force_generic_plan;
create temp table import_id (kind text, original_id text, id text not null, primary key (kind, original_id));
create temp table import_line (
    number bigint primary key, kind text not null, id text collate "C" not null, id_block text, body json);
create temp table import_claim (kind text not null, property_id text not null, id text collate "C" not null, type text, open_id text);
create temp table import_reference (number bigint not null, path text not null, target text collate "C" not null);

-- Stores some of the ids that were found: $1 organization. One row: their number.
-- name: store_ids
with chunk as (
    delete from import_id where ctid = any (array(select ctid from import_id limit 5000))
    returning kind, original_id, id),
stored as (
    insert into neoapi.imported_id (organization_id, kind, original_id, id)
    select $1, kind, original_id, id from chunk
    on conflict do nothing)
select count(*) from chunk;

-- $1 lines, $2 their references; both are JSON arrays.
-- name: collect
with line as (
    insert into import_line
    select number, kind, id, id_block, body
    from json_to_recordset($1::json) as l (number bigint, kind text, id text, id_block text, body json))
insert into import_reference
select number, path, target
from json_to_recordset($2::json) as r (number bigint, path text, target text);

-- name: index
create index on import_line (kind, number);
create index on import_line (id);
create index on import_reference (number);
analyze import_line;
analyze import_reference;

-- Lines with the id of an earlier line.
-- name: duplicate_ids
select number, first
from (select number, min(number) over (partition by id) as first from import_line) l
where number <> first
order by 1 limit 101;

-- Lines with the id of another organization's lead: $1 organization. Administrators name a lead by its id alone, so no two
-- organizations may have the same one.
-- name: foreign_leads
select l.number
from import_line l
join neoapi.lead t on t.id = l.id
where l.kind = 'lead' and t.organization_id <> $1
order by 1 limit 101;

-- The unique indexes of a table ($1) other than its primary key: name, columns, the condition that all columns have values, the
-- index's predicate.
-- name: unique_indexes
select c.relname,
    string_agg(k.def, ', ' order by k.n),
    string_agg('(' || k.def || ') is not null', ' and '),
    pg_get_expr(i.indpred, i.indrelid)
from pg_index i
join pg_class c on c.oid = i.indexrelid,
lateral (
    select n, pg_get_indexdef(i.indexrelid, n, true) as def from generate_series(1, i.indnkeyatts) n) k
where i.indrelid = $1::regclass and i.indisunique and not i.indisprimary
group by 1, 4
order by 1;
