-- SPDX-License-Identifier: Apache-2.0
-- Creates the tables of the resources (brokers, properties, parties, proposals, contracts, documents), and of the references
-- between them.
--
-- The fields of a table, their order and their meaning are those of src/resources/<resource>.c.
--
-- representation is the resource as JSON, exactly as the API returns it. The module makes it for new rows; triggers make it in
-- updates and for rows that are inserted without it. neoapictl installs them after the migrations (see src/sql/representation.c).
-- JSON columns contain neither nulls nor spaces, because the module writes them so.
--
-- Indexes of filters begin with organization_id and end with id, so that a filtered list is read in the order of the response.
-- The index of an optional field is partial.

-- ---------------------------------------------------------------- brokers

-- The CRECI number for comparisons: upper case, letters and digits only. translate is faster than regexp_replace, which begins a
-- match for each character that it removes. Not declared strict, because PostgreSQL does not inline a strict function with a `case`.
create function neoapi.creci_key(creci text) returns text
    language sql immutable parallel safe
    return upper(case when creci ~ '^[A-Za-z0-9 ./-]*$' then translate(creci, ' ./-', '')
                      else regexp_replace(creci, '[^A-Za-z0-9]', '', 'g') end collate "C");

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
    external_id     text collate "C",
    metadata        json,
    visibility      text not null,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    created_by      text collate "C" not null,
    updated_by      text collate "C" not null,
    representation  text not null,
    primary key (organization_id, id)
);

create unique index broker_creci_key on neoapi.broker (organization_id, neoapi.creci_key(creci));
create unique index broker_external_id_key on neoapi.broker (organization_id, external_id) where external_id is not null;
create index broker_document_number on neoapi.broker (organization_id, document_number, id);
create index broker_email on neoapi.broker (organization_id, lower(email), id);
create index broker_visibility on neoapi.broker (organization_id, visibility, id);
create index broker_updated_at on neoapi.broker (organization_id, updated_at, id);
-- With the default statistics target PostgreSQL can mistake a rare name for a frequent one. It would then read the organization's
-- rows, the newest first, until it has a page, instead of using this index.
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
create index property_updated_at on neoapi.property (organization_id, updated_at, id);
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

create unique index party_document_number_key on neoapi.party (organization_id, document_number) where document_number is not null;
create unique index party_external_id_key on neoapi.party (organization_id, external_id) where external_id is not null;
create index party_kind on neoapi.party (organization_id, kind, id);
create index party_roles on neoapi.party using gin (organization_id, roles);
create index party_email on neoapi.party (organization_id, lower(email), id) where email is not null;
create index party_phone on neoapi.party (organization_id, phone, id) where phone is not null;
create index party_updated_at on neoapi.party (organization_id, updated_at, id);
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

create unique index proposal_external_id_key on neoapi.proposal (organization_id, external_id) where external_id is not null;
create index proposal_kind on neoapi.proposal (organization_id, kind, id);
create index proposal_status on neoapi.proposal (organization_id, status, id);
create index proposal_property_id on neoapi.proposal (organization_id, property_id, id);
create index proposal_broker_id on neoapi.proposal (organization_id, broker_id, id) where broker_id is not null;
create index proposal_valid_until on neoapi.proposal (organization_id, valid_until);
-- What expires next, in any organization (see src/sql/expiry.c).
create index proposal_due on neoapi.proposal (valid_until) where status in ('submitted', 'countered');
create index proposal_updated_at on neoapi.proposal (organization_id, updated_at, id);

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

create unique index contract_number_key on neoapi.contract (organization_id, number) where number is not null;
create unique index contract_external_id_key on neoapi.contract (organization_id, external_id) where external_id is not null;
create index contract_kind on neoapi.contract (organization_id, kind, id);
create index contract_status on neoapi.contract (organization_id, status, id);
create index contract_property_id on neoapi.contract (organization_id, property_id, id);
create index contract_end_date on neoapi.contract (organization_id, end_date) where end_date is not null;
create index contract_due on neoapi.contract (end_date) where status = 'active';
create index contract_updated_at on neoapi.contract (organization_id, updated_at, id);

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

create unique index document_external_id_key on neoapi.document (organization_id, external_id) where external_id is not null;
create index document_kind on neoapi.document (organization_id, kind, id);
create index document_status on neoapi.document (organization_id, status, id);
create index document_expires_at on neoapi.document (organization_id, expires_at) where expires_at is not null;
create index document_updated_at on neoapi.document (organization_id, updated_at, id);
-- ---------------------------------------------------------------- privileges
-- ----------------------------------------------------------------

grant select, insert, update, delete
    on neoapi.broker, neoapi.property, neoapi.party, neoapi.proposal, neoapi.contract, neoapi.document to :runtime;

-- ---------------------------------------------------------------- references

-- One row for each id that a resource contains, also inside lists and objects. The statement that writes the resource writes
-- its rows here, so that one foreign key per type of target serves all fields. Each type has a generated column for that.
create table neoapi.reference (
    organization_id text collate "C" not null,
    source_id       text collate "C" not null, -- of the resource that contains the reference
    path            text collate "C" not null, -- of the reference in it: owners[2].party_id
    target_id       text collate "C" not null,
    -- the path without list positions: owners.party_id
    field           text collate "C" not null generated always as (regexp_replace(path, '\[[0-9]+\]', '', 'g')) stored,
    broker_id       text collate "C" generated always as (case when target_id like 'brk\_%' then target_id end) stored,
    property_id     text collate "C" generated always as (case when target_id like 'prp\_%' then target_id end) stored,
    party_id        text collate "C" generated always as (case when target_id like 'pty\_%' then target_id end) stored,
    proposal_id     text collate "C" generated always as (case when target_id like 'pps\_%' then target_id end) stored,
    contract_id     text collate "C" generated always as (case when target_id like 'ctr\_%' then target_id end) stored,
    primary key (organization_id, source_id, path),
    foreign key (organization_id, broker_id) references neoapi.broker (organization_id, id),
    foreign key (organization_id, property_id) references neoapi.property (organization_id, id),
    foreign key (organization_id, party_id) references neoapi.party (organization_id, id),
    foreign key (organization_id, proposal_id) references neoapi.proposal (organization_id, id),
    foreign key (organization_id, contract_id) references neoapi.contract (organization_id, id)
);

-- What refers to a resource, in the order of ids.
create index reference_broker on neoapi.reference (organization_id, broker_id, source_id, field) where broker_id is not null;
create index reference_property on neoapi.reference (organization_id, property_id, source_id, field) where property_id is not null;
create index reference_party on neoapi.reference (organization_id, party_id, source_id, field) where party_id is not null;
create index reference_proposal on neoapi.reference (organization_id, proposal_id, source_id, field) where proposal_id is not null;
create index reference_contract on neoapi.reference (organization_id, contract_id, source_id, field) where contract_id is not null;

grant select, insert, update, delete on neoapi.reference to :runtime;
