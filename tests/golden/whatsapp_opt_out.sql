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
