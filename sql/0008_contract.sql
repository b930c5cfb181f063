-- Contracts. The fields, their order and their meaning are those of src/model/contract.c.

create table neoapi.contract (
    organization_id    text collate "C" not null,
    id                 text collate "C" not null check (id ~ '^ctr_[0-9a-hjkmnp-tv-z]{26}$'),
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

create function neoapi.contract_represent() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(row_to_json(r)) from (select
        new.id,
        new.kind,
        new.number,
        new.property_id,
        new.proposal_id,
        new.parties,
        new.amount,
        new.start_date,
        new.end_date,
        new.payment_day,
        new.adjustment_index,
        new.guarantee,
        new.commission,
        new.management_fee_bps,
        new.notes,
        new.status,
        neoapi.instant(new.signed_at) as signed_at,
        neoapi.instant(new.terminated_at) as terminated_at,
        new.termination_reason,
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
create trigger represent before insert or update on neoapi.contract
    for each row execute function neoapi.contract_represent();

-- Unique, and the filters: see 0002_broker.sql. Where a field need not have a value, its index holds those that have.
create unique index contract_number_key on neoapi.contract (organization_id, number) where number is not null;
create unique index contract_external_id_key on neoapi.contract (organization_id, external_id) where external_id is not null;
create index contract_kind on neoapi.contract (organization_id, kind, id);
create index contract_status on neoapi.contract (organization_id, status, id);
create index contract_property_id on neoapi.contract (organization_id, property_id, id);
create index contract_end_date on neoapi.contract (organization_id, end_date) where end_date is not null;
create index contract_updated_at on neoapi.contract (organization_id, updated_at);

-- It can be referred to (see 0004_reference.sql).
alter table neoapi.reference
    add column contract_id text collate "C" generated always as (case when target_id like 'ctr\_%' then target_id end) stored,
    add foreign key (organization_id, contract_id) references neoapi.contract (organization_id, id);
create index reference_contract on neoapi.reference (organization_id, contract_id, source_id, field) where contract_id is not null;

grant select, insert, update, delete on neoapi.contract to :runtime;
