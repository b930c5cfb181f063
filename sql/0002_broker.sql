-- Brokers. The fields, their order and their meaning are those of src/model/broker.c.

-- The number as it is compared: upper case, letters and digits alone.
create function neoapi.creci_key(creci text) returns text
    language sql immutable strict parallel safe
    return upper(regexp_replace(creci, '[^A-Za-z0-9]', '', 'g') collate "C");

create table neoapi.broker (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id ~ '^brk_[0-9a-hjkmnp-tv-z]{26}$'),
    tenant_id       text collate "C" not null,
    name            text not null,
    creci           text,
    document_number text,
    email           text,
    phone           text,
    bank_account    json,
    visibility      text not null,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    created_by      text collate "C" not null,
    updated_by      text collate "C" not null,
    -- The resource exactly as the API answers it. A trigger keeps it, so that it cannot differ from the columns, and so that a
    -- field can be added without rewriting the table, which a generated column would need.
    representation  text not null,
    primary key (organization_id, id)
);

create function neoapi.broker_represent() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(json_build_object(
        'id', new.id,
        'name', new.name,
        'creci', new.creci,
        'document_number', new.document_number,
        'email', new.email,
        'phone', new.phone,
        'bank_account', new.bank_account,
        'tenant_id', new.tenant_id,
        'organization_id', new.organization_id,
        'visibility', new.visibility,
        'created_at', neoapi.instant(new.created_at),
        'updated_at', neoapi.instant(new.updated_at),
        'created_by', new.created_by,
        'updated_by', new.updated_by));
    return new;
end $$;
create trigger represent before insert or update on neoapi.broker
    for each row execute function neoapi.broker_represent();

-- Unique, and the filters. Each begins with the organization and ends with the id, so that a filtered list is read in its order.
create unique index broker_creci_key on neoapi.broker (organization_id, neoapi.creci_key(creci));
create index broker_document_number on neoapi.broker (organization_id, document_number, id);
create index broker_email on neoapi.broker (organization_id, lower(email), id);
create index broker_visibility on neoapi.broker (organization_id, visibility, id);
create index broker_updated_at on neoapi.broker (organization_id, updated_at);
create index broker_name on neoapi.broker using gin (organization_id, neoapi.folded(name) gin_trgm_ops);

grant select, insert, update, delete on neoapi.broker to :runtime;
