-- Proposals. The fields, their order and their meaning are those of src/model/proposal.c.

create table neoapi.proposal (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id ~ '^pps_[0-9a-hjkmnp-tv-z]{26}$'),
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

create function neoapi.proposal_represent() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(row_to_json(r)) from (select
        new.id,
        new.kind,
        new.property_id,
        new.proponent_ids,
        new.recipient_ids,
        new.broker_id,
        new.amount,
        new.payment_terms,
        new.rental_terms,
        new.valid_until,
        new.notes,
        new.status,
        new.decision_reason,
        neoapi.instant(new.decided_at) as decided_at,
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
create trigger represent before insert or update on neoapi.proposal
    for each row execute function neoapi.proposal_represent();

-- Of two acceptances for one property one wins.
create unique index proposal_accepted_property_id_key on neoapi.proposal (organization_id, property_id) where status = 'accepted';

-- Unique, and the filters: see 0002_broker.sql. Where a field need not have a value, its index holds those that have.
create unique index proposal_external_id_key on neoapi.proposal (organization_id, external_id) where external_id is not null;
create index proposal_kind on neoapi.proposal (organization_id, kind, id);
create index proposal_status on neoapi.proposal (organization_id, status, id);
create index proposal_property_id on neoapi.proposal (organization_id, property_id, id);
create index proposal_broker_id on neoapi.proposal (organization_id, broker_id, id) where broker_id is not null;
create index proposal_valid_until on neoapi.proposal (organization_id, valid_until);
create index proposal_updated_at on neoapi.proposal (organization_id, updated_at);

-- It can be referred to (see 0004_reference.sql).
alter table neoapi.reference
    add column proposal_id text collate "C" generated always as (case when target_id like 'pps\_%' then target_id end) stored,
    add foreign key (organization_id, proposal_id) references neoapi.proposal (organization_id, id);
create index reference_proposal on neoapi.reference (organization_id, proposal_id, source_id, field) where proposal_id is not null;

grant select, insert, update, delete on neoapi.proposal to :runtime;
