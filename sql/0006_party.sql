-- Parties. The fields, their order and their meaning are those of src/model/party.c.

create table neoapi.party (
    organization_id       text collate "C" not null,
    id                    text collate "C" not null check (id ~ '^pty_[0-9a-hjkmnp-tv-z]{26}$'),
    tenant_id             text collate "C" not null,
    kind                  text not null,
    name                  text not null,
    trade_name            text,
    roles                 text[] not null,
    document_number       text collate "C",
    rg                    json,
    email                 text,
    phone                 text,
    birth_date            date,
    nationality           text,
    profession            text,
    marital_status        text,
    property_regime       text,
    spouse_party_id       text collate "C",
    address               json,
    bank_account          json,
    legal_representatives json,
    broker_id             text collate "C",
    lgpd_consent_at       timestamptz,
    external_id           text collate "C",
    metadata              json,
    created_at            timestamptz not null,
    updated_at            timestamptz not null,
    created_by            text collate "C" not null,
    updated_by            text collate "C" not null,
    representation        text not null,
    primary key (organization_id, id)
);

create function neoapi.party_represent() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(row_to_json(r)) from (select
        new.id,
        new.kind,
        new.name,
        new.trade_name,
        new.roles,
        new.document_number,
        new.rg,
        new.email,
        new.phone,
        new.birth_date,
        new.nationality,
        new.profession,
        new.marital_status,
        new.property_regime,
        new.spouse_party_id,
        new.address,
        new.bank_account,
        new.legal_representatives,
        new.broker_id,
        neoapi.instant(new.lgpd_consent_at) as lgpd_consent_at,
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
create trigger represent before insert or update on neoapi.party
    for each row execute function neoapi.party_represent();

-- Unique, and the filters: see 0002_broker.sql. Where a field need not have a value, its index holds those that have.
create unique index party_document_number_key on neoapi.party (organization_id, document_number) where document_number is not null;
create unique index party_external_id_key on neoapi.party (organization_id, external_id) where external_id is not null;
create index party_kind on neoapi.party (organization_id, kind, id);
create index party_roles on neoapi.party using gin (organization_id, roles);
create index party_email on neoapi.party (organization_id, lower(email), id) where email is not null;
create index party_phone on neoapi.party (organization_id, phone, id) where phone is not null;
create index party_updated_at on neoapi.party (organization_id, updated_at);
create index party_q on neoapi.party
    using gin (organization_id, neoapi.folded(name || ' ' || coalesce(trade_name, '')) gin_trgm_ops);

-- It can be referred to (see 0004_reference.sql).
alter table neoapi.reference
    add column party_id text collate "C" generated always as (case when target_id like 'pty\_%' then target_id end) stored,
    add foreign key (organization_id, party_id) references neoapi.party (organization_id, id);
create index reference_party on neoapi.reference (organization_id, party_id, source_id, field) where party_id is not null;

grant select, insert, update, delete on neoapi.party to :runtime;
