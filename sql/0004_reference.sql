-- References: what resources refer to, wherever it stands in them. The statement that writes a resource keeps its rows here, so
-- that one foreign key for each kind that can be referred to serves every field, also those inside of lists and objects.

create table neoapi.reference (
    organization_id text collate "C" not null,
    source_id       text collate "C" not null, -- what refers
    path            text collate "C" not null, -- where: owners[2].party_id
    target_id       text collate "C" not null, -- to what
    -- The path without its numbers: owners.party_id
    field           text collate "C" not null generated always as (regexp_replace(path, '\[[0-9]+\]', '', 'g')) stored,
    primary key (organization_id, source_id, path)
);

-- The foreign key of one kind, and the index behind it: what refers to a resource, newest first. Each kind that can be referred
-- to has its column, which its migration adds in this way.
alter table neoapi.reference
    add column broker_id text collate "C" generated always as (case when target_id like 'brk\_%' then target_id end) stored,
    add foreign key (organization_id, broker_id) references neoapi.broker (organization_id, id);
create index reference_broker on neoapi.reference (organization_id, broker_id, source_id, field) where broker_id is not null;

grant select, insert, update, delete on neoapi.reference to :runtime;
