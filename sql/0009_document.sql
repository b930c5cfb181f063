-- Documents. The fields, their order and their meaning are those of src/model/document.c.

create table neoapi.document (
    organization_id text collate "C" not null,
    id              text collate "C" not null check (id ~ '^doc_[0-9a-hjkmnp-tv-z]{26}$'),
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

create function neoapi.document_represent() returns trigger language plpgsql as $$
begin
    new.representation := json_strip_nulls(row_to_json(r)) from (select
        new.id,
        new.kind,
        new.title,
        new.related,
        new.file,
        new.number,
        new.issuer,
        neoapi.instant(new.issued_at) as issued_at,
        neoapi.instant(new.expires_at) as expires_at,
        new.status,
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
create trigger represent before insert or update on neoapi.document
    for each row execute function neoapi.document_represent();

-- Unique, and the filters: see 0002_broker.sql. Where a field need not have a value, its index holds those that have.
create unique index document_external_id_key on neoapi.document (organization_id, external_id) where external_id is not null;
create index document_kind on neoapi.document (organization_id, kind, id);
create index document_status on neoapi.document (organization_id, status, id);
create index document_expires_at on neoapi.document (organization_id, expires_at) where expires_at is not null;
create index document_updated_at on neoapi.document (organization_id, updated_at);

grant select, insert, update, delete on neoapi.document to :runtime;
