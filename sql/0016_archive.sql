-- What an organization takes along beside its resources: its leads, and in the next migration who has said stop over WhatsApp. As the
-- tables of resources do, these two keep the answer that is exported with each row. They are two migrations because whoever sends
-- or receives holds conversations while he looks at leads: a transaction that keeps both from him could wait for him for ever.

alter table neoapi.lead add column representation text;

-- The fields and their order are those of src/model/lead.c. With its plus sign a number is nobody's guess.
create function neoapi.lead_represent() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(row_to_json(r)) from (select
        new.id,
        new.name,
        '+' || new.phone as phone,
        new.email,
        new.party_id,
        new.organization_id,
        neoapi.instant(new.created_at) as created_at) r;
    return new;
end $$;
create trigger represent_lead before insert or update on neoapi.lead for each row execute function neoapi.lead_represent();

update neoapi.lead set name = name;
alter table neoapi.lead alter column representation set not null;
