-- SPDX-License-Identifier: Apache-2.0
-- Generated: `make golden` writes this file.

-- whatsapp_opt_out_representation
create or replace function neoapi.whatsapp_opt_out_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"phone_number_id":' || to_json(new.phone_number_id),
        '"contact_phone":' || to_json('+' || new.contact_phone),
        '"contact_bsuid":' || to_json(new.contact_bsuid),
        '"lead_id":' || to_json(new.lead_id),
        '"opted_out_at":' || '"' || neoapi.format_timestamp(new.opted_out_at) || '"',
        '"preference_at":' || '"' || neoapi.format_timestamp(new.preference_at) || '"',
        '"organization_id":' || to_json(new.organization_id)) || '}';
    return new;
end $$;
create or replace trigger set_representation before update on neoapi.whatsapp_opt_out for each row execute function neoapi.whatsapp_opt_out_set_representation();
create or replace trigger set_representation_if_null before insert on neoapi.whatsapp_opt_out for each row when (new.representation is null) execute function neoapi.whatsapp_opt_out_set_representation();

prepare whatsapp_opt_out_export as
select t.representation
from neoapi.whatsapp_opt_out t
where t.organization_id = $1
order by t.id;

-- $1 before, $2 now, $3 organization
prepare whatsapp_opt_out_import as
with batch as materialized (
    select l.number as item_number, l.id as item_id, l.id_block as item_id_block, l.body as item_body
    from import_line l
    where l.kind = 'whatsapp_opt_out' and l.number > $1::bigint
    order by l.number
    limit 500),
item as materialized (
    select p.item_number, p.item_id, p.item_id_block, $2::timestamptz as item_now, b.*
    from batch p
    cross join lateral json_populate_record(null::neoapi.whatsapp_opt_out, p.item_body) b),
before as materialized (
    select t.*
    from item
    join neoapi.whatsapp_opt_out t on t.organization_id = $3 and t.id = item.item_id
    order by t.id
    for no key update of t),
updated as (
    update neoapi.whatsapp_opt_out t
    set phone_number_id = item.phone_number_id, contact_phone = item.contact_phone, contact_bsuid = item.contact_bsuid,
        lead_id = item.lead_id, opted_out_at = item.opted_out_at, preference_at = item.preference_at
    from item
    join before on before.id = item.item_id
    where t.organization_id = $3 and t.id = item.item_id and (false or before.phone_number_id is distinct from item.phone_number_id
        or before.contact_phone is distinct from item.contact_phone or before.contact_bsuid is distinct from item.contact_bsuid
        or before.lead_id is distinct from item.lead_id or before.opted_out_at is distinct from item.opted_out_at
        or before.preference_at is distinct from item.preference_at)
    returning t.*, item.item_number, item.item_id_block, item.item_now),
inserted as (
    insert into neoapi.whatsapp_opt_out as t (organization_id, id, phone_number_id, contact_phone, contact_bsuid, lead_id, opted_out_at,
        preference_at)
    select $3, item.item_id, item.phone_number_id, item.contact_phone, item.contact_bsuid, item.lead_id, item.opted_out_at,
        item.preference_at
    from item
    where (select count(*) from updated) >= 0 and not exists (select from before where before.id = item.item_id)
    order by item.item_number
    returning t.id, t.representation),
created as (
    select inserted.*, item.item_number, item.item_id_block, item.item_now
    from inserted
    join item on item.item_id = inserted.id)
select (select max(item_number) from batch), (select count(*) from batch), (select count(*) from created), (select count(*) from updated), 0;
