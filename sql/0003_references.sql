-- SPDX-License-Identifier: Apache-2.0
-- Creates the table of references between resources.

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
