-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- lead_representation
create or replace function neoapi.lead_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"name":' || to_json(new.name),
        '"phone":' || to_json('+' || new.phone),
        '"email":' || to_json(new.email),
        '"party_id":' || to_json(new.party_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":' || '"' || neoapi.format_timestamp(new.created_at) || '"') || '}';
    return new;
end $$;
create or replace trigger set_representation before update on neoapi.lead for each row execute function neoapi.lead_set_representation();
create or replace trigger set_representation_if_null before insert on neoapi.lead for each row when (new.representation is null) execute function neoapi.lead_set_representation();

prepare lead_export as
select t.representation
from neoapi.lead t
where t.organization_id = $1
order by t.id;

-- $1 before, $2 now, $3 organization
prepare lead_import as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'lead' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.lead, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.lead t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.lead t
    set created_at = coalesce(item.created_at, t.created_at), name = item.name, phone = item.phone, email = item.email,
        party_id = item.party_id
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.created_at is distinct from coalesce(item.created_at,
        t.created_at) or before.name is distinct from item.name or before.phone is distinct from item.phone
        or before.email is distinct from item.email or before.party_id is distinct from item.party_id)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.lead as t (organization_id, id, created_at, name, phone, email, party_id)
    select $3, item.item_id, coalesce(item.created_at, item.item_now), item.name, item.phone, item.email, item.party_id
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;
