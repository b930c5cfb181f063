-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

prepare shared_import_find as
with lookup as materialized (
    select *
    from json_to_recordset($2::json) as l (n int, kind text, given text, external text, fresh text)),
found as materialized (
    select l.n, l.kind, l.given, coalesce(i.id, m.id, case l.kind when 'broker' then (
        select t.id
        from neoapi.broker t
        where t.organization_id = $1 and t.external_id = l.external)
        when 'party' then (
        select t.id
        from neoapi.party t
        where t.organization_id = $1 and t.external_id = l.external)
        when 'property' then (
        select t.id
        from neoapi.property t
        where t.organization_id = $1 and t.external_id = l.external)
        when 'proposal' then (
        select t.id
        from neoapi.proposal t
        where t.organization_id = $1 and t.external_id = l.external)
        when 'contract' then (
        select t.id
        from neoapi.contract t
        where t.organization_id = $1 and t.external_id = l.external)
        when 'document' then (
        select t.id
        from neoapi.document t
        where t.organization_id = $1 and t.external_id = l.external)
        when 'lead' then (
        select t.id
        from neoapi.lead t
        where t.organization_id = $1 and t.external_id = l.external) end, l.fresh) as id
    from lookup l
    left join neoapi.imported_id i on i.organization_id = $1 and i.kind = l.kind and i.original_id = l.given
    left join import_id m on m.kind = l.kind and m.original_id = l.given),
stored as (
    insert into import_id (kind, original_id, id)
    select kind, given, id
    from found
    where given is not null
    on conflict do nothing)
select n, id
from found;

prepare shared_import_missing as
with outside as materialized (
    select *
    from import_reference r
    where not exists (select from import_line l where l.id = r.target))
select r.number, r.path
from outside r
where case left(r.target, 4) when 'brk_' then (
    select o.id
    from neoapi.broker o
    where o.organization_id = $1 and o.id = r.target)
    when 'prp_' then (
    select o.id
    from neoapi.property o
    where o.organization_id = $1 and o.id = r.target)
    when 'pty_' then (
    select o.id
    from neoapi.party o
    where o.organization_id = $1 and o.id = r.target)
    when 'pps_' then (
    select o.id
    from neoapi.proposal o
    where o.organization_id = $1 and o.id = r.target)
    when 'ctr_' then (
    select o.id
    from neoapi.contract o
    where o.organization_id = $1 and o.id = r.target)
    when 'doc_' then (
    select o.id
    from neoapi.document o
    where o.organization_id = $1 and o.id = r.target)
    when 'led_' then (
    select o.id
    from neoapi.lead o
    where o.organization_id = $1 and o.id = r.target)
    when 'whs_' then (
    select o.id
    from neoapi.webhook_subscription o
    where o.organization_id = $1 and o.id = r.target)
    when 'wao_' then (
    select o.id
    from neoapi.whatsapp_opt_out o
    where o.organization_id = $1 and o.id = r.target)
    when 'wac_' then (
    select o.id
    from neoapi.whatsapp_conversation o
    where o.organization_id = $1 and o.id = r.target)
    when 'wam_' then (
    select o.id
    from neoapi.whatsapp_message o
    where o.organization_id = $1 and o.id = r.target) end is null
order by r.number, r.path
limit 101;

-- $1 organization, $2 numbers, $3 paths, $4 targets
prepare shared_1 as
select number, id
from (
    select w.number, case w.kind when 'broker' then (
        select t.id
        from neoapi.broker t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'property' then (
        select t.id
        from neoapi.property t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'party' then (
        select t.id
        from neoapi.party t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'proposal' then (
        select t.id
        from neoapi.proposal t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'contract' then (
        select t.id
        from neoapi.contract t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'document' then (
        select t.id
        from neoapi.document t
        where t.organization_id = $1 and t.external_id = w.external_id)
        when 'lead' then (
        select t.id
        from neoapi.lead t
        where t.organization_id = $1 and t.external_id = w.external_id) end as id
    from unnest($2::int[], $3::text[], $4::text[]) as w (number, kind, external_id)) as found
where id is not null;

prepare shared_2 as
select (now() at time zone 'America/Sao_Paulo')::date, r0.representation, r0.xmin, r1.representation, r1.xmin, row_to_json(r2), null,
    row_to_json(r3), null, row_to_json(r4), null
from (values (1)) one
left join neoapi.property r0 on r0.organization_id = $1 and r0.id = $3
left join neoapi.proposal r1 on r1.organization_id = $1 and r1.id = $4
left join lateral (
    select c.id, c.kind
    from neoapi.contract c
    where c.organization_id = $1 and c.property_id = $3 and c.status = 'active' and c.kind in ('sale', 'rental') and c.id <> $2
    order by c.id
    limit 1) r2 on true
left join lateral (
    select c.id
    from neoapi.contract c
    where c.organization_id = $1 and c.property_id = $3 and c.proposal_id = $4 and c.id <> $2
    limit 1) r3 on true
left join lateral (
    select o.id, o.kind, d.open_id as contract_id
    from neoapi.proposal o
    cross join lateral (
        select count(*) as contracts, min(c.id) filter (where c.status in ('draft', 'pending_signature', 'active') and c.id <> $2) as open_id
        from neoapi.contract c
        where c.organization_id = $1 and c.property_id = $3 and c.proposal_id = o.id) d
    where o.organization_id = $1 and o.property_id = $3 and o.status = 'accepted' and o.id <> $2 and (d.contracts = 0
        or d.open_id is not null)
    order by o.id is not distinct from $4, o.id
    limit 1) r4 on true;

prepare shared_3 as
select (now() at time zone 'America/Sao_Paulo')::date, row_to_json(r0), null
from (values (1)) one
left join lateral (
    select c.id
    from neoapi.whatsapp_conversation c
    where c.organization_id = $1 and c.lead_id = $2
    limit 1) r0 on true;

prepare shared_4 as
(
    select 'proposal', due.organization_id, due.tenant_id, due.id, due.xmin, due.representation, 'expired'
    from neoapi.proposal due
    where due.status in ('submitted', 'countered') and due.valid_until < (now() at time zone 'America/Sao_Paulo')::date
    order by due.valid_until
    limit 25)
union all
(
    select 'contract', due.organization_id, due.tenant_id, due.id, due.xmin, due.representation, 'expired'
    from neoapi.contract due
    where due.status in ('active') and due.end_date < (now() at time zone 'America/Sao_Paulo')::date
    order by due.end_date
    limit 25);
