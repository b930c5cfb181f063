-- Properties. The fields, their order and their meaning are those of src/model/property.c.

create table neoapi.property (
    organization_id   text collate "C" not null,
    id                text collate "C" not null check (id ~ '^prp_[0-9a-hjkmnp-tv-z]{26}$'),
    tenant_id         text collate "C" not null,
    code              text collate "C" not null,
    title             text,
    description       text,
    transaction_type  text not null,
    usage_type        text not null,
    property_type     text not null,
    status            text not null,
    sale_price        bigint,
    rent_price        bigint,
    condo_fee         bigint,
    iptu_amount       bigint,
    iptu_period       text,
    address           json not null,
    address_display   text,
    private_area      numeric,
    total_area        numeric,
    lot_area          numeric,
    bedrooms          bigint,
    suites            bigint,
    bathrooms         bigint,
    parking_spaces    bigint,
    floor             bigint,
    year_built        bigint,
    registry          json,
    owners            json,
    broker_id         text collate "C",
    exclusive         boolean,
    exclusive_until   date,
    accepts_financing boolean,
    accepts_fgts      boolean,
    accepts_exchange  boolean,
    features          json,
    media             json,
    external_id       text collate "C",
    metadata          json,
    created_at        timestamptz not null,
    updated_at        timestamptz not null,
    created_by        text collate "C" not null,
    updated_by        text collate "C" not null,
    representation    text not null,
    primary key (organization_id, id)
);

create function neoapi.property_represent() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(row_to_json(r)) from (select
        new.id,
        new.code,
        new.title,
        new.description,
        new.transaction_type,
        new.usage_type,
        new.property_type,
        new.status,
        new.sale_price,
        new.rent_price,
        new.condo_fee,
        new.iptu_amount,
        new.iptu_period,
        new.address,
        new.address_display,
        new.private_area,
        new.total_area,
        new.lot_area,
        new.bedrooms,
        new.suites,
        new.bathrooms,
        new.parking_spaces,
        new.floor,
        new.year_built,
        new.registry,
        new.owners,
        new.broker_id,
        new.exclusive,
        new.exclusive_until,
        new.accepts_financing,
        new.accepts_fgts,
        new.accepts_exchange,
        new.features,
        new.media,
        new.external_id,
        new.metadata,
        new.tenant_id,
        new.organization_id,
        neoapi.instant(new.created_at) as created_at,
        neoapi.instant(new.updated_at) as updated_at,
        new.created_by,
        new.updated_by) r;
    return new;
end $$;
create trigger represent before insert or update on neoapi.property
    for each row execute function neoapi.property_represent();

-- Unique, and the filters: see 0002_broker.sql. Where a field need not have a value, its index holds those that have.
create unique index property_code_key on neoapi.property (organization_id, code);
create unique index property_external_id_key on neoapi.property (organization_id, external_id) where external_id is not null;
create index property_status on neoapi.property (organization_id, status, id);
create index property_transaction_type on neoapi.property (organization_id, transaction_type, id);
create index property_property_type on neoapi.property (organization_id, property_type, id);
create index property_state on neoapi.property (organization_id, (address->>'state'), id);
create index property_city on neoapi.property (organization_id, neoapi.folded(address->>'city'), id);
create index property_neighborhood on neoapi.property (organization_id, neoapi.folded(address->>'neighborhood'), id);
create index property_broker_id on neoapi.property (organization_id, broker_id, id) where broker_id is not null;
create index property_sale_price on neoapi.property (organization_id, sale_price) where sale_price is not null;
create index property_rent_price on neoapi.property (organization_id, rent_price) where rent_price is not null;
create index property_bedrooms on neoapi.property (organization_id, bedrooms) where bedrooms is not null;
create index property_updated_at on neoapi.property (organization_id, updated_at);
create index property_q on neoapi.property
    using gin (organization_id, neoapi.folded(code || ' ' || coalesce(title, '')) gin_trgm_ops);

-- It can be referred to (see 0004_reference.sql).
alter table neoapi.reference
    add column property_id text collate "C" generated always as (case when target_id like 'prp\_%' then target_id end) stored,
    add foreign key (organization_id, property_id) references neoapi.property (organization_id, id);
create index reference_property on neoapi.reference (organization_id, property_id, source_id, field) where property_id is not null;

grant select, insert, update, delete on neoapi.property to :runtime;
