-- SPDX-License-Identifier: Apache-2.0
-- Statements of `neoapictl audit` (see audit.c).

-- $1 organization, $2 action, $3 time: null or the only ones; $4 limit.
-- name: list
select coalesce(json_agg(l), '[]') from (
    select e.number, neoapi.format_timestamp(e.created_at) as created_at, e.action, e.object_id, e.owner as organization_id,
        coalesce(e.credential, concat_ws('/', e.entry#>>'{actor,sudo_user}', e.entry#>>'{actor,system_user}', e.entry#>>'{actor,role}'))
            as actor,
        coalesce(e.entry#>>'{actor,address}', e.entry#>>'{actor,host}') as origin,
        (select string_agg(c, ', ') from json_array_elements_text(e.entry->'changed') c) as changed
    from neoapi.audit_entry e
    where ($1::text is null or e.owner = $1) and ($2::text is null or e.action = $2)
    and ($3::text is null or e.created_at >= $3::timestamptz)
    order by e.number desc limit $4::int) l;
