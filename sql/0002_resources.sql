-- SPDX-License-Identifier: Apache-2.0
-- Creates the tables of the resources: brokers, properties, parties, proposals, contracts, documents.
--
-- The fields of a table, their order and their meaning are those of src/model/<resource>.c.
--
-- representation is the resource as JSON, exactly as the API returns it. A trigger keeps it equal to the columns. It is no
-- generated column, because adding a field to one would rewrite the table. It is concatenated as text: json_strip_nulls would
-- parse the JSON again, which took more than half of the trigger's time. A member is null if its column is null, and concat_ws
-- skips nulls; it takes at most 99 members. JSON columns contain neither nulls nor spaces, because the module writes them so.
--
-- Indexes of filters begin with organization_id and end with id, so that a filtered list is read in the order of the response.
-- The index of an optional field is partial.

-- ---------------------------------------------------------------- brokers

-- The CRECI number for comparisons: upper case, letters and digits only.
create function neoapi.creci_key(creci text) returns text
    language sql immutable strict parallel safe
    return upper(regexp_replace(creci, '[^A-Za-z0-9]', '', 'g') collate "C");

create table neoapi.broker (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id like 'brk\_%' and octet_length(id) = 30),
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
    representation  text not null,
    primary key (organization_id, id)
);

create function neoapi.broker_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"name":' || to_json(new.name),
        '"creci":' || to_json(new.creci),
        '"document_number":' || to_json(new.document_number),
        '"email":' || to_json(new.email),
        '"phone":' || to_json(new.phone),
        '"bank_account":' || new.bank_account,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"visibility":' || to_json(new.visibility),
        '"created_at":"' || neoapi.format_timestamp(new.created_at) || '"',
        '"updated_at":"' || neoapi.format_timestamp(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;
create trigger set_representation before insert or update on neoapi.broker
    for each row execute function neoapi.broker_set_representation();

create unique index broker_creci_key on neoapi.broker (organization_id, neoapi.creci_key(creci));
create index broker_document_number on neoapi.broker (organization_id, document_number, id);
create index broker_email on neoapi.broker (organization_id, lower(email), id);
create index broker_visibility on neoapi.broker (organization_id, visibility, id);
create index broker_updated_at on neoapi.broker (organization_id, updated_at);
-- With the default sample PostgreSQL can take a rare name for a frequent one. It then reads the organization's rows from the
-- newest on until it has a page, instead of using this index.
create index broker_name on neoapi.broker using gin (organization_id, neoapi.folded(name) gin_trgm_ops);
alter index neoapi.broker_name alter column 2 set statistics 500;

-- ---------------------------------------------------------------- properties

create table neoapi.property (
    organization_id   text collate "C" not null,
    id                text collate "C" not null check (id like 'prp\_%' and octet_length(id) = 30),
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

create function neoapi.property_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"code":' || to_json(new.code),
        '"title":' || to_json(new.title),
        '"description":' || to_json(new.description),
        '"transaction_type":' || to_json(new.transaction_type),
        '"usage_type":' || to_json(new.usage_type),
        '"property_type":' || to_json(new.property_type),
        '"status":' || to_json(new.status),
        '"sale_price":' || new.sale_price,
        '"rent_price":' || new.rent_price,
        '"condo_fee":' || new.condo_fee,
        '"iptu_amount":' || new.iptu_amount,
        '"iptu_period":' || to_json(new.iptu_period),
        '"address":' || new.address,
        '"address_display":' || to_json(new.address_display),
        '"private_area":' || new.private_area,
        '"total_area":' || new.total_area,
        '"lot_area":' || new.lot_area,
        '"bedrooms":' || new.bedrooms,
        '"suites":' || new.suites,
        '"bathrooms":' || new.bathrooms,
        '"parking_spaces":' || new.parking_spaces,
        '"floor":' || new.floor,
        '"year_built":' || new.year_built,
        '"registry":' || new.registry,
        '"owners":' || new.owners,
        '"broker_id":' || to_json(new.broker_id),
        '"exclusive":' || new.exclusive,
        '"exclusive_until":' || to_json(new.exclusive_until),
        '"accepts_financing":' || new.accepts_financing,
        '"accepts_fgts":' || new.accepts_fgts,
        '"accepts_exchange":' || new.accepts_exchange,
        '"features":' || new.features,
        '"media":' || new.media,
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.format_timestamp(new.created_at) || '"',
        '"updated_at":"' || neoapi.format_timestamp(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;
create trigger set_representation before insert or update on neoapi.property
    for each row execute function neoapi.property_set_representation();

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
alter index neoapi.property_q alter column 2 set statistics 500;

-- ---------------------------------------------------------------- parties

create table neoapi.party (
    organization_id       text collate "C" not null,
    id                    text collate "C" not null check (id like 'pty\_%' and octet_length(id) = 30),
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

create function neoapi.party_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"name":' || to_json(new.name),
        '"trade_name":' || to_json(new.trade_name),
        '"roles":' || to_json(new.roles),
        '"document_number":' || to_json(new.document_number),
        '"rg":' || new.rg,
        '"email":' || to_json(new.email),
        '"phone":' || to_json(new.phone),
        '"birth_date":' || to_json(new.birth_date),
        '"nationality":' || to_json(new.nationality),
        '"profession":' || to_json(new.profession),
        '"marital_status":' || to_json(new.marital_status),
        '"property_regime":' || to_json(new.property_regime),
        '"spouse_party_id":' || to_json(new.spouse_party_id),
        '"address":' || new.address,
        '"bank_account":' || new.bank_account,
        '"legal_representatives":' || new.legal_representatives,
        '"broker_id":' || to_json(new.broker_id),
        '"lgpd_consent_at":"' || neoapi.format_timestamp(new.lgpd_consent_at) || '"',
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.format_timestamp(new.created_at) || '"',
        '"updated_at":"' || neoapi.format_timestamp(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;
create trigger set_representation before insert or update on neoapi.party
    for each row execute function neoapi.party_set_representation();

create unique index party_document_number_key on neoapi.party (organization_id, document_number) where document_number is not null;
create unique index party_external_id_key on neoapi.party (organization_id, external_id) where external_id is not null;
create index party_kind on neoapi.party (organization_id, kind, id);
create index party_roles on neoapi.party using gin (organization_id, roles);
create index party_email on neoapi.party (organization_id, lower(email), id) where email is not null;
create index party_phone on neoapi.party (organization_id, phone, id) where phone is not null;
create index party_updated_at on neoapi.party (organization_id, updated_at);
create index party_q on neoapi.party
    using gin (organization_id, neoapi.folded(name || ' ' || coalesce(trade_name, '')) gin_trgm_ops);
alter index neoapi.party_q alter column 2 set statistics 500;

-- ---------------------------------------------------------------- proposals

create table neoapi.proposal (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id like 'pps\_%' and octet_length(id) = 30),
    tenant_id       text collate "C" not null,
    kind            text not null,
    property_id     text collate "C" not null,
    proponent_ids   json not null,
    recipient_ids   json,
    broker_id       text collate "C",
    amount          bigint not null,
    payment_terms   json,
    rental_terms    json,
    valid_until     date not null,
    notes           text,
    status          text not null,
    decision_reason text,
    decided_at      timestamptz,
    external_id     text collate "C",
    metadata        json,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    created_by      text collate "C" not null,
    updated_by      text collate "C" not null,
    representation  text not null,
    primary key (organization_id, id)
);

create function neoapi.proposal_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"property_id":' || to_json(new.property_id),
        '"proponent_ids":' || new.proponent_ids,
        '"recipient_ids":' || new.recipient_ids,
        '"broker_id":' || to_json(new.broker_id),
        '"amount":' || new.amount,
        '"payment_terms":' || new.payment_terms,
        '"rental_terms":' || new.rental_terms,
        '"valid_until":' || to_json(new.valid_until),
        '"notes":' || to_json(new.notes),
        '"status":' || to_json(new.status),
        '"decision_reason":' || to_json(new.decision_reason),
        '"decided_at":"' || neoapi.format_timestamp(new.decided_at) || '"',
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.format_timestamp(new.created_at) || '"',
        '"updated_at":"' || neoapi.format_timestamp(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;
create trigger set_representation before insert or update on neoapi.proposal
    for each row execute function neoapi.proposal_set_representation();

create unique index proposal_external_id_key on neoapi.proposal (organization_id, external_id) where external_id is not null;
create index proposal_kind on neoapi.proposal (organization_id, kind, id);
create index proposal_status on neoapi.proposal (organization_id, status, id);
create index proposal_property_id on neoapi.proposal (organization_id, property_id, id);
create index proposal_broker_id on neoapi.proposal (organization_id, broker_id, id) where broker_id is not null;
create index proposal_valid_until on neoapi.proposal (organization_id, valid_until);
-- What expires next, in any organization (see src/store/expiry.c).
create index proposal_due on neoapi.proposal (valid_until) where status in ('submitted', 'countered');
create index proposal_updated_at on neoapi.proposal (organization_id, updated_at);

-- ---------------------------------------------------------------- contracts

create table neoapi.contract (
    organization_id    text collate "C" not null,
    id                 text collate "C" not null check (id like 'ctr\_%' and octet_length(id) = 30),
    tenant_id          text collate "C" not null,
    kind               text not null,
    number             text collate "C",
    property_id        text collate "C" not null,
    proposal_id        text collate "C",
    parties            json not null,
    amount             bigint not null,
    start_date         date,
    end_date           date,
    payment_day        bigint,
    adjustment_index   text,
    guarantee          json,
    commission         json,
    management_fee_bps bigint,
    notes              text,
    status             text not null,
    signed_at          timestamptz,
    terminated_at      timestamptz,
    termination_reason text,
    external_id        text collate "C",
    metadata           json,
    created_at         timestamptz not null,
    updated_at         timestamptz not null,
    created_by         text collate "C" not null,
    updated_by         text collate "C" not null,
    representation     text not null,
    primary key (organization_id, id)
);

create function neoapi.contract_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"number":' || to_json(new.number),
        '"property_id":' || to_json(new.property_id),
        '"proposal_id":' || to_json(new.proposal_id),
        '"parties":' || new.parties,
        '"amount":' || new.amount,
        '"start_date":' || to_json(new.start_date),
        '"end_date":' || to_json(new.end_date),
        '"payment_day":' || new.payment_day,
        '"adjustment_index":' || to_json(new.adjustment_index),
        '"guarantee":' || new.guarantee,
        '"commission":' || new.commission,
        '"management_fee_bps":' || new.management_fee_bps,
        '"notes":' || to_json(new.notes),
        '"status":' || to_json(new.status),
        '"signed_at":"' || neoapi.format_timestamp(new.signed_at) || '"',
        '"terminated_at":"' || neoapi.format_timestamp(new.terminated_at) || '"',
        '"termination_reason":' || to_json(new.termination_reason),
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.format_timestamp(new.created_at) || '"',
        '"updated_at":"' || neoapi.format_timestamp(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;
create trigger set_representation before insert or update on neoapi.contract
    for each row execute function neoapi.contract_set_representation();

create unique index contract_number_key on neoapi.contract (organization_id, number) where number is not null;
create unique index contract_external_id_key on neoapi.contract (organization_id, external_id) where external_id is not null;
create index contract_kind on neoapi.contract (organization_id, kind, id);
create index contract_status on neoapi.contract (organization_id, status, id);
create index contract_property_id on neoapi.contract (organization_id, property_id, id);
create index contract_end_date on neoapi.contract (organization_id, end_date) where end_date is not null;
create index contract_due on neoapi.contract (end_date) where status = 'active';
create index contract_updated_at on neoapi.contract (organization_id, updated_at);

-- ---------------------------------------------------------------- documents

create table neoapi.document (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id like 'doc\_%' and octet_length(id) = 30),
    tenant_id       text collate "C" not null,
    kind            text not null,
    title           text,
    related         json not null,
    file            json not null,
    number          text,
    issuer          text,
    issued_at       timestamptz,
    expires_at      timestamptz,
    status          text not null,
    external_id     text collate "C",
    metadata        json,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    created_by      text collate "C" not null,
    updated_by      text collate "C" not null,
    representation  text not null,
    primary key (organization_id, id)
);

create function neoapi.document_set_representation() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"title":' || to_json(new.title),
        '"related":' || new.related,
        '"file":' || new.file,
        '"number":' || to_json(new.number),
        '"issuer":' || to_json(new.issuer),
        '"issued_at":"' || neoapi.format_timestamp(new.issued_at) || '"',
        '"expires_at":"' || neoapi.format_timestamp(new.expires_at) || '"',
        '"status":' || to_json(new.status),
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.format_timestamp(new.created_at) || '"',
        '"updated_at":"' || neoapi.format_timestamp(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;
create trigger set_representation before insert or update on neoapi.document
    for each row execute function neoapi.document_set_representation();

create unique index document_external_id_key on neoapi.document (organization_id, external_id) where external_id is not null;
create index document_kind on neoapi.document (organization_id, kind, id);
create index document_status on neoapi.document (organization_id, status, id);
create index document_expires_at on neoapi.document (organization_id, expires_at) where expires_at is not null;
create index document_updated_at on neoapi.document (organization_id, updated_at);

-- ----------------------------------------------------------------

grant select, insert, update, delete
    on neoapi.broker, neoapi.property, neoapi.party, neoapi.proposal, neoapi.contract, neoapi.document to :runtime;
