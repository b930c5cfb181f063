-- What an administrator's tool needs: credentials whose secret is replaced, and where imported rows came from.

-- After a rotation the secret before it is good until a moment.
alter table neoapi.credential
    add column previous_secret_hash bytea check (length(previous_secret_hash) = 32),
    add column previous_secret_until timestamptz,
    add check ((previous_secret_hash is null) = (previous_secret_until is null));
grant select (previous_secret_hash, previous_secret_until) on neoapi.credential to :runtime;

-- What a row's id was elsewhere, where it could not be kept: who imports the same again finds the same row.
create table neoapi.imported_id (
    organization_id text collate "C" not null,
    kind            text collate "C" not null,
    given           text collate "C" not null check (length(given) between 1 and 200),
    id              text collate "C" not null,
    primary key (organization_id, kind, given)
);
