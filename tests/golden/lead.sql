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
